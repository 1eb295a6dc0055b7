package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loophooks/hooks/command"
)

func TestMatcher(t *testing.T) {
	t.Parallel()
	for matcher, c := range map[string]struct{ covers, not []string }{
		"":               {[]string{"bash", "", "x y"}, nil},
		"*":              {[]string{"bash", "run_shell"}, nil},
		"Bash":           {[]string{"bash", "Bash", "BASH", "run_shell", "Run Shell", "runShell"}, []string{"bash_tool", "shell"}},
		"run_shell":      {[]string{"run_shell", "run-shell"}, []string{"bash"}},
		"Edit|Write":     {[]string{"edit", "write"}, []string{"edit_write", "rewrite", "bash"}},
		"Edit, Write ,|": {[]string{"edit", "Write"}, []string{"bash", ""}},
		"Read File":      {[]string{"readFile", "read_file"}, []string{"read", "file"}},
		"mcp__fs__write": {[]string{"mcp__fs__write"}, []string{"mcp__fs__write_all"}},
		"天气":             {[]string{"天气"}, []string{"用户", "天气2"}},
		"हिन्दी":         {[]string{"हिन्दी"}, []string{"xहिन्दीx"}},
		"mcp__.*":        {[]string{"mcp__fs__write", "x_mcp__y"}, []string{"bash"}},
		"^Bash$":         {[]string{"Bash", "run_shell"}, []string{"bash", "Bash2"}},
		"Ba.h":           {[]string{"Bash", "xBashx", "run_shell"}, []string{"bash"}},
		"^read_file$":    {[]string{"Read File", "read_file", "readFile"}, []string{"read_files"}},
		"(?i)bash":       {[]string{"BASH", "subash"}, []string{"sh"}},
		"Notebook.*|X":   {[]string{"NotebookEdit", "X"}, []string{"notebook"}},
	} {
		t.Run(matcher, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, settings("PreToolUse", group(matcher, script("exit 2"))), command.ToolNames(map[string]string{"run_shell": "Bash"}))
			for _, name := range c.covers {
				assert.NotNil(t, g.call(name, nil).Blocked, "%q", name)
			}
			for _, name := range c.not {
				assert.Nil(t, g.call(name, nil).Blocked, "%q", name)
			}
		})
	}
}
