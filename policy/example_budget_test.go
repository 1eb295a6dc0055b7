package policy_test

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A run may use one cent. The call that goes over it is the last one.
func ExampleBudget() {
	reg := hooks.NewRegistry() // or leave hooks.In out, for all runs of the program
	policy.Budget{
		Cost:   policy.USD(0.01),
		Prices: map[string]policy.Price{"large": {In: policy.USD(3), Out: policy.USD(15)}}, // for a million tokens
		Report: func(_ context.Context, b policy.Bill) {
			fmt.Println(b.ModelCalls, "calls,", b.Usage.In, "tokens in,", b.Usage.Out, "out,", b.Cost)
		},
	}.Register(hooks.In(reg))
	ctx := hooks.WithScope(context.Background(), reg)

	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		for {
			m := &hooks.ModelCall{Model: "large"}
			err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
				m.Response, m.Usage = "…", hooks.Usage{In: 2000, Out: 20}
				return nil
			})
			if err != nil {
				return err
			}
		}
	})
	fmt.Println(err)
	// Output:
	// 2 calls, 4000 tokens in, 40 out, $0.0126
	// hooks: pre_model_call aborted by policy.Budget: the run's budget of $0.01 is used up; answer with what you have
}
