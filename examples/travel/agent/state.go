// What it takes to go on with a run: taking it out of the loop, and putting it
// back.

package agent

import (
	"slices"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/saved"
)

// save gives Save the run as it is.
func (r *run) save() error {
	if r.Save == nil {
		return nil
	}
	return r.Save(saved.Run{
		RunID: r.id, Model: r.ModelName, Turn: r.number, Offered: slices.Clone(r.offered),
		History:   clone(slices.Concat(r.result.History, r.open)),
		ToolCalls: r.result.ToolCalls, Blocked: r.result.Blocked, Skipped: r.result.Skipped,
	})
}

// restore puts the loop where it was. The turn that goes on is counted when it has
// passed its hooks again.
func (r *run) restore(s saved.Run) {
	history := clone(s.History)
	r.open = openTurn(history)
	r.id, r.number, r.offered = s.RunID, s.Turn, slices.Clone(s.Offered)
	r.result = Result{
		Turns: s.Turn - 1, ToolCalls: s.ToolCalls, Blocked: s.Blocked, Skipped: s.Skipped,
		History: history[:len(history)-len(r.open)],
	}
}

// openTurn returns the reply at the end of a history, and the results that there
// are of its calls, if one of these has none; and a reply without calls, which is
// the answer. Otherwise the model is next, and openTurn returns nil.
func openTurn(history []hooks.Message) []hooks.Message {
	at := len(history) - 1
	for at >= 0 && history[at].Role == "tool" {
		at--
	}
	if at < 0 || history[at].Role != "assistant" {
		return nil
	}
	open := history[at:]
	if calls := open[0].ToolCalls; len(calls) > 0 && len(unanswered(calls, open[1:])) == 0 {
		return nil
	}
	return open
}
