package hooks

// Streams: what a body shows while it still runs, and the filters in between.
//
//	OpenStream   which filters there are, and whether the post point holds the text
//	Push         whole runes; filters; what they let through is shown in order
//	End          the last call of each filter
//
// How text goes through filters is in stream_filter.go, how what comes out keeps its
// order in stream_order.go, and how a stream belongs to the passage of a seam in
// stream_passage.go.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Flow is the typed handle of what a body streams: a [ModelStream], a
// [ToolStream], or the Stream of a framework's own [Seam]. It is comparable and
// may be copied freely. The zero Flow names nothing: registering at it panics.
type Flow[C any] struct{ p *point }

// Name returns the flow's name, "" for the zero Flow.
func (f Flow[C]) Name() InterceptionPoint { return Point[C](f).Name() }

// The flows of the library's own seams.
var (
	// ModelStream is what a model answers, piece by piece.
	ModelStream = defineFlow("model_stream", PostModelCall, PreModelCall)
	// ToolStream is what a tool returns, piece by piece. What a tool shows beside its
	// result has a ChunkKind of its own.
	ToolStream = defineFlow("tool_stream", PostToolCall, PreToolCall)
)

// Chunk is one piece of a stream.
type Chunk struct {
	Kind  ChunkKind // ChunkText if it is empty
	Index int       // pieces with the same Kind and Index are one run of text
	Text  string    // of a tool call, a piece of its arguments as the model writes them

	// ID and Name are those of the tool call. Every chunk that is shown has them,
	// once one of its run had them.
	ID, Name string

	// Native is the framework's own piece. It is nil once its text was held back,
	// joined or changed.
	Native any
}

// ChunkKind says what the text of a [Chunk] is. A framework may have kinds of its
// own, which are filtered as the others are.
type ChunkKind string

// The kinds of chunks.
const (
	ChunkText      ChunkKind = "text"
	ChunkReasoning ChunkKind = "reasoning"
	ChunkToolCall  ChunkKind = "tool_call" // arguments
	ChunkOther     ChunkKind = "other"     // what has no text, such as an event of the provider's
)

// Filter sees a run of text before anybody is shown it, piece by piece as it
// comes, and a last time with [Window.Final]. It lets text through, changes it, or
// holds its end back to see more first. It returns nil to go on and [Abort] to end
// the stream. Another error is a failure, after which the filter is out for the
// rest of that run of text, and what it held goes on; a fail-closed filter ([AsGuard],
// [WithFailClosed]) ends the stream instead.
type Filter = func(ctx context.Context, w *Window) error

// StreamFunc makes the [Filter] for one run of text, when its first piece comes,
// so that its state is fresh: runs may come in turns. It returns nil to pass the
// run over. c is the call whose body streams.
type StreamFunc[C any] = func(ctx context.Context, c *C, k ChunkKind) Filter

// OnStream registers open to filter what is streamed at f. An answer that isn't
// streamed passes no filter, so what must not get out is looked at by a hook of the
// post point too; with [AfterShown] that doesn't hold the stream back. Filters run in the
// usual order, guards last, and each gets what those before it let through. Which
// filters a stream has is decided when it is opened. A filter that is a guard
// ([AsGuard]) decides on what will be shown, and may not change it.
//
// The options are those of [On] but [WithTimeout], and [WithMaxHold]; of a filter
// that is [WithOnce], the first stream uses it up. OnStream panics as On does. It
// is safe for concurrent use, from inside a hook too.
func OnStream[C any](f Flow[C], open StreamFunc[C], opts ...Option) *Registration {
	checkTarget("OnStream", f.p, open == nil)
	cfg := newConfig("OnStream", f.p, opts)
	if cfg.timed {
		panic(fmt.Sprintf("hooks: OnStream(%s): WithTimeout doesn't apply, since a filter runs once for each piece; give what it calls a ctx with a deadline", f.p.name))
	}
	h := cfg.hook(f.p, open, callerPC())
	h.reg.kind = KindFilter
	return cfg.registry.add(h)
}

// maxHold is how much a filter may hold unless it says otherwise.
const maxHold = 4 << 10

// WithMaxHold lets a filter ([OnStream]) hold at most n bytes of a run of text. The
// default is 4096. See [Window.Full].
func WithMaxHold(n int) Option {
	return option(func(c *config) {
		if n <= 0 {
			c.bad = fmt.Sprintf("WithMaxHold(%d) leaves no room for a rune; give a positive number of bytes", n)
		}
		c.maxHold = n
	})
}

// Stream is what the body of one call shows, piece by piece. Make it with
// [OpenStream]. It is not safe for concurrent use: a second call at the same time
// is an error, and so is one from inside of a filter or of what shows the chunks.
type Stream struct {
	state   atomic.Uint32
	of      *streamed
	flow    *point
	c       any
	ctx     context.Context // what filters get
	nest    *nest           // of the filters, nil without any
	values  *Values         // of c, nil if it has none
	show    func(Chunk) error
	open    func(context.Context, *hook, ChunkKind) Filter
	filters []*hook // in running order
	waits   bool    // the post point decides before anything is shown

	runs    []*textRun
	queue   fences
	waiting []Chunk     // for the post point
	altered []ChunkKind // what is let through of these isn't what was pushed
	err     error       // why nothing more is shown; the one who is busy writes it
	over    error       // what End returned; set before the state closed
	failed  bool        // it ended with a failure of the body's
	broken  bool        // it was in use when its seam ended; the seam's own
	showed  bool        // something was shown, before the seam ended

	bufs   [2][]byte // what goes from filter to filter
	places [2][]int  // the fences in it
	window Window

	log      *streamLog // nil while nobody observes
	held     int        // bytes that wait, for whatever reason
	heldMax  int        // the most that there were
	chunks   int        // that were shown
	bytes    int        // of text that was shown
	released []byte     // text that was shown after the post point
}

// The states of a stream.
const (
	streamIdle uint32 = iota
	streamBusy
	streamClosed
)

// OpenStream begins the stream of c, inside the body of its seam and under the
// body's ctx or one derived from it. Chunks that are let through go to show, in
// the goroutine that pushes.
//
//	func call(ctx context.Context, m *hooks.ModelCall) error {
//		out := hooks.OpenStream(ctx, hooks.ModelStream, m, show)
//		for piece, err := range provider.Stream(ctx, m.Messages) {
//			if err == nil {
//				err = out.Push(hooks.Chunk{Text: piece.Text, Native: piece})
//			}
//			if err != nil {
//				return out.End(err)
//			}
//		}
//		return out.End(nil)
//	}
//
// Where the post point has a guard or a fail-closed hook when the stream is opened,
// and that isn't [AfterShown], nothing is shown before the post hooks have passed. The
// seam shows it then, as one chunk for each run of text if a hook changed something,
// and what a hook wrote passes the filters anew. Where a post hook says that the run
// waits it isn't shown, since nobody has decided. So show may be called until the seam
// returns, and must not wait for somebody who waits for the seam. An error of show
// ends the stream; a show that wants the answer to be finished without anybody looking
// returns nil.
//
// Of a framework's own context that takes a HookPayload which is a string. With another
// payload that a hook changed nothing is shown, and without one the text is shown as it
// was streamed.
//
// Afterwards Response, or Result, is what the filters let through: where the body
// left it empty, and where they changed anything. RawResponse, RawResult and
// ToolCalls stay as the body leaves them; edits of the post hooks change the
// history, and what has been shown stays on the screen. [ModelCall.Shown] and
// [ToolCall.Shown] tell what was.
//
// OpenStream never returns nil. Outside of the body, for another context or with a
// nil show it returns a stream whose Push is an error that says so. A body has one
// stream at a time; another may follow when it has ended.
func OpenStream[C any](ctx context.Context, f Flow[C], c *C, show func(Chunk) error) *Stream {
	switch {
	case f.p == nil:
		return noStream(errors.New("hooks: OpenStream: the zero Flow names nothing; use ModelStream, ToolStream or the Stream of a Seam"))
	case c == nil:
		return noStream(fmt.Errorf("hooks: OpenStream(%s): the context is nil", f.p.name))
	case show == nil:
		return noStream(fmt.Errorf("hooks: OpenStream(%s): show is nil; give the function that shows a chunk", f.p.name))
	}
	return openStream(nonNil(ctx), f.p, c, show, func(ctx context.Context, h *hook, k ChunkKind) Filter {
		return h.fn.(StreamFunc[C])(ctx, c, k)
	})
}

// noStream returns a stream that shows nothing because of err.
func noStream(err error) *Stream {
	s := &Stream{over: err}
	s.state.Store(streamClosed)
	return s
}

// Push gives the stream its next chunk, and returns when show has, or when a
// filter holds the chunk. An error says to stop producing: it is the abort of a
// filter, the error of show, or says what is wrong with the call. Once Push has
// failed nothing more is shown, and it fails again.
//
// What has no text keeps its place: it is shown when all text that was pushed
// before it has been shown or dropped, and what is pushed after it isn't shown
// before that. So a filter that holds the end of a block of text holds the event
// that ends the block, too, and what follows that. Runs of text alone don't wait for
// one another, and of a kind that has text a chunk without one waits only if its
// own run is held.
//
// Text is shown in whole runes: bytes that may become one wait for the rest. Push
// doesn't look at ctx.
func (s *Stream) Push(c Chunk) (err error) {
	if !s.enter() {
		return s.refusal()
	}
	returned := false
	defer func() { s.leave(returned) }()
	err = s.push(&c)
	returned = true
	return err
}

// Write pushes p as [ChunkText] of Index 0, so that a stream can be where the
// output of a program goes.
func (s *Stream) Write(p []byte) (int, error) {
	if err := s.Push(Chunk{Kind: ChunkText, Text: string(p)}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// End ends the stream, and decides what is held: filters are called a last time.
// After a failure err, of the model or of the connection, what is held of a
// model's answer is dropped; that of a tool, whose exit status may well be 1, is
// decided in the same way. End returns the abort of a filter, else err, else an
// error of show; called again, it returns the same. A body that doesn't call it has
// failed, and its stream is ended as after a failure.
func (s *Stream) End(err error) (result error) {
	if !s.enter() {
		if s != nil && s.state.Load() == streamClosed {
			return s.over
		}
		return s.refusal()
	}
	returned := false
	defer func() { s.leave(returned) }()
	result = s.end(err)
	returned = true
	return result
}

// enter takes the stream for one call.
func (s *Stream) enter() bool {
	return s != nil && s.state.CompareAndSwap(streamIdle, streamBusy)
}

// leave ends that call. One that panicked, or whose goroutine ends, has shown what
// it has shown, and nothing follows.
func (s *Stream) leave(returned bool) {
	if !returned && s.err == nil {
		s.stop(errStreamLeft)
	}
	s.state.CompareAndSwap(streamBusy, streamIdle)
}

var (
	errNilStream   = errors.New("hooks: the *Stream is nil; make one with OpenStream")
	errStreamBusy  = errors.New("hooks: the stream is in use; push one chunk after the other, not from a filter or from what shows a chunk, and not after the body")
	errStreamEnded = errors.New("hooks: the stream has ended; nothing can be pushed behind its End")
	errStreamLeft  = errors.New("hooks: the stream has ended by a panic or an exit of the goroutine")
	errStreamOut   = errors.New("hooks: the stream has ended with the body of its seam; nothing can be pushed afterwards")
	errStreamOpen  = errors.New("hooks: the body has returned without Stream.End: what it streamed isn't complete")
)

// refusal says why the stream takes no call.
func (s *Stream) refusal() error {
	switch {
	case s == nil:
		return errNilStream
	case s.state.Load() != streamClosed:
		return errStreamBusy
	case s.over != nil:
		return s.over
	}
	return errStreamEnded
}

// push is Push for the one who has the stream. Chunks are handed on by address, since
// they are large; nobody keeps the address.
func (s *Stream) push(c *Chunk) error {
	if c.Kind == "" {
		c.Kind = ChunkText
	}
	switch {
	case s.err != nil:
		if c.Text != "" {
			s.alter(c.Kind)
		}
		return s.err
	case c.Kind == ChunkOther && c.Text != "":
		s.stop(fmt.Errorf("hooks: %s: a chunk of the kind %q has text, which no filter would see; give it another kind", s.flow.name, c.Kind))
		return s.err
	case c.Kind == ChunkOther:
		return s.inOrder(c)
	}
	r := s.run(c.Kind, c.Index)
	r.identify(c)
	if c.Text != "" {
		return s.text(r, c)
	}
	if r.held > 0 {
		return s.inOrder(c)
	}
	return s.emit(r, c)
}

// end is End for the one who has the stream, and closes it.
func (s *Stream) end(err error) error {
	switch {
	case s.err != nil:
	case err != nil && !s.of.tool:
		s.failed = true
		s.stop(err)
	default:
		s.finish()
	}
	result := s.verdict()
	if result == nil {
		result = err
	}
	if result == nil {
		result = s.err
	}
	s.close(result)
	return result
}

// close ends the use of the stream.
func (s *Stream) close(result error) {
	if s.lock() {
		s.over = result
		s.of.keepText(s.c)
		s.state.Store(streamClosed)
		s.of.mu.Unlock()
	}
	if len(s.waiting) == 0 {
		s.report()
	}
}

// stop drops all that waits: nothing more is shown, because of err. What waited for
// the post point was let through, and stays in the text.
func (s *Stream) stop(err error) {
	s.err = err
	for _, r := range s.runs {
		if r.held > 0 {
			s.alter(r.kind)
		}
		r.drop()
	}
	for _, f := range s.queue.waiting {
		for _, q := range f.behind {
			s.alter(q.chunk.Kind)
		}
	}
	s.queue.drop()
	s.waiting, s.held = nil, 0
}

// wait counts bytes that are held, or no longer.
func (s *Stream) wait(n int) {
	s.held += n
	s.heldMax = max(s.heldMax, s.held)
}
