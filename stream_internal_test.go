// Streams of a framework's own seams, and bodies that run more than once.

package hooks

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// retrieval is a context of a framework's own without a place for a stream.
type retrieval struct {
	Query string
	Text  string
	Told  error
}

func (r *retrieval) SetHookError(err error) { r.Told = err }

// spoken is one that tells its text.
type spoken struct{ retrieval }

func (s *spoken) HookPayload(InterceptionPoint) any { return s.Text }

// shaped is one whose payload isn't a text.
type shaped struct{ retrieval }

func (s *shaped) HookPayload(InterceptionPoint) any { return []string{s.Text} }

// embedding is one that has the place of a model call.
type embedding struct{ ModelCall }

var (
	retrieve = DefineSeam[retrieval]("test.retrieve")
	speak    = DefineSeam[spoken]("test.speak")
	shape    = DefineSeam[shaped]("test.shape")
	embedded = DefineSeam[embedding]("test.embedded")

	errNobody = errors.New("nobody answered")
)

// passage runs body as the operation of, up to times times where it fails.
func passage[C any](ctx context.Context, of Seam[C], c *C, times int, body Func[C]) error {
	if times > 1 {
		r := NewRegistry()
		Around(of.Body, func(ctx context.Context, _ *C, next func(context.Context) error) error {
			err := next(ctx)
			for left := times; err != nil && left > 1; left-- {
				err = next(ctx)
			}
			return err
		}, In(r))
		ctx = WithScope(ctx, r)
	}
	return of.Run(ctx, c, body)
}

func scoped(t *testing.T) (context.Context, *Registry) {
	t.Helper()
	r := NewRegistry()
	return WithScope(t.Context(), r), r
}

func keep(list *[]Chunk) func(Chunk) error {
	return func(c Chunk) error {
		*list = append(*list, c)
		return nil
	}
}

func upper[C any](r *Registry, f Flow[C]) {
	OnStream(f, func(context.Context, *C, ChunkKind) Filter {
		return func(_ context.Context, w *Window) error {
			w.Replace(0, len(w.Text()), strings.ToUpper(string(w.Text())))
			return nil
		}
	}, In(r))
}

// pushText pushes pieces of text and ends the stream.
func pushText(out *Stream, pieces ...string) error {
	for _, p := range pieces {
		if err := out.Push(Chunk{Text: p}); err != nil {
			return out.End(err)
		}
	}
	return out.End(nil)
}

func textOf(chunks []Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(c.Text)
	}
	return b.String()
}

// A context without a place for a stream finds its own in the ctx, also inside of
// another's body.
func TestOwnSeam_streams(t *testing.T) {
	t.Parallel()
	ctx, r := scoped(t)
	upper(r, retrieve.Stream)
	var outer, inner []Chunk
	c := &retrieval{}
	require.NoError(t, passage(ctx, retrieve, c, 1, func(ctx context.Context, c *retrieval) error {
		out := OpenStream(ctx, retrieve.Stream, c, keep(&outer))
		assert.NoError(t, out.Push(Chunk{Text: "a"}))
		other := &retrieval{}
		assert.NoError(t, passage(ctx, retrieve, other, 1, func(ctx context.Context, other *retrieval) error {
			assert.ErrorContains(t, OpenStream(ctx, retrieve.Stream, c, keep(&inner)).Push(Chunk{}), "has a stream open")
			return pushText(OpenStream(ctx, retrieve.Stream, other, keep(&inner)), "inner")
		}))
		assert.Error(t, OpenStream(ctx, retrieve.Stream, other, keep(&inner)).Push(Chunk{}))
		assert.Error(t, OpenStream(ctx, speak.Stream, &spoken{}, func(Chunk) error { return nil }).Push(Chunk{}))
		assert.NoError(t, out.Push(Chunk{Text: "b"}))
		return out.End(nil)
	}))
	assert.Equal(t, "AB", textOf(outer))
	assert.Equal(t, "INNER", textOf(inner))
	assert.Error(t, OpenStream(ctx, retrieve.Stream, c, keep(&outer)).Push(Chunk{}))
}

// One that embeds a model call has its place, its text and what was shown.
func TestOwnSeam_streamsInAnEmbeddedContext(t *testing.T) {
	t.Parallel()
	ctx, r := scoped(t)
	upper(r, embedded.Stream)
	Guard(embedded.Post, func(_ context.Context, c *embedding) error { c.Response += "!"; return nil }, In(r))
	var seen []Chunk
	c := &embedding{}
	require.NoError(t, passage(ctx, embedded, c, 1, func(ctx context.Context, c *embedding) error {
		assert.Error(t, OpenStream(ctx, ModelStream, &c.ModelCall, keep(&seen)).Push(Chunk{}), "another flow")
		return pushText(OpenStream(ctx, embedded.Stream, c, keep(&seen)), "a", "b")
	}))
	assert.Equal(t, "AB!", c.Response)
	assert.Equal(t, "AB!", c.Shown())
	assert.Equal(t, []Chunk{{Kind: ChunkText, Text: "AB!"}}, seen)
}

// Of a context that tells its text, the post hooks' text is shown; of one that can't,
// nothing once they have changed it.
func TestOwnSeam_postHooksChangeTheText(t *testing.T) {
	t.Parallel()
	ctx, r := scoped(t)
	change := true
	Guard(speak.Post, func(_ context.Context, c *spoken) error {
		if change {
			c.Text += "!"
		}
		return nil
	}, In(r))
	Guard(shape.Post, func(_ context.Context, c *shaped) error {
		if change {
			c.Text += "!"
		}
		return nil
	}, In(r))
	Guard(retrieve.Post, func(_ context.Context, c *retrieval) error { c.Text += "!"; return nil }, In(r))
	for _, change = range []bool{true, false} {
		var said, shown, found []Chunk
		require.NoError(t, passage(ctx, speak, &spoken{}, 1, func(ctx context.Context, c *spoken) error {
			c.Text = "ab"
			return pushText(OpenStream(ctx, speak.Stream, c, keep(&said)), "a", "b")
		}))
		require.NoError(t, passage(ctx, shape, &shaped{}, 1, func(ctx context.Context, c *shaped) error {
			c.Text = "ab"
			return pushText(OpenStream(ctx, shape.Stream, c, keep(&shown)), "a", "b")
		}))
		require.NoError(t, passage(ctx, retrieve, &retrieval{}, 1, func(ctx context.Context, c *retrieval) error {
			return pushText(OpenStream(ctx, retrieve.Stream, c, keep(&found)), "a", "b")
		}))
		if change {
			assert.Equal(t, []Chunk{{Kind: ChunkText, Text: "ab!"}}, said)
			assert.Empty(t, shown)
		} else {
			assert.Len(t, said, 2)
			assert.Len(t, shown, 2)
		}
		assert.Len(t, found, 2, "it doesn't tell whether hooks have changed it")
	}
}

func TestOwnSeam_tellsOfFailures(t *testing.T) {
	t.Parallel()
	ctx, r := scoped(t)
	OnStream(retrieve.Stream, func(context.Context, *retrieval, ChunkKind) Filter {
		return func(_ context.Context, w *Window) error {
			if string(w.Text()) == "bad" {
				return Abort("no")
			}
			return nil
		}
	}, In(r))
	var seen []Chunk
	c := &retrieval{}
	err := passage(ctx, retrieve, c, 1, func(ctx context.Context, c *retrieval) error {
		_ = pushText(OpenStream(ctx, retrieve.Stream, c, keep(&seen)), "bad")
		return nil
	})
	assert.Equal(t, "no", findAbort(err).Reason)
	assert.Equal(t, err, c.Told)

	Guard(retrieve.Post, func(context.Context, *retrieval) error { return nil }, In(r))
	c = &retrieval{}
	err = passage(ctx, retrieve, c, 1, func(ctx context.Context, c *retrieval) error {
		return pushText(OpenStream(ctx, retrieve.Stream, c, func(Chunk) error { return errNobody }), "good")
	})
	assert.Same(t, errNobody, err)
	assert.Same(t, errNobody, c.Told)
	assert.Empty(t, seen)
}

// Rule 6: once something was shown there is no other run.
func TestRunOnce_notAgainOnceSomethingWasShown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		push  func(out *Stream) error
		runs  int
		again bool // ErrNotAgain comes out
	}{
		"text":             {func(out *Stream) error { return out.End(errors.Join(out.Push(Chunk{Text: "a"}), errNobody)) }, 1, true},
		"what has no text": {func(out *Stream) error { return out.End(errors.Join(out.Push(Chunk{Kind: ChunkOther}), errNobody)) }, 1, true},
		"only held":        {func(out *Stream) error { return out.End(errors.Join(out.Push(Chunk{Text: "hold"}), errNobody)) }, 3, false},
		"nothing":          {func(out *Stream) error { return out.End(errNobody) }, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := scoped(t)
			OnStream(retrieve.Stream, func(context.Context, *retrieval, ChunkKind) Filter {
				return func(_ context.Context, w *Window) error {
					if string(w.Text()) == "hold" {
						w.Hold(0)
					}
					return nil
				}
			}, In(r))
			runs := 0
			var seen []Chunk
			err := passage(ctx, retrieve, &retrieval{}, 3, func(ctx context.Context, c *retrieval) error {
				runs++
				return tt.push(OpenStream(ctx, retrieve.Stream, c, keep(&seen)))
			})
			assert.Equal(t, tt.runs, runs)
			assert.Equal(t, tt.again, errors.Is(err, ErrNotAgain))
			assert.ErrorIs(t, err, errNobody)
			assert.Equal(t, errNobody.Error(), err.Error())
		})
	}
}

// While the stream is held, a retry begins anew.
func TestRunOnce_beginsAnewWhileTheStreamWaits(t *testing.T) {
	t.Parallel()
	ctx, r := scoped(t)
	Guard(embedded.Post, func(context.Context, *embedding) error { return nil }, In(r))
	upper(r, embedded.Stream)
	runs := 0
	var seen []Chunk
	events := 0
	r.Observe(func(_ context.Context, ev HookDispatchedEvent) {
		if ev.Point == embedded.Stream.Name() {
			events++
		}
	})
	c := &embedding{}
	err := passage(ctx, embedded, c, 5, func(ctx context.Context, c *embedding) error {
		c.Response = ""
		runs++
		out := OpenStream(ctx, embedded.Stream, c, keep(&seen))
		switch runs {
		case 1:
			return out.End(errors.Join(out.Push(Chunk{Text: "half"}), errNobody))
		case 2:
			_ = pushText(out, "whole, but no use")
			return errNobody
		}
		return pushText(out, "the answer")
	})
	require.NoError(t, err)
	assert.Equal(t, 3, runs)
	assert.Equal(t, "THE ANSWER", textOf(seen))
	assert.Equal(t, "THE ANSWER", c.Response)
	assert.Equal(t, "THE ANSWER", c.Shown())
	assert.Equal(t, 3, events)
}

// After the abort of a filter nothing runs again.
func TestRunOnce_notAgainAfterAnAbort(t *testing.T) {
	t.Parallel()
	ctx, r := scoped(t)
	for _, refusal := range []error{Abort("no"), PassThrough(errNobody)} {
		reg := OnStream(retrieve.Stream, func(context.Context, *retrieval, ChunkKind) Filter {
			return func(context.Context, *Window) error { return refusal }
		}, In(r))
		runs := 0
		err := passage(ctx, retrieve, &retrieval{}, 3, func(ctx context.Context, c *retrieval) error {
			runs++
			return pushText(OpenStream(ctx, retrieve.Stream, c, func(Chunk) error { return nil }), "text")
		})
		assert.Equal(t, 1, runs)
		if findAbort(refusal) != nil {
			assert.Equal(t, "no", findAbort(err).Reason)
		} else {
			assert.Equal(t, refusal, err)
		}
		reg.Remove()
	}
}

// Without a failure of the last run there is no more to say than that.
func TestRunOnce_notAgainAfterASuccess(t *testing.T) {
	t.Parallel()
	ctx, r := scoped(t)
	var again error
	Around(retrieve.Body, func(ctx context.Context, _ *retrieval, next func(context.Context) error) error {
		err := next(ctx)
		again = next(ctx)
		return err
	}, In(r))
	require.NoError(t, retrieve.Run(ctx, &retrieval{}, func(ctx context.Context, c *retrieval) error {
		return pushText(OpenStream(ctx, retrieve.Stream, c, func(Chunk) error { return nil }), "text")
	}))
	assert.Same(t, ErrNotAgain, again)
}

// hostile is a context that doesn't tell what it is about.
type hostile struct{ Text string }

func (*hostile) ToolName() string { panic("no name") }

var unread = DefineSeam[hostile]("test.unread")

// Where it can't be told what a call is about, a guard of a post point is waited for,
// and a filter that is a guard for some tools refuses.
func TestOwnSeam_whatItIsAboutCannotBeRead(t *testing.T) {
	ctx, r := scoped(t)
	SetLogger(nil)
	var seen []Chunk
	push := func() error {
		seen = nil
		return passage(ctx, unread, &hostile{}, 1, func(ctx context.Context, c *hostile) error {
			err := pushText(OpenStream(ctx, unread.Stream, c, keep(&seen)), "text")
			if err == nil {
				seen = append(seen, Chunk{Text: "|"})
			}
			return err
		})
	}
	guard := Guard(unread.Post, func(context.Context, *hostile) error { return nil }, In(r))
	require.NoError(t, push())
	assert.Equal(t, "|text", textOf(seen))
	guard.Remove()
	On(unread.Post, func(context.Context, *hostile) error { return nil }, In(r), WithTools("other"))
	require.NoError(t, push())
	assert.Equal(t, "text|", textOf(seen))
	Guard(unread.Post, func(context.Context, *hostile) error { return nil }, In(r), WithTools("other"))
	_ = push() // which the dispatch refuses
	assert.Equal(t, "|", textOf(seen))

	OnStream(unread.Stream, func(context.Context, *hostile, ChunkKind) Filter { return nil }, In(r), WithTools("other"))
	require.Error(t, push())
	assert.Equal(t, "|", textOf(seen), "a filter that may fail is passed over")
	OnStream(unread.Stream, func(context.Context, *hostile, ChunkKind) Filter { return nil }, In(r), WithTools("other"), AsGuard())
	events := 0
	r.Observe(func(_ context.Context, ev HookDispatchedEvent) {
		if ev.Point == unread.Stream.Name() {
			events++
			assert.Equal(t, OutcomeAborted, ev.Outcome)
		}
	})
	abort := findAbort(push())
	require.NotNil(t, abort)
	assert.Equal(t, unread.Stream.Name(), abort.Point)
	assert.Empty(t, seen)
	assert.Equal(t, 1, events)
}

// What a failed run has streamed isn't shown, though an around hook recovers the
// operation; nor what a run has streamed if an around hook fails it.
func TestRunOnce_failedOrFailedLater(t *testing.T) {
	t.Parallel()
	ctx, r := scoped(t)
	Guard(retrieve.Post, func(context.Context, *retrieval) error { return nil }, In(r))
	for name, tt := range map[string]struct{ body, around error }{
		"recovered": {errNobody, nil}, "failed later": {nil, errNobody}, "neither": {nil, nil},
	} {
		s := seam{post: retrieve.Post.p}
		s.mayStream(retrieve.Stream.p, nil, nil)
		require.NoError(t, s.open(ctx, nil, nil))
		var seen []Chunk
		c := &retrieval{}
		assert.Equal(t, tt.body, runOnce(&s, s.ctx, c, func(ctx context.Context, c *retrieval) error {
			assert.NoError(t, pushText(OpenStream(ctx, retrieve.Stream, c, keep(&seen)), "text"))
			return tt.body
		}))
		assert.Equal(t, tt.around, end(&s, c, tt.around))
		assert.Equal(t, name == "neither", len(seen) > 0, name)
	}
}
