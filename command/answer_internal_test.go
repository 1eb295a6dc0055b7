package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFindShell_windowsHasNone(t *testing.T) {
	t.Parallel()
	_, err := collect("windows", nil)
	require.ErrorContains(t, err, `Shell("bash", "-c")`)
	_, err = collect("windows", []Option{Shell("go"), Env([]string{"=C:=C:\\x"})})
	require.NoError(t, err)
}

// FuzzParseAnswer looks for text that is taken for a verdict, and for panics.
func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "text", "{}", ` {"decision":"block","reason":"x"}`, `{"continue":false}`, `x {"decision":"block"}`,
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","updatedInput":{"a":[1,{}]}}}`,
		`{"hookSpecificOutput":{"permissionDecision":"Deny"}}`, `{"a":1,"a":2}`, "\xff", `{"hookSpecificOutput":null}`, `{"reason":"\ud800"}`,
	} {
		f.Add(preToolUse, seed)
		f.Add(userPromptSubmit, seed)
	}
	f.Fuzz(func(t *testing.T, event, text string) {
		a, err := parseAnswer(event, text)
		if err != nil {
			require.Equal(t, answer{}, a)
			require.NotContains(t, err.Error(), "%!")
			return
		}
		if !strings.HasPrefix(strings.TrimLeft(text, jsonSpace), "{") {
			require.Equal(t, answer{added: a.added}, a, "text decides nothing")
			return
		}
		for verdict, words := range map[strictness][]string{allows: {"approve", "allow"}, asks: {"ask", "defer"}, denies: {"block", "deny"}, stops: {"false"}} {
			if a.verdict == verdict && !strings.Contains(text, `\u`) {
				assert.True(t, strings.Contains(text, words[0]) || strings.Contains(text, words[len(words)-1]), "%v of %q", verdict, text)
			}
		}
	})
}
