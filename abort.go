package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// HookAborted is how a hook stops what it hooks. Return one, bare or wrapped,
// or use [Abort]. [Dispatch] returns a copy with Point, Source and Err filled
// in; find it with [errors.As] or [errors.AsType]. The value that a hook
// returned is never written, so it may be a package variable. An error that
// wraps one counts as well, such as that of a seam which the hook called, and so
// does a panic with one.
type HookAborted struct {
	Reason  string            // why, for people and for the model
	Message string            // what the model reads instead of the standard text, if set
	Source  string            // who; the name of the hook if it was left empty
	StopRun bool              // at the tool points: stop the run, not just this call
	Point   InterceptionPoint // where; set by Dispatch
	Err     error             // the cause, if there is one; may hold secrets
}

// Error tells the point, the source and the reason, never the text of Err,
// which can hold what no log or model should see.
func (e *HookAborted) Error() string {
	if e == nil {
		return "<nil *HookAborted>" // of a Blocked that isn't set
	}
	var b strings.Builder
	b.WriteString("hooks: ")
	if e.Point != "" {
		b.WriteString(string(e.Point) + " ")
	}
	b.WriteString("aborted")
	if e.Source != "" {
		b.WriteString(" by " + e.Source)
	}
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *HookAborted) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// PublicText returns what may go to a model or a remote client: Message, or
// Reason if there is none. It never holds Source or Err.
func (e *HookAborted) PublicText() string {
	switch {
	case e == nil:
		return ""
	case e.Message != "":
		return e.Message
	}
	return e.Reason
}

// Abort returns the error by which a hook stops what it hooks, for the reason
// given. A model reads the reason: one that says what to do instead gets a
// better next call than a bare refusal.
func Abort(reason string) error { return &HookAborted{Reason: reason} }

// PanicError is a recovered panic of a hook or of a tool.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // the stack of the goroutine, as debug.Stack formats it
}

// Error names the type of the value, never the value, which can hold what no
// log or model should see.
func (e *PanicError) Error() string {
	return fmt.Sprintf("hooks: panic with a value of type %T", e.Value)
}

// MarshalJSON gives the text of Error, for exporters that write events as JSON:
// the value must not get there by a side door.
func (e *PanicError) MarshalJSON() ([]byte, error) { return json.Marshal(e.Error()) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

var (
	// ErrGoexit stands for a hook or a body that ended its goroutine with
	// [runtime.Goexit], as the FailNow of a test does.
	ErrGoexit = errors.New("hooks: the goroutine was ended by runtime.Goexit")

	// ErrTooDeep is why a nest of seams failed: hooks opened the seams that
	// they hook, more than 16 deep. Test for it with [errors.Is].
	ErrTooDeep = errors.New("hooks: hooks open seams inside seams without end; a hook must not open the seam that it hooks")
)

var errNilAbort = errors.New("hooks: a nil *HookAborted was returned as an error; return nil to go on, or Abort with a reason")

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

// maxErrors bounds how many errors are looked at behind one: somebody else's
// Unwrap may lead in a circle, which the functions of package errors would walk
// for ever.
const maxErrors = 10_000

// walkErrors visits err and what it wraps, in the order of errors.Is, until
// visit returns true. Its methods are somebody else's and may panic: then the
// walk ends.
func walkErrors(err error, visit func(error) bool) (found bool) {
	w := errorWalk{visit: visit, left: maxErrors}
	var r recovery
	defer r.catch()
	found = w.walk(err)
	r.returned = true
	return found
}

type errorWalk struct {
	visit func(error) bool
	left  int // how many errors may still be visited
}

func (w *errorWalk) walk(err error) bool {
	for err != nil && w.left > 0 {
		w.left--
		if w.visit(err) {
			return true
		}
		switch wrapping := err.(type) {
		case interface{ Unwrap() error }:
			err = wrapping.Unwrap()
		case interface{ Unwrap() []error }:
			return slices.ContainsFunc(wrapping.Unwrap(), w.walk)
		default:
			return false
		}
	}
	return false
}

// findAbort finds the *HookAborted in err as errors.As does, passing over nil
// ones.
func findAbort(err error) *HookAborted {
	if a, ok := err.(*HookAborted); ok {
		return a // the usual case, without a walk
	}
	var found *HookAborted
	walkErrors(err, func(err error) bool {
		if a, ok := err.(*HookAborted); ok {
			found = a
		} else if as, ok := err.(interface{ As(any) bool }); ok {
			found = asAbort(as)
		}
		return found != nil
	})
	return found
}

// asAbort asks an error that says itself what it is. It stands apart for its
// variable, which is on the heap.
func asAbort(err interface{ As(any) bool }) *HookAborted {
	var a *HookAborted
	if err.As(&a) {
		return a
	}
	return nil
}

// isErr is errors.Is for an err of somebody else's.
func isErr(err, target error) bool {
	return walkErrors(err, func(err error) bool {
		if err == target {
			return true
		}
		is, ok := err.(interface{ Is(error) bool })
		return ok && is.Is(target)
	})
}

// asErr is errors.AsType for an err of somebody else's.
func asErr[E error](err error) (found E, ok bool) {
	ok = walkErrors(err, func(err error) bool {
		if e, is := err.(E); is {
			found = e
			return true
		}
		as, is := err.(interface{ As(any) bool })
		return is && as.As(&found)
	})
	return found, ok
}

// errorText is err.Error() for an err whose method may panic.
func errorText(err error) (text string) {
	var r recovery
	defer r.catch()
	text = err.Error()
	r.returned = true
	return text
}

// ruling is what the result of a hook means for its chain.
type ruling struct {
	abort *HookAborted // the chain stops with it
	err   error        // the hook failed with it, and the chain goes on
}

// rule judges a hook that returned an error or, where panicked is set,
// panicked.
func rule(p *point, h *hook, err error, panicked *PanicError) ruling {
	if panicked != nil {
		err = panicked
	}
	found := findAbort(err)
	switch {
	case found != nil:
		abort := *found
		if abort.Err == nil && err != error(found) {
			abort.Err = err
		}
		return ruling{abort: abort.at(p, h)}
	case isErr(err, ErrTooDeep):
		return ruling{abort: (&HookAborted{Reason: tooDeepReason, StopRun: true, Err: err}).at(p, h)}
	}
	if a, ok := err.(*HookAborted); ok && a == nil {
		err = errNilAbort
	}
	if h.failClosed {
		// The model reads the reason, and the error's text can hold secrets;
		// so can the place of registration.
		who := h.reg.name
		if who == "" {
			who = "a guard"
		}
		return ruling{abort: (&HookAborted{Reason: who + " failed", Err: err}).at(p, h)}
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
