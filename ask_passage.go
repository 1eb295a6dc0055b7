package hooks

// What was asked in one passage of a tool seam, and what that makes of the passage.

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
)

// asking is what was asked in one passage of a tool seam.
type asking struct {
	running atomic.Pointer[hook] // the hook that runs, as far as questions could reach anybody

	mu       sync.Mutex
	open     int                      // calls of Ask that haven't returned
	approved map[string]*Registration // who asked, by the ID of the question
	keys     map[string]struct{}      // of those questions
	used     []usedUp                 // decisions, until the passage ends
	refused  error                    // of an Ask that didn't say yes; the first
	waits    []Question               // without a decision
	edited   bool                     // guards have to be asked again
	inBody   bool                     // guards are asked again, about what an around hook made of the call
	settled  bool                     // the hooks have decided, until guards are asked again
	over     bool                     // the passage has ended
}

// usedUp is a decision that let the call through.
type usedUp struct {
	desk Desk
	id   string
}

// askedAt returns the hooks of the tool seam of t whose pre point fires, as far as
// ctx comes from them.
func askedAt(ctx context.Context, t *ToolCall) *nest {
	f := frameOf(ctx)
	if f == nil || t == nil {
		return nil
	}
	for n := f.nest; n != nil && !n.observes; n = n.outer { // onlookers decide nothing
		if n.call == t && atomic.LoadUint32(&n.state) == 0 {
			return n
		}
	}
	return nil
}

// questions returns what was asked in the passage.
func (n *nest) questions() *asking {
	if a := n.asked.Load(); a != nil {
		return a
	}
	n.asked.CompareAndSwap(nil, &asking{})
	return n.asked.Load()
}

// begin counts a call of Ask, until note has what came of it. It returns false where
// what the hooks were answered is settled, so that the question would come too late.
func (a *asking) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.settled {
		a.open++
	}
	return !a.settled
}

// note keeps what an Ask answered.
func (a *asking) note(answer error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
	if answer == nil {
		return
	}
	if waits, ok := answer.(*Suspended); ok {
		for _, q := range waits.Questions {
			if !slices.ContainsFunc(a.waits, func(other Question) bool { return other.ID == q.ID }) {
				a.waits = append(a.waits, q)
			}
		}
	} else if a.refused == nil {
		a.refused = answer
	}
}

// isApproved says whether the question was approved before in this passage. Two
// hooks without names that were registered at one place have one Key and aren't
// one question for that.
func (a *asking) isApproved(id string, by *Registration) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked, approved := a.approved[id]
	if approved && asked != by && by != nil && by.name == "" {
		return true, askFailed("two hooks ask the same question; give them names by WithName, or the questions a Key")
	}
	return approved, nil
}

// enterBody says that the call has passed its pre point, and that guards are asked
// again.
func (a *asking) enterBody() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inBody, a.settled = true, false
}

// wasApproved says whether the call was approved under the key in front of its body,
// where an around hook has changed it since.
func (a *asking) wasApproved(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, approved := a.keys[key]
	return a.inBody && approved
}

// use keeps a decision that was used up, until the passage ends.
func (a *asking) use(ctx context.Context, u usedUp) {
	a.mu.Lock()
	over := a.over
	if !over {
		a.used = append(a.used, u)
	}
	a.mu.Unlock()
	if over { // the hook didn't wait for the answer
		u.tell(context.WithoutCancel(ctx))
	}
}

// changed says whether the call that runs isn't the one that was approved.
func (a *asking) changed(t *ToolCall, held *carried) bool {
	if len(a.keys) == 0 {
		return false
	}
	var q Question
	q.about(t, held)
	var err error
	if q.Arguments, err = canonicalArguments(t); err != nil {
		return true
	}
	for q.Key = range a.keys {
		q.identify()
		if _, approved := a.approved[q.ID]; !approved {
			return true
		}
	}
	return false
}

// settle makes whole what the hooks of a pre point made of what they were
// answered: outcome is what they returned.
func (a *asking) settle(p *point, t *ToolCall, held *carried, outcome error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settled = true
	waits, suspended := outcome.(*Suspended)
	switch {
	case outcome != nil && !suspended:
		return outcome
	case a.refused != nil:
		if abort := findAbort(a.refused); abort != nil {
			refused := *abort
			refused.Point = p.name
			return &refused
		}
		return &HookAborted{Reason: "the question whether it may run could not be put", Point: p.name, Err: a.refused}
	case a.open > 0:
		return &HookAborted{Reason: "a hook didn't wait for the answer to its question", Point: p.name}
	case outcome == nil && len(a.waits) == 0 && a.changed(t, held):
		return &HookAborted{
			Reason: "it was changed after it had been approved", Point: p.name,
			Err: askFailed("a later hook changed what was approved; let the last guard ask, by a low priority"),
		}
	case len(a.waits) == 0:
		return outcome
	case !suspended:
		return &Suspended{Questions: slices.Clone(a.waits)}
	}
	all := slices.Clone(waits.Questions)
	for _, q := range a.waits {
		if !slices.ContainsFunc(all, func(other Question) bool { return other.ID == q.ID }) {
			all = append(all, q)
		}
	}
	if len(all) == len(waits.Questions) {
		return outcome
	}
	return &Suspended{Questions: all, Err: waits.Err}
}

// takeEdited says, once, that a decision has changed the arguments since the
// guards were asked.
func (a *asking) takeEdited() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	edited := a.edited
	a.edited = false
	return edited
}

// maxEdits is how often the guards of a call are asked again because a decision
// edited it.
const maxEdits = 16

// askEdited asks the guards again as long as decisions edit the call.
func askEdited[C any](r *round, rec *recorder, c *C, a *asking) error {
	for range maxEdits {
		if !a.takeEdited() {
			return nil
		}
		if err := runGuards(r, rec, c); err != nil {
			return err
		}
	}
	return &HookAborted{Reason: "its arguments were edited again and again", Point: r.p.name}
}

// done tells the desks that the call has ended that their decisions let through.
func (a *asking) done(ctx context.Context) {
	a.mu.Lock()
	used := a.used
	a.used, a.over = nil, true
	a.mu.Unlock()
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	tellAll(ctx, used)
}

// tellAll tells one desk after the other, the next one also after one that ended
// the goroutine.
func tellAll(ctx context.Context, used []usedUp) {
	if len(used) > 0 {
		defer tellAll(ctx, used[1:])
		used[0].tell(ctx)
	}
}

func (u usedUp) tell(ctx context.Context) {
	var r recovery
	var err error
	func() {
		defer r.catch()
		err = u.desk.Done(ctx, u.id)
		r.returned = true
	}()
	if r.panicked != nil {
		err = r.panicked
	}
	if err != nil {
		logError(ctx, "hooks: the desk could not be told that a call has ended; it may be asked about once more", err, slog.String("question", u.id))
	}
}
