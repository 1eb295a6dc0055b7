package hooks_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestTheZeroRegistryIsReadyToUse(t *testing.T) {
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

func TestEachNewRegistryIsItsOwn(t *testing.T) {
	t.Parallel()
	a, b := hooks.NewRegistry(), hooks.NewRegistry()
	assert.NotSame(t, a, b)
	assert.NotSame(t, a, hooks.Default())
	assert.Same(t, hooks.Default(), hooks.Default())
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(a))
	assert.Empty(t, b.Hooks(hooks.PreStep))
}

func TestHooksListsACopyInRunningOrder(t *testing.T) {
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

func TestRemoveReportsWhetherItRemoved(t *testing.T) {
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

func TestAHandleThatStandsForNothingRemovesNothing(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	var none *hooks.Registration
	assert.False(t, none.Remove())
	assert.False(t, r.Unregister(none))
	assert.False(t, hooks.Unregister(none))

	var zero hooks.Registration
	assert.False(t, zero.Remove())
	assert.False(t, r.Unregister(&zero))
	assert.Empty(t, zero.Name())
	assert.Empty(t, zero.Point())
}

func TestARegistryUnregistersNothingOfAnother(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	other := hooks.NewRegistry()
	reg := hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	assert.False(t, other.Unregister(reg))
	assert.False(t, hooks.Unregister(reg))
	assert.Error(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.True(t, r.Unregister(reg))
}

func TestRemovingOneHookLeavesTheOthersInOrder(t *testing.T) {
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
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, strings.Join(append(want, "new"), " "), tr.take())
	}
}

func TestRemovingManyHooksInAnyOrderLeavesTheOthersInOrder(t *testing.T) {
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

func TestClearRemovesTheHooksOfOnePointAndCountsThem(t *testing.T) {
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
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "again", tr.take())
}

func TestClearAllRemovesTheHooksOfEveryPointAndCountsThem(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	other := hooks.NewRegistry()
	p := newPoint[job](t)
	for _, own := range everyPoint() {
		own.on(func() error { return hooks.Abort("no") }, hooks.In(r))
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

func TestTheFunctionsManageTheDefaultRegistry(t *testing.T) {
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

func TestARegistryPrintsItsChainsInRunningOrder(t *testing.T) {
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
	tool("none", hooks.WithTools())
	assert.Equal(t, `pre_tool_call
  high agents=["Writer"] priority=5 once
  plain
  none tools=[]
  low priority=-1 fail-closed
  policy tools=["Delete File" "rm*"] guard
post_step
  post
`, r.String())
	assert.Equal(t, r.String(), fmt.Sprint(r))
	r.ClearAll()
	hooks.On(hooks.Input, fails[hooks.Execution](nil), hooks.In(r))
	assert.Regexp(t, `^input\n  registry_test\.go:\d+\n$`, r.String())
}

func TestRemoveConcurrentSafe(t *testing.T) {
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
