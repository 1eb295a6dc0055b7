package hookstest

// A desk that answers the questions of hooks by a script, and keeps what nobody
// has decided open.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
)

// DeskAnswer is what a [Desk] answers a question with. Make it with [Approves],
// [Rejects], [Edits], [Decides] or [Undecided].
type DeskAnswer struct {
	decision hooks.Decision
	tool     string
	decided  bool
}

// Approves lets the call run as it is.
func Approves() DeskAnswer { return Decides(hooks.Decision{Verdict: hooks.Approve}) }

// Rejects refuses the call for the reason given.
func Rejects(reason string) DeskAnswer {
	return Decides(hooks.Decision{Verdict: hooks.Reject, Reason: reason})
}

// Edits lets the call run with other arguments, a JSON object. The question must
// allow it (Question.May).
func Edits(arguments string) DeskAnswer {
	return Decides(hooks.Decision{Verdict: hooks.Edit, Arguments: arguments})
}

// Decides gives d. Where d has no Digest, it gets that of the question; one that
// it has stays, so that a test may see a decision for something else refused.
func Decides(d hooks.Decision) DeskAnswer { return DeskAnswer{decision: d, decided: true} }

// Undecided leaves the question open, and the run waits. So does a question that
// the script has nothing for: Undecided keeps the place of one among answers that
// are given in order.
func Undecided() DeskAnswer { return DeskAnswer{} }

// For returns the answer for questions about a tool alone, by name or pattern as
// in [hooks.MatchTool].
func (a DeskAnswer) For(tool string) DeskAnswer {
	a.tool = tool
	return a
}

// Desk is a [hooks.Desk] in memory that answers by a script. Give it to
// [hooks.WithDesk]. It gives a question the first answer of the script that fits
// and wasn't given yet. What there is no answer for stays open, also over several
// runs, and is asked again by a run that goes on: [Desk.Add] adds to the script
// meanwhile, and [Desk.Decide] decides one question.
//
// It keeps the rules of a desk: an approval is used up by one Ask, and a question
// is asked anew, with Again one higher, when its approval was used up; a rejection
// answers each Ask. Other arguments or another tool of the same call withdraw the
// question. It remembers nothing beyond the question (SameArguments), and nothing
// expires.
//
// Desk is safe for concurrent use.
type Desk struct {
	mu      sync.Mutex
	script  []DeskAnswer
	records []*deskRecord // in the order in which they were first asked
	asked   []hooks.Question
	ended   []string
	faults  []string
}

var _ hooks.Desk = (*Desk)(nil)

// deskRecord is one question.
type deskRecord struct {
	question hooks.Question // as it was asked last
	state    deskState
	decision *DeskAnswer // by Decide, until it is used; a rejection for good
	used     bool        // an approval was used up once
}

type deskState uint8

const (
	deskOpen deskState = iota
	deskRejected
	deskUsed
	deskDone
	deskWithdrawn
)

// NewDesk returns a Desk that answers so. When the test ends it fails t for
// answers that no question was given; for a call that the script let through a
// second time, since that is a call that ran twice; and where an end came of no
// use, or of a use no end.
func NewDesk(t testing.TB, answers ...DeskAnswer) *Desk {
	t.Helper()
	d := &Desk{script: slices.Clone(answers)}
	t.Cleanup(func() {
		t.Helper()
		for _, fault := range d.check() {
			t.Errorf("%s", fault)
		}
	})
	return d
}

// check returns what the test is to fail for.
func (d *Desk) check() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	faults := slices.Clone(d.faults)
	if n := len(d.script); n > 0 {
		faults = append(faults, fmt.Sprintf("the desk has %d answers left that no question was given; it was asked:%s", n, listAsked(d.asked)))
	}
	for _, rec := range d.records {
		if rec.decision != nil && rec.state != deskRejected {
			faults = append(faults, "nobody asked again about "+about(&rec.question)+", which was decided")
		}
		if rec.state == deskUsed {
			faults = append(faults, "the desk was never told that a call has ended: "+about(&rec.question))
		}
	}
	return faults
}

// Ask implements [hooks.Desk].
func (d *Desk) Ask(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rec := d.find(q.ID)
	if rec == nil {
		d.withdrawOthers(q)
		rec = &deskRecord{}
		d.records = append(d.records, rec)
	}
	q.Again = rec.question.Again
	if rec.state == deskUsed || rec.state == deskDone || rec.state == deskWithdrawn {
		q.Again++
		rec.state = deskOpen
	}
	q.Rebind()
	rec.question = *q
	d.asked = append(d.asked, *q)
	return d.answer(rec)
}

// answer decides about rec, if there is something to decide by.
func (d *Desk) answer(rec *deskRecord) (hooks.Decision, bool, error) {
	answer, scripted := rec.decision, false
	if answer == nil {
		answer, scripted = d.next(rec.question.Tool), true
	}
	if answer == nil || !answer.decided {
		return hooks.Decision{}, false, nil
	}
	decision := answer.decision
	if decision.Digest == "" {
		decision.Digest = rec.question.Digest
	}
	if decision.Verdict == hooks.Reject {
		rec.decision, rec.state = answer, deskRejected // for whoever asks again
		return decision, true, nil
	}
	if scripted && rec.used {
		d.faults = append(d.faults, "the script let the same call through twice: "+about(&rec.question))
	}
	rec.decision, rec.state, rec.used = nil, deskUsed, true
	return decision, true, nil
}

// next takes the first answer of the script for the tool, nil if there is none.
func (d *Desk) next(tool string) *DeskAnswer {
	i := slices.IndexFunc(d.script, func(a DeskAnswer) bool { return a.tool == "" || hooks.MatchTool(a.tool, tool) })
	if i < 0 {
		return nil
	}
	answer := d.script[i]
	d.script = slices.Delete(d.script, i, i+1)
	return &answer
}

func (d *Desk) find(id string) *deskRecord {
	i := slices.IndexFunc(d.records, func(rec *deskRecord) bool { return rec.question.ID == id })
	if i < 0 {
		return nil
	}
	return d.records[i]
}

// withdrawOthers withdraws the questions about the call of q that showed something
// else.
func (d *Desk) withdrawOthers(q *hooks.Question) {
	for _, rec := range d.records {
		other := &rec.question
		if rec.state == deskOpen && other.RootRunID == q.RootRunID && other.CallID == q.CallID && other.Key == q.Key && slices.Equal(other.Path, q.Path) {
			rec.state = deskWithdrawn
		}
	}
}

// Done implements [hooks.Desk].
func (d *Desk) Done(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, id)
	rec := d.find(id)
	if rec == nil || rec.state != deskUsed {
		fault := "the desk was told of the end of a call that it hasn't let through: question " + id
		d.faults = append(d.faults, fault)
		return fmt.Errorf("hookstest: %s", fault)
	}
	rec.state = deskDone
	return nil
}

// Add adds to the script, for questions that are open and for new ones.
func (d *Desk) Add(answers ...DeskAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.script = append(d.script, answers...)
}

// Decide decides the open question id, as it was asked last. The next run that
// asks it gets the answer; one that shows something else asks another question.
// It returns an error, and decides nothing, where there is no such question or it
// isn't open, and for [Undecided].
func (d *Desk) Decide(id string, answer DeskAnswer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	rec := d.find(id)
	switch {
	case rec == nil:
		return fmt.Errorf("hookstest: Decide: the desk wasn't asked the question %q", id)
	case rec.state != deskOpen:
		return fmt.Errorf("hookstest: Decide: the question about %s isn't open", about(&rec.question))
	case !answer.decided:
		return errors.New("hookstest: Decide: Undecided decides nothing")
	case answer.decision.Digest == "":
		answer.decision.Digest = rec.question.Digest
	}
	rec.decision = &answer
	return nil
}

// Open returns the questions that nobody has decided, in the order in which they
// were first asked. They are as they were asked last.
func (d *Desk) Open() []hooks.Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	var open []hooks.Question
	for _, rec := range d.records {
		if rec.state == deskOpen && rec.decision == nil {
			open = append(open, rec.question)
		}
	}
	return open
}

// Asked returns what was asked so far, each time that it was.
func (d *Desk) Asked() []hooks.Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

// Ended returns the IDs of the questions whose call has ended, in order.
func (d *Desk) Ended() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ended)
}

// about names the call that q is about.
func about(q *hooks.Question) string {
	return strings.Join(append(slices.Clone(q.Path), fmt.Sprintf("%s #%s %s", q.Tool, q.CallID, q.Arguments)), " > ")
}

func listAsked(qs []hooks.Question) string {
	if len(qs) == 0 {
		return " nothing"
	}
	var b strings.Builder
	for i := range qs {
		fmt.Fprintf(&b, "\n\t%d. %s", i+1, about(&qs[i]))
	}
	return b.String()
}
