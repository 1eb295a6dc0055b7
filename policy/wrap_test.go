package policy_test

import (
	"context"
	"errors"

	"github.com/loophooks/hooks"
)

// askModel makes a model call under reg.
func askModel(ctx context.Context, reg *hooks.Registry, m *hooks.ModelCall, body func(context.Context, *hooks.ModelCall) error) error {
	return hooks.RunModel(hooks.WithScope(ctx, reg), m, body)
}

// callTool makes a call of a tool under reg.
func callTool(ctx context.Context, reg *hooks.Registry, t *hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) error {
	return hooks.RunTool(hooks.WithScope(ctx, reg), t, body)
}

// failing returns a body that fails with the errors given, one after the other, and
// then answers; and how often it has run.
func failing(errs ...error) (body func(context.Context, *hooks.ModelCall) error, runs *int) {
	runs = new(int)
	return func(_ context.Context, m *hooks.ModelCall) error {
		m.Usage.In = 10
		*runs++
		if *runs <= len(errs) {
			return errs[*runs-1]
		}
		m.Response = "fine"
		return nil
	}, runs
}

// failingTool is failing for a tool.
func failingTool(errs ...error) (body func(context.Context, *hooks.ToolCall) error, runs *int) {
	runs = new(int)
	return func(_ context.Context, t *hooks.ToolCall) error {
		*runs++
		if *runs <= len(errs) {
			return errs[*runs-1]
		}
		t.Result = "fine"
		return nil
	}, runs
}

var errBoom = errors.New("boom")
