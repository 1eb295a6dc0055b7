package hooks_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/loophooks/hooks"
)

// price is what a token costs, in billionths of a dollar: 3 dollars for a
// million tokens are 3000. Sums of whole numbers stay exact.
type price struct{ in, out int64 }

// bill is what a run has used so far.
type bill struct {
	calls    int
	tokens   hooks.Usage
	cost     int64 // in billionths of a dollar
	unpriced int   // calls of models without a price, which aren't free
}

// ledger keeps a bill for each run. Its methods are safe for concurrent use.
type ledger struct {
	prices map[string]price // by model
	budget int64            // of a run, in billionths of a dollar

	mu    sync.Mutex
	bills map[string]bill // by run id; guarded by mu
}

// charge enters what the provider says it has counted. Counting the messages
// here once more would miss tools, images and what a cache has saved.
func (l *ledger) charge(_ context.Context, m *hooks.ModelCall) error {
	if m.Answered() {
		return nil // by a hook: no model was called
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bills[m.RunID]
	b.calls++
	b.tokens.In += m.Usage.In
	b.tokens.Out += m.Usage.Out
	if p, ok := l.prices[m.Model]; ok {
		b.cost += int64(m.Usage.In)*p.in + int64(m.Usage.Out)*p.out
	} else {
		b.unpriced++
	}
	l.bills[m.RunID] = b
	return nil
}

// check is a guard. The call that goes over the budget is the last one: what
// it will cost isn't known before.
func (l *ledger) check(_ context.Context, m *hooks.ModelCall) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bills[m.RunID].cost >= l.budget {
		return hooks.Abort("the budget of the run is used up")
	}
	return nil
}

// take returns the bill of a run that has ended, and forgets it.
func (l *ledger) take(runID string) bill {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bills[runID]
	delete(l.bills, runID)
	return b
}

// Tokens and cost of each run, with a budget. The runs go on at the same time
// and share the hooks; what keeps their bills apart is the RunID, which model
// calls get from the execution that they are made in.
func Example_cost() {
	costs := &ledger{
		prices: map[string]price{"large": {in: 3000, out: 15000}},
		budget: 10_000_000, // one cent
		bills:  make(map[string]bill),
	}
	reg := hooks.NewRegistry()
	hooks.On(hooks.PreModelCall, costs.check, hooks.In(reg), hooks.AsGuard(), hooks.WithName("budget"))
	hooks.On(hooks.PostModelCall, costs.charge, hooks.In(reg), hooks.WithName("accounting"))
	ctx := hooks.WithScope(context.Background(), reg)

	run := func(id string, usage hooks.Usage) error {
		x := &hooks.Execution{Caller: hooks.Caller{RunID: id}}
		return hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
			for range 3 {
				m := &hooks.ModelCall{Model: "large"}
				err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
					m.Response, m.Usage = "…", usage
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	var wg sync.WaitGroup
	var short, long error
	wg.Go(func() { short = run("short", hooks.Usage{In: 200, Out: 20}) })
	wg.Go(func() { long = run("long", hooks.Usage{In: 2000, Out: 20}) })
	wg.Wait()

	for _, id := range []string{"short", "long"} {
		b := costs.take(id)
		fmt.Printf("%s: %d calls, %d tokens in, %d out, $%.4f\n",
			id, b.calls, b.tokens.In, b.tokens.Out, float64(b.cost)/1e9)
	}
	fmt.Println(short)
	fmt.Println(long)
	// Output:
	// short: 3 calls, 600 tokens in, 60 out, $0.0027
	// long: 2 calls, 4000 tokens in, 40 out, $0.0126
	// <nil>
	// hooks: pre_model_call aborted by budget: the budget of the run is used up
}
