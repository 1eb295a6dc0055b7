package desk

// A person at the terminal as a desk.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loophooks/hooks"
)

// Human returns a desk that asks the HumanInput of ctx, or of the process, or else
// the terminal, and decides at once: y, yes, s, sim, 예 and 네 approve, any other
// line rejects. The person reads the prompt, for whom the question is, what would
// run with all of its arguments, and the details. Characters that a terminal obeys
// or doesn't show are written as Go writes them in quotes (\x1b, \u202e); line
// breaks in a prompt stay.
//
// No answer, as at the end of input, is an error and neither a yes nor a no: the
// call is blocked. A question that expires while it is shown is rejected for
// [ExpiredReason]. Nothing is kept: a call that is run again is asked about again.
// An edit and a memory can't be typed, and whoever sits there decides, whatever the
// Audience.
func Human() hooks.Desk { return person{} }

// HumanCode is [Human], but to approve, the person types four characters that are
// shown, and which differ from call to call. So a yes that was typed ahead, or by
// habit, approves nothing.
func HumanCode() hooks.Desk { return person{code: true} }

type person struct{ code bool }

const codeLength = 4

func (p person) Ask(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
	if q == nil || len(q.Digest) < codeLength {
		return hooks.Decision{}, false, errors.New("desk: Human: the question has no digest; put it with ToolCall.Ask of package hooks, which sets one")
	}
	if !q.Allows(hooks.Approve) {
		return hooks.Decision{}, false, fmt.Errorf("desk: Human: a person can approve or reject, but the question may only have %q", q.May)
	}
	message, yes := `Type "yes" to allow it:`, saysYes
	if p.code {
		code := q.Digest[:codeLength]
		message = fmt.Sprintf("Type %s to allow it:", code)
		yes = func(answer string) bool { return strings.EqualFold(answer, code) }
	}

	limited, cancel := ctx, context.CancelFunc(func() {})
	if !q.Expires.IsZero() {
		limited, cancel = context.WithDeadline(ctx, q.Expires)
	}
	defer cancel()
	answer, err := new(hooks.ToolCall).RequestHumanInput(limited, shown(q), message)
	switch {
	case ctx.Err() == nil && limited.Err() != nil:
		return expired(q)
	case err != nil:
		return hooks.Decision{}, false, fmt.Errorf("desk: nobody answered: %w", err)
	}
	verdict := hooks.Reject
	if yes(strings.TrimSpace(answer)) {
		verdict = hooks.Approve
	}
	return hooks.Decision{Verdict: verdict, Digest: q.Digest}, true, nil
}

// Done has nothing to do: no decision was kept.
func (person) Done(context.Context, string) error { return nil }

// saysYes tells what means yes: y and yes in English, Portuguese and Korean, as
// composed and decomposed characters.
func saysYes(answer string) bool {
	switch strings.ToLower(answer) {
	case "y", "yes", "s", "sim", "예", "네", "\u110b\u1168", "\u1102\u1166":
		return true
	}
	return false
}

// shown is what a person reads about q.
func shown(q *hooks.Question) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "\n%s: %s", name, value) }
	b.WriteString(visible(q.Prompt))
	line("tool", strconv.Quote(q.Tool))
	for _, o := range [...]struct{ name, value string }{{"agent", q.AgentRole}, {"tenant", q.Tenant}} {
		if o.value != "" {
			line(o.name, strconv.Quote(o.value))
		}
	}
	if len(q.Audience) > 0 {
		line("for", fmt.Sprintf("%q", q.Audience))
	}
	if q.Again > 0 {
		line("approved before, without its end being known", strconv.Itoa(q.Again)+"x")
	}
	line("arguments", visible(indented(q.Arguments)))
	for _, key := range slices.Sorted(maps.Keys(q.Details)) {
		// Further lines are set off, so that none looks like another detail.
		line(strconv.Quote(key), strings.ReplaceAll(visible(q.Details[key]), "\n", "\n    "))
	}
	return b.String()
}

// indented breaks JSON into lines: those within its texts stay escapes.
func indented(raw string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(raw), "", "  ") != nil {
		return strconv.Quote(raw)
	}
	return b.String()
}

// visible writes what can't be seen as Go does in quotes, but for line breaks.
func visible(s string) string {
	var b strings.Builder
	for i, width := 0, 0; i < len(s); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
