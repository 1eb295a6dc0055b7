package main

import (
	"context"
	"errors"
	"slices"

	"github.com/loophooks/hooks"
)

// Loop dispatches at the points of turns and models by hand, by the rules in
// rules.go. The run and its tools go through seams, which no hand can replace:
// RunExecution gives the run its RunID, and RunVars something to belong to; a
// question about a tool call, and what wraps it, belong to its passage of RunTools.
type Loop struct {
	Model    func(context.Context, *hooks.ModelCall) error // sends Messages and Tools to Model, sets Response and ToolCalls
	Tool     func(context.Context, *hooks.ToolCall) error  // runs the tool named Name on Input, sets Result
	Tools    []string                                      // the names that Tool knows
	MaxTurns int
	Save     func(State) error // keeps a run that waits, for Resume; nil if nobody goes on with one
}

// State is all that a Loop needs to go on with a run that waits, in any process.
// It holds what hooks have left, and nothing of what it was.
type State struct {
	RunID   string // questions are those of a run: they are found again by it
	History []hooks.Message
	Turn    int
	Calls   []hooks.ToolRequest // of the turn that waits, as the model asked for them
	Results []*hooks.Message    // of Calls, nil for those that wait
}

// Run answers prompt. A hook that stopped it is a *hooks.HookAborted; a run that
// waits ends with a *hooks.Suspended when it has been saved.
func (l *Loop) Run(ctx context.Context, prompt string) (string, error) {
	return l.run(ctx, &hooks.Execution{Inputs: map[string]any{"prompt": prompt}}, State{})
}

// Resume goes on with a run that waited. The hooks of the calls that wait decide
// once more: it may have to wait again.
func (l *Loop) Resume(ctx context.Context, s State) (string, error) {
	return l.run(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: s.RunID}, Resumed: true}, s)
}

func (l *Loop) run(ctx context.Context, x *hooks.Execution, s State) (string, error) {
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		if s.History == nil {
			prompt, err := text("prompt", x.Inputs["prompt"])
			if err != nil {
				return err
			}
			s.History = []hooks.Message{{Role: "user", Content: prompt}, {Role: "system", Content: retrieve(ctx, prompt)}}
		}
		err := l.turns(ctx, x, &s)
		if waits(err) && l.Save != nil {
			s.RunID = x.RunID
			err = errors.Join(err, l.Save(s))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return text("output", x.Output)
}

func (l *Loop) turns(ctx context.Context, x *hooks.Execution, s *State) error {
	caller := hooks.CallerFrom(ctx) // the run, for hooks at all points
	for ; s.Turn < l.MaxTurns; s.Turn++ {
		turn := &hooks.Turn{Number: s.Turn, Messages: slices.Clone(s.History)}
		step := &hooks.Step{Caller: caller, Kind: hooks.StepTurn, Input: turn}
		err := between(ctx, hooks.PreStep, hooks.PostStep, step, func(err error) { step.Err = err }, func() error {
			if len(s.Calls) == 0 { // else the model has asked for them before the run had to wait
				m := &hooks.ModelCall{Caller: caller, Iterations: s.Turn, Messages: slices.Clone(s.History), Tools: slices.Clone(l.Tools)}
				if err := l.callModel(ctx, m); err != nil {
					return err
				}
				s.History = append(s.History, hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls})
				s.Calls, s.Results = m.ToolCalls, make([]*hooks.Message, len(m.ToolCalls))
			}
			turn.Reply = s.History[len(s.History)-1]
			step.Output = turn.Reply.Content
			if len(s.Calls) == 0 {
				return nil
			}
			return l.callTools(ctx, s)
		})
		if err != nil {
			return err
		}
		if len(s.Calls) == 0 {
			x.Output = step.Output
			return nil
		}
		for _, result := range s.Results {
			s.History = append(s.History, *result)
		}
		s.Calls, s.Results = nil, nil
	}
	return errors.New("no answer within the turns allowed")
}

func (l *Loop) callModel(ctx context.Context, m *hooks.ModelCall) error {
	return between(ctx, hooks.PreModelCall, hooks.PostModelCall, m, func(err error) { m.Err = err }, func() error {
		if m.Answered() {
			return nil
		}
		return l.Model(ctx, m)
	})
}

// callTools makes the calls that have no result yet. One that waits doesn't keep
// the others from theirs.
func (l *Loop) callTools(ctx context.Context, s *State) error {
	var calls []*hooks.ToolCall
	var places []int
	for i, req := range s.Calls {
		if s.Results[i] == nil {
			calls, places = append(calls, l.newCall(req)), append(places, i)
		}
	}
	err := hooks.RunTools(ctx, calls, 1, l.Tool)
	for i, t := range calls {
		if t.Suspended() == nil {
			s.Results[places[i]] = result(t)
		}
	}
	return err
}

// newCall makes the call that req asks for. Its Tool is the name of one that
// this loop has: it knows its tools by nothing else.
func (l *Loop) newCall(req hooks.ToolRequest) *hooks.ToolCall {
	t := &hooks.ToolCall{ID: req.ID, Name: req.Name}
	if slices.Contains(l.Tools, req.Name) {
		t.Tool = req.Name
	}
	_ = t.SetArguments(req.Arguments) // the model is told by RunTools, unless a hook mends them
	return t
}

// result is the message that tells the model what came of t.
func result(t *hooks.ToolCall) *hooks.Message {
	content := t.Result
	if t.IsError() {
		content = "Error: " + content
	}
	return &hooks.Message{Role: "tool", ToolCallID: t.ID, Content: content}
}

// waits says whether err is that of a run that waits.
func waits(err error) bool {
	_, ok := errors.AsType[*hooks.Suspended](err)
	return ok
}
