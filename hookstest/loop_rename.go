package hookstest

// A hook that gives a call another name, in a loop that says that hooks may. The
// guards of both names have judged the call by then: the loop runs the tool of
// the new name, or refuses the call.

import (
	"fmt"

	"github.com/loophooks/hooks"
)

// Renames says that a hook may send a call to another tool by writing its Name:
// the tool of the new name runs then, or the call is refused. Without it the kit
// takes Name for not a hook's to change. Guards are asked by the old and the new
// name in any case.
func Renames() LoopOption { return loopOption(func(k *kit) { k.renames = true }) }

var renameScenarios = []scenario{
	{name: "call-renamed-to-another-tool", renames: true, needs: toolPoints, after: []string{"every-point", "several-tools"}, play: renamedCall("beta")},
	{name: "call-renamed-to-an-unknown-tool", renames: true, needs: toolPoints, after: []string{"every-point", "several-tools"}, play: renamedCall("gamma")},
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
