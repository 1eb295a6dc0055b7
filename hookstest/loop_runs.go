package hookstest

// Models that fail and panic, and runs inside a tool.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// nestedPoints are what it takes to see that a run is inside another one.
var nestedPoints = append([]hooks.AnyPoint{hooks.ExecutionStart, hooks.ExecutionEnd}, toolPoints...)

var runScenarios = []scenario{
	{name: "failing-model", play: failingModel},
	{name: "panicking-model", play: panickingModel},
	{name: "nested-run", needs: nestedPoints, play: nestedRun},
	{name: "abort-in-a-nested-run", needs: append(nestedPoints[:len(nestedPoints):len(nestedPoints)], modelPoints...), play: nestedAbort},
	{name: "stop-in-a-nested-run", needs: append(nestedPoints[:len(nestedPoints):len(nestedPoints)], modelPoints...), play: nestedStop},
}

func failingModel(t *trial) {
	down := errors.New("the model is down")
	t.run(asks(request("alpha", "c1")), turn{err: down})
	is := func(err error) bool { return errors.Is(err, down) || t.wire() && err != nil }
	t.check(is(t.err), ruleErrOut, "an error that errors.Is finds to be the model's", fmt.Sprint(t.err))
	t.checkFailed(is)
}

func panickingModel(t *trial) {
	t.mayPanic = true
	t.run(turn{panics: "the model panics"})
	t.checkFailed(func(err error) bool { return err != nil })
}

// checkFailed checks what execution_end was told.
func (t *trial) checkFailed(is func(error) bool) {
	for _, x := range t.runsOf() {
		if x.ended {
			t.check(x.status == hooks.StatusFailed && is(x.err), ruleStatus, "status failed and the failure in Err", fmt.Sprintf("status %q, error %v", x.status, x.err))
		}
	}
}

func nestedRun(t *trial) {
	t.tools["alpha"] = func(ctx context.Context, _ map[string]any) (string, error) {
		return t.inner(ctx, "the inner prompt", asks(request("beta", "i1")), answers("the inner answer"))
	}
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkNested()
	t.checkRan(ruleNested, "i1", 1)
	t.checkSent(ruleResult, 1, "the inner answer", true)
	t.checkGoesOn(ruleText)
}

// checkNested checks that there were two runs, one inside the other.
func (t *trial) checkNested() {
	var order []string
	t.mu.Lock()
	for _, e := range t.events {
		if e.point == hooks.ExecutionStart.Name() || e.point == hooks.ExecutionEnd.Name() {
			order = append(order, string(e.point))
		}
	}
	t.mu.Unlock()
	got := strings.Join(order, ", ")
	t.check(got == "execution_start, execution_start, execution_end, execution_end", ruleNested, "a start and an end for each of the two runs", got)
}

// playInnerAbort has a tool run the loop, and aborts the model call of that
// inner run.
func playInnerAbort(t *trial, stop bool) {
	var mu sync.Mutex
	var inner error
	t.tools["alpha"] = func(ctx context.Context, _ map[string]any) (string, error) {
		text, err := t.inner(ctx, "the inner prompt", answers("the inner answer"))
		mu.Lock()
		defer mu.Unlock()
		inner = err
		return text, err
	}
	var calls atomic.Int32
	on(t, hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error {
		if calls.Add(1) == 2 {
			return t.abort(&hooks.HookAborted{Reason: theReason, StopRun: stop})
		}
		return nil
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkNested()
	if !t.check(t.abortedAt >= 0, ruleNested, "pre_model_call of the inner run", "it did not fire") {
		return
	}
	t.checkNothingStarts(ruleAbortEnds, hooks.PreModelCall.Name(), hooks.ExecutionEnd.Name())
	mu.Lock()
	defer mu.Unlock()
	t.check(findAbort(inner) != nil, ruleAbortOut, anAbort+", out of the inner run", fmt.Sprint(inner))
}

func nestedAbort(t *trial) {
	playInnerAbort(t, false)
	t.checkGoesOn(ruleNestedAbort)
}

func nestedStop(t *trial) {
	playInnerAbort(t, true)
	t.check(t.requests() == 1, ruleNestedStop, "no other call of the outer model", fmt.Sprintf("%d calls", t.requests()))
	t.check(findAbort(t.err) != nil, ruleNestedStop, anAbort+", out of the outer run", fmt.Sprintf("%q, error %v", t.text, t.err))
}
