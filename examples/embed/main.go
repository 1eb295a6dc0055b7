// Command embed shows the smallest loop that has the hooks of all ten points,
// and one of its own, for a framework author who calls Dispatch by hand, and that
// goes on with a run that had to wait for a decision. The loop is in loop.go, the
// rules that it owes its hooks at turns and models are in rules.go (what happens
// after a refusal, a failure, a panic and a cancel), and its own point is in
// points.go. The seams of package hooks do what rules.go does, and more: prefer
// them where the loop can be written around them. For the run itself and for its
// tools this loop has them, too.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/loophooks/hooks"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Stdout, os.Stderr))
}

// run returns the exit status: 0, 1 for a failure, or 130 for Ctrl-C, as shells
// have it.
func run(ctx context.Context, stdout, stderr io.Writer) int {
	text, err := answer(ctx, stdout)
	if err == nil {
		_, err = fmt.Fprintln(stdout, "answer:", text)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "embed: interrupted")
		return 130
	case err != nil:
		fmt.Fprintln(stderr, "embed:", err)
		return 1
	}
	return 0
}

// answer runs the loop under hooks of its own, and prints what they do. What
// can't be printed is an error.
func answer(ctx context.Context, stdout io.Writer) (string, error) {
	r := hooks.NewRegistry()
	hooks.On(Retrieve, hideDoorCodes, hooks.WithName("hide door codes"), hooks.In(r))
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("mail is sent by people; write the text instead")
	}, hooks.WithTools("send_*"), hooks.WithName("no mail"), hooks.In(r))
	var lost error
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
		_, err := fmt.Fprintf(stdout, "%-14s %-9s %s\n", ev.Point, ev.Outcome, ev.AbortReason)
		lost = cmp.Or(lost, err)
	})
	loop := &Loop{Model: scriptedModel, Tool: sendMail, Tools: []string{"send_mail"}, MaxTurns: 10}
	text, err := loop.Run(hooks.WithScope(ctx, r), "Tell Ana by mail when the office opens.")
	return text, cmp.Or(err, lost)
}

func hideDoorCodes(_ context.Context, r *Retrieval) error {
	r.Found, _, _ = strings.Cut(r.Found, " Door code")
	return nil
}

// sendMail is the only tool.
func sendMail(_ context.Context, t *hooks.ToolCall) error {
	if t.Name != "send_mail" {
		return hooks.ErrNoTool
	}
	t.Result = "sent"
	return nil
}

// scriptedModel wants to send a mail, and answers once it was told no.
func scriptedModel(_ context.Context, m *hooks.ModelCall) error {
	if m.Model != "" { // a hook wants another one
		return errors.ErrUnsupported
	}
	last := m.Messages[len(m.Messages)-1]
	if last.Role == "tool" {
		m.Response = "I can't send mail (" + last.Content + "). " + m.Messages[1].Content
		return nil
	}
	m.ToolCalls = []hooks.ToolRequest{{ID: "1", Name: "send_mail", Arguments: `{"to":"ana"}`}}
	return nil
}
