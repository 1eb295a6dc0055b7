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

// bill is what a run has used so far. The calls of a run may be made side by
// side, so that it is locked.
type bill struct {
	mu sync.Mutex // guards the rest
	sums
}

type sums struct {
	calls    int
	tokens   hooks.Usage
	cost     int64 // in billionths of a dollar
	unpriced int   // calls of models without a price, which aren't free
}

// ledger keeps a bill for each run. Its methods are safe for concurrent use.
type ledger struct {
	prices map[string]price // by model
	budget int64            // of a run, in billionths of a dollar
	bills  hooks.RunVar[bill]
}

// charge is a watch, since what a hook withholds was paid for too. It enters
// what the provider says it has counted: counting the messages here once more
// would miss tools, images and what a cache has saved. The bill is the one of
// the outermost run, so that sub-agents have no budget of their own.
func (l *ledger) charge(ctx context.Context, m *hooks.ModelCall, _ error) {
	b, ok := l.bills.Root(ctx)
	if !ok || m.Answered() { // by a hook: no model was called
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	b.tokens.In += m.Usage.In
	b.tokens.Out += m.Usage.Out
	if p, ok := l.prices[m.Model]; ok {
		b.cost += int64(m.Usage.In)*p.in + int64(m.Usage.Out)*p.out
	} else {
		b.unpriced++
	}
}

// check is a guard. The call that goes over the budget is the last one: what
// it will cost isn't known before.
func (l *ledger) check(ctx context.Context, _ *hooks.ModelCall) error {
	if _, ok := l.bills.Root(ctx); !ok {
		return hooks.Abort("the call belongs to no run that it could be charged to")
	}
	if l.sums(ctx).cost >= l.budget {
		return hooks.Abort("the budget of the run is used up")
	}
	return nil
}

// sums returns the sums of the run that ctx is in.
func (l *ledger) sums(ctx context.Context) sums {
	b, ok := l.bills.Root(ctx)
	if !ok {
		return sums{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sums
}

// Tokens and cost of each run, with a budget. The runs go on at the same time
// and share the hooks. Each has a bill of its own, which needs no clearing: it
// goes with the run.
func Example_cost() {
	costs := &ledger{
		prices: map[string]price{"large": {in: 3000, out: 15000}},
		budget: 10_000_000, // one cent
	}
	reg := hooks.NewRegistry()
	hooks.Guard(hooks.PreModelCall, costs.check, hooks.In(reg), hooks.WithName("budget"))
	hooks.Watch(hooks.PostModelCall, costs.charge, hooks.In(reg), hooks.WithName("accounting"))
	ctx := hooks.WithScope(context.Background(), reg)

	run := func(usage hooks.Usage) (total sums, err error) {
		err = hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			defer func() { total = costs.sums(ctx) }()
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
		return total, err
	}
	var wg sync.WaitGroup
	var short, long sums
	var shortErr, longErr error
	wg.Go(func() { short, shortErr = run(hooks.Usage{In: 200, Out: 20}) })
	wg.Go(func() { long, longErr = run(hooks.Usage{In: 2000, Out: 20}) })
	wg.Wait()

	for _, s := range []sums{short, long} {
		fmt.Printf("%d calls, %d tokens in, %d out, $%.4f\n", s.calls, s.tokens.In, s.tokens.Out, float64(s.cost)/1e9)
	}
	fmt.Println(shortErr)
	fmt.Println(longErr)
	// Output:
	// 3 calls, 600 tokens in, 60 out, $0.0027
	// 2 calls, 4000 tokens in, 40 out, $0.0126
	// <nil>
	// hooks: pre_model_call aborted by budget: the budget of the run is used up
}
