package main

import (
	"context"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// adapt builds a Loop from what the conformance kit gives.
func adapt(s hookstest.Setup) *Loop {
	l := &Loop{MaxTurns: s.MaxTurns}
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
		reply, err := s.Model(ctx, hookstest.Request{Messages: m.Messages, Tools: m.Tools})
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
		hookstest.Skip("interrupting-tool", "the mark of PassThrough can be read by the seams alone, and this loop is built on Dispatch"))
}
