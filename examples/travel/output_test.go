// A run whose output can't be written fails and says so, wherever it happens,
// and books nothing that nobody is told of.

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
)

// full is a writer that takes nothing.
type full struct{ err error }

func (w full) Write([]byte) (int, error) { return 0, w.err }

// filling takes so many writes, and fails from then on: with err, or by taking
// less than it was given and saying nothing.
type filling struct {
	left int
	err  error
	bytes.Buffer
}

func (w *filling) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, w.err
	}
	return w.Buffer.Write(p)
}

func TestOutput_failsAnywhere(t *testing.T) {
	t.Parallel()
	for want, broken := range map[string]error{"no space left": errors.New("no space left"), "short write": nil} {
		for writes := 0; ; writes++ {
			require.Less(t, writes, 100)
			out := &filling{left: writes, err: broken}
			var errOut bytes.Buffer
			status := run(t.Context(), nil, strings.NewReader(""), out, &errOut, noEnv)
			if out.left >= 0 {
				assert.Equal(t, exitOK, status)
				assert.Greater(t, writes, 20)
				break
			}
			require.Equal(t, exitFailed, status, writes)
			require.Equal(t, "travel: the output can't be written: "+want+"\n", errOut.String())
		}
	}
}

func TestOutput_nothingIsBookedUnseen(t *testing.T) {
	t.Parallel()
	o := new(office)
	s, err := parseFlags(nil, noEnv, io.Discard)
	require.NoError(t, err)
	err = assist(t.Context(), s, o, full{io.ErrClosedPipe})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	assert.Empty(t, o.Bookings())
}

func TestOutput_stderrFailsToo(t *testing.T) {
	t.Parallel()
	dead := full{io.ErrClosedPipe}
	assert.Equal(t, exitFailed, run(t.Context(), nil, strings.NewReader(""), dead, dead, noEnv))
	assert.Equal(t, exitUsage, run(t.Context(), []string{"-max-turns", "0"}, strings.NewReader(""), dead, dead, noEnv))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, exitInterrupted, run(cancelled, nil, strings.NewReader(""), dead, dead, noEnv))
}

// Ctrl-C at every write of a run, and so before, between and in all that it does.
func TestInterrupt_anywhere(t *testing.T) {
	t.Parallel()
	interruptAnywhere(t, 1, 20, "-trace")
}

func TestInterrupt_atTheQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	errOut := &terminal{typed: func(text string) {
		if strings.Contains(text, "Book it?") {
			cancel()
		}
	}}
	silent, pipe := io.Pipe() // nobody types
	defer pipe.Close()
	status := run(ctx, []string{"-approve"}, silent, &out, errOut, noEnv)
	assert.Equal(t, exitInterrupted, status)
	assert.True(t, strings.HasSuffix(errOut.String(), "travel: interrupted\n"), errOut.String())
	assert.Contains(t, out.String(), `hook    "ask before booking" was interrupted at the call of book_ticket`)
	assert.Contains(t, out.String(), "result  book_ticket: none, the run was interrupted\n")
	_, asked, found := strings.Cut(out.String(), "Turn 3")
	require.True(t, found)
	for _, refusal := range []string{"refused the call", "nobody could be asked", "didn't approve", "error "} {
		assert.NotContains(t, asked, refusal)
	}
	assert.Contains(t, out.String(), ", 1 blocked,", "the first class seat")
}

func TestCanceled_ofATool(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &console{w: &out, stopped: func() bool { return false }}
	c.listener().ToolReturned(1, &hooks.ToolCall{Name: "a", Err: context.Canceled, Result: "context canceled"})
	assert.Equal(t, "  error   a: context canceled\n", out.String(), "the run goes on")
}

func TestConsole_tooManyCalls(t *testing.T) {
	t.Parallel()
	call := `{"id":"","type":"function","function":{"name":"traveller_profile","arguments":"{}"}}`
	many := `{"choices":[{"message":{"tool_calls":[` + strings.Repeat(call+",", 999) + call + `]},"finish_reason":"tool_calls"}]}`
	e := saying(t, many, says("Enough."))
	got := travel(t.Context(), t, "", e.at()...)
	require.Equal(t, exitOK, got.status, got.errOut)
	assert.Equal(t, maxCalls, strings.Count(got.out, "call    traveller_profile"))
	assert.Contains(t, got.out, "  call    and 968 more\n")
	assert.Contains(t, got.out, "  error   968 tool calls too many for one turn, not made\n")
	assert.Contains(t, got.out, "2 turns, 32 tool calls, 0 blocked, 968 skipped, ")
	assert.Equal(t, 1000, strings.Count(e.bodies[1], `"role":"tool"`))
}

func TestConsole_partsAreShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &console{w: &out, stopped: func() bool { return false }}
	c.listener().ToolReturned(1, &hooks.ToolCall{Name: "a", Result: "one", Parts: []hooks.Part{{Kind: "text", Text: " two"}}})
	c.end(agent.Result{Skipped: 1}, errors.New("stopped"), 0)
	assert.Equal(t, "  result  a: one two\n\n0 turns, 0 tool calls, 0 blocked, 1 skipped, 0 rewritten, 0s\n", out.String())
}
