package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// settings is what the command line and the environment ask for.
type settings struct {
	baseURL         string // the embedded model server if empty
	model           string
	apiKey          string
	prompt          string
	maxTurns        int
	turnBudget      int
	timeout         time.Duration
	approve         bool
	managerApproved bool
	trace           bool
}

const (
	defaultPrompt = "Book me the most comfortable seat to Mar del Plata on Friday."
	scriptedModel = "scripted"
)

// parseFlags reads args, and from the environment what they leave out. It says
// on stderr what is wrong; help is flag.ErrHelp.
func parseFlags(args []string, getenv func(string) string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("travel", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, "travel answers a travel request with a model, tools and the company's rules.\n\nUsage: travel [flags]\n\n")
		f.PrintDefaults()
	}
	// The environment isn't made the default of a flag: usage prints defaults,
	// and the key must not be printed.
	f.StringVar(&s.baseURL, "base-url", "", "base `URL` of an OpenAI-compatible endpoint, like http://localhost:11434/v1;\nOPENAI_BASE_URL if empty, an embedded scripted model if that is empty too")
	f.StringVar(&s.model, "model", "", "`name` of the model; OPENAI_MODEL if empty")
	f.StringVar(&s.apiKey, "api-key", "", "the endpoint's API `key`; OPENAI_API_KEY if empty, which keeps it out of the process list")
	f.StringVar(&s.prompt, "prompt", defaultPrompt, "the request")
	f.IntVar(&s.maxTurns, "max-turns", 10, "turns after which the loop gives up")
	f.IntVar(&s.turnBudget, "turn-budget", 8, "turns that the company pays for")
	f.DurationVar(&s.timeout, "timeout", 2*time.Minute, "time for one reply of the model")
	f.BoolVar(&s.approve, "approve", false, "ask before a ticket is booked")
	f.BoolVar(&s.managerApproved, "manager-approved", false, "the manager has approved first class")
	f.BoolVar(&s.trace, "trace", false, "print one line for each dispatch of hooks")
	if err := f.Parse(args); err != nil {
		return s, err // f has said so
	}
	fallback(&s.baseURL, getenv("OPENAI_BASE_URL"))
	fallback(&s.model, getenv("OPENAI_MODEL"))
	fallback(&s.apiKey, getenv("OPENAI_API_KEY"))
	err := s.check(f.Args())
	if err != nil {
		fmt.Fprintf(stderr, "travel: %v\n", err)
	}
	return s, err
}

func fallback(s *string, other string) {
	if *s == "" {
		*s = other
	}
}

func (s settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q; the request is given with -prompt", rest[0])
	case s.prompt == "":
		return errors.New("-prompt is empty")
	case s.maxTurns < 1, s.turnBudget < 1:
		return errors.New("-max-turns and -turn-budget must be at least 1")
	case s.timeout <= 0:
		return errors.New("-timeout must be positive")
	case s.baseURL != "" && s.model == "":
		return errors.New("-base-url needs a -model")
	}
	return nil
}
