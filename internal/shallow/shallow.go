// Package shallow copies and compares values one level deep: maps by their
// keys and values, slices by their elements, and what lies behind those by
// identity. Nothing in it panics, whatever the values hold.
package shallow

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// Clone copies v if it is a map or a slice of any type, and returns other
// values as they are.
func Clone(v any) any {
	switch v := v.(type) {
	case nil, string:
		return v
	case map[string]any:
		return maps.Clone(v)
	case []byte:
		return bytes.Clone(v)
	case []any:
		return slices.Clone(v)
	case []string:
		return slices.Clone(v)
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Map:
		if r.IsNil() {
			return v
		}
		clone := reflect.MakeMapWithSize(r.Type(), r.Len())
		for it := r.MapRange(); it.Next(); {
			clone.SetMapIndex(it.Key(), it.Value())
		}
		return clone.Interface()
	case reflect.Slice:
		if r.IsNil() {
			return v
		}
		clone := reflect.MakeSlice(r.Type(), r.Len(), r.Len())
		reflect.Copy(clone, r)
		return clone.Interface()
	}
	return v
}

// Equal reports whether two values are the same one level deep.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && EqualMaps(a, b)
	}
	if b == nil {
		return false
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Type() != y.Type() {
		return false
	}
	switch x.Kind() {
	case reflect.Map:
		return equalMaps(x, y)
	case reflect.Slice:
		return equalSlices(a, b, x, y)
	}
	return identical(x, y)
}

// EqualMaps is Equal for the most frequent kind of map, without reflection.
func EqualMaps(a, b map[string]any) bool { return maps.EqualFunc(a, b, Identical) }

// SameMap reports whether a and b are one map, which a change of one changes too.
// Two nil maps are one.
func SameMap(a, b map[string]any) bool {
	// A map is a pointer; package reflect tells as much in ten times the time.
	return *(*unsafe.Pointer)(unsafe.Pointer(&a)) == *(*unsafe.Pointer)(unsafe.Pointer(&b))
}

func equalMaps(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	lost := 0 // keys that no map finds again, such as NaN
	for it := a.MapRange(); it.Next(); {
		v := b.MapIndex(it.Key())
		switch {
		case v.IsValid():
			if !identical(it.Value(), v) {
				return false
			}
		case a.MapIndex(it.Key()).IsValid():
			return false
		default:
			lost++
		}
	}
	return lost == 0 || equalLost(lostEntries(a), lostEntries(b))
}

type entry struct{ key, value reflect.Value }

// lostEntries returns the entries whose keys aren't equal to themselves.
func lostEntries(m reflect.Value) []entry {
	var lost []entry
	for it := m.MapRange(); it.Next(); {
		if !m.MapIndex(it.Key()).IsValid() {
			lost = append(lost, entry{it.Key(), it.Value()})
		}
	}
	return lost
}

// equalLost compares entries that can't be looked up, in any order.
func equalLost(a, b []entry) bool {
	for _, e := range a {
		at := slices.IndexFunc(b, func(o entry) bool { return identical(e.key, o.key) && identical(e.value, o.value) })
		if at < 0 {
			return false
		}
		b = slices.Delete(b, at, at+1)
	}
	return len(b) == 0
}

// equalSlices compares two slices of one type. Those of basic types are
// compared as a whole: a page of bytes element by element, by reflection, would
// take a thousand times as long.
func equalSlices(a, b any, x, y reflect.Value) bool {
	if x.Len() != y.Len() {
		return false
	}
	if x.Len() == 0 || x.UnsafePointer() == y.UnsafePointer() {
		return true
	}
	if a, ok := a.([]any); ok {
		return slices.EqualFunc(a, b.([]any), Identical)
	}
	switch x.Type().Elem().Kind() {
	case reflect.String:
		return slices.Equal(view[string](x), view[string](y))
	case reflect.Float32:
		return slices.EqualFunc(view[float32](x), view[float32](y), sameFloat)
	case reflect.Float64:
		return slices.EqualFunc(view[float64](x), view[float64](y), sameFloat)
	case reflect.Complex64:
		return slices.EqualFunc(view[complex64](x), view[complex64](y), sameComplex64)
	case reflect.Complex128:
		return slices.EqualFunc(view[complex128](x), view[complex128](y), sameComplex)
	}
	if n, plain := plainSize(x.Type().Elem()); plain {
		return bytes.Equal(memory(x, n), memory(y, n))
	}
	for i := range x.Len() {
		if !identical(x.Index(i), y.Index(i)) {
			return false
		}
	}
	return true
}

func sameFloat[F float32 | float64](a, b F) bool { return a == b || a != a && b != b }

func sameComplex(a, b complex128) bool {
	return sameFloat(real(a), real(b)) && sameFloat(imag(a), imag(b))
}

func sameComplex64(a, b complex64) bool { return sameComplex(complex128(a), complex128(b)) }

// view returns a slice of a basic type, or of one made of it, as one of T, which
// is that basic type. It is only read.
func view[T any](slice reflect.Value) []T {
	return unsafe.Slice((*T)(slice.UnsafePointer()), slice.Len())
}

// Identical reports whether two values are the same one, without looking behind
// references and without panicking on values that == can't compare. NaN is
// itself.
func Identical(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if a, ok := a.(string); ok { // the most frequent value, without reflection
		b, ok := b.(string)
		return ok && a == b
	}
	return identical(reflect.ValueOf(a), reflect.ValueOf(b))
}

func identical(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		return sameFloat(a.Float(), b.Float())
	case reflect.Complex64, reflect.Complex128:
		return sameComplex(a.Complex(), b.Complex())
	case reflect.Map, reflect.Func:
		return a.UnsafePointer() == b.UnsafePointer()
	case reflect.Slice:
		return a.Len() == b.Len() && a.UnsafePointer() == b.UnsafePointer()
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return identical(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !identical(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Array:
		if _, plain := plainSize(a.Type().Elem()); plain && a.CanInterface() && b.CanInterface() {
			return a.Interface() == b.Interface()
		}
		for i := range a.Len() {
			if !identical(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// plainSize returns the size of the values of t if two of them are equal
// exactly where their memory is.
func plainSize(t reflect.Type) (size int, plain bool) {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return int(t.Size()), true
	}
	return 0, false
}

// memory returns the bytes that a slice of plain values of the size given lies
// in. They are only read.
func memory(slice reflect.Value, size int) []byte {
	return unsafe.Slice((*byte)(slice.UnsafePointer()), slice.Len()*size)
}
