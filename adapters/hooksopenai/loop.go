package hooksopenai

// A small complete agent loop on the seams of package hooks.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openai/openai-go/v3"

	"github.com/loophooks/hooks"
)

// Loop is a small complete agent loop: it sends the conversation, runs the tools that
// the model asks for beside each other, and goes on until the model answers. Hooks run
// at all points, steps included: a turn is a step of the kind hooks.StepTurn, and what
// the pre hooks leave of the Messages in its *hooks.Turn is the history from then on.
//
// The fields must not be changed while a run is at it. Runs with States of their own
// may run at the same time.
type Loop struct {
	Client openai.Client
	Model  string
	System string // the system message of a new conversation; none if it is empty
	Tools  []Tool
	// MaxTurns is how many model calls a run may make; 20 if it is 0 or less. A run
	// that was suspended goes on counting.
	MaxTurns int
	// Parallel is how many tools of a turn run at the same time; 8 if it is 0 or less.
	Parallel int
	// OnText is shown what the model says as it comes, texts beside tool calls and
	// refusals included, in the goroutine of Run and as filters and guards let it
	// through. Where a hook has yet to decide on a turn or on the answer
	// (hooks.Guarded, of PostStep, Output and ExecutionEnd), it is given each text as
	// a whole when that has passed. An answer that a hook gives in the place of the
	// model isn't streamed: Run returns it. If OnText is nil, answers aren't streamed.
	OnText func(string)

	// Role says who calls, for hooks that are filtered by agent. Of an empty one the
	// Caller of ctx counts, which in a tool is the outer agent.
	Role string
	// Params is what else is sent with each request, such as the temperature. Its
	// Messages, Model and Tools must be unset: they are the loop's.
	Params openai.ChatCompletionNewParams
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      map[string]any // the JSON Schema of its arguments; none if it is nil
	// Run runs call.Input and sets call.Result to what the model reads, or call.Parts
	// for more than text; of these the model is sent those of the kinds text and
	// structured. An error is the model's to read too, and doesn't end the run, unless
	// it says that the run waits (hooks.PassThrough, or that of a loop inside). Run may
	// be called from several goroutines at once, and again for one call where hooks
	// around it say so.
	//
	// Keys of the input are compared with case. A Run that decodes it into a struct
	// should refuse unknown fields: encoding/json reads "Path" into a field named path,
	// which no guard has looked at.
	Run func(ctx context.Context, call *hooks.ToolCall) error

	// Custom makes it a custom tool, for which the model writes free text in place of
	// arguments: call.Input["input"]. Format limits that text; Schema isn't used.
	Custom bool
	Format openai.ChatCompletionCustomToolCustomFormatUnionParam
}

// TurnLimitError says that the model went on asking for tools.
type TurnLimitError struct{ Turns int }

// Error says how many turns there were.
func (e *TurnLimitError) Error() string {
	return fmt.Sprintf("hooksopenai: no answer after %d turns", e.Turns)
}

// InputPrompt is the key of the prompt in the Inputs of an execution.
const InputPrompt = "prompt"

// Run adds prompt to the conversation of st and answers it. It returns the text that
// hooks have left of the answer.
//
// It fails with an error in which errors.AsType finds
//
//   - a *hooks.Suspended, where the run waits: save st, and call [Loop.Resume] once it
//     can go on;
//   - the *hooks.HookAborted of a hook that has ended the run;
//   - a [*TurnLimitError]; the error of the SDK; that of ctx.
//
// A State can be used for the next prompt afterwards, also after a failure: each tool
// call in it has its result. Run fails at once for a nil State, one whose run waits, and
// a Loop that can't work, such as one with two tools of one name.
func (l *Loop) Run(ctx context.Context, st *State, prompt string) (string, error) {
	r, err := l.start()
	if err != nil {
		return "", err
	}
	if err := st.begin(); err != nil {
		return "", err
	}
	st.Prompt = &prompt
	return r.execute(ctx, st, false)
}

// Resume goes on with the run of st, which was suspended, in this process or another
// one, and returns what [Loop.Run] would have. Calls that have a result aren't made
// again; those that wait are, under their IDs and on the arguments that the model wrote,
// and all their hooks run. The model isn't asked in between. The Execution has Resumed
// set and the RunID that it had, and no Inputs once the prompt has passed its hooks; the
// turn that isn't over fires its points again. A run that a hook has suspended at
// PostModelCall asks the model again.
//
// The Loop must be like the one that began the run; a tool that there isn't any more is
// an unknown one. Resume fails as Run does, with a *hooks.Suspended again where the run
// still waits, and at once for a State of which no run waits.
func (l *Loop) Resume(ctx context.Context, st *State) (string, error) {
	r, err := l.start()
	if err != nil {
		return "", err
	}
	if err := st.resumable(); err != nil {
		return "", err
	}
	return r.execute(ctx, st, true)
}

const (
	defaultTurns    = 20
	defaultParallel = 8
)

// start checks the loop.
func (l *Loop) start() (*run, error) {
	if l.Model == "" {
		return nil, errors.New("hooksopenai: the Loop has no Model")
	}
	if len(l.Params.Messages) > 0 || l.Params.Model != "" || len(l.Params.Tools) > 0 {
		return nil, errors.New("hooksopenai: the Params of a Loop have Messages, a Model or Tools, which are the loop's; set System, Model and Tools of the Loop")
	}
	r := &run{Loop: l, tools: make(map[string]*Tool, len(l.Tools)), maxTurns: l.MaxTurns, parallel: l.Parallel}
	if r.maxTurns <= 0 {
		r.maxTurns = defaultTurns
	}
	if r.parallel <= 0 {
		r.parallel = defaultParallel
	}
	p := l.Params
	p.Model = l.Model
	for i := range l.Tools {
		t := &l.Tools[i]
		switch {
		case t.Name == "" || t.Run == nil:
			return nil, fmt.Errorf("hooksopenai: tool %d (%q) has no Name or no Run", i, t.Name)
		case r.tools[t.Name] != nil:
			return nil, fmt.Errorf("hooksopenai: two tools are named %q", t.Name)
		}
		r.tools[t.Name] = t
		p.Tools = append(p.Tools, t.param())
	}
	var err error
	r.request, err = newRequest(p)
	return r, err
}

// param is the tool as it is offered.
func (t *Tool) param() openai.ChatCompletionToolUnionParam {
	if t.Custom {
		return openai.ChatCompletionCustomTool(openai.ChatCompletionCustomToolCustomParam{
			Name: t.Name, Description: optional(t.Description), Format: t.Format,
		})
	}
	function := openai.FunctionDefinitionParam{Name: t.Name, Description: optional(t.Description)}
	if t.Schema != nil {
		function.Parameters = t.Schema
	}
	return openai.ChatCompletionFunctionTool(function)
}

// run is one run of a loop.
type run struct {
	*Loop
	tools    map[string]*Tool
	request  *request
	maxTurns int
	parallel int

	st      *State
	history []hooks.Message // without the turn that isn't over
	open    []hooks.Message // of that turn, where it is resumed: the reply, and the results there are
	agents  agents
	held    bool // the answer is shown when the run is over
}

// execute runs the loop from where st is.
func (r *run) execute(ctx context.Context, st *State, resumed bool) (text string, err error) {
	r.st = st
	r.agents.states = agentsOf(st)
	began := *st // the execution may run again
	x := &hooks.Execution{Caller: hooks.Caller{AgentRole: r.Role, Agent: r.Loop}, Resumed: resumed}
	if resumed {
		x.RunID = st.RunID
	}
	if st.Prompt != nil {
		x.Inputs = map[string]any{InputPrompt: *st.Prompt}
	}
	r.restore(&began)
	defer func() {
		if failed := r.save(); err == nil {
			err = failed
		}
	}()
	err = hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		r.restore(&began)
		st.RunID = x.RunID
		if began.Prompt != nil {
			prompt, ok := x.Inputs[InputPrompt].(string)
			if !ok {
				return fmt.Errorf("hooksopenai: the input %q is %T, not text", InputPrompt, x.Inputs[InputPrompt])
			}
			r.begin(prompt)
		}
		answer, err := r.loop(context.WithValue(ctx, agentsKey{}, &r.agents))
		x.Output = answer
		return err
	})
	st.RunID = x.RunID
	st.Waiting = x.Status == hooks.StatusSuspended
	switch prompt, isText := x.Inputs[InputPrompt].(string); {
	case !st.Waiting:
		st.Prompt = nil
	case st.Prompt != nil && isText: // as far as hooks have come with it
		st.Prompt = &prompt
	}
	if err != nil {
		return "", err
	}
	answer, ok := x.Output.(string)
	if !ok {
		return "", fmt.Errorf("hooksopenai: the output is %T, not text", x.Output)
	}
	if r.held && r.OnText != nil && answer != "" {
		r.OnText(answer)
	}
	return answer, nil
}

// restore puts the run where st is.
func (r *run) restore(st *State) {
	history := portable(st.Messages)
	at := len(history)
	if st.Waiting && st.Prompt == nil { // else the history ends with the run before
		at -= openTurn(history)
	}
	r.history, r.open, r.held = history[:at:at], history[at:], false
	r.st.Turn, r.st.Offered, r.st.Prompt = st.Turn, slices.Clone(st.Offered), st.Prompt
}

// save puts the run into its State.
func (r *run) save() error {
	messages, err := natives(slices.Concat(r.history, r.open))
	if err != nil {
		return err
	}
	r.st.Messages, r.st.Agents = messages, nil
	if r.st.Waiting {
		r.st.Agents = r.agents.waiting()
	} else {
		r.st.Offered = nil
	}
	return nil
}

// begin adds the prompt.
func (r *run) begin(prompt string) {
	if r.System != "" && len(r.history) == 0 {
		r.add(Message(openai.SystemMessage(r.System)))
	}
	r.add(Message(openai.UserMessage(prompt)))
	r.st.Prompt = nil
}

func (r *run) add(m hooks.Message) { r.history = append(r.history, m) }

func (r *run) loop(ctx context.Context) (string, error) {
	for r.st.Turn < r.maxTurns {
		if err := ctx.Err(); err != nil {
			return "", err // no turn begins, and nobody is told that one does
		}
		answer, done, err := r.turn(ctx)
		if done || err != nil {
			return answer, err
		}
	}
	return "", &TurnLimitError{Turns: r.maxTurns}
}
