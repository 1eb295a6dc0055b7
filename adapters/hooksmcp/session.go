package hooksmcp

// Who calls, and which run a call belongs to.

import (
	"context"
	"crypto/rand"
	"runtime"
	"sync"
	"weak"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionIDs tells sessions apart that have no ID of their own. A weak pointer is
// never that of another session, also where its memory is used again.
var sessionIDs sync.Map // weak.Pointer[S] to string

// ownID returns an ID that no other session has, in whatever process.
func ownID[S any](session *S) string {
	if session == nil {
		return newID("session")
	}
	key := weak.Make(session)
	if id, ok := sessionIDs.Load(key); ok {
		return id.(string)
	}
	id, known := sessionIDs.LoadOrStore(key, newID("session"))
	if !known {
		runtime.AddCleanup(session, func(key weak.Pointer[S]) { sessionIDs.Delete(key) }, key)
	}
	return id.(string)
}

func newID(kind string) string { return "mcp-" + kind + "-" + rand.Text() }

// callIDKey is the key of what WithCallID sets.
type callIDKey struct{}

// WithCallID returns a ctx under which the next call of [mcp.ClientSession.CallTool] has
// the ID given, for the hooks of [Client]: that of the model, for instance. A question
// about a call (ToolCall.Ask) is found again by it after the run was resumed. Without
// it each call has a new ID.
func WithCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

func callID(ctx context.Context) string {
	if id, _ := ctx.Value(callIDKey{}).(string); id != "" {
		return id
	}
	return newID("call")
}

// runID returns the ID of the session, as the run that its calls belong to.
func runID(ss *mcp.ServerSession) string {
	if ss != nil {
		if id := ss.ID(); id != "" {
			return id
		}
	}
	return ownID(ss)
}

// callerOf says who calls.
func (o *options) callerOf(ctx context.Context, req *mcp.CallToolRequest) hooks.Caller {
	if o.caller != nil {
		return o.caller(req)
	}
	return callerFrom(ctx, req.ClientInfo())
}

func callerFrom(ctx context.Context, client *mcp.Implementation) hooks.Caller {
	c := hooks.CallerFrom(ctx)
	if c.AgentRole == "" && client != nil {
		c.AgentRole = client.Name
	}
	return c
}
