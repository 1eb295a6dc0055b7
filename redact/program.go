package redact

// The program of a Set: the programs of its patterns, one behind the other, and
// the tables that tell where in a text a match can begin.

import (
	"errors"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// op is what an instruction does.
type op uint8

const (
	opFail   op = iota
	opRune      // goes on to out behind a rune that matches
	opSplit     // goes on to out and, with less priority, to arg
	opAssert    // goes on to out where the conditions in arg hold
	opBegin     // goes on to out; the group begins here
	opEnd       // goes on to out; the group ends here
	opMatch     // the pattern has matched
	opSkip      // goes on to out; none is left in a linked program
)

// inst is one instruction. pattern is the index of the pattern it belongs to.
type inst struct {
	op      op
	out     uint32
	arg     uint32
	pattern int32
	ascii   [2]uint64    // which runes of ASCII an opRune matches
	source  *syntax.Inst // knows the other runes that an opRune matches
}

// matches reports whether an opRune matches r. No rune is less than 0, which
// stands for the end of the text.
func (in *inst) matches(r rune) bool {
	switch {
	case uint32(r) < utf8.RuneSelf:
		return in.ascii[r>>6]&(1<<(r&63)) != 0
	case r < 0:
		return false
	case in.source.Op == syntax.InstRune || in.source.Op == syntax.InstRune1:
		return in.source.MatchRune(r)
	}
	return true // any rune, perhaps but for the newline
}

// class is what assertions have to know of the rune on one side of a place.
type class uint8

const (
	edge class = iota // there is none: the text begins or ends here
	word              // a letter or digit of ASCII, or _
	newline
	other
	classes
)

// conditions are the assertions that hold between runes of two classes.
var conditions = func() (held [classes][classes]syntax.EmptyOp) {
	sample := [classes]rune{edge: -1, word: 'a', newline: '\n', other: ' '}
	for before := range classes {
		for after := range classes {
			held[before][after] = syntax.EmptyOpContext(sample[before], sample[after])
		}
	}
	return held
}()

// classOf is the class of the rune that a byte is, begins, or belongs to.
var classOf = func() (table [256]class) {
	for b := range table {
		switch {
		case b == '\n':
			table[b] = newline
		case syntax.IsWordChar(rune(b)):
			table[b] = word
		default:
			table[b] = other
		}
	}
	return table
}()

// program is what a machine runs.
type program struct {
	patterns []Pattern
	entries  []uint32 // the first instruction of each pattern
	insts    []inst

	// starts are the threads that can begin at a byte behind a rune of a class,
	// in order of priority.
	starts [classes]*[256][]start

	// behind has a bit for each class behind which something can begin at the
	// byte, and pairs the bytes that can be next then. Where something can
	// begin beyond ASCII, all those bytes are said to do: what a byte means
	// there depends on its neighbours.
	behind [256]uint8
	pairs  [256]byteSet
}

// start is a thread that can begin at some byte: the opRune that is the first
// to see it, and whether the group begins in front of it.
type start struct {
	pc      uint32
	inGroup bool
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(b int)       { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }
func (s *byteSet) addRange(lo, hi int) {
	for b := lo; b <= hi; b++ {
		s.add(b)
	}
}

func (s *byteSet) addAll(t *byteSet) {
	for i := range s {
		s[i] |= t[i]
	}
}

// add appends the program of p.
func (p *program) add(pattern Pattern, prog *syntax.Prog) error {
	first := uint32(len(p.insts))
	p.insts = slices.Grow(p.insts, len(prog.Inst))
	for i := range prog.Inst {
		source := &prog.Inst[i]
		in := inst{out: first + source.Out, pattern: int32(len(p.patterns))}
		switch source.Op {
		case syntax.InstFail:
			in.op = opFail
		case syntax.InstAlt, syntax.InstAltMatch:
			in.op, in.arg = opSplit, first+source.Arg
		case syntax.InstCapture:
			in.op = capture(pattern, source.Arg)
		case syntax.InstEmptyWidth:
			in.op, in.arg = opAssert, source.Arg
		case syntax.InstMatch:
			in.op = opMatch
		case syntax.InstNop:
			in.op = opSkip
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			in.op, in.source = opRune, source
			in.ascii = ascii(source)
		}
		p.insts = append(p.insts, in)
	}
	entry := first + uint32(prog.Start)
	empty := false
	p.leaves(entry, ^syntax.EmptyOp(0), make(map[uint32]bool), func(pc uint32, _ bool) {
		empty = empty || p.insts[pc].op == opMatch
	})
	if empty {
		return errors.New("the expression can match the empty text; have it match at least one character")
	}
	p.patterns = append(p.patterns, pattern)
	p.entries = append(p.entries, entry)
	return nil
}

// capture returns what the instruction of package syntax does for the group of
// pattern that is replaced.
func capture(pattern Pattern, arg uint32) op {
	group := int(arg / 2)
	if group == 0 || group != pattern.Group && !pattern.anyGroup {
		return opSkip
	}
	if arg%2 == 0 {
		return opBegin
	}
	return opEnd
}

// ascii returns which runes of ASCII the instruction matches.
func ascii(source *syntax.Inst) (set [2]uint64) {
	ranges(source, func(lo, hi rune) {
		for r := lo; r <= min(hi, unicode.MaxASCII); r++ {
			set[r>>6] |= 1 << (r & 63)
		}
	})
	return set
}

// ranges calls yield for each range of runes that the instruction matches.
func ranges(source *syntax.Inst, yield func(lo, hi rune)) {
	switch runes := source.Rune; {
	case source.Op == syntax.InstRuneAny:
		yield(0, unicode.MaxRune)
	case source.Op == syntax.InstRuneAnyNotNL:
		yield(0, '\n'-1)
		yield('\n'+1, unicode.MaxRune)
	case len(runes) == 1:
		yield(runes[0], runes[0])
		if syntax.Flags(source.Arg)&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(runes[0]); r != runes[0]; r = unicode.SimpleFold(r) {
				yield(r, r)
			}
		}
	default:
		for i := 0; i+1 < len(runes); i += 2 {
			yield(runes[i], runes[i+1])
		}
	}
}

// heads returns which bytes a rune that the opRune matches can begin with. A
// byte that belongs to no rune is read as U+FFFD.
func (in *inst) heads() (set byteSet) {
	set[0], set[1] = in.ascii[0], in.ascii[1]
	ranges(in.source, func(lo, hi rune) {
		if hi < utf8.RuneSelf {
			return
		}
		if lo <= utf8.RuneError && utf8.RuneError <= hi {
			set.addRange(utf8.RuneSelf, 0xff)
			return
		}
		set.addRange(lead(max(lo, utf8.RuneSelf)), lead(hi))
	})
	return set
}

// lead returns the first byte of r in UTF-8. For the surrogates, which no text
// holds, it is what it would be.
func lead(r rune) int {
	switch {
	case r < 0x80:
		return int(r)
	case r < 0x800:
		return 0xc0 | int(r>>6)
	case r < 0x10000:
		return 0xe0 | int(r>>12)
	}
	return 0xf0 | int(r>>18)
}

// leaves calls yield, in order of priority, for each instruction reached from
// pc where the conditions held do that waits for a rune or is a match, with
// whether the group began on the way. What is in seen isn't looked at again.
func (p *program) leaves(pc uint32, held syntax.EmptyOp, seen map[uint32]bool, yield func(pc uint32, inGroup bool)) {
	type place struct {
		pc      uint32
		inGroup bool
	}
	for stack := []place{{pc: pc}}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[at.pc] {
			continue
		}
		seen[at.pc] = true
		switch in := &p.insts[at.pc]; in.op {
		case opRune, opMatch:
			yield(at.pc, at.inGroup)
		case opSplit:
			stack = append(stack, place{in.arg, at.inGroup}, place{in.out, at.inGroup})
		case opAssert:
			if syntax.EmptyOp(in.arg)&^held == 0 {
				stack = append(stack, place{in.out, at.inGroup})
			}
		case opBegin:
			stack = append(stack, place{in.out, true})
		case opEnd, opSkip:
			stack = append(stack, place{in.out, at.inGroup})
		case opFail:
		}
	}
}

// link takes out the instructions that do nothing, and makes the tables.
func (p *program) link() {
	for i := range p.insts {
		p.insts[i].out = p.target(p.insts[i].out)
		if p.insts[i].op == opSplit {
			p.insts[i].arg = p.target(p.insts[i].arg)
		}
	}
	beyondASCII := false
	for before := range classes {
		p.starts[before] = p.startsBehind(before)
		for b, starts := range p.starts[before] {
			if len(starts) == 0 {
				continue
			}
			p.behind[b] |= 1 << before
			beyondASCII = beyondASCII || b >= utf8.RuneSelf
		}
	}
	for b := utf8.RuneSelf; b < len(p.behind) && beyondASCII; b++ {
		p.behind[b] = 1<<classes - 1
	}
	p.linkPairs()
}

// target returns the instruction that pc leads to. A loop of instructions that
// do nothing leads nowhere, and is left alone.
func (p *program) target(pc uint32) uint32 {
	for range p.insts {
		if pc >= uint32(len(p.insts)) || p.insts[pc].op != opSkip {
			break
		}
		pc = p.insts[pc].out
	}
	return pc
}

// startsBehind returns the threads that can begin at each byte behind a rune of
// the class.
func (p *program) startsBehind(before class) *[256][]start {
	var table [256][]start
	for after := word; after < classes; after++ {
		seen := make(map[uint32]bool)
		for _, entry := range p.entries {
			p.leaves(entry, conditions[before][after], seen, func(pc uint32, inGroup bool) {
				heads := p.insts[pc].heads()
				for b := range table {
					if classOf[b] == after && heads.has(byte(b)) {
						table[b] = append(table[b], start{pc, inGroup})
					}
				}
			})
		}
	}
	for _, known := range p.starts[:before] {
		if slices.EqualFunc(known[:], table[:], slices.Equal) {
			return known
		}
	}
	return &table
}

// linkPairs notes which bytes can follow the first byte of a match. Behind one
// that belongs to a longer rune, all can.
func (p *program) linkPairs() {
	type place struct {
		pc uint32
		of class
	}
	known := make(map[place]*byteSet)
	for b := range p.pairs {
		if b >= utf8.RuneSelf {
			p.pairs[b].addRange(0, 0xff)
			continue
		}
		for before := range classes {
			for _, st := range p.starts[before][b] {
				at := place{p.insts[st.pc].out, classOf[b]}
				if known[at] == nil {
					known[at] = p.followers(at.pc, at.of)
				}
				p.pairs[b].addAll(known[at])
			}
		}
	}
}

// followers returns the bytes that can stand at pc behind a rune of the class.
// Where the match can end there, that is any.
func (p *program) followers(pc uint32, before class) *byteSet {
	set := new(byteSet)
	for after := word; after < classes; after++ {
		p.leaves(pc, conditions[before][after], make(map[uint32]bool), func(pc uint32, _ bool) {
			if p.insts[pc].op == opMatch {
				set.addRange(0, 0xff)
				return
			}
			heads := p.insts[pc].heads()
			for b := range 256 {
				if classOf[b] == after && heads.has(byte(b)) {
					set.add(b)
				}
			}
		})
	}
	return set
}
