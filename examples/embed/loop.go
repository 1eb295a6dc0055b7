package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/loophooks/hooks"
)

// Loop is the smallest agent loop that dispatches at all ten points by hand.
type Loop struct {
	Model func(context.Context, *hooks.ModelCall) error // sets Response and ToolCalls
	Tool  func(context.Context, *hooks.ToolCall) error  // sets Result
}

// Run answers prompt. A hook that stopped it is a *hooks.HookAborted.
func (l *Loop) Run(ctx context.Context, prompt string) (string, error) {
	x := &hooks.Execution{Inputs: map[string]any{"prompt": prompt}, Status: hooks.StatusRunning}
	err := between(ctx, hooks.ExecutionStart, hooks.ExecutionEnd, x, func() error {
		x.Status, x.Err = hooks.StatusCompleted, l.turns(ctx, x)
		if x.Err != nil {
			x.Status, x.Output = hooks.StatusFailed, nil
		}
		return x.Err
	})
	answer, _ := x.Output.(string)
	return answer, err
}

func (l *Loop) turns(ctx context.Context, x *hooks.Execution) error {
	if err := hooks.Dispatch(ctx, hooks.Input, x); err != nil {
		return err
	}
	prompt, _ := x.Inputs["prompt"].(string)
	history := []hooks.Message{{Role: "user", Content: prompt}, {Role: "system", Content: retrieve(ctx, prompt)}}
	for range 10 {
		s := &hooks.Step{Kind: hooks.StepTurn, Input: slices.Clone(history)}
		m := &hooks.ModelCall{Messages: slices.Clone(history)}
		err := between(ctx, hooks.PreStep, hooks.PostStep, s, func() error {
			s.Err = between(ctx, hooks.PreModelCall, hooks.PostModelCall, m, func() error {
				if !m.Answered() {
					m.Err = l.Model(ctx, m)
				}
				return m.Err
			})
			history = append(history, hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls})
			for i := 0; s.Err == nil && i < len(m.ToolCalls); i++ {
				t := &hooks.ToolCall{ID: m.ToolCalls[i].ID, Name: m.ToolCalls[i].Name}
				t.Err = t.SetArguments(m.ToolCalls[i].Arguments)
				s.Err = l.call(ctx, t)
				history = append(history, hooks.Message{Role: "tool", ToolCallID: t.ID, Content: t.Result})
			}
			s.Output = m.Response
			return s.Err
		})
		if err != nil {
			return err
		}
		if len(m.ToolCalls) == 0 {
			x.Output = s.Output
			return hooks.Dispatch(ctx, hooks.Output, x)
		}
	}
	return errors.New("no answer after 10 turns")
}

// call runs a tool. A refusal or failure becomes its result, unless it stops the run.
func (l *Loop) call(ctx context.Context, t *hooks.ToolCall) error {
	stop := refused(t, hooks.Dispatch(ctx, hooks.PreToolCall, t))
	if t.Blocked == nil && t.Err == nil && !t.Answered() {
		t.Err = l.Tool(ctx, t)
	}
	if t.Blocked == nil && t.Err != nil {
		t.Result = "failed: " + t.Err.Error()
	}
	return cmp.Or(stop, refused(t, hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostToolCall, t)))
}
