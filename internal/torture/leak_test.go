package torture_test

// What comes and goes must leave neither memory nor goroutines: hooks,
// observers, scopes, timeouts, questions and runs that end badly.

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// The tests of this file look at the heap and the goroutines of the process
// and don't run in parallel.

// leakCheck requires the heap and the goroutines to be after f what they
// were before.
func leakCheck(t *testing.T, f func()) {
	t.Helper()
	f() // what is made once for the process is made now
	heap, goroutines := heapInUse(), runtime.NumGoroutine()
	f()
	finishes(t, "goroutines that should have ended", func() {
		for runtime.NumGoroutine() > goroutines+1 { // and this one
			runtime.Gosched()
		}
	})
	assert.Less(t, heapInUse()-heap, int64(megabyte))
}

func TestLeak_hooksInACrowdedChain(t *testing.T) {
	p := newPoint[job](t)
	ctx, r := newRun(t)
	for i := range 10 {
		hooks.On(p, fails[job](nil), hooks.In(r), hooks.WithPriority(i%3), hooks.WithTools("read_file", "tool*"))
		hooks.On(p, fails[job](nil), hooks.In(r), hooks.AsGuard())
	}
	standing := r.String()
	leakCheck(t, func() {
		for i := range many(160_000) {
			buffer := make([]byte, 64)
			fn := func(context.Context, *job) error { buffer[0]++; return nil }
			switch i % 4 {
			case 0:
				require.True(t, hooks.On(p, fn, hooks.In(r), hooks.WithPriority(1)).Remove())
			case 1:
				require.True(t, r.Unregister(hooks.On(p, fn, hooks.In(r), hooks.AsGuard(), hooks.WithTools("Read File"))))
			case 2:
				hooks.On(p, fn, hooks.In(r), hooks.WithOnce())
				require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
			case 3:
				hooks.On(p, fn, hooks.WithPriority(i%7))
				require.Equal(t, 1, hooks.Clear(p))
			}
		}
	})
	assert.Equal(t, standing, r.String())
}

func TestLeak_observers(t *testing.T) {
	p := newPoint[job](t)
	ctx, r := newRun(t)
	hooks.On(p, fails[job](nil), hooks.In(r))
	leakCheck(t, func() {
		seen := 0
		for i := range many(100_000) {
			buffer := make([]byte, 64)
			observe := func(context.Context, hooks.HookDispatchedEvent) { buffer[0]++; seen++ }
			one, other := r.Observe(observe), hooks.Observe(observe)
			if i%10 == 0 {
				require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
			}
			require.True(t, other.Remove())
			require.True(t, one.Remove())
		}
		require.Equal(t, 2*((many(100_000)+9)/10), seen)
	})
}

func TestLeak_closedAsyncObservers(t *testing.T) {
	p := newPoint[job](t)
	ctx, r := newRun(t)
	var ran atomic.Int64
	hooks.On(p, counter[job](&ran), hooks.In(r))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	leakCheck(t, func() {
		for i := range many(20_000) {
			a := hooks.NewAsyncObserver(func(context.Context, hooks.HookDispatchedEvent) {
				if i%3 == 0 {
					runtime.Goexit()
				}
			}, 4)
			o := r.Observe(a.Handle)
			require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
			require.True(t, o.Remove())
			if i%2 == 0 {
				require.NoError(t, a.Close(t.Context()))
			} else {
				_ = a.Close(done) // gives up waiting
			}
		}
	})
	assert.EqualValues(t, 2*many(20_000), ran.Load())
}

// A whole run in scopes of its own, with everything that is bound to it and
// that nobody takes out.
func TestLeak_scopesThatNobodyCleansUp(t *testing.T) {
	ctx, outer := newRun(t)
	var ran, seen atomic.Int64
	hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), hooks.In(outer))
	leakCheck(t, func() {
		for range many(50_000) {
			crew, agent := hooks.NewRegistry(), new(hooks.Registry)
			for _, r := range []*hooks.Registry{crew, agent} {
				hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&ran), hooks.In(r), hooks.WithTools("Read File"))
				r.Observe(func(context.Context, hooks.HookDispatchedEvent) { seen.Add(1) })
			}
			ctx := hooks.WithScope(hooks.WithScope(ctx, crew), agent)
			ctx = hooks.WithHumanInput(hooks.WithCaller(ctx, hooks.Caller{RunID: "r"}), hooks.NewConsole(leakEndedReader{}, io.Discard))
			call := &hooks.ToolCall{Name: "read_file"}
			require.NoError(t, hooks.RunTool(ctx, call, func(ctx context.Context, c *hooks.ToolCall) error {
				_, err := c.RequestHumanInput(ctx, "p", "m")
				return err
			}))
			require.ErrorIs(t, call.Err, io.EOF)
		}
	})
	assert.EqualValues(t, 2*3*many(50_000), ran.Load())
	assert.EqualValues(t, 2*2*many(50_000), seen.Load())
}

// leakEndedReader is an input at its end.
type leakEndedReader struct{}

func (leakEndedReader) Read([]byte) (int, error) { return 0, io.EOF }

func TestLeak_hooksWithATimeout(t *testing.T) {
	p := newPoint[job](t)
	var ran atomic.Int64
	for _, err := range []error{nil, errBroken} {
		hooks.On(p, func(context.Context, *job) error {
			ran.Add(1)
			return err
		}, hooks.WithTimeout(time.Hour))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	leakCheck(t, func() {
		for range many(100_000) {
			require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
		}
	})
	assert.EqualValues(t, 2*2*many(100_000), ran.Load())
}

// leakSilentInput is a HumanInput that never gets an answer.
type leakSilentInput struct{ asked chan struct{} }

func (s leakSilentInput) RequestInput(ctx context.Context, _, _ string) (string, error) {
	s.asked <- struct{}{}
	<-ctx.Done()
	return "", ctx.Err()
}

// Of two that ask, one is being asked and one waits for its turn when both are
// cancelled.
func TestLeak_cancelledQuestions(t *testing.T) {
	leakCheck(t, func() {
		for range many(10_000) {
			h := leakSilentInput{make(chan struct{}, 2)}
			ctx, cancel := context.WithCancel(hooks.WithHumanInput(t.Context(), h))
			errs := make(chan error)
			for range 2 {
				go func() {
					_, err := new(hooks.ToolCall).RequestHumanInput(ctx, "p", "m")
					errs <- err
				}()
			}
			<-h.asked
			cancel()
			require.ErrorIs(t, <-errs, context.Canceled)
			require.ErrorIs(t, <-errs, context.Canceled)
		}
	})
}

// leakWriter is an output that is a function.
type leakWriter func(b []byte) (int, error)

func (w leakWriter) Write(b []byte) (int, error) { return w(b) }

// All of them wait for the one Read that can't be called back.
func TestLeak_cancelledQuestionsOfOneConsole(t *testing.T) {
	leakCheck(t, func() {
		in, answers := io.Pipe()
		asked := make(chan struct{}, 1)
		console := hooks.NewConsole(in, leakWriter(func(b []byte) (int, error) {
			asked <- struct{}{}
			return len(b), nil
		}))
		before := runtime.NumGoroutine()
		for range many(10_000) {
			ctx, cancel := context.WithCancel(hooks.WithHumanInput(t.Context(), console))
			done := make(chan error)
			go func() {
				_, err := new(hooks.ModelCall).RequestHumanInput(ctx, "p", "m")
				done <- err
			}()
			<-asked
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
		}
		finishes(t, "all but one reader", func() {
			for runtime.NumGoroutine() > before+2 { // the reader and this one
				runtime.Gosched()
			}
		})
		require.NoError(t, answers.Close())
	})
}

func TestLeak_runsThatEndBadly(t *testing.T) {
	scope, r := newRun(t)
	var before, after atomic.Int64
	hooks.On(hooks.PreToolCall, counter[hooks.ToolCall](&before), hooks.In(r))
	hooks.On(hooks.PostToolCall, counter[hooks.ToolCall](&after), hooks.In(r))
	leakCheck(t, func() {
		for i := range many(10_000) {
			ctx, cancel := context.WithCancel(scope)
			calls := []*hooks.ToolCall{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
			err := hooks.RunTools(ctx, calls, 1+i%3, func(ctx context.Context, c *hooks.ToolCall) error {
				switch c.Name {
				case "a":
					panic("boom")
				case "b":
					runtime.Goexit()
				case "c":
					cancel()
				}
				return nil
			})
			require.Error(t, err)
			cancel()
		}
	})
	assert.GreaterOrEqual(t, before.Load(), int64(2*many(10_000)), "each run begins a call")
	assert.Equal(t, before.Load(), after.Load())
}
