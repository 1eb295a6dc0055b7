package hookstest

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

// recorderName is the name under which a Recorder registers its own hooks.
const recorderName = "hookstest.Recorder"

// Recorder records what happens under a registry: which points fire, in their
// order, and the events of what hooks do there. Its methods are safe for
// concurrent use.
type Recorder struct {
	mu     sync.Mutex
	calls  []Call
	events []hooks.HookDispatchedEvent
}

// Call is one firing of a point, as the first hook there saw it.
type Call struct {
	Point hooks.InterceptionPoint
	Name  string // of the tool, the model or the step; "" for an execution
	ID    string // of a tool call
	// State is what a post point was told: "blocked", "answered" or "failed",
	// and "completed" or "failed" at execution_end. It is "" where nothing is
	// to be told.
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

// Record starts to record what happens under r, with a hook at each of the ten
// points and an observer. The hooks run before the other hooks of r, so that a
// point is recorded that one of those aborts; after an abort in a registry
// around r they don't run, and nothing is recorded. They change nothing, and
// clearing r ends the record of calls.
func Record(r *hooks.Registry) *Recorder {
	rec := new(Recorder)
	for _, p := range []hooks.Point[hooks.Execution]{hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd} {
		recordAt(rec, r, p, func(c *hooks.Execution) Call {
			if p == hooks.ExecutionEnd {
				return Call{State: string(c.Status)}
			}
			return Call{}
		})
	}
	for _, p := range []hooks.Point[hooks.Step]{hooks.PreStep, hooks.PostStep} {
		recordAt(rec, r, p, func(c *hooks.Step) Call {
			name := c.Name
			if name == "" {
				name = string(c.Kind)
			}
			return Call{Name: name, State: state(p == hooks.PostStep, false, false, c.Err)}
		})
	}
	for _, p := range []hooks.Point[hooks.ModelCall]{hooks.PreModelCall, hooks.PostModelCall} {
		recordAt(rec, r, p, func(c *hooks.ModelCall) Call {
			return Call{Name: c.Model, State: state(p == hooks.PostModelCall, false, c.Answered(), c.Err)}
		})
	}
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		recordAt(rec, r, p, func(c *hooks.ToolCall) Call {
			return Call{Name: c.Name, ID: c.ID, State: state(p == hooks.PostToolCall, c.Blocked != nil, c.Answered(), c.Err)}
		})
	}
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { rec.observe(ev) })
	return rec
}

func recordAt[C any](rec *Recorder, r *hooks.Registry, p hooks.Point[C], describe func(*C) Call) {
	hooks.On(p, func(_ context.Context, c *C) error {
		call := describe(c)
		call.Point = p.Name()
		rec.mu.Lock()
		defer rec.mu.Unlock()
		rec.calls = append(rec.calls, call)
		return nil
	}, hooks.In(r), hooks.WithName(recorderName), hooks.WithPriority(math.MaxInt))
}

func state(post, blocked, answered bool, err error) string {
	switch {
	case !post:
		return ""
	case blocked:
		return "blocked"
	case answered:
		return "answered"
	case err != nil:
		return "failed"
	}
	return ""
}

// observe keeps ev as it would be without the recorder's own hooks.
func (rec *Recorder) observe(ev hooks.HookDispatchedEvent) {
	ev.Hooks = slices.DeleteFunc(slices.Clone(ev.Hooks), func(h hooks.HookRun) bool { return h.Name == recorderName })
	ev.HookCount = len(ev.Hooks)
	if ev.HookCount == 0 {
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
// own hooks: a dispatch that ran no others has no event here. The slice is the
// caller's, what its events hold is not.
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
	line += " " + string(ev.Outcome) + " ("
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
