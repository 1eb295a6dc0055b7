package main

import (
	"context"
	"errors"
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

// A run that waits runs nothing more, whichever hook says so.
func TestLoop_suspendedStartsNothingMore(t *testing.T) {
	t.Parallel()
	for point, after := range map[hooks.InterceptionPoint][]hooks.InterceptionPoint{
		"pre_step":        {"execution_end"},
		"pre_model_call":  {"post_step", "execution_end"},
		"post_model_call": {"post_step", "execution_end"},
		"pre_tool_call":   {"post_step", "execution_end"},
		"post_tool_call":  {"post_step", "execution_end"},
		"post_step":       {"execution_end"},
	} {
		r := hooks.NewRegistry()
		interrupt := errors.New("wait for a person")
		var fired []hooks.InterceptionPoint
		waits := false
		everyPoint(r, func(p hooks.InterceptionPoint) error {
			if waits {
				fired = append(fired, p)
			}
			if p == point && !waits {
				waits = true
				return hooks.PassThrough(interrupt)
			}
			return nil
		})
		var status hooks.Status
		hooks.On(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
			status = x.Status
			return nil
		}, hooks.In(r))
		loop := testLoop(nil)
		if point == "pre_tool_call" {
			loop.Tool = func(context.Context, *hooks.ToolCall) error {
				t.Error("the tool ran")
				return nil
			}
		}
		answer, err := loop.Run(hooks.WithScope(t.Context(), r), "hello")
		assert.ErrorIs(t, err, interrupt, point)
		assert.Empty(t, answer, point)
		assert.Equal(t, after, fired, point)
		assert.Equal(t, hooks.StatusSuspended, status, point)
	}
}
