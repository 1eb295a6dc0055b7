package policy_test

import (
	"context"
	"fmt"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A limit for each of two tools. Another spelling is the same tool, and the model
// reads when to try again.
func ExampleRate() {
	reg := hooks.NewRegistry() // or leave hooks.In out, for all runs of the program
	policy.Rate{Limit: 3, Per: time.Minute}.Register(hooks.In(reg), hooks.WithTools("web_search", "send_email"))
	ctx := hooks.WithScope(context.Background(), reg)

	for _, name := range []string{"web_search", "Web Search", "send_email", "web_search", "web_search"} {
		call := &hooks.ToolCall{Name: name}
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "ok"
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(call.Result)
	}
	// Output:
	// ok
	// ok
	// ok
	// ok
	// Tool execution blocked by hook. Tool: web_search. Reason: no more than 3 calls in 1m0s; try again in 20s
}
