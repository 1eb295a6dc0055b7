package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/command"
	"github.com/loophooks/hooks/hookstest"
)

func aborted(t *testing.T, err error) *hooks.HookAborted {
	t.Helper()
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(t, ok, "%v", err)
	return abort
}

func TestPrompts_scriptsOfBothEvents(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"UserPromptSubmit", "SessionStart"} {
		for name, c := range map[string]struct {
			command string
			prompt  string // "" is refused
			reason  string
		}{
			"no opinion":           {"true", "go", ""},
			"text":                 {"printf ' it is Monday \n\n'", "go\n\nit is Monday", ""},
			"text with braces":     {"echo 'write {name} or {\"a\":1}'", "go\n\nwrite {name} or {\"a\":1}", ""},
			"context":              {says(special(event, object{"additionalContext": "it is Monday"})), "go\n\nit is Monday", ""},
			"block":                {says(object{"decision": "block", "reason": "no"}), "", "no"},
			"status 2":             {"echo no; echo no >&2; exit 2", "", "no"},
			"the run ends":         {says(object{"continue": false, "stopReason": "no"}), "", "no"},
			"status 1":             {"echo text; exit 1", "go", "the hook script failed"},
			"approve":              {says(object{"decision": "approve"}), "go", "the hook script failed"},
			"a permission":         {says(special(event, object{"permissionDecision": "deny"})), "go", "the hook script failed"},
			"text before answers":  {"echo hello; " + says(object{"decision": "block"}), "go", "the hook script failed"},
			"an object of no kind": {`echo '{"a":1}'`, "go", "the hook script failed"},
			"another event":        {says(special("PreToolUse", object{"additionalContext": "x"})), "go", "the hook script failed"},
		} {
			t.Run(event+"/"+name, func(t *testing.T) {
				t.Parallel()
				g := newRig(t, always(event, script("cat >/dev/null; "+counting+c.command)))
				_, prompt, err := g.execute(map[string]any{"prompt": "go"}, nil)
				assert.Equal(t, "x\n", g.file("count"))
				if c.prompt == "" {
					assert.Equal(t, c.reason, aborted(t, err).Reason)
					assert.Nil(t, prompt)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, c.prompt, prompt)

				closed := newRig(t, always(event, with(script(c.command), "onFailure", "block")))
				_, _, err = closed.execute(map[string]any{"prompt": "go"}, nil)
				if c.reason == "" {
					require.NoError(t, err)
				} else {
					assert.Equal(t, c.reason, aborted(t, err).Reason)
				}
			})
		}
	}
}

func TestUserPromptSubmit_input(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("UserPromptSubmit", script("cat >input; echo more"), script("cat >second")), command.Prompt("question"))
	x, _, err := g.execute(map[string]any{"question": "why?", "prompt": "other"}, nil)
	require.NoError(t, err)
	assert.JSONEq(t, encode(object{
		"session_id": "run-1", "transcript_path": "", "cwd": g.dir, "permission_mode": "default",
		"hook_event_name": "UserPromptSubmit", "prompt": "why?",
	}), g.file("input"))
	assert.Contains(t, g.file("second"), `"prompt":"why?\n\nmore"`)
	assert.Equal(t, map[string]any{"question": "why?\n\nmore", "prompt": "other"}, x.Inputs)
}

func TestUserPromptSubmit_withoutAPrompt(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("UserPromptSubmit", script("cat >input; echo more")))
	x, _, err := g.execute(nil, nil)
	require.NoError(t, err)
	assert.Contains(t, g.file("input"), `"prompt":""`)
	assert.Equal(t, map[string]any{"prompt": "more"}, x.Inputs)
}

func TestUserPromptSubmit_unreadablePromptIsRefused(t *testing.T) {
	t.Parallel()
	for _, prompt := range []any{[]string{"a"}, "\xff"} {
		g := newRig(t, always("UserPromptSubmit", script(counting)))
		_, _, err := g.execute(map[string]any{"prompt": prompt}, nil)
		assert.Equal(t, "command.UserPromptSubmit failed", aborted(t, err).Reason)
		assert.Empty(t, g.file("count"))
	}
}

func TestUserPromptSubmit_changedPromptIsAskedAgain(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("UserPromptSubmit", script(counting+"if grep -q secret; then echo no secrets >&2; exit 2; fi; echo more")))
	later := "a secret"
	hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error {
		x.Inputs["prompt"] = later
		return nil
	}, hooks.In(g.registry), hooks.WithPriority(-10))
	_, _, err := g.execute(map[string]any{"prompt": "go"}, nil)
	assert.Equal(t, "no secrets", aborted(t, err).Reason)
	assert.Equal(t, "x\nx\n", g.file("count"))

	later = "nothing"
	_, prompt, err := g.execute(map[string]any{"prompt": "a secret"}, nil)
	require.NoError(t, err)
	assert.Equal(t, "nothing", prompt, "a guard adds nothing")
}

func TestSessionStart_input(t *testing.T) {
	t.Parallel()
	for source, resumed := range map[string]bool{"startup": false, "resume": true} {
		g := newRig(t, always("SessionStart", script("cat >input")))
		x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-1"}, Resumed: resumed}
		require.NoError(t, hooks.RunExecution(g.ctx, x, func(context.Context, *hooks.Execution) error { return nil }))
		assert.JSONEq(t, encode(object{
			"session_id": "run-1", "transcript_path": "", "cwd": g.dir, "permission_mode": "default",
			"hook_event_name": "SessionStart", "source": source,
		}), g.file("input"))
	}
}

func TestSessionStart_textForAPromptThatIsNoneFails(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("SessionStart", script(counting+"echo text")))
	_, prompt, err := g.execute(map[string]any{"prompt": 7}, nil)
	require.NoError(t, err)
	assert.Equal(t, 7, prompt)
	require.Len(t, g.failures("execution_start"), 1)
	assert.Equal(t, "x\n", g.file("count"))

	g = newRig(t, always("SessionStart", script("true")))
	_, _, err = g.execute(map[string]any{"prompt": 7}, nil)
	require.NoError(t, err)
	assert.Empty(t, g.failures("execution_start"), "there is no text to add")
}

func TestSessions_areOutermostExecutions(t *testing.T) {
	t.Parallel()
	g := newRig(t, encode(object{"hooks": object{
		"SessionStart": []object{group("", script("echo start >>ran"))}, "SessionEnd": []object{group("*", script("echo end >>ran"))},
		"UserPromptSubmit": []object{group("", script("echo prompt >>ran"))},
	}}))
	// That of a run on another machine is outermost here.
	x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-1", ParentRunID: "elsewhere", RootRunID: "there"}}
	require.NoError(t, hooks.RunExecution(g.ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunExecution(ctx, &hooks.Execution{}, func(context.Context, *hooks.Execution) error { return nil })
		})
	}))
	assert.Equal(t, "start\nprompt\nprompt\nprompt\nend\n", g.file("ran"))
	_, _, err := g.execute(nil, nil)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(g.file("ran"), "start"), "the next one is outermost again")
}

func TestSessionStart_dispatchedByHand(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("SessionStart", script(counting)))
	require.NoError(t, hooks.Dispatch(g.ctx, hooks.ExecutionStart, &hooks.Execution{}))
	require.NoError(t, hooks.Dispatch(g.ctx, hooks.ExecutionStart, &hooks.Execution{Caller: hooks.Caller{ParentRunID: "outer"}}))
	assert.Equal(t, "x\n", g.file("count"))
}

func TestSessionEnd_canOnlyLook(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("SessionEnd", script("cat >input; echo cannot end >&2; exit 2"), script("exit 41"), script(says(object{"continue": false}))), command.FailClosed())
	x, _, err := g.execute(nil, "output")
	require.NoError(t, err)
	assert.Equal(t, "output", x.Output)
	assert.JSONEq(t, encode(object{
		"session_id": "run-1", "transcript_path": "", "cwd": g.dir, "permission_mode": "default",
		"hook_event_name": "SessionEnd", "reason": "other",
	}), g.file("input"))
	assert.Contains(t, logged.String(), "exit status 41")
}

func TestSessionEnd_runsForARunThatWasCancelled(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("SessionEnd", script(counting)))
	ctx, cancel := context.WithCancel(g.ctx)
	_ = hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		cancel()
		return ctx.Err()
	})
	assert.Equal(t, "x\n", g.file("count"))
}

func TestSessionEnd_hasLittleTime(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("SessionEnd", script("sleep 600")))
	_, _, err := g.execute(nil, nil)
	require.NoError(t, err)
	assert.Contains(t, logged.String(), "it took more than 1.5s and was killed")
}

func TestStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ command, reason string }{
		"no opinion":   {"true", ""},
		"text":         {"echo fine", ""},
		"status 2":     {"echo no tests >&2; exit 2", "no tests"},
		"block":        {says(object{"decision": "block", "reason": "no tests"}), "no tests"},
		"the run ends": {says(object{"continue": false, "stopReason": "enough"}), "enough"},
		"a failure":    {"exit 1", ""},
		"context":      {says(special("Stop", object{"additionalContext": "x"})), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("Stop", script(c.command)), command.StopAborts())
			x, _, err := g.execute(nil, "42")
			if c.reason == "" {
				require.NoError(t, err)
				assert.Equal(t, "42", x.Output)
				return
			}
			assert.Equal(t, c.reason, aborted(t, err).Reason)
			assert.Nil(t, x.Output)
		})
	}
	g := newRig(t, always("Stop", script("exit 43")), command.StopAborts(), command.FailClosed())
	_, _, err := g.execute(nil, "42")
	assert.Equal(t, "the hook script failed", aborted(t, err).Reason)
	_, ok := errors.AsType[*command.ScriptError](err)
	assert.True(t, ok)
}

func TestStop_input(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("Stop", script("cat >input")), command.StopAborts())
	_, _, err := g.execute(nil, "42")
	require.NoError(t, err)
	want := object{
		"session_id": "run-1", "transcript_path": "", "cwd": g.dir, "permission_mode": "default",
		"hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "42",
	}
	assert.JSONEq(t, encode(want), g.file("input"))
	_, _, err = g.execute(nil, 42)
	require.NoError(t, err)
	delete(want, "last_assistant_message")
	assert.JSONEq(t, encode(want), g.file("input"))
}

func TestStop_failedExecutionHasNoOutput(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("Stop", script(counting)), command.StopAborts())
	require.Error(t, hooks.RunExecution(g.ctx, &hooks.Execution{}, func(context.Context, *hooks.Execution) error { return errTool }))
	assert.Empty(t, g.file("count"))
}

func TestRegister_onlyWhereThereAreScripts(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	config := load(t, `{"hooks":{"PreToolUse":[{"hooks":[]}],"SessionEnd":[{"hooks":[{"type":"command","command":"true"}]}]}}`, shell())
	config.Register(hooks.In(r))
	assert.Empty(t, r.Hooks(hooks.PreToolCall))
	require.Len(t, r.Hooks(hooks.ExecutionEnd), 1)
	assert.Equal(t, "command.SessionEnd", r.Hooks(hooks.ExecutionEnd)[0].Name())
}
