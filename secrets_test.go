package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// secret is what no text that the package composes may hold.
const secret = "hunter2"

// composed returns the text of an event, without the hooks' own errors.
func composed(ev hooks.HookDispatchedEvent) string {
	text := fmt.Sprintf("%s %s %s %s %s %s %s", ev.Point, ev.Outcome, ev.AbortReason, ev.AbortSource, ev.RunID, ev.AgentRole, ev.ToolName)
	for _, h := range ev.Hooks {
		text += fmt.Sprintf(" %s %s", h.Name, h.Outcome)
	}
	return text
}

func TestNoTextThatThePackageComposesHoldsASecret(t *testing.T) {
	log := captureLog(t)
	secretErr := errors.New("login failed: " + secret)
	for name, hook := range map[string]hooks.Func[hooks.ToolCall]{
		"error":              fails[hooks.ToolCall](secretErr),
		"panic with a text":  panics[hooks.ToolCall](secret),
		"panic with a map":   panics[hooks.ToolCall](map[string]string{"password": secret}),
		"panic with error":   panics[hooks.ToolCall](secretErr),
		"abort with a cause": fails[hooks.ToolCall](&hooks.HookAborted{Reason: "no", Err: secretErr}),
		"wrapped abort":      fails[hooks.ToolCall](fmt.Errorf("%s: %w", secret, hooks.Abort("no"))),
		"edits":              edit(func(c *hooks.ToolCall) { c.Input["more"] = secret; c.Result = secret }),
	} {
		for kind, option := range map[string]hooks.Option{"hook": nil, "guard": hooks.AsGuard(), "fail-closed": hooks.WithFailClosed()} {
			t.Run(name+" of a "+kind, func(t *testing.T) {
				ctx, r := newRun(t)
				events := record(t, r)
				hooks.On(hooks.PreToolCall, hook, hooks.In(r), option)
				newCall := func() *hooks.ToolCall {
					return &hooks.ToolCall{Name: "login", ID: "1", Input: map[string]any{"password": secret}}
				}
				if err := hooks.Dispatch(ctx, hooks.PreToolCall, newCall()); err != nil {
					assert.NotContains(t, err.Error(), secret)
					assert.NotContains(t, aborted(t, err).PublicText(), secret)
				}
				call := newCall()
				require.NoError(t, hooks.RunTool(ctx, call, edit(func(c *hooks.ToolCall) { c.Result = "ok" })))
				assert.NotContains(t, call.Result, secret)
				for _, ev := range events.take() {
					assert.NotContains(t, composed(ev), secret)
				}
				for _, line := range log.take() {
					assert.NotContains(t, line.msg, secret)
					for key, value := range line.attrs {
						if key != "error" || name != "error" {
							assert.NotContains(t, value.String(), secret, key)
						}
					}
				}
			})
		}
	}
}

// What is given to the log as an error may be formatted by any handler.
func TestAPanicsValueDoesNotGetIntoTheLogByFormatting(t *testing.T) {
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			hooks.SetLogger(slog.New(handler(&out)))
			t.Cleanup(func() { hooks.SetLogger(nil) })
			ctx, r := newRun(t)
			r.Observe(hooks.SlogObserver(slog.New(handler(&out))))
			hooks.On(hooks.PreStep, panics[hooks.Step](errors.New(secret)), hooks.In(r))
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{Input: secret}))
			assert.Contains(t, out.String(), "*errors.errorString")
			assert.NotContains(t, out.String(), secret)
		})
	}
}

// Events are made of the payload after the hooks, and hold none of it.
func TestWhatAHookRedactsIsNowhereBeforeOrAfter(t *testing.T) {
	log := captureLog(t)
	ctx, r := newRun(t)
	var all []string
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { all = append(all, fmt.Sprintf("%+v", ev)) })
	for _, p := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Output, hooks.ExecutionEnd} {
		hooks.On(p, fails[hooks.Execution](nil), hooks.In(r))
	}
	hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error {
		x.Inputs = map[string]any{"card": "***"}
		return errBroken
	}, hooks.In(r))
	x := &hooks.Execution{Inputs: map[string]any{"card": "4111-1111"}}
	require.NoError(t, hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error {
		assert.Equal(t, map[string]any{"card": "***"}, x.Inputs)
		return nil
	}))
	require.Len(t, all, 4)
	for _, line := range log.take() {
		all = append(all, fmt.Sprintf("%s %v", line.msg, line.attrs))
	}
	for _, text := range all {
		assert.NotContains(t, text, "4111")
	}
}
