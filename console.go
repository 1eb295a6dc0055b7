package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Console is the [HumanInput] of a terminal: it writes a question and reads a
// line as its answer. It is made with [NewConsole] and safe for concurrent use;
// its questions are asked one at a time, also when RequestInput is called
// directly.
type Console struct {
	out     io.Writer
	writing turnstile // a Write to out is under way
	own     *lineReader

	// midLine says that the cursor may still stand behind the last question,
	// because no line was read after it. It belongs to whoever has the turn
	// of the lineReader.
	midLine bool
}

// NewConsole returns a Console that reads answers from in and writes questions
// to out. It panics if either is nil.
//
// Consoles whose readers are equal (==) take turns as if they were one, so each
// run may make its own on os.Stdin. While a Console is in use nothing else
// should read from in. A Write to out that blocks goes on after its question was
// cancelled, so out must be safe for concurrent use where something else writes
// to it.
func NewConsole(in io.Reader, out io.Writer) *Console {
	if in == nil {
		panic("hooks: NewConsole: the reader is nil")
	}
	if out == nil {
		panic("hooks: NewConsole: the writer is nil")
	}
	c := &Console{out: out, writing: newTurnstile()}
	c.own = &lineReader{in: in, key: comparableKey(in, c), turn: newTurnstile()}
	return c
}

// RequestInput writes prompt, a line break, message and a space, and returns
// the next line without surrounding white space. An empty line is "" and no
// error. Control characters of prompt and message other than line breaks and
// tabs are written as escapes (\x1b), and so are those that change the writing
// direction: text that a model made up must not be able to hide or repaint
// what a person is about to approve. Line breaks are not, so text from a model
// should be quoted.
//
// There is no answer, and an error, in these cases:
//   - The input has ended, which is never a yes: the error wraps [io.EOF], or
//     [io.ErrUnexpectedEOF] if a line was cut off before its line break.
//   - The reader or the writer fails (its error is wrapped) or panics (the
//     error wraps a *[PanicError]).
//   - The line is longer than 1 MiB.
//   - ctx is done: RequestInput returns at once, and the error wraps ctx.Err()
//     and the cause. If ctx is done from the start, nothing is written or read.
//
// There is no other time limit. What the input still has of a line that was too
// long, or that an error interrupted, is skipped by the next question.
//
// Input is read only while a question is open, byte by byte, so that nothing
// behind the line break is taken. A Read can't be called back, though: the one
// that a cancelled question was waiting in goes on, on a goroutine of its own,
// and serves the next question. A line that it gets while no question is open,
// or that was begun before the one that is open, is dropped, so that a late
// yes never approves something else. What is typed while nothing is being read
// stays with the terminal or pipe and is read by the next question; prepared
// input relies on that.
func (c *Console) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	if c == nil || c.own == nil {
		return "", errors.New("hooks: no answer: the Console was not made with NewConsole")
	}
	r := lineReaders.hold(c.own.key, c.own)
	defer lineReaders.release(c.own.key)
	if err := r.turn.take(ctx); err != nil {
		return "", err
	}
	defer r.turn.give()

	text := questionText(prompt, message)
	if c.midLine {
		text = "\n" + text
	}
	c.midLine = true
	if err := c.write(ctx, text); err != nil {
		return "", err
	}
	line, err := r.ask(ctx)
	if err != nil {
		return "", err
	}
	c.midLine = false
	return strings.TrimSpace(line), nil
}

// write writes text in one Write. One that is blocked when ctx is done is left
// to finish by itself; the next waits for it.
func (c *Console) write(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	if err := c.writing.take(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		err := ErrGoexit // stands if Write exits the goroutine
		defer func() {
			if v := recover(); v != nil {
				err = &PanicError{Value: v, Stack: debug.Stack()}
			}
			c.writing.give()
			done <- err
		}()
		var n int
		n, err = io.WriteString(c.out, text)
		if err == nil && n < len(text) {
			err = io.ErrShortWrite
		}
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("hooks: no answer: the question could not be written: %w", err)
		}
		return nil
	case <-ctx.Done():
		return noAnswer(ctx)
	}
}

// questionText lays a question out for a terminal, with the cursor behind it.
func questionText(prompt, message string) string {
	prompt, message = printableText(prompt), printableText(message)
	if prompt != "" && message != "" && !strings.HasSuffix(prompt, "\n") {
		prompt += "\n"
	}
	text := prompt + message
	if text != "" && !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, " ") {
		text += " "
	}
	return text
}

// printableText returns s with everything escaped that could make a terminal
// show something else than s.
func printableText(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i]) // some terminals take bytes from 0x80 on for control characters
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

const maxConsoleLine = 1 << 20

var errLongConsoleLine = errors.New("the line is longer than 1 MiB")

// lineReaders has the inputs that are in use, so that Consoles on one input
// share its reader: a second one would take lines away from the first.
var lineReaders sharedPool[*lineReader]

// lineReader reads an input line by line, for one question at a time and on
// one goroutine at a time.
type lineReader struct {
	in   io.Reader
	key  any
	turn turnstile

	mu      sync.Mutex
	open    *openQuestion // the question that is open; guarded by mu
	running bool          // a goroutine is reading; guarded by mu

	// midLine says that a line has been begun whose line break hasn't been
	// read. It belongs to the reading goroutine, and passes to the next one
	// through mu.
	midLine bool
}

type openQuestion struct{ answer chan consoleLine }

type consoleLine struct {
	text string
	err  error
}

// ask opens a question and waits for its line. The caller has the turn.
func (r *lineReader) ask(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", noAnswer(ctx)
	}
	q := &openQuestion{answer: make(chan consoleLine, 1)}
	r.mu.Lock()
	r.open = q
	if !r.running {
		r.running = true
		lineReaders.hold(r.key, r) // released by deliver
		go r.run()
	}
	r.mu.Unlock()

	var l consoleLine
	select {
	case l = <-q.answer:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		r.mu.Lock()
		r.open = nil
		r.mu.Unlock()
		return "", noAnswer(ctx)
	}
	if l.err != nil {
		return "", fmt.Errorf("hooks: no answer: %w", l.err)
	}
	return l.text, nil
}

// run reads until a line or an error has been delivered or dropped while no
// question is open.
func (r *lineReader) run() {
	for r.next() {
	}
}

// next reads a line and delivers it. It reports whether there is more to read.
func (r *lineReader) next() (more bool) {
	l := consoleLine{err: ErrGoexit} // stands if Read exits the goroutine
	var begun *openQuestion
	defer func() {
		if v := recover(); v != nil {
			l = consoleLine{err: &PanicError{Value: v, Stack: debug.Stack()}}
		}
		more = r.deliver(begun, l)
	}()
	l.text, begun, l.err = r.read()
	return more
}

// deliver gives l to the open question. begun is the question that was open
// when the first byte of l was read: a line that began with another question
// belongs to that one, so it is dropped and the next is read.
func (r *lineReader) deliver(begun *openQuestion, l consoleLine) (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.open
	if q != nil && q != begun && l.err == nil {
		return true
	}
	r.open, r.running = nil, false
	lineReaders.release(r.key)
	if q != nil {
		q.answer <- l
	}
	return false
}

// read returns the next line, and the question that was open at its start.
func (r *lineReader) read() (text string, begun *openQuestion, err error) {
	var (
		buf  [1]byte
		got  []byte
		rest = r.midLine // of a line that failed: it is skipped
		size int         // bytes of the line so far
		idle int         // reads in a row that gave nothing
	)
	for {
		n, err := r.in.Read(buf[:])
		if n < 0 || n > len(buf) {
			return "", nil, errors.New("the reader returned an impossible count")
		}
		if n == 1 {
			idle = 0
			if size == 0 {
				begun = r.current()
			}
			size++
			r.midLine = buf[0] != '\n'
			switch {
			case r.midLine && size > maxConsoleLine:
				return "", nil, errLongConsoleLine
			case r.midLine && !rest:
				got = append(got, buf[0])
			case !r.midLine && !rest:
				return string(got), begun, nil
			case !r.midLine:
				rest, size = false, 0
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			cut := r.midLine && !rest
			r.midLine = false
			if cut {
				return "", nil, io.ErrUnexpectedEOF
			}
			return "", nil, err
		case err != nil:
			return "", nil, err
		case n == 0:
			if idle++; idle == maxEmptyReads {
				return "", nil, io.ErrNoProgress
			}
		}
	}
}

// maxEmptyReads is what bufio allows, too.
const maxEmptyReads = 100

func (r *lineReader) current() *openQuestion {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}
