package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// Loop dispatches at all ten points by hand, by the rules in rules.go.
type Loop struct {
	Model    func(context.Context, *hooks.ModelCall) error // sends Messages and Tools, sets Response and ToolCalls
	Tool     func(context.Context, *hooks.ToolCall) error  // runs the tool named Name on Input, sets Result
	Tools    []string                                      // the names that Tool knows
	MaxTurns int
}

// Run answers prompt. A hook that stopped it is a *hooks.HookAborted.
func (l *Loop) Run(ctx context.Context, prompt string) (string, error) {
	x := &hooks.Execution{Inputs: map[string]any{"prompt": prompt}, Status: hooks.StatusRunning}
	failed := func(err error) { x.Status, x.Output, x.Err = hooks.StatusFailed, nil, err }
	err := between(ctx, hooks.ExecutionStart, hooks.ExecutionEnd, x, failed, func() error {
		err := l.turns(ctx, x)
		x.Status = hooks.StatusCompleted // unless err says otherwise
		return err
	})
	if err != nil {
		return "", err
	}
	return text("output", x.Output)
}

func (l *Loop) turns(ctx context.Context, x *hooks.Execution) error {
	if err := hooks.Dispatch(ctx, hooks.Input, x); err != nil {
		return err
	}
	prompt, err := text("prompt", x.Inputs["prompt"])
	if err != nil {
		return err
	}
	history := []hooks.Message{{Role: "user", Content: prompt}, {Role: "system", Content: retrieve(ctx, prompt)}}
	for n := range l.MaxTurns {
		turn := &hooks.Turn{Number: n, Messages: slices.Clone(history)}
		s := &hooks.Step{Kind: hooks.StepTurn, Input: turn}
		m := &hooks.ModelCall{Iterations: n, Messages: slices.Clone(history), Tools: slices.Clone(l.Tools)}
		err := between(ctx, hooks.PreStep, hooks.PostStep, s, func(err error) { s.Err = err }, func() error {
			if err := l.callModel(ctx, m); err != nil {
				return err
			}
			s.Output = m.Response
			turn.Reply = hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls}
			history = append(history, turn.Reply)
			for _, req := range m.ToolCalls {
				result, err := callTool(ctx, l.newCall(req), l.Tool)
				if err != nil {
					return err
				}
				history = append(history, result)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(m.ToolCalls) == 0 {
			x.Output = s.Output
			return hooks.Dispatch(context.WithoutCancel(ctx), hooks.Output, x)
		}
	}
	return errors.New("no answer within the turns allowed")
}

// newCall makes the call that req asks for. Its Tool is the name of one that
// this loop has: it knows its tools by nothing else.
func (l *Loop) newCall(req hooks.ToolRequest) *hooks.ToolCall {
	t := &hooks.ToolCall{ID: req.ID, Name: req.Name}
	if slices.Contains(l.Tools, req.Name) {
		t.Tool = req.Name
	}
	arguments := cmp.Or(strings.TrimSpace(req.Arguments), "{}") // some models write nothing for a tool without parameters
	_ = t.SetArguments(arguments)                               // the model is told by runTool, unless a hook mends them
	return t
}

func (l *Loop) callModel(ctx context.Context, m *hooks.ModelCall) error {
	return between(ctx, hooks.PreModelCall, hooks.PostModelCall, m, func(err error) { m.Err = err }, func() error {
		if m.Answered() {
			return nil
		}
		return l.Model(ctx, m)
	})
}
