package hooks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

func TestNormalizeToolNameTellsTheFallbackFromAName(t *testing.T) {
	t.Parallel()
	fallback, ok := normalizeToolName("日本語")
	assert.False(t, ok)
	assert.Equal(t, SanitizeToolName("日本語"), fallback)

	// A tool that really has that name is a name like any other.
	same, ok := normalizeToolName(fallback)
	assert.True(t, ok)
	assert.Equal(t, fallback, same)

	for _, name := range []string{"", "_", "'", "\xff", "!!"} {
		_, ok := normalizeToolName(name)
		assert.False(t, ok, "%q", name)
	}
	for _, name := range []string{"a", "A", "Delete File", "é"} {
		_, ok := normalizeToolName(name)
		assert.True(t, ok, "%q", name)
	}
}

func TestIsNormalizedHoldsForFixedPointsAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "0", "a_b", "delete_file", "tool_e3b0c442"} {
		assert.True(t, isNormalized(name), "%q", name)
	}
	for _, name := range []string{"", "_", "_a", "a_", "a__b", "A", "a b", "é", "a\xff"} {
		assert.False(t, isNormalized(name), "%q", name)
	}
}

func TestAppendASCIIDecomposesEveryRuneAsNFKD(t *testing.T) {
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
