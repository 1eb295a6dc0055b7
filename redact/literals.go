package redact

// Secrets whose values are known.

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// minEncoded is how many bytes a value has that is looked for in other
// encodings: what is left of a shorter one in base64 stands in many texts.
const minEncoded = 8

// Literals finds values that are known, such as the passwords that a program
// was started with, and gives all of them the name. A value is found as it is,
// with characters escaped as in JSON, at any depth of JSON in JSON, or as in
// URLs; and if it has 8 bytes or more, also in hexadecimal digits of either case
// and in base64 of either alphabet, where it may be a part of what was encoded:
// there it is replaced up to the characters that its neighbours have a share in.
//
// Where a value begins as another does, the longer one is tried first. An empty
// value is one that [Compile] refuses.
func Literals(name string, values ...string) []Pattern {
	values = slices.Clone(values)
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	patterns := make([]Pattern, len(values))
	for i, value := range values {
		patterns[i] = Pattern{Name: name, Expr: forms(value)}
	}
	return patterns
}

// forms returns an expression for the value in all of its forms.
func forms(value string) string {
	all := []string{escaped(value)}
	if len(value) >= minEncoded {
		all = append(all, fmt.Sprintf(`(?i:%x)`, value))
		for before := range 3 {
			all = append(all, inBase64(value, before))
		}
	}
	return strings.Join(all, "|")
}

// escaped returns an expression for the value with each of its characters as it
// is or in an escape of JSON or of URLs.
func escaped(value string) string {
	var expr strings.Builder
	for len(value) > 0 {
		r, width := utf8.DecodeRuneInString(value)
		if r < utf8.RuneSelf && isAlphanumeric(byte(r)) {
			expr.WriteByte(byte(r))
		} else {
			expr.WriteString("(?:" + strings.Join(escapes(r, value[:width]), "|") + ")")
		}
		value = value[width:]
	}
	return expr.String()
}

func isAlphanumeric(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// short are the escapes of JSON that are no numbers.
var short = map[rune]string{
	'"': `"`, '\\': `\\`, '/': `/`, '\b': `b`, '\f': `f`, '\n': `n`, '\r': `r`, '\t': `t`,
}

// escapes returns expressions for the character r in all of its forms. JSON in
// JSON has more backslashes in front of each, and a backslash is several.
func escapes(r rune, encoded string) []string {
	var all []string
	if code, ok := short[r]; ok {
		all = append(all, `\\+`+code)
	}
	unicodes := ""
	for _, unit := range utf16.Encode([]rune{r}) {
		unicodes += fmt.Sprintf(`\\+u(?i:%04x)`, unit)
	}
	bytes := ""
	for i := range len(encoded) {
		bytes += fmt.Sprintf(`%%(?i:%02x)`, encoded[i])
	}
	all = append(all, unicodes, bytes)
	switch r {
	case '\\':
		return append(all, `\\`)
	case ' ':
		return append(all, ` `, `\+`)
	}
	return append(all, regexp.QuoteMeta(string(r)))
}

// inBase64 returns an expression for the value in base64 behind a number of
// other bytes, without the characters that also depend on what is around it.
func inBase64(value string, before int) string {
	text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), value...))
	const bits, perCharacter = 8, 6
	first := (bits*before + perCharacter - 1) / perCharacter
	last := bits * (before + len(value)) / perCharacter
	return strings.NewReplacer("+", `(?:[+-]|%2[Bb])`, "/", `(?:[/_]|\\+/|%2[Ff])`).Replace(text[first:last])
}
