package hooks

// Watches: functions that look at what became of a passage of a point, when
// nothing can change it any more.

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// WatchFunc looks at what became of a passage of a point: c as it finally is,
// and what the dispatch of that point returned. A call that was refused in front of
// its body passes its post point like any other, so that err is nil there:
// c.Blocked and c.Err tell. Its c is a copy that it may keep but not
// write, and err is nil, a [*HookAborted] where a hook stopped the passage, or
// [ErrGoexit] where a hook ended the goroutine.
type WatchFunc[C any] = func(ctx context.Context, c *C, err error)

// Watch registers fn at p to look at each passage. Watches run last: after hooks
// and guards, and in a seam after their verdict has been applied, so that a
// withheld result is withheld. They run also where the chain was aborted, or its
// goroutine ended, by an earlier hook: no hook can hide a call from them or show
// them something else than what is used.
//
// All watches of a passage get one copy of the context, the struct with its maps
// and slices cloned shallowly, and a [Turn] as well; of a framework's own context
// it is what HookCopy() *C returns, or the context itself without that method. A
// watch can change nothing: it can't abort, its panic is logged and is in the
// event, and seams that it opens are limited as those of observers are. If the
// run's ctx is done by then, watches get one that isn't. Under [Enabled] a watch counts as a hook does; for
// the Outcome of an event it doesn't.
//
// The options are those of [On], but [AsGuard] and [WithFailClosed] make Watch
// panic: a record that must be written before anything happens is a guard. Filters
// go by every name and role that the call has had, as for guards. Watch is safe
// for concurrent use, from inside a hook too.
func Watch[C any](p Point[C], fn WatchFunc[C], opts ...Option) *Registration {
	checkTarget("Watch", p.p, fn == nil)
	cfg := newConfig("Watch", p.p, opts)
	if cfg.guard || cfg.failClosed {
		panic(fmt.Sprintf("hooks: Watch(%s): a watch can stop nothing, so AsGuard and WithFailClosed don't apply; use Guard", p.p.name))
	}
	if cfg.once {
		fn = letGoWatch(fn)
	}
	h := cfg.hook(p.p, fn, callerPC())
	h.reg.kind = KindWatch
	return cfg.registry.add(h)
}

// letGoWatch is letGo for a watch.
func letGoWatch[C any](fn WatchFunc[C]) WatchFunc[C] {
	var kept atomic.Pointer[WatchFunc[C]]
	kept.Store(&fn)
	return func(ctx context.Context, c *C, err error) { (*kept.Swap(nil))(ctx, c, err) }
}

// look runs the watches of a dispatch, each by itself. err is what the dispatch
// returned.
func look[C any](r *round, rec *recorder, c *C, err error) {
	ctx, nest := onlookers(r.ctx)
	defer nest.end()
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	c = copyFor(ctx, r.p, c)
	for i := range r.n {
		k := newPick(&r.chain(i).watches, &r.subject)
		for k.next(&r.subject) {
			lookOnce(ctx, r, rec, &k, c, err)
		}
	}
}

// lookOnce runs the watch that k has come to. If it ends the goroutine the
// others still look.
func lookOnce[C any](ctx context.Context, r *round, rec *recorder, k *pick, c *C, err error) {
	h := k.lane.hooks[k.at]
	returned := false
	defer func() {
		if returned {
			return
		}
		var failure error
		value := recover()
		exits := value == nil && unwindingHere() == exiting
		if exits {
			failure = ErrGoexit
		} else {
			failure = newPanicError(value)
		}
		rec.watched(failure)
		logFailure(ctx, r.p, h, ruling{err: failure})
		if exits {
			for k.next(&r.subject) {
				lookOnce(ctx, r, rec, k, c, err)
			}
		}
	}()
	rec.begin(h)
	fn := h.fn.(WatchFunc[C])
	var late error
	if h.reg.timeout > 0 {
		dl, ctx, cancel := newDeadline(ctx, h.reg.timeout)
		defer cancel()
		fn(ctx, c, err)
		late = dl.overrun(ctx)
	} else {
		fn(ctx, c, err)
	}
	returned = true
	rec.watched(late)
	if late != nil {
		logFailure(ctx, r.p, h, ruling{err: late})
	}
}

// copyFor returns the copy of c that watches get.
func copyFor[C any](ctx context.Context, p *point, c *C) *C {
	var copied any
	switch own := any(c).(type) {
	case *ToolCall:
		copied = own.hookCopy()
	case *ModelCall:
		copied = own.hookCopy()
	case *Execution:
		copied = own.hookCopy()
	case *Step:
		copied = own.hookCopy()
	case copier[C]:
		return copyOther(ctx, p, c, own)
	default:
		return c
	}
	return copied.(*C)
}

// copyOther asks a framework's own context, whose HookCopy may panic.
func copyOther[C any](ctx context.Context, p *point, c *C, from copier[C]) *C {
	var r recovery
	var copied *C
	func() {
		defer r.catch()
		copied = from.HookCopy()
		r.returned = true
	}()
	if r.panicked != nil {
		logError(ctx, "hooks: HookCopy panicked", r.panicked, slog.String("point", string(p.name)))
	}
	if copied == nil {
		return c
	}
	return copied
}
