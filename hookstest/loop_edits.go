package hookstest

// Hooks that edit what goes to the model and what comes from it, up to nothing
// at all. What they do to one tool call stands in loop_treatments.go.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var (
	modelPoints      = []hooks.AnyPoint{hooks.PreModelCall, hooks.PostModelCall}
	stepPoints       = []hooks.AnyPoint{hooks.PreStep, hooks.PostStep}
	modelToolsPoints = append(slices.Clone(modelPoints), toolPoints...)
)

var editScenarios = []scenario{
	{name: "dropped-tool-call", needs: modelToolsPoints, play: droppedToolCall},
	{name: "edited-tool-call", needs: modelToolsPoints, play: editedToolCall(slices.Clone)},
	{name: "tool-call-edited-in-place", needs: modelToolsPoints, after: []string{"edited-tool-call"}, play: editedToolCall(func(calls []hooks.ToolRequest) []hooks.ToolRequest { return calls })},
	{name: "added-tool-call", needs: modelToolsPoints, after: []string{"several-tools", "dropped-tool-call"}, play: addedToolCall},
	{name: "renamed-tool-call", needs: modelToolsPoints, play: renamedToolCall},
	{name: "edited-response", needs: modelToolsPoints, play: editedResponse},
	{name: "edited-last-response", needs: modelPoints, play: editedLastResponse},
	{name: "answered-model-call", needs: modelPoints, play: answeredModelCall},
	{name: "hidden-tool", needs: modelPoints, play: hiddenTool},
	{name: "edited-step-output", needs: stepPoints, play: editedStepOutput},
	{name: "edited-output", needs: []hooks.AnyPoint{hooks.Output}, play: editedOutput(hooks.Output)},
	{name: "output-edited-at-end", needs: []hooks.AnyPoint{hooks.ExecutionEnd}, play: editedOutput(hooks.ExecutionEnd)},
}

// editedText is what hooks of the kit put in the place of a text.
const editedText = "an edited text"

// onReply registers a hook for the first reply of the model.
func onReply(t *trial, fn func(*hooks.ModelCall)) {
	var seen atomic.Bool
	on(t, hooks.PostModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		if seen.CompareAndSwap(false, true) {
			fn(c)
		}
		return nil
	})
}

func droppedToolCall(t *trial) {
	onReply(t, func(c *hooks.ModelCall) {
		c.ToolCalls = slices.DeleteFunc(slices.Clone(c.ToolCalls), func(r hooks.ToolRequest) bool { return r.Name == "alpha" })
	})
	t.run(asks(request("alpha", "c1"), request("beta", "c2")), answers(theAnswer))
	t.checkRan(ruleToolCalls, "c1", 0)
	t.checkRan(ruleToolCalls, "c2", 1)
	t.checkGoesOn(ruleText)
}

// addedToolCall has a hook ask for a tool that the model hasn't asked for.
func addedToolCall(t *trial) {
	onReply(t, func(c *hooks.ModelCall) {
		c.ToolCalls = append(slices.Clone(c.ToolCalls), request("beta", "c2"))
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkRan(ruleToolCalls, "c1", 1)
	t.checkRan(ruleToolCalls, "c2", 1)
	t.checkGoesOn(ruleText)
}

func editedToolCall(copied func([]hooks.ToolRequest) []hooks.ToolRequest) func(*trial) {
	return func(t *trial) {
		onReply(t, func(c *hooks.ModelCall) {
			c.ToolCalls = copied(c.ToolCalls)
			for i := range c.ToolCalls {
				c.ToolCalls[i].Arguments = strings.ReplaceAll(c.ToolCalls[i].Arguments, "raw", "edited")
			}
		})
		t.run(asks(request("alpha", "c1")), answers(theAnswer))
		t.mu.Lock()
		got := t.values["c1"]
		t.mu.Unlock()
		t.check(got == "edited", ruleToolCalls, `the value "edited" for alpha`, fmt.Sprintf("%q", got))
		for _, m := range t.sent(1) {
			for _, req := range m.ToolCalls {
				t.check(!strings.Contains(req.Arguments, "raw"), ruleResponse, "the edited arguments in the reply that is sent back", req.Arguments)
			}
		}
		t.checkGoesOn(ruleText)
	}
}

// renamedToolCall is about a loop that finds the tool by what the model wrote,
// and tells the hooks of another one.
func renamedToolCall(t *trial) {
	onReply(t, func(c *hooks.ModelCall) {
		c.ToolCalls = slices.Clone(c.ToolCalls)
		for i := range c.ToolCalls {
			c.ToolCalls[i].Name = "beta"
		}
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkRan(ruleToolCalls, "c1", 1)
	t.checkSent(ruleToolCalls, 1, "beta says raw", true)
	t.checkGoesOn(ruleText)
}

func editedResponse(t *trial) {
	onReply(t, func(c *hooks.ModelCall) { c.Response = "edited thoughts" })
	first := asks(request("alpha", "c1"))
	first.Text = "raw thoughts"
	t.run(first, answers(theAnswer))
	t.checkRan(ruleToolCalls, "c1", 1)
	t.checkSent(ruleResponse, 1, "raw thoughts", false)
	t.checkGoesOn(ruleText)
}

func editedLastResponse(t *trial) {
	onReply(t, func(c *hooks.ModelCall) { c.Response = "an edited answer" })
	t.run(answers(theAnswer))
	t.check(t.err == nil && t.text == "an edited answer", ruleResponse, `"an edited answer" as the result`, fmt.Sprintf("%q, error %v", t.text, t.err))
}

func answeredModelCall(t *trial) {
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		c.Answer("the answer of a hook")
		return nil
	})
	t.run(answers(theAnswer))
	t.check(t.requests() == 0, ruleAnswered, "no call of the model", fmt.Sprint(t.requests()))
	t.check(t.err == nil && t.text == "the answer of a hook", ruleAnswered, `"the answer of a hook" as the result`, fmt.Sprintf("%q, error %v", t.text, t.err))
}

func hiddenTool(t *trial) {
	var seen atomic.Bool
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		n := len(c.Tools)
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(name string) bool { return name == "beta" })
		seen.Store(len(c.Tools) < n)
		return nil
	})
	t.run(answers(theAnswer))
	t.check(seen.Load(), ruleHidden, `"beta" among the Tools at pre_model_call`, "it is not there to be hidden")
	offered := t.offered(0)
	t.check(!slices.Contains(offered, "beta"), ruleHidden, `no "beta" among the tools of the request`, fmt.Sprintf("%q", offered))
	t.check(slices.Contains(offered, "alpha"), ruleOffered, `"alpha" among the tools of the request`, fmt.Sprintf("%q", offered))
	t.checkGoesOn(ruleText)
}

// editedStepOutput says nothing of steps whose output is something else.
func editedStepOutput(t *trial) {
	var edited atomic.Bool
	on(t, hooks.PostStep, func(_ context.Context, s *hooks.Step) error {
		if s.Output == theAnswer {
			s.Output = "an edited answer"
			edited.Store(true)
		}
		return nil
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	if !edited.Load() {
		t.checkGoesOn(ruleText)
		return
	}
	t.check(t.err == nil && t.text == "an edited answer", ruleStep, `"an edited answer" as the result`, fmt.Sprintf("%q, error %v", t.text, t.err))
}

func editedOutput(p hooks.Point[hooks.Execution]) func(*trial) {
	return func(t *trial) {
		on(t, p, func(_ context.Context, x *hooks.Execution) error {
			x.Output = "an edited answer"
			return nil
		})
		t.run(answers(theAnswer))
		t.check(t.err == nil && t.text == "an edited answer", ruleReturned, `"an edited answer"`, fmt.Sprintf("%q, error %v", t.text, t.err))
	}
}
