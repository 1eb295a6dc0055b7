package redact_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/loophooks/hooks/internal/race"
	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomExpr returns an expression over a few letters that overlap as much as
// possible, without a repetition of what may be empty.
func randomExpr(rng *rand.Rand, depth int) string {
	atoms := []string{
		"a", "b", "ab", "c", ".", "[ab]", "[^a]", `\w`, `\W`, `\d`, `\s`, "é", "[a-é]", "世", "[😀-😅]", "[^é]", `\x{FFFD}`, "1", "_", "-", `\n`, "(?s:.)", "(?i:K)",
	}
	assertions := []string{`\b`, `\B`, "^", "$", "(?m:^)", "(?m:$)", `\A`, `\z`}
	if depth == 0 {
		return atoms[rng.IntN(len(atoms))]
	}
	sub := func() string { return randomExpr(rng, depth-1) }
	switch rng.IntN(12) {
	case 0, 1, 2:
		return sub() + sub()
	case 3:
		return "(?:" + sub() + "|" + sub() + ")"
	case 4:
		return "(?:" + sub() + ")" + []string{"*", "+", "?", "*?", "+?", "??"}[rng.IntN(6)]
	case 5:
		return "(?:" + sub() + ")" + []string{"{2}", "{1,3}", "{2,}", "{0,2}?"}[rng.IntN(4)]
	case 6:
		return assertions[rng.IntN(len(assertions))] + sub()
	case 7:
		return sub() + assertions[rng.IntN(len(assertions))]
	case 8:
		return "(" + sub() + ")"
	case 9:
		return "(?i:" + sub() + ")"
	}
	return atoms[rng.IntN(len(atoms))]
}

// randomText returns a text over the letters of randomExpr, with bytes that
// belong to no rune.
func randomText(rng *rand.Rand, most int) string {
	letters := []string{"a", "a", "b", "ab", "c", "1", "_", "-", " ", "\n", "é", "世", "😂", "K", "k", "\u212a", "\xff", "\xe4", "\xb8", "\xc3", "\ufffd", "A", "B", "É"}
	var b strings.Builder
	for range rng.IntN(most) {
		b.WriteString(letters[rng.IntN(len(letters))])
	}
	return b.String()
}

// rounds returns how many random cases to try: under the race detector, each
// takes many times as long.
func rounds(n int) int {
	if race.Enabled {
		return n / 10
	}
	return n
}

func TestReplace_isWhatRegexpDoes(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	compared := 0
	for range rounds(2_000) {
		expr := randomExpr(rng, 1+rng.IntN(4))
		set, err := redact.Compile(redact.Pattern{Name: "X", Expr: expr})
		if err != nil {
			continue // it can match the empty text
		}
		compared++
		re := regexp.MustCompile(expr)
		for range 4 {
			text := randomText(rng, 40)
			want := re.ReplaceAllStringFunc(text, func(match string) string { return mark("X", match) })
			require.Equal(t, want, set.Replace(text, mark), "seed %d: %q in %q", seed, expr, text)
			cuts := cutText(rng, text)
			require.Equal(t, want, inPieces(set, mark, cuts...), "seed %d: %q in %q", seed, expr, cuts)
		}
	}
	require.Greater(t, compared, rounds(500))
}

// randomPatterns returns up to three patterns, some with checks and groups.
func randomPatterns(rng *rand.Rand) []redact.Pattern {
	checks := []func(string) bool{
		nil, nil,
		func(match string) bool { return len(match)%2 == 0 },
		func(match string) bool { return !strings.Contains(match, "b") },
	}
	var patterns []redact.Pattern
	for _, name := range []string{"X", "Y", "Z"}[:1+rng.IntN(3)] {
		expr := randomExpr(rng, 1+rng.IntN(3))
		groups := regexp.MustCompile(expr).NumSubexp()
		patterns = append(patterns, redact.Pattern{Name: name, Expr: expr, Check: checks[rng.IntN(len(checks))], Group: rng.IntN(groups + 1)})
	}
	return patterns
}

func TestReplace_isWhatRegexpDoesForSeveral(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	compared := 0
	for range rounds(1_000) {
		patterns := randomPatterns(rng)
		set, err := redact.Compile(patterns...)
		if err != nil {
			continue
		}
		compared++
		text := randomText(rng, 25)
		want := reference(patterns, text, mark)
		require.Equal(t, want, set.Replace(text, mark), "seed %d: %+v in %q", seed, patterns, text)
		cuts := cutText(rng, text)
		require.Equal(t, want, inPieces(set, mark, cuts...), "seed %d: %+v in %q", seed, patterns, cuts)
	}
	require.Greater(t, compared, rounds(100))
}

func FuzzReplace(f *testing.F) {
	f.Add(`\bsk-(?:\w+-){0,4}\w{20,}`, "a sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaa b", uint64(1))
	f.Add(`(?i)[^a]\B|(?m)^k$`, "K\n\u212a\xe4\xb8", uint64(2))
	f.Add(`(?:a|ab)(?:c|bcd)(?:d*)`, "abcd", uint64(3))
	f.Fuzz(func(t *testing.T, expr, text string, seed uint64) {
		if len(expr) > 100 || len(text) >= redact.MaxMatch {
			t.Skip("slow, or the bound counts")
		}
		set, err := redact.Compile(redact.Pattern{Name: "X", Expr: expr})
		if err != nil {
			t.Skip("refused")
		}
		want := regexp.MustCompile(expr).ReplaceAllStringFunc(text, func(match string) string { return mark("X", match) })
		require.Equal(t, want, set.Replace(text, mark))
		require.Equal(t, want, inPieces(set, mark, cutText(rand.New(rand.NewPCG(seed, 0)), text)...))
	})
}

// Twice redacted is as once redacted, since what is redacted may be redacted
// again with the history that it is in.
func FuzzReplace_twice(f *testing.F) {
	for _, text := range []string{
		`{"token": "a\"b", 'api_key': \"x\"}`, "Authorization: Bearer abc", "sk-aaaaaaaaaaaaaaaaaaaaaaaa",
		"a@b.cd@e.fg", "2 4111 1111 1111 1111 12", "529.982.247-25", "password=[KEY]x token=token=1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) >= redact.MaxMatch {
			t.Skip("the bound counts")
		}
		once := everything.Replace(text, label)
		require.Equal(t, once, everything.Replace(once, label))
		require.Equal(t, once, inPieces(everything, label, strings.SplitAfter(text, "e")...))
	})
}

func TestReplace_returnsTheTextItself(t *testing.T) {
	t.Parallel()
	got := everything.Replace(prose, label)
	assert.Same(t, unsafe.StringData(prose), unsafe.StringData(got))
}

func TestReplace_keepsWhatIsAroundAMatch(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "[0-9]+"})
	assert.Equal(t, "a[X]b[X]", set.Replace("a1b22", label))
	assert.Empty(t, set.Replace("1", func(_, _ string) string { return "" }))
	assert.Equal(t, "11b", set.Replace("1b", func(_, _ string) string { return "11" }), "a replacement isn't searched")
}

func TestReplace_withMayReplaceToo(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "<[^>]*>"}, redact.Pattern{Name: "Y", Expr: "[0-9]"})
	got := set.Replace("<a1>2", func(name, match string) string {
		if name == "X" {
			return set.Replace(match[1:], label)
		}
		return "[" + name + "]"
	})
	assert.Equal(t, "a[Y]>[Y]", got)
}

func TestSet_isUsableAfterAPanic(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "a[bx]*c|ab"})
	for _, text := range []string{"ab", "ab" + strings.Repeat("x", redact.MaxMatch)} {
		assert.Panics(t, func() { set.Replace(text, func(_, _ string) string { panic("no") }) })
		for range 3 {
			assert.Equal(t, "xc [X] [X] a", set.Replace("xc abc ab a", label))
		}
	}
}

func TestSet_ConcurrentSafe(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Keys()...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				assert.Equal(t, "a password=[KEY] b", set.Replace("a password=x b", label))
				assert.Equal(t, "a password=[KEY] b", inPieces(set, label, "a pass", "word", "=x b"))
				assert.Equal(t, []string{"password=[KEY]", " b"}, set.ReplaceParts([]string{"password=x", "y b"}, label))
			}
		})
	}
	wg.Wait()
}

func TestReplace_allocatesNothingUnlessFound(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	text := prose[:2000] + " sk-short password: , ana@b 4111 1111 1111 "
	assert.Zero(t, testing.AllocsPerRun(20, func() { everything.Replace(text, label) }))
}

func TestFilter_allocatesNothingForAChunk(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	p := &pieces{see: redact.NewFilter(everything, label)}
	chunk := 0
	p.shown.Grow(1 << 20)
	next := func() {
		at := chunk % (len(prose) - 4)
		p.push(prose[at : at+4])
		chunk += 4
	}
	for range 1000 {
		next() // lists grow to what they need
	}
	assert.Zero(t, testing.AllocsPerRun(5000, next))
	assert.Positive(t, p.held)
}

// What looks like the beginning of a match again and again has no text read
// more than a few times.
func TestReplace_readsNoTextManyTimes(t *testing.T) {
	t.Parallel()
	for _, again := range []string{
		"a", "1", "4111 ", "4111111111111111 ", "52998224725-", "sk-", "eyJ", "eyJabcdefgh.", "page_", "page_token=", "x@", "git@x.", `\\`,
		`"token":"`, `token=\"`, "password=null ", strings.Repeat("token=", 600) + "( ", "-----BEGIN PRIVATE KEY-----\n",
	} {
		text := strings.Repeat(again, 1<<14/len(again))
		steps, _ := redact.Work(everything, text)
		assert.Less(t, steps, 25*len(text), "%.30q", again)
	}
}

func TestReplace_equalWaysAreOne(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{`a+b`, `(?:a|a)+b`, `\w+@`, `(?:a?a?a?)+b`} {
		set := redact.MustCompile(redact.Pattern{Name: "X", Expr: expr}, redact.Pattern{Name: "X", Expr: "[ab]+c"})
		_, crowded := redact.Work(set, strings.Repeat("a", 4000))
		assert.False(t, crowded, expr)
	}
}
