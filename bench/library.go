package bench

import (
	"context"
	"testing"

	"github.com/loophooks/hooks"
)

const libraryModule = "github.com/loophooks/hooks"

var preToolHook hooks.Func[hooks.ToolCall] = func(_ context.Context, c *hooks.ToolCall) error {
	if c.Name == "" {
		return errEmpty
	}
	return nil
}

var observe = func(context.Context, hooks.HookDispatchedEvent) {}

func newToolCall() *hooks.ToolCall {
	return &hooks.ToolCall{Name: toolName, Input: map[string]any{"path": "go.mod"}}
}

// register adds n hooks to the default registry, or to the one in opts, and
// removes them when the benchmark ends.
func register(b *testing.B, n int, opts ...hooks.Option) {
	registerHooks(b, n, &preToolHook, opts...)
}

// registerPerTool adds n hooks to the default registry, the ith of which is
// for the ith tool only.
func registerPerTool(b *testing.B, n int) {
	for i := range n {
		hooks.On(hooks.PreToolCall, preToolHook, hooks.WithTools(numberedTool(i)))
	}
	b.Cleanup(func() { hooks.ClearAll() })
}

func dispatchLoop(b *testing.B, ctx context.Context, c *hooks.ToolCall) {
	for b.Loop() {
		if err := hooks.Dispatch(ctx, hooks.PreToolCall, c); err != nil {
			b.Fatal(err)
		}
	}
}

func dispatchParallel(b *testing.B, ctx context.Context) {
	b.RunParallel(func(pb *testing.PB) {
		c := newToolCall()
		for pb.Next() {
			if err := hooks.Dispatch(ctx, hooks.PreToolCall, c); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func libraryRows() []Row {
	quiet := Features{Recover: true, Filter: true, Abort: true, Change: true, Swap: true}
	observed := quiet
	observed.Event = true
	one := func(int) int { return 1 }

	rows := []Row{
		{
			Group: Dispatch, Name: "hooks", Label: "hooks.Dispatch", Sizes: usualSizes, Features: quiet,
			Run: func(b *testing.B, n int) {
				register(b, n)
				dispatchLoop(b, context.Background(), newToolCall())
			},
		},
		{
			Group: Dispatch, Name: "hooks-scope", Label: "hooks.Dispatch, in a scope", Sizes: usualSizes, Features: quiet,
			Note: "The hooks are in a registry that WithScope put into the context.",
			Run: func(b *testing.B, n int) {
				r := hooks.NewRegistry()
				register(b, n, hooks.In(r))
				dispatchLoop(b, hooks.WithScope(context.Background(), r), newToolCall())
			},
		},
		{
			Group: Dispatch, Name: "hooks-beside-scope", Label: "hooks.Dispatch, beside a scope", Sizes: usualSizes, Features: quiet,
			Note: "As the first, in a process in which another registry, that isn't active, has a hook at the point: while it has, a dispatch looks for scopes.",
			Run: func(b *testing.B, n int) {
				other := hooks.NewRegistry()
				register(b, 1, hooks.In(other))
				register(b, n)
				dispatchLoop(b, context.Background(), newToolCall())
			},
		},
		{
			Group: Dispatch, Name: "hooks-observed", Label: "hooks.Dispatch, observed", Sizes: usualSizes, Features: observed,
			Note: "With an observer that does nothing. The event has each hook's name, outcome and duration.",
			Run: func(b *testing.B, n int) {
				register(b, n)
				o := hooks.Observe(observe)
				b.Cleanup(func() { o.Remove() })
				dispatchLoop(b, context.Background(), newToolCall())
			},
		},
		{
			Group: ToolCall, Name: "hooks-runtool", Label: "hooks.RunTool", Sizes: usualSizes, Features: quiet,
			Note: "Around an empty body, without JSON or a protocol.",
			Run: func(b *testing.B, n int) {
				register(b, n)
				ctx, c := context.Background(), newToolCall()
				for b.Loop() {
					if err := hooks.RunTool(ctx, c, emptyBody); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
		{
			Group: Filtered, Name: "hooks-unfiltered", Label: "hooks.Dispatch, a hook for all tools", Sizes: []int{1}, Features: quiet,
			Run: func(b *testing.B, n int) {
				register(b, n)
				c := newToolCall()
				c.Name = calledTool(n)
				dispatchLoop(b, context.Background(), c)
			},
		},
		{
			Group: Filtered, Name: "hooks-filtered", Label: "hooks.Dispatch, WithTools", Sizes: []int{1, 10_000}, Features: quiet,
			Note: "Finds a tool by its normalised name too. The first dispatch after a change makes an index, which is not in the figure.", perOp: one,
			Run: func(b *testing.B, n int) {
				registerPerTool(b, n)
				ctx, c := context.Background(), newToolCall()
				// No hook is for this call: it makes the index.
				if err := hooks.Dispatch(ctx, hooks.PreToolCall, c); err != nil {
					b.Fatal(err)
				}
				c.Name = calledTool(n)
				dispatchLoop(b, ctx, c)
			},
		},
		{
			Group: Parallel, Name: "hooks", Label: "hooks.Dispatch", Sizes: usualSizes, Features: quiet,
			Run: func(b *testing.B, n int) {
				register(b, n)
				dispatchParallel(b, context.Background())
			},
		},
		{
			Group: Parallel, Name: "hooks-scope", Label: "hooks.Dispatch, in a scope", Sizes: usualSizes, Features: quiet,
			Note: "All goroutines share the scope.",
			Run: func(b *testing.B, n int) {
				r := hooks.NewRegistry()
				register(b, n, hooks.In(r))
				dispatchParallel(b, hooks.WithScope(context.Background(), r))
			},
		},
	}
	for i := range rows {
		rows[i].Kind = Library
		rows[i].Module = libraryModule
		rows[i].hook = &preToolHook
	}
	return rows
}

// emptyBody is called through a variable, so that it isn't inlined.
var emptyBody hooks.Func[hooks.ToolCall] = func(context.Context, *hooks.ToolCall) error { return nil }
