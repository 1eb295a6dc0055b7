package main

// The agent's loop, on the seams of package hooks. It knows no policy: which hooks there
// are is in the ctx that it is given.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loophooks/hooks"
)

// loop asks a model, runs the tools that it asks for, and goes on until it answers.
type loop struct {
	model    model
	tools    map[string]tool
	maxTurns int
	show     func(text string) // what people read, in pieces as they come
	save     func(state) error // keeps a run that waits, for resume
}

// model sends m.Messages and m.Tools to m.Model, pushes the reply as it comes, and returns
// the tool calls that are in it. It may be called again for the same m.
type model func(ctx context.Context, m *hooks.ModelCall, push func(hooks.Chunk) error) ([]hooks.ToolRequest, hooks.Usage, error)

// state is all that it takes to go on with a run that waits, in any process.
type state struct {
	RunID   string // questions are found again by it
	History []hooks.Message
	Turn    int
	Calls   []hooks.ToolRequest // of the turn that waits, as the model wrote them
	Results []*hooks.Message    // of Calls, nil for those that wait
}

// run answers prompt. Where the run waits the error is or wraps a [*hooks.Suspended], and
// resume goes on with what save was given.
func (l *loop) run(ctx context.Context, prompt string) (string, error) {
	return (&conversation{loop: l}).execute(ctx, &hooks.Execution{Inputs: map[string]any{"prompt": prompt}})
}

// resume goes on with a run that waited. Its calls pass all hooks and guards once more.
func (l *loop) resume(ctx context.Context, s state) (string, error) {
	x := &hooks.Execution{Resumed: true}
	x.RunID = s.RunID
	return (&conversation{loop: l, state: s}).execute(ctx, x)
}

// conversation is one run of a loop.
type conversation struct {
	*loop
	state
	shown bool // something of the last reply
}

func (c *conversation) execute(ctx context.Context, x *hooks.Execution) (string, error) {
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		if c.History == nil {
			prompt, err := text("prompt", x.Inputs["prompt"])
			if err != nil {
				return err
			}
			c.History = []hooks.Message{{Role: "user", Content: prompt}}
		}
		err := c.talk(ctx, x)
		if waits(err) {
			c.RunID = x.RunID
			err = errors.Join(err, c.save(c.state))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	answer, err := text("output", x.Output)
	if err == nil && !c.shown { // a cache has answered, or a hook had yet to decide
		c.show(answer)
	}
	return answer, err
}

// talk takes turns until the model has answered.
func (c *conversation) talk(ctx context.Context, x *hooks.Execution) error {
	for ; c.Turn < c.maxTurns; c.Turn++ {
		turn := &hooks.Turn{Number: c.Turn, Messages: slices.Clone(c.History)}
		step := &hooks.Step{Kind: hooks.StepTurn, Name: fmt.Sprintf("turn %d", c.Turn+1), Input: turn}
		err := hooks.RunStep(ctx, step, func(ctx context.Context, step *hooks.Step) error {
			if len(c.Calls) == 0 { // else the run has waited for them
				if err := c.ask(ctx); err != nil {
					return err
				}
			}
			turn.Reply = c.History[len(c.History)-1]
			step.Output = turn.Reply.Content
			return c.runTools(ctx)
		})
		if err != nil {
			return err
		}
		if len(c.Calls) == 0 {
			x.Output = step.Output
			return nil
		}
		for _, result := range c.Results {
			c.History = append(c.History, *result)
		}
		c.Calls, c.Results = nil, nil
	}
	return fmt.Errorf("no answer in %d turns", c.maxTurns)
}

// ask asks the model. What it replies is shown as the filters let it through.
func (c *conversation) ask(ctx context.Context) error {
	m := &hooks.ModelCall{
		Model:      firstModel,
		Iterations: c.Turn,
		Messages:   slices.Clone(c.History),
		Tools:      slices.Sorted(maps.Keys(c.tools)),
	}
	c.shown = false
	err := hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
		hold := decidedLater(ctx)
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(piece hooks.Chunk) error {
			if !hold && piece.Text != "" {
				c.shown = true
				c.show(piece.Text)
			}
			return nil
		})
		var err error
		m.ToolCalls, m.Usage, err = c.model(ctx, m, out.Push)
		return out.End(err) // m.Response is what the filters let through
	})
	if err != nil {
		return err
	}
	c.History = append(c.History, hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls})
	c.Calls, c.Results = m.ToolCalls, make([]*hooks.Message, len(m.ToolCalls))
	return nil
}

// runTools runs the calls of the turn that have no result yet. One that waits doesn't
// keep the others from theirs.
func (c *conversation) runTools(ctx context.Context) error {
	var calls []*hooks.ToolCall
	var places []int
	for i, req := range c.Calls {
		if c.Results[i] != nil {
			continue
		}
		call := &hooks.ToolCall{ID: req.ID, Name: req.Name}
		if c.tools[req.Name] != nil {
			call.Tool = req.Name // these tools have nothing but their names
		}
		_ = call.SetArguments(req.Arguments) // after an error the tool isn't run, and the model reads why
		calls, places = append(calls, call), append(places, i)
	}
	if len(calls) == 0 {
		return nil
	}
	err := hooks.RunTools(ctx, calls, 4, func(ctx context.Context, call *hooks.ToolCall) error {
		run := c.tools[call.Name]
		if run == nil {
			return hooks.ErrNoTool
		}
		return run(ctx, call)
	})
	for i, call := range calls {
		if call.Suspended() == nil {
			c.Results[places[i]] = result(call)
		}
	}
	return err
}

// result is the message by which the model reads what came of a call.
func result(call *hooks.ToolCall) *hooks.Message {
	m := &hooks.Message{Role: "tool", ToolCallID: call.ID, Content: call.Result, Parts: call.Parts}
	if call.IsError() { // a provider may have a field for this
		m.Content = "Error: " + m.Content
	}
	return m
}

// decidedLater reports whether a hook has yet to decide on a reply when the model has
// made it. Then nothing of it may be shown before.
func decidedLater(ctx context.Context) bool {
	return hooks.Guarded(ctx, hooks.PostStep) || hooks.Guarded(ctx, hooks.Output) || hooks.Guarded(ctx, hooks.ExecutionEnd)
}

// waits reports whether err is that of a run that waits.
func waits(err error) bool {
	_, ok := errors.AsType[*hooks.Suspended](err)
	return ok
}

// text returns v, which hooks may have replaced by anything, if it is a text.
func text(what string, v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("the %s is %T, not text", what, v)
	}
	return s, nil
}
