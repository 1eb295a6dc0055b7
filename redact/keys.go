package redact

// Secrets that programs use: keys, tokens, and what stands behind the name of a
// secret.

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Keys finds what gives access to something. All of it is named KEY:
//
//   - keys in the form of their issuer: OpenAI, Anthropic, Stripe, GitHub,
//     GitLab, Slack, AWS, Google, Hugging Face, npm, PyPI, SendGrid, xAI, Groq
//   - JSON web tokens
//   - private keys in PEM blocks, also where the text breaks off within one
//   - what stands behind the name of a secret: api_key, access_key, secret_key,
//     private_key, password, passwd, senha, secret, client_secret, token,
//     access_token and the like, with : or = between them, alone or at the end
//     of a longer name as in OPENAI_API_KEY and dbPassword
//   - the credentials in an Authorization header of the schemes Basic, Bearer
//     and Token
//
// Names, quotes and what else is around a value is shown, so that JSON stays
// JSON, also within the strings of other JSON. Behind a name that ends in token
// or secret, a value without quotes counts only if it has 20 bytes, or 8 with a
// letter and a digit: prose speaks of tokens. Not taken for secrets are null,
// true and false, calls of functions, page tokens, and what looks like a
// replacement: [NAME], [NAME:0f3c] or <NAME_1>.
func Keys() []Pattern {
	return []Pattern{
		{Name: "KEY", Expr: issuedKey},
		{Name: "KEY", Expr: webToken},
		{Name: "KEY", Expr: privateKey},
		{
			Name:     "KEY",
			Expr:     `(?i)` + pageToken + `|` + `(?:` + keyNames + `|` + tokenNames + `)` + nameEnds + `(?:` + quotedValues() + `)`,
			Check:    isQuotedSecret,
			anyGroup: true,
		},
		{
			Name: "KEY",
			Expr: `(?i)` + keyNames + nameEnds + bareValue + `|` +
				`\bauthorization` + nameEnds + `\\*["']?(?:basic|bearer|token)\s+` + bareValue,
			Check:    isBareSecret,
			anyGroup: true,
		},
		{
			Name:  "KEY",
			Expr:  `(?i)` + pageToken + `|` + tokenNames + nameEnds + bareValue,
			Check: isBareToken,
			Group: 1,
		},
	}
}

const (
	issuedKey = `\b(?:` +
		`sk-(?:\w+-){0,4}\w{20,}[\w-]*|` + // OpenAI, Anthropic
		`[rs]k_(?:live|test)_\w{16,}|` + // Stripe
		`gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|` +
		`xox[abeprs]-[\w-]{10,}|xapp-[\w-]{20,}|` + // Slack
		`(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|` + // AWS, Google
		`hf_\w{30,}|npm_\w{30,}|pypi-[\w-]{40,}|` +
		`SG\.[\w-]{16,}\.[\w-]{16,}|` + // SendGrid
		`xai-\w{30,}|gsk_\w{30,})` // xAI, Groq

	// The header has an end, so that a long text in base64 that begins as one
	// isn't held and then taken for a token.
	webToken = `\beyJ[\w-]{8,512}\.[\w-]{8,}\.[\w-]+`

	lineEnd = `(?:\s|\\+[nrt])` // also as it is written in JSON
	armored = `[A-Za-z0-9+/=]`

	// The last line may be short, and the text may break off.
	privateKey = `-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----` + lineEnd + `*` +
		`(?:[A-Za-z-]+: [^\\\r\n]*` + lineEnd + `+)*` + // headers
		armored + `{16,}(?:` + lineEnd + `+` + armored + `{16,})*` +
		`(?:` + lineEnd + `+` + armored + `{1,15})?` +
		`(?:` + lineEnd + `*-----END [A-Z0-9 ]{1,64}-----)?`

	// The names are whole, or the end of a longer one, which is told by _ or a
	// capital: api_keyboard, tokenizer and compassword are others. \\* is for
	// JSON in JSON.
	keyNames = `(?:(?:\b|_)(?:(?:api|access|secret|private)[_-]?key|passwd|password|senha)|` +
		`(?-i:(?:Api|Access|Secret|Private)Key|Passwd|Password|Senha))`
	tokenNames = `(?:(?:\b|_)(?:(?:api|access|refresh|auth|session|id)?[_-]?token|(?:client)?[_-]?secret)|` +
		`(?-i:Token|Secret))`
	nameEnds = `\\*["']?\s*[:=]\s*`

	// bareValue is a value without quotes. In front of a parenthesis it is a
	// function, and no value.
	bareValue = `([^(` + bareEnds + `]+)(?:[` + bareEnds + `]|$)`
	bareEnds  = `\s"'\\,;&<>)}\]`

	// pageToken has no group: it hides a name from the pattern it is part of. A
	// next_page_token opens nothing, and without it there is no next page.
	pageToken = `page(?:[_-][a-z0-9]+){0,8}[_-]?token` + nameEnds + `\\*["']?`
)

// quotedValues matches values in quotes, up to the quote that closes them or,
// where the text was cut off, to the end of the line. The value is a group.
func quotedValues() string {
	return strings.Join([]string{
		quotedValue(`"`, 0), quotedValue(`'`, 0),
		quotedValue(`"`, 1), quotedValue(`'`, 1),
		quotedValue(`"`, 2),
	}, `|`)
}

// quotedValue matches a value in a string that is in as many other strings as
// depth says. Each of these doubles the backslashes of what is in it, and puts
// one in front of each quote.
func quotedValue(quote string, depth int) string {
	slash := 1 << depth // of how many backslashes one is made
	return fmt.Sprintf(`\\{%[1]d}%[4]s((?:[^\\%[4]s\n]|\\{%[3]d}|\\{%[2]d}%[4]s|\\{1,%[2]d}[^\\%[4]s\n])+)`,
		slash-1, 2*slash-1, 2*slash, quote)
}

var replaced = regexp.MustCompile(`^[\[<][A-Z][A-Z0-9_ ]*(?::[0-9a-f]*)?[\]>]?$`)

// isQuotedSecret tells values from what they were replaced by, so that a text
// that is redacted again stays as it is.
func isQuotedSecret(value string) bool { return !replaced.MatchString(value) }

// isBareSecret tells values without quotes from those of JSON that are no text.
func isBareSecret(value string) bool {
	return value != "null" && value != "true" && value != "false" && isQuotedSecret(value)
}

// isBareToken tells values without quotes from prose: the secret: practice.
func isBareToken(value string) bool {
	long := len(value) >= 20 || len(value) >= 8 && strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, unicode.IsLetter)
	return long && isBareSecret(value)
}
