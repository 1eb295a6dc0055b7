package desk_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/hookstest"
)

// askPerson has a person answer q by a script.
func askPerson(t *testing.T, d hooks.Desk, q *hooks.Question, answer hookstest.Answer) (dec hooks.Decision, decided bool, shown hookstest.Question, err error) {
	t.Helper()
	person := hookstest.NewHuman(t, answer)
	dec, decided, err = d.Ask(hooks.WithHumanInput(t.Context(), person), q)
	require.Len(t, person.Questions(), 1)
	return dec, decided, person.Questions()[0], err
}

func TestHuman_answers(t *testing.T) {
	t.Parallel()
	for answer, verdict := range map[string]hooks.Verdict{
		"y": hooks.Approve, "yes": hooks.Approve, "s": hooks.Approve, "sim": hooks.Approve, "예": hooks.Approve, "네": hooks.Approve,
		"YES": hooks.Approve, "Sim": hooks.Approve, "  y ": hooks.Approve, "\u110b\u1168": hooks.Approve, "\u1102\u1166": hooks.Approve,
		"": hooks.Reject, "n": hooks.Reject, "no": hooks.Reject, "não": hooks.Reject, "아니요": hooks.Reject,
		"yes please": hooks.Reject, "yy": hooks.Reject, "ja": hooks.Reject, "ye": hooks.Reject, "true": hooks.Reject, "1": hooks.Reject,
	} {
		q := question()
		dec, decided, shown, err := askPerson(t, desk.Human(), q, hookstest.Types(answer))
		require.NoError(t, err)
		assert.True(t, decided)
		assert.Equal(t, hooks.Decision{Verdict: verdict, Digest: q.Digest}, dec, "%q", answer)
		assert.Equal(t, `Type "yes" to allow it:`, shown.Message)
	}
	assert.NoError(t, desk.Human().Done(t.Context(), "q"))
}

func TestHumanCode_answers(t *testing.T) {
	t.Parallel()
	code := question().Digest[:4]
	for answer, verdict := range map[string]hooks.Verdict{
		code: hooks.Approve, strings.ToUpper(code): hooks.Approve,
		"yes": hooks.Reject, "": hooks.Reject, code[:3]: hooks.Reject, code + "0": hooks.Reject, question().Digest: hooks.Reject,
	} {
		dec, decided, shown, err := askPerson(t, desk.HumanCode(), question(), hookstest.Types(answer))
		require.NoError(t, err)
		assert.True(t, decided)
		assert.Equal(t, verdict, dec.Verdict, "%q", answer)
		assert.Equal(t, "Type "+code+" to allow it:", shown.Message)
	}
}

func TestHuman_noAnswer(t *testing.T) {
	t.Parallel()
	dec, decided, _, err := askPerson(t, desk.Human(), question(), hookstest.EndOfInput())
	assert.ErrorIs(t, err, io.EOF)
	assert.False(t, decided)
	assert.Empty(t, dec)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, decided, err = desk.Human().Ask(hooks.WithHumanInput(ctx, hookstest.NewHuman(t)), question())
	assert.ErrorIs(t, err, context.Canceled)
	assert.False(t, decided)
}

func TestHuman_expires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := question()
		q.Expires = time.Now().Add(time.Minute)
		dec, decided, _, err := askPerson(t, desk.Human(), q, hookstest.NoAnswer())
		require.NoError(t, err)
		assert.True(t, decided)
		assert.Equal(t, hooks.Decision{Verdict: hooks.Reject, Digest: q.Digest, Reason: desk.ExpiredReason}, dec)
		assert.Equal(t, q.Expires, time.Now())

		q.Expires = time.Now().Add(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, decided, err = desk.Human().Ask(hooks.WithHumanInput(ctx, hookstest.NewHuman(t, hookstest.NoAnswer())), q)
		assert.ErrorIs(t, err, context.DeadlineExceeded, "the run is over, not the time for the question")
		assert.False(t, decided)
	})
}

func TestHuman_cantAsk(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*hooks.Question){
		"no digest":   func(q *hooks.Question) { q.Digest = "" },
		"no approval": func(q *hooks.Question) { q.May = []hooks.Verdict{hooks.Reject, hooks.Edit} },
	} {
		q := question()
		change(q)
		_, decided, err := desk.Human().Ask(hooks.WithHumanInput(t.Context(), hookstest.NewHuman(t)), q)
		assert.Error(t, err, name)
		assert.False(t, decided, name)
	}
	_, _, err := desk.Human().Ask(t.Context(), nil)
	assert.Error(t, err)
}

func TestHuman_shows(t *testing.T) {
	t.Parallel()
	q := question()
	q.Prompt, q.Tool, q.AgentRole, q.Tenant = "Pay\x1b[2J\nthis \u202ebill?", "pay\nnow", "buyer", "acme"
	q.Audience, q.Again = []string{"finance"}, 2
	q.Arguments = "{\"note\":\"a\\nb\u202e\u200b한 天 \\u0007\xff\",\"to\":[\"x\",{\"y\":1e400}]}"
	q.Details = map[string]string{"supplier": "ACME\ntool: \"list\"", "at": "9\t€"}
	_, _, shown, err := askPerson(t, desk.Human(), q, hookstest.Types("no"))
	require.NoError(t, err)
	assert.Equal(t, `Pay\x1b[2J
this \u202ebill?
tool: "pay\nnow"
agent: "buyer"
tenant: "acme"
for: ["finance"]
approved before, without its end being known: 2x
arguments: {
  "note": "a\nb\u202e\u200b한 天 \u0007\xff",
  "to": [
    "x",
    {
      "y": 1e400
    }
  ]
}
"at": 9\t€
"supplier": ACME
    tool: "list"`, shown.Prompt)
}

func TestHuman_showsAllOfIt(t *testing.T) {
	t.Parallel()
	q := question()
	long := strings.Repeat("0123456789", 100_000)
	q.Arguments = `{"text":"` + long + `"}`
	_, _, shown, err := askPerson(t, desk.Human(), q, hookstest.Types("no"))
	require.NoError(t, err)
	_, after, found := strings.Cut(shown.Prompt, long) // the failure of a Contains would print it
	assert.True(t, found && strings.HasPrefix(after, `"`), "nothing is cut")

	q.Arguments = "no JSON\n\x00"
	_, _, shown, err = askPerson(t, desk.Human(), q, hookstest.Types("no"))
	require.NoError(t, err)
	assert.Contains(t, shown.Prompt, `arguments: "no JSON\n\x00"`)
}
