package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loophooks/hooks"
)

// taskInput is what a framework gives to a task.
type taskInput struct {
	Description string
	Context     string // what the tasks before have found
}

// Steps are traced with their durations, failed ones too, and the context that
// a task gets is rewritten.
func Example_steps() {
	clock := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock } // time.Now in a program
	reg := hooks.NewRegistry()

	type started struct{}
	hooks.On(hooks.PreStep, func(_ context.Context, st *hooks.Step) error {
		st.Put(started{}, now())
		return nil
	}, hooks.In(reg), hooks.WithName("trace"))
	hooks.Watch(hooks.PostStep, func(_ context.Context, st *hooks.Step, _ error) {
		outcome := "done"
		if st.Err != nil {
			outcome = "failed: " + st.Err.Error()
		}
		if start, ok := st.Get(started{}); ok {
			outcome += fmt.Sprintf(" after %v", now().Sub(start.(time.Time)))
		}
		fmt.Printf("%s %q %s\n", st.Kind, st.Name, outcome)
	}, hooks.In(reg), hooks.WithName("trace"))

	hooks.On(hooks.PreStep, func(_ context.Context, st *hooks.Step) error {
		in, ok := st.Input.(*taskInput)
		if !ok || st.Kind != hooks.StepTask {
			return nil
		}
		rewritten := *in // the framework may keep its own, for a second attempt
		rewritten.Context = in.Context + " Today is " + now().Format(time.DateOnly) + "."
		st.Input = &rewritten
		return nil
	}, hooks.In(reg), hooks.WithName("date"))

	ctx := hooks.WithScope(context.Background(), reg)
	run := func(st *hooks.Step, takes time.Duration, failure error) {
		err := hooks.RunStep(ctx, st, func(_ context.Context, st *hooks.Step) error {
			if in, ok := st.Input.(*taskInput); ok {
				fmt.Printf("%s Known: %s\n", in.Description, in.Context)
			}
			clock = clock.Add(takes)
			st.Output = "ok"
			return failure
		})
		if err != nil {
			fmt.Println("the run stops:", err)
		}
	}
	run(&hooks.Step{Kind: hooks.StepFlowMethod, Name: "plan"}, time.Millisecond, nil)
	run(&hooks.Step{Kind: hooks.StepTask, Name: "book", Input: &taskInput{
		Description: "Book a train.",
		Context:     "Travels to São João on Friday.",
	}}, 2*time.Second, errors.New("sold out"))
	// Output:
	// flow_method "plan" done after 1ms
	// Book a train. Known: Travels to São João on Friday. Today is 2026-11-30.
	// task "book" failed: sold out after 2s
	// the run stops: sold out
}
