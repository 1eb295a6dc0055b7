package hooks

// Asking whether a tool call may run, where the decision may come later.

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/arguments"
	"github.com/loophooks/hooks/internal/errtree"
)

// Desk is where questions wait for a decision. Package desk has one that keeps
// them in memory, in files or in a database.
//
// Its methods are called from any goroutine. Implementations decide by their own
// clock when a question has expired, which is a rejection.
type Desk interface {
	// Ask puts q, or finds it by its ID, and uses up its decision; false says that
	// there is none yet, also where another Ask was faster to use it. A desk that
	// finds the decision used up already raises q.Again, calls q.Rebind and asks
	// anew: whether that call ran isn't known. A decision carries the Digest that q
	// has then. Other questions with the RootRunID, Path, CallID and Key of q are
	// withdrawn by it. q is the desk's own until Ask returns.
	Ask(ctx context.Context, q *Question) (Decision, bool, error)

	// Done says that the passage has ended for which Ask used up the decision about
	// the question id, whatever came of the call: a later guard may have refused
	// it, or have said that it waits. It is called once for each decision but a
	// rejection, with a ctx that isn't done, and an error of it is logged.
	Done(ctx context.Context, id string) error
}

// deskNode is the desk of a ctx, and the IDs of the tool calls around.
type deskNode struct {
	desk Desk
	path []string
}

// WithDesk returns a ctx under which [ToolCall.Ask] puts its questions to d. Give it
// to the outermost run: which tool calls a question is inside of (Question.Path) is
// known from there on, and tells the calls of two sub-agents apart. An inner desk
// takes the place of an outer one and keeps that. It panics if d is nil.
func WithDesk(ctx context.Context, d Desk) context.Context {
	if d == nil {
		panic("hooks: WithDesk: the Desk is nil")
	}
	ctx = nonNil(ctx)
	outer := frameOf(ctx)
	return withDesk(ctx, outer, d, outer.holds().desk.around())
}

// around returns the IDs of the tool calls around; n may be nil.
func (n *deskNode) around() []string {
	if n == nil {
		return nil
	}
	return n.path
}

func withDesk(ctx context.Context, outer *frame, d Desk, path []string) *frame {
	node := &struct {
		frame
		carried carried
		desk    deskNode
	}{newFrame(ctx, outer), *outer.holds(), deskNode{d, path}}
	node.carried.desk = &node.desk
	node.frame.carried = &node.carried
	return &node.frame
}

// bodyCtx returns the ctx for the body of the seam: ctx, whose innermost frame is
// f. That of a tool call says which
// call it is to questions of sub-agents, where there is a desk to put them to.
func (s *seam) bodyCtx(ctx context.Context, f *frame, c any) context.Context {
	if s.kind != toolSeam || f.holds().desk == nil {
		return ctx
	}
	return askingCtx(ctx, f, c.(*ToolCall))
}

func askingCtx(ctx context.Context, f *frame, t *ToolCall) context.Context {
	at := f.holds().desk
	return withDesk(ctx, f, at.desk, append(slices.Clip(at.path), t.ID))
}

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
// for a call without an ID or outside of a run (RootRunID), where two calls could
// be taken for each other, and where nobody can be asked, it is an error, and the
// hook that returns it refuses the call, an ordinary one too. Of a call with
// unreadable arguments nobody is asked, and the model reads what is wrong. Ask
// is safe for concurrent use as far as the call is.
func (t *ToolCall) Ask(ctx context.Context, q Question) error {
	n := askedAt(ctx, t)
	if n == nil {
		return askFailed("no pre hooks of this call run under this ctx; ask in a hook of PreToolCall, with its ctx, where the call goes through RunTool, RunTools or BeginTool")
	}
	a := n.questions()
	a.begin()
	answer := askFailed("the desk panicked or ended its goroutine")
	defer func() { a.note(answer) }() // also where it panics
	answer = a.ask(ctx, n, t, q)
	return answer
}

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

// asking is what was asked in one passage of a tool seam.
type asking struct {
	running atomic.Pointer[hook] // the hook that runs, as far as questions could reach anybody

	mu       sync.Mutex
	open     int                      // calls of Ask that haven't returned
	approved map[string]*Registration // who asked, by the ID of the question
	keys     map[string]struct{}      // of those questions
	used     []usedUp                 // decisions, until the passage ends
	refused  error                    // of an Ask that didn't say yes; the first
	waits    []Question               // without a decision
	edited   bool                     // guards have to be asked again
	inBody   bool                     // guards are asked again, about what an around hook made of the call
	over     bool                     // the passage has ended
}

// usedUp is a decision that let the call through.
type usedUp struct {
	desk Desk
	id   string
}

// askedAt returns the hooks of the tool seam of t whose pre point fires, as far as
// ctx comes from them.
func askedAt(ctx context.Context, t *ToolCall) *nest {
	f := frameOf(ctx)
	if f == nil || t == nil {
		return nil
	}
	for n := f.nest; n != nil && !n.observes; n = n.outer { // onlookers decide nothing
		if n.call == t && atomic.LoadUint32(&n.state) == 0 {
			return n
		}
	}
	return nil
}

// questions returns what was asked in the passage.
func (n *nest) questions() *asking {
	if a := n.asked.Load(); a != nil {
		return a
	}
	n.asked.CompareAndSwap(nil, &asking{})
	return n.asked.Load()
}

// canAsk says whether a question could reach anybody.
func (f *frame) canAsk() bool {
	held := f.holds()
	return held.desk != nil || held.askable() != nil
}

// begin counts a call of Ask, until note has what came of it.
func (a *asking) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
}

// note keeps what an Ask answered.
func (a *asking) note(answer error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
	if answer == nil {
		return
	}
	if waits, ok := answer.(*Suspended); ok {
		for _, q := range waits.Questions {
			if !slices.ContainsFunc(a.waits, func(other Question) bool { return other.ID == q.ID }) {
				a.waits = append(a.waits, q)
			}
		}
	} else if a.refused == nil {
		a.refused = answer
	}
}

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

// isApproved says whether the question was approved before in this passage. Two
// hooks without names that were registered at one place have one Key and aren't
// one question for that.
func (a *asking) isApproved(id string, by *Registration) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked, approved := a.approved[id]
	if approved && asked != by && by != nil && by.name == "" {
		return true, askFailed("two hooks ask the same question; give them names by WithName, or the questions a Key")
	}
	return approved, nil
}

// use keeps a decision that was used up, until the passage ends.
// enterBody says that the call has passed its pre point.
func (a *asking) enterBody() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inBody = true
}

// wasApproved says whether the call was approved under the key in front of its body,
// where an around hook has changed it since.
func (a *asking) wasApproved(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, approved := a.keys[key]
	return a.inBody && approved
}

func (a *asking) use(ctx context.Context, u usedUp) {
	a.mu.Lock()
	over := a.over
	if !over {
		a.used = append(a.used, u)
	}
	a.mu.Unlock()
	if over { // the hook didn't wait for the answer
		u.tell(context.WithoutCancel(ctx))
	}
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

// changed says whether the call that runs isn't the one that was approved.
func (a *asking) changed(t *ToolCall, held *carried) bool {
	if len(a.keys) == 0 {
		return false
	}
	var q Question
	q.about(t, held)
	var err error
	if q.Arguments, err = canonicalArguments(t); err != nil {
		return true
	}
	for q.Key = range a.keys {
		q.identify()
		if _, approved := a.approved[q.ID]; !approved {
			return true
		}
	}
	return false
}

// settle makes whole what the hooks of a pre point made of what they were
// answered: outcome is what they returned.
func (a *asking) settle(p *point, t *ToolCall, held *carried, outcome error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	waits, suspended := outcome.(*Suspended)
	switch {
	case outcome != nil && !suspended:
		return outcome
	case a.refused != nil:
		if abort := findAbort(a.refused); abort != nil {
			refused := *abort
			refused.Point = p.name
			return &refused
		}
		return &HookAborted{Reason: "the question whether it may run could not be put", Point: p.name, Err: a.refused}
	case a.open > 0:
		return &HookAborted{Reason: "a hook didn't wait for the answer to its question", Point: p.name}
	case outcome == nil && len(a.waits) == 0 && a.changed(t, held):
		return &HookAborted{
			Reason: "it was changed after it had been approved", Point: p.name,
			Err: askFailed("a later hook changed what was approved; let the last guard ask, by a low priority"),
		}
	case len(a.waits) == 0:
		return outcome
	case !suspended:
		return &Suspended{Questions: slices.Clone(a.waits)}
	}
	all := slices.Clone(waits.Questions)
	for _, q := range a.waits {
		if !slices.ContainsFunc(all, func(other Question) bool { return other.ID == q.ID }) {
			all = append(all, q)
		}
	}
	if len(all) == len(waits.Questions) {
		return outcome
	}
	return &Suspended{Questions: all, Err: waits.Err}
}

// takeEdited says, once, that a decision has changed the arguments since the
// guards were asked.
func (a *asking) takeEdited() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	edited := a.edited
	a.edited = false
	return edited
}

// maxEdits is how often the guards of a call are asked again because a decision
// edited it.
const maxEdits = 16

// askEdited asks the guards again as long as decisions edit the call.
func askEdited[C any](r *round, rec *recorder, c *C, a *asking) error {
	for range maxEdits {
		if !a.takeEdited() {
			return nil
		}
		if err := runGuards(r, rec, c); err != nil {
			return err
		}
	}
	return &HookAborted{Reason: "its arguments were edited again and again", Point: r.p.name}
}

// done tells the desks that the call has ended that their decisions let through.
func (a *asking) done(ctx context.Context) {
	a.mu.Lock()
	used := a.used
	a.used, a.over = nil, true
	a.mu.Unlock()
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	tellAll(ctx, used)
}

// tellAll tells one desk after the other, the next one also after one that ended
// the goroutine.
func tellAll(ctx context.Context, used []usedUp) {
	if len(used) > 0 {
		defer tellAll(ctx, used[1:])
		used[0].tell(ctx)
	}
}

func (u usedUp) tell(ctx context.Context) {
	var r recovery
	var err error
	func() {
		defer r.catch()
		err = u.desk.Done(ctx, u.id)
		r.returned = true
	}()
	if r.panicked != nil {
		err = r.panicked
	}
	if err != nil {
		logError(ctx, "hooks: the desk could not be told that a call has ended; it may be asked about once more", err, slog.String("question", u.id))
	}
}

// humanDesk asks a person, who decides at once.
type humanDesk struct{ human *human }

func (d humanDesk) Ask(ctx context.Context, q *Question) (Decision, bool, error) {
	answer, err := d.human.ask(ctx, q.text(), `Type "yes" to allow it:`)
	if err != nil {
		return Decision{}, false, err
	}
	verdict := Reject
	if saysYes(answer) {
		verdict = Approve
	}
	return Decision{Verdict: verdict, Digest: q.Digest}, true, nil
}

func (humanDesk) Done(context.Context, string) error { return nil }

// saysYes tells what means yes; anything else is a no.
func saysYes(answer string) bool {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes", "s", "sim", "예", "네":
		return true
	}
	return false
}
