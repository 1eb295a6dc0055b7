package recipes_test

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
)

// A policy on the arguments of a tool: employees travel in tourist class. The
// guard was registered first and still sees what the last hook left.
func Example_policy() {
	reg := hooks.NewRegistry()

	// What is allowed is listed, not what is forbidden: "First" and "1st" would
	// pass a test for "first". A class that isn't there or isn't text is none.
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if class, err := call.StringArg("seat_class"); err == nil && class == "tourist" {
			return nil
		}
		return &hooks.HookAborted{
			Reason:  "seat class is not tourist",
			Message: "Refused by policy: other classes need a manager's approval. Book tourist instead.",
		}
	}, hooks.In(reg), hooks.WithName("travel-policy"), hooks.WithTools("book_ticket"))

	// A hook of another package, registered later, upgrades long journeys.
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		km, err := call.NumberArg("km") // a float64 or a json.Number, as the model wrote it
		if err != nil {
			return err
		}
		if km > 500 {
			call.Input["seat_class"] = "first"
		}
		return nil
	}, hooks.In(reg), hooks.WithTools("book_ticket"))

	ctx := hooks.WithScope(context.Background(), reg)
	for _, arguments := range []string{
		`{"seat_class":"tourist","km":400}`,
		`{"seat_class":"FIRST","km":400}`,
		`{"seat_class":"tourist","km":800}`,
	} {
		call := &hooks.ToolCall{Name: "book_ticket"}
		// Arguments that can't be read leave the call without input, and the
		// model reads what is wrong with them. Blank ones mean {}.
		_ = call.SetArguments(arguments)
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = fmt.Sprintf("Booked in %s class.", call.Input["seat_class"])
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(call.Result)
	}
	// Output:
	// Booked in tourist class.
	// Refused by policy: other classes need a manager's approval. Book tourist instead.
	// Refused by policy: other classes need a manager's approval. Book tourist instead.
}
