package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// call is what the hooks of the references get.
type call struct {
	Name  string
	Input map[string]any
}

type callHook = func(ctx context.Context, c *call) error

// The hooks of all rows do the same: they compare a string of their argument
// with the empty one. They are called through variables, so that no compiler
// can inline or drop them.
var referenceHook callHook = func(_ context.Context, c *call) error {
	if c.Name == "" {
		return errEmpty
	}
	return nil
}

func newCall() *call {
	return &call{Name: toolName, Input: map[string]any{"path": "go.mod"}}
}

func runPlain(ctx context.Context, list []callHook, c *call) error {
	for _, h := range list {
		if err := h(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func runRecovering(ctx context.Context, list []callHook, c *call) error {
	for _, h := range list {
		if err := callRecovering(ctx, h, c); err != nil {
			return err
		}
	}
	return nil
}

func callRecovering(ctx context.Context, h callHook, c *call) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("hook panicked: %v", v)
		}
	}()
	return h(ctx, c)
}

// lockedRegistry is the registry that is written first: a mutex, and a copy of
// the list, so that no lock is held while hooks run.
type lockedRegistry struct {
	mu   sync.Mutex
	list []callHook
}

func (r *lockedRegistry) add(h callHook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, h)
}

func (r *lockedRegistry) run(ctx context.Context, c *call) error {
	r.mu.Lock()
	list := append([]callHook(nil), r.list...)
	r.mu.Unlock()
	return runPlain(ctx, list, c)
}

func newLockedRegistry(n int) *lockedRegistry {
	r := new(lockedRegistry)
	for range n {
		r.add(referenceHook)
	}
	return r
}

type namedHook struct {
	tool string
	run  callHook
}

func namedHooks(n int) []namedHook {
	list := make([]namedHook, n)
	for i := range list {
		list[i] = namedHook{numberedTool(i), referenceHook}
	}
	return list
}

// numberedTool returns the name of the ith tool of the rows with filters.
func numberedTool(i int) string { return "tool_" + strconv.Itoa(i) }

// calledTool returns the name of the tool that the rows with n filtered hooks
// call: the one in the middle, whose hook is neither the first nor the last.
func calledTool(n int) string { return numberedTool(n / 2) }

func referenceRows() []Row {
	return []Row{
		{
			Group: Dispatch, Name: "load-and-branch", Label: "an atomic load and a branch", Sizes: []int{0},
			Note: "The least that a dispatcher can do which finds nothing registered.",
			hook: &referenceHook,
			Run: func(b *testing.B, n int) {
				var list atomic.Pointer[[]callHook]
				ctx, c := context.Background(), newCall()
				for b.Loop() {
					if hs := list.Load(); hs != nil {
						if err := runPlain(ctx, *hs, c); err != nil {
							b.Fatal(err)
						}
					}
				}
			},
		},
		{
			Group: Dispatch, Name: "plain-loop", Label: "plain loop", Sizes: usualSizes,
			Features: Features{Abort: true, Change: true},
			Note:     "The list is fixed: no look-up. The bare cost of the calls.",
			hook:     &referenceHook,
			Run: func(b *testing.B, n int) {
				list := repeat(n, referenceHook)
				ctx, c := context.Background(), newCall()
				for b.Loop() {
					if err := runPlain(ctx, list, c); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
		{
			Group: Dispatch, Name: "loop-recover", Label: "loop, one recover per hook", Sizes: usualSizes,
			Features: Features{Recover: true, Abort: true, Change: true},
			Note:     "The list is fixed: no look-up.",
			hook:     &referenceHook,
			Run: func(b *testing.B, n int) {
				list := repeat(n, referenceHook)
				ctx, c := context.Background(), newCall()
				for b.Loop() {
					if err := runRecovering(ctx, list, c); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
		{
			Group: Dispatch, Name: "mutex-registry", Label: "registry, mutex and a copy per dispatch", Sizes: usualSizes,
			Features: Features{Abort: true, Change: true, Swap: true},
			hook:     &referenceHook,
			Run: func(b *testing.B, n int) {
				r := newLockedRegistry(n)
				ctx, c := context.Background(), newCall()
				for b.Loop() {
					if err := r.run(ctx, c); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
		{
			Group: Filtered, Name: "loop-compare", Label: "loop that compares each hook's tool", Sizes: []int{1, 10_000},
			Features: Features{Filter: true, Abort: true, Change: true},
			Note:     "One name per hook, compared as it is.",
			hook:     &referenceHook, perOp: func(int) int { return 1 },
			Run: func(b *testing.B, n int) {
				list := namedHooks(n)
				ctx, c := context.Background(), newCall()
				c.Name = calledTool(n)
				for b.Loop() {
					for _, h := range list {
						if h.tool != c.Name {
							continue
						}
						if err := h.run(ctx, c); err != nil {
							b.Fatal(err)
						}
					}
				}
			},
		},
		{
			Group: Filtered, Name: "map-by-tool", Label: "map from tool to its hooks", Sizes: []int{1, 10_000},
			Features: Features{Filter: true, Abort: true, Change: true},
			Note:     "Loses the order between hooks for one tool and hooks for all tools.",
			hook:     &referenceHook, perOp: func(int) int { return 1 },
			Run: func(b *testing.B, n int) {
				byTool := make(map[string][]callHook, n)
				for _, h := range namedHooks(n) {
					byTool[h.tool] = append(byTool[h.tool], h.run)
				}
				ctx, c := context.Background(), newCall()
				c.Name = calledTool(n)
				for b.Loop() {
					if err := runPlain(ctx, byTool[c.Name], c); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
		{
			Group: Parallel, Name: "plain-loop", Label: "plain loop", Sizes: usualSizes,
			Features: Features{Abort: true, Change: true},
			Note:     "The list is fixed: no look-up.",
			hook:     &referenceHook,
			Run: func(b *testing.B, n int) {
				list := repeat(n, referenceHook)
				b.RunParallel(func(pb *testing.PB) {
					ctx, c := context.Background(), newCall()
					for pb.Next() {
						if err := runPlain(ctx, list, c); err != nil {
							b.Error(err)
							return
						}
					}
				})
			},
		},
		{
			Group: Parallel, Name: "mutex-registry", Label: "registry, mutex and a copy per dispatch", Sizes: usualSizes,
			Features: Features{Abort: true, Change: true, Swap: true},
			hook:     &referenceHook,
			Run: func(b *testing.B, n int) {
				r := newLockedRegistry(n)
				b.RunParallel(func(pb *testing.PB) {
					ctx, c := context.Background(), newCall()
					for pb.Next() {
						if err := r.run(ctx, c); err != nil {
							b.Error(err)
							return
						}
					}
				})
			},
		},
	}
}
