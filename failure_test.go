package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestAPanicWithNilIsAFailureInBothModesOfTheRuntime(t *testing.T) {
	ctx, r := newRun(t)
	events := record(t, r)
	var tr trace
	hooks.On(hooks.PreStep, panics[hooks.Step](nil), hooks.In(r))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "next"), hooks.In(r))
	step := &hooks.Step{Input: "input"}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, step))
	assert.Equal(t, "next", tr.take())
	assert.Equal(t, "input", step.Input)

	ev := events.one(t)
	assert.Equal(t, []hooks.Outcome{"failed", "proceeded"}, outcomes(ev))
	panicked, ok := errors.AsType[*hooks.PanicError](ev.Hooks[0].Err)
	require.True(t, ok)
	assert.NotEmpty(t, panicked.Error())

	r.Clear(hooks.PreStep)
	hooks.On(hooks.PreStep, panics[hooks.Step](nil), hooks.In(r), hooks.AsGuard())
	aborted(t, hooks.Dispatch(ctx, hooks.PreStep, step))

	if inChild() {
		assert.Contains(t, os.Getenv("GODEBUG"), "panicnil=1")
		assert.Nil(t, panicked.Value)
		return
	}
	assert.IsType(t, new(runtime.PanicNilError), panicked.Value)
	rerun(t, "GODEBUG=panicnil=1")
}

func TestEveryPanicIsContainedAndTellsWhatItWas(t *testing.T) {
	t.Parallel()
	var nilMap map[string]int
	index := 3
	for name, tt := range map[string]struct {
		fn   func()
		want string
	}{
		"text":         {func() { panic("boom") }, "string"},
		"number":       {func() { panic(42) }, "int"},
		"struct":       {func() { panic(struct{}{}) }, "struct {}"},
		"slice":        {func() { panic([]int{1}) }, "[]int"},
		"error":        {func() { panic(errBroken) }, "*errors.errorString"},
		"nil map":      {func() { nilMap["k"] = 1 }, "runtime."},
		"out of range": {func() { _ = []int{1}[index] }, "runtime.boundsError"},
		"nil pointer":  {func() { _ = *(*int)(nil) }, "runtime.errorString"},
		"nil function": {func() { (func())(nil)() }, "runtime.errorString"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			events := record(t, r)
			var tr trace
			hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
				tt.fn()
				return nil
			}, hooks.In(r))
			hooks.On(hooks.PreStep, note[hooks.Step](&tr, "next"), hooks.In(r))
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Equal(t, "next", tr.take())
			err := events.one(t).Hooks[0].Err
			panicked, ok := errors.AsType[*hooks.PanicError](err)
			require.True(t, ok)
			assert.NotNil(t, panicked.Value)
			assert.Contains(t, err.Error(), tt.want)
			assert.Contains(t, string(panicked.Stack), "failure_test.go")
		})
	}
}

func TestARecoveredPanicUnwrapsToItsError(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	value := fmt.Errorf("x: %w", io.ErrUnexpectedEOF)
	hooks.On(hooks.PreStep, panics[hooks.Step](value), hooks.In(r), hooks.WithName("reader"))
	hooks.On(hooks.PreStep, panics[hooks.Step](value), hooks.In(r), hooks.WithFailClosed())
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	run := events.one(t).Hooks[0]
	assert.Equal(t, "reader", run.Name)
	for _, err := range []error{run.Err, abort} {
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		panicked, ok := errors.AsType[*hooks.PanicError](err)
		require.True(t, ok)
		assert.Equal(t, value, panicked.Value)
	}
}

func TestTheTextOfAPanicNamesTheTypeOfItsValueAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value any
		want  string
	}{
		{"password hunter2", "string"},
		{errors.New("password hunter2"), "*errors.errorString"},
		{map[string]string{"password": "hunter2"}, "map[string]string"},
	} {
		err := &hooks.PanicError{Value: tt.value}
		assert.True(t, strings.HasPrefix(err.Error(), "hooks: "))
		assert.Contains(t, err.Error(), tt.want)
		assert.NotContains(t, err.Error(), "hunter2")
	}
	assert.NoError(t, (&hooks.PanicError{Value: "text"}).Unwrap())
	assert.NoError(t, (&hooks.PanicError{}).Unwrap())
	assert.Equal(t, io.EOF, (&hooks.PanicError{Value: io.EOF}).Unwrap())
}

// hostile is an error whose methods do what no error should.
type hostile struct{ text, unwrap, as, is func() }

func callIfSet(f func()) {
	if f != nil {
		f()
	}
}

func (h *hostile) Error() string {
	callIfSet(h.text)
	return "hostile"
}

func (h *hostile) Unwrap() error {
	callIfSet(h.unwrap)
	return nil
}

func (h *hostile) As(any) bool {
	callIfSet(h.as)
	return false
}

func (h *hostile) Is(error) bool {
	callIfSet(h.is)
	return false
}

// An error is somebody else's code, looked at under the same containment as
// the hook that returned it.
func TestAnErrorWhoseMethodsPanicIsAFailureOfItsHook(t *testing.T) {
	log := captureLog(t)
	boom := func() { panic("boom") }
	for name, err := range map[string]error{
		"Unwrap":           &hostile{unwrap: boom},
		"As":               &hostile{as: boom},
		"Is":               &hostile{is: boom},
		"Error":            &hostile{text: boom},
		"wrapped":          fmt.Errorf("a: %w", &hostile{unwrap: boom}),
		"joined":           errors.Join(io.EOF, &hostile{unwrap: boom}),
		"a nil receiver":   (*hostile)(nil),
		"all of them":      &hostile{boom, boom, boom, boom},
		"panicked with it": nil,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			events := record(t, r)
			var tr trace
			hook := fails[hooks.Step](err)
			if err == nil {
				hook = panics[hooks.Step](&hostile{boom, boom, boom, boom})
			}
			hooks.On(hooks.PreStep, hook, hooks.In(r))
			hooks.On(hooks.PreStep, note[hooks.Step](&tr, "next"), hooks.In(r))
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Equal(t, "next", tr.take())
			run := events.one(t).Hooks[0]
			assert.Equal(t, hooks.OutcomeFailed, run.Outcome)
			assert.True(t, run.Err != nil)
			assert.Len(t, log.take(), 1)

			r.Clear(hooks.PreStep)
			hooks.On(hooks.PreStep, hook, hooks.In(r), hooks.AsGuard())
			abort := aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Equal(t, "a guard failed", abort.Reason)
			assert.NotPanics(t, func() { _ = abort.Error() })
		})
	}
}

func TestAnAbortBeforeAnErrorWhoseMethodsPanicIsFound(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	bad := &hostile{unwrap: func() { panic("boom") }}
	hooks.On(hooks.PreStep, fails[hooks.Step](errors.Join(hooks.Abort("no"), bad)), hooks.In(r))
	assert.Equal(t, "no", aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})).Reason)
}

// A hook that ends its goroutine, as the FailNow of a test does, can't be
// stopped: the dispatch never returns, so that nothing passes. But it leaves
// no lock behind, and the event tells.
func TestAHookThatEndsItsGoroutineIsReportedAndLeavesNothingLocked(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]hooks.Option{
		"hook": nil, "guard": {hooks.AsGuard()}, "timed": {hooks.WithTimeout(1 << 40)}, "once": {hooks.WithOnce()},
		"filtered": {hooks.WithTools("x*")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			events := record(t, r)
			var tr trace
			hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["k"] = 1 }), hooks.In(r))
			exits := hooks.On(hooks.PreToolCall, edit(func(*hooks.ToolCall) { runtime.Goexit() }), append(opts, hooks.In(r))...)
			hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "later"), hooks.In(r), hooks.AsGuard())
			finishes(t, "the goroutine", func() {
				defer tr.add("unwound")
				_ = hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "x"})
				tr.add("returned")
			})
			assert.Equal(t, "unwound", tr.take())
			ev := events.one(t)
			assert.Equal(t, 2, ev.HookCount)
			assert.Equal(t, []hooks.Outcome{"modified", "failed"}, outcomes(ev))
			assert.Equal(t, hooks.ErrGoexit, ev.Hooks[1].Err)

			exits.Remove()
			finishes(t, "the next dispatch", func() {
				hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "added"), hooks.In(r))
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
			})
			assert.Equal(t, "added later", tr.take())
		})
	}
}

// Whoever looks for an abort in the error of such a hook is in its goroutine.
func TestAnErrorWhoseMethodEndsTheGoroutineIsReportedToo(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](&hostile{unwrap: runtime.Goexit}), hooks.In(r))
	finishes(t, "the goroutine", func() { _ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}) })
	ev := events.one(t)
	assert.Equal(t, []hooks.Outcome{"failed"}, outcomes(ev))
	assert.ErrorIs(t, ev.Hooks[0].Err, hooks.ErrGoexit)
}
