package hooksmcp

// Asking the user of the client.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Elicitation asks the user of a client, by MCP elicitation. It is a [hooks.HumanInput],
// and [Server] has what it does for the hooks of every call.
//
// A user who accepts gives what was typed, or "yes" where nothing was to be; one who
// declines gives "no". A form that was dismissed, one with another answer, and a client
// that can't elicit are errors. So is a session of protocol 2026-07-28, where a server may not
// call its client: a hook asks by [hooks.ToolCall.Ask] there, or by an [Ask].
type Elicitation struct{ Session *mcp.ServerSession }

// RequestInput asks by a form with one field.
func (e Elicitation) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	return e.ask(ctx, &mcp.ElicitParams{
		Mode:    "form",
		Message: prompt,
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{answerField: map[string]any{"type": "string", "title": message}},
			"required":   []string{answerField},
		},
	})
}

func (e Elicitation) ask(ctx context.Context, params *mcp.ElicitParams) (string, error) {
	if e.Session == nil {
		return "", errors.New("hooksmcp: there is no session whose user could be asked")
	}
	res, err := e.Session.Elicit(ctx, params)
	if err != nil {
		return "", fmt.Errorf("hooksmcp: the user of the client could not be asked: %w", err)
	}
	return answerOf(res)
}

// answerField is what the one field of a form is called.
const answerField = "answer"

// confirmation is a form without fields: to accept it is a yes.
func confirmation(message string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode: "form", Message: message,
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
	}
}

// answerOf returns what a user answered.
func answerOf(res *mcp.ElicitResult) (string, error) {
	if res == nil {
		return "", errors.New("hooksmcp: the client gave no answer")
	}
	switch res.Action {
	case "decline":
		return "no", nil
	case "cancel":
		return "", errors.New("hooksmcp: the user dismissed the question")
	case "accept":
	default:
		return "", fmt.Errorf("hooksmcp: the client answered by %q, which is neither a yes nor a no", res.Action)
	}
	if len(res.Content) == 0 {
		return "yes", nil
	}
	value, ok := res.Content[answerField]
	if !ok && len(res.Content) == 1 {
		for _, only := range res.Content {
			value = only
		}
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		if v {
			return "yes", nil
		}
		return "no", nil
	}
	return "", errors.New("hooksmcp: the client's answer isn't one text")
}

// isYes tells whether an answer to a confirmation is a yes. It knows the words that
// the Ask of package hooks does.
func isYes(answer string) bool {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes", "s", "sim", "예", "네":
		return true
	}
	return false
}

// canElicit says whether the client shows forms.
func canElicit(caps *mcp.ClientCapabilities) bool {
	if caps == nil || caps.Elicitation == nil {
		return false
	}
	return caps.Elicitation.Form != nil || caps.Elicitation.URL == nil // an empty one means forms
}

// person answers the questions of the hooks of one passage: never the console, which
// may be the wire.
type person struct {
	chain *chain
	call  *hooks.ToolCall

	mu   sync.Mutex
	seen map[string]int // how often a question was put in this passage
}

// RequestInput asks at once where a server may call its client. Elsewhere it returns
// the answer of an earlier round, or the abort that makes the adapter ask.
func (p *person) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	about := p.isQuestion(prompt, message)
	switch {
	case !about && p.chain.modern:
		return "", errors.New("hooksmcp: in protocol 2026-07-28 the client can't be called while a tool is: " +
			"ask by ToolCall.Ask, whose answer is bound to the call, or stop the call with an Ask")
	case !about:
		return Elicitation{p.chain.session()}.RequestInput(ctx, prompt, message)
	case !p.chain.modern && p.chain.elicits():
		return Elicitation{p.chain.session()}.ask(ctx, confirmation(prompt))
	}
	p.mu.Lock()
	n := p.seen[prompt]
	if p.seen == nil {
		p.seen = make(map[string]int)
	}
	p.seen[prompt]++
	p.mu.Unlock()
	key := requestKey("prompt", prompt, strconv.Itoa(n))
	if res, ok := p.chain.answers[key]; ok {
		return answerOf(res)
	}
	return "", &hooks.HookAborted{
		Reason: "the user of the client has to be asked first", StopRun: true,
		Err: &Ask{Requests: mcp.InputRequestMap{key: confirmation(prompt)}},
	}
}

// isQuestion says whether it is ToolCall.Ask that asks, about the call of this
// passage: its prompt holds what would run, and so its answer is bound to that.
func (p *person) isQuestion(prompt, message string) bool {
	return message == `Type "yes" to allow it:` && strings.Contains(prompt, "\n"+p.call.Name+" {")
}

// clientDesk knows what the user of the client has decided about questions of a desk.
type clientDesk struct{ chain *chain }

// Ask returns what the user decided about q as it is now.
func (d clientDesk) Ask(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
	res, ok := d.chain.answers[questionKey(q)]
	if !ok {
		return hooks.Decision{}, false, nil
	}
	answer, err := answerOf(res)
	if err != nil {
		return hooks.Decision{}, false, err
	}
	verdict := hooks.Reject
	if isYes(answer) {
		verdict = hooks.Approve
	}
	return hooks.Decision{Verdict: verdict, Digest: q.Digest, By: q.AgentRole}, true, nil
}

// Done has nothing to do: answers are forgotten with the call.
func (clientDesk) Done(context.Context, string) error { return nil }

func questionKey(q *hooks.Question) string { return requestKey("question", q.ID, q.Digest) }

// requestPrefix marks the requests that are answered to the adapter.
const requestPrefix = "hooksmcp-"

func requestKey(parts ...string) string { return requestPrefix + sum(parts...) }

// sum is a SHA-256 of texts, each with its length in front.
func sum(parts ...string) string {
	h := sha256.New()
	for _, s := range parts {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}
