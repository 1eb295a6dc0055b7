// A reply that comes piece by piece.

package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
)

// Piece is what the model said next: a piece of the reply's text or of one of
// its tool calls. The pieces of several calls may alternate.
type Piece struct {
	Tool     bool   // it is of a tool call
	Index    int    // of the call in Reply.ToolCalls, 0 for text
	ID, Name string // of the call, as far as known; both may have come before
	Text     string // of a call, a piece of its arguments as the model writes them; may be empty there
}

// streamed is how many times as long as its reply a stream may be: a piece of a
// few bytes comes in an event of a few hundred.
const streamed = 256

// Stream sends req, calls piece with each piece of the reply as it comes, one
// after the other in the goroutine of the caller, and returns the whole reply.
// Where an endpoint doesn't stream but answers at once, the text is one piece
// and each tool call is one.
//
// It fails as [Client.Complete] does, also after pieces were handed over: with
// an error that the endpoint sends in between, and when the reply ends before
// the endpoint has said so. The endpoint takes too long when it sends nothing
// for the client's timeout; the whole stream may take longer, and ends at the
// latest with ctx. An error of piece ends the stream and is returned as it is.
func (c *Client) Stream(ctx context.Context, req Request, piece func(Piece) error) (Reply, error) {
	body, err := json.Marshal(streamRequest{Request: req, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}})
	if err != nil {
		return Reply{}, notJSON(err)
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &stream{
		client: c,
		silent: time.AfterFunc(c.timeout, func() { cancel(errTimeout) }),
		show:   piece,
	}
	defer s.silent.Stop()
	reply, err := s.run(limited, func() { cancel(nil) }, body)
	switch {
	case s.stopped != nil:
		return Reply{}, s.stopped
	case err != nil:
		return Reply{}, c.failure(ctx, limited, err, "sent nothing for %v")
	}
	return reply, nil
}

// stream is one call of Stream.
type stream struct {
	client  *Client
	silent  *time.Timer // ends the call; runs while the endpoint is waited for
	show    func(Piece) error
	stopped error // of show

	said     assembly
	finished bool // the model has said why it ended
}

func (s *stream) run(ctx context.Context, cancel func(), body []byte) (Reply, error) {
	c := s.client
	resp, err := c.send(ctx, body, "text/event-stream, application/json")
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		defer time.AfterFunc(errorWait, cancel).Stop()
		return Reply{}, c.statusError(resp)
	}
	watched := watchedReader{resp.Body, s.silent, c.timeout}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		return s.events(ctx, watched)
	}
	reply, err := c.whole(watched)
	if err != nil {
		return Reply{}, err
	}
	return reply, s.showWhole(reply)
}

// watchedReader runs the timer while it reads, and not while what it has read
// is being shown: that takes whatever time people take.
type watchedReader struct {
	io.Reader
	silent *time.Timer
	limit  time.Duration
}

func (r watchedReader) Read(p []byte) (int, error) {
	r.silent.Reset(r.limit)
	defer r.silent.Stop()
	return r.Reader.Read(p)
}

// events reads the reply. It is complete at [DONE], and also at the end of the
// stream where the model has said why it ended: not every server sends [DONE].
func (s *stream) events(ctx context.Context, body io.Reader) (Reply, error) {
	c := s.client
	wire := &io.LimitedReader{R: body, N: c.maxBytes * streamed}
	events := newEvents(wire, c.maxBytes)
	for {
		e, err := events.next()
		switch {
		case ctx.Err() != nil:
			return Reply{}, ctx.Err() // what came before isn't shown any more
		case errors.Is(err, errEventTooLong) || err != nil && wire.N <= 0:
			return Reply{}, c.tooLong()
		case errors.Is(err, io.EOF) && s.finished:
			return c.checked(s.said.reply())
		case errors.Is(err, io.EOF):
			return Reply{}, c.brokeOff(io.ErrUnexpectedEOF)
		case err != nil:
			return Reply{}, c.brokeOff(err)
		}
		e.data = bytes.TrimSpace(e.data)
		switch string(e.data) {
		case "[DONE]":
			return c.checked(s.said.reply())
		case "":
			continue // a server that says it is still there
		}
		if err := s.take(e); err != nil {
			return Reply{}, err
		}
	}
}

// take adds an event to the reply and shows what is new.
func (s *stream) take(e event) error {
	c := s.client
	var got chunk
	err := json.Unmarshal(e.data, &got)
	switch {
	case err == nil && got.Error != nil:
		return c.sentError(got.Error.Message)
	case e.kind == "error":
		return c.sentError(string(e.data))
	case err != nil:
		return c.errorf("sent an event that isn't of a chat completion (%s): %s", problem(err), c.excerpt(e.data))
	}
	if got.Usage != nil {
		s.said.usage = *got.Usage // the last one counts: some servers send it with every event
	}
	for _, choice := range got.Choices {
		if choice.Index != 0 {
			continue // nobody has asked for another
		}
		if text := choice.Delta.Content; text != "" {
			if err := s.add(s.said.addText(text)); err != nil {
				return err
			}
		}
		for _, delta := range choice.Delta.ToolCalls {
			if err := s.add(s.said.addCall(delta)); err != nil {
				return err
			}
		}
		if choice.FinishReason != "" {
			s.said.finish, s.finished = choice.FinishReason, true
		}
	}
	return nil
}

// add shows a piece that was added to the reply, if the reply isn't too long.
func (s *stream) add(p Piece) error {
	if int64(s.said.size) > s.client.maxBytes {
		return s.client.tooLong()
	}
	s.stopped = s.show(p)
	return s.stopped
}

func (s *stream) showWhole(reply Reply) error {
	if reply.Content != "" {
		if s.stopped = s.show(Piece{Text: reply.Content}); s.stopped != nil {
			return s.stopped
		}
	}
	for i, call := range reply.ToolCalls {
		s.stopped = s.show(Piece{Tool: true, Index: i, ID: call.ID, Name: call.Function.Name, Text: call.Function.Arguments})
		if s.stopped != nil {
			return s.stopped
		}
	}
	return nil
}
