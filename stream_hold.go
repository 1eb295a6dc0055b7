package hooks

// Which hooks of a post point hold a stream: those that may refuse what it shows.

import (
	"context"
	"slices"
)

// AfterShown lets the stream of a call go on without waiting for a guard, or a
// fail-closed hook, at its post point, which would else decide before anything is
// shown: what it refuses has been seen, and isn't kept. It is for those who judge
// what [OnStream] has filtered already. On and Guard panic where it is given at
// another point, or for a hook that isn't fail-closed, which no stream waits for.
func AfterShown() Option {
	return option(func(c *config) { c.afterShown = true })
}

// Guarded reports whether a guard or a fail-closed hook at p, under ctx, may refuse
// what it decides on, and isn't [AfterShown]. A loop whose [Output] is Guarded
// shouldn't show answers before that point has passed; of a call's own post point
// the stream sees to it. It is safe for concurrent use.
func Guarded[C any](ctx context.Context, p Point[C]) bool {
	if p.p == nil || p.p.unused() {
		return false
	}
	var r round
	return r.open(nonNil(ctx), frameOf(ctx), p.p) && r.guarded(false)
}

// holds says whether a stream has to wait for the hook.
func (h *hook) holds() bool { return h.failClosed && !h.afterShown }

// guarded says whether a stream has to wait for a hook of the round: for any, or
// for one that concerns the subject.
func (r *round) guarded(concerning bool) bool {
	for i := range r.n {
		ch := r.chain(i)
		for _, l := range [...]*lane{&ch.main, &ch.guards} {
			switch {
			case !l.holding:
			case !concerning || !l.filtersTools && !l.picky:
				if slices.ContainsFunc(l.hooks, func(h *hook) bool { return h.holds() && !h.used.Load() }) {
					return true
				}
			default:
				k := newPick(l, &r.subject)
				k.looks = true
				for k.next(&r.subject) {
					if h := l.hooks[k.at]; h.holds() && !h.used.Load() {
						return true
					}
				}
			}
		}
	}
	return false
}

// waitsFor says whether the stream of c, a context under the frame f, has to wait
// for the post point. A call that can't be told from others waits for all.
func waitsFor(ctx context.Context, f *frame, post *point, c any, l *streamLink) bool {
	var r round
	if post.unused() || !r.open(ctx, f, post) {
		return false
	}
	if !r.filtered {
		return r.guarded(false)
	}
	now, failure := identify(post, c)
	if failure != nil {
		return r.guarded(false)
	}
	r.subject.also(now)
	if l.hooked {
		r.subject.also(l.began)
	}
	return r.guarded(true)
}
