package hooks

import (
	"context"
	"slices"
	"sync/atomic"
)

// ctxKey is the type of this package's context keys. Pointers compare faster
// than values behind an interface do.
type ctxKey struct{ name string }

var (
	scopesKey = &ctxKey{"scopes"}
	nestKey   = &ctxKey{"nest"}
	callerKey = &ctxKey{"caller"}
)

// WithScope returns a ctx under which r is active: everything dispatched with
// it, in any goroutine, runs the hooks of r after those of the [Default]
// registry and of the scopes around it. A scope ends with its ctx; nothing has
// to be removed. A registry that is active already, the default one included,
// changes nothing. WithScope panics if r is nil.
func WithScope(ctx context.Context, r *Registry) context.Context {
	if r == nil {
		panic("hooks: WithScope: the registry is nil; make one with NewRegistry")
	}
	outer := scopesOf(ctx)
	if r == &std || slices.Contains(outer, r) {
		return ctx
	}
	return context.WithValue(nonNil(ctx), scopesKey, append(slices.Clip(outer), r))
}

// scopesOf returns the active registries of ctx but the default one, from the
// outermost in.
func scopesOf(ctx context.Context) []*Registry {
	if ctx == nil {
		return nil
	}
	scopes, _ := ctx.Value(scopesKey).([]*Registry)
	return scopes
}

// observed is set, for good, when a registry first gets an observer: only then
// must a dispatch look for observers.
var observed atomic.Bool
