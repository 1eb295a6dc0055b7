package hooks_test

// What a dispatch hands to its hooks and what comes back, guards that run after
// all others, and dispatches while registries change.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestDispatch_withoutHooksDoesNothing(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	call := &hooks.ToolCall{Name: "read"}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
	assert.Equal(t, &hooks.ToolCall{Name: "read"}, call)
	assert.Empty(t, events.take())
}

// Later hooks and the caller see what a hook assigns.
func TestDispatch_handsOnWhatHooksAssign(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	seen := ""
	hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { c.Result += "-redacted" }), hooks.In(r))
	hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { seen = c.Result }), hooks.In(r))
	hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { c.Result += "-signed" }), hooks.In(r))
	call := &hooks.ToolCall{Result: "raw"}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PostToolCall, call))
	assert.Equal(t, "raw-redacted", seen)
	assert.Equal(t, "raw-redacted-signed", call.Result)
}

func TestDispatch_idleHookErasesNothing(t *testing.T) {
	t.Parallel()
	replaces := edit(func(c *hooks.ToolCall) { c.Input = map[string]any{"cmd": "new"} })
	proceeds := fails[hooks.ToolCall](nil)
	observes := edit(func(c *hooks.ToolCall) { _ = c.Input["cmd"] })
	for _, order := range [][]hooks.Func[hooks.ToolCall]{
		{replaces, proceeds, observes}, {replaces, observes, proceeds}, {proceeds, replaces, observes},
		{proceeds, observes, replaces}, {observes, replaces, proceeds}, {observes, proceeds, replaces},
	} {
		ctx, r := newRun(t)
		events := record(t, r)
		for _, h := range order {
			hooks.On(hooks.PreToolCall, h, hooks.In(r))
		}
		call := &hooks.ToolCall{Name: "sh", Input: map[string]any{"cmd": "old"}}
		ran := false
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
			ran = true
			assert.Equal(t, map[string]any{"cmd": "new"}, c.Input)
			return nil
		}))
		assert.True(t, ran)
		assert.Equal(t, hooks.OutcomeModified, events.one(t).Outcome)
	}
}

func TestDispatch_editsInPlaceReachTheCaller(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.Input, edit(func(x *hooks.Execution) { x.Inputs["city"] = "Oslo" }), hooks.In(r))
	hooks.On(hooks.PreModelCall, edit(func(m *hooks.ModelCall) { m.Messages[0].Content = "edited" }), hooks.In(r))

	inputs := map[string]any{"city": "Rome"}
	require.NoError(t, hooks.Dispatch(ctx, hooks.Input, &hooks.Execution{Inputs: inputs}))
	assert.Equal(t, map[string]any{"city": "Oslo"}, inputs)

	messages := []hooks.Message{{Content: "original"}}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{Messages: messages}))
	assert.Equal(t, "edited", messages[0].Content)
}

// However a hook changes the input, what it leaves is what all others see.
func TestDispatch_changesOfInputsReachAll(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*hooks.ToolCall){
		"in place":     func(c *hooks.ToolCall) { c.Input["path"] = "new" },
		"a new map":    func(c *hooks.ToolCall) { c.Input = map[string]any{"path": "new"} },
		"cleared":      func(c *hooks.ToolCall) { clear(c.Input); c.Input["path"] = "new" },
		"added a key":  func(c *hooks.ToolCall) { c.Input["more"] = true },
		"took one out": func(c *hooks.ToolCall) { delete(c.Input, "path") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			want := &hooks.ToolCall{Input: map[string]any{"path": "old"}}
			change(want)
			runs := 0
			sees := edit(func(c *hooks.ToolCall) {
				runs++
				assert.Equal(t, want.Input, c.Input)
			})
			hooks.On(hooks.PreToolCall, edit(change), hooks.In(r))
			hooks.On(hooks.PreToolCall, sees, hooks.In(r))
			hooks.On(hooks.PostToolCall, sees, hooks.In(r))
			require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Input: map[string]any{"path": "old"}}, sees))
			assert.Equal(t, 3, runs, "a later hook, the body and a post hook")
		})
	}
}

func TestDispatch_changesOfMessagesReachAll(t *testing.T) {
	t.Parallel()
	system, user := hooks.Message{Role: "system", Content: "s"}, hooks.Message{Role: "user", Content: "u"}
	for name, change := range map[string]func(*hooks.ModelCall){
		"in place":                 func(m *hooks.ModelCall) { m.Messages[1].Content = "new" },
		"appended past capacity":   func(m *hooks.ModelCall) { m.Messages = append(m.Messages, user, user, user, user) },
		"appended with room":       func(m *hooks.ModelCall) { m.Messages = append(slices.Grow(m.Messages, 8), user) },
		"a new slice":              func(m *hooks.ModelCall) { m.Messages = []hooks.Message{user} },
		"trimmed":                  func(m *hooks.ModelCall) { m.Messages = m.Messages[1:] },
		"replaced by an empty one": func(m *hooks.ModelCall) { m.Messages = []hooks.Message{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			want := &hooks.ModelCall{Messages: []hooks.Message{system, user}}
			change(want)
			runs := 0
			sees := edit(func(m *hooks.ModelCall) {
				runs++
				assert.Equal(t, want.Messages, m.Messages)
			})
			hooks.On(hooks.PreModelCall, edit(change), hooks.In(r))
			hooks.On(hooks.PreModelCall, sees, hooks.In(r))
			hooks.On(hooks.PostModelCall, sees, hooks.In(r))
			require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{Messages: []hooks.Message{system, user}}, sees))
			assert.Equal(t, 3, runs, "a later hook, the body and a post hook")
		})
	}
}

func TestDispatch_showsEachHookTheWholePayload(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	runs := 0
	full := edit(func(c *hooks.ToolCall) {
		runs++
		assert.Len(t, c.Input, 3)
	})
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { delete(maps.Clone(c.Input), "a") }), hooks.In(r))
	hooks.On(hooks.PreToolCall, full, hooks.In(r))
	hooks.On(hooks.PreToolCall, full, hooks.In(r))
	call := &hooks.ToolCall{Input: map[string]any{"a": 1, "b": 2, "c": 3}}
	require.NoError(t, hooks.RunTool(ctx, call, full))
	assert.Equal(t, 3, runs, "two hooks and the body")
}

// An empty value is a value: only leaving a field alone leaves it as it was.
func TestDispatch_emptyValueIsAReplacement(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]any{
		"text": "", "number": 0, "false": false, "slice": []string{}, "map": map[string]any{}, "nil": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			events := record(t, r)
			reg := hooks.On(hooks.Output, edit(func(x *hooks.Execution) { x.Output = empty }), hooks.In(r))
			hooks.On(hooks.Output, fails[hooks.Execution](nil), hooks.In(r))
			x := &hooks.Execution{Output: "secret"}
			require.NoError(t, hooks.Dispatch(ctx, hooks.Output, x))
			assert.Equal(t, empty, x.Output)
			assert.Equal(t, hooks.OutcomeModified, events.one(t).Outcome)

			reg.Remove()
			x.Output = "secret"
			require.NoError(t, hooks.Dispatch(ctx, hooks.Output, x))
			assert.Equal(t, "secret", x.Output)
			assert.Equal(t, hooks.OutcomeProceeded, events.one(t).Outcome)
		})
	}
}

func TestDispatch_emptyTextIsAReplacement(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { c.Result = "" }), hooks.In(r))
	hooks.On(hooks.PostModelCall, edit(func(m *hooks.ModelCall) { m.Response = "" }), hooks.In(r))
	call, model := &hooks.ToolCall{}, &hooks.ModelCall{}
	require.NoError(t, hooks.RunTool(ctx, call, edit(func(c *hooks.ToolCall) { c.Result = "secret" })))
	assert.Empty(t, call.Result)
	require.NoError(t, hooks.RunModel(ctx, model, edit(func(m *hooks.ModelCall) { m.Response = "secret" })))
	assert.Empty(t, model.Response)
}

func TestDispatch_takesAnUnsetContext(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	var tr trace
	filters := []hooks.Option{hooks.In(r), hooks.WithAgents("Writer")}
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "by-role"), filters...)
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "by-tool"), append(filters, hooks.WithTools("rm"))...)
	hooks.On(hooks.PreModelCall, edit(func(m *hooks.ModelCall) {
		m.Messages = append(m.Messages, hooks.Message{})
		m.Values.Put("k", "v")
		tr.add("model")
	}), filters...)
	ctx := hooks.WithScope(t.Context(), r)
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreModelCall, &hooks.ModelCall{}))
	assert.Equal(t, "by-role model", tr.take())
}

func TestDispatch_takesANilCtxForABackground(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	var none context.Context
	assert.False(t, hooks.Enabled(none, p))
	require.NoError(t, hooks.Dispatch(none, p, &job{}))
	var got []context.Context
	hooks.On(p, func(ctx context.Context, _ *job) error {
		got = append(got, ctx)
		return nil
	})
	assert.True(t, hooks.Enabled(none, p))
	require.NoError(t, hooks.Dispatch(none, p, &job{}))
	assert.Equal(t, []context.Context{context.Background()}, got)
}

// Hooks can write to the inputs of every context that has them.
func TestDispatch_inputsCanBeWritten(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	for _, p := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd} {
		hooks.On(p, edit(func(x *hooks.Execution) { x.Inputs["k"] = 1 }), hooks.In(r))
		x := &hooks.Execution{}
		require.NoError(t, hooks.Dispatch(ctx, p, x))
		assert.Equal(t, map[string]any{"k": 1}, x.Inputs, p.Name())
	}
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		hooks.On(p, edit(func(c *hooks.ToolCall) { c.Input["k"] = 1 }), hooks.In(r))
		c := &hooks.ToolCall{}
		require.NoError(t, hooks.Dispatch(ctx, p, c))
		assert.Equal(t, map[string]any{"k": 1}, c.Input, p.Name())
	}
}

// A map that a hook sets to nil is there again for the next one.
func TestDispatch_showsNoHookANilMap(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	runs := 0
	for _, opts := range [][]hooks.Option{nil, {hooks.WithPriority(-1)}, {hooks.AsGuard()}} {
		opts = append(opts, hooks.In(r))
		hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) {
			runs++
			assert.NotNil(t, c.Input)
			c.Input = nil
		}), opts...)
		hooks.On(hooks.Input, func(_ context.Context, x *hooks.Execution) error {
			runs++
			assert.NotNil(t, x.Inputs)
			x.Inputs = nil
			return errBroken
		}, opts...)
	}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
	assert.Error(t, hooks.Dispatch(ctx, hooks.Input, &hooks.Execution{}))
	assert.Equal(t, 2*3, runs)
}

func TestDispatch_nilContextIsAnError(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	check := func(err error) {
		require.Error(t, err)
		assert.Contains(t, err.Error(), "pre_tool_call")
		_, isAbort := errors.AsType[*hooks.HookAborted](err)
		assert.False(t, isAbort, "the mistake of a caller is no decision of a hook")
	}
	check(hooks.Dispatch[hooks.ToolCall](ctx, hooks.PreToolCall, nil))
	hooks.On(hooks.PreToolCall, edit(func(*hooks.ToolCall) { assert.Fail(t, "ran without a context") }), hooks.In(r))
	check(hooks.Dispatch[hooks.ToolCall](ctx, hooks.PreToolCall, nil))
}

func TestDispatch_leavesADoneCtxToTheHooks(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	ctx, cancel := context.WithCancel(ctx)
	var tr trace
	hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
		tr.add("first")
		assert.NoError(t, ctx.Err())
		cancel()
		return nil
	}, hooks.In(r))
	hooks.On(hooks.PreStep, func(ctx context.Context, _ *hooks.Step) error {
		tr.add("second")
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		return nil
	}, hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "first second", tr.take())
}

func TestDispatch_givesHooksItsCtx(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, r := newRun(t)
	ctx = context.WithValue(ctx, key{}, "value")
	ran := false
	hooks.On(hooks.PreStep, func(got context.Context, _ *hooks.Step) error {
		ran = true
		assert.Equal(t, "value", got.Value(key{}))
		return nil
	}, hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.True(t, ran)
}

func TestDispatch_canBeNested(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		tr.add("tool:" + c.Name)
		if c.Name == "outer" {
			assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "inner"}))
			assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		}
		tr.add("end:" + c.Name)
		return nil
	}, hooks.In(r))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "step"), hooks.In(r))
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { tr.add("last:" + c.Name) }), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "outer"}))
	assert.Equal(t, "tool:outer tool:inner end:inner last:inner step end:outer last:outer", tr.take())
}

// A call inside a hook is a call like any other, and so are those of other
// goroutines meanwhile: nothing suppresses their hooks.
func TestDispatch_inAHookRunsAllHooks(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	body := func(context.Context, *hooks.ToolCall) error { return nil }
	hooks.On(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		tr.add("pre:" + c.Name)
		if c.ID != "1" {
			return nil
		}
		assert.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "log"}, body))
		finishes(t, "a call of another goroutine", func() {
			assert.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "search", ID: "2"}, body))
		})
		return nil
	}, hooks.In(r))
	hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { tr.add("post:" + c.Name) }), hooks.In(r))
	hooks.On(hooks.PreModelCall, note[hooks.ModelCall](&tr, "model"), hooks.In(r))
	search := &hooks.ToolCall{Name: "search", ID: "1"}
	require.NoError(t, hooks.RunTool(ctx, search, func(ctx context.Context, _ *hooks.ToolCall) error {
		for range 2 {
			assert.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{}, fails[hooks.ModelCall](nil)))
		}
		return nil
	}))
	assert.Equal(t, "pre:search pre:log post:log pre:search post:search model model post:search", tr.take())
}

func TestEnabled_tellsWhetherAnyHookCanRun(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, r := newRun(t)
	outside := t.Context()

	assert.False(t, hooks.Enabled(ctx, p))

	scoped := hooks.On(p, fails[job](nil), hooks.In(r), hooks.WithTools("only_this"))
	assert.True(t, hooks.Enabled(ctx, p), "a filter doesn't count")
	assert.False(t, hooks.Enabled(outside, p))
	scoped.Remove()
	assert.False(t, hooks.Enabled(ctx, p))

	global := hooks.On(p, fails[job](nil))
	assert.True(t, hooks.Enabled(ctx, p))
	assert.True(t, hooks.Enabled(outside, p))
	global.Remove()
	assert.False(t, hooks.Enabled(outside, p))

	hooks.On(p, fails[job](nil), hooks.In(r), hooks.AsGuard())
	assert.True(t, hooks.Enabled(ctx, p))
	r.Clear(p)
	assert.False(t, hooks.Enabled(ctx, p))
}

// A guard that is registered first sees what the last hook of the innermost
// scope left.
func TestGuard_seesInnerScopeEdits(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	hooks.On(p, func(_ context.Context, j *job) error {
		if j.Data != "safe" {
			return hooks.Abort(fmt.Sprintf("%v is not allowed", j.Data))
		}
		return nil
	}, hooks.AsGuard(), hooks.WithPriority(1000))
	ctx, outer := newRun(t)
	inner := hooks.NewRegistry()
	ctx = hooks.WithScope(ctx, inner)
	hooks.On(p, edit(func(j *job) { j.Data = "safe" }), hooks.In(outer))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{Data: "danger"}))
	hooks.On(p, edit(func(j *job) { j.Data = "danger again" }), hooks.In(inner), hooks.WithPriority(-1000))
	assert.Equal(t, "danger again is not allowed", aborted(t, hooks.Dispatch(ctx, p, &job{Data: "danger"})).Reason)
}

func TestGuard_runsAfterAllHooks(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, outer := newRun(t)
	inner := hooks.NewRegistry()
	ctx = hooks.WithScope(ctx, inner)
	var tr trace
	guard := func(name string, opts ...hooks.Option) {
		hooks.On(p, note[job](&tr, name), append(opts, hooks.AsGuard())...)
	}
	guard("inner-guard", hooks.In(inner), hooks.WithPriority(5))
	guard("outer-guard-low", hooks.In(outer), hooks.WithPriority(-1))
	guard("outer-guard-high", hooks.In(outer), hooks.WithPriority(1))
	guard("guard")
	guard("guard-again")
	hooks.On(p, note[job](&tr, "inner"), hooks.In(inner))
	hooks.On(p, note[job](&tr, "outer"), hooks.In(outer), hooks.WithFailClosed())
	hooks.On(p, note[job](&tr, "default"), hooks.WithPriority(-1000))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	assert.Equal(t, "default outer inner guard guard-again outer-guard-high outer-guard-low inner-guard", tr.take())
}

func TestGuard_seesWhatTheToolWillGet(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if c.Input["path"] == "/etc/shadow" {
			return hooks.Abort("that file is secret")
		}
		return nil
	}, hooks.In(r), hooks.AsGuard())
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["path"] = "/etc/shadow" }), hooks.In(r))
	call := &hooks.ToolCall{Name: "read", Input: map[string]any{"path": "notes.txt"}}
	require.NoError(t, hooks.RunTool(ctx, call, edit(func(*hooks.ToolCall) { assert.Fail(t, "the tool ran") })))
	require.NotNil(t, call.Blocked)
	assert.Equal(t, map[string]any{"path": "/etc/shadow"}, call.Input, "the record shows what was refused")
}

func TestGuard_isSkippedAfterAnAbort(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "guard"), hooks.In(r), hooks.AsGuard())
	hooks.On(hooks.PreStep, fails[hooks.Step](hooks.Abort("no")), hooks.In(r))
	aborted(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Empty(t, tr.take())
}

func TestGuard_isFilteredLikeAnyHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](hooks.Abort("no")), hooks.In(r), hooks.AsGuard(),
		hooks.WithTools("Delete File"), hooks.WithAgents("Writer"))
	dispatch := func(tool, role string) error {
		return hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: role}})
	}
	assert.Error(t, dispatch("delete_file", "Writer"))
	assert.Error(t, dispatch("delete_file", ""), "a call that doesn't say who makes it doesn't pass")
	assert.NoError(t, dispatch("delete_file", "Reader"))
	assert.NoError(t, dispatch("read_file", "Writer"))
}

// failures are the ways in which a hook can fail.
var failures = map[string]struct {
	fn    hooks.Func[hooks.ToolCall]
	check func(*testing.T, error) // of the cause
}{
	"error": {
		fails[hooks.ToolCall](errors.New("password hunter2")),
		func(t *testing.T, err error) { assert.EqualError(t, err, "password hunter2") },
	},
	"panic": {
		panics[hooks.ToolCall]("password hunter2"),
		func(t *testing.T, err error) {
			panicked, ok := err.(*hooks.PanicError)
			require.True(t, ok)
			assert.Equal(t, "password hunter2", panicked.Value)
		},
	},
	"panic with an error": {
		panics[hooks.ToolCall](errBroken),
		func(t *testing.T, err error) { assert.ErrorIs(t, err, errBroken) },
	},
	"panic with nil": {
		panics[hooks.ToolCall](nil),
		func(t *testing.T, err error) { assert.IsType(t, new(hooks.PanicError), err) },
	},
	"nil abort": {
		fails[hooks.ToolCall]((*hooks.HookAborted)(nil)),
		func(t *testing.T, err error) { assert.Error(t, err) },
	},
	"out of time": {
		func(ctx context.Context, _ *hooks.ToolCall) error {
			<-ctx.Done()
			return fmt.Errorf("hunter2: %w", ctx.Err())
		},
		func(t *testing.T, err error) { assert.ErrorIs(t, err, context.DeadlineExceeded) },
	},
	"late": {
		func(ctx context.Context, _ *hooks.ToolCall) error {
			<-ctx.Done()
			return nil
		},
		func(t *testing.T, err error) { assert.ErrorIs(t, err, context.DeadlineExceeded) },
	},
}

func TestGuard_failureAbortsAndStaysSecret(t *testing.T) {
	t.Parallel()
	for name, failure := range failures {
		for _, tt := range []struct {
			kind   string
			opts   []hooks.Option
			reason string
		}{
			{"guard", []hooks.Option{hooks.AsGuard()}, "a guard failed"},
			{"named guard", []hooks.Option{hooks.AsGuard(), hooks.WithName("path policy")}, "path policy failed"},
			{"fail-closed", []hooks.Option{hooks.WithFailClosed()}, "a guard failed"},
			{"named fail-closed", []hooks.Option{hooks.WithFailClosed(), hooks.WithName("redactor")}, "redactor failed"},
		} {
			t.Run(name+" of a "+tt.kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, r := newRun(t)
					events := record(t, r)
					var tr trace
					hooks.On(hooks.PreToolCall, failure.fn, append(tt.opts, hooks.In(r), hooks.WithTimeout(time.Second))...)
					hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "later"), hooks.In(r), hooks.AsGuard())
					abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
					assert.Empty(t, tr.take())
					assert.Equal(t, tt.reason, abort.Reason)
					assert.Empty(t, abort.Message)
					assert.False(t, abort.StopRun)
					assert.Equal(t, tt.reason, abort.PublicText())
					assert.NotContains(t, abort.Error(), "hunter2")
					failure.check(t, abort.Err)

					run := events.one(t).Hooks[0]
					assert.Equal(t, hooks.OutcomeAborted, run.Outcome)
					failure.check(t, run.Err)

					call := &hooks.ToolCall{Name: "sh"}
					require.NoError(t, hooks.RunTool(ctx, call, edit(func(*hooks.ToolCall) { assert.Fail(t, "the tool ran") })))
					assert.Equal(t, "Tool execution blocked by hook. Tool: sh. Reason: "+tt.reason, call.Result)
				})
			})
		}
	}
}

func TestGuard_makesNoOtherHookFailClosed(t *testing.T) {
	t.Parallel()
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, r := newRun(t)
				events := record(t, r)
				var tr trace
				hooks.On(hooks.PreToolCall, failure.fn, hooks.In(r), hooks.WithTimeout(time.Second))
				hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "guard"), hooks.In(r), hooks.AsGuard())
				require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
				assert.Equal(t, "guard", tr.take())
				ev := events.one(t)
				assert.Equal(t, []hooks.Outcome{"failed", "proceeded"}, outcomes(ev))
				failure.check(t, ev.Hooks[0].Err)
			})
		})
	}
}

func TestGuard_abortIsItsOwn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](&hooks.HookAborted{Reason: "no", Message: "ask first", StopRun: true}),
		hooks.In(r), hooks.AsGuard(), hooks.WithName("policy"))
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
	assert.Equal(t, &hooks.HookAborted{Reason: "no", Message: "ask first", StopRun: true, Source: "policy", Point: "pre_tool_call"}, abort)
}

// Everything that changes registries happens while others dispatch, and a hook
// that is registered all the time runs in every dispatch.
func TestDispatch_changesConcurrentSafe(t *testing.T) {
	t.Cleanup(func() { hooks.SetLogger(nil) })
	const rounds = 200
	stable, busy := hooks.NewRegistry(), hooks.NewRegistry()
	ctx := hooks.WithScope(hooks.WithScope(t.Context(), stable), busy)
	points := everyPoint()
	var ran, dispatched atomic.Int64
	for _, p := range points {
		p.on(func() error { ran.Add(1); return nil }, hooks.In(stable))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range rounds {
				p := points[(i+n)%len(points)]
				assert.NoError(t, p.dispatch(ctx))
				dispatched.Add(1)
				_ = p.enabled(ctx)
			}
		})
		wg.Go(func() {
			for n := range rounds {
				p := points[(i+n)%len(points)]
				var regs []*hooks.Registration
				for _, opts := range [][]hooks.Option{nil, p.filters, {hooks.AsGuard()}, {hooks.WithOnce()}, {hooks.WithPriority(n % 3)}} {
					regs = append(regs,
						p.on(func() error { return nil }, opts...),
						p.on(func() error { return nil }, append(opts, hooks.In(stable))...),
						p.on(func() error { return errBroken }, hooks.In(busy)))
				}
				for _, reg := range regs {
					_ = reg.Name()
					reg.Remove()
				}
			}
		})
	}
	for i := range 2 {
		wg.Go(func() {
			for n := range rounds {
				p := points[(i+n)%len(points)]
				_ = stable.Hooks(p)
				_ = busy.String()
				busy.Clear(p)
				busy.ClearAll()
			}
		})
		wg.Go(func() {
			for n := range rounds {
				r := hooks.NewRegistry()
				p := points[n%len(points)]
				p.on(func() error { return nil }, hooks.In(r))
				assert.NoError(t, p.dispatch(hooks.WithScope(ctx, r)))
				dispatched.Add(1)
			}
		})
		wg.Go(func() {
			quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
			for range rounds {
				o := stable.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
				g := hooks.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
				hooks.SetLogger(quiet)
				g.Remove()
				o.Remove()
				hooks.SetLogger(nil)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, dispatched.Load(), ran.Load())
	for _, p := range points {
		assert.Empty(t, hooks.Hooks(p))
		assert.Len(t, stable.Hooks(p), 1)
	}
}

// The first dispatch after a change prepares the chain: when many come at
// once, each of them runs the whole of it.
func TestDispatch_firstOnesConcurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var ran atomic.Int64
	want := 0
	for n := range 30 {
		hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), hooks.In(r), hooks.WithTools("Read File", fmt.Sprintf("tool %d", n)))
		want++
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				<-start
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "readFile"}))
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(t, 8*want, ran.Swap(0))
	}
}

func TestDispatch_blockedHookHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	blocked, release := make(chan struct{}), make(chan struct{})
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if c.Name == "slow" {
			close(blocked)
			<-release
		}
		return nil
	}, hooks.In(r))
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "slow"})) })
	finishes(t, "for the hook to begin", func() { <-blocked })
	finishes(t, "the others", func() {
		reg := hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r))
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "fast"}))
		assert.NoError(t, hooks.Dispatch(ctx, hooks.PostToolCall, &hooks.ToolCall{Name: "slow"}))
		assert.NoError(t, hooks.Dispatch(context.Background(), hooks.PreToolCall, &hooks.ToolCall{Name: "slow"}))
		assert.Len(t, r.Hooks(hooks.PreToolCall), 2)
		assert.True(t, reg.Remove())
		assert.Equal(t, 1, r.Clear(hooks.PreToolCall))
	})
	close(release)
	wg.Wait()
}
