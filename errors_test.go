package hooks_test

// Aborts: how a hook refuses, how its refusal is found in an error or a panic,
// and what its texts tell.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestHookAborted_comesOutAsTheHookGaveIt(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	cause := errors.New("cause")
	given := &hooks.HookAborted{Reason: "over budget", Message: "Use a smaller model.", Source: "billing", StopRun: true, Err: cause}
	hooks.On(hooks.PreModelCall, fails[hooks.ModelCall](given), hooks.In(r), hooks.WithName("hook"))
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{}))
	assert.Equal(t, &hooks.HookAborted{
		Reason: "over budget", Message: "Use a smaller model.", Source: "billing", StopRun: true,
		Point: "pre_model_call", Err: cause,
	}, abort)
	assert.ErrorIs(t, abort, cause)
}

func TestAbort_isTheShortForm(t *testing.T) {
	t.Parallel()
	assert.Equal(t, error(&hooks.HookAborted{Reason: "no"}), hooks.Abort("no"))
	assert.NotSame(t, hooks.Abort("no"), hooks.Abort("no"))
}

func TestHookAborted_sourceIsTheHookByDefault(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	reg := hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r), hooks.WithName("policy"))
	assert.Equal(t, "policy", aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})).Source)
	reg.Remove()
	reg = hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	assert.Equal(t, reg.Name(), aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})).Source)
	assert.Regexp(t, `^errors_test\.go:\d+$`, reg.Name())
}

// Edits that were made before stay.
func TestHookAborted_stopsTheChain(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["a"] = 1 }), hooks.In(r))
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		c.Input["b"] = 2
		return hooks.Abort("no")
	}, hooks.In(r))
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["c"] = 3 }), hooks.In(r))
	call := &hooks.ToolCall{}
	aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
	assert.Equal(t, map[string]any{"a": 1, "b": 2}, call.Input)
}

// Whatever the other hooks would have decided, the first abort stands.
func TestHookAborted_isNotOverridden(t *testing.T) {
	t.Parallel()
	abort := fails[hooks.ToolCall](hooks.Abort("no"))
	replaces := edit(func(c *hooks.ToolCall) { c.Input = map[string]any{"cmd": "ls"} })
	answers := edit(func(c *hooks.ToolCall) { c.Answer("ok") })
	for name, order := range map[string][]hooks.Func[hooks.ToolCall]{
		"first":  {abort, replaces, answers},
		"middle": {replaces, abort, answers},
		"last":   {replaces, answers, abort},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			for _, h := range order {
				hooks.On(hooks.PreToolCall, h, hooks.In(r))
			}
			assert.Equal(t, "no", aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{})).Reason)

			call := &hooks.ToolCall{Name: "sh"}
			require.NoError(t, hooks.RunTool(ctx, call, edit(func(*hooks.ToolCall) { assert.Fail(t, "the tool ran") })))
			require.NotNil(t, call.Blocked)
			assert.Equal(t, "no", call.Blocked.Reason)
		})
	}
}

// convertible holds an abort that only its As method gives away.
type convertible struct{ abort *hooks.HookAborted }

func (convertible) Error() string { return "convertible" }
func (c convertible) As(target any) bool {
	if to, ok := target.(**hooks.HookAborted); ok {
		*to = c.abort
		return true
	}
	return false
}

// An abort is found as errors.As finds it, behind a nil one, and in the error
// with which a hook panics.
func TestHookAborted_isFoundInErrors(t *testing.T) {
	t.Parallel()
	var none *hooks.HookAborted
	abort := hooks.Abort("no")
	for name, err := range map[string]error{
		"bare":                 abort,
		"wrapped":              fmt.Errorf("hook: %w", abort),
		"wrapped twice":        fmt.Errorf("a: %w", fmt.Errorf("b: %w", abort)),
		"one of two wrapped":   fmt.Errorf("%w and %w", io.EOF, abort),
		"joined":               errors.Join(io.EOF, abort),
		"joined and wrapped":   fmt.Errorf("a: %w", errors.Join(io.EOF, fmt.Errorf("b: %w", abort))),
		"by an As method":      convertible{&hooks.HookAborted{Reason: "no"}},
		"behind a nil one":     errors.Join(none, abort),
		"beside a wrapped nil": errors.Join(fmt.Errorf("a: %w", none), abort),
		"behind an As of nil":  errors.Join(convertible{}, abort),
	} {
		for _, tt := range []struct {
			how   string
			hook  hooks.Func[hooks.Step]
			check func(*testing.T, error) // of the cause
		}{
			{"returned", fails[hooks.Step](err), func(t *testing.T, cause error) {
				if name == "bare" {
					assert.NoError(t, cause)
				} else {
					assert.Equal(t, err, cause, "the wrapping error is the cause")
				}
			}},
			{"panicked", panics[hooks.Step](err), func(t *testing.T, cause error) {
				panicked, ok := errors.AsType[*hooks.PanicError](cause)
				require.True(t, ok)
				assert.Equal(t, err, panicked.Value)
			}},
		} {
			t.Run(name+", "+tt.how, func(t *testing.T) {
				t.Parallel()
				ctx, r := newRun(t)
				hooks.On(hooks.PreStep, tt.hook, hooks.In(r), hooks.WithName("policy"))
				hooks.On(hooks.PreStep, edit(func(*hooks.Step) { assert.Fail(t, "ran after an abort") }), hooks.In(r))
				got := aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
				assert.Equal(t, "no", got.Reason)
				assert.Equal(t, "policy", got.Source)
				assert.Equal(t, hooks.InterceptionPoint("pre_step"), got.Point)
				tt.check(t, got.Err)
			})
		}
	}
}

func TestHookAborted_keepsItsOwnCause(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreStep, fails[hooks.Step](fmt.Errorf("wrapped: %w", &hooks.HookAborted{Reason: "no", Err: io.EOF})), hooks.In(r))
	got := aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, io.EOF, got.Err)
}

// What an inner dispatch said stays true where its abort is handed on.
func TestHookAborted_keepsItsPointWhenNested(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](hooks.Abort("no rm")), hooks.In(r), hooks.WithName("inner"))
	hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
		return fmt.Errorf("step: %w", hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "rm"}))
	}, hooks.In(r), hooks.WithName("outer"))
	got := aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "no rm", got.Reason)
	assert.Equal(t, "inner", got.Source)
	assert.Equal(t, hooks.InterceptionPoint("pre_tool_call"), got.Point)
}

// refusal is an abort as programs keep it.
var refusal = &hooks.HookAborted{Reason: "not allowed"}

// An abort that many hooks return is never written.
func TestHookAborted_sharedConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	record(t, r)
	hooks.On(hooks.PreStep, fails[hooks.Step](refusal), hooks.In(r), hooks.WithName("step"))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](fmt.Errorf("wrapped: %w", refusal)), hooks.In(r), hooks.WithName("tool"))
	hooks.On(hooks.PreModelCall, panics[hooks.ModelCall](refusal), hooks.In(r), hooks.WithName("model"))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				step := hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{})
				tool := hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{})
				model := hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{})
				for source, err := range map[string]error{"step": step, "tool": tool, "model": model} {
					abort, ok := errors.AsType[*hooks.HookAborted](err)
					if assert.True(t, ok) {
						assert.Equal(t, source, abort.Source)
						assert.NotSame(t, refusal, abort)
					}
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, &hooks.HookAborted{Reason: "not allowed"}, refusal)
}

func TestHookAborted_typedNilIsAFailure(t *testing.T) {
	t.Parallel()
	var none *hooks.HookAborted
	for name, err := range map[string]error{
		"bare": none, "wrapped": fmt.Errorf("hook: %w", none), "joined": errors.Join(io.EOF, none),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			events := record(t, r)
			var tr trace
			reg := hooks.On(hooks.PreStep, fails[hooks.Step](err), hooks.In(r))
			hooks.On(hooks.PreStep, note[hooks.Step](&tr, "next"), hooks.In(r))
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Equal(t, "next", tr.take())
			run := events.one(t).Hooks[0]
			assert.Equal(t, hooks.OutcomeFailed, run.Outcome)
			require.Error(t, run.Err)
			assert.Contains(t, run.Err.Error(), "nil *HookAborted")

			reg.Remove()
			hooks.On(hooks.PreStep, fails[hooks.Step](err), hooks.In(r), hooks.AsGuard())
			abort := aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
			assert.Equal(t, "a guard failed", abort.Reason)
		})
	}
}

// Not parallel: it sets the logger.
func TestPanicError_nilIsAnErrorLikeAny(t *testing.T) {
	hooks.SetLogger(slog.New(slog.DiscardHandler))
	defer hooks.SetLogger(nil)
	var none *hooks.PanicError
	assert.Equal(t, "<nil *PanicError>", none.Error())
	require.NoError(t, none.Unwrap())
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](none), hooks.In(r))
	hooks.On(hooks.PostToolCall, note[hooks.ToolCall](&tr, "post"), hooks.In(r))
	call := &hooks.ToolCall{Name: "ls"}
	require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error {
		tr.add("body")
		return none
	}))
	assert.Equal(t, "body post", tr.take())
	assert.True(t, call.IsError())
}

func TestHookAborted_nilHasSafeMethods(t *testing.T) {
	t.Parallel()
	var none *hooks.HookAborted
	assert.NotEmpty(t, none.Error())
	assert.NoError(t, none.Unwrap())
	assert.Empty(t, none.PublicText())
}

// The text tells point, source and reason alone.
func TestHookAborted_textHidesTheCause(t *testing.T) {
	t.Parallel()
	secret := errors.New("password hunter2")
	for _, tt := range []struct {
		abort hooks.HookAborted
		want  []string
	}{
		{hooks.HookAborted{Reason: "over budget", Source: "billing", Point: "pre_model_call", Err: secret}, []string{"pre_model_call", "billing", "over budget"}},
		{hooks.HookAborted{Reason: "over budget", Err: secret}, []string{"over budget"}},
		{hooks.HookAborted{Source: "billing", Message: "for the model", Err: secret}, []string{"billing"}},
		{hooks.HookAborted{Point: "input", Err: secret}, []string{"input"}},
		{hooks.HookAborted{Err: secret}, nil},
	} {
		text := tt.abort.Error()
		assert.True(t, strings.HasPrefix(text, "hooks: "), text)
		assert.Contains(t, text, "abort")
		for _, part := range tt.want {
			assert.Contains(t, text, part)
		}
		assert.NotContains(t, text, "hunter2")
		assert.ErrorIs(t, &tt.abort, secret, "errors.Is finds the cause")
	}
}

// The public text is the message, or else the reason.
func TestHookAborted_publicText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		abort hooks.HookAborted
		want  string
	}{
		{hooks.HookAborted{Reason: "r", Message: "m", Source: "s", Err: io.EOF}, "m"},
		{hooks.HookAborted{Reason: "r", Source: "s", Err: io.EOF}, "r"},
		{hooks.HookAborted{Source: "s", Err: io.EOF}, ""},
	} {
		assert.Equal(t, tt.want, tt.abort.PublicText())
	}
}

func TestAbortRun_stopsTheRun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, &hooks.HookAborted{Reason: "over budget", StopRun: true}, hooks.AbortRun("over budget"))
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](hooks.AbortRun("over budget")), hooks.In(r))
	call := &hooks.ToolCall{Name: "ls"}
	abort := aborted(t, hooks.RunTool(ctx, call, seamReturns("a")))
	assert.True(t, abort.StopRun)
	assert.Same(t, abort, call.Blocked)
}

// JSON holds no cause, which may hold secrets, however an abort is encoded.
func TestHookAborted_jsonHidesTheCause(t *testing.T) {
	t.Parallel()
	abort := hooks.HookAborted{Reason: "no", Message: "m", Source: "s", StopRun: true, Point: "p", Err: errors.New("sk-secret")}
	const want = `{"Reason":"no","Message":"m","Source":"s","StopRun":true,"Point":"p"}`
	for name, v := range map[string]any{"value": abort, "pointer": &abort, "error": error(&abort)} {
		raw, err := json.Marshal(v)
		require.NoError(t, err, name)
		assert.JSONEq(t, want, string(raw), name)
	}
	raw, err := json.Marshal([]any{(*hooks.HookAborted)(nil), hooks.HookAborted{}, struct{ Blocked *hooks.HookAborted }{&abort}})
	require.NoError(t, err)
	assert.JSONEq(t, `[null,{},{"Blocked":`+want+`}]`, string(raw))
}
