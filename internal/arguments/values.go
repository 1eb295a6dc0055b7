package arguments

// Looking up one argument by its key and its type, so that what isn't there or
// is something else is an error and never passes for a harmless value.

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// ArgError says that an argument can't be had. Its text never holds the value.
type ArgError struct {
	Key     string
	Problem string // one of the constants
}

// The problems of an argument.
const (
	Missing      = "missing"
	OtherKey     = "key in another spelling" // a key that differs in case only
	NotAString   = "not a string"
	NotANumber   = "not a number"
	NotABool     = "not a boolean"
	LosesDigits  = "not a number that a float64 can hold"
	argumentText = "argument %q: %s"
)

func (e ArgError) Error() string { return fmt.Sprintf(argumentText, e.Key, e.Problem) }

// String returns the value of key in in, which must be a string. A type that is
// made of string counts, json.Number and types that are written as they wish
// don't. Every error is an ArgError.
func String(in map[string]any, key string) (string, error) {
	v, err := lookUp(in, key)
	if err != nil {
		return "", err
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	if _, ok := v.(json.Number); !ok {
		if r, ok := plain(v); ok && r.Kind() == reflect.String {
			return r.String(), nil
		}
	}
	return "", ArgError{key, NotAString}
}

// Bool is String for booleans.
func Bool(in map[string]any, key string) (bool, error) {
	v, err := lookUp(in, key)
	if err != nil {
		return false, err
	}
	if r, ok := plain(v); ok && r.Kind() == reflect.Bool {
		return r.Bool(), nil
	}
	return false, ArgError{key, NotABool}
}

// Number returns the value of key in in, which must be a number: a json.Number,
// or of a type that is made of Go's integers and floats. One that a float64
// can't hold is an error: it has more digits, is out of range, or infinite, or
// no number at all.
func Number(in map[string]any, key string) (float64, error) {
	v, err := lookUp(in, key)
	if err != nil {
		return 0, err
	}
	if f, ok := v.(float64); ok {
		return finite(f, key)
	}
	if n, ok := v.(json.Number); ok {
		return parseNumber(string(n), key)
	}
	r, ok := plain(v)
	switch {
	case ok && r.CanFloat():
		return finite(r.Float(), key)
	case ok && r.CanInt():
		// 2^63 is a float64 and no int64, to which it can't be converted back.
		if f := float64(r.Int()); f < 1<<63 && int64(f) == r.Int() {
			return f, nil
		}
		return 0, ArgError{key, LosesDigits}
	case ok && r.CanUint():
		if f := float64(r.Uint()); f < 1<<64 && uint64(f) == r.Uint() {
			return f, nil
		}
		return 0, ArgError{key, LosesDigits}
	}
	return 0, ArgError{key, NotANumber}
}

// lookUp returns the value of key. A key that encoding/json would take for it
// as well, in whatever order the two are written, makes it an error: what the
// tool reads might be the other value.
func lookUp(in map[string]any, key string) (any, error) {
	v, found := in[key]
	for k := range in {
		if k != key && strings.EqualFold(k, key) {
			return nil, ArgError{key, OtherKey}
		}
	}
	if !found {
		return nil, ArgError{key, Missing}
	}
	return v, nil
}

// plain returns v for reflection, unless JSON would hold something else than the
// Go value: what a method of v returns.
func plain(v any) (reflect.Value, bool) {
	r := reflect.ValueOf(v)
	if !r.IsValid() || isMarshaler(r.Type()) {
		return reflect.Value{}, false
	}
	return r, true
}

func finite(f float64, key string) (float64, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, ArgError{key, LosesDigits}
	}
	return f, nil
}

// parseNumber reads a number as JSON writes it. The float64 must be it exactly,
// or write itself with the same digits, as 0.1 does.
func parseNumber(literal, key string) (float64, error) {
	if literal == "" || literal[0] != '-' && (literal[0] < '0' || literal[0] > '9') || !json.Valid([]byte(literal)) {
		return 0, ArgError{key, NotANumber}
	}
	literal = strings.TrimRight(literal, " \t\r\n")
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || !sameNumber(literal, f) && !exactNumber(literal, f) {
		return 0, ArgError{key, LosesDigits}
	}
	return f, nil
}

// exactDigits is how many digits the longest float64 has, written in full.
const exactDigits = 767

// exactNumber reports whether f is the number that literal writes.
func exactNumber(literal string, f float64) bool {
	digits, exp, ok := decimal(literal)
	if !ok || len(digits) > exactDigits {
		return false
	}
	exact, exactExp, _ := decimal(strconv.FormatFloat(f, 'e', exactDigits-1, 64))
	return digits == exact && exp == exactExp
}
