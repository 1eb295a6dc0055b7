package redact

// Texts that come in pieces.

// window is what a filter is shown of a text that comes in pieces: what hasn't
// been let through so far.
type window interface {
	Text() []byte
	Final() bool
	Full() bool
	Hold(at int)
	Replace(lo, hi int, with string)
}

// filter replaces what is found in a text that comes in pieces. It holds what
// may be the beginning of a match, and nothing else.
type filter struct {
	set  *Set
	with func(name, match string) string
	m    *machine // nil before the first piece and behind the last
}

// see takes what w shows. It allocates nothing while nothing is found.
func (f *filter) see(w window) {
	if f.m == nil {
		f.m = f.set.machine(0)
	}
	text, end := w.Text(), unknown
	switch {
	case w.Final():
		end = final
	case w.Full():
		end = full
	}
	for {
		sp, ok := find(f.m, text, end)
		if !ok {
			break
		}
		replacement := ""
		if !sp.more {
			replacement = f.with(f.set.patterns[sp.pattern].Name, string(text[sp.lo:sp.hi]))
		}
		w.Replace(sp.lo, sp.hi, replacement)
	}
	if end == final {
		f.set.free(f.m)
		f.m = nil
		return
	}
	at := f.m.decided()
	if at < len(text) {
		w.Hold(at)
	}
	release(f.m, text, at)
}
