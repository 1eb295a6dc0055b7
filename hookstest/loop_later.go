package hookstest

// The edits and aborts at a model call once more, in the third turn: a loop may
// have one path for a first call of its model, and another for those that follow.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var laterScenarios = []scenario{
	later("hidden-tool", hooks.PreModelCall, func(_ *trial, c *hooks.ModelCall) error {
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(name string) bool { return name == "beta" })
		return nil
	}, func(t *trial) {
		t.check(!slices.Contains(t.offered(2), "beta"), ruleHidden, `no "beta" among the tools of request 3`, fmt.Sprintf("%q", t.offered(2)))
		t.checkGoesOn(ruleText)
	}),
	later("edited-messages", hooks.PreModelCall, func(_ *trial, c *hooks.ModelCall) error {
		editMessages(c)
		return nil
	}, func(t *trial) {
		t.checkSent(ruleMessages, 2, editedText, true)
		t.checkSent(ruleMessages, 2, "an appended text", true)
		t.checkSent(ruleMessages, 2, thePrompt, false)
	}),
	later("answered-model-call", hooks.PreModelCall, func(_ *trial, c *hooks.ModelCall) error {
		c.Answer(hooksAnswer)
		return nil
	}, func(t *trial) {
		t.check(t.requests() == 2, ruleAnswered, "two calls of the model", fmt.Sprint(t.requests()))
		t.check(t.err == nil && t.text == hooksAnswer, ruleAnswered, fmt.Sprintf("%q as the result", hooksAnswer), fmt.Sprintf("%q, error %v", t.text, t.err))
	}),
	later("dropped-tool-call", hooks.PostModelCall, func(_ *trial, c *hooks.ModelCall) error {
		c.ToolCalls = slices.DeleteFunc(slices.Clone(c.ToolCalls), func(r hooks.ToolRequest) bool { return r.Name == "beta" })
		return nil
	}, func(t *trial) {
		t.checkRan(ruleToolCalls, "c1", 0)
		t.checkRan(ruleToolCalls, "c2", 1)
		t.checkGoesOn(ruleText)
	}),
	later("edited-tool-call", hooks.PostModelCall, func(_ *trial, c *hooks.ModelCall) error {
		c.ToolCalls = slices.Clone(c.ToolCalls)
		for i := range c.ToolCalls {
			c.ToolCalls[i].Arguments = strings.ReplaceAll(c.ToolCalls[i].Arguments, "raw", "edited")
		}
		return nil
	}, func(t *trial) {
		t.mu.Lock()
		got := t.values["c1"]
		t.mu.Unlock()
		t.check(got == "edited", ruleToolCalls, `the value "edited" for beta`, fmt.Sprintf("%q", got))
		t.checkGoesOn(ruleText)
	}),
	later("edited-response", hooks.PostModelCall, func(_ *trial, c *hooks.ModelCall) error {
		c.Response = editedText
		return nil
	}, func(t *trial) {
		t.checkSent(ruleResponse, 3, "raw thoughts", false)
		t.checkGoesOn(ruleText)
	}),
	laterAbort(hooks.PreModelCall),
	laterAbort(hooks.PostModelCall),
}

// later is the variant of a scenario in which a hook acts on the third model
// call alone.
func later(name string, p hooks.Point[hooks.ModelCall], act func(*trial, *hooks.ModelCall) error, check func(*trial)) scenario {
	return scenario{
		name: name + "-third-turn", needs: modelToolsPoints, of: []string{name}, after: []string{"fourth-turn"},
		play: func(t *trial) {
			var calls atomic.Int32
			on(t, p, func(_ context.Context, c *hooks.ModelCall) error {
				if calls.Add(1) == 3 {
					return act(t, c)
				}
				return nil
			})
			third := asks(request("beta", "c1"), request("alpha", "c2"))
			third.Text = "raw thoughts"
			t.run(asks(request("alpha", "a1")), asks(request("alpha", "a2")), third, answers(theAnswer), answers(theAnswer))
			check(t)
		},
	}
}

func laterAbort(p hooks.Point[hooks.ModelCall]) scenario {
	return later("abort-at-"+string(p.Name()), p, func(t *trial, _ *hooks.ModelCall) error {
		return t.abort(&hooks.HookAborted{Reason: theReason})
	}, func(t *trial) {
		if t.check(t.abortedAt >= 0, rulePoints, fmt.Sprintf("%s in the third turn", p.Name()), "it did not fire") {
			t.checkNothingStarts(ruleAbortEnds, p.Name(), "")
			t.check(findAbort(t.err) != nil, ruleAbortOut, anAbort, fmt.Sprintf("the text %q and the error %v", t.text, t.err))
		}
	})
}
