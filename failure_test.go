package hooks_test

// Hooks that fail: the others run on, panics and hostile errors are contained,
// and the log tells of each failure once, without secrets.
// Those that set the logger of the process don't run in parallel.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestFailOpen_failureStopsNoOtherHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	var tr trace
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](errBroken), hooks.In(r))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "after-error"), hooks.In(r))
	hooks.On(hooks.PreToolCall, panics[hooks.ToolCall]("boom"), hooks.In(r))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "after-panic"), hooks.In(r))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](hooks.Abort("no")), hooks.In(r))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "after-abort"), hooks.In(r))
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
	assert.Equal(t, "no", abort.Reason)
	assert.Equal(t, "after-error after-panic", tr.take())

	ev := events.one(t)
	assert.Equal(t, []hooks.Outcome{"failed", "proceeded", "failed", "proceeded", "aborted"}, outcomes(ev))
	assert.Equal(t, errBroken, ev.Hooks[0].Err)
	_, panicked := errors.AsType[*hooks.PanicError](ev.Hooks[2].Err)
	assert.True(t, panicked)
}

func TestFailOpen_keepsEdits(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"error": func() error { return errBroken },
		"panic": func() error { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			events := record(t, r)
			hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
				c.Input["in-place"] = true
				return fail()
			}, hooks.In(r))
			hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
				c.Result = "replaced"
				return fail()
			}, hooks.In(r))
			call, ran := &hooks.ToolCall{}, false
			require.NoError(t, hooks.RunTool(ctx, call, edit(func(c *hooks.ToolCall) {
				ran = true
				assert.Equal(t, map[string]any{"in-place": true}, c.Input)
				c.Result = "raw"
			})))
			assert.True(t, ran)
			assert.Equal(t, "replaced", call.Result)
			told := events.take()
			require.Len(t, told, 2)
			for _, ev := range told {
				assert.Equal(t, hooks.OutcomeModified, ev.Outcome)
				assert.Equal(t, []hooks.Outcome{"failed"}, outcomes(ev))
			}
		})
	}
}

// At every point, in every kind of registration and at every place of the
// chain, a failing hook leaves the others and the loop alone.
func TestFailOpen_holdsForEveryKindOfHook(t *testing.T) {
	for _, p := range everyPoint() {
		for _, kind := range []string{"default", "scoped", "filtered", "once", "timed"} {
			for at := range 3 {
				r := hooks.NewRegistry()
				events := record(t, r)
				var opts []hooks.Option
				switch kind {
				case "default":
				case "scoped":
					opts = []hooks.Option{hooks.In(r)}
				case "filtered":
					opts = append([]hooks.Option{hooks.In(r)}, p.filters...)
				case "once":
					opts = []hooks.Option{hooks.In(r), hooks.WithOnce()}
				case "timed":
					opts = []hooks.Option{hooks.In(r), hooks.WithTimeout(1 << 40)}
				}
				ran := 0
				var regs []*hooks.Registration
				for i := range 3 {
					regs = append(regs, p.on(func() error {
						ran++
						if i == at {
							panic("boom")
						}
						return nil
					}, opts...))
				}
				require.NoError(t, p.dispatch(hooks.WithScope(t.Context(), r)), "%s %s %d", p.name, kind, at)
				assert.Equal(t, 3, ran, "%s %s %d", p.name, kind, at)
				ev := events.one(t)
				assert.Equal(t, p.name, ev.Point)
				require.Len(t, ev.Hooks, 3)
				for i, h := range ev.Hooks {
					assert.Equal(t, i == at, h.Outcome == hooks.OutcomeFailed)
				}
				for _, reg := range regs {
					reg.Remove()
				}
			}
		}
	}
}

func TestFailOpen_leavesPostHooksTheirContext(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, panics[hooks.ToolCall]("boom"), hooks.In(r))
	posts := 0
	hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		posts++
		assert.Equal(t, "read", c.Name)
		assert.Equal(t, map[string]any{"path": "x"}, c.Input)
		assert.Equal(t, "text", c.Result)
		assert.Equal(t, "Reader", c.AgentRole)
		return nil
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "read", Input: map[string]any{"path": "x"}, Caller: hooks.Caller{AgentRole: "Reader"}}
	require.NoError(t, hooks.RunTool(ctx, call, edit(func(c *hooks.ToolCall) { c.Result = "text" })))
	assert.Equal(t, 1, posts)
	assert.Equal(t, "text", call.Result)
	assert.False(t, call.IsError())
}

func TestPanic_isContainedInLateHooksToo(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(p, panics[job]("boom"))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	hooks.On(p, panics[job]("boom"))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	hooks.On(p, panics[job]("boom"), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	got := events.take()
	require.Len(t, got, 3)
	assert.Equal(t, []hooks.Outcome{"failed"}, outcomes(got[0]))
	assert.Equal(t, []hooks.Outcome{"failed", "failed"}, outcomes(got[1]))
	assert.Equal(t, []hooks.Outcome{"failed", "failed", "failed"}, outcomes(got[2]))
}

// The panic by which a handler of net/http gives up is one like any other
// here: a hook can't take the request with it.
func TestPanic_hurtsNoRequest(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	var runs atomic.Int64
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		runs.Add(1)
		panic(http.ErrAbortHandler)
	}, hooks.In(r))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		call := &hooks.ToolCall{Name: "read"}
		err := hooks.RunTool(hooks.WithScope(req.Context(), r), call, edit(func(c *hooks.ToolCall) { c.Result = "text" }))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, call.Result)
	}))
	defer server.Close()
	for range 2 {
		resp, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		assert.Equal(t, "text", string(body))
	}
	assert.EqualValues(t, 2, runs.Load())
}

// The runtime has two modes for such a panic, and both are tried.
func TestPanic_withNilIsAFailure(t *testing.T) {
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

func TestPanic_isContainedAndTellsWhatItWas(t *testing.T) {
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

func TestPanicError_unwrapsToItsError(t *testing.T) {
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

func TestPanicError_textNamesTheTypeAlone(t *testing.T) {
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

// The methods of an error are foreign code, and are called under the same
// containment as the hook that returned it.
func TestHostileError_panicIsAFailure(t *testing.T) {
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
			assert.Len(t, log.take(), 1, "the model reads only that it failed, so the log tells why")
		})
	}
}

func TestHostileError_hidesNoAbortBeforeIt(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	bad := &hostile{unwrap: func() { panic("boom") }}
	hooks.On(hooks.PreStep, fails[hooks.Step](errors.Join(hooks.Abort("no"), bad)), hooks.In(r))
	assert.Equal(t, "no", aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})).Reason)
}

// A hook that ends its goroutine, as the FailNow of a test does, can't be
// stopped: the dispatch never returns, so that nothing passes. But it leaves
// no lock behind, and the event tells.
func TestGoexit_isReportedAndLeavesNoLock(t *testing.T) {
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

// The search for an abort calls the error's methods in the goroutine of the hook.
func TestGoexit_inAnErrorIsReportedToo(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](&hostile{unwrap: runtime.Goexit}), hooks.In(r))
	finishes(t, "the goroutine", func() { _ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}) })
	ev := events.one(t)
	assert.Equal(t, []hooks.Outcome{"failed"}, outcomes(ev))
	assert.ErrorIs(t, ev.Hooks[0].Err, hooks.ErrGoexit)
}

// ring is an error that wraps itself.
type ring struct{}

func (ring) Error() string   { return "ring" }
func (r ring) Unwrap() error { return r }

// fan is an error that joins itself, twice.
type fan struct{}

func (fan) Error() string     { return "fan" }
func (f fan) Unwrap() []error { return []error{f, f} }

// Looking through such an error ends in bounded time.
func TestHostileError_mayWrapItself(t *testing.T) {
	t.Parallel()
	circular := &hooks.HookAborted{Reason: "round"}
	circular.Err = circular
	for name, err := range map[string]error{"ring": ring{}, "fan": fan{}, "both": errors.Join(fan{}, ring{})} {
		r := hooks.NewRegistry()
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return err }, hooks.In(r))
		hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return err }, hooks.In(r), hooks.AsGuard())
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, func(context.Context, *hooks.ToolCall) error { return err }), name)
		assert.True(t, call.Ran(), "%s: an ordinary hook fails open", name)
		require.NotNil(t, call.Blocked, name)
		assert.Equal(t, "a guard failed", call.Blocked.Reason, name)
	}
	r := hooks.NewRegistry()
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return circular }, hooks.In(r))
	call := &hooks.ToolCall{Name: "fetch"}
	require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, seamReturns("page")))
	assert.Equal(t, "round", call.Blocked.Reason)
}

func TestLog_tellsOfAFailure(t *testing.T) {
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

func TestLog_tellsOfAPanicWithItsStack(t *testing.T) {
	log := captureLog(t)
	ctx, r := newRun(t)
	reg := hooks.On(hooks.PreStep, panics[hooks.Step]("boom"), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	lines := log.take()
	require.Len(t, lines, 1)
	assert.Equal(t, reg.Name(), lines[0].attrs["hook"].String())
	assert.IsType(t, new(hooks.PanicError), lines[0].attrs["error"].Any())
	assert.Contains(t, lines[0].attrs["stack"].String(), "failure_test.go")
}

func TestLog_tellsOfEachFailureOnce(t *testing.T) {
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

// An abort is a decision, not a failure: observers get a record of it.
func TestLog_tellsOfNoAbort(t *testing.T) {
	log := captureLog(t)
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Empty(t, log.take())
}

func TestLog_tellsOfAnObserversFailure(t *testing.T) {
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
	assert.Contains(t, lines[0].attrs["stack"].String(), "failure_test.go")
}

func TestSetLogger_nilSilencesFailures(t *testing.T) {
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
func TestLog_isOnByDefault(t *testing.T) {
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

func TestLogHandler_panicHurtsNoDispatch(t *testing.T) {
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
func TestLogHandler_goexitLeavesTheEvent(t *testing.T) {
	hooks.SetLogger(slog.New(hostileHandler{f: runtime.Goexit}))
	t.Cleanup(func() { hooks.SetLogger(nil) })
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](errBroken), hooks.In(r))
	finishes(t, "the goroutine", func() { _ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}) })
	assert.Equal(t, errBroken, events.one(t).Hooks[0].Err)
}

func TestLogHandler_canUseThePackage(t *testing.T) {
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

func TestSlogObserver_nilUsesTheDefaultLogger(t *testing.T) {
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

// secret is what no text that the package composes may hold.
const secret = "hunter2"

// composed returns the text of an event, without the hooks' own errors.
func composed(ev hooks.HookDispatchedEvent) string {
	text := fmt.Sprintf("%s %s %s %s %s %s %s", ev.Point, ev.Outcome, ev.AbortReason, ev.AbortSource, ev.RunID, ev.AgentRole, ev.ToolName)
	for _, h := range ev.Hooks {
		text += fmt.Sprintf(" %s %s", h.Name, h.Outcome)
	}
	return text
}

func TestSecret_isInNoComposedText(t *testing.T) {
	log := captureLog(t)
	secretErr := errors.New("login failed: " + secret)
	for name, tt := range map[string]struct {
		hook          hooks.Func[hooks.ToolCall]
		fails, aborts bool
	}{
		"error":              {hook: fails[hooks.ToolCall](secretErr), fails: true},
		"panic with a text":  {hook: panics[hooks.ToolCall](secret), fails: true},
		"panic with a map":   {hook: panics[hooks.ToolCall](map[string]string{"password": secret}), fails: true},
		"panic with error":   {hook: panics[hooks.ToolCall](secretErr), fails: true},
		"abort with a cause": {hook: fails[hooks.ToolCall](&hooks.HookAborted{Reason: "no", Err: secretErr}), aborts: true},
		"wrapped abort":      {hook: fails[hooks.ToolCall](fmt.Errorf("%s: %w", secret, hooks.Abort("no"))), aborts: true},
		"edits":              {hook: edit(func(c *hooks.ToolCall) { c.Input["more"] = secret; c.Result = secret })},
	} {
		for kind, option := range map[string]hooks.Option{"hook": nil, "guard": hooks.AsGuard(), "fail-closed": hooks.WithFailClosed()} {
			t.Run(name+" of a "+kind, func(t *testing.T) {
				ctx, r := newRun(t)
				events := record(t, r)
				hooks.On(hooks.PreToolCall, tt.hook, hooks.In(r), option)
				newCall := func() *hooks.ToolCall {
					return &hooks.ToolCall{Name: "login", ID: "1", Input: map[string]any{"password": secret}}
				}
				err := hooks.Dispatch(ctx, hooks.PreToolCall, newCall())
				aborts := tt.aborts || tt.fails && option != nil
				if aborts {
					require.Error(t, err)
					assert.NotContains(t, err.Error(), secret)
					assert.NotContains(t, aborted(t, err).PublicText(), secret)
				} else {
					require.NoError(t, err)
				}
				call := newCall()
				require.NoError(t, hooks.RunTool(ctx, call, edit(func(c *hooks.ToolCall) { c.Result = "ok" })))
				assert.NotContains(t, call.Result, secret)
				told := events.take()
				require.Len(t, told, 2, "one of each dispatch")
				for _, ev := range told {
					assert.NotContains(t, composed(ev), secret)
				}
				lines := log.take()
				if tt.fails {
					require.Len(t, lines, 2, "also of a guard: somebody has to find out why it refused")
				} else {
					require.Empty(t, lines)
				}
				for _, line := range lines {
					assert.NotContains(t, line.msg, secret)
					for key, value := range line.attrs {
						if key != "error" || name != "error" {
							assert.NotContains(t, value.String(), secret, key)
						}
					}
				}
			})
		}
	}
}

// What is given to the log as an error may be formatted by any handler.
func TestSecret_isInNoFormattedPanic(t *testing.T) {
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			hooks.SetLogger(slog.New(handler(&out)))
			t.Cleanup(func() { hooks.SetLogger(nil) })
			ctx, r := newRun(t)
			r.Observe(hooks.SlogObserver(slog.New(handler(&out))))
			hooks.On(hooks.PreStep, panics[hooks.Step](errors.New(secret)), hooks.In(r))
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{Input: secret}))
			assert.Contains(t, out.String(), "*errors.errorString")
			assert.NotContains(t, out.String(), secret)
		})
	}
}

// Events are made of the payload after the hooks, and hold none of it.
func TestSecret_isNowhereOnceRedacted(t *testing.T) {
	log := captureLog(t)
	ctx, r := newRun(t)
	var all []string
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { all = append(all, fmt.Sprintf("%+v", ev)) })
	for _, p := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Output, hooks.ExecutionEnd} {
		hooks.On(p, fails[hooks.Execution](nil), hooks.In(r))
	}
	hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error {
		x.Inputs = map[string]any{"card": "***"}
		return errBroken
	}, hooks.In(r))
	x := &hooks.Execution{Inputs: map[string]any{"card": "4111-1111"}}
	ran := false
	require.NoError(t, hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error {
		ran = true
		assert.Equal(t, map[string]any{"card": "***"}, x.Inputs)
		return nil
	}))
	assert.True(t, ran)
	require.Len(t, all, 4)
	lines := log.take()
	require.Len(t, lines, 1)
	for _, line := range lines {
		all = append(all, fmt.Sprintf("%s %v", line.msg, line.attrs))
	}
	for _, text := range all {
		assert.NotContains(t, text, "4111")
	}
}

// What foreign errors do hides no abort that stands beside them, and makes none
// where there is none.
func TestHostileError_neitherHidesNorFeignsAnAbort(t *testing.T) {
	t.Parallel()
	boom := func() { panic("boom") }
	var none *hooks.HookAborted
	no := hooks.Abort("no")
	for name, tt := range map[string]struct {
		err  error
		want string // the reason of the abort, "" for none
	}{
		"behind an Unwrap that panics": {errors.Join(&hostile{unwrap: boom}, no), "no"},
		"behind an As that panics":     {errors.Join(&hostile{as: boom}, no), "no"},
		"behind an Is that panics":     {errors.Join(&hostile{is: boom}, no), "no"},
		"behind all of it":             {errors.Join(&hostile{boom, boom, boom, boom}, fmt.Errorf("a: %w", no)), "no"},
		"between two":                  {errors.Join(&hostile{unwrap: boom}, no, &hostile{as: boom}), "no"},
		"in front of a ring":           {errors.Join(no, ring{}), "no"},
		"behind a nil abort":           {errors.Join(none, no), "no"},
		"a nil abort":                  {fmt.Errorf("a: %w", none), ""},
		"an Is that is always true":    {liar{}, ""},
		"an As that only says so":      {errors.Join(liar{}, io.EOF), ""},
		"an As that only says so, no":  {errors.Join(liar{}, no), "no"},
		"ErrTooDeep beside a liar":     {errors.Join(liar{}, hooks.ErrTooDeep), "hooks are nested too deeply"},
		"a text that panics":           {errors.Join(&hostile{text: boom}, io.EOF), ""},
	} {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.On(hooks.PreStep, fails[hooks.Step](tt.err), hooks.In(r))
		err := hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})
		require.Len(t, events.one(t).Hooks, 1, name)
		if tt.want == "" {
			assert.NoError(t, err, name)
			continue
		}
		abort := aborted(t, err)
		assert.Equal(t, tt.want, abort.Reason, name)
		assert.Equal(t, name == "ErrTooDeep beside a liar", abort.StopRun, name)
	}
}

// liar claims to be every error, and to turn into each.
type liar struct{}

func (liar) Error() string { return "liar" }
func (liar) Is(error) bool { return true }
func (liar) As(any) bool   { return true }
