package hooks

// Which hooks there are: registries, the handles of what is in them, and the
// scopes in which a registry is active. How a chain is ordered is in chain.go.

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
	"time"
)

// Registry holds the hooks of each point, and the observers of what they do.
// The zero Registry is ready to use. It must not be copied after first use.
// All methods are safe for concurrent use and from inside a hook.
type Registry struct {
	mu       sync.Mutex                 // serialises changes; readers take no lock
	seq      uint64                     // protected by mu; numbers registrations
	presence *presence                  // protected by mu; nil in the default registry and until first use
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

// presence is what a registry adds to the counters of the process: where they
// are zero, a dispatch looks for nothing. It is apart from the registry, so that
// a registry that is dropped with hooks in it can be collected and counted off.
type presence struct {
	mu        sync.Mutex
	at        map[*point]bool
	observers int32
}

// presenceOf returns the presence of r. The caller holds r.mu.
func (r *Registry) presenceOf() *presence {
	if r.presence == nil {
		r.presence = &presence{at: make(map[*point]bool)}
		if r != &std {
			runtime.AddCleanup(r, (*presence).leave, r.presence)
		}
	}
	return r.presence
}

// hooksAt tells whether the registry has hooks at p.
func (e *presence) hooksAt(p *point, present bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case present && !e.at[p]:
		e.at[p] = true
		p.scoped.Add(1)
		p.count(1)
	case !present && e.at[p]:
		delete(e.at, p)
		p.scoped.Add(-1)
		p.count(-1)
	}
}

// observe tells of one observer more or less.
func (e *presence) observe(by int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observers += by
	observed.Add(by)
}

// leave takes back all that the registry counts for. Nobody can reach it any
// more.
func (e *presence) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for p := range e.at {
		p.scoped.Add(-1)
		p.count(-1)
	}
	observed.Add(-e.observers)
	e.at, e.observers = nil, 0
}

// Kind says what a registered function does. More kinds may be added.
type Kind string

// The kinds of functions that a registry holds.
const (
	KindHook   Kind = "hook"   // changes; see [On]
	KindGuard  Kind = "guard"  // decides; see [Guard]
	KindAround Kind = "around" // wraps; see [Around]
	KindWatch  Kind = "watch"  // looks; see [Watch]
	KindFilter Kind = "filter" // filters a stream; see [OnStream]
)

// Registration is the handle of one registered hook. It keeps neither the hook
// function nor, once the hook is removed, the registry. Its methods are safe
// for concurrent use; on a nil Registration they return zero values.
type Registration struct {
	point    *point
	name     string // as given by WithName
	kind     Kind
	tools    []string
	agents   []string
	priority int
	timeout  time.Duration
	pc       uintptr                  // where it was registered
	seq      uint64                   // its place among the registrations of its registry
	site     atomic.Pointer[string]   // pc as text, once somebody asked
	owner    atomic.Pointer[Registry] // nil once removed; changes under the owner's mu
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

// Name returns the name given by [WithName], or else the Place. It is for
// people: it need not be unique and is no key.
func (r *Registration) Name() string {
	if r == nil {
		return ""
	}
	if r.name != "" {
		return r.name
	}
	return r.Place()
}

// Place returns where the hook was registered, as in "guards.go:42".
func (r *Registration) Place() string {
	if r == nil || r.pc == 0 {
		return ""
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

// Kind returns what the registered function is.
func (r *Registration) Kind() Kind {
	if r == nil {
		return ""
	}
	return r.kind
}

// Tools returns what [WithTools] was given, nil without it. The slice is the
// caller's.
func (r *Registration) Tools() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.tools)
}

// Agents returns what [WithAgents] was given, nil without it. The slice is the
// caller's.
func (r *Registration) Agents() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.agents)
}

// Priority returns what [WithPriority] was given, 0 without it.
func (r *Registration) Priority() int {
	if r == nil {
		return 0
	}
	return r.priority
}

// Timeout returns what [WithTimeout] was given, 0 without it.
func (r *Registration) Timeout() time.Duration {
	if r == nil {
		return 0
	}
	return r.timeout
}

// hook is one registered function. All but used is fixed at registration.
type hook struct {
	reg        *Registration
	registry   *Registry // of the registration, until it is added
	fn         any       // a Func[C] of the point's C, a WatchFunc[C] of a watch
	tools      *toolFilter
	hasAgents  bool
	failClosed bool
	guard      bool // decides: a guard, and a filter that is one
	once       bool
	stopRun    bool
	afterShown bool        // a stream needn't wait for it
	maxHold    int         // of a filter
	used       atomic.Bool // a once hook has had its run
}

// rank orders hooks as a dispatch runs them.
func (h *hook) rank() int {
	switch {
	case h.reg.kind == KindWatch:
		return rankWatch
	case h.guard:
		return rankGuard
	}
	return rankHook
}

const (
	rankHook = iota
	rankGuard
	rankWatch
)

// String describes the hook as a listing shows it.
func (h *hook) String() string {
	var b strings.Builder
	b.WriteString(h.reg.Name())
	if h.tools != nil {
		fmt.Fprintf(&b, " tools=%q", h.reg.tools)
	}
	if h.hasAgents {
		fmt.Fprintf(&b, " agents=%q", h.reg.agents)
	}
	if h.reg.priority != 0 {
		fmt.Fprintf(&b, " priority=%d", h.reg.priority)
	}
	if h.reg.timeout != 0 {
		fmt.Fprintf(&b, " timeout=%v", h.reg.timeout)
	}
	if h.reg.kind != KindHook {
		b.WriteString(" " + string(h.reg.kind))
	}
	switch {
	case h.reg.kind == KindGuard:
	case h.guard:
		b.WriteString(" guard")
	case h.failClosed:
		b.WriteString(" fail-closed")
	}
	if h.afterShown {
		b.WriteString(" after-shown")
	}
	if h.once {
		b.WriteString(" once")
	}
	return b.String()
}

// claim says whether a hook may run now, and uses up one that runs once.
func (h *hook) claim() bool {
	if !h.once {
		return true
	}
	if !h.used.CompareAndSwap(false, true) {
		return false
	}
	if owner := h.reg.owner.Load(); owner != nil {
		owner.usedUp(h.reg)
	}
	return true
}

// add registers one hook.
func (r *Registry) add(h *hook) *Registration {
	reg := h.reg
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	reg.seq = r.seq
	reg.owner.Store(r)
	r.setChain(reg.point, r.chain(reg.point).with(h))
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

// usedUp removes the hook of reg, which has had its one run. It stays in the
// chain, where it is passed over, until half of the chain is used up: building
// the index anew for each of many would take quadratic time.
func (r *Registry) usedUp(reg *Registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reg.owner.Load() != r {
		return
	}
	reg.owner.Store(nil)
	if ch := r.chain(reg.point); ch.spend() {
		r.setChain(reg.point, ch.compacted())
	}
}

// Hooks lists the hooks of r at p in running order, guards and watches
// included. A name that no point has gives an empty list. The slice is the
// caller's.
func (r *Registry) Hooks(p AnyPoint) []*Registration {
	pt := lookup(p)
	if pt == nil {
		return nil
	}
	var regs []*Registration
	for _, h := range r.chain(pt).inOrder() {
		if !h.used.Load() {
			regs = append(regs, h.reg)
		}
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
// stay, and so do what [SetLogger], [SetHumanInput] and [SetLiveDisplay] set.
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
	n := 0
	for _, h := range r.chain(p).registered() {
		if h.reg.owner.Swap(nil) != nil {
			n++
		}
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
		if had := p.std.Swap(ch) != nil; had != (ch != nil) {
			if had {
				p.count(-1)
			} else {
				p.count(1)
			}
		}
		return
	}
	old := r.chains.Load()
	if ch == nil && (old == nil || p.id >= len(*old) || (*old)[p.id] == nil) {
		return
	}
	var chains []*chain
	if old != nil {
		chains = slices.Clone(*old)
	}
	for len(chains) <= p.id {
		chains = append(chains, nil)
	}
	chains[p.id] = ch
	if ch != nil {
		r.presenceOf().hooksAt(p, true)
	}
	r.chains.Store(&chains)
	if ch == nil {
		r.presenceOf().hooksAt(p, false)
	}
}

// String lists the chains of r in running order, one hook a line with its
// name and filters: what a dispatch of each point would run.
func (r *Registry) String() string {
	var b strings.Builder
	for _, p := range definedPoints() {
		hooks := slices.DeleteFunc(slices.Clone(r.chain(p).inOrder()), func(h *hook) bool { return h.used.Load() })
		if len(hooks) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s\n", p.name)
		for _, h := range hooks {
			fmt.Fprintf(&b, "  %s\n", h)
		}
	}
	if b.Len() == 0 {
		return "no hooks\n"
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
	ctx = nonNil(ctx)
	outer := frameOf(ctx)
	scopes := outer.holds().scopes
	if r == &std || slices.Contains(scopes, r) {
		return ctx
	}
	node := &struct {
		frame
		carried carried
	}{newFrame(ctx, outer), *outer.holds()}
	node.carried.scopes = append(slices.Clip(scopes), r)
	node.frame.carried = &node.carried
	return &node.frame
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
