package recipes_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
)

var errOverloaded = errors.New("overloaded")

// Another model where the first one can't answer. The guards in front of the call
// are asked again, since it is another model that they let through. The body
// reads m.Model each time; a loop that can't switch returns errors.ErrUnsupported,
// and the first error stands.
func Example_fallback() {
	reg := hooks.NewRegistry()
	hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
		first := next(ctx)
		if !errors.Is(first, errOverloaded) {
			return first
		}
		m.Model = "small"
		if err := next(ctx); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		return first
	}, hooks.In(reg), hooks.WithName("fallback"), hooks.WithPriority(700))
	hooks.Guard(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		fmt.Println("may we ask", m.Model)
		return nil
	}, hooks.In(reg), hooks.WithName("models"))

	m := &hooks.ModelCall{Model: "large", Messages: []hooks.Message{{Role: "user", Content: "When does it leave?"}}}
	err := hooks.RunModel(hooks.WithScope(context.Background(), reg), m, func(_ context.Context, m *hooks.ModelCall) error {
		m.Usage.In = 7
		if m.Model == "large" {
			return errOverloaded
		}
		m.Response = "At nine."
		return nil
	})
	fmt.Println(m.Response, m.Model, m.Usage.In, err)
	// Output:
	// may we ask large
	// may we ask small
	// At nine. small 14 <nil>
}
