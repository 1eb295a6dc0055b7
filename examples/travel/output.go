// Writing what people read: the first failure is kept, and whoever has to know
// is told.

package main

import (
	"io"
	"sync"
)

// output is a writer that remembers that it failed.
type output struct {
	w      io.Writer
	failed func() // called at the first failure, if set

	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err = &outputError{err}
		if o.failed != nil {
			o.failed()
		}
	}
	return n, o.err
}

// failure is the first error there was.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// outputError is the failure of a writer.
type outputError struct{ error }

func (e *outputError) Error() string { return "the output can't be written: " + e.error.Error() }

func (e *outputError) Unwrap() error { return e.error }
