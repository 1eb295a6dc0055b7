package hooks

// The limit on seams inside hooks. A hook that opens the seam it hooks would
// recurse until the stack overflows, which nothing in Go can recover.

import (
	"context"
	"sync/atomic"
)

// maxNested is how many seams may be open inside one another's hooks.
const maxNested = 16

// maxOnlooking is how many may be open below what an observer or a watch opens. It
// is small, since an observer that works later and looks at its own seams, of
// which each has two points, opens two to the power of it before the first is
// too deep.
const maxOnlooking = 4

const tooDeepReason = "hooks are nested too deeply"

// nest is the hooks of one seam, as the ctx that they get tells of them. It
// counts how many seams are open around them. What a body opens isn't counted:
// bodies get the ctx that the seam was given.
type nest struct {
	frame
	outer    *nest        // the hooks that the seam was opened in, nil for none
	root     *atomic.Bool // the nest has grown too deep; shared by all of it
	depth    uint32       // how many seams there are, those that have ended included
	below    uint16       // how many there are below an observer or a watch
	observes bool         // of observers and watches, which share one root
	broken   atomic.Bool  // what root points to, in the outermost one

	state uint32 // bits of the constants below, written by atomic operations once hooks have the ctx

	// Of a tool seam: its call, and what was asked in the passage.
	call  *ToolCall
	asked atomic.Pointer[asking]
}

// What has become of the hooks of a nest.
const (
	nestOver    = 1 << iota // the seam has ended: what hooks left behind isn't inside it
	nestDecided             // no hook of the pre point of the tool call runs
)

func (n *nest) over() bool { return atomic.LoadUint32(&n.state)&nestOver != 0 }

// openNest returns the innermost hooks of ctx whose seam is still open, nil for
// none. A follow-up that a hook started and didn't wait for is in no seam.
func (f *frame) openNest() *nest {
	if f == nil {
		return nil
	}
	n := f.nest
	for n != nil && n.over() {
		n = n.outer
	}
	return n
}

// Nested reports whether ctx is that of a seam which was opened with the ctx of
// a hook, guard, watch or observer, or which is in the body of such a one: in the
// hooks of the seam, and in its body. A judge that calls a model through the
// seams sees its own calls, too, and passes them over by it:
//
//	hooks.Guard(hooks.PostModelCall, func(ctx context.Context, m *hooks.ModelCall) error {
//		if hooks.Nested(ctx) {
//			return nil
//		}
//		return judge(ctx, m.Response) // which calls a model by RunModel
//	})
//
// The ctx of the judge itself is not nested, as long as no hook has opened the
// seam that it judges; nor is a nil ctx. That a hook has returned meanwhile makes
// no difference. Nested is safe for concurrent use.
func Nested(ctx context.Context) bool {
	f := frameOf(ctx)
	return f.holds().inner
}

// enter refuses a seam that is opened too deep inside hooks, or in a nest that
// was. Once a nest is too deep all of it fails, up to the outermost seam: a
// hook that ignores the error and tries again must not multiply the calls.
func (n *nest) enter() error {
	if n == nil {
		return nil
	}
	if n.below > maxOnlooking || n.depth > maxNested && n.open() > maxNested {
		n.root.Store(true)
	}
	return n.fault("")
}

// open returns how many seams are open around what n's hooks begin.
func (n *nest) open() int {
	open := 0
	for ; n != nil; n = n.outer {
		if !n.over() {
			open++
		}
	}
	return open
}

// fault returns the error of a nest that has grown too deep.
func (n *nest) fault(at InterceptionPoint) error {
	if n == nil || !n.root.Load() {
		return nil
	}
	return &HookAborted{Reason: tooDeepReason, StopRun: true, Point: at, Err: ErrTooDeep}
}

// newNest returns the nest for the hooks of a seam that was opened in outer,
// with what f, the innermost frame of ctx, carries.
func newNest(ctx context.Context, f *frame, outer *nest) *nest {
	in := new(nest)
	in.inside(ctx, f, outer)
	return in
}

// inside makes n what newNest returns.
func (n *nest) inside(ctx context.Context, f *frame, outer *nest) {
	n.begin(ctx, f)
	n.outer, n.depth, n.root = outer, 1, &n.broken
	if outer != nil {
		n.depth, n.root, n.observes = outer.depth+1, outer.root, outer.observes
	}
	if n.observes {
		n.below = outer.below + 1
	}
}

// begin makes the frame of n one over ctx.
func (n *nest) begin(ctx context.Context, f *frame) {
	if !framed.Load() {
		framed.Store(true)
	}
	n.frame.Context, n.frame.carried, n.frame.nest = ctx, f.holds(), n
}

// onlookers returns the ctx for observers and watches, and the nest that is over
// when they have returned, nil for none. One that opens the seam that it looks at
// is stopped as a hook would be, but it can change nothing: the nest that breaks
// is that of onlookers, not that of the hooks around it. What onlookers open
// below one another shares its nest; otherwise each level would double the calls.
func onlookers(ctx context.Context) (context.Context, *nest) {
	f := frameOf(ctx)
	n := f.openNest()
	if n == nil || n.observes {
		return ctx, nil
	}
	in := &nest{outer: n, depth: n.depth, observes: true}
	in.begin(ctx, f)
	in.root = &in.broken
	return &in.frame, in
}

// end says that the seam, or the onlooker, has returned.
func (n *nest) end() {
	if n != nil {
		atomic.OrUint32(&n.state, nestOver)
	}
}

// lasting returns a ctx in the nest of ctx that counts on when the seam is over:
// for an observer that works later, and would otherwise feed itself without end.
func lasting(ctx context.Context) context.Context {
	f := frameOf(ctx)
	n := f.openNest()
	if n == nil {
		return ctx
	}
	in := &nest{outer: n, depth: n.depth, root: n.root, observes: n.observes, below: n.below}
	in.begin(ctx, f)
	return &in.frame
}
