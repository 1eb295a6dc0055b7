package hooks

// What the guards in front of a body have let through, and asking them again
// where an around hook runs the body on something else.

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/deep"
)

// checkpoint is what the guards of a pre point have let through. A nil one stands
// where nobody would want to know of a change.
type checkpoint struct {
	pre    *point
	known  bool // what they saw can be compared
	about  guardedCall
	passed snapshot
}

// guardedCall is which call it is, and on whose behalf. An approval is bound to it.
type guardedCall struct {
	identity
	model                   string
	call, tenant, run, root string
}

// newCheckpoint notes what c is in front of the body of p, if there are guards, or
// watches that look at what they let through.
func newCheckpoint(s *seam, p *point, c any) *checkpoint {
	pre := p.pres[len(p.pres)-1]
	if pre.unused() || !pre.decided(s.frame) {
		return nil
	}
	k := &checkpoint{pre: pre}
	k.pass(c)
	return k
}

// decided says whether the point has guards or watches under the frame f.
func (p *point) decided(f *frame) bool {
	decides := func(ch *chain) bool {
		return ch != nil && len(ch.prepared(p.compile).main.hooks) < len(ch.hooks)
	}
	return decides(p.std.Load()) || slices.ContainsFunc(f.holds().scopes, func(r *Registry) bool { return decides(r.chain(p)) })
}

// pass notes what c is now.
func (k *checkpoint) pass(c any) {
	k.passed = snapshot{}
	k.known = k.read(c, &k.about, &k.passed) && k.passed.keepDeep()
}

func (k *checkpoint) read(c any, a *guardedCall, s *snapshot) bool {
	var failure *PanicError
	if a.identity, failure = identify(k.pre, c); failure != nil {
		return false
	}
	if m, ok := c.(modeled); ok {
		a.model = m.modelName()
	}
	if t, ok := c.(identified); ok {
		a.call = t.toolCallID()
	}
	if own, ok := c.(calling); ok {
		caller := own.hookCaller()
		a.tenant, a.run, a.root = caller.Tenant, caller.RunID, caller.RootRunID
	}
	t := tracker{side: before, point: k.pre.name, c: c}
	return t.read(s)
}

// differs says whether c is no longer what the guards have let through.
func (k *checkpoint) differs(c any) bool {
	if k == nil {
		return false
	}
	var a guardedCall
	var now snapshot
	return !k.known || !k.read(c, &a, &now) || a != k.about || !k.passed.sameDeep(&now)
}

// keepDeep copies what a later change in place would change, however deep, and
// reports whether that is possible. What is no input counts for nothing here.
func (s *snapshot) keepDeep() bool {
	all := true
	keep := func(v *any) {
		var whole bool
		*v, whole = deep.Clone(*v)
		all = all && whole
	}
	s.input, all = deep.CloneMap(s.input)
	keep(&s.intake)
	keep(&s.output)
	s.tools = slices.Clone(s.tools)
	s.messages = cloneMessages(s.messages)
	for i := range s.messages {
		m := &s.messages[i]
		keep(&m.Native)
		for j := range m.Parts {
			keep(&m.Parts[j].Native)
		}
	}
	return all
}

// sameDeep compares the input with what it is now.
func (s *snapshot) sameDeep(now *snapshot) bool {
	return deep.Equal(s.input, now.input) && deep.Equal(s.intake, now.intake) && deep.Equal(s.output, now.output) &&
		slices.Equal(s.tools, now.tools) && slices.EqualFunc(s.messages, now.messages, sameDeepMessage)
}

func sameDeepMessage(a, b Message) bool {
	same := func(a, b Part) bool { return a.Kind == b.Kind && a.Text == b.Text && deep.Equal(a.Native, b.Native) }
	return a.Role == b.Role && a.Content == b.Content && a.Name == b.Name && a.ToolCallID == b.ToolCallID &&
		slices.EqualFunc(a.Parts, b.Parts, same) && slices.Equal(a.ToolCalls, b.ToolCalls) && deep.Equal(a.Native, b.Native)
}

// askAgain has the guards decide on what the body would run on, where that isn't
// what they have let through, and shows it to the watches.
func (w *wrap[C]) askAgain(ctx context.Context) error {
	if !w.check.differs(w.c) {
		return nil
	}
	returned := false
	defer func() {
		if !returned { // a guard has ended the goroutine, which may be that of a hook around
			abort := &HookAborted{Reason: "a hook ended the goroutine", Err: ErrGoexit, Point: w.check.pre.name}
			w.end(abort, abort)
		}
	}()
	err := askGuards(&w.seam, ctx, w.check, w.c)
	returned = true
	if err != nil {
		w.end(err, findAbort(err))
		return err
	}
	w.check.pass(w.c)
	return nil
}

// askGuards asks the guards of the point in front of the body, with an event of
// its own.
func askGuards[C any](s *seam, ctx context.Context, k *checkpoint, c *C) (err error) {
	s.stage = before
	defer func() { s.stage = own }()
	if s.call != nil {
		atomic.AndUint32(&s.inner.state, ^uint32(nestDecided))
		defer atomic.OrUint32(&s.inner.state, nestDecided)
		if asked := s.inner.asked.Load(); asked != nil {
			asked.enterBody()
		}
	}
	if s.values != nil {
		s.values.level.Add(1)
		defer s.values.level.Add(-1)
	}
	var r round
	if !r.open(ctx, frameOf(ctx), k.pre) {
		return nil
	}
	r.began, r.inSeam = s.began, s.named
	if s.call != nil && frameOf(ctx).canAsk() {
		r.running = &s.inner.questions().running
	}
	if r.filtered {
		r.subject.also(k.about.identity)
	}
	room := new(recorder)
	rec := r.recorder(room)
	returned := false
	defer func() {
		if !returned {
			closeRound(&r, rec, c, ErrGoexit)
		}
	}()
	if err = about(&r, rec, c); err == nil {
		if rec != nil {
			rec.event.Again = true
		}
		err = settleAsked(s, &r, rec, c, runGuards(&r, rec, c))
	}
	if fault := s.inner.fault(k.pre.name); fault != nil {
		err = fault
	}
	returned = true
	closeRound(&r, rec, c, err)
	return err
}
