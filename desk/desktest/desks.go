package desktest

// What a desk makes of a store.

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

var deskCases = []testCase{
	{"one approval is used once by 40", oneApprovalOnce},
	{"a process dies between used and done", diesBeforeDone},
	{"late done of a use that was asked about anew", lateDone},
	{"two processes put one question", twoPutOne},
	{"other arguments withdraw the question", otherArguments},
	{"somebody else than the audience", audience},
	{"of decisions at once one counts", oneDecision},
	{"expired", expires},
	{"remembered for the run", remembered},
	{"1 MB of arguments is asked about", asksBig},
	{"a done ctx blocks the call", doneCtxBlocks},
	{"many processes, each approval is used once", manyApprovals},
}

// ask puts q and fails t unless it is answered as wanted.
func ask(t *testing.T, d *desk.Desk, q *hooks.Question, want bool) hooks.Decision {
	t.Helper()
	dec, decided, err := d.Ask(t.Context(), q)
	if err != nil || decided != want {
		t.Fatalf("Ask: got %+v, %t, %v; want %t", dec, decided, err, want)
	}
	if decided && dec.Digest != q.Digest {
		t.Errorf("the decision has the digest %q, the question %q", dec.Digest, q.Digest)
	}
	return dec
}

func approve(t *testing.T, d *desk.Desk, q *hooks.Question) {
	t.Helper()
	is(t, "Decide", d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: "ana"}), nil)
}

func state(t *testing.T, s desk.Store, q *hooks.Question, want desk.State) {
	t.Helper()
	if got := get(t, s, q.ID).State; got != want {
		t.Errorf("the question is %s, want %s", got, want)
	}
}

func oneApprovalOnce(t *testing.T, s desk.Store) {
	one, two := desk.New(s), desk.New(s)
	q := newQuestion("call-1", `{"amount":90}`)
	ask(t, one, q, false)
	approve(t, one, q)
	var let atomic.Int32
	together(40, func(i int) {
		d := one
		if i%2 == 1 {
			d = two
		}
		mine := newQuestion("call-1", `{"amount":90}`)
		dec, decided, err := d.Ask(t.Context(), mine)
		is(t, "Ask", err, nil)
		if decided {
			let.Add(1)
			equal(t, "the digest of the decision", dec.Digest, q.Digest)
			equal(t, "the digest of the question", mine.Digest, q.Digest)
		}
	})
	equal(t, "those that one approval let through", let.Load(), int32(1))
}

func diesBeforeDone(t *testing.T, s desk.Store) {
	q := newQuestion("call-1", `{}`)
	first := desk.New(s)
	ask(t, first, q, false)
	approve(t, first, q)
	ask(t, first, q, true)
	// The process dies here.

	second := desk.New(s)
	again := newQuestion("call-1", `{}`)
	ask(t, second, again, false)
	equal(t, "Again", again.Again, 1)
	state(t, s, again, desk.Open)
	old := hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}
	is(t, "the old form, sent twice", second.Decide(t.Context(), q.ID, old), desk.ErrNotShown)
	ask(t, second, newQuestion("call-1", `{}`), false)

	approve(t, second, again)
	final := newQuestion("call-1", `{}`)
	ask(t, second, final, true)
	equal(t, "the digest that was approved", final.Digest, again.Digest)
	is(t, "Done", second.Done(t.Context(), q.ID), nil)
	state(t, s, q, desk.Done)
}

func lateDone(t *testing.T, s desk.Store) {
	q := newQuestion("call-1", `{}`)
	slow := desk.New(s) // it lives, but the other one can't know
	ask(t, slow, q, false)
	approve(t, slow, q)
	ask(t, slow, q, true)

	other := desk.New(s)
	again := newQuestion("call-1", `{}`)
	ask(t, other, again, false)
	approve(t, other, again)
	is(t, "Done", slow.Done(t.Context(), q.ID), nil)
	state(t, s, q, desk.Withdrawn)

	third := newQuestion("call-1", `{}`)
	ask(t, other, third, false)
	equal(t, "Again", third.Again, 2)
	approve(t, other, third)
	ask(t, other, third, true)
	is(t, "Done", other.Done(t.Context(), q.ID), nil)
	state(t, s, q, desk.Done)
}

func twoPutOne(t *testing.T, s desk.Store) {
	var told atomic.Int32
	notify := desk.WithNotify(func(context.Context, desk.Record) { told.Add(1) })
	together(20, func(int) {
		_, decided, err := desk.New(s, notify).Ask(t.Context(), newQuestion("call-1", `{}`))
		if decided || err != nil {
			t.Errorf("Ask: got %t, %v", decided, err)
		}
	})
	equal(t, "records", len(listed(t.Context(), t, s, desk.Query{})), 1)
	equal(t, "notifications", told.Load(), int32(1))
}

func otherArguments(t *testing.T, s desk.Store) {
	d := desk.New(s)
	first, second := newQuestion("call-1", `{"amount":1}`), newQuestion("call-1", `{"amount":2}`)
	call := newQuestion("call-2", `{"amount":1}`)
	key := newQuestion("call-1", `{"amount":1}`)
	key.ID, key.Key = "key", "another"
	run := newQuestion("call-1", `{"amount":1}`)
	run.ID, run.RootRunID = "run", "run-9"
	path := newQuestion("call-1", `{"amount":1}`)
	path.ID, path.Path = "path", []string{"call-0"}
	for _, q := range []*hooks.Question{first, call, key, run, path} {
		ask(t, d, q, false)
	}
	approve(t, d, first)
	ask(t, d, second, false)
	state(t, s, first, desk.Withdrawn)
	for _, q := range []*hooks.Question{second, call, key, run, path} {
		state(t, s, q, desk.Open)
	}
	ask(t, d, first, false)
	equal(t, "Again of the first arguments", first.Again, 1)
	state(t, s, second, desk.Withdrawn)
}

func audience(t *testing.T, s desk.Store) {
	d := desk.New(s, desk.WithAuthorizer(func(_ context.Context, rec desk.Record, by string) error {
		if by != "ana of "+rec.Question.Audience[0] {
			return fmt.Errorf("%s isn't one of them", by)
		}
		return nil
	}))
	q := newQuestion("call-1", `{}`)
	q.Audience = []string{"finance"}
	ask(t, d, q, false)
	for _, verdict := range []hooks.Verdict{hooks.Approve, hooks.Reject} {
		dec := hooks.Decision{Verdict: verdict, Digest: q.Digest, By: "rui of support"}
		is(t, "Decide by another person", d.Decide(t.Context(), q.ID, dec), desk.ErrNotAllowed)
		is(t, "Decide without an authorizer", desk.New(s).Decide(t.Context(), q.ID, dec), desk.ErrNotAllowed)
	}
	state(t, s, q, desk.Open)
	is(t, "Decide", d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: "ana of finance"}), nil)
	ask(t, d, q, true)
}

func oneDecision(t *testing.T, s desk.Store) {
	q := newQuestion("call-1", `{}`)
	ask(t, desk.New(s), q, false)
	var mu sync.Mutex
	var counted []string
	together(20, func(i int) {
		dec := hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: fmt.Sprint(i)}
		if i%2 == 1 {
			dec.Verdict = hooks.Reject
		}
		err := desk.New(s).Decide(t.Context(), q.ID, dec)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			counted = append(counted, dec.By)
		} else {
			is(t, "Decide", err, desk.ErrDecided)
		}
	})
	equal(t, "the decision that counts", counted, []string{get(t, s, q.ID).Decision.By})
}

func expires(t *testing.T, s desk.Store) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 535897932, time.UTC)
	d := desk.New(s, desk.WithClock(func() time.Time { return now }), desk.WithExpiry(time.Hour))
	open, approved, used := newQuestion("call-1", `{}`), newQuestion("call-2", `{}`), newQuestion("call-3", `{}`)
	for _, q := range []*hooks.Question{open, approved, used} {
		ask(t, d, q, false)
	}
	approve(t, d, approved)
	approve(t, d, used)
	ask(t, d, used, true)

	now = now.Add(time.Hour - time.Microsecond)
	equal(t, "expired just before", len(listedBy(t, d, desk.Query{States: []desk.State{desk.Expired}})), 0)
	now = now.Add(time.Microsecond)
	is(t, "Decide", d.Decide(t.Context(), open.ID, hooks.Decision{Verdict: hooks.Approve, Digest: open.Digest}), desk.ErrExpired)
	equal(t, "expired then", len(listedBy(t, d, desk.Query{States: []desk.State{desk.Expired}})), 2)
	equal(t, "open then", len(listedBy(t, d, desk.Query{States: []desk.State{desk.Open, desk.Approved}})), 0)
	for _, q := range []*hooks.Question{open, approved} {
		dec := ask(t, d, q, true)
		equal(t, "the verdict", dec.Verdict, hooks.Reject)
		equal(t, "the reason", dec.Reason, desk.ExpiredReason)
		state(t, s, q, desk.Expired)
	}
	state(t, s, used, desk.Used)
}

func listedBy(t *testing.T, d *desk.Desk, q desk.Query) []desk.Record {
	t.Helper()
	var all []desk.Record
	for rec, err := range d.List(t.Context(), q) {
		all = append(all, must(t, rec, err))
	}
	return all
}

func remembered(t *testing.T, s desk.Store) {
	offers := func(callID, arguments string) *hooks.Question {
		q := newQuestion(callID, arguments)
		q.Offer = []hooks.Remember{hooks.Once, hooks.SameArguments}
		return q
	}
	d := desk.New(s)
	first, waits := offers("call-1", `{}`), offers("call-2", `{}`)
	ask(t, d, first, false)
	ask(t, d, waits, false)
	is(t, "Decide", d.Decide(t.Context(), first.ID, hooks.Decision{
		Verdict: hooks.Approve, Digest: first.Digest, By: "ana", Remember: hooks.SameArguments,
	}), nil)

	other := desk.New(s)
	ask(t, other, first, true)
	for _, q := range []*hooks.Question{waits, offers("call-3", `{}`)} {
		dec := ask(t, other, q, true)
		equal(t, "the verdict", dec.Verdict, hooks.Approve)
		equal(t, "who decided", dec.By, "ana")
		state(t, s, q, desk.Used)
		is(t, "Done", other.Done(t.Context(), q.ID), nil)
		state(t, s, q, desk.Done)
		ask(t, other, q, true) // the call goes through its hooks once more
	}

	ask(t, other, offers("call-4", `{"amount":1}`), false)
	ask(t, other, newQuestion("call-5", `{}`), false) // it doesn't offer to be remembered
	run := offers("call-6", `{}`)
	run.RootRunID = "run-9"
	run.Rebind()
	ask(t, other, run, false)
	again := offers("call-3", `{}`) // used, and its end isn't known
	ask(t, other, again, false)
	ask(t, other, again, false)
	state(t, s, again, desk.Open)
}

func asksBig(t *testing.T, s desk.Store) {
	arguments := big()
	d := desk.New(s)
	q := newQuestion("call-1", arguments)
	ask(t, d, q, false)
	found, err := d.Get(t.Context(), q.ID)
	is(t, "Get", err, nil)
	if found.Question.Arguments != arguments {
		t.Error("the arguments aren't those that were asked about")
	}
	approve(t, d, q)
	ask(t, d, q, true)
}

func doneCtxBlocks(t *testing.T, s desk.Store) {
	d := desk.New(s)
	q := newQuestion("call-1", `{}`)
	ask(t, d, q, false)
	approve(t, d, q)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, decided, err := d.Ask(ctx, q)
	if decided || err == nil {
		t.Errorf("Ask under a done ctx: got %t, %v; want false and an error", decided, err)
	}
	state(t, s, q, desk.Approved)
}

// manyApprovals has desks ask, approve, run and end one call at random for a while.
func manyApprovals(t *testing.T, s desk.Store) {
	var mu sync.Mutex
	approved, ran := make(map[string]int), make(map[string]int)
	together(6, func(i int) {
		d := desk.New(s)
		for n := range 15 {
			q := newQuestion("call-1", `{}`)
			_, decided, err := d.Ask(t.Context(), q)
			is(t, "Ask", err, nil)
			if decided {
				mu.Lock()
				ran[q.Digest]++
				mu.Unlock()
				if (i+n)%3 > 0 { // else it dies before it tells
					is(t, "Done", d.Done(t.Context(), q.ID), nil)
				}
				continue
			}
			if d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}) == nil {
				mu.Lock()
				approved[q.Digest]++
				mu.Unlock()
			}
		}
	})
	for digest, n := range ran {
		if n != 1 {
			t.Errorf("one approval let %d passages run", n)
		}
		if approved[digest] != 1 {
			t.Error("a passage ran without an approval")
		}
	}
	if len(ran) == 0 {
		t.Error("nothing ran")
	}
}
