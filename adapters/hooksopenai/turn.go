package hooksopenai

// One turn of a loop: the model call, and the tools that its reply asks for.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

// turn makes one turn. The text of its reply is the output of the step, and of the last
// turn the answer. A turn that is resumed has its reply already.
func (r *run) turn(ctx context.Context) (answer string, done bool, err error) {
	n, open := r.st.Turn, r.open
	held := r.OnText != nil && decidedLater(ctx)
	text := ""
	step := &hooks.Step{
		Kind:  hooks.StepTurn,
		Name:  fmt.Sprintf("turn %d", n+1),
		Input: &hooks.Turn{Number: n + 1, Messages: clone(r.history)},
	}
	err = hooks.RunStep(ctx, step, func(ctx context.Context, step *hooks.Step) error {
		turn, ok := step.Input.(*hooks.Turn)
		if !ok || turn == nil {
			return fmt.Errorf("hooksopenai: the input of turn %d is %T, not *hooks.Turn", n+1, step.Input)
		}
		history := clone(turn.Messages)
		if _, err := natives(history); err != nil {
			return err
		}
		r.history, r.open, done = history, open, false
		reply, results, err := r.replyOf(ctx, n, open, held)
		if err != nil {
			return err
		}
		turn.Reply = clone([]hooks.Message{reply})[0]
		r.add(reply)
		r.open = nil // it is in the history again
		text = reply.Text()
		step.Output = text
		if done = len(reply.ToolCalls) == 0; done {
			return nil
		}
		err = r.callTools(ctx, reply.ToolCalls, results)
		if err == nil || waits(err) && openTurn(r.history) == 0 {
			r.st.Turn = n + 1 // whatever the post hooks say, the model is next
		}
		return err
	})
	if err != nil {
		return "", false, err
	}
	if !done {
		if held && text != "" {
			r.OnText(text)
		}
		return "", false, nil
	}
	answer, ok := step.Output.(string)
	if !ok {
		return "", false, fmt.Errorf("hooksopenai: the output of turn %d is %T, not text", n+1, step.Output)
	}
	r.held = held
	return answer, true, nil
}

// decidedLater says whether a hook has yet to decide on what a turn says, which is the
// answer if the turn is the last: nobody knows that while the model speaks.
func decidedLater(ctx context.Context) bool {
	return hooks.Guarded(ctx, hooks.PostStep) || hooks.Guarded(ctx, hooks.Output) || hooks.Guarded(ctx, hooks.ExecutionEnd)
}

// replyOf returns the reply of turn n, with the results that there are of its calls:
// what is open of a resumed turn, else what the model answers now.
func (r *run) replyOf(ctx context.Context, n int, open []hooks.Message, held bool) (hooks.Message, []hooks.Message, error) {
	if len(open) > 0 {
		return open[0], open[1:], nil
	}
	m := &hooks.ModelCall{Iterations: n, Messages: r.history}
	call := completion{client: &r.Client, request: r.request, onText: r.OnText}
	if held { // the filters of the stream count all the same
		call.onText = func(string) {}
	}
	reply, err := call.run(ctx, m)
	r.st.Offered = call.offered
	return reply, nil, err
}

// callTools runs the calls that have no result yet, and adds the results of all to the
// history in the order of the calls. Each call gets one, also when the run is stopped: a
// history with a hole is refused by the provider. Only calls that wait, in a run that is
// suspended, get none.
func (r *run) callTools(ctx context.Context, all []hooks.ToolRequest, results []hooks.Message) error {
	requests := unanswered(all, results)
	calls := Calls(hooks.Message{ToolCalls: requests})
	left := make(map[*hooks.ToolCall]*leftParts, len(calls))
	asked := make(map[*hooks.ToolCall]hooks.ToolRequest, len(calls))
	for i, call := range calls {
		left[call], asked[call] = new(leftParts), requests[i]
		if tool := r.tool(requests[i], call.Name); tool != nil {
			call.Tool = tool
		}
	}
	err := hooks.RunTools(ctx, calls, r.parallel, func(ctx context.Context, call *hooks.ToolCall) error {
		tool := r.tool(asked[call], call.Name)
		if tool == nil {
			return hooks.ErrNoTool
		}
		err := tool.Run(ctx, call)
		left[call].take(call)
		return err
	})
	suspended := waits(err)
	results = slices.Clone(results)
	for i, call := range calls {
		if suspended && call.Suspended() != nil {
			continue
		}
		results = append(results, resultMessage(requests[i].ID, call, left[call]))
	}
	r.history = append(r.history, inOrder(all, results)...)
	return err
}

// tool returns the tool named, nil if there is none. The one that the model has asked
// for must have been offered: a tool that hooks have hidden can't be run, whatever the
// model remembers. A hook may send a call to any tool by its Name, which guards have
// looked at.
func (r *run) tool(asked hooks.ToolRequest, name string) *Tool {
	if name == asked.Name && !slices.Contains(r.st.Offered, name) {
		return nil
	}
	return r.tools[name]
}

// waits reports whether err says that the run is suspended, rather than stopped for a
// reason that has to do with that.
func waits(err error) bool {
	_, suspended := errors.AsType[*hooks.Suspended](err)
	_, stopped := errors.AsType[*hooks.HookAborted](err)
	return suspended && !stopped
}
