package hookstest

// An abort at each of the points where it ends the run.

import (
	"context"
	"fmt"
	"sync"

	"github.com/loophooks/hooks"
)

var anAbort = fmt.Sprintf("an error that holds a *hooks.HookAborted with the reason %q", theReason)

// abortScenarios abort at each of the points where that ends the run. At the
// tool points it does so with StopRun; without, see the scenarios of tools.
func abortScenarios() []scenario {
	return []scenario{
		aborted(hooks.ExecutionStart), aborted(hooks.Input),
		aborted(hooks.PreStep), aborted(hooks.PreModelCall), aborted(hooks.PostModelCall),
		stopped(hooks.PreToolCall), stopped(hooks.PostToolCall),
		aborted(hooks.PostStep), lastStepAborted(), aborted(hooks.Output), aborted(hooks.ExecutionEnd),
	}
}

func aborted[C any](p hooks.Point[C]) scenario {
	return scenario{
		name: "abort-at-" + string(p.Name()), needs: []hooks.AnyPoint{p},
		play: func(t *trial) { playAbort(t, p, false) },
	}
}

func stopped(p hooks.Point[hooks.ToolCall]) scenario {
	return scenario{
		name: "stop-at-" + string(p.Name()), needs: []hooks.AnyPoint{p},
		play: func(t *trial) { playAbort(t, p, true) },
	}
}

// lastStepAborted is about a loop that has its answer by then.
func lastStepAborted() scenario {
	return scenario{
		name: "abort-at-the-last-post_step", needs: stepPoints, after: []string{"abort-at-post_step"},
		play: func(t *trial) {
			t.strange = true
			on(t, hooks.PostStep, func(context.Context, *hooks.Step) error {
				if t.requests() < 2 {
					return nil
				}
				return t.abort(&hooks.HookAborted{Reason: theReason})
			})
			t.run(asks(request("alpha", "c1")), answers(theAnswer), answers(theAnswer))
			if t.check(t.abortedAt >= 0, rulePoints, "post_step in the last turn", "it did not fire") {
				t.check(findAbort(t.err) != nil, ruleAbortOut, anAbort, fmt.Sprintf("the text %q and the error %v", t.text, t.err))
			}
		},
	}
}

// playAbort aborts the first time that p fires, and only then: a loop that
// tries again is not stopped a second time, and shows.
func playAbort[C any](t *trial, p hooks.Point[C], stop bool) {
	var once sync.Once
	on(t, p, func(context.Context, *C) (err error) {
		once.Do(func() { err = t.abort(&hooks.HookAborted{Reason: theReason, StopRun: stop}) })
		return err
	})
	t.strange = true
	// There is a reply more than the run should need, for one that goes on.
	t.run(asks(request("alpha", "c1")), answers(theAnswer), answers(theAnswer))
	if !t.check(t.abortedAt >= 0, rulePoints, fmt.Sprintf("%s in a run with one tool", p.Name()), "it did not fire") {
		return
	}
	ends := ruleAbortEnds
	if stop {
		ends = ruleStop
	}
	t.checkNothingStarts(ends, p.Name(), "")
	if p.Name() == hooks.PreToolCall.Name() {
		t.checkRan(ruleBlocked, "c1", 0)
	}
	if p.Name() == hooks.Output.Name() || p.Name() == hooks.ExecutionEnd.Name() {
		t.check(t.text != theAnswer, ruleVetoed, "no answer", fmt.Sprintf("%q", t.text))
	}
	t.check(findAbort(t.err) != nil, ruleAbortOut, anAbort, fmt.Sprintf("the text %q and the error %v", t.text, t.err))
	// An execution that was aborted at its start has no end, and one that was
	// aborted at its end was told before.
	for _, x := range t.runsOf() {
		if x.ended && p.Name() != hooks.ExecutionEnd.Name() {
			t.check(x.status == hooks.StatusFailed && findAbort(x.err) != nil, ruleStatus, "status failed and the abort in Err",
				fmt.Sprintf("status %q, error %v", x.status, x.err))
		}
	}
}

// checkNothingStarts checks that nothing of the run starts after the abort, up
// to the point that ends it if there is one.
func (t *trial) checkNothingStarts(rule string, at, end hooks.InterceptionPoint) {
	again := at
	if at == hooks.PostModelCall.Name() {
		again = hooks.PreModelCall.Name()
	}
	e, found := t.startsAfterAbort(end)
	if !found {
		return
	}
	if e.point == again && rule != ruleSiblings {
		rule = ruleNoRetry
	}
	t.check(false, rule, "after the abort at "+string(at)+" only post points and execution_end", e.line)
}

// startsAfterAbort returns what starts first after the abort, up to the point
// end if there is one.
func (t *trial) startsAfterAbort(end hooks.InterceptionPoint) (event, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.events[t.abortedAt:] {
		switch {
		case end != "" && e.point == end:
			return event{}, false
		case e.starts:
			return e, true
		}
	}
	return event{}, false
}
