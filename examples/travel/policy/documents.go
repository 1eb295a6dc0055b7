package policy

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// The number of an identity document is seven digits or more, with or without
// separators. Between it and the letters may stand the punctuation of a label,
// of Markdown or of JSON, and a second number may follow.
const (
	letters     = `\bD\.?N\.?I\.?`
	punctuation = `(?:[\s\p{Z}:="'\\#(*_-]|\\[nrt]|\\u[0-9a-f]{4}|N[°º.]|number|número)*`
	number      = `\p{Nd}{1,2}[.,\s\p{Z}-]?\p{Nd}{3}[.,\s\p{Z}-]?\p{Nd}{3}\p{Nd}*`
)

var document = regexp.MustCompile(`(?i)(` + letters + punctuation + `)` + number + `(?:` + punctuation + number + `)*`)

// HideDocuments replaces the document numbers in s: "DNI ***".
func HideDocuments(s string) string { return document.ReplaceAllString(s, "${1}***") }

// HideInJSON is HideDocuments for a JSON text, in which a string can be spelled
// so that no pattern knows it ("D\u004eI 30123456").
func HideInJSON(raw string) string {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) == nil && !dec.More() {
		if clean, changed := hideInValue(v); changed {
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if enc.Encode(clean) == nil {
				raw = strings.TrimSuffix(b.String(), "\n")
			}
		}
	}
	return HideDocuments(raw)
}

// hideInValue redacts the strings of a decoded JSON value, keys included.
func hideInValue(v any) (clean any, changed bool) {
	switch v := v.(type) {
	case string:
		s := HideDocuments(v)
		return s, s != v
	case []any:
		for i := range v {
			c, did := hideInValue(v[i])
			v[i], changed = c, changed || did
		}
		return v, changed
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			k := HideDocuments(key)
			c, did := hideInValue(value)
			m[k], changed = c, changed || did || k != key
		}
		return m, changed
	}
	return v, false
}

// Documents keeps document numbers from the model and from the answer.
//
// Hooks redact: tool results before they join the history, messages before a
// model call (the user may have typed a number), what the model says, and the
// answer. They are fail-closed, since a redaction that failed and was passed
// over would let the number through; and they run after the other hooks of the
// run, so that they see what those put in. Where text leaves for good, guards
// look once more, after every hook there is: they change nothing, they refuse.
func Documents(r *hooks.Registry) {
	opts := []hooks.Option{hooks.In(r), hooks.WithFailClosed(), hooks.WithPriority(-100), hooks.WithName("hide document numbers")}

	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(HideDocuments)
		return nil
	}, opts...)
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		for i := range call.Messages {
			redact(&call.Messages[i])
		}
		return nil
	}, opts...)
	hooks.On(hooks.PostModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.Response = HideDocuments(call.Response)
		return nil
	}, opts...)
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		text, ok := x.Output.(string)
		if !ok {
			return errors.New("the output isn't text")
		}
		x.Output = HideDocuments(text)
		return nil
	}, opts...)

	guard := []hooks.Option{hooks.In(r), hooks.AsGuard(), hooks.WithName("no document numbers")}

	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		if slices.ContainsFunc(call.Messages, holdsDocument) {
			return hooks.Abort("a document number was about to be sent to the model")
		}
		return nil
	}, guard...)
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		if text, ok := x.Output.(string); !ok || document.MatchString(text) {
			return hooks.Abort("a document number was about to be shown")
		}
		return nil
	}, guard...)
}

func redact(m *hooks.Message) {
	m.EditText(HideDocuments)
	for i, c := range m.ToolCalls {
		if args := HideInJSON(c.Arguments); args != c.Arguments {
			m.ToolCalls = slices.Clone(m.ToolCalls) // the history shares it
			m.ToolCalls[i].Arguments = args
		}
	}
}

func holdsDocument(m hooks.Message) bool {
	if document.MatchString(m.Text()) || document.MatchString(m.Name) {
		return true
	}
	return slices.ContainsFunc(m.ToolCalls, func(c hooks.ToolRequest) bool {
		return document.MatchString(c.Name) || HideInJSON(c.Arguments) != c.Arguments
	})
}
