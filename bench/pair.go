package bench

// Pairs: what a part of this library costs, as a ratio to a reference that is
// measured beside it, and what of that is promised.

import (
	"context"
	"fmt"
	"testing"

	"github.com/loophooks/hooks"
)

// Pair is an operation of this library and a reference to measure it against.
// A ratio within one run says the same on a fast machine and on a slow one.
type Pair struct {
	Name    string  // in the benchmark's name
	Label   string  // the operation, for people
	Against string  // the reference, for people
	Limit   float64 // how many times as long as the reference it may take; 0 where nothing is promised
	Note    string  // what to know of it, a sentence or none

	Own, Reference Side
}

// Side is one half of a [Pair].
type Side struct {
	// Setup registers what the operation needs, for the time of tb, and returns a
	// function that runs it n times.
	Setup func(tb testing.TB) func(n int)
	// Calls is how many functions run in one operation: hooks, watches, observers
	// and bodies.
	Calls int
}

// Run measures b.N operations. The first one, which may build an index, isn't
// among them.
func (s Side) Run(b *testing.B) {
	b.ReportAllocs()
	run := s.Setup(b)
	run(1)
	b.ResetTimer()
	run(b.N)
}

// RunPairs runs both sides of each pair as sub-benchmarks named like
// "one/side=own". They share the process, as the rows of [RunGroup] do.
func RunPairs(b *testing.B) {
	for _, p := range Pairs() {
		b.Run(p.Name+"/side=reference", p.Reference.Run)
		b.Run(p.Name+"/side=own", p.Own.Run)
	}
}

// The functions that pairs run do nothing, but for preToolHook, which reads a
// field. They are called through variables, so that no compiler can inline or
// drop them.
var (
	idleHook      hooks.Func[hooks.ToolCall]      = func(context.Context, *hooks.ToolCall) error { return nil }
	idleModelHook hooks.Func[hooks.ModelCall]     = func(context.Context, *hooks.ModelCall) error { return nil }
	idleWatch     hooks.WatchFunc[hooks.ToolCall] = func(context.Context, *hooks.ToolCall, error) {}

	emptyModelBody     hooks.Func[hooks.ModelCall] = func(context.Context, *hooks.ModelCall) error { return nil }
	emptyExecutionBody hooks.Func[hooks.Execution] = func(context.Context, *hooks.Execution) error { return nil }
)

// hookVar points to the variable of a hook.
type hookVar = *hooks.Func[hooks.ToolCall]

// failure keeps what operations return.
var failure error

// Pairs returns all pairs in the order of the tables.
func Pairs() []Pair {
	var pairs []Pair
	for _, part := range [][]Pair{unusedPairs(), chainPairs(), kindPairs(), placePairs(), observedPairs(), seamPairs(), aroundPairs(), askPairs(), streamPairs(), copyPairs(), policyPairs()} {
		pairs = append(pairs, part...)
	}
	return pairs
}

func unusedPairs() []Pair {
	enabled := Side{Setup: func(testing.TB) func(int) {
		ctx := context.Background()
		return func(n int) {
			for range n {
				if hooks.Enabled(ctx, hooks.PreToolCall) {
					failure = errEmpty
				}
			}
		}
	}}
	return []Pair{
		{
			Name: "nothing", Label: "`Dispatch`, nothing registered", Against: "a bare call", Limit: 2.5,
			Own: dispatching(0, &idleHook), Reference: bareCall(&idleHook),
		},
		{
			Name: "enabled", Label: "`Enabled`, nothing registered", Against: "a bare call",
			Own: enabled, Reference: bareCall(&idleHook),
		},
	}
}

func chainPairs() []Pair {
	return []Pair{
		{
			Name: "one", Label: "1 hook that does nothing", Against: "a bare call", Limit: 3.5,
			Own: dispatching(1, &idleHook), Reference: bareCall(&idleHook),
		},
		{
			Name: "ten", Label: "10 hooks that do nothing", Against: "a plain loop of 10", Limit: 1.6,
			Own: dispatching(10, &idleHook), Reference: looping(10, &idleHook),
		},
		{
			Name: "hundred", Label: "100 hooks that do nothing", Against: "a plain loop of 100", Limit: 1.2,
			Own: dispatching(100, &idleHook), Reference: looping(100, &idleHook),
		},
		{
			Name: "one-reading", Label: "1 hook that reads a field", Against: "a bare call that does",
			Own: dispatching(1, &preToolHook), Reference: bareCall(&preToolHook),
		},
		{
			Name: "ten-reading", Label: "10 hooks that read a field", Against: "a plain loop of 10 that do",
			Own: dispatching(10, &preToolHook), Reference: looping(10, &preToolHook),
		},
		{
			Name: "hundred-reading", Label: "100 hooks that read a field", Against: "a plain loop of 100 that do",
			Own: dispatching(100, &preToolHook), Reference: looping(100, &preToolHook),
		},
	}
}

func kindPairs() []Pair {
	named := hooks.WithTools(toolName)
	return []Pair{
		{
			Name: "guard", Label: "a guard", Against: "a hook", Limit: 1.8,
			Own: dispatching(1, &idleHook, hooks.AsGuard()), Reference: dispatching(1, &idleHook),
		},
		{
			Name: "named-hook", Label: "a hook for the tool called (`WithTools`)", Against: "a hook for all tools",
			Own: dispatching(1, &idleHook, named), Reference: dispatching(1, &idleHook),
		},
		{
			Name: "named-guard", Label: "a guard for the tool called (`WithTools`)", Against: "a guard for all tools",
			Own: dispatching(1, &idleHook, named, hooks.AsGuard()), Reference: dispatching(1, &idleHook, hooks.AsGuard()),
		},
		{
			Name: "ten-thousand", Label: "10,000 hooks, one of them for the tool called", Against: "that hook alone", Limit: 3,
			Own: perTool(10_000), Reference: perTool(1),
		},
		{
			Name: "watch", Label: "a watch", Against: "a hook",
			Note: "The watch gets a copy of the call, whose Input has one entry.",
			Own:  watching(), Reference: dispatching(1, &idleHook),
		},
	}
}

func placePairs() []Pair {
	return []Pair{
		{
			Name: "scope", Label: "a hook in a scope", Against: "a hook in the default registry",
			Own: inScope(), Reference: dispatching(1, &idleHook),
		},
		{
			Name: "beside-scope", Label: "a hook, beside a scope that isn't active", Against: "a hook",
			Note: "The scope has a hook at the point, so that dispatches look for scopes.",
			Own:  besideScope(false), Reference: dispatching(1, &idleHook),
		},
		{
			Name: "removed-scope", Label: "a hook, after the last hook of a scope was removed", Against: "a hook", Limit: 1.3,
			Own: besideScope(true), Reference: dispatching(1, &idleHook),
		},
	}
}

func observedPairs() []Pair {
	return []Pair{
		{
			Name: "observed", Label: "a hook with an observer", Against: "a hook without", Limit: 15,
			Note: "The event tells what the hook did and how long it took.",
			Own:  observing(false), Reference: dispatching(1, &idleHook),
		},
		{
			Name: "removed-observer", Label: "a hook, after the last observer was removed", Against: "a hook", Limit: 1.3,
			Own: observing(true), Reference: dispatching(1, &idleHook),
		},
	}
}

func seamPairs() []Pair {
	execution := Side{Calls: 1, Setup: func(testing.TB) func(int) {
		ctx, x := context.Background(), &hooks.Execution{Inputs: map[string]any{}}
		return func(n int) {
			for range n {
				failure = hooks.RunExecution(ctx, x, emptyExecutionBody)
			}
		}
	}}
	return []Pair{
		{
			Name: "runtool", Label: "`RunTool`, nothing registered", Against: "a bare call", Limit: 15,
			Own: runningTools(0, false), Reference: bareCall(&emptyBody),
		},
		{
			Name: "runtool-hook", Label: "`RunTool` with a hook", Against: "`RunTool`, nothing registered", Limit: 2,
			Own: runningTools(1, false), Reference: runningTools(0, false),
		},
		{
			Name: "runexecution", Label: "`RunExecution`, nothing registered", Against: "`RunTool`, nothing registered",
			Note: "It gives the run an ID and a record, from which what runs inside is filled.",
			Own:  execution, Reference: runningTools(0, false),
		},
		{
			Name: "inside", Label: "`RunTool` in an execution, nothing registered", Against: "`RunTool` outside",
			Own: runningTools(0, true), Reference: runningTools(0, false),
		},
		{
			Name: "inside-hook", Label: "`RunTool` with a hook in an execution", Against: "`RunTool` with a hook outside",
			Own: runningTools(1, true), Reference: runningTools(1, false),
		},
	}
}

func copyPairs() []Pair {
	return []Pair{
		{
			Name: "copied-input", Label: "`RunTool` with a hook, an Input of 5", Against: "the same, Input empty",
			Note: "Hooks get a copy of the map, if any are registered.",
			Own:  copyingInput(5), Reference: copyingInput(0),
		},
		{
			Name: "copied-messages", Label: "`RunModel` with a hook, Messages of 100", Against: "the same without messages",
			Note: "Hooks get a copy of the slice, if any are registered.",
			Own:  copyingMessages(100), Reference: copyingMessages(0),
		},
	}
}

func bareCall(hook hookVar) Side {
	return Side{Calls: 1, Setup: func(testing.TB) func(int) {
		ctx, c := context.Background(), newToolCall()
		return func(n int) {
			for range n {
				failure = (*hook)(ctx, c)
			}
		}
	}}
}

func looping(hooksPerOp int, hook hookVar) Side {
	return Side{Calls: hooksPerOp, Setup: func(testing.TB) func(int) {
		ctx, c, list := context.Background(), newToolCall(), repeat(hooksPerOp, *hook)
		return func(n int) {
			for range n {
				failure = plainLoopOf(ctx, list, c)
			}
		}
	}}
}

//go:noinline
func plainLoopOf(ctx context.Context, list []hooks.Func[hooks.ToolCall], c *hooks.ToolCall) error {
	for _, h := range list {
		if err := h(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// dispatches returns a function that dispatches c at [hooks.PreToolCall].
func dispatches(ctx context.Context, c *hooks.ToolCall) func(int) {
	return func(n int) {
		for range n {
			failure = hooks.Dispatch(ctx, hooks.PreToolCall, c)
		}
	}
}

func dispatching(registered int, hook hookVar, opts ...hooks.Option) Side {
	return Side{Calls: registered, Setup: func(tb testing.TB) func(int) {
		registerHooks(tb, registered, hook, opts...)
		return dispatches(context.Background(), newToolCall())
	}}
}

// perTool has a hook for each of n tools and calls one of them.
func perTool(n int) Side {
	return Side{Calls: 1, Setup: func(tb testing.TB) func(int) {
		for i := range n {
			hooks.On(hooks.PreToolCall, idleHook, hooks.WithTools(numberedTool(i)))
		}
		tb.Cleanup(func() { hooks.ClearAll() })
		c := newToolCall()
		c.Name = calledTool(n)
		return dispatches(context.Background(), c)
	}}
}

func watching() Side {
	return Side{Calls: 1, Setup: func(tb testing.TB) func(int) {
		reg := hooks.Watch(hooks.PreToolCall, idleWatch)
		tb.Cleanup(func() { reg.Remove() })
		return dispatches(context.Background(), newToolCall())
	}}
}

func inScope() Side {
	return Side{Calls: 1, Setup: func(tb testing.TB) func(int) {
		r := hooks.NewRegistry()
		registerHooks(tb, 1, &idleHook, hooks.In(r))
		return dispatches(hooks.WithScope(context.Background(), r), newToolCall())
	}}
}

// besideScope dispatches in a process in which a scope has been used, whose hook
// may be removed again.
func besideScope(removed bool) Side {
	return Side{Calls: 1, Setup: func(tb testing.TB) func(int) {
		r := hooks.NewRegistry()
		reg := hooks.On(hooks.PreToolCall, idleHook, hooks.In(r))
		tb.Cleanup(func() { reg.Remove() })
		dispatches(hooks.WithScope(context.Background(), r), newToolCall())(1)
		if removed {
			reg.Remove()
		}
		registerHooks(tb, 1, &idleHook)
		return dispatches(context.Background(), newToolCall())
	}}
}

// observing dispatches in a process that has been observed, by an observer that
// may be removed again.
func observing(removed bool) Side {
	calls := 2
	if removed {
		calls = 1
	}
	return Side{Calls: calls, Setup: func(tb testing.TB) func(int) {
		registerHooks(tb, 1, &idleHook)
		run := dispatches(context.Background(), newToolCall())
		o := hooks.Observe(observe)
		tb.Cleanup(func() { o.Remove() })
		run(1)
		if removed {
			o.Remove()
		}
		return run
	}}
}

// runningTools runs tool calls, each by itself or all in one execution.
func runningTools(registered int, inside bool) Side {
	return Side{Calls: registered + 1, Setup: func(tb testing.TB) func(int) {
		registerHooks(tb, registered, &idleHook)
		c := newToolCall()
		run := func(ctx context.Context, n int) {
			for range n {
				failure = hooks.RunTool(ctx, c, emptyBody)
			}
		}
		if !inside {
			return func(n int) { run(context.Background(), n) }
		}
		return func(n int) {
			failure = hooks.RunExecution(context.Background(), &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
				run(ctx, n)
				return nil
			})
		}
	}}
}

// copyingInput gives each tool call the framework's own map again.
func copyingInput(entries int) Side {
	return Side{Calls: 2, Setup: func(tb testing.TB) func(int) {
		registerHooks(tb, 1, &idleHook)
		ctx, c, input := context.Background(), newToolCall(), make(map[string]any)
		for i := range entries {
			input[fmt.Sprintf("argument_%d", i)] = "value"
		}
		return func(n int) {
			for range n {
				c.Input = input
				failure = hooks.RunTool(ctx, c, emptyBody)
			}
		}
	}}
}

// copyingMessages gives each model call the framework's own messages again.
func copyingMessages(number int) Side {
	return Side{Calls: 2, Setup: func(tb testing.TB) func(int) {
		reg := hooks.On(hooks.PreModelCall, idleModelHook)
		tb.Cleanup(func() { reg.Remove() })
		ctx, m := context.Background(), &hooks.ModelCall{}
		messages := repeat(number, hooks.Message{Role: "user", Content: "What is in go.mod?"})
		return func(n int) {
			for range n {
				m.Messages = messages
				failure = hooks.RunModel(ctx, m, emptyModelBody)
			}
		}
	}}
}

// registerHooks adds n hooks for the time of tb.
func registerHooks(tb testing.TB, n int, hook hookVar, opts ...hooks.Option) {
	for range n {
		reg := hooks.On(hooks.PreToolCall, *hook, opts...)
		tb.Cleanup(func() { reg.Remove() })
	}
}
