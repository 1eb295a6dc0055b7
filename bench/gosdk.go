package bench

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var gosdkMiddleware mcp.Middleware = func(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "" {
			return nil, errEmpty
		}
		return next(ctx, method, req)
	}
}

func gosdkRows() []Row {
	return []Row{{
		Group: ToolCall, Kind: Peer, Name: "go-sdk", Label: "MCP go-sdk CallTool, receiving middlewares",
		Module: "github.com/modelcontextprotocol/go-sdk", Sizes: usualSizes,
		Features: Features{Abort: true, Change: true, Swap: true},
		Note:     "A client and a server in one process, and JSON both ways. Composed when a middleware is added.",
		hook:     &gosdkMiddleware,
		Run: func(b *testing.B, n int) {
			ctx := context.Background()
			s := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
			mcp.AddTool(s, &mcp.Tool{Name: toolName}, func(context.Context, *mcp.CallToolRequest, struct {
				Path string `json:"path"`
			}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil, nil
			})
			serverSide, clientSide := mcp.NewInMemoryTransports()
			ss, err := s.Connect(ctx, serverSide, nil)
			if err != nil {
				b.Fatal(err)
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
			cs, err := client.Connect(ctx, clientSide, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				cs.Close()
				ss.Wait()
			})
			params := &mcp.CallToolParams{Name: toolName, Arguments: map[string]any{"path": "go.mod"}}
			callTool := func() {
				res, err := cs.CallTool(ctx, params)
				if err != nil {
					b.Fatal(err)
				}
				if res.IsError {
					b.Fatal("the tool call is answered with an error")
				}
			}
			// One call first, so that the handshake has passed before there are
			// middlewares: neither is it measured, nor do they run for it.
			callTool()
			s.AddReceivingMiddleware(repeat(n, gosdkMiddleware)...)
			for b.Loop() {
				callTool()
			}
		},
	}}
}
