package hooks_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

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
			ctx, r := seamScope(t)
			test(t, ctx, r, d)
		})
	}
}

// seamScope returns a ctx with a registry of the test's own.
func seamScope(t *testing.T) (context.Context, *hooks.Registry) {
	t.Helper()
	r := hooks.NewRegistry()
	return hooks.WithScope(t.Context(), r), r
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
