package main

import (
	"context"
	"errors"

	"github.com/loophooks/hooks"
)

// Retrieval is this framework's own context: what a look-up was asked and found.
// Its Caller lets hooks filter by agent.
type Retrieval struct {
	hooks.Caller
	Query, Found string
}

// HookPayload tells events what hooks are there to change.
func (r *Retrieval) HookPayload(hooks.InterceptionPoint) any { return r.Found }

// Retrieve is this framework's own point. It fires after each look-up.
var Retrieve = hooks.Define[Retrieval]("embed.retrieve")

// retrieve looks up what is known about query. The context is built only if
// somebody will see it: an unused point costs a few nanoseconds and allocates
// nothing.
func retrieve(ctx context.Context, query string) string {
	found := lookUp(query)
	if !hooks.Enabled(ctx, Retrieve) {
		return found
	}
	r := &Retrieval{Query: query, Found: found}
	if err := hooks.Dispatch(ctx, Retrieve, r); err != nil {
		return "" // what a hook doesn't allow to be known isn't known
	}
	return r.Found
}

// lookUp stands for a search of documents.
func lookUp(string) string { return "The office opens at 9. Door code: 4711." }

// between dispatches pre, runs body, and dispatches post on every way out but a
// refusal at pre: after a failure and a panic too, and with a ctx that is live
// after a cancel. It is what the seams of package hooks do, and more.
func between[C any](ctx context.Context, pre, post hooks.Point[C], c *C, body func() error) (err error) {
	if err := hooks.Dispatch(ctx, pre, c); err != nil {
		return err
	}
	defer func() {
		if after := hooks.Dispatch(context.WithoutCancel(ctx), post, c); err == nil {
			err = after
		}
	}()
	return body()
}

// refused makes an abort of a tool point the result that the model reads, and
// returns it if it is to stop the run.
func refused(t *hooks.ToolCall, err error) error {
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	if !ok {
		return nil
	}
	t.Blocked, t.Result = abort, "refused: "+abort.PublicText()
	if abort.StopRun {
		return abort
	}
	return nil
}
