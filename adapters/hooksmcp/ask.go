package hooksmcp

// What a call asks its client for, over several rounds.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Ask is what a hook wants to know of the client before a tool runs: the Err of an abort
// with StopRun, or of a [hooks.PassThrough].
//
//	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
//		req, ok := hooksmcp.Request(call).(*mcp.CallToolRequest)
//		if !ok {
//			return hooks.Abort("there is nobody to ask")
//		}
//		if answer, ok := req.Params.InputResponses["reason"].(*mcp.ElicitResult); ok {
//			return judge(answer)
//		}
//		return &hooks.HookAborted{StopRun: true, Err: &hooksmcp.Ask{Requests: mcp.InputRequestMap{
//			"reason": &mcp.ElicitParams{Message: "Why?"},
//		}}}
//	})
//
// The client answers and the call goes through its hooks again, which find the answers
// in the request: in protocol 2026-07-28 the client makes the call again, in older ones
// the server asks it meanwhile. Where the client can't answer, the model reads what waits.
// Nothing binds such an answer to the call, and a client may bring one unasked: for an
// approval use [hooks.ToolCall.Ask], which needs none of this.
//
// An Ask that is returned once the tool has run is an abort like another.
type Ask struct{ Requests mcp.InputRequestMap }

// Error says what the call waits for, never the questions.
func (a *Ask) Error() string {
	if a == nil {
		return "<nil *Ask>"
	}
	return fmt.Sprintf("hooksmcp: the call needs %d answers of the client", len(a.Requests))
}

// maxRounds is how often a client is asked during one call.
const maxRounds = 10

// chain is a call with what is known of it over all of its rounds.
type chain struct {
	req    *mcp.CallToolRequest // the responses and the state in it are the tool's
	caller hooks.Caller
	callID string
	who    string // whose call it is, and which: another one can't continue it
	modern bool   // protocol 2026-07-28: the client calls again
	asked  bool   // something of a desk was asked, and answers are in its place

	answers map[string]*mcp.ElicitResult // to the adapter, by key
}

func (c *chain) session() *mcp.ServerSession { return c.req.Session }

func (c *chain) elicits() bool { return canElicit(c.req.ClientCapabilities()) }

// kind returns how the type of a result is written on the wire.
func (c *chain) kind(of string) string {
	if !c.modern {
		return ""
	}
	return of
}

const (
	complete      = "complete"
	inputRequired = "input_required"
	modernVersion = "2026-07-28"
)

// begin returns the chain of a request, which goes on with an earlier one if the client
// echoes its state.
func (s *server) begin(ctx context.Context, req *mcp.CallToolRequest) *chain {
	c := &chain{req: req, caller: s.callerOf(ctx, req), modern: req.ProtocolVersion() >= modernVersion}
	var user string
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		user = req.Extra.TokenInfo.UserID
	}
	c.who = sum(c.caller.Tenant, c.caller.AgentRole, user, req.Params.Name, canonical(req.Params.Arguments))
	ownRun := c.caller.RunID == ""
	if ownRun {
		c.caller.RunID = runID(req.Session)
	}
	if state := req.Params.RequestState; strings.HasPrefix(state, statePrefix) {
		params := *req.Params
		params.InputResponses, params.RequestState = nil, "" // of nobody knows what
		if kept, ok := s.rounds.take(state); ok && kept.who == c.who {
			c.callID, c.answers, c.asked = kept.callID, maps.Clone(kept.answers), kept.asked
			if ownRun {
				c.caller.RunID = kept.runID
			}
			params.InputResponses, params.RequestState = maps.Clone(kept.responses), kept.state
			for key, res := range req.Params.InputResponses {
				if slices.Contains(kept.requests, key) {
					c.note(&params, key, res)
				}
			}
		}
		copied := *req
		copied.Params = &params
		c.req = &copied
	}
	if c.callID == "" {
		if kept, ok := s.rounds.take(c.waitKey()); ok {
			c.callID = kept.callID
		} else {
			c.callID = newID("call")
		}
	}
	return c
}

// note keeps an answer: for the adapter, or for the hooks and the tool.
func (c *chain) note(params *mcp.CallToolParamsRaw, key string, res mcp.InputResponse) {
	if !strings.HasPrefix(key, requestPrefix) {
		if params.InputResponses == nil {
			params.InputResponses = make(mcp.InputResponseMap)
		}
		params.InputResponses[key] = res
		return
	}
	if c.answers == nil {
		c.answers = make(map[string]*mcp.ElicitResult)
	}
	answer, _ := res.(*mcp.ElicitResult) // nil for another kind of answer: no answer
	c.answers[key] = answer
}

// waitKey is by which a later call finds the ID of this one, if it waits at a desk.
func (c *chain) waitKey() string { return sum("waits", c.caller.RunID, c.who) }

// canonical returns arguments in one spelling.
func canonical(raw json.RawMessage) string {
	var t hooks.ToolCall
	setArguments(&t, raw)
	if text, err := t.Arguments(); err == nil && t.ArgumentsError() == nil {
		return text
	}
	return string(raw)
}

// asks returns what is to be asked because of the error of a call that hasn't run.
func (s *server) asks(t *hooks.ToolCall, err error) (mcp.InputRequestMap, bool) {
	if t.Ran() {
		return nil, false
	}
	if t.Blocked != nil {
		if ask, ok := errors.AsType[*Ask](t.Blocked.Err); ok && t.Blocked.StopRun {
			return ask.Requests, true
		}
		return nil, false
	}
	waits, ok := errors.AsType[*hooks.Suspended](err)
	if !ok {
		return nil, false
	}
	requests := make(mcp.InputRequestMap)
	if waits.Err != nil {
		ask, ok := errors.AsType[*Ask](waits.Err)
		if !ok {
			return nil, false
		}
		maps.Copy(requests, ask.Requests)
	}
	for i := range waits.Questions {
		q := &waits.Questions[i]
		if s.deskOnly || !askable(q, t) {
			return nil, false
		}
		requests[questionKey(q)] = confirmation(questionText(q))
	}
	return requests, len(requests) > 0
}

// askable says whether the user of the client may decide q: nobody is named who should,
// and it is about this call.
func askable(q *hooks.Question, t *hooks.ToolCall) bool {
	return len(q.Audience) == 0 && q.Allows(hooks.Approve) && q.CallID == t.ID && q.Tool == t.Name &&
		(q.Expires.IsZero() || time.Now().Before(q.Expires))
}

// questionText is what the user reads of a question.
func questionText(q *hooks.Question) string {
	var b strings.Builder
	b.WriteString(q.Prompt + "\n" + visible(q.Tool) + " " + visible(q.Arguments))
	for _, key := range slices.Sorted(maps.Keys(q.Details)) {
		b.WriteString("\n" + visible(key) + ": " + visible(q.Details[key]))
	}
	if q.Again > 0 {
		b.WriteString("\nIt was approved before, and whether it ran isn't known.")
	}
	return b.String()
}

// inputRequired is the result by which the client is asked, and calls again. It is made
// by decoding, since the type of a result can't be set otherwise.
func (s *server) inputRequired(c *chain, requests mcp.InputRequestMap) (mcp.Result, error) {
	raw, err := json.Marshal(map[string]any{
		"resultType":    inputRequired,
		"inputRequests": requests,
		"requestState":  s.rounds.keep(c.round(requests)),
	})
	if err != nil {
		return nil, fmt.Errorf("hooksmcp: what the client is to be asked can't be written: %w", err)
	}
	var res mcp.CallToolResult
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, fmt.Errorf("hooksmcp: what the client is to be asked can't be read again: %w", err)
	}
	res.Content = nil // as in a result of a tool
	return &res, nil
}

// round is what the next round has to know.
func (c *chain) round(requests mcp.InputRequestMap) *round {
	return &round{
		who: c.who, runID: c.caller.RunID, callID: c.callID, answers: c.answers, asked: c.asked,
		requests: slices.Collect(maps.Keys(requests)), responses: c.req.Params.InputResponses, state: c.req.Params.RequestState,
	}
}

// forward hands on the result of a tool that asks for input. Where the adapter has
// asked as well, the answers to that must be known in the next round.
func (s *server) forward(c *chain, res *mcp.CallToolResult) mcp.Result {
	if len(c.answers) == 0 || !c.modern {
		return res
	}
	next := c.round(res.InputRequests)
	next.responses, next.state = nil, res.RequestState
	wrapped := *res
	wrapped.RequestState = s.rounds.keep(next)
	return &wrapped
}
