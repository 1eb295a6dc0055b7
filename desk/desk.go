package desk

// A desk: how it is made, what it is told, and looking at its records.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/loophooks/hooks"
)

// Desk keeps questions in a store until they are decided, and lets each decision
// be used once. It is a [hooks.Desk]: give it to [hooks.WithDesk].
//
// Several desks, in several processes, may share a store. A Desk is made with
// [New] and safe for concurrent use.
type Desk struct {
	store     Store
	expiry    time.Duration
	clock     func() time.Time
	notify    func(context.Context, Record)
	authorize func(ctx context.Context, rec Record, by string) error
	uses      uses
}

var _ hooks.Desk = (*Desk)(nil)

// Option changes how a [Desk] works. If one is given twice, the last one wins.
type Option func(*Desk)

// WithExpiry sets how long a question waits that doesn't say when it expires; 24
// hours by default. It panics unless d is positive.
func WithExpiry(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("desk: WithExpiry: %v is not positive", d))
	}
	return func(k *Desk) { k.expiry = d }
}

// WithClock sets the clock by which questions expire, which is [time.Now] by
// default. Where several processes share a store, their clocks should agree: the
// one that is ahead decides what has expired. It panics if now is nil.
func WithClock(now func() time.Time) Option {
	if now == nil {
		panic("desk: WithClock: the clock is nil")
	}
	return func(k *Desk) { k.clock = now }
}

// WithNotify has tell called each time a question begins to wait for a decision:
// when it is put, and when it is asked anew. It is called by Ask, once for each
// asking, after the record was stored and while no lock is held, so it may use
// the desk; Ask returns only after it. If it panics, that is logged, by
// [slog.Default], and the question waits all the same. A process that dies before
// the call never makes it: [Desk.List] tells what waits.
//
// It panics if tell is nil.
func WithNotify(tell func(ctx context.Context, rec Record)) Option {
	if tell == nil {
		panic("desk: WithNotify: the function is nil")
	}
	return func(k *Desk) { k.notify = tell }
}

// WithAuthorizer sets who may decide what: allow gets the question and the By of
// the decision, for rejections as for approvals, and returns nil if that person
// may make it. What it returns else is wrapped in [ErrNotAllowed]. Whoever calls
// [Desk.Decide] has made sure that By is who it says.
//
// By default anybody may decide a question without an Audience, and nobody one
// with it. WithAuthorizer panics if allow is nil.
func WithAuthorizer(allow func(ctx context.Context, rec Record, by string) error) Option {
	if allow == nil {
		panic("desk: WithAuthorizer: the function is nil")
	}
	return func(k *Desk) { k.authorize = allow }
}

// New returns a desk on s. It panics if s or an option is nil.
func New(s Store, opts ...Option) *Desk {
	if s == nil {
		panic("desk: New: the Store is nil")
	}
	d := &Desk{store: s, expiry: 24 * time.Hour, clock: time.Now, authorize: onlyWithoutAudience}
	for _, opt := range opts {
		if opt == nil {
			panic("desk: New: an Option is nil")
		}
		opt(d)
	}
	return d
}

func onlyWithoutAudience(_ context.Context, rec Record, _ string) error {
	if len(rec.Question.Audience) == 0 {
		return nil
	}
	return fmt.Errorf("it is for %q; give the desk a WithAuthorizer that knows who belongs there", rec.Question.Audience)
}

// now is the time as records hold it.
func (d *Desk) now() time.Time { return d.clock().UTC().Truncate(time.Microsecond) }

// Get returns the record of the question with the ID, or [ErrNotFound]. What is
// due has expired first.
func (d *Desk) Get(ctx context.Context, id string) (Record, error) {
	var found Record
	err := settled(ctx, "Get", func() error {
		rec, err := d.store.Get(ctx, id)
		if err == nil {
			rec, err = d.expire(ctx, rec)
		}
		found = rec
		return err
	})
	if err != nil {
		return Record{}, err
	}
	return found, nil
}

// List yields the records that q matches, those first that expire first; what is
// due has expired before it is looked at. The loop around it may use the desk:
// decide what it is shown, for one. An error stands for a record that couldn't be
// read or set to expired; others may follow it.
func (d *Desk) List(ctx context.Context, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		wider := q
		wider.Limit = 0
		if slices.Contains(q.States, Expired) { // by now, though the store doesn't know yet
			wider.States = append(slices.Clone(q.States), Open, Approved, Remembered)
		}
		n := 0
		for rec, err := range d.store.List(ctx, wider) {
			if err == nil && rec.due(d.now()) {
				rec, err = d.Get(ctx, rec.Question.ID)
				if errors.Is(err, ErrNotFound) { // removed meanwhile
					continue
				}
			}
			switch {
			case err != nil:
				rec = Record{}
			case !q.Matches(rec):
				continue
			default:
				n++
			}
			if !yield(rec, err) || n > 0 && n == q.Limit {
				return
			}
		}
	}
}

// expire returns rec as it is by now, and has the store know.
func (d *Desk) expire(ctx context.Context, rec Record) (Record, error) {
	now := d.now()
	if !rec.due(now) {
		return rec, nil
	}
	rec.State, rec.Changed = Expired, now
	return d.update(ctx, rec)
}

// update stores rec and returns it as it is stored.
func (d *Desk) update(ctx context.Context, rec Record) (Record, error) {
	if err := d.store.Update(ctx, rec); err != nil {
		return Record{}, err
	}
	rec.Version++
	return rec, nil
}

// maxRounds is how often a step is tried again because somebody else was faster.
// Each time that somebody has gone on, so only a broken store gets there.
const maxRounds = 1000

// settled runs step until nobody else was faster.
func settled(ctx context.Context, what string, step func() error) error {
	for range maxRounds {
		err := step()
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrExists) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("desk: %s: %w", what, ctx.Err())
		}
	}
	return fmt.Errorf("desk: %s: after %d attempts the store still says that somebody else was faster", what, maxRounds)
}

// tell calls the function of WithNotify.
func (d *Desk) tell(ctx context.Context, rec Record) {
	if d.notify == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			slog.Default().ErrorContext(ctx, "desk: the function of WithNotify panicked; the question waits nevertheless",
				slog.String("question", rec.Question.ID), slog.Any("panic", r))
		}
	}()
	d.notify(ctx, rec)
}
