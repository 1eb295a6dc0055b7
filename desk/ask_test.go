package desk_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// TestAsk_byState walks through what an Ask finds.
func TestAsk_byState(t *testing.T) {
	t.Parallel()
	decide := func(verdict hooks.Verdict) func(*testing.T, *desk.Desk, *hooks.Question) {
		return func(t *testing.T, d *desk.Desk, q *hooks.Question) {
			mustDecide(t, d, q, hooks.Decision{Verdict: verdict, Digest: q.Digest, Reason: "because", By: "ana"})
		}
	}
	use := func(t *testing.T, d *desk.Desk, q *hooks.Question) {
		decide(hooks.Approve)(t, d, q)
		mustAsk(t, d, q, true)
	}
	for _, c := range []struct {
		name    string
		before  func(*testing.T, *desk.Desk, *hooks.Question)
		decided bool
		again   int
		state   desk.State
	}{
		{"open", func(*testing.T, *desk.Desk, *hooks.Question) {}, false, 0, desk.Open},
		{"approved", decide(hooks.Approve), true, 0, desk.Used},
		{"rejected", decide(hooks.Reject), true, 0, desk.Rejected},
		{"used", use, false, 1, desk.Open},
		{"done", func(t *testing.T, d *desk.Desk, q *hooks.Question) {
			use(t, d, q)
			require.NoError(t, d.Done(t.Context(), q.ID))
		}, false, 1, desk.Open},
		{"withdrawn", func(t *testing.T, d *desk.Desk, _ *hooks.Question) {
			other := question()
			other.ID, other.Arguments = "other", `{}`
			mustAsk(t, d, other, false)
		}, false, 1, desk.Open},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := desk.Memory()
			var told []desk.Record
			d := desk.New(s, desk.WithNotify(func(_ context.Context, rec desk.Record) { told = append(told, rec) }))
			first := asked(t, d)
			c.before(t, d, first)
			told = nil

			q := question()
			dec := mustAsk(t, d, q, c.decided)
			assert.Equal(t, c.again, q.Again)
			want := question()
			want.Again = c.again
			want.Rebind()
			assert.Equal(t, want.Digest, q.Digest)
			assert.Equal(t, c.state, stateOf(t, s, q.ID))
			if c.decided {
				assert.Equal(t, q.Digest, dec.Digest)
				assert.Equal(t, "ana", dec.By)
				assert.Equal(t, "because", dec.Reason)
			}
			if c.again > 0 {
				require.Len(t, told, 1, "who is asked anew is told so")
				assert.Equal(t, q.Digest, told[0].Question.Digest)
				assert.ErrorIs(t, d.Decide(t.Context(), q.ID, approval(first)), desk.ErrNotShown, "an old form")
				mustDecide(t, d, q, approval(q))
				mustAsk(t, d, question(), true)
			} else {
				assert.Empty(t, told)
			}
		})
	}
}

// TestAsk_rejectionsAnswerAgain: a rejection isn't used up.
func TestAsk_rejectionsAnswerAgain(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	q := asked(t, d)
	mustDecide(t, d, q, hooks.Decision{Verdict: hooks.Reject, Digest: q.Digest, Reason: "too dear", By: "ana"})
	for range 3 {
		dec := mustAsk(t, desk.New(desk.Memory()), question(), false)
		assert.Empty(t, dec)
		dec = mustAsk(t, d, question(), true)
		assert.Equal(t, "too dear", dec.Reason)
	}
}

func TestAsk_expires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := desk.Memory()
		d := desk.New(s)
		q := asked(t, d)
		assert.Equal(t, time.Now().Add(24*time.Hour).UTC(), q.Expires)
		time.Sleep(24*time.Hour - time.Microsecond)
		mustAsk(t, d, question(), false)
		time.Sleep(time.Microsecond)
		for range 2 {
			late := question()
			dec := mustAsk(t, d, late, true)
			assert.Equal(t, hooks.Decision{Verdict: hooks.Reject, Digest: late.Digest, Reason: desk.ExpiredReason}, dec)
		}
		assert.Equal(t, desk.Expired, stateOf(t, s, q.ID))
	})
}

func TestAsk_approvalExpiresUnused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := desk.New(desk.Memory(), desk.WithExpiry(time.Minute))
		q := asked(t, d)
		mustDecide(t, d, q, approval(q))
		time.Sleep(time.Minute)
		assert.Equal(t, hooks.Reject, mustAsk(t, d, question(), true).Verdict)
		rec, err := d.Get(t.Context(), q.ID)
		require.NoError(t, err)
		assert.Equal(t, desk.Expired, rec.State)
		assert.Equal(t, "ana", rec.Decision.By, "the record keeps who approved")
		assert.ErrorIs(t, d.Decide(t.Context(), q.ID, approval(q)), desk.ErrExpired)
	})
}

// TestAsk_expiresAnewWhenAskedAnew: the time of an asking is its own.
func TestAsk_expiresAnewWhenAskedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := desk.New(desk.Memory(), desk.WithExpiry(time.Minute))
		q := asked(t, d)
		mustDecide(t, d, q, approval(q))
		mustAsk(t, d, q, true)
		time.Sleep(time.Hour)
		began := time.Now().Add(-time.Hour).UTC()
		again := question()
		mustAsk(t, d, again, false)
		assert.Equal(t, 1, again.Again)
		assert.Equal(t, time.Now().Add(time.Minute).UTC(), again.Expires)
		rec, err := d.Get(t.Context(), q.ID)
		require.NoError(t, err)
		assert.Equal(t, began, rec.Created)
		assert.Equal(t, time.Now().UTC(), rec.Changed)
	})
}

func TestAsk_ownExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := 0
		d := desk.New(desk.Memory(), desk.WithNotify(func(context.Context, desk.Record) { told++ }))
		q := question()
		q.Expires = time.Now().Add(time.Second)
		mustAsk(t, d, q, false)
		later := question()
		later.Expires = time.Now().Add(time.Hour)
		mustAsk(t, d, later, false)
		assert.Equal(t, q.Expires, later.Expires, "it is the one that is kept")
		time.Sleep(time.Second)
		assert.Equal(t, hooks.Reject, mustAsk(t, d, question(), true).Verdict)
		assert.Equal(t, 1, told)

		past := question()
		past.ID, past.Expires = "past", time.Now()
		assert.Equal(t, desk.ExpiredReason, mustAsk(t, d, past, true).Reason)
		assert.Equal(t, 1, told, "nobody can answer that")
	})
}

// TestAsk_keepsWhatWasPutFirst: people decide what they are shown.
func TestAsk_keepsWhatWasPutFirst(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	asked(t, d)
	other := question()
	other.Prompt, other.Audience = "Really pay?", []string{"finance"}
	mustAsk(t, d, other, false)
	rec, err := d.Get(t.Context(), other.ID)
	require.NoError(t, err)
	assert.Equal(t, "Pay?", rec.Question.Prompt)

	mustDecide(t, d, other, approval(other))
	mustAsk(t, d, question(), true)
	other = question()
	other.Prompt = "Really pay again?"
	mustAsk(t, d, other, false)
	rec, err = d.Get(t.Context(), other.ID)
	require.NoError(t, err)
	assert.Equal(t, "Really pay again?", rec.Question.Prompt, "what is asked anew is new")
	assert.Equal(t, hooks.Decision{}, rec.Decision)
}

// TestAsk_digestOfTheStore: a record whose digest isn't that of the question, as
// after a change of what it covers, is asked anew and never used.
func TestAsk_digestOfTheStore(t *testing.T) {
	t.Parallel()
	for _, state := range []desk.State{desk.Open, desk.Approved, desk.Used, desk.Rejected} {
		for _, where := range []string{"question", "decision"} {
			s := desk.Memory()
			q := question()
			rec := desk.Record{Question: *q, Decision: approval(q), State: state}
			if where == "question" {
				rec.Question.Digest = "old"
			}
			rec.Decision.Digest = "old"
			_, err := s.Insert(t.Context(), rec)
			require.NoError(t, err)
			if where == "decision" && state != desk.Approved {
				continue
			}
			mustAsk(t, desk.New(s), q, false)
			assert.Equal(t, 1, q.Again, "%s, digest of the %s", state, where)
			assert.Equal(t, desk.Open, stateOf(t, s, q.ID))
		}
	}
}

func TestAsk_unknownState(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	_, err := s.Insert(t.Context(), desk.Record{Question: *question(), State: "of tomorrow"})
	require.NoError(t, err)
	_, decided, err := desk.New(s).Ask(t.Context(), question())
	assert.False(t, decided)
	assert.ErrorContains(t, err, `"of tomorrow"`)
}

func TestAsk_incompleteQuestion(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	for name, spoil := range map[string]func(*hooks.Question){
		"no ID":        func(q *hooks.Question) { q.ID = "" },
		"no RootRunID": func(q *hooks.Question) { q.RootRunID = "" },
		"no CallID":    func(q *hooks.Question) { q.CallID = "" },
	} {
		q := question()
		spoil(q)
		_, decided, err := d.Ask(t.Context(), q)
		assert.False(t, decided, name)
		assert.Error(t, err, name)
	}
	_, _, err := d.Ask(t.Context(), nil)
	assert.Error(t, err)
}

// TestAsk_notifyPanics replaces the logger of the process for its time.
func TestAsk_notifyPanics(t *testing.T) {
	var log bytes.Buffer
	was := slog.Default()
	t.Cleanup(func() { slog.SetDefault(was) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	ran := 0
	d := desk.New(desk.Memory(), desk.WithNotify(func(context.Context, desk.Record) {
		ran++
		panic("the chat is down")
	}))
	q := asked(t, d)
	assert.Equal(t, 1, ran)
	assert.Contains(t, log.String(), `question=q panic="the chat is down"`)
	mustDecide(t, d, q, approval(q))
	mustAsk(t, d, q, true)
}

// TestAsk_notifyDecides: no lock is held then.
func TestAsk_notifyDecides(t *testing.T) {
	t.Parallel()
	var d *desk.Desk
	d = desk.New(openFile(t, t.TempDir()), desk.WithNotify(func(ctx context.Context, rec desk.Record) {
		assert.NoError(t, d.Decide(ctx, rec.Question.ID, approval(&rec.Question)))
		rec.Question.Prompt = "theirs"
	}))
	q := asked(t, d)
	mustAsk(t, d, q, true)
}

// TestAsk_storeConflicts: a store that never lets anybody win ends the Ask.
func TestAsk_storeConflicts(t *testing.T) {
	t.Parallel()
	s := &conflictingStore{desk.Memory()}
	_, decided, err := desk.New(s).Ask(t.Context(), question())
	assert.False(t, decided)
	assert.ErrorContains(t, err, "somebody else was faster")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = desk.New(s).Ask(ctx, question())
	assert.ErrorIs(t, err, context.Canceled)
}

type conflictingStore struct{ desk.Store }

func (*conflictingStore) Get(context.Context, string) (desk.Record, error) {
	return desk.Record{}, desk.ErrNotFound
}

func (*conflictingStore) List(context.Context, desk.Query) iter.Seq2[desk.Record, error] {
	return func(func(desk.Record, error) bool) {}
}

func (*conflictingStore) Insert(context.Context, desk.Record) (desk.Record, error) {
	return desk.Record{}, desk.ErrExists
}

// TestAsk_storeFails breaks the store at each of its calls in turn, before and
// after it has stored. Whatever happens, no passage runs without an approval of its
// own, a failed Ask lets nothing through, and the call can go on afterwards.
func TestAsk_storeFails(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{false, true} {
		failures := 0
		for at := 0; ; at++ {
			s := &faultyStore{Store: desk.Memory(), left: at, stored: stored}
			d := desk.New(s)
			ran, approved := map[string]int{}, map[string]bool{}
			failed := false
			for range 10 {
				q := question()
				_, decided, err := d.Ask(t.Context(), q)
				switch {
				case err != nil:
					require.ErrorIs(t, err, errBroken)
					require.False(t, decided)
					failed = true
				case decided:
					ran[q.Digest]++
					if err := d.Done(t.Context(), q.ID); err != nil {
						failed = true
					}
				default:
					approved[q.Digest] = true // also where the answer is lost
					dec := approval(q)
					if err := d.Decide(t.Context(), q.ID, dec); err != nil {
						failed = true
					}
				}
			}
			require.NotEmpty(t, ran, "call %d", at)
			for digest, n := range ran {
				require.Equal(t, 1, n, "call %d: one approval let several passages run", at)
				require.True(t, approved[digest], "call %d", at)
			}
			if s.left >= 0 {
				break // no call was left to fail
			}
			if failed {
				failures++
			}
		}
		assert.Greater(t, failures, 20)
	}
}

// TestAsk_randomly has several desks do what they like with two calls, one step at
// a time, and forget what they hold. One approval is one run, always.
func TestAsk_randomly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := desk.Memory()
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		open := func() *desk.Desk {
			return desk.New(s, desk.WithClock(func() time.Time { return now }), desk.WithExpiry(time.Hour))
		}
		desks := []*desk.Desk{open(), open(), open()}
		shown := map[string][]string{} // the digests of each question that anybody has seen
		approved, ran := map[string]bool{}, map[string]bool{}
		for range 200 {
			i := random.IntN(len(desks))
			d := desks[i]
			q := question()
			if random.IntN(5) == 0 {
				q.ID, q.Arguments = "other", `{}`
				q.Rebind()
			}
			switch random.IntN(10) {
			case 0, 1, 2, 3:
				dec := mustAskEither(t, d, q)
				shown[q.ID] = append(shown[q.ID], q.Digest)
				if dec.Verdict == hooks.Approve {
					require.False(t, ran[q.Digest], "seed %d: an approval was used twice", seed)
					require.True(t, approved[q.Digest], "seed %d: it ran without an approval", seed)
					ran[q.Digest] = true
				}
			case 4, 5, 6:
				if n := len(shown[q.ID]); n > 0 {
					dec := hooks.Decision{Verdict: hooks.Approve, Digest: shown[q.ID][max(0, n-1-random.IntN(3))]}
					if random.IntN(30) == 0 {
						dec.Verdict = hooks.Reject
					}
					if err := d.Decide(t.Context(), q.ID, dec); err == nil && dec.Verdict == hooks.Approve {
						require.False(t, approved[dec.Digest], "seed %d: a question was approved twice", seed)
						approved[dec.Digest] = true
					}
				}
			case 7, 8:
				if err := d.Done(t.Context(), q.ID); err != nil {
					require.ErrorIs(t, err, desk.ErrNotFound)
				}
			case 9:
				if random.IntN(20) == 0 {
					now = now.Add(40 * time.Minute)
				}
				desks[i] = open()
			}
		}
	}
}

func mustAskEither(t *testing.T, d *desk.Desk, q *hooks.Question) hooks.Decision {
	t.Helper()
	dec, decided, err := d.Ask(t.Context(), q)
	require.NoError(t, err)
	if !decided {
		return hooks.Decision{}
	}
	require.Equal(t, q.Digest, dec.Digest)
	return dec
}

// TestAsk_lostUse: who loses an approval to another changes nothing.
func TestAsk_lostUse(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	winner := desk.New(s)
	q := asked(t, winner)
	mustDecide(t, winner, q, approval(q))
	race := &racingStore{Store: s, race: func() { mustAsk(t, winner, question(), true) }}
	loser := question()
	mustAsk(t, desk.New(race), loser, false)
	assert.Equal(t, 0, loser.Again)
	assert.Equal(t, q.Digest, loser.Digest)
	assert.Equal(t, desk.Used, stateOf(t, s, q.ID))
	require.NoError(t, winner.Done(t.Context(), q.ID))
	assert.Equal(t, desk.Done, stateOf(t, s, q.ID))

	again := asked(t, winner)
	mustDecide(t, winner, again, approval(again))
	race = &racingStore{Store: s, race: func() {
		mustAsk(t, winner, question(), true)
		mustAsk(t, winner, question(), false) // which asks anew
	}}
	mustAsk(t, desk.New(race), loser, false)
	assert.Equal(t, 2, loser.Again, "it is told what waits")
	rec, err := s.Get(t.Context(), q.ID)
	require.NoError(t, err)
	assert.Equal(t, rec.Question.Digest, loser.Digest)
	assert.Equal(t, rec.Expires, loser.Expires)
}

// TestAsk_usedMeanwhile: a question about other arguments is used before it could be
// withdrawn.
func TestAsk_usedMeanwhile(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	other := desk.New(s)
	q := asked(t, other)
	mustDecide(t, other, q, approval(q))
	race := &racingStore{Store: s, race: func() { mustAsk(t, other, question(), true) }}
	second := question()
	second.ID, second.Arguments = "second", `{}`
	mustAsk(t, desk.New(race), second, false)
	assert.Equal(t, desk.Used, stateOf(t, s, q.ID))
	assert.Equal(t, desk.Open, stateOf(t, s, second.ID))
}

// racingStore has somebody else do something between a look and the Update.
type racingStore struct {
	desk.Store
	race func()
}

func (s *racingStore) Update(ctx context.Context, rec desk.Record) error {
	if race := s.race; race != nil {
		s.race = nil
		race()
	}
	return s.Store.Update(ctx, rec)
}

// TestAsk_useWhileReopening: somebody else asks anew between the look and the
// change of this one, so that it isn't asked anew twice.
func TestAsk_useWhileReopening(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	other := desk.New(s)
	q := asked(t, other)
	mustDecide(t, other, q, approval(q))
	mustAsk(t, other, q, true)
	race := &racingStore{Store: s, race: func() { mustAsk(t, other, question(), false) }}
	second := question()
	mustAsk(t, desk.New(race), second, false)
	assert.Equal(t, 1, second.Again)
	assert.Equal(t, desk.Open, stateOf(t, s, q.ID))

	// The other asks anew, it is approved and used, all in between.
	mustDecide(t, other, second, approval(second))
	mustAsk(t, other, question(), true)
	race = &racingStore{Store: s, race: func() {
		third := question()
		mustAsk(t, other, third, false)
		mustDecide(t, other, third, approval(third))
		mustAsk(t, other, question(), true)
	}}
	fourth := question()
	mustAsk(t, desk.New(race), fourth, false)
	assert.Equal(t, 2, fourth.Again)
	assert.Equal(t, desk.Used, stateOf(t, s, q.ID), "it is the other's, who lives")
}

func TestAsk_errorsSayNothingOfArguments(t *testing.T) {
	t.Parallel()
	d := desk.New(&faultyStore{Store: desk.Memory()})
	q := question()
	q.Arguments = `{"token":"sesame"}`
	_, _, err := d.Ask(t.Context(), q)
	require.ErrorIs(t, err, errBroken)
	assert.NotContains(t, err.Error(), "sesame")
}
