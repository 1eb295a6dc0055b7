package hooksmcp_test

//lint:file-ignore SA1019 sampling and roots are deprecated by the protocol and work until it drops them

import (
	"context"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
)

func TestAsk_otherRequests(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		g := newRig(t, config{protocol: protocol, client: mcp.ClientOptions{
			CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "fine"}}, nil
			},
		}})
		ran := g.says("delete", "deleted")
		g.before(func(_ context.Context, c *hooks.ToolCall) error {
			responses := hooksmcp.Request(c).(*mcp.CallToolRequest).Params.InputResponses
			if len(responses) == 2 {
				return nil
			}
			return byAbort(&hooksmcp.Ask{Requests: mcp.InputRequestMap{
				"roots":  &mcp.ListRootsParams{},
				"sample": &mcp.CreateMessageWithToolsParams{MaxTokens: 1},
			}})
		})
		assert.Equal(t, "deleted", textOf(t, g.call(t, "delete", nil)), protocol)
		assert.Equal(t, 1, *ran)
	}
}
