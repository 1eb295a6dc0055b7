// The tool calls of one turn: which tool a call runs, how many of them run, and
// what the model reads of each. Every call gets a result, whatever happens.

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// callTools runs the calls of turn n that have no result yet, in parallel, and
// adds the results of all to the history in the order of the calls. Every call gets
// one, also when the run is stopped: a history with a hole is rejected by every
// provider. Only calls that wait, in a run that is suspended, get none. Calls
// beyond MaxCalls aren't made, and their results say so.
func (r *run) callTools(ctx context.Context, n int, all []hooks.ToolRequest, results []hooks.Message) error {
	requests := unanswered(all, results)
	made := requests[:min(len(requests), r.maxCalls)]
	calls := make([]*hooks.ToolCall, len(made))
	found := make(map[*hooks.ToolCall]*Tool, len(made))
	for i, req := range made {
		call, tool := r.newCall(req)
		calls[i], found[call] = call, tool
	}
	err := hooks.RunTools(ctx, calls, r.Parallel, func(ctx context.Context, call *hooks.ToolCall) error {
		tool := found[call]
		switch {
		case tool == nil:
			call.Result = fmt.Sprintf("there is no tool %q; the tools are: %s", call.Name, strings.Join(r.offered, ", "))
			return hooks.ErrNoTool
		case call.Name != tool.Name || call.Tool != any(tool):
			return fmt.Errorf("the call of %s isn't made: a hook made it a call of another tool", tool.Name)
		}
		text, err := tool.Run(ctx, call.Input)
		call.Result = text
		return err
	})
	suspended := waits(err)
	results = slices.Clone(results)
	for i, call := range calls {
		if !suspended || call.Suspended() == nil {
			r.result.ToolCalls++
			if call.Blocked != nil && !givenUp(ctx, call.Blocked) {
				r.result.Blocked++
			}
			results = append(results, resultMessage(made[i].ID, call))
		}
		if r.Listener.ToolReturned != nil {
			r.Listener.ToolReturned(n, call)
		}
	}
	results = append(results, r.skip(n, requests[len(made):])...)
	r.result.History = append(r.result.History, inOrder(all, results)...)
	if err == nil {
		r.number = n + 1 // whatever the post hooks of the step say, the model is next
	}
	return err
}

// waits reports whether err says that the run is suspended, rather than stopped
// for a reason that has to do with that.
func waits(err error) bool {
	_, suspended := errors.AsType[*hooks.Suspended](err)
	_, stopped := errors.AsType[*hooks.HookAborted](err)
	return suspended && !stopped
}

// unanswered returns the calls that have no result.
func unanswered(calls []hooks.ToolRequest, results []hooks.Message) []hooks.ToolRequest {
	return slices.DeleteFunc(slices.Clone(calls), func(c hooks.ToolRequest) bool {
		return slices.ContainsFunc(results, func(m hooks.Message) bool { return m.ToolCallID == c.ID })
	})
}

// inOrder returns the results in the order of the calls.
func inOrder(calls []hooks.ToolRequest, results []hooks.Message) []hooks.Message {
	at := make(map[string]int, len(calls))
	for i, c := range calls {
		at[c.ID] = i
	}
	slices.SortStableFunc(results, func(a, b hooks.Message) int { return cmp.Compare(at[a.ToolCallID], at[b.ToolCallID]) })
	return results
}

// skip returns the results of the calls that aren't made.
func (r *run) skip(n int, requests []hooks.ToolRequest) []hooks.Message {
	if len(requests) == 0 {
		return nil
	}
	r.result.Skipped += len(requests)
	var results []hooks.Message
	for _, req := range requests {
		results = append(results, hooks.Message{
			Role: "tool", ToolCallID: req.ID,
			Content: fmt.Sprintf("Error: Tool was not run: no more than %d calls are made in one turn", r.maxCalls),
		})
	}
	if r.Listener.CallsSkipped != nil {
		r.Listener.CallsSkipped(n, len(requests))
	}
	return results
}

// givenUp reports whether a refusal comes of a cancelled run and not of a rule:
// whoever was to decide was interrupted.
func givenUp(ctx context.Context, refusal error) bool {
	return ctx.Err() != nil && errors.Is(refusal, ctx.Err())
}

// newCall makes the call that req asks for, and finds its tool. There is none
// for a name that the loop doesn't know and for one that a hook has hidden:
// hidden means that it can't be run, whatever the model remembers. It is looked
// up before the hooks run, and a call that is of another tool behind them isn't
// made: some guard may have looked at the one name, and some at the other.
func (r *run) newCall(req hooks.ToolRequest) (*hooks.ToolCall, *Tool) {
	call := &hooks.ToolCall{ID: req.ID, Name: req.Name}
	tool := r.tools[req.Name]
	if !slices.Contains(r.offered, req.Name) {
		tool = nil
	}
	if tool != nil {
		call.Tool = tool
	}
	// The error is in the call: its tool won't run, and the model reads why.
	_ = call.SetArguments(req.Arguments)
	return call, tool
}

// resultMessage is what the model reads of a call, under the id that the call
// had when the model made it. The format has no mark for errors, so the text
// begins with one.
func resultMessage(id string, call *hooks.ToolCall) hooks.Message {
	m := hooks.Message{Role: "tool", ToolCallID: id, Content: call.Result, Parts: slices.Clone(call.Parts)}
	if call.IsError() {
		if call.Text() == "" {
			m.Content = "the call didn't end" // an interrupt has no result of its own
		}
		m.Content = "Error: " + m.Content
	}
	return m
}
