package hooksmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/loophooks/hooks/hookstest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clientRig is a client with hooks of its own, and a server whose hooks are left empty.
func clientRig(t *testing.T, caller hooks.Caller, c config) (*rig, *hooks.Registry) {
	t.Helper()
	r := hooks.NewRegistry()
	c.sending = append(c.sending, hooksmcp.Client(caller, hooksmcp.WithRegistry(r)))
	return newRig(t, c), r
}

func guard(r *hooks.Registry, fn hooks.Func[hooks.ToolCall]) {
	hooks.Guard(hooks.PreToolCall, fn, hooks.In(r))
}

func TestClient_refusesAndRedacts(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		g, r := clientRig(t, hooks.Caller{AgentRole: "Researcher"}, config{protocol: protocol})
		ran := g.says("delete", "deleted")
		g.tool("all", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return rich(), nil })
		hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("ask a person") },
			hooks.In(r), hooks.WithTools("delete"), hooks.WithAgents("Researcher"))
		hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.EditText(redact); return nil }, hooks.In(r))
		assertRefused(t, g.call(t, "delete", nil), "ask a person")
		assert.Zero(t, *ran)
		wire, err := json.Marshal(g.call(t, "all", nil))
		require.NoError(t, err)
		assert.NotContains(t, string(wire), "SECRET")
	}
}

func TestClient_argumentsAndName(t *testing.T) {
	t.Parallel()
	g, r := clientRig(t, hooks.Caller{}, config{})
	var got string
	g.tool("take", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got = string(req.Params.Arguments)
		return textResult("ok"), nil
	})
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		c.Name, c.Input["b"] = "take", 2
		return nil
	}, hooks.In(r))
	type arguments struct {
		A int `json:"a"`
	}
	params := &mcp.CallToolParams{Name: "give", Arguments: arguments{1}}
	_, err := g.client.CallTool(t.Context(), params)
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":1,"b":2}`, got)
	assert.Equal(t, "give", params.Name, "the program's own parameters stay as they are")
	assert.Equal(t, arguments{1}, params.Arguments)

	assert.True(t, g.call(t, "take", []string{"not an object"}).IsError)
	_, err = g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "take", Arguments: func() {}})
	require.Error(t, err)
}

func TestClient_stopComesOut(t *testing.T) {
	t.Parallel()
	g, r := clientRig(t, hooks.Caller{}, config{})
	g.says("pay", "paid")
	guard(r, func(context.Context, *hooks.ToolCall) error { return hooks.AbortRun("over budget") })
	_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay"})
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(t, ok)
	assert.Equal(t, "over budget", abort.Reason)
}

func TestClient_suspendedComesOutAndGoesOn(t *testing.T) {
	t.Parallel()
	d := hookstest.NewDesk(t, hookstest.Undecided())
	g, r := clientRig(t, hooks.Caller{RunID: "run-1"}, config{})
	ran := g.says("pay", "paid")
	hooks.Guard(hooks.PreToolCall, asks("Pay?"), hooks.In(r), hooks.WithName("approval"))
	call := func() (*mcp.CallToolResult, error) {
		ctx := hooksmcp.WithCallID(hooks.WithDesk(t.Context(), d), "call-1")
		return g.client.CallTool(ctx, &mcp.CallToolParams{Name: "pay"})
	}
	_, err := call()
	waits, ok := errors.AsType[*hooks.Suspended](err)
	require.True(t, ok, "%v", err)
	require.Len(t, waits.Questions, 1)
	assert.Equal(t, "call-1", waits.Questions[0].CallID)
	assert.Zero(t, *ran)
	require.NoError(t, d.Decide(waits.Questions[0].ID, hookstest.Approves()))
	res, err := call()
	require.NoError(t, err)
	assert.Equal(t, "paid", textOf(t, res))
}

func TestClient_caller(t *testing.T) {
	t.Parallel()
	g, r := clientRig(t, hooks.Caller{Tenant: "acme"}, config{})
	g.says("who", "me")
	var seen []hooks.Caller
	guard(r, func(_ context.Context, c *hooks.ToolCall) error { seen = append(seen, c.Caller); return nil })
	g.call(t, "who", nil)
	require.NoError(t, hooks.RunExecution(t.Context(), &hooks.Execution{}, func(ctx context.Context, x *hooks.Execution) error {
		_, err := g.client.CallTool(ctx, &mcp.CallToolParams{Name: "who"})
		assert.Equal(t, x.RunID, seen[1].RunID, "a call belongs to the run around it")
		return err
	}))
	assert.Equal(t, "acme", seen[0].Tenant)
	assert.NotEmpty(t, seen[0].RunID)
}

func TestClient_protocolErrorStaysOne(t *testing.T) {
	t.Parallel()
	g, r := clientRig(t, hooks.Caller{}, config{})
	hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Result = "hidden"; return nil }, hooks.In(r))
	_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"})
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	require.True(t, ok)
	assert.Equal(t, int64(jsonrpc.CodeInvalidParams), wire.Code)
	assert.Equal(t, "hidden", wire.Message)
}

func TestClient_causeOfAnErrorStays(t *testing.T) {
	t.Parallel()
	g, _ := clientRig(t, hooks.Caller{}, config{})
	started := make(chan struct{})
	g.tool("slow", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	_, err := g.client.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestClient_roundsOfTheProtocolAreOneCall(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		user := says("accept")
		g, r := clientRig(t, hooks.Caller{}, config{protocol: protocol, client: user.options()})
		g.says("delete", "deleted")
		g.before(asks("Delete it?"), hooks.WithName("approval"))
		calls := 0
		guard(r, func(context.Context, *hooks.ToolCall) error { calls++; return nil })
		assert.Equal(t, "deleted", textOf(t, g.call(t, "delete", nil)))
		assert.Equal(t, 1, calls)
	}
	g, r := clientRig(t, hooks.Caller{}, config{protocol: newest, client: raw()})
	g.says("delete", "deleted")
	g.before(asks("Delete it?"), hooks.WithName("approval"))
	hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Result = "x"; return nil }, hooks.In(r))
	assert.True(t, g.call(t, "delete", nil).NeedsInput(), "and passes where the program answers itself")
}

func TestClient_urlElicitationPasses(t *testing.T) {
	t.Parallel()
	g, _ := clientRig(t, hooks.Caller{}, config{})
	g.tool("login", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "Log in", URL: "https://example.org", ElicitationID: "1"}})
	})
	_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "login"})
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	require.True(t, ok)
	assert.Contains(t, string(wire.Data), "https://example.org")
}

func TestClient_unknownRequestsFail(t *testing.T) {
	t.Parallel()
	handler := hooksmcp.Client(hooks.Caller{})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		t.Error("the call went by unhooked")
		return nil, nil
	})
	g := newRig(t, config{})
	for _, req := range []mcp.Request{
		nil,
		&mcp.CallToolRequest{Session: g.session, Params: &mcp.CallToolParamsRaw{Name: "x"}},
		&mcp.ClientRequest[mcp.Params]{Params: &mcp.CallToolParams{Name: "x"}},
		&mcp.ClientRequest[mcp.Params]{Session: g.client, Params: &mcp.ListToolsParams{}},
		&mcp.ClientRequest[mcp.Params]{Session: g.client},
		&mcp.ClientRequest[*mcp.CallToolParams]{Session: g.client},
	} {
		_, err := handler(t.Context(), "tools/call", req)
		require.Error(t, err, "%T", req)
	}
	_, err := handler(t.Context(), "tools/list", nil)
	require.Error(t, err)
}

func TestClient_concreteRequest(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	r := hooks.NewRegistry()
	guard(r, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") })
	handler := hooksmcp.Client(hooks.Caller{}, hooksmcp.WithRegistry(r))(nil)
	res, err := handler(t.Context(), "tools/call", &mcp.ClientRequest[*mcp.CallToolParams]{Session: g.client, Params: &mcp.CallToolParams{Name: "x"}})
	require.NoError(t, err)
	assertRefused(t, res.(*mcp.CallToolResult), "no")
}
