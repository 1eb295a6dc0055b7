package policy_test

import (
	"context"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A model call that was made before is answered without the model. Here the
// temperature is in the loop's own request, and so Extra tells what of that counts.
func ExampleCache() {
	type request struct{ temperature float64 }
	reg := hooks.NewRegistry()
	policy.Cache{Extra: func(_ context.Context, c any) (key string, ok bool) {
		r, ok := c.(*hooks.ModelCall).Request.(request)
		return fmt.Sprint(r.temperature), ok
	}}.Register(hooks.In(reg))

	ctx := hooks.WithScope(context.Background(), reg)
	for _, question := range []string{"Capital of Norway?", "Capital of Chile?", "Capital of Norway?"} {
		m := &hooks.ModelCall{Model: "large", Messages: []hooks.Message{{Role: "user", Content: question}}, Request: request{0.2}}
		err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			fmt.Println("asking the model:", m.Messages[0].Content)
			m.Response = map[string]string{"Capital of Norway?": "Oslo", "Capital of Chile?": "Santiago"}[question]
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(m.Response, m.Answered())
	}
	// Output:
	// asking the model: Capital of Norway?
	// Oslo false
	// asking the model: Capital of Chile?
	// Santiago false
	// Oslo true
}
