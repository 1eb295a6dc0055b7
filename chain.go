package hooks

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// compare orders hooks as a chain runs them: guards last, then by priority,
// then by registration.
func compare(a, b *hook) int {
	switch {
	case a.guard != b.guard:
		if b.guard {
			return -1
		}
		return 1
	case a.priority != b.priority:
		return cmp.Compare(b.priority, a.priority)
	}
	return cmp.Compare(a.reg.seq, b.reg.seq)
}

// pageSize is how many hooks a removal has to copy, at most, beside the list of
// pages.
const pageSize = 256

// chain is what one registry runs at one point. It never changes once it is
// published; a nil chain is an empty one.
type chain struct {
	// The hooks in the order of registration: full pages and the last one.
	// Registering appends, and so shares the arrays of older chains, whose
	// readers stop at their lengths. Only the newest chain of a registry is
	// extended, under its mu.
	pages [][]*hook
	last  []*hook

	// The rest is made from that by the first who needs it, so that registering
	// many hooks one by one costs little.
	mu     sync.Mutex // held while it is made
	made   atomic.Bool
	hooks  []*hook // in running order
	main   lane    // hooks that aren't guards
	guards lane
	direct bool // no guards, and no hook must be asked before it runs
}

// registered yields the hooks in the order of registration.
func (ch *chain) registered() iter.Seq[*hook] {
	return func(yield func(*hook) bool) {
		for _, page := range ch.pages {
			for _, h := range page {
				if !yield(h) {
					return
				}
			}
		}
		for _, h := range ch.last {
			if !yield(h) {
				return
			}
		}
	}
}

// with returns the chain with h added, which was registered last.
func (ch *chain) with(h *hook) *chain {
	switch {
	case ch == nil:
		return &chain{last: []*hook{h}}
	case len(ch.last) >= pageSize:
		return &chain{pages: append(ch.pages, ch.last), last: []*hook{h}}
	}
	return &chain{pages: ch.pages, last: append(ch.last, h)}
}

// without returns the chain with the hook of reg left out, nil if none is
// left. It shares no array with ch that holds the hook, so that its function can
// be collected.
func (ch *chain) without(reg *Registration) *chain {
	if ch == nil {
		return nil
	}
	next := &chain{pages: slices.Clone(ch.pages), last: ch.last}
	if len(ch.last) > 0 && ch.last[0].reg.seq <= reg.seq {
		next.last = leaveOut(ch.last, reg)
	} else {
		i := sort.Search(len(ch.pages), func(i int) bool { return ch.pages[i][0].reg.seq > reg.seq }) - 1
		if i < 0 {
			return ch
		}
		if next.pages[i] = leaveOut(ch.pages[i], reg); len(next.pages[i]) == 0 {
			next.pages = slices.Delete(next.pages, i, i+1)
		}
		next.last = slices.Clone(ch.last)
	}
	if len(next.pages) == 0 && len(next.last) == 0 {
		return nil
	}
	return next
}

// leaveOut returns a copy of page without the hook of reg.
func leaveOut(page []*hook, reg *Registration) []*hook {
	i := slices.IndexFunc(page, func(h *hook) bool { return h.reg == reg })
	if i < 0 {
		return slices.Clone(page)
	}
	return slices.Concat(page[:i], page[i+1:])
}

// prepared returns ch with all that is made from what was registered.
func (ch *chain) prepared(p *point) *chain {
	if !ch.made.Load() {
		ch.make(p)
	}
	return ch
}

func (ch *chain) make(p *point) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.made.Load() {
		return
	}
	ch.hooks = slices.Collect(ch.registered())
	if !slices.IsSortedFunc(ch.hooks, compare) {
		slices.SortFunc(ch.hooks, compare)
	}
	guards := sort.Search(len(ch.hooks), func(i int) bool { return ch.hooks[i].guard })
	ch.main.make(p, ch.hooks[:guards])
	ch.guards.make(p, ch.hooks[guards:])
	ch.direct = guards == len(ch.hooks) && !ch.main.picky
	ch.made.Store(true)
}

// lane is the hooks of a chain that are guards, or those that aren't, grouped
// so that a dispatch touches only those that its tool concerns.
type lane struct {
	hooks []*hook // by group: always, patterns, then one per tool name
	order []int32 // the place of hooks[i] in the running order
	fns   any     // []Func[C], the functions of hooks

	always   span            // hooks with no tool filter
	patterns span            // hooks whose tool filter holds a pattern
	byTool   map[string]span // hooks of each tool, by each form of its name that is known beforehand

	byName bool // some hook filters by tool
	picky  bool // some hook must be asked before it runs: a role filter, a pattern, WithOnce
}

// span is a group of a lane's hooks, in running order.
type span struct{ lo, hi int32 }

func (s span) empty() bool { return s.lo == s.hi }

func (l *lane) make(p *point, hooks []*hook) {
	var always, patterns []int32
	groups := make(map[string][]int32) // by the name that all members share
	var names []string                 // the keys of groups, in order of appearance
	keys := make(map[string]string)    // each known form of a name, to its group
	total := 0
	for i, h := range hooks {
		at := int32(i)
		l.picky = l.picky || h.byAgent || h.once
		switch {
		case h.tools == nil:
			always = append(always, at)
		case h.tools.patterned:
			patterns = append(patterns, at)
			l.byName, l.picky = true, true
		default:
			l.byName = true
			for _, n := range h.tools.parsed {
				group := n.key()
				members, known := groups[group]
				if !known {
					names = append(names, group)
				}
				// Two spellings of one name in one filter make one member.
				if k := len(members); k == 0 || members[k-1] != at {
					groups[group] = append(members, at)
					total++
				}
				keys[n.raw], keys[group] = group, group
			}
		}
	}
	total += len(always) + len(patterns)
	l.hooks, l.order = make([]*hook, 0, total), make([]int32, 0, total)
	place := func(members []int32) span {
		lo := int32(len(l.hooks))
		for _, at := range members {
			l.hooks, l.order = append(l.hooks, hooks[at]), append(l.order, at)
		}
		return span{lo, int32(len(l.hooks))}
	}
	l.always, l.patterns = place(always), place(patterns)
	if len(names) > 0 {
		spans := make(map[string]span, len(names))
		for _, n := range names {
			spans[n] = place(groups[n])
		}
		l.byTool = make(map[string]span, len(keys))
		for form, group := range keys {
			l.byTool[form] = spans[group]
		}
	}
	l.fns = p.compile(l.hooks)
}
