package bench

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const mcpgoModule = "github.com/mark3labs/mcp-go"

var mcpgoSessionHook server.OnRegisterSessionHookFunc = func(_ context.Context, s server.ClientSession) {
	if s == nil {
		panic(errEmpty)
	}
}

var mcpgoCallHook server.OnBeforeCallToolFunc = func(_ context.Context, _ any, m *mcp.CallToolRequest) {
	if m.Params.Name == "" {
		panic(errEmpty)
	}
}

var mcpgoMiddleware server.ToolHandlerMiddleware = func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.Name == "" {
			return nil, errEmpty
		}
		return next(ctx, r)
	}
}

type mcpgoSession struct{}

func (mcpgoSession) Initialize()                                         {}
func (mcpgoSession) Initialized() bool                                   { return true }
func (mcpgoSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }
func (mcpgoSession) SessionID() string                                   { return "session" }

// runMCPGo sends the same tools/call message again and again to a server with
// one tool that does nothing.
func runMCPGo(b *testing.B, opts ...server.ServerOption) {
	s := server.NewMCPServer("bench", "1", opts...)
	s.AddTool(mcp.NewTool(toolName), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ok"), nil
	})
	raw := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + toolName + `","arguments":{"path":"go.mod"}}}`)
	ctx := context.Background()
	for b.Loop() {
		if _, ok := s.HandleMessage(ctx, raw).(mcp.JSONRPCResponse); !ok {
			b.Fatal("tools/call isn't answered with a result")
		}
	}
}

func mcpgoRows() []Row {
	return []Row{
		{
			Group: Dispatch, Kind: Peer, Name: "mcp-go", Label: "mcp-go Hooks.RegisterSession",
			Module: mcpgoModule, Sizes: usualSizes,
			Note: "Stands for the loop of its before-tool hooks, which is the same but can't be called from outside. A fixed list: no look-up.",
			hook: &mcpgoSessionHook,
			Run: func(b *testing.B, n int) {
				var h server.Hooks
				for range n {
					h.AddOnRegisterSession(mcpgoSessionHook)
				}
				ctx := context.Background()
				for b.Loop() {
					h.RegisterSession(ctx, mcpgoSession{})
				}
			},
		},
		{
			Group: ToolCall, Kind: Peer, Name: "mcp-go-hooks", Label: "mcp-go HandleMessage, AddBeforeCallTool",
			Module: mcpgoModule, Sizes: usualSizes, Features: Features{Change: true},
			Note: "Decodes and answers a JSON-RPC message. The hooks have no way to refuse the call.",
			hook: &mcpgoCallHook,
			Run: func(b *testing.B, n int) {
				h := new(server.Hooks)
				for range n {
					h.AddBeforeCallTool(mcpgoCallHook)
				}
				runMCPGo(b, server.WithHooks(h))
			},
		},
		{
			Group: ToolCall, Kind: Peer, Name: "mcp-go-middlewares", Label: "mcp-go HandleMessage, tool middlewares",
			Module: mcpgoModule, Sizes: usualSizes, Features: Features{Abort: true, Change: true, Swap: true},
			Note: "Decodes and answers a JSON-RPC message. Composes the chain for every call.",
			hook: &mcpgoMiddleware,
			Run: func(b *testing.B, n int) {
				opts := repeat(n, server.WithToolHandlerMiddleware(mcpgoMiddleware))
				runMCPGo(b, opts...)
			},
		},
	}
}
