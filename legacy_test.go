// The before and after hooks of the older dialect: hooks like those of On, apart
// from what their results mean.

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/internal/race"
)

// emptyDefault empties the default registry for a test that manages it, and
// once more after it. Such a test must not run in parallel.
func emptyDefault(t *testing.T) {
	t.Helper()
	hooks.ClearAll()
	t.Cleanup(func() { hooks.ClearAll() })
}

// legacyFamily is one of the four kinds of legacy hooks with all that manages
// it, and On at the same point.
type legacyFamily struct {
	name       string
	point      hooks.AnyPoint
	nilHook    func()
	register   func(do func(), opts ...hooks.Option) *hooks.Registration
	on         func(do func(), opts ...hooks.Option) *hooks.Registration
	unregister func(*hooks.Registration) bool
	clear      func() int
	list       func() []*hooks.Registration
	dispatch   func(ctx context.Context, agent string) error
}

func legacyOn[C any](p hooks.Point[C]) func(func(), ...hooks.Option) *hooks.Registration {
	return func(do func(), opts ...hooks.Option) *hooks.Registration {
		return hooks.On(p, edit(func(*C) { do() }), opts...)
	}
}

func legacyModelDispatch(p hooks.Point[hooks.ModelCall]) func(context.Context, string) error {
	return func(ctx context.Context, agent string) error {
		return hooks.Dispatch(ctx, p, &hooks.ModelCall{Caller: hooks.Caller{AgentRole: agent}})
	}
}

func legacyToolDispatch(p hooks.Point[hooks.ToolCall]) func(context.Context, string) error {
	return func(ctx context.Context, agent string) error {
		return hooks.Dispatch(ctx, p, &hooks.ToolCall{Caller: hooks.Caller{AgentRole: agent}, Name: "search"})
	}
}

func legacyFamilies() []legacyFamily {
	return []legacyFamily{
		{
			name: "RegisterBeforeLLMCallHook", point: hooks.PreModelCall,
			nilHook: func() { hooks.RegisterBeforeLLMCallHook(nil) },
			register: func(do func(), opts ...hooks.Option) *hooks.Registration {
				return hooks.RegisterBeforeLLMCallHook(func(context.Context, *hooks.ModelCall) bool { do(); return true }, opts...)
			},
			on:         legacyOn(hooks.PreModelCall),
			unregister: hooks.UnregisterBeforeLLMCallHook, clear: hooks.ClearBeforeLLMCallHooks, list: hooks.BeforeLLMCallHooks,
			dispatch: legacyModelDispatch(hooks.PreModelCall),
		},
		{
			name: "RegisterAfterLLMCallHook", point: hooks.PostModelCall,
			nilHook: func() { hooks.RegisterAfterLLMCallHook(nil) },
			register: func(do func(), opts ...hooks.Option) *hooks.Registration {
				return hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) { do(); return "", false }, opts...)
			},
			on:         legacyOn(hooks.PostModelCall),
			unregister: hooks.UnregisterAfterLLMCallHook, clear: hooks.ClearAfterLLMCallHooks, list: hooks.AfterLLMCallHooks,
			dispatch: legacyModelDispatch(hooks.PostModelCall),
		},
		{
			name: "RegisterBeforeToolCallHook", point: hooks.PreToolCall,
			nilHook: func() { hooks.RegisterBeforeToolCallHook(nil) },
			register: func(do func(), opts ...hooks.Option) *hooks.Registration {
				return hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { do(); return true }, opts...)
			},
			on:         legacyOn(hooks.PreToolCall),
			unregister: hooks.UnregisterBeforeToolCallHook, clear: hooks.ClearBeforeToolCallHooks, list: hooks.BeforeToolCallHooks,
			dispatch: legacyToolDispatch(hooks.PreToolCall),
		},
		{
			name: "RegisterAfterToolCallHook", point: hooks.PostToolCall,
			nilHook: func() { hooks.RegisterAfterToolCallHook(nil) },
			register: func(do func(), opts ...hooks.Option) *hooks.Registration {
				return hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) { do(); return "", false }, opts...)
			},
			on:         legacyOn(hooks.PostToolCall),
			unregister: hooks.UnregisterAfterToolCallHook, clear: hooks.ClearAfterToolCallHooks, list: hooks.AfterToolCallHooks,
			dispatch: legacyToolDispatch(hooks.PostToolCall),
		},
	}
}

// eachLegacy runs test for every family.
func eachLegacy(t *testing.T, test func(*testing.T, legacyFamily)) {
	t.Helper()
	for _, f := range legacyFamilies() {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

func TestLegacy_runsInOneOrderWithOn(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		ctx, r := newRun(t)
		var tr trace
		for i, register := range []func(func(), ...hooks.Option) *hooks.Registration{f.on, f.register, f.register, f.on, f.register} {
			register(func() { tr.add(fmt.Sprint(i)) }, hooks.In(r), hooks.WithName(fmt.Sprint(i)))
		}
		require.NoError(t, f.dispatch(ctx, ""))
		assert.Equal(t, "0 1 2 3 4", tr.take())
		assert.Equal(t, []string{"0", "1", "2", "3", "4"}, registered(r.Hooks(f.point)))
	})
}

func TestLegacy_isSortedByPriority(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		ctx, r := newRun(t)
		var tr trace
		for i, priority := range []int{0, 10, -10, 0, 10, -10} {
			register, opts := f.on, []hooks.Option{hooks.In(r), hooks.WithPriority(priority)}
			if i%2 == 1 {
				register = f.register
			}
			if i%3 == 2 {
				opts = append(opts, hooks.WithAgents("Researcher"))
			}
			register(func() { tr.add(fmt.Sprint(i)) }, opts...)
		}
		require.NoError(t, f.dispatch(ctx, "Researcher"))
		assert.Equal(t, "1 4 0 3 2 5", tr.take())
	})
}

// Either API lists, removes and clears what the other registered.
func TestLegacy_managesHooksOfOnAndBack(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		emptyDefault(t)
		nothing := func() {}
		old, modern := f.register(nothing, hooks.WithName("old")), f.on(nothing, hooks.WithName("modern"))
		assert.Equal(t, []string{"old", "modern"}, registered(f.list()))
		assert.Equal(t, f.list(), hooks.Hooks(f.point))

		assert.True(t, f.unregister(modern))
		assert.True(t, hooks.Unregister(old))
		assert.Empty(t, f.list())

		f.register(nothing)
		f.on(nothing)
		assert.Equal(t, 2, f.clear())
		assert.Empty(t, hooks.Hooks(f.point))

		f.register(nothing)
		f.on(nothing)
		assert.Equal(t, 2, hooks.Clear(f.point))
		assert.Empty(t, f.list())
		assert.Zero(t, f.clear())
	})
}

func TestLegacy_isRemovedOnce(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		emptyDefault(t)
		var tr trace
		reg := f.register(func() { tr.add("ran") })
		require.NoError(t, f.dispatch(t.Context(), ""))
		assert.Equal(t, "ran", tr.take())
		assert.True(t, f.unregister(reg))
		assert.False(t, f.unregister(reg))
		assert.False(t, reg.Remove())
		require.NoError(t, f.dispatch(t.Context(), ""))
		assert.Empty(t, tr.take())
	})
}

func TestLegacy_unregistersOwnDefaultHooksOnly(t *testing.T) {
	families := legacyFamilies()
	for i, f := range families {
		t.Run(f.name, func(t *testing.T) {
			emptyDefault(t)
			nothing := func() {}
			assert.False(t, f.unregister(nil))
			assert.False(t, f.unregister(new(hooks.Registration)))

			foreign := families[(i+1)%len(families)].register(nothing)
			assert.False(t, f.unregister(foreign))
			assert.True(t, foreign.Remove(), "it had stayed")

			r := hooks.NewRegistry()
			scoped := f.register(nothing, hooks.In(r))
			assert.False(t, f.unregister(scoped))
			assert.Empty(t, f.list())
			assert.True(t, scoped.Remove(), "its handle removes it")
			assert.Empty(t, r.Hooks(f.point))
		})
	}
}

func TestLegacy_listsAreCopies(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		emptyDefault(t)
		f.register(func() {}, hooks.WithName("first"))
		f.register(func() {}, hooks.WithName("second"))
		list := f.list()
		list[0], list[1] = list[1], nil
		assert.Equal(t, []string{"first", "second"}, registered(f.list()))
	})
}

func TestLegacy_clearTellsHowMany(t *testing.T) {
	emptyDefault(t)
	// Before and after hooks of models, then of tools: 1, 2, 3 and 4 of them.
	fill := func() {
		for i, f := range legacyFamilies() {
			for n := range i + 1 {
				if n%2 == 0 {
					f.register(func() {})
				} else {
					f.on(func() {})
				}
			}
		}
	}
	step := hooks.On(hooks.PreStep, note[hooks.Step](new(trace), ""))

	fill()
	before, after := hooks.ClearAllLLMCallHooks()
	assert.Equal(t, [2]int{1, 2}, [2]int{before, after})
	before, after = hooks.ClearAllToolCallHooks()
	assert.Equal(t, [2]int{3, 4}, [2]int{before, after})

	fill()
	assert.Equal(t, hooks.ClearedHooks{
		LLM:   hooks.BeforeAfter{Before: 1, After: 2},
		Tool:  hooks.BeforeAfter{Before: 3, After: 4},
		Total: hooks.BeforeAfter{Before: 4, After: 6},
	}, hooks.ClearAllGlobalHooks())
	assert.Equal(t, hooks.ClearedHooks{}, hooks.ClearAllGlobalHooks())
	assert.True(t, step.Remove(), "the hooks of other points stay")
}

func TestLegacy_nilHookPanics(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		t.Parallel()
		text := panicText(t, f.nilHook)
		assert.Equal(t, "hooks: "+f.name+": the hook function is nil", text)
	})
}

func TestLegacy_isNamedAfterItsLine(t *testing.T) {
	t.Parallel()
	in := hooks.In(hooks.NewRegistry())
	_, _, line, _ := runtime.Caller(0)
	regs := []*hooks.Registration{
		hooks.RegisterBeforeLLMCallHook(func(context.Context, *hooks.ModelCall) bool { return true }, in),
		hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) { return "", false }, in),
		hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { return true }, in),
		hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) { return "", false }, in),
	}
	for i, reg := range regs {
		assert.Equal(t, fmt.Sprintf("legacy_test.go:%d", line+2+i), reg.Name())
	}
}

func refuseTool(context.Context, *hooks.ToolCall) bool { return false }

func allowTool(context.Context, *hooks.ToolCall) bool { return true }

func refuseModel(context.Context, *hooks.ModelCall) bool { return false }

func TestLegacy_falseAbortsWithReasonOfItsFamily(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.RegisterBeforeToolCallHook(allowTool, hooks.In(r))
	hooks.RegisterBeforeToolCallHook(refuseTool, hooks.In(r), hooks.WithName("old policy"))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "later"), hooks.In(r))
	hooks.RegisterBeforeLLMCallHook(refuseModel, hooks.In(r), hooks.WithName("old limit"))
	hooks.On(hooks.PreModelCall, note[hooks.ModelCall](&tr, "later"), hooks.In(r))

	log := record(t, r)
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "rm"}))
	assert.Equal(t, "before_tool_call hook returned false", abort.Reason)
	assert.Equal(t, "old policy", abort.Source)
	assert.False(t, abort.StopRun)
	ev := log.one(t)
	assert.Equal(t, hooks.OutcomeAborted, ev.Outcome)
	assert.Equal(t, abort.Reason, ev.AbortReason)
	assert.Equal(t, 2, ev.HookCount)

	for range 2 {
		abort = aborted(t, hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{}))
		assert.Equal(t, "before_llm_call hook returned false", abort.Reason)
		assert.Equal(t, "old limit", abort.Source)
	}
	assert.Empty(t, tr.take())
}

func TestLegacy_falseBlocksModel(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.RegisterBeforeLLMCallHook(refuseModel, hooks.In(r))
	hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) {
		assert.Fail(t, "there is no response to see")
		return "", true
	}, hooks.In(r))
	err := hooks.RunModel(ctx, new(hooks.ModelCall), func(context.Context, *hooks.ModelCall) error {
		assert.Fail(t, "the model was called")
		return nil
	})
	assert.Equal(t, "before_llm_call hook returned false", aborted(t, err).Reason)
}

// The model is told that the call was blocked, and no more.
func TestLegacy_falseBlocksTool(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"delete_file", "Delete File", ""} {
		ctx, r := newRun(t)
		hooks.RegisterBeforeToolCallHook(refuseTool, hooks.In(r))
		var seen string
		hooks.RegisterAfterToolCallHook(func(_ context.Context, call *hooks.ToolCall) (string, bool) {
			seen = call.Result
			return "", false
		}, hooks.In(r))
		call := &hooks.ToolCall{Name: name}
		require.NoError(t, hooks.RunTool(ctx, call, seamReturns("42")))
		assert.Equal(t, "Tool execution blocked by hook. Tool: "+name, call.Result)
		assert.Equal(t, call.Result, seen, "the after hooks see blocked calls")
		assert.True(t, call.IsError())
		assert.False(t, call.Ran())
		require.NotNil(t, call.Blocked)
		assert.Equal(t, "before_tool_call hook returned false", call.Blocked.Reason)
	}
}

func TestLegacy_laterHookUndoesNoRefusal(t *testing.T) {
	t.Parallel()
	refusal := hooks.Abort("no")
	replace := edit(func(call *hooks.ToolCall) { call.Input = map[string]any{"cmd": "new"} })
	for name, tc := range map[string]struct {
		register func(tr *trace, in hooks.Option)
		ran      string
	}{
		"abort before a legacy true": {func(tr *trace, in hooks.Option) {
			hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](refusal), in)
			hooks.On(hooks.PreToolCall, replace, in)
			hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { tr.add("legacy"); return true }, in)
		}, ""},
		"abort after a legacy true": {func(tr *trace, in hooks.Option) {
			hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { tr.add("legacy"); return true }, in)
			hooks.On(hooks.PreToolCall, replace, in)
			hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](refusal), in)
		}, "legacy"},
		"legacy false before an answer": {func(_ *trace, in hooks.Option) {
			hooks.RegisterBeforeToolCallHook(refuseTool, in)
			hooks.On(hooks.PreToolCall, edit(func(call *hooks.ToolCall) { call.Answer("yes") }), in)
		}, ""},
		"legacy false after an answer": {func(_ *trace, in hooks.Option) {
			hooks.On(hooks.PreToolCall, edit(func(call *hooks.ToolCall) { call.Answer("yes") }), in)
			hooks.RegisterBeforeToolCallHook(refuseTool, in)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			var tr trace
			tc.register(&tr, hooks.In(r))
			call := &hooks.ToolCall{Name: "rm"}
			require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { tr.add("body"); return nil }))
			assert.Equal(t, tc.ran, tr.take())
			assert.NotNil(t, call.Blocked)
			assert.False(t, call.Answered())
		})
	}
}

// A signature that returns a bool leaves no near miss: what looks like a denial
// but isn't false doesn't compile, and a hook that breaks is reported.
func TestLegacy_onlyFalseBlocks(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	log := record(t, r)
	hooks.RegisterBeforeToolCallHook(allowTool, hooks.In(r))
	hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { panic("DENIED") }, hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "rm"}))
	ev := log.one(t)
	require.Equal(t, []hooks.Outcome{hooks.OutcomeProceeded, hooks.OutcomeFailed}, outcomes(ev))
	_, ok := errors.AsType[*hooks.PanicError](ev.Hooks[1].Err)
	assert.True(t, ok)
}

// A legacy hook that has nothing to say keeps what earlier ones replaced.
func TestLegacy_trueKeepsEarlierReplacements(t *testing.T) {
	t.Parallel()
	replace := func(in hooks.Option) {
		hooks.On(hooks.PreToolCall, edit(func(call *hooks.ToolCall) { call.Input = map[string]any{"cmd": "new"} }), in)
	}
	proceed := func(in hooks.Option) { hooks.On(hooks.PreToolCall, note[hooks.ToolCall](new(trace), ""), in) }
	observe := func(in hooks.Option) { hooks.RegisterBeforeToolCallHook(allowTool, in) }
	for i, order := range [][3]func(hooks.Option){
		{replace, proceed, observe}, {replace, observe, proceed}, {proceed, replace, observe},
		{proceed, observe, replace}, {observe, replace, proceed}, {observe, proceed, replace},
	} {
		ctx, r := newRun(t)
		for _, register := range order {
			register(hooks.In(r))
		}
		log := record(t, r)
		call := &hooks.ToolCall{Name: "sh", Input: map[string]any{"cmd": "old"}}
		var seen map[string]any
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			seen = call.Input
			return nil
		}))
		assert.Equal(t, map[string]any{"cmd": "new"}, seen, "order %d", i)
		assert.Equal(t, hooks.OutcomeModified, log.one(t).Outcome, "order %d", i)
	}
}

// rewrite is what an after hook returns.
type rewrite struct {
	text    string
	replace bool
}

var afterHookCases = map[string]struct {
	hooks   []rewrite
	want    string
	outcome hooks.Outcome
}{
	"replaces":                             {[]rewrite{{"new", true}}, "new", hooks.OutcomeModified},
	"replaces with nothing":                {[]rewrite{{"", true}}, "", hooks.OutcomeModified},
	"keeps":                                {[]rewrite{{"", false}}, "secret", hooks.OutcomeProceeded},
	"keeps, whatever the text":             {[]rewrite{{"ignored", false}}, "secret", hooks.OutcomeProceeded},
	"keeps what an earlier one made":       {[]rewrite{{"new", true}, {"", false}}, "new", hooks.OutcomeModified},
	"keeps that an earlier one blanked it": {[]rewrite{{"", true}, {"", false}}, "", hooks.OutcomeModified},
	"the last rewrite stands":              {[]rewrite{{"new", true}, {"newer", true}}, "newer", hooks.OutcomeModified},
}

func TestLegacy_afterToolHookReplacesOrKeeps(t *testing.T) {
	t.Parallel()
	for name, tc := range afterHookCases {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			for _, h := range tc.hooks {
				hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) { return h.text, h.replace }, hooks.In(r))
			}
			log := record(t, r)
			call := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(ctx, call, seamReturns("secret")))
			assert.Equal(t, tc.want, call.Result)
			assert.Equal(t, tc.outcome, log.one(t).Outcome)
		})
	}
}

func TestLegacy_afterLLMHookReplacesOrKeeps(t *testing.T) {
	t.Parallel()
	for name, tc := range afterHookCases {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			for _, h := range tc.hooks {
				hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) { return h.text, h.replace }, hooks.In(r))
			}
			log := record(t, r)
			call := new(hooks.ModelCall)
			require.NoError(t, hooks.RunModel(ctx, call, func(_ context.Context, call *hooks.ModelCall) error {
				call.Response = "secret"
				return nil
			}))
			assert.Equal(t, tc.want, call.Response)
			assert.Equal(t, tc.outcome, log.one(t).Outcome)
		})
	}
}

func TestLegacy_afterHooksSeeEarlierRewrites(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	mark := func(s string) func(context.Context, *hooks.ToolCall) (string, bool) {
		return func(_ context.Context, call *hooks.ToolCall) (string, bool) { return call.Result + s, true }
	}
	hooks.RegisterAfterToolCallHook(mark("a"), hooks.In(r))
	hooks.On(hooks.PostToolCall, edit(func(call *hooks.ToolCall) { call.Result += "b" }), hooks.In(r))
	hooks.RegisterAfterToolCallHook(mark("c"), hooks.In(r))
	call := &hooks.ToolCall{Name: "t"}
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("x")))
	assert.Equal(t, "xabc", call.Result)
}

func TestLegacy_afterHooksSkipFailedCalls(t *testing.T) {
	t.Parallel()
	newTool := func(t *testing.T) (context.Context, *hooks.Registry, *trace) {
		ctx, r := newRun(t)
		tr := new(trace)
		hooks.On(hooks.PostToolCall, note[hooks.ToolCall](tr, "on"), hooks.In(r))
		hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) {
			tr.add("legacy")
			return "rewritten", true
		}, hooks.In(r), hooks.WithPriority(-1))
		return ctx, r, tr
	}
	t.Run("tool error", func(t *testing.T) {
		ctx, _, tr := newTool(t)
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return errBroken }))
		assert.Equal(t, "on", tr.take())
		assert.Equal(t, "broken", call.Result)
	})
	t.Run("tool panic", func(t *testing.T) {
		ctx, _, tr := newTool(t)
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { panic("boom") }))
		assert.Equal(t, "on", tr.take())
		assert.Equal(t, "Tool t panicked", call.Result)
	})
	t.Run("tool error that a hook before recovered", func(t *testing.T) {
		ctx, r, tr := newTool(t)
		hooks.On(hooks.PostToolCall, edit(func(call *hooks.ToolCall) { call.Result, call.Err = "from cache", nil }), hooks.In(r))
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return errBroken }))
		assert.Equal(t, "on legacy", tr.take())
		assert.Equal(t, "rewritten", call.Result)
	})
	t.Run("model error", func(t *testing.T) {
		ctx, r := newRun(t)
		var tr trace
		hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) {
			tr.add("legacy")
			return "", true
		}, hooks.In(r))
		hooks.On(hooks.PostModelCall, note[hooks.ModelCall](&tr, "on"), hooks.In(r))
		err := hooks.RunModel(ctx, new(hooks.ModelCall), func(context.Context, *hooks.ModelCall) error { return errBroken })
		require.ErrorIs(t, err, errBroken)
		assert.Equal(t, "on", tr.take())
	})
}

func TestLegacy_afterHooksSeeAnsweredCalls(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, edit(func(call *hooks.ToolCall) { call.Answer("cached") }), hooks.In(r))
	hooks.RegisterAfterToolCallHook(func(_ context.Context, call *hooks.ToolCall) (string, bool) {
		return strings.ToUpper(call.Result), true
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "t"}
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("fresh")))
	assert.Equal(t, "CACHED", call.Result)
}

func TestLegacy_afterHooksKeepStructuredValues(t *testing.T) {
	t.Parallel()
	type response struct{ N int }
	requests := []hooks.ToolRequest{{ID: "1", Name: "search", Arguments: `{"q":"x"}`}}
	for _, h := range []rewrite{{"", false}, {"seven", true}} {
		for n := range 3 {
			ctx, r := newRun(t)
			seen := 0
			for range n {
				hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) { return h.text, h.replace }, hooks.In(r))
				hooks.RegisterAfterToolCallHook(func(_ context.Context, call *hooks.ToolCall) (string, bool) {
					seen++
					assert.NotEmpty(t, call.Result, "hooks get a text view")
					return h.text, h.replace
				}, hooks.In(r))
			}
			want := "text"
			if n > 0 && h.replace {
				want = h.text
			}

			raw := &response{7}
			model := new(hooks.ModelCall)
			require.NoError(t, hooks.RunModel(ctx, model, func(_ context.Context, call *hooks.ModelCall) error {
				call.Response, call.ToolCalls, call.RawResponse = "text", requests, raw
				return nil
			}))
			assert.Equal(t, want, model.Response)
			assert.Equal(t, []hooks.ToolRequest{{ID: "1", Name: "search", Arguments: `{"q":"x"}`}}, model.ToolCalls)
			assert.Same(t, raw, model.RawResponse)

			tool := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(ctx, tool, func(_ context.Context, call *hooks.ToolCall) error {
				call.Result, call.RawResult = "text", response{7}
				return nil
			}))
			assert.Equal(t, want, tool.Result)
			assert.Equal(t, response{7}, tool.RawResult)
			assert.Equal(t, n > 0 && h.replace, tool.ResultEdited())
			assert.Equal(t, n, seen)
		}
	}
}

// A new text replaces the parts; the same text keeps them.
func TestLegacy_afterHookReplacesParts(t *testing.T) {
	t.Parallel()
	image := hooks.Part{Kind: "image", Native: "pixels"}
	secret := hooks.Part{Kind: "text", Text: "secret"}
	for name, tc := range map[string]struct {
		result    string
		parts     []hooks.Part
		text      string
		wantParts []hooks.Part
	}{
		"another text replaces all":      {"caption", []hooks.Part{image}, "redacted", nil},
		"the same text keeps the image":  {"caption", []hooks.Part{image}, "caption", []hooks.Part{image}},
		"no text keeps the lone image":   {"", []hooks.Part{image}, "", []hooks.Part{image}},
		"no text replaces text in parts": {"", []hooks.Part{secret, image}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) { return tc.text, true }, hooks.In(r))
			call := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
				call.Result, call.Parts = tc.result, tc.parts
				return nil
			}))
			assert.Equal(t, tc.text, call.Result)
			assert.Equal(t, tc.wantParts, call.Parts)
		})
	}
}

func TestLegacy_filtersLikeOn(t *testing.T) {
	t.Parallel()
	writer, rm := hooks.WithAgents("Writer"), hooks.WithTools("Remove File")
	for name, tc := range map[string]struct {
		filters    []hooks.Option
		role, tool string
		runs       bool
	}{
		"role matches":             {[]hooks.Option{writer}, "Writer", "x", true},
		"role differs":             {[]hooks.Option{writer}, "Editor", "x", false},
		"role is compared exactly": {[]hooks.Option{writer}, "writer", "x", false},
		"role is not trimmed":      {[]hooks.Option{writer}, "Writer ", "x", false},
		"unset role matches":       {[]hooks.Option{writer}, "", "x", true},
		"tool matches in any form": {[]hooks.Option{rm}, "", "remove_file", true},
		"tool differs":             {[]hooks.Option{rm}, "", "read_file", false},
		"unset tool doesn't match": {[]hooks.Option{rm}, "", "", false},
		"pattern matches":          {[]hooks.Option{hooks.WithTools("remove_*")}, "", "Remove File", true},
		"both filters must match":  {[]hooks.Option{writer, rm}, "Editor", "remove_file", false},
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
			require.NoError(t, hooks.RunTool(ctx, call, seamReturns("")))
			if tc.runs {
				assert.Equal(t, "pre before post after", tr.take())
			} else {
				assert.Empty(t, tr.take())
			}
		})
	}
}

func TestLegacy_toolFilterOnModelHookPanics(t *testing.T) {
	t.Parallel()
	rm := hooks.WithTools("rm")
	legacy := panicText(t, func() { hooks.RegisterBeforeLLMCallHook(refuseModel, rm) })
	modern := panicText(t, func() { hooks.On(hooks.PreModelCall, note[hooks.ModelCall](nil, ""), rm) })
	assert.Equal(t, modern, legacy)
	assert.NotEmpty(t, legacy)
}

func TestLegacy_filteredHooksGoOneByOne(t *testing.T) {
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

func TestLegacy_panickingHookIsPassedOver(t *testing.T) {
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

// Edits before a panic stay, and the replacement isn't made.
func TestLegacy_editsBeforePanicStay(t *testing.T) {
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
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("result")))
	assert.Equal(t, map[string]any{"edited": true}, call.Input)
	assert.Equal(t, "result", call.Result)
	events := log.take()
	require.Len(t, events, 2)
	for _, ev := range events {
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeFailed}, outcomes(ev))
	}
}

func TestLegacy_optionsMeanTheSame(t *testing.T) {
	t.Parallel()
	t.Run("WithFailClosed", func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { panic("hunter2") },
			hooks.In(r), hooks.WithFailClosed(), hooks.WithName("policy"))
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, seamReturns("")))
		assert.Equal(t, "Tool execution blocked by hook. Tool: t. Reason: policy failed", call.Result)
	})
	t.Run("AsGuard", func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.RegisterBeforeToolCallHook(func(_ context.Context, call *hooks.ToolCall) bool { return call.Input["path"] != "/etc" },
			hooks.In(r), hooks.AsGuard())
		hooks.On(hooks.PreToolCall, edit(func(call *hooks.ToolCall) { call.Input["path"] = "/etc" }), hooks.In(r))
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, seamReturns("")))
		assert.NotNil(t, call.Blocked)
	})
	t.Run("WithOnce", func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.RegisterAfterToolCallHook(func(_ context.Context, call *hooks.ToolCall) (string, bool) { return call.Result + "!", true },
			hooks.In(r), hooks.WithOnce())
		for _, want := range []string{"x!", "x"} {
			call := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(ctx, call, seamReturns("x")))
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

func TestLegacy_allocatesOnlyToBlock(t *testing.T) {
	if race.Enabled {
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
