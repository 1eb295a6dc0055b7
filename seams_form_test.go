package hooks_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

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

func TestEndCalledAgainFiresNothingAndReturnsTheSame(t *testing.T) {
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

func TestEndCalledConcurrentlyFiresOnce(t *testing.T) {
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

func TestEndCalledByAPostHookFiresOnceAndDoesNotBlock(t *testing.T) {
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

func TestEndAfterAPostHookEndedTheGoroutineFiresNothing(t *testing.T) {
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

func TestEndOfASeamThatDidNotOpenFiresNothing(t *testing.T) {
	t.Parallel()
	seamEach(t, seamHalved(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		d.onPost(r, func(context.Context, seamContext) error { t.Error("a post point without a pre point"); return nil })
		inner, end, err := d.begin(ctx, d.fresh())
		require.ErrorIs(t, err, context.Canceled)
		require.NotNil(t, inner)
		assert.ErrorIs(t, end(nil), context.Canceled)
	})
}

func TestSeamsRefuseWhatTheyCannotRun(t *testing.T) {
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

func TestNilBodyFiresNoPoint(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	for _, d := range seamDrivers() {
		d.onPre(r, func(context.Context, seamContext) error { t.Error("a point fired"); return nil })
	}
	require.Error(t, hooks.RunExecution(ctx, &hooks.Execution{}, nil))
	require.Error(t, hooks.RunStep(ctx, &hooks.Step{}, nil))
	require.Error(t, hooks.RunModel(ctx, &hooks.ModelCall{}, nil))
	require.Error(t, hooks.RunTool(ctx, &hooks.ToolCall{}, nil))
	require.Error(t, hooks.Run(ctx, seamBefore, seamAfter, &seamOwn{}, nil))
}

func TestNilContextIsTakenForTheBackground(t *testing.T) {
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
	assert.NoError(t, hooks.RunTools(none, []*hooks.ToolCall{{Name: "a"}}, 0,
		func(context.Context, *hooks.ToolCall) error { return nil }))
}

// seamFatContext is a ctx whose values can't be compared.
type seamFatContext struct {
	context.Context
	baggage []string
}

func TestContextOfATypeThatCannotBeComparedIsAContextLikeAnyOther(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fired := 0
		d.onPre(r, func(context.Context, seamContext) error { fired++; return nil })
		d.onPost(r, func(context.Context, seamContext) error { fired++; return nil })
		exit := seamLeave(t, func() error {
			return d.run(seamFatContext{ctx, []string{"a"}}, d.fresh(), seamProceed)
		})
		assert.Equal(t, seamExit{}, exit)
		assert.Equal(t, 2, fired)
	})
}

func TestOwnContextIsToldOfAFailureBeforeThePostPoint(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	failure := errors.New("disk full")
	var seen []error
	hooks.On(seamAfter, func(_ context.Context, o *seamOwn) error { seen = append(seen, o.Err); return nil }, hooks.In(r))
	require.Same(t, failure, hooks.Run(ctx, seamBefore, seamAfter, &seamOwn{}, func(context.Context, *seamOwn) error { return failure }))
	require.NoError(t, hooks.Run(ctx, seamBefore, seamAfter, &seamOwn{}, func(context.Context, *seamOwn) error { return nil }))
	assert.Equal(t, []error{failure, nil}, seen)
}

func TestPostPointFiresThoughTheContextPanicsWhenItIsTold(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
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
func TestOwnContextMayBeAnyStruct(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
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

func TestHookThatEndsTheGoroutineAtThePrePointPreventsTheBody(t *testing.T) {
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
