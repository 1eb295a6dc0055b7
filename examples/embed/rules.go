package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/loophooks/hooks"
)

// The rules that a loop owes its hooks if it calls Dispatch itself. The seams of
// package hooks, such as RunModel and RunTool, keep these and more.

// between dispatches pre, runs body, and dispatches post.
//
//   - After a refusal at pre, body doesn't run and there is no post.
//   - Otherwise post fires once on every way out: after a failure, a panic and
//     the end of the goroutine too, with a ctx that is live after a cancel.
//   - fail notes what went wrong in c before post hooks look at it.
//   - A run that is cancelled, by a hook at pre too, starts nothing more.
//   - The error of body is returned as it is, and an abort at post if there is
//     none.
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

// callTool does what the model asks for and returns the message that tells it
// what came of that. An error is for the run to stop with.
func callTool(ctx context.Context, t *hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) (hooks.Message, error) {
	err := runTool(ctx, t, body)
	result := hooks.Message{Role: "tool", ToolCallID: t.ID, Content: t.Result}
	if t.IsError() {
		result.Content = "Error: " + t.Result
	}
	return result, err
}

// runTool runs a tool between its points. A refusal, a failure and a panic
// become the result, which post hooks see and may change; only what is to stop
// the run is returned.
func runTool(ctx context.Context, t *hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) (stop error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	stop = refused(t, hooks.Dispatch(ctx, hooks.PreToolCall, t))
	defer func() {
		stop = cmp.Or(stop, refused(t, hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostToolCall, t)))
	}()
	switch {
	case t.Blocked != nil, t.Answered():
		return stop
	case t.ArgumentsError() != nil:
		return failed(t, t.ArgumentsError())
	case ctx.Err() != nil:
		_ = failed(t, ctx.Err())
		return ctx.Err()
	}
	t.Err = hooks.ErrGoexit // unless safely returns
	return failed(t, safely(func() error { return body(ctx, t) }))
}

// refused makes an abort of a tool point the result that the model reads, and
// returns what is to stop the run.
func refused(t *hooks.ToolCall, err error) (stop error) {
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	if !ok {
		return err
	}
	if t.Blocked == nil {
		t.Blocked = abort // the first reason of both points
	}
	t.Result = "refused: " + abort.PublicText()
	if abort.StopRun {
		return abort
	}
	return nil
}

// failed notes the error of a call, and makes it the result that the model
// reads. A run inside the tool that a hook has stopped stops this one too.
func failed(t *hooks.ToolCall, err error) (stop error) {
	if t.Err = err; err == nil {
		return nil
	}
	t.Result = err.Error() // of a panic that names the type of the value alone
	if errors.Is(err, hooks.ErrNoTool) {
		t.Result = "There is no tool " + t.Name + "."
	}
	if abort, ok := errors.AsType[*hooks.HookAborted](err); ok {
		t.Result = abort.PublicText()
		if abort.StopRun {
			return err
		}
	}
	return nil
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
