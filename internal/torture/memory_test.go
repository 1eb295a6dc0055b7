package torture_test

// What is reachable after many registrations, runs and names is what was before:
// the heap stays where it was, and a kept handle keeps no function.

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/internal/race"
)

// The tests of this file look at the heap of the process and don't run in
// parallel.

// heapInUse returns how many bytes are reachable.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// many is n, or much less under the race detector, where everything is slow.
func many(n int) int {
	if race.Enabled {
		return n / 20
	}
	return n
}

const megabyte = 1 << 20

// heapPoint is used where a million hooks come and go.
var heapPoint = hooks.Define[job]("test.heap")

func TestMemory_aMillionHooksComeAndGo(t *testing.T) {
	p := heapPoint
	ctx, r := newRun(t)
	for name, tt := range map[string]struct {
		opts    []hooks.Option
		observe bool
	}{
		"default":  {},
		"scoped":   {opts: []hooks.Option{hooks.In(r)}},
		"filtered": {opts: []hooks.Option{hooks.WithTools("Read File", "x*"), hooks.WithAgents("Writer")}},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			before, n := heapInUse(), many(1_000_000)/3
			for i := range n {
				reg := hooks.On(p, counter[job](&ran), tt.opts...)
				if i%100 == 0 {
					require.NoError(t, hooks.Dispatch(ctx, p, &job{Tool: "read_file"}))
				}
				if !reg.Remove() {
					t.Fatal("not removed")
				}
			}
			assert.Less(t, heapInUse()-before, int64(megabyte))
			assert.False(t, hooks.Enabled(ctx, p))
			assert.EqualValues(t, (n+99)/100, ran.Load())
		})
	}
}

func TestMemory_manyHooksAtOnce(t *testing.T) {
	_, r := newRun(t)
	var ran atomic.Int64
	before := heapInUse()
	for range 3 {
		for i := range many(40_000) {
			hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), hooks.In(r), hooks.WithTools(fmt.Sprint("tool ", i)))
		}
		require.NoError(t, hooks.Dispatch(hooks.WithScope(t.Context(), r), hooks.PreToolCall, &hooks.ToolCall{Name: "tool_1"}))
		assert.Equal(t, many(40_000), r.Clear(hooks.PreToolCall))
	}
	assert.Less(t, heapInUse()-before, int64(megabyte))
	assert.EqualValues(t, 3, ran.Load(), "one of them in each round")
	runtime.KeepAlive(r)
}

// However a hook leaves its chain, a handle that is kept keeps nothing of what
// the function holds on to.
func TestMemory_keptHandle(t *testing.T) {
	for name, leave := range map[string]func(context.Context, *hooks.Registry, *hooks.Registration){
		"removed":      func(_ context.Context, _ *hooks.Registry, reg *hooks.Registration) { assert.True(t, reg.Remove()) },
		"unregistered": func(_ context.Context, r *hooks.Registry, reg *hooks.Registration) { assert.True(t, r.Unregister(reg)) },
		"cleared":      func(_ context.Context, r *hooks.Registry, _ *hooks.Registration) { r.Clear(hooks.PreStep) },
		"cleared all":  func(_ context.Context, r *hooks.Registry, _ *hooks.Registration) { r.ClearAll() },
		"used up": func(ctx context.Context, _ *hooks.Registry, _ *hooks.Registration) {
			assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		},
	} {
		for _, others := range []int{0, 1, 5, 300} {
			t.Run(fmt.Sprintf("%s with %d others", name, others), func(t *testing.T) {
				ctx, r := newRun(t)
				other := func() {
					for range others {
						hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
					}
				}
				opts := []hooks.Option{hooks.In(r)}
				if name == "used up" {
					opts = append(opts, hooks.WithOnce())
				}
				other()
				big := new([megabyte]byte)
				kept := weak.Make(big)
				var ran atomic.Int64
				reg := hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
					ran.Add(1)
					_ = big[0]
					return nil
				}, opts...)
				other()
				if name != "used up" {
					require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				}
				leave(ctx, r, reg)
				assert.EqualValues(t, 1, ran.Load())
				big = nil
				runtime.GC()
				runtime.GC()
				assert.Nil(t, kept.Value())
				runtime.KeepAlive(reg)
				runtime.KeepAlive(r)
			})
		}
	}
}

// Nothing has to be unregistered when a run is over: its registry goes with
// its ctx.
func TestMemory_runThatIsOver(t *testing.T) {
	const runs = 500
	var ran, seen atomic.Int64
	collected := make(chan struct{}, runs)
	before := heapInUse()
	hooksBefore := hooks.Default().String()
	for range runs {
		r := hooks.NewRegistry()
		buffer := new([megabyte / 16]byte)
		runtime.AddCleanup(buffer, func(struct{}) { collected <- struct{}{} }, struct{}{})
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			buffer[0]++
			ran.Add(1)
			return nil
		}, hooks.In(r))
		r.Observe(func(context.Context, hooks.HookDispatchedEvent) {
			buffer[1]++
			seen.Add(1)
		})
		ctx := hooks.WithScope(context.Background(), r)
		require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunTool(ctx, &hooks.ToolCall{}, fails[hooks.ToolCall](nil))
		}))
	}
	assert.Less(t, heapInUse()-before, int64(megabyte))
	finishes(t, "the cleanups", func() {
		for range runs {
			<-collected
		}
	})
	assert.Equal(t, hooksBefore, hooks.Default().String())
	assert.EqualValues(t, runs, ran.Load())
	assert.EqualValues(t, runs, seen.Load())
}

func TestMemory_innerScopesComeAndGo(t *testing.T) {
	p := heapPoint
	ctx, outer := newRun(t)
	ran := 0
	hooks.On(p, func(context.Context, *job) error {
		ran++
		return nil
	}, hooks.In(outer))
	before := heapInUse()
	for range many(100_000) {
		inner := hooks.NewRegistry()
		hooks.On(p, fails[job](nil), hooks.In(inner))
		require.NoError(t, hooks.Dispatch(hooks.WithScope(ctx, inner), p, &job{}))
	}
	assert.Less(t, heapInUse()-before, int64(megabyte))
	assert.Equal(t, many(100_000), ran)
	ran = 0
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Equal(t, 1, ran)
	assert.Len(t, outer.Hooks(p), 1)
}

// Names come from models, and there is no end to what they make up.
func TestMemory_namesThatNobodyKnows(t *testing.T) {
	ctx, r := newRun(t)
	observer := r.Observe(hooks.SlogObserver(nil))
	defer observer.Remove()
	var ran atomic.Int64
	hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), hooks.In(r))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), hooks.WithTools("Read File"))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), hooks.WithTools("mcp__*"))
	call := &hooks.ToolCall{}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
	before := heapInUse()
	for i := range many(300_000) {
		call.Name = "Tool " + strconv.Itoa(i) + ", which some model has made up"
		if err := hooks.Dispatch(ctx, hooks.PreToolCall, call); err != nil {
			t.Fatal(err)
		}
	}
	assert.Less(t, heapInUse()-before, int64(megabyte))
	assert.EqualValues(t, 1+many(300_000), ran.Load())
	runtime.KeepAlive(r)
}
