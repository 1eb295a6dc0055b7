package hooksopenai

// What is sent: the program's own parameters, with the messages, the tools and the
// model that hooks have left.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/loophooks/hooks"
)

// request is what the program sends with each run of a body.
type request struct {
	params openai.ChatCompletionNewParams
	tools  map[string]openai.ChatCompletionToolUnionParam
	names  []string        // of the tools, in order
	custom map[string]bool // those of custom tools
}

// hookedFields are the fields of the request that hooks decide on, or that would
// have the provider do something else than hooks have seen.
var hookedFields = []string{"messages", "model", "tools", "tool_choice", "functions", "function_call", "n", "stream"}

// newRequest reads the parameters. It refuses what would go past the hooks.
func newRequest(p openai.ChatCompletionNewParams) (*request, error) {
	if _, replaced := p.Overrides(); replaced {
		return nil, errors.New("hooksopenai: the parameters were replaced by param.Override or SetJSON, and hooks couldn't change what is sent; set their fields")
	}
	for name := range p.ExtraFields() {
		if slices.Contains(hookedFields, name) {
			return nil, fmt.Errorf("hooksopenai: the parameters have %q as an extra field, which would replace what hooks have seen; set the field itself", name)
		}
	}
	if len(p.Functions) > 0 || !param.IsOmitted(p.FunctionCall) {
		return nil, errors.New("hooksopenai: the parameters have deprecated functions; give them as Tools")
	}
	r := &request{params: p, tools: make(map[string]openai.ChatCompletionToolUnionParam), custom: make(map[string]bool)}
	for _, tool := range p.Tools {
		name, custom, err := toolName(tool)
		if err != nil {
			return nil, err
		}
		if _, twice := r.tools[name]; twice {
			return nil, fmt.Errorf("hooksopenai: two tools are named %q", name)
		}
		r.tools[name], r.custom[name] = tool, custom
		r.names = append(r.names, name)
	}
	return r, nil
}

// toolName returns the name of a tool, as it is on the wire.
func toolName(tool openai.ChatCompletionToolUnionParam) (name string, custom bool, err error) {
	raw, err := tool.MarshalJSON()
	if err != nil {
		return "", false, fmt.Errorf("hooksopenai: a tool can't be sent: %w", err)
	}
	var wire wireCall
	if err := json.Unmarshal(raw, &wire); err != nil {
		return "", false, fmt.Errorf("hooksopenai: a tool can't be read: %w", err)
	}
	switch {
	case wire.Type == "function" && wire.Function.Name != "":
		return wire.Function.Name, false, nil
	case wire.Type == "custom" && wire.Custom.Name != "":
		return wire.Custom.Name, true, nil
	}
	return "", false, fmt.Errorf("hooksopenai: a tool of the type %q without a name, or of one that isn't known, can't be hooked; tools are functions and custom tools", wire.Type)
}

// make returns the parameters for m as hooks have left it.
func (r *request) make(m *hooks.ModelCall) (openai.ChatCompletionNewParams, error) {
	p := r.params
	p.Model = m.Model
	p.Messages = make([]openai.ChatCompletionMessageParamUnion, len(m.Messages))
	for i := range m.Messages {
		n, err := Native(&m.Messages[i])
		if err != nil {
			return p, err
		}
		p.Messages[i] = n
	}
	p.Tools = nil
	offered := make(map[string]bool, len(m.Tools))
	for _, name := range m.Tools {
		tool, ok := r.tools[name]
		switch {
		case !ok:
			return p, fmt.Errorf("hooksopenai: a hook offers the tool %q, which there isn't", name)
		case !offered[name]: // a provider refuses a tool that it is offered twice
			p.Tools = append(p.Tools, tool)
		}
		offered[name] = true
	}
	err := choose(&p, offered)
	return p, err
}

// choose takes out of the choice of tools what isn't offered: a provider refuses a
// choice of a tool that it isn't given.
func choose(p *openai.ChatCompletionNewParams, offered map[string]bool) error {
	if len(p.Tools) == 0 {
		p.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{}
		p.ParallelToolCalls = param.Opt[bool]{}
		return nil
	}
	if param.IsOmitted(p.ToolChoice) {
		return nil
	}
	raw, err := p.ToolChoice.MarshalJSON()
	if err != nil {
		return fmt.Errorf("hooksopenai: the choice of tools can't be sent: %w", err)
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		return nil
	}
	var choice struct {
		wireCall
		Allowed struct {
			Mode  openai.ChatCompletionAllowedToolsMode `json:"mode"`
			Tools []map[string]any                      `json:"tools"`
		} `json:"allowed_tools"`
	}
	if err := json.Unmarshal(raw, &choice); err != nil {
		return fmt.Errorf("hooksopenai: the choice of tools can't be read: %w", err)
	}
	switch choice.Type {
	case "function":
		if !offered[choice.Function.Name] {
			p.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{}
		}
	case "custom":
		if !offered[choice.Custom.Name] {
			p.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{}
		}
	case "allowed_tools":
		p.ToolChoice = allowed(choice.Allowed.Mode, choice.Allowed.Tools, offered)
	default:
		return fmt.Errorf("hooksopenai: the choice of tools is of the type %q, which isn't known", choice.Type)
	}
	return nil
}

// allowed is a choice among tools, of which those that aren't offered are out.
func allowed(mode openai.ChatCompletionAllowedToolsMode, tools []map[string]any, offered map[string]bool) openai.ChatCompletionToolChoiceOptionUnionParam {
	left := slices.DeleteFunc(slices.Clone(tools), func(tool map[string]any) bool {
		kind, _ := tool["type"].(string)
		if inner, ok := tool[kind].(map[string]any); ok {
			tool = inner
		}
		name, _ := tool["name"].(string)
		return !offered[name]
	})
	if len(left) == 0 {
		return openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: param.NewOpt(string(openai.ChatCompletionToolChoiceOptionAutoNone))}
	}
	return openai.ToolChoiceOptionAllowedTools(openai.ChatCompletionAllowedToolsParam{Mode: mode, Tools: left})
}
