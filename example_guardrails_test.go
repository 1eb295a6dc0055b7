package hooks_test

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
)

// Tools that destroy something are refused by name and by pattern. The model
// reads the reason, and what to do instead.
func Example_guardrails() {
	reg := hooks.NewRegistry()

	// A filter and not a list that the hook compares with: to a comparison
	// "Delete File" is another tool than "delete_file", and it knows none of
	// the tools that a server will offer tomorrow.
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("it can't be undone; archive instead")
	}, hooks.In(reg), hooks.WithName("safety"),
		hooks.WithTools("delete_file", "remove_user", "system_shutdown", "*drop_table", "mcp__*__delete_*"))

	// What is sensitive but allowed is noted afterwards, when it is known to
	// have run: at the pre point there are also calls that a guard refuses.
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall, _ error) {
		if call.Ran() {
			fmt.Println("sensitive:", call.Name)
		}
	}, hooks.In(reg), hooks.WithTools("send_email", "charge_payment"))

	ctx := hooks.WithScope(context.Background(), reg)
	for _, name := range []string{"read_file", "Delete File", "mcp__crm__delete_contact", "send_email"} {
		call := &hooks.ToolCall{Name: name}
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = call.Name + " done"
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(call.Result)
	}
	// Output:
	// read_file done
	// Tool execution blocked by hook. Tool: Delete File. Reason: it can't be undone; archive instead
	// Tool execution blocked by hook. Tool: mcp__crm__delete_contact. Reason: it can't be undone; archive instead
	// sensitive: send_email
	// send_email done
}
