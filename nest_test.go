package hooks_test

// Seams that hooks open: they fire their points like any others, up to a depth
// at which recursion ends.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// seamNestLimit is how many seams may be open inside the hooks of one.
const seamNestLimit = 16

// A hook that opens the seam it hooks ends in ErrTooDeep, whatever it does with
// the error.
func TestNest_ofAHookInItselfIsTooDeep(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(open func() error) error{
		"returns the error": func(open func() error) error { return open() },
		"wraps the error":   func(open func() error) error { return fmt.Errorf("audit: %w", open()) },
		"keeps the error":   func(open func() error) error { _ = open(); return nil },
		"tries again": func(open func() error) error {
			for range 10 {
				_ = open()
			}
			return nil
		},
		"tries again at once": func(open func() error) error {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { _ = open() })
			}
			wg.Wait()
			return nil
		},
		"panics": func(open func() error) error { panic(open()) },
	} {
		for _, at := range []string{"pre", "post"} {
			t.Run(name+" "+at, func(t *testing.T) {
				t.Parallel()
				seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
					var runs, bodies atomic.Int64
					body := func(context.Context, seamContext) error { bodies.Add(1); return nil }
					register := d.onPre
					if at == "post" {
						register = d.onPost
					}
					register(r, func(ctx context.Context, _ seamContext) error {
						runs.Add(1)
						return again(func() error { return d.run(ctx, d.fresh(), body) })
					})
					c := d.fresh()
					exit := seamLeave(t, func() error { return d.run(ctx, c, body) })
					require.ErrorIs(t, exit.err, hooks.ErrTooDeep)
					if name != "tries again at once" {
						assert.LessOrEqual(t, runs.Load(), int64(2*seamNestLimit), "the nest fails as a whole")
					}
					if at == "pre" {
						assert.Zero(t, bodies.Load())
					}
					if call, ok := c.native().(*hooks.ToolCall); ok {
						assert.NotEmpty(t, call.Result)
						assert.True(t, call.IsError())
					} else if _, own := c.native().(*seamOwn); !own {
						assert.ErrorIs(t, c.failure(), hooks.ErrTooDeep)
					}
				})
			})
		}
	}
}

func TestNest_tooDeepKeepsTheFailure(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	seamEach(t, seamFailing(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		fails := func(context.Context, seamContext) error { return failure }
		d.onPost(r, func(ctx context.Context, _ seamContext) error { return d.run(ctx, d.fresh(), fails) })
		exit := seamLeave(t, func() error { return d.run(ctx, d.fresh(), fails) })
		assert.ErrorIs(t, exit.err, hooks.ErrTooDeep)
		assert.ErrorIs(t, exit.err, failure)
	})
}

func TestNest_isAllowedUpToADepth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		depth   int
		tooDeep bool
	}{{1, false}, {seamNestLimit, false}, {seamNestLimit + 1, true}} {
		t.Run(fmt.Sprint(tc.depth), func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				left := tc.depth
				d.onPre(r, func(ctx context.Context, _ seamContext) error {
					if left == 0 {
						return nil
					}
					left--
					return d.run(ctx, d.fresh(), seamProceed)
				})
				err := d.run(ctx, d.fresh(), seamProceed)
				assert.Equal(t, tc.tooDeep, errors.Is(err, hooks.ErrTooDeep), "%v", err)
				assert.Zero(t, left)
			})
		})
	}
}

func TestNest_tooDeepEndsWithTheOutermostSeam(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		recurse := true
		d.onPre(r, func(ctx context.Context, _ seamContext) error {
			if recurse {
				return d.run(ctx, d.fresh(), seamProceed)
			}
			return nil
		})
		err := d.run(ctx, d.fresh(), func(context.Context, seamContext) error { t.Error("the body ran"); return nil })
		require.ErrorIs(t, err, hooks.ErrTooDeep)
		recurse = false
		assert.NoError(t, d.run(ctx, d.fresh(), seamProceed))
	})
}

func TestNest_boundsIndirectRecursion(t *testing.T) {
	t.Parallel()
	model := func(ctx context.Context) error {
		return hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { return nil })
	}
	tool := func(ctx context.Context) error {
		return hooks.RunTool(ctx, &hooks.ToolCall{Name: "a"}, seamReturns("ok"))
	}
	for name, open := range map[string]func(ctx context.Context) error{
		"a model call": model,
		"parallel calls": func(ctx context.Context) error {
			return hooks.RunTools(ctx, seamCalls(10), 0, seamReturns("ok"))
		},
		"the body of another seam": func(ctx context.Context) error {
			return hooks.RunStep(ctx, &hooks.Step{}, func(ctx context.Context, _ *hooks.Step) error { return tool(ctx) })
		},
		"another goroutine": func(ctx context.Context) error {
			done := make(chan error)
			go func() { done <- tool(ctx) }()
			return <-done
		},
		"a derived ctx": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
			defer cancel()
			return tool(ctx)
		},
		"an inner scope": func(ctx context.Context) error { return tool(hooks.WithScope(ctx, hooks.NewRegistry())) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			seamOnTool(r, hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error { _ = open(ctx); return nil })
			seamOnModel(r, hooks.PreModelCall, func(ctx context.Context, _ *hooks.ModelCall) error { _ = tool(ctx); return nil })
			exit := seamLeave(t, func() error { return tool(ctx) })
			assert.ErrorIs(t, exit.err, hooks.ErrTooDeep)
		})
	}
}

func TestNest_takesSubAgentsForNoRecursion(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	fired := 0
	for _, d := range seamDrivers() {
		d.onPre(r, func(context.Context, seamContext) error { fired++; return nil })
		d.onPost(r, func(context.Context, seamContext) error { fired++; return nil })
	}
	var delegate func(ctx context.Context, left int) error
	delegate = func(ctx context.Context, left int) error {
		if left == 0 {
			return nil
		}
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunStep(ctx, &hooks.Step{}, func(ctx context.Context, _ *hooks.Step) error {
				call := &hooks.ToolCall{Name: "delegate"}
				err := hooks.RunTool(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error { return delegate(ctx, left-1) })
				return errors.Join(err, call.Err)
			})
		})
	}
	require.NoError(t, delegate(ctx, 70))
	assert.Equal(t, 70*3*4, fired) // 3 seams with 2 points each, both forms registered
	fired = 0
	once := true
	seamOnTool(r, hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		if once {
			once = false
			assert.NoError(t, delegate(ctx, 70), "from inside a hook as well")
		}
		return nil
	})
	require.NoError(t, delegate(ctx, 1))
	assert.Equal(t, 71*3*4, fired)
}

// What keeps a hook from recursing must not hide from hooks what else is done
// inside a seam, nor what others do meanwhile.
func TestNest_innerSeamsFireTheirPoints(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	var mu sync.Mutex
	count := map[string]int{}
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		count[what]++
	}
	seamOnTool(r, hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		note("pre " + call.Name)
		if call.Name == "search" {
			return hooks.RunTool(ctx, &hooks.ToolCall{Name: "log"}, seamReturns("logged"))
		}
		return nil
	})
	seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error { note("post " + call.Name); return nil })
	seamOnModel(r, hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { note("pre model"); return nil })
	model := func(ctx context.Context) error {
		return hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { return nil })
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			assert.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "search"}, func(ctx context.Context, _ *hooks.ToolCall) error {
				return errors.Join(model(ctx), model(ctx))
			}))
		})
	}
	wg.Wait()
	assert.Equal(t, map[string]int{"pre search": 2, "post search": 2, "pre log": 2, "post log": 2, "pre model": 4}, count)
}

// A stack overflow ends a Go process: only another process can show that there
// is none.
func TestNest_neverOverflowsTheStack(t *testing.T) {
	const (
		variable = "HOOKS_TEST_RECURSION"
		ended    = "recursion ended: "
	)
	if which := os.Getenv(variable); which != "" {
		for _, d := range seamDrivers() {
			if d.name != which {
				continue
			}
			again := func(ctx context.Context, _ seamContext) error { return d.run(ctx, d.fresh(), seamProceed) }
			d.onPre(hooks.Default(), again)
			d.onPost(hooks.Default(), again)
			err := d.run(context.Background(), d.fresh(), seamProceed)
			fmt.Printf("%s%v\n", ended, errors.Is(err, hooks.ErrTooDeep))
		}
		return
	}
	t.Parallel()
	for _, which := range []string{"RunModel", "BeginExecution", "RunTool"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, seamInChild(t, variable+"="+which), ended+"true")
		})
	}
}

// An observer that opens the seam it observes changes nothing for that one.
func TestNest_boundsAnObserverOfItself(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return nil }, hooks.In(r))
	opened, refused := 0, 0
	r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
		opened++
		if err := hooks.RunTool(ctx, &hooks.ToolCall{Name: "again"}, seamReturns("page")); errors.Is(err, hooks.ErrTooDeep) {
			refused++
		}
	})
	call := &hooks.ToolCall{Name: "fetch"}
	require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, seamReturns("page")))
	assert.Equal(t, "page", call.Result)
	assert.Nil(t, call.Blocked)
	assert.Less(t, opened, 100, "the recursion ends")
	assert.Positive(t, refused)
}

// What a hook opens is nested, and all that runs in it; what hooks are called
// for isn't.
func TestNested_tellsWhatHooksOpened(t *testing.T) {
	t.Parallel()
	var none context.Context
	assert.False(t, hooks.Nested(none))
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		assert.False(t, hooks.Nested(ctx))
		var tr trace
		open := false // in which call the hook opens another
		at := func(where string) func(ctx context.Context) {
			return func(ctx context.Context) { tr.add(fmt.Sprint(where, "=", hooks.Nested(ctx))) }
		}
		inside := func(ctx context.Context, _ seamContext) error {
			at("body")(ctx)
			at("scope")(hooks.WithScope(hooks.WithCaller(ctx, hooks.Caller{AgentRole: "Judge"}), hooks.NewRegistry()))
			return hooks.RunStep(ctx, &hooks.Step{}, func(ctx context.Context, _ *hooks.Step) error { at("below")(ctx); return nil })
		}
		if d.pre == hooks.PreStep.Name() {
			inside = func(ctx context.Context, _ seamContext) error {
				at("body")(ctx)
				at("scope")(ctx)
				at("below")(ctx)
				return nil
			}
		}
		d.onPre(r, func(ctx context.Context, _ seamContext) error {
			at("pre")(ctx)
			if open {
				open = false
				return d.run(ctx, d.fresh(), inside)
			}
			return nil
		})
		d.onPost(r, func(ctx context.Context, _ seamContext) error { at("guard")(ctx); return nil }, hooks.AsGuard())
		require.NoError(t, d.run(ctx, d.fresh(), inside))
		assert.Equal(t, "pre=false body=false scope=false below=false guard=false", tr.take())

		open = true
		require.NoError(t, d.run(ctx, d.fresh(), inside))
		assert.Equal(t, "pre=false pre=true body=true scope=true below=true guard=true body=false scope=false below=false guard=false", tr.take())
	})
}

func TestNested_tellsOnlookersAlike(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	opened := false
	hooks.Watch(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall, _ error) {
		tr.add(fmt.Sprint(c.Name, " watch=", hooks.Nested(ctx)))
		if !opened {
			opened = true
			_ = hooks.RunTool(ctx, &hooks.ToolCall{Name: "inner"}, seamReturns("a"))
		}
	}, hooks.In(r))
	r.Observe(func(ctx context.Context, ev hooks.HookDispatchedEvent) {
		tr.add(fmt.Sprint(ev.ToolName, " observer=", hooks.Nested(ctx)))
	})
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "outer"}, seamReturns("a")))
	assert.Equal(t, "outer watch=false inner watch=true inner observer=true outer observer=false", tr.take())
}

// A judge that calls a model through the seams passes its own calls over, also
// those that it makes when the seam it judged is long over.
func TestNested_letsAJudgePassItselfOver(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(wg *sync.WaitGroup, call func()){
		"at once": func(_ *sync.WaitGroup, call func()) { call() },
		"later":   func(wg *sync.WaitGroup, call func()) { wg.Go(call) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var wg sync.WaitGroup
			var judged, passedOver, asked atomic.Int32
			over := make(chan struct{})
			seamOnModel(r, hooks.PostModelCall, func(ctx context.Context, _ *hooks.ModelCall) error {
				if hooks.Nested(ctx) {
					passedOver.Add(1)
					return nil
				}
				judged.Add(1)
				start(&wg, func() {
					if name == "later" {
						<-over
					}
					assert.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{Model: "judge"}, func(context.Context, *hooks.ModelCall) error {
						asked.Add(1)
						return nil
					}))
				})
				return nil
			}, hooks.AsGuard())
			for range 3 {
				require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{}, seamSaysNothing))
			}
			close(over)
			wg.Wait()
			assert.Equal(t, []int32{3, 3, 3}, []int32{judged.Load(), asked.Load(), passedOver.Load()})
		})
	}
}

// What onlookers open is bounded, however many of them there are, of whatever
// kind, and whatever they open; and it changes nothing for the call they look at.
func TestNest_boundsOnlookers(t *testing.T) {
	t.Parallel()
	again := func(ctx context.Context) { _ = hooks.RunTool(ctx, &hooks.ToolCall{Name: "notify"}, seamReturns("ok")) }
	for name, look := range map[string]func(r *hooks.Registry, seen func()) (wait func()){
		"an observer": func(r *hooks.Registry, seen func()) func() {
			r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { seen(); again(ctx) })
			return nil
		},
		"two observers that open two": func(r *hooks.Registry, seen func()) func() {
			for range 2 {
				r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { seen(); again(ctx); again(ctx) })
			}
			return nil
		},
		"an observer of another ctx": func(r *hooks.Registry, seen func()) func() {
			r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { seen(); again(context.WithoutCancel(ctx)) })
			return nil
		},
		"an observer that opens a step": func(r *hooks.Registry, seen func()) func() {
			r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
				seen()
				_ = hooks.RunStep(ctx, &hooks.Step{}, func(ctx context.Context, _ *hooks.Step) error { again(ctx); return nil })
			})
			return nil
		},
		"watches": func(r *hooks.Registry, seen func()) func() {
			for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
				hooks.Watch(p, func(ctx context.Context, _ *hooks.ToolCall, _ error) { seen(); again(ctx) }, hooks.In(r))
			}
			return nil
		},
		"watches and an observer": func(r *hooks.Registry, seen func()) func() {
			for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
				hooks.Watch(p, func(ctx context.Context, _ *hooks.ToolCall, _ error) { seen(); again(ctx) }, hooks.In(r))
			}
			r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { seen(); again(ctx) })
			return nil
		},
		"an observer that works later": func(r *hooks.Registry, seen func()) func() {
			idle := make(chan struct{}, 1)
			var open atomic.Int64
			a := hooks.NewAsyncObserver(func(ctx context.Context, _ hooks.HookDispatchedEvent) {
				seen()
				again(ctx)
				if open.Add(-1) == 0 {
					idle <- struct{}{}
				}
			}, 1<<16)
			r.Observe(func(ctx context.Context, ev hooks.HookDispatchedEvent) { open.Add(1); a.Handle(ctx, ev) })
			return func() {
				<-idle
				assert.NoError(t, a.Close(context.Background()))
				assert.Zero(t, a.Dropped())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			var seen, hooked atomic.Int64
			seamOnTool(r, hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { hooked.Add(1); return nil })
			seamOnTool(r, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { hooked.Add(1); return nil })
			wait := look(r, func() { seen.Add(1) })
			call := &hooks.ToolCall{Name: "fetch"}
			finishes(t, name, func() {
				assert.NoError(t, hooks.RunTool(ctx, call, seamReturns("page")))
				if wait != nil {
					wait()
				}
			})
			assert.Equal(t, "page", call.Result)
			assert.False(t, call.IsError())
			assert.Positive(t, seen.Load())
			assert.Less(t, seen.Load(), int64(1000))
			assert.Positive(t, hooked.Load())
		})
	}
}

// What a hook starts and doesn't wait for is no nest: whether it begins when the
// seam has ended or before, and however far its ctx is from the hook's.
func TestNest_followUpsAreNone(t *testing.T) {
	t.Parallel()
	const generations = 60
	detach := func(ctx context.Context) context.Context {
		return hooks.WithScope(hooks.WithCaller(context.WithoutCancel(ctx), hooks.Caller{Tenant: "t"}), hooks.NewRegistry())
	}
	same := func(ctx context.Context) context.Context { return ctx }
	for name, tc := range map[string]struct {
		overlap bool
		ctx     func(context.Context) context.Context
	}{
		"afterwards": {false, same}, "afterwards, detached": {false, detach},
		"overlapping": {true, same}, "overlapping, detached": {true, detach},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
				var n atomic.Int64
				results := make(chan error, generations)
				run := func(ctx context.Context, previous <-chan struct{}, begun chan<- struct{}) {
					if !tc.overlap {
						<-previous
					}
					returned := make(chan struct{})
					defer close(returned)
					results <- d.run(context.WithValue(ctx, seamTraceKey{}, returned), d.fresh(), func(context.Context, seamContext) error {
						close(begun)
						<-previous
						return nil
					})
				}
				d.onPost(r, func(ctx context.Context, _ seamContext) error {
					if n.Add(1) == generations {
						return nil
					}
					begun := make(chan struct{})
					go run(tc.ctx(ctx), ctx.Value(seamTraceKey{}).(chan struct{}), begun)
					if tc.overlap {
						<-begun
					}
					return nil
				})
				first := make(chan struct{})
				close(first)
				finishes(t, name, func() {
					run(ctx, first, make(chan struct{}))
					for range generations {
						if err := <-results; !assert.NoError(t, err) {
							return
						}
					}
				})
				assert.EqualValues(t, generations, n.Load())
			})
		})
	}
}

// A follow-up that recurses is stopped as any other hook is.
func TestNest_followUpMayNotRecurse(t *testing.T) {
	t.Parallel()
	seamEach(t, seamDrivers(), func(t *testing.T, ctx context.Context, r *hooks.Registry, d seamDriver) {
		recurses := false
		followUp := make(chan error, 1)
		ended := make(chan struct{})
		d.onPost(r, func(ctx context.Context, _ seamContext) error {
			if recurses {
				return d.run(ctx, d.fresh(), seamProceed)
			}
			go func() {
				<-ended
				recurses = true
				followUp <- d.run(context.WithoutCancel(ctx), d.fresh(), seamProceed)
			}()
			return nil
		})
		require.NoError(t, d.run(ctx, d.fresh(), seamProceed))
		close(ended)
		finishes(t, "the follow-up", func() { assert.ErrorIs(t, <-followUp, hooks.ErrTooDeep) })
	})
}
