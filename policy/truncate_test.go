package policy_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// result returns what a model reads of a tool's result under the policy.
func result(t *testing.T, p policy.Truncate, text string, parts ...hooks.Part) *hooks.ToolCall {
	t.Helper()
	reg := hooks.NewRegistry()
	p.Register(hooks.In(reg))
	call := &hooks.ToolCall{Name: "read"}
	require.NoError(t, callTool(t.Context(), reg, call, func(_ context.Context, c *hooks.ToolCall) error {
		c.Result, c.Parts = text, parts
		return nil
	}))
	return call
}

// digits is a text in which each place is known.
func digits(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(strconv.Itoa(b.Len()) + ",")
	}
	return b.String()[:n]
}

var gap = regexp.MustCompile(`\n\[(\d+) of (\d+) bytes left out; ask for a part(?:; all of it: ([^\]]*))?\]\n`)

// wantCut checks that got is what is left of text: a beginning, the note, an end.
func wantCut(t *testing.T, text, got string, maxBytes int, where string) (head, tail string) {
	t.Helper()
	require.LessOrEqual(t, len(got), maxBytes)
	at := gap.FindStringSubmatchIndex(got)
	require.NotNil(t, at, got)
	note := gap.FindStringSubmatch(got)
	head, tail = got[:at[0]], got[at[1]:]
	assert.True(t, strings.HasPrefix(text, head))
	assert.True(t, strings.HasSuffix(text, tail))
	assert.Equal(t, strconv.Itoa(len(text)-len(head)-len(tail)), note[1])
	assert.Equal(t, strconv.Itoa(len(text)), note[2])
	assert.Equal(t, where, note[3])
	return head, tail
}

func TestTruncate_max(t *testing.T) {
	t.Parallel()
	for set, limit := range map[int]int{0: 32 << 10, 256: 256, 5000: 5000} {
		p := policy.Truncate{Max: set}
		exact := digits(limit)
		call := result(t, p, exact)
		assert.Equal(t, exact, call.Result, "exactly Max")
		assert.False(t, call.ResultEdited())
		for _, more := range []int{1, 2, 17, 12345} {
			text := digits(limit + more)
			call := result(t, p, text)
			head, tail := wantCut(t, text, call.Result, limit, "")
			assert.GreaterOrEqual(t, len(call.Result), limit-8, "no more than needed")
			assert.InDelta(t, 0.25, float64(len(tail))/float64(len(head)+len(tail)), 0.02)
			assert.True(t, call.ResultEdited())
			assert.Equal(t, call.Result, result(t, p, call.Result).Result, "a second run changes nothing")
		}
	}
}

func TestTruncate_tail(t *testing.T) {
	t.Parallel()
	text := digits(5000)
	for tail, want := range map[float64]float64{0: 0.25, 0.5: 0.5, 1: 1, -1: 0, 0.01: 0.01} {
		head, end := wantCut(t, text, result(t, policy.Truncate{Max: 1000, Tail: tail}, text).Result, 1000, "")
		assert.InDelta(t, want, float64(len(end))/float64(len(head)+len(end)), 0.01, tail)
	}
}

func TestTruncate_cutsBetweenRunes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("통과,", 500), strings.Repeat("실", 500), strings.Repeat("😀", 400)} {
		for shift := range 8 {
			text := strings.Repeat("x", shift) + text
			call := result(t, policy.Truncate{Max: 300, Tail: 0.4}, text)
			assert.True(t, utf8.ValidString(call.Result))
			wantCut(t, text, call.Result, 300, "")
		}
	}
	for _, text := range []string{strings.Repeat("\x80", 999), strings.Repeat("\xff", 999), strings.Repeat("x\xe4\xb8", 333)} {
		wantCut(t, text, result(t, policy.Truncate{Max: 300}, text).Result, 300, "")
	}
}

func TestTruncate_parts(t *testing.T) {
	t.Parallel()
	image := hooks.NewPart("pixels", hooks.Part{Kind: "image"})
	text := func(n int) hooks.Part { return hooks.Part{Kind: "text", Text: digits(n)} }

	call := result(t, policy.Truncate{Max: 300}, "", text(100), image, text(200))
	assert.False(t, call.ResultEdited(), "together they fit")

	call = result(t, policy.Truncate{Max: 300}, "", text(100), image, text(201))
	require.Len(t, call.Parts, 3)
	assert.Equal(t, digits(100), call.Parts[0].Text)
	assert.False(t, call.Parts[1].Edited(), "the image is as it was")
	assert.Equal(t, "pixels", call.Parts[1].Native)
	wantCut(t, digits(100)+digits(201), call.Text(), 300, "")

	call = result(t, policy.Truncate{Max: 300}, digits(150), text(100), text(999), image, text(999), hooks.Part{Kind: "image", Text: "a cat"}, text(50))
	var kinds []string
	for _, part := range call.Parts {
		kinds = append(kinds, fmt.Sprint(part.Kind, " ", len(part.Text)))
	}
	all := digits(150) + digits(100) + digits(999) + digits(999) + "a cat" + digits(50)
	head, tail := wantCut(t, all, call.Text(), 300, "")
	assert.Equal(t, digits(150), call.Result)
	require.Greater(t, len(head), 150)
	require.Greater(t, len(tail), 55)
	assert.Len(t, kinds, 5, "the text of which nothing is left isn't there: %v", kinds)

	call = result(t, policy.Truncate{Max: 300, Tail: -1}, digits(400), hooks.Part{Kind: "image", Text: "a cat", Native: 7}, hooks.Part{Text: "x"}, text(0))
	assert.Equal(t, []hooks.Part{{Kind: "image", Native: 7}, {Kind: "text"}}, call.Parts, "what isn't text stays, and what was empty")
	wantCut(t, digits(400)+"a catx", call.Text(), 300, "")

	call = result(t, policy.Truncate{Max: 300, Tail: 1}, "", text(400), text(20))
	require.Len(t, call.Parts, 2)
	assert.True(t, strings.HasPrefix(call.Parts[0].Text, "\n["))
	assert.Equal(t, digits(20), call.Parts[1].Text)
}

func TestTruncate_spill(t *testing.T) {
	t.Parallel()
	text := digits(5000)
	for name, tt := range map[string]struct {
		where string
		err   error
		want  string
	}{
		"a place":              {where: "/tmp/42.txt", want: "/tmp/42.txt"},
		"none":                 {},
		"one that has no room": {where: strings.Repeat("x", 240)},
		"one that has just":    {where: strings.Repeat("x", 181), want: strings.Repeat("x", 181)},
		"a failure":            {where: "/tmp/42.txt", err: errors.New("disk full")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var spilled []string
			call := result(t, policy.Truncate{Max: 256, Spill: func(_ context.Context, c *hooks.ToolCall, full string) (string, error) {
				spilled = append(spilled, c.Name+" "+full)
				return tt.where, tt.err
			}}, text)
			wantCut(t, text, call.Result, 256, tt.want)
			assert.Equal(t, []string{"read " + text}, spilled)
		})
	}
}

func TestTruncate_spillIsAskedOnlyWhereSomethingIsCut(t *testing.T) {
	t.Parallel()
	result(t, policy.Truncate{Max: 300, Spill: func(context.Context, *hooks.ToolCall, string) (string, error) {
		t.Error("nothing is cut")
		return "", nil
	}}, digits(300))
}

func TestTruncate_spillThatFailsIsAFailureOfTheHook(t *testing.T) {
	t.Parallel()
	text := digits(5000)
	for name, spill := range map[string]func() (string, error){
		"an error": func() (string, error) { return "", errBoom },
		"a panic":  func() (string, error) { panic("bug") },
	} {
		reg := hooks.NewRegistry()
		p := policy.Truncate{Max: 300, Spill: func(context.Context, *hooks.ToolCall, string) (string, error) { return spill() }}
		var failed []error
		observer := reg.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
			for _, run := range ev.Hooks {
				if run.Name == "policy.Truncate" {
					failed = append(failed, run.Err)
				}
			}
		})
		group := p.Register(hooks.In(reg))
		call := &hooks.ToolCall{Name: "read"}
		body := func(_ context.Context, c *hooks.ToolCall) error { c.Result = text; return nil }
		require.NoError(t, callTool(t.Context(), reg, call, body))
		wantCut(t, text, call.Result, 300, "")
		if assert.Len(t, failed, 1, name) {
			assert.Error(t, failed[0], name)
		}

		group.Remove()
		p.Register(hooks.In(reg), hooks.WithFailClosed())
		require.NoError(t, callTool(t.Context(), reg, call, body))
		assert.NotNil(t, call.Blocked, "%s: withheld", name)
		observer.Remove()
	}
}

// Whoever takes secrets out comes first: no byte of one that lies at the cut is left.
func TestTruncate_behindRedact(t *testing.T) {
	t.Parallel()
	key := "sk-0123456789abcdef0123456789abcdef"
	for at := 150; at < 260; at++ {
		text := strings.Repeat("-", at) + key + strings.Repeat("-", 400)
		reg := hooks.NewRegistry()
		spilled := ""
		policy.Truncate{Max: 256, Spill: func(_ context.Context, _ *hooks.ToolCall, full string) (string, error) {
			spilled = full
			return "", nil
		}}.Register(hooks.In(reg))
		hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
			c.EditText(func(text string) string { return strings.ReplaceAll(text, key, "[KEY]") })
			return nil
		}, hooks.In(reg), hooks.WithPriority(-800))
		call := &hooks.ToolCall{Name: "read"}
		require.NoError(t, callTool(t.Context(), reg, call, func(_ context.Context, c *hooks.ToolCall) error {
			c.Result = text
			return nil
		}))
		assert.NotContains(t, call.Result, "sk-")
		assert.NotContains(t, call.Result, "abcdef")
		assert.NotContains(t, spilled, key)
		assert.Contains(t, spilled, "[KEY]")
	}
}

func TestTruncate_errorsOfTools(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Truncate{Max: 300}.Register(hooks.In(reg), hooks.WithTools("read"))
	failure := errors.New(digits(5000))
	for name, want := range map[string]bool{"read": true, "write": false} {
		call := &hooks.ToolCall{Name: name}
		require.NoError(t, callTool(t.Context(), reg, call, func(context.Context, *hooks.ToolCall) error { return failure }))
		assert.Equal(t, want, len(call.Result) <= 300)
		assert.Same(t, failure, call.Err)
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("통과", "x", 300, 0.25, uint8(40))
	f.Add("\x80\xff", "😀", 256, 1.0, uint8(200))
	f.Fuzz(func(t *testing.T, a, b string, maxBytes int, tail float64, times uint8) {
		maxBytes = 256 + (maxBytes&0xfff)%1000
		if !(tail <= 1) {
			tail = 0.5
		}
		if len(a)+len(b) > 200 {
			return
		}
		long := strings.Repeat(a, int(times))
		parts := []hooks.Part{{Kind: "text", Text: strings.Repeat(b, int(times))}, {Kind: "image"}, {Kind: "text", Text: a + b}}
		all := long + parts[0].Text + parts[2].Text
		p := policy.Truncate{Max: maxBytes, Tail: tail}
		call := result(t, p, long, parts...)
		if len(all) <= maxBytes {
			assert.Equal(t, all, call.Text())
			return
		}
		assert.LessOrEqual(t, len(call.Text()), maxBytes)
		if utf8.ValidString(a) && utf8.ValidString(b) {
			assert.True(t, utf8.ValidString(call.Text()))
		}
		again := result(t, p, call.Result, call.Parts...)
		assert.False(t, again.ResultEdited())
	})
}
