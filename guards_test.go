package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestAGuardRegisteredFirstSeesWhatTheLastHookOfTheInnermostScopeLeft(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	hooks.On(p, func(_ context.Context, j *job) error {
		if j.Data != "safe" {
			return hooks.Abort(fmt.Sprintf("%v is not allowed", j.Data))
		}
		return nil
	}, hooks.AsGuard(), hooks.WithPriority(1000))
	ctx, outer := newRun(t)
	inner := hooks.NewRegistry()
	ctx = hooks.WithScope(ctx, inner)
	hooks.On(p, edit(func(j *job) { j.Data = "safe" }), hooks.In(outer))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{Data: "danger"}))
	hooks.On(p, edit(func(j *job) { j.Data = "danger again" }), hooks.In(inner), hooks.WithPriority(-1000))
	assert.Equal(t, "danger again is not allowed", aborted(t, hooks.Dispatch(ctx, p, &job{Data: "danger"})).Reason)
}

func TestGuardsRunAfterAllHooksInTheUsualOrder(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, outer := newRun(t)
	inner := hooks.NewRegistry()
	ctx = hooks.WithScope(ctx, inner)
	var tr trace
	guard := func(name string, opts ...hooks.Option) {
		hooks.On(p, note[job](&tr, name), append(opts, hooks.AsGuard())...)
	}
	guard("inner-guard", hooks.In(inner), hooks.WithPriority(5))
	guard("outer-guard-low", hooks.In(outer), hooks.WithPriority(-1))
	guard("outer-guard-high", hooks.In(outer), hooks.WithPriority(1))
	guard("guard")
	guard("guard-again")
	hooks.On(p, note[job](&tr, "inner"), hooks.In(inner))
	hooks.On(p, note[job](&tr, "outer"), hooks.In(outer), hooks.WithFailClosed())
	hooks.On(p, note[job](&tr, "default"), hooks.WithPriority(-1000))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Equal(t, "default outer inner guard guard-again outer-guard-high outer-guard-low inner-guard", tr.take())
}

func TestAGuardDecidesOnWhatTheToolWillReallyGet(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if c.Input["path"] == "/etc/shadow" {
			return hooks.Abort("that file is secret")
		}
		return nil
	}, hooks.In(r), hooks.AsGuard())
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["path"] = "/etc/shadow" }), hooks.In(r))
	call := &hooks.ToolCall{Name: "read", Input: map[string]any{"path": "notes.txt"}}
	require.NoError(t, hooks.RunTool(ctx, call, edit(func(*hooks.ToolCall) { assert.Fail(t, "the tool ran") })))
	require.NotNil(t, call.Blocked)
	assert.Equal(t, map[string]any{"path": "/etc/shadow"}, call.Input, "the record shows what was refused")
}

func TestAGuardDoesNotRunWhereAHookHasAborted(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "guard"), hooks.In(r), hooks.AsGuard())
	hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Empty(t, tr.take())
}

func TestAGuardIsFilteredLikeAnyHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](hooks.Abort("no")), hooks.In(r), hooks.AsGuard(),
		hooks.WithTools("Delete File"), hooks.WithAgents("Writer"))
	dispatch := func(tool, role string) error {
		return hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: role}})
	}
	assert.Error(t, dispatch("delete_file", "Writer"))
	assert.Error(t, dispatch("delete_file", ""), "a call that doesn't say who makes it doesn't pass")
	assert.NoError(t, dispatch("delete_file", "Reader"))
	assert.NoError(t, dispatch("read_file", "Writer"))
}

// failures are the ways in which a hook can fail.
var failures = map[string]struct {
	fn    hooks.Func[hooks.ToolCall]
	check func(*testing.T, error) // of the cause
}{
	"error": {
		fails[hooks.ToolCall](errors.New("password hunter2")),
		func(t *testing.T, err error) { assert.EqualError(t, err, "password hunter2") },
	},
	"panic": {
		panics[hooks.ToolCall]("password hunter2"),
		func(t *testing.T, err error) {
			panicked, ok := err.(*hooks.PanicError)
			require.True(t, ok)
			assert.Equal(t, "password hunter2", panicked.Value)
		},
	},
	"panic with an error": {
		panics[hooks.ToolCall](errBroken),
		func(t *testing.T, err error) { assert.ErrorIs(t, err, errBroken) },
	},
	"panic with nil": {
		panics[hooks.ToolCall](nil),
		func(t *testing.T, err error) { assert.IsType(t, new(hooks.PanicError), err) },
	},
	"nil abort": {
		fails[hooks.ToolCall]((*hooks.HookAborted)(nil)),
		func(t *testing.T, err error) { assert.Error(t, err) },
	},
	"out of time": {
		func(ctx context.Context, _ *hooks.ToolCall) error {
			<-ctx.Done()
			return fmt.Errorf("hunter2: %w", ctx.Err())
		},
		func(t *testing.T, err error) { assert.ErrorIs(t, err, context.DeadlineExceeded) },
	},
	"late": {
		func(ctx context.Context, _ *hooks.ToolCall) error {
			<-ctx.Done()
			return nil
		},
		func(t *testing.T, err error) { assert.ErrorIs(t, err, context.DeadlineExceeded) },
	},
}

func TestAFailingGuardAbortsAndItsErrorStaysSecret(t *testing.T) {
	t.Parallel()
	for name, failure := range failures {
		for _, tt := range []struct {
			kind   string
			opts   []hooks.Option
			reason string
		}{
			{"guard", []hooks.Option{hooks.AsGuard()}, "a guard failed"},
			{"named guard", []hooks.Option{hooks.AsGuard(), hooks.WithName("path policy")}, "path policy failed"},
			{"fail-closed", []hooks.Option{hooks.WithFailClosed()}, "a guard failed"},
			{"named fail-closed", []hooks.Option{hooks.WithFailClosed(), hooks.WithName("redactor")}, "redactor failed"},
		} {
			t.Run(name+" of a "+tt.kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, r := newRun(t)
					events := record(t, r)
					var tr trace
					hooks.On(hooks.PreToolCall, failure.fn, append(tt.opts, hooks.In(r), hooks.WithTimeout(time.Second))...)
					hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "later"), hooks.In(r), hooks.AsGuard())
					abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
					assert.Empty(t, tr.take())
					assert.Equal(t, tt.reason, abort.Reason)
					assert.Empty(t, abort.Message)
					assert.False(t, abort.StopRun)
					assert.Equal(t, tt.reason, abort.PublicText())
					assert.NotContains(t, abort.Error(), "hunter2")
					failure.check(t, abort.Err)

					run := events.one(t).Hooks[0]
					assert.Equal(t, hooks.OutcomeAborted, run.Outcome)
					failure.check(t, run.Err)

					call := &hooks.ToolCall{Name: "sh"}
					require.NoError(t, hooks.RunTool(ctx, call, edit(func(*hooks.ToolCall) { assert.Fail(t, "the tool ran") })))
					assert.Equal(t, "Tool execution blocked by hook. Tool: sh. Reason: "+tt.reason, call.Result)
				})
			})
		}
	}
}

func TestAnOrdinaryHookThatFailsBesideAGuardDoesNotAbort(t *testing.T) {
	t.Parallel()
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				events := record(t, r)
				var tr trace
				hooks.On(hooks.PreToolCall, failure.fn, hooks.In(r), hooks.WithTimeout(time.Second))
				hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "guard"), hooks.In(r), hooks.AsGuard())
				require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
				assert.Equal(t, "guard", tr.take())
				ev := events.one(t)
				assert.Equal(t, []hooks.Outcome{"failed", "proceeded"}, outcomes(ev))
				failure.check(t, ev.Hooks[0].Err)
			})
		})
	}
}

func TestAnAbortOfAGuardIsItsOwn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](&hooks.HookAborted{Reason: "no", Message: "ask first", StopRun: true}),
		hooks.In(r), hooks.AsGuard(), hooks.WithName("policy"))
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
	assert.Equal(t, &hooks.HookAborted{Reason: "no", Message: "ask first", StopRun: true, Source: "policy", Point: "pre_tool_call"}, abort)
}
