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
	leaves   bool // what is behind a call that waits is left for later
	always   bool // each turn is saved, whether the run waits or not
}

// kept is what a plain loop saves of a run that waits.
type kept struct {
	RunID   string
	History []hooks.Message
	Turn    int
	Calls   []hooks.ToolRequest // of a turn in which some wait
	Results []*hooks.Message    // of Calls, nil for what waits
}

func isSuspended(err error) bool { return errors.As(err, new(*hooks.Suspended)) }

var noExecution = hookstest.Without(hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd)

// objectErrors is how a loop with objects marks errors.
var objectErrors = hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, `{"error":`) })

func TestLoop_passesPlainLoops(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		loop plain
		opts []hookstest.LoopOption
	}{
		"as it is":     {plain{}, []hookstest.LoopOption{marksErrors}},
		"with numbers": {plain{numbers: true}, []hookstest.LoopOption{marksErrors}},
		"on BeginTool": {plain{begins: true, numbers: true}, []hookstest.LoopOption{
			marksErrors, hookstest.Skip("wrapped-tool", "the Begin forms have no body to wrap"),
		}},
		"one question at a time": {plain{leaves: true, numbers: true}, []hookstest.LoopOption{
			marksErrors,
			hookstest.Skip("waiting-call-among-others", "what is behind it is left for later"),
			hookstest.Skip("waiting-tool-among-others", "what is behind it is left for later"),
		}},
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
		"a state after each turn":  {plain{always: true}, []hookstest.LoopOption{marksErrors}},
		"one step of kind task":    {plain{oneTask: true, missing: true}, []hookstest.LoopOption{marksErrors}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
				l := tc.loop
				l.Setup = s
				return l.run
			}, append(tc.opts, hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume {
				l := tc.loop
				l.Setup = s
				return l.resume
			}))...)
		})
	}
}

func (l *plain) run(ctx context.Context, prompt string) (string, error) {
	if l.quiet {
		return l.turns(ctx, begin(prompt))
	}
	return l.execute(ctx, &hooks.Execution{Inputs: map[string]any{"prompt": prompt}}, func(x *hooks.Execution) (kept, error) {
		prompt, ok := x.Inputs["prompt"].(string)
		if !ok {
			return kept{}, errors.New("the prompt is no text")
		}
		return begin(prompt), nil
	})
}

func (l *plain) resume(ctx context.Context, state []byte) (string, error) {
	var k kept
	if err := json.Unmarshal(state, &k); err != nil {
		return "", err
	}
	x := &hooks.Execution{Caller: hooks.Caller{RunID: k.RunID}, Resumed: true}
	return l.execute(ctx, x, func(*hooks.Execution) (kept, error) { return k, nil })
}

func begin(prompt string) kept {
	return kept{History: []hooks.Message{{Role: "system", Content: "you help"}, {Role: "user", Content: prompt}}}
}

func (l *plain) execute(ctx context.Context, x *hooks.Execution, from func(*hooks.Execution) (kept, error)) (string, error) {
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		k, err := from(x)
		if err != nil {
			return err
		}
		if !l.oneTask {
			text, err := l.turns(ctx, k)
			x.Output = text
			return err
		}
		s := &hooks.Step{Kind: hooks.StepTask, Input: x.Inputs["prompt"]}
		err = hooks.RunStep(ctx, s, func(ctx context.Context, s *hooks.Step) error {
			text, err := l.turns(ctx, k)
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

func (l *plain) turns(ctx context.Context, k kept) (string, error) {
	for ; k.Turn < l.MaxTurns; k.Turn++ {
		s := &hooks.Step{Kind: hooks.StepTurn}
		turn := &hooks.Turn{Number: k.Turn + 1, Messages: k.History}
		if l.numbers {
			s.Input = turn
		}
		body := func(ctx context.Context, s *hooks.Step) error {
			if k.Calls == nil {
				reply, err := l.ask(ctx, k.Turn, k.History)
				if err != nil {
					return err
				}
				k.Calls, turn.Reply, s.Output = reply.ToolCalls, reply, reply.Content
				if l.bare {
					reply.ToolCalls = nil
				}
				k.History = append(k.History, reply)
			}
			if l.onlyAsk || len(k.Calls) == 0 {
				return nil
			}
			return l.callAll(ctx, &k)
		}
		var err error
		switch {
		case l.oneTask:
			err = body(ctx, s)
		case !l.onlyAsk || k.Calls == nil:
			err = hooks.RunStep(ctx, s, body)
		}
		if err == nil && l.onlyAsk && len(k.Calls) > 0 {
			err = l.callAll(ctx, &k)
		}
		if isSuspended(err) {
			err = errors.Join(err, l.save(ctx, k))
		}
		if err != nil {
			return "", err
		}
		if len(k.Calls) == 0 {
			text, ok := s.Output.(string)
			if !ok {
				return "", errors.New("the output is no text")
			}
			return text, nil
		}
		for _, result := range k.Results {
			k.History = append(k.History, *result)
		}
		k.Calls, k.Results = nil, nil
		if l.always {
			next := k
			next.Turn++
			if err := l.save(ctx, next); err != nil {
				return "", err
			}
		}
	}
	return "", errors.New("no answer")
}

func (l *plain) save(ctx context.Context, k kept) error {
	k.RunID = hooks.CallerFrom(ctx).RunID
	state, err := json.Marshal(k)
	if err == nil {
		l.Save(state)
	}
	return err
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
		if m.Model != "" { // there is one model, and it has no name
			return fmt.Errorf("the model %q: %w", m.Model, errors.ErrUnsupported)
		}
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

// callAll makes the calls that have no results, and keeps the results.
func (l *plain) callAll(ctx context.Context, k *kept) error {
	if k.Results == nil {
		k.Results = make([]*hooks.Message, len(k.Calls))
	}
	var calls []*hooks.ToolCall
	at := make(map[*hooks.ToolCall]int)
	tools := make(map[*hooks.ToolCall]*hookstest.Tool)
	for i, req := range k.Calls {
		if k.Results[i] != nil {
			continue
		}
		c := &hooks.ToolCall{Name: req.Name}
		if !l.bare {
			c.ID = req.ID
		}
		if tool := l.tool(req.Name); tool != nil {
			c.Tool, tools[c] = tool, tool
		}
		_ = c.SetArguments(req.Arguments)
		calls, at[c] = append(calls, c), i
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
	ended, err := l.runAll(ctx, calls, body)
	for _, c := range ended {
		if c.Suspended() == nil {
			k.Results[at[c]] = &hooks.Message{Role: "tool", ToolCallID: c.ID, Content: l.text(c)}
		}
	}
	return err
}

// runAll returns the calls that were made.
func (l *plain) runAll(ctx context.Context, calls []*hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) ([]*hooks.ToolCall, error) {
	switch {
	case l.together != 0:
		return calls, hooks.RunTools(ctx, calls, l.together, body)
	case l.cancels:
		waits := make([]error, len(calls))
		group, ctx := errgroup.WithContext(ctx)
		for i, c := range calls {
			group.Go(func() error {
				err := hooks.RunTool(ctx, c, body)
				if isSuspended(err) {
					waits[i], err = err, nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return calls, err
		}
		return calls, errors.Join(waits...)
	}
	var waits []error
	for i, c := range calls {
		run := hooks.RunTool
		if l.begins {
			run = beginTool
		}
		switch err := run(ctx, c, body); {
		case isSuspended(err) && !l.leaves:
			waits = append(waits, err)
		case err != nil:
			return calls[:i+1], err
		}
	}
	return calls, errors.Join(waits...)
}

// beginTool is RunTool by its Begin form.
func beginTool(ctx context.Context, c *hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) (err error) {
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
