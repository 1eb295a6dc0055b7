package hooks_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
)

// office is a desk that keeps questions in memory. That of package desk keeps them
// in files or a database, so that a decision may come a day later.
type office struct {
	open     map[string]hooks.Question
	approved map[string]hooks.Decision
}

func (o *office) Ask(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
	if decision, ok := o.approved[q.ID]; ok {
		delete(o.approved, q.ID) // it is used up
		return decision, true, nil
	}
	o.open[q.ID] = *q
	return hooks.Decision{}, false, nil
}

func (o *office) Done(_ context.Context, _ string) error { return nil }

// The tool runs only once somebody has approved the call as it was shown. What
// waits ends the run, and a later one goes on.
func ExampleToolCall_Ask() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return call.Ask(ctx, hooks.Question{Prompt: "Pay the bill?", Audience: []string{"finance"}})
	}, hooks.In(r), hooks.WithName("approval"), hooks.WithTools("pay"), hooks.WithPriority(-900))

	desk := &office{open: map[string]hooks.Question{}, approved: map[string]hooks.Decision{}}
	ctx := hooks.WithDesk(hooks.WithScope(context.Background(), r), desk)
	run := func() error {
		x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-7"}}
		return hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
			call := &hooks.ToolCall{ID: "call-1", Name: "pay"}
			_ = call.SetArguments(`{"to":"ana","amount":30}`)
			return hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
				fmt.Println("paid", call.Input["amount"])
				return nil
			})
		})
	}

	_, waits := errors.AsType[*hooks.Suspended](run())
	fmt.Println("waits:", waits)
	for id, q := range desk.open {
		fmt.Println(q.Prompt, q.Tool, q.Arguments)
		desk.approved[id] = hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: "eva"}
	}
	fmt.Println(run())
	// Output:
	// waits: true
	// Pay the bill? pay {"amount":30,"to":"ana"}
	// paid 30
	// <nil>
}

// A turn of which one call waits: the others end, and the run goes on with the
// one that has no result.
func ExampleSuspended() {
	r := hooks.NewRegistry()
	office := &office{open: map[string]hooks.Question{}, approved: map[string]hooks.Decision{}}
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return call.Ask(ctx, hooks.Question{})
	}, hooks.In(r), hooks.WithName("approval"), hooks.WithTools("pay"))
	ctx := hooks.WithDesk(hooks.WithScope(context.Background(), r), office)

	// What the model asked for, as it wrote it: hooks edit the calls made of that.
	requests := []hooks.ToolRequest{{ID: "call-1", Name: "search", Arguments: `{}`}, {ID: "call-2", Name: "pay", Arguments: `{"amount":5}`}}
	made := func(requests []hooks.ToolRequest) (calls []*hooks.ToolCall) {
		for _, req := range requests {
			call := &hooks.ToolCall{ID: req.ID, Name: req.Name}
			_ = call.SetArguments(req.Arguments) // after an error the tool isn't run
			calls = append(calls, call)
		}
		return calls
	}
	turn := func(ctx context.Context, calls []*hooks.ToolCall) error {
		return hooks.RunTools(ctx, calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "done: " + call.Name
			return nil
		})
	}
	calls := made(requests)
	x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-7"}}
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error { return turn(ctx, calls) })
	fmt.Println(x.Status)

	// What has to be saved: the RunID, the history with the results that are there,
	// and the requests that have none.
	var waiting []hooks.ToolRequest
	for i, call := range calls {
		fmt.Printf("%s: %q\n", call.ID, call.Result)
		if call.Suspended() != nil {
			waiting = append(waiting, requests[i])
		}
	}
	if s, ok := errors.AsType[*hooks.Suspended](err); ok {
		for _, q := range s.Questions {
			office.approved[q.ID] = hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}
		}
	}

	x = &hooks.Execution{Caller: hooks.Caller{RunID: "run-7"}, Resumed: true}
	left := made(waiting)
	err = hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error { return turn(ctx, left) })
	fmt.Println(x.Status, left[0].Result, err)
	// Output:
	// suspended
	// call-1: "done: search"
	// call-2: ""
	// completed done: pay <nil>
}
