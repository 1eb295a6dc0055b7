package main

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestRetrieve_allocatesNothingUnused(t *testing.T) {
	ctx := t.Context()
	require.False(t, hooks.Enabled(ctx, Retrieve))
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = retrieve(ctx, "hours") }))
}

func TestRun_tellsTheStory(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	assert.Zero(t, run(t.Context(), &out, &errOut))
	for _, want := range []string{"embed.retrieve modified", "pre_tool_call  aborted   mail is sent by people", "answer: I can't send mail", "The office opens at 9."} {
		assert.Contains(t, out.String(), want)
	}
	assert.NotContains(t, out.String(), "4711")
	assert.Empty(t, errOut.String())
}

// filling takes so many writes, calls full at the next, and then fails.
type filling struct {
	left int
	full func() error
}

func (w *filling) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, w.full()
	}
	return len(p), nil
}

func TestRun_outputCannotBeWritten(t *testing.T) {
	t.Parallel()
	for writes := range 3 {
		var errOut bytes.Buffer
		out := &filling{writes, func() error { return errors.New("no space left") }}
		assert.Equal(t, 1, run(t.Context(), out, &errOut), writes)
		assert.Equal(t, "embed: no space left\n", errOut.String())
	}
}

func TestRun_interrupted(t *testing.T) {
	t.Parallel()
	for writes := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var errOut bytes.Buffer
		out := &filling{writes, func() error { cancel(); return nil }}
		assert.Equal(t, 130, run(ctx, out, &errOut), writes)
		assert.Equal(t, "embed: interrupted\n", errOut.String())
		cancel()
	}
}

func TestRetrieve_hooksChangeWhatIsFound(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.On(Retrieve, hideDoorCodes, hooks.In(r))
	var outcomes []hooks.Outcome
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { outcomes = append(outcomes, ev.Outcome) })
	ctx := hooks.WithScope(t.Context(), r)

	assert.Equal(t, "The office opens at 9.", retrieve(ctx, "hours"))
	assert.Equal(t, []hooks.Outcome{hooks.OutcomeModified}, outcomes)

	hooks.On(Retrieve, func(context.Context, *Retrieval) error { return hooks.Abort("secret") }, hooks.In(r))
	assert.Empty(t, retrieve(ctx, "hours"))
}

// everyPoint registers fn at the ten points.
func everyPoint(r *hooks.Registry, fn func(hooks.InterceptionPoint) error) {
	x := func(p hooks.Point[hooks.Execution]) {
		hooks.On(p, func(context.Context, *hooks.Execution) error { return fn(p.Name()) }, hooks.In(r))
	}
	s := func(p hooks.Point[hooks.Step]) {
		hooks.On(p, func(context.Context, *hooks.Step) error { return fn(p.Name()) }, hooks.In(r))
	}
	m := func(p hooks.Point[hooks.ModelCall]) {
		hooks.On(p, func(context.Context, *hooks.ModelCall) error { return fn(p.Name()) }, hooks.In(r))
	}
	c := func(p hooks.Point[hooks.ToolCall]) {
		hooks.On(p, func(context.Context, *hooks.ToolCall) error { return fn(p.Name()) }, hooks.In(r))
	}
	x(hooks.ExecutionStart)
	x(hooks.Input)
	s(hooks.PreStep)
	m(hooks.PreModelCall)
	m(hooks.PostModelCall)
	c(hooks.PreToolCall)
	c(hooks.PostToolCall)
	s(hooks.PostStep)
	x(hooks.Output)
	x(hooks.ExecutionEnd)
}

func testLoop(toolErr error) *Loop {
	return &Loop{Model: scriptedModel, MaxTurns: 10, Tool: func(_ context.Context, t *hooks.ToolCall) error {
		if toolErr == nil {
			t.Result = "sent"
		}
		return toolErr
	}}
}

func TestLoop_tenPointsInOrder(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	var fired []hooks.InterceptionPoint
	everyPoint(r, func(p hooks.InterceptionPoint) error {
		fired = append(fired, p)
		return nil
	})
	answer, err := testLoop(nil).Run(hooks.WithScope(t.Context(), r), "hello")
	require.NoError(t, err)
	assert.Contains(t, answer, "sent")
	assert.Equal(t, []hooks.InterceptionPoint{
		"execution_start", "input",
		"pre_step", "pre_model_call", "post_model_call", "pre_tool_call", "post_tool_call", "post_step",
		"pre_step", "pre_model_call", "post_model_call", "post_step",
		"output", "execution_end",
	}, fired)
}

// Hooks at every point, the loop's own too, are told of one and the same run, and
// find its variables.
func TestLoop_runOfEachPoint(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	var seen hooks.RunVar[atomic.Int32]
	var total int32
	everyPoint(r, func(hooks.InterceptionPoint) error { return nil })
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		n, ok := seen.Of(ctx)
		if assert.True(t, ok) {
			total = n.Add(1)
		}
		return nil
	}, hooks.In(r))
	hooks.On(Retrieve, hideDoorCodes, hooks.In(r))
	runs := map[string]int{}
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { runs[ev.RunID]++ })
	for n := range 2 {
		_, err := testLoop(nil).Run(hooks.WithScope(t.Context(), r), "hello")
		require.NoError(t, err)
		assert.EqualValues(t, 1, total, "each run has its own")
		assert.Len(t, runs, n+1)
	}
	assert.NotContains(t, runs, "")
}

func TestLoop_unknownTool(t *testing.T) {
	t.Parallel()
	loop := testLoop(nil)
	loop.Tool = func(context.Context, *hooks.ToolCall) error { return hooks.ErrNoTool }
	answer, err := loop.Run(t.Context(), "hello")
	require.NoError(t, err)
	assert.Contains(t, answer, "Error: There is no tool send_mail.")
}

func TestLoop_abort(t *testing.T) {
	t.Parallel()
	for _, point := range []hooks.InterceptionPoint{
		"execution_start", "input", "pre_step", "pre_model_call", "post_model_call", "post_step", "output", "execution_end",
	} {
		r := hooks.NewRegistry()
		ends := 0
		everyPoint(r, func(p hooks.InterceptionPoint) error {
			if p == "execution_end" {
				ends++
			}
			if p == point {
				return hooks.Abort("no")
			}
			return nil
		})
		_, err := testLoop(nil).Run(hooks.WithScope(t.Context(), r), "hello")
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok, point)
		assert.Equal(t, point, abort.Point)
		if point == "execution_start" {
			assert.Zero(t, ends, "an execution that didn't start has no end")
		} else {
			assert.Equal(t, 1, ends, point)
		}
	}
	for _, point := range []hooks.InterceptionPoint{"pre_tool_call", "post_tool_call"} {
		r := hooks.NewRegistry()
		everyPoint(r, func(p hooks.InterceptionPoint) error {
			if p == point {
				return hooks.Abort("no mail")
			}
			return nil
		})
		answer, err := testLoop(nil).Run(hooks.WithScope(t.Context(), r), "hello")
		require.NoError(t, err)
		assert.Contains(t, answer, "no mail")
		assert.NotContains(t, answer, "sent")
	}
}

func TestLoop_failedTool(t *testing.T) {
	t.Parallel()
	answer, err := testLoop(errors.New("mail server down")).Run(t.Context(), "hello")
	require.NoError(t, err)
	assert.Contains(t, answer, "Error: mail server down")
}

func TestLoop_panickingModel(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	var ends []hooks.Status
	hooks.On(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
		ends = append(ends, x.Status)
		return nil
	}, hooks.In(r))
	loop := &Loop{MaxTurns: 10, Model: func(context.Context, *hooks.ModelCall) error { panic("boom") }}
	_, err := loop.Run(hooks.WithScope(t.Context(), r), "hello")
	panicked, ok := errors.AsType[*hooks.PanicError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "boom", panicked.Value)
	assert.Equal(t, []hooks.Status{hooks.StatusFailed}, ends)
}

func TestLoop_exitedGoroutine(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	var fired []hooks.InterceptionPoint
	var failure, toolFailure error
	everyPoint(r, func(p hooks.InterceptionPoint) error {
		fired = append(fired, p)
		return nil
	})
	hooks.On(hooks.PostToolCall, func(_ context.Context, t *hooks.ToolCall) error {
		toolFailure = t.Err
		return nil
	}, hooks.In(r))
	hooks.On(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
		failure = x.Err
		return nil
	}, hooks.In(r))
	loop := testLoop(nil)
	loop.Tool = func(context.Context, *hooks.ToolCall) error {
		runtime.Goexit()
		return nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = loop.Run(hooks.WithScope(t.Context(), r), "hello")
	}()
	<-ended
	assert.Equal(t, []hooks.InterceptionPoint{
		"execution_start", "input", "pre_step", "pre_model_call", "post_model_call",
		"pre_tool_call", "post_tool_call", "post_step", "execution_end",
	}, fired)
	assert.ErrorIs(t, toolFailure, hooks.ErrGoexit)
	assert.ErrorIs(t, failure, hooks.ErrGoexit)
}
