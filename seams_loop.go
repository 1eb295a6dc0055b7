package hooks

import (
	"context"

	"github.com/loophooks/hooks/internal/shallow"
)

// BeginModel fires [PreModelCall]. A non-nil error means blocked: there is no
// body and no end. Otherwise call the model under the ctx returned, unless
// m.Answered, and give its error to end, which fires [PostModelCall] once and
// returns what [RunModel] would. Defer end where the body may panic.
func BeginModel(ctx context.Context, m *ModelCall) (context.Context, func(error) error, error) {
	s, err := beginModel(ctx, m)
	if err != nil {
		return nonNil(ctx), noEnd(err), err
	}
	return s.ctx, ender(s, m, endModel), nil
}

// RunModel runs a model call: [PreModelCall], body, [PostModelCall]. A blocked
// call returns the [*HookAborted] and fires no post point; an answered one
// skips body. Body sends m.Messages with the tools of m.Tools and sets
// m.Response, m.ToolCalls, m.RawResponse and m.Usage; a failure is returned
// unchanged after the post hooks. Messages and Tools are copied first where
// there are pre hooks, so that the framework's own arrays are never written.
//
// Post hooks see the joined text of a streamed answer: a loop that must not
// show unredacted text has to hold the stream back until RunModel returns.
// When ctx is done on entry no point fires and ctx.Err() is returned; when it
// is done after the pre hooks, body doesn't run and the post point fires.
func RunModel(ctx context.Context, m *ModelCall, body func(context.Context, *ModelCall) error) error {
	if body == nil {
		return noBody(PreModelCall.p)
	}
	s, err := beginModel(ctx, m)
	if err != nil {
		return err
	}
	if m.answered {
		return endModel(s, m, nil)
	}
	return runBody(s, m, body, endModel, false)
}

func beginModel(ctx context.Context, m *ModelCall) (seam, error) {
	if m == nil {
		return seam{}, misuse(PreModelCall.p)
	}
	m.reset()
	s, err := open(ctx, &m.Caller, &m.Values)
	if err != nil {
		m.Err = err
		m.Values.endUse()
		return s, err
	}
	m.borrowed = true
	err = fire(&s, PreModelCall, m)
	m.borrowed = false
	if err != nil {
		m.answered = false
		m.clearResponse()
		m.Err = err
		m.Values.endUse()
		return s, err
	}
	m.Err = nil
	if m.answered {
		return s, nil
	}
	m.clearResponse()
	if err := s.ctx.Err(); err != nil {
		return s, endModel(s, m, err)
	}
	return s, nil
}

func endModel(s seam, m *ModelCall, err error) error {
	defer m.Values.endUse()
	_, err = unmark(err)
	if err != nil {
		m.Err = err
	}
	post := firePost(&s, PostModelCall, m)
	if err == nil && post != nil {
		m.Err = post
	}
	return verdict(err, post)
}

// BeginStep fires [PreStep]. A non-nil error means blocked: there is no body
// and no end. Otherwise give the body's error to end, which fires [PostStep]
// once and returns what [RunStep] would. Defer end where the body may panic.
func BeginStep(ctx context.Context, st *Step) (context.Context, func(error) error, error) {
	s, err := beginStep(ctx, st)
	if err != nil {
		return nonNil(ctx), noEnd(err), err
	}
	return s.ctx, ender(s, st, endStep), nil
}

// RunStep runs a task, a flow method or a turn: [PreStep], body, [PostStep]. A
// blocked step returns the [*HookAborted] and fires no post point. Body sets
// st.Output, which the post hooks may replace; a failure is returned unchanged
// after them. Under body, ctx carries the step's Caller. A ctx that is done is
// treated as by [RunModel].
func RunStep(ctx context.Context, st *Step, body func(context.Context, *Step) error) error {
	if body == nil {
		return noBody(PreStep.p)
	}
	s, err := beginStep(ctx, st)
	if err != nil {
		return err
	}
	return runBody(s, st, body, endStep, false)
}

func beginStep(ctx context.Context, st *Step) (seam, error) {
	if st == nil {
		return seam{}, misuse(PreStep.p)
	}
	st.Output, st.Err = nil, nil
	s, err := open(ctx, &st.Caller, &st.Values)
	if err != nil {
		st.Err = err
		st.Values.endUse()
		return s, err
	}
	s.carry(&st.Caller)
	if err := fire(&s, PreStep, st); err != nil {
		st.Output, st.Err = nil, err
		st.Values.endUse()
		return s, err
	}
	st.Output, st.Err = nil, nil
	s.carry(&st.Caller) // what a hook set counts too
	if err := s.ctx.Err(); err != nil {
		return s, endStep(s, st, err)
	}
	return s, nil
}

func endStep(s seam, st *Step, err error) error {
	defer st.Values.endUse()
	_, err = unmark(err)
	if err != nil {
		st.Err = err
	}
	post := firePost(&s, PostStep, st)
	if err == nil && post != nil {
		st.Err = post
	}
	return verdict(err, post)
}

// carry makes the ctx of the body carry c. It costs nothing where c says
// nothing new.
func (s *seam) carry(c *Caller) {
	outer := CallerFrom(s.ctx)
	if c.unset() || c.RunID == outer.RunID && c.AgentRole == outer.AgentRole && shallow.Identical(c.Agent, outer.Agent) &&
		shallow.Identical(c.Task, outer.Task) && shallow.Identical(c.Crew, outer.Crew) && shallow.Identical(c.Flow, outer.Flow) {
		return
	}
	s.ctx, s.reuse = WithCaller(s.ctx, *c), false
}

// BeginExecution fires [ExecutionStart] and [Input]. A non-nil error means
// blocked: there is no body and no end (after an abort at Input,
// [ExecutionEnd] has fired). Otherwise set x.Output and give the body's error
// to end, which fires [Output] and ExecutionEnd once and returns what
// [RunExecution] would. Defer end where the body may panic.
func BeginExecution(ctx context.Context, x *Execution) (context.Context, func(error) error, error) {
	s, err := beginExecution(ctx, x)
	if err != nil {
		return nonNil(ctx), noEnd(err), err
	}
	return s.ctx, ender(s, x, endExecution), nil
}

// RunExecution runs an execution: [ExecutionStart], [Input], body, [Output],
// [ExecutionEnd]. If ExecutionStart aborts, nothing was opened and there is no
// end. After that ExecutionEnd fires exactly once on every way out, with
// StatusFailed and Err unless all went well; then an abort by it is returned
// and doesn't fire it again. The final value is x.Output, nil after a failure.
// Under body, ctx carries the execution's Caller. Nested and concurrent
// executions pair their start and end by call.
//
// When ctx is done on entry no point fires and ctx.Err() is returned; when it
// is done before body, body doesn't run and ExecutionEnd fires. A body that
// returns [PassThrough] leaves the status at StatusRunning: it was
// interrupted and has not failed.
func RunExecution(ctx context.Context, x *Execution, body func(context.Context, *Execution) error) error {
	if body == nil {
		return noBody(ExecutionStart.p)
	}
	s, err := beginExecution(ctx, x)
	if err != nil {
		return err
	}
	return runBody(s, x, body, endExecution, false)
}

func beginExecution(ctx context.Context, x *Execution) (seam, error) {
	if x == nil {
		return seam{}, misuse(ExecutionStart.p)
	}
	x.Status, x.Output, x.Err = StatusRunning, nil, nil
	s, err := open(ctx, &x.Caller, &x.Values)
	if err == nil {
		s.carry(&x.Caller)
		err = fire(&s, ExecutionStart, x)
	}
	if err != nil {
		x.Status, x.Output, x.Err = StatusFailed, nil, err
		x.Values.endUse()
		return s, err
	}
	err = errExiting
	defer func() {
		if err == errExiting {
			_ = endExecution(s, x, ErrGoexit) // there is nobody left to return it to
		}
	}()
	err = fire(&s, Input, x)
	x.Status, x.Output, x.Err = StatusRunning, nil, nil
	s.carry(&x.Caller) // what a hook set counts too
	if err == nil {
		err = s.ctx.Err()
	}
	if err != nil {
		return s, endExecution(s, x, err)
	}
	return s, nil
}

func endExecution(s seam, x *Execution, err error) error {
	defer x.Values.endUse()
	pass, err := unmark(err)
	if pass {
		x.Err = err
		return verdict(err, firePost(&s, ExecutionEnd, x))
	}
	if err == nil {
		err = output(&s, x)
	}
	if err != nil {
		x.fail(err)
		return verdict(err, firePost(&s, ExecutionEnd, x))
	}
	x.Status = StatusCompleted
	if err = firePost(&s, ExecutionEnd, x); err != nil {
		x.fail(err)
	}
	return err
}

// output fires Output. A hook that ends the goroutine there doesn't leave out
// the end of the execution.
func output(s *seam, x *Execution) error {
	err := errExiting
	defer func() {
		if err == errExiting {
			_ = endExecution(*s, x, ErrGoexit)
		}
	}()
	err = firePost(s, Output, x)
	return err
}

// fail leaves no output behind that a veto was meant to hold back.
func (x *Execution) fail(err error) { x.Status, x.Output, x.Err = StatusFailed, nil, err }
