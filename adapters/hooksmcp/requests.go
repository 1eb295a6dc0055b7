package hooksmcp

// Requests of any kind to a client: whether it can answer, and how one of an older
// protocol is asked.

//lint:file-ignore SA1019 sampling and roots are deprecated by the protocol and work until it drops them

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answerable says whether the client can give all that is asked for.
func (c *chain) answerable(requests mcp.InputRequestMap) bool {
	caps := c.req.ClientCapabilities()
	if caps == nil || len(requests) == 0 || c.session() == nil {
		return false
	}
	for _, r := range requests {
		switch r := r.(type) {
		case *mcp.ElicitParams:
			if r == nil {
				return false
			}
			if r.Mode == "url" || r.Mode == "" && (r.URL != "" || r.ElicitationID != "") {
				if caps.Elicitation == nil || caps.Elicitation.URL == nil {
					return false
				}
			} else if !canElicit(caps) {
				return false
			}
		case *mcp.CreateMessageParams, *mcp.CreateMessageWithToolsParams:
			if caps.Sampling == nil {
				return false
			}
		case *mcp.ListRootsParams:
			if caps.RootsV2 == nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// fulfil asks a client of an older protocol, which the server may call meanwhile.
func (c *chain) fulfil(ctx context.Context, requests mcp.InputRequestMap) error {
	copied, params := *c.req, *c.req.Params
	params.InputResponses = maps.Clone(params.InputResponses)
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		res, err := ask(ctx, c.session(), requests[key])
		if err != nil {
			return err
		}
		c.note(&params, key, res)
	}
	copied.Params = &params
	c.req = &copied
	return nil
}

func ask(ctx context.Context, session *mcp.ServerSession, request mcp.InputRequest) (mcp.InputResponse, error) {
	switch r := request.(type) {
	case *mcp.ElicitParams:
		return session.Elicit(ctx, r)
	case *mcp.CreateMessageWithToolsParams:
		return session.CreateMessageWithTools(ctx, r)
	case *mcp.CreateMessageParams:
		return session.CreateMessage(ctx, r)
	case *mcp.ListRootsParams:
		return session.ListRoots(ctx, r)
	}
	return nil, fmt.Errorf("hooksmcp: a client can't be asked by a %T", request)
}
