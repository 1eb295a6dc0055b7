package hooks

// The event of a passage that had around hooks.

import "time"

// account is what the event tells of one call of an around hook.
type account struct {
	entry   int // in the event
	calls   int
	began   time.Duration
	inside  time.Duration // in next
	seen    tracker       // what was there when the hook began
	left    tracker       // what next left
	changed bool
}

// begin opens the account of a hook, where somebody observes.
func (w *wrap[C]) begin(t *turn[C]) {
	if w.rec == nil {
		return
	}
	t.account = &account{entry: len(w.rec.event.Hooks)}
	w.rec.event.Hooks = append(w.rec.event.Hooks, HookRun{Name: t.hook.reg.Name()})
	t.account.seen.openSide(before, w.p, w.c)
	t.account.began = clock()
}

// enter says that next begins, and leave that it has returned.
func (a *account) enter() {
	a.calls++
	a.changed = a.changed || a.seen.changed()
	a.inside -= clock()
}

func (a *account) leave(p *point, c any) {
	a.inside += clock()
	a.left = tracker{}
	a.left.openSide(after, p, c)
}

// finish closes the account of a hook that was ruled on.
func (w *wrap[C]) finish(t *turn[C], ruled ruling) {
	if w.rec == nil {
		return
	}
	a, ev := t.account, &w.rec.event
	w.rec.last = clock()
	run := &ev.Hooks[a.entry]
	run.Duration, run.Calls = w.rec.last-a.began-a.inside, a.calls
	switch abort := ruled.abort; {
	case abort != nil:
		run.Outcome, run.Err = OutcomeAborted, abort.Err
		if w.abort != abort { // the operation had ended before
			break
		}
		ev.Outcome, ev.AbortReason, ev.AbortSource = OutcomeAborted, abort.Reason, abort.Source
	case ruled.waits != nil:
		run.Outcome, run.Err = OutcomeSuspended, ruled.waits.Err
		if ev.Outcome == "" {
			ev.Outcome = OutcomeSuspended
		}
	case ruled.err != nil:
		run.Outcome, run.Err = OutcomeFailed, ruled.err
	case a.changed, a.left.changed(), a.calls == 0 && w.answered():
		run.Outcome = OutcomeModified
		w.rec.payload.moved = true
	default:
		run.Outcome = OutcomeProceeded
	}
}

// send sends the event.
func (w *wrap[C]) send() {
	if w.rec == nil {
		return
	}
	ev := &w.rec.event
	for i := range ev.Hooks {
		if ev.Hooks[i].Outcome == "" { // its goroutine ends
			ev.Hooks[i].Outcome, ev.Hooks[i].Err = OutcomeFailed, ErrGoexit
		}
	}
	ev.Runs, ev.Body = w.seam.wrapped.runs, w.took
	w.rec.send()
}
