package toolname

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// longName is longer than providers accept.
var longName = "mcp__" + strings.Repeat("workspace_", 6) + "_DeleteFile"

// pairs are names and whether they are spellings of one.
var pairs = []struct {
	a, b string
	same bool
}{
	{"delete_file", "delete_file", true},
	{"delete_file", "Delete File", true},
	{"delete_file", "deleteFile", true},
	{"delete_file", "DELETE-FILE", true},
	{"delete_file", "delete.file", true},
	{"delete_file", "delete/file", true},
	{"delete_file", "delete:file", true},
	{"delete_file", "__delete__file__", true},
	{"delete_file", "delete\u3000file", true},
	{"delete_file", "Ｄｅｌｅｔｅ＿Ｆｉｌｅ", true},
	{"delete_file", "'delete' \"file\"", true},
	{"delete_file", "“delete” ‘file’", true},
	{"delete_file", "delete_ﬁle", true},
	{"HTTPServer", "http_server", true},
	{"mcp__crm__deleteContact", "mcp.crm.delete-contact", true},
	{"\u212Aelvin", "kelvin", true},
	{"Straße", "STRASSE", true},
	{"Straße", "STRAẞE", true},
	{"Straße", "strasse", true},
	{"İstanbul", "i\u0307stanbul", true},
	{"Σίσυφος", "ΣΊΣΥΦΟΣ", true},
	{"ΟΔΟΣ", "οδος", true},
	{"ǅungla", "džungla", true},
	{"ǅungla", "ǆungla", true},
	{"Café", "CAFE\u0301", true},
	{"УдалитьФайл", "удалить_файл", true},
	{"УДАЛИТЬ файл", "удалить-файл", true},
	{"ファイル削除", "ﾌｧｲﾙ削除", true},
	{"DELETE-ファイル", "delete_ファイル", true},
	{"天气:查询", "天气_查询", true},
	{"حذف ملف", "حذف-ملف", true},
	{"ﺣﺬﻑ", "حذف", true},
	{"\u1112\u1161\u11ab", "한", true},
	{"फ़ाइल", "फ\u093cाइल", true},
	{"हटाएँ/फ़ाइल", "हटाएँ फ़ाइल", true},
	{"ⴀⴁ", "ႠႡ", true},
	{"x²", "X2", true},
	{"Ⅷ", "viii", true},
	{"\xffDelete", "\xffdelete", true},

	// What providers are given instead.
	{longName, Sanitize(longName), true},
	{longName, strings.ToUpper(Sanitize(longName)), true},
	{"日本語", Sanitize("日本語"), true},
	{"日本語", "Tool-" + strings.TrimPrefix(Sanitize("日本語"), "tool_"), true},
	{"___", Sanitize("___"), true},
	{"", "tool_e3b0c442", true},
	{"\xff", Sanitize("\xff"), true},
	{"Delete File", Sanitize("Delete File"), true},

	{"search", "search_天气", false},
	{"search_天气", "search_用户", false},
	{"search_天气", Sanitize("search_天气"), false},
	{"harp", "ßharp", false},
	{"cafe", "café", false},
	{"Café", Sanitize("Café"), false},
	{"delete_file", "deletefile", false},
	{"delete_file", "delete_files", false},
	{"delete_file", "dеlete_file", false}, // a Cyrillic letter
	{"delete_file", "delete\u200b_file", false},
	{"delete_file", "delete–file", false}, // a dash is no hyphen
	{"web_search", "web+search", false},
	{"web_search", "web_search!", false},
	{"istanbul", "İstanbul", false},
	{"istanbul", "ıstanbul", false},
	{"Ο", "O", false}, // Greek and Latin
	{"ファイル", "フアイル", false},
	{"한", "하", false},
	{"फाइल", "फ़ाइल", false},
	{"天气", "天氣", false},
	{"get½", "get12", false},
	{"x2", "x_2", false},
	{"日本語", Sanitize("中文"), false},
	{"日本語", "tool", false},
	{"日本語'", Sanitize("日本語"), false}, // another name has another hash
	{longName, longName + "s", false},
	{longName + "s", Sanitize(longName), false},
	{longName, Sanitize(longName)[:50], false},
	{strings.Repeat("x", 70) + "天", strings.Repeat("x", 70) + "气", false},
	{"\xff", "\xfe", false},
	{"a\xff", "a", false},
	{"a\xff", "a\uFFFD", false},
	{"\xc3'\xa9", "é", false},
	{"", "_", false},
	{"_", "__", false},
	{"'", "_", false},
	{"-", "-", true},
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range pairs {
		for _, names := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			a, b := Parse(names[0]), Parse(names[1])
			assert.Equal(t, c.same, Same(&a, &b), "%q and %q", names[0], names[1])
			assert.Equal(t, c.same, Match(names[0], names[1]), "%q and %q", names[0], names[1])
		}
	}
}

// A hash tells names apart, so that both of two names which share what providers
// are given are meant by it, and neither means the other.
func TestSame_isNotTransitiveOverAHash(t *testing.T) {
	t.Parallel()
	a, b := Parse(strings.Repeat("x", 70)+"天"), Parse(strings.Repeat("x", 70)+"气")
	short := Parse(Sanitize(a.Raw()))
	require.Equal(t, short.Raw(), Sanitize(b.Raw()))
	assert.True(t, Same(&a, &short))
	assert.True(t, Same(&b, &short))
	assert.False(t, Same(&a, &b))
}

func TestName_remembersItsForms(t *testing.T) {
	for _, raw := range []string{"delete_file", "deleteFile", "日本語", "DELETE-ファイル", "", "___", longName} {
		n := Parse(raw)
		for range 2 {
			assert.Equal(t, raw, n.Raw())
			assert.Equal(t, Fold(raw), n.Folded())
			assert.Equal(t, Flat(raw), n.Flat())
		}
		n.hash()
		assert.Zero(t, testing.AllocsPerRun(100, func() { n.Folded(); n.Flat(); n.key(); n.hash() }), "%q", raw)
	}
}

// tableNames are all names of the table, and what providers are given of them.
func tableNames() (names []string) {
	for _, c := range pairs {
		names = append(names, c.a, c.b, Sanitize(c.a), Sanitize(c.b), Fold(c.a), strings.ToUpper(c.b))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestIndex_findsWhatIsTheSame(t *testing.T) {
	t.Parallel()
	all := tableNames()
	require.Greater(t, len(all), 150)
	// Every other name isn't in the list, but is asked for.
	for _, names := range [][]string{all, everyOther(all, 0), everyOther(all, 1), {"日本語", Sanitize("日本語")}, all[:1], nil} {
		requireIndex(t, names, all)
	}
}

func everyOther(all []string, from int) (names []string) {
	for i := from; i < len(all); i += 2 {
		names = append(names, all[i])
	}
	return names
}

func requireIndex(t *testing.T, names, asked []string) {
	t.Helper()
	x, f := NewIndex(names), NewFilter(names...)
	plain := !slices.ContainsFunc(names, IsPattern)
	parsed := make([]Name, len(names))
	for i, name := range names {
		parsed[i] = Parse(name)
	}
	for _, raw := range asked {
		n := Parse(raw)
		var want []int32
		for i := range parsed {
			if Same(&parsed[i], &n) {
				want = append(want, int32(i))
			}
		}
		var got []int32
		first, second := x.Find(&n)
		for _, g := range []int{first, second} {
			if g >= 0 {
				got = append(got, x.Groups()[g]...)
				if members := x.Groups()[g]; len(members) == 0 || !slices.IsSorted(members) {
					t.Fatalf("the group %v of %q", members, raw)
				}
			}
		}
		if g, ok := x.Quick(raw); ok && (g != first || second >= 0) {
			t.Fatalf("the quick way finds group %d for %q in %q, and not %d and %d", g, raw, names, first, second)
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(want, got) {
			require.Equal(t, want, got, "%q in %q", raw, names)
		}
		if plain && f.Match(&n) != (want != nil) {
			t.Fatalf("a filter of %q covers %q: %v", names, raw, want == nil)
		}
	}
}

func TestIndex_allocs(t *testing.T) {
	names := tableNames()
	x := NewIndex(names)
	for _, raw := range append(names, "unknown_name", "unknown_天气") {
		got := testing.AllocsPerRun(20, func() {
			n := Parse(raw)
			x.Find(&n)
		})
		assert.Zero(t, got, "%q", raw)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("Delete File\ndelete_file\n日本語", "deleteFile")
	f.Add("日本語\ntool_77710aed\n'日本語'", "日本語")
	f.Add(longName+"\n"+longName+"s", Sanitize(longName))
	f.Add("_\n-\n'", "__")
	f.Add(strings.Repeat("x", 70)+"天\n"+strings.Repeat("x", 70)+"气", strings.Repeat("x", 70))
	f.Add("\xc3'\xa9\né", "É")
	f.Fuzz(func(t *testing.T, list, name string) {
		names := strings.Split(list, "\n")
		if len(names) > 3 || len(list)+len(name) > 400 {
			return // all are compared with all
		}
		var asked []string
		for _, n := range append(names, name) {
			asked = append(asked, n, Sanitize(n), Fold(n), strings.ToUpper(n))
		}
		requireIndex(t, names, asked)
		requireIndex(t, asked, asked)
		keys, hashes := make([]string, len(asked)), make([]string, len(asked))
		for i, n := range asked {
			keys[i], hashes[i] = naiveKey(n), naiveHash(n)
		}
		for i, a := range asked {
			for j, b := range asked {
				x, y := Parse(a), Parse(b)
				want := keys[i] == keys[j] || hashes[i] == keys[j] || keys[i] == hashes[j]
				if Same(&x, &y) != want {
					t.Fatalf("%q and %q are the same: %v", a, b, !want)
				}
			}
		}
	})
}

func naiveKey(name string) string {
	if k := naiveFold(name, true); k != "" {
		return k
	}
	return name
}

// naiveHash returns what Sanitize makes of a name if that holds a hash, else a
// text that is no key.
func naiveHash(name string) string {
	s := Sanitize(name)
	if ascii := appendSnake(nil, appendASCII(nil, name)); string(ascii) == s {
		return "A"
	}
	return s
}

func BenchmarkIndex(b *testing.B) {
	names := make([]string, 20_000)
	for i := range names {
		names[i] = "tool_" + strings.Repeat("x", i%20) + string(rune('a'+i%26)) + shortHash(string(rune(i)))
	}
	x := NewIndex(names)
	for _, raw := range []string{names[777], "Delete File", "delete_file", "search_天气"} {
		b.Run(raw, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := Parse(raw)
				x.Find(&n)
			}
		})
	}
}

func BenchmarkFilter_onePatternBesideManyNames(b *testing.B) {
	names := []string{"admin_*"}
	for i := range 20_000 {
		names = append(names, "tool_"+shortHash(string(rune(i))))
	}
	f := NewFilter(names...)
	b.ReportAllocs()
	for b.Loop() {
		n := Parse("delete_file")
		f.Match(&n)
	}
}
