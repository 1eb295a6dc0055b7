// One turn: the step around it, the call of the model, and the reply as it
// joins the history.

package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// turn is one call of the model, and of the tools that it asks for. The Messages
// that the pre hooks leave in the step's [hooks.Turn] are the history from then
// on. The text of the reply is the step's output, and on the last turn the
// answer. A turn that is resumed has its reply already.
func (r *run) turn(ctx context.Context, n int) (answer string, done bool, err error) {
	if r.Listener.TurnStarted != nil {
		r.Listener.TurnStarted(n)
	}
	open := r.open
	step := &hooks.Step{
		Kind:  hooks.StepTurn,
		Name:  fmt.Sprintf("turn %d", n),
		Input: &hooks.Turn{Number: n, Messages: clone(r.result.History)},
	}
	err = hooks.RunStep(ctx, step, func(ctx context.Context, step *hooks.Step) error {
		turn, ok := step.Input.(*hooks.Turn)
		if !ok {
			return fmt.Errorf("the input of turn %d is %T, not *hooks.Turn", n, step.Input)
		}
		r.result.History = clone(turn.Messages)
		r.result.Turns++
		reply, results, err := r.replyOf(ctx, n, open)
		if err != nil {
			return err
		}
		turn.Reply = clone([]hooks.Message{reply})[0]
		r.add(reply)
		r.open = nil // it is in the history again
		step.Output = reply.Content
		if done = len(reply.ToolCalls) == 0; done {
			return nil
		}
		return r.callTools(ctx, n, reply.ToolCalls, results)
	})
	if err != nil || !done {
		return "", false, err
	}
	answer, ok := step.Output.(string)
	if !ok {
		return "", false, fmt.Errorf("the output of turn %d is %T, not text", n, step.Output)
	}
	return answer, true, nil
}

// replyOf returns what the model says in turn n, with the results that there are
// of its calls: what is open of a resumed turn, else what the model answers now.
func (r *run) replyOf(ctx context.Context, n int, open []hooks.Message) (reply hooks.Message, results []hooks.Message, err error) {
	if len(open) > 0 {
		reply, results = open[0], open[1:]
		if r.Listener.TurnResumed != nil {
			r.Listener.TurnResumed(n, unanswered(reply.ToolCalls, results))
		}
		return reply, results, nil
	}
	reply, r.offered, err = r.callModel(ctx, n)
	if err == nil && r.Listener.ModelReplied != nil {
		r.Listener.ModelReplied(n, reply)
	}
	return reply, nil, err
}

// callModel sends the history and returns the reply as the hooks left it, with
// the names of the tools that were offered.
func (r *run) callModel(ctx context.Context, n int) (hooks.Message, []string, error) {
	call := &hooks.ModelCall{
		Model:      r.ModelName,
		LLM:        r.Model,
		Iterations: n - 1,
		Messages:   r.result.History,
		Tools:      r.toolNames(),
	}
	var offered []string // to the model; a post hook can't offer more afterwards
	err := hooks.RunModel(ctx, call, func(ctx context.Context, call *hooks.ModelCall) error {
		offered = slices.Clone(call.Tools)
		req, err := r.request(call)
		if err != nil {
			return err
		}
		call.Request = req
		return r.ask(ctx, n, call, req)
	})
	if err != nil {
		return hooks.Message{}, nil, err
	}
	if call.Answered() {
		offered = call.Tools // by a hook, which knows them
	}
	reply := hooks.Message{Role: "assistant", Content: call.Response, ToolCalls: tidy(call.ToolCalls, n)}
	return reply, offered, nil
}

// tidy gives each call of turn n an id of its own, since results are told apart
// by it and some servers send none or the same one twice. Blank arguments, which
// some models write for a tool without parameters, become those that they mean:
// they stay in the history, and some servers refuse one that isn't JSON.
func tidy(calls []hooks.ToolRequest, n int) []hooks.ToolRequest {
	calls = slices.Clone(calls)
	seen := make(map[string]bool, len(calls))
	for i := range calls {
		c := &calls[i]
		for k := i + 1; c.ID == "" || seen[c.ID]; k++ {
			c.ID = fmt.Sprintf("call_%d_%d", n, k)
		}
		seen[c.ID] = true
		if strings.TrimSpace(c.Arguments) == "" {
			c.Arguments = "{}"
		}
	}
	return calls
}

// clone copies messages with what hooks may write in them: the history is the
// loop's own.
func clone(messages []hooks.Message) []hooks.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		m.Parts, m.ToolCalls = slices.Clone(m.Parts), slices.Clone(m.ToolCalls)
	}
	return messages
}
