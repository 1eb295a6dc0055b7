package hooks

// How text goes through filters. Each run of text, that is each kind and index, has
// filters of its own, one behind the other; each of them holds what it hasn't let
// through. A piece goes through all of them before anything of it is shown.

import (
	"errors"
	"slices"
	"unicode/utf8"
)

// textRun is one run of text under way.
type textRun struct {
	kind     ChunkKind
	index    int
	id, name string
	opened   bool    // stages are made
	stages   []stage // those whose filter takes the run
	tail     []byte  // the beginning of a rune
	marks    int     // fences behind tail
	held     int     // bytes in tail and in the stages
	epoch    int     // how many fences its text has passed; see fences
	through  []byte  // what was let through, as far as it is needed
}

// stage is one filter at one run of text.
type stage struct {
	h      *hook
	at     int    // the place of h among the filters of the stream
	filter Filter // nil: it is out
	held   []byte
	marks  []int // fences, as places in held
}

// run returns the run of text that a chunk belongs to.
func (s *Stream) run(k ChunkKind, index int) *textRun {
	for _, r := range s.runs {
		if r.index == index && r.kind == k {
			return r
		}
	}
	r := &textRun{kind: k, index: index, epoch: s.queue.all()}
	s.runs = append(s.runs, r)
	return r
}

// identify keeps whose text the run is, and tells it to every chunk.
func (r *textRun) identify(c *Chunk) {
	if c.ID != "" {
		r.id = c.ID
	}
	if c.Name != "" {
		r.name = c.Name
	}
	c.ID, c.Name = r.id, r.name
}

// drop forgets what the run holds.
func (r *textRun) drop() {
	r.stages, r.tail, r.marks, r.held = nil, nil, 0, 0
}

// text takes a chunk through the filters of its run, and shows what they let
// through.
func (s *Stream) text(r *textRun, c *Chunk) error {
	if !r.opened && !s.openFilters(r) {
		return s.err
	}
	whole := len(r.tail) == 0 && unfinished(c.Text) == 0
	if whole && len(r.stages) == 0 {
		return s.emit(r, c)
	}
	s.bufs[0] = append(append(s.bufs[0][:0], r.tail...), c.Text...)
	in := s.bufs[0]
	marks := s.places[0][:0]
	if !whole {
		cut := len(in) - unfinished(in)
		if cut > 0 {
			marks = r.passTail(marks, in)
		}
		r.tail = append(r.tail[:0], in[cut:]...)
		in = in[:cut]
	}
	out, marks, same := s.filter(r, in, marks, false)
	if s.err != nil {
		return s.err
	}
	s.account(r)
	if same && whole {
		return s.emit(r, c)
	}
	return s.emitText(r, out, marks)
}

// passTail moves the fences behind the tail to where it ends in what follows.
func (r *textRun) passTail(marks []int, in []byte) []int {
	if r.marks == 0 {
		return marks
	}
	_, width := utf8.DecodeRune(in)
	for range r.marks {
		marks = append(marks, max(width, len(r.tail)))
	}
	r.marks = 0
	return marks
}

// finish calls the filters a last time and shows what they let through.
func (s *Stream) finish() {
	for _, r := range s.runs {
		if !r.opened {
			continue
		}
		s.bufs[0] = append(s.bufs[0][:0], r.tail...)
		in := s.bufs[0]
		marks := r.passTail(s.places[0][:0], in)
		r.tail = r.tail[:0]
		out, marks, _ := s.filter(r, in, marks, true)
		if s.err != nil {
			return
		}
		s.account(r)
		if s.emitText(r, out, marks) != nil {
			return
		}
	}
}

// account brings the count of what waits up to date.
func (s *Stream) account(r *textRun) {
	held := len(r.tail)
	for i := range r.stages {
		held += len(r.stages[i].held)
	}
	s.wait(held - r.held)
	r.held = held
}

// openFilters makes the filters of a run of text. It returns false if one of them
// has ended the stream.
func (s *Stream) openFilters(r *textRun) bool {
	r.opened = true
	for at, h := range s.filters {
		g := stage{h: h, at: at}
		panicked := s.makeFilter(&g, r.kind)
		if panicked != nil {
			s.judge(&g, nil, panicked)
			if s.err != nil {
				return false
			}
		}
		if g.filter != nil {
			r.stages = append(r.stages, g)
		}
	}
	return true
}

// makeFilter calls the StreamFunc of g.
func (s *Stream) makeFilter(g *stage, k ChunkKind) (panicked *PanicError) {
	returned := false
	s.beginFilter()
	defer func() {
		s.endFilter(g)
		if !returned {
			panicked = newPanicError(recover())
		}
	}()
	g.filter = s.open(s.ctx, g.h, k)
	returned = true
	return nil
}

// filter takes text through the stages of a run. It returns what the last of them
// let through, where in it fences are, and whether that is what came in. The text
// that comes in is in the first of two buffers, between which it goes back and
// forth.
func (s *Stream) filter(r *textRun, in []byte, marks []int, final bool) (out []byte, places []int, same bool) {
	same = true
	to := 1
	for i := range r.stages {
		g := &r.stages[i]
		if g.filter == nil || len(in) == 0 && len(marks) == 0 && !final {
			continue
		}
		var asItWas bool
		in, marks, asItWas = s.pass(r, g, in, marks, final, to)
		if s.err != nil {
			return nil, nil, false
		}
		if !asItWas {
			same = false
			to = 1 - to
		}
	}
	return in, marks, same
}

// pass takes text through one stage.
func (s *Stream) pass(r *textRun, g *stage, in []byte, marks []int, final bool, to int) (out []byte, places []int, same bool) {
	switch limit := g.h.maxHold; {
	case len(in) == 0 && !final: // fences alone
		if len(g.held) == 0 {
			return in, marks, true
		}
		for range marks {
			g.marks = append(g.marks, len(g.held))
		}
		return in, nil, true
	case len(g.held) > 0 || len(marks) > 0 || len(in) > limit:
		return s.passWindows(r, g, in, marks, final, to)
	default: // the usual case, without a copy
		s.window.begin(in, len(in) >= limit, final, g.h.guard)
		if !s.call(r, g) || s.window.untouched() {
			return in, nil, true
		}
		g.held = append(g.held[:0], in[s.window.hold:]...)
		s.bufs[to] = s.window.appendTo(s.bufs[to][:0])
		return s.bufs[to], nil, false
	}
}

// passWindows is pass for what needs several windows, or is behind what is held.
func (s *Stream) passWindows(r *textRun, g *stage, in []byte, marks []int, final bool, to int) (out []byte, places []int, same bool) {
	out, places = s.bufs[to][:0], s.places[to][:0]
	w := &s.window
	for taken := 0; ; {
		n := room(len(g.held), g.h.maxHold, in[taken:])
		for len(marks) > 0 && marks[0] <= taken+n {
			g.marks = append(g.marks, len(g.held)+marks[0]-taken)
			marks = marks[1:]
		}
		g.held = append(g.held, in[taken:taken+n]...)
		taken += n
		last := taken == len(in)
		w.begin(g.held, len(g.held) >= g.h.maxHold, final && last, g.h.guard)
		counts := s.call(r, g)
		if s.err != nil {
			return nil, nil, false
		}
		if !counts { // it is out: all goes on
			start := len(out)
			out = append(append(out, g.held...), in[taken:]...)
			for _, m := range g.marks {
				places = append(places, start+m)
			}
			for _, m := range marks {
				places = append(places, start+len(g.held)+m-taken)
			}
			g.held, g.marks = nil, nil
			s.bufs[to], s.places[to] = out, places
			return out, places, false
		}
		start, left := len(out), g.marks[:0]
		out = w.appendTo(out)
		for _, m := range g.marks {
			if m <= w.hold {
				places = append(places, start+w.place(m))
			} else {
				left = append(left, m-w.hold)
			}
		}
		g.marks = left
		g.held = g.held[:copy(g.held, g.held[w.hold:])]
		if last {
			s.bufs[to], s.places[to] = out, places
			return out, places, false
		}
	}
}

// room returns how much of rest a window takes that has held bytes: up to the rune
// that reaches the limit.
func room(held, limit int, rest []byte) int {
	n := max(limit-held, 0)
	if n >= len(rest) {
		return len(rest)
	}
	for !runeBorder(rest, n) {
		n++
	}
	return n
}

var errHoldsTooMuch = errors.New("hooks: the filter holds text at its bound or at the end of the text, where it must decide; see WithMaxHold")

// call calls the filter of g on the window, and says whether what it did there
// counts. If not, the filter is out, or the stream has ended.
func (s *Stream) call(r *textRun, g *stage) bool {
	w := &s.window
	panicked, err := s.callFilter(g)
	if fault := s.nest.fault(s.flow.name); fault != nil {
		s.log.failed(g, ruling{abort: fault.(*HookAborted)})
		s.refuse(fault.(*HookAborted))
		return false
	}
	if panicked == nil && err == nil {
		if w.holdsTooMuch() {
			if g.h.failClosed {
				err = errHoldsTooMuch
			} else {
				w.hold = len(w.text)
			}
		}
		if err == nil {
			err = w.misuse()
		}
		if err == nil {
			if w.alters() {
				s.alter(r.kind)
				s.log.modified(g)
			}
			return true
		}
	}
	s.judge(g, err, panicked)
	return false
}

func (s *Stream) callFilter(g *stage) (panicked *PanicError, err error) {
	returned := false
	s.beginFilter()
	defer func() {
		s.endFilter(g)
		if !returned {
			panicked = newPanicError(recover())
		}
	}()
	err = g.filter(s.ctx, &s.window)
	returned = true
	return nil, err
}

// beginFilter says that foreign code runs on behalf of a filter.
func (s *Stream) beginFilter() {
	if s.values != nil {
		s.values.level.Add(1)
	}
	s.log.begin()
}

func (s *Stream) endFilter(g *stage) {
	s.log.end(g)
	s.window.live = false
	if s.values != nil {
		s.values.level.Add(-1)
	}
}

// judge rules on a filter that didn't return nil: the stream ends, or the filter is
// out.
func (s *Stream) judge(g *stage, err error, panicked *PanicError) {
	g.filter = nil
	if panicked == nil && findAbort(err) == nil {
		if found := findSuspended(err); found != nil {
			waits := suspension(found, err)
			if s.lock() {
				s.of.waits = waits
				s.of.mu.Unlock()
			}
			s.log.suspended(g, waits)
			s.stop(waits)
			return
		}
	}
	ruled := rule(s.flow, g.h, err, panicked)
	s.log.failed(g, ruled)
	if ruled.err != nil {
		logFailure(s.ctx, s.flow, g.h, ruled)
	}
	if ruled.abort != nil {
		s.refuse(ruled.abort)
	}
}

// refuse ends the stream with the abort of a filter, which its seam returns.
func (s *Stream) refuse(abort *HookAborted) {
	if s.lock() {
		s.of.refused = abort
		s.of.mu.Unlock()
	}
	s.stop(abort)
}

// alter notes that what is let through of a kind isn't what was pushed.
func (s *Stream) alter(k ChunkKind) {
	if !slices.Contains(s.altered, k) {
		s.altered = append(s.altered, k)
	}
}
