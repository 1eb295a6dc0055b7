package hooks

// Ready answers of a context that a hook begins once more while it is under
// way: each passage of a seam has its own.

// shelf keeps the answers that the passages around would lose. Passages are
// known by their level: how many points fire for the context while their hooks
// run.
type shelf[A any] struct {
	given int         // the level of the hook that gave the answer in the context, 0 if unknown
	kept  *shelved[A] // the innermost first
}

type shelved[A any] struct {
	level  int
	answer A
	around *shelved[A]
}

// put keeps the answer of the passage whose hooks run at level.
func (s *shelf[A]) put(level int, answer A) {
	s.take(level)
	s.kept = &shelved[A]{level, answer, s.kept}
}

// take returns the answer that was kept for level, and drops it with those of
// the passages inside.
func (s *shelf[A]) take(level int) (answer A, found bool) {
	for ; s.kept != nil && s.kept.level >= level; s.kept = s.kept.around {
		if s.kept.level == level {
			answer, found = s.kept.answer, true
		}
	}
	return answer, found
}

// toolAnswer is what a ready answer of a tool call consists of.
type toolAnswer struct {
	result string
	parts  []Part
	raw    any
}

// forgetAnswer begins a passage without an answer, or any value. One that a hook of the
// passage around gave is kept for it.
func (t *ToolCall) forgetAnswer() {
	t.ran, t.body = false, toolResult{}
	if t.answered || t.shelf.kept != nil { // else there is nothing to do, as a rule
		t.shelveAnswer()
	}
}

func (t *ToolCall) shelveAnswer() {
	if level := int(t.level.Load()); level == 0 {
		t.shelf.kept = nil
	} else if t.answered && t.shelf.given <= level {
		t.shelf.put(level, toolAnswer{t.Result, t.Parts, t.RawResult})
	}
	t.answered = false
}

// recallAnswer leaves the answer of the hooks that have just run, and none that
// a passage inside of them was given.
func (t *ToolCall) recallAnswer() {
	if t.answered || t.shelf.kept != nil {
		t.unshelveAnswer()
	}
}

func (t *ToolCall) unshelveAnswer() {
	level := int(t.level.Load()) + 1
	t.answered = t.answered && t.shelf.given <= level
	if a, kept := t.shelf.take(level); kept && !t.answered {
		t.Result, t.Parts, t.RawResult, t.answered = a.result, a.parts, a.raw, true
	}
}

// modelAnswer is what a ready answer of a model call consists of.
type modelAnswer struct {
	response string
	parts    []Part
	calls    []ToolRequest
	raw      any
	reason   string
	usage    Usage
}

// forgetAnswer is [ToolCall.forgetAnswer] of a model call.
func (m *ModelCall) forgetAnswer() {
	m.body = modelResponse{}
	if !m.answered && m.shelf.kept == nil {
		return
	}
	if level := int(m.level.Load()); level == 0 {
		m.shelf.kept = nil
	} else if m.answered && m.shelf.given <= level {
		m.shelf.put(level, modelAnswer{m.Response, m.Parts, m.ToolCalls, m.RawResponse, m.FinishReason, m.Usage})
	}
	m.answered = false
}

// recallAnswer is [ToolCall.recallAnswer] of a model call.
func (m *ModelCall) recallAnswer() {
	if !m.answered && m.shelf.kept == nil {
		return
	}
	level := int(m.level.Load()) + 1
	m.answered = m.answered && m.shelf.given <= level
	if a, kept := m.shelf.take(level); kept && !m.answered {
		m.Response, m.Parts, m.ToolCalls, m.answered = a.response, a.parts, a.calls, true
		m.RawResponse, m.FinishReason, m.Usage = a.raw, a.reason, a.usage
	}
}
