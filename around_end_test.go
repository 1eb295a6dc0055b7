// What ends a wrapped operation for good: no hook around can swallow it, and
// nothing more runs.

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// outerHooks are hooks that don't leave it at what is inside of them.
func outerHooks() map[string]aroundFunc {
	return map[string]aroundFunc{
		"passed on": func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) },
		"swallowed": func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return nil },
		"replaced":  func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return errOther },
		"wrapped": func(ctx context.Context, _ seamContext, next nextFunc) error {
			return fmt.Errorf("search: %w", next(ctx))
		},
		"aborted": func(ctx context.Context, _ seamContext, next nextFunc) error {
			_ = next(ctx)
			return hooks.Abort("another")
		},
		"panicked": func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); panic("bug") },
		"retried":  retry(3),
		"answered": func(ctx context.Context, c seamContext, next nextFunc) error {
			_ = next(ctx)
			if c, ok := c.native().(interface{ Answer(string) }); ok {
				c.Answer("fine")
			}
			return nil
		},
	}
}

// eachOuter is eachWrapped with one of outerHooks registered in front, twice.
func eachOuter(t *testing.T, test func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver)) {
	t.Helper()
	for way, hook := range outerHooks() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
					err := next(ctx)
					assert.Error(t, err, "what ended it, whatever the hooks inside say")
					assert.True(t, next(ctx) == err, "nothing more runs")
					return err
				}, hooks.WithPriority(3))
				d.around(r, hook, hooks.WithPriority(2))
				d.around(r, hook, hooks.WithPriority(1))
				test(t, ctx, r, d)
			})
		})
	}
}

func TestWrap_abortIsSticky(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook   aroundFunc
		bodies int
	}{
		"in front": {func(context.Context, seamContext, nextFunc) error { return hooks.Abort("no") }, 0},
		"wrapped":  {func(context.Context, seamContext, nextFunc) error { return fmt.Errorf("quota: %w", hooks.Abort("no")) }, 0},
		"a panic":  {func(context.Context, seamContext, nextFunc) error { panic(hooks.Abort("no")) }, 0},
		"behind":   {func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return hooks.Abort("no") }, 1},
		"behind a retry": {func(ctx context.Context, _ seamContext, next nextFunc) error {
			_, _ = next(ctx), next(ctx)
			return hooks.Abort("no")
		}, 2},
		"beside what next returned": {func(ctx context.Context, _ seamContext, next nextFunc) error {
			return errors.Join(next(ctx), hooks.Abort("no"))
		}, 1},
		"with it as the cause": {func(ctx context.Context, _ seamContext, next nextFunc) error {
			return &hooks.HookAborted{Reason: "no", Err: next(ctx)}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				posts, bodies := 0, 0
				d.onPost(r, func(_ context.Context, c seamContext) error {
					posts++
					if d.clears() {
						assert.NotContains(t, wrapTaken(c), "secret", "a refused value is taken out")
					}
					return nil
				})
				d.around(r, tc.hook, hooks.WithName("budget"))
				c := d.fresh()
				subAgents := &hooks.HookAborted{Reason: "the sub-agent's"}
				err := d.run(ctx, c, func(_ context.Context, c seamContext) error {
					bodies++
					wrapGive(c, "secret")
					return subAgents
				})
				abort := d.requireAborted(t, c, err, "no")
				assert.Equal(t, "budget", abort.Source)
				assert.Equal(t, d.body, abort.Point)
				assert.Equal(t, tc.bodies, bodies)
				assert.Equal(t, 1, posts)
				if d.clears() {
					assert.NotContains(t, wrapTaken(c), "secret")
				}
				if call, ok := c.native().(*hooks.ToolCall); ok {
					assert.Equal(t, bodies > 0, call.Ran())
					assert.False(t, call.Answered())
					if bodies == 0 {
						assert.Equal(t, "Tool execution blocked by hook. Tool: search. Reason: no", call.Result)
						assert.NoError(t, call.Err)
					} else {
						assert.Equal(t, "Tool result withheld by hook. Tool: search. Reason: no", call.Result)
						assert.Same(t, subAgents, call.Err, "of the body, for the record")
					}
				}
				if m, ok := c.native().(*hooks.ModelCall); ok {
					assert.True(t, m.ResponseEdited())
				}
			})
		})
	}
}

// At the tool seam an abort that stops the run comes out.
func TestWrap_abortThatStopsTheRun(t *testing.T) {
	t.Parallel()
	eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(context.Context, seamContext, nextFunc) error { return hooks.AbortRun("over budget") })
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		abort := aborted(t, err)
		assert.Equal(t, "over budget", abort.Reason)
		assert.True(t, abort.StopRun)
	})
}

// An abort that comes out of the body is a plain error, as that of a sub-agent is:
// hooks may recover it, and retry.
func TestWrap_subAgentsAbortIsAnError(t *testing.T) {
	t.Parallel()
	theirs := &hooks.HookAborted{Reason: "the sub-agent's", Err: &hooks.HookAborted{Reason: "its sub-agent's"}}
	for name, failure := range map[string]error{
		"bare":    theirs,
		"wrapped": fmt.Errorf("agent: %w", theirs),
		"joined":  errors.Join(errOther, theirs),
		"turned":  seamTurned{theirs},
	} {
		for way, tc := range map[string]struct {
			hook   aroundFunc
			bodies int
			want   error // nil for none, errOther for another
		}{
			"recovered": {func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return nil }, 1, nil},
			"retried":   {retry(2), 2, nil},
			"passed on": {func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) }, 1, failure},
			"unwrapped": {func(ctx context.Context, _ seamContext, next nextFunc) error {
				abort, ok := errors.AsType[*hooks.HookAborted](next(ctx))
				assert.True(t, ok)
				return abort
			}, 1, theirs},
			"its cause": {func(ctx context.Context, _ seamContext, next nextFunc) error {
				abort, ok := errors.AsType[*hooks.HookAborted](next(ctx))
				assert.True(t, ok)
				return abort.Err
			}, 1, theirs.Err},
			"a panic with it": {func(ctx context.Context, _ seamContext, next nextFunc) error { panic(next(ctx)) }, 1, failure},
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
					if d.tool && tc.want == theirs.Err {
						return // is the text of the call, in any case
					}
					d.around(r, tc.hook)
					d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) })
					bodies := 0
					c := d.fresh()
					err := d.run(ctx, c, failing(&bodies, failure))
					assert.Equal(t, tc.bodies, bodies)
					if tc.want == nil {
						d.requireFine(t, c, err)
						return
					}
					d.requireFailed(t, c, err, tc.want)
					if call, ok := c.native().(*hooks.ToolCall); ok {
						assert.Nil(t, call.Blocked)
						assert.Equal(t, "the sub-agent's", call.Result)
					}
				})
			})
		}
	}
}

// What ends a run in the body ends it, whatever hooks around it say.
func TestWrap_endsOfTheBody(t *testing.T) {
	t.Parallel()
	waits := &hooks.Suspended{Questions: []hooks.Question{{ID: "q"}}}
	stop := hooks.AbortRun("over budget")
	for name, end := range map[string]error{
		"a suspension":         waits,
		"a wrapped suspension": fmt.Errorf("agent: %w", waits),
		"an interrupt":         hooks.PassThrough(errBroken),
		"a stop":               stop,
		"a wrapped stop":       fmt.Errorf("agent: %w", stop),
		"too deep":             fmt.Errorf("agent: %w", hooks.ErrTooDeep),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				posts, bodies := 0, 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
				c := d.fresh()
				err := d.run(ctx, c, func(_ context.Context, c seamContext) error { bodies++; return end })
				assert.Equal(t, []int{1, 1}, []int{bodies, posts})
				if d.tool && errors.Is(end, hooks.ErrTooDeep) {
					assert.NoError(t, err, "without hooks it is a result, too")
				} else {
					assert.True(t, err == end, "%v", err)
				}
				if d.tells {
					assert.True(t, c.failure() == end, "%v", c.failure())
				}
				switch c := c.native().(type) {
				case *hooks.ToolCall:
					assert.Nil(t, c.Blocked)
				case *hooks.Execution:
					_, suspended := errors.AsType[*hooks.Suspended](end)
					assert.Equal(t, suspended, c.Status == hooks.StatusSuspended)
				}
			})
		})
	}
}

// A hook may say that the run waits, as the body may.
func TestWrap_hookSuspends(t *testing.T) {
	t.Parallel()
	waits := &hooks.Suspended{Questions: []hooks.Question{{ID: "q"}}}
	for name, tc := range map[string]struct {
		hook   aroundFunc
		bodies int
	}{
		"in front":     {func(context.Context, seamContext, nextFunc) error { return waits }, 0},
		"an interrupt": {func(context.Context, seamContext, nextFunc) error { return hooks.PassThrough(errBroken) }, 0},
		"behind":       {func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return waits }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				posts, bodies := 0, 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
				d.around(r, tc.hook, hooks.WithFailClosed())
				c := d.fresh()
				err := d.run(ctx, c, failing(&bodies))
				suspended, ok := errors.AsType[*hooks.Suspended](err)
				require.True(t, ok, "%v", err)
				assert.Equal(t, name == "an interrupt", errors.Is(err, errBroken))
				if name != "an interrupt" {
					assert.Same(t, waits, suspended)
				}
				assert.Equal(t, []int{tc.bodies, 1}, []int{bodies, posts})
				switch c := c.native().(type) {
				case *hooks.ToolCall:
					assert.Same(t, suspended, c.Suspended())
					assert.Equal(t, tc.bodies > 0, c.Ran())
					assert.Nil(t, c.Blocked)
				case *hooks.Execution:
					assert.Equal(t, hooks.StatusSuspended, c.Status)
				}
			})
		})
	}
}

// A hook around a body that opens the seam that it hooks without end.
func TestWrap_tooDeep(t *testing.T) {
	t.Parallel()
	eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		opened := 0
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			opened++
			_ = d.run(ctx, d.fresh(), seamProceed)
			return next(ctx)
		})
		bodies := 0
		c := d.fresh()
		var err error
		finishes(t, "a nest without end", func() {
			err = d.run(ctx, c, func(context.Context, seamContext) error { bodies++; return nil })
		})
		assert.ErrorIs(t, err, hooks.ErrTooDeep)
		assert.Zero(t, bodies)
		assert.LessOrEqual(t, opened, 20)
	})
}

// A hook that answers beside a nest without end.
func TestWrap_tooDeepBesideAnAnswer(t *testing.T) {
	t.Parallel()
	eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(ctx context.Context, c seamContext, _ nextFunc) error {
			_ = d.run(ctx, d.fresh(), seamProceed)
			if c, ok := c.native().(interface{ Answer(string) }); ok {
				c.Answer("fine")
			}
			return nil
		})
		bodies := 0
		err := d.run(ctx, d.fresh(), func(context.Context, seamContext) error { bodies++; return nil })
		assert.ErrorIs(t, err, hooks.ErrTooDeep)
		assert.Zero(t, bodies)
	})
}

// One that found it out elsewhere, and says so.
func TestWrap_hookSaysTooDeep(t *testing.T) {
	t.Parallel()
	eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(context.Context, seamContext, nextFunc) error { return fmt.Errorf("judge: %w", hooks.ErrTooDeep) })
		err := d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		assert.ErrorIs(t, err, hooks.ErrTooDeep)
		assert.True(t, aborted(t, err).StopRun)
	})
}

// An answer of a hook around doesn't stand for an operation that waits, or was
// stopped, inside of it.
func TestWrap_answerAroundAnEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"waits": hooks.PassThrough(errBroken), "stops": hooks.AbortRun("enough")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next nextFunc) error {
				_ = next(ctx)
				m.Answer("from elsewhere")
				return nil
			}, hooks.In(r))
			hooks.Around(hooks.ModelBody, func(context.Context, *hooks.ModelCall, nextFunc) error { return end }, hooks.In(r))
			m := &hooks.ModelCall{}
			err := hooks.RunModel(ctx, m, func(context.Context, *hooks.ModelCall) error { return nil })
			require.Error(t, err)
			assert.Empty(t, m.Response)
		})
	}
}

// A fail-closed hook that ends a goroutine of the hook around it has refused the
// operation, whatever that one returns; another has left nothing to return.
func TestWrap_failClosedHookExitsOnAnotherGoroutine(t *testing.T) {
	t.Parallel()
	exits := func(ctx context.Context, next nextFunc) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = next(ctx)
		}()
		<-done
	}
	for name, inside := range map[string]func(r *hooks.Registry){
		"an around hook": func(r *hooks.Registry) {
			hooks.Around(hooks.ToolBody, func(context.Context, *hooks.ToolCall, nextFunc) error { runtime.Goexit(); return nil }, hooks.In(r), hooks.WithFailClosed())
		},
		"a guard that is asked again": func(r *hooks.Registry) {
			asked := 0
			hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
				if asked++; asked > 1 {
					runtime.Goexit()
				}
				return nil
			}, hooks.In(r))
			hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
				c.Input["edited"] = true
				return next(ctx)
			}, hooks.In(r))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
				exits(ctx, next)
				return nil
			}, hooks.In(r))
			inside(r)
			call := &hooks.ToolCall{Name: "search"}
			require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the body ran"); return nil }))
			require.NotNil(t, call.Blocked)
			assert.ErrorIs(t, call.Blocked, hooks.ErrGoexit)
			assert.True(t, call.IsError())
		})
	}
	t.Run("a body", func(t *testing.T) {
		t.Parallel()
		ctx, r := newRun(t)
		hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
			exits(ctx, next)
			return nil
		}, hooks.In(r))
		hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next nextFunc) error { return next(ctx) }, hooks.In(r), hooks.WithFailClosed())
		call := &hooks.ToolCall{Name: "search"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil }))
		assert.Nil(t, call.Blocked, "it was no hook's doing")
	})
}
