package hooksopenai_test

import (
	"context"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
	"github.com/loophooks/hooks/hookstest"
)

// serve starts a server with that model.
func serve(t *testing.T, model fake.Model) *fake.Server {
	t.Helper()
	s := fake.Start(model)
	t.Cleanup(s.Close)
	return s
}

// scope returns a registry and a ctx under which it is active.
func scope(t *testing.T) (*hooks.Registry, context.Context) {
	t.Helper()
	r := hookstest.Registry(t)
	return r, hookstest.Context(t, r)
}

// both runs a test whole and streamed. In the second onText collects what is shown.
func both(t *testing.T, test func(t *testing.T, onText func(string), shown func() string)) {
	t.Helper()
	t.Run("whole", func(t *testing.T) {
		t.Parallel()
		test(t, nil, func() string { return "" })
	})
	t.Run("streamed", func(t *testing.T) {
		t.Parallel()
		text := ""
		test(t, func(s string) { text += s }, func() string { return text })
	})
}

// tool returns a tool that answers by fn.
func tool(name string, fn func(ctx context.Context, call *hooks.ToolCall) (string, error)) hooksopenai.Tool {
	return hooksopenai.Tool{
		Name: name, Description: "a tool of the tests", Schema: map[string]any{"type": "object"},
		Run: func(ctx context.Context, call *hooks.ToolCall) (err error) {
			call.Result, err = fn(ctx, call)
			return err
		},
	}
}

// says returns a tool that answers always so.
func says(name, text string) hooksopenai.Tool {
	return tool(name, func(context.Context, *hooks.ToolCall) (string, error) { return text, nil })
}
