// The framework's own point: its context, where it fires, and that it costs
// nothing while no hook is there.

package main

import (
	"context"

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
	r := &Retrieval{Caller: hooks.CallerFrom(ctx), Query: query, Found: found}
	if err := hooks.Dispatch(ctx, Retrieve, r); err != nil {
		return "" // what a hook doesn't allow to be known isn't known
	}
	return r.Found
}

// lookUp stands for a search of documents.
func lookUp(string) string { return "The office opens at 9. Door code: 4711." }
