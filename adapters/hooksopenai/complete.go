package hooksopenai

// One model call between its hooks.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/loophooks/hooks"
)

// Complete makes a model call between its hooks, in the place of
// client.Chat.Completions.New, or of NewStreaming where onText is set. It returns the
// reply as hooks have left it: append Native of it to the conversation, and run
// [Calls] of it. The reply has nothing of what hooks have taken out: its Native is the
// reply of the model only if they have changed nothing.
//
// The messages of p become those of m, unless p has none; so does the model, and the
// tools of p in any case. What is sent is what hooks leave of these; all else of p is
// sent as it is. A hook may ask for another model by m.Model. A tool that is dropped
// from m.Tools isn't offered, nor chosen by p.ToolChoice, and a name that p has no tool
// for is an error. The call may be made more than once where hooks around it
// (hooks.ModelBody) say so, and then on what they have made of m. p is not written to.
// m may be new, or nil where nobody wants to look at it; a program that counts its
// turns sets Iterations.
//
// onText is given the text of the answer, refusals included, as filters and guards
// let it through, in the goroutine of Complete and before it returns. Arguments of tool
// calls and reasoning are not given. An answer that a hook has given isn't streamed, and
// onText isn't called. Several choices (N) are not supported: the first is the answer.
//
// Where a hook refuses the call, the error is its *hooks.HookAborted; where one has the
// run wait, it holds a *hooks.Suspended, and the call is to be made again later.
// Otherwise it is the error of the SDK, or says what can't be hooked; see the package
// comment. One that wraps an *openai.Error has the methods StatusCode and RetryAfter, by
// which around hooks decide on another try.
func Complete(ctx context.Context, c openai.Client, p openai.ChatCompletionNewParams, m *hooks.ModelCall, onText func(string)) (hooks.Message, error) {
	if m == nil {
		m = new(hooks.ModelCall)
	}
	r, err := newRequest(p)
	if err != nil {
		return hooks.Message{}, err
	}
	if len(p.Messages) > 0 {
		m.Messages = make([]hooks.Message, len(p.Messages))
		for i, n := range p.Messages {
			m.Messages[i] = Message(n)
		}
	}
	call := completion{client: &c, request: r, onText: onText}
	return call.run(ctx, m)
}

// completion is one model call.
type completion struct {
	client  *openai.Client
	request *request
	onText  func(string)

	answer  *answer  // of the last run of the body, nil while it hasn't returned
	offered []string // the tools that the model was offered in it
	asked   bool     // the body ran
}

// run makes the call for m, whose Messages are set.
func (c *completion) run(ctx context.Context, m *hooks.ModelCall) (hooks.Message, error) {
	if c.request.params.Model != "" {
		m.Model = c.request.params.Model
	}
	m.Tools = slices.Clone(c.request.names)
	shown := c.request.params
	shown.Messages = nil // what they were before hooks redacted them
	m.Request = shown
	if m.LLM == nil {
		m.LLM = c.client
	}
	if err := hooks.RunModel(ctx, m, c.body); err != nil {
		return hooks.Message{}, err
	}
	if !c.asked || m.Answered() {
		c.offered = m.Tools // whoever answered knows them
	}
	return c.reply(m)
}

// body sends what m has now.
func (c *completion) body(ctx context.Context, m *hooks.ModelCall) error {
	c.answer, c.asked, c.offered = nil, true, slices.Clone(m.Tools)
	p, err := c.request.make(m)
	if err != nil {
		return err
	}
	if c.onText != nil {
		return c.stream(ctx, m, p)
	}
	completion, err := c.client.Chat.Completions.New(ctx, p)
	if err != nil {
		return withStatus(err)
	}
	a, err := answerOf(completion)
	m.Usage = usage(completion.Usage)
	if err != nil {
		return err
	}
	c.fill(m, a)
	m.RawResponse = completion
	return nil
}

// fill puts the answer into m.
func (c *completion) fill(m *hooks.ModelCall, a *answer) {
	tidy(a.calls, m)
	m.Response, m.Parts, m.ToolCalls, m.FinishReason = a.text(), a.parts(), a.requests(), a.finish
	a.asked = slices.Clone(m.ToolCalls)
	a.said, a.beside = m.Response, slices.Clone(m.Parts)
	c.answer = a
}

// reply returns the reply as hooks have left it, with a Native that has nothing
// else.
func (c *completion) reply(m *hooks.ModelCall) (hooks.Message, error) {
	msg := hooks.Message{Role: roleAssistant, Content: m.Response, ToolCalls: withIDs(m.ToolCalls, m)}
	custom := make(map[string]bool)
	for _, call := range msg.ToolCalls {
		custom[call.ID] = c.request.custom[call.Name]
	}
	for _, p := range m.Parts {
		if p.Kind != kindReasoning { // the API has no place for it
			msg.Parts = append(msg.Parts, p)
		}
	}
	if a := c.answer; a != nil {
		for i := range a.calls {
			custom[a.calls[i].ID] = custom[a.calls[i].ID] || a.calls[i].custom
		}
		if !m.ResponseEdited() && a.leftAlone(m) {
			return hooks.NewMessage(a.native(), msg), nil
		}
	}
	native, err := assistant(&msg, custom)
	if err != nil {
		return hooks.Message{}, err
	}
	return hooks.NewMessage(openai.ChatCompletionMessageParamUnion{OfAssistant: native}, msg), nil
}

// Calls returns the tool calls that a reply asks for, for hooks.RunTools. Arguments
// that aren't one JSON object are noted in the call: its tool isn't run, and the model
// reads why. The text for a custom tool is Input["input"]. A program sets Tool to its
// own tool where it has one for the name, so that hooks can tell unknown tools.
func Calls(reply hooks.Message) []*hooks.ToolCall {
	calls := make([]*hooks.ToolCall, len(reply.ToolCalls))
	for i, req := range reply.ToolCalls {
		calls[i] = &hooks.ToolCall{ID: req.ID, Name: req.Name}
		_ = calls[i].SetArguments(req.Arguments) // the error is in the call
	}
	return calls
}

// tidy gives each call an ID of its own, by which its result and questions about it
// are told apart: some servers send none, or one twice. The IDs are the same when the
// body runs again.
func tidy(calls []toolCall, m *hooks.ModelCall) {
	seen := make(map[string]bool, len(calls))
	for i := range calls {
		calls[i].ID = ownID(calls[i].ID, seen, m)
	}
}

// withIDs is tidy for what hooks have left. Blank arguments become those that they
// mean: some servers refuse a history with others.
func withIDs(requests []hooks.ToolRequest, m *hooks.ModelCall) []hooks.ToolRequest {
	requests = slices.Clone(requests)
	seen := make(map[string]bool, len(requests))
	for i := range requests {
		requests[i].ID = ownID(requests[i].ID, seen, m)
		if strings.TrimSpace(requests[i].Arguments) == "" {
			requests[i].Arguments = "{}"
		}
	}
	return requests
}

func ownID(id string, seen map[string]bool, m *hooks.ModelCall) string {
	for k := 1; id == "" || seen[id]; k++ {
		id = fmt.Sprintf("call_%d_%d_%d", m.Iterations, len(m.Messages), k)
	}
	seen[id] = true
	return id
}

// usage counts in the library's words.
func usage(u openai.CompletionUsage) hooks.Usage {
	return hooks.Usage{
		In: int(u.PromptTokens), CachedIn: int(u.PromptTokensDetails.CachedTokens), CacheWrite: int(u.PromptTokensDetails.CacheWriteTokens),
		Out: int(u.CompletionTokens), Reasoning: int(u.CompletionTokensDetails.ReasoningTokens),
	}
}

var errNoChoice = errors.New("hooksopenai: the response has no choice")
