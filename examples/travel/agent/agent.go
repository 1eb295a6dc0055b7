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
	"github.com/loophooks/hooks/examples/travel/saved"
)

// Model completes conversations. [*chat.Client] is one.
type Model interface {
	Complete(ctx context.Context, req chat.Request) (chat.Reply, error)
}

// Streamer is a [Model] that can hand a reply over piece by piece. [*chat.Client] is
// one. Where a piece is refused, it returns that error as it is.
type Streamer interface {
	Stream(ctx context.Context, req chat.Request, piece func(chat.Piece) error) (chat.Reply, error)
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
	// Show is given what the model says, piece by piece as filters and guards let it
	// through, in the goroutine of [Agent.Run]: the text of every turn, and the
	// arguments of its calls. What hooks change later is in the reply and the answer,
	// and doesn't change what was shown. Where a hook has yet to decide on a turn or on
	// the answer as a whole ([hooks.Guarded]), nothing is shown in pieces. An error ends
	// the run. Show may be nil.
	Show func(turn int, c hooks.Chunk) error
	// Save is given what it takes to go on with the run: behind each turn that is
	// over, and when the run is suspended. The run fails if Save does. It may be
	// nil; a run that is suspended is lost then.
	Save func(saved.Run) error
}

// Listener is told what happens, in order and in the goroutine of [Agent.Run].
// Its functions watch: what they are given is the loop's own and must not be
// changed. Any of them may be nil.
type Listener struct {
	// TurnStarted: a turn begins; its hooks are next.
	TurnStarted func(turn int)
	// ModelReplied: the reply passed its hooks; its tool calls are next.
	ModelReplied func(turn int, reply hooks.Message)
	// TurnResumed: a turn goes on whose reply there was before the run was
	// suspended; the calls that had no result by then are next.
	TurnResumed func(turn int, calls []hooks.ToolRequest)
	// ToolReturned: the call, blocked or not, passed its hooks, or waits and has
	// no result ([hooks.ToolCall.Suspended]). The calls of a turn are told in the
	// order in which the model made them, after all ended.
	ToolReturned func(turn int, call *hooks.ToolCall)
	// CallsSkipped: so many calls of the turn were more than MaxCalls. They
	// weren't made, and no hook saw them.
	CallsSkipped func(turn, calls int)
}

// Result is what came of a run, also of one that failed.
type Result struct {
	Answer    string
	Turns     int // that passed their hooks
	ToolCalls int // that have their result
	Blocked   int // tool calls that were blocked or whose result was withheld
	Skipped   int // tool calls that weren't made because a turn had too many
	// History is the conversation as it would be sent next. Every tool call in
	// it has its result, also where the run was stopped in between; only those
	// that a suspended run waits for have none.
	History []hooks.Message
}

// TurnLimitError says that the model went on asking for tools.
type TurnLimitError struct{ Turns int }

func (e *TurnLimitError) Error() string { return fmt.Sprintf("no answer after %d turns", e.Turns) }

// InputPrompt is the key in an execution's inputs of what the user asks.
const InputPrompt = "prompt"

// Run answers prompt. It fails with the abort of a hook that stopped the run,
// with a [*TurnLimitError], with the error of the model, and with that of ctx.
// Where the run waits, the error is or wraps a [*hooks.Suspended], and [Agent.Resume]
// goes on with what Save was given.
func (a *Agent) Run(ctx context.Context, prompt string) (Result, error) {
	r, err := a.newRun()
	if err != nil {
		return Result{}, err
	}
	x := &hooks.Execution{
		Caller: hooks.Caller{AgentRole: a.Role, Agent: a}, // RunExecution gives it a RunID
		Inputs: map[string]any{InputPrompt: prompt},
	}
	return r.execute(ctx, x, func(x *hooks.Execution) error {
		prompt, ok := x.Inputs[InputPrompt].(string)
		if !ok {
			return fmt.Errorf("the input %q is %T, not text", InputPrompt, x.Inputs[InputPrompt])
		}
		r.begin(prompt)
		return nil
	})
}

// Resume goes on with a run as Save was given it, in this process or another one,
// and returns what [Agent.Run] would have. The request has passed Input and is in
// the history: the hooks there see an execution without Inputs that is Resumed.
// What had a result keeps it. The turn that isn't over fires its points once more.
func (a *Agent) Resume(ctx context.Context, s saved.Run) (Result, error) {
	r, err := a.newRun()
	if err != nil {
		return Result{}, err
	}
	if s.Model != a.ModelName {
		return Result{}, fmt.Errorf("the run was begun with the model %q and can't go on with %q", s.Model, a.ModelName)
	}
	x := &hooks.Execution{
		Caller:  hooks.Caller{RunID: s.RunID, AgentRole: a.Role, Agent: a},
		Resumed: true,
	}
	r.restore(s)
	return r.execute(ctx, x, func(*hooks.Execution) error { return nil })
}

// execute runs the loop as x, from where begin leaves it.
func (r *run) execute(ctx context.Context, x *hooks.Execution, begin func(*hooks.Execution) error) (Result, error) {
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		r.id = x.RunID
		if err := begin(x); err != nil {
			return err
		}
		answer, err := r.loop(ctx)
		x.Output = answer
		return err
	})
	if x.Status == hooks.StatusSuspended {
		if failed := r.save(); failed != nil {
			return r.result, fmt.Errorf("the run waits but can't be gone on with later: %w", failed)
		}
	}
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

	id      string          // of the execution
	number  int             // of the turn that isn't over, from 1
	offered []string        // the tools that the model was offered last
	open    []hooks.Message // of a resumed turn: the reply, and the results there are
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

func (r *run) begin(prompt string) {
	r.result, r.number = Result{}, 1
	if r.Instructions != "" {
		r.add(hooks.Message{Role: "system", Content: r.Instructions})
	}
	r.add(hooks.Message{Role: "user", Content: prompt})
}

func (r *run) loop(ctx context.Context) (string, error) {
	for r.number <= r.maxTurns {
		if err := ctx.Err(); err != nil {
			return "", err // no turn begins, and nobody is told that one does
		}
		n := r.number
		answer, done, err := r.turn(ctx, n)
		if done || err != nil {
			return answer, err
		}
		r.number = n + 1
		if err := r.save(); err != nil {
			return "", err
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
