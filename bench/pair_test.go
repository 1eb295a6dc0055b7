package bench

// That the pairs measure what they say: each operation makes the calls that it is
// listed with, and leaves nothing registered for the next.

import (
	"context"
	"fmt"
	"testing"

	"github.com/loophooks/hooks"
)

// counted has every function that pairs run count its calls until the test
// ends.
func counted(t *testing.T) *int {
	t.Helper()
	calls := new(int)
	count(t, &idleHook, func(context.Context, *hooks.ToolCall) error { *calls++; return nil })
	count(t, &preToolHook, func(context.Context, *hooks.ToolCall) error { *calls++; return nil })
	count(t, &emptyBody, func(context.Context, *hooks.ToolCall) error { *calls++; return nil })
	count(t, &idleModelHook, func(context.Context, *hooks.ModelCall) error { *calls++; return nil })
	count(t, &emptyModelBody, func(context.Context, *hooks.ModelCall) error { *calls++; return nil })
	count(t, &emptyExecutionBody, func(context.Context, *hooks.Execution) error { *calls++; return nil })
	count(t, &idleWatch, func(context.Context, *hooks.ToolCall, error) { *calls++ })
	around, ask := idleAround, askingGuard
	count(t, &idleAround, func(ctx context.Context, c *hooks.ToolCall, next func(context.Context) error) error {
		*calls++
		return around(ctx, c, next)
	})
	count(t, &askingGuard, func(ctx context.Context, c *hooks.ToolCall) error { *calls++; return ask(ctx, c) })
	count(t, &observe, func(context.Context, hooks.HookDispatchedEvent) { *calls++ })
	return calls
}

func count[F any](t *testing.T, v *F, counting F) {
	t.Helper()
	own := *v
	*v = counting
	t.Cleanup(func() { *v = own })
}

func TestPairs_runWhatTheySay(t *testing.T) {
	calls := counted(t)
	for _, p := range Pairs() {
		for name, side := range map[string]Side{"own": p.Own, "reference": p.Reference} {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				failure = nil
				run := side.Setup(t)
				for _, n := range []int{1, 10} {
					*calls = 0
					run(n)
					if want := n * side.Calls; *calls != want {
						t.Errorf("%d operations made %d calls, want %d", n, *calls, want)
					}
				}
				if failure != nil {
					t.Errorf("an operation failed: %v", failure)
				}
			})
		}
	}
}

// A side that left something registered would change the next one.
func TestPairs_leaveNothingRegistered(t *testing.T) {
	for _, p := range Pairs() {
		for name, side := range map[string]Side{"own": p.Own, "reference": p.Reference} {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				t.Run("side", func(t *testing.T) { side.Setup(t)(1) })
				if ctx := context.Background(); hooks.Enabled(ctx, hooks.PreToolCall) || hooks.Enabled(ctx, hooks.PreModelCall) {
					t.Error("a hook is left")
				}
			})
		}
	}
}

func TestPairs_areDistinctAndDescribed(t *testing.T) {
	names, labels := make(map[string]bool), make(map[string]bool)
	for _, p := range Pairs() {
		label := fmt.Sprint(p.Label, " against ", p.Against)
		if names[p.Name] || labels[label] {
			t.Errorf("%s is listed twice, by name or by label", p.Name)
		}
		names[p.Name], labels[label] = true, true
		if p.Name == "" || p.Label == "" || p.Against == "" || p.Limit < 0 {
			t.Errorf("%+v lacks a name or a label", p)
		}
	}
}
