package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/loophooks/hooks"
)

// The rules that a loop owes its hooks if it calls Dispatch itself. The seams of
// package hooks, such as RunModel and RunTool, keep these and more.

// between dispatches pre, runs body, and dispatches post.
//
//   - After a refusal at pre, and where a hook has the run wait, body doesn't run
//     and there is no post.
//   - Otherwise post fires once on every way out: after a failure, a panic and
//     the end of the goroutine too, with a ctx that is live after a cancel.
//   - fail notes what went wrong in c before post hooks look at it.
//   - A run that is cancelled, by a hook at pre too, starts nothing more.
//   - The error of body is returned as it is, and if there is none, what post
//     says: an abort, or that the run waits.
func between[C any](ctx context.Context, pre, post hooks.Point[C], c *C, fail func(error), body func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := hooks.Dispatch(ctx, pre, c); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			fail(err)
		}
		after := hooks.Dispatch(context.WithoutCancel(ctx), post, c)
		if err == nil {
			err = after
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	err = hooks.ErrGoexit // unless safely returns
	return safely(body)
}

// safely makes a panic an error.
func safely(body func() error) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = &hooks.PanicError{Value: recover(), Stack: debug.Stack()}
		}
	}()
	err = body()
	returned = true
	return err
}

// text returns v, which hooks may have replaced by anything, if it is a text.
func text(what string, v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("the %s is %T, not text", what, v)
	}
	return s, nil
}
