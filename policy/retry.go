package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/loophooks/hooks"
)

// Retry runs a model call, or the call of a tool, again where it has failed for a
// reason that may pass.
//
// It wraps the body, at priority 500 ([hooks.Around]): the points fire once, with
// what came of it in the end, guards aren't asked again about the same input, and
// Usage is the sum of all attempts. Whoever embeds it therefore has bodies that can
// run more than once.
//
// Never run again is a call that was refused, that waits ([hooks.Suspended],
// [hooks.PassThrough]), that panicked, of which something was shown
// ([hooks.ErrNotAgain]), or whose ctx is done. Of the others If decides.
//
// What the call returns is the error of the last attempt, as it was; where ctx
// ended a wait, that is joined with ctx.Err(). The waits are those of
// [backoff.ExponentialBackOff]: each about half as long again as the one before, up
// to half of it more or less by chance, and never more than Most.
type Retry struct {
	// Max is how often a call is attempted at most, the first time included. The
	// default is 3.
	Max int
	// First is about the first wait, 500 ms by default, and Most the longest one, 30 s
	// by default. A default gives way to the other field.
	First, Most time.Duration
	// Total bounds the time from the beginning of the first attempt to that of the
	// last, 2 min by default. No attempt is cut short for it; see [Timeout].
	Total time.Duration
	// Tools are the tools whose calls are retried, by name or by pattern as in
	// [hooks.WithTools]. If it is nil, model calls are.
	Tools []string
	// If says whether an error is worth another attempt. It gets a *hooks.ModelCall
	// or a *hooks.ToolCall, with what the attempt left, and may be called
	// concurrently for different calls.
	//
	// By default an error is if [Temporary] made it; if it has a method Temporary() bool
	// that returns true; if it has a method StatusCode() int that returns 408, 429, 500,
	// 502, 503, 504 or 529; and that of a model also if it has a method Timeout() bool
	// that returns true, or is a connection that was refused or reset, or ended too
	// early. One of a tool with such a Timeout method isn't, whatever else it says
	// (as context.DeadlineExceeded says that it is temporary): what the tool began
	// may have happened. Only the mark of Temporary counts for more.
	//
	// A wait that the error asks for, by a method RetryAfter() time.Duration, is kept
	// as it is, longer than Most too; where it is longer than what is left of Total,
	// or of the time that ctx has, there is no further attempt.
	If func(c any, err error) bool
}

// Register registers the policy; opts go to the hook, named policy.Retry by default.
// It panics if a field is negative, First is more than Most, or Tools is empty and
// not nil. A Retry of model calls takes no [hooks.WithTools], and one with Tools has
// them already. The hook is fail-open and safe for concurrent use.
func (p Retry) Register(opts ...hooks.Option) *hooks.Group {
	p.complete()
	return register(opts, func(r *registrar) {
		wrapBody(r, "Retry", 500, p.Tools,
			retrying(p, (*hooks.ModelCall).Shown), retrying(p, (*hooks.ToolCall).Shown))
	})
}

// complete fills in the defaults, and panics on what can't be meant.
func (p *Retry) complete() {
	checkWrapped("Retry", p.Tools)
	p.Tools = slices.Clone(p.Tools)
	if p.Max < 0 || p.First < 0 || p.Most < 0 || p.Total < 0 {
		panic(fmt.Sprintf("policy: Retry: Max %d, First %v, Most %v, Total %v: none of them can be negative; leave one 0 for its default", p.Max, p.First, p.Most, p.Total))
	}
	switch {
	case p.First == 0 && p.Most == 0:
		p.First, p.Most = 500*time.Millisecond, 30*time.Second
	case p.First == 0:
		p.First = min(500*time.Millisecond, p.Most)
	case p.Most == 0:
		p.Most = max(30*time.Second, p.First)
	case p.First > p.Most:
		panic(fmt.Sprintf("policy: Retry: the first wait, %v, is longer than the longest, %v; give First at most Most", p.First, p.Most))
	}
	if p.Max == 0 {
		p.Max = 3
	}
	if p.Total == 0 {
		p.Total = 2 * time.Minute
	}
	if p.If == nil {
		p.If = isTemporary
	}
}

// retrying returns the hook of p. What of a call was shown is told by shown.
func retrying[C any](p Retry, shown func(*C) string) hooks.AroundFunc[C] {
	return func(ctx context.Context, c *C, next func(context.Context) error) error {
		began := time.Now()
		err := next(ctx)
		var waits *backoff.ExponentialBackOff // not safe for concurrent use, so each call has its own
		for attempt := 1; err != nil && attempt < p.Max; attempt++ {
			if neverAgain(ctx, err) || shown(c) != "" || !p.If(c, err) {
				return err
			}
			wait := askedWait(err)
			if until, ok := ctx.Deadline(); ok && wait > 0 && wait >= time.Until(until) {
				return err
			}
			if wait == 0 {
				if waits == nil {
					waits = backoff.NewExponentialBackOff()
					waits.InitialInterval, waits.MaxInterval = p.First, p.Most
				}
				wait = min(waits.NextBackOff(), p.Most)
			}
			if wait > p.Total-time.Since(began) {
				return err
			}
			if ended := sleep(ctx, wait); ended != nil {
				return errors.Join(err, ended)
			}
			last := err
			if err = next(ctx); isError(err, hooks.ErrNotAgain) {
				return last // something but text was shown, and nothing ran
			}
		}
		return err
	}
}

// sleep waits, and returns ctx.Err() if ctx is done by then.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
