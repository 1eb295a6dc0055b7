package policy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cached returns a registry with the policy.
func cached(p policy.Cache) *hooks.Registry {
	reg := hooks.NewRegistry()
	p.Register(hooks.In(reg))
	return reg
}

// question returns a model call with a text.
func question(text string) *hooks.ModelCall {
	return &hooks.ModelCall{Model: "large", Messages: []hooks.Message{{Role: "user", Content: text}}}
}

// counting returns a body that counts its runs and answers with their number.
func counting() (body func(context.Context, *hooks.ModelCall) error, runs *atomic.Int64) {
	runs = new(atomic.Int64)
	return func(_ context.Context, m *hooks.ModelCall) error {
		m.Response = fmt.Sprint("answer ", runs.Add(1))
		m.Usage.In = 10
		return nil
	}, runs
}

func TestCache_hit(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{})
	runs := 0
	body := func(_ context.Context, m *hooks.ModelCall) error {
		runs++
		m.Response, m.FinishReason, m.RawResponse = "Oslo", "stop", "raw"
		m.Parts = []hooks.Part{hooks.NewPart("native", hooks.Part{Kind: "reasoning", Text: "Norway is"})}
		m.Usage.In = 10
		return nil
	}
	first := question("Capital of Norway?")
	require.NoError(t, askModel(t.Context(), reg, first, body))
	assert.False(t, first.Answered())
	first.Parts[0].Text = "edited by the loop"

	for range 2 {
		again := question("Capital of Norway?")
		require.NoError(t, askModel(t.Context(), reg, again, body))
		assert.Equal(t, 1, runs)
		assert.True(t, again.Answered())
		assert.Equal(t, "Oslo", again.Response)
		assert.Equal(t, "stop", again.FinishReason)
		assert.Zero(t, again.Usage)
		assert.Nil(t, again.RawResponse)
		if assert.Len(t, again.Parts, 1) {
			assert.Equal(t, "Norway is", again.Parts[0].Text)
			assert.Equal(t, "native", again.Parts[0].Native)
			assert.False(t, again.Parts[0].Edited())
			again.Parts[0].Text = "edited by the loop"
		}
	}
}

func TestCache_toolHit(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{Tools: []string{"read_*"}})
	runs := 0
	read := func(name string, input map[string]any) *hooks.ToolCall {
		call := &hooks.ToolCall{Name: name, Input: input, Request: "the framework's own"}
		require.NoError(t, callTool(t.Context(), reg, call, func(_ context.Context, c *hooks.ToolCall) error {
			runs++
			c.Result = fmt.Sprint(c.Input["path"], " ", runs)
			c.Parts = []hooks.Part{{Kind: "image", Text: "a cat", Native: 7}}
			c.RawResult = runs
			return nil
		}))
		return call
	}
	assert.True(t, read("read_file", map[string]any{"path": "a", "n": 1}).Ran())
	hit := read("readFile", map[string]any{"n": 1.0, "path": "a"})
	assert.False(t, hit.Ran())
	assert.True(t, hit.Answered())
	assert.Equal(t, "a 1", hit.Result)
	assert.Equal(t, []hooks.Part{{Kind: "image", Text: "a cat", Native: 7}}, hit.Parts)
	assert.Nil(t, hit.RawResult)

	assert.Equal(t, "b 2", read("read_file", map[string]any{"path": "b", "n": 1}).Result)
	assert.Equal(t, "a 3", read("read_page", map[string]any{"path": "a", "n": 1}).Result)
	assert.Equal(t, "a 4", read("write_file", map[string]any{"path": "a", "n": 1}).Result, "another tool")
	assert.Equal(t, "a 5", read("write_file", map[string]any{"path": "a", "n": 1}).Result)
	assert.Equal(t, "x 6", read("read_file", map[string]any{"path": "x", "f": func() {}}).Result, "what JSON can't hold")
	assert.Equal(t, "x 7", read("read_file", map[string]any{"path": "x", "f": func() {}}).Result)

	m := question("?")
	body, modelRuns := counting()
	require.NoError(t, askModel(t.Context(), reg, m, body))
	require.NoError(t, askModel(t.Context(), reg, m, body))
	assert.EqualValues(t, 2, modelRuns.Load(), "not a model")
}

func TestCache_whatMakesCallsDifferent(t *testing.T) {
	t.Parallel()
	base := func() *hooks.ModelCall {
		return &hooks.ModelCall{
			Caller: hooks.Caller{Tenant: "a", AgentRole: "writer"},
			Model:  "large",
			Tools:  []string{"read", "write"},
			Messages: []hooks.Message{
				{Role: "system", Content: "ab"},
				{Role: "user", Name: "kim", Parts: []hooks.Part{{Kind: "text", Text: "x"}, {Kind: "text", Text: "yz"}}},
				{Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "read", Arguments: `{"p":1}`}}},
				{Role: "tool", ToolCallID: "1", Content: "c"},
			},
		}
	}
	for name, change := range map[string]func(*hooks.ModelCall){
		"tenant":            func(m *hooks.ModelCall) { m.Tenant = "b" },
		"role":              func(m *hooks.ModelCall) { m.AgentRole = "reader" },
		"tenant and role":   func(m *hooks.ModelCall) { m.Tenant, m.AgentRole = "awriter", "" },
		"model":             func(m *hooks.ModelCall) { m.Model = "small" },
		"tools":             func(m *hooks.ModelCall) { m.Tools = []string{"read"} },
		"order of tools":    func(m *hooks.ModelCall) { m.Tools = []string{"write", "read"} },
		"cut of tools":      func(m *hooks.ModelCall) { m.Tools = []string{"readw", "rite"} },
		"system prompt":     func(m *hooks.ModelCall) { m.Messages[0].Content = "abc" },
		"role of a message": func(m *hooks.ModelCall) { m.Messages[0].Role = "user" },
		"cut of contents":   func(m *hooks.ModelCall) { m.Messages[0].Content, m.Messages[1].Role = "abu", "ser" },
		"cut of parts":      func(m *hooks.ModelCall) { m.Messages[1].Parts[0].Text, m.Messages[1].Parts[1].Text = "xy", "z" },
		"one part":          func(m *hooks.ModelCall) { m.Messages[1].Parts = []hooks.Part{{Kind: "text", Text: "xyz"}} },
		"content, no parts": func(m *hooks.ModelCall) { m.Messages[1].Parts, m.Messages[1].Content = nil, "xyz" },
		"name":              func(m *hooks.ModelCall) { m.Messages[1].Name = "lee" },
		"ID of a call":      func(m *hooks.ModelCall) { m.Messages[2].ToolCalls[0].ID = "2" },
		"name of a call":    func(m *hooks.ModelCall) { m.Messages[2].ToolCalls[0].Name = "write" },
		"arguments":         func(m *hooks.ModelCall) { m.Messages[2].ToolCalls[0].Arguments = `{"p":2}` },
		"ID of a result":    func(m *hooks.ModelCall) { m.Messages[3].ToolCallID = "2" },
		"a message more":    func(m *hooks.ModelCall) { m.Messages = append(m.Messages, hooks.Message{}) },
		"a message less":    func(m *hooks.ModelCall) { m.Messages = m.Messages[:3] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := cached(policy.Cache{})
			body, runs := counting()
			require.NoError(t, askModel(t.Context(), reg, base(), body))
			require.NoError(t, askModel(t.Context(), reg, base(), body))
			require.EqualValues(t, 1, runs.Load())
			other := base()
			change(other)
			require.NoError(t, askModel(t.Context(), reg, other, body))
			assert.EqualValues(t, 2, runs.Load())
		})
	}
}

// One text is another call in each place where it may stand.
func TestCache_fieldsDontRunTogether(t *testing.T) {
	t.Parallel()
	message := func(m hooks.Message) *hooks.ModelCall { return &hooks.ModelCall{Messages: []hooks.Message{m}} }
	reg := cached(policy.Cache{})
	body, runs := counting()
	calls := []*hooks.ModelCall{
		{},
		{Model: "user"},
		{Tools: []string{"user"}},
		{Caller: hooks.Caller{Tenant: "user"}},
		{Caller: hooks.Caller{AgentRole: "user"}},
		message(hooks.Message{}),
		message(hooks.Message{Role: "user"}),
		message(hooks.Message{Content: "user"}),
		message(hooks.Message{Name: "user"}),
		message(hooks.Message{ToolCallID: "user"}),
		message(hooks.Message{Parts: []hooks.Part{{Kind: "text", Text: "user"}}}),
		message(hooks.Message{ToolCalls: []hooks.ToolRequest{{ID: "user"}}}),
		message(hooks.Message{ToolCalls: []hooks.ToolRequest{{Name: "user"}}}),
		message(hooks.Message{ToolCalls: []hooks.ToolRequest{{Arguments: "user"}}}),
	}
	for i, m := range calls {
		require.NoError(t, askModel(t.Context(), reg, m, body))
		assert.False(t, m.Answered(), "call %d", i)
	}
	assert.EqualValues(t, len(calls), runs.Load())
}

func TestCache_tenantOfTheCtx(t *testing.T) {
	t.Parallel()
	for _, tools := range [][]string{nil, {"*"}} {
		reg := cached(policy.Cache{Tools: tools})
		body, runs := counting()
		tool := func(_ context.Context, c *hooks.ToolCall) error { runs.Add(1); c.Result = "x"; return nil }
		for _, tenant := range []string{"a", "b", "a"} {
			ctx := hooks.WithCaller(t.Context(), hooks.Caller{Tenant: tenant})
			if tools == nil {
				require.NoError(t, askModel(ctx, reg, question("?"), body))
			} else {
				require.NoError(t, callTool(ctx, reg, &hooks.ToolCall{Name: "read"}, tool))
			}
		}
		assert.EqualValues(t, 2, runs.Load())
	}
}

func TestCache_extra(t *testing.T) {
	t.Parallel()
	type request struct{ temperature int }
	reg := cached(policy.Cache{Extra: func(_ context.Context, c any) (string, bool) {
		r, ok := c.(*hooks.ModelCall).Request.(request)
		return fmt.Sprint(r.temperature), ok
	}})
	body, runs := counting()
	ask := func(r any) int64 {
		m := question("?")
		m.Request = r
		require.NoError(t, askModel(t.Context(), reg, m, body))
		return runs.Load()
	}
	assert.EqualValues(t, 1, ask(request{0}))
	assert.EqualValues(t, 1, ask(request{0}))
	assert.EqualValues(t, 2, ask(request{1}))
	assert.EqualValues(t, 3, ask("another"), "not ok")
	assert.EqualValues(t, 4, ask("another"))
	assert.EqualValues(t, 4, ask(request{1}))
}

func TestCache_extraThatPanics(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{Extra: func(context.Context, any) (string, bool) { panic("bug") }})
	body, runs := counting()
	for range 2 {
		require.NoError(t, askModel(t.Context(), reg, question("?"), body))
	}
	assert.EqualValues(t, 2, runs.Load(), "it is passed over")
}

// The logger of the process is set, so this runs alone.
func TestCache_saysOnceWhatItLeavesOut(t *testing.T) { //nolint:paralleltest // see above
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)

	for name, tt := range map[string]struct {
		call *hooks.ModelCall
		text string
	}{
		"a part":               {&hooks.ModelCall{Messages: []hooks.Message{{Role: "user", Parts: []hooks.Part{{Kind: "text", Text: "What is it?"}, {Kind: "image"}}}}}, "aren't text"},
		"an image with a text": {&hooks.ModelCall{Messages: []hooks.Message{{Role: "user", Parts: []hooks.Part{{Kind: "image", Text: "a cat"}}}}}, "aren't text"},
		"a request":            {&hooks.ModelCall{Request: 1}, "give Extra"},
	} {
		log.Reset()
		reg := cached(policy.Cache{})
		body, runs := counting()
		for range 3 {
			require.NoError(t, askModel(t.Context(), reg, tt.call, body))
		}
		assert.EqualValues(t, 3, runs.Load(), name)
		assert.Equal(t, 1, strings.Count(log.String(), "\n"), name)
		assert.Contains(t, log.String(), tt.text, name)
	}
}

func TestCache_whatIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body func(context.Context, *hooks.ModelCall) error
		kept bool
	}{
		"an answer":            {func(_ context.Context, m *hooks.ModelCall) error { m.Response = "x"; return nil }, true},
		"an empty one":         {func(context.Context, *hooks.ModelCall) error { return nil }, true},
		"parts":                {func(_ context.Context, m *hooks.ModelCall) error { m.Parts = []hooks.Part{{Kind: "text"}}; return nil }, true},
		"stop":                 {finish("stop"), true},
		"STOP":                 {finish("STOP"), true},
		"end_turn":             {finish("end_turn"), true},
		"length":               {finish("length"), false},
		"max_tokens":           {finish("max_tokens"), false},
		"content_filter":       {finish("content_filter"), false},
		"tool_calls":           {finish("tool_calls"), false},
		"pause_turn":           {finish("pause_turn"), false},
		"an error":             {func(_ context.Context, m *hooks.ModelCall) error { m.Response = "x"; return errBoom }, false},
		"an error in the call": {func(_ context.Context, m *hooks.ModelCall) error { m.Response, m.Err = "x", errBoom; return nil }, false},
		"nothing but its own":  {func(_ context.Context, m *hooks.ModelCall) error { m.RawResponse = 1; return nil }, false},
		"a turn with tools": {func(_ context.Context, m *hooks.ModelCall) error {
			m.Response, m.ToolCalls = "x", []hooks.ToolRequest{{ID: "1", Name: "read"}}
			return nil
		}, false},
		"a stream":             {streaming(nil, true), true},
		"a stream that failed": {streaming(errBoom, true), false},
		"one left open":        {streaming(nil, false), false},
		"an interrupt":         {func(context.Context, *hooks.ModelCall) error { return hooks.PassThrough(errBoom) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := cached(policy.Cache{})
			runs := 0
			for range 2 {
				_ = askModel(t.Context(), reg, question("?"), func(ctx context.Context, m *hooks.ModelCall) error {
					runs++
					return tt.body(ctx, m)
				})
			}
			assert.Equal(t, tt.kept, runs == 1)
		})
	}
}

func finish(reason string) func(context.Context, *hooks.ModelCall) error {
	return func(_ context.Context, m *hooks.ModelCall) error {
		m.Response, m.FinishReason = "x", reason
		return nil
	}
}

func streaming(failure error, end bool) func(context.Context, *hooks.ModelCall) error {
	return func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(hooks.Chunk) error { return nil })
		err := out.Push(hooks.Chunk{Text: "x"})
		if !end {
			return err
		}
		return out.End(errors.Join(err, failure))
	}
}

func TestCache_whatIsKeptOfTools(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body func(context.Context, *hooks.ToolCall) error
		kept bool
	}{
		"a result":               {func(_ context.Context, c *hooks.ToolCall) error { c.Result = "x"; return nil }, true},
		"an empty one":           {func(context.Context, *hooks.ToolCall) error { return nil }, true},
		"an error":               {func(context.Context, *hooks.ToolCall) error { return errBoom }, false},
		"an error in the call":   {func(_ context.Context, c *hooks.ToolCall) error { c.Err = errBoom; return nil }, false},
		"no such tool":           {func(context.Context, *hooks.ToolCall) error { return hooks.ErrNoTool }, false},
		"a panic":                {func(context.Context, *hooks.ToolCall) error { panic("bug") }, false},
		"nothing but its own":    {func(_ context.Context, c *hooks.ToolCall) error { c.RawResult = 1; return nil }, false},
		"a sub-agent's refusal":  {func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") }, false},
		"a sub-agent that waits": {func(context.Context, *hooks.ToolCall) error { return hooks.PassThrough(errBoom) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := cached(policy.Cache{Tools: []string{"read"}})
			runs := 0
			for range 2 {
				_ = callTool(t.Context(), reg, &hooks.ToolCall{Name: "read"}, func(ctx context.Context, c *hooks.ToolCall) error {
					runs++
					return tt.body(ctx, c)
				})
			}
			assert.Equal(t, tt.kept, runs == 1)
		})
	}
}

// What a filter has made of a stream is that run's: a token in it means something
// else in another.
func TestCache_streamThatAFilterChanged(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{})
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			if at := bytes.IndexByte(w.Text(), '4'); at >= 0 {
				w.Replace(at, at+1, "*")
			}
			return nil
		}
	}, hooks.In(reg))
	for _, tt := range []struct {
		text string
		kept bool
	}{{"4 o'clock", false}, {"nine", true}} {
		runs := 0
		for range 2 {
			require.NoError(t, askModel(t.Context(), reg, question(tt.text), func(ctx context.Context, m *hooks.ModelCall) error {
				runs++
				out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(hooks.Chunk) error { return nil })
				return out.End(out.Push(hooks.Chunk{Text: tt.text}))
			}))
		}
		assert.Equal(t, tt.kept, runs == 1, tt.text)
	}
}

func TestCache_postHooksRunOnHits(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{})
	hooks.On(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.EditResponse(func(text string) string { return strings.ReplaceAll(text, "sk-123", "[KEY]") })
		m.Parts = append(m.Parts, hooks.Part{Kind: "note"})
		return nil
	}, hooks.In(reg))
	runs := 0
	for range 3 {
		m := question("?")
		require.NoError(t, askModel(t.Context(), reg, m, func(_ context.Context, m *hooks.ModelCall) error {
			runs++
			m.Response = "it is sk-123"
			m.Parts = append(m.Parts, hooks.Part{Kind: "text", Text: " or sk-123"})
			return nil
		}))
		assert.Equal(t, "it is [KEY]", m.Response)
		assert.Equal(t, []hooks.Part{{Kind: "text", Text: " or [KEY]"}, {Kind: "note"}}, m.Parts)
	}
	assert.Equal(t, 1, runs)
}

func TestCache_guardsDecideOnHits(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{})
	body, runs := counting()
	require.NoError(t, askModel(t.Context(), reg, question("?"), body))

	refused := hooks.Guard(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("closed") }, hooks.In(reg))
	m := question("?")
	require.Error(t, askModel(t.Context(), reg, m, body))
	assert.Empty(t, m.Response)
	refused.Remove()

	withheld := hooks.Guard(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("closed") }, hooks.In(reg))
	m = question("?")
	require.Error(t, askModel(t.Context(), reg, m, body))
	assert.Empty(t, m.Response)
	withheld.Remove()

	m = question("?")
	require.NoError(t, askModel(t.Context(), reg, m, body))
	assert.Equal(t, "answer 1", m.Response)
	assert.EqualValues(t, 1, runs.Load())
}

// An answer that a guard withheld is kept as the body left it, and is withheld again.
func TestCache_withheldAnswerIsJudgedAgain(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{})
	withholds := hooks.Guard(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("no") }, hooks.In(reg))
	body, _ := counting()
	for range 3 {
		m := question("?")
		require.ErrorContains(t, askModel(t.Context(), reg, m, body), "no")
		assert.Empty(t, m.Response)
	}
	withholds.Remove()
	m := question("?")
	require.NoError(t, askModel(t.Context(), reg, m, body))
	assert.Equal(t, "answer 1", m.Response)
}

// The cache knows which model has answered.
func TestCache_aroundFallback(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{})
	policy.Fallback{Models: []string{"small"}}.Register(hooks.In(reg))
	body, asked := models(map[string]error{"large": errBoom})
	for range 2 {
		m := question("?")
		require.NoError(t, askModel(t.Context(), reg, m, body))
		assert.Equal(t, "small", m.Model)
		assert.Equal(t, "says small", m.Response)
	}
	assert.Equal(t, []string{"large", "small"}, *asked)
}

func TestCache_forgetsAfterTTL(t *testing.T) {
	t.Parallel()
	for ttl, lasts := range map[time.Duration]time.Duration{0: 5 * time.Minute, time.Hour: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			reg := cached(policy.Cache{TTL: ttl})
			body, runs := counting()
			ask := func() int64 {
				require.NoError(t, askModel(t.Context(), reg, question("?"), body))
				return runs.Load()
			}
			assert.EqualValues(t, 1, ask())
			time.Sleep(lasts - 1)
			assert.EqualValues(t, 1, ask())
			time.Sleep(time.Nanosecond)
			assert.EqualValues(t, 2, ask(), "reading it doesn't keep it")
		})
	}
}

func TestCache_maxBytes(t *testing.T) {
	t.Parallel()
	reg := cached(policy.Cache{Max: 100 << 10})
	runs := 0
	ask := func(text string, size int) {
		require.NoError(t, askModel(t.Context(), reg, question(text), func(_ context.Context, m *hooks.ModelCall) error {
			runs++
			m.Response = strings.Repeat("x", size)
			return nil
		}))
	}
	ask("too large", 101<<10)
	ask("too large", 101<<10)
	assert.Equal(t, 2, runs)

	for i := range 100 {
		ask(fmt.Sprint(i), 10<<10)
	}
	runs = 0
	for i := range 100 {
		ask(fmt.Sprint(i), 10<<10)
	}
	assert.GreaterOrEqual(t, runs, 90, "nine have room")
}

// A bubble ends only when no goroutine of it is left.
func TestCache_leavesNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		group := policy.Cache{Max: 1 << 10}.Register(hooks.In(reg))
		body, _ := counting()
		for i := range 50 {
			require.NoError(t, askModel(t.Context(), reg, question(fmt.Sprint(i%20)), body))
			time.Sleep(time.Minute)
		}
		group.Remove()
	})
}

func TestCache_equalCallsAtOnce_ConcurrentSafe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := cached(policy.Cache{})
		var runs atomic.Int64
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				m := question(fmt.Sprint(i % 2))
				assert.NoError(t, askModel(t.Context(), reg, m, func(_ context.Context, m *hooks.ModelCall) error {
					time.Sleep(time.Second)
					runs.Add(1)
					m.Response = "to " + m.Messages[0].Content
					return nil
				}))
				assert.Equal(t, fmt.Sprint("to ", i%2), m.Response)
			})
		}
		group.Wait()
		assert.EqualValues(t, 2, runs.Load())
	})
}

// Equal calls wait for one whose answer has no room in the cache, too.
func TestCache_equalCallsShareWhatHasNoRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := cached(policy.Cache{Max: 1})
		var runs atomic.Int64
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				assert.NoError(t, askModel(t.Context(), reg, question("?"), func(_ context.Context, m *hooks.ModelCall) error {
					time.Sleep(time.Second)
					runs.Add(1)
					m.Response = "x"
					return nil
				}))
			})
		}
		group.Wait()
		assert.EqualValues(t, 1, runs.Load())
	})
}

func TestCache_followersOfACallThatLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, leader := range map[string]func(ctx context.Context, cancel func()) error{
		"cancelled": func(ctx context.Context, cancel func()) error { cancel(); return ctx.Err() },
		"failed":    func(context.Context, func()) error { return errBoom },
		"panicked":  func(context.Context, func()) error { panic("bug") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := cached(policy.Cache{Tools: []string{"*"}})
				var group sync.WaitGroup
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				group.Go(func() {
					_ = callTool(ctx, reg, &hooks.ToolCall{Name: "read"}, func(ctx context.Context, _ *hooks.ToolCall) error {
						time.Sleep(time.Second)
						return leader(ctx, cancel)
					})
				})
				synctest.Wait() // so that it leads
				var runs atomic.Int64
				for range 3 {
					group.Go(func() {
						call := &hooks.ToolCall{Name: "read"}
						assert.NoError(t, callTool(t.Context(), reg, call, func(_ context.Context, c *hooks.ToolCall) error {
							runs.Add(1)
							time.Sleep(time.Second)
							c.Result = "x"
							return nil
						}))
						assert.Equal(t, "x", call.Result)
						assert.NoError(t, call.Err)
					})
				}
				began := time.Now()
				group.Wait()
				assert.EqualValues(t, 3, runs.Load())
				assert.Equal(t, 2*time.Second, time.Since(began), "beside one another")
				call := &hooks.ToolCall{Name: "read"}
				require.NoError(t, callTool(t.Context(), reg, call, noBody))
				assert.Equal(t, "x", call.Result, "what a follower left is kept")
			})
		})
	}
}

// noBody is the body of a call that the cache answers.
func noBody(context.Context, *hooks.ToolCall) error { panic("the cache should have answered") }

func TestCache_followerWhoseCtxEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := cached(policy.Cache{})
		var group sync.WaitGroup
		group.Go(func() {
			assert.NoError(t, askModel(t.Context(), reg, question("?"), func(context.Context, *hooks.ModelCall) error {
				time.Sleep(time.Minute)
				return nil
			}))
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		body, runs := counting()
		err := askModel(ctx, reg, question("?"), body)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Zero(t, runs.Load())
		group.Wait()
	})
}

func TestCache_goexitOfTheBodyThatOthersWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := cached(policy.Cache{})
		go func() {
			_ = askModel(t.Context(), reg, question("?"), func(context.Context, *hooks.ModelCall) error {
				time.Sleep(time.Second)
				runtime.Goexit()
				return nil
			})
		}()
		synctest.Wait()
		body, runs := counting()
		require.NoError(t, askModel(t.Context(), reg, question("?"), body))
		assert.EqualValues(t, 1, runs.Load())
	})
}

// A tool whose body makes the same call must not wait for itself, nor two for one
// another, of one cache or of two.
func TestCache_callsInsideOfCalls(t *testing.T) {
	t.Parallel()
	for name, caches := range map[string][]policy.Cache{
		"one cache":  {{Tools: []string{"*"}}},
		"two caches": {{Tools: []string{"a"}}, {Tools: []string{"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := hooks.NewRegistry()
				for _, p := range caches {
					p.Register(hooks.In(reg))
				}
				var call func(ctx context.Context, names ...string) string
				call = func(ctx context.Context, names ...string) string {
					c := &hooks.ToolCall{Name: names[0]}
					assert.NoError(t, callTool(ctx, reg, c, func(ctx context.Context, c *hooks.ToolCall) error {
						time.Sleep(time.Second)
						if c.Result = c.Name; len(names) > 1 {
							c.Result += call(ctx, names[1:]...)
						}
						return nil
					}))
					return c.Result
				}
				assert.Equal(t, "aaa", call(t.Context(), "a", "a", "a"))
				time.Sleep(time.Hour)
				var group sync.WaitGroup
				group.Go(func() { assert.Equal(t, "ab", call(t.Context(), "a", "b")) })
				group.Go(func() { assert.Equal(t, "ba", call(t.Context(), "b", "a")) })
				group.Wait()
			})
		})
	}
}

func TestCache_registeredTwiceHasTwoCaches(t *testing.T) {
	t.Parallel()
	p := policy.Cache{}
	one, two := cached(p), cached(p)
	body, runs := counting()
	require.NoError(t, askModel(t.Context(), one, question("?"), body))
	require.NoError(t, askModel(t.Context(), two, question("?"), body))
	assert.EqualValues(t, 2, runs.Load())
}
