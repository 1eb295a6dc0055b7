package hooks

import (
	"slices"
	"strings"

	"github.com/loophooks/hooks/internal/shallow"
)

// ToolRequest is a tool call that a model asks for. Arguments is JSON as the
// model wrote it; see [ToolCall.SetArguments].
type ToolRequest struct{ ID, Name, Arguments string }

// cloneMessages copies messages with the slices behind them.
func cloneMessages(messages []Message) []Message {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		m.Parts, m.ToolCalls = slices.Clone(m.Parts), slices.Clone(m.ToolCalls)
	}
	return messages
}

// Message is one message of a model call. It has Content, or Parts where it is
// more than text.
type Message struct {
	Role       string
	Content    string
	Name       string
	ToolCallID string
	Parts      []Part
	ToolCalls  []ToolRequest
	Native     any // the framework's own message, for hooks to read

	origin *Message // the portable fields as NewMessage saw them
}

// Part is one part of a message or a result. Kind is "text", "image", and so
// on; Text is the part's text, if it has any.
type Part struct {
	Kind   string
	Text   string
	Native any // the framework's own part, for hooks to read
}

// NewMessage returns m for the framework's own message native, and remembers
// the portable fields, so that [Message.Edited] can tell whether native may
// still be sent.
func NewMessage(native any, m Message) Message {
	m.Native = native
	origin := m
	origin.origin = nil
	origin.Parts = slices.Clone(m.Parts)
	origin.ToolCalls = slices.Clone(m.ToolCalls)
	m.origin = &origin
	return m
}

// Edited reports whether the message must be rebuilt from its portable fields
// instead of sending Native: true when a hook changed one of them since
// [NewMessage], and for a message that NewMessage didn't make.
func (m *Message) Edited() bool {
	return m.origin == nil || !samePortable(*m.origin, *m)
}

// Text returns the text of the message: Content and the text of each part.
func (m *Message) Text() string {
	return joinText(m.Content, m.Parts)
}

// EditText replaces the text of the message by f of it, part by part. Changed
// parts are copied first, so that the framework's own array is not written,
// and lose their Native, which holds the old text.
func (m *Message) EditText(f func(string) string) {
	m.Content, m.Parts = editText(m.Content, m.Parts, f)
}

func joinText(content string, parts []Part) string {
	if len(parts) == 0 {
		return content
	}
	var b strings.Builder
	b.WriteString(content)
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func editText(content string, parts []Part, f func(string) string) (string, []Part) {
	if content != "" {
		content = f(content)
	}
	copied := false
	for i, p := range parts {
		if p.Text == "" {
			continue
		}
		text := f(p.Text)
		if text == p.Text {
			continue
		}
		if !copied {
			parts, copied = slices.Clone(parts), true
		}
		parts[i].Text, parts[i].Native = text, nil
	}
	return content, parts
}

func samePart(a, b Part) bool {
	return a.Kind == b.Kind && a.Text == b.Text && shallow.Identical(a.Native, b.Native)
}

// samePortable compares what of a message a hook is there to edit.
func samePortable(a, b Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.Name == b.Name && a.ToolCallID == b.ToolCallID &&
		slices.EqualFunc(a.Parts, b.Parts, samePart) && slices.Equal(a.ToolCalls, b.ToolCalls)
}

func sameMessage(a, b Message) bool {
	return samePortable(a, b) && shallow.Identical(a.Native, b.Native)
}
