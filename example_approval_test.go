package hooks_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/loophooks/hooks"
)

// approve asks a person before a tool runs.
func approve(ctx context.Context, call *hooks.ToolCall) error {
	arguments, err := call.Arguments()
	if err != nil {
		return err // nobody can approve what can't be shown
	}
	// All of it is shown: a preview would have the person approve what it hides.
	answer, err := call.RequestHumanInput(ctx,
		fmt.Sprintf("The agent wants to run %q with %s", call.Name, visible(arguments)),
		`Type "yes" to allow it:`)
	if err != nil {
		return &hooks.HookAborted{Reason: "nobody could be asked for approval", Err: err}
	}
	// Only what is known to mean yes is one. Whoever asks for a "no" instead
	// takes a typo, an empty line and an answer in another language for a yes.
	if !slices.Contains([]string{"y", "yes", "s", "sim", "예", "네"}, strings.ToLower(answer)) {
		return hooks.Abort("the operator refused")
	}
	return nil
}

// visible writes what can't be seen in JSON as escapes. A model must not be
// able to repaint the terminal or to reverse what the person reads.
func visible(json string) string {
	var b strings.Builder
	for _, r := range json {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// operator is a [hooks.HumanInput] that answers from a list.
type operator struct{ answers []string }

func (o *operator) RequestInput(_ context.Context, prompt, message string) (string, error) {
	fmt.Println(prompt)
	if len(o.answers) == 0 {
		fmt.Println(message, "(end of input)")
		return "", io.EOF
	}
	answer := o.answers[0]
	o.answers = o.answers[1:]
	fmt.Println(message, answer)
	return answer, nil
}

// A person is asked before some tools run. The hook is a guard: it asks about
// what will really be run, and where nobody answers the tool doesn't run. An
// ordinary hook is fail-open, and a closed stdin would approve everything.
func Example_approval() {
	reg := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, approve, hooks.In(reg), hooks.WithName("approval"),
		hooks.WithTools("send_email", "make_purchase", "delete_file"))

	ctx := hooks.WithScope(context.Background(), reg)
	ctx = hooks.WithHumanInput(ctx, &operator{answers: []string{"Yes", "yep"}})

	for _, to := range []string{"ana@example.com", "bob@example.com", "moc.live\u202e@eve"} {
		call := &hooks.ToolCall{Name: "send_email", Input: map[string]any{"to": to, "body": "Hello,\nsee you"}}
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "sent"
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Printf("-> %s\n\n", call.Result)
	}
	// Output:
	// The agent wants to run "send_email" with {"body":"Hello,\nsee you","to":"ana@example.com"}
	// Type "yes" to allow it: Yes
	// -> sent
	//
	// The agent wants to run "send_email" with {"body":"Hello,\nsee you","to":"bob@example.com"}
	// Type "yes" to allow it: yep
	// -> Tool execution blocked by hook. Tool: send_email. Reason: the operator refused
	//
	// The agent wants to run "send_email" with {"body":"Hello,\nsee you","to":"moc.live\u202e@eve"}
	// Type "yes" to allow it: (end of input)
	// -> Tool execution blocked by hook. Tool: send_email. Reason: nobody could be asked for approval
}
