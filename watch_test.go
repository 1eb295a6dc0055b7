package hooks_test

// Watches: that they see what every passage has finally become, whoever tries
// to hide it, and can change nothing.

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
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

// watched is what a watch was shown.
type watched[C any] struct {
	c   *C
	err error
}

// watching registers a watch at p in r that collects what it is shown.
func watching[C any](r *hooks.Registry, p hooks.Point[C], opts ...hooks.Option) *[]watched[C] {
	list := new([]watched[C])
	var mu sync.Mutex
	hooks.Watch(p, func(_ context.Context, c *C, err error) {
		mu.Lock()
		defer mu.Unlock()
		*list = append(*list, watched[C]{c, err})
	}, append(opts, hooks.In(r))...)
	return list
}

// look is a watch that adds what to tr.
func look[C any](tr *trace, what string) hooks.WatchFunc[C] {
	return func(context.Context, *C, error) { tr.add(what) }
}

func TestWatch_runsLast(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	outer, inner := hooks.NewRegistry(), hooks.NewRegistry()
	ctx := hooks.WithScope(hooks.WithScope(t.Context(), outer), inner)
	var tr trace
	for name, r := range map[string]*hooks.Registry{"default": hooks.Default(), "outer": outer, "inner": inner} {
		in := hooks.In(r)
		hooks.Watch(p, look[job](&tr, name+"-watch"), in, hooks.WithName(name+"-watch"))
		hooks.Watch(p, look[job](&tr, name+"-high-watch"), in, hooks.WithPriority(1000), hooks.WithName(name+"-high-watch"))
		hooks.Guard(p, note[job](&tr, name+"-guard"), in, hooks.WithPriority(-1000), hooks.WithName(name+"-guard"))
		hooks.On(p, note[job](&tr, name+"-hook"), in, hooks.WithPriority(-2000), hooks.WithName(name+"-hook"))
	}
	events := record(t, inner)
	const want = "default-hook outer-hook inner-hook default-guard outer-guard inner-guard" +
		" default-high-watch default-watch outer-high-watch outer-watch inner-high-watch inner-watch"
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Equal(t, want, tr.take())
	ev := events.one(t)
	var names []string
	for _, h := range ev.Hooks {
		names = append(names, h.Name)
		assert.Equal(t, hooks.OutcomeProceeded, h.Outcome)
	}
	assert.Equal(t, want, strings.Join(names, " "))
	assert.Equal(t, 12, ev.HookCount)
	assert.Equal(t, []string{"inner-hook", "inner-guard", "inner-high-watch", "inner-watch"}, registered(inner.Hooks(p)))
}

func TestWatch_equalPrioritiesInOrder(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	for i := range 20 {
		hooks.Watch(hooks.PreStep, look[hooks.Step](&tr, fmt.Sprint(i%2, "-", i)), hooks.In(r), hooks.WithPriority(i%2))
	}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "1-1 1-3 1-5 1-7 1-9 1-11 1-13 1-15 1-17 1-19 0-0 0-2 0-4 0-6 0-8 0-10 0-12 0-14 0-16 0-18", tr.take())
}

// toolState is what of a tool call a watch is asked about here.
type toolState struct {
	result  string
	blocked bool
	err     bool
	ran     bool
	edited  bool
}

func stateOf(c *hooks.ToolCall) toolState {
	return toolState{c.Result, c.Blocked != nil, c.Err != nil, c.Ran(), c.ResultEdited()}
}

// What a watch of a tool call sees is what the model reads.
func TestWatch_seesWhatBecameOfAToolCall(t *testing.T) {
	t.Parallel()
	type seen struct {
		toolState
		aborted bool
	}
	const blocked, withheld = "Tool execution blocked by hook. Tool: sh. Reason: no", "Tool result withheld by hook. Tool: sh. Reason: no"
	returns, refuses := seamReturns("secret"), seamRefuse(hooks.Abort("no"))
	nothing := func(context.Context, *hooks.ToolCall) error { return nil }
	answers := edit(func(c *hooks.ToolCall) { c.Answer("ready") })
	for name, tc := range map[string]struct {
		pre, body, post seamToolFunc
		before, after   seen
	}{
		"success": {nothing, returns, nothing,
			seen{}, seen{toolState: toolState{result: "secret", ran: true}}},
		"blocked": {refuses, returns, nothing,
			seen{toolState{result: blocked, blocked: true, edited: true}, true}, seen{toolState: toolState{result: blocked, blocked: true, edited: true}}},
		"answered": {answers, returns, nothing,
			seen{toolState: toolState{result: "ready"}}, seen{toolState: toolState{result: "ready"}}},
		"withheld": {nothing, returns, refuses,
			seen{}, seen{toolState{result: withheld, blocked: true, ran: true, edited: true}, true}},
		"blocked twice": {refuses, returns, refuses,
			seen{toolState{result: blocked, blocked: true, edited: true}, true}, seen{toolState{result: withheld, blocked: true, edited: true}, true}},
		"redacted": {nothing, returns, seamReturns("***"),
			seen{}, seen{toolState: toolState{result: "***", ran: true, edited: true}}},
		"failed": {nothing, fails[hooks.ToolCall](errBroken), nothing,
			seen{}, seen{toolState: toolState{result: "broken", err: true, ran: true}}},
		"failed and withheld": {nothing, fails[hooks.ToolCall](errBroken), refuses,
			seen{}, seen{toolState{result: withheld, blocked: true, err: true, ran: true, edited: true}, true}},
		"recovered": {nothing, fails[hooks.ToolCall](errBroken), edit(func(c *hooks.ToolCall) { c.Err, c.Result = nil, "none" }),
			seen{}, seen{toolState: toolState{result: "none", ran: true, edited: true}}},
		"panicked": {nothing, panics[hooks.ToolCall]("boom"), nothing,
			seen{}, seen{toolState: toolState{result: "Tool sh panicked", err: true, ran: true}}},
		"unknown": {nothing, fails[hooks.ToolCall](fmt.Errorf("sh: %w", hooks.ErrNoTool)), nothing,
			seen{}, seen{toolState: toolState{result: "There is no tool sh.", err: true}}},
		"written by a pre hook": {edit(func(c *hooks.ToolCall) { c.Result, c.Blocked, c.Err = "x", &hooks.HookAborted{}, errBroken }), returns, nothing,
			seen{}, seen{toolState: toolState{result: "secret", ran: true}}},
		"a hook that fails": {fails[hooks.ToolCall](errBroken), returns, fails[hooks.ToolCall](errBroken),
			seen{}, seen{toolState: toolState{result: "secret", ran: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				before, after := watching(r, hooks.PreToolCall), watching(r, hooks.PostToolCall)
				seamOnTool(r, hooks.PreToolCall, tc.pre)
				seamOnTool(r, hooks.PostToolCall, tc.post)
				call := &hooks.ToolCall{Name: "sh"}
				require.NoError(t, run(ctx, call, tc.body))
				for _, p := range []struct {
					got  []watched[hooks.ToolCall]
					want seen
				}{{*before, tc.before}, {*after, tc.after}} {
					require.Len(t, p.got, 1)
					assert.Equal(t, p.want.toolState, stateOf(p.got[0].c))
					if p.want.aborted {
						assert.Equal(t, "no", aborted(t, p.got[0].err).Reason)
					} else {
						assert.NoError(t, p.got[0].err)
					}
				}
				assert.Equal(t, stateOf(call), stateOf((*after)[0].c), "as the loop finds it")
				assert.Equal(t, call.IsError(), (*after)[0].c.IsError())
			})
		})
	}
}

func TestWatch_seesCallsThatDoNotRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook func(cancel func()) seamToolFunc
		want string
		err  error
	}{
		"unreadable arguments": {func(func()) seamToolFunc {
			return func(_ context.Context, c *hooks.ToolCall) error { _ = c.SetArguments("["); return nil }
		}, "Tool was not run: arguments must be one JSON object: ", nil},
		"cancelled": {func(cancel func()) seamToolFunc {
			return func(context.Context, *hooks.ToolCall) error { cancel(); return nil }
		}, "Tool was not run: cancelled", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				seamOnTool(r, hooks.PreToolCall, tc.hook(cancel))
				var results []string
				for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
					hooks.Watch(p, func(ctx context.Context, c *hooks.ToolCall, err error) {
						results = append(results, c.Result)
						assert.NoError(t, err)
						assert.NoError(t, ctx.Err(), "watches get a live ctx")
						assert.Error(t, c.Err)
					}, hooks.In(r))
				}
				err := run(ctx, &hooks.ToolCall{Name: "sh"}, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil })
				assert.Equal(t, tc.err, err)
				require.Len(t, results, 2)
				for _, got := range results {
					assert.Contains(t, got, tc.want)
				}
			})
		})
	}
}

// Each seam applies its verdict before its watches look, at both points.
func TestWatch_seesTheVerdictOfEachSeam(t *testing.T) {
	t.Parallel()
	refuse := func(context.Context, seamContext) error { return hooks.Abort("no") }
	for name, tc := range map[string]struct {
		pre, body, post seamFunc
		watched         map[string]string // by point: what Err is
	}{
		"success":  {seamProceed, seamProceed, seamProceed, map[string]string{"pre": "", "post": ""}},
		"blocked":  {refuse, seamProceed, seamProceed, map[string]string{"pre": "no"}},
		"withheld": {seamProceed, seamProceed, refuse, map[string]string{"pre": "", "post": "no"}},
		"failed": {seamProceed, func(context.Context, seamContext) error { return errBroken }, seamProceed,
			map[string]string{"pre": "", "post": "broken"}},
		"failed and withheld": {seamProceed, func(context.Context, seamContext) error { return errBroken }, refuse,
			map[string]string{"pre": "", "post": "broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamFailing(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				d.onPre(r, tc.pre)
				d.onPost(r, tc.post)
				got := map[string]string{}
				d.watch(r, func(at string, c seamContext, err error) {
					abort := hooks.HookAborted{}
					if own := new(hooks.HookAborted); errors.As(err, &own) {
						abort = *own
					}
					text := ""
					switch failure := c.failure(); {
					case failure == nil:
					case errors.Is(failure, errBroken):
						text = "broken"
					default:
						text = abort.Reason
						assert.Equal(t, err, failure)
					}
					got[at] += text
				})
				err := d.run(ctx, d.fresh(), tc.body)
				assert.Equal(t, tc.watched, got)
				assert.Equal(t, name != "success", err != nil)
			})
		})
	}
}

// watch registers a watch at both ends of the seam.
func (d seamDriver) watch(r *hooks.Registry, fn func(at string, c seamContext, err error)) {
	switch d.fresh().native().(type) {
	case *hooks.Execution:
		watchBoth(r, hooks.ExecutionStart, hooks.ExecutionEnd, func(c *hooks.Execution) seamContext { return seamExecution{c} }, fn)
	case *hooks.Step:
		watchBoth(r, hooks.PreStep, hooks.PostStep, func(c *hooks.Step) seamContext { return seamStep{c} }, fn)
	case *hooks.ModelCall:
		watchBoth(r, hooks.PreModelCall, hooks.PostModelCall, func(c *hooks.ModelCall) seamContext { return seamModel{c} }, fn)
	case *hooks.ToolCall:
		watchBoth(r, hooks.PreToolCall, hooks.PostToolCall, func(c *hooks.ToolCall) seamContext { return seamTool{c} }, fn)
	case *seamOwn:
		watchBoth(r, seamBefore, seamAfter, func(c *seamOwn) seamContext { return seamCustom{c} }, fn)
	}
}

func watchBoth[C any](r *hooks.Registry, pre, post hooks.Point[C], wrap func(*C) seamContext, fn func(at string, c seamContext, err error)) {
	hooks.Watch(pre, func(_ context.Context, c *C, err error) { fn("pre", wrap(c), err) }, hooks.In(r))
	hooks.Watch(post, func(_ context.Context, c *C, err error) { fn("post", wrap(c), err) }, hooks.In(r))
}

func TestWatch_seesWhatBecameOfAModelCall(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	before, after := watching(r, hooks.PreModelCall), watching(r, hooks.PostModelCall)
	body := func(_ context.Context, m *hooks.ModelCall) error {
		m.Response, m.FinishReason, m.Usage = "secret", "stop", hooks.Usage{In: 1}
		m.ToolCalls = []hooks.ToolRequest{{Name: "rm"}}
		return nil
	}
	post := hooks.Guard(hooks.PostModelCall, fails[hooks.ModelCall](hooks.Abort("no")), hooks.In(r))
	require.Error(t, hooks.RunModel(ctx, &hooks.ModelCall{}, body))
	require.Len(t, *after, 1)
	got := (*after)[0]
	assert.Empty(t, got.c.Response)
	assert.Empty(t, got.c.ToolCalls)
	assert.Equal(t, hooks.Usage{In: 1}, got.c.Usage)
	assert.Equal(t, "stop", got.c.FinishReason)
	assert.True(t, got.c.ResponseEdited())
	assert.Equal(t, got.err, got.c.Err)
	assert.Equal(t, "no", aborted(t, got.err).Reason)

	post.Remove()
	answer := hooks.On(hooks.PreModelCall, edit(func(m *hooks.ModelCall) { m.Answer("ready") }), hooks.In(r))
	require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{}, body))
	require.Len(t, *before, 2)
	assert.Equal(t, "ready", (*before)[1].c.Response)
	assert.True(t, (*before)[1].c.Answered())
	assert.Equal(t, "ready", (*after)[1].c.Response)

	hooks.Guard(hooks.PreModelCall, fails[hooks.ModelCall](hooks.Abort("budget")), hooks.In(r))
	require.Error(t, hooks.RunModel(ctx, &hooks.ModelCall{}, body))
	require.Len(t, *before, 3)
	assert.False(t, (*before)[2].c.Answered(), "a blocked call isn't an answered one")
	assert.Empty(t, (*before)[2].c.Response)
	assert.Len(t, *after, 2, "no post point fired")
	answer.Remove()
}

func TestWatch_seesWhatBecameOfAnExecution(t *testing.T) {
	t.Parallel()
	type state struct {
		status hooks.Status
		output any
		failed bool
		err    bool // of the point
	}
	running, done, failed := state{status: hooks.StatusRunning}, state{status: hooks.StatusCompleted, output: "text"}, state{status: hooks.StatusFailed, failed: true}
	refused, atOutput := failed, state{status: hooks.StatusRunning, output: "text"}
	refused.err = true
	for abortAt, want := range map[hooks.InterceptionPoint]map[hooks.InterceptionPoint]state{
		"none":            {"execution_start": running, "input": running, "output": atOutput, "execution_end": done},
		"execution_start": {"execution_start": refused},
		"input":           {"execution_start": running, "input": refused, "execution_end": failed},
		"output":          {"execution_start": running, "input": running, "output": refused, "execution_end": failed},
		"execution_end":   {"execution_start": running, "input": running, "output": atOutput, "execution_end": refused},
	} {
		t.Run(string(abortAt), func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			got := map[hooks.InterceptionPoint]state{}
			for _, p := range seamExecPoints {
				if p.Name() == abortAt {
					hooks.On(p, fails[hooks.Execution](hooks.Abort("no")), hooks.In(r))
				}
				hooks.Watch(p, func(_ context.Context, x *hooks.Execution, err error) {
					got[p.Name()] = state{x.Status, x.Output, x.Err != nil, err != nil}
				}, hooks.In(r))
			}
			_ = hooks.RunExecution(ctx, &hooks.Execution{}, func(_ context.Context, x *hooks.Execution) error { x.Output = "text"; return nil })
			assert.Equal(t, want, got)
		})
	}
}

// A hook that ends its goroutine hides nothing.
func TestWatch_looksThoughAHookEndsTheGoroutine(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"pre", "post"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				register := d.onPre
				if at == "post" {
					register = d.onPost
				}
				register(r, func(context.Context, seamContext) error { runtime.Goexit(); return nil })
				events := record(t, r)
				seen := 0
				d.watch(r, func(where string, c seamContext, err error) {
					if where != at {
						return
					}
					seen++
					assert.Equal(t, hooks.ErrGoexit, err)
					if call, ok := c.native().(*hooks.ToolCall); ok {
						assert.True(t, call.IsError())
						assert.NotEmpty(t, call.Result)
						assert.NotEqual(t, "unchecked", call.Result)
					} else if d.pre != seamBefore.Name() {
						assert.Error(t, c.failure())
					}
				})
				exit := seamLeave(t, func() error {
					return d.run(ctx, d.fresh(), func(_ context.Context, c seamContext) error {
						if call, ok := c.native().(*hooks.ToolCall); ok {
							call.Result = "unchecked"
						}
						return nil
					})
				})
				assert.True(t, exit.exited)
				assert.Equal(t, 1, seen)
				all := events.take()
				require.NotEmpty(t, all)
				last := all[len(all)-1]
				assert.Equal(t, []hooks.Outcome{hooks.OutcomeFailed, hooks.OutcomeProceeded}, outcomes(last))
				assert.Equal(t, hooks.ErrGoexit, last.Hooks[0].Err)
			})
		})
	}
}

func TestWatch_seesANestThatIsTooDeep(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		d.onPre(r, func(ctx context.Context, _ seamContext) error { _ = d.run(ctx, d.fresh(), seamProceed); return nil })
		var last error
		seen := 0
		d.watch(r, func(at string, _ seamContext, err error) {
			if at == "pre" {
				seen++
				last = err
			}
		})
		err := d.run(ctx, d.fresh(), seamProceed)
		require.ErrorIs(t, err, hooks.ErrTooDeep)
		assert.Positive(t, seen)
		assert.ErrorIs(t, last, hooks.ErrTooDeep)
		assert.True(t, aborted(t, last).StopRun)
	})
}

func TestWatch_looksUnderABareDispatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook hooks.Func[hooks.ToolCall]
		want error
	}{
		"nothing": {fails[hooks.ToolCall](nil), nil},
		"failure": {fails[hooks.ToolCall](errBroken), nil},
		"panic":   {panics[hooks.ToolCall]("boom"), nil},
		"goexit":  {func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil }, hooks.ErrGoexit},
		"abort":   {fails[hooks.ToolCall](hooks.Abort("no")), hooks.Abort("no")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { c.Result = "edited" }), hooks.In(r))
			hooks.On(hooks.PostToolCall, tc.hook, hooks.In(r))
			got := watching(r, hooks.PostToolCall)
			call := &hooks.ToolCall{Name: "sh", Result: "raw"}
			exit := seamLeave(t, func() error { return hooks.Dispatch(ctx, hooks.PostToolCall, call) })
			require.Len(t, *got, 1)
			assert.Equal(t, "edited", (*got)[0].c.Result)
			assert.NotSame(t, call, (*got)[0].c)
			if name == "abort" {
				assert.Same(t, aborted(t, exit.err), aborted(t, (*got)[0].err), "what Dispatch returned")
			} else {
				assert.Equal(t, tc.want, (*got)[0].err)
			}
		})
	}
}

func TestWatch_worksWithoutHooks(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		var seen []string
		d.watch(r, func(at string, _ seamContext, err error) {
			seen = append(seen, at)
			assert.NoError(t, err)
		})
		require.NoError(t, d.run(ctx, d.fresh(), seamProceed))
		assert.Equal(t, []string{"pre", "post"}, seen)
	})
}

// fill gives every exported field in v a value that isn't zero. What is a text,
// or holds one, ends in mark.
func fill(v reflect.Value, mark string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("s" + mark)
	case reflect.Int:
		v.SetInt(int64(6 + len(mark)))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]any{"k" + mark: 1}))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), mark)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), mark)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(errors.New("e" + mark)))
		} else {
			v.Set(reflect.ValueOf([]string{"a" + mark}))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type != reflect.TypeFor[hooks.Values]() {
				fill(v.Field(i), mark)
			}
		}
	default:
		panic("fill knows no " + v.Kind().String())
	}
}

// scribble overwrites what is behind the exported maps and slices of v, in place,
// but not the framework's own objects.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Map:
		v.SetMapIndex(reflect.ValueOf("scribbled"), reflect.ValueOf(1))
	case reflect.Slice:
		if v.Len() > 0 && v.Index(0).CanSet() {
			scribble(v.Index(0))
			fill(v.Index(0), "scribbled")
		}
	case reflect.Interface:
		if v.Elem().Kind() == reflect.Slice {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type != reflect.TypeFor[hooks.Values]() &&
				(f.Type.Kind() != reflect.Interface || f.Name == "Input" || f.Name == "Output") {
				scribble(v.Field(i))
			}
		}
	}
}

// exported lists the exported fields of c by their names.
func exported(c any) map[string]any {
	v := reflect.ValueOf(c).Elem()
	fields := make(map[string]any)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Type != reflect.TypeFor[hooks.Values]() {
			fields[f.Name] = v.Field(i).Interface()
		}
	}
	return fields
}

func checkCopy[C any](t *testing.T, p hooks.Point[C], put func(c *C, key, value any), get func(c *C, key any) (any, bool)) {
	t.Helper()
	ctx, r := newRun(t)
	got := watching(r, p)
	hooks.On(p, func(_ context.Context, c *C) error { put(c, seamKey("hook"), 2); return nil }, hooks.In(r))
	c, same := new(C), new(C)
	fill(reflect.ValueOf(c).Elem(), "")
	fill(reflect.ValueOf(same).Elem(), "")
	put(c, seamKey("loop"), 1)
	require.NoError(t, hooks.Dispatch(ctx, p, c))
	require.Len(t, *got, 1)
	copied := (*got)[0].c
	for name, value := range exported(copied) {
		assert.False(t, reflect.ValueOf(value).IsZero(), "%T.%s is not copied", c, name)
	}
	assert.Equal(t, exported(same), exported(copied))
	for key, want := range map[seamKey]any{"loop": 1, "hook": 2} {
		value, ok := get(copied, key)
		assert.True(t, ok, key)
		assert.Equal(t, want, value)
	}
	put(copied, seamKey("watch"), 3)
	_, ok := get(c, seamKey("watch"))
	assert.False(t, ok)

	// What is behind the copy is its own, and so is what is behind the original.
	scribble(reflect.ValueOf(copied).Elem())
	assert.Equal(t, exported(same), exported(c), "writing into the copy changes nothing")
	require.NoError(t, hooks.Dispatch(ctx, p, c))
	require.Len(t, *got, 2)
	again := (*got)[1].c
	scribble(reflect.ValueOf(c).Elem())
	fill(reflect.ValueOf(c).Elem(), "later")
	assert.Equal(t, exported(same), exported(again), "it may be kept")
}

func TestWatch_getsACopyOfAllThereIs(t *testing.T) {
	t.Parallel()
	t.Run("Execution", func(t *testing.T) {
		t.Parallel()
		checkCopy(t, hooks.Output, (*hooks.Execution).Put, (*hooks.Execution).Get)
	})
	t.Run("Step", func(t *testing.T) {
		t.Parallel()
		checkCopy(t, hooks.PostStep, (*hooks.Step).Put, (*hooks.Step).Get)
	})
	t.Run("ModelCall", func(t *testing.T) {
		t.Parallel()
		checkCopy(t, hooks.PostModelCall, (*hooks.ModelCall).Put, (*hooks.ModelCall).Get)
	})
	t.Run("ToolCall", func(t *testing.T) {
		t.Parallel()
		checkCopy(t, hooks.PostToolCall, (*hooks.ToolCall).Put, (*hooks.ToolCall).Get)
	})
}

func TestWatch_oneCopyForAll(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	inner := hooks.NewRegistry()
	ctx = hooks.WithScope(ctx, inner)
	a, b := watching(r, hooks.PreToolCall), watching(inner, hooks.PreToolCall)
	after := watching(r, hooks.PostToolCall)
	call := &hooks.ToolCall{Name: "ls"}
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("a")))
	require.Equal(t, []int{1, 1, 1}, []int{len(*a), len(*b), len(*after)})
	assert.Same(t, (*a)[0].c, (*b)[0].c)
	assert.NotSame(t, (*a)[0].c, (*after)[0].c)
	assert.NotSame(t, call, (*a)[0].c)
	assert.Empty(t, (*a)[0].c.Result, "the copy of the pre point stays what it was")
}

// The loop writes the reply of a turn while a watch may still read its copy.
func TestWatch_copyOfATurnStaysWhatItWas(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	before := watching(r, hooks.PreStep)
	spoiled := 0
	hooks.Watch(hooks.PostStep, func(_ context.Context, s *hooks.Step, _ error) {
		spoiled++
		turn := s.Input.(*hooks.Turn)
		turn.Reply.Content, turn.Messages[0].Content, turn.Messages[0].Parts[0].Text = "spoiled", "spoiled", "spoiled"
	}, hooks.In(r))
	turn := &hooks.Turn{Number: 1, Messages: []hooks.Message{{Role: "user", Content: "hi", Parts: []hooks.Part{{Kind: "text", Text: "ho"}}}}}
	require.NoError(t, hooks.RunStep(ctx, &hooks.Step{Kind: hooks.StepTurn, Input: turn}, func(_ context.Context, s *hooks.Step) error {
		s.Input.(*hooks.Turn).Reply = hooks.Message{Role: "assistant", Content: "hello"}
		return nil
	}))
	require.Len(t, *before, 1)
	kept := (*before)[0].c.Input.(*hooks.Turn)
	assert.Equal(t, 1, kept.Number)
	assert.Empty(t, kept.Reply)
	assert.Equal(t, turn.Messages, kept.Messages)
	assert.Equal(t, 1, spoiled)
	assert.Equal(t, "hello", turn.Reply.Content)
	assert.Equal(t, "hi", turn.Messages[0].Content)
}

func TestWatch_copyTellsWhatTheCallDoes(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	before := watching(r, hooks.PreToolCall)
	call := &hooks.ToolCall{Name: "ls"}
	require.Error(t, call.SetArguments("["))
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("a")))
	require.NoError(t, call.ArgumentsError())
	require.NoError(t, call.SetArguments(`{"n":1}`))
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("a")))
	require.Len(t, *before, 2)
	assert.Error(t, (*before)[0].c.ArgumentsError())
	assert.True(t, (*before)[1].c.ShouldRun())
	n, err := (*before)[1].c.NumberArg("n")
	require.NoError(t, err)
	assert.Equal(t, 1.0, n)
}

// A watch that writes changes nothing that anybody uses.
func TestWatch_changesNothing(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	ran := 0
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		hooks.Watch(p, func(_ context.Context, c *hooks.ToolCall, _ error) {
			ran++
			c.Name, c.Result = "rm", "hacked"
			c.Input["path"] = "/"
			c.Answer("hacked")
			c.Blocked, c.Err = &hooks.HookAborted{Reason: "no"}, errBroken
			if len(c.Parts) > 0 {
				c.Parts[0].Text = "hacked"
			}
			_ = c.SetArguments("[")
		}, hooks.In(r))
	}
	events := record(t, r)
	call := &hooks.ToolCall{Name: "ls", Input: map[string]any{"path": "/tmp"}}
	require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
		assert.Equal(t, map[string]any{"path": "/tmp"}, c.Input)
		c.Parts = []hooks.Part{{Kind: "text", Text: "a"}}
		return nil
	}))
	assert.Equal(t, 2, ran)
	assert.True(t, call.Ran())
	assert.Equal(t, "ls", call.Name)
	assert.Empty(t, call.Result)
	assert.Equal(t, []hooks.Part{{Kind: "text", Text: "a"}}, call.Parts)
	assert.False(t, call.IsError() || call.ResultEdited() || call.Answered())
	for _, ev := range events.take() {
		assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome)
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeProceeded}, outcomes(ev))
	}
}

// copied is a framework's own context with a copy of its own.
type copied struct {
	hooks.Values
	Data []string
	copy func(*copied) *copied
}

func (c *copied) HookCopy() *copied { return c.copy(c) }

func (c *copied) HookPayload(hooks.InterceptionPoint) any { return c.Data }

func TestWatch_asksAContextForItsCopy(t *testing.T) {
	log := captureLog(t)
	p := newPoint[copied](t)
	for name, tc := range map[string]struct {
		copy func(*copied) *copied
		same bool
		log  int
	}{
		"a copy":  {func(c *copied) *copied { return &copied{Data: append([]string(nil), c.Data...)} }, false, 0},
		"itself":  {func(c *copied) *copied { return c }, true, 0},
		"none":    {func(*copied) *copied { return nil }, true, 0},
		"a panic": {func(*copied) *copied { panic("boom") }, true, 1},
	} {
		ctx, r := newRun(t)
		got, again := watching(r, p), watching(r, p)
		asked := 0
		c := &copied{Data: []string{"a"}, copy: func(c *copied) *copied { asked++; return tc.copy(c) }}
		require.NoError(t, hooks.Dispatch(ctx, p, c), name)
		require.Len(t, *got, 1, name)
		assert.Equal(t, 1, asked, "%s: once for all watches", name)
		assert.Equal(t, tc.same, (*got)[0].c == c, name)
		assert.Same(t, (*got)[0].c, (*again)[0].c, name)
		assert.Equal(t, []string{"a"}, (*got)[0].c.Data, name)
		lines := log.take()
		require.Len(t, lines, tc.log, name)
		if tc.log > 0 {
			assert.Equal(t, "hooks: HookCopy panicked", lines[0].msg)
			assert.Equal(t, string(p.Name()), lines[0].attrs["point"].String())
		}
	}
}

func TestWatch_getsAContextThatCannotBeCopied(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	p := newPoint[job](t)
	got := watching(r, p)
	j := &job{Tool: "ls"}
	require.NoError(t, hooks.Dispatch(ctx, p, j))
	require.Len(t, *got, 1)
	assert.Same(t, j, (*got)[0].c)
}

func TestWatch_filtersGoByEveryNameAndRole(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	for _, name := range []string{"asked", "renamed", "other", "re*"} {
		hooks.Watch(hooks.PreToolCall, look[hooks.ToolCall](&tr, "pre:"+name), hooks.In(r), hooks.WithTools(name))
		hooks.Watch(hooks.PostToolCall, look[hooks.ToolCall](&tr, "post:"+name), hooks.In(r), hooks.WithTools(name))
	}
	for _, role := range []string{"Writer", "Editor", "Other"} {
		hooks.Watch(hooks.PreToolCall, look[hooks.ToolCall](&tr, "pre:"+role), hooks.In(r), hooks.WithAgents(role))
		hooks.Watch(hooks.PostToolCall, look[hooks.ToolCall](&tr, "post:"+role), hooks.In(r), hooks.WithAgents(role))
	}
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Name, c.AgentRole = "renamed", "Editor" }), hooks.In(r))
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "asked", Caller: hooks.Caller{AgentRole: "Writer"}}, seamReturns("a")))
	assert.Equal(t, "pre:asked pre:renamed pre:re* pre:Writer pre:Editor"+
		" post:asked post:renamed post:re* post:Writer post:Editor", tr.take())
}

func TestWatch_filtersLeaveNoOtherCallsIn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.Watch(hooks.PostToolCall, look[hooks.ToolCall](&tr, "hit"), hooks.In(r), hooks.WithTools("ls", "git*"), hooks.WithAgents("Writer"))
	for _, call := range []struct{ tool, role, want string }{
		{"ls", "Writer", "hit"}, {"LS", "Writer", "hit"}, {"git_push", "Writer", "hit"}, {"ls", "", "hit"},
		{"rm", "Writer", ""}, {"ls", "Editor", ""},
	} {
		c := &hooks.ToolCall{Name: call.tool, Caller: hooks.Caller{AgentRole: call.role}}
		require.NoError(t, hooks.RunTool(ctx, c, seamReturns("a")))
		assert.Equal(t, call.want, tr.take(), call)
	}
}

func TestWatch_onceConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var n atomic.Int32
	reg := hooks.Watch(hooks.PostToolCall, func(context.Context, *hooks.ToolCall, error) { n.Add(1) }, hooks.In(r), hooks.WithOnce(), hooks.WithTools("ls"))
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "other"}, seamReturns("a")))
	require.NoError(t, hooks.RunTools(ctx, []*hooks.ToolCall{{Name: "ls"}, {Name: "ls"}, {Name: "ls"}}, 0, seamReturns("a")))
	assert.Equal(t, int32(1), n.Load())
	assert.Empty(t, r.Hooks(hooks.PostToolCall))
	assert.False(t, reg.Remove())
}

func TestWatch_isRemoved(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	reg := hooks.Watch(hooks.PostStep, look[hooks.Step](&tr, "watch"), hooks.In(r))
	assert.True(t, hooks.Enabled(ctx, hooks.PostStep), "a watch counts")
	assert.Equal(t, []*hooks.Registration{reg}, r.Hooks(hooks.PostStep))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PostStep, &hooks.Step{}))
	assert.True(t, reg.Remove())
	assert.False(t, reg.Remove())
	assert.False(t, hooks.Enabled(ctx, hooks.PostStep))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PostStep, &hooks.Step{}))
	assert.Equal(t, "watch", tr.take())
	hooks.Watch(hooks.PostStep, look[hooks.Step](&tr, "watch"), hooks.In(r))
	assert.Equal(t, 1, r.Clear(hooks.PostStep))
}

func TestWatch_refusesMistakes(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	fn := func(context.Context, *hooks.Step, error) {}
	for name, tc := range map[string]struct {
		watch func()
		want  []string
	}{
		"a nil function":  {func() { hooks.Watch(hooks.PreStep, nil, hooks.In(r)) }, []string{"pre_step", "nil"}},
		"the zero Point":  {func() { hooks.Watch(hooks.Point[hooks.Step]{}, fn, hooks.In(r)) }, []string{"zero Point"}},
		"a guard":         {func() { hooks.Watch(hooks.PreStep, fn, hooks.In(r), hooks.AsGuard()) }, []string{"pre_step", "AsGuard"}},
		"fail-closed":     {func() { hooks.Watch(hooks.PreStep, fn, hooks.In(r), hooks.WithFailClosed()) }, []string{"pre_step", "WithFailClosed"}},
		"no registry":     {func() { hooks.Watch(hooks.PreStep, fn, hooks.In(nil)) }, []string{"pre_step", "In(nil)"}},
		"no time":         {func() { hooks.Watch(hooks.PreStep, fn, hooks.In(r), hooks.WithTimeout(0)) }, []string{"WithTimeout(0s)"}},
		"tools of a step": {func() { hooks.Watch(hooks.PreStep, fn, hooks.In(r), hooks.WithTools("a")) }, []string{"WithTools"}},
		"no roles":        {func() { hooks.Watch(hooks.PreStep, fn, hooks.In(r), hooks.WithAgents()) }, []string{"WithAgents"}},
	} {
		text := panicText(t, tc.watch)
		assert.Contains(t, text, "hooks: Watch", name)
		for _, part := range tc.want {
			assert.Contains(t, text, part, name)
		}
	}
	assert.Equal(t, "no hooks\n", r.String())
}

func TestWatch_registersInTheDefaultUnlessIn(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	var tr trace
	reg := hooks.Watch(p, look[job](&tr, "watch"))
	assert.Regexp(t, `^watch_test\.go:[0-9]+$`, reg.Name())
	assert.Equal(t, []*hooks.Registration{reg}, hooks.Hooks(p))
	require.NoError(t, hooks.Dispatch(t.Context(), p, &job{}))
	assert.Equal(t, "watch", tr.take())
}

// Hooks registered by a watch count from the next dispatch on.
func TestWatch_mayRegisterAndRemove(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	var reg *hooks.Registration
	reg = hooks.Watch(hooks.PreStep, func(context.Context, *hooks.Step, error) {
		tr.add("first")
		reg.Remove()
		hooks.Watch(hooks.PreStep, look[hooks.Step](&tr, "second"), hooks.In(r))
	}, hooks.In(r))
	for _, want := range []string{"first", "second", "second"} {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, want, tr.take())
	}
}

func TestWatch_failureHurtsNobody(t *testing.T) {
	log := captureLog(t)
	for name, tc := range map[string]struct {
		fn   func()
		want error // nil for a panic
	}{
		"panics":                {func() { panic("sk-secret") }, nil},
		"panics with an abort":  {func() { panic(hooks.Abort("no")) }, nil},
		"ends the goroutine":    {runtime.Goexit, hooks.ErrGoexit},
		"panics with ErrGoexit": {func() { panic(hooks.ErrGoexit) }, nil},
	} {
		for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
			ctx, r := newRun(t)
			events := record(t, r)
			var tr trace
			hooks.Watch(p, look[hooks.ToolCall](&tr, "before"), hooks.In(r), hooks.WithName("before"))
			hooks.Watch(p, func(context.Context, *hooks.ToolCall, error) { tc.fn() }, hooks.In(r), hooks.WithName("fails"))
			hooks.Watch(p, func(context.Context, *hooks.ToolCall, error) { tc.fn() }, hooks.In(r), hooks.WithName("fails too"))
			hooks.Watch(p, look[hooks.ToolCall](&tr, "after"), hooks.In(r), hooks.WithName("after"))
			call := &hooks.ToolCall{Name: "ls"}
			exit := seamLeave(t, func() error { return hooks.RunTool(ctx, call, seamReturns("a")) })
			assert.Equal(t, tc.want != nil, exit.exited, name)
			require.NoError(t, exit.err, name)
			assert.Nil(t, exit.value, name)
			assert.Equal(t, "before after", tr.take(), name)
			if p == hooks.PostToolCall || tc.want == nil {
				assert.Equal(t, "a", call.Result, name)
				assert.False(t, call.IsError(), name)
			} else { // nobody is left to run it
				assert.Equal(t, "Tool was not run: the run was stopped", call.Result)
				assert.Equal(t, hooks.ErrGoexit, call.Err)
				assert.False(t, call.ShouldRun())
			}
			ev := events.one(t)
			assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome, name)
			require.Equal(t, []hooks.Outcome{"proceeded", "failed", "failed", "proceeded"}, outcomes(ev), name)
			lines := log.take()
			require.Len(t, lines, 2, name)
			for i, who := range []string{"fails", "fails too"} {
				assert.Equal(t, who, ev.Hooks[i+1].Name)
				assert.Equal(t, "hooks: a watch failed and was passed over", lines[i].msg, name)
				assert.Equal(t, who, lines[i].attrs["hook"].String())
				assert.Equal(t, string(p.Name()), lines[i].attrs["point"].String())
				if tc.want != nil {
					assert.Equal(t, tc.want, ev.Hooks[i+1].Err)
					continue
				}
				assert.IsType(t, new(hooks.PanicError), ev.Hooks[i+1].Err, name)
				assert.NotContains(t, fmt.Sprint(lines[i].attrs), "sk-secret")
				assert.NotEmpty(t, lines[i].attrs["stack"].String())
			}
		}
	}
}

// A watch that ends the goroutine in front of the body leaves no context that
// looks as if it were still under way.
func TestWatch_goexitLeavesNoHole(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		d.watch(r, func(at string, _ seamContext, _ error) {
			if at == "pre" {
				runtime.Goexit()
			}
		})
		c := d.fresh()
		exit := seamLeave(t, func() error {
			return d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		})
		assert.True(t, exit.exited)
		assert.Equal(t, hooks.ErrGoexit, c.failure())
	})

	t.Run("RunTools", func(t *testing.T) {
		t.Parallel()
		ctx, r := newRun(t)
		hooks.Watch(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall, _ error) {
			if c.ID == "1" {
				runtime.Goexit()
			}
		}, hooks.In(r))
		calls := []*hooks.ToolCall{{ID: "0", Name: "ls"}, {ID: "1", Name: "ls"}, {ID: "2", Name: "ls"}}
		exit := seamLeave(t, func() error { return hooks.RunTools(ctx, calls, 1, seamReturns("a")) })
		assert.Equal(t, hooks.ErrGoexit, exit.err)
		for _, call := range calls {
			assert.NotEmpty(t, call.Result)
		}
	})

	t.Run("a blocked call", func(t *testing.T) {
		t.Parallel()
		ctx, r := newRun(t)
		seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")))
		hooks.Watch(hooks.PreToolCall, func(context.Context, *hooks.ToolCall, error) { runtime.Goexit() }, hooks.In(r))
		call := &hooks.ToolCall{Name: "ls"}
		exit := seamLeave(t, func() error { return hooks.RunTool(ctx, call, seamReturns("a")) })
		assert.True(t, exit.exited)
		assert.Equal(t, "Tool execution blocked by hook. Tool: ls. Reason: no", call.Result)
	})
}

func TestWatch_timeoutIsAFailure(t *testing.T) {
	log := captureLog(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.Watch(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall, _ error) { <-ctx.Done() },
			hooks.In(r), hooks.WithName("slow"), hooks.WithTimeout(time.Second))
		quick := 0
		hooks.Watch(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall, _ error) {
			quick++
			assert.NoError(t, ctx.Err(), "a deadline of its own")
		}, hooks.In(r), hooks.WithTimeout(time.Second))
		call := &hooks.ToolCall{Name: "ls"}
		require.NoError(t, hooks.RunTool(ctx, call, seamReturns("a")))
		assert.Equal(t, "a", call.Result)
		assert.Equal(t, 1, quick)
		ev := events.one(t)
		assert.Equal(t, []hooks.Outcome{"failed", "proceeded"}, outcomes(ev))
		assert.ErrorIs(t, ev.Hooks[0].Err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, ev.Hooks[0].Duration)
	})
	lines := log.take()
	require.Len(t, lines, 1)
	assert.Equal(t, "slow", lines[0].attrs["hook"].String())
}

// The audit of a cancelled run has to be written.
func TestWatch_getsALiveCtx(t *testing.T) {
	t.Parallel()
	type key struct{}
	for name, end := range map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"cancelled": context.WithCancel,
		"expired": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(-time.Second))
		},
	} {
		ctx, r := newRun(t)
		ctx, cancel := end(context.WithValue(ctx, key{}, "kept"))
		cancel()
		seen := 0
		hooks.Watch(hooks.PreStep, func(ctx context.Context, _ *hooks.Step, _ error) {
			seen++
			assert.NoError(t, ctx.Err(), name)
			assert.Equal(t, "kept", ctx.Value(key{}), name)
			_, limited := ctx.Deadline()
			assert.False(t, limited)
		}, hooks.In(r))
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, 1, seen)
	}
	// One that isn't done stays what it is.
	ctx, r := newRun(t)
	ctx, cancel := context.WithCancel(ctx)
	seen := 0
	hooks.Watch(hooks.PreStep, func(ctx context.Context, _ *hooks.Step, _ error) {
		seen++
		cancel()
		assert.Error(t, ctx.Err())
	}, hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, 1, seen)
}

// A watch that opens the seam that it watches is stopped, and what it watches
// isn't.
func TestWatch_ofItselfIsBounded(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		opened, refused := 0, 0
		d.watches(r, func(ctx context.Context) {
			opened++
			if err := d.run(ctx, d.fresh(), seamProceed); errors.Is(err, hooks.ErrTooDeep) {
				refused++
			}
		})
		c := d.fresh()
		require.NoError(t, d.run(ctx, c, seamProceed))
		assert.NoError(t, c.failure())
		assert.Less(t, opened, 200)
		assert.Positive(t, refused)
	})
}

// watches is watch for those who need the ctx alone.
func (d seamDriver) watches(r *hooks.Registry, fn func(ctx context.Context)) {
	switch d.fresh().native().(type) {
	case *hooks.Execution:
		watchCtx(r, fn, hooks.ExecutionStart, hooks.ExecutionEnd)
	case *hooks.Step:
		watchCtx(r, fn, hooks.PreStep, hooks.PostStep)
	case *hooks.ModelCall:
		watchCtx(r, fn, hooks.PreModelCall, hooks.PostModelCall)
	case *hooks.ToolCall:
		watchCtx(r, fn, hooks.PreToolCall, hooks.PostToolCall)
	case *seamOwn:
		watchCtx(r, fn, seamBefore, seamAfter)
	}
}

func watchCtx[C any](r *hooks.Registry, fn func(ctx context.Context), points ...hooks.Point[C]) {
	for _, p := range points {
		hooks.Watch(p, func(ctx context.Context, _ *C, _ error) { fn(ctx) }, hooks.In(r))
	}
}

// A watch must not make the hooks fail that are at work around it.
func TestWatch_breaksNoNestOfHooks(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	opened := 0
	hooks.Watch(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall, _ error) {
		opened++
		_ = hooks.RunTool(ctx, &hooks.ToolCall{Name: "again"}, seamReturns("page"))
	}, hooks.In(r))
	seamOnModel(r, hooks.PreModelCall, func(ctx context.Context, _ *hooks.ModelCall) error {
		for range 3 {
			call := &hooks.ToolCall{Name: "fetch"}
			assert.NoError(t, hooks.RunTool(ctx, call, seamReturns("page")))
			assert.Equal(t, "page", call.Result)
		}
		return nil
	})
	require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { return nil }))
	assert.Positive(t, opened)
}

func TestWatch_countsInTheEventButModifiesNothing(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	p := newPoint[job](t)
	events := record(t, r)
	hooks.Watch(p, func(_ context.Context, j *job, _ error) { j.Data = "written" }, hooks.In(r), hooks.WithName("writes"))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	ev := events.one(t)
	assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome)
	assert.Equal(t, []hooks.HookRun{{Name: "writes", Outcome: hooks.OutcomeProceeded, Duration: ev.Hooks[0].Duration}}, ev.Hooks)

	hooks.On(p, edit(func(j *job) { j.Data = 1 }), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	ev = events.one(t)
	assert.Equal(t, hooks.OutcomeModified, ev.Outcome)
	assert.Equal(t, []hooks.Outcome{"modified", "proceeded"}, outcomes(ev))

	hooks.Guard(p, fails[job](hooks.Abort("no")), hooks.In(r))
	require.Error(t, hooks.Dispatch(ctx, p, &job{}))
	ev = events.one(t)
	assert.Equal(t, hooks.OutcomeAborted, ev.Outcome)
	assert.Equal(t, "no", ev.AbortReason)
	assert.Equal(t, []hooks.Outcome{"modified", "aborted", "proceeded"}, outcomes(ev))
}

func TestWatch_looksBeforeTheEventIsSent(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.Watch(hooks.PreStep, look[hooks.Step](&tr, "watch"), hooks.In(r))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "hook"), hooks.In(r))
	r.Observe(func(context.Context, hooks.HookDispatchedEvent) { tr.add("event") })
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "hook watch event", tr.take())
}

// Calls that run beside one another are each shown once, as they are.
func TestWatch_ofParallelCallsConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	before, after := watching(r, hooks.PreToolCall), watching(r, hooks.PostToolCall)
	seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")), hooks.WithTools("rm"))
	var calls []*hooks.ToolCall
	for i := range 30 {
		calls = append(calls, &hooks.ToolCall{ID: fmt.Sprint(i), Name: []string{"ls", "rm"}[i%2]})
	}
	require.NoError(t, hooks.RunTools(ctx, calls, 0, func(_ context.Context, c *hooks.ToolCall) error { c.Result = c.ID; return nil }))
	require.Len(t, *before, 30)
	require.Len(t, *after, 30)
	results := map[string]string{}
	for i, w := range *before {
		assert.Equal(t, calls[i].ID, w.c.ID, "pre points fire in the order of the calls")
		assert.Equal(t, w.c.Name == "rm", w.err != nil)
	}
	for _, w := range *after {
		results[w.c.ID] = w.c.Result
	}
	for _, call := range calls {
		assert.Equal(t, call.Result, results[call.ID])
	}
}

// A turn that is stopped shows the calls too that never began.
func TestWatch_ofAStoppedTurn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	before, after := watching(r, hooks.PreToolCall), watching(r, hooks.PostToolCall)
	seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.AbortRun("over budget")), hooks.WithTools("rm"))
	calls := []*hooks.ToolCall{{Name: "ls"}, {Name: "rm"}, {Name: "ls"}}
	err := hooks.RunTools(ctx, calls, 1, seamReturns("a"))
	assert.True(t, aborted(t, err).StopRun)
	require.Len(t, *before, 2)
	require.Len(t, *after, 2)
	assert.Same(t, err, (*before)[1].err)
	assert.NoError(t, (*after)[1].err)
	assert.NotNil(t, (*after)[1].c.Blocked)
}
