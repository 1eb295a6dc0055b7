package policy_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/policy"
)

// A payment waits for a person. The run ends with the question, and goes on, here or
// in another process with the same store, when somebody has decided.
func ExampleApproval() {
	reg := hooks.NewRegistry() // or leave hooks.In out, for all runs of the program
	policy.Approval{Prompt: "Pay this bill?"}.Register(hooks.In(reg), hooks.WithTools("pay"))

	questions := desk.New(desk.Memory())
	ctx := hooks.WithDesk(hooks.WithScope(context.Background(), reg), questions)

	run := func(calls ...*hooks.ToolCall) error {
		x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-7"}}
		return hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunTools(ctx, calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
				call.Result = "paid"
				return nil
			})
		})
	}
	cheap := &hooks.ToolCall{ID: "call-1", Name: "pay", Input: map[string]any{"amount": 5}}
	dear := &hooks.ToolCall{ID: "call-2", Name: "pay", Input: map[string]any{"amount": 5000}}

	waits, ok := errors.AsType[*hooks.Suspended](run(cheap, dear))
	if !ok {
		return
	}
	for i, q := range waits.Questions { // shown to people, who decide
		fmt.Println(q.Prompt, q.Tool, q.Arguments)
		decision := hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}
		if i == 1 {
			decision.Verdict, decision.Reason = hooks.Reject, "too dear"
		}
		if err := questions.Decide(ctx, q.ID, decision); err != nil {
			fmt.Println(err)
		}
	}
	if err := run(cheap, dear); err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(cheap.Result)
	fmt.Println(dear.Result)
	// Output:
	// Pay this bill? pay {"amount":5}
	// Pay this bill? pay {"amount":5000}
	// paid
	// Tool execution blocked by hook. Tool: pay. Reason: not approved: too dear
}
