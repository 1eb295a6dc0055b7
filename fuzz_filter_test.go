package hooks_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// modelMatchesTool is the rule of WithTools, said plainly: the raw names, then
// the normalised ones, then the patterns on both forms. A name of which
// normalising leaves nothing has no second form.
func modelMatchesTool(names []string, tool string) bool {
	normalTool, hasNormal := modelNormal(tool)
	for _, name := range names {
		if strings.ContainsAny(name, "*?") {
			if modelGlob(modelCharacters(name), modelCharacters(tool)) ||
				hasNormal && modelGlob(modelCharacters(name), modelCharacters(normalTool)) {
				return true
			}
			continue
		}
		if name == tool {
			return true
		}
		if normalName, ok := modelNormal(name); ok && hasNormal && normalName == normalTool {
			return true
		}
	}
	return false
}

// modelNormal returns the normalised form of a name, and whether it is one or
// only the hash that stands for the name.
func modelNormal(name string) (string, bool) {
	normal := hooks.SanitizeToolName(name)
	hash := fmt.Sprintf("tool_%x", sha256.Sum256([]byte(name)))[:len("tool_")+8]
	return normal, normal != hash
}

// modelCharacters takes a text apart: into runes, and bytes where it isn't
// valid.
func modelCharacters(s string) []string {
	var list []string
	for s != "" {
		_, size := utf8.DecodeRuneInString(s)
		list, s = append(list, s[:size]), s[size:]
	}
	return list
}

// modelGlob matches by the table of all prefixes of both.
func modelGlob(pattern, name []string) bool {
	reached := make([]bool, len(name)+1) // the prefixes of name that the pattern so far matches
	reached[0] = true
	for _, p := range pattern {
		next := make([]bool, len(name)+1)
		for n := range next {
			switch {
			case p == "*":
				next[n] = reached[n] || n > 0 && next[n-1]
			case n > 0:
				next[n] = reached[n-1] && (p == "?" || p == name[n-1])
			}
		}
		reached = next
	}
	return reached[len(name)]
}

// FuzzToolFilter compares which hooks a dispatch runs with what the plain rule
// says, on every way that a dispatch can take through an index.
func FuzzToolFilter(f *testing.F) {
	f.Add("Delete File", "read_file", "delete_file")
	f.Add("delete_file\nDelete File\ndeleteFile", "delete-file", "DELETE FILE")
	f.Add("mcp__*", "github*\n*delete", "github/delete")
	f.Add("delete_*", "*file\n?elete*", "Delete File")
	f.Add("日本語", "tool_77710aed", "日本語")
	f.Add("tool_77710aed", "日本語\n?*", "tool_77710aed")
	f.Add("", "*", "")
	f.Add("??", "caf?\nCafé", "café")
	f.Add("\xff*\nab\xc3", "?b\xc3", "ab\xc3")
	f.Fuzz(func(t *testing.T, first, second, tool string) {
		if len(first)+len(second)+len(tool) > 4096 {
			return // the plain rule takes its time
		}
		a, b := strings.Split(first, "\n"), strings.Split(second, "\n")
		filters := [][]string{nil, a, b, append(append([]string{}, b...), a...), {tool}, {}}
		for _, way := range []string{"plain", "picky", "observed"} {
			r := hooks.NewRegistry()
			var got, want []int
			for i, filter := range filters {
				opts := []hooks.Option{hooks.In(r)}
				if filter != nil {
					opts = append(opts, hooks.WithTools(filter...))
				}
				if i%2 == 1 {
					opts = append(opts, hooks.AsGuard())
				}
				if way == "picky" {
					opts = append(opts, hooks.WithAgents("nobody's")) // a role filter lets an unset role in
				}
				hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
					got = append(got, i)
					return nil
				}, opts...)
			}
			for _, guards := range []bool{false, true} {
				for i, filter := range filters {
					if guards == (i%2 == 1) && (filter == nil || modelMatchesTool(filter, tool)) {
						want = append(want, i)
					}
				}
			}
			if way == "observed" {
				o := r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
					require.Equal(t, len(want), ev.HookCount)
				})
				defer o.Remove()
			}
			require.NoError(t, hooks.Dispatch(hooks.WithScope(t.Context(), r), hooks.PreToolCall, &hooks.ToolCall{Name: tool}))
			require.Equal(t, want, got, "%s: %q %q, tool %q", way, a, b, tool)
		}
	})
}
