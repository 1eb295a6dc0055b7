package policy

// What is wrong with arguments, in words that a model can act on and that hold no value.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	maxFaults  = 5
	maxKey     = 64   // bytes of a key in a reason
	maxNumber  = 1000 // digits, and the size of an exponent: beyond it arithmetic takes seconds
	tooBigText = "number too large"
)

// argSchema is the schema of the arguments of one tool.
type argSchema struct {
	root  *jsonschema.Schema
	rough *dynamic
}

func newArgSchema(root *jsonschema.Schema) *argSchema {
	return &argSchema{root: root, rough: newDynamic(root)}
}

// fault is one thing that is wrong: where, and what.
type fault struct {
	at   []string
	what string
}

// faults returns what is wrong with value, none if it fits.
func (s *argSchema) faults(value any) []string {
	var found []fault
	found = tooBig(found, value, nil)
	if len(found) == 0 { // the library computes with numbers as large as they come
		found = s.misspelt(found, value)
		if err, ok := s.root.Validate(value).(*jsonschema.ValidationError); ok { //nolint:errorlint // it returns no other, and wraps none
			found = tell(found, err)
		}
	}
	slices.SortFunc(found, func(a, b fault) int { // the library goes through maps
		return cmp.Or(slices.Compare(a.at, b.at), cmp.Compare(a.what, b.what))
	})
	var texts []string
	for _, f := range found { // of thousands, deep in the arguments, a few are written
		if text := f.String(); len(texts) == 0 || text != texts[len(texts)-1] {
			texts = append(texts, text)
		}
		if len(texts) == maxFaults {
			break
		}
	}
	return texts
}

func (f fault) String() string {
	if len(f.at) == 0 {
		return f.what
	}
	var b strings.Builder
	for _, key := range f.at {
		key = strings.ReplaceAll(strings.ReplaceAll(cutKey(key), "~", "~0"), "/", "~1")
		quoted := strconv.Quote(key)
		b.WriteString("/" + quoted[1:len(quoted)-1]) // without line breaks and the like
	}
	return b.String() + ": " + f.what
}

// quoteKey returns a key for a reason.
func quoteKey(key string) string { return strconv.Quote(cutKey(key)) }

// cutKey cuts a key at 64 bytes, between two runes.
func cutKey(key string) string {
	if len(key) <= maxKey {
		return key
	}
	n := maxKey
	for n > 0 && !utf8.RuneStart(key[n]) {
		n--
	}
	return key[:n]
}

// tell adds what a *ValidationError tells, without the text that the library makes of
// it, which quotes values.
func tell(found []fault, err *jsonschema.ValidationError) []fault {
	at := err.InstanceLocation
	keys := func(what string, keys []string) []fault {
		for _, key := range keys {
			found = append(found, fault{at, what + " " + quoteKey(key)})
		}
		return found
	}
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range err.Causes {
			found = tell(found, cause)
		}
		return found
	case *kind.AnyOf:
		return append(found, choose(err, "anyOf")...)
	case *kind.OneOf:
		return append(found, choose(err, "oneOf")...)
	case *kind.Type:
		return append(found, fault{at, "type, want " + strings.Join(k.Want, " or ")})
	case *kind.Required:
		return keys("missing", k.Missing)
	case *kind.DependentRequired:
		return keys("missing", k.Missing)
	case *kind.Dependency:
		return keys("missing", k.Missing)
	case *kind.AdditionalProperties:
		return keys("unknown", k.Properties)
	case *kind.PropertyNames: // whose location the library may have written over
		return append(found, fault{nil, "propertyNames " + quoteKey(k.Property)})
	case *kind.FalseSchema:
		if last := len(at) - 1; last >= 0 && strings.HasSuffix(err.SchemaURL, "/unevaluatedProperties") {
			return append(found, fault{at[:last], "unknown " + quoteKey(at[last])})
		}
		return append(found, fault{at, "not allowed"})
	case *kind.Not:
		return append(found, fault{at, "not"})
	}
	if path := err.ErrorKind.KeywordPath(); len(path) > 0 {
		return append(found, fault{at, path[0]})
	}
	return append(found, fault{at, "invalid"})
}

// choose returns what to tell of alternatives of which none fits, or more than the one
// that should: the faults of the only one that is of the right type, the types where
// none is, and the keyword otherwise.
func choose(err *jsonschema.ValidationError, keyword string) []fault {
	var near [][]fault
	var types []string
	for _, cause := range err.Causes {
		branch := tell(nil, cause)
		wrong := slices.IndexFunc(branch, func(f fault) bool {
			return slices.Equal(f.at, err.InstanceLocation) && strings.HasPrefix(f.what, typeFault)
		})
		if wrong < 0 {
			near = append(near, branch)
		} else {
			types = append(types, strings.TrimPrefix(branch[wrong].what, typeFault))
		}
	}
	switch {
	case len(near) == 1:
		return near[0]
	case len(near) == 0 && len(types) > 0:
		slices.Sort(types)
		return []fault{{err.InstanceLocation, typeFault + strings.Join(slices.Compact(types), " or ")}}
	}
	return []fault{{err.InstanceLocation, keyword}}
}

const typeFault = "type, want "

// tooBig finds numbers that the library would take seconds for, or panic on.
func tooBig(found []fault, value any, at []string) []fault {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			found = tooBig(found, v, append(at, key))
		}
	case []any:
		for i, v := range value {
			found = tooBig(found, v, append(at, strconv.Itoa(i)))
		}
	case json.Number:
		mantissa, exponent, ok := strings.Cut(strings.ToLower(value.String()), "e")
		n, err := 0, error(nil)
		if ok {
			n, err = strconv.Atoi(exponent)
		}
		if len(mantissa) > maxNumber || err != nil || n > maxNumber || n < -maxNumber {
			found = append(found, fault{slices.Clone(at), tooBigText})
		}
	}
	return found
}
