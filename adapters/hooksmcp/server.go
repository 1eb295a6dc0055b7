package hooksmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server returns the middleware that runs the hooks around the tools of a server. Add
// it first: what is added later runs outside of it, and what was added before runs
// inside, behind the guards.
//
//	server.AddReceivingMiddleware(hooksmcp.Server())
//
// Each call of a tool is a [hooks.ToolCall] with an ID of its own, whose RunID is
// that of the session, or a new one for a session without an ID, and whose Request
// is the [mcp.CallToolRequest] (see [Request]). Who calls is told at [WithCaller].
// Its Tool is nil always.
//
//   - All text of a result is in Result, one line for each piece, that of embedded
//     resources too; all else is in Parts: "image", "audio", "resource",
//     "resource_link" and "structured", the latter two with their JSON as Text. The
//     tool's own result is sent if no hook has changed it. Otherwise one is made of
//     Result and Parts, without meta data and annotations. Structured content that
//     no hook has touched is dropped where the text was changed, also if an output
//     schema promises it.
//   - A refused call is a result with IsError. A protocol error stays one, with its
//     code and the text that hooks left, and without its Data. A panic of the tool
//     is a result with IsError; without hooks it would end the server.
//   - An abort with StopRun is a protocol error with the abort's PublicText; see [OnStop].
//   - A question of [hooks.ToolCall.Ask] goes to the desk of the ctx, and where
//     there is none, to the user of the client; see [DeskOnly] for what waits at a
//     desk. Where the client can't ask its user, the model reads what waits, with
//     IsError. A call that waits at a desk and is made again in the same session, by
//     the same caller and with the same arguments, is the same call to the desk.
//   - Nobody is ever asked on the console: standard input may be the wire.
//
// What is asked of a client of protocol 2026-07-28 is kept in the memory of this process until
// the client calls again, for a day at most. Another process asks anew.
//
// Hooks are also run at [ListTools], [ReadResource] and [GetPrompt].
//
// The middleware may be used for one server only.
func Server(opts ...Option) mcp.Middleware {
	s := &server{options: newOptions(opts)}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != methodCallTool && !hasPoint(method) {
				return next(ctx, method, req)
			}
			if s.registry != nil {
				ctx = hooks.WithScope(ctx, s.registry)
			}
			if method != methodCallTool {
				return s.atPoint(ctx, method, req, next)
			}
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call == nil || call.Params == nil {
				return nil, misplaced(method, req)
			}
			return s.call(ctx, call, next)
		}
	}
}

type server struct {
	options
	rounds rounds
}

func misplaced(method string, req mcp.Request) error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: fmt.Sprintf("hooksmcp: %s came as a %T, or without parameters; Server is for AddReceivingMiddleware of a server", method, req),
	}
}

// Request returns the request of a call: a [*mcp.CallToolRequest] in a server, with
// the session, the headers and the TokenInfo, and the [*mcp.ClientRequest] in a
// client. It returns nil for other calls.
func Request(c *hooks.ToolCall) mcp.Request {
	if c == nil {
		return nil
	}
	req, _ := c.Request.(mcp.Request)
	return req
}

func (s *server) atPoint(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	var session *mcp.ServerSession
	var client *mcp.Implementation
	switch r := req.(type) {
	case *mcp.ListToolsRequest:
		session, client = r.Session, r.ClientInfo()
	case *mcp.ReadResourceRequest:
		session, client = r.Session, r.ClientInfo()
	case *mcp.GetPromptRequest:
		session, client = r.Session, r.ClientInfo()
	default:
		return nil, misplaced(method, req)
	}
	caller := callerFrom(ctx, client)
	if s.caller != nil { // by what the request has of a call
		caller = s.caller(&mcp.CallToolRequest{Session: session, Extra: req.GetExtra(), Params: &mcp.CallToolParamsRaw{Meta: metaOf(req)}})
	}
	if caller.RunID == "" {
		caller.RunID = runID(session)
	}
	res, err := atPoint(ctx, method, req, caller, next)
	if err != nil {
		return nil, publicPointError(err)
	}
	return res, nil
}

func metaOf(req mcp.Request) mcp.Meta {
	switch p := req.GetParams().(type) {
	case *mcp.ListToolsParams:
		if p != nil {
			return p.Meta
		}
	case *mcp.ReadResourceParams:
		if p != nil {
			return p.Meta
		}
	case *mcp.GetPromptParams:
		if p != nil {
			return p.Meta
		}
	}
	return nil
}

// call takes a call through its hooks, again and again while these ask a client that can
// be called meanwhile.
func (s *server) call(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	c := s.begin(ctx, req)
	for range maxRounds {
		t := &hooks.ToolCall{Caller: c.caller, ID: c.callID, Name: c.req.Params.Name, Request: c.req}
		setArguments(t, c.req.Params.Arguments)
		p := &passage{call: t}
		err := p.run(s.ctxOf(ctx, c, t), c.send(next))
		if err == nil {
			return p.result(c.kind(complete))
		}
		requests, ok := s.asks(t, err)
		if !ok {
			return s.stopped(ctx, c, p, err)
		}
		if !c.answerable(requests) {
			return s.waits(c, t, err, requests), nil
		}
		c.asked = c.asked || t.Suspended() != nil && len(t.Suspended().Questions) > 0
		if c.modern {
			return s.inputRequired(c, requests)
		}
		if problem := c.fulfil(ctx, requests); problem != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			slog.WarnContext(ctx, "hooksmcp: the client was asked and didn't answer", "tool", t.Name, "error", problem)
			return s.waits(c, t, err, requests), nil
		}
	}
	return errorResult(c.kind(complete), "Tool was not run: its hooks asked the client again and again"), nil
}

// ctxOf returns the ctx of the hooks.
func (s *server) ctxOf(ctx context.Context, c *chain, t *hooks.ToolCall) context.Context {
	ctx = hooks.WithCaller(ctx, c.caller) // what the tool runs, it runs for the client
	ctx = hooks.WithHumanInput(ctx, &person{chain: c, call: t})
	if c.asked {
		ctx = hooks.WithDesk(ctx, clientDesk{c})
	}
	return ctx
}

// send hands a call on, with what the hooks made of it.
func (c *chain) send(next mcp.MethodHandler) send {
	return func(ctx context.Context, name string, arguments json.RawMessage) (mcp.Result, error) {
		req, params := *c.req, *c.req.Params
		params.Name, params.Arguments = name, arguments
		req.Params = &params
		return next(ctx, methodCallTool, &req)
	}
}

// stopped answers a call whose seam returned an error.
func (s *server) stopped(ctx context.Context, c *chain, p *passage, err error) (mcp.Result, error) {
	t := p.call
	waits, suspended := errors.AsType[*hooks.Suspended](err)
	if suspended && t.Blocked == nil {
		switch {
		case p.asked != nil && errors.Is(waits.Err, needsInput{}):
			return s.forward(c, p.asked), nil
		case isURLElicitation(waits.Err):
			return nil, waits.Err
		}
		return s.waits(c, t, err, nil), nil
	}
	if abort, ok := errors.AsType[*hooks.HookAborted](err); ok {
		s.tellStop(ctx, c.req, abort)
		return nil, publicError(abort)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, ctx.Err()
	}
	slog.ErrorContext(ctx, "hooksmcp: a call could not be run", "tool", t.Name, "error", err)
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call could not be run"}
}

// stopPatience is how long the answer waits for the function of OnStop.
const stopPatience = 100 * time.Millisecond

func (s *server) tellStop(ctx context.Context, req *mcp.CallToolRequest, abort *hooks.HookAborted) {
	if s.closes && req.Session != nil {
		// The ctx of a request is done when the answer has been written.
		context.AfterFunc(ctx, func() { _ = req.Session.Close() })
	}
	if s.onStop == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				slog.ErrorContext(ctx, "hooksmcp: the function of OnStop panicked", "panic", fmt.Sprintf("%T", v))
			}
		}()
		s.onStop(req, abort)
	}()
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
}

// waits tells the model what a call waits for that didn't run. A call that waits at a
// desk is found again under its ID.
func (s *server) waits(c *chain, t *hooks.ToolCall, err error, requests mcp.InputRequestMap) mcp.Result {
	var lines []string
	if t.Ran() {
		lines = append(lines, "The result of "+visible(t.Name)+" is withheld: it waits for a decision.")
	} else {
		lines = append(lines, "Tool was not run: "+visible(t.Name)+" waits for a decision.")
	}
	switch suspended, ok := errors.AsType[*hooks.Suspended](err); {
	case ok && t.Blocked == nil && len(suspended.Questions) > 0:
		for _, q := range suspended.Questions {
			lines = append(lines, "Question "+q.ID+": "+q.Prompt)
		}
		lines = append(lines, "Call it again with the same arguments once that is decided.")
		if !t.Ran() {
			s.rounds.put(c.waitKey(), &round{callID: c.callID})
		}
	case len(requests) > 0:
		for _, key := range slices.Sorted(maps.Keys(requests)) {
			if form, ok := requests[key].(*mcp.ElicitParams); ok && form != nil {
				lines = append(lines, "To be asked: "+form.Message)
			}
		}
		lines = append(lines, "This client didn't or can't ask its user.")
	}
	return errorResult(c.kind(complete), strings.Join(lines, "\n"))
}

// visible writes what can't be seen as it is written in Go.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
