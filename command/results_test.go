package command_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/command"
)

var errTool = errors.New("no such table")

// both is a file with a script for each of the two events behind a tool.
func both(ok, failed string) string {
	return encode(object{"hooks": object{
		"PostToolUse":        []object{group("", script(ok))},
		"PostToolUseFailure": []object{group("", script(failed))},
	}})
}

func TestPostToolUse_runsForCallsThatRan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(*hooks.ToolCall) error
		body   error
		want   string
	}{
		"ran":              {nil, nil, "ok\n"},
		"failed":           {nil, errTool, "failed\n"},
		"refused":          {func(*hooks.ToolCall) error { return hooks.Abort("no") }, nil, ""},
		"answered":         {func(c *hooks.ToolCall) error { c.Answer("known"); return nil }, nil, ""},
		"there is no tool": {nil, hooks.ErrNoTool, ""},
		"waits":            {nil, hooks.PassThrough(errTool), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, both("echo ok >>ran", "echo failed >>ran"))
			if c.before != nil {
				hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error { return c.before(call) }, hooks.In(g.registry))
			}
			call := &hooks.ToolCall{ID: "1", Name: "bash"}
			_ = hooks.RunTool(g.ctx, call, func(context.Context, *hooks.ToolCall) error { return c.body })
			assert.Equal(t, c.want, g.file("ran"))
		})
	}
}

func TestPostToolUse_input(t *testing.T) {
	t.Parallel()
	g := newRig(t, both("cat >input", "cat >failure"), command.ToolNames(map[string]string{"query": "Sql"}))
	g.call("query", map[string]any{"q": "x"})
	common := object{
		"session_id": "run-1", "transcript_path": "", "cwd": g.dir, "permission_mode": "default",
		"tool_name": "Sql", "tool_input": object{"q": "x"}, "tool_use_id": "call-1", "tool_response": "done",
	}
	assert.JSONEq(t, encode(with(common, "hook_event_name", "PostToolUse")), g.file("input"))
	g.callWith("query", map[string]any{"q": "x"}, func(_ context.Context, c *hooks.ToolCall) error {
		c.Result = ""
		return errTool
	})
	with(with(with(common, "hook_event_name", "PostToolUseFailure"), "error", "no such table"), "is_interrupt", false)
	assert.JSONEq(t, encode(with(common, "tool_response", "no such table")), g.file("failure"))
}

func TestPostToolUse_addsToTheResult(t *testing.T) {
	t.Parallel()
	more := func(event string) string { return says(special(event, object{"additionalContext": "more"})) }
	for name, c := range map[string]struct {
		command  string
		want     string
		failures int
	}{
		"no opinion":         {"true", "done", 0},
		"text":               {"echo hello", "done", 0},
		"context":            {more("PostToolUse"), "done\n\nmore", 0},
		"block":              {says(object{"decision": "block", "reason": "look again"}), "done\n\nlook again", 0},
		"block with context": {says(object{"decision": "block", "reason": "look again", "hookSpecificOutput": object{"additionalContext": "more"}}), "done\n\nlook again\n\nmore", 0},
		"status 2":           {"echo look >&2; exit 2", "done\n\nlook", 0},
		"a failure":          {"exit 1", "done", 1},
		"approve":            {says(object{"decision": "approve"}), "done", 1},
		"another event":      {more("PreToolUse"), "done", 1},
		"a permission":       {says(special("PostToolUse", object{"permissionDecision": "deny"})), "done", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PostToolUse", script(c.command)))
			got := g.call("bash", nil)
			assert.Equal(t, c.want, got.Result)
			assert.Len(t, g.failures("post_tool_call"), c.failures)
			assert.Nil(t, got.Blocked)
			assert.NoError(t, got.Err)
		})
	}
}

func TestPostToolUse_failuresMayBeAdded(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PostToolUse", script("echo one >&2; exit 2"), script("exit 1")), command.FailClosed())
	assert.Equal(t, "done\n\none\n\nthe hook script failed", g.call("bash", nil).Result)
	require.Len(t, g.failures("post_tool_call"), 1)
}

func TestPostToolUse_eachReadsWhatStandsThen(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PostToolUse", script("echo one >&2; exit 2"), script("cat >second")))
	g.call("bash", nil)
	assert.Contains(t, g.file("second"), `"tool_response":"done\n\none"`)
}

func TestPostToolUse_continueFalseEndsTheRun(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PostToolUse", script(says(object{"continue": false, "stopReason": "enough"}))))
	got := g.call("bash", nil)
	abort, ok := errors.AsType[*hooks.HookAborted](got.err)
	require.True(t, ok)
	assert.True(t, abort.StopRun)
	assert.Equal(t, "enough", abort.Reason)
	assert.NotContains(t, got.Result, "done", "the result is withheld")
}

func TestPostToolUse_partsGetAnotherPart(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PostToolUse", script("echo look >&2; exit 2")))
	got := g.callWith("bash", nil, func(_ context.Context, c *hooks.ToolCall) error {
		c.Result, c.Parts = "", []hooks.Part{{Kind: "image"}}
		return nil
	})
	assert.Equal(t, []hooks.Part{{Kind: "image"}, {Kind: "text", Text: "look"}}, got.Parts)
	assert.Empty(t, got.Result)
}

func TestPostToolUseFailure_addsToTheResult(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PostToolUseFailure", script(says(special("PostToolUseFailure", object{"additionalContext": "try again"})))))
	got := g.callWith("bash", nil, func(_ context.Context, c *hooks.ToolCall) error {
		c.Result = ""
		return errTool
	})
	assert.Equal(t, "no such table\n\ntry again", got.Result)
	assert.Equal(t, errTool, got.Err)
}

func TestPostToolUse_matchers(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings("PostToolUse", group("Bash", script("exit 2"))), command.ToolNames(map[string]string{"run_shell": "Bash"}))
	assert.Contains(t, g.call("run_shell", nil).Result, "blocked by")
	assert.Equal(t, "done", g.call("write", nil).Result)
}
