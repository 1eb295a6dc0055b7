package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

func TestSanitize(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Delete File":                  "delete_file",
		"HTTPServerTool":               "http_server_tool",
		"v2API":                        "v2api",
		"Café Lookup":                  "cafe_lookup",
		"ﬁle":                          "file",
		"a日B":                          "a_b",
		"a'B":                          "ab",
		"search_天气":                    "search",
		strings.Repeat("x", 64):        strings.Repeat("x", 64),
		strings.Repeat("X", 70):        strings.Repeat("x", 55) + "_c71bd109",
		strings.Repeat("ab_", 30):      strings.Repeat("ab_", 18) + "a_01ddad3e",
		"":                             "tool_e3b0c442",
		"日本語":                          "tool_" + hash8("日本語"),
		"\xff\xfe":                     "tool_" + hash8("\xff\xfe"),
		"tool_" + hash8("日本語"):         "tool_" + hash8("日本語"),
		"a_" + strings.Repeat("é", 70): "a_" + strings.Repeat("e", 53) + "_" + hash8("a_"+strings.Repeat("e", 70)),
	} {
		assert.Equal(t, want, Sanitize(name), "%q", name)
	}
}

func TestSanitize_allocs(t *testing.T) {
	for name, want := range map[string]float64{
		"delete_file": 0, "x": 0, strings.Repeat("x", 64): 0,
		"Delete File": 1, "Café Lookup": 1, // the result
	} {
		assert.Equal(t, want, testing.AllocsPerRun(100, func() { Sanitize(name) }), "%q", name)
	}
}

func TestNormalize_tellsTheFallbackFromAName(t *testing.T) {
	t.Parallel()
	fallback, ok := Normalize("日本語")
	assert.False(t, ok)
	assert.Equal(t, Sanitize("日本語"), fallback)

	// A tool that really has that name is a name like any other.
	same, ok := Normalize(fallback)
	assert.True(t, ok)
	assert.Equal(t, fallback, same)

	for _, name := range []string{"", "_", "'", "\xff", "!!"} {
		_, ok := Normalize(name)
		assert.False(t, ok, "%q", name)
	}
	for _, name := range []string{"a", "A", "Delete File", "é", strings.Repeat("x", 65)} {
		_, ok := Normalize(name)
		assert.True(t, ok, "%q", name)
	}
}

func TestSanitized_holdsForFixedPointsAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "0", "a_b", "delete_file", "tool_e3b0c442"} {
		assert.True(t, isSanitized(name), "%q", name)
	}
	for _, name := range []string{"", "_", "_a", "a_", "a__b", "A", "a b", "é", "a\xff"} {
		assert.False(t, isSanitized(name), "%q", name)
	}
}

func TestMayBeHashed_knowsEachHash(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"日本語", "", "___", strings.Repeat("x", 65), strings.Repeat("ab_", 30),
		strings.Repeat("a", 54) + "_" + strings.Repeat("b", 20), // cut at the separator
	} {
		s, lost := sanitize(name)
		assert.NotEqual(t, lossNone, lost, "%q", name)
		assert.True(t, mayBeHashed(s), "%q", s)
	}
	for _, s := range []string{"", "tool_", "delete_file", "tool_e3b0c4421", "fool_e3b0c442", strings.Repeat("x", 64)} {
		assert.False(t, mayBeHashed(s), "%q", s)
	}
}

func TestAppendASCII_decomposesEachRuneAsNFKD(t *testing.T) {
	t.Parallel()
	var got, want []byte
	for r := range rune(0x110000) {
		got = appendASCII(got[:0], string(r))
		want = want[:0]
		for _, c := range norm.NFKD.AppendString(nil, string(r)) {
			if c < 0x80 {
				want = append(want, c)
			}
		}
		if string(got) != string(want) {
			require.Equal(t, string(want), string(got), "%U", r)
		}
	}
}

func hash8(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:8]
}
