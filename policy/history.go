package policy

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

// History keeps what is sent to a model within a number of tokens: it drops the oldest
// messages of a call that has more.
//
// It is a hook of [hooks.PreModelCall], at priority -950, behind those that add
// messages. The edit is for this call; the loop keeps all of its history, unless it
// takes the edit over.
//
// Never dropped is a system message, one of the last Keep, and half of an exchange: a
// call of tools and its results stay or go together, since every provider rejects one
// without the other. So what is left may have more tokens than it should. The first
// message of the user goes like any other; what the model has to know to the end, such
// as its task, belongs into a system message.
//
// Where something is left out a system message of one line says so, in the place of the
// oldest message that is, and it counts. One that is there already, as in a history that
// took an edit over, isn't repeated.
type History struct {
	// Tokens is how many tokens all messages may have together. What else is sent, such
	// as the description of tools, isn't counted, and neither is the answer. Required.
	Tokens int
	// Estimate returns how many tokens a message has. By default they are estimated: a
	// third of the bytes of its text and of its tool calls, and four. Parts without
	// text, such as images, have none then. It may be called concurrently.
	Estimate func(hooks.Message) int
	// Keep is how many messages at the end are never dropped, 4 by default.
	Keep int
}

// Register registers the policy; opts go to the hook, named policy.History by default.
// It panics if Tokens isn't positive, or Keep is negative. The hook is fail-open and safe
// for concurrent use.
func (p History) Register(opts ...hooks.Option) *hooks.Group {
	switch {
	case p.Tokens <= 0:
		panic(fmt.Sprintf("policy: History: Tokens is %d; give how many tokens the messages may have", p.Tokens))
	case p.Keep < 0:
		panic(fmt.Sprintf("policy: History: Keep is %d; give how many messages at the end are kept, or 0 for the default", p.Keep))
	}
	p.Keep = cmp.Or(p.Keep, 4)
	if p.Estimate == nil {
		p.Estimate = messageTokens
	}
	return register(opts, func(r *registrar) {
		r.add(hooks.On(hooks.PreModelCall, p.trim, r.with("policy.History", -950)...))
	})
}

// leftOutNote is what the model reads where messages were left out. It has no number in
// it, so that it is found again.
const leftOutNote = "Earlier messages of this conversation are left out here."

// messageTokens is the Estimate where none is given.
func messageTokens(msg hooks.Message) int {
	n := len(msg.Name) + len(msg.Content)
	for _, part := range msg.Parts {
		n += len(part.Text)
	}
	for _, call := range msg.ToolCalls {
		n += len(call.Name) + len(call.Arguments)
	}
	return n/3 + 4
}

func (p History) trim(_ context.Context, m *hooks.ModelCall) error {
	tokens := make([]int64, len(m.Messages))
	total := int64(0)
	for i, msg := range m.Messages {
		tokens[i] = p.tokens(msg)
		total += tokens[i]
	}
	limit := int64(p.Tokens)
	if total <= limit {
		return nil
	}
	note := hooks.Message{Role: "system", Content: leftOutNote}
	noted := slices.ContainsFunc(m.Messages, isLeftOutNote)
	if !noted {
		total += p.tokens(note)
	}

	dropped := make([]bool, len(m.Messages))
	oldest := -1
	for _, exchange := range exchanges(m.Messages) {
		if total <= limit {
			break
		}
		if exchange[len(exchange)-1] >= len(m.Messages)-p.Keep || m.Messages[exchange[0]].Role == "system" {
			continue
		}
		if oldest < 0 {
			oldest = exchange[0]
		}
		for _, i := range exchange {
			dropped[i] = true
			total -= tokens[i]
		}
	}
	if oldest < 0 {
		return nil
	}
	kept := make([]hooks.Message, 0, len(m.Messages))
	for i, msg := range m.Messages {
		if i == oldest && !noted {
			kept = append(kept, note)
		}
		if !dropped[i] {
			kept = append(kept, msg)
		}
	}
	m.Messages = kept
	return nil
}

// tokens is Estimate within bounds, so that a sum of it is one.
func (p History) tokens(msg hooks.Message) int64 {
	return min(max(int64(p.Estimate(msg)), 0), 1<<40)
}

func isLeftOutNote(msg hooks.Message) bool {
	return msg.Role == "system" && msg.Content == leftOutNote
}

// exchanges returns the places of what stays or goes together, the oldest first: a message
// that calls tools with the results of these calls, and any other message alone.
func exchanges(messages []hooks.Message) [][]int {
	all := make([][]int, 0, len(messages))
	first := firstCalls(messages)
	early := make(map[string][]int) // where in all the results are that stand in front of their call
	calls := make(map[string]int)   // where in all the last call of an ID is
	last := -1                      // where in all the last message with calls is
	for i, msg := range messages {
		if call, ok := first[msg.ToolCallID]; ok && call > i && msg.Role != "system" {
			early[msg.ToolCallID] = append(early[msg.ToolCallID], len(all))
		} else if of, ok := resultOf(msg, calls, last); ok {
			all[of] = append(all[of], i)
			continue
		}
		all = append(all, []int{i})
		if !callsTools(msg) {
			continue
		}
		last = len(all) - 1
		for _, call := range msg.ToolCalls {
			for _, of := range early[call.ID] {
				all[last], all[of] = append(all[last], all[of]...), nil
			}
			delete(early, call.ID)
			calls[call.ID] = last
		}
	}
	all = slices.DeleteFunc(all, func(exchange []int) bool { return len(exchange) == 0 })
	for _, exchange := range all {
		slices.Sort(exchange)
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

func callsTools(msg hooks.Message) bool { return len(msg.ToolCalls) > 0 && msg.Role != "system" }

// firstCalls returns where the first call of each ID is.
func firstCalls(messages []hooks.Message) map[string]int {
	first := make(map[string]int)
	for i, msg := range messages {
		if !callsTools(msg) {
			continue
		}
		for _, call := range msg.ToolCalls {
			if _, known := first[call.ID]; !known && call.ID != "" {
				first[call.ID] = i
			}
		}
	}
	return first
}

// resultOf returns the exchange that a message is a result in: by the ID of its call,
// or the last one where no call has that ID, as of a framework that has none.
func resultOf(msg hooks.Message, calls map[string]int, last int) (exchange int, ok bool) {
	if msg.Role == "system" {
		return 0, false
	}
	if msg.ToolCallID != "" {
		if exchange, ok = calls[msg.ToolCallID]; ok {
			return exchange, true
		}
	}
	return last, msg.Role == "tool" && last >= 0
}
