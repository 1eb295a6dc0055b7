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

func TestUnreadableArgumentsAreKnownToHooksUntilTheModelWasTold(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	var seen []error
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		seen = append(seen, call.ArgumentsError())
		return nil
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "pay"}
	want := call.SetArguments("[]")
	require.Error(t, want)
	require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, seamReturns("paid")))
	assert.Equal(t, []error{want}, seen)
	assert.NoError(t, call.ArgumentsError())
}

func TestTextOfAResultIsThatOfAllItsParts(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{Result: "a", Parts: []hooks.Part{{Kind: "text", Text: "b"}, {Kind: "image"}, {Kind: "text", Text: "c"}}}
	assert.Equal(t, "abc", call.Text())
	assert.Equal(t, "only", (&hooks.ToolCall{Result: "only"}).Text())
}

// More hooks than a page of a chain holds, removed in every order.
func TestLongChainsLoseJustTheHooksThatAreRemoved(t *testing.T) {
	t.Parallel()
	const n = 700
	for name, order := range map[string]func(i int) int{
		"first to last": func(i int) int { return i },
		"last to first": func(i int) int { return n - 1 - i },
		"scattered":     func(i int) int { return i * 257 % n },
	} {
		r := hooks.NewRegistry()
		regs := make([]*hooks.Registration, n)
		for i := range regs {
			regs[i] = hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return nil }, hooks.In(r))
		}
		left := map[*hooks.Registration]bool{}
		for _, reg := range regs {
			left[reg] = true
		}
		for i := range n {
			reg := regs[order(i)]
			require.True(t, reg.Remove(), "%s: %d", name, i)
			delete(left, reg)
			if i%50 == 0 || i > n-3 {
				listed := r.Hooks(hooks.PreStep)
				require.Len(t, listed, len(left), name)
				for _, l := range listed {
					require.True(t, left[l], name)
				}
			}
			if i == n/2 { // a chain that has lost some goes on growing
				added := hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return nil }, hooks.In(r))
				require.Len(t, r.Hooks(hooks.PreStep), len(left)+1, name)
				require.True(t, added.Remove())
			}
		}
		require.False(t, hooks.Enabled(hooks.WithScope(t.Context(), r), hooks.PreStep), name)
	}
}
