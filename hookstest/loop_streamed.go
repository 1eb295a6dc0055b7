package hookstest

// What loops that show pieces owe to filters and to the guards of what they
// stream. But for the scenarios of guards, the kit has its own guards let a stream
// go on, so that pieces are shown while the model answers.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// streamed is the scenario without which the others say nothing.
const streamed = "streamed-answer"

var streamedScenarios = []scenario{
	{name: streamed, streams: true, early: true, needs: modelPoints, play: streamedAnswer},
	{name: "filtered-stream", streams: true, early: true, needs: modelPoints, after: []string{streamed}, play: filteredStream},
	{name: "history-of-a-filtered-stream", streams: true, early: true, needs: modelToolsPoints, after: []string{streamed}, play: filteredHistory},
	{name: "stream-held-by-a-guard", streams: true, early: true, needs: modelPoints, after: []string{streamed}, play: heldStream},
	{name: "stream-vetoed-by-a-fail-closed-hook", streams: true, early: true, needs: modelPoints, after: []string{streamed}, play: vetoedStream},
	{name: "aborted-stream", streams: true, early: true, needs: modelPoints, after: []string{streamed}, play: abortedStream},
	{name: "failed-stream", streams: true, early: true, needs: modelPoints, after: []string{streamed}, play: failedStream},
	{name: "failed-stream-that-was-held", streams: true, needs: modelPoints, after: []string{streamed, "stream-held-by-a-guard"}, play: failedHeldStream},
	{
		name: "stream-before-a-guarded-output", streams: true, early: true, needs: append(slices.Clone(modelPoints), hooks.Output),
		after: []string{streamed}, play: guardedOutput,
	},
}

// inPieces is a reply that ends the run, in these pieces.
func inPieces(pieces ...string) turn {
	return turn{Reply: Reply{Text: strings.Join(pieces, "")}, pieces: pieces}
}

// onScreen returns what people were shown so far.
func (t *trial) onScreen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.shown, "")
}

// letThrough collects the text that the filters of the scenario let through, once
// it is registered. It is a guard, behind all others.
type letThrough struct {
	mu   sync.Mutex
	text []byte
}

func (t *trial) watchStream() *letThrough {
	through := new(letThrough)
	onStream(t, func(_ context.Context, w *hooks.Window) error {
		through.mu.Lock()
		defer through.mu.Unlock()
		through.text = append(through.text, w.Text()...)
		return nil
	}, hooks.AsGuard(), hooks.WithPriority(math.MinInt))
	return through
}

// onStream registers a filter of the text of a model.
func onStream(t *trial, filter hooks.Filter, opts ...hooks.Option) {
	hooks.OnStream(hooks.ModelStream, func(_ context.Context, _ *hooks.ModelCall, k hooks.ChunkKind) hooks.Filter {
		if k != hooks.ChunkText {
			return nil
		}
		return filter
	}, append(opts, hooks.In(t.registry), hooks.WithName(hookName))...)
}

// redacts is a filter that puts "redacted" in the place of theSecret, and holds
// what may be its beginning.
func redacts(_ context.Context, w *hooks.Window) error {
	text, from := string(w.Text()), 0
	for {
		at := strings.Index(text[from:], theSecret)
		if at < 0 {
			break
		}
		w.Replace(from+at, from+at+len(theSecret), "redacted")
		from += at + len(theSecret)
	}
	for at := from; at < len(text) && !w.Final(); at++ {
		if strings.HasPrefix(theSecret, text[at:]) {
			w.Hold(at)
			break
		}
	}
	return nil
}

// checkLetThrough checks that the screen has what the filters let through.
func (t *trial) checkLetThrough(through *letThrough) {
	through.mu.Lock()
	want := string(through.text)
	through.mu.Unlock()
	got := t.onScreen()
	t.check(strings.HasPrefix(want, got), ruleLetThrough, fmt.Sprintf("on the screen %q, or its beginning", want), fmt.Sprintf("%q", got))
}

func streamedAnswer(t *trial) {
	through := t.watchStream()
	t.run(answers(theAnswer))
	t.mu.Lock()
	pieces, before := t.script.pieces, t.script.before
	t.mu.Unlock()
	t.check(pieces > 0, ruleStreams, "the model asked by the Stream of the Setup", "it was asked for no piece")
	t.checkLetThrough(through)
	if !t.wire() {
		t.check(before != "", ruleStreams, "a piece on the screen before the last one is made", "none")
	}
	t.checkScreen(ruleStreams, theAnswer)
	t.checkGoesOn(ruleText)
}

// checkScreen checks all that people were shown.
func (t *trial) checkScreen(rule, want string) {
	got := t.onScreen()
	t.check(got == want, rule, fmt.Sprintf("%q on the screen", want), fmt.Sprintf("%q", got))
}

// secretInPieces is a reply with theSecret in its midst and at its end, each time
// in several pieces.
func secretInPieces() turn {
	half := len(theSecret) / 2
	return inPieces("this is "+theSecret[:1], theSecret[1:half], theSecret[half:]+", and once more ", theSecret[:half], theSecret[half:])
}

const redactedPieces = "this is redacted, and once more redacted"

func filteredStream(t *trial) {
	onStream(t, redacts)
	through := t.watchStream()
	t.run(secretInPieces())
	t.checkLetThrough(through)
	t.checkScreen(ruleLetThrough, redactedPieces)
	t.checkKept(redactedPieces)
}

// checkKept checks the text that the run returns.
func (t *trial) checkKept(want string) {
	t.check(t.err == nil && t.text == want, ruleKept, fmt.Sprintf("%q from the run", want), fmt.Sprintf("%q, error %v", t.text, t.err))
}

func filteredHistory(t *trial) {
	t.strange = true
	onStream(t, redacts)
	first := secretInPieces()
	first.ToolCalls = []hooks.ToolRequest{request("alpha", "c1")}
	t.run(first, answers(theAnswer))
	t.checkSent(ruleKept, 1, theSecret, false)
	t.checkSent(ruleKept, 1, redactedPieces, true)
	t.checkGoesOn(ruleText)
}

func heldStream(t *trial) {
	var before atomic.Value
	hooks.On(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error {
		before.Store(t.onScreen())
		return nil
	}, hooks.In(t.registry), hooks.WithName(hookName), hooks.AsGuard())
	t.run(answers(theAnswer))
	shown, decided := before.Load().(string)
	t.check(decided && shown == "", ruleShown, "nothing on the screen while the guard at post_model_call decides", fmt.Sprintf("%q", shown))
	t.checkScreen(ruleHeld, theAnswer)
	t.checkGoesOn(ruleText)
}

func vetoedStream(t *trial) {
	t.strange = true
	hooks.On(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error {
		return t.abort(&hooks.HookAborted{Reason: theReason})
	}, hooks.In(t.registry), hooks.WithName(hookName), hooks.WithFailClosed())
	t.run(answers(theAnswer), answers(theAnswer))
	t.checkScreen(ruleShown, "")
	t.checkAborted()
}

// checkAborted checks that the abort of a model call has ended the run.
func (t *trial) checkAborted() {
	if t.check(t.abortedAt >= 0, rulePoints, "the hook to abort", "it was not called") {
		t.checkNothingStarts(ruleAbortEnds, hooks.PostModelCall.Name(), "")
	}
	t.check(findAbort(t.err) != nil, ruleAbortOut, anAbort, fmt.Sprintf("the text %q and the error %v", t.text, t.err))
}

// manyPieces is more than a loop that reads ahead has read when a filter aborts at
// the second.
const manyPieces = 50

func abortedStream(t *trial) {
	t.strange = true
	var atAbort atomic.Value
	onStream(t, func(_ context.Context, w *hooks.Window) error {
		if !strings.Contains(string(w.Text()), "piece 2") {
			return nil
		}
		atAbort.Store(t.onScreen())
		return t.abort(&hooks.HookAborted{Reason: theReason})
	})
	pieces := make([]string, manyPieces)
	for i := range pieces {
		pieces[i] = fmt.Sprintf("piece %d. ", i+1)
	}
	t.run(inPieces(pieces...), answers(theAnswer))
	if shown, aborted := atAbort.Load().(string); aborted {
		t.checkScreen(ruleStopped, shown)
	}
	t.mu.Lock()
	made := t.script.pieces
	t.mu.Unlock()
	if !t.wire() {
		t.check(made < manyPieces, ruleStopped, "the model stopped after the abort", fmt.Sprintf("it made all its %d pieces", made))
	}
	t.checkAborted()
}

const (
	firstAttempt  = "this is a first attempt"
	secondAttempt = "another attempt"
)

// playAttempts has a model fail in the midst of its first reply, and a hook that
// tries again where it may.
func (t *trial) playAttempts() {
	t.reruns, t.strange = true, true
	around(t, hooks.ModelBody, retry[hooks.ModelCall])
	t.run(turn{Reply: Reply{Text: firstAttempt}, err: errModelDown}, answers(secondAttempt))
}

// checkAttempts checks that one attempt alone was shown, and nothing of the first
// beside the second.
func (t *trial) checkAttempts() {
	got := t.onScreen()
	t.check(!strings.Contains(got, "first") || !strings.Contains(got, secondAttempt), ruleAttempts,
		"one attempt alone on the screen", fmt.Sprintf("%q", got))
}

// failedStream is about a failure of which the beginning is on the screen: the hook
// that tries again gets hooks.ErrNotAgain, and the loop makes no other attempt either.
func failedStream(t *trial) {
	t.playAttempts()
	t.checkAttempts()
	if t.requests() == 1 && !t.wire() {
		t.check(errors.Is(t.err, errModelDown), ruleErrOut, "an error that errors.Is finds to be the model's", fmt.Sprint(t.err))
	}
}

// failedHeldStream is about a failure of which nobody has seen anything: the reply
// begins anew.
func failedHeldStream(t *trial) {
	t.playAttempts()
	t.checkAttempts()
	t.checkScreen(ruleAttempts, secondAttempt)
	t.checkKept(secondAttempt)
}

func guardedOutput(t *trial) {
	t.strange = true
	hooks.On(hooks.Output, func(context.Context, *hooks.Execution) error {
		return t.abort(&hooks.HookAborted{Reason: theReason})
	}, hooks.In(t.registry), hooks.WithName(hookName), hooks.AsGuard())
	t.run(answers(theAnswer), answers(theAnswer))
	t.check(t.abortedAt >= 0, rulePoints, "output in a run that succeeds", "it did not fire")
	t.checkScreen(ruleGuardedOutput, "")
}
