package toolname

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGlob(t *testing.T) {
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
		{"ab*ba", "aba", false},
		{"ab*ba", "abba", true},
		{"ab*b?", "abba", true},
		{"*ab*", "xaby", true},
		{"*ab*cd*", "xabycd", true},
		{"*ab*cd*", "xabyc", false},
		{"?bc*", "xbcd", true},
		{"a?", "a", false},
		{"日*語", "日本語", true},
		// A run ends at the end of a character, never inside one.
		{"*\xa5", "日", false},
		{"\xe6*", "日", false},
		{"*\xa5", "x\xa5", true},
		{"\uFFFD", "\xff", false},
	} {
		assert.Equal(t, c.want, MatchGlob(c.pattern, c.name), "%q on %q", c.pattern, c.name)
		g := newGlob(appendPattern(nil, c.pattern))
		assert.Equal(t, c.want, g.match(c.name), "%q on %q, prepared", c.pattern, c.name)
	}
}

func TestIsPattern(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"*", "?", "a*", "a?b"} {
		assert.True(t, IsPattern(s), "%q", s)
	}
	for _, s := range []string{"", "a", "[a]", `a\b`, "a/b"} {
		assert.False(t, IsPattern(s), "%q", s)
	}
}

// A matcher that tries every length for every star would never finish this one.
func TestGlob_isNotExponentialInStars(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a", 2000)
	assert.False(t, MatchGlob(strings.Repeat("a*", 200)+"?b?", name+"b"))
	assert.True(t, MatchGlob(strings.Repeat("a*", 200)+"a", name))
}

func TestGlob_allocs(t *testing.T) {
	g := newGlob(appendPattern(nil, "*日?*x"))
	require.True(t, g.match("a日本語\xffx"))
	assert.Zero(t, testing.AllocsPerRun(100, func() { g.match("a日本語\xffx") }))
	assert.Zero(t, testing.AllocsPerRun(100, func() { MatchGlob("*日?*x", "a日本語\xffx") }))
}

func FuzzMatchGlob(f *testing.F) {
	f.Fuzz(func(t *testing.T, pattern, name string) {
		// The reference is exponential in the stars.
		if len(pattern) > 10 || len(name) > 20 {
			return
		}
		want := naiveGlob(characters(pattern), characters(name))
		require.Equal(t, want, MatchGlob(pattern, name))
		g := newGlob(appendPattern(nil, pattern))
		require.Equal(t, want, g.match(name))
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
