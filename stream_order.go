package hooks

// How what comes out of the filters keeps its order. A chunk without text is a
// fence: it waits until all text that was pushed before it is decided, and nothing
// that was pushed after it is shown before. Where text is held, the place of the
// fence in it goes through the filters as a mark.

// fences are the chunks without text that wait, the oldest first. They are counted
// from the beginning of the stream.
type fences struct {
	passed  int // how many are no longer here
	waiting []*fence
}

// fence is a chunk without text that waits.
type fence struct {
	chunk  Chunk
	before int      // runs that hold text from before it
	behind []queued // what was let through meanwhile, from before the next fence
}

type queued struct {
	run   *textRun
	chunk Chunk
}

// all returns how many fences there have been.
func (f *fences) all() int { return f.passed + len(f.waiting) }

func (f *fences) drop() {
	f.passed, f.waiting = f.all(), nil
}

// inOrder shows a chunk without text, or makes it a fence.
func (s *Stream) inOrder(c *Chunk) error {
	before := 0
	for _, r := range s.runs {
		if r.held > 0 {
			before++
		}
	}
	if before == 0 { // then no fence waits either
		return s.deliver(nil, c)
	}
	for _, r := range s.runs {
		if r.held > 0 {
			r.mark()
		} else {
			r.epoch++
		}
	}
	s.queue.waiting = append(s.queue.waiting, &fence{chunk: *c, before: before})
	return nil
}

// mark puts a fence behind what the run holds.
func (r *textRun) mark() {
	if len(r.tail) > 0 {
		r.marks++
		return
	}
	for i := range r.stages {
		if g := &r.stages[i]; len(g.held) > 0 {
			g.marks = append(g.marks, len(g.held))
			return
		}
	}
}

// passFence says that the run holds nothing more from before its next fence.
func (s *Stream) passFence(r *textRun) error {
	s.queue.waiting[r.epoch-s.queue.passed].before--
	r.epoch++
	for len(s.queue.waiting) > 0 && s.queue.waiting[0].before == 0 {
		f := s.queue.waiting[0]
		s.queue.waiting = s.queue.waiting[1:]
		s.queue.passed++
		if err := s.deliver(nil, &f.chunk); err != nil {
			return err
		}
		for i := range f.behind {
			q := &f.behind[i]
			s.wait(-len(q.chunk.Text))
			if err := s.deliver(q.run, &q.chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// emitText shows text of a run that was held back, joined or changed, with fences
// at the places given.
func (s *Stream) emitText(r *textRun, text []byte, places []int) error {
	at := 0
	for _, place := range places {
		if err := s.emitPiece(r, text[at:place]); err != nil {
			return err
		}
		if err := s.passFence(r); err != nil {
			return err
		}
		at = place
	}
	return s.emitPiece(r, text[at:])
}

func (s *Stream) emitPiece(r *textRun, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	return s.emit(r, &Chunk{Kind: r.kind, Index: r.index, Text: string(text), ID: r.id, Name: r.name})
}

// emit shows what was let through of a run, when the fences in front of it are
// gone.
func (s *Stream) emit(r *textRun, c *Chunk) error {
	if r.epoch == s.queue.passed {
		return s.deliver(r, c)
	}
	f := s.queue.waiting[r.epoch-s.queue.passed-1]
	f.behind = append(f.behind, queued{r, *c})
	s.wait(len(c.Text))
	return nil
}

// deliver shows a chunk, or keeps it for the post point. Its run is nil where it
// has no text.
func (s *Stream) deliver(r *textRun, c *Chunk) error {
	if r != nil && (s.waits || r.kind == ChunkText || r.kind == ChunkReasoning) {
		r.through = append(r.through, c.Text...)
	}
	if s.waits {
		s.waiting = append(s.waiting, *c)
		s.wait(len(c.Text))
		return nil
	}
	if !s.mayShow() { // the seam has ended meanwhile
		s.stop(errStreamOut)
		return s.err
	}
	if err := s.present(c); err != nil {
		s.stop(err)
		return err
	}
	return nil
}

// mayShow says whether the seam lets the stream show a chunk, and keeps that it does.
func (s *Stream) mayShow() bool {
	if s.showed {
		return s.state.Load() == streamBusy
	}
	if s.showed = s.lock(); s.showed {
		s.of.shown = true
		s.of.mu.Unlock()
	}
	return s.showed
}

// present shows a chunk.
func (s *Stream) present(c *Chunk) error {
	s.chunks++
	s.bytes += len(c.Text)
	return s.show(*c)
}
