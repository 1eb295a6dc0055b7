package hooks_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
)

// limitIterations ends a run before its model call number limit+1. Iterations
// counts the calls made before, from 0: a test with > lets one more through.
func limitIterations(limit int) hooks.Func[hooks.ModelCall] {
	return func(_ context.Context, m *hooks.ModelCall) error {
		if m.Iterations >= limit {
			return hooks.Abort(fmt.Sprintf("no answer after %d model calls", limit))
		}
		return nil
	}
}

// A limit on the model calls of a run, and a lower one for a role. The loop
// gets the abort as an error, with the reason and who gave it.
func Example_iterations() {
	reg := hooks.NewRegistry()
	hooks.Guard(hooks.PreModelCall, limitIterations(5), hooks.In(reg), hooks.WithName("loop-guard"))
	hooks.Guard(hooks.PreModelCall, limitIterations(2), hooks.In(reg), hooks.WithName("researcher-limit"),
		hooks.WithAgents("researcher"))
	ctx := hooks.WithScope(context.Background(), reg)

	loop := func(role string) (calls int, err error) {
		for {
			m := &hooks.ModelCall{Caller: hooks.Caller{AgentRole: role}, Iterations: calls}
			err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
				m.ToolCalls = []hooks.ToolRequest{{Name: "web_search"}} // again and again
				return nil
			})
			if err != nil || len(m.ToolCalls) == 0 {
				return calls, err
			}
			calls++
		}
	}
	for _, role := range []string{"writer", "researcher"} {
		calls, err := loop(role)
		fmt.Printf("%s: %d calls\n", role, calls)
		if abort, ok := errors.AsType[*hooks.HookAborted](err); ok {
			fmt.Printf("%s by %s\n", abort.Reason, abort.Source)
		}
	}
	// Output:
	// writer: 5 calls
	// no answer after 5 model calls by loop-guard
	// researcher: 2 calls
	// no answer after 2 model calls by researcher-limit
}
