package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/chat"
	"github.com/loophooks/hooks/hookstest"
)

// kitModel is the model of the conformance kit, at the place of the client.
type kitModel struct{ setup hookstest.Setup }

func (m kitModel) Complete(ctx context.Context, req chat.Request) (chat.Reply, error) {
	var sent hookstest.Request
	for _, msg := range req.Messages {
		message := hooks.Message{Role: msg.Role, Name: msg.Name, ToolCallID: msg.ToolCallID}
		if msg.Content != nil {
			message.Content = *msg.Content
		}
		for _, c := range msg.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, hooks.ToolRequest{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		sent.Messages = append(sent.Messages, message)
	}
	for _, t := range req.Tools {
		sent.Tools = append(sent.Tools, t.Function.Name)
	}
	reply, err := m.setup.Model(ctx, sent)
	answer := chat.Reply{Content: reply.Text}
	for _, c := range reply.ToolCalls {
		answer.ToolCalls = append(answer.ToolCalls, chat.ToolCall{
			ID: c.ID, Type: "function", Function: chat.Function{Name: c.Name, Arguments: c.Arguments},
		})
	}
	return answer, err
}

func TestAgent_rulesOfHooks(t *testing.T) {
	t.Parallel()
	for name, parallel := range map[string]int{"one tool at a time": 1, "all at once": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
				a := &agent.Agent{Model: kitModel{s}, MaxTurns: s.MaxTurns, Parallel: parallel}
				for _, tool := range s.Tools {
					a.Tools = append(a.Tools, agent.Tool{Name: tool.Name, Parameters: json.RawMessage(`{"type":"object"}`), Run: tool.Run})
				}
				return func(ctx context.Context, prompt string) (string, error) {
					result, err := a.Run(ctx, prompt)
					return result.Answer, err
				}
			}, hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") }), hookstest.Renames())
		})
	}
}
