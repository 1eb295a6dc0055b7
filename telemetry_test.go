package hooks_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestADispatchThatRanAHookSendsOneEvent(t *testing.T) {
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

func TestEveryOutcomeIsProduced(t *testing.T) {
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
func TestADispatchInWhichAHookFailedProceedsAndShowsIt(t *testing.T) {
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

func TestAnAbortingDispatchTellsReasonAndSource(t *testing.T) {
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

func TestTheEventIsSentBeforeTheDispatchReturns(t *testing.T) {
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

func TestTheEventTellsWhoTheCtxCarries(t *testing.T) {
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

func TestDurationsCountTheHooksAndNothingElse(t *testing.T) {
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

func TestAHookThatEndsItsGoroutineHasADurationToo(t *testing.T) {
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

func TestEventsAreNeitherLostNorDoubledConcurrentSafe(t *testing.T) {
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

func TestAHookThatRunsOnceIsInTheEventOfItsDispatch(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r), hooks.WithOnce(), hooks.WithName("once"))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "once", events.one(t).Hooks[0].Name)
}

func TestNestedDispatchesSendTheirOwnEvents(t *testing.T) {
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
