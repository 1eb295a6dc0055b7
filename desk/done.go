package desk

// The end of a use, and telling it from the end of another one.

import (
	"context"
	"slices"
	"sync"
)

// Done says that the call has ended that the approval of the question id let
// through; the seam of the call says so whatever came of it. A used question is
// done then.
//
// If the question was asked anew meanwhile, since another process took the use for
// one that had broken off, it is withdrawn: it was about a call that has ended.
// That goes for one that was approved again as well, unless it is used already;
// then it stays so, since that use goes on. What was rejected, has expired or was
// withdrawn stays as it is.
//
// Done needs no Ask of the same Desk before it, but then it takes the use that it
// finds for the one that has ended. It returns [ErrNotFound] for an unknown ID,
// and the failures of the store; both leave the question to be asked anew.
func (d *Desk) Done(ctx context.Context, id string) error {
	ended := unknownUse
	err := settled(ctx, "Done", func() error {
		rec, err := d.store.Get(ctx, id)
		if err != nil {
			return err
		}
		if ended == unknownUse {
			ended = d.uses.end(id, rec.Question.Again)
		}
		switch rec.State {
		case Used:
			if rec.Question.Again != ended {
				return nil
			}
			rec.State = Done
		case Open, Approved:
			rec.State = Withdrawn
		default:
			return nil
		}
		rec.Changed = d.now()
		_, err = d.update(ctx, rec)
		return err
	})
	if ended == unknownUse {
		d.uses.end(id, unknownUse)
	}
	return err
}

const unknownUse = -1

// uses are the approvals that a desk has handed out, by question: the number of
// the asking (Again) of each, as long as its Done hasn't come. Done says which
// question, but not which asking.
type uses struct {
	mu    sync.Mutex
	begun map[string][]int // protected by mu; the oldest first
}

func (u *uses) begin(id string, again int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.begun == nil {
		u.begun = make(map[string][]int)
	}
	u.begun[id] = append(u.begun[id], again)
}

// end returns which use of the question has ended, and forgets it. now is the
// asking that the store holds. If that is one of this desk's uses, it is taken for
// the one; else it is the oldest of this desk; and if there is none, now.
func (u *uses) end(id string, now int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	begun := u.begun[id]
	if len(begun) == 0 {
		return now
	}
	at := max(0, slices.Index(begun, now))
	ended := begun[at]
	if begun = slices.Delete(begun, at, at+1); len(begun) == 0 {
		delete(u.begun, id)
	} else {
		u.begun[id] = begun
	}
	return ended
}
