package hooks

import (
	"context"
	"slices"
	"strings"
)

// ModelCall is the context of [PreModelCall] and [PostModelCall].
//
// The portable fields are authoritative: LLM, Executor, Request, RawResponse
// and the Native of messages are what the framework had, for hooks to read.
//
// [RunModel] gives hooks copies of Messages and Tools, so that they may edit them
// freely. Dropping a name from Tools hides it from the model and enforces
// nothing: a guard at [PreToolCall] does.
type ModelCall struct {
	Caller
	Values
	Model       string
	LLM         any
	Executor    any
	Iterations  int           // how many model calls the run has made before
	Messages    []Message     // what is sent; edits are for this call
	Tools       []string      // the names offered this turn; dropping one hides it
	Response    string        // the text of the answer
	ToolCalls   []ToolRequest // what the model asks for; what stands here after the post hooks runs
	RawResponse any           // the framework's own response; untouched by a text replacement
	Request     any           // the framework's own request
	Usage       Usage
	Err         error // why the call failed

	answered bool
	borrowed bool // Messages and Tools are the framework's own arrays
}

// Usage counts the tokens of one model call.
type Usage struct{ In, Out int }

// ToolRequest is a tool call that a model asks for. Arguments is JSON as the
// model wrote it; see [ToolCall.SetArguments].
type ToolRequest struct{ ID, Name, Arguments string }

// Answer gives a ready response at [PreModelCall]: the model is not called and
// text stands as its response. Later pre hooks still run, and one of them may
// still abort.
func (m *ModelCall) Answer(text string) { m.Response, m.answered = text, true }

// Answered reports whether a hook gave a ready response.
func (m *ModelCall) Answered() bool { return m.answered }

// RequestHumanInput asks a person and returns the trimmed answer. It fails
// when ctx is done and at the end of input, which is never a yes. See
// [WithHumanInput] and [SetHumanInput] for who is asked.
func (m *ModelCall) RequestHumanInput(ctx context.Context, prompt, message string) (string, error) {
	return requestHumanInput(ctx, prompt, message)
}

// ready gives hooks arrays of their own, in the moment in which it is certain
// that there are hooks.
func (m *ModelCall) ready(InterceptionPoint) inputs {
	if m.borrowed {
		m.Messages, m.Tools, m.borrowed = cloneMessages(m.Messages), slices.Clone(m.Tools), false
	}
	return &noInput
}

func (m *ModelCall) payload(p InterceptionPoint, s *snapshot) {
	if p != PostModelCall.p.name {
		s.messages, s.tools, s.answered = m.Messages, m.Tools, m.answered
	}
	if p != PreModelCall.p.name || m.answered {
		s.text, s.calls = m.Response, m.ToolCalls
	}
}

// reset clears what an earlier use left.
func (m *ModelCall) reset() {
	m.answered, m.Err = false, nil
	m.clearResponse()
}

func (m *ModelCall) clearResponse() {
	m.Response, m.ToolCalls, m.RawResponse, m.Usage = "", nil, nil, Usage{}
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
	return a.Kind == b.Kind && a.Text == b.Text && identical(a.Native, b.Native)
}

// samePortable compares what of a message a hook is there to edit.
func samePortable(a, b Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.Name == b.Name && a.ToolCallID == b.ToolCallID &&
		slices.EqualFunc(a.Parts, b.Parts, samePart) && slices.Equal(a.ToolCalls, b.ToolCalls)
}

func sameMessage(a, b Message) bool { return samePortable(a, b) && identical(a.Native, b.Native) }
