package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// observed adds an observer that counts to r.
func observed(r *hooks.Registry) (*hooks.Observer, *atomic.Int64) {
	n := new(atomic.Int64)
	return r.Observe(func(context.Context, hooks.HookDispatchedEvent) { n.Add(1) }), n
}

func TestEachOfSeveralObserversGetsTheEvent(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	first, a := observed(r)
	_, b := observed(r)
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.EqualValues(t, 1, a.Load())
	assert.EqualValues(t, 1, b.Load())

	assert.True(t, first.Remove())
	assert.False(t, first.Remove())
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.EqualValues(t, 1, a.Load(), "one removed gets no more")
	assert.EqualValues(t, 2, b.Load())
	var none *hooks.Observer
	assert.False(t, none.Remove())
}

func TestAFunctionThatObservesTwiceIsCalledTwice(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	var events eventLog
	one, _ := r.Observe(events.handle), r.Observe(events.handle)
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Len(t, events.take(), 2)
	one.Remove()
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Len(t, events.take(), 1)
}

// An observer can only watch: what goes wrong in it hurts nobody else.
func TestAnObserverThatPanicsHurtsNeitherTheDispatchNorTheNextObserver(t *testing.T) {
	t.Parallel()
	var nilMap map[string]int
	for name, bad := range map[string]func(){
		"text": func() { panic("x") }, "nil": func() { panic(nil) },
		"runtime error": func() { nilMap["k"] = 1 }, "abort": func() { panic(hooks.Abort("no")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			r.Observe(func(context.Context, hooks.HookDispatchedEvent) { bad() })
			events := record(t, r)
			reg := hooks.On(hooks.PreStep, edit(func(s *hooks.Step) { s.Input = "new" }), hooks.In(r))
			for range 2 {
				s := &hooks.Step{}
				require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, s))
				assert.Equal(t, "new", s.Input)
				assert.Equal(t, hooks.OutcomeModified, events.one(t).Outcome)
			}
			reg.Remove()
			hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("on purpose")), hooks.In(r))
			assert.Equal(t, "on purpose", aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})).Reason)
			assert.Equal(t, hooks.OutcomeAborted, events.one(t).Outcome)
		})
	}
}

func TestAnObserverThatEndsItsGoroutineLeavesTheNextObserverItsEvent(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	exits := r.Observe(func(context.Context, hooks.HookDispatchedEvent) { runtime.Goexit() })
	events := record(t, r)
	finishes(t, "the goroutine", func() { _ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}) })
	assert.Len(t, events.take(), 1)
	finishes(t, "its removal", func() { exits.Remove() })
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Len(t, events.take(), 1)
}

func TestAnObserverCanRemoveItselfAndAddOthers(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	var tr trace
	var self *hooks.Observer
	self = r.Observe(func(context.Context, hooks.HookDispatchedEvent) {
		tr.add("first")
		assert.True(t, self.Remove())
		r.Observe(func(context.Context, hooks.HookDispatchedEvent) { tr.add("added") })
	})
	r.Observe(func(context.Context, hooks.HookDispatchedEvent) { tr.add("second") })
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "first second", tr.take())
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "second added", tr.take())
}

// What stays when an observer blocks is its own dispatch alone.
func TestNoLockIsHeldWhileAnObserverRuns(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	blocked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o := r.Observe(func(context.Context, hooks.HookDispatchedEvent) {
		once.Do(func() {
			close(blocked)
			<-release
		})
	})
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})) })
	<-blocked
	finishes(t, "the others", func() {
		hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r)).Remove()
		hooks.On(hooks.PostStep, fails[hooks.Step](nil), hooks.In(r))
		r.Observe(func(context.Context, hooks.HookDispatchedEvent) {}).Remove()
		o.Remove()
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PostStep, &hooks.Step{}))
	})
	close(release)
	wg.Wait()
}

func TestARegistryObservesTheDispatchesThatItTakesPartIn(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, r := newRun(t)
	_, n := observed(r)
	hooks.On(p, fails[job](nil)) // in the default registry
	require.NoError(t, hooks.Dispatch(t.Context(), p, &job{}))
	assert.Zero(t, n.Load(), "not of others")
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.EqualValues(t, 1, n.Load(), "of its run, whoever's hooks they are")
	inner := hooks.NewRegistry()
	require.NoError(t, hooks.Dispatch(hooks.WithScope(ctx, inner), p, &job{}))
	assert.EqualValues(t, 2, n.Load(), "of scopes inside its own")
	_, other := observed(hooks.NewRegistry())
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Zero(t, other.Load())
}

func TestObserversOfTheProcessGetEveryDispatch(t *testing.T) {
	p := newPoint[job](t)
	ctx, r := newRun(t)
	var events, same eventLog
	a := hooks.Observe(events.handle)
	b := hooks.Default().Observe(same.handle)
	defer b.Remove()
	scoped := record(t, r)
	hooks.On(p, fails[job](nil))
	require.NoError(t, hooks.Dispatch(t.Context(), p, &job{}))
	assert.Len(t, events.take(), 1)
	assert.Len(t, same.take(), 1)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Len(t, events.take(), 1)
	assert.Len(t, same.take(), 1)
	assert.Len(t, scoped.take(), 1)
	assert.True(t, a.Remove())
	require.NoError(t, hooks.Dispatch(t.Context(), p, &job{}))
	assert.Empty(t, events.take())
}

func TestObserversStayWhenHooksAreCleared(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	_, n := observed(r)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	r.Clear(hooks.PreStep)
	r.ClearAll()
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.EqualValues(t, 1, n.Load())
}

func TestAnObserverGetsTheCtxOfTheDispatch(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	var got any
	r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { got = ctx.Value(key{}) })
	require.NoError(t, hooks.Dispatch(context.WithValue(ctx, key{}, "value"), hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "value", got)
}

func TestObserveRefusesANilFunction(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	for _, f := range []func(){
		func() { hooks.Observe(nil) }, func() { r.Observe(nil) }, func() { hooks.NewAsyncObserver(nil, 1) },
	} {
		assert.Contains(t, panicText(t, f), "nil")
	}
}

func TestObserversConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	_, always := observed(r)
	const workers, rounds = 8, 50
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				o, n := observed(r)
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				assert.Positive(t, n.Load())
				assert.True(t, o.Remove())
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, workers*rounds, always.Load())
}

func TestSlogObserverLogsEachEventByItsOutcome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hook hooks.Func[hooks.ToolCall]
		want []string
	}{
		"proceeded": {fails[hooks.ToolCall](nil), []string{"level=DEBUG", "outcome=proceeded", "hooks=1"}},
		"modified":  {edit(func(c *hooks.ToolCall) { c.Input["k"] = "hunter2" }), []string{"level=DEBUG", "outcome=modified"}},
		"failed":    {fails[hooks.ToolCall](errBroken), []string{"level=WARN", "outcome=proceeded", "n=broken"}},
		"aborted": {
			fails[hooks.ToolCall](&hooks.HookAborted{Reason: "over budget", Err: errors.New("hunter2")}),
			[]string{"level=WARN", "outcome=aborted", `reason="over budget"`, "source=n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var out bytes.Buffer
			r.Observe(hooks.SlogObserver(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			hooks.On(hooks.PreToolCall, tt.hook, hooks.In(r), hooks.WithName("n"))
			call := &hooks.ToolCall{Name: "sh", Caller: hooks.Caller{RunID: "run-1", AgentRole: "Writer"}}
			_ = hooks.Dispatch(ctx, hooks.PreToolCall, call)
			assert.Equal(t, 1, strings.Count(out.String(), "\n"))
			for _, part := range append(tt.want, "point=pre_tool_call", "tool=sh", "agent=Writer", "run=run-1", "duration=") {
				assert.Contains(t, out.String(), part)
			}
			assert.NotContains(t, out.String(), "hunter2")
		})
	}
}

func TestSlogObserverKeepsToTheLevelOfTheLogger(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var out bytes.Buffer
	r.Observe(hooks.SlogObserver(slog.New(slog.NewTextHandler(&out, nil))))
	reg := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Empty(t, out.String())
	reg.Remove()
	hooks.On(hooks.PreStep, fails[hooks.Step](errBroken), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.NotEmpty(t, out.String())
	for _, key := range []string{"tool=", "agent=", "run=", "reason=", "source="} {
		assert.NotContains(t, out.String(), key, "what is unset isn't logged")
	}
}
