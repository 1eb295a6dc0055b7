package hooks

// What all seams keep. A seam is the passage of an operation through its pre
// point, its body and its post point:
//
//	open     the ctx, who calls, how deep hooks are nested
//	fire     a point: copies, hooks and guards, then settle, then watches
//	settle   what a point's outcome means for the context, applied once
//	runBody  the body, and the end on every way out of it
//	close    the use of the context is over
//
// A pre point that passes is followed by its post point exactly once, whatever
// the body does. Where the body failed, an abort of the post hooks is ignored and
// the original error or panic goes on unchanged. A value that a post point
// refused, or that nobody checked since a hook ended the goroutine, doesn't stay
// in the context.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/errtree"
)

// seam is one passage. What belongs to the passage is here and not in the
// context, which hooks can begin once more while it is under way.
type seam struct {
	kind   seamKind
	stage  side            // before or after the body
	post   *point          // of Run
	ctx    context.Context // what the body gets
	frame  *frame          // the innermost frame of ctx
	outer  *nest           // the hooks that the seam was opened in
	inner  *nest           // what this seam's own hooks get, once it has any
	stale  bool            // inner was made of another ctx
	values *Values         // of the context, nil if it has none
	began  identity        // what the call was when the seam was opened
	named  bool            // began is set

	err   error // what the body returned, unmarked
	pass  bool  // it was marked by PassThrough
	run   bool  // of a tool call: the pre point lets the body run
	fatal error // of a tool call: ends the seam with this error instead of a result

	blocked *HookAborted // of a tool call: why it was blocked, in front of the post point
}

// seamKind says whose rules settle applies.
type seamKind uint8

const (
	ownSeam seamKind = iota // of Run
	executionSeam
	stepSeam
	modelSeam
	toolSeam
)

// open begins a seam on a context with the Caller and the Values given, nil if
// it has none. It fails inside a nest that is too deep and when ctx is done: no
// point fires for work that will not happen.
func (s *seam) open(ctx context.Context, caller *Caller, values *Values) error {
	s.ctx = nonNil(ctx)
	s.frame, s.values = frameOf(s.ctx), values
	if values != nil {
		values.beginUse()
	}
	if caller != nil && (s.frame != nil || caller.RunID != "" || values != nil && values.filled.set()) {
		caller.fillFrom(s.frame, values, parentField|rootField)
	}
	if s.frame != nil && s.frame.nest != nil {
		if err := s.openInHook(); err != nil {
			return err
		}
	}
	return s.ctx.Err()
}

// openInHook is the rest of open for a seam whose ctx comes from a hook.
func (s *seam) openInHook() error {
	s.outer = s.frame.openNest()
	if err := s.outer.enter(); err != nil {
		return err
	}
	if !s.frame.carried.inner {
		carried := *s.frame.carried
		carried.inner = true
		s.frame = &frame{s.ctx, &carried, s.frame.nest}
		s.ctx = s.frame
	}
	return nil
}

// close ends the use of the context. It is the last that a seam does, however it
// ends.
func (s *seam) close() {
	if s.values != nil {
		s.values.endUse()
	}
	s.inner.end()
}

// carry makes the ctx of the body carry c. It costs nothing where c says
// nothing new.
func (s *seam) carry(c *Caller) {
	var outer Caller
	if around := s.frame.holds().caller; around != nil {
		outer = *around
		fillString(&outer.RootRunID, outer.RunID) // as a seam fills it in
	}
	if c.sameAs(&outer) {
		return
	}
	s.frame = withCaller(s.ctx, s.frame, *c)
	s.ctx, s.stale = s.frame, true
}

// fire dispatches p, before or after the body, and settles what came of it. A
// nest that has grown too deep fails here even if the hook that found out kept
// it to itself. A hook that ends the goroutine is settled as well.
func fire[C any](s *seam, stage side, p Point[C], c *C) error {
	s.stage = stage
	if p.p.unused() || !p.p.enabled(s.frame) {
		return s.settle(p.p, c, nil)
	}
	return fireHooks(s, p.p, c)
}

func fireHooks[C any](s *seam, p *point, c *C) (err error) {
	ctx := s.hookCtx()
	if p.readied {
		detach(c, s.stage)
	}
	if s.values != nil {
		s.values.level.Add(1)
	}
	if std := p.std.Load(); std != nil && p.scoped.Load() == 0 && observed.Load() == 0 && std.prepared(p.compile).state.Load() >= named {
		if done, err := fireStd(ctx, s, p, std, c); done {
			return err
		}
	}
	var r round
	if !r.open(ctx, &s.inner.frame, p) { // what there was is gone again
		return s.fired(p, c, nil)
	}
	r.began, r.inSeam = s.began, s.named
	var room recorder
	rec := r.recorder(&room)
	outcome, decided, returned := ErrGoexit, false, false
	defer func() {
		switch {
		case returned:
			return
		case !decided: // a hook ends the goroutine, and nobody is left to return anything to
			_ = s.fired(p, c, ErrGoexit)
			closeRound(&r, rec, c, ErrGoexit)
		case outcome == nil && s.stage == before: // an onlooker does, and no body will run
			_ = s.settle(p, c, ErrGoexit)
		}
		s.exited(p, c)
	}()
	outcome = decide(&r, rec, c)
	decided = true
	if fault := s.inner.fault(p.name); fault != nil {
		outcome = fault
	}
	err = s.fired(p, c, outcome)
	if r.attended {
		closeRound(&r, rec, c, outcome)
	}
	returned = true
	return err
}

// fireStd is fireHooks for the default registry alone, where at most tool names
// are filtered by and nobody looks. Of a call that has had several names it isn't
// done.
func fireStd[C any](ctx context.Context, s *seam, p *point, std *chain, c *C) (done bool, err error) {
	returned := false
	defer func() {
		if !returned {
			_ = s.fired(p, c, ErrGoexit) // there is nobody left to return it to
			s.exited(p, c)
		}
	}()
	if std.direct() {
		done, err = true, runAll(ctx, p, std.hooks, std.all.([]Func[C]), prepare(p, c), c)
	} else if t, ok := any(c).(*ToolCall); ok && t.Name == s.began.tool {
		done, err = runNamed(ctx, p, std, t, c)
	}
	returned = true
	if !done {
		return false, nil
	}
	return true, s.fired(p, c, err)
}

// exited ends a seam whose hook ended the goroutine at p, when that is settled:
// an execution that was started has an end, and every use of a context is over.
func (s *seam) exited(p *point, c any) {
	switch {
	case s.kind == executionSeam && p == Input.p:
		_ = end(s, c.(*Execution), ErrGoexit)
	case s.kind == executionSeam && p == Output.p:
		s.err = ErrGoexit
		_ = s.fireEnd(c.(*Execution))
		s.close()
	default:
		s.close()
	}
}

// fired settles what came of a point that had hooks.
func (s *seam) fired(p *point, c any, err error) error {
	if s.values != nil {
		s.values.level.Add(-1)
	}
	if fault := s.inner.fault(p.name); fault != nil {
		err = fault
	}
	return s.settle(p, c, err)
}

// detach gives hooks copies of what is the framework's.
func detach(c any, at side) {
	switch c := c.(type) {
	case *ToolCall: // needs no dynamic look-up
		c.detach(at)
	case detacher:
		c.detach(at)
	}
}

// hookCtx returns the ctx for the hooks of the seam. Post points get a live one,
// since the audit of a cancelled run has to be written too.
func (s *seam) hookCtx() context.Context {
	ctx, detached := s.ctx, false
	if s.stage == after && ctx.Err() != nil {
		ctx, detached = context.WithoutCancel(ctx), true
	}
	if s.inner == nil || s.stale || detached {
		in := newNest(ctx, s.frame, s.outer)
		if s.inner != nil {
			in.root = s.inner.root
			s.inner.end()
		}
		s.inner, s.stale = in, detached
	}
	return &s.inner.frame
}

// settle applies what came of a point to the context, and returns what the seam
// goes on with.
func (s *seam) settle(p *point, c any, err error) error {
	switch s.kind {
	case toolSeam:
		if s.stage == before {
			return s.settlePreTool(c.(*ToolCall), err)
		}
		return s.settlePostTool(c.(*ToolCall), err)
	case modelSeam:
		s.settleModel(c.(*ModelCall), err)
	case stepSeam:
		s.settleStep(c.(*Step), err)
	case executionSeam:
		s.settleExecution(c.(*Execution), err)
	case ownSeam:
		if own, ok := c.(answerer); ok && s.stage == before {
			own.recallAnswer()
		}
		if err != nil && s.err == nil {
			tellError(s.ctx, p, c, err)
		}
	}
	if s.stage == before || s.err == nil {
		return err
	}
	return s.verdict(err)
}

// end fires what follows the body, which returned err, and returns what the seam
// does.
func end[C any](s *seam, c *C, err error) error {
	s.returned(err)
	if s.kind != ownSeam {
		err = s.endKind(c)
	} else {
		if s.err != nil {
			tellError(s.ctx, s.post, c, s.err)
		}
		err = fire(s, after, Point[C]{s.post}, c)
	}
	s.close()
	return err
}

// endKind is end for the contexts of this package. It isn't generic, so that the
// compiler sees that a seam stays off the heap.
func (s *seam) endKind(c any) error {
	switch s.kind {
	case toolSeam:
		return s.endTool(c.(*ToolCall))
	case modelSeam:
		return s.endModel(c.(*ModelCall))
	case stepSeam:
		return s.endStep(c.(*Step))
	}
	return s.endExecution(c.(*Execution))
}

// verdict decides what a seam returns whose body failed: its error, whatever the
// post hooks say, unless they never ended.
func (s *seam) verdict(post error) error {
	if post != nil && errtree.Has(post, ErrTooDeep) {
		return errors.Join(s.err, post)
	}
	return s.err
}

// PassThrough marks an error that a body returns as control flow of the
// framework, such as an interrupt, and not a failure: the seam returns err as
// it is, sets the context's Err to it, fills in no result and ignores aborts of
// the post hooks. It marks err for the innermost seam only: a body that hands it
// on to the seam around marks it again. A nil err gives nil.
func PassThrough(err error) error {
	if err == nil {
		return nil
	}
	return &passThrough{err}
}

type passThrough struct{ error }

func (p *passThrough) Unwrap() error { return p.error }

// returned notes what the body returned.
func (s *seam) returned(err error) {
	s.err = err
	if p, ok := err.(*passThrough); ok {
		s.pass, s.err = true, p.error
	}
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
		if value == nil && unwindingHere() == exiting {
			_ = end(s, c, ErrGoexit) // there is nobody left to return it to
			return
		}
		err = end(s, c, newPanicError(value))
		if !keepPanic {
			panic(value)
		}
	}()
	err = body(s.ctx, c)
	left = true
	if s.values != nil {
		s.values.running--
	}
	return end(s, c, err)
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
		err = end(s, c, err)
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

func noBody(p *point) error {
	return fmt.Errorf("hooks: %s: the body is nil; there is nothing to run", p.name)
}

// noEnd is the end of a seam that was not opened.
func noEnd(err error) func(error) error { return func(error) error { return err } }

// Run runs body between the points pre and post of a framework's own, with the
// guarantees of the seams of this package: an abort at pre is returned and
// body doesn't run; otherwise post fires exactly once, whatever body does. A C
// with SetHookError(error) is told of a failure before post fires, and of an
// abort by a hook. Run returns the body's error unchanged, or the abort of post,
// or an error for a nil c. When ctx is done on entry no point fires and
// ctx.Err() is returned; when it is done after pre, the body doesn't run and post
// fires. Neither does it run where C has Answered() bool and that is true, and
// where C embeds a [ToolCall] whose arguments could not be read: that error is
// then the body's.
func Run[C any](ctx context.Context, pre, post Point[C], c *C, body Func[C]) error {
	switch {
	case pre.p == nil || post.p == nil:
		return errNoContext(nil)
	case c == nil:
		return errNoContext(pre.p)
	case body == nil:
		return noBody(pre.p)
	}
	var caller *Caller
	if own, ok := any(c).(calling); ok {
		caller = own.hookCaller()
	}
	var values *Values
	if own, ok := any(c).(valued); ok {
		values = own.hookValues()
	}
	if own, ok := any(c).(answerer); ok {
		own.forgetAnswer()
	}
	s := seam{post: post.p}
	if err := s.open(ctx, caller, values); err != nil {
		s.close()
		return err
	}
	if id, failure := identify(pre.p, c); failure == nil {
		s.began, s.named = id, true
	}
	if err := fire(&s, before, pre, c); err != nil {
		s.close()
		return err
	}
	if err := s.ctx.Err(); err != nil {
		return end(&s, c, err)
	}
	if own, ok := any(c).(refuser); ok && own.refusal() != nil {
		return end(&s, c, own.refusal())
	}
	if own, ok := any(c).(answerable); ok {
		switch answered, failure := askAnswered(own); {
		case failure != nil:
			return end(&s, c, failure)
		case answered:
			return end(&s, c, nil)
		}
	}
	return runBody(&s, c, body, false)
}

// askAnswered asks a framework's own context, whose Answered may panic: the post
// point has to fire then, too.
func askAnswered(own answerable) (answered bool, failure error) {
	var r recovery
	func() {
		defer r.catch()
		answered = own.Answered()
		r.returned = true
	}()
	if r.panicked != nil {
		return false, r.panicked
	}
	return answered, nil
}

// tellError tells c of a failure, if it wants to know. What it panics with must
// not keep the post point from firing.
func tellError(ctx context.Context, p *point, c any, err error) {
	told, ok := c.(failable)
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
