package policy_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A tool that reads files of one directory. The guard tells the model what is wrong
// with a path; that nothing outside is opened is what the root is for.
func ExamplePaths() {
	dir, err := os.MkdirTemp("", "work")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()
	if err := root.WriteFile("notes.txt", []byte("buy milk"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	reg := hooks.NewRegistry()
	policy.Paths{Root: root}.Register(hooks.In(reg), hooks.WithTools("read_file"))
	ctx := hooks.WithScope(context.Background(), reg)

	readFile := func(ctx context.Context, call *hooks.ToolCall) error {
		root, ok := policy.RootFrom(ctx)
		if !ok {
			return errors.New("read_file needs a working directory")
		}
		name, err := call.StringArg("path")
		if err != nil {
			return err
		}
		text, err := root.ReadFile(name)
		call.Result = string(text)
		return err
	}
	for _, path := range []string{`docs\..\notes.txt`, "../notes.txt", "notes.txt/"} {
		call := &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": path}}
		if err := hooks.RunTool(ctx, call, readFile); err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(call.Result)
	}
	// Output:
	// buy milk
	// Tool execution blocked by hook. Tool: read_file. Reason: path must stay inside the working directory
	// Tool execution blocked by hook. Tool: read_file. Reason: path must not end in a slash
}
