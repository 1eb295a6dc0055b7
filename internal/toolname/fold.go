// Package toolname tells which names are spellings of one tool's name, and
// which names a pattern covers. It knows names alone, no hooks.
package toolname

// The folded form of a name, under which spellings of one name are equal: words
// joined by "_", without case and quotes, in the script that they are written in.

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the folded form of name: two names with the same form are
// spellings of one.
//
//   - Compatibility forms are resolved (Unicode NFKC): "Ｆｉｌｅ" is "File".
//   - A word begins at an upper-case letter behind a lower-case one, and at the
//     last of several upper-case letters if a lower-case one follows: "aB" is
//     two words and so is "ABCd". Letters of every script count, title case is
//     upper case, and a combining mark belongs to its letter.
//   - Case is folded by unicode.SimpleFold; besides, ß is ss, and İ is i with
//     its dot as a mark.
//   - The quotes ' and " are dropped, and the typographic ones of U+2018 to
//     U+201F as well.
//   - A run of _ - . / : and white space is one "_", and is dropped at either
//     end.
//
// All else is kept: letters, digits and marks of every script, other symbols,
// characters that can't be seen. Letters that only look alike, such as Latin and
// Cyrillic a, stay different. Bytes that aren't UTF-8 stay as they are, and
// quotes between two of them are kept, since the bytes might make a character
// together.
//
// The form may be empty, is never shortened, and is its own folded form. A name
// that is folded already is returned as it is, without allocating.
func Fold(name string) string { return folding{words: true}.of(name, "") }

// Flat is Fold without the division into words: "aB" is one.
func Flat(name string) string { return folding{}.of(name, "") }

// folding is what the ways to fold a text differ in.
type folding struct {
	words     bool // divide at changes of case
	lead, end bool // keep a separator at the text's beginning, and at its end
}

// of folds text. It returns text or known where that is the result, so as not
// to make it twice.
func (f folding) of(text, known string) string {
	if isFolded(text) {
		return text
	}
	// Names of the usual length are worked on in this, on the stack.
	var buf [2 * maxLength]byte
	if isASCII(text) {
		out := f.append(buf[:0], text)
		switch string(out) {
		case text:
			return text
		case known:
			return known
		}
		return string(out)
	}
	out := f.append(buf[:0], compose(text))
	switch string(out) {
	case text:
		return compose(text)
	case known:
		return known
	}
	// A letter's other case may compose with a mark where it doesn't itself, and
	// a mark may have come to stand behind a letter where a quote is dropped.
	return compose(string(out))
}

// isFolded reports whether an ASCII text is its own folded form. Of other texts
// it knows nothing.
func isFolded(text string) bool {
	prev := byte('_') // as if text followed one: a leading "_" isn't folded
	for i := range len(text) {
		c := text[i]
		switch {
		case isLower(c), isDigit(c):
		case c == '_':
			if prev == '_' {
				return false
			}
		case c >= utf8.RuneSelf, isUpper(c), kindOf(rune(c)) != other:
			return false
		}
		prev = c
	}
	return prev != '_' || text == ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// compose returns the NFKC form of s, between the bytes that aren't UTF-8:
// package norm leaves what stands behind such a byte as it is.
func compose(s string) string {
	if utf8.ValidString(s) {
		return norm.NFKC.String(s)
	}
	out := make([]byte, 0, len(s))
	for s != "" {
		n := validPrefix(s)
		out = append(out, norm.NFKC.String(s[:n])...)
		if s = s[n:]; s != "" {
			out = append(out, s[0])
			s = s[1:]
		}
	}
	return string(out)
}

// validPrefix returns the length of the longest valid UTF-8 prefix of s.
func validPrefix(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

// append appends the folded form of text, which is composed, to the empty dst.
func (f folding) append(dst []byte, text string) []byte {
	gap := false  // a separator is due before the next character
	prev := other // of the character before, marks left out
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			dst = f.appendGap(dst, gap)
			dst = append(dst, text[i])
			gap, prev = false, other
			i++
			continue
		}
		k := kindOf(r)
		switch k {
		case separator:
			gap = true
		case quote:
			var keep bool
			if size, keep = quotes(text[i:]); keep && !gap && endsInvalid(dst) {
				dst = append(dst, text[i:i+size]...)
			}
		default:
			if f.words && k == upper && (prev == lower || prev == upper && letterAt(text[i+size:]) == lower) {
				gap = true
			}
			dst = f.appendGap(dst, gap)
			dst = appendRune(dst, r)
			gap = false
		}
		if k != mark {
			prev = k
		}
		i += size
	}
	if gap && f.end {
		dst = f.appendGap(dst, gap)
	}
	return dst
}

func (f folding) appendGap(dst []byte, gap bool) []byte {
	if gap && (f.lead || len(dst) > 0) {
		dst = append(dst, '_')
	}
	return dst
}

// quotes returns the length of the quotes that s begins with, and whether a byte
// that isn't UTF-8 follows.
func quotes(s string) (length int, beforeInvalid bool) {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return i, true
		case kindOf(r) != quote:
			return i, false
		}
		i += size
	}
	return len(s), false
}

func endsInvalid(b []byte) bool {
	r, size := utf8.DecodeLastRune(b)
	return r == utf8.RuneError && size == 1
}

// letterAt returns the kind of the first character of s that isn't a mark.
func letterAt(s string) kind {
	for _, r := range s { // an invalid byte is U+FFFD, which is no letter either
		if k := kindOf(r); k != mark {
			return k
		}
	}
	return other
}

// kind is what a character counts as.
type kind uint8

const (
	other kind = iota
	lower
	upper
	mark
	quote
	separator
)

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		switch c := byte(r); {
		case isLower(c):
			return lower
		case isUpper(c):
			return upper
		case isDigit(c):
			return other
		}
		switch r {
		case '\'', '"':
			return quote
		case '_', '-', '.', '/', ':', ' ', '\t', '\n', '\v', '\f', '\r':
			return separator
		}
		return other
	case unicode.IsMark(r):
		return mark
	case unicode.IsLower(r):
		return lower
	// A letter that folding leaves as it is would divide the folded form again.
	case unicode.IsUpper(r), unicode.IsTitle(r):
		if r == dottedI || foldRune(r) != r {
			return upper
		}
	case 0x2018 <= r && r <= 0x201F:
		return quote
	case unicode.IsSpace(r):
		return separator
	}
	return other
}

const dottedI = 'İ'

// appendRune appends r with its case folded.
func appendRune(dst []byte, r rune) []byte {
	switch r {
	case 'ß', 'ẞ':
		return append(dst, "ss"...)
	case dottedI:
		return append(dst, "i\u0307"...)
	}
	return utf8.AppendRune(dst, foldRune(r))
}

// foldRune returns the character by which all that unicode.SimpleFold takes for
// one with r are represented: the lower-case one, where there is one.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if isUpper(byte(r)) {
			return r + 'a' - 'A'
		}
		return r
	}
	l := unicode.ToLower(unicode.ToUpper(r))
	for o := unicode.SimpleFold(r); l != r && o != l; o = unicode.SimpleFold(o) {
		if o == r { // all around, and l isn't one of them
			return r
		}
	}
	return l
}
