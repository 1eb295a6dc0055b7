package policy

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// TurnBudget stops a run that takes more than limit turns, those of sub-agents
// included: turns cost money. It is a guard, because a budget that fails open
// is none. The count belongs to r, so r must belong to one run.
func TurnBudget(r *hooks.Registry, limit int) {
	var turns atomic.Int64
	hooks.On(hooks.PreStep, func(_ context.Context, step *hooks.Step) error {
		if step.Kind == hooks.StepTurn && turns.Add(1) > int64(limit) {
			return hooks.Abort(fmt.Sprintf("the budget of %d turns is used up", limit))
		}
		return nil
	}, hooks.In(r), hooks.AsGuard(), hooks.WithName("turn budget"))
}
