package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loophooks/hooks"
)

// toolStats counts what became of the calls of each tool.
type toolStats struct {
	now func() time.Time

	mu     sync.Mutex
	byTool map[string]toolStat // guarded by mu
}

type toolStat struct {
	ran, failed, blocked int
	total                time.Duration // of the calls that ran
}

// startKey is a type of its own, so that no other hook's key is equal to it.
type startKey struct{}

// begin is a hook, since it leaves something with the call.
func (s *toolStats) begin(_ context.Context, call *hooks.ToolCall) error {
	// With the call and not in its input: the tool would get a parameter that
	// it doesn't know, and the next guard would check it.
	call.Put(startKey{}, s.now())
	return nil
}

// end is a watch: a result that some guard withholds counts as blocked, too.
func (s *toolStats) end(_ context.Context, call *hooks.ToolCall, _ error) {
	name := hooks.SanitizeToolName(call.Name)
	if call.Tool == nil {
		name = "unknown" // names that a model makes up must not fill the memory
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stat := s.byTool[name]
	if call.Ran() {
		stat.ran++
		if start, ok := call.Get(startKey{}); ok {
			stat.total += s.now().Sub(start.(time.Time))
		}
	}
	// What the call says of itself, and not what its text looks like: a result
	// about errors is no error.
	switch {
	case call.Blocked != nil:
		stat.blocked++
	case call.Err != nil:
		stat.failed++
	}
	s.byTool[name] = stat
}

func (s *toolStats) print() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.byTool)) {
		stat := s.byTool[name]
		fmt.Printf("%s: %d ran, %d failed, %d blocked, %v on average\n",
			name, stat.ran, stat.failed, stat.blocked, stat.total/time.Duration(max(stat.ran, 1)))
	}
}

// Calls, failures and durations of each tool. The durations hold the time that
// guards take, also that of a person who is asked.
func Example_statistics() {
	clock := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	stats := &toolStats{
		now:    func() time.Time { return clock }, // time.Now in a program
		byTool: make(map[string]toolStat),
	}
	reg := hooks.NewRegistry()
	hooks.On(hooks.PreToolCall, stats.begin, hooks.In(reg))
	hooks.Watch(hooks.PostToolCall, stats.end, hooks.In(reg))
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("read-only mode")
	}, hooks.In(reg), hooks.WithTools("write_file"))

	type tool struct {
		takes time.Duration
		text  string
		err   error
	}
	tools := map[string]*tool{
		"web_search": {takes: 30 * time.Millisecond, text: "How to read an error message"},
		"read_file":  {takes: 2 * time.Millisecond, err: errors.New("no such file")},
		"write_file": {text: "written"},
	}
	ctx := hooks.WithScope(context.Background(), reg)
	for _, name := range []string{"web_search", "read_file", "web_search", "write_file", "make_coffee"} {
		call := &hooks.ToolCall{Name: name}
		if t, ok := tools[name]; ok {
			call.Tool = t
		}
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			t, ok := call.Tool.(*tool)
			if !ok {
				return hooks.ErrNoTool
			}
			clock = clock.Add(t.takes)
			call.Result = t.text
			return t.err
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
	}
	stats.print()
	// Output:
	// read_file: 1 ran, 1 failed, 0 blocked, 2ms on average
	// unknown: 0 ran, 1 failed, 0 blocked, 0s on average
	// web_search: 2 ran, 0 failed, 0 blocked, 30ms on average
	// write_file: 0 ran, 0 failed, 1 blocked, 0s on average
}
