package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/command"
	"github.com/loophooks/hooks/hookstest"
)

// logged is what the process logs, for all tests: each looks for words of its own.
var logged logLines

type logLines struct {
	mu    sync.Mutex
	lines strings.Builder // protected by mu
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	os.Exit(m.Run())
}

// object is part of a settings file.
type object = map[string]any

// script is a handler that runs a command.
func script(command string) object { return object{"type": "command", "command": command} }

// with adds a field to a handler or a group.
func with(o object, key string, value any) object {
	o[key] = value
	return o
}

// group is handlers for the tools that matcher covers.
func group(matcher string, handlers ...object) object {
	return object{"matcher": matcher, "hooks": handlers}
}

// settings is a file with groups for one event.
func settings(event string, groups ...object) string {
	return encode(object{"hooks": object{event: groups}})
}

// always is a file with handlers for one event, whatever the tool.
func always(event string, handlers ...object) string {
	return settings(event, object{"hooks": handlers})
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// says is a command that answers with v.
func says(v any) string { return "cat >/dev/null; echo '" + encode(v) + "'" }

// special is an answer for one event.
func special(event string, fields object) object {
	fields["hookEventName"] = event
	return object{"hookSpecificOutput": fields}
}

// decides is an answer of a PreToolUse script.
func decides(permission, reason string) object {
	return special("PreToolUse", object{"permissionDecision": permission, "permissionDecisionReason": reason})
}

// updates is an answer that edits.
func updates(input object) object { return special("PreToolUse", object{"updatedInput": input}) }

// rig is scripts in a registry of their own, and a folder that they run in.
type rig struct {
	t        *testing.T
	dir      string
	registry *hooks.Registry
	config   *command.Config
	events   *hookstest.Recorder
	ctx      context.Context
}

// newRig registers the scripts of the settings.
func newRig(t *testing.T, settings string, opts ...command.Option) *rig {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of these tests are for sh, which Windows doesn't have; what is refused there is tested everywhere")
	}
	g := &rig{t: t, dir: t.TempDir(), registry: hookstest.Registry(t)}
	g.config = load(t, settings, append([]command.Option{command.Dir(g.dir)}, opts...)...)
	g.config.Register(hooks.In(g.registry))
	g.events = hookstest.Record(g.registry)
	g.ctx = hookstest.Context(t, g.registry)
	return g
}

func load(t *testing.T, settings string, opts ...command.Option) *command.Config {
	t.Helper()
	config, err := command.Load(strings.NewReader(settings), opts...)
	require.NoError(t, err)
	return config
}

// call is a tool call and what became of it.
type call struct {
	*hooks.ToolCall
	runs int
	saw  map[string]any // by the body
	err  error          // of the seam
}

func (g *rig) call(tool string, input map[string]any) *call {
	g.t.Helper()
	return g.callWith(tool, input, func(context.Context, *hooks.ToolCall) error { return nil })
}

// callWith calls a tool whose body sets the result "done" and does what body does.
func (g *rig) callWith(tool string, input map[string]any, body func(context.Context, *hooks.ToolCall) error) *call {
	g.t.Helper()
	c := &call{ToolCall: &hooks.ToolCall{ID: "call-1", Name: tool, Input: input}}
	x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-1"}, Inputs: map[string]any{"prompt": "go"}}
	err := hooks.RunExecution(g.ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
		c.err = hooks.RunTool(ctx, c.ToolCall, func(ctx context.Context, t *hooks.ToolCall) error {
			c.runs++
			c.saw = t.Input
			t.Result = "done"
			return body(ctx, t)
		})
		return nil
	})
	require.NoError(g.t, err)
	return c
}

// execute runs an execution whose body writes output, and returns it, the prompt that
// the body saw and the error.
func (g *rig) execute(inputs map[string]any, output any) (x *hooks.Execution, prompt any, err error) {
	x = &hooks.Execution{Caller: hooks.Caller{RunID: "run-1"}, Inputs: inputs}
	err = hooks.RunExecution(g.ctx, x, func(_ context.Context, x *hooks.Execution) error {
		prompt = x.Inputs["prompt"]
		x.Output = output
		return nil
	})
	return x, prompt, err
}

// file returns what a script has written to a file of the folder, "" if there is none.
func (g *rig) file(name string) string {
	raw, err := os.ReadFile(filepath.Join(g.dir, name))
	if !os.IsNotExist(err) {
		require.NoError(g.t, err)
	}
	return string(raw)
}

// failures returns what hooks of the point failed with, aborts' causes included.
func (g *rig) failures(point hooks.InterceptionPoint) []*command.ScriptError {
	var found []*command.ScriptError
	for _, e := range g.events.Events() {
		for _, run := range e.Hooks {
			if e.Point == point {
				found = append(found, scriptErrors(run.Err)...)
			}
		}
	}
	return found
}

func scriptErrors(err error) []*command.ScriptError {
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) {
		if failure, ok := errors.AsType[*command.ScriptError](err); ok {
			return []*command.ScriptError{failure}
		}
		return nil
	}
	var all []*command.ScriptError
	for _, e := range several.Unwrap() {
		all = append(all, scriptErrors(e)...)
	}
	return all
}

func reason(t *testing.T, c *call) string {
	t.Helper()
	require.NotNil(t, c.Blocked, "the call wasn't blocked; its result: %s", c.Result)
	require.Zero(t, c.runs)
	return c.Blocked.Reason
}
