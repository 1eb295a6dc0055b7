package hooks

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Func is a hook: a function that a loop calls at a [Point] with the context
// of what is about to happen or has just happened.
//
// It returns nil to go on, [Abort] or a [*HookAborted] to stop, and any other
// error to say that it failed, which is contained unless the hook was
// registered with [WithFailClosed] or [AsGuard]. What it changes in c is what
// later hooks and the loop see. One Func may run in several goroutines at
// once; c belongs to one dispatch.
type Func[C any] = func(ctx context.Context, c *C) error

// On registers fn at p and returns the handle that removes it again. It
// registers in the [Default] registry unless [In] names another, and counts
// from the next dispatch on. Registering the same function twice runs it
// twice.
//
// On panics when fn is nil, when p is the zero Point and when the options
// can't be meant, since each is a mistake in the program that would otherwise
// show as a hook that silently never runs. It is safe for concurrent use, from
// inside a hook too.
func On[C any](p Point[C], fn Func[C], opts ...Option) *Registration {
	return register(p, fn, callerPC(1), opts)
}

// register is On with the place of registration given, for the adapters of
// the older dialects.
func register[C any](p Point[C], fn Func[C], pc uintptr, opts []Option) *Registration {
	if p.p == nil {
		panic("hooks: On: the zero Point names no interception point; use one of the package's points or Define one")
	}
	if fn == nil {
		panic(fmt.Sprintf("hooks: On(%s): the hook function is nil", p.p.name))
	}
	cfg := newConfig(p.p, opts)
	if cfg.timeout > 0 {
		fn = withDeadline(fn, cfg.timeout)
	}
	return cfg.registry.add(p.p, fn, cfg, pc)
}

// callerPC returns where the function that is skip frames above its caller
// was called.
func callerPC(skip int) uintptr {
	var pcs [1]uintptr
	runtime.Callers(skip+2, pcs[:])
	return pcs[0]
}

// Option changes how [On] registers a hook. The interface is sealed: options
// come from this package. Of the same option given twice the last one wins,
// and a nil Option is ignored.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// config is what the options of one registration add up to.
type config struct {
	registry   *Registry
	name       string
	tools      []string
	agents     []string
	byTool     bool
	byAgent    bool
	priority   int
	timeout    time.Duration
	timed      bool
	failClosed bool
	guard      bool
	once       bool
}

func newConfig(p *point, opts []Option) config {
	cfg := config{registry: &std}
	for _, o := range opts {
		if o != nil {
			o.apply(&cfg)
		}
	}
	misuse := func(why string) { panic(fmt.Sprintf("hooks: On(%s): %s", p.name, why)) }
	switch {
	case cfg.registry == nil:
		misuse("In(nil) names no registry; leave the option out for the default one")
	case cfg.timed && cfg.timeout <= 0:
		misuse(fmt.Sprintf("WithTimeout(%v) leaves the hook no time; give a positive duration", cfg.timeout))
	case cfg.guard && cfg.once:
		misuse("AsGuard with WithOnce would leave every later call unguarded")
	case cfg.byTool && !p.hasTool:
		misuse("WithTools needs a context with a ToolName() string method")
	case cfg.byAgent && !p.hasRole:
		misuse("WithAgents needs a context with an AgentRoleName() string method")
	}
	return cfg
}

// WithTools restricts a hook to the tools named. A name matches a tool whose
// name is the same or becomes the same by [SanitizeToolName]. A name that
// holds * or ? is a pattern, tried on both forms of the tool's name: * stands
// for any run of characters, / included, and ? for one character. With no
// names the hook never runs.
func WithTools(names ...string) Option {
	names = append([]string(nil), names...)
	return option(func(c *config) { c.tools, c.byTool = names, true })
}

// WithAgents restricts a hook to the agent roles named, compared exactly. A
// call whose role is unset matches every filter, so that a guard isn't passed
// by a call that doesn't say who makes it. With no roles the hook never runs.
func WithAgents(roles ...string) Option {
	roles = append([]string(nil), roles...)
	return option(func(c *config) { c.agents, c.byAgent = roles, true })
}

// WithName names a hook for events, logs, listings and the Source of its
// aborts. Without it a hook is named after the place where it was registered.
func WithName(name string) Option {
	return option(func(c *config) { c.name = name })
}

// WithPriority orders a hook among those of its registry: higher runs first,
// equal ones run in the order of registration. The default is 0. It doesn't
// move a hook before those of an outer registry, nor a guard before the other
// hooks.
func WithPriority(n int) Option {
	return option(func(c *config) { c.priority = n })
}

// WithFailClosed makes a failure of the hook (an error, a panic, an expired
// [WithTimeout]) abort what it hooks, where it would otherwise be logged and
// passed over.
func WithFailClosed() Option {
	return option(func(c *config) { c.failClosed = true })
}

// AsGuard makes a hook a guard: fail-closed as by [WithFailClosed], and run
// after every hook of the dispatch that isn't a guard, those of inner scopes
// included, so that it decides on what will really be run or shown. Guards
// keep the usual order among themselves; they decide and should not edit.
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

// errLate is the cause by which withDeadline knows its own deadline from one
// that the caller's ctx brought along.
var errLate = fmt.Errorf("hooks: the hook's time ran out: %w", context.DeadlineExceeded)

func withDeadline[C any](fn Func[C], d time.Duration) Func[C] {
	return func(ctx context.Context, c *C) error {
		ctx, cancel := context.WithTimeoutCause(ctx, d, errLate)
		defer cancel()
		err := fn(ctx, c)
		if err == nil && context.Cause(ctx) == errLate {
			return errLate
		}
		return err
	}
}
