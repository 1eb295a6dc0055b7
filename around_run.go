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

// wrap is one passage of a body that has around hooks. It is used again for another
// passage: what hooks keep when this one is over is their level, and the nest.
type wrap[C any] struct {
	seam  seam // the passage's, while hooks run: that of the caller stays on the stack
	p     *point
	c     *C
	body  Func[C]
	rec   *recorder
	few   [4]*hook
	hooks []*hook   // outermost first
	turns []turn[C] // of each of the hooks, while it runs
	spare []level[C]

	check  *checkpoint // what the guards have let through
	ends   error       // an abort, an interrupt and the like: nothing more runs
	abort  *HookAborted
	failed error          // what the last run returned
	panics []*PanicError  // of the runs that did
	theirs []*HookAborted // aborts in what the runs returned: they are no hook's
	usage  *Usage         // of all runs, nil without any or where there is none
	took   time.Duration  // of all runs, where somebody observes
}

// level is one call of an around hook: what its next leads to. That of a hook inside
// another is also the ctx that the hook gets, since what it hands to next has to
// descend from it; the outermost gets that of the seam's hooks.
type level[C any] struct {
	context.Context // what the hook around it handed on
	w               *wrap[C]
	at              int32         // its place among the hooks
	state           atomic.Uint32 // of the bits below
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

// turn is what belongs to a call of a hook as long as it runs.
type turn[C any] struct {
	hook    *hook
	frame   *frame        // the innermost of what the hook around it handed on
	bare    bool          // that is the ctx of the seam's hooks
	called  bool          // next has begun
	err     error         // what next returned last
	idle    chan struct{} // closed when the next has ended that the hook left running
	account *account      // nil while nobody observes
}

// runWrapped runs the body inside of the around hooks that p has.
func runWrapped[C any](s *seam, p *point, c *C, body Func[C]) (err error) {
	w, _ := p.wraps.Get().(*wrap[C])
	if w == nil {
		w = new(wrap[C])
	}
	w.seam, w.p, w.c, w.body = *s, p, c, body
	returned := false
	defer func() { w.close(s, returned) }()
	err = w.run()
	returned = true
	return err
}

func (w *wrap[C]) run() error {
	s := &w.seam
	s.stage = own // so that nobody asks here
	outermost := w.outermost()
	ctx := s.hookCtx()
	err, ok := w.find(ctx)
	switch {
	case err != nil:
		s.wrapped.set = true
		w.end(err, findAbort(err))
	case !ok:
		return runOnce(s, s.bodyCtx(s.ctx, s.frame, w.c), w.c, w.body)
	default:
		s.wrapped.set = true
		detach(w.c, before)
		w.check = newCheckpoint(s, w.p, w.c)
		w.turns = slices.Grow(w.turns[:0], len(w.hooks))[:len(w.hooks)]
		if len(w.hooks) > 1 {
			w.spare = make([]level[C], len(w.hooks)-1)
		}
		err = w.call(ctx, &s.inner.frame, true, outermost, 0)
	}
	return w.outcome(err)
}

// outermost returns the level of the outermost hook. It is allocated with the nest of
// the seam's hooks, if there was none.
func (w *wrap[C]) outermost() *level[C] {
	if w.seam.inner != nil {
		return new(level[C])
	}
	both := &struct {
		level[C]
		nest
	}{}
	w.seam.nestIn(w.seam.ctx, &both.nest)
	return &both.level
}

// close hands the seam back, also where a goroutine ends, and sends the event. All
// hooks have returned then, and with them every next.
func (w *wrap[C]) close(s *seam, returned bool) {
	if w.usage != nil {
		*any(w.c).(metered).hookUsage() = *w.usage
	}
	*s = w.seam
	w.send()
	if p := w.p; returned {
		clear(w.turns)
		*w = wrap[C]{turns: w.turns}
		p.wraps.Put(w)
	}
}

// find finds the hooks that the passage concerns, and who observes it.
func (w *wrap[C]) find(ctx context.Context) (err error, some bool) {
	if std := w.p.std.Load(); std != nil && w.p.scoped.Load() == 0 && observed.Load() == 0 && std.prepared(w.p.compile).state.Load() == direct {
		w.hooks = std.hooks // the usual case
		return nil, true
	}
	var r round
	if !r.open(ctx, &w.seam.inner.frame, w.p) {
		return nil, false
	}
	r.began, r.inSeam = w.seam.began, w.seam.named
	if len(r.watchers) > 0 {
		w.rec = new(recorder)
	}
	err = about(&r, w.rec, w.c)
	w.pick(&r)
	return err, len(w.hooks) > 0
}

func (w *wrap[C]) pick(r *round) {
	if l := &r.inline[0].main; r.n == 1 && !l.filtersTools && !l.picky { // all of them
		w.hooks = l.hooks
		return
	}
	w.hooks = w.few[:0]
	for i := range r.n {
		l := &r.chain(i).main
		for k := newPick(l, &r.subject); k.next(&r.subject); {
			w.hooks = append(w.hooks, l.hooks[k.at])
		}
	}
}

// call runs the hook at a place, with ctx as the hook around it handed it on. f is
// the innermost frame of ctx, and bare says that this is the ctx of the seam's hooks.
func (w *wrap[C]) call(ctx context.Context, f *frame, bare bool, l *level[C], at int) error {
	t := &w.turns[at]
	*t = turn[C]{hook: w.hooks[at], frame: f, bare: bare}
	l.Context, l.w, l.at = ctx, w, int32(at)
	if t.hook.once {
		w.hooks[at] = nil // it has had its run, whatever the hooks around do
	}
	ensureInput(prepare(w.p, w.c))
	w.begin(t)
	panicked, err := l.run()
	if err == nil && panicked == nil && t.called && w.rec == nil { // nothing to rule on
		w.broken()
		return w.ends
	}
	ruled := w.judge(ctx, t, err, panicked)
	w.finish(t, ruled)
	switch {
	case w.ends != nil:
		return w.ends
	case ruled.err == nil:
		return err
	case t.called: // what it wrapped stands
		return t.err
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	return w.proceed(ctx, f, bare, at) // the rest runs without it
}

// own returns the ctx that the hook gets.
func (l *level[C]) own() context.Context {
	if l.at == 0 {
		return l.Context
	}
	return l
}

// run calls the hook, and waits for a next that it left running.
func (l *level[C]) run() (panicked *PanicError, err error) {
	v := l.w.seam.values
	if v != nil {
		v.level.Add(1)
	}
	returned := false
	defer func() {
		exits := false
		if !returned {
			value := recover()
			panicked, exits = newPanicError(value), value == nil && unwindingHere() == exiting
		}
		if l.close(); exits {
			l.w.exited(&l.w.turns[l.at])
		}
		if v != nil {
			v.level.Add(-1)
		}
	}()
	err = l.w.turns[l.at].hook.fn.(AroundFunc[C])(l.own(), l.w.c, l.next)
	returned = true
	return nil, err
}

// exited ends the operation where a fail-closed hook has ended its goroutine, which may
// be that of a hook around it. What is inside of the hook may have ended it, too.
func (w *wrap[C]) exited(t *turn[C]) {
	if t.called && t.err == ErrGoexit {
		return
	}
	if ruled := ruleOn(w.p, t.hook, ErrGoexit, nil); ruled.abort != nil {
		w.end(ruled.abort, ruled.abort)
	}
}

// close ends the level: no body outlives its seam. It waits on a channel, since
// the bubbles of package synctest don't see a goroutine wait for a mutex.
func (l *level[C]) close() {
	if l.state.CompareAndSwap(0, hookOver) {
		return
	}
	idle := make(chan struct{})
	l.w.turns[l.at].idle = idle
	if l.state.Or(hookOver)&nextRuns != 0 {
		<-idle
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
	t := &l.w.turns[l.at]
	if l.state.And(^uint32(nextRuns))&hookOver != 0 {
		close(t.idle)
	}
}

var (
	errNoNext   = errors.New("hooks: an around hook returned nil without having called next or given an answer")
	errNextBusy = errors.New("hooks: next is called while it runs; call it again when it has returned")
	errNextLate = errors.New("hooks: next is called after its around hook has returned; wait for it in the hook")
	errNextCtx  = errors.New("hooks: next is called with a ctx that doesn't descend from that of the around hook; derive it from the one that the hook got")
)

// next is what the hook gets to run the rest.
func (l *level[C]) next(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	w, t := l.w, &l.w.turns[l.at]
	f, bare := t.frame, t.bare
	if ctx != l.own() {
		if f, bare = frameOf(ctx), false; !l.leads(ctx, f) {
			return errNextCtx
		}
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	t.called, t.err = true, ErrGoexit // if nothing else comes of it
	v := w.seam.values
	if v != nil {
		v.level.Add(-1)
	}
	if t.account != nil {
		t.account.enter()
	}
	defer func() {
		if t.account != nil {
			t.account.leave(w.p, w.c)
		}
		if v != nil {
			v.level.Add(1)
		}
	}()
	t.err = w.proceed(ctx, f, bare, int(l.at))
	return t.err
}

// leads says whether ctx, of which f is the innermost frame, descends from the one that
// the hook got.
func (l *level[C]) leads(ctx context.Context, f *frame) bool {
	if ctx == nil {
		return false
	}
	if l.at > 0 {
		return ctx.Value(l) == any(l)
	}
	if f == nil {
		return false
	}
	for n := f.nest; n != nil; n = n.outer {
		if n == l.w.seam.inner {
			return true
		}
	}
	return false
}

// ready says why nothing more can run, nil if it can.
func (w *wrap[C]) ready(ctx context.Context) error {
	if w.broken(); w.ends != nil {
		return w.ends
	}
	return ctx.Err()
}

// proceed runs what is inside the hook at a place.
func (w *wrap[C]) proceed(ctx context.Context, f *frame, bare bool, at int) error {
	for at++; at < len(w.hooks); at++ {
		if w.hooks[at] != nil {
			l := &w.spare[at-1]
			if l.w != nil { // an earlier call of the hook has it
				l = new(level[C])
			}
			return w.call(ctx, f, bare, l, at)
		}
	}
	return w.once(ctx, f, bare)
}

// once runs the body one more time.
func (w *wrap[C]) once(ctx context.Context, f *frame, bare bool) (err error) {
	if err := w.seam.streamed.notAgain(); err != nil {
		return err
	}
	ensureInput(prepare(w.p, w.c))
	if err := clearRun(w.c); err != nil {
		return err
	}
	if err := w.askAgain(ctx); err != nil {
		return err
	}
	w.seam.wrapped.runs++
	w.failed = ErrGoexit
	if bare { // what hooks get of the seam's ctx, the body has without
		ctx, f = w.seam.ctx, w.seam.frame
	} else {
		f = w.bodyFrame(ctx, f)
		ctx = f
	}
	began := time.Duration(0)
	if w.rec != nil {
		began = clock()
	}
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil || unwindingHere() != exiting {
				panicked := newPanicError(value)
				w.panics = append(w.panics, panicked)
				w.failed = panicked
			}
			w.seam.abandonRun(w.c)
			err = w.failed
		}
		if w.rec != nil {
			w.took += clock() - began
		}
		err = w.ran(err)
	}()
	w.failed = runOnce(&w.seam, w.seam.bodyCtx(ctx, f, w.c), w.c, w.body)
	returned = true
	return w.failed
}

// ran notes what one run of the body left.
func (w *wrap[C]) ran(err error) error {
	if usage := keepRun(w.c); usage != nil {
		if w.usage == nil {
			w.usage = new(Usage)
		}
		w.usage.add(*usage)
	}
	detachRun(w.c, err)
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

// bodyFrame returns the frame over ctx, that of hooks, for the body, which isn't in
// the hooks of the seam: what it opens counts as opened where the seam was.
func (w *wrap[C]) bodyFrame(ctx context.Context, hooks *frame) *frame {
	f := newFrame(ctx, hooks)
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
func (w *wrap[C]) judge(ctx context.Context, t *turn[C], err error, panicked *PanicError) (ruled ruling) {
	if panicked != nil {
		err = panicked
	}
	switch abort := w.ownAbort(err); {
	case panicked == nil && w.ends != nil:
	case err == nil && !t.called && !w.answered():
		ruled = ruleOn(w.p, t.hook, errNoNext, nil)
	case panicked != nil, abort != nil, findSuspended(err) != nil, errtree.Has(err, ErrTooDeep):
		ruled = ruleOn(w.p, t.hook, err, abort)
	}
	if ruled.err != nil {
		logFailure(ctx, w.p, t.hook, ruled)
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
	switch {
	case w.abort != nil:
		w.seam.wrapped.refused, w.seam.wrapped.err = w.abort, w.failed
		if own, ok := any(w.c).(rerunner); ok {
			own.clearValue()
		}
		return w.abort
	case w.ends != nil:
		err = w.ends
		if own, ok := any(w.c).(rerunner); ok && w.answered() { // by a hook around
			own.clearValue()
		}
	case w.seam.wrapped.runs == 0:
		if done := w.seam.ctx.Err(); done != nil && !w.answered() && (err == nil || errtree.Is(err, done)) {
			if t, ok := any(w.c).(*ToolCall); ok {
				w.seam.stop(t, done)
			}
			return done
		}
	}
	for _, panicked := range w.panics { // of several, the last goes on
		if errtree.Has(err, panicked) {
			w.seam.wrapped.panics = panicked
		}
	}
	return err
}
