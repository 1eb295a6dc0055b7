// Package agent is a small agent loop whose every step can be hooked: it sends
// the conversation to a model, runs the tools that the model asks for, and goes
// on until the model answers. What hooks change, the loop obeys; which hooks
// there are is none of its business.
package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/chat"
)

// Model completes conversations. [*chat.Client] is one.
type Model interface {
	Complete(ctx context.Context, req chat.Request) (chat.Reply, error)
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // the JSON Schema of its arguments, an object
	// Run returns the text that the model reads. An error is the model's to
	// read too, and doesn't stop the run. Run is called from several goroutines
	// at once.
	Run func(ctx context.Context, input map[string]any) (string, error)
}

// Agent is the fixed part of the loop. It may run several conversations at
// once, and must not be changed meanwhile.
type Agent struct {
	Model        Model
	ModelName    string
	Role         string // who calls, for hooks that are filtered by role
	Instructions string // the system message; none if empty
	Tools        []Tool
	MaxTurns     int // 10 if 0
	MaxCalls     int // tool calls that are made in one turn; 32 if 0
	Parallel     int // tool calls of one turn that run at a time; no limit if 0
	Listener     Listener
}

// Listener is told what happens, in order and in the goroutine of [Agent.Run].
// Its functions watch: what they are given is the loop's own and must not be
// changed. Any of them may be nil.
type Listener struct {
	// TurnStarted: a turn begins; its hooks are next.
	TurnStarted func(turn int)
	// ModelReplied: the reply passed its hooks; its tool calls are next.
	ModelReplied func(turn int, reply hooks.Message)
	// ToolReturned: the call, blocked or not, passed its hooks. The calls of a
	// turn are told in the order in which the model made them, after all ended.
	ToolReturned func(turn int, call *hooks.ToolCall)
	// CallsSkipped: so many calls of the turn were more than MaxCalls. They
	// weren't made, and no hook saw them.
	CallsSkipped func(turn, calls int)
}

// Result is what came of a run, also of one that failed.
type Result struct {
	Answer    string
	Turns     int // that passed their hooks
	ToolCalls int
	Blocked   int // tool calls that were blocked or whose result was withheld
	Skipped   int // tool calls that weren't made because a turn had too many
	// History is the conversation as it would be sent next. Every tool call in
	// it has its result, also where the run was stopped in between.
	History []hooks.Message
}

// TurnLimitError says that the model went on asking for tools.
type TurnLimitError struct{ Turns int }

func (e *TurnLimitError) Error() string { return fmt.Sprintf("no answer after %d turns", e.Turns) }

// InputPrompt is the key in an execution's inputs of what the user asks.
const InputPrompt = "prompt"

// Run answers prompt. It fails with the abort of a hook that stopped the run,
// with a [*TurnLimitError], with the error of the model, and with that of ctx.
func (a *Agent) Run(ctx context.Context, prompt string) (Result, error) {
	r, err := a.newRun()
	if err != nil {
		return Result{}, err
	}
	x := &hooks.Execution{
		Caller: hooks.Caller{AgentRole: a.Role, Agent: a}, // RunExecution gives it a RunID
		Inputs: map[string]any{InputPrompt: prompt},
	}
	err = hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		prompt, ok := x.Inputs[InputPrompt].(string)
		if !ok {
			return fmt.Errorf("the input %q is %T, not text", InputPrompt, x.Inputs[InputPrompt])
		}
		answer, err := r.loop(ctx, prompt)
		x.Output = answer
		return err
	})
	if err != nil {
		return r.result, err
	}
	// A hook at Output or ExecutionEnd may have put anything here.
	answer, ok := x.Output.(string)
	if !ok {
		return r.result, fmt.Errorf("the output is %T, not text", x.Output)
	}
	r.result.Answer = answer
	return r.result, nil
}

// run is one conversation.
type run struct {
	*Agent
	tools    map[string]*Tool
	maxTurns int
	maxCalls int
	result   Result
}

func (a *Agent) newRun() (*run, error) {
	r := &run{Agent: a, tools: make(map[string]*Tool, len(a.Tools)), maxTurns: a.MaxTurns, maxCalls: a.MaxCalls}
	if r.maxTurns <= 0 {
		r.maxTurns = 10
	}
	if r.maxCalls <= 0 {
		r.maxCalls = 32
	}
	for i := range a.Tools {
		t := &a.Tools[i]
		switch {
		case t.Name == "" || t.Run == nil:
			return nil, fmt.Errorf("tool %d has no name or no function", i)
		case r.tools[t.Name] != nil:
			return nil, fmt.Errorf("two tools are named %q", t.Name)
		}
		r.tools[t.Name] = t
	}
	return r, nil
}

func (r *run) loop(ctx context.Context, prompt string) (string, error) {
	r.result = Result{}
	if r.Instructions != "" {
		r.add(hooks.Message{Role: "system", Content: r.Instructions})
	}
	r.add(hooks.Message{Role: "user", Content: prompt})
	for n := 1; n <= r.maxTurns; n++ {
		if err := ctx.Err(); err != nil {
			return "", err // no turn begins, and nobody is told that one does
		}
		answer, done, err := r.turn(ctx, n)
		if done || err != nil {
			return answer, err
		}
	}
	return "", &TurnLimitError{Turns: r.maxTurns}
}

func (r *run) add(m hooks.Message) { r.result.History = append(r.result.History, m) }

func (r *run) toolNames() []string {
	names := make([]string, len(r.Tools))
	for i, t := range r.Tools {
		names[i] = t.Name
	}
	return names
}
