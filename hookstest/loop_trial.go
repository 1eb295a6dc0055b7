package hookstest

// One scenario played by the loop under test: the loop is built, run, and
// watched until it returns or its time is over.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loophooks/hooks"
)

// patience is how long a run of the loop under test may take.
const patience = 10 * time.Second

const (
	thePrompt = "the prompt of the kit"
	theAnswer = "the final answer"
	theReason = "the kit says no"
)

// trial is one scenario played by the loop under test. What a scenario sets
// must be set before run.
type trial struct {
	*probe
	name     string
	given    context.Context // of the test
	ctx      context.Context // of the run
	cancel   context.CancelFunc
	script   *script
	scripts  []*script // of inner runs
	tools    map[string]func(context.Context, map[string]any) (string, error)
	maxTurns int
	strange  bool // the history needn't be what the replies of the model say
	mayPanic bool
	reruns   bool   // an around hook has bodies run again
	then     string // the prompt of a second run of the same loop; none if empty
	desk     *desk  // where questions go; nil for nowhere

	// Guarded by mu until run returns.
	ran       map[string]int    // how often a tool ran, by key
	shown     []string          // what the loop shows to people
	values    map[string]string // the last value it got, by key
	abortedAt int               // how many events there were when a hook first aborted or suspended, -1 if none did
	abandoned bool
	saved     map[*script][]byte // the last state that a loop saved, by its model

	// What the loop returned.
	text     string
	err      error
	panicked any

	unjudged string // why the scenario says nothing about this loop
	untold   string // why one of its rules says nothing, though the others do
	checked  bool   // a check has failed: the later ones would tell of consequences
}

func newTrial(ctx context.Context, k *kit, sc scenario) *trial {
	t := &trial{
		probe: newProbe(k, sc.early), name: sc.name, given: ctx, maxTurns: 10, abortedAt: -1,
		tools: make(map[string]func(context.Context, map[string]any) (string, error)),
		ran:   make(map[string]int), values: make(map[string]string), saved: make(map[*script][]byte),
	}
	t.open()
	return t
}

// open makes the ctx of a run.
func (t *trial) open() {
	if t.cancel != nil {
		t.cancel()
	}
	ctx := context.WithValue(hooks.WithScope(t.given, t.registry), runKey{}, t)
	if t.desk != nil {
		ctx = hooks.WithDesk(ctx, t.desk)
	}
	t.ctx, t.cancel = context.WithCancel(ctx)
}

// toolNames are the tools that every loop under test has.
var toolNames = []string{"alpha", "beta"}

// build returns a loop with the model s.
func (t *trial) build(s *script) Loop { return t.newLoop(t.setup(s)) }

// setup returns what a loop with the model s is built from.
func (t *trial) setup(s *script) Setup {
	setup := Setup{Model: t.model(s), Stream: t.stream(s), MaxTurns: t.maxTurns, Show: t.show, Save: t.save(s)}
	for _, name := range toolNames {
		setup.Tools = append(setup.Tools, Tool{Name: name, Run: t.tool(name, t.tools[name])})
	}
	return setup
}

// show is the Show of a [Setup].
func (t *trial) show(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(event{line: fmt.Sprintf("    the loop shows %q", text)})
	t.shown = append(t.shown, text)
}

// inner runs the loop once more under the ctx of a tool.
func (t *trial) inner(ctx context.Context, prompt string, turns ...turn) (string, error) {
	s := &script{name: "the inner model", turns: turns}
	t.mu.Lock()
	t.scripts, t.nests = append(t.scripts, s), true
	t.mu.Unlock()
	return t.build(s)(ctx, prompt)
}

// run plays the turns. It returns when the loop has, or when its time is over,
// and then checks what holds in every scenario.
func (t *trial) run(turns ...turn) {
	t.script = &script{name: "the model", turns: turns}
	t.perform(func() Loop { return t.build(t.script) })
}

// perform runs the loop that build returns, and checks what holds in every
// scenario.
func (t *trial) perform(build func() Loop) {
	ended := make(chan struct{})
	var built, returned bool
	var text string
	var err error
	var panicked any
	go func() {
		defer close(ended)
		defer func() {
			if !returned {
				panicked = recover()
			}
		}()
		loop := build()
		if loop == nil {
			return
		}
		built = true
		text, err = loop(t.ctx, thePrompt)
		returned = true
		t.goOn(loop)
	}()
	defer t.cancel()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.abandoned = true
		t.broken = nil
		t.breaks(ruleEnds, fmt.Sprintf("the loop to return within %v", patience), "it is still running")
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text, t.err, t.panicked = text, err, panicked
	switch {
	case !built && panicked == nil:
		t.breaks(ruleBuilt, "a Loop from newLoop", "nil, or the end of the goroutine")
	case !built:
		t.breaks(ruleBuilt, "a Loop from newLoop", fmt.Sprintf("panic: %v", panicked))
	case returned || t.mayPanic && panicked != nil:
	case panicked == nil:
		t.breaks(ruleEnds, "the loop to return", "it ended its goroutine")
	default:
		t.breaks(ruleNoPanic, "the loop to return", fmt.Sprintf("panic: %v", panicked))
	}
	if !built {
		return
	}
	t.settle()
	if !t.strange && len(t.broken) == 0 {
		for _, s := range append(t.scripts, t.script) {
			t.checkHistory(s)
		}
	}
}

// goOn runs the loop a second time where the scenario says so. A loop needn't
// be able to: what comes of it is of no interest, only what the model is sent.
func (t *trial) goOn(loop Loop) {
	if t.then == "" {
		return
	}
	defer func() { _ = recover() }()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.ctx))
	defer cancel()
	_, _ = loop(ctx, t.then)
}

// result returns the failures of the trial.
func (t *trial) result() []Failure {
	t.mu.Lock()
	defer t.mu.Unlock()
	failures := slices.Clone(t.broken)
	trace := t.trace()
	for i := range failures {
		failures[i].Scenario, failures[i].Trace = t.name, trace
	}
	return failures
}

func (t *trial) trace() []string {
	var lines []string
	for _, e := range t.events {
		lines = append(lines, e.line)
	}
	switch {
	case t.abandoned:
	case t.panicked != nil:
		lines = append(lines, fmt.Sprintf("the loop panics: %v", t.panicked))
	case t.err != nil:
		lines = append(lines, fmt.Sprintf("the loop returns %q and the error: %v", t.text, t.err))
	default:
		lines = append(lines, fmt.Sprintf("the loop returns %q", t.text))
	}
	return lines
}

// check notes the failure of a scenario's own rule. Only the first counts, and
// none after a rule is broken that holds everywhere: the others would tell of
// consequences.
func (t *trial) check(ok bool, rule, want, got string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ok || t.checked || len(t.broken) > 0 {
		return ok
	}
	t.checked = true
	t.breaks(rule, want, got)
	return ok
}
