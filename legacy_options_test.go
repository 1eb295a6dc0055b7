package hooks_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestLegacyHooksFollowTheSameFilterRulesAsOn(t *testing.T) {
	t.Parallel()
	writer, rm := hooks.WithAgents("Writer"), hooks.WithTools("Remove File")
	for name, tc := range map[string]struct {
		filters    []hooks.Option
		role, tool string
		runs       bool
	}{
		"role matches":                {[]hooks.Option{writer}, "Writer", "x", true},
		"role differs":                {[]hooks.Option{writer}, "Editor", "x", false},
		"role is compared exactly":    {[]hooks.Option{writer}, "writer", "x", false},
		"role is not trimmed":         {[]hooks.Option{writer}, "Writer ", "x", false},
		"unset role matches":          {[]hooks.Option{writer}, "", "x", true},
		"tool matches in any form":    {[]hooks.Option{rm}, "", "remove_file", true},
		"tool differs":                {[]hooks.Option{rm}, "", "read_file", false},
		"unset tool doesn't match":    {[]hooks.Option{rm}, "", "", false},
		"pattern matches":             {[]hooks.Option{hooks.WithTools("remove_*")}, "", "Remove File", true},
		"both filters must match":     {[]hooks.Option{writer, rm}, "Editor", "remove_file", false},
		"no names never match":        {[]hooks.Option{hooks.WithTools()}, "", "remove_file", false},
		"of two filters the last one": {[]hooks.Option{rm, hooks.WithTools("read_file")}, "", "read_file", true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			var tr trace
			opts := append(tc.filters, hooks.In(r))
			hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "pre"), opts...)
			hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { tr.add("before"); return true }, opts...)
			hooks.On(hooks.PostToolCall, note[hooks.ToolCall](&tr, "post"), opts...)
			hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) { tr.add("after"); return "", false }, opts...)
			call := &hooks.ToolCall{Name: tc.tool, Caller: hooks.Caller{AgentRole: tc.role}}
			require.NoError(t, hooks.RunTool(ctx, call, toolReturning("")))
			if tc.runs {
				assert.Equal(t, "pre before post after", tr.take())
			} else {
				assert.Empty(t, tr.take())
			}
		})
	}
}

func TestToolFilterOnAModelHookPanicsAsWithOn(t *testing.T) {
	t.Parallel()
	rm := hooks.WithTools("rm")
	legacy := panicText(t, func() { hooks.RegisterBeforeLLMCallHook(refuseModel, rm) })
	modern := panicText(t, func() { hooks.On(hooks.PreModelCall, note[hooks.ModelCall](nil, ""), rm) })
	assert.Equal(t, modern, legacy)
	assert.NotEmpty(t, legacy)
}

func TestFilteredLegacyHooksAreRemovedOneByOne(t *testing.T) {
	emptyDefault(t)
	var tr trace
	fn := func(_ context.Context, call *hooks.ToolCall) bool { tr.add(call.Name); return true }
	a := hooks.RegisterBeforeToolCallHook(fn, hooks.WithTools("a"))
	b := hooks.RegisterBeforeToolCallHook(fn, hooks.WithTools("b"))
	r := hooks.NewRegistry()
	scoped := hooks.RegisterBeforeToolCallHook(fn, hooks.WithTools("a", "b"), hooks.In(r))
	ctx := hooks.WithScope(t.Context(), r)
	ran := func() string {
		for _, name := range []string{"a", "b"} {
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: name}))
		}
		return tr.take()
	}
	assert.Equal(t, "a a b b", ran())
	assert.True(t, hooks.UnregisterBeforeToolCallHook(b))
	assert.Equal(t, "a a b", ran())
	assert.True(t, hooks.UnregisterBeforeToolCallHook(a))
	assert.Equal(t, "a b", ran())
	assert.True(t, scoped.Remove())
	assert.Empty(t, ran())
}

func TestPanickingLegacyHookIsPassedOver(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		filter := hooks.WithAgents("Writer")
		for broken := range 3 {
			for _, opts := range [][]hooks.Option{nil, {filter}} {
				ctx, r := newRun(t)
				var tr trace
				for i := range 3 {
					f.register(func() {
						tr.add(fmt.Sprint(i))
						if i == broken {
							panic("boom")
						}
					}, append(opts, hooks.In(r))...)
				}
				require.NoError(t, f.dispatch(ctx, "Writer"))
				assert.Equal(t, "0 1 2", tr.take())
			}
		}
	})
}

func TestEditsBeforeAPanicStayAndItsReplacementIsNotMade(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.RegisterBeforeToolCallHook(func(_ context.Context, call *hooks.ToolCall) bool {
		call.Input["edited"] = true
		panic("boom")
	}, hooks.In(r))
	hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (text string, replace bool) {
		text, replace = "replaced", true
		panic("boom")
	}, hooks.In(r))
	log := record(t, r)
	call := &hooks.ToolCall{Name: "t"}
	require.NoError(t, hooks.RunTool(ctx, call, toolReturning("result")))
	assert.Equal(t, map[string]any{"edited": true}, call.Input)
	assert.Equal(t, "result", call.Result)
	events := log.take()
	require.Len(t, events, 2)
	for _, ev := range events {
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeFailed}, outcomes(ev))
	}
}

func TestOptionsMeanTheSameForLegacyHooks(t *testing.T) {
	t.Parallel()
	t.Run("WithFailClosed", func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { panic("hunter2") },
			hooks.In(r), hooks.WithFailClosed(), hooks.WithName("policy"))
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, toolReturning("")))
		assert.Equal(t, "Tool execution blocked by hook. Tool: t. Reason: policy failed", call.Result)
	})
	t.Run("AsGuard", func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.RegisterBeforeToolCallHook(func(_ context.Context, call *hooks.ToolCall) bool { return call.Input["path"] != "/etc" },
			hooks.In(r), hooks.AsGuard())
		hooks.On(hooks.PreToolCall, edit(func(call *hooks.ToolCall) { call.Input["path"] = "/etc" }), hooks.In(r))
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, toolReturning("")))
		assert.NotNil(t, call.Blocked)
	})
	t.Run("WithOnce", func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.RegisterAfterToolCallHook(func(_ context.Context, call *hooks.ToolCall) (string, bool) { return call.Result + "!", true },
			hooks.In(r), hooks.WithOnce())
		for _, want := range []string{"x!", "x"} {
			call := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(ctx, call, toolReturning("x")))
			assert.Equal(t, want, call.Result)
		}
		assert.Empty(t, r.Hooks(hooks.PostToolCall))
	})
	t.Run("WithTimeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, r := newRun(t)
			hooks.RegisterBeforeToolCallHook(func(ctx context.Context, _ *hooks.ToolCall) bool { <-ctx.Done(); return true },
				hooks.In(r), hooks.WithFailClosed(), hooks.WithTimeout(time.Second))
			abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"}))
			assert.ErrorIs(t, abort, context.DeadlineExceeded)
		})
	})
}

func TestLegacyHooksCostNoAllocationUnlessTheyBlock(t *testing.T) {
	if raceEnabled {
		return // the race detector allocates
	}
	emptyDefault(t)
	var ran atomic.Int64
	hooks.RegisterBeforeLLMCallHook(func(context.Context, *hooks.ModelCall) bool { ran.Add(1); return true })
	hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) { ran.Add(1); return "new", true })
	hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { ran.Add(1); return true }, hooks.WithTools("t"))
	hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) { ran.Add(1); return "new", true })
	ctx := t.Context()
	model, tool := new(hooks.ModelCall), &hooks.ToolCall{Name: "t", Input: map[string]any{}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, err := range []error{
			hooks.Dispatch(ctx, hooks.PreModelCall, model), hooks.Dispatch(ctx, hooks.PostModelCall, model),
			hooks.Dispatch(ctx, hooks.PreToolCall, tool), hooks.Dispatch(ctx, hooks.PostToolCall, tool),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	}))
	assert.Equal(t, int64(4*101), ran.Load())
}
