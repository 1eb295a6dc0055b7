package policy_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const toolTimeout = "the tool took more than 30s and was cancelled; what it began may have happened"

// until waits for ctx and returns its error.
func until(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestTimeout_tool(t *testing.T) {
	t.Parallel()
	ownError := errors.New("read on a closed connection")
	for name, tt := range map[string]struct {
		body   func(context.Context, *hooks.ToolCall) error
		took   time.Duration
		result string
		is     []error
	}{
		"in time": {func(_ context.Context, c *hooks.ToolCall) error {
			time.Sleep(29 * time.Second)
			c.Result = "fine"
			return nil
		}, 29 * time.Second, "fine", nil},
		"looks at its ctx": {func(ctx context.Context, _ *hooks.ToolCall) error { return until(ctx) },
			30 * time.Second, toolTimeout, []error{context.DeadlineExceeded}},
		"returns an error of its own then": {func(ctx context.Context, _ *hooks.ToolCall) error { _ = until(ctx); return ownError },
			30 * time.Second, toolTimeout, []error{context.DeadlineExceeded, ownError}},
		"doesn't look at it, and ends well": {func(_ context.Context, c *hooks.ToolCall) error {
			time.Sleep(time.Minute)
			c.Result = "late"
			return nil
		}, time.Minute, "late", nil},
		"doesn't look at it, and fails": {func(context.Context, *hooks.ToolCall) error {
			time.Sleep(time.Minute)
			return ownError
		}, time.Minute, toolTimeout, []error{context.DeadlineExceeded, ownError}},
		"fails before": {func(context.Context, *hooks.ToolCall) error { return ownError }, 0, ownError.Error(), []error{ownError}},
		"keeps what it has said": {func(ctx context.Context, c *hooks.ToolCall) error {
			c.Result = "so far: 3 of 5"
			return until(ctx)
		}, 30 * time.Second, "so far: 3 of 5", []error{context.DeadlineExceeded}},
		"was refused by then": {func(ctx context.Context, _ *hooks.ToolCall) error { _ = until(ctx); return hooks.Abort("no") },
			30 * time.Second, "no", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := hooks.NewRegistry()
				policy.Timeout{After: 30 * time.Second, Tools: []string{"search"}}.Register(hooks.In(reg))
				call := &hooks.ToolCall{Name: "search"}
				began := time.Now()
				require.NoError(t, callTool(t.Context(), reg, call, tt.body))
				assert.Equal(t, tt.took, time.Since(began))
				assert.Equal(t, tt.result, call.Result)
				for _, target := range tt.is {
					require.ErrorIs(t, call.Err, target)
				}
				if tt.is == nil && name != "was refused by then" {
					assert.NoError(t, call.Err)
				}
			})
		})
	}
}

func TestTimeout_otherToolsHaveNone(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Timeout{After: time.Second, Tools: []string{"search"}}.Register(hooks.In(reg))
	require.NoError(t, callTool(t.Context(), reg, &hooks.ToolCall{Name: "searches"}, func(ctx context.Context, _ *hooks.ToolCall) error {
		_, limited := ctx.Deadline()
		assert.False(t, limited)
		return nil
	}))
}

func TestTimeout_model(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Timeout{After: 90 * time.Second}.Register(hooks.In(reg))
		err := askModel(t.Context(), reg, &hooks.ModelCall{}, func(ctx context.Context, _ *hooks.ModelCall) error { return until(ctx) })
		require.EqualError(t, err, "the model took more than 1m30s and was cancelled; what it began may have happened")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestTimeout_endOfTheCallersCtx(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"its deadline is earlier": withTimeout(time.Second),
		"it is cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := hooks.NewRegistry()
				policy.Timeout{After: 30 * time.Second}.Register(hooks.In(reg))
				ctx, cancel := end(t.Context())
				defer cancel()
				err := askModel(ctx, reg, &hooks.ModelCall{}, func(ctx context.Context, _ *hooks.ModelCall) error { return until(ctx) })
				assert.Equal(t, ctx.Err(), err, "the error as it was")
			})
		})
	}
}

func TestTimeout_oneInsideOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Timeout{After: 2 * time.Second}.Register(hooks.In(reg))
		policy.Timeout{After: time.Second}.Register(hooks.In(reg))
		err := askModel(t.Context(), reg, &hooks.ModelCall{}, func(ctx context.Context, _ *hooks.ModelCall) error { return until(ctx) })
		require.ErrorContains(t, err, "more than 1s")
	})
}

// A timeout is inside of a retry: each attempt has its own time.
func TestTimeout_insideOfRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Timeout{After: 10 * time.Second}.Register(hooks.In(reg))
		policy.Timeout{After: 10 * time.Second, Tools: []string{"*"}}.Register(hooks.In(reg))
		policy.Retry{}.Register(hooks.In(reg))
		policy.Retry{Tools: []string{"*"}}.Register(hooks.In(reg))
		var left []time.Duration
		note := func(ctx context.Context) {
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			left = append(left, time.Until(deadline))
		}
		err := askModel(t.Context(), reg, &hooks.ModelCall{}, func(ctx context.Context, _ *hooks.ModelCall) error {
			note(ctx)
			return until(ctx)
		})
		require.ErrorContains(t, err, "the model took more than 10s")
		assert.Equal(t, []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second}, left)

		left = nil
		call := &hooks.ToolCall{Name: "pay"}
		require.NoError(t, callTool(t.Context(), reg, call, func(ctx context.Context, _ *hooks.ToolCall) error {
			note(ctx)
			return until(ctx)
		}))
		assert.Len(t, left, 1, "what a tool began may have happened")

		left = nil
		require.NoError(t, callTool(t.Context(), reg, call, func(ctx context.Context, _ *hooks.ToolCall) error {
			note(ctx)
			return policy.Temporary(until(ctx), 0)
		}))
		assert.Len(t, left, 3, "unless it says that it may")
	})
}

func TestTimeout_panicOfTheBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Timeout{After: time.Second}.Register(hooks.In(reg))
		assert.PanicsWithValue(t, "bug", func() {
			_ = askModel(t.Context(), reg, &hooks.ModelCall{}, func(ctx context.Context, _ *hooks.ModelCall) error {
				_ = until(ctx)
				panic("bug")
			})
		})
	})
}
