package hooksopenai

// What tells two requests apart that hooks see as the same.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/loophooks/hooks"
)

// RequestKey returns what the answer of a call depends on beside what hooks see of
// it, for the key of a cache: of a *hooks.ModelCall a digest of its Request, with the
// temperature, the definitions of the tools, the format of the answer and so on. Messages,
// model and names of tools are not in it, since they are in the call; what changes only
// how an answer is made or delivered isn't either (stream options, service tier,
// storing, the provider's cache of prompts). A call without a Request, as one of a tool,
// gives "".
//
// It returns false for what can't be told apart, which a cache must not keep: another
// type of Request, parameters that can't be written, and any other c.
//
//	policy.Cache{Extra: func(_ context.Context, c any) (string, bool) { return hooksopenai.RequestKey(c) }}
func RequestKey(c any) (string, bool) {
	var req any
	switch c := c.(type) {
	case *hooks.ModelCall:
		if c == nil {
			return "", false
		}
		req = c.Request
	case *hooks.ToolCall:
		if c == nil {
			return "", false
		}
		req = c.Request
	default:
		return "", false
	}
	var p openai.ChatCompletionNewParams
	switch req := req.(type) {
	case nil:
		return "", true
	case openai.ChatCompletionNewParams:
		p = req
	case *openai.ChatCompletionNewParams:
		if req == nil {
			return "", true
		}
		p = *req
	default:
		return "", false
	}
	p.Messages, p.Model = nil, ""
	p.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	p.ServiceTier, p.Store = "", param.Opt[bool]{}
	p.PromptCacheKey, p.PromptCacheRetention = param.Opt[string]{}, ""
	p.PromptCacheOptions = openai.ChatCompletionNewParamsPromptCacheOptions{}
	raw, err := json.Marshal(p)
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), true
}
