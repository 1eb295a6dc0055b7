package hooks

// The seams of tool calls. They turn refusals and failures into results, so
// that the run goes on and the model reads why. Only an abort with StopRun, a
// done ctx, a Suspended and ErrTooDeep come out of them as errors.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/loophooks/hooks/internal/arguments"
	"github.com/loophooks/hooks/internal/errtree"
	"golang.org/x/sync/errgroup"
)

// What the model reads of a refused call, with the tool's name behind it.
const (
	blockedText  = "Tool execution blocked by hook. Tool: "
	withheldText = "Tool result withheld by hook. Tool: "
)

// BeginTool fires [PreToolCall]. If t.ShouldRun, run the tool under the ctx
// returned; in any case give its error, or nil, to end, which fires
// [PostToolCall] once and returns what [RunTool] would. Where the tool may panic,
// defer [End]. BeginTool returns an error where there is nothing to end: for a nil t,
// a ctx that is done, [ErrTooDeep], a call that waits ([Suspended]) and a fail-closed
// around hook, which it has no body for; end returns it too.
func BeginTool(ctx context.Context, t *ToolCall) (context.Context, func(error) error, error) {
	s := &seam{kind: toolSeam}
	if err := s.beginTool(ctx, t); err != nil {
		return nonNil(ctx), noEnd(err), err
	}
	if !s.run {
		return s.ctx, ender(s, t), nil
	}
	return begun(ctx, s, t)
}

// RunTool runs a tool call: [PreToolCall], body with the around hooks of
// [ToolBody], [PostToolCall]. Afterwards
// t.Result (or t.Parts) is what the model reads, and t.IsError says whether to
// mark it as an error. Around hooks may run the body more than once, on another
// input each time: it reads t.Name and t.Input anew.
//
//   - A blocked call doesn't run. t.Blocked is set, and the result tells the
//     model that and why. The post hooks still run on it.
//   - A call whose pre hooks say that it waits doesn't run and has no post point.
//     It has no result either, t.Err is the [*Suspended] that RunTool returns, and
//     the call is run again later.
//   - An abort by a post hook withholds the result in the same way; RawResult
//     and Err stay for the record, never for the model.
//   - An answered call doesn't run either; the post hooks run on the answer.
//   - An error of the tool is set as t.Err, and its text as the result unless
//     the body set one. A panic becomes a [*PanicError] in t.Err. The post hooks
//     run, and may set t.Err to nil, and the result to something better, to
//     recover the call.
//   - An abort by a filter of what the body streams ([OpenStream]) withholds the
//     result, too, and so it is t.Err as well.
//   - A body that returns [ErrNoTool] says that there is no such tool, and the
//     call counts as not run.
//
// RunTool returns nil in all these cases and the run goes on. It returns an
// abort with StopRun, of a hook or in the tool's own error; a [Suspended] of a hook
// or in the tool's own error, and sets t.Err to it; [ErrTooDeep]; and ctx.Err() when ctx was done on entry (no
// point fires) or after the pre hooks (the post point fires): then the tool
// was not run. A call that the pre hooks had blocked or answered by then has its
// result, and RunTool returns nil. A call that a pre hook suspends has no result and
// no post point. What a tool returned stays on the call, whatever happens afterwards.
func RunTool(ctx context.Context, t *ToolCall, body func(context.Context, *ToolCall) error) error {
	if body == nil {
		return noBody(PreToolCall.p)
	}
	s := seam{kind: toolSeam}
	if err := s.beginTool(ctx, t); err != nil {
		return err
	}
	return s.runTool(t, body)
}

// runTool runs what follows the pre point.
func (s *seam) runTool(t *ToolCall, body Func[ToolCall]) error {
	if !s.run {
		return end(s, t, nil)
	}
	return runBody(s, t, body, true)
}

func (s *seam) beginTool(ctx context.Context, t *ToolCall) error {
	if t == nil {
		return errNoContext(PreToolCall.p)
	}
	t.reset()
	s.call = t
	s.mayStream(ToolStream.p, &t.stream, &t.Values)
	s.began, s.named = identity{t.Name, t.AgentRole}, true
	if err := s.open(ctx, &t.Caller, &t.Values); err != nil {
		t.notRun(err)
		s.close()
		return err
	}
	s.began.role = t.AgentRole // as it was filled in
	if err := fire(s, before, PreToolCall, t); err != nil {
		s.close()
		return err
	}
	return nil
}

// settlePreTool decides whether the tool is run. Its error means that the seam
// is over.
func (s *seam) settlePreTool(t *ToolCall, err error) error {
	s.run, t.run = false, false // what a passage inside a hook allowed is not this one's
	t.recallAnswer()
	switch {
	case err == nil:
	case findSuspended(err) != nil:
		t.waits(err)
		return err
	case err == ErrGoexit, errtree.Has(err, ErrTooDeep):
		t.notRun(err)
		return err
	}
	t.Blocked, t.Err = nil, nil // what refuses a call is an abort
	switch {
	case err != nil:
		t.clearResult()
		s.fatal = t.block(err, blockedText)
	case t.answered:
	case t.argErr != nil:
		t.notRun(t.argErr)
	case s.inner != nil && s.ctx.Err() != nil: // hooks have run since open looked
		s.stop(t, s.ctx.Err())
	default:
		t.clearResult()
		s.run, t.run = true, true
	}
	return nil
}

// stop gives a result to a call whose tool doesn't run because the run has
// ended.
func (s *seam) stop(t *ToolCall, why error) {
	s.run, t.run = false, false
	s.fatal = why
	t.notRun(why)
}

func (s *seam) endTool(t *ToolCall) error {
	edited := s.wrapped.ran() && t.ResultEdited() // by an around hook
	switch {
	case s.wrapped.refused != nil:
		s.refuseWrapped(t)
	case s.run:
		var panicked *PanicError
		if t.ran = true; s.wrapped.set {
			t.ran, panicked = s.wrapped.runs > 0, s.wrapped.panics
			if !t.ran {
				t.Blocked = nil // of a passage in an around hook, and not of one in the body
			}
		}
		if s.pass {
			t.Err, s.fatal = s.err, s.err
		} else if s.err != nil {
			s.fatal = t.failed(s.ctx, s.err, panicked)
		}
		if s.streamed != nil {
			s.withholdStreamed(t)
		}
	}
	t.run = false
	if !edited {
		t.keep()
	}
	s.blocked = t.Blocked
	if PostToolCall.p.unused() && s.streamed == nil {
		return s.settlePostTool(t, nil)
	}
	body, ran := t.body, t.ran
	err := fire(s, after, PostToolCall, t)
	t.ran, t.body = ran, body // whatever a passage inside a hook left
	return err
}

// withholdStreamed keeps the result of a tool from the model whose stream a filter has
// ended.
func (s *seam) withholdStreamed(t *ToolCall) {
	switch of := s.streamed; {
	case of.refused != nil:
		s.fatal = t.block(of.refused, withheldText)
	case of.waits != nil:
		t.Result, t.Parts = "", nil
	}
}

// settlePostTool withholds a result that was refused, and returns what the seam
// does.
func (s *seam) settlePostTool(t *ToolCall, post error) error {
	t.run, t.Blocked = false, s.blocked // whatever hooks wrote, or a passage inside them left
	if t.argErr != nil && t.level.Load() == 0 {
		t.argErr = nil
	}
	if post == nil {
		return s.fatal
	}
	if post == ErrGoexit { // nobody has checked the result
		post = &HookAborted{Reason: "a hook ended the goroutine", Err: ErrGoexit}
	}
	if findSuspended(post) != nil { // the value stands
		return cmp.Or(s.fatal, post)
	}
	deep := errtree.Has(post, ErrTooDeep)
	if s.pass && !deep { // what waits isn't refused, but what it left is
		t.Result, t.Parts = "", nil
		return s.fatal
	}
	stop := t.block(post, withheldText)
	switch {
	case s.fatal == nil:
		return stop
	case deep:
		return errors.Join(s.fatal, post)
	}
	return s.fatal
}

// refuseWrapped blocks a call that was refused inside its around hooks before it
// ran, and withholds the result of one that has run.
func (s *seam) refuseWrapped(t *ToolCall) {
	t.Blocked, t.Err = nil, nil
	text := blockedText
	if t.ran = s.wrapped.runs > 0; t.ran {
		text = withheldText
		t.Err = s.wrapped.err
	} else {
		t.clearResult()
	}
	s.fatal = t.block(s.wrapped.refused, text)
}

// block makes t a refused call and returns the abort if it stops the run. A
// refusal without its reason gets the same call again.
func (t *ToolCall) block(err error, text string) (stop error) {
	abort := findAbort(err)
	if t.Blocked == nil {
		t.Blocked = abort
	}
	t.answered = false
	t.Parts = nil
	t.Result = text + t.Name
	switch {
	case abort.Message != "":
		t.Result = abort.Message
	case abort.Reason != "":
		t.Result += ". Reason: " + abort.Reason
	}
	if abort.StopRun {
		return abort
	}
	return nil
}

// failed notes the tool's own error and returns it if it stops the run. panicked is
// set where around hooks were told of a panic, which they may have wrapped.
func (t *ToolCall) failed(ctx context.Context, err error, panicked *PanicError) (stop error) {
	t.Err = err
	noTool := errtree.Has(err, ErrNoTool)
	t.ran = t.ran && !noTool
	if panicked == nil {
		panicked, _ = err.(*PanicError)
	}
	if panicked != nil {
		logError(ctx, "hooks: a tool panicked", panicked, slog.String("tool", t.Name))
	}
	if t.Result == "" && len(t.Parts) == 0 {
		t.Result = t.failureText(err, noTool)
	}
	if abort := findAbort(err); abort != nil && abort.StopRun {
		return err
	}
	return nil
}

// failureText returns what the model reads of a failed call.
func (t *ToolCall) failureText(err error, noTool bool) (text string) {
	_, panicked := errtree.Find[*PanicError](err)
	switch abort := findAbort(err); {
	case panicked:
		return fmt.Sprintf("Tool %s panicked", t.Name)
	case err == ErrGoexit:
		return fmt.Sprintf("Tool %s ended its goroutine", t.Name)
	case noTool:
		return fmt.Sprintf("There is no tool %s.", t.Name)
	case abort != nil: // of a sub-agent: who refused it is not for the model, nor what the error says of that
		text = abort.PublicText()
	default:
		text = errtree.Text(err)
	}
	if text == "" {
		text = fmt.Sprintf("Tool %s failed", t.Name)
	}
	return text
}

// waits leaves a call that hasn't passed its pre point.
func (t *ToolCall) waits(err error) {
	t.clearResult()
	t.answered, t.Blocked, t.Err = false, nil, err
}

// fillHole gives a result to a call that waits, in a run that was stopped because
// of err and will not go on with it. Err stays.
func (t *ToolCall) fillHole(err error) {
	if t.Result == "" && len(t.Parts) == 0 {
		t.Result = "Tool was not run: " + notRunReason(err)
	}
}

// notRun gives a result to a call whose tool isn't run because of err: a
// history with a hole is rejected by every provider.
func (t *ToolCall) notRun(err error) {
	t.clearResult()
	t.answered = false
	t.Err = err
	t.Result = "Tool was not run: " + notRunReason(err)
}

// notRunReason tells why in words that may go to a model.
func notRunReason(err error) string {
	if abort := findAbort(err); abort != nil && abort.PublicText() != "" {
		return abort.PublicText()
	}
	if bad, ok := errtree.Find[*arguments.Error](err); ok {
		return bad.Error()
	}
	switch {
	case errtree.Is(err, context.Canceled), errtree.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "the run was stopped"
}

// RunTools runs the calls of one turn, each as by [RunTool], at most limit at a
// time (no limit if it is 0 or less), and returns when all have ended. Results
// stay on their own calls, and one blocked or failed call doesn't touch the
// others.
//
// The pre hooks run in the order of the calls, one call after the other, so that
// questions come and limits decide in that order; a body starts as soon as its
// own pre point has passed, and bodies and post hooks run beside one another.
// Five judges of a second each therefore take five seconds: judge m.ToolCalls
// together at [PostModelCall], and keep the verdicts in a [RunVar]. A pre hook
// must not wait for another call of the turn.
//
// After the first error that stops the run no further body starts: those calls
// get a result that says so, and where their hooks hadn't begun no point fires for
// them. Running ones finish; cancel ctx to stop them.
// RunTools returns that first error, [ErrGoexit] for a hook or a body that ended
// its goroutine. A nil or repeated call is an error before anything runs. Two calls
// may have one ID, but only the first can be asked about ([ToolCall.Ask]).
//
// A call that waits, in its hooks or in its body, stops nothing: the others end,
// and RunTools returns one [*Suspended] with the questions of all. (Where another
// call stops the run it returns that, and a call that waits has a result which says
// so.) The loop then
// saves the history with the results that are there, and goes on by RunTools with
// the calls whose Suspended method isn't nil, under their IDs and without asking
// the model again.
func RunTools(ctx context.Context, calls []*ToolCall, limit int, body func(context.Context, *ToolCall) error) error {
	if body == nil {
		return noBody(PreToolCall.p)
	}
	seen := make(map[*ToolCall]int, len(calls))
	for i, t := range calls {
		if t == nil {
			return fmt.Errorf("hooks: RunTools: call %d is nil", i)
		}
		if first, twice := seen[t]; twice {
			return fmt.Errorf("hooks: RunTools: call %d is the same *ToolCall as call %d; each call needs its own", i, first)
		}
		seen[t] = i
	}
	twins := markTwins(calls)
	defer func() {
		for _, t := range twins {
			t.twin = false
		}
	}()
	var stop firstError
	waits := make([]error, len(calls))
	var group errgroup.Group
	if limit > 0 {
		group.SetLimit(limit)
	}
	for i, t := range calls {
		decided := make(chan struct{})
		group.Go(func() error {
			err := runOrdered(ctx, t, &stop, decided, body)
			if findSuspended(err) != nil && !errtree.Has(err, ErrTooDeep) {
				waits[i] = err
			} else {
				stop.set(err)
			}
			return nil
		})
		<-decided
	}
	_ = group.Wait() // each call's error is in stop or in waits
	if err := stop.get(); err != nil {
		for i, t := range calls {
			if waits[i] != nil {
				t.fillHole(err)
			}
		}
		return err
	}
	waits = slices.DeleteFunc(waits, func(err error) bool { return err == nil })
	if len(waits) == 0 {
		return nil
	}
	return joinSuspended(waits)
}

// markTwins marks the calls whose ID an earlier one has, and returns them. One that is
// marked already belongs to a turn around this one, which goes on.
func markTwins(calls []*ToolCall) (marked []*ToolCall) {
	for i, t := range calls {
		if !t.twin && t.ID != "" && slices.ContainsFunc(calls[:i], func(other *ToolCall) bool { return other.ID == t.ID }) {
			t.twin = true
			marked = append(marked, t)
		}
	}
	return marked
}

// runOrdered is RunTool for one of several calls. It closes decided when the
// next one may begin, and looks at stop before the pre hooks and again behind
// them.
func runOrdered(ctx context.Context, t *ToolCall, stop *firstError, decided chan struct{}, body Func[ToolCall]) error {
	waiting, returned := true, false
	defer func() {
		if !returned {
			stop.set(ErrGoexit)
		}
		if waiting {
			close(decided)
		}
	}()
	if err := stop.get(); err != nil {
		t.reset()
		t.notRun(err)
		returned = true
		return nil
	}
	s := seam{kind: toolSeam}
	err := s.beginTool(ctx, t)
	if err != nil {
		returned = true
		return err
	}
	stop.set(s.fatal) // before the next call looks
	waiting = false
	close(decided)
	if err := stop.get(); err != nil && s.run {
		s.stop(t, err)
		s.fatal = nil // told once is enough
	}
	err = s.runTool(t, body)
	returned = true
	return err
}

// firstError keeps the first error that it is given.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
