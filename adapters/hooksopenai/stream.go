package hooksopenai

// An answer in pieces, which are shown as filters and guards let them through.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/loophooks/hooks"
)

// stream asks for the answer in pieces.
func (c *completion) stream(ctx context.Context, m *hooks.ModelCall, p openai.ChatCompletionNewParams) error {
	if !p.StreamOptions.IncludeUsage.Valid() {
		p.StreamOptions.IncludeUsage = openai.Bool(true) // else nobody knows what it costs
	}
	out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(chunk hooks.Chunk) error {
		if chunk.Kind == hooks.ChunkText && chunk.Text != "" {
			c.onText(chunk.Text)
		}
		return nil
	})
	a, err := c.read(ctx, m, p, out)
	if err == nil {
		c.fill(m, a)
	}
	return out.End(err) // where filters have changed the text, the response is that
}

// read pushes the pieces of the answer, and collects them.
func (c *completion) read(ctx context.Context, m *hooks.ModelCall, p openai.ChatCompletionNewParams, out *hooks.Stream) (*answer, error) {
	var done doneMark
	stream := c.client.Chat.Completions.NewStreaming(ctx, p, option.WithMiddleware(done.watch))
	defer func() { _ = stream.Close() }()
	a := &streamed{index: make(map[int64]int)}
	raw, whole := new(openai.ChatCompletionAccumulator), true
	for stream.Next() {
		chunk := stream.Current()
		whole = whole && raw.AddChunk(chunk)
		if chunk.JSON.Usage.Valid() {
			m.Usage = usage(chunk.Usage)
		}
		pieces, err := a.add(&chunk)
		for _, piece := range pieces {
			if err := out.Push(piece); err != nil {
				return nil, err
			}
		}
		if err != nil {
			return nil, err
		}
	}
	switch err := stream.Err(); {
	case err != nil:
		return nil, withStatus(err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case a.finish == "" && !done.seen:
		return nil, fmt.Errorf("hooksopenai: the stream has ended before the answer: %w", io.ErrUnexpectedEOF)
	case !a.any:
		return nil, errNoChoice
	}
	if whole {
		completion := raw.ChatCompletion
		m.RawResponse = &completion
	}
	return &a.answer, nil
}

// streamed is an answer that is coming.
type streamed struct {
	answer
	any   bool          // there was a piece of it
	index map[int64]int // where the call is that the wire calls so
}

// add takes the next piece of the wire, and returns it as hooks see it.
func (a *streamed) add(chunk *openai.ChatCompletionChunk) (pieces []hooks.Chunk, err error) {
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		a.any = true
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		delta := &choice.Delta
		if text := reasoningIn(delta.JSON.ExtraFields); text != "" {
			a.reasoning.WriteString(text)
			pieces = append(pieces, hooks.Chunk{Kind: hooks.ChunkReasoning, Text: text})
		}
		if text := delta.Content; text != "" {
			a.say(&a.content, text)
			pieces = append(pieces, hooks.Chunk{Kind: hooks.ChunkText, Text: text})
		}
		if text := delta.Refusal; text != "" {
			a.say(&a.refusal, text)
			pieces = append(pieces, hooks.Chunk{Kind: hooks.ChunkText, Text: text})
		}
		a.speak(delta)
		if delta.JSON.FunctionCall.Valid() {
			return pieces, errFunctionCall
		}
		for j := range delta.ToolCalls {
			piece, err := a.call(&delta.ToolCalls[j])
			if err != nil {
				return pieces, err
			}
			pieces = append(pieces, piece)
		}
	}
	return pieces, nil
}

// speak collects a spoken answer.
func (a *streamed) speak(delta *openai.ChatCompletionChunkChoiceDelta) {
	if !delta.JSON.Audio.Valid() {
		return
	}
	if a.audio == nil {
		a.audio = new(openai.ChatCompletionAudio)
	}
	if delta.Audio.ID != "" {
		a.audio.ID = delta.Audio.ID
	}
	if delta.Audio.ExpiresAt != 0 {
		a.audio.ExpiresAt = delta.Audio.ExpiresAt
	}
	a.audio.Data += delta.Audio.Data
	a.audio.Transcript += delta.Audio.Transcript
}

// call adds a piece of a tool call. The SDK has no field for that of a custom tool.
func (a *streamed) call(d *openai.ChatCompletionChunkChoiceDeltaToolCall) (hooks.Chunk, error) {
	index := max(d.Index, 0) // some servers say -1 of the only call
	at, known := a.index[index]
	if !known || d.ID != "" && a.calls[at].ID != "" && d.ID != a.calls[at].ID { // some say 0 of each
		at = len(a.calls)
		a.calls = append(a.calls, toolCall{})
		a.index[index] = at
	}
	c := &a.calls[at]
	if d.ID != "" {
		c.ID = d.ID
	}
	var custom struct{ Name, Input string }
	field, isCustom := d.JSON.ExtraFields["custom"]
	if isCustom && json.Unmarshal([]byte(field.Raw()), &custom) != nil {
		return hooks.Chunk{}, errCallType("custom")
	}
	c.custom = c.custom || isCustom || d.Type == "custom"
	if d.Type != "" && d.Type != "function" && d.Type != "custom" || c.custom && (d.Type == "function" || d.Function.Name != "" || d.Function.Arguments != "") {
		return hooks.Chunk{}, errCallType(d.Type)
	}
	name, text := d.Function.Name+custom.Name, d.Function.Arguments+custom.Input
	c.name += name
	c.text += text
	return hooks.Chunk{Kind: hooks.ChunkToolCall, Index: at, ID: c.ID, Name: c.name, Text: text}, nil
}

// doneMark looks for the end that the server marks. The SDK's stream ends in the same
// way where the connection is closed in the midst of an answer.
type doneMark struct{ seen bool }

func (d *doneMark) watch(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(req)
	if err == nil && resp.Body != nil {
		d.seen = false
		resp.Body = &markedBody{ReadCloser: resp.Body, mark: d, line: []byte{}}
	}
	return resp, err
}

// markedBody looks at the beginning of each line that is read.
type markedBody struct {
	io.ReadCloser
	mark *doneMark
	line []byte // what there is of the line, as far as it counts; nil behind that
}

var doneData = []byte("data:[DONE]")

func (b *markedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		b.look(part)
		if end < 0 {
			break
		}
		b.line, rest = []byte{}, rest[end+1:]
	}
	return n, err
}

// look adds to the line.
func (b *markedBody) look(part []byte) {
	if b.line == nil {
		return
	}
	b.line = append(b.line, part[:min(len(part), 2*len(doneData))]...)
	said := slices.DeleteFunc(slices.Clone(b.line), func(c byte) bool { return c == ' ' })
	switch {
	case bytes.HasPrefix(said, doneData):
		b.mark.seen = true
	case len(said) >= len(doneData):
		b.line = nil
	}
}
