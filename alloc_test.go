package hooks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loophooks/hooks"
)

// The tests of this file count the allocations of the whole process and don't
// run in parallel. The counts are exact: fewer are as worth knowing as more.

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

func TestADispatchWithoutHooksAllocatesNothing(t *testing.T) {
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

func TestHooksThatDoNothingAllocateNothing(t *testing.T) {
	nop := fails[job](nil)
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
				wantAllocs(t, 0, dispatches(t, ctx, p, c))
			})
		}
	}
}

func TestToolFiltersAllocateNothingForNamesThatAreKnown(t *testing.T) {
	const n = 10_000
	nop := fails[job](nil)
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
		want int
	}{
		"one, raw name":             {each, "Tool 5000", 0},
		"one, normalised name":      {each, "tool_5000", 0},
		"all, raw name":             {same, "Read File", 0},
		"all, normalised name":      {same, "read_file", 0},
		"none, normalised name":     {each, "no_such_tool", 0},
		"none, a name to normalise": {each, "No Such Tool", 1},
		"one, another spelling":     {each, "tool-5000", 1},
		"patterns, normalised name": {patterns, "read_file", 0},
		"patterns, another name":    {patterns, "No Such Tool", 1}, // once for all of them
	} {
		t.Run(name, func(t *testing.T) {
			wantAllocs(t, tt.want, dispatches(t, t.Context(), tt.p, &job{Tool: tt.tool}))
		})
	}
}

func TestSeamsWithoutHooksAllocateNothing(t *testing.T) {
	ctx, _ := newRun(t)
	carried := hooks.WithCaller(ctx, hooks.Caller{RunID: "1", AgentRole: "Writer"})
	pre, post := newPoint[job](t), newPoint[job](t)
	x, s, m, c, j := &hooks.Execution{}, &hooks.Step{}, &hooks.ModelCall{}, &hooks.ToolCall{}, &job{}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, run := range map[string]func(context.Context) error{
		"RunExecution": func(ctx context.Context) error { return hooks.RunExecution(ctx, x, fails[hooks.Execution](nil)) },
		"RunStep":      func(ctx context.Context) error { return hooks.RunStep(ctx, s, fails[hooks.Step](nil)) },
		"RunModel":     func(ctx context.Context) error { return hooks.RunModel(ctx, m, fails[hooks.ModelCall](nil)) },
		"RunTool":      func(ctx context.Context) error { return hooks.RunTool(ctx, c, fails[hooks.ToolCall](nil)) },
		"Run":          func(ctx context.Context) error { return hooks.Run(ctx, pre, post, j, fails[job](nil)) },
	} {
		t.Run(name, func(t *testing.T) { wantAllocs(t, 0, func() { check(run(ctx)) }) })
		t.Run(name+" for a caller", func(t *testing.T) { wantAllocs(t, 0, func() { check(run(carried)) }) })
	}
}

func TestWhatAHookDoesCostsThisMuch(t *testing.T) {
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
			hooks.On(p, tt.hook, tt.opts...)
			c := &job{}
			wantAllocs(t, tt.want, func() { _ = hooks.Dispatch(t.Context(), p, c) })
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
func TestAPanicCostsItsStack(t *testing.T) {
	p := newPoint[job](t)
	hooks.On(p, panics[job]("boom"))
	c := &job{}
	dispatch := dispatches(t, t.Context(), p, c)
	dispatch()
	assert.LessOrEqual(t, testing.AllocsPerRun(100, dispatch), 20.0)
}

func TestAnObserverThatDoesNothingCostsThisMuch(t *testing.T) {
	for n, want := range map[int]int{1: 4, 4: 4} { // the event, however many hooks it tells of
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
