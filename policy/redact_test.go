package policy_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const redactKey = "sk-proj-abcdefghij0123456789"

func redactKeysAndMail() *redact.Set {
	return redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail())...)
}

// redacting registers p in a registry of its own, in which it runs fn.
func redacting(t *testing.T, p policy.Redact, fn func(ctx context.Context)) {
	t.Helper()
	r := hooks.NewRegistry()
	p.Register(hooks.In(r))
	hookstest.Run(t, r, fn)
}

// sent returns what of the messages the model gets.
func redactSent(t *testing.T, ctx context.Context, messages ...hooks.Message) []hooks.Message {
	t.Helper()
	var got []hooks.Message
	require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{Messages: messages}, func(_ context.Context, m *hooks.ModelCall) error {
		got = slices.Clone(m.Messages)
		return nil
	}))
	return got
}

func redactSentText(t *testing.T, ctx context.Context, text string) string {
	t.Helper()
	return redactSent(t, ctx, hooks.Message{Role: "user", Content: text})[0].Content
}

// runs returns the input that the tool gets.
func redactRuns(t *testing.T, ctx context.Context, tool string, input map[string]any) map[string]any {
	t.Helper()
	var got map[string]any
	call := &hooks.ToolCall{ID: "1", Name: tool, Input: input}
	require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, t *hooks.ToolCall) error {
		got = t.Input
		return nil
	}))
	require.Nil(t, call.Blocked)
	return got
}

func TestRedact_errorTextOfATool(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{}, func(ctx context.Context) {
		call := &hooks.ToolCall{Name: "fetch"}
		failure := errors.New("401 for " + redactKey)
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return failure }))
		assert.Equal(t, "401 for [KEY]", call.Result)
		assert.Same(t, failure, call.Err, "stays for the record")
		assert.True(t, call.ResultEdited())
	})
}

func TestRedact_resultOfABlockedCall(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{}.Register(hooks.In(r))
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("don't use " + redactKey)
	}, hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		assert.Equal(t, "Tool execution blocked by hook. Tool: fetch. Reason: don't use [KEY]", call.Result)
	})
}

func TestRedact_answerOfAHookIsAResult(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{}.Register(hooks.In(r))
	hooks.On(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error {
		t.Answer("cached: " + redactKey)
		return nil
	}, hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		assert.Equal(t, "cached: [KEY]", call.Result)
	})
}

func TestRedact_partsOfAResult(t *testing.T) {
	t.Parallel()
	image := &struct{ pixels int }{3}
	redacting(t, policy.Redact{}, func(ctx context.Context) {
		mine := []hooks.Part{{Kind: "text", Text: "see sk-proj-abcdefghij"}, {Kind: "image", Native: image}, {Kind: "text", Text: "0123456789 and password=hunter2"}}
		call := &hooks.ToolCall{Name: "read"}
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, t *hooks.ToolCall) error {
			t.Parts, t.RawResult = mine, "raw "+redactKey
			return nil
		}))
		assert.Equal(t, "see [KEY]", call.Parts[0].Text, "a match over parts is one mark in the first")
		assert.Same(t, image, call.Parts[1].Native)
		assert.Equal(t, " and password=[KEY]", call.Parts[2].Text)
		assert.Equal(t, "raw "+redactKey, call.RawResult, "stays for the record")
		assert.Equal(t, "see sk-proj-abcdefghij", mine[0].Text, "the tool's own array isn't written")
	})
}

func TestRedact_prompts(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Set: redactKeysAndMail()}, func(ctx context.Context) {
		history := []hooks.Message{
			{Role: "system", Content: "Use password=hunter2 for the database."},
			{Role: "user", Parts: []hooks.Part{{Kind: "text", Text: "I am ana@exam"}, {Kind: "text", Text: "ple.com."}}},
			{Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "log_in", Arguments: `{"password": "hunter2", "n": 1.50}`}}},
			{Role: "tool", ToolCallID: "1", Content: "welcome"},
		}
		got := redactSent(t, ctx, history...)
		assert.Equal(t, "Use password=[KEY] for the database.", got[0].Content)
		assert.Equal(t, "I am [EMAIL]", got[1].Parts[0].Text)
		assert.Equal(t, ".", got[1].Parts[1].Text)
		assert.Equal(t, `{"password": "[KEY]", "n": 1.50}`, got[2].ToolCalls[0].Arguments, "only what was found is written anew")
		assert.Equal(t, "welcome", got[3].Content)
		assert.Equal(t, "I am ana@exam", history[1].Parts[0].Text, "the loop's own history isn't written")
		assert.Equal(t, `{"password": "hunter2", "n": 1.50}`, history[2].ToolCalls[0].Arguments)
	})
}

// Outside of a seam the slices are the framework's.
func TestRedact_bareDispatchDoesNotWriteTheHistory(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{}.Register(hooks.In(r))
	history := []hooks.Message{{Content: redactKey, Parts: []hooks.Part{{Text: redactKey}}, ToolCalls: []hooks.ToolRequest{{Arguments: `{"k":"` + redactKey + `"}`}}}}
	m := &hooks.ModelCall{Messages: history}
	require.NoError(t, hooks.Dispatch(hooks.WithScope(context.Background(), r), hooks.PreModelCall, m))
	assert.Equal(t, "[KEY]", m.Messages[0].Content)
	assert.Equal(t, redactKey, history[0].Content)
	assert.Equal(t, redactKey, history[0].Parts[0].Text)
	assert.Contains(t, history[0].ToolCalls[0].Arguments, redactKey)
}

func TestRedact_editedMessagesAreKnownAsSuch(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{}, func(ctx context.Context) {
		got := redactSent(t, ctx, hooks.NewMessage("native", hooks.Message{Content: redactKey}), hooks.NewMessage("native", hooks.Message{Content: "hello"}))
		assert.True(t, got[0].Edited())
		assert.False(t, got[1].Edited())
	})
}

func TestRedact_answers(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{}, func(ctx context.Context) {
		m := &hooks.ModelCall{}
		require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.Response = "It is " + redactKey + "."
			m.Parts = []hooks.Part{{Kind: "reasoning", Text: "password=hunter2"}}
			m.ToolCalls = []hooks.ToolRequest{{ID: "1", Name: "log_in", Arguments: `{"password":"hunter2"}`}}
			return nil
		}))
		assert.Equal(t, "It is [KEY].", m.Response)
		assert.Equal(t, "password=[KEY]", m.Parts[0].Text)
		assert.Equal(t, `{"password":"hunter2"}`, m.ToolCalls[0].Arguments, "off by default: the tool needs it")
	})
}

func TestRedact_answerOfToolCallsAlone(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Where: policy.Arguments}, func(ctx context.Context) {
		m := &hooks.ModelCall{}
		require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.Response = redactKey
			m.ToolCalls = []hooks.ToolRequest{{ID: "1", Name: "save", Arguments: `{"note":"it's ` + redactKey + `","` + redactKey + `":1}`}}
			return nil
		}))
		assert.Equal(t, redactKey, m.Response, "not among Where")
		assert.Equal(t, `{"note":"it's [KEY]","[KEY]":1}`, m.ToolCalls[0].Arguments)

		got := redactRuns(t, ctx, "save", map[string]any{"note": redactKey, "n": 1})
		assert.Equal(t, map[string]any{"note": "[KEY]", "n": 1}, got)
	})
}

func TestRedact_output(t *testing.T) {
	t.Parallel()
	type answer string
	for _, c := range []struct{ output, want any }{
		{"it is " + redactKey, "it is [KEY]"},
		{answer("it is " + redactKey), answer("it is [KEY]")},
		{[]string{redactKey}, []string{redactKey}}, // structured, and not looked at
		{7, 7},
		{nil, nil},
	} {
		r := hooks.NewRegistry()
		policy.Redact{}.Register(hooks.In(r))
		x := &hooks.Execution{}
		ctx := hooks.WithScope(context.Background(), r)
		require.NoError(t, hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
			assert.False(t, hooks.Guarded(ctx, hooks.Output), "a loop may show its answer")
			x.Output = c.output
			return nil
		}))
		assert.Equal(t, c.want, x.Output)
	}
}

func TestRedact_whereSaysWhichTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		where policy.Place
		want  string // marked: p prompt, a answer, o output, r result, i input
	}{
		{0, "paor"},
		{policy.Prompts, "p"},
		{policy.Answers, "ao"},
		{policy.Results, "r"},
		{policy.Arguments, "i"},
		{policy.Prompts | policy.Arguments, "pi"},
		{policy.Prompts | policy.Answers | policy.Results | policy.Arguments, "paori"},
	} {
		r := hooks.NewRegistry()
		policy.Redact{Where: c.where}.Register(hooks.In(r))
		var got string
		note := func(place, text string) {
			if !strings.Contains(text, redactKey) {
				got += place
			}
		}
		x := &hooks.Execution{}
		require.NoError(t, hooks.RunExecution(hooks.WithScope(context.Background(), r), x, func(ctx context.Context, x *hooks.Execution) error {
			note("p", redactSentText(t, ctx, redactKey))
			m := &hooks.ModelCall{}
			require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
				m.Response = redactKey
				return nil
			}))
			note("a", m.Response)
			x.Output = redactKey
			return nil
		}))
		note("o", x.Output.(string))
		hookstest.Run(t, r, func(ctx context.Context) {
			var input string
			call := &hooks.ToolCall{Name: "echo", Input: map[string]any{"v": redactKey}}
			require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, t *hooks.ToolCall) error {
				input = t.Input["v"].(string)
				t.Result = redactKey
				return nil
			}))
			note("r", call.Result)
			note("i", input)
		})
		assert.Equal(t, c.want, got, "Where %b", c.where)
	}
}

func TestRedact_leavesWhatIsNoSecret(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail(), redact.Cards(), redact.CPF())...)
	redacting(t, policy.Redact{Set: set, Where: policy.Prompts | policy.Arguments}, func(ctx context.Context) {
		for _, text := range []string{
			"", "git clone git@host:x", `{"page_token":"abcdefgh12345678"}`, "order 4111 1111 1111 1112",
			"null", "[]", " {} ", `{"a":[1,-2.5e3,true,null,"ä\u00e4"],"a":{}}`, `{"order":4111111111111112}`,
		} {
			assert.Equal(t, text, redactSentText(t, ctx, text))
			requests := redactSent(t, ctx, hooks.Message{ToolCalls: []hooks.ToolRequest{{Arguments: text}}})[0].ToolCalls
			assert.Equal(t, text, requests[0].Arguments)
		}
		mine := map[string]any{"page_token": "abcdefgh12345678", "n": 7, "list": []any{"x", 1.5}, "f": func() {}}
		delete(mine, "f")
		got := redactRuns(t, ctx, "list", mine)
		assert.Equal(t, mine, got)
	})
}

func TestRedact_argumentsStayJSON(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail(), redact.Cards())...)
	redacting(t, policy.Redact{Set: set}, func(ctx context.Context) {
		for raw, want := range map[string]string{
			`{"to":"ana\u0040example.com"}`:                       `{"to":"[EMAIL]"}`,
			`{"to":["ana@example.com","x","bob@example.com"]}`:    `{"to":["[EMAIL]","x","[EMAIL]"]}`,
			`{"a":{"b":[{"c":"<ana@example.com>"}]}}`:             `{"a":{"b":[{"c":"<[EMAIL]>"}]}}`,
			`"ana@example.com"`:                                   `"[EMAIL]"`,
			`{"card":4111111111111111,"n":12}`:                    `{"card":"[CARD]","n":12}`,
			`{"password":123456}`:                                 `{"password":"[KEY]"}`,
			`{"api_key":"a\"b\\c","x":"api_key"}`:                 `{"api_key":"[KEY]","x":"api_key"}`,
			`{"password":null,"token":""}`:                        `{"password":null,"token":""}`,
			`{"ana@example.com":1,"bob@example.com":2}`:           `{"[EMAIL]":1,"[EMAIL]_2":2}`,
			`{"[EMAIL]":0,"ana@example.com":1,"[EMAIL]_2":2}`:     `{"[EMAIL]":0,"[EMAIL]_2":1,"[EMAIL]_2_2":2}`,
			`{"x":{"ana@example.com":1},"y":{"b@example.org":2}}`: `{"x":{"[EMAIL]":1},"y":{"[EMAIL]":2}}`,
			`{"to":"ana@example.com"`:                             `{"to":"[EMAIL]"`, // cut off, so it is text
			`to=ana@example.com`:                                  `to=[EMAIL]`,
			`{"json":"{\"to\":\"ana@example.com\"}"}`:             `{"json":"{\"to\":\"[EMAIL]\"}"}`,
		} {
			got := redactSent(t, ctx, hooks.Message{ToolCalls: []hooks.ToolRequest{{Arguments: raw}}})[0].ToolCalls[0].Arguments
			assert.Equal(t, want, got, raw)
		}
	})
}

func TestRedact_inputOfGoValues(t *testing.T) {
	t.Parallel()
	type address string
	type letter struct {
		To string `json:"to"`
		N  int    `json:"n"`
	}
	set := redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail(), redact.Cards())...)
	redacting(t, policy.Redact{Set: set, Where: policy.Arguments}, func(ctx context.Context) {
		mine := map[string]any{
			"list":    []string{"ana@example.com", "x"},
			"named":   address("ana@example.com"),
			"letter":  letter{"ana@example.com", 3},
			"pointer": &letter{"x", 3},
			"map":     map[string]string{"bob@example.com": "ana@example.com"},
			"card":    4111111111111111,
			"number":  json.Number("4111111111111111"),
			"float":   4111111111111111.0,
			"deep":    []any{map[string]any{"password": address("hunter2")}},
			"n":       7, "t": true, "z": nil,
		}
		before := fmt.Sprint(mine["list"], mine["deep"])
		got := redactRuns(t, ctx, "send", mine)
		assert.Equal(t, map[string]any{
			"list":    []string{"[EMAIL]", "x"},
			"named":   "[EMAIL]",
			"letter":  map[string]any{"to": "[EMAIL]", "n": 3.0},
			"pointer": mine["pointer"],
			"map":     map[string]any{"[EMAIL]": "[EMAIL]"},
			"card":    "[CARD]", "number": "[CARD]", "float": "[CARD]",
			"deep": []any{map[string]any{"password": "[KEY]"}},
			"n":    7, "t": true, "z": nil,
		}, got)
		assert.Equal(t, before, fmt.Sprint(mine["list"], mine["deep"]), "the framework's own values aren't written")
	})
}

func TestRedact_argumentsThatCannotBeRedactedDoNotRun(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Where: policy.Arguments}, func(ctx context.Context) {
		call := &hooks.ToolCall{Name: "send", Input: map[string]any{"f": func() {}}}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error {
			t.Error("it ran")
			return nil
		}))
		require.NotNil(t, call.Blocked)
		assert.Equal(t, "policy.Redact failed", call.Blocked.Reason)
	})
}

func TestRedact_unreadableArgumentsAreTheSeamsToTell(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Where: policy.Arguments}, func(ctx context.Context) {
		call := &hooks.ToolCall{Name: "send"}
		require.Error(t, call.SetArguments(`{"a":1,"a":2}`))
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		assert.Nil(t, call.Blocked)
		assert.Contains(t, call.Result, "duplicate key")
	})
}

func TestRedact_secretsInAllTheirForms(t *testing.T) {
	t.Parallel()
	const secret = "p<ss\"w0rd&/4+µ"
	redacting(t, policy.Redact{Secrets: []string{secret + "\n", "another-secret"}}, func(ctx context.Context) {
		inJSON, err := json.Marshal(secret)
		require.NoError(t, err)
		twice, err := json.Marshal(string(inJSON))
		require.NoError(t, err)
		for name, form := range map[string]string{
			"raw":        secret,
			"JSON":       strings.Trim(string(inJSON), `"`),
			"JSON twice": strings.TrimSuffix(strings.TrimPrefix(string(twice), `"\"`), `\""`),
			"URL query":  url.QueryEscape(secret),
			"URL path":   url.PathEscape(secret),
			"hex":        hex.EncodeToString([]byte(secret)),
			"upper hex":  strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"the other":  "another-secret",
		} {
			assert.Equal(t, "see [SECRET] there", redactSentText(t, ctx, "see "+form+" there"), name)
		}
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 3 {
				whole := alphabet.EncodeToString([]byte("xyz"[:before] + secret + "tail"))
				got := redactSentText(t, ctx, whole)
				assert.Contains(t, got, "[SECRET]", whole)
				// What is left is the characters that a neighbour has a share in.
				left := regexp.MustCompile(`^(.*?)\[SECRET\](.*?)$`).FindStringSubmatch(got)
				require.NotNil(t, left)
				assert.LessOrEqual(t, len(left[1]), 4)
				assert.LessOrEqual(t, len(left[2]), 8)
			}
		}
	})
}

// A pattern that takes a part of a known value would leave the rest on the screen.
func TestRedact_secretsGoBeforePatterns(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Secrets: []string{"hunter2;hunter3"}}, func(ctx context.Context) {
		assert.Equal(t, "password=[SECRET]", redactSentText(t, ctx, "password=hunter2;hunter3"))
		assert.Equal(t, "password=[SECRET]", redactStreamedText(t, ctx, hooks.ChunkText, "passw", "ord=hun", "ter2;h", "unter3"))
	})
}

func TestRedact_longSecretsHaveSeveralMarks(t *testing.T) {
	t.Parallel()
	var secret strings.Builder
	for i := range 100 {
		fmt.Fprintf(&secret, "line %d \xff世\n", i)
	}
	redacting(t, policy.Redact{Secrets: []string{secret.String()}}, func(ctx context.Context) {
		assert.Regexp(t, `^<(\[SECRET\])+\n>$`, redactSentText(t, ctx, "<"+secret.String()+">"))
		assert.Regexp(t, `^(\[SECRET\]|[0-9A-Za-z+/]{1,4})+={0,2}$`, redactSentText(t, ctx, base64.StdEncoding.EncodeToString([]byte(secret.String()))))
		assert.Regexp(t, `^<(\[SECRET\])+\n>$`, redactStreamedText(t, ctx, hooks.ChunkText, "<", secret.String()[:1000], secret.String()[1000:], ">"))
	})
}

func TestRedact_secretsAlone(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Set: new(redact.Set), Secrets: []string{"hunter2hunter2"}}, func(ctx context.Context) {
		assert.Equal(t, redactKey+" [SECRET]", redactSentText(t, ctx, redactKey+" hunter2hunter2"))
	})
}

func TestRedact_hashes(t *testing.T) {
	t.Parallel()
	p := policy.Redact{Set: redactKeysAndMail(), With: policy.Hash}
	redacting(t, p, func(ctx context.Context) {
		mark := regexp.MustCompile(`^\[EMAIL:[0-9a-f]{8}\]$`)
		ana := redactSentText(t, ctx, "ana@example.com")
		assert.Regexp(t, mark, ana)
		assert.Equal(t, ana+" "+ana, redactSentText(t, ctx, "ana@example.com ana@example.com"))
		assert.NotEqual(t, ana, redactSentText(t, ctx, "bob@example.com"))
		assert.Regexp(t, `^password=\[KEY:[0-9a-f]{8}\]$`, redactSentText(t, ctx, "password=hunter2"))
		again := redactSentText(t, ctx, "password=hunter2 "+ana)
		assert.Equal(t, again, redactSentText(t, ctx, again), "marks aren't found in their turn")
		redacting(t, p, func(other context.Context) {
			assert.Equal(t, ana, redactSentText(t, other, "ana@example.com"), "equal in the whole process")
		})
	})
	require.NoError(t, hooks.Dispatch(context.Background(), hooks.PreModelCall, &hooks.ModelCall{}), "only Token needs an execution")
}

func TestRedact_registerPanics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p    policy.Redact
		opts []hooks.Option
		want string
	}{
		"a short secret":         {p: policy.Redact{Secrets: []string{"long enough", "hunter2"}}, want: "policy: Redact: Secrets[1] has 7 bytes"},
		"an empty secret":        {p: policy.Redact{Secrets: []string{""}}, want: "Secrets[0] is empty"},
		"white space":            {p: policy.Redact{Secrets: []string{"         \n"}}, want: "Secrets[0] is empty"},
		"an unknown form":        {p: policy.Redact{With: 3}, want: "Mask, Hash or Token"},
		"an unknown place":       {p: policy.Redact{Where: 16}, want: "combine Prompts"},
		"Restore without Token":  {p: policy.Redact{Restore: []string{"send"}}, want: "Restore without Token"},
		"an empty tool":          {p: policy.Redact{With: policy.Token, Restore: []string{""}}, want: "empty name"},
		"WithTools":              {opts: []hooks.Option{hooks.WithTools("x")}, want: "WithTools"},
		"a deadline for streams": {opts: []hooks.Option{hooks.WithTimeout(time.Second)}, want: "WithTimeout"},
	} {
		r := hooks.NewRegistry()
		func() {
			defer func() {
				problem := fmt.Sprint(recover())
				assert.Contains(t, problem, c.want, name)
				assert.NotContains(t, problem, "hunter2", name)
			}()
			c.p.Register(append([]hooks.Option{hooks.In(r)}, c.opts...)...)
		}()
		assert.Empty(t, redactHooks(r), "all or nothing: %s", name)
	}
}

// redactHooks returns what is registered where Redact registers.
func redactHooks(r *hooks.Registry) (all []*hooks.Registration) {
	for _, p := range []hooks.AnyPoint{
		hooks.PreModelCall, hooks.PostModelCall, hooks.PreToolCall, hooks.PostToolCall, hooks.Output,
		hooks.ModelStream, hooks.ToolStream,
	} {
		all = append(all, r.Hooks(p)...)
	}
	return all
}

func TestRedact_registration(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	group := policy.Redact{Where: policy.Prompts | policy.Results}.Register(hooks.In(r))
	var got []string
	for _, reg := range redactHooks(r) {
		got = append(got, fmt.Sprint(reg.Point(), " ", reg.Name(), " ", reg.Priority()))
	}
	assert.ElementsMatch(t, []string{
		"pre_model_call policy.Redact -900", "post_tool_call policy.Redact -800",
		"tool_stream policy.Redact -900", "tool_stream policy.Redact -900",
	}, got)
	assert.True(t, group.Remove())
	assert.Empty(t, redactHooks(r))

	policy.Redact{}.Register(hooks.In(r), hooks.WithName("mine"), hooks.WithPriority(5))
	for _, reg := range redactHooks(r) {
		assert.Equal(t, "mine", reg.Name())
		assert.Equal(t, 5, reg.Priority())
	}
}

// A text that can't be redacted isn't used.
func TestRedact_failsClosed(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "boom", Check: func(string) bool { panic("boom") }})
	policy.Redact{Set: set}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		err := hooks.RunModel(ctx, &hooks.ModelCall{Messages: []hooks.Message{{Content: "boom"}}}, func(context.Context, *hooks.ModelCall) error {
			t.Error("the model was called")
			return nil
		})
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "policy.Redact", abort.Source)

		call := &hooks.ToolCall{Name: "read"}
		require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, t *hooks.ToolCall) error {
			t.Result = "boom"
			return nil
		}))
		assert.Equal(t, "Tool result withheld by hook. Tool: read. Reason: policy.Redact failed", call.Result)
	})
}

func TestRedact_parallelRuns(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{Set: redactKeysAndMail(), With: policy.Token}.Register(hooks.In(r))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			hookstest.Run(t, r, func(ctx context.Context) {
				for j := range 5 {
					want := fmt.Sprintf("<EMAIL_%d>", j+1)
					assert.Equal(t, want, redactSentText(t, ctx, fmt.Sprintf("p%d.%d@example.com", i, j)), "numbers of one run aren't those of another")
				}
			})
		})
	}
	group.Wait()
}

// Arguments stay JSON, lose what is looked for, and are what they were without it.
func FuzzRedact_arguments(f *testing.F) {
	for _, seed := range []string{
		`{"to":"ana@example.com","password":"a\"b","card":4111111111111111}`, `[{"ana@example.com":{},"b@example.com":[1]}]`,
		`{"a":1,"a":2}`, `"\ud800"`, `{"[EMAIL]":"","[EMAIL]_2":0,"x@example.com":{"password":-1e9}}`, `{`, "\xff", ` [ ] `,
	} {
		f.Add(seed)
	}
	r := hooks.NewRegistry()
	policy.Redact{Set: redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail(), redact.Cards())...), Where: policy.Prompts}.Register(hooks.In(r))
	ctx := hooks.WithScope(context.Background(), r)
	arguments := func(t *testing.T, raw string) string {
		return redactSent(t, ctx, hooks.Message{ToolCalls: []hooks.ToolRequest{{Arguments: raw}}})[0].ToolCalls[0].Arguments
	}
	f.Fuzz(func(t *testing.T, raw string) {
		clean := arguments(t, raw)
		if !json.Valid([]byte(raw)) {
			assert.Equal(t, redactSentText(t, ctx, raw), clean)
			return
		}
		require.True(t, json.Valid([]byte(clean)), "%q of %q", clean, raw)
		if clean == raw {
			return
		}
		assert.Regexp(t, `\[(KEY|EMAIL|CARD)\]`, clean)
		assert.Equal(t, clean, arguments(t, clean), "what is redacted has nothing more")
		var was, is hooks.ToolCall
		if was.SetArguments(raw) == nil {
			require.NoError(t, is.SetArguments(clean), "%q of %q", clean, raw)
			assert.Len(t, is.Input, len(was.Input), "no argument is lost")
		}
	})
}
