package redact_test

import (
	"strings"
	"testing"

	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
)

func isEven(match string) bool { return (match[len(match)-1]-'0')%2 == 0 }

// What is shown is the same however the text is cut, and what one expression
// alone would have package regexp do.
func TestReplace_cases(t *testing.T) {
	t.Parallel()
	type patterns = []redact.Pattern
	tests := []struct {
		name       string
		patterns   patterns
		text, want string
	}{
		{"leftmost", patterns{{Name: "X", Expr: "bcd"}, {Name: "Y", Expr: "ab"}}, "abcd", "<Y:ab>cd"},
		{"first given of several", patterns{{Name: "X", Expr: "ab"}, {Name: "Y", Expr: "abc"}}, "abc", "<X:ab>c"},
		{"first alternative", patterns{{Name: "X", Expr: "a|ab"}}, "ab", "<X:a>b"},
		{"longer alternative that fails", patterns{{Name: "X", Expr: "abcd|ab"}}, "abce", "<X:ab>ce"},
		{"greedy", patterns{{Name: "X", Expr: "a.*b"}}, "a1b2b3", "<X:a1b2b>3"},
		{"not greedy", patterns{{Name: "X", Expr: "a.*?b"}}, "a1b2b3", "<X:a1b>2b3"},
		{"overlap", patterns{{Name: "X", Expr: "aba"}}, "ababa", "<X:aba>ba"},
		{"false start", patterns{{Name: "X", Expr: "aab"}}, "aaab", "a<X:aab>"},
		{"match within a failed longer one", patterns{{Name: "X", Expr: "abcde"}, {Name: "Y", Expr: "bc"}}, "abcdx", "a<Y:bc>dx"},
		{"each its own flags", patterns{{Name: "X", Expr: "(?i)ab"}, {Name: "Y", Expr: "cd"}}, "AB CD cd", "<X:AB> CD <Y:cd>"},
		{"folding beyond ASCII", patterns{{Name: "X", Expr: "(?i)key"}}, "\u212aey", "<X:\u212aey>"},
		{"boundary at the end of a match", patterns{{Name: "X", Expr: `\bsk-\w*\b`}}, "sk-a sk-", "<X:sk-a> sk-"},
		{"boundary behind a hyphen", patterns{{Name: "X", Expr: `\bsk-\b`}}, "sk-a sk- ", "<X:sk->a sk- "},
		{"no boundary", patterns{{Name: "X", Expr: `sk-\B`}}, "sk-a sk- sk-", "sk-a <X:sk-> <X:sk->"},
		{"boundaries know ASCII only", patterns{{Name: "X", Expr: `\ba`}}, "éa", "é<X:a>"},
		{"beginning of the text alone", patterns{{Name: "X", Expr: "^a"}}, "aa\na", "<X:a>a\na"},
		{"beginnings of lines", patterns{{Name: "X", Expr: "(?m)^a"}}, "aa\na", "<X:a>a\n<X:a>"},
		{"end of the text alone", patterns{{Name: "X", Expr: "a$"}}, "a\naa", "a\na<X:a>"},
		{"ends of lines", patterns{{Name: "X", Expr: "(?m)a$"}}, "a\naa", "<X:a>\na<X:a>"},
		{"behind a match", patterns{{Name: "X", Expr: `\bab`}, {Name: "Y", Expr: "c"}}, "cab ab", "<Y:c>ab <X:ab>"},
		{"beyond ASCII", patterns{{Name: "X", Expr: "[а-я]+世"}}, "где世界", "<X:где世>界"},
		{"beyond 16 bits", patterns{{Name: "X", Expr: "[😀-😅]b?"}}, "a😁😂b😎", "a<X:😁><X:😂b>😎"},
		{"bytes that are no rune", patterns{{Name: "X", Expr: `a.b`}}, "a\xffb a\xe4\xb8b", "<X:a\xffb> a\xe4\xb8b"},
		{"half a rune at the end", patterns{{Name: "X", Expr: `a..`}}, "a\xe4\xb8", "<X:a\xe4\xb8>"},

		{"check passes", patterns{{Name: "X", Expr: "[0-9]+", Check: isEven}}, "12 13 14", "<X:12> 13 <X:14>"},
		{"behind the first rune of what fails", patterns{{Name: "X", Expr: "é?[0-9]{2}", Check: isEven}}, "é135 é134", "é135 é1<X:34>"},
		{"shorter match isn't tried", patterns{{Name: "X", Expr: "[0-9]+", Check: isEven}}, "123", "123"},
		{"other pattern where a check failed", patterns{{Name: "X", Expr: "[0-9]+", Check: isEven}, {Name: "Y", Expr: "[0-9]{2}"}}, "123", "<Y:12>3"},

		{"group", patterns{{Name: "X", Expr: `id=(\w+);`, Group: 1}}, "id=a;id=b;", "id=<X:a>;id=<X:b>;"},
		{"second group", patterns{{Name: "X", Expr: `(\w)=(\w)`, Group: 2}}, "a=b", "a=<X:b>"},
		{"last round of a group", patterns{{Name: "X", Expr: `(?:(\w),)+`, Group: 1}}, "a,b,c.", "a,<X:b>,c."},
		{"context of two", patterns{{Name: "X", Expr: ` (a) `, Group: 1}}, " a a a ", " <X:a> <X:a> <X:a> "},
		{"match in the context behind", patterns{{Name: "X", Expr: `(a)bcd`, Group: 1}, {Name: "Y", Expr: "bc"}}, "abcd", "<X:a><Y:bc>d"},
		{"group takes no part", patterns{{Name: "X", Expr: `no \w+|(\w+)`, Group: 1}}, "no a b", "no a <X:b>"},
		{"and hides nothing from others", patterns{{Name: "X", Expr: `no \w+|(x)`, Group: 1}, {Name: "Y", Expr: "[ax]"}}, "no a x", "no <Y:a> <X:x>"},
		{"empty group", patterns{{Name: "X", Expr: `a(b*)`, Group: 1}}, "a ab", "a a<X:b>"},
		{"and hides its stretch", patterns{{Name: "X", Expr: `x.(b*)`, Group: 1}}, "xxab xab", "xxab xa<X:b>"},
		{"check sees the group", patterns{{Name: "X", Expr: `n=([0-9]+);`, Group: 1, Check: isEven}}, "n=1;n=2;", "n=1;n=<X:2>;"},
		{"whichever group took part", patterns{redact.AnyGroup(redact.Pattern{Name: "X", Expr: `"(\w+)"|'(\w+)'|-\w+-`})}, `"a"'b'-c-`, `"<X:a>"'<X:b>'-c-`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := redact.MustCompile(tt.patterns...)
			assert.Equal(t, tt.want, set.Replace(tt.text, mark))
			assert.Equal(t, tt.want, inPieces(set, mark, strings.Split(tt.text, "")...), "by rune")
			for i := range len(tt.text) {
				assert.Equal(t, tt.want, inPieces(set, mark, tt.text[:i], tt.text[i:]), "cut at %d", i)
				for j := range i {
					assert.Equal(t, tt.want, inPieces(set, mark, tt.text[:j], tt.text[j:i], "", tt.text[i:]), "cut at %d and %d", j, i)
				}
			}
		})
	}
}

func TestFilter_keyInBytes(t *testing.T) {
	t.Parallel()
	const key = "sk-abcdefghijklmnopqrstuvwxyz"
	p := &pieces{see: redact.NewFilter(redact.MustCompile(redact.Keys()...), label)}
	for _, b := range []byte("it is " + key + " ok") {
		p.push(string(b))
	}
	assert.Equal(t, "it is [KEY] ok", p.end(""))
	assert.LessOrEqual(t, p.heldMax, len(key))
}

func TestFilter_holdsNoProse(t *testing.T) {
	t.Parallel()
	p := &pieces{see: redact.NewFilter(redact.MustCompile(redact.Keys()...), label)}
	n := 0
	for text := prose; len(text) > 0; n++ {
		size := min(4, len(text))
		p.push(text[:size])
		text = text[size:]
	}
	assert.Equal(t, prose, p.end(""))
	assert.Less(t, float64(p.held)/float64(n), 1.0, "bytes held on average")
	assert.Positive(t, p.held)
}

func TestFilter_showsAtOnceWhatCanNotMatch(t *testing.T) {
	t.Parallel()
	p := &pieces{see: redact.NewFilter(redact.MustCompile(redact.Pattern{Name: "X", Expr: "key-[0-9]+;"}), label)}
	for _, step := range []struct{ piece, shown string }{
		{"a ke", "a "}, {"y", "a "}, {"-1", "a "}, {"2", "a "}, {"x", "a key-12x"}, {" key-7", "a key-12x "}, {"; ", "a key-12x [X] "},
	} {
		p.push(step.piece)
		assert.Equal(t, step.shown, p.shown.String(), "behind %q", step.piece)
	}
}

func TestFilter_beginsAnew(t *testing.T) {
	t.Parallel()
	never := func(string) bool { return false }
	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "^ab"}, redact.Pattern{Name: "Y", Expr: "^c+", Check: never}, redact.Pattern{Name: "Z", Expr: "^c"})
	p := &pieces{see: redact.NewFilter(set, label)}
	for range 3 {
		p = &pieces{see: p.see}
		p.push("a")
		assert.Equal(t, "[X]ab", p.end("bab"))
		p = &pieces{see: p.see}
		p.push("cc")
		assert.Equal(t, "[Z]c.", p.end("."))
		p = &pieces{see: p.see}
		p.push("shown at once")
		assert.Equal(t, "shown at once.", p.end("."))
	}
}
