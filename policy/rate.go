package policy

// Rate limits.

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loophooks/hooks"
)

// Rate limits how often tools are called, or models, in a span of time.
//
//	policy.Rate{Limit: 10, Per: time.Minute}.Register(hooks.WithTools("web_search"))
//
// Each tool has a limit of its own under each key, whatever the spelling of its name
// ([hooks.FoldToolName]); model calls have one under each key, whatever the model.
// A call beyond the limit is refused, and the reason says when to try again, in
// whole seconds:
//
//	no more than 10 calls in 1m0s; try again in 4s
//
// It is an even rate with a burst (the generic cell rate algorithm): a key that
// wasn't used for a while may make Burst calls at once, and gets one more call
// each Per/Limit. So in the first Per there may be Burst calls and Limit more, and
// Limit in each Per from then on.
//
// By default it is a guard at [hooks.PreToolCall] of priority -700, behind other
// guards, so that a call which those refuse takes nothing. What a guard behind it
// refuses, or suspends, gives its token back; a call that has passed its pre
// point keeps it, one that a hook has answered too. Guards that are asked again
// about a call take nothing more for the same tool.
//
// With Attempts it is a fail-closed around hook of priority -500 instead, inside
// Retry, which takes a token for each run of the body: answered and cached calls
// take none, and retries one each. A run that an inner hook answers or refuses gives
// its token back. A first run that is beyond the limit is a refused call, and of a
// later one the result is withheld. Begin forms have no body to wrap, and return an error.
//
// The limits are those of the process and of one Register, kept in memory and by the
// monotonic clock. They outlive runs.
type Rate struct {
	// Limit is how many calls there may be in Per. It is required.
	Limit int

	// Per is the span of time; a minute by default.
	Per time.Duration

	// Burst is how many calls may come at once; Limit by default.
	Burst int

	// Wait is how long a call may wait for its turn. One that would have to wait
	// longer is refused at once and takes nothing; by default none waits. Calls that
	// wait have their turn one after the other. One whose ctx is done gives its
	// place back and stops the run, with ctx.Err() as the cause. [hooks.RunTools]
	// runs pre hooks in order, so that a call which waits holds up those behind
	// it; with Attempts it doesn't.
	Wait time.Duration

	// Model limits model calls instead of tool calls. Then [hooks.WithTools]
	// doesn't apply.
	Model bool

	// Attempts counts each run of the body; else each call counts once.
	Attempts bool

	// Key returns whose limit a call counts for; by default the Tenant. It is called
	// from any goroutine, and where it panics the call is refused. The run's ID is
	// no good key, since each run would start afresh.
	Key func(context.Context, hooks.Caller) string

	// MaxKeys bounds the memory: it is how many pairs of key and tool may have used
	// some of their burst at a time; 100 000 by default. Further ones are
	// refused with
	//
	//	too many callers at once; try again later
	//
	// A pair is forgotten when it has its whole burst again, and never before.
	MaxKeys int
}

// Register registers the policy, under the name policy.Rate unless opts say
// otherwise, and returns the handle that removes it. It panics if Limit isn't
// positive, another number is negative, or Limit calls in Per are more than one each
// nanosecond.
func (p Rate) Register(opts ...hooks.Option) *hooks.Group {
	p.check()
	return register(opts, func(r *registrar) {
		// A guard that may take no longer than its own timeout stops no run by that.
		l := &rate{Rate: p, limiter: newLimiter(p.Limit, p.Per, p.Burst, p.MaxKeys), ends: r.settings("policy.Rate").Timeout() == 0}
		switch with := r.with; {
		case p.Attempts && p.Model:
			r.add(hooks.Watch(hooks.PreModelCall, l.lookModelRun, with("policy.Rate", 0)...))
			r.add(hooks.Around(hooks.ModelBody, l.runModel, with("policy.Rate", -500, hooks.WithFailClosed())...))
		case p.Attempts:
			r.add(hooks.Watch(hooks.PreToolCall, l.lookToolRun, with("policy.Rate", 0)...))
			r.add(hooks.Around(hooks.ToolBody, l.runTool, with("policy.Rate", -500, hooks.WithFailClosed())...))
		case p.Model:
			r.add(hooks.Watch(hooks.PreModelCall, l.lookModel, with("policy.Rate", 0)...))
			r.add(hooks.Guard(hooks.PreModelCall, l.guardModel, with("policy.Rate", -700)...))
		default:
			r.add(hooks.Watch(hooks.PreToolCall, l.lookTool, with("policy.Rate", 0)...))
			r.add(hooks.Guard(hooks.PreToolCall, l.guardTool, with("policy.Rate", -700)...))
		}
	})
}

// check panics on what can't be meant, and fills in the defaults.
func (p *Rate) check() {
	if p.Limit <= 0 {
		panic(fmt.Sprintf("policy: Rate: Limit is %d; set it to how many calls there may be in Per", p.Limit))
	}
	if p.Per < 0 || p.Burst < 0 || p.Wait < 0 || p.MaxKeys < 0 {
		panic("policy: Rate: Per, Burst, Wait and MaxKeys can't be negative; 0 means the default")
	}
	if p.Per == 0 {
		p.Per = time.Minute
	}
	if int64(p.Limit) > int64(p.Per) {
		panic(fmt.Sprintf("policy: Rate: %d calls in %v are more than one each nanosecond", p.Limit, p.Per))
	}
	if p.Burst == 0 {
		p.Burst = p.Limit
	}
	if p.MaxKeys == 0 {
		p.MaxKeys = 100_000
	}
	if p.Key == nil {
		p.Key = func(_ context.Context, c hooks.Caller) string { return c.Tenant }
	}
}

// rate is a registered Rate.
type rate struct {
	Rate
	limiter *limiter
	ends    bool // the ctx of the guard ends with the run
}

// turn takes a token, and waits for the turn of the call.
func (l *rate) turn(ctx context.Context, c hooks.Caller, tool string) (rateToken, error) {
	t, wait, known := l.limiter.take(rateKey{l.Key(ctx, c), tool}, l.Wait)
	switch {
	case !known:
		return rateToken{}, hooks.Abort("too many callers at once; try again later")
	case wait > l.Wait:
		return rateToken{}, hooks.Abort(fmt.Sprintf("no more than %s in %v; try again in %v", countOf(l.Limit, "call"), l.Per, wholeSeconds(wait)))
	case wait == 0:
		return t, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return t, nil
	case <-ctx.Done():
		l.limiter.giveBack(t)
		return rateToken{}, ctx.Err()
	}
}

// countOf is a number of things in words.
func countOf(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// wholeSeconds rounds up, so that who waits for so long has his turn.
func wholeSeconds(d time.Duration) time.Duration {
	if part := d % time.Second; part > 0 && d <= math.MaxInt64-time.Second {
		d += time.Second - part
	}
	return d
}

// rateMark is what a call has taken, left on the call for guards that are asked again
// and for the watch. It belongs to the dispatches of that call, one at a time.
type rateMark struct {
	tokens []rateToken
	kept   int // so many of them are past giving back
}

func (l *rate) guard(ctx context.Context, c hooks.Caller, v *hooks.Values, tool string) error {
	mark := l.marked(v)
	if mark == nil {
		mark = &rateMark{}
		v.Put(l, mark)
	}
	for _, t := range mark.tokens {
		if t.key.tool == tool {
			return nil
		}
	}
	t, err := l.turn(ctx, c, tool)
	switch {
	case err == nil:
		mark.tokens = append(mark.tokens, t)
		return nil
	case err == ctx.Err() && l.ends: //nolint:errorlint // as turn returns it: nobody is there for the call any more
		return &hooks.HookAborted{Reason: "the run ended while the call waited for its turn", StopRun: true, Err: err}
	}
	return err
}

// look gives back what the guard has taken for a call that doesn't run.
func (l *rate) look(v *hooks.Values, err error) {
	mark := l.marked(v)
	if mark == nil {
		return
	}
	if err != nil {
		for _, t := range mark.tokens[mark.kept:] {
			l.limiter.giveBack(t)
		}
		mark.tokens = mark.tokens[:mark.kept]
	}
	mark.kept = len(mark.tokens)
}

func (l *rate) marked(v *hooks.Values) *rateMark {
	mark, _ := v.Get(l)
	m, _ := mark.(*rateMark)
	return m
}

func (l *rate) guardTool(ctx context.Context, t *hooks.ToolCall) error {
	return l.guard(ctx, t.Caller, &t.Values, hooks.FoldToolName(t.Name))
}

func (l *rate) guardModel(ctx context.Context, m *hooks.ModelCall) error {
	return l.guard(ctx, m.Caller, &m.Values, "")
}

func (l *rate) lookTool(_ context.Context, t *hooks.ToolCall, err error)   { l.look(&t.Values, err) }
func (l *rate) lookModel(_ context.Context, m *hooks.ModelCall, err error) { l.look(&m.Values, err) }

// attempt takes a token for one run of the body.
func (l *rate) attempt(ctx context.Context, c hooks.Caller, tool string, v *hooks.Values, failure *error, next func(context.Context) error) error {
	t, err := l.turn(ctx, c, tool)
	if err != nil {
		return err
	}
	ran := reached(l, v, failure)
	err = hooks.ErrGoexit // if nothing else comes of it
	defer func() {
		if !ran(err) {
			l.limiter.giveBack(t)
		}
	}()
	err = next(ctx)
	return err
}

func (l *rate) runTool(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
	return l.attempt(ctx, t.Caller, hooks.FoldToolName(t.Name), &t.Values, &t.Err, next)
}

func (l *rate) runModel(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
	return l.attempt(ctx, m.Caller, "", &m.Values, &m.Err, next)
}

func (l *rate) lookToolRun(_ context.Context, t *hooks.ToolCall, err error) {
	notReached(l, &t.Values, err)
}
func (l *rate) lookModelRun(_ context.Context, m *hooks.ModelCall, err error) {
	notReached(l, &m.Values, err)
}
