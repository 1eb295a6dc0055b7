package hooks_test

// Runs: where an execution gets its IDs, what runs inside of it takes from it,
// and the variables that live as long as one.

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/internal/race"
)

// place is where in a tree of agents something runs.
type place struct{ run, parent, root string }

func placeOf(c hooks.Caller) place { return place{c.RunID, c.ParentRunID, c.RootRunID} }

func (p place) caller() hooks.Caller {
	return hooks.Caller{RunID: p.run, ParentRunID: p.parent, RootRunID: p.root}
}

// inRun runs body in an execution with the RunID given.
func inRun(t *testing.T, ctx context.Context, id string, body func(ctx context.Context)) {
	t.Helper()
	runs := 0
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: id}}, func(ctx context.Context, _ *hooks.Execution) error {
		runs++
		body(ctx)
		return nil
	}))
	require.Equal(t, 1, runs)
}

func TestRunID_ownOrOfTheCallerOrMade(t *testing.T) {
	t.Parallel()
	const made = `^run-[0-9a-f]{12}-[0-9]+$`
	for name, tc := range map[string]struct {
		around string // the execution around, "" for none
		caller *hooks.Caller
		own    string
		want   string // a pattern
	}{
		"its own":                             {own: "own", want: "^own$"},
		"of the Caller":                       {caller: &hooks.Caller{RunID: "c"}, want: "^c$"},
		"its own before that of the Caller":   {caller: &hooks.Caller{RunID: "c"}, own: "own", want: "^own$"},
		"none":                                {want: made},
		"a Caller without one":                {caller: &hooks.Caller{AgentRole: "Writer"}, want: made},
		"nested, its own":                     {around: "outer", own: "own", want: "^own$"},
		"nested, its own is that around":      {around: "outer", own: "outer", want: "^outer$"},
		"nested":                              {around: "outer", want: made},
		"nested, of a Caller":                 {around: "outer", caller: &hooks.Caller{RunID: "c"}, want: "^c$"},
		"nested, the Caller is the one round": {around: "outer", caller: &hooks.Caller{RunID: "outer"}, want: made},
		"nested, a Caller without one":        {around: "outer", caller: &hooks.Caller{AgentRole: "Writer"}, want: made},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, begin := range []bool{false, true} {
				x := &hooks.Execution{Caller: hooks.Caller{RunID: tc.own}}
				run := func(ctx context.Context) {
					if tc.caller != nil {
						ctx = hooks.WithCaller(ctx, *tc.caller)
					}
					seen := 0
					body := func(ctx context.Context, x *hooks.Execution) error {
						seen++
						assert.Regexp(t, tc.want, x.RunID)
						assert.Equal(t, x.Caller, hooks.CallerFrom(ctx))
						return nil
					}
					if begin {
						inner, end, err := hooks.BeginExecution(ctx, x)
						require.NoError(t, err)
						require.NoError(t, end(body(inner, x)))
					} else {
						require.NoError(t, hooks.RunExecution(ctx, x, body))
					}
					assert.Equal(t, 1, seen)
				}
				if tc.around == "" {
					run(t.Context())
				} else {
					inRun(t, t.Context(), tc.around, run)
				}
				assert.Regexp(t, tc.want, x.RunID, "afterwards too")
			}
		})
	}
}

// A step may act for another run; an execution in its body is that run.
func TestRunID_ofTheStepAround(t *testing.T) {
	t.Parallel()
	x := &hooks.Execution{}
	inRun(t, t.Context(), "outer", func(ctx context.Context) {
		s := &hooks.Step{Caller: hooks.Caller{RunID: "step"}}
		assert.NoError(t, hooks.RunStep(ctx, s, func(ctx context.Context, _ *hooks.Step) error {
			return hooks.RunExecution(ctx, x, func(context.Context, *hooks.Execution) error { return nil })
		}))
		assert.Equal(t, place{"step", "", "outer"}, placeOf(s.Caller))
	})
	assert.Equal(t, place{"step", "outer", "outer"}, placeOf(x.Caller))
}

func TestRunID_madeOnesDifferConcurrentSafe(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				inRun(t, t.Context(), "", func(ctx context.Context) {
					_, twice := seen.LoadOrStore(hooks.CallerFrom(ctx).RunID, true)
					assert.False(t, twice)
				})
			}
		})
	}
	wg.Wait()
}

func TestRunID_isTakenBackOnReuse(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func(context.Context, *hooks.Execution) error { return nil }
	for name, first := range map[string]func(ctx context.Context, x *hooks.Execution) error{
		"success": func(ctx context.Context, x *hooks.Execution) error { return hooks.RunExecution(ctx, x, nothing) },
		"failure": func(ctx context.Context, x *hooks.Execution) error {
			return hooks.RunExecution(ctx, x, fails[hooks.Execution](errBroken))
		},
		"cancelled": func(_ context.Context, x *hooks.Execution) error { return hooks.RunExecution(cancelled, x, nothing) },
		"aborted": func(ctx context.Context, x *hooks.Execution) error {
			r := hooks.NewRegistry()
			hooks.On(hooks.ExecutionStart, fails[hooks.Execution](hooks.Abort("no")), hooks.In(r))
			return hooks.RunExecution(hooks.WithScope(ctx, r), x, nothing)
		},
		"under a Caller": func(ctx context.Context, x *hooks.Execution) error {
			return hooks.RunExecution(hooks.WithCaller(ctx, place{"c", "p", "r"}.caller()), x, nothing)
		},
		"nested": func(ctx context.Context, x *hooks.Execution) (err error) {
			inRun(t, ctx, "outer", func(ctx context.Context) { err = hooks.RunExecution(ctx, x, nothing) })
			return err
		},
	} {
		for given, want := range map[place]place{
			{}:              {}, // of which RunID and RootRunID are made
			{"a", "", ""}:   {"a", "", "a"},
			{"a", "b", "c"}: {"a", "b", "c"},
		} {
			t.Run(fmt.Sprint(name, given), func(t *testing.T) {
				t.Parallel()
				x := &hooks.Execution{Caller: given.caller()}
				_ = first(t.Context(), x)
				earlier := x.Caller
				require.NoError(t, hooks.RunExecution(t.Context(), x, nothing))
				if want.run == "" {
					assert.NotEmpty(t, x.RunID)
					assert.NotEqual(t, earlier.RunID, x.RunID)
					want.run, want.root = x.RunID, x.RunID
				}
				assert.Equal(t, want, placeOf(x.Caller))
			})
		}
	}
}

func TestRunID_setBetweenTwoUsesStays(t *testing.T) {
	t.Parallel()
	x := &hooks.Execution{}
	nothing := func(context.Context, *hooks.Execution) error { return nil }
	require.NoError(t, hooks.RunExecution(t.Context(), x, nothing))
	x.RunID = "mine"
	require.NoError(t, hooks.RunExecution(t.Context(), x, nothing))
	assert.Equal(t, place{"mine", "", "mine"}, placeOf(x.Caller))
}

// everySeam opens each kind of seam with the Caller given, and returns what it
// has become, by the name of the seam.
func everySeam(t *testing.T, ctx context.Context, own hooks.Caller) map[string]hooks.Caller {
	t.Helper()
	all := make(map[string]hooks.Caller)
	for _, d := range seamDrivers() {
		c := d.fresh()
		*c.who() = own
		runs := 0
		assert.NoError(t, d.run(ctx, c, func(context.Context, seamContext) error { runs++; return nil }))
		assert.Equal(t, 1, runs)
		all[d.name] = *c.who()
	}
	return all
}

// Whatever Callers say, what runs in an execution belongs to it.
func TestRunTree_holdsWhateverACallerSays(t *testing.T) {
	t.Parallel()
	other := place{"c", "other parent", "other root"}
	for name, tc := range map[string]struct {
		ctx, own hooks.Caller
		run      string
	}{
		"nothing said":        {run: "run"},
		"a Caller in ctx":     {ctx: other.caller(), run: "c"},
		"one without a RunID": {ctx: hooks.Caller{ParentRunID: "other", RootRunID: "other"}, run: "run"},
		"a Caller of its own": {own: other.caller(), run: "c"},
		"its parent alone":    {own: hooks.Caller{ParentRunID: "other"}, run: "run"},
		"its root alone":      {own: hooks.Caller{RootRunID: "other"}, run: "run"},
		"both":                {ctx: hooks.Caller{RunID: "x", ParentRunID: "y", RootRunID: "z"}, own: other.caller(), run: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := hooks.WithCaller(t.Context(), place{"", "parent", "root"}.caller())
			inRun(t, remote, "run", func(ctx context.Context) {
				if !reflect.ValueOf(tc.ctx).IsZero() {
					ctx = hooks.WithCaller(ctx, tc.ctx)
					want := place{"run", "parent", "root"}
					if tc.ctx.RunID != "" {
						want.run = tc.ctx.RunID
					}
					assert.Equal(t, want, placeOf(hooks.CallerFrom(ctx)))
				}
				for seam, got := range everySeam(t, ctx, tc.own) {
					want := place{tc.run, "parent", "root"}
					if seam == "RunExecution" || seam == "BeginExecution" {
						want.parent = "run"
						if tc.run == "run" { // a nested one has an ID of its own
							want.run = got.RunID
							assert.NotEqual(t, "run", got.RunID)
						}
					}
					assert.Equal(t, want, placeOf(got), seam)
				}
			})
		})
	}
}

// An outermost run has no parent, and nobody inside can give it one.
func TestRunTree_ofAnOutermostRun(t *testing.T) {
	t.Parallel()
	inRun(t, t.Context(), "run", func(ctx context.Context) {
		call := &hooks.ToolCall{Name: "ls", Caller: hooks.Caller{ParentRunID: "other", RootRunID: "other"}}
		assert.NoError(t, hooks.RunTool(hooks.WithCaller(ctx, hooks.Caller{ParentRunID: "more"}), call, seamReturns("a")))
		assert.Equal(t, place{"run", "", "run"}, placeOf(call.Caller))
	})
}

// The parts of a tree may run on several machines.
func TestRunTree_ofARemoteWorker(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ ctx, own, want place }{
		"of the Caller in ctx": {ctx: place{"run", "parent", "root"}, want: place{"run", "parent", "root"}},
		"its own":              {own: place{"run", "parent", "root"}, want: place{"run", "parent", "root"}},
		"its own come first":   {ctx: place{"x", "y", "z"}, own: place{"run", "parent", "root"}, want: place{"run", "parent", "root"}},
		"of both":              {ctx: place{"x", "parent", "root"}, own: place{"run", "", ""}, want: place{"run", "parent", "root"}},
		"of a parent alone":    {ctx: place{"run", "parent", ""}, want: place{"run", "parent", "run"}},
		"of a root alone":      {ctx: place{"run", "", "root"}, want: place{"run", "", "root"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := hooks.WithCaller(t.Context(), tc.ctx.caller())
			x := &hooks.Execution{Caller: tc.own.caller()}
			inner := &hooks.Execution{}
			require.NoError(t, hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
				return hooks.RunExecution(ctx, inner, func(context.Context, *hooks.Execution) error { return nil })
			}))
			assert.Equal(t, tc.want, placeOf(x.Caller))
			assert.Equal(t, place{inner.RunID, tc.want.run, tc.want.root}, placeOf(inner.Caller))
		})
	}
}

func TestRunTree_ofThreeLevels(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var starts, ends []place
	hooks.On(hooks.ExecutionStart, edit(func(x *hooks.Execution) { starts = append(starts, placeOf(x.Caller)) }), hooks.In(r))
	hooks.On(hooks.ExecutionEnd, edit(func(x *hooks.Execution) { ends = append(ends, placeOf(x.Caller)) }), hooks.In(r))
	inRun(t, ctx, "a", func(ctx context.Context) {
		inRun(t, ctx, "b", func(ctx context.Context) {
			inRun(t, ctx, "c", func(ctx context.Context) {
				assert.Equal(t, place{"c", "b", "a"}, placeOf(hooks.CallerFrom(ctx)))
			})
			assert.Equal(t, place{"b", "a", "a"}, placeOf(hooks.CallerFrom(ctx)), "the inner one has ended")
		})
		inRun(t, ctx, "d", func(context.Context) {})
	})
	assert.Equal(t, []place{{"a", "", "a"}, {"b", "a", "a"}, {"c", "b", "a"}, {"d", "a", "a"}}, starts)
	assert.Equal(t, []place{{"c", "b", "a"}, {"b", "a", "a"}, {"d", "a", "a"}, {"a", "", "a"}}, ends)
}

// Two layers of a framework may both run the execution that they are given.
func TestRunTree_ofOneContextInItsOwnBody(t *testing.T) {
	t.Parallel()
	forms := map[string]func(context.Context, *hooks.Execution, func(context.Context, *hooks.Execution) error) error{
		"Run": hooks.RunExecution,
		"Begin": func(ctx context.Context, x *hooks.Execution, body func(context.Context, *hooks.Execution) error) (err error) {
			ctx, end, err := hooks.BeginExecution(ctx, x)
			if err != nil {
				return err
			}
			defer hooks.End(end, &err)
			return body(ctx, x)
		},
	}
	type setup struct {
		outer, inner   string // forms
		given, renamed string // RunIDs, "" for none
		fails          error
	}
	var setups []setup
	for outer := range forms {
		for inner := range forms {
			for _, fails := range []error{nil, errors.New("failed")} {
				setups = append(setups,
					setup{outer: outer, inner: inner, fails: fails},
					setup{outer: outer, inner: inner, fails: fails, given: "mine"},
					setup{outer: outer, inner: inner, fails: fails, renamed: "renamed"},
					setup{outer: outer, inner: inner, fails: fails, given: "mine", renamed: "renamed"})
			}
		}
	}
	for _, tc := range setups {
		name := fmt.Sprintf("%+v", tc)
		ctx, r := newRun(t)
		var starts, ends, calls []place
		hooks.On(hooks.ExecutionStart, edit(func(x *hooks.Execution) {
			if len(starts) == 0 && tc.renamed != "" {
				x.RunID = tc.renamed
			}
		}), hooks.In(r))
		hooks.On(hooks.Input, edit(func(x *hooks.Execution) { starts = append(starts, placeOf(x.Caller)) }), hooks.In(r))
		hooks.On(hooks.ExecutionEnd, edit(func(x *hooks.Execution) { ends = append(ends, placeOf(x.Caller)) }), hooks.In(r))
		hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { calls = append(calls, placeOf(c.Caller)) }), hooks.In(r))
		x := &hooks.Execution{}
		for range 2 { // the context is used again
			starts, ends, calls = nil, nil, nil
			x.RunID = tc.given
			err := forms[tc.outer](ctx, x, func(ctx context.Context, x *hooks.Execution) error {
				err := forms[tc.inner](ctx, x, func(context.Context, *hooks.Execution) error { return tc.fails })
				require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls"}, seamReturns("a")), name)
				return err
			})
			require.ErrorIs(t, err, tc.fails, name)
			require.Len(t, starts, 2, name)
			assert.Equal(t, []place{starts[1], starts[0]}, ends, name)
			assert.Equal(t, starts[:1], calls, name)
			assert.Equal(t, starts[0], placeOf(x.Caller), name)
			assert.Equal(t, starts[0].run, starts[1].parent, name)
		}
	}
}

func TestRunTree_siblingsConcurrentSafe(t *testing.T) {
	t.Parallel()
	inRun(t, t.Context(), "root", func(ctx context.Context) {
		var ids sync.Map
		assert.NoError(t, hooks.RunTools(ctx, seamCalls(20), 0, func(ctx context.Context, call *hooks.ToolCall) error {
			assert.Equal(t, place{"root", "", "root"}, placeOf(call.Caller))
			x := &hooks.Execution{}
			err := hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
				inner := &hooks.ToolCall{Name: "ls"}
				err := hooks.RunTool(ctx, inner, seamReturns("a"))
				assert.Equal(t, place{x.RunID, "root", "root"}, placeOf(inner.Caller))
				return err
			})
			_, twice := ids.LoadOrStore(x.RunID, true)
			assert.False(t, twice)
			return err
		}))
	})
}

// Hooks at the start may say which run it is. What comes behind them goes by
// that.
func TestRunTree_hooksRenameARun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook      func(x *hooks.Execution)
		outermost place
		nested    place // in the run "outer"
	}{
		"RunID":       {func(x *hooks.Execution) { x.RunID = "new" }, place{"new", "", "new"}, place{"new", "outer", "outer"}},
		"no RunID":    {func(x *hooks.Execution) { x.RunID = "" }, place{"old", "", "old"}, place{"old", "outer", "outer"}},
		"RootRunID":   {func(x *hooks.Execution) { x.RootRunID = "root" }, place{"old", "", "root"}, place{"old", "outer", "outer"}},
		"no root":     {func(x *hooks.Execution) { x.RootRunID = "" }, place{"old", "", "old"}, place{"old", "outer", "outer"}},
		"ParentRunID": {func(x *hooks.Execution) { x.ParentRunID = "parent" }, place{"old", "parent", "old"}, place{"old", "outer", "outer"}},
		"all":         {func(x *hooks.Execution) { x.RunID, x.ParentRunID, x.RootRunID = "new", "p", "r" }, place{"new", "p", "r"}, place{"new", "outer", "outer"}},
	} {
		for _, at := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input} {
			for _, nested := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " at ", at.Name(), " ", nested), func(t *testing.T) {
					t.Parallel()
					r := hooks.NewRegistry()
					hooks.On(at, edit(tc.hook), hooks.In(r))
					want := tc.outermost
					if nested {
						want = tc.nested
					}
					inits := 0
					v := hooks.NewRunVar(func(ctx context.Context, _ *int) {
						inits++
						assert.Equal(t, want, placeOf(hooks.CallerFrom(ctx)))
					})
					var seen []place
					look := func(ctx context.Context, x *hooks.Execution) error {
						seen = append(seen, placeOf(x.Caller), placeOf(hooks.CallerFrom(ctx)))
						return nil
					}
					later := []hooks.Point[hooks.Execution]{hooks.Output, hooks.ExecutionEnd}
					if at == hooks.ExecutionStart {
						later = append(later, hooks.Input)
					}
					for _, p := range later {
						hooks.On(p, look, hooks.In(r))
					}
					x := &hooks.Execution{Caller: hooks.Caller{RunID: "old"}}
					run := func(ctx context.Context) {
						assert.NoError(t, hooks.RunExecution(hooks.WithScope(ctx, r), x, func(ctx context.Context, x *hooks.Execution) error {
							_, ok := v.Of(ctx)
							assert.True(t, ok)
							call := &hooks.ToolCall{Name: "ls"}
							assert.NoError(t, hooks.RunTool(ctx, call, seamReturns("a")))
							seen = append(seen, placeOf(call.Caller))
							return look(ctx, x)
						}))
					}
					if nested {
						inRun(t, t.Context(), "outer", run)
					} else {
						run(t.Context())
					}
					assert.Equal(t, 1, inits)
					assert.Len(t, seen, 2*len(later)+3)
					for _, got := range seen {
						assert.Equal(t, want, got)
					}
				})
			}
		}
	}
}

func TestRunTree_renamedRunIsReused(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.ExecutionStart, edit(func(x *hooks.Execution) { x.RunID = "by a hook" }), hooks.In(r), hooks.WithOnce())
	x := &hooks.Execution{}
	nothing := func(context.Context, *hooks.Execution) error { return nil }
	require.NoError(t, hooks.RunExecution(ctx, x, nothing))
	assert.Equal(t, place{"by a hook", "", "by a hook"}, placeOf(x.Caller))
	x.RunID = "by the loop"
	require.NoError(t, hooks.RunExecution(ctx, x, nothing))
	assert.Equal(t, place{"by the loop", "", "by the loop"}, placeOf(x.Caller))
}

func TestRootRunID_outsideOfExecutions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ ctx, own, want place }{
		"nobody says anything":   {},
		"of the RunID of ctx":    {ctx: place{"c", "", ""}, want: place{"c", "", "c"}},
		"of the root of ctx":     {ctx: place{"c", "p", "r"}, want: place{"c", "p", "r"}},
		"of its own RunID":       {own: place{"o", "", ""}, want: place{"o", "", "o"}},
		"its own":                {own: place{"o", "p", "r"}, ctx: place{"x", "y", "z"}, want: place{"o", "p", "r"}},
		"of the root of ctx too": {own: place{"o", "", ""}, ctx: place{"c", "", "r"}, want: place{"o", "", "r"}},
		"its own before that":    {own: place{"o", "", ""}, ctx: place{"c", "", ""}, want: place{"o", "", "o"}},
	} {
		ctx := hooks.WithCaller(t.Context(), tc.ctx.caller())
		for seam, got := range everySeam(t, ctx, tc.own.caller()) {
			if seam != "RunExecution" && seam != "BeginExecution" {
				assert.Equal(t, tc.want, placeOf(got), "%s, %s", name, seam)
			}
		}
	}
}

func TestWithCaller_keepsTenantAndRoot(t *testing.T) {
	t.Parallel()
	outer := hooks.Caller{
		RunID: "a", ParentRunID: "p", RootRunID: "r", Tenant: "acme", AgentRole: "Writer",
		Agent: 1, Task: 2, Crew: 3, Flow: 4,
	}
	ctx := hooks.WithCaller(t.Context(), outer)
	for _, tc := range []struct{ given, want hooks.Caller }{
		{hooks.Caller{}, hooks.Caller{RootRunID: "r", Tenant: "acme"}},
		{hooks.Caller{RunID: "b", AgentRole: "Editor"}, hooks.Caller{RunID: "b", RootRunID: "r", Tenant: "acme", AgentRole: "Editor"}},
		{hooks.Caller{RootRunID: "s", Tenant: "umbrella"}, hooks.Caller{RootRunID: "s", Tenant: "umbrella"}},
		{hooks.Caller{ParentRunID: "q"}, hooks.Caller{ParentRunID: "q", RootRunID: "r", Tenant: "acme"}},
	} {
		inner := hooks.WithCaller(ctx, tc.given)
		assert.Equal(t, tc.want, hooks.CallerFrom(inner))
		assert.Equal(t, tc.want, hooks.CallerFrom(hooks.WithCaller(inner, tc.given)), "twice")
		assert.Equal(t, outer, hooks.CallerFrom(ctx))
	}
}

// Tenants are inherited all the way down.
func TestTenant_reachesWhatRunsInside(t *testing.T) {
	t.Parallel()
	ctx := hooks.WithCaller(t.Context(), hooks.Caller{Tenant: "acme"})
	inRun(t, ctx, "a", func(ctx context.Context) {
		inRun(t, hooks.WithCaller(ctx, hooks.Caller{AgentRole: "Editor"}), "b", func(ctx context.Context) {
			for seam, got := range everySeam(t, ctx, hooks.Caller{}) {
				assert.Equal(t, "acme", got.Tenant, seam)
				assert.Equal(t, "Editor", got.AgentRole, seam)
			}
		})
	})
}

// The record and the Caller are one node of the ctx, which what runs there finds
// at once.
func TestRunExecution_makesNothingInsideCostMore(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, noop, hooks.In(r))
	call, model := &hooks.ToolCall{Name: "ls"}, &hooks.ModelCall{Model: "m"}
	step := &hooks.Step{Name: "plan"}
	v := hooks.NewRunVar[int](nil)
	seams := map[string]func(ctx context.Context) error{
		"RunTool":  func(ctx context.Context) error { return hooks.RunTool(ctx, call, fails[hooks.ToolCall](nil)) },
		"RunModel": func(ctx context.Context) error { return hooks.RunModel(ctx, model, fails[hooks.ModelCall](nil)) },
		"RunStep":  func(ctx context.Context) error { return hooks.RunStep(ctx, step, fails[hooks.Step](nil)) },
		"RunVar": func(ctx context.Context) error {
			_, _ = v.Of(ctx)
			_, _ = v.Root(ctx)
			return nil
		},
	}
	measure := func(ctx context.Context, f func(ctx context.Context) error) float64 {
		return testing.AllocsPerRun(100, func() {
			if err := f(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
	ctx = hooks.WithCaller(ctx, hooks.Caller{RunID: "outside", Tenant: "acme"})
	inRun(t, ctx, "inside", func(inside context.Context) {
		for name, f := range seams {
			assert.Equal(t, measure(ctx, f), measure(inside, f), name)
		}
	})
}

func TestRunVar_eachRunHasItsOwn(t *testing.T) {
	t.Parallel()
	var zero hooks.RunVar[int]
	for name, v := range map[string]*hooks.RunVar[int]{
		"zero":         &zero,
		"new":          new(hooks.RunVar[int]),
		"without init": hooks.NewRunVar[int](nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(ctx context.Context) *int {
				n, ok := v.Of(ctx)
				require.True(t, ok)
				return n
			}
			inRun(t, t.Context(), "same", func(ctx context.Context) {
				outer := of(ctx)
				assert.Zero(t, *outer)
				*outer = 1
				inRun(t, ctx, "same", func(ctx context.Context) {
					assert.Zero(t, *of(ctx), "an ID is no key")
					*of(ctx) = 2
				})
				inRun(t, ctx, "", func(ctx context.Context) { assert.Zero(t, *of(ctx)) })
				assert.Same(t, outer, of(ctx))
				assert.Equal(t, 1, *outer)
			})
			inRun(t, t.Context(), "same", func(ctx context.Context) { assert.Zero(t, *of(ctx), "a later run") })
		})
	}
}

func TestRunVar_reusedExecutionBeginsAnew(t *testing.T) {
	t.Parallel()
	var v hooks.RunVar[int]
	x, runs := &hooks.Execution{Caller: hooks.Caller{RunID: "a"}}, 0
	for range 2 {
		require.NoError(t, hooks.RunExecution(t.Context(), x, func(ctx context.Context, _ *hooks.Execution) error {
			runs++
			n, ok := v.Of(ctx)
			assert.True(t, ok)
			assert.Zero(t, *n)
			*n = 1
			return nil
		}))
	}
	assert.Equal(t, 2, runs)
}

func TestRunVar_isThereInRunsAlone(t *testing.T) {
	t.Parallel()
	v := hooks.NewRunVar(func(context.Context, *int) { t.Error("made outside of a run") })
	check := func(ctx context.Context) {
		for _, get := range []func(context.Context) (*int, bool){v.Of, v.Root} {
			n, ok := get(ctx)
			assert.False(t, ok)
			assert.Nil(t, n)
		}
	}
	var none context.Context
	ctx, r := newRun(t)
	check(none)
	check(ctx)
	check(hooks.WithCaller(ctx, hooks.Caller{RunID: "run", RootRunID: "run"}))
	hooked := 0
	hooks.On(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error { hooked++; check(ctx); return nil }, hooks.In(r))
	require.NoError(t, hooks.RunStep(ctx, &hooks.Step{}, func(ctx context.Context, _ *hooks.Step) error {
		check(ctx)
		return hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls"}, seamReturns("a"))
	}))
	assert.Equal(t, 1, hooked)
	var kept context.Context
	inRun(t, ctx, "a", func(inner context.Context) { kept = inner })
	check(ctx)
	w := hooks.NewRunVar[int](nil)
	first, ok := w.Of(kept)
	assert.True(t, ok, "as long as there is a ctx of it")
	again, _ := w.Of(context.WithoutCancel(kept))
	assert.Same(t, first, again)
}

func TestRunVar_rootIsSharedWithSubAgents(t *testing.T) {
	t.Parallel()
	var made []string
	v := hooks.NewRunVar(func(ctx context.Context, id *string) {
		*id = hooks.CallerFrom(ctx).RunID
		made = append(made, *id)
	})
	root := func(ctx context.Context) *string { s, _ := v.Root(ctx); return s }
	of := func(ctx context.Context) *string { s, _ := v.Of(ctx); return s }
	// Under a remote root the outermost run of the process is meant.
	ctx := hooks.WithCaller(t.Context(), hooks.Caller{ParentRunID: "remote", RootRunID: "remote"})
	inRun(t, ctx, "a", func(a context.Context) {
		inRun(t, a, "b", func(b context.Context) {
			inRun(t, b, "c", func(c context.Context) {
				assert.Equal(t, "a", *root(c), "made from inside, for the outermost")
				assert.Same(t, root(c), root(b))
				assert.Same(t, root(a), root(c))
				assert.Same(t, of(a), root(a))
				assert.Equal(t, "c", *of(c))
				assert.Equal(t, "b", *of(b))
			})
		})
		inRun(t, a, "d", func(d context.Context) { assert.Same(t, root(a), root(d)) })
	})
	inRun(t, ctx, "a", func(a context.Context) { assert.Equal(t, "a", *root(a)) })
	assert.Equal(t, []string{"a", "c", "b", "a"}, made)
}

func TestRunVar_variablesOfOneTypeDiffer(t *testing.T) {
	t.Parallel()
	var a, b hooks.RunVar[struct{}]
	var inits atomic.Int32
	count := func(context.Context, *struct{}) { inits.Add(1) }
	c, d := hooks.NewRunVar(count), hooks.NewRunVar(count)
	var both struct{ x, y hooks.RunVar[int] }
	inRun(t, t.Context(), "", func(ctx context.Context) {
		for _, v := range []*hooks.RunVar[struct{}]{&a, &b, c, d, c} {
			value, ok := v.Of(ctx)
			assert.True(t, ok)
			assert.NotNil(t, value)
		}
		assert.Equal(t, int32(2), inits.Load())
		x, _ := both.x.Of(ctx)
		y, _ := both.y.Of(ctx)
		assert.NotSame(t, x, y)
	})
}

func TestRunVar_initRunsOnceConcurrentSafe(t *testing.T) {
	t.Parallel()
	type key struct{}
	var inits atomic.Int32
	v := hooks.NewRunVar(func(ctx context.Context, n *int) {
		inits.Add(1)
		assert.Equal(t, "run", hooks.CallerFrom(ctx).RunID)
		assert.Equal(t, "value", ctx.Value(key{}))
		assert.Equal(t, 42, 42+*n, "it begins as zero")
		*n = 42
	})
	inRun(t, context.WithValue(t.Context(), key{}, "value"), "run", func(ctx context.Context) {
		first, start := make(chan *int, 32), make(chan struct{})
		var wg sync.WaitGroup
		for i := range 32 {
			get := v.Of
			if i%2 == 0 {
				get = v.Root
			}
			wg.Go(func() {
				<-start
				n, _ := get(hooks.WithCaller(ctx, hooks.Caller{RunID: "another"}))
				assert.Equal(t, 42, *n)
				first <- n
			})
		}
		close(start)
		wg.Wait()
		close(first)
		want, _ := v.Of(ctx)
		for got := range first {
			assert.Same(t, want, got)
		}
	})
	assert.Equal(t, int32(1), inits.Load())
}

func TestRunVar_panicOfInitIsThatOfEachUse(t *testing.T) {
	t.Parallel()
	value, inits := errors.New("no database"), 0
	v := hooks.NewRunVar(func(context.Context, *int) { inits++; panic(value) })
	use := func(ctx context.Context) (got any) {
		defer func() { got = recover() }()
		_, _ = v.Of(ctx)
		return nil
	}
	for range 2 {
		inits = 0
		inRun(t, t.Context(), "", func(ctx context.Context) {
			for range 3 {
				assert.Equal(t, value, use(ctx))
			}
		})
		assert.Equal(t, 1, inits, "anew for each run")
	}
	// In a hook it is contained, as any panic.
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error { _, _ = v.Of(ctx); return nil }, hooks.In(r))
	inRun(t, ctx, "", func(ctx context.Context) {
		for range 2 {
			assert.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls"}, seamReturns("a")))
			assert.ErrorIs(t, events.one(t).Hooks[0].Err, value)
		}
	})
}

func TestRunVar_goexitOfInitHoldsUpNobody(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	v := hooks.NewRunVar(func(context.Context, *int) {
		close(entered)
		<-leave
		runtime.Goexit()
	})
	inRun(t, t.Context(), "", func(ctx context.Context) {
		use := func() { defer func() { _ = recover() }(); _, _ = v.Of(ctx) }
		finishes(t, "for a value that is never made", func() {
			var wg sync.WaitGroup
			wg.Go(use)
			<-entered
			wg.Go(use)
			close(leave)
			wg.Wait()
		})
		finishes(t, "after it", use)
	})
}

// Everything that gets a ctx of a run finds its variables.
func TestRunVar_isTheSameAllOverARun(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	inits, uses := 0, map[string]int{}
	v := hooks.NewRunVar(func(context.Context, *int) { inits++ })
	var values []*int
	use := func(ctx context.Context, where string) {
		value, ok := v.Of(ctx)
		assert.True(t, ok, where)
		values = append(values, value)
		uses[where]++
	}
	for _, p := range seamExecPoints {
		hooks.On(p, func(ctx context.Context, _ *hooks.Execution) error { use(ctx, string(p.Name())); return nil }, hooks.In(r))
		hooks.Watch(p, func(ctx context.Context, _ *hooks.Execution, _ error) { use(ctx, "watch") }, hooks.In(r))
	}
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error { use(ctx, "guard"); return nil }, hooks.In(r))
	hooks.On(hooks.PostStep, func(ctx context.Context, _ *hooks.Step) error { use(ctx, "step"); return nil }, hooks.In(r), hooks.WithTimeout(time.Hour))
	r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { use(ctx, "observer") })
	inRun(t, ctx, "", func(ctx context.Context) {
		use(ctx, "body")
		ctx, cancel := context.WithCancel(ctx)
		assert.NoError(t, hooks.RunStep(ctx, &hooks.Step{}, func(ctx context.Context, _ *hooks.Step) error {
			err := hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls"}, func(ctx context.Context, _ *hooks.ToolCall) error {
				use(ctx, "tool")
				return nil
			})
			cancel() // the post point gets a ctx of its own
			return err
		}))
	})
	assert.Equal(t, 1, inits)
	assert.Equal(t, map[string]int{
		"execution_start": 1, "input": 1, "output": 1, "execution_end": 1,
		"watch": 4, "observer": 6, "body": 1, "tool": 1, "guard": 1, "step": 1,
	}, uses)
	for _, value := range values {
		assert.Same(t, values[0], value)
	}
}

// A run's variables go with its ctx, whatever a loop keeps of its contexts.
func TestRunVar_isFreedWithTheRun(t *testing.T) {
	t.Parallel()
	type big struct{ _ [1 << 16]byte }
	freed := make(chan struct{}, 1)
	v := hooks.NewRunVar(func(_ context.Context, b *big) {
		runtime.AddCleanup(b, func(freed chan struct{}) { freed <- struct{}{} }, freed)
	})
	ctx, r := newRun(t)
	var kept []any
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall, _ error) { kept = append(kept, c) }, hooks.In(r))
	x := &hooks.Execution{Caller: hooks.Caller{AgentRole: "Writer"}}
	require.NoError(t, hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
		_, ok := v.Of(ctx)
		assert.True(t, ok)
		s := &hooks.Step{Caller: hooks.Caller{Tenant: "acme"}}
		return hooks.RunStep(ctx, s, func(ctx context.Context, _ *hooks.Step) error {
			call, model, inner := &hooks.ToolCall{Name: "ls"}, &hooks.ModelCall{}, &hooks.Execution{}
			kept = append(kept, x, s, call, model, inner)
			assert.NoError(t, hooks.RunModel(ctx, model, func(context.Context, *hooks.ModelCall) error { return nil }))
			assert.NoError(t, hooks.RunExecution(ctx, inner, func(context.Context, *hooks.Execution) error { return nil }))
			return hooks.RunTool(ctx, call, seamReturns("a"))
		})
	}))
	require.Len(t, kept, 6)
	finishes(t, "for the value to be freed", func() {
		for {
			runtime.GC()
			select {
			case <-freed:
				return
			default:
				runtime.Gosched()
			}
		}
	})
	runtime.KeepAlive(kept)
	runtime.KeepAlive(v)
}
