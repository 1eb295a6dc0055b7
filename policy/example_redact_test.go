package policy_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/loophooks/hooks/redact"
)

// A model works with tokens in the place of addresses, and one tool gets the addresses.
// Keys that stand in the result of a tool are replaced, too, and nothing of them is
// shown while the answer is streamed.
func ExampleRedact() {
	run := hooks.NewRegistry() // a program without tenants or tests leaves In out
	policy.Redact{
		Set:     redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail())...),
		Secrets: []string{"tr0ub4dor&3"}, // from the environment
		With:    policy.Token,
		Restore: []string{"send_email"},
	}.Register(hooks.In(run))

	ctx := hooks.WithScope(context.Background(), run)
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		m := &hooks.ModelCall{Messages: []hooks.Message{{Role: "user", Content: "Tell ana@example.com what the database says."}}}
		err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			fmt.Println("model reads:", m.Messages[0].Content)
			return nil
		})
		if err != nil {
			return err
		}
		for _, call := range []*hooks.ToolCall{
			{ID: "1", Name: "query", Input: map[string]any{"about": "<EMAIL_1>"}},
			{ID: "2", Name: "send_email", Input: map[string]any{"to": "<EMAIL_1>", "cc": "<EMAIL_2>"}},
		} {
			err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
				fmt.Println(call.Name, "gets:", call.Input)
				call.Result = "done by app:tr0ub4dor%263@db"
				return nil
			})
			if err != nil {
				return err
			}
			fmt.Println("model reads:", call.Result)
		}
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
	}
	// Output:
	// model reads: Tell <EMAIL_1> what the database says.
	// query gets: map[about:<EMAIL_1>]
	// model reads: done by app:<SECRET_1>@db
	// send_email gets: map[cc:<EMAIL_2> to:ana@example.com]
	// model reads: done by app:<SECRET_1>@db
}
