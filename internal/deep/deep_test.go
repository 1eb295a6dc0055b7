package deep_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loophooks/hooks/internal/deep"
)

type (
	point struct{ X, Y int }
	held  struct {
		Tags []string
		Any  any
		Map  map[string]any
	}
	named  map[string]any
	texts  []string
	number int
)

var shared = &point{1, 2}

// values returns one of each kind of value, made anew.
func values() map[string]any {
	return map[string]any{
		"nil": nil, "text": "a", "number": 1.0, "int": 1, "bool": true, "named number": number(1), "NaN": math.NaN(),
		"complex": complex(1, math.NaN()), "map": map[string]any{"a": 1.0}, "empty map": map[string]any{}, "nil map": map[string]any(nil),
		"nested": map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": "d"}}}},
		"list":   []any{"a", 1.0, nil, []any{true}}, "nil list": []any(nil), "texts": []string{"a"}, "named texts": texts{"a"},
		"bytes": []byte("a"), "named map": named{"a": []any{1}}, "ints": map[int][]int{1: {2}}, "any keys": map[any]any{1: "a", "b": []any{2}},
		"nil value": map[string]any{"a": nil}, "array": [2][]int{{1}, {2}}, "struct": point{1, 2},
		"held": held{[]string{"a"}, []any{"b"}, map[string]any{"c": 1}}, "structs": []point{{1, 2}}, "time": time.Unix(0, 0),
		"pointer": shared, "pointers": []*point{shared}, "pointers in a map": map[string]any{"a": shared}, "json": json.RawMessage("{}"),
		"uint": uint8(1), "float32": float32(1), "channel": (chan int)(nil),
	}
}

func TestClone_equalsWhatItCopies(t *testing.T) {
	t.Parallel()
	for name, v := range values() {
		c, whole := deep.Clone(v)
		assert.True(t, whole, name)
		assert.True(t, deep.Equal(v, c), name)
		assert.True(t, deep.Equal(c, v), name)
		assert.IsType(t, v, c, name)
	}
}

// What is behind an unexported field stays shared, and the copy says that it isn't
// whole, unless that is plain or behind a pointer.
func TestClone_unexportedFields(t *testing.T) {
	t.Parallel()
	type plain struct {
		n     int
		at    *point
		place [2]struct{ x, y int }
	}
	for name, tt := range map[string]struct {
		v     any
		whole bool
	}{
		"plain":       {plain{1, shared, [2]struct{ x, y int }{}}, true},
		"a time":      {time.Unix(0, 0), true},
		"a list":      {struct{ l []string }{[]string{"a"}}, false},
		"a map":       {[]struct{ m map[string]int }{{nil}}, false},
		"any":         {map[string]any{"a": struct{ v any }{}}, false},
		"in an array": {struct{ a [1][]int }{}, false},
		"in a struct": {struct{ s struct{ L []int } }{}, false},
	} {
		_, whole := deep.Clone(tt.v)
		assert.Equal(t, tt.whole, whole, name)
	}
}

func TestEqual_tellsValuesApart(t *testing.T) {
	t.Parallel()
	others := values()
	for name, v := range values() {
		for other, w := range others {
			same := name == other || name == "nil map" && other == "empty map" || name == "empty map" && other == "nil map"
			assert.Equal(t, same, deep.Equal(v, w), "%s, %s", name, other)
		}
	}
}

// No change in place, however deep, reaches the copy.
func TestClone_isNotReachedByChanges(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(v map[string]any){
		"map": func(v map[string]any) { v["map"].(map[string]any)["a"] = 2.0 },
		"nested": func(v map[string]any) {
			v["nested"].(map[string]any)["a"].(map[string]any)["b"].([]any)[0].(map[string]any)["c"] = 1
		},
		"list":         func(v map[string]any) { v["list"].([]any)[3].([]any)[0] = false },
		"texts":        func(v map[string]any) { v["texts"].([]string)[0] = "b" },
		"bytes":        func(v map[string]any) { v["bytes"].([]byte)[0] = 'b' },
		"named map":    func(v map[string]any) { v["named map"].(named)["a"].([]any)[0] = 2 },
		"ints":         func(v map[string]any) { v["ints"].(map[int][]int)[1][0] = 3 },
		"any keys":     func(v map[string]any) { v["any keys"].(map[any]any)["b"].([]any)[0] = 3 },
		"array":        func(v map[string]any) { a := v["array"].([2][]int); a[1][0] = 3 },
		"structs":      func(v map[string]any) { v["structs"].([]point)[0].X = 3 },
		"held, texts":  func(v map[string]any) { v["held"].(held).Tags[0] = "b" },
		"held, any":    func(v map[string]any) { v["held"].(held).Any.([]any)[0] = "c" },
		"held, map":    func(v map[string]any) { v["held"].(held).Map["c"] = 2 },
		"a pointer":    func(v map[string]any) { v["pointers"].([]*point)[0] = &point{1, 2} },
		"a new key":    func(v map[string]any) { v["empty map"].(map[string]any)["a"] = nil },
		"a nil value":  func(v map[string]any) { delete(v["nil value"].(map[string]any), "a") },
		"the top":      func(v map[string]any) { delete(v, "text") },
		"another type": func(v map[string]any) { v["map"] = named(v["map"].(map[string]any)) },
	} {
		v := values()
		c, whole := deep.CloneMap(v)
		assert.True(t, whole)
		assert.True(t, deep.Equal(v, c))
		edit(v)
		assert.False(t, deep.Equal(v, c), name)
		assert.True(t, deep.Equal(c, values()), name)
	}
}

// What lies behind a pointer is the same as long as the pointer is, but for
// structs, which are compared as by reflect.DeepEqual.
func TestEqual_pointersByIdentity(t *testing.T) {
	t.Parallel()
	a, b := &point{1, 2}, &point{1, 2}
	assert.True(t, deep.Equal(a, a))
	assert.False(t, deep.Equal(a, b))
	assert.True(t, deep.Equal(struct{ P *point }{a}, struct{ P *point }{b}))
	f, g := func() {}, func() { a.X++ }
	assert.True(t, deep.Equal(f, f))
	assert.False(t, deep.Equal(f, g))
	c, d := make(chan int), make(chan int)
	assert.True(t, deep.Equal(c, c))
	assert.False(t, deep.Equal(c, d))
}

// A value that can't be followed to its end takes no time without end.
func TestClone_ofWhatNeverEnds(t *testing.T) {
	t.Parallel()
	circle := map[string]any{}
	circle["a"], circle["b"] = circle, []any{circle, circle}
	ring := []any{nil, nil}
	ring[0], ring[1] = ring, ring
	var twice any = []any{1}
	for range 60 { // two to the power of it, though it takes little memory
		twice = []any{twice, twice}
	}
	type node struct{ Next []*node }
	structs := map[string]any{"a": []any{struct{ M map[string]any }{circle}}}
	for name, v := range map[string]any{"a circle": circle, "a ring": ring, "twice and twice": twice, "in a struct": structs} {
		_, whole := deep.Clone(v)
		assert.False(t, whole, name)
	}
	n := &node{}
	n.Next = []*node{n}
	c, whole := deep.Clone(n)
	assert.True(t, whole && deep.Equal(c, n))
	var list any
	for range 1000 {
		list = []any{list}
	}
	_, whole = deep.Clone(list)
	assert.False(t, whole, "too deep")
	large := make([]any, 50_000)
	for i := range large {
		large[i] = map[string]any{"i": i}
	}
	c, whole = deep.Clone(large)
	assert.True(t, whole && deep.Equal(c, large))
	assert.False(t, deep.Equal(c, large[1:]))
}

func TestEqual_neverPanics(t *testing.T) {
	t.Parallel()
	type odd struct {
		F func()
		a any
	}
	odds := []any{
		map[float64]any{math.NaN(): 1}, odd{F: func() {}}, odd{a: []int{1}}, []odd{{}}, [1]any{[]int{1}}, map[any]any{[1]int{1}: func() {}},
		[]any{func() {}}, struct{ e error }{}, [0]int{}, map[string]odd{"a": {}}, new(any), []error{nil},
	}
	for _, a := range odds {
		assert.NotPanics(t, func() {
			c, _ := deep.Clone(a)
			for _, b := range append(odds, c) {
				deep.Equal(a, b)
			}
		}, "%T", a)
	}
}

func FuzzClone(f *testing.F) {
	f.Add(`{"a":[1,{"b":null}],"c":"d"}`, `{"a":[1,{"b":0}],"c":"d"}`)
	f.Add(`[[],{}]`, `[{},[]]`)
	f.Add(`0`, `-0`)
	f.Fuzz(func(t *testing.T, first, second string) {
		var a, b any
		if json.Unmarshal([]byte(first), &a) != nil || json.Unmarshal([]byte(second), &b) != nil {
			return
		}
		c, whole := deep.Clone(a)
		if whole && !deep.Equal(c, a) {
			t.Errorf("%s: the copy differs", first)
		}
		if whole && deep.Equal(c, b) != reflect.DeepEqual(a, b) {
			t.Errorf("%s, %s: equal is %v", first, second, deep.Equal(c, b))
		}
		if whole && scribble(a) && deep.Equal(c, a) {
			t.Errorf("%s: the copy was changed with it", first)
		}
	})
}

// scribble changes the first value in v that it can reach in place.
func scribble(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if !scribble(e) {
				v[k] = "scribbled on, which no input is"
			}
		}
		return len(v) > 0
	case []any:
		if len(v) == 0 {
			return false
		}
		if !scribble(v[0]) {
			v[0] = "scribbled on, which no input is"
		}
		return true
	}
	return false
}
