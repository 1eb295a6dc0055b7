// The ctx of around hooks, and the one that the body gets from them.

package hooks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

type wrapKey struct{}

// What a hook adds to the ctx reaches the hooks inside and the body, and ends
// with them.
func TestWrap_ctxReachesTheBody(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		scope := hooks.NewRegistry()
		hooked := 0
		hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { hooked++; return nil }, hooks.In(scope))
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			ctx = hooks.WithCaller(context.WithValue(ctx, wrapKey{}, 1), hooks.Caller{AgentRole: "Writer"})
			return next(hooks.WithScope(ctx, scope))
		})
		looks := 0
		look := func(ctx context.Context) {
			looks++
			assert.Equal(t, 1, ctx.Value(wrapKey{}))
			_, limited := ctx.Deadline()
			assert.True(t, limited)
			assert.Equal(t, "Writer", hooks.CallerFrom(ctx).AgentRole)
			if d.name == "step" {
				return // which would be wrapped itself
			}
			step := &hooks.Step{}
			assert.NoError(t, hooks.RunStep(ctx, step, succeeds[hooks.Step]))
			assert.Equal(t, "Writer", step.AgentRole)
		}
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { look(ctx); return next(ctx) })
		d.onPost(r, func(ctx context.Context, _ seamContext) error {
			assert.Nil(t, ctx.Value(wrapKey{}))
			return nil
		})
		c := d.fresh()
		require.NoError(t, d.run(ctx, c, func(ctx context.Context, _ seamContext) error { look(ctx); return nil }))
		assert.Equal(t, 2, looks)
		if d.name != "step" {
			assert.Equal(t, 2, hooked)
		}
	})
}

// A deadline of a hook is what the body sees, and the hook tells what it means.
func TestWrap_deadlineIsTheHooks(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
			late, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			assert.Equal(t, context.DeadlineExceeded, next(late))
			return next(ctx) // once more, with all the time there is
		})
		bodies := 0
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, func(ctx context.Context, _ seamContext) error {
			if bodies++; bodies == 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		}))
		assert.Equal(t, 2, bodies)
	})
}

// Seams that a hook opens are in its nest; those of the body are where the seam
// was opened.
func TestWrap_nested(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		opened := func(ctx context.Context) (nested bool) {
			probe := hooks.NewRegistry()
			hooks.On(seamBefore, func(ctx context.Context, _ *seamOwn) error { nested = hooks.Nested(ctx); return nil }, hooks.In(probe))
			assert.NoError(t, hooks.Run(hooks.WithScope(ctx, probe), seamBefore, seamAfter, &seamOwn{}, succeeds[seamOwn]))
			return nested
		}
		looks := 0
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			looks++
			assert.False(t, hooks.Nested(ctx))
			assert.True(t, opened(ctx))
			defer func() { assert.True(t, opened(ctx)) }()
			var err error
			// through the body of a seam of the hook's own
			assert.NoError(t, wrapLoneSeam.Run(ctx, &wrapLone{}, func(ctx context.Context, _ *wrapLone) error {
				assert.True(t, hooks.Nested(ctx))
				err = next(ctx)
				return nil
			}))
			return err
		})
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, func(ctx context.Context, _ seamContext) error {
			looks++
			assert.False(t, hooks.Nested(ctx))
			assert.False(t, opened(ctx))
			return nil
		}))
		assert.Equal(t, 2, looks)

		// The same, opened by a hook: then the body is nested as well.
		outer := hooks.NewRegistry()
		nested := false
		hooks.On(wrapLoneSeam.Pre, func(ctx context.Context, _ *wrapLone) error {
			c := d.fresh()
			r.ClearAll()
			d.around(r, retry(1))
			return d.run(ctx, c, func(ctx context.Context, _ seamContext) error { nested = hooks.Nested(ctx) && opened(ctx); return nil })
		}, hooks.In(outer))
		require.NoError(t, wrapLoneSeam.Run(hooks.WithScope(ctx, outer), &wrapLone{}, succeeds[wrapLone]))
		assert.True(t, nested)
	})
}

type wrapLone struct{}

var wrapLoneSeam = hooks.DefineSeam[wrapLone]("wraptest.lone")

// Bodies inside bodies, each in around hooks, are in no nest of hooks.
func TestWrap_manyBodiesAreNotTooDeep(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		for range 3 {
			d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
				var err error
				assert.NoError(t, wrapLoneSeam.Run(ctx, &wrapLone{}, func(ctx context.Context, _ *wrapLone) error {
					err = next(ctx)
					return nil
				}))
				return err
			})
		}
		bodies := 0
		var run func(ctx context.Context) error
		run = func(ctx context.Context) error {
			return d.run(ctx, d.fresh(), func(ctx context.Context, _ seamContext) error {
				if bodies++; bodies < 40 {
					return run(ctx)
				}
				return nil
			})
		}
		require.NoError(t, run(ctx))
		assert.Equal(t, 40, bodies)
	})
}

// The same without a scope, a caller or anything in the ctx.
func TestWrap_manyBodiesUnderABareCtx(t *testing.T) {
	hooks.ClearAll()
	t.Cleanup(func() { hooks.ClearAll() })
	for _, d := range wrapDrivers() {
		hooks.ClearAll()
		d.around(hooks.Default(), func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) })
		bodies := 0
		var run func(ctx context.Context) error
		run = func(ctx context.Context) error {
			return d.run(ctx, d.fresh(), func(ctx context.Context, _ seamContext) error {
				assert.False(t, hooks.Nested(ctx))
				if bodies++; bodies < 40 {
					return run(ctx)
				}
				return nil
			})
		}
		require.NoError(t, run(context.Background()))
		assert.Equal(t, 40, bodies)
	}
}

// A sub-agent in the body of a wrapped tool call has its place in the tree, and an
// execution that a hook opens around next takes the body with it.
func TestWrap_runOfTheBody(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	calls := hooks.NewRunVar[int](nil)
	tool := hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next nextFunc) error {
		return hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "sandbox"}}, func(ctx context.Context, _ *hooks.Execution) error {
			return next(ctx)
		})
	}, hooks.In(r))
	run := func() (ids string) {
		require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "main"}}, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunTool(ctx, benchCall(), func(ctx context.Context, _ *hooks.ToolCall) error {
				_, ok := calls.Of(ctx)
				assert.True(t, ok)
				return hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "sub"}}, func(_ context.Context, x *hooks.Execution) error {
					ids = fmt.Sprint(x.RootRunID, "/", x.ParentRunID, "/", x.RunID)
					return nil
				})
			})
		}))
		return ids
	}
	assert.Equal(t, "main/sandbox/sub", run())
	tool.Remove()
	hooks.Around(hooks.ToolBody, passOn, hooks.In(r))
	assert.Equal(t, "main/main/sub", run())
}

// Values of the call are there for hooks and the body alike.
func TestWrap_valuesOfTheCall(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		if d.name == "own, plain" {
			return // has none
		}
		d.onPre(r, func(_ context.Context, c seamContext) error { c.Put(wrapKey{}, "pre"); return nil })
		d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
			v, _ := c.Get(wrapKey{})
			assert.Equal(t, "pre", v)
			c.Put(wrapKey{}, "around")
			err := next(ctx)
			v, _ = c.Get(wrapKey{})
			assert.Equal(t, "around", v)
			c.Put(wrapKey{}, "behind")
			return err
		})
		looks := 0
		d.onPost(r, func(_ context.Context, c seamContext) error {
			v, _ := c.Get(wrapKey{})
			assert.Equal(t, "behind", v)
			looks++
			return nil
		})
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, func(_ context.Context, c seamContext) error {
			v, _ := c.Get(wrapKey{})
			assert.Equal(t, "around", v)
			looks++
			return nil
		}))
		assert.Equal(t, 2, looks)
		r.ClearAll()
		d.requireFine(t, c, d.run(ctx, c, func(_ context.Context, c seamContext) error {
			_, kept := c.Get(wrapKey{})
			assert.False(t, kept, "what hooks put is gone with the use")
			return nil
		}))
	})
}

// A hook that begins the same call again inside of it gets what that did, and the
// body runs as if it hadn't.
func TestWrap_begunAgainInside(t *testing.T) {
	t.Parallel()
	for _, d := range wrapDrivers() {
		if d.begin == nil {
			continue
		}
		sd := seamDriver{name: d.name, tool: d.tool, run: d.run, begin: d.begin, fresh: d.fresh}
		for way, again := range seamAgain(sd) {
			for _, behind := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/behind %v", d.name, way, behind), func(t *testing.T) {
					t.Parallel()
					ctx, r := newRun(t)
					inside, bodies, posts := false, 0, 0
					d.onPost(r, func(context.Context, seamContext) error {
						if !inside {
							posts++
						}
						return nil
					})
					again := seamOnce(again)
					d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
						if inside {
							return next(ctx)
						}
						inside = true
						if !behind {
							_ = again(ctx, c)
							inside = false
							return next(ctx)
						}
						err := func() error { inside = false; defer func() { inside = true }(); return next(ctx) }()
						wrapped := wrapTaken(c)
						_ = again(ctx, c)
						inside = false
						wrapGive(c, wrapped)
						return err
					})
					c := d.fresh()
					err := d.run(ctx, c, func(_ context.Context, c seamContext) error {
						bodies++
						wrapGive(c, "done")
						return nil
					})
					require.NoError(t, err)
					assert.Equal(t, []int{1, 1}, []int{bodies, posts})
					assert.Equal(t, "done", wrapTaken(c))
					switch c := c.native().(type) {
					case *hooks.ToolCall:
						assert.True(t, c.Ran())
						assert.False(t, c.ShouldRun())
						assert.Nil(t, c.Blocked)
					case *hooks.Execution:
						assert.Equal(t, hooks.StatusCompleted, c.Status)
						assert.NoError(t, c.Err)
						assert.NotEqual(t, c.RunID, c.ParentRunID)
					}
				})
			}
		}
	}
}

// A refusal of the same call, begun again inside of a hook, is not one of the call
// around it.
func TestWrap_refusedInsideIsNotRefused(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error{
		"answered": func(_ context.Context, c *hooks.ToolCall, _ nextFunc) error { c.Answer("fine"); return nil },
		"run":      func(ctx context.Context, _ *hooks.ToolCall, next nextFunc) error { return next(ctx) },
	} {
		ctx, r := newRun(t)
		inside := false
		hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			if inside {
				return hooks.Abort("no")
			}
			return nil
		}, hooks.In(r))
		hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
			inside = true
			assert.NoError(t, hooks.RunTool(ctx, c, noop))
			assert.NotNil(t, c.Blocked)
			inside, c.Err = false, nil
			return goOn(ctx, c, next)
		}, hooks.In(r))
		call := benchCall()
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error { c.Result = "fine"; return nil }))
		assert.Nil(t, call.Blocked, name)
		assert.False(t, call.IsError(), name)
		assert.Equal(t, "fine", call.Result, name)
	}
}
