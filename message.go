package hooks

// Messages, parts and tool requests: the portable fields that hooks edit, and
// how a host finds out what they edited.

import (
	"slices"
	"strings"

	"github.com/loophooks/hooks/internal/shallow"
)

// ToolRequest is a tool call that a model asks for. Arguments is JSON as the
// model wrote it; see [ToolCall.SetArguments].
type ToolRequest struct{ ID, Name, Arguments string }

// Message is one message of a model call. It has Content, or Parts where it is
// more than text. Role is "system", "user", "assistant" or "tool".
//
// Ranging over messages by value edits copies; [ModelCall.EditText] edits all
// messages of a call.
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

// Part is one part of a message, a response or a result. Kind is "text",
// "image", "reasoning", and so on; Text is the part's text, if it has any.
type Part struct {
	Kind   string
	Text   string
	Native any // the framework's own part, for hooks to read; never sent once the part is edited

	origin *Part // the portable fields as NewPart saw them
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

// Text returns the text of the message: Content and the text of each part,
// without a separator between them. A secret that is spread over two parts is
// found in it, and [Message.EditText], which works part by part, won't replace it.
func (m *Message) Text() string {
	return joinText(m.Content, m.Parts)
}

// EditText replaces the text of the message by f of it, part by part. Changed
// parts are copied first, so that the framework's own array is not written; they
// keep their Native, of which a host may need more than the text, and
// [Part.Edited] says that it must not be sent as it is. The arguments of
// ToolCalls are not text: edit them where they have to be redacted too.
func (m *Message) EditText(f func(string) string) {
	m.Content, m.Parts = editText(m.Content, m.Parts, f)
}

// NewPart returns p for the framework's own part native, and remembers the
// portable fields, so that [Part.Edited] can tell whether native may still be
// sent.
func NewPart(native any, p Part) Part {
	p.Native = native
	p.origin = &Part{Kind: p.Kind, Text: p.Text, Native: native}
	return p
}

// Edited reports whether the part must be rebuilt from its portable fields
// instead of sending Native: true when a hook changed one of them since
// [NewPart], by EditText or by hand, and for a part that NewPart didn't make.
func (p Part) Edited() bool {
	return p.origin == nil || !samePart(*p.origin, p)
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
		parts[i].Text = text
	}
	return content, parts
}

// cloneMessages copies messages with the slices behind them.
func cloneMessages(messages []Message) []Message {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		m.Parts, m.ToolCalls = slices.Clone(m.Parts), slices.Clone(m.ToolCalls)
	}
	return messages
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
