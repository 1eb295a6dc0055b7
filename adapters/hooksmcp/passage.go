package hooksmcp

// One passage of a call through the seam of tools, alike for servers and clients.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const methodCallTool = "tools/call"

// send makes the call, with the name and the arguments that the hooks left.
type send func(ctx context.Context, name string, arguments json.RawMessage) (mcp.Result, error)

// passage keeps what the last run of the body left beside the call.
type passage struct {
	call   *hooks.ToolCall
	own    *mcp.CallToolResult // the result, while it may be sent as it is
	text   string              // of own
	asked  *mcp.CallToolResult // a result by which the tool asks for input
	failed error               // the protocol error
}

// needsInput is the interrupt of a tool that asks the client for input.
type needsInput struct{}

func (needsInput) Error() string { return "hooksmcp: the tool needs input of the client" }

// toolError is why a call failed of which the tool says so in its result.
type toolError struct {
	text  string
	cause error // what the handler returned; known to a server alone
}

func (e *toolError) Error() string {
	if e.text == "" {
		return "the tool failed and doesn't say why"
	}
	return e.text
}

func (e *toolError) Unwrap() error { return e.cause }

// run takes the call through its hooks.
func (p *passage) run(ctx context.Context, call send) error {
	return hooks.RunTool(ctx, p.call, func(ctx context.Context, t *hooks.ToolCall) error {
		p.own, p.asked, p.failed, p.text = nil, nil, nil, ""
		arguments, err := t.Arguments()
		if err != nil {
			return err
		}
		got, err := call(ctx, t.Name, json.RawMessage(arguments))
		if err != nil {
			if isURLElicitation(err) { // control flow, whose Data the client needs
				return hooks.PassThrough(err)
			}
			p.failed = err
			return err
		}
		res, ok := got.(*mcp.CallToolResult)
		if !ok {
			return fmt.Errorf("hooksmcp: %s returned a %T", methodCallTool, got)
		}
		if res == nil {
			return nil
		}
		return p.take(t, res)
	})
}

// take fills in what the tool returned.
func (p *passage) take(t *hooks.ToolCall, res *mcp.CallToolResult) error {
	if res.NeedsInput() || res.InputRequests != nil {
		p.asked = res
		return hooks.PassThrough(needsInput{})
	}
	t.RawResult = res
	cause := res.GetError()
	if isControl(cause) { // its text is not for the model
		return cause
	}
	text, parts, err := fromResult(res)
	if err != nil {
		return err
	}
	t.Result, t.Parts = text, parts
	p.own, p.text = res, text
	if res.IsError {
		return &toolError{text, cause}
	}
	return nil
}

// result is what the other side gets of a call that has ended: the tool's own result
// only if hooks left it as it was.
func (p *passage) result(kind string) (mcp.Result, error) {
	t := p.call
	switch {
	case p.failed != nil && t.Err != nil && t.Blocked == nil && t.Ran():
		return nil, p.protocolError()
	case p.own != nil && !t.ResultEdited() && t.RawResult == any(p.own) && p.own.IsError == t.IsError() && t.Ran():
		return p.own, nil
	}
	res := newResult(kind)
	res.IsError = t.IsError()
	retold := t.Result != p.text
	if p.own == nil {
		retold = t.ResultEdited()
	}
	res.Content, res.StructuredContent = toContent(t.Result, t.Parts, retold)
	return res, nil
}

// protocolError is the error of the call, with the text that the hooks left. Data is
// dropped, which they haven't seen.
func (p *passage) protocolError() error {
	text := p.call.Text()
	if wire, ok := errors.AsType[*jsonrpc.Error](p.failed); ok {
		return &jsonrpc.Error{Code: wire.Code, Message: text}
	}
	if !p.call.ResultEdited() && text == p.failed.Error() {
		return p.failed // a client may ask for its cause
	}
	return errors.New(text)
}

// isControl says whether an error that a tool returned is an abort or a Suspended, of
// an agent that the tool runs.
func isControl(err error) bool {
	if err == nil {
		return false
	}
	_, aborted := errors.AsType[*hooks.HookAborted](err)
	_, waits := errors.AsType[*hooks.Suspended](err)
	return aborted || waits
}

func isURLElicitation(err error) bool {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && wire.Code == mcp.CodeURLElicitationRequired
}

// publicError tells the other side of a server that a call was stopped.
func publicError(abort *hooks.HookAborted) error {
	text := abort.PublicText()
	if text == "" {
		text = "the call was refused"
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}
}
