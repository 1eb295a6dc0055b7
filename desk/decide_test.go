package desk_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

func TestDecide_refuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*hooks.Question)
		dec    hooks.Decision
		want   error // nil: an error without a name
	}{
		{"no digest", nil, hooks.Decision{Verdict: hooks.Approve, Digest: "-"}, desk.ErrNotShown},
		{"another digest", nil, hooks.Decision{Verdict: hooks.Approve, Digest: "0000"}, desk.ErrNotShown},
		{"no verdict", nil, hooks.Decision{}, desk.ErrNotAllowed},
		{"a verdict that isn't offered", nil, hooks.Decision{Verdict: hooks.Edit, Arguments: "{}"}, desk.ErrNotAllowed},
		{"a verdict that it may not have", func(q *hooks.Question) { q.May = []hooks.Verdict{hooks.Reject} },
			hooks.Decision{Verdict: hooks.Approve}, desk.ErrNotAllowed},
		{"an unknown verdict", func(q *hooks.Question) { q.May = []hooks.Verdict{"delegate"} },
			hooks.Decision{Verdict: "delegate"}, desk.ErrNotAllowed},
		{"a memory that isn't offered", nil, hooks.Decision{Verdict: hooks.Approve, Remember: hooks.SameArguments}, desk.ErrNotAllowed},
		{"an unknown memory", func(q *hooks.Question) { q.Offer = []hooks.Remember{"forever"} },
			hooks.Decision{Verdict: hooks.Approve, Remember: "forever"}, desk.ErrNotAllowed},
		{"an audience without an authorizer", func(q *hooks.Question) { q.Audience = []string{"finance"} },
			hooks.Decision{Verdict: hooks.Approve, By: "finance"}, desk.ErrNotAllowed},
		{"a rejection by somebody else", func(q *hooks.Question) { q.Audience = []string{"finance"} },
			hooks.Decision{Verdict: hooks.Reject}, desk.ErrNotAllowed},
		{"an approval with arguments", nil, hooks.Decision{Verdict: hooks.Approve, Arguments: "{}"}, nil},
		{"an edit without arguments", mayEdit, hooks.Decision{Verdict: hooks.Edit}, nil},
		{"an edit with a list", mayEdit, hooks.Decision{Verdict: hooks.Edit, Arguments: "[]"}, nil},
		{"an edit with a key twice", mayEdit, hooks.Decision{Verdict: hooks.Edit, Arguments: `{"a":1,"a":2}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := desk.Memory()
			d := desk.New(s)
			q := question()
			if c.change != nil {
				c.change(q)
			}
			mustAsk(t, d, q, false)
			before, err := s.Get(t.Context(), q.ID)
			require.NoError(t, err)
			switch c.dec.Digest {
			case "":
				c.dec.Digest = q.Digest
			case "-":
				c.dec.Digest = ""
			}
			err = d.Decide(t.Context(), q.ID, c.dec)
			require.Error(t, err)
			for _, named := range []error{desk.ErrNotFound, desk.ErrNotShown, desk.ErrDecided, desk.ErrExpired, desk.ErrNotAllowed} {
				assert.Equal(t, errors.Is(c.want, named), errors.Is(err, named), "%v: is it %q?", err, named)
			}
			after, err := s.Get(t.Context(), q.ID)
			require.NoError(t, err)
			assert.Equal(t, before, after, "nothing is changed")
		})
	}
}

func mayEdit(q *hooks.Question) { q.May = []hooks.Verdict{hooks.Edit} }

// TestDecide_decided: what doesn't wait can't be decided, and that counts before
// rights do.
func TestDecide_decided(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	q := asked(t, d)
	late := func() error {
		return d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: "unknown", Digest: q.Digest})
	}
	mustDecide(t, d, q, approval(q))
	assert.ErrorIs(t, late(), desk.ErrDecided, "approved")
	mustAsk(t, d, q, true)
	assert.ErrorIs(t, late(), desk.ErrDecided, "used")
	require.NoError(t, d.Done(t.Context(), q.ID))
	assert.ErrorIs(t, late(), desk.ErrDecided, "done")

	mustAsk(t, d, q, false)
	require.NoError(t, d.Done(t.Context(), q.ID))
	assert.ErrorIs(t, late(), desk.ErrDecided, "withdrawn")
	assert.ErrorIs(t, d.Decide(t.Context(), q.ID, hooks.Decision{}), desk.ErrNotShown, "the digest counts first")
	assert.ErrorIs(t, d.Decide(t.Context(), "unknown", approval(q)), desk.ErrNotFound)
}

func TestDecide_expired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := desk.Memory()
		d := desk.New(s)
		q := asked(t, d)
		time.Sleep(24 * time.Hour)
		assert.ErrorIs(t, d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: "unknown", Digest: q.Digest}), desk.ErrExpired)
		assert.ErrorIs(t, d.Decide(t.Context(), q.ID, hooks.Decision{}), desk.ErrNotShown)
		assert.Equal(t, desk.Expired, stateOf(t, s, q.ID))
	})
}

func TestDecide_keepsBothForms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := desk.New(desk.Memory())
		q := question()
		mayEdit(q)
		mustAsk(t, d, q, false)
		time.Sleep(time.Minute)
		edit := hooks.Decision{Verdict: hooks.Edit, Digest: q.Digest, Arguments: `{ "amount": 80 }`, By: "ana"}
		mustDecide(t, d, q, edit)
		rec, err := d.Get(t.Context(), q.ID)
		require.NoError(t, err)
		assert.Equal(t, `{"amount":90}`, rec.Question.Arguments)
		assert.Equal(t, edit, rec.Decision)
		assert.Equal(t, desk.Approved, rec.State)
		assert.Equal(t, time.Minute, rec.Changed.Sub(rec.Created))
		assert.Equal(t, edit, mustAsk(t, d, q, true))
	})
}

// TestDecide_authorizer: it is asked about rejections too, sees the question, and its
// error is in what comes out.
func TestDecide_authorizer(t *testing.T) {
	t.Parallel()
	errRole := errors.New("no such role")
	var saw []string
	d := desk.New(desk.Memory(), desk.WithAuthorizer(func(_ context.Context, rec desk.Record, by string) error {
		saw = append(saw, by+" "+rec.Question.Tool)
		if by != "ana" {
			return errRole
		}
		return nil
	}))
	q := asked(t, d)
	for _, verdict := range []hooks.Verdict{hooks.Approve, hooks.Reject} {
		err := d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: verdict, Digest: q.Digest, By: "rui"})
		assert.ErrorIs(t, err, desk.ErrNotAllowed)
		assert.ErrorIs(t, err, errRole)
	}
	mustDecide(t, d, q, approval(q))
	assert.Equal(t, []string{"rui pay", "rui pay", "ana pay"}, saw)
}

// TestDecide_askedAnewMeanwhile: the question is asked anew between the look and the
// change, so the decision is for what isn't shown any more.
func TestDecide_askedAnewMeanwhile(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	other := desk.New(s)
	q := asked(t, other)
	race := &racingStore{Store: s, race: func() {
		require.NoError(t, other.Done(t.Context(), q.ID))
		mustAsk(t, other, question(), false)
	}}
	err := desk.New(race).Decide(t.Context(), q.ID, approval(q))
	assert.ErrorIs(t, err, desk.ErrNotShown)
	assert.Equal(t, desk.Open, stateOf(t, s, q.ID))
}

func TestDecide_errorsSayNothingOfArguments(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	q := question()
	mayEdit(q)
	mustAsk(t, d, q, false)
	err := d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Edit, Digest: q.Digest, Arguments: `{"token":"sesame"`})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "sesame")
}
