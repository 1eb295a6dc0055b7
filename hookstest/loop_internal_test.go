package hookstest

// The tables of scenarios, and the search for the prompt, which no loop shows
// from outside.

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loophooks/hooks"
)

func TestScenarios_namesAreUniqueAndInOrder(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, sc := range scenarios() {
		assert.False(t, seen[sc.name], "two scenarios are called %q", sc.name)
		for _, earlier := range append(sc.of[:len(sc.of):len(sc.of)], sc.after...) {
			assert.True(t, seen[earlier], "%q waits for %q, which isn't before it", sc.name, earlier)
		}
		seen[sc.name] = true
	}
	assert.NotEmpty(t, seen)
}

type textField struct {
	Text   string
	Any    any
	Inner  *textField
	hidden string
}

func TestReplaceText_findsTextAnywhere(t *testing.T) {
	t.Parallel()
	type named string
	for what, tc := range map[string]struct{ value, want any }{
		"text":       {"say old", "say new"},
		"named type": {named("old"), named("new")},
		"bytes":      {[]byte("old"), []byte("new")},
		"raw JSON":   {json.RawMessage(`"old"`), json.RawMessage(`"new"`)},
		"list":       {[]any{1, "old"}, []any{1, "new"}},
		"array":      {[2]string{"old", "x"}, [2]string{"new", "x"}},
		"map":        {map[string]any{"a": map[string]string{"b": "old"}}, map[string]any{"a": map[string]string{"b": "new"}}},
		"messages":   {[]hooks.Message{{Role: "user", Content: "old"}}, []hooks.Message{{Role: "user", Content: "new"}}},
		"parts":      {hooks.Message{Parts: []hooks.Part{{Text: "old"}}}, hooks.Message{Parts: []hooks.Part{{Text: "new"}}}},
		"pointer":    {&textField{Inner: &textField{Any: "old"}}, &textField{Inner: &textField{Any: "new"}}},
	} {
		got, found := replaceText(tc.value, "old", "new")
		assert.True(t, found, what)
		assert.Equal(t, tc.want, got, what)
	}
}

func TestReplaceText_leavesTheRest(t *testing.T) {
	t.Parallel()
	circle := &textField{Text: "x"}
	circle.Inner = circle
	for what, value := range map[string]any{
		"nothing": nil, "another text": "x", "a number": 1, "a nil pointer": (*textField)(nil),
		"an unexported field": textField{hidden: "old"}, "a circle": circle,
	} {
		got, found := replaceText(value, "old", "new")
		assert.False(t, found, what)
		assert.Equal(t, value, got, what)
	}
	given := &textField{Text: "old"}
	edited, _ := replaceText(given, "old", "new")
	assert.Equal(t, "old", given.Text, "what was given is not written")
	assert.Equal(t, &textField{Text: "new"}, edited)
}
