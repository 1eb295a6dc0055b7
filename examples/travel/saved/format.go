// The form of a file: JSON, with the fields of the library's messages that go
// anywhere.

package saved

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/loophooks/hooks"
)

// version is that of the form. A reader knows its own only.
const version = 1

// The types of the file are declared here rather than taken from the library, so
// that a file stays readable when those grow.

type file struct {
	Version   int       `json:"version"`
	RunID     string    `json:"run_id"`
	Model     string    `json:"model"`
	Turn      int       `json:"turn"`
	Offered   []string  `json:"offered,omitempty"`
	ToolCalls int       `json:"tool_calls"`
	Blocked   int       `json:"blocked"`
	Skipped   int       `json:"skipped"`
	Messages  []message `json:"messages"`

	Settings map[string]string `json:"settings,omitempty"`
}

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content,omitempty"`
	Name       string     `json:"name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Parts      []part     `json:"parts,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
}

type part struct {
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
}

// toolCall has its arguments as the model wrote them, which need not be JSON.
type toolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encode writes r. Text that isn't UTF-8 is saved as it would be sent: with
// U+FFFD in its place.
func encode(r Run) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	f := file{
		Version: version, RunID: r.RunID, Model: r.Model, Turn: r.Turn, Offered: r.Offered,
		ToolCalls: r.ToolCalls, Blocked: r.Blocked, Skipped: r.Skipped, Settings: r.Settings,
	}
	for i, m := range r.History {
		// The loop keeps none. A hook that puts one in would miss it later.
		if m.Native != nil {
			return nil, fmt.Errorf("messages[%d] holds a %T, which can't be saved", i, m.Native)
		}
		w := message{Role: m.Role, Content: m.Content, Name: m.Name, ToolCallID: m.ToolCallID}
		for k, p := range m.Parts {
			if p.Native != nil {
				return nil, fmt.Errorf("messages[%d].parts[%d] holds a %T, which can't be saved", i, k, p.Native)
			}
			w.Parts = append(w.Parts, part{p.Kind, p.Text})
		}
		for _, c := range m.ToolCalls {
			w.ToolCalls = append(w.ToolCalls, toolCall(c))
		}
		f.Messages = append(f.Messages, w)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people read it too
	enc.SetIndent("", "  ")
	err := enc.Encode(f)
	return b.Bytes(), err
}

// decode reads what encode wrote, and nothing else: a field that is passed over
// might be what a later version can't do without.
func decode(raw []byte) (Run, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(raw, &head); err != nil { // also of what stands behind the run
		return Run{}, err
	}
	if head.Version != version {
		return Run{}, fmt.Errorf("the version of its form is %d, and this program knows %d only", head.Version, version)
	}
	var f file
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Run{}, err
	}
	r := Run{
		RunID: f.RunID, Model: f.Model, Turn: f.Turn, Offered: f.Offered,
		ToolCalls: f.ToolCalls, Blocked: f.Blocked, Skipped: f.Skipped, Settings: f.Settings,
	}
	for _, w := range f.Messages {
		m := hooks.Message{Role: w.Role, Content: w.Content, Name: w.Name, ToolCallID: w.ToolCallID}
		for _, p := range w.Parts {
			m.Parts = append(m.Parts, hooks.Part{Kind: p.Kind, Text: p.Text})
		}
		for _, c := range w.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, hooks.ToolRequest(c))
		}
		r.History = append(r.History, m)
	}
	return r, r.check()
}
