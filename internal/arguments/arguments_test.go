package arguments

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]map[string]any{
		``:                             {},
		" \t\r\n":                      {},
		`{}`:                           {},
		" \t\r\n{ } \n":                {},
		`{"a":1}`:                      {"a": 1.0},
		`{"Path":1,"path":2}`:          {"Path": 1.0, "path": 2.0},
		`{"":null}`:                    {"": nil},
		`{"a":true,"b":false}`:         {"a": true, "b": false},
		`{"a":[],"b":{}}`:              {"a": []any{}, "b": map[string]any{}},
		`{"a":[1,"x",[null],{"a":1}]}`: {"a": []any{1.0, "x", []any{nil}, map[string]any{"a": 1.0}}},
		`{ "a" : [ 1 , 2 ] , "b" : { "c" : 3 } }`: {"a": []any{1.0, 2.0}, "b": map[string]any{"c": 3.0}},
		`{"a":"\"\\\/\b\f\n\r\t"}`:                {"a": "\"\\/\b\f\n\r\t"},
		`{"\u0061\u00e9":"\ud83d\ude00x"}`:        {"aé": "😀x"},
		`{"a":"\ufffd` + "\uFFFD" + `"}`:          {"a": "\uFFFD\uFFFD"},
		`{"a":"}{][,:\""}`:                        {"a": `}{][,:"`},
	} {
		got, err := Parse(raw)
		require.NoError(t, err, raw)
		assert.Equal(t, want, got, raw)
	}
}

func TestParse_refusesAllButOneObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw     string
		offset  int64
		problem string
	}{
		{"\u00a0", 0, "syntax error"}, // white space, but not JSON's
		{"\u3000{}", 0, "syntax error"},
		{"\x00", 0, "syntax error"},
		{"\v", 0, "syntax error"},
		{`[1]`, 0, "found an array"},
		{` "a"`, 1, "found a string"},
		{`null`, 0, "found null"},
		{`true`, 0, "found a boolean"},
		{`-1`, 0, "found a number"},
		{`{} x`, 3, "trailing data"},
		{`{}{}`, 2, "trailing data"},
		{`{"a":1},`, 7, "trailing data"},
		{`{"a":1`, 6, "unexpected end"},
		{`{"a`, 3, "unexpected end"},
		{`{"a":1,}`, 7, "syntax error"},
		{`{a:1}`, 1, "syntax error"},
		{`{'a':1}`, 1, "syntax error"},
		{`{"a":01}`, 6, "syntax error"},
		{`{"a":NaN}`, 5, "syntax error"},
		{"{\"a\":\"\n\"}", 6, "syntax error"},
		{"\uFEFF{}", 0, "syntax error"},
		{"```json\n{}\n```", 0, "syntax error"},
		{`{"` + strings.Repeat("k", 5000) + `":x}`, 5004, "syntax error"},
		{`{"a":1,"a":2}`, 7, "duplicate key"},
		{`{"a":1,"\u0061":2}`, 7, "duplicate key"},
		{`{"x":[{"a":1,"b":2,"a":3}]}`, 19, "duplicate key"},
		{"{\"a\":\"x\xff\"}", 7, "invalid UTF-8"},
		{"{\"a\":\"\uFFFD\xff\"}", 9, "invalid UTF-8"},
		{"{\"\xff\":1,\"\xfe\":2}", 2, "invalid UTF-8"},
		{`{"a":"\ud800"}`, 6, "half a surrogate pair"},
		{`{"a":"x\udc00\ud800"}`, 7, "half a surrogate pair"},
		{`{"a":"\ud800\u0041"}`, 6, "half a surrogate pair"},
		{`{"a":"\ud800xudc00"}`, 6, "half a surrogate pair"},
		{`{"a":"\ud800\ndc00"}`, 6, "half a surrogate pair"},
	} {
		got, err := Parse(c.raw)
		assert.Nil(t, got, c.raw)
		var bad *Error
		require.ErrorAs(t, err, &bad, c.raw)
		assert.Equal(t, Error{Offset: c.offset, Problem: c.problem}, *bad, c.raw)
	}
}

func TestParse_boundsNesting(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { // the object is the first level
		return `{"\"]":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
	}
	_, err := Parse(nested(10000))
	require.NoError(t, err)
	for _, raw := range []string{nested(10001), strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<18)} {
		_, err = Parse(raw)
		require.ErrorContains(t, err, "nesting too deep")
	}
}

func TestParse_keepsEveryDigit(t *testing.T) {
	t.Parallel()
	manyZeros := "1" + strings.Repeat("0", 9990)
	for literal, want := range map[string]any{
		// strconv.ParseFloat gives 1e-10 for this, without an error.
		manyZeros + "e-100005": json.Number(manyZeros + "e-100005"),

		"0":                       0.0,
		"0e999999999999":          0.0,
		"0.00":                    0.0,
		"1":                       1.0,
		"-1":                      -1.0,
		"1.0":                     1.0,
		"100":                     100.0,
		"1e2":                     100.0,
		"1E+2":                    100.0,
		"0.1":                     0.1,
		"1.10":                    1.1,
		"-12.5e-3":                -0.0125,
		"1e21":                    1e21,
		"9007199254740992":        9007199254740992.0,
		"5e-324":                  5e-324,
		"1.7976931348623157e308":  math.MaxFloat64,
		"9007199254740993":        json.Number("9007199254740993"),
		"-9007199254740993":       json.Number("-9007199254740993"),
		"12345678901234567890":    json.Number("12345678901234567890"),
		"0.1000000000000000055":   json.Number("0.1000000000000000055"),
		"1e400":                   json.Number("1e400"),
		"-1e400":                  json.Number("-1e400"),
		"1e-400":                  json.Number("1e-400"),
		"1e99999999999999999999":  json.Number("1e99999999999999999999"),
		"1e-99999999999999999999": json.Number("1e-99999999999999999999"),
		"3e-324":                  json.Number("3e-324"),
	} {
		in, err := Parse(`{"n":[` + literal + `,1]}`)
		require.NoError(t, err, literal)
		require.Equal(t, map[string]any{"n": []any{want, 1.0}}, in, literal)

		out, err := Format(in)
		require.NoError(t, err, literal)
		back, err := Parse(out)
		require.NoError(t, err, out)
		assert.Equal(t, in, back, literal)
	}
	negativeZero, err := Parse(`{"n":-0.0}`)
	require.NoError(t, err)
	assert.True(t, math.Signbit(negativeZero["n"].(float64)))
}

func TestFormat_givesBackWhatParseRead(t *testing.T) {
	t.Parallel()
	const raw = `{"a":"<&>","b":9007199254740993,"c":[1,null,{"d":"日"}]}`
	in, err := Parse(raw)
	require.NoError(t, err)
	out, err := Format(in)
	require.NoError(t, err)
	assert.Equal(t, raw, out)
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   map[string]any
		want string
	}{
		{nil, `{}`},
		{map[string]any{}, `{}`},
		{map[string]any{"b": 1, "a": "<b>&", "c": nil}, `{"a":"<b>&","b":1,"c":null}`},
		{map[string]any{"a": []string{"x"}, "b": struct{ N int }{1}}, `{"a":["x"],"b":{"N":1}}`},
		{map[string]any{"a": json.RawMessage(`{ "x": 1 }`)}, `{"a":{"x":1}}`},
		{map[string]any{"a": int64(9007199254740993)}, `{"a":9007199254740993}`},
	} {
		got, err := Format(c.in)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

func TestFormat_refusesWhatJSONCannotHold(t *testing.T) {
	t.Parallel()
	cycle := map[string]any{}
	cycle["self"] = cycle
	var deep any = 1
	for range 10000 {
		deep = []any{deep}
	}
	for problem, v := range map[string]any{
		"unsupported type func()":                         func() {},
		"unsupported type chan int":                       make(chan int),
		"unsupported value of kind float64":               math.NaN(),
		"unsupported value of kind map":                   cycle,
		"unsupported value":                               json.Number("secret"),
		"failed marshaler of arguments.refusingMarshaler": refusingMarshaler{},
		"failed marshaler of json.RawMessage":             json.RawMessage(`secret`),
		"invalid UTF-8":                                   []any{map[string]any{"secret\xff": "x"}},
		"duplicate key":                                   json.RawMessage(`{"secret":1,"secret":2}`),
		"nesting too deep":                                deep,
	} {
		got, err := Format(map[string]any{"k": v})
		assert.Empty(t, got, problem)
		require.EqualError(t, err, "arguments cannot be written as a JSON object: "+problem)
	}
}

func TestFormat_keepsTheCause(t *testing.T) {
	t.Parallel()
	_, err := Format(map[string]any{"k": refusingMarshaler{}})
	assert.ErrorIs(t, err, errRefused)
}

var errRefused = errors.New("secret refused")

type refusingMarshaler struct{}

func (refusingMarshaler) MarshalJSON() ([]byte, error) { return nil, errRefused }

func TestError_neverQuotesTheArguments(t *testing.T) {
	t.Parallel()
	_, err := Parse(`{"a":1,"a":2}`)
	require.EqualError(t, err, "arguments must be one JSON object: duplicate key at byte 7")
	for _, raw := range []string{
		`{"secret":1,"secret":2}`, `{"a":secret}`, `{} secret`, `"secret"`, `{"secret`,
		`{"a":"secret\ud800"}`, "{\"secret\xff\":1}", `{"a":1e5secret}`,
	} {
		_, err := Parse(raw)
		require.Error(t, err, raw)
		assert.NotContains(t, err.Error(), "secret", raw)
		assert.NotContains(t, err.Error(), "'", "encoding/json quotes a character: %s", raw)
	}
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw string) {
		in, err := Parse(raw)
		oracle, readable := standardArguments(raw)
		if strings.Trim(raw, " \t\r\n") == "" {
			require.NoError(t, err)
			require.Equal(t, map[string]any{}, in)
			return
		}
		if err != nil {
			var bad *Error
			require.ErrorAs(t, err, &bad)
			require.True(t, 0 <= bad.Offset && bad.Offset <= int64(len(raw)), "offset %d of %d", bad.Offset, len(raw))
			if readable { // then it is one of the three ways to be stricter
				require.Contains(t, []string{"duplicate key", "invalid UTF-8", "half a surrogate pair"}, bad.Problem)
			}
			return
		}
		require.True(t, readable, "encoding/json refuses it")
		require.True(t, sameValue(in, oracle), "encoding/json reads %#v, not %#v", oracle, in)
		require.Equal(t, countKeys(in), countKeyTokens(t, raw), "a key was lost")

		out, err := Format(in)
		require.NoError(t, err)
		back, err := Parse(out)
		require.NoError(t, err)
		require.Equal(t, in, back)
	})
}

// standardArguments is encoding/json's reading of raw, with numbers as written.
func standardArguments(raw string) (map[string]any, bool) {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	object, ok := v.(map[string]any)
	return object, ok
}

// sameValue compares a value of Parse with encoding/json's of the same text.
func sameValue(got, oracle any) bool {
	switch oracle := oracle.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok || len(object) != len(oracle) {
			return false
		}
		for k, v := range oracle {
			if g, ok := object[k]; !ok || !sameValue(g, v) {
				return false
			}
		}
		return true
	case []any:
		array, ok := got.([]any)
		if !ok || len(array) != len(oracle) {
			return false
		}
		for i, v := range oracle {
			if !sameValue(array[i], v) {
				return false
			}
		}
		return true
	case json.Number:
		if f, ok := got.(float64); ok {
			want, err := strconv.ParseFloat(oracle.String(), 64)
			return err == nil && f == want
		}
	}
	return got == oracle
}

func countKeys(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, e := range v {
			n += countKeys(e)
		}
	case []any:
		for _, e := range v {
			n += countKeys(e)
		}
	}
	return n
}

// countKeyTokens counts the keys that are written in raw, repeated ones too.
func countKeyTokens(t *testing.T, raw string) int {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	type level struct {
		object bool
		tokens int
	}
	stack := []level{{}}
	keys := 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return keys
		}
		require.NoError(t, err)
		if token == json.Delim('}') || token == json.Delim(']') {
			stack = stack[:len(stack)-1]
			continue
		}
		top := &stack[len(stack)-1]
		if top.object && top.tokens%2 == 0 {
			keys++
		}
		top.tokens++
		if token == json.Delim('{') || token == json.Delim('[') {
			stack = append(stack, level{object: token == json.Delim('{')})
		}
	}
}
