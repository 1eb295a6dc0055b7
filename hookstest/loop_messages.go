package hookstest

// Hooks that edit the messages of a model call: they are what is sent, and for
// that call alone.

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var messageScenarios = []scenario{
	{name: "edited-messages", needs: modelPoints, play: editedMessages},
	{name: "replaced-messages", needs: modelPoints, play: replacedMessages},
	{name: "each-message-edited", needs: modelPoints, after: []string{"edited-messages"}, play: eachMessageEdited},
	{name: "messages-edited-for-one-call", needs: modelPoints, after: []string{"edited-messages"}, play: messagesForOneCall},
}

// editMessages changes the prompt in place and appends a message.
func editMessages(c *hooks.ModelCall) {
	for i := range c.Messages {
		c.Messages[i].EditText(func(s string) string { return strings.ReplaceAll(s, thePrompt, editedText) })
	}
	c.Messages = append(c.Messages, hooks.Message{Role: "user", Content: "an appended text"})
}

func editedMessages(t *trial) {
	t.strange = true
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		editMessages(c)
		return nil
	})
	t.run(answers(theAnswer))
	t.checkSent(ruleMessages, 0, editedText, true)
	t.checkSent(ruleMessages, 0, "an appended text", true)
	t.checkSent(ruleMessages, 0, thePrompt, false)
	t.checkGoesOn(ruleText)
}

func replacedMessages(t *trial) {
	t.strange = true
	var calls atomic.Int32
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		if calls.Add(1) == 2 {
			c.Messages = []hooks.Message{{Role: "user", Content: "a summary"}}
		}
		return nil
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkSent(ruleMessages, 1, "a summary", true)
	t.checkSent(ruleMessages, 1, thePrompt, false)
	t.checkGoesOn(ruleText)
}

// eachMessageEdited is about a loop that takes over the edits of some messages,
// such as those of the user, and has others of its own.
func eachMessageEdited(t *trial) {
	t.strange = true
	var mu sync.Mutex
	var want []string
	var calls atomic.Int32
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		if calls.Add(1) != 2 {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range c.Messages {
			if c.Messages[i].Text() == "" {
				continue
			}
			edited := fmt.Sprintf("edited message %d.", i+1)
			want = append(want, edited)
			c.Messages[i].EditText(func(string) string { return edited })
		}
		return nil
	})
	first := asks(request("alpha", "c1"))
	first.Text = "raw thoughts"
	t.run(first, answers(theAnswer))
	mu.Lock()
	defer mu.Unlock()
	for _, edited := range want {
		t.checkSent(ruleMessages, 1, edited, true)
	}
	t.checkGoesOn(ruleText)
}

// messagesForOneCall is about a loop that takes over what hooks edited for one
// request.
func messagesForOneCall(t *trial) {
	var calls atomic.Int32
	on(t, hooks.PreModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		if calls.Add(1) == 1 {
			editMessages(c)
		}
		return nil
	})
	t.run(asks(request("alpha", "c1")), asks(request("beta", "c2")), answers(theAnswer))
	for n := 1; n <= 2; n++ {
		t.checkSent(ruleOneCall, n, thePrompt, true)
		t.checkSent(ruleOneCall, n, editedText, false)
		t.checkSent(ruleOneCall, n, "an appended text", false)
	}
	t.checkGoesOn(ruleText)
}
