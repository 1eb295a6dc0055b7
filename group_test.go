package hooks_test

// Groups: several registrations, observers and groups as one handle.

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestJoin_removesEveryPart(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	g := hooks.Join(
		hooks.On(hooks.PreStep, note[hooks.Step](&tr, "hook"), hooks.In(r)),
		hooks.Guard(hooks.PreStep, note[hooks.Step](&tr, "guard"), hooks.In(r)),
		hooks.Join(
			hooks.Watch(hooks.PreStep, look[hooks.Step](&tr, "watch"), hooks.In(r)),
			hooks.Join(r.Observe(func(context.Context, hooks.HookDispatchedEvent) { tr.add("observer") })),
		),
		tracingLoop(&tr).Register(hooks.In(r), hooks.WithName("loop")),
	)
	stays := hooks.On(hooks.PreStep, note[hooks.Step](&tr, "stays"), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "hook stays guard watch observer", tr.take())
	assert.True(t, g.Remove())
	assert.False(t, g.Remove())
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "stays", tr.take())
	assert.True(t, stays.Remove())
	assert.Equal(t, "no hooks\n", r.String())
}

func TestJoin_ignoresWhatIsNil(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	var (
		noRegistration *hooks.Registration
		noObserver     *hooks.Observer
		noGroup        *hooks.Group
	)
	assert.False(t, noGroup.Remove())
	assert.False(t, new(hooks.Group).Remove())
	assert.False(t, hooks.Join().Remove())
	assert.False(t, hooks.Join(nil, noRegistration, noObserver, noGroup, new(hooks.Group), hooks.Join(nil)).Remove())
	reg := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	assert.True(t, hooks.Join(noRegistration, nil, reg, noGroup, nil).Remove())
	assert.Empty(t, r.Hooks(hooks.PreStep))
}

func TestJoin_tellsWhetherAnythingWasLeft(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	on := func() *hooks.Registration { return hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r)) }
	a, b := on(), on()
	g := hooks.Join(a, b)
	a.Remove()
	assert.True(t, g.Remove(), "one was left")
	assert.False(t, b.Remove())

	c := on()
	g = hooks.Join(c)
	r.ClearAll()
	assert.False(t, g.Remove(), "none was left")
	assert.False(t, g.Remove())

	d := on()
	g, other := hooks.Join(d, d), hooks.Join(d)
	assert.True(t, g.Remove(), "twice the same")
	assert.False(t, other.Remove())
}

// The slice that Join was given stays the caller's.
func TestJoin_keepsItsOwnList(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	parts := []interface{ Remove() bool }{hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))}
	g := hooks.Join(parts...)
	parts[0] = nil
	assert.True(t, g.Remove())
}

// removal is a part of somebody else's.
type removal func() bool

func (f removal) Remove() bool { return f() }

func TestJoin_takesForeignParts(t *testing.T) {
	t.Parallel()
	removed := 0
	var other *hooks.Group
	g := hooks.Join(removal(func() bool { removed++; return other.Remove() }), removal(func() bool { removed++; return false }))
	other = hooks.Join(removal(func() bool { removed++; return true }))
	assert.True(t, g.Remove())
	assert.Equal(t, 3, removed)
	assert.False(t, g.Remove())
	assert.Equal(t, 3, removed, "each is asked once")
}

func TestGroup_removeConcurrentSafe(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	var parts []interface{ Remove() bool }
	for range 100 {
		parts = append(parts, hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r)))
	}
	g := hooks.Join(parts...)
	var removed atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if g.Remove() {
				removed.Add(1)
			}
			assert.Empty(t, r.Hooks(hooks.PreStep), "all are gone when any Remove returns")
		})
	}
	wg.Wait()
	assert.Equal(t, int32(1), removed.Load())
}

func TestGroup_mayBeRemovedByItsHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var g *hooks.Group
	runs := 0
	g = hooks.Join(
		hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { runs++; g.Remove(); return nil }, hooks.In(r)),
		r.Observe(func(context.Context, hooks.HookDispatchedEvent) { g.Remove() }),
	)
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, 1, runs)
}

func TestLoopRegistration_isAGroup(t *testing.T) {
	t.Parallel()
	assert.Equal(t, reflect.TypeFor[hooks.Group](), reflect.TypeFor[hooks.LoopRegistration]())
}
