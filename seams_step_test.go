package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func seamOnStep(r *hooks.Registry, p hooks.Point[hooks.Step], fn func(context.Context, *hooks.Step) error, opts ...hooks.Option) {
	hooks.On(p, fn, append(opts, hooks.In(r))...)
}

func TestStepTellsWhatItIsAndReturnsWhatPostHooksLeft(t *testing.T) {
	t.Parallel()
	for _, kind := range []hooks.StepKind{hooks.StepTask, hooks.StepFlowMethod, hooks.StepTurn} {
		ctx, r := seamScope(t)
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

func TestNilIsARealReplacementOfAnOutput(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	seamOnStep(r, hooks.PostStep, func(_ context.Context, s *hooks.Step) error { s.Output = nil; return nil })
	s := &hooks.Step{}
	require.NoError(t, hooks.RunStep(ctx, s, func(_ context.Context, s *hooks.Step) error { s.Output = "secret"; return nil }))
	assert.Nil(t, s.Output)
}

func TestAbortStopsALoopOfSteps(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		ctx, r := seamScope(t)
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

func TestReplacedStepOutputIsTheOnlyOneLeft(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
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

func TestOnlyThePointsOfALoopFire(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
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

func TestVetoedStepHasItsError(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		ctx, r := seamScope(t)
		seamOnStep(r, at, func(context.Context, *hooks.Step) error { return hooks.Abort("no") })
		s := &hooks.Step{Err: errors.New("left over"), Output: "left over"}
		err := hooks.RunStep(ctx, s, func(context.Context, *hooks.Step) error { return nil })
		require.True(t, seamIsAbort(err))
		assert.Equal(t, err, s.Err)
		assert.Nil(t, s.Output)
	}
}
