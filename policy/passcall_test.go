package policy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// passed is what came of a tool call.
type passed struct {
	*hooks.ToolCall
	runs  int            // of the body
	input map[string]any // that the body saw last
}

// passCall puts a call through the seam under r.
func passCall(t *testing.T, r *hooks.Registry, call *hooks.ToolCall) *passed {
	t.Helper()
	return passCallWith(t, r, call, func(context.Context, *hooks.ToolCall) error { return nil })
}

// passCallWith is passCall with a body.
func passCallWith(t *testing.T, r *hooks.Registry, call *hooks.ToolCall, body hooks.Func[hooks.ToolCall]) *passed {
	t.Helper()
	p := &passed{ToolCall: call}
	err := hooks.RunTool(hookstest.Context(t, r), call, func(ctx context.Context, call *hooks.ToolCall) error {
		p.runs++
		p.input = call.Input
		return body(ctx, call)
	})
	require.NoError(t, err)
	return p
}

// ran asserts that nothing stopped the call.
func (p *passed) ran(t *testing.T, msg ...any) {
	t.Helper()
	assert.Nil(t, p.Blocked, msg...)
	assert.Equal(t, 1, p.runs, msg...)
}

// refused asserts that a guard of the policy stopped the call for a reason.
func (p *passed) refused(t *testing.T, policy, reason string, msg ...any) {
	t.Helper()
	assert.Zero(t, p.runs, msg...)
	if assert.NotNil(t, p.Blocked, msg...) {
		assert.Equal(t, reason, p.Blocked.Reason, msg...)
		assert.Equal(t, policy, p.Blocked.Source, msg...)
		assert.False(t, p.Blocked.StopRun, msg...)
	}
}

// registered counts what r has at the points and bodies of model and tool calls.
func registered(r *hooks.Registry) int {
	n := 0
	for _, p := range []hooks.AnyPoint{hooks.PreModelCall, hooks.ModelBody, hooks.PreToolCall, hooks.ToolBody} {
		n += len(r.Hooks(p))
	}
	return n
}
