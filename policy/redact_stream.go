package policy

// Redacting what is streamed.

import (
	"context"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/redact"
)

// maxArguments is how much of streamed arguments is held in the stream itself, where
// what follows keeps its place behind them. More is kept by the filter.
const maxArguments = 1 << 20

// redactStream registers the filters of a flow: one for each set, which lets text
// through as soon as it is decided, and one for arguments, which are JSON and can't
// be redacted before they are whole.
func redactStream[C any](r *redactor, reg *registrar, flow hooks.Flow[C], text, arguments bool) {
	if text && r.with == Token {
		reg.add(hooks.OnStream(flow, func(ctx context.Context, _ *C, kind hooks.ChunkKind) hooks.Filter {
			if kind == hooks.ChunkToolCall {
				return nil
			}
			clean, err := r.cleaner(ctx)
			if err != nil {
				return failingFilter(err)
			}
			f := &reserveFilter{clean: clean}
			return f.see
		}, reg.with(redactName, redactLast, hooks.WithFailClosed())...))
	}
	if text {
		for _, set := range r.sets {
			reg.add(hooks.OnStream(flow, func(ctx context.Context, call *C, kind hooks.ChunkKind) hooks.Filter {
				if kind == hooks.ChunkToolCall {
					return nil
				}
				clean, err := r.cleaner(ctx)
				if err != nil {
					return failingFilter(err)
				}
				return redact.Stream[C](set, clean.mark)(ctx, call, kind)
			}, reg.with(redactName, redactLast, hooks.WithFailClosed())...))
		}
	}
	if arguments {
		reg.add(hooks.OnStream(flow, func(ctx context.Context, _ *C, kind hooks.ChunkKind) hooks.Filter {
			if kind != hooks.ChunkToolCall {
				return nil
			}
			clean, err := r.cleaner(ctx)
			if err != nil {
				return failingFilter(err)
			}
			f := &argumentFilter{clean: clean}
			return f.see
		}, reg.with(redactName, redactLast, hooks.WithFailClosed(), hooks.WithMaxHold(maxArguments))...))
	}
}

func failingFilter(err error) hooks.Filter {
	return func(context.Context, *hooks.Window) error { return err }
}

// reserveFilter reserves the tokens that stand in a run of text. It lets all of it
// through, so that it sees each byte once, before those that give tokens out do.
type reserveFilter struct {
	clean *cleaner
	begun string // a token that isn't whole
}

func (f *reserveFilter) see(_ context.Context, w *hooks.Window) error {
	text := f.begun + string(w.Text())
	f.clean.reserve(text)
	f.begun = ""
	if at := strings.LastIndexByte(text, '<'); at >= 0 && len(text)-at < maxTokenLike {
		f.begun = text[at:]
	}
	return nil
}

// argumentFilter lets arguments through when they are complete.
type argumentFilter struct {
	clean *cleaner
	kept  []byte // what didn't fit into the window
}

func (f *argumentFilter) see(_ context.Context, w *hooks.Window) error {
	switch text := w.Text(); {
	case w.Final():
		raw := string(f.kept) + string(text)
		f.clean.reserveArguments(raw)
		if clean := f.clean.editor().json(raw); clean != string(text) {
			w.Replace(0, len(text), clean)
		}
	case w.Full(), f.kept != nil:
		f.kept = append(f.kept, text...)
		w.Replace(0, len(text), "")
	default:
		w.Hold(0)
	}
	return nil
}
