package hookstest

// A person who answers the questions of hooks by a script: what isn't scripted
// is no answer, and fails the test.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
)

// ErrUnscripted is what a [Human] returns when it is asked more often than its
// script has answers. An unanswered question is never a yes.
var ErrUnscripted = errors.New("hookstest: the human was asked more often than scripted")

// Answer is what a [Human] does when it is asked once.
type Answer func(ctx context.Context) (string, error)

// Types answers with a line.
func Types(line string) Answer {
	return func(context.Context) (string, error) { return line, nil }
}

// EndOfInput answers as a closed terminal does, with [io.EOF].
func EndOfInput() Answer { return Fails(io.EOF) }

// Fails answers with an error.
func Fails(err error) Answer {
	return func(context.Context) (string, error) { return "", err }
}

// NoAnswer blocks until the ctx of the question is done, and returns its
// error: the person has gone for lunch.
func NoAnswer() Answer {
	return func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
}

// Question is what a [Human] was asked.
type Question struct{ Prompt, Message string }

// Human is a [hooks.HumanInput] that answers by a script and records the
// questions. Give it to [hooks.WithHumanInput]. It is safe for concurrent use.
type Human struct {
	t      testing.TB
	mu     sync.Mutex
	script []Answer
	asked  []Question
	over   bool // the test has ended: t must not be used any more
}

var _ hooks.HumanInput = (*Human)(nil)

// NewHuman returns a Human that gives the answers in this order, one for each
// question. It fails t when it is asked more often, and when the test ends
// with answers that nobody asked for.
func NewHuman(t testing.TB, script ...Answer) *Human {
	t.Helper()
	h := &Human{t: t, script: slices.Clone(script)}
	t.Cleanup(func() {
		t.Helper()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.over = true
		if left := len(h.script) - len(h.asked); left > 0 {
			t.Errorf("the human was asked %d of %d scripted questions:%s", len(h.asked), len(h.script), listQuestions(h.asked))
		}
	})
	return h
}

// RequestInput implements [hooks.HumanInput].
func (h *Human) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	answer := h.next(Question{prompt, message})
	if answer == nil {
		return "", ErrUnscripted
	}
	return answer(ctx)
}

// next records q and returns the answer to it, nil if there is none.
func (h *Human) next(q Question) Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, q)
	if n := len(h.asked); n <= len(h.script) {
		return h.script[n-1]
	}
	if !h.over {
		h.t.Errorf("the human was asked more often than scripted (%d answers):%s", len(h.script), listQuestions(h.asked))
	}
	return nil
}

// Questions returns what was asked so far, in order. The slice is the
// caller's.
func (h *Human) Questions() []Question {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

func listQuestions(qs []Question) string {
	var b strings.Builder
	for i, q := range qs {
		fmt.Fprintf(&b, "\n\t%d. %q %q", i+1, q.Prompt, q.Message)
	}
	return b.String()
}
