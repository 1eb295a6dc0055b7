package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/loophooks/hooks"
)

// noop is a hook that the compiler can't look into from the places that call
// it.
//
//go:noinline
func noop(context.Context, *hooks.ToolCall) error { return nil }

// plainLoop is what dispatching is measured against: the calls alone.
//
//go:noinline
func plainLoop(ctx context.Context, fns []hooks.Func[hooks.ToolCall], c *hooks.ToolCall) error {
	for _, fn := range fns {
		if err := fn(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func noops(n int) []hooks.Func[hooks.ToolCall] {
	fns := make([]hooks.Func[hooks.ToolCall], n)
	for i := range fns {
		fns[i] = noop
	}
	return fns
}

func benchCall() *hooks.ToolCall { return &hooks.ToolCall{Name: "tool_7", Input: map[string]any{}} }

// dispatchLoop is the body of the benchmarks of Dispatch.
func dispatchLoop(b *testing.B, ctx context.Context, call *hooks.ToolCall) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		_ = hooks.Dispatch(ctx, hooks.PreToolCall, call)
	}
}

func BenchmarkPlainLoop(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			fns, call := noops(n), benchCall()
			for b.Loop() {
				_ = plainLoop(b.Context(), fns, call)
			}
		})
	}
}

func BenchmarkDispatch(b *testing.B) {
	for _, n := range []int{0, 1, 10, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.Cleanup(func() { hooks.ClearAll() })
			for range n {
				hooks.On(hooks.PreToolCall, noop)
			}
			dispatchLoop(b, context.Background(), benchCall())
		})
	}
}

func BenchmarkEnabledNothingRegistered(b *testing.B) {
	for b.Loop() {
		_ = hooks.Enabled(context.Background(), hooks.PreStep)
	}
}

func BenchmarkDispatchNothingRegisteredBesideScopes(b *testing.B) {
	hooks.On(hooks.PreToolCall, noop, hooks.In(hooks.NewRegistry()))
	dispatchLoop(b, context.Background(), benchCall())
}

func BenchmarkDispatchTenThousandFilters(b *testing.B) {
	b.Cleanup(func() { hooks.ClearAll() })
	for i := range 10_000 {
		hooks.On(hooks.PreToolCall, noop, hooks.WithTools(fmt.Sprintf("tool_%d", i)))
	}
	for _, name := range []string{"tool_7777", "Tool 7777", "unknown_tool", "Unknown Tool"} {
		b.Run(name, func(b *testing.B) {
			dispatchLoop(b, context.Background(), &hooks.ToolCall{Name: name, Input: map[string]any{}})
		})
	}
	b.Run("all", func(b *testing.B) {
		r := hooks.NewRegistry()
		for range 10_000 {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools("same_tool"))
		}
		dispatchLoop(b, hooks.WithScope(context.Background(), r), &hooks.ToolCall{Name: "same_tool", Input: map[string]any{}})
	})
}

func BenchmarkDispatchInScopes(b *testing.B) {
	for _, depth := range []int{1, 2, 8} {
		b.Run(strconv.Itoa(depth), func(b *testing.B) {
			ctx := context.Background()
			for range depth {
				r := hooks.NewRegistry()
				hooks.On(hooks.PreToolCall, noop, hooks.In(r))
				ctx = hooks.WithScope(ctx, r)
			}
			dispatchLoop(b, ctx, benchCall())
		})
	}
}

func BenchmarkDispatchOutcomes(b *testing.B) {
	errBug := errors.New("bug")
	abort := &hooks.HookAborted{Reason: "no"}
	for _, bc := range []struct {
		name string
		hook hooks.Func[hooks.ToolCall]
		opts []hooks.Option
	}{
		{"abort", func(context.Context, *hooks.ToolCall) error { return abort }, nil},
		{"answer", func(_ context.Context, c *hooks.ToolCall) error { c.Answer("ready"); return nil }, nil},
		{"fail", func(context.Context, *hooks.ToolCall) error { return errBug }, nil},
		{"panic", func(context.Context, *hooks.ToolCall) error { panic("bug") }, nil},
		{"guard", noop, []hooks.Option{hooks.AsGuard()}},
		{"role", noop, []hooks.Option{hooks.WithAgents("a", "b")}},
		{"timeout", noop, []hooks.Option{hooks.WithTimeout(time.Hour)}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			silence(b)
			r := hooks.NewRegistry()
			hooks.On(hooks.PreToolCall, bc.hook, append(bc.opts, hooks.In(r))...)
			dispatchLoop(b, hooks.WithScope(context.Background(), r), benchCall())
		})
	}
}

// silence keeps contained failures out of the log for the time of tb.
func silence(tb testing.TB) {
	tb.Helper()
	hooks.SetLogger(nil)
	tb.Cleanup(func() { hooks.SetLogger(slog.Default()) })
}

func BenchmarkDispatchObserved(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			r := hooks.NewRegistry()
			r.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
			for range n {
				hooks.On(hooks.PreToolCall, noop, hooks.In(r))
			}
			dispatchLoop(b, hooks.WithScope(context.Background(), r), benchCall())
		})
	}
}

func BenchmarkSeams(b *testing.B) {
	for _, hooked := range []bool{false, true} {
		r := hooks.NewRegistry()
		ctx := hooks.WithScope(context.Background(), r)
		if hooked {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r))
			hooks.On(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return nil }, hooks.In(r))
			hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return nil }, hooks.In(r))
			hooks.On(hooks.ExecutionStart, func(context.Context, *hooks.Execution) error { return nil }, hooks.In(r))
		}
		run := func(name string, seam func() error) {
			b.Run(fmt.Sprintf("%s/hooked=%v", name, hooked), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := seam(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		tool := benchCall()
		run("tool", func() error { return hooks.RunTool(ctx, tool, noop) })
		model := &hooks.ModelCall{}
		run("model", func() error {
			return hooks.RunModel(ctx, model, func(context.Context, *hooks.ModelCall) error { return nil })
		})
		step := &hooks.Step{}
		run("step", func() error {
			return hooks.RunStep(ctx, step, func(context.Context, *hooks.Step) error { return nil })
		})
		x := &hooks.Execution{Inputs: map[string]any{}}
		run("execution", func() error {
			return hooks.RunExecution(ctx, x, func(context.Context, *hooks.Execution) error { return nil })
		})
	}
}

func BenchmarkDispatchParallel(b *testing.B) {
	for _, churn := range []bool{false, true} {
		b.Run(fmt.Sprintf("churn=%v", churn), func(b *testing.B) {
			b.Cleanup(func() { hooks.ClearAll() })
			for range 10 {
				hooks.On(hooks.PreToolCall, noop)
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for churn {
					select {
					case <-stop:
						return
					default:
						hooks.On(hooks.PreToolCall, noop).Remove()
					}
				}
			}()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				call := benchCall()
				for pb.Next() {
					_ = hooks.Dispatch(context.Background(), hooks.PreToolCall, call)
				}
			})
			close(stop)
			<-stopped
		})
	}
}

func BenchmarkRegisterTenThousand(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("tool_%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := hooks.NewRegistry()
		for _, name := range names {
			hooks.On(hooks.PreToolCall, noop, hooks.In(r), hooks.WithTools(name))
		}
	}
}

func BenchmarkRegisterAndRemove(b *testing.B) {
	r := hooks.NewRegistry()
	b.ReportAllocs()
	for b.Loop() {
		hooks.On(hooks.PreToolCall, noop, hooks.In(r)).Remove()
	}
}
