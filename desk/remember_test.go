package desk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// offering returns a question about another call that may be remembered.
func offering(call string) *hooks.Question {
	q := question()
	q.ID, q.CallID, q.Offer = call, call, []hooks.Remember{hooks.SameArguments}
	q.Rebind()
	return q
}

// remembering makes a decision that is remembered.
func remembering(t *testing.T, d *desk.Desk, verdict hooks.Verdict) {
	t.Helper()
	q := offering("first")
	mustAsk(t, d, q, false)
	mustDecide(t, d, q, hooks.Decision{Verdict: verdict, Digest: q.Digest, By: "ana", Remember: hooks.SameArguments})
}

func TestRemember_otherQuestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*hooks.Question)
		decided bool
	}{
		"equal":               {func(*hooks.Question) {}, true},
		"of a sub-agent":      {func(q *hooks.Question) { q.RunID, q.Path, q.AgentRole = "run-2", []string{"c"}, "buyer" }, true},
		"of another run":      {func(q *hooks.Question) { q.RootRunID = "run-2" }, false},
		"with other args":     {func(q *hooks.Question) { q.Arguments = `{}` }, false},
		"of another tool":     {func(q *hooks.Question) { q.Tool = "pay_all" }, false},
		"by another hook":     {func(q *hooks.Question) { q.Key = "second" }, false},
		"of another tenant":   {func(q *hooks.Question) { q.Tenant = "acme" }, false},
		"that don't offer it": {func(q *hooks.Question) { q.Offer = nil }, false},
		"for other people":    {func(q *hooks.Question) { q.Audience = []string{"finance"} }, false},
		"without the verdict": {func(q *hooks.Question) { q.May = []hooks.Verdict{hooks.Reject} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := desk.Memory()
			remembering(t, desk.New(s), hooks.Approve)
			q := offering("second")
			c.change(q)
			q.Rebind()
			dec := mustAsk(t, desk.New(s), q, c.decided)
			if c.decided {
				assert.Equal(t, hooks.Decision{
					Verdict: hooks.Approve, Digest: q.Digest, By: "ana", Remember: hooks.SameArguments,
				}, dec)
			}
		})
	}
}

// TestRemember_several: each is remembered for itself.
func TestRemember_several(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	changes := map[string]func(*hooks.Question){
		"none": func(*hooks.Question) {},
		"run":  func(q *hooks.Question) { q.RootRunID = "run-2" }, "tenant": func(q *hooks.Question) { q.Tenant = "acme" },
		"tool": func(q *hooks.Question) { q.Tool = "pay_all" }, "arguments": func(q *hooks.Question) { q.Arguments = `{}` },
		"key": func(q *hooks.Question) { q.Key = "second" },
	}
	put := func(call string, change func(*hooks.Question), decided bool) *hooks.Question {
		q := offering(call)
		change(q)
		q.Rebind()
		mustAsk(t, d, q, decided)
		return q
	}
	for name, change := range changes {
		q := put(name, change, false)
		mustDecide(t, d, q, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, Remember: hooks.SameArguments})
	}
	for name, change := range changes {
		put("later-"+name, change, true)
	}
}

func TestRemember_rejection(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	d := desk.New(s)
	remembering(t, d, hooks.Reject)
	for range 2 {
		q := offering("second")
		assert.Equal(t, hooks.Reject, mustAsk(t, d, q, true).Verdict)
		assert.Equal(t, desk.Rejected, stateOf(t, s, q.ID))
	}
}

// TestRemember_usedOnce: a remembered decision lets each question through once, too.
func TestRemember_usedOnce(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	d := desk.New(s)
	remembering(t, d, hooks.Approve)
	mustAsk(t, d, offering("second"), true)
	again := offering("second")
	mustAsk(t, desk.New(s), again, false)
	assert.Equal(t, 1, again.Again, "the end of the first use isn't known: people are asked")
	mustAsk(t, desk.New(s), offering("second"), false)
	mustDecide(t, d, again, approval(again))
	mustAsk(t, d, offering("second"), true)
}

// TestRemember_race: another process answers the question from memory, or puts it, in
// between.
func TestRemember_race(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	other := desk.New(s)
	waits := offering("second")
	mustAsk(t, other, waits, false)
	remembering(t, other, hooks.Approve)
	race := &racingStore{Store: s, race: func() { mustAsk(t, other, offering("second"), true) }}
	mustAsk(t, desk.New(race), offering("second"), false)
	assert.Equal(t, desk.Used, stateOf(t, s, "second"))
}

func TestRemember_endsWithTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := desk.Memory()
		d := desk.New(s, desk.WithExpiry(time.Hour))
		remembering(t, d, hooks.Approve)
		time.Sleep(time.Hour - time.Microsecond)
		mustAsk(t, d, offering("second"), true)
		time.Sleep(time.Microsecond)
		mustAsk(t, d, offering("third"), false)

		var states []desk.State
		for rec, err := range d.List(t.Context(), desk.Query{}) {
			require.NoError(t, err)
			if rec.Question.CallID == "" {
				states = append(states, rec.State)
			}
		}
		assert.Equal(t, []desk.State{desk.Expired}, states)
		mustAsk(t, d, offering("another"), false)

		time.Sleep(time.Microsecond)
		third, err := d.Get(t.Context(), "third")
		require.NoError(t, err)
		mustDecide(t, d, &third.Question, hooks.Decision{
			Verdict: hooks.Approve, Digest: third.Question.Digest, Remember: hooks.SameArguments,
		})
		mustAsk(t, d, offering("fourth"), true)
	})
}

// TestRemember_lastDecision: the last decision is the one that is remembered, also if
// the one before it is used later.
func TestRemember_lastDecision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := desk.New(desk.Memory())
		second := offering("second")
		mustAsk(t, d, second, false)
		remembering(t, d, hooks.Approve)
		time.Sleep(time.Second)
		mustDecide(t, d, second, hooks.Decision{Verdict: hooks.Reject, Digest: second.Digest, Remember: hooks.SameArguments})
		assert.Equal(t, hooks.Reject, mustAsk(t, d, offering("third"), true).Verdict)
		mustAsk(t, d, offering("first"), true)
		assert.Equal(t, hooks.Reject, mustAsk(t, d, offering("fourth"), true).Verdict)
	})
}

// TestRemember_processDies: the process dies between the decision and its memory. The
// approval is remembered when it is used.
func TestRemember_processDies(t *testing.T) {
	t.Parallel()
	inner := desk.Memory()
	mustAsk(t, desk.New(inner), offering("first"), false)
	s := &faultyStore{Store: inner, left: 2} // Get, Update, and then the memory's Insert
	q := offering("first")
	require.NoError(t, desk.New(s).Decide(t.Context(), q.ID, hooks.Decision{
		Verdict: hooks.Approve, Digest: q.Digest, Remember: hooks.SameArguments,
	}), "the decision counts")
	require.Negative(t, s.left, "the memory's Insert failed")

	d := desk.New(inner)
	second := offering("second")
	mustAsk(t, d, second, false)
	mustAsk(t, d, offering("first"), true)
	mustAsk(t, d, second, true)
}

func TestRemember_isNoQuestion(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	remembering(t, d, hooks.Approve)
	n := 0
	for rec, err := range d.List(t.Context(), desk.Query{States: []desk.State{desk.Remembered}}) {
		require.NoError(t, err)
		n++
		assert.ErrorIs(t, d.Decide(t.Context(), rec.Question.ID, hooks.Decision{Verdict: hooks.Approve}), desk.ErrNotShown)
		assert.Equal(t, `{"amount":90}`, rec.Question.Arguments)
	}
	assert.Equal(t, 1, n)
}
