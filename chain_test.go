// The chain of a registry at one point: hooks that are added and removed among
// many others.

package hooks_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// More hooks than a page of a chain holds, removed in every order.
func TestChain_longOneLosesRemovedHooksOnly(t *testing.T) {
	t.Parallel()
	const n = 700
	for name, order := range map[string]func(i int) int{
		"first to last": func(i int) int { return i },
		"last to first": func(i int) int { return n - 1 - i },
		"scattered":     func(i int) int { return i * 257 % n },
	} {
		r := hooks.NewRegistry()
		regs := make([]*hooks.Registration, n)
		for i := range regs {
			regs[i] = hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return nil }, hooks.In(r))
		}
		left := map[*hooks.Registration]bool{}
		for _, reg := range regs {
			left[reg] = true
		}
		for i := range n {
			reg := regs[order(i)]
			require.True(t, reg.Remove(), "%s: %d", name, i)
			delete(left, reg)
			if i%50 == 0 || i > n-3 {
				listed := r.Hooks(hooks.PreStep)
				require.Len(t, listed, len(left), name)
				for _, l := range listed {
					require.True(t, left[l], name)
				}
			}
			if i == n/2 { // a chain that has lost some goes on growing
				added := hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return nil }, hooks.In(r))
				require.Len(t, r.Hooks(hooks.PreStep), len(left)+1, name)
				require.True(t, added.Remove())
			}
		}
		require.False(t, hooks.Enabled(hooks.WithScope(t.Context(), r), hooks.PreStep), name)
	}
}
