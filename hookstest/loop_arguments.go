package hookstest

// Arguments as models write them. What a guard has judged and what the tool gets
// must be the same reading, so a loop reads them as SetArguments does.

import (
	"fmt"
	"slices"
)

var argumentScenarios = slices.Concat(
	badArguments("arguments-not-json", `{"key": `),
	badArguments("arguments-not-an-object", `["c1"]`),
	badArguments("key-twice", `{"key":"c1","value":"raw","value":"raw"}`),
	badArguments("key-twice-inside", `{"key":"c1","value":"raw","more":{"a":1,"a":2}}`),
	badArguments("arguments-with-trailing-data", `{"key":"c1","value":"raw"} {"key":"c1","value":"other"}`),
	blankArguments("no-arguments", ""),
	blankArguments("blank-arguments", " \n"),
)

func badArguments(name, arguments string) []scenario {
	return []scenario{{name: name, needs: toolPoints, play: func(t *trial) {
		t.run(asks(written("beta", "c1", arguments), request("alpha", "c2")), answers(theAnswer))
		k := t.toolCall("beta", "")
		t.check(k.posts == 1, ruleArgs, "both tool points for beta", "they didn't fire")
		t.checkRan(ruleArgs, "", 0)
		t.checkRan(ruleArgs, "c1", 0)
		t.checkGoesOn(ruleGoesOn)
		t.check(k.err != nil, ruleFailed, "what is wrong with the arguments in Err at post_tool_call", "no error")
		t.checkRan(ruleOthers, "c2", 1)
	}}}
}

func blankArguments(name, arguments string) []scenario {
	return []scenario{{name: name, needs: toolPoints, play: func(t *trial) {
		t.run(asks(written("beta", "c1", arguments), request("alpha", "c2")), answers(theAnswer))
		t.checkGoesOn(ruleGoesOn)
		k := t.toolCall("beta", "")
		t.check(k.err == nil && k.posts == 1, ruleBlank, "a call of beta without an error", fmt.Sprintf("both points: %t, error: %v", k.posts == 1, k.err))
		t.checkRan(ruleBlank, "", 1)
		t.checkRan(ruleOthers, "c2", 1)
	}}}
}
