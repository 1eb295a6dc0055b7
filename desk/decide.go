package desk

// Deciding: who may, what, and about which asking.

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
)

// Decide decides the question with the ID. The Digest of dec is that of the
// question as it was shown to whoever decided, who is By; only with it is the
// decision for this call, these arguments and this asking.
//
// It fails with
//   - [ErrNotFound], if there is no such question;
//   - [ErrNotShown], if dec has no Digest or another one;
//   - [ErrDecided], if the question doesn't wait: it was decided, used or
//     withdrawn;
//   - [ErrExpired], if it has expired;
//   - [ErrNotAllowed], if the verdict isn't one that the question may have or the
//     memory one that it offers, or is unknown here, and if By mustn't decide: see
//     [WithAuthorizer];
//   - an error that says so, if the Arguments of an edit aren't one JSON object, or
//     another verdict has any,
//
// in this order, and then nothing is changed. Of several decisions at once one
// counts, and the others get ErrDecided. An error of the store leaves open whether
// the decision counts: [Desk.Get] tells.
func (d *Desk) Decide(ctx context.Context, id string, dec hooks.Decision) error {
	var decided Record
	err := settled(ctx, "Decide", func() error {
		rec, err := d.Get(ctx, id)
		if err != nil {
			return err
		}
		if err := d.check(ctx, &rec, dec); err != nil {
			return about(id, err)
		}
		rec.State, rec.Decision, rec.Changed = Approved, dec, d.now()
		if dec.Verdict == hooks.Reject {
			rec.State = Rejected
		}
		decided, err = d.update(ctx, rec)
		return err
	})
	if err != nil {
		return err
	}
	// The decision stands, whatever comes of this. Without it an equal call is
	// asked about until the approval is used: Ask remembers it then.
	_ = d.remember(ctx, &decided)
	return nil
}

// check says why dec can't be the decision about rec.
func (d *Desk) check(ctx context.Context, rec *Record, dec hooks.Decision) error {
	q := &rec.Question
	switch {
	case dec.Digest == "" || dec.Digest != q.Digest:
		return ErrNotShown
	case rec.State == Expired:
		return ErrExpired
	case rec.State != Open:
		return fmt.Errorf("%w: it is %s", ErrDecided, rec.State)
	case !q.Allows(dec.Verdict):
		return fmt.Errorf("%w: the verdict %q isn't among those that the question may have", ErrNotAllowed, dec.Verdict)
	case !q.Offers(dec.Remember):
		return fmt.Errorf("%w: the memory %q isn't among those that the question offers", ErrNotAllowed, dec.Remember)
	}
	switch dec.Verdict {
	case hooks.Approve, hooks.Reject, hooks.Edit:
	default:
		return fmt.Errorf("%w: the verdict %q is unknown", ErrNotAllowed, dec.Verdict)
	}
	switch dec.Remember {
	case "", hooks.Once, hooks.SameArguments:
	default:
		return fmt.Errorf("%w: the memory %q is unknown", ErrNotAllowed, dec.Remember)
	}
	if err := d.authorize(ctx, rec.clone(), dec.By); err != nil {
		return fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	if dec.Verdict != hooks.Edit {
		if dec.Arguments != "" {
			return errors.New("desk: Decide: only an edit has arguments; leave them out, or set the verdict to edit")
		}
		return nil
	}
	if dec.Arguments == "" { // blank text would mean {}
		return errors.New("desk: Decide: the edit has no arguments; give the JSON object that is to run")
	}
	if err := new(hooks.ToolCall).SetArguments(dec.Arguments); err != nil {
		return fmt.Errorf("desk: Decide: the arguments of the edit: %w", err)
	}
	return nil
}
