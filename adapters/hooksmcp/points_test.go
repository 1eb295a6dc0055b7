package hooksmcp_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sided runs a test with the hooks in the server and with the hooks in the client.
func sided(t *testing.T, test func(t *testing.T, g *rig, r *hooks.Registry)) {
	t.Helper()
	for _, protocol := range bothProtocols {
		t.Run(protocol+" server", func(t *testing.T) {
			t.Parallel()
			g := newRig(t, config{protocol: protocol})
			test(t, g, g.hooks)
		})
		t.Run(protocol+" client", func(t *testing.T) {
			t.Parallel()
			g, r := clientRig(t, hooks.Caller{AgentRole: "tester"}, config{protocol: protocol})
			test(t, g, r)
		})
	}
}

func TestListTools(t *testing.T) {
	t.Parallel()
	assert.Equal(t, hooks.InterceptionPoint("mcp.list_tools"), hooksmcp.ListTools.Name())
	sided(t, func(t *testing.T, g *rig, r *hooks.Registry) {
		g.says("delete", "x")
		g.says("look", "x")
		hide := hooks.On(hooksmcp.ListTools, func(_ context.Context, l *hooksmcp.ToolList) error {
			assert.Equal(t, "tester", l.AgentRole)
			assert.NotEmpty(t, l.RunID)
			l.Tools = slices.DeleteFunc(l.Tools, func(tool *mcp.Tool) bool { return tool.Name == "delete" })
			l.Tools[0].Description = "edited"
			return nil
		}, hooks.In(r))
		var watched []*mcp.Tool
		hooks.Watch(hooksmcp.ListTools, func(_ context.Context, l *hooksmcp.ToolList, _ error) { watched = l.Tools }, hooks.In(r))
		res, err := g.client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, res.Tools, 1)
		assert.Equal(t, "edited", res.Tools[0].Description)
		require.Len(t, watched, 1)
		hide.Remove()
	})
}

func TestListTools_serversOwnStay(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{protocol: older})
	g.says("look", "x")
	edit := hooks.On(hooksmcp.ListTools, func(_ context.Context, l *hooksmcp.ToolList) error {
		l.Tools[0].Name = "edited"
		l.Tools = nil
		return nil
	}, hooks.In(g.hooks))
	res, err := g.client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, res.Tools)
	edit.Remove()
	res, err = g.client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, res.Tools, 1)
	assert.Equal(t, "look", res.Tools[0].Name)
}

func TestReadResource(t *testing.T) {
	t.Parallel()
	assert.Equal(t, hooks.InterceptionPoint("mcp.read_resource"), hooksmcp.ReadResource.Name())
	sided(t, func(t *testing.T, g *rig, r *hooks.Registry) {
		own := []*mcp.ResourceContents{{URI: "file:///a", Text: "SECRET a"}, {URI: "file:///a", Blob: []byte("b")}}
		g.server.AddResource(&mcp.Resource{Name: "a", URI: "file:///a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Meta: mcp.Meta{"m": "SECRET"}, Contents: own}, nil
		})
		read := func() (*mcp.ReadResourceResult, error) {
			return g.client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///a"})
		}
		watch := hooks.On(hooksmcp.ReadResource, func(context.Context, *hooksmcp.Resource) error { return nil }, hooks.In(r))
		res, err := read()
		require.NoError(t, err)
		assert.Equal(t, "SECRET", res.Meta["m"], "the server's own, if nothing was edited")
		watch.Remove()

		hooks.On(hooksmcp.ReadResource, func(_ context.Context, res *hooksmcp.Resource) error {
			assert.Equal(t, "file:///a", res.URI)
			res.EditText(redact)
			return nil
		}, hooks.In(r))
		res, err = read()
		require.NoError(t, err)
		assert.Equal(t, "*** a", res.Contents[0].Text)
		assert.Equal(t, []byte("b"), res.Contents[1].Blob)
		assert.NotContains(t, res.Meta, "m")
		assert.Equal(t, "SECRET a", own[0].Text)

		hooks.Guard(hooksmcp.ReadResource, func(context.Context, *hooksmcp.Resource) error {
			return &hooks.HookAborted{Reason: "not for you", Source: "internal-guard"}
		}, hooks.In(r))
		_, err = read()
		require.ErrorContains(t, err, "not for you")
		if r == g.hooks {
			assert.NotContains(t, err.Error(), "internal-guard")
		}
	})
}

func TestReadResource_errorsPass(t *testing.T) {
	t.Parallel()
	sided(t, func(t *testing.T, g *rig, r *hooks.Registry) {
		g.server.AddResource(&mcp.Resource{Name: "a", URI: "file:///a"}, nil)
		hooks.On(hooksmcp.ReadResource, func(context.Context, *hooksmcp.Resource) error { t.Error("fired"); return nil }, hooks.In(r))
		_, err := g.client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///b"})
		wire, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok)
		assert.NotZero(t, wire.Code)
	})
}

func TestGetPrompt(t *testing.T) {
	t.Parallel()
	assert.Equal(t, hooks.InterceptionPoint("mcp.get_prompt"), hooksmcp.GetPrompt.Name())
	sided(t, func(t *testing.T, g *rig, r *hooks.Registry) {
		own := &mcp.GetPromptResult{Description: "SECRET d", Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "SECRET t"}},
			{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a", Text: "SECRET r"}}},
		}}
		g.server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return own, nil })
		hooks.On(hooksmcp.GetPrompt, func(_ context.Context, p *hooksmcp.Prompt) error {
			assert.Equal(t, "greet", p.Name)
			assert.Equal(t, map[string]string{"who": "Bob"}, p.Arguments)
			p.EditText(redact)
			return nil
		}, hooks.In(r))
		res, err := g.client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Bob"}})
		require.NoError(t, err)
		assert.Equal(t, "*** d", res.Description)
		assert.Equal(t, "*** t", res.Messages[0].Content.(*mcp.TextContent).Text)
		assert.Equal(t, "*** r", res.Messages[1].Content.(*mcp.EmbeddedResource).Resource.Text)
		assert.Equal(t, "SECRET d", own.Description)
		assert.Equal(t, "SECRET t", own.Messages[0].Content.(*mcp.TextContent).Text)
	})
}

func TestPoints_waitingAnswerIsWithheld(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	hooks.Guard(hooksmcp.ListTools, func(context.Context, *hooksmcp.ToolList) error {
		return hooks.PassThrough(errors.New("SECRET"))
	}, hooks.In(g.hooks))
	_, err := g.client.ListTools(t.Context(), nil)
	require.ErrorContains(t, err, "waits")
	assert.NotContains(t, err.Error(), "SECRET")
}

func TestPoints_callerOfTheRequest(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{options: []hooksmcp.Option{hooksmcp.WithCaller(func(req *mcp.CallToolRequest) hooks.Caller {
		return hooks.Caller{Tenant: "of " + req.ClientInfo().Name}
	})}})
	var tenant string
	hooks.On(hooksmcp.ListTools, func(_ context.Context, l *hooksmcp.ToolList) error { tenant = l.Tenant; return nil }, hooks.In(g.hooks))
	_, err := g.client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "of tester", tenant)
}
