// The rule that document numbers go neither to the model nor into the answer:
// hooks that redact, and guards that refuse what still holds one.

package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/loophooks/hooks"
)

// Documents keeps document numbers from the model and from the answer.
//
// Hooks redact: tool results before they join the history, messages before a
// model call (the user may have typed a number), what the model says, and the
// answer. They are fail-closed, since a redaction that failed and was passed
// over would let the number through; and they run after the other hooks of the
// run, so that they see what those put in. Where text leaves for good, guards
// look once more, after every hook there is: they change nothing, they refuse.
func Documents(r *hooks.Registry) {
	opts := []hooks.Option{hooks.In(r), hooks.WithFailClosed(), hooks.WithPriority(-100), hooks.WithName("hide document numbers")}

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
		return nil
	}, opts...)
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		text, ok := x.Output.(string)
		if !ok {
			return errors.New("the output isn't text")
		}
		x.Output = HideDocuments(text)
		return nil
	}, opts...)

	guard := []hooks.Option{hooks.In(r), hooks.WithName("no document numbers")}

	hooks.Guard(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		if slices.ContainsFunc(call.Messages, messageHoldsDocument) {
			return hooks.Abort("a document number was about to be sent to the model")
		}
		return nil
	}, guard...)
	hooks.Guard(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		if text, ok := x.Output.(string); !ok || holdsDocument(text) {
			return hooks.Abort("a document number was about to be shown")
		}
		return nil
	}, guard...)
}

// hideInRequests edits the arguments of the calls that a message asks for, which
// are no text of it. A model call has copies of them.
func hideInRequests(calls []hooks.ToolRequest) {
	for i := range calls {
		calls[i].Arguments = HideInJSON(calls[i].Arguments)
	}
}

func messageHoldsDocument(m hooks.Message) bool {
	if holdsDocument(m.Text()) || holdsDocument(m.Name) || holdsDocument(m.ToolCallID) {
		return true
	}
	return slices.ContainsFunc(m.ToolCalls, func(c hooks.ToolRequest) bool {
		return holdsDocument(c.ID) || holdsDocument(c.Name) || HideInJSON(c.Arguments) != c.Arguments
	})
}
