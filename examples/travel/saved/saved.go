// Package saved keeps a run of the agent loop that waits for a decision, so that
// another process can go on with it. A folder holds one run.
//
// What is kept is the conversation as the loop has it. What hooks take out of the
// messages of a single model call, and not of the history, is still in it: the
// folder is for nobody but its owner.
//
// A run is gone on with by one process at a time: [Lock] sees to that.
package saved

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

// Run is a run as the loop left it, as a rule in a turn some of whose tool calls
// have no result yet.
type Run struct {
	RunID   string   // of the execution, and of its next part
	Model   string   // the model's name
	Turn    int      // the turn that isn't over, from 1
	Offered []string // the tools that the model was offered in it
	// History is the conversation so far. Where it ends with a reply and results,
	// they are those of the turn. It holds nothing of a framework's own (Native).
	History []hooks.Message

	ToolCalls int // that have their result, over all turns
	Blocked   int // of these, the blocked ones and those with a withheld result
	Skipped   int // that weren't made because a turn had too many

	// Settings are the program's own: what it was told when the run began and has
	// to know when it goes on.
	Settings map[string]string
}

// Waiting returns the calls of the turn that have no result yet, in their order.
// There are none where the model is to speak next.
func (r Run) Waiting() []hooks.ToolRequest {
	at := r.last()
	if at < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.History[at].ToolCalls), func(c hooks.ToolRequest) bool {
		return slices.ContainsFunc(r.History[at+1:], func(m hooks.Message) bool { return m.ToolCallID == c.ID })
	})
}

// last returns where the last message is that is no result, or -1.
func (r Run) last() int {
	at := len(r.History) - 1
	for at >= 0 && r.History[at].Role == "tool" {
		at--
	}
	return at
}

// check says why a run can't be gone on with.
func (r Run) check() error {
	switch {
	case r.RunID == "":
		return errors.New("the run has no ID")
	case r.Model == "":
		return errors.New("the run has no model")
	case r.Turn < 1:
		return fmt.Errorf("the turn is %d; the first is 1", r.Turn)
	case r.ToolCalls < 0 || r.Blocked < 0 || r.Skipped < 0:
		return errors.New("a count of tool calls is negative")
	case len(r.History) == 0:
		return errors.New("the history is empty")
	}
	at := r.last()
	if at < 0 {
		return nil
	}
	open := map[string]bool{} // results are told apart by it
	for _, c := range r.History[at].ToolCalls {
		if c.ID == "" || open[c.ID] {
			return fmt.Errorf("messages[%d]: each tool call needs an ID of its own", at)
		}
		open[c.ID] = true
	}
	for i, m := range r.History[at+1:] {
		if !open[m.ToolCallID] {
			return fmt.Errorf("messages[%d] is the result of no call, or the second one of a call", at+1+i)
		}
		delete(open, m.ToolCallID)
	}
	return nil
}
