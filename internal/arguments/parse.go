package arguments

// Reading arguments: the decoder behind Parse, which tells duplicate keys, texts
// that aren't Unicode and numbers that a float64 would change.

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parser decodes a text that json.Valid has accepted: it relies on the
// syntax, and on the bound on nesting that its recursion needs.
type parser struct {
	raw string
	pos int
}

func (p *parser) fail(at int, problem string) error {
	return &Error{Offset: int64(at), Problem: problem}
}

// space moves to the next byte that isn't white space, or to the end.
func (p *parser) space() {
	for p.pos < len(p.raw) && strings.IndexByte(" \t\r\n", p.raw[p.pos]) >= 0 {
		p.pos++
	}
}

// more moves past white space and a comma, and reports whether the object or
// array has another element; if not, it moves past the closing bracket.
func (p *parser) more() bool {
	p.space()
	switch p.raw[p.pos] {
	case '}', ']':
		p.pos++
		return false
	case ',':
		p.pos++
		p.space()
	}
	return true
}

func (p *parser) value() (any, error) {
	switch p.raw[p.pos] {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.text()
	case 'n':
		p.pos += len("null")
		return nil, nil
	case 't':
		p.pos += len("true")
		return true, nil
	case 'f':
		p.pos += len("false")
		return false, nil
	}
	return p.number(), nil
}

func (p *parser) object() (map[string]any, error) {
	p.pos++
	object := map[string]any{}
	for p.more() {
		at := p.pos
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if _, duplicate := object[key]; duplicate {
			return nil, p.fail(at, "duplicate key")
		}
		p.space()
		p.pos++ // the colon
		p.space()
		if object[key], err = p.value(); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func (p *parser) array() ([]any, error) {
	p.pos++
	array := []any{}
	for p.more() {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	return array, nil
}

// text decodes the string that begins at pos.
func (p *parser) text() (string, error) {
	p.pos++
	start := p.pos
	escaped := false
	for p.raw[p.pos] != '"' {
		if p.raw[p.pos] == '\\' {
			escaped = true
			p.pos++
		}
		p.pos++
	}
	s := p.raw[start:p.pos]
	p.pos++
	if !utf8.ValidString(s) {
		return "", p.fail(start+validPrefix(s), "invalid UTF-8")
	}
	if !escaped {
		return s, nil
	}
	return p.unescape(start, s)
}

// unescape resolves the escapes of s, which stands at start.
func (p *parser) unescape(start int, s string) (string, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			out = append(out, s[i])
			i++
			continue
		}
		c := s[i+1]
		if c != 'u' {
			out = append(out, unescapeByte(c))
			i += 2
			continue
		}
		r := hexRune(s[i+2 : i+6])
		size := 6
		if utf16.IsSurrogate(r) {
			if len(s) < i+12 || s[i+6] != '\\' || s[i+7] != 'u' {
				return "", p.fail(start+i, "half a surrogate pair")
			}
			r = utf16.DecodeRune(r, hexRune(s[i+8:i+12]))
			if r == utf8.RuneError {
				return "", p.fail(start+i, "half a surrogate pair")
			}
			size = 12
		}
		out = utf8.AppendRune(out, r)
		i += size
	}
	return string(out), nil
}

func unescapeByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // one of " \ /
}

// hexRune reads four hex digits, already known to be such.
func hexRune(s string) rune {
	n, _ := strconv.ParseUint(s, 16, 32)
	return rune(n)
}

// validPrefix returns the length of the longest valid UTF-8 prefix of s.
func validPrefix(s string) int {
	i := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

func (p *parser) number() any {
	start := p.pos
	for p.pos < len(p.raw) && strings.IndexByte("+-.0123456789eE", p.raw[p.pos]) >= 0 {
		p.pos++
	}
	literal := p.raw[start:p.pos]
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || !sameNumber(literal, f) {
		return json.Number(literal)
	}
	return f
}

// sameNumber reports whether the shortest decimal that gives f is, digit by
// digit, the number that literal writes. A float64 that is merely the nearest
// one to it has other digits, and where strconv cuts a written exponent short
// the exponent differs.
func sameNumber(literal string, f float64) bool {
	var buf [32]byte
	digits, exp, ok := decimal(literal)
	shortest, shortestExp, _ := decimal(string(strconv.AppendFloat(buf[:0], f, 'e', -1, 64)))
	return ok && digits == shortest && exp == shortestExp
}

// decimal takes a number apart: its significant digits, without a sign and
// without zeros at either end, and the exponent of the point before the first
// of them. Zero has no digits. ok is false if the exponent is out of range.
func decimal(literal string) (digits string, exp int, ok bool) {
	mantissa := strings.TrimPrefix(literal, "-")
	written := ""
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		mantissa, written = mantissa[:i], mantissa[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exp = len(whole) - (len(whole) + len(fraction) - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "", 0, true
	}
	if written != "" {
		n, err := strconv.Atoi(written)
		if err != nil {
			return "", 0, false
		}
		exp += n
	}
	return digits, exp, true
}
