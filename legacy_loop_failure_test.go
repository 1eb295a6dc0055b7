package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// brokenLoop returns LoopHooks all of whose functions call broken and return
// its error beside values that must not be used.
func brokenLoop(broken func(context.Context) error) hooks.LoopHooks {
	return hooks.LoopHooks{
		BeforeTurn: func(ctx context.Context, _ int, _ []hooks.Message) error { return broken(ctx) },
		BeforeProviderCall: func(ctx context.Context, _ []hooks.Message) ([]hooks.Message, error) {
			return []hooks.Message{{Content: "unused"}}, broken(ctx)
		},
		BeforeToolExecution: func(ctx context.Context, _ string, _ map[string]any) (hooks.Gate, error) {
			return hooks.Gate{Authorize: true, Result: new("unused")}, broken(ctx)
		},
		AfterToolExecution: func(ctx context.Context, _, _ string) (string, error) { return "unused", broken(ctx) },
		AfterTurn:          func(ctx context.Context, _ int, _ hooks.Message) error { return broken(ctx) },
	}
}

func TestLoopHookThatFailsStopsTheRun(t *testing.T) {
	t.Parallel()
	secret := fmt.Errorf("password hunter2: %w", errBroken)
	for name, tc := range map[string]struct {
		fail   func(context.Context) error
		opts   []hooks.Option
		cause  error
		reason string
	}{
		"an error":         {func(context.Context) error { return secret }, nil, errBroken, "a guard failed"},
		"with a name":      {func(context.Context) error { return secret }, []hooks.Option{hooks.WithName("policy")}, errBroken, "policy failed"},
		"a panic":          {func(context.Context) error { panic(secret) }, nil, errBroken, "a guard failed"},
		"a late return":    {func(ctx context.Context) error { <-ctx.Done(); return nil }, []hooks.Option{hooks.WithTimeout(time.Second)}, context.DeadlineExceeded, "a guard failed"},
		"a nil abort":      {func(context.Context) error { return (*hooks.HookAborted)(nil) }, nil, nil, "a guard failed"},
		"an abort":         {func(context.Context) error { return hooks.Abort("too long") }, nil, nil, "too long"},
		"a wrapped abort":  {func(context.Context) error { return fmt.Errorf("%w: %w", secret, hooks.Abort("too long")) }, nil, errBroken, "too long"},
		"a panicked abort": {func(context.Context) error { panic(hooks.Abort("too long")) }, nil, nil, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				brokenLoop(tc.fail).Register(append(tc.opts, hooks.In(r))...)
				model, tool := new(hooks.ModelCall), &hooks.ToolCall{Name: "t", Result: "found"}
				turn := func() *hooks.Step { return &hooks.Step{Kind: hooks.StepTurn, Input: new(hooks.Turn)} }
				for point, err := range map[hooks.AnyPoint]error{
					hooks.PreStep:      hooks.Dispatch(ctx, hooks.PreStep, turn()),
					hooks.PreModelCall: hooks.Dispatch(ctx, hooks.PreModelCall, model),
					hooks.PreToolCall:  hooks.Dispatch(ctx, hooks.PreToolCall, tool),
					hooks.PostToolCall: hooks.Dispatch(ctx, hooks.PostToolCall, tool),
					hooks.PostStep:     hooks.Dispatch(ctx, hooks.PostStep, turn()),
				} {
					abort := aborted(t, err)
					assert.Equal(t, tc.reason, abort.Reason, "%s", point.Name())
					assert.Equal(t, point.Name(), abort.Point)
					assert.NotContains(t, abort.Error(), "hunter2")
					_, again := abort.Err.(*hooks.HookAborted)
					assert.False(t, again, "a cause is no abort itself")
					if tc.cause != nil {
						assert.ErrorIs(t, abort, tc.cause, "%s", point.Name())
					}
					if point == hooks.PreToolCall || point == hooks.PostToolCall {
						assert.True(t, abort.StopRun, "%s", point.Name())
					}
				}
				if tc.cause == context.DeadlineExceeded {
					return // what it returned too late, but without an error, was an edit like any other
				}
				assert.Equal(t, "found", tool.Result)
				assert.False(t, tool.Answered())
				assert.Empty(t, model.Messages)
			})
		})
	}
}

func TestLoopHooksAreListedAsFailClosed(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	tracingLoop(new(trace)).Register(hooks.In(r), hooks.WithName("loop"))
	assert.Equal(t, len(loopPoints), strings.Count(r.String(), "loop fail-closed\n"), "%s", r)
}

func TestLoopHookThatPanicsIsReportedWithItsStack(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	brokenLoop(func(context.Context) error { panic("boom") }).Register(hooks.In(r))
	err := hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"})
	panicked, ok := errors.AsType[*hooks.PanicError](err)
	require.True(t, ok)
	assert.Equal(t, "boom", panicked.Value)
	assert.Contains(t, string(panicked.Stack), "TestLoopHookThatPanicsIsReportedWithItsStack")
}

func TestAbortOfALoopHookKeepsItsFields(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	shared := &hooks.HookAborted{Reason: "too long", Message: "Stop.", Source: "budget", Err: errBroken}
	var err error
	brokenLoop(func(context.Context) error { return err }).Register(hooks.In(r))
	for _, err = range []error{shared, fmt.Errorf("over budget: %w", shared)} {
		abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"}))
		assert.Equal(t, hooks.HookAborted{
			Reason: "too long", Message: "Stop.", Source: "budget", StopRun: true, Point: "pre_tool_call", Err: errBroken,
		}, *abort)
	}
	assert.Equal(t, hooks.HookAborted{Reason: "too long", Message: "Stop.", Source: "budget", Err: errBroken}, *shared)
}

func TestLoopHookThatFailsAtAToolStopsTheTurn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	loop := tracingLoop(&tr)
	loop.BeforeToolExecution = brokenLoop(func(context.Context) error { return errBroken }).BeforeToolExecution
	loop.Register(hooks.In(r))
	err := oneTurn(ctx, new(hooks.Turn))
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, "BeforeTurn(0,0) BeforeProviderCall(0) AfterToolExecution(search,Tool execution blocked by hook. Tool: search. Reason: a guard failed)", tr.take())
}

func TestAfterToolExecutionThatFailsWithholdsTheResult(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.LoopHooks{AfterToolExecution: func(context.Context, string, string) (string, error) { return "", errBroken }}.Register(hooks.In(r))
	call := &hooks.ToolCall{Name: "t"}
	err := hooks.RunTool(ctx, call, toolReturning("secret"))
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, "Tool result withheld by hook. Tool: t. Reason: a guard failed", call.Result)
	assert.True(t, call.Ran())
}

func TestRefusalInTimeStandsAndALateAnswerDoesNot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		gate hooks.Gate
		wait time.Duration
		stop bool
		want string
	}{
		"refused in time":  {hooks.Gate{}, 0, false, "Rejected by policy."},
		"refused late":     {hooks.Gate{}, time.Minute, false, "Rejected by policy."},
		"answered in time": {hooks.Gate{Authorize: true, Result: new("cached")}, 0, false, "cached"},
		"answered late":    {hooks.Gate{Authorize: true, Result: new("cached")}, time.Minute, true, "Tool execution blocked by hook. Tool: t. Reason: a guard failed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				hooks.LoopHooks{BeforeToolExecution: func(ctx context.Context, _ string, _ map[string]any) (hooks.Gate, error) {
					if tc.wait > 0 {
						<-ctx.Done()
					}
					return tc.gate, nil
				}}.Register(hooks.In(r), hooks.WithTimeout(time.Second))
				call := &hooks.ToolCall{Name: "t"}
				err := hooks.RunTool(ctx, call, toolReturning("fresh"))
				assert.Equal(t, tc.stop, err != nil)
				assert.Equal(t, tc.want, call.Result)
			})
		})
	}
}

func TestLoopHookThatOpensItsOwnSeamIsTooDeep(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.LoopHooks{BeforeToolExecution: func(ctx context.Context, name string, _ map[string]any) (hooks.Gate, error) {
		return hooks.Gate{Authorize: true}, hooks.RunTool(ctx, &hooks.ToolCall{Name: name}, toolReturning(""))
	}}.Register(hooks.In(r))
	finishes(t, "the nest", func() {
		assert.ErrorIs(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "t"}, toolReturning("")), hooks.ErrTooDeep)
	})
	finishes(t, "a bare dispatch of an error that says so", func() {
		ctx, r := newRun(t)
		gated(hooks.Gate{}, hooks.ErrTooDeep).Register(hooks.In(r))
		abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"}))
		assert.ErrorIs(t, abort, hooks.ErrTooDeep)
		assert.True(t, abort.StopRun)
		assert.NotContains(t, abort.Reason, "failed")
	})
}

func TestLoopHookThatEndsItsGoroutineUnwindsIt(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	brokenLoop(func(context.Context) error { runtime.Goexit(); return nil }).Register(hooks.In(r))
	finishes(t, "the goroutine", func() {
		_ = hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"})
		assert.Fail(t, "it went on")
	})
}

func TestLoopHooksCostNoAllocationUnlessTheyStop(t *testing.T) {
	if raceEnabled {
		return // the race detector allocates
	}
	emptyDefault(t)
	redacted := "redacted"
	hooks.LoopHooks{
		BeforeTurn:         func(context.Context, int, []hooks.Message) error { return nil },
		BeforeProviderCall: func(_ context.Context, m []hooks.Message) ([]hooks.Message, error) { return m, nil },
		BeforeToolExecution: func(context.Context, string, map[string]any) (hooks.Gate, error) {
			return hooks.Gate{Authorize: true, Result: &redacted}, nil
		},
		AfterToolExecution: func(context.Context, string, string) (string, error) { return redacted, nil },
		AfterTurn:          func(context.Context, int, hooks.Message) error { return nil },
	}.Register()
	ctx := t.Context()
	step := &hooks.Step{Kind: hooks.StepTurn, Input: new(hooks.Turn)}
	model, tool := new(hooks.ModelCall), &hooks.ToolCall{Name: "t", Input: map[string]any{}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for _, err := range []error{
			hooks.Dispatch(ctx, hooks.PreStep, step), hooks.Dispatch(ctx, hooks.PreModelCall, model),
			hooks.Dispatch(ctx, hooks.PreToolCall, tool), hooks.Dispatch(ctx, hooks.PostToolCall, tool),
			hooks.Dispatch(ctx, hooks.PostStep, step),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	}))
}
