package hooks_test

// What lasts as long as a run: variables of an execution, and the end of what a
// Begin form has begun.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// A sub-agent has a count of its own, and nothing has to be cleared.
func ExampleRunVar() {
	r := hooks.NewRegistry()
	var searches hooks.RunVar[atomic.Int32]
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		if n, ok := searches.Of(ctx); ok && n.Add(1) > 2 {
			return hooks.Abort("two searches are enough")
		}
		return nil
	}, hooks.WithTools("search"), hooks.In(r))

	search := func(ctx context.Context, who string) {
		fmt.Println(who, runTool(ctx, "search").IsError())
	}
	ctx := hooks.WithScope(context.Background(), r)
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		search(ctx, "parent")
		search(ctx, "parent")
		err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			search(ctx, "sub-agent")
			return nil
		})
		search(ctx, "parent")
		return err
	})
	fmt.Println(err)
	// Output:
	// parent false
	// parent false
	// sub-agent false
	// parent true
	// <nil>
}

// Root is the value that an execution shares with its sub-agents.
func ExampleRunVar_Root() {
	spent := hooks.NewRunVar(func(_ context.Context, budget *atomic.Int64) { budget.Store(100) })
	spend := func(ctx context.Context, tokens int64) {
		if left, ok := spent.Root(ctx); ok {
			fmt.Println(left.Add(-tokens), "left")
		}
	}
	_ = hooks.RunExecution(context.Background(), &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		spend(ctx, 30)
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			spend(ctx, 50)
			return nil
		})
	})
	// Output:
	// 70 left
	// 20 left
}

// The deferred End tells the post hooks of a panic too, which then goes on.
func ExampleEnd() {
	r := hooks.NewRegistry()
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		fmt.Println("after:", call.Name, call.Err)
		return nil
	}, hooks.In(r))

	call := func(ctx context.Context, t *hooks.ToolCall, tool func() (string, error)) (err error) {
		_, end, err := hooks.BeginTool(ctx, t)
		if err != nil {
			return err
		}
		defer hooks.End(end, &err)
		if t.ShouldRun() {
			t.Result, err = tool()
		}
		return err
	}

	ctx := hooks.WithScope(context.Background(), r)
	_ = call(ctx, &hooks.ToolCall{Name: "fails"}, func() (string, error) { return "", errors.New("sold out") })
	defer func() { fmt.Println("recovered:", recover()) }()
	_ = call(ctx, &hooks.ToolCall{Name: "panics"}, func() (string, error) { panic("no seats") })
	// Output:
	// after: fails sold out
	// after: panics hooks: panic with a value of type string
	// recovered: no seats
}
