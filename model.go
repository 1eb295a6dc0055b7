package hooks

import (
	"context"
	"slices"
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
