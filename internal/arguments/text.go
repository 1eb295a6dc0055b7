package arguments

// Finding texts that encoding/json would change without a word.

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"
)

// mayBeReplaced reports whether encoding/json may have put U+FFFD in place of
// bytes of a text. Which of the two ways it writes that in is its own affair.
func mayBeReplaced(out string) bool {
	return strings.Contains(out, `\ufffd`) || strings.ContainsRune(out, utf8.RuneError)
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// validText reports whether the texts that encoding/json writes for v are valid
// UTF-8. What a MarshalJSON returns isn't looked at, since it is written as it
// is.
func validText(v reflect.Value) bool {
	if !v.IsValid() {
		return true
	}
	if m, ok := marshalerOf(v); ok {
		return validMarshaler(m)
	}
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Interface, reflect.Pointer:
		return validText(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 && !isMarshaler(reflect.PointerTo(v.Type().Elem())) {
			return true // base64
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			if !validText(v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			if !validKey(entry.Key()) || !validText(entry.Value()) {
				return false
			}
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			written := field.IsExported() || field.Anonymous && holdsFields(field.Type)
			if written && field.Tag.Get("json") != "-" && !validText(value) {
				return false
			}
		}
	}
	return true
}

// holdsFields reports whether encoding/json writes the exported fields of an
// embedded field of type t, although its own name is unexported.
func holdsFields(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

func isMarshaler(t reflect.Type) bool {
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
}

// marshalerOf returns what encoding/json asks to write v, if it asks v.
func marshalerOf(v reflect.Value) (any, bool) {
	if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.IsNil() || !v.CanInterface() {
		return nil, false
	}
	if isMarshaler(v.Type()) {
		return v.Interface(), true
	}
	if v.CanAddr() && isMarshaler(reflect.PointerTo(v.Type())) {
		return v.Addr().Interface(), true
	}
	return nil, false
}

func validMarshaler(m any) bool {
	if _, ok := m.(json.Marshaler); ok {
		return true
	}
	return validMarshaledText(m.(encoding.TextMarshaler))
}

func validMarshaledText(m encoding.TextMarshaler) bool {
	text, err := m.MarshalText()
	return err != nil || utf8.Valid(text) // an error has been told when it was written
}

// validKey is validText for the key of a map, of which encoding/json doesn't ask
// for a MarshalJSON.
func validKey(key reflect.Value) bool {
	if key.Kind() == reflect.String {
		return utf8.ValidString(key.String())
	}
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](key); ok && (key.Kind() != reflect.Pointer || !key.IsNil()) {
		return validMarshaledText(m)
	}
	return true
}
