// Questions: how they are told, and how one is decided.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/examples/travel/policy"
	"github.com/loophooks/hooks/examples/travel/saved"
)

// shortID is how much of an ID is typed.
const shortID = 12

// decide decides a question of the run in the folder of s.state, which it shows
// first: the decision is for what is shown, and for nothing else.
func decide(ctx context.Context, s settings, by string, stdout io.Writer) error {
	run, err := saved.Read(s.state)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no run in %s that could wait for a decision", s.state)
	}
	if err != nil {
		return err
	}
	d, err := openDesk(s.state)
	if err != nil {
		return err
	}
	rec, err := findQuestion(ctx, d, run.RunID, s.decide)
	if err != nil {
		return err
	}
	if rec.State != desk.Open {
		return decided(rec)
	}
	w := &output{w: stdout}
	tellQuestion(w, &rec.Question)
	dec := s.decision
	dec.Digest, dec.By = rec.Question.Digest, by
	if dec.Verdict == hooks.Edit {
		fmt.Fprintf(w, "  instead    %s\n", policy.ForPeople(dec.Arguments))
	}
	if err := w.failure(); err != nil {
		return err // nothing is decided that nobody has seen
	}
	err = d.Decide(ctx, rec.Question.ID, dec)
	if errors.Is(err, desk.ErrDecided) { // meanwhile
		if now, lost := d.Get(ctx, rec.Question.ID); lost == nil {
			return decided(now)
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", map[hooks.Verdict]string{
		hooks.Approve: "Approved, once.",
		hooks.Reject:  "Rejected; the model reads the reason.",
		hooks.Edit:    "Approved, once, with these arguments, if the rules allow them.",
	}[dec.Verdict])
	tellResume(w, s)
	return w.failure()
}

// findQuestion returns the question of the run whose ID begins so.
func findQuestion(ctx context.Context, d *desk.Desk, runID, prefix string) (desk.Record, error) {
	var found []desk.Record
	for rec, err := range d.List(ctx, desk.Query{RootRunID: runID}) {
		if err != nil {
			return desk.Record{}, err
		}
		if strings.HasPrefix(rec.Question.ID, strings.ToLower(strings.TrimSpace(prefix))) {
			found = append(found, rec)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return desk.Record{}, fmt.Errorf("the run has no question %s; -resume tells what it waits for", prefix)
	}
	return desk.Record{}, fmt.Errorf("%d questions of the run begin with %s; give more of the ID", len(found), prefix)
}

// decided says why a question can't be decided any more.
func decided(rec desk.Record) error {
	what := map[desk.State]string{
		desk.Approved:  "it is approved; go on with -resume",
		desk.Rejected:  "it was rejected",
		desk.Used:      "it was approved, and the call is being made or broke off",
		desk.Done:      "it was approved, and the call has been made",
		desk.Expired:   "it has expired, which is a no",
		desk.Withdrawn: "it was withdrawn",
	}[rec.State]
	if by := rec.Decision.By; by != "" && rec.State != desk.Expired && rec.State != desk.Withdrawn {
		what += " (decided by " + by + ")"
	}
	return fmt.Errorf("question %s doesn't wait for a decision: %s", rec.Question.ID[:shortID], cmp.Or(what, "it is "+string(rec.State)))
}

// tellQuestion prints what is to be decided.
func tellQuestion(w io.Writer, q *hooks.Question) {
	fmt.Fprintf(w, "\nQuestion %s\n  %s\n", q.ID, policy.ForPeople(q.Prompt))
	fmt.Fprintf(w, "  tool       %s\n", policy.ForPeople(q.Tool))
	fmt.Fprintf(w, "  arguments  %s\n", policy.ForPeople(q.Arguments))
	if q.Again > 0 {
		fmt.Fprintf(w, "  again      approved %d times before, and nobody knows whether it was booked\n", q.Again)
	}
	if !q.Expires.IsZero() {
		fmt.Fprintf(w, "  until      %s\n", q.Expires.Local().Format("Monday, 2 January 2006, 15:04 MST"))
	}
}

// tellCommands prints how the question is decided.
func tellCommands(w io.Writer, s settings, q *hooks.Question) {
	command := command("-state", s.state, "-decide", q.ID[:shortID])
	fmt.Fprint(w, "Decide with one of\n")
	fmt.Fprintf(w, "  %s -yes\n", command)
	fmt.Fprintf(w, "  %s -no %s\n", command, quoted("too late in the day"))
	fmt.Fprintf(w, "  %s -edit %s\n", command, policy.ForPeople(quoted(q.Arguments)))
}

// tellResume prints how the run goes on.
func tellResume(w io.Writer, s settings) {
	args := []string{"-state", s.state, "-resume"}
	if s.from.baseURL == "-base-url" && !strings.Contains(s.baseURL, "@") { // no password
		args = append(args, "-base-url", s.baseURL)
	}
	fmt.Fprintf(w, "Go on with\n  %s\n", command(args...))
}

// hint says how a run goes on that broke off with err.
func hint(w io.Writer, s settings, err error) {
	if _, ok := errors.AsType[*brokeOff](err); ok {
		fmt.Fprint(w, "travel: the run isn't over. ")
		tellResume(w, s)
	}
}

// command is a line for a shell that runs this program with these arguments.
func command(args ...string) string {
	line := quoted(os.Args[0])
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(os.Args[0]), "/"), func(element string) bool { return strings.HasPrefix(element, "go-build") }) {
		line = "go run github.com/loophooks/hooks/examples/travel" // else the program is gone by then
	}
	for _, arg := range args {
		line += " " + quoted(arg)
	}
	return line
}

// quoted writes a word for a shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
