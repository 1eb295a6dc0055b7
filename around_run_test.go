// How a wrapped body runs: what comes of it, again, and wrongly.

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// errOther is another failure than errBroken.
var errOther = errors.New("other")

// failing returns a body that fails with errs in turn, and succeeds behind them.
func failing(bodies *int, errs ...error) seamFunc {
	return func(_ context.Context, c seamContext) error {
		*bodies++
		if *bodies <= len(errs) && errs[*bodies-1] != nil {
			return errs[*bodies-1]
		}
		wrapGive(c, fmt.Sprint("run ", *bodies))
		return nil
	}
}

// retry is an around hook that runs what it wraps until it succeeds, n times at
// most.
func retry(n int) aroundFunc {
	return func(ctx context.Context, _ seamContext, next nextFunc) (err error) {
		for range n {
			if err = next(ctx); err == nil {
				return nil
			}
		}
		return err
	}
}

// What the outermost hook returns is what the body returned.
func TestWrap_outcomeIsTheHooks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body []error
		hook aroundFunc
		want error
	}{
		"success":          {nil, retry(1), nil},
		"a failure":        {[]error{errBroken}, retry(1), errBroken},
		"a retry":          {[]error{errBroken, errOther}, retry(3), nil},
		"the last failure": {[]error{errBroken, errOther}, retry(2), errOther},
		"recovered":        {[]error{errBroken}, func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return nil }, nil},
		"another failure":  {[]error{errBroken}, func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return errOther }, errOther},
		"of a success":     {nil, func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return errOther }, errOther},
		"an earlier failre": {[]error{errBroken}, func(ctx context.Context, _ seamContext, next nextFunc) error {
			err := next(ctx)
			_ = next(ctx)
			return err
		}, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				posts, bodies := 0, 0
				var seen error
				d.onPost(r, func(_ context.Context, c seamContext) error { posts++; seen = c.failure(); return nil })
				d.around(r, tc.hook)
				c := d.fresh()
				err := d.run(ctx, c, failing(&bodies, tc.body...))
				if tc.want == nil {
					d.requireFine(t, c, err)
				} else {
					d.requireFailed(t, c, err, tc.want)
				}
				assert.Equal(t, 1, posts)
				if d.tells {
					assert.Equal(t, tc.want, seen)
				}
			})
		})
	}
}

// An error without a run: the body was taken to have failed, and didn't run.
func TestWrap_errorWithoutARun(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		posts := 0
		d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
		d.around(r, func(context.Context, seamContext, nextFunc) error { return errBroken })
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		d.requireFailed(t, c, err, errBroken)
		assert.Equal(t, 1, posts)
		if call, ok := c.native().(*hooks.ToolCall); ok {
			assert.False(t, call.Ran())
			assert.Equal(t, "broken", call.Result)
			assert.Nil(t, call.Blocked)
		}
	})
}

// A hook that gives an answer needn't call next.
func TestWrap_answer(t *testing.T) {
	t.Parallel()
	for _, d := range wrapDrivers() {
		if _, can := d.fresh().native().(interface{ Answer(string) }); !can {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var seen string
			d.onPost(r, func(_ context.Context, c seamContext) error { seen = wrapTaken(c); return nil })
			d.around(r, func(_ context.Context, c seamContext, _ nextFunc) error {
				c.native().(interface{ Answer(string) }).Answer("ready")
				return nil
			})
			events := record(t, r)
			c := d.fresh()
			require.NoError(t, d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil }))
			assert.Equal(t, "ready", wrapTaken(c))
			assert.Equal(t, "ready", seen)
			assert.True(t, c.native().(interface{ Answered() bool }).Answered())
			ev := wrapEvent(events.take(), d.body)
			assert.Equal(t, []hooks.Outcome{hooks.OutcomeModified}, outcomes(*ev))
			assert.Zero(t, ev.Runs)
			if call, ok := c.native().(*hooks.ToolCall); ok {
				assert.False(t, call.Ran())
				assert.False(t, call.IsError())
			}
		})
	}
}

// A ready answer ends where the body is run after all, and one behind a failed run
// recovers it.
func TestWrap_answerAroundARun(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
		c.Answer("cached")
		if err := next(ctx); err != nil {
			c.Answer("fallback")
		}
		return nil
	}, hooks.In(r))
	for _, failure := range []error{nil, errBroken} {
		call := benchCall()
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
			assert.False(t, c.Answered())
			assert.Empty(t, c.Result)
			c.Result = "fresh"
			return failure
		}))
		assert.True(t, call.Ran())
		assert.False(t, call.IsError())
		assert.Equal(t, failure != nil, call.Answered())
		assert.Equal(t, failure != nil, call.ResultEdited())
		assert.Equal(t, map[bool]string{false: "fresh", true: "fallback"}[failure != nil], call.Result)
	}
}

func TestWrap_clearsWhatTheLastRunLeft(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, retry(2))
		bodies := 0
		c := d.fresh()
		err := d.run(ctx, c, func(_ context.Context, c seamContext) error {
			bodies++
			if d.clears() {
				assert.Empty(t, seamTakenAll(c), "run %d", bodies)
			}
			seamLeaveAll(c)
			if bodies == 1 {
				return errBroken
			}
			return nil
		})
		assert.NoError(t, err)
		assert.Equal(t, 2, bodies)
	})
}

// seamLeaveAll writes all that a body may leave, and seamTakenAll tells what is
// there.
func seamLeaveAll(c seamContext) {
	call := func(c *hooks.ToolCall) {
		c.Result, c.Parts, c.RawResult, c.Err = "result", []hooks.Part{{Text: "part"}}, "raw", errOther
		c.Blocked = &hooks.HookAborted{Reason: "inner"}
	}
	switch c := c.native().(type) {
	case *hooks.Execution:
		c.Output, c.Status, c.Err = "out", hooks.StatusFailed, errOther
	case *hooks.Step:
		c.Output, c.Err = "out", errOther
	case *hooks.ModelCall:
		c.Response, c.Parts, c.ToolCalls = "text", []hooks.Part{{Text: "part"}}, []hooks.ToolRequest{{Name: "a"}}
		c.RawResponse, c.FinishReason, c.Usage, c.Err = "raw", "stop", hooks.Usage{In: 1}, errOther
	case *hooks.ToolCall:
		call(c)
	case *wrapCall:
		call(&c.ToolCall)
	}
}

func seamTakenAll(c seamContext) string {
	call := func(c *hooks.ToolCall) string {
		if c.Result == "" && c.Parts == nil && c.RawResult == nil && c.Err == nil && c.Blocked == nil && !c.Answered() {
			return ""
		}
		return fmt.Sprint(c.Result, c.Parts, c.RawResult, c.Err, c.Blocked, c.Answered())
	}
	switch c := c.native().(type) {
	case *hooks.Execution:
		if c.Output == nil && c.Status == hooks.StatusRunning && c.Err == nil {
			return ""
		}
		return fmt.Sprint(c.Output, c.Status, c.Err)
	case *hooks.Step:
		if c.Output == nil && c.Err == nil {
			return ""
		}
		return fmt.Sprint(c.Output, c.Err)
	case *hooks.ModelCall:
		if c.Response == "" && c.Parts == nil && c.ToolCalls == nil && c.RawResponse == nil && c.FinishReason == "" &&
			c.Usage == (hooks.Usage{}) && c.Err == nil && !c.Answered() {
			return ""
		}
		return fmt.Sprint(c.Response, c.Parts, c.ToolCalls, c.RawResponse, c.FinishReason, c.Usage, c.Err)
	case *hooks.ToolCall:
		return call(c)
	case *wrapCall:
		return call(&c.ToolCall)
	}
	return ""
}

func TestWrap_usageIsSummed(t *testing.T) {
	t.Parallel()
	one := hooks.Usage{In: 10, Out: 5, CachedIn: 4, CacheWrite: 3, Reasoning: 2}
	body := func(_ context.Context, m *hooks.ModelCall) error {
		assert.Zero(t, m.Usage)
		m.Usage = one
		return errBroken
	}
	sum := func(n int) hooks.Usage {
		return hooks.Usage{In: 10 * n, Out: 5 * n, CachedIn: 4 * n, CacheWrite: 3 * n, Reasoning: 2 * n}
	}
	for name, tc := range map[string]struct {
		last func() error
		want int
	}{
		"failed":          {func() error { return errBroken }, 3},
		"recovered":       {func() error { return nil }, 3},
		"aborted":         {func() error { return hooks.Abort("no") }, 3},
		"panicked":        {func() error { panic("bug") }, 3},
		"ended goroutine": {func() error { runtime.Goexit(); return nil }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var seen hooks.Usage
			hooks.On(hooks.PostModelCall, edit(func(m *hooks.ModelCall) { seen = m.Usage }), hooks.In(r))
			hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next nextFunc) error {
				for range 3 {
					assert.Same(t, errBroken, next(ctx))
					assert.Equal(t, one, m.Usage, "of the run alone")
				}
				return tc.last()
			}, hooks.In(r))
			m := &hooks.ModelCall{}
			_ = seamLeave(t, func() error { return hooks.RunModel(ctx, m, body) })
			assert.Equal(t, sum(tc.want), m.Usage)
			assert.Equal(t, sum(tc.want), seen)
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		ctx, r := newRun(t)
		hooks.Around(hooks.ModelBody, func(_ context.Context, m *hooks.ModelCall, _ nextFunc) error {
			m.Answer("cached")
			m.Usage = one
			return nil
		}, hooks.In(r))
		m := &hooks.ModelCall{}
		require.NoError(t, hooks.RunModel(ctx, m, body))
		assert.Equal(t, one, m.Usage, "what an answer cost is the hook's to say")
	})
}

// What hooks change between runs is what the next run gets.
func TestWrap_editsBetweenRuns(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
			wrapEdit(c, "b")
			_ = next(ctx)
			wrapEdit(c, "c")
			return next(ctx)
		})
		d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
			wrapEdit(c, wrapInput(c)+"!")
			return next(ctx)
		})
		var got []string
		c := d.fresh()
		require.NoError(t, d.run(ctx, c, func(_ context.Context, c seamContext) error {
			got = append(got, wrapInput(c))
			return nil
		}))
		assert.Equal(t, []string{"b!", "c!"}, got)
	})
}

// A body that still reads what it was given, in a goroutine that it left behind,
// isn't disturbed by what hooks do to the next input.
func TestWrap_bodyKeepsItsInputConcurrentSafe(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*hooks.ToolCall){
		"a map of the framework's": func(c *hooks.ToolCall) { c.Input = map[string]any{"q": "a"} },
		"parsed arguments":         func(c *hooks.ToolCall) { assert.NoError(t, c.SetArguments(`{"q":"a"}`)) },
		"none":                     func(*hooks.ToolCall) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
				for i := range 3 {
					_ = next(ctx)
					c.Input["q"] = i
					if len(c.Parts) > 0 {
						c.Parts[0].Text = "edited"
					}
				}
				return nil
			}, hooks.In(r))
			c := &hooks.ToolCall{Name: "search"}
			call(c)
			var left sync.WaitGroup
			over := make(chan struct{})
			require.NoError(t, hooks.RunTool(ctx, c, func(_ context.Context, c *hooks.ToolCall) error {
				mine, was := c.Input, c.Input["q"]
				c.Parts = []hooks.Part{{Text: "part"}}
				parts := c.Parts
				left.Go(func() {
					for done := false; !done; {
						select {
						case <-over:
							done = true
						default:
						}
						if mine["q"] != was || parts[0].Text != "part" {
							t.Error("changed under the body")
							return
						}
					}
				})
				return errors.New("busy")
			}))
			close(over)
			left.Wait()
		})
	}
	ctx, r := newRun(t)
	hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next nextFunc) error {
		_ = next(ctx)
		m.Messages[0].Content, m.Tools[0] = "b", "b"
		m.Parts[0].Text, m.ToolCalls[0].Name = "b", "b"
		return nil
	}, hooks.In(r))
	m := &hooks.ModelCall{Messages: []hooks.Message{{Content: "a"}}, Tools: []string{"a"}}
	var kept hooks.ModelCall
	require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		m.Parts, m.ToolCalls = []hooks.Part{{Text: "a"}}, []hooks.ToolRequest{{Name: "a"}}
		kept.Messages, kept.Tools, kept.Parts, kept.ToolCalls = m.Messages, m.Tools, m.Parts, m.ToolCalls
		return nil
	}))
	assert.Equal(t, "aaaa", kept.Messages[0].Content+kept.Tools[0]+kept.Parts[0].Text+kept.ToolCalls[0].Name)
}

// No hook and no body finds an input that is nil.
func TestWrap_inputIsNeverNil(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	looks := 0
	for range 2 {
		hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
			assert.NotNil(t, c.Input)
			c.Input = nil
			_ = next(ctx)
			assert.NotNil(t, c.Input)
			c.Input = nil
			looks++
			return next(ctx)
		}, hooks.In(r))
	}
	require.NoError(t, hooks.RunTool(ctx, benchCall(), func(_ context.Context, c *hooks.ToolCall) error {
		assert.NotNil(t, c.Input)
		looks++
		return nil
	}))
	assert.Equal(t, 7, looks)
}

// What a hook makes of a result or a response counts as edited: nothing that was
// made beside it may be used.
func TestWrap_editedValueIsEdited(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		failure error
		hook    func(*hooks.ToolCall, *hooks.ModelCall)
		edited  bool
	}{
		"untouched":           {nil, func(*hooks.ToolCall, *hooks.ModelCall) {}, false},
		"failed":              {errBroken, func(*hooks.ToolCall, *hooks.ModelCall) {}, false},
		"redacted":            {nil, func(c *hooks.ToolCall, m *hooks.ModelCall) { c.Result, m.Response = "***", "***" }, true},
		"redacted in parts":   {nil, func(c *hooks.ToolCall, m *hooks.ModelCall) { c.Parts[0].Text, m.Parts[0].Text = "***", "***" }, true},
		"taken out":           {nil, func(c *hooks.ToolCall, m *hooks.ModelCall) { c.Result, m.Response = "", "" }, true},
		"answered":            {nil, func(c *hooks.ToolCall, m *hooks.ModelCall) { c.Answer("b"); m.Answer("b") }, true},
		"recovered and fixed": {errBroken, func(c *hooks.ToolCall, m *hooks.ModelCall) { c.Result, m.Response = "fine", "fine" }, true},
	} {
		ctx, r := newRun(t)
		hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
			defer func() { tc.hook(c, &hooks.ModelCall{Parts: []hooks.Part{{}}}) }()
			_ = next(ctx)
			return next(ctx)
		}, hooks.In(r))
		hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next nextFunc) error {
			defer func() { tc.hook(&hooks.ToolCall{Parts: []hooks.Part{{}}}, m) }()
			_ = next(ctx)
			return next(ctx)
		}, hooks.In(r))
		seen := []bool{}
		hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { seen = append(seen, c.ResultEdited()) }), hooks.In(r))
		hooks.On(hooks.PostModelCall, edit(func(m *hooks.ModelCall) { seen = append(seen, m.ResponseEdited()) }), hooks.In(r))
		call := benchCall()
		runs := 0
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
			runs++
			c.Result, c.RawResult, c.Parts = fmt.Sprint("secret ", runs), runs, []hooks.Part{{Text: "secret"}}
			return tc.failure
		}))
		m := &hooks.ModelCall{}
		require.Equal(t, tc.failure, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			runs++
			m.Response, m.RawResponse, m.Parts = fmt.Sprint("secret ", runs), runs, []hooks.Part{{Text: "secret"}}
			return tc.failure
		}))
		assert.Equal(t, []bool{tc.edited, tc.edited}, []bool{call.ResultEdited(), m.ResponseEdited()}, name)
		assert.Equal(t, []bool{tc.edited, tc.edited}, seen, name)
		assert.Equal(t, 4, runs)
	}
}

// The same for a context around a tool call, whose next use begins anew.
func TestWrap_editedValueOfAnEmbeddedCall(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	redact := true
	hooks.Around(wrapCallSeam.Body, func(ctx context.Context, c *wrapCall, next nextFunc) error {
		err := next(ctx)
		if redact {
			c.Result = "***"
		}
		return err
	}, hooks.In(r))
	seen := false
	hooks.On(wrapCallSeam.Post, edit(func(c *wrapCall) { seen = c.ResultEdited() }), hooks.In(r))
	body := func(_ context.Context, c *wrapCall) error { c.Result = "secret"; return nil }
	c := &wrapCall{}
	require.NoError(t, wrapCallSeam.Run(ctx, c, body))
	assert.True(t, seen)
	redact = false
	require.NoError(t, wrapCallSeam.Run(ctx, c, body))
	assert.False(t, seen)
	r.Clear(wrapCallSeam.Body)
	require.NoError(t, wrapCallSeam.Run(ctx, c, func(_ context.Context, c *wrapCall) error { c.Result = "plain"; return nil }))
	assert.False(t, seen)
}

// Calls of next that are a mistake are an error, and run nothing.
func TestWrap_misuseOfNext(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		misuse func(ctx context.Context, next nextFunc) error
		want   string
	}{
		"a nil ctx":                      {func(_ context.Context, next nextFunc) error { return next(nil) }, "doesn't descend"},
		"a ctx from nowhere":             {func(_ context.Context, next nextFunc) error { return next(context.Background()) }, "doesn't descend"},
		"twice at once, from the inside": {nil, "while it runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				bodies := 0
				var inside func(ctx context.Context) error
				d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
					if tc.misuse != nil {
						assert.ErrorContains(t, tc.misuse(ctx, next), tc.want)
						assert.Zero(t, bodies)
						return next(ctx)
					}
					inside = func(context.Context) error { return next(ctx) }
					return next(ctx)
				})
				c := d.fresh()
				err := d.run(ctx, c, func(ctx context.Context, _ seamContext) error {
					bodies++
					if inside != nil {
						assert.ErrorContains(t, inside(ctx), tc.want)
					}
					return nil
				})
				d.requireFine(t, c, err)
				assert.Equal(t, 1, bodies)
			})
		})
	}
}

// The ctx that the seam was given is not that of the hook.
func TestWrap_ctxOfTheSeamIsRefused(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		var outer context.Context
		d.around(r, func(own context.Context, _ seamContext, next nextFunc) error {
			outer = own
			assert.Error(t, next(ctx))
			return next(own)
		})
		d.around(r, func(own context.Context, _ seamContext, next nextFunc) error {
			assert.Error(t, next(outer), "that of the hook around")
			return next(own)
		})
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, seamProceed))
	})
}

// A misused next was not called: a hook that returns nil then has failed.
func TestWrap_misuseIsNoCall(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(_ context.Context, _ seamContext, next nextFunc) error {
			_ = next(context.Background())
			return nil
		})
		events := record(t, r)
		bodies := 0
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, failing(&bodies)))
		assert.Equal(t, 1, bodies)
		ev := wrapEvent(events.take(), d.body)
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeFailed}, outcomes(*ev))
		assert.Zero(t, ev.Hooks[0].Calls)
	})
}

func TestWrap_nextTwiceAtOnce(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		inside, release := make(chan struct{}), make(chan struct{})
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			done := make(chan error, 1)
			go func() { done <- next(ctx) }()
			<-inside
			assert.ErrorContains(t, next(ctx), "while it runs")
			close(release)
			return <-done
		})
		bodies := 0
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, func(context.Context, seamContext) error {
			bodies++
			close(inside)
			<-release
			return nil
		}))
		assert.Equal(t, 1, bodies)
	})
}

// Many at once: one runs after the other, or not at all.
func TestWrap_nextConcurrentSafe(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		for range 2 {
			d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
				for range 8 {
					go func() { _ = next(ctx) }()
				}
				return errBroken
			})
		}
		record(t, r)
		bodies, over := 0, false
		c := d.fresh()
		_ = d.run(ctx, c, func(context.Context, seamContext) error {
			assert.False(t, over)
			bodies++
			return nil
		})
		over = true
		assert.LessOrEqual(t, bodies, 64)
	})
}

// No body outlives its seam: it waits for a next that a hook left running. The sleeps
// order the two goroutines by the clock of the bubble, and take no time.
func TestWrap_waitsForNext(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func() error{
		"returns":    func() error { return nil },
		"fails":      func() error { return errOther },
		"aborts":     func() error { return hooks.Abort("no") },
		"panics":     func() error { panic("bug") },
		"ends early": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, d := range wrapDrivers() {
					ctx, r := newRun(t)
					ended, posted := false, false
					d.onPost(r, func(context.Context, seamContext) error { posted = ended; return nil })
					d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
						go func() { _ = next(ctx) }()
						time.Sleep(time.Second)
						return leave()
					})
					done := make(chan struct{})
					c := d.fresh()
					go func() {
						defer close(done)
						_ = d.run(ctx, c, func(context.Context, seamContext) error {
							time.Sleep(time.Hour)
							ended = true
							return errBroken
						})
					}()
					<-done
					assert.True(t, ended, d.name)
					assert.True(t, posted, d.name)
				}
			})
		})
	}
}

// A next that is called when its hook has returned, in a passage that is under way
// or over.
func TestWrap_nextTooLate(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		var kept nextFunc
		var its context.Context
		late := 0
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			err := next(ctx)
			assert.ErrorContains(t, kept(its), "after its around hook has returned")
			late++
			return err
		})
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			if kept != nil {
				assert.ErrorContains(t, kept(ctx), "after its around hook has returned", "of the passage before")
				late++
			}
			kept, its = next, ctx
			return next(ctx)
		})
		bodies := 0
		for range 2 {
			c := d.fresh()
			d.requireFine(t, c, d.run(ctx, c, func(context.Context, seamContext) error { bodies++; return nil }))
		}
		assert.Error(t, kept(its))
		assert.Equal(t, []int{2, 3}, []int{bodies, late})
	})
}

// Where ctx is done, next returns its error and runs nothing.
func TestWrap_doneCtx(t *testing.T) {
	t.Parallel()
	t.Run("of the seam", func(t *testing.T) {
		t.Parallel()
		for name, hook := range map[string]aroundFunc{
			"passed on": func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) },
			"swallowed": func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); return nil },
			"wrapped": func(ctx context.Context, _ seamContext, next nextFunc) error {
				return fmt.Errorf("search: %w", next(ctx))
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					posts := 0
					d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
					d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
						cancel()
						return hook(ctx, c, func(ctx context.Context) error {
							err := next(ctx)
							assert.Same(t, context.Canceled, err)
							return err
						})
					})
					c := d.fresh()
					err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
					assert.Same(t, context.Canceled, err)
					assert.Equal(t, 1, posts)
					if call, ok := c.native().(*hooks.ToolCall); ok {
						assert.False(t, call.Ran())
						assert.Equal(t, "Tool was not run: cancelled", call.Result)
					}
				})
			})
		}
	})
	t.Run("beside an answer", func(t *testing.T) {
		t.Parallel()
		eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
			if _, can := d.fresh().native().(interface{ Answer(string) }); !can {
				return
			}
			ctx, cancel := context.WithCancel(ctx)
			d.around(r, func(_ context.Context, c seamContext, _ nextFunc) error {
				cancel()
				c.native().(interface{ Answer(string) }).Answer("ready")
				return nil
			})
			c := d.fresh()
			require.NoError(t, d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil }))
			assert.Equal(t, "ready", wrapTaken(c))
		})
	})
	t.Run("of a hook that fails", func(t *testing.T) {
		t.Parallel()
		eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
			ctx, cancel := context.WithCancel(ctx)
			d.around(r, func(context.Context, seamContext, nextFunc) error { cancel(); panic("bug") })
			d.around(r, func(context.Context, seamContext, nextFunc) error { t.Error("the hook inside ran"); return nil })
			err := d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
			assert.Same(t, context.Canceled, err)
		})
	})
	t.Run("of the hook, swallowed", func(t *testing.T) {
		t.Parallel()
		eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
			d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
				late, cancel := context.WithCancel(ctx)
				cancel()
				_ = next(late)
				return nil // without a run: the rest runs
			})
			bodies := 0
			c := d.fresh()
			d.requireFine(t, c, d.run(ctx, c, failing(&bodies)))
			assert.Equal(t, 1, bodies)
		})
	})
	t.Run("of the hook", func(t *testing.T) {
		t.Parallel()
		eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
			d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
				late, cancel := context.WithDeadline(ctx, time.Unix(0, 0))
				defer cancel()
				return next(late)
			})
			c := d.fresh()
			err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
			d.requireFailed(t, c, err, context.DeadlineExceeded)
		})
	})
	t.Run("between runs", func(t *testing.T) {
		t.Parallel()
		eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			d.around(r, retry(3))
			bodies := 0
			c := d.fresh()
			err := d.run(ctx, c, func(context.Context, seamContext) error { bodies++; cancel(); return errBroken })
			d.requireFailed(t, c, err, context.Canceled)
			assert.Equal(t, 1, bodies)
		})
	})
}

// Panics of the body are an error to hooks. What comes out at the end is as it
// would be without them.
func TestWrap_panicOfTheBody(t *testing.T) {
	t.Parallel()
	boom := &struct{ text string }{"boom"}
	for name, tc := range map[string]struct {
		value any
		check func(t *testing.T, value any)
	}{
		"a value":         {boom, func(t *testing.T, v any) { assert.Same(t, boom, v) }},
		"an error":        {errBroken, func(t *testing.T, v any) { assert.Same(t, errBroken, v) }},
		"ErrAbortHandler": {http.ErrAbortHandler, func(t *testing.T, v any) { assert.Same(t, http.ErrAbortHandler, v) }},
		"nil":             {nil, func(t *testing.T, v any) { assert.IsType(t, &runtime.PanicNilError{}, v) }},
		"an abort":        {seamVeto, func(t *testing.T, v any) { assert.Same(t, seamVeto, v) }},
		"a stop":          {seamStop, func(t *testing.T, v any) { assert.Same(t, seamStop, v) }},
		"a nest too deep": {hooks.ErrTooDeep, func(t *testing.T, v any) { assert.Same(t, hooks.ErrTooDeep, v) }},
	} {
		for way, hook := range map[string]aroundFunc{
			"passed on": func(ctx context.Context, _ seamContext, next nextFunc) error {
				err := next(ctx)
				if panicked, ok := err.(*hooks.PanicError); assert.True(t, ok, "%T", err) {
					tc.check(t, panicked.Value)
					assert.Contains(t, string(panicked.Stack), "TestWrap_panicOfTheBody")
				}
				return err
			},
			"wrapped": func(ctx context.Context, _ seamContext, next nextFunc) error {
				return fmt.Errorf("search: %w", next(ctx))
			},
			"after a retry": retry(2),
			"of the first run": func(ctx context.Context, _ seamContext, next nextFunc) error {
				return errors.Join(next(ctx), next(ctx))
			},
			"raised again": func(ctx context.Context, _ seamContext, next nextFunc) error {
				if err := next(ctx); err != nil {
					panic(err)
				}
				return nil
			},
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
					posts := 0
					d.onPost(r, func(context.Context, seamContext) error { posts++; return hooks.Abort("too late") })
					d.around(r, hook)
					c := d.fresh()
					bodies := 0
					exit := seamLeave(t, func() error {
						return d.run(ctx, c, func(context.Context, seamContext) error {
							if bodies++; way == "of the first run" && bodies > 1 {
								return errOther
							}
							panic(tc.value)
						})
					})
					assert.Equal(t, 1, posts)
					if !d.tool {
						tc.check(t, exit.value)
						return
					}
					call := c.native().(*hooks.ToolCall)
					assert.ErrorAs(t, call.Err, new(*hooks.PanicError))
					assert.NotContains(t, call.Result, "boom")
					if name == "a stop" || name == "a nest too deep" && exit.err != nil {
						assert.Error(t, exit.err)
					} else {
						assert.NoError(t, exit.err)
					}
				})
			})
		}
	}
}

var seamStop = &hooks.HookAborted{Reason: "over budget", StopRun: true}

func TestWrap_panicRecovered(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
			err := next(ctx)
			assert.ErrorAs(t, err, new(*hooks.PanicError))
			wrapGive(c, "fallback")
			return nil
		})
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, func(context.Context, seamContext) error { panic("boom") }))
		assert.Equal(t, "fallback", wrapTaken(c))
	})
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.around(r, retry(2))
		bodies := 0
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, func(context.Context, seamContext) error {
			if bodies++; bodies == 1 {
				panic("boom")
			}
			return nil
		}))
		assert.Equal(t, 2, bodies)
	})
}

// Of several runs that panicked, what comes out is the panic that the hook returned.
func TestWrap_panicOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	for _, returned := range []string{"first", "last"} {
		ctx, r := newRun(t)
		hooks.Around(hooks.ModelBody, func(ctx context.Context, _ *hooks.ModelCall, next func(context.Context) error) error {
			first := next(ctx)
			if last := next(ctx); returned == "last" {
				return last
			}
			return fmt.Errorf("twice: %w", first)
		}, hooks.In(r))
		runs := []string{"first", "last"}
		assert.PanicsWithValue(t, returned, func() {
			_ = hooks.RunModel(ctx, new(hooks.ModelCall), func(context.Context, *hooks.ModelCall) error {
				value := runs[0]
				runs = runs[1:]
				panic(value)
			})
		}, returned)
	}
}

// The crash can't show the frames of the body any more, so the log does.
func TestWrap_panicIsLoggedWithItsOrigin(t *testing.T) {
	log := captureLog(t)
	for _, d := range wrapDrivers() {
		for way, hook := range map[string]aroundFunc{
			"passed on": retry(1),
			"wrapped": func(ctx context.Context, _ seamContext, next nextFunc) error {
				return fmt.Errorf("search: %w", next(ctx))
			},
		} {
			ctx, r := newRun(t)
			d.around(r, hook)
			_ = seamLeave(t, func() error {
				return d.run(ctx, d.fresh(), func(context.Context, seamContext) error { seamCrashSite(false); return nil })
			})
			lines := log.take()
			if assert.Len(t, lines, 1, d.name+", "+way) {
				assert.Contains(t, lines[0].msg, "panicked")
				assert.Contains(t, fmt.Sprint(lines[0].attrs), "hooks: panic with a value of type string")
				if way == "passed on" || !d.tool {
					assert.Contains(t, lines[0].attrs["stack"].String(), "seamCrashSite")
				}
			}
		}
	}
}

// With panic(nil) as older programs have it.
func TestWrap_panicWithNilOfOldPrograms(t *testing.T) {
	if !inChild() {
		t.Setenv("GODEBUG", "panicnil=1")
		rerun(t, "GODEBUG=panicnil=1")
		return
	}
	require.Contains(t, os.Getenv("GODEBUG"), "panicnil=1")
	for _, d := range wrapDrivers() {
		ctx, r := newRun(t)
		posts, hooked := 0, 0
		d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			err := next(ctx)
			if panicked, ok := err.(*hooks.PanicError); assert.True(t, ok, "%T", err) {
				assert.Nil(t, panicked.Value)
				hooked++
			}
			return err
		})
		exit := seamLeave(t, func() error {
			return d.run(ctx, d.fresh(), func(context.Context, seamContext) error { panic(nil) })
		})
		assert.Equal(t, []int{1, 1}, []int{posts, hooked}, d.name)
		assert.Equal(t, !d.tool, exit.exited, "left without a value: "+d.name)

		r.ClearAll() // of a hook: the rest runs
		d.around(r, func(context.Context, seamContext, nextFunc) error { panic(nil) })
		ran := false
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, func(context.Context, seamContext) error { ran = true; return nil }))
		assert.True(t, ran)
	}
}

// Goexit goes on, and the post point fires.
func TestWrap_goexit(t *testing.T) {
	t.Parallel()
	exits := func(context.Context, seamContext) error { runtime.Goexit(); return nil }
	for name, tc := range map[string]struct {
		hook aroundFunc
		body seamFunc
	}{
		"of the body": {retry(2), exits},
		"of the hook": {func(context.Context, seamContext, nextFunc) error { runtime.Goexit(); return nil }, seamProceed},
		"of the hook, behind": {func(ctx context.Context, _ seamContext, next nextFunc) error {
			_ = next(ctx)
			runtime.Goexit()
			return nil
		}, seamProceed},
		"of the hook, recovered": {func(ctx context.Context, _ seamContext, next nextFunc) error {
			defer func() { _ = recover() }()
			return next(ctx)
		}, exits},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				posts := 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
				d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) })
				d.around(r, tc.hook)
				events := record(t, r)
				c := d.fresh()
				exit := seamLeave(t, func() error { return d.run(ctx, c, tc.body) })
				assert.True(t, exit.exited)
				assert.Equal(t, 1, posts)
				if d.tells {
					assert.Same(t, hooks.ErrGoexit, c.failure())
				}
				ev := wrapEvent(events.take(), d.body)
				require.NotNil(t, ev)
				for _, h := range ev.Hooks {
					assert.Equal(t, hooks.OutcomeFailed, h.Outcome)
					assert.Same(t, hooks.ErrGoexit, h.Err)
				}
			})
		})
	}
}

// In next on another goroutine it ends that one, and the hook says what came of
// it.
func TestWrap_goexitOnAnotherGoroutine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		says error
		want error
	}{
		"recovered": {nil, nil},
		"failed":    {errOther, errOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				posts := 0
				d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
				d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
					var left sync.WaitGroup
					left.Go(func() { _ = next(ctx); t.Error("it goes on") })
					left.Wait()
					return tc.says
				})
				c := d.fresh()
				err := d.run(ctx, c, func(context.Context, seamContext) error { runtime.Goexit(); return nil })
				if tc.want == nil {
					d.requireFine(t, c, err)
				} else {
					d.requireFailed(t, c, err, tc.want)
				}
				assert.Equal(t, 1, posts)
			})
		})
	}
	t.Run("and the hook fails", func(t *testing.T) {
		t.Parallel()
		eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
			d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
				var left sync.WaitGroup
				left.Go(func() { _ = next(ctx) })
				left.Wait()
				panic("bug")
			})
			c := d.fresh()
			err := d.run(ctx, c, func(context.Context, seamContext) error { runtime.Goexit(); return nil })
			d.requireFailed(t, c, err, hooks.ErrGoexit)
		})
	})
	t.Run("and the hook aborts", func(t *testing.T) {
		t.Parallel()
		eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
			d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
				var left sync.WaitGroup
				left.Go(func() { _ = next(ctx) })
				left.Wait()
				return hooks.Abort("no")
			})
			c := d.fresh()
			err := d.run(ctx, c, func(context.Context, seamContext) error { runtime.Goexit(); return nil })
			_ = d.requireAborted(t, c, err, "no")
			if d.tool {
				assert.Same(t, hooks.ErrGoexit, c.failure(), "of the body, for the record")
			}
		})
	})
}

// A failure of the hook itself is logged and in the event. What next returned
// stands; where it wasn't called the rest runs. A fail-closed hook aborts.
func TestWrap_failureOfTheHook(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body   []error
		hook   aroundFunc
		runs   int
		stands error
	}{
		"panics in front":         {nil, func(context.Context, seamContext, nextFunc) error { panic("bug") }, 1, nil},
		"panics behind":           {nil, func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); panic("bug") }, 1, nil},
		"panics behind a failure": {[]error{errBroken}, func(ctx context.Context, _ seamContext, next nextFunc) error { _ = next(ctx); panic("bug") }, 1, errBroken},
		"panics behind a retry": {[]error{errBroken}, func(ctx context.Context, _ seamContext, next nextFunc) error {
			_, _ = next(ctx), next(ctx)
			panic("bug")
		}, 2, nil},
		"returns nil without a run": {nil, func(context.Context, seamContext, nextFunc) error { return nil }, 1, nil},
		"and the rest fails":        {[]error{errBroken}, func(context.Context, seamContext, nextFunc) error { return nil }, 1, errBroken},
	} {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/fail-closed %v", name, closed), func(t *testing.T) {
				t.Parallel()
				eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
					opts := []hooks.Option{hooks.WithName("buggy")}
					if closed {
						opts = append(opts, hooks.WithFailClosed())
					}
					posts, bodies := 0, 0
					d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
					d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) })
					d.around(r, tc.hook, opts...)
					d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) })
					events := record(t, r)
					c := d.fresh()
					err := d.run(ctx, c, failing(&bodies, tc.body...))
					ev := wrapEvent(events.take(), d.body)
					require.NotNil(t, ev)
					buggy := ev.Hooks[1]
					assert.Equal(t, "buggy", buggy.Name)
					require.Error(t, buggy.Err)
					assert.Equal(t, 1, posts)
					if !closed {
						assert.Equal(t, hooks.OutcomeFailed, buggy.Outcome)
						assert.Equal(t, tc.runs, bodies)
						if tc.stands == nil {
							d.requireFine(t, c, err)
							assert.Equal(t, fmt.Sprint("run ", tc.runs), wrapTaken(c))
						} else {
							d.requireFailed(t, c, err, tc.stands)
						}
						return
					}
					assert.Equal(t, hooks.OutcomeAborted, buggy.Outcome)
					assert.Equal(t, hooks.OutcomeAborted, ev.Outcome)
					abort := d.requireAborted(t, c, err, "buggy failed")
					assert.Equal(t, d.body, abort.Point)
					assert.Equal(t, "buggy", abort.Source)
					if strings.Contains(name, "behind") {
						assert.Equal(t, tc.runs, bodies)
					} else {
						assert.Zero(t, bodies)
					}
				})
			})
		}
	}
}

func TestWrap_failureOfTheHookIsLogged(t *testing.T) {
	log := captureLog(t)
	for _, d := range wrapDrivers() {
		ctx, r := newRun(t)
		d.around(r, func(context.Context, seamContext, nextFunc) error { panic("bug") }, hooks.WithName("buggy"))
		d.around(r, func(context.Context, seamContext, nextFunc) error { return nil }, hooks.WithName("idle"))
		require.NoError(t, d.run(ctx, d.fresh(), seamProceed))
		lines := log.take()
		require.Len(t, lines, 2, d.name)
		for i, name := range []string{"buggy", "idle"} {
			assert.Equal(t, name, lines[i].attrs["hook"].String())
			assert.Equal(t, string(d.body), lines[i].attrs["point"].String())
			assert.Contains(t, lines[i].msg, "passed over")
		}
		assert.Contains(t, lines[1].attrs["error"].String(), "without having called next")

		r.ClearAll()
		d.around(r, retry(1))
		_ = d.run(ctx, d.fresh(), func(context.Context, seamContext) error { return errBroken })
		assert.Empty(t, log.take(), "an error is no failure of the hook: "+d.name)
	}
}

// A call in which a hook makes its arguments unreadable doesn't run.
func TestWrap_unreadableArguments(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
		bad := c.SetArguments(`{"a":1,"a":2}`)
		assert.Same(t, bad, next(ctx))
		if c.ID == "mended" {
			assert.NoError(t, c.SetArguments(`{"a":1}`))
		}
		return next(ctx)
	}, hooks.In(r))
	for _, id := range []string{"", "mended"} {
		ran := false
		call := &hooks.ToolCall{ID: id, Name: "search"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { ran = true; return nil }))
		assert.Equal(t, id != "", ran)
		assert.Equal(t, id == "", call.IsError())
		assert.Equal(t, ran, call.Ran())
		assert.NoError(t, call.ArgumentsError())
	}
}

// A body that has no such tool has not run, unless a hook gave the call the name
// of another.
func TestWrap_noSuchTool(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
		err := next(ctx)
		if errors.Is(err, hooks.ErrNoTool) && c.ID == "mended" {
			c.Name = "search"
			return next(ctx)
		}
		return err
	}, hooks.In(r))
	for _, id := range []string{"", "mended"} {
		call := &hooks.ToolCall{ID: id, Name: "serach"}
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
			if c.Name != "search" {
				return hooks.ErrNoTool
			}
			return nil
		}))
		assert.Equal(t, id == "mended", call.Ran())
		if id == "" {
			assert.Equal(t, "There is no tool serach.", call.Result)
		}
	}
}
