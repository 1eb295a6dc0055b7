// Package turns lets one question at a time reach a person, and gives those
// who share something one value of it for as long as they hold it.
package turns

import (
	"context"
	"fmt"
	"reflect"
	"sync"
)

// Turnstile lets one question pass at a time, in the order in which they came.
// It is made with [New].
type Turnstile chan struct{}

// New returns a Turnstile whose turn is free.
func New() Turnstile { return make(Turnstile, 1) }

// Take waits until it is the caller's turn, or until ctx is done: then it
// returns the error of [NoAnswer] and has not taken the turn.
func (t Turnstile) Take(ctx context.Context) error {
	if ctx.Err() != nil {
		return NoAnswer(ctx)
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return NoAnswer(ctx)
	}
	if ctx.Err() != nil {
		t.Give()
		return NoAnswer(ctx)
	}
	return nil
}

// Give ends a turn that was taken.
func (t Turnstile) Give() { <-t }

// NoAnswer returns the error of a question whose ctx is done. It wraps
// ctx.Err() and the cause.
func NoAnswer(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	// Not errors.Is: a ctx and its cause may be foreign, and their errors may
	// wrap each other in a circle.
	if cause == nil || same(err, cause) {
		return fmt.Errorf("hooks: no answer: %w", err)
	}
	return fmt.Errorf("hooks: no answer: %w: %w", err, cause)
}

// same is a == b, and false for what can't be compared.
func same(a, b any) bool { return reflect.ValueOf(a).Comparable() && a == b }

// Pool gives everybody who holds a key at the same time the same value, and
// forgets it with the last one who lets go. The zero Pool is ready to use, and
// safe for concurrent use.
type Pool[V any] struct {
	mu      sync.Mutex
	entries map[any]*entry[V] // guarded by mu
}

type entry[V any] struct {
	value   V
	holders int
}

// Hold returns the value of key, which is fresh if nobody holds key yet. The
// key must be one that [Key] returned.
func (p *Pool[V]) Hold(key any, fresh V) V {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[key]
	if e == nil {
		if p.entries == nil {
			p.entries = make(map[any]*entry[V])
		}
		e = &entry[V]{value: fresh}
		p.entries[key] = e
	}
	e.holders++
	return e.value
}

// Release undoes one Hold.
func (p *Pool[V]) Release(key any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[key]
	e.holders--
	if e.holders == 0 {
		delete(p.entries, key)
	}
}

// Len returns how many keys are held.
func (p *Pool[V]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}

// Key returns v if it can be the key of a map, otherwise fallback, which must
// be one.
func Key(v, fallback any) any {
	if !reflect.ValueOf(v).Comparable() {
		return fallback
	}
	if w := v; v != w { // a NaN somewhere in v: a map would never find it again
		return fallback
	}
	return v
}
