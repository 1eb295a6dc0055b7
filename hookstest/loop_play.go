package hookstest

// The words that scenarios are written in.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// answers is a reply that ends the run.
func answers(text string) turn { return turn{Reply: Reply{Text: text}} }

// asks is a reply that asks for tools.
func asks(calls ...hooks.ToolRequest) turn { return turn{Reply: Reply{ToolCalls: calls}} }

// request is a tool call that a model asks for.
func request(tool, key string) hooks.ToolRequest {
	return hooks.ToolRequest{ID: "call_" + key, Name: tool, Arguments: fmt.Sprintf(`{"key":%q,"value":"raw"}`, key)}
}

// hookName is the name of the kit's hooks, and so the source of their aborts.
const hookName = "a hook of the kit"

// on registers a hook of the scenario.
func on[C any](t *trial, p hooks.Point[C], fn hooks.Func[C]) {
	hooks.On(p, fn, hooks.In(t.registry), hooks.WithName(hookName))
}

// onTool registers a hook for the tool call with the key "c1".
func onTool(t *trial, p hooks.Point[hooks.ToolCall], fn func(*hooks.ToolCall) error) {
	on(t, p, func(_ context.Context, c *hooks.ToolCall) error {
		if keyOf(c.Input) != "c1" {
			return nil
		}
		return fn(c)
	})
}

// abort is what a hook returns to abort, noted in the trace.
func (t *trial) abort(a *hooks.HookAborted) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(event{line: "    a hook aborts: " + a.Reason})
	if t.abortedAt < 0 {
		t.abortedAt = len(t.events)
	}
	return a
}

// checkGoesOn checks that the run came to its answer.
func (t *trial) checkGoesOn(rule string) {
	t.check(t.err == nil, rule, "the run to go on to its answer", fmt.Sprintf("the error: %v", t.err))
	t.check(t.text == theAnswer, ruleText, fmt.Sprintf("%q", theAnswer), fmt.Sprintf("%q", t.text))
}

// checkRan checks how often the tool of the call with this key ran.
func (t *trial) checkRan(rule, key string, want int) {
	t.mu.Lock()
	got := t.ran[key]
	t.mu.Unlock()
	t.check(got == want, rule, fmt.Sprintf("the tool of call %q run %d times", key, want), fmt.Sprintf("%d times", got))
}

// checkSent checks that a text is, or isn't, in the messages of request n,
// counted from 0.
func (t *trial) checkSent(rule string, n int, text string, want bool) {
	sent := t.sent(n)
	found := slices.ContainsFunc(sent, func(m hooks.Message) bool { return says(m, text) })
	not := ""
	if !want {
		not = "no "
	}
	t.check(found == want, rule, fmt.Sprintf("%s%q in request %d", not, text, n+1), listMessages(sent))
}

// sent returns the messages of request n, none if it was not made.
func (t *trial) sent(n int) []hooks.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n >= len(t.script.requests) {
		return nil
	}
	return t.script.requests[n].Messages
}

// offered returns the tools of request n, counted from 0.
func (t *trial) offered(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n >= len(t.script.requests) {
		return nil
	}
	return t.script.requests[n].Tools
}

// requests returns how often the model was called.
func (t *trial) requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.script.requests)
}

// toolCall returns what the probe knows of a tool call, the zero call if it
// hasn't seen one.
func (t *trial) toolCall(tool, key string) call {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.find(tool, key); k != nil {
		return *k
	}
	return call{}
}

// runsOf returns what the probe knows of the executions, in the order in which
// they started.
func (t *trial) runsOf() []call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var runs []call
	for _, k := range t.calls {
		if k.pre == hooks.ExecutionStart.Name() {
			runs = append(runs, *k)
		}
	}
	return runs
}

func listMessages(messages []hooks.Message) string {
	if len(messages) == 0 {
		return "no such request"
	}
	var texts []string
	for _, m := range messages {
		texts = append(texts, fmt.Sprintf("%s: %q", m.Role, m.Text()))
	}
	return strings.Join(texts, ", ")
}

// findAbort returns the abort in err that is the kit's.
func findAbort(err error) *hooks.HookAborted {
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	if !ok || !strings.HasPrefix(abort.Reason, theReason) {
		return nil
	}
	return abort
}
