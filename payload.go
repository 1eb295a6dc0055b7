package hooks

import (
	"maps"
	"slices"

	"github.com/loophooks/hooks/internal/shallow"
)

// payloader is a framework's own context that tells which of its values hooks
// are there to change at a point. Map, slice and plain values are compared
// shallowly with what they were; a pointer is the same as long as it points to
// the same place.
type payloader interface{ HookPayload(InterceptionPoint) any }

// ownPayloader is a context of this package, or one that embeds one. It fills
// in what hooks are there to change at p, or all of it at a point that isn't
// this package's.
type ownPayloader interface {
	payload(p InterceptionPoint, s *snapshot)
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
	s.intake, s.output = shallow.Clone(s.intake), shallow.Clone(s.output)
	s.parts = slices.Clone(s.parts)
	s.tools = slices.Clone(s.tools)
	s.calls = slices.Clone(s.calls)
	s.messages = cloneMessages(s.messages)
}

func (s *snapshot) same(now *snapshot) bool {
	return s.text == now.text && s.answered == now.answered &&
		shallow.EqualMaps(s.input, now.input) && shallow.Equal(s.intake, now.intake) && shallow.Equal(s.output, now.output) &&
		slices.EqualFunc(s.parts, now.parts, samePart) &&
		slices.EqualFunc(s.messages, now.messages, sameMessage) &&
		slices.Equal(s.tools, now.tools) && slices.Equal(s.calls, now.calls)
}

// readyFor makes c fit to be seen by hooks, and returns the map of c that must
// never be nil for one.
func readyFor[C any](p *point, c *C) inputs {
	if !p.readied {
		return &noInput
	}
	switch c := any(c).(type) {
	case *ToolCall: // needs no dynamic look-up
		return c.ready(p.name)
	case *ModelCall:
		return c.ready(p.name)
	case readier:
		return c.ready(p.name)
	}
	return &noInput
}

// inputs is where a context keeps its input, which no hook may find nil: not
// even the one after a hook that set it so.
type inputs *map[string]any

// noInput stands for the input of contexts that have none.
var noInput = map[string]any{}

func fill(in inputs) {
	if *in == nil {
		*in = make(map[string]any)
	}
}

type toolNamer interface{ ToolName() string }

type roleNamer interface{ AgentRoleName() string }

// readier is a context of this package, or one that embeds one.
type readier interface {
	ready(InterceptionPoint) inputs
}
