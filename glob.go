package hooks

import (
	"strings"
	"unicode/utf8"
)

// isPattern reports whether a name given to a tool filter is a pattern for
// matchGlob and not a plain name.
func isPattern(name string) bool {
	return strings.ContainsAny(name, "*?")
}

// matchGlob reports whether the whole of name matches pattern. "*" stands for
// any run of characters, "/" and the empty run included, "?" for exactly one;
// everything else stands for itself, case included. A character is a rune, or
// one byte where the text isn't valid UTF-8. It doesn't allocate, and takes at
// most len(pattern) * len(name) steps.
func matchGlob(pattern, name string) bool {
	// Only the last star seen is ever widened: what an earlier one could win by
	// being longer, the last one can make up for. That keeps the time bounded.
	p, n := 0, 0
	starP, starN := -1, 0 // behind the last star, and where the text after its run begins
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			starP, starN = p, n
			continue
		}
		if p < len(pattern) {
			ps, ns := charLen(pattern, p), charLen(name, n)
			if pattern[p] == '?' || pattern[p:p+ps] == name[n:n+ns] {
				p += ps
				n += ns
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starN += charLen(name, starN)
		p, n = starP, starN
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// charLen returns the length in bytes of the character of s that begins at i.
func charLen(s string, i int) int {
	if s[i] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	return size
}
