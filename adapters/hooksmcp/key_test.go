package hooksmcp_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRequestKey_unknownIsNotCached(t *testing.T) {
	t.Parallel()
	for _, c := range []any{nil, 3, &hooks.ModelCall{}, (*hooks.ToolCall)(nil), &hooks.ToolCall{}, &hooks.ToolCall{Request: "x"},
		&hooks.ToolCall{Request: &mcp.CallToolRequest{}}, &hooks.ToolCall{Request: (*mcp.CallToolRequest)(nil)}, &hooks.ToolCall{Request: &mcp.ListToolsRequest{}},
		&hooks.ToolCall{Request: &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: mcp.Meta{"f": func() {}}}}},
		&hooks.ToolCall{Request: &mcp.ClientRequest[mcp.Params]{Params: &mcp.CallToolParams{}}},
	} {
		_, ok := hooksmcp.RequestKey(c)
		assert.False(t, ok, "%T", c)
	}
}

func TestRequestKey_ofAServer(t *testing.T) {
	t.Parallel()
	key := func(change func(*mcp.CallToolRequest)) string {
		req := &mcp.CallToolRequest{
			Params: &mcp.CallToolParamsRaw{Name: "x", Meta: mcp.Meta{"locale": "en", "progressToken": 1}},
			Extra:  &mcp.RequestExtra{Header: http.Header{"X-Region": {"eu"}, "Authorization": {"a"}, "User-Agent": {"u"}}},
		}
		if change != nil {
			change(req)
		}
		k, ok := hooksmcp.RequestKey(&hooks.ToolCall{Request: req})
		require.True(t, ok)
		return k
	}
	same := key(nil)
	assert.Equal(t, same, key(nil))
	user := func(id string, scopes ...string) func(*mcp.CallToolRequest) {
		return func(r *mcp.CallToolRequest) { r.Extra.TokenInfo = &auth.TokenInfo{UserID: id, Scopes: scopes} }
	}
	for name, change := range map[string]func(*mcp.CallToolRequest){
		"progress":   func(r *mcp.CallToolRequest) { r.Params.Meta["progressToken"] = 2 },
		"trace":      func(r *mcp.CallToolRequest) { r.Params.Meta["traceparent"] = "00-1" },
		"user agent": func(r *mcp.CallToolRequest) { r.Extra.Header.Set("User-Agent", "v") },
	} {
		assert.Equal(t, same, key(change), name)
	}
	for name, change := range map[string]func(*mcp.CallToolRequest){
		"meta data":       func(r *mcp.CallToolRequest) { r.Params.Meta["locale"] = "de" },
		"header":          func(r *mcp.CallToolRequest) { r.Extra.Header.Set("X-Region", "us") },
		"token":           func(r *mcp.CallToolRequest) { r.Extra.Header.Set("Authorization", "b") },
		"user":            user("ana"),
		"answers":         func(r *mcp.CallToolRequest) { r.Params.InputResponses = mcp.InputResponseMap{"a": &mcp.ElicitResult{}} },
		"state":           func(r *mcp.CallToolRequest) { r.Params.RequestState = "s" },
		"protocol":        func(r *mcp.CallToolRequest) { r.Params.Meta[mcp.MetaKeyProtocolVersion] = newest },
		"client":          func(r *mcp.CallToolRequest) { r.Params.Meta[mcp.MetaKeyClientInfo] = impl },
		"nothing of HTTP": func(r *mcp.CallToolRequest) { r.Extra = nil },
	} {
		assert.NotEqual(t, same, key(change), name)
	}
	assert.NotEqual(t, key(user("ana")), key(user("bob")))
	assert.NotEqual(t, key(user("ana", "read")), key(user("ana", "write")))
	assert.Equal(t, key(user("ana", "a", "b")), key(user("ana", "b", "a")))
	assert.Equal(t, key(user("ana")), key(func(r *mcp.CallToolRequest) {
		user("ana")(r)
		r.Extra.Header.Set("Authorization", "renewed")
	}))
}

func TestRequestKey_ofAClient(t *testing.T) {
	t.Parallel()
	keys := func() []string {
		g, r := clientRig(t, hooks.Caller{}, config{})
		g.says("look", "seen")
		var keys []string
		guard(r, func(_ context.Context, c *hooks.ToolCall) error {
			k, ok := hooksmcp.RequestKey(c)
			assert.True(t, ok)
			keys = append(keys, k)
			return nil
		})
		g.call(t, "look", nil)
		g.call(t, "look", nil)
		return keys
	}
	first, second := keys(), keys()
	assert.Equal(t, first[0], first[1])
	assert.NotEqual(t, first[0], second[0], "servers may have one name")
}
