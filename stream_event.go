package hooks

// The event of a stream: what its filters did and took, and what was shown.

import (
	"time"
)

// streamLog makes the event of one stream. A nil log records nothing.
type streamLog struct {
	watchers []*watcher
	rec      recorder
	id       identity
	start    time.Duration // of the stream, on the clock
	began    time.Duration // of the filter that runs
	sent     bool
}

// newStreamLog returns the log for observers, nil without any.
func newStreamLog(watchers []*watcher, id identity) *streamLog {
	if len(watchers) == 0 {
		return nil
	}
	return &streamLog{watchers: watchers, id: id, start: clock()}
}

// filters says which filters the stream has.
func (l *streamLog) filters(hooks []*hook) {
	if l == nil {
		return
	}
	l.rec.event.Hooks = make([]HookRun, len(hooks))
	for i, h := range hooks {
		l.rec.event.Hooks[i] = HookRun{Name: h.reg.Name(), Outcome: OutcomeProceeded}
	}
}

// begin says that a filter, or what makes one, is called.
func (l *streamLog) begin() {
	if l != nil {
		l.began = clock()
	}
}

// end says that it has returned.
func (l *streamLog) end(g *stage) {
	if l != nil {
		l.rec.event.Hooks[g.at].Duration += clock() - l.began
	}
}

// modified says that a filter has changed what it let through.
func (l *streamLog) modified(g *stage) {
	if l == nil {
		return
	}
	if run := &l.rec.event.Hooks[g.at]; run.Outcome == OutcomeProceeded {
		run.Outcome = OutcomeModified
	}
	if l.rec.event.Outcome == "" {
		l.rec.event.Outcome = OutcomeModified
	}
}

// failed says what was ruled on a filter.
func (l *streamLog) failed(g *stage, ruled ruling) {
	if l == nil {
		return
	}
	run := &l.rec.event.Hooks[g.at]
	if ruled.abort == nil {
		run.Outcome, run.Err = OutcomeFailed, ruled.err
		return
	}
	run.Outcome, run.Err = OutcomeAborted, ruled.abort.Err
	l.refused(ruled.abort)
}

// suspended says that a filter has ended the stream because the run waits.
func (l *streamLog) suspended(g *stage, waits *Suspended) {
	if l == nil {
		return
	}
	run := &l.rec.event.Hooks[g.at]
	run.Outcome, run.Err = OutcomeSuspended, waits.Err
	l.rec.settled(waits)
}

// refused says what has ended the stream.
func (l *streamLog) refused(a *HookAborted) {
	if l != nil {
		l.rec.refused(a)
	}
}

// report sends the event, once, unless nobody observes. The stream is over then.
func (s *Stream) report() {
	defer s.nest.end()
	l := s.log
	if l == nil || l.sent {
		return
	}
	l.sent = true
	ev := &l.rec.event
	ev.Point, ev.ToolName = s.flow.name, l.id.tool
	l.rec.describe(s.ctx, s.c, l.id)
	ev.HookCount, ev.Duration = len(ev.Hooks), clock()-l.start
	ev.Chunks, ev.Bytes, ev.HeldMax = s.chunks, s.bytes, s.heldMax
	if ev.Outcome == "" {
		ev.Outcome = OutcomeProceeded
	}
	ctx, nest := onlookers(s.ctx)
	defer nest.end()
	notify(ctx, l.watchers, ev)
}
