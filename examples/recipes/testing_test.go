package recipes_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
)

// clearedHooks is for tests of code that registers in the default registry. It
// belongs to the process: such tests can't run in parallel, and they clear it
// afterwards too, also if they fail.
func clearedHooks(tb testing.TB) {
	tb.Helper()
	hooks.ClearAll()
	tb.Cleanup(func() { hooks.ClearAll() })
}

// Two tests at the same time, each with hooks of its own at the same point. In a
// test the registry and the ctx come from package hookstest, which also records
// what fired, and answers for a person:
//
//	func TestGuard_deletes(t *testing.T) {
//		t.Parallel()
//		reg := hookstest.Registry(t)
//		hooks.Guard(hooks.PreToolCall, noDeletes, hooks.In(reg))
//		rec := hookstest.Record(reg)
//		call := &hooks.ToolCall{Name: "delete_file"}
//		err := hooks.RunTool(hookstest.Context(t, reg), call, body)
//		…
//		rec.Want(t, "pre_tool_call delete_file", "post_tool_call delete_file blocked")
//	}
func Example_testing() {
	test := func(reason string) (result string) {
		reg := hooks.NewRegistry() // hookstest.Registry(t) in a test
		ctx := hooks.WithScope(context.Background(), reg)
		hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			return hooks.Abort(reason)
		}, hooks.In(reg))

		call := &hooks.ToolCall{Name: "delete_file"}
		err := hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil })
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(call.Blocked.Reason, ", ran: ", call.Ran())
	}
	var one, other string
	var wg sync.WaitGroup
	wg.Go(func() { one = test("the first guard") })
	wg.Go(func() { other = test("the second guard") })
	wg.Wait()
	fmt.Println(one)
	fmt.Println(other)
	// Output:
	// the first guard, ran: false
	// the second guard, ran: false
}
