package hooks_test

// What a chunk of a stream costs, beside bench_test.go.

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// looking is a filter that looks at the text and lets it through.
func looking() hooks.Filter {
	return func(_ context.Context, w *hooks.Window) error {
		if len(w.Text()) > 1<<20 {
			return errBroken
		}
		return nil
	}
}

// inStream runs f in the body of a model call whose stream has n filters.
func inStream(tb testing.TB, n int, f func(out *hooks.Stream)) {
	tb.Helper()
	r := hooks.NewRegistry()
	for range n {
		hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter { return looking() }, hooks.In(r))
	}
	m := &hooks.ModelCall{}
	require.NoError(tb, hooks.RunModel(hooks.WithScope(tb.Context(), r), m, func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(hooks.Chunk) error { return nil })
		f(out)
		return out.End(nil)
	}))
}

// Where no text is held back, joined or changed, a chunk costs no allocation but for
// the text that is kept, which grows as a slice does.
func TestAllocs_ofChunks(t *testing.T) {
	native := any(t)
	for _, filters := range []int{0, 1, 3} {
		inStream(t, filters, func(out *hooks.Stream) {
			push := func(c hooks.Chunk) {
				if err := out.Push(c); err != nil {
					t.Fatal(err)
				}
			}
			for range 1000 {
				push(hooks.Chunk{Text: "some text", Native: native})
			}
			wantAllocs(t, 0, func() { push(hooks.Chunk{Text: "some text", Native: native}) })
			wantAllocs(t, 0, func() { push(hooks.Chunk{Text: "größer", Native: native}) })
			wantAllocs(t, 0, func() { push(hooks.Chunk{Text: "groß€", Native: native}) })
			wantAllocs(t, 0, func() { push(hooks.Chunk{Kind: hooks.ChunkToolCall, Text: "{}", Native: native}) })
			wantAllocs(t, 0, func() { push(hooks.Chunk{Kind: hooks.ChunkOther, Native: native}) })
		})
	}
}

// A body that opens no stream costs none either.
func TestAllocs_ofSeamsWithoutAStream(t *testing.T) {
	r := hooks.NewRegistry()
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter { return looking() }, hooks.In(r))
	m, c := &hooks.ModelCall{}, &hooks.ToolCall{Name: "search"}
	ctx := t.Context()
	wantAllocs(t, 0, func() { _ = hooks.RunModel(ctx, m, succeeds[hooks.ModelCall]) })
	wantAllocs(t, 0, func() { _ = hooks.RunTool(ctx, c, succeeds[hooks.ToolCall]) })
}

func BenchmarkStream(b *testing.B) {
	for name, n := range map[string]int{"no filter": 0, "one filter": 1, "three filters": 3} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			inStream(b, n, func(out *hooks.Stream) {
				for b.Loop() {
					_ = out.Push(hooks.Chunk{Text: "some"})
				}
			})
		})
	}
	b.Run("a stream of one chunk", func(b *testing.B) {
		b.ReportAllocs()
		m := &hooks.ModelCall{}
		for b.Loop() {
			_ = hooks.RunModel(b.Context(), m, func(ctx context.Context, m *hooks.ModelCall) error {
				return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, func(hooks.Chunk) error { return nil }), "some")
			})
		}
	})
}
