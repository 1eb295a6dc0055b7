// The tool calls of a turn: which tool runs, how many, and that each call has a
// result in the history however the run ends.

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
)

// counts is the result without its history.
func counts(r agent.Result) agent.Result {
	r.History = nil
	return r
}

// counted is echo with a count of its runs.
func counted(name string) (agent.Tool, *atomic.Int32) {
	ran, tool := new(atomic.Int32), echo(name)
	run := tool.Run
	tool.Run = func(ctx context.Context, in map[string]any) (string, error) {
		ran.Add(1)
		return run(ctx, in)
	}
	return tool, ran
}

func TestToolCall_madeOfAnotherTool(t *testing.T) {
	t.Parallel()
	read, reads := counted("read")
	remove, removals := counted("remove")
	var other any // the tool of a call of remove
	tests := map[string]func(*hooks.ToolCall){
		"another name":        func(c *hooks.ToolCall) { c.Name = "remove" },
		"an unknown name":     func(c *hooks.ToolCall) { c.Name = "nothing" },
		"no name":             func(c *hooks.ToolCall) { c.Name = "" },
		"another spelling":    func(c *hooks.ToolCall) { c.Name = "Read" },
		"another tool":        func(c *hooks.ToolCall) { c.Tool = other },
		"another one, wholly": func(c *hooks.ToolCall) { c.Name, c.Tool = "remove", other },
		"no tool":             func(c *hooks.ToolCall) { c.Tool = nil },
	}
	c, _ := play(t, asks("1 remove {}"), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		other = call.Tool
		return hooks.Abort("only looking")
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{read, remove}}).Run(ctx, "go")
	require.NoError(t, err)
	require.NotNil(t, other)

	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			c, m := play(t, asks("1 read {}"), says("done"))
			r, ctx := scope(t)
			hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
				change(call)
				return nil
			}, hooks.In(r))
			_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{read, remove}}).Run(ctx, "go")
			require.NoError(t, err)
			assert.Zero(t, reads.Load())
			assert.Zero(t, removals.Load())
			assert.Equal(t, "tool: Error: the call of read isn't made: a hook made it a call of another tool", m.lines(1)[2])
		})
	}
}

func TestToolCall_hiddenOneGivenItsTool(t *testing.T) {
	t.Parallel()
	hidden, ran := counted("hidden")
	shown, _ := counted("shown")
	c, m := play(t, asks("1 hidden {}"), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.Tools = []string{"shown"}
		return nil
	}, hooks.In(r))
	hooks.On(hooks.PostModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.Tools = []string{"hidden", "shown"} // too late: the model was offered one
		return nil
	}, hooks.In(r))
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Tool = &hidden
		return nil
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{hidden, shown}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Zero(t, ran.Load())
	assert.Equal(t, `tool: Error: there is no tool "hidden"; the tools are: shown`, m.lines(1)[2])
}

func TestToolCall_idIsTheModels(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks("1 a {}", "2 a {}"), says("done"))
	r, ctx := scope(t)
	edited := 0
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		edited++
		call.ID = "edited"
		return nil
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Parallel: 1, Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, 2, edited)
	assert.Equal(t, "1", m.requests[1].Messages[2].ToolCallID)
	assert.Equal(t, "2", m.requests[1].Messages[3].ToolCallID)
}

func TestToolCall_idsAreNeverTheSame(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks("call_1_3 a {}", " a {}", " a {}", "call_1_2 a {}", " a {}", "call_1_5 a {}"), says("done"))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(t.Context(), "go")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, msg := range m.requests[1].Messages[2:] {
		assert.False(t, seen[msg.ToolCallID], msg.ToolCallID)
		seen[msg.ToolCallID] = true
	}
	assert.Len(t, seen, 6)
}

func TestTools_offeredOnce(t *testing.T) {
	t.Parallel()
	c, m := play(t, says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.Tools = []string{"b", "a", "b", "a"}
		return nil
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a"), echo("b")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "a"}, m.offered(0))
}

func TestMaxCalls(t *testing.T) {
	t.Parallel()
	tests := []struct{ limit, asked, want int }{
		{0, 32, 32}, {0, 33, 32}, {0, 5000, 32}, {-1, 33, 32}, {2, 2, 2}, {2, 3, 2}, {40, 39, 39},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Parallel()
			var calls []string
			for i := range tt.asked {
				calls = append(calls, fmt.Sprintf("%d a {}", i))
			}
			tool, ran := counted("a")
			c, m := play(t, asks(calls...), says("done"))
			r, ctx := scope(t)
			var hooked atomic.Int32
			hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { hooked.Add(1); return nil }, hooks.In(r))
			told, skipped := 0, 0
			got, err := (&agent.Agent{Model: c, MaxCalls: tt.limit, Tools: []agent.Tool{tool}, Listener: agent.Listener{
				ToolReturned: func(int, *hooks.ToolCall) { told++ },
				CallsSkipped: func(_, calls int) { skipped += calls },
			}}).Run(ctx, "go")
			require.NoError(t, err)
			assert.Equal(t, agent.Result{Answer: "done", Turns: 2, ToolCalls: tt.want, Skipped: tt.asked - tt.want}, counts(got))
			assert.EqualValues(t, tt.want, ran.Load())
			assert.EqualValues(t, tt.want, hooked.Load())
			assert.Equal(t, tt.want, told)
			assert.Equal(t, tt.asked-tt.want, skipped)
			requireNoHole(t, got.History, tt.asked)
			require.Len(t, m.requests[1].Messages, 2+tt.asked)
			if tt.asked > tt.want {
				assert.Equal(t, fmt.Sprintf("tool: Error: Tool was not run: no more than %d calls are made in one turn", tt.want), m.lines(1)[1+tt.asked])
			}
		})
	}
}

// requireNoHole sees to it that the history has so many results of tool calls,
// each behind its call, in order and with a text.
func requireNoHole(t *testing.T, history []hooks.Message, results int) {
	t.Helper()
	var open []string
	got := 0
	for _, m := range history {
		switch m.Role {
		case "tool":
			require.NotEmpty(t, open, "a result of nothing")
			require.Equal(t, open[0], m.ToolCallID)
			require.NotEmpty(t, m.Text())
			open = open[1:]
			got++
		default:
			require.Empty(t, open, "calls without results")
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		}
	}
	require.Empty(t, open, "calls without results")
	require.Equal(t, results, got)
}

func TestHistory_hasNoHole(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	stop := &hooks.HookAborted{Reason: "enough", StopRun: true, Err: enough}
	pre := func(err error) func(*hooks.Registry, context.CancelFunc) {
		return func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
				if call.ID == "2" {
					return err
				}
				return nil
			}, hooks.In(r))
		}
	}
	tests := map[string]struct {
		second   func(context.CancelFunc) error // what the tool of the second call does
		register func(*hooks.Registry, context.CancelFunc)
		want     error
	}{
		"a hook stops the run":       {register: pre(stop), want: enough},
		"a hook refuses":             {register: pre(hooks.Abort("no"))},
		"a tool fails":               {second: func(context.CancelFunc) error { return errors.New("sold out") }},
		"a tool fails without words": {second: func(context.CancelFunc) error { return errors.New("") }},
		"a tool panics":              {second: func(context.CancelFunc) error { panic("no") }},
		"a tool exits":               {second: func(context.CancelFunc) error { runtime.Goexit(); return nil }, want: hooks.ErrGoexit},
		"a tool cancels":             {second: func(cancel context.CancelFunc) error { cancel(); return nil }, want: context.Canceled},
		"a tool's run was stopped":   {second: func(context.CancelFunc) error { return stop }, want: enough},
		"a hook cancels": {want: context.Canceled, register: func(r *hooks.Registry, cancel context.CancelFunc) {
			hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { cancel(); return nil }, hooks.In(r))
		}},
		"cancelled before the calls": {want: context.Canceled, register: func(r *hooks.Registry, cancel context.CancelFunc) {
			hooks.On(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { cancel(); return nil }, hooks.In(r))
		}},
		"the turn is refused behind them": {want: enough, register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.On(hooks.PostStep, func(context.Context, *hooks.Step) error { return stop }, hooks.In(r))
		}},
		"results are withheld": {register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") }, hooks.In(r))
		}},
	}
	for name, tt := range tests {
		for _, parallel := range []int{0, 1} {
			t.Run(fmt.Sprint(name, parallel), func(t *testing.T) {
				t.Parallel()
				c, _ := play(t, asks(`1 a {"x":"1"}`, `2 a {"x":"2"}`, `3 a {"x":"3"}`, `4 a {"x":"4"}`), says("done"))
				r, ctx := scope(t)
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				tool := agent.Tool{Name: "a", Run: func(_ context.Context, in map[string]any) (string, error) {
					if in["x"] == "2" && tt.second != nil {
						if err := tt.second(cancel); err != nil {
							return "", err
						}
					}
					return "fine", nil
				}}
				if tt.register != nil {
					tt.register(r, cancel)
				}
				got, err := (&agent.Agent{Model: c, Tools: []agent.Tool{tool}, Parallel: parallel, MaxCalls: 3}).Run(ctx, "go")
				require.ErrorIs(t, err, tt.want)
				requireNoHole(t, got.History, 4)
			})
		}
	}
}

func TestHistory_isTheLoopsOwn(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks(`1 a {"x":"one"}`), says("done"))
	r, ctx := scope(t)
	scribbled := 0
	hooks.On(hooks.PostStep, func(_ context.Context, s *hooks.Step) error {
		turn := s.Input.(*hooks.Turn)
		for i := range turn.Messages {
			turn.Messages[i].Content = "scribbled"
		}
		for i := range turn.Reply.ToolCalls {
			scribbled++
			turn.Reply.ToolCalls[i] = hooks.ToolRequest{ID: "scribbled"}
		}
		return nil
	}, hooks.In(r))
	got, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, 1, scribbled)
	assert.Equal(t, []string{"user: go", `assistant: [1 a{"x":"one"}]`, "tool: a one"}, m.lines(1))
	assert.False(t, slices.ContainsFunc(got.History, func(m hooks.Message) bool { return m.Content == "scribbled" }))
}
