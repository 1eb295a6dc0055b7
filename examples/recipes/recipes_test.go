package recipes_test

// What the examples alone don't show of the functions that they are to be copied
// with.

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// The README has a row for each recipe, and its links lead somewhere.
func TestReadme_rows(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	linked := map[string]bool{"recipes_test.go": true} // this file is none
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(readme), -1) {
		linked[link[1]] = true
		assert.FileExists(t, filepath.FromSlash(link[1]))
	}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, linked[file], "no row for %s", file)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""}, {"", 3, ""}, {"a", 0, "…"}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"날씨는", 2, "날씨…"}, {"ação", 3, "açã…"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, preview(tt.text, tt.n), "%q, %d", tt.text, tt.n)
	}
}

func TestRegistry_ownHooksInParallel(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"one", "other"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			reg := hookstest.Registry(t)
			hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort(reason) }, hooks.In(reg))
			call := &hooks.ToolCall{Name: "t"}
			require.NoError(t, hooks.RunTool(hookstest.Context(t, reg), call, func(context.Context, *hooks.ToolCall) error { return nil }))
			require.NotNil(t, call.Blocked)
			assert.Equal(t, reason, call.Blocked.Reason)
		})
	}
}

func TestClearedHooks_leavesNothingBehind(t *testing.T) {
	t.Run("registers", func(t *testing.T) {
		clearedHooks(t)
		hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return nil })
		assert.Len(t, hooks.Hooks(hooks.PreStep), 1)
	})
	assert.Empty(t, hooks.Hooks(hooks.PreStep))
}
