package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestLoop_cancelledStartsNothingMore(t *testing.T) {
	t.Parallel()
	for point, after := range map[hooks.InterceptionPoint][]hooks.InterceptionPoint{
		"execution_start": {"input", "execution_end"},
		"input":           {"execution_end"},
		"pre_step":        {"post_step", "execution_end"},
		"pre_model_call":  {"post_model_call", "post_step", "execution_end"},
		"post_model_call": {"post_step", "execution_end"},
		"pre_tool_call":   {"post_tool_call", "post_step", "execution_end"},
		"post_tool_call":  {"post_step", "execution_end"},
		"post_step":       {"execution_end"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r := hooks.NewRegistry()
		var fired []hooks.InterceptionPoint
		everyPoint(r, func(p hooks.InterceptionPoint) error {
			if ctx.Err() != nil {
				fired = append(fired, p)
			}
			if p == point {
				cancel()
			}
			return nil
		})
		var status hooks.Status
		hooks.On(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
			status = x.Status
			return nil
		}, hooks.In(r))
		loop := testLoop(nil)
		for _, p := range []hooks.InterceptionPoint{"execution_start", "input", "pre_step", "pre_model_call"} {
			if point == p {
				loop.Model = func(context.Context, *hooks.ModelCall) error {
					t.Errorf("cancelled at %s, and the model is called", point)
					return nil
				}
			}
		}
		answer, err := loop.Run(hooks.WithScope(ctx, r), "hello")
		assert.ErrorIs(t, err, context.Canceled, point)
		assert.Empty(t, answer, point)
		assert.Equal(t, after, fired, point)
		assert.Equal(t, hooks.StatusFailed, status, point)
	}
}

func TestLoop_answerOfCancelledRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := hooks.NewRegistry()
	live := false
	hooks.On(hooks.Output, func(ctx context.Context, _ *hooks.Execution) error {
		live = ctx.Err() == nil
		return nil
	}, hooks.In(r))
	loop := &Loop{MaxTurns: 1, Model: func(_ context.Context, m *hooks.ModelCall) error {
		cancel()
		m.Response = "done"
		return nil
	}}
	answer, err := loop.Run(hooks.WithScope(ctx, r), "hello")
	require.NoError(t, err)
	assert.Equal(t, "done", answer)
	assert.True(t, live)
}

func TestRunTool_firstReasonStands(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		hooks.On(p, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no, says " + string(p.Name())) }, hooks.In(r))
	}
	call := &hooks.ToolCall{Name: "send_mail"}
	require.NoError(t, runTool(hooks.WithScope(t.Context(), r), call, sendMail))
	assert.Equal(t, "no, says pre_tool_call", call.Blocked.Reason)
}

func TestRunTool_abortInsideTool(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{Name: "ask_agent"}
	require.NoError(t, runTool(t.Context(), call, func(context.Context, *hooks.ToolCall) error {
		return fmt.Errorf("the agent failed: %w", &hooks.HookAborted{Reason: "no network", Source: "policy.go:12", Err: errors.New("a secret")})
	}))
	assert.Equal(t, "no network", call.Result)
}
