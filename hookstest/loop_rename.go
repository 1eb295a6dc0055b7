package hookstest

// A hook that gives a call another name. The guards of the new name have judged
// the call by then, and those of the old one its result: the loop runs the tool
// of the new name, or refuses the call.

import (
	"fmt"

	"github.com/loophooks/hooks"
)

var renameScenarios = []scenario{
	{name: "call-renamed-to-another-tool", needs: toolPoints, after: []string{"every-point", "several-tools"}, play: renamedCall("beta")},
	{name: "call-renamed-to-an-unknown-tool", needs: toolPoints, after: []string{"every-point", "several-tools"}, play: renamedCall("gamma")},
}

func renamedCall(name string) func(*trial) {
	return func(t *trial) {
		onTool(t, hooks.PreToolCall, func(c *hooks.ToolCall) error {
			c.Name = name
			return nil
		})
		t.run(asks(request("alpha", "c1"), request("alpha", "c2")), answers(theAnswer))
		t.checkGoesOn(ruleGoesOn)
		t.checkRan(ruleOthers, "c2", 1)
		k := t.toolCall("alpha", "c1")
		if k.runs == 0 {
			t.check(k.err != nil || k.blocked, ruleFailed, "that the renamed call was refused, in Err at post_tool_call", "no error")
		}
		if name == "gamma" {
			t.check(k.runs == 0, ruleNamed, "no tool for gamma, which there isn't", fmt.Sprintf("%d runs", k.runs))
		}
	}
}
