package hookstest

// An abort with StopRun among several calls: in a loop that runs them one after
// the other, those behind it don't start.

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
)

var stopScenarios = []scenario{
	{name: "stop-before-siblings", needs: toolPoints, play: stopAmong(hooks.PreToolCall, "c2")},
	{name: "stop-after-a-tool-before-siblings", needs: toolPoints, play: stopAmong(hooks.PostToolCall, "c2")},
	{name: "stop-at-the-first-of-siblings", needs: toolPoints, play: stopAmong(hooks.PreToolCall, "c1")},
	{name: "stop-in-the-third-turn", needs: toolPoints, play: stopAmong(hooks.PreToolCall, "t3")},
}

func stopAmong(p hooks.Point[hooks.ToolCall], key string) func(*trial) {
	return func(t *trial) {
		on(t, p, func(_ context.Context, c *hooks.ToolCall) error {
			if keyOf(c.Input) != key {
				return nil
			}
			return t.abort(&hooks.HookAborted{Reason: theReason, StopRun: true})
		})
		turns := []turn{asks(request("alpha", "c1"), request("beta", "c2"), request("alpha", "c3"), request("beta", "c4"))}
		if key == "t3" {
			turns = []turn{asks(request("alpha", "t1")), asks(request("alpha", "t2")), asks(request("beta", "t3"), request("alpha", "t4"))}
		}
		asked := len(turns)
		t.run(append(turns, answers(theAnswer))...)
		if !t.check(t.abortedAt >= 0, rulePoints, fmt.Sprintf("%s for the call %s", p.Name(), key), "it did not fire") {
			return
		}
		if p.Name() == hooks.PreToolCall.Name() {
			t.checkRan(ruleBlocked, key, 0)
		}
		t.check(t.requests() == asked, ruleStop, fmt.Sprintf("%d calls of the model", asked), fmt.Sprint(t.requests()))
		if _, found := t.startsAfterAbort(""); found && !t.runsBeside(t.given) {
			t.checkNothingStarts(ruleSiblings, p.Name(), "")
		}
		t.check(findAbort(t.err) != nil, ruleAbortOut, anAbort, fmt.Sprintf("the text %q and the error %v", t.text, t.err))
	}
}
