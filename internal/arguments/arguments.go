// Package arguments reads, writes and looks into the arguments of a tool call:
// one JSON object, read so strictly that a guard and the tool see the same.
package arguments

// Parse and Format. Neither ever puts a value into the text of an error: the
// arguments may hold secrets, and the text goes into results and logs.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// maxDepth is how deep objects and arrays may be nested, the outermost
// one counted. It is the limit of encoding/json.
const maxDepth = 10000

// Error says what is wrong with a tool call's arguments, in words that
// a model can act on. Its text never quotes the arguments: they may hold
// secrets, and the text goes into results and logs.
type Error struct {
	Offset  int64  // where, in bytes from the start of the text; -1 if values couldn't be written as text
	Problem string // what, as a noun phrase
	Err     error  // the cause, if there is one; its text may quote a value
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return "arguments cannot be written as a JSON object: " + e.Problem
	}
	return fmt.Sprintf("arguments must be one JSON object: %s at byte %d", e.Problem, e.Offset)
}

func (e *Error) Unwrap() error { return e.Err }

// Parse reads raw, which must be one JSON object and nothing else, or blank: no
// text, or JSON white space alone, is what some providers send for a tool
// without parameters, and gives an empty map.
// A key that occurs twice in an object, at any depth, and text that isn't valid
// Unicode are errors: each is read differently by different parsers, so that
// what a guard has checked might not be what the tool gets. Keys are compared
// as decoded, case included. Objects are map[string]any, arrays []any, and
// numbers float64, or json.Number where a float64 would lose digits. Every
// error is an *Error, and the map is nil then.
func Parse(raw string) (map[string]any, error) {
	p := parser{raw: raw}
	p.space()
	if p.pos == len(raw) {
		return map[string]any{}, nil
	}
	if !json.Valid([]byte(raw)) {
		return nil, diagnose(raw)
	}
	if kind := jsonKind(raw[p.pos]); kind != "" {
		return nil, p.fail(p.pos, "found "+kind)
	}
	return p.object()
}

// jsonKind names the kind of the value that begins with c, or returns "" for an object.
func jsonKind(c byte) string {
	switch c {
	case '{':
		return ""
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// diagnose says why raw, which isn't blank, isn't valid JSON.
func diagnose(raw string) error {
	p := parser{raw: raw}
	p.space()
	dec := json.NewDecoder(strings.NewReader(raw))
	var first json.RawMessage
	err := dec.Decode(&first)
	if err == nil {
		p.pos = int(dec.InputOffset())
		p.space()
		return p.fail(p.pos, "trailing data")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return p.fail(len(raw), "unexpected end")
	}
	at := p.pos
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(syntax.Offset) - 1 // Offset counts the offending byte
	}
	if jsonDepth(raw[:min(at+1, len(raw))]) > maxDepth {
		return p.fail(at, "nesting too deep")
	}
	return p.fail(at, "syntax error")
}

// jsonDepth returns how many objects and arrays are open at the end of s, which
// begins a JSON text.
func jsonDepth(s string) int {
	depth := 0
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
	}
	return depth
}

// Format writes in as one JSON object that Parse accepts,
// with sorted keys and without HTML escaping; nil gives "{}". What JSON can't
// hold is an error: a function, a channel, NaN, an infinity, a cycle, text that
// isn't valid UTF-8, a duplicate key of a marshaler's making. Every error is an
// *Error. A panic of a value's marshaler is the caller's to contain.
func Format(in map[string]any) (string, error) {
	if in == nil {
		return "{}", nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in); err != nil {
		return "", &Error{Offset: -1, Problem: formatProblem(err), Err: err}
	}
	out := strings.TrimSuffix(buf.String(), "\n")
	// encoding/json replaces what isn't valid UTF-8, and so would make different
	// texts equal. Only where it may have done so are the values looked at, after
	// encoding, which has ruled out cycles.
	if mayBeReplaced(out) && !validText(reflect.ValueOf(in)) {
		return "", &Error{Offset: -1, Problem: "invalid UTF-8"}
	}
	if _, err := Parse(out); err != nil {
		problem := "invalid JSON"
		if bad, ok := errors.AsType[*Error](err); ok {
			problem = bad.Problem
		}
		return "", &Error{Offset: -1, Problem: problem, Err: err}
	}
	return out, nil
}

// formatProblem says why encoding failed, without the values that some texts of
// encoding/json quote.
func formatProblem(err error) string {
	if e, ok := errors.AsType[*json.MarshalerError](err); ok {
		return fmt.Sprintf("failed marshaler of %v", e.Type)
	}
	if e, ok := errors.AsType[*json.UnsupportedTypeError](err); ok {
		return fmt.Sprintf("unsupported type %v", e.Type)
	}
	if e, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
		return fmt.Sprintf("unsupported value of kind %v", e.Value.Kind())
	}
	return "unsupported value"
}
