package hooks_test

// Messages and their parts: which edits a message knows of, and that the
// framework's own are never written.

import (
	"context"
	"runtime"
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

// seamParts returns parts of a framework's own, as a host makes them.
func seamParts() []hooks.Part {
	return []hooks.Part{
		hooks.NewPart("native text", hooks.Part{Kind: "text", Text: "a secret"}),
		hooks.NewPart("native image", hooks.Part{Kind: "image"}),
	}
}

func seamRedact(s string) string { return strings.ReplaceAll(s, "secret", "***") }

func TestPart_knowsItsEdits(t *testing.T) {
	t.Parallel()
	edits := map[string]struct {
		edit   func(p *hooks.Part)
		edited bool
	}{
		"nothing":          {func(*hooks.Part) {}, false},
		"text":             {func(p *hooks.Part) { p.Text = "b" }, true},
		"text, emptied":    {func(p *hooks.Part) { p.Text = "" }, true},
		"text, and back":   {func(p *hooks.Part) { p.Text = "b"; p.Text = "a secret" }, false},
		"kind":             {func(p *hooks.Part) { p.Kind = "html" }, true},
		"native":           {func(p *hooks.Part) { p.Native = "other" }, true},
		"made by hand":     {func(p *hooks.Part) { *p = hooks.Part{Kind: p.Kind, Text: p.Text, Native: p.Native} }, true},
		"made anew":        {func(p *hooks.Part) { *p = hooks.NewPart("x", hooks.Part{Text: "y"}) }, false},
		"made anew edited": {func(p *hooks.Part) { *p = hooks.NewPart("x", hooks.Part{}); p.Text = "y" }, true},
		"a copy":           {func(p *hooks.Part) { q := *p; q.Text = "b"; assert.True(t, q.Edited()) }, false},
	}
	for name, tc := range edits {
		p := seamParts()[0]
		tc.edit(&p)
		assert.Equal(t, tc.edited, p.Edited(), name)
	}
	for _, native := range []any{nil, []byte("png"), map[string]int{}, func() {}} {
		p := hooks.NewPart(native, hooks.Part{Kind: "k", Native: "replaced"})
		assert.False(t, p.Edited(), "%T", native)
	}
	assert.Equal(t, "native", hooks.NewPart("native", hooks.Part{Native: "replaced"}).Native)
	assert.True(t, new(hooks.Part).Edited())
}

// Wherever a part stands, it is known after EditText whether it may be sent.
func TestPart_editTextKeepsItsNative(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(parts []hooks.Part) []hooks.Part{
		"Message.EditText": func(parts []hooks.Part) []hooks.Part {
			m := hooks.NewMessage(1, hooks.Message{Parts: parts})
			m.EditText(seamRedact)
			assert.True(t, m.Edited())
			return m.Parts
		},
		"ModelCall.EditText": func(parts []hooks.Part) []hooks.Part {
			m := hooks.ModelCall{Messages: []hooks.Message{{Content: "x"}, {Parts: parts}}}
			m.EditText(seamRedact)
			return m.Messages[1].Parts
		},
		"ModelCall.EditResponse": func(parts []hooks.Part) []hooks.Part {
			m := hooks.ModelCall{Parts: parts}
			m.EditResponse(seamRedact)
			return m.Parts
		},
		"ToolCall.EditText": func(parts []hooks.Part) []hooks.Part {
			c := hooks.ToolCall{Parts: parts}
			c.EditText(seamRedact)
			return c.Parts
		},
	} {
		own := seamParts()
		got := edit(own)
		require.Len(t, got, 2, name)
		assert.Equal(t, "a ***", got[0].Text, name)
		assert.Equal(t, "native text", got[0].Native, name)
		assert.True(t, got[0].Edited(), name)
		assert.False(t, got[1].Edited(), name)
		assert.Equal(t, seamParts(), own, "%s: the framework's own parts", name)
	}
}

func TestMessage_knowsEditsOfItsParts(t *testing.T) {
	t.Parallel()
	m := hooks.NewMessage(1, hooks.Message{Parts: seamParts()})
	assert.False(t, m.Edited())
	m.Parts[1] = hooks.NewPart("native image", hooks.Part{Kind: "image"})
	assert.False(t, m.Edited(), "an equal one")
	m.Parts[1] = hooks.NewPart("another image", hooks.Part{Kind: "image"})
	assert.True(t, m.Edited())
	assert.False(t, m.Parts[1].Edited(), "it may be sent, in a message that is rebuilt")
}

func TestModelCall_editTextOfAllMessages(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.EditText(seamRedact); return nil })
	history := []hooks.Message{
		hooks.NewMessage(1, hooks.Message{Role: "user", Content: "my secret"}),
		hooks.NewMessage(2, hooks.Message{Role: "assistant", Parts: seamParts(), ToolCalls: []hooks.ToolRequest{{Arguments: "secret"}}}),
		hooks.NewMessage(3, hooks.Message{Role: "user", Content: "fine"}),
	}
	sent := 0
	m := &hooks.ModelCall{Messages: history, Response: "secret"}
	require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		sent++
		assert.Equal(t, "my ***", m.Messages[0].Content)
		assert.Equal(t, "a ***", m.Messages[1].Text())
		assert.Equal(t, "secret", m.Messages[1].ToolCalls[0].Arguments, "arguments are no text")
		assert.Equal(t, []bool{true, true, false}, []bool{m.Messages[0].Edited(), m.Messages[1].Edited(), m.Messages[2].Edited()})
		return nil
	}))
	assert.Equal(t, 1, sent)
	for i := range history {
		assert.False(t, history[i].Edited(), "the framework's own")
	}
}

func TestModelCall_responseEdited(t *testing.T) {
	t.Parallel()
	body := func(_ context.Context, m *hooks.ModelCall) error {
		m.Response, m.Parts = "a secret", seamParts()
		m.ToolCalls = []hooks.ToolRequest{{ID: "1", Name: "ls", Arguments: "{}"}}
		m.RawResponse, m.FinishReason, m.Usage = "raw", "stop", hooks.Usage{In: 3, CachedIn: 2, Out: 2, Reasoning: 1, CacheWrite: 1}
		return nil
	}
	for name, tc := range map[string]struct {
		post   func(m *hooks.ModelCall) error
		edited bool
	}{
		"nothing":              {func(*hooks.ModelCall) error { return nil }, false},
		"response":             {func(m *hooks.ModelCall) error { m.Response = "b"; return nil }, true},
		"response, emptied":    {func(m *hooks.ModelCall) error { m.Response = ""; return nil }, true},
		"response, and back":   {func(m *hooks.ModelCall) error { m.Response = "b"; m.Response = "a secret"; return nil }, false},
		"EditResponse":         {func(m *hooks.ModelCall) error { m.EditResponse(seamRedact); return nil }, true},
		"EditResponse, same":   {func(m *hooks.ModelCall) error { m.EditResponse(strings.Clone); return nil }, false},
		"a part in place":      {func(m *hooks.ModelCall) error { m.Parts[0].Text = "b"; return nil }, true},
		"a part dropped":       {func(m *hooks.ModelCall) error { m.Parts = m.Parts[:1]; return nil }, true},
		"a tool call in place": {func(m *hooks.ModelCall) error { m.ToolCalls[0].Arguments = "x"; return nil }, true},
		"no tool calls":        {func(m *hooks.ModelCall) error { m.ToolCalls = nil; return nil }, true},
		"usage":                {func(m *hooks.ModelCall) error { m.Usage.In++; m.FinishReason = "x"; return nil }, false},
		"vetoed":               {func(*hooks.ModelCall) error { return hooks.Abort("no") }, true},
		"vetoed, by Goexit":    {func(*hooks.ModelCall) error { runtime.Goexit(); return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			fired := 0
			seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
				fired++
				assert.False(t, m.ResponseEdited(), "as the body left it")
				return tc.post(m)
			})
			var parts []hooks.Part
			m := &hooks.ModelCall{}
			seamLeave(t, func() error {
				return hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
					assert.False(t, m.ResponseEdited(), "in the body")
					err := body(ctx, m)
					parts = m.Parts
					return err
				})
			})
			assert.Equal(t, 1, fired)
			assert.Equal(t, tc.edited, m.ResponseEdited())
			assert.Equal(t, seamParts(), parts, "what the body made")
			assert.Equal(t, "raw", m.RawResponse)
			if strings.HasPrefix(name, "vetoed") {
				assert.Empty(t, m.Response)
				assert.Empty(t, m.Parts)
				assert.Empty(t, m.ToolCalls)
				assert.Equal(t, 3, m.Usage.In, "it was paid for")
				assert.Equal(t, "stop", m.FinishReason)
			}

			// The next use begins anew.
			require.NoError(t, hooks.RunModel(t.Context(), m, func(_ context.Context, m *hooks.ModelCall) error {
				assert.Equal(t, hooks.Usage{}, m.Usage)
				assert.Empty(t, m.FinishReason)
				assert.Empty(t, m.Parts)
				assert.Nil(t, m.RawResponse)
				return nil
			}))
			assert.False(t, m.ResponseEdited())
		})
	}
}

func TestModelCall_answerIsAResponse(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	answer := func(_ context.Context, m *hooks.ModelCall) error { m.Answer("a secret"); return nil }
	seamOnModel(r, hooks.PreModelCall, answer)
	m := &hooks.ModelCall{Parts: seamParts()}
	require.NoError(t, hooks.RunModel(ctx, m, func(context.Context, *hooks.ModelCall) error { t.Error("the model was called"); return nil }))
	assert.Equal(t, "a secret", m.Response)
	assert.Empty(t, m.Parts, "of no earlier response")
	assert.False(t, m.ResponseEdited())
	seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.EditResponse(seamRedact); return nil })
	require.NoError(t, hooks.RunModel(ctx, m, func(context.Context, *hooks.ModelCall) error { t.Error("the model was called"); return nil }))
	assert.Equal(t, "a ***", m.Response)
	assert.True(t, m.ResponseEdited())
}

// What a body and a framework keep of a model call is theirs.
func TestModelCall_hooksWriteIntoNobodysSlices(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	edits := 0
	spoil := func(_ context.Context, m *hooks.ModelCall) error {
		edits++
		m.Messages[0].Content, m.Messages[0].ToolCalls[0].Name, m.Messages[0].Parts[0].Text = "x", "x", "x"
		m.Tools[0] = "x"
		for i := range m.ToolCalls {
			m.ToolCalls[i].Name = "x"
		}
		for i := range m.Parts {
			m.Parts[i].Text = "x"
		}
		return nil
	}
	fresh := func() ([]hooks.Message, []string, []hooks.Part, []hooks.ToolRequest) {
		return []hooks.Message{{Content: "a", Parts: seamParts(), ToolCalls: []hooks.ToolRequest{{Name: "ls"}}}}, []string{"ls"},
			seamParts(), []hooks.ToolRequest{{Name: "ls"}}
	}
	wantMessages, wantTools, wantParts, wantCalls := fresh()
	for _, p := range []hooks.Point[hooks.ModelCall]{hooks.PreModelCall, hooks.PostModelCall} {
		reg := hooks.On(p, spoil, hooks.In(r))
		messages, tools, parts, calls := fresh()
		m := &hooks.ModelCall{Messages: messages, Tools: tools}
		var seen []hooks.Message
		require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			seen = m.Messages
			m.Parts, m.ToolCalls = parts, calls
			return nil
		}))
		assert.Equal(t, wantMessages, messages)
		assert.Equal(t, wantTools, tools)
		assert.Equal(t, wantParts, parts)
		assert.Equal(t, wantCalls, calls)
		if p == hooks.PostModelCall {
			assert.Equal(t, wantMessages, seen, "what was sent stays what was sent")
			assert.Equal(t, "x", m.ToolCalls[0].Name)
		}
		assert.Equal(t, "x", m.Messages[0].Content)
		reg.Remove()
	}
	assert.Equal(t, 2, edits)
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
