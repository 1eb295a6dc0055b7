package hookstest

// The record of what happened under a registry: watches tell of the points, an
// observer of the hooks there, and the record shows neither of its own.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
)

// recorderName is the name under which a Recorder registers its own watches.
const recorderName = "hookstest.Recorder"

// Recorder records what happens under a registry: which points fire, in their
// order, and the events of what hooks do there. Its methods are safe for
// concurrent use.
type Recorder struct {
	mu     sync.Mutex
	calls  []Call
	events []hooks.HookDispatchedEvent
}

// Call is one firing of a point, as it ended: with the names that hooks left,
// and with what became of it.
type Call struct {
	Point hooks.InterceptionPoint
	Name  string // of the tool, the model or the step; "" for an execution
	ID    string // of a tool call
	// State is what came of it, "" where there is nothing to tell:
	//
	//   - "blocked": a hook refused it before it ran. A tool call is told so at
	//     its post point, which it has all the same, and anything else at the
	//     pre point.
	//   - "withheld": a hook at this post point refused what came back. At
	//     output, that is the output.
	//   - "answered": a hook gave the result or the response.
	//   - "failed": it ended with an error. So did the run at execution_end,
	//     which else is "completed", or "suspended" if it waits.
	State string
}

// String returns the call as one line, such as
// "post_tool_call search #call_1 blocked".
func (c Call) String() string {
	line := string(c.Point)
	if c.Name != "" {
		line += " " + c.Name
	}
	if c.ID != "" {
		line += " #" + c.ID
	}
	if c.State != "" {
		line += " " + c.State
	}
	return line
}

// Record starts to record what happens under r, with a watch at each of the ten
// points and an observer. The record is of what really came of each firing: it
// holds those that a hook aborted, in r or in a registry around it, and what all
// hooks and guards left in them. Each is recorded when its hooks have run, so
// that what a hook opened itself stands before it.
//
// The watches change nothing, but r has them: [hooks.Enabled] is true, and
// listings show them. Clearing r ends the record of calls.
func Record(r *hooks.Registry) *Recorder {
	rec := new(Recorder)
	for _, p := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd} {
		recordAt(rec, r, p, func(x *hooks.Execution, err error) Call {
			switch p {
			case hooks.Output:
				return Call{State: stateAfter(x.Err, false, err)}
			case hooks.ExecutionEnd:
				return Call{State: string(x.Status)}
			}
			return Call{State: stateBefore(err)}
		})
	}
	for _, p := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		recordAt(rec, r, p, func(st *hooks.Step, err error) Call {
			name := st.Name
			if name == "" {
				name = string(st.Kind)
			}
			if p == hooks.PreStep {
				return Call{Name: name, State: stateBefore(err)}
			}
			return Call{Name: name, State: stateAfter(st.Err, false, err)}
		})
	}
	for _, p := range []hooks.Point[hooks.ModelCall]{hooks.PreModelCall, hooks.PostModelCall} {
		recordAt(rec, r, p, func(m *hooks.ModelCall, err error) Call {
			if p == hooks.PreModelCall {
				return Call{Name: m.Model, State: stateBefore(err)}
			}
			return Call{Name: m.Model, State: stateAfter(m.Err, m.Answered(), err)}
		})
	}
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		recordAt(rec, r, p, func(t *hooks.ToolCall, err error) Call {
			call := Call{Name: t.Name, ID: t.ID}
			if p == hooks.PostToolCall {
				call.State = toolState(t, err)
			} else if !isAbort(err) { // the post point tells of an abort
				call.State = stateBefore(err)
			}
			return call
		})
	}
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { rec.observe(ev) })
	return rec
}

func recordAt[C any](rec *Recorder, r *hooks.Registry, p hooks.Point[C], describe func(*C, error) Call) {
	hooks.Watch(p, func(_ context.Context, c *C, err error) {
		call := describe(c, err)
		call.Point = p.Name()
		rec.mu.Lock()
		defer rec.mu.Unlock()
		rec.calls = append(rec.calls, call)
	}, hooks.In(r), hooks.WithName(recorderName), hooks.WithPriority(math.MaxInt))
}

// stateBefore is the state at a pre point, whose dispatch returned err.
func stateBefore(err error) string {
	switch {
	case isAbort(err):
		return "blocked"
	case err != nil:
		return "failed"
	}
	return ""
}

// stateAfter is the state at a post point. The failure is what the context
// holds: of the body, or else err itself, which the dispatch returned.
func stateAfter(failure error, answered bool, err error) string {
	switch {
	case isAbort(err) && (failure == nil || errors.Is(failure, err)):
		return "withheld"
	case failure != nil || err != nil:
		return "failed"
	case answered:
		return "answered"
	}
	return ""
}

// toolState is stateAfter for a tool call, which keeps the refusal of either
// point.
func toolState(t *hooks.ToolCall, err error) string {
	switch {
	case t.Blocked == nil:
		return stateAfter(t.Err, t.Answered(), err)
	case err != nil && errors.Is(t.Blocked, err):
		return "withheld" // the first refusal is the one of this point
	}
	return "blocked"
}

func isAbort(err error) bool { return errors.As(err, new(*hooks.HookAborted)) }

// observe keeps ev as it would be without the recorder's own watches.
func (rec *Recorder) observe(ev hooks.HookDispatchedEvent) {
	ev.Hooks = slices.DeleteFunc(slices.Clone(ev.Hooks), func(h hooks.HookRun) bool { return h.Name == recorderName })
	ev.HookCount = len(ev.Hooks)
	if ev.HookCount == 0 && ev.Outcome != hooks.OutcomeAborted {
		return
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.events = append(rec.events, ev)
}

// Calls returns what was recorded so far, in order. The slice is the caller's.
func (rec *Recorder) Calls() []Call {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.calls)
}

// Events returns the events recorded so far, in order, without the recorder's
// own watches: a dispatch that ran nothing else has no event here, unless it was
// aborted. The slice is the caller's, what its events hold is not.
func (rec *Recorder) Events() []hooks.HookDispatchedEvent {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.events)
}

// Reset forgets what was recorded so far.
func (rec *Recorder) Reset() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.calls, rec.events = nil, nil
}

// Want fails t, with a line diff, unless the calls recorded so far are those
// given, each as by [Call.String], in this order.
func (rec *Recorder) Want(t testing.TB, calls ...string) {
	t.Helper()
	wantLines(t, "calls", calls, callLines(rec.Calls()))
}

// WantAnyOrder is Want for calls that run in parallel: the order doesn't
// count, how often each of them occurs does.
func (rec *Recorder) WantAnyOrder(t testing.TB, calls ...string) {
	t.Helper()
	wantLines(t, "calls, sorted", slices.Sorted(slices.Values(calls)), slices.Sorted(slices.Values(callLines(rec.Calls()))))
}

// WantEvents fails t, with a line diff, unless the events recorded so far are
// those given, each as by [EventLine], in this order.
func (rec *Recorder) WantEvents(t testing.TB, events ...string) {
	t.Helper()
	var got []string
	for _, ev := range rec.Events() {
		got = append(got, EventLine(ev))
	}
	wantLines(t, "events", events, got)
}

func callLines(calls []Call) []string {
	var lines []string
	for _, c := range calls {
		lines = append(lines, c.String())
	}
	return lines
}

func wantLines(t testing.TB, what string, want, got []string) {
	t.Helper()
	if d := diffLines(want, got); d != "" {
		t.Errorf("recorded %s (- wanted and missing, + there and not wanted):\n%s", what, d)
	}
}

// EventLine returns an event as one line without its durations, such as
// "pre_tool_call search #c1 aborted (redact modified, policy aborted: no network)":
// the point, the tool and the id of its call, the outcome, and each hook with
// its own outcome, the reason of its abort or the text of the error that it
// failed with. Of an abort that has a cause the type of that follows, and not
// its text, which can hold secrets: a guard that panics gives
// "redact aborted: redact failed [*hooks.PanicError]".
func EventLine(ev hooks.HookDispatchedEvent) string {
	line := string(ev.Point)
	if ev.ToolName != "" {
		line += " " + ev.ToolName
	}
	if ev.ToolCallID != "" {
		line += " #" + ev.ToolCallID
	}
	line += " " + string(ev.Outcome)
	if len(ev.Hooks) == 0 { // no hook did it: the context couldn't say whom it concerns
		return line + why(ev.AbortReason, nil)
	}
	line += " ("
	for i, h := range ev.Hooks {
		if i > 0 {
			line += ", "
		}
		line += h.Name + " " + string(h.Outcome)
		switch {
		case h.Outcome == hooks.OutcomeAborted:
			line += why(ev.AbortReason, h.Err)
		case h.Err != nil:
			line += ": " + h.Err.Error()
		}
	}
	return line + ")"
}

// why tells of an abort. An err that is but the abort itself, wrapped, is no
// cause of it.
func why(reason string, err error) (text string) {
	if reason != "" {
		text = ": " + reason
	}
	if err != nil && !errors.As(err, new(*hooks.HookAborted)) {
		text += fmt.Sprintf(" [%T]", err)
	}
	return text
}
