package policy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loophooks/hooks"
)

// Timeout gives each run of a model call, or of a tool, a deadline.
//
// It wraps the body, at priority 300 ([hooks.Around]), so inside of [Retry]: each
// attempt has its own time. The body's ctx ends after that time, and nothing else is
// done to it: Timeout waits until it has returned, since nothing can stop a goroutine
// that doesn't look at its ctx. So a body that returns nil late keeps its result.
//
// Where the body fails when the time is over, the call fails with
//
//	the tool took more than 30s and was cancelled; what it began may have happened
//
// (for a model: the model), which wraps [context.DeadlineExceeded] and the body's
// error. It stays the body's error where an earlier deadline, or a cancellation, has
// ended ctx before; and where that error is a refusal, one that waits, or a panic.
type Timeout struct {
	After time.Duration // required
	// Tools are the tools whose calls get the deadline, by name or by pattern as in
	// [hooks.WithTools]. If it is nil, model calls do.
	Tools []string
}

// Register registers the policy; opts go to the hook, named policy.Timeout by default.
// It panics if After isn't positive, or Tools is empty and not nil. A Timeout of model
// calls takes no [hooks.WithTools], and one with Tools has them already. The hook is
// fail-open and safe for concurrent use.
func (p Timeout) Register(opts ...hooks.Option) *hooks.Group {
	checkWrapped("Timeout", p.Tools)
	if p.After <= 0 {
		panic(fmt.Sprintf("policy: Timeout: After is %v; give the time that a run may take", p.After))
	}
	p.Tools = slices.Clone(p.Tools)
	return register(opts, func(r *registrar) {
		wrapBody(r, "Timeout", 300, p.Tools, limiting[hooks.ModelCall](p.After, "model"), limiting[hooks.ToolCall](p.After, "tool"))
	})
}

// limiting returns the hook that gives the body of what is called what a deadline.
func limiting[C any](after time.Duration, what string) hooks.AroundFunc[C] {
	return func(ctx context.Context, _ *C, next func(context.Context) error) error {
		late := &timeoutError{what, after, nil} // a cause of its own, which tells whose deadline it was
		limited, cancel := context.WithTimeoutCause(ctx, after, late)
		defer cancel()
		err := next(limited)
		if ours := context.Cause(limited) == error(late); err == nil || !ours || isFinal(err) { //nolint:errorlint // a cause isn't wrapped
			return err
		}
		return &timeoutError{what, after, err}
	}
}

// timeoutError says that the time of a Timeout was over.
type timeoutError struct {
	what  string
	after time.Duration
	err   error // of the body; nil until that has failed
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the %s took more than %v and was cancelled; what it began may have happened", e.what, e.after)
}

func (e *timeoutError) Unwrap() []error {
	if e.err == nil { // as the cause of a ctx
		return []error{context.DeadlineExceeded}
	}
	return []error{context.DeadlineExceeded, e.err}
}
