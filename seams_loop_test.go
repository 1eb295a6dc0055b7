package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

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
			ctx, r := seamScope(t)
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

func TestExecutionFiresItsFourPointsOnceInOrder(t *testing.T) {
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

func TestInputsOfTheCallerAreTheHooksInputs(t *testing.T) {
	t.Parallel()
	seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
		seamOnExec(r, hooks.Input, func(_ context.Context, x *hooks.Execution) error { x.Inputs["seen"] = true; return nil })
		inputs := map[string]any{"topic": "cats"}
		require.NoError(t, run(ctx, &hooks.Execution{Inputs: inputs}, func(context.Context, *hooks.Execution) error { return nil }))
		assert.Equal(t, map[string]any{"topic": "cats", "seen": true}, inputs)
	})
}

func TestExecutionThatFailsEndsOnceWithTheVeryError(t *testing.T) {
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
func TestAbortAtEachPointOfAnExecution(t *testing.T) {
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

func TestExecutionInsideAnExecutionPairsStartAndEndByCall(t *testing.T) {
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

func TestEveryExecutionThatStartedEndsOnceConcurrentSafe(t *testing.T) {
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

func TestInterruptedExecutionEndsOnceWithoutHavingFailed(t *testing.T) {
	t.Parallel()
	seamEachExecution(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunExec) {
		interrupt := errors.New("ask the user")
		var log []string
		seamNoteExec(r, &log)
		x := &hooks.Execution{}
		assert.Same(t, interrupt, run(ctx, x, func(context.Context, *hooks.Execution) error { return hooks.PassThrough(interrupt) }))
		assert.Equal(t, []string{"execution_start running", "input running", "execution_end running"}, log)
		assert.Same(t, interrupt, x.Err)
	})
}

func TestStopOfASubAgentIsItsOwn(t *testing.T) {
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
