// Package deep copies values and compares them with their copies: through maps,
// slices, arrays and interfaces, and the exported fields of structs. What lies
// behind pointers, functions and channels is the same as long as they are. Nothing
// in it panics, whatever the values hold.
package deep

import (
	"reflect"
)

// What a copy can't hold: a map may hold itself, and a list that holds another
// twice, which holds a third twice, and so on, takes little memory.
const (
	maxDepth  = 64
	maxValues = 100_000 // maps, lists and structs
)

// Clone copies v. The copy is whole unless v is too deep or too large to be
// followed to its end, or has unexported fields that hold maps, lists or
// interfaces; what is left out is shared with it.
func Clone(v any) (c any, whole bool) {
	w := cloner{left: maxValues}
	c = w.value(v, 0)
	return c, !w.cut
}

// CloneMap is Clone for the most frequent kind of map.
func CloneMap(m map[string]any) (c map[string]any, whole bool) {
	w := cloner{left: maxValues}
	c = w.plainMap(m, 0)
	return c, !w.cut
}

// cloner is one copy under way.
type cloner struct {
	left int  // how many values may still be copied
	cut  bool // some weren't
}

// spent says whether a value at this depth can't be copied any more.
func (w *cloner) spent(depth int) bool {
	w.left--
	if depth > maxDepth || w.left < 0 {
		w.cut = true
	}
	return w.cut
}

func (w *cloner) value(v any, depth int) any {
	switch v := v.(type) { // what arguments consist of, as a rule
	case nil, string, bool, float64, int:
		return v
	case map[string]any:
		return w.plainMap(v, depth)
	}
	return w.reflected(reflect.ValueOf(v), depth).Interface()
}

func (w *cloner) plainMap(m map[string]any, depth int) map[string]any {
	if m == nil || w.spent(depth) {
		return m
	}
	c := make(map[string]any, len(m))
	for k, v := range m {
		c[k] = w.value(v, depth+1)
	}
	return c
}

func (w *cloner) reflected(v reflect.Value, depth int) reflect.Value {
	if v.Kind() == reflect.Interface {
		if !follows(v.Elem().Kind()) {
			return v
		}
		c := reflect.New(v.Type()).Elem()
		c.Set(w.reflected(v.Elem(), depth))
		return c
	}
	if !follows(v.Kind()) || w.spent(depth) {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), w.reflected(it.Value(), depth+1))
		}
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		reflect.Copy(c, v)
		w.elements(c, depth)
	case reflect.Array:
		c.Set(v)
		w.elements(c, depth)
	case reflect.Struct:
		c.Set(v)
		for _, f := range c.Fields() {
			switch {
			case !f.CanSet(): // unexported
				w.cut = w.cut || shares(f.Type())
			case follows(f.Kind()):
				f.Set(w.reflected(f, depth+1))
			}
		}
	}
	return c
}

// shares says whether values of the type may hold something that a copy of them
// holds as well, other than behind a pointer.
func shares(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Map, reflect.Slice:
		return true
	case reflect.Array:
		return shares(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if shares(f.Type) {
				return true
			}
		}
	}
	return false
}

// elements makes the elements of c copies of their own.
func (w *cloner) elements(c reflect.Value, depth int) {
	if !follows(c.Type().Elem().Kind()) {
		return
	}
	for i := range c.Len() {
		c.Index(i).Set(w.reflected(c.Index(i), depth+1))
	}
}

// follows says whether a value of the kind has something of its own to copy.
func follows(k reflect.Kind) bool {
	switch k {
	case reflect.Interface, reflect.Map, reflect.Slice, reflect.Array, reflect.Struct:
		return true
	}
	return false
}

// Equal reports whether b holds what a holds, which is a whole copy by [Clone]: so
// that it ends where a does. Structs are compared as by [reflect.DeepEqual]. Maps
// with NaN among their keys are never equal; NaN elsewhere is itself.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b, 0)
	}
	return b != nil && equal(reflect.ValueOf(a), reflect.ValueOf(b), 0)
}

func equalMaps(a, b map[string]any, depth int) bool {
	if len(a) != len(b) || depth > maxDepth {
		return false
	}
	for k, v := range a {
		w, ok := b[k]
		if !ok {
			return false
		}
		switch v := v.(type) {
		case nil:
			ok = w == nil
		case string:
			var s string
			s, ok = w.(string)
			ok = ok && s == v
		case map[string]any:
			var m map[string]any
			m, ok = w.(map[string]any)
			ok = ok && equalMaps(v, m, depth+1)
		default:
			ok = w != nil && equal(reflect.ValueOf(v), reflect.ValueOf(w), depth+1)
		}
		if !ok {
			return false
		}
	}
	return true
}

func equal(a, b reflect.Value, depth int) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() || depth > maxDepth {
		return false
	}
	switch a.Kind() {
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return equal(a.Elem(), b.Elem(), depth+1)
	case reflect.Map:
		return equalReflected(a, b, depth)
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i), depth+1) {
				return false
			}
		}
		return true
	case reflect.Struct:
		return a.CanInterface() && b.CanInterface() && reflect.DeepEqual(a.Interface(), b.Interface())
	case reflect.Float32, reflect.Float64:
		return sameFloat(a.Float(), b.Float())
	case reflect.Complex64, reflect.Complex128:
		x, y := a.Complex(), b.Complex()
		return sameFloat(real(x), real(y)) && sameFloat(imag(x), imag(y))
	case reflect.Func:
		return a.UnsafePointer() == b.UnsafePointer()
	}
	return a.Equal(b)
}

func equalReflected(a, b reflect.Value, depth int) bool {
	if a.Len() != b.Len() {
		return false
	}
	for it := a.MapRange(); it.Next(); {
		other := b.MapIndex(it.Key())
		if !other.IsValid() || !equal(it.Value(), other, depth+1) {
			return false
		}
	}
	return true
}

func sameFloat(a, b float64) bool { return a == b || a != a && b != b }
