package hooks_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestAHookAddedDuringADispatchRunsFromTheNextOneOn(t *testing.T) {
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

func TestAHookRemovedDuringADispatchStillRunsInIt(t *testing.T) {
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
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Equal(t, "0 1 2", tr.take())
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Equal(t, tt.after, tr.take())
		})
	}
}

// The chains of all registries are read when the dispatch begins, so that an
// outer hook can't change what runs in an inner scope, guards least of all.
func TestADispatchRunsTheChainsOfAllScopesAsTheyWere(t *testing.T) {
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

func TestAHookRegisteredWhileARunIsOnTakesPartFromTheNextDispatch(t *testing.T) {
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

func TestAFunctionRegisteredTwiceRunsTwice(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	dispatch := func(tool string) int64 {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: tool}))
		return ran.Swap(0)
	}
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

func TestAFunctionRegisteredWithTwoFiltersCanBeRemovedFromEach(t *testing.T) {
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
			dispatch := func(tool string) int64 {
				require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: tool}))
				return ran.Swap(0)
			}
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
func TestEverythingCanBeCalledFromInsideAHookAndAnObserver(t *testing.T) {
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
