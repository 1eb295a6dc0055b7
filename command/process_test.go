//go:build unix

package command_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/command"
	"github.com/loophooks/hooks/hookstest"
)

// pipe makes a named pipe in the folder of the rig and opens it for reading: at its
// end everybody has ended who had it open for writing.
func (g *rig) pipe(name string) *os.File {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	require.NoError(g.t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = f.Close() })
	return f
}

// gone waits until nobody has the pipe open any more.
func gone(t *testing.T, f *os.File) {
	t.Helper()
	require.NoError(t, f.SetReadDeadline(time.Now().Add(20*time.Second)))
	var b [64]byte
	for {
		if _, err := f.Read(b[:]); err != nil {
			assert.EqualError(t, err, "EOF", "something is left running")
			return
		}
	}
}

func TestProcess_timeoutLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]string{
		"the script itself":               "exec 3>alive; echo x >&3; sleep 600",
		"a child that it waits for":       "exec 3>alive; echo x >&3; sleep 600; true",
		"a background child":              "exec 3>alive; echo x >&3; sleep 600 & wait",
		"a background child with outputs": "exec 3>alive; echo x >&3; (sleep 600; echo y) & sleep 600",
		"one that ignores signals":        `trap '' TERM INT HUP; exec 3>alive; echo x >&3; (trap '' TERM; sleep 600) & while :; do sleep 600; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PreToolUse", with(script(c), "timeout", 0.5)))
			alive := g.pipe("alive")
			begun := time.Now()
			got := g.call("bash", nil)
			assert.Less(t, time.Since(begun), 15*time.Second)
			gone(t, alive)
			assert.Equal(t, 1, got.runs)
			failures := g.failures("pre_tool_call")
			require.Len(t, failures, 1)
			assert.Contains(t, failures[0].Error(), "it took more than 500ms and was killed")
			assert.Equal(t, -1, failures[0].ExitCode)
		})
	}
}

func TestProcess_timeoutBlocksWhereFailuresDo(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", with(script("sleep 600"), "timeout", 0.1)), command.FailClosed())
	assert.Equal(t, "the hook script failed", reason(t, g.call("bash", nil)))
}

func TestProcess_endOfTheScriptLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]string{
		"a child without outputs":         "exec 3>alive; echo x >&3; sleep 600 >/dev/null 2>&1 & echo no >&2; exit 2",
		"a child that holds the outputs":  "exec 3>alive; echo x >&3; sleep 600 & echo no >&2; exit 2",
		"a child that holds all of them":  "exec 3>alive; echo x >&3; sleep 600 <&0 & echo no >&2; exit 2",
		"a child whose script is refused": "exec 3>alive; echo x >&3; sleep 600 & echo '{\"decision\":\"block\",\"reason\":\"no\"}'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PreToolUse", script(c)), command.FailClosed())
			alive := g.pipe("alive")
			assert.Equal(t, "no", reason(t, g.call("bash", map[string]any{"content": strings.Repeat("x", 1<<20)})), "what the script said counts")
			gone(t, alive)
		})
	}
}

func TestProcess_waitsForOutputOfChildren(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script(`(sleep 0.3; echo '{"decision":"block","reason":"late"}') & exit 0`)))
	assert.Equal(t, "late", reason(t, g.call("bash", nil)))
}

func TestProcess_whoLeavesTheGroupIsWaitedForALittle(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid, by which a child leaves the group, isn't installed; it comes with util-linux")
	}
	for name, c := range map[string]struct {
		command  string
		failures int
	}{
		"ends":  {"setsid sleep 20 & exit 0", 0},
		"hangs": {"setsid sleep 20 & sleep 600", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, always("PreToolUse", with(script(c.command), "timeout", 0.5)))
			begun := time.Now()
			assert.Equal(t, 1, g.call("bash", nil).runs)
			assert.Less(t, time.Since(begun), 15*time.Second)
			assert.Len(t, g.failures("pre_tool_call"), c.failures)
		})
	}
}

func TestProcess_tooMuchOutputLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("exec 3>alive; echo x >&3; yes | cat")))
	alive := g.pipe("alive")
	assert.Equal(t, 1, g.call("bash", nil).runs)
	gone(t, alive)
	require.Len(t, g.failures("pre_tool_call"), 1)
}

func TestProcess_outputUpToTheBoundIsTaken(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("head -c 1048576 /dev/zero | tr '\\0' ' '; head -c 1048573 /dev/zero | tr '\\0' ' ' >&2; echo no >&2; exit 2")))
	assert.Equal(t, "no", reason(t, g.call("bash", nil)))
}

func TestProcess_cancelledRunKillsTheScript(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("exec 3>alive; echo x >started; sleep 600 & sleep 600"), script("echo x >>second")))
	alive := g.pipe("alive")
	started := filepath.Join(g.dir, "started")
	require.NoError(t, syscall.Mkfifo(started, 0o600))
	ctx, cancel := context.WithCancel(g.ctx)
	go func() {
		f, err := os.Open(started) // returns when the script opens it, too
		if assert.NoError(t, err) {
			defer f.Close() // behind cancel, so that the script isn't ended by a broken pipe
			_, err = f.Read(make([]byte, 1))
			assert.NoError(t, err)
		}
		cancel()
	}()
	c := &hooks.ToolCall{ID: "1", Name: "bash"}
	err := hooks.RunTool(ctx, c, func(context.Context, *hooks.ToolCall) error {
		t.Error("the tool runs")
		return nil
	})
	assert.True(t, err != nil || c.Blocked != nil)
	gone(t, alive)
	assert.Empty(t, g.file("second"), "no further script is started")
}

func TestProcess_hookTimeoutLeavesTheDecisionToTheGuard(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	g := newRig(t, "{}")
	g.ctx = hookstest.Context(t, r)
	load(t, always("PreToolUse", script("sleep 600")), command.Dir(g.dir)).Register(hooks.In(r), hooks.WithTimeout(100*time.Millisecond))
	assert.Equal(t, "command.PreToolUse failed", reason(t, g.call("bash", nil)), "a guard that is late refuses")
}

func TestProcess_environment(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("/usr/bin/env >env")), command.Env([]string{"A=1", "CLAUDE_PROJECT_DIR=/elsewhere"}))
	g.call("bash", nil)
	env := strings.Split(strings.TrimSpace(g.file("env")), "\n")
	assert.Contains(t, env, "A=1")
	assert.Contains(t, env, "CLAUDE_PROJECT_DIR="+g.dir)
	assert.NotContains(t, g.file("env"), "HOME=")

	g = newRig(t, always("PreToolUse", script("env >env")), command.Env(nil))
	g.call("bash", nil)
	assert.NotContains(t, g.file("env"), "HOME=", "nil is an empty environment")
}

func TestProcess_environmentOfTheProcess(t *testing.T) {
	g := newRig(t, always("PreToolUse", script("env >env")))
	t.Setenv("COMMAND_TEST", "later")
	g.call("bash", nil)
	assert.Contains(t, g.file("env"), "COMMAND_TEST=later")
	assert.Contains(t, g.file("env"), "CLAUDE_PROJECT_DIR="+g.dir)
}

func TestProcess_shell(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("a b 'c'")), command.Shell("sh", "-c", `printf '%s' "$1" >args`, "name"))
	g.call("bash", nil)
	assert.Equal(t, "a b 'c'", g.file("args"))
}

func TestProcess_whatCannotBeStartedFails(t *testing.T) {
	t.Parallel()
	g := newRig(t, always("PreToolUse", script("true")))
	require.NoError(t, os.Remove(g.dir))
	assert.Equal(t, 1, g.call("bash", nil).runs)
	failures := g.failures("pre_tool_call")
	require.Len(t, failures, 1)
	assert.Contains(t, failures[0].Error(), "it couldn't be started")
	require.ErrorIs(t, failures[0], os.ErrNotExist)
}
