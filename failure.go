package hooks

// Fail-open and fail-closed: how an abort is found in an error, what a failure
// means for the chain, and where it is logged. The frames in which a panic of a
// hook is contained run the chains, in dispatch.go.

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/errtree"
)

// recovery is the deferred half of a function that calls foreign code. The
// function sets returned once that code has returned.
type recovery struct {
	returned bool
	panicked *PanicError
}

// catch must be deferred directly. After it, a function that was left without
// having returned has panicked, even with a nil value under
// GODEBUG=panicnil=1. One whose goroutine exits is never seen again.
func (r *recovery) catch() {
	if !r.returned {
		r.panicked = newPanicError(recover())
	}
}

// newPanicError is called by the deferred function that recovered value, while
// the stack still shows where the panic came from.
func newPanicError(value any) *PanicError {
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// unwinding is why a deferred function runs.
type unwinding uint8

const (
	returning unwinding = iota
	panicking           // also with nil, under GODEBUG=panicnil=1
	exiting             // runtime.Goexit ends the goroutine
)

// unwindingHere tells the deferred function that calls it why it runs. It is
// asked where recover returned nil, as it does in all three cases.
func unwindingHere() unwinding {
	var pcs [1]uintptr
	if runtime.Callers(3, pcs[:]) == 0 { // who runs the deferred function
		return returning
	}
	frame, _ := runtime.CallersFrames(pcs[:]).Next()
	switch frame.Function {
	case "runtime.Goexit":
		return exiting
	case "runtime.gopanic":
		return panicking
	}
	return returning
}

// findAbort finds the *HookAborted in err as errors.As does, passing over nil
// ones.
func findAbort(err error) *HookAborted {
	if a, ok := err.(*HookAborted); ok {
		return a // the usual case, without a walk
	}
	var found *HookAborted
	walkAborts(err, func(a *HookAborted) bool {
		found = a
		return true
	})
	return found
}

// walkAborts visits the aborts in err, in the order of errors.As, until visit
// returns true.
func walkAborts(err error, visit func(*HookAborted) bool) {
	typed := func(err error) bool {
		a, ok := err.(*HookAborted)
		return ok && a != nil && visit(a)
	}
	errtree.Walk(err, func(err error) bool {
		if as, ok := err.(interface{ As(any) bool }); ok {
			return errtree.Walk(asAbort(as), typed) // with what it wraps
		}
		return typed(err)
	})
}

// asAbort calls the error's own As method. It stands apart for its variable,
// which is on the heap.
func asAbort(err interface{ As(any) bool }) *HookAborted {
	var a *HookAborted
	if err.As(&a) {
		return a
	}
	return nil
}

var errNilAbort = errors.New("hooks: a nil *HookAborted was returned as an error; return nil to go on, or Abort with a reason")

// ruling is what the result of a hook means for its chain.
type ruling struct {
	abort *HookAborted // the chain stops with it
	waits *Suspended   // the chain ends with it
	err   error        // the hook failed with it; without an abort the chain goes on
}

// rule judges a hook that returned an error or, where panicked is set,
// panicked.
func rule(p *point, h *hook, err error, panicked *PanicError) ruling {
	if panicked != nil {
		err = panicked
	}
	if refused, ok := err.(refusal); ok {
		return ruling{abort: refused.HookAborted.at(p, h)}
	}
	return ruleOn(p, h, err, findAbort(err))
}

// ruleOn judges a hook that failed with err, of which found is the abort that
// counts, nil for none.
func ruleOn(p *point, h *hook, err error, found *HookAborted) ruling {
	switch {
	case found != nil:
		abort := *found
		if abort.Err == nil && err != error(found) {
			abort.Err = err
		}
		abort.StopRun = abort.StopRun || h.stopRun
		return ruling{abort: abort.at(p, h)}
	case errtree.Has(err, ErrTooDeep):
		return ruling{abort: (&HookAborted{Reason: tooDeepReason, StopRun: true, Err: err}).at(p, h)}
	}
	if waits := findSuspended(err); waits != nil && p.name != executionEnd { // where nothing is left to wait
		return ruling{waits: suspension(waits, err)}
	}
	if a, ok := err.(*HookAborted); ok && a == nil {
		err = errNilAbort
	}
	if _, asked := errtree.Find[*askError](err); asked || h.failClosed {
		// The model reads the reason, and the error's text can hold secrets;
		// so can the place of registration.
		who := h.reg.name
		switch {
		case who != "":
		case h.failClosed:
			who = "a guard"
		default:
			who = "a hook"
		}
		return ruling{abort: (&HookAborted{Reason: who + " failed", StopRun: h.stopRun, Err: err}).at(p, h), err: err}
	}
	return ruling{err: err}
}

// at fills in where and by whom, and returns e.
func (e *HookAborted) at(p *point, h *hook) *HookAborted {
	if e.Point == "" {
		e.Point = p.name
	}
	if e.Source == "" {
		e.Source = h.reg.Name()
	}
	return e
}

// settle rules on a hook that didn't return nil, records the ruling, logs what is
// a failure and returns the abort or the suspension that ends the chain. Of a guard that failed the
// model reads only that, so the log is where people find out why.
func settle(ctx context.Context, p *point, h *hook, rec *recorder, err error, panicked *PanicError) error {
	ruled := rule(p, h, err, panicked)
	rec.failed(ruled)
	if ruled.err != nil {
		logFailure(ctx, p, h, ruled)
	}
	switch {
	case ruled.abort != nil:
		return ruled.abort
	case ruled.waits != nil:
		return ruled.waits
	}
	return nil
}

// logger is where failures that are passed over are logged: nil for
// slog.Default(), a nil Logger inside for nowhere.
var logger atomic.Pointer[logTarget]

type logTarget struct{ *slog.Logger }

func logFailure(ctx context.Context, p *point, h *hook, ruled ruling) {
	msg := "hooks: a hook failed and was passed over"
	switch {
	case ruled.abort != nil && h.guard:
		msg = "hooks: a guard failed and refused what it guards"
	case ruled.abort != nil:
		msg = "hooks: a fail-closed hook failed and refused what it hooks"
	case h.reg.kind == KindWatch:
		msg = "hooks: a watch failed and was passed over"
	case h.reg.kind == KindFilter:
		msg = "hooks: a filter failed and was left out"
	}
	logError(ctx, msg, ruled.err,
		slog.String("hook", h.reg.Name()), slog.String("point", string(p.name)))
}

// logError logs one failure. The handler is foreign code too: what it panics
// with ends here, for there is nowhere left to report it.
func logError(ctx context.Context, msg string, err error, attrs ...slog.Attr) {
	l := slog.Default()
	if t := logger.Load(); t != nil {
		if t.Logger == nil {
			return
		}
		l = t.Logger
	}
	attrs = append(attrs, slog.Any("error", err))
	if p, ok := err.(*PanicError); ok && p != nil {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	var r recovery
	defer r.catch()
	l.LogAttrs(ctx, slog.LevelError, msg, attrs...)
	r.returned = true
}
