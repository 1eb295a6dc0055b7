package hooks

// One registry at one point: the order of its hooks, how they are kept while
// they come and go, and the index by tool name.

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/toolname"
)

// compare orders hooks as a chain runs them: guards behind hooks and watches
// behind both, then by priority, then by registration. Across registries guards
// run behind all hooks, too; see decide.
func compare(a, b *hook) int {
	return cmp.Or(
		cmp.Compare(a.rank(), b.rank()),
		cmp.Compare(b.reg.priority, a.reg.priority),
		cmp.Compare(a.reg.seq, b.reg.seq))
}

// pageSize is how many hooks a removal has to copy, at most, beside the list of
// pages.
const pageSize = 256

// chain is what one registry runs at one point. It never changes once it is
// published, but for spent; a nil chain is an empty one.
type chain struct {
	// The hooks in the order of registration: full pages and the last one.
	// Registering appends, and so shares the arrays of older chains, whose
	// readers stop at their lengths. Only the newest chain of a registry is
	// extended, under its mu.
	pages [][]*hook
	last  []*hook

	spent int // hooks that were used up and are still here; protected by the registry's mu

	// The fields below are built from these by the first dispatch, so that
	// registering many hooks one by one costs little.
	mu      sync.Mutex    // held while they are built
	state   atomic.Uint32 // one of the states below
	hooks   []*hook       // in running order
	main    lane          // hooks that neither decide nor watch
	guards  lane
	watches lane

	all any // in the state direct: the functions, guards last
}

// The states of a chain. In direct and named ones nobody watches, and no hook must
// be asked before it runs: of a direct one all run, of a named one those that the
// tool concerns.
const (
	unbuilt = iota
	built
	named
	direct
)

func (ch *chain) direct() bool { return ch.state.Load() == direct }

// registered returns the hooks in the order of registration.
func (ch *chain) registered() []*hook {
	if ch == nil {
		return nil
	}
	return append(slices.Concat(ch.pages...), ch.last...)
}

// inOrder returns the hooks in running order.
func (ch *chain) inOrder() []*hook {
	hooks := ch.registered()
	if !slices.IsSortedFunc(hooks, compare) {
		slices.SortFunc(hooks, compare)
	}
	return hooks
}

// with returns the chain with h added, which was registered last.
func (ch *chain) with(h *hook) *chain {
	switch {
	case ch == nil:
		return &chain{last: []*hook{h}}
	case len(ch.last) >= pageSize:
		return &chain{pages: append(ch.pages, ch.last), last: []*hook{h}, spent: ch.spent}
	}
	return &chain{pages: ch.pages, last: append(ch.last, h), spent: ch.spent}
}

// without returns the chain with the hook of reg left out, nil if none is left
// that may run. It shares no array with ch that holds the hook, so that its
// function can be collected. The hook is in the chain: the registry has checked.
func (ch *chain) without(reg *Registration) *chain {
	next := &chain{pages: slices.Clone(ch.pages), last: ch.last, spent: ch.spent}
	if len(ch.last) > 0 && ch.last[0].reg.seq <= reg.seq {
		next.last = leaveOut(ch.last, reg)
	} else {
		i := sort.Search(len(ch.pages), func(i int) bool { return ch.pages[i][0].reg.seq > reg.seq }) - 1
		if next.pages[i] = leaveOut(ch.pages[i], reg); len(next.pages[i]) == 0 {
			next.pages = slices.Delete(next.pages, i, i+1)
		}
		next.last = slices.Clone(ch.last)
	}
	if next.size() == next.spent {
		return nil
	}
	return next
}

// leaveOut returns a copy of page without the hook of reg.
func leaveOut(page []*hook, reg *Registration) []*hook {
	return slices.DeleteFunc(slices.Clone(page), func(h *hook) bool { return h.reg == reg })
}

func (ch *chain) size() int {
	n := len(ch.last)
	for _, page := range ch.pages {
		n += len(page)
	}
	return n
}

// spend counts one more hook that was used up, and says whether half of the
// chain is.
func (ch *chain) spend() bool {
	ch.spent++
	return 2*ch.spent >= ch.size()
}

// compacted returns the chain without the hooks that were used up, nil if none
// is left.
func (ch *chain) compacted() *chain {
	left := slices.DeleteFunc(ch.registered(), func(h *hook) bool { return h.used.Load() && h.reg.owner.Load() == nil })
	if len(left) == 0 {
		return nil
	}
	next := &chain{}
	for len(left) > pageSize {
		next.pages = append(next.pages, slices.Clone(left[:pageSize]))
		left = left[pageSize:]
	}
	next.last = slices.Clone(left)
	return next
}

// prepared returns ch with all that is built from what was registered.
func (ch *chain) prepared(compile func([]*hook) any) *chain {
	if ch.state.Load() == unbuilt {
		ch.build(compile)
	}
	return ch
}

func (ch *chain) build(compile func([]*hook) any) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.state.Load() != unbuilt {
		return
	}
	ch.hooks = ch.inOrder()
	guards := sort.Search(len(ch.hooks), func(i int) bool { return ch.hooks[i].rank() >= rankGuard })
	watches := sort.Search(len(ch.hooks), func(i int) bool { return ch.hooks[i].rank() >= rankWatch })
	ch.main.build(ch.hooks[:guards], compile)
	ch.guards.build(ch.hooks[guards:watches], compile)
	ch.watches.build(ch.hooks[watches:], func([]*hook) any { return nil })
	switch {
	case watches < len(ch.hooks) || ch.main.picky || ch.guards.picky:
		ch.state.Store(built)
	case ch.main.filtersTools || ch.guards.filtersTools:
		ch.state.Store(named)
	default:
		ch.all = compile(ch.hooks)
		ch.state.Store(direct)
	}
}

// lane is the hooks of a chain that are of one rank, grouped so that a dispatch
// touches only those that its tool concerns.
type lane struct {
	hooks []*hook // by group: always, patterns, then one for each group of the index
	order []int32 // the place of hooks[i] in the running order
	fns   any     // []Func[C], the functions of hooks; nil for watches

	always   span            // hooks with no tool filter
	patterns span            // hooks whose tool filter holds a pattern
	index    *toolname.Index // of all names that hooks without a pattern filter by
	byGroup  []span          // the hooks of each group of index

	filtersTools bool // some hook filters by tool
	holding      bool // a stream has to wait for some hook
	picky        bool // some hook must be asked before it runs: a role filter, a pattern, WithOnce
}

// span is a group of a lane's hooks, in running order.
type span struct{ lo, hi int32 }

func (s span) empty() bool { return s.lo == s.hi }

func (l *lane) build(hooks []*hook, compile func([]*hook) any) {
	var always, patterns []int32
	var names []string                // each name once
	members := make(map[string]int32) // the place of a name in names
	var byName [][]int32              // the hooks that filter by it
	for i, h := range hooks {
		at := int32(i)
		l.picky = l.picky || h.hasAgents || h.once
		l.holding = l.holding || h.holds()
		switch {
		case h.tools == nil:
			always = append(always, at)
		case len(h.tools.Patterns()) > 0:
			patterns = append(patterns, at)
			l.filtersTools, l.picky = true, true
		default:
			l.filtersTools = true
			for _, n := range h.tools.Names() {
				place, known := members[n]
				if !known {
					place = int32(len(names))
					members[n] = place
					names, byName = append(names, n), append(byName, nil)
				}
				byName[place] = append(byName[place], at)
			}
		}
	}
	place := func(members []int32) span {
		lo := int32(len(l.hooks))
		for _, at := range members {
			l.hooks, l.order = append(l.hooks, hooks[at]), append(l.order, at)
		}
		return span{lo, int32(len(l.hooks))}
	}
	l.always, l.patterns = place(always), place(patterns)
	if len(names) > 0 {
		l.index = toolname.NewIndex(names)
		groups := l.index.Groups()
		l.byGroup = make([]span, len(groups))
		for g, group := range groups {
			var concerned []int32
			for _, name := range group {
				concerned = append(concerned, byName[name]...)
			}
			slices.Sort(concerned)
			l.byGroup[g] = place(slices.Compact(concerned))
		}
	}
	l.fns = compile(l.hooks)
}

// only returns the hooks of an unpicky lane that concern the tool, if they are one
// span and the name takes no work to compare.
func (l *lane) only(tool string) (concerned span, ok bool) {
	if l.index == nil || tool == "" {
		return l.always, true
	}
	group, ok := l.index.Quick(tool)
	switch {
	case !ok:
		return span{}, false
	case group < 0:
		return l.always, true
	case l.always.empty():
		return l.byGroup[group], true
	}
	return span{}, l.byGroup[group].empty()
}

// named returns the hooks of the lane that name the tool, in one or two spans.
func (l *lane) named(n *toolname.Name) (first, second span) {
	if l.index == nil || n.Raw() == "" {
		return first, second
	}
	a, b := l.index.Find(n)
	if a >= 0 {
		first = l.byGroup[a]
	}
	if b >= 0 {
		second = l.byGroup[b]
	}
	return first, second
}
