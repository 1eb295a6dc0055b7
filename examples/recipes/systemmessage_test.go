package recipes_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

// systemMessage adds a system message to the ones that a history begins with,
// unless it is there already: a loop may keep what its hooks have added, and
// an append in every iteration would then grow the history with each.
func systemMessage(text string) hooks.Func[hooks.ModelCall] {
	return func(_ context.Context, m *hooks.ModelCall) error {
		if slices.ContainsFunc(m.Messages, func(msg hooks.Message) bool {
			return msg.Role == "system" && msg.Text() == text
		}) {
			return nil
		}
		at := slices.IndexFunc(m.Messages, func(msg hooks.Message) bool { return msg.Role != "system" })
		if at < 0 {
			at = len(m.Messages)
		}
		// A new list: an insertion in place moves messages in an array that a
		// framework which calls Dispatch itself may share between calls.
		m.Messages = slices.Concat(m.Messages[:at], []hooks.Message{{Role: "system", Content: text}}, m.Messages[at:])
		return nil
	}
}

// A rule is added to the history once, and not once per iteration. A hint for
// one call only is appended, and must not be kept by the loop.
func Example_systemMessage() {
	reg := hooks.NewRegistry()
	hooks.On(hooks.PreModelCall, systemMessage("Cite your sources."), hooks.In(reg))
	ctx := hooks.WithScope(context.Background(), reg)

	history := []hooks.Message{
		{Role: "system", Content: "You plan journeys."},
		{Role: "user", Content: "How do I get to Oslo?"},
	}
	for i := range 3 {
		m := &hooks.ModelCall{Iterations: i, Messages: history}
		err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.Response = fmt.Sprintf("Thought %d.", i+1)
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		// This loop takes over what the hooks made of the history.
		history = append(m.Messages, hooks.Message{Role: "assistant", Content: m.Response})
	}
	for _, msg := range history {
		fmt.Printf("%s: %s\n", msg.Role, msg.Text())
	}
	// Output:
	// system: You plan journeys.
	// system: Cite your sources.
	// user: How do I get to Oslo?
	// assistant: Thought 1.
	// assistant: Thought 2.
	// assistant: Thought 3.
}
