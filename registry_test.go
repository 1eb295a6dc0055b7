package hooks_test

// Registries and their handles, the scopes in which they are active, and
// changes of a chain while a dispatch runs it.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/internal/race"
)

// preStep dispatches PreStep and returns what the hooks noted in tr.
func preStep(t *testing.T, ctx context.Context, tr *trace) string {
	t.Helper()
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	return tr.take()
}

// runsOf dispatches PreToolCall for tool and returns how often hooks ran that
// count in ran.
func runsOf(t *testing.T, ctx context.Context, ran *atomic.Int64, tool string) int64 {
	t.Helper()
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: tool}))
	return ran.Swap(0)
}

func TestRegistry_zeroIsReadyToUse(t *testing.T) {
	t.Parallel()
	var r hooks.Registry
	ctx := hooks.WithScope(t.Context(), &r)
	events := record(t, &r)
	assert.Empty(t, r.Hooks(hooks.PreStep))
	assert.Zero(t, r.Clear(hooks.PreStep))
	assert.Zero(t, r.ClearAll())
	assert.False(t, r.Unregister(nil))
	assert.Equal(t, "no hooks\n", r.String())
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(&r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, 1, events.one(t).HookCount)
}

func TestNewRegistry_isItsOwn(t *testing.T) {
	t.Parallel()
	a, b := hooks.NewRegistry(), hooks.NewRegistry()
	assert.NotSame(t, a, b)
	assert.NotSame(t, a, hooks.Default())
	assert.Same(t, hooks.Default(), hooks.Default())
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(a))
	assert.Empty(t, b.Hooks(hooks.PreStep))
}

func TestRegistry_listsACopyInRunningOrder(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	on := func(name string, opts ...hooks.Option) *hooks.Registration {
		return hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, name), append(opts, hooks.In(r), hooks.WithName(name))...)
	}
	on("guard", hooks.AsGuard(), hooks.WithPriority(100))
	on("low", hooks.WithPriority(-1))
	on("filtered", hooks.WithTools("x"))
	on("plain")
	on("high", hooks.WithPriority(1), hooks.WithTools("x*"))
	on("late-guard", hooks.AsGuard(), hooks.WithPriority(200))
	want := []string{"high", "filtered", "plain", "low", "late-guard", "guard"}
	list := r.Hooks(hooks.PreToolCall)
	assert.Equal(t, want, registered(list))

	list[0], list[1] = nil, nil
	assert.Equal(t, want, registered(r.Hooks(hooks.PreToolCall)))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "x"}))
	assert.Equal(t, strings.Join(want, " "), tr.take())
}

func TestRemove_reportsWhetherItRemoved(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	for name, remove := range map[string]func(*hooks.Registration) bool{
		"Remove": (*hooks.Registration).Remove, "Unregister": r.Unregister,
	} {
		reg := hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
		require.Error(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.True(t, remove(reg), name)
		assert.False(t, remove(reg), name)
		assert.False(t, reg.Remove(), name)
		assert.False(t, r.Unregister(reg), name)
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}), name)
	}
}

func TestRegistration_tellsItsPoint(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	for _, p := range everyPoint() {
		reg := p.on(func() error { return nil }, hooks.In(r))
		assert.Equal(t, p.name, reg.Point())
		reg.Remove()
		assert.Equal(t, p.name, reg.Point(), "after its removal too")
	}
}

func TestRegistration_tellsWhatItIs(t *testing.T) {
	t.Parallel()
	type facts struct {
		name     string
		kind     hooks.Kind
		tools    []string
		agents   []string
		priority int
		timeout  time.Duration
	}
	all := []hooks.Option{
		hooks.WithName("n"), hooks.WithTools("Delete File", "rm*"), hooks.WithAgents("Writer", "Editor"),
		hooks.WithPriority(-3), hooks.WithTimeout(time.Minute),
	}
	r := hooks.NewRegistry()
	on := func(opts ...hooks.Option) *hooks.Registration {
		return hooks.On(hooks.PreToolCall, noop, append(opts, hooks.In(r))...)
	}
	watch := func(opts ...hooks.Option) *hooks.Registration {
		return hooks.Watch(hooks.PreToolCall, look[hooks.ToolCall](new(trace), ""), append(opts, hooks.In(r))...)
	}
	set := facts{"n", "", []string{"Delete File", "rm*"}, []string{"Writer", "Editor"}, -3, time.Minute}
	of := func(kind hooks.Kind, f facts) facts { f.kind = kind; return f }
	for what, tt := range map[string]struct {
		reg  *hooks.Registration
		want facts
	}{
		"hook":                {on(all...), of("hook", set)},
		"hook, plain":         {on(), facts{kind: "hook"}},
		"hook, fail-closed":   {on(hooks.WithFailClosed()), facts{kind: "hook"}},
		"guard":               {hooks.Guard(hooks.PreToolCall, noop, append(all, hooks.In(r))...), of("guard", set)},
		"guard, by an option": {on(append(all, hooks.AsGuard())...), of("guard", set)},
		"watch":               {watch(all...), of("watch", set)},
		"watch, plain":        {watch(), facts{kind: "watch"}},
		"nil":                 {nil, facts{}},
		"zero":                {new(hooks.Registration), facts{}},
	} {
		check := func() {
			t.Helper()
			if tt.want.name == "" {
				tt.want.name = tt.reg.Place()
			}
			assert.Equal(t, tt.want, facts{tt.reg.Name(), tt.reg.Kind(), tt.reg.Tools(), tt.reg.Agents(), tt.reg.Priority(), tt.reg.Timeout()}, what)
			if tt.want.kind == "" {
				assert.Empty(t, tt.reg.Place(), what)
			} else {
				assert.Regexp(t, `^registry_test\.go:[0-9]+$`, tt.reg.Place(), what)
			}
		}
		check()
		if tools, agents := tt.reg.Tools(), tt.reg.Agents(); tools != nil {
			tools[0], agents[0] = "x", "x"
			check()
		}
		tt.reg.Remove()
		check()
	}
	assert.Equal(t, []hooks.Kind{"hook", "guard", "watch"}, []hooks.Kind{hooks.KindHook, hooks.KindGuard, hooks.KindWatch})
}

func TestRegistration_zeroAndNilRemoveNothing(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	var none *hooks.Registration
	assert.Empty(t, none.Name())
	assert.Empty(t, none.Point())
	assert.False(t, none.Remove())
	assert.False(t, r.Unregister(none))
	assert.False(t, hooks.Unregister(none))

	var zero hooks.Registration
	assert.False(t, zero.Remove())
	assert.False(t, r.Unregister(&zero))
	assert.Empty(t, zero.Name())
	assert.Empty(t, zero.Point())
}

func TestUnregister_ignoresOtherRegistries(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	other := hooks.NewRegistry()
	reg := hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	assert.False(t, other.Unregister(reg))
	assert.False(t, hooks.Unregister(reg))
	assert.Error(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.True(t, r.Unregister(reg))
}

func TestRemove_leavesTheOthersInOrder(t *testing.T) {
	t.Parallel()
	const n = 6
	for drop := range n {
		ctx, r := newRun(t)
		var tr trace
		var regs []*hooks.Registration
		var want []string
		for i := range n {
			name := fmt.Sprint(i)
			regs = append(regs, hooks.On(hooks.PreStep, note[hooks.Step](&tr, name), hooks.In(r)))
			if i != drop {
				want = append(want, name)
			}
		}
		require.True(t, regs[drop].Remove())
		hooks.On(hooks.PreStep, note[hooks.Step](&tr, "new"), hooks.In(r))
		assert.Equal(t, strings.Join(append(want, "new"), " "), preStep(t, ctx, &tr))
	}
}

func TestRemove_leavesALongChainInOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	ctx, r := newRun(t)
	ran := 0
	var want []*hooks.Registration
	for step := range 4000 {
		// First more are added than removed, then the other way round.
		if len(want) == 0 || rng.IntN(4000) > step {
			want = append(want, hooks.On(hooks.PreStep, edit(func(*hooks.Step) { ran++ }), hooks.In(r)))
		} else {
			i := rng.IntN(len(want))
			require.True(t, want[i].Remove())
			want = slices.Delete(want, i, i+1)
		}
		if step%97 == 0 {
			require.True(t, slices.Equal(want, r.Hooks(hooks.PreStep)), "after %d steps", step)
			ran = 0
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			require.Equal(t, len(want), ran)
		}
	}
	assert.Equal(t, len(want), r.Clear(hooks.PreStep))
}

func TestClear_countsTheHooksOfOnePoint(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	first := hooks.On(hooks.PreStep, note[hooks.Step](&tr, "pre"), hooks.In(r))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "guard"), hooks.In(r), hooks.AsGuard())
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "once"), hooks.In(r), hooks.WithOnce())
	hooks.On(hooks.PostStep, note[hooks.Step](&tr, "post"), hooks.In(r))
	assert.Equal(t, 3, r.Clear(hooks.PreStep))
	assert.Zero(t, r.Clear(hooks.PreStep))
	assert.False(t, first.Remove(), "it was cleared before")
	assert.False(t, r.Unregister(first))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PostStep, &hooks.Step{}))
	assert.Equal(t, "post", tr.take())

	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "again"), hooks.In(r))
	assert.False(t, first.Remove())
	assert.Equal(t, "again", preStep(t, ctx, &tr))
}

func TestClearAll_countsTheHooksOfAllPoints(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	other := hooks.NewRegistry()
	p := newPoint[job](t)
	for _, own := range everyPoint() {
		own.on(func() error { return hooks.Abort("no") }, hooks.In(r))
		require.Error(t, own.dispatch(ctx))
	}
	hooks.On(p, fails[job](nil), hooks.In(r))
	kept := hooks.On(p, fails[job](nil), hooks.In(other))
	global := hooks.On(p, fails[job](nil))
	assert.Equal(t, 11, r.ClearAll())
	assert.Zero(t, r.ClearAll())
	for _, own := range everyPoint() {
		assert.NoError(t, own.dispatch(ctx))
		assert.Empty(t, r.Hooks(own))
	}
	assert.Equal(t, []*hooks.Registration{kept}, other.Hooks(p))
	assert.Equal(t, []*hooks.Registration{global}, hooks.Hooks(p))
}

func TestDefault_isManagedByTheFunctions(t *testing.T) {
	p := newPoint[job](t)
	a, b := hooks.On(p, fails[job](nil)), hooks.On(p, fails[job](nil))
	assert.Equal(t, []*hooks.Registration{a, b}, hooks.Hooks(p))
	assert.Equal(t, []*hooks.Registration{a, b}, hooks.Default().Hooks(p))
	assert.True(t, hooks.Unregister(a))
	assert.False(t, hooks.Default().Unregister(a))
	assert.Equal(t, 1, hooks.Clear(p))
	assert.False(t, b.Remove())

	hooks.ClearAll()
	c := hooks.On(p, fails[job](nil))
	hooks.On(hooks.PreStep, fails[hooks.Step](nil))
	assert.Equal(t, 2, hooks.ClearAll())
	assert.Zero(t, hooks.Default().ClearAll())
	assert.False(t, c.Remove())
	assert.Equal(t, "no hooks\n", hooks.Default().String())
}

func TestRegistry_printsItsChains(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	tool := func(name string, opts ...hooks.Option) {
		hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), append(opts, hooks.In(r), hooks.WithName(name))...)
	}
	hooks.On(hooks.PostStep, fails[hooks.Step](nil), hooks.In(r), hooks.WithName("post"))
	tool("policy", hooks.AsGuard(), hooks.WithTools("Delete File", "rm*"))
	tool("low", hooks.WithPriority(-1), hooks.WithFailClosed())
	tool("plain")
	tool("high", hooks.WithPriority(5), hooks.WithAgents("Writer"), hooks.WithOnce())
	tool("slow", hooks.WithTimeout(time.Minute))
	hooks.Watch(hooks.PreToolCall, func(context.Context, *hooks.ToolCall, error) {}, hooks.In(r), hooks.WithName("audit"), hooks.WithPriority(9))
	assert.Equal(t, `pre_tool_call
  high agents=["Writer"] priority=5 once
  plain
  slow timeout=1m0s
  low priority=-1 fail-closed
  policy tools=["Delete File" "rm*"] guard
  audit priority=9 watch
post_step
  post
`, r.String())
	assert.Equal(t, r.String(), fmt.Sprint(r))
	r.ClearAll()
	hooks.On(hooks.Input, fails[hooks.Execution](nil), hooks.In(r))
	assert.Regexp(t, `^input\n  registry_test\.go:\d+\n$`, r.String())
}

func TestRemove_ConcurrentSafe(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	for range 50 {
		var removed, cleared atomic.Int64
		reg := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if reg.Remove() {
					removed.Add(1)
				}
			})
			wg.Go(func() {
				if r.Unregister(reg) {
					removed.Add(1)
				}
			})
			wg.Go(func() { cleared.Add(int64(r.Clear(hooks.PreStep))) })
		}
		wg.Wait()
		require.EqualValues(t, 1, removed.Load()+cleared.Load(), "exactly one of them took it out")
	}
}

func TestWithScope_isActiveUnderItsCtxAlone(t *testing.T) {
	t.Parallel()
	for _, p := range everyPoint() {
		r := hooks.NewRegistry()
		ran := 0
		p.on(func() error { ran++; return nil }, hooks.In(r))
		outside := t.Context()
		inside := hooks.WithScope(outside, r)
		below, cancel := context.WithCancel(inside)
		require.NoError(t, p.dispatch(outside))
		assert.Zero(t, ran, p.name)
		assert.False(t, p.enabled(outside))
		for _, ctx := range []context.Context{inside, below, context.WithoutCancel(below)} {
			ran = 0
			require.NoError(t, p.dispatch(ctx))
			assert.Equal(t, 1, ran, p.name)
			assert.True(t, p.enabled(ctx))
		}
		cancel()
		require.NoError(t, p.dispatch(outside))
		assert.Equal(t, 1, ran, p.name)
	}
}

func TestWithScope_runsHooksRegisteredLater(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "ran"), hooks.In(r))
	assert.Equal(t, "ran", preStep(t, ctx, &tr))
}

func TestWithScope_refusesNil(t *testing.T) {
	t.Parallel()
	text := panicText(t, func() { hooks.WithScope(t.Context(), nil) })
	assert.Contains(t, text, "hooks: WithScope")
	assert.Contains(t, text, "nil")
}

func TestWithScope_ignoresAnActiveRegistry(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, outer := newRun(t)
	inner := hooks.NewRegistry()
	ctx = hooks.WithScope(ctx, inner)
	assert.Equal(t, ctx, hooks.WithScope(ctx, inner))
	assert.Equal(t, ctx, hooks.WithScope(ctx, outer))
	assert.Equal(t, ctx, hooks.WithScope(ctx, hooks.Default()))
	assert.Equal(t, t.Context(), hooks.WithScope(t.Context(), hooks.Default()))

	var tr trace
	hooks.On(p, note[job](&tr, "default"))
	hooks.On(p, note[job](&tr, "outer"), hooks.In(outer))
	hooks.On(p, note[job](&tr, "inner"), hooks.In(inner))
	again := hooks.WithScope(hooks.WithScope(hooks.WithScope(ctx, outer), hooks.Default()), inner)
	require.NoError(t, hooks.Dispatch(again, p, &job{}))
	assert.Equal(t, "default outer inner", tr.take())
}

func TestWithScope_takesANilCtxForABackground(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "ran"), hooks.In(r))
	var none context.Context
	ctx := hooks.WithScope(none, r)
	assert.Equal(t, "ran", preStep(t, ctx, &tr))
	assert.NotNil(t, hooks.WithScope(none, hooks.Default()), "though the default registry adds nothing")
}

// An inner scope adds to the outer one and doesn't hide it: a sub-agent can't
// escape the guards of its crew.
func TestWithScope_nestsAndEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	ctx, outer := newRun(t)
	inner := hooks.NewRegistry()
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "outer"), hooks.In(outer))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "inner"), hooks.In(inner))
	dispatch := func(ctx context.Context) string { return preStep(t, ctx, &tr) }
	assert.Equal(t, "outer", dispatch(ctx))
	assert.Equal(t, "outer inner", dispatch(hooks.WithScope(ctx, inner)))
	assert.Equal(t, "outer", dispatch(ctx))
	assert.Equal(t, "inner outer", dispatch(hooks.WithScope(hooks.WithScope(t.Context(), inner), outer)))

	hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("crew policy")), hooks.In(outer))
	abort := aborted(t, hooks.Dispatch(hooks.WithScope(ctx, inner), hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "crew policy", abort.Reason)
}

func TestWithScope_hidesSiblings(t *testing.T) {
	t.Parallel()
	ctx, _ := newRun(t)
	var tr trace
	// Several scopes deep, so that siblings would share what their parent has
	// room for.
	for range 4 {
		ctx = hooks.WithScope(ctx, hooks.NewRegistry())
	}
	var siblings []context.Context
	for i := range 3 {
		r := hooks.NewRegistry()
		hooks.On(hooks.PreStep, note[hooks.Step](&tr, strconv.Itoa(i)), hooks.In(r))
		siblings = append(siblings, hooks.WithScope(ctx, r))
	}
	for i, ctx := range siblings {
		assert.Equal(t, strconv.Itoa(i), preStep(t, ctx, &tr))
	}
}

func TestWithScope_nestsManyTimes(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	var tr trace
	hooks.On(p, note[job](&tr, "d"))
	ctx, want := t.Context(), []string{"d"}
	for i := range 40 {
		r := hooks.NewRegistry()
		hooks.On(p, note[job](&tr, fmt.Sprint("g", i)), hooks.In(r), hooks.AsGuard())
		hooks.On(p, note[job](&tr, fmt.Sprint(i)), hooks.In(r))
		ctx = hooks.WithScope(ctx, r)
		want = append(want, strconv.Itoa(i))
	}
	for i := range 40 {
		want = append(want, fmt.Sprint("g", i))
	}
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Equal(t, strings.Join(want, " "), tr.take())
}

// Goroutines see the scopes of the ctx that they are given, and no others.
func TestWithScope_reachesOtherGoroutines(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	hooks.On(hooks.PreModelCall, counter[hooks.ModelCall](&ran), hooks.In(r))
	// A pool whose workers were started outside of any scope.
	work := make(chan context.Context)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx := range work {
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{}))
			}
		})
	}
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{}, func(ctx context.Context, _ *hooks.ToolCall) error {
		for range 5 {
			work <- ctx
			work <- context.Background()
			wg.Go(func() { assert.NoError(t, hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{})) })
			wg.Go(func() {
				assert.NoError(t, hooks.Dispatch(context.Background(), hooks.PreModelCall, &hooks.ModelCall{}))
			})
		}
		return nil
	}))
	close(work)
	wg.Wait()
	assert.EqualValues(t, 10, ran.Load())
}

func TestWithScope_runsConcurrentSafe(t *testing.T) {
	t.Parallel()
	const runs, calls = 50, 10
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			id := strconv.Itoa(i)
			r := hooks.NewRegistry()
			var seen atomic.Int64
			check := func(got string) {
				seen.Add(1)
				assert.Equal(t, id, got)
			}
			hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { check(c.RunID) }), hooks.In(r))
			hooks.On(hooks.PostModelCall, edit(func(m *hooks.ModelCall) { check(m.RunID) }), hooks.In(r))
			x := &hooks.Execution{Caller: hooks.Caller{RunID: id}}
			err := hooks.RunExecution(hooks.WithScope(context.Background(), r), x, func(ctx context.Context, _ *hooks.Execution) error {
				var errs []error
				for range calls {
					errs = append(errs,
						hooks.RunModel(ctx, &hooks.ModelCall{}, fails[hooks.ModelCall](nil)),
						hooks.RunTool(ctx, &hooks.ToolCall{}, fails[hooks.ToolCall](nil)))
				}
				return errors.Join(errs...)
			})
			assert.NoError(t, err)
			assert.EqualValues(t, 2*calls, seen.Load())
		})
	}
	wg.Wait()
}

func TestDefault_takesPartUnderEveryCtx(t *testing.T) {
	t.Parallel()
	type key struct{}
	p := newPoint[job](t)
	scoped, r := newRun(t)
	hooks.On(p, fails[job](nil), hooks.In(r))
	var tr trace
	hooks.On(p, note[job](&tr, "ran"))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, ctx := range map[string]context.Context{
		"background":     context.Background(),
		"todo":           context.TODO(),
		"with values":    context.WithValue(context.Background(), key{}, 1),
		"cancelled":      cancelled,
		"without cancel": context.WithoutCancel(cancelled),
		"scoped":         scoped,
		"caller":         hooks.WithCaller(context.Background(), hooks.Caller{RunID: "1"}),
	} {
		require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
		assert.Equal(t, "ran", tr.take(), name)
	}
}

func TestWithScope_scopesEveryKindOfHook(t *testing.T) {
	t.Parallel()
	for kind, opts := range map[string][]hooks.Option{
		"hook":        nil,
		"fail-closed": {hooks.WithFailClosed()},
		"guard":       {hooks.AsGuard()},
		"once":        {hooks.WithOnce()},
		"timed":       {hooks.WithTimeout(1 << 40)},
		"priority":    {hooks.WithPriority(3)},
	} {
		for _, p := range everyPoint() {
			for _, filters := range [][]hooks.Option{nil, p.filters} {
				ctx, r := newRun(t)
				ran := 0
				p.on(func() error { ran++; return nil }, append(append([]hooks.Option{hooks.In(r)}, opts...), filters...)...)
				require.NoError(t, p.dispatch(t.Context()))
				assert.Zero(t, ran, "%s at %s", kind, p.name)
				require.NoError(t, p.dispatch(ctx))
				assert.Equal(t, 1, ran, "%s at %s", kind, p.name)
			}
		}
	}
}

func TestOn_inADispatchCountsFromTheNext(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
		ran.Add(1)
		hooks.On(hooks.PreStep, counter[hooks.Step](&ran), hooks.In(r))
		hooks.On(hooks.PreStep, counter[hooks.Step](&ran), hooks.In(r), hooks.WithPriority(1), hooks.WithOnce())
		return nil
	}, hooks.In(r))
	// Each dispatch runs the first hook, one of those that stay for each
	// dispatch before, and the one of the last dispatch that runs once.
	for _, want := range []int64{1, 3, 4, 5, 6} {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, want, ran.Swap(0))
	}
}

func TestRemove_inADispatchCountsFromTheNext(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		at     int // the hook that removes
		remove func(r *hooks.Registry, regs []*hooks.Registration)
		after  string // what runs the next time
	}{
		"itself":         {0, func(_ *hooks.Registry, regs []*hooks.Registration) { assert.True(t, regs[0].Remove()) }, "1 2"},
		"the next":       {0, func(_ *hooks.Registry, regs []*hooks.Registration) { assert.True(t, regs[1].Remove()) }, "0 2"},
		"the last":       {0, func(_ *hooks.Registry, regs []*hooks.Registration) { assert.True(t, regs[2].Remove()) }, "0 1"},
		"an earlier one": {2, func(_ *hooks.Registry, regs []*hooks.Registration) { assert.True(t, regs[0].Remove()) }, "1 2"},
		"the last, by itself": {2, func(r *hooks.Registry, regs []*hooks.Registration) {
			assert.True(t, r.Unregister(regs[2]))
		}, "0 1"},
		"all at the point": {1, func(r *hooks.Registry, _ []*hooks.Registration) { assert.Equal(t, 3, r.Clear(hooks.PreStep)) }, ""},
		"all":              {1, func(r *hooks.Registry, _ []*hooks.Registration) { assert.Equal(t, 3, r.ClearAll()) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var tr trace
			var regs []*hooks.Registration
			done := false
			for i, id := range []string{"0", "1", "2"} {
				regs = append(regs, hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
					tr.add(id)
					if i == tt.at && !done {
						done = true
						tt.remove(r, regs)
					}
					return nil
				}, hooks.In(r)))
			}
			assert.Equal(t, "0 1 2", preStep(t, ctx, &tr))
			assert.Equal(t, tt.after, preStep(t, ctx, &tr))
		})
	}
}

// The chains of all registries are read when the dispatch begins, so that an
// outer hook can't change what runs in an inner scope, guards least of all.
func TestWithScope_chainsAreReadAtTheStart(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, r := newRun(t)
	var tr trace
	hooks.On(p, func(context.Context, *job) error {
		tr.add("outer")
		if r.Clear(p) > 0 {
			hooks.On(p, note[job](&tr, "new"), hooks.In(r))
		}
		return nil
	})
	hooks.On(p, note[job](&tr, "inner"), hooks.In(r))
	hooks.On(p, note[job](&tr, "guard"), hooks.In(r), hooks.AsGuard())
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Equal(t, "outer inner guard", tr.take())
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Equal(t, "outer new", tr.take())
}

func TestOn_inARunCountsFromTheNextDispatch(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		step := func() error {
			return hooks.RunStep(ctx, &hooks.Step{}, func(context.Context, *hooks.Step) error {
				tr.add("body")
				return nil
			})
		}
		require.NoError(t, step())
		reg := hooks.On(hooks.PreStep, note[hooks.Step](&tr, "hook"), hooks.In(r))
		require.NoError(t, step())
		reg.Remove()
		return step()
	}))
	assert.Equal(t, "body hook body body", tr.take())
}

// A function that is registered twice has two handles.
func TestOn_twiceRunsTwice(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	dispatch := func(tool string) int64 { return runsOf(t, ctx, &ran, tool) }
	fn := counter[hooks.ToolCall](&ran)
	first := hooks.On(hooks.PreToolCall, fn, hooks.In(r))
	second := hooks.On(hooks.PreToolCall, fn, hooks.In(r))
	assert.EqualValues(t, 2, dispatch("a"))
	assert.Len(t, r.Hooks(hooks.PreToolCall), 2)

	assert.True(t, first.Remove())
	assert.EqualValues(t, 1, dispatch("a"))
	assert.False(t, first.Remove(), "a handle removes its own entry, once")
	assert.EqualValues(t, 1, dispatch("a"))
	assert.True(t, second.Remove())
	assert.Zero(t, dispatch("a"))
}

// A function with two filters can be removed from each.
func TestRemove_takesOneOfTwoFilters(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]hooks.Option{
		"hook":  nil,
		"guard": {hooks.AsGuard()},
		"timed": {hooks.WithTimeout(1 << 40)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var ran atomic.Int64
			dispatch := func(tool string) int64 { return runsOf(t, ctx, &ran, tool) }
			on := func(tool string) *hooks.Registration {
				return hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), append(opts, hooks.In(r), hooks.WithTools(tool))...)
			}
			a, b := on("a"), on("b")
			assert.EqualValues(t, 1, dispatch("a"))
			assert.EqualValues(t, 1, dispatch("b"))
			assert.True(t, b.Remove())
			assert.EqualValues(t, 1, dispatch("a"))
			assert.Zero(t, dispatch("b"))
			assert.True(t, a.Remove())
			assert.Zero(t, dispatch("a"))
			assert.Empty(t, r.Hooks(hooks.PreToolCall))
		})
	}
}

// No lock is held while a hook or an observer runs, so that everything the
// package offers can be called from there.
func TestRegistry_canBeUsedFromAHook(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(r *hooks.Registry, call func(context.Context)){
		"hook": func(r *hooks.Registry, call func(context.Context)) {
			hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
				call(ctx)
				return nil
			}, hooks.In(r))
		},
		"guard": func(r *hooks.Registry, call func(context.Context)) {
			hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
				call(ctx)
				return nil
			}, hooks.In(r), hooks.AsGuard())
		},
		"observer": func(r *hooks.Registry, call func(context.Context)) {
			hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
			r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { call(ctx) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			p := newPoint[job](t)
			other := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
			depth := 0
			from(r, func(ctx context.Context) {
				if depth++; depth > 1 {
					return
				}
				hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
				hooks.On(p, fails[job](nil)).Remove()
				assert.True(t, other.Remove())
				assert.NotEmpty(t, r.Hooks(hooks.PreStep))
				assert.NotEmpty(t, r.String())
				assert.True(t, hooks.Enabled(ctx, hooks.PreStep))
				r.Observe(func(context.Context, hooks.HookDispatchedEvent) {}).Remove()
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PostStep, &hooks.Step{}))
				assert.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{}, fails[hooks.ToolCall](nil)))
				inner := hooks.NewRegistry()
				hooks.On(hooks.PostStep, fails[hooks.Step](nil), hooks.In(inner))
				assert.NoError(t, hooks.Dispatch(hooks.WithScope(ctx, inner), hooks.PostStep, &hooks.Step{}))
				assert.Equal(t, 1, inner.ClearAll())
				assert.Equal(t, 2, r.Clear(hooks.PreStep))
			})
			finishes(t, "a dispatch", func() {
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			})
			assert.GreaterOrEqual(t, depth, 1)
			assert.Empty(t, r.Hooks(hooks.PreStep))
		})
	}
}

// Hooks that are used up are not in the listing, don't count as cleared, and
// leave the others in order, whenever the chain is tidied.
func TestWithOnce_manyAreUsedUpInAnyOrder(t *testing.T) {
	t.Parallel()
	const n = 600
	ctx, r := newRun(t)
	var tr trace
	name := func(i int) string { return fmt.Sprintf("tool_%d", i) }
	for i := range n {
		opts := []hooks.Option{hooks.In(r), hooks.WithTools(name(i)), hooks.WithName(name(i))}
		if i%3 != 0 {
			opts = append(opts, hooks.WithOnce())
		}
		hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, name(i)), opts...)
	}
	var left []string
	for i := range n {
		if i%3 == 0 || i%7 == 0 {
			left = append(left, name(i))
			continue
		}
		for range 2 {
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: name(i)}))
		}
		assert.Equal(t, name(i), tr.take(), "once, though called twice")
	}
	assert.Equal(t, left, registered(r.Hooks(hooks.PreToolCall)))
	assert.Equal(t, len(left)+1, strings.Count(r.String(), "\n"), "and the point")
	added := hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "added"), hooks.In(r), hooks.WithName("added"))
	assert.Equal(t, append(left, "added"), registered(r.Hooks(hooks.PreToolCall)))
	assert.True(t, added.Remove())
	assert.Equal(t, len(left), r.Clear(hooks.PreToolCall))
	assert.Zero(t, r.Clear(hooks.PreToolCall))
	assert.False(t, hooks.Enabled(ctx, hooks.PreToolCall))
}

// A thousand uses cost about what ten times a hundred do, not ten times that.
func TestCost_ofUsedUpHooksIsLinear(t *testing.T) {
	if race.Enabled {
		t.Log("not measured: the race detector changes the ratio")
		return
	}
	use := func(n int) time.Duration {
		fastest := time.Hour
		for range 3 {
			ctx, r := newRun(t)
			ran := 0
			for i := range n {
				hooks.On(hooks.PreToolCall, edit(func(*hooks.ToolCall) { ran++ }), hooks.In(r), hooks.WithOnce(), hooks.WithTools(fmt.Sprintf("tool_%d", i)))
			}
			began := time.Now()
			for i := range n {
				_ = hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: fmt.Sprintf("tool_%d", i)})
			}
			fastest = min(fastest, time.Since(began))
			require.Equal(t, n, ran)
		}
		return fastest
	}
	var ratio float64
	for range 8 { // a busy machine doesn't fail it
		if ratio = float64(use(2000)) / float64(use(200)); ratio <= 40 {
			return
		}
	}
	require.LessOrEqual(t, ratio, 40.0)
}
