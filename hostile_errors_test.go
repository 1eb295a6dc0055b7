package hooks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// ring is an error that wraps itself.
type ring struct{}

func (ring) Error() string   { return "ring" }
func (r ring) Unwrap() error { return r }

// fan is an error that joins itself, twice.
type fan struct{}

func (fan) Error() string     { return "fan" }
func (f fan) Unwrap() []error { return []error{f, f} }

func TestErrorsThatWrapThemselvesEndInBoundedTime(t *testing.T) {
	t.Parallel()
	circular := &hooks.HookAborted{Reason: "round"}
	circular.Err = circular
	for name, err := range map[string]error{"ring": ring{}, "fan": fan{}, "both": errors.Join(fan{}, ring{})} {
		r := hooks.NewRegistry()
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return err }, hooks.In(r))
		hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return err }, hooks.In(r), hooks.AsGuard())
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, func(context.Context, *hooks.ToolCall) error { return err }), name)
		assert.True(t, call.Ran(), "%s: an ordinary hook fails open", name)
		require.NotNil(t, call.Blocked, name)
		assert.Equal(t, "a guard failed", call.Blocked.Reason, name)
	}
	r := hooks.NewRegistry()
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return circular }, hooks.In(r))
	call := &hooks.ToolCall{Name: "fetch"}
	require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, seamReturns("page")))
	assert.Equal(t, "round", call.Blocked.Reason)
}

func TestObserverThatOpensTheSeamItObservesChangesNothing(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return nil }, hooks.In(r))
	opened, refused := 0, 0
	r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
		opened++
		if err := hooks.RunTool(ctx, &hooks.ToolCall{Name: "again"}, seamReturns("page")); errors.Is(err, hooks.ErrTooDeep) {
			refused++
		}
	})
	call := &hooks.ToolCall{Name: "fetch"}
	require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, seamReturns("page")))
	assert.Equal(t, "page", call.Result)
	assert.Nil(t, call.Blocked)
	assert.Less(t, opened, 100, "the recursion ends")
	assert.Positive(t, refused)
}

func TestANilRegistrationIsOfNoHook(t *testing.T) {
	t.Parallel()
	var reg *hooks.Registration
	assert.Empty(t, reg.Name())
	assert.Empty(t, reg.Point())
	assert.False(t, reg.Remove())
}
