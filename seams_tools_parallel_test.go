package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// seamCalls returns n calls named call-0, call-1 and so on.
func seamCalls(n int) []*hooks.ToolCall {
	calls := make([]*hooks.ToolCall, n)
	for i := range calls {
		calls[i] = &hooks.ToolCall{ID: fmt.Sprint(i), Name: fmt.Sprintf("call-%d", i), Input: map[string]any{"i": i}}
	}
	return calls
}

func TestParallelCallsKeepTheirInputsHooksAndResultsConcurrentSafe(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, r := seamScope(t)
	var mu sync.Mutex
	pre, post := map[string]int{}, map[string]int{}
	seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		mu.Lock()
		pre[call.ID]++
		mu.Unlock()
		call.Put(key{}, call.ID)
		call.Input["seen by"] = call.ID
		return nil
	})
	seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		mu.Lock()
		post[call.ID]++
		mu.Unlock()
		id, ok := call.Get(key{})
		assert.True(t, ok)
		assert.Equal(t, call.ID, id)
		assert.Equal(t, call.ID, call.Input["seen by"])
		call.Result += "!"
		return nil
	})
	for _, limit := range []int{-1, 0, 1, 3, 100} {
		clear(pre)
		clear(post)
		calls := seamCalls(64)
		require.NoError(t, hooks.RunTools(ctx, calls, limit, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = fmt.Sprint("result ", call.Input["i"])
			return nil
		}))
		for i, call := range calls {
			assert.Equal(t, fmt.Sprintf("result %d!", i), call.Result)
			assert.Equal(t, 1, pre[call.ID])
			assert.Equal(t, 1, post[call.ID])
		}
	}
}

func TestHooksOfParallelCallsRunConcurrently(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		ctx, r := seamScope(t)
		const n = 8
		var arrived sync.WaitGroup
		arrived.Add(n)
		seamOnTool(r, at, func(context.Context, *hooks.ToolCall) error {
			arrived.Done()
			arrived.Wait() // for all the others
			return nil
		})
		exit := seamLeave(t, func() error { return hooks.RunTools(ctx, seamCalls(n), 0, seamReturns("ok")) })
		assert.Equal(t, seamExit{}, exit)
	}
}

func TestLimitBoundsTheCallsThatRunAtOnce(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	require.NoError(t, hooks.RunTools(t.Context(), seamCalls(40), 3, func(context.Context, *hooks.ToolCall) error {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		runtime.Gosched()
		return nil
	}))
	assert.LessOrEqual(t, most.Load(), int64(3))
	assert.Positive(t, most.Load())
}

func TestOneCallsFailureDoesNotTouchTheOthers(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")), hooks.WithTools("call-1"))
	seamOnTool(r, hooks.PostToolCall, seamRefuse(hooks.Abort("secret")), hooks.WithTools("call-4"))
	calls := seamCalls(6)
	require.NoError(t, calls[5].SetArguments(`{}`))
	require.Error(t, calls[5].SetArguments(`[]`))
	require.NoError(t, hooks.RunTools(ctx, calls, 1, func(_ context.Context, call *hooks.ToolCall) error {
		switch call.ID {
		case "2":
			return errors.New("disk full")
		case "3":
			panic("boom")
		}
		call.Result = "ok"
		return nil
	}))
	results := make([]string, len(calls))
	for i, call := range calls {
		results[i] = call.Result
		assert.Equal(t, i > 0, call.IsError(), call.Name)
	}
	assert.Equal(t, []string{
		"ok",
		"Tool execution blocked by hook. Tool: call-1. Reason: no",
		"disk full",
		"Tool call-3 panicked",
		"Tool result withheld by hook. Tool: call-4. Reason: secret",
		"Tool was not run: arguments must be one JSON object: found an array at byte 0",
	}, results)
}

func TestNothingStartsAfterAnErrorThatStopsTheRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stop error
		want string
	}{
		"StopRun":                 {&hooks.HookAborted{Reason: "over budget", Source: "accounting", StopRun: true}, "Tool was not run: over budget"},
		"StopRun with a message":  {&hooks.HookAborted{Reason: "over budget", Message: "Wait for the owner.", StopRun: true}, "Tool was not run: Wait for the owner."},
		"StopRun without reasons": {&hooks.HookAborted{Source: "accounting", StopRun: true, Err: errors.New("secret")}, "Tool was not run: the run was stopped"},
		"an interrupt":            {hooks.PassThrough(errors.New("secret")), "Tool was not run: the run was stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			var points atomic.Int64
			seamOnTool(r, hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { points.Add(1); return nil })
			var bodies atomic.Int64
			calls := seamCalls(10)
			calls[7].Result, calls[7].RawResult = "left over", "left over"
			err := hooks.RunTools(ctx, calls, 1, func(_ context.Context, call *hooks.ToolCall) error {
				bodies.Add(1)
				if call.ID == "2" {
					return tc.stop
				}
				call.Result = "ok"
				return nil
			})
			require.Error(t, err)
			assert.EqualValues(t, 3, bodies.Load())
			assert.EqualValues(t, 3, points.Load())
			for _, call := range calls[:2] {
				assert.Equal(t, "ok", call.Result)
			}
			for _, call := range calls[3:] {
				assert.Equal(t, tc.want, call.Result)
				assert.True(t, call.IsError())
				assert.False(t, call.Ran())
				assert.Nil(t, call.RawResult)
				assert.Nil(t, call.Blocked)
				assert.ErrorIs(t, call.Err, err)
			}
		})
	}
}

func TestFirstErrorThatStopsTheRunIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := seamScope(t)
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			if call.ID == "0" {
				return nil
			}
			return &hooks.HookAborted{Reason: call.ID, StopRun: true}
		})
		calls := seamCalls(3)
		err := hooks.RunTools(ctx, calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
			<-time.After(map[string]time.Duration{"0": 3, "1": 2, "2": 1}[call.ID] * time.Second)
			call.Result = "ok"
			return nil
		})
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "2", abort.Reason, "the first in time")
		assert.Equal(t, "ok", calls[0].Result, "a running sibling finishes")
		assert.NotNil(t, calls[1].Blocked)
	})
}

func TestRunningSiblingsFinishWithTheirPostPointBeforeRunToolsReturns(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	stopped := make(chan struct{})
	var posts, bodies atomic.Int64
	var allIn sync.WaitGroup
	allIn.Add(8)
	seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		allIn.Done()
		allIn.Wait() // all of them have started
		if call.ID == "3" {
			return &hooks.HookAborted{Reason: "over budget", StopRun: true}
		}
		return nil
	})
	seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		posts.Add(1)
		if call.ID == "3" {
			close(stopped)
		}
		return nil
	})
	calls := seamCalls(8)
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, calls, 0, func(ctx context.Context, call *hooks.ToolCall) error {
			bodies.Add(1)
			<-stopped
			assert.NoError(t, ctx.Err(), "who wants to tear them down cancels ctx")
			call.Result = "ok"
			return nil
		})
	})
	assert.True(t, seamIsAbort(exit.err))
	assert.EqualValues(t, 8, posts.Load())
	assert.EqualValues(t, 7, bodies.Load())
	for i, call := range calls {
		assert.Equal(t, i == 3, call.Blocked != nil)
		assert.NotEmpty(t, call.Result)
	}
}

func TestCancelTearsParallelCallsDownWithoutAHole(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	ctx, cancel := context.WithCancel(ctx)
	var posts, bodies atomic.Int64
	seamOnTool(r, hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		posts.Add(1)
		assert.NoError(t, ctx.Err())
		return nil
	})
	calls := seamCalls(20)
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, calls, 4, func(ctx context.Context, _ *hooks.ToolCall) error {
			if bodies.Add(1) == 4 {
				cancel()
			}
			<-ctx.Done()
			return ctx.Err()
		})
	})
	assert.Equal(t, context.Canceled, exit.err)
	assert.Equal(t, bodies.Load(), posts.Load())
	assert.EqualValues(t, 4, bodies.Load(), "no tool is started after the cancel")
	notRun := 0
	for _, call := range calls {
		assert.True(t, call.IsError())
		assert.Nil(t, call.Blocked)
		if !call.Ran() {
			notRun++
			assert.Equal(t, "Tool was not run: cancelled", call.Result)
		}
		assert.NotEmpty(t, call.Result)
	}
	assert.Equal(t, 16, notRun)
}

func TestRunToolsRefusesANilOrRepeatedCallBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	seamOnTool(r, hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { t.Error("a point fired"); return nil })
	call := &hooks.ToolCall{Name: "a"}
	for name, calls := range map[string][]*hooks.ToolCall{
		"nil":      {{Name: "b"}, nil},
		"repeated": {call, {Name: "b"}, call},
	} {
		err := hooks.RunTools(ctx, calls, 0, func(context.Context, *hooks.ToolCall) error { t.Error("a tool ran"); return nil })
		require.Error(t, err, name)
		assert.ErrorContains(t, err, "hooks: RunTools", name)
	}
	for _, none := range [][]*hooks.ToolCall{nil, {}} {
		assert.NoError(t, hooks.RunTools(ctx, none, 0, seamReturns("ok")))
	}
}

func TestParallelBodyThatEndsItsGoroutineStopsTheRun(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	var posts atomic.Int64
	seamOnTool(r, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { posts.Add(1); return nil })
	calls := seamCalls(5)
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, calls, 1, func(_ context.Context, call *hooks.ToolCall) error {
			if call.ID == "1" {
				runtime.Goexit()
			}
			call.Result = "ok"
			return nil
		})
	})
	assert.Equal(t, seamExit{err: hooks.ErrGoexit}, exit)
	assert.EqualValues(t, 2, posts.Load())
	for i, call := range calls {
		assert.NotEmpty(t, call.Result, call.Name)
		assert.Equal(t, i != 0, call.IsError(), call.Name)
	}
}

func TestParallelHookThatEndsItsGoroutineLeavesNoHole(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		ctx, r := seamScope(t)
		seamOnTool(r, at, func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil }, hooks.WithTools("call-1"))
		calls := seamCalls(4)
		exit := seamLeave(t, func() error { return hooks.RunTools(ctx, calls, 1, seamReturns("ok")) })
		assert.Equal(t, seamExit{err: hooks.ErrGoexit}, exit)
		for _, call := range calls {
			assert.NotEmpty(t, call.Result, "%s, %s", at.Name(), call.Name)
		}
	}
}

func TestParallelCallsOfOneCallerShareNothingConcurrentSafe(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, r := seamScope(t)
	seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		_, ok := call.Get(key{})
		assert.False(t, ok)
		call.Put(key{}, call.Name)
		call.AgentRole += "/" + call.Name
		return nil
	})
	seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		name, _ := call.Get(key{})
		assert.Equal(t, call.Name, name)
		assert.Equal(t, "Researcher/"+call.Name, call.AgentRole)
		return nil
	})
	x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-1", AgentRole: "Researcher"}}
	x.Put(key{}, "the execution's")
	require.NoError(t, hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		calls := seamCalls(10)
		for i := range calls {
			calls[i] = &hooks.ToolCall{Caller: x.Caller, Name: calls[i].Name}
		}
		return hooks.RunTools(ctx, calls, 0, seamReturns("ok"))
	}))
	assert.Equal(t, "Researcher", x.AgentRole)
}
