package toolname

// Patterns of names: which forms of a pattern are tried on which forms of a
// name.

import "slices"

// Pattern covers the names that it matches in one of their forms. It never
// changes, and is safe for concurrent use.
type Pattern struct {
	text string
	raw  glob
	// The literal parts folded, divided into words and not.
	folded, flat glob

	rawOnly bool // there are no folded forms
	asIs    bool // folded is the same as raw
	whole   bool // flat is the same as folded
}

// CompilePattern prepares a pattern. "*" in it is any run of characters, "/" and
// the empty run included, and "?" is exactly one. No pattern is invalid.
//
// Each literal part is folded as a name is, except that a separator beside a
// wildcard stays one "_"; at the ends of the pattern separators are dropped, as
// at those of a name. What a "*" stands for between two separators may be
// nothing, and then they are one, as they are in a name. A pattern that would lose a whole literal by that, or all
// of its literals as quotes, is tried on names as they are written only: "_*"
// must not cover everything.
func CompilePattern(pattern string) *Pattern {
	p := &Pattern{text: pattern, raw: newGlob(appendPattern(nil, pattern))}
	folded, ok := foldPattern(p.raw.prog, true)
	if !ok {
		p.rawOnly = true
		return p
	}
	flat, _ := foldPattern(p.raw.prog, false)
	p.folded, p.flat = newGlob(joinSeparators(folded)), newGlob(joinSeparators(flat))
	p.asIs = slices.Equal(p.folded.prog, p.raw.prog)
	p.whole = slices.Equal(p.flat.prog, p.folded.prog)
	return p
}

// String returns the pattern as it was given.
func (p *Pattern) String() string { return p.text }

// foldPattern returns prog with its literal parts folded; ok is false if the
// result says less than the pattern.
func foldPattern(prog []rune, words bool) (folded []rune, ok bool) {
	literals, left := false, false
	for i := 0; i < len(prog); {
		lo := i
		for i < len(prog) && prog[i] >= 0 {
			i++
		}
		if lo == i {
			folded = append(folded, prog[i])
			i++
			continue
		}
		literals = true
		text := literalText(prog[lo:i])
		s := folding{words: words, lead: lo > 0, end: i < len(prog)}.of(text, "")
		if s == "" && (folding{lead: true, end: true}).of(text, "") != "" {
			return nil, false
		}
		left = left || s != ""
		folded = appendLiteral(folded, s)
	}
	return folded, left || !literals
}

// literalText returns the text that a part of a program without wildcards was
// made from.
func literalText(prog []rune) string {
	var text []byte
	for _, c := range prog {
		if c >= invalid {
			text = append(text, byte(c-invalid))
		} else {
			text = append(text, string(c)...)
		}
	}
	return string(text)
}

// Match reports whether p covers n: whether it matches n as it is written, n
// folded, or n folded without the division into words. Its own literals are
// tried in both ways too. Where n has separators at its ends, a "_" in their
// place may be what the pattern's own separators stand for.
func (p *Pattern) Match(n *Name) bool {
	if p.raw.match(n.raw) {
		return true
	}
	if p.rawOnly {
		return false
	}
	folded := n.Folded()
	if folded == "" {
		return false
	}
	if (!p.asIs || folded != n.raw) && p.matchFolded(folded) {
		return true
	}
	flat := n.Flat()
	if flat != folded && p.matchFolded(flat) {
		return true
	}
	begins, ends := n.edges()
	return (begins || ends) && (p.matchEdged(folded, begins, ends) || flat != folded && p.matchEdged(flat, begins, ends))
}

// matchEdged matches a form with the separators that it has dropped.
func (p *Pattern) matchEdged(form string, begins, ends bool) bool {
	if begins {
		form = "_" + form
	}
	if ends {
		form += "_"
	}
	return p.matchFolded(form)
}

func (p *Pattern) matchFolded(form string) bool {
	return p.folded.match(form) || !p.whole && p.flat.match(form)
}
