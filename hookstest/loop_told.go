package hookstest

// What hooks are told beside the payload: ids, tools, counts and turns. Policies
// rest on them, and a field that a loop forgets is empty without a sound. What a
// loop tells nowhere it can't tell wrongly: ids and turns are judged where a loop
// has them.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var toldScenarios = []scenario{
	{name: "ids-of-calls", needs: toolPoints, after: plainCalls, play: toldIDs},
	{name: "ids-of-results", needs: toolPoints, after: plainCalls, play: resultIDs},
	{name: "tools-of-calls", needs: toolPoints, after: plainCalls, play: toldTools},
	{name: "iterations", needs: modelPoints, play: toldIterations},
	{name: "turns", needs: stepPoints, play: toldTurns},
	{name: "run-ids", needs: []hooks.AnyPoint{hooks.ExecutionStart}, after: plainCalls, play: toldRunIDs},
}

// plainCalls are the scenarios that tell of what goes wrong with the calls of
// everyKindOfCall.
var plainCalls = []string{
	"every-point", "several-tools", "unknown-tool", "fifth-call", "arguments-not-json", "failing-tool", "blocked-tool", "answered-tool",
}

// everyKindOfCall plays two turns with calls that run, fail, can't run, and are
// blocked and answered by hooks. It returns the ids that the model gave, in
// order.
func everyKindOfCall(t *trial) []string {
	t.tools["beta"] = func(context.Context, map[string]any) (string, error) { return "", errTool }
	on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		switch keyOf(c.Input) {
		case "c5":
			return t.abort(&hooks.HookAborted{Reason: theReason})
		case "c6":
			c.Answer(hooksAnswer)
		}
		return nil
	})
	first := []hooks.ToolRequest{
		request("alpha", "c1"), request("gamma", "c2"), request("beta", "c3"), written("alpha", "c4", "no JSON"),
		request("alpha", "c5"), request("alpha", "c6"),
	}
	second := []hooks.ToolRequest{request("alpha", "c7")}
	t.run(asks(first...), asks(second...), answers(theAnswer))
	t.checkGoesOn(ruleGoesOn)
	var ids []string
	for _, req := range slices.Concat(first, second) {
		ids = append(ids, req.ID)
	}
	return ids
}

// toldIDs says nothing of a loop that keeps no ids at all.
func toldIDs(t *trial) {
	want := everyKindOfCall(t)
	var got []string
	t.mu.Lock()
	for _, k := range t.calls {
		if k.pre == hooks.PreToolCall.Name() {
			got = append(got, k.id)
		}
	}
	t.mu.Unlock()
	if !slices.ContainsFunc(got, func(id string) bool { return id != "" }) && !t.keepsIDs() {
		t.untold = "the loop keeps no ids of calls"
		return
	}
	slices.Sort(got) // calls may run beside each other
	t.check(slices.Equal(want, got), ruleIDs, fmt.Sprintf("the ids %q at pre_tool_call", want), fmt.Sprintf("%q", got))
}

// resultIDs says nothing of a loop that keeps no ids in its messages.
func resultIDs(t *trial) {
	want := everyKindOfCall(t)
	if !t.keepsIDs() {
		t.untold = "the loop keeps no ids in its messages"
		return
	}
	var got []string
	for _, m := range t.sent(2) {
		if m.Role == "tool" {
			got = append(got, m.ToolCallID)
		}
	}
	slices.Sort(got)
	t.check(slices.Equal(want, got), ruleResultIDs, fmt.Sprintf(`the ids %q of the messages with the role "tool" in request 3`, want), fmt.Sprintf("%q", got))
}

// keepsIDs says whether the messages of the last request have an id of a call
// anywhere.
func (t *trial) keepsIDs() bool {
	return slices.ContainsFunc(t.sent(max(t.requests()-1, 0)), func(m hooks.Message) bool {
		return m.ToolCallID != "" || slices.ContainsFunc(m.ToolCalls, func(r hooks.ToolRequest) bool { return r.ID != "" })
	})
}

func toldTools(t *trial) {
	var mu sync.Mutex
	without := make(map[string]bool)
	on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		mu.Lock()
		defer mu.Unlock()
		if slices.Contains(toolNames, c.Name) && c.Tool == nil {
			without[c.Name] = true
		}
		return nil
	})
	everyKindOfCall(t)
	mu.Lock()
	defer mu.Unlock()
	t.check(len(without) == 0, ruleTool, "a Tool in the calls of alpha and beta", fmt.Sprintf("nil for %q", slices.Sorted(maps.Keys(without))))
}

func toldIterations(t *trial) {
	var mu sync.Mutex
	var got []int
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, c.Iterations)
		return nil
	})
	t.run(asks(request("alpha", "c1")), asks(request("alpha", "c2")), answers(theAnswer))
	t.checkGoesOn(ruleGoesOn)
	mu.Lock()
	defer mu.Unlock()
	if !t.saysTurns() {
		return
	}
	t.check(slices.Equal(got, []int{0, 1, 2}), ruleIterations, "Iterations 0, 1 and 2 at pre_model_call", fmt.Sprint(got))
}

// saysTurns says whether the loop has told hooks anywhere which turn it is in. One
// that never does isn't held to telling it well.
func (t *trial) saysTurns() bool {
	if !t.turns.Load() {
		t.untold = "the loop doesn't say which turn it is in, neither at its steps nor at its model calls"
		return false
	}
	return true
}

// toldTurns says nothing of steps of another kind.
func toldTurns(t *trial) {
	var mu sync.Mutex
	var wrong, last string
	var called atomic.Bool
	note := func(format string, args ...any) {
		if wrong == "" {
			wrong = fmt.Sprintf(format, args...)
		}
	}
	on(t, hooks.PreStep, func(_ context.Context, s *hooks.Step) error {
		mu.Lock()
		defer mu.Unlock()
		if s.Kind != hooks.StepTurn {
			return nil
		}
		switch turn, ok := s.Input.(*hooks.Turn); {
		case !ok || turn == nil:
			note("an Input that is %T", s.Input)
		case !mention(turn.Messages, thePrompt):
			note("Messages without the prompt")
		case called.Load() && !mention(turn.Messages, "alpha says raw to c1"):
			note("Messages without the result of the turn before")
		}
		return nil
	})
	on(t, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error {
		called.Store(true)
		return nil
	})
	on(t, hooks.PostStep, func(_ context.Context, s *hooks.Step) error {
		mu.Lock()
		defer mu.Unlock()
		if turn, ok := s.Input.(*hooks.Turn); ok && turn != nil && s.Kind == hooks.StepTurn {
			last = turn.Reply.Text()
			if last == "" && len(turn.Reply.ToolCalls) == 0 {
				note("an empty Reply at post_step")
			}
		}
		return nil
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkGoesOn(ruleGoesOn)
	mu.Lock()
	defer mu.Unlock()
	if wrong == "" && last != "" && last != theAnswer {
		note("the Reply %q in the last turn", last)
	}
	if !t.saysTurns() {
		return
	}
	t.check(wrong == "", ruleTurn, "a *hooks.Turn with the Messages so far and the Reply", wrong)
}

// mention says whether one of the messages holds text.
func mention(messages []hooks.Message, text string) bool {
	return slices.ContainsFunc(messages, func(m hooks.Message) bool { return says(m, text) })
}

func toldRunIDs(t *trial) {
	var mu sync.Mutex
	run := ""
	wrong := ""
	check := func(what, id string) {
		mu.Lock()
		defer mu.Unlock()
		if id != run && wrong == "" {
			wrong = fmt.Sprintf("%q at %s", id, what)
		}
	}
	on(t, hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error {
		mu.Lock()
		defer mu.Unlock()
		run = x.RunID
		return nil
	})
	on(t, hooks.PreStep, func(_ context.Context, s *hooks.Step) error { check("pre_step", s.RunID); return nil })
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error { check("pre_model_call", c.RunID); return nil })
	on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error { check("pre_tool_call", c.RunID); return nil })
	on(t, hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error { check("post_tool_call", c.RunID); return nil })
	on(t, hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution) error { check("execution_end", x.RunID); return nil })
	everyKindOfCall(t)
	mu.Lock()
	defer mu.Unlock()
	t.check(wrong == "", ruleRunID, fmt.Sprintf("the RunID %q of the execution", run), wrong)
}
