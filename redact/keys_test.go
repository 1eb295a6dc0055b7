package redact_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
)

// everything is all that the package knows, as a program would look for it.
var everything = redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail(), redact.Cards(), redact.CPF())...)

// found is a text and what is shown of it.
type found struct{ name, text, want string } // want is "" for a text that stays

// run tests texts whole, redacted again, and in pieces of each length.
func run(t *testing.T, set *redact.Set, tests []found) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := tt.want
			if want == "" {
				want = tt.text
			}
			assert.Equal(t, want, set.Replace(tt.text, label))
			assert.Equal(t, want, set.Replace(want, label), "again")
			for n := 1; n < len(tt.text); n++ {
				assert.Equal(t, want, inPieces(set, label, cutEvery(n, tt.text)...), "in pieces of %d bytes", n)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	block := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("aB3/", 16)+"\n", 3) + "aB3+cD==\n-----END RSA PRIVATE KEY-----"
	run(t, everything, []found{
		{"assignment", "api_key=k1 next", "api_key=[KEY] next"},
		{"environment", "export OPENAI_API_KEY=k1", "export OPENAI_API_KEY=[KEY]"},
		{"header", "x-api-key: k1", "x-api-key: [KEY]"},
		{"camel case", `{"accessToken":"abc","apiKey":"k1"}`, `{"accessToken":"[KEY]","apiKey":"[KEY]"}`},
		{"end of a name in camel case", `{"dbPassword":"abc","stripeApiKey":"k1",githubToken: abc12345, s3Secret='x'}`, `{"dbPassword":"[KEY]","stripeApiKey":"[KEY]",githubToken: [KEY], s3Secret='[KEY]'}`},
		{"JSON", `{"token": "abc", "n": 1}`, `{"token": "[KEY]", "n": 1}`},
		{"escapes in JSON", `{"token": "a\"b\\", "n": "1"}`, `{"token": "[KEY]", "n": "1"}`},
		{"JSON in JSON", `"{\"token\": \"abc\", \"n\": 1}"`, `"{\"token\": \"[KEY]\", \"n\": 1}"`},
		{"escapes in JSON in JSON", `"{\"token\": \"a\\\"b\\\\\", \"n\": 1}"`, `"{\"token\": \"[KEY]\", \"n\": 1}"`},
		{"JSON in JSON in JSON", `"\"{\\\"token\\\": \\\"a\\nc\\\", \\\"n\\\": 1}\""`, `"\"{\\\"token\\\": \\\"[KEY]\\\", \\\"n\\\": 1}\""`},
		{"JSON cut off", `{"token": "abc`, `{"token": "[KEY]`},
		{"line cut off", "{\"token\": \"abc\nnext", "{\"token\": \"[KEY]\nnext"},
		{"single quotes", `{'token': 'a"b', 'n': 1}`, `{'token': '[KEY]', 'n': 1}`},
		{"query", "?token=abc12345&page=2", "?token=[KEY]&page=2"},
		{"the secret, not its name", "password: hunter", "password: [KEY]"},
		{"senha", `senha="abc"`, `senha="[KEY]"`},
		{"AWS secret", "aws_secret_access_key = abc/def+1", "aws_secret_access_key = [KEY]"},
		{"bearer", "Authorization: Bearer a.b-c/d==", "Authorization: Bearer [KEY]"},
		{"bearer in JSON", `{"Authorization": "Bearer abc"}`, `{"Authorization": "Bearer [KEY]"}`},
		{"two names", "token=token=abc12345 password=x", "token=[KEY] password=[KEY]"},
		{"OpenAI", "use sk-proj-" + strings.Repeat("aB3", 10) + ".", "use [KEY]."},
		{"GitHub", "ghp_" + strings.Repeat("aB3", 12), "[KEY]"},
		{"SendGrid", "SG." + strings.Repeat("aB3", 7) + "." + strings.Repeat("aB3", 14), "[KEY]"},
		{"web token", "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln-_", "[KEY]"},
		{"private key", "see\n" + block + "\nend", "see\n[KEY]\nend"},
		{"private key in JSON", `{"pem":"` + strings.ReplaceAll(block, "\n", `\n`) + `\n"}`, `{"pem":"[KEY]\n"}`},
		{"private key cut off", "see\n" + block[:150], "see\n[KEY]"},
		{
			"private key with headers",
			strings.Replace(block, "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,0123\n\n", 1) + ".", "[KEY].",
		},

		{"empty", "", ""},
		{"tokenizer", "tokenizer: fast", ""},
		{"api_keyboard", "api_keyboard=qwerty", ""},
		{"other names", `max_tokens: 4096, token_type: "bearer", api_key_id: "7", primary_key=12345678a`, ""},
		{"middle of another word", "compassword: x1, nontoken='x' BETOKEN='x' nonceTokens='x'", ""},
		{"page token", `"next_page_token": "abc123def", nextPageToken: 'abc'`, ""},
		{"bare page token", "page-token: abc123def", ""},
		{"prose", "A token: the smallest unit. The secret: practice.", ""},
		{"code", "token = lexer.next(); password = prompt(1)", ""},
		{"null", `{"token": null, "password": null}`, ""},
		{"empty secret", `token=""`, ""},
		{"replaced", `token="<KEY_1>" token=[A_LONGER_NAME_1:9f2c41d0] password: [KEY:9f2c41d0] api_key=[REDACTED] secret='[KEY]'`, ""},
		{"bearer in prose", "The bearer of news; Authorization: required", ""},
		{"short sk", "sk-learn and task-sk-management", ""},
		{"hyphenated words", "sk-learn-based-pipelines-are-long", ""},
		{"public key", "-----BEGIN PUBLIC KEY-----\n" + strings.Repeat("aB3/", 16) + "\n-----END PUBLIC KEY-----", ""},
		{"private key in prose", "A block begins with -----BEGIN PRIVATE KEY----- and has lines.", ""},
	})
}
