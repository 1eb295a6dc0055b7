// What the command line and the environment ask for. What is wrong is told with
// the name of the flag or the variable that it was given by.

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/loophooks/hooks/examples/travel/chat"
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
	maxCalls      = 32 // tool calls that are made, and shown, in one turn
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
	named := func(value *string, flag, variable string) (name string) {
		*value = strings.TrimSpace(*value)
		if *value != "" {
			return "-" + flag
		}
		*value = strings.TrimSpace(getenv(variable))
		return variable
	}
	names := names{
		baseURL: named(&s.baseURL, "base-url", "OPENAI_BASE_URL"),
		model:   named(&s.model, "model", "OPENAI_MODEL"),
		apiKey:  named(&s.apiKey, "api-key", "OPENAI_API_KEY"),
	}
	err := s.check(f.Args(), names)
	if err != nil {
		fmt.Fprintf(stderr, "travel: %v\n", err)
	}
	return s, err
}

// names says where values came from: a flag or a variable of the environment.
type names struct{ baseURL, model, apiKey string }

// check refuses settings that can't work, or of which some would be passed over,
// and says which one it is and what to give instead.
func (s settings) check(rest []string, from names) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q; the request is given with -prompt", rest[0])
	case strings.TrimSpace(s.prompt) == "":
		return errors.New("-prompt is empty; give the request, or leave it out for the default one")
	case s.maxTurns < 1:
		return fmt.Errorf("-max-turns is %d; give at least 1", s.maxTurns)
	case s.turnBudget < 1:
		return fmt.Errorf("-turn-budget is %d; give at least 1", s.turnBudget)
	case s.timeout <= 0:
		return fmt.Errorf("-timeout is %v; give more than 0s, like 30s", s.timeout)
	case s.baseURL == "" && from.model == "-model":
		return errors.New("-model needs an endpoint; give it with -base-url or in OPENAI_BASE_URL")
	case s.baseURL == "" && from.apiKey == "-api-key":
		return errors.New("-api-key needs an endpoint; give it with -base-url or in OPENAI_BASE_URL")
	case s.baseURL == "":
		return nil // the embedded server needs neither; variables are there for other programs too
	case s.model == "":
		return fmt.Errorf("%s needs a model; give its name with -model or in OPENAI_MODEL", from.baseURL)
	case strings.ContainsFunc(s.apiKey, unicode.IsControl):
		return fmt.Errorf("%s holds a line break or another control character; give the key alone", from.apiKey)
	}
	if _, err := chat.New(chat.Config{BaseURL: s.baseURL}); err != nil {
		return fmt.Errorf("%s is wrong: %w", from.baseURL, err)
	}
	return nil
}
