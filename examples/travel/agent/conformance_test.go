package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/chat"
	"github.com/loophooks/hooks/examples/travel/saved"
	"github.com/loophooks/hooks/hookstest"
)

// kitModel is the model of the conformance kit, at the place of the client.
type kitModel struct{ setup hookstest.Setup }

func (m kitModel) Complete(ctx context.Context, req chat.Request) (chat.Reply, error) {
	sent := hookstest.Request{Model: req.Model}
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

// kitSpeaker says what the model of the kit says, in pieces.
type kitSpeaker struct{ kitModel }

func (m kitSpeaker) Stream(ctx context.Context, req chat.Request, piece func(chat.Piece) error) (chat.Reply, error) {
	reply, err := m.Complete(ctx, req)
	for text := reply.Content; text != "" && err == nil; {
		n := min(3, len(text))
		err = piece(chat.Piece{Text: text[:n]})
		text = text[n:]
	}
	return reply, err
}

func TestAgent_rulesOfHooks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		parallel int
		streams  bool
	}{"one tool at a time": {parallel: 1}, "all at once": {}, "in pieces": {streams: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func(s hookstest.Setup) *agent.Agent {
				a := &agent.Agent{Model: kitModel{s}, ModelName: "m", MaxTurns: s.MaxTurns, Parallel: tt.parallel}
				if tt.streams {
					a.Model = kitSpeaker{kitModel{s}}
					a.Show = func(_ int, c hooks.Chunk) error { s.Show(c.Text); return nil }
				}
				for _, tool := range s.Tools {
					a.Tools = append(a.Tools, agent.Tool{Name: tool.Name, Parameters: json.RawMessage(`{"type":"object"}`), Run: tool.Run})
				}
				a.Save = func(r saved.Run) error {
					state, err := json.Marshal(r)
					s.Save(state)
					return err
				}
				return a
			}
			hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
				return func(ctx context.Context, prompt string) (string, error) {
					result, err := build(s).Run(ctx, prompt)
					return result.Answer, err
				}
			}, hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") }), hookstest.Renames(),
				hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume {
					return func(ctx context.Context, state []byte) (string, error) {
						var r saved.Run
						if err := json.Unmarshal(state, &r); err != nil {
							return "", err
						}
						result, err := build(s).Resume(ctx, r)
						return result.Answer, err
					}
				}))
		})
	}
}
