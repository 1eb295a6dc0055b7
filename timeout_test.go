package hooks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestWithTimeoutGivesTheHookADeadlineFromWhenItBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		var kept context.Context
		hooks.On(hooks.PreStep, edit(func(*hooks.Step) { <-time.After(time.Hour) }), hooks.In(r))
		hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
			kept = ctx
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, time.Second, time.Until(deadline))
			return nil
		}, hooks.In(r), hooks.WithTimeout(time.Second))
		hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
			_, ok := ctx.Deadline()
			assert.False(t, ok, "the deadline is that hook's alone")
			return nil
		}, hooks.In(r))
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.ErrorIs(t, kept.Err(), context.Canceled, "its timer is released")
	})
}

func TestAHookThatRunsOutOfTimeHasFailed(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]func(context.Context) error{
		"and says so":        func(ctx context.Context) error { return ctx.Err() },
		"and decides late":   func(context.Context) error { return nil },
		"and says the cause": func(ctx context.Context) error { return context.Cause(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				events := record(t, r)
				hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
					<-ctx.Done()
					return result(ctx)
				}, hooks.In(r), hooks.WithTimeout(time.Second))
				require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				run := events.one(t).Hooks[0]
				assert.Equal(t, hooks.OutcomeFailed, run.Outcome)
				assert.ErrorIs(t, run.Err, context.DeadlineExceeded)
				assert.NotEmpty(t, run.Err.Error())
				assert.Equal(t, time.Second, run.Duration)
			})
		})
	}
}

func TestAHookIsNotInterruptedByItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.On(hooks.PreStep, edit(func(s *hooks.Step) {
			<-time.After(time.Minute)
			s.Input = "late"
		}), hooks.In(r), hooks.WithTimeout(time.Second))
		step := &hooks.Step{}
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, step))
		assert.Equal(t, "late", step.Input)
		assert.Equal(t, time.Minute, events.one(t).Duration)
	})
}

// A decision that was made in spite of the clock stands: it is no failure.
func TestALateAbortIsAnAbort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
			<-ctx.Done()
			return hooks.Abort("no")
		}, hooks.In(r), hooks.WithTimeout(time.Second))
		assert.Equal(t, "no", aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})).Reason)
	})
}

func TestADeadlineOfTheCallerIsNoFailureOfTheHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		events := record(t, r)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
			<-ctx.Done()
			return nil
		}, hooks.In(r), hooks.WithTimeout(time.Hour), hooks.WithFailClosed())
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, []hooks.Outcome{"proceeded"}, outcomes(events.one(t)))
	})
}

// Each hook under a timeout has its own, whatever ctx it was handed.
func TestTimeoutsOfNestedDispatchesAreToldApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.On(hooks.PostStep, func(ctx context.Context, _ *hooks.Step) error {
			<-ctx.Done() // of the outer hook, whose time is shorter
			return nil
		}, hooks.In(r), hooks.WithTimeout(time.Hour), hooks.WithName("inner"))
		hooks.On(hooks.PreStep, func(ctx context.Context, s *hooks.Step) error {
			return hooks.Dispatch(ctx, hooks.PostStep, s)
		}, hooks.In(r), hooks.WithTimeout(time.Second), hooks.WithName("outer"))
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		got := events.take()
		require.Len(t, got, 2)
		assert.Equal(t, []hooks.Outcome{"proceeded"}, outcomes(got[0]), "the inner hook was in time")
		assert.Equal(t, []hooks.Outcome{"failed"}, outcomes(got[1]))
	})
}
