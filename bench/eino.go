package bench

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

const einoModule = "github.com/cloudwego/eino"

var einoCallback = func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
	if info.Name == "" {
		panic(errEmpty)
	}
	return ctx
}

var einoMiddleware compose.InvokableToolMiddleware = func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
		if in.Name == "" {
			return nil, errEmpty
		}
		return next(ctx, in)
	}
}

type einoTool struct{}

func (einoTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: toolName, Desc: "does nothing"}, nil
}

func (einoTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return "ok", nil
}

func einoRows() []Row {
	return []Row{
		{
			Group: Dispatch, Kind: Peer, Name: "eino", Label: "eino callbacks.OnStart",
			Module: einoModule, Sizes: usualSizes,
			Note: "Observes only. The handlers come with the context, and each gives the next one a context. It allocates what it puts into that context.",
			hook: &einoCallback,
			Run: func(b *testing.B, n int) {
				h := callbacks.NewHandlerBuilder().OnStartFn(einoCallback).Build()
				info := &callbacks.RunInfo{Name: toolName, Type: "bench", Component: "Tool"}
				ctx := callbacks.InitCallbacks(context.Background(), info, repeat(n, h)...)
				in := &tool.CallbackInput{ArgumentsInJSON: `{"path":"go.mod"}`}
				for b.Loop() {
					callbacks.OnStart(ctx, in)
				}
			},
		},
		{
			Group: ToolCall, Kind: Peer, Name: "eino", Label: "eino ToolsNode.Invoke, tool middlewares",
			Module: einoModule, Sizes: usualSizes, Features: Features{Abort: true, Change: true},
			Note: "Composed once, when the node is built: no look-up. The call builds the messages that go back to the model.",
			hook: &einoMiddleware,
			Run: func(b *testing.B, n int) {
				ctx := context.Background()
				node, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{
					Tools:               []tool.BaseTool{einoTool{}},
					ToolCallMiddlewares: repeat(n, compose.ToolMiddleware{Invokable: einoMiddleware}),
				})
				if err != nil {
					b.Fatal(err)
				}
				msg := schema.AssistantMessage("", []schema.ToolCall{{
					ID:       "call-1",
					Function: schema.FunctionCall{Name: toolName, Arguments: `{"path":"go.mod"}`},
				}})
				for b.Loop() {
					if _, err := node.Invoke(ctx, msg); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
	}
}
