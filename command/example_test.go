package command_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/command"
)

// A script that was written for Claude Code's tool Bash guards run_shell here.
func Example() {
	const settings = `{
	  "hooks": {
	    "PreToolUse": [
	      {
	        "matcher": "Bash",
	        "hooks": [
	          {
	            "type": "command",
	            "command": "if grep -q 'rm -rf'; then echo 'move it to the bin instead' >&2; exit 2; fi",
	            "timeout": 10
	          }
	        ]
	      }
	    ]
	  }
	}`
	config, err := command.Load(strings.NewReader(settings),
		command.ToolNames(map[string]string{"run_shell": "Bash"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := hooks.NewRegistry()
	scripts := config.Register(hooks.In(registry))
	defer scripts.Remove()
	ctx := hooks.WithScope(context.Background(), registry)

	for _, line := range []string{"ls", "rm -rf /srv"} {
		call := &hooks.ToolCall{ID: "call-1", Name: "run_shell", Input: map[string]any{"command": line}}
		err := hooks.RunTool(ctx, call, func(_ context.Context, t *hooks.ToolCall) error {
			t.Result = "it ran"
			return nil
		})
		fmt.Println(line, "->", call.Result, err)
	}
	// Output:
	// ls -> it ran <nil>
	// rm -rf /srv -> Tool execution blocked by hook. Tool: run_shell. Reason: move it to the bin instead <nil>
}

// What can't be honoured is told with its place when the settings are loaded.
func ExampleLoad() {
	_, err := command.Load(strings.NewReader(`{
	  "hooks": {
	    "PreToolUse": [{"hooks": [{"type": "command", "command": "./log.sh", "async": true}]}]
	  }
	}`))
	fmt.Println(err)
	// Output:
	// command: $.hooks.PreToolUse[0].hooks[0].async: a script whose answer nobody waits for can't be honoured; take the field out, and let the script start what is to go on
}
