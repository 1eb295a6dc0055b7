package hookstest

// What a loop sends another time: a request whose model has failed, the calls of
// a turn that it has seen before, and what was said in an earlier run. What hooks
// have left counts there as well.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var againScenarios = []scenario{
	{name: "edits-of-a-retried-model-call", needs: modelPoints, after: []string{"edited-messages", "hidden-tool"}, play: retriedEdits},
	{name: "cancelled-in-a-retried-model", after: []string{"cancelled-in-a-model"}, play: retriedCancel},
	{name: "same-call-again-after-a-failure", needs: toolPoints, after: []string{"same-call-again", "failing-tool"}, play: againAfter(false)},
	{name: "same-call-again-after-a-block", needs: toolPoints, after: []string{"same-call-again", "blocked-tool"}, play: againAfter(true)},
	{name: "calls-without-ids", needs: toolPoints, after: []string{"several-tools"}, play: withoutIDs},
	{name: "id-used-again", needs: toolPoints, after: []string{"several-tools"}, play: usedID},
	{name: "conversation-after-edits", needs: modelToolsPoints, after: []string{"edited-response", "edited-result"}, play: editedConversation},
}

var errModelDown = errors.New("the model is down")

// retriedEdits says nothing of a loop that ends when its model fails.
func retriedEdits(t *trial) {
	t.strange = true
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		editMessages(c)
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(name string) bool { return name == "beta" })
		return nil
	})
	t.run(turn{err: errModelDown}, answers(theAnswer))
	for n := range t.requests() {
		t.checkSent(ruleMessages, n, editedText, true)
		t.checkSent(ruleMessages, n, thePrompt, false)
		t.check(!slices.Contains(t.offered(n), "beta"), ruleHidden, fmt.Sprintf(`no "beta" among the tools of request %d`, n+1), fmt.Sprintf("%q", t.offered(n)))
	}
}

// retriedCancel says nothing of a loop that ends when its model fails.
func retriedCancel(t *trial) {
	t.run(turn{err: errModelDown}, t.untilCancelled(), asks(request("beta", "c2")), answers(theAnswer))
	t.checkRan(ruleCancel, "c2", 0)
}

// againAfter is about a loop that remembers what came of a call, and answers the
// next one by that.
func againAfter(block bool) func(*trial) {
	return func(t *trial) {
		var seen atomic.Int32
		on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
			if block && c.Name == "beta" && seen.Add(1) == 1 {
				return t.abort(&hooks.HookAborted{Reason: theReason})
			}
			return nil
		})
		t.tools["beta"] = func(context.Context, map[string]any) (string, error) {
			if !block && seen.Add(1) == 1 {
				return "", errTool
			}
			return unremarkable, nil
		}
		t.run(asks(request("beta", "c1")), asks(betaAgain), answers(theAnswer))
		t.checkGoesOn(ruleGoesOn)
		t.checkFiredTwice(place{is: isBeta})
	}
}

// withoutIDs is about a loop that collects results by the ids of the calls, of
// which some providers send none.
func withoutIDs(t *trial) {
	t.strange = true // results in another order can't be told by an id
	first, second := request("alpha", "c1"), request("beta", "c2")
	first.ID, second.ID = "", ""
	t.run(asks(first, second), answers(theAnswer))
	t.checkGoesOn(ruleGoesOn)
	t.checkSent(ruleResults, 1, "alpha says raw to c1", true)
	t.checkSent(ruleResults, 1, "beta says raw to c2", true)
}

// usedID is about a loop that collects the results of a run by the ids, which
// some providers count anew in each turn.
func usedID(t *trial) {
	t.strange = true
	first, second := request("alpha", "c1"), request("beta", "c2")
	first.ID, second.ID = "call_0", "call_0"
	t.run(asks(first), asks(second), answers(theAnswer))
	t.checkGoesOn(ruleGoesOn)
	t.checkSent(ruleResults, 2, "beta says raw to c2", true)
}

// editedConversation is about a loop that keeps for its next run what hooks have
// taken out of this one. A loop that begins anew with each run shows nothing.
func editedConversation(t *trial) {
	t.strange = true
	t.then = "another prompt of the kit"
	on(t, hooks.PostModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		c.Response = strings.ReplaceAll(c.Response, "raw thoughts", editedText)
		return nil
	})
	on(t, hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		c.Result = strings.ReplaceAll(c.Result, theSecret, editedText)
		return nil
	})
	t.tools["alpha"] = func(context.Context, map[string]any) (string, error) { return theSecret, nil }
	first := asks(request("alpha", "c1"))
	first.Text = "raw thoughts"
	t.run(first, answers("more raw thoughts"), answers(theAnswer))
	for n := 1; n < t.requests(); n++ {
		t.checkSent(ruleResult, n, theSecret, false)
		t.checkSent(ruleResponse, n, "raw thoughts", false)
	}
}
