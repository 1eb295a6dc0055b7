package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// callTools runs the calls of turn n in parallel and adds their results to the
// history in the order of the calls. Every call gets one, also when the run is
// stopped: a history with a hole is rejected by every provider.
func (r *run) callTools(ctx context.Context, n int, requests []hooks.ToolRequest, offered []string) error {
	calls := make([]*hooks.ToolCall, len(requests))
	for i, req := range requests {
		calls[i] = r.newCall(req, offered)
	}
	err := hooks.RunTools(ctx, calls, r.Parallel, func(ctx context.Context, call *hooks.ToolCall) error {
		tool, ok := call.Tool.(*Tool)
		if !ok {
			return fmt.Errorf("there is no tool %q; the tools are: %s", call.Name, strings.Join(offered, ", "))
		}
		text, err := tool.Run(ctx, call.Input)
		call.Result = text
		return err
	})
	for _, call := range calls {
		r.result.ToolCalls++
		if call.Blocked != nil {
			r.result.Blocked++
		}
		r.history = append(r.history, resultMessage(call))
		if r.Listener.ToolReturned != nil {
			r.Listener.ToolReturned(n, call)
		}
	}
	return err
}

// newCall makes the call that req asks for. Tool stays nil for a name that the
// loop doesn't know and for one that a hook has hidden: hidden means that it
// can't be run, whatever the model remembers. It is looked up before the hooks
// run, so that a call can't be renamed past a guard that is filtered by name.
func (r *run) newCall(req hooks.ToolRequest, offered []string) *hooks.ToolCall {
	call := &hooks.ToolCall{ID: req.ID, Name: req.Name}
	if tool := r.tools[req.Name]; tool != nil && slices.Contains(offered, req.Name) {
		call.Tool = tool
	}
	// The error is in the call: its tool won't run, and the model reads why.
	_ = call.SetArguments(req.Arguments)
	return call
}

// resultMessage is what the model reads of a call. The format has no mark for
// errors, so the text begins with one.
func resultMessage(call *hooks.ToolCall) hooks.Message {
	m := hooks.Message{Role: "tool", ToolCallID: call.ID, Content: call.Result, Parts: call.Parts}
	if call.IsError() {
		m.Content = "Error: " + m.Content
	}
	return m
}
