package hooks_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// The tests of this file set the logger of the process and don't run in
// parallel.

func TestAFailureThatIsPassedOverIsLogged(t *testing.T) {
	type key struct{}
	log := captureLog(t)
	ctx, r := newRun(t)
	ctx = context.WithValue(ctx, key{}, "value")
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](errBroken), hooks.In(r), hooks.WithName("checker"))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "sh"}))
	lines := log.take()
	require.Len(t, lines, 1)
	line := lines[0]
	assert.Equal(t, slog.LevelError, line.level)
	assert.Equal(t, "checker", line.attrs["hook"].String())
	assert.Equal(t, "pre_tool_call", line.attrs["point"].String())
	assert.Equal(t, errBroken, line.attrs["error"].Any())
	assert.NotContains(t, line.attrs, "stack")
	assert.Equal(t, "value", line.ctx.Value(key{}), "a handler can read the trace of the run")
}

func TestAPanicIsLoggedWithItsStack(t *testing.T) {
	log := captureLog(t)
	ctx, r := newRun(t)
	reg := hooks.On(hooks.PreStep, panics[hooks.Step]("boom"), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	lines := log.take()
	require.Len(t, lines, 1)
	assert.Equal(t, reg.Name(), lines[0].attrs["hook"].String())
	assert.IsType(t, new(hooks.PanicError), lines[0].attrs["error"].Any())
	assert.Contains(t, lines[0].attrs["stack"].String(), "logging_test.go")
}

func TestEachFailureOfADispatchIsLoggedOnce(t *testing.T) {
	log := captureLog(t)
	for _, filter := range []hooks.Option{nil, hooks.WithTools("sh"), hooks.WithTools("s*")} {
		for _, observed := range []bool{false, true} {
			ctx, r := newRun(t)
			if observed {
				record(t, r)
			}
			hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](errBroken), hooks.In(r), filter, hooks.WithName("a"))
			hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), filter)
			hooks.On(hooks.PreToolCall, panics[hooks.ToolCall]("boom"), hooks.In(r), filter, hooks.WithName("b"))
			hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](errBroken), hooks.In(r), hooks.WithTools("other"))
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "sh"}))
			lines := log.take()
			require.Len(t, lines, 2)
			assert.Equal(t, "a", lines[0].attrs["hook"].String())
			assert.Equal(t, "b", lines[1].attrs["hook"].String())
		}
	}
}

// An abort is a decision, not a failure; who wants a record of it observes.
func TestAnAbortIsNotLogged(t *testing.T) {
	log := captureLog(t)
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Empty(t, log.take())
}

func TestAFailureOfAnObserverIsLogged(t *testing.T) {
	log := captureLog(t)
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	r.Observe(func(context.Context, hooks.HookDispatchedEvent) { panic("boom") })
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	lines := log.take()
	require.Len(t, lines, 1)
	assert.Equal(t, slog.LevelError, lines[0].level)
	assert.Equal(t, "pre_step", lines[0].attrs["point"].String())
	assert.IsType(t, new(hooks.PanicError), lines[0].attrs["error"].Any())
	assert.Contains(t, lines[0].attrs["stack"].String(), "logging_test.go")
}

func TestANilLoggerSilencesFailures(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	hooks.SetLogger(nil)
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](errBroken), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Empty(t, out.String())
	assert.Equal(t, errBroken, events.one(t).Hooks[0].Err, "the event still tells")
}

// In a program that sets no logger a broken hook says so all the same, where
// the program logs by then.
func TestFailuresAreLoggedByDefault(t *testing.T) {
	if !inChild() {
		rerun(t)
		return
	}
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](errBroken), hooks.In(r), hooks.WithName("checker"))
	for range 2 {
		var out bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Contains(t, out.String(), "hook=checker")
		assert.Contains(t, out.String(), "point=pre_step")
		assert.Contains(t, out.String(), "error=broken")
	}
}

// hostileHandler is a log handler that does to its caller what f does.
type hostileHandler struct {
	slog.Handler
	f func()
}

func (h hostileHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h hostileHandler) Handle(context.Context, slog.Record) error {
	h.f()
	return nil
}

func TestALogHandlerThatPanicsHurtsNoDispatch(t *testing.T) {
	hooks.SetLogger(slog.New(hostileHandler{f: func() { panic("boom") }}))
	t.Cleanup(func() { hooks.SetLogger(nil) })
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, fails[hooks.Step](errBroken), hooks.In(r))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "next"), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "next", tr.take())
}

// A test that logs to its own Fatal ends its goroutine from the handler.
func TestALogHandlerThatEndsItsGoroutineLeavesTheEvent(t *testing.T) {
	hooks.SetLogger(slog.New(hostileHandler{f: runtime.Goexit}))
	t.Cleanup(func() { hooks.SetLogger(nil) })
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](errBroken), hooks.In(r))
	finishes(t, "the goroutine", func() { _ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}) })
	assert.Equal(t, errBroken, events.one(t).Hooks[0].Err)
}

func TestALogHandlerCanUseThePackage(t *testing.T) {
	ctx, r := newRun(t)
	logged := 0
	hooks.SetLogger(slog.New(hostileHandler{f: func() {
		if logged++; logged > 1 {
			return
		}
		hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r)).Remove()
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		hooks.SetLogger(nil)
	}}))
	t.Cleanup(func() { hooks.SetLogger(nil) })
	hooks.On(hooks.PreStep, fails[hooks.Step](errBroken), hooks.In(r))
	finishes(t, "the dispatch", func() { assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})) })
	assert.Equal(t, 2, logged)
}

func TestSlogObserverWithoutALoggerUsesTheDefaultOne(t *testing.T) {
	ctx, r := newRun(t)
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	r.Observe(hooks.SlogObserver(nil))
	hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	for range 2 {
		var out bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
		aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Contains(t, out.String(), "outcome=aborted")
	}
}
