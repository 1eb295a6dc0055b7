package hookstest

// Hooks and tools that hand control to the framework, to wait for a person: that
// is no failure, and nothing for the model to read. The run ends, and waits.

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/loophooks/hooks"
)

// interruptScenarios suspend a run in a tool, and in a hook of each of the points
// where that ends it.
func interruptScenarios() []scenario {
	return []scenario{
		{name: "interrupting-tool", needs: toolPoints, after: []string{"failing-tool"}, play: interruptingTool},
		interrupted(hooks.PreToolCall), interrupted(hooks.PostToolCall),
		interrupted(hooks.ExecutionStart), interrupted(hooks.Input),
		interrupted(hooks.PreStep), interrupted(hooks.PreModelCall), interrupted(hooks.PostModelCall),
		interrupted(hooks.PostStep), interrupted(hooks.Output),
		{name: "waiting-call-among-others", needs: toolPoints, after: []string{"interrupt-at-pre_tool_call"}, play: waitingAmongOthers},
		{name: "waiting-tool-among-others", needs: toolPoints, after: []string{"interrupting-tool"}, play: waitingToolAmongOthers},
		{name: "interrupt-in-a-nested-run", needs: nestedPoints, after: []string{"interrupt-at-pre_tool_call", "nested-run"}, play: nestedInterrupt},
	}
}

var errInterrupt = errors.New("the kit waits for a person")

// isSuspended says whether a run waits that ended with err.
func isSuspended(err error) bool {
	s, ok := errors.AsType[*hooks.Suspended](err)
	return ok && s != nil
}

// suspend is what a hook returns to suspend, noted in the trace. Where err is a
// *hooks.Suspended that a pre hook of the call c returns, the call is held.
func (t *trial) suspend(c keeper, at hooks.AnyPoint, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(event{line: "    a hook suspends: " + err.Error()})
	if t.abortedAt < 0 {
		t.abortedAt = len(t.events)
	}
	if k := callIn(c); k != nil && k.pre == at.Name() {
		k.held, k.waits = true, true
	}
	return err
}

// interruptingTool has a tool hand control to the framework.
func interruptingTool(t *trial) {
	t.tools["alpha"] = func(context.Context, map[string]any) (string, error) { return "", hooks.PassThrough(errInterrupt) }
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkSuspended()
	t.checkInterrupt()
	t.check(t.requests() == 1, ruleInterrupt, "no other call of the model", fmt.Sprintf("%d calls", t.requests()))
}

// checkSuspended checks that the run has ended because it waits, and so have the
// executions.
func (t *trial) checkSuspended() {
	t.check(isSuspended(t.err), ruleInterrupt, "an error that holds a *hooks.Suspended", fmt.Sprintf("%q, error %v", t.text, t.err))
	for _, x := range t.runsOf() {
		t.check(!x.ended || x.status == hooks.StatusSuspended, ruleStatus, "status suspended", fmt.Sprintf("status %q, error %v", x.status, x.err))
	}
}

func (t *trial) checkInterrupt() {
	t.check(errors.Is(t.err, errInterrupt), ruleInterrupt, fmt.Sprintf("an error that errors.Is finds to be %q", errInterrupt), fmt.Sprintf("%q, error %v", t.text, t.err))
}

// interrupted suspends the first time that p fires, and only then: a loop that
// tries again shows.
func interrupted[C any](p hooks.Point[C]) scenario {
	return scenario{
		name: "interrupt-at-" + string(p.Name()), needs: []hooks.AnyPoint{p}, after: []string{"interrupting-tool"},
		play: func(t *trial) {
			var once sync.Once
			on(t, p, func(_ context.Context, c *C) (err error) {
				once.Do(func() { err = t.suspend(any(c).(keeper), p, hooks.PassThrough(errInterrupt)) })
				return err
			})
			t.strange = true
			t.run(asks(request("alpha", "c1")), answers(theAnswer), answers(theAnswer))
			if !t.check(t.abortedAt >= 0, rulePoints, fmt.Sprintf("%s in a run with one tool", p.Name()), "it did not fire") {
				return
			}
			if e, found := t.startsAfterAbort(""); found {
				t.check(false, ruleWaitEnds, "after the hook at "+string(p.Name())+" only post points and execution_end", e.line)
			}
			t.checkSuspended()
			t.checkInterrupt()
		},
	}
}

// threeCalls is a turn of which the call in the middle waits.
var threeCalls = []hooks.ToolRequest{request("alpha", "c1"), request("beta", "c2"), request("alpha", "c3")}

// waitingAmongOthers is about a loop that leaves the rest of a turn for later,
// so that a person is asked one question after the other.
func waitingAmongOthers(t *trial) {
	on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if keyOf(c.Input) != "c2" {
			return nil
		}
		return t.suspend(c, hooks.PreToolCall, hooks.PassThrough(errInterrupt))
	})
	t.run(asks(threeCalls...), answers(theAnswer))
	t.checkRan(ruleWaits, "c2", 0)
	t.checkRestRan()
}

func waitingToolAmongOthers(t *trial) {
	t.tools["beta"] = func(context.Context, map[string]any) (string, error) { return "", hooks.PassThrough(errInterrupt) }
	t.run(asks(threeCalls...), answers(theAnswer))
	t.checkRan(ruleToolOnce, "c2", 1)
	t.checkRestRan()
}

// checkRestRan checks what became of the calls beside the one that waits.
func (t *trial) checkRestRan() {
	t.checkRan(ruleBeside, "c1", 1)
	t.checkRan(ruleBeside, "c3", 1)
	t.check(t.requests() == 1, ruleInterrupt, "no other call of the model", fmt.Sprintf("%d calls", t.requests()))
	t.checkSuspended()
	t.checkInterrupt()
}

// nestedInterrupt has a hook suspend a call of a run inside a tool.
func nestedInterrupt(t *trial) {
	t.tools["alpha"] = func(ctx context.Context, _ map[string]any) (string, error) {
		return t.inner(ctx, "the inner prompt", asks(request("beta", "i1")), answers("the inner answer"))
	}
	on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if keyOf(c.Input) != "i1" {
			return nil
		}
		return t.suspend(c, hooks.PreToolCall, hooks.PassThrough(errInterrupt))
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkNested()
	t.checkRan(ruleWaits, "i1", 0)
	t.check(t.requests() == 1, ruleNestedWait, "no other call of the outer model", fmt.Sprintf("%d calls", t.requests()))
	t.check(isSuspended(t.err) && errors.Is(t.err, errInterrupt), ruleNestedWait, "the *hooks.Suspended of the inner run, out of the outer run", fmt.Sprintf("%q, error %v", t.text, t.err))
	t.checkSuspended()
}
