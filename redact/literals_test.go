package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func quoted(t testing.TB, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	require.NoError(t, err)
	return string(b)
}

var secretValues = []string{
	"hunter2hunter2", "a+b/c=d&e<f>g", `back\slash "quote"`, "line\nline\ttab", "pässwörd世界😀", "%41%42 100%",
	strings.Repeat("\xfb\xff\xbf", 4), "~!@#$^*()[]{}|;:',.?",
}

func TestLiterals_findsEachForm(t *testing.T) {
	t.Parallel()
	for _, value := range secretValues {
		set := redact.MustCompile(redact.Literals("SECRET", value)...)
		forms := map[string]string{
			"raw":           value,
			"JSON":          strings.Trim(quoted(t, value), `"`),
			"JSON in JSON":  strings.Trim(quoted(t, strings.Trim(quoted(t, value), `"`)), `"`),
			"query":         url.QueryEscape(value),
			"path":          url.PathEscape(value),
			"hex":           hex.EncodeToString([]byte(value)),
			"hex, capitals": strings.ToUpper(hex.EncodeToString([]byte(value))),
		}
		if value[0] == '"' || value[len(value)-1] == '"' {
			forms["JSON"], forms["JSON in JSON"] = value, value // Trim takes too much
		}
		for name, form := range forms {
			text := "<" + form + ">"
			assert.Equal(t, "<[SECRET]>", set.Replace(text, label), "%q: %s", value, name)
			assert.Equal(t, "<[SECRET]>", inPieces(set, label, strings.SplitAfter(text, "")...), "%q: %s", value, name)
		}
	}
}

func TestLiterals_findsBase64AtEachAlignment(t *testing.T) {
	t.Parallel()
	for _, value := range secretValues {
		set := redact.MustCompile(redact.Literals("SECRET", value)...)
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 7 {
				for after := range 4 {
					text := encoding.EncodeToString([]byte(strings.Repeat("x", before) + value + strings.Repeat("y", after)))
					got := set.Replace(text, label)
					rest := strings.Replace(got, "[SECRET]", "", 1)
					assert.NotEqual(t, got, rest, "%q behind %d bytes: %s", value, before, text)
					// Of the value's bits at most those stay that share a
					// character with a neighbour: of one character at each end.
					most := len(text) - (len(value)*8/6 - 1)
					assert.LessOrEqual(t, len(rest), most, "%q behind %d bytes: %s", value, before, text)
				}
			}
			query := url.QueryEscape(encoding.EncodeToString([]byte(value)))
			assert.Contains(t, set.Replace(query, label), "[SECRET]", query)
		}
	}
}

func TestLiterals_otherEscapes(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Literals("S", "a<b>é/😀 \x00")...)
	for _, text := range []string{
		"a\\u003cb\\u003eé/😀 \\u0000", "a\\u003Cb\\u003E\\u00e9\\/\\ud83d\\ude00 \\u0000",
		"a%3cb%3E%C3%a9/%F0%9F%98%80+%00", "a%3cb%3E%C3%A9%2f%f0%9f%98%80%20%00",
	} {
		assert.Equal(t, "[S]", set.Replace(text, label), text)
	}
}

func TestLiterals_valuesAreNoExpressions(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Literals("S", "a.c*[x]", "(", "$^")...)
	for text, want := range map[string]string{
		"a.c*[x]": "[S]", "abc*[x]": "abc*[x]", "ac": "ac", "(": "[S]", "$^": "[S]", "": "", "A.C*[X]": "A.C*[X]",
	} {
		assert.Equal(t, want, set.Replace(text, label), text)
	}
}

func TestLiterals_longerValueWins(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Literals("S", "secret-1", "secret-12", "secret-")...)
	assert.Equal(t, "[S] [S] [S]2", set.Replace("secret-12 secret-1 secret-2", label))
	values := []string{"a", "bb"}
	redact.Literals("S", values...)
	assert.Equal(t, []string{"a", "bb"}, values, "the caller's own stay as they are")
}

func TestLiterals_shortValueOnlyAsItIs(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Literals("S", "pass\n12")...)
	assert.Equal(t, `[S] [S]`, set.Replace(`pass\n12 pass%0A12`, label))
	inHex := fmt.Sprintf("%x", "pass\n12")
	assert.Equal(t, inHex, set.Replace(inHex, label))
}

func TestLiterals_emptyValueIsRefused(t *testing.T) {
	t.Parallel()
	_, err := redact.Compile(redact.Literals("S", "abc", "")...)
	require.ErrorContains(t, err, "empty text")
}
