package hooks_test

// When an event says that a hook has modified its context: which fields count
// at which point, and how they are compared.

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// modification is a change of a context and whether it makes an event say so.
type modification[C any] struct {
	name     string
	change   func(*C)
	modified bool
}

// checkModifications applies each change at p to a new context.
func checkModifications[C any](t *testing.T, p hooks.Point[C], make func() *C, changes []modification[C]) {
	t.Helper()
	for _, m := range changes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			want := hooks.OutcomeProceeded
			if m.modified {
				want = hooks.OutcomeModified
			}
			ctx, r := newRun(t)
			events := record(t, r)
			hooks.On(p, fails[C](nil), hooks.In(r))
			hooks.On(p, edit(m.change), hooks.In(r))
			hooks.On(p, fails[C](nil), hooks.In(r))
			require.NoError(t, hooks.Dispatch(ctx, p, make()))
			ev := events.one(t)
			assert.Equal(t, want, ev.Outcome)
			assert.Equal(t, []hooks.Outcome{"proceeded", want, "proceeded"}, outcomes(ev))
		})
	}
}

// Modified are the input, or the call by an answer.
func TestModified_atPreToolCall(t *testing.T) {
	t.Parallel()
	type call = hooks.ToolCall
	nested, list := map[string]any{"a": 1}, []any{1, 2}
	object := &job{}
	input := func() map[string]any {
		return map[string]any{
			"text": "x", "number": 1, "nan": math.NaN(), "nil": nil, "map": nested, "list": list, "func": func() {}, "object": object,
			"odd": [1]any{[]int{1}},
		}
	}
	checkModifications(t, hooks.PreToolCall, func() *call { return &call{Name: "t", Input: input()} }, []modification[call]{
		{"nothing", func(*call) {}, false},
		{"added a key", func(c *call) { c.Input["new"] = 1 }, true},
		{"changed a value", func(c *call) { c.Input["text"] = "y" }, true},
		{"changed its type", func(c *call) { c.Input["number"] = int64(1) }, true},
		{"removed a key", func(c *call) { delete(c.Input, "nil") }, true},
		{"renamed a key", func(c *call) { delete(c.Input, "nil"); c.Input["none"] = nil }, true},
		{"cleared it", func(c *call) { clear(c.Input) }, true},
		{"set it to nil", func(c *call) { c.Input = nil }, true},
		{"the same value again", func(c *call) { c.Input["text"] = "x" }, false},
		{"an equal map", func(c *call) { c.Input = maps.Clone(c.Input) }, false},
		{"another map", func(c *call) { c.Input = map[string]any{"text": "x"} }, true},
		{"an equal inner map", func(c *call) { c.Input["map"] = map[string]any{"a": 1} }, true},
		{"an equal inner list", func(c *call) { c.Input["list"] = []any{1, 2} }, true},
		{"a shorter inner list", func(c *call) { c.Input["list"] = list[:1] }, true},
		{"another object", func(c *call) { c.Input["object"] = &job{} }, true},
		{"behind an object", func(*call) { object.Tool = "y" }, false}, // compared shallowly
		{"an answer", func(c *call) { c.Answer("ready") }, true},
		{"an empty answer", func(c *call) { c.Answer("") }, true},
		{"a field that isn't payload", func(c *call) { c.ID, c.RawResult = "2", 1; c.Put("k", "v") }, false},
	})
}

// Modified is the result: its text and its parts.
func TestModified_atPostToolCall(t *testing.T) {
	t.Parallel()
	type call = hooks.ToolCall
	native := &job{}
	make := func() *call {
		return &call{Result: "text", Parts: []hooks.Part{{Kind: "text", Text: "a", Native: native}, {Kind: "image"}}, RawResult: 1}
	}
	checkModifications(t, hooks.PostToolCall, make, []modification[call]{
		{"nothing", func(*call) {}, false},
		{"another text", func(c *call) { c.Result = "other" }, true},
		{"no text", func(c *call) { c.Result = "" }, true},
		{"the same text", func(c *call) { c.Result = "te" + string([]byte("xt")) }, false},
		{"a part in place", func(c *call) { c.Parts[0].Text = "b" }, true},
		{"a part's native", func(c *call) { c.Parts[0].Native = nil }, true},
		{"one part less", func(c *call) { c.Parts = c.Parts[:1] }, true},
		{"no parts", func(c *call) { c.Parts = nil }, true},
		{"parts in another order", func(c *call) { slices.Reverse(c.Parts) }, true},
		{"equal parts", func(c *call) { c.Parts = slices.Clone(c.Parts) }, false},
		{"edited text", func(c *call) { c.EditText(func(s string) string { return s + "!" }) }, true},
		{"edited to the same", func(c *call) { c.EditText(func(s string) string { return s }) }, false},
		{"the input", func(c *call) { c.Input["k"] = 1 }, false},
		{"the raw result", func(c *call) { c.RawResult = 2 }, false},
	})
}

// Modified are messages or tools, or the call by an answer.
func TestModified_atPreModelCall(t *testing.T) {
	t.Parallel()
	type call = hooks.ModelCall
	make := func() *call {
		return &call{
			Tools: []string{"a", "b"},
			Messages: []hooks.Message{
				{Role: "system", Content: "s"},
				{Role: "user", Parts: []hooks.Part{{Kind: "text", Text: "p"}}, ToolCalls: []hooks.ToolRequest{{ID: "1"}}, Native: []int{1}},
			},
		}
	}
	checkModifications(t, hooks.PreModelCall, make, []modification[call]{
		{"nothing", func(*call) {}, false},
		{"a message's content", func(m *call) { m.Messages[0].Content = "new" }, true},
		{"a message's role", func(m *call) { m.Messages[0].Role = "user" }, true},
		{"a message's name", func(m *call) { m.Messages[0].Name = "n" }, true},
		{"a message's call id", func(m *call) { m.Messages[0].ToolCallID = "n" }, true},
		{"a part in place", func(m *call) { m.Messages[1].Parts[0].Text = "new" }, true},
		{"a tool call in place", func(m *call) { m.Messages[1].ToolCalls[0].Arguments = "{}" }, true},
		{"a message's native", func(m *call) { m.Messages[1].Native = "other" }, true},
		{"edited text", func(m *call) { m.Messages[1].EditText(func(string) string { return "new" }) }, true},
		{"one more message", func(m *call) { m.Messages = append(m.Messages, hooks.Message{}) }, true},
		{"one message less", func(m *call) { m.Messages = m.Messages[1:] }, true},
		{"messages in another order", func(m *call) { slices.Reverse(m.Messages) }, true},
		{"equal messages", func(m *call) { m.Messages = slices.Clone(m.Messages) }, false},
		{"a hidden tool", func(m *call) { m.Tools = m.Tools[:1] }, true},
		{"a renamed tool", func(m *call) { m.Tools[0] = "c" }, true},
		{"an answer", func(m *call) { m.Answer("ready") }, true},
		{"the model", func(m *call) { m.Model = "other" }, false},
	})
}

// Modified are the response or the tool calls.
func TestModified_atPostModelCall(t *testing.T) {
	t.Parallel()
	type call = hooks.ModelCall
	make := func() *call { return &call{Response: "text", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "a"}}} }
	checkModifications(t, hooks.PostModelCall, make, []modification[call]{
		{"nothing", func(*call) {}, false},
		{"another response", func(m *call) { m.Response = "other" }, true},
		{"a tool call in place", func(m *call) { m.ToolCalls[0].Name = "b" }, true},
		{"no tool calls", func(m *call) { m.ToolCalls = nil }, true},
		{"equal tool calls", func(m *call) { m.ToolCalls = slices.Clone(m.ToolCalls) }, false},
		{"the messages", func(m *call) { m.Messages = append(m.Messages, hooks.Message{}) }, false},
	})
}

// Modified is what the point is for: what goes in before, what comes out after.
func TestModified_atExecutionsAndSteps(t *testing.T) {
	t.Parallel()
	type run = hooks.Execution
	type step = hooks.Step
	for _, p := range []hooks.Point[run]{hooks.ExecutionStart, hooks.Input} {
		checkModifications(t, p, func() *run { return &run{Output: 1} }, []modification[run]{
			{"nothing", func(*run) {}, false},
			{"inputs", func(x *run) { x.Inputs["k"] = 1 }, true},
			{"the output", func(x *run) { x.Output = 2 }, false},
		})
	}
	for _, p := range []hooks.Point[run]{hooks.Output, hooks.ExecutionEnd} {
		checkModifications(t, p, func() *run { return &run{Output: map[string]int{"a": 1}} }, []modification[run]{
			{"nothing", func(*run) {}, false},
			{"the output in place", func(x *run) { x.Output.(map[string]int)["a"] = 2 }, true},
			{"an output of another type", func(x *run) { x.Output = "text" }, true},
			{"inputs", func(x *run) { x.Inputs["k"] = 1 }, false},
		})
	}
	checkModifications(t, hooks.PreStep, func() *step { return &step{Input: []string{"a"}, Output: 1} }, []modification[step]{
		{"nothing", func(*step) {}, false},
		{"the input in place", func(s *step) { s.Input.([]string)[0] = "b" }, true},
		{"the output", func(s *step) { s.Output = 2 }, false},
	})
	checkModifications(t, hooks.PostStep, func() *step { return &step{Input: 1, Output: "text"} }, []modification[step]{
		{"nothing", func(*step) {}, false},
		{"the output", func(s *step) { s.Output = "new" }, true},
		{"the input", func(s *step) { s.Input = 2 }, false},
	})
}

// number is a type of a framework's own.
type number float64

// Modified is what HookPayload returns, one level deep.
func TestModified_atAFrameworksOwnPoint(t *testing.T) {
	t.Parallel()
	pointer := &job{}
	object := struct {
		A any
		B []int
	}{1, []int{1}}
	for _, tt := range []struct {
		name     string
		data     any
		change   func(*job)
		modified bool
	}{
		{"text", "a", func(j *job) { j.Data = "b" }, true},
		{"the same text", "a", func(j *job) { j.Data = "a" }, false},
		{"nil to something", nil, func(j *job) { j.Data = 1 }, true},
		{"something to nil", 1, func(j *job) { j.Data = nil }, true},
		{"nil", nil, func(j *job) { j.Data = nil }, false},
		{"a number's type", 1, func(j *job) { j.Data = 1.0 }, true},
		{"a truth", true, func(j *job) { j.Data = false }, true},
		{"not a number", math.NaN(), func(j *job) { j.Data = math.NaN() }, false},
		{"a number of its own type", number(1), func(j *job) { j.Data = number(2) }, true},
		{"a map in place", map[int]string{1: "a"}, func(j *job) { j.Data.(map[int]string)[1] = "b" }, true},
		{"a map's key in place", map[int]any{1: nil}, func(j *job) { clear(j.Data.(map[int]any)); j.Data.(map[int]any)[2] = nil }, true},
		{"an equal map", map[int]any{1: nil}, func(j *job) { j.Data = map[int]any{1: nil} }, false},
		{"a map made", map[int]string(nil), func(j *job) { j.Data = map[int]string{1: "a"} }, true},
		{"a set in place", map[string]struct{}{}, func(j *job) { j.Data.(map[string]struct{})["a"] = struct{}{} }, true},
		{"a slice in place", []number{1, 2}, func(j *job) { j.Data.([]number)[1] = 3 }, true},
		{"a slice cut", []number{1, 2}, func(j *job) { j.Data = j.Data.([]number)[:1] }, true},
		{"a slice made", []number(nil), func(j *job) { j.Data = []number{1} }, true},
		{"an equal slice", []number{1, 2}, func(j *job) { j.Data = []number{1, 2} }, false},
		{"a slice of anything", []any{1, "a", nil, []int{1}}, func(j *job) { j.Data.([]any)[2] = 1 }, true},
		{"bytes in place", []byte("abc"), func(j *job) { j.Data.([]byte)[0] = 'x' }, true},
		{"a struct", object, func(j *job) { o := object; o.A = 2; j.Data = o }, true},
		{"an equal struct", object, func(j *job) { j.Data = object }, false},
		{"another pointer", pointer, func(j *job) { j.Data = &job{} }, true},
		{"behind a pointer", pointer, func(j *job) { j.Data.(*job).Tool = "x" }, false},
		{"functions", func() {}, func(*job) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkModifications(t, newPoint[job](t), func() *job { return &job{Data: tt.data} },
				[]modification[job]{{"hook", tt.change, tt.modified}})
		})
	}
}

// Each hook has modified the context, and the dispatch hasn't.
func TestModified_notWhereAHookTakesItBack(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["k"] = 2 }), hooks.In(r))
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["k"] = 1 }), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Input: map[string]any{"k": 1}}))
	ev := events.one(t)
	assert.Equal(t, []hooks.Outcome{"modified", "modified"}, outcomes(ev))
	assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome)
}

// What a failing hook changed is not the next hook's doing.
func TestModified_byAFailingHookIsItsOwn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["k"] = 1; panic("boom") }), hooks.In(r))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
	ev := events.one(t)
	assert.Equal(t, []hooks.Outcome{"failed", "proceeded"}, outcomes(ev))
	assert.Equal(t, hooks.OutcomeModified, ev.Outcome)
}

// moody is a context whose payload can't always be told.
type moody struct {
	Data  string
	Panic bool
}

func (m *moody) HookPayload(hooks.InterceptionPoint) any {
	if m.Panic {
		panic("boom")
	}
	return m.Data
}

func TestHookPayload_panicHurtsNoDispatch(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*moody){
		"from the start": nil, "later": func(m *moody) { m.Panic = true }, "no more": func(m *moody) { m.Panic = false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPoint[moody](t)
			ctx, r := newRun(t)
			events := record(t, r)
			var tr trace
			if change != nil {
				hooks.On(p, edit(change), hooks.In(r))
			}
			hooks.On(p, note[moody](&tr, "ran"), hooks.In(r))
			require.NoError(t, hooks.Dispatch(ctx, p, &moody{Panic: name != "later"}))
			assert.Equal(t, "ran", tr.take())
			assert.Equal(t, hooks.OutcomeProceeded, events.one(t).Outcome)
		})
	}
}

func TestHookPayload_isAskedForItsPoint(t *testing.T) {
	t.Parallel()
	p, q := newPoint[twoSided](t), newPoint[twoSided](t)
	ctx, r := newRun(t)
	events := record(t, r)
	for _, point := range []hooks.Point[twoSided]{p, q} {
		hooks.On(point, edit(func(c *twoSided) { c.sides[p.Name()] += "!" }), hooks.In(r))
		require.NoError(t, hooks.Dispatch(ctx, point, &twoSided{map[hooks.InterceptionPoint]string{}}))
	}
	got := events.take()
	assert.Equal(t, hooks.OutcomeModified, got[0].Outcome)
	assert.Equal(t, hooks.OutcomeProceeded, got[1].Outcome)
}

// twoSided has another payload at each point.
type twoSided struct {
	sides map[hooks.InterceptionPoint]string
}

func (c *twoSided) HookPayload(p hooks.InterceptionPoint) any { return c.sides[p] }

// selfCopied is a context of a framework's own with a copy for watches, or none.
type selfCopied struct {
	N    int
	copy func(*selfCopied) *selfCopied
}

func (c *selfCopied) HookCopy() *selfCopied { return c.copy(c) }

// A watch gets what HookCopy gives. One that panics or has none to give hurts
// nobody: watches then see the context itself.
func TestHookCopy_failureHurtsNoDispatch(t *testing.T) {
	t.Parallel()
	other := &selfCopied{N: 2}
	for name, tt := range map[string]struct {
		copy func(*selfCopied) *selfCopied
		want int
	}{
		"a copy":          {func(*selfCopied) *selfCopied { return other }, 2},
		"panics":          {func(*selfCopied) *selfCopied { panic("boom") }, 1},
		"panics with nil": {func(*selfCopied) *selfCopied { panic(nil) }, 1},
		"nil":             {func(*selfCopied) *selfCopied { return nil }, 1},
	} {
		p := newPoint[selfCopied](t)
		ctx, r := newRun(t)
		events := record(t, r)
		var seen []int
		hooks.On(p, edit(func(c *selfCopied) { c.N = 1 }), hooks.In(r))
		for range 2 {
			hooks.Watch(p, func(_ context.Context, c *selfCopied, err error) {
				assert.NoError(t, err)
				seen = append(seen, c.N)
			}, hooks.In(r))
		}
		require.NoError(t, hooks.Dispatch(ctx, p, &selfCopied{copy: tt.copy}), name)
		assert.Equal(t, []int{tt.want, tt.want}, seen, name)
		assert.Equal(t, 3, events.one(t).HookCount, name)
	}
}
