// LoopHooks: where each function runs in a turn and what its result means. One that
// fails stops the run.

package hooks_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"github.com/loophooks/hooks/internal/race"
)

var loopPoints = []hooks.AnyPoint{hooks.PreStep, hooks.PreModelCall, hooks.PreToolCall, hooks.PostToolCall, hooks.PostStep}

// loopFuncs are the functions at loopPoints.
var loopFuncs = []string{"BeforeTurn", "BeforeProviderCall", "BeforeToolExecution", "AfterToolExecution", "AfterTurn"}

// tracingLoop returns LoopHooks whose functions note that they ran and change
// nothing.
func tracingLoop(tr *trace) hooks.LoopHooks {
	return hooks.LoopHooks{
		BeforeTurn: func(_ context.Context, turn int, messages []hooks.Message) error {
			tr.add(fmt.Sprintf("BeforeTurn(%d,%d)", turn, len(messages)))
			return nil
		},
		BeforeProviderCall: func(_ context.Context, messages []hooks.Message) ([]hooks.Message, error) {
			tr.add(fmt.Sprintf("BeforeProviderCall(%d)", len(messages)))
			return messages, nil
		},
		BeforeToolExecution: func(_ context.Context, name string, input map[string]any) (hooks.Gate, error) {
			tr.add(fmt.Sprintf("BeforeToolExecution(%s,%d)", name, len(input)))
			return hooks.Gate{Authorize: true}, nil
		},
		AfterToolExecution: func(_ context.Context, name, output string) (string, error) {
			tr.add(fmt.Sprintf("AfterToolExecution(%s,%s)", name, output))
			return output, nil
		},
		AfterTurn: func(_ context.Context, turn int, reply hooks.Message) error {
			tr.add(fmt.Sprintf("AfterTurn(%d,%s)", turn, reply.Content))
			return nil
		},
	}
}

// oneTurn runs a turn of one model call and one call of a tool.
func oneTurn(ctx context.Context, turn *hooks.Turn) error {
	return hooks.RunStep(ctx, &hooks.Step{Kind: hooks.StepTurn, Input: turn}, func(ctx context.Context, _ *hooks.Step) error {
		err := hooks.RunModel(ctx, &hooks.ModelCall{Messages: turn.Messages}, func(_ context.Context, call *hooks.ModelCall) error {
			call.Response = "done"
			return nil
		})
		if err != nil {
			return err
		}
		call := &hooks.ToolCall{Name: "search", Input: map[string]any{"q": "x"}}
		if err := hooks.RunTool(ctx, call, seamReturns("found")); err != nil {
			return err
		}
		turn.Reply = hooks.Message{Role: "assistant", Content: "done"}
		return nil
	})
}

func TestLoopHooks_runAtTheirPlacesOfTurn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	tracingLoop(&tr).Register(hooks.In(r))
	require.NoError(t, oneTurn(ctx, &hooks.Turn{Number: 3, Messages: make([]hooks.Message, 2)}))
	assert.Equal(t, "BeforeTurn(3,2) BeforeProviderCall(2) BeforeToolExecution(search,1) "+
		"AfterToolExecution(search,found) AfterTurn(3,done)", tr.take())
}

func TestLoopHooks_areOnChainsOfOn(t *testing.T) {
	emptyDefault(t)
	var tr trace
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "first"), hooks.WithName("first"))
	tracingLoop(&tr).Register(hooks.WithName("loop"))
	hooks.RegisterBeforeToolCallHook(func(context.Context, *hooks.ToolCall) bool { tr.add("last"); return true }, hooks.WithName("last"))
	require.NoError(t, hooks.Dispatch(t.Context(), hooks.PreToolCall, &hooks.ToolCall{Name: "t"}))
	assert.Equal(t, "first BeforeToolExecution(t,0) last", tr.take())

	assert.Equal(t, []string{"first", "loop", "last"}, registered(hooks.BeforeToolCallHooks()))
	assert.True(t, hooks.UnregisterBeforeToolCallHook(hooks.Hooks(hooks.PreToolCall)[1]))
	assert.Equal(t, []string{"first", "last"}, registered(hooks.Hooks(hooks.PreToolCall)))
	assert.Equal(t, 1, hooks.ClearAfterToolCallHooks())
}

func TestLoopHooks_withoutFunctionAreSkipped(t *testing.T) {
	t.Parallel()
	var tr trace
	all := tracingLoop(&tr)
	for i, tc := range []hooks.LoopHooks{
		{BeforeTurn: all.BeforeTurn}, {BeforeProviderCall: all.BeforeProviderCall}, {BeforeToolExecution: all.BeforeToolExecution},
		{AfterToolExecution: all.AfterToolExecution}, {AfterTurn: all.AfterTurn},
	} {
		ctx, r := newRun(t)
		reg := tc.Register(hooks.In(r))
		for j, p := range loopPoints {
			assert.Equal(t, i == j, len(r.Hooks(p)) == 1, "%s", p.Name())
		}
		require.NoError(t, oneTurn(ctx, new(hooks.Turn)))
		name, _, _ := strings.Cut(tr.take(), "(")
		assert.Equal(t, loopFuncs[i], name)
		assert.True(t, reg.Remove())
	}
	assert.False(t, hooks.LoopHooks{}.Register().Remove())
}

func TestLoopHooks_areRemovedTogether(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	loop := tracingLoop(&tr)
	reg, other := loop.Register(hooks.In(r)), loop.Register(hooks.In(r), hooks.WithName("other"))
	require.NoError(t, oneTurn(ctx, new(hooks.Turn)))
	assert.Len(t, strings.Fields(tr.take()), 10, "both")
	assert.True(t, reg.Remove())
	assert.False(t, reg.Remove())
	for _, p := range loopPoints {
		assert.Equal(t, []string{"other"}, registered(r.Hooks(p)))
	}
	assert.True(t, other.Remove())
	require.NoError(t, oneTurn(ctx, new(hooks.Turn)))
	assert.Empty(t, tr.take())

	for _, p := range loopPoints {
		reg := loop.Register(hooks.In(r))
		r.Clear(p)
		assert.True(t, reg.Remove(), "only the one at %s was gone", p.Name())
		assert.Equal(t, "no hooks\n", r.String())
	}

	cleared := loop.Register(hooks.In(r))
	assert.Equal(t, 5, r.ClearAll())
	assert.False(t, cleared.Remove())
	assert.False(t, (*hooks.LoopRegistration)(nil).Remove())
}

func TestLoopHooks_oneConcurrentRemoveSucceeds(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	reg := tracingLoop(new(trace)).Register(hooks.In(r))
	var removed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if reg.Remove() {
				removed.Add(1)
			}
			for _, p := range loopPoints {
				assert.Empty(t, r.Hooks(p), "they are gone when Remove returns")
			}
		})
	}
	wg.Wait()
	assert.Equal(t, int64(1), removed.Load())
}

func TestLoopHooks_mayRemoveThemselves(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	loop := tracingLoop(&tr)
	var reg *hooks.LoopRegistration
	turns := 0
	loop.BeforeTurn = func(context.Context, int, []hooks.Message) error {
		turns++
		assert.True(t, reg.Remove())
		return nil
	}
	reg = loop.Register(hooks.In(r))
	assert.Equal(t, seamExit{}, seamLeave(t, func() error { return oneTurn(ctx, new(hooks.Turn)) }))
	assert.Equal(t, 1, turns)
	assert.Empty(t, tr.take())
}

func TestLoopHooks_areNamedAfterTheirLine(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	_, _, line, _ := runtime.Caller(0)
	tracingLoop(new(trace)).Register(hooks.In(r))
	for _, p := range loopPoints {
		assert.Equal(t, []string{fmt.Sprintf("legacy_loop_test.go:%d", line+1)}, registered(r.Hooks(p)))
	}
}

func TestLoopHooks_toolFilterIsForToolPoints(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	opts := []hooks.Option{hooks.WithTools("book_ticket"), hooks.In(r), nil}
	tracingLoop(&tr).Register(opts[:2]...)
	assert.Nil(t, opts[2], "the caller's options are not written")
	require.NoError(t, oneTurn(ctx, new(hooks.Turn)))
	assert.Equal(t, "BeforeTurn(0,0) BeforeProviderCall(0) AfterTurn(0,done)", tr.take())
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "Book Ticket"}, seamReturns("ok")))
	assert.Equal(t, "BeforeToolExecution(Book Ticket,0) AfterToolExecution(Book Ticket,ok)", tr.take())
}

func TestLoopHooks_agentFilterIsForAllPoints(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	tracingLoop(&tr).Register(hooks.WithAgents("Writer"), hooks.In(r))
	require.NoError(t, oneTurn(hooks.WithCaller(ctx, hooks.Caller{AgentRole: "Editor"}), new(hooks.Turn)))
	assert.Empty(t, tr.take())
	require.NoError(t, oneTurn(hooks.WithCaller(ctx, hooks.Caller{AgentRole: "Writer"}), new(hooks.Turn)))
	assert.Len(t, strings.Fields(tr.take()), 5)
}

func TestLoopHooks_badOptionsRegisterNothing(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	for _, bad := range [][]hooks.Option{
		{hooks.WithTimeout(0)},
		{hooks.AsGuard(), hooks.WithOnce()},
	} {
		assert.NotEmpty(t, panicText(t, func() { tracingLoop(new(trace)).Register(append(bad, hooks.In(r))...) }))
		assert.NotEmpty(t, panicText(t, func() {
			hooks.LoopHooks{AfterToolExecution: tracingLoop(nil).AfterToolExecution}.Register(append(bad, hooks.In(r))...)
		}))
	}
	assert.Equal(t, "no hooks\n", r.String())
}

func TestLoopHooks_turnHooksSkipOtherSteps(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	tracingLoop(&tr).Register(hooks.In(r))
	for name, step := range map[string]*hooks.Step{
		"a task":               {Kind: hooks.StepTask, Input: new(hooks.Turn)},
		"a flow method":        {Kind: hooks.StepFlowMethod, Input: new(hooks.Turn)},
		"no kind":              {Input: new(hooks.Turn)},
		"a turn of its own":    {Kind: hooks.StepTurn, Input: map[string]any{"number": 1}},
		"a turn without input": {Kind: hooks.StepTurn},
		"a nil turn":           {Kind: hooks.StepTurn, Input: (*hooks.Turn)(nil)},
	} {
		require.NoError(t, hooks.RunStep(ctx, step, func(context.Context, *hooks.Step) error { return nil }), name)
		assert.Empty(t, tr.take(), name)
	}
	turn := &hooks.Step{Kind: hooks.StepTurn, Input: new(hooks.Turn)}
	require.NoError(t, hooks.RunStep(ctx, turn, func(context.Context, *hooks.Step) error { return nil }))
	assert.Equal(t, "BeforeTurn(0,0) AfterTurn(0,)", tr.take(), "a turn")
}

func TestLoopHooks_afterTurnSkipsFailedTurn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	tracingLoop(&tr).Register(hooks.In(r))
	err := hooks.RunStep(ctx, &hooks.Step{Kind: hooks.StepTurn, Input: new(hooks.Turn)},
		func(context.Context, *hooks.Step) error { return errBroken })
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, "BeforeTurn(0,0)", tr.take())
}

func TestLoopHooks_providerHookChoosesMessages(t *testing.T) {
	t.Parallel()
	history := []hooks.Message{{Role: "user", Content: "old"}, {Role: "user", Content: "new"}}
	failing := errors.New("lost")
	for name, tc := range map[string]struct {
		fn   func([]hooks.Message) ([]hooks.Message, error)
		want []hooks.Message
	}{
		"the same":           {func(m []hooks.Message) ([]hooks.Message, error) { return m, nil }, history},
		"trimmed":            {func(m []hooks.Message) ([]hooks.Message, error) { return m[1:], nil }, history[1:]},
		"none":               {func(m []hooks.Message) ([]hooks.Message, error) { return m[:0], nil }, []hooks.Message{}},
		"nil keeps them":     {func([]hooks.Message) ([]hooks.Message, error) { return nil, nil }, history},
		"unused if it fails": {func(m []hooks.Message) ([]hooks.Message, error) { return m[1:], failing }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			hooks.LoopHooks{BeforeProviderCall: func(_ context.Context, m []hooks.Message) ([]hooks.Message, error) { return tc.fn(m) }}.
				Register(hooks.In(r))
			call := &hooks.ModelCall{Messages: history}
			var sent []hooks.Message
			err := hooks.RunModel(ctx, call, func(_ context.Context, call *hooks.ModelCall) error {
				sent = call.Messages
				return nil
			})
			assert.Equal(t, tc.want, sent)
			if tc.want == nil {
				require.ErrorIs(t, err, failing)
				assert.Equal(t, history, call.Messages)
				return
			}
			require.NoError(t, err)
		})
	}
}

// Nil keeps the messages that an earlier hook chose.
func TestLoopHooks_nilKeepsEarlierMessages(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreModelCall, edit(func(call *hooks.ModelCall) { call.Messages = []hooks.Message{{Content: "new"}} }), hooks.In(r))
	hooks.LoopHooks{BeforeProviderCall: func(context.Context, []hooks.Message) ([]hooks.Message, error) { return nil, nil }}.Register(hooks.In(r))
	call := &hooks.ModelCall{Messages: []hooks.Message{{Content: "old"}}}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreModelCall, call))
	assert.Equal(t, []hooks.Message{{Content: "new"}}, call.Messages)
}

// gated returns LoopHooks whose BeforeToolExecution gives gate and err.
func gated(gate hooks.Gate, err error) hooks.LoopHooks {
	return hooks.LoopHooks{BeforeToolExecution: func(context.Context, string, map[string]any) (hooks.Gate, error) { return gate, err }}
}

func TestGate_decidesAboutCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		gate    hooks.Gate
		want    string
		isError bool
		ran     bool
	}{
		"authorised":                     {hooks.Gate{Authorize: true}, "42", false, true},
		"authorised with a result":       {hooks.Gate{Authorize: true, Result: new("cached")}, "cached", false, false},
		"authorised with an empty one":   {hooks.Gate{Authorize: true, Result: new("")}, "", false, false},
		"refused with a result":          {hooks.Gate{Result: new("Book tourist instead.")}, "Book tourist instead.", true, false},
		"refused with an empty one":      {hooks.Gate{Result: new("")}, "Rejected by policy.", true, false},
		"refused without, the zero Gate": {hooks.Gate{}, "Rejected by policy.", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			gated(tc.gate, nil).Register(hooks.In(r), hooks.WithName("policy"))
			call := &hooks.ToolCall{Name: "book_ticket"}
			require.NoError(t, hooks.RunTool(ctx, call, seamReturns("42")), "the run goes on")
			assert.Equal(t, tc.want, call.Result)
			assert.Equal(t, tc.isError, call.IsError())
			assert.Equal(t, tc.ran, call.Ran())
			if !tc.isError {
				assert.Nil(t, call.Blocked)
				return
			}
			require.NotNil(t, call.Blocked)
			assert.Equal(t, "policy", call.Blocked.Source)
			assert.Equal(t, tc.want, call.Blocked.PublicText())
			assert.NoError(t, call.Blocked.Err)
			assert.False(t, call.Blocked.StopRun)
		})
	}
}

func TestGate_refusalIsReasonInEvents(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	gated(hooks.Gate{Result: new("Book tourist instead.")}, nil).Register(hooks.In(r))
	log := record(t, r)
	require.Error(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"}))
	assert.Equal(t, "Book tourist instead.", log.one(t).AbortReason)
}

func TestLoopHooks_editInputInPlace(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.LoopHooks{BeforeToolExecution: func(_ context.Context, _ string, input map[string]any) (hooks.Gate, error) {
		input["class"] = "tourist"
		return hooks.Gate{Authorize: true}, nil
	}}.Register(hooks.In(r))
	call := &hooks.ToolCall{Name: "book_ticket"}
	var seen map[string]any
	require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		seen = call.Input
		return nil
	}))
	assert.Equal(t, map[string]any{"class": "tourist"}, seen)
}

func TestGate_laterRefusesWhatEarlierAnswered(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	gated(hooks.Gate{Authorize: true, Result: new("cached")}, nil).Register(hooks.In(r))
	gated(hooks.Gate{}, nil).Register(hooks.In(r))
	call := &hooks.ToolCall{Name: "t"}
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("")))
	assert.Equal(t, "Rejected by policy.", call.Result)
	assert.False(t, call.Answered())
}

// AfterToolExecution gets whatever the model would read: results, errors and
// refusals.
func TestLoopHooks_rewriteWhatModelWouldRead(t *testing.T) {
	t.Parallel()
	redact := hooks.LoopHooks{AfterToolExecution: func(_ context.Context, _, output string) (string, error) {
		return cmp.Or(strings.ReplaceAll(output, "DNI 123", "DNI ***"), "nothing"), nil
	}}
	image := hooks.Part{Kind: "image", Native: "pixels"}
	for name, tc := range map[string]struct {
		body      func(*hooks.ToolCall) error
		blocked   bool
		want      string
		wantParts []hooks.Part
	}{
		"a result": {
			body: func(call *hooks.ToolCall) error { call.Result = "DNI 123"; return nil },
			want: "DNI ***",
		},
		"an empty result": {
			body: func(*hooks.ToolCall) error { return nil },
			want: "nothing",
		},
		"an error": {
			body: func(*hooks.ToolCall) error { return errors.New("no passenger DNI 123") },
			want: "no passenger DNI ***",
		},
		"a refusal": {blocked: true, want: "not for DNI ***"},
		"text in parts": {
			body: func(call *hooks.ToolCall) error {
				call.Parts = []hooks.Part{{Kind: "text", Text: "for DNI 123"}, image}
				return nil
			},
			want: "for DNI ***",
		},
		"nothing, beside an image": {
			body: func(call *hooks.ToolCall) error {
				call.Result, call.Parts = "a face", []hooks.Part{image}
				return nil
			},
			want: "a face", wantParts: []hooks.Part{image},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			if tc.blocked {
				gated(hooks.Gate{Result: new("not for DNI 123")}, nil).Register(hooks.In(r))
			}
			redact.Register(hooks.In(r))
			call := &hooks.ToolCall{Name: "book_ticket"}
			require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error { return tc.body(call) }))
			assert.Equal(t, tc.want, call.Result)
			assert.Equal(t, tc.wantParts, call.Parts)
		})
	}
}

func TestLoopHooks_skipInterruptedCall(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.LoopHooks{AfterToolExecution: func(context.Context, string, string) (string, error) { return "made up", nil }}.Register(hooks.In(r))
	finished := &hooks.ToolCall{Name: "t"}
	require.NoError(t, hooks.RunTool(ctx, finished, seamReturns("found")))
	require.Equal(t, "made up", finished.Result)

	call := &hooks.ToolCall{Name: "t"}
	interrupt := errors.New("interrupt")
	err := hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return hooks.PassThrough(interrupt) })
	assert.Same(t, interrupt, suspended(t, err).Err)
	assert.Empty(t, call.Result)
}

// brokenLoop returns LoopHooks all of whose functions call broken and return
// its error beside values that must not be used.
func brokenLoop(broken func(context.Context) error) hooks.LoopHooks {
	return hooks.LoopHooks{
		BeforeTurn: func(ctx context.Context, _ int, _ []hooks.Message) error { return broken(ctx) },
		BeforeProviderCall: func(ctx context.Context, _ []hooks.Message) ([]hooks.Message, error) {
			return []hooks.Message{{Content: "unused"}}, broken(ctx)
		},
		BeforeToolExecution: func(ctx context.Context, _ string, _ map[string]any) (hooks.Gate, error) {
			return hooks.Gate{Authorize: true, Result: new("unused")}, broken(ctx)
		},
		AfterToolExecution: func(ctx context.Context, _, _ string) (string, error) { return "unused", broken(ctx) },
		AfterTurn:          func(ctx context.Context, _ int, _ hooks.Message) error { return broken(ctx) },
	}
}

func TestLoopHooks_failureStopsRun(t *testing.T) {
	t.Parallel()
	secret := fmt.Errorf("password hunter2: %w", errBroken)
	for name, tc := range map[string]struct {
		fail   func(context.Context) error
		opts   []hooks.Option
		cause  error
		reason string
	}{
		"an error":         {func(context.Context) error { return secret }, nil, errBroken, "a guard failed"},
		"with a name":      {func(context.Context) error { return secret }, []hooks.Option{hooks.WithName("policy")}, errBroken, "policy failed"},
		"a panic":          {func(context.Context) error { panic(secret) }, nil, errBroken, "a guard failed"},
		"a late return":    {func(ctx context.Context) error { <-ctx.Done(); return nil }, []hooks.Option{hooks.WithTimeout(time.Second)}, context.DeadlineExceeded, "a guard failed"},
		"a nil abort":      {func(context.Context) error { return (*hooks.HookAborted)(nil) }, nil, nil, "a guard failed"},
		"an abort":         {func(context.Context) error { return hooks.Abort("too long") }, nil, nil, "too long"},
		"a wrapped abort":  {func(context.Context) error { return fmt.Errorf("%w: %w", secret, hooks.Abort("too long")) }, nil, errBroken, "too long"},
		"a panicked abort": {func(context.Context) error { panic(hooks.Abort("too long")) }, nil, nil, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				brokenLoop(tc.fail).Register(append(tc.opts, hooks.In(r))...)
				model, tool := new(hooks.ModelCall), &hooks.ToolCall{Name: "t", Result: "found"}
				turn := func() *hooks.Step { return &hooks.Step{Kind: hooks.StepTurn, Input: new(hooks.Turn)} }
				for point, err := range map[hooks.AnyPoint]error{
					hooks.PreStep:      hooks.Dispatch(ctx, hooks.PreStep, turn()),
					hooks.PreModelCall: hooks.Dispatch(ctx, hooks.PreModelCall, model),
					hooks.PreToolCall:  hooks.Dispatch(ctx, hooks.PreToolCall, tool),
					hooks.PostToolCall: hooks.Dispatch(ctx, hooks.PostToolCall, tool),
					hooks.PostStep:     hooks.Dispatch(ctx, hooks.PostStep, turn()),
				} {
					abort := aborted(t, err)
					assert.Equal(t, tc.reason, abort.Reason, "%s", point.Name())
					assert.Equal(t, point.Name(), abort.Point)
					assert.NotContains(t, abort.Error(), "hunter2")
					_, again := abort.Err.(*hooks.HookAborted)
					assert.False(t, again, "a cause is no abort itself")
					if tc.cause != nil {
						assert.ErrorIs(t, abort, tc.cause, "%s", point.Name())
					}
					if point == hooks.PreToolCall || point == hooks.PostToolCall {
						assert.True(t, abort.StopRun, "%s", point.Name())
					}
				}
				if tc.cause == context.DeadlineExceeded {
					return // what it returned too late, but without an error, was an edit like any other
				}
				assert.Equal(t, "found", tool.Result)
				assert.False(t, tool.Answered())
				assert.Empty(t, model.Messages)
			})
		})
	}
}

func TestLoopHooks_areListedAsFailClosed(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	tracingLoop(new(trace)).Register(hooks.In(r), hooks.WithName("loop"))
	assert.Equal(t, len(loopPoints), strings.Count(r.String(), "loop fail-closed\n"), "%s", r)
}

func TestLoopHooks_panicIsReportedWithStack(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	brokenLoop(func(context.Context) error { panic("boom") }).Register(hooks.In(r))
	err := hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"})
	panicked, ok := errors.AsType[*hooks.PanicError](err)
	require.True(t, ok)
	assert.Equal(t, "boom", panicked.Value)
	assert.Contains(t, string(panicked.Stack), "TestLoopHooks_panicIsReportedWithStack")
}

func TestLoopHooks_abortKeepsItsFields(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	shared := &hooks.HookAborted{Reason: "too long", Message: "Stop.", Source: "budget", Err: errBroken}
	var err error
	brokenLoop(func(context.Context) error { return err }).Register(hooks.In(r))
	for _, err = range []error{shared, fmt.Errorf("over budget: %w", shared)} {
		abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"}))
		assert.Equal(t, hooks.HookAborted{
			Reason: "too long", Message: "Stop.", Source: "budget", StopRun: true, Point: "pre_tool_call", Err: errBroken,
		}, *abort)
	}
	assert.Equal(t, hooks.HookAborted{Reason: "too long", Message: "Stop.", Source: "budget", Err: errBroken}, *shared)
}

func TestLoopHooks_failureAtToolStopsTurn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	loop := tracingLoop(&tr)
	loop.BeforeToolExecution = brokenLoop(func(context.Context) error { return errBroken }).BeforeToolExecution
	loop.Register(hooks.In(r))
	err := oneTurn(ctx, new(hooks.Turn))
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, "BeforeTurn(0,0) BeforeProviderCall(0) AfterToolExecution(search,Tool execution blocked by hook. Tool: search. Reason: a guard failed)", tr.take())
}

func TestLoopHooks_failureWithholdsResult(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.LoopHooks{AfterToolExecution: func(context.Context, string, string) (string, error) { return "", errBroken }}.Register(hooks.In(r))
	call := &hooks.ToolCall{Name: "t"}
	err := hooks.RunTool(ctx, call, seamReturns("secret"))
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, "Tool result withheld by hook. Tool: t. Reason: a guard failed", call.Result)
	assert.True(t, call.Ran())
}

// A refusal stands even if it comes late; an answer must be in time.
func TestLoopHooks_lateAnswerDoesNotStand(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		gate hooks.Gate
		wait time.Duration
		stop bool
		want string
	}{
		"refused in time":  {hooks.Gate{}, 0, false, "Rejected by policy."},
		"refused late":     {hooks.Gate{}, time.Minute, false, "Rejected by policy."},
		"answered in time": {hooks.Gate{Authorize: true, Result: new("cached")}, 0, false, "cached"},
		"answered late":    {hooks.Gate{Authorize: true, Result: new("cached")}, time.Minute, true, "Tool execution blocked by hook. Tool: t. Reason: a guard failed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				hooks.LoopHooks{BeforeToolExecution: func(ctx context.Context, _ string, _ map[string]any) (hooks.Gate, error) {
					if tc.wait > 0 {
						<-ctx.Done()
					}
					return tc.gate, nil
				}}.Register(hooks.In(r), hooks.WithTimeout(time.Second))
				call := &hooks.ToolCall{Name: "t"}
				err := hooks.RunTool(ctx, call, seamReturns("fresh"))
				assert.Equal(t, tc.stop, err != nil)
				assert.Equal(t, tc.want, call.Result)
			})
		})
	}
}

func TestLoopHooks_ownSeamIsTooDeep(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.LoopHooks{BeforeToolExecution: func(ctx context.Context, name string, _ map[string]any) (hooks.Gate, error) {
		return hooks.Gate{Authorize: true}, hooks.RunTool(ctx, &hooks.ToolCall{Name: name}, seamReturns(""))
	}}.Register(hooks.In(r))
	exit := seamLeave(t, func() error { return hooks.RunTool(ctx, &hooks.ToolCall{Name: "t"}, seamReturns("")) })
	assert.ErrorIs(t, exit.err, hooks.ErrTooDeep)

	// A bare dispatch of an error that says so.
	ctx, r = newRun(t)
	gated(hooks.Gate{}, hooks.ErrTooDeep).Register(hooks.In(r))
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"}))
	assert.ErrorIs(t, abort, hooks.ErrTooDeep)
	assert.True(t, abort.StopRun)
	assert.NotContains(t, abort.Reason, "failed")
}

func TestLoopHooks_goexitUnwinds(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	brokenLoop(func(context.Context) error { runtime.Goexit(); return nil }).Register(hooks.In(r))
	exit := seamLeave(t, func() error { return hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "t"}) })
	assert.True(t, exit.exited)
}

func TestLoopHooks_allocateOnlyToStop(t *testing.T) {
	if race.Enabled {
		return // the race detector allocates
	}
	emptyDefault(t)
	redacted, ran := "redacted", 0
	hooks.LoopHooks{
		BeforeTurn:         func(context.Context, int, []hooks.Message) error { ran++; return nil },
		BeforeProviderCall: func(_ context.Context, m []hooks.Message) ([]hooks.Message, error) { ran++; return m, nil },
		BeforeToolExecution: func(context.Context, string, map[string]any) (hooks.Gate, error) {
			ran++
			return hooks.Gate{Authorize: true, Result: &redacted}, nil
		},
		AfterToolExecution: func(context.Context, string, string) (string, error) { ran++; return redacted, nil },
		AfterTurn:          func(context.Context, int, hooks.Message) error { ran++; return nil },
	}.Register()
	ctx := t.Context()
	step := &hooks.Step{Kind: hooks.StepTurn, Input: new(hooks.Turn)}
	model, tool := new(hooks.ModelCall), &hooks.ToolCall{Name: "t", Input: map[string]any{}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for _, err := range []error{
			hooks.Dispatch(ctx, hooks.PreStep, step), hooks.Dispatch(ctx, hooks.PreModelCall, model),
			hooks.Dispatch(ctx, hooks.PreToolCall, tool), hooks.Dispatch(ctx, hooks.PostToolCall, tool),
			hooks.Dispatch(ctx, hooks.PostStep, step),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	}))
	assert.Equal(t, 5*101, ran)
}

// A function of the object may say that the run waits, as any hook may.
func TestLoopHooks_suspend(t *testing.T) {
	t.Parallel()
	broken := brokenLoop(func(context.Context) error { return hooks.PassThrough(errWait) })
	for name, run := range map[string]func(ctx context.Context) error{
		"turn": func(ctx context.Context) error {
			return hooks.RunStep(ctx, &hooks.Step{Kind: hooks.StepTurn, Input: &hooks.Turn{}}, func(context.Context, *hooks.Step) error { return nil })
		},
		"model": func(ctx context.Context) error {
			return hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { return nil })
		},
		"tool": func(ctx context.Context) error {
			return hooks.RunTool(ctx, &hooks.ToolCall{Name: "pay"}, never(t))
		},
	} {
		ctx, r := newRun(t)
		broken.Register(hooks.In(r))
		assert.ErrorIs(t, suspended(t, run(ctx)), errWait, name)
	}
}
