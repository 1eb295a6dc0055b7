package hooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/loophooks/hooks"
)

// redact replaces what must not be read on by a model or shown to a user: API
// keys, tokens and passwords, e-mail addresses, card numbers and Brazilian
// CPFs. What only looks like one stays: a redacted order number or page token
// breaks the work. So do the quotes around a secret: a replacement that takes
// one of them along breaks the JSON. Redacting again changes nothing.
func redact(text string) string {
	text = stamp(text, secretValues(text), redacted)
	text = stamp(text, knownSecrets.FindAllStringIndex(text, -1), redacted)
	text = stamp(text, emailAddresses(text), "[EMAIL]")
	text = stamp(text, cardNumbers(text), "[CARD]")
	return stamp(text, cpfNumbers(text), "[CPF]")
}

const redacted = "[REDACTED]"

// stamp puts mark over each span of text; the spans are in order and don't
// overlap.
func stamp(text string, spans [][]int, mark string) string {
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for _, span := range spans {
		b.WriteString(text[done:span[0]])
		b.WriteString(mark)
		done = span[1]
	}
	b.WriteString(text[done:])
	return b.String()
}

// Go's regular expressions can't look around, but take linear time on whatever
// a tool returns. \\* is for JSON inside of JSON.
var (
	// secretNames are whole names, up to the value: api_keyboard, tokenizer
	// and max_tokens are others.
	secretNames = regexp.MustCompile(`(?i)\b(` +
		`(?:[a-z0-9]+[_-])*(?:(?:api|access|secret|private)[_-]?key|` +
		`(?:api|access|refresh|auth|session|id)?[_-]?token|(?:client)?[_-]?secret|passwd|password|senha)` +
		`)\\*["']?\s*[:=]\s*|` +
		`\bauthorization\\*["']?\s*[:=]\s*\\*["']?(?:basic|bearer|token)\s+`)

	knownSecrets = regexp.MustCompile(`\b(?:` +
		`sk-(?:\w+-){0,4}\w{20,}[\w-]*|` + // OpenAI, Anthropic
		`[rs]k_(?:live|test)_\w{16,}|` + // Stripe
		`gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|` +
		`xox[abeprs]-[\w-]{10,}|` + // Slack
		`(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|` + // AWS, Google
		`eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+)`) // a JSON web token

	email      = regexp.MustCompile(`[\p{L}\p{N}._%+-]+@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}`)
	digitRuns  = regexp.MustCompile(`[0-9]+(?:[ -][0-9]+)*`)
	cpfLike    = regexp.MustCompile(`[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9]{9}-?[0-9]{2}`)
	openQuote  = regexp.MustCompile(`^\\*["']`)
	endOfValue = regexp.MustCompile(`[\s"'\\,;&<>)}\]]|$`)
)

// secretValues finds what stands behind the name of a secret.
func secretValues(text string) [][]int {
	var spans [][]int
	done := 0
	for _, m := range secretNames.FindAllStringSubmatchIndex(text, -1) {
		if m[0] < done {
			continue // inside the value before
		}
		name := "" // for Authorization
		if m[2] >= 0 {
			name = strings.ToLower(text[m[2]:m[3]])
		}
		start, end := m[1], 0
		if quote := openQuote.FindString(text[start:]); quote != "" {
			start += len(quote)
			end = start + quotedLen(text[start:], quote)
		} else {
			end = start + endOfValue.FindStringIndex(text[start:])[0]
			if !bareSecret(name, text[start:end]) {
				continue
			}
		}
		done = end
		if start < end && !strings.Contains(name, "page") { // a next_page_token opens nothing
			spans = append(spans, []int{start, end})
		}
	}
	return spans
}

// quotedLen returns how far it is to the quote that closes one opened by
// quote, backslashes included, or to the end of the line where the text was
// cut off.
func quotedLen(text, quote string) int {
	slashes := 0
	for i := range len(text) {
		switch text[i] {
		case '\\':
			slashes++
			continue
		case '\n':
			return i
		case quote[len(quote)-1]:
			if escapes := len(quote) - 1; slashes == escapes || escapes == 0 && slashes%2 == 0 {
				return i - escapes
			}
		}
		slashes = 0
	}
	return len(text)
}

// bareSecret tells values without quotes from the null of JSON, from code
// (token = next()) and from prose (the secret: practice).
func bareSecret(name, value string) bool {
	switch {
	case value == "null", value == "true", value == "false", strings.Contains(value, "("), strings.HasPrefix(redacted, value):
		return false
	case strings.HasSuffix(name, "token"), strings.HasSuffix(name, "secret"):
		return len(value) >= 20 || len(value) >= 8 && strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, unicode.IsLetter)
	}
	return true
}

func emailAddresses(text string) [][]int {
	spans := email.FindAllStringIndex(text, -1)
	kept := spans[:0]
	for _, s := range spans {
		if !strings.HasPrefix(text[s[0]:], "git@") { // git@github.com:owner/name is no person
			kept = append(kept, s)
		}
	}
	return kept
}

// cardNumbers finds the groups of digits that make a card number. The number
// may have others beside it: "2 x 4111 1111 1111 1111 12/29".
func cardNumbers(text string) [][]int {
	var spans [][]int
	for _, run := range digitRuns.FindAllStringIndex(text, -1) {
		for at := run[0]; at < run[1]; {
			if end := cardEnd(text, at, run[1]); end > 0 {
				spans = append(spans, []int{at, end})
				at = end
			} else {
				for at < run[1] && isDigit(text[at]) {
					at++
				}
			}
			at++ // the separator
		}
	}
	return spans
}

// cardEnd returns the end of the longest card number that begins at and ends
// before limit, 0 if there is none.
func cardEnd(text string, at, limit int) (end int) {
	digits := 0
	for i := at; i <= limit && digits <= 19; i++ {
		if i < limit && isDigit(text[i]) {
			digits++
		} else if digits >= 13 && standsAlone(text, at, i, ".") && isCard(text[at:i]) {
			end = i
		}
	}
	return end
}

// isCard reports whether the digits of s are a card number: those of the
// issuers begin with 3 to 6 or 2221 to 2720, which rules most dates and times
// out, and pass the Luhn check.
func isCard(s string) bool {
	s = digitsOf(s)
	if len(s) < 13 || len(s) > 19 || s[0] < '2' || s[0] > '6' || s[0] == '2' && (s < "2221" || s >= "2721") {
		return false
	}
	return luhn(s)
}

func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
			if d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

func cpfNumbers(text string) [][]int {
	var spans [][]int
	for _, s := range cpfLike.FindAllStringIndex(text, -1) {
		if standsAlone(text, s[0], s[1], ".-") && validCPF(digitsOf(text[s[0]:s[1]])) {
			spans = append(spans, s)
		}
	}
	return spans
}

// validCPF checks the two check digits of eleven digits. Those of eleven equal
// digits are right, but no such CPF is given out.
func validCPF(digits string) bool {
	if strings.Count(digits, digits[:1]) == len(digits) {
		return false
	}
	for n := 9; n <= 10; n++ {
		sum := 0
		for i := range n {
			sum += int(digits[i]-'0') * (n + 1 - i)
		}
		if sum*10%11%10 != int(digits[n]-'0') {
			return false
		}
	}
	return true
}

// standsAlone reports whether text[i:j] is no part of an identifier or, by one
// of the joints, of a longer number. Letters of other scripts may touch it: a
// Korean particle follows a number without a space.
func standsAlone(text string, i, j int, joints string) bool {
	before, after := text[:i], text[j:]
	if before != "" && isWord(before[len(before)-1]) || after != "" && isWord(after[0]) {
		return false
	}
	joinedBefore := len(before) > 1 && strings.IndexByte(joints, before[len(before)-1]) >= 0 && isDigit(before[len(before)-2])
	joinedAfter := len(after) > 1 && strings.IndexByte(joints, after[0]) >= 0 && isDigit(after[1])
	return !joinedBefore && !joinedAfter
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// redactArguments is redact for the arguments of a tool call, which stay JSON: a
// card number need not stand in quotes.
func redactArguments(raw string) string {
	clean := redact(raw)
	if clean != raw && !json.Valid([]byte(clean)) {
		return `{"all":"` + redacted + `"}`
	}
	return clean
}

// Results of tools, the messages for the model and its answers are redacted by
// the same function. The arguments of earlier calls are in the messages too; in
// an answer they are what the tool needs, and stay. The hooks are fail-closed:
// one that panics must not let the original out. Their priority makes them the
// last of their registry, after all that add something to the text.
func Example_redaction() {
	reg := hooks.NewRegistry()
	last := []hooks.Option{hooks.In(reg), hooks.WithName("redaction"), hooks.WithFailClosed(), hooks.WithPriority(-100)}
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(redact) // parts that aren't text stay, with the rest of them
		return nil
	}, last...)
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.EditText(redact) // of all messages; the loop keeps its own
		for i := range m.Messages {
			for j := range m.Messages[i].ToolCalls {
				request := &m.Messages[i].ToolCalls[j]
				request.Arguments = redactArguments(request.Arguments)
			}
		}
		return nil
	}, last...)
	hooks.On(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.EditResponse(redact) // with its parts, such as reasoning
		return nil
	}, last...)

	ctx := hooks.WithScope(context.Background(), reg)
	call := &hooks.ToolCall{Name: "read_file"}
	err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = `{"api_key": "k-93\"1", "tokenizer": "fast", "next_page_token": "p2"}
Authorization: Bearer abc.def-123
order 4111 1111 1111 1112, card 4111 1111 1111 1111, owner ana@example.com`
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(call.Result)

	m := &hooks.ModelCall{Messages: []hooks.Message{
		{Role: "user", Content: "I am ana@example.com."},
		{Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "log_in", Arguments: `{"password":"hunter2"}`}}},
		{Role: "tool", ToolCallID: "1", Content: call.Result},
	}}
	err = hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		fmt.Println(m.Messages[0].Content, m.Messages[1].ToolCalls[0].Arguments)
		m.Response = "CPF 529.982.247-25 is registered, 529.982.247-26 is not. Use api_keyboard=qwerty."
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(m.Response)
	// Output:
	// {"api_key": "[REDACTED]", "tokenizer": "fast", "next_page_token": "p2"}
	// Authorization: Bearer [REDACTED]
	// order 4111 1111 1111 1112, card [CARD], owner [EMAIL]
	// I am [EMAIL]. {"password":"[REDACTED]"}
	// CPF [CPF] is registered, 529.982.247-26 is not. Use api_keyboard=qwerty.
}
