package recipes_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
)

// errBusy is what a search returns that is worth trying again.
var errBusy = errors.New("the search is busy")

// A retry around a tool. Guards have passed the call before, and aren't asked
// again about the same input; the post point fires once, with what came of it in
// the end. What ends a run (an abort, an interrupt) isn't tried again: next then
// runs nothing more.
func Example_retry() {
	reg := hooks.NewRegistry()
	hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
		err := next(ctx)
		for attempt := 2; attempt <= 3 && errors.Is(err, errBusy); attempt++ {
			fmt.Printf("attempt %d\n", attempt) // a program waits here, until ctx is done at the latest
			err = next(ctx)
		}
		return err
	}, hooks.In(reg), hooks.WithName("retry"), hooks.WithPriority(500), hooks.WithTools("search"))
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall, _ error) {
		fmt.Printf("%s: %q, error %v\n", call.Name, call.Result, call.Err)
	}, hooks.In(reg))

	run := func(failures int) {
		call := &hooks.ToolCall{Name: "search", Input: map[string]any{"q": "trains"}}
		err := hooks.RunTool(hooks.WithScope(context.Background(), reg), call, func(_ context.Context, call *hooks.ToolCall) error {
			if failures--; failures >= 0 {
				return errBusy
			}
			call.Result = fmt.Sprint("found ", call.Input["q"])
			return nil
		})
		if err != nil {
			fmt.Println("the run ends:", err)
		}
	}
	run(0)
	run(2)
	run(9)
	// Output:
	// search: "found trains", error <nil>
	// attempt 2
	// attempt 3
	// search: "found trains", error <nil>
	// attempt 2
	// attempt 3
	// search: "the search is busy", error the search is busy
}
