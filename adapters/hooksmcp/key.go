package hooksmcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// RequestKey tells calls apart whose results may differ although tool and arguments
// are the same. It is for caches, as a part of their keys (policy.Cache.Extra). c is
// a [*hooks.ToolCall] that came by [Server] or [Client]; for all else ok is false,
// and nothing should be cached.
//
// In a server it covers the session where that has an ID; the user of the TokenInfo
// with scopes and Extra, or the Authorization header where no user is known; all
// other headers but those of the transport; the protocol version, the client and its
// capabilities; the meta data without the token for progress and traces; and what
// the client was asked for. In a client it covers the session, since nobody vouches
// for the name that a server gives itself, the meta data, and the answers.
func RequestKey(c any) (key string, ok bool) {
	t, ok := c.(*hooks.ToolCall)
	if !ok || t == nil {
		return "", false
	}
	var facts any
	switch req := Request(t).(type) {
	case nil:
		return "", false
	case *mcp.CallToolRequest:
		if req == nil || req.Params == nil {
			return "", false
		}
		facts = serverFacts(req)
	default:
		session, isClient := req.GetSession().(*mcp.ClientSession)
		params, isCall := req.GetParams().(*mcp.CallToolParams)
		if !isClient || session == nil || !isCall || params == nil {
			return "", false
		}
		facts = []any{"client", ownID(session), dropped(params.Meta), params.InputResponses, params.RequestState}
	}
	raw, err := json.Marshal(facts)
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), true
}

func serverFacts(req *mcp.CallToolRequest) []any {
	var session string
	if req.Session != nil {
		session = req.Session.ID()
	}
	facts := []any{
		"server", session, req.ProtocolVersion(), req.ClientInfo(), req.ClientCapabilities(),
		dropped(req.Params.Meta), req.Params.InputResponses, req.Params.RequestState,
	}
	if req.Extra == nil {
		return facts
	}
	header := req.Extra.Header.Clone()
	for _, name := range transportHeaders {
		header.Del(name)
	}
	if info := req.Extra.TokenInfo; info != nil {
		facts = append(facts, info.UserID, slices.Sorted(slices.Values(info.Scopes)), info.Extra)
		if info.UserID != "" {
			header.Del("Authorization")
		}
	}
	return append(facts, map[string][]string(header))
}

// transportHeaders say how a request came, and not what it is about.
var transportHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Date", "Last-Event-Id",
	"Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Traceparent", "Tracestate", "User-Agent",
}

// dropped returns meta data without what differs in every request, and without what is
// told of the client otherwise.
func dropped(meta mcp.Meta) map[string]any {
	kept := maps.Clone(map[string]any(meta))
	for _, key := range []string{"progressToken", "traceparent", "tracestate", mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities} {
		delete(kept, key)
	}
	return kept
}
