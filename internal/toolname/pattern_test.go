package toolname

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"*", "日本語", true},
		{"delete_*", "delete_file", true},
		{"delete_*", "deleteFile", true},
		{"delete_*", "DeleteFile", true},
		{"delete_*", "DELETE FILE", true},
		{"delete_*", "Delete/File", true},
		{"delete_*", "DELETE-ファイル", true},
		{"delete_*", "_delete_file", true}, // one name with delete_file
		{"delete_*", "delete", false},
		{"delete_*", "undelete_file", false},
		{"delete_*", "deletefile", false},
		{"delete_*", "dеlete_file", false}, // a Cyrillic letter
		{"delete_*", "delete–file", false},
		{"Delete*", "delete_file", true},
		{"Delete*", "deletefile", true},
		{"Delete*", "DELETE", true},
		{"delete*", "Delete-File", true},
		{"DELETE-*", "delete_file", true},
		{"DELETE-*", "deleteFile", true},
		{"DELETE-*", "deletefile", false},
		{"delete *", "delete_file", true},
		{"read_*", "ready_to_delete", false},
		{"read_*", "read", false},
		{"read_*", "readMe", true},
		{"read*", "ready_to_delete", true},
		{"*delete_file", longName, true},
		{"*delete_file", "mcp__ws__DeleteFile", true},
		{"*delete_file", "mcp__ws__DeleteFile_", true},
		{"*delete_file", "delete_files", false},
		{"*DeleteFile", "mcp__ws__delete_file", true},
		{"*DeleteFile", "mcp__ws__deletefile", true},
		{"mcp__*__delete_*", "mcp__crm__deleteContact", true},
		{"mcp__*__delete_*", "mcp__crm__delete-contact", true},
		{"mcp__*__delete_*", "mcp.crm.delete.contact", true},
		{"mcp__*__delete_*", "mcp__crm__undelete_x", false},
		{"mcp__*__delete_*", "mcp__delete", false},
		{"mcp__*", "mcp__github__delete", true},
		{"mcp__*", "mcp.github.delete", true},
		{"mcp__*", "mcpserver", false},
		{"github*", "GitHub/delete", true},
		{"github*", "github_delete", true},
		{"github*", "git_hub_delete", false},
		{"GitHub*", "github/delete", true},
		{"GitHub*", "git_hub_delete", true},
		{"GitHub*delete_file", "github/deleteFile", true},
		{"github*deletefile", "GitHub/deleteFile", true},
		{"deleteFile*", "delete_files", true},
		{"deleteFile*", "deletefiles", true},
		{"deleteFile*", "DELETE-FILES", true},
		{"DeleteF*", "DeleteFile", true},
		{"DeleteF*", "delete_file", true},
		{"DeleteF*", "deletefile", true},
		{"DeleteF*", "delete", false},
		{"*File", "delete_file", true},
		{"*File", "profile", true}, // as its folded text says
		{"HTTP*", "HTTPServer", true},
		{"HTTP*", "http_server", true},
		{"HTTPS*", "HTTPServer", true},
		{"get?", "getX", true},
		{"get?", "getXY", false},
		{"get?", "get_x", false},
		{"get_?", "getX", true},
		{"get_?", "GET-Ж", true},
		{"?et_file", "Get File", true},
		{"?et_file", "et_file", false},
		{"удалить*", "УдалитьФайл", true},
		{"УДАЛИТЬ_*", "удалитьФайл", true},
		{"удалить*", "читать_файл", false},
		{"*ファイル", "DELETE-ﾌｧｲﾙ", true},
		{"削除*", "削除_全部", true},
		{"削除*", Sanitize("削除"), false},
		{"straße*", "STRASSENNAME", true},
		{"ΟΔΟΣ*", "οδος_1", true},
		{"café*", "Cafe\u0301Menu", true},
		{"cafe*", "café", false},
		{"search", "search_天气", false},
		{"search_*", "search_天气", true},
		{"حذف*", "ﺣﺬﻑ", true},
		{"한*", "\u1112\u1161\u11ab글", true},
		{"हटा*", "हटाएँ_फ़ाइल", true},
		{"it's*", "its fun", true},
		{"a'*", "a_b", true},
		{`"delete_*"`, "deleteFile", true},
		{"Delete\xff*", "delete\xff_x", true},
		{"delete*", "DELETE\xff", true},

		// Nothing between two separators: folding leaves one of them.
		{"mcp__*__delete_*", "mcp____Delete_x", true},
		{"mcp__*__delete_*", "mcp____deleteX", true},
		{"mcp__*__delete_*", "mcp__''__Delete_x", true},
		{"mcp__*__delete_*", "mcp__.__Delete_x", true},
		{"mcp__*__delete_*", "mcp__delete_x", true}, // one name with mcp____delete_x
		{"mcp__*__delete_*", "mcp__crm_xdelete_x", false},
		{"mcp__*__delete_*", "mcpDelete_x", true},
		{"mcp__*__delete_*", "mcp_xdelete_x", false},
		{"mcp__**__delete_*", "Mcp____Delete_x", true},
		{"A_*_*_b", "a_b", true},
		{"A_*_*_b", "a_x_b", true},
		{"A_*_*_b", "a_x_y_z_b", true},
		{"A_*_*_b", "a_xb", false},
		{"A_*_?_*_b", "a_x_b", true},
		{"A_*_?_*_b", "a_b", false},
		{"A_*_*", "a_x", true},
		{"A_*_*", "a", false},
		{"A_*_b*_*_c", "a_bb_x_b_y_c", true},
		{"A_*_b*_*_c", "a_xb_c", false},
		{"A*_*_b", "aX_b", true},
		{"A_?_b", "a_b", false}, // exactly one character

		// Ends.
		{"_delete*", "__delete_x", true},
		{"_delete*", "Delete_x", true},
		{"*delete_", "x_Delete", true},
		{"_*", "_private", true},
		{"_*", "delete_file", false},
		{"_*", "DeleteFile", false},
		{"*_", "delete_file", false},
		{"*_", "x_", true},
		{"_*a", "delete_a", false},
		{"'*", "delete_file", false},
		{"'*'", "DeleteFile", false},
		{"'*'", "'x'", true},
		{"*__delete_*", "__delete_x", true},
		{"*__delete_*", "__Delete_x", true},
		{"*__delete_*", "＿＿Ｄelete_x", true},
		{"*__delete_*", "'_'deleteX", true},
		{"*__delete_*", "delete_x", false},
		{"*__delete_*", "Delete_x", false},
		{"*_github*", "_GitHub", true},
		{"delete_*", "delete_", true},
		{"delete_*", "Delete-", true},
		{"delete_*", "Delete", false},
		{"_*_delete_*", "__Delete_", false}, // the first "_" is at the end of the pattern
		{"?delete*", "_Delete", true},
		{"?delete*", "Delete", false},
		{"*_*", "_Delete", true},
		{"*_*", "deleteFile", true},
		{"*_*", "delete", false},
		{"?*", "___", true},
		{"????", "delete", false},
		{"a*", "___", false},
		{"*?*", "DeleteFile", true},

		// Only ASCII wildcards are wildcards.
		{"a＊*", "a＊b", true},
		{"a＊*", "axb", false},
		{"A＊*", "a＊b", true},
		{"a？*", "axb", false},
		{"*", "a*b", true},
	} {
		assert.Equal(t, c.want, Match(c.pattern, c.name), "%q on %q", c.pattern, c.name)
		n := Parse(c.name)
		assert.Equal(t, c.want, NewFilter("other", c.pattern).Match(&n), "%q on %q in a filter", c.pattern, c.name)
	}
}

func TestPattern_coversWhatItIsWrittenLike(t *testing.T) {
	t.Parallel()
	for _, name := range tableNames() {
		if name != "" {
			assert.True(t, Match(name+"*", name), "%q", name)
			assert.True(t, Match("*"+name, name), "%q", name)
		}
	}
}

// A guard's pattern for the beginning of a name covers each spelling of it.
func TestPattern_coversEachSpelling(t *testing.T) {
	t.Parallel()
	for _, c := range pairs {
		a, b := Parse(c.a), Parse(c.b)
		if !c.same || a.Folded() == "" || a.Folded() != b.Folded() || strings.Trim(c.a+c.b, "_") != c.a+c.b {
			continue
		}
		assert.True(t, Match(c.a+"*", c.b), "%q on %q", c.a+"*", c.b)
		assert.True(t, Match("*"+c.b, c.a), "%q on %q", "*"+c.b, c.a)
	}
}

func TestPattern_allocs(t *testing.T) {
	p := CompilePattern("*delete_?ile*")
	for name, want := range map[string]float64{
		"delete_file": 0, "read_file": 0, "read_ファイル": 0, "DeleteFile": 1, "readFile": 2, // the forms
	} {
		got := testing.AllocsPerRun(100, func() {
			n := Parse(name)
			p.Match(&n)
		})
		assert.Equal(t, want, got, "%q", name)
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	f := NewFilter("Delete File", "mcp__*", "read", "x?")
	assert.Equal(t, []string{"Delete File", "read"}, f.Names())
	require.Len(t, f.Patterns(), 2)
	assert.Equal(t, "mcp__*", f.Patterns()[0].String())
	for name, want := range map[string]bool{"delete_file": true, "mcp__a": true, "READ": true, "xy": true, "x": false, "write": false} {
		n := Parse(name)
		assert.Equal(t, want, f.Match(&n), name)
		assert.Equal(t, strings.HasPrefix(name, "mcp") || name == "xy", f.MatchPatterns(&n), name)
	}
}

func FuzzPattern(f *testing.F) {
	for _, c := range [][2]string{
		{"delete_*", "DELETE-ファイル"}, {"*Hub?", "GitHub/x"}, {"_*", "__A"}, {"'*'", "a"}, {"a_?_b", "aXB"},
		{"a＊*", "A＊"}, {"\xc3*\xa9", "é"}, {"İ*", "i\u0307x"}, {"*\u0301", "é"}, {"**a**", "bab"},
		{"A_*_b*_**_c", "a_bb_x_b_c"},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		// The reference is exponential in the stars.
		if len(pattern) > 16 || strings.Count(pattern, "*") > 6 || len(name) > 32 || !IsPattern(pattern) {
			return
		}
		require.Equal(t, naivePattern(pattern, name), Match(pattern, name))
	})
}

// naivePattern is the rule as it is said: each form of the pattern on each form
// of the name.
func naivePattern(pattern, name string) bool {
	forms := [][]string{characters(name)}
	patterns := [][]string{characters(pattern)}
	if naiveGlob(patterns[0], forms[0]) {
		return true
	}
	for _, form := range naiveForms(name) {
		for _, words := range []bool{true, false} {
			p, ok := naiveFoldPattern(pattern, words)
			if !ok {
				continue
			}
			for _, p := range naiveJoin(p) {
				if naiveGlob(p, naiveLiteral(form)) {
					return true
				}
			}
		}
	}
	return false
}

// naiveForms returns the folded forms of a name, without the separators at its
// ends and with them.
func naiveForms(name string) (forms []string) {
	for _, words := range []bool{true, false} {
		if form := naiveFold(name, words); form != "" {
			// A digit neither divides words nor composes with a mark.
			whole := naiveFold("0"+name+"0", words)
			forms = append(forms, form, whole[1:len(whole)-1])
		}
	}
	return forms
}

// naiveFoldPattern folds each literal with a letter put where a wildcard is, so
// that a separator beside it isn't at the end.
func naiveFoldPattern(pattern string, words bool) (out []string, ok bool) {
	var parts []string
	last := 0
	for i := range len(pattern) + 1 {
		if i == len(pattern) || pattern[i] == '*' || pattern[i] == '?' {
			parts = append(parts, pattern[last:i])
			last = i + 1
		}
	}
	at, left, literals := 0, false, false
	for i, part := range parts {
		folded := part
		// A digit neither divides words nor composes with a mark.
		before, behind := "", ""
		if i > 0 {
			before = "0"
		}
		if i+1 < len(parts) {
			behind = "0"
		}
		folded = naiveFold(before+part+behind, words)
		folded = strings.TrimSuffix(strings.TrimPrefix(folded, before), behind)
		if folded == "" && strings.ContainsFunc(naiveText(naiveNFKC(naiveChars(part))), naiveSeparator) {
			return nil, false
		}
		literals = literals || part != ""
		left = left || folded != ""
		out = append(out, naiveLiteral(folded)...)
		at += len(part)
		if at < len(pattern) {
			out = append(out, pattern[at:at+1])
			at++
		}
	}
	return out, left || !literals
}

// naiveJoin returns pattern, and what it is with nothing for some of the stars
// between separators.
func naiveJoin(pattern []string) [][]string {
	all := [][]string{pattern}
	for i := range pattern {
		last := i + 1
		for last < len(pattern) && pattern[last] == "*" {
			last++
		}
		if pattern[i] == "_" && last > i+1 && last < len(pattern) && pattern[last] == "_" {
			all = append(all, naiveJoin(slices.Concat(pattern[:i], pattern[last:]))...)
		}
	}
	return all
}

// naiveLiteral returns the characters of a folded text, in which "*" and "?" are
// no wildcards.
func naiveLiteral(folded string) (list []string) {
	for _, c := range characters(folded) {
		if c == "*" || c == "?" {
			c = "literal " + c
		}
		list = append(list, c)
	}
	return list
}

func BenchmarkPattern(b *testing.B) {
	for _, pattern := range []string{"delete_*", "*delete_file", "mcp__*__delete_*", "*delete*"} {
		p := CompilePattern(pattern)
		for _, name := range []string{"search_documents", "mcp__crm__deleteContact"} {
			b.Run(pattern+" on "+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					n := Parse(name)
					p.Match(&n)
				}
			})
		}
	}
}
