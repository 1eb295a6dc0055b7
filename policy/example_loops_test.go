package policy_test

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A model that asks for the same again and again reads that it should try something
// else, and the run ends where that doesn't help.
func ExampleLoops() {
	reg := hooks.NewRegistry() // or leave hooks.In out, for all runs of the program
	policy.Loops{Stop: 2}.Register(hooks.In(reg))
	ctx := hooks.WithScope(context.Background(), reg)

	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		for {
			call := &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": "notes.txt"}}
			err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
				call.Result = "file is empty"
				return nil
			})
			fmt.Println(call.Result)
			if err != nil {
				return err
			}
		}
	})
	fmt.Println("the run ends:", err)
	// Output:
	// file is empty
	// file is empty
	// file is empty
	// Tool execution blocked by hook. Tool: read_file. Reason: the same call gave the same result 3 times; try something else or say what is missing
	// Tool execution blocked by hook. Tool: read_file. Reason: the same call gave the same result 3 times; try something else or say what is missing
	// the run ends: hooks: pre_tool_call aborted by policy.Loops: the same call gave the same result 3 times; try something else or say what is missing
}
