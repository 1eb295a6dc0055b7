package hookstest

// Hooks that belong to one test: they are active in its ctx alone, and cleared
// when it ends.

import (
	"context"
	"testing"

	"github.com/loophooks/hooks"
)

// Registry returns a fresh registry for one test, and clears it when the test
// ends. Since it is nobody else's, tests that use one may run in parallel.
// Hooks of the default registry take part in a dispatch as well: a test that
// uses Registry should leave that one alone.
func Registry(t testing.TB) *hooks.Registry {
	t.Helper()
	r := hooks.NewRegistry()
	t.Cleanup(func() { r.ClearAll() })
	return r
}

// Context returns the ctx of t with r active: what is dispatched under it runs
// the hooks of r. Like the ctx of t it is cancelled just before the cleanup of
// the test. It panics if r is nil.
func Context(t testing.TB, r *hooks.Registry) context.Context {
	t.Helper()
	return hooks.WithScope(t.Context(), r)
}
