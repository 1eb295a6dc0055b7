package hooksopenai

// What the model reads of a tool call.

import (
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/loophooks/hooks"
)

// kindStructured is the kind of a part that holds a result as JSON.
const kindStructured = "structured"

// errorMark begins the result of a call that failed: the format has no field for it.
const errorMark = "Error: "

// leftParts are the parts of a result as the tool left them.
type leftParts struct{ parts []hooks.Part }

// take puts all text of the result into Result, where hooks look for it, and remembers
// what is beside it.
func (l *leftParts) take(call *hooks.ToolCall) {
	var text strings.Builder
	text.WriteString(call.Result)
	var beside []hooks.Part
	for _, p := range call.Parts {
		if p.Kind == kindText || p.Kind == "" {
			text.WriteString(p.Text)
		} else {
			beside = append(beside, p)
		}
	}
	call.Result, call.Parts = text.String(), beside
	l.parts = slices.Clone(beside)
}

// repeats says that p is as the tool left it, and so repeats what the text was.
func (l *leftParts) repeats(p hooks.Part) bool {
	return slices.ContainsFunc(l.parts, func(left hooks.Part) bool { return left.Kind == p.Kind && left.Text == p.Text })
}

// resultMessage is what the model reads of a call, under the ID that the call had when
// the model made it. Of a result that hooks have changed, what they haven't touched of a
// structured one is left out: it has the text in another form. So are parts that a
// result can't have here, and the model is told of these.
func resultMessage(id string, call *hooks.ToolCall, left *leftParts) hooks.Message {
	text := []string{call.Result}
	if call.IsError() {
		if call.Text() == "" {
			text[0] = "the call has no result"
		}
		text[0] = errorMark + text[0]
	}
	for _, p := range call.Parts {
		switch {
		case p.Kind == kindText || p.Kind == "":
			text[0] += p.Text
		case p.Kind != kindStructured:
			text = append(text, "(Something of the kind "+p.Kind+" is left out here.)")
		case !call.ResultEdited() && strings.TrimSpace(call.Result) != "", call.ResultEdited() && left.repeats(p):
		default:
			text = append(text, p.Text)
		}
	}
	if text[0] == "" && len(text) > 1 {
		text = text[1:]
	}
	return Message(openai.ToolMessage(strings.Join(text, "\n"), id))
}
