package recipes_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/loophooks/hooks"
)

// searchFirst offers book_ticket only in the runs that have found trains. Its
// methods are safe for concurrent use.
type searchFirst struct {
	mu    sync.Mutex
	found map[string]bool // by run id; guarded by mu
}

func (s *searchFirst) done(runID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found[runID]
}

// note is a post hook of find_trains.
func (s *searchFirst) note(_ context.Context, call *hooks.ToolCall) error {
	if call.IsError() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[call.RunID] = true
	return nil
}

// hide takes the tool out of the list of this turn.
func (s *searchFirst) hide(_ context.Context, m *hooks.ModelCall) error {
	if !s.done(m.RunID) {
		m.Tools = slices.DeleteFunc(slices.Clone(m.Tools), func(name string) bool {
			return hooks.SanitizeToolName(name) == "book_ticket"
		})
	}
	return nil
}

// refuse is the guard that goes with hide: a model can call a tool that it
// wasn't offered, and most loops run it.
func (s *searchFirst) refuse(_ context.Context, call *hooks.ToolCall) error {
	if !s.done(call.RunID) {
		return hooks.Abort("no trains were looked up; call find_trains first")
	}
	return nil
}

// forget ends a run.
func (s *searchFirst) forget(runID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.found, runID)
}

// A tool is hidden from the model for a turn, and refused if it is called all
// the same.
func Example_toolsHidden() {
	order := &searchFirst{found: make(map[string]bool)}
	reg := hooks.NewRegistry()
	hooks.On(hooks.PreModelCall, order.hide, hooks.In(reg))
	hooks.On(hooks.PreToolCall, order.refuse, hooks.In(reg), hooks.AsGuard(), hooks.WithTools("book_ticket"))
	hooks.On(hooks.PostToolCall, order.note, hooks.In(reg), hooks.WithTools("find_trains"))

	ctx := hooks.WithScope(context.Background(), reg)
	ctx = hooks.WithCaller(ctx, hooks.Caller{RunID: "run-1"})
	defer order.forget("run-1")

	tools := []string{"find_trains", "book_ticket"}
	for _, asked := range []string{"book_ticket", "find_trains", "book_ticket"} {
		m := &hooks.ModelCall{Tools: tools}
		err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			fmt.Println("offered:", m.Tools)
			m.ToolCalls = []hooks.ToolRequest{{Name: asked}}
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		for _, request := range m.ToolCalls {
			call := &hooks.ToolCall{Name: request.Name}
			err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
				call.Result = call.Name + " done"
				return nil
			})
			if err != nil {
				fmt.Println("the run stops:", err)
				return
			}
			fmt.Println(call.Result)
		}
	}
	// Output:
	// offered: [find_trains]
	// Tool execution blocked by hook. Tool: book_ticket. Reason: no trains were looked up; call find_trains first
	// offered: [find_trains]
	// find_trains done
	// offered: [find_trains book_ticket]
	// book_ticket done
}
