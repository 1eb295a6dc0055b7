package hooks

// The body of a seam: run inside its around hooks, and ended exactly once on every
// way out of it, of a Run form and of a Begin form.

import (
	"context"
	"sync/atomic"
)

// returned notes what the body returned.
func (s *seam) returned(err error) {
	s.err = err
	s.pass = err != nil && findSuspended(err) != nil
}

// runBody runs body and then end, exactly once on every way out. A panic goes
// on with the value it had, unless the seam keeps it, and so does an exit of the
// goroutine. It is raised again before the frame that recovered it is left, so
// that a crash shows where it came from.
func runBody[C any](s *seam, c *C, body Func[C], keepPanic bool) (err error) {
	if s.values != nil {
		s.values.running++
	}
	left := false
	defer func() {
		if left {
			return
		}
		if s.values != nil {
			s.values.running--
		}
		value := recover()
		exits := value == nil && unwindingHere() == exiting
		s.abandonRun(c)
		if exits {
			_ = end(s, c, ErrGoexit) // there is nobody left to return it to
			return
		}
		err = end(s, c, newPanicError(value))
		if !keepPanic {
			panic(value)
		}
	}()
	if p := s.bodyPoint(); p != nil && !p.unused() && p.enabled(s.frame) {
		err = runWrapped(s, p, c, body)
	} else {
		err = runOnce(s, s.bodyCtx(s.ctx, s.frame, c), c, body)
	}
	left = true
	if s.values != nil {
		s.values.running--
	}
	if s.wrapped.panics == nil || keepPanic {
		return end(s, c, err)
	}
	logError(s.ctx, "hooks: a body panicked", s.wrapped.panics) // its frames are gone, unlike above
	_ = end(s, c, err)
	panic(s.wrapped.panics.Value)
}

// runOnce runs the body under ctx, once of perhaps several times, and lets it open
// a stream. Whoever recovers a panic of the body, or sees its goroutine end, calls
// abandonRun.
func runOnce[C any](s *seam, ctx context.Context, c *C, body Func[C]) error {
	if s.flow == nil {
		return body(ctx, c)
	}
	if s.streamed != nil || s.link == nil || s.link.apart {
		ctx = s.prepareRun(ctx, c)
	}
	s.beginRun()
	err := body(ctx, c)
	if s.endRun(); s.streamed != nil {
		return s.streamed.endRun(c, err)
	}
	return err
}

// endBegun ends the body of a Begin form, and then the seam.
func endBegun[C any](s *seam, c *C, err error) error {
	left := false
	defer func() {
		if !left { // who is shown the rest of a stream ends the goroutine
			_ = end(s, c, ErrGoexit)
		}
	}()
	if s.flow != nil {
		if s.endRun(); s.streamed != nil {
			err = s.streamed.endRun(c, err)
		}
	}
	left = true
	return end(s, c, err)
}

// begun returns what a Begin form does whose body may run.
func begun[C any](ctx context.Context, s *seam, c *C) (context.Context, func(error) error, error) {
	if err := refuseBegin(s, c); err != nil {
		if t, ok := any(c).(*ToolCall); ok && s.kind == toolSeam {
			s.stop(t, err)
			err = nil
		}
		err = end(s, c, err)
		return nonNil(ctx), noEnd(err), err
	}
	if s.flow != nil {
		s.beginRun()
	}
	return s.bodyCtx(s.ctx, s.frame, c), ender(s, c), nil
}

// ender makes the end function of a Begin form: it runs end once, and returns
// the same error however often it is called. A call while end runs, by a post
// hook or another goroutine, returns the error that it was given: waiting could
// deadlock.
func ender[C any](s *seam, c *C) func(error) error {
	var begun atomic.Bool
	var result atomic.Pointer[error]
	return func(err error) error {
		if !begun.CompareAndSwap(false, true) {
			if r := result.Load(); r != nil {
				return *r
			}
			return err
		}
		err = endBegun(s, c, err)
		result.Store(&err)
		return err
	}
}

// End ends what a Begin form has begun, where the body may panic. Defer it
// directly, with the end function and the address of the error that the body
// leaves:
//
//	func call(ctx context.Context, t *hooks.ToolCall) (err error) {
//		ctx, end, err := hooks.BeginTool(ctx, t)
//		if err != nil {
//			return err
//		}
//		defer hooks.End(end, &err)
//		if t.ShouldRun() {
//			t.Result, err = run(ctx, t.Input)
//		}
//		return err
//	}
//
// After a panic the end function gets a [*PanicError], and the panic goes on
// with the value it had; where the goroutine is exiting it gets [ErrGoexit].
// Otherwise it gets *err. What it returns is stored in *err.
func End(end func(error) error, err *error) {
	value := recover()
	why := returning
	if value == nil {
		why = unwindingHere()
	}
	var failure error
	switch {
	case value != nil || why == panicking:
		failure = newPanicError(value)
		defer panic(value)
	case why == exiting:
		failure = ErrGoexit
	case err != nil:
		failure = *err
	}
	result := end(failure)
	if err != nil {
		*err = result
	}
}
