package hooksopenai

// What of a run is kept: between its turns, while it waits, and for the next prompt.

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/openai/openai-go/v3"

	"github.com/loophooks/hooks"
)

// State is a conversation of a [Loop], and the run that is at it. The zero State is a
// new conversation. It is plain data: encoding/json writes and reads it, and a run that
// waits can be gone on with from what was written, in any process.
//
// It holds what hooks have left of texts and results, and nothing of what it was; what
// they take out of the messages of a single model call is still in it. It isn't safe
// for concurrent use, and two runs must not go on from one saved State: a call that
// wasn't asked about would run in both.
type State struct {
	// Messages is the conversation as it would be sent next. Each tool call in it has
	// its result, but for those that a waiting run waits for.
	Messages []openai.ChatCompletionMessageParamUnion `json:"messages,omitempty"`
	// RunID is that of the last run.
	RunID string `json:"run_id,omitempty"`
	// Waiting says that the run was suspended: Resume goes on with it.
	Waiting bool `json:"waiting,omitempty"`
	// Turn counts the turns of the run that are over.
	Turn int `json:"turn,omitempty"`
	// Offered are the tools that the model was offered in the turn that isn't over.
	Offered []string `json:"offered,omitempty"`
	// Prompt is that of a run that was suspended before the prompt was in Messages.
	Prompt *string `json:"prompt,omitempty"`
	// Agents has the runs of sub-agents that wait, by the call of the tool. See
	// [Loop.Agent].
	Agents map[string]*State `json:"agents,omitempty"`
}

// begin makes s ready for a new run of its conversation.
func (s *State) begin() error {
	switch {
	case s == nil:
		return errors.New("hooksopenai: the State is nil; give a new one")
	case s.Waiting:
		return errors.New("hooksopenai: the run of this State waits; go on with it by Resume, or give a new State")
	}
	*s = State{Messages: s.Messages}
	return nil
}

// resumable says why there is nothing to go on with.
func (s *State) resumable() error {
	switch {
	case s == nil:
		return errors.New("hooksopenai: the State is nil")
	case !s.Waiting:
		return errors.New("hooksopenai: no run of this State waits; begin one by Run")
	case s.RunID == "":
		return errors.New("hooksopenai: the State has no RunID; it isn't one that Run has left")
	}
	for _, n := range s.Messages {
		if m := Message(n); m.Edited() {
			return errors.New("hooksopenai: the State has a message that can't be read; it was changed, or written by something else")
		}
	}
	return nil
}

// portable returns the messages for hooks.
func portable(native []openai.ChatCompletionMessageParamUnion) []hooks.Message {
	messages := make([]hooks.Message, len(native))
	for i, n := range native {
		messages[i] = Message(n)
	}
	return messages
}

// natives returns the messages as they are sent, and sets those that hooks have edited
// to what that is.
func natives(messages []hooks.Message) ([]openai.ChatCompletionMessageParamUnion, error) {
	native := make([]openai.ChatCompletionMessageParamUnion, len(messages))
	for i := range messages {
		n, err := Native(&messages[i])
		if err != nil {
			return nil, err
		}
		native[i] = n
		if messages[i].Edited() {
			messages[i] = Message(n)
		}
	}
	return native, nil
}

// clone copies messages with what hooks may write in them.
func clone(messages []hooks.Message) []hooks.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		m.Parts, m.ToolCalls = slices.Clone(m.Parts), slices.Clone(m.ToolCalls)
	}
	return messages
}

// openTurn returns how much of the history is the turn that isn't over: a reply of
// which calls have no result, with the results that there are; or a reply without
// calls, which is the answer. It is 0 where the model is next.
func openTurn(history []hooks.Message) int {
	at := len(history) - 1
	for at >= 0 && history[at].Role == roleTool {
		at--
	}
	if at < 0 || history[at].Role != roleAssistant {
		return 0
	}
	calls := history[at].ToolCalls
	if len(calls) > 0 && len(unanswered(calls, history[at+1:])) == 0 {
		return 0
	}
	return len(history) - at
}

// unanswered returns the calls that have no result.
func unanswered(calls []hooks.ToolRequest, results []hooks.Message) []hooks.ToolRequest {
	return slices.DeleteFunc(slices.Clone(calls), func(c hooks.ToolRequest) bool {
		return slices.ContainsFunc(results, func(m hooks.Message) bool { return m.ToolCallID == c.ID })
	})
}

// inOrder returns the results in the order of the calls.
func inOrder(calls []hooks.ToolRequest, results []hooks.Message) []hooks.Message {
	at := make(map[string]int, len(calls))
	for i, c := range calls {
		at[c.ID] = i
	}
	slices.SortStableFunc(results, func(a, b hooks.Message) int { return cmp.Compare(at[a.ToolCallID], at[b.ToolCallID]) })
	return results
}

// agentsOf copies the runs of sub-agents, which a run of the loop adds to.
func agentsOf(s *State) map[string]*State {
	agents := maps.Clone(s.Agents)
	if agents == nil {
		agents = make(map[string]*State)
	}
	return agents
}
