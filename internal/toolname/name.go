package toolname

// Comparing names: one name with another, and one with an entry of a filter.

import "strings"

// Name is a tool's name. Its forms are made when they are first asked for, and
// so a Name isn't safe for concurrent use.
type Name struct {
	raw    string
	folded string
	flat   string
	hashed string
	made   form

	begins, ends bool // with a separator, which the folded forms drop
}

// form is a set of forms of a name.
type form uint8

const (
	formFolded form = 1 << iota
	formFlat
	formHashed
	formEdges
)

// Parse returns the name that is written as raw. It does no work yet.
func Parse(raw string) Name { return Name{raw: raw} }

// Raw returns the name as it is written.
func (n *Name) Raw() string { return n.raw }

// Folded returns Fold of the name.
func (n *Name) Folded() string {
	if n.made&formFolded == 0 {
		n.folded = Fold(n.raw)
		n.made |= formFolded
	}
	return n.folded
}

// Flat returns Flat of the name.
func (n *Name) Flat() string {
	if n.made&formFlat == 0 {
		n.flat = folding{}.of(n.raw, n.Folded())
		n.made |= formFlat
	}
	return n.flat
}

// edges reports whether the name has a separator before, and behind, what its
// folded forms hold.
func (n *Name) edges() (begins, ends bool) {
	if n.made&formEdges == 0 {
		n.made |= formEdges
		if s := n.raw; s != "" && (!isPlain(s[0]) || !isPlain(s[len(s)-1])) {
			whole := folding{words: true, lead: true, end: true}.of(s, n.Folded())
			n.begins, n.ends = strings.HasPrefix(whole, "_"), strings.HasSuffix(whole, "_")
		}
	}
	return n.begins, n.ends
}

func isPlain(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) }

// key returns the form in which spellings of one name are equal. Of a name of
// which folding leaves nothing that is the name itself.
func (n *Name) key() string {
	if k := n.Folded(); k != "" {
		return k
	}
	return n.raw
}

// hash returns Sanitize of the name if that holds a hash, else "".
func (n *Name) hash() string {
	if n.made&formHashed == 0 {
		n.hashed = hashed(n.raw)
		n.made |= formHashed
	}
	return n.hashed
}

// Same reports whether a and b are names of one tool: their folded forms are
// equal, or one is a spelling of what Sanitize makes of the other, and that
// holds a hash. What Sanitize makes without a hash is a spelling of the name
// only where it has lost nothing but what folding drops, and then the folded
// forms are equal: "search" isn't "search_天気".
//
// Names of which folding leaves nothing are the same only if they are equal.
func Same(a, b *Name) bool {
	return a.key() == b.key() || isHashOf(a, b) || isHashOf(b, a)
}

// isHashOf reports whether a is a spelling of what Sanitize makes of b, with a
// hash.
func isHashOf(a, b *Name) bool {
	return mayBeHashed(a.key()) && a.key() == b.hash()
}

// Match reports whether an entry of a tool filter covers name. An entry with "*"
// or "?" in it is a pattern, another one a plain name.
func Match(entry, name string) bool {
	n := Parse(name)
	if IsPattern(entry) {
		return CompilePattern(entry).Match(&n)
	}
	e := Parse(entry)
	return Same(&e, &n)
}
