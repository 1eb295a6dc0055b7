// Command travel is a travel assistant with the rules of a company: no first
// class without a manager's approval, and no document number for the model. The
// rules are hooks; the loop in package agent knows nothing of them.
//
// Without flags it talks to a scripted model on loopback and needs no network
// and no key. Point it at a real one with -base-url and -model.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/chat"
	"github.com/loophooks/hooks/examples/travel/modelserver"
	"github.com/loophooks/hooks/examples/travel/policy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as shells have it for Ctrl-C
)

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	s, err := parseFlags(args, getenv, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	// The person who is asked is the one at this terminal.
	ctx = hooks.WithHumanInput(ctx, hooks.NewConsole(stdin, stderr))
	err = assist(ctx, s, new(office), stdout)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "travel: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "travel: %s\n", policy.ForPeople(failure(err)))
	return exitFailed
}

// assist runs the assistant for one request, in an office.
func assist(ctx context.Context, s settings, o *office, stdout io.Writer) error {
	shown := s.model
	if s.baseURL == "" {
		server, err := modelserver.Start()
		if err != nil {
			return err
		}
		defer server.Close()
		s.baseURL, s.model, s.apiKey = server.URL(), scriptedModel, ""
		shown = "scripted, on the embedded server"
	}
	client, err := chat.New(chat.Config{BaseURL: s.baseURL, APIKey: s.apiKey, Timeout: s.timeout})
	if err != nil {
		return err
	}
	defer client.Close()

	out := &console{w: stdout, trace: s.trace}
	assistant := &agent.Agent{
		Model:        client,
		ModelName:    s.model,
		Role:         "travel assistant",
		Instructions: "You are a company's travel assistant. Use the tools. If a tool call is refused, do what the reason says and tell the traveller.",
		Tools:        o.Tools(),
		MaxTurns:     s.maxTurns,
		Listener:     out.listener(),
	}

	// The rules and the observer belong to this run: they end with it, and
	// another run in the same process has its own.
	rules := hooks.NewRegistry()
	policy.FirstClass(rules, s.managerApproved)
	if s.approve {
		policy.Approval(rules)
	}
	policy.Documents(rules)
	policy.Today(rules, time.Now)
	policy.TurnBudget(rules, s.turnBudget)
	rules.Observe(out.dispatched)

	out.begin(s.prompt, shown)
	start := time.Now()
	result, err := assistant.Run(hooks.WithScope(ctx, rules), s.prompt)
	out.end(result, err, time.Since(start))
	return err
}
