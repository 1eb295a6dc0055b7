package hooks_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// A bubble of synctest ends only when its goroutines have: these tests prove
// along the way that Close leaves none behind.

func asyncEvent(i int) hooks.HookDispatchedEvent { return hooks.HookDispatchedEvent{HookCount: i} }

// gate is an observer's function that waits to be let through, event by event.
type gate struct {
	began, pass chan struct{}
	handled     atomic.Int64
}

func newGate() *gate { return &gate{began: make(chan struct{}), pass: make(chan struct{})} }

func (g *gate) handle(context.Context, hooks.HookDispatchedEvent) {
	g.began <- struct{}{}
	<-g.pass
	g.handled.Add(1)
}

func TestAnAsyncObserverHandlesEventsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []int
		a := hooks.NewAsyncObserver(func(_ context.Context, ev hooks.HookDispatchedEvent) { got = append(got, ev.HookCount) }, 100)
		for i := range 100 {
			a.Handle(t.Context(), asyncEvent(i))
		}
		require.NoError(t, a.Close(t.Context()))
		require.Len(t, got, 100)
		for i, n := range got {
			assert.Equal(t, i, n)
		}
		assert.Zero(t, a.Dropped())
	})
}

func TestASlowAsyncObserverDoesNotHoldUpDispatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		var handled atomic.Int64
		a := hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) {
			<-time.After(time.Second)
			handled.Add(1)
		}, 20)
		r.Observe(a.Handle)
		hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
		start := time.Now()
		for range 20 {
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		}
		assert.Zero(t, time.Since(start))
		require.NoError(t, a.Close(ctx))
		assert.Equal(t, 20*time.Second, time.Since(start))
		assert.EqualValues(t, 20, handled.Load())
	})
}

func TestAFullAsyncObserverDropsAndCounts(t *testing.T) {
	t.Parallel()
	for _, buffer := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(buffer), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				a := hooks.NewAsyncObserver(g.handle, buffer)
				synctest.Wait() // its goroutine is ready to take an event
				a.Handle(t.Context(), asyncEvent(0))
				<-g.began // and busy with it
				for i := range 10 {
					a.Handle(t.Context(), asyncEvent(i))
				}
				assert.EqualValues(t, 10-buffer, a.Dropped())
				close(g.pass)
				go func() {
					for range g.began {
					}
				}()
				require.NoError(t, a.Close(t.Context()))
				close(g.began)
				assert.EqualValues(t, 1+buffer, g.handled.Load())
			})
		})
	}
}

func TestAClosedAsyncObserverDropsAndCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		var handled atomic.Int64
		a := hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) { handled.Add(1) }, 4)
		r.Observe(a.Handle)
		hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
		require.NoError(t, a.Close(ctx))
		for range 3 {
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		}
		assert.EqualValues(t, 3, a.Dropped())
		assert.Zero(t, handled.Load())
	})
}

func TestCloseWaitsForWhatWasTakenUnlessItsCtxEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		a := hooks.NewAsyncObserver(g.handle, 5)
		for i := range 4 {
			a.Handle(t.Context(), asyncEvent(i))
		}
		<-g.began
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		assert.Equal(t, context.DeadlineExceeded, a.Close(ctx))
		assert.Equal(t, time.Second, time.Since(start))
		assert.Equal(t, context.DeadlineExceeded, a.Close(ctx), "closing again waits again")

		// The event that was being handled is; the three that waited are lost.
		close(g.pass)
		require.NoError(t, a.Close(t.Context()))
		assert.EqualValues(t, 1, g.handled.Load())
		assert.EqualValues(t, 3, a.Dropped())
		assert.NoError(t, a.Close(ctx), "nothing is left to wait for")
	})
}

func TestAnObserversFunctionThatPanicsOrEndsItsGoroutineGetsTheNextEvent(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func(){
		"panic": func() { panic("boom") }, "panic with nil": func() { panic(nil) }, "exit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []int
				a := hooks.NewAsyncObserver(func(_ context.Context, ev hooks.HookDispatchedEvent) {
					got = append(got, ev.HookCount)
					if ev.HookCount%2 == 0 {
						bad()
					}
				}, 8)
				for i := range 5 {
					a.Handle(t.Context(), asyncEvent(i))
				}
				require.NoError(t, a.Close(t.Context()))
				assert.Equal(t, []int{0, 1, 2, 3, 4}, got)
				assert.Zero(t, a.Dropped())
			})
		})
	}
}

func TestAnAsyncObserverKeepsTheCtxWithoutItsCancellation(t *testing.T) {
	t.Parallel()
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Second)
		checked := false
		a := hooks.NewAsyncObserver(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
			checked = true
			assert.Equal(t, "value", ctx.Value(key{}))
			assert.NoError(t, ctx.Err())
			_, ok := ctx.Deadline()
			assert.False(t, ok)
		}, 1)
		cancel()
		a.Handle(ctx, asyncEvent(0))
		require.NoError(t, a.Close(t.Context()))
		assert.True(t, checked)
	})
}

func TestAnAsyncObserverTakesANilCtx(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var none context.Context
		handled := false
		a := hooks.NewAsyncObserver(func(ctx context.Context, _ hooks.HookDispatchedEvent) { handled = ctx.Err() == nil }, 1)
		a.Handle(none, asyncEvent(0))
		require.NoError(t, a.Close(none))
		assert.True(t, handled)
	})
}

func TestCloseFromTheObserversOwnFunctionReturnsWithItsCtx(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a *hooks.AsyncObserver
		closed := make(chan error, 1)
		a = hooks.NewAsyncObserver(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			closed <- a.Close(ctx)
		}, 1)
		a.Handle(t.Context(), asyncEvent(0))
		assert.Equal(t, context.DeadlineExceeded, <-closed)
		require.NoError(t, a.Close(t.Context()))
	})
}

func TestNewAsyncObserverRefusesWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	text := panicText(t, func() { hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) {}, -1) })
	assert.Contains(t, text, "hooks: NewAsyncObserver")
	assert.Contains(t, text, "-1")
	assert.Contains(t, panicText(t, func() { hooks.NewAsyncObserver(nil, 1) }), "hooks: NewAsyncObserver")
}

func TestAsyncObserverConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	for _, buffer := range []int{0, 4, 10_000} {
		var handled atomic.Int64
		a := hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) { handled.Add(1) }, buffer)
		o := r.Observe(a.Handle)
		const workers, rounds = 8, 200
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				for range rounds {
					assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				}
				if i%4 == 0 {
					assert.NoError(t, a.Close(t.Context()))
				}
				_ = a.Dropped()
			})
		}
		wg.Wait()
		require.NoError(t, a.Close(t.Context()))
		assert.EqualValues(t, workers*rounds, uint64(handled.Load())+a.Dropped(), "each event is handled or counted")
		o.Remove()
	}
}
