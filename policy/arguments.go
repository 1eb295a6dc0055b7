package policy

// The arguments of a call as text. Several policies want it of one call, and none may
// rely on what another one got: somebody may have edited the input in between.

import (
	"math"
	"slices"
	"strconv"

	"github.com/loophooks/hooks"
)

// argumentsText is t.Arguments, in a fraction of the time where the input is as plain as
// most are: of maps, lists, booleans, nil, numbers and texts that stand in JSON as
// they are.
func argumentsText(t *hooks.ToolCall) (string, error) {
	if b, ok := appendPlainMap(make([]byte, 0, 128), t.Input, 0); ok {
		return string(b), nil
	}
	return t.Arguments()
}

// maxPlainDepth bounds what is written here, since a map may hold itself.
const maxPlainDepth = 16

func appendPlainMap(b []byte, m map[string]any, depth int) (text []byte, ok bool) {
	if m == nil && depth > 0 || depth == maxPlainDepth {
		return b, false
	}
	var room [16]string
	keys := room[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if !plainJSON(key) {
			return b, false
		}
		b = append(append(append(b, '"'), key...), '"', ':')
		if b, ok = appendPlain(b, m[key], depth+1); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

func appendPlain(b []byte, v any, depth int) (text []byte, ok bool) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), true
	case string:
		return append(append(append(b, '"'), v...), '"'), plainJSON(v)
	case bool:
		return strconv.AppendBool(b, v), true
	case int:
		return strconv.AppendInt(b, int64(v), 10), true
	case float64: // a whole number, which has no exponent
		return strconv.AppendInt(b, int64(v), 10), v == math.Trunc(v) && math.Abs(v) < 1<<53 && (v != 0 || !math.Signbit(v))
	case map[string]any:
		return appendPlainMap(b, v, depth)
	case []any:
		if v == nil || depth == maxPlainDepth {
			return b, false
		}
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = appendPlain(b, element, depth+1); !ok {
				return b, false
			}
		}
		return append(b, ']'), true
	}
	return b, false
}
