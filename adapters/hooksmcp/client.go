package hooksmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Client returns the middleware that runs the hooks around the tools which a client
// calls. Add it first, so that no other middleware changes what guards have checked:
//
//	client.AddSendingMiddleware(hooksmcp.Client(hooks.Caller{AgentRole: "Researcher"}))
//
// What caller leaves unset is taken from the ctx of the call. Outside of a run the
// RunID is the session's, or a new one for a session without an ID.
//
// A refused call is a result with IsError that the model reads. An abort with
// StopRun and a [*hooks.Suspended] come out of [mcp.ClientSession.CallTool] as its
// error. What the server asks for while it runs the call is answered by the SDK
// inside of the hooks; where that is turned off, a result that needs input passes
// them.
//
// Hooks are also run at [ListTools], [ReadResource] and [GetPrompt]. A session of protocol
// 2026-07-28 remembers the tools that it was told of, and runs no hooks when it is asked
// again.
//
// Client panics if it is given an option of a server.
func Client(caller hooks.Caller, opts ...Option) mcp.Middleware {
	o := newOptions(opts)
	if len(o.server) > 0 {
		panic("hooksmcp: Client: " + strings.Join(o.server, " and ") + " can't be used here; it is for Server")
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != methodCallTool && !hasPoint(method) {
				return next(ctx, method, req)
			}
			var session *mcp.ClientSession
			if req != nil {
				session, _ = req.GetSession().(*mcp.ClientSession)
			}
			if session == nil {
				return nil, fmt.Errorf("hooksmcp: %s came as a %T; Client is for AddSendingMiddleware of a client", method, req)
			}
			caller := caller
			if caller.RunID == "" && hooks.CallerFrom(ctx).RunID == "" {
				if caller.RunID = session.ID(); caller.RunID == "" {
					caller.RunID = ownID(session)
				}
			}
			if o.registry != nil {
				ctx = hooks.WithScope(ctx, o.registry)
			}
			if method != methodCallTool {
				return atPoint(ctx, method, req, caller, next)
			}
			return callOut(ctx, req, session, caller, next)
		}
	}
}

// callOut makes a call of a client between its hooks.
func callOut(ctx context.Context, req mcp.Request, session *mcp.ClientSession, caller hooks.Caller, next mcp.MethodHandler) (mcp.Result, error) {
	params, ok := req.GetParams().(*mcp.CallToolParams)
	if !ok || params == nil {
		return nil, fmt.Errorf("hooksmcp: %s has parameters of type %T", methodCallTool, req.GetParams())
	}
	t := &hooks.ToolCall{Caller: caller, ID: callID(ctx), Name: params.Name, Request: req}
	raw, err := json.Marshal(params.Arguments)
	if err != nil {
		return nil, fmt.Errorf("hooksmcp: the arguments can't be written as JSON: %w", err)
	}
	setArguments(t, raw)
	p := &passage{call: t}
	err = p.run(ctx, func(ctx context.Context, name string, arguments json.RawMessage) (mcp.Result, error) {
		changed := *params
		changed.Name, changed.Arguments = name, arguments
		return next(ctx, methodCallTool, &mcp.ClientRequest[mcp.Params]{Session: session, Params: &changed})
	})
	if err == nil {
		return p.result("")
	}
	if waits, ok := errors.AsType[*hooks.Suspended](err); ok && t.Blocked == nil {
		switch {
		case errors.Is(waits.Err, needsInput{}) && p.asked != nil:
			return p.asked, nil
		case isURLElicitation(waits.Err):
			return nil, waits.Err
		}
	}
	return nil, err
}

// setArguments sets what a call is made with. The arguments are optional, and null
// stands for none.
func setArguments(t *hooks.ToolCall, raw json.RawMessage) {
	if string(raw) == "null" {
		raw = nil
	}
	_ = t.SetArguments(string(raw)) // the seam tells the model of what can't be read
}
