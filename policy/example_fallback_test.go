package policy_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// Where the large model can't answer, the small one is asked. The body reads m.Model
// each time.
func ExampleFallback() {
	reg := hooks.NewRegistry()
	policy.Fallback{Models: []string{"small"}}.Register(hooks.In(reg))

	ctx := hooks.WithScope(context.Background(), reg)
	m := &hooks.ModelCall{Model: "large", Messages: []hooks.Message{{Role: "user", Content: "When does it leave?"}}}
	err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		fmt.Println("asking", m.Model)
		if m.Model == "large" {
			return errors.New("overloaded")
		}
		m.Response = "At nine."
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(m.Response, m.Model)
	// Output:
	// asking large
	// asking small
	// At nine. small
}
