// Streams that wait for their post point, and what becomes of them there.

package hooks_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// Rule 4: a guard of the post point, and a fail-closed hook, decide before anything is
// shown.
func TestStream_waitsForPostGuards(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]hooks.Option{
		"guard": {hooks.AsGuard()}, "fail-closed": {hooks.WithFailClosed()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				var tr trace
				s.seen.log = tr.add
				s.onPost(func(context.Context) error { tr.add("guard:" + s.text() + s.shown()); return nil }, opts...)
				s.onPost(func(context.Context) error { tr.add("hook"); return nil }, hooks.WithPriority(1))
				s.watchPost(func(c *streamed, _ error) { tr.add("watch:" + c.shown()) })
				s.filter(masked("secret"))
				require.NoError(t, s.run(func(ctx context.Context) error {
					out := s.open(ctx)
					for _, p := range []string{"a ", "sec", "ret", "."} {
						assert.NoError(t, out.Push(hooks.Chunk{Text: p, Native: p}))
					}
					assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkOther, Native: "end"}))
					assert.NoError(t, out.End(nil))
					assert.Empty(t, s.shown())
					return nil
				}))
				assert.Equal(t, "hook guard:a ******. show:a  show:****** show:. show: watch:a ******.", tr.take())
				assert.Equal(t, []hooks.Chunk{
					{Kind: hooks.ChunkText, Text: "a ", Native: "a "}, {Kind: hooks.ChunkText, Text: "******"},
					{Kind: hooks.ChunkText, Text: ".", Native: "."}, {Kind: hooks.ChunkOther, Native: "end"},
				}, s.seen.chunks)
				assert.Equal(t, "a ******.", s.shown())
			})
		})
	}
}

// What doesn't refuse isn't waited for.
func TestStream_doesNotWait(t *testing.T) {
	t.Parallel()
	for name, register := range map[string]func(s *streamed){
		"nothing": func(*streamed) {},
		"a hook":  func(s *streamed) { s.onPost(func(context.Context) error { return nil }) },
		"a watch": func(s *streamed) { s.watchPost(func(*streamed, error) {}) },
		"a guard that comes late": func(s *streamed) {
			s.onPost(func(context.Context) error { return nil }, hooks.AsGuard(), hooks.AfterShown())
		},
		"a fail-closed hook that comes late": func(s *streamed) {
			s.onPost(func(context.Context) error { return nil }, hooks.WithFailClosed(), hooks.AfterShown())
		},
		"a guard that is gone": func(s *streamed) { s.guardPost().Remove() },
		"a guard of another role": func(s *streamed) {
			s.onPost(func(context.Context) error { return nil }, hooks.AsGuard(), hooks.WithAgents("Reader"))
		},
		"a filter that is a guard": func(s *streamed) { s.filter(masked("nothing"), hooks.WithFailClosed()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				s.ctx = hooks.WithCaller(s.ctx, hooks.Caller{AgentRole: "Writer"})
				register(s)
				require.NoError(t, s.run(func(ctx context.Context) error {
					out := s.open(ctx)
					assert.NoError(t, out.Push(hooks.Chunk{Text: "text"}))
					assert.Equal(t, "text", s.seen.text())
					return out.End(nil)
				}))
			})
		})
	}
}

func TestStream_waitsForGuardsThatConcernIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts  []hooks.Option
		role  string
		waits bool
	}{
		"the tool":              {[]hooks.Option{hooks.WithTools("new")}, "Writer", true},
		"its old name":          {[]hooks.Option{hooks.WithTools("old")}, "Writer", true},
		"a pattern of the old":  {[]hooks.Option{hooks.WithTools("o*")}, "Writer", true},
		"another tool":          {[]hooks.Option{hooks.WithTools("other")}, "Writer", false},
		"another pattern":       {[]hooks.Option{hooks.WithTools("other*")}, "Writer", false},
		"the role":              {[]hooks.Option{hooks.WithAgents("Writer")}, "Writer", true},
		"another role":          {[]hooks.Option{hooks.WithAgents("Reader")}, "Writer", false},
		"no role":               {[]hooks.Option{hooks.WithAgents("Reader")}, "", true},
		"another role and tool": {[]hooks.Option{hooks.WithAgents("Reader"), hooks.WithTools("new")}, "Writer", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Name = "new"; return nil }, hooks.In(r))
			hooks.Guard(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return nil }, append(tt.opts, hooks.In(r))...)
			seen := new(screen)
			c := &hooks.ToolCall{Name: "old", Caller: hooks.Caller{AgentRole: tt.role}}
			require.NoError(t, hooks.RunTool(ctx, c, func(ctx context.Context, c *hooks.ToolCall) error {
				err := pushAll(hooks.OpenStream(ctx, hooks.ToolStream, c, seen.show), "text")
				assert.Equal(t, tt.waits, len(seen.chunks) == 0)
				return err
			}))
			assert.Equal(t, "text", seen.text())
		})
	}
}

// A once hook isn't used up by being looked at, and not waited for when it is.
func TestStream_waitsForAOnceHook(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		ran := 0
		s.onPost(func(context.Context) error { ran++; return nil }, hooks.WithFailClosed(), hooks.WithOnce())
		for _, waits := range []bool{true, false} {
			require.NoError(t, s.run(func(ctx context.Context) error {
				s.seen = new(screen)
				err := pushAll(s.open(ctx), "text")
				assert.Equal(t, waits, len(s.seen.chunks) == 0)
				return err
			}))
			assert.Equal(t, "text", s.seen.text())
		}
		assert.Equal(t, 1, ran)
	})
}

func TestStream_postGuardRefuses(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		var tr trace
		s.onPost(func(context.Context) error { return hooks.Abort("no") }, hooks.AsGuard())
		s.watchPost(func(c *streamed, err error) {
			assert.True(t, seamIsAbort(err))
			tr.add("watch:" + c.shown())
		})
		log := record(t, s.r)
		_ = s.refusedBy(t, s.push("a", "b"), "no")
		assert.Empty(t, s.seen.chunks)
		assert.Empty(t, s.shown())
		assert.Equal(t, "watch:", tr.take())
		events := log.take()
		require.Len(t, events, 2)
		assert.Equal(t, s.flow(), events[0].Point)
		assert.Equal(t, []int{0, 0, 2}, []int{events[0].Chunks, events[0].Bytes, events[0].HeldMax})
	})
}

// What an around hook withholds isn't shown either, whatever the guards behind it say:
// they have seen the refusal alone.
func TestStream_aroundHookWithholds(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.Guard(hooks.PostToolCall, succeeds[hooks.ToolCall], hooks.In(r))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
		if err := next(ctx); err != nil {
			return err
		}
		return hooks.Abort("no")
	}, hooks.In(r))
	var shown []hooks.Chunk
	call := &hooks.ToolCall{Name: "read"}
	require.NoError(t, hooks.RunTool(ctx, call, func(ctx context.Context, call *hooks.ToolCall) error {
		out := hooks.OpenStream(ctx, hooks.ToolStream, call, func(c hooks.Chunk) error {
			shown = append(shown, c)
			return nil
		})
		require.NoError(t, out.Push(hooks.Chunk{Text: "secret"}))
		require.NoError(t, out.Push(hooks.Chunk{Kind: "progress", Text: "read the secret"}))
		return out.End(nil)
	}))
	assert.NotNil(t, call.Blocked)
	assert.Empty(t, shown)
	assert.Empty(t, call.Shown())
}

// A hook that ends the goroutine has let nothing be shown.
func TestStream_postHookExits(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.onPost(func(context.Context) error { runtime.Goexit(); return nil })
		s.guardPost()
		exit := seamLeave(t, func() error { return s.push("text") })
		assert.True(t, exit.exited)
		assert.Empty(t, s.seen.chunks)
	})
}

// Rule 4: what a hook has changed is shown as one chunk for each run of text.
func TestStream_showsWhatPostHooksLeft(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.guardPost()
		change := true
		s.onPost(func(context.Context) error {
			if change {
				s.setText(strings.ToUpper(s.text()))
			}
			return nil
		})
		body := func(ctx context.Context) error {
			out := s.open(ctx)
			for _, c := range []hooks.Chunk{
				{Kind: hooks.ChunkReasoning, Text: "h", Native: 0}, {Text: "a", Native: 1}, {Text: "b", Native: 2}, {Index: 1, Text: "c", Native: 3},
				{Kind: hooks.ChunkOther, Native: 4}, {Kind: hooks.ChunkReasoning, Text: "m", Native: 5}, {Native: 6},
			} {
				assert.NoError(t, out.Push(c))
			}
			return out.End(nil)
		}
		require.NoError(t, s.run(body))
		assert.Equal(t, []hooks.Chunk{{Kind: hooks.ChunkReasoning, Text: "hm"}, {Kind: hooks.ChunkText, Text: "ABC"}}, s.seen.chunks)
		assert.Equal(t, "ABC", s.text())
		assert.Equal(t, "ABC", s.shown())

		change, s.seen = false, new(screen)
		require.NoError(t, s.run(body))
		assert.Len(t, s.seen.chunks, 7)
		assert.Equal(t, "abc", s.shown())
	})
}

// Tool calls that post hooks have changed or dropped are shown so.
func TestStream_showsToolCallsThatPostHooksLeft(t *testing.T) {
	t.Parallel()
	streamModel(t, func(t *testing.T, s *streamed) {
		s.guardPost()
		s.filter(masked("secret"))
		hooks.On(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.ToolCalls[0].Arguments = "edited"
			m.ToolCalls[1].Name = "renamed"
			m.ToolCalls = m.ToolCalls[:3]
			return nil
		}, hooks.In(s.r))
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			for i, id := range []string{"c0", "c1", "c2", "c3"} {
				assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkToolCall, Index: i, ID: id, Name: "pay", Text: "a secret"}))
				s.model.ToolCalls = append(s.model.ToolCalls, hooks.ToolRequest{ID: id, Name: "pay", Arguments: "a secret"})
			}
			assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkToolCall, Index: 9, Text: "nobody's"}))
			assert.NoError(t, out.Push(hooks.Chunk{Text: "text"}))
			return out.End(nil)
		}))
		assert.Equal(t, []hooks.Chunk{
			{Kind: hooks.ChunkToolCall, Index: 0, ID: "c0", Name: "pay", Text: "edited"},
			{Kind: hooks.ChunkToolCall, Index: 1, ID: "c1", Name: "renamed", Text: "a ******"},
			{Kind: hooks.ChunkToolCall, Index: 2, ID: "c2", Name: "pay", Text: "a ******"},
			{Kind: hooks.ChunkText, Text: "text"},
		}, s.seen.chunks)
	})
}

// Reasoning that a post hook has changed in the parts is shown so.
func TestStream_showsReasoningThatPostHooksLeft(t *testing.T) {
	t.Parallel()
	streamModel(t, func(t *testing.T, s *streamed) {
		s.guardPost()
		hooks.On(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.EditResponse(strings.ToUpper)
			return nil
		}, hooks.In(s.r))
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkReasoning, Text: "hm", Native: 1}))
			assert.NoError(t, out.Push(hooks.Chunk{Text: "text", Native: 2}))
			s.model.Parts = []hooks.Part{{Kind: "reasoning", Text: "hm"}, {Kind: "text", Text: "text"}}
			return out.End(nil)
		}))
		assert.Equal(t, []hooks.Chunk{{Kind: hooks.ChunkReasoning, Text: "HM"}, {Kind: hooks.ChunkText, Text: "TEXT"}}, s.seen.chunks)
	})
}

// After a failure a model's answer isn't shown; a tool's output is, if nobody refuses
// it.
func TestStream_failedBodyThatWaited(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(out *hooks.Stream) error{
		"the stream failed":     func(out *hooks.Stream) error { _ = out.Push(hooks.Chunk{Text: "so far"}); return out.End(errBroken) },
		"the body failed later": func(out *hooks.Stream) error { _ = pushAll(out, "so far"); return errBroken },
		"it was left open":      func(out *hooks.Stream) error { _ = out.Push(hooks.Chunk{Text: "so far"}); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				s.guardPost()
				err := s.run(func(ctx context.Context) error { return body(s.open(ctx)) })
				assert.Error(t, s.err())
				assert.Equal(t, "so far", s.text(), "for the post hooks")
				if s.model != nil {
					assert.Error(t, err)
					assert.Empty(t, s.seen.chunks)
					assert.Empty(t, s.shown())
				} else {
					assert.NoError(t, err)
					assert.Equal(t, "so far", s.seen.text())
				}
				s.onPost(func(context.Context) error { return hooks.Abort("no") }, hooks.AsGuard())
				s.seen = new(screen)
				_ = s.run(func(ctx context.Context) error { return body(s.open(ctx)) })
				assert.Empty(t, s.seen.chunks)
			})
		})
	}
}

// A body that goes on with another stream when one has failed shows the second alone.
func TestStream_anotherOneAfterAFailure(t *testing.T) {
	t.Parallel()
	streamModel(t, func(t *testing.T, s *streamed) {
		s.guardPost()
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Text: "half an ans"}))
			assert.Error(t, out.End(errBroken))
			return pushAll(s.open(ctx), "an answer")
		}))
		assert.Equal(t, "an answer", s.seen.text())
		assert.Equal(t, "an answer", s.text())
	})
}

// What fails when the text is shown at last.
func TestStream_errorOfShowAtThePostPoint(t *testing.T) {
	t.Parallel()
	for name, show := range map[string]func(s *screen){
		"error": func(s *screen) { s.err = errBroken },
		"panic": func(s *screen) { s.during = func() { panic(errBroken) } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				var tr trace
				s.guardPost()
				s.watchPost(func(_ *streamed, err error) { tr.add("watch"); assert.NoError(t, err) })
				show(s.seen)
				err := s.push("one ", "two")
				assert.Equal(t, []string{"one "}, s.seen.pieces())
				assert.Equal(t, "one two", s.text(), "the value stands")
				assert.Equal(t, "watch", tr.take())
				if s.model != nil {
					assert.ErrorIs(t, err, errBroken)
					assert.Equal(t, err, s.model.Err)
				} else {
					assert.NoError(t, err)
					assert.NoError(t, s.tool.Err)
				}
				s.seen = new(screen)
				require.NoError(t, s.push("again"))
				assert.Equal(t, "again", s.shown())
			})
		})
	}
}

// What shows the text may end the goroutine: the watches look all the same, and the
// context can be used again.
func TestStream_exitOfShowAtThePostPoint(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		for _, watched := range []bool{false, true} {
			var tr trace
			guard := s.guardPost()
			if watched {
				s.watchPost(func(c *streamed, err error) { tr.add("watch:" + c.text()); assert.NoError(t, err) })
			}
			s.seen = &screen{during: runtime.Goexit}
			exit := seamLeave(t, func() error { return s.push("one ", "two") })
			assert.True(t, exit.exited)
			assert.Equal(t, []string{"one "}, s.seen.pieces())
			if watched {
				assert.Equal(t, "watch:one two", tr.take())
			}
			s.seen = new(screen)
			require.NoError(t, s.push("again"))
			assert.Equal(t, "again", s.seen.text())
			tr.take()
			guard.Remove()
		}
	})
}

// The guard may be gone when the post point comes: what waited for it is shown.
func TestStream_guardIsRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		guard := s.guardPost()
		require.NoError(t, s.run(func(ctx context.Context) error {
			err := pushAll(s.open(ctx), "text")
			guard.Remove()
			assert.Empty(t, s.seen.chunks)
			return err
		}))
		assert.Equal(t, "text", s.seen.text())
		assert.Equal(t, "text", s.shown())
	})
}

// One event, when the stream is shown or dropped.
func TestStream_eventOfOneThatWaits(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.guardPost()
		s.filter(masked("secret"), hooks.WithName("mask"))
		log := record(t, s.r)
		require.NoError(t, s.push("a ", "sec", "ret"))
		events := log.take()
		require.Len(t, events, 2)
		assert.Equal(t, s.flow(), events[0].Point, "in front of the post point's")
		assert.Equal(t, []int{2, 8, 8}, []int{events[0].Chunks, events[0].Bytes, events[0].HeldMax})
		assert.Equal(t, hooks.OutcomeModified, events[0].Outcome)
	})
}

// Nested passages inside of post hooks leave the waiting text alone.
func TestStream_nestedPassageWhileItWaits(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		depth := 0
		var shown []string
		s.onPost(func(ctx context.Context) error {
			if depth++; depth > 1 {
				return nil
			}
			outer, text := s.ctx, s.text()
			s.ctx = ctx
			err := s.push("inner")
			s.ctx = outer
			s.setText(text)
			shown = s.seen.pieces()
			return err
		}, hooks.AsGuard())
		require.NoError(t, s.push("outer"))
		assert.Equal(t, []string{"inner"}, shown)
		assert.Equal(t, []string{"inner", "outer"}, s.seen.pieces())
	})
}

func TestGuarded(t *testing.T) {
	t.Parallel()
	pass := func(context.Context, *hooks.Execution) error { return nil }
	guarded := func(opts ...hooks.Option) bool {
		ctx, r := newRun(t)
		hooks.On(hooks.Output, pass, append(opts, hooks.In(r))...)
		assert.False(t, hooks.Guarded(t.Context(), hooks.Output), "elsewhere")
		return hooks.Guarded(ctx, hooks.Output)
	}
	assert.False(t, guarded())
	assert.True(t, guarded(hooks.AsGuard()))
	assert.True(t, guarded(hooks.WithFailClosed()))
	assert.True(t, guarded(hooks.WithFailClosed(), hooks.WithAgents("Reader")))
	assert.False(t, guarded(hooks.AsGuard(), hooks.AfterShown()))
	assert.False(t, guarded(hooks.WithFailClosed(), hooks.AfterShown()))
	assert.False(t, hooks.Guarded(t.Context(), hooks.Point[hooks.Execution]{}))
	assert.False(t, hooks.Guarded(noCtx, hooks.Output))

	ctx, r := newRun(t)
	hooks.Watch(hooks.Output, func(context.Context, *hooks.Execution, error) {}, hooks.In(r))
	assert.False(t, hooks.Guarded(ctx, hooks.Output))
	late := hooks.Guard(hooks.Output, pass, hooks.In(r), hooks.AfterShown())
	assert.False(t, hooks.Guarded(ctx, hooks.Output))
	early := hooks.Guard(hooks.Output, pass, hooks.In(r))
	assert.True(t, hooks.Guarded(ctx, hooks.Output))
	early.Remove()
	assert.False(t, hooks.Guarded(ctx, hooks.Output))
	assert.Equal(t, hooks.KindGuard, late.Kind())
	assert.Contains(t, r.String(), "guard after-shown")

	hooks.On(hooks.Output, pass, hooks.In(r), hooks.WithFailClosed(), hooks.WithOnce())
	assert.True(t, hooks.Guarded(ctx, hooks.Output))
	require.NoError(t, hooks.Dispatch(ctx, hooks.Output, &hooks.Execution{}))
	assert.False(t, hooks.Guarded(ctx, hooks.Output), "it has had its run")
}

// AfterShown changes nothing else: what it refuses is seen, and isn't kept.
func TestAfterShown_refusesAfterwards(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.onPost(func(context.Context) error { return hooks.Abort("no") }, hooks.AsGuard(), hooks.AfterShown())
		_ = s.refusedBy(t, s.push("text"), "no")
		assert.Equal(t, "text", s.seen.text())
		assert.Equal(t, "text", s.shown())
	})
}

// In front of the post hooks an abort of a filter drops what waited.
func TestStream_abortOfAFilterWhileItWaits(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.guardPost()
		s.filter(refusing("bad"))
		_ = s.refusedBy(t, s.push("good ", "bad"), "it says bad")
		assert.Empty(t, s.seen.chunks)
		assert.Empty(t, s.shown())
		_, found := errors.AsType[*hooks.HookAborted](s.err())
		assert.True(t, found)
	})
}
