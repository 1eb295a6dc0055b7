package arguments

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type (
	yes   bool
	count uint8
	money float64
	id    int64
	level int
)

func (level) MarshalText() ([]byte, error) { return []byte("high"), nil }

func TestNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want float64
	}{
		{1.5, 1.5}, {float32(0.5), 0.5}, {money(2.5), 2.5}, {0.0, 0},
		{7, 7}, {int8(-7), -7}, {int16(7), 7}, {int32(7), 7}, {int64(7), 7}, {id(7), 7}, {time.Second, 1e9},
		{uint(7), 7}, {uint8(7), 7}, {uint16(7), 7}, {uint32(7), 7}, {uint64(7), 7}, {uintptr(7), 7}, {count(7), 7},
		{int64(1 << 60), 1 << 60}, {int64(math.MinInt64), math.MinInt64}, {uint64(1 << 63), 1 << 63},
		{json.Number("7"), 7}, {json.Number("-1.50"), -1.5}, {json.Number("0.1"), 0.1}, {json.Number("1E2"), 100},
		{json.Number("0e999999999999"), 0},
		{json.Number("1152921504606846976"), 1 << 60},
		{json.Number("0.1000000000000000055511151231257827021181583404541015625"), 0.1},
	} {
		got, err := Number(map[string]any{"n": c.v}, "n")
		require.NoError(t, err, "%T %v", c.v, c.v)
		assert.Equal(t, c.want, got, "%T %v", c.v, c.v)
	}
}

func TestNumber_fails(t *testing.T) {
	t.Parallel()
	for problem, values := range map[string][]any{
		LosesDigits: {
			math.NaN(), math.Inf(1), math.Inf(-1), float32(math.Inf(1)), money(math.NaN()),
			1<<53 + 1, int64(math.MaxInt64), uint64(math.MaxUint64), id(-1<<53 - 1),
			json.Number("9007199254740993"), json.Number("5000.00000000000000001"), json.Number("1e400"),
			json.Number("-1e400"), json.Number("1e-400"), json.Number("1e99999999999999999999"),
			json.Number("0.1000000000000000055"), json.Number("1" + strings.Repeat("0", 9990) + "e-100005"),
			json.Number("1." + strings.Repeat("0", 1000) + "1"),
		},
		NotANumber: {
			nil, "5000", true, []any{1.0}, map[string]any{}, word("1"), level(1), complex(1, 0), new(float64),
			json.Number(""), json.Number("x"), json.Number("NaN"), json.Number("Inf"), json.Number("0x10"),
			json.Number("1_000"), json.Number("+5"), json.Number(" 5"), json.Number("05"), json.Number("-"),
			json.Number("true"), json.Number("1 2"),
		},
	} {
		for _, v := range values {
			got, err := Number(map[string]any{"n": v}, "n")
			assert.Equal(t, ArgError{"n", problem}, err, "%T %v", v, v)
			assert.Zero(t, got, "%T %v", v, v)
		}
	}
}

// What Parse makes a float64 Number gives, and what it makes a json.Number,
// because a float64 would lose digits, Number refuses unless the value is exact.
func TestNumber_agreesWithParse(t *testing.T) {
	t.Parallel()
	for _, literal := range []string{"0", "-0.0", "1", "0.1", "1e21", "9007199254740992", "5e-324", "1.7976931348623157e308"} {
		in, err := Parse(`{"n":` + literal + `}`)
		require.NoError(t, err)
		want, ok := in["n"].(float64)
		require.True(t, ok, literal)
		for _, v := range []any{want, json.Number(literal)} {
			got, err := Number(map[string]any{"n": v}, "n")
			require.NoError(t, err, literal)
			assert.Equal(t, want, got, literal)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for v, want := range map[any]string{"": "", "a": "a", word("b"): "b"} {
		got, err := String(map[string]any{"s": v}, "s")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, v := range []any{nil, 1.0, true, json.Number("1"), []string{"a"}, []byte("a"), level(1), new(string)} {
		got, err := String(map[string]any{"s": v}, "s")
		assert.Equal(t, ArgError{"s", NotAString}, err, "%T", v)
		assert.Empty(t, got)
	}
}

func TestBool(t *testing.T) {
	t.Parallel()
	for v, want := range map[any]bool{true: true, false: false, yes(true): true} {
		got, err := Bool(map[string]any{"b": v}, "b")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, v := range []any{nil, "true", 1, 0.0, json.Number("1"), new(bool)} {
		got, err := Bool(map[string]any{"b": v}, "b")
		assert.Equal(t, ArgError{"b", NotABool}, err, "%T", v)
		assert.False(t, got)
	}
}

func TestLookUp_failsForOtherKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      map[string]any
		problem string
	}{
		{nil, Missing},
		{map[string]any{"paths": "x"}, Missing},
		{map[string]any{" path": "x"}, Missing},
		{map[string]any{"Path": "x"}, OtherKey},
		{map[string]any{"PATH": "x", "path": "y"}, OtherKey},
	} {
		_, err := String(c.in, "path")
		assert.Equal(t, ArgError{"path", c.problem}, err, "%v", c.in)
	}
	_, err := Bool(nil, "force")
	assert.Equal(t, ArgError{"force", Missing}, err)
	_, err = Number(nil, "amount")
	assert.Equal(t, ArgError{"amount", Missing}, err)
	// encoding/json takes the Kelvin sign for a k.
	_, err = String(map[string]any{"\u212Aey": "x"}, "key")
	assert.Equal(t, ArgError{"key", OtherKey}, err)
}

func TestArgError_namesTheKeyAlone(t *testing.T) {
	t.Parallel()
	_, err := Number(map[string]any{"amount": "secret"}, "amount")
	require.EqualError(t, err, `argument "amount": not a number`)
	_, err = Number(map[string]any{"amount": json.Number("1e400")}, "amount")
	require.EqualError(t, err, `argument "amount": not a number that a float64 can hold`)
	_, err = Number(nil, "amount")
	require.EqualError(t, err, `argument "amount": missing`)
}

func TestValues_allocs(t *testing.T) {
	in := map[string]any{"s": "a", "n": 1.5, "i": 7, "b": true}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = String(in, "s")
		_, _ = Number(in, "n")
		_, _ = Number(in, "i")
		_, _ = Bool(in, "b")
	}))
}
