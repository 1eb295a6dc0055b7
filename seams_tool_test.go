// The seams around tool calls: what the model reads after each kind of end, and
// calls that run in parallel.

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// An interrupt isn't lost in a nest that is too deep.
func TestRunTool_interruptOutlivesDeepNest(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	errInterrupt := errors.New("interrupt")
	hooks.On(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		return hooks.RunTool(ctx, &hooks.ToolCall{Name: "again"}, seamReturns("ok"))
	}, hooks.In(r))
	err := hooks.RunTool(hooks.WithScope(t.Context(), r), &hooks.ToolCall{Name: "first"}, func(context.Context, *hooks.ToolCall) error {
		return hooks.PassThrough(errInterrupt)
	})
	require.ErrorIs(t, err, errInterrupt)
	require.ErrorIs(t, err, hooks.ErrTooDeep)
}

// A result counts as edited since the body, whatever hooks dispatch.
func TestRunTool_resultEditedSinceBody(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.On(hooks.PostToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		if call.Result == "secret" {
			call.Result = "***"
			return hooks.Dispatch(ctx, hooks.PostToolCall, call)
		}
		return nil
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "read"}
	require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, seamReturns("secret")))
	assert.True(t, call.ResultEdited())
}

// Hooks know of unreadable arguments until the model was told.
func TestRunTool_hooksKnowUnreadableArguments(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	var seen []error
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		seen = append(seen, call.ArgumentsError())
		return nil
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "pay"}
	want := call.SetArguments("[]")
	require.Error(t, want)
	require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, seamReturns("paid")))
	assert.Equal(t, []error{want}, seen)
	assert.NoError(t, call.ArgumentsError())
}

func TestToolCall_textJoinsAllParts(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{Result: "a", Parts: []hooks.Part{{Kind: "text", Text: "b"}, {Kind: "image"}, {Kind: "text", Text: "c"}}}
	assert.Equal(t, "abc", call.Text())
	assert.Equal(t, "only", (&hooks.ToolCall{Result: "only"}).Text())
}

// A panic with an error whose methods panic is a failure of the tool.
func TestRunTool_survivesPanicWithHostileError(t *testing.T) {
	t.Parallel()
	for name, trap := range seamTraps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, _ *hooks.Registry, run seamRunTool) {
				call := &hooks.ToolCall{Name: "fetch"}
				exit := seamLeave(t, func() error {
					return run(ctx, call, func(context.Context, *hooks.ToolCall) error { panic(trap) })
				})
				assert.Equal(t, seamExit{}, exit)
				assert.Equal(t, "Tool fetch panicked", call.Result)
			})
		})
	}
}

// The goroutine is lost, but whoever looks at the call afterwards must not
// find a hole, nor a result that no guard has passed.
func TestRunTool_goexitOfHookLeavesResult(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, _ *hooks.Registry, run seamRunTool) {
		for _, at := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
			r := hooks.NewRegistry()
			seamOnTool(r, at, func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil }, hooks.AsGuard())
			call := &hooks.ToolCall{Name: "fetch"}
			exit := seamLeave(t, func() error { return run(hooks.WithScope(ctx, r), call, seamReturns("hunter2")) })
			assert.True(t, exit.exited, at.Name())
			assert.NotEmpty(t, call.Result, at.Name())
			assert.NotContains(t, call.Result, "hunter2", at.Name())
			assert.True(t, call.IsError(), at.Name())
		}
	})
}

func TestRunTool_goexitOfBodyLeavesResult(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, _ *hooks.Registry, run seamRunTool) {
		call := &hooks.ToolCall{Name: "fetch"}
		exit := seamLeave(t, func() error {
			return run(ctx, call, func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil })
		})
		assert.True(t, exit.exited)
		assert.Same(t, hooks.ErrGoexit, call.Err)
		assert.NotEmpty(t, call.Result)
		assert.True(t, call.Ran())
	})
}

func TestRunTools_endsWithDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
		defer cancel()
		var posts atomic.Int64
		hooks.On(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
			posts.Add(1)
			assert.NoError(t, ctx.Err())
			return nil
		}, hooks.In(r))
		calls := make([]*hooks.ToolCall, 6)
		for i := range calls {
			calls[i] = &hooks.ToolCall{Name: fmt.Sprint("tool_", i)}
		}
		start := time.Now()
		err := hooks.RunTools(ctx, calls, 2, func(ctx context.Context, c *hooks.ToolCall) error {
			if err := deadlineWait(ctx, time.Second); err != nil {
				return err
			}
			c.Result = "done"
			return nil
		})
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.Equal(t, 1500*time.Millisecond, time.Since(start))
		assert.EqualValues(t, 4, posts.Load(), "two that finished and two that were interrupted")
		var done, interrupted, unstarted int
		for _, c := range calls {
			switch {
			case c.Result == "done" && c.Err == nil && c.Ran():
				done++
			case c.Ran() && errors.Is(c.Err, context.DeadlineExceeded) && c.Result != "":
				interrupted++
			case !c.Ran() && c.Err == context.DeadlineExceeded && c.Result == "Tool was not run: cancelled":
				unstarted++
			}
		}
		assert.Equal(t, []int{2, 2, 2}, []int{done, interrupted, unstarted})
	})
}

// deadlinePerson answers late.
type deadlinePerson struct{ after time.Duration }

func (p deadlinePerson) RequestInput(ctx context.Context, _, _ string) (string, error) {
	if err := deadlineWait(ctx, p.after); err != nil {
		return "", err
	}
	return "yes", nil
}

// An approval that nobody gives in time is a refusal.
func TestRunTool_lateApprovalRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		after   time.Duration
		allowed bool
	}{{59 * time.Second, true}, {61 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, r := newRun(t)
			ctx = hooks.WithHumanInput(ctx, deadlinePerson{tt.after})
			hooks.On(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
				answer, err := c.RequestHumanInput(ctx, "Delete?", "yes or no:")
				if err == nil && answer != "yes" {
					err = hooks.Abort("the operator refused")
				}
				return err
			}, hooks.In(r), hooks.AsGuard(), hooks.WithTimeout(time.Minute), hooks.WithName("approval"))
			call := &hooks.ToolCall{Name: "delete"}
			start := time.Now()
			require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
			assert.Equal(t, min(tt.after, time.Minute), time.Since(start))
			assert.Equal(t, tt.allowed, call.Ran())
			if !tt.allowed {
				assert.ErrorIs(t, call.Blocked, context.DeadlineExceeded)
				assert.Equal(t, "Tool execution blocked by hook. Tool: delete. Reason: approval failed", call.Result)
			}
		})
	}
}

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
			ctx, r := newRun(t)
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

// seamReturns is the body of a tool that returns text, or a hook that writes it.
func seamReturns(text string) seamToolFunc {
	return func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = text
		return nil
	}
}

func seamRefuse(err error) seamToolFunc {
	return func(context.Context, *hooks.ToolCall) error { return err }
}

func TestRunTool_blockedTellsModelWhy(t *testing.T) {
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

// A post hook may rewrite the text of a blocked call, or stop the run for it.
func TestRunTool_postHookActsOnBlockedCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook seamToolFunc
		text string
		stop string
	}{
		"rewrites": {seamReturns("Try the archive instead."), "Try the archive instead.", ""},
		"stops":    {seamRefuse(&hooks.HookAborted{Reason: "third refusal", StopRun: true}), "Tool result withheld by hook. Tool: rm. Reason: third refusal", "third refusal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")))
				seamOnTool(r, hooks.PostToolCall, tc.hook)
				call := &hooks.ToolCall{Name: "rm"}
				err := run(ctx, call, seamReturns("gone"))
				assert.Equal(t, tc.text, call.Result)
				assert.NotNil(t, call.Blocked)
				if tc.stop == "" {
					require.NoError(t, err)
					return
				}
				abort, ok := errors.AsType[*hooks.HookAborted](err)
				require.True(t, ok)
				assert.Equal(t, tc.stop, abort.Reason)
			})
		})
	}
}

// Post hooks see a blocked call alike, whoever blocked it.
func TestRunTool_postHooksSeeEveryBlock(t *testing.T) {
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

func TestRunTool_stopRunComesOutAfterPostHooks(t *testing.T) {
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

func TestRunTool_postAbortWithholdsResult(t *testing.T) {
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

func TestRunTool_failureBecomesResult(t *testing.T) {
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

func TestRunTool_panicResultHidesValue(t *testing.T) {
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

func TestRunTool_panicErrorHoldsStack(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{Name: "fetch"}
	require.NoError(t, hooks.RunTool(t.Context(), call, seamBlowUp))
	panicked, ok := errors.AsType[*hooks.PanicError](call.Err)
	require.True(t, ok)
	assert.Contains(t, string(panicked.Stack), "seamBlowUp")
}

func seamBlowUp(context.Context, *hooks.ToolCall) error { panic("boom") }

func TestRunTool_postHookRecoversFailedCall(t *testing.T) {
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

// An abort that the body returns fails the call, and ends the run if it says
// StopRun.
func TestRunTool_subAgentsAbortIsToolError(t *testing.T) {
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

// The outer call itself was not blocked.
func TestRunTool_outerCallNamesNestedRefusal(t *testing.T) {
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

func TestRunTool_inputEditsReachTool(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]seamToolFunc{
		"in place": func(_ context.Context, call *hooks.ToolCall) error { call.Input["path"] = "/tmp"; return nil },
		"a new map": func(_ context.Context, call *hooks.ToolCall) error {
			call.Input = map[string]any{"path": "/tmp"}
			return nil
		},
		"arguments": func(_ context.Context, call *hooks.ToolCall) error { return call.SetArguments(`{"path":"/tmp"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamOnTool(r, hooks.PreToolCall, hook)
				var seen map[string]any
				call := &hooks.ToolCall{Name: "ls"}
				require.NoError(t, run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error { seen = call.Input; return nil }))
				assert.Equal(t, map[string]any{"path": "/tmp"}, seen)
				assert.Equal(t, seen, call.Input)
			})
		})
	}
}

// A tool that nobody knows fires both points.
func TestRunTool_unknownToolFiresBothPoints(t *testing.T) {
	t.Parallel()
	unknown := errors.New("no such tool")
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		var log []string
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			log = append(log, "pre "+call.Name)
			assert.Nil(t, call.Tool)
			assert.NotNil(t, call.Input)
			return nil
		})
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			log = append(log, "post "+call.Name)
			assert.Nil(t, call.Tool)
			assert.ErrorIs(t, call.Err, unknown)
			return nil
		})
		call := &hooks.ToolCall{Name: "browser_fill"}
		require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { return unknown }))
		assert.Equal(t, []string{"pre browser_fill", "post browser_fill"}, log)
		assert.ErrorIs(t, call.Err, unknown)
		assert.Equal(t, "no such tool", call.Result)
	})
}

func TestRunTool_preHookRepairsName(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error { call.Name = "fill"; return nil })
		var posts []string
		var ran string
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error { posts = append(posts, call.Name); return nil })
		require.NoError(t, run(ctx, &hooks.ToolCall{Name: "browser_fill"}, func(_ context.Context, call *hooks.ToolCall) error {
			ran = call.Name
			return nil
		}))
		assert.Equal(t, "fill", ran)
		assert.Equal(t, []string{"fill"}, posts, "what ran, not what was asked for")
	})
}

func TestRunTool_guardJudgesWhatRuns(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			if call.Name != "read" || call.Input["path"] == "/etc/shadow" {
				return hooks.Abort("only read, and not that")
			}
			return nil
		}, hooks.AsGuard())
		inner := hooks.NewRegistry()
		seamOnTool(inner, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			call.Input["path"] = "/etc/shadow"
			return nil
		})
		call := &hooks.ToolCall{Name: "read", Input: map[string]any{"path": "/tmp/a"}}
		require.NoError(t, run(hooks.WithScope(ctx, inner), call, func(context.Context, *hooks.ToolCall) error {
			t.Error("the swapped call ran")
			return nil
		}))
		assert.NotNil(t, call.Blocked)
		assert.Equal(t, "/etc/shadow", call.Input["path"], "what was judged stays visible")
	})
}

func TestRunTool_newResultKeepsRawResult(t *testing.T) {
	t.Parallel()
	type answer struct{ N int }
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		raw := &answer{7}
		var before string
		var outcome hooks.Outcome
		r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { outcome = ev.Outcome })
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			before, call.Result = call.Result, "seven"
			return nil
		})
		call := &hooks.ToolCall{Name: "count"}
		require.NoError(t, run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result, call.RawResult = "7", raw
			return nil
		}))
		assert.Equal(t, "7", before, "a hook gets a text")
		assert.Equal(t, "seven", call.Result)
		assert.Same(t, raw, call.RawResult)
		assert.Equal(t, hooks.OutcomeModified, outcome)
	})
}

func TestRunTool_watchersLeaveRawResultAsItIs(t *testing.T) {
	t.Parallel()
	for watchers := range 3 {
		t.Run(fmt.Sprint(watchers), func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seen := 0
				for range watchers {
					seamOnTool(r, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { seen++; return nil })
				}
				raw := []hooks.ToolRequest{{ID: "1", Name: "a", Arguments: "{}"}}
				call := &hooks.ToolCall{Name: "plan"}
				require.NoError(t, run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error { call.RawResult = raw; return nil }))
				assert.Equal(t, raw, call.RawResult)
				assert.Empty(t, call.Result)
				assert.False(t, call.ResultEdited())
				assert.Equal(t, watchers, seen)
			})
		})
	}
}

// A tool that finished isn't run again because a post hook failed.
func TestRunTool_postHookNeverCausesSecondRun(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]seamToolFunc{
		"panics":  func(context.Context, *hooks.ToolCall) error { panic("bug") },
		"fails":   func(context.Context, *hooks.ToolCall) error { return errors.New("bug") },
		"refuses": func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				charges, posts := 0, 0
				seamOnTool(r, hooks.PostToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
					posts++
					return hook(ctx, call)
				})
				call := &hooks.ToolCall{Name: "charge"}
				for range 3 {
					if err := run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
						charges++
						call.Result, call.RawResult = "charged", "receipt"
						return nil
					}); err == nil {
						break
					}
				}
				assert.Equal(t, 1, charges)
				assert.Equal(t, 1, posts)
				assert.True(t, call.Ran())
				assert.Equal(t, "receipt", call.RawResult)
				if name != "refuses" {
					assert.Equal(t, "charged", call.Result)
					assert.False(t, call.IsError())
				}
			})
		})
	}
}

func TestRunTool_abortWinsOverAnswer(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			call.Answer("hunter2")
			call.Parts = []hooks.Part{{Kind: "text", Text: "hunter2"}}
			call.RawResult = "hunter2"
			return nil
		})
		seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")), hooks.AsGuard())
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil }))
		assert.Equal(t, "Tool execution blocked by hook. Tool: fetch. Reason: no", call.Result)
		assert.Empty(t, call.Parts)
		assert.Nil(t, call.RawResult, "a ready answer is dropped with the call that was vetoed")
		assert.False(t, call.Answered())
		assert.NotNil(t, call.Blocked)
	})
}

// Only Answer makes a result before the tool: what else stands there is none.
func TestRunTool_dropsResultWrittenBefore(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		pres, bodies := 0, 0
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			pres++
			call.Result, call.RawResult, call.Err = "stale", "stale", errors.New("stale")
			call.Parts = []hooks.Part{{Kind: "text", Text: "stale"}}
			return nil
		})
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			bodies++
			assert.Empty(t, call.Result)
			assert.Empty(t, call.Parts)
			assert.Nil(t, call.RawResult)
			return nil
		}))
		assert.Equal(t, 1, pres)
		assert.Equal(t, 1, bodies)
		assert.NoError(t, call.Err)
		assert.Empty(t, call.Result)
	})
}

// A call is refused by a hook that says so, not by what it writes.
func TestRunTool_writtenBlockedIsNoRefusal(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		wrote := 0
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			wrote++
			call.Blocked = &hooks.HookAborted{Reason: "no"}
			return nil
		})
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, run(ctx, call, seamReturns("page")))
		assert.Equal(t, 1, wrote)
		assert.True(t, call.Ran())
		assert.Equal(t, "page", call.Result)
		assert.Nil(t, call.Blocked, "a call that ran and whose result the model reads is not a blocked one")
		assert.False(t, call.IsError())
	})
}

// A filtered hook decides alike on every way that leads to a tool.
func TestRunTool_filterHoldsOnEveryWay(t *testing.T) {
	t.Parallel()
	type way = func(ctx context.Context, call *hooks.ToolCall) error
	never := func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil }
	for name, enter := range map[string]way{
		"Dispatch": func(ctx context.Context, call *hooks.ToolCall) error {
			return hooks.Dispatch(ctx, hooks.PreToolCall, call)
		},
		"RunTool": func(ctx context.Context, call *hooks.ToolCall) error { return hooks.RunTool(ctx, call, never) },
		"RunTools": func(ctx context.Context, call *hooks.ToolCall) error {
			return hooks.RunTools(ctx, []*hooks.ToolCall{call}, 1, never)
		},
		"Run": func(ctx context.Context, call *hooks.ToolCall) error {
			return hooks.Run(ctx, hooks.PreToolCall, hooks.PostToolCall, call, never)
		},
		"BeginTool": func(ctx context.Context, call *hooks.ToolCall) error {
			_, end, err := hooks.BeginTool(ctx, call)
			assert.NoError(t, err)
			assert.False(t, call.ShouldRun())
			return end(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var events []hooks.HookDispatchedEvent
			r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { events = append(events, ev) })
			seamOnTool(r, hooks.PreToolCall, seamRefuse(&hooks.HookAborted{Reason: "no", StopRun: true}),
				hooks.WithTools("Delete File"), hooks.WithAgents("Researcher"), hooks.WithName("warden"))
			err := enter(ctx, &hooks.ToolCall{Name: "delete_file", Caller: hooks.Caller{AgentRole: "Researcher"}})
			abort, ok := errors.AsType[*hooks.HookAborted](err)
			require.True(t, ok)
			assert.Equal(t, "no", abort.Reason)
			assert.Equal(t, "warden", abort.Source)
			require.Len(t, events, 1)
			ev := events[0]
			ev.Duration, ev.Hooks[0].Duration = 0, 0
			assert.Equal(t, hooks.HookDispatchedEvent{
				Point: "pre_tool_call", Outcome: hooks.OutcomeAborted, HookCount: 1,
				AbortReason: "no", AbortSource: "warden", AgentRole: "Researcher", ToolName: "delete_file",
				Hooks: []hooks.HookRun{{Name: "warden", Outcome: hooks.OutcomeAborted}},
			}, ev)
		})
	}
}

// seamCalls returns n calls named call-0, call-1 and so on.
func seamCalls(n int) []*hooks.ToolCall {
	calls := make([]*hooks.ToolCall, n)
	for i := range calls {
		calls[i] = &hooks.ToolCall{ID: fmt.Sprint(i), Name: fmt.Sprintf("call-%d", i), Input: map[string]any{"i": i}}
	}
	return calls
}

func TestRunTools_keepsCallsApartConcurrentSafe(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, r := newRun(t)
	var mu sync.Mutex
	pre, post := map[string]int{}, map[string]int{}
	seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		mu.Lock()
		pre[call.ID]++
		mu.Unlock()
		call.Put(key{}, call.ID)
		call.Input["seen by"] = call.ID
		return nil
	})
	seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		mu.Lock()
		post[call.ID]++
		mu.Unlock()
		id, ok := call.Get(key{})
		assert.True(t, ok)
		assert.Equal(t, call.ID, id)
		assert.Equal(t, call.ID, call.Input["seen by"])
		call.Result += "!"
		return nil
	})
	for _, limit := range []int{-1, 0, 1, 3, 100} {
		clear(pre)
		clear(post)
		calls := seamCalls(64)
		require.NoError(t, hooks.RunTools(ctx, calls, limit, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = fmt.Sprint("result ", call.Input["i"])
			return nil
		}))
		for i, call := range calls {
			assert.Equal(t, fmt.Sprintf("result %d!", i), call.Result)
			assert.Equal(t, 1, pre[call.ID])
			assert.Equal(t, 1, post[call.ID])
		}
	}
}

func TestRunTools_bodiesAndPostHooksOverlap(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	const n = 8
	var fired atomic.Int64
	var ran, arrived sync.WaitGroup
	ran.Add(n)
	arrived.Add(n)
	seamOnTool(r, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error {
		fired.Add(1)
		arrived.Done()
		arrived.Wait() // for all the others
		return nil
	})
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, seamCalls(n), 0, func(context.Context, *hooks.ToolCall) error {
			ran.Done()
			ran.Wait()
			return nil
		})
	})
	assert.Equal(t, seamExit{}, exit)
	assert.EqualValues(t, n, fired.Load())
}

// Pre hooks run in the order of the calls, one call after the other, and a body
// starts as soon as its own have passed.
func TestRunTools_preHooksKeepTheOrder(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 1, 3} {
		ctx, r := newRun(t)
		var order []string // written by pre hooks alone: the race detector tells if two of them overlap
		firstRuns := make(chan struct{})
		var once sync.Once
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			if order = append(order, call.ID); len(order) == 2 {
				<-firstRuns // the first body doesn't wait for the second call's hooks
			}
			return nil
		})
		calls := seamCalls(6)
		var want []string
		for _, c := range calls {
			want = append(want, c.ID)
		}
		require.NoError(t, hooks.RunTools(ctx, calls, limit, func(context.Context, *hooks.ToolCall) error {
			once.Do(func() { close(firstRuns) })
			return nil
		}))
		assert.Equal(t, want, order, "limit %d", limit)
	}
}

// With a limit of 1 a call is over before the hooks of the next one run.
func TestRunTools_limitOneOverlapsNothing(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var log []string
	seamOnTool(r, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error { log = append(log, "pre "+c.ID); return nil })
	seamOnTool(r, hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { log = append(log, "post "+c.ID); return nil })
	require.NoError(t, hooks.RunTools(ctx, seamCalls(2), 1, func(_ context.Context, c *hooks.ToolCall) error { log = append(log, "body "+c.ID); return nil }))
	assert.Equal(t, []string{"pre 0", "body 0", "post 0", "pre 1", "body 1", "post 1"}, log)
}

// A call whose pre hooks had begun when another call stopped the run doesn't
// run, and has its post point and a result; a later one has a result alone.
func TestRunTools_stopBetweenPreAndBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		var posts trace
		begun := make(chan struct{})
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
			if c.ID == "1" {
				close(begun)
				synctest.Wait() // until the first call is over
			}
			return nil
		})
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { posts.add(c.ID); return nil })
		calls := seamCalls(3)
		err := hooks.RunTools(ctx, calls, 0, func(_ context.Context, c *hooks.ToolCall) error {
			if c.ID != "0" {
				t.Errorf("call %s ran", c.ID)
			}
			<-begun
			return hooks.AbortRun("over budget")
		})
		assert.True(t, seamIsAbort(err))
		assert.Equal(t, "0 1", posts.take())
		for _, c := range calls[1:] {
			assert.Equal(t, "Tool was not run: over budget", c.Result)
			assert.False(t, c.Ran())
			assert.True(t, c.IsError())
		}
	})
}

func TestRunTools_limitBoundsCalls(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	require.NoError(t, hooks.RunTools(t.Context(), seamCalls(40), 3, func(context.Context, *hooks.ToolCall) error {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		runtime.Gosched()
		return nil
	}))
	assert.LessOrEqual(t, most.Load(), int64(3))
	assert.Positive(t, most.Load())
}

func TestRunTools_failureTouchesNoOther(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")), hooks.WithTools("call-1"))
	seamOnTool(r, hooks.PostToolCall, seamRefuse(hooks.Abort("secret")), hooks.WithTools("call-4"))
	calls := seamCalls(6)
	require.NoError(t, calls[5].SetArguments(`{}`))
	require.Error(t, calls[5].SetArguments(`[]`))
	require.NoError(t, hooks.RunTools(ctx, calls, 1, func(_ context.Context, call *hooks.ToolCall) error {
		switch call.ID {
		case "2":
			return errors.New("disk full")
		case "3":
			panic("boom")
		}
		call.Result = "ok"
		return nil
	}))
	results := make([]string, len(calls))
	for i, call := range calls {
		results[i] = call.Result
		assert.Equal(t, i > 0, call.IsError(), call.Name)
	}
	assert.Equal(t, []string{
		"ok",
		"Tool execution blocked by hook. Tool: call-1. Reason: no",
		"disk full",
		"Tool call-3 panicked",
		"Tool result withheld by hook. Tool: call-4. Reason: secret",
		"Tool was not run: arguments must be one JSON object: found an array at byte 0",
	}, results)
}

// Calls that aren't started get a result that says why.
func TestRunTools_startsNothingAfterStop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stop error
		want string
	}{
		"StopRun":                 {&hooks.HookAborted{Reason: "over budget", Source: "accounting", StopRun: true}, "Tool was not run: over budget"},
		"StopRun with a message":  {&hooks.HookAborted{Reason: "over budget", Message: "Wait for the owner.", StopRun: true}, "Tool was not run: Wait for the owner."},
		"StopRun without reasons": {&hooks.HookAborted{Source: "accounting", StopRun: true, Err: errors.New("secret")}, "Tool was not run: the run was stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var points atomic.Int64
			seamOnTool(r, hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { points.Add(1); return nil })
			var bodies atomic.Int64
			calls := seamCalls(10)
			calls[7].Result, calls[7].RawResult = "left over", "left over"
			err := hooks.RunTools(ctx, calls, 1, func(_ context.Context, call *hooks.ToolCall) error {
				bodies.Add(1)
				if call.ID == "2" {
					return tc.stop
				}
				call.Result = "ok"
				return nil
			})
			require.Error(t, err)
			assert.EqualValues(t, 3, bodies.Load())
			assert.EqualValues(t, 3, points.Load())
			for _, call := range calls[:2] {
				assert.Equal(t, "ok", call.Result)
			}
			for _, call := range calls[3:] {
				assert.Equal(t, tc.want, call.Result)
				assert.True(t, call.IsError())
				assert.False(t, call.Ran())
				assert.Nil(t, call.RawResult)
				assert.Nil(t, call.Blocked)
				assert.ErrorIs(t, call.Err, err)
			}
		})
	}
}

func TestRunTools_returnsFirstStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			if call.ID == "0" {
				return nil
			}
			return &hooks.HookAborted{Reason: call.ID, StopRun: true}
		})
		calls := seamCalls(3)
		err := hooks.RunTools(ctx, calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
			<-time.After(map[string]time.Duration{"0": 3, "1": 2, "2": 1}[call.ID] * time.Second)
			call.Result = "ok"
			return nil
		})
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "2", abort.Reason, "the first in time")
		assert.Equal(t, "ok", calls[0].Result, "a running sibling finishes")
		assert.NotNil(t, calls[1].Blocked)
	})
}

// Running siblings finish, with their post point, before RunTools returns.
func TestRunTools_waitsForRunningSiblings(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	stopped, running := make(chan struct{}), make(chan struct{})
	var posts, bodies atomic.Int64
	seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if call.ID == "3" {
			for range 3 { // a body that hasn't begun wouldn't run
				<-running
			}
			return &hooks.HookAborted{Reason: "over budget", StopRun: true}
		}
		return nil
	})
	seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		posts.Add(1)
		if call.ID == "3" {
			close(stopped)
		}
		return nil
	})
	calls := seamCalls(8)
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, calls, 0, func(ctx context.Context, call *hooks.ToolCall) error {
			bodies.Add(1)
			running <- struct{}{}
			<-stopped
			assert.NoError(t, ctx.Err(), "only a cancel of ctx stops them")
			call.Result = "ok"
			return nil
		})
	})
	assert.True(t, seamIsAbort(exit.err))
	assert.EqualValues(t, 4, posts.Load())
	assert.EqualValues(t, 3, bodies.Load())
	for i, call := range calls {
		assert.Equal(t, i == 3, call.Blocked != nil)
		assert.NotEmpty(t, call.Result)
	}
}

func TestRunTools_cancelLeavesNoHole(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	ctx, cancel := context.WithCancel(ctx)
	var posts, bodies atomic.Int64
	seamOnTool(r, hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		posts.Add(1)
		assert.NoError(t, ctx.Err())
		return nil
	})
	calls := seamCalls(20)
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, calls, 4, func(ctx context.Context, _ *hooks.ToolCall) error {
			if bodies.Add(1) == 4 {
				cancel()
			}
			<-ctx.Done()
			return ctx.Err()
		})
	})
	assert.Equal(t, context.Canceled, exit.err)
	assert.Equal(t, bodies.Load(), posts.Load())
	assert.EqualValues(t, 4, bodies.Load(), "no tool is started after the cancel")
	notRun := 0
	for _, call := range calls {
		assert.True(t, call.IsError())
		assert.Nil(t, call.Blocked)
		if !call.Ran() {
			notRun++
			assert.Equal(t, "Tool was not run: cancelled", call.Result)
		}
		assert.NotEmpty(t, call.Result)
	}
	assert.Equal(t, 16, notRun)
}

func TestRunTools_refusesNilAndRepeatedCalls(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var fired atomic.Int64
	seamOnTool(r, hooks.PreToolCall, counter[hooks.ToolCall](&fired))
	call := &hooks.ToolCall{Name: "a"}
	for name, calls := range map[string][]*hooks.ToolCall{
		"nil":      {{Name: "b"}, nil},
		"repeated": {call, {Name: "b"}, call},
	} {
		err := hooks.RunTools(ctx, calls, 0, func(context.Context, *hooks.ToolCall) error { t.Error("a tool ran"); return nil })
		require.Error(t, err, name)
		assert.ErrorContains(t, err, "hooks: RunTools", name)
	}
	assert.Zero(t, fired.Load())
	require.NoError(t, hooks.RunTools(ctx, []*hooks.ToolCall{call, {Name: "b"}}, 0, seamReturns("ok")))
	assert.EqualValues(t, 2, fired.Load(), "the hook of a list that is in order")
	for _, none := range [][]*hooks.ToolCall{nil, {}} {
		assert.NoError(t, hooks.RunTools(ctx, none, 0, seamReturns("ok")))
	}
}

func TestRunTools_goexitOfBodyStops(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var posts atomic.Int64
	seamOnTool(r, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { posts.Add(1); return nil })
	calls := seamCalls(5)
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, calls, 1, func(_ context.Context, call *hooks.ToolCall) error {
			if call.ID == "1" {
				runtime.Goexit()
			}
			call.Result = "ok"
			return nil
		})
	})
	assert.Equal(t, seamExit{err: hooks.ErrGoexit}, exit)
	assert.EqualValues(t, 2, posts.Load())
	for i, call := range calls {
		assert.NotEmpty(t, call.Result, call.Name)
		assert.Equal(t, i != 0, call.IsError(), call.Name)
	}
}

func TestRunTools_goexitOfHookLeavesNoHole(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		ctx, r := newRun(t)
		seamOnTool(r, at, func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil }, hooks.WithTools("call-1"))
		calls := seamCalls(4)
		exit := seamLeave(t, func() error { return hooks.RunTools(ctx, calls, 1, seamReturns("ok")) })
		assert.Equal(t, seamExit{err: hooks.ErrGoexit}, exit)
		for _, call := range calls {
			assert.NotEmpty(t, call.Result, "%s, %s", at.Name(), call.Name)
		}
	}
}

func TestRunTools_sharesNothingConcurrentSafe(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, r := newRun(t)
	var pres, posts atomic.Int64
	seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		pres.Add(1)
		_, ok := call.Get(key{})
		assert.False(t, ok)
		call.Put(key{}, call.Name)
		call.AgentRole += "/" + call.Name
		return nil
	})
	seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		posts.Add(1)
		name, _ := call.Get(key{})
		assert.Equal(t, call.Name, name)
		assert.Equal(t, "Researcher/"+call.Name, call.AgentRole)
		return nil
	})
	x := &hooks.Execution{Caller: hooks.Caller{RunID: "run-1", AgentRole: "Researcher"}}
	x.Put(key{}, "the execution's")
	require.NoError(t, hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		calls := seamCalls(10)
		for i := range calls {
			calls[i] = &hooks.ToolCall{Caller: x.Caller, Name: calls[i].Name}
		}
		return hooks.RunTools(ctx, calls, 0, seamReturns("ok"))
	}))
	assert.Equal(t, "Researcher", x.AgentRole)
	assert.EqualValues(t, 10, pres.Load())
	assert.EqualValues(t, 10, posts.Load())
}

// Calls that share an input, a result or both each have their own, whichever of
// the points is hooked. What a body kept is written neither by the hooks behind it
// nor in the next use of the call with an input of its own.
func TestRunTools_hooksWriteNoMapOfFramework(t *testing.T) {
	t.Parallel()
	for name, points := range map[string][]hooks.Point[hooks.ToolCall]{
		"pre": {hooks.PreToolCall}, "post": {hooks.PostToolCall}, "both": {hooks.PreToolCall, hooks.PostToolCall},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			var edited atomic.Int64
			for _, p := range points {
				seamOnTool(r, p, func(_ context.Context, c *hooks.ToolCall) error {
					edited.Add(1)
					c.Input[string(p.Name())] = c.ID
					for i := range c.Parts {
						c.Parts[i].Text = c.ID
					}
					c.Parts = append(c.Parts, hooks.Part{Text: c.ID})
					return nil
				})
			}
			input := map[string]any{"path": "a"}
			parts := append(make([]hooks.Part, 0, 4), hooks.Part{Text: "page"})
			calls := seamCalls(8)
			kept := make([]map[string]any, len(calls))
			for range 2 {
				for _, c := range calls {
					c.Input = input
				}
				require.NoError(t, hooks.RunTools(ctx, calls, 0, func(_ context.Context, c *hooks.ToolCall) error {
					i, err := strconv.Atoi(c.ID)
					kept[i], c.Parts = c.Input, parts
					return err
				}))
				for i, c := range calls {
					_, late := kept[i]["post_tool_call"]
					assert.False(t, late, "a hook behind the body wrote into what it kept")
					if name != "post" {
						assert.Equal(t, c.ID, kept[i]["pre_tool_call"])
					}
					if name != "pre" {
						assert.Equal(t, []hooks.Part{{Text: c.ID}, {Text: c.ID}}, c.Parts)
					}
				}
			}
			assert.Equal(t, map[string]any{"path": "a"}, input)
			assert.Equal(t, []hooks.Part{{Text: "page"}, {}, {}, {}}, parts[:4])
			assert.EqualValues(t, 2*8*len(points), edited.Load())
		})
	}
}

// Arguments that the package has read itself aren't copied in front of the tool.
func TestRunTool_argumentsReadAreNotCopied(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Input["hook"] = true; return nil })
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, call.SetArguments(`{"url":"x"}`))
		read := call.Input
		require.NoError(t, run(ctx, call, seamReturns("page")))
		assert.Equal(t, map[string]any{"url": "x", "hook": true}, read)
	})
}

// Arguments that can't be read run no tool, however often hooks begin the call
// again. Once it has ended, the next use has its own.
func TestRunTool_unreadableThoughBegunAgain(t *testing.T) {
	t.Parallel()
	seamEachAgain(t, seamTools(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver, again seamFunc) {
		fired := 0
		begin := seamOnce(func(ctx context.Context, c seamContext) error { fired++; return again(ctx, c) })
		d.onPre(r, begin)
		d.onPost(r, begin)
		var call hooks.ToolCall
		require.Error(t, call.SetArguments(`{"path":`))
		ran := false
		require.NoError(t, d.run(ctx, seamTool{&call}, func(context.Context, seamContext) error { ran = true; return nil }))
		assert.False(t, ran)
		assert.False(t, call.Ran())
		assert.Equal(t, 2, fired)
		call.Input = map[string]any{"path": "a"}
		require.NoError(t, hooks.RunTool(t.Context(), &call, seamReturns("page")))
		assert.Equal(t, "page", call.Result)
	})
}

// seamQuoting is an error type of somebody's own that quotes what it wraps.
type seamQuoting struct{ err error }

func (e *seamQuoting) Error() string { return "sub-agent said: " + e.err.Error() }
func (e *seamQuoting) Unwrap() error { return e.err }

// seamTurned turns into an abort when it is asked to.
type seamTurned struct{ abort *hooks.HookAborted }

func (e seamTurned) Error() string { return "turned: " + e.abort.Error() }
func (e seamTurned) As(target any) bool {
	if to, ok := target.(**hooks.HookAborted); ok {
		*to = e.abort
		return true
	}
	return false
}

// Of a tool's error that holds aborts the model reads the public text of the
// first, and nothing else: neither who refused nor what other errors quote.
func TestRunTool_abortInErrorShowsPublicText(t *testing.T) {
	t.Parallel()
	over := &hooks.HookAborted{Reason: "over budget", Source: "policy.go:12", Err: errors.New("sk-secret")}
	silent := &hooks.HookAborted{Source: "secret-policy"}
	told := &hooks.HookAborted{Reason: "internal", Message: "Ask a person.", Source: "secret-policy"}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"bare":                  {over, "over budget"},
		"wrapped":               {fmt.Errorf("agent %s: %w", silent.Source, over), "over budget"},
		"a message":             {fmt.Errorf("agent: %w", told), "Ask a person."},
		"no reason":             {fmt.Errorf("agent: %w", silent), "Tool delegate failed"},
		"several":               {errors.Join(fmt.Errorf("one: %w", over), fmt.Errorf("two: %w", told)), "over budget"},
		"several in one":        {fmt.Errorf("%w and %w", told, over), "Ask a person."},
		"beside another":        {errors.Join(errors.New("sk-secret"), over), "over budget"},
		"a type of its own":     {&seamQuoting{over}, "over budget"},
		"quoted twice":          {&seamQuoting{&seamQuoting{silent}}, "Tool delegate failed"},
		"turned into":           {seamTurned{over}, "over budget"},
		"turned into, joined":   {errors.Join(errors.New("sk-secret"), seamTurned{told}), "Ask a person."},
		"behind what panics":    {errors.Join(&seamTrap{unwrap: true}, over), "over budget"},
		"around another abort":  {&hooks.HookAborted{Reason: "no", Source: "a", Err: over}, "no"},
		"beside no such tool":   {errors.Join(hooks.ErrNoTool, over), "There is no tool delegate."},
		"in what was panicked":  {&hooks.PanicError{Value: over}, "Tool delegate panicked"},
		"of a run that stopped": {&seamQuoting{&hooks.HookAborted{Reason: "stop", Source: "x", StopRun: true}}, "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, _ *hooks.Registry, run seamRunTool) {
				call := &hooks.ToolCall{Name: "delegate"}
				err := run(ctx, call, func(context.Context, *hooks.ToolCall) error { return tc.err })
				assert.Equal(t, name == "of a run that stopped", err != nil, "%v", err)
				assert.Equal(t, tc.want, call.Result)
				assert.Equal(t, tc.err, call.Err)
			})
		})
	}
}

// A loop that has no such tool says so: the call counts as not run, and both
// points have fired.
func TestRunTool_noSuchToolHasNotRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		result string
		ran    bool
		want   string
	}{
		"bare":                {hooks.ErrNoTool, "", false, "There is no tool fetch."},
		"wrapped":             {fmt.Errorf("looking in sk-secret: %w", hooks.ErrNoTool), "", false, "There is no tool fetch."},
		"joined":              {errors.Join(errors.New("sk-secret"), hooks.ErrNoTool), "", false, "There is no tool fetch."},
		"with a result":       {hooks.ErrNoTool, "Use search.", false, "Use search."},
		"no other error":      {errors.New(hooks.ErrNoTool.Error()), "", true, hooks.ErrNoTool.Error()},
		"no error that lies":  {&seamLiar{}, "", true, "liar"},
		"behind what panics":  {errors.Join(&seamTrap{unwrap: true}, hooks.ErrNoTool), "", false, "There is no tool fetch."},
		"what a tool answers": {nil, "page", true, "page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				posts := 0
				seamOnTool(r, hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
					posts++
					assert.Equal(t, tc.ran, c.Ran())
					return nil
				})
				call := &hooks.ToolCall{Name: "fetch"}
				require.NoError(t, run(ctx, call, func(_ context.Context, c *hooks.ToolCall) error { c.Result = tc.result; return tc.err }))
				assert.Equal(t, tc.want, call.Result)
				assert.Equal(t, tc.ran, call.Ran())
				assert.Equal(t, tc.err != nil, call.IsError())
				assert.Equal(t, 1, posts)
			})
		})
	}
}

// seamLiar claims to be every error.
type seamLiar struct{}

func (*seamLiar) Error() string { return "liar" }
func (*seamLiar) Is(error) bool { return true }
