package hooksmcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	req.Header.Set("X-Region", "eu")
	return http.DefaultTransport.RoundTrip(req)
}

func serveHTTP(t *testing.T, s *mcp.Server, stateless bool) string {
	t.Helper()
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	h = auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(h)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web.URL
}

func dial(t *testing.T, url, user string, opts mcp.ClientOptions, protocol string, sending ...mcp.Middleware) *rig {
	t.Helper()
	client := mcp.NewClient(impl, &opts)
	client.AddSendingMiddleware(sending...)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(user)}},
		&mcp.ClientSessionOptions{ProtocolVersion: protocol})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return &rig{client: session}
}

func TestServer_overHTTP(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stateless bool
		protocol  string
		asks      bool
	}{
		"sessions, older":   {false, older, true},
		"stateless, older":  {true, older, false}, // such a server can't call its client
		"stateless, newest": {true, newest, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hooks.NewRegistry()
			s := newServer(r, hooksmcp.WithCaller(func(req *mcp.CallToolRequest) hooks.Caller {
				return hooks.Caller{AgentRole: req.Extra.TokenInfo.UserID}
			}))
			server := &rig{server: s, hooks: r}
			ran := server.says("delete", "SECRET")
			type call struct{ id, run, role string }
			var seen []call
			server.before(func(_ context.Context, c *hooks.ToolCall) error {
				req := hooksmcp.Request(c)
				assert.Equal(t, "eu", req.GetExtra().Header.Get("X-Region"))
				seen = append(seen, call{c.ID, c.RunID, c.AgentRole})
				return nil
			})
			server.before(asks("Delete it?"), hooks.WithName("approval"), hooks.WithAgents("ana"))
			server.after(func(_ context.Context, c *hooks.ToolCall) error { c.Result = redact(c.Result); return nil })

			user := says("accept")
			url := serveHTTP(t, s, tc.stateless)
			g := dial(t, url, "ana", user.options(), tc.protocol)
			res := g.call(t, "delete", nil)
			if !tc.asks {
				assert.True(t, res.IsError)
				assert.Zero(t, *ran)
				return
			}
			assert.Equal(t, "***", textOf(t, res))
			assert.Len(t, user.asked, 1)
			assert.Equal(t, 1, *ran)
			assert.Equal(t, "ana", seen[0].role)
			if tc.stateless {
				require.Len(t, seen, 2)
				assert.Equal(t, seen[0].id, seen[1].id)
				assert.Equal(t, seen[0].run, seen[1].run, "a question is found again in another session")
			} else {
				assert.Equal(t, g.client.ID(), seen[0].run)
			}
			bob := dial(t, url, "bob", mcp.ClientOptions{}, tc.protocol)
			assert.Equal(t, "***", textOf(t, bob.call(t, "delete", nil)), "the guard is for ana")
		})
	}
}

func TestAsk_answerIsForOneUser(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	s := newServer(r)
	server := &rig{server: s, hooks: r}
	ran := server.says("delete", "deleted")
	server.before(asks("Delete it?"), hooks.WithName("approval"))
	url := serveHTTP(t, s, true)
	ana, bob := dial(t, url, "ana", raw(), newest), dial(t, url, "bob", raw(), newest)
	asked := ana.call(t, "delete", nil)
	require.True(t, asked.NeedsInput())
	params := &mcp.CallToolParams{Name: "delete", RequestState: asked.RequestState, InputResponses: mcp.InputResponseMap{}}
	for key := range asked.InputRequests {
		params.InputResponses[key] = &mcp.ElicitResult{Action: "accept"}
	}
	res, err := bob.client.CallTool(t.Context(), params)
	require.NoError(t, err)
	assert.True(t, res.NeedsInput())
	assert.Zero(t, *ran)
}

func TestClient_overHTTP(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		s := mcp.NewServer(impl, nil)
		server := &rig{server: s}
		server.says("look", "SECRET")
		server.says("delete", "deleted")
		r := hooks.NewRegistry()
		g := dial(t, serveHTTP(t, s, true), "ana", mcp.ClientOptions{}, protocol, hooksmcp.Client(hooks.Caller{}, hooksmcp.WithRegistry(r)))
		hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") }, hooks.In(r), hooks.WithTools("delete"))
		hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Result = redact(c.Result); return nil }, hooks.In(r))
		assert.Equal(t, "***", textOf(t, g.call(t, "look", nil)))
		assertRefused(t, g.call(t, "delete", nil), "no")
	}
}
