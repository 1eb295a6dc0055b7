package policy

// Audit: which records are written at which points.

import (
	"context"
	"errors"
	"log/slog"

	"github.com/loophooks/hooks"
)

// Audit keeps a record of what a run asks models and tools for and of what became of
// it, in a log whose lines can't be changed without notice. Nothing runs that can't
// be recorded.
//
//	log, err := policy.OpenAuditLog("audit.jsonl", key)
//	if err != nil {
//		return err
//	}
//	defer log.Close()
//	policy.Audit{Log: log}.Register()
//
// # What is recorded
//
// Before a model or a tool is called, and after all other guards of its registry have
// let the call through, a guard writes an intent, and has it on the disk where the
// writer has a Sync method. If that fails the call is refused with the reason "the
// audit can't be written". Where an around hook runs the body on something else the
// guard is asked again, and writes a further intent. So it does where people edit a
// call ([Approval]): the first intent of an edit is written before the guards in
// front have judged it, and if one refuses it the outcome says so.
//
// Watches write an outcome at the start and the end of an execution, behind each
// model call and tool call, and for those that never get there: a model call that
// was refused, and a call that waits for a decision. A call that a guard in front of
// Audit refuses has an outcome with the reason, and no intent. One that a guard of an
// inner scope refuses, which is asked later, has both: register Audit in the innermost
// scope. An intent without an outcome is a call of which nobody knows whether it ran.
//
// A failed outcome is logged ([slog.Default]) and kept. Intents fail until it is
// written: the next record writes it first.
//
// # Records
//
// A record is one line of JSON. Fields that have nothing to say are left out.
//
//	seq     its number, from 1, without gaps
//	time    when it happened, in UTC
//	kind    intent, outcome; recovered and lost of the log itself
//	point   of the hook
//	run, root, tenant, role   of the Caller
//	call    the ID of the tool call
//	tool, model   which one
//	input   arguments, messages with tools, or inputs of the execution: a digest
//	result  result, answer with tool calls, or output: likewise
//	reason, source   of the abort that refused the call or withheld its result
//	error   the type of the error, or of the cause of an abort, never its text
//	prev    the mac of the record before
//	mac     HMAC-SHA256 of the line without it, in hexadecimal digits
//
// A digest is HMAC-SHA256 under a key derived from that of the log: it shows whether a
// payload is the one that was recorded, and doesn't let anybody try out values.
//
// Audit isn't told of points that a framework defines itself. It changes nothing, and
// redacts nothing: with Full, what Redact puts back into arguments is in the log.
type Audit struct {
	Log *AuditLog // required; may be shared by several registrations

	// Full records payloads as they are instead of their digests: the arguments as
	// JSON, the text of a result, and of model calls the text and tool calls as JSON.
	Full bool
}

const (
	auditName     = "policy.Audit"
	auditPriority = -1000
	auditReason   = "the audit can't be written"
)

// Register registers guards at PreModelCall and PreToolCall with the priority -1000,
// and watches at ExecutionStart, ExecutionEnd and at the points around models and
// tools, under the name policy.Audit. It panics if Log is nil, and for options that
// don't apply to all of these verbs, such as [hooks.WithTools].
func (p Audit) Register(opts ...hooks.Option) *hooks.Group {
	if p.Log == nil {
		panic("policy: Audit: Log is nil; make one with OpenAuditLog or NewAuditLog")
	}
	a := &auditor{log: p.Log, payload: p.Log.digest, passed: new(int)}
	if p.Full {
		a.payload = func(text string) string { return text }
	}
	return register(opts, func(r *registrar) {
		with := r.with(auditName, auditPriority)
		r.add(hooks.Guard(hooks.PreModelCall, a.modelIntent, with...))
		r.add(hooks.Guard(hooks.PreToolCall, a.toolIntent, with...))
		r.add(hooks.Watch(hooks.ExecutionStart, a.started, with...))
		r.add(hooks.Watch(hooks.PreModelCall, a.modelRefused, with...))
		r.add(hooks.Watch(hooks.PostModelCall, a.modelOutcome, with...))
		r.add(hooks.Watch(hooks.PreToolCall, a.toolWaits, with...))
		r.add(hooks.Watch(hooks.PostToolCall, a.toolOutcome, with...))
		r.add(hooks.Watch(hooks.ExecutionEnd, a.ended, with...))
	})
}

// auditor is what one registration works with.
type auditor struct {
	log     *AuditLog
	payload func(text string) string
	passed  *int // the key of a *passage in the Values of a call
}

// passage says that a call has passed its pre point, so that its post point tells
// what became of it. A watch has but a copy of the call, and writes behind the
// pointer.
type passage struct{ passed bool }

// passageOf returns the passage of a call, nil where its guard wasn't asked.
func (a *auditor) passageOf(v *hooks.Values) *passage {
	found, _ := v.Get(a.passed)
	p, _ := found.(*passage)
	return p
}

// enter notes that the guard was asked about a call.
func (a *auditor) enter(v *hooks.Values) {
	if a.passageOf(v) == nil {
		v.Put(a.passed, new(passage))
	}
}

// unfinished says whether a passage that ended with err has no post point to tell of
// it.
func (a *auditor) unfinished(v *hooks.Values, err error) bool {
	p := a.passageOf(v)
	if err == nil {
		if p != nil {
			p.passed = true
		}
		return false
	}
	return p == nil || !p.passed
}

// leave ends the passage. The next one may come without a seam, which would forget
// this one.
func (a *auditor) leave(v *hooks.Values) {
	if p := a.passageOf(v); p != nil {
		p.passed = false
	}
}

func (a *auditor) modelIntent(_ context.Context, m *hooks.ModelCall) error {
	a.enter(&m.Values)
	rec := a.ofModel(kindIntent, hooks.PreModelCall, m)
	return auditRefusal(a.log.intend(rec))
}

func (a *auditor) toolIntent(_ context.Context, t *hooks.ToolCall) error {
	a.enter(&t.Values)
	if t.ArgumentsError() != nil {
		return nil // it isn't run
	}
	rec, err := a.ofTool(kindIntent, hooks.PreToolCall, t)
	if err != nil { // what would run can't be said
		return auditRefusal(err)
	}
	return auditRefusal(a.log.intend(rec))
}

// auditRefusal returns the abort for a failure.
func auditRefusal(err error) error {
	if err == nil {
		return nil
	}
	return &hooks.HookAborted{Reason: auditReason, Err: err}
}

func (a *auditor) started(ctx context.Context, x *hooks.Execution, err error) {
	rec := ofCaller(kindOutcome, hooks.ExecutionStart, &x.Caller)
	rec.Input = a.encoded(x.Inputs)
	a.outcome(ctx, rec, err)
}

func (a *auditor) ended(ctx context.Context, x *hooks.Execution, err error) {
	rec := ofCaller(kindOutcome, hooks.ExecutionEnd, &x.Caller)
	if text, ok := x.Output.(string); ok {
		rec.Result = a.payload(text)
	} else if x.Output != nil {
		rec.Result = a.encoded(x.Output)
	}
	if err == nil {
		err = x.Err
	}
	a.outcome(ctx, rec, err)
}

func (a *auditor) modelRefused(ctx context.Context, m *hooks.ModelCall, err error) {
	if a.unfinished(&m.Values, err) {
		a.outcome(ctx, a.ofModel(kindOutcome, hooks.PreModelCall, m), err)
	}
}

func (a *auditor) modelOutcome(ctx context.Context, m *hooks.ModelCall, err error) {
	a.leave(&m.Values)
	rec := a.ofModel(kindOutcome, hooks.PostModelCall, m)
	rec.Result = a.encoded(answerOf(m))
	if err == nil {
		err = m.Err
	}
	a.outcome(ctx, rec, err)
}

// toolWaits writes the outcome of a call that has no post point: one that waits, or
// whose hooks ended the goroutine or opened seams without end.
func (a *auditor) toolWaits(ctx context.Context, t *hooks.ToolCall, err error) {
	if !a.unfinished(&t.Values, err) {
		return
	}
	_, waits := errors.AsType[*hooks.Suspended](err)
	if waits || errors.Is(err, hooks.ErrGoexit) || errors.Is(err, hooks.ErrTooDeep) {
		rec, _ := a.ofTool(kindOutcome, hooks.PreToolCall, t)
		a.outcome(ctx, rec, err)
	}
}

func (a *auditor) toolOutcome(ctx context.Context, t *hooks.ToolCall, err error) {
	a.leave(&t.Values)
	rec, _ := a.ofTool(kindOutcome, hooks.PostToolCall, t)
	rec.Result = a.payload(t.Text())
	if t.Blocked != nil {
		rec.Reason, rec.Source = t.Blocked.Reason, t.Blocked.Source
		err = t.Blocked // which has the first reason
	}
	if t.Err != nil {
		rec.Error, err = errorType(t.Err), nil
	}
	a.outcome(ctx, rec, err)
}

// outcome completes the record by err and writes it.
func (a *auditor) outcome(ctx context.Context, rec auditRecord, err error) {
	if abort, ok := errors.AsType[*hooks.HookAborted](err); ok && rec.Reason == "" && rec.Source == "" {
		rec.Reason, rec.Source = abort.Reason, abort.Source
	}
	if err != nil && rec.Error == "" {
		rec.Error = errorType(err)
	}
	if failure := a.log.note(rec); failure != nil {
		slog.ErrorContext(ctx, "policy: Audit: an outcome can't be written; calls are refused until it is",
			slog.Any("error", failure), slog.String("point", rec.Point), slog.String("run", rec.Run), slog.String("call", rec.Call))
	}
}
