package policy_test

// What the tests of the limits share.

import (
	"context"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
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

// A tool's and a provider's error are somebody else's, and may wrap itself.
func TestLimits_endWithErrorsInACircle(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]interface {
		Register(opts ...hooks.Option) *hooks.Group
	}{
		"Budget":      policy.Budget{ToolCalls: 1, ModelCalls: 1, Time: time.Hour},
		"Rate":        policy.Rate{Limit: 1, Attempts: true},
		"Rate, Model": policy.Rate{Limit: 1, Attempts: true, Model: true},
		"Loops":       policy.Loops{Same: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := hooks.NewRegistry()
			p.Register(hooks.In(reg))
			hookstest.Run(t, reg, func(ctx context.Context) {
				refused := 0
				for range 2 {
					call := &hooks.ToolCall{Name: "x"}
					assert.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return circle{} }))
					err := hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { return circle{} })
					if call.Blocked != nil || err != error(circle{}) { //nolint:errorlint // errors.Is would go round in its circle
						refused++
					}
				}
				assert.Equal(t, 1, refused, "the second ones, and what failed is counted")
			})
		})
	}
}

func limitAnswer(_ context.Context, m *hooks.ModelCall) error {
	m.Response = "ok"
	return nil
}
