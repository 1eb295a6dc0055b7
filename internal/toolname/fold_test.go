package toolname

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, folded, flat string }{
		{"", "", ""},
		{"delete_file", "delete_file", "delete_file"},
		{"Delete File", "delete_file", "delete_file"},
		{"deleteFile", "delete_file", "deletefile"},
		{"DELETE-FILE", "delete_file", "delete_file"},
		{"delete.file/now:x", "delete_file_now_x", "delete_file_now_x"},
		{"mcp__crm__deleteContact", "mcp_crm_delete_contact", "mcp_crm_deletecontact"},
		{"HTTPServerTool", "http_server_tool", "httpservertool"},
		{"aBC", "a_bc", "abc"},
		{"ABc", "a_bc", "abc"},
		{"v2API", "v2api", "v2api"},
		{"getV2", "get_v2", "getv2"},
		{"GitHub/delete", "git_hub_delete", "github_delete"},
		{" \t-_a_-\u00a0\u2028", "a", "a"},
		{"__", "", ""},
		{"it's \"fun\"", "its_fun", "its_fun"},
		{"it’s “fun”", "its_fun", "its_fun"},
		{"a'B", "ab", "ab"},
		{"'-'", "", ""},
		{"a-'-b", "a_b", "a_b"},
		{"a+b", "a+b", "a+b"},
		{"Web-Search!!", "web_search!!", "web_search!!"},
		{"x\x00y", "x\x00y", "x\x00y"},
		{"a\u200bb", "a\u200bb", "a\u200bb"}, // a character that can't be seen is kept

		{"search_天气", "search_天气", "search_天气"},
		{"DELETE-ファイル", "delete_ファイル", "delete_ファイル"},
		{"ﾌｧｲﾙ", "ファイル", "ファイル"}, // half width
		{"Ｄｅｌｅｔｅ＿Ｆｉｌｅ", "delete_file", "delete_file"},
		{"ａＢ", "a_b", "ab"}, // upper case by NFKC alone
		{"ﬁleX", "file_x", "filex"},
		{"УдалитьФайл", "удалить_файл", "удалитьфайл"},
		{"ΔιαγραφήΑρχείου", "διαγραφή_αρχείου", "διαγραφήαρχείου"},
		{"ΟΔΟΣ", "οδοσ", "οδοσ"},
		{"οδος", "οδοσ", "οδοσ"},
		{"ᾈΑ", "ᾀα", "ᾀα"}, // title case
		{"αᾈ", "α_ᾀ", "αᾀ"},
		{"STRASSE", "strasse", "strasse"},
		{"Straße", "strasse", "strasse"},
		{"STRAẞE", "strasse", "strasse"},
		{"ſave", "save", "save"},
		{"\u212Aelvin", "kelvin", "kelvin"},
		{"ǅungla", "džungla", "džungla"},
		{"aǅb", "a_džb", "adžb"},
		{"İ", "i\u0307", "i\u0307"},
		{"ABİ", "abi\u0307", "abi\u0307"},
		{"aİ", "a_i\u0307", "ai\u0307"},
		{"ı", "ı", "ı"},
		{"J\u030C", "ǰ", "ǰ"}, // composes in lower case alone
		{"Cafe\u0301", "café", "café"},
		{"e'\u0301", "é", "é"},
		{"b\u0301C", "b\u0301_c", "b\u0301c"},
		{"AB\u0301c", "a_b\u0301c", "ab\u0301c"},
		{"ABc\u0301", "a_bć", "abć"},
		{"a\u0345B", "aι_b", "aιb"},
		{"´a", "\u0301a", "\u0301a"}, // a space and a mark by NFKC
		{"حذف-ملف", "حذف_ملف", "حذف_ملف"},
		{"ﺣﺬﻑ", "حذف", "حذف"}, // presentation forms
		{"हटाएँ फ़ाइल", "हटाएँ_फ\u093cाइल", "हटाएँ_फ\u093cाइल"},
		{"\u1112\u1161\u11ab", "한", "한"},
		{"ႠႡ", "ⴀⴁ", "ⴀⴁ"},
		{"ꭰᎠ", "ꭰ_ꭰ", "ꭰꭰ"},
		{"𐐀𐐁", "𐐨𐐩", "𐐨𐐩"},
		{"get½", "get1⁄2", "get1⁄2"},

		{"Ab\xffC", "ab\xffc", "ab\xffc"},
		{"\xff-\xfe", "\xff_\xfe", "\xff_\xfe"},
		{"\xc3'\xa9", "\xc3'\xa9", "\xc3'\xa9"}, // not é
		{"\xc3'-\xa9'", "\xc3_\xa9", "\xc3_\xa9"},
		{"\xffe\u0301", "\xffé", "\xffé"},
	} {
		assert.Equal(t, c.folded, Fold(c.name), "%q", c.name)
		assert.Equal(t, c.flat, Flat(c.name), "%q", c.name)
		assert.Equal(t, c.folded, Fold(c.folded), "%q twice", c.name)
		assert.Equal(t, c.flat, Flat(c.flat), "%q twice", c.name)
	}
}

func TestFoldRune_representsEachOrbit(t *testing.T) {
	t.Parallel()
	check := func(r rune) {
		f := foldRune(r)
		inOrbit := f == r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			inOrbit = inOrbit || o == f
			if foldRune(o) != f {
				t.Fatalf("%U and %U fold to %U and %U", r, o, f, foldRune(o))
			}
		}
		if !inOrbit {
			t.Fatalf("%U folds to %U, which isn't the same letter", r, f)
		}
		if kindOf(f) == upper && f != dottedI {
			t.Fatalf("%U folds to %U, which divides words", r, f)
		}
	}
	cased := 0
	for _, letters := range unicode.CaseRanges {
		for r := rune(letters.Lo); r <= rune(letters.Hi); r++ {
			check(r)
			cased++
		}
	}
	assert.Greater(t, cased, 2000)
	for r := range rune(0x3000) { // and others
		check(r)
	}
}

func TestFold_isIdempotentForEachRune(t *testing.T) {
	t.Parallel()
	for r := range unicode.MaxRune + 1 {
		if !utf8.ValidRune(r) || kindOf(r) == other && norm.NFKC.IsNormalString(string(r)) {
			continue
		}
		for _, name := range []string{string(r), "a" + string(r) + "b", "A" + string(r) + "\u0301Bc"} {
			f := Fold(name)
			if Fold(f) != f || norm.NFKC.String(f) != f {
				t.Fatalf("%q gives %q, then %q", name, f, Fold(f))
			}
		}
	}
}

// What providers are given loses nothing of an ASCII name, so it is the same
// there.
func TestFold_isSanitizeForPlainNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Delete File", "deleteFile", "HTTPServerTool", "aBC", "ABc", "v2API", "a'B", `a"b`, "__x__", "a..b--c",
		"parseJSON2XML", "Tool2Go", " delete_file ", "a/b:c",
	} {
		assert.Equal(t, Sanitize(name), Fold(name), "%q", name)
	}
}

func TestFold_allocs(t *testing.T) {
	for name, want := range map[string]float64{
		"delete_file": 0, "": 0, "web_search!!": 0, strings.Repeat("x", 200): 0,
		"search_天气": 0, "café": 0,
		"Delete File": 1, "DELETE-ファイル": 1, // the result
	} {
		assert.Equal(t, want, testing.AllocsPerRun(100, func() { Fold(name) }), "%q", name)
	}
}

// A name comes from a model or a server, which bound nothing. Time that isn't
// linear in its length would show here as a test that never ends.
func TestFold_takesVeryLongNames(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	for unit, form := range map[string]string{
		"a": "a", "AA": "aa", "é": "é", "_": "", "'": "", "\xff": "\xff", "日": "日", "e\u0301": "é", "Ｆ": "f",
	} {
		n := size / len(unit)
		assert.True(t, strings.Repeat(form, n) == Fold(strings.Repeat(unit, n)), "%q", unit)
	}
	// Package norm puts a joiner behind every thirtieth mark in a row.
	marks := Fold(strings.Repeat("\u0301", size/2))
	assert.True(t, marks == Fold(marks))
	quotes := "\xff" + strings.Repeat("'", size) + "\xff"
	assert.True(t, quotes == Fold(quotes))
	assert.Len(t, Fold("\xff"+strings.Repeat("'", size)+"a"), 2)
}

func FuzzFold(f *testing.F) {
	for _, name := range []string{
		"Delete File", "a-'-b", "ＡＢｃ", "ǅ\u0301İ", "\xc3''\xa9", "´Σς", "b\u0345\u0301C", "\u1112\u1161\u11ab", "‘a’",
		"A" + strings.Repeat("\u0301", 35) + "'\u0302Bc",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, words := range []bool{true, false} {
			got := folding{words: words}.of(name, "")
			require.Equal(t, naiveFold(name, words), got)
			require.Equal(t, got, folding{words: words}.of(got, ""), "folding twice differs from once")
			require.Equal(t, got, folding{words: words}.of(name, got))
			if utf8.ValidString(name) {
				require.True(t, utf8.ValidString(got))
				require.Equal(t, got, folding{words: words}.of(norm.NFKC.String(name), ""))
			}
			require.Equal(t, invalidBytes(name), invalidBytes(got))
		}
		require.Equal(t, strings.ReplaceAll(Fold(name), "_", ""), strings.ReplaceAll(Flat(name), "_", ""))
	})
}

func invalidBytes(s string) (list []byte) {
	for i := 0; i < len(s); {
		c, size := charAt(s, i)
		if c >= invalid {
			list = append(list, s[i])
		}
		i += size
	}
	return list
}

// naiveFold is the rule step by step, on a list of characters: runes, and bytes
// that aren't UTF-8 as negative numbers.
func naiveFold(name string, words bool) string {
	list := naiveNFKC(naiveChars(name))
	if words {
		list = naiveDivide(list)
	}
	list = naiveUnquote(list)
	var out []rune
	for i, r := range list {
		switch {
		case naiveSeparator(r):
			if len(out) > 0 && i+1 < len(list) && !naiveSeparator(list[i+1]) {
				out = append(out, '_')
			}
		case r == 'ß' || r == 'ẞ':
			out = append(out, 's', 's')
		case r == 'İ':
			out = append(out, 'i', '\u0307')
		case r < 0:
			out = append(out, r)
		default:
			out = append(out, naiveLower(r))
		}
	}
	return naiveText(naiveNFKC(out))
}

func naiveChars(s string) (list []rune) {
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			r = -1 - rune(s[0])
		}
		list, s = append(list, r), s[size:]
	}
	return list
}

func naiveText(list []rune) string {
	var b []byte
	for _, r := range list {
		if r < 0 {
			b = append(b, byte(-1-r))
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

func naiveNFKC(list []rune) (out []rune) {
	var run []rune
	for _, r := range append(slices.Clone(list), -1) {
		if r >= 0 {
			run = append(run, r)
			continue
		}
		out = append(out, []rune(norm.NFKC.String(string(run)))...)
		out, run = append(out, r), nil
	}
	return out[:len(out)-1]
}

// naiveDivide puts a separator before each letter that begins a word.
func naiveDivide(list []rune) (out []rune) {
	letter := func(i, step int) rune { // the next that isn't a mark
		for i += step; 0 <= i && i < len(list); i += step {
			if list[i] < 0 || !unicode.Is(unicode.M, list[i]) {
				return list[i]
			}
		}
		return -1
	}
	for i, r := range list {
		if naiveUpper(r) {
			before, behind := letter(i, -1), letter(i, 1)
			if naiveLowerCase(before) || naiveUpper(before) && naiveLowerCase(behind) {
				out = append(out, ' ')
			}
		}
		out = append(out, r)
	}
	return out
}

// naiveUnquote drops quotes, but not between two bytes that aren't UTF-8.
func naiveUnquote(list []rune) (out []rune) {
	for i := 0; i < len(list); i++ {
		if !strings.ContainsRune(`'"‘’‚‛“”„‟`, list[i]) || list[i] < 0 {
			out = append(out, list[i])
			continue
		}
		lo := i
		for i+1 < len(list) && list[i+1] >= 0 && strings.ContainsRune(`'"‘’‚‛“”„‟`, list[i+1]) {
			i++
		}
		if lo > 0 && list[lo-1] < 0 && i+1 < len(list) && list[i+1] < 0 {
			out = append(out, list[lo:i+1]...)
		}
	}
	return out
}

func naiveSeparator(r rune) bool {
	return r >= 0 && (strings.ContainsRune("_-./:", r) || unicode.IsSpace(r))
}

func naiveLowerCase(r rune) bool { return r >= 0 && unicode.IsLower(r) }

func naiveUpper(r rune) bool {
	return r >= 0 && (unicode.IsUpper(r) || unicode.IsTitle(r)) && (r == 'İ' || naiveLower(r) != r)
}

// naiveLower takes the lower-case letter among those that SimpleFold takes for
// one: the one that its own upper case leads back to.
func naiveLower(r rune) rune {
	for o := unicode.SimpleFold(r); ; o = unicode.SimpleFold(o) {
		if unicode.ToLower(unicode.ToUpper(o)) == o {
			return o
		}
		if o == r {
			return r
		}
	}
}

func BenchmarkFold(b *testing.B) {
	for _, name := range []string{"delete_file", "Delete File", "search_天气", "DELETE-ファイル"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fold(name)
			}
		})
	}
}
