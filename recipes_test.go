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

func TestRecipe_redact(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"assignment", "api_key=k1 next", "api_key=[REDACTED] next"},
		{"environment", "export OPENAI_API_KEY=k1", "export OPENAI_API_KEY=[REDACTED]"},
		{"header", "x-api-key: k1", "x-api-key: [REDACTED]"},
		{"camel case", `{"accessToken":"abc","apiKey":"k1"}`, `{"accessToken":"[REDACTED]","apiKey":"[REDACTED]"}`},
		{"JSON", `{"token": "abc", "n": 1}`, `{"token": "[REDACTED]", "n": 1}`},
		{"escapes in JSON", `{"token": "a\"b\\", "n": "1"}`, `{"token": "[REDACTED]", "n": "1"}`},
		{"JSON in JSON", `"{\"token\": \"abc\", \"n\": 1}"`, `"{\"token\": \"[REDACTED]\", \"n\": 1}"`},
		{"JSON cut off", `{"token": "abc`, `{"token": "[REDACTED]`},
		{"single quotes", `{'token': 'a"b', 'n': 1}`, `{'token': '[REDACTED]', 'n': 1}`},
		{"query", "?token=abc12345&page=2", "?token=[REDACTED]&page=2"},
		{"the secret, not its name", "password: hunter", "password: [REDACTED]"},
		{"senha", `senha="abc"`, `senha="[REDACTED]"`},
		{"AWS", "aws_secret_access_key = abc/def+1", "aws_secret_access_key = [REDACTED]"},
		{"bearer", "Authorization: Bearer a.b-c/d==", "Authorization: Bearer [REDACTED]"},
		{"bearer in JSON", `{"Authorization": "Bearer abc"}`, `{"Authorization": "Bearer [REDACTED]"}`},
		{"OpenAI", "use sk-proj-" + strings.Repeat("aB3", 10) + ".", "use [REDACTED]."},
		{"GitHub", "ghp_" + strings.Repeat("aB3", 12), "[REDACTED]"},
		{"JWT", "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln-_", "[REDACTED]"},
		{"e-mail", "<ana.b+c@mail.example.com>, joão@exemplo.com.br", "<[EMAIL]>, [EMAIL]"},
		{"card", "4111111111111111", "[CARD]"},
		{"card with dashes", "4111-1111-1111-1111", "[CARD]"},
		{"card of 15", "3782 822463 10005", "[CARD]"},
		{"card of 13", "4222222222222", "[CARD]"},
		{"card of 19", "6304000000000000000", "[CARD]"},
		{"card among numbers", "2 4111 1111 1111 1111 12 29", "2 [CARD] 12 29"},
		{"card before a particle", "4111111111111111입니다", "[CARD]입니다"},
		{"two cards", "4111111111111111 5555555555554444", "[CARD] [CARD]"},
		{"CPF", "CPF 529.982.247-25.", "CPF [CPF]."},
		{"bare CPF", "52998224725", "[CPF]"},
		{"CPF whose check digit would be 10", "12345600209 123.456.001-10", "[CPF] [CPF]"},
		{"CPF before a particle", "52998224725는", "[CPF]는"},

		{"empty", "", ""},
		{"tokenizer", "tokenizer: fast", ""},
		{"api_keyboard", "api_keyboard=qwerty", ""},
		{"other names", `max_tokens: 4096, token_type: "bearer", api_key_id: "7", primary_key=12345678a`, ""},
		{"page token", `"next_page_token": "abc123def"`, ""},
		{"prose", "A token: the smallest unit. The secret: practice.", ""},
		{"code", "token = lexer.next(); password = prompt(1)", ""},
		{"null", `{"token": null, "password": null}`, ""},
		{"empty secret", `token=""`, ""},
		{"bearer in prose", "The bearer of news; Authorization: required", ""},
		{"short sk", "sk-learn and task-sk-management", ""},
		{"hyphenated words", "sk-learn-based-pipelines-are-long", ""},
		{"mention", "@ana, react@18.2.0, a@b", ""},
		{"git", "git@github.com:loophooks/hooks.git", ""},
		{"fails Luhn", "4111 1111 1111 1112", ""},
		{"too short", "411111111117", ""},
		{"too long", "41111111111111111115", ""},
		{"part of an identifier", "ORD4111111111111111, x_4111111111111111", ""},
		{"decimals", "0.4111111111111111", ""},
		{"time in milliseconds", "1732955000002", ""},
		{"date and time", "2024-11-30 0830 1235", ""},
		{"CPF with wrong digits", "529.982.247-26, 529.982.247-15, 52998224724", ""},
		{"CPF of equal digits", "111.111.111-11", ""},
		{"CPF in a longer number", "152998224725, 1.529.982.247-25, 529982247-25-1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := tt.want
			if want == "" {
				want = tt.text
			}
			assert.Equal(t, want, redact(tt.text))
			assert.Equal(t, want, redact(want), "again")
		})
	}
}

func FuzzRecipe_redactTwice(f *testing.F) {
	for _, s := range []string{
		`{"token": "a\"b", 'api_key': \"x\"}`, "Authorization: Bearer abc", "sk-aaaaaaaaaaaaaaaaaaaaaaaa",
		"a@b.cd@e.fg", "2 4111 1111 1111 1111 12", "529.982.247-25", "password=[REDACTED]x token=token=1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := redact(s)
		assert.Equal(t, once, redact(once))
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

func TestRecipe_redactArguments(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"n":1}`:                     `{"n":1}`,
		`{"to":"ana@example.com"}`:    `{"to":"[EMAIL]"}`,
		`{"card":4111111111111111}`:   `{"all":"[REDACTED]"}`,
		`{"token":"abc","page":"p2"}`: `{"token":"[REDACTED]","page":"p2"}`,
		"":                            "",
	} {
		assert.Equal(t, want, redactArguments(raw))
	}
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
