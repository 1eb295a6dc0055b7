package arguments

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type textKey int

func (textKey) MarshalText() ([]byte, error) { return []byte("x\xff"), nil }

type pointerText struct{}

func (*pointerText) MarshalText() ([]byte, error) { return []byte("\xff"), nil }

type inner struct{ Text string }

type Outer struct{ Text string }

type word string

// encoding/json replaces bytes that aren't UTF-8, and so what a guard reads as
// two texts would be one.
func TestFormat_refusesInvalidUTF8(t *testing.T) {
	t.Parallel()
	bad := "\xff"
	for name, v := range map[string]any{
		"string":            bad,
		"named string":      word(bad),
		"pointer":           &bad,
		"[]string":          []string{"a", bad},
		"array":             [1]string{bad},
		"map":               map[string]string{"a": bad},
		"key":               map[string]int{bad: 1},
		"named key":         map[word]int{word(bad): 1},
		"marshaled key":     map[textKey]int{1: 1},
		"marshaled":         textKey(1),
		"pointer marshaler": []pointerText{{}},
		"struct":            inner{bad},
		"embedded":          struct{ inner }{inner{bad}},
		"embedded pointer":  struct{ *inner }{&inner{bad}},
		"exported embedded": struct{ Outer }{Outer{bad}},
		"nested":            []any{map[string]any{"a": []struct{ B map[string][]string }{{map[string][]string{"c": {bad}}}}}},
	} {
		got, err := Format(map[string]any{"k": v})
		require.EqualError(t, err, "arguments cannot be written as a JSON object: invalid UTF-8", name)
		assert.Empty(t, got)
	}
}

// U+FFFD that is really there is a character like any other, and what isn't
// written doesn't count.
func TestFormat_keepsReplacementCharacters(t *testing.T) {
	t.Parallel()
	type fields struct {
		A          string
		Skipped    string `json:"-"`
		unexported string
		Bytes      []byte
		Nil        *pointerText
		Any        any
		Keys       map[int]string
		Raw        json.RawMessage
	}
	v := fields{A: "\uFFFD", Skipped: "\xff", unexported: "\xff", Keys: map[int]string{1: ""}, Bytes: []byte("\xff"), Raw: json.RawMessage(`"\ufffd"`)}
	got, err := Format(map[string]any{"k": v, "\uFFFD": []string{"\uFFFD"}})
	require.NoError(t, err)
	assert.Equal(t, `{"k":{"A":"`+"\uFFFD"+`","Bytes":"/w==","Nil":null,"Any":null,"Keys":{"1":""},"Raw":"\ufffd"},"`+"\uFFFD"+`":["`+"\uFFFD"+`"]}`, got)
	assert.Equal(t, "\xff", v.unexported)
}
