package recipes_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// approveEvery asks a person before every n-th model call of a run, so that
// the run stops where nobody watches it any more. It must not ask for a key to
// stop: an empty line and the end of input would go on for ever.
func approveEvery(n int) hooks.Func[hooks.ModelCall] {
	return func(ctx context.Context, m *hooks.ModelCall) error {
		if m.Iterations == 0 || m.Iterations%n != 0 {
			return nil
		}
		answer, err := m.RequestHumanInput(ctx,
			fmt.Sprintf("The agent has made %d model calls.", m.Iterations),
			`Type "yes" to let it go on:`)
		if err != nil {
			return err // the hook is a guard: no answer stops the run
		}
		if !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
			return hooks.Abort("the operator ended the run")
		}
		return nil
	}
}

// watcher is a [hooks.HumanInput] that answers yes a number of times and is
// gone then.
type watcher struct{ left int }

func (w *watcher) RequestInput(_ context.Context, prompt, message string) (string, error) {
	if w.left == 0 {
		fmt.Println(prompt, message, "(end of input)")
		return "", io.EOF
	}
	w.left--
	fmt.Println(prompt, message, "yes")
	return "yes", nil
}

// A person decides from time to time whether a run may go on.
func Example_iterationsApproval() {
	reg := hooks.NewRegistry()
	hooks.Guard(hooks.PreModelCall, approveEvery(3), hooks.In(reg), hooks.WithName("approval"))
	ctx := hooks.WithScope(context.Background(), reg)
	ctx = hooks.WithHumanInput(ctx, &watcher{left: 1})

	for i := range 10 {
		m := &hooks.ModelCall{Iterations: i}
		err := hooks.RunModel(ctx, m, func(context.Context, *hooks.ModelCall) error { return nil })
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("call", i+1)
	}
	// Output:
	// call 1
	// call 2
	// call 3
	// The agent has made 3 model calls. Type "yes" to let it go on: yes
	// call 4
	// call 5
	// call 6
	// The agent has made 6 model calls. Type "yes" to let it go on: (end of input)
	// hooks: pre_model_call aborted by approval: approval failed
}
