package recipes_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
)

// ownHooks gives a test a registry of its own and a ctx under which it is
// active. Nothing has to be cleared and nothing leaks into other tests, which
// may run in parallel:
//
//	func TestGuard(t *testing.T) {
//		t.Parallel()
//		ctx, reg := ownHooks(t)
//		hooks.On(hooks.PreToolCall, guard, hooks.In(reg))
//		…
//	}
func ownHooks(tb testing.TB) (context.Context, *hooks.Registry) {
	tb.Helper()
	reg := hooks.NewRegistry()
	return hooks.WithScope(tb.Context(), reg), reg
}

// clearedHooks is for tests of code that registers in the default registry. It
// belongs to the process: such tests can't run in parallel, and they clear it
// afterwards too, also if they fail.
func clearedHooks(tb testing.TB) {
	tb.Helper()
	hooks.ClearAll()
	tb.Cleanup(func() { hooks.ClearAll() })
}

// Two tests at the same time, each with hooks of its own at the same point.
func Example_testing() {
	test := func(reason string) (result string) {
		reg := hooks.NewRegistry() // ctx, reg := ownHooks(t) in a test
		ctx := hooks.WithScope(context.Background(), reg)
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			return hooks.Abort(reason)
		}, hooks.In(reg), hooks.AsGuard())

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
