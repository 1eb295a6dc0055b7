package policy

// Runs that go round in circles.

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/loophooks/hooks"
)

// Loops refuses tool calls by which a run doesn't get on: the same call again
// and again with the same result, or a few calls in turn, such as A B A B A B.
//
//	policy.Loops{}.Register()
//
// It is a guard at [hooks.PreToolCall] of priority 500 and a watch at
// [hooks.PostToolCall], which remembers of each call what was called, by its name in
// any spelling and its arguments, and what the model read, by its text and whether it
// was marked as an error. A call is refused where
//
//   - the last Same calls were this one, with equal results, or
//   - the last calls were Same rounds, two at least, of a cycle of 2 to Cycle calls
//     with equal results, and this call begins the next round.
//
// A different result, or another call in between, begins anew: a poll whose answer
// changes goes on for ever. Calls in a cycle have to differ, so a poll that gets
// two answers in turn isn't one. Results with a part that has no text, such as an
// image, can't be compared and are taken for different. Where the calls of
// a turn run at the same time, those that haven't ended aren't counted.
//
// Calls that another guard refuses and calls that fail are remembered, too; those
// that were interrupted, suspended, or not run since the run had ended, aren't. A call
// that this policy refuses is remembered with the result that it would repeat. The
// model reads of it:
//
//	the same call gave the same result 3 times; try something else or say what is missing
//
// After Stop refusals in a row, without a call in between that this policy let
// through, the run is stopped, for the same reason.
//
// Each execution has a memory of its own, so that sub-agents don't count for each
// other; hashes are kept and no text. Outside of any execution calls are refused. A
// run that is resumed begins anew. Calls whose arguments couldn't be read are passed
// over, and calls whose arguments JSON can't hold are refused.
type Loops struct {
	// Same is how many equal results in a row the same call may have; 3 by default.
	Same int

	// Cycle is the length of the longest cycle that is looked for; 4 by default, and
	// with 1 none is.
	Cycle int

	// Window is how many calls are remembered; 20 by default, and no fewer than are
	// needed for Same and Cycle.
	Window int

	// Stop is which refusal in a row stops the run; the third by default, and with
	// -1 none does.
	Stop int
}

// Register registers the policy, under the name policy.Loops unless opts say
// otherwise, and returns the handle that removes it. With [hooks.WithTools]
// other tools are as if they weren't there. Register panics if a number is negative,
// but for a Stop of -1.
func (p Loops) Register(opts ...hooks.Option) *hooks.Group {
	l := &loops{Loops: p, seed: maphash.MakeSeed()}
	l.check()
	return register(opts, func(r *registrar) {
		r.add(hooks.Watch(hooks.PostToolCall, l.look, r.with("policy.Loops", 0)...))
		r.add(hooks.Guard(hooks.PreToolCall, l.guard, r.with("policy.Loops", 500)...))
	})
}

// check panics on what can't be meant, and fills in the defaults.
func (p *Loops) check() {
	if p.Same < 0 || p.Cycle < 0 || p.Window < 0 || p.Stop < -1 {
		panic("policy: Loops: Same, Cycle and Window can't be negative, nor Stop but for -1; 0 means the default")
	}
	for _, set := range [...]struct {
		field   *int
		without int
	}{{&p.Same, 3}, {&p.Cycle, 4}, {&p.Window, 20}, {&p.Stop, 3}} {
		if *set.field == 0 {
			*set.field = set.without
		}
	}
	if p.Cycle > math.MaxInt/p.rounds() {
		panic(fmt.Sprintf("policy: Loops: %d rounds of %d calls are more than can be remembered", p.Same, p.Cycle))
	}
	p.Window = max(p.Window, p.Same, p.rounds()*p.Cycle)
}

// rounds is how many rounds make a loop of a cycle: what happened once is none.
func (p *Loops) rounds() int { return max(p.Same, 2) }

// loops is a registered Loops.
type loops struct {
	Loops
	seed maphash.Seed
	runs hooks.RunVar[callHistory]
}

// callHistory is what one execution remembers.
type callHistory struct {
	mu       sync.Mutex
	calls    []pastCall // protected by mu; the oldest first
	refusals int        // the same; in a row
}

// pastCall is one call: hashes of what was called and of what came of it.
type pastCall struct{ call, result uint64 }

// loopsMark is what the guard leaves on a call for its watch: what was asked for,
// before somebody edits it, and of a refused call what it would repeat.
type loopsMark struct {
	past    pastCall
	refused bool
	unread  error // of arguments that can't be read
	over    bool  // the watch has seen it
}

func (l *loops) guard(ctx context.Context, t *hooks.ToolCall) error {
	h, ok := l.runs.Of(ctx)
	if !ok {
		return needsRun("Loops")
	}
	if mark := l.marked(t); mark != nil && !mark.over && !mark.refused {
		return nil // guards are asked again about the call
	}
	if err := t.ArgumentsError(); err != nil {
		t.Put(l, &loopsMark{past: pastCall{call: l.hash(hooks.FoldToolName(t.Name))}, unread: err})
		return nil
	}
	call, err := l.callOf(t)
	if err != nil {
		return err
	}
	mark := &loopsMark{past: pastCall{call: call}}
	defer t.Put(l, mark)
	h.mu.Lock()
	defer h.mu.Unlock()
	result, times := h.repeats(call, &l.Loops)
	if times == 0 {
		h.refusals = 0
		return nil
	}
	h.refusals++
	mark.refused, mark.past.result = true, result
	return &hooks.HookAborted{
		Reason:  fmt.Sprintf("the same call gave the same result %s; try something else or say what is missing", countOf(times, "time")),
		StopRun: l.Stop > 0 && h.refusals >= l.Stop,
	}
}

// needsRun is why a guard fails that keeps something for a run.
func needsRun(policy string) error {
	return fmt.Errorf("policy: %s needs hooks.RunExecution around the call", policy)
}

// repeats says how often the call has given the result that it would give again, 0
// if it doesn't go round in a circle.
func (h *callHistory) repeats(call uint64, p *Loops) (result uint64, times int) {
	for length := 1; length <= p.Cycle; length++ {
		times = p.Same
		if length > 1 {
			times = p.rounds()
		}
		if n := len(h.calls); n >= length*times {
			last := h.calls[n-length*times:]
			if last[0].call == call && repeated(last, length) && (length == 1 || differ(last[:length])) {
				return last[0].result, times
			}
		}
	}
	return 0, 0
}

// repeated says whether the calls are rounds of that length.
func repeated(calls []pastCall, length int) bool {
	for i, c := range calls[length:] {
		if c != calls[i] {
			return false
		}
	}
	return true
}

// differ says whether there are different calls among them.
func differ(calls []pastCall) bool {
	for _, c := range calls[1:] {
		if c.call != calls[0].call {
			return true
		}
	}
	return false
}

// look remembers a call that has ended.
func (l *loops) look(ctx context.Context, t *hooks.ToolCall, _ error) {
	h, ok := l.runs.Of(ctx)
	if !ok {
		return
	}
	mark := l.marked(t)
	if mark == nil { // a guard in front of this one has refused it
		call, err := l.callOf(t)
		if err != nil {
			return
		}
		mark = &loopsMark{past: pastCall{call: call}}
	}
	if mark.over { // two layers of a framework both run the call
		return
	}
	mark.over = true
	if mark.interrupted(t) {
		return
	}
	past := mark.past
	if !mark.refused {
		past.result = l.resultOf(t)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.calls) >= l.Window {
		h.calls = h.calls[:copy(h.calls, h.calls[len(h.calls)-l.Window+1:])]
	}
	h.calls = append(h.calls, past)
}

// interrupted says whether nothing came of the call, since it waits or the run has
// ended. What hooks refused, answered or failed has a result without having run.
func (m *loopsMark) interrupted(t *hooks.ToolCall) bool {
	switch {
	case t.Suspended() != nil, isError(t.Err, context.Canceled):
		return true
	case t.Ran(), t.Blocked != nil, t.Answered(), t.Err == nil, isError(t.Err, hooks.ErrNoTool):
		return false
	case m.unread != nil && isError(t.Err, m.unread):
		return false
	}
	// It wasn't run, with the reason that the run ended for as its Err, or a hook around
	// the body has failed.
	_, aborted := findError[*hooks.HookAborted](t.Err)
	return aborted || t.Err == context.DeadlineExceeded || isError(t.Err, hooks.ErrGoexit) //nolint:errorlint // a hook's own may be wrapped
}

// callOf is the hash of what is called.
func (l *loops) callOf(t *hooks.ToolCall) (uint64, error) {
	arguments, err := argumentsText(t)
	return l.hash(hooks.FoldToolName(t.Name), arguments), err
}

// resultOf is the hash of what the model reads.
func (l *loops) resultOf(t *hooks.ToolCall) uint64 {
	for _, part := range t.Parts {
		if part.Text == "" && part.Kind != "text" {
			return rand.Uint64() // like no other
		}
	}
	return l.hash(t.Text(), strconv.FormatBool(t.IsError()))
}

func (l *loops) hash(texts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	for _, text := range texts {
		_, _ = h.WriteString(strconv.Itoa(len(text)) + ":") // never fails
		_, _ = h.WriteString(text)
	}
	return h.Sum64()
}

func (l *loops) marked(t *hooks.ToolCall) *loopsMark {
	mark, _ := t.Get(l)
	m, _ := mark.(*loopsMark)
	return m
}
