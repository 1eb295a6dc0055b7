// What the model says in the wire format: whole.

package modelserver

import (
	"encoding/json"
	"fmt"
	"time"
)

// said is what the model says, with what the format wants to know of it.
type said struct {
	text    string
	calls   []saidCall
	finish  string
	usage   map[string]any
	created int64
}

type saidCall struct{ id, name, args string }

func say(req request, r reply) said {
	s := said{text: r.text, finish: "stop", created: time.Now().Unix()}
	number := 1 // no ID comes twice in a conversation
	for _, m := range req.Messages {
		number += len(m.ToolCalls)
	}
	for i, c := range r.calls {
		args, _ := json.Marshal(c.args) // strings and numbers only
		s.calls = append(s.calls, saidCall{fmt.Sprintf("call_%d", number+i), c.name, string(args)})
		s.finish = "tool_calls"
	}
	// A token is about four bytes, which is near enough for nobody to pay.
	in, out := req.size/4, len(s.text)/4+20*len(s.calls)
	s.usage = map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
	return s
}

func (s said) completion(model string) map[string]any {
	message := map[string]any{"role": "assistant", "content": nil}
	if s.text != "" {
		message["content"] = s.text
	}
	var calls []map[string]any
	for _, c := range s.calls {
		calls = append(calls, map[string]any{
			"id":       c.id,
			"type":     "function",
			"function": map[string]any{"name": c.name, "arguments": c.args},
		})
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return map[string]any{
		"id":      id,
		"object":  "chat.completion",
		"created": s.created,
		"model":   model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": s.finish}},
		"usage":   s.usage,
	}
}

const id = "chatcmpl-scripted"
