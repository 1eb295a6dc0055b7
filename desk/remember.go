package desk

// Decisions that are remembered for later calls of the run.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

// memoryID is the ID of the record that remembers decisions about calls such as
// the one that q asks about.
func memoryID(q *hooks.Question) string {
	h := sha256.New()
	for _, s := range [...]string{"desk: remember", q.RootRunID, q.Tenant, q.Tool, q.Arguments, q.Key} {
		fmt.Fprintf(h, "%d:%s", len(s), s) // with its length, so that no two run together
	}
	return hex.EncodeToString(h.Sum(nil))
}

// remember stores the decision of rec for later calls of its run, if it is to be
// remembered and no newer one was. What it stores expires with rec.
func (d *Desk) remember(ctx context.Context, rec *Record) error {
	if rec.Decision.Remember != hooks.SameArguments {
		return nil
	}
	memory := rec.clone()
	memory.State = Remembered
	q := &memory.Question
	q.ID, q.Digest, q.CallID, q.Path, q.Again = memoryID(q), "", "", nil, 0
	return settled(ctx, "remember", func() error {
		memory.Version = 0
		old, err := d.store.Insert(ctx, memory)
		if !errors.Is(err, ErrExists) {
			return err
		}
		if !old.Changed.Before(rec.Changed) { // a newer one, though it may have expired since
			return nil
		}
		memory.Version, memory.Created = old.Version, old.Created
		_, err = d.update(ctx, memory)
		return err
	})
}

// recall looks for a remembered decision that answers q, and if there is one,
// makes rec, which is open, the record of a question that it has answered: the
// call uses it at once.
//
// A question that doesn't offer to be remembered, may not have that verdict or is
// for other people asks them.
func (d *Desk) recall(ctx context.Context, q *hooks.Question, rec *Record) (bool, error) {
	if !slices.Contains(q.Offer, hooks.SameArguments) {
		return false, nil
	}
	memory, err := d.store.Get(ctx, memoryID(q))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	was, dec := &memory.Question, memory.Decision
	if memory.State != Remembered || memory.due(d.now()) || !q.Allows(dec.Verdict) ||
		was.RootRunID != q.RootRunID || was.Tenant != q.Tenant || was.Tool != q.Tool ||
		was.Arguments != q.Arguments || was.Key != q.Key || !slices.Equal(was.Audience, q.Audience) {
		return false, nil
	}
	dec.Digest = q.Digest
	rec.Decision, rec.State, rec.Changed = dec, Used, d.now()
	if dec.Verdict == hooks.Reject {
		rec.State = Rejected
	}
	return true, nil
}
