package hooks_test

// What a tool call tells about itself, and its arguments as a model sends
// them.

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestToolCall_tellsWhatHappened(t *testing.T) {
	t.Parallel()
	type facts struct{ ran, answered, isError, edited, blocked bool }
	nothing := func(context.Context, *hooks.ToolCall) error { return nil }
	image := func(n int) []hooks.Part { return []hooks.Part{{Kind: "text", Text: "cat"}, {Kind: "image", Native: n}} }
	returns := func(_ context.Context, call *hooks.ToolCall) error {
		call.Result, call.Parts, call.RawResult = "cat", image(1), "raw"
		return nil
	}
	fails := func(context.Context, *hooks.ToolCall) error { return errors.New("disk full") }
	answers := func(_ context.Context, call *hooks.ToolCall) error { call.Answer("ready"); return nil }
	edits := func(edit func(call *hooks.ToolCall)) seamToolFunc {
		return func(_ context.Context, call *hooks.ToolCall) error { edit(call); return nil }
	}
	rewrites := edits(func(call *hooks.ToolCall) { call.Result = "dog" })
	refuses := seamRefuse(hooks.Abort("no"))
	for name, tc := range map[string]struct {
		pre, body, post seamToolFunc
		want            facts
	}{
		"success":                   {nothing, returns, nothing, facts{ran: true}},
		"an empty success":          {nothing, nothing, nothing, facts{ran: true}},
		"rewritten":                 {nothing, returns, rewrites, facts{ran: true, edited: true}},
		"rewritten to the same":     {nothing, returns, edits(func(c *hooks.ToolCall) { c.Result = "dog"; c.Result = "cat" }), facts{ran: true}},
		"emptied":                   {nothing, returns, edits(func(c *hooks.ToolCall) { c.Result = "" }), facts{ran: true, edited: true}},
		"text edited":               {nothing, returns, edits(func(c *hooks.ToolCall) { c.EditText(func(string) string { return "x" }) }), facts{ran: true, edited: true}},
		"text edited to the same":   {nothing, returns, edits(func(c *hooks.ToolCall) { c.EditText(func(s string) string { return s }) }), facts{ran: true}},
		"parts replaced":            {nothing, returns, edits(func(c *hooks.ToolCall) { c.Parts = image(2) }), facts{ran: true, edited: true}},
		"parts replaced by a copy":  {nothing, returns, edits(func(c *hooks.ToolCall) { c.Parts = image(1) }), facts{ran: true}},
		"a part in place":           {nothing, returns, edits(func(c *hooks.ToolCall) { c.Parts[0].Text = "dog" }), facts{ran: true, edited: true}},
		"a part dropped":            {nothing, returns, edits(func(c *hooks.ToolCall) { c.Parts = c.Parts[:1] }), facts{ran: true, edited: true}},
		"raw result replaced":       {nothing, returns, edits(func(c *hooks.ToolCall) { c.RawResult = "other" }), facts{ran: true}},
		"failed":                    {nothing, fails, nothing, facts{ran: true, isError: true}},
		"failed and rewritten":      {nothing, fails, rewrites, facts{ran: true, isError: true, edited: true}},
		"failed and recovered":      {nothing, fails, edits(func(c *hooks.ToolCall) { c.Err = nil }), facts{ran: true}},
		"panicked":                  {nothing, func(context.Context, *hooks.ToolCall) error { panic(1) }, nothing, facts{ran: true, isError: true}},
		"answered":                  {answers, returns, nothing, facts{answered: true}},
		"answered and rewritten":    {answers, returns, rewrites, facts{answered: true, edited: true}},
		"blocked":                   {refuses, returns, nothing, facts{isError: true, edited: true, blocked: true}},
		"withheld":                  {nothing, returns, refuses, facts{ran: true, isError: true, edited: true, blocked: true}},
		"failed and withheld":       {nothing, fails, refuses, facts{ran: true, isError: true, edited: true, blocked: true}},
		"answered and withheld":     {answers, returns, refuses, facts{isError: true, edited: true, blocked: true}},
		"marked failed by a hook":   {nothing, returns, edits(func(c *hooks.ToolCall) { c.Err = errors.New("no cats") }), facts{ran: true, isError: true}},
		"with unreadable arguments": {edits(func(c *hooks.ToolCall) { _ = c.SetArguments("[") }), returns, nothing, facts{isError: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				runs := 0
				counted := func(hook seamToolFunc) seamToolFunc {
					return func(ctx context.Context, call *hooks.ToolCall) error {
						runs++
						return hook(ctx, call)
					}
				}
				seamOnTool(r, hooks.PreToolCall, counted(tc.pre))
				seamOnTool(r, hooks.PostToolCall, counted(tc.post))
				call := &hooks.ToolCall{Name: "pet"}
				require.NoError(t, run(ctx, call, tc.body))
				assert.Equal(t, 2, runs)
				assert.Equal(t, tc.want, facts{call.Ran(), call.Answered(), call.IsError(), call.ResultEdited(), call.Blocked != nil})
				assert.False(t, call.ShouldRun(), "it is over")
			})
		})
	}
}

func TestToolCall_freshHasNothingToTell(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{Name: "ls"}
	assert.False(t, call.Ran() || call.Answered() || call.IsError() || call.ResultEdited() || call.ShouldRun())
	assert.Equal(t, "ls", call.ToolName())
}

func TestToolCall_reuseForgetsEdits(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PostToolCall, seamReturns("***"))
		call := &hooks.ToolCall{Name: "ls"}
		require.NoError(t, run(ctx, call, seamReturns("secret")))
		require.True(t, call.ResultEdited())
		require.NoError(t, run(t.Context(), call, seamReturns("harmless")))
		assert.False(t, call.ResultEdited())
	})
}

func TestToolCall_answerReplacesTheResult(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{Result: "old", Parts: []hooks.Part{{Kind: "text", Text: "old"}}}
	call.Answer("new")
	assert.Equal(t, "new", call.Result)
	assert.Empty(t, call.Parts)
	assert.True(t, call.Answered())
}

// A loop may dispatch the points itself.
func TestToolCall_knowsItsEditsWithoutASeam(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	call := &hooks.ToolCall{Name: "ls", Result: "secret"}
	seamOnTool(r, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return nil })
	require.NoError(t, hooks.Dispatch(ctx, hooks.PostToolCall, call))
	assert.False(t, call.ResultEdited())
	seamOnTool(r, hooks.PostToolCall, seamReturns("***"))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PostToolCall, call))
	assert.True(t, call.ResultEdited())
}

func TestBeginTool_tellsWhetherToRunTheTool(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pre  seamToolFunc
		want bool
	}{
		"passed":   {func(context.Context, *hooks.ToolCall) error { return nil }, true},
		"failed":   {func(context.Context, *hooks.ToolCall) error { return errors.New("bug") }, true},
		"answered": {func(_ context.Context, call *hooks.ToolCall) error { call.Answer(""); return nil }, false},
		"blocked":  {seamRefuse(hooks.Abort("no")), false},
		"garbled":  {func(_ context.Context, call *hooks.ToolCall) error { _ = call.SetArguments("{"); return nil }, false},
	} {
		ctx, r := seamScope(t)
		seamOnTool(r, hooks.PreToolCall, tc.pre)
		call := &hooks.ToolCall{Name: "ls"}
		_, end, err := hooks.BeginTool(ctx, call)
		require.NoError(t, err, name)
		assert.Equal(t, tc.want, call.ShouldRun(), name)
		if !tc.want {
			kept := call.Result
			require.NoError(t, end(errors.New("of a tool that wasn't run")), name)
			assert.Equal(t, kept, call.Result, name)
		} else {
			require.NoError(t, end(nil), name)
		}
		assert.Equal(t, tc.want, call.Ran(), name)
	}
}

func TestSetArguments_readsOneObjectStrictly(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]map[string]any{
		`{}`:                                {},
		" {\n} ":                            {},
		`{"a":1.5,"b":[true,null],"c":"x"}`: {"a": 1.5, "b": []any{true, nil}, "c": "x"},
		`{"n":9007199254740993}`:            {"n": json.Number("9007199254740993")},
		`{"n":9007199254740992}`:            {"n": float64(9007199254740992)},
		`{"Path":1,"path":2}`:               {"Path": float64(1), "path": float64(2)},
		`{"a":{"b":{"c":"d"}}}`:             {"a": map[string]any{"b": map[string]any{"c": "d"}}},
	} {
		call := &hooks.ToolCall{Input: map[string]any{"left": "over"}}
		require.NoError(t, call.SetArguments(raw), raw)
		assert.Equal(t, want, call.Input, raw)
		text, err := call.Arguments()
		require.NoError(t, err)
		assert.JSONEq(t, raw, text)
	}
}

func TestSetArguments_unreadableRunNoTool(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"a":1,"a":2}`, `[1]`, `{} x`, `null`, `"hunter2"`, `{"a":`, `{"a":{"b":1,"b":2}}`, `{'a':1}`, `{}{}`} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				var log []string
				seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
					log = append(log, "pre")
					assert.NotNil(t, call.Input)
					return nil
				})
				seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
					log = append(log, "post "+call.Result)
					return nil
				})
				call := &hooks.ToolCall{Name: "rm", Input: map[string]any{"left": "over"}}
				bad := call.SetArguments(raw)
				require.Error(t, bad)
				assert.ErrorContains(t, bad, "hooks: ")
				assert.Empty(t, call.Input)
				err := run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil })
				require.NoError(t, err, "the run goes on")
				assert.Equal(t, []string{"pre", "post " + call.Result}, log)
				assert.Contains(t, call.Result, "Tool was not run: arguments must be one JSON object: ", "the model reads why")
				assert.NotContains(t, call.Result, "hunter2")
				assert.Error(t, call.Err)
				assert.True(t, call.IsError())
				assert.Nil(t, call.Blocked)
			})
		})
	}
}

// A hook may also answer or refuse the call.
func TestSetArguments_unreadableMayBeRepaired(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook seamToolFunc
		ran  bool
		want string
	}{
		"repaired": {func(_ context.Context, call *hooks.ToolCall) error { return call.SetArguments(`{"path":"/tmp"}`) }, true, "listed"},
		"answered": {func(_ context.Context, call *hooks.ToolCall) error { call.Answer("nothing there"); return nil }, false, "nothing there"},
		"refused":  {seamRefuse(hooks.Abort("no")), false, "Tool execution blocked by hook. Tool: ls. Reason: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamOnTool(r, hooks.PreToolCall, tc.hook)
				call := &hooks.ToolCall{Name: "ls"}
				require.Error(t, call.SetArguments(`{"path":`))
				require.NoError(t, run(ctx, call, seamReturns("listed")))
				assert.Equal(t, tc.ran, call.Ran())
				assert.Equal(t, tc.want, call.Result)
				assert.NoError(t, call.Err)
			})
		})
	}
}

func TestSetArguments_newOnesMakeItRunAgain(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]func(call *hooks.ToolCall){
		"SetArguments": func(call *hooks.ToolCall) { _ = call.SetArguments(`{"path":"/tmp"}`) },
		"a new Input":  func(call *hooks.ToolCall) { call.Input = map[string]any{"path": "/tmp"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, _ *hooks.Registry, run seamRunTool) {
				call := &hooks.ToolCall{Name: "ls"}
				require.Error(t, call.SetArguments(`{"path":`))
				require.NoError(t, run(ctx, call, seamReturns("listed")))
				require.False(t, call.Ran())
				repair(call)
				require.NoError(t, run(ctx, call, seamReturns("listed")))
				assert.Equal(t, "listed", call.Result)
				assert.NoError(t, call.Err)
			})
		})
	}
}

// A call that a resumed run starts again has the arguments that it had: none
// that could be read.
func TestSetArguments_unreadableOutliveACancel(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, _ *hooks.Registry, run seamRunTool) {
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		call := &hooks.ToolCall{Name: "rm"}
		require.Error(t, call.SetArguments(`{"path":`))
		never := func(context.Context, *hooks.ToolCall) error {
			t.Error("the tool ran without its arguments")
			return nil
		}
		require.ErrorIs(t, run(cancelled, call, never), context.Canceled)
		require.NoError(t, run(ctx, call, never))
		assert.Contains(t, call.Result, "arguments")
	})
}

func TestArguments_failsForWhatJSONCannotHold(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"function": func() {}, "channel": make(chan int), "NaN": math.NaN(), "text": "\xff"} {
		call := &hooks.ToolCall{Input: map[string]any{"secret": value}}
		_, err := call.Arguments()
		require.Error(t, err, name)
		assert.ErrorContains(t, err, "hooks: ", name)
	}
	text, err := (&hooks.ToolCall{}).Arguments()
	require.NoError(t, err)
	assert.Equal(t, "{}", text)
}

func TestSetArguments_takesBlankForNone(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", " ", "\n\t\r "} {
		call := &hooks.ToolCall{Name: "now", Input: map[string]any{"left": "over"}}
		require.Error(t, call.SetArguments("["))
		require.NoError(t, call.SetArguments(raw), "%q", raw)
		require.NoError(t, call.ArgumentsError())
		assert.Equal(t, map[string]any{}, call.Input)
		text, err := call.Arguments()
		require.NoError(t, err)
		assert.Equal(t, "{}", text)
		ctx := hooks.WithScope(t.Context(), hooks.NewRegistry())
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		assert.True(t, call.Ran())
	}
	for _, raw := range []string{"\u00a0", "\u3000", "\v", "\uFEFF", "null", `""`} {
		require.Error(t, new(hooks.ToolCall).SetArguments(raw), "%q", raw)
	}
}

func TestArgAccessors_readOneTypeEach(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{}
	require.NoError(t, call.SetArguments(`{"path":"/tmp","amount":12.5,"force":true,"id":9007199254740993}`))

	path, err := call.StringArg("path")
	require.NoError(t, err)
	assert.Equal(t, "/tmp", path)
	amount, err := call.NumberArg("amount")
	require.NoError(t, err)
	assert.Equal(t, 12.5, amount)
	force, err := call.BoolArg("force")
	require.NoError(t, err)
	assert.True(t, force)

	_, err = call.NumberArg("id")
	require.EqualError(t, err, `hooks: argument "id": not a number that a float64 can hold`)
	_, err = call.NumberArg("path")
	require.EqualError(t, err, `hooks: argument "path": not a number`)
	_, err = call.StringArg("amount")
	require.EqualError(t, err, `hooks: argument "amount": not a string`)
	_, err = call.BoolArg("path")
	require.EqualError(t, err, `hooks: argument "path": not a boolean`)
	_, err = call.BoolArg("dry")
	require.EqualError(t, err, `hooks: argument "dry": missing`)
	_, err = call.StringArg("Path")
	require.EqualError(t, err, `hooks: argument "Path": key in another spelling`)
	_, err = new(hooks.ToolCall).StringArg("path")
	require.EqualError(t, err, `hooks: argument "path": missing`)
}

func TestArgAccessors_tellUnreadableArguments(t *testing.T) {
	t.Parallel()
	call := &hooks.ToolCall{}
	bad := call.SetArguments(`{"amount":1,"amount":5000}`)
	require.Error(t, bad)
	_, err := call.NumberArg("amount")
	assert.Equal(t, bad, err)

	call.Input = map[string]any{"amount": 1}
	amount, err := call.NumberArg("amount")
	require.NoError(t, err)
	assert.Equal(t, 1.0, amount)
}

// A model chooses the Go type of a number by how it writes it, and the spelling
// of a key. A guard that asks for the number holds, whatever is chosen.
func TestNumberArg_holdsAGuard(t *testing.T) {
	t.Parallel()
	runs := func(t *testing.T, raw string) (ran bool) {
		r := hooks.NewRegistry()
		asked := 0
		hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			asked++
			amount, err := call.NumberArg("amount")
			if err != nil {
				return err
			}
			if amount > 100 {
				return hooks.Abort("at most 100")
			}
			return nil
		}, hooks.In(r), hooks.AsGuard())
		call := &hooks.ToolCall{Name: "pay"}
		require.NoError(t, call.SetArguments(raw))
		require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, func(_ context.Context, call *hooks.ToolCall) error {
			// As a tool reads it that decodes into a struct.
			var args struct {
				Amount float64 `json:"amount"`
			}
			text, err := call.Arguments()
			if err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(text), &args); err != nil {
				return err
			}
			assert.LessOrEqual(t, args.Amount, 100.0)
			return nil
		}))
		assert.Equal(t, 1, asked, raw)
		return call.Ran()
	}
	for _, raw := range []string{
		`{"amount":5000}`, `{"amount":5e3}`, `{"amount":5000.00000000000000001}`, `{"amount":9007199254740993}`,
		`{"amount":1e400}`, `{"amount":"5000"}`, `{"amount":[5000]}`, `{"amount":null}`, `{}`, ``,
		`{"Amount":5000}`, `{"amount":1,"Amount":5000}`, `{"AMOUNT":5000,"amount":1}`,
	} {
		assert.False(t, runs(t, raw), raw)
	}
	for _, raw := range []string{`{"amount":99.5}`, `{"amount":0.1}`, `{"amount":1.0e2}`, `{"amount":-0}`} {
		assert.True(t, runs(t, raw), raw)
	}
}

func TestArguments_failsForNestedInvalidUTF8(t *testing.T) {
	t.Parallel()
	for _, value := range []any{[]string{"secret\xff"}, map[string]string{"a": "secret\xff"}, struct{ A string }{"secret\xff"}} {
		_, err := (&hooks.ToolCall{Input: map[string]any{"k": value}}).Arguments()
		require.EqualError(t, err, "hooks: arguments cannot be written as a JSON object: invalid UTF-8")
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestNumberArg_takesEveryNumberType(t *testing.T) {
	t.Parallel()
	type cents int64
	for _, v := range []any{7, int8(7), int64(7), uint(7), uint64(7), float32(7), 7.0, cents(7), json.Number("7"), json.Number("7.0")} {
		n, err := (&hooks.ToolCall{Input: map[string]any{"n": v}}).NumberArg("n")
		require.NoError(t, err, "%T", v)
		assert.Equal(t, 7.0, n, "%T", v)
	}
	for _, v := range []any{int64(1<<53 + 1), uint64(1<<63 + 1), json.Number("9007199254740993"), json.Number("1e400"), math.NaN(), math.Inf(1), "7", nil, true, json.Number("sk-secret")} {
		_, err := (&hooks.ToolCall{Input: map[string]any{"n": v}}).NumberArg("n")
		require.ErrorContains(t, err, `argument "n"`, "%T %v", v, v)
		assert.NotContains(t, err.Error(), "sk-secret")
	}
}

// Hooks get maps and slices of their own, at both points: what a body keeps of
// its call is not written behind its back.
func TestToolCall_hooksWriteIntoNobodysMap(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		edits := 0
		for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
			seamOnTool(r, p, edit(func(c *hooks.ToolCall) {
				edits++
				c.Input[string(p.Name())] = edits
				for i := range c.Parts {
					c.Parts[i].Text = "edited"
				}
			}))
		}
		given := map[string]any{"path": "/tmp"}
		call := &hooks.ToolCall{Name: "ls", Input: given}
		var kept []map[string]any
		var parts [][]hooks.Part
		body := func(_ context.Context, c *hooks.ToolCall) error {
			kept = append(kept, c.Input)
			c.Parts = []hooks.Part{{Kind: "text", Text: "raw"}}
			parts = append(parts, c.Parts)
			return nil
		}
		require.NoError(t, run(ctx, call, body))
		require.NoError(t, run(ctx, call, body), "again with what hooks left")
		assert.Equal(t, 4, edits)
		assert.Equal(t, map[string]any{"path": "/tmp"}, given)
		assert.Equal(t, []map[string]any{
			{"path": "/tmp", "pre_tool_call": 1},
			{"path": "/tmp", "pre_tool_call": 3, "post_tool_call": 2},
		}, kept)
		assert.Equal(t, map[string]any{"path": "/tmp", "pre_tool_call": 3, "post_tool_call": 4}, call.Input)
		for _, p := range parts {
			assert.Equal(t, []hooks.Part{{Kind: "text", Text: "raw"}}, p)
		}
		assert.Equal(t, []hooks.Part{{Kind: "text", Text: "edited"}}, call.Parts)
		assert.True(t, call.ResultEdited())
	})
}

func TestToolCall_parsedMapIsItsOwn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	call := &hooks.ToolCall{Name: "ls"}
	require.NoError(t, call.SetArguments(`{"path":"/tmp"}`))
	parsed := call.Input
	seamOnTool(r, hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Input["path"] = "/home" }))
	require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
		assert.Equal(t, map[string]any{"path": "/home"}, c.Input)
		return nil
	}))
	assert.Equal(t, map[string]any{"path": "/home"}, parsed, "nobody else has it, so that it isn't copied")
}

func TestToolCall_keepsTheRequest(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	request := &struct{ id int }{1}
	seen := 0
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		seamOnTool(r, p, edit(func(c *hooks.ToolCall) { seen++; assert.Same(t, request, c.Request) }))
	}
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "ls", Request: request}, seamReturns("a")))
	assert.Equal(t, 2, seen)
}
