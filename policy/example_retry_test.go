package policy_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A model call is made again while the provider is busy, and so is that of a tool
// which only reads. The tool marks what may pass, and says when; what another
// returns as an error is final.
func ExampleRetry() {
	reg := hooks.NewRegistry()
	policy.Retry{}.Register(hooks.In(reg))
	policy.Retry{Max: 5, Tools: []string{"search"}}.Register(hooks.In(reg))

	ctx := hooks.WithScope(context.Background(), reg)
	call := &hooks.ToolCall{Name: "search", Input: map[string]any{"q": "trains"}}
	attempts := 0
	err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		if attempts++; attempts < 3 {
			return policy.Temporary(errors.New("the search is busy"), time.Millisecond)
		}
		call.Result = fmt.Sprint("found ", call.Input["q"])
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(call.Result, "at attempt", attempts)
	// Output:
	// found trains at attempt 3
}
