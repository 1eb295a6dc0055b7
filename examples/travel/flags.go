// What the command line and the environment ask for. What is wrong is told with
// the name of the flag or the variable that it was given by.

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/chat"
)

// settings is what the command line and the environment ask for.
type settings struct {
	baseURL  string // the embedded model server if empty
	model    string
	apiKey   string
	prompt   string
	timeout  time.Duration
	approve  approval
	state    string // the folder of a run that is decided later
	resume   bool
	decide   string // the ID of a question, or how it begins
	decision hooks.Decision
	stream   bool // print what the model says while it says it
	trace    bool
	rules    rules
	from     names
}

// rules are the settings that hold for all of a run, in however many processes.
type rules struct {
	maxTurns        int
	turnBudget      int
	managerApproved bool
}

// approval says whether somebody is asked before a ticket is booked, and when they
// may answer.
type approval string

const (
	approveNot   approval = ""
	approveNow   approval = "now"
	approveLater approval = "later"
)

// String and Set make it a flag, and IsBoolFlag one that may stand without a value.
func (a *approval) String() string   { return string(*a) }
func (a *approval) IsBoolFlag() bool { return true }

func (a *approval) Set(value string) error {
	if value == string(approveNow) || value == string(approveLater) {
		*a = approval(value)
		return nil
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New(`give -approve, which asks at once, or -approve=later`)
	}
	if *a = approveNot; on {
		*a = approveNow
	}
	return nil
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
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	// The environment isn't made the default of a flag: usage prints defaults,
	// and the key must not be printed.
	f.StringVar(&s.baseURL, "base-url", "", "base `URL` of an OpenAI-compatible endpoint, like http://localhost:11434/v1;\nOPENAI_BASE_URL if empty, an embedded scripted model if that is empty too")
	f.StringVar(&s.model, "model", "", "`name` of the model; OPENAI_MODEL if empty")
	f.StringVar(&s.apiKey, "api-key", "", "the endpoint's API `key`; OPENAI_API_KEY if empty, which keeps it out of the process list")
	f.StringVar(&s.prompt, "prompt", defaultPrompt, "the request")
	f.IntVar(&s.rules.maxTurns, "max-turns", 10, "turns after which the loop gives up")
	f.IntVar(&s.rules.turnBudget, "turn-budget", 8, "turns that the company pays for")
	f.DurationVar(&s.timeout, "timeout", 2*time.Minute, "time for one reply of the model; with -stream, how long it may be silent")
	f.Var(&s.approve, "approve", "ask before a ticket is booked: at once, or with -approve=later by a question in the\nfolder of -state, at which the program ends until somebody has decided")
	f.StringVar(&s.state, "state", "", "`folder` of a run whose questions are decided later; made if there is none, and for\nits owner alone")
	f.BoolVar(&s.resume, "resume", false, "go on with the run in the folder of -state")
	f.StringVar(&s.decide, "decide", "", "decide the question with this `ID`, or the only one that begins so, in the folder of\n-state, with one of -yes, -no and -edit; nothing is run")
	yes := f.Bool("yes", false, "the call that -decide is about may run, once, as it was shown")
	no := f.String("no", "", "it must not, for this `reason`, which the model reads")
	edit := f.String("edit", "", "it may run, once, with these arguments, `JSON`, if the rules allow them")
	f.BoolVar(&s.rules.managerApproved, "manager-approved", false, "the manager has approved first class")
	f.BoolVar(&s.stream, "stream", false, "print what the model says while it says it")
	f.BoolVar(&s.trace, "trace", false, "print one line for each dispatch of hooks")
	if err := f.Parse(args); err != nil {
		return s, err // f has said so
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	given["yes"] = *yes
	named := func(value *string, flag, variable string) (name string) {
		*value = strings.TrimSpace(*value)
		if *value != "" {
			return "-" + flag
		}
		*value = strings.TrimSpace(getenv(variable))
		return variable
	}
	s.from = names{
		baseURL: named(&s.baseURL, "base-url", "OPENAI_BASE_URL"),
		model:   named(&s.model, "model", "OPENAI_MODEL"),
		apiKey:  named(&s.apiKey, "api-key", "OPENAI_API_KEY"),
	}
	err := s.checkMode(f.Args(), given)
	if err == nil && s.decide == "" {
		err = s.check(s.from)
	}
	if s.resume && s.from.model == "OPENAI_MODEL" {
		s.model = "" // the run has its own
	}
	if err == nil && s.decide != "" {
		s.decision, err = decisionOf(*yes, *no, *edit, given)
	}
	if err != nil {
		fmt.Fprintf(stderr, "travel: %v\n", err)
	}
	return s, err
}

// names says where values came from: a flag or a variable of the environment.
type names struct{ baseURL, model, apiKey string }

// check refuses settings that can't work, or of which some would be passed over,
// and says which one it is and what to give instead.
func (s settings) check(from names) error {
	switch {
	case strings.TrimSpace(s.prompt) == "":
		return errors.New("-prompt is empty; give the request, or leave it out for the default one")
	case s.rules.maxTurns < 1:
		return fmt.Errorf("-max-turns is %d; give at least 1", s.rules.maxTurns)
	case s.rules.turnBudget < 1:
		return fmt.Errorf("-turn-budget is %d; give at least 1", s.rules.turnBudget)
	case s.timeout <= 0:
		return fmt.Errorf("-timeout is %v; give more than 0s, like 30s", s.timeout)
	case s.baseURL == "" && from.model == "-model":
		return errors.New("-model needs an endpoint; give it with -base-url or in OPENAI_BASE_URL")
	case s.baseURL == "" && from.apiKey == "-api-key":
		return errors.New("-api-key needs an endpoint; give it with -base-url or in OPENAI_BASE_URL")
	case s.baseURL == "":
		return nil // the embedded server needs neither; variables are there for other programs too
	case s.model == "" && !s.resume: // whose run has one
		return fmt.Errorf("%s needs a model; give its name with -model or in OPENAI_MODEL", from.baseURL)
	case strings.ContainsFunc(s.apiKey, unicode.IsControl):
		return fmt.Errorf("%s holds a line break or another control character; give the key alone", from.apiKey)
	}
	if _, err := chat.New(chat.Config{BaseURL: s.baseURL}); err != nil {
		return fmt.Errorf("%s is wrong: %w", from.baseURL, err)
	}
	return nil
}
