package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
)

// account is who a request was authenticated as. The server puts it into ctx.
type account struct {
	name   string
	mayRun bool
}

type accountKey struct{}

// The boundaries of an execution: a policy check at the start, default inputs,
// a sanitised output, and failures watched at the end.
func Example_boundaries() {
	reg := hooks.NewRegistry()

	// Who may run it is a question to the server and never to the inputs:
	// those come from whoever asks, and would say {"authorized": true}.
	hooks.Guard(hooks.ExecutionStart, func(ctx context.Context, _ *hooks.Execution) error {
		if who, ok := ctx.Value(accountKey{}).(account); ok && who.mayRun {
			return nil
		}
		return hooks.Abort("not authorized to start a run")
	}, hooks.In(reg), hooks.WithName("access-control"))

	hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error {
		if _, ok := x.Inputs["locale"]; !ok { // given but empty is given
			x.Inputs["locale"] = "en-US"
		}
		return nil
	}, hooks.In(reg), hooks.WithName("defaults"))

	// Fail-closed: an output that couldn't be sanitised isn't shown.
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		text, ok := x.Output.(string)
		if !ok {
			return fmt.Errorf("can't sanitise a %T", x.Output)
		}
		x.Output = strings.ReplaceAll(text, "jane@internal.example", "[EMAIL]")
		return nil
	}, hooks.In(reg), hooks.WithName("sanitiser"), hooks.WithFailClosed())

	// ExecutionEnd comes exactly once for every execution that was begun,
	// for cancelled and panicking ones too. A watch sees how it really ended,
	// whatever hooks there say.
	hooks.Watch(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution, _ error) {
		if x.Status == hooks.StatusFailed {
			fmt.Println("alert:", x.Err)
		}
	}, hooks.In(reg), hooks.WithName("alerts"))

	run := func(who account, question string, answer any, failure error) {
		ctx := context.WithValue(hooks.WithScope(context.Background(), reg), accountKey{}, who)
		x := &hooks.Execution{Inputs: map[string]any{"question": question}}
		err := hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error {
			fmt.Println("running with", x.Inputs)
			x.Output = answer
			return failure
		})
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		fmt.Println("output:", x.Output)
	}
	jane := account{name: "jane", mayRun: true}
	run(account{name: "guest"}, "hi", "hello", nil)
	run(jane, "who?", "Ask jane@internal.example.", nil)
	run(jane, "data?", []byte("jane@internal.example"), nil)
	run(jane, "when?", nil, errors.New("the model is down"))
	// Output:
	// error: hooks: execution_start aborted by access-control: not authorized to start a run
	// running with map[locale:en-US question:who?]
	// output: Ask [EMAIL].
	// running with map[locale:en-US question:data?]
	// alert: hooks: output aborted by sanitiser: sanitiser failed
	// error: hooks: output aborted by sanitiser: sanitiser failed
	// running with map[locale:en-US question:when?]
	// alert: the model is down
	// error: the model is down
}
