package hooksmcp_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// childVar makes the test binary the server of the tests over stdio.
const childVar = "HOOKSMCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		if err := serveStdio(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveStdio has hooks in the registry of the process, and asks in both ways. Were
// one of them asked on the console, it would read the protocol.
func serveStdio() error {
	hooks.Guard(hooks.PreToolCall, asks("Delete it?"), hooks.WithTools("delete"), hooks.WithName("approval"))
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		_, err := c.RequestHumanInput(ctx, "When?", "A day:")
		return err
	}, hooks.WithTools("book"))
	hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Result = redact(c.Result); return nil })
	s := mcp.NewServer(impl, nil)
	s.AddReceivingMiddleware(hooksmcp.Server())
	for _, name := range []string{"delete", "book", "look", "panic"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.Name == "panic" {
				panic("no")
			}
			return textResult("SECRET " + req.Params.Name), nil
		})
	}
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func TestServer_overStdio(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, protocol := range bothProtocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), exe)
			cmd.Env = append(os.Environ(), childVar+"=1")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			user := says("accept")
			opts := user.options()
			session, err := mcp.NewClient(impl, &opts).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
			require.NoError(t, err)
			g := &rig{client: session}
			assert.Equal(t, "*** delete", textOf(t, g.call(t, "delete", nil)))
			assert.Equal(t, []string{"Delete it?\ndelete {}"}, user.asked)
			assertRefused(t, g.call(t, "panic", nil), "panicked")
			res := g.call(t, "book", nil)
			if protocol == older {
				assert.Equal(t, "*** book", textOf(t, res))
			} else {
				assert.True(t, res.IsError, "nobody can be asked, and the console isn't")
			}
			assert.Equal(t, "*** look", textOf(t, g.call(t, "look", nil)))
			require.NoError(t, session.Close())
			assert.NotContains(t, stderr.String(), "When?", "the console wasn't asked")
		})
	}
}
