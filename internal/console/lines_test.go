package console

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConsole_contextDoneDuringTheRead(t *testing.T) {
	t.Parallel()
	why := errors.New("budget spent")
	synctest.Test(t, func(t *testing.T) {
		in, answers := io.Pipe()
		defer answers.Close()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
		defer cancel()
		start := time.Now()
		got, err := consoleOn(in).Ask(ctx, "p", "m")
		assert.Equal(t, 50*time.Millisecond, time.Since(start))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, why)
		assert.Empty(t, got)
	})
}

func TestConsole_noTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, answers := io.Pipe()
		time.AfterFunc(30*24*time.Hour, func() { _, _ = io.WriteString(answers, "yes\n") })
		got, err := consoleOn(in).Ask(t.Context(), "p", "m")
		require.NoError(t, err)
		assert.Equal(t, "yes", got)
	})
}

// typing is an input that a test feeds. It counts the Reads going on.
type typing struct {
	*io.PipeReader
	keys *io.PipeWriter

	mu       sync.Mutex
	now, max int
}

func newTyping() *typing {
	r, w := io.Pipe()
	return &typing{PipeReader: r, keys: w}
}

func (ty *typing) Read(p []byte) (int, error) {
	ty.mu.Lock()
	ty.now++
	ty.max = max(ty.max, ty.now)
	ty.mu.Unlock()
	defer func() {
		ty.mu.Lock()
		defer ty.mu.Unlock()
		ty.now--
	}()
	return ty.PipeReader.Read(p)
}

func (ty *typing) reading() int {
	ty.mu.Lock()
	defer ty.mu.Unlock()
	return ty.now
}

// enter types s, waits until it has been dealt with, and fails the test if
// nobody reads.
func (ty *typing) enter(t *testing.T, s string) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.WriteString(ty.keys, s)
	}()
	synctest.Wait()
	select {
	case <-done:
	default:
		t.Fatalf("nobody reads %q", s)
	}
}

func TestConsole_readsOnlyWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newTyping()
		c := consoleOn(in)
		synctest.Wait()
		assert.Zero(t, in.reading())
		q := requestLater(t.Context(), c)
		synctest.Wait()
		assert.Equal(t, 1, in.reading())
		in.enter(t, "yes\n")
		assert.Equal(t, answered{text: "yes"}, <-q)
		synctest.Wait()
		assert.Zero(t, in.reading())
	})
}

// cancelled asks a question and cancels it while it is being read.
func cancelled(t *testing.T, h *Console) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	q := requestLater(ctx, h)
	synctest.Wait()
	cancel()
	require.ErrorIs(t, (<-q).err, context.Canceled)
}

func TestConsole_lateAnswers(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after string // typed before and after the second question is put
		want          string
	}{
		{"line while nobody is asked is dropped", "yes\n", "no\n", "no"},
		{"reader that is left over serves the next question", "", "yes\n", "yes"},
		{"line begun before the question is dropped", "ye", "s\nno\n", "no"},
		{"only the line break comes after the question", "yes", "\nno\n", "no"},
		{"empty line while nobody is asked is dropped", "\n", "no\n", "no"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := newTyping()
				c := consoleOn(in)
				for range 3 {
					cancelled(t, c)
				}
				assert.Equal(t, 1, in.reading())
				in.enter(t, tc.before)
				q := requestLater(t.Context(), c)
				synctest.Wait()
				in.enter(t, tc.after)
				assert.Equal(t, answered{text: tc.want}, <-q)
				synctest.Wait()
				assert.Zero(t, in.reading(), "reading ends with the question")
				assert.Equal(t, 1, in.max, "one reader at a time")
			})
		})
	}
}

// What a terminal drops is the rest of a line that a reader has half of.
func TestConsole_restOfALineIsDropped(t *testing.T) {
	for _, tc := range []struct{ name, before, after, want string }{
		{"half line", "ye", "no\n", "no"},
		{"letter that with the next line means yes", "y", "es\n", "es"},
		{"line break that was being read", "yes", "\nno\n", "no"},
		{"nothing was begun", "", "no\n", "no"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := newTyping()
				c := consoleOn(in)
				cancelled(t, c)
				in.enter(t, tc.before)
				c.own.cut.Store(true) // as dropTyped does at a terminal
				q := requestLater(t.Context(), c)
				synctest.Wait()
				in.enter(t, tc.after)
				assert.Equal(t, answered{text: tc.want}, <-q)
				assert.Equal(t, 1, in.max)
			})
		})
	}
}

func TestConsole_stopsAfterADroppedLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newTyping()
		cancelled(t, consoleOn(in))
		in.enter(t, "yes\n")
		assert.Zero(t, in.reading())
	})
}

func TestConsole_endOfInputFoundLate(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]bool{"before it is put": false, "after it was put": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := newTyping()
				c := consoleOn(in)
				cancelled(t, c)
				if !asked {
					require.NoError(t, in.keys.Close())
					synctest.Wait()
				}
				q := requestLater(t.Context(), c)
				synctest.Wait()
				if asked {
					require.NoError(t, in.keys.Close())
				}
				require.ErrorIs(t, (<-q).err, io.EOF)
			})
		})
	}
}

func TestConsole_sharesTheReaderOfItsInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newTyping()
		var out journal
		named := func(name string) *Console {
			return newConsole(in, writerFunc(func(p []byte) (int, error) { out.add(name); return len(p), nil }))
		}
		cancelled(t, named("a"))
		b := requestLater(t.Context(), named("b"))
		synctest.Wait()
		c := requestLater(t.Context(), named("c"))
		synctest.Wait()
		assert.Equal(t, "a b", out.String(), "c waits for its turn")
		in.enter(t, "for b\n")
		assert.Equal(t, answered{text: "for b"}, <-b)
		synctest.Wait()
		in.enter(t, "for c\n")
		assert.Equal(t, answered{text: "for c"}, <-c)
		assert.Equal(t, "a b c", out.String())
		assert.Equal(t, 1, in.max)
	})
}

func TestConsole_questionsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newTyping()
		var out journal
		c := newConsole(in, writerFunc(func(p []byte) (int, error) { out.add("question"); return len(p), nil }))
		first := requestLater(t.Context(), c)
		synctest.Wait()
		second := requestLater(t.Context(), c)
		synctest.Wait()
		assert.Equal(t, "question", out.String())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Ask(ctx, "p", "m")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		in.enter(t, "1\n")
		assert.Equal(t, answered{text: "1"}, <-first)
		synctest.Wait()
		in.enter(t, "2\n")
		assert.Equal(t, answered{text: "2"}, <-second)
	})
}

// It doesn't run in parallel: it looks at what all of the package's questions
// leave behind.
func TestConsole_readerIsKeptWhileItReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTyping()
		cancelled(t, consoleOn(in))
		assert.Equal(t, 1, lineReaders.Len(), "the Read that can't be called back")
		require.NoError(t, in.keys.Close())
		synctest.Wait()
		assert.Zero(t, lineReaders.Len())
	})
}
