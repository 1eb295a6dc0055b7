package hooks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// rewrite is what an after hook returns.
type rewrite struct {
	text    string
	replace bool
}

var afterHookCases = map[string]struct {
	hooks   []rewrite
	want    string
	outcome hooks.Outcome
}{
	"replaces":                             {[]rewrite{{"new", true}}, "new", hooks.OutcomeModified},
	"replaces with nothing":                {[]rewrite{{"", true}}, "", hooks.OutcomeModified},
	"keeps":                                {[]rewrite{{"", false}}, "secret", hooks.OutcomeProceeded},
	"keeps, whatever the text":             {[]rewrite{{"ignored", false}}, "secret", hooks.OutcomeProceeded},
	"keeps what an earlier one made":       {[]rewrite{{"new", true}, {"", false}}, "new", hooks.OutcomeModified},
	"keeps that an earlier one blanked it": {[]rewrite{{"", true}, {"", false}}, "", hooks.OutcomeModified},
	"the last rewrite stands":              {[]rewrite{{"new", true}, {"newer", true}}, "newer", hooks.OutcomeModified},
}

func TestAfterToolCallHookReplacesOrKeepsTheResult(t *testing.T) {
	t.Parallel()
	for name, tc := range afterHookCases {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			for _, h := range tc.hooks {
				hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) { return h.text, h.replace }, hooks.In(r))
			}
			log := record(t, r)
			call := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(ctx, call, toolReturning("secret")))
			assert.Equal(t, tc.want, call.Result)
			assert.Equal(t, tc.outcome, log.one(t).Outcome)
		})
	}
}

func TestAfterLLMCallHookReplacesOrKeepsTheResponse(t *testing.T) {
	t.Parallel()
	for name, tc := range afterHookCases {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			for _, h := range tc.hooks {
				hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) { return h.text, h.replace }, hooks.In(r))
			}
			log := record(t, r)
			call := new(hooks.ModelCall)
			require.NoError(t, hooks.RunModel(ctx, call, func(_ context.Context, call *hooks.ModelCall) error {
				call.Response = "secret"
				return nil
			}))
			assert.Equal(t, tc.want, call.Response)
			assert.Equal(t, tc.outcome, log.one(t).Outcome)
		})
	}
}

func TestAfterHooksSeeEachOthersRewrites(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	mark := func(s string) func(context.Context, *hooks.ToolCall) (string, bool) {
		return func(_ context.Context, call *hooks.ToolCall) (string, bool) { return call.Result + s, true }
	}
	hooks.RegisterAfterToolCallHook(mark("a"), hooks.In(r))
	hooks.On(hooks.PostToolCall, edit(func(call *hooks.ToolCall) { call.Result += "b" }), hooks.In(r))
	hooks.RegisterAfterToolCallHook(mark("c"), hooks.In(r))
	call := &hooks.ToolCall{Name: "t"}
	require.NoError(t, hooks.RunTool(ctx, call, toolReturning("x")))
	assert.Equal(t, "xabc", call.Result)
}

func TestAfterHooksAreNotRunForFailedCalls(t *testing.T) {
	t.Parallel()
	newTool := func(t *testing.T) (context.Context, *hooks.Registry, *trace) {
		ctx, r := newRun(t)
		tr := new(trace)
		hooks.On(hooks.PostToolCall, note[hooks.ToolCall](tr, "on"), hooks.In(r))
		hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) {
			tr.add("legacy")
			return "rewritten", true
		}, hooks.In(r), hooks.WithPriority(-1))
		return ctx, r, tr
	}
	t.Run("tool error", func(t *testing.T) {
		ctx, _, tr := newTool(t)
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return errBroken }))
		assert.Equal(t, "on", tr.take())
		assert.Equal(t, "broken", call.Result)
	})
	t.Run("tool panic", func(t *testing.T) {
		ctx, _, tr := newTool(t)
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { panic("boom") }))
		assert.Equal(t, "on", tr.take())
		assert.Equal(t, "Tool t panicked", call.Result)
	})
	t.Run("tool error that a hook before recovered", func(t *testing.T) {
		ctx, r, tr := newTool(t)
		hooks.On(hooks.PostToolCall, edit(func(call *hooks.ToolCall) { call.Result, call.Err = "from cache", nil }), hooks.In(r))
		call := &hooks.ToolCall{Name: "t"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return errBroken }))
		assert.Equal(t, "on legacy", tr.take())
		assert.Equal(t, "rewritten", call.Result)
	})
	t.Run("model error", func(t *testing.T) {
		ctx, r := newRun(t)
		var tr trace
		hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) {
			tr.add("legacy")
			return "", true
		}, hooks.In(r))
		hooks.On(hooks.PostModelCall, note[hooks.ModelCall](&tr, "on"), hooks.In(r))
		err := hooks.RunModel(ctx, new(hooks.ModelCall), func(context.Context, *hooks.ModelCall) error { return errBroken })
		require.ErrorIs(t, err, errBroken)
		assert.Equal(t, "on", tr.take())
	})
}

func TestAfterHooksRunForAnsweredCalls(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, edit(func(call *hooks.ToolCall) { call.Answer("cached") }), hooks.In(r))
	hooks.RegisterAfterToolCallHook(func(_ context.Context, call *hooks.ToolCall) (string, bool) {
		return strings.ToUpper(call.Result), true
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "t"}
	require.NoError(t, hooks.RunTool(ctx, call, toolReturning("fresh")))
	assert.Equal(t, "CACHED", call.Result)
}

func TestAfterHooksLeaveStructuredValuesAlone(t *testing.T) {
	t.Parallel()
	type response struct{ N int }
	requests := []hooks.ToolRequest{{ID: "1", Name: "search", Arguments: `{"q":"x"}`}}
	for _, h := range []rewrite{{"", false}, {"seven", true}} {
		for n := range 3 {
			ctx, r := newRun(t)
			for range n {
				hooks.RegisterAfterLLMCallHook(func(context.Context, *hooks.ModelCall) (string, bool) { return h.text, h.replace }, hooks.In(r))
				hooks.RegisterAfterToolCallHook(func(_ context.Context, call *hooks.ToolCall) (string, bool) {
					assert.NotEmpty(t, call.Result, "hooks get a text view")
					return h.text, h.replace
				}, hooks.In(r))
			}
			want := "text"
			if n > 0 && h.replace {
				want = h.text
			}

			raw := &response{7}
			model := new(hooks.ModelCall)
			require.NoError(t, hooks.RunModel(ctx, model, func(_ context.Context, call *hooks.ModelCall) error {
				call.Response, call.ToolCalls, call.RawResponse = "text", requests, raw
				return nil
			}))
			assert.Equal(t, want, model.Response)
			assert.Equal(t, []hooks.ToolRequest{{ID: "1", Name: "search", Arguments: `{"q":"x"}`}}, model.ToolCalls)
			assert.Same(t, raw, model.RawResponse)

			tool := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(ctx, tool, func(_ context.Context, call *hooks.ToolCall) error {
				call.Result, call.RawResult = "text", response{7}
				return nil
			}))
			assert.Equal(t, want, tool.Result)
			assert.Equal(t, response{7}, tool.RawResult)
			assert.Equal(t, n > 0 && h.replace, tool.ResultEdited())
		}
	}
}

func TestAfterToolCallHookReplacesPartsUnlessTheTextIsTheSame(t *testing.T) {
	t.Parallel()
	image := hooks.Part{Kind: "image", Native: "pixels"}
	secret := hooks.Part{Kind: "text", Text: "secret"}
	for name, tc := range map[string]struct {
		result    string
		parts     []hooks.Part
		text      string
		wantParts []hooks.Part
	}{
		"another text replaces all":      {"caption", []hooks.Part{image}, "redacted", nil},
		"the same text keeps the image":  {"caption", []hooks.Part{image}, "caption", []hooks.Part{image}},
		"no text keeps the lone image":   {"", []hooks.Part{image}, "", []hooks.Part{image}},
		"no text replaces text in parts": {"", []hooks.Part{secret, image}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, r := newRun(t)
			hooks.RegisterAfterToolCallHook(func(context.Context, *hooks.ToolCall) (string, bool) { return tc.text, true }, hooks.In(r))
			call := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
				call.Result, call.Parts = tc.result, tc.parts
				return nil
			}))
			assert.Equal(t, tc.text, call.Result)
			assert.Equal(t, tc.wantParts, call.Parts)
		})
	}
}
