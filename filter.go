package hooks

import (
	"context"
	"slices"
)

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
func (l *lane) ofTool(s *subject) span {
	if l.byTool == nil {
		return span{}
	}
	if g, ok := l.byTool[s.name]; ok {
		return g
	}
	if n := s.both(); n.norm != "" {
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

// subject is what a dispatch is about: filters look at the name and the role as
// they were when it began.
type subject struct {
	in     inputs
	name   string // the tool's
	role   string
	parsed toolName // see both
	known  bool     // parsed is set

	// renamed is the subject as the hooks left it, where one of them changed
	// the name or the role: guards match by either, since what they decide on
	// is what will really run.
	renamed *subject
}

// read looks at the context, as far as the point's hooks can filter by it.
func (s *subject) read(p *point, c any) {
	if p.hasTool {
		s.name = toolOf(c)
	}
	if p.hasRole {
		s.role = roleOf(c)
	}
}

// again looks once more, before the guards decide.
func (s *subject) again(p *point, c any) {
	var now subject
	if now.read(p, c); now.name != s.name || now.role != s.role {
		s.renamed = &subject{in: s.in, name: now.name, role: now.role}
	}
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
	if !s.matches(h) && (s.renamed == nil || !s.renamed.matches(h)) {
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

func (s *subject) matches(h *hook) bool {
	if h.byAgent && (len(h.agents) == 0 || s.role != "" && !slices.Contains(h.agents, s.role)) {
		return false
	}
	return h.tools == nil || !h.tools.patterned || h.tools.match(s.both())
}

// callerOf returns who makes the call that c is the context of.
func callerOf(ctx context.Context, c any) Caller {
	caller := CallerFrom(ctx)
	if own, ok := c.(interface{ hookCaller() *Caller }); ok {
		filled := *own.hookCaller()
		filled.fill(caller)
		return filled
	}
	return caller
}

func (s *subject) roleOr(c Caller) string {
	if s.role != "" {
		return s.role
	}
	return c.AgentRole
}
