package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// adapt builds a Loop from what the conformance kit gives.
func adapt(s hookstest.Setup) *Loop {
	l := &Loop{MaxTurns: s.MaxTurns, Save: func(state State) error {
		saved, err := json.Marshal(state)
		s.Save(saved)
		return err
	}}
	run := make(map[string]func(context.Context, map[string]any) (string, error))
	for _, tool := range s.Tools {
		l.Tools = append(l.Tools, tool.Name)
		run[tool.Name] = tool.Run
	}
	l.Tool = func(ctx context.Context, t *hooks.ToolCall) (err error) {
		if run[t.Name] == nil {
			return hooks.ErrNoTool
		}
		t.Result, err = run[t.Name](ctx, t.Input)
		return err
	}
	l.Model = func(ctx context.Context, m *hooks.ModelCall) error {
		reply, err := s.Model(ctx, hookstest.Request{Messages: m.Messages, Tools: m.Tools, Model: m.Model})
		m.Response, m.ToolCalls = reply.Text, reply.ToolCalls
		return err
	}
	return l
}

func TestLoop_rulesOfHooks(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop { return adapt(s).Run },
		hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") }),
		hookstest.Renames(),
		hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume {
			return func(ctx context.Context, saved []byte) (string, error) {
				var state State
				if err := json.Unmarshal(saved, &state); err != nil {
					return "", err
				}
				return adapt(s).Resume(ctx, state)
			}
		}),
		hookstest.Skip("wrapped-model", "models are called by Dispatch here, which has no body to wrap"))
}
