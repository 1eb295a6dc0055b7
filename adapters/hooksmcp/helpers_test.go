package hooksmcp_test

import (
	"context"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The protocols in which a server asks its client in different ways.
const (
	older  = "2025-11-25"
	newest = "2026-07-28"
)

var bothProtocols = []string{older, newest}

var impl = &mcp.Implementation{Name: "tester", Version: "1"}

// rig is a server with tools and a client of it, over the in-memory transport.
type rig struct {
	hooks   *hooks.Registry
	server  *mcp.Server
	session *mcp.ServerSession
	client  *mcp.ClientSession
}

// config is what a test may want otherwise.
type config struct {
	protocol string
	ctx      context.Context
	options  []hooksmcp.Option
	client   mcp.ClientOptions
	sending  []mcp.Middleware
}

func newServer(r *hooks.Registry, opts ...hooksmcp.Option) *mcp.Server {
	s := mcp.NewServer(impl, nil)
	s.AddReceivingMiddleware(hooksmcp.Server(append(opts, hooksmcp.WithRegistry(r))...))
	return s
}

func newRig(t *testing.T, c config) *rig {
	t.Helper()
	r := hooks.NewRegistry()
	if c.ctx == nil {
		c.ctx = t.Context()
	}
	g := &rig{hooks: r, server: newServer(r, c.options...)}
	near, far := mcp.NewInMemoryTransports()
	var err error
	g.session, err = g.server.Connect(c.ctx, near, nil)
	require.NoError(t, err)
	client := mcp.NewClient(impl, &c.client)
	client.AddSendingMiddleware(c.sending...)
	g.client, err = client.Connect(t.Context(), far, &mcp.ClientSessionOptions{ProtocolVersion: c.protocol})
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.client.Close() })
	return g
}

// tool adds a tool without an output schema. The handler gets the raw arguments.
func (g *rig) tool(name string, handler func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	g.server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, handler)
}

// says adds a tool that returns text, and returns how often it ran.
func (g *rig) says(name, text string) *int {
	ran := new(int)
	g.tool(name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		*ran++
		return textResult(text), nil
	})
	return ran
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func (g *rig) call(t *testing.T, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	res, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	return res
}

func (g *rig) before(fn hooks.Func[hooks.ToolCall], opts ...hooks.Option) {
	hooks.Guard(hooks.PreToolCall, fn, append(opts, hooks.In(g.hooks))...)
}

func (g *rig) after(fn hooks.Func[hooks.ToolCall], opts ...hooks.Option) {
	hooks.On(hooks.PostToolCall, fn, append(opts, hooks.In(g.hooks))...)
}

func textOf(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, res.Content)
	text, ok := res.Content[0].(*mcp.TextContent)
	require.True(t, ok, "%T", res.Content[0])
	return text.Text
}

func assertRefused(t *testing.T, res *mcp.CallToolResult, says string) {
	t.Helper()
	assert.True(t, res.IsError)
	assert.Contains(t, textOf(t, res), says)
}

// answers is a client that answers questions, and keeps what it was asked.
type answers struct {
	asked []string
	reply mcp.ElicitResult
}

func (a *answers) options() mcp.ClientOptions {
	return mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		a.asked = append(a.asked, req.Params.Message)
		reply := a.reply
		return &reply, nil
	}}
}

func says(action string) *answers { return &answers{reply: mcp.ElicitResult{Action: action}} }
