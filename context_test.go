package hooks_test

// What all contexts share: values of one call, and the caller that travels with
// the ctx.

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

type seamKey string

func TestValues_reachTheBodyAndPostHooks(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		has := func(c seamContext, key seamKey, want any) {
			got, ok := c.Get(key)
			assert.True(t, ok, key)
			assert.Equal(t, want, got)
		}
		d.onPre(r, func(_ context.Context, c seamContext) error {
			has(c, "loop", 0)
			c.Put(seamKey("pre"), 1)
			c.Put(seamKey("nil"), nil)
			return nil
		})
		d.onPost(r, func(_ context.Context, c seamContext) error {
			has(c, "pre", 1)
			has(c, "nil", nil)
			has(c, "body", 2)
			_, ok := c.Get("pre")
			assert.False(t, ok, "a key of another type")
			c.Put(seamKey("pre"), 3)
			return nil
		})
		c := d.fresh()
		_, ok := c.Get(seamKey("loop"))
		assert.False(t, ok)
		c.Put(seamKey("loop"), 0)
		require.NoError(t, d.run(ctx, c, func(_ context.Context, c seamContext) error {
			has(c, "pre", 1)
			c.Put(seamKey("body"), 2)
			return nil
		}))
		has(c, "pre", 3)
		has(c, "loop", 0)
	})
}

func TestContext_reuseCarriesNoValuesOver(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, first := range map[string]struct {
		ctx  context.Context // nil for that of the test
		hook seamFunc
		body seamFunc
	}{
		"success": {hook: seamProceed, body: seamProceed},
		"failure": {hook: seamProceed, body: func(context.Context, seamContext) error { return errors.New("bug") }},
		"refusal": {hook: func(context.Context, seamContext) error { return hooks.Abort("no") }, body: seamProceed},
		"cancel":  {ctx: cancelled, hook: seamProceed, body: seamProceed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, _ *hooks.Registry, d seamDriver) {
				r, runs := hooks.NewRegistry(), 0
				d.onPre(r, func(ctx context.Context, c seamContext) error {
					runs++
					c.Put(seamKey("hook"), 1)
					return first.hook(ctx, c)
				})
				c := d.fresh()
				c.Put(seamKey("loop"), 1)
				earlier := first.ctx
				if earlier == nil {
					earlier = ctx
				}
				_ = d.run(hooks.WithScope(earlier, r), c, first.body)
				if first.ctx == nil {
					assert.Equal(t, 1, runs)
				}

				c.Put(seamKey("between"), 2)
				seen := map[seamKey]bool{}
				require.NoError(t, d.run(ctx, c, func(_ context.Context, c seamContext) error {
					for _, key := range []seamKey{"hook", "loop", "between"} {
						_, seen[key] = c.Get(key)
					}
					return nil
				}))
				assert.Equal(t, map[seamKey]bool{"hook": false, "loop": false, "between": true}, seen)
			})
		})
	}
}

func TestContext_reuseCarriesNoOutcomeOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook, body seamFunc
	}{
		"a refusal": {func(context.Context, seamContext) error { return hooks.Abort("no") }, seamProceed},
		"a failure": {seamProceed, func(context.Context, seamContext) error { return errors.New("bug") }},
		"an answer": {func(_ context.Context, c seamContext) error {
			if a, ok := c.(interface{ Answer(string) }); ok {
				a.Answer("ready")
			}
			return nil
		}, seamProceed},
		"a result": {seamProceed, func(_ context.Context, c seamContext) error {
			switch c := c.native().(type) {
			case *hooks.Execution:
				c.Output = "first"
			case *hooks.Step:
				c.Output = "first"
			case *hooks.ModelCall:
				c.Response, c.RawResponse, c.Usage = "first", 1, hooks.Usage{In: 1}
				c.ToolCalls = []hooks.ToolRequest{{Name: "ls"}}
			case *hooks.ToolCall:
				c.Result, c.RawResult, c.Parts = "first", 1, []hooks.Part{{Kind: "text", Text: "first"}}
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, _ *hooks.Registry, d seamDriver) {
				r, runs := hooks.NewRegistry(), 0
				d.onPre(r, func(ctx context.Context, c seamContext) error {
					runs++
					return tc.hook(ctx, c)
				})
				c := d.fresh()
				_ = d.run(hooks.WithScope(ctx, r), c, tc.body)
				assert.Equal(t, 1, runs)

				checks := 0
				check := func(c seamContext) {
					checks++
					switch c := c.native().(type) {
					case *hooks.Execution:
						assert.Nil(t, c.Output)
						assert.NoError(t, c.Err)
					case *hooks.Step:
						assert.Nil(t, c.Output)
						assert.NoError(t, c.Err)
					case *hooks.ModelCall:
						assert.Equal(t, &hooks.ModelCall{Model: "m"}, &hooks.ModelCall{
							Model: c.Model, Response: c.Response, RawResponse: c.RawResponse, Usage: c.Usage, ToolCalls: c.ToolCalls, Err: c.Err,
						})
						assert.False(t, c.Answered())
					case *hooks.ToolCall:
						assert.Equal(t, &hooks.ToolCall{Name: "search"}, &hooks.ToolCall{
							Name: c.Name, Result: c.Result, Parts: c.Parts, RawResult: c.RawResult, Blocked: c.Blocked, Err: c.Err,
						})
						assert.False(t, c.Answered())
						assert.False(t, c.IsError())
						assert.False(t, c.ResultEdited())
					}
				}
				plain := hooks.NewRegistry()
				d.onPre(plain, func(_ context.Context, c seamContext) error { check(c); return nil })
				require.NoError(t, d.run(hooks.WithScope(ctx, plain), c, func(_ context.Context, c seamContext) error {
					check(c)
					return nil
				}))
				check(c)
				assert.Equal(t, 3, checks, "in a hook, in the body and afterwards")
			})
		})
	}
}

func TestValues_zeroConcurrentSafe(t *testing.T) {
	t.Parallel()
	var v hooks.Values
	_, ok := v.Get("a")
	assert.False(t, ok)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			v.Put(i, i)
			got, ok := v.Get(i)
			assert.True(t, ok)
			assert.Equal(t, i, got)
		})
	}
	wg.Wait()
}

// The caller of a ctx fills the fields that a context leaves unset, before its
// hooks run.
func TestCaller_fillsWhatIsUnset(t *testing.T) {
	t.Parallel()
	agent, task, crew, flow := &struct{ a int }{}, &struct{ b int }{}, "crew", 4
	outer := hooks.Caller{RunID: "run-1", AgentRole: "Researcher", Agent: agent, Task: task, Crew: crew, Flow: flow}
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		ctx = hooks.WithCaller(ctx, outer)
		for _, tc := range []struct{ own, want hooks.Caller }{
			{hooks.Caller{}, outer},
			{hooks.Caller{AgentRole: "Writer"}, hooks.Caller{RunID: "run-1", AgentRole: "Writer", Agent: agent, Task: task, Crew: crew, Flow: flow}},
			{hooks.Caller{RunID: "run-2", Agent: 1, Task: 2, Crew: 3, Flow: 5}, hooks.Caller{RunID: "run-2", AgentRole: "Researcher", Agent: 1, Task: 2, Crew: 3, Flow: 5}},
		} {
			scope := hooks.NewRegistry()
			seen := 0
			d.onPre(scope, func(_ context.Context, c seamContext) error { seen++; assert.Equal(t, tc.want, *c.who()); return nil })
			d.onPost(scope, func(_ context.Context, c seamContext) error { seen++; assert.Equal(t, tc.want, *c.who()); return nil })
			tc.want.RootRunID = tc.want.RunID // nobody said of which root
			c := d.fresh()
			*c.who() = tc.own
			require.NoError(t, d.run(hooks.WithScope(ctx, scope), c, seamProceed))
			assert.Equal(t, 2, seen)
			assert.Equal(t, tc.want, *c.who())
		}
		assert.Equal(t, outer, hooks.CallerFrom(ctx))
	})
}

func TestCallerFrom_isZeroWithoutOne(t *testing.T) {
	t.Parallel()
	var none context.Context
	assert.Zero(t, hooks.CallerFrom(t.Context()))
	assert.Zero(t, hooks.CallerFrom(none))
	assert.Equal(t, "a", hooks.CallerFrom(hooks.WithCaller(none, hooks.Caller{RunID: "a"})).RunID)
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, _ *hooks.Registry, d seamDriver) {
		c := d.fresh()
		require.NoError(t, d.run(ctx, c, seamProceed))
		if _, run := c.(seamExecution); run {
			assert.NotEmpty(t, c.who().RunID, "every execution has one")
			assert.Equal(t, hooks.Caller{RunID: c.who().RunID, RootRunID: c.who().RunID}, *c.who())
			return
		}
		assert.Zero(t, *c.who())
	})
}

// Executions and steps put their caller into the ctx of the body.
func TestCaller_reachesWhatTheBodyStarts(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	var seen []hooks.Caller
	seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error { seen = append(seen, call.Caller); return nil })
	tool := func(ctx context.Context) error {
		return hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls"}, seamReturns("a"))
	}
	x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-1", AgentRole: "Manager"}}
	require.NoError(t, hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
		s := &hooks.Step{Caller: hooks.Caller{AgentRole: "Writer", Task: "draft"}}
		err := hooks.RunStep(ctx, s, func(ctx context.Context, _ *hooks.Step) error { return tool(ctx) })
		assert.Equal(t, hooks.Caller{RunID: "run-1", RootRunID: "run-1", AgentRole: "Writer", Task: "draft"}, s.Caller)
		return errors.Join(err, tool(ctx))
	}))
	assert.Equal(t, []hooks.Caller{
		{RunID: "run-1", RootRunID: "run-1", AgentRole: "Writer", Task: "draft"},
		{RunID: "run-1", RootRunID: "run-1", AgentRole: "Manager"},
	}, seen)
	assert.Zero(t, hooks.CallerFrom(ctx), "what is under the body stays there")
}

func TestCaller_setByAHookReachesTheBody(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	seamOnExec(r, hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error { x.RunID = "run-7"; return nil })
	seamOnStep(r, hooks.PreStep, func(_ context.Context, s *hooks.Step) error { s.AgentRole = "Writer"; return nil })
	bodies := 0
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		bodies++
		assert.Equal(t, "run-7", hooks.CallerFrom(ctx).RunID)
		return hooks.RunStep(ctx, &hooks.Step{}, func(ctx context.Context, _ *hooks.Step) error {
			bodies++
			assert.Equal(t, hooks.Caller{RunID: "run-7", RootRunID: "run-7", AgentRole: "Writer"}, hooks.CallerFrom(ctx))
			return nil
		})
	}))
	assert.Equal(t, 2, bodies)
}

func TestCaller_ofTheCtxIsFilteredAndObserved(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	var ran []string
	for _, role := range []string{"Researcher", "Writer"} {
		seamOnTool(r, hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { ran = append(ran, role); return nil }, hooks.WithAgents(role))
	}
	var events []string
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
		events = append(events, fmt.Sprintf("%s %s %s %d", ev.RunID, ev.AgentRole, ev.ToolName, ev.HookCount))
	})
	ctx = hooks.WithCaller(ctx, hooks.Caller{RunID: "run-1", AgentRole: "Writer"})
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls"}, seamReturns("a")))
	assert.Equal(t, []string{"Writer"}, ran)
	assert.Equal(t, []string{"run-1 Writer ls 1"}, events)
}

// A field that is added to Caller must be filled in, taken back and compared.
func TestCaller_everyFieldTravels(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[hooks.Caller]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said hooks.Caller
			fill(reflect.ValueOf(&said).Elem().Field(i), "")
			of := func(c hooks.Caller) any { return reflect.ValueOf(c).Field(i).Interface() }
			ctx := hooks.WithCaller(t.Context(), said)
			assert.Equal(t, said, hooks.CallerFrom(ctx))
			seamEach(t, seamDrivers(), func(t *testing.T, _ context.Context, _ *hooks.Registry, d seamDriver) {
				c, runs := d.fresh(), 0
				body := func(ctx context.Context, c seamContext) error {
					runs++
					if _, tool := c.native().(*hooks.ToolCall); !tool {
						assert.Equal(t, of(said), of(*c.who()))
					}
					return nil
				}
				require.NoError(t, d.run(ctx, c, body))
				assert.Equal(t, of(said), of(*c.who()), "filled in")
				require.NoError(t, d.run(t.Context(), c, seamProceed))
				if _, run := c.(seamExecution); !run || name != "RunID" && name != "RootRunID" {
					assert.Zero(t, of(*c.who()), "taken back")
				} else {
					assert.NotEqual(t, of(said), of(*c.who()))
				}
				require.NoError(t, d.run(ctx, c, body))
				assert.Equal(t, of(said), of(*c.who()), "and filled in anew")
				assert.Equal(t, 2, runs)

				// What somebody set since isn't taken back.
				var other hooks.Caller
				fill(reflect.ValueOf(&other).Elem().Field(i), "other")
				reflect.ValueOf(c.who()).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
				require.NoError(t, d.run(t.Context(), c, seamProceed))
				assert.Equal(t, of(other), of(*c.who()))
			})
			steps := 0
			require.NoError(t, hooks.RunStep(t.Context(), &hooks.Step{Caller: said}, func(ctx context.Context, _ *hooks.Step) error {
				steps++
				assert.Equal(t, of(said), of(hooks.CallerFrom(ctx)), "a step that differs in it alone carries it")
				return nil
			}))
			assert.Equal(t, 1, steps)
		})
	}
}

// The values of the call stay with it: a Caller is plain data.
func TestCaller_isCopiedWithoutValues(t *testing.T) {
	t.Parallel()
	a := &hooks.ToolCall{Caller: hooks.Caller{RunID: "run-1", AgentRole: "Writer"}}
	a.Put(seamKey("k"), 1)
	b := &hooks.ModelCall{Caller: a.Caller}
	_, ok := b.Get(seamKey("k"))
	assert.False(t, ok)
	assert.Equal(t, "Writer", b.AgentRoleName())
	assert.Empty(t, hooks.Caller{}.AgentRoleName())
}

func TestContext_showsHooksNoNilMap(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	ran := 0
	forgets := func(in *map[string]any) error {
		ran++
		assert.NotNil(t, *in)
		*in = nil
		return nil
	}
	for range 2 { // the second sees what the first has left
		for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
			seamOnTool(r, p, func(_ context.Context, call *hooks.ToolCall) error { return forgets(&call.Input) })
		}
		for _, p := range seamExecPoints {
			seamOnExec(r, p, func(_ context.Context, x *hooks.Execution) error { return forgets(&x.Inputs) })
		}
	}
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls"}, seamReturns("a")))
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, func(context.Context, *hooks.Execution) error { return nil }))
	assert.Equal(t, 2*6, ran)
}

// Hooks get inputs of their own at all four points, and a body may keep those
// that it saw.
func TestExecution_hooksWriteIntoNobodysMap(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	edits := 0
	for _, p := range seamExecPoints {
		seamOnExec(r, p, edit(func(x *hooks.Execution) { edits++; x.Inputs[string(p.Name())] = edits }))
	}
	given := map[string]any{"topic": "cats"}
	x := &hooks.Execution{Inputs: given}
	var kept []map[string]any
	for range 2 {
		require.NoError(t, hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { kept = append(kept, x.Inputs); return nil }))
	}
	assert.Equal(t, 8, edits)
	assert.Equal(t, map[string]any{"topic": "cats"}, given)
	assert.Equal(t, []map[string]any{
		{"topic": "cats", "execution_start": 1, "input": 2},
		{"topic": "cats", "execution_start": 5, "input": 6, "output": 3, "execution_end": 4},
	}, kept)
	assert.Equal(t, map[string]any{"topic": "cats", "execution_start": 5, "input": 6, "output": 7, "execution_end": 8}, x.Inputs)
}

// What hooks of a use that never ended put is gone in the next, however many
// there were; what the program put since is there.
func TestValues_ofAUseThatNeverEndedAreGone(t *testing.T) {
	t.Parallel()
	seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		begun := 0
		d.onPre(r, func(_ context.Context, c seamContext) error {
			begun++
			_, stale := c.Get(seamKey("hook"))
			assert.False(t, stale, begun)
			c.Put(seamKey("hook"), begun)
			return nil
		})
		c := d.fresh()
		for range 3 {
			_, _, err := d.begin(ctx, c)
			require.NoError(t, err)
		}
		c.Put(seamKey("loop"), "put")
		require.NoError(t, d.run(ctx, c, func(_ context.Context, c seamContext) error {
			got, _ := c.Get(seamKey("hook"))
			assert.Equal(t, 4, got)
			got, _ = c.Get(seamKey("loop"))
			assert.Equal(t, "put", got)
			return nil
		}))
		assert.Equal(t, 4, begun)
	})
}

// What a hook leaves for the post point is there, though other hooks begin the
// same context once more on the way.
func TestValues_stayThoughBegunAgain(t *testing.T) {
	t.Parallel()
	seamEachAgain(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver, again seamFunc) {
		started, seen := 0, 0
		d.onPre(r, func(_ context.Context, c seamContext) error {
			if started++; started == 1 {
				c.Put(seamKey("start"), "noon")
			}
			return nil
		})
		d.onPre(r, seamOnce(again))
		d.onPost(r, seamOnce(again))
		d.onPost(r, func(_ context.Context, c seamContext) error {
			seen++
			got, _ := c.Get(seamKey("start"))
			assert.Equal(t, "noon", got)
			return nil
		})
		c := d.fresh()
		require.NoError(t, d.run(ctx, c, seamProceed))
		assert.Positive(t, seen)
		require.NoError(t, d.run(t.Context(), c, seamProceed))
		_, stale := c.Get(seamKey("start"))
		assert.False(t, stale, "nor is it in the next use")
	})
}
