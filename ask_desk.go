package hooks

// Where questions go: to a desk, or to a person who decides at once.

import (
	"context"
	"slices"
	"strings"
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

// bodyCtx returns the ctx for the body of the seam: ctx, whose innermost frame is f.
// That of a tool call says which call it is to questions of sub-agents, where there
// is a desk to put them to.
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

// canAsk says whether a question could reach anybody.
func (f *frame) canAsk() bool {
	held := f.holds()
	return held.desk != nil || held.askable() != nil
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
