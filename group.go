package hooks

// Several registrations as one.

import "sync"

// Group is several registrations, observers or groups as one handle. The zero
// Group holds nothing. Its method is safe for concurrent use.
type Group struct {
	mu      sync.Mutex
	parts   []interface{ Remove() bool } // nil once removed; protected by mu
	removed bool                         // some call has told so; protected by mu
}

// Join returns a handle that removes all of the parts. Nil parts are ignored.
//
//	policies := hooks.Join(
//		hooks.Guard(hooks.PreToolCall, noDeletes),
//		hooks.Watch(hooks.PostToolCall, audit),
//		hooks.Observe(metrics),
//	)
//	defer policies.Remove()
func Join(parts ...interface{ Remove() bool }) *Group {
	g := &Group{}
	for _, part := range parts {
		if part != nil {
			g.parts = append(g.parts, part)
		}
	}
	return g
}

// Remove removes what is still registered and reports whether there was any:
// of several calls one returns true, and all is removed when any of them
// returns. It is safe on a nil Group.
func (g *Group) Remove() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	parts := g.parts
	g.mu.Unlock()
	removed := false
	for _, part := range parts { // without the lock: a part may be foreign code
		removed = part.Remove() || removed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	first := removed && !g.removed
	g.parts, g.removed = nil, g.removed || removed
	return first
}
