package hooks_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestAHookWithOnceRunsOnceAndLeavesTheChain(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	reg := hooks.On(hooks.PreStep, counter[hooks.Step](&ran), hooks.In(r), hooks.WithOnce())
	assert.Len(t, r.Hooks(hooks.PreStep), 1)
	for range 3 {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	}
	assert.EqualValues(t, 1, ran.Load())
	assert.Empty(t, r.Hooks(hooks.PreStep))
	assert.False(t, hooks.Enabled(ctx, hooks.PreStep))
	assert.False(t, reg.Remove(), "it was used up before")
}

func TestAHookWithOnceIsUsedUpEvenIfItFails(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]hooks.Func[hooks.Step]{
		"error": fails[hooks.Step](errBroken),
		"panic": panics[hooks.Step]("boom"),
		"abort": fails[hooks.Step](hooks.Abort("no")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			events := record(t, r)
			hooks.On(hooks.PreStep, fn, hooks.In(r), hooks.WithOnce())
			_ = hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})
			assert.Equal(t, 1, events.one(t).HookCount)
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Empty(t, events.take())
			assert.Empty(t, r.Hooks(hooks.PreStep))
		})
	}
}

func TestADispatchThatAFilterSkipsDoesNotUseUpAHookWithOnce(t *testing.T) {
	t.Parallel()
	for name, filter := range map[string]hooks.Option{
		"name":    hooks.WithTools("Write File"),
		"pattern": hooks.WithTools("write*"),
		"role":    hooks.WithAgents("Writer"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var ran atomic.Int64
			hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), hooks.In(r), hooks.WithOnce(), filter)
			dispatch := func(tool, role string) {
				call := &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: role}}
				require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
			}
			dispatch("read_file", "Reader")
			assert.Zero(t, ran.Load())
			assert.Len(t, r.Hooks(hooks.PreToolCall), 1)
			dispatch("write_file", "Writer")
			dispatch("write_file", "Writer")
			assert.EqualValues(t, 1, ran.Load())
		})
	}
}

func TestADispatchThatStopsBeforeAHookWithOnceDoesNotUseItUp(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	stop := hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	hooks.On(hooks.PreStep, counter[hooks.Step](&ran), hooks.In(r), hooks.WithOnce())
	aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	stop.Remove()
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.EqualValues(t, 1, ran.Load())
}

func TestAHookWithOnceThatDispatchesItsOwnPointRunsOnce(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	hooks.On(hooks.PreStep, func(ctx context.Context, s *hooks.Step) error {
		ran.Add(1)
		return hooks.Dispatch(ctx, hooks.PreStep, s)
	}, hooks.In(r), hooks.WithOnce())
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.EqualValues(t, 1, ran.Load())
}

func TestWithOnceConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	const rounds, dispatchers = 50, 16
	for range rounds {
		var ran, always atomic.Int64
		hooks.On(hooks.PreStep, counter[hooks.Step](&ran), hooks.In(r), hooks.WithOnce())
		hooks.On(hooks.PreStep, counter[hooks.Step](&always), hooks.In(r))
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range dispatchers {
			wg.Go(func() {
				<-start
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(t, 1, ran.Load())
		require.EqualValues(t, dispatchers, always.Load())
		require.Equal(t, 1, r.Clear(hooks.PreStep))
	}
}

// A hook that runs once takes its time from one dispatch alone.
func TestNobodyWaitsForAHookWithOnce(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	running, release := make(chan struct{}), make(chan struct{})
	hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
		close(running)
		<-release
		return nil
	}, hooks.In(r), hooks.WithOnce())
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})) })
	<-running
	finishes(t, "another dispatch", func() {
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	})
	close(release)
	wg.Wait()
}
