package policy

// Questions to people.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loophooks/hooks"
)

// Approval asks people before tools run.
//
//	policy.Approval{Prompt: "Pay this bill?", Audience: []string{"finance"}}.Register(hooks.WithTools("pay"))
//	ctx = hooks.WithDesk(ctx, desk.New(store)) // for the run
//
// It is a guard at [hooks.PreToolCall] of priority -900 and asks by
// [hooks.ToolCall.Ask], which tells what a decision is bound to: this call with these
// arguments, used up by one passage. While nobody has decided, the call is suspended
// and the run ends with a [*hooks.Suspended]; the other calls of its turn end first.
// The question goes to the desk of ctx ([hooks.WithDesk]; package desk has several,
// and desk.Human for a terminal), or to the person that [hooks.WithHumanInput] or
// [hooks.SetHumanInput] named. Where there is neither the call is refused, and so it
// is outside of a run and without an ID.
//
// It is meant to be the last guard, so that nobody is asked about what another
// refuses: register it in the innermost scope, since guards of outer ones
// run before those of inner ones. If people edit the call, all guards decide once
// more about what it has become.
//
// Of several Approvals that match one call, those with one name ask once, by the
// question of the first, and those with different names ask one after the other.
// Then the first is asked anew when the second was approved after a
// suspension, since its approval is used up by then.
//
// The model reads of a call that was refused:
//
//	not approved: <the reason of the decision>
//	not approved                                     where there was none
//	nobody answered in time; no person refused it    of a question that expired
//
// Calls whose arguments couldn't be read are passed over: they don't run. Calls whose
// arguments JSON can't hold, which nobody could be shown, are refused.
type Approval struct {
	// Prompt is what people read; by default that the agent wants to run the tool.
	// They are shown all arguments anyway.
	Prompt string

	// Details returns what people should see besides; nothing by default. It must not
	// change the call, and is called each time the guard decides, from any goroutine.
	// Where it panics the call is refused.
	Details func(*hooks.ToolCall) map[string]string

	// Audience names who may decide, as the desk understands it.
	Audience []string

	// Expires is how long the question waits for a decision; 24 hours by default.
	Expires time.Duration

	// Offer is for how long people may decide; [hooks.Once] by default.
	Offer []hooks.Remember

	// May is what they may decide; [hooks.Approve] and [hooks.Reject] by default.
	May []hooks.Verdict
}

// Register registers the policy, under the name policy.Approval unless opts say
// otherwise, and returns the handle that removes it. The name is the Key of its
// questions: a new version of a program needs the same one to find what the old
// one asked. Register panics if Expires is negative, if May or Offer holds what
// package hooks doesn't know, and if May holds nothing by which a call runs.
func (p Approval) Register(opts ...hooks.Option) *hooks.Group {
	p.check()
	return register(opts, func(r *registrar) {
		r.add(hooks.Guard(hooks.PreToolCall, p.guard, r.with("policy.Approval", -900)...))
	})
}

// check panics on what can't be meant, fills in the defaults, and copies what the
// caller may write.
func (p *Approval) check() {
	if p.Expires < 0 {
		panic(fmt.Sprintf("policy: Approval: Expires is %v; 0 means 24 hours", p.Expires))
	}
	if p.Expires == 0 {
		p.Expires = 24 * time.Hour
	}
	for _, verdict := range p.May {
		if verdict != hooks.Approve && verdict != hooks.Reject && verdict != hooks.Edit {
			panic(fmt.Sprintf("policy: Approval: May holds %q, which is no verdict of package hooks", verdict))
		}
	}
	if len(p.May) > 0 && !slices.Contains(p.May, hooks.Approve) && !slices.Contains(p.May, hooks.Edit) {
		panic("policy: Approval: May holds nothing by which a call runs; use Tools to refuse calls without asking")
	}
	for _, memory := range p.Offer {
		if memory != hooks.Once && memory != hooks.SameArguments {
			panic(fmt.Sprintf("policy: Approval: Offer holds %q, which is no memory of package hooks", memory))
		}
	}
	p.Audience, p.Offer, p.May = slices.Clone(p.Audience), slices.Clone(p.Offer), slices.Clone(p.May)
}

func (p *Approval) guard(ctx context.Context, t *hooks.ToolCall) error {
	if t.ArgumentsError() != nil {
		return nil
	}
	if _, err := argumentsText(t); err != nil {
		return err // nobody can approve what can't be shown
	}
	q := hooks.Question{
		Prompt: p.Prompt, Audience: p.Audience, May: p.May, Offer: p.Offer,
		Expires: time.Now().Add(p.Expires),
	}
	if p.Details != nil {
		q.Details = maps.Clone(p.Details(t))
	}
	return notApproved(t.Ask(ctx, q))
}

// expiredReason is what a desk rejects a question for that nobody answered in time.
// The constant of package desk would bring its stores along.
const expiredReason = "nobody answered in time; no person refused it"

// notApproved puts into words for the model that people refused the call. That is a bare
// abort: one inside of an error is why a desk failed.
func notApproved(answer error) error {
	abort, ok := answer.(*hooks.HookAborted) //nolint:errorlint // for that reason
	switch {
	case !ok || abort.Err != nil, abort.Reason == "not approved", abort.Reason == expiredReason:
		return answer
	}
	refused := *abort
	refused.Reason = "not approved: " + abort.Reason
	return &refused
}
