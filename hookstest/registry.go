package hookstest

// Hooks that belong to one test: they are active in its ctx alone, and cleared
// when it ends. And a run of its own for them.

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

// Run runs fn in an execution under r, for hooks that need one: what they keep in a
// [hooks.RunVar] begins anew, and what fn does belongs to a run with a RunID of its
// own. Hooks of r at the points of executions take part. Run fails t where
// they don't let fn run, or end the execution with an error, one that waits included. It
// panics if r is nil. A test of a run that is resumed calls [hooks.RunExecution]
// twice, with one RunID.
func Run(t testing.TB, r *hooks.Registry, fn func(ctx context.Context)) {
	t.Helper()
	ran := false
	err := hooks.RunExecution(Context(t, r), &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		ran = true
		fn(ctx)
		return nil
	})
	switch {
	case err == nil:
	case ran:
		t.Errorf("the execution ended with an error: %v", err)
	default:
		t.Errorf("the execution didn't begin: %v", err)
	}
}
