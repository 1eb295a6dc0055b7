// The seams around executions, steps and model calls: the order of their points
// and their fields after each kind of end.

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// ExecutionEnd gets a ctx that isn't done although an earlier hook cancelled.
func TestRunExecution_endGetsLiveContext(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output} {
		ctx, r := newRun(t)
		ctx, cancel := context.WithCancel(ctx)
		hooks.On(at, func(context.Context, *hooks.Execution) error { cancel(); return nil }, hooks.In(r))
		ends := 0
		hooks.On(hooks.ExecutionEnd, func(ctx context.Context, x *hooks.Execution) error {
			ends++
			assert.NoError(t, ctx.Err(), at.Name())
			assert.NotEqual(t, hooks.StatusRunning, x.Status, at.Name())
			return nil
		}, hooks.In(r))
		x := &hooks.Execution{}
		err := hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { x.Output = "done"; return nil })
		assert.Equal(t, 1, ends, at.Name())
		if at == hooks.Output {
			assert.NoError(t, err)
			assert.Equal(t, "done", x.Output)
		} else {
			assert.Equal(t, context.Canceled, err, at.Name())
		}
	}
}

func TestRunExecution_nestedEndsWithParent(t *testing.T) {
	t.Parallel()
	ctx, parent := newRun(t)
	child := hooks.NewRegistry()
	var log []string
	note := func(who string, r *hooks.Registry) {
		hooks.On(hooks.PreStep, func(_ context.Context, s *hooks.Step) error { log = append(log, who+" "+s.Name); return nil }, hooks.In(r))
	}
	note("parent's", parent)
	note("child's", child)
	step := func(ctx context.Context, name string) error {
		return hooks.RunStep(ctx, &hooks.Step{Name: name}, func(context.Context, *hooks.Step) error { return nil })
	}
	ctx, cancel := context.WithCancel(ctx)
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		err := hooks.RunExecution(hooks.WithScope(ctx, child), &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			return step(ctx, "in the child")
		})
		assert.NoError(t, err)
		assert.NoError(t, step(ctx, "in the parent"))
		return hooks.RunExecution(hooks.WithScope(ctx, child), &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			cancel()
			return step(ctx, "after the cancel")
		})
	})
	assert.Equal(t, context.Canceled, err)
	assert.Equal(t, []string{"parent's in the child", "child's in the child", "parent's in the parent"}, log)
}

func TestRunExecution_endFiresAfterGoexitOfHook(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.Execution]{hooks.Input, hooks.Output} {
		t.Run(string(at.Name()), func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			hooks.On(at, func(context.Context, *hooks.Execution) error { runtime.Goexit(); return nil }, hooks.In(r))
			ends := 0
			hooks.On(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
				ends++
				assert.Equal(t, hooks.StatusFailed, x.Status)
				assert.ErrorIs(t, x.Err, hooks.ErrGoexit)
				return nil
			}, hooks.In(r))
			x := &hooks.Execution{}
			exit := seamLeave(t, func() error {
				return hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { x.Output = "done"; return nil })
			})
			assert.True(t, exit.exited)
			assert.Equal(t, 1, ends)
		})
	}
}

func TestRunExecution_goexitAtEndFiresOnce(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	ends := 0
	hooks.On(hooks.ExecutionEnd, func(context.Context, *hooks.Execution) error { ends++; runtime.Goexit(); return nil }, hooks.In(r))
	exit := seamLeave(t, func() error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(context.Context, *hooks.Execution) error { return nil })
	})
	assert.True(t, exit.exited)
	assert.Equal(t, 1, ends)
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

// Wherever the deadline falls, each open seam gets its post point and nothing
// new starts.
func TestRunExecution_endsWellAtAnyDeadline(t *testing.T) {
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

type (
	seamExecFunc = func(context.Context, *hooks.Execution) error
	seamRunExec  = func(context.Context, *hooks.Execution, seamExecFunc) error
)

var seamExecPoints = []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd}

// seamEachExecution runs a parallel subtest for both forms of the seam.
func seamEachExecution(t *testing.T, test func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec)) {
	t.Helper()
	for _, d := range seamDrivers() {
		if d.pre != hooks.ExecutionStart.Name() {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			test(t, ctx, r, func(ctx context.Context, x *hooks.Execution, body seamExecFunc) error {
				return d.run(ctx, seamExecution{x}, func(ctx context.Context, c seamContext) error {
					return body(ctx, c.native().(*hooks.Execution))
				})
			})
		})
	}
}

func seamOnExec(r *hooks.Registry, p hooks.Point[hooks.Execution], fn seamExecFunc, opts ...hooks.Option) {
	hooks.On(p, fn, append(opts, hooks.In(r))...)
}

// seamNoteExec writes down each execution point that fires.
func seamNoteExec(r *hooks.Registry, log *[]string) {
	for _, p := range seamExecPoints {
		seamOnExec(r, p, func(_ context.Context, x *hooks.Execution) error {
			*log = append(*log, fmt.Sprintf("%s %s", p.Name(), x.Status))
			return nil
		}, hooks.WithPriority(1))
	}
}

func TestRunExecution_firesFourPointsInOrder(t *testing.T) {
	t.Parallel()
	seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
		var log []string
		seamNoteExec(r, &log)
		seamOnExec(r, hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error { x.Inputs["topic"] = "cats"; return nil })
		seamOnExec(r, hooks.Input, func(_ context.Context, x *hooks.Execution) error {
			x.Inputs = map[string]any{"topic": x.Inputs["topic"], "depth": 2}
			return nil
		})
		seamOnExec(r, hooks.Output, func(_ context.Context, x *hooks.Execution) error {
			x.Output = x.Output.(string) + ", redacted"
			return nil
		})
		seamOnExec(r, hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
			x.Output = x.Output.(string) + ", signed"
			return nil
		})
		x := &hooks.Execution{}
		require.NoError(t, run(ctx, x, func(_ context.Context, x *hooks.Execution) error {
			log = append(log, "body")
			assert.Equal(t, map[string]any{"topic": "cats", "depth": 2}, x.Inputs)
			assert.Equal(t, hooks.StatusRunning, x.Status)
			x.Output = "report"
			return nil
		}))
		assert.Equal(t, []string{
			"execution_start running", "input running", "body", "output running", "execution_end completed",
		}, log)
		assert.Equal(t, "report, redacted, signed", x.Output, "the final value is what all hooks left")
		assert.Equal(t, hooks.StatusCompleted, x.Status)
		assert.NoError(t, x.Err)
	})
}

// One map of defaults may serve many runs, at the same time too: what a hook
// adds for one of them stays in it.
func TestRunExecution_hooksEditACopyOfInputs(t *testing.T) {
	t.Parallel()
	seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
		added := 0
		for _, p := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd} {
			seamOnExec(r, p, func(_ context.Context, x *hooks.Execution) error {
				added++
				x.Inputs["token"] = added
				return nil
			})
		}
		inputs := map[string]any{"topic": "cats"}
		for _, want := range []int{2, 6} {
			x := &hooks.Execution{Inputs: inputs}
			var kept map[string]any
			require.NoError(t, run(ctx, x, func(_ context.Context, x *hooks.Execution) error {
				kept = x.Inputs
				assert.Equal(t, map[string]any{"topic": "cats", "token": want}, x.Inputs)
				return nil
			}))
			assert.Equal(t, want, kept["token"], "nor do hooks behind the body write into what it kept")
		}
		assert.Equal(t, map[string]any{"topic": "cats"}, inputs)
		assert.Equal(t, 8, added)
	})
}

func TestRunExecution_failedEndsOnceWithSameError(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	for name, tc := range map[string]struct {
		body  seamExecFunc
		check func(t *testing.T, seen error, exit seamExit)
	}{
		"error": {func(context.Context, *hooks.Execution) error { return failure }, func(t *testing.T, seen error, exit seamExit) {
			assert.Same(t, failure, seen)
			assert.Same(t, failure, exit.err)
		}},
		"panic": {func(context.Context, *hooks.Execution) error { panic(failure) }, func(t *testing.T, seen error, exit seamExit) {
			assert.ErrorIs(t, seen, failure)
			assert.Same(t, failure, exit.value)
		}},
		"goexit": {func(context.Context, *hooks.Execution) error { runtime.Goexit(); return nil }, func(t *testing.T, seen error, exit seamExit) {
			assert.Same(t, hooks.ErrGoexit, seen)
			assert.True(t, exit.exited)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
				var log []string
				var seen error
				seamNoteExec(r, &log)
				seamOnExec(r, hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
					seen = x.Err
					assert.Nil(t, x.Output)
					return &hooks.HookAborted{Reason: "ignored", StopRun: true}
				})
				x := &hooks.Execution{}
				exit := seamLeave(t, func() error {
					return run(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
						x.Output = "half a report"
						return tc.body(ctx, x)
					})
				})
				assert.Equal(t, []string{"execution_start running", "input running", "execution_end failed"}, log)
				tc.check(t, seen, exit)
				assert.Equal(t, hooks.StatusFailed, x.Status)
				assert.Nil(t, x.Output)
			})
		})
	}
}

// What was opened at ExecutionStart by a hook before the one that aborts is
// for the application to close: there is no end without a start that passed.
func TestRunExecution_abortAtEachPoint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		at     hooks.Point[hooks.Execution]
		points []string
	}{
		{hooks.ExecutionStart, []string{"execution_start running"}},
		{hooks.Input, []string{"execution_start running", "input running", "execution_end failed"}},
		{hooks.Output, []string{"execution_start running", "input running", "body", "output running", "execution_end failed"}},
		{hooks.ExecutionEnd, []string{"execution_start running", "input running", "body", "output running", "execution_end completed"}},
	} {
		t.Run(string(tc.at.Name()), func(t *testing.T) {
			t.Parallel()
			seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
				var log []string
				var events []string
				seamNoteExec(r, &log)
				seamOnExec(r, hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error { x.Inputs["kept"] = true; return nil })
				seamOnExec(r, tc.at, func(context.Context, *hooks.Execution) error { return hooks.Abort("no") })
				r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
					events = append(events, fmt.Sprintf("%s %v", ev.Point, ev.Outcome == hooks.OutcomeAborted))
				})
				x := &hooks.Execution{}
				err := run(ctx, x, func(_ context.Context, x *hooks.Execution) error {
					log = append(log, "body")
					x.Output = "report"
					return nil
				})
				abort, ok := errors.AsType[*hooks.HookAborted](err)
				require.True(t, ok)
				assert.Equal(t, "no", abort.Reason)
				assert.Equal(t, tc.at.Name(), abort.Point)
				assert.Equal(t, tc.points, log)
				assert.Equal(t, hooks.StatusFailed, x.Status)
				assert.Equal(t, err, x.Err)
				assert.Nil(t, x.Output)
				assert.Equal(t, map[string]any{"kept": true}, x.Inputs, "what was edited before an abort stays")

				var want []string
				for _, p := range seamExecPoints {
					want = append(want, fmt.Sprintf("%s %v", p.Name(), p == tc.at))
					if p == hooks.ExecutionStart && tc.at == p {
						break
					}
					if p == hooks.Input && tc.at == p {
						want = append(want, "execution_end false")
						break
					}
				}
				assert.Equal(t, want, events, "every start that passed has one end")
			})
		})
	}
}

// Start and end belong together by call, not by value: one Execution may be
// entered from inside.
func TestRunExecution_nestedPairsStartAndEnd(t *testing.T) {
	t.Parallel()
	seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
		failure := errors.New("outer")
		pairs := func(outer, inner *hooks.Execution) []string {
			var log []string
			scope := hooks.NewRegistry()
			seamOnExec(scope, hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error {
				log = append(log, "start "+x.RunID)
				return nil
			})
			seamOnExec(scope, hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
				log = append(log, fmt.Sprintf("end %s %s", x.RunID, x.Status))
				return nil
			})
			err := run(hooks.WithScope(ctx, scope), outer, func(ctx context.Context, _ *hooks.Execution) error {
				assert.NoError(t, run(ctx, inner, func(context.Context, *hooks.Execution) error { return nil }))
				return failure
			})
			assert.Same(t, failure, err)
			return log
		}
		outer := &hooks.Execution{Caller: hooks.Caller{RunID: "outer"}}
		inner := &hooks.Execution{Caller: hooks.Caller{RunID: "inner"}}
		want := []string{"start outer", "start inner", "end inner completed", "end outer failed"}
		assert.Equal(t, want, pairs(outer, inner))

		again := &hooks.Execution{Caller: hooks.Caller{RunID: "again"}}
		want = []string{"start again", "start again", "end again completed", "end again failed"}
		assert.Equal(t, want, pairs(again, again), "one value, entered from inside")
		assert.Same(t, failure, again.Err)

		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				x := &hooks.Execution{Caller: hooks.Caller{RunID: "again"}}
				assert.Equal(t, want, pairs(x, &hooks.Execution{Caller: x.Caller}))
			})
		}
		wg.Wait()
	})
}

// Every execution that started ends once, however its body ends.
func TestRunExecution_endsOnceConcurrentSafe(t *testing.T) {
	t.Parallel()
	seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
		var mu sync.Mutex
		starts, ends := map[string]int{}, map[string]int{}
		seamOnExec(r, hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error {
			mu.Lock()
			defer mu.Unlock()
			starts[x.RunID]++
			return nil
		})
		seamOnExec(r, hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
			mu.Lock()
			defer mu.Unlock()
			ends[fmt.Sprint(x.RunID, " ", x.Status)]++
			return nil
		})
		seamOnTool(r, hooks.PreToolCall, seamRefuse(&hooks.HookAborted{Reason: "no", StopRun: true}))
		kinds := []seamExecFunc{
			func(context.Context, *hooks.Execution) error { return nil },
			func(context.Context, *hooks.Execution) error { return errors.New("bug") },
			func(context.Context, *hooks.Execution) error { panic("bug") },
			func(context.Context, *hooks.Execution) error { runtime.Goexit(); return nil },
			func(ctx context.Context, _ *hooks.Execution) error {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx.Err()
			},
			func(ctx context.Context, _ *hooks.Execution) error {
				return hooks.RunTool(ctx, &hooks.ToolCall{Name: "rm"}, seamReturns("gone"))
			},
		}
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				kind := i % len(kinds)
				exit := seamLeave(t, func() error {
					return run(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: fmt.Sprint(i)}}, kinds[kind])
				})
				assert.Equal(t, kind == 0, exit == seamExit{})
			})
		}
		wg.Wait()
		for i := range 100 {
			status := hooks.StatusFailed
			if i%len(kinds) == 0 {
				status = hooks.StatusCompleted
			}
			assert.Equal(t, 1, starts[fmt.Sprint(i)])
			assert.Equal(t, 1, ends[fmt.Sprint(i, " ", status)])
		}
		assert.Len(t, ends, 100)
	})
}

// An interrupt ends the execution once, and it is suspended.
func TestRunExecution_interruptedIsSuspended(t *testing.T) {
	t.Parallel()
	seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
		interrupt := errors.New("ask the user")
		var log []string
		seamNoteExec(r, &log)
		x := &hooks.Execution{}
		err := run(ctx, x, func(context.Context, *hooks.Execution) error { return hooks.PassThrough(interrupt) })
		assert.Same(t, interrupt, suspended(t, err).Err)
		assert.Equal(t, []string{"execution_start running", "input running", "execution_end suspended"}, log)
		assert.Same(t, err, x.Err)
		assert.Equal(t, hooks.StatusSuspended, x.Status)
	})
}

// An abort in a sub-agent's run leaves the run of its parent alone.
func TestRunExecution_subAgentsStopIsItsOwn(t *testing.T) {
	t.Parallel()
	seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
		var ends []string
		seamOnExec(r, hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
			ends = append(ends, fmt.Sprintf("%s %s", x.RunID, x.Status))
			return nil
		})
		child := hooks.NewRegistry()
		hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
			return &hooks.HookAborted{Reason: "child's budget", Source: "child's guard"}
		}, hooks.In(child))
		later := 0
		require.NoError(t, run(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "parent"}}, func(ctx context.Context, x *hooks.Execution) error {
			sub := &hooks.Execution{Caller: hooks.Caller{RunID: "child"}}
			err := run(hooks.WithScope(ctx, child), sub, func(ctx context.Context, _ *hooks.Execution) error {
				return hooks.RunStep(ctx, &hooks.Step{}, func(context.Context, *hooks.Step) error { t.Error("a blocked step ran"); return nil })
			})
			abort, ok := errors.AsType[*hooks.HookAborted](err)
			if assert.True(t, ok) {
				assert.Equal(t, "child's budget", abort.Reason)
				assert.Equal(t, "child's guard", abort.Source)
				assert.Equal(t, hooks.PreStep.Name(), abort.Point)
			}
			assert.Equal(t, hooks.StatusFailed, sub.Status)
			return hooks.RunStep(ctx, &hooks.Step{}, func(context.Context, *hooks.Step) error { later++; return nil })
		}))
		assert.Equal(t, []string{"child failed", "parent completed"}, ends)
		assert.Equal(t, 1, later)
	})
}

func seamOnStep(r *hooks.Registry, p hooks.Point[hooks.Step], fn func(context.Context, *hooks.Step) error, opts ...hooks.Option) {
	hooks.On(p, fn, append(opts, hooks.In(r))...)
}

func TestRunStep_returnsWhatPostHooksLeft(t *testing.T) {
	t.Parallel()
	for _, kind := range []hooks.StepKind{hooks.StepTask, hooks.StepFlowMethod, hooks.StepTurn} {
		ctx, r := newRun(t)
		seamOnStep(r, hooks.PreStep, func(_ context.Context, s *hooks.Step) error {
			assert.Equal(t, kind, s.Kind)
			assert.Equal(t, "plan", s.Name)
			assert.Equal(t, "goal", s.Input)
			s.Input = "small goal"
			return nil
		})
		seamOnStep(r, hooks.PostStep, func(_ context.Context, s *hooks.Step) error {
			assert.Equal(t, "raw plan for small goal", s.Output)
			s.Output = "clean"
			return nil
		})
		s := &hooks.Step{Kind: kind, Name: "plan", Input: "goal"}
		require.NoError(t, hooks.RunStep(ctx, s, func(_ context.Context, s *hooks.Step) error {
			s.Output = fmt.Sprint("raw plan for ", s.Input)
			return nil
		}))
		assert.Equal(t, "clean", s.Output)
	}
	assert.Equal(t, []hooks.StepKind{"task", "flow_method", "turn"}, []hooks.StepKind{hooks.StepTask, hooks.StepFlowMethod, hooks.StepTurn})
}

// A nil output is a replacement like any other.
func TestRunStep_nilReplacesOutput(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	seamOnStep(r, hooks.PostStep, func(_ context.Context, s *hooks.Step) error { s.Output = nil; return nil })
	s := &hooks.Step{}
	require.NoError(t, hooks.RunStep(ctx, s, func(_ context.Context, s *hooks.Step) error { s.Output = "secret"; return nil }))
	assert.Nil(t, s.Output)
}

func TestRunStep_abortStopsLoop(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		ctx, r := newRun(t)
		stop := func(s *hooks.Step) error {
			if s.Name == "2" {
				return hooks.Abort("enough")
			}
			return nil
		}
		seamOnStep(r, at, func(_ context.Context, s *hooks.Step) error { return stop(s) })
		var bodies []string
		loop := func() error {
			for i := range 5 {
				err := hooks.RunStep(ctx, &hooks.Step{Name: fmt.Sprint(i + 1)}, func(_ context.Context, s *hooks.Step) error {
					bodies = append(bodies, s.Name)
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}
		assert.True(t, seamIsAbort(loop()), at.Name())
		want := []string{"1"}
		if at == hooks.PostStep {
			want = []string{"1", "2"}
		}
		assert.Equal(t, want, bodies, at.Name())
	}
}

// Nobody after the hook sees what the output was before.
func TestRunStep_replacedOutputIsOnlyOneLeft(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var seen []any
	seamOnStep(r, hooks.PostStep, func(_ context.Context, s *hooks.Step) error { s.Output = "clean"; return nil }, hooks.WithPriority(1))
	seamOnStep(r, hooks.PostStep, func(_ context.Context, s *hooks.Step) error { seen = append(seen, s.Output); return nil })
	seamOnStep(r, hooks.PreStep, func(_ context.Context, s *hooks.Step) error { seen = append(seen, s.Input); return nil })
	seamOnExec(r, hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		seen = append(seen, x.Output)
		x.Output = "final"
		return nil
	})
	seamOnExec(r, hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error { seen = append(seen, x.Output); return nil })
	var events []hooks.HookDispatchedEvent
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { events = append(events, ev) })
	x := &hooks.Execution{}
	require.NoError(t, hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		var last any = "goal"
		for _, name := range []string{"first", "second"} {
			s := &hooks.Step{Name: name, Input: last}
			if err := hooks.RunStep(ctx, s, func(_ context.Context, s *hooks.Step) error { s.Output = "raw"; return nil }); err != nil {
				return err
			}
			last = s.Output
		}
		x.Output = last
		return nil
	}))
	assert.Equal(t, []any{"goal", "clean", "clean", "clean", "clean", "final"}, seen)
	assert.Equal(t, "final", x.Output)
	assert.NotContains(t, fmt.Sprintf("%+v", events), "raw")
}

func TestRunExecution_firesPointsOfLoopOnly(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var log []string
	for _, p := range seamExecPoints {
		seamOnExec(r, p, func(context.Context, *hooks.Execution) error { log = append(log, string(p.Name())); return nil })
	}
	for _, p := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		seamOnStep(r, p, func(_ context.Context, s *hooks.Step) error {
			log = append(log, string(p.Name())+" "+s.Name)
			return nil
		})
	}
	for _, p := range []hooks.Point[hooks.ModelCall]{hooks.PreModelCall, hooks.PostModelCall} {
		seamOnModel(r, p, func(context.Context, *hooks.ModelCall) error { log = append(log, string(p.Name())); return nil })
	}
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		seamOnTool(r, p, func(_ context.Context, c *hooks.ToolCall) error {
			log = append(log, string(p.Name())+" "+c.Name)
			return nil
		})
	}
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		return hooks.RunStep(ctx, &hooks.Step{Name: "turn"}, func(ctx context.Context, _ *hooks.Step) error {
			if err := hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { return nil }); err != nil {
				return err
			}
			return hooks.RunTools(ctx, []*hooks.ToolCall{{Name: "ls"}}, 0, seamReturns("a b"))
		})
	}))
	assert.Equal(t, []string{
		"execution_start", "input", "pre_step turn", "pre_model_call", "post_model_call",
		"pre_tool_call ls", "post_tool_call ls", "post_step turn", "output", "execution_end",
	}, log)
}

func TestRunStep_vetoedHasError(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		ctx, r := newRun(t)
		seamOnStep(r, at, func(context.Context, *hooks.Step) error { return hooks.Abort("no") })
		s := &hooks.Step{Err: errors.New("left over"), Output: "left over"}
		err := hooks.RunStep(ctx, s, func(context.Context, *hooks.Step) error { return nil })
		require.True(t, seamIsAbort(err))
		assert.Equal(t, err, s.Err)
		assert.Nil(t, s.Output)
	}
}

type (
	seamModelFunc = func(context.Context, *hooks.ModelCall) error
	seamRunModel  = func(context.Context, *hooks.ModelCall, seamModelFunc) error
)

// seamEachModel runs a parallel subtest for both forms of the model seam.
func seamEachModel(t *testing.T, test func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel)) {
	t.Helper()
	for _, d := range seamDrivers() {
		if d.pre != hooks.PreModelCall.Name() {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			test(t, ctx, r, func(ctx context.Context, m *hooks.ModelCall, body seamModelFunc) error {
				return d.run(ctx, seamModel{m}, func(ctx context.Context, c seamContext) error {
					return body(ctx, c.native().(*hooks.ModelCall))
				})
			})
		})
	}
}

func seamOnModel(r *hooks.Registry, p hooks.Point[hooks.ModelCall], fn seamModelFunc, opts ...hooks.Option) {
	hooks.On(p, fn, append(opts, hooks.In(r))...)
}

func seamTexts(messages []hooks.Message) []string {
	texts := make([]string, len(messages))
	for i := range messages {
		texts[i] = messages[i].Text()
	}
	return texts
}

func TestRunModel_sendsWhatPreHooksLeft(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		for name, tc := range map[string]struct {
			hook            func(m *hooks.ModelCall)
			messages, tools []string
		}{
			"append":    {func(m *hooks.ModelCall) { m.Messages = append(m.Messages, hooks.Message{Content: "c"}) }, []string{"a", "b", "c"}, []string{"ls", "rm"}},
			"trim":      {func(m *hooks.ModelCall) { m.Messages = m.Messages[1:] }, []string{"b"}, []string{"ls", "rm"}},
			"replace":   {func(m *hooks.ModelCall) { m.Messages = []hooks.Message{{Content: "x"}} }, []string{"x"}, []string{"ls", "rm"}},
			"empty":     {func(m *hooks.ModelCall) { m.Messages = nil }, []string{}, []string{"ls", "rm"}},
			"in place":  {func(m *hooks.ModelCall) { m.Messages[0].Content = "A" }, []string{"A", "b"}, []string{"ls", "rm"}},
			"hide":      {func(m *hooks.ModelCall) { m.Tools = append(m.Tools[:0], m.Tools[:1]...) }, []string{"a", "b"}, []string{"ls"}},
			"hide all":  {func(m *hooks.ModelCall) { m.Tools = nil }, []string{"a", "b"}, nil},
			"nothing":   {func(*hooks.ModelCall) {}, []string{"a", "b"}, []string{"ls", "rm"}},
			"add tools": {func(m *hooks.ModelCall) { m.Tools = append(m.Tools, "cp") }, []string{"a", "b"}, []string{"ls", "rm", "cp"}},
		} {
			scope := hooks.NewRegistry()
			seamOnModel(scope, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error { tc.hook(m); return nil })
			history := append(make([]hooks.Message, 0, 8), hooks.Message{Content: "a"}, hooks.Message{Content: "b"})
			offered := append(make([]string, 0, 8), "ls", "rm")
			ran := false
			m := &hooks.ModelCall{Messages: history, Tools: offered}
			require.NoError(t, run(hooks.WithScope(ctx, scope), m, func(_ context.Context, m *hooks.ModelCall) error {
				ran = true
				assert.Equal(t, tc.messages, seamTexts(m.Messages), name)
				assert.Equal(t, tc.tools, m.Tools, name)
				return nil
			}))
			assert.True(t, ran)
			assert.Equal(t, []string{"a", "b"}, seamTexts(history), "%s: the framework's own messages", name)
			assert.Equal(t, []string{"ls", "rm"}, offered, "%s: the framework's own tools", name)
			assert.Equal(t, hooks.Message{}, history[:3][2], "%s: behind the framework's own messages", name)
			assert.Empty(t, offered[:3][2], "%s: behind the framework's own tools", name)
		}
	})
}

// Two calls over one history never see each other's messages.
func TestRunModel_callsOverOneHistoryStayApart(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.Messages = append(m.Messages, hooks.Message{Content: "for " + m.Model})
			m.Tools = append(m.Tools, "for "+m.Model)
			return nil
		})
		history := append(make([]hooks.Message, 0, 8), hooks.Message{Content: "a"})
		offered := append(make([]string, 0, 8), "ls")
		inFirst := make(chan struct{})
		secondDone := make(chan struct{})
		first := make(chan error, 1)
		go func() {
			first <- run(ctx, &hooks.ModelCall{Model: "one", Messages: history, Tools: offered}, func(_ context.Context, m *hooks.ModelCall) error {
				close(inFirst)
				<-secondDone
				assert.Equal(t, []string{"a", "for one"}, seamTexts(m.Messages))
				assert.Equal(t, []string{"ls", "for one"}, m.Tools)
				return nil
			})
		}()
		<-inFirst
		assert.NoError(t, run(ctx, &hooks.ModelCall{Model: "two", Messages: history, Tools: offered}, func(_ context.Context, m *hooks.ModelCall) error {
			assert.Equal(t, []string{"a", "for two"}, seamTexts(m.Messages))
			return nil
		}))
		close(secondDone)
		assert.NoError(t, <-first)
	})
}

// Hooks at either point, or both, edit what is theirs: neither the arrays that
// calls share nor what a body kept or handed over is written.
func TestRunModel_hooksWriteNoArrayOfFramework(t *testing.T) {
	t.Parallel()
	edits := func(_ context.Context, m *hooks.ModelCall) error {
		m.Messages[0].Content, m.Messages[0].Parts[0].Text, m.Messages[0].ToolCalls[0].Arguments = m.Model, m.Model, m.Model
		m.Messages = append(m.Messages, hooks.Message{Content: m.Model})
		m.Tools[0] = m.Model
		m.Tools = append(m.Tools, m.Model)
		for i := range m.ToolCalls {
			m.ToolCalls[i].Arguments = m.Model
		}
		for i := range m.Parts {
			m.Parts[i].Text = m.Model
		}
		m.ToolCalls, m.Parts = append(m.ToolCalls, hooks.ToolRequest{}), append(m.Parts, hooks.Part{})
		return nil
	}
	state := func(messages []hooks.Message, tools []string, calls []hooks.ToolRequest, parts []hooks.Part) string {
		return fmt.Sprint(messages[:cap(messages)], tools[:cap(tools)], calls[:cap(calls)], parts[:cap(parts)])
	}
	for name, points := range map[string][]hooks.Point[hooks.ModelCall]{
		"pre": {hooks.PreModelCall}, "post": {hooks.PostModelCall}, "both": {hooks.PreModelCall, hooks.PostModelCall},
	} {
		for _, kind := range []string{"hook", "guard", "scope"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
					var edited atomic.Int64
					for _, p := range points {
						hook := func(ctx context.Context, m *hooks.ModelCall) error { edited.Add(1); return edits(ctx, m) }
						switch kind {
						case "hook":
							seamOnModel(r, p, hook)
						case "guard":
							seamOnModel(r, p, hook, hooks.AsGuard())
						case "scope":
							inner := hooks.NewRegistry()
							seamOnModel(inner, p, hook)
							ctx = hooks.WithScope(ctx, inner)
						}
						hooks.Watch(p, func(context.Context, *hooks.ModelCall, error) {}, hooks.In(r))
					}
					history := append(make([]hooks.Message, 0, 4), hooks.Message{
						Role: "user", Parts: append(make([]hooks.Part, 0, 2), hooks.Part{Text: "a"}),
						ToolCalls: append(make([]hooks.ToolRequest, 0, 2), hooks.ToolRequest{Arguments: "{}"}),
					})
					tools := append(make([]string, 0, 4), "ls")
					calls := append(make([]hooks.ToolRequest, 0, 4), hooks.ToolRequest{Arguments: "{}"})
					parts := append(make([]hooks.Part, 0, 4), hooks.Part{Text: "thought"})
					before := state(history, tools, calls, parts)
					var wg sync.WaitGroup
					for i := range 4 {
						wg.Go(func() {
							var kept hooks.ModelCall
							var was string
							m := &hooks.ModelCall{Model: fmt.Sprint(i), Messages: history, Tools: tools}
							assert.NoError(t, run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
								m.ToolCalls, m.Parts = calls, parts
								kept.Messages, kept.Tools = m.Messages, m.Tools
								was = fmt.Sprint(kept.Messages, kept.Tools)
								return nil
							}))
							assert.Equal(t, was, fmt.Sprint(kept.Messages, kept.Tools))
							if name != "post" {
								assert.Equal(t, m.Model, kept.Messages[0].Content)
							}
							if name != "pre" {
								assert.Equal(t, m.Model, m.ToolCalls[0].Arguments)
								assert.Equal(t, m.Model, m.Messages[len(m.Messages)-1].Content)
							}
						})
					}
					wg.Wait()
					assert.Equal(t, before, state(history, tools, calls, parts))
					assert.EqualValues(t, 4*len(points), edited.Load())
				})
			})
		}
	}
}

func TestRunModel_abortWinsOverAnswer(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		answered := 0
		seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error { answered++; m.Answer("hunter2"); return nil })
		seamOnModel(r, hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("budget") }, hooks.AsGuard())
		seamOnModel(r, hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { t.Error("a post point fired"); return nil })
		m := &hooks.ModelCall{}
		err := run(ctx, m, func(context.Context, *hooks.ModelCall) error { t.Error("the model was called"); return nil })
		require.True(t, seamIsAbort(err))
		assert.Equal(t, err, m.Err)
		assert.Empty(t, m.Response)
		assert.False(t, m.Answered())
		assert.Equal(t, 1, answered)
	})
}

// A replaced text leaves tool calls, usage and the raw response alone.
func TestRunModel_newTextKeepsToolCallsAndRaw(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		type response struct{ text string }
		raw := &response{"raw"}
		asked := []hooks.ToolRequest{{ID: "1", Name: "ls", Arguments: "{}"}, {ID: "2", Name: "rm", Arguments: "{}"}}
		seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.Response = "clean"; return nil })
		m := &hooks.ModelCall{}
		body := func(_ context.Context, m *hooks.ModelCall) error {
			m.Response, m.ToolCalls, m.RawResponse, m.Usage = "raw", asked, raw, hooks.Usage{In: 3, Out: 5}
			return nil
		}
		require.NoError(t, run(ctx, m, body))
		assert.Equal(t, "clean", m.Response)
		assert.Equal(t, asked, m.ToolCalls)
		assert.Same(t, raw, m.RawResponse)
		assert.Equal(t, hooks.Usage{In: 3, Out: 5}, m.Usage)

		seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.ToolCalls = m.ToolCalls[:1]; return nil })
		require.NoError(t, run(ctx, m, body))
		assert.Equal(t, asked[:1], m.ToolCalls, "what stands there after the post hooks is what runs")
	})
}

func TestRunModel_watchersLeaveAnswerAsItIs(t *testing.T) {
	t.Parallel()
	for watchers := range 3 {
		t.Run(fmt.Sprint(watchers), func(t *testing.T) {
			t.Parallel()
			seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
				asked := []hooks.ToolRequest{{ID: "1", Name: "ls", Arguments: "{}"}}
				seen := 0
				for range watchers {
					seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
						seen++
						assert.Equal(t, asked, m.ToolCalls)
						return nil
					})
				}
				m := &hooks.ModelCall{}
				require.NoError(t, run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
					m.ToolCalls, m.RawResponse = asked, asked
					return nil
				}))
				assert.Equal(t, watchers, seen, "a turn that asks for tools fires the post point too")
				assert.Equal(t, asked, m.RawResponse)
				assert.Empty(t, m.Response)
			})
		})
	}
}

func TestRunModel_postHookVetoesToolRequests(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			if len(m.ToolCalls) > 0 {
				return hooks.Abort("no tools at night")
			}
			return nil
		})
		m := &hooks.ModelCall{}
		err := run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.ToolCalls = []hooks.ToolRequest{{Name: "rm"}}
			return nil
		})
		assert.True(t, seamIsAbort(err))
		assert.Equal(t, err, m.Err)
	})
}

// A retry helper that asks for aborts finds one and stops.
func TestRunModel_vetoIsNotRetried(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		dispatched := 0
		seamOnModel(r, hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { dispatched++; return hooks.Abort("budget") })
		retry := func(call func() error) (err error) {
			for range 3 {
				if err = call(); err == nil || seamIsAbort(err) {
					return err
				}
			}
			return err
		}
		err := retry(func() error {
			if err := run(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { t.Error("the model was called"); return nil }); err != nil {
				return fmt.Errorf("provider: %w", err)
			}
			return nil
		})
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "budget", abort.Reason)
		assert.Equal(t, hooks.PreModelCall.Name(), abort.Point)
		assert.Equal(t, 1, dispatched)
	})
}

// A loop that must not show unredacted text buffers until the seam returns.
func TestRunModel_postHooksJudgeJoinedStream(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			if strings.Contains(m.Response, "secret") {
				return hooks.Abort("a secret")
			}
			return nil
		}, hooks.AsGuard())
		var shown, buffered []string
		m := &hooks.ModelCall{}
		err := run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			for _, chunk := range []string{"the ", "sec", "ret", " is ", "out"} {
				buffered = append(buffered, chunk)
				m.Response += chunk
			}
			return nil
		})
		if err == nil {
			shown = buffered
		}
		assert.True(t, seamIsAbort(err))
		assert.Empty(t, shown)
	})
}

// Post hooks get what a cancelled model had sent so far.
func TestRunModel_cancelledGivesPartialResponse(t *testing.T) {
	t.Parallel()
	type response struct{ Message *string }
	for name, raw := range map[string]any{"nothing": nil, "a nil pointer": (*response)(nil), "half a response": &response{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
				ctx, cancel := context.WithCancel(ctx)
				posts := 0
				seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
					posts++
					assert.Equal(t, raw, m.RawResponse)
					assert.Equal(t, context.Canceled, m.Err)
					return nil
				})
				r.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
				err := run(ctx, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
					cancel()
					m.RawResponse = raw
					return ctx.Err()
				})
				assert.Equal(t, context.Canceled, err)
				assert.Equal(t, 1, posts)
			})
		})
	}
}

// Only Answer makes a response before the model: what else stands there is
// none.
func TestRunModel_dropsResponseWrittenBefore(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		pres, bodies := 0, 0
		seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			pres++
			m.Response, m.RawResponse, m.Err = "stale", "stale", errors.New("stale")
			m.ToolCalls, m.Usage = []hooks.ToolRequest{{Name: "rm"}}, hooks.Usage{In: 1}
			return nil
		})
		m := &hooks.ModelCall{}
		require.NoError(t, run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			bodies++
			assert.Empty(t, m.Response)
			return nil
		}))
		assert.Equal(t, 1, pres)
		assert.Equal(t, 1, bodies)
		assert.Empty(t, m.Response)
		assert.Nil(t, m.RawResponse)
		assert.Empty(t, m.ToolCalls)
		assert.Zero(t, m.Usage)
		assert.NoError(t, m.Err, "a call that succeeded has no error")
	})
}
