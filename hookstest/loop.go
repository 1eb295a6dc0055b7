package hookstest

// What a test of a loop says and hears: the setup that a loop is built from,
// the options, the failures, and the order in which scenarios are played.

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loophooks/hooks"
)

// Setup is what a loop under test is built from. An adapter turns it into what
// the loop's own constructor takes.
type Setup struct {
	// Model stands for the provider, and is to be called once a turn. It may be
	// called from any goroutine.
	Model func(ctx context.Context, req Request) (Reply, error)
	// Stream is the same model for a loop with [Streams], which calls it in place
	// of Model: it makes the reply in pieces, of which the last is a failure if it has
	// one. A range over the pieces asks the model, and each further one asks it again.
	// [Reply.Add] puts the pieces together.
	Stream func(ctx context.Context, req Request) iter.Seq2[hooks.Chunk, error]
	// Tools are all tools that the loop has.
	Tools []Tool
	// MaxTurns is how many model calls a run may make.
	MaxTurns int
	// Show is to be told what the loop shows to people while it runs, such as
	// the pieces of a stream, in order. A loop that shows nothing needn't call
	// it. It may be called from any goroutine.
	Show func(text string)
	// Save is to be given what it takes to go on with a run that is suspended,
	// before the run returns. The last state counts, so that a loop may also save
	// it after each step. A loop without [Resumes] needn't call it. It may be called
	// from any goroutine.
	Save func(state []byte)
}

// Request is what the model is sent, as near to the wire as the adapter can
// tell it: what a loop holds in its own structures proves nothing.
type Request struct {
	// Messages need a Role and a text. The reply of a model has the role
	// "assistant" and, if the loop keeps them, its ToolCalls. A tool's result is
	// a message of its own with the role "tool" and, if the loop keeps it, the
	// ToolCallID.
	Messages []hooks.Message
	// Tools are the names offered.
	Tools []string
	// Model is the model that is asked: the Model of the model call. A loop that
	// can't switch models needn't set it.
	Model string
}

// Reply is what the model answers: a text, which ends the run, or tool calls,
// or both.
type Reply struct {
	Text      string
	ToolCalls []hooks.ToolRequest
}

// Tool is a function that the loop may call. Every tool of the kit takes an
// object with two strings, "key" and "value".
type Tool struct {
	Name string
	// Run may be called from several goroutines at once. It may return an
	// error, panic, and run the loop again under its ctx.
	Run func(ctx context.Context, input map[string]any) (string, error)
}

// Loop is a loop under test, ready to run a prompt. It returns the final text.
type Loop func(ctx context.Context, prompt string) (string, error)

// Resume is a loop under test, ready to go on with a run that was suspended, from
// the state that the loop of that run gave to the Save of its [Setup]. It returns
// the final text.
type Resume func(ctx context.Context, state []byte) (string, error)

// LoopOption tells [TestLoop] what it can't find out by itself.
type LoopOption interface{ apply(*kit) }

type loopOption func(*kit)

func (o loopOption) apply(k *kit) { o(k) }

const withoutRule = "a point that the loop is declared not to have doesn't fire"

// Without says that the loop doesn't have these points, such as the step
// points: no rule is tested that needs them. They must not fire, since nothing
// would be known of them. It panics if a point is nil.
func Without(points ...hooks.AnyPoint) LoopOption {
	return loopOption(func(k *kit) {
		for _, p := range points {
			if p == nil {
				panic("hookstest: Without: nil point; give one such as hooks.PreStep")
			}
			k.missing[p.Name()] = true
		}
	})
}

// MarksErrors says that the loop marks results as errors for the model, and
// how: marked is given a message of the role "tool" from a [Request] and reports
// whether it has the mark. Without it no mark is looked for. Of a loop that
// marks by a word in the text:
//
//	hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") })
//
// An adapter whose wire has a field for the mark, such as "is_error", writes it
// into the text of the Request's message and looks for it there.
func MarksErrors(marked func(hooks.Message) bool) LoopOption {
	return loopOption(func(k *kit) { k.marked = marked })
}

// Resumes says that a run can be suspended and gone on with, and how: newLoop
// builds a fresh loop, as that of [TestLoop] does, which knows of the run what is
// in the state alone. Without it nothing is resumed, and only what comes out of
// a run that waits is tested. It panics if newLoop is nil.
//
// A framework that keeps the state of its runs in a store of its own saves what
// the store holds, or has one store for all loops of the test and saves the key.
func Resumes(newLoop func(Setup) Resume) LoopOption {
	if newLoop == nil {
		panic("hookstest: Resumes: newLoop is nil; give a function that builds the loop")
	}
	return loopOption(func(k *kit) { k.resumed = newLoop })
}

// Failure is a rule that a loop breaks.
type Failure struct {
	Scenario string   // what the loop was put through
	Rule     string   // the rule, as a sentence
	Want     string   // what should have happened
	Got      string   // what happened
	Trace    []string // all that happened in the scenario, in order
}

// String returns the failure as several lines, the rule first.
func (f Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\tscenario: %s\n\twant:     %s\n\tgot:      %s\n\twhat happened:", f.Rule, f.Scenario, f.Want, f.Got)
	for _, line := range f.Trace {
		b.WriteString("\n\t\t" + line)
	}
	return b.String()
}

// TestLoop drives a loop through scripted replies of a model, with hooks that
// watch, block, answer, edit and abort, and fails t for each rule that the loop
// breaks, a subtest for each scenario. One that would tell of the same mistake as
// another that has failed isn't played, and none is after a first one in which
// the loop comes to nothing. Where a rule says nothing about the loop, such as one
// about turns that it doesn't number, the subtest logs that.
//
// newLoop builds a fresh loop for each scenario, and another inside a tool where
// that tool runs the loop again. So it may be called in any goroutine in which
// the loop runs its tools, while the outer loop is running, and should write
// nothing that the loops share. A few scenarios run one loop a second time, when
// its first run has ended. Hooks are registered in a registry of the kit's own,
// which is active in the ctx that the loop is given: nothing process-wide is
// touched.
func TestLoop(t *testing.T, newLoop func(Setup) Loop, opts ...LoopOption) {
	t.Helper()
	k := newKit(newLoop, opts)
	if len(k.misuse) > 0 {
		for _, f := range k.misuse {
			t.Errorf("hookstest: %s: %s; got %s", f.Rule, f.Want, f.Got)
		}
		return
	}
	for _, sc := range scenarios() {
		if k.hopeless {
			t.Log("the other scenarios are not played")
			return
		}
		if !k.covers(sc) {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Helper() // a failure is told of at the line that calls TestLoop
			if reason, ok := k.skipped(sc); ok {
				t.Skip("left out: " + reason)
			}
			failures, played := k.try(t.Context(), sc)
			for _, f := range failures {
				t.Error(f)
			}
			if played.untold != "" {
				t.Log("not judged: " + played.untold)
			}
			if played.unjudged != "" && len(failures) == 0 {
				t.Skip("not judged: " + played.unjudged)
			}
		})
	}
}

// CheckLoop is [TestLoop] without a test: it returns the failures, in the order
// of the scenarios, none for a loop that breaks no rule. A [Skip] that can't be
// obeyed is a failure too, and then nothing is played.
func CheckLoop(ctx context.Context, newLoop func(Setup) Loop, opts ...LoopOption) []Failure {
	k := newKit(newLoop, opts)
	if len(k.misuse) > 0 {
		return k.misuse
	}
	var failures []Failure
	for _, sc := range scenarios() {
		if _, skipped := k.skipped(sc); skipped || k.hopeless || !k.covers(sc) {
			continue
		}
		broken, _ := k.try(ctx, sc)
		failures = append(failures, broken...)
	}
	return failures
}

// scenario is one run that a loop is put through.
type scenario struct {
	name    string
	needs   []hooks.AnyPoint // points without which it says nothing
	of      []string         // scenarios of which it is a variant: left out with them
	after   []string         // scenarios that tell of the same mistakes: not played once one of them has failed
	renames bool             // a hook writes the Name of a call: for loops with Renames alone
	resumes bool             // for loops with Resumes alone
	streams bool             // for loops with Streams alone
	early   bool             // the kit's own guards at post points let streams go on
	play    func(*trial)
}

// scenarios returns all of them. The first finds out which points the loop
// has.
func scenarios() []scenario {
	var all []scenario
	for _, group := range [][]scenario{
		basicScenarios, toolScenarios, argumentScenarios, placeScenarios(), treatmentScenarios(), renameScenarios,
		editScenarios, emptyScenarios, messageScenarios, inputScenarios, oddScenarios, toldScenarios,
		abortScenarios(), laterScenarios, shownScenarios, stopScenarios, runScenarios, cancelScenarios, historyScenarios, againScenarios,
		wrappedScenarios, interruptScenarios(), askedScenarios, resumedScenarios, streamedScenarios,
	} {
		all = append(all, group...)
	}
	return all
}

// kit is the test of one loop.
type kit struct {
	newLoop  func(Setup) Loop
	missing  map[hooks.InterceptionPoint]bool // declared, or found out by the first scenario
	marked   func(hooks.Message) bool         // nil if the loop doesn't mark errors
	remote   bool                             // the model is behind a wire, as declared
	skips    map[string]string                // the reason, by scenario
	misuse   []Failure                        // what is wrong with the options
	failed   map[string]bool                  // scenarios
	hopeless bool                             // the first scenario came to nothing: no other is played
	renames  bool                             // a hook may write the Name of a call, as declared
	resumed  func(Setup) Resume               // nil if a run can't be resumed
	streams  bool                             // the loop shows pieces, as declared
	parallel atomic.Bool                      // the loop was seen to run the tools of a turn beside each other
	turns    atomic.Bool                      // the loop was seen to say which turn it is in
}

func newKit(newLoop func(Setup) Loop, opts []LoopOption) *kit {
	if newLoop == nil {
		panic("hookstest: TestLoop: newLoop is nil; give a function that builds the loop")
	}
	k := &kit{
		newLoop: newLoop, missing: make(map[hooks.InterceptionPoint]bool),
		skips: make(map[string]string), failed: make(map[string]bool),
	}
	for _, o := range opts {
		if o != nil {
			o.apply(k)
		}
	}
	return k
}

func (k *kit) has(p hooks.AnyPoint) bool { return !k.missing[p.Name()] }

func (k *kit) covers(sc scenario) bool {
	if slices.ContainsFunc(slices.Concat(sc.of, sc.after), func(name string) bool { return k.failed[name] }) {
		k.failed[sc.name] = true
		return false
	}
	return (k.renames || !sc.renames) && (k.resumed != nil || !sc.resumes) && (k.streams || !sc.streams) && !slices.ContainsFunc(sc.needs, func(p hooks.AnyPoint) bool { return !k.has(p) })
}

// skipped returns the reason for which sc is left out, if it is.
func (k *kit) skipped(sc scenario) (reason string, ok bool) {
	for _, name := range append(sc.of[:len(sc.of):len(sc.of)], sc.name) {
		if reason, ok = k.skips[name]; ok {
			return reason, true
		}
	}
	return "", false
}

// try puts the loop through sc.
func (k *kit) try(ctx context.Context, sc scenario) ([]Failure, *trial) {
	t := newTrial(ctx, k, sc)
	sc.play(t)
	failures := t.result()
	k.failed[sc.name] = len(failures) > 0
	return failures, t
}
