package hooks_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/loophooks/hooks"
)

func TestSanitizeToolName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Delete File":                 "delete_file",
		"ExaSearchTool":               "exa_search_tool",
		"HTTPServerTool":              "http_server_tool",
		"getURL":                      "get_url",
		"aBC":                         "a_bc",
		"v2API":                       "v2api",
		"Tool2Go":                     "tool2go",
		"parseJSON2XML":               "parse_json2xml",
		"GetV2":                       "get_v2",
		"S3Upload":                    "s3upload",
		"DELETE_FILE":                 "delete_file",
		" delete_file ":               "delete_file",
		"ABc":                         "a_bc",
		"Café Lookup":                 "cafe_lookup",
		"ＦＵＬＬ":                        "full",
		"ﬁle":                         "file",
		"ßharp":                       "harp",
		"Ａ１":                          "a1",
		"a日B":                         "a_b",
		"get½":                        "get12",
		"it's \"fun\" tool":           "its_fun_tool",
		"a'B":                         "ab",
		`a"b`:                         "ab",
		"__x__":                       "x",
		"a__b":                        "a_b",
		"a..b--c":                     "a_b_c",
		"Web-Search!!":                "web_search",
		"a\xffb":                      "ab",
		"\xe3\x81a":                   "a",
		"x\x00y":                      "x_y",
		strings.Repeat("x", 64):       strings.Repeat("x", 64),
		strings.Repeat("x", 65):       strings.Repeat("x", 55) + "_" + hash8(strings.Repeat("x", 65)),
		strings.Repeat("X", 70):       strings.Repeat("x", 55) + "_c71bd109",
		strings.Repeat("ab_", 30):     strings.Repeat("ab_", 18) + "a_01ddad3e",
		strings.Repeat("日", 100):      "tool_" + hash8(strings.Repeat("日", 100)),
		strings.Repeat("a", 64) + "_": strings.Repeat("a", 64),
		"":                            "tool_e3b0c442",
		"___":                         "tool_" + hash8("___"),
		"'\"":                         "tool_" + hash8("'\""),
		"日本語":                         "tool_" + hash8("日本語"),
		"\xff\xfe":                    "tool_" + hash8("\xff\xfe"),
	} {
		assert.Equal(t, want, hooks.SanitizeToolName(name), "%q", name)
	}
}

func TestSanitizeToolNameTrimsTheCutOfALongName(t *testing.T) {
	t.Parallel()
	// The 55th character is the separator.
	long := strings.Repeat("a", 54) + "_" + strings.Repeat("b", 20)
	assert.Equal(t, strings.Repeat("a", 54)+"_"+hash8(long), hooks.SanitizeToolName(long))
}

func TestSanitizeToolNameKeepsUnreadableNamesDistinct(t *testing.T) {
	t.Parallel()
	assert.NotEqual(t, hooks.SanitizeToolName("日本語"), hooks.SanitizeToolName("中文"))
	assert.NotEqual(t, hooks.SanitizeToolName(""), hooks.SanitizeToolName("_"))
}

// A name comes from a model or a server, which bound nothing. Time that isn't
// linear in its length would show here as a test that never ends.
func TestSanitizeToolNameTakesVeryLongNames(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for unit, form := range map[string]string{
		"a": "a", "A": "a", "aB": "a_b", "é": "e", "e\u0301": "e",
		"_": "", "'": "", "\xff": "", "\u0301": "", "ﷺ": "", "日": "",
	} {
		n := size / len(unit)
		name, long := strings.Repeat(unit, n), strings.Repeat(form, n)
		want := "tool_" + hash8(name)
		if long != "" {
			want = strings.TrimRight(long[:55], "_") + "_" + hash8(long)
		}
		assert.Equal(t, want, hooks.SanitizeToolName(name), "%q", unit)
	}
}

func TestSanitizeToolNameAllocs(t *testing.T) {
	for name, want := range map[string]float64{
		"delete_file":           0,
		"x":                     0,
		strings.Repeat("x", 64): 0,
		"Delete File":           1, // the result
		"Café Lookup":           1,
	} {
		got := testing.AllocsPerRun(100, func() { hooks.SanitizeToolName(name) })
		assert.Equal(t, want, got, "%q", name)
	}
}

func FuzzSanitizeToolName(f *testing.F) {
	f.Fuzz(func(t *testing.T, name string) {
		got := hooks.SanitizeToolName(name)
		require.Equal(t, referenceToolName(name), got)
		require.Regexp(t, `^[a-z0-9]+(_[a-z0-9]+)*$`, got)
		require.LessOrEqual(t, len(got), 64)
		require.Equal(t, got, hooks.SanitizeToolName(got), "normalising twice differs from once")
	})
}

var (
	acronymEnd = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)
	wordStart  = regexp.MustCompile(`([a-z])([A-Z])`)
	separators = regexp.MustCompile(`[^a-z0-9]+`)
)

// referenceToolName is the rule written out step by step. Bytes that aren't
// UTF-8 go first: package norm leaves what stands behind one as it is.
func referenceToolName(name string) string {
	s := strings.Map(func(r rune) rune {
		if r > 127 {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToValidUTF8(name, "")))
	s = acronymEnd.ReplaceAllString(s, "${1}_${2}")
	s = wordStart.ReplaceAllString(s, "${1}_${2}")
	s = strings.ToLower(s)
	s = strings.NewReplacer("'", "", `"`, "").Replace(s)
	s = strings.Trim(separators.ReplaceAllString(s, "_"), "_")
	switch {
	case s == "":
		return "tool_" + hash8(name)
	case len(s) > 64:
		return strings.TrimRight(s[:55], "_") + "_" + hash8(s)
	}
	return s
}

func hash8(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:8]
}
