package hooksopenai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
)

// call is a call of a function.
func call(id, name, arguments string) fake.Call {
	return fake.Call{ID: id, Name: name, Arguments: arguments}
}

// lines returns the messages of a request as "role: text".
func lines(req *fake.Request) []string {
	var lines []string
	for _, m := range req.Messages {
		line := m.Role + ": " + m.Content
		for _, c := range m.Calls {
			line += "[" + c.ID + " " + c.Name + " " + c.Arguments + "]"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRun_conversation(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), shown func() string) {
		s := serve(t, fake.Script(func(w *fake.Writer) {
			w.Text("let me see. ")
			w.Call(0, call("1", "beta", `{"x":1}`))
			w.Call(1, call("2", "alpha", ""))
		}, fake.Says("it's ", "noon"), fake.Says("bye")))
		l := &hooksopenai.Loop{
			Client: s.Client(), Model: "m", System: "be brief", Tools: []hooksopenai.Tool{says("beta", "b"), says("alpha", "a")}, OnText: onText,
			Params: openai.ChatCompletionNewParams{Temperature: openai.Float(0.1)},
		}
		st := new(hooksopenai.State)
		text, err := l.Run(t.Context(), st, "time?")
		require.NoError(t, err)
		assert.Equal(t, "it's noon", text)
		reqs := s.Requests()
		assert.Equal(t, []string{"system: be brief", "user: time?"}, lines(reqs[0]))
		assert.Equal(t, []string{"beta", "alpha"}, reqs[0].Tools)
		assert.Equal(t, "0.1", string(reqs[0].Raw["temperature"]))
		assert.Equal(t, []string{
			"system: be brief", "user: time?", `assistant: let me see. [1 beta {"x":1}][2 alpha {}]`, "tool: b", "tool: a",
		}, lines(reqs[1]))

		text, err = l.Run(t.Context(), st, "thanks")
		require.NoError(t, err)
		assert.Equal(t, "bye", text)
		assert.Equal(t, []string{"assistant: it's noon", "user: thanks"}, lines(s.Requests()[2])[5:])
		if onText != nil {
			assert.Equal(t, "let me see. it's noonbye", shown())
		}
	})
}

func TestRun_toolsThatFail(t *testing.T) {
	t.Parallel()
	tools := []hooksopenai.Tool{
		tool("fails", func(context.Context, *hooks.ToolCall) (string, error) { return "", errors.New("sold out") }),
		tool("explains", func(context.Context, *hooks.ToolCall) (string, error) { return "try later", errors.New("internal") }),
		tool("panics", func(context.Context, *hooks.ToolCall) (string, error) { panic("secret") }),
	}
	for c, want := range map[string]string{
		`nope {}`:             "Error: There is no tool nope.",
		`fails {}`:            "Error: sold out",
		`explains {}`:         "Error: try later",
		`panics {}`:           "Error: Tool panics panicked",
		`fails {no`:           "Error: Tool was not run: arguments must be one JSON object",
		`fails {"a":1,"a":2}`: "Error: Tool was not run: arguments must be one JSON object",
	} {
		name, arguments, _ := strings.Cut(c, " ")
		s := serve(t, fake.Script(fake.Asks(call("1", name, arguments)), fake.Says("done")))
		text, err := (&hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: tools}).Run(t.Context(), new(hooksopenai.State), "go")
		require.NoError(t, err, c)
		assert.Equal(t, "done", text)
		got := s.Requests()[1].Last()
		assert.True(t, strings.HasPrefix(got, want), "%s: %s", c, got)
		assert.NotContains(t, got, "secret")
	}
}

func TestRun_unknownTool(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Asks(call("1", "nope", "{}")), fake.Says("done")))
	r, ctx := scope(t)
	fired := 0
	see := func(_ context.Context, c *hooks.ToolCall) error {
		fired++
		assert.Nil(t, c.Tool)
		assert.False(t, c.Ran())
		return nil
	}
	hooks.On(hooks.PreToolCall, see, hooks.In(r))
	hooks.On(hooks.PostToolCall, see, hooks.In(r))
	_, err := (&hooksopenai.Loop{Client: s.Client(), Model: "m"}).Run(ctx, new(hooksopenai.State), "go")
	require.NoError(t, err)
	assert.Equal(t, 2, fired)
}

// A tool that hooks hide is not offered, and can't be run.
func TestRun_hiddenTool(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Asks(call("1", "alpha", "{}"), call("2", "beta", "{}")), fake.Says("done")))
	r, ctx := scope(t)
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.Tools = []string{"beta"}
		return nil
	}, hooks.In(r))
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{
		tool("alpha", func(context.Context, *hooks.ToolCall) (string, error) { t.Error("it ran"); return "", nil }), says("beta", "b"),
	}}
	_, err := l.Run(ctx, new(hooksopenai.State), "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"beta"}, s.Requests()[0].Tools)
	assert.Equal(t, []string{"tool: Error: There is no tool alpha.", "tool: b"}, lines(s.Requests()[1])[2:])
}

func TestRun_renamedCall(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Asks(call("1", "alpha", "{}")), fake.Says("done")))
	r, ctx := scope(t)
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Name = "beta"; return nil }, hooks.In(r))
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{says("alpha", "a"), says("beta", "b")}}
	_, err := l.Run(ctx, new(hooksopenai.State), "go")
	require.NoError(t, err)
	assert.Equal(t, "b", s.Requests()[1].Last())
}

func TestRun_customTool(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), _ func() string) {
		s := serve(t, fake.Script(fake.Asks(fake.Call{ID: "1", Name: "shell", Arguments: "echo `date`", Custom: true}), fake.Says("done")))
		r, ctx := scope(t)
		hooks.Guard(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
			text, err := c.StringArg("input")
			assert.Equal(t, "echo `date`", text)
			return err
		}, hooks.In(r))
		l := &hooksopenai.Loop{Client: s.Client(), Model: "m", OnText: onText, Tools: []hooksopenai.Tool{{
			Name: "shell", Description: "runs a line", Custom: true,
			Run: func(_ context.Context, c *hooks.ToolCall) error {
				c.Result = "ran " + c.Input["input"].(string)
				return nil
			},
		}}}
		st := new(hooksopenai.State)
		_, err := l.Run(ctx, st, "go")
		require.NoError(t, err)
		assert.JSONEq(t, `[{"type":"custom","custom":{"name":"shell","description":"runs a line"}}]`, string(s.Requests()[0].Raw["tools"]))
		req := s.Requests()[1]
		assert.Equal(t, "ran echo `date`", req.Last())
		assert.True(t, req.Messages[1].Calls[0].Custom)
		assert.Equal(t, "echo `date`", req.Messages[1].Calls[0].Arguments)

		raw, err := json.Marshal(st)
		require.NoError(t, err)
		again := new(hooksopenai.State)
		require.NoError(t, json.Unmarshal(raw, again))
		assert.JSONEq(t, wire(t, st.Messages[1]), wire(t, again.Messages[1]), "it stays one in a State that was saved")
		assert.Equal(t, `{"input":"echo `+"`date`"+`"}`, hooksopenai.Message(again.Messages[1]).ToolCalls[0].Arguments)
	})
}

func TestRun_partsOfResults(t *testing.T) {
	t.Parallel()
	structured := hooks.Part{Kind: "structured", Text: `{"pin":"1234"}`}
	for name, tc := range map[string]struct {
		result string
		parts  []hooks.Part
		edit   func(*hooks.ToolCall)
		want   string
	}{
		"text in parts is the result": {"a", []hooks.Part{{Kind: "text", Text: "b"}}, func(c *hooks.ToolCall) { c.Result = strings.ToUpper(c.Result) }, "AB"},
		"structured beside text":      {"pin 1234", []hooks.Part{structured}, nil, "pin 1234"},
		"structured alone":            {"", []hooks.Part{structured}, nil, `{"pin":"1234"}`},
		"text edited":                 {"pin 1234", []hooks.Part{structured}, func(c *hooks.ToolCall) { c.Result = "pin ***" }, "pin ***"},
		"text taken out":              {"pin 1234", []hooks.Part{structured}, func(c *hooks.ToolCall) { c.Result = "" }, ""},
		"structured edited":           {"", []hooks.Part{structured}, func(c *hooks.ToolCall) { c.EditText(func(string) string { return "{}" }) }, "{}"},
		"image":                       {"see", []hooks.Part{{Kind: "image"}}, nil, "see\n(Something of the kind image is left out here.)"},
		"failure recovered":           {"", nil, func(c *hooks.ToolCall) { c.Err, c.Result = nil, "later" }, "later"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := serve(t, fake.Script(fake.Asks(call("1", "alpha", "{}")), fake.Says("done")))
			r, ctx := scope(t)
			if tc.edit != nil {
				hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { tc.edit(c); return nil }, hooks.In(r))
			}
			l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{{Name: "alpha", Run: func(_ context.Context, c *hooks.ToolCall) error {
				c.Result, c.Parts = tc.result, tc.parts
				if tc.result == "" && tc.parts == nil {
					return errors.New("down")
				}
				return nil
			}}}}
			_, err := l.Run(ctx, new(hooksopenai.State), "go")
			require.NoError(t, err)
			assert.Equal(t, tc.want, s.Requests()[1].Last())
		})
	}
}

func TestRun_retryOfTool(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Asks(call("1", "alpha", `{"n":1}`)), fake.Says("done")))
	r, ctx := scope(t)
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next func(context.Context) error) error {
		_ = next(ctx)
		c.Input = map[string]any{"n": 2.0}
		return next(ctx)
	}, hooks.In(r))
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{
		tool("alpha", func(_ context.Context, c *hooks.ToolCall) (string, error) {
			n, err := c.NumberArg("n")
			if n == 1 {
				return "", errors.New("busy")
			}
			return "two", err
		}),
	}}
	_, err := l.Run(ctx, new(hooksopenai.State), "go")
	require.NoError(t, err)
	assert.Equal(t, "two", s.Requests()[1].Last())
}

// What ends a run leaves a conversation that can be gone on with.
func TestRun_stopAndCancel(t *testing.T) {
	t.Parallel()
	r, ctx := scope(t)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		switch c.Name {
		case "stop":
			return hooks.AbortRun("enough")
		case "cancel":
			cancel()
		}
		return nil
	}, hooks.In(r))
	for _, name := range []string{"stop", "cancel"} {
		s := serve(t, fake.Script(fake.Asks(call("1", "alpha", "{}"), call("2", name, "{}"), call("3", "alpha", "{}")), fake.Says("done")))
		l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Parallel: 1, Tools: []hooksopenai.Tool{says("alpha", "a"), says("stop", ""), says("cancel", "")}}
		st := new(hooksopenai.State)
		_, err := l.Run(ctx, st, "go")
		if name == "stop" {
			abort, ok := errors.AsType[*hooks.HookAborted](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, "enough", abort.PublicText())
		} else {
			assert.ErrorIs(t, err, context.Canceled)
		}
		assert.Len(t, s.Requests(), 1)
		assert.False(t, st.Waiting)
		_, err = l.Run(t.Context(), st, "go on")
		require.NoError(t, err)
		got := lines(s.Requests()[1])
		require.Len(t, got, 6, "each call has a result")
		assert.Equal(t, "tool: a", got[2])
		assert.Contains(t, got[3], "tool: Error: ")
		assert.Contains(t, got[4], "tool: Error: ")
	}
}

func TestRun_turnLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Asks(call("1", "alpha", "{}"))))
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m", MaxTurns: 3, Tools: []hooksopenai.Tool{says("alpha", "a")}}
	_, err := l.Run(t.Context(), new(hooksopenai.State), "go")
	limit, ok := errors.AsType[*hooksopenai.TurnLimitError](err)
	require.True(t, ok)
	assert.Equal(t, 3, limit.Turns)
	assert.Len(t, s.Requests(), 3)

	l.MaxTurns = 0
	_, err = l.Run(t.Context(), new(hooksopenai.State), "go")
	assert.ErrorContains(t, err, "no answer after 20 turns")
}

func TestRun_eightToolsAtATime(t *testing.T) {
	t.Parallel()
	var calls []fake.Call
	for i := range 8 {
		calls = append(calls, call(string(rune('a'+i)), "meet", "{}"))
	}
	s := serve(t, fake.Script(fake.Asks(calls...), fake.Says("done")))
	arrived, all := make(chan struct{}, 8), make(chan struct{})
	go func() {
		for range 8 {
			<-arrived
		}
		close(all)
	}()
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{
		tool("meet", func(ctx context.Context, _ *hooks.ToolCall) (string, error) {
			arrived <- struct{}{}
			select {
			case <-all:
				return "met", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}),
	}}
	_, err := l.Run(t.Context(), new(hooksopenai.State), "go")
	require.NoError(t, err)
	assert.Equal(t, "met", s.Requests()[1].Last())
}

// While a hook has yet to decide on the answer nobody is shown it, nor what filters
// would have taken out of it.
func TestRun_guardedOutput(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(func(w *fake.Writer) {
		w.Text("let me see. ")
		w.Call(0, call("1", "alpha", "{}"))
	}, fake.Says("the answer")))
	r, ctx := scope(t)
	shown := ""
	hooks.Guard(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		assert.Equal(t, "let me see. ", shown)
		x.Output = "another answer"
		return nil
	}, hooks.In(r))
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{says("alpha", "a")}, OnText: func(text string) { shown += text }}
	text, err := l.Run(ctx, new(hooksopenai.State), "go")
	require.NoError(t, err)
	assert.Equal(t, "another answer", text)
	assert.Equal(t, "let me see. another answer", shown)
}

func TestRun_historyOfStepHooks(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Asks(call("1", "alpha", "{}")), fake.Says("done")))
	r, ctx := scope(t)
	hooks.On(hooks.PreStep, func(_ context.Context, step *hooks.Step) error {
		turn := step.Input.(*hooks.Turn)
		for i := range turn.Messages {
			turn.Messages[i].EditText(func(s string) string { return strings.ReplaceAll(s, "secret", "***") })
		}
		return nil
	}, hooks.In(r))
	st := new(hooksopenai.State)
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{says("alpha", "a secret")}}
	_, err := l.Run(ctx, st, "the secret")
	require.NoError(t, err)
	raw, err := json.Marshal(st)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "secret", "it is gone for good")
}

func TestRun_executionAndStepRunAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(func(w *fake.Writer) { w.Fail(http.StatusBadRequest, "down") },
		fake.Asks(call("1", "alpha", "{}")), func(w *fake.Writer) { w.Fail(http.StatusBadRequest, "down") }, fake.Asks(call("1", "alpha", "{}")), fake.Says("done")))
	r, ctx := scope(t)
	hooks.Around(hooks.ExecutionBody, func(ctx context.Context, _ *hooks.Execution, next func(context.Context) error) error {
		if err := next(ctx); err == nil {
			return nil
		}
		return next(ctx)
	}, hooks.In(r))
	hooks.Around(hooks.StepBody, func(ctx context.Context, step *hooks.Step, next func(context.Context) error) error {
		err := next(ctx)
		if err != nil && step.Name == "turn 2" {
			err = next(ctx)
		}
		return err
	}, hooks.In(r))
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{says("alpha", "a")}, MaxTurns: 3}
	text, err := l.Run(ctx, new(hooksopenai.State), "go")
	require.NoError(t, err)
	assert.Equal(t, "done", text)
	last := s.Requests()[4]
	assert.Equal(t, []string{"user: go", "assistant: [1 alpha {}]", "tool: a", "assistant: [1 alpha {}]", "tool: a"}, lines(last), "nothing is there twice")
}

func TestRun_callerOfHooks(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("done")))
	r, ctx := scope(t)
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		assert.Equal(t, "clerk", m.AgentRole)
		assert.NotEmpty(t, m.RunID)
		assert.Equal(t, "acme", m.Tenant)
		return nil
	}, hooks.In(r))
	st := new(hooksopenai.State)
	_, err := (&hooksopenai.Loop{Client: s.Client(), Model: "m", Role: "clerk"}).Run(hooks.WithCaller(ctx, hooks.Caller{Tenant: "acme"}), st, "go")
	require.NoError(t, err)
	assert.NotEmpty(t, st.RunID)
}

func TestRun_misuse(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("done")))
	c := s.Client()
	run := func(context.Context, *hooks.ToolCall) error { return nil }
	for want, l := range map[string]*hooksopenai.Loop{
		"has no Model":        {Client: c},
		"two tools are named": {Client: c, Model: "m", Tools: []hooksopenai.Tool{{Name: "a", Run: run}, {Name: "a", Run: run}}},
		"has no Name":         {Client: c, Model: "m", Tools: []hooksopenai.Tool{{Run: run}}},
		"or no Run":           {Client: c, Model: "m", Tools: []hooksopenai.Tool{{Name: "a"}}},
		"Params of a Loop":    {Client: c, Model: "m", Params: asking("x")},
	} {
		_, err := l.Run(t.Context(), new(hooksopenai.State), "go")
		assert.ErrorContains(t, err, want)
	}
	l := &hooksopenai.Loop{Client: c, Model: "m"}
	_, err := l.Run(t.Context(), nil, "go")
	assert.ErrorContains(t, err, "the State is nil")
	_, err = l.Run(t.Context(), &hooksopenai.State{Waiting: true}, "go")
	assert.ErrorContains(t, err, "waits")
	for _, st := range []*hooksopenai.State{nil, {}, {Waiting: true}, {Waiting: true, RunID: "r", Messages: make([]union, 1)}} {
		_, err = l.Resume(t.Context(), st)
		assert.Error(t, err)
	}
	assert.Empty(t, s.Requests())
}

func TestRun_inputAndOutputOfHooks(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("done")))
	r, ctx := scope(t)
	input, output := any("edited"), any("changed")
	hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error { x.Inputs["prompt"] = input; return nil }, hooks.In(r))
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error { x.Output = output; return nil }, hooks.In(r))
	l := &hooksopenai.Loop{Client: s.Client(), Model: "m"}
	text, err := l.Run(ctx, new(hooksopenai.State), "go")
	require.NoError(t, err)
	assert.Equal(t, "changed", text)
	assert.Equal(t, "edited", s.Requests()[0].Last())
	output = 1
	_, err = l.Run(ctx, new(hooksopenai.State), "go")
	assert.ErrorContains(t, err, "the output is int")
	input = 1
	_, err = l.Run(ctx, new(hooksopenai.State), "go")
	assert.ErrorContains(t, err, `the input "prompt" is int`)
}
