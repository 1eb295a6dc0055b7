package policy_test

import (
	"context"
	"fmt"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A tool that hangs costs the run a moment and not the whole day. The model reads
// that what the tool began may have happened.
func ExampleTimeout() {
	reg := hooks.NewRegistry()
	policy.Timeout{After: 10 * time.Millisecond, Tools: []string{"*"}}.Register(hooks.In(reg))

	ctx := hooks.WithScope(context.Background(), reg)
	call := &hooks.ToolCall{Name: "book_train"}
	err := hooks.RunTool(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error {
		<-ctx.Done() // as a request does that was given the ctx
		return ctx.Err()
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(call.Result)
	// Output:
	// the tool took more than 10ms and was cancelled; what it began may have happened
}
