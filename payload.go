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

// ownPayloader is a context of this package, or one that embeds one. It fills
// in what hooks are there to change at p, or all of it at a point that isn't
// this package's.
type ownPayloader interface {
	payload(p InterceptionPoint, s *snapshot)
}

// snapshot is the payload of a point. Its fields are those of the contexts that
// have them; a payload of several parts sets several.
type snapshot struct {
	input    map[string]any
	intake   any
	output   any // also of a payloader
	text     string
	parts    []Part
	messages []Message
	tools    []string
	calls    []ToolRequest
	answered bool
}

// freeze copies what a later change in place would change.
func (s *snapshot) freeze() {
	s.input = maps.Clone(s.input)
	s.intake, s.output = freeze(s.intake), freeze(s.output)
	s.parts = slices.Clone(s.parts)
	s.tools = slices.Clone(s.tools)
	s.calls = slices.Clone(s.calls)
	s.messages = cloneMessages(s.messages)
}

func (s *snapshot) same(now *snapshot) bool {
	return s.text == now.text && s.answered == now.answered &&
		sameMap(s.input, now.input) && same(s.intake, now.intake) && same(s.output, now.output) &&
		slices.EqualFunc(s.parts, now.parts, samePart) &&
		slices.EqualFunc(s.messages, now.messages, sameMessage) &&
		slices.Equal(s.tools, now.tools) && slices.Equal(s.calls, now.calls)
}

// tracker knows what a payload was, so that a change in place counts too.
type tracker struct {
	point InterceptionPoint
	c     any
	first snapshot // frozen when the dispatch began
	last  snapshot // frozen after the last hook that changed something
	now   snapshot // room for changed, which would else allocate it
}

// newTracker returns nil where c has no payload, and nothing is modified.
func newTracker(p InterceptionPoint, c any) *tracker {
	t := &tracker{point: p, c: c}
	if !t.read(&t.first) {
		return nil
	}
	t.first.freeze()
	t.last = t.first
	return t
}

// read asks the context. A HookPayload of a framework's own that panics must
// not end a run because somebody observes it.
func (t *tracker) read(s *snapshot) (ok bool) {
	switch c := t.c.(type) {
	case payloader:
		var r recovery
		defer r.catch()
		s.output = c.HookPayload(t.point)
		r.returned = true
		return true
	case ownPayloader:
		c.payload(t.point, s)
		return true
	}
	return false
}

// changed says whether the payload differs from what it was after the last
// change.
func (t *tracker) changed() bool {
	if t == nil {
		return false
	}
	t.now = snapshot{}
	if !t.read(&t.now) || t.last.same(&t.now) {
		return false
	}
	t.last = t.now
	t.last.freeze()
	return true
}

// differs says whether the payload differs from what it was at first.
func (t *tracker) differs() bool { return t != nil && !t.first.same(&t.last) }

// freeze copies a map or a slice of any type.
func freeze(v any) any {
	switch v := v.(type) {
	case nil, string:
		return v
	case map[string]any:
		return maps.Clone(v)
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

func sameMap(frozen, now map[string]any) bool { return maps.EqualFunc(frozen, now, identical) }

// same compares a payload with its frozen form: maps by their keys and values,
// slices by their elements, and those as identical does.
func same(frozen, now any) bool {
	switch a := frozen.(type) {
	case nil:
		return now == nil
	case string:
		b, ok := now.(string)
		return ok && a == b
	case map[string]any:
		b, ok := now.(map[string]any)
		return ok && sameMap(a, b)
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
	if a, ok := a.(string); ok { // the most frequent value, without reflection
		b, ok := b.(string)
		return ok && a == b
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
