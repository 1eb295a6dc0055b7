package hookstest

// Hooks around a model call and a tool call: they have the body run again, on
// what they have made of its input, or under a ctx of their own. So they retry,
// fall back to another model, and set deadlines.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var wrappedScenarios = []scenario{
	{name: "wrapped-tool", needs: toolPoints, after: []string{"several-tools"}, play: wrappedTool},
	{name: "wrapped-tool-run-again", needs: toolPoints, of: []string{"wrapped-tool"}, after: []string{"edited-input"}, play: toolRunAgain},
	{name: "wrapped-tool-retried", needs: toolPoints, of: []string{"wrapped-tool"}, after: []string{"failing-tool"}, play: toolRetried},
	{name: "wrapped-tool-renamed", needs: toolPoints, of: []string{"wrapped-tool"}, after: []string{"call-renamed-to-another-tool"}, renames: true, play: toolRenamed},
	{name: "switched-model", needs: modelPoints, play: switchedModel},
	{name: "wrapped-model", needs: modelPoints, play: wrappedModel},
	{
		name: "wrapped-model-run-again", needs: modelToolsPoints, of: []string{"wrapped-model"},
		after: []string{"edited-messages", "hidden-tool", "dropped-tool-call"}, play: modelRunAgain,
	},
	{name: "wrapped-model-retried", needs: modelPoints, of: []string{"wrapped-model"}, play: modelRetried},
	{name: "wrapped-model-switched", needs: modelPoints, of: []string{"wrapped-model", "switched-model"}, play: modelSwitched},
}

// around registers an around hook of the scenario.
func around[C any](t *trial, b hooks.Body[C], fn hooks.AroundFunc[C]) {
	hooks.Around(b, fn, hooks.In(t.registry), hooks.WithName(hookName))
}

// wrapKey is where a body finds the counter of an around hook in its ctx.
type wrapKey struct{}

// wraps counts its calls, and the bodies under the ctx that it hands on.
func wraps[C any](calls, inside *atomic.Int32) hooks.AroundFunc[C] {
	return func(ctx context.Context, _ *C, next func(context.Context) error) error {
		calls.Add(1)
		return next(context.WithValue(ctx, wrapKey{}, inside))
	}
}

// checkWrapped checks the ctx of a body, and that the hook was called for each.
func (t *trial) checkWrapped(what string, calls, inside, want int32) {
	t.check(calls == want, ruleAround, fmt.Sprintf("the hook around %s called %d times", what, want), fmt.Sprintf("%d times", calls))
	t.check(inside == want, ruleCtx, what+" under the ctx that the around hook hands on", "another ctx")
}

func wrappedTool(t *trial) {
	var calls, inside atomic.Int32
	around(t, hooks.ToolBody, wraps[hooks.ToolCall](&calls, &inside))
	t.run(asks(threeCalls...), asks(request("alpha", "c4")), answers(theAnswer))
	t.checkGoesOn(ruleGoesOn)
	t.checkWrapped("a tool", calls.Load(), inside.Load(), 4)
}

// toolRunAgain has a tool run a second time, on another input, of which the
// result stands.
func toolRunAgain(t *trial) {
	t.reruns = true
	around(t, hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next func(context.Context) error) error {
		if err := next(ctx); err != nil {
			return err
		}
		c.Input = map[string]any{"key": "c1", "value": "edited"}
		return next(ctx)
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkRan(ruleReruns, "c1", 2)
	t.mu.Lock()
	got := t.values["c1"]
	t.mu.Unlock()
	t.check(got == "edited", ruleReruns, `the value "edited" for the second run of alpha`, fmt.Sprintf("%q", got))
	t.checkSent(ruleLastRun, 1, "alpha says edited to c1", true)
	t.checkSent(ruleLastRun, 1, "alpha says raw to c1", false)
	t.checkGoesOn(ruleGoesOn)
}

// retry is an around hook that tries a second time what has failed.
func retry[C any](ctx context.Context, _ *C, next func(context.Context) error) error {
	if next(ctx) == nil {
		return nil
	}
	return next(ctx)
}

func toolRetried(t *trial) {
	t.reruns = true
	var runs atomic.Int32
	t.tools["beta"] = func(context.Context, map[string]any) (string, error) {
		if runs.Add(1) == 1 {
			return "", errTool
		}
		return "beta works again", nil
	}
	around(t, hooks.ToolBody, retry[hooks.ToolCall])
	t.run(asks(request("beta", "c1"), request("alpha", "c2")), answers(theAnswer))
	k := t.toolCall("beta", "c1")
	t.checkRan(ruleReruns, "c1", 2)
	t.check(k.err == nil, ruleLastRun, "no error in Err at post_tool_call", fmt.Sprint(k.err))
	t.checkSent(ruleLastRun, 1, "beta works again", true)
	t.checkSent(ruleLastRun, 1, errTool.Error(), false)
	t.checkRan(ruleOthers, "c2", 1)
	t.checkGoesOn(ruleGoesOn)
}

// toolRenamed has the second run be that of another tool.
func toolRenamed(t *trial) {
	t.reruns = true
	around(t, hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next func(context.Context) error) error {
		_ = next(ctx)
		c.Name = "beta"
		return next(ctx)
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkSent(ruleLastRun, 1, "alpha says raw to c1", false) // a loop may refuse the second
	t.checkGoesOn(ruleGoesOn)
}

func wrappedModel(t *trial) {
	var calls, inside atomic.Int32
	around(t, hooks.ModelBody, wraps[hooks.ModelCall](&calls, &inside))
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkGoesOn(ruleGoesOn)
	if t.wire() {
		inside.Store(calls.Load())
	}
	t.checkWrapped("a model", calls.Load(), inside.Load(), 2)
}

// modelRunAgain has a model asked a second time, with other messages and tools:
// of the first reply nothing stands.
func modelRunAgain(t *trial) {
	t.reruns, t.strange = true, true
	var wrapped atomic.Bool
	around(t, hooks.ModelBody, func(ctx context.Context, c *hooks.ModelCall, next func(context.Context) error) error {
		if err := next(ctx); err != nil || wrapped.Swap(true) {
			return err
		}
		editMessages(c)
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(name string) bool { return name == "beta" })
		return next(ctx)
	})
	first := asks(request("alpha", "c9"))
	first.Text = "raw thoughts"
	t.run(first, asks(request("alpha", "c1")), answers(theAnswer))
	t.checkSent(ruleReruns, 1, editedText, true)
	t.checkSent(ruleReruns, 1, thePrompt, false)
	t.check(!slices.Contains(t.offered(1), "beta"), ruleReruns, `no "beta" among the tools of request 2`, fmt.Sprintf("%q", t.offered(1)))
	t.checkRan(ruleLastRun, "c9", 0)
	t.checkRan(ruleLastRun, "c1", 1)
	t.checkSent(ruleLastRun, 2, "raw thoughts", false)
	t.checkSent(ruleOneCall, 2, thePrompt, true)
	t.checkGoesOn(ruleGoesOn)
}

func modelRetried(t *trial) {
	t.reruns = true
	around(t, hooks.ModelBody, retry[hooks.ModelCall])
	t.run(turn{err: errModelDown}, answers(theAnswer))
	t.check(t.requests() == 2, ruleReruns, "two calls of the model", fmt.Sprint(t.requests()))
	t.check(t.err == nil, ruleLastRun, "no error", fmt.Sprint(t.err))
	t.checkGoesOn(ruleText)
}

const otherModel = "another model of the kit"

// switchedModel has a pre hook choose the model.
func switchedModel(t *trial) {
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		c.Model = otherModel
		return nil
	})
	t.run(answers(theAnswer))
	if t.checkModels(); t.requests() > 0 {
		t.checkGoesOn(ruleText)
		return
	}
	t.check(errors.Is(t.err, errors.ErrUnsupported), ruleModel, "errors.ErrUnsupported", fmt.Sprintf("%q, error %v", t.text, t.err))
}

// checkModels checks the Model of all requests but those of the loop's own model.
func (t *trial) checkModels(own ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, req := range t.script.requests {
		if req.Model != otherModel && !slices.Contains(own, req.Model) && len(t.broken) == 0 {
			t.breaks(ruleModel, fmt.Sprintf("the model %q in request %d, or no request and errors.ErrUnsupported", otherModel, i+1), fmt.Sprintf("%q", req.Model))
		}
	}
}

// modelSwitched falls back to the loop's own model where another can't be asked.
func modelSwitched(t *trial) {
	t.reruns = true
	var sent atomic.Int32 // requests when the other model had been asked
	around(t, hooks.ModelBody, func(ctx context.Context, c *hooks.ModelCall, next func(context.Context) error) error {
		own := c.Model
		c.Model = otherModel
		err := next(ctx)
		sent.Store(int32(t.requests()))
		if errors.Is(err, errors.ErrUnsupported) {
			c.Model = own
			return next(ctx)
		}
		return err
	})
	t.run(answers(theAnswer))
	if sent.Load() > 0 {
		t.checkModels()
	}
	t.checkGoesOn(ruleModel)
}
