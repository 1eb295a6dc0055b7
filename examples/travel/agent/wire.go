// The history and the wire: what the hooks left becomes the request, and the
// reply becomes what hooks see.

package agent

import (
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/chat"
)

// The loop keeps its history in the library's portable messages and builds
// every request from them. What a provider sends beyond that is dropped: no
// hook could have seen it, so none could have redacted it.

// request builds what is sent from what the hooks left.
func (r *run) request(call *hooks.ModelCall) (chat.Request, error) {
	req := chat.Request{Model: call.Model}
	for _, m := range call.Messages {
		wire, err := wireMessage(m)
		if err != nil {
			return chat.Request{}, err
		}
		req.Messages = append(req.Messages, wire)
	}
	for i, name := range call.Tools {
		if slices.Contains(call.Tools[:i], name) {
			continue // a provider refuses a tool that it is offered twice
		}
		tool := r.tools[name]
		if tool == nil {
			return chat.Request{}, fmt.Errorf("a hook offers the tool %q, which there isn't", name)
		}
		req.Tools = append(req.Tools, chat.Tool{
			Type:     "function",
			Function: chat.Describe{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters},
		})
	}
	return req, nil
}

func wireMessage(m hooks.Message) (chat.Message, error) {
	for _, p := range m.Parts {
		if p.Kind != "text" {
			return chat.Message{}, fmt.Errorf("a message of role %q has a part of kind %q; this loop sends text only", m.Role, p.Kind)
		}
	}
	wire := chat.Message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID}
	if text := m.Text(); text != "" || len(m.ToolCalls) == 0 {
		wire.Content = &text
	}
	for _, c := range m.ToolCalls {
		wire.ToolCalls = append(wire.ToolCalls, chat.ToolCall{
			ID: c.ID, Type: "function", Function: chat.Function{Name: c.Name, Arguments: c.Arguments},
		})
	}
	return wire, nil
}

func toolRequests(calls []chat.ToolCall) []hooks.ToolRequest {
	var requests []hooks.ToolRequest
	for _, c := range calls {
		requests = append(requests, hooks.ToolRequest{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return requests
}
