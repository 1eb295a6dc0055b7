package hooks

import "slices"

// toolFilter is what WithTools was given.
type toolFilter struct {
	names     []string   // as given, for listings
	parsed    []toolName // those that aren't patterns
	patterns  []string
	patterned bool
}

// toolName is a tool's name in both forms that filters compare.
type toolName struct {
	raw  string
	norm string // "" where the name has no normalised form of its own
}

func newToolName(raw string) toolName {
	norm, ok := normalizeToolName(raw)
	if !ok {
		// Names that come out empty are told apart by their fallback, which
		// must not make them match a tool that is really called so.
		return toolName{raw: raw}
	}
	return toolName{raw: raw, norm: norm}
}

// key is the form under which all names that match each other are the same.
func (n toolName) key() string {
	if n.norm != "" {
		return n.norm
	}
	return n.raw
}

func newToolFilter(names []string) *toolFilter {
	f := &toolFilter{names: names}
	for _, n := range names {
		if isPattern(n) {
			f.patterns, f.patterned = append(f.patterns, n), true
		} else {
			f.parsed = append(f.parsed, newToolName(n))
		}
	}
	return f
}

// match is the rule of WithTools. The index of a lane answers the same for
// hooks without patterns.
func (f *toolFilter) match(tool toolName) bool {
	for _, n := range f.parsed {
		if n.key() == tool.key() {
			return true
		}
	}
	for _, p := range f.patterns {
		if matchGlob(p, tool.raw) || tool.norm != "" && matchGlob(p, tool.norm) {
			return true
		}
	}
	return false
}

// ofTool returns the hooks of the lane that name the tool. A name that isn't
// known in any form costs one normalisation.
func (l *lane) ofTool(tool *subject) span {
	if l.byTool == nil {
		return span{}
	}
	if s, ok := l.byTool[tool.name]; ok {
		return s
	}
	if n := tool.both(); n.norm != "" {
		return l.byTool[n.norm]
	}
	return span{}
}

// toolOf returns the name of the tool that c is about, "" for none. The type
// of this package comes first, since it needs no dynamic look-up.
func toolOf(c any) string {
	switch c := c.(type) {
	case *ToolCall:
		return c.Name
	case toolNamer:
		return c.ToolName()
	}
	return ""
}

// roleOf returns the role of the agent that c is about, "" for none.
func roleOf(c any) string {
	switch c := c.(type) {
	case *ToolCall:
		return c.AgentRole
	case *ModelCall:
		return c.AgentRole
	case roleNamer:
		return c.AgentRoleName()
	}
	return ""
}

// subject is what a dispatch is about, as it was when it began.
type subject struct {
	in     inputs
	name   string // the tool's
	role   string
	parsed toolName // see both
	known  bool     // parsed is set
}

// both returns the tool's name in both forms.
func (s *subject) both() toolName {
	if !s.known {
		s.parsed, s.known = newToolName(s.name), true
	}
	return s.parsed
}

// admits says whether the filters that the lane's index doesn't cover let h
// run, and uses up a hook that runs once.
func (s *subject) admits(h *hook) bool {
	if h.byAgent && s.role != "" && !slices.Contains(h.agents, s.role) || h.byAgent && len(h.agents) == 0 {
		return false
	}
	if h.tools != nil && h.tools.patterned && !h.tools.match(s.both()) {
		return false
	}
	if h.once {
		if !h.used.CompareAndSwap(false, true) {
			return false
		}
		h.reg.Remove()
	}
	return true
}
