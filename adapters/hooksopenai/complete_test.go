package hooksopenai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
)

// asking is what a program asks for, with the tools alpha and beta and the custom tool
// shell.
func asking(prompt string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:       "m",
		Messages:    []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		Temperature: openai.Float(0.5),
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "alpha"}),
			openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "beta"}),
			openai.ChatCompletionCustomTool(openai.ChatCompletionCustomToolCustomParam{Name: "shell"}),
		},
	}
}

func TestComplete_fillsTheCall(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), shown func() string) {
		s := serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
			w.Reasoning("let me ")
			w.Reasoning("see")
			w.Text("it is ")
			w.Text("noon")
			w.Usage(10, 4, 5, 3)
		})
		r, ctx := scope(t)
		hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			assert.Equal(t, "m", m.Model)
			assert.Equal(t, []string{"alpha", "beta", "shell"}, m.Tools)
			req, ok := m.Request.(openai.ChatCompletionNewParams)
			assert.True(t, ok)
			assert.Equal(t, 0.5, req.Temperature.Value)
			assert.Empty(t, req.Messages, "what they were before hooks have redacted them")
			return nil
		}, hooks.In(r))
		m := &hooks.ModelCall{Iterations: 3}
		reply, err := hooksopenai.Complete(ctx, s.Client(), asking("time?"), m, onText)
		require.NoError(t, err)
		assert.Equal(t, "it is noon", reply.Content)
		assert.Equal(t, "it is noon", m.Response)
		assert.Equal(t, "stop", m.FinishReason)
		assert.Equal(t, hooks.Usage{In: 10, CachedIn: 4, Out: 5, Reasoning: 3}, m.Usage)
		assert.Equal(t, []hooks.Part{{Kind: "reasoning", Text: "let me see"}}, m.Parts)
		raw, ok := m.RawResponse.(*openai.ChatCompletion)
		require.True(t, ok)
		assert.Equal(t, "it is noon", raw.Choices[0].Message.Content)
		assert.Empty(t, reply.Parts, "the API has no place for reasoning")
		if onText != nil {
			assert.Equal(t, "it is noon", shown())
			assert.JSONEq(t, `{"include_usage":true}`, string(s.Requests()[0].Raw["stream_options"]))
		}
		assert.Equal(t, "0.5", string(s.Requests()[0].Raw["temperature"]))
	})
}

func TestComplete_sendsWhatHooksLeave(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), _ func() string) {
		s := serve(t, fake.Script(fake.Says("ok")))
		r, ctx := scope(t)
		hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.EditText(func(s string) string { return strings.ReplaceAll(s, "secret", "***") })
			m.Messages = append(m.Messages, hooks.Message{Role: "system", Content: "be brief"})
			m.Model, m.Tools = "other", []string{"beta", "beta"}
			return nil
		}, hooks.In(r))
		p := asking("the secret")
		_, err := hooksopenai.Complete(ctx, s.Client(), p, nil, onText)
		require.NoError(t, err)
		req := s.Requests()[0]
		assert.Equal(t, "other", req.Model)
		assert.Equal(t, []string{"beta"}, req.Tools)
		require.Len(t, req.Messages, 2)
		assert.Equal(t, "the ***", req.Messages[0].Content)
		assert.Equal(t, "be brief", req.Messages[1].Content)
		assert.Contains(t, wire(t, p.Messages[0]), "secret", "the program's own is not written to")
		assert.Len(t, p.Tools, 3)
	})
}

func TestComplete_hiddenTools(t *testing.T) {
	t.Parallel()
	named := openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "alpha"})
	shell := openai.ToolChoiceOptionCustomToolChoice(openai.ChatCompletionNamedToolChoiceCustomCustomParam{Name: "shell"})
	required := openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	among := openai.ToolChoiceOptionAllowedTools(openai.ChatCompletionAllowedToolsParam{
		Mode: "required", Tools: []map[string]any{
			{"type": "function", "function": map[string]any{"name": "alpha"}}, {"type": "function", "name": "beta"},
		},
	})
	for name, tc := range map[string]struct {
		choice openai.ChatCompletionToolChoiceOptionUnionParam
		left   []string
		want   string
	}{
		"all":                {required, nil, ""},
		"the one chosen":     {named, []string{"beta"}, ""},
		"another one":        {named, []string{"alpha"}, `"name":"alpha"`},
		"the custom one":     {shell, []string{"beta"}, ""},
		"not the custom one": {shell, []string{"shell"}, `"name":"shell"`},
		"a word":             {required, []string{"beta"}, `"required"`},
		"one of some":        {among, []string{"beta"}, `"tools":[{"name":"beta","type":"function"}]`},
		"each of some":       {among, []string{"shell"}, `"none"`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := serve(t, fake.Script(fake.Says("ok")))
			r, ctx := scope(t)
			hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
				m.Tools = tc.left
				return nil
			}, hooks.In(r))
			p := asking("hello")
			p.ToolChoice, p.ParallelToolCalls = tc.choice, openai.Bool(true)
			_, err := hooksopenai.Complete(ctx, s.Client(), p, nil, nil)
			require.NoError(t, err)
			req := s.Requests()[0]
			assert.Equal(t, tc.left, req.Tools)
			if tc.want == "" {
				assert.NotContains(t, req.Raw, "tool_choice")
			} else {
				assert.Contains(t, string(req.Raw["tool_choice"]), tc.want)
			}
			assert.Equal(t, tc.left != nil, req.Raw["parallel_tool_calls"] != nil)
		})
	}
}

func TestComplete_toolThatThereIsNot(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("ok")))
	r, ctx := scope(t)
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.Tools = append(m.Tools, "gamma")
		return nil
	}, hooks.In(r))
	_, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, nil)
	assert.ErrorContains(t, err, `offers the tool "gamma"`)
	assert.Empty(t, s.Requests())
}

// What would go past the hooks is an error, before anything is sent.
func TestComplete_refusesWhatHooksCannotSee(t *testing.T) {
	t.Parallel()
	with := func(change func(*openai.ChatCompletionNewParams)) openai.ChatCompletionNewParams {
		p := asking("hello")
		change(&p)
		return p
	}
	extra := func(key string) openai.ChatCompletionNewParams {
		return with(func(p *openai.ChatCompletionNewParams) { p.SetExtraFields(map[string]any{key: []any{}}) })
	}
	for want, p := range map[string]openai.ChatCompletionNewParams{
		"param.Override":         param.Override[openai.ChatCompletionNewParams](json.RawMessage(`{"messages":[]}`)),
		`"messages" as an extra`: extra("messages"),
		`"tools" as an extra`:    extra("tools"),
		`"model" as an extra`:    extra("model"),
		"deprecated functions": with(func(p *openai.ChatCompletionNewParams) {
			p.FunctionCall = openai.ChatCompletionNewParamsFunctionCallUnion{OfFunctionCallMode: openai.String("auto")}
		}),
		`two tools are named`: with(func(p *openai.ChatCompletionNewParams) { p.Tools = append(p.Tools, p.Tools[0]) }),
		`a tool of the type "web"`: with(func(p *openai.ChatCompletionNewParams) {
			p.Tools = append(p.Tools, param.Override[openai.ChatCompletionToolUnionParam](json.RawMessage(`{"type":"web"}`)))
		}),
		`the role ""`: with(func(p *openai.ChatCompletionNewParams) { p.Messages = append(p.Messages, union{}) }),
	} {
		s := serve(t, fake.Script(fake.Says("ok")))
		_, err := hooksopenai.Complete(t.Context(), s.Client(), p, nil, nil)
		assert.ErrorContains(t, err, want)
		assert.Empty(t, s.Requests(), want)
	}
	s := serve(t, fake.Script(fake.Says("ok")))
	p := asking("hello")
	p.SetExtraFields(map[string]any{"top_k": 4})
	_, err := hooksopenai.Complete(t.Context(), s.Client(), p, nil, nil)
	require.NoError(t, err, "another field may be sent")
	assert.Equal(t, "4", string(s.Requests()[0].Raw["top_k"]))
}

func TestComplete_refusalIsText(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), shown func() string) {
		s := serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
			w.Refusal("I can't ")
			w.Refusal("do that")
		})
		m := new(hooks.ModelCall)
		reply, err := hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), m, onText)
		require.NoError(t, err)
		assert.Equal(t, "I can't do that", reply.Content)
		assert.Equal(t, "I can't do that", m.Response)
		n, err := hooksopenai.Native(&reply)
		require.NoError(t, err)
		assert.JSONEq(t, `{"role":"assistant","refusal":"I can't do that"}`, wire(t, n))
		if onText != nil {
			assert.Equal(t, "I can't do that", shown())
		}
	})
}

func TestComplete_customTool(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), _ func() string) {
		s := serve(t, fake.Script(fake.Asks(
			fake.Call{ID: "c1", Name: "alpha", Arguments: `{"a":1}`},
			fake.Call{ID: "c2", Name: "shell", Arguments: `echo "hello" > f`, Custom: true},
		)))
		reply, err := hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, onText)
		require.NoError(t, err)
		calls := hooksopenai.Calls(reply)
		require.Len(t, calls, 2)
		assert.Equal(t, map[string]any{"a": 1.0}, calls[0].Input)
		assert.Equal(t, map[string]any{"input": `echo "hello" > f`}, calls[1].Input)
		n, err := hooksopenai.Native(&reply)
		require.NoError(t, err)
		assert.JSONEq(t, `{"role":"assistant","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"alpha","arguments":"{\"a\":1}"}},
			{"id":"c2","type":"custom","custom":{"name":"shell","input":"echo \"hello\" > f"}}]}`, wire(t, n))
	})
}

// The reply holds what hooks have left, its Native too, and calls of custom tools stay
// such calls.
func TestComplete_replyOfHooks(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), _ func() string) {
		s := serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
			w.Text("the secret")
			w.Call(0, fake.Call{ID: "c1", Name: "shell", Arguments: "cat secret", Custom: true})
			w.Call(1, fake.Call{ID: "c2", Name: "alpha", Arguments: "{}"})
		})
		r, ctx := scope(t)
		hooks.On(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.Response = strings.ReplaceAll(m.Response, "secret", "***")
			m.ToolCalls = m.ToolCalls[:1]
			m.ToolCalls[0].Arguments = `{"input":"cat ***"}`
			return nil
		}, hooks.In(r))
		reply, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, onText)
		require.NoError(t, err)
		raw, err := json.Marshal(reply)
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "secret")
		n, err := hooksopenai.Native(&reply)
		require.NoError(t, err)
		assert.JSONEq(t, `{"role":"assistant","content":"the ***","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"shell","input":"cat ***"}}]}`, wire(t, n))
	})
}

// Of a run of the body that failed, or that another one followed, nothing is left.
func TestComplete_bodyRunsAgain(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), _ func() string) {
		s := serve(t, func(_ context.Context, req *fake.Request, w *fake.Writer) {
			if req.Model == "m" {
				w.Fail(http.StatusBadRequest, "no such model")
				return
			}
			w.Text(req.Last() + " from " + req.Model)
		})
		r, ctx := scope(t)
		hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
			if err := next(ctx); err == nil {
				return nil
			}
			m.Model, m.Messages[0].Content = "other", "edited"
			return next(ctx)
		}, hooks.In(r))
		reply, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, onText)
		require.NoError(t, err)
		assert.Equal(t, "edited from other", reply.Content)
		assert.Equal(t, []string{"hello", "edited"}, []string{s.Requests()[0].Last(), s.Requests()[1].Last()})
	})
}

func TestComplete_recoveredFailureHasNoNativeOfItsOwn(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) { w.Fail(http.StatusBadRequest, "down") })
	r, ctx := scope(t)
	hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
		_ = next(ctx)
		m.Response = "later"
		return nil
	}, hooks.In(r))
	reply, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, nil)
	require.NoError(t, err)
	n, err := hooksopenai.Native(&reply)
	require.NoError(t, err)
	assert.JSONEq(t, `{"role":"assistant","content":"later"}`, wire(t, n))
}

func TestComplete_answerOfHook(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), shown func() string) {
		s := serve(t, fake.Script(fake.Says("the model's")))
		r, ctx := scope(t)
		hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.Answer("the hook's")
			return nil
		}, hooks.In(r))
		reply, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, onText)
		require.NoError(t, err)
		assert.Equal(t, "the hook's", reply.Content)
		assert.Empty(t, s.Requests())
		assert.Empty(t, shown())
	})
}

// The SDK tries again by itself, within one pair of points.
func TestComplete_retriesOfTheSDK(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(func(w *fake.Writer) { w.Fail(http.StatusInternalServerError, "busy") }, fake.Says("ok")))
	r, ctx := scope(t)
	points := 0
	hooks.On(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { points++; return nil }, hooks.In(r))
	hooks.On(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { points++; return nil }, hooks.In(r))
	reply, err := hooksopenai.Complete(ctx, s.Client(option.WithMaxRetries(2)), asking("hello"), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "ok", reply.Content)
	assert.Len(t, s.Requests(), 2)
	assert.Equal(t, 2, points)
}

func TestComplete_errors(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), _ func() string) {
		s := serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
			w.Fail(http.StatusTooManyRequests, "slow down")
		})
		_, err := hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, onText)
		failure, ok := errors.AsType[*openai.Error](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, http.StatusTooManyRequests, failure.StatusCode)

		r, ctx := scope(t)
		hooks.Guard(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("no") }, hooks.In(r))
		_, err = hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, onText)
		assert.ErrorAs(t, err, new(*hooks.HookAborted))
		assert.Len(t, s.Requests(), 1)
	})
}

// Replies of which hooks could not see all that they ask for.
func TestComplete_unknownReplies(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{
		`{"index":0,"message":{"content":null,"tool_calls":[{"id":"1","type":"mcp"}]}}`:            `type "mcp"`,
		`{"index":0,"message":{"content":null,"function_call":{"name":"alpha","arguments":"{}"}}}`: "deprecated function call",
		`{"index":1,"message":{"content":"x"}}`:                                                    "no choice",
	} {
		both(t, func(t *testing.T, onText func(string), _ func() string) {
			s := serve(t, func(_ context.Context, req *fake.Request, w *fake.Writer) {
				raw := choice
				if req.Stream {
					raw = strings.Replace(choice, `"message"`, `"delta"`, 1)
				}
				w.Raw(raw)
			})
			_, err := hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, onText)
			assert.ErrorContains(t, err, want)
		})
	}
}

// Results and questions are told apart by the IDs of calls.
func TestComplete_idsOfCalls(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, onText func(string), _ func() string) {
		s := serve(t, fake.Script(fake.Asks(fake.Call{Name: "alpha"}, fake.Call{ID: "x", Name: "alpha"}, fake.Call{ID: "x", Name: "beta"})))
		r, ctx := scope(t)
		var seen []hooks.ToolRequest
		hooks.On(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			seen = m.ToolCalls
			return nil
		}, hooks.In(r))
		reply, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), &hooks.ModelCall{Iterations: 2}, onText)
		require.NoError(t, err)
		var ids []string
		for _, c := range reply.ToolCalls {
			ids = append(ids, c.ID)
		}
		assert.Equal(t, []string{"call_2_1_1", "x", "call_2_1_2"}, ids)
		assert.Equal(t, "call_2_1_1", seen[0].ID, "hooks are told of the same")
		n, err := hooksopenai.Native(&reply)
		require.NoError(t, err)
		assert.Contains(t, wire(t, n), `"arguments":"{}"`, "blank arguments are none")
	})
}
