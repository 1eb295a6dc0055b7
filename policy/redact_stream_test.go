package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// streamed pushes chunks into the stream of a model call, and returns the call and what was shown.
func redactStreamed(ctx context.Context, chunks ...hooks.Chunk) (m *hooks.ModelCall, shown []hooks.Chunk, err error) {
	m = &hooks.ModelCall{}
	err = hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
			shown = append(shown, c)
			return nil
		})
		for _, c := range chunks {
			if err := out.Push(c); err != nil {
				return out.End(err)
			}
		}
		return out.End(nil)
	})
	return m, shown, err
}

func redactStreamedText(t *testing.T, ctx context.Context, kind hooks.ChunkKind, pieces ...string) string {
	t.Helper()
	var chunks []hooks.Chunk
	for _, p := range pieces {
		chunks = append(chunks, hooks.Chunk{Kind: kind, Text: p})
	}
	_, shown, err := redactStreamed(ctx, chunks...)
	require.NoError(t, err)
	var all strings.Builder
	for _, c := range shown {
		all.WriteString(c.Text)
	}
	return all.String()
}

func TestRedact_streamOfAModel(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{}, func(ctx context.Context) {
		m, shown, err := redactStreamed(ctx, hooks.Chunk{Text: "It is "}, hooks.Chunk{Text: "sk-proj-abcdef"}, hooks.Chunk{Text: "ghij0123456789"}, hooks.Chunk{Text: " now"})
		require.NoError(t, err)
		require.NotEmpty(t, shown)
		assert.Equal(t, "It is ", shown[0].Text, "shown at once")
		assert.Equal(t, "It is [KEY] now", m.Shown())
		assert.Equal(t, "It is [KEY] now", m.Response)

		assert.Equal(t, "password=[KEY]", redactStreamedText(t, ctx, hooks.ChunkReasoning, "pass", "word=", "hunter2"))
		assert.Equal(t, "password=[KEY]", redactStreamedText(t, ctx, "audio_transcript", "pass", "word=", "hunter2"))
		assert.Equal(t, `{"password":"hunter2"}`, redactStreamedText(t, ctx, hooks.ChunkToolCall, `{"password":`, `"hunter2"}`), "arguments aren't among Where")
	})
}

// Of one key in two runs of text each half is shown, but the history has a mark.
func TestRedact_runsOfTextAreSearchedOneByOne(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{}, func(ctx context.Context) {
		m, _, err := redactStreamed(ctx, hooks.Chunk{Index: 0, Text: "sk-proj-abcdefghij"}, hooks.Chunk{Index: 1, Text: "0123456789"})
		require.NoError(t, err)
		assert.Equal(t, "[KEY]", m.Response)
	})
}

func TestRedact_streamedArguments(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{Set: redactKeysAndMail(), Where: policy.Arguments}, func(ctx context.Context) {
		raw := `{"to":"ana\u0040example.com","text":"` + redactKey + `","n":1}`
		want := `{"to":"[EMAIL]","text":"[KEY]","n":1}`
		var bytewise []string
		for i := range raw {
			bytewise = append(bytewise, raw[i:i+1])
		}
		assert.Equal(t, want, redactStreamedText(t, ctx, hooks.ChunkToolCall, bytewise...))
		assert.Equal(t, redactKey, redactStreamedText(t, ctx, hooks.ChunkText, redactKey), "answers aren't among Where")

		long := strings.Repeat("long text ", 200_000)
		assert.Equal(t, `{"a":"`+long+`","to":"[EMAIL]"}`, redactStreamedText(t, ctx, hooks.ChunkToolCall, `{"a":"`+long, `","to":"ana@exam`, `ple.com"}`))

		m := &hooks.ModelCall{}
		var shown strings.Builder
		require.NoError(t, hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
			m.ToolCalls = []hooks.ToolRequest{{ID: "1", Name: "send", Arguments: raw}}
			out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
				shown.WriteString(c.Text)
				return nil
			})
			require.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkToolCall, ID: "1", Name: "send", Text: raw}))
			return out.End(nil)
		}))
		assert.Equal(t, shown.String(), m.ToolCalls[0].Arguments, "what is shown is what runs")
	})
}

func TestRedact_streamOfATool(t *testing.T) {
	t.Parallel()
	redacting(t, policy.Redact{}, func(ctx context.Context) {
		var shown strings.Builder
		call := &hooks.ToolCall{Name: "shell"}
		failure := errors.New("exit status 1")
		require.NoError(t, hooks.RunTool(ctx, call, func(ctx context.Context, t *hooks.ToolCall) error {
			out := hooks.OpenStream(ctx, hooks.ToolStream, t, func(c hooks.Chunk) error {
				shown.WriteString(c.Text)
				return nil
			})
			for _, piece := range []string{"PASS", "WORD=hunt", "er2\nbye"} {
				if _, err := out.Write([]byte(piece)); err != nil {
					return out.End(err)
				}
			}
			return out.End(failure)
		}))
		assert.Equal(t, "PASSWORD=[KEY]\nbye", shown.String())
		assert.Equal(t, shown.String(), call.Result)
		assert.Same(t, failure, call.Err)
	})
}

// A guard that holds the stream gets the redacted text, and so does the screen.
func TestRedact_streamThatWaitsForAGuard(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{}.Register(hooks.In(r))
	hooks.Guard(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		assert.NotContains(t, m.Response, redactKey)
		return nil
	}, hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		assert.Equal(t, "It is [KEY].", redactStreamedText(t, ctx, hooks.ChunkText, "It is ", redactKey, "."))
	})
}

func TestRedact_tokensWithoutExecutionShowNothing(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	policy.Redact{With: policy.Token, Where: policy.Answers | policy.Arguments}.Register(hooks.In(r))
	ctx := hooks.WithScope(context.Background(), r)
	for _, kind := range []hooks.ChunkKind{hooks.ChunkText, hooks.ChunkToolCall} {
		_, shown, err := redactStreamed(ctx, hooks.Chunk{Kind: kind, Text: "hello"})
		require.Error(t, err)
		assert.Empty(t, shown)
	}
}
