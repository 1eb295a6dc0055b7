package hooks

// The errors of the library as values: what a hook returns to stop something,
// and what a failure leaves. How they are found and judged is in failure.go.

import (
	"encoding/json"
	"errors"
	"fmt"
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

// MarshalJSON writes the abort without Err, which can hold what no log or model
// should see.
func (e HookAborted) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Reason  string            `json:",omitempty"`
		Message string            `json:",omitempty"`
		Source  string            `json:",omitempty"`
		StopRun bool              `json:",omitempty"`
		Point   InterceptionPoint `json:",omitempty"`
	}{e.Reason, e.Message, e.Source, e.StopRun, e.Point})
}

// Abort returns the error by which a hook stops what it hooks, for the reason
// given. A model reads the reason: one that says what to do instead gets a
// better next call than a bare refusal.
func Abort(reason string) error { return &HookAborted{Reason: reason} }

// AbortRun is [Abort] for a whole run: at the tool points too, the run ends
// with it.
func AbortRun(reason string) error { return &HookAborted{Reason: reason, StopRun: true} }

// PanicError is a recovered panic of a hook or of a tool.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // the stack of the goroutine, as debug.Stack formats it
}

// Error names the type of the value, never the value, which can hold what no
// log or model should see.
func (e *PanicError) Error() string {
	if e == nil {
		return "<nil *PanicError>"
	}
	return fmt.Sprintf("hooks: panic with a value of type %T", e.Value)
}

// MarshalJSON gives the text of Error, for exporters that write events as JSON:
// so that the value stays out of JSON too.
func (e *PanicError) MarshalJSON() ([]byte, error) { return json.Marshal(e.Error()) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	if e == nil {
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

var (
	// ErrGoexit says that a hook or a body ended its goroutine with
	// [runtime.Goexit], as the FailNow of a test does.
	ErrGoexit = errors.New("hooks: the goroutine was ended by runtime.Goexit")

	// ErrNoTool is what the body of a tool call returns, bare or wrapped, for a
	// name that the loop has no tool for: the model is told so, and the call
	// counts as not run.
	ErrNoTool = errors.New("hooks: there is no such tool")

	// ErrTooDeep is why a nest of seams failed: hooks opened the seams that
	// they hook, more than 16 deep. Test for it with [errors.Is].
	ErrTooDeep = errors.New("hooks: hooks open seams inside seams without end; a hook must not open the seam that it hooks")
)
