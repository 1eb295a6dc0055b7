package hooks_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

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

func TestArgAccessors(t *testing.T) {
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
		assert.False(t, strings.Contains(err.Error(), "secret"))
	}
}
