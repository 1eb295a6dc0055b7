// Package desktest tests stores of package desk.
//
// A store of your own passes if [Run] does, with what it is really made of: a
// database, not a stand-in. [Kill] ends processes that use it, as crashes do:
//
//	func TestStore(t *testing.T) {
//		desktest.Run(t, func(t *testing.T) desk.Store { return newStore(t) })
//	}
package desktest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// Run runs the tests, as subtests of t, on the stores that open returns: an empty
// one for each call. It fails t, or a subtest, with what the store did and should
// do. The subtests run one after the other.
func Run(t *testing.T, open func(t *testing.T) desk.Store) {
	t.Helper()
	for _, c := range slices.Concat(storeCases, deskCases) {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

type testCase struct {
	name string
	test func(t *testing.T, s desk.Store)
}

// newQuestion returns a question as ToolCall.Ask of package hooks puts it, about a
// call of that ID with these arguments.
func newQuestion(callID, arguments string) *hooks.Question {
	q := &hooks.Question{
		RunID: "run-1", RootRunID: "run-1", CallID: callID, Tool: "pay", Arguments: arguments,
		Key: "approval", Prompt: "Pay?",
	}
	q.ID = idOf(callID, arguments)
	q.Rebind()
	return q
}

// idOf stands in for the hash that ToolCall.Ask makes: as there, other arguments
// are another ID.
func idOf(callID, arguments string) string {
	other := hooks.Question{RootRunID: "id", CallID: callID, Arguments: arguments}
	other.Rebind()
	return other.Digest
}

// newRecord returns a record with something in each field.
func newRecord(id string) desk.Record {
	at := time.Date(2026, 3, 14, 15, 9, 26, 535897000, time.UTC)
	return desk.Record{
		Question: hooks.Question{
			ID: id, Digest: "digest-" + id,
			RunID: "run-2", RootRunID: "run-1", Tenant: "acme", AgentRole: "buyer", CallID: "call-1", Tool: "pay",
			Arguments: `{"amount":90}`, Path: []string{"call-0"}, Key: "approval", Prompt: "Pay?",
			Audience: []string{"finance", "board"}, May: []hooks.Verdict{hooks.Approve, hooks.Edit},
			Offer: []hooks.Remember{hooks.Once, hooks.SameArguments}, Expires: at.Add(time.Hour), Again: 2,
			Details: map[string]string{"supplier": "ACME"},
		},
		Decision: hooks.Decision{
			Verdict: hooks.Edit, Digest: "digest-" + id, Arguments: `{"amount":80}`, Reason: "too dear", By: "ana",
			Remember: hooks.Once,
		},
		State: desk.Approved, Created: at, Changed: at.Add(time.Minute), Expires: at.Add(time.Hour),
	}
}

// equal fails t unless both are the same.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, cut(got), cut(want))
	}
}

// is fails t unless err is target; nil means that there must be none.
func is(t *testing.T, what string, err, target error) {
	t.Helper()
	switch {
	case target == nil && err != nil:
		t.Errorf("%s: %v", what, err)
	case target != nil && !errors.Is(err, target):
		t.Errorf("%s: got the error %v, want one that is %q", what, err, target)
	}
}

// must ends t at an error.
func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func insert(t *testing.T, s desk.Store, rec desk.Record) desk.Record {
	t.Helper()
	stored, err := s.Insert(t.Context(), rec)
	return must(t, stored, err)
}

func get(t *testing.T, s desk.Store, id string) desk.Record {
	t.Helper()
	rec, err := s.Get(t.Context(), id)
	return must(t, rec, err)
}

// listed returns the IDs of what a store lists.
func listed(ctx context.Context, t *testing.T, s desk.Store, q desk.Query) []string {
	t.Helper()
	var ids []string
	for rec, err := range s.List(ctx, q) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		ids = append(ids, rec.Question.ID)
	}
	return ids
}
