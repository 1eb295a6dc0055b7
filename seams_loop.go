package hooks

// The seams of executions, steps and model calls: which points they fire, in
// which order, and what a refusal leaves in the context.

import "context"

// BeginModel fires [PreModelCall]. A non-nil error means blocked: there is no
// body and no end. Otherwise call the model under the ctx returned, unless
// m.Answered, and give its error to end, which fires [PostModelCall] once and
// returns what [RunModel] would. Where the body may panic, defer [End].
func BeginModel(ctx context.Context, m *ModelCall) (context.Context, func(error) error, error) {
	s := &seam{kind: modelSeam}
	if err := s.beginModel(ctx, m); err != nil {
		return nonNil(ctx), noEnd(err), err
	}
	if m.answered {
		return s.ctx, ender(s, m), nil
	}
	return begun(ctx, s, m)
}

// RunModel runs a model call: [PreModelCall], body with the around hooks of
// [ModelBody], [PostModelCall]. A blocked call returns the [*HookAborted], one that
// waits the [*Suspended], and neither fires a post point; an answered one skips the
// body. The body sends m.Messages with the tools of m.Tools to m.Model and sets
// m.Response, m.ToolCalls, m.RawResponse and m.Usage. It may run more than once, and
// reads them each time; a loop that can't switch models returns
// [errors.ErrUnsupported] where m.Model isn't what it set. A failure is returned
// unchanged after the post hooks. Hooks get copies of the slices in m, so that
// the framework's own arrays are never written. A response that a post hook
// refuses is taken out of m; RawResponse and Usage stay for the record.
//
// A body that streams shows what it gets by [OpenStream], which keeps from the
// screen what filters and the guards of the post point haven't let through. Post
// hooks see the joined text.
//
// When ctx is done on entry no point fires and ctx.Err() is returned; when it
// is done after the pre hooks, the body doesn't run and the post point fires.
//
// A loop that calls the model again with the same m sets Messages and Tools
// again: they hold what hooks made of them.
func RunModel(ctx context.Context, m *ModelCall, body func(context.Context, *ModelCall) error) error {
	if body == nil {
		return noBody(PreModelCall.p)
	}
	s := seam{kind: modelSeam}
	if err := s.beginModel(ctx, m); err != nil {
		return err
	}
	if m.answered {
		return end(&s, m, nil)
	}
	return runBody(&s, m, body, false)
}

func (s *seam) beginModel(ctx context.Context, m *ModelCall) error {
	if m == nil {
		return errNoContext(PreModelCall.p)
	}
	m.reset()
	s.mayStream(ModelStream.p, &m.stream, &m.Values)
	if err := s.open(ctx, &m.Caller, &m.Values); err != nil {
		m.Err = err
		s.close()
		return err
	}
	s.began, s.named = identity{role: m.AgentRole}, true
	if err := fire(s, before, PreModelCall, m); err != nil {
		s.close()
		return err
	}
	if m.answered {
		return nil
	}
	if err := s.ctx.Err(); err != nil {
		return end(s, m, err)
	}
	return nil
}

func (s *seam) endModel(m *ModelCall) error {
	if s.streamVerdict() != nil {
		m.clearResponse()
	}
	if !s.wrapped.ran() || !m.ResponseEdited() { // by an around hook
		m.keep()
	}
	m.body.vetoed = s.wrapped.refused != nil
	m.Err = s.err // and not that of a passage in the body
	body := m.body
	err := fire(s, after, PostModelCall, m)
	body.vetoed = m.body.vetoed
	m.body = body // whatever a passage inside a hook left
	return err
}

func (s *seam) settleModel(m *ModelCall, err error) {
	if s.stage == before {
		m.recallAnswer()
	}
	switch {
	case s.stage == after:
		if err != nil && findSuspended(err) == nil { // what waits stands
			m.veto()
			if s.err == nil {
				m.Err = err
			}
		}
	case err != nil:
		m.answered = false
		m.clearResponse()
		m.Err = err
	case m.answered: // with whatever else the hook gave
		m.Err = nil
	default:
		m.Err = nil
		m.clearResponse()
		m.RawResponse, m.FinishReason, m.Usage = nil, "", Usage{}
	}
}

// BeginStep fires [PreStep]. A non-nil error means blocked: there is no body
// and no end. Otherwise give the body's error to end, which fires [PostStep]
// once and returns what [RunStep] would. Where the body may panic, defer [End].
func BeginStep(ctx context.Context, st *Step) (context.Context, func(error) error, error) {
	s := &seam{kind: stepSeam}
	if err := s.beginStep(ctx, st); err != nil {
		return nonNil(ctx), noEnd(err), err
	}
	return begun(ctx, s, st)
}

// RunStep runs a task, a flow method or a turn: [PreStep], body with the around
// hooks of [StepBody], [PostStep]. A blocked step returns the [*HookAborted], one that
// waits the [*Suspended], and neither fires a post point. The body sets
// st.Output, which the post hooks may replace; a failure is returned unchanged
// after them. An output that a post hook refuses is taken out of st. Under the
// body, ctx carries the step's Caller. Around hooks may run the body more than
// once, so that it reads st.Input each time. What becomes of a ctx that is done is
// told at [RunModel].
func RunStep(ctx context.Context, st *Step, body func(context.Context, *Step) error) error {
	if body == nil {
		return noBody(PreStep.p)
	}
	s := seam{kind: stepSeam}
	if err := s.beginStep(ctx, st); err != nil {
		return err
	}
	return runBody(&s, st, body, false)
}

func (s *seam) beginStep(ctx context.Context, st *Step) error {
	if st == nil {
		return errNoContext(PreStep.p)
	}
	st.Output, st.Err = nil, nil
	if err := s.open(ctx, &st.Caller, &st.Values); err != nil {
		st.Err = err
		s.close()
		return err
	}
	s.began, s.named = identity{role: st.AgentRole}, true
	s.carry(&st.Caller)
	if err := fire(s, before, PreStep, st); err != nil {
		s.close()
		return err
	}
	s.carry(&st.Caller) // what a hook set counts too
	if err := s.ctx.Err(); err != nil {
		return end(s, st, err)
	}
	return nil
}

func (s *seam) endStep(st *Step) error {
	st.Err = s.err // and not that of a passage in the body
	return fire(s, after, PostStep, st)
}

func (s *seam) settleStep(st *Step, err error) {
	switch {
	case s.stage == before:
		st.Output, st.Err = nil, err
	case err != nil && findSuspended(err) == nil: // what waits stands
		st.Output = nil
		if s.err == nil {
			st.Err = err
		}
	}
}

// BeginExecution fires [ExecutionStart] and [Input]. A non-nil error means
// blocked: there is no body and no end (after an abort at Input,
// [ExecutionEnd] has fired). Otherwise set x.Output and give the body's error
// to end, which fires [Output] and ExecutionEnd once and returns what
// [RunExecution] would. Where the body may panic, defer [End].
func BeginExecution(ctx context.Context, x *Execution) (context.Context, func(error) error, error) {
	s := &seam{kind: executionSeam}
	if err := s.beginExecution(ctx, x); err != nil {
		return nonNil(ctx), noEnd(err), err
	}
	return begun(ctx, s, x)
}

// RunExecution runs an execution: [ExecutionStart], [Input], body with the around
// hooks of [ExecutionBody], [Output], [ExecutionEnd]. If ExecutionStart aborts, nothing was opened and there is no
// end. After that ExecutionEnd fires exactly once on every way out, with
// StatusFailed and Err unless all went well; then an abort by it is returned
// and doesn't fire it again. The final value is x.Output, nil after a failure.
// Nested and concurrent executions pair their start and end by call. Around hooks
// may run the body more than once, so that it reads x.Inputs each time.
//
// Under the body, ctx carries the execution: its Caller, and what [RunVar]s keep
// for it. Every execution has a RunID. It is x.RunID if that is set; else the one
// of the Caller in ctx, if that isn't the execution around this one; else a new
// one, made of a random prefix of the process and a counter. (Processes that are
// restored from one snapshot have one prefix.) An execution in the body of
// another has that one's RunID as its ParentRunID and shares its RootRunID. An
// outermost one takes both from its own Caller or the one in ctx, as those of a
// run on another machine; else it has no parent and is its own root. Hooks at
// ExecutionStart and Input may set other IDs, but a nested execution keeps its
// place. What was filled in is taken back when x is used again.
//
// When ctx is done on entry no point fires and ctx.Err() is returned; when it
// is done before the body, the body doesn't run and ExecutionEnd fires. A run
// whose body or hooks return a [*Suspended] ends with StatusSuspended: it waits
// and has not failed. A loop that goes on with it sets x.Resumed, and gives it
// the RunID that it had.
func RunExecution(ctx context.Context, x *Execution, body func(context.Context, *Execution) error) error {
	if body == nil {
		return noBody(ExecutionStart.p)
	}
	s := seam{kind: executionSeam}
	if err := s.beginExecution(ctx, x); err != nil {
		return err
	}
	return runBody(&s, x, body, false)
}

func (s *seam) beginExecution(ctx context.Context, x *Execution) error {
	if x == nil {
		return errNoContext(ExecutionStart.p)
	}
	x.Status, x.Output, x.Err = StatusRunning, nil, nil
	ctx = nonNil(ctx)
	x.identifyRun(frameOf(ctx))
	if err := s.open(ctx, nil, &x.Values); err != nil {
		x.fail(err)
		s.close()
		return err
	}
	x.fillFrom(s.frame, &x.Values, 0)
	s.began, s.named = identity{role: x.AgentRole}, true
	s.frame = enterRun(s.ctx, s.frame, x)
	s.ctx, s.stale = s.frame, true
	if err := s.fireRun(before, ExecutionStart, x); err != nil {
		s.close()
		return err
	}
	s.follow(x)
	err := s.fireRun(before, Input, x)
	s.follow(x)
	if err == nil {
		err = s.ctx.Err()
	}
	if err != nil {
		return end(s, x, err)
	}
	return nil
}

// follow makes the ctx carry what hooks made of the Caller.
func (s *seam) follow(x *Execution) {
	record := s.frame.carried.run
	x.settleIDs(record)
	if x.Caller.sameAs(s.frame.carried.caller) {
		return
	}
	carried := *s.frame.carried
	carried.run = &run{x.RunID, x.ParentRunID, x.RootRunID, record.vars, record.outermost, x.ids}
	s.frame = withCaller(s.ctx, &frame{s.frame.Context, &carried, s.frame.nest}, x.Caller)
	s.ctx, s.stale = s.frame, true
	record.vars.ctx.Store(s.frame)
}

func (s *seam) endExecution(x *Execution) error {
	s.ownRun(x)
	if s.err == nil {
		x.Status, x.Err = StatusRunning, nil // whatever a passage in the body left
		s.returned(s.fireRun(after, Output, x))
	}
	err := s.fireEnd(x)
	x.letGoInputs()
	return err
}

// fireEnd fires ExecutionEnd, with what became of the execution.
func (s *seam) fireEnd(x *Execution) error {
	switch {
	case s.pass:
		x.Status, x.Err = StatusSuspended, s.err
	case s.err != nil:
		x.fail(s.err)
	default:
		x.Status, x.Err = StatusCompleted, nil
	}
	status := x.Status
	err := s.fireRun(after, ExecutionEnd, x)
	if x.Status != status && (err == nil || s.err != nil) { // a passage inside a hook left it so
		x.Status, x.Err = status, s.err
	}
	return err
}

func (s *seam) settleExecution(x *Execution, err error) {
	switch {
	case s.stage == before && err == nil:
		x.Status, x.Output, x.Err = StatusRunning, nil, nil
	case findSuspended(err) != nil:
		x.Status, x.Err = StatusSuspended, err
	case s.stage == before, s.err == nil && err != nil:
		x.fail(err)
	case err != nil:
		x.Output = nil
	}
}

// fail leaves no output behind that a veto was meant to hold back.
func (x *Execution) fail(err error) { x.Status, x.Output, x.Err = StatusFailed, nil, err }
