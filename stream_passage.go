package hooks

// How a stream belongs to the passage of a seam. The context knows that a body of
// it runs, and what that has streamed; the seam begins and ends each run of the
// body, and shows or drops at the post point what had to wait for that:
//
//	mayStream    the passage begins: what one around it streams is kept apart
//	prepareRun   before each run of the body: what the last run left is dropped
//	beginRun     the body may open a stream
//	endRun       after it: a stream that was left open ends, the text is settled
//	abandonRun   the same after a panic, and where the goroutine ends
//	release      the post point has decided, in front of its watches

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/loophooks/hooks/internal/errtree"
)

// ErrNotAgain is why the body of an operation isn't run again: something of what an
// earlier run streamed has been shown, and two attempts never run together on a
// screen. The error that an [AroundFunc] gets wraps the last failure, too, and has
// its text.
var ErrNotAgain = errors.New("hooks: something of the last attempt has been shown, so there is no other")

// notAgain is ErrNotAgain with the failure of the last run.
type notAgain struct{ last error }

func (e *notAgain) Error() string   { return errtree.Text(e.last) }
func (e *notAgain) Unwrap() []error { return []error{ErrNotAgain, e.last} }

// streamLink is where a context knows of the run of its body.
type streamLink struct {
	runs   bool      // a body does
	flow   *point    // what it may stream at
	frame  *frame    // under which it runs
	hooked bool      // hooks have run in front of it
	began  identity  // what the call was before that
	opened *streamed // what the bodies of the passage have streamed, nil for nothing
	apart  bool      // it is in the ctx of the body
}

// shown returns the text that was shown.
func (l *streamLink) shown() string {
	if l.opened == nil {
		return ""
	}
	return l.opened.shownText()
}

// linkOf returns the link of a context, nil if it has none.
func linkOf(c any) *streamLink {
	switch c := c.(type) { // the first two need no dynamic look-up
	case *ModelCall:
		return &c.stream
	case *ToolCall:
		return &c.stream
	case streamer:
		return c.streamLink()
	}
	return nil
}

// streamNode is the link of a context that has no place for one, in the ctx of its
// body.
type streamNode struct {
	context.Context
	c    any
	link *streamLink
}

var streamKey = &ctxKey{"stream"}

func (n *streamNode) Value(key any) any {
	if k, ok := key.(*ctxKey); ok && k == streamKey {
		return n
	}
	return n.Context.Value(key)
}

// linkIn returns the link of c for a body under ctx, nil if there is none.
func linkIn(ctx context.Context, c any) *streamLink {
	if l := linkOf(c); l != nil {
		return l
	}
	n, _ := ctx.Value(streamKey).(*streamNode)
	switch {
	case n == nil:
		return nil
	case n.c == c:
		return n.link
	}
	return linkIn(n.Context, c)
}

// mayStream begins a passage whose body may stream at flow, of the context that the
// link is of, nil if it has none. It comes before anything else that the seam does
// with the context. What the body of a passage around this one streams is kept until
// close.
func (s *seam) mayStream(flow *point, l *streamLink, values *Values) {
	s.flow, s.link = flow, l
	if l != nil && (l.runs || l.opened != nil) {
		s.setAside(l, values)
	}
}

func (s *seam) setAside(l *streamLink, values *Values) {
	if l.runs || values != nil && values.level.Load() > 0 {
		around := *l
		s.around = &around
	}
	*l = streamLink{}
}

// prepareRun is in front of beginRun where there is something to do: for a context
// without a link, and where the body has run before. What an earlier run streamed,
// and nobody was shown, is dropped. It returns the ctx for the body.
func (s *seam) prepareRun(ctx context.Context, c any) context.Context {
	if s.link == nil {
		s.link = &streamLink{apart: true}
	}
	if s.link.apart {
		ctx = &streamNode{ctx, c, s.link}
	}
	if s.streamed != nil {
		s.streamed.again()
	}
	return ctx
}

// notAgain returns why the body doesn't run again after what it has streamed, nil if
// it may: something was shown, or a filter has ended the operation. It may be called
// on nil.
func (of *streamed) notAgain() error {
	if of == nil {
		return nil
	}
	switch err := of.verdict(); {
	case err != nil:
		return err
	case of.shown && of.last == nil:
		return ErrNotAgain
	case of.shown:
		return &notAgain{of.last}
	}
	return nil
}

// beginRun lets the body that is about to run open a stream.
func (s *seam) beginRun() {
	s.link.runs = true
	if s.link.flow != s.flow { // a pointer is dearer to write than to compare
		s.link.flow = s.flow
	}
	if s.frame != nil || s.inner != nil { // else there is nothing else to know
		s.link.place(s)
	}
}

// place notes where the body of s runs, and what hooks may have made another.
func (l *streamLink) place(s *seam) {
	l.frame, l.hooked = s.frame, s.inner != nil
	if l.hooked {
		l.began = s.began
	}
}

// endRun says that the body doesn't run any more, and finds what it has streamed.
// It does nothing if no body has run.
func (s *seam) endRun() {
	if l := s.link; l != nil && l.runs {
		l.runs = false
		if l.opened != nil {
			s.streamed = l.opened
		}
		if l.frame != nil || l.hooked {
			l.frame, l.hooked = nil, false
		}
	}
}

// abandonRun ends the run of a body that hasn't returned but panicked, or whose
// goroutine ends. Nothing is shown any more.
func (s *seam) abandonRun(c any) {
	s.endRun()
	if of := s.streamed; of != nil {
		of.last = errStreamLeft
		of.abandon(errStreamLeft)
		of.keepText(c)
	}
}

// streamVerdict returns the abort, or the suspension, by which a filter has ended
// the stream of the passage, nil for none: the operation is over with it.
func (s *seam) streamVerdict() error {
	if s.streamed == nil {
		return nil
	}
	return s.streamed.verdict()
}

// streamed is what the bodies of one passage have streamed.
type streamed struct {
	mu      sync.Mutex // held by a stream that writes here, and while one is broken off
	tool    bool       // what is held is decided after a failure too
	shown   bool       // something was shown, by whichever run
	over    bool       // the passage is
	streams []*Stream  // of the last run of the body, in order
	refused *HookAborted
	waits   *Suspended // a filter has suspended the operation
	last    error      // what the last run came to
	left    leftText   // what the body left, as far as something waits
	kept    string     // what put has made of the text
	text    string     // what was shown, once over
}

// verdict returns what a filter has ended the stream with, nil for nothing.
func (of *streamed) verdict() error {
	switch {
	case of.refused != nil:
		return of.refused
	case of.waits != nil:
		return of.waits
	}
	return nil
}

// open returns the stream that is open, nil for none.
func (of *streamed) open() *Stream {
	if n := len(of.streams); n > 0 && of.streams[n-1].state.Load() != streamClosed {
		return of.streams[n-1]
	}
	return nil
}

// again makes ready for another run of the body, when nothing was shown.
func (of *streamed) again() {
	for _, s := range of.streams {
		s.discard()
	}
	of.streams, of.left, of.kept = nil, leftText{}, ""
}

// endRun ends a run of the body that has returned err, and returns what it is taken
// to have returned: what a filter has ended the stream with goes before it.
func (of *streamed) endRun(c any, err error) error {
	_, panicked := err.(*PanicError)
	unwound := panicked || err == ErrGoexit
	if s := of.open(); unwound {
		of.abandon(err)
	} else if s != nil {
		if failure := s.endBySeam(err); err == nil {
			err = failure
		}
	}
	switch verdict := of.verdict(); {
	case verdict == nil || unwound:
	case of.refused != nil && err != nil && findAbort(err) != nil && errtree.Is(err, of.refused):
		// the body's own words about it
	default:
		err = verdict
	}
	of.keepText(c)
	of.last = err
	if err != nil && !of.tool {
		for _, s := range of.streams {
			s.discard()
		}
	}
	if of.waiting() {
		of.left.open(of.streams[0].flow.post, c)
	}
	return err
}

// abandon ends the stream that is open, without a call of its filters.
func (of *streamed) abandon(err error) {
	s := of.open()
	switch {
	case s == nil:
	case s.enter():
		if s.err == nil {
			s.stop(err)
		}
		s.close(s.err)
	default:
		s.breakOff()
	}
}

// endBySeam ends a stream that the body left open: as failed with err, or with an
// error that says so if the body has returned nil. A panic of what shows the rest
// is an error.
func (s *Stream) endBySeam(err error) (failure error) {
	if err == nil {
		err = errStreamOpen
	}
	if !s.enter() {
		s.breakOff()
		return errStreamBusy
	}
	var r recovery
	func() {
		defer r.catch()
		_ = s.end(err)
		r.returned = true
	}()
	if r.panicked != nil {
		s.stop(r.panicked)
		s.close(r.panicked)
		return r.panicked
	}
	return err
}

// breakOff closes a stream that is in use by somebody whom the body didn't wait
// for. What is in it belongs to that one, and nothing more is shown.
func (s *Stream) breakOff() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.broken = true
	s.state.Store(streamClosed)
}

// lock lets the one who has the stream write what is the passage's, until it unlocks
// s.of.mu. It returns false where the seam has broken the stream off: then the passage
// goes on without it.
func (s *Stream) lock() bool {
	s.of.mu.Lock()
	if s.state.Load() != streamClosed {
		return true
	}
	s.of.mu.Unlock()
	return false
}

// verdict is that of the passage, for the one who has the stream.
func (s *Stream) verdict() error {
	if !s.lock() {
		return nil
	}
	defer s.of.mu.Unlock()
	return s.of.verdict()
}

// discard drops what waits for the post point.
func (s *Stream) discard() {
	if s.broken {
		return
	}
	s.waiting = nil
	s.report()
}

// forgetFailed drops the text of streams that have failed before anybody was shown
// something of them: another one stands in their place.
func (of *streamed) forgetFailed() {
	of.streams = slices.DeleteFunc(of.streams, func(s *Stream) bool { return s.failed && s.waits })
}

// waiting says whether something waits for the post point.
func (of *streamed) waiting() bool {
	return slices.ContainsFunc(of.streams, func(s *Stream) bool { return !s.broken && len(s.waiting) > 0 })
}

// conclude ends the passage: nothing waits any more.
func (of *streamed) conclude() {
	of.text, of.over = of.shownText(), true
	for _, s := range of.streams {
		s.discard()
	}
	of.streams, of.left = nil, leftText{}
}

// altered says whether filters have changed or dropped anything of what was
// pushed.
func (of *streamed) altered() bool {
	return slices.ContainsFunc(of.streams, func(s *Stream) bool { return s.broken || len(s.altered) > 0 })
}

// letThrough returns the text of a kind that filters let through, run by run, and
// whether it differs from what was pushed.
func (of *streamed) letThrough(k ChunkKind) (text string, altered bool) {
	var all []byte
	for _, s := range of.streams {
		if s.broken {
			altered = true
			continue
		}
		altered = altered || slices.Contains(s.altered, k)
		for _, r := range s.runs {
			if r.kind == k {
				all = append(all, r.through...)
			}
		}
	}
	return string(all), altered
}

// shownText returns the text that was shown.
func (of *streamed) shownText() string {
	if of.over {
		return of.text
	}
	var all []byte
	for _, s := range of.streams {
		if s.broken {
			continue
		}
		if s.waits {
			all = append(all, s.released...)
			continue
		}
		for _, r := range s.runs {
			if r.kind == ChunkText {
				all = append(all, r.through...)
			}
		}
	}
	return string(all)
}

// keepText gives c the text that was let through.
func (of *streamed) keepText(c any) {
	if own, ok := c.(streamer); ok && of.verdict() == nil {
		own.keepStreamed(of)
	}
}

// put returns the text and the parts of a context with what was let through: in
// the place of text if the body has set none, and in any case if it differs from what was
// pushed. Reasoning is replaced in the parts alone, in that case.
func (of *streamed) put(content string, parts []Part) (string, []Part) {
	text, altered := of.letThrough(ChunkText)
	switch {
	case altered:
		content, of.kept = text, text
		parts = slices.DeleteFunc(slices.Clone(parts), isTextPart)
	case (content == "" || content == of.kept) && !slices.ContainsFunc(parts, func(p Part) bool { return isTextPart(p) && p.Text != "" }):
		content, of.kept = text, text
	}
	if text, altered = of.letThrough(ChunkReasoning); altered {
		parts = withReasoning(parts, text)
	}
	return content, parts
}

// withReasoning returns parts with text as their only reasoning, if they have any.
func withReasoning(parts []Part, text string) []Part {
	at := slices.IndexFunc(parts, isReasoning)
	if at < 0 {
		return parts
	}
	parts = slices.Clone(parts)
	parts[at] = Part{Kind: parts[at].Kind, Text: text}
	rest := slices.DeleteFunc(parts[at+1:], isReasoning)
	return parts[:at+1+len(rest)]
}

func isTextPart(p Part) bool  { return p.Kind == "text" || p.Kind == "" }
func isReasoning(p Part) bool { return p.Kind == "reasoning" }
