package hooks_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// Everything that changes registries happens while others dispatch, and a hook
// that is registered all the time runs in every dispatch.
func TestChangesAndDispatchesConcurrentSafe(t *testing.T) {
	t.Cleanup(func() { hooks.SetLogger(nil) })
	const rounds = 200
	stable, busy := hooks.NewRegistry(), hooks.NewRegistry()
	ctx := hooks.WithScope(hooks.WithScope(t.Context(), stable), busy)
	points := everyPoint()
	var ran, dispatched atomic.Int64
	for _, p := range points {
		p.on(func() error { ran.Add(1); return nil }, hooks.In(stable))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range rounds {
				p := points[(i+n)%len(points)]
				assert.NoError(t, p.dispatch(ctx))
				dispatched.Add(1)
				_ = p.enabled(ctx)
			}
		})
		wg.Go(func() {
			for n := range rounds {
				p := points[(i+n)%len(points)]
				var regs []*hooks.Registration
				for _, opts := range [][]hooks.Option{nil, p.filters, {hooks.AsGuard()}, {hooks.WithOnce()}, {hooks.WithPriority(n % 3)}} {
					regs = append(regs,
						p.on(func() error { return nil }, opts...),
						p.on(func() error { return nil }, append(opts, hooks.In(stable))...),
						p.on(func() error { return errBroken }, hooks.In(busy)))
				}
				for _, reg := range regs {
					_ = reg.Name()
					reg.Remove()
				}
			}
		})
	}
	for i := range 2 {
		wg.Go(func() {
			for n := range rounds {
				p := points[(i+n)%len(points)]
				_ = stable.Hooks(p)
				_ = busy.String()
				busy.Clear(p)
				busy.ClearAll()
			}
		})
		wg.Go(func() {
			for n := range rounds {
				r := hooks.NewRegistry()
				p := points[n%len(points)]
				p.on(func() error { return nil }, hooks.In(r))
				assert.NoError(t, p.dispatch(hooks.WithScope(ctx, r)))
				dispatched.Add(1)
			}
		})
		wg.Go(func() {
			quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
			for range rounds {
				o := stable.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
				g := hooks.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
				hooks.SetLogger(quiet)
				g.Remove()
				o.Remove()
				hooks.SetLogger(nil)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, dispatched.Load(), ran.Load())
	for _, p := range points {
		assert.Empty(t, hooks.Hooks(p))
		assert.Len(t, stable.Hooks(p), 1)
	}
}

// The first dispatch after a change prepares the chain: when many come at
// once, each of them runs the whole of it.
func TestFirstDispatchesAfterAChangeConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	want := 0
	for n := range 30 {
		hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), hooks.In(r), hooks.WithTools("Read File", fmt.Sprintf("tool %d", n)))
		want++
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				<-start
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "readFile"}))
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(t, 8*want, ran.Swap(0))
	}
}

func TestAHookThatBlocksHoldsUpItsOwnDispatchAlone(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	blocked, release := make(chan struct{}), make(chan struct{})
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if c.Name == "slow" {
			close(blocked)
			<-release
		}
		return nil
	}, hooks.In(r))
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "slow"})) })
	<-blocked
	finishes(t, "the others", func() {
		reg := hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r))
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "fast"}))
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PostToolCall, &hooks.ToolCall{Name: "slow"}))
		assert.NoError(t, hooks.Dispatch(context.Background(), hooks.PreToolCall, &hooks.ToolCall{Name: "slow"}))
		assert.Len(t, r.Hooks(hooks.PreToolCall), 2)
		assert.True(t, reg.Remove())
		assert.Equal(t, 1, r.Clear(hooks.PreToolCall))
	})
	close(release)
	wg.Wait()
}
