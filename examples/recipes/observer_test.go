package recipes_test

import (
	"context"
	"fmt"
	"regexp"

	"github.com/loophooks/hooks"
)

// Hooks change, guards decide, a watch looks at what came of a call, and an
// observer is told what all of them did. When the watch gets the call, the
// document number is gone already; the observer sees what happened and by whom,
// never the payload. Neither can change anything.
func Example_observer() {
	reg := hooks.NewRegistry()
	observer := reg.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
		fmt.Printf("event: %s of %s %s", ev.Point, ev.ToolName, ev.Outcome)
		if ev.Outcome == hooks.OutcomeAborted {
			fmt.Printf(" by %s: %s", ev.AbortSource, ev.AbortReason)
		}
		fmt.Println()
	})
	defer observer.Remove() // not needed for a registry that ends with its run

	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		class, err := call.StringArg("seat_class")
		if err != nil {
			return err
		}
		if class != "tourist" {
			return hooks.Abort("only tourist class without a manager's approval")
		}
		return nil
	}, hooks.In(reg), hooks.WithName("travel-policy"), hooks.WithTools("book_ticket"))

	dni := regexp.MustCompile(`\bDNI [0-9]+(?:\.[0-9]+)*`)
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(func(text string) string { return dni.ReplaceAllString(text, "DNI ***") })
		return nil
	}, hooks.In(reg), hooks.WithFailClosed(), hooks.WithName("documents"))

	hooks.Watch(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall, _ error) {
		if call.Ran() {
			fmt.Println("journal:", call.Text())
		}
	}, hooks.In(reg), hooks.WithName("journal"))

	ctx := hooks.WithScope(context.Background(), reg)
	for _, class := range []string{"first", "tourist"} {
		call := &hooks.ToolCall{Name: "book_ticket", Input: map[string]any{"seat_class": class}}
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "Booked for Ana, DNI 30.123.456."
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println("the model reads:", call.Result)
	}
	// Output:
	// event: pre_tool_call of book_ticket aborted by travel-policy: only tourist class without a manager's approval
	// event: post_tool_call of book_ticket proceeded
	// the model reads: Tool execution blocked by hook. Tool: book_ticket. Reason: only tourist class without a manager's approval
	// event: pre_tool_call of book_ticket proceeded
	// journal: Booked for Ana, DNI ***.
	// event: post_tool_call of book_ticket modified
	// the model reads: Booked for Ana, DNI ***.
}
