package hooks

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

// Outcome is what came of a dispatch or of one hook in it.
type Outcome string

// The outcomes of a dispatch, and of a hook.
const (
	OutcomeProceeded Outcome = "proceeded" // nothing was changed
	OutcomeModified  Outcome = "modified"  // the payload differs from before
	OutcomeAborted   Outcome = "aborted"   // a hook stopped the chain
	OutcomeFailed    Outcome = "failed"    // of a hook only: it failed and was passed over
)

// HookDispatchedEvent tells of one dispatch that ran at least one hook. What
// it holds is shared by all observers and must not be changed. It holds no
// payload; AbortReason and the Err of a hook are the hook author's own words.
type HookDispatchedEvent struct {
	Point       InterceptionPoint
	Outcome     Outcome
	HookCount   int           // hooks that ran
	Duration    time.Duration // of the whole dispatch
	AbortReason string
	AbortSource string
	Hooks       []HookRun // each hook that ran, in order
	RunID       string
	AgentRole   string
	ToolName    string
	ToolCallID  string
}

// HookRun tells of one hook in a dispatch.
type HookRun struct {
	Name     string        // as of [Registration.Name]
	Outcome  Outcome       // OutcomeAborted for the hook that stopped the chain
	Duration time.Duration // of this hook
	Err      error         // what it failed with, a *PanicError for a panic; of an abort, its cause
}

// MarshalJSON writes the run with the text of Err, which encoding/json would
// lose.
func (h HookRun) MarshalJSON() ([]byte, error) {
	type fields HookRun // without this method
	v := struct {
		fields
		Err string `json:",omitempty"`
	}{fields: fields(h)}
	if h.Err != nil {
		v.Err = errorText(h.Err)
	}
	return json.Marshal(v)
}

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
// the next observer. (One that ends the goroutine, as the FailNow of a test does,
// ends it.) But they take their time from the dispatch;
// [NewAsyncObserver] takes it elsewhere. fn is called from many goroutines at
// once. Observe panics if fn is nil.
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
	r.watchers.Store(&list)
	observed.Store(true)
	return o
}

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
			list = append(slices.Clip(list), *l...)
		}
	}
	return list
}

// recorder makes the event of one dispatch. A nil recorder records nothing.
type recorder struct {
	ctx      context.Context
	watchers []*watcher
	event    HookDispatchedEvent
	payload  *tracker
	start    time.Time
	began    time.Duration // of the running hook, since start
	running  bool          // a hook has begun and not ended
}

func newRecorder(ctx context.Context, p *point, c any, watchers []*watcher, s *subject) *recorder {
	caller := callerOf(ctx, c)
	id := ""
	if call, ok := c.(interface{ toolCallID() string }); ok {
		id = call.toolCallID()
	}
	return &recorder{
		ctx: ctx, watchers: watchers, payload: newTracker(p.name, c), start: time.Now(),
		event: HookDispatchedEvent{Hooks: make([]HookRun, 0, 4), Point: p.name, RunID: caller.RunID, AgentRole: s.roleOr(caller), ToolName: s.name, ToolCallID: id},
	}
}

func (s *subject) roleOr(c Caller) string {
	if s.role != "" {
		return s.role
	}
	return c.AgentRole
}

func (r *recorder) begin(h *hook) {
	if r == nil {
		return
	}
	r.event.Hooks = append(r.event.Hooks, HookRun{Name: h.reg.Name()})
	r.running = true
	r.began = time.Since(r.start) // costs half of what time.Now does
}

// end records that the running hook returned nil.
func (r *recorder) end() {
	if r == nil {
		return
	}
	run := r.close(OutcomeProceeded, nil)
	if r.payload.changed() {
		run.Outcome = OutcomeModified
	}
}

// failed records that the running hook did not return nil.
func (r *recorder) failed(ruled ruling) {
	if r == nil {
		return
	}
	if a := ruled.abort; a != nil {
		r.event.AbortReason, r.event.AbortSource = a.Reason, a.Source
		r.event.Outcome = OutcomeAborted
		r.close(OutcomeAborted, a.Err)
	} else {
		r.close(OutcomeFailed, ruled.err)
	}
	r.payload.changed() // what it changed before it failed isn't the next hook's doing
}

// close ends the record of the running hook. The clock comes first: what the
// recorder does itself is no hook's time.
func (r *recorder) close(outcome Outcome, err error) *HookRun {
	took := time.Since(r.start) - r.began
	run := &r.event.Hooks[len(r.event.Hooks)-1]
	run.Outcome, run.Err, run.Duration = outcome, err, took
	r.running = false
	return run
}

// send is deferred by the dispatch.
func (r *recorder) send() {
	if r.running { // a hook ends the goroutine
		r.close(OutcomeFailed, ErrGoexit)
		r.payload.changed()
	}
	if len(r.event.Hooks) == 0 {
		return
	}
	r.event.HookCount = len(r.event.Hooks)
	r.event.Duration = time.Since(r.start)
	if r.event.Outcome == "" {
		r.event.Outcome = OutcomeProceeded
		if r.payload.differs() {
			r.event.Outcome = OutcomeModified
		}
	}
	notify(r.nest(), r.watchers, r.event)
}

// nest returns the ctx for observers. One that opens the seam that it observes
// is stopped as a hook would be, but it can change nothing: the nest that breaks
// is its own, not that of the hooks around it.
func (r *recorder) nest() context.Context {
	n := nestOf(r.ctx)
	if n == nil {
		return r.ctx
	}
	own := &nest{Context: r.ctx, depth: n.depth}
	own.root = &own.broken
	return own
}

// notify calls each observer, the next one also after one that panicked or
// ended the goroutine.
func notify(ctx context.Context, watchers []*watcher, ev HookDispatchedEvent) {
	if len(watchers) == 0 {
		return
	}
	defer notify(ctx, watchers[1:], ev)
	callObserver(ctx, watchers[0].fn, ev)
}

func callObserver(ctx context.Context, fn func(context.Context, HookDispatchedEvent), ev HookDispatchedEvent) {
	failure := ErrGoexit // unless the rest is reached
	defer func() {
		if failure != nil {
			logError(ctx, "hooks: an observer failed", failure, slog.String("point", string(ev.Point)))
		}
	}()
	var r recovery
	func() {
		defer r.catch()
		fn(ctx, ev)
		r.returned = true
	}()
	failure = nil
	if r.panicked != nil {
		failure = r.panicked
	}
}

// logger is where failures that are passed over are logged: nil for
// slog.Default(), a nil Logger inside for nowhere.
var logger atomic.Pointer[logTarget]

type logTarget struct{ *slog.Logger }

// SetLogger sets where the failures of hooks and observers that are passed
// over are logged, for the process. The default is [slog.Default] at the time
// of the failure; nil silences them, and then only events tell. A log line
// names the hook, the point and the error, with the stack of a panic, and
// never holds a payload. SetLogger(slog.Default()) undoes an earlier call, for the
// default logger of that moment. It is safe for concurrent use.
func SetLogger(l *slog.Logger) { logger.Store(&logTarget{l}) }

func logFailure(ctx context.Context, p *point, h *hook, err error) {
	logError(ctx, "hooks: a hook failed and was passed over", err,
		slog.String("hook", h.reg.Name()), slog.String("point", string(p.name)))
}

// logError logs one failure. The handler is foreign code too: what it panics
// with ends here, for there is nowhere left to report it.
func logError(ctx context.Context, msg string, err error, attrs ...slog.Attr) {
	l := slog.Default()
	if t := logger.Load(); t != nil {
		if t.Logger == nil {
			return
		}
		l = t.Logger
	}
	attrs = append(attrs, slog.Any("error", err))
	if p, ok := err.(*PanicError); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	var r recovery
	defer r.catch()
	l.LogAttrs(ctx, slog.LevelError, msg, attrs...)
	r.returned = true
}

// SlogObserver returns an observer that logs each event to l, or to
// [slog.Default] if l is nil: at debug level, at warn level where a hook
// aborted or failed.
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
		} {
			if a.Value.String() != "" {
				attrs = append(attrs, a)
			}
		}
		if failures != nil {
			attrs = append(attrs, slog.Group("failed", failures...))
		}
		to.LogAttrs(ctx, level, "hooks dispatched", attrs...)
	}
}
