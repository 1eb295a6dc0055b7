package policy

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// TurnBudget stops a run that takes more than limit turns, those of sub-agents
// included: turns cost money. It is a guard, because a budget that fails open
// is none, and a turn outside of a run is refused. Each run has a count of its
// own, whatever shares r. A run that is resumed under r has used up spent turns
// before.
func TurnBudget(r *hooks.Registry, limit, spent int) {
	turns := new(hooks.RunVar[atomic.Int64])
	hooks.Guard(hooks.ExecutionStart, func(ctx context.Context, x *hooks.Execution) error {
		if n, ok := turns.Of(ctx); ok && x.Resumed {
			n.Store(int64(spent))
		}
		return nil
	}, hooks.In(r), hooks.WithName("turn budget"))
	hooks.Guard(hooks.PreStep, func(ctx context.Context, step *hooks.Step) error {
		if step.Kind != hooks.StepTurn {
			return nil
		}
		n, ok := turns.Root(ctx)
		if !ok {
			return hooks.Abort("the turn belongs to no run that it could be counted for")
		}
		if n.Add(1) > int64(limit) {
			return hooks.Abort(fmt.Sprintf("the budget of %d turns is used up", limit))
		}
		return nil
	}, hooks.In(r), hooks.WithName("turn budget"))
}
