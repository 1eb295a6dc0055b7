package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// adapt builds a loop from what the conformance kit gives.
func adapt(s hookstest.Setup) *loop {
	l := &loop{maxTurns: s.MaxTurns, show: s.Show, tools: make(map[string]tool)}
	for _, t := range s.Tools {
		l.tools[t.Name] = func(ctx context.Context, call *hooks.ToolCall) (err error) {
			call.Result, err = t.Run(ctx, call.Input)
			return err
		}
	}
	l.model = func(ctx context.Context, m *hooks.ModelCall, push func(hooks.Chunk) error) ([]hooks.ToolRequest, hooks.Usage, error) {
		var reply hookstest.Reply
		for piece, err := range s.Stream(ctx, hookstest.Request{Messages: m.Messages, Tools: m.Tools, Model: m.Model}) {
			if err == nil {
				reply.Add(piece)
				if piece.Kind == hooks.ChunkText {
					err = push(piece)
				}
			}
			if err != nil {
				return nil, hooks.Usage{}, err
			}
		}
		return reply.ToolCalls, hooks.Usage{}, nil
	}
	l.save = func(s2 state) error {
		kept, err := json.Marshal(s2)
		s.Save(kept)
		return err
	}
	return l
}

func TestLoop_keepsTheRulesOfHooks(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop { return adapt(s).run },
		hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") }),
		hookstest.Renames(),
		hookstest.Streams(),
		hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume {
			return func(ctx context.Context, kept []byte) (string, error) {
				var s2 state
				if err := json.Unmarshal(kept, &s2); err != nil {
					return "", err
				}
				return adapt(s).resume(ctx, s2)
			}
		}))
}
