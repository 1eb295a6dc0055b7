// What all seams have in common: pairs of pre and post points, aborts, cancels and
// panics. Most tests run at every seam, in both of its forms.

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// The post point follows the pre point whether the body returns, fails, panics
// or ends its goroutine.
func TestSeam_firesPostOnceWhateverTheBodyDoes(t *testing.T) {
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

func TestSeam_raisesBodyPanicUnchanged(t *testing.T) {
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
				posts := 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return hooks.Abort("too late") })
				exit := seamLeave(t, func() error {
					return d.run(ctx, d.fresh(), func(context.Context, seamContext) error { tc.cause(); return nil })
				})
				tc.check(t, exit.value)
				assert.Equal(t, 1, posts)
			})
		})
	}
}

var (
	seamVeto     = &hooks.HookAborted{Reason: "over budget", Source: "accounting"}
	seamPanicked = &hooks.PanicError{Value: "inner"}
)

// What the body failed with is returned, and no abort takes its place.
func TestSeam_ignoresPostAbortAfterFailure(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	seamEach(t, seamFailing(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		posts := 0
		d.onPost(r, func(context.Context, seamContext) error {
			posts++
			return &hooks.HookAborted{Reason: "no", StopRun: true}
		})
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { return failure })
		assert.Same(t, failure, err)
		assert.Same(t, failure, c.failure())
		assert.Equal(t, 1, posts)
	})
}

func TestSeam_returnsPostAbortAfterSuccess(t *testing.T) {
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

// No body starts before the pre point has decided, however many seams run at
// once.
func TestSeam_bodyWaitsForPrePoint(t *testing.T) {
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

// An abort of an inner seam comes out of the outer one with its reason, source
// and point.
func TestSeam_abortKeepsIdentityWhenNested(t *testing.T) {
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

// An interrupt is found in what comes out, in the context too, and no abort takes
// its place.
func TestPassThrough_comesOutAsSuspended(t *testing.T) {
	t.Parallel()
	interrupt := errors.New("ask the user")
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPost(r, func(_ context.Context, c seamContext) error {
			fired++
			assert.Same(t, interrupt, suspended(t, c.failure()).Err)
			return &hooks.HookAborted{Reason: "no", StopRun: true}
		})
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { return hooks.PassThrough(interrupt) })
		assert.Same(t, interrupt, suspended(t, err).Err)
		assert.Same(t, err, c.failure())
		assert.Equal(t, 1, fired)
		if call, ok := c.native().(*hooks.ToolCall); ok {
			assert.Empty(t, call.Result)
			assert.Nil(t, call.Blocked)
			assert.True(t, call.Ran())
			assert.Same(t, interrupt, call.Suspended().Err)
		}
	})
}

func TestPassThrough_withoutHooks(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, _ *hooks.Registry, d seamDriver) {
		interrupt := errors.New("ask the user")
		err := d.run(ctx, d.fresh(), func(context.Context, seamContext) error { return hooks.PassThrough(interrupt) })
		assert.Same(t, interrupt, suspended(t, err).Err)
	})
	assert.NoError(t, hooks.PassThrough(nil))
}

// What waits in a sub-agent makes all around it wait, without being renewed and
// whatever it is wrapped in.
func TestPassThrough_passesEverySeam(t *testing.T) {
	t.Parallel()
	interrupt := errors.New("ask the user")
	for name, hand := range map[string]func(error) error{
		"as it is": func(err error) error { return err },
		"renewed":  hooks.PassThrough,
		"wrapped":  func(err error) error { return fmt.Errorf("sub-agent: %w", err) },
		"joined":   func(err error) error { return errors.Join(errors.New("also"), err) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				posts := 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
				call := &hooks.ToolCall{Name: "delegate"}
				step := &hooks.Step{}
				c := d.fresh()
				err := d.run(ctx, c, func(ctx context.Context, _ seamContext) error {
					return hand(hooks.RunTool(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error {
						return hand(hooks.RunStep(ctx, step, func(context.Context, *hooks.Step) error {
							return hand(hooks.PassThrough(interrupt))
						}))
					}))
				})
				for _, err := range []error{err, c.failure(), call.Err, step.Err} {
					assert.NotNil(t, suspended(t, err))
					assert.ErrorIs(t, err, interrupt)
				}
				assert.Empty(t, call.Result)
				assert.NotZero(t, posts)
			})
		})
	}
}

func TestSeam_failingPostHookHidesNoOther(t *testing.T) {
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

// Post hooks get the whole context after a pre hook that panicked.
func TestSeam_panickingPreHookKeepsContext(t *testing.T) {
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

// A veto is asked for once, and no hook has a post point of its own: those that
// ran before the veto get none either. A blocked tool call has one for all.
func TestSeam_preAbortPreventsBodyAndPost(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		var pre, post []int
		for i := 1; i <= 3; i++ {
			d.onPre(r, func(context.Context, seamContext) error {
				pre = append(pre, i)
				if i == 2 {
					return seamVeto
				}
				return nil
			})
			d.onPost(r, func(context.Context, seamContext) error { post = append(post, i); return nil })
		}
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		assert.Equal(t, []int{1, 2}, pre)
		var abort *hooks.HookAborted
		if call, ok := c.native().(*hooks.ToolCall); ok {
			require.NoError(t, err)
			require.NotNil(t, call.Blocked)
			abort = call.Blocked
			assert.Equal(t, []int{1, 2, 3}, post, "all of them, on the blocked call")
		} else {
			abort = aborted(t, err)
			assert.Empty(t, post, "none of them")
		}
		assert.Equal(t, "over budget", abort.Reason)
		assert.Equal(t, "accounting", abort.Source)
		assert.Equal(t, d.pre, abort.Point)
	})
}

// seamAnswer is a context that hooks may answer, so that its body isn't run.
type seamAnswer interface {
	Answer(text string)
	Answered() bool
}

func TestSeam_answeredBodyIsNotRun(t *testing.T) {
	t.Parallel()
	text := func(c seamContext) *string {
		if call, ok := c.native().(*hooks.ToolCall); ok {
			return &call.Result
		}
		return &c.native().(*hooks.ModelCall).Response
	}
	var drivers []seamDriver
	for _, d := range seamDrivers() {
		if _, ok := d.fresh().native().(seamAnswer); ok {
			drivers = append(drivers, d)
		}
	}
	require.Len(t, drivers, 4, "models and tools, in two forms each")
	for _, answer := range []string{"from the cache", ""} {
		t.Run(fmt.Sprintf("%q", answer), func(t *testing.T) {
			t.Parallel()
			seamEach(t, drivers, func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				later, posts := 0, 0
				d.onPre(r, func(_ context.Context, c seamContext) error { c.native().(seamAnswer).Answer(answer); return nil })
				d.onPre(r, func(_ context.Context, c seamContext) error {
					later++
					assert.True(t, c.native().(seamAnswer).Answered())
					assert.Equal(t, answer, *text(c))
					return nil
				})
				d.onPost(r, func(_ context.Context, c seamContext) error {
					posts++
					assert.True(t, c.native().(seamAnswer).Answered())
					assert.Equal(t, answer, *text(c))
					*text(c) += "!"
					return nil
				})
				c := d.fresh()
				require.NoError(t, d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil }))
				assert.Equal(t, 1, later)
				assert.Equal(t, 1, posts)
				assert.Equal(t, answer+"!", *text(c))
				assert.True(t, c.native().(seamAnswer).Answered())
				assert.NoError(t, c.failure())
				if call, ok := c.native().(*hooks.ToolCall); ok {
					assert.False(t, call.Ran())
					assert.False(t, call.IsError())
				}
			})
		})
	}
}

// seamHalved returns the seams that have a Begin form, each once.
func seamHalved() []seamDriver {
	var some []seamDriver
	for _, d := range seamDrivers() {
		if d.begin != nil && d.name[:3] == "Run" {
			some = append(some, d)
		}
	}
	return some
}

// The first end decides; later ones return the same.
func TestSeamEnd_calledAgainFiresNothing(t *testing.T) {
	t.Parallel()
	seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPost(r, func(context.Context, seamContext) error {
			fired++
			return &hooks.HookAborted{Reason: "no", StopRun: true}
		})
		c := d.fresh()
		_, end, err := d.begin(ctx, c)
		require.NoError(t, err)
		first := end(nil)
		require.Error(t, first)
		assert.Same(t, first, end(nil))
		assert.Same(t, first, end(errors.New("another")), "the first end has decided")
		assert.Equal(t, 1, fired)
	})
}

func TestSeamEnd_calledConcurrentlyFiresOnce(t *testing.T) {
	t.Parallel()
	seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		var fired atomic.Int64
		d.onPost(r, func(context.Context, seamContext) error { fired.Add(1); return nil })
		_, end, err := d.begin(ctx, d.fresh())
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { assert.NoError(t, end(nil)) })
		}
		wg.Wait()
		assert.EqualValues(t, 1, fired.Load())
	})
}

// The post point fires once, and the inner end returns what it was given.
func TestSeamEnd_calledByPostHookDoesNotBlock(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		var end seamEnd
		d.onPost(r, func(context.Context, seamContext) error {
			fired++
			assert.Same(t, failure, end(failure))
			return nil
		})
		exit := seamLeave(t, func() (err error) {
			_, end, err = d.begin(ctx, d.fresh())
			if err != nil {
				return err
			}
			return end(nil)
		})
		assert.Equal(t, seamExit{}, exit)
		assert.Equal(t, 1, fired)
	})
}

// A post hook that ended its goroutine has had its point.
func TestSeamEnd_afterGoexitFiresNothing(t *testing.T) {
	t.Parallel()
	seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPost(r, func(context.Context, seamContext) error { fired++; runtime.Goexit(); return nil })
		_, end, err := d.begin(ctx, d.fresh())
		require.NoError(t, err)
		assert.True(t, seamLeave(t, func() error { return end(nil) }).exited)
		_ = end(nil)
		assert.Equal(t, 1, fired)
	})
}

func TestSeamEnd_ofUnopenedSeamFiresNothing(t *testing.T) {
	t.Parallel()
	seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		done, cancel := context.WithCancel(ctx)
		cancel()
		posts := 0
		d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
		inner, end, err := d.begin(done, d.fresh())
		require.ErrorIs(t, err, context.Canceled)
		require.NotNil(t, inner)
		assert.ErrorIs(t, end(nil), context.Canceled)
		assert.Zero(t, posts)

		_, end, err = d.begin(ctx, d.fresh())
		require.NoError(t, err)
		require.NoError(t, end(nil))
		assert.Equal(t, 1, posts, "where the seam opens")
	})
}

func TestSeam_refusesNilAndZeroArguments(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	body := func(context.Context, *hooks.ToolCall) error { t.Error("the body ran"); return nil }
	begun := func(ctx context.Context, end func(error) error, err error) error {
		require.NotNil(t, ctx)
		require.NotNil(t, end)
		assert.Equal(t, err, end(nil))
		return err
	}
	var zero hooks.Point[seamOwn]
	own := func(context.Context, *seamOwn) error { t.Error("the body ran"); return nil }
	for name, tc := range map[string]struct {
		err  error
		says string
	}{
		"RunExecution, nil context":   {hooks.RunExecution(ctx, nil, func(context.Context, *hooks.Execution) error { return nil }), "execution_start"},
		"RunStep, nil context":        {hooks.RunStep(ctx, nil, func(context.Context, *hooks.Step) error { return nil }), "pre_step"},
		"RunModel, nil context":       {hooks.RunModel(ctx, nil, func(context.Context, *hooks.ModelCall) error { return nil }), "pre_model_call"},
		"RunTool, nil context":        {hooks.RunTool(ctx, nil, body), "pre_tool_call"},
		"Run, nil context":            {hooks.Run(ctx, seamBefore, seamAfter, nil, own), "seamtest.before"},
		"BeginExecution, nil context": {begun(hooks.BeginExecution(ctx, nil)), "execution_start"},
		"BeginStep, nil context":      {begun(hooks.BeginStep(ctx, nil)), "pre_step"},
		"BeginModel, nil context":     {begun(hooks.BeginModel(ctx, nil)), "pre_model_call"},
		"BeginTool, nil context":      {begun(hooks.BeginTool(ctx, nil)), "pre_tool_call"},
		"RunExecution, nil body":      {hooks.RunExecution(ctx, &hooks.Execution{}, nil), "body is nil"},
		"RunStep, nil body":           {hooks.RunStep(ctx, &hooks.Step{}, nil), "body is nil"},
		"RunModel, nil body":          {hooks.RunModel(ctx, &hooks.ModelCall{}, nil), "body is nil"},
		"RunTool, nil body":           {hooks.RunTool(ctx, &hooks.ToolCall{}, nil), "body is nil"},
		"RunTools, nil body":          {hooks.RunTools(ctx, []*hooks.ToolCall{{}}, 0, nil), "body is nil"},
		"Run, nil body":               {hooks.Run(ctx, seamBefore, seamAfter, &seamOwn{}, nil), "body is nil"},
		"Run, zero pre point":         {hooks.Run(ctx, zero, seamAfter, &seamOwn{}, own), "zero Point"},
		"Run, zero post point":        {hooks.Run(ctx, seamBefore, zero, &seamOwn{}, own), "zero Point"},
	} {
		require.Error(t, tc.err, name)
		assert.ErrorContains(t, tc.err, "hooks: ", name)
		assert.ErrorContains(t, tc.err, tc.says, name)
	}
}

func TestSeam_nilBodyFiresNoPoint(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	fired := 0
	for _, d := range seamDrivers() {
		if d.name[:3] == "Run" {
			d.onPre(r, func(context.Context, seamContext) error { fired++; return nil })
		}
	}
	require.Error(t, hooks.RunExecution(ctx, &hooks.Execution{}, nil))
	require.Error(t, hooks.RunStep(ctx, &hooks.Step{}, nil))
	require.Error(t, hooks.RunModel(ctx, &hooks.ModelCall{}, nil))
	require.Error(t, hooks.RunTool(ctx, &hooks.ToolCall{}, nil))
	require.Error(t, hooks.Run(ctx, seamBefore, seamAfter, &seamOwn{}, nil))
	assert.Zero(t, fired)
	for _, d := range seamDrivers() {
		before := fired
		require.NoError(t, d.run(ctx, d.fresh(), seamProceed))
		assert.Equal(t, before+1, fired, "%s with a body", d.name)
	}
}

func TestSeam_takesNilContextForBackground(t *testing.T) {
	t.Parallel()
	var none context.Context
	for _, d := range seamDrivers() {
		ran := false
		err := d.run(none, d.fresh(), func(ctx context.Context, _ seamContext) error {
			ran = true
			assert.NotNil(t, ctx)
			return nil
		})
		assert.NoError(t, err, d.name)
		assert.True(t, ran, d.name)
	}
	call := &hooks.ToolCall{Name: "a"}
	assert.NoError(t, hooks.RunTools(none, []*hooks.ToolCall{call}, 0, seamReturns("ok")))
	assert.Equal(t, "ok", call.Result)
}

func TestRun_tellsContextOfFailureBeforePost(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	failure := errors.New("disk full")
	var seen []error
	hooks.On(seamAfter, func(_ context.Context, o *seamOwn) error { seen = append(seen, o.Err); return nil }, hooks.In(r))
	require.Same(t, failure, hooks.Run(ctx, seamBefore, seamAfter, &seamOwn{}, func(context.Context, *seamOwn) error { return failure }))
	require.NoError(t, hooks.Run(ctx, seamBefore, seamAfter, &seamOwn{}, func(context.Context, *seamOwn) error { return nil }))
	assert.Equal(t, []error{failure, nil}, seen)
}

// A SetHookError that panics takes nothing from the post hooks.
func TestRun_firesPostThoughContextPanics(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	failure := errors.New("disk full")
	fired := 0
	hooks.On(seamTouchyAfter, func(context.Context, *seamTouchy) error { fired++; return nil }, hooks.In(r))
	exit := seamLeave(t, func() error {
		return hooks.Run(ctx, seamTouchyBefore, seamTouchyAfter, &seamTouchy{}, func(context.Context, *seamTouchy) error { return failure })
	})
	assert.Equal(t, seamExit{err: failure}, exit)
	assert.Equal(t, 1, fired)
}

type seamTouchy struct{}

func (*seamTouchy) SetHookError(error) { panic("touchy") }

var (
	seamTouchyBefore = hooks.Define[seamTouchy]("seamtest.touchy_before")
	seamTouchyAfter  = hooks.Define[seamTouchy]("seamtest.touchy_after")
)

// A framework's context need not have any method of this package's.
func TestRun_takesAnyStruct(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	failure := errors.New("disk full")
	fired := 0
	hooks.On(seamPlainAfter, func(context.Context, *struct{ N int }) error { fired++; return nil }, hooks.In(r))
	err := hooks.Run(ctx, seamPlainBefore, seamPlainAfter, &struct{ N int }{}, func(context.Context, *struct{ N int }) error { return failure })
	assert.Same(t, failure, err)
	assert.Equal(t, 1, fired)
}

var (
	seamPlainBefore = hooks.Define[struct{ N int }]("seamtest.plain_before")
	seamPlainAfter  = hooks.Define[struct{ N int }]("seamtest.plain_after")
)

func TestSeam_goexitOfPreHookPreventsBody(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		var ev hooks.HookDispatchedEvent
		r.Observe(func(_ context.Context, e hooks.HookDispatchedEvent) { ev = e })
		d.onPre(r, func(context.Context, seamContext) error { runtime.Goexit(); return nil })
		exit := seamLeave(t, func() error {
			return d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		})
		assert.True(t, exit.exited)
		if assert.Len(t, ev.Hooks, 1) {
			assert.Equal(t, hooks.OutcomeFailed, ev.Hooks[0].Outcome)
			assert.Same(t, hooks.ErrGoexit, ev.Hooks[0].Err)
		}
	})
}

// What a seam fills in from ctx is replaced by the next ctx; what the program
// set stays.
func TestSeam_reusedContextTakesNewCaller(t *testing.T) {
	t.Parallel()
	seamCaller := func(run string) context.Context {
		return hooks.WithCaller(t.Context(), hooks.Caller{RunID: run, AgentRole: "role of " + run, Agent: []string{run}})
	}
	call := &hooks.ToolCall{Name: "clock", Caller: hooks.Caller{Task: "its own"}}
	for _, run := range []string{"run 1", "run 2"} {
		require.NoError(t, hooks.RunTool(seamCaller(run), call, seamReturns("noon")))
		assert.Equal(t, hooks.Caller{RunID: run, RootRunID: run, AgentRole: "role of " + run, Agent: []string{run}, Task: "its own"}, call.Caller)
	}
	require.NoError(t, hooks.RunTool(t.Context(), call, seamReturns("noon")))
	assert.Equal(t, "its own", call.Task)

	call.RunID = "set by the host"
	require.NoError(t, hooks.RunTool(seamCaller("run 3"), call, seamReturns("noon")))
	assert.Equal(t, "set by the host", call.RunID)
}

// seamTold is a context of a framework's own that wants to know of failures.
type seamTold struct{ told []error }

func (s *seamTold) SetHookError(err error) { s.told = append(s.told, err) }

var seamPreTold, seamPostTold = hooks.Define[seamTold]("seamtest.pre_told"), hooks.Define[seamTold]("seamtest.post_told")

func TestRun_tellsContextOfAborts(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[seamTold]{seamPreTold, seamPostTold} {
		r := hooks.NewRegistry()
		hooks.On(at, func(context.Context, *seamTold) error { return hooks.Abort("no") }, hooks.In(r))
		c := &seamTold{}
		err := hooks.Run(hooks.WithScope(t.Context(), r), seamPreTold, seamPostTold, c, func(context.Context, *seamTold) error { return nil })
		require.Error(t, err)
		assert.Equal(t, []error{err}, c.told, at.Name())
	}
}

type seamTraceKey struct{}

// seamAssertTold requires c to tell of err. A context of a framework's own is told
// only of what its body did.
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

func TestSeam_firesNothingWhenDoneOnEntry(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		count := func(context.Context, seamContext) error { fired++; return nil }
		d.onPre(r, count)
		d.onPost(r, count)
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
			assert.Zero(t, fired)
		}
		require.NoError(t, d.run(ctx, d.fresh(), seamProceed))
		assert.Equal(t, 2, fired, "with a live ctx")
	})
}

// As when an approval took long.
func TestSeam_skipsBodyWhenDoneAfterPreHooks(t *testing.T) {
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

func TestSeam_postHooksGetLiveContextAfterCancel(t *testing.T) {
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

// What a body has finished is kept although ctx is done.
func TestSeam_keepsFinishedWorkAfterCancel(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		for _, late := range []string{"in the body", "in the post hooks"} {
			ctx, cancel := context.WithCancel(ctx)
			scope := hooks.NewRegistry()
			posts := 0
			d.onPost(scope, func(context.Context, seamContext) error { posts++; cancel(); return nil })
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
			assert.Equal(t, 1, posts, late)
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

// A hook that could not decide in time must not be taken for a yes.
func TestSeam_skipsBodyWhenPreHookOutlastsCtx(t *testing.T) {
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
					ctx, r := newRun(t)
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
				ctx, r := newRun(t)
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

// seamTrap is an error whose methods panic.
type seamTrap struct{ unwrap, is, text bool }

func (e *seamTrap) Error() string {
	if e.text {
		panic("Error")
	}
	return "trap"
}

func (e *seamTrap) Unwrap() error {
	if e.unwrap {
		panic("Unwrap")
	}
	return nil
}

func (e *seamTrap) Is(error) bool {
	if e.is {
		panic("Is")
	}
	return false
}

func seamTraps() map[string]error {
	return map[string]error{"Unwrap": &seamTrap{unwrap: true}, "Is": &seamTrap{is: true}, "Error": &seamTrap{text: true}}
}

func TestSeam_survivesHostileErrorOfBody(t *testing.T) {
	t.Parallel()
	for name, trap := range seamTraps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				posts := 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return hooks.Abort("no") })
				c := d.fresh()
				exit := seamLeave(t, func() error {
					return d.run(ctx, c, func(context.Context, seamContext) error { return trap })
				})
				assert.Nil(t, exit.value)
				assert.Equal(t, 1, posts)
				assert.Same(t, trap, c.failure())
				if d.tool {
					assert.NoError(t, exit.err)
				} else {
					assert.Same(t, trap, exit.err)
				}
			})
		})
	}
}

func TestSeam_survivesHostileErrorOfGuard(t *testing.T) {
	t.Parallel()
	for name, trap := range seamTraps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, _ *hooks.Registry, d seamDriver) {
				for at, register := range map[string]func(*hooks.Registry, seamFunc, ...hooks.Option){"pre": d.onPre, "post": d.onPost} {
					r := hooks.NewRegistry()
					register(r, func(context.Context, seamContext) error { return trap }, hooks.AsGuard())
					c := d.fresh()
					exit := seamLeave(t, func() error { return d.run(hooks.WithScope(ctx, r), c, seamProceed) })
					assert.Nil(t, exit.value, at)
					err := exit.err
					if call, ok := c.native().(*hooks.ToolCall); ok {
						assert.NoError(t, err, at)
						if !assert.NotNil(t, call.Blocked, at) {
							continue
						}
						err = call.Blocked
						assert.Contains(t, call.Result, "a guard failed", at)
					}
					abort, ok := err.(*hooks.HookAborted)
					if assert.True(t, ok, at) {
						assert.Same(t, trap, abort.Err, at)
					}
				}
			})
		})
	}
}

func TestSeam_survivesHostileGuardAfterFailure(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	for name, trap := range seamTraps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				posts := 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return trap }, hooks.AsGuard())
				for what, err := range map[string]error{"failure": failure, "interrupt": hooks.PassThrough(failure)} {
					exit := seamLeave(t, func() error {
						return d.run(ctx, d.fresh(), func(context.Context, seamContext) error { return err })
					})
					assert.Nil(t, exit.value, what)
					switch {
					case what == "interrupt":
						assert.Same(t, failure, suspended(t, exit.err).Err)
					case !d.tool:
						assert.Same(t, failure, exit.err)
					}
				}
				assert.Equal(t, 2, posts)
			})
		})
	}
}

// With GODEBUG=panicnil=1 recover returns nil, as it does where nothing has
// panicked.
func TestSeam_nilPanicUnderOldRuleIsPanic(t *testing.T) {
	t.Parallel()
	if !inChild() {
		rerun(t, "GODEBUG=panicnil=1")
		return
	}
	for _, d := range seamDrivers() {
		if d.name[:3] != "Run" {
			continue // a middleware can't tell such a panic from a return itself
		}
		r := hooks.NewRegistry()
		posts := 0
		d.onPost(r, func(context.Context, seamContext) error { posts++; panic(nil) })
		c := d.fresh()
		returned := false
		func() {
			defer func() { _ = recover() }()
			_ = d.run(hooks.WithScope(t.Context(), r), c, func(context.Context, seamContext) error { panic(nil) })
			returned = true
		}()
		assert.IsType(t, &hooks.PanicError{}, c.failure(), d.name)
		assert.Equal(t, 1, posts, d.name)
		assert.Equal(t, d.tool, returned, d.name)
	}
}

// Errors and panics of any kind are passed over, and the context shows nothing
// of them.
func TestSeam_failingHooksLetBodyRun(t *testing.T) {
	t.Parallel()
	var none *hooks.HookAborted
	for name, hook := range map[string]seamFunc{
		"error":       func(context.Context, seamContext) error { return errors.New("bug") },
		"typed nil":   func(context.Context, seamContext) error { return none },
		"panic":       func(context.Context, seamContext) error { panic("bug") },
		"panic nil":   func(context.Context, seamContext) error { panic(nil) },
		"hostile":     func(context.Context, seamContext) error { return &seamTrap{unwrap: true, is: true, text: true} },
		"its own ctx": func(context.Context, seamContext) error { return context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				fired, ran := 0, 0
				counted := func(ctx context.Context, c seamContext) error {
					fired++
					return hook(ctx, c)
				}
				d.onPre(r, counted)
				d.onPost(r, counted)
				c := d.fresh()
				exit := seamLeave(t, func() error {
					return d.run(ctx, c, func(context.Context, seamContext) error { ran++; return nil })
				})
				require.Equal(t, seamExit{}, exit)
				assert.Equal(t, 2, fired)
				assert.Equal(t, 1, ran)
				assert.NoError(t, c.failure())
			})
		})
	}
}

// deadlineWait takes d, or until ctx is done.
func deadlineWait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deadlineRefusal returns the abort of a seam, which a tool call keeps as its
// own.
func deadlineRefusal(t *testing.T, c seamContext, err error) *hooks.HookAborted {
	t.Helper()
	if call, ok := c.native().(*hooks.ToolCall); ok {
		require.NoError(t, err)
		require.NotNil(t, call.Blocked)
		assert.True(t, call.IsError())
		assert.NotContains(t, call.Result, "deadline")
		assert.NotContains(t, call.Result, "hunter2")
		return call.Blocked
	}
	return aborted(t, err)
}

// A hook that runs out of time is passed over, and refuses if it is fail-
// closed.
func TestSeam_hookOutOfTimeIsSkippedOrRefuses(t *testing.T) {
	t.Parallel()
	obeys := func(ctx context.Context, _ seamContext) error { return deadlineWait(ctx, time.Hour) }
	ignores := func(context.Context, seamContext) error {
		<-time.After(3 * time.Second)
		return nil
	}
	for _, d := range seamDrivers() {
		for _, tt := range []struct {
			name   string
			hook   seamFunc
			takes  time.Duration
			opts   []hooks.Option
			closed bool
		}{
			{"hook that obeys", obeys, time.Second, nil, false},
			{"hook that ignores ctx", ignores, 3 * time.Second, nil, false},
			{"fail-closed hook that obeys", obeys, time.Second, []hooks.Option{hooks.WithFailClosed()}, true},
			{"fail-closed hook that ignores ctx", ignores, 3 * time.Second, []hooks.Option{hooks.WithFailClosed()}, true},
			{"guard that obeys", obeys, time.Second, []hooks.Option{hooks.AsGuard()}, true},
			{"guard that ignores ctx", ignores, 3 * time.Second, []hooks.Option{hooks.AsGuard()}, true},
		} {
			for _, at := range []string{"pre", "post"} {
				t.Run(fmt.Sprintf("%s/%s/%s", d.name, at, tt.name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r := hooks.NewRegistry()
						on := d.onPre
						if at == "post" {
							on = d.onPost
						}
						on(r, tt.hook, append(tt.opts, hooks.WithTimeout(time.Second), hooks.WithName("limit"))...)
						bodies, posts := 0, 0
						outer := hooks.NewRegistry() // whose hooks run first
						d.onPost(outer, func(ctx context.Context, _ seamContext) error {
							posts++
							_, ok := ctx.Deadline()
							assert.False(t, ok, "the time of one hook is not that of another")
							return nil
						})
						ctx := hooks.WithScope(hooks.WithScope(t.Context(), outer), r)
						start := time.Now()
						c := d.fresh()
						err := d.run(ctx, c, func(ctx context.Context, c seamContext) error {
							bodies++
							if call, ok := c.native().(*hooks.ToolCall); ok {
								call.Result = "hunter2"
							}
							return ctx.Err()
						})
						assert.Equal(t, tt.takes, time.Since(start))
						refused := tt.closed && at == "pre"
						assert.Equal(t, !refused, bodies == 1)
						assert.Equal(t, !refused || d.tool, posts == 1)
						if !tt.closed {
							require.NoError(t, err)
							require.NoError(t, c.failure())
							return
						}
						abort := deadlineRefusal(t, c, err)
						assert.ErrorIs(t, abort, context.DeadlineExceeded)
						assert.Equal(t, "limit failed", abort.Reason)
						assert.Equal(t, "limit", abort.Source)
					})
				})
			}
		}
	}
}

// A hook under a timeout sees why its caller was cancelled.
func TestSeam_timedHookSeesCauseOfCancel(t *testing.T) {
	t.Parallel()
	why := errors.New("the user left")
	for name, opts := range map[string][]hooks.Option{"hook": nil, "guard": {hooks.AsGuard()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				ctx, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(time.Second, func() { cancel(why) })
				fired := 0
				hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
					fired++
					err := deadlineWait(ctx, time.Minute)
					assert.Equal(t, context.Canceled, err)
					assert.Equal(t, why, context.Cause(ctx))
					return err
				}, append(opts, hooks.In(r), hooks.WithTimeout(time.Hour))...)
				start := time.Now()
				err := hooks.RunStep(ctx, &hooks.Step{}, func(context.Context, *hooks.Step) error { t.Error("the body ran"); return nil })
				assert.ErrorIs(t, err, context.Canceled)
				assert.Equal(t, time.Second, time.Since(start))
				assert.Equal(t, 1, fired)
			})
		})
	}
}

// A post hook of a cancelled run has the whole of its time.
func TestSeam_timeoutStartsAnewAfterCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		written := false
		hooks.On(hooks.ExecutionEnd, func(ctx context.Context, x *hooks.Execution) error {
			assert.Equal(t, hooks.StatusFailed, x.Status)
			written = deadlineWait(ctx, 4*time.Second) == nil
			return nil
		}, hooks.In(r), hooks.WithTimeout(5*time.Second))
		start := time.Now()
		err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			<-ctx.Done()
			return ctx.Err()
		})
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.True(t, written)
		assert.Equal(t, 5*time.Second, time.Since(start))
	})
}

// seamOddCtx is a legal ctx on which == panics.
type seamOddCtx struct {
	context.Context
	labels map[string]string
}

func TestSeam_takesIncomparableContext(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPre(r, func(context.Context, seamContext) error { fired++; return nil })
		d.onPost(r, func(context.Context, seamContext) error { fired++; return nil })
		limited, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		for _, ctx := range []context.Context{ctx, limited} {
			fired = 0
			exit := seamLeave(t, func() error {
				return d.run(seamOddCtx{Context: ctx, labels: map[string]string{}}, d.fresh(), seamProceed)
			})
			assert.Equal(t, seamExit{}, exit)
			assert.Equal(t, 2, fired)
		}
	})
}

// seamAgain returns the ways in which a hook can begin the context of its own
// seam once more.
func seamAgain(d seamDriver) map[string]seamFunc {
	run := func(body seamFunc) seamFunc {
		return func(ctx context.Context, c seamContext) error {
			defer func() { _ = recover() }()
			_ = d.run(ctx, c, body)
			return nil
		}
	}
	ways := map[string]seamFunc{
		"it runs":   run(seamProceed),
		"it fails":  run(func(context.Context, seamContext) error { return errors.New("disk full") }),
		"it panics": run(func(context.Context, seamContext) error { panic("bug") }),
		"twice": func(ctx context.Context, c seamContext) error {
			_ = d.run(ctx, c, seamProceed)
			return d.run(ctx, c, seamProceed)
		},
		"elsewhere": func(_ context.Context, c seamContext) error { return d.run(context.Background(), c, seamProceed) },
	}
	if d.begin != nil {
		ways["it never ends"] = func(ctx context.Context, c seamContext) error { _, _, err := d.begin(ctx, c); return err }
	}
	return ways
}

// seamOnce returns a hook that runs fn, unless it is inside of that.
func seamOnce(fn seamFunc) seamFunc {
	inside := false
	return func(ctx context.Context, c seamContext) error {
		if inside {
			return nil
		}
		inside = true
		defer func() { inside = false }()
		return fn(ctx, c)
	}
}

// seamEachAgain runs a parallel subtest for each driver and each of its seamAgain.
func seamEachAgain(t *testing.T, drivers []seamDriver, test func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver, again seamFunc)) {
	t.Helper()
	for _, d := range drivers {
		for way, again := range seamAgain(d) {
			t.Run(d.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				ctx, r := newRun(t)
				test(t, ctx, r, d, again)
			})
		}
	}
}

// seamGive makes a body's value of text, and seamTaken tells what is left of it.
func seamGive(c seamContext, text string) {
	switch c := c.native().(type) {
	case *hooks.Execution:
		c.Output = text
	case *hooks.Step:
		c.Output = text
	case *hooks.ModelCall:
		c.Response, c.ToolCalls = text, []hooks.ToolRequest{{Arguments: text}}
		c.Parts = []hooks.Part{{Text: text}}
	case *hooks.ToolCall:
		c.Result, c.Parts = text, []hooks.Part{{Text: text}}
	}
}

func seamTaken(c seamContext) string {
	switch c := c.native().(type) {
	case *hooks.Execution:
		return fmt.Sprint(c.Output)
	case *hooks.Step:
		return fmt.Sprint(c.Output)
	case *hooks.ModelCall:
		return fmt.Sprint(c.Response, c.ToolCalls, c.Parts)
	case *hooks.ToolCall:
		return fmt.Sprint(c.Result, c.Parts)
	}
	return ""
}

// seamRefused requires that a guard has refused c, whose seam returned err.
func seamRefused(t *testing.T, c seamContext, err error) {
	t.Helper()
	if call, ok := c.native().(*hooks.ToolCall); ok {
		assert.NoError(t, err)
		assert.False(t, call.ShouldRun())
		assert.False(t, call.Answered())
		assert.True(t, call.IsError())
		if assert.NotNil(t, call.Blocked) {
			err = call.Blocked
		}
	}
	if abort, ok := errors.AsType[*hooks.HookAborted](err); assert.True(t, ok, "%v", err) {
		assert.Equal(t, "over budget", abort.Reason)
	}
}

// A hook tries a guard with a harmless task first, on the same context: what the
// guard says of that doesn't count for the real one.
func TestSeam_guardHoldsThoughBegunAgain(t *testing.T) {
	t.Parallel()
	seamEachAgain(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver, again seamFunc) {
		judged := 0
		d.onPre(r, seamOnce(func(ctx context.Context, c seamContext) error {
			c.who().Task = "harmless"
			err := again(ctx, c)
			c.who().Task = "real"
			return err
		}))
		guard := func(_ context.Context, c seamContext) error {
			judged++
			if c.who().Task == "harmless" {
				return nil
			}
			return seamVeto
		}
		d.onPre(r, guard, hooks.AsGuard())
		d.onPre(hooks.NewRegistry(), guard)
		c := d.fresh()
		c.who().Task = "real"
		err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		seamRefused(t, c, err)
		assert.GreaterOrEqual(t, judged, 1)
	})
}

func TestSeam_postGuardHoldsThoughBegunAgain(t *testing.T) {
	t.Parallel()
	seamEachAgain(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver, again seamFunc) {
		judged := 0
		d.onPost(r, seamOnce(func(ctx context.Context, c seamContext) error {
			err := again(ctx, c)
			seamGive(c, "hunter2")
			return err
		}))
		d.onPost(r, func(_ context.Context, c seamContext) error {
			judged++
			return seamVeto
		}, hooks.AsGuard())
		c := d.fresh()
		err := d.run(ctx, c, func(_ context.Context, c seamContext) error { seamGive(c, "hunter2"); return nil })
		seamRefused(t, c, err)
		assert.NotContains(t, seamTaken(c), "hunter2")
		assert.Positive(t, judged)
	})
}

// What one passage leaves in the context is not taken for the other's.
func TestSeam_outcomeIsItsOwnThoughBegunAgain(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	for name, body := range map[string]seamFunc{
		"succeeds": seamProceed, "fails": func(context.Context, seamContext) error { return failure },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachAgain(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver, again seamFunc) {
				ran, fired := 0, 0
				d.onPre(r, seamOnce(again))
				d.onPost(r, func(context.Context, seamContext) error { fired++; return nil })
				d.onPost(r, seamOnce(again))
				c := d.fresh()
				id := ""
				err := d.run(ctx, c, func(ctx context.Context, c seamContext) error {
					ran++
					id = c.who().RunID
					return body(ctx, c)
				})
				assert.Equal(t, 1, ran)
				assert.Positive(t, fired)
				if name == "fails" && !d.tool {
					assert.Same(t, failure, err)
				} else {
					assert.NoError(t, err)
				}
				switch c := c.native().(type) {
				case *hooks.Execution:
					assert.Equal(t, name == "succeeds", c.Status == hooks.StatusCompleted, c.Status)
					assert.Equal(t, name == "succeeds", c.Err == nil, c.Err)
					assert.NotEmpty(t, id)
					assert.NotEqual(t, id, c.ParentRunID, "no execution is its own parent")
				case *hooks.ToolCall:
					assert.True(t, c.Ran())
					assert.False(t, c.ShouldRun())
					assert.Nil(t, c.Blocked)
				}
			})
		})
	}
}

// A call that was refused stays so when a post hook begins it again.
func TestRunTool_staysBlockedThoughBegunAgain(t *testing.T) {
	t.Parallel()
	seamEachAgain(t, seamTools(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver, again seamFunc) {
		first := true
		d.onPre(r, func(context.Context, seamContext) error {
			if first {
				return seamVeto
			}
			return nil
		}, hooks.AsGuard())
		d.onPost(r, seamOnce(func(ctx context.Context, c seamContext) error { first = false; return again(ctx, c) }))
		c := d.fresh()
		seamRefused(t, c, d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil }))
		assert.False(t, first)
	})
}

// seamOwnTool is a context of a framework's own around a tool call.
type seamOwnTool struct{ hooks.ToolCall }

var seamPreOwnTool, seamPostOwnTool = hooks.Define[seamOwnTool]("seamtest.pre_own_tool"), hooks.Define[seamOwnTool]("seamtest.post_own_tool")

// seamAnswered drives the seams whose contexts can be answered.
func seamAnswered() []seamDriver {
	some := []seamDriver{seamDriverOf("Run of a tool", seamPreOwnTool, seamPostOwnTool,
		func() *seamOwnTool { return &seamOwnTool{} },
		func(o *seamOwnTool) seamContext { return seamOwnCall{o} },
		func(ctx context.Context, o *seamOwnTool, body func(context.Context, *seamOwnTool) error) error {
			return hooks.Run(ctx, seamPreOwnTool, seamPostOwnTool, o, body)
		}, nil)}
	for _, d := range seamDrivers() {
		if _, ok := d.fresh().native().(interface{ Answer(string) }); ok {
			some = append(some, d)
		}
	}
	return some
}

type seamOwnCall struct{ *seamOwnTool }

func (c seamOwnCall) who() *hooks.Caller { return &c.Caller }
func (c seamOwnCall) failure() error     { return c.Err }
func (c seamOwnCall) native() any        { return c.seamOwnTool }

// A ready answer belongs to the passage whose hook gave it.
func TestSeam_answerIsItsOwnThoughBegunAgain(t *testing.T) {
	t.Parallel()
	for _, d := range seamAnswered() {
		for way, again := range seamAgain(d) {
			for _, inner := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/inside %v", d.name, way, inner), func(t *testing.T) {
					t.Parallel()
					ctx, r := newRun(t)
					inside, ran, answered := false, 0, 0
					d.onPre(r, func(_ context.Context, c seamContext) error {
						if inside == inner {
							answered++
							c.native().(interface{ Answer(string) }).Answer("ready")
						}
						return nil
					})
					d.onPre(r, seamOnce(func(ctx context.Context, c seamContext) error {
						inside = true
						defer func() { inside = false }()
						if inner && way == "elsewhere" {
							ctx = hooks.WithScope(ctx, r)
							return d.run(ctx, c, seamProceed)
						}
						return again(ctx, c)
					}))
					c := d.fresh()
					require.NoError(t, d.run(ctx, c, func(context.Context, seamContext) error { ran++; return nil }))
					assert.Positive(t, answered)
					if inner {
						assert.Equal(t, 1, ran, "nobody answered this one")
						return
					}
					assert.Zero(t, ran)
					switch c := c.native().(type) {
					case *hooks.ToolCall:
						assert.Equal(t, "ready", c.Result)
					case *hooks.ModelCall:
						assert.Equal(t, "ready", c.Response)
					case *seamOwnTool:
						assert.Equal(t, "ready", c.Result)
					}
				})
			}
		}
	}
}

// Two layers of a framework may both run one context through its seam.
func TestSeam_ofTwoLayersGivesWhatTheInnerDid(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	type key struct{}
	for name, tc := range map[string]struct {
		hook  seamFunc
		body  seamFunc
		check func(t *testing.T, d seamDriver, c seamContext, err error)
	}{
		"a result": {seamProceed, func(_ context.Context, c seamContext) error { seamGive(c, "done"); return nil }, func(t *testing.T, d seamDriver, c seamContext, err error) {
			assert.NoError(t, err)
			if d.pre != seamBefore.Name() {
				assert.Contains(t, seamTaken(c), "done")
			}
		}},
		"a failure": {seamProceed, func(context.Context, seamContext) error { return failure }, func(t *testing.T, d seamDriver, c seamContext, err error) {
			assert.Equal(t, failure, c.failure())
			if !d.tool {
				assert.Same(t, failure, err)
			}
		}},
		"a stop": {func(context.Context, seamContext) error { return hooks.AbortRun("over budget") }, seamProceed, func(t *testing.T, _ seamDriver, _ seamContext, err error) {
			abort, ok := errors.AsType[*hooks.HookAborted](err)
			assert.True(t, ok && abort.StopRun, "%v", err)
		}},
		"a refusal": {func(context.Context, seamContext) error { return seamVeto }, seamProceed, func(t *testing.T, _ seamDriver, c seamContext, err error) {
			seamRefused(t, c, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				inner := 0
				d.onPre(r, func(ctx context.Context, c seamContext) error {
					if _, ok := c.Get(key{}); !ok {
						return nil
					}
					inner++
					return tc.hook(ctx, c)
				})
				c := d.fresh()
				err := d.run(ctx, c, func(ctx context.Context, c seamContext) error {
					c.Put(key{}, true)
					return d.run(ctx, c, tc.body)
				})
				assert.Equal(t, 1, inner)
				tc.check(t, d, c, err)
			})
		})
	}
}

// Nobody has checked a value whose hooks ended the goroutine.
func TestSeam_goexitOfHookTakesValueOut(t *testing.T) {
	t.Parallel()
	exits := func(context.Context, seamContext) error { runtime.Goexit(); return nil }
	for what, opts := range map[string][]hooks.Option{"hook": nil, "guard": {hooks.AsGuard()}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, _ *hooks.Registry, d seamDriver) {
				for at, on := range map[string]func(*hooks.Registry, seamFunc, ...hooks.Option){"pre": d.onPre, "post": d.onPost} {
					r := hooks.NewRegistry()
					watched := 0
					on(r, exits, opts...)
					seamWatch(r, &watched)
					c := d.fresh()
					exit := seamLeave(t, func() error {
						return d.run(hooks.WithScope(ctx, r), c, func(_ context.Context, c seamContext) error { seamGive(c, "hunter2"); return nil })
					})
					assert.True(t, exit.exited, at)
					assert.NotContains(t, seamTaken(c), "hunter2", at)
					assert.Positive(t, watched, at)
					switch c := c.native().(type) {
					case *hooks.ToolCall:
						assert.NotEmpty(t, c.Result, at)
						assert.True(t, c.IsError(), at)
						assert.False(t, c.ShouldRun(), at)
					case *hooks.Execution:
						assert.Equal(t, hooks.StatusFailed, c.Status, at)
					}
					if at == "pre" || !d.tool {
						assert.Same(t, hooks.ErrGoexit, c.failure(), at)
					}
				}
			})
		})
	}
}

// seamWatch counts what watches of any seam see.
func seamWatch(r *hooks.Registry, n *int) {
	watchAll(r, hooks.ExecutionStart, n)
	watchAll(r, hooks.Output, n)
	watchAll(r, hooks.ExecutionEnd, n)
	watchAll(r, hooks.PreStep, n)
	watchAll(r, hooks.PostStep, n)
	watchAll(r, hooks.PreModelCall, n)
	watchAll(r, hooks.PostModelCall, n)
	watchAll(r, hooks.PreToolCall, n)
	watchAll(r, hooks.PostToolCall, n)
	watchAll(r, seamBefore, n)
	watchAll(r, seamAfter, n)
}

func watchAll[C any](r *hooks.Registry, p hooks.Point[C], n *int) {
	hooks.Watch(p, func(context.Context, *C, error) { *n++ }, hooks.In(r))
}

// An onlooker at the pre point that ends the goroutine leaves no call without an
// outcome.
func TestSeam_goexitOfOnlookerLeavesOutcome(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		if d.pre == seamBefore.Name() {
			return // it is not told
		}
		ran := 0
		d.onPre(r, func(context.Context, seamContext) error { ran++; return nil })
		r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { runtime.Goexit() })
		c := d.fresh()
		exit := seamLeave(t, func() error {
			return d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		})
		assert.True(t, exit.exited)
		assert.Equal(t, 1, ran)
		assert.Same(t, hooks.ErrGoexit, c.failure())
		if call, ok := c.native().(*hooks.ToolCall); ok {
			assert.NotEmpty(t, call.Result)
			assert.False(t, call.ShouldRun())
		}
	})
}

//go:noinline
func seamCrashSite(old bool) {
	if old {
		panic(nil)
	}
	panic("boom")
}

// A panic of a body ends the program as it would without the seam: with the
// frames of the body.
func TestSeam_crashShowsTheBody(t *testing.T) {
	const variable = "HOOKS_TEST_CRASH"
	if which := os.Getenv(variable); which != "" {
		old := strings.HasSuffix(os.Getenv("GODEBUG"), "panicnil=1")
		body := func(context.Context, seamContext) error { seamCrashSite(old); return nil }
		for _, d := range seamDrivers() {
			if d.name != which {
				continue
			}
			d.onPost(hooks.Default(), func(context.Context, seamContext) error { fmt.Println("post"); return nil })
			go func() { // beneath no recover of package testing
				if d.begin == nil || d.name[:3] == "Run" {
					_ = d.run(context.Background(), d.fresh(), body)
					return
				}
				_ = seamEnded(context.Background(), d, d.fresh(), body)
			}()
		}
		select {}
	}
	t.Parallel()
	for _, d := range seamDrivers() {
		if d.name == "RunTool" {
			continue // turns a panic into a result
		}
		for _, env := range []string{"GODEBUG=panicnil=0", "GODEBUG=panicnil=1"} {
			t.Run(d.name+"/"+env, func(t *testing.T) {
				t.Parallel()
				self, err := os.Executable()
				require.NoError(t, err)
				child := exec.CommandContext(t.Context(), self, "-test.run=^TestSeam_crashShowsTheBody$", "-test.timeout=60s")
				child.Env = append(os.Environ(), env, variable+"="+d.name, childEnv+"=1")
				out, err := child.CombinedOutput()
				require.Error(t, err)
				assert.Contains(t, string(out), "hooks_test.seamCrashSite(")
				assert.Equal(t, 1, strings.Count(string(out), "post\n"))
			})
		}
	}
}

// seamEnded runs body in a Begin form as the documentation of End shows it.
func seamEnded(ctx context.Context, d seamDriver, c seamContext, body seamFunc) (err error) {
	ctx, end, err := d.begin(ctx, c)
	if err != nil {
		return err
	}
	defer hooks.End(end, &err)
	return body(ctx, c)
}

func TestEnd_endsHoweverTheBodyLeaves(t *testing.T) {
	t.Parallel()
	if !inChild() {
		rerun(t, "GODEBUG=panicnil=1")
	}
	failure := errors.New("disk full")
	type way struct {
		body  seamFunc
		check func(t *testing.T, d seamDriver, c seamContext, exit seamExit)
	}
	panicked := func(t *testing.T, c seamContext, value any) {
		t.Helper()
		p, ok := c.failure().(*hooks.PanicError)
		if assert.True(t, ok, "%v", c.failure()) && value != nil {
			assert.Equal(t, value, p.Value)
		}
	}
	for name, tc := range map[string]way{
		"returns": {seamProceed, func(t *testing.T, _ seamDriver, c seamContext, exit seamExit) {
			assert.NoError(t, c.failure())
			assert.Equal(t, seamExit{}, exit)
		}},
		"fails": {func(context.Context, seamContext) error { return failure }, func(t *testing.T, d seamDriver, c seamContext, exit seamExit) {
			assert.Same(t, failure, c.failure())
			if d.tool {
				assert.NoError(t, exit.err, "the error is the call's")
			} else {
				assert.Same(t, failure, exit.err)
			}
		}},
		"panics": {func(context.Context, seamContext) error { panic("boom") }, func(t *testing.T, _ seamDriver, c seamContext, exit seamExit) {
			panicked(t, c, "boom")
			assert.Equal(t, "boom", exit.value)
		}},
		"panics with nil": {func(context.Context, seamContext) error { panic(nil) }, func(t *testing.T, _ seamDriver, c seamContext, exit seamExit) {
			panicked(t, c, nil)
			assert.True(t, exit.value != nil || inChild() && exit.exited, "the panic goes on")
		}},
		"exits": {func(context.Context, seamContext) error { runtime.Goexit(); return nil }, func(t *testing.T, _ seamDriver, c seamContext, exit seamExit) {
			assert.Same(t, hooks.ErrGoexit, c.failure())
			assert.True(t, exit.exited)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				posts := 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
				c := d.fresh()
				exit := seamLeave(t, func() error { return seamEnded(ctx, d, c, tc.body) })
				assert.Equal(t, 1, posts)
				tc.check(t, d, c, exit)

				c = d.fresh() // where nobody asks for the error
				exit = seamLeave(t, func() error {
					ctx, end, err := d.begin(ctx, c)
					if err != nil {
						return err
					}
					defer hooks.End(end, nil)
					return tc.body(ctx, c)
				})
				assert.Equal(t, 2, posts)
				if name != "fails" {
					tc.check(t, d, c, exit)
				}
			})
		})
	}
}

// What End stores is what the seam returns: a refusal of the post point too.
func TestEnd_storesWhatTheSeamReturns(t *testing.T) {
	t.Parallel()
	seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPost(r, func(context.Context, seamContext) error { fired++; return hooks.AbortRun("over budget") })
		assert.ErrorContains(t, seamEnded(ctx, d, d.fresh(), seamProceed), "over budget")
		assert.Equal(t, 1, fired)
		done, cancel := context.WithCancel(ctx)
		cancel()
		assert.ErrorIs(t, seamEnded(done, d, d.fresh(), seamProceed), context.Canceled)
		assert.Equal(t, 1, fired)
	})
}

// A framework's own context that can't say whether it is answered isn't run, and
// has its post point.
func TestRun_panickingAnsweredFiresPost(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	fired := 0
	hooks.On(seamUnsureAfter, func(context.Context, *seamUnsure) error { fired++; return nil }, hooks.In(r))
	err := hooks.Run(ctx, seamUnsureBefore, seamUnsureAfter, &seamUnsure{}, func(context.Context, *seamUnsure) error {
		t.Error("the body ran")
		return nil
	})
	assert.IsType(t, &hooks.PanicError{}, err)
	assert.Equal(t, 1, fired)
}

type seamUnsure struct{}

func (*seamUnsure) Answered() bool { panic("unsure") }

var seamUnsureBefore, seamUnsureAfter = hooks.Define[seamUnsure]("seamtest.unsure_before"), hooks.Define[seamUnsure]("seamtest.unsure_after")

// Run asks a context around a tool call whether its body may run.
func TestRun_obeysTheToolCallInside(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(c *seamOwnTool) hooks.Func[seamOwnTool]{
		"unreadable arguments": func(c *seamOwnTool) hooks.Func[seamOwnTool] { _ = c.SetArguments(`{"a":1,"a":2}`); return nil },
		"a ready answer": func(*seamOwnTool) hooks.Func[seamOwnTool] {
			return edit(func(c *seamOwnTool) { c.Answer("ready") })
		},
	} {
		ctx, r := newRun(t)
		posts := 0
		hooks.On(seamPostOwnTool, func(context.Context, *seamOwnTool) error { posts++; return nil }, hooks.In(r))
		c := &seamOwnTool{}
		if hook := prepare(c); hook != nil {
			hooks.On(seamPreOwnTool, hook, hooks.In(r))
		}
		err := hooks.Run(ctx, seamPreOwnTool, seamPostOwnTool, c, func(context.Context, *seamOwnTool) error {
			t.Error("the body ran: " + name)
			return nil
		})
		assert.Equal(t, name == "unreadable arguments", err != nil, "%v", err)
		assert.Equal(t, 1, posts, name)
	}
}

// seamContext is the context of any seam, as far as all of them are alike.
type seamContext interface {
	Put(key, value any)
	Get(key any) (any, bool)
	who() *hooks.Caller
	failure() error
	native() any
}

type (
	seamExecution struct{ *hooks.Execution }
	seamStep      struct{ *hooks.Step }
	seamModel     struct{ *hooks.ModelCall }
	seamTool      struct{ *hooks.ToolCall }
	seamCustom    struct{ *seamOwn }
)

func (c seamExecution) who() *hooks.Caller { return &c.Caller }
func (c seamExecution) failure() error     { return c.Err }
func (c seamExecution) native() any        { return c.Execution }
func (c seamStep) who() *hooks.Caller      { return &c.Caller }
func (c seamStep) failure() error          { return c.Err }
func (c seamStep) native() any             { return c.Step }
func (c seamModel) who() *hooks.Caller     { return &c.Caller }
func (c seamModel) failure() error         { return c.Err }
func (c seamModel) native() any            { return c.ModelCall }
func (c seamTool) who() *hooks.Caller      { return &c.Caller }
func (c seamTool) failure() error          { return c.Err }
func (c seamTool) native() any             { return c.ToolCall }
func (c seamCustom) who() *hooks.Caller    { return &c.Caller }
func (c seamCustom) failure() error        { return c.Err }
func (c seamCustom) native() any           { return c.seamOwn }

// seamOwn is the context of a framework's own pair of points.
type seamOwn struct {
	hooks.Caller
	hooks.Values
	Err error
}

func (o *seamOwn) SetHookError(err error) { o.Err = err }

var (
	seamBefore = hooks.Define[seamOwn]("seamtest.before")
	seamAfter  = hooks.Define[seamOwn]("seamtest.after")
)

type (
	seamFunc = func(context.Context, seamContext) error
	seamEnd  = func(error) error
)

// seamDriver drives one seam in one of its forms, so that all of them are held
// to the same rules. Its pre and post are the outermost points of the seam.
type seamDriver struct {
	name      string
	tool      bool // turns refusals and failures into results
	pre, post hooks.InterceptionPoint
	fresh     func() seamContext
	onPre     func(*hooks.Registry, seamFunc, ...hooks.Option)
	onPost    func(*hooks.Registry, seamFunc, ...hooks.Option)
	run       func(context.Context, seamContext, seamFunc) error
	begin     func(context.Context, seamContext) (context.Context, seamEnd, error) // nil where there is no such form
}

// seamDrivers returns every seam in every form.
func seamDrivers() []seamDriver {
	var all []seamDriver
	for _, run := range []seamDriver{
		seamDriverOf("RunExecution", hooks.ExecutionStart, hooks.ExecutionEnd,
			func() *hooks.Execution { return &hooks.Execution{} },
			func(x *hooks.Execution) seamContext { return seamExecution{x} },
			hooks.RunExecution, hooks.BeginExecution),
		seamDriverOf("RunStep", hooks.PreStep, hooks.PostStep,
			func() *hooks.Step { return &hooks.Step{Kind: hooks.StepTask, Name: "plan"} },
			func(s *hooks.Step) seamContext { return seamStep{s} },
			hooks.RunStep, hooks.BeginStep),
		seamDriverOf("RunModel", hooks.PreModelCall, hooks.PostModelCall,
			func() *hooks.ModelCall { return &hooks.ModelCall{Model: "m"} },
			func(m *hooks.ModelCall) seamContext { return seamModel{m} },
			hooks.RunModel, hooks.BeginModel),
		seamDriverOf("RunTool", hooks.PreToolCall, hooks.PostToolCall,
			func() *hooks.ToolCall { return &hooks.ToolCall{Name: "search"} },
			func(t *hooks.ToolCall) seamContext { return seamTool{t} },
			hooks.RunTool, hooks.BeginTool),
		seamDriverOf("Run", seamBefore, seamAfter,
			func() *seamOwn { return &seamOwn{} },
			func(o *seamOwn) seamContext { return seamCustom{o} },
			func(ctx context.Context, o *seamOwn, body func(context.Context, *seamOwn) error) error {
				return hooks.Run(ctx, seamBefore, seamAfter, o, body)
			}, nil),
	} {
		run.tool = run.pre == hooks.PreToolCall.Name()
		all = append(all, run)
		if run.begin == nil {
			continue
		}
		begin := run
		begin.name = "Begin" + run.name[len("Run"):]
		begin.run = begin.runByHalves
		all = append(all, begin)
	}
	return all
}

// seamFailing returns the seams out of which a failure of the body comes.
func seamFailing() []seamDriver {
	var some []seamDriver
	for _, d := range seamDrivers() {
		if !d.tool {
			some = append(some, d)
		}
	}
	return some
}

// seamTools returns the seam of tool calls in both forms.
func seamTools() []seamDriver {
	return slices.DeleteFunc(seamDrivers(), func(d seamDriver) bool { return !d.tool })
}

func seamDriverOf[C any](
	name string, pre, post hooks.Point[C], fresh func() *C, wrap func(*C) seamContext,
	run func(context.Context, *C, func(context.Context, *C) error) error,
	begin func(context.Context, *C) (context.Context, func(error) error, error),
) seamDriver {
	native := func(fn seamFunc) hooks.Func[C] {
		return func(ctx context.Context, c *C) error { return fn(ctx, wrap(c)) }
	}
	d := seamDriver{
		name: name, pre: pre.Name(), post: post.Name(),
		fresh: func() seamContext { return wrap(fresh()) },
		onPre: func(r *hooks.Registry, fn seamFunc, opts ...hooks.Option) {
			hooks.On(pre, native(fn), append(opts, hooks.In(r))...)
		},
		onPost: func(r *hooks.Registry, fn seamFunc, opts ...hooks.Option) {
			hooks.On(post, native(fn), append(opts, hooks.In(r))...)
		},
		run: func(ctx context.Context, c seamContext, body seamFunc) error {
			return run(ctx, c.native().(*C), native(body))
		},
	}
	if begin != nil {
		d.begin = func(ctx context.Context, c seamContext) (context.Context, seamEnd, error) {
			return begin(ctx, c.native().(*C))
		}
	}
	return d
}

// runByHalves is the Run form as a middleware makes it of the Begin form.
func (d seamDriver) runByHalves(ctx context.Context, c seamContext, body seamFunc) (err error) {
	ctx, end, err := d.begin(ctx, c)
	if err != nil {
		return err
	}
	switch c := c.native().(type) {
	case *hooks.ToolCall:
		if !c.ShouldRun() {
			return end(nil)
		}
	case *hooks.ModelCall:
		if c.Answered() {
			return end(nil)
		}
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil {
			_ = end(hooks.ErrGoexit)
			return
		}
		err = end(&hooks.PanicError{Value: value})
		if !d.tool {
			panic(value)
		}
	}()
	err = body(ctx, c)
	returned = true
	return end(err)
}

// seamEach runs a parallel subtest for each of the drivers, with a registry that
// is active in ctx.
func seamEach(t *testing.T, drivers []seamDriver, test func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver)) {
	t.Helper()
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			test(t, ctx, r, d)
		})
	}
}

// seamScope is newRun.
func seamScope(t *testing.T) (context.Context, *hooks.Registry) {
	t.Helper()
	return newRun(t)
}

// seamExit is how a function was left.
type seamExit struct {
	err    error // what it returned
	value  any   // what it panicked with
	exited bool  // its goroutine was ended
}

// seamPatience is how long nothing here ever takes.
const seamPatience = 30 * time.Second

// seamLeave runs fn in a goroutine of its own and tells how it was left.
func seamLeave(t *testing.T, fn func() error) seamExit {
	t.Helper()
	left := make(chan seamExit, 1)
	go func() {
		var exit seamExit
		returned := false
		defer func() {
			if !returned {
				exit.value = recover()
				exit.exited = exit.value == nil
			}
			left <- exit
		}()
		exit.err = fn()
		returned = true
	}()
	select {
	case exit := <-left:
		return exit
	case <-time.After(seamPatience):
		t.Fatal("the seam hangs")
		return seamExit{}
	}
}

// seamInChild runs the test that calls it in another process, with env added
// to its environment, and returns what it printed.
func seamInChild(t *testing.T, env ...string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	name, _, _ := strings.Cut(t.Name(), "/")
	child := exec.CommandContext(t.Context(), self, "-test.run=^"+name+"$", "-test.timeout=60s")
	child.Env = append(os.Environ(), env...)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func seamProceed(context.Context, seamContext) error { return nil }

// A body may run the same context through the seam, and do without it where that
// fails: post hooks that pass failed calls over must not pass this one over.
func TestSeam_forgetsTheFailureOfAnInnerOne(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		if d.tool || d.name == "Run" {
			return // the failure of a tool is its result, and a framework's context keeps its own
		}
		failure := errors.New("disk full")
		var seen []error
		d.onPost(r, func(_ context.Context, c seamContext) error { seen = append(seen, c.failure()); return nil })
		c := d.fresh()
		require.NoError(t, d.run(ctx, c, func(ctx context.Context, c seamContext) error {
			assert.Same(t, failure, d.run(ctx, c, func(context.Context, seamContext) error { return failure }))
			return nil
		}))
		assert.Equal(t, []error{failure, nil}, seen)
		assert.NoError(t, c.failure())
	})
}
