package policy

// URLs of hosts that a run may reach: what the policy is, and its registration. How a
// URL is judged is in urls_judge.go, the client that connects in urls_client.go.

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/loophooks/hooks"
)

// URLs keeps the requests of tools to some hosts, and off the networks that aren't
// public. Register it with [hooks.WithTools] for the tools that it is for.
//
// A guard at [hooks.PreToolCall] judges the text of each URL: it is refused unless
// package net/url reads it with a scheme, host and port of the lists, and where it has
// a user name or password, a backslash, a control character, a host that isn't plain
// ASCII, a zone, a trailing dot, or a host name that ends in a number, which some
// clients read as an address. An address is let through where Hosts has it in the same
// text, and it is public or in Private. The guard looks no name up.
//
// What a name leads to shows only when it is connected to, and can change between any
// check and that. So a hook around [hooks.ToolBody] gives the tool a client, which a tool
// takes by [ClientFrom] and fails where there is none. See [URLs.Client] for what that
// holds to. A tool with a client of its own is held to the guard alone, and follows a
// redirect to anywhere.
//
// A missing argument passes. One of another type is refused, and so is a key that
// equals one of Args but for its case. The reasons name the argument, and never hold
// its value.
type URLs struct {
	// Hosts are the hosts that may be reached, without regard to case; required.
	// "*.example.com" is all names under example.com, at any depth, and not
	// example.com itself. An address stands there as it does in the URL, IPv6 without
	// brackets.
	Hosts   []string
	Schemes []string       // "https" and "http"; {"https"} if nil
	Ports   []uint16       // if nil 443, and 80 too if http is among Schemes
	Args    []string       // arguments with a URL or a list of URLs; {"url"} if nil
	Private []netip.Prefix // addresses that may be reached although they aren't public
}

// Register registers the policy, with opts behind its own options: its name is
// "policy.URLs", the priority of the guard 600, and that of the hook around the body
// -700. It panics where Hosts is empty; for an entry of Hosts that isn't a host name
// in ASCII or an address, as one with a scheme or a port; for schemes other than http
// and https, the port 0 and a prefix that isn't valid; and where another list is empty
// and not nil. What is registered is safe for concurrent use. All calls share one client.
// In loops on the Begin forms the guard works, and ClientFrom has nothing.
func (u URLs) Register(opts ...hooks.Option) *hooks.Group {
	rules := u.rules()
	args := newTextArgs("URLs", u.Args, "url")
	client := rules.client()
	return register(opts, func(r *registrar) {
		r.add(hooks.Guard(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error {
			return args.judge(t, func(name, text string) error {
				if err := rules.judgeText(text); err != nil {
					return hooks.Abort(name + " must " + err.Error())
				}
				return nil
			})
		}, r.with("policy.URLs", 600)...))
		r.add(hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
			return next(context.WithValue(ctx, clientKey{}, client))
		}, r.with("policy.URLs", -700)...))
	})
}

// ClientFrom returns the client that [URLs] gives a tool, from the ctx of its body. It
// reports false where no URLs covers the call: a tool that needs one should fail then.
// Of several the innermost counts: the one registered last, or of the lowest priority.
// A sub-agent that a tool runs has the tool's, unless its own tools have one. The
// client is shared: its fields aren't the tool's to set.
func ClientFrom(ctx context.Context) (*http.Client, bool) {
	client, ok := ctx.Value(clientKey{}).(*http.Client)
	return client, ok
}

type clientKey struct{}
