package policy

// Which tools a run may use.

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// Tools lets a run use some tools and no others. A guard at [hooks.PreToolCall]
// refuses the calls of the others, by the name that will run: a hook that renames a
// call leads it neither past the policy nor into it. A hook at [hooks.PreModelCall]
// takes their names out of what the model is offered. That saves the model calls that
// would be refused, and enforces nothing.
//
// Entries are compared as [hooks.MatchTool] does, so that one covers a tool in any
// spelling, or many by a pattern. The model reads of a refused call: this tool isn't
// available in this run; use one of those offered.
//
// An entry without a wildcard that covers none of the tools offered is probably
// misspelt and guards nothing. The first model call that offers any tools logs such
// entries as warnings, once for each registration of the policy. Where agents with
// different tools share the policy, that goes by the tools of the first.
type Tools struct {
	Allow []string     // what may be used; nil is everything, empty is nothing
	Deny  []string     // what may not, also where Allow has it
	Log   *slog.Logger // where entries that cover nothing are told; slog.Default() if nil
}

// Register registers the policy, with opts behind its own options: its name is
// "policy.Tools", the priority of the guard 900, and that of the hook -900, behind
// the hooks that offer tools. It panics where Allow and Deny are both nil, for an empty
// entry, and for options that don't fit both points, as [hooks.WithTools] doesn't.
// What is registered is safe for concurrent use. It works on copies of Allow and Deny.
func (t Tools) Register(opts ...hooks.Option) *hooks.Group {
	switch {
	case t.Allow == nil && t.Deny == nil:
		panic("policy: Tools has neither Allow nor Deny; say which tools a run may use")
	case slices.Contains(t.Allow, ""), slices.Contains(t.Deny, ""):
		panic(`policy: Tools has the empty entry ""; leave it out`)
	}
	p := &toolPolicy{allow: slices.Clone(t.Allow), deny: slices.Clone(t.Deny), log: t.Log}
	return register(opts, func(r *registrar) {
		r.add(hooks.Guard(hooks.PreToolCall, p.guard, r.with("policy.Tools", 900)...))
		r.add(hooks.On(hooks.PreModelCall, p.hide, r.with("policy.Tools", -900)...))
	})
}

// toolPolicy is one registration of Tools.
type toolPolicy struct {
	allow, deny []string
	log         *slog.Logger
	told        atomic.Bool // the entries that cover nothing
}

func (p *toolPolicy) guard(_ context.Context, t *hooks.ToolCall) error {
	if !p.allows(t.Name) {
		return hooks.Abort("this tool isn't available in this run; use one of those offered")
	}
	return nil
}

func (p *toolPolicy) allows(tool string) bool {
	covers := func(entry string) bool { return hooks.MatchTool(entry, tool) }
	return (p.allow == nil || slices.ContainsFunc(p.allow, covers)) && !slices.ContainsFunc(p.deny, covers)
}

func (p *toolPolicy) hide(ctx context.Context, m *hooks.ModelCall) error {
	offered := m.Tools
	hidden, _ := m.Get(hiddenTools{})
	before, _ := hidden.([]string)
	if slices.ContainsFunc(offered, func(tool string) bool { return !p.allows(tool) }) {
		m.Tools = make([]string, 0, len(offered)) // where a loop dispatches by hand, the other array is its own
		all := slices.Clone(before)
		for _, tool := range offered {
			if p.allows(tool) {
				m.Tools = append(m.Tools, tool)
			} else {
				all = append(all, tool)
			}
		}
		m.Put(hiddenTools{}, all)
	}
	p.tell(ctx, slices.Concat(before, offered))
	return nil
}

// hiddenTools is the key of what the hooks of Tools have taken out of a model call:
// another registration has no reason to call that misspelt.
type hiddenTools struct{}

// tell logs the entries that cover none of the tools offered, the first time that
// there are any.
func (p *toolPolicy) tell(ctx context.Context, offered []string) {
	if len(offered) == 0 || !p.told.CompareAndSwap(false, true) {
		return
	}
	log := p.log
	if log == nil {
		log = slog.Default()
	}
	for _, list := range []struct {
		name    string
		entries []string
	}{{"Allow", p.allow}, {"Deny", p.deny}} {
		for _, entry := range list.entries {
			covers := func(tool string) bool { return hooks.MatchTool(entry, tool) }
			if !strings.ContainsAny(entry, "*?") && !slices.ContainsFunc(offered, covers) {
				log.WarnContext(ctx, "policy: Tools names a tool that isn't offered; look at its spelling",
					slog.String("tool", entry), slog.String("list", list.name))
			}
		}
	}
}
