package redact_test

import (
	"context"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shown streams the pieces of an answer under a filter, and returns what is
// shown and what the answer is then.
func shown(t *testing.T, open hooks.StreamFunc[hooks.ModelCall], cuts []string, opts ...hooks.Option) (screen, response string) {
	t.Helper()
	reg := hooks.NewRegistry()
	hooks.OnStream(hooks.ModelStream, open, append(opts, hooks.In(reg), hooks.WithFailClosed())...)
	var b strings.Builder
	m := &hooks.ModelCall{}
	err := hooks.RunModel(hooks.WithScope(t.Context(), reg), m, func(ctx context.Context, m *hooks.ModelCall) error {
		stream := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
			b.WriteString(c.Text)
			return nil
		})
		for _, piece := range cuts {
			if _, err := stream.Write([]byte(piece)); err != nil {
				return err
			}
		}
		return stream.End(nil)
	})
	require.NoError(t, err)
	return b.String(), m.Response
}

func TestStream_showsWhatReplaceMakes(t *testing.T) {
	t.Parallel()
	text := `{"password": "hunter2", "to": "joão@exemplo.com.br"} Card: 4111 1111 1111 1111, é世界` + "\xff sk-" + strings.Repeat("x", 30)
	want := everything.Replace(text, label)
	for _, cuts := range [][]string{{text}, cutEvery(1, text), strings.SplitAfter(text, " "), {text[:30], "", text[30:]}} {
		screen, response := shown(t, redact.Stream[hooks.ModelCall](everything, label), cuts)
		assert.Equal(t, want, screen)
		assert.Equal(t, want, response)
	}
}

func TestStream_longSecretHasOneMark(t *testing.T) {
	t.Parallel()
	block := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("aB3/", 16)+"\n", 100) + "-----END PRIVATE KEY-----"
	screen, _ := shown(t, redact.Stream[hooks.ModelCall](everything, label), cutEvery(1, "a "+block+" b"), hooks.WithMaxHold(64))
	assert.Equal(t, "a [KEY] b", screen)
}

// A piece that is larger than what may be held isn't itself held.
func TestStream_largePieceIsNoMatch(t *testing.T) {
	t.Parallel()
	text := prose[:9_999] + " ana@"
	screen, _ := shown(t, redact.Stream[hooks.ModelCall](everything, label), []string{text, "example", ".com ok"}, hooks.WithMaxHold(64))
	assert.Equal(t, prose[:9_999]+" [EMAIL] ok", screen)
}

func TestStream_eachRunOfTextIsItsOwn(t *testing.T) {
	t.Parallel()
	open := redact.Stream[hooks.ModelCall](redact.MustCompile(redact.Pattern{Name: "X", Expr: "^ab"}), label)
	for range 2 {
		screen, _ := shown(t, open, []string{"a", "bab"})
		assert.Equal(t, "[X]ab", screen)
	}
	assert.Nil(t, open(t.Context(), &hooks.ModelCall{}, hooks.ChunkOther))
	assert.NotNil(t, open(t.Context(), &hooks.ModelCall{}, hooks.ChunkToolCall))
}

func TestStream_refusesNothingToDo(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { redact.Stream[hooks.ModelCall](nil, label) })
	assert.Panics(t, func() { redact.Stream[hooks.ModelCall](everything, nil) })
}
