package hookstest

// A run whose ctx is cancelled, in a tool, in a hook and in a model: nothing
// more starts, and post points are still told.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loophooks/hooks"
)

var cancelScenarios = []scenario{
	{name: "cancelled-in-a-tool", play: cancelledInTool},
	{name: "cancelled-in-a-hook", needs: toolPoints, play: cancelledInHook},
	{name: "cancelled-in-a-model", play: cancelledInModel},
	{name: "cancelled-in-a-model-of-the-second-turn", after: []string{"cancelled-in-a-model"}, play: cancelledInSecondModel},
}

// cancelIn cancels the run and waits until ctx is told.
func (t *trial) cancelIn(ctx context.Context, what string) {
	t.cancel()
	timer := time.NewTimer(2 * time.Second) // a ctx of the loop's own kind may need a moment
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		t.mu.Lock()
		t.breaks(ruleCtx, "the ctx of "+what+" cancelled with the run", "it is not cancelled")
		t.mu.Unlock()
	}
}

func cancelledInTool(t *trial) {
	t.tools["alpha"] = func(ctx context.Context, _ map[string]any) (string, error) {
		t.cancelIn(ctx, "tool alpha")
		return "done before the end", nil
	}
	t.run(asks(request("alpha", "c1")), asks(request("beta", "c2")), answers(theAnswer))
	t.checkCancelled(1)
}

func cancelledInHook(t *trial) {
	onTool(t, hooks.PreToolCall, func(*hooks.ToolCall) error {
		t.cancel()
		return nil
	})
	t.run(asks(request("alpha", "c1")), asks(request("beta", "c2")), answers(theAnswer))
	t.checkRan(ruleCancel, "c1", 0)
	t.checkCancelled(1)
}

// untilCancelled is a model that cancels the run instead of a reply.
func (t *trial) untilCancelled() turn {
	return turn{during: func(ctx context.Context) error {
		t.cancelIn(ctx, "the model")
		return context.Canceled
	}}
}

func cancelledInModel(t *trial) {
	t.run(t.untilCancelled(), asks(request("beta", "c2")), answers(theAnswer))
	t.checkCancelled(1)
}

func cancelledInSecondModel(t *trial) {
	t.run(asks(request("alpha", "c1")), t.untilCancelled(), asks(request("beta", "c2")), answers(theAnswer))
	t.checkCancelled(2)
}

func (t *trial) checkCancelled(requests int) {
	t.check(t.requests() == requests, ruleCancel, fmt.Sprintf("%d calls of the model", requests), fmt.Sprint(t.requests()))
	t.checkRan(ruleCancel, "c2", 0)
	t.check(errors.Is(t.err, context.Canceled), ruleCancel, "an error that errors.Is finds to be context.Canceled", fmt.Sprint(t.err))
	t.checkFailed(func(err error) bool { return errors.Is(err, context.Canceled) })
}
