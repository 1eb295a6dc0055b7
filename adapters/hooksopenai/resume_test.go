package hooksopenai_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
	"github.com/loophooks/hooks/hookstest"
)

// saved is st as another process reads it.
func saved(t *testing.T, st *hooksopenai.State) *hooksopenai.State {
	t.Helper()
	raw, err := json.Marshal(st)
	require.NoError(t, err)
	again := new(hooksopenai.State)
	require.NoError(t, json.Unmarshal(raw, again))
	return again
}

// approval has a guard ask about the tools named.
func approval(r *hooks.Registry, tools ...string) {
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		return c.Ask(ctx, hooks.Question{Prompt: "Really?", May: []hooks.Verdict{hooks.Approve, hooks.Reject, hooks.Edit}})
	}, hooks.In(r), hooks.WithTools(tools...), hooks.WithName("approval"))
}

func TestResume_inALoopMadeAnew(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), _ func() string) {
		s := serve(t, fake.Script(func(w *fake.Writer) {
			w.Text("thinking")
			w.Call(0, call("1", "look", "{}"))
			w.Call(1, call("2", "delete", `{"path":"a"}`))
			w.Call(2, fake.Call{ID: "3", Name: "shell", Arguments: "rm b", Custom: true})
		}, fake.Says("done")))
		r, ctx := scope(t)
		approval(r, "delete", "shell")
		desk := hookstest.NewDesk(t)
		ctx = hooks.WithDesk(ctx, desk)
		ran := map[string]*atomic.Int32{"look": {}, "delete": {}, "shell": {}}
		newLoop := func() *hooksopenai.Loop {
			l := &hooksopenai.Loop{Client: s.Client(), Model: "m", OnText: onText}
			for _, name := range []string{"look", "delete", "shell"} {
				tl := tool(name, func(_ context.Context, c *hooks.ToolCall) (string, error) {
					ran[name].Add(1)
					arguments, err := c.Arguments()
					return name + arguments, err
				})
				tl.Custom = name == "shell"
				l.Tools = append(l.Tools, tl)
			}
			return l
		}
		st := new(hooksopenai.State)
		_, err := newLoop().Run(ctx, st, "tidy up")
		suspended, ok := errors.AsType[*hooks.Suspended](err)
		require.True(t, ok, "%v", err)
		require.Len(t, suspended.Questions, 2)
		assert.Equal(t, []string{`{"path":"a"}`, `{"input":"rm b"}`}, []string{suspended.Questions[0].Arguments, suspended.Questions[1].Arguments})
		assert.True(t, st.Waiting)
		id := st.RunID

		st = saved(t, st)
		_, err = newLoop().Resume(ctx, st)
		assert.ErrorAs(t, err, new(*hooks.Suspended), "nobody has decided")
		require.Len(t, desk.Open(), 2)
		require.NoError(t, desk.Decide(desk.Open()[0].ID, hookstest.Edits(`{"path":"b"}`)))
		require.NoError(t, desk.Decide(desk.Open()[0].ID, hookstest.Rejects("keep it")))

		resumed := false
		hooks.On(hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error {
			resumed = x.Resumed && x.RunID == id && len(x.Inputs) == 0
			return nil
		}, hooks.In(r))
		st = saved(t, st)
		text, err := newLoop().Resume(ctx, st)
		require.NoError(t, err)
		assert.Equal(t, "done", text)
		assert.True(t, resumed)
		assert.False(t, st.Waiting)
		assert.Equal(t, [3]int32{1, 1, 0}, [3]int32{ran["look"].Load(), ran["delete"].Load(), ran["shell"].Load()})
		require.Len(t, s.Requests(), 2, "the model isn't asked in between")
		last := s.Requests()[1]
		assert.Equal(t, []string{
			"user: tidy up", `assistant: thinking[1 look {}][2 delete {"path":"a"}][3 shell rm b]`,
			"tool: look{}", `tool: delete{"path":"b"}`,
		}, lines(last)[:4])
		assert.Contains(t, last.Last(), "keep it")
		assert.True(t, last.Messages[1].Calls[2].Custom)
	})
}

func TestResume_ofSubAgents(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, req *fake.Request, w *fake.Writer) {
		switch {
		case req.Model == "outer" && len(req.Messages) == 1:
			w.Call(0, call("o1", "clerk", `{"prompt":"delete a"}`))
			w.Call(1, call("o2", "clerk", `{"prompt":"delete b"}`))
		case req.Model == "inner" && len(req.Messages) == 2:
			w.Call(0, call("i1", "delete", `{"what":"`+req.Last()+`"}`))
		default:
			w.Text("done: " + req.Last())
		}
	})
	r, ctx := scope(t)
	approval(r, "delete")
	desk := hookstest.NewDesk(t)
	ctx = hooks.WithDesk(ctx, desk)
	var ran atomic.Int32
	newLoop := func() *hooksopenai.Loop {
		inner := &hooksopenai.Loop{Client: s.Client(), Model: "inner", System: "you are a clerk", Role: "clerk", Tools: []hooksopenai.Tool{
			tool("delete", func(_ context.Context, c *hooks.ToolCall) (string, error) {
				ran.Add(1)
				assert.Equal(t, "clerk", c.AgentRole)
				return c.StringArg("what")
			}),
		}}
		return &hooksopenai.Loop{Client: s.Client(), Model: "outer", Role: "boss", Tools: []hooksopenai.Tool{inner.Agent("clerk", "does the work")}}
	}
	st := new(hooksopenai.State)
	_, err := newLoop().Run(ctx, st, "go")
	suspended, ok := errors.AsType[*hooks.Suspended](err)
	require.True(t, ok, "%v", err)
	require.Len(t, suspended.Questions, 2)
	assert.Len(t, st.Agents, 2)
	assert.NotEqual(t, suspended.Questions[0].ID, suspended.Questions[1].ID, "the calls around them tell them apart")

	require.NoError(t, desk.Decide(suspended.Questions[0].ID, hookstest.Approves()))
	st = saved(t, st)
	_, err = newLoop().Resume(ctx, st)
	assert.ErrorAs(t, err, new(*hooks.Suspended), "one still waits")
	assert.Len(t, st.Agents, 1)
	assert.EqualValues(t, 1, ran.Load())

	require.NoError(t, desk.Decide(suspended.Questions[1].ID, hookstest.Approves()))
	st = saved(t, st)
	text, err := newLoop().Resume(ctx, st)
	require.NoError(t, err)
	assert.EqualValues(t, 2, ran.Load(), "each ran once")
	assert.Equal(t, "done: done: delete b", text)
	assert.Empty(t, st.Agents)
}

func TestAgent_withoutOuterLoop(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("done")))
	clerk := (&hooksopenai.Loop{Client: s.Client(), Model: "m"}).Agent("clerk", "does the work")
	c := &hooks.ToolCall{Name: "clerk", Input: map[string]any{"prompt": "go"}}
	require.NoError(t, hooks.RunTool(t.Context(), c, clerk.Run))
	assert.Equal(t, "done", c.Result)
	c = &hooks.ToolCall{Name: "clerk", Input: map[string]any{"Prompt": "go"}}
	require.NoError(t, hooks.RunTool(t.Context(), c, clerk.Run))
	assert.True(t, c.IsError())
}

// A run can wait at any point, and goes on from there.
func TestResume_otherPoints(t *testing.T) {
	t.Parallel()
	type at struct {
		register func(r *hooks.Registry, wait func() error)
		requests int // of the model before the run waits, and in all
		all      int
	}
	execution := func(p hooks.Point[hooks.Execution]) func(*hooks.Registry, func() error) {
		return func(r *hooks.Registry, wait func() error) {
			hooks.On(p, func(context.Context, *hooks.Execution) error { return wait() }, hooks.In(r))
		}
	}
	step := func(p hooks.Point[hooks.Step]) func(*hooks.Registry, func() error) {
		return func(r *hooks.Registry, wait func() error) {
			hooks.On(p, func(context.Context, *hooks.Step) error { return wait() }, hooks.In(r))
		}
	}
	model := func(p hooks.Point[hooks.ModelCall]) func(*hooks.Registry, func() error) {
		return func(r *hooks.Registry, wait func() error) {
			hooks.On(p, func(context.Context, *hooks.ModelCall) error { return wait() }, hooks.In(r))
		}
	}
	for name, tc := range map[string]at{
		"execution_start": {execution(hooks.ExecutionStart), 0, 2},
		"input":           {execution(hooks.Input), 0, 2},
		"pre_step":        {step(hooks.PreStep), 0, 2},
		"pre_model_call":  {model(hooks.PreModelCall), 0, 2},
		"post_model_call": {model(hooks.PostModelCall), 1, 3},
		"post_step":       {step(hooks.PostStep), 1, 2},
		"output":          {execution(hooks.Output), 2, 2},
		"post_tool_call": {func(r *hooks.Registry, wait func() error) {
			hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return wait() }, hooks.In(r))
		}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(_ context.Context, req *fake.Request, w *fake.Writer) {
				if req.Messages[len(req.Messages)-1].Role == "tool" {
					w.Text("done")
				} else {
					w.Call(0, call("1", "alpha", "{}"))
				}
			})
			r, ctx := scope(t)
			waited := false
			var iterations []int
			hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
				iterations = append(iterations, m.Iterations)
				return nil
			}, hooks.In(r))
			tc.register(r, func() error {
				if waited {
					return nil
				}
				waited = true
				return hooks.PassThrough(errors.New("wait"))
			})
			newLoop := func() *hooksopenai.Loop {
				return &hooksopenai.Loop{Client: s.Client(), Model: "m", Tools: []hooksopenai.Tool{says("alpha", "a")}}
			}
			// An answer of an earlier run in front of it isn't taken for that of this one.
			st := &hooksopenai.State{Messages: []union{nativeOf(t, hooks.Message{Role: "user", Content: "hi"}), nativeOf(t, hooks.Message{Role: "assistant", Content: "hello"})}}
			_, err := newLoop().Run(ctx, st, "go")
			require.ErrorAs(t, err, new(*hooks.Suspended))
			assert.Len(t, s.Requests(), tc.requests)
			text, err := newLoop().Resume(ctx, saved(t, st))
			require.NoError(t, err)
			assert.Equal(t, "done", text)
			require.Len(t, s.Requests(), tc.all)
			assert.Equal(t, 1, iterations[len(iterations)-1], "it goes on counting")
			if name != "output" {
				assert.Equal(t, []string{"user: hi", "assistant: hello", "user: go", "assistant: [1 alpha {}]", "tool: a"}, lines(s.Requests()[tc.all-1]))
			}
		})
	}
}

func nativeOf(t *testing.T, m hooks.Message) union {
	t.Helper()
	n, err := hooksopenai.Native(&m)
	require.NoError(t, err)
	return n
}

// What is saved of a prompt is what hooks have made of it so far.
func TestResume_promptOfSuspendedInput(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("done")))
	r, ctx := scope(t)
	waited := false
	hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error {
		if waited {
			return nil
		}
		waited = true
		x.Inputs["prompt"] = "***"
		return hooks.PassThrough(errors.New("wait"))
	}, hooks.In(r))
	l, st := &hooksopenai.Loop{Client: s.Client(), Model: "m"}, new(hooksopenai.State)
	_, err := l.Run(ctx, st, "secret")
	require.ErrorAs(t, err, new(*hooks.Suspended))
	raw, err := json.Marshal(st)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "secret")
	_, err = l.Resume(ctx, saved(t, st))
	require.NoError(t, err)
	assert.Equal(t, "***", s.Requests()[0].Last())
}
