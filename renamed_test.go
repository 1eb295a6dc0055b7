package hooks_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestGuardsDecideOnTheNameThatHooksLeft(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"delete_file", "Delete File", "delete_*"} {
		r := hooks.NewRegistry()
		hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
			c.Name = "delete_file"
			return nil
		}, hooks.In(r), hooks.WithTools("alias"))
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			return hooks.Abort("no")
		}, hooks.In(r), hooks.AsGuard(), hooks.WithTools(filter))
		ordinary := 0
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { ordinary++; return nil },
			hooks.In(r), hooks.WithTools(filter))

		call := &hooks.ToolCall{Name: "alias"}
		require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, func(context.Context, *hooks.ToolCall) error {
			t.Errorf("%s: the tool ran under the new name", filter)
			return nil
		}))
		assert.NotNil(t, call.Blocked, filter)
		assert.Zero(t, ordinary, "hooks go by the name at the start")
	}
}

func TestGuardsAreNotEvadedByANewName(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	runs := 0
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		c.Name, c.AgentRole = "harmless", "somebody"
		return nil
	}, hooks.In(r))
	guard := func(context.Context, *hooks.ToolCall) error { runs++; return nil }
	hooks.On(hooks.PreToolCall, guard, hooks.In(r), hooks.AsGuard(), hooks.WithTools("delete_file"))
	hooks.On(hooks.PreToolCall, guard, hooks.In(r), hooks.AsGuard(), hooks.WithAgents("Writer"))
	hooks.On(hooks.PreToolCall, guard, hooks.In(r), hooks.AsGuard(), hooks.WithTools("delete_file", "harmless"))
	hooks.On(hooks.PreToolCall, guard, hooks.In(r), hooks.AsGuard(), hooks.WithTools("other_tool"))
	require.NoError(t, hooks.Dispatch(hooks.WithScope(t.Context(), r), hooks.PreToolCall,
		&hooks.ToolCall{Name: "delete_file", Caller: hooks.Caller{AgentRole: "Writer"}}))
	assert.Equal(t, 3, runs, "each guard of either name or role once, and no other")
}
