package toolname

// Finding the names of a long list that a name is the same as, by look-ups in
// maps instead of comparing each.

import "slices"

// Index finds those of a list of names that are the same as a given one. It
// never changes, and is safe for concurrent use.
//
// It groups the list: each name that can be asked for has one group, or two if
// the name is too long or unreadable and the list also has its Sanitize form.
type Index struct {
	groups [][]int32
	folded map[string]int32 // the group of the names that are asked for by this key
	raw    map[string]int32 // the whole answer for a name that is written so
	hashed map[string]int32 // the names with this key, which may be a hash
}

// NewIndex makes an index of names.
func NewIndex(names []string) *Index {
	x := &Index{folded: make(map[string]int32, len(names))}
	parsed := make([]Name, len(names))
	byKey := make(map[string][]int32, len(names)) // the names with this key
	byHash := make(map[string][]int32)            // the names with this hash
	for i, raw := range names {
		n := Parse(raw)
		byKey[n.key()] = append(byKey[n.key()], int32(i))
		if n.hash() != "" {
			byHash[n.hash()] = append(byHash[n.hash()], int32(i))
		}
		parsed[i] = n
	}
	for i := range parsed {
		x.add(&parsed[i], byKey, byHash)
	}
	for hash, members := range byHash {
		if _, known := x.folded[hash]; !known {
			x.folded[hash] = x.group(members)
		}
	}
	return x
}

// add enters what the names that are spelled as n is, or are written so, are
// the same as.
func (x *Index) add(n *Name, byKey, byHash map[string][]int32) {
	key := n.key()
	all, known := x.folded[key]
	if !known {
		all = x.group(union(byKey[key], byHash[key]))
		x.folded[key] = all
		if mayBeHashed(key) {
			if x.hashed == nil {
				x.hashed = make(map[string]int32)
			}
			x.hashed[key] = all
			if len(byHash[key]) > 0 {
				x.hashed[key] = x.group(byKey[key])
			}
		}
	}
	var more []int32 // the names that are written as the hash of n
	if n.hash() != "" {
		more = byKey[n.hash()]
	}
	if _, known := x.raw[n.raw]; known || n.raw == key && len(more) == 0 && isSanitized(n.raw) {
		return // it's found by its key, which takes no work to make
	}
	if len(more) > 0 {
		all = x.group(union(x.groups[all], more))
	}
	if x.raw == nil {
		x.raw = make(map[string]int32)
	}
	x.raw[n.raw] = all
}

func (x *Index) group(members []int32) int32 {
	x.groups = append(x.groups, members)
	return int32(len(x.groups) - 1)
}

// union merges two ascending lists.
func union(a, b []int32) []int32 {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Groups returns the groups: places in the list, ascending. They must not be
// changed.
func (x *Index) Groups() [][]int32 { return x.groups }

// Quick is Find for a name that takes no work to compare: one that is in the list
// as it is written, or is folded already where no name of the list may be a hash.
// It returns the one group, -1 for none; ok is false where Find has to be asked.
func (x *Index) Quick(raw string) (group int, ok bool) {
	if len(x.raw) > 0 {
		if g, known := x.raw[raw]; known {
			return int(g), true
		}
	}
	if len(x.hashed) > 0 || raw == "" {
		return -1, false
	}
	if g, known := x.folded[raw]; known { // what stands there is folded
		return int(g), true
	}
	return -1, isFolded(raw)
}

// Find returns the groups that hold the names of the list that n is the same
// as, -1 for none. The second group is -1 unless Sanitize puts a hash into n,
// and the first then holds other members, as a rule. Find makes three look-ups
// at most, and doesn't allocate for a name that is in the list or is folded
// already.
func (x *Index) Find(n *Name) (first, second int) {
	first, second = -1, -1
	if len(x.folded) == 0 {
		return first, second
	}
	if g, ok := x.raw[n.raw]; ok {
		return int(g), second
	}
	if g, ok := x.folded[n.key()]; ok {
		first = int(g)
	}
	if len(x.hashed) > 0 && n.hash() != "" {
		if g, ok := x.hashed[n.hash()]; ok {
			second = int(g)
		}
	}
	return first, second
}

// Filter is a list of entries, plain names and patterns. It never changes, and
// is safe for concurrent use.
type Filter struct {
	names    []string
	index    *Index
	patterns []*Pattern
}

// NewFilter makes a filter of entries as Match takes them.
func NewFilter(entries ...string) *Filter {
	f := &Filter{}
	for _, e := range entries {
		if IsPattern(e) {
			f.patterns = append(f.patterns, CompilePattern(e))
		} else {
			f.names = append(f.names, e)
		}
	}
	f.index = NewIndex(f.names)
	return f
}

// Names returns the plain names among the entries. They must not be changed.
func (f *Filter) Names() []string { return f.names }

// Patterns returns the patterns among the entries. They must not be changed.
func (f *Filter) Patterns() []*Pattern { return f.patterns }

// Match reports whether one of the entries covers n. Its cost doesn't depend on
// how many plain names there are.
func (f *Filter) Match(n *Name) bool {
	if first, second := f.index.Find(n); first >= 0 || second >= 0 {
		return true
	}
	return f.MatchPatterns(n)
}

// MatchPatterns reports whether one of the patterns covers n.
func (f *Filter) MatchPatterns(n *Name) bool {
	for _, p := range f.patterns {
		if p.Match(n) {
			return true
		}
	}
	return false
}
