package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRedact_tokensAreGivenAndPutBack(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Set: redactKeysAndMail(), With: policy.Token}, func(ctx context.Context) {
		assert.Equal(t, "write to <EMAIL_1>", redactSentText(t, ctx, "write to ana@example.com"))
		assert.Equal(t, map[string]any{"to": "ana@example.com", "cc": "<EMAIL_2>"},
			redactRuns(t, ctx, "send_email", map[string]any{"to": "<EMAIL_1>", "cc": "<EMAIL_2>"}), "the model made the second up")

		call := &hooks.ToolCall{Name: "find"}
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, t *hooks.ToolCall) error {
			t.Result = "ana@example.com, bob@example.com, password=hunter2"
			return nil
		}))
		assert.Equal(t, "<EMAIL_1>, <EMAIL_2>, password=<KEY_1>", call.Result, "equal values have equal tokens")
		assert.Equal(t, "<EMAIL_2> and <EMAIL_1>", redactStreamedText(t, ctx, hooks.ChunkText, "bob@exam", "ple.com and ana@example.com"))
		assert.Equal(t, "<EMAIL_1> <EMAIL_2>", redactSentText(t, ctx, "<EMAIL_1> <EMAIL_2>"), "tokens stay")
	})
}

func TestRedact_tokensAnywhereInArguments(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Set: redactKeysAndMail(), With: policy.Token}, func(ctx context.Context) {
		var all []string
		for name := range strings.SplitSeq("abcdefghijk", "") {
			all = append(all, name+"@example.com")
		}
		redactSentText(t, ctx, strings.Join(all, " "))
		mine := map[string]any{
			"to":        []any{"<EMAIL_1>", "<EMAIL_11>, <EMAIL_1>", 7},
			"list":      []string{"<EMAIL_2>"},
			"text":      "<<EMAIL_3>> <EMAIL_3 <EMAIL_12> <email_3> a<EMAIL_3>b",
			"<EMAIL_4>": map[string]any{"x": "<EMAIL_5>"},
			"n":         4111111111111111,
			"f":         error(nil),
		}
		assert.Equal(t, map[string]any{
			"to":            []any{"a@example.com", "k@example.com, a@example.com", 7},
			"list":          []string{"b@example.com"},
			"text":          "<c@example.com> <EMAIL_3 <EMAIL_12> <email_3> ac@example.comb",
			"d@example.com": map[string]any{"x": "e@example.com"},
			"n":             4111111111111111,
			"f":             nil,
		}, redactRuns(t, ctx, "send", mine))
		assert.Equal(t, "<EMAIL_1>", mine["to"].([]any)[0], "the framework's own map isn't written")

		call := &hooks.ToolCall{Name: "send"}
		require.NoError(t, call.SetArguments(`{"to":"\u003cEMAIL_1\u003e"}`))
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
			assert.Equal(t, "a@example.com", c.Input["to"])
			return nil
		}))

		odd := map[string]any{"f": func() {}, "to": "<EMAIL_1>"}
		assert.Equal(t, "a@example.com", redactRuns(t, ctx, "send", odd)["to"], "what JSON can't hold has no tokens")
	})
}

func TestRedact_restoreNamesTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restore []string
		where   policy.Place
		tool    string
		want    string
	}{
		{nil, 0, "anything", "ana@example.com"},
		{[]string{}, 0, "anything", "<EMAIL_1>"},
		{[]string{"send_*"}, 0, "sendEmail", "ana@example.com"},
		{[]string{"send_email"}, 0, "Send Email", "ana@example.com"},
		{[]string{"send_email"}, 0, "post_to_forum", "<EMAIL_1>"},
		{[]string{"send_email"}, policy.Prompts | policy.Arguments, "post_to_forum", "<EMAIL_1>"},
		{[]string{"send_email"}, policy.Prompts | policy.Arguments, "send_email", "ana@example.com"},
	} {
		redacting(t, policy.Redact{Set: redactKeysAndMail(), With: policy.Token, Restore: c.restore, Where: c.where}, func(ctx context.Context) {
			redactSentText(t, ctx, "ana@example.com")
			assert.Equal(t, c.want, redactRuns(t, ctx, c.tool, map[string]any{"to": "<EMAIL_1>"})["to"], "%+v", c)
			if c.where != 0 && c.want != "ana@example.com" {
				assert.Equal(t, c.want, redactRuns(t, ctx, c.tool, map[string]any{"to": "ana@example.com"})["to"])
			}
		})
	}
}

// Guards decide on what will run, and so they see the values.
func TestRedact_guardsSeeTheValues(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{Set: redactKeysAndMail(), With: policy.Token}.Register(hooks.In(r))
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if to, err := c.StringArg("to"); err != nil || !strings.HasSuffix(to, "@example.com") {
			return hooks.Abort("only addresses of ours")
		}
		return nil
	}, hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		redactSentText(t, ctx, "ana@example.com mal@evil.test")
		redactRuns(t, ctx, "send", map[string]any{"to": "<EMAIL_1>"})
		call := &hooks.ToolCall{Name: "send", Input: map[string]any{"to": "<EMAIL_2>"}}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		assert.NotNil(t, call.Blocked)
	})
}

func TestRedact_tokensAreOfTheOutermostRun(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{Set: redactKeysAndMail(), With: policy.Token}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		redactSentText(t, ctx, "ana@example.com")
		require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			assert.Equal(t, "<EMAIL_2> <EMAIL_1>", redactSentText(t, ctx, "bob@example.com ana@example.com"))
			return nil
		}))
		assert.Equal(t, "bob@example.com", redactRuns(t, ctx, "send", map[string]any{"to": "<EMAIL_2>"})["to"])
	})
	hookstest.Run(t, r, func(ctx context.Context) {
		assert.Equal(t, "<EMAIL_1>", redactRuns(t, ctx, "send", map[string]any{"to": "<EMAIL_1>"})["to"], "this run has given out none")
	})
}

// A history from an earlier process has tokens that this one doesn't know. The model
// must not take one of them for another value.
func TestRedact_numbersInUseAreNotGivenOut(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Set: redactKeysAndMail(), With: policy.Token}, func(ctx context.Context) {
		got := redactSent(t, ctx,
			hooks.Message{Role: "user", Content: "bob@example.com"},
			hooks.Message{Role: "assistant", Content: "I wrote to <EMAIL_1>.", ToolCalls: []hooks.ToolRequest{{Arguments: `{"to":"<EMAIL_2>"}`}}},
		)
		assert.Equal(t, "<EMAIL_3>", got[0].Content)
		assert.Equal(t, map[string]any{"a": "<EMAIL_1>", "b": "<EMAIL_2>", "c": "bob@example.com"},
			redactRuns(t, ctx, "send", map[string]any{"a": "<EMAIL_1>", "b": "<EMAIL_2>", "c": "<EMAIL_3>"}))
	})
}

func TestRedact_tokensOfEscapedText(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{With: policy.Token}, func(ctx context.Context) {
		got := redactSent(t, ctx, hooks.Message{ToolCalls: []hooks.ToolRequest{{Arguments: `{"password":"a\"b\\c"}`}}})[0].ToolCalls[0].Arguments
		assert.Equal(t, `{"password":"<KEY_1>"}`, got)
		assert.Equal(t, `a"b\c`, redactRuns(t, ctx, "log_in", map[string]any{"password": "<KEY_1>"})["password"])
	})
}

// Half a value is worse than none.
func TestRedact_noTokenForWhatIsCut(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Set: redact.MustCompile(redact.Pattern{Name: "LONG", Expr: `x+`}), With: policy.Token}, func(ctx context.Context) {
		assert.Equal(t, "a [LONG] b", redactSentText(t, ctx, "a "+strings.Repeat("x", 10_000)+" b"))
		assert.Equal(t, "a <LONG_1> b", redactSentText(t, ctx, "a "+strings.Repeat("x", 3_000)+" b"))
	})
}

func TestRedact_tokensInWhatAnotherPatternFinds(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Pattern{Name: "LINE", Expr: `line: [^\n]+`})
	redacting(t, policy.Redact{Set: set, Secrets: []string{"hunter2hunter2"}, With: policy.Token}, func(ctx context.Context) {
		assert.Equal(t, "<LINE_1>", redactSentText(t, ctx, "line: hunter2hunter2!"))
		assert.Equal(t, "line: hunter2hunter2!", redactRuns(t, ctx, "send", map[string]any{"x": "<LINE_1>"})["x"])
	})
}

func TestRedact_twoRegistrationsHaveTokensOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{Set: redact.MustCompile(redact.Pattern{Name: "X", Expr: "alpha"}), With: policy.Token}.Register(hooks.In(r))
	policy.Redact{Set: redact.MustCompile(redact.Pattern{Name: "X", Expr: "beta"}), With: policy.Token}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		assert.Equal(t, "<X_1> <X_2>", redactSentText(t, ctx, "alpha beta"), "the second one sees the tokens of the first")
		assert.Equal(t, "alpha beta", redactRuns(t, ctx, "send", map[string]any{"v": "<X_1> <X_2>"})["v"])
	})
}

func TestRedact_tokensNeedAnExecution(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{With: policy.Token}.Register(hooks.In(r))
	ctx := hooks.WithScope(context.Background(), r)
	err := hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error {
		t.Error("the model was called")
		return nil
	})
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(t, ok)
	require.Error(t, abort.Err)
	assert.Contains(t, abort.Err.Error(), "policy: Redact needs hooks.RunExecution around the call")

	call := &hooks.ToolCall{Name: "send"}
	require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error {
		t.Error("it ran")
		return nil
	}))
	assert.NotNil(t, call.Blocked)
}

// A token that the model has made up is nobody's later, wherever it stands.
func TestRedact_tokensThatWereMadeUpAreNotGivenOut(t *testing.T) {
	t.Parallel()
	const address = "ana@example.com"
	everywhere := policy.Prompts | policy.Answers | policy.Results | policy.Arguments
	answered := func(t *testing.T, ctx context.Context, text string, arguments ...string) *hooks.ModelCall {
		m := &hooks.ModelCall{}
		require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.Response = text
			for _, a := range arguments {
				m.ToolCalls = append(m.ToolCalls, hooks.ToolRequest{Name: "send", Arguments: a})
			}
			return nil
		}))
		return m
	}
	for name, tt := range map[string]struct {
		where  policy.Place
		madeUp func(t *testing.T, ctx context.Context)
	}{
		"in the pieces of a stream": {0, func(t *testing.T, ctx context.Context) {
			assert.Equal(t, "<EMAIL_1> is <EMAIL_2>.", redactStreamedText(t, ctx, hooks.ChunkText, "<EM", "AIL_1", "> is ana@exam", "ple.com."))
		}},
		"in the stream of a tool": {policy.Results, func(t *testing.T, ctx context.Context) {
			call := &hooks.ToolCall{Name: "find"}
			require.NoError(t, hooks.RunTool(ctx, call, func(ctx context.Context, c *hooks.ToolCall) error {
				out := hooks.OpenStream(ctx, hooks.ToolStream, c, func(hooks.Chunk) error { return nil })
				return out.End(out.Push(hooks.Chunk{Text: "<EMAIL_1> " + address}))
			}))
			assert.Equal(t, "<EMAIL_1> <EMAIL_2>", call.Result)
		}},
		"in streamed arguments": {everywhere, func(t *testing.T, ctx context.Context) {
			assert.Equal(t, `{"a":"<EMAIL_2>","b":"\u003cEMAIL_1\u003e"}`,
				redactStreamedText(t, ctx, hooks.ChunkToolCall, `{"a":"ana@example.com","b":"\u003cEMAIL`, `_1\u003e"}`))
		}},
		"in the arguments beside an answer": {0, func(t *testing.T, ctx context.Context) {
			assert.Equal(t, "to <EMAIL_2>", answered(t, ctx, "to "+address, `{"to":"<EMAIL_1>"}`).Response)
		}},
		"in escapes of JSON, behind the address": {everywhere, func(t *testing.T, ctx context.Context) {
			m := answered(t, ctx, "", `{"a":"ana@example.com"}`, `{"b":"\u003cEMAIL_1\u003e"}`)
			assert.Equal(t, `{"a":"<EMAIL_2>"}`, m.ToolCalls[0].Arguments)
		}},
		"in escapes of JSON in the history": {policy.Prompts, func(t *testing.T, ctx context.Context) {
			sent := redactSent(t, ctx, hooks.Message{Role: "user", Content: address},
				hooks.Message{Role: "assistant", ToolCalls: []hooks.ToolRequest{{Arguments: `{"to":"\u003cEMAIL_1\u003e"}`}}})
			assert.Equal(t, "<EMAIL_2>", sent[0].Content)
		}},
		"in an answer that isn't redacted": {policy.Prompts | policy.Results, func(t *testing.T, ctx context.Context) {
			answered(t, ctx, "", `{"to":"<EMAIL_1>"}`)
			call := &hooks.ToolCall{Name: "find"}
			require.NoError(t, hooks.RunTool(ctx, call, limitBody(address)))
			assert.Equal(t, "<EMAIL_2>", call.Result)
		}},
		"in the input of a call": {everywhere, func(t *testing.T, ctx context.Context) {
			assert.Equal(t, map[string]any{"a": "<EMAIL_2>", "b": []string{"<EMAIL_1>"}},
				redactRuns(t, ctx, "find", map[string]any{"a": address, "b": []string{"<EMAIL_1>"}}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redacting(t, policy.Redact{Set: redactKeysAndMail(), With: policy.Token, Where: tt.where, Restore: []string{"send"}}, func(ctx context.Context) {
				tt.madeUp(t, ctx)
				assert.Equal(t, "<EMAIL_1>", redactRuns(t, ctx, "send", map[string]any{"to": "<EMAIL_1>"})["to"])
			})
		})
	}
}
