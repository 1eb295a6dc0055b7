package hooks

// What a filter sees of a run of text, and what it may do with it.

import (
	"fmt"
	"unicode/utf8"
)

// Window is what a [Filter] sees of a run of text: what it held before, and what
// has come since. A filter that calls neither Hold nor Replace lets all of it
// through.
//
// It is valid until the filter returns; what is called later does nothing. Its
// methods must not be called from other goroutines. A call with places that make
// no sense is a failure of the filter, of which the event and the log tell; it
// changes nothing that is shown.
type Window struct {
	text  []byte
	final bool
	full  bool
	live  bool // the filter is running
	guard bool // it is a guard, which may not replace
	hold  int
	edits []textEdit
	bad   error // the first call that made no sense
}

// textEdit replaces the bytes from lo to hi.
type textEdit struct {
	lo, hi int
	with   string
}

// Text returns what the filter hasn't let through, the oldest first, in whole
// runes. Bytes that can't become a rune, whatever follows, stand there as they
// are. The slice must not be written, nor kept when the filter has returned.
func (w *Window) Text() []byte { return w.text }

// Final reports whether this is the last call for the run of text: what is held
// now is let through, or is an abort if the filter is fail-closed. Text may be
// empty then. After an abort or a failure there is no such call.
func (w *Window) Final() bool { return w.final }

// Full reports whether Text has reached the bound of [WithMaxHold]: the filter
// has to let some of it through, and may hold the rest. No window is longer than
// its bound, but for the rune that reaches it: of more text at once, the filter
// gets the rest in further calls.
func (w *Window) Full() bool { return w.full }

// Hold keeps what stands in Text from the byte at on, to see more first: it
// begins the Text of the next call. Of several calls, the smallest place counts.
// Hold(0) lets nothing through. Where all is held at a bound that is [Window.Full],
// or anything at the end of the text ([Window.Final]), a filter can't hold: it is
// let through, and where the filter is fail-closed the stream is aborted.
func (w *Window) Hold(at int) {
	switch {
	case !w.live:
	case at < 0 || at > len(w.text):
		w.fail("Hold(%d): there are %d bytes", at, len(w.text))
	case !runeBorder(w.text, at):
		w.fail("Hold(%d): the place is inside a rune", at)
	default:
		w.hold = min(w.hold, at)
	}
}

// Replace puts with in the place of the bytes of Text from lo to hi; with lo equal
// to hi it inserts. Places are those of Text, which stays as it is. Calls come in
// the order of the text and don't overlap, and none reaches into what is held. A
// guard that calls Replace has failed: what it decides on would not be what the
// guards before it have seen.
func (w *Window) Replace(lo, hi int, with string) {
	switch {
	case !w.live:
	case w.guard:
		w.fail("Replace by a guard, which decides and doesn't edit; register the filter without AsGuard")
	case lo < 0 || lo > hi || hi > len(w.text):
		w.fail("Replace(%d, %d): there are %d bytes", lo, hi, len(w.text))
	case len(w.edits) > 0 && lo < w.edits[len(w.edits)-1].hi:
		w.fail("Replace(%d, %d) after one up to %d: replace in the order of the text", lo, hi, w.edits[len(w.edits)-1].hi)
	case !runeBorder(w.text, lo) || !runeBorder(w.text, hi):
		w.fail("Replace(%d, %d): a place is inside a rune", lo, hi)
	default:
		w.edits = append(w.edits, textEdit{lo, hi, with})
	}
}

func (w *Window) fail(format string, args ...any) {
	if w.bad == nil {
		w.bad = fmt.Errorf("hooks: Window: "+format, args...)
	}
}

// begin opens the window on text for one call of a filter.
func (w *Window) begin(text []byte, full, final, guard bool) {
	*w = Window{text: text, full: full, final: final, live: true, guard: guard, hold: len(text), edits: w.edits[:0]}
}

// holdsTooMuch says that the filter held where it can't.
func (w *Window) holdsTooMuch() bool {
	return w.hold < len(w.text) && (w.final || w.full && w.hold == 0)
}

// misuse returns what of the filter's calls made no sense.
func (w *Window) misuse() error {
	if n := len(w.edits); n > 0 && w.edits[n-1].hi > w.hold {
		w.fail("Replace(%d, %d) reaches into what Hold(%d) keeps", w.edits[n-1].lo, w.edits[n-1].hi, w.hold)
	}
	return w.bad
}

// untouched says that the filter let through all that there was, as it was.
func (w *Window) untouched() bool { return len(w.edits) == 0 && w.hold == len(w.text) }

// alters says that what is let through differs from what there was.
func (w *Window) alters() bool {
	for _, e := range w.edits {
		if string(w.text[e.lo:e.hi]) != e.with {
			return true
		}
	}
	return false
}

// appendTo appends what is let through to out.
func (w *Window) appendTo(out []byte) []byte {
	at := 0
	for _, e := range w.edits {
		out = append(append(out, w.text[at:e.lo]...), e.with...)
		at = e.hi
	}
	return append(out, w.text[at:w.hold]...)
}

// place returns where, in what is let through, the place at of Text is: behind
// what replaced the bytes around it.
func (w *Window) place(at int) int {
	moved := at
	for _, e := range w.edits {
		switch {
		case e.lo < at && e.hi <= at:
			moved += len(e.with) - (e.hi - e.lo)
		case e.lo < at: // inside of what was replaced
			return moved - (at - e.lo) + len(e.with)
		}
	}
	return moved
}

// runeBorder says whether text can be cut at a place: there begins a rune, a byte
// that belongs to none, or the end.
func runeBorder(text []byte, at int) bool {
	if at == 0 || at == len(text) || utf8.RuneStart(text[at]) {
		return true
	}
	for from := at - 1; from >= 0 && from > at-utf8.UTFMax; from-- {
		if utf8.RuneStart(text[from]) {
			_, width := utf8.DecodeRune(text[from:])
			return from+width <= at
		}
	}
	return true
}

// unfinished returns how many bytes at the end of text may become a rune with what
// follows.
func unfinished[T string | []byte](text T) int {
	n := len(text)
	if n == 0 || text[n-1] < utf8.RuneSelf {
		return 0
	}
	for back := 1; back < utf8.UTFMax && back <= n; back++ {
		if utf8.RuneStart(text[n-back]) {
			if !utf8.FullRune([]byte(text[n-back:])) {
				return back
			}
			return 0
		}
	}
	return 0
}
