package hooks

// Asking whether a tool call may run, where the decision may come later: one question
// and its answer. Where it goes is in ask_desk.go, and what the answers of a passage
// come to in ask_passage.go.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loophooks/hooks/internal/arguments"
	"github.com/loophooks/hooks/internal/errtree"
)

// Ask asks whether the call may run as it is now. It returns nil if it may, an
// abort if not, and a [*Suspended] while nobody has decided; a hook returns what
// it gets. After another answer than nil, or none because the hook didn't wait for
// it, the tool isn't run, whatever the hook returns.
//
//	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
//		return call.Ask(ctx, hooks.Question{Prompt: "Delete the file?"})
//	}, hooks.WithName("approval"), hooks.WithTools("delete_file"), hooks.WithPriority(-900))
//
// The question goes to the [Desk] of ctx. Without one a person is asked who was
// set by [WithHumanInput] or [SetHumanInput], and decides at once; never the
// default console, since standard input may be a server's wire. The answers y,
// yes, s, sim, 예 and 네 mean yes, any other no.
//
// A decision is for this call, with these arguments, and is used up by one
// passage of its seam, whatever comes of it; the retries of an around hook belong
// to that passage. A call that a later hook changes is refused. An [Edit] sets
// Input, as by SetArguments, and has all guards asked again. A verdict that q.May
// doesn't hold, a memory that q.Offer doesn't, and a decision for another digest
// are errors.
//
// The hook that asks should be the last guard: then nobody is asked about what
// another refuses. Give it a name, which is the Key of its questions: a hook without
// one is named after its place in the source, and a new version of the program
// wouldn't find what the old one asked. In one passage, hooks with the same Key ask
// once. Where hooks with different Keys ask about one call, the approval of the
// first is used up while the second waits, and the first is asked anew.
//
// What is bound is what Arguments shows: a field of a Go value that JSON leaves out
// isn't. Where an around hook changes the input of a call that was approved, it is
// asked about anew, and refused if nobody can decide at once: the question would be
// put again on each resumption, since the approval was used by then.
//
// Ask is for the hooks of [PreToolCall] in a tool seam, with their ctx. Elsewhere,
// for a call without an ID, with that of an earlier call in [RunTools], or outside of
// a run (RootRunID), where two calls could be taken for each other, and where nobody can be asked, it is an error, and the
// hook that returns it refuses the call, an ordinary one too. Of a call with
// unreadable arguments nobody is asked, and the model reads what is wrong. Ask
// is safe for concurrent use as far as the call is.
func (t *ToolCall) Ask(ctx context.Context, q Question) error {
	n := askedAt(ctx, t)
	if n == nil {
		return errNotAsking
	}
	a := n.questions()
	if !a.begin() {
		return errNotAsking
	}
	answer := askFailed("the desk panicked or ended its goroutine")
	defer func() { a.note(answer) }() // also where it panics
	answer = a.ask(ctx, n, t, q)
	return answer
}

var errNotAsking = askFailed("no pre hooks of this call run under this ctx; ask in a hook of PreToolCall, with its ctx, where the call goes through RunTool, RunTools or BeginTool")

// askError is why a question could not be put or its answer not be taken. A hook
// that returns it refuses the call, whether it is fail-closed or not.
type askError struct {
	problem string
	err     error // the cause, if there is one
}

func askFailed(problem string) error { return &askError{problem: problem} }

func (e *askError) Error() string {
	text := "hooks: Ask: " + e.problem
	if e.err != nil {
		text += ": " + errtree.Text(e.err)
	}
	return text
}

func (e *askError) Unwrap() error { return e.err }

// Suspended returns what the call waits for, nil if it doesn't: then it has a
// result.
func (t *ToolCall) Suspended() *Suspended { return findSuspended(t.Err) }

func (a *asking) ask(ctx context.Context, n *nest, t *ToolCall, q Question) error {
	held := frameOf(ctx).holds()
	by, err := fillQuestion(&q, t, held, n)
	if err != nil {
		return err
	}
	if approved, err := a.isApproved(q.ID, by); approved {
		return err
	}
	var desk Desk
	if held.desk != nil {
		desk = held.desk.desk
	} else if person := held.askable(); person != nil {
		desk = humanDesk{person}
	} else {
		return askFailed("there is nobody to ask; give the ctx of the run a desk by WithDesk, or a person by WithHumanInput")
	}
	decision, decided, err := desk.Ask(ctx, &q)
	switch {
	case err != nil:
		return &askError{"there is no answer", err}
	case !decided && a.wasApproved(q.Key):
		return Abort("an around hook changes what was approved; change it in a hook of the pre point, before anybody is asked")
	case !decided:
		return &Suspended{Questions: []Question{q}}
	case decision.Verdict == Reject && decision.Digest == q.Digest:
		return Abort(reasonOr(decision.Reason, "not approved"))
	}
	a.use(ctx, usedUp{desk, q.ID}) // also of a decision that is refused now
	return a.accept(t, &q, decision, by)
}

func reasonOr(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}

// accept takes a decision by which the call runs.
func (a *asking) accept(t *ToolCall, q *Question, d Decision, by *Registration) error {
	switch {
	case d.Digest != q.Digest:
		return askFailed("the decision is for another question: its digest differs")
	case !q.Allows(d.Verdict):
		return askFailed(fmt.Sprintf("the verdict %q isn't one that the question may have", d.Verdict))
	case !q.Offers(d.Remember):
		return askFailed(fmt.Sprintf("the memory %q isn't one that the question offers", d.Remember))
	}
	switch d.Verdict {
	case Approve:
	case Edit:
		if err := editArguments(t, d.Arguments); err != nil {
			return err
		}
		var err error
		if q.Arguments, err = canonicalArguments(t); err != nil {
			return err
		}
		q.identify()
	default:
		return askFailed(fmt.Sprintf("the verdict %q is unknown", d.Verdict))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.approved == nil {
		a.approved, a.keys = make(map[string]*Registration), make(map[string]struct{})
	}
	a.approved[q.ID], a.keys[q.Key] = by, struct{}{}
	a.edited = a.edited || d.Verdict == Edit
	return nil
}

// editArguments sets the arguments of an Edit, if they can be read. Blank ones are
// taken for forgotten here, and not for none.
func editArguments(t *ToolCall, raw string) error {
	if strings.TrimSpace(raw) == "" {
		return askFailed("the decision edits the call and has no arguments; an object without any is {}")
	}
	if _, err := arguments.Parse(raw); err != nil {
		return &askError{"the edited arguments can't be read", err}
	}
	return t.SetArguments(raw)
}

// canonicalArguments returns the one text of all inputs that mean the same, so
// that a call which is read anew from what was saved has the digest it had: the
// keys of structs are sorted too.
func canonicalArguments(t *ToolCall) (string, error) {
	text, err := t.Arguments()
	if err != nil {
		return "", &askError{"the arguments can't be shown", err}
	}
	input, err := arguments.Parse(text)
	if err == nil {
		text, err = arguments.Format(input)
	}
	if err != nil {
		return "", &askError{"the arguments can't be shown", err}
	}
	return text, nil
}

// fillQuestion completes what a hook asks. It returns the hook by whose name the
// question goes, nil if it has a Key of its own.
func fillQuestion(q *Question, t *ToolCall, held *carried, n *nest) (by *Registration, err error) {
	if t.argErr != nil { // the tool won't run, and the model reads why
		return nil, &HookAborted{Reason: notRunReason(t.argErr), Err: t.argErr}
	}
	if h := n.questions().running.Load(); q.Key == "" && h != nil {
		by, q.Key = h.reg, h.reg.Name()
	}
	q.about(t, held)
	switch {
	case q.RootRunID == "":
		return nil, askFailed("the call belongs to no run; open it under RunExecution, or set its RootRunID")
	case q.CallID == "":
		return nil, askFailed("the call has no ID; set ToolCall.ID to the one that the model gave it")
	case t.twin:
		return nil, askFailed(fmt.Sprintf("two calls of the turn have the ID %q, and couldn't be told apart when one of them is resumed; give each an ID of its own", t.ID))
	case slices.Contains(q.Path, ""):
		return nil, askFailed("a tool call around this one has no ID; set ToolCall.ID to the one that the model gave it")
	case q.Key == "" && (held.desk != nil || held.askable() != nil): // of the hook's own making
		return nil, askFailed("the question has no Key; set one, or give the desk or the person to the ctx of the run and not to that of the hook")
	}
	if q.Arguments, err = canonicalArguments(t); err != nil {
		return nil, err
	}
	if q.Prompt == "" {
		q.Prompt = "The agent wants to run " + visible(t.Name) + "."
	}
	q.May, q.Offer, q.Audience = slices.Clone(q.May), slices.Clone(q.Offer), slices.Clone(q.Audience)
	q.Details = maps.Clone(q.Details)
	q.identify()
	return by, nil
}

// about sets what says which call the question is about.
func (q *Question) about(t *ToolCall, held *carried) {
	q.RunID, q.RootRunID, q.Tenant, q.AgentRole = t.RunID, t.RootRunID, t.Tenant, t.AgentRole
	if held.run != nil { // whatever hooks made of it
		q.RootRunID = held.run.root
	}
	q.CallID, q.Tool, q.Path, q.Again = t.ID, t.Name, slices.Clone(held.desk.around()), 0
}
