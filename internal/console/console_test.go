package console

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errExited = errors.New("the goroutine was ended")

// panicked is a panic that was recovered.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return "panicked" }

func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

func newConsole(in io.Reader, out io.Writer) *Console {
	return New(in, out, Failures{
		Panicked: func(value any) error { return &panicked{value, string(debug.Stack())} },
		Exited:   errExited,
	})
}

// answered is what a call of Ask returned.
type answered struct {
	text string
	err  error
}

// journal is a list of what happened, in order.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) add(entry string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.entries, " ")
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

const mib = 1 << 20

func consoleOn(in io.Reader) *Console { return newConsole(in, io.Discard) }

func requestLater(ctx context.Context, h *Console) <-chan answered {
	c := make(chan answered, 1)
	go func() {
		text, err := h.Ask(ctx, "p", "m")
		c <- answered{text, err}
	}()
	return c
}

func TestConsole_answerIsTheTrimmedLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"yes\n", "yes"}, {" yes \r\n", "yes"}, {"\n", ""}, {"\r\n", ""}, {" \t \n", ""},
		{"two words\n", "two words"}, {"да\n", "да"}, {"y\x00\n", "y\x00"},
		{strings.Repeat("a", mib) + "\n", strings.Repeat("a", mib)},
	} {
		for name, in := range map[string]io.Reader{
			"plain": strings.NewReader(tc.in), "data with EOF": iotest.DataErrReader(strings.NewReader(tc.in)),
		} {
			got, err := consoleOn(in).Ask(t.Context(), "p", "m")
			require.NoError(t, err, name)
			assert.True(t, tc.want == got, "%s: %.20q", name, tc.in)
		}
	}
}

func TestConsole_takesNothingBehindTheLine(t *testing.T) {
	t.Parallel()
	in := strings.NewReader("yes\nno\nrest")
	c := consoleOn(in)
	for _, want := range []string{"yes", "no"} {
		got, err := c.Ask(t.Context(), "p", "m")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.Equal(t, len("rest"), in.Len())
}

func TestConsole_noAnswer(t *testing.T) {
	t.Parallel()
	gone := errors.New("tty gone")
	for _, tc := range []struct {
		name string
		in   io.Reader
		want error
	}{
		{"end of input", strings.NewReader(""), io.EOF},
		{"line cut off", strings.NewReader("yes"), io.ErrUnexpectedEOF},
		{"line cut off, data with EOF", iotest.DataErrReader(strings.NewReader("yes")), io.ErrUnexpectedEOF},
		{"reader's error", iotest.ErrReader(gone), gone},
		{"reader's error in a line", io.MultiReader(strings.NewReader("yes"), iotest.ErrReader(gone)), gone},
		{"reader that gives nothing", readerFunc(func([]byte) (int, error) { return 0, nil }), io.ErrNoProgress},
		{"reader that panics with an error", readerFunc(func([]byte) (int, error) { panic(gone) }), gone},
		{"reader that exits its goroutine", readerFunc(func([]byte) (int, error) { runtime.Goexit(); return 0, nil }), errExited},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := consoleOn(tc.in).Ask(t.Context(), "p", "m")
			require.ErrorIs(t, err, tc.want)
			assert.ErrorContains(t, err, "hooks: no answer: ")
			assert.Empty(t, got)
			for _, other := range []error{io.EOF, io.ErrUnexpectedEOF} {
				assert.Equal(t, errors.Is(tc.want, other), errors.Is(err, other), "%v", other)
			}
		})
	}
}

func TestConsole_readerThatPanics(t *testing.T) {
	t.Parallel()
	panics := true
	c := consoleOn(readerFunc(func(p []byte) (int, error) {
		if panics {
			panics = false
			panic("secret")
		}
		p[0] = '\n'
		return 1, nil
	}))
	_, err := c.Ask(t.Context(), "p", "m")
	var p *panicked
	require.ErrorAs(t, err, &p)
	assert.Equal(t, "secret", p.value)
	assert.Contains(t, p.stack, "TestConsole_readerThatPanics", "the stack is the reader's")
	assert.NotContains(t, err.Error(), "secret")
	_, err = c.Ask(t.Context(), "p", "m")
	require.NoError(t, err, "the next question reads again")
}

func TestConsole_impossibleCount(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 2} {
		_, err := consoleOn(readerFunc(func([]byte) (int, error) { return n, nil })).Ask(t.Context(), "p", "m")
		require.ErrorContains(t, err, "impossible count")
	}
}

func TestConsole_longestLine(t *testing.T) {
	t.Parallel()
	read := 0
	endless := readerFunc(func(p []byte) (int, error) {
		read++
		p[0] = 'y'
		return 1, nil
	})
	c := consoleOn(endless)
	for range 2 {
		_, err := c.Ask(t.Context(), "p", "m")
		require.ErrorContains(t, err, "longer than 1 MiB")
	}
	assert.Equal(t, 2*(mib+1), read)
}

func TestConsole_restOfAFailedLine(t *testing.T) {
	t.Parallel()
	gone := errors.New("tty gone")
	for name, in := range map[string]io.Reader{
		"too long":             strings.NewReader(strings.Repeat("a", mib+1) + "yes\nno\n"),
		"nearly twice as long": strings.NewReader(strings.Repeat("a", 2*mib) + "\nno\n"),
		"reader's error": io.MultiReader(strings.NewReader("well, "),
			&failOnce{err: gone}, strings.NewReader("yes\nno\n")),
		"reader's panic": io.MultiReader(strings.NewReader("well, "), &failOnce{}, strings.NewReader("yes\nno\n")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := consoleOn(in)
			_, err := c.Ask(t.Context(), "p", "m")
			require.Error(t, err)
			got, err := c.Ask(t.Context(), "p", "m")
			require.NoError(t, err)
			assert.Equal(t, "no", got)
		})
	}
}

func TestConsole_endOfInputInAFailedLine(t *testing.T) {
	t.Parallel()
	c := consoleOn(strings.NewReader(strings.Repeat("a", mib+1) + "yes"))
	_, err := c.Ask(t.Context(), "p", "m")
	require.ErrorContains(t, err, "longer than 1 MiB")
	for range 2 {
		_, err = c.Ask(t.Context(), "p", "m")
		require.ErrorIs(t, err, io.EOF)
	}
}

// failOnce fails its first Read, by a panic if it has no error, and has then
// ended.
type failOnce struct {
	err  error
	done bool
}

func (f *failOnce) Read([]byte) (int, error) {
	if f.done {
		return 0, io.EOF
	}
	f.done = true
	if f.err == nil {
		panic("tty gone")
	}
	return 0, f.err
}

func TestConsole_readsAgainAfterEndOfInput(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]error{"": io.EOF, "ye": io.ErrUnexpectedEOF} {
		in := strings.NewReader(before)
		c := consoleOn(readerFunc(func(p []byte) (int, error) { return in.Read(p) }))
		_, err := c.Ask(t.Context(), "p", "m")
		require.ErrorIs(t, err, want)
		in = strings.NewReader("yes\n") // as a terminal goes on after ^D
		got, err := c.Ask(t.Context(), "p", "m")
		require.NoError(t, err)
		assert.Equal(t, "yes", got)
	}
}

func TestConsole_readerThatOftenGivesNothing(t *testing.T) {
	t.Parallel()
	in, reads := strings.NewReader("yes\n"), 0
	got, err := consoleOn(readerFunc(func(p []byte) (int, error) {
		reads++
		if reads%50 != 0 {
			return 0, nil
		}
		return in.Read(p)
	})).Ask(t.Context(), "p", "m")
	require.NoError(t, err)
	assert.Equal(t, "yes", got)
}

func TestConsole_contextDoneFromTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	in := strings.NewReader("yes\n")
	_, err := newConsole(in, &out).Ask(ctx, "p", "m")
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, out.String())
	assert.Equal(t, 4, in.Len())
}

// quiet is a ctx that is found to be done only by asking it.
type quiet struct {
	context.Context
	done atomic.Bool
}

func (c *quiet) Err() error {
	if c.done.Load() {
		return context.Canceled
	}
	return nil
}

func TestConsole_contextDoneDuringTheWrite(t *testing.T) {
	t.Parallel()
	ctx := &quiet{Context: t.Context()}
	in := strings.NewReader("yes\n")
	out := writerFunc(func(p []byte) (int, error) {
		ctx.done.Store(true)
		return len(p), nil
	})
	_, err := newConsole(in, out).Ask(ctx, "p", "m")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 4, in.Len())
}

func TestConsole_uncomparableReader(t *testing.T) {
	t.Parallel()
	got, err := consoleOn(readerFunc(strings.NewReader("yes\n").Read)).Ask(t.Context(), "p", "m")
	require.NoError(t, err)
	assert.Equal(t, "yes", got)
}

func TestConsole_layout(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ prompt, message, want string }{
		{"Run rm?", "[y/N]:", "Run rm?\n[y/N]: "},
		{"Run rm?\n", "[y/N]: ", "Run rm?\n[y/N]: "},
		{"two\nlines\r\n", "go on", "two\nlines\ngo on "},
		{"", "name:", "name: "},
		{"Name?", "", "Name? "},
		{"Name?\n", "", "Name?\n"},
		{"", "", ""},
		{"a\tb é 中 👩‍👧", "ok", "a\tb é 中 👩‍👧\nok "},
		{"rm\x1b[2K\rls", "\x07\x7f", `rm\x1b[2K\x0dls` + "\n" + `\x07\x7f `},
		{"\u009b2K \x9b2K", "gpj.\u202eexe\u2066", `\x9b2K \x9b2K` + "\n" + `gpj.\u202eexe\u2066 `},
	} {
		var out strings.Builder
		_, err := newConsole(strings.NewReader("\n"), &out).Ask(t.Context(), tc.prompt, tc.message)
		require.NoError(t, err)
		assert.Equal(t, tc.want, out.String())
	}
}

func TestConsole_oneWriteForAQuestion(t *testing.T) {
	t.Parallel()
	writes := 0
	out := writerFunc(func(p []byte) (int, error) { writes++; return len(p), nil })
	_, err := newConsole(strings.NewReader("\n"), out).Ask(t.Context(), "p", "m")
	require.NoError(t, err)
	assert.Equal(t, 1, writes)
}

func TestConsole_newLineAfterNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newTyping()
		var out strings.Builder
		c := newConsole(in, &out)
		cancelled(t, c)
		for range 2 {
			q := requestLater(t.Context(), c)
			synctest.Wait()
			in.enter(t, "yes\n")
			require.NoError(t, (<-q).err)
		}
		assert.Equal(t, "p\nm "+"\np\nm "+"p\nm ", out.String())
	})
}

func TestConsole_writeFailures(t *testing.T) {
	t.Parallel()
	gone := errors.New("tty gone")
	for name, tc := range map[string]struct {
		out  writerFunc
		want error
	}{
		"error":       {func([]byte) (int, error) { return 0, gone }, gone},
		"short write": {func(p []byte) (int, error) { return len(p) - 1, nil }, io.ErrShortWrite},
		"panic":       {func([]byte) (int, error) { panic(gone) }, gone},
		"exit":        {func([]byte) (int, error) { runtime.Goexit(); return 0, nil }, errExited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := strings.NewReader("yes\n")
			c := newConsole(in, tc.out)
			for range 2 {
				got, err := c.Ask(t.Context(), "p", "m")
				require.ErrorIs(t, err, tc.want)
				assert.Empty(t, got)
			}
			assert.Equal(t, 4, in.Len(), "a question that nobody saw reads no answer")
		})
	}
}

func TestConsole_blockedWriteEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := strings.NewReader("yes\n")
		shown, out := io.Pipe()
		c := newConsole(in, out)
		for range 2 { // the second waits for the first one's Write
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := c.Ask(ctx, "p", "m")
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		assert.Equal(t, 4, in.Len())
		var text []byte
		var wg sync.WaitGroup
		wg.Go(func() { text, _ = io.ReadAll(shown) })
		got, err := c.Ask(t.Context(), "p", "m")
		require.NoError(t, err)
		assert.Equal(t, "yes", got)
		require.NoError(t, out.Close())
		wg.Wait()
		assert.Equal(t, "p\nm "+"\np\nm ", string(text), "what was never begun is not written")
	})
}

func FuzzConsoleAnswer(f *testing.F) {
	for _, s := range []string{"", "\n", "yes\n", "yes", " yes \r\nno\n", "\xff\x00\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := strings.NewReader(s)
		c := consoleOn(in)
		for rest := s; ; {
			line, after, whole := strings.Cut(rest, "\n")
			got, err := c.Ask(t.Context(), "p", "m")
			if !whole {
				want := io.ErrUnexpectedEOF
				if line == "" {
					want = io.EOF
				}
				require.ErrorIs(t, err, want)
				require.Empty(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(line), got)
			require.Equal(t, len(after), in.Len())
			rest = after
		}
	})
}

func FuzzConsoleQuestion(f *testing.F) {
	f.Add("Run rm?", "[y/N]")
	f.Add("\x1b[2K\r\u202e", "\x9b\u0085\r\n")
	f.Add("می\u200cخواهم \u200d\U000e0041", "👨\u200d👩\ufe0f a\u0301\u034f\u3164")
	f.Fuzz(func(t *testing.T, prompt, message string) {
		var out strings.Builder
		_, err := newConsole(strings.NewReader("\n"), &out).Ask(t.Context(), prompt, message)
		require.NoError(t, err)
		require.True(t, utf8.ValidString(out.String()))
		for _, r := range out.String() {
			switch {
			case r == '\n', r == '\t', unicode.In(r, joiners, unicode.Variation_Selector):
			default:
				require.True(t, unicode.IsGraphic(r), "%q", r)
			}
		}
	})
}
