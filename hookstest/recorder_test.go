package hookstest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// fakeTB keeps what a test reports, and runs its cleanups when told to.
type fakeTB struct {
	testing.TB
	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (f *fakeTB) Helper() {}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }

func (f *fakeTB) end() {
	for _, fn := range f.cleanups {
		fn()
	}
}

func TestRegistryIsClearedWithItsTest(t *testing.T) {
	t.Parallel()
	tb := &fakeTB{TB: t}
	r := hookstest.Registry(tb)
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return nil }, hooks.In(r))
	assert.Len(t, r.Hooks(hooks.PreToolCall), 1)
	tb.end()
	assert.Empty(t, r.Hooks(hooks.PreToolCall))
}

func TestContextMakesTheRegistryActive(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	ctx := hookstest.Context(t, r)
	assert.False(t, hooks.Enabled(ctx, hooks.PreToolCall))
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return nil }, hooks.In(r))
	assert.True(t, hooks.Enabled(ctx, hooks.PreToolCall))
	assert.False(t, hooks.Enabled(t.Context(), hooks.PreToolCall))
}

// runAll goes through all ten points, with one tool call that fails and one
// that is named "rm".
func runAll(ctx context.Context) error {
	return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		return hooks.RunStep(ctx, &hooks.Step{Kind: hooks.StepTurn, Name: "turn 1"}, func(ctx context.Context, _ *hooks.Step) error {
			err := hooks.RunModel(ctx, &hooks.ModelCall{Model: "small"}, func(context.Context, *hooks.ModelCall) error { return nil })
			for _, c := range []*hooks.ToolCall{{Name: "ls", ID: "c1"}, {Name: "rm", ID: "c2"}} {
				err = errors.Join(err, hooks.RunTool(ctx, c, func(context.Context, *hooks.ToolCall) error { return errors.New("disk full") }))
			}
			return err
		})
	})
}

func TestRecorderRecordsTheTenPointsInOrder(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec := hookstest.Record(r)
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("no deletions")
	}, hooks.In(r), hooks.WithTools("rm"), hooks.WithName("policy"))
	hooks.On(hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		c.Answer("cached")
		return nil
	}, hooks.In(r), hooks.WithName("cache"))
	hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
		return errors.New("out of order")
	}, hooks.In(r), hooks.WithName("broken"))
	require.NoError(t, runAll(hookstest.Context(t, r)))
	rec.Want(t,
		"execution_start",
		"input",
		"pre_step turn 1",
		"pre_model_call small",
		"post_model_call small answered",
		"pre_tool_call ls #c1",
		"post_tool_call ls #c1 failed",
		"pre_tool_call rm #c2",
		"post_tool_call rm #c2 blocked",
		"post_step turn 1",
		"output",
		"execution_end completed",
	)
	rec.WantEvents(t,
		"pre_step proceeded (broken failed: out of order)",
		"pre_model_call modified (cache modified)",
		"pre_tool_call rm #c2 aborted (policy aborted: no deletions)",
	)
	assert.Equal(t, 1, rec.Events()[0].HookCount, "the recorder doesn't count itself")
	rec.Reset()
	rec.Want(t)
	rec.WantEvents(t)
}

func TestRecorderPrintsADifferenceLineByLine(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec := hookstest.Record(r)
	_ = hooks.RunModel(hookstest.Context(t, r), &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error {
		return errors.New("down")
	})
	tb := &fakeTB{TB: t}
	rec.Want(tb, "pre_model_call", "post_model_call", "execution_end failed")
	rec.Want(tb, "execution_start", "pre_model_call", "post_model_call failed")
	rec.WantAnyOrder(tb, "post_model_call failed", "pre_model_call")
	rec.WantEvents(tb, "pre_model_call proceeded (log proceeded)")
	assert.Equal(t, []string{
		"recorded calls (- wanted and missing, + there and not wanted):\n" +
			"  pre_model_call\n- post_model_call\n- execution_end failed\n+ post_model_call failed\n",
		"recorded calls (- wanted and missing, + there and not wanted):\n" +
			"- execution_start\n  pre_model_call\n  post_model_call failed\n",
		"recorded events (- wanted and missing, + there and not wanted):\n" +
			"- pre_model_call proceeded (log proceeded)\n",
	}, tb.errors)
}

func TestEventLineTellsTheTypeOfTheCauseOfAnAbortAndNeverItsText(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for want, hook := range map[string]hooks.Func[hooks.ToolCall]{
		"pre_tool_call ls aborted (redact aborted: redact failed [*hooks.PanicError])": func(context.Context, *hooks.ToolCall) error { panic(secret) },
		"pre_tool_call ls aborted (redact aborted: redact failed [*errors.errorString])": func(context.Context, *hooks.ToolCall) error {
			return errors.New(secret)
		},
		"pre_tool_call ls aborted (redact aborted: no [*errors.errorString])": func(context.Context, *hooks.ToolCall) error {
			return &hooks.HookAborted{Reason: "no", Err: errors.New(secret)}
		},
		"pre_tool_call ls aborted (redact aborted [*errors.errorString])": func(context.Context, *hooks.ToolCall) error {
			return &hooks.HookAborted{Err: errors.New(secret)}
		},
		"pre_tool_call ls aborted (redact aborted: no)": func(context.Context, *hooks.ToolCall) error {
			return fmt.Errorf("%s: %w", secret, hooks.Abort("no"))
		},
		"pre_tool_call ls aborted (redact aborted)": func(context.Context, *hooks.ToolCall) error { return hooks.Abort("") },
	} {
		r := hookstest.Registry(t)
		rec := hookstest.Record(r)
		hooks.On(hooks.PreToolCall, hook, hooks.In(r), hooks.AsGuard(), hooks.WithName("redact"))
		_ = hooks.Dispatch(hookstest.Context(t, r), hooks.PreToolCall, &hooks.ToolCall{Name: "ls"})
		rec.WantEvents(t, want)
	}
}

func TestRecorderConcurrentSafe(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec := hookstest.Record(r)
	var calls []*hooks.ToolCall
	var want []string
	for i := range 50 {
		c := &hooks.ToolCall{Name: "search", ID: fmt.Sprint(i)}
		calls = append(calls, c)
		want = append(want, "pre_tool_call search #"+c.ID, "post_tool_call search #"+c.ID)
	}
	require.NoError(t, hooks.RunTools(hookstest.Context(t, r), calls, 0, func(context.Context, *hooks.ToolCall) error {
		_, _ = rec.Calls(), rec.Events()
		return nil
	}))
	rec.WantAnyOrder(t, want...)
	tb := &fakeTB{TB: t}
	rec.WantAnyOrder(tb, want[1:]...)
	require.Len(t, tb.errors, 1)
	assert.Contains(t, tb.errors[0], "+ pre_tool_call search #0\n")
	assert.Equal(t, 1, strings.Count(tb.errors[0], "\n+ "))
}
