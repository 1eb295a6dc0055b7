// What may be registered around a body, where it stands, and how it is listed.

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// nextFunc runs what an around hook wraps.
type nextFunc = func(context.Context) error

type aroundFunc = func(ctx context.Context, c seamContext, next nextFunc) error

// around is an around hook that notes what before and behind next.
func around[C any](tr *trace, what string) hooks.AroundFunc[C] {
	return func(ctx context.Context, _ *C, next nextFunc) error {
		tr.add(what + "(")
		defer tr.add(")" + what)
		return next(ctx)
	}
}

// wrapDriver drives one seam with a body that can be wrapped, as seamDriver does.
// Its points are those next to the body, but post fires also where the body
// failed.
type wrapDriver struct {
	name     string
	tool     bool // turns refusals and failures into results
	tells    bool // the context tells of a failure
	compares bool // the context shows what goes into the body
	body     hooks.InterceptionPoint
	fresh    func() seamContext
	around   func(*hooks.Registry, aroundFunc, ...hooks.Option) *hooks.Registration
	onPre    func(*hooks.Registry, seamFunc, ...hooks.Option)
	onPost   func(*hooks.Registry, seamFunc, ...hooks.Option)
	watch    func(*hooks.Registry, func(seamContext, error))
	enabled  func(context.Context) bool
	dispatch func(context.Context) error
	run      func(context.Context, seamContext, seamFunc) error
	begin    func(context.Context, seamContext) (context.Context, seamEnd, error)
}

func wrapDriverOf[C any](
	name string, pre, post hooks.Point[C], b hooks.Body[C], fresh func() *C, wrap func(*C) seamContext,
	run func(context.Context, *C, func(context.Context, *C) error) error,
	begin func(context.Context, *C) (context.Context, func(error) error, error),
) wrapDriver {
	base := seamDriverOf(name, pre, post, fresh, wrap, run, begin)
	_, plain := any(fresh()).(*wrapPlain)
	_, embeds := any(fresh()).(*wrapCall)
	return wrapDriver{
		name: name, body: b.Name(), tells: !plain && !embeds, compares: !plain,
		fresh: base.fresh, onPre: base.onPre, onPost: base.onPost, run: base.run, begin: base.begin,
		around: func(r *hooks.Registry, fn aroundFunc, opts ...hooks.Option) *hooks.Registration {
			return hooks.Around(b, func(ctx context.Context, c *C, next nextFunc) error { return fn(ctx, wrap(c), next) }, append(opts, hooks.In(r))...)
		},
		watch: func(r *hooks.Registry, fn func(seamContext, error)) {
			hooks.Watch(pre, func(_ context.Context, c *C, err error) { fn(wrap(c), err) }, hooks.In(r))
		},
		enabled:  func(ctx context.Context) bool { return hooks.Enabled(ctx, pre) },
		dispatch: func(ctx context.Context) error { return hooks.Dispatch(ctx, pre, fresh()) },
	}
}

// wrapPlain is a context of a framework's own that offers nothing.
type wrapPlain struct{ Input, Output string }

// wrapFull is one that offers all there is.
type wrapFull struct {
	hooks.Caller
	hooks.Values
	Data     any
	Output   string
	Err      error
	answered bool
}

func (f *wrapFull) SetHookError(err error)                  { f.Err = err }
func (f *wrapFull) Answered() bool                          { return f.answered }
func (f *wrapFull) Answer(text string)                      { f.Output, f.answered = text, true }
func (f *wrapFull) HookPayload(hooks.InterceptionPoint) any { return f.Data }

// wrapCall is one around a tool call.
type wrapCall struct{ hooks.ToolCall }

var (
	wrapPlainSeam = hooks.DefineSeam[wrapPlain]("wraptest.plain")
	wrapFullSeam  = hooks.DefineSeam[wrapFull]("wraptest.full")
	wrapCallSeam  = hooks.DefineSeam[wrapCall]("wraptest.call")
)

type (
	seamPlain struct {
		*wrapPlain
		*hooks.Values
		caller *hooks.Caller
	}
	seamFull struct{ *wrapFull }
	seamCall struct{ *wrapCall }
)

func (c seamPlain) who() *hooks.Caller { return c.caller }
func (c seamPlain) failure() error     { return nil }
func (c seamPlain) native() any        { return c.wrapPlain }
func (c seamFull) who() *hooks.Caller  { return &c.Caller }
func (c seamFull) failure() error      { return c.Err }
func (c seamFull) native() any         { return c.wrapFull }
func (c seamCall) who() *hooks.Caller  { return &c.Caller }
func (c seamCall) failure() error      { return c.Err }
func (c seamCall) native() any         { return c.wrapCall }

// wrapDrivers returns every seam whose body can be wrapped, in its Run form.
func wrapDrivers() []wrapDriver {
	all := []wrapDriver{
		wrapDriverOf("execution", hooks.Input, hooks.ExecutionEnd, hooks.ExecutionBody,
			func() *hooks.Execution { return &hooks.Execution{Inputs: map[string]any{"q": "a"}} },
			func(x *hooks.Execution) seamContext { return seamExecution{x} }, hooks.RunExecution, hooks.BeginExecution),
		wrapDriverOf("step", hooks.PreStep, hooks.PostStep, hooks.StepBody,
			func() *hooks.Step { return &hooks.Step{Kind: hooks.StepTask, Name: "plan", Input: "a"} },
			func(s *hooks.Step) seamContext { return seamStep{s} }, hooks.RunStep, hooks.BeginStep),
		wrapDriverOf("model", hooks.PreModelCall, hooks.PostModelCall, hooks.ModelBody,
			func() *hooks.ModelCall {
				return &hooks.ModelCall{Model: "m", Messages: []hooks.Message{{Role: "user", Content: "a"}}}
			},
			func(m *hooks.ModelCall) seamContext { return seamModel{m} }, hooks.RunModel, hooks.BeginModel),
		wrapDriverOf("tool", hooks.PreToolCall, hooks.PostToolCall, hooks.ToolBody,
			func() *hooks.ToolCall { return &hooks.ToolCall{Name: "search", Input: map[string]any{"q": "a"}} },
			func(c *hooks.ToolCall) seamContext { return seamTool{c} }, hooks.RunTool, hooks.BeginTool),
		wrapDriverOf("own, plain", wrapPlainSeam.Pre, wrapPlainSeam.Post, wrapPlainSeam.Body,
			func() *wrapPlain { return &wrapPlain{Input: "a"} },
			func(c *wrapPlain) seamContext { return seamPlain{c, new(hooks.Values), new(hooks.Caller)} }, wrapPlainSeam.Run, nil),
		wrapDriverOf("own, full", wrapFullSeam.Pre, wrapFullSeam.Post, wrapFullSeam.Body,
			func() *wrapFull { return &wrapFull{Data: "a"} },
			func(c *wrapFull) seamContext { return seamFull{c} }, wrapFullSeam.Run, nil),
		wrapDriverOf("own, of a tool call", wrapCallSeam.Pre, wrapCallSeam.Post, wrapCallSeam.Body,
			func() *wrapCall {
				return &wrapCall{hooks.ToolCall{Name: "search", Input: map[string]any{"q": "a"}}}
			},
			func(c *wrapCall) seamContext { return seamCall{c} }, wrapCallSeam.Run, nil),
	}
	for i := range all {
		all[i].tool = all[i].name == "tool"
	}
	return all
}

// clears says whether the seam knows what the body leaves in the context.
func (d wrapDriver) clears() bool { return d.name != "own, plain" && d.name != "own, full" }

// eachWrapped runs a parallel subtest for each seam whose body can be wrapped.
func eachWrapped(t *testing.T, test func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver)) {
	t.Helper()
	for _, d := range wrapDrivers() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			test(t, ctx, r, d)
		})
	}
}

// wrapEdit makes v what goes into the body.
func wrapEdit(c seamContext, v string) {
	switch c := c.native().(type) {
	case *hooks.Execution:
		c.Inputs["q"] = v
	case *hooks.Step:
		c.Input = v
	case *hooks.ModelCall:
		c.Messages[0].Content = v
	case *hooks.ToolCall:
		c.Input["q"] = v
	case *wrapPlain:
		c.Input = v
	case *wrapFull:
		c.Data = v
	case *wrapCall:
		c.Input["q"] = v
	}
}

// wrapInput tells what goes into the body.
func wrapInput(c seamContext) string {
	switch c := c.native().(type) {
	case *hooks.Execution:
		return c.Inputs["q"].(string)
	case *hooks.Step:
		return c.Input.(string)
	case *hooks.ModelCall:
		return c.Messages[0].Content
	case *hooks.ToolCall:
		return c.Input["q"].(string)
	case *wrapPlain:
		return c.Input
	case *wrapFull:
		return c.Data.(string)
	case *wrapCall:
		return c.Input["q"].(string)
	}
	panic("unknown")
}

// wrapGive makes text what came out of the body.
func wrapGive(c seamContext, text string) {
	switch c := c.native().(type) {
	case *hooks.Execution:
		c.Output = text
	case *hooks.Step:
		c.Output = text
	case *hooks.ModelCall:
		c.Response = text
	case *hooks.ToolCall:
		c.Result = text
	case *wrapPlain:
		c.Output = text
	case *wrapFull:
		c.Output = text
	case *wrapCall:
		c.Result = text
	}
}

// wrapTaken tells what came out of the body.
func wrapTaken(c seamContext) string {
	var v any
	switch c := c.native().(type) {
	case *hooks.Execution:
		v = c.Output
	case *hooks.Step:
		v = c.Output
	case *hooks.ModelCall:
		v = c.Response
	case *hooks.ToolCall:
		v = c.Result
	case *wrapPlain:
		v = c.Output
	case *wrapFull:
		v = c.Output
	case *wrapCall:
		v = c.Result
	}
	if v == nil {
		return ""
	}
	return v.(string)
}

// requireFailed requires that the seam, which returned err, took its body to have
// failed with want.
func (d wrapDriver) requireFailed(t *testing.T, c seamContext, err, want error) {
	t.Helper()
	if d.tool {
		assert.NoError(t, err)
		assert.True(t, c.native().(*hooks.ToolCall).IsError())
	} else {
		assert.True(t, err == want, "%v", err)
	}
	if d.tells {
		assert.True(t, c.failure() == want, "%v", c.failure())
	}
}

// requireFine requires that the seam, which returned err, took its body to have
// succeeded.
func (d wrapDriver) requireFine(t *testing.T, c seamContext, err error) {
	t.Helper()
	assert.NoError(t, err)
	assert.NoError(t, c.failure())
	if call, ok := c.native().(*hooks.ToolCall); ok {
		assert.False(t, call.IsError())
		assert.True(t, call.Ran())
	}
}

// requireAborted requires that the seam, which returned err, ended with an abort
// for the reason given.
func (d wrapDriver) requireAborted(t *testing.T, c seamContext, err error, reason string) *hooks.HookAborted {
	t.Helper()
	if call, ok := c.native().(*hooks.ToolCall); ok && err == nil {
		require.NotNil(t, call.Blocked)
		assert.True(t, call.IsError())
		err = call.Blocked
	} else if d.tells && !ok {
		assert.Same(t, err, c.failure())
	}
	abort := aborted(t, err)
	assert.Equal(t, reason, abort.Reason)
	return abort
}

func TestAround_wrapsBetweenPreAndPost(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		var tr trace
		note := func(what string) seamFunc {
			return func(context.Context, seamContext) error { tr.add(what); return nil }
		}
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			tr.add("around(")
			defer tr.add(")")
			return next(ctx)
		})
		d.onPre(r, note("guard"), hooks.AsGuard())
		d.onPre(r, note("pre"))
		d.onPost(r, note("post"))
		d.onPost(r, note("judge"), hooks.AsGuard())
		c := d.fresh()
		err := d.run(ctx, c, func(_ context.Context, c seamContext) error {
			tr.add("body")
			wrapGive(c, "done")
			return nil
		})
		d.requireFine(t, c, err)
		assert.Equal(t, "done", wrapTaken(c))
		if d.compares {
			assert.Equal(t, "pre guard around( body ) post judge", tr.take())
		} else { // nobody can tell that it is what the guard has seen
			assert.Equal(t, "pre guard around( guard body ) post judge", tr.take())
		}
	})
}

// A call that was blocked or answered in front has no body to wrap.
func TestAround_wrapsNothingThatDoesNotRun(t *testing.T) {
	t.Parallel()
	never := func(t *testing.T) aroundFunc {
		return func(context.Context, seamContext, nextFunc) error {
			t.Error("the around hook ran")
			return nil
		}
	}
	for what, hook := range map[string]seamFunc{
		"blocked": func(context.Context, seamContext) error { return hooks.Abort("no") },
		"answered": func(_ context.Context, c seamContext) error {
			if c, ok := c.native().(interface{ Answer(string) }); ok {
				c.Answer("ready")
				return nil
			}
			return hooks.Abort("can't be answered")
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				d.around(r, never(t))
				d.onPre(r, hook)
				_ = d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
			})
		})
	}
	ctx, r := newRun(t)
	hooks.Around(hooks.ToolBody, func(context.Context, *hooks.ToolCall, nextFunc) error {
		t.Error("the around hook ran")
		return nil
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "search"}
	require.Error(t, call.SetArguments("{"))
	require.NoError(t, hooks.RunTool(ctx, call, noop))
	assert.True(t, call.IsError())
}

func TestAround_outermostFirst(t *testing.T) {
	hooks.ClearAll()
	t.Cleanup(func() { hooks.ClearAll() })
	var tr trace
	outer, inner := hooks.NewRegistry(), hooks.NewRegistry()
	ctx := hooks.WithScope(hooks.WithScope(t.Context(), outer), inner)
	for _, h := range []struct {
		name string
		opts []hooks.Option
	}{
		{"inner", []hooks.Option{hooks.In(inner), hooks.WithPriority(1000)}},
		{"inner2", []hooks.Option{hooks.In(inner), hooks.WithPriority(1000)}},
		{"outer", []hooks.Option{hooks.In(outer)}},
		{"low", []hooks.Option{hooks.WithPriority(-1)}},
		{"std", nil},
		{"high", []hooks.Option{hooks.WithPriority(1)}},
		{"std2", nil},
	} {
		hooks.Around(hooks.ToolBody, around[hooks.ToolCall](&tr, h.name), h.opts...)
	}
	require.NoError(t, hooks.RunTool(ctx, benchCall(), note[hooks.ToolCall](&tr, "body")))
	assert.Equal(t, "high( std( std2( low( outer( inner( inner2( body )inner2 )inner )outer )low )std2 )std )high", tr.take())
}

// More hooks and scopes than have room without an allocation.
func TestAround_ofManyScopes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var want strings.Builder
	var tr trace
	for i := range 12 {
		r := hooks.NewRegistry()
		ctx = hooks.WithScope(ctx, r)
		hooks.Around(hooks.StepBody, around[hooks.Step](&tr, fmt.Sprint(i)), hooks.In(r))
		fmt.Fprintf(&want, "%d( ", i)
	}
	require.NoError(t, hooks.RunStep(ctx, &hooks.Step{}, note[hooks.Step](&tr, "body")))
	assert.True(t, strings.HasPrefix(tr.take(), want.String()+"body )11"))
}

func TestAround_filters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		opts []hooks.Option
		runs bool
	}{
		"its tool":         {[]hooks.Option{hooks.WithTools("Search")}, true},
		"another tool":     {[]hooks.Option{hooks.WithTools("delete")}, false},
		"a pattern":        {[]hooks.Option{hooks.WithTools("sea*")}, true},
		"another pattern":  {[]hooks.Option{hooks.WithTools("del*")}, false},
		"its agent":        {[]hooks.Option{hooks.WithAgents("Writer")}, true},
		"another agent":    {[]hooks.Option{hooks.WithAgents("Editor")}, false},
		"tool, not agent":  {[]hooks.Option{hooks.WithTools("search"), hooks.WithAgents("Editor")}, false},
		"a renamed tool":   {[]hooks.Option{hooks.WithTools("find")}, false},
		"what it was once": {[]hooks.Option{hooks.WithTools("lookup")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			ran := false
			hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Name = "search" }), hooks.In(r))
			hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next nextFunc) error {
				ran = true
				return next(ctx)
			}, append(tc.opts, hooks.In(r))...)
			call := &hooks.ToolCall{Caller: hooks.Caller{AgentRole: "Writer"}, Name: "lookup"}
			body := 0
			require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { body++; return nil }))
			assert.Equal(t, tc.runs, ran)
			assert.Equal(t, 1, body)
		})
	}
}

// A method of a framework's own context that panics leaves a fail-closed filter
// nothing to go by.
func TestAround_ofAnUnreadableContext(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		ctx, r := newRun(t)
		opts := []hooks.Option{hooks.In(r), hooks.WithTools("search")}
		if closed {
			opts = append(opts, hooks.WithFailClosed())
		}
		hooks.Around(wrapBlindSeam.Body, func(ctx context.Context, _ *wrapBlind, next nextFunc) error { return next(ctx) }, opts...)
		events := record(t, r)
		ran := false
		err := wrapBlindSeam.Run(ctx, &wrapBlind{}, func(context.Context, *wrapBlind) error { ran = true; return nil })
		assert.Equal(t, closed, err != nil)
		assert.Equal(t, !closed, ran)
		if closed {
			aborted(t, err)
			assert.Equal(t, hooks.OutcomeAborted, events.one(t).Outcome)
		}
	}
}

type wrapBlind struct{}

func (*wrapBlind) ToolName() string { panic("blind") }

var wrapBlindSeam = hooks.DefineSeam[wrapBlind]("wraptest.blind")

// One run, whatever the hooks around do, and then it is gone.
func TestAround_once(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		once, bodies := 0, 0
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			return errors.Join(next(ctx), next(ctx), next(ctx))
		})
		reg := d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			once++
			return next(ctx)
		}, hooks.WithOnce())
		inner := 0
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			inner++
			return next(ctx)
		})
		events := record(t, r)
		for range 2 {
			c := d.fresh()
			d.requireFine(t, c, d.run(ctx, c, func(context.Context, seamContext) error { bodies++; return nil }))
		}
		assert.Equal(t, []int{1, 6, 6}, []int{once, inner, bodies})
		assert.False(t, reg.Remove())
		for _, ev := range events.take() {
			for _, h := range ev.Hooks {
				assert.NoError(t, h.Err)
			}
		}
	})
}

func TestAround_onceConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var once, bodies atomic.Int64
	hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next nextFunc) error {
		once.Add(1)
		return errors.Join(next(ctx), next(ctx))
	}, hooks.In(r), hooks.WithOnce())
	calls := seamCalls(16)
	require.NoError(t, hooks.RunTools(ctx, calls, 0, counter[hooks.ToolCall](&bodies)))
	assert.EqualValues(t, 1, once.Load())
	assert.EqualValues(t, 17, bodies.Load())
}

// Removed or cleared meanwhile, a hook stays in the passage that has begun.
func TestAround_removedMeanwhile(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		inner := 0
		var regs []*hooks.Registration
		d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error {
			assert.True(t, regs[0].Remove())
			d.around(r, func(context.Context, seamContext, nextFunc) error { t.Error("registered too late"); return nil })
			err := next(ctx)
			r.ClearAll()
			return errors.Join(err, next(ctx))
		})
		regs = append(regs, d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { inner++; return next(ctx) }))
		bodies := 0
		body := func(context.Context, seamContext) error { bodies++; return nil }
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, body))
		assert.Equal(t, []int{2, 2}, []int{inner, bodies})
		c = d.fresh()
		d.requireFine(t, c, d.run(ctx, c, body))
		assert.Equal(t, []int{2, 3}, []int{inner, bodies})
	})
}

func TestAround_refusesMistakes(t *testing.T) {
	t.Parallel()
	fn := func(ctx context.Context, _ *hooks.ToolCall, next nextFunc) error { return next(ctx) }
	step := func(ctx context.Context, _ *hooks.Step, next nextFunc) error { return next(ctx) }
	for want, f := range map[string]func(){
		"names no interception point":                  func() { hooks.Around(hooks.Body[hooks.ToolCall]{}, fn) },
		"Around(tool_body): the function is nil":       func() { hooks.Around(hooks.ToolBody, nil) },
		"use Guard at the pre point":                   func() { hooks.Around(hooks.ToolBody, fn, hooks.AsGuard()) },
		"give next a ctx with a deadline":              func() { hooks.Around(hooks.ToolBody, fn, hooks.WithTimeout(1)) },
		"In(nil) names no registry":                    func() { hooks.Around(hooks.ToolBody, fn, hooks.In(nil)) },
		"WithTools() names nothing":                    func() { hooks.Around(hooks.ToolBody, fn, hooks.WithTools()) },
		"Around(step_body): WithTools needs a context": func() { hooks.Around(hooks.StepBody, step, hooks.WithTools("a")) },
		"the name is taken":                            func() { hooks.DefineSeam[wrapPlain]("wraptest.plain") },
		"DefineSeam: the name of a point is empty":     func() { hooks.DefineSeam[wrapPlain]("") },
		`DefineSeam("plain"): names without a dot`:     func() { hooks.DefineSeam[wrapPlain]("plain") },
		"is a ptr; give the struct type":               func() { hooks.DefineSeam[*wrapPlain]("wraptest.pointer") },
	} {
		assert.Contains(t, panicText(t, f), want)
	}
}

func TestAround_registersInTheDefaultUnlessIn(t *testing.T) {
	hooks.ClearAll()
	t.Cleanup(func() { hooks.ClearAll() })
	ran := 0
	hook := func(ctx context.Context, _ *wrapFull, next nextFunc) error { ran++; return next(ctx) }
	reg := hooks.Around(wrapFullSeam.Body, hook)
	require.NoError(t, wrapFullSeam.Run(t.Context(), &wrapFull{}, succeeds[wrapFull]))
	assert.Equal(t, 1, ran)
	assert.True(t, reg.Remove())
	hooks.Around(wrapFullSeam.Body, hook, hooks.In(hooks.NewRegistry()))
	require.NoError(t, wrapFullSeam.Run(t.Context(), &wrapFull{}, succeeds[wrapFull]))
	assert.Equal(t, 1, ran)
}

func TestAround_isListed(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, _ context.Context, r *hooks.Registry, d wrapDriver) {
		pass := func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) }
		d.around(r, pass, hooks.WithName("retry"), hooks.WithPriority(500), hooks.WithFailClosed())
		first := d.around(r, pass, hooks.WithName("trace"), hooks.WithPriority(1000))
		d.onPre(r, seamProceed, hooks.WithName("pre"))
		assert.Equal(t, []string{"trace", "retry"}, registered(r.Hooks(d.body)))
		assert.Equal(t, hooks.KindAround, first.Kind())
		assert.Equal(t, d.body, first.Point())
		assert.Equal(t, 1000, first.Priority())
		assert.Contains(t, r.String(), string(d.body)+"\n  trace priority=1000 around\n  retry priority=500 around fail-closed\n")
		assert.Equal(t, 2, r.Clear(d.body))
		assert.Empty(t, r.Hooks(d.body))
		d.around(r, pass)
		assert.Equal(t, 2, r.ClearAll())
		assert.Equal(t, "no hooks\n", r.String())
	})
}

func TestBody_names(t *testing.T) {
	t.Parallel()
	for want, got := range map[hooks.InterceptionPoint]hooks.AnyPoint{
		"execution_body":        hooks.ExecutionBody,
		"step_body":             hooks.StepBody,
		"model_body":            hooks.ModelBody,
		"tool_body":             hooks.ToolBody,
		"wraptest.plain/pre":    wrapPlainSeam.Pre,
		"wraptest.plain/post":   wrapPlainSeam.Post,
		"wraptest.plain/body":   wrapPlainSeam.Body,
		"wraptest.plain/stream": wrapPlainSeam.Stream,
		"":                      hooks.Body[wrapPlain]{},
	} {
		assert.Equal(t, want, got.Name())
	}
}

func TestEnabled_whereABodyIsWrapped(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		assert.False(t, d.enabled(ctx))
		reg := d.around(r, func(ctx context.Context, _ seamContext, next nextFunc) error { return next(ctx) })
		assert.True(t, d.enabled(ctx))
		assert.False(t, d.enabled(t.Context()), "outside of its scope")
		reg.Remove()
		assert.False(t, d.enabled(ctx))
	})
	ctx, r := newRun(t)
	hooks.Around(hooks.ExecutionBody, func(ctx context.Context, _ *hooks.Execution, next nextFunc) error { return next(ctx) }, hooks.In(r))
	assert.True(t, hooks.Enabled(ctx, hooks.ExecutionStart))
	assert.False(t, hooks.Enabled(ctx, hooks.Output))
}

// A loop that dispatches by itself passes around hooks by, and is told so once.
func TestAround_passedByUnderABareDispatch(t *testing.T) {
	if !inChild() { // told once in a process
		rerun(t)
		return
	}
	log := captureLog(t)
	for _, d := range wrapDrivers() {
		ctx, r := newRun(t)
		require.NoError(t, d.dispatch(ctx))
		require.Empty(t, log.take(), d.name)
		d.around(r, func(context.Context, seamContext, nextFunc) error { t.Error("it ran"); return nil })
		for range 3 {
			require.NoError(t, d.dispatch(t.Context()))
		}
		require.Empty(t, log.take(), "outside of its scope: "+d.name)
		for range 3 {
			require.NoError(t, d.dispatch(ctx))
		}
		lines := log.take()
		if assert.Len(t, lines, 1, d.name) {
			assert.Contains(t, lines[0].msg, "around hooks don't run")
			assert.Equal(t, string(d.body), lines[0].attrs["point"].String())
		}
	}
}

// A Begin form has no body to hand over.
func TestAround_ofABeginForm(t *testing.T) {
	if !inChild() { // told once in a process
		rerun(t)
		return
	}
	log := captureLog(t)
	for _, d := range wrapDrivers() {
		if d.begin == nil {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			ctx, r := newRun(t)
			posts := 0
			d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
			events := record(t, r)
			never := func(context.Context, seamContext, nextFunc) error { t.Error("it ran"); return nil }
			open := d.around(r, never, hooks.WithName("open"))
			for range 2 {
				c := d.fresh()
				_, end, err := d.begin(ctx, c)
				require.NoError(t, err)
				require.NoError(t, end(nil))
			}
			assert.Equal(t, 2, posts)
			lines := log.take()
			require.Len(t, lines, 1)
			assert.Equal(t, string(d.body), lines[0].attrs["point"].String())
			ev := wrapEvent(events.take(), d.body)
			require.NotNil(t, ev)
			assert.Equal(t, []hooks.Outcome{hooks.OutcomeFailed}, outcomes(*ev))
			assert.Equal(t, "open", ev.Hooks[0].Name)

			open.Remove()
			d.around(r, never, hooks.WithName("closed"), hooks.WithFailClosed())
			c := d.fresh()
			_, end, err := d.begin(ctx, c)
			require.ErrorContains(t, err, "closed")
			require.ErrorContains(t, err, "Run form")
			assert.Equal(t, 3, posts, "what passed its pre point has its post point")
			assert.Same(t, err, end(nil))
			assert.Equal(t, 3, posts)
			assert.Same(t, err, c.failure())
			if call, ok := c.native().(*hooks.ToolCall); ok {
				assert.False(t, call.ShouldRun())
				assert.False(t, call.Ran())
				assert.NotEmpty(t, call.Result)
			}
			if x, ok := c.native().(*hooks.Execution); ok {
				assert.Equal(t, hooks.StatusFailed, x.Status)
			}
			log.take()
		})
	}
}

// wrapEvent returns the event of the point, nil for none.
func wrapEvent(events []hooks.HookDispatchedEvent, p hooks.InterceptionPoint) *hooks.HookDispatchedEvent {
	for i := range events {
		if events[i].Point == p {
			return &events[i]
		}
	}
	return nil
}

// Passages share hooks and nothing else.
func TestAround_ofParallelCallsConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	for range 3 {
		hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
			c.Input["seen"] = c.ID
			done := make(chan error, 1)
			go func() { done <- next(ctx) }()
			if err := <-done; err != nil {
				return next(ctx)
			}
			c.Result += "."
			return nil
		}, hooks.In(r))
	}
	var asked atomic.Int64
	hooks.Guard(hooks.PreToolCall, counter[hooks.ToolCall](&asked), hooks.In(r))
	record(t, r)
	var mu sync.Mutex
	tried := map[string]int{}
	calls := seamCalls(32)
	require.NoError(t, hooks.RunTools(ctx, calls, 0, func(_ context.Context, c *hooks.ToolCall) error {
		mu.Lock()
		defer mu.Unlock()
		if tried[c.ID]++; tried[c.ID] < 3 {
			return errBroken
		}
		c.Result = c.ID
		return nil
	}))
	for _, c := range calls {
		assert.True(t, strings.HasPrefix(c.Result, c.ID+"."), c.Result)
		assert.Equal(t, 3, tried[c.ID])
	}
	assert.EqualValues(t, 64, asked.Load(), "once in front, and once since the input was changed")
}
