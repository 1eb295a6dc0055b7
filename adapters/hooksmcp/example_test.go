package hooksmcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connected returns a client of s. An error would end the example without a word.
func connected(s *mcp.Server, opts *mcp.ClientOptions, sending ...mcp.Middleware) *mcp.ClientSession {
	near, far := mcp.NewInMemoryTransports()
	_, err := s.Connect(context.Background(), near, nil)
	client := mcp.NewClient(&mcp.Implementation{Name: "desktop", Version: "1"}, opts)
	client.AddSendingMiddleware(sending...)
	session, connectErr := client.Connect(context.Background(), far, nil)
	if err := errors.Join(err, connectErr); err != nil {
		panic(err)
	}
	return session
}

// show calls a tool and prints what the model reads.
func show(session *mcp.ClientSession, tool string, arguments map[string]any) {
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			fmt.Println(text.Text)
		}
	}
}

// files is a server with two tools.
func files() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	for name, result := range map[string]string{"read_file": "password: hunter2", "delete_file": "deleted"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result}}}, nil
		})
	}
	return s
}

func ExampleServer() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("files are deleted by people only")
	}, hooks.In(r), hooks.WithTools("delete_*"))
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") })
		return nil
	}, hooks.In(r), hooks.WithFailClosed())

	server := files()
	server.AddReceivingMiddleware(hooksmcp.Server(hooksmcp.WithRegistry(r)))

	session := connected(server, nil)
	defer session.Close()
	show(session, "read_file", nil)
	show(session, "delete_file", nil)
	// Output:
	// password: ***
	// Tool execution blocked by hook. Tool: delete_file. Reason: files are deleted by people only
}

func ExampleServer_approval() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return call.Ask(ctx, hooks.Question{Prompt: "Delete this file?"})
	}, hooks.In(r), hooks.WithTools("delete_*"), hooks.WithName("approval"), hooks.WithPriority(-900))
	server := files()
	server.AddReceivingMiddleware(hooksmcp.Server(hooksmcp.WithRegistry(r)))

	session := connected(server, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		fmt.Println(req.Params.Message)
		return &mcp.ElicitResult{Action: "accept"}, nil
	}})
	defer session.Close()
	show(session, "delete_file", map[string]any{"path": "/tmp/a"})
	// Output:
	// Delete this file?
	// delete_file {"path":"/tmp/a"}
	// deleted
}

func ExampleClient() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		return hooks.Abort(call.AgentRole + " only reads")
	}, hooks.In(r), hooks.WithTools("delete_*"), hooks.WithAgents("Researcher"))

	session := connected(files(), nil, hooksmcp.Client(hooks.Caller{AgentRole: "Researcher"}, hooksmcp.WithRegistry(r)))
	defer session.Close()
	show(session, "delete_file", nil)
	// Output:
	// Tool execution blocked by hook. Tool: delete_file. Reason: Researcher only reads
}

func ExampleAsk() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		req, ok := hooksmcp.Request(call).(*mcp.CallToolRequest)
		if !ok {
			return hooks.Abort("there is nobody to ask")
		}
		if why, ok := req.Params.InputResponses["why"].(*mcp.ElicitResult); ok {
			fmt.Println("reason:", why.Content["reason"])
			return nil
		}
		return &hooks.HookAborted{Reason: "a reason is needed", StopRun: true, Err: &hooksmcp.Ask{Requests: mcp.InputRequestMap{
			"why": &mcp.ElicitParams{Message: "Why delete it?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"reason": map[string]any{"type": "string"}},
			}},
		}}}
	}, hooks.In(r), hooks.WithTools("delete_*"))
	server := files()
	server.AddReceivingMiddleware(hooksmcp.Server(hooksmcp.WithRegistry(r)))

	session := connected(server, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"reason": "it is old"}}, nil
	}})
	defer session.Close()
	show(session, "delete_file", nil)
	// Output:
	// reason: it is old
	// deleted
}

func ExampleListTools() {
	r := hooks.NewRegistry()
	hooks.On(hooksmcp.ListTools, func(_ context.Context, list *hooksmcp.ToolList) error {
		var shown []*mcp.Tool
		for _, tool := range list.Tools {
			if !hooks.MatchTool("delete_*", tool.Name) {
				shown = append(shown, tool)
			}
		}
		list.Tools = shown
		return nil
	}, hooks.In(r))
	server := files()
	server.AddReceivingMiddleware(hooksmcp.Server(hooksmcp.WithRegistry(r)))

	session := connected(server, nil)
	defer session.Close()
	res, err := session.ListTools(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range res.Tools {
		fmt.Println(tool.Name)
	}
	// Output: read_file
}
