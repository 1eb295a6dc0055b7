package hooks

// Firing a point of a seam: its hooks and guards, then what their verdict means for
// the context, then a stream that waited for it, then watches.

import (
	"context"
	"slices"
	"sync/atomic"
)

// fire dispatches p, before or after the body, and settles what came of it. A
// nest that has grown too deep fails here even if the hook that found out kept
// it to itself. A hook that ends the goroutine is settled as well.
func fire[C any](s *seam, stage side, p Point[C], c *C) error {
	s.stage = stage
	if p.p.unused() || !p.p.enabled(s.frame) {
		if s.streamed == nil {
			return s.apply(p.p, c, nil) // as settle does, without a further call
		}
		return s.settle(p.p, c, nil)
	}
	return fireHooks(s, p.p, c)
}

func fireHooks[C any](s *seam, p *point, c *C) (err error) {
	ctx := s.hookCtx()
	asks := s.call != nil && s.stage == before && s.frame.canAsk()
	if p.readied {
		detach(c, s.stage)
	}
	if s.values != nil {
		s.values.level.Add(1)
	}
	if std := p.std.Load(); std != nil && p.scoped.Load() == 0 && observed.Load() == 0 && std.prepared(p.compile).state.Load() >= named && !asks {
		if done, err := fireStd(ctx, s, p, std, c); done {
			return err
		}
	}
	var r round
	if !r.open(ctx, &s.inner.frame, p) { // what there was is gone again
		return s.fired(p, c, nil)
	}
	r.began, r.inSeam, r.side = s.began, s.named, s.stage
	if asks {
		r.running = &s.inner.questions().running
	}
	var room recorder
	rec := r.recorder(&room)
	outcome, decided, settled, returned := ErrGoexit, false, false, false
	defer func() {
		switch {
		case returned:
			return
		case !decided: // a hook ends the goroutine, and nobody is left to return anything to
			_ = s.fired(p, c, ErrGoexit)
			closeRound(&r, rec, c, ErrGoexit)
		case !settled: // who is shown a stream does, and what came of the point stands
			closeRound(&r, rec, c, outcome)
		case outcome == nil && s.stage == before: // an onlooker does, and no body will run
			_ = s.settle(p, c, ErrGoexit)
		}
		s.exited(p, c)
	}()
	outcome = decide(&r, rec, c)
	outcome = settleAsked(s, &r, rec, c, outcome)
	decided = true
	if fault := s.inner.fault(p.name); fault != nil {
		outcome = fault
	}
	err = s.fired(p, c, outcome)
	settled = true
	if r.attended {
		closeRound(&r, rec, c, outcome)
	}
	returned = true
	return err
}

// fireStd is fireHooks for the default registry alone, where at most tool names
// are filtered by and nobody looks. Of a call that has had several names it isn't
// done.
func fireStd[C any](ctx context.Context, s *seam, p *point, std *chain, c *C) (done bool, err error) {
	returned, settled := false, false
	defer func() {
		if settled {
			return
		}
		if !returned {
			_ = s.fired(p, c, ErrGoexit) // there is nobody left to return it to
		}
		s.exited(p, c)
	}()
	if std.direct() {
		done, err = true, runAll(ctx, p, std.hooks, std.all.([]Func[C]), prepare(p, c), c)
	} else if t, ok := any(c).(*ToolCall); ok && t.Name == s.began.tool {
		done, err = runNamed(ctx, p, std, t, c)
	}
	if done && (s.inner.asked.Load() != nil || findSuspended(err) != nil) {
		err = againStd(ctx, s, p, c, err)
	}
	returned = true
	if done {
		err = s.fired(p, c, err)
	}
	settled = true
	return done, err
}

// againStd has guards asked again after fireStd, where that has to be.
func againStd[C any](ctx context.Context, s *seam, p *point, c *C, outcome error) error {
	var r round
	if !r.open(ctx, &s.inner.frame, p) {
		return outcome
	}
	r.began, r.inSeam, r.side = s.began, s.named, s.stage
	if err := about(&r, nil, c); err != nil {
		return err
	}
	if s.stage == before {
		return settleAsked(s, &r, nil, c, outcome)
	}
	return stillGuarded(&r, nil, c, outcome)
}

// settleAsked settles what came of the questions of a pre point whose hooks
// returned outcome.
func settleAsked[C any](s *seam, r *round, rec *recorder, c *C, outcome error) error {
	asked := s.inner.asked.Load()
	if asked == nil || s.stage != before {
		return outcome
	}
	if outcome == nil {
		outcome = askEdited(r, rec, c, asked)
	}
	settled := asked.settle(r.p, any(c).(*ToolCall), s.frame.holds(), outcome)
	rec.settled(settled)
	return settled
}

// exited ends a seam whose hook ended the goroutine at p, when that is settled:
// an execution that was started has an end, and every use of a context is over.
func (s *seam) exited(p *point, c any) {
	switch {
	case s.kind == executionSeam && p == Input.p:
		_ = end(s, c.(*Execution), ErrGoexit)
	case s.kind == executionSeam && p == Output.p:
		s.err = ErrGoexit
		_ = s.fireEnd(c.(*Execution))
		s.close()
	default:
		s.close()
	}
}

// fired settles what came of a point that had hooks.
func (s *seam) fired(p *point, c any, err error) error {
	if s.values != nil {
		s.values.level.Add(-1)
	}
	if s.call != nil && s.stage == before {
		atomic.OrUint32(&s.inner.state, nestDecided) // onlookers have nothing to ask
	}
	if fault := s.inner.fault(p.name); fault != nil {
		err = fault
	}
	return s.settle(p, c, err)
}

// detach gives hooks copies of what is the framework's.
func detach(c any, at side) {
	switch c := c.(type) {
	case *ToolCall: // needs no dynamic look-up
		c.detach(at)
	case detacher:
		c.detach(at)
	}
}

// detachRun gives around hooks copies of what a run of the body that returned err may
// have kept. The input of a tool that succeeded is its own: a copy for each call would
// cost more than the hooks do, and who runs a tool on another input has seen it fail.
func detachRun(c any, err error) {
	if t, ok := c.(*ToolCall); ok && err == nil {
		t.Parts = slices.Clone(t.Parts)
		return
	}
	detach(c, own)
}

// hookCtx returns the ctx for the hooks of the seam. Post points get a live one,
// since the audit of a cancelled run has to be written too.
func (s *seam) hookCtx() context.Context {
	ctx, detached := s.ctx, false
	if s.stage == after && ctx.Err() != nil {
		ctx, detached = context.WithoutCancel(ctx), true
	}
	if s.inner == nil || s.stale || detached {
		s.nestIn(ctx, new(nest))
		s.stale = detached
	}
	return &s.inner.frame
}

// nestIn makes in, which is new, the nest of the hooks that the seam runs from now on.
func (s *seam) nestIn(ctx context.Context, in *nest) {
	in.inside(ctx, s.frame, s.outer)
	if in.call = s.call; s.stage != before {
		in.state = nestDecided
	}
	if s.inner != nil {
		in.root = s.inner.root
		in.asked.Store(s.inner.asked.Load())
		s.inner.end()
	}
	s.inner = in
}

// settle applies what came of a point to the context, shows a stream that waited
// for it, and returns what the seam goes on with.
func (s *seam) settle(p *point, c any, err error) error {
	result := s.apply(p, c, err)
	if s.stage == after && s.streamed != nil {
		return s.release(p, c, err, result)
	}
	return result
}

// apply applies what came of a point to the context.
func (s *seam) apply(p *point, c any, err error) error {
	switch s.kind {
	case toolSeam:
		if s.stage == before {
			return s.settlePreTool(c.(*ToolCall), err)
		}
		return s.settlePostTool(c.(*ToolCall), err)
	case modelSeam:
		s.settleModel(c.(*ModelCall), err)
	case stepSeam:
		s.settleStep(c.(*Step), err)
	case executionSeam:
		s.settleExecution(c.(*Execution), err)
	case ownSeam:
		if own, ok := c.(answerer); ok && s.stage == before {
			own.recallAnswer()
		}
		if err != nil && s.err == nil && (s.stage == before || findSuspended(err) == nil) {
			tellError(s.ctx, p, c, err)
		}
	}
	if s.stage == before || s.err == nil {
		return err
	}
	return s.verdict(err)
}
