// Document numbers in what a model says piece by piece: what is shown is what is
// shown of the whole text, wherever it is cut.

package policy_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/policy"
)

// say has a model say the pieces. It returns what was shown, and how much of it
// after each piece.
func say(ctx context.Context, t *testing.T, pieces ...string) (shown string, after []int, err error) {
	t.Helper()
	m := &hooks.ModelCall{}
	err = hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error { shown += c.Text; return nil })
		for _, p := range pieces {
			m.Response += p
			if err := out.Push(hooks.Chunk{Text: p}); err != nil {
				return out.End(err)
			}
			after = append(after, len(shown))
		}
		return out.End(nil)
	})
	if err == nil {
		assert.Equal(t, shown, m.Response, "what is shown is what is kept")
	}
	return shown, after, err
}

func TestPieces_everyCut(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	for _, tt := range documentTexts {
		for at := range len(tt.in) + 1 {
			shown, _, err := say(ctx, t, tt.in[:at], tt.in[at:])
			require.NoError(t, err)
			require.Equal(t, tt.want, shown, "%q and %q", tt.in[:at], tt.in[at:])
		}
		shown, _, err := say(ctx, t, strings.Split(tt.in, "")...)
		require.NoError(t, err)
		require.Equal(t, tt.want, shown, "%q, one by one", tt.in)
	}
}

// Texts made of what a number is made of, and cut anywhere.
func TestPieces_asTheWholeText(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	labels := []string{"DNI", "dni", "D.N.I.", "DNIs", "dni's", "travellerDni", "ＤＮＩ", `\u0044NI`, `D\\u004eI`, `\ud835\udc03ni`, "d", "sundni", "天DNI", "Dn"}
	links := []string{" ", ", ", ": ", `":"`, " número ", " es ", " is ", "**", "|", "\n", `\n`, "—", "\u200b", "\u0301", "nu", "numer", "", "", "天", " pesos "}
	digits := []string{"30", ".123", ".456", "30123456", "7", "３０", "28-", " 1", `\u0033`, "1234567", "\u0301", "\xff", " and ", " y ", "an", "e", `\`, `\u`, `\u00`}
	pick := func(random *rand.Rand, parts []string, most int) (text string) {
		for range random.IntN(most + 1) {
			text += parts[random.IntN(len(parts))]
		}
		return text
	}
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 6000 {
		whole := ""
		for range 1 + random.IntN(3) {
			whole += pick(random, links, 1) + pick(random, labels, 1) + pick(random, links, 2) + pick(random, digits, 6)
		}
		var pieces []string
		for rest := whole; rest != ""; {
			n := min(len(rest), 1+random.IntN(6))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		want := policy.HideDocuments(whole)
		if want != whole {
			found++
		}
		shown, _, err := say(ctx, t, pieces...)
		require.NoError(t, err, "%q", pieces)
		require.Equal(t, want, shown, "%q", pieces)
	}
	assert.Greater(t, found, 600)
}

// Nothing is held of what can't be a number, and nothing longer than needed.
func TestPieces_shownAtOnce(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	const text = "Booked: a first class seat, and a dinner, for 41900 pesos. DNI *** is fine. "
	runes := strings.Split(text, "")
	_, after, err := say(ctx, t, runes...)
	require.NoError(t, err)
	held, said := 0, 0
	for i, n := range after {
		said += len(runes[i])
		held += said - n
	}
	assert.Less(t, float64(held)/float64(len(runes)), 1.0, "characters held on average")
	assert.Len(t, text, after[len(after)-1])
	assert.Equal(t, after[len(after)-1], utf8.RuneCountInString(text))
}

// What may be a number to the bound of a stream, and isn't to be shown, ends it.
func TestPieces_longerThanCanBeHeld(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	for _, long := range []string{strings.Repeat(" ", 5000), strings.Repeat("0", 5000)} {
		shown, _, err := say(ctx, t, "You are DNI", long, "30123456")
		var abort *hooks.HookAborted
		require.ErrorAs(t, err, &abort)
		assert.Equal(t, "hide document numbers", abort.Source)
		assert.Equal(t, "You are ", shown)
	}
}

func TestPieces_everyKind(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	shown := map[hooks.ChunkKind]string{}
	require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error { shown[c.Kind] += c.Text; return nil })
		for _, piece := range []string{"DNI 30.1", "23.456", "!"} { // of three runs that come in turns
			for _, kind := range []hooks.ChunkKind{hooks.ChunkText, hooks.ChunkReasoning, hooks.ChunkToolCall} {
				if err := out.Push(hooks.Chunk{Kind: kind, Text: piece}); err != nil {
					return err
				}
			}
		}
		return out.End(nil)
	}))
	assert.Equal(t, map[hooks.ChunkKind]string{hooks.ChunkText: "DNI ***!", hooks.ChunkReasoning: "DNI ***!", hooks.ChunkToolCall: "DNI ***!"}, shown)
}
