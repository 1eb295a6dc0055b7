package desk_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// TestDone_lateByState: the end of a use comes when the question was asked anew and
// has gone on, by another process.
func TestDone_lateByState(t *testing.T) {
	t.Parallel()
	again := func(t *testing.T, other *desk.Desk) *hooks.Question {
		q := question()
		mustAsk(t, other, q, false)
		return q
	}
	for _, c := range []struct {
		name  string
		other func(t *testing.T, other *desk.Desk)
		want  desk.State
	}{
		{"used", func(*testing.T, *desk.Desk) {}, desk.Done},
		{"asked anew", func(t *testing.T, other *desk.Desk) { again(t, other) }, desk.Withdrawn},
		{"approved again", func(t *testing.T, other *desk.Desk) {
			q := again(t, other)
			mustDecide(t, other, q, approval(q))
		}, desk.Withdrawn},
		{"used again", func(t *testing.T, other *desk.Desk) {
			q := again(t, other)
			mustDecide(t, other, q, approval(q))
			mustAsk(t, other, q, true)
		}, desk.Used},
		{"used again and done", func(t *testing.T, other *desk.Desk) {
			q := again(t, other)
			mustDecide(t, other, q, approval(q))
			mustAsk(t, other, q, true)
			require.NoError(t, other.Done(t.Context(), q.ID))
		}, desk.Done},
		{"rejected now", func(t *testing.T, other *desk.Desk) {
			q := again(t, other)
			mustDecide(t, other, q, hooks.Decision{Verdict: hooks.Reject, Digest: q.Digest})
		}, desk.Rejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := desk.Memory()
			slow, other := desk.New(s), desk.New(s)
			q := asked(t, slow)
			mustDecide(t, slow, q, approval(q))
			mustAsk(t, slow, q, true)
			c.other(t, other)
			require.NoError(t, slow.Done(t.Context(), q.ID))
			assert.Equal(t, c.want, stateOf(t, s, q.ID))
			require.NoError(t, other.Done(t.Context(), q.ID))
			if c.want == desk.Used {
				assert.Equal(t, desk.Done, stateOf(t, s, q.ID), "the use that went on has ended")
			} else {
				assert.Equal(t, c.want, stateOf(t, s, q.ID))
			}
		})
	}
}

// TestDone_ofAnotherDesk: the process that tells of the end needn't be the one that
// has asked.
func TestDone_ofAnotherDesk(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	d := desk.New(s)
	q := asked(t, d)
	mustDecide(t, d, q, approval(q))
	mustAsk(t, d, q, true)
	require.NoError(t, desk.New(s).Done(t.Context(), q.ID))
	assert.Equal(t, desk.Done, stateOf(t, s, q.ID))
}

// TestDone_twoUsesOfOneDesk: where two uses of one desk are under way, each end
// leaves something that lets nothing run.
func TestDone_twoUsesOfOneDesk(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	d := desk.New(s)
	for range 2 {
		q := asked(t, d)
		mustDecide(t, d, q, approval(q))
		mustAsk(t, d, q, true)
	}
	require.NoError(t, d.Done(t.Context(), "q"))
	assert.Equal(t, desk.Done, stateOf(t, s, "q"))
	third := asked(t, d)
	assert.Equal(t, 2, third.Again)
	mustDecide(t, d, third, approval(third))
	require.NoError(t, d.Done(t.Context(), "q"))
	assert.Equal(t, desk.Withdrawn, stateOf(t, s, "q"))
	assert.Equal(t, 3, asked(t, d).Again)
}

// TestDone_pinsTheUse: without an Ask of this desk, the end is that of the use which
// it finds, also where that is asked anew and used meanwhile.
func TestDone_pinsTheUse(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	other := desk.New(s)
	use := func() {
		q := asked(t, other)
		mustDecide(t, other, q, approval(q))
		mustAsk(t, other, q, true)
	}
	use()
	race := &racingStore{Store: s, race: use}
	require.NoError(t, desk.New(race).Done(t.Context(), "q"))
	assert.Equal(t, desk.Used, stateOf(t, s, "q"))
}

func TestDone_unknown(t *testing.T) {
	t.Parallel()
	assert.ErrorIs(t, desk.New(desk.Memory()).Done(t.Context(), "q"), desk.ErrNotFound)
}

// TestDone_failureForgetsTheUse: the passage has ended, though nobody could be told.
func TestDone_failureForgetsTheUse(t *testing.T) {
	t.Parallel()
	inner := desk.Memory()
	s := &faultyStore{Store: inner, left: 1000}
	d := desk.New(s)
	q := asked(t, d)
	mustDecide(t, d, q, approval(q))
	mustAsk(t, d, q, true)
	s.left = 0
	require.ErrorIs(t, d.Done(t.Context(), q.ID), errBroken)
	assert.Equal(t, desk.Used, stateOf(t, inner, q.ID))

	other := desk.New(inner)
	again := asked(t, other)
	mustDecide(t, other, again, approval(again))
	mustAsk(t, other, again, true)
	require.NoError(t, d.Done(t.Context(), q.ID), "it knows of no use, and takes the one that it finds")
	assert.Equal(t, desk.Done, stateOf(t, inner, q.ID))
}
