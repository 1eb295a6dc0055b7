package policy

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestArgumentsText_isWhatTheCallSays(t *testing.T) {
	t.Parallel()
	loop := map[string]any{}
	loop["in"] = map[string]any{"itself": loop}
	for name, tt := range map[string]struct {
		input map[string]any
		plain bool
	}{
		"nil":              {nil, true},
		"empty":            {map[string]any{}, true},
		"sorted":           {map[string]any{"b": 1.0, "a": "x", "aa": true, "": nil}, true},
		"nested":           {map[string]any{"l": []any{1.0, "x", map[string]any{"k": []any{}}}, "m": map[string]any{}}, true},
		"integers":         {map[string]any{"a": 7, "b": -9.0, "c": 9007199254740991.0}, true},
		"a fraction":       {map[string]any{"a": 1.5}, false},
		"negative zero":    {map[string]any{"a": math.Copysign(0, -1)}, false},
		"a large number":   {map[string]any{"a": 1e21}, false},
		"no number":        {map[string]any{"a": math.NaN()}, false},
		"infinite":         {map[string]any{"a": math.Inf(-1)}, false},
		"quotes":           {map[string]any{"a": `say "x"`}, false},
		"a key to escape":  {map[string]any{"a\n": 1.0}, false},
		"another script":   {map[string]any{"검색": "天气"}, false},
		"HTML":             {map[string]any{"a": "<b>&"}, true},
		"invalid UTF-8":    {map[string]any{"a": "\xff"}, false},
		"nil map inside":   {map[string]any{"a": map[string]any(nil)}, false},
		"nil list inside":  {map[string]any{"a": []any(nil)}, false},
		"other types":      {map[string]any{"a": []string{"x"}, "n": json.Number("1.50")}, false},
		"what JSON hasn't": {map[string]any{"f": func() {}}, false},
		"a cycle":          {loop, false},
	} {
		call := &hooks.ToolCall{Input: tt.input}
		got, err := argumentsText(call)
		want, wantErr := call.Arguments()
		assert.Equal(t, want, got, name)
		assert.Equal(t, wantErr == nil, err == nil, name)
		_, plain := appendPlainMap(nil, tt.input, 0)
		assert.Equal(t, tt.plain, plain, name)
	}
}

func FuzzArgumentsText(f *testing.F) {
	f.Add(`{"a":[1,2.5,{"b":"<c>"}],"d":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		call := &hooks.ToolCall{}
		if json.Unmarshal([]byte(text), &call.Input) != nil {
			return
		}
		want, err := call.Arguments()
		got, gotErr := argumentsText(call)
		require.Equal(t, err == nil, gotErr == nil)
		require.Equal(t, want, got)
	})
}
