package shallow

// Values of every kind, copied and compared one level deep.

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type (
	ownByte    byte
	ownBytes   []byte
	ownString  string
	ownFloat   float64
	ownBool    bool
	ownMap     map[string]any
	ownStrings []ownString
	point      struct{ X, Y int }
	holder     struct {
		V    any
		list []int
	}
)

var (
	nan  = math.NaN()
	list = []int{1}
	fn   = func() {}
)

// pairs returns two values of each kind: one, one that is equal to it but shares
// no memory where that is possible, and one that differs.
func pairs() map[string][3]any {
	return map[string][3]any{
		"text":            {"a", "a", "b"},
		"a text's type":   {ownString("a"), ownString("a"), "a"},
		"an int":          {1, 1, 2},
		"a float":         {1.5, 1.5, 2.5},
		"NaN":             {nan, math.NaN(), 1.0},
		"a complex NaN":   {complex(nan, 1), complex(nan, 1), complex(nan, 2)},
		"zero":            {0.0, math.Copysign(0, -1), 1.0},
		"time":            {time.Duration(1), time.Duration(1), time.Duration(2)},
		"a struct":        {point{1, 2}, point{1, 2}, point{1, 3}},
		"a struct of any": {holder{V: "a", list: list}, holder{V: "a", list: list}, holder{V: "a", list: []int{1}}},
		"a pointer":       {&list, &list, new([]int)},
		"a bool":          {true, true, false},
		"ints":            {[]int{1, 2}, []int{1, 2}, []int{1, 3}},
		"int8s":           {[]int8{1, -2}, []int8{1, -2}, []int8{1, 2}},
		"int16s":          {[]int16{1, -2}, []int16{1, -2}, []int16{1, 2}},
		"int32s":          {[]rune("añ"), []rune("añ"), []rune("an")},
		"int64s":          {[]int64{1, 1 << 40}, []int64{1, 1 << 40}, []int64{1, 1 << 41}},
		"uints":           {[]uint{1}, []uint{1}, []uint{2}},
		"bytes":           {[]byte("ab"), []byte("ab"), []byte("ac")},
		"uint16s":         {[]uint16{1}, []uint16{1}, []uint16{256}},
		"uint32s":         {[]uint32{1}, []uint32{1}, []uint32{1 << 16}},
		"uint64s":         {[]uint64{1}, []uint64{1}, []uint64{1 << 40}},
		"uintptrs":        {[]uintptr{1}, []uintptr{1}, []uintptr{2}},
		"bools":           {[]bool{true}, []bool{true}, []bool{false}},
		"texts":           {[]string{"a", "b"}, []string{"a", "b"}, []string{"a", "c"}},
		"floats":          {[]float64{1, nan, 0}, []float64{1, nan, math.Copysign(0, -1)}, []float64{1, 2, 0}},
		"float32s":        {[]float32{float32(nan)}, []float32{float32(nan)}, []float32{1}},
		"complexes":       {[]complex128{complex(1, nan)}, []complex128{complex(1, nan)}, []complex128{complex(2, nan)}},
		"complex64s":      {[]complex64{1i}, []complex64{1i}, []complex64{1}},
		"named bytes":     {ownBytes("ab"), ownBytes("ab"), ownBytes("ac")},
		"other bytes":     {[]byte("ab"), []byte("ab"), ownBytes("ab")},
		"own bytes":       {[]ownByte{1}, []ownByte{1}, []ownByte{2}},
		"own texts":       {ownStrings{"a", "b"}, ownStrings{"a", "b"}, ownStrings{"a", "c"}},
		"own floats":      {[]ownFloat{1, ownFloat(nan)}, []ownFloat{1, ownFloat(nan)}, []ownFloat{2, ownFloat(nan)}},
		"own bools":       {[]ownBool{true}, []ownBool{true}, []ownBool{false}},
		"anything":        {[]any{1, "a", nil, nan}, []any{1, "a", nil, nan}, []any{1, "a", 2, nan}},
		"errors":          {[]error{nil}, []error{nil}, []error{assert.AnError}},
		"structs":         {[]point{{1, 2}}, []point{{1, 2}}, []point{{1, 3}}},
		"slices":          {[][]int{list}, [][]int{list}, [][]int{{1}}},
		"functions":       {[]func(){fn}, []func(){fn}, []func(){nil}},
		"arrays in one":   {[][2]byte{{1, 2}}, [][2]byte{{1, 2}}, [][2]byte{{1, 3}}},
		"a shorter one":   {[]int{1, 2}, []int{1, 2}, []int{1}},
		"a longer one":    {[]byte{1}, []byte{1}, []byte{1, 0}},
		"none":            {[]int{}, []int(nil), []int{0}},
		"of no size":      {[]struct{}{{}}, []struct{}{{}}, []struct{}{{}, {}}},
		"an array":        {[3]int{1, 2, 3}, [3]int{1, 2, 3}, [3]int{1, 2, 4}},
		"a long array":    {[1000]byte{999: 1}, [1000]byte{999: 1}, [1000]byte{}},
		"array of floats": {[2]float64{1, nan}, [2]float64{1, nan}, [2]float64{2, nan}},
		"array of any":    {[1]any{"a"}, [1]any{"a"}, [1]any{[]int{1}}},
		"a map":           {map[string]any{"a": 1, "b": nil}, map[string]any{"a": 1, "b": nil}, map[string]any{"a": 1, "c": nil}},
		"a map's value":   {map[string]any{"a": nan}, map[string]any{"a": nan}, map[string]any{"a": 1}},
		"a map of slices": {map[string]any{"a": list}, map[string]any{"a": list}, map[string]any{"a": []int{1}}},
		"own map":         {ownMap{"a": 1}, ownMap{"a": 1}, ownMap{"a": 2}},
		"an int map":      {map[int]int{1: 1}, map[int]int{1: 1}, map[int]int{2: 1}},
		"a set":           {map[point]struct{}{{1, 2}: {}}, map[point]struct{}{{1, 2}: {}}, map[point]struct{}{{1, 3}: {}}},
		"a bigger map":    {map[int]int{1: 1}, map[int]int{1: 1}, map[int]int{1: 1, 2: 2}},
		"NaN keys":        {map[float64]int{nan: 1, 1: 1}, map[float64]int{nan: 1, 1: 1}, map[float64]int{nan: 2, 1: 1}},
		"two NaN keys":    {twoNaN(1, 2), twoNaN(2, 1), twoNaN(1, 1)},
		"NaN for a key":   {map[float64]int{nan: 1}, map[float64]int{nan: 1}, map[float64]int{1: 1}},
		"NaN in any key":  {map[any]int{nan: 1}, map[any]int{nan: 1}, map[any]int{float32(nan): 1}},
		"NaN in a struct": {map[[1]float64]int{{nan}: 1}, map[[1]float64]int{{nan}: 1}, map[[1]float64]int{{nan}: 2}},
	}
}

func twoNaN(a, b int) map[float64]int {
	m := map[float64]int{nan: a}
	m[math.NaN()] = b
	return m
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for name, v := range pairs() {
		for i, a := range v {
			for j, b := range v {
				same := i < 2 && j < 2 || i == j
				assert.Equal(t, same, Equal(a, b), "%s: %v and %v", name, a, b)
			}
		}
		assert.False(t, Equal(v[0], nil), name)
		assert.False(t, Equal(nil, v[0]), name)
	}
	assert.True(t, Equal(nil, nil))
	assert.True(t, Equal(ownMap(nil), ownMap{}), "as many entries")
	assert.NotPanics(t, func() { Equal(map[any]any{1: fn}, map[any]any{1: fn}) })
}

// A clone is equal, of the same type, and apart.
func TestClone(t *testing.T) {
	t.Parallel()
	for name, v := range pairs() {
		clone := Clone(v[0])
		require.Equal(t, reflect.TypeOf(v[0]), reflect.TypeOf(clone), name)
		assert.True(t, Equal(v[0], clone), name)
		r, c := reflect.ValueOf(v[0]), reflect.ValueOf(clone)
		switch r.Kind() {
		case reflect.Map:
			assert.NotEqual(t, r.UnsafePointer(), c.UnsafePointer(), name)
			assert.Equal(t, r.Len(), c.Len(), name)
		case reflect.Slice:
			if r.Len() > 0 && r.Type().Elem().Size() > 0 {
				assert.NotEqual(t, r.UnsafePointer(), c.UnsafePointer(), name)
			}
		}
	}
	for _, none := range []any{nil, []byte(nil), ownBytes(nil), []string(nil), []any(nil), map[string]any(nil), ownMap(nil)} {
		assert.Equal(t, none, Clone(none), "%T", none)
	}
}

// Slices and maps are the same if they are one, whatever they hold.
func TestIdentical(t *testing.T) {
	t.Parallel()
	m := map[string]any{}
	for name, tt := range map[string]struct {
		a, b any
		want bool
	}{
		"one slice": {list, list, true}, "an equal slice": {list, []int{1}, false}, "a part of it": {list, list[:0], false},
		"one map": {m, m, true}, "an equal map": {m, maps.Clone(m), false}, "one function": {fn, fn, true},
		"NaN": {nan, nan, true}, "another type": {1, int8(1), false}, "nil": {nil, nil, true}, "nil and none": {nil, []int(nil), false},
		"structs": {holder{V: m}, holder{V: m}, true}, "other structs": {holder{V: m}, holder{V: map[string]any{}}, false},
		"arrays": {[1]any{list}, [1]any{list}, true},
	} {
		assert.Equal(t, tt.want, Identical(tt.a, tt.b), name)
	}
}

// A page of values is compared as a whole, not one by one by reflection.
func TestEqual_takesLargeSlicesAsAWhole(t *testing.T) {
	t.Parallel()
	type compared struct {
		name string
		a, b any
	}
	const n = 1 << 16
	for _, c := range []compared{
		{"bytes", make([]byte, n), make([]byte, n)}, {"own bytes", make([]ownByte, n), make([]ownByte, n)},
		{"ints", make([]int, n), make([]int, n)}, {"texts", make([]string, n), make([]string, n)},
		{"own texts", make(ownStrings, n), make(ownStrings, n)}, {"own floats", make([]ownFloat, n), make([]ownFloat, n)},
		{"complexes", make([]complex64, n), make([]complex64, n)},
	} {
		fastest := time.Hour
		for range 5 {
			began := time.Now()
			require.True(t, Equal(c.a, c.b))
			fastest = min(fastest, time.Since(began))
		}
		slow := time.Hour
		for range 3 {
			began := time.Now()
			x, y := reflect.ValueOf(c.a), reflect.ValueOf(c.b)
			for i := range x.Len() {
				if !identical(x.Index(i), y.Index(i)) {
					t.Fatal("differs")
				}
			}
			slow = min(slow, time.Since(began))
		}
		assert.Less(t, 2*fastest, slow, fmt.Sprint(c.name, " is compared one by one"))
	}
}
