package hookstest

// A model that answers in pieces, for loops that show them while it still
// answers.

import (
	"context"
	"iter"
	"strings"

	"github.com/loophooks/hooks"
)

// Streams says that the loop asks its model by the Stream of the [Setup] alone, and
// shows the text of the pieces by [hooks.OpenStream] while the model still answers.
// It hands to Show that text and, while the model answers, nothing else: neither
// arguments of tool calls nor anything of its own. Without it no rule of streams is
// tested.
func Streams() LoopOption { return loopOption(func(k *kit) { k.streams = true }) }

// Add adds a piece of the model's answer to the reply, as what collects the stream
// of a provider does. A piece of a tool call belongs to the call at the Index of the
// piece. Pieces that are neither text nor of a tool call are passed over, and so is
// one with a negative Index.
func (r *Reply) Add(c hooks.Chunk) {
	switch {
	case c.Kind == hooks.ChunkText || c.Kind == "":
		r.Text += c.Text
	case c.Kind != hooks.ChunkToolCall || c.Index < 0:
	default:
		for len(r.ToolCalls) <= c.Index {
			r.ToolCalls = append(r.ToolCalls, hooks.ToolRequest{})
		}
		call := &r.ToolCalls[c.Index]
		if c.ID != "" {
			call.ID = c.ID
		}
		if c.Name != "" {
			call.Name = c.Name
		}
		call.Arguments += c.Text
	}
}

// chunks returns the pieces of the turn: of the text, and of each tool call first
// what names it and then its arguments.
func (t turn) chunks() []hooks.Chunk {
	pieces := t.pieces
	if pieces == nil && t.Text != "" {
		pieces = strings.SplitAfter(t.Text, " ")
	}
	var chunks []hooks.Chunk
	for _, text := range pieces {
		chunks = append(chunks, hooks.Chunk{Kind: hooks.ChunkText, Text: text})
	}
	for i, req := range t.ToolCalls {
		half := len(req.Arguments) / 2
		chunks = append(chunks, hooks.Chunk{Kind: hooks.ChunkToolCall, Index: i, ID: req.ID, Name: req.Name})
		for _, text := range []string{req.Arguments[:half], req.Arguments[half:]} {
			if text != "" {
				chunks = append(chunks, hooks.Chunk{Kind: hooks.ChunkToolCall, Index: i, Text: text})
			}
		}
	}
	return chunks
}

// stream is the Stream of a [Setup].
func (t *trial) stream(s *script) func(context.Context, Request) iter.Seq2[hooks.Chunk, error] {
	return func(ctx context.Context, req Request) iter.Seq2[hooks.Chunk, error] {
		return func(yield func(hooks.Chunk, error) bool) {
			now, k, err := t.modelStarts(ctx, s, req)
			if err != nil {
				yield(hooks.Chunk{}, err)
				return
			}
			failed := true // also if the rest isn't asked for
			defer func() { t.bodyEnds(k, failed) }()
			if now.panics != nil {
				panic(now.panics)
			}
			if now.during != nil {
				t.bodyEnds(k, true) // a loop needn't wait for a model that it has left
				yield(hooks.Chunk{}, now.during(ctx))
				return
			}
			chunks := now.chunks()
			for i, c := range chunks {
				t.produces(s, i == len(chunks)-1)
				if !yield(c, nil) {
					return
				}
			}
			failed = now.err != nil
			if failed {
				yield(hooks.Chunk{}, now.err)
			}
		}
	}
}

// produces tells that the model s makes the next piece of an answer.
func (t *trial) produces(s *script, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.pieces++
	if last {
		s.before = strings.Join(t.shown, "")
	}
}
