// Package console asks a person at a terminal: it writes a question and reads
// a line as its answer.
package console

// A question is dropped typing, a Write and a line, in this order, and one at
// a time for each input. What can't be called back, a blocked Read or Write,
// goes on after its question was cancelled and never answers another.

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/loophooks/hooks/internal/turns"
)

// Console asks on one writer and reads from one input. It is made with [New]
// and safe for concurrent use.
type Console struct {
	out      io.Writer
	writing  turns.Turnstile // a Write to out is under way
	own      *lineReader
	failures Failures

	// midLine says that the cursor may still stand behind the last question,
	// because no line was read after it. It belongs to whoever has the turn
	// of the lineReader.
	midLine bool
}

// Failures makes the errors of a reader or writer that doesn't return.
type Failures struct {
	// Panicked is called with the value that was recovered, while the stack
	// still shows where the panic came from.
	Panicked func(value any) error
	// Exited is the error of one that ended its goroutine.
	Exited error
}

// of returns the error of foreign code that has not returned, and whose
// deferred function recovered value.
func (f Failures) of(value any) error {
	if value == nil {
		return f.Exited
	}
	return f.Panicked(value)
}

// New returns a Console that reads answers from in and writes questions to
// out. Neither may be nil. Consoles whose readers are equal (==) take turns.
func New(in io.Reader, out io.Writer, f Failures) *Console {
	c := &Console{out: out, writing: turns.New(), failures: f}
	c.own = &lineReader{in: in, key: turns.Key(in, c), turn: turns.New(), failures: f}
	return c
}

// Ask asks prompt and message and returns the next line without surrounding
// white space. The comment of hooks.Console.RequestInput has the rules.
func (c *Console) Ask(ctx context.Context, prompt, message string) (string, error) {
	r := lineReaders.Hold(c.own.key, c.own)
	defer lineReaders.Release(c.own.key)
	if err := r.turn.Take(ctx); err != nil {
		return "", err
	}
	defer r.turn.Give()

	text := questionText(prompt, message)
	if c.midLine {
		text = "\n" + text
	}
	c.midLine = true
	if err := c.show(ctx, r, text); err != nil {
		return "", err
	}
	line, err := r.ask(ctx)
	if err != nil {
		return "", err
	}
	c.midLine = false
	return strings.TrimSpace(line), nil
}

// show drops what was typed so far and writes text in one Write. A Write that
// is blocked when ctx is done is left to finish by itself; the next one waits
// for it.
//
// The typing is dropped before the Write, as getpass and readpassphrase do: a
// program that answers as soon as it sees the question must not lose its
// answer.
func (c *Console) show(ctx context.Context, r *lineReader, text string) error {
	if err := c.writing.Take(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		var err error
		returned := false
		defer func() {
			if !returned {
				err = c.failures.of(recover())
			}
			c.writing.Give()
			done <- err
		}()
		r.dropTyped()
		err = writeAll(c.out, text)
		returned = true
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("hooks: no answer: the question could not be written: %w", err)
		}
		return nil
	case <-ctx.Done():
		return turns.NoAnswer(ctx)
	}
}

func writeAll(w io.Writer, text string) error {
	if text == "" {
		return nil
	}
	n, err := io.WriteString(w, text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return err
}
