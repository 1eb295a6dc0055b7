package hooks_test

// Deciding, looking, and taking out again what was registered together.

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
)

// A guard sees what hooks made of the call, wherever it was registered.
func ExampleGuard() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		class, err := call.StringArg("class")
		if err != nil {
			return err // a guard that fails refuses the call
		}
		if class != "tourist" {
			return hooks.Abort("only tourist class; ask a manager for more")
		}
		return nil
	}, hooks.WithTools("book_ticket"), hooks.WithName("class"), hooks.In(r))
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if _, given := call.Input["class"]; !given {
			call.Input["class"] = "tourist"
		}
		return nil
	}, hooks.In(r))

	ctx := hooks.WithScope(context.Background(), r)
	for _, arguments := range []string{`{}`, `{"class":"first"}`, `{"class":1}`} {
		call := &hooks.ToolCall{Name: "book_ticket"}
		_ = call.SetArguments(arguments)
		_ = hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "booked " + call.Input["class"].(string)
			return nil
		})
		fmt.Println(call.Result)
	}
	// Output:
	// booked tourist
	// Tool execution blocked by hook. Tool: book_ticket. Reason: only tourist class; ask a manager for more
	// Tool execution blocked by hook. Tool: book_ticket. Reason: class failed
}

// A watch sees what the model reads, also where a guard behind all hooks has
// withheld the result.
func ExampleWatch() {
	r := hooks.NewRegistry()
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall, err error) {
		fmt.Println("audit:", call.Result)
		fmt.Println("because:", err)
	}, hooks.In(r))
	hooks.Guard(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if call.Result == "password=hunter2" {
			return hooks.Abort("it holds a password")
		}
		return nil
	}, hooks.WithName("leak check"), hooks.In(r))

	call := &hooks.ToolCall{Name: "read_config"}
	_ = hooks.RunTool(hooks.WithScope(context.Background(), r), call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "password=hunter2"
		return nil
	})
	// Output:
	// audit: Tool result withheld by hook. Tool: read_config. Reason: it holds a password
	// because: hooks: post_tool_call aborted by leak check: it holds a password
}

func ExampleJoin() {
	r := hooks.NewRegistry()
	policy := hooks.Join(
		hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			return hooks.Abort("not on Sundays")
		}, hooks.In(r)),
		r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
			fmt.Println(ev.Point, ev.Outcome)
		}),
	)

	ctx := hooks.WithScope(context.Background(), r)
	fmt.Println(runTool(ctx, "send_mail").Ran())
	fmt.Println(policy.Remove(), policy.Remove())
	fmt.Println(runTool(ctx, "send_mail").Ran())
	// Output:
	// pre_tool_call aborted
	// false
	// true false
	// true
}

func ExampleMatchTool() {
	for _, entry := range []string{"delete_file", "delete_*", "github*"} {
		for _, name := range []string{"Delete File", "deleteFile", "DELETE-ALL", "GitHub/delete"} {
			if hooks.MatchTool(entry, name) {
				fmt.Printf("%s covers %s\n", entry, name)
			}
		}
	}
	// Output:
	// delete_file covers Delete File
	// delete_file covers deleteFile
	// delete_* covers Delete File
	// delete_* covers deleteFile
	// delete_* covers DELETE-ALL
	// github* covers GitHub/delete
}
