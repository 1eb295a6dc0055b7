package desk

// What a desk keeps its records in, and the errors that stores and desks share.

import (
	"context"
	"errors"
	"iter"
)

// The errors of stores and desks. Most come wrapped, with what they are about:
// ask for them with [errors.Is].
var (
	// ErrNotFound says that there is no record with that ID.
	ErrNotFound = errors.New("desk: there is no such question")

	// ErrExists says that Insert found a record with that ID.
	ErrExists = errors.New("desk: the question is there already")

	// ErrConflict says that Update found another Version than it was given:
	// somebody else was faster.
	ErrConflict = errors.New("desk: the question was changed by somebody else")

	// ErrNotShown says that a decision has no digest, or one of another asking:
	// whoever decided was shown something else than what would run.
	ErrNotShown = errors.New("desk: the decision is for another question than the one that waits; show it and decide again")

	// ErrDecided says that nothing waits any more: the question was decided,
	// used up or withdrawn.
	ErrDecided = errors.New("desk: the question doesn't wait for a decision any more")

	// ErrExpired says that the time for a decision is over.
	ErrExpired = errors.New("desk: the time to decide is over")

	// ErrNotAllowed says that a decision isn't among those that the question
	// may have or offers, or not this person's to make.
	ErrNotAllowed = errors.New("desk: this decision isn't allowed")
)

// Store keeps records by the ID of their questions. [Memory], [File] and [SQL]
// are stores; package desktest tests others.
//
// What it returns is the caller's: it shares no slice and no map with what the
// store holds, or has been given. Times are in microseconds, in UTC. All methods
// are called from any goroutine, and fail where ctx is done from the start.
//
// A method that fails may nevertheless have stored what it was given, where only
// the answer got lost; a desk copes with that. It must not have stored half of
// it.
type Store interface {
	// Insert stores rec as Version 1, whatever its Version says, and returns what
	// it has stored. If there is a record with that ID it stores nothing, and
	// returns that record and ErrExists. Of several at once, in any process, one
	// stores.
	Insert(ctx context.Context, rec Record) (Record, error)

	// Get returns the record with the ID, or ErrNotFound: also for an ID that the
	// store couldn't hold.
	Get(ctx context.Context, id string) (Record, error)

	// Update stores rec, as Version+1, in the place of the record with its ID. It
	// fails with ErrConflict unless the Version of that one is rec.Version, and
	// with ErrNotFound if there is none. Of several at once that bring the same
	// Version, in any process, one stores.
	Update(ctx context.Context, rec Record) error

	// List yields the records that q matches: first those that expire first, of
	// equal ones by ID, and no more than q.Limit. While it yields it holds no
	// lock, connection or transaction, so that the loop around it may use the
	// store; a record that is changed meanwhile may come as it was or as it is,
	// or twice if Expires was changed. A record that can't be read is yielded as
	// an error, after which others may follow.
	List(ctx context.Context, q Query) iter.Seq2[Record, error]
}

var errNoID = errors.New("desk: the question has no ID; put it with ToolCall.Ask of package hooks, which sets one")
