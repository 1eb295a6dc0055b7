package hookstest

// Runs that are suspended and gone on with in a loop that is made anew: nothing
// is lost, and nothing happens twice.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var resumedScenarios = []scenario{
	{name: "resumed-call", needs: askPoints, resumes: true, after: []string{"waiting-call-among-others", "ids-of-calls", "run-ids"}, play: resumedCall(1)},
	{name: "resumed-call-twice", needs: askPoints, resumes: true, of: []string{"resumed-call"}, play: resumedCall(2)},
	{name: "resumed-call-with-edited-input", needs: askPoints, resumes: true, of: []string{"resumed-call"}, after: []string{"edited-input"}, play: resumedInput},
	{
		name: "resumed-call-beside-all-kinds-of-results", needs: askPoints, resumes: true, of: []string{"resumed-call"},
		after: []string{"edited-result", "failing-tool", "blocked-tool", "answered-tool"}, play: resumedResults,
	},
	{name: "interrupting-tool-resumed", needs: askPoints, resumes: true, of: []string{"interrupting-tool", "resumed-call"}, play: resumedTool},
	{
		name: "asked-call-resumed-approved", needs: askPoints, resumes: true, of: []string{"asked-call", "resumed-call"},
		play: resumedDecision(hooks.Decision{Verdict: hooks.Approve}),
	},
	{
		name: "asked-call-resumed-rejected", needs: askPoints, resumes: true, of: []string{"asked-call", "resumed-call"},
		play: resumedDecision(hooks.Decision{Verdict: hooks.Reject, Reason: theReason}),
	},
	{
		name: "asked-call-resumed-edited", needs: askPoints, resumes: true, of: []string{"asked-call", "resumed-call"},
		play: resumedDecision(hooks.Decision{Verdict: hooks.Edit, Arguments: theEdit}),
	},
	{
		name: "asked-call-resumed-in-a-nested-run", needs: append(askPoints[:len(askPoints):len(askPoints)], hooks.ExecutionEnd), resumes: true,
		of: []string{"asked-call", "resumed-call"}, after: []string{"interrupt-in-a-nested-run"}, play: resumedNested,
	},
}

// save is the Save of a [Setup].
func (t *trial) save(s *script) func([]byte) {
	return func(state []byte) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.saved[s] = bytes.Clone(state)
	}
}

// savedBy returns what the loop with the model s saved last, nil if nothing.
func (t *trial) savedBy(s *script) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.saved[s])
}

// resume goes on with the run, in a loop made anew. It reports whether that could
// be done: there is a state, and no rule was broken before.
func (t *trial) resume() bool {
	state := t.savedBy(t.script)
	if !t.check(state != nil, ruleSaved, "a state, given to the Save of the Setup", "none") {
		return false
	}
	t.mu.Lock()
	if t.abandoned || len(t.broken) > 0 {
		t.mu.Unlock()
		return false
	}
	t.note(event{line: fmt.Sprintf("the loop returns %q and the error: %v", t.text, t.err)})
	t.note(event{line: "a loop made anew goes on"})
	t.open()
	delete(t.saved, t.script) // it saves again if it has to wait again
	t.mu.Unlock()
	t.perform(func() Loop {
		resume := t.resumed(t.setup(t.script))
		if resume == nil {
			return nil
		}
		return func(ctx context.Context, _ string) (string, error) { return resume(ctx, state) }
	})
	return true
}

// resumable is a trial of which one run waits and is resumed.
type resumable struct {
	*trial
	turns    []turn
	asked    int          // how many requests come before the run waits
	waiting  string       // the key of the call that waits
	finished []string     // those of the calls that have ended by then
	open     atomic.Bool  // the run can go on
	waits    atomic.Int32 // how often the call waited

	iterations []int // what the model calls say, in order; guarded by mu
}

// newResumable waits in the second turn, so that there is something to be kept
// of the first.
func newResumable(t *trial) *resumable {
	first := asks(request("alpha", "a1"))
	first.Text = "thoughts of the first turn"
	r := &resumable{
		trial: t, turns: []turn{first, asks(threeCalls...), answers(theAnswer)},
		asked: 2, waiting: "c2", finished: []string{"a1", "c1", "c3"},
	}
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		r.iterations = append(r.iterations, c.Iterations)
		return nil
	})
	return r
}

// hold has a hook suspend the call until the run can go on.
func (r *resumable) hold() {
	on(r.trial, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if keyOf(c.Input) != r.waiting || r.open.Load() {
			return nil
		}
		r.waits.Add(1)
		return r.suspend(c, hooks.PreToolCall, hooks.PassThrough(errInterrupt))
	})
}

// suspended checks that the run waits, after so many tries to go on with it.
func (r *resumable) suspended() {
	r.check(r.requests() == r.asked, ruleAskedOn, fmt.Sprintf("%d calls of the model", r.asked), fmt.Sprint(r.requests()))
	r.check(isSuspended(r.err), ruleInterrupt, "an error that holds a *hooks.Suspended", fmt.Sprintf("%q, error %v", r.text, r.err))
}

// wentOn checks the run that was resumed.
func (r *resumable) wentOn() {
	r.checkRuns()
	r.checkCalls()
	r.check(r.err == nil && r.text == theAnswer, ruleGoesOnLater, fmt.Sprintf("%q", theAnswer), fmt.Sprintf("%q, error %v", r.text, r.err))
	r.check(r.requests() == r.asked+1, ruleGoesOnLater, fmt.Sprintf("%d calls of the model", r.asked+1), fmt.Sprint(r.requests()))
	for _, text := range []string{thePrompt, "thoughts of the first turn", "alpha says raw to a1"} {
		r.checkSent(ruleSavedMessages, r.asked, text, true)
	}
	r.checkIterations()
}

// checkRuns checks that the outer executions are those of one run.
func (r *resumable) checkRuns() {
	first := ""
	for i, x := range r.runsOf() {
		if i == 0 {
			first = x.run
		}
		r.check(x.run == first, ruleSameRun, fmt.Sprintf("the RunID %q", first), fmt.Sprintf("%q", x.run))
		r.check(x.resumed == (i > 0), ruleSaysResumed, fmt.Sprintf("Resumed %t at execution_start", i > 0), strconv.FormatBool(x.resumed))
	}
}

// checkCalls checks that the call that waited was made again and no other.
func (r *resumable) checkCalls() {
	made := make(map[string][]string) // the ids of the calls, by key
	r.mu.Lock()
	for _, k := range r.calls {
		if k.pre == hooks.PreToolCall.Name() {
			made[k.key] = append(made[k.key], k.id)
		}
	}
	r.mu.Unlock()
	for _, key := range r.finished {
		r.check(len(made[key]) <= 1, ruleFinished, fmt.Sprintf("pre_tool_call once for the call %q", key), fmt.Sprintf("%d times", len(made[key])))
	}
	ids := slices.Compact(made[r.waiting])
	r.check(len(ids) == 1, ruleSameCall, "the call that waited under one id", fmt.Sprintf("%q", ids))
}

// checkIterations says nothing of a loop that doesn't count.
func (r *resumable) checkIterations() {
	if !r.saysTurns() {
		return
	}
	r.mu.Lock()
	got := slices.Clone(r.iterations)
	r.mu.Unlock()
	want := make([]int, r.asked+1)
	for i := range want {
		want[i] = i
	}
	r.check(slices.Equal(got, want), ruleIterations, fmt.Sprintf("Iterations %d at pre_model_call", want), fmt.Sprint(got))
}

// resumedCall has a call wait, the given number of times.
func resumedCall(times int) func(*trial) {
	return func(t *trial) {
		r := newResumable(t)
		r.hold()
		t.run(r.turns...)
		for n := range times {
			r.suspended()
			r.open.Store(n == times-1)
			if !t.resume() {
				return
			}
		}
		r.wentOn()
		r.ranOnce()
		t.check(int(r.waits.Load()) == times, ruleGoesOnLater, fmt.Sprintf("the call suspended %d times", times), fmt.Sprint(r.waits.Load()))
	}
}

// ranOnce checks that each tool ran once in all.
func (r *resumable) ranOnce() {
	for _, key := range r.finished {
		r.checkRan(ruleFinished, key, 1)
	}
	r.checkRan(ruleToolOnce, r.waiting, 1)
}

// resumedInput is about a loop that keeps of a call what hooks have made of its
// arguments: they would change them once more, and a question about them would be
// another one.
func resumedInput(t *trial) {
	r := newResumable(t)
	on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if value, ok := c.Input["value"].(string); ok {
			c.Input["value"] = value + " and seen"
		}
		return nil
	})
	r.hold()
	t.run(r.turns...)
	r.suspended()
	r.open.Store(true)
	if !t.resume() {
		return
	}
	t.mu.Lock()
	got := t.values["c2"]
	t.mu.Unlock()
	t.check(got == "raw and seen", ruleSameCall, `the value "raw and seen" for beta`, fmt.Sprintf("%q", got))
}

// resumedResults is about what a loop keeps of the calls that had ended.
func resumedResults(t *trial) {
	r := newResumable(t)
	calls := []hooks.ToolRequest{request("alpha", "c1"), request("beta", "c2"), request("alpha", "c3"), request("alpha", "c4"), request("alpha", "c5"), request("gamma", "c6")}
	r.turns[1] = asks(calls...)
	r.finished = []string{"a1", "c1", "c3", "c4", "c5", "c6"}
	t.tools["alpha"] = func(_ context.Context, input map[string]any) (string, error) {
		switch keyOf(input) {
		case "c1":
			return theSecret, nil
		case "c3":
			return "", errTool
		}
		return "alpha says raw to " + keyOf(input), nil
	}
	on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		switch keyOf(c.Input) {
		case "c4":
			return t.abort(&hooks.HookAborted{Reason: theReason})
		case "c5":
			c.Answer(hooksAnswer)
		}
		return nil
	})
	on(t, hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		switch keyOf(c.Input) {
		case "c1", "c3":
			c.Result = "redacted for " + keyOf(c.Input)
		}
		return nil
	})
	r.hold()
	t.run(r.turns...)
	r.suspended()
	state := t.savedBy(t.script)
	t.check(!bytes.Contains(state, []byte(theSecret)), ruleSavedClean, fmt.Sprintf("no %q in the state", theSecret), "it is there")
	r.open.Store(true)
	if !t.resume() {
		return
	}
	r.wentOn()
	for _, text := range []string{"redacted for c1", "redacted for c3", theReason, hooksAnswer} {
		t.checkSent(ruleResult, 2, text, true)
	}
	t.checkSent(ruleResult, 2, theSecret, false)
}

// resumedTool has the tool itself suspend the run: it has run, and runs again.
func resumedTool(t *trial) {
	r := newResumable(t)
	t.tools["beta"] = func(_ context.Context, input map[string]any) (string, error) {
		if !r.open.Load() {
			return "", hooks.PassThrough(errInterrupt)
		}
		return "beta says raw to " + keyOf(input), nil
	}
	t.run(r.turns...)
	r.suspended()
	r.open.Store(true)
	if !t.resume() {
		return
	}
	r.wentOn()
	for _, key := range r.finished {
		t.checkRan(ruleFinished, key, 1)
	}
	t.checkRan(ruleGoesOnLater, "c2", 2)
}

// resumedDecision has a guard ask, and resumes the run once before there is a
// decision.
func resumedDecision(d hooks.Decision) func(*trial) {
	return func(t *trial) {
		r := newResumable(t)
		t.atDesk(func(hooks.Question) (hooks.Decision, bool) { return d, r.open.Load() })
		a := t.ask("c2")
		t.run(r.turns...)
		for _, decided := range []bool{false, true} {
			if !t.checkAsked(a) {
				return
			}
			t.checkRan(ruleWaits, "c2", 0)
			r.suspended()
			r.open.Store(decided)
			if !t.resume() {
				return
			}
		}
		r.wentOn()
		t.checkOneQuestion()
		t.checkDecided(d, 2)
		for _, key := range r.finished {
			t.checkRan(ruleFinished, key, 1)
		}
	}
}

func (t *trial) checkOneQuestion() {
	n := len(t.desk.questions())
	t.check(n == 1, ruleSameQuestion, "one question", fmt.Sprint(n))
}

// resumedNested has a guard ask about a call of a run inside a tool. The tool goes
// on with that run when it is called again.
func resumedNested(t *trial) {
	var open atomic.Bool
	t.atDesk(func(hooks.Question) (hooks.Decision, bool) {
		return hooks.Decision{Verdict: hooks.Approve}, open.Load()
	})
	a := t.ask("i1")
	inner := &script{name: "the inner model", turns: []turn{asks(request("beta", "i1")), answers("the inner answer")}}
	t.mu.Lock()
	t.scripts, t.nests = append(t.scripts, inner), true
	t.mu.Unlock()
	var begun atomic.Bool
	t.tools["alpha"] = func(ctx context.Context, _ map[string]any) (string, error) {
		if !begun.Swap(true) {
			return t.build(inner)(ctx, "the inner prompt")
		}
		state := t.savedBy(inner)
		if state == nil {
			return "", errors.New("the inner run has saved nothing")
		}
		return t.resumed(t.setup(inner))(ctx, state)
	}
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	if !t.checkAsked(a, "call_c1") {
		return
	}
	t.checkRan(ruleWaits, "i1", 0)
	t.check(isSuspended(t.err), ruleNestedWait, "the *hooks.Suspended of the inner run, out of the outer run", fmt.Sprintf("%q, error %v", t.text, t.err))
	t.check(t.savedBy(inner) != nil, ruleSaved, "a state of the inner run", "none")
	open.Store(true)
	if !t.resume() {
		return
	}
	t.checkOneQuestion()
	t.checkRan(ruleGoesOnLater, "i1", 1)
	t.check(t.err == nil && t.text == theAnswer, ruleGoesOnLater, fmt.Sprintf("%q", theAnswer), fmt.Sprintf("%q, error %v", t.text, t.err))
	t.checkSent(ruleResult, 1, "the inner answer", true)
	var runs []string
	for _, x := range t.runsOf() {
		runs = append(runs, x.run)
	}
	t.check(len(runs) == 4 && runs[0] == runs[2] && runs[1] == runs[3], ruleSameRun, "an outer and an inner run, each with the RunID that it had", fmt.Sprintf("%q", runs))
}
