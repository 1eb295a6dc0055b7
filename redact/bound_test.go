package redact_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bounded filters the pieces of a text with a bound on what may be held.
func bounded(set *redact.Set, limit int, texts ...string) string {
	p := &pieces{see: redact.NewFilter(set, label), limit: limit}
	for _, text := range texts {
		p.push(text)
	}
	return p.end("")
}

func TestBound_longBlockHasOneMark(t *testing.T) {
	t.Parallel()
	block := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("aB3/", 16)+"\n", 100) + "-----END PRIVATE KEY-----"
	require.Greater(t, len(block), 6_500)
	text := "a " + block + "\nsk-" + strings.Repeat("x", 30) + " b"
	for _, n := range []int{1, 7, 100, len(text)} {
		assert.Equal(t, "a [KEY]\n[KEY] b", bounded(everything, 64, cutEvery(n, text)...), "pieces of %d", n)
	}
	assert.Equal(t, "a [KEY]\n[KEY] b", everything.Replace(text, label))
}

func TestBound_cases(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", redact.MaxMatch)
	tests := []struct{ name, expr, text, want string }{
		{"just within", "ax*b", "a" + long[:redact.MaxMatch-3] + "b.", "[X]."},
		{"as long", "ax*b", "a" + long[:redact.MaxMatch-2] + "b.", "[X]."},
		{"just behind", "ax*b", "a" + long[:redact.MaxMatch-1] + "b.", "[X]."},
		{"far behind", "ax*b", "a" + long + long + "b.", "[X]."},
		{"within, but no match", "ax*b", "a" + long[:redact.MaxMatch-2] + ".", "a" + long[:redact.MaxMatch-2] + "."},
		{"behind, though no match", "ax*b", "a" + long + ". ab", "[X]. [X]"},
		{"to the end of the text", "ax*b", "a" + long, "[X]"},
		{"shorter match in it", "ab|a[bx]*c", "ab" + long + ".", "[X]" + long + "."},
		{"less preferred match in it", "a[bx]*c|ab", "ab" + long + ".ab", "[X].[X]"},
		{"what ends it may begin another", "ax*b|c", "a" + long + "cc", "[X][X][X]"},
		{"assertion behind it", `ax*\b`, "a" + long + " ab a", "[X] ab [X]"},
		{"not greedy", `a(?s:.*?)b`, "a" + long + "b ab", "[X] [X]"},
		{"only as long as the oldest may go on", `a[^,]*b|x[^.]*c`, "a" + long + ",x.", "[X],x."},
		{"two", `a[x]*b`, "a" + long + "b" + "a" + long + "b", "[X][X]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := redact.MustCompile(redact.Pattern{Name: "X", Expr: tt.expr})
			assert.Equal(t, tt.want, set.Replace(tt.text, label))
			for _, n := range []int{1, 3, 1000, len(tt.text)} {
				assert.Equal(t, tt.want, bounded(set, redact.MaxMatch, cutEvery(n, tt.text)...), "pieces of %d", n)
			}
		})
	}
}

func TestBound_contextIsShown(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", redact.MaxMatch)
	assert.Equal(t, `{"password": "[KEY]", "n": 1}`, everything.Replace(`{"password": "`+long+`", "n": 1}`, label))
	assert.Equal(t, `{"password": "[KEY]", "n": 1}`, bounded(everything, 32, strings.Split(`{"password": "`+long+`", "n": 1}`, "")...))

	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "a(b)x*c", Group: 1})
	assert.Equal(t, "a[X].", set.Replace("ab"+long+".", label), "the group has ended")
	set = redact.MustCompile(redact.Pattern{Name: "X", Expr: "ax*(b)", Group: 1})
	assert.Equal(t, "[X].", set.Replace("a"+long+".", label), "the group hasn't begun")
}

func TestBound_isNotChecked(t *testing.T) {
	t.Parallel()
	never := func(string) bool { return false }
	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "x+", Check: never})
	assert.Equal(t, "[X].", set.Replace(strings.Repeat("x", redact.MaxMatch)+".", label))
	assert.Equal(t, "x.", set.Replace("x.", label))
}

func TestBound_replacementSeesWhatWasThere(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "x+"})
	var lengths []int
	measure := func(_, match string) string {
		lengths = append(lengths, len(match))
		return ""
	}
	text := strings.Repeat("x", 3*redact.MaxMatch)
	set.Replace(text, measure)
	set.ReplaceParts([]string{text, "x"}, measure)
	assert.Equal(t, []int{redact.MaxMatch, redact.MaxMatch}, lengths)
}

// What is long and no secret stays, though it begins as one.
func TestBound_longTextWithoutSecrets(t *testing.T) {
	t.Parallel()
	long := func(s string) string { return strings.Repeat(s, 3*redact.MaxMatch/len(s)) }
	for _, text := range []string{
		long("a"), long("é"), long("世"), long("1"), long("7."), long("4111"), long("aB3+/"), "eyJ" + long("aB3-"), "sk_" + long("x"),
		"data:image/png;base64," + long("iVBORw0KGgo"), long("="), long(" "), long("\n"), long("\\"), long("a_b-c."), "x@" + long("a"),
	} {
		assert.Equal(t, text, everything.Replace(text, label), "%.30q", text)
	}
}

// Whatever is looked for, the bound is the same for a text as a whole and in
// pieces, and what is shorter than it is what it is without.
func TestBound_anySet(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	same, other := 0, 0
	for range rounds(1_500) {
		patterns := randomPatterns(rng)
		set, err := redact.Compile(patterns...)
		if err != nil {
			continue
		}
		text := randomText(rng, 60)
		if rng.IntN(2) == 0 {
			text = strings.Map(func(r rune) rune { return min(r, 'c') }, text)
		}
		limit := 4 + rng.IntN(20)
		p := &pieces{see: redact.NewFilter(set, mark), limit: limit}
		cuts := cutText(rng, text)
		for _, piece := range cuts {
			p.push(piece)
		}
		got := p.end("")
		// The rune that reaches the bound may be a long one, and the beginning of
		// another may wait behind it.
		require.LessOrEqual(t, p.heldMax, limit+2*(utf8.UTFMax-1), "seed %d: %+v in %q", seed, patterns, cuts)
		switch {
		case !p.cut:
			same++
			require.Equal(t, set.Replace(text, mark), got, "seed %d: %+v in %q within %d", seed, patterns, cuts, limit)
		case utf8.RuneCountInString(text) == len(text): // it is reached by a byte
			other++
			require.Equal(t, redact.ReplaceWithin(set, limit, text, mark), got, "seed %d: %+v in %q within %d", seed, patterns, cuts, limit)
		}
	}
	require.Greater(t, same, rounds(150))
	require.Greater(t, other, rounds(1))
}
