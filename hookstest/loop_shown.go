package hookstest

// What a loop shows to people while it runs. The kit has a guard at each post
// point, so that what comes before it has to be held back.

import (
	"context"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
)

var shownScenarios = []scenario{
	{name: "shown-while-a-response-is-edited", needs: modelPoints, play: shownEdited},
	{name: "shown-while-a-response-is-vetoed", needs: modelPoints, after: []string{"abort-at-post_model_call"}, play: shownVetoed},
	{name: "shown-while-a-result-is-edited", needs: toolPoints, play: shownResult(setResult("redacted"))},
	{name: "shown-while-a-result-is-withheld", needs: toolPoints, play: shownResult(refuses)},
}

// checkShown checks that a text isn't in what people were shown, whatever
// pieces it was shown in.
func (t *trial) checkShown(secret string) {
	t.mu.Lock()
	shown := strings.Join(t.shown, "")
	t.mu.Unlock()
	t.check(!strings.Contains(shown, secret), ruleShown, fmt.Sprintf("no %q on the screen", secret), fmt.Sprintf("%q", shown))
}

func shownEdited(t *trial) {
	on(t, hooks.PostModelCall, func(_ context.Context, c *hooks.ModelCall) error {
		c.Response = strings.ReplaceAll(c.Response, theSecret, "redacted")
		return nil
	})
	first := asks(request("alpha", "c1"))
	first.Text = theSecret
	t.run(first, answers("this is "+theSecret))
	t.checkShown(theSecret)
}

func shownVetoed(t *trial) {
	t.strange = true
	on(t, hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error {
		return t.abort(&hooks.HookAborted{Reason: theReason})
	})
	t.run(answers(theSecret), answers(theAnswer), answers(theAnswer))
	t.checkShown(theSecret)
}

func shownResult(post func(*trial, *hooks.ToolCall) error) func(*trial) {
	return func(t *trial) {
		t.tools["alpha"] = func(context.Context, map[string]any) (string, error) { return theSecret, nil }
		onTool(t, hooks.PostToolCall, func(c *hooks.ToolCall) error { return post(t, c) })
		t.run(asks(request("alpha", "c1")), answers(theAnswer))
		t.checkShown(theSecret)
	}
}
