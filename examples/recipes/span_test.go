package recipes_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
)

type spanKey struct{}

// startSpan stands for a tracer: a span in ctx is the parent of those begun
// below.
func startSpan(ctx context.Context, name string) (inside context.Context, end func(outcome string)) {
	depth, _ := ctx.Value(spanKey{}).(int)
	indent := strings.Repeat("  ", depth)
	fmt.Printf("%s%s {\n", indent, name)
	return context.WithValue(ctx, spanKey{}, depth+1), func(outcome string) { fmt.Printf("%s} %s\n", indent, outcome) }
}

// A span around each tool and each model call, as the outermost hook, so that
// retries are in it. A pre hook can't do that: it has no ctx to hand to the body.
func Example_span() {
	reg := hooks.NewRegistry()
	outcome := func(err error) string {
		if err != nil {
			return "failed"
		}
		return "ok"
	}
	hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
		ctx, end := startSpan(ctx, "execute_tool "+call.Name)
		err := next(ctx)
		end(outcome(err))
		return err
	}, hooks.In(reg), hooks.WithName("tool span"), hooks.WithPriority(1000))
	hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
		ctx, end := startSpan(ctx, "chat "+m.Model)
		err := next(ctx)
		end(outcome(err))
		return err
	}, hooks.In(reg), hooks.WithName("model span"), hooks.WithPriority(1000))

	// A tool that asks a model: the spans nest by themselves.
	call := &hooks.ToolCall{Name: "summarise"}
	err := hooks.RunTool(hooks.WithScope(context.Background(), reg), call, func(ctx context.Context, call *hooks.ToolCall) error {
		m := &hooks.ModelCall{Model: "small"}
		err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.Response = "in short"
			return nil
		})
		call.Result = m.Response
		return err
	})
	fmt.Println(call.Result, err)
	// Output:
	// execute_tool summarise {
	//   chat small {
	//   } ok
	// } ok
	// in short <nil>
}
