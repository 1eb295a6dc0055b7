package toolname

// The form of a name that every model provider accepts: a-z, 0-9 and "_", at
// most 64 bytes, and a hash where that would lose the name.

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxLength is the longest function name that the model providers accept.
	maxLength = 64
	// hashLength is how many hex digits tell shortened or unreadable names apart.
	hashLength = 8
	// headLength is what a shortened name keeps: the rest is "_" and the hash.
	headLength = maxLength - 1 - hashLength
	// fallback begins the form of a name of which nothing else is left.
	fallback = "tool_"
)

// loss says what Sanitize put a hash in place of.
type loss uint8

const (
	lossNone  loss = iota // there is no hash
	lossTail              // the end of a long name
	lossWhole             // the whole name
)

// Sanitize returns the form of name that every model provider accepts. It is
// never empty, at most 64 bytes of a-z, 0-9 and "_", and its own Sanitize. A
// name that is in that form already is returned as it is, without allocating.
func Sanitize(name string) string {
	s, _ := sanitize(name)
	return s
}

// Normalize is Sanitize, and reports with ok whether the name had anything to
// normalise. When it is false the result is the hash of the whole name.
func Normalize(name string) (normalized string, ok bool) {
	s, lost := sanitize(name)
	return s, lost != lossWhole
}

func sanitize(name string) (string, loss) {
	if isSanitized(name) {
		return name, lossNone
	}
	// Names of the usual length are worked on in these, on the stack.
	var asciiBuf, outBuf [2 * maxLength]byte
	out := appendSnake(outBuf[:0], appendASCII(asciiBuf[:0], name))
	if len(out) > 0 && len(out) <= maxLength {
		return string(out), lossNone
	}
	return withHash(name, out)
}

// hashed returns Sanitize of name if that holds a hash, else "". It allocates for
// such names only.
func hashed(name string) string {
	if isSanitized(name) {
		return ""
	}
	var asciiBuf, outBuf [2 * maxLength]byte
	out := appendSnake(outBuf[:0], appendASCII(asciiBuf[:0], name))
	if len(out) > 0 && len(out) <= maxLength {
		return ""
	}
	s, _ := withHash(name, out)
	return s
}

// withHash returns the form of name of which snake is too long, or empty.
func withHash(name string, snake []byte) (string, loss) {
	if len(snake) == 0 {
		return fallback + shortHash(name), lossWhole
	}
	return shorten(string(snake)), lossTail
}

// isSanitized reports whether Sanitize would return name unchanged. It is also
// what spares the usual case every allocation.
func isSanitized(name string) bool {
	if len(name) == 0 || len(name) > maxLength {
		return false
	}
	prev := byte('_') // as if the name followed one: a leading "_" isn't normalised
	for i := range len(name) {
		c := name[i]
		if !isLower(c) && !isDigit(c) && (c != '_' || prev == '_') {
			return false
		}
		prev = c
	}
	return prev != '_'
}

// mayBeHashed reports whether Sanitize could have made s with a hash in it: a
// quick test, which other names of that look pass too.
func mayBeHashed(s string) bool {
	switch at := len(s) - hashLength; {
	case len(s) == len(fallback)+hashLength:
		return strings.HasPrefix(s, fallback)
	// The cut takes one "_" at most, since there are no two side by side.
	case len(s) == maxLength, len(s) == maxLength-1:
		return s[at-1] == '_'
	}
	return false
}

// appendASCII appends the ASCII characters of name's NFKD form to dst.
// Decomposing rune by rune is enough: the reordering that NFKD does besides
// never moves anything across an ASCII character.
func appendASCII(dst []byte, name string) []byte {
	for i := 0; i < len(name); {
		if c := name[i]; c < utf8.RuneSelf {
			dst = append(dst, c)
			i++
			continue
		}
		_, size := utf8.DecodeRuneInString(name[i:])
		if size > 1 { // else an invalid byte
			for _, c := range norm.NFKD.PropertiesString(name[i : i+size]).Decomposition() {
				if c < utf8.RuneSelf {
					dst = append(dst, c)
				}
			}
		}
		i += size
	}
	return dst
}

// appendSnake appends ascii to the empty dst as lower-case words joined by
// single underscores.
func appendSnake(dst, ascii []byte) []byte {
	gap := false // a separator is due before the next letter or digit
	for i, c := range ascii {
		switch {
		case isUpper(c):
			if i > 0 {
				prev := ascii[i-1]
				last := isUpper(prev) && i+1 < len(ascii) && isLower(ascii[i+1])
				gap = gap || isLower(prev) || last
			}
			c += 'a' - 'A'
		case isLower(c), isDigit(c):
		case c == '\'', c == '"':
			continue
		default:
			gap = true
			continue
		}
		if gap && len(dst) > 0 {
			dst = append(dst, '_')
		}
		gap = false
		dst = append(dst, c)
	}
	return dst
}

func shorten(long string) string {
	end := headLength
	for long[end-1] == '_' {
		end--
	}
	return long[:end] + "_" + shortHash(long)
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:hashLength/2])
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
