// What observers are told of a wrapped body.

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

// points lists the points of events, in order.
func points(events []hooks.HookDispatchedEvent) []hooks.InterceptionPoint {
	list := make([]hooks.InterceptionPoint, len(events))
	for i, ev := range events {
		list[i] = ev.Point
	}
	return list
}

// One event for a passage, in front of that of the post point.
func TestWrap_event(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.onPost(r, seamProceed)
		events := record(t, r)
		require.NoError(t, d.run(ctx, d.fresh(), seamProceed))
		assert.Nil(t, wrapEvent(events.take(), d.body), "nothing wraps it")

		d.around(r, retry(2), hooks.WithName("retry"))
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) }, hooks.WithName("trace"))
		bodies := 0
		c := d.fresh()
		c.who().RunID = "run"
		d.requireFine(t, c, d.run(ctx, c, failing(&bodies, errBroken)))
		all := events.take()
		require.Len(t, all, 2)
		assert.Equal(t, d.body, all[0].Point)
		ev := all[0]
		assert.Equal(t, 2, ev.Runs)
		assert.Equal(t, 3, ev.HookCount)
		assert.False(t, ev.Again)
		assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome)
		for i, want := range []hooks.HookRun{{Name: "retry", Calls: 2}, {Name: "trace", Calls: 1}, {Name: "trace", Calls: 1}} {
			assert.Equal(t, want.Name, ev.Hooks[i].Name)
			assert.Equal(t, want.Calls, ev.Hooks[i].Calls)
			assert.Equal(t, hooks.OutcomeProceeded, ev.Hooks[i].Outcome)
			assert.NoError(t, ev.Hooks[i].Err, "what it returned is no failure")
		}
		if d.name != "own, plain" {
			assert.Equal(t, "run", ev.RunID)
		}
		if d.tool {
			assert.Equal(t, "search", ev.ToolName)
		}
	})
}

// A hook's time is without the time in next, and that of the body is of all runs. The
// clock is the bubble's, so that the sleeps take no time and their lengths are exact.
func TestWrap_eventDurations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, d := range wrapDrivers() {
			ctx, r := newRun(t)
			d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
				time.Sleep(time.Second)
				_ = next(ctx)
				time.Sleep(2 * time.Second)
				return next(ctx)
			})
			d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
				time.Sleep(10 * time.Second)
				return next(ctx)
			})
			events := record(t, r)
			require.NoError(t, d.run(ctx, d.fresh(), func(context.Context, seamContext) error { time.Sleep(time.Minute); return nil }))
			ev := wrapEvent(events.take(), d.body)
			assert.Equal(t, 2*time.Minute, ev.Body)
			assert.Equal(t, 2*time.Minute+23*time.Second, ev.Duration)
			assert.Equal(t, 3*time.Second, ev.Hooks[0].Duration)
			assert.Equal(t, 10*time.Second, ev.Hooks[1].Duration)
			assert.Equal(t, 10*time.Second, ev.Hooks[2].Duration)
		}
	})
}

// A hook that changes the input, or the value, has modified the passage; one that
// leaves it to the body hasn't.
func TestWrap_eventOutcome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook aroundFunc
		want hooks.Outcome
	}{
		"passed on":        {func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) }, hooks.OutcomeProceeded},
		"another error":    {func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return errOther }, hooks.OutcomeProceeded},
		"the input":        {changing("b"), hooks.OutcomeModified},
		"the second input": {changing("", "b"), hooks.OutcomeModified},
		"the value": {func(ctx context.Context, c seamContext, next nextFunc) error {
			err := next(ctx)
			wrapGive(c, "edited")
			return err
		}, hooks.OutcomeModified},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				if !d.compares || name == "the value" && d.name == "own, full" {
					return // its payload doesn't tell
				}
				d.around(r, tc.hook)
				events := record(t, r)
				_ = d.run(ctx, d.fresh(), func(_ context.Context, c seamContext) error { wrapGive(c, "done"); return nil })
				ev := wrapEvent(events.take(), d.body)
				assert.Equal(t, []hooks.Outcome{tc.want}, outcomes(*ev))
				assert.Equal(t, tc.want, ev.Outcome)
			})
		})
	}
}

// A swallowed abort is in the event of the passage, as what it came to.
func TestWrap_eventOfAnAbort(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return nil })
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			_ = next(ctx)
			return hooks.Abort("another")
		})
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); panic("bug") }, hooks.WithFailClosed())
		d.around(r, func(context.Context, seamContext, nextFunc) error { return hooks.Abort("no") }, hooks.WithName("budget"))
		events := record(t, r)
		_ = d.run(ctx, d.fresh(), seamProceed)
		ev := wrapEvent(events.take(), d.body)
		assert.Equal(t, hooks.OutcomeAborted, ev.Outcome)
		assert.Equal(t, "no", ev.AbortReason)
		assert.Equal(t, "budget", ev.AbortSource)
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeProceeded, hooks.OutcomeProceeded, hooks.OutcomeAborted, hooks.OutcomeAborted}, outcomes(*ev))
		assert.Zero(t, ev.Runs)
	})
}

func TestWrap_eventOfASuspension(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(context.Context, seamContext, nextFunc) error { return hooks.PassThrough(errBroken) })
		events := record(t, r)
		_ = d.run(ctx, d.fresh(), seamProceed)
		ev := wrapEvent(events.take(), d.body)
		assert.Equal(t, hooks.OutcomeSuspended, ev.Outcome)
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeSuspended}, outcomes(*ev))
		assert.Equal(t, errBroken, ev.Hooks[0].Err)
	})
}

// Guards that are asked again have an event of their own.
func TestWrap_eventOfGuardsAskedAgain(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		if !d.compares {
			return
		}
		var pre hooks.InterceptionPoint
		d.onPre(r, func(_ context.Context, c seamContext) error {
			if wrapInput(c) == "c" {
				return hooks.Abort("no")
			}
			return nil
		}, hooks.AsGuard(), hooks.WithName("judge"))
		d.onPre(r, seamProceed, hooks.WithName("plain"))
		d.around(r, changing("", "b", "c"))
		events := record(t, r)
		_ = d.run(ctx, d.fresh(), seamProceed)
		all := events.take()
		require.Len(t, all, 4)
		pre = all[0].Point
		assert.Equal(t, []hooks.InterceptionPoint{pre, pre, pre, d.body}, points(all))
		assert.Equal(t, []bool{false, true, true, false}, []bool{all[0].Again, all[1].Again, all[2].Again, all[3].Again})
		for i, want := range []hooks.Outcome{hooks.OutcomeProceeded, hooks.OutcomeProceeded, hooks.OutcomeAborted} {
			assert.Equal(t, want, all[i].Outcome)
		}
		for _, ev := range all[1:3] {
			require.Len(t, ev.Hooks, 1)
			assert.Equal(t, "judge", ev.Hooks[0].Name)
		}
		assert.Equal(t, 2, all[3].Runs)
	})
}
