package policy

// Budgets of runs.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/loophooks/hooks"
)

// ErrBudget is the Err of an abort by which a Budget refuses a call, and the cause of a
// ctx whose time is up. Test for it with [errors.Is].
var ErrBudget = errors.New("policy: the run's budget is used up")

// Budget limits what a run may use, its sub-agents included: calls, tokens, money and
// time. A limit of 0 is none, and one is needed.
//
//	policy.Budget{
//		Cost:   policy.USD(5),
//		Prices: map[string]policy.Price{"large": {In: policy.USD(3), Out: policy.USD(15)}},
//	}.Register()
//
// Guards at [hooks.PreModelCall] and [hooks.PreToolCall] of priority -800 refuse calls
// for which nothing is left, and take nothing. Around hooks at the bodies of
// models and tools, fail-closed, of priority -900 and so inside of the others, reserve
// before each run of the body what it is expected to use, and settle with what it used,
// also where it fails, panics or is cancelled. So retries are charged each, and
// what is answered, cached or refused is not: of two budgets, the outer one isn't
// charged for a run that the inner one refuses. Register a budget in the innermost
// scope in which hooks retry: of an around hook of a scope inside of its own it sees
// one run. Begin forms have no body to wrap, and return an error.
//
// A model call runs while the limit isn't reached, as long as no other runs. If others
// do, what is expected of it has to fit into what is left beside what they have
// reserved. So one call may go over a limit, since what it will use isn't known
// before, and calls at the same time don't do so together. Which of them run isn't
// promised. Tokens and money stop model calls only; tool calls are stopped by
// ToolCalls and Time.
//
// What was used is the Usage that the body has set. A run without one counts as
// estimated, and in [Bill].Unmetered; where it failed, too, what was sent is
// charged, without an answer. Negative counts are 0, and CachedIn is at most
// In. With Cost, a call of a model without a price is refused, and so is one that
// doesn't name its model.
//
// The model, or who called it, reads one of
//
//	the run's budget of 20 tool calls is used up; answer with what you have
//	the run's budget of 5 model calls is used up; answer with what you have
//	the run's budget of 100000 tokens is used up; answer with what you have
//	the run's budget of $5.00 is used up; answer with what you have
//	the run's budget of 10m0s is used up; answer with what you have
//	no price is known for this model
//
// and the abort has [ErrBudget] as its Err. A first run that is refused is a refused
// call, and of a later one the result is withheld.
//
// There is one account for each outermost execution, kept in a [hooks.RunVar]; calls
// outside of any execution are refused. A run that is resumed begins with a new one.
type Budget struct {
	// ToolCalls and ModelCalls are how often bodies of tools and of models may run.
	ToolCalls, ModelCalls int

	// Tokens is how many may be used, In and Out of [hooks.Usage] together.
	Tokens int

	// Cost is how much money may be used, by Prices.
	Cost Money

	// Time is how long the run may go on, from its ExecutionStart; where the
	// policy is registered for sub-agents alone, from the first call that it sees. The
	// bodies also get a ctx with what is left of it, whose cause is [ErrBudget]; an
	// error of a body about that deadline is wrapped with ErrBudget.
	Time time.Duration

	// Prices are for a million tokens, by ModelCall.Model exactly. They are needed for
	// Cost, and without it they are for bills.
	Prices map[string]Price

	// Estimate returns what a model call is expected to use; [EstimateUsage] by
	// default. It is called from any goroutine before each run of a body, and by the
	// guard while others run. Where it panics the call is refused.
	Estimate func(*hooks.ModelCall) hooks.Usage

	// Report gets the bill at the end of the outermost execution, also of one that
	// failed or is suspended, so that a run that waited has one for each part of it. It is
	// called by a [hooks.Watch] at
	// [hooks.ExecutionEnd], with that one's ctx, and not where the policy doesn't see
	// that point, as in the scope of a sub-agent.
	Report func(context.Context, Bill)
}

// Register registers the policy, under the name policy.Budget unless opts say
// otherwise, and returns the handle that removes it. The name is that of its bills.
// [hooks.WithTools] doesn't apply, since models are limited, too. Register panics if
// there is no limit, a number is negative, Cost has no Prices, a price is negative, or
// one is for the model "".
func (p Budget) Register(opts ...hooks.Option) *hooks.Group {
	p.check()
	return register(opts, func(r *registrar) {
		b := &budget{Budget: p, name: r.settings("policy.Budget").Name()}
		b.accounts = hooks.NewRunVar(func(ctx context.Context, a *account) { a.open(ctx, b) })
		with := func(priority int, own ...hooks.Option) []hooks.Option {
			return r.with("policy.Budget", priority, own...)
		}
		r.add(hooks.On(hooks.ExecutionStart, b.begin, with(1000)...))
		r.add(hooks.Watch(hooks.PreModelCall, b.lookModel, with(0)...))
		r.add(hooks.Watch(hooks.PreToolCall, b.lookTool, with(0)...))
		r.add(hooks.Around(hooks.ModelBody, b.runModel, with(-900, hooks.WithFailClosed())...))
		r.add(hooks.Around(hooks.ToolBody, b.runTool, with(-900, hooks.WithFailClosed())...))
		r.add(hooks.Guard(hooks.PreModelCall, b.guardModel, with(-800)...))
		r.add(hooks.Guard(hooks.PreToolCall, b.guardTool, with(-800)...))
		if p.Report != nil {
			r.add(hooks.Watch(hooks.ExecutionEnd, b.report, with(0)...))
		}
	})
}

// check panics on what can't be meant, fills in the defaults, and copies what the
// caller may write.
func (p *Budget) check() {
	switch {
	case p.ToolCalls < 0 || p.ModelCalls < 0 || p.Tokens < 0 || p.Cost < 0 || p.Time < 0:
		panic("policy: Budget: a limit can't be negative; 0 means no limit")
	case p.ToolCalls == 0 && p.ModelCalls == 0 && p.Tokens == 0 && p.Cost == 0 && p.Time == 0:
		panic("policy: Budget: there is no limit; set one of ToolCalls, ModelCalls, Tokens, Cost and Time, a high one to have bills alone")
	case p.Cost > 0 && len(p.Prices) == 0:
		panic("policy: Budget: Cost needs Prices, by which model calls are charged")
	}
	for model, price := range p.Prices {
		if model == "" {
			panic(`policy: Budget: Prices has one for the model "", and a call that doesn't name its model has no price`)
		}
		price.check("Budget", model)
	}
	p.Prices = maps.Clone(p.Prices)
	if p.Estimate == nil {
		p.Estimate = EstimateUsage
	}
}

// EstimateUsage is what a [Budget] expects of a model call by default: a token for
// three bytes of the messages' text and tool calls and 4 for each message, and 1024
// for the answer.
func EstimateUsage(m *hooks.ModelCall) hooks.Usage {
	size := 0
	for i := range m.Messages {
		msg := &m.Messages[i]
		size += len(msg.Text())
		for _, call := range msg.ToolCalls {
			size += len(call.Name) + len(call.Arguments)
		}
	}
	return hooks.Usage{In: size/3 + 4*len(m.Messages), Out: 1024}
}

// budget is a registered Budget.
type budget struct {
	Budget
	name     string
	accounts *hooks.RunVar[account]
}

// begin makes the account, and so begins the time.
func (b *budget) begin(ctx context.Context, _ *hooks.Execution) error {
	b.accounts.Root(ctx)
	return nil
}

func (b *budget) guardModel(ctx context.Context, m *hooks.ModelCall) error {
	a, ok := b.accounts.Root(ctx)
	if !ok {
		return needsRun("Budget")
	}
	var expected hooks.Usage
	if a.modelsRun() { // else it doesn't count
		expected = cleaned(b.Estimate(m))
	}
	return refusal(a.lookModel(m.Model, expected))
}

func (b *budget) guardTool(ctx context.Context, _ *hooks.ToolCall) error {
	a, ok := b.accounts.Root(ctx)
	if !ok {
		return needsRun("Budget")
	}
	return refusal(a.lookTool())
}

// refusal is the abort for a reason, nil where there is none.
func refusal(reason string) error {
	if reason == "" {
		return nil
	}
	return &hooks.HookAborted{Reason: reason, Err: ErrBudget}
}

func (b *budget) runModel(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) (err error) {
	a, ok := b.accounts.Root(ctx)
	if !ok {
		return &hooks.HookAborted{Reason: b.name + " failed", Err: needsRun("Budget")}
	}
	res, reason := a.reserveModel(m.Model, cleaned(b.Estimate(m)))
	if reason != "" {
		return refusal(reason)
	}
	ran := reached(b, &m.Values, &m.Err)
	err = hooks.ErrGoexit // if nothing else comes of it
	defer func() { a.settleModel(res, ran(err), m.Usage, err) }()
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	err = next(ctx)
	return timeIsUp(ctx, err)
}

func (b *budget) runTool(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) (err error) {
	a, ok := b.accounts.Root(ctx)
	if !ok {
		return &hooks.HookAborted{Reason: b.name + " failed", Err: needsRun("Budget")}
	}
	if reason := a.reserveTool(); reason != "" {
		return refusal(reason)
	}
	ran := reached(b, &t.Values, &t.Err)
	err = hooks.ErrGoexit // if nothing else comes of it
	defer func() { a.settleTool(ran(err)) }()
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	err = next(ctx)
	return timeIsUp(ctx, err)
}

func (b *budget) lookModel(_ context.Context, m *hooks.ModelCall, err error) {
	notReached(b, &m.Values, err)
}
func (b *budget) lookTool(_ context.Context, t *hooks.ToolCall, err error) {
	notReached(b, &t.Values, err)
}

// timeIsUp returns err, which a run under ctx ended with, and that the budget is why
// where it is.
func timeIsUp(ctx context.Context, err error) error {
	if isError(context.Cause(ctx), ErrBudget) && isError(err, context.DeadlineExceeded) && !isError(err, ErrBudget) {
		return fmt.Errorf("%w: %w", ErrBudget, err)
	}
	return err
}

// outermost tells the outermost execution from those inside, by its values.
var outermost hooks.RunVar[bool]

func (b *budget) report(ctx context.Context, _ *hooks.Execution, _ error) {
	own, ok := outermost.Of(ctx)
	if root, _ := outermost.Root(ctx); !ok || own != root {
		return
	}
	a, _ := b.accounts.Root(ctx)
	b.Report(ctx, a.current())
}
