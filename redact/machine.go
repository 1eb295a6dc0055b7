package redact

// The machine that runs the program of a Set over a text that comes in pieces.
//
// It is a Pike machine: threads that run side by side, in order of priority,
// each over the same rune. Between two runes a thread is where it goes on, not
// yet followed to the instructions that wait for a rune: the assertions on the
// way need the rune that comes next, which may be in the next piece.

import (
	"regexp/syntax"
	"unicode/utf8"
)

// text is what a machine reads.
type text interface{ string | []byte }

// thread is one way to match. Its offsets count from the beginning of the text,
// not of the piece; those of the group are -1 where it isn't there yet.
type thread struct {
	pc     uint32
	start  int
	lo, hi int
}

// match is where a pattern has matched.
type match struct {
	pattern int32
	start   int
	end     int
	lo, hi  int // of the group
}

// span is a stretch of text that isn't shown, in offsets from the beginning of
// what the machine was given.
type span struct {
	lo, hi  int
	pattern int32
	more    bool // the rest of a match that was too long: it has its replacement
}

// ending says what is behind the text that a machine is given.
type ending uint8

const (
	unknown ending = iota // what the machine will be given next
	full                  // the same, once some of what is there is decided
	final                 // nothing
)

// machine looks for matches in one text. It isn't safe for concurrent use.
type machine struct {
	*program
	bound int // of a match, in bytes; 0 where its text gets full

	base   int   // the offset of the first byte of what it is given
	before class // of the rune in front of that
	pos    int   // the offset of the next rune to be read
	prev   class // of the rune in front of that

	now, next []thread // in order of priority
	stack     []thread // where threads split
	seen      []uint32 // the step in which a thread was last at an instruction
	step      uint32

	matched    bool  // no thread is left that has less priority than found
	found      match // counts once no thread is left that has more
	swallowing bool  // the threads are those of a match that was too long

	// swallowedTo is the offset up to which that match was returned.
	swallowedTo int

	// barred are the offsets in front of which a pattern can't begin, since it
	// was found there and didn't count. barredTo is the largest.
	barred   []int
	barredTo int
}

// machine returns a machine at the beginning of a text.
func (s *Set) machine(bound int) *machine {
	m, ok := s.machines.Get().(*machine)
	if !ok {
		m = &machine{
			program: &s.program,
			seen:    make([]uint32, len(s.insts)),
			barred:  make([]int, len(s.patterns)),
		}
	}
	m.bound = bound
	m.base, m.before, m.pos, m.prev = 0, edge, 0, edge
	m.now, m.next = m.now[:0], m.next[:0]
	m.matched, m.swallowing = false, false
	clear(m.barred)
	m.barredTo = 0
	return m
}

// free lets m be used for another text.
func (s *Set) free(m *machine) { s.machines.Put(m) }

// find returns the next span of in that isn't shown, if what is there tells
// one. It takes up where it stopped: in begins with what release left
// of what the call before was given, and goes on with what is new.
//
// Runes are whole: what looks like the beginning of one at the end of in is
// bytes that belong to none.
func find[T text](m *machine, in T, end ending) (span, bool) {
	for {
		if len(m.now) == 0 && !skip(m, in) {
			return span{}, false
		}
		at := m.pos - m.base
		if at == len(in) && end != final {
			return m.pause(end)
		}
		r, width, after := rune(-1), 0, edge
		if at < len(in) {
			r, width = decode(in, at)
			after = classOf[in[at]]
		}
		m.run(r, after)
		if r >= 0 && !m.matched && !m.swallowing {
			m.begin(r, in[at])
		}
		m.now, m.next = m.next, m.now

		switch {
		case len(m.now) > 0 || !m.matched && !m.swallowing:
			m.pos += width
			m.prev = after
			if m.tooLong() {
				return m.overflow(), true
			}
		case m.swallowing:
			m.swallowing, m.matched = false, false
			if sp, ok := m.swallowed(); ok {
				return sp, true
			}
		default:
			m.matched = false
			if sp, ok := settle(m, in); ok {
				return sp, true
			}
		}
	}
}

// skip goes on to where a match can begin while there is no thread. It reports
// whether there is such a place.
func skip[T text](m *machine, in T) bool {
	at, prev := m.pos-m.base, m.prev
	for ; at < len(in); at++ {
		b := in[at]
		if m.behind[b]&(1<<prev) != 0 && (at+1 == len(in) || m.pairs[b].has(in[at+1])) {
			break
		}
		prev = classOf[b]
	}
	m.pos, m.prev = m.base+at, prev
	return at < len(in)
}

// decode returns the rune at the offset, and its width.
func decode[T text](in T, at int) (r rune, width int) {
	if b := in[at]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], in[at:min(at+len(buf), len(in))])
	return utf8.DecodeRune(buf[:n])
}

// pause is what find does where there is no more text for now.
func (m *machine) pause(end ending) (span, bool) {
	if m.swallowing {
		return m.swallowed()
	}
	if end == full && m.decided() == 0 {
		return m.overflow(), true
	}
	return span{}, false
}

// run follows the threads to the instructions that wait for a rune, and those
// over r that match it. Behind the first thread that comes to a match, the
// others count no more.
func (m *machine) run(r rune, after class) {
	m.step++
	if m.step == 0 { // once in 4 GiB of text: marks of so long ago look new
		clear(m.seen)
		m.step = 1
	}
	m.next = m.next[:0]
	held := conditions[m.prev][after]
	for _, t := range m.now {
		// Most wait for a rune where they are: follow would do the same.
		if in := &m.insts[t.pc]; in.op == opRune {
			if m.seen[t.pc] != m.step && in.matches(r) {
				m.next = append(m.next, thread{in.out, t.start, t.lo, t.hi})
			}
			m.seen[t.pc] = m.step
			continue
		}
		if m.follow(t, r, held) {
			m.matched = true
			return
		}
	}
}

// follow runs one thread, with those that it splits into, and reports whether
// one of them came to a match.
func (m *machine) follow(t thread, r rune, held syntax.EmptyOp) bool {
	m.stack = append(m.stack[:0], t)
	for len(m.stack) > 0 {
		t := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		for m.seen[t.pc] != m.step {
			m.seen[t.pc] = m.step
			in := &m.insts[t.pc]
			switch in.op {
			case opRune:
				if in.matches(r) {
					t.pc = in.out
					m.next = append(m.next, t)
				}
			case opSplit:
				other := t
				other.pc = in.arg
				m.stack = append(m.stack, other)
				t.pc = in.out
				continue
			case opAssert:
				if syntax.EmptyOp(in.arg)&^held == 0 {
					t.pc = in.out
					continue
				}
			case opBegin:
				t.pc, t.lo = in.out, m.pos
				continue
			case opEnd:
				t.pc, t.hi = in.out, m.pos
				continue
			case opSkip:
				t.pc = in.out
				continue
			case opMatch:
				m.found = match{pattern: in.pattern, start: t.start, end: m.pos, lo: t.lo, hi: t.hi}
				return true
			case opFail:
			}
			break
		}
	}
	return false
}

// begin adds the threads that begin with r, whose first byte is b. They have
// less priority than those that began earlier.
func (m *machine) begin(r rune, b byte) {
	if m.behind[b]&(1<<m.prev) == 0 {
		return
	}
	for _, st := range m.starts[m.prev][b] {
		if m.seen[st.pc] == m.step {
			continue
		}
		m.seen[st.pc] = m.step
		in := &m.insts[st.pc]
		if m.pos < m.barredTo && m.pos < m.barred[in.pattern] || !in.matches(r) {
			continue
		}
		t := thread{pc: in.out, start: m.pos, lo: -1, hi: -1}
		if st.inGroup {
			t.lo = m.pos
		}
		m.next = append(m.next, t)
	}
}

// settle decides about the match that was found. Where it counts, settle returns
// what isn't shown; else the search goes on at the beginning of the match, at
// which its pattern is barred.
func settle[T text](m *machine, in T) (span, bool) {
	f := m.found
	p := &m.patterns[f.pattern]
	lo, hi := f.start, f.end
	if p.Group > 0 || p.anyGroup {
		lo, hi = f.lo, f.hi
		if lo < 0 || hi <= lo {
			m.bar(f.pattern, f.end)
			rewind(m, in, f.start)
			return span{}, false
		}
	}
	if p.Check != nil || p.part != nil {
		hi = lo + p.check(string(in[lo-m.base:hi-m.base]))
	}
	if hi == lo {
		m.bar(f.pattern, f.start+1) // which is in front of the next rune too
		rewind(m, in, f.start)
		return span{}, false
	}
	rewind(m, in, hi)
	return span{lo: lo - m.base, hi: hi - m.base, pattern: f.pattern}, true
}

// bar keeps the pattern from beginning in front of the offset.
func (m *machine) bar(pattern int32, to int) {
	m.barred[pattern] = to
	m.barredTo = max(m.barredTo, to)
}

// rewind has the search go on at an offset that isn't behind what was read.
func rewind[T text](m *machine, in T, to int) {
	m.pos, m.prev = to, m.before
	if to > m.base {
		m.prev = classOf[in[to-1-m.base]]
	}
}

// tooLong reports whether what the oldest thread has read reaches the bound.
func (m *machine) tooLong() bool {
	return m.bound > 0 && len(m.now) > 0 && !m.swallowing && m.pos-m.now[0].start >= m.bound
}

// overflow takes what the oldest threads have read for a match, of their group
// where all of them are in it, and leaves them to find its end.
func (m *machine) overflow() span {
	oldest := m.now[0]
	lo, n := m.pos, 0
	for _, t := range m.now {
		if t.start != oldest.start {
			break
		}
		if t.lo < 0 {
			t.lo = t.start
		}
		lo = min(lo, t.lo)
		n++
	}
	m.now = m.now[:n]
	m.swallowing = true
	m.swallowedTo = m.pos
	return span{lo: lo - m.base, hi: m.pos - m.base, pattern: m.insts[oldest.pc].pattern}
}

// swallowed returns what was read of the match that is too long since this was
// last asked, if anything.
func (m *machine) swallowed() (span, bool) {
	sp := span{lo: m.swallowedTo - m.base, hi: m.pos - m.base, more: true}
	m.swallowedTo = m.pos
	return sp, sp.lo < sp.hi
}

// decided returns up to which offset of what it was given find has decided what
// is shown.
func (m *machine) decided() int {
	if len(m.now) > 0 && !m.swallowing {
		return m.now[0].start - m.base
	}
	return m.pos - m.base
}

// release forgets the first n bytes of in, which are decided.
func release[T text](m *machine, in T, n int) {
	if n > 0 {
		m.base += n
		m.before = classOf[in[n-1]]
	}
}
