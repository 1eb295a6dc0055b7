package redact_test

import (
	"strings"
	"testing"

	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
)

func TestReplaceParts(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(
		redact.Pattern{Name: "KEY", Expr: `\bsk-\w{4,}`},
		redact.Pattern{Name: "NUMBER", Expr: `[0-9]+$`},
		redact.Pattern{Name: "THREE", Expr: `#[0-9]{3}`},
		redact.Pattern{Name: "PAIR", Expr: `#[0-9]{2}`},
		redact.Pattern{Name: "ID", Expr: `id=(\w+)`, Group: 1},
	)
	tests := []struct {
		name        string
		parts, want []string
	}{
		{"none", nil, nil},
		{"one", []string{"a sk-abcd"}, []string{"a <KEY:sk-abcd>"}},
		{"in each", []string{"sk-abcd,", "b", "sk-efgh"}, []string{"<KEY:sk-abcd>,", "b", "<KEY:sk-efgh>"}},
		{"over two", []string{"a sk-a", "bcd e"}, []string{"a <KEY:sk-abcd>", " e"}},
		{"over many", []string{"a s", "k", "", "-a", "bcd", " e"}, []string{"a <KEY:sk-abcd>", "", "", "", "", " e"}},
		{"one behind another", []string{"sk-abcd sk-", "efgh"}, []string{"<KEY:sk-abcd> <KEY:sk-efgh>", ""}},
		{"nothing in it", []string{"a", "", "b"}, []string{"a", "", "b"}},
		{"only by itself", []string{"12", "3b"}, []string{"<NUMBER:12>", "3b"}},
		{"joined and by itself", []string{"sk-abcd", "e"}, []string{"<KEY:sk-abcde>", ""}},
		{"hidden where joined", []string{"x", "sk-abcd"}, []string{"x", "<KEY:sk-abcd>"}},
		{"overlap", []string{"a sk-", "abcd12", "b3"}, []string{"a <KEY:sk-abcd12b3>", "", ""}},
		{"side by side", []string{"#12", "#34", "#5", "6"}, []string{"<PAIR:#12>", "<PAIR:#34>", "<PAIR:#56>", ""}},
		{"longer where joined", []string{"#12", "3#"}, []string{"<THREE:#123>", "#"}},
		{"group alone", []string{"i", "d=", "ab", "c d"}, []string{"i", "d=", "<ID:abc>", " d"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			given := append([]string(nil), tt.parts...)
			assert.Equal(t, tt.want, set.ReplaceParts(tt.parts, mark))
			assert.Equal(t, given, tt.parts, "the caller's own stay as they are")
			assert.Equal(t, set.Replace(strings.Join(tt.parts, "\n"), mark), set.ReplaceParts([]string{strings.Join(tt.parts, "\n")}, mark)[0])
		})
	}
}

func TestReplaceParts_longMatchHasOneMark(t *testing.T) {
	t.Parallel()
	set := redact.MustCompile(redact.Pattern{Name: "X", Expr: "ax*b"})
	long := strings.Repeat("x", redact.MaxMatch)
	assert.Equal(t, []string{"1[X]", "2", "3"}, set.ReplaceParts([]string{"1a" + long, long + "b2", "3"}, label))
}
