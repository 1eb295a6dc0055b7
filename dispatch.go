package hooks

// Dispatching: from the chains of a point to the calls of their hooks.
//
//	Dispatch        nothing registered: one load
//	dispatch        the default registry, nothing filtered, nobody looks: callAll
//	dispatchSlow    the same, filtered by tool names alone: runNamed
//	dispatchRound   anything: its chains, then
//	  decide        the hooks of each chain, then the guards of each
//	    runLane     those that the tool concerns: runAll or runPicked
//	  closeRound    watches, then observers
//
// What isn't used costs next to nothing, as long as its counter is zero: scopes
// with hooks at a point (point.scoped) and observers (observed) are counted down
// again when they go. Only framed is set for good, by the first ctx node of the
// package: from then on a seam looks into its ctx once.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/toolname"
)

// Dispatch runs the hooks that are registered at p, with c: those of the
// [Default] registry, then those of each scope of ctx from the outermost in,
// then the guards in the same order, then the watches. It returns nil; the
// [*HookAborted] of the hook that stopped the chain; or the [*Suspended] of one that
// said that the run waits. Where the point stands behind a body, or is a
// framework's own, the guards decide all the same, so that nothing which they
// refuse is saved with the run: those that had let it pass are asked once more,
// and a refusal takes the place of the suspension. What hooks changed in c before
// stays changed. A hook that fails is logged and passed over, unless it is
// fail-closed. Around hooks and filters don't run, since Dispatch has no body. It
// doesn't look at ctx itself.
//
// It runs the chains as they are when it begins: hooks that are added or
// removed meanwhile count from the next dispatch on. Hooks write into c and what
// is behind it; the seams give them copies. A nil c or the zero Point is an
// error. Dispatch is safe for concurrent use and from inside a hook, with a c
// for each dispatch; a hook that dispatches the point it hooks has to see to it
// that this ends.
func Dispatch[C any](ctx context.Context, p Point[C], c *C) error {
	if p.p == nil || c == nil {
		return errNoContext(p.p)
	}
	if p.p.unused() {
		return nil
	}
	return dispatch(ctx, p.p, c)
}

// Enabled reports whether there is any hook, guard or watch at p for this ctx, or,
// at a pre point, around the body behind it or on its stream, so that a loop needn't
// build a context that nobody will see. True doesn't
// promise that a filter matches. It is safe for concurrent use.
func Enabled[C any](ctx context.Context, p Point[C]) bool {
	if p.p == nil || p.p.unused() {
		return false
	}
	f := frameOf(ctx)
	return p.p.enabled(f) || p.p.body != nil && p.p.body.enabled(f) || p.p.flow != nil && p.p.flow.enabled(f)
}

// unused says that no dispatch of p can have a hook: the fast way out.
func (p *point) unused() bool { return p.live.Load() == 0 }

// enabled says whether a dispatch under the frame f has a hook.
func (p *point) enabled(f *frame) bool {
	if p.std.Load() != nil {
		return true
	}
	for _, r := range f.holds().scopes {
		if r.chain(p) != nil {
			return true
		}
	}
	return false
}

const zeroPoint = "the zero Point names no interception point; use one of the package's points or Define one"

func errNoContext(p *point) error {
	if p == nil {
		return errors.New("hooks: " + zeroPoint)
	}
	return fmt.Errorf("hooks: %s: the context is nil; give the hooks one to look at", p.name)
}

// dispatch is Dispatch for a point that may have hooks. What most processes have,
// the default registry alone, goes a short way.
func dispatch[C any](ctx context.Context, p *point, c *C) error {
	std := p.std.Load()
	if std == nil || p.scoped.Load() != 0 || observed.Load() != 0 || std.state.Load() != direct {
		return dispatchSlow(nonNil(ctx), p, std, c)
	}
	fns := std.all.([]Func[C])
	in := &noInput
	if t, ok := any(c).(*ToolCall); ok && p.side == before {
		in = &t.Input // without a call
	} else if p.readied {
		in = prepare(p, c)
	}
	ctx = nonNil(ctx)
	at, panicked, err := callAll(ctx, 0, fns, in, c)
	if at == len(fns) {
		return nil
	}
	err = runRest(ctx, p, std.hooks, fns, in, c, at, panicked, err)
	return againStanding(ctx, frameOf(ctx), p, c, err)
}

// dispatchSlow is dispatch for the rest, of which hooks that name their tools have
// a shorter way too.
func dispatchSlow[C any](ctx context.Context, p *point, std *chain, c *C) error {
	if t, ok := any(c).(*ToolCall); ok && std != nil && std.state.Load() == named && p.scoped.Load() == 0 && observed.Load() == 0 {
		if done, err := runNamed(ctx, p, std, t, c); done {
			return againStanding(ctx, frameOf(ctx), p, c, err)
		}
	}
	return dispatchRound(ctx, p, c)
}

// againStanding is stillGuarded for a dispatch that went a short way and
// returned err.
func againStanding[C any](ctx context.Context, f *frame, p *point, c *C, err error) error {
	if err == nil || p.side == before || findSuspended(err) == nil {
		return err
	}
	var r round
	if !r.open(ctx, f, p) {
		return err
	}
	if failure := about(&r, nil, c); failure != nil {
		return failure
	}
	return stillGuarded(&r, nil, c, err)
}

// runNamed runs a named chain for a tool call, if both lanes can tell at once what
// concerns it. A hook that gives the call another name has the guards looked up
// again.
func runNamed[C any](ctx context.Context, p *point, ch *chain, t *ToolCall, c *C) (done bool, err error) {
	name := t.Name
	main, ok := ch.main.only(name)
	guards, sure := ch.guards.only(name)
	if !ok || !sure {
		return false, nil
	}
	in := t.ready(p.side)
	if err := runSpan(ctx, p, &ch.main, main, in, c); err != nil {
		return true, err
	}
	if len(ch.guards.hooks) == 0 {
		return true, nil
	}
	if t.Name != name {
		r := round{ctx: ctx, p: p, input: in}
		r.subject.also(identity{name, t.AgentRole})
		r.subject.also(identity{t.Name, t.AgentRole})
		return true, runLane(&r, &ch.guards, nil, c)
	}
	return true, runSpan(ctx, p, &ch.guards, guards, in, c)
}

func runSpan[C any](ctx context.Context, p *point, l *lane, s span, in inputMap, c *C) error {
	if s.empty() {
		return nil
	}
	return runAll(ctx, p, l.hooks[s.lo:s.hi], l.fns.([]Func[C])[s.lo:s.hi], in, c)
}

func dispatchRound[C any](ctx context.Context, p *point, c *C) error {
	var r round
	f := frameOf(ctx)
	if p.body != nil {
		p.body.passedBy(ctx, f)
	}
	if !r.open(ctx, f, p) {
		return nil
	}
	if !r.attended {
		return decide(&r, nil, c)
	}
	return dispatchAttended(&r, c)
}

func dispatchAttended[C any](r *round, c *C) (err error) {
	var room recorder
	rec := r.recorder(&room)
	returned := false
	defer func() {
		if !returned { // a hook ends the goroutine
			closeRound(r, rec, c, ErrGoexit)
		}
	}()
	err = decide(r, rec, c)
	returned = true
	closeRound(r, rec, c, err)
	return err
}

// maxInline is how many registries a dispatch can have without an allocation.
const maxInline = 8

// round is one dispatch under way: what it runs, and on what.
type round struct {
	ctx      context.Context
	p        *point
	side     side                  // where it stands in its seam; of a framework's own point that is known to Run alone
	inline   [maxInline]*chain     // the first chains; a slice of them would put the round on the heap
	more     []*chain              // the others
	n        int                   // how many there are
	hooks    int                   // how many hooks they have
	watchers []*watcher            // observers
	watched  bool                  // some chain has watches
	filtered bool                  // some hook looks at the tool or the role
	attended bool                  // watched, or with observers
	began    identity              // what the call was at the start of its seam
	inSeam   bool                  // began is set
	running  *atomic.Pointer[hook] // where the hook that runs is noted, nil if nobody wants to know
	subject  subject
	input    inputMap
}

// open finds the chains of p under the frame f of ctx, and whether there are any.
func (r *round) open(ctx context.Context, f *frame, p *point) bool {
	r.ctx, r.p, r.side = ctx, p, p.side
	if std := p.std.Load(); std != nil {
		r.join(std)
	}
	scopes := f.holds().scopes
	if p.scoped.Load() > 0 {
		for _, s := range scopes {
			if ch := s.chain(p); ch != nil {
				r.join(ch)
			}
		}
	}
	if r.n == 0 {
		return false
	}
	if observed.Load() > 0 {
		r.watchers = watchersOf(scopes)
	}
	r.attended = r.watched || len(r.watchers) > 0
	return true
}

func (r *round) join(ch *chain) {
	ch.prepared(r.p.compile)
	if r.n < maxInline {
		r.inline[r.n] = ch
	} else {
		r.more = append(r.more, ch)
	}
	r.n++
	r.hooks += len(ch.hooks)
	r.watched = r.watched || len(ch.watches.hooks) > 0
	r.filtered = r.filtered || !ch.direct() && ch.filtering()
}

func (r *round) chain(i int) *chain {
	if i < maxInline {
		return r.inline[i]
	}
	return r.more[i-maxInline]
}

// recorder returns room if somebody observes. It is the caller's, so that it
// stays on the stack.
func (r *round) recorder(room *recorder) *recorder {
	if len(r.watchers) == 0 {
		return nil
	}
	return room
}

// decide runs the hooks of each chain and then, since they decide last, the
// guards of each.
func decide[C any](r *round, rec *recorder, c *C) error {
	if err := about(r, rec, c); err != nil {
		return err
	}
	if ch := r.inline[0]; r.n == 1 && ch.direct() && rec == nil && r.running == nil {
		err := runAll(r.ctx, r.p, ch.hooks, ch.all.([]Func[C]), r.input, c)
		return stillGuarded(r, rec, c, err)
	}
	for i := range r.n {
		if err := runLane(r, &r.chain(i).main, rec, c); err != nil {
			return stillGuarded(r, rec, c, err)
		}
	}
	if err := unreadable(r, rec, alsoNow(r, c)); err != nil {
		return err
	}
	for i := range r.n {
		if err := runLane(r, &r.chain(i).guards, rec, c); err != nil {
			return stillGuarded(r, rec, c, err)
		}
	}
	return nil
}

// about finds out what the round is about. It fails where that can't be read and
// a guard would have to know.
func about[C any](r *round, rec *recorder, c *C) error {
	r.input = prepare(r.p, c)
	if !r.filtered && rec == nil {
		return nil
	}
	id, failure := identify(r.p, c)
	if r.filtered {
		r.subject.also(id)
	}
	rec.open(r, c, id)
	return unreadable(r, rec, failure)
}

// unreadable returns what becomes of a context whose name or role can't be read,
// nil where failure is.
func unreadable(r *round, rec *recorder, failure *PanicError) error {
	if failure == nil {
		return nil
	}
	if abort := unidentified(r, failure); abort != nil {
		rec.refused(abort)
		return abort
	}
	return nil
}

// stillGuarded has the guards decide on a value that stands though a hook, or one
// of them, said behind the body that the run waits: what nobody has let through
// is not to be saved with the run. Where err is something else it stays. Guards
// that have passed the value already are asked once more.
func stillGuarded[C any](r *round, rec *recorder, c *C, err error) error {
	if err == nil || r.side == before || findSuspended(err) == nil {
		return err
	}
	if refused := runGuards(r, rec, c); refused != nil && findSuspended(refused) == nil {
		return refused
	}
	return err
}

// runGuards asks the guards alone. Behind the body, one that says that the run
// waits doesn't keep the others from being asked.
func runGuards[C any](r *round, rec *recorder, c *C) error {
	if err := unreadable(r, rec, alsoNow(r, c)); err != nil {
		return err
	}
	var waits error
	for i := range r.n {
		l := &r.chain(i).guards
		if len(l.hooks) == 0 {
			continue
		}
		k := newPick(l, &r.subject)
		for done := false; !done; {
			var panicked *PanicError
			var err error
			if done, panicked, err = callPicked(r, rec, &k, l.fns.([]Func[C]), c); done {
				break
			}
			ended := settle(r.ctx, r.p, l.hooks[k.at], rec, err, panicked)
			switch {
			case ended == nil:
			case r.side == before || findSuspended(ended) == nil:
				return ended
			default:
				waits = ended
			}
		}
	}
	return waits
}

// closeRound shows the dispatch to watches and observers. err is what it
// returned, ErrGoexit where a hook ended the goroutine.
func closeRound[C any](r *round, rec *recorder, c *C, err error) {
	rec.exited()
	defer rec.send()
	if r.watched {
		_ = alsoNow(r, c) // nothing can be stopped any more
		look(r, rec, c, err)
	}
}

// alsoNow lets guards and watches go by what the call is now, and by what it was
// at the start of its seam. It fails where that can't be read.
func alsoNow[C any](r *round, c *C) *PanicError {
	if !r.filtered {
		return nil
	}
	if r.inSeam {
		r.subject.also(r.began)
	}
	now, failure := identify(r.p, c)
	if failure == nil {
		r.subject.also(now)
	}
	return failure
}

func runLane[C any](r *round, l *lane, rec *recorder, c *C) error {
	if len(l.hooks) == 0 {
		return nil
	}
	fns := l.fns.([]Func[C])
	k := newPick(l, &r.subject)
	if !l.picky && rec == nil && r.running == nil && k.n <= 1 {
		return runSpan(r.ctx, r.p, l, k.groups[0], r.input, c)
	}
	return runPicked(r, rec, &k, fns, c)
}

// runAll runs every one of fns. One recover frame serves them all: it is
// entered again only after a hook that returned an error, panicked or left no
// input.
func runAll[C any](ctx context.Context, p *point, hooks []*hook, fns []Func[C], in inputMap, c *C) error {
	at, panicked, err := callAll(ctx, 0, fns, in, c)
	if at == len(fns) {
		return nil
	}
	return runRest(ctx, p, hooks, fns, in, c, at, panicked, err)
}

// runRest goes on at the hook where callAll stopped.
func runRest[C any](ctx context.Context, p *point, hooks []*hook, fns []Func[C], in inputMap, c *C, at int, panicked *PanicError, err error) error {
	for at < len(fns) {
		if err != nil || panicked != nil {
			if abort := settle(ctx, p, hooks[at], nil, err, panicked); abort != nil {
				return abort
			}
		}
		at, panicked, err = callAll(ctx, at+1, fns, in, c)
	}
	return nil
}

// callAll calls fns from one on, until one fails or leaves no input, and returns
// its place, or their number. The place is a result and so in memory, where the
// deferred function finds it; the error is kept out of it as long as there is
// none, and the input is looked at behind a hook, since a jump over what is done
// without one costs a quarter of a bare call. Two hooks a turn of the loop save
// another (BenchmarkDispatch).
func callAll[C any](ctx context.Context, from int, fns []Func[C], in inputMap, c *C) (at int, panicked *PanicError, err error) {
	returned := false
	at = from
	defer func() {
		if !returned {
			panicked = newPanicError(recover())
		}
	}()
	ensureInput(in)
	for at < len(fns) {
		if failed := fns[at](ctx, c); failed != nil || *in == nil {
			err = failed
			break
		}
		if at++; at == len(fns) {
			break
		}
		if failed := fns[at](ctx, c); failed != nil || *in == nil {
			err = failed
			break
		}
		at++
	}
	returned = true
	return at, panicked, err
}

// pick walks the hooks of a lane that a dispatch concerns, in running order. It
// doesn't hold the subject, so that this stays on the stack.
type pick struct {
	at     int // the hook it has come to
	lane   *lane
	groups [4]span // what is left of the first
	more   []span  // and of the others, where the call has had several names
	n      int     // how many there are
	looks  bool    // to see which hooks there are, without running them
}

func newPick(l *lane, s *subject) pick {
	k := pick{lane: l}
	k.add(l.always)
	if l.filtersTools {
		k.add(l.patterns)
		k.addNamed(&s.tool)
		for _, n := range s.tools {
			k.addNamed(n)
		}
	}
	return k
}

func (k *pick) addNamed(n *toolname.Name) {
	first, second := k.lane.named(n)
	k.add(first)
	k.add(second)
}

func (k *pick) add(g span) {
	if g.empty() {
		return
	}
	if k.n < len(k.groups) {
		k.groups[k.n] = g
	} else {
		k.more = append(k.more, g)
	}
	k.n++
}

func (k *pick) group(i int) *span {
	if i < len(k.groups) {
		return &k.groups[i]
	}
	return &k.more[i-len(k.groups)]
}

// next moves to the next hook that is to run and returns false after the last.
func (k *pick) next(s *subject) bool {
	if g := &k.groups[0]; k.n == 1 && !k.lane.picky { // the usual case
		k.at = int(g.lo)
		g.lo++
		return g.lo <= g.hi
	}
	order := k.lane.order
	for {
		var first *span
		for i := range k.n {
			if g := k.group(i); !g.empty() && (first == nil || order[g.lo] < order[first.lo]) {
				first = g
			}
		}
		if first == nil {
			return false
		}
		k.at = int(first.lo)
		for i := range k.n { // a hook that stands in two groups runs once
			if g := k.group(i); !g.empty() && order[g.lo] == order[k.at] {
				g.lo++
			}
		}
		if h := k.lane.hooks[k.at]; s.matches(h) && (k.looks || h.claim()) {
			return true
		}
	}
}

// runPicked is runAll for the hooks that k picks.
func runPicked[C any](r *round, rec *recorder, k *pick, fns []Func[C], c *C) error {
	for {
		done, panicked, err := callPicked(r, rec, k, fns, c)
		if done {
			return nil
		}
		if abort := settle(r.ctx, r.p, k.lane.hooks[k.at], rec, err, panicked); abort != nil {
			return abort
		}
	}
}

func callPicked[C any](r *round, rec *recorder, k *pick, fns []Func[C], c *C) (done bool, panicked *PanicError, err error) {
	returned := false
	defer func() {
		if !returned {
			panicked = newPanicError(recover())
		}
	}()
	for k.next(&r.subject) {
		ensureInput(r.input)
		rec.begin(k.lane.hooks[k.at])
		if r.running != nil {
			r.running.Store(k.lane.hooks[k.at])
		}
		if err = fns[k.at](r.ctx, c); err != nil {
			returned = true
			return false, nil, err
		}
		rec.end()
	}
	returned = true
	return true, nil, nil
}
