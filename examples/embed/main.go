// Command embed shows the smallest loop that has the hooks of all ten points,
// and one of its own, for a framework author who calls Dispatch by hand. The
// loop is in loop.go, the rules that it owes its hooks are in rules.go (what
// happens after a refusal, a failure, a panic and a cancel), and its own point
// is in points.go. The seams of package hooks do what rules.go does, and more:
// prefer them where the loop can be written around them.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/loophooks/hooks"
)

func main() {
	hooks.On(Retrieve, hideDoorCodes, hooks.WithName("hide door codes"))
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("mail is sent by people; write the text instead")
	}, hooks.WithTools("send_*"), hooks.AsGuard(), hooks.WithName("no mail"))
	hooks.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
		fmt.Printf("%-14s %-9s %s\n", ev.Point, ev.Outcome, ev.AbortReason)
	})
	loop := &Loop{Model: scriptedModel, Tool: sendMail, Tools: []string{"send_mail"}, MaxTurns: 10}
	answer, err := loop.Run(context.Background(), "Tell Ana by mail when the office opens.")
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
	fmt.Println("answer:", answer)
}

func hideDoorCodes(_ context.Context, r *Retrieval) error {
	r.Found, _, _ = strings.Cut(r.Found, " Door code")
	return nil
}

// sendMail is the only tool.
func sendMail(_ context.Context, t *hooks.ToolCall) error {
	if t.Name != "send_mail" {
		return fmt.Errorf("there is no tool %s", t.Name)
	}
	t.Result = "sent"
	return nil
}

// scriptedModel wants to send a mail, and answers once it was told no.
func scriptedModel(_ context.Context, m *hooks.ModelCall) error {
	last := m.Messages[len(m.Messages)-1]
	if last.Role == "tool" {
		m.Response = "I can't send mail (" + last.Content + "). " + m.Messages[1].Content
		return nil
	}
	m.ToolCalls = []hooks.ToolRequest{{ID: "1", Name: "send_mail", Arguments: `{"to":"ana"}`}}
	return nil
}
