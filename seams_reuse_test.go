package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestContextUsedAgainIsOnBehalfOfItsNewCaller(t *testing.T) {
	t.Parallel()
	seamCaller := func(run string) context.Context {
		return hooks.WithCaller(t.Context(), hooks.Caller{RunID: run, AgentRole: "role of " + run, Agent: []string{run}})
	}
	call := &hooks.ToolCall{Name: "clock", Caller: hooks.Caller{Task: "its own"}}
	for _, run := range []string{"run 1", "run 2"} {
		require.NoError(t, hooks.RunTool(seamCaller(run), call, seamReturns("noon")))
		assert.Equal(t, hooks.Caller{RunID: run, AgentRole: "role of " + run, Agent: []string{run}, Task: "its own"}, call.Caller)
	}
	require.NoError(t, hooks.RunTool(t.Context(), call, seamReturns("noon")))
	assert.Equal(t, "its own", call.Task)

	call.RunID = "set by the host"
	require.NoError(t, hooks.RunTool(seamCaller("run 3"), call, seamReturns("noon")))
	assert.Equal(t, "set by the host", call.RunID)
}

// seamTold is a context of a framework's own that wants to know of failures.
type seamTold struct{ told []error }

func (s *seamTold) SetHookError(err error) { s.told = append(s.told, err) }

var seamPreTold, seamPostTold = hooks.Define[seamTold]("seamtest.pre_told"), hooks.Define[seamTold]("seamtest.post_told")

func TestRunTellsTheContextOfAbortsToo(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[seamTold]{seamPreTold, seamPostTold} {
		r := hooks.NewRegistry()
		hooks.On(at, func(context.Context, *seamTold) error { return hooks.Abort("no") }, hooks.In(r))
		c := &seamTold{}
		err := hooks.Run(hooks.WithScope(t.Context(), r), seamPreTold, seamPostTold, c, func(context.Context, *seamTold) error { return nil })
		require.Error(t, err)
		assert.Equal(t, []error{err}, c.told, at.Name())
	}
}

func TestSubAgentsAbortReachesTheModelWithoutItsSource(t *testing.T) {
	t.Parallel()
	inner := &hooks.HookAborted{Reason: "over budget", Source: "internal/policy.go:12", Point: "pre_step"}
	for name, err := range map[string]error{"bare": inner, "wrapped": fmt.Errorf("sub-agent: %w", inner)} {
		call := &hooks.ToolCall{Name: "delegate"}
		require.NoError(t, hooks.RunTool(t.Context(), call, func(context.Context, *hooks.ToolCall) error { return err }))
		assert.Contains(t, call.Result, "over budget", name)
		assert.NotContains(t, call.Result, "policy.go", name)
		assert.Equal(t, err, call.Err, name)
	}
	silent := &hooks.ToolCall{Name: "delegate"}
	require.NoError(t, hooks.RunTool(t.Context(), silent, func(context.Context, *hooks.ToolCall) error { return &hooks.HookAborted{Source: "x"} }))
	assert.Equal(t, "Tool delegate failed", silent.Result)
}

func TestInterruptInANestThatIsTooDeepIsNotLost(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	errInterrupt := errors.New("interrupt")
	hooks.On(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		return hooks.RunTool(ctx, &hooks.ToolCall{Name: "again"}, seamReturns("ok"))
	}, hooks.In(r))
	err := hooks.RunTool(hooks.WithScope(t.Context(), r), &hooks.ToolCall{Name: "first"}, func(context.Context, *hooks.ToolCall) error {
		return hooks.PassThrough(errInterrupt)
	})
	require.ErrorIs(t, err, errInterrupt)
	require.ErrorIs(t, err, hooks.ErrTooDeep)
}

func TestResultIsEditedSinceTheBodyWhateverHooksDispatch(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.On(hooks.PostToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		if call.Result == "secret" {
			call.Result = "***"
			return hooks.Dispatch(ctx, hooks.PostToolCall, call)
		}
		return nil
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "read"}
	require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, seamReturns("secret")))
	assert.True(t, call.ResultEdited())
}
