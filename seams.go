package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/errtree"
)

// A seam is the passage of an operation through its pre point, its body and
// its post point. The rules that all seams share stand here; those of the
// tool seam, which turns refusals into results, in seams_tool.go.
//
// A pre point that passes is followed by its post point exactly once, whatever
// the body does. Where the body failed, an abort of the post hooks is ignored
// and the original error or panic goes on unchanged.
type seam struct {
	ctx   context.Context // what the body gets
	outer *nest           // the hooks that the seam was opened in
	inner *nest           // what this seam's own hooks get, once it has any
	reuse bool            // inner was made of ctx
	fatal error           // ends the tool seam with this error instead of a result
}

// open begins a seam on a context with the Caller and the Values given, nil if
// it has none. It fails inside a nest that is too deep and when ctx is done: no point
// fires for work that will not happen.
func open(ctx context.Context, caller *Caller, values *Values) (seam, error) {
	ctx = nonNil(ctx)
	if values != nil {
		values.beginUse()
	}
	if caller != nil && callers.Load() {
		fillFrom(ctx, caller, values)
	}
	s := seam{ctx: ctx, outer: nestOf(ctx)}
	if err := s.outer.enter(); err != nil {
		return s, err
	}
	return s, ctx.Err()
}

// fillFrom fills what is unset in caller from ctx, and takes back first what an
// earlier use of the context was filled with.
func fillFrom(ctx context.Context, caller *Caller, values *Values) {
	own := *caller
	if values != nil && !values.filled.unset() {
		own = own.except(values.filled)
	}
	*caller = own
	caller.fill(CallerFrom(ctx))
	if values != nil {
		values.filled = caller.except(own)
	}
}

// fire dispatches p. A nest that has grown too deep fails here even if the
// hook that found out kept it to itself.
func fire[C any](s *seam, p Point[C], c *C) error { return fireIn(s, s.ctx, false, p, c) }

func fireIn[C any](s *seam, ctx context.Context, detached bool, p Point[C], c *C) error {
	if p.p == nil {
		return misuse(nil)
	}
	if p.p.unused() || !p.p.enabled(ctx) {
		return nil
	}
	if s.inner == nil || !s.reuse || detached {
		in := s.outer.inside(ctx)
		if s.inner != nil {
			in.root = s.inner.root
		}
		s.inner, s.reuse = in, true
	}
	err := dispatch[C](s.inner, p.p, c)
	if fault := s.inner.fault(p.p.name); fault != nil {
		return fault
	}
	return err
}

// errExiting stands for the result of a dispatch that never returned, since a hook
// ended the goroutine. Deferred functions compare with it.
var errExiting = errors.New("hooks: a dispatch that doesn't return")

// firePost dispatches a post point. It gets a live ctx, since the audit of a
// cancelled run has to be written too.
func firePost[C any](s *seam, p Point[C], c *C) error {
	if s.ctx.Err() != nil {
		return fireIn(s, context.WithoutCancel(s.ctx), true, p, c)
	}
	return fire(s, p, c)
}

// PassThrough marks an error that a body returns as control flow of the
// framework, such as an interrupt, and not a failure: the seam returns err as
// it is, sets the context's Err to it, fills in no result and ignores aborts of
// the post hooks. It marks err for the innermost seam only. A nil err gives
// nil.
func PassThrough(err error) error {
	if err == nil {
		return nil
	}
	return &passThrough{err}
}

type passThrough struct{ error }

func (p *passThrough) Unwrap() error { return p.error }

// verdict decides what a seam returns, once its post hooks have run: err is
// what the body returned, unmarked, and post what the post point returned.
func verdict(err, post error) error {
	switch {
	case err == nil:
		return post
	case post != nil && errtree.Has(post, ErrTooDeep):
		return errors.Join(err, post)
	}
	return err
}

// unmark takes the mark of PassThrough off an error.
func unmark(err error) (pass bool, _ error) {
	if p, ok := err.(*passThrough); ok {
		return true, p.error
	}
	return false, err
}

// runBody runs body and then end, exactly once on every way out. A panic goes
// on after end with the value it had, unless the seam keeps it; an exit of the
// goroutine always goes on.
func runBody[C any](s seam, c *C, body Func[C], end func(seam, *C, error) error, keepPanic bool) error {
	left := false
	defer func() {
		if !left {
			_ = end(s, c, ErrGoexit) // there is nobody left to return it to
		}
	}()
	panicked, err := callBody(s.ctx, c, body)
	left = true
	if panicked == nil {
		return end(s, c, err)
	}
	err = end(s, c, panicked)
	if keepPanic {
		return err
	}
	panic(panicked.Value)
}

func callBody[C any](ctx context.Context, c *C, body Func[C]) (_ *PanicError, err error) {
	var r recovery
	func() {
		defer r.catch()
		err = body(ctx, c)
		r.returned = true
	}()
	return r.panicked, err
}

// ender makes the end function of a Begin form: it runs end once, and returns
// the same error however often it is called. A call while end runs, by a post
// hook or another goroutine, returns the error that it was given: waiting could
// deadlock.
func ender[C any](s seam, c *C, end func(seam, *C, error) error) func(error) error {
	var begun atomic.Bool
	var result atomic.Pointer[error]
	return func(err error) error {
		if !begun.CompareAndSwap(false, true) {
			if r := result.Load(); r != nil {
				return *r
			}
			return err
		}
		err = end(s, c, err)
		result.Store(&err)
		return err
	}
}

func noBody(p *point) error {
	return fmt.Errorf("hooks: %s: the body is nil; there is nothing to run", p.name)
}

// noEnd is the end of a seam that was not opened.
func noEnd(err error) func(error) error { return func(error) error { return err } }

// Run runs body between the points pre and post of a framework's own, with the
// guarantees of the seams of this package: an abort at pre is returned and
// body doesn't run; otherwise post fires exactly once, whatever body does. A C
// with SetHookError(error) is told of a failure before post fires, and of an
// abort by a hook. Run returns body's error unchanged, or the abort of post, or
// an error for a nil c. When ctx is done on entry no point fires and ctx.Err()
// is returned; when it is done after pre, body doesn't run and post fires.
func Run[C any](ctx context.Context, pre, post Point[C], c *C, body Func[C]) error {
	switch {
	case pre.p == nil || post.p == nil:
		return misuse(nil)
	case c == nil:
		return misuse(pre.p)
	case body == nil:
		return noBody(pre.p)
	}
	var caller *Caller
	if own, ok := any(c).(interface{ hookCaller() *Caller }); ok {
		caller = own.hookCaller()
	}
	var values *Values
	if own, ok := any(c).(interface{ hookValues() *Values }); ok {
		values = own.hookValues()
		defer values.endUse()
	}
	s, err := open(ctx, caller, values)
	if err != nil {
		return err
	}
	end := func(s seam, c *C, err error) error {
		_, err = unmark(err)
		if err != nil {
			tellError(s.ctx, post.p, c, err)
		}
		after := firePost(&s, post, c)
		if err == nil && after != nil {
			tellError(s.ctx, post.p, c, after)
		}
		return verdict(err, after)
	}
	if err := fire(&s, pre, c); err != nil {
		tellError(s.ctx, pre.p, c, err)
		return err
	}
	if err := s.ctx.Err(); err != nil {
		return end(s, c, err)
	}
	return runBody(s, c, body, end, false)
}

// tellError tells c of a failure, if it wants to know. What it panics with must
// not keep the post point from firing.
func tellError(ctx context.Context, p *point, c any, err error) {
	told, ok := c.(interface{ SetHookError(error) })
	if !ok {
		return
	}
	var r recovery
	func() {
		defer r.catch()
		told.SetHookError(err)
		r.returned = true
	}()
	if r.panicked != nil {
		logError(ctx, "hooks: SetHookError panicked", r.panicked, slog.String("point", string(p.name)))
	}
}
