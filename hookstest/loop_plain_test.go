package hookstest_test

// A loop on the Run forms that tells hooks no more than it has to, and its
// variants: each is right in a way of its own.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// plain is a loop in which Name isn't for hooks to change, and whose turns have
// no number.
type plain struct {
	hookstest.Setup
	begins   bool // tools run by BeginTool
	numbers  bool // turns have a number, and are told of
	quiet    bool // there is no execution
	bare     bool // messages have a role and a text alone
	retries  bool // the model is asked again in the same call when it fails
	wraps    bool // errors of a run are wrapped
	together int  // how many tools run by RunTools at a time, -1 for no limit; 0 for one after the other by RunTool
	cancels  bool // tools run beside each other in a group that is cancelled by a stop
	objects  bool // results are JSON objects
	missing  bool // an unknown tool is ErrNoTool
	onlyAsk  bool // a step is a question to the model, without the tools that it asks for
	oneTask  bool // the whole run is one step, of kind task
}

var noExecution = hookstest.Without(hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd)

// objectErrors is how a loop with objects marks errors.
var objectErrors = hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, `{"error":`) })

func TestLoop_passesPlainLoops(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		loop plain
		opts []hookstest.LoopOption
	}{
		"as it is":                 {plain{}, []hookstest.LoopOption{marksErrors}},
		"with numbers":             {plain{numbers: true}, []hookstest.LoopOption{marksErrors}},
		"on BeginTool":             {plain{begins: true, numbers: true}, []hookstest.LoopOption{marksErrors}},
		"without executions":       {plain{quiet: true}, []hookstest.LoopOption{marksErrors, noExecution}},
		"messages without ids":     {plain{bare: true}, []hookstest.LoopOption{marksErrors}},
		"a model that is retried":  {plain{retries: true}, []hookstest.LoopOption{marksErrors}},
		"errors that are wrapped":  {plain{wraps: true}, []hookstest.LoopOption{marksErrors}},
		"RunTools, one at a time":  {plain{together: 1}, []hookstest.LoopOption{marksErrors}},
		"RunTools, three at once":  {plain{together: 3}, []hookstest.LoopOption{marksErrors}},
		"RunTools, all at once":    {plain{together: -1, missing: true}, []hookstest.LoopOption{marksErrors}},
		"a group that is stopped":  {plain{cancels: true}, []hookstest.LoopOption{marksErrors}},
		"results that are objects": {plain{objects: true}, []hookstest.LoopOption{objectErrors}},
		"tools outside of steps":   {plain{onlyAsk: true, numbers: true}, []hookstest.LoopOption{marksErrors}},
		"one step of kind task":    {plain{oneTask: true, missing: true}, []hookstest.LoopOption{marksErrors}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
				l := tc.loop
				l.Setup = s
				return l.run
			}, tc.opts...)
		})
	}
}

func (l *plain) run(ctx context.Context, prompt string) (string, error) {
	if l.quiet {
		return l.turns(ctx, prompt)
	}
	x := &hooks.Execution{Inputs: map[string]any{"prompt": prompt}}
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		prompt, ok := x.Inputs["prompt"].(string)
		if !ok {
			return errors.New("the prompt is no text")
		}
		if !l.oneTask {
			text, err := l.turns(ctx, prompt)
			x.Output = text
			return err
		}
		s := &hooks.Step{Kind: hooks.StepTask, Input: prompt}
		err := hooks.RunStep(ctx, s, func(ctx context.Context, s *hooks.Step) error {
			text, err := l.turns(ctx, prompt)
			s.Output = text
			return err
		})
		x.Output = s.Output
		return err
	})
	if err != nil {
		if l.wraps {
			err = fmt.Errorf("the run failed: %w", err)
		}
		return "", err
	}
	text, ok := x.Output.(string)
	if !ok {
		return "", errors.New("the output is no text")
	}
	return text, nil
}

func (l *plain) turns(ctx context.Context, prompt string) (string, error) {
	history := []hooks.Message{{Role: "system", Content: "you help"}, {Role: "user", Content: prompt}}
	for n := range l.MaxTurns {
		s := &hooks.Step{Kind: hooks.StepTurn}
		turn := &hooks.Turn{Number: n + 1, Messages: history}
		if l.numbers {
			s.Input = turn
		}
		var calls []hooks.ToolRequest
		body := func(ctx context.Context, s *hooks.Step) error {
			reply, err := l.ask(ctx, n, history)
			if err != nil {
				return err
			}
			calls, turn.Reply, s.Output = reply.ToolCalls, reply, reply.Content
			if l.bare {
				reply.ToolCalls = nil
			}
			history = append(history, reply)
			if l.onlyAsk || len(calls) == 0 {
				return nil
			}
			results, err := l.callAll(ctx, calls)
			history = append(history, results...)
			return err
		}
		var err error
		if l.oneTask {
			err = body(ctx, s)
		} else {
			err = hooks.RunStep(ctx, s, body)
		}
		if err == nil && l.onlyAsk && len(calls) > 0 {
			var results []hooks.Message
			results, err = l.callAll(ctx, calls)
			history = append(history, results...)
		}
		if err != nil {
			return "", err
		}
		if len(calls) == 0 {
			text, ok := s.Output.(string)
			if !ok {
				return "", errors.New("the output is no text")
			}
			return text, nil
		}
	}
	return "", errors.New("no answer")
}

func (l *plain) ask(ctx context.Context, n int, history []hooks.Message) (hooks.Message, error) {
	m := &hooks.ModelCall{Messages: history}
	if l.numbers {
		m.Iterations = n
	}
	for _, tool := range l.Tools {
		m.Tools = append(m.Tools, tool.Name)
	}
	err := hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
		req := hookstest.Request{Messages: m.Messages, Tools: m.Tools}
		reply, err := l.Model(ctx, req)
		if err != nil && l.retries && ctx.Err() == nil {
			reply, err = l.Model(ctx, req)
		}
		m.Response, m.ToolCalls = reply.Text, reply.ToolCalls
		return err
	})
	return hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls}, err
}

func (l *plain) callAll(ctx context.Context, requests []hooks.ToolRequest) ([]hooks.Message, error) {
	calls := make([]*hooks.ToolCall, len(requests))
	tools := make(map[*hooks.ToolCall]*hookstest.Tool)
	for i, req := range requests {
		c := &hooks.ToolCall{Name: req.Name}
		if !l.bare {
			c.ID = req.ID
		}
		if tool := l.tool(req.Name); tool != nil {
			c.Tool, tools[c] = tool, tool
		}
		_ = c.SetArguments(req.Arguments)
		calls[i] = c
	}
	body := func(ctx context.Context, c *hooks.ToolCall) (err error) {
		tool := tools[c]
		switch {
		case tool == nil && l.missing:
			return fmt.Errorf("%w: %s", hooks.ErrNoTool, c.Name)
		case tool == nil:
			return fmt.Errorf("there is no tool %s", c.Name)
		}
		c.Result, err = tool.Run(ctx, c.Input)
		return err
	}
	err := l.runAll(ctx, calls, body)
	var results []hooks.Message
	for _, c := range calls {
		if err == nil {
			results = append(results, hooks.Message{Role: "tool", ToolCallID: c.ID, Content: l.text(c)})
		}
	}
	return results, err
}

func (l *plain) runAll(ctx context.Context, calls []*hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) error {
	switch {
	case l.together != 0:
		return hooks.RunTools(ctx, calls, l.together, body)
	case l.cancels:
		group, ctx := errgroup.WithContext(ctx)
		for _, c := range calls {
			group.Go(func() error { return hooks.RunTool(ctx, c, body) })
		}
		return group.Wait()
	}
	for _, c := range calls {
		run := hooks.RunTool
		if l.begins {
			run = begin
		}
		if err := run(ctx, c, body); err != nil {
			return err
		}
	}
	return nil
}

// begin is RunTool by its Begin form.
func begin(ctx context.Context, c *hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) (err error) {
	ctx, end, err := hooks.BeginTool(ctx, c)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			err = &hooks.PanicError{Value: recover()}
		}
		err = end(err)
	}()
	if c.ShouldRun() {
		err = body(ctx, c)
	}
	returned = true
	return err
}

func (l *plain) text(c *hooks.ToolCall) string {
	switch {
	case !l.objects && c.IsError():
		return "Error: " + c.Result
	case !l.objects:
		return c.Result
	}
	key := "result"
	if c.IsError() {
		key = "error"
	}
	object, err := json.Marshal(map[string]string{key: c.Result})
	if err != nil {
		return `{"error":"the result is no text"}`
	}
	return string(object)
}

func (l *plain) tool(name string) *hookstest.Tool {
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i]
		}
	}
	return nil
}
