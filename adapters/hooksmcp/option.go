package hooksmcp

import (
	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Option changes how [Server] or [Client] works. If one is given twice, the last
// one wins.
type Option func(*options)

type options struct {
	registry *hooks.Registry
	caller   func(*mcp.CallToolRequest) hooks.Caller
	onStop   func(*mcp.CallToolRequest, *hooks.HookAborted)
	closes   bool
	deskOnly bool
	server   []string // the options given that are for a server alone
}

func newOptions(opts []Option) options {
	var o options
	for _, opt := range opts {
		if opt == nil {
			panic("hooksmcp: an Option is nil")
		}
		opt(&o)
	}
	return o
}

// WithRegistry makes the hooks of r run for every call, behind those of the process
// and of the ctx. It panics if r is nil.
func WithRegistry(r *hooks.Registry) Option {
	if r == nil {
		panic("hooksmcp: WithRegistry: the Registry is nil")
	}
	return func(o *options) { o.registry = r }
}

// WithCaller has f say who calls a tool of the server, from the TokenInfo of the
// request for instance. Without it the Caller is that of the ctx which the session
// was connected with, and its AgentRole, where that is unset, the name that the client
// gives itself, which is no authentication. Where f leaves the AgentRole unset it
// stays so, and matches every filter; an unset RunID becomes that of the session.
//
// f is called once for each call, from any goroutine. It is for [Server]. WithCaller
// panics if f is nil.
func WithCaller(f func(*mcp.CallToolRequest) hooks.Caller) Option {
	if f == nil {
		panic("hooksmcp: WithCaller: the function is nil")
	}
	return func(o *options) { o.caller, o.server = f, append(o.server, "WithCaller") }
}

// OnStop has f called when a hook stops the run with a call of a tool
// ([hooks.AbortRun]), since a server has no run that could end. The client gets a
// protocol error with the abort's PublicText in any case, and the server goes on.
//
// f may close the session, but then the client doesn't read the error any more,
// which the SDK no longer sends: [CloseOnStop] closes it behind the error. f runs in
// a goroutine of its own, because closing a session waits for the calls that it has;
// the answer waits for f, but no longer than 100 ms. A panic of f is logged by
// [log/slog]. OnStop is for [Server], and panics if f is nil.
func OnStop(f func(*mcp.CallToolRequest, *hooks.HookAborted)) Option {
	if f == nil {
		panic("hooksmcp: OnStop: the function is nil")
	}
	return func(o *options) { o.onStop, o.server = f, append(o.server, "OnStop") }
}

// CloseOnStop closes the session when a hook stops the run with a call of a tool, once
// the client has been sent the error. It is for [Server].
func CloseOnStop() Option {
	return func(o *options) { o.closes, o.server = true, append(o.server, "CloseOnStop") }
}

// DeskOnly leaves the questions of a desk to those who decide there. Without it,
// a question that waits at the desk of the ctx ([hooks.WithDesk]) and has no Audience is put to
// the user of the client as well, where the client can ask; that decision is for
// this call and isn't told to the desk. DeskOnly is for [Server].
func DeskOnly() Option {
	return func(o *options) { o.deskOnly, o.server = true, append(o.server, "DeskOnly") }
}
