package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// terminal is a pseudoterminal, with what a person does and sees at it.
type terminal struct {
	*os.File // the program's side
	keys     *os.File
	console  *Console
	shown    chan struct{}
}

// newTerminal opens a terminal and a Console on it. Its driver edits lines and
// echoes what is typed, as that of a shell does.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudoterminals:", err)
	}
	t.Cleanup(func() { assert.NoError(t, keys.Close()) })
	var locked, number int32
	control(t, keys, syscall.TIOCSPTLCK, &locked)
	control(t, keys, syscall.TIOCGPTN, &number)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	tty := &terminal{File: program, keys: keys, shown: make(chan struct{}, 10)}
	t.Cleanup(func() { assert.NoError(t, program.Close()) })
	tty.console = newConsole(program, writerFunc(func(p []byte) (int, error) {
		tty.shown <- struct{}{}
		return len(p), nil
	}))
	return tty
}

func control(t *testing.T, f *os.File, request uintptr, argument *int32) {
	t.Helper()
	conn, err := f.SyscallConn()
	require.NoError(t, err)
	ok := false
	require.NoError(t, conn.Control(func(fd uintptr) { ok = ioctl(fd, request, unsafe.Pointer(argument)) }))
	require.True(t, ok)
}

// enter types s and waits until its echo shows that the terminal has it.
func (tty *terminal) enter(t *testing.T, s string) {
	t.Helper()
	_, err := io.WriteString(tty.keys, s)
	require.NoError(t, err)
	require.NoError(t, tty.keys.SetReadDeadline(time.Now().Add(20*time.Second)))
	echo := make([]byte, len(strings.ReplaceAll(s, "\n", "\r\n")))
	_, err = io.ReadFull(tty.keys, echo)
	require.NoError(t, err)
}

// ask puts a question, and returns once it is shown and open.
func (tty *terminal) ask(ctx context.Context, t *testing.T) <-chan answered {
	t.Helper()
	answer := make(chan answered, 1)
	go func() {
		text, err := tty.console.Ask(ctx, "p", "m")
		answer <- answered{text, err}
	}()
	<-tty.shown
	r := tty.console.own
	eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.open != nil || len(answer) > 0
	})
	return answer
}

// abandon puts a question that is cancelled while its Read is under way.
func (tty *terminal) abandon(t *testing.T, typed string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	answer := tty.ask(ctx, t)
	tty.enter(t, typed)
	cancel()
	require.ErrorIs(t, soon(t, answer).err, context.Canceled)
}

// soon returns the answer to a question.
func soon(t *testing.T, answer <-chan answered) answered {
	t.Helper()
	select {
	case a := <-answer:
		return a
	case <-time.After(20 * time.Second):
		require.Fail(t, "no answer")
		return answered{}
	}
}

// eventually waits for what no channel tells.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "still waiting")
	}
}

func (tty *terminal) reading() bool {
	r := tty.console.own
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

func TestTerminal_dropsTypingBeforeAQuestion(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(t *testing.T, tty *terminal){
		"line":                    func(t *testing.T, tty *terminal) { tty.enter(t, "yes\n") },
		"lines":                   func(t *testing.T, tty *terminal) { tty.enter(t, "yes\nyes\nyes\n") },
		"half line":               func(t *testing.T, tty *terminal) { tty.enter(t, "ye") },
		"line and a half":         func(t *testing.T, tty *terminal) { tty.enter(t, "yes\nye") },
		"half line of a question": func(t *testing.T, tty *terminal) { tty.abandon(t, "ye") },
		"half line of two": func(t *testing.T, tty *terminal) {
			tty.abandon(t, "y")
			tty.abandon(t, "e")
		},
		"half line behind a question": func(t *testing.T, tty *terminal) {
			tty.abandon(t, "")
			tty.enter(t, "ye")
		},
		"lines behind a question": func(t *testing.T, tty *terminal) {
			tty.abandon(t, "")
			tty.enter(t, "yes\n")
			eventually(t, func() bool { return !tty.reading() })
			tty.enter(t, "yes\nye")
		},
		"answered question": func(t *testing.T, tty *terminal) {
			answer := tty.ask(t.Context(), t)
			tty.enter(t, "well\nyes\nye")
			require.Equal(t, answered{text: "well"}, soon(t, answer))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tty := newTerminal(t)
			before(t, tty)
			answer := tty.ask(t.Context(), t)
			tty.enter(t, "s\n")
			require.Equal(t, answered{text: "s"}, soon(t, answer))
		})
	}
}

func TestTerminal_forgetsTheRestOfAFailedLine(t *testing.T) {
	t.Parallel()
	tty := newTerminal(t)
	tty.console.own.midLine = true
	answer := tty.ask(t.Context(), t)
	tty.enter(t, "no\n")
	require.Equal(t, answered{text: "no"}, soon(t, answer))
}

func TestTerminal_sharedByConsoles(t *testing.T) {
	t.Parallel()
	tty := newTerminal(t)
	other := newConsole(tty.File, tty.console.out)
	first := tty.ask(t.Context(), t)
	second := make(chan answered, 1)
	go func() {
		text, err := other.Ask(t.Context(), "p", "m")
		second <- answered{text, err}
	}()
	tty.enter(t, "fi")
	tty.enter(t, "rst\n") // the question that waits drops nothing of it
	require.Equal(t, answered{text: "first"}, soon(t, first))
	<-tty.shown
	tty.enter(t, "second\n")
	require.Equal(t, answered{text: "second"}, soon(t, second))
}

func TestTerminal_keepsItsDeadline(t *testing.T) {
	t.Parallel()
	tty := newTerminal(t)
	require.NoError(t, tty.SetReadDeadline(time.Now().Add(-time.Second)))
	_, err := tty.console.Ask(t.Context(), "p", "m")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestTerminal_manyQuestions(t *testing.T) {
	t.Parallel()
	tty := newTerminal(t)
	for i := range 100 {
		want := fmt.Sprint("answer ", i)
		answer := tty.ask(t.Context(), t)
		tty.enter(t, want+"\nyes\nye")
		require.Equal(t, answered{text: want}, soon(t, answer))
		tty.abandon(t, "s")
	}
}

func TestFlush_onlyTerminals(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	for name, in := range map[string]io.Reader{
		"pipe": r, "file": file, "device": null, "nil file": (*os.File)(nil), "other": strings.NewReader("yes\n"),
	} {
		assert.False(t, flush(in), name)
	}
	require.NoError(t, null.Close())
	assert.False(t, flush(null), "closed")
	require.NoError(t, file.Close())

	_, err = io.WriteString(w, "yes\nno\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	c := consoleOn(r)
	for _, want := range []string{"yes", "no"} {
		got, err := c.Ask(t.Context(), "p", "m")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}
