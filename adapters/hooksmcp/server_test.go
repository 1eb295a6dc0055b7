package hooksmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServer_refusedCallIsReadByTheModel(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		g := newRig(t, config{protocol: protocol})
		ran := g.says("delete_file", "deleted")
		g.before(func(context.Context, *hooks.ToolCall) error { return hooks.Abort("ask a person") }, hooks.WithTools("deleteFile"))
		assertRefused(t, g.call(t, "delete_file", nil), "ask a person")
		assert.Zero(t, *ran)
	}
}

func TestServer_untouchedResultIsTheToolsOwn(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	g.tool("draw", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Meta:              mcp.Meta{"trace": "1"},
			Content:           []mcp.Content{&mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Priority: 1}}, &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}},
			StructuredContent: map[string]any{"a": 1},
		}, nil
	})
	res := g.call(t, "draw", nil)
	assert.Equal(t, "1", res.Meta["trace"])
	require.Len(t, res.Content, 2)
	assert.NotNil(t, res.Content[0].(*mcp.TextContent).Annotations)
	assert.Equal(t, map[string]any{"a": 1.0}, res.StructuredContent)
}

// rich is a result with a secret wherever there can be one.
func rich() *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Meta: mcp.Meta{"m": "SECRET"},
		Content: []mcp.Content{
			&mcp.TextContent{Text: "SECRET one", Meta: mcp.Meta{"m": "SECRET"}},
			&mcp.TextContent{Text: "two"},
			&mcp.ImageContent{Data: []byte("pixels"), MIMEType: "image/png", Meta: mcp.Meta{"m": "SECRET"}},
			&mcp.AudioContent{Data: []byte("sound"), MIMEType: "audio/wav"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "SECRET three"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Blob: []byte("bytes")}},
			&mcp.ResourceLink{URI: "file:///c", Name: "SECRET four"},
		},
		StructuredContent: map[string]any{"key": "SECRET five"},
	}
}

func redact(s string) string { return strings.ReplaceAll(s, "SECRET", "***") }

func TestServer_redactionReachesAllText(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	g.tool("all", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return rich(), nil })
	var kinds []string
	g.after(func(_ context.Context, c *hooks.ToolCall) error {
		assert.Equal(t, "SECRET one\ntwo\nSECRET three", c.Result)
		for _, p := range c.Parts {
			kinds = append(kinds, p.Kind)
		}
		c.EditText(redact)
		return nil
	})
	res := g.call(t, "all", nil)
	assert.Equal(t, []string{"image", "audio", "resource", "resource", "resource_link", "structured"}, kinds)
	raw, err := json.Marshal(res)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "SECRET")
	assert.Equal(t, "*** one\ntwo\n*** three", textOf(t, res))
	assert.Equal(t, map[string]any{"key": "*** five"}, res.StructuredContent)
	require.Len(t, res.Content, 5, "text, image, audio, blob and link")
	assert.Equal(t, []byte("pixels"), res.Content[1].(*mcp.ImageContent).Data)
	assert.Equal(t, []byte("sound"), res.Content[2].(*mcp.AudioContent).Data)
	assert.Equal(t, []byte("bytes"), res.Content[3].(*mcp.EmbeddedResource).Resource.Blob)
	assert.Equal(t, "*** four", res.Content[4].(*mcp.ResourceLink).Name)
}

func TestServer_structuredContent(t *testing.T) {
	t.Parallel()
	part := func(c *hooks.ToolCall) *hooks.Part {
		for i := range c.Parts {
			if c.Parts[i].Kind == "structured" {
				return &c.Parts[i]
			}
		}
		return &hooks.Part{}
	}
	for name, tc := range map[string]struct {
		edit func(*hooks.ToolCall)
		want any
	}{
		"text changed and it untouched":   {func(c *hooks.ToolCall) { c.Result = redact(c.Result) }, nil},
		"edited to other JSON":            {func(c *hooks.ToolCall) { part(c).Text = `{"key":"x"}` }, map[string]any{"key": "x"}},
		"edited to what isn't JSON":       {func(c *hooks.ToolCall) { part(c).Text = "***" }, nil},
		"removed":                         {func(c *hooks.ToolCall) { c.Parts = nil }, nil},
		"another part removed":            {func(c *hooks.ToolCall) { c.Parts = c.Parts[1:] }, map[string]any{"key": "SECRET five"}},
		"withheld by a guard of the post": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, config{})
			g.tool("all", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return rich(), nil })
			g.after(func(_ context.Context, c *hooks.ToolCall) error {
				if tc.edit == nil {
					return hooks.Abort("withheld")
				}
				tc.edit(c)
				return nil
			})
			res := g.call(t, "all", nil)
			assert.Equal(t, tc.want, res.StructuredContent)
			assert.Equal(t, tc.edit == nil, res.IsError)
			assert.NotContains(t, res.Meta, "m")
		})
	}
}

func TestServer_typedTool(t *testing.T) {
	t.Parallel()
	type in struct {
		Name string `json:"name"`
	}
	type out struct {
		Greeting string `json:"greeting"`
	}
	g := newRig(t, config{})
	mcp.AddTool(g.server, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, out, error) {
		if i.Name == "" {
			return nil, out{}, errors.New("nobody to greet")
		}
		return nil, out{"hello " + i.Name}, nil
	})
	g.before(func(_ context.Context, c *hooks.ToolCall) error {
		if c.Input["name"] == "bob" {
			c.Input["name"] = "Bob"
		}
		return nil
	})
	g.after(func(_ context.Context, c *hooks.ToolCall) error {
		c.EditText(func(s string) string { return strings.ReplaceAll(s, "hello", "hi") })
		return nil
	})
	res := g.call(t, "greet", map[string]any{"name": "bob"})
	assert.JSONEq(t, `{"greeting":"hi Bob"}`, textOf(t, res))
	assert.Equal(t, map[string]any{"greeting": "hi Bob"}, res.StructuredContent)
	assertRefused(t, g.call(t, "greet", map[string]any{"name": ""}), "nobody to greet")
	assert.True(t, g.call(t, "greet", map[string]any{"name": 3}).IsError, "the schema stays")
}

func TestServer_recoveredCall(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]mcp.ToolHandler{
		"isError": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res := textResult("no luck")
			res.IsError = true
			return res, nil
		},
		"protocol error": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32000, Message: "no luck"}
		},
		"plain error": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("no luck")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, config{})
			g.tool("try", handler)
			g.after(func(_ context.Context, c *hooks.ToolCall) error {
				assert.Error(t, c.Err)
				c.Err = nil // and the text as it is
				return nil
			})
			res := g.call(t, "try", nil)
			assert.False(t, res.IsError)
			assert.Equal(t, "no luck", textOf(t, res))
		})
	}
}

func TestServer_protocolErrorStaysOne(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		code int64
	}{
		"structured": {&jsonrpc.Error{Code: -32099, Message: "SECRET", Data: json.RawMessage(`"SECRET"`)}, -32099},
		"plain":      {errors.New("SECRET"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, config{})
			g.tool("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, tc.err })
			_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"})
			wire, ok := errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok)
			assert.Equal(t, tc.code, wire.Code)
			assert.Equal(t, "SECRET", wire.Message)
			assert.Empty(t, wire.Data)

			g.after(func(_ context.Context, c *hooks.ToolCall) error { c.Result = redact(c.Result); return nil })
			_, err = g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"})
			wire, ok = errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok)
			assert.Equal(t, tc.code, wire.Code)
			assert.Equal(t, "***", wire.Message)
		})
	}
}

func TestServer_unknownToolStaysAProtocolError(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	g.after(func(_ context.Context, c *hooks.ToolCall) error { assert.Nil(t, c.Tool); return nil })
	g.says("known", "x")
	_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "other"})
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	require.True(t, ok)
	assert.Equal(t, int64(jsonrpc.CodeInvalidParams), wire.Code)
}

func TestServer_panicDoesNotEndIt(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	g.tool("panics", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic(&jsonrpc.Error{Code: 1, Message: "SECRET"})
	})
	g.says("works", "fine")
	res := g.call(t, "panics", nil)
	assertRefused(t, res, "panicked")
	assert.NotContains(t, textOf(t, res), "SECRET")
	assert.Equal(t, "fine", textOf(t, g.call(t, "works", nil)))
}

func TestServer_arguments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sent   json.RawMessage
		want   string // what the tool gets; "" if it doesn't run
		before hooks.Func[hooks.ToolCall]
	}{
		"as sent":           {sent: json.RawMessage(`{"b": 1, "a": 12345678901234567890}`), want: `{"a":12345678901234567890,"b":1}`},
		"null":              {sent: json.RawMessage(`null`), want: `{}`},
		"a key twice":       {sent: json.RawMessage(`{"path":"/tmp","path":"/etc"}`)},
		"an array":          {sent: json.RawMessage(`["/etc"]`)},
		"edited in place":   {sent: json.RawMessage(`{"a":1}`), want: `{"a":2}`, before: func(_ context.Context, c *hooks.ToolCall) error { c.Input["a"] = 2; return nil }},
		"mended by a hook":  {sent: json.RawMessage(`[]`), want: `{"a":1}`, before: func(_ context.Context, c *hooks.ToolCall) error { return c.SetArguments(`{"a":1}`) }},
		"not JSON any more": {sent: json.RawMessage(`{}`), before: func(_ context.Context, c *hooks.ToolCall) error { c.Input["f"] = func() {}; return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, config{})
			var got string
			g.tool("take", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				got = string(req.Params.Arguments)
				return textResult("ok"), nil
			})
			if tc.before != nil {
				hooks.On(hooks.PreToolCall, tc.before, hooks.In(g.hooks))
			}
			res := g.call(t, "take", tc.sent)
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.want == "", res.IsError)
		})
	}
}

func TestServer_renamedCall(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	old, other := g.says("old", "old"), g.says("other", "other")
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Name = "other"; return nil }, hooks.In(g.hooks))
	assert.Equal(t, "other", textOf(t, g.call(t, "old", nil)))
	assert.Equal(t, []int{0, 1}, []int{*old, *other})
}

func TestServer_aroundHooks(t *testing.T) {
	t.Parallel()
	t.Run("retry", func(t *testing.T) {
		t.Parallel()
		g := newRig(t, config{})
		runs := 0
		g.tool("flaky", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if runs++; runs == 1 {
				return nil, errors.New("busy")
			}
			return textResult("ok"), nil
		})
		hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
			if err := next(ctx); err == nil {
				return nil
			}
			return next(ctx)
		}, hooks.In(g.hooks))
		assert.Equal(t, "ok", textOf(t, g.call(t, "flaky", nil)))
		assert.Equal(t, 2, runs)
	})
	t.Run("an answer in place of a failure", func(t *testing.T) {
		t.Parallel()
		g := newRig(t, config{})
		g.tool("fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("down")
		})
		hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next func(context.Context) error) error {
			if next(ctx) != nil {
				c.Answer("from the cache")
			}
			return nil
		}, hooks.In(g.hooks))
		res := g.call(t, "fails", nil)
		assert.False(t, res.IsError)
		assert.Equal(t, "from the cache", textOf(t, res))
	})
	t.Run("parts that were kept", func(t *testing.T) {
		t.Parallel()
		g := newRig(t, config{})
		runs := 0
		g.tool("all", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { runs++; return rich(), nil })
		var parts []hooks.Part
		hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next func(context.Context) error) error {
			if parts == nil {
				err := next(ctx)
				parts = c.Parts
				return err
			}
			c.Answer("SECRET kept")
			c.Parts = parts
			return nil
		}, hooks.In(g.hooks))
		g.call(t, "all", nil)
		assert.Equal(t, map[string]any{"key": "SECRET five"}, g.call(t, "all", nil).StructuredContent)
		g.after(func(_ context.Context, c *hooks.ToolCall) error { c.Result = redact(c.Result); return nil })
		res := g.call(t, "all", nil)
		assert.Equal(t, "*** kept", textOf(t, res))
		assert.Nil(t, res.StructuredContent, "it repeats the text that was redacted")
		assert.Equal(t, 1, runs)
	})
}

func TestServer_answeredCall(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	ran := g.says("search", "found")
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Answer("ready"); return nil }, hooks.In(g.hooks))
	assert.Equal(t, "ready", textOf(t, g.call(t, "search", nil)))
	assert.Zero(t, *ran)
}

func TestServer_contentThatHooksCannotJudge(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]mcp.Content{
		//lint:ignore SA1019 a content that has no place in a result
		"of sampling":                 &mcp.ToolResultContent{ToolUseID: "1"},
		"nil":                         nil,
		"a resource without contents": &mcp.EmbeddedResource{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, config{})
			g.tool("odd", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{content}}, nil
			})
			assertRefused(t, g.call(t, "odd", nil), "hooksmcp")
		})
	}
}

func TestServer_nilResult(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	g.tool("nothing", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	res := g.call(t, "nothing", nil)
	assert.False(t, res.IsError)
	assert.Empty(t, res.Content)
}

func TestServer_stopRun(t *testing.T) {
	t.Parallel()
	stopped := make(chan string, 1)
	g := newRig(t, config{options: []hooksmcp.Option{hooksmcp.OnStop(func(req *mcp.CallToolRequest, a *hooks.HookAborted) {
		stopped <- req.Params.Name + ": " + a.Source
	})}})
	g.says("pay", "paid")
	g.says("look", "seen")
	g.before(func(context.Context, *hooks.ToolCall) error {
		return &hooks.HookAborted{Reason: "over budget", StopRun: true, Err: errors.New("SECRET")}
	}, hooks.WithTools("pay"), hooks.WithName("internal-guard"))
	_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay"})
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	require.True(t, ok)
	assert.Equal(t, "over budget", wire.Message, "neither the source nor the cause")
	assert.Equal(t, "pay: internal-guard", <-stopped)
	assert.Equal(t, "seen", textOf(t, g.call(t, "look", nil)), "the server goes on")
}

func TestServer_stopRunMayCloseTheSession(t *testing.T) {
	t.Parallel()
	closed := make(chan error, 1)
	for name, option := range map[string]hooksmcp.Option{
		"behind the answer": hooksmcp.CloseOnStop(),
		"at once":           hooksmcp.OnStop(func(req *mcp.CallToolRequest, _ *hooks.HookAborted) { closed <- req.Session.Close() }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, config{options: []hooksmcp.Option{option}})
			g.says("pay", "paid")
			g.before(func(context.Context, *hooks.ToolCall) error { return hooks.AbortRun("over budget") })
			_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay"})
			require.Error(t, err)
			if name == "at once" {
				require.NoError(t, <-closed)
			} else {
				require.ErrorContains(t, err, "over budget")
			}
			_ = g.session.Wait()
			_, err = g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay"})
			require.Error(t, err)
		})
	}
}

func TestServer_panicOfOnStopIsLogged(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{options: []hooksmcp.Option{hooksmcp.OnStop(func(*mcp.CallToolRequest, *hooks.HookAborted) { panic("no") })}})
	g.says("pay", "paid")
	g.before(func(context.Context, *hooks.ToolCall) error { return hooks.AbortRun("") })
	_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay"})
	require.ErrorContains(t, err, "the call was refused")
}

func TestServer_subAgentInATool(t *testing.T) {
	t.Parallel()
	inner := func(ctx context.Context, how error) error {
		return hooks.RunTool(ctx, &hooks.ToolCall{ID: "1", Name: "inner"}, func(context.Context, *hooks.ToolCall) error { return how })
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"stopped": {&hooks.HookAborted{Reason: "too much", Source: "SECRET", StopRun: true}, "too much"},
		"waits":   {hooks.PassThrough(errors.New("SECRET")), "waits"},
	} {
		for _, typed := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := newRig(t, config{})
				if typed {
					mcp.AddTool(g.server, &mcp.Tool{Name: "agent"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
						return nil, nil, inner(ctx, tc.err)
					})
				} else {
					g.tool("agent", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return nil, inner(ctx, tc.err)
					})
				}
				res, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent"})
				if err != nil {
					assert.Contains(t, err.Error(), tc.want)
					assert.NotContains(t, err.Error(), "SECRET")
					return
				}
				assertRefused(t, res, tc.want)
				assert.NotContains(t, textOf(t, res), "SECRET")
			})
		}
	}
}

func TestServer_subAgentsRefusal(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	mcp.AddTool(g.server, &mcp.Tool{Name: "agent"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, &hooks.HookAborted{Reason: "not today", Source: "SECRET"}
	})
	res := g.call(t, "agent", nil)
	assertRefused(t, res, "not today")
	assert.NotContains(t, textOf(t, res), "SECRET")
}

func TestServer_caller(t *testing.T) {
	t.Parallel()
	seen := func(t *testing.T, c config) (calls []hooks.Caller, ids map[string]bool) {
		t.Helper()
		g := newRig(t, c)
		g.says("who", "me")
		ids = make(map[string]bool)
		g.before(func(_ context.Context, call *hooks.ToolCall) error {
			calls = append(calls, call.Caller)
			ids[call.ID] = true
			return nil
		})
		g.call(t, "who", nil)
		g.call(t, "who", nil)
		return calls, ids
	}
	t.Run("by default", func(t *testing.T) {
		t.Parallel()
		calls, ids := seen(t, config{})
		assert.Equal(t, "tester", calls[0].AgentRole)
		assert.NotEmpty(t, calls[0].RunID, "the in-memory transport has no session id")
		assert.Equal(t, calls[0], calls[1])
		assert.Equal(t, calls[0].RunID, calls[0].RootRunID, "what may be asked about has a root")
		assert.Len(t, ids, 2)
		others, _ := seen(t, config{})
		assert.NotEqual(t, calls[0].RunID, others[0].RunID)
	})
	t.Run("of the ctx", func(t *testing.T) {
		t.Parallel()
		calls, _ := seen(t, config{ctx: hooks.WithCaller(t.Context(), hooks.Caller{Tenant: "acme", AgentRole: "Clerk"})})
		assert.Equal(t, "acme", calls[0].Tenant)
		assert.Equal(t, "Clerk", calls[0].AgentRole)
		assert.NotEmpty(t, calls[0].RunID)
	})
	t.Run("by WithCaller", func(t *testing.T) {
		t.Parallel()
		calls, _ := seen(t, config{options: []hooksmcp.Option{hooksmcp.WithCaller(func(req *mcp.CallToolRequest) hooks.Caller {
			return hooks.Caller{Tenant: req.Params.Name}
		})}})
		assert.Equal(t, "who", calls[0].Tenant)
		assert.Empty(t, calls[0].AgentRole)
		assert.NotEmpty(t, calls[0].RunID)
	})
}

func TestServer_scopeOfTheSession(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("not in this session") }, hooks.In(r))
	g := newRig(t, config{ctx: hooks.WithScope(t.Context(), r)})
	g.says("look", "seen")
	assertRefused(t, g.call(t, "look", nil), "not in this session")
}

func TestServer_laterMiddlewareIsOutside(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	g.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok {
				call.Params.Arguments = json.RawMessage(`{"path":"/etc"}`)
			}
			return next(ctx, method, req)
		}
	})
	g.says("read", "text")
	g.before(func(_ context.Context, c *hooks.ToolCall) error {
		if path, err := c.StringArg("path"); err != nil || path == "/etc" {
			return hooks.Abort("not there")
		}
		return nil
	})
	assertRefused(t, g.call(t, "read", map[string]any{"path": "/tmp"}), "not there")
}

func TestServer_unknownRequestsFail(t *testing.T) {
	t.Parallel()
	handler := hooksmcp.Server()(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		t.Error("the call went by unhooked")
		return nil, nil
	})
	for _, req := range []mcp.Request{
		nil,
		(*mcp.CallToolRequest)(nil),
		&mcp.CallToolRequest{},
		&mcp.ClientRequest[mcp.Params]{Params: &mcp.CallToolParams{Name: "x"}},
		&mcp.ServerRequest[*mcp.CallToolParams]{Params: &mcp.CallToolParams{Name: "x"}},
	} {
		for _, method := range []string{"tools/call", "tools/list", "resources/read", "prompts/get"} {
			_, err := handler(t.Context(), method, req)
			require.Error(t, err, "%s %T", method, req)
		}
	}
}

func TestServer_unknownResultsFail(t *testing.T) {
	t.Parallel()
	handler := hooksmcp.Server()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.ListToolsResult{}, nil })
	res, err := handler(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "x"}})
	require.NoError(t, err)
	assertRefused(t, res.(*mcp.CallToolResult), "ListToolsResult")
}

func TestServer_otherMethodsPass(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{protocol: older})
	require.NoError(t, g.client.Ping(t.Context(), nil))
}

func TestServer_parallelCalls(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	g.tool("echo", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return textResult("SECRET " + string(req.Params.Arguments)), nil
	})
	g.after(func(_ context.Context, c *hooks.ToolCall) error { c.Result = redact(c.Result); return nil })
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			res, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"n": i}})
			if assert.NoError(t, err) {
				assert.Contains(t, res.Content[0].(*mcp.TextContent).Text, "*** ")
			}
		})
	}
	group.Wait()
}

func TestServer_cancelledCall(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	started, ended := make(chan struct{}), make(chan error, 1)
	g.tool("slow", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall, _ error) { ended <- c.Err }, hooks.In(g.hooks))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	_, err := g.client.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	assert.Nil(t, hooksmcp.Request(nil))
	assert.Nil(t, hooksmcp.Request(&hooks.ToolCall{}))
	assert.Nil(t, hooksmcp.Request(&hooks.ToolCall{Request: "x"}))
	g := newRig(t, config{})
	g.says("look", "seen")
	g.before(func(_ context.Context, c *hooks.ToolCall) error {
		req, ok := hooksmcp.Request(c).(*mcp.CallToolRequest)
		if assert.True(t, ok) {
			assert.Same(t, g.session, req.Session)
		}
		return nil
	})
	g.call(t, "look", nil)
}

func TestOptions_badOnesPanic(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { hooksmcp.WithRegistry(nil) })
	assert.Panics(t, func() { hooksmcp.WithCaller(nil) })
	assert.Panics(t, func() { hooksmcp.OnStop(nil) })
	assert.Panics(t, func() { hooksmcp.Server(nil) })
	assert.Panics(t, func() { hooksmcp.Client(hooks.Caller{}, hooksmcp.DeskOnly()) })
}
