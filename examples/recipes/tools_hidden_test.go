package recipes_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// searchFirst offers book_ticket only in the runs that have found trains. Its
// methods are safe for concurrent use.
type searchFirst struct {
	found hooks.RunVar[atomic.Bool] // of each execution its own; it goes with the run
}

// done is false outside of executions too.
func (s *searchFirst) done(ctx context.Context) bool {
	found, ok := s.found.Of(ctx)
	return ok && found.Load()
}

// note is a watch of find_trains: what counts is the result that the model will
// read.
func (s *searchFirst) note(ctx context.Context, call *hooks.ToolCall, _ error) {
	if found, ok := s.found.Of(ctx); ok && !call.IsError() {
		found.Store(true)
	}
}

// hide takes the tool out of the list of this turn.
func (s *searchFirst) hide(ctx context.Context, m *hooks.ModelCall) error {
	if !s.done(ctx) {
		m.Tools = slices.DeleteFunc(m.Tools, func(name string) bool { return hooks.MatchTool("book_ticket", name) })
	}
	return nil
}

// refuse is the guard that goes with hide: a model can call a tool that it
// wasn't offered, and most loops run it.
func (s *searchFirst) refuse(ctx context.Context, _ *hooks.ToolCall) error {
	if !s.done(ctx) {
		return hooks.Abort("no trains were looked up; call find_trains first")
	}
	return nil
}

// turn is one round of a loop whose model asks for one tool.
func turn(ctx context.Context, tools []string, asked string) error {
	m := &hooks.ModelCall{Tools: tools}
	err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		fmt.Println("offered:", m.Tools)
		m.ToolCalls = []hooks.ToolRequest{{ID: "1", Name: asked}}
		return nil
	})
	if err != nil {
		return err
	}
	for _, request := range m.ToolCalls {
		call := &hooks.ToolCall{ID: request.ID, Name: request.Name}
		_ = call.SetArguments(request.Arguments) // the model reads what is wrong with them
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = call.Name + " done"
			return nil
		})
		if err != nil {
			return err
		}
		fmt.Println(call.Result)
	}
	return nil
}

// A tool is hidden from the model for a turn, and refused if it is called all
// the same. The next run begins anew.
func Example_toolsHidden() {
	order := new(searchFirst)
	reg := hooks.NewRegistry()
	hooks.On(hooks.PreModelCall, order.hide, hooks.In(reg))
	hooks.Guard(hooks.PreToolCall, order.refuse, hooks.In(reg), hooks.WithTools("book_ticket"))
	hooks.Watch(hooks.PostToolCall, order.note, hooks.In(reg), hooks.WithTools("find_trains"))
	ctx := hooks.WithScope(context.Background(), reg)

	tools := []string{"find_trains", "book_ticket"}
	run := func(asked ...string) {
		err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			for _, name := range asked {
				if err := turn(ctx, tools, name); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
		}
	}
	run("book_ticket", "find_trains", "book_ticket")
	run("book_ticket")
	// Output:
	// offered: [find_trains]
	// Tool execution blocked by hook. Tool: book_ticket. Reason: no trains were looked up; call find_trains first
	// offered: [find_trains]
	// find_trains done
	// offered: [find_trains book_ticket]
	// book_ticket done
	// offered: [find_trains]
	// Tool execution blocked by hook. Tool: book_ticket. Reason: no trains were looked up; call find_trains first
}
