package hooks_test

// What a dispatch costs: benchmarks, exact counts of allocations, and bounds on
// the growth of time and memory.
//
// The tests count and measure for the whole process and don't run in parallel.
// Counts of allocations are exact: fewer are as worth knowing as more.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// noop is a hook that the compiler can't look into from the places that call
// it.
//
//go:noinline
func noop(context.Context, *hooks.ToolCall) error { return nil }

// plainLoop is what dispatching is measured against: the calls alone.
//
//go:noinline
func plainLoop(ctx context.Context, fns []hooks.Func[hooks.ToolCall], c *hooks.ToolCall) error {
	for _, fn := range fns {
		if err := fn(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func noops(n int) []hooks.Func[hooks.ToolCall] {
	fns := make([]hooks.Func[hooks.ToolCall], n)
	for i := range fns {
		fns[i] = noop
	}
	return fns
}

func benchCall() *hooks.ToolCall { return &hooks.ToolCall{Name: "tool_7", Input: map[string]any{}} }

// dispatchLoop is the body of the benchmarks of Dispatch.
func dispatchLoop(b *testing.B, ctx context.Context, call *hooks.ToolCall) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		_ = hooks.Dispatch(ctx, hooks.PreToolCall, call)
	}
}

func BenchmarkPlainLoop(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			fns, call := noops(n), benchCall()
			for b.Loop() {
				_ = plainLoop(b.Context(), fns, call)
			}
		})
	}
}

func BenchmarkDispatch(b *testing.B) {
	for _, n := range []int{0, 1, 10, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.Cleanup(func() { hooks.ClearAll() })
			for range n {
				hooks.On(hooks.PreToolCall, noop)
			}
			dispatchLoop(b, context.Background(), benchCall())
		})
	}
}

func BenchmarkEnabledNothingRegistered(b *testing.B) {
	for b.Loop() {
		_ = hooks.Enabled(context.Background(), hooks.PreStep)
	}
}

func BenchmarkDispatchNothingRegisteredBesideScopes(b *testing.B) {
	hooks.On(hooks.PreToolCall, noop, hooks.In(hooks.NewRegistry()))
	dispatchLoop(b, context.Background(), benchCall())
}

func BenchmarkDispatchTenThousandFilters(b *testing.B) {
	b.Cleanup(func() { hooks.ClearAll() })
	for i := range 10_000 {
		hooks.On(hooks.PreToolCall, noop, hooks.WithTools(fmt.Sprintf("tool_%d", i)))
	}
	for _, name := range []string{"tool_7777", "Tool 7777", "unknown_tool", "Unknown Tool"} {
		b.Run(name, func(b *testing.B) {
			dispatchLoop(b, context.Background(), &hooks.ToolCall{Name: name, Input: map[string]any{}})
		})
	}
	b.Run("all", func(b *testing.B) {
		r := hooks.NewRegistry()
		for range 10_000 {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools("same_tool"))
		}
		dispatchLoop(b, hooks.WithScope(context.Background(), r), &hooks.ToolCall{Name: "same_tool", Input: map[string]any{}})
	})
}

func BenchmarkDispatchInScopes(b *testing.B) {
	for _, depth := range []int{1, 2, 8} {
		b.Run(strconv.Itoa(depth), func(b *testing.B) {
			ctx := context.Background()
			for range depth {
				r := hooks.NewRegistry()
				hooks.On(hooks.PreToolCall, noop, hooks.In(r))
				ctx = hooks.WithScope(ctx, r)
			}
			dispatchLoop(b, ctx, benchCall())
		})
	}
}

func BenchmarkDispatchOutcomes(b *testing.B) {
	errBug := errors.New("bug")
	abort := &hooks.HookAborted{Reason: "no"}
	for _, bc := range []struct {
		name string
		hook hooks.Func[hooks.ToolCall]
		opts []hooks.Option
	}{
		{"abort", func(context.Context, *hooks.ToolCall) error { return abort }, nil},
		{"answer", func(_ context.Context, c *hooks.ToolCall) error { c.Answer("ready"); return nil }, nil},
		{"fail", func(context.Context, *hooks.ToolCall) error { return errBug }, nil},
		{"panic", func(context.Context, *hooks.ToolCall) error { panic("bug") }, nil},
		{"guard", noop, []hooks.Option{hooks.AsGuard()}},
		{"role", noop, []hooks.Option{hooks.WithAgents("a", "b")}},
		{"timeout", noop, []hooks.Option{hooks.WithTimeout(time.Hour)}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			silence(b)
			r := hooks.NewRegistry()
			hooks.On(hooks.PreToolCall, bc.hook, append(bc.opts, hooks.In(r))...)
			dispatchLoop(b, hooks.WithScope(context.Background(), r), benchCall())
		})
	}
}

// silence keeps contained failures out of the log for the time of tb.
func silence(tb testing.TB) {
	tb.Helper()
	hooks.SetLogger(nil)
	tb.Cleanup(func() { hooks.SetLogger(slog.Default()) })
}

func BenchmarkDispatchObserved(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			r := hooks.NewRegistry()
			r.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
			for range n {
				hooks.On(hooks.PreToolCall, noop, hooks.In(r))
			}
			dispatchLoop(b, hooks.WithScope(context.Background(), r), benchCall())
		})
	}
}

func BenchmarkSeams(b *testing.B) {
	for _, hooked := range []bool{false, true} {
		r := hooks.NewRegistry()
		ctx := hooks.WithScope(context.Background(), r)
		if hooked {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r))
			hooks.On(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return nil }, hooks.In(r))
			hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return nil }, hooks.In(r))
			hooks.On(hooks.ExecutionStart, func(context.Context, *hooks.Execution) error { return nil }, hooks.In(r))
		}
		run := func(name string, seam func() error) {
			b.Run(fmt.Sprintf("%s/hooked=%v", name, hooked), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := seam(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		tool := benchCall()
		run("tool", func() error { return hooks.RunTool(ctx, tool, noop) })
		model := &hooks.ModelCall{}
		run("model", func() error {
			return hooks.RunModel(ctx, model, func(context.Context, *hooks.ModelCall) error { return nil })
		})
		step := &hooks.Step{}
		run("step", func() error {
			return hooks.RunStep(ctx, step, func(context.Context, *hooks.Step) error { return nil })
		})
		x := &hooks.Execution{Inputs: map[string]any{}}
		run("execution", func() error {
			return hooks.RunExecution(ctx, x, func(context.Context, *hooks.Execution) error { return nil })
		})
	}
}

func BenchmarkDispatchParallel(b *testing.B) {
	for _, churn := range []bool{false, true} {
		b.Run(fmt.Sprintf("churn=%v", churn), func(b *testing.B) {
			b.Cleanup(func() { hooks.ClearAll() })
			for range 10 {
				hooks.On(hooks.PreToolCall, noop)
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for churn {
					select {
					case <-stop:
						return
					default:
						hooks.On(hooks.PreToolCall, noop).Remove()
					}
				}
			}()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				call := benchCall()
				for pb.Next() {
					_ = hooks.Dispatch(context.Background(), hooks.PreToolCall, call)
				}
			})
			close(stop)
			<-stopped
		})
	}
}

func BenchmarkRegisterTenThousand(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("tool_%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := hooks.NewRegistry()
		for _, name := range names {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools(name))
		}
	}
}

func BenchmarkRegisterAndRemove(b *testing.B) {
	r := hooks.NewRegistry()
	b.ReportAllocs()
	for b.Loop() {
		hooks.On(hooks.PreToolCall, noop, hooks.In(r)).Remove()
	}
}

// wantAllocs requires f to allocate exactly want times, once it is warm. Under
// the race detector, which allocates too, it only runs f.
func wantAllocs(t *testing.T, want int, f func()) {
	t.Helper()
	f()
	if !raceEnabled {
		assert.Equal(t, float64(want), testing.AllocsPerRun(100, f))
	}
}

// dispatches returns a function that dispatches c at p.
func dispatches[C any](t *testing.T, ctx context.Context, p hooks.Point[C], c *C) func() {
	return func() {
		if err := hooks.Dispatch(ctx, p, c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAllocs_withoutHooks(t *testing.T) {
	ctx, r := newRun(t)
	p, elsewhere, removed := newPoint[job](t), newPoint[job](t), newPoint[job](t)
	other := hooks.NewRegistry()
	hooks.On(elsewhere, fails[job](nil), hooks.In(other))
	hooks.On(removed, fails[job](nil)).Remove()
	hooks.On(removed, fails[job](nil), hooks.In(r)).Remove()
	for name, p := range map[string]hooks.Point[job]{"never used": p, "used in another scope": elsewhere, "used before": removed} {
		for where, ctx := range map[string]context.Context{"no scope": context.Background(), "scope": ctx} {
			t.Run(name+", "+where, func(t *testing.T) {
				wantAllocs(t, 0, dispatches(t, ctx, p, &job{Tool: "Read File"}))
				wantAllocs(t, 0, func() {
					if hooks.Enabled(ctx, p) {
						t.Fatal("enabled")
					}
				})
			})
		}
	}
}

func TestAllocs_ofHooksThatDoNothing(t *testing.T) {
	runs := 0
	nop := func(context.Context, *job) error { runs++; return nil }
	record(t, hooks.NewRegistry()) // somebody watches, but not these dispatches
	for _, n := range []int{1, 10, 100} {
		for name, tt := range map[string]struct {
			opts   []hooks.Option
			scopes int
		}{
			"default":       {},
			"scope":         {scopes: 1},
			"nested scopes": {scopes: 5},
			"guards":        {opts: []hooks.Option{hooks.AsGuard()}},
			"scoped guards": {opts: []hooks.Option{hooks.AsGuard()}, scopes: 2},
			"fail-closed":   {opts: []hooks.Option{hooks.WithFailClosed()}},
			"by role":       {opts: []hooks.Option{hooks.WithAgents("Reader", "Writer")}},
			"by tool":       {opts: []hooks.Option{hooks.WithTools("Read File")}},
			"by pattern":    {opts: []hooks.Option{hooks.WithTools("read*")}},
		} {
			t.Run(fmt.Sprintf("%d %s", n, name), func(t *testing.T) {
				p := newPoint[job](t)
				ctx := t.Context()
				for range n {
					hooks.On(p, nop, tt.opts...)
				}
				for range tt.scopes {
					r := hooks.NewRegistry()
					ctx = hooks.WithScope(ctx, r)
					for range n {
						hooks.On(p, nop, append(tt.opts, hooks.In(r))...)
					}
				}
				c := &job{Tool: "read_file", Caller: hooks.Caller{AgentRole: "Writer"}}
				dispatch := dispatches(t, ctx, p, c)
				runs = 0
				dispatch()
				assert.Equal(t, n*(1+tt.scopes), runs)
				wantAllocs(t, 0, dispatch)
			})
		}
	}
}

// Names that are known cost nothing. Others are normalised once.
func TestAllocs_ofToolFilters(t *testing.T) {
	const n = 10_000
	runs := 0
	nop := func(context.Context, *job) error { runs++; return nil }
	each, same, patterns := newPoint[job](t), newPoint[job](t), newPoint[job](t)
	for range 10 {
		hooks.On(patterns, nop, hooks.WithTools("read*"))
	}
	for i := range n {
		hooks.On(each, nop, hooks.WithTools(fmt.Sprintf("Tool %d", i)))
		hooks.On(same, nop, hooks.WithTools("Read File"))
	}
	for name, tt := range map[string]struct {
		p    hooks.Point[job]
		tool string
		want int // allocations
		runs int // hooks that match
	}{
		"one, raw name":             {each, "Tool 5000", 0, 1},
		"one, normalised name":      {each, "tool_5000", 0, 1},
		"all, raw name":             {same, "Read File", 0, n},
		"all, normalised name":      {same, "read_file", 0, n},
		"none, normalised name":     {each, "no_such_tool", 0, 0},
		"none, a name to normalise": {each, "No Such Tool", 1, 0},
		"one, another spelling":     {each, "tool-5000", 1, 1},
		"patterns, normalised name": {patterns, "read_file", 0, 10},
		"patterns, another name":    {patterns, "No Such Tool", 1, 0}, // once for all of them
	} {
		t.Run(name, func(t *testing.T) {
			dispatch := dispatches(t, t.Context(), tt.p, &job{Tool: tt.tool})
			runs = 0
			dispatch()
			assert.Equal(t, tt.runs, runs)
			wantAllocs(t, tt.want, dispatch)
		})
	}
}

func TestAllocs_ofSeamsWithoutHooks(t *testing.T) {
	ctx, _ := newRun(t)
	carried := hooks.WithCaller(ctx, hooks.Caller{RunID: "1", AgentRole: "Writer"})
	pre, post := newPoint[job](t), newPoint[job](t)
	x, s, m, c, j := &hooks.Execution{}, &hooks.Step{}, &hooks.ModelCall{}, &hooks.ToolCall{}, &job{}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	// The run's record, its Caller and, unless a Caller in ctx has one, its ID.
	made := map[string][2]int{"RunExecution": {3, 2}}
	for name, run := range map[string]func(context.Context) error{
		"RunExecution": func(ctx context.Context) error { return hooks.RunExecution(ctx, x, fails[hooks.Execution](nil)) },
		"RunStep":      func(ctx context.Context) error { return hooks.RunStep(ctx, s, fails[hooks.Step](nil)) },
		"RunModel":     func(ctx context.Context) error { return hooks.RunModel(ctx, m, fails[hooks.ModelCall](nil)) },
		"RunTool":      func(ctx context.Context) error { return hooks.RunTool(ctx, c, fails[hooks.ToolCall](nil)) },
		"Run":          func(ctx context.Context) error { return hooks.Run(ctx, pre, post, j, fails[job](nil)) },
	} {
		t.Run(name, func(t *testing.T) { wantAllocs(t, made[name][0], func() { check(run(ctx)) }) })
		t.Run(name+" for a caller", func(t *testing.T) { wantAllocs(t, made[name][1], func() { check(run(carried)) }) })
	}
}

func TestAllocs_ofOutcomes(t *testing.T) {
	abort := hooks.Abort("no")
	for name, tt := range map[string]struct {
		hook hooks.Func[job]
		opts []hooks.Option
		want int
	}{
		"an abort":             {fails[job](abort), nil, 1},                                                      // the copy that is returned
		"a failure":            {fails[job](errBroken), nil, 0},                                                  // with nobody to tell
		"a failure of a guard": {fails[job](errBroken), []hooks.Option{hooks.AsGuard(), hooks.WithName("n")}, 2}, // the abort and its reason
		"a timeout":            {fails[job](nil), []hooks.Option{hooks.WithTimeout(time.Hour)}, 5},               // ctx and timer
	} {
		t.Run(name, func(t *testing.T) {
			p := newPoint[job](t)
			runs := 0
			hooks.On(p, func(ctx context.Context, j *job) error {
				runs++
				return tt.hook(ctx, j)
			}, tt.opts...)
			c := &job{}
			wantAllocs(t, tt.want, func() { _ = hooks.Dispatch(t.Context(), p, c) })
			assert.Positive(t, runs)
		})
	}
	t.Run("an answer", func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Answer("ready") }), hooks.In(r))
		call := &hooks.ToolCall{Name: "sh"}
		body := fails[hooks.ToolCall](nil)
		wantAllocs(t, 1, func() { // the ctx of the hooks
			if err := hooks.RunTool(ctx, call, body); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// The stack of a panic is as long as it is, so that there is no exact count.
func TestAllocs_ofAPanic(t *testing.T) {
	p := newPoint[job](t)
	runs := 0
	hooks.On(p, func(context.Context, *job) error { runs++; panic("boom") })
	c := &job{}
	dispatch := dispatches(t, t.Context(), p, c)
	dispatch()
	assert.Equal(t, 1, runs)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, dispatch), 20.0)
}

func TestAllocs_ofAnObserver(t *testing.T) {
	for n, want := range map[int]int{1: 1, 4: 1} { // the list of hooks
		t.Run(fmt.Sprintf("%d hooks", n), func(t *testing.T) {
			p := newPoint[job](t)
			ctx, r := newRun(t)
			r.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
			for range n {
				hooks.On(p, fails[job](nil))
			}
			wantAllocs(t, want, dispatches(t, ctx, p, &job{}))
		})
	}
}

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

// requireRuns requires a dispatch of call to run a hook with opts, behind all
// others, and removes that hook again.
func requireRuns(t *testing.T, ctx context.Context, call *hooks.ToolCall, opts ...hooks.Option) {
	t.Helper()
	runs := 0
	last := edit(func(*hooks.ToolCall) { runs++ })
	reg := hooks.On(hooks.PreToolCall, last, append(opts, hooks.WithPriority(-1))...)
	defer reg.Remove()
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
	require.Equal(t, 1, runs)
}

// A hundred hooks cost what the bare calls do.
func TestCost_ofHundredHooks(t *testing.T) {
	t.Cleanup(func() { hooks.ClearAll() })
	fns, call, ctx := noops(100), benchCall(), t.Context()
	for range 100 {
		hooks.On(hooks.PreToolCall, noop)
	}
	requireRuns(t, ctx, call)
	requireRatio(t, 2, func() { _ = plainLoop(ctx, fns, call) }, func() { _ = hooks.Dispatch(ctx, hooks.PreToolCall, call) })
}

// Far below the cost of a hook.
func TestCost_ofNothingRegistered(t *testing.T) {
	ctx, step := t.Context(), &hooks.Step{}
	require.False(t, hooks.Enabled(ctx, hooks.PreStep))
	fns, call := noops(4), benchCall()
	requireRatio(t, 1.5, func() { _ = plainLoop(ctx, fns, call) }, func() { _ = hooks.Dispatch(ctx, hooks.PreStep, step) })
}

// Where one of ten thousand filters matches, it costs what it does alone.
func TestCost_ofTenThousandFilters(t *testing.T) {
	t.Cleanup(func() { hooks.ClearAll() })
	ctx, call := t.Context(), benchCall()
	many, one := hooks.NewRegistry(), hooks.NewRegistry()
	hooks.On(hooks.PreToolCall, noop, hooks.In(one), hooks.WithTools(call.Name))
	for i := range 10_000 {
		hooks.On(hooks.PreToolCall, noop, hooks.In(many), hooks.WithTools(fmt.Sprintf("tool_%d", i)))
	}
	inOne, inMany := hooks.WithScope(ctx, one), hooks.WithScope(ctx, many)
	requireRuns(t, inOne, call, hooks.In(one), hooks.WithTools(call.Name))
	requireRuns(t, inMany, call, hooks.In(many), hooks.WithTools(call.Name))
	requireRatio(t, 3,
		func() { _ = hooks.Dispatch(inOne, hooks.PreToolCall, call) },
		func() { _ = hooks.Dispatch(inMany, hooks.PreToolCall, call) })
}

// Registering ten times the hooks takes ten times as long where it is linear
// and a hundred times where it is quadratic.
func TestCost_ofRegistrationsIsLinear(t *testing.T) {
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

func TestCost_ofAHookInMemory(t *testing.T) {
	const n = 10_000
	r := hooks.NewRegistry()
	before := heap()
	for i := range n {
		hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools(fmt.Sprintf("tool_%d", i)))
	}
	ctx, call := hooks.WithScope(context.Background(), r), benchCall()
	_ = hooks.Dispatch(ctx, hooks.PreToolCall, call) // makes the index
	perHook := float64(heap()-before) / n
	t.Logf("%.0f bytes for each hook with a tool filter, index included", perHook)
	require.Less(t, perHook, 1500.0)
	requireRuns(t, ctx, call, hooks.In(r), hooks.WithTools(call.Name))
	require.Len(t, r.Hooks(hooks.PreToolCall), n)
}

// Ten times the hooks to remove in far less than a hundred times the time.
func TestCost_ofRemovalsIsNotQuadratic(t *testing.T) {
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
