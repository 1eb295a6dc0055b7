// Command example runs an MCP server with hooks and a client of it in one process,
// over the SDK's in-memory transport. It needs no key and no network.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/loophooks/hooks/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		if err := run(context.Background(), os.Stdout, protocol); err != nil {
			fmt.Fprintln(os.Stderr, "example:", err)
			os.Exit(1)
		}
	}
}

// run registers hooks, and calls the tools of a server that has them.
func run(ctx context.Context, out io.Writer, protocol string) error {
	keys, err := redact.Compile(redact.Keys()...)
	if err != nil {
		return err
	}
	r := hooks.NewRegistry() // those of a whole process need none
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		path, err := call.StringArg("path")
		if err != nil {
			return err
		}
		if !strings.HasPrefix(path, "/tmp/") {
			return hooks.Abort("only files in /tmp/ may be touched")
		}
		return nil
	}, hooks.In(r), hooks.WithName("paths"))
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return call.Ask(ctx, hooks.Question{Prompt: "The agent wants to delete a file."})
	}, hooks.In(r), hooks.WithName("approval"), hooks.WithTools("delete_*"), hooks.WithPriority(-900))
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(func(text string) string {
			return keys.Replace(text, func(name, _ string) string { return "[" + name + "]" })
		})
		return nil
	}, hooks.In(r), hooks.WithFailClosed(), hooks.WithName("keys"))

	server := newServer()
	server.AddReceivingMiddleware(hooksmcp.Server(hooksmcp.WithRegistry(r)))

	session, err := connect(ctx, out, server, protocol)
	if err != nil {
		return err
	}
	defer session.Close()
	fmt.Fprintln(out, "protocol", protocol)
	for _, call := range []struct{ tool, path string }{
		{"read_file", "/etc/passwd"},
		{"read_file", "/tmp/config"},
		{"delete_file", "/tmp/config"},
		{"delete_file", "/tmp/photos"},
	} {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.tool, Arguments: map[string]any{"path": call.path}})
		if err != nil {
			return err
		}
		for _, content := range res.Content {
			if text, ok := content.(*mcp.TextContent); ok {
				fmt.Fprintf(out, "  %s %s: %s\n", call.tool, call.path, text.Text)
			}
		}
	}
	return nil
}

type file struct {
	Path string `json:"path"`
}

// newServer is a server as there are many: it knows nothing of hooks.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "read_file"}, func(context.Context, *mcp.CallToolRequest, file) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "key=AKIAIOSFODNN7EXAMPLE"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "delete_file"}, func(context.Context, *mcp.CallToolRequest, file) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil, nil
	})
	return s
}

// connect returns a client whose user agrees to all but the loss of photos.
func connect(ctx context.Context, out io.Writer, server *mcp.Server, protocol string) (*mcp.ClientSession, error) {
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, near, nil); err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "desktop", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			action := "accept"
			if strings.Contains(req.Params.Message, "photos") {
				action = "decline"
			}
			fmt.Fprintf(out, "  the user is asked: %s -> %s\n", strings.ReplaceAll(req.Params.Message, "\n", " "), action)
			return &mcp.ElicitResult{Action: action}, nil
		},
	})
	return client.Connect(ctx, far, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
}
