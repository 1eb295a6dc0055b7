package hookstest

// Hooks that leave nothing: a loop that takes an empty replacement for none
// restores what they took away.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var emptyScenarios = []scenario{
	{name: "all-tools-hidden", needs: modelPoints, play: allHidden},
	{name: "all-tool-calls-dropped", needs: modelToolsPoints, after: []string{"dropped-tool-call", "edited-last-response"}, play: allDropped},
	{name: "emptied-response", needs: modelToolsPoints, after: []string{"edited-response"}, play: emptiedResponse},
	{name: "emptied-last-response", needs: modelPoints, after: []string{"edited-last-response"}, play: emptied(ruleResponse, hooks.PostModelCall, func(c *hooks.ModelCall) { c.Response = "" })},
	{name: "emptied-step-output", needs: stepPoints, after: []string{"edited-step-output"}, play: emptiedStep},
	{name: "emptied-output", needs: []hooks.AnyPoint{hooks.Output}, after: []string{"edited-output"}, play: emptied(ruleReturned, hooks.Output, func(x *hooks.Execution) { x.Output = "" })},
	{name: "no-output", needs: []hooks.AnyPoint{hooks.Output}, after: []string{"edited-output"}, play: emptied(ruleReturned, hooks.Output, func(x *hooks.Execution) { x.Output = nil })},
	{name: "emptied-output-at-end", needs: []hooks.AnyPoint{hooks.ExecutionEnd}, after: []string{"output-edited-at-end"}, play: emptied(ruleReturned, hooks.ExecutionEnd, func(x *hooks.Execution) { x.Output = "" })},
	{name: "answered-model-call-without-text", needs: modelPoints, after: []string{"answered-model-call"}, play: answeredWithNothing},
}

func allHidden(t *trial) {
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		c.Tools = nil
		return nil
	})
	t.run(answers(theAnswer))
	t.check(t.requests() == 1, ruleText, "one call of the model, without tools", fmt.Sprint(t.requests()))
	offered := slices.DeleteFunc(slices.Clone(t.offered(0)), func(name string) bool { return !slices.Contains(toolNames, name) })
	t.check(len(offered) == 0, ruleHidden, "no tools in the request", fmt.Sprintf("%q", offered))
	t.checkGoesOn(ruleText)
}

func allDropped(t *trial) {
	onReply(t, func(c *hooks.ModelCall) { c.ToolCalls, c.Response = nil, theAnswer })
	t.run(asks(request("alpha", "c1"), request("beta", "c2")), answers(theAnswer))
	t.checkRan(ruleToolCalls, "c1", 0)
	t.checkRan(ruleToolCalls, "c2", 0)
	t.checkGoesOn(ruleText)
}

func emptiedResponse(t *trial) {
	onReply(t, func(c *hooks.ModelCall) { c.Response = "" })
	first := asks(request("alpha", "c1"))
	first.Text = "raw thoughts"
	t.run(first, answers(theAnswer))
	t.checkSent(ruleResponse, 1, "raw thoughts", false)
	t.checkGoesOn(ruleText)
}

// emptied has a hook at p take the answer away. A loop may fail then.
func emptied[C any](rule string, p hooks.Point[C], empty func(*C)) func(*trial) {
	return func(t *trial) {
		t.strange = true
		on(t, p, func(_ context.Context, c *C) error {
			empty(c)
			return nil
		})
		t.run(answers(theAnswer))
		t.check(!strings.Contains(t.text, theAnswer), rule, "no text, or an error", fmt.Sprintf("%q", t.text))
	}
}

// emptiedStep says nothing of steps whose output isn't the answer.
func emptiedStep(t *trial) {
	t.strange = true
	var edited atomic.Bool
	on(t, hooks.PostStep, func(_ context.Context, s *hooks.Step) error {
		if s.Output == theAnswer {
			s.Output = ""
			edited.Store(true)
		}
		return nil
	})
	t.run(answers(theAnswer))
	t.check(!edited.Load() || !strings.Contains(t.text, theAnswer), ruleStep, "no text, or an error", fmt.Sprintf("%q", t.text))
}

func answeredWithNothing(t *trial) {
	t.strange = true
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		c.Answer("")
		return nil
	})
	t.run(answers(theAnswer))
	t.check(t.requests() == 0, ruleAnswered, "no call of the model", fmt.Sprint(t.requests()))
}
