package hookstest

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
	{name: "edited-input", needs: toolPoints, play: editedInput(func(c *hooks.ToolCall) { c.Input["value"] = "edited" })},
	{name: "replaced-input", needs: toolPoints, play: editedInput(func(c *hooks.ToolCall) {
		c.Input = map[string]any{"key": "c1", "value": "edited"}
	})},
	{name: "edited-result", needs: toolPoints, play: editedResult},
	{name: "dropped-tool-call", needs: modelToolsPoints, play: droppedToolCall},
	{name: "edited-tool-call", needs: modelToolsPoints, play: editedToolCall},
	{name: "renamed-tool-call", needs: modelToolsPoints, play: renamedToolCall},
	{name: "edited-response", needs: modelToolsPoints, play: editedResponse},
	{name: "edited-last-response", needs: modelPoints, play: editedLastResponse},
	{name: "answered-model-call", needs: modelPoints, play: answeredModelCall},
	{name: "hidden-tool", needs: modelPoints, play: hiddenTool},
	{name: "edited-messages", needs: modelPoints, play: editedMessages},
	{name: "replaced-messages", needs: modelPoints, play: replacedMessages},
	{name: "edited-prompt", needs: []hooks.AnyPoint{hooks.Input}, play: editedPrompt(hooks.Input)},
	{name: "prompt-edited-at-start", needs: []hooks.AnyPoint{hooks.ExecutionStart}, play: editedPrompt(hooks.ExecutionStart)},
	{name: "edited-step-output", needs: stepPoints, play: editedStepOutput},
	{name: "edited-output", needs: []hooks.AnyPoint{hooks.Output}, play: editedOutput(hooks.Output)},
	{name: "output-edited-at-end", needs: []hooks.AnyPoint{hooks.ExecutionEnd}, play: editedOutput(hooks.ExecutionEnd)},
}

func editedInput(edit func(*hooks.ToolCall)) func(*trial) {
	return func(t *trial) {
		onTool(t, hooks.PreToolCall, func(c *hooks.ToolCall) error {
			edit(c)
			return nil
		})
		t.run(asks(request("alpha", "c1"), request("beta", "c2")), answers(theAnswer))
		t.mu.Lock()
		edited, other := t.values["c1"], t.values["c2"]
		t.mu.Unlock()
		t.check(edited == "edited", ruleArguments, `the value "edited" for alpha`, fmt.Sprintf("%q", edited))
		t.check(other == "raw", ruleOthers, `the value "raw" for beta`, fmt.Sprintf("%q", other))
		t.checkGoesOn(ruleText)
	}
}

func editedResult(t *trial) {
	const secret = "the secret of the tool"
	t.tools["alpha"] = func(context.Context, map[string]any) (string, error) { return secret, nil }
	onTool(t, hooks.PostToolCall, func(c *hooks.ToolCall) error {
		c.Result = "redacted"
		return nil
	})
	// A second turn, since a loop may keep the raw result for later.
	t.run(asks(request("alpha", "c1")), asks(request("beta", "c2")), answers(theAnswer))
	for n := 1; n <= 2; n++ {
		t.checkSent(ruleResult, n, "redacted", true)
		t.checkSent(ruleResult, n, secret, false)
	}
	t.checkGoesOn(ruleText)
}

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

func editedToolCall(t *trial) {
	onReply(t, func(c *hooks.ModelCall) {
		c.ToolCalls = slices.Clone(c.ToolCalls)
		for i := range c.ToolCalls {
			c.ToolCalls[i].Arguments = strings.ReplaceAll(c.ToolCalls[i].Arguments, "raw", "edited")
		}
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.mu.Lock()
	got := t.values["c1"]
	t.mu.Unlock()
	t.check(got == "edited", ruleToolCalls, `the value "edited" for alpha`, fmt.Sprintf("%q", got))
	t.checkGoesOn(ruleText)
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

func editedMessages(t *trial) {
	t.strange = true
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		for i := range c.Messages {
			c.Messages[i].EditText(func(s string) string { return strings.ReplaceAll(s, thePrompt, "an edited text") })
		}
		c.Messages = append(c.Messages, hooks.Message{Role: "user", Content: "an appended text"})
		return nil
	})
	t.run(answers(theAnswer))
	t.checkSent(ruleMessages, 0, "an edited text", true)
	t.checkSent(ruleMessages, 0, "an appended text", true)
	t.checkSent(ruleMessages, 0, thePrompt, false)
	t.checkGoesOn(ruleText)
}

func replacedMessages(t *trial) {
	t.strange = true
	var calls atomic.Int32
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		if calls.Add(1) == 2 {
			c.Messages = []hooks.Message{{Role: "user", Content: "a summary"}}
		}
		return nil
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkSent(ruleMessages, 1, "a summary", true)
	t.checkSent(ruleMessages, 1, thePrompt, false)
	t.checkGoesOn(ruleText)
}

func editedPrompt(p hooks.Point[hooks.Execution]) func(*trial) {
	return func(t *trial) {
		var found atomic.Bool
		on(t, p, func(_ context.Context, x *hooks.Execution) error {
			for name, value := range x.Inputs {
				if text, ok := value.(string); ok && strings.Contains(text, thePrompt) {
					found.Store(true)
					x.Inputs[name] = strings.ReplaceAll(text, thePrompt, "an edited text")
				}
			}
			return nil
		})
		t.run(answers(theAnswer))
		t.check(found.Load(), rulePrompt, "the prompt among the Inputs, as a string", "it is not there to be edited")
		t.checkSent(rulePrompt, 0, "an edited text", true)
		t.checkSent(rulePrompt, 0, thePrompt, false)
		t.checkGoesOn(ruleText)
	}
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
