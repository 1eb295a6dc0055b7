package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
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

func TestLegacyHooksAndOnHooksRunInOneOrderOfRegistration(t *testing.T) {
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

func TestLegacyHooksAreSortedByPriorityLikeAnyOther(t *testing.T) {
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

func TestEitherAPIListsRemovesAndClearsWhatTheOtherRegistered(t *testing.T) {
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

func TestLegacyHookIsRemovedOnce(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		emptyDefault(t)
		var tr trace
		reg := f.register(func() { tr.add("ran") })
		assert.True(t, f.unregister(reg))
		assert.False(t, f.unregister(reg))
		assert.False(t, reg.Remove())
		require.NoError(t, f.dispatch(t.Context(), ""))
		assert.Empty(t, tr.take())
	})
}

func TestLegacyUnregisterTakesOnlyDefaultHooksOfItsOwnPoint(t *testing.T) {
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

func TestLegacyListsAreCopies(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		emptyDefault(t)
		f.register(func() {}, hooks.WithName("first"))
		f.register(func() {}, hooks.WithName("second"))
		list := f.list()
		list[0], list[1] = list[1], nil
		assert.Equal(t, []string{"first", "second"}, registered(f.list()))
	})
}

func TestClearingLegacyHooksTellsHowManyThereWere(t *testing.T) {
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

func TestNilLegacyHookPanicsAtRegistration(t *testing.T) {
	eachLegacy(t, func(t *testing.T, f legacyFamily) {
		t.Parallel()
		text := panicText(t, f.nilHook)
		assert.Equal(t, "hooks: "+f.name+": the hook function is nil", text)
	})
}

func TestLegacyHookIsNamedAfterWhereItWasRegistered(t *testing.T) {
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

func TestFalseAbortsWithTheReasonOfItsFamily(t *testing.T) {
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

func TestModelBlockedByFalseIsNotCalled(t *testing.T) {
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

func TestToolBlockedByFalseTellsTheModelOnlyThatItWasBlocked(t *testing.T) {
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
		require.NoError(t, hooks.RunTool(ctx, call, toolReturning("42")))
		assert.Equal(t, "Tool execution blocked by hook. Tool: "+name, call.Result)
		assert.Equal(t, call.Result, seen, "the after hooks see blocked calls")
		assert.True(t, call.IsError())
		assert.False(t, call.Ran())
		require.NotNil(t, call.Blocked)
		assert.Equal(t, "before_tool_call hook returned false", call.Blocked.Reason)
	}
}

// toolReturning is the body of a tool that returns text.
func toolReturning(text string) func(context.Context, *hooks.ToolCall) error {
	return func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = text
		return nil
	}
}

func TestNoLaterHookUndoesARefusal(t *testing.T) {
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
func TestOnlyFalseBlocksAndAPanicIsReported(t *testing.T) {
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

func TestLegacyHookWithNothingToSayKeepsEarlierReplacements(t *testing.T) {
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
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			assert.Equal(t, map[string]any{"cmd": "new"}, call.Input, "order %d", i)
			return nil
		}))
		assert.Equal(t, hooks.OutcomeModified, log.one(t).Outcome, "order %d", i)
	}
}
