package hooks

import (
	"context"
	"time"
)

// recorder makes the event of one dispatch. A nil recorder records nothing.
type recorder struct {
	ctx      context.Context
	watchers []*watcher
	event    HookDispatchedEvent
	payload  *tracker
	start    time.Time
	began    time.Duration // of the running hook, since start
	running  bool          // a hook has begun and not ended
}

func newRecorder(ctx context.Context, p *point, c any, watchers []*watcher, s *subject) *recorder {
	caller := callerOf(ctx, c)
	id := ""
	if call, ok := c.(interface{ toolCallID() string }); ok {
		id = call.toolCallID()
	}
	return &recorder{
		ctx: ctx, watchers: watchers, payload: newTracker(p.name, c), start: time.Now(),
		event: HookDispatchedEvent{Hooks: make([]HookRun, 0, 4), Point: p.name, RunID: caller.RunID, AgentRole: s.roleOr(caller), ToolName: s.name, ToolCallID: id},
	}
}

func (r *recorder) begin(h *hook) {
	if r == nil {
		return
	}
	r.event.Hooks = append(r.event.Hooks, HookRun{Name: h.reg.Name()})
	r.running = true
	r.began = time.Since(r.start) // costs half of what time.Now does
}

// end records that the running hook returned nil.
func (r *recorder) end() {
	if r == nil {
		return
	}
	run := r.close(OutcomeProceeded, nil)
	if r.payload.changed() {
		run.Outcome = OutcomeModified
	}
}

// failed records that the running hook did not return nil.
func (r *recorder) failed(ruled ruling) {
	if r == nil {
		return
	}
	if a := ruled.abort; a != nil {
		r.event.AbortReason, r.event.AbortSource = a.Reason, a.Source
		r.event.Outcome = OutcomeAborted
		r.close(OutcomeAborted, a.Err)
	} else {
		r.close(OutcomeFailed, ruled.err)
	}
	r.payload.changed() // what it changed before it failed isn't the next hook's doing
}

// close ends the record of the running hook. The clock comes first: what the
// recorder does itself is no hook's time.
func (r *recorder) close(outcome Outcome, err error) *HookRun {
	took := time.Since(r.start) - r.began
	run := &r.event.Hooks[len(r.event.Hooks)-1]
	run.Outcome, run.Err, run.Duration = outcome, err, took
	r.running = false
	return run
}

// send is deferred by the dispatch.
func (r *recorder) send() {
	if r.running { // a hook ends the goroutine
		r.close(OutcomeFailed, ErrGoexit)
		r.payload.changed()
	}
	if len(r.event.Hooks) == 0 {
		return
	}
	r.event.HookCount = len(r.event.Hooks)
	r.event.Duration = time.Since(r.start)
	if r.event.Outcome == "" {
		r.event.Outcome = OutcomeProceeded
		if r.payload.differs() {
			r.event.Outcome = OutcomeModified
		}
	}
	notify(r.nest(), r.watchers, r.event)
}

// nest returns the ctx for observers. One that opens the seam that it observes
// is stopped as a hook would be, but it can change nothing: the nest that breaks
// is its own, not that of the hooks around it.
func (r *recorder) nest() context.Context {
	n := nestOf(r.ctx)
	if n == nil {
		return r.ctx
	}
	own := &nest{Context: r.ctx, depth: n.depth}
	own.root = &own.broken
	return own
}

// tracker knows what a payload was, so that a change in place counts too.
type tracker struct {
	point InterceptionPoint
	c     any
	first snapshot // frozen when the dispatch began
	last  snapshot // frozen after the last hook that changed something
	now   snapshot // room for changed, which would else allocate it
}

// newTracker returns nil where c has no payload, and nothing is modified.
func newTracker(p InterceptionPoint, c any) *tracker {
	t := &tracker{point: p, c: c}
	if !t.read(&t.first) {
		return nil
	}
	t.first.freeze()
	t.last = t.first
	return t
}

// read asks the context. A HookPayload of a framework's own that panics must
// not end a run because somebody observes it.
func (t *tracker) read(s *snapshot) (ok bool) {
	switch c := t.c.(type) {
	case payloader:
		var r recovery
		defer r.catch()
		s.output = c.HookPayload(t.point)
		r.returned = true
		return true
	case ownPayloader:
		c.payload(t.point, s)
		return true
	}
	return false
}

// changed says whether the payload differs from what it was after the last
// change.
func (t *tracker) changed() bool {
	if t == nil {
		return false
	}
	t.now = snapshot{}
	if !t.read(&t.now) || t.last.same(&t.now) {
		return false
	}
	t.last = t.now
	t.last.freeze()
	return true
}

// differs says whether the payload differs from what it was at first.
func (t *tracker) differs() bool { return t != nil && !t.first.same(&t.last) }
