package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
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

// findAbort finds the *HookAborted in err as errors.As does, passing over nil
// ones. Err's methods are somebody else's and may panic: then there is none.
func findAbort(err error) (found *HookAborted) {
	var r recovery
	defer r.catch()
	found = walkAbort(err)
	r.returned = true
	return found
}

func walkAbort(err error) *HookAborted {
	for err != nil {
		if a, ok := err.(*HookAborted); ok && a != nil {
			return a
		}
		if as, ok := err.(interface{ As(any) bool }); ok {
			var a *HookAborted
			if as.As(&a) && a != nil {
				return a
			}
		}
		switch w := err.(type) {
		case *HookAborted:
			return nil
		case interface{ Unwrap() error }:
			err = w.Unwrap()
		case interface{ Unwrap() []error }:
			for _, err := range w.Unwrap() {
				if a := walkAbort(err); a != nil {
					return a
				}
			}
			return nil
		default:
			return nil
		}
	}
	return nil
}

// isErr is errors.Is for an err whose methods may panic.
func isErr(err, target error) (is bool) {
	var r recovery
	defer r.catch()
	is = errors.Is(err, target)
	r.returned = true
	return is
}

// asErr is errors.AsType for an err whose methods may panic.
func asErr[E error](err error) (found E, ok bool) {
	var r recovery
	defer r.catch()
	found, ok = errors.AsType[E](err)
	r.returned = true
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

// at fills in where and by whom, and returns a.
func (a *HookAborted) at(p *point, h *hook) *HookAborted {
	if a.Point == "" {
		a.Point = p.name
	}
	if a.Source == "" {
		a.Source = h.reg.Name()
	}
	return a
}
