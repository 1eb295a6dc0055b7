package hooksopenai

// From the message that hooks have edited to the SDK's.

import (
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/loophooks/hooks"
)

// Native returns m as it is sent: the SDK's own message while m is as [Message]
// made it, and else one that is rebuilt from the portable fields and nothing else.
// Parts that no hook has edited keep their Native; fields that the API doesn't have,
// and reasoning, are left out of a rebuilt message. What m.Native says besides is only
// whether a system message is a developer message, and which calls are those of custom
// tools, as long as their arguments are one text named "input".
//
// It fails for a nil m, for a role that isn't known, for the result of a tool without
// a ToolCallID, for parts that the role can't have, and for parts other than text
// that were edited or that hooks.NewPart didn't make.
func Native(m *hooks.Message) (openai.ChatCompletionMessageParamUnion, error) {
	if m == nil {
		return openai.ChatCompletionMessageParamUnion{}, errors.New("hooksopenai: the message is nil")
	}
	n, native := m.Native.(openai.ChatCompletionMessageParamUnion)
	if native && !m.Edited() {
		return n, nil
	}
	return rebuild(m, n, customCalls(n))
}

// customCalls returns the IDs of the calls of custom tools in a message.
func customCalls(n openai.ChatCompletionMessageParamUnion) map[string]bool {
	raw, err := n.MarshalJSON()
	if err != nil {
		return nil
	}
	wire, _ := readMessage(raw)
	ids := make(map[string]bool)
	for _, c := range wire.ToolCalls {
		if c.Type == "custom" {
			ids[c.ID] = true
		}
	}
	return ids
}

// rebuild makes the SDK's message of the portable fields of m. Of was, which stood
// for m before, it takes the variant of the role.
func rebuild(m *hooks.Message, was openai.ChatCompletionMessageParamUnion, custom map[string]bool) (n openai.ChatCompletionMessageParamUnion, err error) {
	if m.Role != roleAssistant && len(m.ToolCalls) > 0 {
		return n, fmt.Errorf("hooksopenai: a message of the role %q has tool calls, which only the assistant's can have", m.Role)
	}
	switch m.Role {
	case roleSystem, "developer":
		parts, err := textParts(m)
		if err != nil {
			return n, err
		}
		if m.Role == "developer" || was.OfDeveloper != nil {
			n.OfDeveloper = &openai.ChatCompletionDeveloperMessageParam{Name: optional(m.Name)}
			n.OfDeveloper.Content.OfString, n.OfDeveloper.Content.OfArrayOfContentParts = oneOf(m, parts)
		} else {
			n.OfSystem = &openai.ChatCompletionSystemMessageParam{Name: optional(m.Name)}
			n.OfSystem.Content.OfString, n.OfSystem.Content.OfArrayOfContentParts = oneOf(m, parts)
		}
	case roleTool:
		parts, err := textParts(m)
		switch {
		case err != nil:
			return n, err
		case was.OfFunction != nil && m.ToolCallID == "":
			n = openai.ChatCompletionMessageParamOfFunction(m.Text(), m.Name)
		case m.ToolCallID == "":
			return n, errors.New("hooksopenai: the result of a tool has no ToolCallID, which the API needs")
		default:
			n.OfTool = &openai.ChatCompletionToolMessageParam{ToolCallID: m.ToolCallID}
			n.OfTool.Content.OfString, n.OfTool.Content.OfArrayOfContentParts = oneOf(m, parts)
		}
	case roleUser:
		parts, err := userParts(m)
		if err != nil {
			return n, err
		}
		n.OfUser = &openai.ChatCompletionUserMessageParam{Name: optional(m.Name)}
		n.OfUser.Content.OfString, n.OfUser.Content.OfArrayOfContentParts = oneOf(m, parts)
	case roleAssistant:
		n.OfAssistant, err = assistant(m, custom)
	default:
		err = errRole(m.Role)
	}
	return n, err
}

func optional(s string) param.Opt[string] {
	if s == "" {
		return param.Opt[string]{}
	}
	return param.NewOpt(s)
}

// oneOf returns the content as a text, or as parts where there are any.
func oneOf[T any](m *hooks.Message, parts []T) (param.Opt[string], []T) {
	if len(parts) == 0 {
		return param.NewOpt(m.Content), nil
	}
	return param.Opt[string]{}, parts
}

func errPart(m *hooks.Message, p hooks.Part) error {
	if p.Native != nil && p.Edited() {
		return fmt.Errorf("hooksopenai: a part of the kind %q was edited and can't be rebuilt; leave it as it is, or take it out", p.Kind)
	}
	return fmt.Errorf("hooksopenai: a message of the role %q has a part of the kind %q that can't be sent; give text, or a part made by hooks.NewPart of the SDK's own", m.Role, p.Kind)
}

// leftOut says of a part that a rebuilt message doesn't have it.
func leftOut(p hooks.Part) bool {
	_, extra := p.Native.(extraField)
	return extra || p.Kind == kindReasoning
}

// partsOf converts the parts of m, behind a text for its Content. T is the type of
// parts that the role has: text makes one, and other one of a part that isn't text.
func partsOf[T any](m *hooks.Message, text func(string) T, other func(hooks.Part) (T, bool)) ([]T, error) {
	var parts []T
	for _, p := range m.Parts {
		native, own := p.Native.(T)
		switch {
		case leftOut(p):
		case own && !p.Edited():
			parts = append(parts, native)
		case p.Kind == kindText || p.Kind == "":
			parts = append(parts, text(p.Text))
		default:
			converted, ok := other(p)
			if !ok {
				return nil, errPart(m, p)
			}
			parts = append(parts, converted)
		}
	}
	if len(parts) > 0 && m.Content != "" {
		parts = append([]T{text(m.Content)}, parts...)
	}
	return parts, nil
}

func textParts(m *hooks.Message) ([]openai.ChatCompletionContentPartTextParam, error) {
	return partsOf(m,
		func(text string) openai.ChatCompletionContentPartTextParam {
			return openai.ChatCompletionContentPartTextParam{Text: text}
		},
		func(hooks.Part) (p openai.ChatCompletionContentPartTextParam, ok bool) { return p, false })
}

func userParts(m *hooks.Message) ([]openai.ChatCompletionContentPartUnionParam, error) {
	return partsOf(m, openai.TextContentPart,
		func(hooks.Part) (p openai.ChatCompletionContentPartUnionParam, ok bool) { return p, false })
}

type assistantPart = openai.ChatCompletionAssistantMessageParamContentArrayOfContentPartUnion

// assistant rebuilds a message of the model. Calls whose ID is in custom are those
// of custom tools.
func assistant(m *hooks.Message, custom map[string]bool) (*openai.ChatCompletionAssistantMessageParam, error) {
	a := &openai.ChatCompletionAssistantMessageParam{Name: optional(m.Name)}
	said := *m // without the audio, which has a place of its own
	said.Parts = nil
	for _, p := range m.Parts {
		if id := audioID(p); id != "" {
			a.Audio.ID = id
		} else {
			said.Parts = append(said.Parts, p)
		}
	}
	parts, err := partsOf(&said,
		func(text string) assistantPart {
			return assistantPart{OfText: &openai.ChatCompletionContentPartTextParam{Text: text}}
		},
		func(p hooks.Part) (assistantPart, bool) {
			return assistantPart{OfRefusal: &openai.ChatCompletionContentPartRefusalParam{Refusal: p.Text}}, p.Kind == kindRefusal
		})
	if err != nil {
		return nil, err
	}
	for _, c := range m.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, nativeCall(c, custom[c.ID]))
	}
	if len(parts) > 0 || m.Content != "" || len(m.ToolCalls) == 0 && a.Audio.ID == "" {
		a.Content.OfString, a.Content.OfArrayOfContentParts = oneOf(&said, parts)
	}
	return a, nil
}

// audioID is the ID by which a spoken answer is referred to, "" for a part that is
// something else, or that was edited: what was said is then no longer what is written.
func audioID(p hooks.Part) string {
	if p.Edited() {
		return ""
	}
	switch native := p.Native.(type) {
	case openai.ChatCompletionAssistantMessageParamAudio:
		return native.ID
	case openai.ChatCompletionAudio:
		return native.ID
	}
	return ""
}

// nativeCall makes the SDK's tool call of c.
func nativeCall(c hooks.ToolRequest, custom bool) openai.ChatCompletionMessageToolCallUnionParam {
	if text, ok := freeText(c.Arguments); custom && ok {
		call := &openai.ChatCompletionMessageCustomToolCallParam{ID: c.ID}
		call.Custom.Name, call.Custom.Input = c.Name, text
		return openai.ChatCompletionMessageToolCallUnionParam{OfCustom: call}
	}
	call := &openai.ChatCompletionMessageFunctionToolCallParam{ID: c.ID}
	call.Function.Name, call.Function.Arguments = c.Name, c.Arguments
	return openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call}
}
