package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/loophooks/hooks"
)

// A filter sees an answer while the model still writes it. Of a word that is cut in
// two it holds the first half until it has seen the second.
func ExampleOnStream() {
	run := hooks.NewRegistry() // a program without tenants or tests leaves In out
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			name := []byte("Rumpelstiltskin")
			if at := bytes.Index(w.Text(), name); at >= 0 {
				w.Replace(at, at+len(name), "(guess!)")
				return nil
			}
			for n := min(len(name)-1, len(w.Text())); n > 0 && !w.Final(); n-- {
				if bytes.HasSuffix(w.Text(), name[:n]) {
					w.Hold(len(w.Text()) - n)
					break
				}
			}
			return nil
		}
	}, hooks.In(run))

	m := &hooks.ModelCall{}
	err := hooks.RunModel(hooks.WithScope(context.Background(), run), m, func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
			fmt.Printf("%q\n", c.Text)
			return nil
		})
		for _, piece := range []string{"My name", " is Rum", "pelstilt", "skin", "."} {
			if err := out.Push(hooks.Chunk{Text: piece}); err != nil {
				return out.End(err)
			}
		}
		return out.End(nil)
	})
	fmt.Println(m.Response, err)
	// Output:
	// "My name"
	// " is "
	// "(guess!)"
	// "."
	// My name is (guess!). <nil>
}

// A filter that is a guard ends the stream: nothing more is shown, and the call fails
// with the abort.
func ExampleOnStream_guard() {
	run := hooks.NewRegistry()
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		shown := 0
		return func(_ context.Context, w *hooks.Window) error {
			if shown += len(w.Text()); shown > 20 {
				return hooks.Abort("the answer is too long")
			}
			return nil
		}
	}, hooks.In(run), hooks.AsGuard())

	m := &hooks.ModelCall{}
	err := hooks.RunModel(hooks.WithScope(context.Background(), run), m, func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
			fmt.Println(c.Text)
			return nil
		})
		for {
			if err := out.Push(hooks.Chunk{Text: "and so on"}); err != nil {
				return out.End(err)
			}
		}
	})
	if abort, ok := errors.AsType[*hooks.HookAborted](err); ok {
		fmt.Println("ended:", abort.Reason)
	}
	// Output:
	// and so on
	// and so on
	// ended: the answer is too long
}

// The body of a tool shows what a program prints while it runs. What is shown is also
// the result that the model reads.
func ExampleOpenStream() {
	call := &hooks.ToolCall{Name: "shell", Input: map[string]any{"command": "echo one; echo two"}}
	err := hooks.RunTool(context.Background(), call, func(ctx context.Context, t *hooks.ToolCall) error {
		command, err := t.StringArg("command")
		if err != nil {
			return err
		}
		out := hooks.OpenStream(ctx, hooks.ToolStream, t, func(c hooks.Chunk) error {
			_, err := os.Stdout.WriteString(c.Text)
			return err
		})
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Stdout = out
		return out.End(cmd.Run())
	})
	fmt.Printf("%q %v\n", call.Result, err)
	// Output:
	// one
	// two
	// "one\ntwo\n" <nil>
}
