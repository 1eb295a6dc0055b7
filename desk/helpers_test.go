package desk_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// question returns a question as ToolCall.Ask puts it.
func question() *hooks.Question {
	q := &hooks.Question{
		ID: "q", RunID: "run-1", RootRunID: "run-1", CallID: "call-1", Tool: "pay",
		Arguments: `{"amount":90}`, Key: "approval", Prompt: "Pay?",
	}
	q.Rebind()
	return q
}

// asked returns a question that waits at d.
func asked(t *testing.T, d *desk.Desk) *hooks.Question {
	t.Helper()
	q := question()
	mustAsk(t, d, q, false)
	return q
}

func mustAsk(t *testing.T, d *desk.Desk, q *hooks.Question, want bool) hooks.Decision {
	t.Helper()
	dec, decided, err := d.Ask(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, want, decided)
	return dec
}

func approval(q *hooks.Question) hooks.Decision {
	return hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: "ana"}
}

func mustDecide(t *testing.T, d *desk.Desk, q *hooks.Question, dec hooks.Decision) {
	t.Helper()
	require.NoError(t, d.Decide(t.Context(), q.ID, dec))
}

func stateOf(t *testing.T, s desk.Store, id string) desk.State {
	t.Helper()
	rec, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	return rec.State
}

// errBroken is what a faulty store fails with.
var errBroken = errors.New("the line is dead")

// faultyStore fails at one call, with or without having stored what it was given.
type faultyStore struct {
	desk.Store
	mu     sync.Mutex
	left   int  // calls before the one that fails; protected by mu
	stored bool // the failing call has its effect: only the answer is lost
}

func (s *faultyStore) fails() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left--
	return s.left == -1
}

func (s *faultyStore) Insert(ctx context.Context, rec desk.Record) (desk.Record, error) {
	if !s.fails() {
		return s.Store.Insert(ctx, rec)
	}
	if s.stored {
		_, _ = s.Store.Insert(ctx, rec)
	}
	return desk.Record{}, errBroken
}

func (s *faultyStore) Get(ctx context.Context, id string) (desk.Record, error) {
	if s.fails() {
		return desk.Record{}, errBroken
	}
	return s.Store.Get(ctx, id)
}

func (s *faultyStore) Update(ctx context.Context, rec desk.Record) error {
	if !s.fails() {
		return s.Store.Update(ctx, rec)
	}
	if s.stored {
		_ = s.Store.Update(ctx, rec)
	}
	return errBroken
}

func (s *faultyStore) List(ctx context.Context, q desk.Query) iter.Seq2[desk.Record, error] {
	if s.fails() {
		return func(yield func(desk.Record, error) bool) { yield(desk.Record{}, errBroken) }
	}
	return s.Store.List(ctx, q)
}
