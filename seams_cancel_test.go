package hooks_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

type seamTraceKey struct{}

// seamFailed says whether c tells of err. A framework's own context is told of
// what its body did only.
func seamAssertTold(t *testing.T, err error, c seamContext) {
	t.Helper()
	if _, own := c.native().(*seamOwn); !own {
		assert.Equal(t, err, c.failure())
	}
	if call, ok := c.native().(*hooks.ToolCall); ok {
		assert.Equal(t, "Tool was not run: cancelled", call.Result)
		assert.True(t, call.IsError())
		assert.False(t, call.Ran())
		assert.Nil(t, call.Blocked)
	}
}

func TestNoPointFiresWhenTheContextIsDoneOnEntry(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := func(context.Context, seamContext) error { t.Error("a point fired"); return nil }
		d.onPre(r, fired)
		d.onPost(r, fired)
		why := errors.New("the user left")
		cancelled, cancel := context.WithCancelCause(ctx)
		cancel(why)
		late, stop := context.WithTimeout(ctx, 0)
		defer stop()
		for _, ctx := range []context.Context{cancelled, late} {
			c := d.fresh()
			err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
			assert.Equal(t, ctx.Err(), err)
			seamAssertTold(t, ctx.Err(), c)
		}
	})
}

// As when an approval took long.
func TestBodyIsSkippedWhenTheContextIsDoneAfterThePreHooks(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		ctx, cancel := context.WithCancel(context.WithValue(ctx, seamTraceKey{}, "trace-1"))
		d.onPre(r, func(context.Context, seamContext) error { cancel(); return nil })
		fired := 0
		d.onPost(r, func(post context.Context, c seamContext) error {
			fired++
			assert.NoError(t, post.Err(), "an audit needs a live ctx")
			assert.Equal(t, "trace-1", post.Value(seamTraceKey{}))
			assert.Equal(t, context.Canceled, c.failure())
			return nil
		})
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		assert.Equal(t, context.Canceled, err)
		assert.Equal(t, 1, fired)
		seamAssertTold(t, context.Canceled, c)
	})
}

func TestPostPointGetsALiveContextWhenTheBodyWasCancelled(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		ctx, cancel := context.WithCancel(context.WithValue(ctx, seamTraceKey{}, "trace-1"))
		fired := 0
		d.onPost(r, func(post context.Context, c seamContext) error {
			fired++
			assert.NoError(t, post.Err())
			assert.Equal(t, "trace-1", post.Value(seamTraceKey{}))
			assert.ErrorIs(t, c.failure(), context.Canceled)
			assert.False(t, seamIsAbort(c.failure()), "a cancel is not a refusal")
			if call, ok := c.native().(*hooks.ToolCall); ok {
				assert.Nil(t, call.Blocked)
				assert.True(t, call.Ran())
				assert.NotContains(t, call.Result, "blocked")
				assert.NotContains(t, call.Result, "not run")
				assert.NotEmpty(t, call.Result)
			}
			return nil
		})
		err := d.run(ctx, d.fresh(), func(ctx context.Context, _ seamContext) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		if d.tool {
			assert.NoError(t, err)
		} else {
			assert.Equal(t, context.Canceled, err)
		}
		assert.Equal(t, 1, fired)
	})
}

func seamIsAbort(err error) bool {
	_, is := errors.AsType[*hooks.HookAborted](err)
	return is
}

func TestWhatABodyFinishedIsKeptThoughTheContextIsDone(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		for _, late := range []string{"in the body", "in the post hooks"} {
			ctx, cancel := context.WithCancel(ctx)
			scope := hooks.NewRegistry()
			d.onPost(scope, func(context.Context, seamContext) error { cancel(); return nil })
			c := d.fresh()
			err := d.run(hooks.WithScope(ctx, scope), c, func(_ context.Context, c seamContext) error {
				switch c := c.native().(type) {
				case *hooks.Execution:
					c.Output = "done"
				case *hooks.Step:
					c.Output = "done"
				case *hooks.ModelCall:
					c.Response = "done"
				case *hooks.ToolCall:
					c.Result, c.RawResult = "done", 42
				}
				if late == "in the body" {
					cancel()
				}
				return nil
			})
			assert.NoError(t, err, late)
			assert.NoError(t, c.failure(), late)
			switch c := c.native().(type) {
			case *hooks.Execution:
				assert.Equal(t, "done", c.Output, late)
				assert.Equal(t, hooks.StatusCompleted, c.Status, late)
			case *hooks.Step:
				assert.Equal(t, "done", c.Output, late)
			case *hooks.ModelCall:
				assert.Equal(t, "done", c.Response, late)
			case *hooks.ToolCall:
				assert.Equal(t, "done", c.Result, late)
				assert.Equal(t, 42, c.RawResult, late)
				assert.True(t, c.Ran(), late)
				assert.False(t, c.IsError(), late)
			}
		}
	})
}

func TestExecutionEndGetsALiveContextWhenAnEarlierHookCancelled(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output} {
		ctx, r := seamScope(t)
		ctx, cancel := context.WithCancel(ctx)
		hooks.On(at, func(context.Context, *hooks.Execution) error { cancel(); return nil }, hooks.In(r))
		ends := 0
		hooks.On(hooks.ExecutionEnd, func(ctx context.Context, x *hooks.Execution) error {
			ends++
			assert.NoError(t, ctx.Err(), at.Name())
			assert.NotEqual(t, hooks.StatusRunning, x.Status, at.Name())
			return nil
		}, hooks.In(r))
		x := &hooks.Execution{}
		err := hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { x.Output = "done"; return nil })
		assert.Equal(t, 1, ends, at.Name())
		if at == hooks.Output {
			assert.NoError(t, err)
			assert.Equal(t, "done", x.Output)
		} else {
			assert.Equal(t, context.Canceled, err, at.Name())
		}
	}
}

// A hook that could not decide in time must not be taken for a yes.
func TestBodyIsSkippedWhenAPreHookOutlastsTheDeadline(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context, _ seamContext) error {
		<-ctx.Done()
		return ctx.Err()
	}
	deaf := func(context.Context, seamContext) error {
		<-time.After(time.Second)
		return nil
	}
	for _, d := range seamDrivers() {
		for name, hook := range map[string]seamFunc{"waits for ctx": wait, "is deaf": deaf} {
			t.Run(d.name+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, r := seamScope(t)
					d.onPre(r, hook)
					ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
					defer cancel()
					err := d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
					assert.Equal(t, context.DeadlineExceeded, err)
				})
			})
		}
		t.Run(d.name+" guard", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, r := seamScope(t)
				d.onPre(r, wait, hooks.AsGuard())
				ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				c := d.fresh()
				err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
				if call, ok := c.native().(*hooks.ToolCall); ok {
					require.NotNil(t, call.Blocked)
					err = call.Blocked
				}
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			})
		})
	}
}

func TestNestedExecutionEndsWithItsParentsContext(t *testing.T) {
	t.Parallel()
	ctx, parent := seamScope(t)
	child := hooks.NewRegistry()
	var log []string
	note := func(who string, r *hooks.Registry) {
		hooks.On(hooks.PreStep, func(_ context.Context, s *hooks.Step) error { log = append(log, who+" "+s.Name); return nil }, hooks.In(r))
	}
	note("parent's", parent)
	note("child's", child)
	step := func(ctx context.Context, name string) error {
		return hooks.RunStep(ctx, &hooks.Step{Name: name}, func(context.Context, *hooks.Step) error { return nil })
	}
	ctx, cancel := context.WithCancel(ctx)
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		err := hooks.RunExecution(hooks.WithScope(ctx, child), &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			return step(ctx, "in the child")
		})
		assert.NoError(t, err)
		assert.NoError(t, step(ctx, "in the parent"))
		return hooks.RunExecution(hooks.WithScope(ctx, child), &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			cancel()
			return step(ctx, "after the cancel")
		})
	})
	assert.Equal(t, context.Canceled, err)
	assert.Equal(t, []string{"parent's in the child", "child's in the child", "parent's in the parent"}, log)
}
