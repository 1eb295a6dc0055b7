// Package hooks lets an application step into an agent loop at fixed places.
// A framework dispatches at the interception points of its loop; the program
// built on it registers functions there, which see what is about to happen or
// has just happened, change it, answer it or stop it.
//
//	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
//		return hooks.Abort("files are deleted by people only")
//	}, hooks.WithTools("delete_file"))
//
// Six kinds of functions take part, and they are kept apart:
//
//   - Hooks ([On]) change. They are fail-open: one that fails or panics is
//     logged and passed over, so that a buggy hook doesn't kill a run.
//   - Guards ([Guard]) decide. They run after all hooks of a dispatch, on what
//     will really be run or shown, and are fail-closed: one that fails stops
//     what it guards.
//   - Around hooks ([Around]) wrap. They run what is between a pre point and its
//     post point by calling next: once, again, with another ctx, or not at all.
//   - Filters ([OnStream]) see what is streamed, piece by piece, before anybody
//     is shown it.
//   - Watches ([Watch]) look. They run last, on a copy of what came of it, also
//     where a hook or guard stopped it.
//   - Observers ([Observe]) tell what all of them did, through events.
//
// # Points
//
// A [Point] is a typed place in a loop: [PreToolCall] hands its hooks a
// *[ToolCall]. The points of the package, in the order in which they fire, are
// [ExecutionStart], [Input], [PreStep], [PreModelCall], [PostModelCall],
// [PreToolCall], [PostToolCall], [PostStep], [Output] and [ExecutionEnd]. A
// framework adds its own with [Define].
//
// # What a hook can do
//
// It returns nil and goes on; changes the context in place or assigns a field,
// empty values included; gives a ready answer ([ToolCall.Answer],
// [ModelCall.Answer]); or aborts ([Abort], [HookAborted]). An abort stops the
// chain; edits made before it stay. At the tool points it stops that call
// alone, and the model reads why, unless it has StopRun ([AbortRun]). A
// [*Suspended] ends the run for now ([ToolCall.Ask], [PassThrough]). Any other
// error is a failure, and of a hook that isn't a guard it stops nothing.
//
// # Order
//
// The hooks of the [Default] registry run first, then those of each scope
// ([WithScope]) from the outermost in; in a registry by [WithPriority], then
// in the order of registration. After all of them the guards run, in the same
// order, and see every edit of the hooks; a hook sees the edits made before it.
// Watches come last, in the same order again. Post points run in the same order
// as pre points.
//
// # Bodies
//
// What runs between a pre point and its post point is a [Body]: [ToolBody],
// [ModelBody], [StepBody], [ExecutionBody], and those of [DefineSeam]. An around hook
// retries, falls back, caches, times, traces, or acquires and releases; the points
// fire once however often the body runs. Where it runs the body on something else
// than the guards have let through, they are asked again. An abort, an interrupt and
// an AbortRun end the operation, whatever hooks around say.
//
// # Streams
//
// A loop that shows an answer while it is made opens a stream ([OpenStream]) and
// pushes into it. Filters let text through, hold it back until they have seen more,
// or replace it; package redact has one for keys and personal data. Where the post
// point has a guard the stream is held until that has decided, unless the guard is
// registered with [AfterShown].
//
// # Filters
//
// [WithTools] restricts a hook to tools, by name in any spelling or by
// pattern ([MatchTool]), [WithAgents] to agent roles. Guards and watches go by
// every name and role that a call has had, so that no hook leads a call past
// them by renaming it. A chain is indexed by tool name, so that ten thousand
// hooks, each for its own tool, cost about what one does.
//
// # Runs
//
// [RunExecution] gives an execution its RunID and its place among nested ones;
// every context under it carries them in its [Caller]. What is to last for a run,
// such as a count or a budget, is kept in a [RunVar] and needs no clearing; what
// is to last for a call, in its [Values].
//
// # Failures
//
// An error or a panic of one hook never ends the chain: the next one runs, and
// the failure is in the event of the dispatch and in the log ([SetLogger]).
// With [WithFailClosed], and for guards, it aborts instead; the log tells why, and
// the reason that the model reads only that the guard failed. Panics are recovered
// because the loop isn't the hook's; every one of them is reported with its stack
// as a [*PanicError], control-flow panics such as [net/http.ErrAbortHandler] too.
//
// # Decisions that come later
//
// A guard asks by [ToolCall.Ask] whether a call may run. Where nobody has decided
// yet the run ends with a [Suspended], which holds the [Question]: the loop saves its
// state, and runs it again, in any process, when a [Desk] has the decision
// ([WithDesk]; package desk has several). A decision is bound to the arguments that
// were shown, and used up by one passage of the call. A framework's own interrupt is
// a Suspended as well ([PassThrough]).
//
// # Asking a person
//
// [ToolCall.RequestHumanInput] asks on the [Console], or whom [SetHumanInput] and
// [WithHumanInput] name. Questions come one at a time. End of input and a ctx
// that is done are errors and never a yes, so whoever asks should be a guard.
//
// # Embedding
//
// A loop uses the seams [RunExecution], [RunStep], [RunModel], [RunTool] and
// [RunTools], or their Begin forms with [End], which hold the rules that are easy
// to get wrong: every pre point that passes has its post point exactly once,
// whatever the body does; hooks write into copies of what is the framework's. Or
// it calls [Dispatch] itself, behind [Enabled] where building the context costs
// something, and keeps those rules by itself. TestLoop of package hookstest
// drives a loop through scripted replies and tells which of them it breaks: the
// number of its scenarios is the reason to choose the seams.
//
// # Older dialects
//
// Before and after hooks, such as [RegisterBeforeToolCallHook], and [LoopHooks]
// register on the same chains as [On], in one order with it. They are for programs
// that have such hooks already.
//
// # Concurrency
//
// All exported functions and methods are safe for concurrent use unless their
// comment says otherwise. In particular:
//
//  1. A dispatch runs the chain as it was when it began. A hook registered
//     meanwhile runs from the next dispatch on; one removed meanwhile may
//     still run in dispatches that had begun.
//  2. Hooks may register, remove, clear, dispatch and open scopes; no lock is
//     held while one runs.
//  3. The hooks of one dispatch run one after the other, in its goroutine.
//     Those of different dispatches run at the same time: state that hooks
//     share is theirs to protect.
//  4. A context such as *[ToolCall] belongs to one dispatch at a time.
//
// # Performance
//
// A point without hooks costs a few nanoseconds and no allocation. Where there
// are hooks, entering the chain costs some nanoseconds more, and each of them
// little more than the bare call, without a lock or an allocation. Clocks are
// read only for observers and for [WithTimeout]. Scopes and observers are
// counted, and cost nothing once they are gone: the hooks removed, or the
// registry collected. One thing stays for good: from the first ctx that the
// package makes, a seam, and a dispatch that may have to find a scope, looks
// into its ctx once.
//
// # Testing
//
// A test brings a [NewRegistry] of its own, registers with [In] and runs the
// loop under [WithScope], so that tests run in parallel; the package hookstest
// has that and more. Tests of the default registry clear it by [ClearAll], which
// leaves observers, and what [SetLogger] and [SetHumanInput] set, where they are.
package hooks

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// On registers fn at p and returns the handle that removes it again. It
// registers in the [Default] registry unless [In] names another, and counts
// from the next dispatch on. Registering the same function twice runs it
// twice.
//
// On panics when fn is nil, when p is the zero Point, and when the options
// contradict each other; otherwise the hook would silently never run. It is
// safe for concurrent use, from inside a hook too.
func On[C any](p Point[C], fn Func[C], opts ...Option) *Registration {
	return register(p, fn, callerPC(), opts)
}

// Guard registers fn as a guard at p: [On] with [AsGuard]. A guard decides. It
// runs after all hooks of the dispatch, on what will really be run or shown,
// and its failure stops what it guards. It is safe for concurrent use.
func Guard[C any](p Point[C], fn Func[C], opts ...Option) *Registration {
	return registerBy("Guard", p, fn, callerPC(), append([]Option{AsGuard()}, opts...))
}

// register is On with the place of registration given, for the adapters of
// the older dialects.
func register[C any](p Point[C], fn Func[C], pc uintptr, opts []Option) *Registration {
	return registerBy("On", p, fn, pc, opts)
}

// registerBy is register on behalf of the function named.
func registerBy[C any](caller string, p Point[C], fn Func[C], pc uintptr, opts []Option) *Registration {
	checkTarget(caller, p.p, fn == nil)
	cfg := newConfig(caller, p.p, opts)
	if cfg.timeout > 0 {
		fn = withDeadline(fn, cfg.timeout)
	}
	if cfg.once {
		fn = letGo(fn)
	}
	return cfg.registry.add(cfg.hook(p.p, fn, pc))
}

// letGo returns fn for its one run, after which it can be collected, though the
// hook may stand in the chain for some time.
func letGo[C any](fn Func[C]) Func[C] {
	var kept atomic.Pointer[Func[C]]
	kept.Store(&fn)
	return func(ctx context.Context, c *C) error { return (*kept.Swap(nil))(ctx, c) }
}

// checkTarget panics where there is nothing to register, or nowhere.
func checkTarget(caller string, p *point, nilFunc bool) {
	if p == nil {
		panic("hooks: " + caller + ": " + zeroPoint)
	}
	if nilFunc {
		panic(fmt.Sprintf("hooks: %s(%s): the function is nil", caller, p.name))
	}
}

// callerPC returns where the function that calls it was called.
func callerPC() uintptr {
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	return pcs[0]
}

// Option changes how [On], [Guard] and [Watch] register a function. The
// interface is sealed: options come from this package. If an option is given
// twice, the last one wins; [WithTools] and [WithAgents] are given once. A nil
// Option is ignored.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// config is what the options of one registration add up to.
type config struct {
	registry   *Registry
	name       string
	tools      []string
	agents     []string
	hasTools   bool
	hasAgents  bool
	priority   int
	timeout    time.Duration
	timed      bool
	failClosed bool
	guard      bool
	once       bool
	afterShown bool
	maxHold    int    // 0 for what a filter may hold unless it says otherwise
	stopRun    bool   // an abort of the hook, failures included, stops the run
	bad        string // what is wrong with an option by itself
}

// newConfig applies the options of a registration at p by the function named.
func newConfig(caller string, p *point, opts []Option) config {
	cfg := config{registry: &std}
	for _, o := range opts {
		if o != nil {
			o.apply(&cfg)
		}
	}
	badOptions := func(why string) { panic(fmt.Sprintf("hooks: %s(%s): %s", caller, p.name, why)) }
	switch {
	case cfg.bad != "":
		badOptions(cfg.bad)
	case cfg.registry == nil:
		badOptions("In(nil) names no registry; leave the option out for the default one")
	case cfg.timed && cfg.timeout <= 0:
		badOptions(fmt.Sprintf("WithTimeout(%v) leaves no time; give a positive duration", cfg.timeout))
	case cfg.guard && cfg.once:
		badOptions("AsGuard with WithOnce would leave every later call unguarded")
	case cfg.maxHold != 0 && caller != "OnStream":
		badOptions("WithMaxHold is for OnStream: nothing else holds text")
	case cfg.afterShown && !p.follows():
		badOptions("AfterShown is for a post point, which a stream may wait for")
	case cfg.afterShown && !cfg.failClosed:
		badOptions("AfterShown is for a guard or a fail-closed hook: no stream waits for another")
	case cfg.hasTools && !p.hasTool:
		badOptions("WithTools needs a context with a ToolName() string method")
	case cfg.hasAgents && !p.hasRole:
		badOptions("WithAgents needs a context with an AgentRoleName() string method")
	}
	return cfg
}

// hook makes the hook that the options describe.
func (c *config) hook(p *point, fn any, pc uintptr) *hook {
	h := &hook{
		reg: &Registration{
			point: p, name: c.name, pc: pc, kind: KindHook,
			tools: c.tools, agents: c.agents, priority: c.priority, timeout: c.timeout,
		},
		registry: c.registry, fn: fn, hasAgents: c.hasAgents,
		failClosed: c.failClosed, guard: c.guard, once: c.once, stopRun: c.stopRun,
		afterShown: c.afterShown, maxHold: c.maxHold,
	}
	if c.guard {
		h.reg.kind = KindGuard
	}
	if h.maxHold == 0 {
		h.maxHold = maxHold
	}
	if c.hasTools {
		h.tools = newToolFilter(c.tools)
	}
	return h
}

// WithTools restricts a hook to the tools named: by name in any spelling, or
// by pattern. [MatchTool] tells which names an entry covers. WithTools is given
// once and with at least one name.
//
// Hooks go by the name at the start of the dispatch. Guards and watches go by
// every name that the call has had: at the start of its seam, at the start of
// the dispatch, and as the hooks left it.
func WithTools(names ...string) Option {
	names = append([]string(nil), names...)
	return option(func(c *config) {
		c.refuse("WithTools", c.hasTools, names)
		c.tools, c.hasTools = names, true
	})
}

// WithAgents restricts a hook to the agent roles named, compared exactly. A
// call whose role is unset matches every filter, so that a call without a role
// can't slip past a guard. Guards and watches go by every role that the call has
// had, as [WithTools] says of names. WithAgents is given once and with at least
// one role.
func WithAgents(roles ...string) Option {
	roles = append([]string(nil), roles...)
	return option(func(c *config) {
		c.refuse("WithAgents", c.hasAgents, roles)
		c.agents, c.hasAgents = roles, true
	})
}

// refuse notes what is wrong with a filter: one that is empty would never let
// the hook run, and of two the first would be lost without a word.
func (c *config) refuse(filter string, twice bool, values []string) {
	switch {
	case twice:
		c.bad = filter + " is given twice; name everything in one"
	case len(values) == 0:
		c.bad = filter + "() names nothing, and the hook would never run; leave the option out to run always"
	case slices.Contains(values, ""):
		c.bad = filter + ` holds the empty name ""; leave it out`
	}
}

// WithName names a hook for events, logs, listings and the Source of its
// aborts. Without it a hook is named after the place where it was registered.
func WithName(name string) Option {
	return option(func(c *config) { c.name = name })
}

// WithPriority orders a hook among those of its kind in its registry: higher
// runs first, equal ones run in the order of registration. The default is 0. It
// doesn't move a hook before those of an outer registry, nor a guard before the
// other hooks.
func WithPriority(n int) Option {
	return option(func(c *config) { c.priority = n })
}

// WithFailClosed makes a failure of the hook (an error, a panic, an expired
// [WithTimeout]) abort what it hooks, where it would otherwise be logged and
// passed over.
func WithFailClosed() Option {
	return option(func(c *config) { c.failClosed = true })
}

// AsGuard makes a hook a guard, as [Guard] does, for options that are passed
// on: it is fail-closed as by [WithFailClosed], and runs after every hook of the
// dispatch that isn't a guard, those of inner scopes included. Guards keep the
// usual order among themselves; they decide and should not edit, since a later
// guard would decide on something else than an earlier one. A guard can't be
// [WithOnce]: it would leave every later call unguarded.
func AsGuard() Option {
	return option(func(c *config) { c.guard, c.failClosed = true, true })
}

// WithTimeout gives the hook a ctx that expires d after the hook began. A
// hook that returns nil after that has failed with
// [context.DeadlineExceeded]: its decision came too late. The hook is not
// interrupted; it has to watch its ctx.
func WithTimeout(d time.Duration) Option {
	return option(func(c *config) { c.timeout, c.timed = d, true })
}

// WithOnce lets a hook run at most once, under any concurrency. The first
// dispatch that matches its filters uses it up, even if the hook fails, and it
// leaves the chain.
func WithOnce() Option {
	return option(func(c *config) { c.once = true })
}

// In registers a hook in r instead of the [Default] registry.
func In(r *Registry) Option {
	return option(func(c *config) { c.registry = r })
}

// lateError says that a hook overran its WithTimeout. Each run of a hook has
// its own, by which it knows its own deadline from one that ctx brought along.
type lateError struct{ after time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("hooks: the hook took more than its %v", e.after)
}

func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

// deadline is the time that one run of a hook has.
type deadline struct {
	late  *lateError
	start time.Time
}

func newDeadline(ctx context.Context, d time.Duration) (deadline, context.Context, context.CancelFunc) {
	dl := deadline{&lateError{d}, time.Now()}
	ctx, cancel := context.WithTimeoutCause(ctx, d, dl.late)
	return dl, ctx, cancel
}

// overrun returns the error of a hook that came too late. The clock is asked as
// well: on a busy machine a timer fires long after its time.
func (d deadline) overrun(ctx context.Context) error {
	if context.Cause(ctx) == error(d.late) || time.Since(d.start) >= d.late.after {
		return d.late
	}
	return nil
}

func withDeadline[C any](fn Func[C], d time.Duration) Func[C] {
	return func(ctx context.Context, c *C) error {
		dl, ctx, cancel := newDeadline(ctx, d)
		defer cancel()
		if err := fn(ctx, c); err != nil {
			return err
		}
		return dl.overrun(ctx)
	}
}
