package redact

// Window is what a filter is shown of a text.
type Window = window

// NewFilter returns what a filter does with each piece of a text.
func NewFilter(s *Set, with func(name, match string) string) func(Window) {
	f := &filter{set: s, with: with}
	return f.see
}

// AnyGroup returns p with each of its groups replaced.
func AnyGroup(p Pattern) Pattern {
	p.anyGroup = true
	return p
}

// MaxMatch is the bound on the length of a match in a whole text.
const MaxMatch = maxMatch

// ReplaceWithin is Replace with a bound on the length of a match.
func ReplaceWithin(s *Set, bound int, text string, with func(name, match string) string) string {
	return s.replace(text, bound, with)
}

// Work returns how many runes of text are read, those that are read again each
// time, and whether there were ever more threads than instructions.
func Work(s *Set, text string) (steps int, crowded bool) {
	m := s.machine(maxMatch)
	defer s.free(m)
	before := m.step
	for found := true; found; {
		_, found = find(m, text, final)
	}
	return int(m.step - before), cap(m.now) > 2*len(s.insts)
}
