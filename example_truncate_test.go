package hooks_test

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loophooks/hooks"
)

// shorten keeps the beginning and the end of a text that is longer than n
// runes, and says what it left out, so that the model can ask for less.
func shorten(text string, n int) string {
	length := utf8.RuneCountInString(text)
	if length <= n {
		return text
	}
	runes := []rune(text)
	head := n * 3 / 4
	tail := n - head
	return fmt.Sprintf("%s\n[%d characters left out; ask for a part]\n%s",
		string(runes[:head]), length-n, string(runes[length-tail:]))
}

// A huge result is shortened before the model reads it. The cut is at runes,
// and the beginning of a log isn't all that matters of it. The priority puts
// the hook behind one that redacts, which would not know half a key for one.
func Example_truncateResult() {
	reg := hooks.NewRegistry()
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(func(text string) string { return shorten(text, 24) })
		return nil
	}, hooks.In(reg), hooks.WithName("shorten"), hooks.WithPriority(-200))

	ctx := hooks.WithScope(context.Background(), reg)
	call := &hooks.ToolCall{Name: "run_tests"}
	err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "실행을 시작합니다: " + strings.Repeat("통과,", 1000) + "1개 실패"
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(call.Result)
	// Output:
	// 실행을 시작합니다: 통과,통과,통
	// [2992 characters left out; ask for a part]
	// ,1개 실패
}
