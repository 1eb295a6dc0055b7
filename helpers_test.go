package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// childEnv is set in a process that rerun started.
const childEnv = "HOOKS_TEST_CHILD"

func TestMain(m *testing.M) {
	if !inChild() {
		hooks.SetLogger(nil) // hooks fail on purpose all over these tests
	}
	m.Run()
}

func inChild() bool { return os.Getenv(childEnv) != "" }

// rerun runs the current test alone in a process of its own, with env added to
// the environment and the logger as the package starts with it.
func rerun(t *testing.T, env ...string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), exe, "-test.run="+pattern, "-test.v", "-test.timeout=60s")
	cmd.Env = append(append(os.Environ(), env...), childEnv+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
}

// newRun returns a registry that nobody else has and a ctx in which it is
// active, so that a test sees its own hooks alone and can run in parallel.
func newRun(t *testing.T) (context.Context, *hooks.Registry) {
	t.Helper()
	r := hooks.NewRegistry()
	return hooks.WithScope(t.Context(), r), r
}

var pointsMade atomic.Uint64

// newPoint defines a point that nobody else has, so that a test can use the
// default registry in parallel with others. Its hooks there go with the test.
func newPoint[C any](t *testing.T) hooks.Point[C] {
	t.Helper()
	p := hooks.Define[C](hooks.InterceptionPoint(fmt.Sprintf("test.%d", pointsMade.Add(1))))
	t.Cleanup(func() { hooks.Clear(p) })
	return p
}

// job is a context of a framework's own: with a role, a tool and a payload.
type job struct {
	hooks.Caller
	Tool string
	Data any
}

func (j *job) ToolName() string { return j.Tool }

func (j *job) HookPayload(hooks.InterceptionPoint) any { return j.Data }

// eventLog is what an observer saw.
type eventLog struct {
	mu     sync.Mutex
	events []hooks.HookDispatchedEvent
}

func (l *eventLog) handle(_ context.Context, ev hooks.HookDispatchedEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, ev)
}

// record collects the events of the dispatches that r takes part in.
func record(t *testing.T, r *hooks.Registry) *eventLog {
	t.Helper()
	l := new(eventLog)
	o := r.Observe(l.handle)
	t.Cleanup(func() { o.Remove() })
	return l
}

// take returns the events so far and forgets them.
func (l *eventLog) take() []hooks.HookDispatchedEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

// one is take where there must be exactly one event.
func (l *eventLog) one(t *testing.T) hooks.HookDispatchedEvent {
	t.Helper()
	events := l.take()
	require.Len(t, events, 1)
	return events[0]
}

// outcomes lists the outcome of each hook of an event.
func outcomes(ev hooks.HookDispatchedEvent) []hooks.Outcome {
	list := make([]hooks.Outcome, len(ev.Hooks))
	for i, h := range ev.Hooks {
		list[i] = h.Outcome
	}
	return list
}

// trace is a list of what happened, in order.
type trace struct {
	mu   sync.Mutex
	list []string
}

func (tr *trace) add(what string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.list = append(tr.list, what)
}

// take returns what happened so far, joined by spaces, and forgets it.
func (tr *trace) take() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	s := strings.Join(tr.list, " ")
	tr.list = nil
	return s
}

// note is a hook that adds what to tr and changes nothing.
func note[C any](tr *trace, what string) hooks.Func[C] {
	return func(context.Context, *C) error {
		tr.add(what)
		return nil
	}
}

// edit is a hook that applies f to its context.
func edit[C any](f func(*C)) hooks.Func[C] {
	return func(_ context.Context, c *C) error {
		f(c)
		return nil
	}
}

// fails is a hook that returns err.
func fails[C any](err error) hooks.Func[C] {
	return func(context.Context, *C) error { return err }
}

// noCtx is what a careless caller gives.
var noCtx context.Context

// succeeds is a body that does nothing, and captures nothing.
func succeeds[C any](context.Context, *C) error { return nil }

// panics is a hook that panics with value.
func panics[C any](value any) hooks.Func[C] {
	return func(context.Context, *C) error { panic(value) }
}

// counter is a hook that counts how often it ran.
func counter[C any](n *atomic.Int64) hooks.Func[C] {
	return func(context.Context, *C) error {
		n.Add(1)
		return nil
	}
}

// untypedPoint drives a point whatever the type of its context.
type untypedPoint struct {
	name     hooks.InterceptionPoint
	on       func(fn func() error, opts ...hooks.Option) *hooks.Registration
	dispatch func(context.Context) error
	enabled  func(context.Context) bool
	filters  []hooks.Option // that the point allows and a dispatch matches
}

func (p untypedPoint) Name() hooks.InterceptionPoint { return p.name }

func untyped[C any](p hooks.Point[C], make func() *C, filters ...hooks.Option) untypedPoint {
	return untypedPoint{
		name: p.Name(),
		on: func(fn func() error, opts ...hooks.Option) *hooks.Registration {
			return hooks.On(p, func(context.Context, *C) error { return fn() }, opts...)
		},
		dispatch: func(ctx context.Context) error { return hooks.Dispatch(ctx, p, make()) },
		enabled:  func(ctx context.Context) bool { return hooks.Enabled(ctx, p) },
		filters:  filters,
	}
}

// everyPoint lists the library's own points.
func everyPoint() []untypedPoint {
	caller := hooks.Caller{AgentRole: "Writer"}
	execution := func() *hooks.Execution { return &hooks.Execution{Caller: caller} }
	step := func() *hooks.Step { return &hooks.Step{Caller: caller} }
	model := func() *hooks.ModelCall { return &hooks.ModelCall{Caller: caller} }
	tool := func() *hooks.ToolCall { return &hooks.ToolCall{Caller: caller, Name: "read_file"} }
	role, name := hooks.WithAgents("Writer"), hooks.WithTools("Read File")
	return []untypedPoint{
		untyped(hooks.ExecutionStart, execution, role),
		untyped(hooks.Input, execution, role),
		untyped(hooks.PreStep, step, role),
		untyped(hooks.PreModelCall, model, role),
		untyped(hooks.PostModelCall, model, role),
		untyped(hooks.PreToolCall, tool, role, name),
		untyped(hooks.PostToolCall, tool, role, name),
		untyped(hooks.PostStep, step, role),
		untyped(hooks.Output, execution, role),
		untyped(hooks.ExecutionEnd, execution, role),
	}
}

// aborted requires err to be an abort itself, as Dispatch returns it.
func aborted(t *testing.T, err error) *hooks.HookAborted {
	t.Helper()
	require.Error(t, err)
	abort, ok := err.(*hooks.HookAborted)
	require.True(t, ok, "%T is no *HookAborted", err)
	require.NotNil(t, abort)
	return abort
}

// suspended requires err to hold a Suspended, and returns it.
func suspended(t *testing.T, err error) *hooks.Suspended {
	t.Helper()
	found, ok := errors.AsType[*hooks.Suspended](err)
	require.True(t, ok, "%T %v holds no *Suspended", err, err)
	return found
}

// registered lists the names of hooks.
func registered(regs []*hooks.Registration) []string {
	list := make([]string, len(regs))
	for i, r := range regs {
		list[i] = r.Name()
	}
	return list
}

// panicText returns the string with which f panics.
func panicText(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		t.Helper()
		v := recover()
		var ok bool
		text, ok = v.(string)
		assert.True(t, ok, "panicked with %T %v", v, v)
	}()
	f()
	return ""
}

// finishes requires f to return, or to end its goroutine, soon: it catches
// what would wait for ever.
func finishes(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.Fail(t, "still waiting", what)
	}
}

// logLine is one line that the package logged.
type logLine struct {
	ctx   context.Context
	level slog.Level
	msg   string
	attrs map[string]slog.Value
}

// logCapture is a slog.Handler that keeps what it gets.
type logCapture struct {
	mu    sync.Mutex
	lines []logLine
}

func (l *logCapture) Enabled(context.Context, slog.Level) bool { return true }
func (l *logCapture) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logCapture) WithGroup(string) slog.Handler            { return l }

func (l *logCapture) Handle(ctx context.Context, r slog.Record) error {
	line := logLine{ctx: ctx, level: r.Level, msg: r.Message, attrs: make(map[string]slog.Value)}
	r.Attrs(func(a slog.Attr) bool {
		line.attrs[a.Key] = a.Value
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

// take returns the lines so far and forgets them.
func (l *logCapture) take() []logLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// captureLog makes the package log to the capture returned until the test
// ends. A test that uses it must not run in parallel.
func captureLog(t *testing.T) *logCapture {
	t.Helper()
	l := new(logCapture)
	hooks.SetLogger(slog.New(l))
	t.Cleanup(func() { hooks.SetLogger(nil) })
	return l
}

// errBroken is what hooks fail with.
var errBroken = errors.New("broken")
