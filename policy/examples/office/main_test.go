package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// Behind a change of the scenes: go test ./examples/office -run Golden -update.
var update = flag.Bool("update", false, "write what the program prints to testdata/office.txt")

const golden = "testdata/office.txt"

// outcome is what a person sees of one run of the program.
type outcome struct {
	status      int
	out, errOut string
}

func runOffice(ctx context.Context, stdin string, args ...string) outcome {
	var out, errOut bytes.Buffer
	status := run(ctx, args, strings.NewReader(stdin), &out, &errOut)
	return outcome{status, out.String(), errOut.String()}
}

func goldenText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	return string(text)
}

// Not parallel, so that no goroutines are there but those of this run.
func TestRun_leavesNothingBehind(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	require.Zero(t, runOffice(t.Context(), "").status)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left, "the folder of the office")

	// The last ones of a server and a script may still be on their way out.
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		var stacks bytes.Buffer
		assert.NoError(c, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
		for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
			if strings.Contains(stack, "TestRun_leavesNothingBehind") || strings.Contains(stack, "testing.(*T)") {
				continue
			}
			for _, frame := range []string{"loophooks/hooks", "net/http", "os/exec"} {
				assert.NotContains(c, stack, frame)
			}
		}
	}, 10*time.Second, time.Millisecond)
}

func TestRun_printsTheGoldenText(t *testing.T) {
	t.Parallel()
	got := runOffice(t.Context(), "")
	require.Equal(t, exitOK, got.status, got.errOut)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.out), 0o600))
	}
	assert.Equal(t, goldenText(t), got.out)
	assert.Empty(t, got.errOut)
}

// Two offices at once share nothing, and so print the same.
func TestRun_printsTheSameTwice(t *testing.T) {
	t.Parallel()
	runs := make(chan outcome)
	for range 2 {
		go func() { runs <- runOffice(t.Context(), "") }()
	}
	one, other := <-runs, <-runs
	assert.Equal(t, one, other)
	assert.Equal(t, goldenText(t), one.out)
}

func TestRun_showsEachPolicy(t *testing.T) {
	t.Parallel()
	o, err := openOffice()
	require.NoError(t, err)
	defer func() { assert.NoError(t, o.close()) }()
	scripts, err := loadScripts("", o.dir)
	require.NoError(t, err)
	rules := hooks.NewRegistry()
	register(rules, o, scripts, &bill{})

	printed := goldenText(t)
	for policy, shown := range map[string]string{
		"Approval": "Approval:", "Audit": "The audit log", "Budget": "Budget:", "Cache": "Cache:", "Fallback": "Fallback:",
		"History": "History:", "Loops": "Loops:", "Paths": "Paths:", "Rate": "Rate:", "Redact": "Redact:", "Retry": "Retry:",
		"Schema": "Schema:", "Timeout": "Timeout:", "Tools": "Tools:", "Truncate": "Truncate:", "URLs": "URLs:",
	} {
		assert.Contains(t, rules.String(), "policy."+policy)
		assert.Contains(t, printed, shown)
	}
	assert.Contains(t, rules.String(), "command.PreToolUse")
}

func TestRun_asksAtTheTerminal(t *testing.T) {
	t.Parallel()
	approved := strings.Replace(goldenText(t), "approve, by ana", "approve, by you", 1)
	for name, tt := range map[string]struct {
		typed  string
		status int
		want   []string
	}{
		"yes":          {"yes\n", exitOK, []string{"approve, by you", "paid 1200 to NO93 8601 1117 947"}},
		"no":           {"no\n", exitOK, []string{"reject, by you", "Tool: pay. Reason: not approved\n"}},
		"a blank line": {"\n", exitOK, []string{"reject, by you", "Tool: pay. Reason: not approved\n"}},
		"end of input": {"", exitFailed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runOffice(t.Context(), tt.typed, "-ask")
			assert.Equal(t, tt.status, got.status, got.errOut)
			for _, want := range tt.want {
				assert.Contains(t, got.out, want)
			}
			for _, shown := range []string{"Pay this bill?", `"amount": 1200`} {
				assert.Contains(t, got.errOut, shown, "the person sees what would run")
			}
			switch name {
			case "yes":
				assert.Equal(t, approved, got.out)
			case "end of input":
				assert.Contains(t, got.errOut, "nobody answered")
				assert.NotContains(t, got.out, "paid")
				assert.NotContains(t, got.out, "The bill")
			default:
				assert.NotContains(t, got.out, "paid")
				assert.Contains(t, got.out, "The bill")
			}
		})
	}
}

func TestRun_badUsage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":  {[]string{"-polcy", "x"}, "-polcy"},
		"no file named": {[]string{"-policy"}, "flag needs an argument"},
		"empty name":    {[]string{"-policy="}, "the name of the file is empty"},
		"not a flag":    {[]string{"settings.json"}, `office: "settings.json" isn't expected`},
		"no such file":  {[]string{"-policy", filepath.Join(folder, "none.json")}, "none.json"},
		"a folder":      {[]string{"-policy", folder}, "office: settings " + folder},
		"not JSON":      {[]string{"-policy", write("text.json", "hooks: none")}, "text.json: command: "},
		"empty":         {[]string{"-policy", write("empty.json", "")}, "empty.json: command: "},
		"unknown event": {[]string{"-policy", write("event.json", `{"hooks":{"PreCompact":[]}}`)}, "PreCompact"},
		"asynchronous":  {[]string{"-policy", write("async.json", `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true","async":true}]}]}}`)}, "$.hooks.PreToolUse[0].hooks[0].async"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runOffice(t.Context(), "", tt.args...)
			assert.Equal(t, exitUsage, got.status)
			assert.Contains(t, got.errOut, tt.want)
			assert.Empty(t, got.out)
		})
	}
}

func TestRun_help(t *testing.T) {
	t.Parallel()
	got := runOffice(t.Context(), "", "-help")
	assert.Equal(t, exitOK, got.status)
	assert.Contains(t, got.errOut, "-policy file")
	assert.Contains(t, got.errOut, "-ask")
}

// Another settings file takes the place of the embedded one: without hooks the command
// runs, and with others they decide.
func TestRun_otherSettings(t *testing.T) {
	t.Parallel()
	before, after, ok := strings.Cut(goldenText(t), "Error: Tool execution blocked by hook. Tool: run_shell.")
	require.True(t, ok)
	_, after, ok = strings.Cut(after, "\n")
	require.True(t, ok)
	for name, tt := range map[string]struct {
		settings string
		want     func(t *testing.T, out string)
	}{
		"no hooks": {`{}`, func(t *testing.T, out string) {
			assert.True(t, strings.HasPrefix(out, before+"it ran\n"))
			assert.NotContains(t, out, "Tool: run_shell")
			assert.NotEmpty(t, after)
		}},
		"a script that asks": {`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":
			"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\"}}'"}]}]}}`, func(t *testing.T, out string) {
			assert.Contains(t, out, `run_shell {"command":"rm -r old"}`+"\n  decided       approve, by ana\n  model reads   it ran\n")
		}},
		"a script that asks about everything": {`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":
			"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\"}}'"}]}]}}`, func(t *testing.T, out string) {
			assert.Contains(t, out, "model reads   Today: soup, fish, cake\n")
			assert.Contains(t, out, "paid 1200")
			for _, question := range []string{"The agent wants to run pay.", "Pay this bill?"} {
				assert.Contains(t, out, "run waits     "+question, "both guards ask")
			}
		}},
		"a script that never asks the same": {`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":
			"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\",\"updatedInput\":{\"command\":\"'$$'\"}}}'"}]}]}}`, func(t *testing.T, out string) {
			assert.Contains(t, out, "run ends      it still waits after 10 times\n")
			assert.NotContains(t, out, "it ran")
			assert.Contains(t, out, "paid 1200", "the next scene is played")
		}},
		"a script that refuses prompts": {`{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":
			"if grep -q rent; then echo 'the rent is paid already' >&2; exit 2; fi"}]}]}}`, func(t *testing.T, out string) {
			assert.Contains(t, out, "run ends      ")
			assert.Contains(t, out, "the rent is paid already")
			assert.NotContains(t, out, "paid 1200")
			assert.Contains(t, out, "The bill")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "settings.json")
			require.NoError(t, os.WriteFile(file, []byte(tt.settings), 0o600))
			got := runOffice(t.Context(), "", "-policy", file)
			require.Equal(t, exitOK, got.status, got.errOut)
			tt.want(t, got.out)
		})
	}
}

// writer calls at before each write, with its number from 1.
type writer struct {
	n  int
	at func(n int) error
}

func (w *writer) Write(p []byte) (int, error) {
	w.n++
	if err := w.at(w.n); err != nil {
		return 0, err
	}
	return len(p), nil
}

func TestRun_interrupted(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 1, len(scenes) - 1} {
		ctx, cancel := context.WithCancel(t.Context())
		if at == 0 {
			cancel()
		}
		var errOut bytes.Buffer
		out := &writer{at: func(n int) error {
			if n == at {
				cancel()
			}
			return nil
		}}
		assert.Equal(t, exitInterrupted, run(ctx, nil, strings.NewReader(""), out, &errOut), at)
		assert.Equal(t, "office: interrupted\n", errOut.String())
		assert.Equal(t, at, out.n, "nothing is played behind it")
		cancel()
	}
}

func TestRun_interruptedAtTheQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdin, keyboard, err := os.Pipe()
	require.NoError(t, err)
	defer stdin.Close()
	defer keyboard.Close()
	errOut := &terminalOf{cancel: cancel}
	assert.Equal(t, exitInterrupted, run(ctx, []string{"-ask"}, stdin, &bytes.Buffer{}, errOut))
	errOut.mu.Lock()
	defer errOut.mu.Unlock()
	assert.Contains(t, errOut.shown.String(), "office: interrupted\n")
}

// terminalOf is that of somebody who types Ctrl-C at the question. It may still be being
// written when the program says something else.
type terminalOf struct {
	cancel func()

	mu    sync.Mutex
	shown bytes.Buffer
}

func (w *terminalOf) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.shown.Write(p)
	if strings.Contains(w.shown.String(), "Pay this bill?") {
		w.cancel()
	}
	return n, err
}

func TestRun_outputCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, len(scenes) + 1} {
		var errOut bytes.Buffer
		out := &writer{at: func(n int) error {
			if n == at {
				return errors.New("no space left")
			}
			return nil
		}}
		assert.Equal(t, exitFailed, run(t.Context(), nil, strings.NewReader(""), out, &errOut), at)
		assert.Equal(t, "office: no space left\n", errOut.String())
		assert.Equal(t, at, out.n)
	}
}
