// Asking the model: the reply in one, or in pieces that are shown as they come.

package agent

import (
	"context"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/chat"
)

// ask sends req and puts the reply into call.
func (r *run) ask(ctx context.Context, n int, call *hooks.ModelCall, req chat.Request) error {
	if r.Show == nil || decidedLater(ctx) {
		reply, err := r.Model.Complete(ctx, req)
		if err == nil {
			fill(call, reply)
		}
		return err
	}
	out := hooks.OpenStream(ctx, hooks.ModelStream, call, func(c hooks.Chunk) error { return r.Show(n, c) })
	reply, err := r.stream(ctx, req, func(p chat.Piece) error { return out.Push(chunk(p)) })
	if err == nil {
		fill(call, reply)
	}
	return out.End(err) // where filters have changed the text, the response is that
}

// stream asks the model for a reply in pieces. One that can't gives it in one.
func (r *run) stream(ctx context.Context, req chat.Request, piece func(chat.Piece) error) (chat.Reply, error) {
	if model, ok := r.Model.(Streamer); ok {
		return model.Stream(ctx, req, piece)
	}
	reply, err := r.Model.Complete(ctx, req)
	if err == nil && reply.Content != "" {
		err = piece(chat.Piece{Text: reply.Content})
	}
	for i, c := range reply.ToolCalls {
		if err == nil {
			err = piece(chat.Piece{Tool: true, Index: i, ID: c.ID, Name: c.Function.Name, Text: c.Function.Arguments})
		}
	}
	return reply, err
}

// decidedLater says whether a hook has yet to decide on what a turn says, which is
// the answer if the turn is the last: nobody knows that while the model speaks.
func decidedLater(ctx context.Context) bool {
	return hooks.Guarded(ctx, hooks.PostStep) || hooks.Guarded(ctx, hooks.Output) || hooks.Guarded(ctx, hooks.ExecutionEnd)
}

func fill(call *hooks.ModelCall, reply chat.Reply) {
	call.RawResponse = reply
	call.Response = reply.Content
	call.ToolCalls = toolRequests(reply.ToolCalls)
	call.FinishReason = reply.FinishReason
	call.Usage = hooks.Usage{In: reply.TokensIn, Out: reply.TokensOut}
}

func chunk(p chat.Piece) hooks.Chunk {
	c := hooks.Chunk{Kind: hooks.ChunkText, Text: p.Text}
	if p.Tool {
		c.Kind, c.Index, c.ID, c.Name = hooks.ChunkToolCall, p.Index, p.ID, p.Name
	}
	return c
}
