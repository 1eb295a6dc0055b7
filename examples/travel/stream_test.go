// What the model says is printed while it says it, as far as it may be shown.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// events writes the pieces of a text as an endpoint does that streams. Each is read
// before the next one is written, where next is called in between.
func events(w http.ResponseWriter, next func(i int), pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i, piece := range pieces {
		if next != nil {
			next(i)
		}
		raw, _ := json.Marshal(piece)
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", raw)
		_ = http.NewResponseController(w).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

func TestStream_sameStoryInPieces(t *testing.T) {
	t.Parallel()
	whole := travel(t.Context(), t, "")
	var writes []string
	out := &terminal{typed: func(text string) { writes = append(writes, text) }}
	var errOut bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"-stream"}, strings.NewReader(""), out, &errOut, noEnv), errOut.String())
	answer := strings.TrimPrefix(answerIn(whole.out), "  ")
	before, after, found := strings.Cut(out.String(), "  model   "+answer+"\n\n4 turns, 4 tool calls, 1 blocked, 6 rewritten, ")
	require.True(t, found, out.String())
	assert.NotContains(t, after, "\n\n", "the answer isn't there twice")
	story, _, _ := strings.Cut(whole.out, "\nAnswer\n")
	assert.Equal(t, story, before, "all else is as without -stream")
	assert.Greater(t, len(writes), len(answer)/4, "in pieces")
}

// Everything that the model has said is on the screen before it says more.
func TestStream_printedAtOnce(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{}, 10)
	out := &terminal{typed: func(text string) {
		if strings.HasSuffix(text, "!") {
			seen <- struct{}{}
		}
	}}
	e := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		events(w, func(i int) {
			if i > 0 {
				select {
				case <-seen:
				case <-r.Context().Done():
				}
			}
		}, "one!", "two!", "three!")
	})
	var errOut bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), e.at("-stream"), strings.NewReader(""), out, &errOut, noEnv), errOut.String())
	assert.Contains(t, out.String(), "  model   one!two!three!\n\n1 turn, ")
}

func TestStream_documentAcrossPieces(t *testing.T) {
	t.Parallel()
	const text = "You are D.N.I. N° 30.123.456, and ＤＮＩ ３０１２３４５６, aren't you?"
	for size := 1; size <= 12; size++ {
		var pieces []string
		for runes := []rune(text); len(runes) > 0; {
			n := min(size, len(runes))
			pieces, runes = append(pieces, string(runes[:n])), runes[n:]
		}
		e := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { events(w, nil, pieces...) })
		got := travel(t.Context(), t, "", e.at("-stream")...)
		require.Equal(t, exitOK, got.status, got.errOut)
		assert.Contains(t, got.out, "  model   You are D.N.I. N° ***, and ＤＮＩ ***, aren't you?\n", size)
		assert.NotContains(t, got.out, "Answer", "it is there already")
		assert.Contains(t, e.bodies[0], `"stream":true`)
	}
}

// An endpoint that doesn't stream is heard as well.
func TestStream_endpointThatCannot(t *testing.T) {
	t.Parallel()
	e := saying(t, asks("traveller_profile", "{}"), says("You are DNI 30.123.456."))
	got := travel(t.Context(), t, "", e.at("-stream")...)
	require.Equal(t, exitOK, got.status, got.errOut)
	assert.Contains(t, got.out, "  model   You are DNI ***.\n  hook    \"hide document numbers\" rewrote what the model says\n\n2 turns, ")
}

// No line looks like something else than what the model says.
func TestStream_harmlessForATerminal(t *testing.T) {
	t.Parallel()
	e := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		events(w, nil, "one\n  hook  ", "  booked\x1b[2J\r", "\n", "\nlast\u202e", "\n")
	})
	got := travel(t.Context(), t, "", e.at("-stream")...)
	require.Equal(t, exitOK, got.status, got.errOut)
	assert.Contains(t, got.out, "  model   one\n  model     hook    booked�[2J \n  model   \n  model   last�\n\n1 turn, ")
}

// What hooks make of the answer behind the stream is printed as the answer.
func TestStream_answerIsAnother(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &console{w: &out, stopped: func() bool { return false }}
	require.NoError(t, c.piece(1, hooks.Chunk{Kind: hooks.ChunkText, Text: "It is do"}))
	require.NoError(t, c.piece(1, hooks.Chunk{Kind: hooks.ChunkToolCall, Text: "{}"}))
	require.NoError(t, c.piece(1, hooks.Chunk{Kind: hooks.ChunkText, Text: "ne."}))
	c.listener().ModelReplied(1, hooks.Message{Content: "It is done, signed.", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "f", Arguments: "{}"}}})
	assert.Equal(t, "  model   It is done.\n  model   It is done, signed.\n  call    f {}\n", out.String())
	assert.Error(t, (&console{w: full{errors.New("no space left")}}).piece(1, hooks.Chunk{Kind: hooks.ChunkText, Text: "x"}))
}

func TestStream_breaksOff(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		args   []string
		want   string
	}{
		"an error in between": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"I see\"}}]}\n\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n")
		}, want: "overloaded"},
		"it ends too early": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"I see\"}}]}\n\n")
		}, want: "unexpected EOF"},
		"it falls silent": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"I see\"}}]}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, args: []string{"-timeout", "50ms"}, want: "sent nothing for 50ms"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { tt.answer(w, r) })
			got := travel(t.Context(), t, "", e.at(append(tt.args, "-stream")...)...)
			assert.Equal(t, exitFailed, got.status)
			assert.Contains(t, got.errOut, tt.want)
			assert.Contains(t, got.out, "  model   I see\n\n1 turn, ", "what was shown is a line of its own")
		})
	}
}

func TestStream_outputFailsAnywhere(t *testing.T) {
	t.Parallel()
	for writes := 0; ; writes += 7 {
		require.Less(t, writes, 1000)
		out := &filling{left: writes, err: errors.New("no space left")}
		var errOut bytes.Buffer
		status := run(t.Context(), []string{"-stream"}, strings.NewReader(""), out, &errOut, noEnv)
		if out.left >= 0 {
			assert.Equal(t, exitOK, status)
			assert.Greater(t, writes, 80)
			return
		}
		require.Equal(t, exitFailed, status, writes)
		require.Equal(t, "travel: the output can't be written: no space left\n", errOut.String())
	}
}

func TestStream_interruptedAnywhere(t *testing.T) {
	t.Parallel()
	interruptAnywhere(t, 7, 80, "-stream")
}

func TestStream_decidedLater(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	got := travel(t.Context(), t, "", "-stream", "-approve=later", "-state", dir)
	require.Equal(t, exitWaiting, got.status, got.errOut)
	assert.Contains(t, got.out, "  model   First class was refused, so I'll book tourist class.\n  call    book_ticket")
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", idIn(t, got.out), "-yes").status)
	end := travel(t.Context(), t, "", "-stream", "-state", dir, "-resume")
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, end.out, "  model   Booked: a tourist class seat to Mar del Plata")
}
