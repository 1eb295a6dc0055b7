package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
)

func TestAgent_pointsInOrder(t *testing.T) {
	t.Parallel()
	c, _ := play(t, asks("1 a {}"), says("done"))
	r, ctx := scope(t)
	var fired []string
	runs := map[string]bool{}
	note := func(point hooks.AnyPoint, caller hooks.Caller) error {
		fired = append(fired, string(point.Name()))
		runs[caller.AgentRole+caller.RunID] = true
		return nil
	}
	for _, p := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd} {
		hooks.On(p, func(_ context.Context, x *hooks.Execution) error { return note(p, x.Caller) }, hooks.In(r))
	}
	for _, p := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		hooks.On(p, func(_ context.Context, s *hooks.Step) error { return note(p, s.Caller) }, hooks.In(r))
	}
	for _, p := range []hooks.Point[hooks.ModelCall]{hooks.PreModelCall, hooks.PostModelCall} {
		hooks.On(p, func(_ context.Context, m *hooks.ModelCall) error { return note(p, m.Caller) }, hooks.In(r))
	}
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		hooks.On(p, func(_ context.Context, t *hooks.ToolCall) error { return note(p, t.Caller) }, hooks.In(r))
	}
	_, err := (&agent.Agent{Model: c, Role: "tester", Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, "execution_start input "+
		"pre_step pre_model_call post_model_call pre_tool_call post_tool_call post_step "+
		"pre_step pre_model_call post_model_call post_step "+
		"output execution_end", strings.Join(fired, " "))
	assert.Len(t, runs, 1, "every call says whose it is")
}

func TestAgent_inputAndOutputEdits(t *testing.T) {
	t.Parallel()
	c, m := play(t, says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error {
		x.Inputs[agent.InputPrompt] = "go further"
		return nil
	}, hooks.In(r))
	hooks.On(hooks.PostStep, func(_ context.Context, s *hooks.Step) error {
		s.Output = s.Output.(string) + ", checked"
		return nil
	}, hooks.In(r))
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		x.Output = x.Output.(string) + ", signed"
		return nil
	}, hooks.In(r))
	got, err := (&agent.Agent{Model: c}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"user: go further"}, m.lines(0))
	assert.Equal(t, "done, checked, signed", got.Answer)
}

func TestAgent_payloadsOfWrongType(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*hooks.Registry){
		`the input "prompt" is int, not text`: func(r *hooks.Registry) {
			hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error { x.Inputs[agent.InputPrompt] = 7; return nil }, hooks.In(r))
		},
		"the input of turn 1 is string, not *hooks.Turn": func(r *hooks.Registry) {
			hooks.On(hooks.PreStep, func(_ context.Context, s *hooks.Step) error { s.Input = "x"; return nil }, hooks.In(r))
		},
		"the output of turn 1 is <nil>, not text": func(r *hooks.Registry) {
			hooks.On(hooks.PostStep, func(_ context.Context, s *hooks.Step) error { s.Output = nil; return nil }, hooks.In(r))
		},
		"the output is int, not text": func(r *hooks.Registry) {
			hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error { x.Output = 7; return nil }, hooks.In(r))
		},
		`a hook offers the tool "nope", which there isn't`: func(r *hooks.Registry) {
			hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.Tools = []string{"nope"}; return nil }, hooks.In(r))
		},
		`a message of role "user" has a part of kind "image"`: func(r *hooks.Registry) {
			hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
				m.Messages[0].Parts = []hooks.Part{{Kind: "image"}}
				return nil
			}, hooks.In(r))
		},
	}
	for want, register := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c, _ := play(t, says("done"))
			r, ctx := scope(t)
			register(r)
			_, err := (&agent.Agent{Model: c}).Run(ctx, "go")
			require.ErrorContains(t, err, want)
		})
	}
}

func TestHistory_trimmedStaysTrimmed(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks("1 a {}"), asks("2 a {}"), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreStep, func(_ context.Context, s *hooks.Step) error {
		if turn := s.Input.(*hooks.Turn); turn.Number == 2 {
			turn.Messages = []hooks.Message{{Role: "user", Content: "in short: go"}}
		}
		return nil
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"user: in short: go"}, m.lines(1))
	assert.Equal(t, []string{"user: in short: go", "assistant: [2 a{}]", "tool: a "}, m.lines(2))
}

func TestMessages_editsAreForOneCall(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks("1 a {}"), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.Messages[0].Content += "!"
		call.Messages = append(call.Messages, hooks.Message{Role: "user", Parts: []hooks.Part{{Kind: "text", Text: "by "}, {Kind: "text", Text: "the way"}}})
		return nil
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"user: go!", "user: by the way"}, m.lines(0))
	assert.Equal(t, []string{"user: go!", "assistant: [1 a{}]", "tool: a ", "user: by the way"}, m.lines(1))
}

func TestModelCall_iterations(t *testing.T) {
	t.Parallel()
	c, _ := play(t, asks("1 a {}"), says("done"))
	r, ctx := scope(t)
	var before []int
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		before = append(before, call.Iterations)
		return nil
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1}, before)
}

func TestTools_hiddenCannotBeRun(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks("1 hidden {}", "2 a {}"), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.Tools = []string{"a"}
		return nil
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a"), echo("hidden")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, m.offered(0))
	assert.Equal(t, []string{`tool: Error: there is no tool "hidden"; the tools are: a`, "tool: a "}, m.lines(1)[2:])
}

func TestToolCalls_asPostHooksLeftThem(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks("1 a {}", "2 b {}"), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PostModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		if len(call.ToolCalls) > 0 {
			call.Response = "one is enough"
			call.ToolCalls = []hooks.ToolRequest{{ID: "9", Name: "b", Arguments: `{"x":"edited"}`}}
		}
		return nil
	}, hooks.In(r))
	got, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a"), echo("b")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, 1, got.ToolCalls)
	assert.Equal(t, []string{`assistant: one is enough [9 b{"x":"edited"}]`, "tool: b edited"}, m.lines(1)[1:])
}

func TestToolCall_editsAreObeyed(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks(`1 a {"x":"plain"}`), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Input = map[string]any{"x": "replaced"}
		return nil
	}, hooks.In(r))
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = strings.ToUpper(call.Result)
		call.Parts = []hooks.Part{{Kind: "text", Text: ", said the tool"}}
		return nil
	}, hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, "tool: A REPLACED, said the tool", m.lines(1)[2])
}

func TestToolCall_refusedOrAnswered(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	tool := func(name string) agent.Tool {
		return agent.Tool{Name: name, Run: func(context.Context, map[string]any) (string, error) { ran.Add(1); return "ran", nil }}
	}
	c, m := play(t, asks("1 refused {}", "2 cached {}", "3 runs {}"), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("ask first") }, hooks.In(r), hooks.WithTools("refused"))
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error { call.Answer("from memory"); return nil }, hooks.In(r), hooks.WithTools("cached"))
	got, err := (&agent.Agent{Model: c, Tools: []agent.Tool{tool("refused"), tool("cached"), tool("runs")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.EqualValues(t, 1, ran.Load())
	assert.Equal(t, agent.Result{Answer: "done", Turns: 2, ToolCalls: 3, Blocked: 1}, counts(got))
	assert.Equal(t, []string{"tool: Error: Tool execution blocked by hook. Tool: refused. Reason: ask first", "tool: from memory", "tool: ran"}, m.lines(1)[2:])
}

func TestStopRun_resultForEveryCall(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks("1 a {}", "2 a {}", "3 a {}"), says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return &hooks.HookAborted{Reason: "enough", Source: "brake", StopRun: true}
	}, hooks.In(r))
	var results []string
	a := &agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}, Parallel: 1, Listener: agent.Listener{
		ToolReturned: func(_ int, call *hooks.ToolCall) { results = append(results, call.Result) },
	}}
	_, err := a.Run(ctx, "go")
	var abort *hooks.HookAborted
	require.ErrorAs(t, err, &abort)
	assert.Equal(t, "brake", abort.Source)
	assert.Len(t, m.requests, 1)
	assert.Len(t, results, 3)
	assert.NotContains(t, results, "")
}

func TestAgent_abortsEndTheRun(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	abort := &hooks.HookAborted{Reason: "not today", Err: no}
	tests := map[string]func(hooks.Option){
		"pre_step": func(o hooks.Option) {
			hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return abort }, o)
		},
		"pre_model_call": func(o hooks.Option) {
			hooks.On(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return abort }, o)
		},
		"post_model_call": func(o hooks.Option) {
			hooks.On(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { return abort }, o)
		},
		"output": func(o hooks.Option) {
			hooks.On(hooks.Output, func(context.Context, *hooks.Execution) error { return abort }, o)
		},
	}
	for point, register := range tests {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			c, _ := play(t, says("done"))
			r, ctx := scope(t)
			register(hooks.In(r))
			got, err := (&agent.Agent{Model: c}).Run(ctx, "go")
			var found *hooks.HookAborted
			require.ErrorAs(t, err, &found)
			assert.Equal(t, hooks.InterceptionPoint(point), found.Point)
			require.ErrorIs(t, err, no)
			assert.Empty(t, got.Answer)
		})
	}
}

func TestModelCall_answered(t *testing.T) {
	t.Parallel()
	c, m := play(t, says("done"))
	r, ctx := scope(t)
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.Answer("known already")
		return nil
	}, hooks.In(r))
	got, err := (&agent.Agent{Model: c}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, "known already", got.Answer)
	assert.Empty(t, m.requests)
}
