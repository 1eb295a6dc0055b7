package desk

// Asking: how a question is put, found, answered and asked anew.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loophooks/hooks"
)

// ExpiredReason is the Reason of the rejection by which Ask answers a question
// that has expired. By is empty then.
const ExpiredReason = "nobody answered in time; no person refused it"

// Ask puts q, or finds it, and uses up its decision; [hooks.ToolCall.Ask] calls
// it. It returns false while there is no decision, and sets Again, Digest and
// Expires of q to those of the asking that waits.
//
// An approval is true for one Ask alone, in whatever process; the others get
// false and change nothing. Rejections answer each Ask, and so does an expired
// question, with a rejection for [ExpiredReason]. An approval that expired before
// it was used is no approval.
//
// It asks anew, with Again one higher, so that no earlier decision fits, where the
// first look finds the question
//   - used: the process died in between, or another one is at it. Whether the call
//     ran isn't known, and people are told by Again;
//   - done or withdrawn: the call goes through its hooks once more.
//
// While a question waits it stays as it was put first: later changes of the
// hook's Prompt, Audience and the like show when it is asked anew. Open and
// approved questions about the same call with the same Key, but other arguments or
// another tool, are withdrawn when q is put.
//
// A failure of the store is an error, never an answer: the call is blocked.
func (d *Desk) Ask(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
	if q == nil || q.ID == "" {
		return hooks.Decision{}, false, errNoID
	}
	if q.RootRunID == "" || q.CallID == "" {
		return hooks.Decision{}, false, errors.New("desk: Ask: the question has no RootRunID or no CallID; two calls could be taken for each other")
	}
	var dec hooks.Decision
	var decided bool
	first := true
	err := settled(ctx, "Ask", func() error {
		var err error
		dec, decided, err = d.ask(ctx, q, first)
		first = false
		return err
	})
	if err != nil {
		return hooks.Decision{}, false, err
	}
	return dec, decided, nil
}

// ask looks once. It fails with ErrConflict or ErrExists where somebody else was
// faster; first says that this hasn't happened yet, so that a use that it finds
// was there before the call.
func (d *Desk) ask(ctx context.Context, q *hooks.Question, first bool) (hooks.Decision, bool, error) {
	rec, err := d.store.Get(ctx, q.ID)
	if errors.Is(err, ErrNotFound) {
		return d.put(ctx, q, Record{})
	}
	if err == nil {
		rec, err = d.expire(ctx, rec)
	}
	if err != nil {
		return hooks.Decision{}, false, err
	}
	bind(q, rec.Question.Again)
	if rec.State == Used && !first {
		return waiting(q, &rec)
	}
	if rec.Question.Digest != q.Digest || rec.State == Approved && rec.Decision.Digest != q.Digest {
		return d.put(ctx, q, rec) // what was shown isn't what would run
	}
	switch rec.State {
	case Approved:
		return d.use(ctx, q, rec)
	case Used, Done, Withdrawn:
		return d.put(ctx, q, rec)
	case Open:
		if rec.Question.Again > 0 { // people must look at it
			return waiting(q, &rec)
		}
		remembered, err := d.recall(ctx, q, &rec)
		if err != nil {
			return hooks.Decision{}, false, err
		}
		if !remembered {
			return waiting(q, &rec)
		}
		return d.keep(ctx, q, rec)
	case Rejected:
		return rec.Decision, true, nil
	case Expired:
		return expired(q)
	}
	return hooks.Decision{}, false, fmt.Errorf("desk: Ask: the state %q is unknown (question %q)", rec.State, q.ID)
}

// bind makes q the asking of that number.
func bind(q *hooks.Question, again int) {
	q.Again = again
	q.Rebind()
}

// waiting answers that there is no decision yet.
func waiting(q *hooks.Question, rec *Record) (hooks.Decision, bool, error) {
	q.Expires = rec.Expires
	return hooks.Decision{}, false, nil
}

func expired(q *hooks.Question) (hooks.Decision, bool, error) {
	return hooks.Decision{Verdict: hooks.Reject, Digest: q.Digest, Reason: ExpiredReason}, true, nil
}

// use takes the approval that rec holds, unless somebody else does.
func (d *Desk) use(ctx context.Context, q *hooks.Question, rec Record) (hooks.Decision, bool, error) {
	if err := d.remember(ctx, &rec); err != nil {
		return hooks.Decision{}, false, err
	}
	rec.State, rec.Changed = Used, d.now()
	dec, decided, err := d.keep(ctx, q, rec)
	if !errors.Is(err, ErrConflict) {
		return dec, decided, err
	}
	if rec, err = d.store.Get(ctx, q.ID); err != nil {
		return hooks.Decision{}, false, err
	}
	bind(q, rec.Question.Again)
	return waiting(q, &rec)
}

// put begins an asking: the first one, or one more after old.
func (d *Desk) put(ctx context.Context, q *hooks.Question, old Record) (hooks.Decision, bool, error) {
	now := d.now()
	rec := Record{State: Open, Version: old.Version, Created: old.Created, Changed: now, Expires: now.Add(d.expiry)}
	again := old.Question.Again + 1
	if old.Version == 0 {
		rec.Created, again = now, q.Again
	}
	bind(q, again)
	if !q.Expires.IsZero() {
		rec.Expires = q.Expires.UTC().Truncate(time.Microsecond)
	}
	rec.Question = cloneQuestion(*q)
	rec.Question.Expires = rec.Expires

	if err := d.withdrawOthers(ctx, q); err != nil {
		return hooks.Decision{}, false, err
	}
	if rec.due(now) {
		rec.State = Expired
	} else if old.State != Used { // else it isn't known what became of the last one
		if _, err := d.recall(ctx, q, &rec); err != nil {
			return hooks.Decision{}, false, err
		}
	}
	return d.keep(ctx, q, rec)
}

// keep stores what has become of a question and answers accordingly.
func (d *Desk) keep(ctx context.Context, q *hooks.Question, rec Record) (hooks.Decision, bool, error) {
	var err error
	if rec.Version == 0 {
		rec, err = d.store.Insert(ctx, rec)
	} else {
		rec, err = d.update(ctx, rec)
	}
	if err != nil {
		return hooks.Decision{}, false, err
	}
	switch rec.State {
	case Used:
		d.uses.begin(q.ID, q.Again)
		return rec.Decision, true, nil
	case Rejected:
		return rec.Decision, true, nil
	case Expired:
		return expired(q)
	}
	d.tell(ctx, rec)
	return waiting(q, &rec)
}

// withdrawOthers withdraws what waits about the same call but isn't q: the call
// asks for something else by now. What was used or decided against stays.
func (d *Desk) withdrawOthers(ctx context.Context, q *hooks.Question) error {
	waits := Query{RootRunID: q.RootRunID, States: []State{Open, Approved}}
	for rec, err := range d.store.List(ctx, waits) {
		if err != nil {
			return err
		}
		other := &rec.Question
		if other.ID == q.ID || other.CallID != q.CallID || other.Key != q.Key || !slices.Equal(other.Path, q.Path) {
			continue
		}
		if err := d.withdraw(ctx, rec); err != nil {
			return err
		}
	}
	return nil
}

// withdraw withdraws rec if it still waits, or is approved and not used.
func (d *Desk) withdraw(ctx context.Context, rec Record) error {
	return settled(ctx, "Ask", func() error {
		if rec.State != Open && rec.State != Approved {
			return nil
		}
		rec.State, rec.Changed = Withdrawn, d.now()
		_, err := d.update(ctx, rec)
		if errors.Is(err, ErrConflict) {
			var again error
			if rec, again = d.store.Get(ctx, rec.Question.ID); again != nil {
				return again
			}
		}
		return err
	})
}
