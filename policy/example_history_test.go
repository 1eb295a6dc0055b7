package policy_test

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// The history is kept within a number of tokens for each model call, and the loop keeps
// all of it. A call and its results go together. What the model has to know to the end
// is in the system message.
func ExampleHistory() {
	reg := hooks.NewRegistry()
	policy.History{Tokens: 80, Keep: 3}.Register(hooks.In(reg))

	ctx := hooks.WithScope(context.Background(), reg)
	history := []hooks.Message{
		{Role: "system", Content: "You find a train and a hotel."},
		{Role: "user", Content: "To Bergen, please."},
		{Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "find_trains", Arguments: `{"to":"Bergen"}`}}},
		{Role: "tool", ToolCallID: "1", Content: "08:15 and 10:15"},
		{Role: "assistant", Content: "Now the hotels.", ToolCalls: []hooks.ToolRequest{
			{ID: "2", Name: "find_hotels", Arguments: `{"stars":2}`},
			{ID: "3", Name: "find_hotels", Arguments: `{"stars":3}`},
		}},
		{Role: "tool", ToolCallID: "2", Content: "Sleep Inn"},
		{Role: "tool", ToolCallID: "3", Content: "Grand Hotel"},
	}
	m := &hooks.ModelCall{Messages: history}
	err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		for _, msg := range m.Messages {
			fmt.Printf("%s: %s %v\n", msg.Role, msg.Text(), msg.ToolCalls)
		}
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(len(history), "messages in the history")
	// Output:
	// system: You find a train and a hotel. []
	// system: Earlier messages of this conversation are left out here. []
	// assistant: Now the hotels. [{2 find_hotels {"stars":2}} {3 find_hotels {"stars":3}}]
	// tool: Sleep Inn []
	// tool: Grand Hotel []
	// 7 messages in the history
}
