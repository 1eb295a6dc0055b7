package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

type (
	seamToolFunc = func(context.Context, *hooks.ToolCall) error
	seamRunTool  = func(context.Context, *hooks.ToolCall, seamToolFunc) error
)

// seamEachTool runs a parallel subtest for both forms of the tool seam.
func seamEachTool(t *testing.T, test func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool)) {
	t.Helper()
	for _, d := range seamDrivers() {
		if !d.tool {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			test(t, ctx, r, func(ctx context.Context, call *hooks.ToolCall, body seamToolFunc) error {
				return d.run(ctx, seamTool{call}, func(ctx context.Context, c seamContext) error {
					return body(ctx, c.native().(*hooks.ToolCall))
				})
			})
		})
	}
}

func seamOnTool(r *hooks.Registry, p hooks.Point[hooks.ToolCall], fn seamToolFunc, opts ...hooks.Option) {
	hooks.On(p, fn, append(opts, hooks.In(r))...)
}

func seamReturns(text string) seamToolFunc {
	return func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = text
		return nil
	}
}

func seamRefuse(err error) seamToolFunc {
	return func(context.Context, *hooks.ToolCall) error { return err }
}

func TestBlockedToolIsNotRunAndTheModelReadsWhy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refusal error
		want    string
	}{
		"a reason":            {hooks.Abort("over budget"), "Tool execution blocked by hook. Tool: delete file. Reason: over budget"},
		"no reason":           {&hooks.HookAborted{Source: "policy"}, "Tool execution blocked by hook. Tool: delete file"},
		"a message":           {&hooks.HookAborted{Reason: "over budget", Message: "Ask the owner first."}, "Ask the owner first."},
		"wrapped":             {fmt.Errorf("secret: %w", hooks.Abort("over budget")), "Tool execution blocked by hook. Tool: delete file. Reason: over budget"},
		"a cause with a text": {&hooks.HookAborted{Reason: "no", Err: errors.New("secret")}, "Tool execution blocked by hook. Tool: delete file. Reason: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamOnTool(r, hooks.PreToolCall, seamRefuse(tc.refusal), hooks.WithName("warden"))
				seen := 0
				seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
					seen++
					assert.Equal(t, tc.want, call.Result)
					assert.NotNil(t, call.Blocked)
					assert.False(t, call.Ran())
					return nil
				})
				call := &hooks.ToolCall{Name: "delete file", Input: map[string]any{"path": "/"}}
				err := run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil })
				require.NoError(t, err, "the run goes on")
				assert.Equal(t, 1, seen)
				assert.Equal(t, tc.want, call.Result)
				require.NotNil(t, call.Blocked)
				assert.Equal(t, hooks.PreToolCall.Name(), call.Blocked.Point)
				assert.NotEmpty(t, call.Blocked.Source)
				assert.True(t, call.IsError())
				assert.NoError(t, call.Err)
				assert.NotContains(t, call.Result, "secret")
			})
		})
	}
}

func TestPostHookMayRewriteTheTextOfABlockedCall(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")))
		seamOnTool(r, hooks.PostToolCall, seamReturns("Try the archive instead."))
		call := &hooks.ToolCall{Name: "rm"}
		require.NoError(t, run(ctx, call, seamReturns("gone")))
		assert.Equal(t, "Try the archive instead.", call.Result)
		assert.NotNil(t, call.Blocked)
	})
}

func TestEveryWayToBlockIsSeenAlikeByPostHooks(t *testing.T) {
	t.Parallel()
	for name, block := range map[string]func(ctx context.Context, r *hooks.Registry, fn seamToolFunc) context.Context{
		"ordinary hook": func(ctx context.Context, r *hooks.Registry, fn seamToolFunc) context.Context {
			seamOnTool(r, hooks.PreToolCall, fn)
			return ctx
		},
		"guard": func(ctx context.Context, r *hooks.Registry, fn seamToolFunc) context.Context {
			seamOnTool(r, hooks.PreToolCall, fn, hooks.AsGuard())
			return ctx
		},
		"inner scope": func(ctx context.Context, _ *hooks.Registry, fn seamToolFunc) context.Context {
			inner := hooks.NewRegistry()
			seamOnTool(inner, hooks.PreToolCall, fn)
			return hooks.WithScope(ctx, inner)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seen := 0
				seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
					seen++
					assert.NotNil(t, call.Blocked)
					return nil
				})
				ctx = block(ctx, r, seamRefuse(hooks.Abort("no")))
				require.NoError(t, run(ctx, &hooks.ToolCall{Name: "rm"}, func(context.Context, *hooks.ToolCall) error {
					t.Error("the tool ran")
					return nil
				}))
				assert.Equal(t, 1, seen)
			})
		})
	}
}

func TestStopRunComesOutOfTheToolSeamAfterThePostHooks(t *testing.T) {
	t.Parallel()
	stop := &hooks.HookAborted{Reason: "over budget", Source: "accounting", StopRun: true}
	for name, at := range map[string]hooks.Point[hooks.ToolCall]{"pre": hooks.PreToolCall, "post": hooks.PostToolCall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				posts := 0
				seamOnTool(r, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { posts++; return nil })
				seamOnTool(r, at, seamRefuse(stop))
				call := &hooks.ToolCall{Name: "pay"}
				err := run(ctx, call, seamReturns("paid"))
				abort, ok := errors.AsType[*hooks.HookAborted](err)
				require.True(t, ok)
				assert.Equal(t, "over budget", abort.Reason)
				assert.Equal(t, "accounting", abort.Source)
				assert.Equal(t, at.Name(), abort.Point)
				assert.True(t, abort.StopRun)
				assert.Equal(t, 1, posts)
				assert.Contains(t, call.Result, "Reason: over budget", "no call is left without a result")
				assert.NotNil(t, call.Blocked)
				assert.Empty(t, stop.Point, "the caller's value is never written")
			})
		})
	}
}

func TestStopRunOfAPostHookOnABlockedCallComesOut(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")))
		seamOnTool(r, hooks.PostToolCall, seamRefuse(&hooks.HookAborted{Reason: "third refusal", StopRun: true}))
		err := run(ctx, &hooks.ToolCall{Name: "rm"}, seamReturns("gone"))
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "third refusal", abort.Reason)
	})
}

func TestAbortAfterTheToolWithholdsItsResult(t *testing.T) {
	t.Parallel()
	failure := errors.New("password hunter2 refused")
	fails := func(context.Context, *hooks.ToolCall) error { return failure }
	succeeds := func(_ context.Context, call *hooks.ToolCall) error {
		call.Result, call.RawResult = "hunter2", 7
		call.Parts = []hooks.Part{{Kind: "image", Native: "hunter2"}}
		return nil
	}
	for name, tc := range map[string]struct {
		body    seamToolFunc
		refusal error
		opts    []hooks.Option
		want    string
	}{
		"a result":                {succeeds, hooks.Abort("a secret"), nil, "Tool result withheld by hook. Tool: login. Reason: a secret"},
		"without a reason":        {succeeds, &hooks.HookAborted{}, nil, "Tool result withheld by hook. Tool: login"},
		"with a message":          {succeeds, &hooks.HookAborted{Message: "It was a secret."}, nil, "It was a secret."},
		"a failure":               {fails, hooks.Abort("a secret"), nil, "Tool result withheld by hook. Tool: login. Reason: a secret"},
		"a guard fails":           {succeeds, errors.New("can't parse hunter2"), []hooks.Option{hooks.AsGuard()}, "Tool result withheld by hook. Tool: login. Reason: a guard failed"},
		"a guard fails on both":   {fails, errors.New("can't parse hunter2"), []hooks.Option{hooks.AsGuard()}, "Tool result withheld by hook. Tool: login. Reason: a guard failed"},
		"a named guard fails":     {fails, io.EOF, []hooks.Option{hooks.AsGuard(), hooks.WithName("scanner")}, "Tool result withheld by hook. Tool: login. Reason: scanner failed"},
		"an unnamed hook, closed": {fails, io.EOF, []hooks.Option{hooks.WithFailClosed()}, "Tool result withheld by hook. Tool: login. Reason: a guard failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamOnTool(r, hooks.PostToolCall, seamRefuse(tc.refusal), tc.opts...)
				call := &hooks.ToolCall{Name: "login"}
				require.NoError(t, run(ctx, call, tc.body), "the run goes on")
				assert.Equal(t, tc.want, call.Result)
				assert.Empty(t, call.Parts)
				require.NotNil(t, call.Blocked)
				assert.Equal(t, hooks.PostToolCall.Name(), call.Blocked.Point)
				assert.NotContains(t, call.Blocked.PublicText(), "hunter2")
				assert.True(t, call.Ran())
				assert.True(t, call.IsError())
				assert.True(t, call.ResultEdited())
				if name == "a result" {
					assert.Equal(t, 7, call.RawResult, "kept for the record")
				}
				if name == "a failure" {
					assert.Same(t, failure, call.Err, "kept for the record")
				}
			})
		})
	}
}

func TestToolFailureBecomesTheResult(t *testing.T) {
	t.Parallel()
	image := []hooks.Part{{Kind: "image", Native: 1}}
	for name, tc := range map[string]struct {
		body   seamToolFunc
		result string
		parts  []hooks.Part
	}{
		"its text":            {func(context.Context, *hooks.ToolCall) error { return io.ErrUnexpectedEOF }, "unexpected EOF", nil},
		"the body's own text": {func(_ context.Context, c *hooks.ToolCall) error { c.Result = "half"; return io.ErrUnexpectedEOF }, "half", nil},
		"the body's own parts": {func(_ context.Context, c *hooks.ToolCall) error {
			c.Parts = image
			return io.ErrUnexpectedEOF
		}, "", image},
		"an error without a text": {func(context.Context, *hooks.ToolCall) error { return errors.Join(errors.New("")) }, "Tool fetch failed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				posts := 0
				seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
					posts++
					assert.Error(t, call.Err)
					assert.Equal(t, tc.result, call.Result)
					return nil
				})
				call := &hooks.ToolCall{Name: "fetch"}
				require.NoError(t, run(ctx, call, tc.body))
				assert.Equal(t, 1, posts)
				assert.Equal(t, tc.result, call.Result)
				assert.Equal(t, tc.parts, call.Parts)
				assert.True(t, call.IsError())
				assert.Nil(t, call.Blocked)
			})
		})
	}
}

func TestToolPanicBecomesAResultThatDoesNotTellTheValue(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"a text": "hunter2", "an error": errors.New("hunter2"), "nil": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				call := &hooks.ToolCall{Name: "fetch"}
				require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { panic(value) }))
				assert.Equal(t, "Tool fetch panicked", call.Result)
				panicked, ok := errors.AsType[*hooks.PanicError](call.Err)
				require.True(t, ok)
				assert.NotContains(t, call.Err.Error(), "hunter2")
				if value != nil {
					assert.Equal(t, value, panicked.Value)
				}
				assert.True(t, call.IsError())
				assert.True(t, call.Ran())
			})
		})
	}
}

func TestPanicErrorOfAToolHoldsTheStack(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{Name: "fetch"}
	require.NoError(t, hooks.RunTool(t.Context(), call, seamBlowUp))
	panicked, ok := errors.AsType[*hooks.PanicError](call.Err)
	require.True(t, ok)
	assert.Contains(t, string(panicked.Stack), "seamBlowUp")
}

func seamBlowUp(context.Context, *hooks.ToolCall) error { panic("boom") }

func TestPostHookMayRecoverAFailedCall(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			call.Err, call.Result = nil, "from the cache"
			return nil
		})
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { return io.EOF }))
		assert.False(t, call.IsError())
		assert.Equal(t, "from the cache", call.Result)
	})
}

func TestSubAgentsAbortIsAToolErrorUnlessItStopsTheRun(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]bool{"ends the call": false, "ends the run": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				own := hooks.NewRegistry()
				hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error {
					return &hooks.HookAborted{Reason: "no", Source: "sub-agent's guard", StopRun: stop}
				}, hooks.In(own))
				posts := 0
				seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
					posts++
					assert.Nil(t, call.Blocked)
					assert.True(t, seamIsAbort(call.Err))
					return nil
				})
				call := &hooks.ToolCall{Name: "delegate"}
				var returned error
				err := run(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error {
					err := hooks.RunStep(hooks.WithScope(ctx, own), &hooks.Step{}, func(context.Context, *hooks.Step) error { return nil })
					returned = fmt.Errorf("sub-agent: %w", err)
					return returned
				})
				assert.Equal(t, 1, posts)
				assert.Same(t, returned, call.Err)
				assert.NotEmpty(t, call.Result)
				if stop {
					assert.Same(t, returned, err)
				} else {
					assert.NoError(t, err)
				}
			})
		})
	}
}

func TestRefusalOfANestedCallIsNamedInTheOuterOne(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("rm is forbidden")), hooks.WithTools("rm"))
		var seen error
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error { seen = call.Err; return nil }, hooks.WithTools("delegate"))
		outer := 0
		call := &hooks.ToolCall{Name: "delegate"}
		require.NoError(t, run(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error {
			outer++
			inner := &hooks.ToolCall{Name: "rm"}
			if err := run(ctx, inner, func(context.Context, *hooks.ToolCall) error { t.Error("rm ran"); return nil }); err != nil {
				return err
			}
			return fmt.Errorf("delegated %s: %w", inner.Name, inner.Blocked)
		}))
		assert.Equal(t, 1, outer)
		abort, ok := errors.AsType[*hooks.HookAborted](seen)
		require.True(t, ok)
		assert.Equal(t, "rm is forbidden", abort.Reason)
		assert.ErrorContains(t, call.Err, "delegated rm")
		assert.Nil(t, call.Blocked, "the outer call itself was not blocked")
	})
}
