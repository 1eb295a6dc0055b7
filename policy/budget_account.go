package policy

// What a run has used of a budget.

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/loophooks/hooks"
)

// Bill is what a run has used so far, as a [Budget] counts it.
type Bill struct {
	// Name is that of the Budget.
	Name string

	// ToolCalls and ModelCalls are how often bodies have run, failures included.
	ToolCalls, ModelCalls int

	// Unmetered is how many of ModelCalls succeeded without a Usage, so that an estimate
	// stands for them. Of those that failed what was sent is estimated.
	Unmetered int

	// Usage is the sum of the model calls.
	Usage hooks.Usage

	// Cost is what Usage costs; models without a price cost nothing here.
	Cost Money

	// Time is how long the run has gone on.
	Time time.Duration
}

// Spent returns the bill of each [Budget] for the run that ctx is in, in the order in
// which they began to count. Those of calls that still run aren't in it. It returns nil
// outside of runs, and is safe for concurrent use.
func Spent(ctx context.Context) []Bill {
	open, ok := openAccounts.Root(ctx)
	if !ok {
		return nil
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	var bills []Bill
	for _, a := range open.all {
		bills = append(bills, a.current())
	}
	return bills
}

// openAccounts are those of each run, for Spent.
var openAccounts hooks.RunVar[accountList]

type accountList struct {
	mu  sync.Mutex
	all []*account // protected by mu
}

// account is what one run has used of one budget, and what its calls have reserved.
type account struct {
	of    *budget
	start time.Time

	mu       sync.Mutex
	bill     Bill // protected by mu, as is the rest; without Time
	tools    int  // that run
	models   int  // that run
	expected struct {
		tokens int
		cost   Money
	}
}

// reservation is what a run of a model is expected to use.
type reservation struct {
	usage hooks.Usage
	price Price
}

func (r *reservation) tokens() int { return plus(r.usage.In, r.usage.Out) }
func (r *reservation) cost() Money { return r.price.Cost(r.usage) }

// open makes an account in the run of ctx.
func (a *account) open(ctx context.Context, b *budget) {
	a.of, a.start, a.bill.Name = b, time.Now(), b.name
	if list, ok := openAccounts.Root(ctx); ok {
		list.mu.Lock()
		defer list.mu.Unlock()
		list.all = append(list.all, a)
	}
}

// current is the bill by now.
func (a *account) current() Bill {
	a.mu.Lock()
	defer a.mu.Unlock()
	bill := a.bill
	bill.Time = time.Since(a.start)
	return bill
}

// deadline returns a ctx that ends with the time of the budget.
func (a *account) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.of.Time == 0 {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, a.start.Add(a.of.Time), ErrBudget)
}

// modelsRun says whether model calls run.
func (a *account) modelsRun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.models > 0
}

// lookModel says why a model call can't run, "" if it can.
func (a *account) lookModel(model string, expected hooks.Usage) (reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refuseModel(model, &reservation{expected, a.of.Prices[model]})
}

// lookTool says why a tool call can't run, "" if it can.
func (a *account) lookTool() (reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refuseTool()
}

// reserveModel is lookModel, and takes what is expected if the call can run.
func (a *account) reserveModel(model string, expected hooks.Usage) (*reservation, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &reservation{expected, a.of.Prices[model]}
	if reason := a.refuseModel(model, r); reason != "" {
		return nil, reason
	}
	a.models++
	a.expected.tokens += r.tokens()
	a.expected.cost += r.cost()
	return r, ""
}

// settleModel charges for what a run has used in place of what it was expected to. It
// ended with err; one that never came to its body costs nothing.
func (a *account) settleModel(r *reservation, ran bool, used hooks.Usage, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.models--
	a.expected.tokens -= r.tokens()
	a.expected.cost -= r.cost()
	if !ran {
		return
	}
	if used = cleaned(used); used == (hooks.Usage{}) {
		used = r.usage
		if err != nil {
			used.Out, used.Reasoning = 0, 0
		} else {
			a.bill.Unmetered++
		}
	}
	a.bill.ModelCalls++
	a.bill.Usage = usageSum(a.bill.Usage, used)
	a.bill.Cost = a.bill.Cost.Add(r.price.Cost(used))
}

// reserveTool is lookTool, and takes a tool call if it can run.
func (a *account) reserveTool() (reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reason := a.refuseTool(); reason != "" {
		return reason
	}
	a.tools++
	return ""
}

func (a *account) settleTool(ran bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tools--
	if ran {
		a.bill.ToolCalls++
	}
}

// refuseModel says why a model call can't run. The caller holds mu.
func (a *account) refuseModel(model string, r *reservation) (reason string) {
	b := a.of
	_, priced := b.Prices[model]
	tokens := plus(a.bill.Usage.In, a.bill.Usage.Out)
	switch {
	case b.ModelCalls > 0 && a.bill.ModelCalls+a.models >= b.ModelCalls:
		return usedUp(countOf(b.ModelCalls, "model call"))
	case b.Cost > 0 && !priced:
		return "no price is known for this model"
	case b.Tokens > 0 && a.full(int64(tokens), int64(a.expected.tokens), int64(r.tokens()), int64(b.Tokens)):
		return usedUp(countOf(b.Tokens, "token"))
	case b.Cost > 0 && a.full(int64(a.bill.Cost), int64(a.expected.cost), int64(r.cost()), int64(b.Cost)):
		return usedUp(b.Cost.String())
	}
	return a.late()
}

// full says whether a model call has to wait for a next run: what others haven't
// reserved of the limit is used up, or too little for what is expected.
func (a *account) full(spent, reserved, expected, limit int64) bool {
	return spent >= limit || a.models > 0 && expected > limit-spent-reserved
}

// refuseTool says why a tool call can't run. The caller holds mu.
func (a *account) refuseTool() (reason string) {
	if limit := a.of.ToolCalls; limit > 0 && a.bill.ToolCalls+a.tools >= limit {
		return usedUp(countOf(limit, "tool call"))
	}
	return a.late()
}

func (a *account) late() (reason string) {
	if limit := a.of.Time; limit > 0 && time.Since(a.start) >= limit {
		return usedUp(limit.String())
	}
	return ""
}

// usedUp tells the model what it can still do.
func usedUp(budget string) string {
	return fmt.Sprintf("the run's budget of %s is used up; answer with what you have", budget)
}
