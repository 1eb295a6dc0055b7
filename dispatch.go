package hooks

import (
	"context"
	"errors"
	"fmt"
)

// Dispatch runs the hooks that are registered at p, with c: those of the
// [Default] registry, then those of each scope of ctx from the outermost in,
// then the guards in the same order. It returns nil, or the [*HookAborted] of
// the hook that stopped the chain; what hooks changed in c before that stays
// changed. A hook that fails is logged and passed over, unless it is
// fail-closed. Dispatch doesn't look at ctx itself.
//
// It runs the chains as they are when it begins: hooks that are added or
// removed meanwhile count from the next dispatch on. A nil c or the zero Point
// is an error. Dispatch is safe for concurrent use and from inside a hook,
// with a c for each dispatch; a hook that dispatches the point it hooks has to
// see to it that this ends.
func Dispatch[C any](ctx context.Context, p Point[C], c *C) error {
	if p.p == nil || c == nil {
		return misuse(p.p)
	}
	if p.p.unused() {
		return nil
	}
	return dispatch(ctx, p.p, c)
}

// Enabled reports whether there is any hook at p for this ctx, so that a loop
// needn't build a context that nobody will see. True doesn't promise that a
// filter matches. It is safe for concurrent use.
func Enabled[C any](ctx context.Context, p Point[C]) bool {
	return p.p != nil && !p.p.unused() && p.p.enabled(ctx)
}

// unused says that no dispatch of p can have a hook: the fast way out.
func (p *point) unused() bool { return p.std.Load() == nil && !p.scoped.Load() }

func (p *point) enabled(ctx context.Context) bool {
	if p.std.Load() != nil {
		return true
	}
	for _, r := range scopesOf(ctx) {
		if r.chain(p) != nil {
			return true
		}
	}
	return false
}

func misuse(p *point) error {
	if p == nil {
		return errors.New("hooks: the zero Point names no interception point; use one of the package's points or Define one")
	}
	return fmt.Errorf("hooks: %s: the context is nil; give the hooks one to look at", p.name)
}

// dispatch is Dispatch for a point that may have hooks. It takes the shortest
// way for what most processes have: hooks of the default registry and nobody
// who watches.
func dispatch[C any](ctx context.Context, p *point, c *C) error {
	ctx = nonNil(ctx)
	std := p.std.Load()
	if std == nil || p.scoped.Load() || observed.Load() || !std.prepared(p).direct {
		return dispatchAny(ctx, p, std, c)
	}
	return runDirect(ctx, p, &std.main, c)
}

// runDirect dispatches to one chain without guards, whose hooks run unasked
// unless they filter by tool.
func runDirect[C any](ctx context.Context, p *point, l *lane, c *C) error {
	in := readyFor(p, c)
	if !l.byName {
		return runAll(ctx, p, l.hooks, l.fns.([]Func[C]), in, c)
	}
	s := subject{name: toolOf(c), in: in}
	return runLane(ctx, p, l, &s, nil, c)
}

// maxInline is how many registries a dispatch can have without an allocation.
const maxInline = 8

// dispatchAny dispatches with scopes, guards, every filter and observers.
func dispatchAny[C any](ctx context.Context, p *point, std *chain, c *C) error {
	var inline [maxInline]*chain
	chains := inline[:0]
	if std != nil {
		chains = append(chains, std.prepared(p))
	}
	var scopes []*Registry
	if p.scoped.Load() || observed.Load() {
		scopes = scopesOf(ctx)
	}
	for _, r := range scopes {
		if ch := r.chain(p); ch != nil {
			chains = append(chains, ch.prepared(p))
		}
	}
	if len(chains) == 0 {
		return nil
	}
	var watchers []*watcher
	if observed.Load() {
		watchers = watchersOf(scopes)
	}
	if len(chains) == 1 && chains[0].direct && len(watchers) == 0 {
		return runDirect(ctx, p, &chains[0].main, c)
	}
	s := subject{in: readyFor(p, c)}
	s.read(p, c)
	if len(watchers) > 0 {
		return runObserved(ctx, p, chains, &s, newRecorder(ctx, p, c, watchers, &s), c)
	}
	return runChains(ctx, p, chains, &s, nil, c)
}

func runObserved[C any](ctx context.Context, p *point, chains []*chain, s *subject, rec *recorder, c *C) error {
	defer rec.send() // when a hook ends the goroutine too
	return runChains(ctx, p, chains, s, rec, c)
}

// runChains runs the hooks of each chain and then, since they decide last, the
// guards of each.
func runChains[C any](ctx context.Context, p *point, chains []*chain, s *subject, rec *recorder, c *C) error {
	for _, ch := range chains {
		if err := runLane(ctx, p, &ch.main, s, rec, c); err != nil {
			return err
		}
	}
	s.again(p, c)
	for _, ch := range chains {
		if err := runLane(ctx, p, &ch.guards, s, rec, c); err != nil {
			return err
		}
	}
	return nil
}

func runLane[C any](ctx context.Context, p *point, l *lane, s *subject, rec *recorder, c *C) error {
	if len(l.hooks) == 0 {
		return nil
	}
	groups := [4]span{l.always, l.ofTool(s), l.patterns}
	if s.renamed != nil {
		groups[3] = l.ofTool(s.renamed)
	}
	fns := l.fns.([]Func[C])
	if !l.picky && rec == nil && s.renamed == nil {
		if g := &groups; g[0].empty() {
			return runAll(ctx, p, l.hooks[g[1].lo:g[1].hi], fns[g[1].lo:g[1].hi], s.in, c)
		} else if g[1].empty() {
			return runAll(ctx, p, l.hooks[g[0].lo:g[0].hi], fns[g[0].lo:g[0].hi], s.in, c)
		}
	}
	return runSome(ctx, p, &pick{lane: l, groups: groups, subject: s}, rec, fns, c)
}

// progress is how far a chain has come when the frame that runs it ends, so
// that it can be entered again at the next hook.
type progress struct {
	recovery
	at int // the hook that runs
}

// runAll runs every one of fns. One recover frame serves them all: it is
// entered again only after a hook that returned an error, panicked or left no
// input.
func runAll[C any](ctx context.Context, p *point, hooks []*hook, fns []Func[C], in inputs, c *C) error {
	var pr progress
	for pr.at < len(fns) {
		fill(in)
		err := runAllFrame(ctx, &pr, fns, in, c)
		if err != nil || !pr.returned {
			if abort := settle(ctx, p, hooks[pr.at], err, pr.panicked); abort != nil {
				return abort
			}
		}
		pr = progress{at: pr.at + 1}
	}
	return nil
}

// runAllFrame keeps where it is in a variable of its own and tells pr at the
// end: storing it behind a pointer for each hook costs a fifth of a bare call.
func runAllFrame[C any](ctx context.Context, pr *progress, fns []Func[C], in inputs, c *C) (err error) {
	at, returned := pr.at, false
	defer func() {
		pr.at, pr.returned = at, returned
		if !returned {
			pr.panicked = newPanicError(recover())
		}
	}()
	for ; at < len(fns); at++ {
		if err = fns[at](ctx, c); err != nil || *in == nil {
			break
		}
	}
	returned = true
	return err
}

// pick walks the hooks of a lane that a dispatch concerns, in running order.
type pick struct {
	at      int // the hook it has come to
	lane    *lane
	groups  [4]span
	subject *subject
}

// next moves to the next hook that is to run and returns false after the last.
func (k *pick) next() bool {
	for {
		first := -1
		for g := range k.groups {
			if s := k.groups[g]; !s.empty() && (first < 0 || k.lane.order[s.lo] < k.lane.order[k.groups[first].lo]) {
				first = g
			}
		}
		if first < 0 {
			return false
		}
		k.at = int(k.groups[first].lo)
		for g := range k.groups { // a hook that stands in two groups runs once
			if s := &k.groups[g]; !s.empty() && k.lane.order[s.lo] == k.lane.order[k.at] {
				s.lo++
			}
		}
		if k.subject.admits(k.lane.hooks[k.at]) {
			return true
		}
	}
}

// runSome is runAll for the hooks that k picks. What a panic left is kept apart
// from k, so that neither has to be on the heap.
func runSome[C any](ctx context.Context, p *point, k *pick, rec *recorder, fns []Func[C], c *C) error {
	for {
		var r recovery
		err := runSomeFrame(ctx, &r, k, rec, fns, c)
		if err == nil && r.returned {
			return nil
		}
		h := k.lane.hooks[k.at]
		ruled := rule(p, h, err, r.panicked)
		rec.failed(ruled)
		if ruled.abort != nil {
			return ruled.abort
		}
		logFailure(ctx, p, h, ruled.err)
	}
}

func runSomeFrame[C any](ctx context.Context, r *recovery, k *pick, rec *recorder, fns []Func[C], c *C) error {
	defer r.catch()
	for k.next() {
		fill(k.subject.in)
		rec.begin(k.lane.hooks[k.at])
		if err := fns[k.at](ctx, c); err != nil {
			r.returned = true
			return err
		}
		rec.end()
	}
	r.returned = true
	return nil
}
