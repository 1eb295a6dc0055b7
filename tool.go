package hooks

// The context of a tool call.

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/loophooks/hooks/internal/arguments"
)

// ToolCall is the context of [PreToolCall] and [PostToolCall]: one and the
// same value goes through both.
//
// The tool seam gives hooks an Input and Parts of their own, so that they may
// edit them freely. A body therefore reads t.Input, and not the map that it
// made. That map stays the call's when it is used again: a loop that runs a call
// once more, while what ran before may still read its input, sets Input anew.
type ToolCall struct {
	Caller
	Values
	ID        string
	Name      string
	Tool      any            // the framework's own tool; nil for a name it doesn't know
	Input     map[string]any // never nil for a hook
	Result    string         // what the model reads
	Parts     []Part         // of a result that is more than text
	RawResult any            // the tool's own typed value; untouched by a replaced Result
	Request   any            // the framework's own request
	Blocked   *HookAborted   // why the call was blocked, or its result withheld; the first reason of both
	Err       error          // why the call failed; set to nil by a post hook, the call is recovered

	answered bool
	run      bool  // for ShouldRun, after BeginTool
	ran      bool  // the body did run
	twin     bool  // an earlier call of the turn has its ID
	argErr   error // what SetArguments found wrong
	input    ownMap
	body     toolResult
	shelf    shelf[toolAnswer]
	stream   streamLink
}

// toolResult is a result as the body left it.
type toolResult struct {
	known    bool
	fixed    bool // by a seam, for all dispatches in it
	filtered bool // a stream of it was let through otherwise than the tool wrote it
	result   string
	parts    []Part
}

// ToolName returns Name. It is what [WithTools] looks at.
func (t *ToolCall) ToolName() string { return t.Name }

// Answer gives a ready result at [PreToolCall]: the tool is not run and the
// model reads text. Later pre hooks still run, and one of them may still
// abort.
func (t *ToolCall) Answer(text string) {
	t.Result, t.Parts, t.answered = text, nil, true
	t.shelf.given = int(t.level.Load())
}

// Answered reports whether a hook gave a ready result.
func (t *ToolCall) Answered() bool { return t.answered }

// ShouldRun reports, after [BeginTool], whether the tool is to be run: the call
// was neither blocked nor answered, its arguments could be read and ctx isn't
// done.
func (t *ToolCall) ShouldRun() bool { return t.run }

// Ran reports whether the tool was run. It wasn't if the body returned
// [ErrNoTool].
func (t *ToolCall) Ran() bool { return t.ran }

// IsError reports whether the loop should mark the result as an error for the
// model: the call was blocked, withheld or failed.
func (t *ToolCall) IsError() bool { return t.Blocked != nil || t.Err != nil }

// ResultEdited reports whether Result or Parts are no longer what the tool
// returned, or are what filters made of a stream. Then nothing structured that was made beside them, RawResult
// included, may reach the model.
func (t *ToolCall) ResultEdited() bool {
	return t.Blocked != nil || t.body.filtered ||
		t.body.known && (t.Result != t.body.result || !slices.EqualFunc(t.Parts, t.body.parts, samePart))
}

// Text returns the text of the result: Result and the text of each part,
// without a separator between them.
func (t *ToolCall) Text() string { return joinText(t.Result, t.Parts) }

// EditText replaces the text of the result by f of it, part by part. Changed
// parts are copied first and keep their Native; see [Part.Edited]. Err and
// RawResult, which the model never reads, stay as they are: a record that must not
// hold a secret leaves them out.
func (t *ToolCall) EditText(f func(string) string) {
	t.Result, t.Parts = editText(t.Result, t.Parts, f)
}

// SetArguments sets Input from the JSON that a model wrote. It is strict, so
// that a guard and the tool see the same: raw must hold one object and nothing
// else, with no key twice. Blank text, which some providers send for a tool
// without parameters, means {}. Numbers become float64, or [json.Number] where
// that would lose digits: [ToolCall.NumberArg] reads both.
//
// After an error Input is empty, and the seams don't run the tool: the model
// reads what is wrong. A loop that goes on to a seam may ignore the error.
func (t *ToolCall) SetArguments(raw string) error {
	input, err := arguments.Parse(raw)
	if err != nil {
		err = fmt.Errorf("hooks: %w", err)
	}
	t.Input, t.argErr = input, err
	t.input = ownMap{made: input, parsed: true}
	return err
}

// ArgumentsError returns the error of the last [ToolCall.SetArguments], until a
// seam has told the model. Hooks that judge Input should pass such a call over,
// whose Input is empty; one that can mend the arguments sets them again.
func (t *ToolCall) ArgumentsError() error { return t.argErr }

// Arguments returns Input as JSON, with its keys sorted. It fails for values
// that JSON can't hold.
func (t *ToolCall) Arguments() (string, error) {
	raw, err := arguments.Format(t.Input)
	if err != nil {
		return "", fmt.Errorf("hooks: %w", err)
	}
	return raw, nil
}

// StringArg returns the argument key of Input, which must be a string: Go's or a
// type made of it, not a [json.Number]. See [ToolCall.NumberArg] for what it
// fails on.
func (t *ToolCall) StringArg(key string) (string, error) {
	v, err := arguments.String(t.Input, key)
	return v, t.argumentProblem(err)
}

// NumberArg returns the argument key of Input, which must be a number: a float64,
// a [json.Number], or another integer or float type of Go's or made of one.
//
// It fails for an argument that isn't there, isn't a number, or is one that a
// float64 can't hold: one with more digits, an infinity, NaN. It also fails where
// Input has a key that differs from key in case only, since decoders such as
// encoding/json's may read that one instead. So a guard that returns the error
// isn't passed by a spelling, as one is that asserts Input[key].(float64) and
// lets all else through:
//
//	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
//		amount, err := call.NumberArg("amount")
//		if err != nil {
//			return err
//		}
//		if amount > 100 {
//			return hooks.Abort("at most 100")
//		}
//		return nil
//	}, hooks.WithTools("pay"))
//
// Whether an optional argument is there, Input says. The error names the key,
// never the value; where SetArguments failed it is that error.
func (t *ToolCall) NumberArg(key string) (float64, error) {
	v, err := arguments.Number(t.Input, key)
	return v, t.argumentProblem(err)
}

// BoolArg returns the argument key of Input, which must be a boolean: Go's or a
// type made of it. See [ToolCall.NumberArg] for what it fails on.
func (t *ToolCall) BoolArg(key string) (bool, error) {
	v, err := arguments.Bool(t.Input, key)
	return v, t.argumentProblem(err)
}

// argumentProblem completes the error of an accessor.
func (t *ToolCall) argumentProblem(err error) error {
	switch {
	case err == nil:
		return nil
	case t.argErr != nil && len(t.Input) == 0:
		return t.argErr
	}
	return fmt.Errorf("hooks: %w", err)
}

// Shown returns the text of [ChunkText] that the stream of the call has shown so
// far, "" if it has none. After the post hooks, Result may be something else: what
// they change is the history alone. After the seam it stays until the next use.
func (t *ToolCall) Shown() string { return t.stream.shown() }

func (t *ToolCall) streamLink() *streamLink { return &t.stream }

func (t *ToolCall) keepStreamed(of *streamed) {
	t.Result, t.Parts = of.put(t.Result, t.Parts)
	t.body.filtered = of.altered()
}

func (t *ToolCall) tellText(l *leftText) { l.add(t.Result, t.Parts) }

// RequestHumanInput asks a person and returns the trimmed answer. It fails
// when ctx is done and at the end of input, which is never a yes: a hook that
// asks for approval should be a guard or fail-closed, so that an unanswered
// question doesn't let the call through. See [WithHumanInput] and
// [SetHumanInput] for who is asked.
func (t *ToolCall) RequestHumanInput(ctx context.Context, prompt, message string) (string, error) {
	return requestHumanInput(ctx, prompt, message)
}

func (t *ToolCall) ready(at side) inputMap {
	if at == after && !t.body.fixed {
		t.body = toolResult{known: true, result: t.Result, parts: slices.Clone(t.Parts)}
	}
	return &t.Input
}

// detach gives hooks a map and parts that aren't the framework's.
func (t *ToolCall) detach(at side) {
	t.input.detach(&t.Input, at)
	if at != before {
		t.Parts = slices.Clone(t.Parts)
	}
}

func (t *ToolCall) toolCallID() string { return t.ID }

func (t *ToolCall) refusal() error { return t.argErr }

func (t *ToolCall) payload(at side, s *snapshot) {
	if at != after {
		s.input, s.answered = t.Input, t.answered
	}
	if at != before || t.answered {
		s.text, s.parts = t.Result, t.Parts
	}
}

// reset clears what an earlier use left, but not what SetArguments found: that
// belongs to the use that begins.
func (t *ToolCall) reset() {
	t.forgetAnswer()
	t.run = false
	t.Blocked, t.Err = nil, nil
	t.clearResult()
}

// clearRun takes out all that a run of the body left.
func (t *ToolCall) clearRun() {
	t.clearResult()
	t.Blocked, t.Err, t.answered = nil, nil, false
	t.body.filtered = false
}

func (t *ToolCall) clearValue() {
	t.Result, t.Parts, t.answered = "", nil, false
}

func (t *ToolCall) clearResult() { t.Result, t.Parts, t.RawResult = "", nil, nil }

// keep remembers the result as the body left it.
func (t *ToolCall) keep() {
	t.body.known, t.body.fixed, t.body.result = true, true, t.Result
	if len(t.Parts) > 0 || t.body.parts != nil {
		t.body.parts = slices.Clone(t.Parts)
	}
}

// hookCopy returns a copy that a watch may keep.
func (t *ToolCall) hookCopy() *ToolCall {
	c := &ToolCall{
		Caller: t.Caller, ID: t.ID, Name: t.Name, Tool: t.Tool, Input: maps.Clone(t.Input),
		Result: t.Result, Parts: slices.Clone(t.Parts), RawResult: t.RawResult, Request: t.Request,
		Blocked: t.Blocked, Err: t.Err,
		answered: t.answered, run: t.run, ran: t.ran, argErr: t.argErr, body: t.body,
		stream: streamLink{opened: t.stream.opened},
	}
	c.show(t.Values.copyOf())
	return c
}
