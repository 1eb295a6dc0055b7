package hooks

// Runs: where an execution gets its ID and its place in a tree of agents, and
// the variables that live as long as one.

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync"
	"sync/atomic"
)

// run is the record of one execution. It never changes; what it holds for the
// variables is shared by the records of one execution.
type run struct {
	id, parent, root string
	vars             *runVars
	outermost        *runVars
	ids              givenIDs // of the context, as the execution began
}

// runVars holds the variables of one execution: by *RunVar[T], a function that
// returns the *T.
type runVars struct {
	ctx    atomic.Pointer[frame] // the execution's, for init functions
	values sync.Map
}

var lastRun atomic.Uint64

var runPrefix = sync.OnceValue(func() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return "run-" + hex.EncodeToString(b[:]) + "-"
})

// newRunID returns an ID that no other execution has: a random prefix of the
// process and a counter.
func newRunID() string {
	var id [len("run-") + 12 + len("-") + 20]byte // the most digits of a uint64
	return string(strconv.AppendUint(append(id[:0], runPrefix()...), lastRun.Add(1), 10))
}

// runIDs places an execution in its tree.
type runIDs struct{ run, parent, root string }

// givenIDs are the IDs of an execution as the framework gave them, and as the
// seam set them.
type givenIDs struct{ given, set runIDs }

// fireRun is fire for an execution. It undoes what a passage inside a hook made
// of the IDs of this one.
func (s *seam) fireRun(stage side, p Point[Execution], x *Execution) error {
	ids, now := x.ids, runIDs{x.RunID, x.ParentRunID, x.RootRunID}
	err := fire(s, stage, p, x)
	if x.ids != ids {
		x.ids = ids
		x.RunID, x.ParentRunID, x.RootRunID = now.run, now.parent, now.root
	}
	return err
}

// ownRun undoes what a passage inside the body made of the IDs of x: two layers
// of a framework may both run the execution that they are given.
func (s *seam) ownRun(x *Execution) {
	if r := s.frame.carried.run; x.ids != r.ids {
		x.ids = r.ids
		x.RunID, x.ParentRunID, x.RootRunID = r.id, r.parent, r.root
	}
}

// identifyRun gives an execution its IDs: RunID its own, else the one of the
// Caller in ctx unless that is the execution around it, else a new one. What it
// gave for an earlier use is taken back first.
func (x *Execution) identifyRun(outer *frame) {
	takeBackText(&x.RunID, x.ids.set.run, x.ids.given.run)
	takeBackText(&x.ParentRunID, x.ids.set.parent, x.ids.given.parent)
	takeBackText(&x.RootRunID, x.ids.set.root, x.ids.given.root)
	x.ids.given = runIDs{x.RunID, x.ParentRunID, x.RootRunID}

	around := outer.holds().run
	var caller Caller
	if c := outer.holds().caller; c != nil {
		caller = *c
	}
	if x.RunID == "" && (around == nil || caller.RunID != around.id) {
		x.RunID = caller.RunID
	}
	if x.RunID == "" {
		x.RunID = newRunID()
	}
	if around != nil {
		x.ParentRunID, x.RootRunID = around.id, around.root
	} else {
		fillString(&x.ParentRunID, caller.ParentRunID)
		fillString(&x.RootRunID, caller.RootRunID)
		fillString(&x.RootRunID, x.RunID)
	}
	x.ids.set = runIDs{x.RunID, x.ParentRunID, x.RootRunID}
}

// takeBackText makes s what it was before, unless somebody changed it since.
func takeBackText(s *string, set, given string) {
	if *s == set {
		*s = given
	}
}

// enterRun returns the frame in which the execution runs, under ctx.
func enterRun(ctx context.Context, outer *frame, x *Execution) *frame {
	node := &struct {
		frame
		carried carried
		run     run
		vars    runVars
	}{frame: newFrame(ctx, outer), carried: *outer.holds()}
	node.run = run{id: x.RunID, parent: x.ParentRunID, root: x.RootRunID, vars: &node.vars, outermost: &node.vars, ids: x.ids}
	if around := node.carried.run; around != nil {
		node.run.outermost = around.outermost
	}
	node.vars.ctx.Store(&node.frame)
	caller := x.Caller // apart from the node; see withCaller
	node.carried.caller, node.carried.run = &caller, &node.run
	node.frame.carried = &node.carried
	return &node.frame
}

// nested says that the execution runs inside another one of this process.
func (r *run) nested() bool { return r.vars != r.outermost }

// settleIDs makes whole what hooks left of the IDs of x, whose record is r: an
// execution has a RunID, a nested one can't leave its place in the tree, and one
// that is its own root stays that under another name.
func (x *Execution) settleIDs(r *run) {
	fillString(&x.RunID, r.id)
	switch {
	case r.nested():
		x.ParentRunID, x.RootRunID = r.parent, r.root
	case x.RootRunID == "", x.RootRunID == r.id:
		x.RootRunID = x.RunID
		x.ids.set.root = x.RunID
	}
}

// RunVar is a variable of which each execution has its own. A value is made
// when it is first asked for and lives as long as a ctx of its run does: it
// needs no clearing, and a nested execution doesn't touch that of the one around
// it. The zero RunVar is ready to use, and then values begin as zero. It must
// not be copied after first use.
//
// All goroutines of a run share a value, so T protects itself: with a mutex, or
// as an atomic. A run that is resumed begins with new values; a program that
// saves state restores it at [ExecutionStart].
//
//	var calls = hooks.NewRunVar[atomic.Int32](nil)
//
//	func atMostFive(ctx context.Context, call *hooks.ToolCall) error {
//		if n, ok := calls.Of(ctx); ok && n.Add(1) > 5 {
//			return hooks.Abort("five calls are enough")
//		}
//		return nil
//	}
type RunVar[T any] struct {
	init func(ctx context.Context, v *T)
}

// NewRunVar returns a variable whose values begin as init leaves them; a nil
// init leaves them zero. The function gets the ctx of the execution that the value
// belongs to and runs once for each, while others wait; it must not ask for the
// same variable. If it panics, every use panics with the same value, as with
// [sync.OnceValue].
func NewRunVar[T any](init func(ctx context.Context, v *T)) *RunVar[T] {
	return &RunVar[T]{init: init}
}

// Of returns the value of the execution that ctx is in; ok is false outside of
// executions, and for a nil ctx. It is safe for concurrent use.
func (v *RunVar[T]) Of(ctx context.Context) (value *T, ok bool) {
	if run := frameOf(ctx).holds().run; run != nil {
		return v.in(run.vars), true
	}
	return nil, false
}

// Root returns the value of the outermost execution that ctx is in, which it
// shares with its sub-agents; ok is false outside of executions. An execution
// on another machine is not known here: the outermost one is that of this
// process. It is safe for concurrent use.
func (v *RunVar[T]) Root(ctx context.Context) (value *T, ok bool) {
	if run := frameOf(ctx).holds().run; run != nil {
		return v.in(run.outermost), true
	}
	return nil, false
}

func (v *RunVar[T]) in(vars *runVars) *T {
	if got, ok := vars.values.Load(v); ok {
		return got.(func() *T)()
	}
	got, _ := vars.values.LoadOrStore(v, sync.OnceValue(func() *T {
		value := new(T)
		if v.init != nil {
			v.init(vars.ctx.Load(), value)
		}
		return value
	}))
	return got.(func() *T)()
}
