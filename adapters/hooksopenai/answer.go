package hooksopenai

// The answer of a model, however it came.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/loophooks/hooks"
)

// answer is the first choice of a completion.
type answer struct {
	all       strings.Builder // content and refusal, as they came
	content   strings.Builder
	refusal   strings.Builder
	reasoning strings.Builder
	audio     *openai.ChatCompletionAudio
	calls     []toolCall
	finish    string

	// What of it hooks were given.
	said   string
	beside []hooks.Part
	asked  []hooks.ToolRequest
}

// toolCall is a call as the model wrote it: the arguments of a function, or the text
// for a custom tool.
type toolCall struct {
	ID, name, text string
	custom         bool
}

func (c *toolCall) request() hooks.ToolRequest {
	if c.custom {
		return hooks.ToolRequest{ID: c.ID, Name: c.name, Arguments: inputArguments(c.text)}
	}
	return hooks.ToolRequest{ID: c.ID, Name: c.name, Arguments: c.text}
}

// answerOf reads a completion that came in one.
func answerOf(completion *openai.ChatCompletion) (*answer, error) {
	at := slices.IndexFunc(completion.Choices, func(c openai.ChatCompletionChoice) bool { return c.Index == 0 })
	if at < 0 {
		return nil, errNoChoice
	}
	choice := &completion.Choices[at]
	said := &choice.Message
	a := &answer{finish: choice.FinishReason}
	a.say(&a.content, said.Content)
	a.say(&a.refusal, said.Refusal)
	a.reasoning.WriteString(reasoningIn(said.JSON.ExtraFields))
	if said.JSON.Audio.Valid() {
		a.audio = &said.Audio
	}
	if said.JSON.FunctionCall.Valid() {
		return nil, errFunctionCall
	}
	for _, c := range said.ToolCalls {
		call := toolCall{ID: c.ID}
		switch {
		case c.Type == "custom":
			call.name, call.text, call.custom = c.Custom.Name, c.Custom.Input, true
		case c.Type == "function" || c.Type == "" && c.Function.Name != "":
			call.name, call.text = c.Function.Name, c.Function.Arguments
		default:
			return nil, errCallType(c.Type)
		}
		a.calls = append(a.calls, call)
	}
	return a, nil
}

var errFunctionCall = errors.New("hooksopenai: the model has answered with a deprecated function call, which hooks would not see as a tool call")

func errCallType(kind string) error {
	return fmt.Errorf("hooksopenai: the model has answered with a tool call of the type %q; functions and custom tools are known", kind)
}

// reasoningIn returns the reasoning that some compatible servers send.
func reasoningIn(fields map[string]respjson.Field) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if field, ok := fields[name]; ok && json.Unmarshal([]byte(field.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// text is what people read, a refusal included.
func (a *answer) text() string { return a.all.String() }

// say adds text to the content or to the refusal.
func (a *answer) say(to *strings.Builder, text string) {
	a.all.WriteString(text)
	to.WriteString(text)
}

func (a *answer) parts() []hooks.Part {
	var parts []hooks.Part
	if a.reasoning.Len() > 0 {
		parts = append(parts, hooks.Part{Kind: kindReasoning, Text: a.reasoning.String()})
	}
	if a.audio != nil {
		parts = append(parts, hooks.NewPart(*a.audio, hooks.Part{Kind: kindAudio, Text: a.audio.Transcript}))
	}
	return parts
}

func (a *answer) requests() []hooks.ToolRequest {
	var requests []hooks.ToolRequest
	for i := range a.calls {
		requests = append(requests, a.calls[i].request())
	}
	return requests
}

// leftAlone says that m has what the answer was, whoever looked at it.
func (a *answer) leftAlone(m *hooks.ModelCall) bool {
	return m.Response == a.said && slices.Equal(m.ToolCalls, a.asked) &&
		slices.EqualFunc(m.Parts, a.beside, func(p, q hooks.Part) bool { return p.Kind == q.Kind && p.Text == q.Text })
}

// native is the answer as it goes into the history.
func (a *answer) native() openai.ChatCompletionMessageParamUnion {
	n := &openai.ChatCompletionAssistantMessageParam{Refusal: optional(a.refusal.String())}
	if a.audio != nil {
		n.Audio.ID = a.audio.ID
	}
	for i := range a.calls {
		req := a.calls[i].request()
		if strings.TrimSpace(req.Arguments) == "" {
			req.Arguments = "{}"
		}
		n.ToolCalls = append(n.ToolCalls, nativeCall(req, a.calls[i].custom))
	}
	if content := a.content.String(); content != "" || len(a.calls) == 0 && a.audio == nil && a.refusal.Len() == 0 {
		n.Content.OfString = param.NewOpt(content)
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: n}
}
