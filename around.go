package hooks

// Around hooks: functions that wrap what runs between a pre point and its post
// point. How they are run is in around_run.go.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// Body is the typed handle of what runs between a pre point and its post point.
// It is comparable and may be copied freely. The zero Body names nothing:
// registering at it panics.
type Body[C any] struct{ p *point }

// Name returns the body's name, "" for the zero Body.
func (b Body[C]) Name() InterceptionPoint { return Point[C](b).Name() }

// The bodies of the library's own seams.
var (
	// ExecutionBody is what runs between Input and Output.
	ExecutionBody = defineBody("execution_body", Output, ExecutionStart, Input)
	// StepBody is what runs between PreStep and PostStep.
	StepBody = defineBody("step_body", PostStep, PreStep)
	// ModelBody is the call of a model, between PreModelCall and PostModelCall.
	ModelBody = defineBody("model_body", PostModelCall, PreModelCall)
	// ToolBody is the run of a tool, between PreToolCall and PostToolCall.
	ToolBody = defineBody("tool_body", PostToolCall, PreToolCall)
)

// AroundFunc runs the rest of the operation by calling next, and what it returns
// is what the operation returned. It may call next again, one call after the
// other; not at all, if it gives an answer; with a ctx derived from its own; and
// change c before and after. An error that it returns is no failure of the hook,
// which stands in the body's place.
type AroundFunc[C any] = func(ctx context.Context, c *C, next func(context.Context) error) error

// Around registers fn to wrap the body b: behind its pre point, guards included,
// and in front of its post point. The hooks of the [Default] registry are outermost,
// then those of each scope from the outermost in; in a registry those of higher
// priority, then those registered first. The points fire once however often the body
// runs.
//
// The conventional priorities leave room for others: tracing 1000, cache 900,
// fallback 700, retry 500, timeout 300.
//
//		hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
//			err := next(ctx)
//			if errors.Is(err, errBusy) {
//				err = next(ctx)
//			}
//			return err
//		}, hooks.WithTools("search"), hooks.WithPriority(500))
//
//	  - What the outermost hook returns is what the body is taken to have returned:
//	    nil after a failed next means recovered.
//	  - Before each run the seam takes out of c what the last one left, answers
//	    included. Usage is that of the run until the outermost hook has returned, and
//	    then the sum of all.
//	  - A panic of the body is a [*PanicError] that next returns. If that comes out of
//	    the outermost hook, wrapped or not, the panic goes on as without hooks.
//	  - An abort of the hook ends the operation for good, and so do one of a hook
//	    inside or of a guard, a [*Suspended], an abort of the body with StopRun, and
//	    [ErrTooDeep]: next runs nothing more, and the seam returns it whatever the
//	    hooks around return. An abort that a next returned from the body, as that of
//	    a sub-agent, is a plain error, also where the hook hands it on.
//	  - A hook that panics, or returns nil without having called next or given an
//	    answer, has failed. What its next returned stands, and if it hasn't called it
//	    the rest runs without the hook; [WithFailClosed] makes it an abort.
//	  - Where c isn't what the guards of the pre point have let through (what goes in,
//	    which call it is, and on whose behalf) they decide once more, in front of the
//	    run, and its watches look again. Values are compared deeply, but for what is
//	    behind pointers: who edits that sets a new pointer.
//	  - Calls of next at the same time, or with a ctx that doesn't descend from the
//	    hook's, or when the hook has returned, are errors and run nothing. The seam
//	    waits for a next that a hook left running in another goroutine.
//
// The options are those of [On], but [AsGuard] and [WithTimeout] make Around panic.
// A [WithOnce] hook is used up by the first passage that concerns it, in which it wraps
// one run. Begin forms have no body to wrap: a fail-closed hook makes them return an
// error, another is logged once and left out, as where a loop dispatches the pre point
// by itself. Around is safe for concurrent use, from inside a hook too.
func Around[C any](b Body[C], fn AroundFunc[C], opts ...Option) *Registration {
	checkTarget("Around", b.p, fn == nil)
	cfg := newConfig("Around", b.p, opts)
	switch {
	case cfg.guard:
		panic(fmt.Sprintf("hooks: Around(%s): an around hook wraps and doesn't decide, so AsGuard doesn't apply; use Guard at the pre point", b.p.name))
	case cfg.timed:
		panic(fmt.Sprintf("hooks: Around(%s): WithTimeout doesn't apply; give next a ctx with a deadline", b.p.name))
	}
	if cfg.once {
		fn = letGoAround(fn)
	}
	h := cfg.hook(b.p, fn, callerPC())
	h.reg.kind = KindAround
	return cfg.registry.add(h)
}

// letGoAround is letGo for an around hook.
func letGoAround[C any](fn AroundFunc[C]) AroundFunc[C] {
	var kept atomic.Pointer[AroundFunc[C]]
	kept.Store(&fn)
	return func(ctx context.Context, c *C, next func(context.Context) error) error {
		return (*kept.Swap(nil))(ctx, c, next)
	}
}

// Seam is a framework's own operation: its points, what runs between them, and
// its stream. Make it with [DefineSeam].
type Seam[C any] struct {
	Pre, Post Point[C]
	Body      Body[C]
	Stream    Flow[C]
}

// DefineSeam makes an operation of a framework's own. Its name and its C are as
// for [Define]; its parts are called after it: "acme.retrieve/pre",
// "acme.retrieve/post", "acme.retrieve/body" and "acme.retrieve/stream". Call it
// once, for a package variable.
func DefineSeam[C any](name InterceptionPoint) Seam[C] {
	checkDefined[C]("DefineSeam", name)
	s := Seam[C]{Pre: define[C](name+"/pre", own), Post: define[C](name+"/post", own)}
	s.Body = defineBody(name+"/body", s.Post, s.Pre)
	s.Stream = defineFlow(name+"/stream", s.Post, s.Pre)
	return s
}

// Run runs body as an operation of s: Pre, the around hooks of Body with body
// inside, Post, with the guarantees of [Run].
func (s Seam[C]) Run(ctx context.Context, c *C, body Func[C]) error {
	return Run(ctx, s.Pre, s.Post, c, body)
}

// passedBy logs, once for each body, that its around hooks don't run because a
// loop dispatches the points by itself.
func (p *point) passedBy(ctx context.Context, f *frame) {
	if p.unused() || !p.enabled(f) || !p.told.CompareAndSwap(false, true) {
		return
	}
	logError(ctx, "hooks: around hooks don't run where a loop dispatches the points by itself; use the Run form of the seam", errNothingToWrap, slog.String("point", string(p.name)))
}

var errNothingToWrap = errors.New("hooks: there is no body to hand to around hooks")

// refuseBegin is what a Begin form does about around hooks, which it has no body
// to hand to: a fail-closed one is an error, another is logged, once for each
// body, and is in the event as failed.
func refuseBegin[C any](s *seam, c *C) error {
	p := s.bodyPoint()
	if p == nil || p.unused() || !p.enabled(s.frame) {
		return nil
	}
	ctx := s.hookCtx()
	var r round
	if !r.open(ctx, &s.inner.frame, p) {
		return nil
	}
	r.began, r.inSeam = s.began, s.named
	var room recorder
	rec := r.recorder(&room)
	defer rec.send()
	if err := about(&r, rec, c); err != nil {
		return err
	}
	var refused error
	some := false
	for i := range r.n {
		l := &r.chain(i).main
		for k := newPick(l, &r.subject); k.next(&r.subject); {
			h := l.hooks[k.at]
			failure := fmt.Errorf("hooks: %s: the around hook %s can't wrap what a Begin form runs: %w; use the Run form", p.name, h.reg.Name(), errNothingToWrap)
			rec.begin(h)
			some = true
			ruled := rule(p, h, failure, nil)
			rec.failed(ruled)
			if refused == nil && ruled.abort != nil {
				refused = failure
			}
		}
	}
	if some && refused == nil && p.told.CompareAndSwap(false, true) {
		logError(ctx, "hooks: around hooks can't wrap what a Begin form runs; use the Run form of the seam", errNothingToWrap, slog.String("point", string(p.name)))
	}
	return refused
}
