package hooks

// What becomes of a stream that waited for its post point, when that has decided:
// it is shown as it was streamed, or as the hooks left its text, or not at all.

import (
	"log/slog"
	"slices"
)

// release ends what the passage has streamed when the post point of c is settled:
// its hooks came to outcome, and the seam is to return result. What waited is shown
// if nobody refused it, or said that the run waits: then nobody has decided. If that fails and the seam would return nil, a tool's result
// stands, and other seams return the failure.
func (s *seam) release(p *point, c any, outcome, result error) error {
	of := s.streamed
	if of == nil || of.over {
		return result
	}
	returned := false
	defer func() {
		if !returned { // who is shown it ends the goroutine
			s.close()
		}
	}()
	var failure error
	refused := of.verdict() != nil || s.wrapped.refused != nil
	if of.waiting() && !refused && (s.err == nil || of.tool) && outcome == nil {
		failure = of.showWaiting(c)
	}
	of.conclude()
	switch verdict := of.verdict(); {
	case failure == nil || result != nil:
	case verdict != nil: // of a filter, about what hooks made of the text
		result = s.withhold(p, c, verdict)
	case s.kind == toolSeam:
		logError(s.ctx, "hooks: what shows the stream of a tool failed", failure, slog.String("point", string(p.name)))
	default:
		result = failure
		s.tellShowFailed(p, c, failure)
	}
	returned = true
	return result
}

// withhold takes out a text that hooks made, and that a filter has refused with
// verdict, and returns what the seam does.
func (s *seam) withhold(p *point, c any, verdict error) error {
	switch c := c.(type) {
	case *ToolCall:
		if abort := s.streamed.refused; abort != nil && s.kind == toolSeam {
			return c.block(abort, withheldText)
		}
	case *ModelCall:
		c.veto()
		c.Err = verdict
	default:
		tellError(s.ctx, p, c, verdict)
	}
	return verdict
}

func (s *seam) tellShowFailed(p *point, c any, failure error) {
	if m, ok := c.(*ModelCall); ok {
		m.Err = failure
		return
	}
	tellError(s.ctx, p, c, failure)
}

// showWaiting shows what waited. A panic of what shows it is an error.
func (of *streamed) showWaiting(c any) (failure error) {
	var r recovery
	func() {
		defer r.catch()
		failure = of.showAll(c)
		r.returned = true
	}()
	if r.panicked != nil {
		return r.panicked
	}
	return failure
}

func (of *streamed) showAll(c any) error {
	var w rewriter
	edited := of.left.payload.changed()
	if edited {
		w.compare(&of.left, c)
	}
	for _, s := range of.streams {
		if s.broken {
			continue
		}
		chunks := s.waiting
		if edited {
			var err error
			if chunks, err = s.filterAgain(w.rewrite(s)); err != nil {
				return err
			}
		}
		s.waiting = nil
		for i := range chunks {
			c := &chunks[i]
			if c.Kind == ChunkText {
				s.released = append(s.released, c.Text...)
			}
			of.shown = true
			if err := s.present(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// filterAgain takes what hooks made of the text through fresh filters: nothing is
// shown that these haven't let through.
func (s *Stream) filterAgain(chunks []Chunk) (through []Chunk, err error) {
	if len(s.filters) == 0 {
		return chunks, nil
	}
	again := &Stream{of: s.of, flow: s.flow, c: s.c, ctx: s.ctx, nest: s.nest, values: s.values, open: s.open, filters: s.filters, waits: true}
	again.state.Store(streamBusy)
	for i := range chunks {
		if err := again.push(&chunks[i]); err != nil {
			return nil, err
		}
	}
	if again.finish(); again.err != nil {
		return nil, again.err
	}
	return again.waiting, nil
}

// leftText is the text of a context, as far as it may have been streamed.
type leftText struct {
	known           bool
	text, reasoning string
	calls           []ToolRequest
	payload         tracker // as the body left it
}

// open keeps the text as the body left it.
func (l *leftText) open(post *point, c any) {
	l.payload.open(post, c)
	l.read(c, l.payload.first.output)
}

// read reads the text of c. Of a framework's own context it is its payload, if that
// is a text.
func (l *leftText) read(c, payload any) {
	own, ok := c.(streamer)
	if !ok {
		l.text, l.known = payload.(string)
		return
	}
	l.known = true
	own.tellText(l)
}

// add adds the text of a context.
func (l *leftText) add(content string, parts []Part) {
	l.text += content
	for _, p := range parts {
		switch {
		case isTextPart(p):
			l.text += p.Text
		case isReasoning(p):
			l.reasoning += p.Text
		}
	}
}

// rewriter makes the chunks of a call whose text hooks have changed after its body.
type rewriter struct {
	known           bool // what the text is now
	text, reasoning newText
	was, calls      []ToolRequest
}

// newText is the text of a kind, and whether hooks have changed it.
type newText struct {
	text           string
	changed, given bool
}

func (w *rewriter) compare(was *leftText, c any) {
	var now leftText
	now.read(c, was.payload.last.output)
	w.known = now.known
	w.text = newText{text: now.text, changed: !was.known || was.text != now.text}
	w.reasoning = newText{text: now.reasoning, changed: was.reasoning != now.reasoning}
	w.was, w.calls = was.calls, now.calls
}

// rewrite returns the chunks of a stream: one for each run of text, without the
// framework's own pieces. New text stands in the first run of its kind, since it
// can't be told what of it belongs to which. What has no text isn't shown, since it
// may hold what was there before; nor is anything of a context that doesn't tell its
// text.
func (w *rewriter) rewrite(s *Stream) (chunks []Chunk) {
	if !w.known {
		return nil
	}
	for _, r := range s.runs {
		c := Chunk{Kind: r.kind, Index: r.index, Text: string(r.through), ID: r.id, Name: r.name}
		switch r.kind {
		case ChunkText:
			c.Text = w.text.of(c.Text)
		case ChunkReasoning:
			c.Text = w.reasoning.of(c.Text)
		case ChunkToolCall:
			w.rewriteCall(&c)
		}
		if c.Text != "" {
			chunks = append(chunks, c)
		}
	}
	return chunks
}

// of returns what is shown of a run of which text was let through.
func (n *newText) of(text string) string {
	switch {
	case !n.changed:
		return text
	case n.given:
		return ""
	}
	n.given = true
	return n.text
}

// rewriteCall makes c say what has become of its tool call: nothing, if a hook has
// dropped it.
func (w *rewriter) rewriteCall(c *Chunk) {
	if slices.Equal(w.was, w.calls) {
		return
	}
	is := func(t ToolRequest) bool { return t.ID == c.ID }
	before, now := slices.IndexFunc(w.was, is), slices.IndexFunc(w.calls, is)
	switch {
	case now < 0:
		c.Text = ""
	case before < 0 || w.was[before].Arguments != w.calls[now].Arguments:
		c.Text = w.calls[now].Arguments
	}
	if now >= 0 {
		c.Name = w.calls[now].Name
	}
}
