package hooks

// The hooks of a loop as one object. Its functions stop the run where they
// fail; how a hook's stopRun is obeyed is in failure.go.

import (
	"context"
	"slices"
)

// LoopHooks are the hooks of a loop as one object: five functions, each of
// which may be nil, that [LoopHooks.Register] puts on the same chains as [On].
// They may run in several goroutines at once.
//
// A function that returns an error stops the run: its error, its panic or an
// expired [WithTimeout] becomes a [*HookAborted], with StopRun at the two tool
// points, Err as the cause and a Reason that holds nothing of its text. A
// HookAborted that a function returns keeps its reason, and stops the run too.
// To refuse one tool call and go on, return a [Gate]. What a function returns
// beside an error is not used.
type LoopHooks struct {
	// BeforeTurn runs at [PreStep] of a [StepTurn] whose Input is a [*Turn],
	// with its Number and Messages. Other steps are passed over.
	BeforeTurn func(ctx context.Context, turn int, messages []Message) error

	// BeforeProviderCall runs at [PreModelCall] and returns the messages to
	// send. A nil slice keeps those that it was given; an empty one that isn't
	// nil replaces them.
	BeforeProviderCall func(ctx context.Context, messages []Message) ([]Message, error)

	// BeforeToolExecution runs at [PreToolCall] and decides about the call.
	// Changes that it makes in input are what the tool gets.
	BeforeToolExecution func(ctx context.Context, name string, input map[string]any) (Gate, error)

	// AfterToolExecution runs at [PostToolCall] and returns the text that the
	// model reads. It gets what the model would read without it: the text of
	// Result and Parts, of a blocked and of a failed call too, so that what it
	// redacts is redacted everywhere. Parts are kept if it returns that same
	// text and dropped if not. It is passed over where there is no result, as
	// of a call that was interrupted.
	AfterToolExecution func(ctx context.Context, name, output string) (string, error)

	// AfterTurn runs at [PostStep] of a [StepTurn] whose Input is a [*Turn],
	// with its Number and Reply. A turn that failed has no reply and is passed
	// over.
	AfterTurn func(ctx context.Context, turn int, reply Message) error
}

// Gate is the decision of a BeforeToolExecution. The zero Gate refuses.
type Gate struct {
	// Authorize lets the call go on. A refused call doesn't run, and the model
	// reads Result as an error, or "Rejected by policy." where Result is nil
	// or empty; the run goes on.
	Authorize bool

	// Result, of an authorised call, is the result that the model reads instead
	// of running the tool, as by [ToolCall.Answer].
	Result *string
}

// LoopRegistration is the handle of the registered functions of a
// [LoopHooks].
//
// Deprecated: use [Group].
type LoopRegistration = Group

// Register registers the functions of h that aren't nil and returns the handle
// that removes them all. Every function is fail-closed and gets all options;
// [WithTools] concerns the two tool points and is left out at the others.
// Register panics as [On] does when the options contradict each other. It is safe for
// concurrent use; later changes of h have no effect.
func (h LoopHooks) Register(opts ...Option) *Group {
	pc := callerPC()
	elsewhere := moreOptions(opts, WithFailClosed(), option(func(c *config) { c.tools, c.hasTools = nil, false }))
	stopping := moreOptions(opts, WithFailClosed(), option(func(c *config) { c.stopRun = true }))
	r := new(Group)
	add := func(reg *Registration) { r.parts = append(r.parts, reg) }
	if h.BeforeTurn != nil {
		add(register(PreStep, beforeTurn(h.BeforeTurn), pc, elsewhere))
	}
	if h.BeforeProviderCall != nil {
		add(register(PreModelCall, beforeProviderCall(h.BeforeProviderCall), pc, elsewhere))
	}
	if h.BeforeToolExecution != nil {
		add(register(PreToolCall, beforeToolExecution(h.BeforeToolExecution), pc, stopping))
	}
	if h.AfterToolExecution != nil {
		add(register(PostToolCall, afterToolExecution(h.AfterToolExecution), pc, stopping))
	}
	if h.AfterTurn != nil {
		add(register(PostStep, afterTurn(h.AfterTurn), pc, elsewhere))
	}
	return r
}

func moreOptions(opts []Option, more ...Option) []Option {
	return append(slices.Clip(opts), more...)
}

func beforeTurn(fn func(context.Context, int, []Message) error) Func[Step] {
	return func(ctx context.Context, s *Step) error {
		if turn := turnOf(s); turn != nil {
			return fn(ctx, turn.Number, turn.Messages)
		}
		return nil
	}
}

func afterTurn(fn func(context.Context, int, Message) error) Func[Step] {
	return func(ctx context.Context, s *Step) error {
		if turn := turnOf(s); turn != nil && s.Err == nil {
			return fn(ctx, turn.Number, turn.Reply)
		}
		return nil
	}
}

// turnOf returns the turn that s is, nil if it is something else.
func turnOf(s *Step) *Turn {
	if s.Kind != StepTurn {
		return nil
	}
	turn, _ := s.Input.(*Turn)
	return turn
}

func beforeProviderCall(fn func(context.Context, []Message) ([]Message, error)) Func[ModelCall] {
	return func(ctx context.Context, call *ModelCall) error {
		messages, err := fn(ctx, call.Messages)
		if err == nil && messages != nil {
			call.Messages = messages
		}
		return err
	}
}

func beforeToolExecution(fn func(context.Context, string, map[string]any) (Gate, error)) Func[ToolCall] {
	return func(ctx context.Context, call *ToolCall) error {
		gate, err := fn(ctx, call.Name, call.Input)
		switch {
		case err != nil:
			return err
		case !gate.Authorize:
			text := "Rejected by policy."
			if gate.Result != nil && *gate.Result != "" {
				text = *gate.Result
			}
			return refusal{&HookAborted{Reason: text, Message: text}}
		case gate.Result != nil:
			call.Answer(*gate.Result)
		}
		return nil
	}
}

// refusal marks the abort that a Gate asks for, which isn't a failure: the run
// goes on.
type refusal struct{ *HookAborted }

func afterToolExecution(fn func(context.Context, string, string) (string, error)) Func[ToolCall] {
	return func(ctx context.Context, call *ToolCall) error {
		if call.Err != nil && call.Result == "" && len(call.Parts) == 0 {
			return nil
		}
		text, err := fn(ctx, call.Name, call.Text())
		if err == nil {
			call.replaceText(text)
		}
		return err
	}
}
