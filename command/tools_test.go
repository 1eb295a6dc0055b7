package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/command"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/hookstest"
)

func TestPreToolUse_verdicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		reason  string // "" lets the call run
		stops   bool
	}{
		"no opinion":              {"true", "", false},
		"text is no opinion":      {"echo fine", "", false},
		"white space":             {`printf '\n \t'`, "", false},
		"status 2":                {"echo no rm >&2; exit 2", "no rm", false},
		"status 2 without words":  {"exit 2", "blocked by a hook script", false},
		"status 2 beats answers":  {says(decides("allow", "")) + "; echo no >&2; exit 2", "no", false},
		"status 2 after a pipe":   {"echo '  two\nlines  ' >&2; exit 2", "two\nlines", false},
		"allow":                   {says(decides("allow", "fine")), "", false},
		"deny":                    {says(decides("deny", "not today")), "not today", false},
		"deny without a reason":   {says(special("PreToolUse", object{"permissionDecision": "deny"})), "blocked by a hook script", false},
		"deny with another field": {says(object{"reason": "why", "hookSpecificOutput": object{"hookEventName": "PreToolUse", "permissionDecision": "deny"}}), "why", false},
		"white space in front":    {"printf '\n\t '; " + says(decides("deny", "no")), "no", false},
		"approve":                 {says(object{"decision": "approve", "reason": "fine"}), "", false},
		"block":                   {says(object{"decision": "block", "reason": "no"}), "no", false},
		"both":                    {says(object{"decision": "approve", "hookSpecificOutput": object{"hookEventName": "PreToolUse", "permissionDecision": "deny"}}), "blocked by a hook script", false},
		"the run ends":            {says(object{"continue": false, "stopReason": "enough"}), "enough", true},
		"the run ends somehow":    {says(object{"continue": false}), "a hook script stopped the run", true},
		"the run ends beside ask": {says(object{"continue": false, "stopReason": "enough", "hookSpecificOutput": object{"hookEventName": "PreToolUse", "permissionDecision": "ask"}}), "enough", true},
		"the run goes on":         {says(object{"continue": true, "stopReason": "enough", "suppressOutput": true}), "", false},
		"a script of two lines":   {"cat >/dev/null\nexit 2", "blocked by a hook script", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PreToolUse", script(c.command)), command.FailClosed())
			got := g.call("bash", map[string]any{"command": "ls"})
			assert.Empty(t, g.failures("pre_tool_call"))
			if c.reason == "" {
				assert.Nil(t, got.Blocked)
				assert.Equal(t, 1, got.runs)
				assert.Equal(t, "done", got.Result)
				return
			}
			assert.Equal(t, c.reason, reason(t, got))
			assert.Equal(t, "command.PreToolUse", got.Blocked.Source)
			assert.Contains(t, got.Result, c.reason)
			if c.stops {
				abort, ok := errors.AsType[*hooks.HookAborted](got.err)
				require.True(t, ok)
				assert.True(t, abort.StopRun)
			} else {
				assert.NoError(t, got.err)
			}
		})
	}
}

func TestPreToolUse_failures(t *testing.T) {
	t.Parallel()
	deny := decides("deny", "no")
	for name, c := range map[string]struct{ command, problem string }{
		"status 1":                     {"echo secret >&2; exit 1", "exit status 1"},
		"status 3":                     {"exit 3", "exit status 3"},
		"status 127":                   {"no-such-program-here", "exit status 127, as of a command that isn't found"},
		"a signal":                     {"kill -TERM $$", "signal: terminated"},
		"a denial with status 1":       {says(deny) + "; exit 1", "exit status 1"},
		"broken JSON":                  {`echo '{"decision":'`, "isn't a JSON object"},
		"two objects":                  {says(deny) + `; echo '{}'`, "trailing data"},
		"text behind":                  {says(deny) + `; echo bye`, "trailing data"},
		"text in front":                {"echo hello; " + says(deny), "something before the {"},
		"text in the same line":        {"printf hello; " + says(deny), "something before the {"},
		"a byte order mark in front":   {`printf '\357\273\277'; ` + says(deny), "something before the {"},
		"two equal keys":               {`echo '{"decision":"approve","decision":"block"}'`, "duplicate key"},
		"an unknown permission":        {says(decides("denied", "no")), `the permissionDecision "denied" is unknown`},
		"a permission in another case": {says(decides("Deny", "no")), `the permissionDecision "Deny" is unknown`},
		"an empty permission":          {says(decides("", "no")), `the permissionDecision "" is unknown`},
		"a permission that is null":    {says(special("PreToolUse", object{"permissionDecision": nil})), "hookSpecificOutput.permissionDecision isn't a string"},
		"an unknown decision":          {says(object{"decision": "deny"}), `the decision "deny" is unknown for PreToolUse`},
		"another event":                {says(special("PostToolUse", object{"permissionDecision": "deny"})), `the hookEventName is "PostToolUse" and not PreToolUse`},
		"continue as text":             {says(object{"continue": "false"}), "continue isn't a boolean"},
		"a reason that is a number":    {says(object{"decision": "block", "reason": 1}), "reason isn't a string"},
		"an edit that is text":         {says(special("PreToolUse", object{"updatedInput": "{}"})), "hookSpecificOutput.updatedInput isn't an object"},
		"special output that is text":  {says(object{"hookSpecificOutput": "x"}), "hookSpecificOutput isn't an object"},
		"a field in another case":      {says(object{"Decision": "block"}), "the fields Decision aren't known"},
		"a field in the wrong place":   {says(object{"permissionDecision": "deny"}), "the fields permissionDecision aren't known"},
		"an edit beside an odd field":  {says(object{"x": 1, "hookSpecificOutput": object{"hookEventName": "PreToolUse", "updatedInput": object{"a": 1}}}), "the fields x aren't known"},
		"too much output":              {"head -c 1048577 /dev/zero", "more than 1048576 bytes"},
		"too much output without end":  {"yes", "more than 1048576 bytes"},
		"too many words":               {"head -c 1048577 /dev/zero >&2; exit 2", "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PreToolUse", script(c.command)))
			got := g.call("bash", map[string]any{"command": "ls"})
			assert.Nil(t, got.Blocked)
			assert.Equal(t, 1, got.runs)
			assert.Equal(t, map[string]any{"command": "ls"}, got.saw)
			failures := g.failures("pre_tool_call")
			require.Len(t, failures, 1)
			assert.Contains(t, failures[0].Error(), "command: the PreToolUse script at $.hooks.PreToolUse[0].hooks[0] failed: ")
			assert.Contains(t, failures[0].Error(), c.problem)
			assert.NotContains(t, failures[0].Error(), "secret")

			closed := newRig(t, always("PreToolUse", script(c.command)), command.FailClosed())
			got = closed.call("bash", map[string]any{"command": "ls"})
			assert.Equal(t, "the hook script failed", reason(t, got))
			_, ok := errors.AsType[*command.ScriptError](got.Blocked.Err)
			assert.True(t, ok)
			assert.NoError(t, got.err, "the run goes on")
		})
	}
}

func TestPreToolUse_failureTellsWhatTheScriptWrote(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("true"), script("echo oops >&2; exit 7")))
	g.call("bash", nil)
	failures := g.failures("pre_tool_call")
	require.Len(t, failures, 1)
	assert.Equal(t, command.ScriptError{
		Event: "PreToolUse", Place: "$.hooks.PreToolUse[0].hooks[1]", Problem: "exit status 7", ExitCode: 7, Stderr: "oops\n",
	}, *failures[0])
	assert.Contains(t, logged.String(), "exit status 7")
}

func TestPreToolUse_onFailureBlocks(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("exit 1"), with(script("exit 5"), "onFailure", "block")))
	assert.Equal(t, "the hook script failed", reason(t, g.call("bash", nil)))
	g = newRig(t, always("PreToolUse", with(script("true"), "onFailure", "block")))
	assert.Nil(t, g.call("bash", nil).Blocked)
}

func TestPreToolUse_refusalBesideAnUnknownFieldCounts(t *testing.T) {
	t.Parallel()
	odd := decides("deny", "no")
	odd["novelty"] = true
	g := newRig(t, always("PreToolUse", script(says(odd))))
	assert.Equal(t, "no", reason(t, g.call("bash", nil)))
	assert.Len(t, g.failures("pre_tool_call"), 2, "of the hook, and as the cause of the abort")
}

func TestPreToolUse_unknownFieldsMayBeIgnored(t *testing.T) {
	t.Parallel()
	odd := updates(object{"a": 1})
	odd["noveltyToIgnore"] = true
	g := newRig(t, always("PreToolUse", script(says(odd))), command.IgnoreUnknown(nil))
	assert.Equal(t, map[string]any{"a": 1.0}, g.call("bash", nil).saw)
	assert.Empty(t, g.failures("pre_tool_call"))
	assert.Contains(t, logged.String(), "noveltyToIgnore")
}

func TestPreToolUse_strictestCounts(t *testing.T) {
	t.Parallel()
	allow, ask, stopRun := script(says(decides("allow", "a"))), script(says(decides("ask", "b"))), script(says(object{"continue": false, "stopReason": "d"}))
	deny := func(reason string) object {
		return script("echo " + reason + " >>ran; echo " + reason + " >&2; exit 2")
	}
	for name, c := range map[string]struct {
		handlers []object
		reason   string
	}{
		"deny behind allow":    {[]object{allow, deny("c")}, "c"},
		"deny before allow":    {[]object{deny("c"), allow}, "c"},
		"deny before ask":      {[]object{deny("c"), ask}, "c"},
		"deny behind ask":      {[]object{ask, deny("c")}, "c"},
		"the first of two":     {[]object{deny("c"), deny("e")}, "c"},
		"the end of the run":   {[]object{deny("c"), stopRun, deny("e")}, "d"},
		"deny behind failures": {[]object{script("exit 1"), deny("c"), script("exit 9")}, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PreToolUse", c.handlers...))
			assert.Equal(t, c.reason, reason(t, g.call("bash", nil)))
		})
	}
	g := newRig(t, always("PreToolUse", deny("c"), deny("e")))
	g.call("bash", nil)
	assert.Equal(t, "c\ne\n", g.file("ran"), "all scripts run, in order, once")
}

func TestPreToolUse_allowOverridesNobody(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(says(decides("allow", "")))))
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("never") }, hooks.In(g.registry), hooks.WithPriority(-100))
	assert.Equal(t, "never", reason(t, g.call("bash", nil)))
}

func TestPreToolUse_input(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("cat >input; pwd >pwd; echo $CLAUDE_PROJECT_DIR >project")), command.ToolNames(map[string]string{"run_shell": "Bash"}))
	g.call("Run Shell", map[string]any{"command": "a <b> & 'c'", "n": 12345678901234567})
	assert.JSONEq(t, encode(object{
		"session_id": "run-1", "transcript_path": "", "cwd": g.dir, "permission_mode": "default", "hook_event_name": "PreToolUse",
		"tool_name": "Bash", "tool_input": object{"command": "a <b> & 'c'", "n": 12345678901234567}, "tool_use_id": "call-1",
	}), g.file("input"))
	assert.Contains(t, g.file("input"), "12345678901234567")
	assert.Contains(t, g.file("input"), "<b> &")
	assert.Equal(t, g.dir+"\n", g.file("pwd"))
	assert.Equal(t, g.dir+"\n", g.file("project"))
}

func TestPreToolUse_emptyArgumentsAreAnObject(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("cat >input")))
	g.call("bash", nil)
	assert.Contains(t, g.file("input"), `"tool_input":{}`)
}

func TestPreToolUse_edits(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse",
		script(says(updates(object{"path": "a", "n": json.Number("12345678901234567")}))),
		script("cat >second; echo '"+encode(special("PreToolUse", object{"permissionDecision": "allow", "updatedInput": object{"path": "b"}}))+"'"),
		script("cat >third"),
	))
	got := g.call("write", map[string]any{"path": "x"})
	assert.Equal(t, map[string]any{"path": "b"}, got.saw, "the whole input is replaced")
	assert.Contains(t, g.file("second"), `"tool_input":{"n":12345678901234567,"path":"a"}`)
	assert.Contains(t, g.file("third"), `"tool_input":{"path":"b"}`)
}

func TestPreToolUse_editOfARefusalIsNone(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(says(special("PreToolUse", object{"permissionDecision": "deny", "updatedInput": object{"a": 1}})))))
	got := g.call("write", map[string]any{"a": 0})
	assert.Equal(t, "blocked by a hook script", reason(t, got))
	assert.Equal(t, map[string]any{"a": 0}, got.Input)
}

// later registers a hook behind the scripts that sets an argument.
func (g *rig) later(value any) {
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		c.Input["path"] = value
		return nil
	}, hooks.In(g.registry), hooks.WithPriority(-700))
}

// counting is a script that keeps count of its runs.
const counting = "echo x >>count; "

func TestPreToolUse_unchangedInputIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(counting+says(updates(object{"path": "b"})))))
	g.later("b")
	assert.Equal(t, map[string]any{"path": "b"}, g.call("write", map[string]any{"path": "a"}).saw)
	assert.Equal(t, "x\n", g.file("count"))
}

func TestPreToolUse_changedInputIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	pathOf := `p=$(sed 's/.*"path":"\([^"]*\)".*/\1/'); `
	for name, c := range map[string]struct {
		command string
		later   any
		reason  string
		saw     any
	}{
		"now refused":         {counting + pathOf + `case $p in c) echo "not $p" >&2; exit 2;; esac; echo '` + encode(updates(object{"path": "b"})) + `'`, "c", "not c", nil},
		"no longer refused":   {counting + pathOf + `case $p in a) echo "not $p" >&2; exit 2;; esac`, "c", "", "c"},
		"an edit comes late":  {counting + says(updates(object{"path": "b"})), "c", "a hook script would change the arguments once more", nil},
		"the same is no edit": {counting + pathOf + `case $p in a) p=b;; esac; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"path":"'$p'"}}}'`, "c", "", "c"},
		"a failure passes":    {counting + pathOf + `case $p in c) exit 1;; esac`, "c", "", "c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PreToolUse", script(c.command)))
			g.later(c.later)
			got := g.call("write", map[string]any{"path": "a"})
			assert.Equal(t, "x\nx\n", g.file("count"))
			if c.reason == "" {
				assert.Nil(t, got.Blocked)
				assert.Equal(t, map[string]any{"path": c.saw}, got.saw)
				return
			}
			assert.Contains(t, reason(t, got), c.reason)
		})
	}
}

func TestPreToolUse_goValuesThatStayAreNoEdit(t *testing.T) {
	t.Parallel()
	type place struct{ Z, A int }
	g := newRig(t, always("PreToolUse", script(`in=$(sed 's/.*"tool_input":\({.*}\),"tool_use_id.*/\1/'); echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":'"$in"'}}'`)))
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		c.Input["place"] = place{1, 2}
		return nil
	}, hooks.In(g.registry), hooks.WithPriority(-700))
	assert.Equal(t, map[string]any{"place": place{1, 2}}, g.call("go", nil).saw)
}

func TestPreToolUse_failedSecondAskingBlocks(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(`grep -q '"path":"c"' && exit 1; exit 0`)), command.FailClosed())
	g.later("c")
	assert.Equal(t, "the hook script failed", reason(t, g.call("write", map[string]any{"path": "a"})))
}

func TestPreToolUse_renamedToolIsAskedAboutByItsNewName(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings("PreToolUse", group("rm", script("echo no rm >&2; exit 2")), group("ls", script(counting))))
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		c.Name = "rm"
		return nil
	}, hooks.In(g.registry), hooks.WithPriority(-700))
	assert.Equal(t, "no rm", reason(t, g.call("ls", nil)))
	assert.Equal(t, "x\n", g.file("count"))
}

func TestPreToolUse_changeByAroundHookIsGuarded(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(`grep -q '"path":"c"' && exit 2; exit 0`)))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next func(context.Context) error) error {
		c.Input["path"] = "c"
		return next(ctx)
	}, hooks.In(g.registry))
	assert.Equal(t, "blocked by a hook script", reason(t, g.call("write", map[string]any{"path": "a"})))
}

func TestPreToolUse_unreadableArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []any{func() {}, "\xff"} {
		g := newRig(t, settings("PreToolUse", group("write", script(counting))))
		got := g.call("write", map[string]any{"path": value})
		assert.Equal(t, "command.PreToolUse failed", reason(t, got))
		assert.Empty(t, g.file("count"))
		assert.Nil(t, g.call("read", map[string]any{"path": value}).Blocked, "there is no script for it")
	}
}

func TestPreToolUse_unreadableArgumentsArePassedOver(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(counting+"exit 2")))
	c := &hooks.ToolCall{ID: "1", Name: "write"}
	require.Error(t, c.SetArguments("{"))
	require.NoError(t, hooks.RunTool(g.ctx, c, func(context.Context, *hooks.ToolCall) error { return nil }))
	assert.Nil(t, c.Blocked)
	assert.Contains(t, c.Result, "Tool was not run")
	assert.Empty(t, g.file("count"))
}

func TestPreToolUse_equalHandlersRunOnce(t *testing.T) {
	t.Parallel()
	same := func() object { return script(counting) }
	g := newRig(t, settings("PreToolUse", group("Bash", same(), same(), with(same(), "timeout", 600)), group("*", same()), group("other", same())))
	g.call("bash", nil)
	assert.Equal(t, "x\n", g.file("count"))

	g = newRig(t, settings("PreToolUse", group("Bash", same(), with(same(), "timeout", 5), with(same(), "onFailure", "block"))))
	g.call("bash", nil)
	assert.Equal(t, "x\nx\nx\n", g.file("count"), "these aren't equal")
}

func TestPreToolUse_additionalContextIsAddedToTheResult(t *testing.T) {
	t.Parallel()
	context1, context2 := script(says(special("PreToolUse", object{"additionalContext": "one"}))), script(says(special("PreToolUse", object{"additionalContext": "two"})))
	g := newRig(t, always("PreToolUse", context1, context2))
	assert.Equal(t, "done\n\none\n\ntwo", g.call("bash", nil).Result)

	g = newRig(t, always("PreToolUse", context1, script("echo no >&2; exit 2")))
	got := g.call("bash", nil)
	assert.Equal(t, "no", reason(t, got))
	assert.NotContains(t, got.Result, "one")
}

func TestPreToolUse_systemMessageIsLogged(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(says(object{"systemMessage": "mind the gap"}))))
	assert.Equal(t, "done", g.call("bash", nil).Result)
	assert.Contains(t, logged.String(), `message="mind the gap"`)
}

func TestPreToolUse_asks(t *testing.T) {
	t.Parallel()
	for _, permission := range []string{"ask", "defer"} {
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PreToolUse", script(says(decides(permission, "is it paid?")))))
			assert.Equal(t, "command.PreToolUse failed", reason(t, g.call("pay", nil)), "there is nobody to ask")

			d := desk.New(desk.Memory())
			g.ctx = hooks.WithDesk(g.ctx, d)
			x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-2"}}
			c := &hooks.ToolCall{ID: "call-1", Name: "pay", Input: map[string]any{"amount": 90}}
			runs := 0
			run := func() error {
				return hooks.RunExecution(g.ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
					return hooks.RunTool(ctx, c, func(context.Context, *hooks.ToolCall) error { runs++; return nil })
				})
			}
			waits, ok := errors.AsType[*hooks.Suspended](run())
			require.True(t, ok)
			require.Len(t, waits.Questions, 1)
			q := waits.Questions[0]
			assert.Equal(t, "command.PreToolUse", q.Key)
			assert.Equal(t, map[string]string{"reason": "is it paid?"}, q.Details)
			assert.JSONEq(t, `{"amount":90}`, q.Arguments)
			assert.Zero(t, runs)

			require.NoError(t, d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: "ana"}))
			x.Resumed = true
			require.NoError(t, run())
			assert.Equal(t, 1, runs)
		})
	}
}

func TestPreToolUse_askShowsTheEditAndRejectionBlocks(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(counting+says(special("PreToolUse", object{"permissionDecision": "ask", "updatedInput": object{"amount": 5}})))))
	d := hookstest.NewDesk(t, hookstest.Rejects("too dear"))
	g.ctx = hooks.WithDesk(g.ctx, d)
	assert.Equal(t, "too dear", reason(t, g.call("pay", map[string]any{"amount": 90})))
	require.Len(t, d.Asked(), 1)
	assert.JSONEq(t, `{"amount":5}`, d.Asked()[0].Arguments)
	assert.Equal(t, "x\n", g.file("count"))
}

func TestPreToolUse_editByThePersonIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(counting+`grep -q '"amount":1000' && exit 2; echo '`+encode(decides("ask", ""))+`'`)))
	d := hookstest.NewDesk(t, hookstest.Edits(`{"amount":1000}`))
	g.ctx = hooks.WithDesk(g.ctx, editable{d})
	got := g.call("pay", map[string]any{"amount": 90})
	require.NotNil(t, got.Blocked)
	assert.Zero(t, got.runs, "what a person writes isn't beyond a script")
}

// editable is a desk whose questions may be answered by an edit.
type editable struct{ *hookstest.Desk }

func (d editable) Ask(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
	q.May = append(q.May, hooks.Approve, hooks.Reject, hooks.Edit)
	return d.Desk.Ask(ctx, q)
}

func TestPreToolUse_deskIsAskedOnceForSeveralScripts(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(says(decides("ask", "one"))), script(says(decides("ask", "two")))))
	d := hookstest.NewDesk(t, hookstest.Approves())
	g.ctx = hooks.WithDesk(g.ctx, d)
	assert.Equal(t, 1, g.call("pay", nil).runs)
	require.Len(t, d.Asked(), 1)
	assert.Equal(t, map[string]string{"reason": "one"}, d.Asked()[0].Details)
}

func TestPreToolUse_parallelCallsAreConcurrentSafe(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(`n=$(sed 's/.*"n":\([0-9]*\).*/\1/'); echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"n":'$n',"seen":true}}}'; test $n != 3 || { echo "not $n" >&2; exit 2; }`)))
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			c := &hooks.ToolCall{ID: fmt.Sprint(n), Name: "bash", Input: map[string]any{"n": n}}
			err := hooks.RunTool(g.ctx, c, func(_ context.Context, c *hooks.ToolCall) error {
				assert.Equal(t, map[string]any{"n": float64(n), "seen": true}, c.Input)
				return nil
			})
			assert.NoError(t, err)
			assert.Equal(t, n == 3, c.Blocked != nil, "call %d", n)
		})
	}
	group.Wait()
}

func TestPreToolUse_registeredTwiceRunsTwice(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(counting)))
	second := g.config.Register(hooks.In(g.registry), hooks.WithName("again"))
	g.call("bash", nil)
	assert.Equal(t, "x\nx\n", g.file("count"))
	second.Remove()
	g.call("bash", nil)
	assert.Equal(t, "x\nx\nx\n", g.file("count"))
}

func TestPreToolUse_optionsOfHooksApply(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	g := newRig(t, "{}")
	load(t, always("PreToolUse", script("exit 2")), command.Dir(g.dir)).Register(hooks.In(r), hooks.WithTools("rm"), hooks.WithName("mine"))
	g.ctx = hookstest.Context(t, r)
	assert.Nil(t, g.call("ls", nil).Blocked)
	got := g.call("rm", nil)
	reason(t, got)
	assert.Equal(t, "mine", got.Blocked.Source)
}

func TestPreToolUse_manyArgumentsThatNobodyReads(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("echo no >&2; exit 2")))
	assert.Equal(t, "no", reason(t, g.call("write", map[string]any{"content": strings.Repeat("x", 4<<20)})))
	g = newRig(t, always("PreToolUse", script("exec <&-; exit 0")), command.FailClosed())
	assert.Nil(t, g.call("write", map[string]any{"content": strings.Repeat("x", 4<<20)}).Blocked)
}

func TestPreToolUse_subAgentsAreGuardedToo(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(`cat >>input; echo >>input; exit 2`)))
	inner := &hooks.ToolCall{ID: "inner", Name: "rm"}
	x := &hooks.Execution{Caller: hooks.Caller{RunID: "outer"}}
	require.NoError(t, hooks.RunExecution(g.ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunTool(ctx, inner, func(context.Context, *hooks.ToolCall) error { return nil })
		})
	}))
	assert.NotNil(t, inner.Blocked)
	assert.Contains(t, g.file("input"), `"session_id":"outer"`)
}
