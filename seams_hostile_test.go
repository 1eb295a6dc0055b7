package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// seamTrap is an error of somebody else's whose methods panic.
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

func TestSeamsSurviveABodysErrorWhoseMethodsPanic(t *testing.T) {
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

func TestSeamsSurviveAGuardsErrorWhoseMethodsPanic(t *testing.T) {
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

func TestPanicWithAnErrorWhoseMethodsPanicIsATools(t *testing.T) {
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

func TestSeamsSurviveAGuardsErrorWhoseMethodsPanicAfterAFailure(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	for name, trap := range seamTraps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				d.onPost(r, func(context.Context, seamContext) error { return trap }, hooks.AsGuard())
				for what, err := range map[string]error{"failure": failure, "interrupt": hooks.PassThrough(failure)} {
					exit := seamLeave(t, func() error {
						return d.run(ctx, d.fresh(), func(context.Context, seamContext) error { return err })
					})
					assert.Nil(t, exit.value, what)
					if !d.tool || what == "interrupt" {
						assert.Same(t, failure, exit.err, what)
					}
				}
			})
		})
	}
}

// There recover returns nil, as it does where nothing has panicked.
func TestBodyPanicWithNilIsAPanicUnderTheOldRuleToo(t *testing.T) {
	const (
		variable = "HOOKS_TEST_PANICNIL"
		passed   = "passed: "
	)
	if os.Getenv(variable) == "" {
		t.Parallel()
		out := seamInChild(t, variable+"=1", "GODEBUG=panicnil=1")
		for _, seam := range []string{"RunExecution", "RunStep", "RunModel", "RunTool", "Run"} {
			assert.Contains(t, out, passed+seam+"\n")
		}
		return
	}
	for _, d := range seamDrivers() {
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
		if _, ok := c.failure().(*hooks.PanicError); ok && posts == 1 && returned == d.tool {
			fmt.Println(passed + d.name)
		}
	}
}

// The goroutine is lost, but whoever looks at the call afterwards must not
// find a hole, nor a result that no guard has passed.
func TestHookThatEndsTheGoroutineLeavesAToolCallWithAResult(t *testing.T) {
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

func TestBodyThatEndsItsGoroutineLeavesAToolCallWithAResult(t *testing.T) {
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

func TestExecutionEndFiresWhenAHookEndsTheGoroutine(t *testing.T) {
	t.Parallel()
	for _, at := range []hooks.Point[hooks.Execution]{hooks.Input, hooks.Output} {
		t.Run(string(at.Name()), func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			hooks.On(at, func(context.Context, *hooks.Execution) error { runtime.Goexit(); return nil }, hooks.In(r))
			ends := 0
			hooks.On(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error {
				ends++
				assert.Equal(t, hooks.StatusFailed, x.Status)
				assert.ErrorIs(t, x.Err, hooks.ErrGoexit)
				return nil
			}, hooks.In(r))
			x := &hooks.Execution{}
			exit := seamLeave(t, func() error {
				return hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { x.Output = "done"; return nil })
			})
			assert.True(t, exit.exited)
			assert.Equal(t, 1, ends)
		})
	}
}

func TestExecutionEndDoesNotFireAgainWhenItsHookEndsTheGoroutine(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	ends := 0
	hooks.On(hooks.ExecutionEnd, func(context.Context, *hooks.Execution) error { ends++; runtime.Goexit(); return nil }, hooks.In(r))
	exit := seamLeave(t, func() error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(context.Context, *hooks.Execution) error { return nil })
	})
	assert.True(t, exit.exited)
	assert.Equal(t, 1, ends)
}

func TestHookErrorsOfAnyKindLetTheBodyRun(t *testing.T) {
	t.Parallel()
	var none *hooks.HookAborted
	for name, hook := range map[string]seamFunc{
		"error":       func(context.Context, seamContext) error { return errors.New("bug") },
		"typed nil":   func(context.Context, seamContext) error { return none },
		"panic":       func(context.Context, seamContext) error { panic("bug") },
		"panic nil":   func(context.Context, seamContext) error { panic(nil) },
		"hostile":     func(context.Context, seamContext) error { return &seamTrap{unwrap: true, is: true, text: true} },
		"marked":      func(context.Context, seamContext) error { return hooks.PassThrough(errors.New("bug")) },
		"its own ctx": func(context.Context, seamContext) error { return context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				d.onPre(r, hook)
				d.onPost(r, hook)
				ran := 0
				c := d.fresh()
				exit := seamLeave(t, func() error {
					return d.run(ctx, c, func(context.Context, seamContext) error { ran++; return nil })
				})
				require.Equal(t, seamExit{}, exit)
				assert.Equal(t, 1, ran)
				assert.NoError(t, c.failure())
			})
		})
	}
}
