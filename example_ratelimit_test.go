package hooks_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loophooks/hooks"
)

// rateLimit lets each tool be called limit times, at least once, in any span
// of window. Its methods are safe for concurrent use.
type rateLimit struct {
	limit  int
	window time.Duration
	now    func() time.Time

	mu    sync.Mutex
	calls map[string][]time.Time // guarded by mu; limit times a tool at most
}

func (l *rateLimit) check(_ context.Context, call *hooks.ToolCall) error {
	tool := hooks.SanitizeToolName(call.Name) // "Web Search" has no budget of its own
	// One lock from the count to the entry: with two, parallel calls all count
	// before the first of them is entered.
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	recent := slices.DeleteFunc(l.calls[tool], func(t time.Time) bool { return now.Sub(t) >= l.window })
	if len(recent) >= l.limit {
		l.calls[tool] = recent
		return hooks.Abort(fmt.Sprintf("no more than %d calls in %v; try again in %v",
			l.limit, l.window, l.window-now.Sub(recent[0])))
	}
	l.calls[tool] = append(recent, now)
	return nil
}

// A rate limit for each tool, by a sliding window. The hook is a guard, and
// the last one by its priority, so that a call that another guard refuses
// takes nothing from the budget. The filter also keeps names that a model
// makes up from filling the map.
func Example_rateLimit() {
	clock := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	limit := &rateLimit{
		limit: 3, window: time.Minute,
		now:   func() time.Time { return clock }, // time.Now in a program
		calls: make(map[string][]time.Time),
	}
	reg := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, limit.check, hooks.In(reg), hooks.WithPriority(-100),
		hooks.WithName("rate-limit"), hooks.WithTools("web_search", "send_email"))
	ctx := hooks.WithScope(context.Background(), reg)

	// turn makes n parallel calls.
	turn := func(n int, name string) {
		calls := make([]*hooks.ToolCall, n)
		for i := range calls {
			calls[i] = &hooks.ToolCall{Name: name}
		}
		err := hooks.RunTools(ctx, calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "ok"
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		ran, reason := 0, "all"
		for _, call := range calls {
			if call.Ran() {
				ran++
			} else {
				reason = call.Blocked.Reason
			}
		}
		fmt.Printf("%s: %d of %d ran: %s\n", name, ran, n, reason)
	}
	turn(5, "web_search")
	turn(1, "send_email") // has a budget of its own

	clock = clock.Add(time.Minute - time.Nanosecond)
	turn(1, "Web Search")

	clock = clock.Add(time.Nanosecond) // the first calls are a minute old
	turn(4, "web_search")
	// Output:
	// web_search: 3 of 5 ran: no more than 3 calls in 1m0s; try again in 1m0s
	// send_email: 1 of 1 ran: all
	// Web Search: 0 of 1 ran: no more than 3 calls in 1m0s; try again in 1ns
	// web_search: 3 of 4 ran: no more than 3 calls in 1m0s; try again in 1m0s
}
