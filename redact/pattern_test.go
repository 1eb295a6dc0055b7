package redact_test

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompile_refuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		pattern redact.Pattern
		reason  string
	}{
		{"what doesn't parse", redact.Pattern{Expr: "a("}, "missing closing )"},
		{"the empty expression", redact.Pattern{}, "can match the empty text"},
		{"a star", redact.Pattern{Expr: "a*"}, "can match the empty text"},
		{"an empty alternative", redact.Pattern{Expr: "(?:ab|)"}, "can match the empty text"},
		{"a mere assertion", redact.Pattern{Expr: `\b`}, "can match the empty text"},
		{"assertions that exclude each other", redact.Pattern{Expr: `\b\B`}, "can match the empty text"},
		{"a large expression", redact.Pattern{Expr: strings.Repeat("[ab]{1000}", 10)}, "more than 10000"},
		{"a group that isn't there", redact.Pattern{Expr: "(a)(?:b)", Group: 2}, "no group 2 in the expression, which has 1"},
		{"a negative group", redact.Pattern{Expr: "(a)", Group: -1}, "no group -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.pattern.Name = "LAST"
			set, err := redact.Compile(redact.Pattern{Name: "FIRST", Expr: "x"}, tt.pattern)
			assert.Nil(t, set)
			var refused *redact.PatternError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, 1, refused.Index)
			assert.Equal(t, "LAST", refused.Name)
			assert.ErrorContains(t, err, "redact: pattern 1 (LAST): ")
			assert.ErrorContains(t, err, tt.reason)
			assert.Panics(t, func() { redact.MustCompile(tt.pattern) })
		})
	}
}

func TestCompile_parseErrorIsThatOfSyntax(t *testing.T) {
	t.Parallel()
	_, err := redact.Compile(redact.Pattern{Expr: "[b-a]"})
	var refused *syntax.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, syntax.ErrInvalidCharRange, refused.Code)
}

func TestCompile_limitIsForEachExpression(t *testing.T) {
	t.Parallel()
	large := redact.Pattern{Name: "X", Expr: "^" + strings.Repeat("[ab]{1000}", 4)}
	set := redact.MustCompile(large, large, large)
	assert.Equal(t, "[X]", set.Replace(strings.Repeat("ab", 2000), label))
}

func TestSet_withoutPatternsChangesNothing(t *testing.T) {
	t.Parallel()
	var zero redact.Set
	for _, set := range []*redact.Set{&zero, redact.MustCompile()} {
		assert.Equal(t, "sk-1 é\xff", set.Replace("sk-1 é\xff", label))
		assert.Equal(t, "ab", inPieces(set, label, "a", "b"))
		assert.Equal(t, []string{"a"}, set.ReplaceParts([]string{"a"}, label))
	}
}
