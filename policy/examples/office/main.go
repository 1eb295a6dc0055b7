// Command office is an assistant in an office that is held to every policy of package
// policy, and to one hook script. A scripted model tries what it shouldn't, a scene for
// each policy: the program prints what the model asked for, and what it read.
//
//	go run -C policy ./examples/office
//
// Begin with policies.go, where all of them are registered in one place. The loop in
// loop.go knows nothing of them; the scenes are in scenes.go.
//
// It needs no key and no network once Go has the modules that it is built of, and prints
// the same each time. The web pages come from a server on loopback, and all files are in
// a temporary folder. The script needs a shell: on Windows give -policy a file without
// hooks, such as {}.
//
// With -policy the scripts are those of another settings file in Claude Code's format, run
// in the working directory; tools are known to them as Bash, Read, WebFetch and WebSearch.
// With -ask you decide about what waits for a decision, which is the payment, at the
// terminal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/loophooks/hooks"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as shells have it for Ctrl-C
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("office", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var settings string
	flags.Func("policy", "run the scripts of this settings `file` instead of the embedded one", func(file string) error {
		if settings = file; file == "" {
			return errors.New("the name of the file is empty")
		}
		return nil
	})
	ask := flags.Bool("ask", false, "decide about the payment at the terminal")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage // the flag set has said why
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "office: %q isn't expected: there are flags only (see -help)\n", flags.Arg(0))
		return exitUsage
	}

	decide := ana
	if *ask {
		decide = terminal(hooks.NewConsole(stdin, stderr))
	}
	err := work(ctx, settings, decide, stdout)
	switch {
	case ctx.Err() != nil: // whatever it was that came of it
		fmt.Fprintln(stderr, "office: interrupted")
		return exitInterrupted
	case err == nil:
		return exitOK
	}
	fmt.Fprintf(stderr, "office: %v\n", err)
	if _, bad := errors.AsType[*settingsError](err); bad {
		return exitUsage
	}
	return exitFailed
}

// work opens an office, holds it to its policies, plays all scenes in it, and prints
// what they have cost and whether the record of them is whole.
func work(ctx context.Context, settings string, decide decider, stdout io.Writer) (err error) {
	o, err := openOffice()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	scripts, err := loadScripts(settings, o.dir)
	if err != nil {
		return err
	}

	// The policies are in a registry of this office; those of hooks.Default would be for
	// all loops of the process.
	rules := hooks.NewRegistry()
	total := &bill{}
	register(rules, o, scripts, total)
	ctx = hooks.WithScope(hooks.WithDesk(ctx, o.desk), rules)

	for _, s := range scenes {
		p := &performance{office: o, scene: s, decide: decide}
		if err := p.play(ctx); err != nil {
			return err
		}
		if err := p.print(stdout); err != nil {
			return err
		}
	}
	return printEnd(stdout, o, total)
}
