package hooks_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// bestOf returns the shortest time that one call of f took, over several
// rounds: what disturbs a measurement only ever makes it longer.
func bestOf(rounds, calls int, f func()) time.Duration {
	best := time.Duration(1<<63 - 1)
	for range rounds {
		start := time.Now()
		for range calls {
			f()
		}
		best = min(best, time.Since(start))
	}
	return best / time.Duration(calls)
}

// heap returns how many bytes are in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// requireRatio fails if f takes more than bound times as long as ref. Both are
// measured in turn in this process, and again before the test may fail, so
// that a busy machine doesn't fail it. The bounds are generous: they are to
// catch another order of growth, a lock or a lost fast path, not a few percent.
func requireRatio(t *testing.T, bound float64, ref, f func()) {
	t.Helper()
	if raceEnabled {
		t.Log("not measured: the race detector changes the ratio")
		return
	}
	var ratio float64
	for range 8 {
		r, d := bestOf(20, 2000, ref), bestOf(20, 2000, f)
		if r <= 0 {
			r = 1
		}
		if ratio = float64(d) / float64(r); ratio <= bound {
			return
		}
	}
	require.LessOrEqual(t, ratio, bound, "times as long as the reference, in the best of the last rounds")
}

func TestCostOfOneHundredHooksIsThatOfTheBareCalls(t *testing.T) {
	t.Cleanup(func() { hooks.ClearAll() })
	fns, call, ctx := noops(100), benchCall(), t.Context()
	for range 100 {
		hooks.On(hooks.PreToolCall, noop)
	}
	requireRatio(t, 2, func() { _ = plainLoop(ctx, fns, call) }, func() { _ = hooks.Dispatch(ctx, hooks.PreToolCall, call) })
}

func TestCostOfNothingRegisteredIsFarBelowThatOfAHook(t *testing.T) {
	ctx, step := t.Context(), &hooks.Step{}
	require.False(t, hooks.Enabled(ctx, hooks.PreStep))
	fns, call := noops(4), benchCall()
	requireRatio(t, 1.5, func() { _ = plainLoop(ctx, fns, call) }, func() { _ = hooks.Dispatch(ctx, hooks.PreStep, step) })
}

func TestCostOfTenThousandFilteredHooksIsThatOfOne(t *testing.T) {
	t.Cleanup(func() { hooks.ClearAll() })
	ctx, call := t.Context(), benchCall()
	many, one := hooks.NewRegistry(), hooks.NewRegistry()
	hooks.On(hooks.PreToolCall, noop, hooks.In(one), hooks.WithTools(call.Name))
	for i := range 10_000 {
		hooks.On(hooks.PreToolCall, noop, hooks.In(many), hooks.WithTools(fmt.Sprintf("tool_%d", i)))
	}
	inOne, inMany := hooks.WithScope(ctx, one), hooks.WithScope(ctx, many)
	requireRatio(t, 3,
		func() { _ = hooks.Dispatch(inOne, hooks.PreToolCall, call) },
		func() { _ = hooks.Dispatch(inMany, hooks.PreToolCall, call) })
}

// Registering ten times the hooks takes ten times as long where it is linear
// and a hundred times where it is quadratic.
func TestCostOfRegistrationsIsLinear(t *testing.T) {
	if raceEnabled {
		t.Log("not measured: the race detector changes the ratio")
		return
	}
	register := func(n int) func() {
		return func() {
			r := hooks.NewRegistry()
			for i := range n {
				hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithPriority(i%3))
			}
			_ = hooks.Dispatch(hooks.WithScope(t.Context(), r), hooks.PreToolCall, benchCall())
		}
	}
	var ratio float64
	for range 8 {
		if ratio = float64(bestOf(3, 1, register(10_000))) / float64(bestOf(3, 1, register(1_000))); ratio <= 40 {
			return
		}
	}
	require.LessOrEqual(t, ratio, 40.0)
}

func TestCostOfARegisteredHookInMemory(t *testing.T) {
	const n = 10_000
	r := hooks.NewRegistry()
	before := heap()
	for i := range n {
		hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools(fmt.Sprintf("tool_%d", i)))
	}
	_ = hooks.Dispatch(hooks.WithScope(context.Background(), r), hooks.PreToolCall, benchCall())
	perHook := float64(heap()-before) / n
	t.Logf("%.0f bytes for each hook with a tool filter, index included", perHook)
	require.Less(t, perHook, 1500.0)
	require.Len(t, r.Hooks(hooks.PreToolCall), n)
}

// Ten times the hooks to remove in far less than a hundred times the time.
func TestCostOfRemovalsIsFarBelowQuadratic(t *testing.T) {
	if raceEnabled {
		t.Log("not measured: the race detector changes the ratio")
		return
	}
	remove := func(n int) func() {
		return func() {
			r := hooks.NewRegistry()
			regs := make([]*hooks.Registration, n)
			for i := range regs {
				regs[i] = hooks.On(hooks.PreToolCall, noop, hooks.In(r))
			}
			for _, reg := range regs {
				reg.Remove()
			}
		}
	}
	var ratio float64
	for range 8 {
		if ratio = float64(bestOf(3, 1, remove(20_000))) / float64(bestOf(3, 1, remove(2_000))); ratio <= 40 {
			return
		}
	}
	require.LessOrEqual(t, ratio, 40.0)
}
