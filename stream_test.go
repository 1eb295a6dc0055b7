// Streams: what a body shows while it runs, what filters make of it, and what the
// post point has to do with it. Most tests run at the seams of model and tool calls,
// in both of their forms.

package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// streamed is a call whose body streams: of a model or of a tool.
type streamed struct {
	ctx   context.Context
	r     *hooks.Registry
	model *hooks.ModelCall // nil for a tool
	tool  *hooks.ToolCall
	drive seamDriver
	seen  *screen
}

// screen is what shows the chunks of a stream.
type screen struct {
	chunks []hooks.Chunk
	err    error        // what it fails with
	during func()       // what it does on the way
	log    func(string) // what it tells
}

func (s *screen) show(c hooks.Chunk) error {
	s.chunks = append(s.chunks, c)
	if s.log != nil {
		s.log("show:" + c.Text)
	}
	if s.during != nil {
		s.during()
	}
	return s.err
}

// text is what stands on the screen.
func (s *screen) text() string {
	var b strings.Builder
	for _, c := range s.chunks {
		b.WriteString(c.Text)
	}
	return b.String()
}

// pieces are the texts of the chunks.
func (s *screen) pieces() []string {
	list := make([]string, len(s.chunks))
	for i, c := range s.chunks {
		list[i] = c.Text
	}
	return list
}

// streamEach runs test at the seams of model and tool calls in both forms.
func streamEach(t *testing.T, test func(t *testing.T, s *streamed)) {
	t.Helper()
	for _, d := range seamDrivers() {
		s := &streamed{drive: d, seen: new(screen)}
		switch d.pre {
		case hooks.PreModelCall.Name():
			s.model = &hooks.ModelCall{Model: "m"}
		case hooks.PreToolCall.Name():
			s.tool = &hooks.ToolCall{Name: "search", ID: "call_1"}
		default:
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s.ctx, s.r = newRun(t)
			test(t, s)
		})
	}
}

// streamModel runs test at the seam of model calls in both forms.
func streamModel(t *testing.T, test func(t *testing.T, s *streamed)) {
	t.Helper()
	streamEach(t, func(t *testing.T, s *streamed) {
		if s.model == nil {
			t.Skip("of model calls")
		}
		test(t, s)
	})
}

// streamTool runs test at the seam of tool calls in both forms.
func streamTool(t *testing.T, test func(t *testing.T, s *streamed)) {
	t.Helper()
	streamEach(t, func(t *testing.T, s *streamed) {
		if s.tool == nil {
			t.Skip("of tool calls")
		}
		test(t, s)
	})
}

// run runs the call with a body that is given its ctx.
func (s *streamed) run(body func(ctx context.Context) error) error {
	var c seamContext = seamTool{s.tool}
	if s.model != nil {
		c = seamModel{s.model}
	}
	return s.drive.run(s.ctx, c, func(ctx context.Context, _ seamContext) error { return body(ctx) })
}

// open opens the stream of the call.
func (s *streamed) open(ctx context.Context) *hooks.Stream {
	if s.model != nil {
		return hooks.OpenStream(ctx, hooks.ModelStream, s.model, s.seen.show)
	}
	return hooks.OpenStream(ctx, hooks.ToolStream, s.tool, s.seen.show)
}

// push runs the call with a body that pushes pieces of text and ends the stream.
func (s *streamed) push(pieces ...string) error {
	return s.run(func(ctx context.Context) error { return pushAll(s.open(ctx), pieces...) })
}

// pushAll pushes pieces of text and ends the stream.
func pushAll(out *hooks.Stream, pieces ...string) error {
	for _, p := range pieces {
		if err := out.Push(hooks.Chunk{Text: p, Native: p}); err != nil {
			return out.End(err)
		}
	}
	return out.End(nil)
}

// filter registers a filter that is made anew for each run of text.
func (s *streamed) filter(open func() hooks.Filter, opts ...hooks.Option) *hooks.Registration {
	return s.filterIn(s.r, open, opts...)
}

func (s *streamed) filterIn(r *hooks.Registry, open func() hooks.Filter, opts ...hooks.Option) *hooks.Registration {
	opts = append(opts, hooks.In(r))
	if s.model != nil {
		return hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter { return open() }, opts...)
	}
	return hooks.OnStream(hooks.ToolStream, func(context.Context, *hooks.ToolCall, hooks.ChunkKind) hooks.Filter { return open() }, opts...)
}

// onPost registers a hook at the post point.
func (s *streamed) onPost(fn func(context.Context) error, opts ...hooks.Option) *hooks.Registration {
	opts = append(opts, hooks.In(s.r))
	if s.model != nil {
		return hooks.On(hooks.PostModelCall, func(ctx context.Context, _ *hooks.ModelCall) error { return fn(ctx) }, opts...)
	}
	return hooks.On(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall) error { return fn(ctx) }, opts...)
}

// guardPost makes the stream wait for a guard that lets everything pass.
func (s *streamed) guardPost() *hooks.Registration {
	return s.onPost(func(context.Context) error { return nil }, hooks.AsGuard())
}

// watchPost registers a watch at the post point.
func (s *streamed) watchPost(fn func(s *streamed, err error)) {
	if s.model != nil {
		hooks.Watch(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall, err error) {
			fn(&streamed{model: m}, err)
		}, hooks.In(s.r))
		return
	}
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall, err error) { fn(&streamed{tool: c}, err) }, hooks.In(s.r))
}

func (s *streamed) text() string {
	if s.model != nil {
		return s.model.Response
	}
	return s.tool.Result
}

func (s *streamed) setText(text string) {
	if s.model != nil {
		s.model.Response = text
	} else {
		s.tool.Result = text
	}
}

func (s *streamed) shown() string {
	if s.model != nil {
		return s.model.Shown()
	}
	return s.tool.Shown()
}

func (s *streamed) err() error {
	if s.model != nil {
		return s.model.Err
	}
	return s.tool.Err
}

// flow is the name of what the call streams at.
func (s *streamed) flow() hooks.InterceptionPoint {
	if s.model != nil {
		return hooks.ModelStream.Name()
	}
	return hooks.ToolStream.Name()
}

// refusedBy requires the call to have ended with an abort for the reason given: a
// model call returns it, a tool call is withheld.
func (s *streamed) refusedBy(t *testing.T, err error, reason string) *hooks.HookAborted {
	t.Helper()
	if s.model != nil {
		abort := aborted(t, err)
		assert.Equal(t, reason, abort.Reason)
		assert.Equal(t, err, s.model.Err)
		assert.Empty(t, s.model.Response)
		return abort
	}
	require.NoError(t, err)
	require.NotNil(t, s.tool.Blocked)
	assert.Equal(t, reason, s.tool.Blocked.Reason)
	assert.Contains(t, s.tool.Result, "withheld by hook")
	assert.True(t, s.tool.IsError())
	return s.tool.Blocked
}

// masked is a filter that puts stars in the place of word, however it is cut.
func masked(word string) func() hooks.Filter {
	return func() hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			text, at := w.Text(), 0
			for {
				i := bytes.Index(text[at:], []byte(word))
				if i < 0 {
					break
				}
				w.Replace(at+i, at+i+len(word), strings.Repeat("*", len(word)))
				at += i + len(word)
			}
			if !w.Final() {
				holdPrefix(w, at, word)
			}
			return nil
		}
	}
}

// holdPrefix holds the end of the text, from at on, that may become word.
func holdPrefix(w *hooks.Window, at int, word string) {
	text := w.Text()
	for n := min(len(word)-1, len(text)-at); n > 0; n-- {
		if bytes.HasSuffix(text, []byte(word[:n])) {
			w.Hold(len(text) - n)
			return
		}
	}
}

// refusing is a filter that aborts at word, and holds what may become it.
func refusing(word string) func() hooks.Filter {
	return func() hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			if bytes.Contains(w.Text(), []byte(word)) {
				return hooks.Abort("it says " + word)
			}
			if !w.Final() {
				holdPrefix(w, 0, word)
			}
			return nil
		}
	}
}

// tapped is a filter that notes what it sees.
func tapped(tr *trace, name string) func() hooks.Filter {
	return func() hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			note := name + ":" + string(w.Text())
			if w.Final() {
				note += "."
			}
			tr.add(note)
			return nil
		}
	}
}

// does is a filter that does f each time.
func does(f func(w *hooks.Window) error) func() hooks.Filter {
	return func() hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error { return f(w) }
	}
}

func holdsAll() func() hooks.Filter {
	return does(func(w *hooks.Window) error {
		if !w.Final() && !w.Full() {
			w.Hold(0)
		}
		return nil
	})
}

func TestStream_showsWhatIsPushed(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		err := s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Text: "one ", Native: 1}))
			assert.Equal(t, "one ", s.shown(), "at once")
			assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkReasoning, Index: 2, Text: "hm", Native: 2}))
			assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkOther, Native: 3}))
			n, err := out.Write([]byte("two"))
			assert.Equal(t, 3, n)
			assert.NoError(t, err)
			return out.End(nil)
		})
		require.NoError(t, err)
		assert.Equal(t, []hooks.Chunk{
			{Kind: hooks.ChunkText, Text: "one ", Native: 1},
			{Kind: hooks.ChunkReasoning, Index: 2, Text: "hm", Native: 2},
			{Kind: hooks.ChunkOther, Native: 3},
			{Kind: hooks.ChunkText, Text: "two"},
		}, s.seen.chunks)
		assert.Equal(t, "one two", s.text(), "also with nothing registered")
		assert.Equal(t, "one two", s.shown())
	})
}

// Rule 1: filters run in the usual order, guards last, and each gets what those
// before it let through.
func TestStream_filtersInOrder(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		var tr trace
		inner := hooks.NewRegistry()
		s.ctx = hooks.WithScope(s.ctx, inner)
		s.filterIn(inner, tapped(&tr, "inner"))
		s.filter(tapped(&tr, "guard"), hooks.AsGuard())
		s.filter(tapped(&tr, "second"))
		s.filter(masked("secret"), hooks.WithPriority(1))
		s.filter(tapped(&tr, "first"), hooks.WithPriority(2))
		require.NoError(t, s.push("a secret"))
		assert.Equal(t, "first:a secret second:a ****** inner:a ****** guard:a ****** first:. second:. inner:. guard:.", tr.take())
		assert.Equal(t, "a ******", s.seen.text())
	})
}

func TestStream_asksFiltersOfTheCtx(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		body, other := hooks.NewRegistry(), hooks.NewRegistry()
		s.filterIn(body, masked("secret"))
		s.filterIn(other, masked("is"))
		require.NoError(t, s.run(func(ctx context.Context) error {
			return pushAll(s.open(hooks.WithScope(ctx, body)), "this is secret")
		}))
		assert.Equal(t, "this is ******", s.seen.text(), "a scope that the body opens counts, and no other")
	})
}

func TestStream_decidesFiltersWhenOpened(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		first := s.filter(masked("one"))
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			first.Remove()
			s.filter(masked("two"))
			return pushAll(out, "one two")
		}))
		assert.Equal(t, "*** two", s.seen.text())
	})
}

func TestStream_filtersByToolAndRole(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	open := func(name string) hooks.StreamFunc[hooks.ToolCall] {
		return func(context.Context, *hooks.ToolCall, hooks.ChunkKind) hooks.Filter { tr.add(name); return nil }
	}
	hooks.OnStream(hooks.ToolStream, open("old"), hooks.In(r), hooks.WithTools("old"))
	hooks.OnStream(hooks.ToolStream, open("new"), hooks.In(r), hooks.WithTools("new"))
	hooks.OnStream(hooks.ToolStream, open("other"), hooks.In(r), hooks.WithTools("other*"))
	hooks.OnStream(hooks.ToolStream, open("writer"), hooks.In(r), hooks.WithAgents("Writer"))
	hooks.OnStream(hooks.ToolStream, open("reader"), hooks.In(r), hooks.WithAgents("Reader"))
	hooks.OnStream(hooks.ToolStream, open("old's guard"), hooks.In(r), hooks.WithTools("o?d"), hooks.AsGuard())
	hooks.OnStream(hooks.ToolStream, open("new's guard"), hooks.In(r), hooks.WithTools("new"), hooks.AsGuard())
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error { c.Name = "new"; return nil }, hooks.In(r))
	c := &hooks.ToolCall{Name: "old", Caller: hooks.Caller{AgentRole: "Writer"}}
	require.NoError(t, hooks.RunTool(ctx, c, func(ctx context.Context, c *hooks.ToolCall) error {
		return pushAll(hooks.OpenStream(ctx, hooks.ToolStream, c, new(screen).show), "text")
	}))
	assert.Equal(t, "new writer old's guard new's guard", tr.take(), "guards go by every name that the call has had")
}

func TestStream_onceIsForOneStream(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		reg := s.filter(masked("secret"), hooks.WithOnce())
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Index: 1, Text: "secret"}))
			assert.NoError(t, out.Push(hooks.Chunk{Index: 2, Text: "secret"}))
			return out.End(nil)
		}))
		assert.Equal(t, "************", s.seen.text(), "for all of its runs of text")
		assert.False(t, reg.Remove())
		require.NoError(t, s.push("secret"))
		assert.Equal(t, "************secret", s.seen.text())
	})
}

// Each run of text has a filter of its own.
func TestStream_opensAFilterForEachRun(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		opened := 0
		s.filter(func() hooks.Filter { opened++; return masked("secret")() })
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			for _, c := range []hooks.Chunk{
				{Text: "se"}, {Index: 1, Text: "cret"}, {Kind: hooks.ChunkToolCall, Text: "se"}, {Kind: hooks.ChunkText, Text: "cret"},
				{Kind: hooks.ChunkToolCall, ID: "c"}, {Kind: hooks.ChunkReasoning}, {Kind: hooks.ChunkToolCall, Text: "cret"},
			} {
				assert.NoError(t, out.Push(c))
			}
			return out.End(nil)
		}))
		assert.Equal(t, 3, opened, "none for a run without text")
		byRun := make(map[string]string)
		for _, c := range s.seen.chunks {
			byRun[fmt.Sprint(c.Kind, c.Index)] += c.Text
		}
		assert.Equal(t, map[string]string{"text0": "******", "text1": "cret", "tool_call0": "******", "reasoning0": ""}, byRun)
	})
}

func TestStream_nilFilterPassesTheRunOver(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		opened := 0
		s.filter(func() hooks.Filter { opened++; return nil })
		s.filter(func() hooks.Filter { opened++; return nil }, hooks.AsGuard())
		require.NoError(t, s.push("a", "b"))
		assert.Equal(t, 2, opened)
		assert.Equal(t, []hooks.Chunk{{Kind: hooks.ChunkText, Text: "a", Native: "a"}, {Kind: hooks.ChunkText, Text: "b", Native: "b"}}, s.seen.chunks)
	})
}

// A chunk keeps the framework's own piece as long as its text is what came.
func TestStream_keepsNativeOfUntouchedChunks(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(masked("secret"))
		s.filter(masked("owl"))
		require.NoError(t, s.push("one", " s", "ee ", "secret", "twi", " o", "wl"))
		assert.Equal(t, []hooks.Chunk{
			{Kind: hooks.ChunkText, Text: "one", Native: "one"},
			{Kind: hooks.ChunkText, Text: " "},
			{Kind: hooks.ChunkText, Text: "see "},
			{Kind: hooks.ChunkText, Text: "******"},
			{Kind: hooks.ChunkText, Text: "twi", Native: "twi"},
			{Kind: hooks.ChunkText, Text: " "},
			{Kind: hooks.ChunkText, Text: "***"},
		}, s.seen.chunks)
	})
}

// A tool call's chunks say whose they are, whatever piece of it the provider told.
func TestStream_tellsWhoseToolCallChunksAre(t *testing.T) {
	t.Parallel()
	streamModel(t, func(t *testing.T, s *streamed) {
		s.filter(masked("secret"))
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkToolCall, ID: "c1", Name: "pay", Text: "s"}))
			assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkToolCall, Text: "ecret", Native: 1}))
			assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkToolCall, Text: "}", Native: 2}))
			return out.End(nil)
		}))
		assert.Equal(t, []hooks.Chunk{
			{Kind: hooks.ChunkToolCall, ID: "c1", Name: "pay", Text: "******"},
			{Kind: hooks.ChunkToolCall, ID: "c1", Name: "pay", Text: "}", Native: 2},
		}, s.seen.chunks)
		assert.Empty(t, s.model.Response, "arguments are no answer")
	})
}

func TestStream_showsWholeRunes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ pieces, want []string }{
		"cut in two":          {[]string{"a\xe2\x82", "\xacb"}, []string{"a", "€b"}},
		"byte by byte":        {[]string{"\xf0", "\x9f", "\x99", "\x82", "!"}, []string{"🙂", "!"}},
		"invalid in between":  {[]string{"a\xff", "b"}, []string{"a\xff", "b"}},
		"stray continuations": {[]string{"\x80\x80", "\xbf"}, []string{"\x80\x80", "\xbf"}},
		"never finished":      {[]string{"a\xe2\x82"}, []string{"a", "\xe2\x82"}},
		"broken off":          {[]string{"a\xe2\x82", "b"}, []string{"a", "\xe2\x82b"}},
		"begun anew":          {[]string{"\xe2", "\xe2\x82", "\xac"}, []string{"\xe2", "€"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				require.NoError(t, s.push(tt.pieces...))
				assert.Equal(t, tt.want, s.seen.pieces(), "without a filter")
				assert.Equal(t, strings.Join(tt.pieces, ""), s.text())

				var seen []string
				s.seen = new(screen)
				s.filter(does(func(w *hooks.Window) error {
					if len(w.Text()) > 0 {
						seen = append(seen, string(w.Text()))
					}
					return nil
				}))
				require.NoError(t, s.push(tt.pieces...))
				assert.Equal(t, tt.want, s.seen.pieces(), "with one")
				assert.Equal(t, tt.want, seen)
			})
		})
	}
}

// What has no text keeps its place.
func TestStream_keepsOrderOfWhatHasNoText(t *testing.T) {
	t.Parallel()
	text := func(s string) hooks.Chunk { return hooks.Chunk{Text: s} }
	other := func(s string) hooks.Chunk { return hooks.Chunk{Kind: hooks.ChunkOther, Native: s} }
	args := func(s string) hooks.Chunk { return hooks.Chunk{Kind: hooks.ChunkToolCall, Text: s} }
	for name, tt := range map[string]struct {
		chunks []hooks.Chunk
		want   string
	}{
		"nothing is held":                {[]hooks.Chunk{text("a"), other("1"), text("b")}, "a <1> b"},
		"behind what is held":            {[]hooks.Chunk{text("ase"), other("1"), text("e")}, "a se <1> e"},
		"in what is replaced":            {[]hooks.Chunk{text("se"), other("1"), text("cret")}, "****** <1>"},
		"several in one place":           {[]hooks.Chunk{text("se"), other("1"), other("2"), text("e")}, "se <1> <2> e"},
		"several places":                 {[]hooks.Chunk{text("s"), other("1"), text("e"), other("2"), text("e")}, "s <1> e <2> e"},
		"until the end":                  {[]hooks.Chunk{text("s"), other("1")}, "s <1>"},
		"another run waits for it":       {[]hooks.Chunk{text("s"), other("1"), args("x"), other("2"), text("e")}, "s <1> x <2> e"},
		"a run from before does, too":    {[]hooks.Chunk{args("y"), text("s"), other("1"), args("x"), text("e")}, "y s <1> x e"},
		"another run overtakes the text": {[]hooks.Chunk{text("s"), args("x"), other("1"), text("e")}, "x s <1> e"},
		"two runs are held":              {[]hooks.Chunk{text("s"), args("s"), other("1"), text("e"), args("e")}, "s s <1> e e"},
		"a new run":                      {[]hooks.Chunk{text("s"), other("1"), args("s"), other("2"), text("x"), args("x")}, "s <1> s <2> x x"},
		"a chunk that is empty":          {[]hooks.Chunk{text("s"), {Native: "0"}, args(""), text("e")}, "s () () e"},
		"in a rune":                      {[]hooks.Chunk{text("\xe2"), other("1"), text("\x82\xac")}, "€ <1>"},
		"behind most of a rune":          {[]hooks.Chunk{text("\xe2\x82"), other("1"), text("x")}, "\xe2\x82 <1> x"},
		"behind half a rune":             {[]hooks.Chunk{text("\xe2"), other("1"), text("x")}, "\xe2 <1> x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				s.filter(masked("secret"))
				s.filter(masked("nothing"))
				play := func() {
					require.NoError(t, s.run(func(ctx context.Context) error {
						out := s.open(ctx)
						for _, c := range tt.chunks {
							assert.NoError(t, out.Push(c))
						}
						return out.End(nil)
					}))
					var seen []string
					for _, c := range s.seen.chunks {
						switch {
						case c.Kind == hooks.ChunkOther:
							seen = append(seen, fmt.Sprintf("<%v>", c.Native))
						case c.Text == "":
							seen = append(seen, "()")
						default:
							seen = append(seen, c.Text)
						}
					}
					assert.Equal(t, tt.want, strings.Join(seen, " "))
				}
				play()
				s.seen = new(screen)
				s.guardPost()
				play()
			})
		})
	}
}

// A fence is where it was pushed, for any number of filters and any cut of the
// text.
func TestStream_keepsOrderBehindSeveralFilters(t *testing.T) {
	t.Parallel()
	const text = "a secret one, another secret tone, and secret"
	for cut := range len(text) {
		for _, second := range []string{"one", "**", "*, a"} {
			streamModelOnce(t, func(s *streamed) {
				s.filter(masked("secret"))
				s.filter(masked(second))
				s.filter(holdsAll())
				require.NoError(t, s.run(func(ctx context.Context) error {
					out := s.open(ctx)
					for i := range len(text) {
						assert.NoError(t, out.Push(hooks.Chunk{Text: text[i : i+1]}))
						if i == cut {
							assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkOther}))
						}
					}
					return out.End(nil)
				}))
				want := strings.ReplaceAll(strings.ReplaceAll(text, "secret", "******"), second, strings.Repeat("*", len(second)))
				assert.Equal(t, want, s.seen.text())
				before := 0
				for _, c := range s.seen.chunks {
					if c.Kind == hooks.ChunkOther {
						break
					}
					before += len(c.Text)
				}
				assert.GreaterOrEqual(t, before, cut+1, "what was pushed before it")
				assert.LessOrEqual(t, before, cut+len("secret")+len(second), "but for what is replaced around it")
			})
		}
	}
}

// streamModelOnce runs test at RunModel alone.
func streamModelOnce(t *testing.T, test func(s *streamed)) {
	t.Helper()
	for _, d := range seamDrivers() {
		if d.name == "RunModel" {
			s := &streamed{drive: d, seen: new(screen), model: &hooks.ModelCall{}}
			s.ctx, s.r = newRun(t)
			test(s)
		}
	}
}

// Rule 2, for filters that fail.
func TestStream_failedFilterIsOut(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(w *hooks.Window) error{
		"error":                     func(*hooks.Window) error { return errBroken },
		"panic":                     func(*hooks.Window) error { panic("broken") },
		"Hold beyond the text":      func(w *hooks.Window) error { w.Hold(len(w.Text()) + 1); return nil },
		"Hold before the text":      func(w *hooks.Window) error { w.Hold(-1); return nil },
		"Replace beyond the text":   func(w *hooks.Window) error { w.Replace(0, len(w.Text())+1, "x"); return nil },
		"Replace of less than none": func(w *hooks.Window) error { w.Replace(1, 0, "x"); return nil },
		"Replace of what is held":   func(w *hooks.Window) error { w.Hold(0); w.Replace(0, 1, "x"); return nil },
		"Replace out of order":      func(w *hooks.Window) error { w.Replace(1, 2, "x"); w.Replace(0, 1, "x"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				calls := 0
				s.filter(does(func(w *hooks.Window) error {
					if calls++; strings.HasSuffix(string(w.Text()), "!") {
						return fail(w)
					}
					w.Hold(0)
					return nil
				}), hooks.WithName("frail"))
				s.filter(masked("secret"))
				log := record(t, s.r)
				require.NoError(t, s.push("a ", "sec", "ret!", " and", " more"))
				assert.Equal(t, "a ******! and more", s.seen.text(), "what it held goes on, to the next filter")
				assert.Equal(t, 3, calls, "and it isn't asked again")
				assert.Equal(t, s.seen.text(), s.text())
				ev := log.one(t)
				assert.Equal(t, []hooks.Outcome{hooks.OutcomeFailed, hooks.OutcomeModified}, outcomes(ev))
				assert.Error(t, ev.Hooks[0].Err)

				s.seen = new(screen)
				guard := s.filter(does(func(w *hooks.Window) error {
					if strings.HasSuffix(string(w.Text()), "!") {
						return fail(w)
					}
					w.Hold(0)
					return nil
				}), hooks.WithFailClosed(), hooks.WithName("strict"))
				err := s.push("a ", "bad!", " and", " more")
				abort := s.refusedBy(t, err, "strict failed")
				assert.Error(t, abort.Err)
				assert.Equal(t, s.flow(), abort.Point)
				assert.Empty(t, s.seen.chunks)
				guard.Remove()
			})
		})
	}
}

// A failure is for one run of text: the next one has a filter of its own.
func TestStream_failedFilterIsOutForOneRun(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(func() hooks.Filter {
			mask := masked("secret")()
			return func(ctx context.Context, w *hooks.Window) error {
				if string(w.Text()) == "fail" {
					return errBroken
				}
				return mask(ctx, w)
			}
		})
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			for _, c := range []hooks.Chunk{{Text: "fail"}, {Text: " secret "}, {Index: 1, Text: "secret"}} {
				assert.NoError(t, out.Push(c))
			}
			return out.End(nil)
		}))
		assert.Equal(t, "fail secret ******", s.seen.text())
	})
}

// Making a filter can fail, too.
func TestStream_panicOfStreamFunc(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(func() hooks.Filter { panic("broken") })
		require.NoError(t, s.push("a", "b"))
		assert.Equal(t, []string{"a", "b"}, s.seen.pieces())
		s.seen = new(screen)
		s.filter(func() hooks.Filter { panic("broken") }, hooks.AsGuard(), hooks.WithName("judge"))
		abort := s.refusedBy(t, s.push("a", "b"), "judge failed")
		_, panicked := errors.AsType[*hooks.PanicError](abort.Err)
		assert.True(t, panicked)
		assert.Empty(t, s.seen.chunks)
	})
}

// Rule 1: a guard that calls Replace has failed.
func TestStream_guardMayNotReplace(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(masked("secret"), hooks.AsGuard(), hooks.WithName("judge"))
		abort := s.refusedBy(t, s.push("a ", "secret"), "judge failed")
		assert.ErrorContains(t, abort.Err, "Replace by a guard")
		assert.Equal(t, "a ", s.seen.text())
	})
}

// Rule 2: at its bound and at the end a filter can't hold.
func TestStream_holdsUpToItsBound(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		var windows []string
		reg := s.filter(does(func(w *hooks.Window) error {
			windows = append(windows, fmt.Sprintf("%s %t %t", w.Text(), w.Full(), w.Final()))
			w.Hold(0)
			return nil
		}), hooks.WithMaxHold(4))
		require.NoError(t, s.push("ab", "c", "defghij", "klm"))
		assert.Equal(t, []string{
			"ab false false", "abc false false", "abcd true false", "efgh true false", "ij false false",
			"ijkl true false", "m false false", "m false true",
		}, windows)
		assert.Equal(t, []string{"abcdefgh", "ijkl", "m"}, s.seen.pieces())
		reg.Remove()

		for name, tt := range map[string]struct {
			pieces []string
			shown  string
		}{
			"at its bound": {[]string{"ab", "cd", "ef"}, ""},
			"at the end":   {[]string{"ab"}, ""},
		} {
			s.seen = new(screen)
			reg := s.filter(does(func(w *hooks.Window) error { w.Hold(0); return nil }), hooks.WithMaxHold(4), hooks.WithFailClosed(), hooks.WithName("strict"))
			abort := s.refusedBy(t, s.push(tt.pieces...), "strict failed")
			assert.ErrorContains(t, abort.Err, "WithMaxHold", name)
			assert.Equal(t, tt.shown, s.seen.text(), name)
			reg.Remove()
		}
	})
}

// A filter at its bound may hold what isn't the whole window.
func TestStream_holdsAfterItsBound(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(does(func(w *hooks.Window) error {
			if !w.Final() {
				w.Hold(max(0, len(w.Text())-3))
			}
			return nil
		}), hooks.WithMaxHold(4), hooks.WithFailClosed())
		require.NoError(t, s.push("abcdefghij", "k"))
		assert.Equal(t, []string{"abcdefg", "h", "ijk"}, s.seen.pieces())
	})
}

// The bound is reached by a whole rune, however the text is cut.
func TestStream_boundIsAtARune(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		for _, pieces := range [][]string{{"€€€€"}, {"€", "€€", "€"}, {"\xe2", "\x82\xac€\xe2\x82", "\xac€"}} {
			var full []string
			s.seen = new(screen)
			reg := s.filter(does(func(w *hooks.Window) error {
				if w.Full() {
					full = append(full, string(w.Text()))
				} else if !w.Final() {
					w.Hold(0)
				}
				return nil
			}), hooks.WithMaxHold(4))
			require.NoError(t, s.push(pieces...))
			assert.Equal(t, []string{"€€", "€€"}, full, "%q", pieces)
			assert.Equal(t, "€€€€", s.seen.text())
			reg.Remove()
		}
	})
}

func TestStream_defaultBound(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		longest := 0
		s.filter(does(func(w *hooks.Window) error {
			longest = max(longest, len(w.Text()))
			if !w.Full() && !w.Final() {
				w.Hold(0)
			}
			return nil
		}))
		text := strings.Repeat("0123456789", 1000)
		require.NoError(t, s.push(text))
		assert.Equal(t, 4096, longest)
		assert.Equal(t, text, s.seen.text())
	})
}

// Rule 3: after an abort nothing more is shown, what is held is dropped, and the seam
// returns it, whatever the body does.
func TestStream_abortEndsIt(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(s *streamed, out *hooks.Stream) error{
		"the body returns it": func(_ *streamed, out *hooks.Stream) error { return out.End(out.Push(hooks.Chunk{Text: "bad"})) },
		"the body ignores it": func(_ *streamed, out *hooks.Stream) error {
			_ = out.Push(hooks.Chunk{Text: "bad"})
			_ = out.Push(hooks.Chunk{Kind: hooks.ChunkOther})
			_ = out.Push(hooks.Chunk{Text: "good"})
			_ = out.End(nil)
			return nil
		},
		"the body has its own text": func(s *streamed, out *hooks.Stream) error {
			s.setText("bad")
			_ = pushAll(out, "bad")
			s.setText("bad")
			return nil
		},
		"it comes at the end": func(_ *streamed, out *hooks.Stream) error { return pushAll(out, "bad at the end") },
		"the body fails then": func(_ *streamed, out *hooks.Stream) error { _ = pushAll(out, "bad"); return errBroken },
		"the body doesn't end": func(_ *streamed, out *hooks.Stream) error {
			return out.Push(hooks.Chunk{Text: "bad"})
		},
		"the body tries again": func(s *streamed, out *hooks.Stream) error {
			_ = pushAll(out, "bad")
			again := s.open(s.ctx)
			return pushAll(again, "good")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				var tr trace
				s.filter(does(func(w *hooks.Window) error {
					switch text := string(w.Text()); {
					case strings.HasSuffix(text, "bad"), strings.HasSuffix(text, "end") && w.Final():
						return fmt.Errorf("the judge: %w", hooks.Abort("it says bad"))
					case strings.HasPrefix(text, "o"):
					case !w.Final():
						w.Hold(0)
					}
					return nil
				}), hooks.WithName("judge"))
				s.filter(masked("k")) // holds nothing of it
				s.onPost(func(context.Context) error {
					tr.add("post:" + s.text())
					_, is := errors.AsType[*hooks.HookAborted](s.err())
					assert.True(t, is)
					return nil
				})
				log := record(t, s.r)
				err := s.run(func(ctx context.Context) error {
					out := s.open(ctx)
					assert.NoError(t, out.Push(hooks.Chunk{Text: "ok"}))
					assert.NoError(t, out.Push(hooks.Chunk{Text: "held "}))
					s.ctx = ctx
					return body(s, out)
				})
				abort := s.refusedBy(t, err, "it says bad")
				assert.Equal(t, "judge", abort.Source)
				assert.Equal(t, s.flow(), abort.Point)
				assert.Equal(t, "o*", s.seen.text())
				assert.Equal(t, "o*", s.shown())
				if s.model != nil {
					assert.Equal(t, "post:", tr.take())
				} else {
					assert.Equal(t, "post:"+s.tool.Result, tr.take())
				}
				for _, ev := range log.take() {
					if ev.Point == s.flow() {
						assert.Equal(t, hooks.OutcomeAborted, ev.Outcome)
						assert.Equal(t, "it says bad", ev.AbortReason)
						assert.Equal(t, "judge", ev.AbortSource)
						assert.Equal(t, []hooks.Outcome{hooks.OutcomeAborted, hooks.OutcomeModified}, outcomes(ev))
						tr.add("event")
					}
				}
				assert.Equal(t, "event", tr.take())
			})
		})
	}
}

// The body may put an abort into words of its own, which the seam keeps.
func TestStream_abortInTheBodysWords(t *testing.T) {
	t.Parallel()
	streamModel(t, func(t *testing.T, s *streamed) {
		s.filter(refusing("bad"))
		err := s.run(func(ctx context.Context) error {
			return fmt.Errorf("streaming: %w", pushAll(s.open(ctx), "bad"))
		})
		assert.ErrorContains(t, err, "streaming: ")
		assert.True(t, seamIsAbort(err))
	})
}

// An abort with StopRun stops the run at a tool call, too.
func TestStream_abortRunOfATool(t *testing.T) {
	t.Parallel()
	streamTool(t, func(t *testing.T, s *streamed) {
		s.filter(does(func(*hooks.Window) error { return hooks.AbortRun("enough") }))
		abort := aborted(t, s.push("text"))
		assert.Equal(t, "enough", abort.Reason)
		assert.NotNil(t, s.tool.Blocked)
		assert.Empty(t, s.seen.chunks)
	})
}

// A tool that panics after the abort of a filter is withheld all the same.
func TestStream_panicAfterAbort(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(refusing("bad"))
		exit := seamLeave(t, func() error {
			return s.run(func(ctx context.Context) error {
				s.setText("bad")
				_ = s.open(ctx).Push(hooks.Chunk{Text: "bad"})
				panic("boom")
			})
		})
		_, panicked := errors.AsType[*hooks.PanicError](s.err())
		assert.True(t, panicked)
		assert.NotEqual(t, "bad", s.text())
		if s.model != nil {
			assert.Equal(t, "boom", exit.value)
			assert.Empty(t, s.text())
		} else {
			assert.Equal(t, "it says bad", s.tool.Blocked.Reason)
		}
		assert.Empty(t, s.seen.chunks)
	})
}

// Rule 3: what is held of a failed answer is dropped, that of a tool is decided.
func TestStream_endAfterAFailure(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		finals := 0
		s.filter(does(func(w *hooks.Window) error {
			if w.Final() {
				finals++
			}
			return nil
		}))
		s.filter(masked("secret"))
		err := s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Text: "so far sec"}))
			assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkOther}))
			assert.Same(t, errBroken, out.End(errBroken))
			assert.Same(t, errBroken, out.End(nil), "again")
			assert.Error(t, out.Push(hooks.Chunk{Text: "more"}))
			return errBroken
		})
		assert.Same(t, errBroken, s.err())
		if s.model != nil {
			assert.Same(t, errBroken, err)
			assert.Equal(t, "so far ", s.seen.text())
			assert.Len(t, s.seen.chunks, 1)
			assert.Zero(t, finals)
		} else {
			assert.NoError(t, err)
			assert.Equal(t, "so far sec", s.seen.text())
			assert.Len(t, s.seen.chunks, 3)
			assert.Equal(t, 1, finals)
		}
		assert.Equal(t, s.seen.text(), s.text())
		assert.Equal(t, s.seen.text(), s.shown())
	})
}

// Rule 5: the text of the call is what filters let through.
func TestStream_setsTheText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(s *streamed)
		push []string
		want string
	}{
		"the body leaves it":           {func(*streamed) {}, []string{"a ", "secret"}, "a ******"},
		"the body has its own":         {func(s *streamed) { s.setText("in short") }, []string{"a ", "b"}, "in short"},
		"a filter has changed it":      {func(s *streamed) { s.setText("a secret") }, []string{"a ", "secret"}, "a ******"},
		"nothing was streamed":         {func(s *streamed) { s.setText("done") }, nil, "done"},
		"nothing at all":               {func(*streamed) {}, nil, ""},
		"a filter has only held":       {func(s *streamed) { s.setText("own") }, []string{"sec", "ond"}, "own"},
		"changed to what it was":       {func(s *streamed) { s.setText("own") }, []string{"same"}, "own"},
		"the body looks and leaves it": {func(s *streamed) { s.setText(s.text() + "!") }, []string{"ab"}, "ab!"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				s.filter(masked("secret"))
				s.filter(does(func(w *hooks.Window) error {
					if string(w.Text()) == "same" {
						w.Replace(0, 4, "same")
					}
					return nil
				}))
				s.onPost(func(context.Context) error {
					assert.Equal(t, tt.want, s.text(), "in front of the post hooks")
					return nil
				})
				require.NoError(t, s.run(func(ctx context.Context) error {
					err := pushAll(s.open(ctx), tt.push...)
					tt.set(s)
					return err
				}))
				assert.Equal(t, tt.want, s.text())
			})
		})
	}
}

// An answer can be in Parts alone; reasoning that a filter has changed is changed
// there as well.
func TestStream_setsTheParts(t *testing.T) {
	t.Parallel()
	parts := func() []hooks.Part {
		return []hooks.Part{
			{Kind: "reasoning", Text: "a secret", Native: 1}, {Kind: "text", Text: "a secret"}, {Kind: "image", Native: 2},
			{Kind: "reasoning", Text: "more"},
		}
	}
	streamModel(t, func(t *testing.T, s *streamed) {
		push := func(text, thought string) {
			require.NoError(t, s.run(func(ctx context.Context) error {
				out := s.open(ctx)
				assert.NoError(t, out.Push(hooks.Chunk{Kind: hooks.ChunkReasoning, Text: thought}))
				assert.NoError(t, out.Push(hooks.Chunk{Text: text}))
				s.model.Parts = parts()
				s.model.RawResponse = "raw"
				s.model.ToolCalls = []hooks.ToolRequest{{ID: "c", Arguments: "secret"}}
				return out.End(nil)
			}))
			assert.Equal(t, "raw", s.model.RawResponse)
			assert.Equal(t, []hooks.ToolRequest{{ID: "c", Arguments: "secret"}}, s.model.ToolCalls)
		}
		push("a secret", "a secret more")
		assert.Empty(t, s.model.Response)
		assert.Equal(t, parts(), s.model.Parts)

		s.filter(masked("secret"))
		push("a ", "b")
		assert.Equal(t, parts(), s.model.Parts, "nothing was changed")
		push("a secret", "b")
		assert.Equal(t, "a ******", s.model.Response)
		assert.Equal(t, []hooks.Part{parts()[0], parts()[2], parts()[3]}, s.model.Parts)
		push("a ", "a secret more")
		assert.Empty(t, s.model.Response)
		assert.Equal(t, []hooks.Part{{Kind: "reasoning", Text: "a ****** more"}, parts()[1], parts()[2]}, s.model.Parts)
	})
}

// What post hooks edit is the history, not the screen.
func TestStream_postEditsComeAfterTheScreen(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.onPost(func(context.Context) error {
			assert.Equal(t, "shown", s.shown())
			s.setText("kept")
			return nil
		})
		s.watchPost(func(c *streamed, err error) {
			assert.NoError(t, err)
			assert.Equal(t, "shown", c.shown())
			assert.Equal(t, "kept", c.text())
		})
		require.NoError(t, s.push("shown"))
		assert.Equal(t, "kept", s.text())
		assert.Equal(t, "shown", s.shown())
	})
}

func TestStream_shownIsOfTheLastUse(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		assert.Empty(t, s.shown())
		require.NoError(t, s.push("one"))
		assert.Equal(t, "one", s.shown())
		require.NoError(t, s.push("two"))
		assert.Equal(t, "two", s.shown())
		require.NoError(t, s.run(func(context.Context) error { assert.Empty(t, s.shown()); return nil }))
		assert.Empty(t, s.shown())
	})
}

// Where something is wrong, there is a stream that says so.
func TestOpenStream_misuse(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		says := func(out *hooks.Stream, text string) {
			t.Helper()
			assert.ErrorContains(t, out.Push(hooks.Chunk{Text: "x"}), text)
			n, err := out.Write([]byte("x"))
			assert.Zero(t, n)
			assert.ErrorContains(t, err, text)
			assert.ErrorContains(t, out.End(nil), text)
		}
		says(nil, "is nil")
		const outside = "no body of this context runs"
		says(s.open(s.ctx), outside)
		s.onPost(func(ctx context.Context) error { says(s.open(ctx), outside); return nil })
		var kept context.Context
		require.NoError(t, s.run(func(ctx context.Context) error {
			kept = ctx
			show := s.seen.show
			says(hooks.OpenStream(ctx, hooks.Flow[hooks.ModelCall]{}, &hooks.ModelCall{}, show), "zero Flow")
			says(hooks.OpenStream[hooks.ModelCall](ctx, hooks.ModelStream, nil, show), "context is nil")
			says(hooks.OpenStream(ctx, hooks.ModelStream, s.model, nil), map[bool]string{true: "show is nil", false: "context is nil"}[s.model != nil])
			says(hooks.OpenStream(ctx, hooks.ModelStream, &hooks.ModelCall{}, show), outside)
			says(hooks.OpenStream(ctx, hooks.ToolStream, &hooks.ToolCall{}, show), outside)
			says(s.open(context.Background()), "doesn't descend")
			says(s.open(noCtx), "doesn't descend")
			out := s.open(ctx)
			says(s.open(ctx), "has a stream open")
			assert.NoError(t, pushAll(out, "text"))
			assert.ErrorContains(t, out.Push(hooks.Chunk{Text: "x"}), "has ended")
			return nil
		}))
		says(s.open(kept), outside)
		assert.Equal(t, "text", s.seen.text())
	})
}

// Text that no filter would see ends the stream.
func TestStream_textWithoutAKind(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		err := s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Text: "text"}))
			err := out.Push(hooks.Chunk{Kind: hooks.ChunkOther, Text: "x"})
			assert.ErrorContains(t, err, "has text")
			assert.Equal(t, err, out.Push(hooks.Chunk{Text: "more"}))
			return out.End(nil)
		})
		assert.ErrorContains(t, s.err(), "has text")
		if s.model != nil {
			assert.Equal(t, err, s.err())
		}
		assert.Equal(t, "text", s.seen.text())
	})
}

// End returns again what it has returned.
func TestStream_endAgain(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.End(nil))
			assert.NoError(t, out.End(errBroken))
			assert.ErrorContains(t, out.Push(hooks.Chunk{Text: "x"}), "has ended")
			return nil
		}))
	})
}

// What goes on in a stream that the body didn't wait for touches nothing of the passage,
// which has gone on without it. The race detector judges.
func TestStream_inUseBehindTheBodyConcurrentSafe(t *testing.T) {
	t.Parallel()
	use := map[string]func(*hooks.Stream){
		"push": func(out *hooks.Stream) { _ = out.Push(hooks.Chunk{Text: "stop"}) },
		"end":  func(out *hooks.Stream) { _ = out.End(nil) },
	}
	does := map[string]error{"let through": nil, "aborted": hooks.Abort("late"), "suspended": hooks.PassThrough(errBroken)}
	for how, call := range use {
		for what, answer := range does {
			t.Run(how+" "+what, func(t *testing.T) {
				t.Parallel()
				ctx, r := newRun(t)
				in, goOn := make(chan struct{}), make(chan struct{})
				hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
					return func(_ context.Context, w *hooks.Window) error {
						if !w.Final() && string(w.Text()) != "stop" {
							return nil
						}
						close(in)
						<-goOn
						return answer
					}
				}, hooks.In(r))
				hooks.On(hooks.PostModelCall, edit(func(m *hooks.ModelCall) {
					close(goOn)
					m.Response = "what the hook left"
				}), hooks.In(r))
				var left sync.WaitGroup
				m := new(hooks.ModelCall)
				err := hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
					out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(hooks.Chunk) error { return nil })
					require.NoError(t, out.Push(hooks.Chunk{Text: "text"}))
					left.Go(func() { call(out) })
					<-in
					return nil
				})
				response := m.Response
				left.Wait()
				assert.ErrorContains(t, err, "the stream is in use")
				assert.Equal(t, "what the hook left", response)
				assert.Equal(t, response, m.Response)
			})
		}
	}
}

// Rule 7: a stream that the body leaves open is ended as failed.
func TestStream_leftOpen(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(masked("secret"))
		var out *hooks.Stream
		err := s.run(func(ctx context.Context) error {
			out = s.open(ctx)
			return out.Push(hooks.Chunk{Text: "so far sec"})
		})
		assert.ErrorContains(t, s.err(), "without Stream.End")
		if s.model != nil {
			assert.ErrorContains(t, err, "without Stream.End")
			assert.Equal(t, "so far ", s.seen.text())
		} else {
			assert.NoError(t, err)
			assert.Equal(t, "so far sec", s.seen.text())
		}
		assert.Equal(t, s.seen.text(), s.text())
		assert.Error(t, out.Push(hooks.Chunk{Text: "x"}))

		err = s.run(func(ctx context.Context) error {
			_ = s.open(ctx).Push(hooks.Chunk{Text: "x"})
			return errBroken
		})
		assert.Same(t, errBroken, s.err(), "what the body says comes first")
		if s.model != nil {
			assert.Same(t, errBroken, err)
		}
	})
}

// A stream is left open by a panic and by an exit of the goroutine as well; then
// nothing more is shown.
func TestStream_leftOpenByPanicOrExit(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"panic": func() { panic("boom") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				posts := 0
				s.filter(masked("secret"))
				s.onPost(func(context.Context) error { posts++; return nil })
				var out *hooks.Stream
				seamLeave(t, func() error {
					return s.run(func(ctx context.Context) error {
						out = s.open(ctx)
						_ = out.Push(hooks.Chunk{Text: "so far sec"})
						leave()
						return nil
					})
				})
				assert.Equal(t, 1, posts)
				assert.Error(t, s.err())
				if s.model != nil || s.drive.begin == nil {
					assert.Equal(t, "so far ", s.seen.text())
				}
				assert.Error(t, out.Push(hooks.Chunk{Text: "x"}))
				assert.Error(t, s.open(s.ctx).Push(hooks.Chunk{Text: "x"}))
				require.NoError(t, s.push("again"), "the context can be used again")
				assert.Equal(t, "again", s.shown())
			})
		})
	}
}

// What panics or exits in the middle of a Push ends the stream.
func TestStream_panicOrExitInAPush(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"panic": func() { panic("boom") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamEach(t, func(t *testing.T, s *streamed) {
				var tr trace
				s.onPost(func(context.Context) error { tr.add("post"); return nil })
				s.watchPost(func(*streamed, error) { tr.add("watch") })
				in := func(what string) {
					var out *hooks.Stream
					exit := seamLeave(t, func() error {
						return s.run(func(ctx context.Context) error {
							out = s.open(ctx)
							defer func() {
								assert.Error(t, out.Push(hooks.Chunk{Text: "more"}), what)
								assert.Error(t, out.End(nil), what)
							}()
							return out.Push(hooks.Chunk{Text: "some"})
						})
					})
					if name == "exit" {
						assert.True(t, exit.exited, what)
					}
					assert.Equal(t, "post watch", tr.take(), what)
				}
				s.seen.during = leave
				in("show")
				assert.Equal(t, "some", s.seen.text())
				s.seen = new(screen)
				if name == "exit" {
					s.filter(does(func(*hooks.Window) error { leave(); return nil }))
					in("filter")
					assert.Empty(t, s.seen.chunks)
				}
			})
		})
	}
}

// An error of show comes back, and nothing more is shown.
func TestStream_errorOfShow(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(masked("secret"))
		s.seen.err = errBroken
		err := s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.Same(t, errBroken, out.Push(hooks.Chunk{Text: "one sec"}))
			assert.Same(t, errBroken, out.Push(hooks.Chunk{Text: "two"}))
			s.setText("one secret two") // as the provider said it
			return out.End(nil)
		})
		assert.Equal(t, []string{"one "}, s.seen.pieces())
		assert.Same(t, errBroken, s.err())
		assert.Equal(t, "one ", s.text(), "no filter has seen the rest")
		if s.model != nil {
			assert.Same(t, errBroken, err)
		}
	})
}

// No call from inside of one, and no deadlock.
func TestStream_refusesCallsFromInside(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		var out *hooks.Stream
		tries := 0
		try := func() {
			tries++
			assert.ErrorContains(t, out.Push(hooks.Chunk{Text: "x"}), "in use")
			assert.ErrorContains(t, out.End(nil), "in use")
		}
		s.seen.during = try
		s.filter(does(func(*hooks.Window) error { try(); return nil }))
		require.NoError(t, s.run(func(ctx context.Context) error {
			out = s.open(ctx)
			return pushAll(out, "text")
		}))
		assert.Equal(t, 3, tries)
		assert.Equal(t, "text", s.seen.text())
	})
}

// A body that doesn't wait for who pushes has failed; no race, and nothing more is
// shown.
func TestStream_inUseWhenTheBodyReturns(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan error)
		s.filter(does(func(w *hooks.Window) error {
			if string(w.Text()) == "slow" {
				close(entered)
				<-leave
			}
			return nil
		}))
		log := record(t, s.r)
		s.onPost(func(context.Context) error { close(leave); assert.Error(t, <-done); return nil })
		err := s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			go func() {
				_ = out.Push(hooks.Chunk{Text: "slow"})
				done <- out.Push(hooks.Chunk{Text: "more"})
			}()
			<-entered
			s.setText("slow secret")
			return nil
		})
		assert.ErrorContains(t, s.err(), "in use")
		if s.model != nil {
			assert.ErrorContains(t, err, "in use")
			assert.Empty(t, s.text(), "nobody can tell what was let through")
		}
		assert.Empty(t, s.seen.chunks)
		assert.NotContains(t, s.text(), "secret")
		log.take()
	})
}

// Several streams may follow one another.
func TestStream_severalInOneBody(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		require.NoError(t, s.run(func(ctx context.Context) error {
			assert.NoError(t, pushAll(s.open(ctx), "one "))
			return pushAll(s.open(ctx), "two")
		}))
		assert.Equal(t, "one two", s.text())
		assert.Equal(t, "one two", s.shown())
	})
}

// A nested passage of the same context doesn't disturb the one around it, in its body
// and in its hooks.
func TestStream_nestedPassage(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		nested := func(ctx context.Context) {
			around := s.ctx
			s.ctx = ctx
			seen := s.seen
			s.seen = new(screen)
			assert.NoError(t, s.push("inner"))
			assert.Equal(t, "inner", s.seen.text())
			s.ctx, s.seen = around, seen
		}
		depth := 0
		s.onPost(func(ctx context.Context) error {
			if depth++; depth == 1 {
				nested(ctx)
				assert.Equal(t, "outer text", s.shown())
			}
			return nil
		})
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Text: "outer "}))
			depth = 1
			nested(ctx)
			depth = 0
			assert.Equal(t, "outer ", s.shown())
			assert.NoError(t, out.Push(hooks.Chunk{Text: "text"}))
			return out.End(nil)
		}))
		assert.Equal(t, 2, depth)
		assert.Equal(t, "outer text", s.seen.text())
		assert.Equal(t, "outer text", s.shown())
	})
}

// Filters have the nest of hooks: one that streams through itself doesn't do so
// without end.
func TestStream_filterThatStreams(t *testing.T) {
	t.Parallel()
	streamModel(t, func(t *testing.T, s *streamed) {
		calls := 0
		inner := func(ctx context.Context) error {
			return hooks.RunModel(ctx, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
				return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, s.seen.show), "text")
			})
		}
		hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
			return func(ctx context.Context, _ *hooks.Window) error {
				calls++
				_ = inner(ctx)
				return nil
			}
		}, hooks.In(s.r))
		err := s.push("text")
		assert.ErrorIs(t, err, hooks.ErrTooDeep)
		assert.Less(t, calls, 40)
		assert.Empty(t, s.seen.chunks)
	})
}

// A judge that calls a model sees its own calls as nested.
func TestStream_seamsOfAFilterAreNested(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var nested []bool
	hooks.OnStream(hooks.ModelStream, func(ctx context.Context, m *hooks.ModelCall, _ hooks.ChunkKind) hooks.Filter {
		nested = append(nested, hooks.Nested(ctx))
		if hooks.Nested(ctx) {
			return nil
		}
		return func(ctx context.Context, w *hooks.Window) error {
			if w.Final() {
				return hooks.RunModel(ctx, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
					return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, new(screen).show), "fine")
				})
			}
			return nil
		}
	}, hooks.In(r))
	require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
		return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, new(screen).show), "text")
	}))
	assert.Equal(t, []bool{false, true}, nested)
}

// What a filter puts into the Values of the call is gone with its use.
func TestStream_valuesOfFilters(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.OnStream(hooks.ModelStream, func(_ context.Context, m *hooks.ModelCall, _ hooks.ChunkKind) hooks.Filter {
		return func(context.Context, *hooks.Window) error { m.Put("key", "value"); return nil }
	}, hooks.In(r))
	m := &hooks.ModelCall{}
	push := func() error {
		return hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
			_, before := m.Get("key")
			assert.False(t, before)
			return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, new(screen).show), "text")
		})
	}
	require.NoError(t, push())
	_, there := m.Get("key")
	assert.True(t, there)
	require.NoError(t, push())
}

// A filter may begin the context once more: what hooks have put into it stays.
func TestStream_filterThatBeginsTheContextAgain(t *testing.T) {
	t.Parallel()
	streamModel(t, func(t *testing.T, s *streamed) {
		again, posts := false, 0
		seamOnModel(s.r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			if !again {
				m.Put("key", "value")
			}
			return nil
		})
		seamOnModel(s.r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			posts++
			value, _ := m.Get("key")
			assert.Equal(t, "value", value)
			return nil
		})
		hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
			return func(ctx context.Context, w *hooks.Window) error {
				if again || w.Final() {
					return nil
				}
				again = true
				return hooks.RunModel(ctx, s.model, func(context.Context, *hooks.ModelCall) error { return nil })
			}
		}, hooks.In(s.r))
		require.NoError(t, s.push("text"))
		assert.Equal(t, 2, posts)
		assert.Equal(t, "text", s.text())
		assert.Equal(t, "text", s.shown())
	})
}

// Filters suspend the operation, too.
func TestStream_suspendedByAFilter(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(does(func(w *hooks.Window) error {
			if strings.Contains(string(w.Text()), "stop") {
				return fmt.Errorf("wrapped: %w", hooks.PassThrough(errBroken))
			}
			return nil
		}), hooks.AsGuard())
		err := s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			assert.NoError(t, out.Push(hooks.Chunk{Text: "go "}))
			err := out.Push(hooks.Chunk{Text: "stop"})
			_, suspended := errors.AsType[*hooks.Suspended](err)
			assert.True(t, suspended)
			assert.Equal(t, err, out.Push(hooks.Chunk{Text: "more"}))
			s.setText("go stop")
			return out.End(nil)
		})
		suspended, ok := errors.AsType[*hooks.Suspended](err)
		require.True(t, ok)
		assert.ErrorIs(t, suspended, errBroken)
		assert.Equal(t, "go ", s.seen.text())
		assert.Empty(t, s.text())
		assert.Equal(t, err, s.err())
	})
}

// The event of a stream that a filter has suspended says so.
func TestStream_eventOfASuspension(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		log := record(t, s.r)
		waits := errors.New("a person looks at it")
		s.filter(func() hooks.Filter {
			return func(context.Context, *hooks.Window) error { return hooks.PassThrough(waits) }
		}, hooks.WithName("ask"))
		require.ErrorIs(t, s.push("text"), waits)
		ev := log.one(t)
		assert.Equal(t, hooks.OutcomeSuspended, ev.Outcome)
		require.Len(t, ev.Hooks, 1)
		assert.Equal(t, hooks.OutcomeSuspended, ev.Hooks[0].Outcome)
		assert.ErrorIs(t, ev.Hooks[0].Err, waits)
	})
}

// Rule 8: one event for each stream, at its end.
func TestStream_event(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.ctx = hooks.WithCaller(s.ctx, hooks.Caller{RunID: "run", AgentRole: "Writer", Tenant: "acme"})
		log := record(t, s.r)
		require.NoError(t, s.push("no", " filter"))
		ev := log.one(t)
		assert.Equal(t, s.flow(), ev.Point)
		assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome)
		assert.Equal(t, []int{2, 9, 0}, []int{ev.Chunks, ev.Bytes, ev.HeldMax})
		assert.Empty(t, ev.Hooks)

		s.filter(masked("secret"), hooks.WithName("mask"))
		s.filter(tapped(new(trace), ""), hooks.WithName("tap"))
		s.filter(func() hooks.Filter { return nil }, hooks.WithName("none"), hooks.AsGuard())
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			for _, p := range []string{"a sec", "", "ret", "s", "e", "."} {
				assert.NoError(t, out.Push(hooks.Chunk{Text: p}))
			}
			assert.Empty(t, log.take())
			assert.NoError(t, out.End(nil))
			ev = log.one(t)
			assert.NoError(t, out.End(nil))
			return nil
		}))
		assert.Empty(t, log.take(), "one event alone")
		assert.Equal(t, hooks.OutcomeModified, ev.Outcome)
		assert.Equal(t, 3, ev.HookCount)
		assert.Equal(t, []string{"mask", "tap", "none"}, []string{ev.Hooks[0].Name, ev.Hooks[1].Name, ev.Hooks[2].Name})
		assert.Equal(t, []hooks.Outcome{hooks.OutcomeModified, hooks.OutcomeProceeded, hooks.OutcomeProceeded}, outcomes(ev))
		assert.Equal(t, []int{4, len("a ******se."), 3}, []int{ev.Chunks, ev.Bytes, ev.HeldMax})
		assert.Equal(t, []string{"run", "Writer", "acme"}, []string{ev.RunID, ev.AgentRole, ev.Tenant})
		assert.Positive(t, ev.Hooks[0].Duration)
		assert.GreaterOrEqual(t, ev.Duration, ev.Hooks[0].Duration)
		if s.tool != nil {
			assert.Equal(t, []string{"search", "call_1"}, []string{ev.ToolName, ev.ToolCallID})
		}
	})
}

// An observer may stream, and doesn't do so without end.
func TestStream_observerThatStreams(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := 0
	push := func(ctx context.Context) error {
		return hooks.RunModel(ctx, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
			return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, new(screen).show), "text")
		})
	}
	r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
		events++
		_ = push(ctx)
	})
	require.NoError(t, push(ctx))
	assert.Less(t, events, 20)
}

// Streams of different calls run beside one another.
func TestStream_concurrentCalls(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter { return masked("secret")() }, hooks.In(r))
	record(t, r)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			seen := new(screen)
			m := &hooks.ModelCall{}
			for range 20 {
				assert.NoError(t, hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
					return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, seen.show), "a sec", "ret")
				}))
				assert.Equal(t, "a ******", m.Response)
			}
		})
	}
	wait.Wait()
}

// A stream whose Begin form never ends keeps nobody from anything.
func TestStream_neverEnded(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter { return holdsAll()() }, hooks.In(r))
	m, seen := &hooks.ModelCall{}, new(screen)
	body, _, err := hooks.BeginModel(ctx, m)
	require.NoError(t, err)
	require.NoError(t, hooks.OpenStream(body, hooks.ModelStream, m, seen.show).Push(hooks.Chunk{Text: "held"}))
	require.NoError(t, hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
		return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, seen.show), "shown")
	}))
	assert.Equal(t, "shown", seen.text())
	assert.Equal(t, "shown", m.Response)
}

// A blocked and an answered call have no body, and no stream.
func TestOpenStream_withoutABody(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	how := hooks.Abort("no")
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		if how == nil {
			c.Answer("ready")
		}
		return how
	}, hooks.In(r))
	for range 2 {
		c := &hooks.ToolCall{Name: "search"}
		body, end, err := hooks.BeginTool(ctx, c)
		require.NoError(t, err)
		assert.Error(t, hooks.OpenStream(body, hooks.ToolStream, c, new(screen).show).Push(hooks.Chunk{Text: "x"}))
		require.NoError(t, end(nil))
		how = nil
	}
}

func TestOnStream_options(t *testing.T) {
	t.Parallel()
	open := func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter { return nil }
	pass := func(context.Context, *hooks.ModelCall) error { return nil }
	in := hooks.In(hooks.NewRegistry())
	for text, register := range map[string]func(){
		"WithTimeout doesn't apply":        func() { hooks.OnStream(hooks.ModelStream, open, in, hooks.WithTimeout(1)) },
		"the function is nil":              func() { hooks.OnStream(hooks.ModelStream, nil, in) },
		"zero Point":                       func() { hooks.OnStream(hooks.Flow[hooks.ModelCall]{}, open, in) },
		"WithMaxHold(0) leaves no room":    func() { hooks.OnStream(hooks.ModelStream, open, in, hooks.WithMaxHold(0)) },
		"WithMaxHold(-1) leaves no room":   func() { hooks.OnStream(hooks.ModelStream, open, in, hooks.WithMaxHold(-1)) },
		"WithMaxHold is for OnStream":      func() { hooks.On(hooks.PreModelCall, pass, in, hooks.WithMaxHold(4096)) },
		"AsGuard with WithOnce":            func() { hooks.OnStream(hooks.ModelStream, open, in, hooks.AsGuard(), hooks.WithOnce()) },
		"WithTools needs a context":        func() { hooks.OnStream(hooks.ModelStream, open, in, hooks.WithTools("x")) },
		"AfterShown is for a post point":   func() { hooks.OnStream(hooks.ModelStream, open, in, hooks.AsGuard(), hooks.AfterShown()) },
		"AfterShown is for a post point, ": func() { hooks.Guard(hooks.PreModelCall, pass, in, hooks.AfterShown()) },
		"AfterShown is for a guard or":     func() { hooks.On(hooks.PostModelCall, pass, in, hooks.AfterShown()) },
		"AfterShown is for a guard or a": func() {
			hooks.Watch(hooks.PostModelCall, func(context.Context, *hooks.ModelCall, error) {}, in, hooks.AfterShown())
		},
	} {
		assert.Contains(t, panicText(t, register), text)
	}
}

func TestOnStream_registration(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	open := func(context.Context, *hooks.ToolCall, hooks.ChunkKind) hooks.Filter { return nil }
	reg := hooks.OnStream(hooks.ToolStream, open, hooks.In(r), hooks.WithName("mask"), hooks.WithTools("read*"), hooks.AsGuard())
	assert.Equal(t, hooks.KindFilter, reg.Kind())
	assert.Equal(t, hooks.ToolStream.Name(), reg.Point())
	assert.Equal(t, []string{"read*"}, reg.Tools())
	assert.Equal(t, []*hooks.Registration{reg}, r.Hooks(hooks.ToolStream))
	assert.Equal(t, "tool_stream\n  mask tools=[\"read*\"] filter guard\n", r.String())
	assert.True(t, reg.Remove())
	assert.Equal(t, hooks.InterceptionPoint("model_stream"), hooks.ModelStream.Name())
	assert.Empty(t, hooks.Flow[hooks.ToolCall]{}.Name())
}

// A fence in text that one filter deletes is behind what the next one holds.
func TestStream_fenceInDeletedText(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(func() hooks.Filter {
			mask := masked("secret")()
			return func(ctx context.Context, w *hooks.Window) error {
				if string(w.Text()) == "secret" {
					w.Replace(0, len("secret"), "")
					return nil
				}
				return mask(ctx, w)
			}
		})
		s.filter(masked("ab"))
		s.filter(masked("xyz"))
		play := func(pieces ...string) (shown string) {
			s.seen = new(screen)
			require.NoError(t, s.run(func(ctx context.Context) error {
				out := s.open(ctx)
				for _, p := range pieces {
					c := hooks.Chunk{Text: p}
					if p == "|" {
						c = hooks.Chunk{Kind: hooks.ChunkOther}
					}
					assert.NoError(t, out.Push(c))
				}
				return out.End(nil)
			}))
			for _, c := range s.seen.chunks {
				if shown += c.Text; c.Kind == hooks.ChunkOther {
					shown += "|"
				}
			}
			return shown
		}
		assert.Equal(t, "|c", play("se", "|", "cret", "c"))
		assert.Equal(t, "**|", play("a", "se", "|", "cret", "b"))
		assert.Equal(t, "a|c", play("a", "|", "c"))
		assert.Equal(t, "a|c", play("a", "secret", "|", "c"))
	})
}

// The fences of a filter that is out go on with what it held.
func TestStream_fencesOfAFilterThatFails(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(masked("secret"))
		s.filter(does(func(w *hooks.Window) error {
			if strings.HasSuffix(string(w.Text()), "!") {
				return errBroken
			}
			w.Hold(0)
			return nil
		}))
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			for _, c := range []hooks.Chunk{{Text: "a"}, {Kind: hooks.ChunkOther}, {Text: "bs"}, {Kind: hooks.ChunkOther}, {Text: "e!"}, {Text: "c"}} {
				assert.NoError(t, out.Push(c))
			}
			return out.End(nil)
		}))
		assert.Equal(t, []string{"a", "", "bs", "", "e!", "c"}, s.seen.pieces())
	})
}

// What shows the chunks may fail at any of those that come out together.
func TestStream_errorOfShowAmongSeveral(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		chunks := []hooks.Chunk{{Text: "s"}, {Kind: hooks.ChunkOther}, {Index: 1, Text: "x"}, {Index: 1, Text: "s"}, {Kind: hooks.ChunkOther}, {Text: "."}, {Index: 1, Text: "."}}
		s.filter(masked("secret"))
		for fails := range len(chunks) {
			s.seen = new(screen)
			s.seen.during = func() {
				if len(s.seen.chunks) == fails+1 {
					s.seen.err = errBroken
				}
			}
			_ = s.run(func(ctx context.Context) error {
				out := s.open(ctx)
				var err error
				for _, c := range chunks {
					err = errors.Join(err, out.Push(c))
				}
				err = errors.Join(err, out.End(nil))
				assert.ErrorIs(t, err, errBroken)
				return nil
			})
			assert.Len(t, s.seen.chunks, fails+1)
			assert.Equal(t, []string{"s", "", "x", "s", "", ".", "."}[:fails+1], s.seen.pieces())
		}
	})
}

// What a filter inserts at the place of a fence comes behind it.
func TestStream_fenceWhereTextIsInserted(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		s.filter(does(func(w *hooks.Window) error {
			if w.Final() {
				w.Replace(1, 1, "-")
			} else {
				w.Hold(0)
			}
			return nil
		}))
		require.NoError(t, s.run(func(ctx context.Context) error {
			out := s.open(ctx)
			for _, c := range []hooks.Chunk{{Text: "a"}, {Kind: hooks.ChunkOther}, {Text: "b"}} {
				assert.NoError(t, out.Push(c))
			}
			return out.End(nil)
		}))
		assert.Equal(t, []string{"a", "", "-b"}, s.seen.pieces())
	})
}

// A filter that gets a long text at once, with fences in it, may fail at any of its
// windows.
func TestStream_fencesOfAFilterThatFailsInALongText(t *testing.T) {
	t.Parallel()
	streamEach(t, func(t *testing.T, s *streamed) {
		for failing := range 4 {
			calls := 0
			s.seen = new(screen)
			s.filter(holdsAll())
			s.filter(does(func(*hooks.Window) error {
				if calls++; calls > failing {
					return errBroken
				}
				return nil
			}), hooks.WithMaxHold(4))
			require.NoError(t, s.run(func(ctx context.Context) error {
				out := s.open(ctx)
				for _, c := range []hooks.Chunk{
					{Text: "ab"}, {Kind: hooks.ChunkOther}, {Text: "cdefg"}, {Kind: hooks.ChunkOther}, {Kind: hooks.ChunkOther}, {Text: "hijkl"},
					{Kind: hooks.ChunkOther}, {Text: "mn"},
				} {
					assert.NoError(t, out.Push(c))
				}
				return out.End(nil)
			}))
			assert.Equal(t, []string{"ab", "", "cdefg", "", "", "hijkl", "", "mn"}, s.seen.pieces(), failing)
			s.r.ClearAll()
		}
	})
}

// What an around hook or a post hook wrote in the place of a stream that waited
// passes the filters, too: nothing else is shown.
func TestStream_whatHooksWroteIsFiltered(t *testing.T) {
	t.Parallel()
	star := func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			if at := strings.Index(string(w.Text()), "secret"); at >= 0 {
				w.Replace(at, at+len("secret"), "***")
			}
			return nil
		}
	}
	refuse := func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			if strings.Contains(string(w.Text()), "secret") {
				return hooks.Abort("a secret")
			}
			return nil
		}
	}
	for name, write := range map[string]func(r *hooks.Registry){
		"an around hook edits": func(r *hooks.Registry) {
			hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
				err := next(ctx)
				m.Response = "the secret"
				return err
			}, hooks.In(r))
		},
		"an around hook answers": func(r *hooks.Registry) {
			hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
				_ = next(ctx)
				m.Answer("the secret")
				return nil
			}, hooks.In(r))
		},
		"a post hook edits": func(r *hooks.Registry) {
			hooks.On(hooks.PostModelCall, edit(func(m *hooks.ModelCall) { m.Response = "the secret" }), hooks.In(r))
		},
	} {
		for filter, want := range map[string]string{"replaces": "the ***", "refuses": ""} {
			t.Run(name+", a filter "+filter, func(t *testing.T) {
				t.Parallel()
				ctx, r := newRun(t)
				if filter == "replaces" {
					hooks.OnStream(hooks.ModelStream, star, hooks.In(r))
				} else {
					hooks.OnStream(hooks.ModelStream, refuse, hooks.In(r), hooks.AsGuard())
				}
				hooks.Guard(hooks.PostModelCall, succeeds[hooks.ModelCall], hooks.In(r))
				write(r)
				shown, m := "", &hooks.ModelCall{}
				err := hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
					s := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error { shown += c.Text; return nil })
					return s.End(s.Push(hooks.Chunk{Text: "clean"}))
				})
				assert.Equal(t, want, shown)
				assert.Equal(t, want, m.Shown())
				if filter == "refuses" {
					assert.Equal(t, "a secret", aborted(t, err).Reason)
					assert.Empty(t, m.Response)
					assert.ErrorIs(t, m.Err, err)
					return
				}
				require.NoError(t, err)
			})
		}
	}
}

// Of a tool, that is a withheld result.
func TestStream_whatHooksWroteIsWithheld(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.OnStream(hooks.ToolStream, func(context.Context, *hooks.ToolCall, hooks.ChunkKind) hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			if strings.Contains(string(w.Text()), "secret") {
				return hooks.Abort("a secret")
			}
			return nil
		}
	}, hooks.In(r), hooks.AsGuard())
	hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { c.Result = "the secret" }), hooks.In(r), hooks.WithFailClosed())
	shown, call := "", &hooks.ToolCall{Name: "run"}
	require.NoError(t, hooks.RunTool(ctx, call, func(ctx context.Context, call *hooks.ToolCall) error {
		s := hooks.OpenStream(ctx, hooks.ToolStream, call, func(c hooks.Chunk) error { shown += c.Text; return nil })
		return s.End(s.Push(hooks.Chunk{Text: "clean"}))
	}))
	assert.Empty(t, shown)
	assert.Equal(t, "Tool result withheld by hook. Tool: run. Reason: a secret", call.Result)
	require.NotNil(t, call.Blocked)
}

// A post hook that says that the run waits has not decided: nothing is shown, and the
// value stands.
func TestStream_isNotShownWhereThePostPointWaits(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]hooks.Option{"a guard": {hooks.AsGuard()}, "a hook beside a guard": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			hooks.Guard(hooks.PostModelCall, succeeds[hooks.ModelCall], hooks.In(r))
			hooks.On(hooks.PostModelCall, fails[hooks.ModelCall](hooks.PassThrough(errWait)), append(opts, hooks.In(r))...)
			shown, m := "", &hooks.ModelCall{}
			err := hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
				s := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error { shown += c.Text; return nil })
				return s.End(s.Push(hooks.Chunk{Text: "an answer"}))
			})
			assert.ErrorIs(t, err, errWait)
			assert.Empty(t, shown)
			assert.Empty(t, m.Shown())
			assert.Equal(t, "an answer", m.Response)
		})
	}
}
