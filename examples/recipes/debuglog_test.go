package recipes_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/loophooks/hooks"
)

// preview returns the first n characters of s, and an ellipsis where there is
// more. A cut at a byte leaves half a letter of most languages, and a slice of
// runes copies all of a long text.
func preview(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// A debug log of tool and model calls. Names and durations alone would be a
// matter for an observer; the texts are only in the contexts. Watches log what
// is really used, after all that hooks redact and guards refuse, and they can't
// break what they log.
func Example_debugLog() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{} // the output of an example must not change
			}
			return a
		},
	}))
	reg := hooks.NewRegistry()
	opts := []hooks.Option{hooks.In(reg), hooks.WithName("debug-log")}

	hooks.Watch(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall, refused error) {
		input, err := call.Arguments()
		if err != nil {
			input = err.Error()
		}
		log.DebugContext(ctx, "tool called", "tool", call.Name, "agent", call.AgentRole,
			"refused", refused != nil, "input", preview(input, 40))
	}, opts...)
	hooks.Watch(hooks.PostToolCall, func(ctx context.Context, call *hooks.ToolCall, _ error) {
		log.DebugContext(ctx, "tool done", "tool", call.Name, "error", call.IsError(), "result", preview(call.Text(), 19))
	}, opts...)
	hooks.Watch(hooks.PreModelCall, func(ctx context.Context, m *hooks.ModelCall, refused error) {
		newest := ""
		if n := len(m.Messages); n > 0 {
			newest = m.Messages[n-1].Text() // of a message of parts too
		}
		log.DebugContext(ctx, "model called", "agent", m.AgentRole, "iteration", m.Iterations,
			"refused", refused != nil, "messages", len(m.Messages), "newest", preview(newest, 20))
	}, opts...)
	hooks.Watch(hooks.PostModelCall, func(ctx context.Context, m *hooks.ModelCall, _ error) {
		log.DebugContext(ctx, "model done", "tools", len(m.ToolCalls), "response", preview(m.Response, 20))
	}, opts...)

	ctx := hooks.WithScope(context.Background(), reg)
	ctx = hooks.WithCaller(ctx, hooks.Caller{AgentRole: "researcher"})

	m := &hooks.ModelCall{Messages: []hooks.Message{{Role: "user", Content: "내일 서울 날씨를 알려 주세요. 우산이 필요할까요?"}}}
	err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		m.ToolCalls = []hooks.ToolRequest{{ID: "1", Name: "weather", Arguments: `{"city":"서울"}`}}
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	for _, request := range m.ToolCalls {
		call := &hooks.ToolCall{ID: request.ID, Name: request.Name}
		_ = call.SetArguments(request.Arguments) // the model reads what is wrong with them
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "맑음, 최고 기온 7도, 최저 기온 영하 2도, 강수 확률 10%"
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
	}
	// Output:
	// msg="model called" agent=researcher iteration=0 refused=false messages=1 newest="내일 서울 날씨를 알려 주세요. 우산…"
	// msg="model done" tools=1 response=""
	// msg="tool called" tool=weather agent=researcher refused=false input="{\"city\":\"서울\"}"
	// msg="tool done" tool=weather error=false result="맑음, 최고 기온 7도, 최저 기온…"
}
