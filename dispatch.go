package hooks

// Dispatching: from the chains of a point to the calls of their hooks.
//
//	Dispatch        nothing registered: one load
//	dispatch        one registry, nothing filtered, nobody looks: runAll
//	dispatchSlow    a round: its chains, then
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
)

// Dispatch runs the hooks that are registered at p, with c: those of the
// [Default] registry, then those of each scope of ctx from the outermost in,
// then the guards in the same order, then the watches. It returns nil, or the
// [*HookAborted] of the hook that stopped the chain; what hooks changed in c
// before that stays changed. A hook that fails is logged and passed over, unless
// it is fail-closed. Dispatch doesn't look at ctx itself.
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

// Enabled reports whether there is any hook, guard or watch at p for this ctx,
// so that a loop needn't build a context that nobody will see. True doesn't
// promise that a filter matches. It is safe for concurrent use.
func Enabled[C any](ctx context.Context, p Point[C]) bool {
	return p.p != nil && !p.p.unused() && p.p.enabled(frameOf(ctx))
}

// unused says that no dispatch of p can have a hook: the fast way out.
func (p *point) unused() bool { return p.std.Load() == nil && p.scoped.Load() == 0 }

// enabled says whether a dispatch under the frame f has a hook.
func (p *point) enabled(f *frame) bool {
	if p.std.Load() != nil {
		return true
	}
	for _, r := range f.activeScopes() {
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

// dispatch is Dispatch for a point that may have hooks.
func dispatch[C any](ctx context.Context, p *point, c *C) error {
	ctx = nonNil(ctx)
	if std := p.std.Load(); std != nil && p.scoped.Load() == 0 && observed.Load() == 0 &&
		std.prepared(p.compile).direct {
		return runAll(ctx, p, std.hooks, std.all.([]Func[C]), prepare(p, c), c)
	}
	return dispatchSlow(ctx, p, c)
}

func dispatchSlow[C any](ctx context.Context, p *point, c *C) error {
	var r round
	if !r.open(ctx, frameOf(ctx), p) {
		return nil
	}
	if !r.attended {
		return decide(&r, c)
	}
	return dispatchAttended(&r, c)
}

func dispatchAttended[C any](r *round, c *C) (err error) {
	returned := false
	defer func() {
		if !returned { // a hook ends the goroutine
			closeRound(r, c, ErrGoexit)
		}
	}()
	err = decide(r, c)
	returned = true
	closeRound(r, c, err)
	return err
}

// maxInline is how many registries a dispatch can have without an allocation.
const maxInline = 8

// round is one dispatch under way: what it runs, and on what.
type round struct {
	ctx      context.Context
	p        *point
	inline   [maxInline]*chain // the first chains; a slice of them would put the round on the heap
	more     []*chain          // the others
	n        int               // how many there are
	watchers []*watcher        // observers
	watched  bool              // some chain has watches
	filtered bool              // some hook looks at the tool or the role
	attended bool              // watched, or with observers
	began    identity          // what the call was at the start of its seam
	inSeam   bool              // began is set
	subject  subject
	input    inputMap
	rec      recorder
	recorded bool
}

// open finds the chains of p under the frame f of ctx, and whether there are any.
func (r *round) open(ctx context.Context, f *frame, p *point) bool {
	r.ctx, r.p = ctx, p
	if std := p.std.Load(); std != nil {
		r.join(std)
	}
	scopes := f.activeScopes()
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
	r.watched = r.watched || len(ch.watches.hooks) > 0
	r.filtered = r.filtered || !ch.direct && ch.filtering()
}

func (r *round) chain(i int) *chain {
	if i < maxInline {
		return r.inline[i]
	}
	return r.more[i-maxInline]
}

// recorder returns what records the dispatch, nil if nobody observes.
func (r *round) recorder() *recorder {
	if r.recorded {
		return &r.rec
	}
	return nil
}

// decide runs the hooks of each chain and then, since they decide last, the
// guards of each.
func decide[C any](r *round, c *C) error {
	r.input = prepare(r.p, c)
	if r.filtered || len(r.watchers) > 0 {
		id, failure := identify(r.p, c)
		r.subject.also(id)
		if len(r.watchers) > 0 {
			r.rec.open(r.ctx, r.p, c, r.watchers, id)
			r.recorded = true
		}
		if failure != nil {
			if abort := unidentified(r, failure); abort != nil {
				r.recorder().refused(abort)
				return abort
			}
		}
	}
	if ch := r.inline[0]; r.n == 1 && ch.direct && !r.recorded {
		return runAll(r.ctx, r.p, ch.hooks, ch.all.([]Func[C]), r.input, c)
	}
	for i := range r.n {
		if err := runLane(r, &r.chain(i).main, c); err != nil {
			return err
		}
	}
	alsoNow(r, c)
	for i := range r.n {
		if err := runLane(r, &r.chain(i).guards, c); err != nil {
			return err
		}
	}
	return nil
}

// closeRound shows the dispatch to watches and observers. err is what it
// returned, ErrGoexit where a hook ended the goroutine.
func closeRound[C any](r *round, c *C, err error) {
	rec := r.recorder()
	rec.exited()
	defer rec.send()
	if r.watched {
		alsoNow(r, c)
		look(r, c, err)
	}
}

// alsoNow lets guards and watches go by what the call is now, and by what it was
// at the start of its seam.
func alsoNow[C any](r *round, c *C) {
	if !r.filtered {
		return
	}
	if r.inSeam {
		r.subject.also(r.began)
	}
	if now, failure := identify(r.p, c); failure == nil {
		r.subject.also(now)
	}
}

func runLane[C any](r *round, l *lane, c *C) error {
	if len(l.hooks) == 0 {
		return nil
	}
	fns := l.fns.([]Func[C])
	k := newPick(l, &r.subject)
	if !l.picky && !r.recorded && k.n <= 1 {
		if k.n == 0 {
			return nil
		}
		g := k.groups[0]
		return runAll(r.ctx, r.p, l.hooks[g.lo:g.hi], fns[g.lo:g.hi], r.input, c)
	}
	return runPicked(r, &k, fns, c)
}

// runAll runs every one of fns. One recover frame serves them all: it is
// entered again only after a hook that returned an error or panicked.
func runAll[C any](ctx context.Context, p *point, hooks []*hook, fns []Func[C], in inputMap, c *C) error {
	at, panicked, err := callAll(ctx, 0, fns, in, c)
	for at < len(fns) {
		if abort := settle(ctx, p, hooks[at], nil, err, panicked); abort != nil {
			return abort
		}
		at, panicked, err = callAll(ctx, at+1, fns, in, c)
	}
	return nil
}

// callAll calls fns from at on until one fails, and returns the place of that
// one, or their number. The place is a result, and so in memory: keeping it
// behind a pointer as well costs more (BenchmarkDispatch).
func callAll[C any](ctx context.Context, from int, fns []Func[C], in inputMap, c *C) (at int, panicked *PanicError, err error) {
	returned := false
	at = from
	defer func() {
		if !returned {
			panicked = newPanicError(recover())
		}
	}()
	for ; at < len(fns); at++ {
		if *in == nil {
			ensureInput(in)
		}
		if err = fns[at](ctx, c); err != nil {
			break
		}
	}
	returned = true
	return at, nil, err
}

// pick walks the hooks of a lane that a dispatch concerns, in running order.
type pick struct {
	at      int // the hook it has come to
	lane    *lane
	groups  [2 + 2*maxIdentities]span // what is left of them
	n       int                       // how many there are
	subject *subject
}

func newPick(l *lane, s *subject) pick {
	k := pick{lane: l, subject: s}
	k.add(l.always)
	if l.filtersTools {
		k.add(l.patterns)
		for i := range s.nTool {
			first, second := l.named(&s.tools[i])
			k.add(first)
			k.add(second)
		}
	}
	return k
}

func (k *pick) add(g span) {
	if !g.empty() {
		k.groups[k.n] = g
		k.n++
	}
}

// next moves to the next hook that is to run and returns false after the last.
func (k *pick) next() bool {
	order := k.lane.order
	for {
		first := -1
		for g := range k.groups[:k.n] {
			if s := k.groups[g]; !s.empty() && (first < 0 || order[s.lo] < order[k.groups[first].lo]) {
				first = g
			}
		}
		if first < 0 {
			return false
		}
		k.at = int(k.groups[first].lo)
		for g := range k.groups[:k.n] { // a hook that stands in two groups runs once
			if s := &k.groups[g]; !s.empty() && order[s.lo] == order[k.at] {
				s.lo++
			}
		}
		if h := k.lane.hooks[k.at]; k.subject.matches(h) && h.claim() {
			return true
		}
	}
}

// runPicked is runAll for the hooks that k picks.
func runPicked[C any](r *round, k *pick, fns []Func[C], c *C) error {
	for {
		done, panicked, err := callPicked(r, k, fns, c)
		if done {
			return nil
		}
		if abort := settle(r.ctx, r.p, k.lane.hooks[k.at], r.recorder(), err, panicked); abort != nil {
			return abort
		}
	}
}

func callPicked[C any](r *round, k *pick, fns []Func[C], c *C) (done bool, panicked *PanicError, err error) {
	returned := false
	defer func() {
		if !returned {
			panicked = newPanicError(recover())
		}
	}()
	rec := r.recorder()
	for k.next() {
		ensureInput(r.input)
		rec.begin(k.lane.hooks[k.at])
		if err = fns[k.at](r.ctx, c); err != nil {
			returned = true
			return false, nil, err
		}
		rec.end()
	}
	returned = true
	return true, nil, nil
}
