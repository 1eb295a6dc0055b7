package hookstest_test

// A loop that shows the pieces of its model, and its mistakes in that.

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// wrongStreams has a streaming loop for each rule about streams.
var wrongStreams = []wrongLoop{
	{"asks for whole replies", "a loop that streams asks for pieces, and shows them while the model answers", nil},
	{"pushes all when the model has answered", "a loop that streams asks for pieces, and shows them while the model answers", nil},
	{"shows pieces past its stream", "what is shown of a stream is what its filters have let through, once and in order", []string{
		"what people are shown has passed its post hooks",
	}},
	{"shows the answer again", "what is shown of a stream is what its filters have let through, once and in order", nil},
	{"shows what it has pushed", "what is shown of a stream is what its filters have let through, once and in order", []string{
		"what people are shown has passed its post hooks",
	}},
	{"shows the raw rest at the end", "what is shown of a stream is what its filters have let through, once and in order", nil},
	{"keeps what it has read", "what is kept of a streamed reply is what its filters have let through", []string{
		"the response of a model is what the post hooks left, in the history and as the result",
	}},
	{"shows by a filter of its own", "what people are shown has passed its post hooks", nil},
	{"shows nothing behind its body", "what a guard at the post point has held is shown when that has passed", nil},
	{"reads on when its stream is aborted", "when a filter aborts its stream nothing more is shown, and the model stops", nil},
	{"shows what its filters have aborted at", "when a filter aborts its stream nothing more is shown, and the model stops", nil},
	{"goes on with another attempt", "of the attempts at a reply only one is ever shown", nil},
	{"shows answers before a guarded output", "no answer is shown before a guarded output has passed", nil},
}

// streaming is a loop with one mistake, none for the bug "".
type streaming struct {
	hookstest.Setup
	bug   bug
	pairs bool // pieces are pushed two at a time
	quiet bool // answers are shown when the output has passed
}

func newStreaming(b bug) func(hookstest.Setup) hookstest.Loop {
	return func(s hookstest.Setup) hookstest.Loop { return (&streaming{Setup: s, bug: b}).run }
}

func TestLoop_passesStreamingLoops(t *testing.T) {
	t.Parallel()
	for name, loop := range map[string]streaming{"piece by piece": {}, "two pieces at a time": {pairs: true}} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
				l := loop
				l.Setup = s
				return l.run
			}, noSteps, hookstest.Streams())
		})
	}
}

func TestLoop_passesStreamOfWireThatCollects(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
		stream := s.Stream
		s.Stream = func(ctx context.Context, req hookstest.Request) iter.Seq2[hooks.Chunk, error] {
			return func(yield func(hooks.Chunk, error) bool) {
				far, cancel := context.WithCancel(context.Background())
				defer context.AfterFunc(ctx, cancel)()
				var chunks []hooks.Chunk
				var failed error
				for c, err := range stream(far, req) {
					if err != nil {
						failed = errors.Join(errors.New(err.Error()), ctx.Err())
						break
					}
					chunks = append(chunks, c)
				}
				for _, c := range chunks {
					if !yield(c, nil) {
						return
					}
				}
				if failed != nil {
					yield(hooks.Chunk{}, failed)
				}
			}
		}
		return (&streaming{Setup: s}).run
	}, noSteps, hookstest.Streams(), hookstest.RemoteModel())
}

func TestCheckLoop_namesBrokenRuleOfStreams(t *testing.T) {
	t.Parallel()
	for _, tc := range wrongStreams {
		t.Run(strings.ReplaceAll(string(tc.bug), " ", "-"), func(t *testing.T) {
			t.Parallel()
			failures := hookstest.CheckLoop(t.Context(), newStreaming(tc.bug), noSteps, hookstest.Streams())
			require.NotEmpty(t, failures)
			assert.ElementsMatch(t, append(tc.also, tc.rule), brokenRules(failures), "%v", failures)
		})
	}
}

func TestStreams_isOptIn(t *testing.T) {
	t.Parallel()
	assert.Empty(t, hookstest.CheckLoop(t.Context(), newStreaming("shows answers before a guarded output"), noSteps))
}

func TestReply_addsPiecesToTheirCalls(t *testing.T) {
	t.Parallel()
	var r hookstest.Reply
	for _, c := range []hooks.Chunk{
		{Text: "let me "}, {Kind: hooks.ChunkReasoning, Text: "hm"}, {Kind: hooks.ChunkText, Text: "see"},
		{Kind: hooks.ChunkToolCall, Index: 1, ID: "b", Name: "beta"}, {Kind: hooks.ChunkToolCall, ID: "a", Name: "alpha", Text: "{"},
		{Kind: hooks.ChunkToolCall, Index: 1, Text: "{}"}, {Kind: hooks.ChunkToolCall, Text: "}"}, {Kind: hooks.ChunkToolCall, Index: -1, Text: "x"},
		{Kind: hooks.ChunkOther},
	} {
		r.Add(c)
	}
	assert.Equal(t, hookstest.Reply{Text: "let me see", ToolCalls: []hooks.ToolRequest{
		{ID: "a", Name: "alpha", Arguments: "{}"}, {ID: "b", Name: "beta", Arguments: "{}"},
	}}, r)
}

func (l *streaming) run(ctx context.Context, prompt string) (string, error) {
	x := &hooks.Execution{Inputs: map[string]any{"prompt": prompt}}
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		l.quiet = hooks.Guarded(ctx, hooks.Output) && l.bug != "shows answers before a guarded output"
		prompt, _ := x.Inputs["prompt"].(string)
		text, err := l.turns(ctx, prompt)
		x.Output = text
		return err
	})
	text, _ := x.Output.(string)
	if l.quiet && err == nil {
		l.Show(text)
	}
	return text, err
}

func (l *streaming) turns(ctx context.Context, prompt string) (string, error) {
	history := []hooks.Message{{Role: "user", Content: prompt}}
	for n := range l.MaxTurns {
		m := &hooks.ModelCall{Iterations: n, Messages: history}
		for _, tool := range l.Tools {
			m.Tools = append(m.Tools, tool.Name)
		}
		text, err := l.ask(ctx, m)
		if err != nil {
			return "", err
		}
		if len(m.ToolCalls) == 0 {
			return text, nil
		}
		history = append(history, hooks.Message{Role: "assistant", Content: text, ToolCalls: m.ToolCalls})
		results, err := l.callAll(ctx, m.ToolCalls)
		if err != nil {
			return "", err
		}
		history = append(history, results...)
	}
	return "", errors.New("no answer")
}

// ask makes a model call and returns the text that is kept of it.
func (l *streaming) ask(ctx context.Context, m *hooks.ModelCall) (string, error) {
	if l.bug == "shows by a filter of its own" {
		own := hooks.NewRegistry()
		ctx = hooks.WithScope(ctx, own)
		hooks.OnStream(hooks.ModelStream, func(_ context.Context, _ *hooks.ModelCall, k hooks.ChunkKind) hooks.Filter {
			return func(_ context.Context, w *hooks.Window) error {
				if k == hooks.ChunkText && len(w.Text()) > 0 && !l.quiet {
					l.Show(string(w.Text()))
				}
				return nil
			}
		}, hooks.In(own), hooks.AsGuard())
	}
	var reply hookstest.Reply
	over := false
	err := hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) (err error) {
		defer func() { over = true }()
		reply, err = l.read(ctx, m, &over)
		if err != nil && l.bug == "goes on with another attempt" && ctx.Err() == nil && !errors.As(err, new(*hooks.HookAborted)) {
			reply, err = l.read(ctx, m, &over)
		}
		m.ToolCalls = reply.ToolCalls
		return err
	})
	if l.bug == "shows the answer again" && err == nil && !l.quiet {
		l.Show(m.Response)
	}
	if l.bug == "keeps what it has read" && reply.Text != "" && !m.Answered() {
		return reply.Text, err
	}
	return m.Response, err
}

// read reads the stream of the model, and shows it.
func (l *streaming) read(ctx context.Context, m *hooks.ModelCall, over *bool) (reply hookstest.Reply, err error) {
	out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
		if l.shows(c) && (!*over || l.bug != "shows nothing behind its body") {
			l.Show(c.Text)
		}
		return nil
	})
	req := hookstest.Request{Messages: m.Messages, Tools: m.Tools, Model: m.Model}
	if l.bug == "asks for whole replies" {
		reply, err = l.Model(ctx, req)
		if err == nil {
			err = out.Push(hooks.Chunk{Text: reply.Text})
		}
		return reply, out.End(err)
	}
	var kept []hooks.Chunk // not yet pushed
	var failed error       // of the stream, where the loop reads on
	for c, err := range l.Stream(ctx, req) {
		if err != nil {
			_ = l.push(out, kept)
			return reply, out.End(err)
		}
		reply.Add(c)
		if kept = append(kept, c); len(kept) < 2 && l.pairs || l.bug == "pushes all when the model has answered" {
			continue
		}
		err = l.push(out, kept)
		kept = nil
		switch {
		case err == nil:
		case l.bug == "reads on when its stream is aborted":
			failed = err
		default:
			if l.bug == "shows what its filters have aborted at" && l.isText(c) {
				l.Show(c.Text)
			}
			return reply, out.End(err)
		}
	}
	if failed == nil {
		failed = l.push(out, kept)
	}
	err = out.End(failed)
	switch {
	case err != nil || l.quiet:
	case l.bug == "shows pieces past its stream":
		m.Response = reply.Text
	case l.bug == "shows the raw rest at the end" && m.Shown() != "":
		l.Show(reply.Text[min(len(m.Shown()), len(reply.Text)):])
	}
	return reply, err
}

func (l *streaming) isText(c hooks.Chunk) bool { return c.Kind == hooks.ChunkText && c.Text != "" }

// shows says whether the chunk that has come through the stream is shown.
func (l *streaming) shows(c hooks.Chunk) bool {
	switch l.bug {
	case "shows pieces past its stream", "shows what it has pushed", "shows by a filter of its own":
		return false
	}
	return l.isText(c) && !l.quiet
}

func (l *streaming) push(out *hooks.Stream, chunks []hooks.Chunk) error {
	for _, c := range chunks {
		past := l.bug == "shows pieces past its stream"
		if past && l.isText(c) && !l.quiet {
			l.Show(c.Text)
			continue
		}
		if err := out.Push(c); err != nil {
			return err
		}
		if l.bug == "shows what it has pushed" && l.isText(c) && !l.quiet {
			l.Show(c.Text)
		}
	}
	return nil
}

func (l *streaming) callAll(ctx context.Context, requests []hooks.ToolRequest) ([]hooks.Message, error) {
	calls := make([]*hooks.ToolCall, len(requests))
	for i, req := range requests {
		calls[i] = &hooks.ToolCall{ID: req.ID, Name: req.Name}
		if tool := l.tool(req.Name); tool != nil {
			calls[i].Tool = tool
		}
		_ = calls[i].SetArguments(req.Arguments)
	}
	err := hooks.RunTools(ctx, calls, 1, func(ctx context.Context, c *hooks.ToolCall) (err error) {
		tool := l.tool(c.Name)
		if tool == nil {
			return hooks.ErrNoTool
		}
		c.Result, err = tool.Run(ctx, c.Input)
		return err
	})
	var results []hooks.Message
	for _, c := range calls {
		results = append(results, hooks.Message{Role: "tool", ToolCallID: c.ID, Content: c.Result})
	}
	return results, err
}

func (l *streaming) tool(name string) *hookstest.Tool {
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i]
		}
	}
	return nil
}
