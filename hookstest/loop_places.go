package hookstest

// Where in a run a tool call stands, and how the model wrote it: a loop that
// keeps the rules for the first call of the first turn may have another path for
// the fifth, for a later turn, for a call that it has seen before, and for one
// that it can't run.

import (
	"fmt"

	"github.com/loophooks/hooks"
)

// place is a run with one tool call that a scenario is about.
type place struct {
	name  string
	after []string
	turns []turn
	turn  int              // the turn, counted from 0, in which the call is
	is    func(*call) bool // whether a call is the one, or the one before it that is alike
	from  int              // how many calls that are alike come before
	ran   int              // how often its tool runs if nothing is in the way; -1 if that is the loop's affair
	keys  []string         // the other calls of the run
	twice bool             // the model asks for the call twice
}

// target says whether a hook sees the call that the scenario is about.
func (pl place) target(c *hooks.ToolCall) bool {
	k := callIn(c)
	return k != nil && k.nth >= pl.from && pl.is(k)
}

func isBeta(k *call) bool { return k.tool == "beta" }

// aPlace is the simplest one: the first call of two, and another turn behind it.
var aPlace = place{
	turns: []turn{asks(request("beta", "c1"), request("alpha", "c2")), asks(request("alpha", "c3")), answers(theAnswer)},
	is:    isBeta, ran: 1, keys: []string{"c2", "c3"},
}

// places are those at which the tool can run, and written so that it can.
var places = []place{
	{
		name: "fifth-call", after: []string{"several-tools"},
		turns: []turn{asks(request("alpha", "a1"), request("alpha", "a2"), request("alpha", "a3"), request("alpha", "a4"),
			request("beta", "c1"), request("alpha", "a6")), answers(theAnswer)},
		is: isBeta, ran: 1, keys: []string{"a1", "a2", "a3", "a4", "a6"},
	},
	{
		name: "fourth-turn", after: []string{"several-tools"},
		turns: []turn{asks(request("alpha", "a1")), asks(request("alpha", "a2")), asks(request("alpha", "a3")),
			asks(request("beta", "c1")), asks(request("alpha", "a5")), answers(theAnswer)},
		turn: 3, is: isBeta, ran: 1, keys: []string{"a1", "a2", "a3", "a5"},
	},
	{
		name: "same-call-again", after: []string{"fourth-turn"},
		turns: []turn{asks(request("beta", "c1")), asks(request("alpha", "a2")), asks(betaAgain), answers(theAnswer)},
		turn:  2, is: isBeta, from: 1, ran: -1, keys: []string{"a2"},
		twice: true,
	},
	{
		name: "same-call-twice-in-a-turn", after: []string{"several-tools"},
		turns: []turn{asks(request("beta", "c1"), betaAgain), answers(theAnswer)},
		is:    isBeta, ran: -1,
		twice: true,
	},
}

// oddPlaces are calls that a loop can't run as the model wrote them.
var oddPlaces = []place{
	{
		name:  "unknown-tool",
		turns: []turn{asks(request("gamma", "c1"), request("alpha", "c2")), answers(theAnswer)},
		is:    func(k *call) bool { return k.tool == "gamma" }, keys: []string{"c2"},
	},
	{
		name: "other-case", after: []string{"unknown-tool"},
		turns: []turn{asks(request("BETA", "c1"), request("alpha", "c2")), answers(theAnswer)},
		is:    func(k *call) bool { return k.key == "c1" }, ran: -1, keys: []string{"c2"},
	},
	{
		name: "name-with-prefix", after: []string{"unknown-tool"},
		turns: []turn{asks(request("functions.beta", "c1"), request("alpha", "c2")), answers(theAnswer)},
		is:    func(k *call) bool { return k.key == "c1" }, ran: -1, keys: []string{"c2"},
	},
	{
		name:  "key-twice",
		turns: []turn{asks(written("beta", "c1", `{"key":"c1","value":"raw","value":"raw"}`), request("alpha", "c2")), answers(theAnswer)},
		is:    isBeta, keys: []string{"c2"},
	},
}

// betaAgain is the tool call of the places once more, with an id of its own.
var betaAgain = hooks.ToolRequest{ID: "call_c1_again", Name: "beta", Arguments: request("beta", "c1").Arguments}

// written is a tool call with the arguments given.
func written(tool, key, arguments string) hooks.ToolRequest {
	return hooks.ToolRequest{ID: "call_" + key, Name: tool, Arguments: arguments}
}

// placeScenarios are the places with nothing done to the call, where no other
// scenario has them.
func placeScenarios() []scenario {
	var all []scenario
	for _, pl := range append(places[:len(places):len(places)], oddPlaces...) {
		if pl.name == "unknown-tool" || pl.name == "key-twice" {
			continue // in toolScenarios and argumentScenarios
		}
		all = append(all, scenario{name: pl.name, needs: toolPoints, after: pl.after, play: func(t *trial) {
			t.run(pl.turns...)
			t.checkPlace(pl)
		}})
	}
	return all
}

// checkPlace checks that the run came to its answer, and how often the tools
// ran.
func (t *trial) checkPlace(pl place) {
	t.checkGoesOn(ruleGoesOn)
	if pl.twice {
		t.checkFiredTwice(pl)
	}
	if pl.ran >= 0 {
		t.checkRan(ruleToolOnce, "c1", pl.ran)
	}
	for _, key := range pl.keys {
		t.checkRan(ruleOthers, key, 1)
	}
}

// checkFiredTwice checks that both calls that are alike went through the points.
func (t *trial) checkFiredTwice(pl place) {
	got := 0
	t.mu.Lock()
	for _, k := range t.calls {
		if k.pre == hooks.PreToolCall.Name() && pl.is(k) && k.posts > 0 {
			got++
		}
	}
	t.mu.Unlock()
	t.check(got == 2, ruleEachCall, "both points for each of the two calls of beta", fmt.Sprintf("for %d", got))
}
