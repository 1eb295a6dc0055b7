package hooks

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// AsyncObserver hands events to a function in a goroutine of its own, so that
// a slow one doesn't hold up dispatches:
//
//	a := hooks.NewAsyncObserver(export, 1024)
//	defer a.Close(ctx)
//	hooks.Observe(a.Handle)
//
// Its methods are safe for concurrent use.
type AsyncObserver struct {
	fn      func(context.Context, HookDispatchedEvent)
	events  chan asyncEvent
	quit    chan struct{} // closed when Close gave up waiting
	drained chan struct{} // closed when the goroutine has ended
	dropped atomic.Uint64

	mu       sync.RWMutex
	closed   bool // protected by mu; no send on events once it is set
	quitOnce sync.Once
}

type asyncEvent struct {
	ctx context.Context
	ev  HookDispatchedEvent
}

// NewAsyncObserver starts an observer that calls fn with one event at a time
// and holds up to buffer more. It panics if fn is nil or buffer is negative.
// [AsyncObserver.Close] ends it.
func NewAsyncObserver(fn func(context.Context, HookDispatchedEvent), buffer int) *AsyncObserver {
	if fn == nil {
		panic("hooks: NewAsyncObserver: the function is nil")
	}
	if buffer < 0 {
		panic(fmt.Sprintf("hooks: NewAsyncObserver: a buffer of %d events can't be; give 0 or more", buffer))
	}
	a := &AsyncObserver{
		fn:      fn,
		events:  make(chan asyncEvent, buffer),
		quit:    make(chan struct{}),
		drained: make(chan struct{}),
	}
	go a.work()
	return a
}

// Handle is the function to give to [Observe]. It never blocks: an event that
// finds the buffer full, or the observer closed, is dropped and counted. The
// event keeps the values of ctx, without its cancellation.
func (a *AsyncObserver) Handle(ctx context.Context, ev HookDispatchedEvent) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if !a.closed {
		select {
		case a.events <- asyncEvent{context.WithoutCancel(nonNil(ctx)), ev}:
			return
		default:
		}
	}
	a.dropped.Add(1)
}

// Dropped returns how many events were dropped.
func (a *AsyncObserver) Dropped() uint64 { return a.dropped.Load() }

// Close stops taking events and waits until those taken are handled. If ctx
// ends first it returns ctx.Err(), and what is still waiting is dropped and
// counted. Closing again waits again. Close must not be called from the
// observer's own function without a ctx that ends, for which it would wait.
func (a *AsyncObserver) Close(ctx context.Context) error {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.events)
	}
	a.mu.Unlock()
	ctx = nonNil(ctx)
	select {
	case <-a.drained:
		return nil
	default:
	}
	select {
	case <-a.drained:
		return nil
	case <-ctx.Done():
		a.quitOnce.Do(func() { close(a.quit) })
		return ctx.Err()
	}
}

func (a *AsyncObserver) work() {
	finished := false
	defer func() {
		if finished {
			close(a.drained)
		} else {
			go a.work() // fn ended the goroutine
		}
	}()
	for e := range a.events {
		select {
		case <-a.quit:
			a.dropped.Add(1)
		default:
			callObserver(e.ctx, a.fn, e.ev)
		}
	}
	finished = true
}
