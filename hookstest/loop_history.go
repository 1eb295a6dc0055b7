package hookstest

// A loop that keeps its conversation and goes on with it after a run that was
// stopped: providers reject a history in which a call has no result. A loop that
// begins anew with each run shows nothing here.

import (
	"context"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

var historyScenarios = []scenario{
	{name: "conversation-after-a-stop", needs: toolPoints, after: []string{"every-point", "blocked-tool", "stop-at-pre_tool_call"}, play: afterStop},
	{name: "conversation-after-a-cancel", needs: toolPoints, after: []string{"every-point", "cancelled-in-a-tool"}, play: afterCancel},
}

func afterStop(t *trial) {
	onTool(t, hooks.PreToolCall, func(*hooks.ToolCall) error {
		return t.abort(&hooks.HookAborted{Reason: theReason, StopRun: true})
	})
	t.playConversation()
}

func afterCancel(t *trial) {
	t.tools["alpha"] = func(ctx context.Context, _ map[string]any) (string, error) {
		t.cancelIn(ctx, "tool alpha")
		return "done before the end", nil
	}
	t.playConversation()
}

// playConversation has a run that ends at its first tool call, and another one
// of the same loop.
func (t *trial) playConversation() {
	t.strange = true
	t.then = "another prompt of the kit"
	t.run(asks(request("alpha", "c1"), request("beta", "c2"), request("beta", "c3")), answers(theAnswer), answers(theAnswer))
	var open []string
	for n := 1; n < t.requests(); n++ {
		for _, m := range t.sent(n) {
			switch m.Role {
			case "assistant":
				for _, req := range m.ToolCalls {
					open = append(open, req.ID)
				}
			case "tool":
				if at := slices.Index(open, m.ToolCallID); at >= 0 {
					open = slices.Delete(open, at, at+1)
				} else if m.ToolCallID == "" && len(open) > 0 {
					open = open[1:]
				}
			}
		}
		if !t.check(len(open) == 0, ruleHistory, "a result for each tool call of the history", fmt.Sprintf("none for %q", open)) {
			return
		}
	}
}
