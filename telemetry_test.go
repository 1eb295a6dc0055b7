package hooks_test

// What a dispatch tells its observers: the event and its durations, who gets
// it and when, the observer that logs and the one with a goroutine of its own.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestEvent_onePerDispatchThatRanAHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), hooks.WithName("looks"))
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["k"] = 1 }), hooks.In(r), hooks.WithName("edits"))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](errBroken), hooks.In(r), hooks.WithName("fails"))
	hooks.On(hooks.PreToolCall, panics[hooks.ToolCall]("boom"), hooks.In(r), hooks.WithName("panics"))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r))
	call := &hooks.ToolCall{ID: "call-1", Name: "sh", Caller: hooks.Caller{RunID: "run-1", AgentRole: "Writer"}}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))

	ev := events.one(t)
	assert.Equal(t, hooks.InterceptionPoint("pre_tool_call"), ev.Point)
	assert.Equal(t, hooks.OutcomeModified, ev.Outcome)
	assert.Equal(t, 5, ev.HookCount)
	assert.Empty(t, ev.AbortReason)
	assert.Empty(t, ev.AbortSource)
	assert.Equal(t, "run-1", ev.RunID)
	assert.Equal(t, "Writer", ev.AgentRole)
	assert.Equal(t, "sh", ev.ToolName)
	assert.Equal(t, "call-1", ev.ToolCallID)
	require.Len(t, ev.Hooks, 5)
	total := time.Duration(0)
	for i, want := range []hooks.HookRun{
		{Name: "looks", Outcome: hooks.OutcomeProceeded},
		{Name: "edits", Outcome: hooks.OutcomeModified},
		{Name: "fails", Outcome: hooks.OutcomeFailed, Err: errBroken},
		{Name: "panics", Outcome: hooks.OutcomeFailed, Err: ev.Hooks[3].Err},
		{Name: r.Hooks(hooks.PreToolCall)[4].Name(), Outcome: hooks.OutcomeProceeded},
	} {
		got := ev.Hooks[i]
		assert.GreaterOrEqual(t, got.Duration, time.Duration(0))
		total += got.Duration
		got.Duration = 0
		assert.Equal(t, want, got)
	}
	assert.IsType(t, new(hooks.PanicError), ev.Hooks[3].Err)
	assert.GreaterOrEqual(t, ev.Duration, total)
}

func TestEvent_everyOutcome(t *testing.T) {
	t.Parallel()
	for want, hook := range map[hooks.Outcome]hooks.Func[hooks.Step]{
		"proceeded": fails[hooks.Step](nil),
		"modified":  edit(func(s *hooks.Step) { s.Input = "new" }),
		"aborted":   fails[hooks.Step](hooks.Abort("no")),
	} {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.On(hooks.PreStep, hook, hooks.In(r))
		_ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})
		ev := events.one(t)
		assert.Equal(t, want, ev.Outcome)
		assert.Equal(t, []hooks.Outcome{want}, outcomes(ev))
	}
	assert.Equal(t, []hooks.Outcome{"proceeded", "modified", "aborted", "failed"},
		[]hooks.Outcome{hooks.OutcomeProceeded, hooks.OutcomeModified, hooks.OutcomeAborted, hooks.OutcomeFailed})
}

// A failure isn't lost in the outcome of the dispatch: its hook tells it.
func TestEvent_failedHookProceeds(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreToolCall, panics[hooks.ToolCall]("boom"), hooks.In(r))
	ran := false
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{}, edit(func(*hooks.ToolCall) { ran = true })))
	assert.True(t, ran)
	ev := events.one(t)
	assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome)
	assert.Equal(t, []hooks.Outcome{hooks.OutcomeFailed}, outcomes(ev))
}

func TestEvent_abortReasonAndSource(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	cause := errors.New("cause")
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["k"] = 1 }), hooks.In(r))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](&hooks.HookAborted{Reason: "over budget", Err: cause}), hooks.In(r), hooks.WithName("billing"))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r))
	aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
	ev := events.one(t)
	assert.Equal(t, hooks.OutcomeAborted, ev.Outcome)
	assert.Equal(t, "over budget", ev.AbortReason)
	assert.Equal(t, "billing", ev.AbortSource)
	assert.Equal(t, 2, ev.HookCount, "hooks behind the abort didn't run")
	assert.Equal(t, []hooks.Outcome{hooks.OutcomeModified, hooks.OutcomeAborted}, outcomes(ev))
	assert.Equal(t, cause, ev.Hooks[1].Err)
}

func TestEvent_sentBeforeDispatchReturns(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	r.Observe(func(context.Context, hooks.HookDispatchedEvent) { tr.add("event") })
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "hook"), hooks.In(r))
	hooks.On(hooks.PostStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	tr.add("returned")
	aborted(t, hooks.Dispatch(ctx, hooks.PostStep, &hooks.Step{}))
	tr.add("returned")
	assert.Equal(t, "hook event returned event returned", tr.take())
}

func TestEvent_callerOfCtx(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	ctx = hooks.WithCaller(ctx, hooks.Caller{RunID: "run-1", AgentRole: "Writer"})
	p := hooks.PreStep
	hooks.On(p, fails[hooks.Step](nil), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, p, &hooks.Step{}))
	ev := events.one(t)
	assert.Equal(t, "run-1", ev.RunID)
	assert.Equal(t, "Writer", ev.AgentRole)
	require.NoError(t, hooks.Dispatch(ctx, p, &hooks.Step{Caller: hooks.Caller{AgentRole: "Editor"}}))
	ev = events.one(t)
	assert.Equal(t, "run-1", ev.RunID)
	assert.Equal(t, "Editor", ev.AgentRole, "what the call says itself comes first")
}

// An event tells where in a tree of agents its dispatch belongs, and for whom.
func TestEvent_placeInATree(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	hooks.On(hooks.ExecutionStart, fails[hooks.Execution](nil), hooks.In(r))
	type facts struct {
		place
		tenant string
	}
	seen := func() facts {
		t.Helper()
		ev := events.one(t)
		return facts{place{ev.RunID, ev.ParentRunID, ev.RootRunID}, ev.Tenant}
	}
	other := hooks.Caller{RunID: "x", ParentRunID: "y", RootRunID: "z", Tenant: "other"}
	for name, fire := range map[string]func(ctx context.Context, s *hooks.Step) error{
		"Dispatch": func(ctx context.Context, s *hooks.Step) error { return hooks.Dispatch(ctx, hooks.PreStep, s) },
		"RunStep":  func(ctx context.Context, s *hooks.Step) error { return hooks.RunStep(ctx, s, fails[hooks.Step](nil)) },
	} {
		require.NoError(t, fire(ctx, &hooks.Step{}))
		assert.Equal(t, facts{}, seen(), name)
		require.NoError(t, fire(ctx, &hooks.Step{Caller: hooks.Caller{RunID: "a"}}))
		assert.Equal(t, facts{place{"a", "", "a"}, ""}, seen(), name)
		require.NoError(t, fire(hooks.WithCaller(ctx, other), &hooks.Step{}))
		assert.Equal(t, facts{place{"x", "y", "z"}, "other"}, seen(), name)

		tenant := hooks.WithCaller(ctx, hooks.Caller{Tenant: "acme"})
		inRun(t, tenant, "a", func(ctx context.Context) {
			assert.Equal(t, facts{place{"a", "", "a"}, "acme"}, seen(), name)
			inRun(t, ctx, "b", func(ctx context.Context) {
				assert.Equal(t, facts{place{"b", "a", "a"}, "acme"}, seen(), name)
				assert.NoError(t, fire(ctx, &hooks.Step{}))
				assert.Equal(t, facts{place{"b", "a", "a"}, "acme"}, seen(), name)
				assert.NoError(t, fire(ctx, &hooks.Step{Caller: other}))
				assert.Equal(t, facts{place{"x", "a", "a"}, "other"}, seen(), "%s: the place is the run's, whatever a Caller says", name)
			})
		})
	}
}

func TestEvent_jsonHasItsPlace(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(hooks.HookDispatchedEvent{RunID: "a", ParentRunID: "b", RootRunID: "c", Tenant: "d"})
	require.NoError(t, err)
	assert.Contains(t, string(out), `"RunID":"a","ParentRunID":"b","RootRunID":"c","Tenant":"d"`)
}

func TestSlogObserver_parentAndTenant(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var out bytes.Buffer
	r.Observe(hooks.SlogObserver(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	inRun(t, hooks.WithCaller(ctx, hooks.Caller{Tenant: "acme"}), "a", func(ctx context.Context) {
		inRun(t, ctx, "b", func(ctx context.Context) {
			assert.NoError(t, hooks.RunStep(ctx, &hooks.Step{}, fails[hooks.Step](nil)))
		})
	})
	for _, part := range []string{"run=b", "parent=a", "tenant=acme"} {
		assert.Contains(t, out.String(), part)
	}
}

func TestEvent_durationsOfHooksAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		waits := func(d time.Duration, err error) hooks.Func[hooks.ToolCall] {
			return func(context.Context, *hooks.ToolCall) error {
				<-time.After(d)
				return err
			}
		}
		var events []hooks.HookDispatchedEvent
		for range 2 { // a slow observer counts for nobody, the next event included
			r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
				events = append(events, ev)
				<-time.After(time.Minute)
			})
		}
		const ms = time.Millisecond
		hooks.On(hooks.PreToolCall, waits(10*ms, nil), hooks.In(r))
		hooks.On(hooks.PreToolCall, waits(20*ms, errBroken), hooks.In(r))
		hooks.On(hooks.PostToolCall, waits(20*ms, hooks.Abort("no")), hooks.In(r))
		require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{}, waits(100*ms, nil)))
		require.Len(t, events, 4)
		pre, post := events[0], events[2]
		assert.Equal(t, 30*ms, pre.Duration)
		assert.Equal(t, 10*ms, pre.Hooks[0].Duration)
		assert.Equal(t, 20*ms, pre.Hooks[1].Duration)
		assert.Equal(t, 20*ms, post.Duration)
		assert.Equal(t, 20*ms, post.Hooks[0].Duration)
		assert.Equal(t, hooks.OutcomeAborted, post.Outcome)
	})
}

func TestEvent_goexitHasDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.On(hooks.PreStep, edit(func(s *hooks.Step) {
			s.Input = "new"
			<-time.After(time.Second)
			runtime.Goexit()
		}), hooks.In(r))
		go func() { _ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}) }()
		<-time.After(time.Minute)
		ev := events.one(t)
		assert.Equal(t, time.Second, ev.Duration)
		assert.Equal(t, time.Second, ev.Hooks[0].Duration)
		assert.Equal(t, hooks.ErrGoexit, ev.Hooks[0].Err)
		assert.Equal(t, hooks.OutcomeModified, ev.Outcome, "what it changed before stays changed")
	})
}

func TestEvent_noneLostConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		switch c.ID {
		case "replace":
			c.Input = map[string]any{"k": 2}
		case "in place":
			c.Input["k"] = 2
		case "abort":
			return hooks.Abort("no")
		}
		return nil
	}, hooks.In(r), hooks.WithTools("tool"))
	var wg sync.WaitGroup
	for id, n := range map[string]int{"proceed": 600, "replace": 150, "in place": 150, "abort": 100, "filtered": 100, "other point": 500} {
		for range n {
			wg.Go(func() {
				call := &hooks.ToolCall{ID: id, Name: "tool", Input: map[string]any{"k": 1}}
				p := hooks.PreToolCall
				switch id {
				case "filtered":
					call.Name = "other"
				case "other point":
					p = hooks.PostToolCall
				}
				err := hooks.Dispatch(ctx, p, call)
				assert.Equal(t, id == "abort", err != nil)
			})
		}
	}
	wg.Wait()
	count := map[hooks.Outcome]int{}
	for _, ev := range events.take() {
		count[ev.Outcome]++
	}
	assert.Equal(t, map[hooks.Outcome]int{"proceeded": 600, "modified": 300, "aborted": 100}, count)
}

func TestEvent_onceHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r), hooks.WithOnce(), hooks.WithName("once"))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "once", events.one(t).Hooks[0].Name)
}

func TestEvent_nestedDispatches(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
		return hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "inner"})
	}, hooks.In(r), hooks.WithName("outer"))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), hooks.WithName("inner"))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	got := events.take()
	require.Len(t, got, 2)
	assert.Equal(t, "inner", got[0].Hooks[0].Name)
	assert.Equal(t, "outer", got[1].Hooks[0].Name)
	assert.Equal(t, 1, got[1].HookCount)
}

func TestEvent_jsonHasErrorTextsNoPanicValue(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(hooks.HookDispatchedEvent{Point: "pre_step", Hooks: []hooks.HookRun{
		{Name: "panics", Outcome: hooks.OutcomeFailed, Err: &hooks.PanicError{Value: "sk-secret", Stack: []byte("stack")}},
		{Name: "fails", Outcome: hooks.OutcomeFailed, Err: errors.New("database is down")},
		{Name: "fine", Outcome: hooks.OutcomeProceeded},
	}})
	require.NoError(t, err)
	assert.NotContains(t, string(out), "sk-secret")
	assert.Contains(t, string(out), `"Name":"fails","Outcome":"failed","Duration":0,"Err":"database is down"`)
	assert.Contains(t, string(out), `"Err":"hooks: panic with a value of type string"`)
	assert.Contains(t, string(out), `{"Name":"fine","Outcome":"proceeded","Duration":0}`)

	bare, err := json.Marshal(&hooks.PanicError{Value: "sk-secret"})
	require.NoError(t, err)
	assert.NotContains(t, string(bare), "sk-secret")
}

func TestHookAborted_nilWhenPrinted(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "<nil *HookAborted>", fmt.Sprint((&hooks.ToolCall{}).Blocked))
}

// countEvents adds an observer that counts to r.
func countEvents(r *hooks.Registry) (*hooks.Observer, *atomic.Int64) {
	n := new(atomic.Int64)
	return r.Observe(func(context.Context, hooks.HookDispatchedEvent) { n.Add(1) }), n
}

func TestObserve_severalObservers(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	first, a := countEvents(r)
	_, b := countEvents(r)
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

func TestObserve_sameFunctionTwice(t *testing.T) {
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

// An observer can only watch: what goes wrong in it hurts neither the dispatch
// nor the next observer.
func TestObserver_panics(t *testing.T) {
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

func TestObserver_goexitLeavesNextItsEvent(t *testing.T) {
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

func TestObserver_removesItselfAndAddsOthers(t *testing.T) {
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

// An observer that blocks holds up its own dispatch alone.
func TestObserver_runsWithoutLock(t *testing.T) {
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
	finishes(t, "the event", func() { <-blocked })
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

func TestObserve_registryTakesPart(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, r := newRun(t)
	_, n := countEvents(r)
	hooks.On(p, fails[job](nil)) // in the default registry
	require.NoError(t, hooks.Dispatch(t.Context(), p, &job{}))
	assert.Zero(t, n.Load(), "not of others")
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.EqualValues(t, 1, n.Load(), "of its run, whoever's hooks they are")
	inner := hooks.NewRegistry()
	require.NoError(t, hooks.Dispatch(hooks.WithScope(ctx, inner), p, &job{}))
	assert.EqualValues(t, 2, n.Load(), "of scopes inside its own")
	_, other := countEvents(hooks.NewRegistry())
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Zero(t, other.Load())
}

func TestObserve_wholeProcess(t *testing.T) {
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

func TestObserver_staysWhenHooksAreCleared(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	_, n := countEvents(r)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	r.Clear(hooks.PreStep)
	r.ClearAll()
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.EqualValues(t, 1, n.Load())
}

func TestObserver_ctxOfDispatch(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	var got any
	r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { got = ctx.Value(key{}) })
	require.NoError(t, hooks.Dispatch(context.WithValue(ctx, key{}, "value"), hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "value", got)
}

func TestObserve_nilFunctionPanics(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	for _, f := range []func(){
		func() { hooks.Observe(nil) }, func() { r.Observe(nil) }, func() { hooks.NewAsyncObserver(nil, 1) },
	} {
		assert.Contains(t, panicText(t, f), "nil")
	}
}

func TestObserver_addRemoveConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	_, always := countEvents(r)
	const workers, rounds = 8, 50
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				o, n := countEvents(r)
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				assert.Positive(t, n.Load())
				assert.True(t, o.Remove())
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, workers*rounds, always.Load())
}

func TestSlogObserver_eachOutcome(t *testing.T) {
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

func TestSlogObserver_levelOfLogger(t *testing.T) {
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

// A bubble of synctest ends only when its goroutines have: the tests of
// AsyncObserver prove along the way that Close leaves none behind.

func asyncEvent(i int) hooks.HookDispatchedEvent { return hooks.HookDispatchedEvent{HookCount: i} }

// gate is an observer's function that waits to be let through, event by event.
type gate struct {
	began, pass chan struct{}
	handled     atomic.Int64
}

func newGate() *gate { return &gate{began: make(chan struct{}), pass: make(chan struct{})} }

func (g *gate) handle(context.Context, hooks.HookDispatchedEvent) {
	g.began <- struct{}{}
	<-g.pass
	g.handled.Add(1)
}

func TestAsyncObserver_inOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []int
		a := hooks.NewAsyncObserver(func(_ context.Context, ev hooks.HookDispatchedEvent) { got = append(got, ev.HookCount) }, 100)
		for i := range 100 {
			a.Handle(t.Context(), asyncEvent(i))
		}
		require.NoError(t, a.Close(t.Context()))
		require.Len(t, got, 100)
		for i, n := range got {
			assert.Equal(t, i, n)
		}
		assert.Zero(t, a.Dropped())
	})
}

func TestAsyncObserver_slowHoldsUpNoDispatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		var handled atomic.Int64
		a := hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) {
			<-time.After(time.Second)
			handled.Add(1)
		}, 20)
		r.Observe(a.Handle)
		hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
		start := time.Now()
		for range 20 {
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		}
		assert.Zero(t, time.Since(start))
		require.NoError(t, a.Close(ctx))
		assert.Equal(t, 20*time.Second, time.Since(start))
		assert.EqualValues(t, 20, handled.Load())
	})
}

func TestAsyncObserver_fullDropsAndCounts(t *testing.T) {
	t.Parallel()
	for _, buffer := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(buffer), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				a := hooks.NewAsyncObserver(g.handle, buffer)
				synctest.Wait() // its goroutine is ready to take an event
				a.Handle(t.Context(), asyncEvent(0))
				<-g.began // and busy with it
				for i := range 10 {
					a.Handle(t.Context(), asyncEvent(i))
				}
				assert.EqualValues(t, 10-buffer, a.Dropped())
				close(g.pass)
				go func() {
					for range g.began {
					}
				}()
				require.NoError(t, a.Close(t.Context()))
				close(g.began)
				assert.EqualValues(t, 1+buffer, g.handled.Load())
			})
		})
	}
}

func TestAsyncObserver_closedDropsAndCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		var handled atomic.Int64
		a := hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) { handled.Add(1) }, 4)
		r.Observe(a.Handle)
		hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
		require.NoError(t, a.Close(ctx))
		for range 3 {
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		}
		assert.EqualValues(t, 3, a.Dropped())
		assert.Zero(t, handled.Load())
	})
}

func TestAsyncObserver_closeWaitsUnlessCtxEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		a := hooks.NewAsyncObserver(g.handle, 5)
		for i := range 4 {
			a.Handle(t.Context(), asyncEvent(i))
		}
		<-g.began
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		assert.Equal(t, context.DeadlineExceeded, a.Close(ctx))
		assert.Equal(t, time.Second, time.Since(start))
		assert.Equal(t, context.DeadlineExceeded, a.Close(ctx), "closing again waits again")

		// The event that was being handled is; the three that waited are lost.
		close(g.pass)
		require.NoError(t, a.Close(t.Context()))
		assert.EqualValues(t, 1, g.handled.Load())
		assert.EqualValues(t, 3, a.Dropped())
		assert.NoError(t, a.Close(ctx), "nothing is left to wait for")
	})
}

func TestAsyncObserver_panicOrGoexitGetsNextEvent(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func(){
		"panic": func() { panic("boom") }, "panic with nil": func() { panic(nil) }, "exit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []int
				a := hooks.NewAsyncObserver(func(_ context.Context, ev hooks.HookDispatchedEvent) {
					got = append(got, ev.HookCount)
					if ev.HookCount%2 == 0 {
						bad()
					}
				}, 8)
				for i := range 5 {
					a.Handle(t.Context(), asyncEvent(i))
				}
				require.NoError(t, a.Close(t.Context()))
				assert.Equal(t, []int{0, 1, 2, 3, 4}, got)
				assert.Zero(t, a.Dropped())
			})
		})
	}
}

func TestAsyncObserver_ctxWithoutCancel(t *testing.T) {
	t.Parallel()
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Second)
		checked := false
		a := hooks.NewAsyncObserver(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
			checked = true
			assert.Equal(t, "value", ctx.Value(key{}))
			assert.NoError(t, ctx.Err())
			_, ok := ctx.Deadline()
			assert.False(t, ok)
		}, 1)
		cancel()
		a.Handle(ctx, asyncEvent(0))
		require.NoError(t, a.Close(t.Context()))
		assert.True(t, checked)
	})
}

func TestAsyncObserver_nilCtx(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var none context.Context
		handled := false
		a := hooks.NewAsyncObserver(func(ctx context.Context, _ hooks.HookDispatchedEvent) { handled = ctx.Err() == nil }, 1)
		a.Handle(none, asyncEvent(0))
		require.NoError(t, a.Close(none))
		assert.True(t, handled)
	})
}

func TestAsyncObserver_closeFromOwnFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a *hooks.AsyncObserver
		closed := make(chan error, 1)
		a = hooks.NewAsyncObserver(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			closed <- a.Close(ctx)
		}, 1)
		a.Handle(t.Context(), asyncEvent(0))
		assert.Equal(t, context.DeadlineExceeded, <-closed)
		require.NoError(t, a.Close(t.Context()))
	})
}

func TestNewAsyncObserver_badArgumentsPanic(t *testing.T) {
	t.Parallel()
	text := panicText(t, func() { hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) {}, -1) })
	assert.Contains(t, text, "hooks: NewAsyncObserver")
	assert.Contains(t, text, "-1")
	assert.Contains(t, panicText(t, func() { hooks.NewAsyncObserver(nil, 1) }), "hooks: NewAsyncObserver")
}

func TestAsyncObserver_ConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	for _, buffer := range []int{0, 4, 10_000} {
		var handled atomic.Int64
		a := hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) { handled.Add(1) }, buffer)
		o := r.Observe(a.Handle)
		const workers, rounds = 8, 200
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				for range rounds {
					assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				}
				if i%4 == 0 {
					assert.NoError(t, a.Close(t.Context()))
				}
				_ = a.Dropped()
			})
		}
		wg.Wait()
		require.NoError(t, a.Close(t.Context()))
		assert.EqualValues(t, workers*rounds, uint64(handled.Load())+a.Dropped(), "each event is handled or counted")
		o.Remove()
	}
}
