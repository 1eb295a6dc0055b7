package hooks_test

// Messages and their parts: which edits a message knows of, and that the
// framework's own are never written.

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// seamNative is a message of a framework's own.
type seamNative struct{ text string }

func seamMessage() (hooks.Message, *seamNative) {
	native := &seamNative{"original"}
	return hooks.NewMessage(native, hooks.Message{
		Role: "assistant", Content: "hello", Name: "bob", ToolCallID: "1",
		Parts: []hooks.Part{
			{Kind: "text", Text: " there", Native: 1},
			{Kind: "image", Native: 2},
		},
		ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "ls", Arguments: "{}"}},
	}), native
}

func TestMessage_knowsItsEdits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit   func(m *hooks.Message)
		edited bool
	}{
		"nothing":               {func(*hooks.Message) {}, false},
		"role":                  {func(m *hooks.Message) { m.Role = "user" }, true},
		"content":               {func(m *hooks.Message) { m.Content = "bye" }, true},
		"content, emptied":      {func(m *hooks.Message) { m.Content = "" }, true},
		"content, and back":     {func(m *hooks.Message) { m.Content = "bye"; m.Content = "hello" }, false},
		"name":                  {func(m *hooks.Message) { m.Name = "eve" }, true},
		"tool call id":          {func(m *hooks.Message) { m.ToolCallID = "2" }, true},
		"a part in place":       {func(m *hooks.Message) { m.Parts[0].Text = "bye" }, true},
		"a part's kind":         {func(m *hooks.Message) { m.Parts[0].Kind = "html" }, true},
		"a part's native":       {func(m *hooks.Message) { m.Parts[1].Native = 3 }, true},
		"a part dropped":        {func(m *hooks.Message) { m.Parts = m.Parts[:1] }, true},
		"a part added":          {func(m *hooks.Message) { m.Parts = append(m.Parts, hooks.Part{Kind: "text"}) }, true},
		"parts copied":          {func(m *hooks.Message) { m.Parts = slices.Clone(m.Parts) }, false},
		"a tool call in place":  {func(m *hooks.Message) { m.ToolCalls[0].Arguments = `{"a":1}` }, true},
		"tool calls dropped":    {func(m *hooks.Message) { m.ToolCalls = nil }, true},
		"text, the same":        {func(m *hooks.Message) { m.EditText(strings.Clone) }, false},
		"text, changed":         {func(m *hooks.Message) { m.EditText(strings.ToUpper) }, true},
		"native":                {func(m *hooks.Message) { m.Native = 1 }, false},
		"made anew by itself":   {func(m *hooks.Message) { *m = hooks.NewMessage(m.Native, *m) }, false},
		"made anew and changed": {func(m *hooks.Message) { *m = hooks.NewMessage(m.Native, *m); m.Content = "" }, true},
		"made without native":   {func(m *hooks.Message) { *m = hooks.Message{Content: "hello"} }, true},
	} {
		m, _ := seamMessage()
		tc.edit(&m)
		assert.Equal(t, tc.edited, m.Edited(), name)
	}
}

func TestMessage_keepsItsNative(t *testing.T) {
	t.Parallel()
	m, native := seamMessage()
	assert.Same(t, native, m.Native)
	m.EditText(strings.ToUpper)
	assert.Same(t, native, m.Native, "for hooks to read; Edited says that it isn't to be sent")
	assert.Equal(t, "original", native.text)
	assert.True(t, m.Edited())
}

func TestMessage_copiesAreEditedApart(t *testing.T) {
	t.Parallel()
	a, _ := seamMessage()
	b := a
	b.Content = "bye"
	assert.False(t, a.Edited())
	assert.True(t, b.Edited())
	c := b
	assert.True(t, c.Edited(), "a copy is as edited as what it was copied from")
}

// What a framework changes later in the slices that it gave is an edit as well.
func TestNewMessage_noticesLaterChanges(t *testing.T) {
	t.Parallel()
	parts := []hooks.Part{{Kind: "text", Text: "a"}}
	asked := []hooks.ToolRequest{{Name: "ls"}}
	m := hooks.NewMessage(nil, hooks.Message{Parts: parts, ToolCalls: asked})
	require.False(t, m.Edited())
	parts[0].Text = "b"
	assert.True(t, m.Edited())
	parts[0].Text = "a"
	asked[0].Name = "rm"
	assert.True(t, m.Edited())
}

// Natives of types that aren't comparable make no trouble.
func TestMessage_comparesAnyNative(t *testing.T) {
	t.Parallel()
	bytes := []byte("png")
	m := hooks.NewMessage(nil, hooks.Message{Parts: []hooks.Part{
		{Kind: "image", Native: bytes}, {Kind: "f", Native: func() {}}, {Kind: "m", Native: map[string]int{}},
		{Kind: "s", Native: struct{ b []byte }{bytes}},
	}})
	assert.False(t, m.Edited())
	m.Parts = slices.Clone(m.Parts)
	m.Parts[0].Native = []byte("png")
	assert.True(t, m.Edited())
}

func TestMessage_textIsThatOfAllParts(t *testing.T) {
	t.Parallel()
	m, _ := seamMessage()
	assert.Equal(t, "hello there", m.Text())
	assert.Equal(t, "a", (&hooks.Message{Content: "a"}).Text())
	assert.Equal(t, "ab", (&hooks.Message{Parts: []hooks.Part{{Kind: "text", Text: "a"}, {Kind: "image"}, {Kind: "text", Text: "b"}}}).Text())
	assert.Empty(t, (&hooks.Message{}).Text())
}

func TestEditText_writesNoArrayOfTheFramework(t *testing.T) {
	t.Parallel()
	parts := append(make([]hooks.Part, 0, 8),
		hooks.Part{Kind: "text", Text: "a secret", Native: 1},
		hooks.Part{Kind: "image", Native: 2},
		hooks.Part{Kind: "text", Text: "fine", Native: 3},
	)
	before := slices.Clone(parts)
	redact := func(s string) string { return strings.ReplaceAll(s, "secret", "***") }

	m := hooks.NewMessage(nil, hooks.Message{Content: "my secret", Parts: parts})
	m.EditText(redact)
	assert.Equal(t, "my ***", m.Content)
	assert.Equal(t, []hooks.Part{
		{Kind: "text", Text: "a ***", Native: 1}, // which holds the old text still
		{Kind: "image", Native: 2},
		{Kind: "text", Text: "fine", Native: 3},
	}, m.Parts)
	assert.True(t, m.Edited())
	assert.Equal(t, before, parts)
	assert.Equal(t, hooks.Part{}, parts[:4][3])

	call := &hooks.ToolCall{Result: "my secret", Parts: parts}
	call.EditText(redact)
	assert.Equal(t, "my ***", call.Result)
	assert.Equal(t, m.Parts, call.Parts)
	assert.Equal(t, before, parts)
}

func TestEditText_skipsWhatIsNoText(t *testing.T) {
	t.Parallel()
	m := hooks.Message{Parts: []hooks.Part{{Kind: "image", Native: 1}, {Kind: "text", Text: "a"}}}
	var asked []string
	m.EditText(func(s string) string { asked = append(asked, s); return s })
	assert.Equal(t, []string{"a"}, asked)
	m.EditText(func(string) string { return "" })
	assert.Equal(t, []hooks.Part{{Kind: "image", Native: 1}, {Kind: "text"}}, m.Parts, "an empty text is a real one")
}

// A hook may edit a message of a call in any way: the framework's history, its
// messages and their parts stay what they were.
func TestMessage_editsLeaveTheHistoryAlone(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(m *hooks.Message){
		"EditText":            func(m *hooks.Message) { m.EditText(strings.ToUpper) },
		"a field":             func(m *hooks.Message) { m.Content = "X" },
		"a part in place":     func(m *hooks.Message) { m.Parts[0].Text = "X" },
		"a part added":        func(m *hooks.Message) { m.Parts = append(m.Parts, hooks.Part{Text: "X"}) },
		"a request in place":  func(m *hooks.Message) { m.ToolCalls[0].Name = "X" },
		"a request forgotten": func(m *hooks.Message) { m.ToolCalls = m.ToolCalls[:0] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			seamOnModel(r, hooks.PreModelCall, seamEditing(edit))
			parts := append(make([]hooks.Part, 0, 4), hooks.Part{Kind: "text", Text: "a"})
			asked := append(make([]hooks.ToolRequest, 0, 4), hooks.ToolRequest{Name: "ls"})
			history := []hooks.Message{hooks.NewMessage(1, hooks.Message{Content: "hello", Parts: parts, ToolCalls: asked})}
			m := &hooks.ModelCall{Messages: history}
			require.NoError(t, hooks.RunModel(ctx, m, seamSaysNothing))
			assert.True(t, m.Messages[0].Edited())
			assert.False(t, history[0].Edited(), "the framework's own message")
			assert.Equal(t, []hooks.Part{{Kind: "text", Text: "a"}, {}}, parts[:2])
			assert.Equal(t, []hooks.ToolRequest{{Name: "ls"}, {}}, asked[:2])
		})
	}
}

func seamEditing(edit func(m *hooks.Message)) seamModelFunc {
	return func(_ context.Context, m *hooks.ModelCall) error {
		for i := range m.Messages {
			edit(&m.Messages[i])
		}
		return nil
	}
}

func seamSaysNothing(context.Context, *hooks.ModelCall) error { return nil }
