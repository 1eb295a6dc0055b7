package hooks

// The counters of the process, which let a dispatch look for nothing: they go
// back when what they count goes.

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted is the context of a point that nobody else hooks.
type counted struct{}

var countedPoint = Define[counted]("internal.counted")

func noHook(context.Context, *counted) error { return nil }

func noWatch(context.Context, *counted, error) {}

func TestPresence_goesBackWithScopeHooks(t *testing.T) {
	scoped := &countedPoint.p.scoped
	require.Zero(t, scoped.Load())
	a, b := NewRegistry(), NewRegistry()
	for name, remove := range map[string]func(r *Registry, regs ...*Registration){
		"Remove":     func(_ *Registry, regs ...*Registration) { regs[0].Remove(); regs[1].Remove() },
		"Unregister": func(r *Registry, regs ...*Registration) { r.Unregister(regs[1]); r.Unregister(regs[0]) },
		"Clear":      func(r *Registry, _ ...*Registration) { r.Clear(countedPoint) },
		"ClearAll":   func(r *Registry, _ ...*Registration) { r.ClearAll() },
		"Join":       func(_ *Registry, regs ...*Registration) { Join(regs[0], regs[1]).Remove() },
	} {
		for range 3 {
			first, second := On(countedPoint, noHook, In(a)), Watch(countedPoint, noWatch, In(a))
			other := Guard(countedPoint, noHook, In(b))
			assert.EqualValues(t, 2, scoped.Load(), "registries, not hooks: "+name)
			remove(a, first, second)
			assert.EqualValues(t, 1, scoped.Load(), name)
			remove(a, first, second)
			assert.EqualValues(t, 1, scoped.Load(), "again: "+name)
			other.Remove()
			assert.Zero(t, scoped.Load(), name)
		}
	}
	for range 3 { // used up
		ctx := WithScope(t.Context(), a)
		On(countedPoint, noHook, In(a), WithOnce())
		Watch(countedPoint, noWatch, In(a), WithOnce())
		assert.EqualValues(t, 1, scoped.Load())
		require.NoError(t, Dispatch(ctx, countedPoint, &counted{}))
		assert.Zero(t, scoped.Load())
		assert.False(t, Enabled(ctx, countedPoint))
	}
	require.True(t, On(countedPoint, noHook).Remove())
	assert.Zero(t, scoped.Load(), "the default registry has no part in it")
}

// What a registry counts for is looked at: others come and go meanwhile.
func (e *presence) counts() (observers int32, points int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.observers, len(e.at)
}

func TestPresence_goesBackWithObservers(t *testing.T) {
	r := NewRegistry()
	observe := func(context.Context, HookDispatchedEvent) {}
	for range 3 {
		one, two := r.Observe(observe), r.Observe(observe)
		observers, _ := r.presence.counts()
		assert.EqualValues(t, 2, observers)
		assert.GreaterOrEqual(t, observed.Load(), int32(2))
		r.ClearAll()
		assert.True(t, one.Remove(), "observers stay")
		assert.False(t, one.Remove())
		observers, _ = r.presence.counts()
		assert.EqualValues(t, 1, observers)
		Join(two).Remove()
		observers, _ = r.presence.counts()
		assert.Zero(t, observers)
	}
}

// A scope that is dropped with all that is in it leaves nothing behind.
func TestPresence_goesBackWithDroppedScopes(t *testing.T) {
	var dropped []*presence
	ran := 0
	for range 10 {
		r := NewRegistry()
		On(countedPoint, func(context.Context, *counted) error { ran++; return nil }, In(r))
		Watch(countedPoint, noWatch, In(r))
		r.Observe(func(context.Context, HookDispatchedEvent) {})
		r.Observe(func(context.Context, HookDispatchedEvent) {}).Remove()
		require.NoError(t, Dispatch(WithScope(context.Background(), r), countedPoint, &counted{}))
		observers, points := r.presence.counts()
		require.EqualValues(t, 1, observers)
		require.Equal(t, 1, points)
		dropped = append(dropped, r.presence)
	}
	assert.Equal(t, 10, ran)
	left := func(e *presence) bool {
		observers, points := e.counts()
		return observers > 0 || points > 0
	}
	for range 1000 {
		if !slices.ContainsFunc(dropped, left) {
			break
		}
		runtime.GC() // the cleanups run in a goroutine of their own
	}
	assert.False(t, slices.ContainsFunc(dropped, left))
	assert.Zero(t, countedPoint.p.scoped.Load())
}

// A hook that runs once lets its function go when it has run, though the hook
// stands in its chain until half of that is used up.
func TestWithOnce_letsItsFunctionGo(t *testing.T) {
	r := NewRegistry()
	t.Cleanup(func() { r.ClearAll() }) // the other tests here count registries at this point
	ctx := WithScope(t.Context(), r)
	for range 10 {
		On(countedPoint, noHook, In(r))
	}
	gone := make(chan struct{}, 2)
	held := func() *[1 << 10]byte {
		page := new([1 << 10]byte)
		runtime.AddCleanup(page, func(int) { gone <- struct{}{} }, 0)
		return page
	}
	page, other := held(), held()
	ran := 0
	On(countedPoint, func(context.Context, *counted) error { ran++; page[0]++; return nil }, In(r), WithOnce())
	Watch(countedPoint, func(context.Context, *counted, error) { ran++; other[0]++ }, In(r), WithOnce())
	page, other = nil, nil
	for range 3 {
		require.NoError(t, Dispatch(ctx, countedPoint, &counted{}))
	}
	assert.Equal(t, 2, ran)
	assert.Len(t, r.Hooks(countedPoint), 10)
	for range 1000 {
		if len(gone) == 2 {
			break
		}
		runtime.GC() // the cleanups run in a goroutine of their own
	}
	assert.Len(t, gone, 2)
}

// presenceSeam is defined once, however often its test runs.
var presenceSeam = DefineSeam[counted]("internal.wrapped")

// What is registered around a body counts for its pre points, so that a loop
// doesn't pass it by, and is counted off again.
func TestPresence_goesBackWithAroundHooks(t *testing.T) {
	seam := presenceSeam
	pass := func(ctx context.Context, _ *counted, next func(context.Context) error) error { return next(ctx) }
	scoped := &seam.Pre.p.scoped
	for what, use := range map[string]func(){
		"Remove": func() {
			r := NewRegistry()
			reg := Around(seam.Body, pass, In(r))
			assert.EqualValues(t, 1, scoped.Load())
			assert.True(t, reg.Remove())
			runtime.KeepAlive(r)
		},
		"Clear, in the default registry": func() {
			Around(seam.Body, pass)
			Around(seam.Body, pass)
			assert.EqualValues(t, 1, scoped.Load())
			assert.Equal(t, 2, Clear(seam.Body))
		},
		"ClearAll": func() {
			r := NewRegistry()
			Around(seam.Body, pass, In(r))
			On(seam.Pre, noHook, In(r))
			assert.EqualValues(t, 2, scoped.Load())
			assert.Equal(t, 2, r.ClearAll())
			runtime.KeepAlive(r)
		},
		"used up": func() {
			r := NewRegistry()
			Around(seam.Body, pass, In(r), WithOnce())
			require.NoError(t, seam.Run(WithScope(t.Context(), r), &counted{}, noHook))
			runtime.KeepAlive(r)
		},
		"a registry that is dropped": func() {
			Around(seam.Body, pass, In(NewRegistry()))
			for i := 0; i < 1000 && scoped.Load() > 0; i++ {
				runtime.GC()
				runtime.Gosched()
			}
		},
	} {
		require.Zero(t, scoped.Load(), what)
		use()
		require.Zero(t, scoped.Load(), what)
		require.Zero(t, seam.Body.p.scoped.Load(), what)
	}
}
