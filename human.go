package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// HumanInput asks a person a question and returns the answer.
//
// RequestInput shows prompt (what it is about, which may have several lines)
// and message (what to type), and returns the line that the person typed. It
// returns an error when there is no answer: end of input is an error and never
// a yes, and once ctx is done RequestInput should return an error without
// delay. An answer that it returns after that is discarded.
//
// RequestInput is called from any goroutine, but questions never call it twice
// at the same time for one HumanInput. So it must not put a question to the
// same HumanInput again, which would wait for its own turn until its ctx is
// done.
//
// HumanInputs are told apart with ==: equal values are one HumanInput. Values
// that can't be compared are one for each [WithHumanInput] or [SetHumanInput]
// that they were given to.
//
// A hook that asks for approval should be a guard ([AsGuard]), or at least
// fail-closed ([WithFailClosed]). An ordinary hook is fail-open: if it returns
// the error of a question that nobody answered, that error is recorded and the
// call goes through. Only what is known to mean yes should be taken for one:
//
//	hooks.On(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
//		args, err := call.Arguments()
//		if err != nil {
//			return err
//		}
//		answer, err := call.RequestHumanInput(ctx,
//			fmt.Sprintf("The agent wants to run %q with %s.", call.Name, args),
//			`Type "yes" to allow it:`)
//		if err != nil {
//			return err // no answer: a guard refuses the call
//		}
//		if !strings.EqualFold(answer, "yes") {
//			return hooks.Abort("the operator refused")
//		}
//		return nil
//	}, hooks.AsGuard(), hooks.WithName("approval"))
type HumanInput interface {
	RequestInput(ctx context.Context, prompt, message string) (string, error)
}

// SetHumanInput makes h answer the questions of the whole process, except of
// runs that have their own ([WithHumanInput]). nil restores the default, a
// [Console] on os.Stdin and os.Stderr. A question that has been put already
// stays with the HumanInput it was put to. It is safe for concurrent use.
func SetHumanInput(h HumanInput) {
	if h == nil {
		processHuman.Store(nil)
		return
	}
	processHuman.Store(newHuman(h))
}

// WithHumanInput returns a ctx under which h answers the questions, whatever
// [SetHumanInput] and outer calls of WithHumanInput say. Nothing has to be
// undone: h is forgotten with the ctx. It panics if h is nil.
func WithHumanInput(ctx context.Context, h HumanInput) context.Context {
	if h == nil {
		panic("hooks: WithHumanInput: the HumanInput is nil")
	}
	return context.WithValue(nonNil(ctx), humanKey{}, newHuman(h))
}

// requestHumanInput puts a question to the HumanInput of ctx and returns the
// trimmed answer. It waits for its turn first, and has the live display paused
// while the question is open. Every failure, a cancelled ctx included, is an
// error and an empty answer. It sets no time limit of its own.
func requestHumanInput(ctx context.Context, prompt, message string) (string, error) {
	ctx = nonNil(ctx)
	h := humanFrom(ctx)
	t := humanTurns.hold(h.key, newTurnstile())
	defer humanTurns.release(h.key)
	if err := t.take(ctx); err != nil {
		return "", err
	}
	defer t.give()

	if err := liveDisplay.enter(ctx); err != nil {
		return "", err
	}
	defer liveDisplay.leave()
	if ctx.Err() != nil { // done while the display was being paused
		return "", noAnswer(ctx)
	}

	answer, err := h.input.RequestInput(ctx, prompt, message)
	if ctx.Err() != nil {
		// Also when there is an answer: what it was to approve is given up.
		if err == nil || errors.Is(err, ctx.Err()) {
			return "", noAnswer(ctx)
		}
		return "", fmt.Errorf("%w: %w", noAnswer(ctx), err)
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(answer), nil
}

// noAnswer is the error of a question whose ctx is done. It wraps ctx.Err()
// and the cause.
func noAnswer(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return fmt.Errorf("hooks: no answer: %w", err)
	}
	return fmt.Errorf("hooks: no answer: %w: %w", err, cause)
}

type humanKey struct{}

// human is a HumanInput with the key of its turn.
type human struct {
	input HumanInput
	key   any
}

func newHuman(h HumanInput) *human {
	hu := &human{input: h}
	hu.key = comparableKey(h, hu)
	return hu
}

// comparableKey returns v if it can be a map key, otherwise fallback.
func comparableKey(v, fallback any) any {
	if !reflect.ValueOf(v).Comparable() {
		return fallback
	}
	if w := v; v != w { // a NaN somewhere in v: a map would never find it again
		return fallback
	}
	return v
}

var (
	processHuman atomic.Pointer[human] // nil: standardHuman
	humanTurns   sharedPool[turnstile]
)

func humanFrom(ctx context.Context) *human {
	if h, ok := ctx.Value(humanKey{}).(*human); ok {
		return h
	}
	if h := processHuman.Load(); h != nil {
		return h
	}
	return standardHuman()
}

var standardConsole struct {
	mu      sync.Mutex
	human   *human
	in, out *os.File
}

// standardHuman returns the Console on os.Stdin and os.Stderr. It is a new one
// only after a program has replaced either.
func standardHuman() *human {
	standardConsole.mu.Lock()
	defer standardConsole.mu.Unlock()
	if standardConsole.human == nil || standardConsole.in != os.Stdin || standardConsole.out != os.Stderr {
		standardConsole.in, standardConsole.out = os.Stdin, os.Stderr
		standardConsole.human = newHuman(NewConsole(os.Stdin, os.Stderr))
	}
	return standardConsole.human
}

// turnstile lets one question pass at a time, in the order in which they came.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, 1) }

// take waits until it is the caller's turn or ctx is done. The turn is never
// taken when ctx is.
func (t turnstile) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return noAnswer(ctx)
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return noAnswer(ctx)
	}
	if ctx.Err() != nil {
		t.give()
		return noAnswer(ctx)
	}
	return nil
}

func (t turnstile) give() { <-t }

// sharedPool gives everybody who holds a key at the same time the same value,
// and forgets it with the last one who lets go. The zero sharedPool is ready to
// use.
type sharedPool[V any] struct {
	mu      sync.Mutex
	entries map[any]*sharedEntry[V] // guarded by mu
}

type sharedEntry[V any] struct {
	value   V
	holders int
}

// hold returns the value of key, which is fresh if nobody holds key yet.
func (p *sharedPool[V]) hold(key any, fresh V) V {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[key]
	if e == nil {
		if p.entries == nil {
			p.entries = make(map[any]*sharedEntry[V])
		}
		e = &sharedEntry[V]{value: fresh}
		p.entries[key] = e
	}
	e.holders++
	return e.value
}

// release undoes one hold.
func (p *sharedPool[V]) release(key any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[key]
	e.holders--
	if e.holders == 0 {
		delete(p.entries, key)
	}
}
