package hooks

import (
	"context"
	"sync/atomic"
)

// maxNested is how many seams may be open inside one another's hooks. A hook
// that opens the seam it hooks would otherwise recurse until the stack
// overflows, which nothing in Go can recover.
const maxNested = 16

const tooDeepReason = "hooks are nested too deeply"

// nested is set, for good, when a seam first runs a hook: only then can a seam
// be inside one.
var nested atomic.Bool

// nest is the ctx that hooks get from a seam: it counts how many seams are
// open around them. What a body opens is not counted, since bodies get the ctx
// that the seam was given.
type nest struct {
	context.Context
	depth  int
	root   *atomic.Bool // the nest has grown too deep; shared by all of it
	broken atomic.Bool  // what root points to, in the outermost one
}

func (n *nest) Value(key any) any {
	if k, ok := key.(*ctxKey); ok && k == nestKey {
		return n
	}
	return n.Context.Value(key)
}

// nestOf returns the hooks that ctx comes from, nil for none.
func nestOf(ctx context.Context) *nest {
	if !nested.Load() {
		return nil
	}
	n, _ := ctx.Value(nestKey).(*nest)
	return n
}

// enter refuses a seam that is opened too deep inside hooks, or in a nest that
// was. Once a nest is too deep all of it fails, up to the outermost seam: a
// hook that ignores the error and tries again must not multiply the calls.
func (n *nest) enter() error {
	if n == nil {
		return nil
	}
	if n.depth > maxNested {
		n.root.Store(true)
	}
	return n.fault("")
}

// fault returns the error of a nest that has grown too deep.
func (n *nest) fault(at InterceptionPoint) error {
	if n == nil || !n.root.Load() {
		return nil
	}
	return &HookAborted{Reason: tooDeepReason, StopRun: true, Point: at, Err: ErrTooDeep}
}

// inside returns the ctx for the hooks of a seam that was itself opened in n.
func (n *nest) inside(ctx context.Context) *nest {
	if !nested.Load() {
		nested.Store(true)
	}
	in := &nest{Context: ctx, depth: 1}
	if n == nil {
		in.root = &in.broken
	} else {
		in.depth, in.root = n.depth+1, n.root
	}
	return in
}
