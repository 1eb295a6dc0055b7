package hooks

// Running around hooks: from the hooks of a body, the outermost first, to the
// runs of the body itself.
//
//	runWrapped    one passage: finds its hooks, then
//	  call        one hook, each inside the next of the one before
//	    next      what the hook was given: the next hook, or
//	      once    one run of the body, behind the guards where these have to be
//	              asked again
//	  outcome     what the seam takes the body to have returned

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loophooks/hooks/internal/errtree"
)

// wrap is one passage of a body that has around hooks.
type wrap[C any] struct {
	seam  seam // the passage's, while hooks run: that of the caller stays on the stack
	p     *point
	c     *C
	body  Func[C]
	rec   *recorder
	first level[C]
	few   [4]*hook
	hooks []*hook // outermost first

	made   wrapped    // what the seam is told
	check  checkpoint // what the guards have let through
	ends   error      // an abort, an interrupt and the like: nothing more runs
	abort  *HookAborted
	failed error          // what the last run returned
	panics *PanicError    // of the last run that did
	theirs []*HookAborted // aborts in what the runs returned: they are no hook's
	usage  Usage
	took   time.Duration // of all runs, where somebody observes
}

// level is one call of an around hook, and the ctx that the hook gets: what it
// hands to next has to descend from it.
type level[C any] struct {
	context.Context
	w    *wrap[C]
	hook *hook
	at   int // its place among the hooks

	state  atomic.Uint32 // of the bits below
	idle   chan struct{} // closed when the next has ended that the hook left running
	called bool          // next has begun
	err    error         // what next returned last

	account *account // nil while nobody observes
}

// The state of a level.
const (
	nextRuns = 1 << iota
	hookOver
)

func (l *level[C]) Value(key any) any {
	if k, ok := key.(*level[C]); ok && k == l {
		return l
	}
	return l.Context.Value(key)
}

// runWrapped runs the body inside of the around hooks that p has.
func runWrapped[C any](s *seam, p *point, c *C, body Func[C]) (err error) {
	w := &wrap[C]{seam: *s, p: p, c: c, body: body}
	defer w.close(s)
	w.seam.stage = own // so that nobody asks here
	ctx := w.seam.hookCtx()
	var r round
	if !r.open(ctx, &w.seam.inner.frame, p) {
		return runOnce(&w.seam, s.bodyCtx(s.ctx, s.frame, c), c, body)
	}
	r.began, r.inSeam = s.began, s.named
	if len(r.watchers) > 0 {
		w.rec = new(recorder)
	}
	err = about(&r, w.rec, c)
	w.pick(&r)
	if err != nil || len(w.hooks) > 0 {
		w.seam.wrapped = &w.made
	}
	switch {
	case err != nil:
		w.end(err, findAbort(err))
	case len(w.hooks) == 0:
		return runOnce(&w.seam, s.bodyCtx(s.ctx, s.frame, c), c, body)
	default:
		detach(c, before)
		w.check.open(&w.seam, p, c)
		err = w.call(ctx, &w.first, 0)
	}
	return w.outcome(err)
}

// close hands the seam back, also where a goroutine ends, and sends the event.
func (w *wrap[C]) close(s *seam) {
	if m, ok := any(w.c).(metered); ok && w.made.runs > 0 {
		*m.hookUsage() = w.usage
	}
	*s = w.seam
	w.send()
}

// pick finds the hooks that the passage concerns.
func (w *wrap[C]) pick(r *round) {
	w.hooks = w.few[:0]
	for i := range r.n {
		l := &r.chain(i).main
		for k := newPick(l, &r.subject); k.next(&r.subject); {
			w.hooks = append(w.hooks, l.hooks[k.at])
		}
	}
}

// call runs the hook at a place, with ctx as that of the hook around it left it.
func (w *wrap[C]) call(ctx context.Context, l *level[C], at int) error {
	l.Context, l.w, l.at, l.hook = ctx, w, at, w.hooks[at]
	if l.hook.once {
		w.hooks[at] = nil // it has had its run, whatever the hooks around do
	}
	ensureInput(prepare(w.p, w.c))
	w.begin(l)
	panicked, err := l.run()
	ruled := w.judge(l, err, panicked)
	w.finish(l, ruled)
	switch {
	case w.ends != nil:
		return w.ends
	case ruled.err == nil:
		return err
	case l.called: // what it wrapped stands
		return l.err
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	return w.proceed(ctx, at) // the rest runs without it
}

// run calls the hook, and waits for a next that it left running.
func (l *level[C]) run() (panicked *PanicError, err error) {
	v := l.w.seam.values
	if v != nil {
		v.level.Add(1)
	}
	returned := false
	defer func() {
		if !returned {
			panicked = newPanicError(recover())
		}
		l.close()
		if v != nil {
			v.level.Add(-1)
		}
	}()
	err = l.hook.fn.(AroundFunc[C])(l, l.w.c, l.next)
	returned = true
	return nil, err
}

// close ends the level: no body outlives its seam. It waits on a channel, since
// the bubbles of package synctest don't see a goroutine wait for a mutex.
func (l *level[C]) close() {
	if l.state.CompareAndSwap(0, hookOver) {
		return
	}
	l.idle = make(chan struct{})
	if l.state.Or(hookOver)&nextRuns != 0 {
		<-l.idle
	}
}

// enter says that next begins, and leave that it has ended.
func (l *level[C]) enter() error {
	switch {
	case l.state.CompareAndSwap(0, nextRuns):
		return nil
	case l.state.Load()&hookOver != 0:
		return errNextLate
	}
	return errNextBusy
}

func (l *level[C]) leave() {
	if l.state.And(^uint32(nextRuns))&hookOver != 0 {
		close(l.idle)
	}
}

var (
	errNoNext   = errors.New("hooks: an around hook returned nil without having called next or given an answer")
	errNextBusy = errors.New("hooks: next is called while it runs; call it again when it has returned")
	errNextLate = errors.New("hooks: next is called after its around hook has returned; wait for it in the hook")
	errNextCtx  = errors.New("hooks: next is called with a ctx that doesn't descend from that of the around hook; derive it from the one that the hook got")
)

// next is what the hook gets to run the rest.
func (l *level[C]) next(ctx context.Context) (err error) {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if ctx == nil || ctx.Value(l) != any(l) {
		return errNextCtx
	}
	if err := l.w.ready(ctx); err != nil {
		return err
	}
	l.called, l.err = true, ErrGoexit // if nothing else comes of it
	v := l.w.seam.values
	if v != nil {
		v.level.Add(-1)
	}
	l.account.enter()
	defer func() {
		l.account.leave(l.w.p, l.w.c)
		if v != nil {
			v.level.Add(1)
		}
	}()
	l.err = l.w.proceed(ctx, l.at)
	return l.err
}

// ready says why nothing more can run, nil if it can.
func (w *wrap[C]) ready(ctx context.Context) error {
	if w.broken(); w.ends != nil {
		return w.ends
	}
	return ctx.Err()
}

// proceed runs what is inside the hook at a place.
func (w *wrap[C]) proceed(ctx context.Context, at int) error {
	for at++; at < len(w.hooks); at++ {
		if w.hooks[at] != nil {
			return w.call(ctx, new(level[C]), at)
		}
	}
	return w.once(ctx)
}

// once runs the body one more time.
func (w *wrap[C]) once(ctx context.Context) (err error) {
	if err := w.seam.streamed.notAgain(); err != nil {
		return err
	}
	ensureInput(prepare(w.p, w.c))
	if own, ok := any(w.c).(rerunner); ok {
		own.clearRun()
	}
	if own, ok := any(w.c).(refuser); ok && own.refusal() != nil {
		return own.refusal()
	}
	if err := w.askAgain(ctx); err != nil {
		return err
	}
	w.made.runs++
	w.failed = ErrGoexit
	inside := w.bodyFrame(ctx)
	began := time.Duration(0)
	if w.rec != nil {
		began = clock()
	}
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil || unwindingHere() != exiting {
				w.panics = newPanicError(value)
				w.failed = w.panics
			}
			w.seam.abandonRun(w.c)
			err = w.failed
		}
		if w.rec != nil {
			w.took += clock() - began
		}
		err = w.ran(err)
	}()
	w.failed = runOnce(&w.seam, w.seam.bodyCtx(inside, inside, w.c), w.c, w.body)
	returned = true
	return w.failed
}

// ran notes what one run of the body left.
func (w *wrap[C]) ran(err error) error {
	if m, ok := any(w.c).(metered); ok {
		w.usage.add(*m.hookUsage())
	}
	if value, ok := any(w.c).(keeper); ok {
		value.keep()
	}
	detach(w.c, own) // the body may have kept what it saw
	if err == nil {
		return nil
	}
	walkAborts(err, func(a *HookAborted) bool {
		w.theirs = append(w.theirs, a)
		return false
	})
	abort := findAbort(err)
	if verdict := w.seam.streamVerdict(); verdict != nil {
		w.end(verdict, nil)
	} else if findSuspended(err) != nil || abort != nil && abort.StopRun || errtree.Has(err, ErrTooDeep) {
		w.end(err, nil)
	}
	return err
}

// bodyFrame returns the frame over ctx for the body, which isn't in the hooks of
// the seam: what it opens counts as opened where the seam was.
func (w *wrap[C]) bodyFrame(ctx context.Context) *frame {
	f := newFrame(ctx, frameOf(ctx))
	f.nest = nil
	if w.seam.frame != nil {
		f.nest = w.seam.frame.nest
	}
	if inner := w.seam.frame.holds().inner; f.carried.inner != inner {
		carried := *f.carried
		carried.inner = inner
		f.carried = &carried
	}
	return &f
}

// end ends the operation: nothing more runs, and the seam returns err whatever
// the hooks around say. abort is set where it is that of a hook or guard.
func (w *wrap[C]) end(err error, abort *HookAborted) {
	if w.ends == nil {
		w.ends, w.abort = err, abort
	}
}

// judge rules on what became of a hook. A ruling with an error is a failure of the
// hook itself.
func (w *wrap[C]) judge(l *level[C], err error, panicked *PanicError) (ruled ruling) {
	if panicked != nil {
		err = panicked
	}
	switch abort := w.ownAbort(err); {
	case panicked == nil && w.ends != nil:
	case err == nil && !l.called && !w.answered():
		ruled = ruleOn(w.p, l.hook, errNoNext, nil)
	case panicked != nil, abort != nil, findSuspended(err) != nil, errtree.Has(err, ErrTooDeep):
		ruled = ruleOn(w.p, l.hook, err, abort)
	}
	if ruled.err != nil {
		logFailure(l, w.p, l.hook, ruled)
	}
	if ruled.abort != nil {
		w.end(ruled.abort, ruled.abort)
	} else if ruled.waits != nil {
		w.end(ruled.waits, nil)
	}
	w.broken()
	return ruled
}

// broken ends the operation where its hooks have opened seams without end.
func (w *wrap[C]) broken() {
	if fault := w.seam.inner.fault(w.p.name); fault != nil {
		w.end(fault, nil)
	}
}

// ownAbort finds the abort in err that is the hook's own, and didn't come out of
// the body, as that of a sub-agent does.
func (w *wrap[C]) ownAbort(err error) (abort *HookAborted) {
	walkAborts(err, func(a *HookAborted) bool {
		if slices.Contains(w.theirs, a) {
			return false
		}
		abort = a
		return true
	})
	return abort
}

// answered says whether there is a ready answer, as a hook without next gives.
func (w *wrap[C]) answered() bool {
	if own, ok := any(w.c).(answerer); ok {
		own.recallAnswer()
	}
	own, ok := any(w.c).(answerable)
	if !ok {
		return false
	}
	answered, _ := askAnswered(own)
	return answered
}

// outcome settles what the seam takes the body to have returned, where the
// outermost hook returned err.
func (w *wrap[C]) outcome(err error) error {
	s := &w.seam
	switch done := s.ctx.Err(); {
	case w.abort != nil:
		w.made.refused, w.made.err = w.abort, w.failed
		if own, ok := any(w.c).(rerunner); ok {
			own.clearValue()
		}
		return w.abort
	case w.ends != nil:
		err = w.ends
	case done != nil && w.made.runs == 0 && !w.answered() && (err == nil || errtree.Is(err, done)):
		if t, ok := any(w.c).(*ToolCall); ok {
			s.stop(t, done)
		}
		return done
	}
	if w.panics != nil && err != nil && errtree.Has(err, w.panics) {
		w.made.panics = w.panics
	}
	return err
}
