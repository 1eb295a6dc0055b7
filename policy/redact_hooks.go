package policy

// What Redact does at each point.

import (
	"context"
	"reflect"
	"slices"

	"github.com/loophooks/hooks"
)

// prompt redacts what is sent to a model. It writes into no array that it was given.
func (r *redactor) prompt(ctx context.Context, m *hooks.ModelCall) error {
	clean, err := r.cleaner(ctx)
	if err != nil {
		return err
	}
	for _, message := range m.Messages { // all of them first: numbers in use are given to nobody
		clean.reserve(message.Text())
		for _, request := range message.ToolCalls {
			clean.reserveArguments(request.Arguments)
		}
	}
	var messages []hooks.Message
	for i, message := range m.Messages {
		content, parts, edited := clean.content(message.Content, message.Parts)
		requests, moved := clean.requests(message.ToolCalls)
		if !edited && !moved {
			continue
		}
		if messages == nil {
			messages = slices.Clone(m.Messages)
		}
		messages[i].Content, messages[i].Parts, messages[i].ToolCalls = content, parts, requests
	}
	if messages != nil {
		m.Messages = messages
	}
	return nil
}

// answer redacts what a model has answered.
func (r *redactor) answer(ctx context.Context, m *hooks.ModelCall) error {
	clean, err := r.cleaner(ctx)
	if err != nil {
		return err
	}
	if clean.known != nil { // also what isn't redacted: the tools get the arguments
		all := hooks.Message{Content: m.Response, Parts: m.Parts}
		clean.reserve(all.Text())
		for _, request := range m.ToolCalls {
			clean.reserveArguments(request.Arguments)
		}
	}
	if r.looks(Answers) {
		m.Response, m.Parts, _ = clean.content(m.Response, m.Parts)
	}
	if r.looks(Arguments) {
		m.ToolCalls, _ = clean.requests(m.ToolCalls)
	}
	return nil
}

// call redacts the input of a tool, or puts values back into it. A tool that gets
// values needs no redacted ones.
func (r *redactor) call(ctx context.Context, t *hooks.ToolCall) error {
	clean, err := r.cleaner(ctx)
	if err != nil {
		return err
	}
	if t.ArgumentsError() != nil {
		return nil // there is no input, and the tool isn't run
	}
	var edit *argumentEditor
	switch {
	case r.with == Token && r.restores(t.Name):
		edit = clean.known.editor()
	case r.looks(Arguments):
		clean.reserveInput(t.Input)
		edit = clean.editor()
	default:
		return nil
	}
	input, err := edit.input(t.Input)
	if err != nil {
		return err
	}
	t.Input = input
	return nil
}

func (r *redactor) restores(tool string) bool {
	return r.restore == nil || slices.ContainsFunc(r.restore, func(p string) bool { return hooks.MatchTool(p, tool) })
}

// result redacts what a model reads of a tool call.
func (r *redactor) result(ctx context.Context, t *hooks.ToolCall) error {
	clean, err := r.cleaner(ctx)
	if err != nil {
		return err
	}
	t.Result, t.Parts, _ = clean.content(t.Result, t.Parts)
	return nil
}

// output redacts the result of an execution, if that is a text.
func (r *redactor) output(ctx context.Context, x *hooks.Execution) error {
	clean, err := r.cleaner(ctx)
	if err != nil {
		return err
	}
	v := reflect.ValueOf(x.Output)
	if v.Kind() != reflect.String {
		return nil
	}
	if text := clean.text(v.String()); text != v.String() {
		named := reflect.New(v.Type()).Elem() // it may be a type made of string
		named.SetString(text)
		x.Output = named.Interface()
	}
	return nil
}
