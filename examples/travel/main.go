// Command travel is a travel assistant with the rules of a company: no first
// class without a manager's approval, and no document number for the model. The
// rules are hooks; the loop in package agent knows nothing of them.
//
// Without flags it talks to a scripted model on loopback: it needs no key, and no
// network once the modules that it is built of are there. Point it at a real one
// with -base-url and -model.
//
// With -approve=later nobody has to be there when a ticket is to be booked: the run
// is suspended and kept in the folder of -state, the program ends with status 3
// (which go run prints, ending with 1 itself), somebody decides with -decide, and
// -resume goes on in another process. With -stream the model's words are printed as
// they come, without document numbers, wherever those are cut.
package main

import (
	"cmp"
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
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	if err := os.Stdout.Close(); err != nil && status == exitOK { // some systems tell of a full disk here
		fmt.Fprintf(os.Stderr, "travel: %v\n", &outputError{err})
		status = exitFailed
	}
	os.Exit(status)
}

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitWaiting     = 3   // somebody has to decide before the run can go on
	exitInterrupted = 130 // as shells have it for Ctrl-C
)

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	help := &output{w: stderr}
	s, err := parseFlags(args, getenv, help)
	switch {
	case errors.Is(err, flag.ErrHelp) && help.failure() == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		return exitFailed // nobody was helped
	case err != nil:
		return exitUsage
	}
	if s.decide != "" {
		err = decide(ctx, s, cmp.Or(getenv("USER"), getenv("USERNAME")), stdout)
	} else {
		// The person who is asked is the one at this terminal.
		err = assist(hooks.WithHumanInput(ctx, hooks.NewConsole(stdin, stderr)), s, new(office), stdout)
	}
	switch {
	case ctx.Err() != nil: // whatever it was that came of it
		fmt.Fprintln(stderr, "travel: interrupted")
		hint(stderr, s, err)
		return exitInterrupted
	case err == nil:
		return exitOK
	case waits(err) != nil:
		return exitWaiting
	}
	fmt.Fprintf(stderr, "travel: %s\n", policy.ForPeople(failure(err)))
	hint(stderr, s, err)
	return exitFailed
}

// assist runs the assistant for one request, in an office. It gives up when
// stdout can't be written: nothing is booked that nobody is told of.
func assist(ctx context.Context, s settings, o *office, stdout io.Writer) error {
	var kept *folder
	if s.state != "" {
		var err error
		if kept, err = openFolder(&s); err != nil {
			return err
		}
		defer kept.close()
		if err := o.keepIn(kept.bookings()); err != nil {
			return err
		}
		ctx = hooks.WithDesk(ctx, kept.desk)
	}
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

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	written := &output{w: stdout, failed: cancel}
	out := &console{w: written, trace: s.trace, stopped: func() bool { return ctx.Err() != nil }}
	assistant := &agent.Agent{
		Model:        client,
		ModelName:    s.model,
		Role:         "travel assistant",
		Instructions: "You are a company's travel assistant. Use the tools. If a tool call is refused, do what the reason says and tell the traveller.",
		Tools:        o.Tools(),
		MaxTurns:     s.rules.maxTurns,
		MaxCalls:     maxCalls,
		Listener:     out.listener(),
	}
	if kept != nil {
		assistant.Save = kept.save
	}
	if s.stream {
		assistant.Show = out.piece
	}

	// The rules and the observer belong to this run: they end with it, and
	// another run in the same process has its own.
	rules := hooks.NewRegistry()
	spent := 0
	if s.resume {
		spent = kept.run.Turn - 1 // the one that isn't over is counted again
	}
	policy.FirstClass(rules, s.rules.managerApproved)
	switch s.approve {
	case approveNow:
		policy.Approval(rules)
	case approveLater:
		policy.ApprovalLater(rules)
	}
	policy.Documents(rules)
	policy.Today(rules, time.Now)
	policy.TurnBudget(rules, s.rules.turnBudget, spent)
	rules.Observe(out.dispatched)

	out.begin(s.prompt, shown)
	start := time.Now()
	var result agent.Result
	if s.resume {
		result, err = assistant.Resume(hooks.WithScope(ctx, rules), kept.run)
	} else {
		result, err = assistant.Run(hooks.WithScope(ctx, rules), s.prompt)
	}
	out.end(result, err, time.Since(start))
	if kept != nil {
		err = kept.end(written, s, err)
	}
	return cmp.Or(written.failure(), err)
}
