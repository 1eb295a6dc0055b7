package main

// All that the assistant is held to. The order in which policies are registered doesn't
// count: each has its place in the chain of hooks and guards.

import (
	"net/netip"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/command"
	"github.com/loophooks/hooks/policy"
	"github.com/loophooks/hooks/redact"
)

func register(rules *hooks.Registry, o *office, scripts *command.Config, total *bill) {
	in := hooks.In(rules)

	// Which tools there are, and what they may be called with.
	policy.Tools{Deny: []string{"delete_*"}}.Register(in)
	policy.Schema{Schemas: schemas}.Register(in)
	policy.Paths{Root: o.files}.Register(in, hooks.WithTools("read_file"))
	policy.URLs{
		Hosts:   []string{"127.0.0.1"}, // one would rather have "intranet.example.com" here,
		Schemes: []string{"http"},      // and leave out the rest
		Ports:   []uint16{o.web.addr.Port()},
		Private: []netip.Prefix{netip.PrefixFrom(o.web.addr.Addr(), 32)},
	}.Register(in, hooks.WithTools("fetch"))

	// How often, for how long and for how much.
	policy.Loops{}.Register(in)
	policy.Rate{Limit: 2, Per: time.Hour}.Register(in, hooks.WithTools("search"))
	policy.Budget{
		ToolCalls: 5,
		Cost:      policy.USD(0.10),
		Prices: map[string]policy.Price{ // for a million tokens
			"large": {In: policy.USD(3), Out: policy.USD(15)},
			"small": {In: policy.USD(0.25), Out: policy.USD(1.25)},
		},
		Report: total.add,
	}.Register(in)

	// What the model is sent, and what others read of it.
	policy.History{Tokens: 300}.Register(in)
	policy.Truncate{Max: 256, Tail: 0.5, Spill: o.spill}.Register(in)
	policy.Redact{}.Register(in, hooks.WithName("policy.Redact keys"))
	policy.Redact{
		Set:     redact.MustCompile(redact.Mail()...),
		With:    policy.Token,
		Restore: []string{"send_mail"},
	}.Register(in, hooks.WithName("policy.Redact mail"))

	// What becomes of a model or a tool that doesn't answer, and of one that has.
	policy.Cache{}.Register(in)
	policy.Fallback{Models: []string{"large", "small"}}.Register(in)
	policy.Retry{Max: 2, First: time.Millisecond}.Register(in)
	policy.Retry{First: time.Millisecond, Tools: []string{"fetch"}}.Register(in, hooks.WithName("policy.Retry fetch"))
	policy.Timeout{After: 50 * time.Millisecond, Tools: []string{"print"}}.Register(in)

	// Who decides, and what is kept of it all.
	scripts.Register(in)
	policy.Approval{Prompt: "Pay this bill?"}.Register(in, hooks.WithTools("pay"))
	policy.Audit{Log: o.audit}.Register(in)
}
