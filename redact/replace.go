package redact

// Whole texts, and texts in several parts.

import (
	"cmp"
	"slices"
	"strings"
)

// maxMatch is the bound on the length of a match in a whole text, in bytes. It
// is what a stream holds back at most, if nothing else was said.
const maxMatch = 4096

// Replace returns text with each match replaced by what with returns for the
// pattern's Name and the match, or for the group where the pattern has one. If
// nothing is found, it returns text itself.
//
// Without checks, groups and matches that reach 4,096 bytes, this is what
// [regexp.Regexp.ReplaceAllStringFunc] does for the alternation of all patterns.
// A match of 4,096 bytes or more is replaced as soon as it is that long, with
// what is there of it passed to with, and what belongs to it further on is left
// out, until nothing can belong to it any more. It is never checked, and counts
// even if the pattern as a whole wouldn't have matched: give expressions an end.
//
// Replace takes time in proportion to the text, but for patterns with a Check
// that fails or a group in front of the match's end: they look at the rest of
// the match again.
func (s *Set) Replace(text string, with func(name, match string) string) string {
	return s.replace(text, maxMatch, with)
}

// replace is Replace with a bound.
func (s *Set) replace(text string, bound int, with func(name, match string) string) string {
	m := s.machine(bound)
	defer s.free(m)
	var b strings.Builder
	shown := 0
	for {
		sp, ok := find(m, text, final)
		if !ok {
			break
		}
		if shown == 0 {
			b.Grow(len(text))
		}
		b.WriteString(text[shown:sp.lo])
		if !sp.more {
			b.WriteString(with(s.patterns[sp.pattern].Name, text[sp.lo:sp.hi]))
		}
		shown = sp.hi
	}
	if shown == 0 {
		return text
	}
	b.WriteString(text[shown:])
	return b.String()
}

// ReplaceParts is [Set.Replace] for a text that comes in parts, as the text of a
// message does. It returns as many parts as it is given. They are searched one
// by one and joined, since a secret may be in one of them, or begin in one and
// end in another: the replacement is then in the first, and the others lack what
// belonged to it. Matches that overlap have one replacement, which with chooses
// by the name of the first and all of their text.
func (s *Set) ReplaceParts(texts []string, with func(name, match string) string) []string {
	joined := strings.Join(texts, "")
	found := s.stretches(nil, joined, 0)
	if len(texts) > 1 {
		at := 0
		for _, part := range texts {
			found = s.stretches(found, part, at)
			at += len(part)
		}
		found = merge(found)
	}
	out := slices.Clone(texts)
	if len(found) == 0 {
		return out
	}
	at := 0
	for i, part := range texts {
		for len(found) > 0 && found[0].hi <= at {
			found = found[1:]
		}
		out[i] = cut(part, at, found, func(st stretch) string {
			return with(s.patterns[st.pattern].Name, joined[st.lo:st.seen])
		})
		at += len(part)
	}
	return out
}

// stretch is a stretch of text with one replacement.
type stretch struct {
	lo, hi  int
	seen    int // up to where the match is shown to the function that replaces it
	pattern int32
}

// stretches appends the stretches of text that aren't shown to found, with at
// added to their offsets.
func (s *Set) stretches(found []stretch, text string, at int) []stretch {
	m := s.machine(maxMatch)
	defer s.free(m)
	for {
		sp, ok := find(m, text, final)
		switch {
		case !ok:
			return found
		case sp.more:
			found[len(found)-1].hi = at + sp.hi
		default:
			found = append(found, stretch{lo: at + sp.lo, hi: at + sp.hi, seen: at + sp.hi, pattern: sp.pattern})
		}
	}
}

// merge puts the stretches in order and makes one of those that overlap.
func merge(found []stretch) []stretch {
	slices.SortStableFunc(found, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(b.hi, a.hi))
	})
	merged := found[:0]
	for _, st := range found {
		last := len(merged) - 1
		if last < 0 || st.lo >= merged[last].hi {
			merged = append(merged, st)
			continue
		}
		if merged[last].seen == merged[last].hi { // it isn't one that was too long
			merged[last].seen = max(merged[last].seen, st.seen)
		}
		merged[last].hi = max(merged[last].hi, st.hi)
	}
	return merged
}

// cut returns the part that begins at the offset, without what of it is in the
// stretches, and with a replacement for each that begins in it. None of the
// stretches ends in front of the part.
func cut(part string, at int, found []stretch, replacement func(stretch) string) string {
	var b strings.Builder
	shown, end := at, at+len(part)
	for _, st := range found {
		if st.lo >= end {
			break
		}
		if st.lo >= at {
			b.WriteString(part[shown-at : st.lo-at])
			b.WriteString(replacement(st))
		}
		shown = min(st.hi, end)
	}
	if shown == at {
		return part
	}
	b.WriteString(part[shown-at:])
	return b.String()
}
