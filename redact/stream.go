package redact

import (
	"context"

	"github.com/loophooks/hooks"
)

// Stream returns what [hooks.OnStream] takes to replace what s finds in the text
// of a stream before anybody is shown it, of every kind: text, reasoning, and
// the arguments of tool calls. Each run of text is searched by itself, and what
// is shown of it is what [Set.Replace] makes of the whole, however it is cut
// into pieces.
//
// Held back is only what may be the beginning of a match, from there on. Where
// that reaches the bound of the registration ([hooks.WithMaxHold], 4,096 bytes
// by default), it is taken for a match: with is passed what is there, and what
// belongs to it further on is left out.
//
//	hooks.OnStream(hooks.ModelStream, redact.Stream[hooks.ModelCall](secrets, mask), hooks.WithFailClosed())
//
// Stream panics if s or with is nil. It may be used for several registrations;
// with is then called concurrently.
func Stream[C any](s *Set, with func(name, match string) string) hooks.StreamFunc[C] {
	if s == nil || with == nil {
		panic("redact: Stream: nil Set or function; what is to be replaced, and by what?")
	}
	return func(_ context.Context, _ *C, kind hooks.ChunkKind) hooks.Filter {
		if kind == hooks.ChunkOther {
			return nil // it has no text
		}
		f := &filter{set: s, with: with}
		return func(_ context.Context, w *hooks.Window) error {
			f.see(w)
			return nil
		}
	}
}
