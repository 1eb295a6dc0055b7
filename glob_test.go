package hooks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMatchGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "anything/at all", true},
		{"**", "a", true},
		{"mcp__*", "mcp__github__delete", true},
		{"mcp__*", "mcp__", true},
		{"mcp__*", "mcp_", false},
		{"github*", "github/delete", true},
		{"*/delete", "github/repo/delete", true},
		{"*delete", "delete/x", false},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxcyyb", false},
		{"*aab", "aaaab", true},
		{"?", "a", true},
		{"?", "", false},
		{"?", "ab", false},
		{"?", "日", true},
		{"??", "日", false},
		{"?", "\xff", true},
		{"??", "\xe6\x97", true},
		{"?*", "", false},
		{"*?", "ab", true},
		{"a?c", "a/c", true},
		{"Delete*", "delete_file", false},
		{"[a-z]", "b", false},
		{"[a-z]*", "[a-z]x", true},
		{`\*`, `\anything`, true},
		{`\*`, `*`, false},
		{"*", "*?", true},
		{"日*語", "日本語", true},
		// A run ends at the end of a character, never inside one.
		{"*\xa5", "日", false},
		{"\xe6*", "日", false},
		{"*\xa5", "x\xa5", true},
		{"\uFFFD", "\xff", false},
	} {
		assert.Equal(t, c.want, matchGlob(c.pattern, c.name), "%q on %q", c.pattern, c.name)
	}
}

func TestIsPattern(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"*", "?", "a*", "a?b"} {
		assert.True(t, isPattern(s), "%q", s)
	}
	for _, s := range []string{"", "a", "[a]", `a\b`, "a/b"} {
		assert.False(t, isPattern(s), "%q", s)
	}
}

// A matcher that tries every length for every star would never finish this one.
func TestMatchGlobIsNotExponentialInStars(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a", 2000)
	assert.False(t, matchGlob(strings.Repeat("a*", 200)+"b", name))
	assert.True(t, matchGlob(strings.Repeat("a*", 200)+"a", name))
}

func TestMatchGlobAllocs(t *testing.T) {
	got := testing.AllocsPerRun(100, func() { matchGlob("*日?*x", "a日本語\xffx") })
	assert.Zero(t, got)
}

func FuzzMatchGlob(f *testing.F) {
	f.Fuzz(func(t *testing.T, pattern, name string) {
		// The reference is exponential in the stars.
		if len(pattern) > 10 || len(name) > 20 {
			return
		}
		require.Equal(t, naiveGlob(characters(pattern), characters(name)), matchGlob(pattern, name))
	})
}

// naiveGlob is the definition of a match.
func naiveGlob(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "*" {
		return naiveGlob(pattern[1:], name) || len(name) > 0 && naiveGlob(pattern, name[1:])
	}
	return len(name) > 0 && (pattern[0] == "?" || pattern[0] == name[0]) && naiveGlob(pattern[1:], name[1:])
}

// characters splits s into its runes and invalid bytes.
func characters(s string) []string {
	return strings.Split(s, "")
}
