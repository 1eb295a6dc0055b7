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
	"math"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/internal/race"
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

// A tool call inside of around hooks, beside BenchmarkRunTool for one without.
func BenchmarkRunTool(b *testing.B) {
	for _, guarded := range []bool{false, true} {
		b.Run(fmt.Sprintf("guarded=%v", guarded), func(b *testing.B) { benchAround(b, 0, guarded) })
	}
}

func BenchmarkAround(b *testing.B) {
	for _, n := range []int{1, 10} {
		for _, guarded := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/guarded=%v", n, guarded), func(b *testing.B) { benchAround(b, n, guarded) })
		}
	}
}

func benchAround(b *testing.B, n int, guarded bool) {
	r := hooks.NewRegistry()
	if guarded {
		hooks.Guard(hooks.PreToolCall, noop, hooks.In(r))
	}
	for range n {
		hooks.Around(hooks.ToolBody, passOn, hooks.In(r))
	}
	ctx, call := hooks.WithScope(context.Background(), r), benchCall()
	call.Input = map[string]any{"query": "weather", "limit": 10.0}
	b.ReportAllocs()
	for b.Loop() {
		if err := hooks.RunTool(ctx, call, noop); err != nil {
			b.Fatal(err)
		}
	}
}

// passOn is an around hook that changes nothing.
func passOn(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
	return next(ctx)
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

// BenchmarkClock compares the two ways to read a clock: a recorder reads one for
// each hook.
func BenchmarkClock(b *testing.B) {
	epoch := time.Now()
	b.Run("now", func(b *testing.B) {
		for b.Loop() {
			_ = time.Now()
		}
	})
	b.Run("since", func(b *testing.B) {
		for b.Loop() {
			_ = time.Since(epoch)
		}
	})
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
	if !race.Enabled {
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
	for range 200 { // small numbers are texts that strconv has at hand
		check(hooks.RunExecution(ctx, x, succeeds[hooks.Execution]))
	}
	// The run's record, its Caller and, unless a Caller in ctx has one, its ID.
	made := map[string][2]int{"RunExecution": {3, 2}}
	for name, run := range map[string]func(context.Context) error{
		"RunExecution": func(ctx context.Context) error { return hooks.RunExecution(ctx, x, succeeds[hooks.Execution]) },
		"RunStep":      func(ctx context.Context) error { return hooks.RunStep(ctx, s, succeeds[hooks.Step]) },
		"RunModel":     func(ctx context.Context) error { return hooks.RunModel(ctx, m, succeeds[hooks.ModelCall]) },
		"RunTool":      func(ctx context.Context) error { return hooks.RunTool(ctx, c, succeeds[hooks.ToolCall]) },
		"Run":          func(ctx context.Context) error { return hooks.Run(ctx, pre, post, j, succeeds[job]) },
	} {
		t.Run(name, func(t *testing.T) { wantAllocs(t, made[name][0], func() { check(run(ctx)) }) })
		t.Run(name+" for a caller", func(t *testing.T) { wantAllocs(t, made[name][1], func() { check(run(carried)) }) })
		if name == "RunExecution" {
			continue // a run of its own, inside another one too
		}
		t.Run(name+" in an execution", func(t *testing.T) {
			bodies := 0
			check(hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
				bodies++
				wantAllocs(t, 0, func() { check(run(ctx)) })
				return nil
			}))
			assert.Equal(t, 1, bodies)
		})
	}
}

// A body that captures variables costs its closure, since around hooks may run it
// again.
func TestAllocs_ofCapturingBody(t *testing.T) {
	ctx, _ := newRun(t)
	c, ran := &hooks.ToolCall{}, 0
	wantAllocs(t, 1, func() {
		_ = hooks.RunTool(ctx, c, func(context.Context, *hooks.ToolCall) error { ran++; return nil })
	})
	assert.NotZero(t, ran)
}

// An around hook costs its level, with the ctx that it gets and that of the body, and
// its next; another costs its next, and all others together their levels.
func TestAllocs_ofAroundHooks(t *testing.T) {
	for hookCount, want := range map[int]int{1: 2, 2: 4, 10: 12} {
		ctx, r := newRun(t)
		for range hookCount {
			hooks.Around(hooks.ToolBody, passOn, hooks.In(r))
		}
		c := benchCall()
		wantAllocs(t, want, func() {
			if err := hooks.RunTool(ctx, c, noop); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Around hooks that a call doesn't have cost it nothing.
func TestAllocs_ofAroundHooksElsewhere(t *testing.T) {
	ctx, r := newRun(t)
	elsewhere := hooks.NewRegistry()
	hooks.Around(hooks.ToolBody, passOn, hooks.In(elsewhere))
	gone := hooks.Around(hooks.ToolBody, passOn, hooks.In(r))
	c := benchCall()
	run := func() {
		if err := hooks.RunTool(ctx, c, noop); err != nil {
			t.Fatal(err)
		}
	}
	run()
	require.True(t, gone.Remove())
	wantAllocs(t, 0, run)
	runtime.KeepAlive(elsewhere)
}

// Asking for what a ctx carries.
func TestAllocs_ofAsking(t *testing.T) {
	ctx, r := newRun(t)
	runs := hooks.NewRunVar[int](nil)
	p := newPoint[job](t)
	asked := 0
	ask := func(ctx context.Context, inside bool) {
		_, own := runs.Of(ctx)
		_, outermost := runs.Root(ctx)
		if own != inside || outermost != inside {
			t.Error("a variable of the run, inside an execution:", inside)
		}
		_, _, _ = hooks.CallerFrom(ctx), hooks.Nested(ctx), hooks.Enabled(ctx, p)
		asked++
	}
	inside := func(ctx context.Context, _ *hooks.Execution) error {
		wantAllocs(t, 0, func() { ask(ctx, true) })
		return nil
	}
	wantAllocs(t, 0, func() { ask(ctx, false) })
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, inside))
	hooks.On(p, fails[job](nil), hooks.In(r))
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, inside))
	assert.GreaterOrEqual(t, asked, 3)
}

func TestAllocs_ofArguments(t *testing.T) {
	call := &hooks.ToolCall{Input: map[string]any{"path": "go.mod", "lines": 3.0, "all": true}}
	path := ""
	wantAllocs(t, 0, func() {
		p, err := call.StringArg("path")
		_, errNumber := call.NumberArg("lines")
		_, errBool := call.BoolArg("all")
		if path = p; err != nil || errNumber != nil || errBool != nil {
			t.Error(err, errNumber, errBool)
		}
	})
	assert.Equal(t, "go.mod", path)
}

// What is gone leaves nothing behind.
func TestAllocs_afterRemoval(t *testing.T) {
	runs := 0
	nop := func(context.Context, *job) error { runs++; return nil }
	for name, use := range map[string]func(r *hooks.Registry, p hooks.Point[job]) (remove func() bool){
		"of an observer": func(r *hooks.Registry, _ hooks.Point[job]) func() bool {
			return r.Observe(func(context.Context, hooks.HookDispatchedEvent) {}).Remove
		},
		"of a watch": func(r *hooks.Registry, p hooks.Point[job]) func() bool {
			return hooks.Watch(p, func(context.Context, *job, error) {}, hooks.In(r)).Remove
		},
		"of a scope's hook": func(r *hooks.Registry, p hooks.Point[job]) func() bool {
			return hooks.On(p, nop, hooks.In(r)).Remove
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			p := newPoint[job](t)
			hooks.On(p, nop)
			remove := use(r, p)
			dispatch := dispatches(t, ctx, p, &job{})
			dispatch()
			require.True(t, remove())
			runs = 0
			dispatch()
			assert.Equal(t, 1, runs)
			wantAllocs(t, 0, dispatch)
		})
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

// operation is one side of a comparison.
type operation struct {
	calls int // how often one operation calls the hook, as a body too
	// enter sets up what the operation needs, and returns what runs it n times and
	// what takes away again what was set up.
	enter func(hook hooks.Func[hooks.ToolCall]) (run func(n int), leave func())
}

// requireCalls holds op to the number of its calls.
func (op operation) requireCalls(t *testing.T) {
	t.Helper()
	calls := 0
	run, leave := op.enter(func(context.Context, *hooks.ToolCall) error { calls++; return nil })
	defer leave()
	calls = 0 // setting up may have dispatched
	run(3)
	require.Equal(t, 3*op.calls, calls)
}

// time returns what one of n operations takes.
func (op operation) time(n int) float64 {
	run, leave := op.enter(noop)
	defer leave()
	run(1) // may build an index
	start := time.Now()
	run(n)
	return float64(time.Since(start)) / float64(n)
}

// slack is how many times its limit a ratio may be here. The limits themselves
// are in bench/README.md, for a quiet machine; what is caught here is a lock, a
// lost fast path or another order of growth.
const slack = 2.5

// requireRatio fails if own takes more than limit times as long as reference, by
// more than the slack. Both are measured in turn, in a process in which nothing
// else is or was registered, and again before the test may fail. What counts is
// the shortest time of each, so that the reference is as it was before anything
// was used, if that was faster.
func requireRatio(t *testing.T, limit float64, own, reference operation) {
	t.Helper()
	own.requireCalls(t)
	reference.requireCalls(t)
	if race.Enabled {
		t.Log("not measured: the race detector changes the ratio")
		return
	}
	if !inChild() {
		rerun(t)
		return
	}
	least, base := math.Inf(1), math.Inf(1)
	for range 40 {
		for range 30 {
			base = min(base, reference.time(2000))
			least = min(least, own.time(2000))
		}
		if least <= base*limit*slack {
			t.Logf("%.2f times as long as the reference; the limit is %v", least/base, limit)
			return
		}
	}
	require.LessOrEqual(t, least/base, limit*slack, "times as long as the reference")
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

// costErr keeps what operations return.
var costErr error

// bareCall calls a function in a variable.
func bareCall() operation {
	return operation{1, func(hook hooks.Func[hooks.ToolCall]) (func(int), func()) {
		ctx, call := context.Background(), benchCall()
		return func(n int) {
			for range n {
				costErr = hook(ctx, call)
			}
		}, func() {}
	}}
}

// looping calls the functions in a slice.
func looping(length int) operation {
	return operation{length, func(hook hooks.Func[hooks.ToolCall]) (func(int), func()) {
		ctx, call, fns := context.Background(), benchCall(), slices.Repeat([]hooks.Func[hooks.ToolCall]{hook}, length)
		return func(n int) {
			for range n {
				costErr = plainLoop(ctx, fns, call)
			}
		}, func() {}
	}}
}

// dispatchesOf returns a function that dispatches call under ctx.
func dispatchesOf(ctx context.Context, call *hooks.ToolCall) func(n int) {
	return func(n int) {
		for range n {
			costErr = hooks.Dispatch(ctx, hooks.PreToolCall, call)
		}
	}
}

func dispatching(registered int, opts ...hooks.Option) operation {
	return operation{registered, func(hook hooks.Func[hooks.ToolCall]) (func(int), func()) {
		for range registered {
			hooks.On(hooks.PreToolCall, hook, opts...)
		}
		return dispatchesOf(context.Background(), benchCall()), func() { hooks.ClearAll() }
	}}
}

// observing dispatches to a hook while somebody observes, or no longer does.
func observing(removed bool) operation {
	return operation{1, func(hook hooks.Func[hooks.ToolCall]) (func(int), func()) {
		reg := hooks.On(hooks.PreToolCall, hook)
		o := hooks.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
		run := dispatchesOf(context.Background(), benchCall())
		run(1)
		if removed {
			o.Remove()
		}
		return run, func() { hooks.Join(reg, o).Remove() }
	}}
}

// afterScope dispatches to a hook after another one was removed from a scope.
func afterScope() operation {
	return operation{1, func(hook hooks.Func[hooks.ToolCall]) (func(int), func()) {
		r := hooks.NewRegistry()
		scoped := hooks.On(hooks.PreToolCall, hook, hooks.In(r))
		dispatchesOf(hooks.WithScope(context.Background(), r), benchCall())(1)
		scoped.Remove()
		reg := hooks.On(hooks.PreToolCall, hook)
		return dispatchesOf(context.Background(), benchCall()), func() { reg.Remove() }
	}}
}

// runningTools runs a tool call with hooks in front of it.
func runningTools(registered int) operation {
	return operation{registered + 1, func(hook hooks.Func[hooks.ToolCall]) (func(int), func()) {
		for range registered {
			hooks.On(hooks.PreToolCall, hook)
		}
		ctx, call := context.Background(), benchCall()
		return func(n int) {
			for range n {
				costErr = hooks.RunTool(ctx, call, hook)
			}
		}, func() { hooks.ClearAll() }
	}}
}

// wrappingTool runs a tool inside of an around hook.
func wrappingTool() operation {
	return operation{1, func(body hooks.Func[hooks.ToolCall]) (func(int), func()) {
		reg := hooks.Around(hooks.ToolBody, passOn)
		ctx, call := context.Background(), benchCall()
		return func(n int) {
			for range n {
				costErr = hooks.RunTool(ctx, call, body)
			}
		}, func() { reg.Remove() }
	}}
}

func TestCost_ofNothingRegistered(t *testing.T) {
	requireRatio(t, 2.5, dispatching(0), bareCall())
}

func TestCost_ofOneHook(t *testing.T) {
	requireRatio(t, 3.5, dispatching(1), bareCall())
}

func TestCost_ofTenHooks(t *testing.T) {
	requireRatio(t, 1.6, dispatching(10), looping(10))
}

func TestCost_ofHundredHooks(t *testing.T) {
	requireRatio(t, 1.2, dispatching(100), looping(100))
}

func TestCost_ofGuards(t *testing.T) {
	requireRatio(t, 1.8, dispatching(1, hooks.AsGuard()), dispatching(1))
}

func TestCost_ofRunTool(t *testing.T) {
	// The bench module promises 15, and tells why that is missed: this is twice the
	// least that was seen, so that a busy machine doesn't fail it.
	requireRatio(t, 25, runningTools(0), bareCall())
}

func TestCost_ofRunToolWithAHook(t *testing.T) {
	requireRatio(t, 2, runningTools(1), runningTools(0))
}

// An around hook costs at most 130 calls above the seam.
func TestCost_ofAnAroundHook(t *testing.T) {
	requireRatio(t, 145, wrappingTool(), bareCall())
}

func TestCost_ofAnObserver(t *testing.T) {
	requireRatio(t, 15, observing(false), dispatching(1))
}

// What is gone costs nothing.
func TestCost_afterTheLastObserver(t *testing.T) {
	requireRatio(t, 1.3, observing(true), dispatching(1))
}

func TestCost_afterTheLastScope(t *testing.T) {
	requireRatio(t, 1.3, afterScope(), dispatching(1))
}

// Where one of ten thousand filters matches, it costs what it does alone.
func TestCost_ofTenThousandFilters(t *testing.T) {
	perTool := func(names int) operation {
		r, call := hooks.NewRegistry(), benchCall()
		var hook hooks.Func[hooks.ToolCall]
		for i := range names {
			hooks.On(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error { return hook(ctx, c) },
				hooks.In(r), hooks.WithTools(fmt.Sprintf("tool_%d", 7+i)))
		}
		run := dispatchesOf(hooks.WithScope(context.Background(), r), call)
		return operation{1, func(measured hooks.Func[hooks.ToolCall]) (func(int), func()) {
			hook = measured
			return run, func() {}
		}}
	}
	requireRatio(t, 3, perTool(10_000), perTool(1))
}

// Registering ten times the hooks takes ten times as long where it is linear
// and a hundred times where it is quadratic.
func TestCost_ofRegistrationsIsLinear(t *testing.T) {
	if race.Enabled {
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
	if race.Enabled {
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
