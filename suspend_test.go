// Runs that wait: which hooks and bodies can say so, how far it goes, and what of
// a value that stands the guards decide.

package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

var errWait = errors.New("wait for a person")

// waysToWait lists what a hook or a body may return to say that the run waits.
// Each holds errWait.
func waysToWait() map[string]error {
	bare := &hooks.Suspended{Questions: []hooks.Question{{ID: "q1", Tool: "pay"}}, Err: errWait}
	return map[string]error{
		"bare":        bare,
		"wrapped":     fmt.Errorf("approval: %w", bare),
		"joined":      errors.Join(errors.New("also"), bare),
		"PassThrough": hooks.PassThrough(errWait),
		"twice":       hooks.PassThrough(fmt.Errorf("outer: %w", hooks.PassThrough(errWait))),
	}
}

// allPoints registers a hook at each of the ten points.
func allPoints(r *hooks.Registry, hook func(context.Context, hooks.InterceptionPoint) error, opts ...hooks.Option) {
	opts = append(opts, hooks.In(r))
	at := func(p hooks.AnyPoint) func(ctx context.Context) error {
		return func(ctx context.Context) error { return hook(ctx, p.Name()) }
	}
	for _, p := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd} {
		fn := at(p)
		hooks.On(p, func(ctx context.Context, _ *hooks.Execution) error { return fn(ctx) }, opts...)
	}
	for _, p := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		fn := at(p)
		hooks.On(p, func(ctx context.Context, _ *hooks.Step) error { return fn(ctx) }, opts...)
	}
	for _, p := range []hooks.Point[hooks.ModelCall]{hooks.PreModelCall, hooks.PostModelCall} {
		fn := at(p)
		hooks.On(p, func(ctx context.Context, _ *hooks.ModelCall) error { return fn(ctx) }, opts...)
	}
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		fn := at(p)
		hooks.On(p, func(ctx context.Context, _ *hooks.ToolCall) error { return fn(ctx) }, opts...)
	}
}

// wholeRun is a run with one turn, one model call and one tool call.
type wholeRun struct {
	x     hooks.Execution
	step  hooks.Step
	model hooks.ModelCall
	tool  hooks.ToolCall
}

func (w *wholeRun) do(ctx context.Context, tr *trace) error {
	w.tool.Name, w.tool.ID = "pay", "c1"
	return hooks.RunExecution(ctx, &w.x, func(ctx context.Context, x *hooks.Execution) error {
		err := hooks.RunStep(ctx, &w.step, func(ctx context.Context, s *hooks.Step) error {
			err := hooks.RunModel(ctx, &w.model, func(_ context.Context, m *hooks.ModelCall) error {
				tr.add("MODEL")
				m.Response = "response"
				return nil
			})
			if err != nil {
				return err
			}
			s.Output = "output"
			return hooks.RunTools(ctx, []*hooks.ToolCall{&w.tool}, 0, func(_ context.Context, t *hooks.ToolCall) error {
				tr.add("TOOL")
				t.Result = "result"
				return nil
			})
		})
		x.Output = "final"
		return err
	})
}

// Whichever hook says that the run waits, nothing more of it begins, each point
// that has passed has its post point, and the error comes out of all of it.
func TestSuspended_endsTheRunAtEachPoint(t *testing.T) {
	t.Parallel()
	const start, model, tool = "execution_start input pre_step pre_model_call", "MODEL post_model_call pre_tool_call", "TOOL post_tool_call"
	for point, tt := range map[hooks.InterceptionPoint]struct {
		want  string
		check func(t *testing.T, w *wholeRun, err error)
	}{
		"execution_start": {"execution_start", nil},
		"input":           {"execution_start input execution_end", nil},
		"pre_step": {"execution_start input pre_step execution_end", func(t *testing.T, w *wholeRun, err error) {
			t.Helper()
			assert.Same(t, err, w.step.Err)
			assert.Nil(t, w.step.Output)
		}},
		"pre_model_call": {start + " post_step execution_end", func(t *testing.T, w *wholeRun, err error) {
			t.Helper()
			assert.Same(t, err, w.model.Err)
			assert.Empty(t, w.model.Response)
		}},
		"post_model_call": {start + " MODEL post_model_call post_step execution_end", func(t *testing.T, w *wholeRun, _ error) {
			t.Helper()
			assert.NoError(t, w.model.Err)
			assert.Equal(t, "response", w.model.Response)
		}},
		"pre_tool_call": {start + " " + model + " post_step execution_end", func(t *testing.T, w *wholeRun, err error) {
			t.Helper()
			assert.Same(t, err, w.tool.Err)
			assert.Same(t, suspended(t, err), w.tool.Suspended())
			assert.Empty(t, w.tool.Result)
			assert.Nil(t, w.tool.Blocked)
			assert.False(t, w.tool.Ran())
			assert.False(t, w.tool.ShouldRun())
		}},
		"post_tool_call": {start + " " + model + " " + tool + " post_step execution_end", func(t *testing.T, w *wholeRun, _ error) {
			t.Helper()
			assert.NoError(t, w.tool.Err)
			assert.Nil(t, w.tool.Suspended(), "it has its result and isn't run again")
			assert.Equal(t, "result", w.tool.Result)
			assert.True(t, w.tool.Ran())
		}},
		"post_step": {start + " " + model + " " + tool + " post_step execution_end", func(t *testing.T, w *wholeRun, _ error) {
			t.Helper()
			assert.NoError(t, w.step.Err)
			assert.Equal(t, "output", w.step.Output)
		}},
		"output": {start + " " + model + " " + tool + " post_step output execution_end", func(t *testing.T, w *wholeRun, _ error) {
			t.Helper()
			assert.Equal(t, "final", w.x.Output)
		}},
	} {
		for how, wait := range waysToWait() {
			for kind, opts := range map[string][]hooks.Option{"hook": nil, "fail-closed": {hooks.WithFailClosed()}, "guard": {hooks.AsGuard()}} {
				t.Run(fmt.Sprintf("%s/%s/%s", point, how, kind), func(t *testing.T) {
					t.Parallel()
					ctx, r := newRun(t)
					tr := new(trace)
					var status hooks.Status
					allPoints(r, func(_ context.Context, p hooks.InterceptionPoint) error { tr.add(string(p)); return nil }, hooks.WithPriority(1))
					allPoints(r, func(_ context.Context, p hooks.InterceptionPoint) error {
						if p == point {
							return wait
						}
						return nil
					}, opts...)
					hooks.Watch(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution, _ error) { status = x.Status }, hooks.In(r))

					w := new(wholeRun)
					err := w.do(ctx, tr)
					assert.Equal(t, tt.want, tr.take())
					assert.ErrorIs(t, err, errWait)
					found := suspended(t, err)
					assert.Equal(t, suspended(t, wait).Questions, found.Questions)
					if how == "bare" {
						assert.Same(t, wait, err)
					}
					assert.Equal(t, hooks.StatusSuspended, w.x.Status)
					assert.Same(t, err, w.x.Err)
					if point != "execution_start" { // nothing was opened, so there is no end
						assert.Equal(t, hooks.StatusSuspended, status)
					}
					if tt.check != nil {
						tt.check(t, w, err)
					}
				})
			}
		}
	}
}

// At the end there is nothing left that could wait.
func TestSuspended_atExecutionEndIsFailure(t *testing.T) {
	t.Parallel()
	for how, wait := range waysToWait() {
		ctx, r := newRun(t)
		log := record(t, r)
		hooks.On(hooks.ExecutionEnd, fails[hooks.Execution](wait), hooks.In(r))
		x := &hooks.Execution{}
		require.NoError(t, hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { x.Output = "final"; return nil }), how)
		assert.Equal(t, hooks.StatusCompleted, x.Status, how)
		assert.Equal(t, "final", x.Output, how)
		ev := log.one(t)
		assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome, how)
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeFailed}, outcomes(ev), how)

		hooks.Guard(hooks.ExecutionEnd, fails[hooks.Execution](wait), hooks.In(r), hooks.WithName("archive"))
		abort := aborted(t, hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { x.Output = "final"; return nil }))
		assert.Equal(t, "archive failed", abort.Reason, how)
		assert.Equal(t, hooks.StatusFailed, x.Status, how)
		assert.Nil(t, x.Output, how)
	}
}

// Dispatch returns what a hook suspends with, on its short ways and the long one.
func TestDispatch_returnsSuspended(t *testing.T) {
	t.Parallel()
	for how, wait := range waysToWait() {
		for way, prepare := range waysToDispatch() {
			t.Run(how+"/"+way, func(t *testing.T) {
				t.Parallel()
				p := newPoint[job](t)
				ctx, opts := prepare(t, p)
				later := 0
				hooks.On(p, fails[job](wait), opts...)
				hooks.On(p, func(context.Context, *job) error { later++; return nil }, opts...)
				err := hooks.Dispatch(ctx, p, &job{Tool: "pay"})
				found, bare := err.(*hooks.Suspended)
				require.True(t, bare, "whatever the hook wrapped it in")
				assert.ErrorIs(t, found, errWait)
				assert.Equal(t, suspended(t, wait).Questions, found.Questions)
				assert.Zero(t, later)
			})
		}
	}
}

// waysToDispatch lists what decides by which way a dispatch runs its chains: each
// returns a ctx, and the options of what is registered at p.
func waysToDispatch() map[string]func(t *testing.T, p hooks.Point[job]) (context.Context, []hooks.Option) {
	type way = func(t *testing.T, p hooks.Point[job]) (context.Context, []hooks.Option)
	scoped := func(more ...hooks.Option) way {
		return func(t *testing.T, _ hooks.Point[job]) (context.Context, []hooks.Option) {
			t.Helper()
			ctx, r := newRun(t)
			return ctx, append(more, hooks.In(r))
		}
	}
	inDefault := func(more ...hooks.Option) way {
		return func(t *testing.T, _ hooks.Point[job]) (context.Context, []hooks.Option) {
			t.Helper()
			return t.Context(), more
		}
	}
	return map[string]way{
		"default registry":                 inDefault(),
		"default registry, tools named":    inDefault(hooks.WithTools("pay")),
		"default registry, tools by shape": inDefault(hooks.WithTools("p*")),
		"default registry, roles":          inDefault(hooks.WithAgents("Clerk")),
		"default registry, another's scope": func(t *testing.T, p hooks.Point[job]) (context.Context, []hooks.Option) {
			t.Helper()
			ctx, r := newRun(t)
			hooks.On(p, func(context.Context, *job) error { return nil }, hooks.In(r))
			return ctx, nil
		},
		"scope":        scoped(),
		"scope, tools": scoped(hooks.WithTools("pay")),
		"scope, observed": func(t *testing.T, _ hooks.Point[job]) (context.Context, []hooks.Option) {
			t.Helper()
			ctx, r := newRun(t)
			record(t, r)
			return ctx, []hooks.Option{hooks.In(r)}
		},
		"scope, watched": func(t *testing.T, p hooks.Point[job]) (context.Context, []hooks.Option) {
			t.Helper()
			ctx, r := newRun(t)
			hooks.Watch(p, func(context.Context, *job, error) {}, hooks.In(r))
			return ctx, []hooks.Option{hooks.In(r)}
		},
	}
}

// A value stands though a hook says that the run waits, but only if the guards
// let it: it may be saved with the run.
func TestRun_guardsDecideOnWhatStands(t *testing.T) {
	t.Parallel()
	for way, prepare := range waysToDispatch() {
		for name, tt := range map[string]struct {
			hooks, guards []error // what each returns
			asked         int     // guards, together; one that says that the run waits and those that passed before are asked twice
			aborted       bool
		}{
			"the guard passes it":          {[]error{errors.New("bug"), hooks.PassThrough(errWait)}, []error{nil}, 1, false},
			"the guard refuses it":         {[]error{hooks.PassThrough(errWait)}, []error{hooks.Abort("secret")}, 1, true},
			"the guard fails":              {[]error{hooks.PassThrough(errWait)}, []error{errBroken}, 1, true},
			"the guard waits too":          {[]error{hooks.PassThrough(errWait)}, []error{hooks.PassThrough(errWait)}, 1, false},
			"the last guard refuses it":    {nil, []error{nil, hooks.PassThrough(errWait), hooks.Abort("secret")}, 5, true},
			"the last guards wait":         {nil, []error{nil, hooks.PassThrough(errWait), hooks.PassThrough(errWait)}, 5, false},
			"the hook refuses it at first": {[]error{hooks.Abort("secret"), hooks.PassThrough(errWait)}, []error{nil}, 0, true},
		} {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				pre, p := newPoint[job](t), newPoint[job](t)
				ctx, opts := prepare(t, p)
				asked := 0
				for _, err := range tt.hooks {
					hooks.On(p, fails[job](err), opts...)
				}
				for _, err := range tt.guards {
					hooks.Guard(p, func(context.Context, *job) error { asked++; return err }, opts...)
				}
				check := func(err error) {
					t.Helper()
					if tt.aborted {
						aborted(t, err)
					} else {
						assert.ErrorIs(t, suspended(t, err), errWait)
					}
					assert.Equal(t, tt.asked, asked)
					asked = 0
				}
				check(hooks.Run(ctx, pre, p, &job{Tool: "pay"}, func(context.Context, *job) error { return nil }))
				check(hooks.Dispatch(ctx, p, &job{Tool: "pay"}))
			})
		}
	}
}

// In front of the body nothing stands that a guard would have to let through.
func TestRun_suspendedPreHookAsksNoGuard(t *testing.T) {
	t.Parallel()
	for way, prepare := range waysToDispatch() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			pre, post := newPoint[job](t), newPoint[job](t)
			ctx, opts := prepare(t, pre)
			hooks.On(pre, fails[job](hooks.PassThrough(errWait)), opts...)
			hooks.Guard(pre, func(context.Context, *job) error { t.Error("the guard was asked"); return nil }, opts...)
			hooks.On(post, func(context.Context, *job) error { t.Error("the post point fired"); return nil })
			err := hooks.Run(ctx, pre, post, &job{Tool: "pay"}, func(context.Context, *job) error { t.Error("the body ran"); return nil })
			assert.ErrorIs(t, suspended(t, err), errWait)
		})
	}
}

// A framework's own context is told what it waits for in front of the body; behind
// it, the value stands.
func TestRun_tellsContextOfSuspension(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	reg := hooks.On(seamBefore, fails[seamOwn](hooks.PassThrough(errWait)), hooks.In(r))
	c := &seamOwn{}
	err := hooks.Run(ctx, seamBefore, seamAfter, c, func(context.Context, *seamOwn) error { return nil })
	assert.ErrorIs(t, err, errWait)
	assert.Same(t, err, c.Err)

	reg.Remove()
	hooks.On(seamAfter, fails[seamOwn](hooks.PassThrough(errWait)), hooks.In(r))
	c = &seamOwn{}
	err = hooks.Run(ctx, seamBefore, seamAfter, c, func(context.Context, *seamOwn) error { return nil })
	assert.ErrorIs(t, err, errWait)
	assert.NoError(t, c.Err)
}

// The guards of the library's own post points decide on what stands too, on the
// short ways and the long one.
func TestSeam_guardsDecideOnWhatStands(t *testing.T) {
	// Not parallel: the default registry has ways of its own.
	for way, opts := range map[string]func(r *hooks.Registry) []hooks.Option{
		"default registry": func(*hooks.Registry) []hooks.Option { return nil },
		"scope":            func(r *hooks.Registry) []hooks.Option { return []hooks.Option{hooks.In(r)} },
		"roles":            func(r *hooks.Registry) []hooks.Option { return []hooks.Option{hooks.WithAgents("Clerk")} },
	} {
		for _, refuses := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/refuses %v", way, refuses), func(t *testing.T) {
				t.Cleanup(func() { hooks.ClearAll() })
				ctx, r := newRun(t)
				var verdict error
				if refuses {
					verdict = hooks.Abort("secret")
				}
				asked := 0
				for _, p := range []hooks.Point[hooks.Execution]{hooks.Output} {
					hooks.On(p, fails[hooks.Execution](hooks.PassThrough(errWait)), opts(r)...)
					hooks.Guard(p, func(context.Context, *hooks.Execution) error { asked++; return verdict }, opts(r)...)
				}
				hooks.On(hooks.PostModelCall, fails[hooks.ModelCall](hooks.PassThrough(errWait)), opts(r)...)
				hooks.Guard(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { asked++; return verdict }, opts(r)...)
				hooks.On(hooks.PostStep, fails[hooks.Step](hooks.PassThrough(errWait)), opts(r)...)
				hooks.Guard(hooks.PostStep, func(context.Context, *hooks.Step) error { asked++; return verdict }, opts(r)...)
				hooks.On(hooks.PostToolCall, fails[hooks.ToolCall](hooks.PassThrough(errWait)), append(opts(r), hooks.WithTools("pay"))...)
				hooks.Guard(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { asked++; return verdict }, opts(r)...)

				check := func(what string, err error, left, stands any) {
					t.Helper()
					assert.Equal(t, 1, asked, what)
					asked = 0
					if refuses {
						assert.NotErrorIs(t, err, errWait, what)
						assert.NotContains(t, fmt.Sprint(left), fmt.Sprint(stands), what)
					} else {
						assert.ErrorIs(t, err, errWait, what)
						assert.Equal(t, stands, left, what)
					}
				}
				x := &hooks.Execution{}
				err := hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { x.Output = "final"; return nil })
				check("execution", err, x.Output, "final")
				m := &hooks.ModelCall{}
				err = hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error { m.Response = "response"; return nil })
				check("model", err, m.Response, "response")
				s := &hooks.Step{}
				err = hooks.RunStep(ctx, s, func(_ context.Context, s *hooks.Step) error { s.Output = "output"; return nil })
				check("step", err, s.Output, "output")
				call := &hooks.ToolCall{Name: "pay"}
				err = hooks.RunTool(ctx, call, seamReturns("paid"))
				check("tool", err, call.Result, "paid")
				assert.Equal(t, refuses, call.Blocked != nil)
			})
		}
	}
}

// What a body leaves that waits is no result yet, and nothing of it stays that a
// post hook refused.
func TestSeam_refusedValueOfWhatWaitsIsTaken(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PostToolCall, fails[hooks.ToolCall](hooks.Abort("secret")), hooks.In(r))
	hooks.On(hooks.PostModelCall, fails[hooks.ModelCall](hooks.Abort("secret")), hooks.In(r))
	hooks.On(hooks.PostStep, fails[hooks.Step](hooks.Abort("secret")), hooks.In(r))
	hooks.On(hooks.ExecutionEnd, fails[hooks.Execution](hooks.Abort("secret")), hooks.In(r))
	wait := hooks.PassThrough(errWait)

	call := &hooks.ToolCall{Name: "pay"}
	err := hooks.RunTool(ctx, call, func(_ context.Context, t *hooks.ToolCall) error {
		t.Result, t.Parts = "half", []hooks.Part{{Text: "half"}}
		return wait
	})
	assert.Same(t, wait, err)
	assert.Same(t, wait, call.Err)
	assert.Nil(t, call.Blocked)
	assert.Empty(t, call.Text())

	m := &hooks.ModelCall{}
	assert.Same(t, wait, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error { m.Response = "half"; return wait }))
	assert.Empty(t, m.Response)
	s := &hooks.Step{}
	assert.Same(t, wait, hooks.RunStep(ctx, s, func(_ context.Context, s *hooks.Step) error { s.Output = "half"; return wait }))
	assert.Nil(t, s.Output)
	x := &hooks.Execution{}
	assert.Same(t, wait, hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error { x.Output = "half"; return wait }))
	assert.Nil(t, x.Output)
	assert.Equal(t, hooks.StatusSuspended, x.Status)
}

// The first word of a hook counts, and in one error a refusal does.
func TestSuspended_orderWithAborts(t *testing.T) {
	t.Parallel()
	wait, no := hooks.PassThrough(errWait), hooks.Abort("no")
	for name, tt := range map[string]struct {
		hooks, guards []error
		waits         bool
	}{
		"abort, then wait":        {[]error{no, wait}, nil, false},
		"wait, then abort":        {[]error{wait, no}, nil, true},
		"wait, then a guard":      {[]error{wait}, []error{no}, true},
		"guard, then wait":        {nil, []error{no, wait}, false},
		"guard waits, then abort": {nil, []error{wait, no}, true},
		"failure, then wait":      {[]error{errBroken, wait}, nil, true},
		"both, abort first":       {[]error{errors.Join(no, wait)}, nil, false},
		"both, wait first":        {[]error{errors.Join(wait, no)}, nil, false},
		"abort because of a wait": {[]error{&hooks.HookAborted{Reason: "no", Err: wait}}, nil, false},
	} {
		ctx, r := newRun(t)
		for _, err := range tt.hooks {
			hooks.On(hooks.PreModelCall, fails[hooks.ModelCall](err), hooks.In(r))
		}
		for _, err := range tt.guards {
			hooks.Guard(hooks.PreModelCall, fails[hooks.ModelCall](err), hooks.In(r))
		}
		err := hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error {
			t.Error("the model was called")
			return nil
		})
		if tt.waits {
			assert.IsType(t, wait, err, name)
		} else {
			assert.IsType(t, no, err, name)
		}
	}
}

// What a body returns waits if it holds a Suspended, unless that is but the cause
// of a refusal.
func TestSuspended_foundInWhatBodiesReturn(t *testing.T) {
	t.Parallel()
	wait, no := hooks.PassThrough(errWait), hooks.Abort("no")
	for name, tt := range map[string]struct {
		err   error
		waits bool
	}{
		"bare":               {wait, true},
		"wrapped":            {fmt.Errorf("sub-agent: %w", wait), true},
		"behind an abort":    {errors.Join(no, wait), true},
		"before an abort":    {errors.Join(wait, no), true},
		"cause of an abort":  {&hooks.HookAborted{Reason: "no", Err: wait}, false},
		"wrapped as a cause": {fmt.Errorf("sub-agent: %w", &hooks.HookAborted{Reason: "no", Err: wait}), false},
		"nil":                {(*hooks.Suspended)(nil), false},
		"beside a nil":       {errors.Join((*hooks.Suspended)(nil), wait), true},
		"an abort":           {no, false},
		"a failure":          {errBroken, false},
	} {
		call := &hooks.ToolCall{Name: "delegate"}
		err := hooks.RunTool(t.Context(), call, seamRefuse(tt.err))
		if tt.waits {
			assert.Equal(t, tt.err, err, name)
			assert.Empty(t, call.Result, name)
			assert.NotNil(t, call.Suspended(), name)
		} else {
			assert.NoError(t, err, name)
			assert.NotEmpty(t, call.Result, name)
			assert.Nil(t, call.Suspended(), name)
		}
	}
}

// What a hook says at a post point comes behind what the body failed with.
func TestSeam_suspendedPostHookKeepsFailure(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		failure := errors.New("disk full")
		d.onPost(r, func(context.Context, seamContext) error { return hooks.PassThrough(errWait) })
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { return failure })
		assert.Same(t, failure, c.failure())
		if call, ok := c.native().(*hooks.ToolCall); ok {
			assert.ErrorIs(t, err, errWait, "the failure is the result that the model reads")
			assert.Equal(t, "disk full", call.Result)
		} else {
			assert.Same(t, failure, err)
		}
	})
}

// A hook that panics with a Suspended has suspended, as one that panics with an
// abort has aborted.
func TestSuspended_panickedCounts(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, panics[hooks.ToolCall](hooks.PassThrough(errWait)), hooks.In(r))
	err := hooks.RunTool(ctx, &hooks.ToolCall{Name: "pay"}, seamReturns("paid"))
	assert.ErrorIs(t, suspended(t, err), errWait)
}

func TestSuspended_event(t *testing.T) {
	t.Parallel()
	for how, wait := range waysToWait() {
		ctx, r := newRun(t)
		log := record(t, r)
		hooks.On(hooks.PreToolCall, edit(func(t *hooks.ToolCall) { t.Input["x"] = 1 }), hooks.In(r))
		hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](wait), hooks.In(r))
		require.Error(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "pay"}, seamReturns("paid")), how)
		ev := log.one(t)
		assert.Equal(t, hooks.OutcomeSuspended, ev.Outcome, how)
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeModified, hooks.OutcomeSuspended}, outcomes(ev), how)
		assert.Empty(t, ev.AbortReason, how)
		assert.ErrorIs(t, ev.Hooks[1].Err, errWait, how)
	}
}

// A refusal of a guard is what the event tells of a value that stood.
func TestSuspended_eventOfRefusedValue(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PostToolCall, fails[hooks.ToolCall](hooks.PassThrough(errWait)), hooks.In(r))
	hooks.Guard(hooks.PostToolCall, fails[hooks.ToolCall](hooks.Abort("secret")), hooks.In(r), hooks.WithName("censor"))
	log := record(t, r)
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "read"}, seamReturns("secret")))
	ev := log.one(t)
	assert.Equal(t, hooks.OutcomeAborted, ev.Outcome)
	assert.Equal(t, "secret", ev.AbortReason)
	assert.Equal(t, "censor", ev.AbortSource)
	assert.Equal(t, []hooks.Outcome{hooks.OutcomeSuspended, hooks.OutcomeAborted}, outcomes(ev))
}

func TestWatch_seesSuspension(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var seen []string
	watch := func(_ context.Context, c *hooks.ToolCall, err error) {
		seen = append(seen, fmt.Sprintf("%v %v %s", errors.Is(err, errWait), c.Suspended() != nil, c.Result))
	}
	hooks.Watch(hooks.PreToolCall, watch, hooks.In(r))
	hooks.Watch(hooks.PostToolCall, watch, hooks.In(r))
	reg := hooks.Guard(hooks.PreToolCall, fails[hooks.ToolCall](hooks.PassThrough(errWait)), hooks.In(r))
	require.Error(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "pay"}, seamReturns("paid")))
	assert.Equal(t, []string{"true true "}, seen, "no post point fires")

	seen = nil
	reg.Remove()
	hooks.On(hooks.PostToolCall, fails[hooks.ToolCall](hooks.PassThrough(errWait)), hooks.In(r))
	require.Error(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "pay"}, seamReturns("paid")))
	assert.Equal(t, []string{"false false ", "true false paid"}, seen)
}

// Middleware that gets the two halves of a seam sees the same.
func TestBegin_suspended(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](hooks.PassThrough(errWait)), hooks.In(r))
	call := &hooks.ToolCall{Name: "pay"}
	_, end, err := hooks.BeginTool(ctx, call)
	require.ErrorIs(t, suspended(t, err), errWait)
	assert.False(t, call.ShouldRun())
	assert.Same(t, err, end(nil), "there is nothing to end")
	assert.Empty(t, call.Result)
}

// A ready answer isn't used for a call that waits, nor kept for its next run.
func TestRunTool_suspendedForgetsAnswer(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, edit(func(t *hooks.ToolCall) { t.Answer("ready") }), hooks.In(r), hooks.WithOnce())
	reg := hooks.Guard(hooks.PreToolCall, fails[hooks.ToolCall](hooks.PassThrough(errWait)), hooks.In(r))
	call := &hooks.ToolCall{Name: "pay"}
	require.Error(t, hooks.RunTool(ctx, call, seamReturns("paid")))
	assert.False(t, call.Answered())
	assert.Empty(t, call.Result)
	reg.Remove()
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)
	assert.Nil(t, call.Suspended())
}

// Resumed is told to the hooks of the start, and the run keeps its ID.
func TestRunExecution_resumed(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var seen []string
	hooks.On(hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error {
		seen = append(seen, fmt.Sprint(x.RunID, x.Resumed))
		return nil
	}, hooks.In(r))
	x := &hooks.Execution{}
	require.Error(t, hooks.RunExecution(ctx, x, func(context.Context, *hooks.Execution) error { return hooks.PassThrough(errWait) }))
	again := &hooks.Execution{Caller: hooks.Caller{RunID: x.RunID}, Resumed: true}
	if x.RunID == "" {
		t.Fatal("a run that waits has lost its ID")
	}
	require.NoError(t, hooks.RunExecution(ctx, again, func(context.Context, *hooks.Execution) error { return nil }))
	assert.Equal(t, []string{x.RunID + "false", x.RunID + "true"}, seen)
	assert.Equal(t, hooks.StatusCompleted, again.Status)
}

func TestSuspended_texts(t *testing.T) {
	t.Parallel()
	q := hooks.Question{ID: "q1", Tool: "pay", Arguments: `{"iban":"secret"}`}
	for want, s := range map[string]*hooks.Suspended{
		"<nil *Suspended>": nil,
		"hooks: the run waits for a decision about tool pay (question q1)": {Questions: []hooks.Question{q}},
		"hooks: the run waits for 2 decisions":                             {Questions: []hooks.Question{q, q}},
		"wait for a person":                                                {Questions: []hooks.Question{q}, Err: errWait},
	} {
		assert.Equal(t, want, s.Error())
	}
	assert.NoError(t, (*hooks.Suspended)(nil).Unwrap())
}

func TestSuspended_json(t *testing.T) {
	t.Parallel()
	s := hooks.Suspended{Questions: []hooks.Question{fullQuestion()}, Err: errWait}
	raw, err := json.Marshal(&s)
	require.NoError(t, err)
	var read struct {
		Questions []hooks.Question
		Err       string
	}
	require.NoError(t, json.Unmarshal(raw, &read))
	assert.Equal(t, s.Questions, read.Questions)
	assert.Equal(t, errWait.Error(), read.Err)

	raw, err = json.Marshal(hooks.Suspended{})
	require.NoError(t, err)
	assert.JSONEq(t, `{}`, string(raw))
}
