package hooksopenai_test

import (
	"context"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
)

func TestRequestKey_tellsRequestsApart(t *testing.T) {
	t.Parallel()
	key := func(change func(*openai.ChatCompletionNewParams)) string {
		p := asking("hello")
		change(&p)
		k, ok := hooksopenai.RequestKey(&hooks.ModelCall{Request: p})
		require.True(t, ok)
		byPointer, ok := hooksopenai.RequestKey(&hooks.ModelCall{Request: &p})
		require.True(t, ok)
		assert.Equal(t, k, byPointer)
		return k
	}
	plain := key(func(*openai.ChatCompletionNewParams) {})
	for name, change := range map[string]func(*openai.ChatCompletionNewParams){
		"temperature": func(p *openai.ChatCompletionNewParams) { p.Temperature = openai.Float(1) },
		"seed":        func(p *openai.ChatCompletionNewParams) { p.Seed = openai.Int(1) },
		"user":        func(p *openai.ChatCompletionNewParams) { p.User = openai.String("ann") },
		"schema": func(p *openai.ChatCompletionNewParams) {
			p.Tools[0].OfFunction.Function.Parameters = map[string]any{"type": "object"}
		},
		"format": func(p *openai.ChatCompletionNewParams) {
			p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		},
		"extra field": func(p *openai.ChatCompletionNewParams) { p.SetExtraFields(map[string]any{"top_k": 1}) },
	} {
		assert.NotEqual(t, plain, key(change), name)
	}
	for name, change := range map[string]func(*openai.ChatCompletionNewParams){
		"messages":       func(p *openai.ChatCompletionNewParams) { p.Messages = nil },
		"model":          func(p *openai.ChatCompletionNewParams) { p.Model = "other" },
		"stream options": func(p *openai.ChatCompletionNewParams) { p.StreamOptions.IncludeUsage = openai.Bool(true) },
		"storing":        func(p *openai.ChatCompletionNewParams) { p.Store = openai.Bool(true) },
		"prompt cache":   func(p *openai.ChatCompletionNewParams) { p.PromptCacheKey = openai.String("k") },
		"service tier":   func(p *openai.ChatCompletionNewParams) { p.ServiceTier = "flex" },
	} {
		assert.Equal(t, plain, key(change), name)
	}
}

func TestRequestKey_whatItKnows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		c  any
		ok bool
	}{
		"model call without a request": {&hooks.ModelCall{}, true},
		"tool call":                    {&hooks.ToolCall{}, true},
		"another request":              {&hooks.ModelCall{Request: "x"}, false},
		"another request of a tool":    {&hooks.ToolCall{Request: 1}, false},
		"nil":                          {nil, false},
		"nil model call":               {(*hooks.ModelCall)(nil), false},
		"nil tool call":                {(*hooks.ToolCall)(nil), false},
		"another context":              {&hooks.Step{}, false},
	} {
		key, ok := hooksopenai.RequestKey(tc.c)
		assert.Equal(t, tc.ok, ok, name)
		assert.Empty(t, key, name)
	}
}

// A cache looks at the call before its body runs.
func TestRequestKey_isKnownToAroundHooks(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("ok")))
	r, ctx := scope(t)
	var key string
	hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
		key, _ = hooksopenai.RequestKey(m)
		return next(ctx)
	}, hooks.In(r))
	_, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, nil)
	require.NoError(t, err)
	assert.NotEmpty(t, key)
}
