package hookstest

// What runs between the points: the scripted model and the tools. Each has to
// run under the ctx of the run and for a pre point that let it.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

// runKey is where tools and models find the trial in their ctx.
type runKey struct{}

// errScriptOver is what a model returns that is called too often.
var errScriptOver = errors.New("hookstest: the model was called more often than scripted")

// turn is one scripted reply of a model.
type turn struct {
	Reply
	pieces []string // of the text, for a loop that streams; else its words
	err    error    // after the text, in a stream
	panics any
	during func(context.Context) error // what the model does, instead of a reply
}

// replies says whether the model answers at all.
func (t turn) replies() bool { return t.err == nil && t.panics == nil && t.during == nil }

// script is a model that answers by a script.
type script struct {
	name  string // for the trace
	turns []turn

	// Guarded by the probe's mu.
	requests []Request
	calls    []*call // the pre point of each request, nil where there is none
	pieces   int     // made by the model in a stream
	before   string  // what was on the screen when the last piece was made
}

// model is the Model of a [Setup].
func (t *trial) model(s *script) func(context.Context, Request) (Reply, error) {
	return func(ctx context.Context, req Request) (Reply, error) {
		now, k, err := t.modelStarts(ctx, s, req)
		if err != nil {
			return Reply{}, err
		}
		defer t.bodyEnds(k, now.err != nil || now.panics != nil)
		if now.panics != nil {
			panic(now.panics)
		}
		if now.during != nil {
			t.bodyEnds(k, true) // a loop needn't wait for a model that it has left
			return Reply{}, now.during(ctx)
		}
		now.ToolCalls = slices.Clone(now.ToolCalls) // hooks may write there
		return now.Reply, now.err
	}
}

func (t *trial) modelStarts(ctx context.Context, s *script, req Request) (turn, *call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		return turn{}, nil, errScriptOver
	}
	n := len(s.requests)
	t.note(event{line: "    " + s.name + " is called", starts: true})
	k := t.bodyStarts(ctx, hooks.PreModelCall, s.name, "", "")
	if k != nil {
		if c := t.waiting(k.run); c != nil {
			t.breaks(ruleAskedOn, fmt.Sprintf("no call of %s while %s waits", s.name, c), "it is called")
		}
	}
	req.Messages, req.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	s.requests, s.calls = append(s.requests, req), append(s.calls, k)
	switch {
	case n < len(s.turns):
		return s.turns[n], k, nil
	case n > 0 && (s.turns[len(s.turns)-1].err != nil || s.turns[len(s.turns)-1].panics != nil):
		return s.turns[len(s.turns)-1], k, nil // a loop may try again what failed
	}
	if k != nil {
		k.running = false
	}
	t.breaks(ruleTurns, fmt.Sprintf("%d calls of %s", len(s.turns), s.name), "one more")
	return turn{}, nil, errScriptOver
}

// tool is the Run of a [Tool].
func (t *trial) tool(name string, run func(context.Context, map[string]any) (string, error)) func(context.Context, map[string]any) (string, error) {
	return func(ctx context.Context, input map[string]any) (text string, err error) {
		key, value := keyOf(input), input["value"]
		t.mu.Lock()
		t.note(event{line: fmt.Sprintf("    tool %s (%s) runs", name, key), starts: true})
		k := t.bodyStarts(ctx, hooks.PreToolCall, fmt.Sprintf("tool %s (%s)", name, key), name, key)
		t.ran[key]++
		t.values[key], _ = value.(string)
		t.mu.Unlock()

		failed := true
		defer func() { t.bodyEnds(k, failed) }()
		if run == nil {
			text = fmt.Sprintf("%s says %s to %s", name, value, key)
		} else {
			text, err = run(ctx, input)
		}
		failed = err != nil
		return text, err
	}
}

// bodyStarts finds the pre point that lets a body run, and notes it if there
// is none. The caller holds mu.
func (t *trial) bodyStarts(ctx context.Context, pre hooks.AnyPoint, what, tool, key string) *call {
	if ctx.Value(runKey{}) != any(t) && !t.isRemote(ctx, pre) {
		// What happens under such a ctx is out of the reach of the hooks.
		t.breaks(ruleCtx, what+" under the ctx of the run", "a ctx without its values and hooks")
		return nil
	}
	if wrapped, ok := ctx.Value(wrapKey{}).(*atomic.Int32); ok {
		wrapped.Add(1)
	}
	if !t.has(pre) {
		return nil
	}
	refusal := ruleAborted
	if tool != "" {
		refusal = ruleBlocked
	}
	var refused, done, misnamed *call
	for _, k := range slices.Backward(t.calls) {
		switch {
		case k.pre != pre.Name():
		case !k.passed && k.is(tool, key):
			refused = k
		case !k.runsTool(tool, key):
			if k.toRun(key) || t.reruns && k.key == key {
				misnamed = k
			}
		case k.posts > 0 && (!k.shared || k.runs > 0):
			done = k
		case k.answered:
			t.breaks(ruleAnswered, what+" not run: a hook has answered", "it ran")
			return nil
		case k.runs == 0 || (t.reruns || tool == "" && k.failed) && !k.running:
			k.runs++
			k.running = true
			return k
		default:
			done = k
		}
	}
	switch {
	case refused != nil && refused.held:
		t.breaks(ruleWaits, what+" not run: a hook has suspended it", "it ran")
		refused.waits = false
	case refused != nil:
		t.breaks(refusal, what+" not run: a hook has refused it", "it ran")
	case done != nil && done.runs == 0 && !done.shared:
		t.breaks(rulePostAfter, string(done.post)+" after "+what, "it fired before")
	case done != nil && tool != "":
		t.breaks(ruleToolOnce, what+" run once", "it ran again")
	case misnamed != nil:
		t.breaks(ruleNamed, fmt.Sprintf("tool %s for %s", misnamed.named, misnamed), what+" ran")
	default:
		t.breaks(ruleBypass, string(pre.Name())+" before "+what, "it ran without")
	}
	return nil
}

func (t *trial) bodyEnds(k *call, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k != nil {
		k.running, k.failed = false, failed
		k.late = k.late || t.ctx.Err() != nil
	}
}
