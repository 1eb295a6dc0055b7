package hooks

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry holds the hooks of each point, and the observers of what they do.
// The zero Registry is ready to use. It must not be copied after first use.
// All methods are safe for concurrent use and from inside a hook.
type Registry struct {
	mu       sync.Mutex                 // serialises changes; readers take no lock
	seq      uint64                     // protected by mu; numbers registrations
	chains   atomic.Pointer[[]*chain]   // by point id; the default registry's are in the points
	watchers atomic.Pointer[[]*watcher] // observers; copied on change
}

// std is the default registry.
var std Registry

// Default returns the process-wide registry, which [On] uses when it isn't
// told otherwise and which takes part in every dispatch. It is a convenience:
// tests and runs that need hooks of their own bring a [NewRegistry].
func Default() *Registry { return &std }

// NewRegistry returns an empty registry. Register in it with [In] and make it
// active with [WithScope].
func NewRegistry() *Registry { return new(Registry) }

// Registration is the handle of one registered hook. It keeps neither the hook
// function nor, once the hook is removed, the registry.
type Registration struct {
	point *point
	name  string                   // as given by WithName
	pc    uintptr                  // where it was registered
	seq   uint64                   // its place among the registrations of its registry
	site  atomic.Pointer[string]   // pc as text, once somebody asked
	owner atomic.Pointer[Registry] // nil once removed; changes under the owner's mu
}

// Remove removes the hook and reports whether this call did it: true the first
// time, false when it was removed, cleared or used up before. Dispatches that
// are already running may still run the hook, and Remove doesn't wait for
// them, so that a hook may remove itself. It is safe for concurrent use and on
// a nil Registration.
func (r *Registration) Remove() bool {
	if r == nil {
		return false
	}
	owner := r.owner.Load()
	return owner != nil && owner.Unregister(r)
}

// Name returns the name given by [WithName], or else where the hook was
// registered, as in "guards.go:42". It is for people: it need not be unique
// and is no key.
func (r *Registration) Name() string {
	if r == nil {
		return ""
	}
	if r.name != "" || r.pc == 0 {
		return r.name
	}
	if site := r.site.Load(); site != nil {
		return *site
	}
	frame, _ := runtime.CallersFrames([]uintptr{r.pc}).Next()
	site := filepath.Base(frame.File) + ":" + strconv.Itoa(frame.Line)
	r.site.Store(&site)
	return site
}

// Point returns the name of the point at which the hook was registered.
func (r *Registration) Point() InterceptionPoint {
	if r == nil || r.point == nil {
		return ""
	}
	return r.point.name
}

// add registers one hook.
func (r *Registry) add(p *point, fn any, cfg config, pc uintptr) *Registration {
	reg := &Registration{point: p, name: cfg.name, pc: pc}
	h := &hook{
		reg: reg, fn: fn,
		priority: cfg.priority, failClosed: cfg.failClosed, guard: cfg.guard, once: cfg.once,
		agents: cfg.agents, byAgent: cfg.byAgent,
	}
	if cfg.byTool {
		h.tools = newToolFilter(cfg.tools)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	reg.seq = r.seq
	reg.owner.Store(r)
	r.setChain(p, r.chain(p).with(h))
	return reg
}

// Unregister removes the hook of reg from r and reports whether it did: false
// when reg belongs to another registry or was removed before.
func (r *Registry) Unregister(reg *Registration) bool {
	if reg == nil || reg.point == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if reg.owner.Load() != r {
		return false
	}
	reg.owner.Store(nil)
	r.setChain(reg.point, r.chain(reg.point).without(reg))
	return true
}

// Hooks lists the hooks of r at p in running order. The slice is the caller's.
func (r *Registry) Hooks(p AnyPoint) []*Registration {
	pt := lookup(p)
	if pt == nil {
		return nil
	}
	ch := r.chain(pt)
	if ch == nil {
		return nil
	}
	ch.prepared(pt)
	regs := make([]*Registration, len(ch.hooks))
	for i, h := range ch.hooks {
		regs[i] = h.reg
	}
	return regs
}

// Clear removes every hook of r at p and returns how many there were.
// Observers stay.
func (r *Registry) Clear(p AnyPoint) int {
	pt := lookup(p)
	if pt == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clear(pt)
}

// ClearAll removes every hook of r and returns how many there were. Observers
// stay.
func (r *Registry) ClearAll() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, p := range definedPoints() {
		n += r.clear(p)
	}
	return n
}

// clear empties the chain at p. The caller holds mu.
func (r *Registry) clear(p *point) int {
	ch := r.chain(p)
	if ch == nil {
		return 0
	}
	n := 0
	for h := range ch.registered() {
		h.reg.owner.Store(nil)
		n++
	}
	r.setChain(p, nil)
	return n
}

// chain returns the chain of r at p, nil if it has no hooks.
func (r *Registry) chain(p *point) *chain {
	if r == &std {
		return p.std.Load()
	}
	if chains := r.chains.Load(); chains != nil && p.id < len(*chains) {
		return (*chains)[p.id]
	}
	return nil
}

// setChain makes ch the chain of r at p. The caller holds mu.
func (r *Registry) setChain(p *point, ch *chain) {
	if r == &std {
		p.std.Store(ch)
		return
	}
	p.scoped.Store(true)
	var chains []*chain
	if old := r.chains.Load(); old != nil {
		chains = slices.Clone(*old)
	}
	for len(chains) <= p.id {
		chains = append(chains, nil)
	}
	chains[p.id] = ch
	r.chains.Store(&chains)
}

// String lists the chains of r in running order, one hook a line with its
// name and filters: what a dispatch of each point would run.
func (r *Registry) String() string {
	var b strings.Builder
	for _, p := range definedPoints() {
		ch := r.chain(p)
		if ch == nil {
			continue
		}
		fmt.Fprintf(&b, "%s\n", p.name)
		for _, h := range ch.prepared(p).hooks {
			fmt.Fprintf(&b, "  %s\n", h)
		}
	}
	if b.Len() == 0 {
		return "no hooks\n"
	}
	return b.String()
}

// Hooks is a shortcut for [Registry.Hooks] of the [Default] registry.
func Hooks(p AnyPoint) []*Registration { return std.Hooks(p) }

// Unregister is a shortcut for [Registry.Unregister] of the [Default]
// registry.
func Unregister(reg *Registration) bool { return std.Unregister(reg) }

// Clear is a shortcut for [Registry.Clear] of the [Default] registry.
func Clear(p AnyPoint) int { return std.Clear(p) }

// ClearAll is a shortcut for [Registry.ClearAll] of the [Default] registry.
func ClearAll() int { return std.ClearAll() }

// hook is one registered function. All but used is fixed at registration.
type hook struct {
	reg        *Registration
	fn         any // a Func[C] of the point's C
	tools      *toolFilter
	agents     []string
	byAgent    bool
	priority   int
	guard      bool
	failClosed bool
	once       bool
	used       atomic.Bool // a once hook has had its run
}

// String describes the hook as a listing shows it.
func (h *hook) String() string {
	var b strings.Builder
	b.WriteString(h.reg.Name())
	if h.tools != nil {
		fmt.Fprintf(&b, " tools=%q", h.tools.names)
	}
	if h.byAgent {
		fmt.Fprintf(&b, " agents=%q", h.agents)
	}
	if h.priority != 0 {
		fmt.Fprintf(&b, " priority=%d", h.priority)
	}
	switch {
	case h.guard:
		b.WriteString(" guard")
	case h.failClosed:
		b.WriteString(" fail-closed")
	}
	if h.once {
		b.WriteString(" once")
	}
	return b.String()
}

// WithScope returns a ctx under which r is active: everything dispatched with
// it, in any goroutine, runs the hooks of r after those of the [Default]
// registry and of the scopes around it. A scope ends with its ctx; nothing has
// to be removed. A registry that is active already, the default one included,
// changes nothing. WithScope panics if r is nil.
func WithScope(ctx context.Context, r *Registry) context.Context {
	if r == nil {
		panic("hooks: WithScope: the registry is nil; make one with NewRegistry")
	}
	outer := scopesOf(ctx)
	if r == &std || slices.Contains(outer, r) {
		return ctx
	}
	return context.WithValue(nonNil(ctx), scopesKey, append(slices.Clip(outer), r))
}

// scopesOf returns the active registries of ctx but the default one, from the
// outermost in.
func scopesOf(ctx context.Context) []*Registry {
	if ctx == nil {
		return nil
	}
	scopes, _ := ctx.Value(scopesKey).([]*Registry)
	return scopes
}

// observed is set, for good, when a registry first gets an observer: only then
// must a dispatch look for observers.
var observed atomic.Bool
