package hooksopenai

// From the SDK's message to the one that hooks edit.

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/loophooks/hooks"
)

// The kinds of parts.
const (
	kindText      = "text"
	kindRefusal   = "refusal"
	kindReasoning = "reasoning"
	kindImage     = "image"
	kindAudio     = "audio"
	kindFile      = "file"
	kindUnknown   = "unknown" // what this package doesn't know, as JSON
)

// partKinds has the kind of each part of the wire.
var partKinds = map[string]string{
	"text": kindText, "refusal": kindRefusal, "image_url": kindImage, "input_audio": kindAudio, "file": kindFile,
}

// extraField is the Native of a part that stands for a field of a message which
// the API doesn't have, such as reasoning_content. It is sent with the message that
// it came in and never without it.
type extraField struct{ name string }

// Message returns n as hooks see it, with n as its Native, so that [Native] sends n
// itself while no hook has edited the message.
//
// It reads what n is on the wire, so that values set by [param.Override] and extra
// fields are seen too. A developer message has the role system, a deprecated function
// message the role tool. Content is the text, and with it the refusal of an
// assistant message; content in parts is in Parts, of the kinds text, refusal,
// image, audio and file, of which the last three have no Text. Another field, such as
// reasoning_content of some servers, is a part with the field's name as its kind. The
// input of a custom tool is the argument "input" of its call.
//
// A message that can't be read, such as the zero one, has its JSON in a part of the
// kind "unknown", and Native refuses it.
func Message(n openai.ChatCompletionMessageParamUnion) hooks.Message {
	raw, err := n.MarshalJSON()
	if err != nil {
		return unknownMessage(n, raw)
	}
	wire, ok := readMessage(raw)
	if !ok {
		return unknownMessage(n, raw)
	}
	m := hooks.Message{Role: portableRoles[wire.Role], Name: wire.Name, ToolCallID: wire.ToolCallID}
	if !wire.content(&m, n) || !wire.calls(&m) {
		return unknownMessage(n, raw)
	}
	m.Content += wire.Refusal
	m.Parts = append(m.Parts, wire.extras(raw)...)
	return hooks.NewMessage(n, m)
}

// readMessage reads a message of the wire. JSON that was given as such could have a
// key twice, or in two spellings, of which a decoder takes one and the provider the
// other: that isn't read.
func readMessage(raw []byte) (w wireMessage, ok bool) {
	strict := new(hooks.ToolCall)
	if strict.SetArguments(string(raw)) != nil || !exactKeys(strict.Input) {
		return w, false
	}
	return w, json.Unmarshal(raw, &w) == nil && portableRoles[w.Role] != ""
}

// wireKeys are the keys that are read, at any depth.
var wireKeys = []string{
	"role", "content", "name", "tool_call_id", "refusal", "tool_calls", "audio", "id", "type", "text",
	"function", "arguments", "custom", "input",
}

// exactKeys says that v has no key that is one of those in another case.
func exactKeys(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if !slices.Contains(wireKeys, key) && slices.ContainsFunc(wireKeys, func(k string) bool { return strings.EqualFold(k, key) }) || !exactKeys(value) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(value any) bool { return !exactKeys(value) })
	}
	return true
}

// unknownMessage stands for a message that can't be read. NewMessage doesn't make
// it, so that it counts as edited and is never sent as it is.
func unknownMessage(n openai.ChatCompletionMessageParamUnion, raw []byte) hooks.Message {
	return hooks.Message{Native: n, Parts: []hooks.Part{{Kind: kindUnknown, Text: string(raw)}}}
}

// wireMessage is a message as it is written.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       string          `json:"name"`
	ToolCallID string          `json:"tool_call_id"`
	Refusal    string          `json:"refusal"`
	ToolCalls  []wireCall      `json:"tool_calls"`
	Audio      *struct {
		ID string `json:"id"`
	} `json:"audio"`
}

// wireCall is a tool call as it is written.
type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Custom struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

// content reads the content into m; false for one of another form.
func (w *wireMessage) content(m *hooks.Message, n openai.ChatCompletionMessageParamUnion) bool {
	if len(w.Content) > 0 && !bytes.Equal(w.Content, []byte("null")) {
		if json.Unmarshal(w.Content, &m.Content) != nil {
			var parts []json.RawMessage
			if json.Unmarshal(w.Content, &parts) != nil {
				return false
			}
			natives := nativeParts(n)
			for i, raw := range parts {
				p := partOf(raw)
				if len(natives) == len(parts) {
					p.Native = natives[i]
				} else {
					p.Native = rawPart(m.Role, raw)
				}
				m.Parts = append(m.Parts, hooks.NewPart(p.Native, p))
			}
		}
	}
	if w.Audio != nil {
		native := openai.ChatCompletionAssistantMessageParamAudio{ID: w.Audio.ID}
		m.Parts = append(m.Parts, hooks.NewPart(native, hooks.Part{Kind: kindAudio}))
	}
	return true
}

// partOf reads a part. Where one has text of a kind that isn't known, hooks get all
// of it.
func partOf(raw json.RawMessage) hooks.Part {
	unknown := hooks.Part{Kind: kindUnknown, Text: string(raw)}
	var fields map[string]json.RawMessage
	var head struct{ Type, Text, Refusal string }
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(raw, &head) != nil || partKinds[head.Type] == "" {
		return unknown
	}
	for name, value := range fields {
		if name != "type" && name != head.Type && len(value) > 0 && value[0] == '"' {
			return unknown
		}
	}
	return hooks.Part{Kind: partKinds[head.Type], Text: head.Text + head.Refusal}
}

// nativeParts returns the SDK's own parts of a message.
func nativeParts(n openai.ChatCompletionMessageParamUnion) []any {
	switch {
	case n.OfUser != nil:
		return anys(n.OfUser.Content.OfArrayOfContentParts)
	case n.OfAssistant != nil:
		return anys(n.OfAssistant.Content.OfArrayOfContentParts)
	case n.OfSystem != nil:
		return anys(n.OfSystem.Content.OfArrayOfContentParts)
	case n.OfDeveloper != nil:
		return anys(n.OfDeveloper.Content.OfArrayOfContentParts)
	case n.OfTool != nil:
		return anys(n.OfTool.Content.OfArrayOfContentParts)
	}
	return nil
}

func anys[T any](values []T) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}

// rawPart is the SDK's part that writes raw, for a message whose content was given
// as JSON.
func rawPart(role string, raw json.RawMessage) any {
	switch role {
	case roleUser:
		return param.Override[openai.ChatCompletionContentPartUnionParam](raw)
	case roleAssistant:
		return param.Override[openai.ChatCompletionAssistantMessageParamContentArrayOfContentPartUnion](raw)
	}
	return param.Override[openai.ChatCompletionContentPartTextParam](raw)
}

// calls reads the tool calls into m; false for one of another kind.
func (w *wireMessage) calls(m *hooks.Message) bool {
	for _, c := range w.ToolCalls {
		switch c.Type {
		case "function":
			m.ToolCalls = append(m.ToolCalls, hooks.ToolRequest{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		case "custom":
			m.ToolCalls = append(m.ToolCalls, hooks.ToolRequest{ID: c.ID, Name: c.Custom.Name, Arguments: inputArguments(c.Custom.Input)})
		default:
			return false
		}
	}
	return true
}

// extras returns the other fields of the message.
func (w *wireMessage) extras(raw []byte) []hooks.Part {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // it was read before
	for _, known := range []string{"role", "content", "name", "tool_call_id", "refusal", "tool_calls", "audio"} {
		delete(fields, known)
	}
	var parts []hooks.Part
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p := hooks.Part{Kind: name}
		if json.Unmarshal(fields[name], &p.Text) != nil {
			p.Text = string(fields[name])
		}
		parts = append(parts, hooks.NewPart(extraField{name}, p))
	}
	return parts
}

// customKey is the argument that holds the text of a custom tool's call.
const customKey = "input"

// inputArguments writes the free text of a custom tool's call as arguments.
func inputArguments(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]string{customKey: text}) // strings can be written
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// freeText is the text of such arguments; false where they are something else.
func freeText(arguments string) (string, bool) {
	call := new(hooks.ToolCall)
	if call.SetArguments(arguments) != nil || len(call.Input) != 1 {
		return "", false
	}
	text, ok := call.Input[customKey].(string)
	return text, ok
}
