package hookstest

// What holds in every scenario, looked at when the run has ended: what began
// has ended, and each request holds of the turn before what the hooks left.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// settle checks, when the run has ended, that what began has ended, too.
func (t *trial) settle() {
	started := slices.ContainsFunc(t.calls, func(k *call) bool { return k.pre == hooks.ExecutionStart.Name() })
	switch {
	case t.outside == "" || !t.has(hooks.ExecutionStart):
	case started:
		t.breaks(ruleInside, t.outside+" between input and output", "it fired outside")
	default:
		t.breaks(rulePoints, "execution_start before "+t.outside, "it did not fire")
	}
	for _, k := range t.calls {
		isRun := k.pre == hooks.ExecutionStart.Name()
		switch {
		case k.posts > 0 && k.held:
			t.breaks(ruleNoPost, fmt.Sprintf("no %s for %s, which waits", k.post, k), "it fired")
		case k.posts == 0 && k.pre == hooks.PreToolCall.Name() && !k.held, k.posts == 0 && k.passed && !isRun:
			if t.has(k.post) {
				t.breaks(rulePaired, fmt.Sprintf("%s for %s", k.post, k), "it did not fire")
			}
		case k.posts > 0 && !k.passed && k.pre != hooks.PreToolCall.Name():
			t.breaks(ruleNoPost, fmt.Sprintf("no %s for %s, which was aborted", k.post, k), "it fired")
		case !isRun || !k.passed:
		case k.posts == 0 && t.has(hooks.ExecutionEnd):
			t.breaks(ruleEnd, "execution_end for the run that has started", "it did not fire")
		case k.inputs != 1 && t.has(hooks.Input):
			t.breaks(ruleInput, "input once", fmt.Sprintf("it fired %d times", k.inputs))
		case k.ended && k.status == hooks.StatusCompleted && k.outputs != 1 && t.has(hooks.Output):
			t.breaks(ruleOutput, "output once", fmt.Sprintf("it fired %d times", k.outputs))
		}
		if isRun && k.ended {
			t.checkStatus(k)
		}
	}
}

func (t *trial) checkStatus(k *call) {
	got := fmt.Sprintf("status %q, error %v, output %v", k.status, k.err, k.output)
	switch waits := isSuspended(k.err); {
	case k.status == hooks.StatusCompleted && k.err == nil:
	case k.status == hooks.StatusSuspended && waits:
	case k.status == hooks.StatusFailed && k.err != nil && !waits && k.output == nil:
	case waits:
		t.breaks(ruleStatus, "status suspended with the *hooks.Suspended in Err", got)
	default:
		t.breaks(ruleStatus, "status completed without an error, or failed with an error and without an output", got)
	}
}

// checkHistory checks that what each request holds of the turn before is what
// the hooks left. The caller holds mu.
func (t *trial) checkHistory(s *script) {
	seen := make(map[hooks.ToolRequest]int)
	last := 0 // the last request that was answered: a loop may send one again that failed
	for i := 1; i < len(s.requests) && i <= len(s.turns); i++ {
		if s.turns[i-1].replies() {
			last = i - 1
		}
		calls := s.turns[last].ToolCalls
		if k := s.calls[last]; k != nil && k.settled {
			calls = k.toolCalls
		}
		for _, dropped := range s.turns[last].ToolCalls {
			if !slices.ContainsFunc(calls, func(c hooks.ToolRequest) bool { return c.ID == dropped.ID }) && t.callOf(dropped, 0) != nil {
				t.breaks(ruleToolCalls, "no call of "+dropped.Name+", which a hook has dropped", "it was called")
				return
			}
		}
		results, asked := lastTurn(s.requests[i].Messages)
		if asked != nil && len(asked) != len(calls) {
			t.breaks(ruleResults, fmt.Sprintf("the %d tool calls that the post hooks left, in the reply that is sent back", len(calls)), fmt.Sprintf("%d tool calls", len(asked)))
		}
		if len(results) != len(calls) {
			t.breaks(ruleResults, fmt.Sprintf(`%d messages with the role "tool" after the reply`, len(calls)), fmt.Sprint(len(results)))
			return
		}
		made := make([]*call, len(calls))
		for j, req := range calls {
			same := hooks.ToolRequest{Name: req.Name, Arguments: req.Arguments}
			made[j] = t.callOf(req, seen[same])
			seen[same]++
		}
		t.checkResults(inOrder(results, calls), calls, made)
	}
}

// inOrder returns results in the order of the calls, where each carries the id
// of a call: it may stand at any place then.
func inOrder(results []hooks.Message, calls []hooks.ToolRequest) []hooks.Message {
	ordered := make([]hooks.Message, len(calls))
	taken := make([]bool, len(calls))
	for _, m := range results {
		at := slices.IndexFunc(calls, func(c hooks.ToolRequest) bool { return c.ID == m.ToolCallID })
		if m.ToolCallID == "" || at < 0 || taken[at] {
			return results
		}
		ordered[at], taken[at] = m, true
	}
	return ordered
}

// checkResults compares what the model reads of the calls of a turn with what
// the hooks left. made has nil for a call that the probe hasn't seen.
func (t *trial) checkResults(results []hooks.Message, calls []hooks.ToolRequest, made []*call) {
	for j, m := range results {
		if at := slices.IndexFunc(calls, func(c hooks.ToolRequest) bool { return c.ID == m.ToolCallID }); at >= 0 && at != j {
			t.breaks(ruleResults, fmt.Sprintf("the result of call %d", j+1), fmt.Sprintf("the id of call %d", at+1))
			return
		}
		if k := made[j]; k != nil && k.posts > 0 {
			t.checkResult(m, k, made)
		}
	}
}

func (t *trial) checkResult(m hooks.Message, k *call, made []*call) {
	if k.settled && !k.parts && !says(m, k.result) {
		rule := ruleResult
		switch {
		case slices.ContainsFunc(made, func(other *call) bool {
			return other != nil && other.settled && other.result != "" && other.result != k.result && says(m, other.result)
		}):
			rule = ruleResults
		case k.blocked:
			rule = ruleReason
		}
		t.breaks(rule, fmt.Sprintf("%q for %s", k.result, k), fmt.Sprintf("%q", m.Text()))
		return
	}
	if t.marked != nil {
		if want, got := k.isError || !k.settled, t.marked(m); want != got {
			t.breaks(ruleMarked, fmt.Sprintf("the result of %s marked: %t", k, want), fmt.Sprintf("marked: %t, %q", got, m.Text()))
		}
	}
}

// callOf returns the call that req led to, nil if none: the one with its id, or
// the nth of its tool and key, counted from 0. One that waited doesn't count,
// since it is made again. The caller holds mu.
func (t *trial) callOf(req hooks.ToolRequest, nth int) *call {
	var input map[string]any
	_ = json.Unmarshal([]byte(req.Arguments), &input) // a nil input has the key ""
	key := keyOf(input)
	var same, unread []*call // by name and key, and by name where the arguments could not be read
	for _, k := range t.calls {
		if k.pre != hooks.PreToolCall.Name() || k.waits {
			continue
		}
		if k.id != "" && k.id == req.ID {
			return k
		}
		switch {
		case k.tool != req.Name:
		case k.key == key:
			same = append(same, k)
		case k.key == "":
			unread = append(unread, k)
		}
	}
	if len(same) == 0 {
		same = unread
	}
	if nth >= len(same) {
		return nil
	}
	return same[nth]
}

// lastTurn returns the tool results after the last reply of a model in a
// request, and the tool calls of that reply.
func lastTurn(messages []hooks.Message) (results []hooks.Message, asked []hooks.ToolRequest) {
	for _, m := range messages {
		switch m.Role {
		case "assistant":
			results, asked = nil, m.ToolCalls
		case "tool":
			results = append(results, m)
		}
	}
	return results, asked
}

// says reports whether the text of m holds text, as it is or as JSON.
func says(m hooks.Message, text string) bool {
	if strings.Contains(m.Text(), text) {
		return true
	}
	quoted, err := json.Marshal(text)
	return err == nil && strings.Contains(m.Text(), strings.Trim(string(quoted), `"`))
}

// find returns the last call of this tool and key, nil if there was none. The
// caller holds mu.
func (t *trial) find(tool, key string) *call {
	for _, k := range slices.Backward(t.calls) {
		if k.pre == hooks.PreToolCall.Name() && k.is(tool, key) {
			return k
		}
	}
	return nil
}
