package hooks_test

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecipe_cleanPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, want string // want is "" for a path that is refused
	}{
		{"notes.txt", "notes.txt"},
		{"a/b/../c", "a/c"},
		{`a\b\..\c`, "a/c"},
		{`a/b\c`, "a/b/c"},
		{"./a//b/.", "a/b"},
		{"dir/", "dir"},
		{".", "."},
		{"a/..", "."},
		{"notes..txt", "notes..txt"},
		{"..notes", "..notes"},
		{".env", ".env"},
		{"ação/날씨.txt", "ação/날씨.txt"},
		{"%2e%2e/x", "%2e%2e/x"},

		{"", ""},
		{"..", ""},
		{"../x", ""},
		{`..\x`, ""},
		{"a/../../x", ""},
		{`a\..\..\x`, ""},
		{`a/..\../x`, ""},
		{"./../x", ""},
		{"/etc/passwd", ""},
		{`\Windows`, ""},
		{"//server/share", ""},
		{`\\server\share`, ""},
		{`\\?\C:\x`, ""},
		{`\/x`, ""},
		{"C:/x", ""},
		{`C:\x`, ""},
		{"C:x", ""},
		{"c:", ""},
		{"a/C:/x", ""},
		{"file.txt::$DATA", ""},
		{"a\x00b", ""},
		{"a\nb", ""},
		{"a\xffb", ""},
		{".. /x", ""},
		{".../x", ""},
		{"a/x. ", ""},
		{" /x", ""},
	}
	for _, tt := range tests {
		got, err := cleanPath(tt.path)
		if tt.want == "" {
			assert.Error(t, err, "%q", tt.path)
			assert.Empty(t, got, "%q", tt.path)
			continue
		}
		assert.NoError(t, err, "%q", tt.path)
		assert.Equal(t, tt.want, got, "%q", tt.path)
	}
}

func FuzzRecipe_cleanPath(f *testing.F) {
	for _, p := range []string{"a/b", `a\..\..\b`, "/x", "C:x", "..", "a/./b/", ". /..", "\x00"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		clean, err := cleanPath(p)
		if err != nil {
			assert.Empty(t, clean)
			return
		}
		assert.True(t, filepath.IsLocal(clean), "%q from %q", clean, p)
		assert.True(t, strings.HasPrefix(path.Join("/root", clean)+"/", "/root/"), "%q from %q", clean, p)
		assert.NotContains(t, clean, `\`)
		assert.NotContains(t, clean, ":")
		again, err := cleanPath(clean)
		assert.NoError(t, err, "%q from %q", clean, p)
		assert.Equal(t, clean, again)
	})
}

func TestRecipe_trimHistory(t *testing.T) {
	t.Parallel()
	call := func(content string, ids ...string) hooks.Message {
		m := hooks.Message{Role: "assistant", Content: content}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, hooks.ToolRequest{ID: id, Name: "t", Arguments: "{}"})
		}
		return m
	}
	result := func(id string) hooks.Message {
		return hooks.Message{Role: "tool", ToolCallID: id, Content: "one two"}
	}
	user := hooks.Message{Role: "user", Content: "a question"}
	history := []hooks.Message{
		{Role: "system", Content: "rule"}, user,
		call("", "1"), result("1"), call("thought", "2", "3"), result("2"), result("3"),
		call("answer"), user, call("", "4"), result("4"),
	}
	total := 0
	for _, m := range history {
		total += countTokens(m)
	}
	for budget := -1; budget <= total; budget++ {
		for n := range len(history) + 1 {
			if n < len(history) && isToolResult(history[n]) {
				continue // no model is called between a call and its result
			}
			in := history[:n:n]
			got := trimHistory(in, budget, countTokens)
			cost, open := 0, map[string]bool{}
			for _, m := range got {
				cost += countTokens(m)
				for _, r := range m.ToolCalls {
					open[r.ID] = true
				}
				if m.ToolCallID != "" {
					require.True(t, open[m.ToolCallID], "budget %d of %d messages: result %s without its call", budget, n, m.ToolCallID)
					delete(open, m.ToolCallID)
				}
			}
			require.Empty(t, open, "budget %d of %d messages: calls without a result", budget, n)
			require.Equal(t, in[:min(n, 2)], got[:min(n, 2)], "the head stays")
			if n > 0 {
				require.Equal(t, in[n-1], got[len(got)-1], "the newest stays")
			}
			if newest := trimHistory(in, -1, countTokens); len(got) > len(newest) {
				require.LessOrEqual(t, cost, budget, "%d messages", n)
			}
		}
	}
	require.Equal(t, history, trimHistory(history, total, countTokens))
	require.Less(t, len(trimHistory(history, total-1, countTokens)), len(history))
}

func TestRecipe_visible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":"날씨 <b>"}`:   `{"a":"날씨 <b>"}`,
		"\u202e\x1b\u00a0": `\u202e\u001b\u00a0`,
		"\U000e0041":       `\udb40\udc41`,
	} {
		assert.Equal(t, want, visible(text))
	}
}

func TestRecipe_approvalAnswers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		"yes": true, "Y": true, "sim": true, "네": true, " yes \r\n": true,
		"": false, "n": false, "no": false, "yep": false, "yes please": false, "não": false, "y\x00": false,
	} {
		reg := hooks.NewRegistry()
		hooks.Guard(hooks.PreToolCall, approve, hooks.In(reg))
		ctx := hooks.WithHumanInput(hooks.WithScope(t.Context(), reg), hooks.NewConsole(strings.NewReader(answer+"\n"), t.Output()))
		call := &hooks.ToolCall{Name: "send_email"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		assert.Equal(t, want, call.Ran(), "%q", answer)
	}
}

func TestRecipe_cacheKey(t *testing.T) {
	t.Parallel()
	message := func(m hooks.Message) hooks.ModelCall { return hooks.ModelCall{Messages: []hooks.Message{m}} }
	calls := []hooks.ModelCall{
		{},
		{Model: "m"},
		{Tools: []string{"m"}},
		message(hooks.Message{}),
		message(hooks.Message{Role: "user"}),
		message(hooks.Message{Content: "user"}),
		message(hooks.Message{Name: "user"}),
		message(hooks.Message{ToolCallID: "user"}),
		message(hooks.Message{Parts: []hooks.Part{{Kind: "text", Text: "user"}}}),
		message(hooks.Message{ToolCalls: []hooks.ToolRequest{{Name: "user"}}}),
	}
	seen := make(map[cacheKey]int)
	for i := range calls {
		key, ok := cacheKeyOf(&calls[i])
		require.True(t, ok)
		first, twice := seen[key]
		assert.False(t, twice, "calls %d and %d", first, i)
		seen[key] = i
	}
	image := message(hooks.Message{Parts: []hooks.Part{{Kind: "image", Native: 1}}})
	_, ok := cacheKeyOf(&image)
	assert.False(t, ok)
}

func TestRecipe_cacheKeepsOnlyAnswers(t *testing.T) {
	t.Parallel()
	cache := &answerCache{max: 2, answers: make(map[cacheKey]string)}
	ctx, reg := newRun(t)
	hooks.On(hooks.PreModelCall, cache.look, hooks.In(reg))
	hooks.Watch(hooks.PostModelCall, cache.store, hooks.In(reg))
	asked := 0
	ask := func(model string, requests ...hooks.ToolRequest) string {
		m := &hooks.ModelCall{Model: model}
		err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			asked++
			m.Response, m.ToolCalls = "answer of "+model, requests
			if model == "failing" {
				return context.DeadlineExceeded
			}
			return nil
		})
		if model == "failing" {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		} else {
			require.NoError(t, err)
		}
		return m.Response
	}
	for range 2 {
		ask("failing")
		ask("asking for tools", hooks.ToolRequest{ID: "1", Name: "t"})
	}
	assert.Equal(t, 4, asked)
	assert.Empty(t, cache.answers)

	for range 2 {
		assert.Equal(t, "answer of a", ask("a"))
		assert.Equal(t, "answer of b", ask("b"))
	}
	assert.Equal(t, 6, asked)
	ask("c")
	assert.Len(t, cache.answers, 2)

	clear(cache.answers)
	asked = 0
	hooks.Guard(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("no") }, hooks.In(reg))
	for range 2 {
		m := &hooks.ModelCall{Model: "withheld"}
		err := hooks.RunModel(ctx, m, func(context.Context, *hooks.ModelCall) error {
			asked++
			return nil
		})
		require.ErrorContains(t, err, "no")
	}
	assert.Equal(t, 2, asked)
	assert.Empty(t, cache.answers, "what a guard withholds isn't kept")
}

// A sub-agent spends from the budget of the run that it works for, and other
// runs have their own.
func TestRecipe_costOfSubAgents(t *testing.T) {
	t.Parallel()
	costs := &ledger{prices: map[string]price{"m": {in: 1}}, budget: 2}
	ctx, reg := newRun(t)
	hooks.Guard(hooks.PreModelCall, costs.check, hooks.In(reg))
	hooks.Watch(hooks.PostModelCall, costs.charge, hooks.In(reg))
	call := func(ctx context.Context) error {
		return hooks.RunModel(ctx, &hooks.ModelCall{Model: "m"}, func(_ context.Context, m *hooks.ModelCall) error {
			m.Usage.In = 1
			return nil
		})
	}
	run := func(ctx context.Context, body func(context.Context) error) error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error { return body(ctx) })
	}
	for range 2 {
		var third error
		require.NoError(t, run(ctx, func(ctx context.Context) error {
			err := errors.Join(call(ctx), run(ctx, call))
			third = run(ctx, call)
			return err
		}))
		require.ErrorContains(t, third, "the budget of the run is used up")
	}
	require.ErrorContains(t, call(ctx), "no run")
}
