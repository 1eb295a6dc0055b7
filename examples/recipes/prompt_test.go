package recipes_test

import (
	"context"
	"fmt"
	"time"

	"github.com/loophooks/hooks"
)

// A prompt that changes with the iteration and with the day. The messages are
// for this one call: RunModel gives the hooks a copy of the loop's list, and
// the loop goes on with its own.
func Example_adaptivePrompt() {
	now := func() time.Time { return time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC) } // time.Now in a program
	reg := hooks.NewRegistry()
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		hint := "Today is " + now().Format(time.DateOnly) + "."
		switch {
		case m.Iterations == 0:
			hint += " Begin with an overview."
		case m.Iterations >= 2:
			hint += " Come to an end."
		}
		m.Messages = append(m.Messages, hooks.Message{Role: "system", Content: hint})
		return nil
	}, hooks.In(reg))

	ctx := hooks.WithScope(context.Background(), reg)
	history := []hooks.Message{{Role: "user", Content: "Compare the trains to Oslo."}}
	for i := range 3 {
		m := &hooks.ModelCall{Iterations: i, Messages: history}
		err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			last := m.Messages[len(m.Messages)-1]
			fmt.Printf("%d messages, the last: %s\n", len(m.Messages), last.Text())
			m.Response = "…"
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		history = append(history, hooks.Message{Role: "assistant", Content: m.Response})
	}
	// Output:
	// 2 messages, the last: Today is 2026-11-30. Begin with an overview.
	// 3 messages, the last: Today is 2026-11-30.
	// 4 messages, the last: Today is 2026-11-30. Come to an end.
}
