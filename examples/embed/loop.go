package main

import (
	"context"
	"errors"
	"slices"

	"github.com/loophooks/hooks"
)

// Loop dispatches at the points of turns, models and tools by hand, by the rules
// in rules.go. The run itself goes through RunExecution, which no hand can
// replace: it gives the run its RunID, and RunVars something to belong to.
type Loop struct {
	Model    func(context.Context, *hooks.ModelCall) error // sends Messages and Tools, sets Response and ToolCalls
	Tool     func(context.Context, *hooks.ToolCall) error  // runs the tool named Name on Input, sets Result
	Tools    []string                                      // the names that Tool knows
	MaxTurns int
}

// Run answers prompt. A hook that stopped it is a *hooks.HookAborted.
func (l *Loop) Run(ctx context.Context, prompt string) (string, error) {
	x := &hooks.Execution{Inputs: map[string]any{"prompt": prompt}}
	if err := hooks.RunExecution(ctx, x, l.turns); err != nil {
		return "", err
	}
	return text("output", x.Output)
}

func (l *Loop) turns(ctx context.Context, x *hooks.Execution) error {
	prompt, err := text("prompt", x.Inputs["prompt"])
	if err != nil {
		return err
	}
	caller := hooks.CallerFrom(ctx) // the run, for hooks at all points
	history := []hooks.Message{{Role: "user", Content: prompt}, {Role: "system", Content: retrieve(ctx, prompt)}}
	for n := range l.MaxTurns {
		turn := &hooks.Turn{Number: n, Messages: slices.Clone(history)}
		s := &hooks.Step{Caller: caller, Kind: hooks.StepTurn, Input: turn}
		m := &hooks.ModelCall{Caller: caller, Iterations: n, Messages: slices.Clone(history), Tools: slices.Clone(l.Tools)}
		err := between(ctx, hooks.PreStep, hooks.PostStep, s, func(err error) { s.Err = err }, func() error {
			if err := l.callModel(ctx, m); err != nil {
				return err
			}
			s.Output = m.Response
			turn.Reply = hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls}
			history = append(history, turn.Reply)
			for _, req := range m.ToolCalls {
				result, err := callTool(ctx, l.newCall(caller, req), l.Tool)
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
			return nil
		}
	}
	return errors.New("no answer within the turns allowed")
}

// newCall makes the call that req asks for. Its Tool is the name of one that
// this loop has: it knows its tools by nothing else.
func (l *Loop) newCall(caller hooks.Caller, req hooks.ToolRequest) *hooks.ToolCall {
	t := &hooks.ToolCall{Caller: caller, ID: req.ID, Name: req.Name}
	if slices.Contains(l.Tools, req.Name) {
		t.Tool = req.Name
	}
	_ = t.SetArguments(req.Arguments) // the model is told by runTool, unless a hook mends them
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
