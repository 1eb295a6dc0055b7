// Guards and watches of a pre point, where around hooks change what they have let
// through.

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// asking counts how often a guard is asked about what.
func asking(d wrapDriver, r *hooks.Registry, opts ...hooks.Option) *[]string {
	var asked []string
	d.onPre(r, func(_ context.Context, c seamContext) error {
		asked = append(asked, wrapInput(c))
		return nil
	}, append(opts, hooks.AsGuard())...)
	return &asked
}

// changing is an around hook that gives the body inputs in turn, "" for no change.
func changing(inputs ...string) aroundFunc {
	return func(ctx context.Context, c seamContext, next nextFunc) (err error) {
		for _, in := range inputs {
			if in != "" {
				wrapEdit(c, in)
			}
			err = next(ctx)
		}
		return err
	}
}

// The guards alone are asked, before a run whose input isn't what they passed.
func TestGuard_askedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		inputs []string
		asked  []string
	}{
		"unchanged":       {[]string{""}, []string{"a"}},
		"a retry":         {[]string{"", "", ""}, []string{"a"}},
		"the same value":  {[]string{"a"}, []string{"a"}},
		"changed":         {[]string{"b"}, []string{"a", "b"}},
		"in a retry":      {[]string{"", "b"}, []string{"a", "b"}},
		"and a retry":     {[]string{"b", "", ""}, []string{"a", "b"}},
		"changed back":    {[]string{"b", "a"}, []string{"a", "b", "a"}},
		"again and again": {[]string{"b", "c", "c", "d"}, []string{"a", "b", "c", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				asked := asking(d, r)
				plain := 0
				d.onPre(r, func(context.Context, seamContext) error { plain++; return nil }, hooks.WithFailClosed())
				d.around(r, changing(tc.inputs...))
				bodies := 0
				c := d.fresh()
				d.requireFine(t, c, d.run(ctx, c, func(context.Context, seamContext) error { bodies++; return nil }))
				assert.Equal(t, len(tc.inputs), bodies)
				assert.Equal(t, 1, plain, "no other hooks")
				if d.compares {
					assert.Equal(t, tc.asked, *asked)
				} else {
					assert.Len(t, *asked, 1+len(tc.inputs), "where nothing can be compared, before every run")
				}
			})
		})
	}
}

// A change by an inner hook counts as one by an outer, and one that is taken back
// in front of the body as none.
func TestGuard_askedAboutWhatRuns(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		if !d.compares {
			return
		}
		asked := asking(d, r)
		d.around(r, changing("b", "b"))
		d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
			if len(*asked) == 1 {
				wrapEdit(c, "a")
			} else {
				wrapEdit(c, "c")
			}
			err := next(ctx)
			*asked = append(*asked, "ran")
			return err
		})
		c := d.fresh()
		d.requireFine(t, c, d.run(ctx, c, seamProceed))
		assert.Equal(t, []string{"a", "ran", "c", "ran"}, *asked)
	})
}

// What counts as a change, for each seam.
func TestGuard_askedAgainAboutAnyChange(t *testing.T) {
	t.Parallel()
	type point struct{ X, Y int }
	type holder struct{ Tags []string }
	shared := &point{1, 2}
	nested := func() map[string]any {
		return map[string]any{
			"list": []any{"a", map[string]any{"b": 1.0}}, "names": []string{"a"}, "map": map[string]any{"deep": map[string]any{"k": "v"}},
			"typed": map[string]int{"a": 1}, "struct": point{1, 2}, "holder": holder{[]string{"a"}}, "pointer": shared, "n": 1.0, "none": nil,
			"array": [2][]int{{1}, {2}},
		}
	}
	// Each edits one of the values above.
	edits := map[string]struct {
		edit  func(m map[string]any)
		again bool
	}{
		"nothing":                      {func(map[string]any) {}, false},
		"an equal map":                 {func(m map[string]any) { m["map"] = map[string]any{"deep": map[string]any{"k": "v"}} }, false},
		"an equal struct":              {func(m map[string]any) { m["struct"] = point{1, 2} }, false},
		"an equal list":                {func(m map[string]any) { m["names"] = []string{"a"} }, false},
		"behind a pointer":             {func(m map[string]any) { m["pointer"].(*point).X++ }, false},
		"an element in place":          {func(m map[string]any) { m["list"].([]any)[0] = "b" }, true},
		"a map in a list in place":     {func(m map[string]any) { m["list"].([]any)[1].(map[string]any)["b"] = 2.0 }, true},
		"a string list in place":       {func(m map[string]any) { m["names"].([]string)[0] = "b" }, true},
		"a deep map in place":          {func(m map[string]any) { m["map"].(map[string]any)["deep"].(map[string]any)["k"] = "w" }, true},
		"a deep key":                   {func(m map[string]any) { m["map"].(map[string]any)["deep"].(map[string]any)["l"] = "v" }, true},
		"a typed map in place":         {func(m map[string]any) { m["typed"].(map[string]int)["a"] = 2 }, true},
		"an array's slice in place":    {func(m map[string]any) { a := m["array"].([2][]int); a[0][0] = 2 }, true},
		"a struct":                     {func(m map[string]any) { m["struct"] = point{1, 3} }, true},
		"a slice in a struct in place": {func(m map[string]any) { m["holder"].(holder).Tags[0] = "b" }, true},
		"another pointer":              {func(m map[string]any) { m["pointer"] = &point{1, 2} }, true},
		"another type":                 {func(m map[string]any) { m["n"] = 1 }, true},
		"a new key":                    {func(m map[string]any) { m["new"] = nil }, true},
		"a key taken out":              {func(m map[string]any) { delete(m, "none") }, true},
		"nil for a value":              {func(m map[string]any) { m["n"] = nil }, true},
	}
	for name, tc := range edits {
		for kind, run := range map[string]func(ctx context.Context, r *hooks.Registry, guard func()) error{
			"tool": func(ctx context.Context, r *hooks.Registry, guard func()) error {
				hooks.Guard(hooks.PreToolCall, edit(func(*hooks.ToolCall) { guard() }), hooks.In(r))
				hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error { tc.edit(c.Input); return next(ctx) }, hooks.In(r))
				return hooks.RunTool(ctx, &hooks.ToolCall{Input: nested()}, noop)
			},
			"execution": func(ctx context.Context, r *hooks.Registry, guard func()) error {
				hooks.Guard(hooks.Input, edit(func(*hooks.Execution) { guard() }), hooks.In(r))
				hooks.Guard(hooks.ExecutionStart, edit(func(x *hooks.Execution) { assert.NotContains(t, x.Inputs, "new") }), hooks.In(r))
				hooks.Around(hooks.ExecutionBody, func(ctx context.Context, x *hooks.Execution, next nextFunc) error {
					tc.edit(x.Inputs)
					return next(ctx)
				}, hooks.In(r))
				return hooks.RunExecution(ctx, &hooks.Execution{Inputs: nested()}, succeeds[hooks.Execution])
			},
			"step": func(ctx context.Context, r *hooks.Registry, guard func()) error {
				hooks.Guard(hooks.PreStep, edit(func(*hooks.Step) { guard() }), hooks.In(r))
				hooks.Around(hooks.StepBody, func(ctx context.Context, s *hooks.Step, next nextFunc) error {
					tc.edit(s.Input.(map[string]any))
					return next(ctx)
				}, hooks.In(r))
				return hooks.RunStep(ctx, &hooks.Step{Input: nested()}, succeeds[hooks.Step])
			},
			"model": func(ctx context.Context, r *hooks.Registry, guard func()) error {
				hooks.Guard(hooks.PreModelCall, edit(func(*hooks.ModelCall) { guard() }), hooks.In(r))
				hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next nextFunc) error {
					tc.edit(m.Messages[0].Native.(map[string]any))
					return next(ctx)
				}, hooks.In(r))
				return hooks.RunModel(ctx, &hooks.ModelCall{Messages: []hooks.Message{{Native: nested()}}}, succeeds[hooks.ModelCall])
			},
			"own": func(ctx context.Context, r *hooks.Registry, guard func()) error {
				hooks.Guard(wrapFullSeam.Pre, edit(func(*wrapFull) { guard() }), hooks.In(r))
				hooks.Around(wrapFullSeam.Body, func(ctx context.Context, c *wrapFull, next nextFunc) error {
					tc.edit(c.Data.(map[string]any))
					return next(ctx)
				}, hooks.In(r))
				return wrapFullSeam.Run(ctx, &wrapFull{Data: nested()}, succeeds[wrapFull])
			},
		} {
			ctx, r := newRun(t)
			asked := 0
			require.NoError(t, run(ctx, r, func() { asked++ }))
			assert.Equal(t, tc.again, asked == 2, "%s, %s: asked %d times", name, kind, asked)
		}
	}
}

// A model call's model, messages and tools.
func TestGuard_askedAgainAboutAModelCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit  func(m *hooks.ModelCall)
		again bool
	}{
		"nothing":       {func(*hooks.ModelCall) {}, false},
		"equal slices":  {func(m *hooks.ModelCall) { m.Tools = []string{"a"}; m.Messages = slices.Clone(m.Messages) }, false},
		"the response":  {func(m *hooks.ModelCall) { m.Response = "x" }, false},
		"the model":     {func(m *hooks.ModelCall) { m.Model = "other" }, true},
		"the role":      {func(m *hooks.ModelCall) { m.AgentRole = "Editor" }, true},
		"a tool":        {func(m *hooks.ModelCall) { m.Tools[0] = "b" }, true},
		"no tool":       {func(m *hooks.ModelCall) { m.Tools = nil }, true},
		"a message":     {func(m *hooks.ModelCall) { m.Messages = append(m.Messages, hooks.Message{Role: "user"}) }, true},
		"its role":      {func(m *hooks.ModelCall) { m.Messages[0].Role = "system" }, true},
		"its text":      {func(m *hooks.ModelCall) { m.Messages[0].Content = "b" }, true},
		"its name":      {func(m *hooks.ModelCall) { m.Messages[0].Name = "b" }, true},
		"its call ID":   {func(m *hooks.ModelCall) { m.Messages[0].ToolCallID = "b" }, true},
		"a part":        {func(m *hooks.ModelCall) { m.Messages[0].Parts[0].Text = "b" }, true},
		"a part's kind": {func(m *hooks.ModelCall) { m.Messages[0].Parts[0].Kind = "b" }, true},
		"a request":     {func(m *hooks.ModelCall) { m.Messages[0].ToolCalls[0].Arguments = "b" }, true},
	} {
		ctx, r := newRun(t)
		asked := 0
		hooks.Guard(hooks.PreModelCall, edit(func(*hooks.ModelCall) { asked++ }), hooks.In(r))
		hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next nextFunc) error { tc.edit(m); return next(ctx) }, hooks.In(r))
		m := &hooks.ModelCall{Model: "m", Tools: []string{"a"}, Messages: []hooks.Message{{
			Role: "user", Content: "a", Name: "a", ToolCallID: "a",
			Parts: []hooks.Part{{Kind: "a", Text: "a"}}, ToolCalls: []hooks.ToolRequest{{Arguments: "a"}},
		}}}
		require.NoError(t, hooks.RunModel(ctx, m, succeeds[hooks.ModelCall]))
		assert.Equal(t, tc.again, asked == 2, "%s: asked %d times", name, asked)
	}
}

// A call that an around hook renames is judged under its old name and the new.
func TestGuard_askedAgainAboutARename(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var asked []string
	for _, name := range []string{"first", "search", "find", "other"} {
		hooks.Guard(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
			asked = append(asked, name+":"+c.Name)
			return nil
		}, hooks.In(r), hooks.WithTools(name))
	}
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Name = "search" }), hooks.In(r))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
		asked = append(asked, "|")
		c.Name = "find"
		_ = next(ctx)
		asked = append(asked, "|")
		return next(ctx)
	}, hooks.In(r))
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "first"}, noop))
	assert.Equal(t, []string{"first:search", "search:search", "|", "first:find", "search:find", "find:find", "|"}, asked)
}

// Guards that filter by role are asked about a new one.
func TestGuard_askedAgainAboutARole(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.Guard(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r), hooks.WithAgents("Editor"))
	hooks.Around(hooks.StepBody, func(ctx context.Context, s *hooks.Step, next nextFunc) error {
		s.AgentRole = "Editor"
		return next(ctx)
	}, hooks.In(r))
	err := hooks.RunStep(ctx, &hooks.Step{Caller: hooks.Caller{AgentRole: "Writer"}}, func(context.Context, *hooks.Step) error {
		t.Error("the body ran")
		return nil
	})
	assert.Equal(t, "no", aborted(t, err).Reason)
}

// A guard that refuses an input ends the operation: before the first run it is
// blocked, behind it what came of it is withheld.
func TestGuard_refusesWhenAskedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		inputs []string
		bodies int
	}{
		"the first input":  {[]string{"bad", "a"}, 0},
		"the second input": {[]string{"", "bad", "a"}, 1},
	} {
		for kind, refuse := range map[string]func() error{
			"refuses":             func() error { return hooks.Abort("bad input") },
			"fails":               func() error { return errBroken },
			"panics":              func() error { panic("bug") },
			"and the hook aborts": func() error { return hooks.Abort("bad input") },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
					posts, bodies := 0, 0
					d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
					d.onPre(r, func(_ context.Context, c seamContext) error {
						if wrapInput(c) == "bad" {
							return refuse()
						}
						return nil
					}, hooks.AsGuard(), hooks.WithName("judge"))
					d.around(r, func(ctx context.Context, c seamContext, next nextFunc) error {
						err := changing(tc.inputs...)(ctx, c, next)
						if kind == "and the hook aborts" {
							return hooks.Abort("another")
						}
						return err
					})
					c := d.fresh()
					err := d.run(ctx, c, func(_ context.Context, c seamContext) error {
						bodies++
						wrapGive(c, "secret")
						return errBroken
					})
					reason := "bad input"
					if kind == "fails" || kind == "panics" {
						reason = "judge failed"
					}
					abort := d.requireAborted(t, c, err, reason)
					assert.Equal(t, "judge", abort.Source)
					assert.NotEqual(t, d.body, abort.Point, "it is the guard's own")
					assert.Equal(t, []int{tc.bodies, 1}, []int{bodies, posts})
					if d.clears() {
						assert.NotContains(t, wrapTaken(c), "secret")
					}
					if call, ok := c.native().(*hooks.ToolCall); ok {
						assert.Equal(t, tc.bodies > 0, call.Ran())
						if tc.bodies == 0 {
							assert.Contains(t, call.Result, "Tool execution blocked by hook.")
						} else {
							assert.Contains(t, call.Result, "Tool result withheld by hook.")
						}
					}
				})
			})
		}
	}
}

// A guard that says, when asked again, that the run waits.
func TestGuard_suspendsWhenAskedAgain(t *testing.T) {
	t.Parallel()
	waits := &hooks.Suspended{Questions: []hooks.Question{{ID: "q"}}}
	eachOuter(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.onPre(r, func(_ context.Context, c seamContext) error {
			if wrapInput(c) == "b" {
				return waits
			}
			return nil
		}, hooks.AsGuard())
		posts := 0
		d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
		d.around(r, changing("b", "a"))
		c := d.fresh()
		err := d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		assert.Same(t, waits, err)
		assert.Equal(t, 1, posts)
		if call, ok := c.native().(*hooks.ToolCall); ok {
			assert.Same(t, waits, call.Suspended())
			assert.False(t, call.Ran())
		}
	})
}

// One that ends the goroutine leaves the input unjudged: nothing runs.
func TestGuard_goexitWhenAskedAgain(t *testing.T) {
	t.Parallel()
	eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
		d.onPre(r, func(_ context.Context, c seamContext) error {
			if wrapInput(c) == "b" {
				runtime.Goexit()
			}
			return nil
		}, hooks.AsGuard())
		posts, looks := 0, 0
		d.onPost(r, func(context.Context, seamContext) error { posts++; return nil })
		d.watch(r, func(_ seamContext, err error) {
			if errors.Is(err, hooks.ErrGoexit) {
				looks++
			}
		})
		d.around(r, changing("b"))
		c := d.fresh()
		exit := seamLeave(t, func() error {
			return d.run(ctx, c, func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		})
		assert.True(t, exit.exited)
		assert.Equal(t, []int{1, 1}, []int{posts, looks})
		if call, ok := c.native().(*hooks.ToolCall); ok {
			assert.False(t, call.Ran())
			assert.True(t, call.IsError())
		}
	})
}

// Watches of the pre point see what is run, each time that it changes, with or
// without guards.
func TestWatch_seesWhatAnAroundHookMakesOfTheInput(t *testing.T) {
	t.Parallel()
	for _, guarded := range []bool{false, true} {
		t.Run(fmt.Sprint("guarded ", guarded), func(t *testing.T) {
			t.Parallel()
			eachWrapped(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, d wrapDriver) {
				var seen []string
				d.watch(r, func(c seamContext, err error) { seen = append(seen, fmt.Sprint(wrapInput(c), " ", err != nil)) })
				if guarded {
					d.onPre(r, func(_ context.Context, c seamContext) error {
						if wrapInput(c) == "bad" {
							return hooks.Abort("bad input")
						}
						return nil
					}, hooks.AsGuard())
				}
				d.around(r, changing("", "b", "", "bad"))
				_ = d.run(ctx, d.fresh(), seamProceed)
				want := []string{"a false", "b false", fmt.Sprint("bad ", guarded)}
				if !d.compares {
					want = []string{"a false", "a false", "b false", "b false", fmt.Sprint("bad ", guarded)}
				}
				assert.Equal(t, want, seen)
			})
		})
	}
}

// Guards and watches of scopes that a hook adds to the ctx are asked about what
// runs in them.
func TestGuard_askedAgainInTheScopesOfNext(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	scope := hooks.NewRegistry()
	asked := 0
	hooks.Guard(hooks.PreToolCall, noop, hooks.In(r))
	hooks.Guard(hooks.PreToolCall, edit(func(*hooks.ToolCall) { asked++ }), hooks.In(scope))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
		c.Input["q"] = 1
		return next(hooks.WithScope(ctx, scope))
	}, hooks.In(r))
	require.NoError(t, hooks.RunTool(ctx, benchCall(), noop))
	assert.Equal(t, 1, asked)
}

// The question goes to the guards with a clean context: nothing of the last run,
// and no answer.
func TestGuard_askedAgainSeesNothingOfTheLastRun(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	looks := 0
	hooks.Guard(hooks.PreToolCall, edit(func(c *hooks.ToolCall) {
		looks++
		assert.Empty(t, c.Result)
		assert.Nil(t, c.RawResult)
		assert.False(t, c.Answered())
	}), hooks.In(r))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
		_ = next(ctx)
		c.Answer("fine")
		c.Input = map[string]any{"q": "b"}
		return next(ctx)
	}, hooks.In(r))
	require.NoError(t, hooks.RunTool(ctx, benchCall(), func(_ context.Context, c *hooks.ToolCall) error {
		c.Result, c.RawResult = "secret", "secret"
		return nil
	}))
	assert.Equal(t, 2, looks)
}

// An approval in an edited call is asked for again: Ask works there as in the pre
// point.
func TestGuard_asksWhenAskedAgain(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var prompts []string
	ctx = hooks.WithHumanInput(ctx, wrapPerson(func(prompt string) { prompts = append(prompts, prompt) }))
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		return c.Ask(ctx, hooks.Question{})
	}, hooks.In(r))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
		_ = next(ctx)
		_ = next(ctx)
		c.Input["q"] = "b"
		return next(ctx)
	}, hooks.In(r))
	call := &hooks.ToolCall{Caller: hooks.Caller{RunID: "r", RootRunID: "r"}, ID: "1", Name: "search", Input: map[string]any{"q": "a"}}
	bodies := 0
	require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { bodies++; return errBroken }))
	assert.Equal(t, 3, bodies)
	assert.Len(t, prompts, 2, "%q", prompts)
	assert.Nil(t, call.Blocked)
}

// On whose behalf a call runs, and which call it is, is what the guards let through,
// too: an approval is for that.
func TestGuard_askedAgainAboutWhoCalls(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*hooks.ToolCall){
		"tenant":      func(c *hooks.ToolCall) { c.Tenant = "other" },
		"run":         func(c *hooks.ToolCall) { c.RunID = "other" },
		"root run":    func(c *hooks.ToolCall) { c.RootRunID = "other" },
		"ID":          func(c *hooks.ToolCall) { c.ID = "other" },
		"nothing":     func(*hooks.ToolCall) {},
		"a label":     func(c *hooks.ToolCall) { c.Put("label", 1) },
		"the request": func(c *hooks.ToolCall) { c.Request = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			want, looks := 1, 0
			switch name {
			case "tenant", "run", "root run", "ID":
				want = 2
			}
			hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { looks++; return nil }, hooks.In(r))
			hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
				edit(c)
				return next(ctx)
			}, hooks.In(r))
			call := &hooks.ToolCall{Caller: hooks.Caller{RunID: "r", Tenant: "t"}, ID: "1", Name: "search"}
			require.NoError(t, hooks.RunTool(ctx, call, noop))
			assert.Equal(t, want, looks)
		})
	}
}

// An approval for one tenant lets nothing run for another.
func TestAround_approvalIsForOneTenant(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var prompts []string
	ctx = hooks.WithHumanInput(ctx, wrapPerson(func(prompt string) { prompts = append(prompts, prompt) }))
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		return c.Ask(ctx, hooks.Question{})
	}, hooks.In(r))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next nextFunc) error {
		c.Tenant = "other"
		return next(ctx)
	}, hooks.In(r))
	call := &hooks.ToolCall{Caller: hooks.Caller{RunID: "r", RootRunID: "r", Tenant: "one"}, ID: "1", Name: "search"}
	require.NoError(t, hooks.RunTool(ctx, call, noop))
	assert.Len(t, prompts, 2)
}

// A HookPayload that panics tells nothing: the guards are asked.
func TestGuard_askedAgainAboutAnUnreadablePayload(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	asked := 0
	hooks.Guard(wrapTrapSeam.Pre, edit(func(*wrapTrap) { asked++ }), hooks.In(r))
	hooks.Around(wrapTrapSeam.Body, func(ctx context.Context, _ *wrapTrap, next nextFunc) error { return next(ctx) }, hooks.In(r))
	require.NoError(t, wrapTrapSeam.Run(ctx, &wrapTrap{}, succeeds[wrapTrap]))
	assert.Equal(t, 2, asked)
}

type wrapTrap struct{}

func (*wrapTrap) HookPayload(hooks.InterceptionPoint) any { panic("trap") }

var wrapTrapSeam = hooks.DefineSeam[wrapTrap]("wraptest.trap")

// wrapPerson says yes to everything.
type wrapPerson func(prompt string)

func (p wrapPerson) RequestInput(_ context.Context, prompt, _ string) (string, error) {
	p(prompt)
	return "yes", nil
}

// What is behind an unexported field can't be copied to compare with: the guards are
// asked in front of each run.
type sealed struct{ where []string }

func (s sealed) set(where string) { s.where[0] = where }

func TestAround_asksAgainAboutWhatCannotBeCopied(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if call.Input["q"].(sealed).where[0] == "elsewhere" {
			return hooks.Abort("not there")
		}
		return nil
	}, hooks.In(r))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
		call.Input["q"].(sealed).set("elsewhere")
		return next(ctx)
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "search", Input: map[string]any{"q": sealed{[]string{"here"}}}}
	require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error {
		t.Error("the tool ran")
		return nil
	}))
	require.NotNil(t, call.Blocked)
	assert.Equal(t, "not there", call.Blocked.Reason)
}

// Of an input that can't be copied to its end nobody knows whether it changed.
func TestGuard_askedAgainAboutAnInputWithoutEnd(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	asked := 0
	hooks.Guard(hooks.PreStep, edit(func(*hooks.Step) { asked++ }), hooks.In(r))
	hooks.Around(hooks.StepBody, func(ctx context.Context, _ *hooks.Step, next nextFunc) error {
		return errors.Join(next(ctx), next(ctx))
	}, hooks.In(r))
	circle := map[string]any{}
	circle["a"], circle["b"] = circle, circle
	large := make([]any, 100_001)
	for i := range large {
		large[i] = map[string]any{}
	}
	for _, in := range []any{circle, large} {
		asked = 0
		require.NoError(t, hooks.RunStep(ctx, &hooks.Step{Input: in}, succeeds[hooks.Step]))
		assert.Equal(t, 3, asked)
	}
}
