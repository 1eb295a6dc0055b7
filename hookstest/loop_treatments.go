package hookstest

// What hooks do to one tool call: edit it, up to nothing at all, block it,
// answer it, withhold its result. Each is played at the simplest place and at
// every other place where a loop may have a path of its own.

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/loophooks/hooks"
)

const (
	theSecret    = "the secret of the tool"
	unremarkable = "nothing special" // what a tool returns of which the scenario isn't about
	hooksAnswer  = "the answer of a hook"
)

// errCause is why a hook refuses a call, which is for logs.
var errCause = errors.New("the cause of the refusal")

var errTool = errors.New("the tool is out of order, by " + theSecret)

// treatment is what hooks do to one tool call, and what must come of it.
type treatment struct {
	name  string
	rule  string                                   // what is broken where the model reads something else
	tool  func() (string, error)                   // what the tool returns; theSecret if nil
	pre   func(t *trial, c *hooks.ToolCall) error  // at pre_tool_call
	post  func(t *trial, c *hooks.ToolCall) error  // at post_tool_call
	stops string                                   // the rule by which the tool doesn't run; "" if it does
	reads string                                   // what the model reads of the call; "" if that is the loop's affair
	hides bool                                     // what was there before the post hook, and the secret, don't reach the model
	told  func(t *trial, k call)                   // checks what the post hooks were told
	input func(t *trial, values map[string]string) // checks what the tools got, by key
	once  bool                                     // is played at the simplest place alone
	odd   bool                                     // makes sense for a call that the loop can't run, too
}

// setResult is a post hook that replaces the result.
func setResult(text string) func(*trial, *hooks.ToolCall) error {
	return func(_ *trial, c *hooks.ToolCall) error {
		c.Result = text
		return nil
	}
}

func refuses(t *trial, _ *hooks.ToolCall) error {
	return t.abort(&hooks.HookAborted{Reason: theReason, Err: errCause})
}

func refusesWithMessage(t *trial, _ *hooks.ToolCall) error {
	return t.abort(&hooks.HookAborted{Reason: "a reason of its own", Message: "use another tool"})
}

func gives(text string) func(*trial, *hooks.ToolCall) error {
	return func(_ *trial, c *hooks.ToolCall) error {
		c.Answer(text)
		return nil
	}
}

func fails() (string, error)       { return "", errTool }
func failsBeside() (string, error) { return "the text beside the error", errTool }
func panics() (string, error)      { panic(theSecret) }

func toldOfError(t *trial, k call) {
	t.check(errors.Is(k.err, errTool), ruleFailed, "the tool's error in Err at post_tool_call", fmt.Sprint(k.err))
}

func toldOfBlock(t *trial, k call) {
	t.check(k.blocked, ruleFailed, "the abort in Blocked at post_tool_call", "none")
}

var treatments = []treatment{
	{name: "edited-input", rule: ruleArguments, pre: func(_ *trial, c *hooks.ToolCall) error {
		c.Input["value"] = "edited"
		return nil
	}, input: gets("c1", "edited")},
	{name: "replaced-input", once: true, rule: ruleArguments, pre: func(_ *trial, c *hooks.ToolCall) error {
		c.Input = map[string]any{"key": "c1", "value": "edited"}
		return nil
	}, input: gets("c1", "edited")},
	{name: "emptied-input", rule: ruleArguments, pre: func(_ *trial, c *hooks.ToolCall) error {
		c.Input = map[string]any{}
		return nil
	}, input: gets("", "")},
	{name: "cleared-input", once: true, rule: ruleArguments, pre: func(_ *trial, c *hooks.ToolCall) error {
		clear(c.Input)
		return nil
	}, input: gets("", "")},

	{name: "removed-input", once: true, rule: ruleArguments, pre: func(_ *trial, c *hooks.ToolCall) error {
		c.Input = nil
		return nil
	}, input: gets("", "")},

	{name: "edited-result", rule: ruleResult, post: setResult("redacted"), reads: "redacted", hides: true, odd: true},
	{name: "emptied-result", rule: ruleResult, post: setResult(""), hides: true, odd: true},
	{name: "withheld-result", rule: ruleWithheld, post: refuses, reads: theReason, hides: true, odd: true},
	{name: "withheld-result-with-message", once: true, rule: ruleWithheld, post: refusesWithMessage, reads: "use another tool", hides: true},

	{name: "blocked-tool", rule: ruleReason, stops: ruleBlocked, pre: refuses, reads: theReason, told: toldOfBlock, odd: true},
	{name: "blocked-tool-with-message", once: true, rule: ruleReason, stops: ruleBlocked, pre: refusesWithMessage, reads: "use another tool", told: toldOfBlock},
	{name: "edited-refusal", rule: ruleReason, stops: ruleBlocked, pre: refuses, post: setResult("not today"), reads: "not today", hides: true, told: toldOfBlock, odd: true},
	{name: "emptied-refusal", once: true, rule: ruleReason, stops: ruleBlocked, pre: refuses, post: setResult(""), hides: true, told: toldOfBlock},

	{name: "answered-tool", rule: ruleAnswered, stops: ruleAnswered, pre: gives(hooksAnswer), reads: hooksAnswer, odd: true},
	{name: "tool-answered-without-text", once: true, rule: ruleAnswered, stops: ruleAnswered, pre: gives("")},
	{name: "edited-answer", rule: ruleAnswered, stops: ruleAnswered, pre: gives(hooksAnswer), post: setResult("redacted"), reads: "redacted", hides: true},
	{name: "emptied-answer", once: true, rule: ruleAnswered, stops: ruleAnswered, pre: gives(hooksAnswer), post: setResult(""), hides: true},
	{name: "withheld-answer", rule: ruleWithheld, stops: ruleAnswered, pre: gives(hooksAnswer), post: refuses, reads: theReason, hides: true},

	{name: "failing-tool", rule: ruleResult, tool: fails, told: toldOfError},
	{name: "tool-failing-beside-a-text", rule: ruleResult, tool: failsBeside, told: toldOfError},
	{name: "edited-error", rule: ruleResult, tool: fails, post: setResult("redacted"), reads: "redacted", hides: true, told: toldOfError},
	{name: "emptied-error", rule: ruleResult, tool: fails, post: setResult(""), hides: true, told: toldOfError},
	{name: "withheld-error", rule: ruleWithheld, tool: fails, post: refuses, reads: theReason, hides: true},
	{name: "recovered-tool", rule: ruleResult, tool: fails, post: func(_ *trial, c *hooks.ToolCall) error {
		c.Result, c.Err = "it works after all", nil
		return nil
	}, reads: "it works after all", hides: true},
	// By Err alone: the text stays what it is, and is a result like any other.
	{name: "tool-recovered-by-its-error-alone", rule: ruleMarked, tool: failsBeside, post: func(_ *trial, c *hooks.ToolCall) error {
		c.Err = nil
		return nil
	}},
	{name: "edited-panic", once: true, rule: rulePanic, tool: panics, post: setResult("redacted"), reads: "redacted", hides: true},
	{name: "withheld-panic", once: true, rule: ruleWithheld, tool: panics, post: refuses, reads: theReason, hides: true},
}

func gets(key, value string) func(*trial, map[string]string) {
	return func(t *trial, values map[string]string) {
		got, ran := values[key]
		t.check(ran && got == value, ruleArguments, fmt.Sprintf("the key %q and the value %q for beta", key, value), fmt.Sprint(values))
	}
}

// treatmentScenarios are the treatments at every place where they make sense.
func treatmentScenarios() []scenario {
	var all []scenario
	for _, tr := range treatments {
		all = append(all, scenario{name: tr.name, needs: toolPoints, after: []string{"several-tools"}, play: func(t *trial) { tr.play(t, aPlace) }})
	}
	for _, tr := range treatments {
		at := places[:len(places):len(places)]
		if tr.odd {
			at = append(at, oddPlaces...)
		}
		if tr.once {
			at = nil
		}
		for _, pl := range at {
			all = append(all, scenario{
				name: tr.name + "-" + pl.name, needs: toolPoints, of: []string{tr.name, pl.name},
				play: func(t *trial) { tr.play(t, pl) },
			})
		}
	}
	return all
}

func (tr treatment) play(t *trial, pl place) {
	var mu sync.Mutex
	runs := 0
	values := make(map[string]string)
	t.tools["beta"] = func(_ context.Context, input map[string]any) (string, error) {
		mu.Lock()
		runs++
		treated := runs > pl.from
		if treated {
			values[keyOf(input)], _ = input["value"].(string)
		}
		mu.Unlock()
		switch {
		case !treated:
			return unremarkable, nil
		case tr.tool != nil:
			return tr.tool()
		}
		return theSecret, nil
	}
	var before []string // what stood there before the post hook
	on(t, hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if tr.pre == nil || !pl.target(c) {
			return nil
		}
		return tr.pre(t, c)
	})
	on(t, hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if tr.post == nil || !pl.target(c) {
			return nil
		}
		mu.Lock()
		before = append(before, c.Result)
		mu.Unlock()
		return tr.post(t, c)
	})
	t.run(pl.turns...)

	mu.Lock()
	defer mu.Unlock()
	t.checkGoesOn(ruleGoesOn)
	if tr.stops != "" {
		t.check(runs == pl.from, tr.stops, "the tool of the call not run", fmt.Sprintf("it ran %d times", runs-pl.from))
	} else if pl.ran >= 0 {
		t.check(runs == pl.ran, ruleToolOnce, fmt.Sprintf("the tool beta run %d times", pl.ran), fmt.Sprintf("%d times", runs))
	}
	for _, key := range pl.keys {
		t.checkRan(ruleOthers, key, 1)
	}
	treated := runs > pl.from || tr.stops != "" // else a cache within the points has answered
	if tr.told != nil && treated {
		t.toldOf(pl, tr.told)
	}
	if tr.input != nil && treated {
		tr.input(t, values)
	}
	t.checkHidden(tr, pl, before)
	for n := pl.turn + 1; n < t.requests(); n++ {
		t.checkSent(rulePublic, n, errCause.Error(), false)
		t.checkSent(rulePublic, n, hookName, false)
	}
	if tr.reads != "" {
		rule := tr.rule
		if rule == ruleWithheld {
			rule = ruleReason
		}
		t.checkSent(rule, pl.turn+1, tr.reads, true)
	}
}

// checkHidden checks that what stood there before the post hook is in no request.
func (t *trial) checkHidden(tr treatment, pl place, before []string) {
	if !tr.hides {
		return
	}
	for n := pl.turn + 1; n < t.requests(); n++ {
		for _, text := range append(before, theSecret) {
			if text != "" && text != tr.reads && text != unremarkable {
				t.checkSent(tr.rule, n, text, false)
			}
		}
	}
}

// toldOf checks what the post hooks of each call in question were told.
func (t *trial) toldOf(pl place, check func(*trial, call)) {
	var found []call
	t.mu.Lock()
	for _, k := range t.calls {
		if k.pre == hooks.PreToolCall.Name() && k.nth >= pl.from && pl.is(k) {
			found = append(found, *k)
		}
	}
	t.mu.Unlock()
	for _, k := range found {
		check(t, k)
	}
}
