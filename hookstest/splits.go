package hookstest

// Filters of streams, on every way in which a text can come in pieces.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
)

// Splits tries the filter that open makes on text: in one piece, in every split into
// two and into three pieces, and byte by byte. It fails where what is shown differs
// from what is shown of the text in one piece, since a filter can't know where a
// provider cuts its answer, and where the filter fails.
//
//	hookstest.Splits(t, maskKeys, "the key is sk-1234, or is it?")
//
// Each run has a filter of its own and goes through a real stream, in a registry of
// its own. If the text in one piece is refused, so must be each split; how much of
// it was shown before isn't compared, for that depends on the pieces.
//
// A text of a hundred bytes takes five thousand runs, and some milliseconds. Splits
// ends with the first difference.
func Splits(t testing.TB, open func() hooks.Filter, text string) {
	t.Helper()
	if open == nil {
		t.Fatal("hookstest: Splits: open is nil; give the function that makes the filter")
	}
	whole := streamPieces(t.Context(), open, text)
	if whole.failure != nil {
		t.Fatalf("hookstest: Splits: the filter failed on the text in one piece: %v", whole.failure)
	}
	for _, pieces := range splits(text) {
		if got := streamPieces(t.Context(), open, pieces...); !got.same(whole) {
			t.Errorf("hookstest: Splits: what is shown depends on the pieces\nof %q: %s\nof %q: %s", []string{text}, whole, pieces, got)
			return
		}
	}
}

// splits returns the splits of text into single bytes and into two and three pieces.
func splits(text string) [][]string {
	single := make([]string, len(text))
	for i := range len(text) {
		single[i] = text[i : i+1]
	}
	all := [][]string{single}
	for i := 1; i < len(text); i++ {
		all = append(all, []string{text[:i], text[i:]})
		for j := i + 1; j < len(text); j++ {
			all = append(all, []string{text[:i], text[i:j], text[j:]})
		}
	}
	return all
}

// streamPieces pushes pieces through a filter.
func streamPieces(ctx context.Context, open func() hooks.Filter, pieces ...string) (o streamOutcome) {
	r := hooks.NewRegistry()
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		return open()
	}, hooks.In(r))
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
		for _, h := range ev.Hooks {
			if h.Outcome == hooks.OutcomeFailed {
				o.failure = h.Err
			}
		}
	})
	var shown strings.Builder
	err := hooks.RunModel(hooks.WithScope(ctx, r), &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
			shown.WriteString(c.Text)
			return nil
		})
		for _, p := range pieces {
			if err := out.Push(hooks.Chunk{Kind: hooks.ChunkText, Text: p}); err != nil {
				return out.End(err)
			}
		}
		return out.End(nil)
	})
	o.shown = shown.String()
	if abort, refused := errors.AsType[*hooks.HookAborted](err); refused {
		o.refused = abort
	} else if err != nil {
		o.failure = err
	}
	return o
}

// streamOutcome is what came of a text that went through a filter.
type streamOutcome struct {
	shown   string
	refused *hooks.HookAborted
	failure error // of the filter
}

func (o streamOutcome) same(whole streamOutcome) bool {
	switch {
	case o.failure != nil:
		return false
	case whole.refused != nil || o.refused != nil:
		return whole.refused != nil && o.refused != nil
	}
	return o.shown == whole.shown
}

func (o streamOutcome) String() string {
	switch {
	case o.failure != nil:
		return fmt.Sprintf("the filter failed: %v", o.failure)
	case o.refused != nil:
		return fmt.Sprintf("it was refused (%s) when %q was shown", o.refused.Reason, o.shown)
	}
	return fmt.Sprintf("%q", o.shown)
}
