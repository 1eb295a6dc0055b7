package hooks_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/loophooks/hooks"
)

// answerCache answers a model call that was made before with the response of
// then. It is for one tenant: what another may not read must be in the key, or
// in a cache of its own. Its methods are safe for concurrent use.
type answerCache struct {
	max int

	mu      sync.Mutex
	answers map[cacheKey]string // guarded by mu; max entries at most
}

type cacheKey [sha256.Size]byte

// cacheKeyOf returns the key of all that the answer depends on and that hooks
// see; what else a loop varies, such as the temperature, belongs in it too. A
// call with parts that aren't text has none: two images would look the same.
func cacheKeyOf(m *hooks.ModelCall) (cacheKey, bool) {
	type message struct {
		Role, Content, Name, ToolCallID string
		Parts                           []string
		ToolCalls                       []hooks.ToolRequest
	}
	messages := make([]message, len(m.Messages))
	for i, msg := range m.Messages {
		messages[i] = message{
			Role: msg.Role, Content: msg.Content, Name: msg.Name, ToolCallID: msg.ToolCallID, ToolCalls: msg.ToolCalls,
		}
		for _, part := range msg.Parts {
			if part.Kind != "text" {
				return cacheKey{}, false
			}
			messages[i].Parts = append(messages[i].Parts, part.Text)
		}
	}
	// JSON and not a concatenation, in which "ab"+"c" and "a"+"bc" are one key.
	raw, err := json.Marshal([]any{m.Model, m.Tools, messages})
	return sha256.Sum256(raw), err == nil
}

// look is a pre hook. It leaves the key for store: what the call was made with
// may have been changed by then.
func (c *answerCache) look(_ context.Context, m *hooks.ModelCall) error {
	key, ok := cacheKeyOf(m)
	if !ok || m.Answered() {
		return nil
	}
	c.mu.Lock()
	answer, ok := c.answers[key]
	c.mu.Unlock()
	if ok {
		m.Answer(answer)
	} else {
		m.Put(cacheKey{}, key)
	}
	return nil
}

// store is a watch. A failure isn't kept, nor what a guard withholds, and
// neither is a turn that asks for tools or has parts: its text is no answer, or
// not all of it.
func (c *answerCache) store(_ context.Context, m *hooks.ModelCall, withheld error) {
	key, ok := m.Get(cacheKey{})
	if !ok || withheld != nil || m.Answered() || m.Err != nil || len(m.ToolCalls) > 0 || len(m.Parts) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for old := range c.answers {
		if len(c.answers) < c.max {
			break
		}
		delete(c.answers, old) // any: the order of a map is random
	}
	c.answers[key.(cacheKey)] = m.Response
}

// A model call that was made before is answered without the model. The
// priority has the cache look at what is really sent, after all hooks that add
// to it. Guards run after it, and may still refuse the call or the answer. What
// is stored is what the hooks made of the response and the guards let through,
// since a watch sees no other.
func Example_cache() {
	cache := &answerCache{max: 1000, answers: make(map[cacheKey]string)}
	reg := hooks.NewRegistry()
	hooks.On(hooks.PreModelCall, cache.look, hooks.In(reg), hooks.WithName("cache"), hooks.WithPriority(-1000))
	hooks.Watch(hooks.PostModelCall, cache.store, hooks.In(reg), hooks.WithName("cache"))

	ctx := hooks.WithScope(context.Background(), reg)
	for _, question := range []string{"Capital of Norway?", "Capital of Chile?", "Capital of Norway?"} {
		m := &hooks.ModelCall{Model: "large", Messages: []hooks.Message{{Role: "user", Content: question}}}
		err := hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			fmt.Println("asking the model:", m.Messages[0].Content)
			m.Response = map[string]string{"Capital of Norway?": "Oslo", "Capital of Chile?": "Santiago"}[question]
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(m.Response, m.Answered())
	}
	// Output:
	// asking the model: Capital of Norway?
	// Oslo false
	// asking the model: Capital of Chile?
	// Santiago false
	// Oslo true
}
