package saved_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/chat"
	"github.com/loophooks/hooks/examples/travel/saved"
)

// model says one reply after the other.
type model struct{ replies []chat.Reply }

func (m *model) Complete(context.Context, chat.Request) (chat.Reply, error) {
	reply := m.replies[0]
	m.replies = m.replies[1:]
	return reply, nil
}

func calls(calls ...chat.ToolCall) chat.Reply { return chat.Reply{ToolCalls: calls} }

func call(id, name, args string) chat.ToolCall {
	return chat.ToolCall{ID: id, Function: chat.Function{Name: name, Arguments: args}}
}

// Whatever the loop has in its history when it stops comes back as it was.
func TestRun_historyOfTheAgent(t *testing.T) {
	t.Parallel()
	run := func(_ context.Context, in map[string]any) (string, error) {
		if in["fail"] == true {
			return "so far", errors.New("out of order")
		}
		return `{"ok":"<ü>"}`, nil
	}
	replies := []chat.Reply{
		calls(call("", "echo", ""), call("x", "echo", `{"n": 1.0}`), call("x", "echo", `{"fail":true}`)),
		{Content: "Once more.", ToolCalls: []chat.ToolCall{call("y", "unknown", `{}`), call("z", "echo", `n=1`), call("w", "echo", `{}`), call("v", "echo", `{}`)}},
		{Content: "Done."},
	}
	for turns := 1; turns <= len(replies); turns++ {
		a := &agent.Agent{
			Model: &model{replies}, ModelName: "m", Instructions: "Be brief.", MaxTurns: turns, MaxCalls: 3,
			Tools: []agent.Tool{{Name: "echo", Run: run}},
		}
		result, _ := a.Run(t.Context(), "hello") // it may be stopped early
		want := saved.Run{
			RunID: "r", Model: a.ModelName, Turn: turns, History: result.History,
			ToolCalls: result.ToolCalls, Blocked: result.Blocked, Skipped: result.Skipped,
		}
		dir := folder(t)
		require.NoError(t, saved.Write(dir, want))
		got, err := saved.Read(dir)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Empty(t, got.Waiting(), "the loop gives every call a result")
	}
}
