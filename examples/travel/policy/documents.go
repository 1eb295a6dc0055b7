// The rule that document numbers go neither to the model nor into the answer:
// hooks that redact, and guards that refuse what still holds one.

package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/loophooks/hooks"
)

// Documents keeps document numbers from the model, from the answer and from what is
// kept of the run.
//
// Hooks redact: the request, which a user types, and tool results before they
// join the history, what the model says, in pieces too, and writes into the
// arguments of calls, messages before a model call, whoever put them there, and the
// answer. They are fail-closed, since a redaction that failed and was passed
// over would let the number through; and they run after the other hooks of the
// run, so that they see what those put in. Where text leaves for good, guards
// look once more, after every hook there is: they change nothing, they refuse.
func Documents(r *hooks.Registry) {
	opts := []hooks.Option{hooks.In(r), hooks.WithFailClosed(), hooks.WithPriority(-100), hooks.WithName("hide document numbers")}
	// A stream needn't wait for these: its own filter comes before it is shown.
	shown := append(slices.Clip(opts), hooks.AfterShown())
	hooks.OnStream(hooks.ModelStream, hideInPieces, opts...)

	hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error {
		for name, value := range x.Inputs {
			if text, ok := value.(string); ok {
				x.Inputs[name] = HideDocuments(text)
			}
		}
		return nil
	}, opts...)
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(HideDocuments)
		return nil
	}, opts...)
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.EditText(HideDocuments)
		for i := range call.Messages {
			hideInRequests(call.Messages[i].ToolCalls)
		}
		return nil
	}, opts...)
	hooks.On(hooks.PostModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.EditResponse(HideDocuments)
		hideInRequests(call.ToolCalls)
		return nil
	}, shown...)
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		text, ok := x.Output.(string)
		if !ok {
			return errors.New("the output isn't text")
		}
		x.Output = HideDocuments(text)
		return nil
	}, shown...)

	guard := []hooks.Option{hooks.In(r), hooks.WithName("no document numbers")}
	guardShown := append(slices.Clip(guard), hooks.AfterShown())

	hooks.Guard(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		if slices.ContainsFunc(call.Messages, messageHoldsDocument) {
			return hooks.Abort("a document number was about to be sent to the model")
		}
		return nil
	}, guard...)
	hooks.Guard(hooks.PostModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		if slices.ContainsFunc(call.ToolCalls, requestHoldsDocument) {
			return hooks.Abort("a document number stands in a tool call")
		}
		return nil
	}, guardShown...)
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		args, err := call.Arguments() // also of an edit that people made
		if call.ArgumentsError() == nil && (err != nil || HideInJSON(args) != args) {
			return hooks.Abort("the arguments hold a document number; leave it out")
		}
		return nil
	}, guard...)
	hooks.Guard(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		if text, ok := x.Output.(string); !ok || holdsDocument(text) {
			return hooks.Abort("a document number was about to be shown")
		}
		return nil
	}, guardShown...)
}

// hideInRequests edits the arguments of the calls that a message asks for, which
// are no text of it. Hooks have copies of them.
func hideInRequests(calls []hooks.ToolRequest) {
	for i := range calls {
		calls[i].Arguments = HideInJSON(calls[i].Arguments)
	}
}

// HoldDocument reports whether there is a document number in any of the messages.
func HoldDocument(messages []hooks.Message) bool {
	return slices.ContainsFunc(messages, messageHoldsDocument)
}

func messageHoldsDocument(m hooks.Message) bool {
	if holdsDocument(m.Text()) || holdsDocument(m.Name) || holdsDocument(m.ToolCallID) {
		return true
	}
	return slices.ContainsFunc(m.ToolCalls, requestHoldsDocument)
}

func requestHoldsDocument(c hooks.ToolRequest) bool {
	return holdsDocument(c.ID) || holdsDocument(c.Name) || HideInJSON(c.Arguments) != c.Arguments
}
