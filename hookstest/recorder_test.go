package hookstest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

func TestRegistry_clearedWithItsTest(t *testing.T) {
	t.Parallel()
	tb := &fakeTB{TB: t}
	r := hookstest.Registry(tb)
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return nil }, hooks.In(r))
	assert.Len(t, r.Hooks(hooks.PreToolCall), 1)
	tb.end()
	assert.Empty(t, r.Hooks(hooks.PreToolCall))
}

func TestContext_registryIsActive(t *testing.T) {
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

func TestRecorder_tenPointsInOrder(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec := hookstest.Record(r)
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
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

// abortAt registers a hook that aborts at p.
func abortAt[C any](r *hooks.Registry, p hooks.Point[C]) {
	hooks.On(p, func(context.Context, *C) error { return hooks.Abort("no") }, hooks.In(r), hooks.WithName("policy"))
}

func TestRecorder_states(t *testing.T) {
	t.Parallel()
	failing := errors.New("disk full")
	runModel := func(body error) func(context.Context) error {
		return func(ctx context.Context) error {
			return hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { return body })
		}
	}
	runTool := func(body error) func(context.Context) error {
		return func(ctx context.Context) error {
			return hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls"}, func(context.Context, *hooks.ToolCall) error { return body })
		}
	}
	tests := map[string]struct {
		hooks func(r *hooks.Registry)
		run   func(context.Context) error
		want  []string
	}{
		"model blocked":   {func(r *hooks.Registry) { abortAt(r, hooks.PreModelCall) }, runModel(nil), []string{"pre_model_call blocked"}},
		"model withheld":  {func(r *hooks.Registry) { abortAt(r, hooks.PostModelCall) }, runModel(nil), []string{"pre_model_call", "post_model_call withheld"}},
		"model failed":    {func(r *hooks.Registry) { abortAt(r, hooks.PostModelCall) }, runModel(failing), []string{"pre_model_call", "post_model_call failed"}},
		"step blocked":    {func(r *hooks.Registry) { abortAt(r, hooks.PreStep) }, runStep, []string{"pre_step turn blocked"}},
		"step withheld":   {func(r *hooks.Registry) { abortAt(r, hooks.PostStep) }, runStep, []string{"pre_step turn", "post_step turn withheld"}},
		"start blocked":   {func(r *hooks.Registry) { abortAt(r, hooks.ExecutionStart) }, runExecution(nil), []string{"execution_start blocked"}},
		"input blocked":   {func(r *hooks.Registry) { abortAt(r, hooks.Input) }, runExecution(nil), []string{"execution_start", "input blocked", "execution_end failed"}},
		"output withheld": {func(r *hooks.Registry) { abortAt(r, hooks.Output) }, runExecution(nil), []string{"execution_start", "input", "output withheld", "execution_end failed"}},
		"end aborted":     {func(r *hooks.Registry) { abortAt(r, hooks.ExecutionEnd) }, runExecution(nil), []string{"execution_start", "input", "output", "execution_end failed"}},
		"interrupted":     {func(*hooks.Registry) {}, runExecution(hooks.PassThrough(failing)), []string{"execution_start", "input", "execution_end suspended"}},
		"tool withheld":   {func(r *hooks.Registry) { abortAt(r, hooks.PostToolCall) }, runTool(nil), []string{"pre_tool_call ls", "post_tool_call ls withheld"}},
		"failed tool's result withheld": {
			func(r *hooks.Registry) { abortAt(r, hooks.PostToolCall) }, runTool(failing), []string{"pre_tool_call ls", "post_tool_call ls withheld"},
		},
		"tool blocked, and its refusal withheld": {func(r *hooks.Registry) {
			abortAt(r, hooks.PreToolCall)
			abortAt(r, hooks.PostToolCall)
		}, runTool(nil), []string{"pre_tool_call ls", "post_tool_call ls blocked"}},
		"tool recovered": {func(r *hooks.Registry) {
			hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
				c.Err = nil
				return nil
			}, hooks.In(r))
		}, runTool(failing), []string{"pre_tool_call ls", "post_tool_call ls"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hookstest.Registry(t)
			rec := hookstest.Record(r)
			tt.hooks(r)
			_ = tt.run(hookstest.Context(t, r))
			rec.Want(t, tt.want...)
		})
	}
}

func runStep(ctx context.Context) error {
	return hooks.RunStep(ctx, &hooks.Step{Kind: hooks.StepTurn}, func(context.Context, *hooks.Step) error { return nil })
}

func runExecution(body error) func(context.Context) error {
	return func(ctx context.Context) error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(context.Context, *hooks.Execution) error { return body })
	}
}

// What an outer registry refuses never reaches the hooks of an inner one.
func TestRecorder_outerAbort(t *testing.T) {
	t.Parallel()
	outer, inner := hookstest.Registry(t), hookstest.Registry(t)
	abortAt(outer, hooks.PreToolCall)
	rec := hookstest.Record(inner)
	seen := 0
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		seen++
		return nil
	}, hooks.In(inner))
	ctx := hooks.WithScope(hookstest.Context(t, outer), inner)
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "rm"}, func(context.Context, *hooks.ToolCall) error { return nil }))
	assert.Zero(t, seen)
	rec.Want(t, "pre_tool_call rm", "post_tool_call rm blocked")
	rec.WantEvents(t, "pre_tool_call rm aborted (policy aborted: no)")
}

func TestRecorder_exitedGoroutine(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec := hookstest.Record(r)
	hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error {
		runtime.Goexit()
		return nil
	}, hooks.In(r), hooks.WithTools("ls"), hooks.WithName("exits"))
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		runtime.Goexit()
		return nil
	}, hooks.In(r), hooks.WithTools("rm"), hooks.WithName("exits"))
	var wg sync.WaitGroup
	for _, name := range []string{"ls", "rm"} {
		wg.Go(func() {
			_ = hooks.RunTool(hookstest.Context(t, r), &hooks.ToolCall{Name: name}, func(context.Context, *hooks.ToolCall) error { return nil })
		})
		wg.Wait()
	}
	rec.Want(t, "pre_tool_call ls", "post_tool_call ls withheld", "pre_tool_call rm failed")
}

// Seams that a hook opens are recorded before the point whose hook did.
func TestRecorder_nestedSeams(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec := hookstest.Record(r)
	hooks.On(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		return hooks.RunModel(ctx, &hooks.ModelCall{Model: "judge"}, func(context.Context, *hooks.ModelCall) error { return nil })
	}, hooks.In(r))
	require.NoError(t, hooks.RunTool(hookstest.Context(t, r), &hooks.ToolCall{Name: "ls"}, func(context.Context, *hooks.ToolCall) error { return nil }))
	rec.Want(t, "pre_model_call judge", "post_model_call judge", "pre_tool_call ls", "post_tool_call ls")
}

// The watches of a recorder, of a second one too, are in no event, and those of
// the test are.
func TestRecorder_ownWatchesLeftOut(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec, second := hookstest.Record(r), hookstest.Record(r)
	looked := 0
	hooks.Watch(hooks.PostToolCall, func(context.Context, *hooks.ToolCall, error) { looked++ }, hooks.In(r), hooks.WithName("audit"))
	require.NoError(t, hooks.RunTool(hookstest.Context(t, r), &hooks.ToolCall{Name: "ls"}, func(context.Context, *hooks.ToolCall) error { return nil }))
	assert.Equal(t, 1, looked)
	for _, rec := range []*hookstest.Recorder{rec, second} {
		rec.Want(t, "pre_tool_call ls", "post_tool_call ls")
		rec.WantEvents(t, "post_tool_call ls proceeded (audit proceeded)")
		assert.Equal(t, 1, rec.Events()[0].HookCount)
	}
}

// nameless is a context that can't say which tool it is about.
type nameless struct{}

func (*nameless) ToolName() string { panic("no name") }

var namelessPoint = hooks.Define[nameless]("hookstest.nameless")

// An abort that no hook made is shown all the same.
func TestRecorder_abortWithoutHooks(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec := hookstest.Record(r)
	ran := false
	hooks.Guard(namelessPoint, func(context.Context, *nameless) error {
		ran = true
		return nil
	}, hooks.In(r), hooks.WithTools("rm"), hooks.WithName("policy"))
	require.Error(t, hooks.Dispatch(hookstest.Context(t, r), namelessPoint, &nameless{}))
	assert.False(t, ran)
	rec.WantEvents(t, "hookstest.nameless aborted: what the call is about could not be read")
}

func TestRecorder_differenceByLine(t *testing.T) {
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

func TestEventLine_causeOfAbort(t *testing.T) {
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
		hooks.Guard(hooks.PreToolCall, hook, hooks.In(r), hooks.WithName("redact"))
		_ = hooks.Dispatch(hookstest.Context(t, r), hooks.PreToolCall, &hooks.ToolCall{Name: "ls"})
		rec.WantEvents(t, want)
	}
}

func TestRecorder_concurrent(t *testing.T) {
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
