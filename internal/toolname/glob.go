package toolname

// Matching one form of a pattern against one form of a name. The wildcards are
// "*" and "?"; every other character is itself, case included.

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// glob is one form of a pattern, ready to match.
type glob struct {
	prog       []rune // runes, bytes that aren't UTF-8 as invalid+byte, and the wildcards
	head, tail string // what each match begins and ends with
	need       string // what each match holds: the longest literal
	simple     bool   // there is nothing but head, one "*" and tail
}

const (
	star    rune = -1 // any run of characters, the empty one included
	one     rune = -2 // exactly one character
	between rune = -3 // behind a "_": any run that is empty or ends with "_"
	invalid rune = utf8.MaxRune + 1
)

// IsPattern reports whether an entry of a tool filter is a pattern and not a
// plain name.
func IsPattern(entry string) bool { return strings.ContainsAny(entry, "*?") }

// MatchGlob reports whether the whole of name, as it is written, matches
// pattern. "*" is any run of characters, "/" and the empty run included, "?"
// exactly one. A character is a rune, or one byte where the text isn't valid
// UTF-8. It takes at most len(pattern) * len(name) steps.
func MatchGlob(pattern, name string) bool {
	var buf [maxLength]rune
	return matchProg(appendPattern(buf[:0], pattern), name)
}

// appendPattern appends pattern as it is written.
func appendPattern(prog []rune, pattern string) []rune {
	for i := 0; i < len(pattern); {
		c, size := charAt(pattern, i)
		switch c {
		case '*':
			c = star
		case '?':
			c = one
		}
		prog = append(prog, c)
		i += size
	}
	return prog
}

func appendLiteral(prog []rune, text string) []rune {
	for i := 0; i < len(text); {
		c, size := charAt(text, i)
		prog = append(prog, c)
		i += size
	}
	return prog
}

// charAt returns the character of s that begins at i, and its length.
func charAt(s string, i int) (rune, int) {
	if s[i] < utf8.RuneSelf {
		return rune(s[i]), 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	if r == utf8.RuneError && size == 1 {
		r = invalid + rune(s[i])
	}
	return r, size
}

// newGlob prepares prog. The texts of a glob hold whole runes alone: only those
// are found by comparing bytes, since a byte that isn't UTF-8 may be part of a
// rune in a name.
func newGlob(prog []rune) glob {
	prog = slices.CompactFunc(slices.Clone(prog), func(a, b rune) bool { return a == star && b == star })
	g := glob{prog: prog}
	isRune := func(c rune) bool { return 0 <= c && c < invalid }
	for i := 0; i < len(prog); i++ {
		lo := i
		for i < len(prog) && isRune(prog[i]) {
			i++
		}
		text := string(prog[lo:i])
		if len(text) > len(g.need) {
			g.need = text
		}
		if lo == 0 {
			g.head = text
			g.simple = i < len(prog) && prog[i] == star && !slices.ContainsFunc(prog[i+1:], func(c rune) bool { return !isRune(c) })
		} else if i == len(prog) {
			g.tail = text
		}
	}
	return g
}

// match reports whether the whole of name matches. It doesn't allocate.
func (g *glob) match(name string) bool {
	if len(name) < len(g.head)+len(g.tail) || !strings.HasPrefix(name, g.head) || !strings.HasSuffix(name, g.tail) {
		return false
	}
	return g.simple || strings.Contains(name, g.need) && matchProg(g.prog, name)
}

func matchProg(prog []rune, name string) bool {
	// Only the last star seen is ever widened: what an earlier one could win by
	// being longer, the last one can make up for. That keeps the time bounded.
	p, n := 0, 0
	starP, starN := -1, 0 // behind the last star, and where the text after its run begins
	for n < len(name) {
		if p < len(prog) && isRun(prog[p]) {
			p++
			starP, starN = p, n
			continue
		}
		if p < len(prog) {
			c, size := charAt(name, n)
			if prog[p] == one || prog[p] == c {
				p++
				n += size
				continue
			}
		}
		if starP < 0 {
			return false
		}
		if prog[starP-1] == between {
			width := strings.IndexByte(name[starN:], '_') + 1
			if width == 0 {
				return false
			}
			starN += width
		} else {
			_, size := charAt(name, starN)
			starN += size
		}
		p, n = starP, starN
	}
	for p < len(prog) && isRun(prog[p]) {
		p++
	}
	return p == len(prog)
}

func isRun(c rune) bool { return c == star || c == between }

// joinSeparators lets what a star stands for between two "_" be nothing, where
// folding leaves one "_" of them.
func joinSeparators(prog []rune) []rune {
	var out []rune
	for i := 0; i < len(prog); i++ {
		out = append(out, prog[i])
		if prog[i] != '_' {
			continue
		}
		// Of several such stars in a row one says all: "_*_*_" is "_" and a run
		// that is empty or ends with "_".
		last := i
		for j := i + 1; j < len(prog) && (prog[j] == star || prog[j] == '_'); j++ {
			if prog[j] == '_' {
				last = j
			}
		}
		if last > i {
			out = append(out, between)
			i = last
		}
	}
	return out
}
