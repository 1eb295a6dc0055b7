package hooksmcp

// The points of what isn't a tool call.

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The points of lists of tools, of resources and of prompts. They fire once the
// server has answered, with a copy of the answer that hooks may edit; an abort
// withholds it. They fire in servers and in clients, and not for answers that are
// errors or ask for input.
var (
	// ListTools fires when tools are listed, for each page. A tool that a hook hides can
	// be called all the same: refuse that by a guard of the tools.
	ListTools = hooks.Define[ToolList]("mcp.list_tools")
	// ReadResource fires when a resource was read.
	ReadResource = hooks.Define[Resource]("mcp.read_resource")
	// GetPrompt fires when a prompt was made.
	GetPrompt = hooks.Define[Prompt]("mcp.get_prompt")
)

// ToolList is the context of [ListTools].
type ToolList struct {
	hooks.Caller
	Request mcp.Request
	Tools   []*mcp.Tool // copies; their schemas are shared
}

// HookPayload lets events tell whether hooks changed the list.
func (l *ToolList) HookPayload(hooks.InterceptionPoint) any { return l.Tools }

// HookCopy returns a copy for watches.
func (l *ToolList) HookCopy() *ToolList {
	c := *l
	c.Tools = copyEach(l.Tools)
	return &c
}

// Resource is the context of [ReadResource].
type Resource struct {
	hooks.Caller
	Request  mcp.Request
	URI      string // as it was asked for
	Contents []*mcp.ResourceContents
}

// EditText replaces the texts of the contents by f of them.
func (r *Resource) EditText(f func(string) string) {
	for _, c := range r.Contents {
		if c != nil && c.Text != "" {
			c.Text = f(c.Text)
		}
	}
}

// HookPayload lets events tell whether hooks changed the contents.
func (r *Resource) HookPayload(hooks.InterceptionPoint) any { return r.Contents }

// HookCopy returns a copy for watches.
func (r *Resource) HookCopy() *Resource {
	c := *r
	c.Contents = copyEach(r.Contents)
	return &c
}

// Prompt is the context of [GetPrompt].
type Prompt struct {
	hooks.Caller
	Request     mcp.Request
	Name        string            // as it was asked for
	Arguments   map[string]string // for reading
	Description string
	Messages    []*mcp.PromptMessage
}

// EditText replaces the description and the texts of the messages, those of embedded
// resources too, by f of them.
func (p *Prompt) EditText(f func(string) string) {
	if p.Description != "" {
		p.Description = f(p.Description)
	}
	for _, m := range p.Messages {
		if m == nil {
			continue
		}
		switch c := m.Content.(type) {
		case *mcp.TextContent:
			c.Text = f(c.Text)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				c.Resource.Text = f(c.Resource.Text)
			}
		}
	}
}

// HookPayload lets events tell whether hooks changed the prompt.
func (p *Prompt) HookPayload(hooks.InterceptionPoint) any {
	return []any{p.Description, p.Messages}
}

// HookCopy returns a copy for watches.
func (p *Prompt) HookCopy() *Prompt {
	c := *p
	c.Messages = copyMessages(p.Messages)
	return &c
}

// copyEach copies a list and what it points to.
func copyEach[T any](list []*T) []*T {
	list = slices.Clone(list)
	for i, v := range list {
		if v != nil {
			c := *v
			list[i] = &c
		}
	}
	return list
}

func copyMessages(list []*mcp.PromptMessage) []*mcp.PromptMessage {
	list = copyEach(list)
	for _, m := range list {
		if m == nil {
			continue
		}
		switch c := m.Content.(type) {
		case *mcp.TextContent:
			text := *c
			m.Content = &text
		case *mcp.EmbeddedResource:
			resource := *c
			if c.Resource != nil {
				contents := *c.Resource
				resource.Resource = &contents
			}
			m.Content = &resource
		}
	}
	return list
}

const (
	methodListTools    = "tools/list"
	methodReadResource = "resources/read"
	methodGetPrompt    = "prompts/get"
)

func hasPoint(method string) bool {
	return method == methodListTools || method == methodReadResource || method == methodGetPrompt
}

// atPoint answers a request and runs the hooks on the answer.
func atPoint(ctx context.Context, method string, req mcp.Request, caller hooks.Caller, next mcp.MethodHandler) (mcp.Result, error) {
	got, err := next(ctx, method, req)
	if err != nil {
		return nil, err
	}
	switch method {
	case methodListTools:
		if !hooks.Enabled(ctx, ListTools) {
			return got, nil
		}
		res, ok := got.(*mcp.ListToolsResult)
		if !ok || res == nil {
			return nil, unknown(method, got)
		}
		c := &ToolList{Caller: caller, Request: req, Tools: copyEach(res.Tools)}
		if err := hooks.Dispatch(ctx, ListTools, c); err != nil {
			return nil, err
		}
		changed := *res
		if changed.Tools = c.Tools; c.Tools == nil {
			changed.Tools = []*mcp.Tool{} // null is no list
		}
		return &changed, nil
	case methodReadResource:
		if !hooks.Enabled(ctx, ReadResource) {
			return got, nil
		}
		res, ok := got.(*mcp.ReadResourceResult)
		params, known := req.GetParams().(*mcp.ReadResourceParams)
		if !ok || res == nil || !known || params == nil {
			return nil, unknown(method, got)
		}
		if res.NeedsInput() || res.InputRequests != nil {
			return got, nil
		}
		c := &Resource{Caller: caller, Request: req, URI: params.URI, Contents: copyEach(res.Contents)}
		if err := hooks.Dispatch(ctx, ReadResource, c); err != nil {
			return nil, err
		}
		if reflect.DeepEqual(c.Contents, res.Contents) {
			return got, nil
		}
		changed := *res
		changed.Meta = nil // which hooks haven't seen
		if changed.Contents = c.Contents; c.Contents == nil {
			changed.Contents = []*mcp.ResourceContents{}
		}
		return &changed, nil
	}
	if !hooks.Enabled(ctx, GetPrompt) {
		return got, nil
	}
	res, ok := got.(*mcp.GetPromptResult)
	params, known := req.GetParams().(*mcp.GetPromptParams)
	if !ok || res == nil || !known || params == nil {
		return nil, unknown(method, got)
	}
	if res.NeedsInput() || res.InputRequests != nil {
		return got, nil
	}
	c := &Prompt{
		Caller: caller, Request: req, Name: params.Name, Arguments: params.Arguments,
		Description: res.Description, Messages: copyMessages(res.Messages),
	}
	if err := hooks.Dispatch(ctx, GetPrompt, c); err != nil {
		return nil, err
	}
	if c.Description == res.Description && reflect.DeepEqual(c.Messages, res.Messages) {
		return got, nil
	}
	changed := *res
	changed.Meta, changed.Description = nil, c.Description
	if changed.Messages = c.Messages; c.Messages == nil {
		changed.Messages = []*mcp.PromptMessage{}
	}
	return &changed, nil
}

func unknown(method string, got mcp.Result) error {
	return fmt.Errorf("hooksmcp: the answer of %s, or its request, is of an unknown type (%T)", method, got)
}

// publicPointError is what the client of a server gets of an error of atPoint.
func publicPointError(err error) error {
	if abort, ok := errors.AsType[*hooks.HookAborted](err); ok {
		return publicError(abort)
	}
	if _, ok := errors.AsType[*hooks.Suspended](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer waits for a decision"}
	}
	return err
}
