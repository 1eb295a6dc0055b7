package hookstest

// Hooks that ask about a tool call, where the decision is there at once and where
// it comes later.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// askPoints are what it takes to ask: a question belongs to a run.
var askPoints = append([]hooks.AnyPoint{hooks.ExecutionStart}, toolPoints...)

// theEdit are the arguments of a decision that edits the call c2.
const theEdit = `{"key":"c2","value":"edited"}`

var askedScenarios = []scenario{
	{name: "asked-call", needs: askPoints, after: []string{"waiting-call-among-others", "ids-of-calls"}, play: askedCall},
	{
		name: "asked-call-approved", needs: askPoints, of: []string{"asked-call"}, after: []string{"several-tools"},
		play: decidedCall(hooks.Decision{Verdict: hooks.Approve}),
	},
	{
		name: "asked-call-rejected", needs: askPoints, of: []string{"asked-call"}, after: []string{"blocked-tool"},
		play: decidedCall(hooks.Decision{Verdict: hooks.Reject, Reason: theReason}),
	},
	{
		name: "asked-call-edited", needs: askPoints, of: []string{"asked-call"}, after: []string{"edited-input"},
		play: decidedCall(hooks.Decision{Verdict: hooks.Edit, Arguments: theEdit}),
	},
}

// asking is what came of the questions of a guard.
type asking struct {
	key    string // of the call
	failed atomic.Pointer[error]
}

// ask registers a guard that asks about the call with this key.
func (t *trial) ask(key string) *asking {
	a := &asking{key: key}
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		if keyOf(c.Input) != key {
			return nil
		}
		err := c.Ask(ctx, hooks.Question{Prompt: "May it run?", May: []hooks.Verdict{hooks.Approve, hooks.Reject, hooks.Edit}})
		switch {
		case isSuspended(err):
			return t.suspend(c, hooks.PreToolCall, err)
		case err != nil && !errors.As(err, new(*hooks.HookAborted)):
			a.failed.CompareAndSwap(nil, &err)
		}
		return err
	}, hooks.In(t.registry), hooks.WithName(hookName))
	return a
}

// checkAsked checks that the question reached the desk. It says nothing of a loop
// that keeps no ids of calls: two of them could be taken for each other there.
func (t *trial) checkAsked(a *asking, path ...string) bool {
	if k := t.toolCall("beta", a.key); k.id == "" && !t.keepsIDs() {
		t.untold = "the loop keeps no ids of calls"
		return false
	}
	if err := a.failed.Load(); err != nil {
		return t.check(false, ruleAsk, "the question at the desk", (*err).Error())
	}
	asked := t.desk.questions()
	if !t.check(len(asked) > 0, ruleAsk, "the question at the desk", "none") {
		return false
	}
	q, run := asked[0], ""
	if runs := t.runsOf(); len(runs) > 0 {
		run = runs[0].run
	}
	return t.check(q.RootRunID == run && slices.Equal(q.Path, path), ruleAsk,
		fmt.Sprintf("a question of the run %q, inside of the calls %q", run, path), fmt.Sprintf("of the run %q, inside of %q", q.RootRunID, q.Path))
}

// askedCall is about a question that nobody decides.
func askedCall(t *trial) {
	t.strange = true
	t.atDesk(func(hooks.Question) (hooks.Decision, bool) { return hooks.Decision{}, false })
	a := t.ask("c2")
	t.run(asks(threeCalls...), answers(theAnswer))
	if !t.checkAsked(a) {
		return
	}
	t.checkRan(ruleWaits, "c2", 0)
	t.checkSuspended()
	id := t.desk.questions()[0].ID
	found, _ := errors.AsType[*hooks.Suspended](t.err)
	t.check(found != nil && slices.ContainsFunc(found.Questions, func(q hooks.Question) bool { return q.ID == id }), ruleInterrupt,
		"the question in the *hooks.Suspended", fmt.Sprint(t.err))
}

// decidedCall is about a decision that is there at once.
func decidedCall(d hooks.Decision) func(*trial) {
	return func(t *trial) {
		t.atDesk(func(hooks.Question) (hooks.Decision, bool) { return d, true })
		a := t.ask("c2")
		t.run(asks(threeCalls...), answers(theAnswer))
		if t.checkAsked(a) {
			t.checkDecided(d, 1)
			t.checkGoesOn(ruleGoesOn)
		}
	}
}

// checkDecided checks what became of the call c2, which the model reads of in
// request n.
func (t *trial) checkDecided(d hooks.Decision, n int) {
	switch d.Verdict {
	case hooks.Reject:
		t.checkRan(ruleBlocked, "c2", 0)
		t.checkSent(ruleReason, n, d.Reason, true)
	case hooks.Edit:
		t.mu.Lock()
		got := t.values["c2"]
		t.mu.Unlock()
		t.checkRan(ruleToolOnce, "c2", 1)
		t.check(got == "edited", ruleArguments, `the value "edited" for beta`, fmt.Sprintf("%q", got))
	default:
		t.checkRan(ruleToolOnce, "c2", 1)
	}
}
