package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxToolName is the longest function name that the model providers accept.
	maxToolName = 64
	// toolNameHash is how many hex digits tell shortened or unreadable names apart.
	toolNameHash = 8
	// toolNameHead is what a shortened name keeps: the rest is "_" and the hash.
	toolNameHead = maxToolName - 1 - toolNameHash
)

// SanitizeToolName returns the normalised form of a tool name, the one under
// which [WithTools] compares names that differ in spelling only: "Delete File",
// "deleteFile" and "delete-file" all give "delete_file".
//
// The name is decomposed (Unicode NFKD) and stripped of everything that isn't
// ASCII; "ABCWord" becomes "ABC_Word" and "aB" becomes "a_B"; letters are
// lower-cased, quotes ' and " deleted, each run of other characters becomes one
// "_", and "_" at either end is trimmed. A form of more than 64 bytes is cut to
// 55, trimmed of "_" on the right, and gets "_" and the first 8 hex digits of
// the SHA-256 of the long form. A name of which nothing is left, such as one in
// Japanese, becomes "tool_" and 8 hex digits of the SHA-256 of the name itself.
//
// The result is never empty, at most 64 bytes of a-z, 0-9 and "_", and is its
// own normalised form. Any string is accepted, invalid UTF-8 included. A name
// that is normalised already is returned as it is, without allocating. It is
// safe for concurrent use.
func SanitizeToolName(name string) string {
	n, _ := normalizeToolName(name)
	return n
}

// normalizeToolName is SanitizeToolName, and reports with ok whether the name
// had anything to normalise. When it is false the result is the hash fallback,
// which stands for no other name and so mustn't be matched against one.
func normalizeToolName(name string) (normalized string, ok bool) {
	if isNormalized(name) {
		return name, true
	}
	// Names of the usual length are worked on in these, on the stack.
	var asciiBuf, outBuf [2 * maxToolName]byte
	out := appendSnake(outBuf[:0], appendASCII(asciiBuf[:0], name))
	if len(out) == 0 {
		return "tool_" + shortHash(name), false
	}
	if len(out) <= maxToolName {
		return string(out), true
	}
	return shortenToolName(string(out)), true
}

// isNormalized reports whether SanitizeToolName would return name unchanged.
// It is also what spares the usual case every allocation.
func isNormalized(name string) bool {
	if len(name) == 0 || len(name) > maxToolName {
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

func shortenToolName(long string) string {
	end := toolNameHead
	for long[end-1] == '_' {
		end--
	}
	return long[:end] + "_" + shortHash(long)
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:toolNameHash/2])
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
