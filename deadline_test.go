package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// deadlineWait takes d, or until ctx is done.
func deadlineWait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deadlineRefusal returns the abort of a seam, which a tool call keeps as its
// own.
func deadlineRefusal(t *testing.T, c seamContext, err error) *hooks.HookAborted {
	t.Helper()
	if call, ok := c.native().(*hooks.ToolCall); ok {
		require.NoError(t, err)
		require.NotNil(t, call.Blocked)
		assert.True(t, call.IsError())
		assert.NotContains(t, call.Result, "deadline")
		assert.NotContains(t, call.Result, "hunter2")
		return call.Blocked
	}
	return aborted(t, err)
}

func TestAHookThatRunsOutOfTimeIsPassedOverOrRefusesAtEachSeam(t *testing.T) {
	t.Parallel()
	obeys := func(ctx context.Context, _ seamContext) error { return deadlineWait(ctx, time.Hour) }
	ignores := func(context.Context, seamContext) error {
		<-time.After(3 * time.Second)
		return nil
	}
	for _, d := range seamDrivers() {
		for _, tt := range []struct {
			name   string
			hook   seamFunc
			takes  time.Duration
			opts   []hooks.Option
			closed bool
		}{
			{"hook that obeys", obeys, time.Second, nil, false},
			{"hook that ignores ctx", ignores, 3 * time.Second, nil, false},
			{"fail-closed hook that obeys", obeys, time.Second, []hooks.Option{hooks.WithFailClosed()}, true},
			{"fail-closed hook that ignores ctx", ignores, 3 * time.Second, []hooks.Option{hooks.WithFailClosed()}, true},
			{"guard that obeys", obeys, time.Second, []hooks.Option{hooks.AsGuard()}, true},
			{"guard that ignores ctx", ignores, 3 * time.Second, []hooks.Option{hooks.AsGuard()}, true},
		} {
			for _, at := range []string{"pre", "post"} {
				t.Run(fmt.Sprintf("%s/%s/%s", d.name, at, tt.name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r := hooks.NewRegistry()
						on := d.onPre
						if at == "post" {
							on = d.onPost
						}
						on(r, tt.hook, append(tt.opts, hooks.WithTimeout(time.Second), hooks.WithName("limit"))...)
						bodies, posts := 0, 0
						outer := hooks.NewRegistry() // whose hooks run first
						d.onPost(outer, func(ctx context.Context, _ seamContext) error {
							posts++
							_, ok := ctx.Deadline()
							assert.False(t, ok, "the time of one hook is not that of another")
							return nil
						})
						ctx := hooks.WithScope(hooks.WithScope(t.Context(), outer), r)
						start := time.Now()
						c := d.fresh()
						err := d.run(ctx, c, func(ctx context.Context, c seamContext) error {
							bodies++
							if call, ok := c.native().(*hooks.ToolCall); ok {
								call.Result = "hunter2"
							}
							return ctx.Err()
						})
						assert.Equal(t, tt.takes, time.Since(start))
						refused := tt.closed && at == "pre"
						assert.Equal(t, !refused, bodies == 1)
						assert.Equal(t, !refused || d.tool, posts == 1)
						if !tt.closed {
							require.NoError(t, err)
							require.NoError(t, c.failure())
							return
						}
						abort := deadlineRefusal(t, c, err)
						assert.ErrorIs(t, abort, context.DeadlineExceeded)
						assert.Equal(t, "limit failed", abort.Reason)
						assert.Equal(t, "limit", abort.Source)
					})
				})
			}
		}
	}
}

// deadlineRun is a run of one turn that asks a model, calls a tool and asks the
// model again. Each hook and each body takes a second, so that a deadline can
// be made to fall into any of them.
type deadlineRun struct {
	t           *testing.T
	ctx         context.Context // of the run
	began       time.Time
	deadline    time.Duration // from the beginning
	open        int           // seams whose pre point passed and whose post point hasn't fired
	bodies      []string
	postsAfter  int // posts that fired after the deadline
	ends        int
	interrupted bool // a body was
}

func deadlineOn[C any](run *deadlineRun, r *hooks.Registry, p hooks.Point[C], post bool) {
	hooks.On(p, func(ctx context.Context, _ *C) error {
		if post {
			run.open--
			assert.NoError(run.t, ctx.Err(), "%s fires with a ctx that is done", p.Name())
			if time.Since(run.began) >= run.deadline {
				run.postsAfter++
			}
		} else {
			assert.NoError(run.t, run.ctx.Err(), "%s fires for work that will not happen", p.Name())
			run.open++
		}
		return deadlineWait(ctx, time.Second)
	}, hooks.In(r))
}

func deadlineBody[C any](run *deadlineRun, name string) func(context.Context, *C) error {
	return func(ctx context.Context, _ *C) error {
		run.bodies = append(run.bodies, name)
		assert.NoError(run.t, run.ctx.Err(), "%s is started after the deadline", name)
		err := deadlineWait(ctx, time.Second)
		run.interrupted = run.interrupted || err != nil
		return err
	}
}

func (run *deadlineRun) do(x *hooks.Execution) error {
	return hooks.RunExecution(run.ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		x.Output = "done"
		return hooks.RunStep(ctx, &hooks.Step{Kind: hooks.StepTurn}, func(ctx context.Context, _ *hooks.Step) error {
			if err := hooks.RunModel(ctx, &hooks.ModelCall{}, deadlineBody[hooks.ModelCall](run, "model")); err != nil {
				return err
			}
			call := &hooks.ToolCall{Name: "search"}
			err := hooks.RunTool(ctx, call, deadlineBody[hooks.ToolCall](run, "tool"))
			if err != nil || ctx.Err() != nil {
				assert.True(run.t, call.Ran() || call.Result == "Tool was not run: cancelled")
			}
			if err != nil {
				return err
			}
			return hooks.RunModel(ctx, &hooks.ModelCall{}, deadlineBody[hooks.ModelCall](run, "model again"))
		})
	})
}

func TestARunEndsWellWhereverItsDeadlineFalls(t *testing.T) {
	t.Parallel()
	// Start, Input, PreStep; three times pre, body and post; PostStep, Output,
	// ExecutionEnd.
	const takes = 3 + 3*3 + 3
	for second := range takes + 1 {
		for _, how := range []string{"deadline", "cancel"} {
			t.Run(fmt.Sprint(how, " in second ", second), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					run := &deadlineRun{t: t, began: time.Now()}
					run.deadline = time.Duration(second)*time.Second + 500*time.Millisecond
					ctx, r := newRun(t)
					want := context.DeadlineExceeded
					var cancel context.CancelFunc
					if how == "deadline" {
						ctx, cancel = context.WithTimeout(ctx, run.deadline)
					} else {
						want = context.Canceled
						ctx, cancel = context.WithCancel(ctx)
						time.AfterFunc(run.deadline, cancel)
					}
					defer cancel()
					run.ctx = ctx
					deadlineOn(run, r, hooks.ExecutionStart, false)
					deadlineOn(run, r, hooks.ExecutionEnd, true)
					deadlineOn(run, r, hooks.PreStep, false)
					deadlineOn(run, r, hooks.PostStep, true)
					deadlineOn(run, r, hooks.PreModelCall, false)
					deadlineOn(run, r, hooks.PostModelCall, true)
					deadlineOn(run, r, hooks.PreToolCall, false)
					deadlineOn(run, r, hooks.PostToolCall, true)
					for _, p := range []hooks.Point[hooks.Execution]{hooks.Input, hooks.Output} {
						hooks.On(p, func(ctx context.Context, _ *hooks.Execution) error {
							if p == hooks.Output && time.Since(run.began) >= run.deadline {
								run.postsAfter++
							}
							return deadlineWait(ctx, time.Second)
						}, hooks.In(r))
					}
					hooks.On(hooks.ExecutionEnd, func(context.Context, *hooks.Execution) error { run.ends++; return nil }, hooks.In(r))

					x := &hooks.Execution{}
					err := run.do(x)
					assert.Zero(t, run.open, "seams without their post point")
					assert.Equal(t, 1, run.ends)
					assert.Equal(t, min(takes*time.Second, run.deadline+time.Duration(run.postsAfter)*time.Second), time.Since(run.began))
					if len(run.bodies) == 3 && !run.interrupted {
						require.NoError(t, err, "nothing was left to do")
						assert.Equal(t, hooks.StatusCompleted, x.Status)
						assert.Equal(t, "done", x.Output)
						return
					}
					assert.Equal(t, want, err)
					assert.Equal(t, want, x.Err)
					assert.Equal(t, hooks.StatusFailed, x.Status)
					assert.Nil(t, x.Output)
				})
			})
		}
	}
}

func TestParallelToolCallsEndWithTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
		defer cancel()
		var posts atomic.Int64
		hooks.On(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
			posts.Add(1)
			assert.NoError(t, ctx.Err())
			return nil
		}, hooks.In(r))
		calls := make([]*hooks.ToolCall, 6)
		for i := range calls {
			calls[i] = &hooks.ToolCall{Name: fmt.Sprint("tool_", i)}
		}
		start := time.Now()
		err := hooks.RunTools(ctx, calls, 2, func(ctx context.Context, c *hooks.ToolCall) error {
			if err := deadlineWait(ctx, time.Second); err != nil {
				return err
			}
			c.Result = "done"
			return nil
		})
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.Equal(t, 1500*time.Millisecond, time.Since(start))
		assert.EqualValues(t, 4, posts.Load(), "two that finished and two that were interrupted")
		var done, interrupted, unstarted int
		for _, c := range calls {
			switch {
			case c.Result == "done" && c.Err == nil && c.Ran():
				done++
			case c.Ran() && errors.Is(c.Err, context.DeadlineExceeded) && c.Result != "":
				interrupted++
			case !c.Ran() && c.Err == context.DeadlineExceeded && c.Result == "Tool was not run: cancelled":
				unstarted++
			}
		}
		assert.Equal(t, []int{2, 2, 2}, []int{done, interrupted, unstarted})
	})
}

func TestAHookUnderATimeoutSeesWhyItsCallerWasCancelled(t *testing.T) {
	t.Parallel()
	why := errors.New("the user left")
	for name, opts := range map[string][]hooks.Option{"hook": nil, "guard": {hooks.AsGuard()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				ctx, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(time.Second, func() { cancel(why) })
				hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
					err := deadlineWait(ctx, time.Minute)
					assert.Equal(t, context.Canceled, err)
					assert.Equal(t, why, context.Cause(ctx))
					return err
				}, append(opts, hooks.In(r), hooks.WithTimeout(time.Hour))...)
				start := time.Now()
				err := hooks.RunStep(ctx, &hooks.Step{}, func(context.Context, *hooks.Step) error { t.Error("the body ran"); return nil })
				assert.ErrorIs(t, err, context.Canceled)
				assert.Equal(t, time.Second, time.Since(start))
			})
		})
	}
}

// A post hook of a cancelled run has the whole of its time.
func TestATimeoutAfterACancelStartsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		written := false
		hooks.On(hooks.ExecutionEnd, func(ctx context.Context, x *hooks.Execution) error {
			assert.Equal(t, hooks.StatusFailed, x.Status)
			written = deadlineWait(ctx, 4*time.Second) == nil
			return nil
		}, hooks.In(r), hooks.WithTimeout(5*time.Second))
		start := time.Now()
		err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			<-ctx.Done()
			return ctx.Err()
		})
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.True(t, written)
		assert.Equal(t, 5*time.Second, time.Since(start))
	})
}

// deadlinePerson answers late.
type deadlinePerson struct{ after time.Duration }

func (p deadlinePerson) RequestInput(ctx context.Context, _, _ string) (string, error) {
	if err := deadlineWait(ctx, p.after); err != nil {
		return "", err
	}
	return "yes", nil
}

func TestAnApprovalThatNobodyGivesInTimeRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		after   time.Duration
		allowed bool
	}{{59 * time.Second, true}, {61 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, r := newRun(t)
			ctx = hooks.WithHumanInput(ctx, deadlinePerson{tt.after})
			hooks.On(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
				answer, err := c.RequestHumanInput(ctx, "Delete?", "yes or no:")
				if err == nil && answer != "yes" {
					err = hooks.Abort("the operator refused")
				}
				return err
			}, hooks.In(r), hooks.AsGuard(), hooks.WithTimeout(time.Minute), hooks.WithName("approval"))
			call := &hooks.ToolCall{Name: "delete"}
			start := time.Now()
			require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
			assert.Equal(t, min(tt.after, time.Minute), time.Since(start))
			assert.Equal(t, tt.allowed, call.Ran())
			if !tt.allowed {
				assert.ErrorIs(t, call.Blocked, context.DeadlineExceeded)
				assert.Equal(t, "Tool execution blocked by hook. Tool: delete. Reason: approval failed", call.Result)
			}
		})
	}
}

// deadlineOddCtx is a legal ctx on which == panics.
type deadlineOddCtx struct {
	context.Context
	labels map[string]string
}

func TestSeamsTakeAContextThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		posts := 0
		d.onPre(r, seamProceed)
		d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		exit := seamLeave(t, func() error {
			return d.run(deadlineOddCtx{Context: ctx, labels: map[string]string{}}, d.fresh(), seamProceed)
		})
		assert.Equal(t, seamExit{}, exit)
		assert.Equal(t, 1, posts)
	})
}
