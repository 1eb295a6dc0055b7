package console

// Reading an input line by line. A line belongs to the question that was open
// at its first byte, or to none; only the question that it belongs to gets it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/turns"
)

const (
	maxLine       = 1 << 20
	maxEmptyReads = 100 // what bufio allows, too
)

var (
	errLongLine  = errors.New("the line is longer than 1 MiB")
	errReadCount = errors.New("the reader returned an impossible count")
)

// lineReaders has the inputs that are in use, so that Consoles on one input
// share its reader: a second one would take lines away from the first.
var lineReaders turns.Pool[*lineReader]

// lineReader reads an input line by line, for one question at a time and on
// one goroutine at a time.
type lineReader struct {
	in       io.Reader
	key      any
	turn     turns.Turnstile
	failures Failures

	mu      sync.Mutex
	open    *question // the question that is open; guarded by mu
	running bool      // a goroutine is reading; guarded by mu

	cut atomic.Bool // the input behind the last byte read was dropped

	// midLine says that a line has been begun whose line break hasn't been
	// read. It belongs to the reading goroutine, and passes to the next one
	// through mu.
	midLine bool
}

type question struct{ answer chan line }

type line struct {
	text string
	err  error
}

// dropTyped drops what was typed at a terminal and hasn't been read, the rest
// of a line that has been read in part included. Other inputs keep what they
// have. The caller has the turn, and no question is open.
func (r *lineReader) dropTyped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !flush(r.in) {
		return
	}
	if r.running {
		r.cut.Store(true)
	} else {
		r.midLine = false
	}
}

// ask opens a question and waits for its line. The caller has the turn.
func (r *lineReader) ask(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", turns.NoAnswer(ctx)
	}
	q := &question{answer: make(chan line, 1)}
	r.mu.Lock()
	r.open = q
	if !r.running {
		r.running = true
		lineReaders.Hold(r.key, r) // released by deliver
		go r.run()
	}
	r.mu.Unlock()

	var l line
	select {
	case l = <-q.answer:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		r.mu.Lock()
		r.open = nil
		r.mu.Unlock()
		return "", turns.NoAnswer(ctx)
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
	var l line
	var begun *question
	returned := false
	defer func() {
		if !returned {
			l = line{err: r.failures.of(recover())}
		}
		more = r.deliver(begun, l)
	}()
	l.text, begun, l.err = r.read()
	returned = true
	return more
}

// deliver gives l to the open question. begun is the question that was open
// when the first byte of l was read: a line that began with another question
// belongs to that one, so it is dropped and the next is read.
func (r *lineReader) deliver(begun *question, l line) (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.open
	if q != nil && q != begun && l.err == nil {
		return true
	}
	r.open, r.running = nil, false
	lineReaders.Release(r.key)
	if q != nil {
		q.answer <- l
	}
	return false
}

// read returns the next line, and the question that was open at its start.
func (r *lineReader) read() (text string, begun *question, err error) {
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
			return "", nil, errReadCount
		}
		if n == 1 {
			idle = 0
			if r.cut.Load() {
				r.cut.Store(false)
				// A line break may still be the one of the old line, whose
				// Read was returning while the rest was being dropped.
				if buf[0] != '\n' {
					got, size, rest = nil, 0, false
				}
			}
			if size == 0 {
				begun = r.current()
			}
			size++
			r.midLine = buf[0] != '\n'
			switch {
			case r.midLine && size > maxLine:
				return "", nil, errLongLine
			case r.midLine && !rest:
				got = append(got, buf[0])
			case !r.midLine && !rest:
				return string(got), begun, nil
			case !r.midLine:
				rest, size = false, 0
			}
		}
		switch {
		case err == io.EOF: // as io.Reader has it; errors.Is would walk a foreign error
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

func (r *lineReader) current() *question {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}
