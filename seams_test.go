package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestPostPointFollowsPrePointOnceWhateverTheBodyDoes(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	boom := &struct{ text string }{"boom"}
	for name, tc := range map[string]struct {
		body  seamFunc
		check func(t *testing.T, d seamDriver, seen error, exit seamExit)
	}{
		"returns": {seamProceed, func(t *testing.T, _ seamDriver, seen error, exit seamExit) {
			assert.NoError(t, seen)
			assert.Equal(t, seamExit{}, exit)
		}},
		"fails": {func(context.Context, seamContext) error { return failure }, func(t *testing.T, d seamDriver, seen error, exit seamExit) {
			assert.Same(t, failure, seen)
			if d.tool {
				assert.Equal(t, seamExit{}, exit)
			} else {
				assert.Equal(t, seamExit{err: failure}, exit)
				assert.Same(t, failure, exit.err)
			}
		}},
		"panics": {func(context.Context, seamContext) error { panic(boom) }, func(t *testing.T, d seamDriver, seen error, exit seamExit) {
			panicked, ok := errors.AsType[*hooks.PanicError](seen)
			if assert.True(t, ok) {
				assert.Same(t, boom, panicked.Value)
			}
			if d.tool {
				assert.Equal(t, seamExit{}, exit)
			} else {
				assert.Same(t, boom, exit.value)
			}
		}},
		"exits": {func(context.Context, seamContext) error { runtime.Goexit(); return nil }, func(t *testing.T, _ seamDriver, seen error, exit seamExit) {
			assert.Same(t, hooks.ErrGoexit, seen)
			assert.True(t, exit.exited)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				var log []string
				var seen error
				d.onPre(r, func(context.Context, seamContext) error { log = append(log, "pre"); return nil })
				d.onPost(r, func(_ context.Context, c seamContext) error {
					log = append(log, "post")
					seen = c.failure()
					return nil
				})
				c := d.fresh()
				exit := seamLeave(t, func() error {
					return d.run(ctx, c, func(ctx context.Context, c seamContext) error {
						log = append(log, "body")
						return tc.body(ctx, c)
					})
				})
				assert.Equal(t, []string{"pre", "body", "post"}, log)
				tc.check(t, d, seen, exit)
				assert.Equal(t, seen, c.failure(), "what a post hook saw is what is left")
			})
		})
	}
}

func TestBodyPanicGoesOnUnchanged(t *testing.T) {
	t.Parallel()
	var none map[string]int
	for name, tc := range map[string]struct {
		cause func()
		check func(t *testing.T, value any)
	}{
		"a string":         {func() { panic("boom") }, func(t *testing.T, v any) { assert.Equal(t, "boom", v) }},
		"an error":         {func() { panic(context.Canceled) }, func(t *testing.T, v any) { assert.Same(t, context.Canceled, v) }},
		"ErrAbortHandler":  {func() { panic(http.ErrAbortHandler) }, func(t *testing.T, v any) { assert.Same(t, http.ErrAbortHandler, v) }},
		"a slice":          {func() { panic([]int{1}) }, func(t *testing.T, v any) { assert.Equal(t, []int{1}, v) }},
		"nil":              {func() { panic(nil) }, func(t *testing.T, v any) { assert.IsType(t, &runtime.PanicNilError{}, v) }},
		"a runtime error":  {func() { none["a"] = 1 }, func(t *testing.T, v any) { assert.Implements(t, (*runtime.Error)(nil), v) }},
		"an abort":         {func() { panic(seamVeto) }, func(t *testing.T, v any) { assert.Same(t, seamVeto, v) }},
		"a PanicError":     {func() { panic(seamPanicked) }, func(t *testing.T, v any) { assert.Same(t, seamPanicked, v) }},
		"a marked error":   {func() { panic(hooks.PassThrough(context.Canceled)) }, func(t *testing.T, v any) { assert.ErrorIs(t, v.(error), context.Canceled) }},
		"a nil error type": {func() { panic((*hooks.HookAborted)(nil)) }, func(t *testing.T, v any) { assert.Equal(t, (*hooks.HookAborted)(nil), v) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamFailing(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				d.onPost(r, func(context.Context, seamContext) error { return hooks.Abort("too late") })
				exit := seamLeave(t, func() error {
					return d.run(ctx, d.fresh(), func(context.Context, seamContext) error { tc.cause(); return nil })
				})
				tc.check(t, exit.value)
			})
		})
	}
}

var (
	seamVeto     = &hooks.HookAborted{Reason: "over budget", Source: "accounting"}
	seamPanicked = &hooks.PanicError{Value: "inner"}
)

func TestAbortOfThePostPointIsIgnoredAfterAFailure(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	seamEach(t, seamFailing(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		d.onPost(r, func(context.Context, seamContext) error { return &hooks.HookAborted{Reason: "no", StopRun: true} })
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { return failure })
		assert.Same(t, failure, err)
		assert.Same(t, failure, c.failure())
	})
}

func TestAbortOfThePostPointAfterSuccessIsReturned(t *testing.T) {
	t.Parallel()
	seamEach(t, seamFailing(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPost(r, func(context.Context, seamContext) error { fired++; return seamVeto })
		err := d.run(ctx, d.fresh(), seamProceed)
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "over budget", abort.Reason)
		assert.Equal(t, "accounting", abort.Source)
		assert.Equal(t, d.post, abort.Point)
		assert.Equal(t, 1, fired)
	})
}

func TestAbortOfThePrePointPreventsTheBodyAndThePostPoint(t *testing.T) {
	t.Parallel()
	seamEach(t, seamFailing(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPre(r, func(context.Context, seamContext) error { fired++; return seamVeto })
		d.onPre(r, func(context.Context, seamContext) error { t.Error("a hook ran after the abort"); return nil })
		d.onPost(r, func(context.Context, seamContext) error { t.Error("a post point without a body"); return nil })
		err := d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "over budget", abort.Reason)
		assert.Equal(t, "accounting", abort.Source)
		assert.Equal(t, d.pre, abort.Point)
		assert.Equal(t, 1, fired, "a veto is not asked for again")
	})
}

// At the tool seam as well: a call is refused on every way that leads to it.
func TestNoEntryRunsABlockedBody(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		d.onPre(r, func(context.Context, seamContext) error { return hooks.Abort("no") })
		_ = d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
	})
}

func TestBodyNeverStartsBeforeThePrePointHasDecided(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		var ran atomic.Int64
		d.onPre(r, func(context.Context, seamContext) error { runtime.Gosched(); return hooks.Abort("no") }, hooks.AsGuard())
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 32 {
					_ = d.run(ctx, d.fresh(), func(context.Context, seamContext) error { ran.Add(1); return nil })
				}
			})
		}
		wg.Wait()
		assert.Zero(t, ran.Load())
	})
}

func TestAbortKeepsItsIdentityThroughNestedSeams(t *testing.T) {
	t.Parallel()
	for _, inner := range seamFailing() {
		t.Run(inner.name+" in", func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamFailing(), func(t *testing.T, ctx context.Context, _ *hooks.Registry, d seamDriver) {
				own := hooks.NewRegistry()
				inner.onPre(own, func(context.Context, seamContext) error { return seamVeto })
				err := d.run(ctx, d.fresh(), func(ctx context.Context, _ seamContext) error {
					err := inner.run(hooks.WithScope(ctx, own), inner.fresh(), seamProceed)
					return fmt.Errorf("provider: %w", err)
				})
				abort, ok := errors.AsType[*hooks.HookAborted](err)
				require.True(t, ok)
				assert.Equal(t, "over budget", abort.Reason)
				assert.Equal(t, "accounting", abort.Source)
				assert.Equal(t, inner.pre, abort.Point)
			})
		})
	}
}

func TestPassThroughComesOutOfEverySeamAsTheVerySameError(t *testing.T) {
	t.Parallel()
	interrupt := errors.New("ask the user")
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPost(r, func(_ context.Context, c seamContext) error {
			fired++
			assert.Same(t, interrupt, c.failure())
			return &hooks.HookAborted{Reason: "no", StopRun: true}
		})
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { return hooks.PassThrough(interrupt) })
		assert.Same(t, interrupt, err)
		assert.Same(t, interrupt, c.failure())
		assert.Equal(t, 1, fired)
		if call, ok := c.native().(*hooks.ToolCall); ok {
			assert.Empty(t, call.Result)
			assert.Nil(t, call.Blocked)
			assert.True(t, call.Ran())
		}
	})
}

func TestPassThroughWithoutHooks(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, _ *hooks.Registry, d seamDriver) {
		interrupt := errors.New("ask the user")
		err := d.run(ctx, d.fresh(), func(context.Context, seamContext) error { return hooks.PassThrough(interrupt) })
		assert.Same(t, interrupt, err)
	})
	assert.NoError(t, hooks.PassThrough(nil))
}

// Each seam that an interrupt is to leave has to be told.
func TestPassThroughMarksAnErrorForOneSeam(t *testing.T) {
	t.Parallel()
	interrupt := errors.New("ask the user")
	for name, mark := range map[string]func(error) error{"marked once": func(err error) error { return err }, "marked again": hooks.PassThrough} {
		call := &hooks.ToolCall{Name: "delegate"}
		err := hooks.RunTool(t.Context(), call, func(ctx context.Context, _ *hooks.ToolCall) error {
			return mark(hooks.RunStep(ctx, &hooks.Step{}, func(context.Context, *hooks.Step) error { return hooks.PassThrough(interrupt) }))
		})
		assert.Same(t, interrupt, call.Err, name)
		if name == "marked again" {
			assert.Same(t, interrupt, err)
			assert.Empty(t, call.Result)
		} else {
			assert.NoError(t, err)
			assert.Equal(t, "ask the user", call.Result)
		}
	}
}

func TestAFailingPostHookDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		var log []string
		d.onPost(r, func(context.Context, seamContext) error { log = append(log, "first"); return errors.New("bug") })
		d.onPost(r, func(context.Context, seamContext) error { log = append(log, "second"); panic("bug") })
		d.onPost(r, func(context.Context, seamContext) error { log = append(log, "third"); panic(nil) })
		d.onPost(r, func(context.Context, seamContext) error { log = append(log, "fourth"); return nil })
		c := d.fresh()
		require.NoError(t, d.run(ctx, c, seamProceed))
		assert.NoError(t, c.failure())
		assert.Equal(t, []string{"first", "second", "third", "fourth"}, log)
	})
}

func TestAPanickingPreHookLeavesPostHooksTheWholeContext(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		d.onPre(r, func(context.Context, seamContext) error { panic("bug") })
		c := d.fresh()
		c.who().AgentRole = "Researcher"
		fired := 0
		d.onPost(r, func(_ context.Context, seen seamContext) error {
			fired++
			assert.Same(t, c.native(), seen.native())
			assert.Equal(t, "Researcher", seen.who().AgentRole)
			return nil
		})
		require.NoError(t, d.run(ctx, c, seamProceed))
		assert.Equal(t, 1, fired)
	})
}

func TestHooksThatRanBeforeAVetoGetNoPostOfTheirOwn(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		var pre, post []int
		for i := 1; i <= 3; i++ {
			d.onPre(r, func(context.Context, seamContext) error {
				pre = append(pre, i)
				if i == 2 {
					return hooks.Abort("no")
				}
				return nil
			})
			d.onPost(r, func(context.Context, seamContext) error { post = append(post, i); return nil })
		}
		_ = d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		assert.Equal(t, []int{1, 2}, pre)
		if d.tool {
			assert.Equal(t, []int{1, 2, 3}, post, "all of them, on the blocked call")
		} else {
			assert.Empty(t, post, "none of them")
		}
	})
}
