package policy_test

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A run that may read, and nothing else. The model is offered what it may use, and a
// call of something else, which it remembers or makes up, is refused.
func ExampleTools() {
	reg := hooks.NewRegistry()
	policy.Tools{
		Allow: []string{"read_*", "list_*"},
		Deny:  []string{"read_mail"},
	}.Register(hooks.In(reg))
	ctx := hooks.WithScope(context.Background(), reg)

	m := &hooks.ModelCall{Tools: []string{"read_file", "read_mail", "list_dir", "delete_file"}}
	err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		fmt.Println("offered:", m.Tools)
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	for _, name := range []string{"readFile", "Delete File"} {
		call := &hooks.ToolCall{Name: name}
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "done"
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(call.Result)
	}
	// Output:
	// offered: [read_file list_dir]
	// done
	// Tool execution blocked by hook. Tool: Delete File. Reason: this tool isn't available in this run; use one of those offered
}
