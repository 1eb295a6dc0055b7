package hooks

// Observers: who is told of dispatches, at once or in a goroutine of its own,
// and where failures are logged. How an event comes about is in recorder.go.

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
)

// watcher is an observing function.
type watcher struct {
	fn func(context.Context, HookDispatchedEvent)
}

// Observer is the handle of a function that watches dispatches. Once it is
// removed it doesn't keep the function.
type Observer struct {
	owner   atomic.Pointer[Registry] // nil once removed; changes under the owner's mu
	watcher *watcher                 // protected by the owner's mu
}

// Observe calls fn with an event for every dispatch of the process that ran a
// hook, aborted ones included, before that dispatch returns. Observers watch:
// they can change nothing, and one that panics hurts neither the dispatch nor
// the next observer. An observer that calls runtime.Goexit ends the dispatching
// goroutine. Observers take their time from the dispatch; [NewAsyncObserver]
// takes it elsewhere. The function is called from many goroutines at once.
// Observe panics if it is nil.
func Observe(fn func(context.Context, HookDispatchedEvent)) *Observer { return std.Observe(fn) }

// Observe is like the function [Observe] for the dispatches in which r takes
// part: those of one run, one test or one tenant that made r active by
// [WithScope].
func (r *Registry) Observe(fn func(context.Context, HookDispatchedEvent)) *Observer {
	if fn == nil {
		panic("hooks: Observe: the function is nil")
	}
	o := &Observer{watcher: &watcher{fn}}
	r.mu.Lock()
	defer r.mu.Unlock()
	o.owner.Store(r)
	var list []*watcher
	if old := r.watchers.Load(); old != nil {
		list = *old
	}
	list = append(slices.Clip(list), o.watcher)
	r.presenceOf().observe(1)
	r.watchers.Store(&list)
	return o
}

// observed counts the observers of the process: only where there are any must a
// dispatch look for them.
var observed atomic.Int32

// Remove ends the observation and reports whether this call did it. Events of
// dispatches that are already running may still come. It is safe for
// concurrent use, from an observer too, and on a nil Observer.
func (o *Observer) Remove() bool {
	if o == nil {
		return false
	}
	r := o.owner.Load()
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.owner.Load() == nil {
		return false
	}
	o.owner.Store(nil)
	list := slices.DeleteFunc(slices.Clone(*r.watchers.Load()), func(w *watcher) bool { return w == o.watcher })
	r.watchers.Store(&list)
	r.presenceOf().observe(-1)
	o.watcher = nil
	return true
}

// watchersOf returns the observers of the default registry and of scopes.
func watchersOf(scopes []*Registry) []*watcher {
	var list []*watcher
	if l := std.watchers.Load(); l != nil {
		list = *l
	}
	for _, r := range scopes {
		if l := r.watchers.Load(); l != nil && len(*l) > 0 {
			if len(list) == 0 {
				list = *l
			} else {
				list = append(slices.Clip(list), *l...)
			}
		}
	}
	return list
}

// notify calls each observer, the next one also after one that panicked or
// ended the goroutine.
func notify(ctx context.Context, observers []*watcher, ev *HookDispatchedEvent) {
	for at := 0; at < len(observers); {
		at = notifyFrom(ctx, observers, at, ev)
	}
}

// notifyFrom calls observers until one fails, and returns the place behind.
func notifyFrom(ctx context.Context, observers []*watcher, at int, ev *HookDispatchedEvent) (next int) {
	returned := false
	defer func() {
		if returned {
			return
		}
		next = at + 1
		value := recover()
		if value == nil && unwindingHere() == exiting {
			observerFailed(ctx, ev, ErrGoexit)
			notify(ctx, observers[next:], ev)
			return
		}
		observerFailed(ctx, ev, newPanicError(value))
	}()
	for ; at < len(observers); at++ {
		observers[at].fn(ctx, *ev)
	}
	returned = true
	return at
}

func observerFailed(ctx context.Context, ev *HookDispatchedEvent, failure error) {
	logError(ctx, "hooks: an observer failed", failure, slog.String("point", string(ev.Point)))
}

// SetLogger sets where the failures of hooks, guards, watches and observers are
// logged, for the process, those that refuse a call included; what a hook aborts
// on purpose is no failure. The default is [slog.Default] at the time
// of the failure; nil silences them, and then only events tell. A log line
// names the hook, the point and the error, with the stack of a panic, and
// never holds a payload. SetLogger(slog.Default()) undoes an earlier call, for the
// default logger of that moment. It is safe for concurrent use.
func SetLogger(l *slog.Logger) { logger.Store(&logTarget{l}) }

// SlogObserver returns an observer that logs each event to l, or to
// [slog.Default] if l is nil: at debug level, which slog's own default doesn't
// print, and at warn level where a hook aborted or failed.
func SlogObserver(l *slog.Logger) func(context.Context, HookDispatchedEvent) {
	return func(ctx context.Context, ev HookDispatchedEvent) {
		to := l
		if to == nil {
			to = slog.Default()
		}
		level := slog.LevelDebug
		var failures []any
		for _, h := range ev.Hooks {
			if h.Outcome == OutcomeFailed {
				failures = append(failures, slog.Any(h.Name, h.Err))
			}
		}
		if ev.Outcome == OutcomeAborted || failures != nil {
			level = slog.LevelWarn
		}
		if !to.Enabled(ctx, level) {
			return
		}
		attrs := []slog.Attr{
			slog.String("point", string(ev.Point)),
			slog.String("outcome", string(ev.Outcome)),
			slog.Int("hooks", ev.HookCount),
			slog.Duration("duration", ev.Duration),
		}
		for _, a := range []slog.Attr{
			slog.String("reason", ev.AbortReason), slog.String("source", ev.AbortSource),
			slog.String("tool", ev.ToolName), slog.String("agent", ev.AgentRole), slog.String("run", ev.RunID),
			slog.String("parent", ev.ParentRunID), slog.String("tenant", ev.Tenant),
		} {
			if a.Value.String() != "" {
				attrs = append(attrs, a)
			}
		}
		if ev.Chunks > 0 || ev.HeldMax > 0 {
			attrs = append(attrs, slog.Int("chunks", ev.Chunks), slog.Int("bytes", ev.Bytes), slog.Int("held_max", ev.HeldMax))
		}
		if failures != nil {
			attrs = append(attrs, slog.Group("failed", failures...))
		}
		to.LogAttrs(ctx, level, "hooks dispatched", attrs...)
	}
}

// AsyncObserver hands events to a function in a goroutine of its own, so that
// a slow one doesn't hold up dispatches:
//
//	a := hooks.NewAsyncObserver(export, 1024)
//	defer a.Close(ctx)
//	hooks.Observe(a.Handle)
//
// Its methods are safe for concurrent use.
type AsyncObserver struct {
	watch   []*watcher // the one function
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
		panic(fmt.Sprintf("hooks: NewAsyncObserver: negative buffer size %d", buffer))
	}
	a := &AsyncObserver{
		watch:   []*watcher{{fn}},
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
		case a.events <- asyncEvent{context.WithoutCancel(lasting(nonNil(ctx))), ev}:
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
// counted. Closing again waits again. Called from fn, Close needs a ctx with a
// deadline: it waits for fn to return.
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
			notify(e.ctx, a.watch, &e.ev)
		}
	}
	finished = true
}
