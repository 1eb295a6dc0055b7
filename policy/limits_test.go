package policy_test

// What the tests of the limits share.

import (
	"context"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/stretchr/testify/require"
)

// limitScope returns a registry and a ctx under which it is active.
func limitScope(t *testing.T) (*hooks.Registry, context.Context) {
	t.Helper()
	reg := hooks.NewRegistry()
	return reg, hooks.WithScope(t.Context(), reg)
}

// limitCall makes a call of the tool, and says why it didn't run, "" if it did.
func limitCall(t *testing.T, ctx context.Context, name string) string {
	t.Helper()
	call := &hooks.ToolCall{ID: "c", Name: name}
	require.NoError(t, hooks.RunTool(ctx, call, limitBody("ok")))
	return limitReason(call)
}

func limitReason(call *hooks.ToolCall) string {
	if call.Blocked == nil {
		return ""
	}
	return call.Blocked.Reason
}

// limitBody returns the body of a tool that gives the text.
func limitBody(text string) hooks.Func[hooks.ToolCall] {
	return func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = text
		return nil
	}
}

func limitModel(ctx context.Context) error {
	return hooks.RunModel(ctx, &hooks.ModelCall{Model: "large"}, func(_ context.Context, m *hooks.ModelCall) error {
		m.Response = "ok"
		return nil
	})
}

func limitAnswer(_ context.Context, m *hooks.ModelCall) error {
	m.Response = "ok"
	return nil
}
