package hooks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// trimHistory returns the messages that fit into a budget of tokens: the
// system messages and the first message of the user, without which the model
// doesn't know what it is about, and as many of the newest as there is room
// for. A call and its results stay or go together, since every provider
// rejects one without the other. The newest exchange stays even if it alone is
// too long: what is left without it has no question to answer.
func trimHistory(messages []hooks.Message, budget int, tokens func(hooks.Message) int) []hooks.Message {
	head := 0
	for head < len(messages) && messages[head].Role == "system" {
		head++
	}
	if head < len(messages) && messages[head].Role == "user" {
		head++
	}
	for _, msg := range messages[:head] {
		budget -= tokens(msg)
	}
	tail := len(messages)
	for tail > head {
		// An exchange begins before the results of its calls.
		begin := tail - 1
		for begin > head && isToolResult(messages[begin]) {
			begin--
		}
		for _, msg := range messages[begin:tail] {
			budget -= tokens(msg)
		}
		if budget < 0 && tail < len(messages) {
			break
		}
		tail = begin
	}
	if tail == head {
		return messages
	}
	// A new list: a deletion in place would move messages in an array that
	// may be shared with another call.
	return slices.Concat(messages[:head], messages[tail:])
}

func isToolResult(msg hooks.Message) bool { return msg.Role == "tool" || msg.ToolCallID != "" }

// countTokens counts words, for want of the model's tokenizer. What a message
// costs is more than its content: parts and the arguments of calls count too.
func countTokens(msg hooks.Message) int {
	n := len(strings.Fields(msg.Text()))
	for _, request := range msg.ToolCalls {
		n += len(strings.Fields(request.Name + " " + request.Arguments))
	}
	return n
}

// The history is trimmed to a budget for each model call. The loop keeps all
// of it. The priority puts the hook behind those that add messages. There would
// be room for the times of the trains here, but not for the call that they
// answer.
func Example_history() {
	reg := hooks.NewRegistry()
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.Messages = trimHistory(m.Messages, 25, countTokens)
		return nil
	}, hooks.In(reg), hooks.WithPriority(-100))

	ctx := hooks.WithScope(context.Background(), reg)
	history := []hooks.Message{
		{Role: "system", Content: "You plan journeys."},
		{Role: "user", Content: "Find me a train and a hotel."},
		{Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "find_trains", Arguments: `{}`}}},
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
	// system: You plan journeys. []
	// user: Find me a train and a hotel. []
	// assistant: Now the hotels. [{2 find_hotels {"stars":2}} {3 find_hotels {"stars":3}}]
	// tool: Sleep Inn []
	// tool: Grand Hotel []
	// 7 messages in the history
}
