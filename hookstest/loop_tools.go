package hookstest

// The basics: a run with every point, one without tools, one that reaches its
// limit of turns; and calls of tools that are many, unknown, or panic.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loophooks/hooks"
)

// tenPoints are the points of the library, in the order in which they fire.
var tenPoints = []hooks.AnyPoint{
	hooks.ExecutionStart, hooks.Input, hooks.PreStep, hooks.PreModelCall, hooks.PostModelCall,
	hooks.PreToolCall, hooks.PostToolCall, hooks.PostStep, hooks.Output, hooks.ExecutionEnd,
}

var toolPoints = []hooks.AnyPoint{hooks.PreToolCall, hooks.PostToolCall}

var basicScenarios = []scenario{
	{name: "every-point", play: everyPoint},
	{name: "text-only", play: textOnly},
	{name: "turn-limit", play: turnLimit},
}

func everyPoint(t *trial) {
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.mu.Lock()
	t.hopeless = t.err != nil || len(t.events) == 0 || slices.ContainsFunc(t.broken, func(f Failure) bool {
		return f.Rule == ruleBuilt || f.Rule == ruleEnds || f.Rule == ruleNoPanic
	})
	t.mu.Unlock()
	if !t.check(t.err == nil, ruleAnswer, "an answer", fmt.Sprintf("the error: %v", t.err)) {
		return
	}
	var fired, missing, declared []string
	t.mu.Lock()
	for _, e := range t.events {
		if e.point != "" {
			fired = append(fired, string(e.point))
		}
	}
	t.mu.Unlock()
	for _, p := range tenPoints {
		if t.has(p) && !slices.Contains(fired, string(p.Name())) {
			missing = append(missing, string(p.Name()))
		}
		if !t.has(p) && slices.Contains(fired, string(p.Name())) {
			declared = append(declared, string(p.Name()))
		}
	}
	t.check(len(declared) == 0, withoutRule, "no option Without for points that the loop has, or nothing that needs them is tested",
		"fired: "+strings.Join(declared, ", "))
	// What is told here needn't be told by every other scenario. A post point
	// that is missing alone is: its pre point is there.
	for _, pair := range [][2]hooks.AnyPoint{
		{hooks.PreStep, hooks.PostStep}, {hooks.PreModelCall, hooks.PostModelCall}, {hooks.PreToolCall, hooks.PostToolCall},
		{hooks.ExecutionStart, hooks.ExecutionEnd}, {hooks.Input, hooks.Input}, {hooks.Output, hooks.Output},
	} {
		if slices.Contains(missing, string(pair[0].Name())) {
			t.missing[pair[0].Name()], t.missing[pair[1].Name()] = true, true
		}
	}
	t.check(len(missing) == 0, rulePoints, "each point at least once in a run with one tool; tell the kit with Without of those that the loop doesn't have",
		"never fired: "+strings.Join(missing, ", "))
	if t.has(hooks.Output) && t.has(hooks.ExecutionEnd) && len(fired) >= 2 {
		end := fired[len(fired)-2:]
		t.check(slices.Equal(end, []string{"output", "execution_end"}), ruleInside, "output, then execution_end, after everything else", strings.Join(end, ", "))
	}
	t.checkGoesOn(ruleText)
}

func textOnly(t *trial) {
	t.run(answers(theAnswer))
	t.check(t.requests() == 1, ruleTurns, "one call of the model", fmt.Sprint(t.requests()))
	t.checkSent(ruleMessages, 0, thePrompt, true)
	for _, name := range toolNames {
		t.check(slices.Contains(t.offered(0), name), ruleOffered, fmt.Sprintf("%q among the tools of the request", name), fmt.Sprintf("%q", t.offered(0)))
	}
	t.checkGoesOn(ruleText)
}

// turnLimit is about what holds in every scenario: a loop may end such a run as
// it likes.
func turnLimit(t *trial) {
	t.maxTurns = 2
	t.run(asks(request("alpha", "c1")), asks(request("alpha", "c2")), answers(theAnswer))
}

var toolScenarios = []scenario{
	{name: "several-tools", needs: toolPoints, play: severalTools},
	{name: "unknown-tool", needs: toolPoints, play: unknownTool},
	{name: "panicking-tool", needs: toolPoints, play: panickingTool},
	{name: "answered-then-blocked-tool", needs: toolPoints, play: answeredThenBlocked},
}

func severalTools(t *trial) {
	t.playSeveral(20 * time.Millisecond)
	for _, key := range []string{"c1", "c2", "c3"} {
		t.checkRan(ruleToolOnce, key, 1)
	}
	t.checkGoesOn(ruleText)
}

// runsBeside says whether the loop runs the tools of a turn beside each other. A
// busy machine may have hidden that from severalTools.
func (k *kit) runsBeside(ctx context.Context) bool {
	if !k.parallel.Load() {
		newTrial(ctx, k, scenario{}).playSeveral(500 * time.Millisecond)
	}
	return k.parallel.Load()
}

// playSeveral also finds out whether the tools of a turn run beside each other:
// the first one waits for as long to see another call begin.
func (t *trial) playSeveral(wait time.Duration) {
	var once sync.Once
	beside := make(chan struct{})
	t.overlap = func() { once.Do(func() { close(beside) }) }
	var first atomic.Bool
	t.tools["alpha"] = func(_ context.Context, input map[string]any) (string, error) {
		if first.CompareAndSwap(false, true) {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-beside:
			case <-timer.C:
			}
		}
		return "alpha is done with " + keyOf(input), nil
	}
	t.run(asks(request("alpha", "c1"), request("beta", "c2"), request("alpha", "c3")), answers(theAnswer))
}

func unknownTool(t *trial) {
	var known atomic.Bool
	onTool(t, hooks.PreToolCall, func(c *hooks.ToolCall) error {
		known.Store(c.Tool != nil)
		return nil
	})
	t.run(asks(request("gamma", "c1"), request("alpha", "c2")), answers(theAnswer))
	t.check(t.toolCall("gamma", "c1").posts == 1, ruleUnknown, "both tool points for gamma", "they didn't fire")
	t.check(!known.Load(), ruleUnknown, "a nil Tool", "a Tool that is not nil (a nil pointer in an interface is none)")
	t.checkGoesOn(ruleGoesOn)
	t.checkRan(ruleOthers, "c2", 1)
}

func panickingTool(t *trial) {
	const secret = "the value of the panic"
	t.tools["beta"] = func(context.Context, map[string]any) (string, error) { panic(secret) }
	t.run(asks(request("beta", "c1"), request("alpha", "c2")), answers(theAnswer))
	err := t.toolCall("beta", "c1").err
	t.checkGoesOn(ruleGoesOn)
	t.check(err != nil, rulePanic, "an error in Err at post_tool_call", "none")
	t.checkSent(rulePanic, 1, secret, false)
	t.checkRan(ruleOthers, "c2", 1)
}

func answeredThenBlocked(t *trial) {
	onTool(t, hooks.PreToolCall, func(c *hooks.ToolCall) error {
		c.Answer("the answer of a hook")
		return nil
	})
	onTool(t, hooks.PreToolCall, func(*hooks.ToolCall) error {
		return t.abort(&hooks.HookAborted{Reason: theReason})
	})
	t.run(asks(request("alpha", "c1")), answers(theAnswer))
	t.checkRan(ruleBlocked, "c1", 0)
	t.checkGoesOn(ruleGoesOn)
	t.checkSent(ruleReason, 1, theReason, true)
	t.checkSent(ruleReason, 1, "the answer of a hook", false)
}
