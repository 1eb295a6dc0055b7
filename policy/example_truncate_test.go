package policy_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A long log is cut before the model reads it. Its end stays, where the failures are,
// and the whole of it is kept where the model can ask for it.
func ExampleTruncate() {
	logs := make(map[string]string)
	reg := hooks.NewRegistry()
	policy.Truncate{Max: 256, Tail: 0.5, Spill: func(_ context.Context, call *hooks.ToolCall, full string) (string, error) {
		where := "logs/" + call.ID
		logs[where] = full
		return where, nil
	}}.Register(hooks.In(reg))

	ctx := hooks.WithScope(context.Background(), reg)
	call := &hooks.ToolCall{ID: "42", Name: "run_tests"}
	err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "running 400 tests\n" + strings.Repeat("ok\n", 399) + "FAIL: TestPay"
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(strings.ReplaceAll(call.Result, "ok\n", ""))
	fmt.Println(len(call.Result), len(logs["logs/42"]))
	// Output:
	// running 400 tests
	// [1039 of 1228 bytes left out; ask for a part; all of it: logs/42]
	// FAIL: TestPay
	// 256 1228
}
