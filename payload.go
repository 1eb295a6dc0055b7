package hooks

import (
	"maps"
	"reflect"
	"slices"
)

// payloader is a framework's own context that tells which of its values hooks
// are there to change at a point. Map, slice and plain values are compared
// shallowly with what they were; a pointer is the same as long as it points to
// the same place.
type payloader interface{ HookPayload(InterceptionPoint) any }

// ownPayloader is a context of this package, or one that embeds one.
type ownPayloader interface{ payload(InterceptionPoint) any }

// payloads is a payload of several values.
type payloads []any

// tracker knows what a payload was, so that a change in place counts too.
type tracker struct {
	point InterceptionPoint
	c     any
	first any // frozen when the dispatch began
	last  any // frozen after the last hook that changed something
}

// newTracker returns nil where c has no payload, and nothing is modified.
func newTracker(p InterceptionPoint, c any) *tracker {
	t := &tracker{point: p, c: c}
	v, ok := t.payload()
	if !ok {
		return nil
	}
	t.first = freeze(v)
	t.last = t.first
	return t
}

// payload asks the context. A HookPayload of a framework's own that panics
// must not end a run because somebody observes it.
func (t *tracker) payload() (v any, ok bool) {
	var r recovery
	defer r.catch()
	switch c := t.c.(type) {
	case payloader:
		v, ok = c.HookPayload(t.point), true
	case ownPayloader:
		v, ok = c.payload(t.point), true
	}
	r.returned = true
	return v, ok
}

// changed says whether the payload differs from what it was after the last
// change.
func (t *tracker) changed() bool {
	if t == nil {
		return false
	}
	v, ok := t.payload()
	if !ok || same(t.last, v) {
		return false
	}
	t.last = freeze(v)
	return true
}

// differs says whether the payload differs from what it was at first.
func (t *tracker) differs() bool { return t != nil && !same(t.first, t.last) }

// freeze copies what a later change in place of v would change.
func freeze(v any) any {
	switch v := v.(type) {
	case nil, string, bool, int, float64:
		return v
	case payloads:
		frozen := make(payloads, len(v))
		for i := range v {
			frozen[i] = freeze(v[i])
		}
		return frozen
	case map[string]any:
		return maps.Clone(v)
	case []string:
		return slices.Clone(v)
	case []Part:
		return slices.Clone(v)
	case []ToolRequest:
		return slices.Clone(v)
	case []Message:
		frozen := slices.Clone(v)
		for i := range frozen {
			frozen[i].Parts = slices.Clone(frozen[i].Parts)
			frozen[i].ToolCalls = slices.Clone(frozen[i].ToolCalls)
		}
		return frozen
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Map:
		if r.IsNil() {
			return v
		}
		frozen := reflect.MakeMapWithSize(r.Type(), r.Len())
		for it := r.MapRange(); it.Next(); {
			frozen.SetMapIndex(it.Key(), it.Value())
		}
		return frozen.Interface()
	case reflect.Slice:
		if r.IsNil() {
			return v
		}
		frozen := reflect.MakeSlice(r.Type(), r.Len(), r.Len())
		reflect.Copy(frozen, r)
		return frozen.Interface()
	}
	return v
}

// same compares a payload with its frozen form: maps by their keys and values,
// slices by their elements, and those as identical does.
func same(frozen, now any) bool {
	switch a := frozen.(type) {
	case nil:
		return now == nil
	case string:
		b, ok := now.(string)
		return ok && a == b
	case payloads:
		b, ok := now.(payloads)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := now.(map[string]any)
		return ok && maps.EqualFunc(a, b, identical)
	case []string:
		b, ok := now.([]string)
		return ok && slices.Equal(a, b)
	case []Part:
		b, ok := now.([]Part)
		return ok && slices.EqualFunc(a, b, samePart)
	case []ToolRequest:
		b, ok := now.([]ToolRequest)
		return ok && slices.Equal(a, b)
	case []Message:
		b, ok := now.([]Message)
		return ok && slices.EqualFunc(a, b, sameMessage)
	}
	a, b := reflect.ValueOf(frozen), reflect.ValueOf(now)
	if !b.IsValid() || a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for it := a.MapRange(); it.Next(); {
			v := b.MapIndex(it.Key())
			if !v.IsValid() || !identicalValue(it.Value(), v) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !identicalValue(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return identicalValue(a, b)
}

// identical says whether two values are the same one, without looking behind
// references and without panicking on values that == can't compare.
func identical(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return identicalValue(reflect.ValueOf(a), reflect.ValueOf(b))
}

func identicalValue(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		x, y := a.Float(), b.Float()
		return x == y || x != x && y != y
	case reflect.Map, reflect.Func:
		return a.UnsafePointer() == b.UnsafePointer()
	case reflect.Slice:
		return a.Len() == b.Len() && a.UnsafePointer() == b.UnsafePointer()
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return identicalValue(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !identicalValue(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Array:
		for i := range a.Len() {
			if !identicalValue(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
