package hooks

// What a context shows a dispatch: the optional interfaces, all of them, the
// input that no hook may find nil, and the values that hooks are there to change.

import (
	"maps"
	"slices"

	"github.com/loophooks/hooks/internal/shallow"
)

// What a framework's own context may have; see [Define].
type (
	// toolNamer can be filtered by WithTools.
	toolNamer interface{ ToolName() string }
	// roleNamer can be filtered by WithAgents.
	roleNamer interface{ AgentRoleName() string }
	// payloader tells which of its values hooks are there to change at a
	// point. Map, slice and plain values are compared shallowly with what they
	// were; a pointer is the same as long as it points to the same place.
	payloader interface{ HookPayload(InterceptionPoint) any }
	// copier gives watches a copy that they may keep.
	copier[C any] interface{ HookCopy() *C }
	// failable is told by Run of a failure.
	failable interface{ SetHookError(error) }
	// answerable may have been given a ready result, so that Run has no body
	// to run.
	answerable interface{ Answered() bool }
)

// What the contexts of this package have, and with them those that embed one.
type (
	// readier has an input map.
	readier interface{ ready(side) inputMap }
	// detacher has maps and slices that are the framework's: hooks get copies.
	detacher interface{ detach(side) }
	// ownPayloader tells what hooks are there to change on a side.
	ownPayloader interface{ payload(side, *snapshot) }
	// refuser knows why its body can't be run whatever the hooks say.
	refuser interface{ refusal() error }
	// rerunner forgets what a run of its body left, as its value alone.
	rerunner interface {
		clearRun()
		clearValue()
	}
	// keeper remembers its value as the body left it.
	keeper interface{ keep() }
	// metered counts the tokens that a run of its body took.
	metered interface{ hookUsage() *Usage }
	// modeled names the model that its body calls.
	modeled interface{ modelName() string }
	// answerer can be given a ready answer, which belongs to one passage.
	answerer interface {
		forgetAnswer()
		recallAnswer()
	}
	// streamer can stream, and has the text of its stream.
	streamer interface {
		streamLink() *streamLink
		keepStreamed(*streamed)
		tellText(*leftText)
	}
	// calling, valued and identified tell who calls, what hooks left, and which
	// call it is.
	calling    interface{ hookCaller() *Caller }
	valued     interface{ hookValues() *Values }
	identified interface{ toolCallID() string }
)

// clearRun takes out of c what the last run of its body left, and returns why the
// body can't be run, nil if it can.
func clearRun(c any) error {
	switch c := c.(type) { // the first two need no dynamic look-up, here and below
	case *ToolCall:
		c.clearRun()
		return c.argErr
	case *ModelCall:
		c.clearRun()
		return nil
	}
	if own, ok := c.(rerunner); ok {
		own.clearRun()
	}
	if own, ok := c.(refuser); ok {
		return own.refusal()
	}
	return nil
}

// keepRun has c remember its value as a run of its body left it, and returns the
// usage of that run, nil if it has none.
func keepRun(c any) *Usage {
	switch c := c.(type) {
	case *ToolCall:
		c.keep()
		return nil
	case *ModelCall:
		c.keep()
		return c.hookUsage()
	}
	if own, ok := c.(keeper); ok {
		own.keep()
	}
	if own, ok := c.(metered); ok {
		return own.hookUsage()
	}
	return nil
}

// inputMap is where a context keeps its input, which no hook may find nil: not
// even the one behind a hook that set it so.
type inputMap = *map[string]any

// noInput is the input of contexts that have none. It is shared by all of them
// and never written, since it isn't nil.
var noInput = map[string]any{}

// ensureInput makes the map that hooks must not find nil.
func ensureInput(in inputMap) {
	if *in == nil {
		*in = make(map[string]any)
	}
}

// prepare returns the input map of c, or one that nobody sees.
func prepare(p *point, c any) inputMap {
	if !p.readied {
		return &noInput
	}
	switch c := c.(type) {
	case *ToolCall: // needs no dynamic look-up
		return c.ready(p.side)
	case *ModelCall:
		return c.ready(p.side)
	case readier:
		return c.ready(p.side)
	}
	return &noInput
}

// ownMap remembers the input map that the package itself made for a context.
type ownMap struct {
	made   map[string]any
	parsed bool // made is what SetArguments read
}

// detach puts a map of the context's own into *m, so that hooks don't write into
// the framework's. In front of the body a map that was made before will do, also
// for an earlier use; behind it the body may have kept that one. One that was made
// from a text stays there, but not between two runs of the body, where hooks edit
// what the next one gets.
func (o *ownMap) detach(m *map[string]any, at side) {
	switch mine := *m != nil && shallow.SameMap(*m, o.made); {
	case mine && (at == before || o.parsed && at == after):
		return
	case len(*m) == 0:
		*m = make(map[string]any)
	default:
		*m = maps.Clone(*m)
	}
	o.made, o.parsed = *m, false
}

// handOver ends the use of a map that a body saw and may have kept. One that was
// made from a text stays the context's own.
func (o *ownMap) handOver() {
	if !o.parsed {
		*o = ownMap{}
	}
}

// snapshot is the payload of a point. Its fields are those of the contexts that
// have them; a payload of several parts sets several.
type snapshot struct {
	input    map[string]any
	intake   any
	output   any // also of a payloader
	text     string
	parts    []Part
	messages []Message
	tools    []string
	calls    []ToolRequest
	answered bool
}

// freeze copies what a later change in place would change.
func (s *snapshot) freeze() {
	s.input = maps.Clone(s.input)
	if s.intake != nil || s.output != nil {
		s.intake, s.output = shallow.Clone(s.intake), shallow.Clone(s.output)
	}
	s.parts = slices.Clone(s.parts)
	s.tools = slices.Clone(s.tools)
	s.calls = slices.Clone(s.calls)
	s.messages = cloneMessages(s.messages)
}

// same compares all but the input map.
func (s *snapshot) same(now *snapshot) bool {
	return s.text == now.text && s.answered == now.answered &&
		shallow.Equal(s.intake, now.intake) && shallow.Equal(s.output, now.output) &&
		slices.EqualFunc(s.parts, now.parts, samePart) &&
		slices.EqualFunc(s.messages, now.messages, sameMessage) &&
		slices.Equal(s.tools, now.tools) && slices.Equal(s.calls, now.calls)
}
