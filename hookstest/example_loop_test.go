package hookstest_test

// The loop of the examples: built on the seams, without steps.

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// agent is a small loop of the kind that TestLoop is for.
type agent struct {
	complete func(context.Context, []hooks.Message, []string) (hooks.Message, error)
	tools    map[string]func(context.Context, map[string]any) (string, error)
	names    []string
	maxTurns int
}

func (a *agent) Run(ctx context.Context, prompt string) (string, error) {
	x := &hooks.Execution{Inputs: map[string]any{"prompt": prompt}}
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		history := []hooks.Message{{Role: "user", Content: fmt.Sprint(x.Inputs["prompt"])}}
		for n := range a.maxTurns {
			m := &hooks.ModelCall{Iterations: n, Messages: history, Tools: a.names}
			if err := hooks.RunModel(ctx, m, a.callModel); err != nil {
				return err
			}
			if len(m.ToolCalls) == 0 {
				x.Output = m.Response
				return nil
			}
			history = append(history, hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls})
			var calls []*hooks.ToolCall
			for _, req := range m.ToolCalls {
				call := &hooks.ToolCall{ID: req.ID, Name: req.Name}
				if tool, ok := a.tools[req.Name]; ok {
					call.Tool = tool
				}
				_ = call.SetArguments(req.Arguments) // the model reads what is wrong with them
				calls = append(calls, call)
			}
			if err := hooks.RunTools(ctx, calls, 0, a.callTool); err != nil {
				return err
			}
			for _, call := range calls {
				history = append(history, hooks.Message{Role: "tool", ToolCallID: call.ID, Content: call.Result})
			}
		}
		return errors.New("no answer")
	})
	text, _ := x.Output.(string)
	return text, err
}

func (a *agent) callModel(ctx context.Context, m *hooks.ModelCall) error {
	if m.Model != "" { // a hook wants another model, and there is one alone
		return errors.ErrUnsupported
	}
	reply, err := a.complete(ctx, m.Messages, m.Tools)
	m.Response, m.ToolCalls = reply.Content, reply.ToolCalls
	return err
}

func (a *agent) callTool(ctx context.Context, call *hooks.ToolCall) (err error) {
	tool, ok := a.tools[call.Name]
	if !ok {
		return errors.New("there is no such tool")
	}
	call.Result, err = tool(ctx, call.Input)
	return err
}

// adapt builds an agent from what the kit gives.
func adapt(s hookstest.Setup) *agent {
	a := &agent{maxTurns: s.MaxTurns, tools: make(map[string]func(context.Context, map[string]any) (string, error))}
	for _, tool := range s.Tools {
		a.names = append(a.names, tool.Name)
		a.tools[tool.Name] = tool.Run
	}
	a.complete = func(ctx context.Context, messages []hooks.Message, tools []string) (hooks.Message, error) {
		reply, err := s.Model(ctx, hookstest.Request{Messages: messages, Tools: tools})
		return hooks.Message{Content: reply.Text, ToolCalls: reply.ToolCalls}, err
	}
	return a
}

// The agent has no steps, and says so.
func ExampleTestLoop() {
	_ = func(t *testing.T) { // func TestHooks
		hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
			return adapt(s).Run
		}, hookstest.Without(hooks.PreStep, hooks.PostStep))
	}
}

// resumableAgent builds a loop that saves its runs that wait, and goes on with them.
func resumableAgent(s hookstest.Setup) *plain { return &plain{Setup: s, together: -1} }

// Each loop is built from its Setup alone. What it knows of a run that waited is
// in the state that it is handed.
func ExampleResumes() {
	_ = func(t *testing.T) { // func TestHooks
		hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
			return resumableAgent(s).run
		}, hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume {
			return resumableAgent(s).resume
		}))
	}
}

func TestLoop_passesLoopOfExample(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
		return adapt(s).Run
	}, hookstest.Without(hooks.PreStep, hooks.PostStep))
}

// This loop is in a hurry: it runs the tools that the model asks for before
// the hooks have seen the reply.
func ExampleCheckLoop() {
	failures := hookstest.CheckLoop(context.Background(), func(s hookstest.Setup) hookstest.Loop {
		a := adapt(s)
		complete := a.complete
		a.complete = func(ctx context.Context, messages []hooks.Message, tools []string) (hooks.Message, error) {
			reply, err := complete(ctx, messages, tools)
			for _, req := range reply.ToolCalls {
				if prefetch := a.tools[req.Name]; prefetch != nil {
					_, _ = prefetch(ctx, map[string]any{"key": "c1"})
				}
			}
			return reply, err
		}
		return a.Run
	}, hookstest.Without(hooks.PreStep, hooks.PostStep))
	fmt.Println(failures[0])
	// Output:
	// no tool and no model runs without its pre point
	// 	scenario: every-point
	// 	want:     pre_tool_call before tool alpha (c1)
	// 	got:      it ran without
	// 	what happened:
	// 		execution_start
	// 		input
	// 		pre_model_call
	// 		    the model is called
	// 		    tool alpha (c1) runs
	// 		post_model_call
	// 		pre_tool_call alpha (c1)
	// 		    tool alpha (c1) runs
	// 		post_tool_call alpha (c1)
	// 		pre_model_call
	// 		    the model is called
	// 		post_model_call
	// 		output
	// 		execution_end
	// 		the loop returns "the final answer"
}
