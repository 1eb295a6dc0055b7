package hookstest

// The desk of the kit: where the questions of a scenario wait for its decisions.

import (
	"context"
	"slices"
	"sync"

	"github.com/loophooks/hooks"
)

// desk is a [hooks.Desk] that decides as the scenario says.
type desk struct {
	mu     sync.Mutex
	decide func(q hooks.Question) (hooks.Decision, bool) // false while there is no decision
	asked  []hooks.Question                              // each once, by its ID
	used   map[string]bool                               // whose call has not ended, by ID
}

// atDesk gives the runs of the trial a desk. It must be called before run.
func (t *trial) atDesk(decide func(hooks.Question) (hooks.Decision, bool)) {
	t.desk = &desk{decide: decide, used: make(map[string]bool)}
	t.open()
}

func (d *desk) Ask(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used[q.ID] { // nothing that was decided before lets the call through again
		q.Again++
		q.Rebind()
	}
	if !slices.ContainsFunc(d.asked, func(other hooks.Question) bool { return other.ID == q.ID }) {
		d.asked = append(d.asked, *q)
	}
	decision, decided := d.decide(*q)
	if !decided {
		return hooks.Decision{}, false, nil
	}
	decision.Digest = q.Digest
	d.used[q.ID] = true
	return decision, true, nil
}

func (d *desk) Done(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used[id] = false
	return nil
}

// questions returns those that were put.
func (d *desk) questions() []hooks.Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}
