package hooksopenai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
)

// A program that has a loop makes its model calls by Complete and runs the tools by
// hooks.RunTools.
func ExampleComplete() {
	server := fake.Start(fake.Script(
		fake.Asks(fake.Call{ID: "call_1", Name: "delete_file", Arguments: `{"path":"a"}`}),
		fake.Says("I may not delete it."),
	))
	defer server.Close()
	client := server.Client() // openai.NewClient()

	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("files are deleted by people only")
	}, hooks.In(r), hooks.WithTools("delete_*"))
	ctx := hooks.WithScope(context.Background(), r)

	params := openai.ChatCompletionNewParams{
		Model:    "gpt-5",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Delete a.")},
		Tools:    []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "delete_file"})},
	}
	for {
		reply, err := hooksopenai.Complete(ctx, client, params, nil, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		message, err := hooksopenai.Native(&reply)
		if err != nil {
			fmt.Println(err)
			return
		}
		params.Messages = append(params.Messages, message)
		calls := hooksopenai.Calls(reply)
		if len(calls) == 0 {
			fmt.Println(reply.Content)
			return
		}
		err = hooks.RunTools(ctx, calls, 8, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "deleted"
			return nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, call := range calls {
			fmt.Println(call.Result)
			params.Messages = append(params.Messages, openai.ToolMessage(call.Result, call.ID))
		}
	}
	// Output:
	// Tool execution blocked by hook. Tool: delete_file. Reason: files are deleted by people only
	// I may not delete it.
}

// A run that waits is saved, and another process goes on with it.
func ExampleLoop_Resume() {
	server := fake.Start(fake.Script(
		fake.Asks(fake.Call{ID: "call_1", Name: "pay", Arguments: `{"amount":5}`}),
		fake.Says("It is paid."),
	))
	defer server.Close()
	approved := false
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		if !approved {
			return hooks.PassThrough(errors.New("somebody has to approve it"))
		}
		return nil
	}, hooks.In(r), hooks.WithTools("pay"))
	ctx := hooks.WithScope(context.Background(), r)
	newLoop := func() *hooksopenai.Loop {
		return &hooksopenai.Loop{Client: server.Client(), Model: "gpt-5", Tools: []hooksopenai.Tool{{
			Name: "pay",
			Run: func(_ context.Context, call *hooks.ToolCall) error {
				call.Result = "paid"
				return nil
			},
		}}}
	}

	st := new(hooksopenai.State)
	_, err := newLoop().Run(ctx, st, "Pay the bill.")
	fmt.Println(err)
	saved, err := json.Marshal(st)
	if err != nil {
		fmt.Println(err)
		return
	}

	approved = true
	st = new(hooksopenai.State)
	if err := json.Unmarshal(saved, st); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(newLoop().Resume(ctx, st))
	// Output:
	// somebody has to approve it
	// It is paid. <nil>
}

func ExampleLoop() {
	server := fake.Start(fake.Script(
		fake.Asks(fake.Call{ID: "call_1", Name: "clock", Arguments: "{}"}),
		fake.Says("It is ", "noon."),
	))
	defer server.Close()
	l := &hooksopenai.Loop{
		Client: server.Client(), Model: "gpt-5",
		Tools: []hooksopenai.Tool{{
			Name: "clock", Description: "tells the time",
			Run: func(_ context.Context, call *hooks.ToolCall) error {
				call.Result = "12:00"
				return nil
			},
		}},
		OnText: func(text string) { fmt.Printf("%s|", text) },
	}
	text, err := l.Run(context.Background(), new(hooksopenai.State), "What time is it?")
	fmt.Println()
	fmt.Println(text, err)
	// Output:
	// It is |noon.|
	// It is noon. <nil>
}
