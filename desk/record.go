package desk

// Records of questions, the states that they go through, and queries for them.

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loophooks/hooks"
)

// State is how far a question has come. More may be added.
type State string

// The states; the package page draws how one leads to another.
const (
	Open       State = "open"       // waits for a decision
	Approved   State = "approved"   // the call may run, once, as shown or as edited
	Used       State = "used"       // a passage of the call has taken the approval
	Done       State = "done"       // that passage has ended, whatever came of it
	Rejected   State = "rejected"   // the call must not run
	Expired    State = "expired"    // nobody decided in time, or nobody used the approval
	Withdrawn  State = "withdrawn"  // the call asks for something else by now, or has ended
	Remembered State = "remembered" // no question: a decision that later ones are answered from
)

// Record is a question with what became of it. Times are in UTC, cut to
// microseconds.
type Record struct {
	Question hooks.Question // as it is shown; its Digest is what a decision must bring
	Decision hooks.Decision // the last one, also where it was withdrawn since
	State    State
	Version  int64     // counts what was stored; from 1 on
	Created  time.Time // when it was put for the first time
	Changed  time.Time // when State was last set
	Expires  time.Time // when an open or approved question, or a remembered decision, expires
}

// due says that r has expired by now, though its State doesn't say so yet.
func (r *Record) due(now time.Time) bool {
	switch r.State {
	case Open, Approved, Remembered:
		return !r.Expires.IsZero() && !now.Before(r.Expires)
	}
	return false
}

// clone returns a record that shares nothing with r.
func (r Record) clone() Record {
	r.Question = cloneQuestion(r.Question)
	return r
}

func cloneQuestion(q hooks.Question) hooks.Question {
	q.Path = slices.Clone(q.Path)
	q.Audience = slices.Clone(q.Audience)
	q.May = slices.Clone(q.May)
	q.Offer = slices.Clone(q.Offer)
	q.Details = maps.Clone(q.Details)
	return q
}

// Query says which records are wanted. The zero Query matches all.
type Query struct {
	RunID     string  // of this run; "" for any
	RootRunID string  // of this run and its sub-agents; "" for any
	Tenant    string  // "" for any
	Audience  string  // those whose Audience holds it; "" for any
	States    []State // in one of these; empty for any
	Limit     int     // at most so many; 0 or less: no limit
}

// Matches reports whether q asks for rec, for stores that don't have a database
// to ask.
func (q Query) Matches(rec Record) bool {
	of := &rec.Question
	return (q.RunID == "" || q.RunID == of.RunID) &&
		(q.RootRunID == "" || q.RootRunID == of.RootRunID) &&
		(q.Tenant == "" || q.Tenant == of.Tenant) &&
		(q.Audience == "" || slices.Contains(of.Audience, q.Audience)) &&
		(len(q.States) == 0 || slices.Contains(q.States, rec.State))
}

// place is where a record comes in a list.
type place struct {
	expires int64 // microseconds
	id      string
}

func placeOf(rec *Record) place { return place{rec.Expires.UnixMicro(), rec.Question.ID} }

func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(p.expires, other.expires), strings.Compare(p.id, other.id))
}

// yieldPlaces is List for stores that know where the records are: it gets them
// one by one, as they are by then, and passes over those that q no longer
// matches.
func yieldPlaces(ctx context.Context, places []place, q Query, get func(context.Context, string) (Record, error), yield func(Record, error) bool) {
	slices.SortFunc(places, place.compare)
	n := 0
	for _, p := range places {
		rec, err := get(ctx, p.id)
		switch {
		case ctx.Err() != nil:
			yield(Record{}, ctx.Err())
			return
		case errors.Is(err, ErrNotFound), err == nil && !q.Matches(rec):
			continue
		}
		if !yield(rec, err) {
			return
		}
		if err == nil {
			n++
		}
		if n == q.Limit && n > 0 {
			return
		}
	}
	if err := ctx.Err(); err != nil {
		yield(Record{}, err)
	}
}
