package policy

// Editing the strings of arguments, in JSON and in Go values, which stay what they
// are otherwise.

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/loophooks/hooks"
)

// argumentEditor edits the strings of arguments, keys included.
type argumentEditor struct {
	text    func(string) string
	member  func(key, value string, literal bool) string // of a string or a number behind a key; nil: nothing more
	literal bool                                         // numbers are edited too, and become strings
	lenient bool                                         // what can't be read stays
}

// value edits a string, behind a key if there is one.
func (e *argumentEditor) value(key *string, value string) string {
	value = e.text(value)
	if key != nil && e.member != nil {
		value = e.member(*key, value, false)
	}
	return value
}

// number edits a number as it is written.
func (e *argumentEditor) number(key *string, number string) string {
	if !e.literal {
		return number
	}
	text := e.text(number)
	if text == number && key != nil && e.member != nil {
		text = e.member(*key, number, true)
	}
	return text
}

// uniqueKeys are those of one object, so that no two become one.
type uniqueKeys map[string]bool // whether it was edited

// add returns what the key is to be. One that was there twice before stays.
func (k uniqueKeys) add(was, key string) string {
	edited := was != key
	unique := key
	for n := 2; ; n++ {
		other, taken := k[unique]
		if !taken || !edited && !other {
			break
		}
		unique, edited = key+"_"+strconv.Itoa(n), true
	}
	k[unique] = edited
	return unique
}

// openValue is an object or an array that is open.
type openValue struct {
	keys   uniqueKeys // nil of an array
	key    string
	behind bool // what comes is the value of key
}

// json edits the strings of a JSON text in their places. What isn't JSON is edited
// as text.
func (e *argumentEditor) json(raw string) string {
	if !json.Valid([]byte(raw)) {
		return e.text(raw)
	}
	var out strings.Builder
	var open []openValue
	shown := 0
	put := func(lo, hi int, s string) {
		out.WriteString(raw[shown:lo] + s)
		shown = hi
	}
	for at := 0; at < len(raw); {
		end := at + 1
		var in *openValue
		var key *string
		if n := len(open); n > 0 {
			if in = &open[n-1]; in.behind {
				key = &in.key
			}
		}
		switch c := raw[at]; {
		case c == '{':
			open = append(open, openValue{keys: make(uniqueKeys)})
		case c == '[':
			open = append(open, openValue{})
		case c == '}', c == ']':
			open = open[:len(open)-1]
		case c == ',':
			in.behind = false
		case c == ':':
			in.behind = true
		case c == '"':
			end = jsonStringEnd(raw, at)
			var s, edited string
			_ = json.Unmarshal([]byte(raw[at:end]), &s) // it is valid
			if in != nil && in.keys != nil && !in.behind {
				edited = in.keys.add(s, e.text(s))
				in.key = edited
			} else {
				edited = e.value(key, s)
			}
			if edited != s {
				put(at, end, quoteJSON(edited))
			}
		case c == '-' || '0' <= c && c <= '9':
			end = jsonNumberEnd(raw, at)
			if number := raw[at:end]; e.literal {
				if edited := e.number(key, number); edited != number {
					put(at, end, quoteJSON(edited))
				}
			}
		}
		at = end
	}
	if shown == 0 {
		return raw
	}
	return out.String() + raw[shown:]
}

// jsonStringEnd returns where the string ends that begins at a place.
func jsonStringEnd(raw string, at int) int {
	for at++; raw[at] != '"'; at++ {
		if raw[at] == '\\' {
			at++
		}
	}
	return at + 1
}

func jsonNumberEnd(raw string, at int) int {
	for at < len(raw) && strings.IndexByte("+-.eE0123456789", raw[at]) >= 0 {
		at++
	}
	return at
}

// input edits the strings in the input of a tool. It returns the map itself, if
// there is nothing to edit, and writes into none that it was given.
func (e *argumentEditor) input(input map[string]any) (map[string]any, error) {
	edited, changed, err := e.object(input)
	if err != nil || !changed {
		return input, err
	}
	return edited, nil
}

func (e *argumentEditor) object(m map[string]any) (edited map[string]any, changed bool, err error) {
	edited, taken := make(map[string]any, len(m)), make(uniqueKeys, len(m))
	for _, was := range slices.Sorted(maps.Keys(m)) { // so that numbers are always the same
		key := taken.add(was, e.text(was))
		value, did, err := e.any(&key, m[was])
		if err != nil {
			return nil, false, err
		}
		edited[key], changed = value, changed || did || key != was
	}
	return edited, changed, nil
}

// any edits a value. Those that JSON is decoded into are edited as they are, others
// as the JSON that they are encoded to.
func (e *argumentEditor) any(key *string, v any) (edited any, changed bool, err error) {
	switch v := v.(type) {
	case nil, bool:
		return v, false, nil
	case string:
		s := e.value(key, v)
		return s, s != v, nil
	case map[string]any:
		m, changed, err := e.object(v)
		if err != nil || !changed {
			return v, false, err
		}
		return m, true, nil
	case []any:
		return e.array(v)
	case []string:
		list := make([]string, len(v))
		for i, s := range v {
			list[i] = e.value(nil, s)
		}
		if slices.Equal(list, v) {
			return v, false, nil
		}
		return list, true, nil
	}
	return e.other(key, v)
}

func (e *argumentEditor) array(list []any) (edited any, changed bool, err error) {
	clean := make([]any, len(list))
	for i, v := range list {
		value, did, err := e.any(nil, v)
		if err != nil {
			return nil, false, err
		}
		clean[i], changed = value, changed || did
	}
	if !changed {
		return list, false, nil
	}
	return clean, true, nil
}

// other edits a value of any other type. It becomes what its JSON is decoded to, if
// there is something to edit in it.
func (e *argumentEditor) other(key *string, v any) (edited any, changed bool, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		if e.lenient {
			return v, false, nil
		}
		return nil, false, fmt.Errorf("policy: Redact: an argument of type %T can't be redacted, since JSON can't hold it", v)
	}
	text := string(raw)
	clean := e.json(text)
	if kind := reflect.TypeOf(v).Kind(); key != nil && clean == text {
		switch {
		case kind == reflect.String && text[0] == '"':
			var s string
			_ = json.Unmarshal(raw, &s) // it was encoded
			if inner := e.value(key, s); inner != s {
				clean = quoteJSON(inner)
			}
		case text[0] == '-' || '0' <= text[0] && text[0] <= '9':
			if number := e.number(key, text); number != text {
				clean = quoteJSON(number)
			}
		}
	}
	if clean == text {
		return v, false, nil
	}
	var read hooks.ToolCall
	if err := read.SetArguments(`{"v":` + clean + `}`); err != nil {
		if e.lenient {
			return v, false, nil
		}
		return nil, false, fmt.Errorf("policy: Redact: an argument of type %T can't be read when it is redacted: %w", v, err)
	}
	return read.Input["v"], true, nil
}
