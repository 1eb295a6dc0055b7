package turns

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// doneLater is a ctx that is found to be done only when it is looked at for the
// second time.
type doneLater struct {
	context.Context
	looks int
}

func (c *doneLater) Err() error {
	c.looks++
	if c.looks == 1 {
		return nil
	}
	return context.Canceled
}

func TestTurnstile_contextDoneMeanwhile(t *testing.T) {
	t.Parallel()
	turn := New()
	require.ErrorIs(t, turn.Take(&doneLater{Context: t.Context()}), context.Canceled)
	require.NoError(t, turn.Take(t.Context()), "the turn is free")
}

func TestTurnstile_contextDoneFromTheStart(t *testing.T) {
	t.Parallel()
	why := errors.New("budget spent")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	turn := New()
	err := turn.Take(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, why)
	require.NoError(t, turn.Take(t.Context()), "the turn is free")
}

func TestTurnstile_oneAtATimeInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn := New()
		require.NoError(t, turn.Take(t.Context()))
		var order []int
		for i := range 5 {
			go func() {
				if assert.NoError(t, turn.Take(t.Context())) {
					order = append(order, i)
					turn.Give()
				}
			}()
			synctest.Wait()
		}
		assert.Empty(t, order)
		turn.Give()
		synctest.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4}, order)
	})
}

// ring is an error that wraps itself.
type ring struct{}

func (ring) Error() string   { return "ring" }
func (r ring) Unwrap() error { return r }

// uncomparable is an error that can't be compared with ==.
type uncomparable []string

func (uncomparable) Error() string { return "uncomparable" }

type failed struct {
	context.Context
	err error
}

func (c failed) Err() error { return c.err }

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	why := errors.New("budget spent")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	withCause, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(why)
	circular, cancelCircular := context.WithCancelCause(t.Context())
	cancelCircular(ring{})
	for _, tc := range []struct {
		name string
		ctx  context.Context
		want string
	}{
		{"cancelled", cancelled, "hooks: no answer: context canceled"},
		{"with a cause", withCause, "hooks: no answer: context canceled: budget spent"},
		{"circular cause", circular, "hooks: no answer: context canceled: ring"},
		{"circular error of a ctx", failed{circular, ring{}}, "hooks: no answer: ring"},
		{"uncomparable error of a ctx", failed{cancelled, uncomparable{}}, "hooks: no answer: uncomparable: context canceled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			assert.EqualError(t, NoAnswer(tc.ctx), tc.want)
		})
	}
}

func TestPool_sharesWhileHeld(t *testing.T) {
	t.Parallel()
	var p Pool[*int]
	first, second := new(int), new(int)
	assert.Same(t, first, p.Hold("a", first))
	assert.Same(t, first, p.Hold("a", second))
	assert.Same(t, second, p.Hold("b", second))
	assert.Equal(t, 2, p.Len())
	p.Release("a")
	assert.Equal(t, 2, p.Len())
	p.Release("a")
	p.Release("b")
	assert.Zero(t, p.Len())
	assert.Same(t, second, p.Hold("a", second))
}

func TestKey(t *testing.T) {
	t.Parallel()
	type inside struct{ v any }
	for name, tc := range map[string]struct {
		v        any
		fallback bool
	}{
		"pointer":            {v: new(int)},
		"value":              {v: "text"},
		"func":               {v: func() {}, fallback: true},
		"slice in a struct":  {v: inside{[]int{}}, fallback: true},
		"NaN":                {v: math.NaN(), fallback: true},
		"NaN in a struct":    {v: inside{math.NaN()}, fallback: true},
		"pointer to a slice": {v: &[]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fallback := new(byte)
			key := Key(tc.v, fallback)
			assert.Equal(t, tc.fallback, key == any(fallback))
			var p Pool[int]
			p.Hold(key, 1)
			p.Release(key)
			assert.Zero(t, p.Len())
		})
	}
}
