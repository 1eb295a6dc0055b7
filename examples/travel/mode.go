// What the command is to do: begin a run, decide a question of one, or go on with
// it; and which flags that goes with.

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/policy"
)

const usage = `travel answers a travel request with a model, tools and the company's rules.

Usage: travel [flags]

With -approve=later the run ends, with status 3, where a booking has to be decided,
and goes on when it is:

  travel -approve=later -state DIR
  travel -state DIR -decide ID -yes    (or -no REASON, or -edit JSON)
  travel -state DIR -resume

Flags:

`

// The flags that a mode knows. Those of a run that is resumed were given when it
// began.
var (
	ofDecide = []string{"state", "decide", "yes", "no", "edit"}
	ofResume = []string{"state", "resume", "approve", "base-url", "model", "api-key", "timeout", "stream", "trace"}
)

// checkMode refuses flags that don't go together. given are those on the command
// line.
func (s *settings) checkMode(rest []string, given map[string]bool) error {
	others := func(known []string) string {
		for _, name := range sortedNames(given) {
			if !slices.Contains(known, name) {
				return name
			}
		}
		return ""
	}
	switch {
	case len(rest) > 0 && given["approve"] && rest[0] == string(approveLater):
		return errors.New("give -approve=later in one word")
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q; the request is given with -prompt", rest[0])
	case given["state"] && strings.TrimSpace(s.state) == "":
		return errors.New("-state is empty; give a folder")
	case strings.ContainsFunc(s.state, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("-state holds a line break or another character that can't be shown; give another folder")
	case given["decide"] && s.resume:
		return errors.New("-decide and -resume are two steps: decide first, and go on then")
	case given["decide"] && strings.TrimSpace(s.decide) == "":
		return errors.New("-decide is empty; give the ID of the question")
	case given["decide"] && s.state == "":
		return errors.New("-decide needs the folder of the run; give it with -state")
	case given["decide"] && others(ofDecide) != "":
		return fmt.Errorf("-decide runs nothing; leave -%s out", others(ofDecide))
	case given["decide"]:
		return nil
	case given["yes"] || given["no"] || given["edit"]:
		return errors.New("-yes, -no and -edit decide a question; give its ID with -decide")
	case s.resume && s.state == "":
		return errors.New("-resume needs the folder of the run; give it with -state")
	case s.resume && others(ofResume) != "":
		return fmt.Errorf("-%s was settled when the run began; leave it out with -resume", others(ofResume))
	case s.resume && given["approve"] && s.approve != approveLater:
		return errors.New("a run that is resumed asks as it did before; leave -approve out, or give -approve=later")
	case s.resume:
		s.approve = approveLater
	case s.approve == approveLater && s.state == "":
		return errors.New("-approve=later needs a folder for the run; give it with -state")
	case s.state != "" && s.approve != approveLater:
		return errors.New("-state is for a run that is decided later; begin one with -approve=later, or give -decide or -resume")
	}
	return nil
}

// sortedNames returns the flags that were given.
func sortedNames(given map[string]bool) []string {
	var names []string
	for name, is := range given {
		if is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// decisionOf is the decision that the flags ask for. Neither its reason nor its
// arguments may hold a document number: they are kept, and the model reads them.
func decisionOf(yes bool, reason, args string, given map[string]bool) (hooks.Decision, error) {
	n := 0
	for _, name := range []string{"yes", "no", "edit"} {
		if given[name] {
			n++
		}
	}
	switch {
	case n != 1:
		return hooks.Decision{}, errors.New("-decide needs one of -yes, -no REASON and -edit JSON")
	case yes:
		return hooks.Decision{Verdict: hooks.Approve}, nil
	case given["no"] && strings.TrimSpace(reason) == "":
		return hooks.Decision{}, errors.New("-no is empty; give the reason, which the model reads")
	case given["no"] && policy.HideDocuments(reason) != reason:
		return hooks.Decision{}, errors.New("-no holds a document number; leave it out, the model reads the reason")
	case given["no"]:
		return hooks.Decision{Verdict: hooks.Reject, Reason: reason}, nil
	}
	if err := new(hooks.ToolCall).SetArguments(args); err != nil || strings.TrimSpace(args) == "" {
		return hooks.Decision{}, errors.New("-edit isn't one JSON object; give the arguments that are to run, like '{\"train\":307}'")
	}
	if policy.HideInJSON(args) != args {
		return hooks.Decision{}, errors.New("-edit holds a document number; leave it out")
	}
	return hooks.Decision{Verdict: hooks.Edit, Arguments: args}, nil
}
