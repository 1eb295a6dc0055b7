package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/loophooks/hooks/internal/errtree"
	"golang.org/x/sync/errgroup"
)

// The tool seam turns refusals and failures into results, so that the run goes
// on and the model reads why. Only an abort with StopRun, a done ctx, a
// PassThrough and ErrTooDeep come out of it as errors.

// What the model reads of a refused call, with the tool's name behind it.
const (
	blockedText  = "Tool execution blocked by hook. Tool: "
	withheldText = "Tool result withheld by hook. Tool: "
)

// BeginTool fires [PreToolCall]. If t.ShouldRun, run the tool under the ctx
// returned; in any case give its error, or nil, to end, which fires
// [PostToolCall] once and returns what [RunTool] would. Defer end where the
// tool may panic. BeginTool returns an error only where no point fires: for a
// nil t, a ctx that is done, and [ErrTooDeep]; end returns it too.
func BeginTool(ctx context.Context, t *ToolCall) (context.Context, func(error) error, error) {
	s, err := beginTool(ctx, t)
	if err != nil {
		return nonNil(ctx), noEnd(err), err
	}
	return s.ctx, ender(s, t, endTool), nil
}

// RunTool runs a tool call: [PreToolCall], body, [PostToolCall]. Afterwards
// t.Result (or t.Parts) is what the model reads, and t.IsError says whether to
// mark it as an error.
//
//   - A blocked call doesn't run. t.Blocked is set, and the result tells the
//     model that and why. The post hooks still run on it.
//   - An abort by a post hook withholds the result in the same way; RawResult
//     and Err stay for the record, never for the model.
//   - An answered call doesn't run either; the post hooks run on the answer.
//   - An error of the tool is set as t.Err, and its text as the result unless
//     body set one. A panic becomes a [*PanicError] in t.Err. The post hooks
//     run, and may set t.Err to nil to recover the call.
//
// RunTool returns nil in all these cases and the run goes on. It returns an
// abort with StopRun, of a hook or in the tool's own error; an error marked by
// [PassThrough]; [ErrTooDeep]; and ctx.Err() when ctx was done on entry (no
// point fires) or after the pre hooks (the post point fires): then the tool
// was not run. A call that the pre hooks had blocked or answered by then has its
// result, and RunTool returns nil. What a tool returned stays on the call, whatever happens
// afterwards.
func RunTool(ctx context.Context, t *ToolCall, body func(context.Context, *ToolCall) error) error {
	if body == nil {
		return noBody(PreToolCall.p)
	}
	s, err := beginTool(ctx, t)
	if err != nil {
		return err
	}
	if !t.run {
		return endTool(s, t, nil)
	}
	return runBody(s, t, body, endTool, true)
}

func beginTool(ctx context.Context, t *ToolCall) (seam, error) {
	if t == nil {
		return seam{}, misuse(PreToolCall.p)
	}
	t.reset()
	s, err := open(ctx, &t.Caller, &t.Values)
	if err != nil {
		t.abandon(err)
		return s, err
	}
	err = errExiting
	defer func() {
		if err == errExiting {
			t.abandon(ErrGoexit) // a hook ends the goroutine: no call is left without a result
		}
	}()
	err = fire(&s, PreToolCall, t)
	if err != nil && errtree.Has(err, ErrTooDeep) {
		t.abandon(err)
		return s, err
	}
	t.Blocked, t.Err = nil, nil // what refuses a call is an abort
	switch {
	case err != nil:
		t.clearResult()
		s.fatal = t.block(err, blockedText)
	case t.answered:
	case t.argErr != nil:
		t.notRun(t.argErr)
	case s.ctx.Err() != nil:
		s.fatal = s.ctx.Err()
		t.notRun(s.fatal)
	default:
		t.clearResult()
		t.run = true
	}
	return s, nil
}

func endTool(s seam, t *ToolCall, err error) error {
	defer t.Values.endUse()
	pass := false
	if t.run {
		t.run, t.ran = false, true
		if pass, err = unmark(err); pass {
			t.Err, s.fatal = err, err
		} else if err != nil {
			s.fatal = t.failed(s.ctx, err)
		}
	}
	t.argErr = nil
	t.body = toolResult{known: true, fixed: true, result: t.Result, parts: slices.Clone(t.Parts)}
	post := errExiting
	defer func() {
		if post == errExiting { // a hook ends the goroutine: nobody has checked the result
			_ = t.block(&HookAborted{Reason: "a hook ended the goroutine", Err: ErrGoexit}, withheldText)
		}
	}()
	post = firePost(&s, PostToolCall, t)
	deep := post != nil && errtree.Has(post, ErrTooDeep)
	if post == nil || pass && !deep {
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

// failed notes the tool's own error and returns it if it stops the run.
func (t *ToolCall) failed(ctx context.Context, err error) (stop error) {
	t.Err = err
	if panicked, ok := err.(*PanicError); ok {
		logError(ctx, "hooks: a tool panicked", panicked, slog.String("tool", t.Name))
	}
	if t.Result == "" && len(t.Parts) == 0 {
		_, panicked := errtree.Find[*PanicError](err)
		switch {
		case panicked:
			t.Result = fmt.Sprintf("Tool %s panicked", t.Name)
		case err == ErrGoexit:
			t.Result = fmt.Sprintf("Tool %s ended its goroutine", t.Name)
		default:
			t.Result = errtree.Text(err)
			if abort := findAbort(err); abort != nil { // of a sub-agent: its source is not for the model
				t.Result = strings.ReplaceAll(t.Result, abort.Error(), abort.PublicText())
			}
		}
		if t.Result == "" {
			t.Result = fmt.Sprintf("Tool %s failed", t.Name)
		}
	}
	if abort := findAbort(err); abort != nil && abort.StopRun {
		return err
	}
	return nil
}

// notRun gives a result to a call whose tool isn't run because of err: a
// history with a hole is rejected by every provider.
func (t *ToolCall) notRun(err error) {
	t.clearResult()
	t.answered = false
	t.Err = err
	t.Result = "Tool was not run: " + notRunReason(err)
}

// abandon is notRun for a call that has no post point.
func (t *ToolCall) abandon(err error) {
	t.notRun(err)
	t.Values.endUse()
}

// notRunReason tells why in words that may go to a model.
func notRunReason(err error) string {
	if abort := findAbort(err); abort != nil && abort.PublicText() != "" {
		return abort.PublicText()
	}
	if bad, ok := errtree.Find[*argumentError](err); ok {
		return bad.Error()
	}
	switch {
	case errtree.Is(err, context.Canceled), errtree.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "the run was stopped"
}

// RunTools runs the calls of one turn in parallel, each as by [RunTool], at
// most limit at a time (no limit if it is 0 or less), and returns when all
// have ended. Results stay on their own calls, and one blocked or failed call
// doesn't touch the others. After the first error that stops the run no
// further call starts: those get a result that says so. Running ones finish;
// who wants to tear them down cancels ctx. RunTools returns that first error,
// [ErrGoexit] for a body that ended its goroutine. A nil or repeated call is
// an error before anything runs.
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
	var stop firstError
	var group errgroup.Group
	if limit > 0 {
		group.SetLimit(limit)
	}
	for _, t := range calls {
		group.Go(func() error {
			if err := stop.get(); err != nil {
				t.reset()
				t.abandon(err)
				return nil
			}
			exited := true
			defer func() {
				if exited {
					stop.set(ErrGoexit)
				}
			}()
			err := RunTool(ctx, t, body)
			exited = false
			stop.set(err)
			return nil
		})
	}
	_ = group.Wait() // each call's error is in stop
	return stop.get()
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
