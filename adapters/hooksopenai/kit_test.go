package hooksopenai_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
	"github.com/loophooks/hooks/hookstest"
)

// TestMain keeps the panics of the kit's tools out of the output.
func TestMain(m *testing.M) {
	hooks.SetLogger(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// kitModel is the model of the kit behind the server.
func kitModel(s hookstest.Setup) fake.Model {
	return func(ctx context.Context, req *fake.Request, w *fake.Writer) {
		sent := hookstest.Request{Model: req.Model, Tools: req.Tools}
		for _, m := range req.Messages {
			msg := hooks.Message{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
			for _, c := range m.Calls {
				msg.ToolCalls = append(msg.ToolCalls, hooks.ToolRequest{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
			}
			sent.Messages = append(sent.Messages, msg)
		}
		if req.Stream {
			var failed error // told when the kit's model has ended
			for c, err := range s.Stream(ctx, sent) {
				if ctx.Err() != nil {
					break // nobody reads any more
				}
				switch {
				case err != nil:
					failed = err
				case c.Kind == hooks.ChunkToolCall:
					w.Call(c.Index, fake.Call{ID: c.ID, Name: c.Name, Arguments: c.Text})
				default:
					w.Text(c.Text)
				}
			}
			if failed != nil {
				w.Fail(http.StatusInternalServerError, failed.Error())
			}
			return
		}
		reply, err := s.Model(ctx, sent)
		if err != nil {
			w.Fail(http.StatusInternalServerError, err.Error())
			return
		}
		w.Text(reply.Text)
		for i, c := range reply.ToolCalls {
			w.Call(i, fake.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
	}
}

// kitLoop builds a loop from what the kit gives, with the server that it asks.
func kitLoop(t *testing.T, s hookstest.Setup, streamed bool, parallel int) *hooksopenai.Loop {
	t.Helper()
	server := fake.Start(kitModel(s))
	t.Cleanup(server.Close)
	l := &hooksopenai.Loop{Client: server.Client(), Model: "the kit's", MaxTurns: s.MaxTurns, Parallel: parallel}
	if streamed {
		l.OnText = s.Show
	}
	for _, tool := range s.Tools {
		l.Tools = append(l.Tools, hooksopenai.Tool{
			Name: tool.Name, Description: "a tool of the kit", Schema: map[string]any{"type": "object"},
			Run: func(ctx context.Context, call *hooks.ToolCall) (err error) {
				call.Result, err = tool.Run(ctx, call.Input)
				return err
			},
		})
	}
	return l
}

// save gives the kit the State of a run that waits.
func save(s hookstest.Setup, st *hooksopenai.State, text string, err error) (string, error) {
	if errors.As(err, new(*hooks.Suspended)) {
		state, failed := json.Marshal(st)
		if failed != nil {
			return "", failed
		}
		s.Save(state)
	}
	return text, err
}

func TestLoop(t *testing.T) {
	t.Parallel()
	for name, variant := range map[string]struct {
		streamed bool
		parallel int
	}{
		"whole, one after the other": {false, 1}, "whole, side by side": {false, 8},
		"streamed, one after the other": {true, 1}, "streamed, side by side": {true, 8},
	} {
		t.Run(strings.NewReplacer(", ", "-", " ", "-").Replace(name), func(t *testing.T) {
			t.Parallel()
			opts := []hookstest.LoopOption{
				hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") }),
				hookstest.Renames(),
				hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume {
					l := kitLoop(t, s, variant.streamed, variant.parallel)
					return func(ctx context.Context, state []byte) (string, error) {
						st := new(hooksopenai.State)
						if err := json.Unmarshal(state, st); err != nil {
							return "", err
						}
						text, err := l.Resume(ctx, st)
						return save(s, st, text, err)
					}
				}),
			}
			if variant.streamed {
				opts = append(opts, hookstest.Streams())
			}
			hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
				l, st := kitLoop(t, s, variant.streamed, variant.parallel), new(hooksopenai.State)
				return func(ctx context.Context, prompt string) (string, error) {
					text, err := l.Run(ctx, st, prompt)
					return save(s, st, text, err)
				}
			}, opts...)
		})
	}
}
