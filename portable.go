package hooks

// What of a context goes into logs and JSON: its portable fields. The
// framework's own objects stay out, since encoding/json fails on functions and
// channels, and nobody knows what else they hold.

import (
	"encoding/json"
	"log/slog"

	"github.com/loophooks/hooks/internal/errtree"
)

// portableCaller is what of a Caller can go anywhere.
type portableCaller struct {
	RunID       string `json:",omitempty"`
	ParentRunID string `json:",omitempty"`
	RootRunID   string `json:",omitempty"`
	Tenant      string `json:",omitempty"`
	AgentRole   string `json:",omitempty"`
}

func (c *Caller) portable() portableCaller {
	return portableCaller{c.RunID, c.ParentRunID, c.RootRunID, c.Tenant, c.AgentRole}
}

// value is v as JSON can hold it: a value that can't be encoded, or an entry of
// an input that can't, becomes a text that says so, without quoting it.
type value struct{ v any }

const notJSON = "(not JSON)"

func (v value) MarshalJSON() ([]byte, error) {
	raw, err := encode(v.v)
	if err == nil {
		return raw, nil
	}
	input, ok := v.v.(map[string]any)
	if !ok {
		return json.Marshal(notJSON)
	}
	entries := make(map[string]json.RawMessage, len(input))
	for key, entry := range input {
		if raw, err = encode(entry); err != nil {
			raw = []byte(`"` + notJSON + `"`)
		}
		entries[key] = raw
	}
	return json.Marshal(entries)
}

// encode is json.Marshal for foreign values, whose methods may panic.
func encode(v any) (raw []byte, err error) {
	var r recovery
	func() {
		defer r.catch()
		raw, err = json.Marshal(v)
		r.returned = true
	}()
	if r.panicked != nil {
		return nil, r.panicked
	}
	return raw, err
}

type portablePart struct{ Kind, Text string }

func portableParts(parts []Part) []portablePart {
	var list []portablePart
	for _, p := range parts {
		list = append(list, portablePart{p.Kind, p.Text})
	}
	return list
}

type portableMessage struct {
	Role       string
	Content    string         `json:",omitempty"`
	Name       string         `json:",omitempty"`
	ToolCallID string         `json:",omitempty"`
	Parts      []portablePart `json:",omitempty"`
	ToolCalls  []ToolRequest  `json:",omitempty"`
}

func portableMessages(messages []Message) []portableMessage {
	var list []portableMessage
	for _, m := range messages {
		list = append(list, portableMessage{m.Role, m.Content, m.Name, m.ToolCallID, portableParts(m.Parts), m.ToolCalls})
	}
	return list
}

// MarshalJSON writes the portable fields of x. Inputs and Output are payload: a
// record that must not hold secrets leaves them out. A context of a
// framework's own that embeds an Execution needs a MarshalJSON of its own.
func (x *Execution) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		portableCaller
		Inputs value
		Output value
		Status Status `json:",omitempty"`
		Err    string `json:",omitempty"`
	}{x.portable(), value{x.Inputs}, value{x.Output}, x.Status, errtree.Text(x.Err)})
}

// LogValue returns the portable fields of x, as MarshalJSON writes them.
func (x *Execution) LogValue() slog.Value { return logValue(x) }

// MarshalJSON writes the portable fields of s; see [Execution.MarshalJSON].
func (s *Step) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		portableCaller
		Kind   StepKind
		Name   string `json:",omitempty"`
		Input  value
		Output value
		Err    string `json:",omitempty"`
	}{s.portable(), s.Kind, s.Name, value{s.Input}, value{s.Output}, errtree.Text(s.Err)})
}

// LogValue returns the portable fields of s, as MarshalJSON writes them.
func (s *Step) LogValue() slog.Value { return logValue(s) }

// MarshalJSON writes the portable fields of t; see [Execution.MarshalJSON].
func (t Turn) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Number   int
		Messages []portableMessage
		Reply    portableMessage
	}{t.Number, portableMessages(t.Messages), portableMessages([]Message{t.Reply})[0]})
}

// LogValue returns the portable fields of t, as MarshalJSON writes them.
func (t Turn) LogValue() slog.Value { return logValue(t) }

// MarshalJSON writes the portable fields of m; see [Execution.MarshalJSON].
func (m *ModelCall) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		portableCaller
		Model        string `json:",omitempty"`
		Iterations   int
		Messages     []portableMessage
		Tools        []string
		Response     string
		Parts        []portablePart `json:",omitempty"`
		ToolCalls    []ToolRequest  `json:",omitempty"`
		FinishReason string         `json:",omitempty"`
		Usage        Usage
		Answered     bool   `json:",omitempty"`
		Err          string `json:",omitempty"`
	}{
		m.portable(), m.Model, m.Iterations, portableMessages(m.Messages), m.Tools, m.Response, portableParts(m.Parts),
		m.ToolCalls, m.FinishReason, m.Usage, m.answered, errtree.Text(m.Err),
	})
}

// LogValue returns the portable fields of m, as MarshalJSON writes them.
func (m *ModelCall) LogValue() slog.Value { return logValue(m) }

// MarshalJSON writes the portable fields of t; see [Execution.MarshalJSON].
func (t *ToolCall) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		portableCaller
		ID       string `json:",omitempty"`
		Name     string
		Input    value
		Result   string
		Parts    []portablePart `json:",omitempty"`
		Blocked  *HookAborted   `json:",omitempty"`
		Answered bool           `json:",omitempty"`
		Ran      bool
		Err      string `json:",omitempty"`
	}{t.portable(), t.ID, t.Name, value{t.Input}, t.Result, portableParts(t.Parts), t.Blocked, t.answered, t.ran, errtree.Text(t.Err)})
}

// LogValue returns the portable fields of t, as MarshalJSON writes them.
func (t *ToolCall) LogValue() slog.Value { return logValue(t) }

// logValue returns the JSON of a context, which JSON handlers write as it is and
// text handlers as a text.
func logValue(c json.Marshaler) slog.Value {
	raw, err := json.Marshal(c) // which writes a nil context as null
	if err != nil {
		return slog.StringValue(notJSON)
	}
	return slog.AnyValue(json.RawMessage(raw))
}
