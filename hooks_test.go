package hooks_test

// What On takes and refuses, and what each option does to a hook: that it runs
// once, has a deadline, and at which place of its chain it stands.

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// policy is a hook written as a method.
type policy struct{ tr *trace }

func (p *policy) Check(context.Context, *hooks.Step) error {
	p.tr.add("method")
	return nil
}

// stepHook is a framework's own name for a hook's type.
type stepHook func(context.Context, *hooks.Step) error

func TestOn_takesAnyFunctionOfTheRightType(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, (&policy{&tr}).Check, hooks.In(r))
	hooks.On(hooks.PreStep, stepHook(note[hooks.Step](&tr, "named-type")), hooks.In(r))
	hooks.On(hooks.PreStep, hooks.Func[hooks.Step](note[hooks.Step](&tr, "func")), hooks.In(r))
	hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { tr.add("literal"); return nil }, hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "method named-type func literal", tr.take())
}

// What would be a hook that silently never runs is refused when it is
// registered.
func TestOn_refusesMistakes(t *testing.T) {
	t.Parallel()
	p := newPoint[struct{}](t)
	step := fails[hooks.Step](nil)
	for _, tt := range []struct {
		name string
		on   func(r *hooks.Registry)
		want []string
	}{
		{"a nil function", func(r *hooks.Registry) { hooks.On(hooks.PreStep, nil, hooks.In(r)) }, []string{"pre_step", "nil"}},
		{"a nil function of a named type", func(r *hooks.Registry) { hooks.On(hooks.PreStep, stepHook(nil), hooks.In(r)) }, []string{"pre_step", "nil"}},
		{"the zero Point", func(r *hooks.Registry) { hooks.On(hooks.Point[hooks.Step]{}, step, hooks.In(r)) }, []string{"zero Point"}},
		{"no registry", func(*hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(nil)) }, []string{"pre_step", "In(nil)"}},
		{"no time", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.WithTimeout(0)) }, []string{"pre_step", "WithTimeout(0s)"}},
		{"time in the past", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.WithTimeout(-time.Second)) }, []string{"pre_step", "WithTimeout(-1s)"}},
		{"a guard for once", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.AsGuard(), hooks.WithOnce()) }, []string{"pre_step", "AsGuard", "WithOnce"}},
		{"once as a guard", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.WithOnce(), hooks.AsGuard()) }, []string{"pre_step", "AsGuard", "WithOnce"}},
		{"tools where there are none", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.WithTools("a")) }, []string{"pre_step", "WithTools", "ToolName"}},
		{"tools of a model call", func(r *hooks.Registry) {
			hooks.On(hooks.PreModelCall, fails[hooks.ModelCall](nil), hooks.In(r), hooks.WithTools("a"))
		}, []string{"pre_model_call", "WithTools"}},
		{"no tools", func(r *hooks.Registry) { hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools()) }, []string{"WithTools() names nothing"}},
		{"no tools of a slice", func(r *hooks.Registry) {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools([]string{}...))
		}, []string{"WithTools() names nothing"}},
		{"an empty tool name", func(r *hooks.Registry) { hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools("a", "")) }, []string{"WithTools", "empty name"}},
		{"tools twice", func(r *hooks.Registry) {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools("a"), hooks.WithTools("b"))
		}, []string{"WithTools is given twice"}},
		{"no roles", func(r *hooks.Registry) { hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithAgents()) }, []string{"WithAgents() names nothing"}},
		{"an empty role", func(r *hooks.Registry) { hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithAgents("")) }, []string{"WithAgents", "empty name"}},
		{"roles twice", func(r *hooks.Registry) {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithAgents("a"), hooks.WithAgents("b"))
		}, []string{"WithAgents is given twice"}},
		{"roles where there are none", func(r *hooks.Registry) { hooks.On(p, fails[struct{}](nil), hooks.In(r), hooks.WithAgents("a")) }, []string{string(p.Name()), "WithAgents", "AgentRoleName"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, r := newRun(t)
			text := panicText(t, func() { tt.on(r) })
			assert.Contains(t, text, "hooks: On")
			for _, part := range tt.want {
				assert.Contains(t, text, part)
			}
			assert.Equal(t, "no hooks\n", r.String(), "a refused hook isn't registered")
		})
	}
}

func TestGuard_isOnAsGuard(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	short := hooks.Guard(hooks.PreToolCall, note[hooks.ToolCall](&tr, "short"), hooks.In(r), hooks.WithTools("rm"), hooks.WithPriority(1))
	long := hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "long"), hooks.In(r), hooks.WithTools("rm"), hooks.AsGuard())
	twice := hooks.Guard(hooks.PreToolCall, note[hooks.ToolCall](&tr, "twice"), hooks.In(r), hooks.AsGuard(), hooks.WithFailClosed(), nil)
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "hook"), hooks.In(r), hooks.WithPriority(-1))
	for _, reg := range []*hooks.Registration{short, long, twice} {
		assert.Equal(t, hooks.KindGuard, reg.Kind())
		assert.Regexp(t, `^hooks_test\.go:[0-9]+$`, reg.Place())
	}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "rm"}))
	assert.Equal(t, "hook short long twice", tr.take())

	failing := hooks.Guard(hooks.PreToolCall, fails[hooks.ToolCall](errBroken), hooks.In(r), hooks.WithName("policy"))
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "rm"}))
	assert.Equal(t, "policy failed", abort.Reason, "it is fail-closed")
	assert.True(t, failing.Remove())
	assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "rm"}))
}

// The options that are given stay as they are.
func TestGuard_writesIntoNoSliceOfOptions(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	opts := append(make([]hooks.Option, 0, 4), hooks.In(r))
	hooks.Guard(hooks.PreStep, fails[hooks.Step](nil), opts...)
	assert.Equal(t, hooks.KindHook, hooks.On(hooks.PreStep, fails[hooks.Step](nil), opts...).Kind())
	assert.Nil(t, opts[:2][1])
}

func TestGuard_refusesMistakes(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	step := fails[hooks.Step](nil)
	for want, guard := range map[string]func(){
		"hooks: Guard(pre_step): the function is nil": func() { hooks.Guard(hooks.PreStep, nil, hooks.In(r)) },
		"hooks: Guard: the zero Point":                func() { hooks.Guard(hooks.Point[hooks.Step]{}, step, hooks.In(r)) },
		"hooks: Guard(pre_step): AsGuard with WithOnce": func() {
			hooks.Guard(hooks.PreStep, step, hooks.In(r), hooks.WithOnce())
		},
		"hooks: Guard(pre_step): In(nil)":   func() { hooks.Guard(hooks.PreStep, step, hooks.In(nil)) },
		"hooks: Guard(pre_step): WithTools": func() { hooks.Guard(hooks.PreStep, step, hooks.In(r), hooks.WithTools("a")) },
		"hooks: Guard(pre_step): WithAgents() names nothing": func() {
			hooks.Guard(hooks.PreStep, step, hooks.In(r), hooks.WithAgents())
		},
	} {
		assert.Contains(t, panicText(t, guard), want)
	}
	assert.Equal(t, "no hooks\n", r.String())
}

func TestOption_lastOneWins(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	other := hooks.NewRegistry()
	var tr trace
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "first"), hooks.In(r))
	reg := hooks.On(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		tr.add("hook")
		deadline, ok := ctx.Deadline()
		assert.True(t, ok)
		assert.Greater(t, time.Until(deadline), time.Minute)
		return nil
	},
		hooks.In(nil), hooks.In(other), hooks.In(r),
		hooks.WithName("a"), hooks.WithName("b"),
		hooks.WithPriority(-5), hooks.WithPriority(5),
		hooks.WithTools("b"), hooks.WithAgents("b"),
		hooks.WithTimeout(0), hooks.WithTimeout(time.Nanosecond), hooks.WithTimeout(time.Hour),
	)
	assert.Equal(t, "b", reg.Name())
	assert.Empty(t, other.Hooks(hooks.PreToolCall))
	for _, tt := range []struct{ tool, role, want string }{
		{"b", "b", "hook first"}, {"a", "b", "first"}, {"b", "a", "first"},
	} {
		call := &hooks.ToolCall{Name: tt.tool, Caller: hooks.Caller{AgentRole: tt.role}}
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
		assert.Equal(t, tt.want, tr.take())
	}
}

func TestOption_nilIsIgnored(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	reg := hooks.On(hooks.PreStep, fails[hooks.Step](nil), nil, hooks.In(r), nil, hooks.WithName("a"), nil)
	assert.Equal(t, "a", reg.Name())
	assert.Equal(t, []*hooks.Registration{reg}, r.Hooks(hooks.PreStep))
}

func TestOption_canBeReused(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	opts := []hooks.Option{hooks.In(r), hooks.WithTools("a"), hooks.WithName("n")}
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		hooks.On(p, note[hooks.ToolCall](&tr, "x"), opts...)
		hooks.On(p, note[hooks.ToolCall](&tr, "y"), opts...)
		require.NoError(t, hooks.Dispatch(ctx, p, &hooks.ToolCall{Name: "a"}))
		assert.Equal(t, "x y", tr.take())
	}
}

// Slices given to options are the caller's to change.
func TestOption_copiesItsSlices(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	tools, patterns, roles := []string{"a", "b"}, []string{"c*"}, []string{"Writer"}
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "hook"), hooks.In(r), hooks.WithTools(tools...), hooks.WithAgents(roles...))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "pattern"), hooks.In(r), hooks.WithTools(patterns...))
	option := hooks.WithTools(tools...)
	tools[0], tools[1], patterns[0], roles[0] = "x", "x", "x", "x"
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "later"), hooks.In(r), option)
	for tool, want := range map[string]string{"a": "hook later", "b": "hook later", "cc": "pattern", "x": ""} {
		call := &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: "Writer"}}
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
		assert.Equal(t, want, tr.take())
	}
	assert.NotContains(t, r.String(), "x")
}

func TestWithName_defaultsToFileAndLine(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	first := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	second := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	var line int
	_, err := fmt.Sscanf(first.Name(), "hooks_test.go:%d", &line)
	require.NoError(t, err, first.Name())
	assert.Equal(t, fmt.Sprintf("hooks_test.go:%d", line+1), second.Name())
	assert.Equal(t, "n", hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r), hooks.WithName("n")).Name())
	assert.Regexp(t, `^hooks_test\.go:\d+$`, hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r), hooks.WithName("")).Name())
}

// Hooks of the same name stand beside each other.
func TestWithName_isNoKey(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	first := hooks.On(hooks.PreStep, note[hooks.Step](&tr, "first"), hooks.In(r), hooks.WithName("same"))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "second"), hooks.In(r), hooks.WithName("same"))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "first second", tr.take())
	first.Remove()
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "second", tr.take())
}

func TestOn_registersInTheDefaultUnlessIn(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	_, r := newRun(t)
	global := hooks.On(p, fails[job](nil))
	scoped := hooks.On(p, fails[job](nil), hooks.In(r))
	named := hooks.On(p, fails[job](nil), hooks.In(hooks.Default()))
	assert.Equal(t, []*hooks.Registration{global, named}, hooks.Hooks(p))
	assert.Equal(t, []*hooks.Registration{scoped}, r.Hooks(p))
}

func TestWithOnce_runsOnceAndLeavesTheChain(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	reg := hooks.On(hooks.PreStep, counter[hooks.Step](&ran), hooks.In(r), hooks.WithOnce())
	assert.Len(t, r.Hooks(hooks.PreStep), 1)
	for range 3 {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	}
	assert.EqualValues(t, 1, ran.Load())
	assert.Empty(t, r.Hooks(hooks.PreStep))
	assert.False(t, hooks.Enabled(ctx, hooks.PreStep))
	assert.False(t, reg.Remove(), "it was used up before")
}

func TestWithOnce_isUsedUpByAFailure(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]hooks.Func[hooks.Step]{
		"error": fails[hooks.Step](errBroken),
		"panic": panics[hooks.Step]("boom"),
		"abort": fails[hooks.Step](hooks.Abort("no")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			events := record(t, r)
			hooks.On(hooks.PreStep, fn, hooks.In(r), hooks.WithOnce())
			_ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})
			assert.Equal(t, 1, events.one(t).HookCount)
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Empty(t, events.take())
			assert.Empty(t, r.Hooks(hooks.PreStep))
		})
	}
}

func TestWithOnce_survivesASkippingFilter(t *testing.T) {
	t.Parallel()
	for name, filter := range map[string]hooks.Option{
		"name":    hooks.WithTools("Write File"),
		"pattern": hooks.WithTools("write*"),
		"role":    hooks.WithAgents("Writer"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var ran atomic.Int64
			hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), hooks.In(r), hooks.WithOnce(), filter)
			dispatch := func(tool, role string) {
				call := &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: role}}
				require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
			}
			dispatch("read_file", "Reader")
			assert.Zero(t, ran.Load())
			assert.Len(t, r.Hooks(hooks.PreToolCall), 1)
			dispatch("write_file", "Writer")
			dispatch("write_file", "Writer")
			assert.EqualValues(t, 1, ran.Load())
		})
	}
}

// A dispatch that stops before the hook doesn't use it up.
func TestWithOnce_survivesAnEarlierAbort(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	stop := hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	hooks.On(hooks.PreStep, counter[hooks.Step](&ran), hooks.In(r), hooks.WithOnce())
	aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	stop.Remove()
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.EqualValues(t, 1, ran.Load())
}

func TestWithOnce_runsOnceThoughItDispatches(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	hooks.On(hooks.PreStep, func(ctx context.Context, s *hooks.Step) error {
		ran.Add(1)
		return hooks.Dispatch(ctx, hooks.PreStep, s)
	}, hooks.In(r), hooks.WithOnce())
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.EqualValues(t, 1, ran.Load())
}

func TestWithOnce_ConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	const rounds, dispatchers = 50, 16
	for range rounds {
		var ran, always atomic.Int64
		hooks.On(hooks.PreStep, counter[hooks.Step](&ran), hooks.In(r), hooks.WithOnce())
		hooks.On(hooks.PreStep, counter[hooks.Step](&always), hooks.In(r))
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range dispatchers {
			wg.Go(func() {
				<-start
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(t, 1, ran.Load())
		require.EqualValues(t, dispatchers, always.Load())
		require.Equal(t, 1, r.Clear(hooks.PreStep))
	}
}

// A hook that runs once takes its time from one dispatch alone.
func TestWithOnce_blocksNoOtherDispatch(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	running, release := make(chan struct{}), make(chan struct{})
	hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
		close(running)
		<-release
		return nil
	}, hooks.In(r), hooks.WithOnce())
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})) })
	finishes(t, "for the hook to begin", func() { <-running })
	finishes(t, "another dispatch", func() {
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	})
	close(release)
	wg.Wait()
}

// The deadline counts from when the hook begins, not from the dispatch.
func TestWithTimeout_startsWithTheHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		var kept context.Context
		later := 0
		hooks.On(hooks.PreStep, edit(func(*hooks.Step) { <-time.After(time.Hour) }), hooks.In(r))
		hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
			kept = ctx
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, time.Second, time.Until(deadline))
			return nil
		}, hooks.In(r), hooks.WithTimeout(time.Second))
		hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
			later++
			_, ok := ctx.Deadline()
			assert.False(t, ok, "the deadline is that hook's alone")
			return nil
		}, hooks.In(r))
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, 1, later)
		require.NotNil(t, kept)
		assert.ErrorIs(t, kept.Err(), context.Canceled, "its timer is released")
	})
}

func TestWithTimeout_exceededIsAFailure(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]func(context.Context) error{
		"and says so":        func(ctx context.Context) error { return ctx.Err() },
		"and decides late":   func(context.Context) error { return nil },
		"and says the cause": func(ctx context.Context) error { return context.Cause(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				events := record(t, r)
				hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
					<-ctx.Done()
					return result(ctx)
				}, hooks.In(r), hooks.WithTimeout(time.Second))
				require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				run := events.one(t).Hooks[0]
				assert.Equal(t, hooks.OutcomeFailed, run.Outcome)
				assert.ErrorIs(t, run.Err, context.DeadlineExceeded)
				assert.NotEmpty(t, run.Err.Error())
				assert.Equal(t, time.Second, run.Duration)
			})
		})
	}
}

func TestWithTimeout_interruptsNoHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.On(hooks.PreStep, edit(func(s *hooks.Step) {
			<-time.After(time.Minute)
			s.Input = "late"
		}), hooks.In(r), hooks.WithTimeout(time.Second))
		step := &hooks.Step{}
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, step))
		assert.Equal(t, "late", step.Input)
		assert.Equal(t, time.Minute, events.one(t).Duration)
	})
}

// A decision that was made in spite of the clock stands: it is no failure.
func TestWithTimeout_lateAbortIsAnAbort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
			<-ctx.Done()
			return hooks.Abort("no")
		}, hooks.In(r), hooks.WithTimeout(time.Second))
		assert.Equal(t, "no", aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})).Reason)
	})
}

// A hook that outlives the deadline of its caller hasn't failed.
func TestWithTimeout_ignoresTheCallersDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		events := record(t, r)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
			<-ctx.Done()
			return nil
		}, hooks.In(r), hooks.WithTimeout(time.Hour), hooks.WithFailClosed())
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, []hooks.Outcome{"proceeded"}, outcomes(events.one(t)))
	})
}

// Each hook under a timeout has its own, whatever ctx it was handed.
func TestWithTimeout_isToldApartWhenNested(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.On(hooks.PostStep, func(ctx context.Context, _ *hooks.Step) error {
			<-ctx.Done() // of the outer hook, whose time is shorter
			return nil
		}, hooks.In(r), hooks.WithTimeout(time.Hour), hooks.WithName("inner"))
		hooks.On(hooks.PreStep, func(ctx context.Context, s *hooks.Step) error {
			return hooks.Dispatch(ctx, hooks.PostStep, s)
		}, hooks.In(r), hooks.WithTimeout(time.Second), hooks.WithName("outer"))
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		got := events.take()
		require.Len(t, got, 2)
		assert.Equal(t, []hooks.Outcome{"proceeded"}, outcomes(got[0]), "the inner hook was in time")
		assert.Equal(t, []hooks.Outcome{"failed"}, outcomes(got[1]))
	})
}

func TestOrder_isThatOfRegistration(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	for _, name := range []string{"a", "b", "c"} {
		hooks.On(hooks.PreStep, note[hooks.Step](&tr, name), hooks.In(r))
	}
	for range 10 {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, "a b c", tr.take())
	}
}

// What kind a hook is decides how a dispatch finds it, never when it runs.
func TestOrder_isTheSameForAllKindsOfHooks(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		name string
		opts []hooks.Option
	}{
		{"plain", nil},
		{"tool", []hooks.Option{hooks.WithTools("Read File")}},
		{"pattern", []hooks.Option{hooks.WithTools("read*")}},
		{"role", []hooks.Option{hooks.WithAgents("Writer")}},
		{"tool-and-role", []hooks.Option{hooks.WithTools("read_file"), hooks.WithAgents("Writer")}},
		{"fail-closed", []hooks.Option{hooks.WithFailClosed()}},
		{"timed", []hooks.Option{hooks.WithTimeout(time.Hour)}},
		{"other-spelling", []hooks.Option{hooks.WithTools("readFile", "other")}},
		{"once", []hooks.Option{hooks.WithOnce()}},
		{"plain-again", nil},
	}
	// Every rotation, so that each kind stands before and after each other one.
	for shift := range kinds {
		ctx, r := newRun(t)
		var tr trace
		want := ""
		for i := range kinds {
			k := kinds[(i+shift)%len(kinds)]
			hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, k.name), append(k.opts, hooks.In(r))...)
			if i > 0 {
				want += " "
			}
			want += k.name
		}
		call := &hooks.ToolCall{Name: "read_file", Caller: hooks.Caller{AgentRole: "Writer"}}
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
		assert.Equal(t, want, tr.take())
	}
}

func TestOrder_isDefaultThenScopesFromOutside(t *testing.T) {
	t.Parallel()
	pre, post := newPoint[job](t), newPoint[job](t)
	outer, inner := hooks.NewRegistry(), hooks.NewRegistry()
	var tr trace
	// The inner ones are registered first, and with the highest priority.
	for _, p := range []hooks.Point[job]{pre, post} {
		hooks.On(p, note[job](&tr, "i1"), hooks.In(inner), hooks.WithPriority(1000))
		hooks.On(p, note[job](&tr, "i2"), hooks.In(inner), hooks.WithPriority(1000))
		hooks.On(p, note[job](&tr, "o1"), hooks.In(outer))
		hooks.On(p, note[job](&tr, "o2"), hooks.In(outer))
		hooks.On(p, note[job](&tr, "d1"), hooks.WithPriority(-1000))
		hooks.On(p, note[job](&tr, "d2"), hooks.WithPriority(-1000))
		hooks.On(p, note[job](&tr, "d3"), hooks.WithPriority(-1000))
	}
	ctx := hooks.WithScope(hooks.WithScope(t.Context(), outer), inner)
	body := note[job](&tr, "body")
	for range 100 {
		require.NoError(t, hooks.Run(ctx, pre, post, &job{}, body))
		// The same order at both points: the post hooks aren't mirrored.
		require.Equal(t, "d1 d2 d3 o1 o2 i1 i2 body d1 d2 d3 o1 o2 i1 i2", tr.take())
	}
}

// Hooks of equal priority keep their order.
func TestWithPriority_higherRunsFirst(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	// Kinds alternate, so that a priority is kept whatever else a hook is.
	kinds := []hooks.Option{nil, hooks.WithTools("x"), hooks.WithTools("x*"), hooks.WithAgents("r"), hooks.WithFailClosed(), nil}
	for i, priority := range []int{0, 10, -10, 0, 10, -10} {
		name := strconv.Itoa(i)
		hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, name), hooks.In(r), hooks.WithPriority(priority), kinds[i], hooks.WithName(name))
	}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "x"}))
	assert.Equal(t, "1 4 0 3 2 5", tr.take())
	assert.Equal(t, []string{"1", "4", "0", "3", "2", "5"}, registered(r.Hooks(hooks.PreToolCall)))
}

func TestWithPriority_isStableInALongChain(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var got, want [3][]int
	for i := range 300 {
		level := i * 7 % 3
		want[level] = append(want[level], i)
		hooks.On(hooks.PreStep, edit(func(*hooks.Step) { got[level] = append(got[level], i) }), hooks.In(r), hooks.WithPriority(level))
	}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, want, got)
}

func TestWithPriority_isZeroByDefault(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "below"), hooks.In(r), hooks.WithPriority(-1))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "zero"), hooks.In(r), hooks.WithPriority(0))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "unset"), hooks.In(r))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "above"), hooks.In(r), hooks.WithPriority(1))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "above zero unset below", tr.take())
}

func TestOrder_holdsWhateverTimeHooksTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		var runs atomic.Int64
		replace := func(suffix string, wait time.Duration, saw func(string)) hooks.Func[hooks.Step] {
			return func(_ context.Context, s *hooks.Step) error {
				runs.Add(1)
				saw(s.Input.(string))
				<-time.After(wait)
				s.Input = s.Input.(string) + suffix
				return nil
			}
		}
		hooks.On(hooks.PreStep, replace("A", 30*time.Millisecond, func(got string) { assert.Equal(t, "x", got) }), hooks.In(r))
		hooks.On(hooks.PreStep, replace("B", 0, func(got string) { assert.Equal(t, "xA", got) }), hooks.In(r))
		hooks.On(hooks.PreStep, replace("", 0, func(got string) { assert.Equal(t, "xAB", got) }), hooks.In(r))
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				s := &hooks.Step{Input: "x"}
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, s))
				assert.Equal(t, "xAB", s.Input)
			})
		}
		wg.Wait()
		assert.EqualValues(t, 3*100, runs.Load())
	})
}

// Where the processor was busy all the time, and no timer could fire, the clock
// tells.
func TestWithTimeout_comparesTheClockToo(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	busy := func(ctx context.Context) {
		for began := time.Now(); time.Since(began) < 2*time.Millisecond; {
			_ = ctx
		}
	}
	hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error { busy(ctx); return nil }, hooks.In(r), hooks.WithTimeout(time.Millisecond))
	hooks.Watch(hooks.PreStep, func(ctx context.Context, _ *hooks.Step, _ error) { busy(ctx) }, hooks.In(r), hooks.WithTimeout(time.Millisecond))
	hooks.Guard(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error { busy(ctx); return nil }, hooks.In(r), hooks.WithTimeout(time.Millisecond))
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.ErrorIs(t, abort, context.DeadlineExceeded)
	ev := events.one(t)
	assert.Equal(t, []hooks.Outcome{"failed", "aborted", "failed"}, outcomes(ev))
	for _, run := range ev.Hooks {
		assert.ErrorIs(t, run.Err, context.DeadlineExceeded)
	}
}
