package hooks

// Making the event of a dispatch: what each hook did and took, and what counts
// as modified. Nothing here is reached while nobody observes.

import (
	"context"
	"time"

	"github.com/loophooks/hooks/internal/shallow"
)

// recorder makes the event of one dispatch. A nil recorder records nothing.
type recorder struct {
	ctx       context.Context
	observers []*watcher
	event     HookDispatchedEvent
	payload   tracker
	began     time.Duration // of the running hook, on the clock
	start     time.Duration // of the dispatch
	last      time.Duration // when the last hook ended
	running   bool          // a hook has begun and not ended
}

// epoch is what the clock of recorders counts from: the time since one is read
// in half of what time.Now takes (BenchmarkClock).
var epoch = time.Now()

func clock() time.Duration { return time.Since(epoch) }

// open begins the record of a dispatch. The recorder stays on the stack of the
// dispatch; the list of hooks doesn't, since observers may keep it.
func (r *recorder) open(of *round, c any, id identity) {
	if r == nil {
		return
	}
	r.ctx, r.observers = of.ctx, of.watchers
	r.event.Point, r.event.ToolName = of.p.name, id.tool
	r.event.Hooks = make([]HookRun, 0, min(of.hooks, maxInline))
	r.describe(of.ctx, c, id)
	r.payload.open(of.p, c)
	r.start = clock()
	r.last = r.start
}

// describe says who makes the call: what c says comes before what ctx says.
func (r *recorder) describe(ctx context.Context, c any, id identity) {
	ev := &r.event
	ev.AgentRole = id.role
	switch own := c.(type) { // the first two need no dynamic look-up
	case *ToolCall:
		ev.ToolCallID = own.ID
		ev.callBy(&own.Caller)
	case *ModelCall:
		ev.callBy(&own.Caller)
	default:
		if call, ok := c.(identified); ok {
			ev.ToolCallID = call.toolCallID()
		}
		if call, ok := c.(calling); ok {
			ev.callBy(call.hookCaller())
		}
	}
	if around := frameOf(ctx).holds(); around.caller != nil {
		ev.callBy(around.caller)
		if around.run != nil { // as the seams fill it in
			ev.ParentRunID, ev.RootRunID = around.run.parent, around.run.root
		}
	}
	fillString(&ev.RootRunID, ev.RunID)
}

// callBy fills in what is unset.
func (ev *HookDispatchedEvent) callBy(c *Caller) {
	fillString(&ev.RunID, c.RunID)
	fillString(&ev.ParentRunID, c.ParentRunID)
	fillString(&ev.RootRunID, c.RootRunID)
	fillString(&ev.Tenant, c.Tenant)
	fillString(&ev.AgentRole, c.AgentRole)
}

func (r *recorder) begin(h *hook) {
	if r == nil {
		return
	}
	r.event.Hooks = append(r.event.Hooks, HookRun{Name: h.reg.Name()})
	r.running = true
	r.began = r.last
	if len(r.event.Hooks) > 1 { // what the recorder did since is no hook's time
		r.began = clock()
	}
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
	switch a := ruled.abort; {
	case a != nil:
		r.event.AbortReason, r.event.AbortSource = a.Reason, a.Source
		r.event.Outcome = OutcomeAborted
		r.close(OutcomeAborted, a.Err)
	case ruled.waits != nil:
		if r.event.Outcome != OutcomeAborted {
			r.event.Outcome = OutcomeSuspended
		}
		r.close(OutcomeSuspended, ruled.waits.Err)
	default:
		r.close(OutcomeFailed, ruled.err)
	}
	r.payload.changed() // what it changed before it failed isn't the next hook's doing
}

// refused records an abort that comes from no hook.
func (r *recorder) refused(a *HookAborted) {
	if r != nil {
		r.event.AbortReason, r.event.AbortSource, r.event.Outcome = a.Reason, a.Source, OutcomeAborted
	}
}

// settled records that a dispatch ends with err, whatever its hooks returned.
func (r *recorder) settled(err error) {
	switch err := err.(type) {
	case *HookAborted:
		r.refused(err)
	case *Suspended:
		if r != nil {
			r.event.Outcome = OutcomeSuspended
		}
	}
}

// exited records that the running hook ended the goroutine.
func (r *recorder) exited() {
	if r != nil && r.running {
		r.close(OutcomeFailed, ErrGoexit)
		r.payload.changed()
	}
}

// watched records what a watch returned; it changes nothing.
func (r *recorder) watched(err error) {
	if r == nil {
		return
	}
	outcome := OutcomeProceeded
	if err != nil {
		outcome = OutcomeFailed
	}
	r.close(outcome, err)
}

// close ends the record of the running hook. The clock comes first: what the
// recorder does itself is no hook's time.
func (r *recorder) close(outcome Outcome, err error) *HookRun {
	r.last = clock()
	run := &r.event.Hooks[len(r.event.Hooks)-1]
	run.Outcome, run.Err, run.Duration = outcome, err, r.last-r.began
	r.running = false
	return run
}

// send tells the observers, if there is anything to tell.
func (r *recorder) send() {
	if r == nil || len(r.event.Hooks) == 0 && r.event.Outcome == "" {
		return
	}
	r.event.HookCount = len(r.event.Hooks)
	r.event.Duration = r.last - r.start
	if r.event.Outcome == "" {
		r.event.Outcome = OutcomeProceeded
		if r.payload.moved {
			r.event.Outcome = OutcomeModified
		}
	}
	ctx, nest := onlookers(r.ctx)
	defer nest.end()
	notify(ctx, r.observers, &r.event)
}

// tracker knows what a payload was, so that a change in place counts too.
type tracker struct {
	side  side
	point InterceptionPoint
	c     any
	known bool    // c has a payload
	first frozen  // when the dispatch began
	last  *frozen // after the last hook that changed something; nil as long as none has
	moved bool    // what it is now differs from first
}

// open freezes the payload of c. Where c has none, nothing is modified.
func (t *tracker) open(p *point, c any) { t.openSide(p.side, p, c) }

// openSide is open for what stands on one side of the operation.
func (t *tracker) openSide(at side, p *point, c any) {
	t.side, t.point, t.c = at, p.name, c
	if t.known = t.read(&t.first.snapshot); t.known {
		t.first.freeze()
	}
}

// read asks the context. A HookPayload of a framework's own that panics must
// not end a run because somebody observes it.
func (t *tracker) read(s *snapshot) (ok bool) {
	switch c := t.c.(type) { // the package's own need no dynamic look-up
	case *ToolCall:
		c.payload(t.side, s)
	case *ModelCall:
		c.payload(t.side, s)
	case payloader:
		return t.readOther(c, s)
	case ownPayloader:
		apart := new(snapshot) // so that s needn't be on the heap
		c.payload(t.side, apart)
		*s = *apart
	default:
		return false
	}
	return true
}

func (t *tracker) readOther(c payloader, s *snapshot) (ok bool) {
	var r recovery
	defer r.catch()
	s.output = c.HookPayload(t.point)
	r.returned = true
	return true
}

// changed says whether the payload differs from what it was after the last
// change.
func (t *tracker) changed() bool {
	if !t.known {
		return false
	}
	last := t.last
	if last == nil {
		last = &t.first
	}
	var now snapshot
	if !t.read(&now) || last.same(&now) {
		return false
	}
	t.moved = !t.first.same(&now)
	t.last = &frozen{snapshot: now}
	t.last.freeze()
	return true
}

// frozen is a payload as it was, whatever is changed in place later. Small maps
// are kept as a list, which is quicker to make and to compare than a map.
type frozen struct {
	snapshot
	entries [4]entry
	n       int  // how many there are
	listed  bool // the input is in entries
}

type entry struct {
	key   string
	value any
}

// freeze copies what a later change in place would change.
func (f *frozen) freeze() {
	if len(f.input) <= len(f.entries) {
		f.listed = true
		for k, v := range f.input {
			f.entries[f.n] = entry{k, v}
			f.n++
		}
		f.input = nil
	}
	f.snapshot.freeze()
}

func (f *frozen) same(now *snapshot) bool {
	return f.sameInput(now.input) && f.snapshot.same(now)
}

func (f *frozen) sameInput(now map[string]any) bool {
	if !f.listed {
		return shallow.EqualMaps(f.input, now)
	}
	if f.n != len(now) {
		return false
	}
	for _, e := range f.entries[:f.n] {
		if v, ok := now[e.key]; !ok || !shallow.Identical(e.value, v) {
			return false
		}
	}
	return true
}
