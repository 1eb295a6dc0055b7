package hooks

// The context of a model call.

import (
	"context"
	"slices"
)

// ModelCall is the context of [PreModelCall] and [PostModelCall].
//
// The portable fields are authoritative: LLM, Executor, Request, RawResponse
// and the Native of messages and parts are what the framework had, for hooks to
// read.
//
// [RunModel] gives hooks copies of all its slices, at both points, so that they
// may edit them freely: the edits are for this call, unless the framework takes
// them over. Dropping a name from Tools hides it from the model and enforces
// nothing: a guard at [PreToolCall] does.
type ModelCall struct {
	Caller
	Values
	Model        string
	LLM          any
	Executor     any
	Iterations   int           // how many model calls the run has made before
	Messages     []Message     // what is sent
	Tools        []string      // the names offered this turn; dropping one hides it
	Response     string        // the text of the answer
	Parts        []Part        // what else the answer has: reasoning, images; "" in Response where it is all here
	ToolCalls    []ToolRequest // what the model asks for; what stands here after the post hooks runs
	FinishReason string        // why the model stopped, in the provider's word
	RawResponse  any           // the framework's own response; untouched by a text replacement
	Request      any           // the framework's own request
	Usage        Usage
	Err          error // why the call failed; setting it to nil recovers nothing, RunModel still returns the error

	answered bool
	body     modelResponse
	shelf    shelf[modelAnswer]
	stream   streamLink
}

// modelResponse is a response as the body left it.
type modelResponse struct {
	known    bool
	vetoed   bool
	filtered bool // a stream of it was let through otherwise than the model wrote it
	text     string
	parts    []Part
	calls    []ToolRequest
}

// Usage counts the tokens of one model call. In includes CachedIn, and Out
// includes Reasoning. CacheWrite counts what was written into the provider's
// cache. More may be added: set it with field names.
type Usage struct{ In, Out, CachedIn, CacheWrite, Reasoning int }

// add counts what another run took.
func (u *Usage) add(more Usage) {
	u.In += more.In
	u.Out += more.Out
	u.CachedIn += more.CachedIn
	u.CacheWrite += more.CacheWrite
	u.Reasoning += more.Reasoning
}

// Answer gives a ready response at [PreModelCall]: the model is not called and
// text stands as its response. Later pre hooks still run, and one of them may
// still abort.
func (m *ModelCall) Answer(text string) {
	m.Response, m.Parts, m.answered = text, nil, true
	m.shelf.given = int(m.level.Load())
}

// Answered reports whether a hook gave a ready response.
func (m *ModelCall) Answered() bool { return m.answered }

// EditText replaces the text of all messages by f of it, as
// [Message.EditText] does. It doesn't touch the response, nor the arguments of
// tool calls. Outside of a seam it writes into the array of Messages.
func (m *ModelCall) EditText(f func(string) string) {
	for i := range m.Messages {
		m.Messages[i].EditText(f)
	}
}

// EditResponse replaces the text of the response and of its parts by f of it.
// Changed parts are copied first. The arguments of ToolCalls are not text: edit
// them where they have to be redacted too.
func (m *ModelCall) EditResponse(f func(string) string) {
	m.Response, m.Parts = editText(m.Response, m.Parts, f)
}

// ResponseEdited reports whether Response, Parts or ToolCalls are no longer
// what the body left, were vetoed, or are what filters made of a stream. Then nothing structured that was made
// beside them, RawResponse included, may go into the history.
func (m *ModelCall) ResponseEdited() bool {
	return m.body.vetoed || m.body.filtered || m.body.known && (m.Response != m.body.text ||
		!slices.EqualFunc(m.Parts, m.body.parts, samePart) || !slices.Equal(m.ToolCalls, m.body.calls))
}

// Shown returns the text of [ChunkText] that the stream of the call has shown so
// far, "" if it has none. After the post hooks, Response may be something else: what
// they change is the history alone. After the seam it stays until the next use.
func (m *ModelCall) Shown() string { return m.stream.shown() }

func (m *ModelCall) streamLink() *streamLink { return &m.stream }

func (m *ModelCall) keepStreamed(of *streamed) {
	m.Response, m.Parts = of.put(m.Response, m.Parts)
	m.body.filtered = of.altered()
}

func (m *ModelCall) tellText(l *leftText) {
	l.add(m.Response, m.Parts)
	l.calls = slices.Clone(m.ToolCalls)
}

// RequestHumanInput asks a person and returns the trimmed answer. It fails
// when ctx is done and at the end of input, which is never a yes. See
// [WithHumanInput] and [SetHumanInput] for who is asked.
func (m *ModelCall) RequestHumanInput(ctx context.Context, prompt, message string) (string, error) {
	return requestHumanInput(ctx, prompt, message)
}

func (m *ModelCall) ready(side) inputMap { return &noInput }

// detach gives hooks slices that aren't the framework's. The body may have kept
// those that it saw, so that the hooks behind it get others.
func (m *ModelCall) detach(at side) {
	m.Messages, m.Tools = cloneMessages(m.Messages), slices.Clone(m.Tools)
	if at != before {
		m.Parts, m.ToolCalls = slices.Clone(m.Parts), slices.Clone(m.ToolCalls)
	}
}

func (m *ModelCall) payload(at side, s *snapshot) {
	if at != after {
		s.messages, s.tools, s.answered = m.Messages, m.Tools, m.answered
	}
	if at != before || m.answered {
		s.text, s.parts, s.calls = m.Response, m.Parts, m.ToolCalls
	}
}

// reset clears what an earlier use left.
func (m *ModelCall) reset() {
	m.forgetAnswer()
	m.Err = nil
	m.body = modelResponse{}
	m.clearResponse()
	m.RawResponse, m.FinishReason, m.Usage = nil, "", Usage{}
}

// clearResponse takes out what the model said. What it cost stays.
func (m *ModelCall) clearResponse() {
	m.Response, m.Parts, m.ToolCalls = "", nil, nil
}

// keep remembers the response as the body left it.
func (m *ModelCall) keep() {
	m.body = modelResponse{known: true, filtered: m.body.filtered, text: m.Response, parts: slices.Clone(m.Parts), calls: slices.Clone(m.ToolCalls)}
}

// clearRun takes out all that a run of the body left.
func (m *ModelCall) clearRun() {
	m.clearResponse()
	m.RawResponse, m.FinishReason, m.Usage, m.Err, m.answered = nil, "", Usage{}, nil, false
	m.body.filtered = false
}

func (m *ModelCall) clearValue() {
	m.clearResponse()
	m.answered = false
}

func (m *ModelCall) hookUsage() *Usage { return &m.Usage }

func (m *ModelCall) modelName() string { return m.Model }

// veto takes out a response that a post hook refused. RawResponse and Usage
// stay for the record.
func (m *ModelCall) veto() {
	m.clearResponse()
	m.body.vetoed = true
}

// hookCopy returns a copy that a watch may keep.
func (m *ModelCall) hookCopy() *ModelCall {
	c := &ModelCall{
		Caller: m.Caller, Model: m.Model, LLM: m.LLM, Executor: m.Executor, Iterations: m.Iterations,
		Messages: cloneMessages(m.Messages), Tools: slices.Clone(m.Tools),
		Response: m.Response, Parts: slices.Clone(m.Parts), ToolCalls: slices.Clone(m.ToolCalls),
		FinishReason: m.FinishReason, RawResponse: m.RawResponse, Request: m.Request, Usage: m.Usage, Err: m.Err,
		answered: m.answered, body: m.body, stream: streamLink{opened: m.stream.opened},
	}
	c.show(m.Values.copyOf())
	return c
}
