package command

// What a script reads on its standard input.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/internal/errtree"
)

// input is the object. Fields that an event doesn't have are left out.
type input struct {
	SessionID      string          `json:"session_id"`
	TranscriptPath string          `json:"transcript_path"`
	Cwd            string          `json:"cwd"`
	PermissionMode string          `json:"permission_mode"`
	HookEventName  string          `json:"hook_event_name"`
	ToolName       *string         `json:"tool_name,omitempty"`
	ToolInput      json.RawMessage `json:"tool_input,omitempty"`
	ToolUseID      *string         `json:"tool_use_id,omitempty"`
	ToolResponse   *string         `json:"tool_response,omitempty"`
	Error          *string         `json:"error,omitempty"`
	IsInterrupt    *bool           `json:"is_interrupt,omitempty"`
	Prompt         *string         `json:"prompt,omitempty"`
	Source         string          `json:"source,omitempty"`
	Reason         string          `json:"reason,omitempty"`
	StopHookActive *bool           `json:"stop_hook_active,omitempty"`
	LastMessage    *string         `json:"last_assistant_message,omitempty"`
}

func (c *Config) input(event string, caller *hooks.Caller) input {
	return input{SessionID: caller.RootRunID, Cwd: c.dir, PermissionMode: "default", HookEventName: event}
}

func (in *input) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(in)
	return b.Bytes(), err
}

// toolInput is what scripts read about a call whose arguments are args.
func (c *Config) toolInput(event string, t *hooks.ToolCall, args string) input {
	in := c.input(event, &t.Caller)
	name := c.mapped(t.Name)
	in.ToolName, in.ToolInput, in.ToolUseID = &name, json.RawMessage(args), &t.ID
	if event == preToolUse {
		return in
	}
	response := t.Text()
	in.ToolResponse = &response
	if event == postToolUseFailure {
		failure := errtree.Text(t.Err)
		in.Error, in.IsInterrupt = &failure, new(bool)
	}
	return in
}

// promptOf returns the prompt of x, "" if it has none. It fails for one that can't be
// shown to a script as it is.
func (c *Config) promptOf(x *hooks.Execution) (string, error) {
	switch v := x.Inputs[c.prompt].(type) {
	case nil:
		return "", nil
	case string:
		if !utf8.ValidString(v) {
			return "", errors.New("command: the prompt can't be shown to a script: it isn't valid UTF-8")
		}
		return v, nil
	default:
		return "", fmt.Errorf("command: the prompt can't be shown to a script: the input %q is a %T and not a string; name another one by Prompt", c.prompt, v)
	}
}
