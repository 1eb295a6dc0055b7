// The requests: their form, and what a real endpoint would refuse. A history
// in which a tool call has no result is refused.

package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The types of the wire are declared again here rather than shared with the
// client: a mistake on one side then shows.

type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Stream        bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	size int // bytes
}

type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []toolCall `json:"tool_calls"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (m message) text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// offers says whether the request offers a tool.
func (r request) offers(name string) bool {
	for _, t := range r.Tools {
		if t.Function.Name == name {
			return true
		}
	}
	return false
}

// parse reads a request and refuses what a real endpoint refuses.
func parse(raw []byte) (request, error) {
	r := request{size: len(raw)}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("the body isn't a chat-completions request: %w", err)
	}
	switch {
	case r.Model == "":
		return r, errors.New("model is missing")
	case len(r.Messages) == 0:
		return r, errors.New("messages is empty")
	case r.StreamOptions != nil && !r.Stream:
		return r, errors.New("stream_options needs stream")
	}
	for i, t := range r.Tools {
		var schema map[string]any
		switch {
		case t.Type != "function":
			return r, fmt.Errorf("tools[%d].type must be function", i)
		case t.Function.Name == "":
			return r, fmt.Errorf("tools[%d].function.name is missing", i)
		case len(t.Function.Parameters) > 0 && json.Unmarshal(t.Function.Parameters, &schema) != nil:
			return r, fmt.Errorf("tools[%d].function.parameters must be an object", i)
		}
	}
	return r, checkMessages(r.Messages)
}

// checkMessages sees to it that every tool call is answered, once and right
// after the message that makes it.
func checkMessages(messages []message) error {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("messages[%d]: %d tool calls before it have no result", i, len(open))
		}
		switch m.Role {
		case "system", "developer", "user":
			if m.Content == nil {
				return fmt.Errorf("messages[%d].content is missing", i)
			}
		case "assistant":
			if m.Content == nil && len(m.ToolCalls) == 0 {
				return fmt.Errorf("messages[%d] has neither content nor tool_calls", i)
			}
			for _, c := range m.ToolCalls {
				if c.ID == "" || c.Type != "function" || c.Function.Name == "" || open[c.ID] {
					return fmt.Errorf("messages[%d].tool_calls: each needs an id of its own, the type function and a name", i)
				}
				open[c.ID] = true
			}
		case "tool":
			if m.Content == nil || !open[m.ToolCallID] {
				return fmt.Errorf("messages[%d] answers no tool call before it", i)
			}
			delete(open, m.ToolCallID)
		default:
			return fmt.Errorf("messages[%d].role %q is unknown", i, m.Role)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls have no result", len(open))
	}
	return nil
}
