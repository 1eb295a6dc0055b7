package hooks

// What all seams keep. A seam is the passage of an operation through its pre point,
// its body and its post point:
//
//	open      the ctx, who calls, how deep hooks are nested
//	fire      the pre point (seams_fire.go):
//	            hooks and guards, and what they asked (ask.go)
//	            settle: what that means for the context, applied once
//	            watches
//	runBody   the body (seams_body.go):
//	            runWrapped: inside its around hooks, if it has any (around_run.go), where
//	            the guards are asked again about another input (around_guards.go)
//	            runOnce: each run of it, with what it streams (stream_passage.go)
//	end       what the body returned, noted in the context; then
//	fire      the post point: hooks and guards, settle, and in front of the watches
//	            release: a stream that waited is shown (stream_release.go)
//	close     the use of the context is over, and desks are told so
//
// What an operation of each kind makes of a verdict and of an error is in
// seams_loop.go and seams_tool.go.
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

	"github.com/loophooks/hooks/internal/errtree"
)

// seam is one passage. What belongs to the passage is here and not in the
// context, which hooks can begin once more while it is under way.
type seam struct {
	kind   seamKind
	stage  side            // before or after the body
	post   *point          // of Run
	body   *point          // of Run: where its around hooks are, nil if it can have none
	ctx    context.Context // what the body gets
	frame  *frame          // the innermost frame of ctx
	outer  *nest           // the hooks that the seam was opened in
	inner  *nest           // what this seam's own hooks get, once it has any
	stale  bool            // inner was made of another ctx
	values *Values         // of the context, nil if it has none
	began  identity        // what the call was when the seam was opened
	named  bool            // began is set

	err   error // what the body returned, unmarked
	pass  bool  // it holds a Suspended
	run   bool  // of a tool call: the pre point lets the body run
	fatal error // of a tool call: ends the seam with this error instead of a result

	flow     *point      // what the body may stream at, nil for nothing
	link     *streamLink // of the context; see stream_passage.go
	around   *streamLink // what it was, of a passage under way around this one
	streamed *streamed   // what the body has streamed, nil for nothing

	call    *ToolCall    // of a tool call: itself
	blocked *HookAborted // of a tool call: why it was blocked, in front of the post point
	wrapped wrapped      // what around hooks made of the body
}

// wrapped is what around hooks made of a body.
type wrapped struct {
	set     bool         // there were any
	runs    int          // how often it ran
	refused *HookAborted // by one of them, or by a guard that was asked again
	panics  *PanicError  // of the body, and to go on
	err     error        // of its last run, where it was refused
}

// ran says that the body ran inside of around hooks.
func (w *wrapped) ran() bool { return w.runs > 0 }

// seamKind says whose rules settle applies.
type seamKind uint8

const (
	ownSeam seamKind = iota // of Run
	executionSeam
	stepSeam
	modelSeam
	toolSeam
)

// bodyPoint returns where the around hooks of the seam are, nil for nowhere.
func (s *seam) bodyPoint() *point {
	switch s.kind {
	case toolSeam:
		return ToolBody.p
	case modelSeam:
		return ModelBody.p
	case stepSeam:
		return StepBody.p
	case executionSeam:
		return ExecutionBody.p
	}
	return s.body
}

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
	if s.around != nil {
		*s.link, s.around = *s.around, nil
	}
	if s.inner == nil {
		return
	}
	s.inner.end()
	if asked := s.inner.asked.Load(); asked != nil {
		asked.done(s.ctx) // behind all else, since it is foreign code
	}
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
//
// Between the points of a [Seam] around hooks may run the body more than once, so
// that it reads c each time. If C has none of the methods of this package's
// contexts, the seam can't take out what a run left.
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
	if wrapped := pre.p.body; wrapped != nil && wrapped.post == post.p {
		s.body = wrapped
		s.mayStream(pre.p.flow, linkOf(c), values)
	}
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
