package torture_test

// Loops and registries under load: hooks that do anything a hook can do, and
// goroutines that register, remove and dispatch at the same time.

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// stressCall is what happened to one context that went through a seam.
type stressCall struct {
	rng    *rand.Rand   // what its hooks and its body pick from, one after the other
	begun  atomic.Int32 // the first hook of the pre point ran
	passed atomic.Int32 // the last one did
	exited atomic.Bool  // a hook of the pre point ended the goroutine
	post   atomic.Int32 // the first hook of the post point ran
}

type stressCallKey struct{}

// stressValues is a context of the package, which carries its stressCall.
type stressValues interface {
	Put(key, value any)
	Get(key any) (any, bool)
}

func stressOf(c stressValues) *stressCall {
	call, ok := c.Get(stressCallKey{})
	if !ok {
		return &stressCall{rng: stressRand(0, 0)} // of a seam that a hook opened
	}
	return call.(*stressCall)
}

// stressRand returns the numbers of one context or goroutine. Each has numbers
// of its own, so that a seed repeats what they pick, though not which of them
// run at the same time.
func stressRand(seed, of uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, of)) }

// stressLedger counts what a loop full of bad hooks did.
type stressLedger struct {
	dispatches map[hooks.InterceptionPoint]*atomic.Int64 // by the first hook of each
	events     map[hooks.InterceptionPoint]*atomic.Int64
	oddEvents  atomic.Int64
	strangers  atomic.Int64 // hooks that saw the context of another run
	executions atomic.Int64

	mu    sync.Mutex
	calls map[*stressCall]hooks.InterceptionPoint // by their pre point
	once  []*stressOnce
}

// stressOnce is a hook that runs once.
type stressOnce struct {
	reg *hooks.Registration
	ran atomic.Int64
}

func newStressLedger() *stressLedger {
	l := &stressLedger{
		dispatches: make(map[hooks.InterceptionPoint]*atomic.Int64),
		events:     make(map[hooks.InterceptionPoint]*atomic.Int64),
		calls:      make(map[*stressCall]hooks.InterceptionPoint),
	}
	for _, p := range []hooks.AnyPoint{
		hooks.ExecutionStart, hooks.Input, hooks.PreStep, hooks.PreModelCall, hooks.PostModelCall,
		hooks.PreToolCall, hooks.PostToolCall, hooks.PostStep, hooks.Output, hooks.ExecutionEnd,
	} {
		l.dispatches[p.Name()], l.events[p.Name()] = new(atomic.Int64), new(atomic.Int64)
	}
	return l
}

// track makes c a call whose passage is checked at the end. Its numbers come
// from those of its run.
func (l *stressLedger) track(rng *rand.Rand, pre hooks.InterceptionPoint, c stressValues) {
	call := &stressCall{rng: stressRand(rng.Uint64(), rng.Uint64())}
	c.Put(stressCallKey{}, call)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[call] = pre
}

func (l *stressLedger) observe(_ context.Context, ev hooks.HookDispatchedEvent) {
	l.events[ev.Point].Add(1)
	last := ev.Hooks[len(ev.Hooks)-1].Outcome
	if ev.HookCount != len(ev.Hooks) || ev.Duration < 0 ||
		(ev.Outcome == hooks.OutcomeAborted) != (last == hooks.OutcomeAborted) {
		l.oddEvents.Add(1)
	}
}

// stressFirst registers the hook of r that runs before all others at p.
func stressFirst[C any](l *stressLedger, r *hooks.Registry, p hooks.Point[C], fn func(*stressCall)) {
	hooks.On(p, func(_ context.Context, c *C) error {
		l.dispatches[p.Name()].Add(1)
		fn(stressOf(any(c).(stressValues)))
		return nil
	}, hooks.In(r), hooks.WithPriority(math.MaxInt))
}

// stressOuter registers what every run shares at a pair of points.
func stressOuter[C any](l *stressLedger, r *hooks.Registry, pre, post hooks.Point[C]) {
	stressFirst(l, r, pre, func(c *stressCall) { c.begun.Add(1) })
	stressFirst(l, r, post, func(c *stressCall) { c.post.Add(1) })
	for _, p := range []hooks.Point[C]{pre, post} {
		hooks.On(p, stressMisbehave[C](l, r, p == pre), hooks.In(r))
		hooks.On(p, stressMisbehave[C](l, r, p == pre), hooks.In(r), hooks.WithFailClosed(), hooks.WithPriority(-1))
	}
}

// stressInner registers what only one run has, and the guard that runs after
// everything else at the pre point.
func stressInner[C any](l *stressLedger, outer, r *hooks.Registry, run string, pre, post hooks.Point[C]) {
	for _, p := range []hooks.Point[C]{pre, post} {
		hooks.On(p, func(_ context.Context, c *C) error {
			if who := any(c).(interface{ AgentRoleName() string }).AgentRoleName(); who != run {
				l.strangers.Add(1)
			}
			return nil
		}, hooks.In(r))
		hooks.On(p, stressMisbehave[C](l, outer, p == pre), hooks.In(r))
	}
	hooks.On(pre, stressMisbehave[C](l, outer, true), hooks.In(r), hooks.AsGuard())
	hooks.On(pre, func(_ context.Context, c *C) error {
		stressOf(any(c).(stressValues)).passed.Add(1)
		return nil
	}, hooks.In(r), hooks.AsGuard(), hooks.WithPriority(math.MinInt))
}

// stressMisbehave is a hook that mostly does nothing, and now and then
// anything that a hook can do.
func stressMisbehave[C any](l *stressLedger, r *hooks.Registry, pre bool) hooks.Func[C] {
	return func(ctx context.Context, c *C) error {
		call := stressOf(any(c).(stressValues))
		switch call.rng.IntN(48) {
		case 0:
			return errBroken
		case 1:
			panic(errBroken)
		case 2:
			return hooks.Abort("no")
		case 3:
			return fmt.Errorf("wrapped: %w", &hooks.HookAborted{Reason: "no", StopRun: true})
		case 4:
			if pre {
				call.exited.Store(true)
			}
			runtime.Goexit()
		case 5:
			for range 20 {
				runtime.Gosched()
			}
		case 6:
			l.addOnce(call.rng, r)
		case 7:
			_ = hooks.Dispatch(ctx, stressChurn, &hooks.Step{})
		case 8:
			_ = hooks.Run(ctx, stressChurn, stressChurn, &hooks.Step{}, func(context.Context, *hooks.Step) error { return errBroken })
		case 9:
			own := hooks.NewRegistry()
			hooks.On(stressChurn, func(context.Context, *hooks.Step) error { panic("inner") }, hooks.In(own))
			_ = hooks.Dispatch(hooks.WithScope(ctx, own), stressChurn, &hooks.Step{})
			own.ClearAll()
		case 10:
			o := r.Observe(func(context.Context, hooks.HookDispatchedEvent) { panic("observer") })
			defer o.Remove()
		case 11:
			l.removeOnce(call.rng)
		}
		return nil
	}
}

// stressChurn is the point at which hooks come and go during the tests.
var stressChurn = hooks.Define[hooks.Step]("stresstest.churn")

func (l *stressLedger) addOnce(rng *rand.Rand, r *hooks.Registry) {
	o := new(stressOnce)
	o.reg = hooks.On(stressChurn, counter[hooks.Step](&o.ran), hooks.In(r), hooks.WithOnce(), hooks.WithPriority(rng.IntN(3)))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.once = append(l.once, o)
}

func (l *stressLedger) removeOnce(rng *rand.Rand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.once); n > 0 {
		l.once[rng.IntN(n)].reg.Remove()
	}
}

// stressLoop is a whole run of an agent: two turns of a model call and four
// tool calls.
func stressLoop(ctx context.Context, l *stressLedger, rng *rand.Rand, outer *hooks.Registry, run string) {
	r := hooks.NewRegistry()
	stressInner(l, outer, r, run, hooks.ExecutionStart, hooks.ExecutionEnd)
	stressInner(l, outer, r, run, hooks.PreStep, hooks.PostStep)
	stressInner(l, outer, r, run, hooks.PreModelCall, hooks.PostModelCall)
	stressInner(l, outer, r, run, hooks.PreToolCall, hooks.PostToolCall)
	for range 3 {
		hooks.On(hooks.Input, stressMisbehave[hooks.Execution](l, outer, false), hooks.In(r))
		hooks.On(hooks.Output, stressMisbehave[hooks.Execution](l, outer, false), hooks.In(r))
	}

	x := &hooks.Execution{Caller: hooks.Caller{AgentRole: run}}
	l.track(rng, hooks.ExecutionStart.Name(), x)
	ctx, cancel := context.WithCancel(hooks.WithScope(hooks.WithScope(ctx, outer), r))
	defer cancel()
	_ = hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
		l.executions.Add(1)
		for range 2 {
			step := &hooks.Step{Kind: hooks.StepTurn}
			l.track(rng, hooks.PreStep.Name(), step)
			if err := hooks.RunStep(ctx, step, func(ctx context.Context, _ *hooks.Step) error {
				return stressTurn(ctx, cancel, l, rng)
			}); err != nil && rng.IntN(4) == 0 {
				return err
			}
		}
		return nil
	})
}

func stressTurn(ctx context.Context, cancel context.CancelFunc, l *stressLedger, rng *rand.Rand) error {
	m := &hooks.ModelCall{}
	l.track(rng, hooks.PreModelCall.Name(), m)
	if err := hooks.RunModel(ctx, m, func(context.Context, *hooks.ModelCall) error { return nil }); err != nil {
		return err
	}
	calls := make([]*hooks.ToolCall, 4)
	for i := range calls {
		calls[i] = &hooks.ToolCall{Name: fmt.Sprint("tool_", i)}
		l.track(rng, hooks.PreToolCall.Name(), calls[i])
	}
	return hooks.RunTools(ctx, calls, 3, func(_ context.Context, t *hooks.ToolCall) error {
		switch stressOf(t).rng.IntN(24) {
		case 0:
			return errBroken
		case 1:
			panic("tool")
		case 2:
			runtime.Goexit()
		case 3:
			cancel()
		}
		t.Result = "done"
		return nil
	})
}

// Whatever hooks do: who passes the pre point has a post point, exactly once.
func TestSeams_pairConcurrentSafe(t *testing.T) {
	t.Parallel()
	const runs = 60
	seed := seedOf(t)
	l, outer := newStressLedger(), hooks.NewRegistry()
	stressOuter(l, outer, hooks.ExecutionStart, hooks.ExecutionEnd)
	for _, p := range []hooks.Point[hooks.Execution]{hooks.Input, hooks.Output} {
		stressFirst(l, outer, p, func(*stressCall) {})
		hooks.On(p, stressMisbehave[hooks.Execution](l, outer, false), hooks.In(outer))
	}
	stressOuter(l, outer, hooks.PreStep, hooks.PostStep)
	stressOuter(l, outer, hooks.PreModelCall, hooks.PostModelCall)
	stressOuter(l, outer, hooks.PreToolCall, hooks.PostToolCall)
	standing := outer.String()
	observer := outer.Observe(func(ctx context.Context, ev hooks.HookDispatchedEvent) {
		if ev.Point != stressChurn.Name() {
			l.observe(ctx, ev)
		}
	})

	finishes(t, "the runs", func() {
		var group sync.WaitGroup
		for i := range runs {
			group.Go(func() { stressLoop(t.Context(), l, stressRand(seed, uint64(i)), outer, fmt.Sprint("run-", i)) })
		}
		group.Wait()
	})
	require.True(t, observer.Remove())

	require.NotZero(t, l.executions.Load(), "no execution got through")
	assert.Zero(t, l.strangers.Load(), "hooks of one run saw another")
	assert.Zero(t, l.oddEvents.Load())
	for p, n := range l.dispatches {
		assert.NotZero(t, n.Load(), "%s was never reached", p)
		assert.Equal(t, n.Load(), l.events[p].Load(), "%s: dispatches and events", p)
	}
	stressCheckCalls(t, l)
	for _, o := range l.once {
		inChain := slices.Contains(outer.Hooks(stressChurn), o.reg)
		assert.LessOrEqual(t, o.ran.Load(), int64(1))
		assert.False(t, inChain && o.ran.Load() > 0, "a hook that was used up is still registered")
		assert.Equal(t, inChain, o.reg.Remove())
	}
	assert.Equal(t, standing, outer.String(), "what stood before the runs stands after them")
}

func stressCheckCalls(t *testing.T, l *stressLedger) {
	t.Helper()
	seen := make(map[hooks.InterceptionPoint]int)
	for call, pre := range l.calls {
		begun, passed, post := call.begun.Load(), call.passed.Load(), call.post.Load()
		seen[pre] += int(post)
		switch {
		case pre != hooks.PreToolCall.Name():
			assert.Equal(t, passed, post, "%s: passed and post", pre)
		case !call.exited.Load():
			// Blocked calls have a post point too.
			assert.Equal(t, begun, post, "%s: begun and post", pre)
		}
		assert.LessOrEqual(t, begun, int32(1))
		assert.LessOrEqual(t, passed, begun)
		assert.LessOrEqual(t, post, begun)
	}
	for _, pre := range []hooks.InterceptionPoint{"execution_start", "pre_step", "pre_model_call", "pre_tool_call"} {
		assert.NotZero(t, seen[pre], "no call got through %s", pre)
	}
}

// stressEntry is a hook of the registry test, and what must be its place.
type stressEntry struct {
	reg      *hooks.Registration
	guard    bool
	priority int
	worker   int
	nth      int // of its worker
	ran      atomic.Int64
}

// stressBefore says whether a runs before b. Hooks of different workers that
// are otherwise alike may run in either order.
func stressBefore(a, b *stressEntry) bool {
	switch {
	case a.guard != b.guard:
		return b.guard
	case a.priority != b.priority:
		return a.priority > b.priority
	}
	return a.worker != b.worker || a.nth < b.nth
}

// No registration is lost, runs in the wrong place or is counted twice.
func TestRegistry_nothingLostConcurrentSafe(t *testing.T) {
	t.Parallel()
	const workers, rounds = 8, 120
	seed := seedOf(t)
	p, r := newPoint[job](t), hooks.NewRegistry()
	ctx := hooks.WithScope(t.Context(), r)
	var mu sync.Mutex
	entries := make(map[*hooks.Registration]*stressEntry)
	var gone atomic.Int64 // as counted by those who removed
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			rng := stressRand(seed, uint64(worker))
			var own []*stressEntry
			for nth := range rounds {
				e := &stressEntry{guard: rng.IntN(4) == 0, priority: rng.IntN(3), worker: worker, nth: nth}
				opts := []hooks.Option{hooks.In(r), hooks.WithPriority(e.priority)}
				if e.guard {
					opts = append(opts, hooks.AsGuard())
				}
				e.reg = hooks.On(p, func(context.Context, *job) error {
					e.ran.Add(1)
					if nth%16 == 0 {
						runtime.Gosched() // so that chains change under a dispatch
					}
					return nil
				}, opts...)
				own = append(own, e)
				if rng.IntN(4) == 0 {
					runtime.Gosched() // so that the workers take turns within a round
				}
				switch victim := own[rng.IntN(len(own))]; rng.IntN(40) {
				case 0:
					gone.Add(int64(r.Clear(p)))
				case 1:
					gone.Add(int64(r.ClearAll()))
				case 2, 3, 4, 5, 6, 7:
					if victim.reg.Remove() {
						gone.Add(1)
					}
				case 8, 9, 10, 11, 12, 13:
					if r.Unregister(victim.reg) {
						gone.Add(1)
					}
				case 14:
					clear(r.Hooks(p)) // a copy
				case 15:
					_ = r.String()
				case 16:
					_ = hooks.Enabled(ctx, p)
				default:
					assert.NoError(t, hooks.Dispatch(ctx, p, &job{}))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, e := range own {
				entries[e.reg] = e
			}
		})
	}
	finishes(t, "the workers", group.Wait)

	left := r.Hooks(p)
	require.EqualValues(t, workers*rounds, gone.Load()+int64(len(left)))
	for i, reg := range left {
		e := entries[reg]
		require.NotNil(t, e, "a hook that nobody registered")
		if i > 0 {
			assert.True(t, stressBefore(entries[left[i-1]], e), "%d and %d are in the wrong order", i-1, i)
		}
	}
	for _, e := range entries {
		e.ran.Store(0)
	}
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	for _, e := range entries {
		want := 0
		if slices.Contains(left, e.reg) {
			want = 1
		} else {
			require.False(t, e.reg.Remove(), "a hook that is not listed was still there")
		}
		require.EqualValues(t, want, e.ran.Load(), "who is listed runs, and nobody else")
	}
	assert.Equal(t, len(left), r.Clear(p))
	assert.False(t, hooks.Enabled(ctx, p))
}

// Whatever others do at the same point: a hook runs in every dispatch that
// begins after it was registered and in none that begins after it was removed.
func TestRegistry_ownHooksFoundConcurrentSafe(t *testing.T) {
	t.Parallel()
	p, scope := newPoint[job](t), hooks.NewRegistry()
	ctx := hooks.WithScope(t.Context(), scope)
	var group sync.WaitGroup
	for worker := range 8 {
		r, tool := scope, fmt.Sprint("tool_", worker)
		if worker%2 == 0 {
			r = hooks.Default()
		}
		group.Go(func() {
			for round := range 60 {
				kinds := [][]hooks.Option{
					{},
					{hooks.AsGuard()},
					{hooks.WithTools("Tool " + fmt.Sprint(worker))},
					{hooks.WithTools("*_" + fmt.Sprint(worker)), hooks.WithPriority(worker)},
					{hooks.WithAgents("Writer"), hooks.WithPriority(-worker)},
					{hooks.WithOnce(), hooks.WithTools(tool)},
				}
				kind := round % len(kinds)
				var mine atomic.Int64
				reg := hooks.On(p, func(_ context.Context, j *job) error {
					if j.Data == &mine {
						mine.Add(1)
					}
					return nil
				}, append(kinds[kind], hooks.In(r))...)
				c := &job{Tool: tool, Data: &mine}
				assert.NoError(t, hooks.Dispatch(ctx, p, c))
				once := kind == len(kinds)-1
				if !once {
					assert.EqualValues(t, 1, mine.Load())
				}
				// Another dispatch cannot use up a hook for this tool, so it ran.
				assert.Equal(t, !once, reg.Remove(), "kind %d", kind)
				mine.Store(0)
				assert.NoError(t, hooks.Dispatch(ctx, p, c))
				assert.Zero(t, mine.Load(), "kind %d", kind)
			}
		})
	}
	finishes(t, "the workers", group.Wait)
	assert.Empty(t, scope.Hooks(p))
	assert.Empty(t, hooks.Hooks(p))
}

// stressLookCtx calls look whenever somebody looks a value up.
type stressLookCtx struct {
	context.Context
	look func()
}

func (c stressLookCtx) Value(key any) any {
	c.look()
	return c.Context.Value(key)
}

// A hook that is registered while a model call begins must not get hold of the
// framework's own array either.
func TestModelCall_hookAddedMeanwhile(t *testing.T) {
	t.Parallel()
	ran := 0
	for nth := range 12 {
		r := hooks.NewRegistry()
		appending := func(_ context.Context, m *hooks.ModelCall) error {
			ran++
			m.Messages = append(m.Messages, hooks.Message{Content: "of a hook"})
			m.Tools = append(m.Tools, "of a hook")
			return nil
		}
		hooks.On(hooks.PreModelCall, appending, hooks.In(r)).Remove()
		looks := 0
		ctx := &stressLookCtx{Context: hooks.WithScope(t.Context(), r)}
		ctx.look = func() {
			if looks++; looks == nth+1 {
				hooks.On(hooks.PreModelCall, appending, hooks.In(r))
			}
		}
		messages, tools := make([]hooks.Message, 1, 4), make([]string, 1, 4)
		m := &hooks.ModelCall{Messages: messages, Tools: tools}
		require.NoError(t, hooks.RunModel(ctx, m, func(context.Context, *hooks.ModelCall) error { return nil }))
		assert.Empty(t, messages[:2][1].Content, "registered at look-up %d", nth+1)
		assert.Empty(t, tools[:2][1], "registered at look-up %d", nth+1)
	}
	assert.NotZero(t, ran, "no hook was registered in time to run")
}

// stressPoint is an AnyPoint that isn't the package's.
type stressPoint func() hooks.InterceptionPoint

func (p stressPoint) Name() hooks.InterceptionPoint { return p() }

// In a process of its own, since a lock that is never given back would hang
// every other test too.
func TestRegistry_asksForNamesWithoutLock(t *testing.T) {
	if !inChild() {
		rerun(t)
		return
	}
	defined := 0
	point := stressPoint(func() hooks.InterceptionPoint {
		defined++
		return hooks.Define[job](hooks.InterceptionPoint(fmt.Sprint("stresstest.asked.", defined))).Name()
	})
	finishes(t, "the registry", func() {
		assert.Empty(t, hooks.Hooks(point))
		assert.Zero(t, hooks.Clear(point))
	})
}
