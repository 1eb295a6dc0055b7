package hookstest

// A tool that hands control to the framework, to wait for a person: that is no
// failure, and nothing for the model to read.

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
)

var interruptScenarios = []scenario{
	{name: "interrupting-tool", needs: toolPoints, after: []string{"failing-tool"}, play: interruptingTool},
}

var errInterrupt = errors.New("the tool waits for a person")

// interruptingTool has a tool hand control to the framework.
func interruptingTool(t *trial) {
	t.waits = errInterrupt
	t.tools["alpha"] = func(context.Context, map[string]any) (string, error) { return "", hooks.PassThrough(errInterrupt) }
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.check(errors.Is(t.err, errInterrupt), ruleInterrupt, "an error that errors.Is finds to be the tool's", fmt.Sprintf("%q, error %v", t.text, t.err))
	t.check(t.requests() == 1, ruleInterrupt, "no other call of the model", fmt.Sprintf("%d calls", t.requests()))
	for _, x := range t.runsOf() {
		t.check(!x.ended || x.status != hooks.StatusCompleted, ruleInterrupt, "an execution that has not completed", fmt.Sprintf("status %q", x.status))
	}
}
