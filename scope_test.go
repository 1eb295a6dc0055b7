package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestAScopeIsActiveUnderItsCtxAlone(t *testing.T) {
	t.Parallel()
	for _, p := range everyPoint() {
		r := hooks.NewRegistry()
		ran := 0
		p.on(func() error { ran++; return nil }, hooks.In(r))
		outside := t.Context()
		inside := hooks.WithScope(outside, r)
		below, cancel := context.WithCancel(inside)
		require.NoError(t, p.dispatch(outside))
		assert.Zero(t, ran, p.name)
		assert.False(t, p.enabled(outside))
		for _, ctx := range []context.Context{inside, below, context.WithoutCancel(below)} {
			ran = 0
			require.NoError(t, p.dispatch(ctx))
			assert.Equal(t, 1, ran, p.name)
			assert.True(t, p.enabled(ctx))
		}
		cancel()
		require.NoError(t, p.dispatch(outside))
		assert.Equal(t, 1, ran, p.name)
	}
}

func TestAHookRegisteredAfterTheScopeBeganCounts(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "ran"), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "ran", tr.take())
}

func TestWithScopeRefusesNil(t *testing.T) {
	t.Parallel()
	text := panicText(t, func() { hooks.WithScope(t.Context(), nil) })
	assert.Contains(t, text, "hooks: WithScope")
	assert.Contains(t, text, "nil")
}

func TestARegistryThatIsActiveAlreadyChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, outer := newRun(t)
	inner := hooks.NewRegistry()
	ctx = hooks.WithScope(ctx, inner)
	assert.Equal(t, ctx, hooks.WithScope(ctx, inner))
	assert.Equal(t, ctx, hooks.WithScope(ctx, outer))
	assert.Equal(t, ctx, hooks.WithScope(ctx, hooks.Default()))
	assert.Equal(t, t.Context(), hooks.WithScope(t.Context(), hooks.Default()))

	var tr trace
	hooks.On(p, note[job](&tr, "default"))
	hooks.On(p, note[job](&tr, "outer"), hooks.In(outer))
	hooks.On(p, note[job](&tr, "inner"), hooks.In(inner))
	again := hooks.WithScope(hooks.WithScope(hooks.WithScope(ctx, outer), hooks.Default()), inner)
	require.NoError(t, hooks.Dispatch(again, p, &job{}))
	assert.Equal(t, "default outer inner", tr.take())
}

func TestAScopeOnANilCtxIsOnABackground(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "ran"), hooks.In(r))
	var none context.Context
	ctx := hooks.WithScope(none, r)
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "ran", tr.take())
}

// An inner scope adds to the outer one and doesn't hide it: a sub-agent can't
// escape the guards of its crew.
func TestScopesNestAndEndWithTheirCtx(t *testing.T) {
	t.Parallel()
	ctx, outer := newRun(t)
	inner := hooks.NewRegistry()
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "outer"), hooks.In(outer))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "inner"), hooks.In(inner))
	dispatch := func(ctx context.Context) string {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		return tr.take()
	}
	assert.Equal(t, "outer", dispatch(ctx))
	assert.Equal(t, "outer inner", dispatch(hooks.WithScope(ctx, inner)))
	assert.Equal(t, "outer", dispatch(ctx))
	assert.Equal(t, "inner outer", dispatch(hooks.WithScope(hooks.WithScope(t.Context(), inner), outer)))

	hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("crew policy")), hooks.In(outer))
	abort := aborted(t, hooks.Dispatch(hooks.WithScope(ctx, inner), hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "crew policy", abort.Reason)
}

func TestSiblingScopesDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	ctx, _ := newRun(t)
	var tr trace
	// Several scopes deep, so that siblings would share what their parent has
	// room for.
	for range 4 {
		ctx = hooks.WithScope(ctx, hooks.NewRegistry())
	}
	var siblings []context.Context
	for i := range 3 {
		r := hooks.NewRegistry()
		hooks.On(hooks.PreStep, note[hooks.Step](&tr, strconv.Itoa(i)), hooks.In(r))
		siblings = append(siblings, hooks.WithScope(ctx, r))
	}
	for i, ctx := range siblings {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, strconv.Itoa(i), tr.take())
	}
}

func TestManyScopesNest(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	var tr trace
	hooks.On(p, note[job](&tr, "d"))
	ctx, want := t.Context(), []string{"d"}
	for i := range 40 {
		r := hooks.NewRegistry()
		hooks.On(p, note[job](&tr, fmt.Sprint("g", i)), hooks.In(r), hooks.AsGuard())
		hooks.On(p, note[job](&tr, fmt.Sprint(i)), hooks.In(r))
		ctx = hooks.WithScope(ctx, r)
		want = append(want, strconv.Itoa(i))
	}
	for i := range 40 {
		want = append(want, fmt.Sprint("g", i))
	}
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Equal(t, strings.Join(want, " "), tr.take())
}

func TestGoroutinesSeeTheScopesOfTheCtxTheyAreGiven(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	hooks.On(hooks.PreModelCall, counter[hooks.ModelCall](&ran), hooks.In(r))
	// A pool whose workers were started outside of any scope.
	work := make(chan context.Context)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx := range work {
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{}))
			}
		})
	}
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{}, func(ctx context.Context, _ *hooks.ToolCall) error {
		for range 5 {
			work <- ctx
			work <- context.Background()
			wg.Go(func() { assert.NoError(t, hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{})) })
			wg.Go(func() {
				assert.NoError(t, hooks.Dispatch(context.Background(), hooks.PreModelCall, &hooks.ModelCall{}))
			})
		}
		return nil
	}))
	close(work)
	wg.Wait()
	assert.EqualValues(t, 10, ran.Load())
}

func TestRunsWithScopesOfTheirOwnConcurrentSafe(t *testing.T) {
	t.Parallel()
	const runs, calls = 50, 10
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			id := strconv.Itoa(i)
			r := hooks.NewRegistry()
			var seen atomic.Int64
			check := func(got string) {
				seen.Add(1)
				assert.Equal(t, id, got)
			}
			hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { check(c.RunID) }), hooks.In(r))
			hooks.On(hooks.PostModelCall, edit(func(m *hooks.ModelCall) { check(m.RunID) }), hooks.In(r))
			x := &hooks.Execution{Caller: hooks.Caller{RunID: id}}
			err := hooks.RunExecution(hooks.WithScope(context.Background(), r), x, func(ctx context.Context, _ *hooks.Execution) error {
				var errs []error
				for range calls {
					errs = append(errs,
						hooks.RunModel(ctx, &hooks.ModelCall{}, fails[hooks.ModelCall](nil)),
						hooks.RunTool(ctx, &hooks.ToolCall{}, fails[hooks.ToolCall](nil)))
				}
				return errors.Join(errs...)
			})
			assert.NoError(t, err)
			assert.EqualValues(t, 2*calls, seen.Load())
		})
	}
	wg.Wait()
}

func TestTheDefaultRegistryTakesPartUnderEveryCtx(t *testing.T) {
	t.Parallel()
	type key struct{}
	p := newPoint[job](t)
	scoped, r := newRun(t)
	hooks.On(p, fails[job](nil), hooks.In(r))
	var tr trace
	hooks.On(p, note[job](&tr, "ran"))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, ctx := range map[string]context.Context{
		"background":     context.Background(),
		"todo":           context.TODO(),
		"with values":    context.WithValue(context.Background(), key{}, 1),
		"cancelled":      cancelled,
		"without cancel": context.WithoutCancel(cancelled),
		"scoped":         scoped,
		"caller":         hooks.WithCaller(context.Background(), hooks.Caller{RunID: "1"}),
	} {
		require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
		assert.Equal(t, "ran", tr.take(), name)
	}
}

func TestEveryKindOfHookCanBeScoped(t *testing.T) {
	t.Parallel()
	for kind, opts := range map[string][]hooks.Option{
		"hook":        nil,
		"fail-closed": {hooks.WithFailClosed()},
		"guard":       {hooks.AsGuard()},
		"once":        {hooks.WithOnce()},
		"timed":       {hooks.WithTimeout(1 << 40)},
		"priority":    {hooks.WithPriority(3)},
	} {
		for _, p := range everyPoint() {
			for _, filters := range [][]hooks.Option{nil, p.filters} {
				ctx, r := newRun(t)
				ran := 0
				p.on(func() error { ran++; return nil }, append(append([]hooks.Option{hooks.In(r)}, opts...), filters...)...)
				require.NoError(t, p.dispatch(t.Context()))
				assert.Zero(t, ran, "%s at %s", kind, p.name)
				require.NoError(t, p.dispatch(ctx))
				assert.Equal(t, 1, ran, "%s at %s", kind, p.name)
			}
		}
	}
}
