package redact_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loophooks/hooks/redact"
)

// mark is a replacement that shows what was replaced.
func mark(name, match string) string { return "<" + name + ":" + match + ">" }

// label is a replacement that shows the name alone.
func label(name, _ string) string { return "[" + name + "]" }

// pieces feeds a filter as a stream does: it keeps what is held, in whole runes,
// and shows no more at once than may be held. Where that is all that is shown,
// some of it has to be let through.
type pieces struct {
	see   func(redact.Window)
	limit int // how much may be held; 0: anything

	text        []byte // what the filter is shown
	tail        []byte // the beginning of a rune
	shown       strings.Builder
	final, full bool
	at          int // from where on the filter holds
	done        int // up to where the text was shown or replaced
	held        int // after each piece, summed up
	heldMax     int
	cut         bool // some of what was held had to be let through
}

func (p *pieces) Text() []byte { return p.text }
func (p *pieces) Final() bool  { return p.final }
func (p *pieces) Full() bool   { return p.full }
func (p *pieces) Hold(at int)  { p.at = at }

func (p *pieces) Replace(lo, hi int, with string) {
	if lo < p.done || lo >= hi || hi > len(p.text) {
		panic(fmt.Sprintf("Replace(%d, %d) in %d bytes, of which %d are gone", lo, hi, len(p.text), p.done))
	}
	p.shown.Write(p.text[p.done:lo])
	p.shown.WriteString(with)
	p.done = hi
}

// push shows the filter one more piece.
func (p *pieces) push(piece string) {
	p.tail = append(p.tail, piece...)
	whole := len(p.tail)
	for back := 1; back <= min(utf8.UTFMax-1, len(p.tail)) && !p.final; back++ {
		if rest := p.tail[len(p.tail)-back:]; utf8.RuneStart(rest[0]) {
			if !utf8.FullRune(rest) {
				whole -= back
			}
			break
		}
	}
	piece = string(p.tail[:whole])
	p.tail = append(p.tail[:0], p.tail[whole:]...)
	for last := p.final; ; {
		for p.full = false; piece != "" && !p.full; {
			_, n := utf8.DecodeRuneInString(piece)
			p.text = append(p.text, piece[:n]...)
			piece = piece[n:]
			p.full = p.limit > 0 && len(p.text) >= p.limit
		}
		p.final = last && piece == ""
		p.ask()
		if piece == "" {
			break
		}
	}
	p.held += len(p.text)
	p.heldMax = max(p.heldMax, len(p.text))
}

func (p *pieces) ask() {
	p.at, p.done = len(p.text), 0
	p.see(p)
	p.cut = p.cut || p.full && p.done == len(p.text)
	if p.at < len(p.text) && (p.final || p.full && p.at == 0) {
		panic(fmt.Sprintf("held from %d on where that can't be: %q", p.at, p.text))
	}
	if p.at < p.done {
		panic(fmt.Sprintf("held from %d on, but replaced up to %d", p.at, p.done))
	}
	p.shown.Write(p.text[p.done:p.at])
	p.text = append(p.text[:0], p.text[p.at:]...)
}

// end shows the filter the last piece, and returns all that was shown.
func (p *pieces) end(piece string) string {
	p.final = true
	p.push(piece)
	return p.shown.String()
}

// inPieces filters the pieces of a text.
func inPieces(s *redact.Set, with func(name, match string) string, texts ...string) string {
	p := &pieces{see: redact.NewFilter(s, with)}
	for _, text := range texts {
		p.push(text)
	}
	return p.end("")
}

// cutText returns text in random pieces, some of them empty.
func cutText(rng *rand.Rand, text string) []string {
	var out []string
	most := 1 + rng.IntN(8)
	for len(text) > 0 {
		n := min(rng.IntN(most+1), len(text))
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// cutEvery returns text in pieces of n bytes.
func cutEvery(n int, text string) []string {
	var out []string
	for piece := range slices.Chunk([]byte(text), n) {
		out = append(out, string(piece))
	}
	return out
}

// reference replaces as package redact does, by package regexp and one search
// for each match and pattern. It knows no bound.
func reference(patterns []redact.Pattern, text string, with func(name, match string) string) string {
	var b strings.Builder
	from := make([]int, len(patterns)) // where each pattern may begin
	shown := 0
	for {
		first, best := -1, []int(nil)
		for i, p := range patterns {
			if loc := findFrom(p, text, max(from[i], shown)); loc != nil && (best == nil || loc[0] < best[0]) {
				first, best = i, loc
			}
		}
		if best == nil {
			b.WriteString(text[shown:])
			return b.String()
		}
		p := patterns[first]
		lo, hi := best[2*p.Group], best[2*p.Group+1]
		switch {
		case lo >= hi:
			from[first] = best[1]
		case p.Check != nil && !p.Check(text[lo:hi]):
			_, width := utf8.DecodeRuneInString(text[best[0]:])
			from[first] = best[0] + width
		default:
			b.WriteString(text[shown:lo] + with(p.Name, text[lo:hi]))
			shown = hi
		}
	}
}

// findFrom returns where the first match of p is that doesn't begin in front of
// from. The assertions of its expression see all of the text.
func findFrom(p redact.Pattern, text string, from int) []int {
	skipped := utf8.RuneCountInString(text[:from])
	re := regexp.MustCompile(fmt.Sprintf(`\A(?s:.{%d})(?s:.*?)(?P<match>%s)`, skipped, p.Expr))
	loc := re.FindStringSubmatchIndex(text)
	if loc == nil {
		return nil
	}
	return loc[2*re.SubexpIndex("match"):]
}
