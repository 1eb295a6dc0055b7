// Command example runs an agent on the OpenAI SDK with hooks at work: a guard refuses,
// a filter masks what is shown, and a call waits until somebody has approved it, while
// the run is saved. The model is a server in this process that speaks the format of the
// API; no key and no network is needed:
//
//	go run -C adapters/hooksopenai ./example
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/redact"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// model plays the model: it looks up the files, asks to delete two of them, and tells
// what came of it.
func model(_ context.Context, req *fake.Request, w *fake.Writer) {
	switch len(req.Messages) {
	case 2:
		w.Text("I'll look.\n")
		w.Call(0, fake.Call{ID: "call_1", Name: "list_files", Arguments: "{}"})
	case 4:
		w.Call(0, fake.Call{ID: "call_2", Name: "delete_file", Arguments: `{"path":"/etc/passwd"}`})
		w.Call(1, fake.Call{ID: "call_3", Name: "delete_file", Arguments: `{"path":"notes.old"}`})
	default:
		w.Text("One is gone, the other one isn't mine to delete. ")
		w.Text("Write to ann@exa")
		w.Text("mple.com about it.\n")
	}
}

// register registers the hooks of the program.
func register(r *hooks.Registry, out io.Writer) error {
	mail, err := redact.Compile(redact.Mail()...)
	if err != nil {
		return err
	}
	hooks.OnStream(hooks.ModelStream, redact.Stream[hooks.ModelCall](mail, func(string, string) string { return "(address)" }),
		hooks.In(r), hooks.WithFailClosed())
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		path, err := call.StringArg("path")
		if err == nil && strings.HasPrefix(path, "/") {
			err = hooks.Abort("only files of the project are deleted")
		}
		return err
	}, hooks.In(r), hooks.WithTools("delete_*"))
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return call.Ask(ctx, hooks.Question{Prompt: "Delete the file?"})
	}, hooks.In(r), hooks.WithTools("delete_*"), hooks.WithName("approval"), hooks.WithPriority(-900))
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall, _ error) {
		fmt.Fprintf(out, "  %s: %s\n", call.Name, call.Result)
	}, hooks.In(r))
	return nil
}

func newLoop(server *fake.Server, out io.Writer) *hooksopenai.Loop {
	return &hooksopenai.Loop{
		Client: server.Client(), Model: "gpt-fake", System: "You tidy up.",
		OnText: func(text string) { fmt.Fprint(out, text) },
		Tools: []hooksopenai.Tool{
			{Name: "list_files", Description: "lists the files", Run: func(_ context.Context, call *hooks.ToolCall) error {
				call.Result = "notes.old notes.txt"
				return nil
			}},
			{
				Name: "delete_file", Description: "deletes a file",
				Schema: map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}, "required": []any{"path"}},
				Run: func(_ context.Context, call *hooks.ToolCall) error {
					path, err := call.StringArg("path")
					call.Result = "deleted " + path
					return err
				},
			},
		},
	}
}

func run(ctx context.Context, out io.Writer) error {
	server := fake.Start(model)
	defer server.Close()
	r := hooks.NewRegistry()
	if err := register(r, out); err != nil {
		return err
	}
	questions := desk.New(desk.Memory())
	ctx = hooks.WithDesk(hooks.WithScope(ctx, r), questions)

	st := new(hooksopenai.State)
	_, err := newLoop(server, out).Run(ctx, st, "Tidy up, please.")
	waits, ok := errors.AsType[*hooks.Suspended](err)
	if !ok {
		return fmt.Errorf("the run was to wait: %w", err)
	}
	saved, err := json.Marshal(st)
	if err != nil {
		return err
	}
	for _, q := range waits.Questions {
		fmt.Fprintf(out, "The run waits: %s %s %s\n", q.Prompt, q.Tool, q.Arguments)
		if err := questions.Decide(ctx, q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: "ann"}); err != nil {
			return err
		}
	}

	// From here on it might be another process.
	st = new(hooksopenai.State)
	if err := json.Unmarshal(saved, st); err != nil {
		return err
	}
	_, err = newLoop(server, out).Resume(ctx, st)
	return err
}
