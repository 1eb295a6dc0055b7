// Document numbers in text: what counts as one, however it is written, and its
// replacement. Text that holds none is never changed.

package policy

import (
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The number of an identity document is seven digits or more, with or without
// separators. Between it and the letters DNI may stand a few words and the
// punctuation of a label, of Markdown or of JSON, and another number may follow.
// The pattern is for text as plain writes it: every digit is a 0.
const (
	letters   = `[dD][ .-]{0,2}[nN][ .-]{0,2}[iI](?:'?[sS])?`
	between   = `(?:[ :="'#([{*_\\.|-]|(?i:n(?:umber|umero|ro|um|o)?|is|es))*`
	separator = `[ .,'*_/-]`
	number    = `(?:0{1,2}` + separator + `{0,3}000` + separator + `{0,3}0000*|0(?:` + separator + `?0){6,})(?:[.-]+0+)*`
	also      = `(?: ?[,;/&+] ?| (?i:y|e|o|and|or) )`
)

var document = regexp.MustCompile(`^(` + letters + `(?:[ "'\\]*,)?` + between + `)` + number + `(?:(?:` + between + `|` + also + `)` + number + `)*`)

// HideDocuments replaces the document numbers in s: "DNI ***". It isn't misled
// by invisible characters, other dashes and spaces, digits and letters of other
// widths and scripts, combining marks and the escapes of JSON. It doesn't know
// letters that merely look like D, N and I, numbers in words, and those whose
// label stands behind them or farther away, as in the markup of HTML.
func HideDocuments(s string) string {
	text, at := plainText(s)
	found, _ := documents(text, 0, nil)
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	done := 0 // so much of s is in b
	for _, d := range found {
		lo, hi := d.in(s, at)
		b.WriteString(s[done:lo] + hidden)
		done = hi
	}
	return b.String() + s[done:]
}

// hidden is what is shown of a number.
const hidden = "***"

// digits is where a number stands in text as plain writes it.
type digits struct{ first, last int }

// in returns where it stands in s.
func (d digits) in(s string, at []int) (lo, hi int) {
	_, size := plain(s[at[d.last]:])
	return at[d.first], at[d.last] + size
}

// documents finds the numbers in text as plain writes it, from a place on. Where
// something begins of which mayGoOn says that what follows decides about it, it
// stops and returns that place; else it returns the end of the text.
func documents(text string, pos int, mayGoOn func(rest string) bool) (found []digits, end int) {
	for {
		next := strings.IndexAny(text[pos:], "dD")
		if next < 0 {
			return found, len(text)
		}
		pos += next
		if !wordBegins(text, pos) {
			pos++
			continue
		}
		if mayGoOn != nil && mayGoOn(text[pos:]) {
			return found, pos
		}
		m := document.FindStringSubmatchIndex(text[pos:])
		if m == nil {
			pos++
			continue
		}
		found = append(found, digits{pos + m[3], pos + m[1] - 1})
		pos += m[1]
	}
}

// wordBegins reports whether a word begins at a letter of text: sundni is
// another word, and travellerDni isn't.
func wordBegins(text string, at int) bool {
	if at == 0 {
		return true
	}
	before := text[at-1]
	isLower, isUpper := 'a' <= before && before <= 'z', 'A' <= before && before <= 'Z'
	return !isLower && !isUpper || isLower && text[at] == 'D'
}

func holdsDocument(s string) bool { return HideDocuments(s) != s }

// plainText returns s as plain writes it, and where in s each byte of that
// begins.
func plainText(s string) (text string, at []int) {
	var b strings.Builder
	b.Grow(len(s))
	at = make([]int, 0, len(s))
	for i := 0; i < len(s); {
		as, size := plain(s[i:])
		b.WriteString(as)
		for range len(as) {
			at = append(at, i)
		}
		i += size
	}
	return b.String(), at
}

// plain writes the first character of s in ASCII, and says how long it is in s:
// a digit as 0, white space as a space, any dash as a hyphen, nothing for what
// can't be seen, a letter or a sign by what it is a form of. Other letters are
// ~, and other signs *.
func plain(s string) (as string, size int) {
	r, size := character(s)
	switch {
	case '0' <= r && r <= '9':
		return "0", size
	case ' ' <= r && r <= '~':
		return ascii[r : r+1], size
	case unicode.IsNumber(r):
		return "0", size
	case unicode.IsSpace(r), unicode.Is(unicode.Z, r):
		return " ", size
	case unicode.Is(unicode.Pd, r), r == '\u2212': // the minus sign
		return "-", size
	case r == utf8.RuneError, unicode.In(r, unicode.C, unicode.M, unicode.Other_Default_Ignorable_Code_Point):
		return "", size
	case r == 'ı': // Turkish writes dnı
		return "i", size
	}
	for _, form := range norm.NFKD.String(string(r)) {
		switch {
		case unicode.IsNumber(form):
			as += "0"
		case form < utf8.RuneSelf:
			as += string(form)
		}
	}
	switch {
	case as != "":
		return as, size
	case unicode.IsLetter(r):
		return "~", size
	}
	return "*", size
}

// ascii holds each printable character at its own place.
var ascii = func() string {
	b := make([]byte, utf8.RuneSelf)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

// character reads the first character of s. An escape of JSON is the character
// that it stands for, with any number of backslashes: JSON is often quoted in
// JSON.
func character(s string) (r rune, size int) {
	if s[0] != '\\' {
		return utf8.DecodeRuneInString(s)
	}
	size = len(s) - len(strings.TrimLeft(s, `\`))
	switch rest := s[size:]; {
	case rest != "" && strings.IndexByte("nrtf", rest[0]) >= 0:
		return ' ', size + 1
	case strings.HasPrefix(rest, "u"):
		r, ok := unit(rest)
		if !ok {
			break
		}
		size += len("u0000")
		if low := strings.TrimLeft(s[size:], `\`); utf16.IsSurrogate(r) && len(low) < len(s[size:]) {
			if second, ok := unit(low); ok && utf16.IsSurrogate(second) {
				return utf16.DecodeRune(r, second), len(s) - len(low) + len("u0000")
			}
		}
		return r, size
	}
	return '\\', size
}

// unit reads u0044.
func unit(s string) (rune, bool) {
	if len(s) < len("u0000") || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:len("u0000")], 16, 16)
	return rune(n), err == nil
}

// HideInJSON is HideDocuments for a JSON text. What stays is JSON, also where a
// number without quotes is hidden ({"dni":30123456}).
func HideInJSON(raw string) string {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.Decode(new(any)) != io.EOF {
		return HideDocuments(raw) // it isn't JSON
	}
	if clean, changed := hideInValue("", v); changed {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(clean) != nil {
			return allHidden
		}
		raw = strings.TrimSuffix(b.String(), "\n")
	}
	clean := HideDocuments(raw) // also in earlier values of a key that stands there twice
	if !json.Valid([]byte(clean)) {
		return allHidden // the number was made of several values
	}
	return clean
}

const (
	allHidden = `{"hidden":"***"}`
	maxLabel  = 64 // bytes: the nearest keys
	minDigits = 7
)

// hideInValue redacts a decoded JSON value, keys included. The label is the keys
// around it, which can say that it is of a document.
func hideInValue(label string, v any) (clean any, changed bool) {
	switch v := v.(type) {
	case string:
		s := HideDocuments(v)
		if len(s) >= minDigits {
			if hidden, ok := strings.CutPrefix(HideDocuments(label+s), label); ok {
				s = hidden
			}
		}
		return s, s != v
	case json.Number:
		if len(v) >= minDigits && !holdsDocument(label) && holdsDocument(label+v.String()) {
			return "***", true
		}
	case []any:
		for i := range v {
			c, did := hideInValue(label, v[i])
			v[i], changed = c, changed || did
		}
		return v, changed
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			k := HideDocuments(key)
			inner := label + k + ": "
			c, did := hideInValue(inner[max(0, len(inner)-maxLabel):], value)
			m[k], changed = c, changed || did || k != key
		}
		return m, changed
	}
	return v, false
}
