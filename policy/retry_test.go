package policy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// statusError is an error as HTTP clients have it.
type statusError int

func (e statusError) Error() string   { return fmt.Sprint("status ", int(e)) }
func (e statusError) StatusCode() int { return int(e) }

// oddError says of itself what its fields say.
type oddError struct{ temporary, timeout bool }

func (e oddError) Error() string   { return "odd" }
func (e oddError) Temporary() bool { return e.temporary }
func (e oddError) Timeout() bool   { return e.timeout }

// afterError asks for a wait.
type afterError struct {
	statusError
	after time.Duration
}

func (e afterError) RetryAfter() time.Duration { return e.after }

// circle wraps itself.
type circle struct{}

func (circle) Error() string   { return "circle" }
func (c circle) Unwrap() error { return c }

// claims makes itself an abort by its As method.
type claims struct{}

func (claims) Error() string { return "claims" }
func (claims) As(target any) bool {
	abort, ok := target.(**hooks.HookAborted)
	if ok {
		*abort = &hooks.HookAborted{Reason: "no"}
	}
	return ok
}

func TestRetry_triesAgainWhatMayPass(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err         error
		model, tool bool
	}{
		"408":                                {statusError(408), true, true},
		"429":                                {statusError(429), true, true},
		"500":                                {statusError(500), true, true},
		"502":                                {statusError(502), true, true},
		"503":                                {statusError(503), true, true},
		"504":                                {statusError(504), true, true},
		"529":                                {statusError(529), true, true},
		"wrapped":                            {fmt.Errorf("asking: %w", statusError(503)), true, true},
		"joined":                             {errors.Join(errBoom, statusError(503)), true, true},
		"400":                                {statusError(400), false, false},
		"401":                                {statusError(401), false, false},
		"501":                                {statusError(501), false, false},
		"200":                                {statusError(200), false, false},
		"says nothing":                       {errBoom, false, false},
		"temporary":                          {oddError{temporary: true}, true, true},
		"not temporary":                      {oddError{}, false, false},
		"timed out":                          {oddError{timeout: true}, true, false},
		"temporary and timed out":            {oddError{temporary: true, timeout: true}, true, false},
		"deadline":                           {context.DeadlineExceeded, true, false},
		"deadline beside a status":           {errors.Join(statusError(503), os.ErrDeadlineExceeded), true, false},
		"marked":                             {policy.Temporary(errBoom, 0), true, true},
		"marked with a wait":                 {policy.Temporary(errBoom, time.Second), true, true},
		"marked though it timed out":         {policy.Temporary(context.DeadlineExceeded, 0), true, true},
		"marked and wrapped":                 {fmt.Errorf("x: %w", policy.Temporary(statusError(400), 0)), true, true},
		"reset":                              {&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true, false},
		"refused":                            {&url.Error{Op: "Post", URL: "http://x", Err: syscall.ECONNREFUSED}, true, false},
		"ended too early":                    {fmt.Errorf("body: %w", io.ErrUnexpectedEOF), true, false},
		"EOF":                                {io.EOF, false, false},
		"cancelled by somebody else":         {context.Canceled, false, false},
		"no such tool":                       {hooks.ErrNoTool, false, false},
		"abort, though temporary":            {errors.Join(hooks.Abort("no"), statusError(503)), false, false},
		"abort by its As":                    {errors.Join(claims{}, statusError(503)), false, false},
		"interrupt":                          {hooks.PassThrough(statusError(503)), false, false},
		"waits":                              {&hooks.Suspended{Err: statusError(503)}, false, false},
		"too deep":                           {errors.Join(statusError(503), hooks.ErrTooDeep), false, false},
		"not again":                          {errors.Join(statusError(503), hooks.ErrNotAgain), false, false},
		"marked, but an abort":               {policy.Temporary(hooks.Abort("no"), 0), false, false},
		"marked, but an interrupt":           {policy.Temporary(hooks.PassThrough(errBoom), 0), false, false},
		"a circle":                           {circle{}, false, false},
		"a panic that somebody has returned": {&hooks.PanicError{Value: statusError(503)}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs := func(again bool) int {
					if again {
						return 2
					}
					return 1
				}
				reg := hooks.NewRegistry()
				policy.Retry{}.Register(hooks.In(reg))
				policy.Retry{Tools: []string{"search"}}.Register(hooks.In(reg))

				body, ran := failing(tt.err)
				_ = askModel(t.Context(), reg, &hooks.ModelCall{}, body)
				assert.Equal(t, runs(tt.model), *ran, "model")

				tool, ran := failingTool(tt.err)
				_ = callTool(t.Context(), reg, &hooks.ToolCall{Name: "Search"}, tool)
				assert.Equal(t, runs(tt.tool), *ran, "tool")
			})
		})
	}
}

func TestRetry_usageIsSummed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Retry{}.Register(hooks.In(reg))
		body, runs := failing(statusError(429), statusError(429))
		m := &hooks.ModelCall{}
		require.NoError(t, askModel(t.Context(), reg, m, body))
		assert.Equal(t, 3, *runs)
		assert.Equal(t, "fine", m.Response)
		assert.Equal(t, 30, m.Usage.In)
	})
}

func TestRetry_returnsTheLastErrorAsItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Retry{}.Register(hooks.In(reg))
		last := fmt.Errorf("third: %w", statusError(503))
		body, runs := failing(statusError(429), statusError(429), last, errBoom)
		assert.Same(t, last, askModel(t.Context(), reg, &hooks.ModelCall{}, body))
		assert.Equal(t, 3, *runs, "three by default")

		body, runs = failing(statusError(429), errBoom)
		assert.Same(t, errBoom, askModel(t.Context(), reg, &hooks.ModelCall{}, body), "no further attempt behind one that doesn't pass")
		assert.Equal(t, 2, *runs)
	})
}

func TestRetry_onlyWhatItIsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		names := []string{"get_*"}
		policy.Retry{Tools: names}.Register(hooks.In(reg))
		names[0] = "*"

		body, runs := failing(statusError(503))
		require.Error(t, askModel(t.Context(), reg, &hooks.ModelCall{}, body))
		assert.Equal(t, 1, *runs, "not a model")

		for name, want := range map[string]int{"getPage": 2, "GET-PAGE": 2, "pay": 1, "get": 1} {
			tool, runs := failingTool(statusError(503))
			require.NoError(t, callTool(t.Context(), reg, &hooks.ToolCall{Name: name}, tool))
			assert.Equal(t, want, *runs, name)
		}
	})
}

func TestRetry_waits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retry     policy.Retry
		errs      []error
		runs      int
		low, high time.Duration
	}{
		"default":                     {policy.Retry{}, []error{statusError(503)}, 2, 250 * time.Millisecond, 750*time.Millisecond + 1},
		"First":                       {policy.Retry{First: 10 * time.Second}, []error{statusError(503)}, 2, 5 * time.Second, 15*time.Second + 1},
		"longer each time":            {policy.Retry{First: 10 * time.Second}, []error{statusError(503), statusError(503)}, 3, 12500 * time.Millisecond, 37500*time.Millisecond + 2},
		"never over Most":             {policy.Retry{First: time.Second, Most: time.Second}, []error{statusError(503), statusError(503)}, 3, time.Second, 2 * time.Second},
		"Most below the default":      {policy.Retry{Most: 100 * time.Millisecond}, []error{statusError(503)}, 2, 50 * time.Millisecond, 100 * time.Millisecond},
		"First over the default Most": {policy.Retry{First: time.Minute}, []error{statusError(503)}, 2, 30 * time.Second, time.Minute},
		"asked for":                   {policy.Retry{}, []error{afterError{503, 7 * time.Second}}, 2, 7 * time.Second, 7 * time.Second},
		"asked for by the mark":       {policy.Retry{}, []error{policy.Temporary(errBoom, 7*time.Second)}, 2, 7 * time.Second, 7 * time.Second},
		"asked for, over Most":        {policy.Retry{Most: time.Second}, []error{afterError{503, 7 * time.Second}}, 2, 7 * time.Second, 7 * time.Second},
		"asked for, all of Total":     {policy.Retry{Total: 7 * time.Second}, []error{afterError{503, 7 * time.Second}}, 2, 7 * time.Second, 7 * time.Second},
		"asked for nothing":           {policy.Retry{}, []error{afterError{503, 0}}, 2, 250 * time.Millisecond, 750*time.Millisecond + 1},
		"asked for the past":          {policy.Retry{}, []error{policy.Temporary(errBoom, -time.Hour)}, 2, 250 * time.Millisecond, 750*time.Millisecond + 1},
		"asked for an hour":           {policy.Retry{}, []error{afterError{503, time.Hour}}, 1, 0, 0},
		"no room in Total":            {policy.Retry{First: 4 * time.Second, Total: time.Second}, []error{statusError(503)}, 1, 0, 0},
		"one attempt":                 {policy.Retry{Max: 1}, []error{statusError(503)}, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := hooks.NewRegistry()
				tt.retry.Register(hooks.In(reg))
				body, runs := failing(tt.errs...)
				began := time.Now()
				err := askModel(t.Context(), reg, &hooks.ModelCall{}, body)
				took := time.Since(began)
				assert.Equal(t, tt.runs, *runs)
				assert.GreaterOrEqual(t, took, tt.low)
				assert.LessOrEqual(t, took, tt.high)
				if tt.runs <= len(tt.errs) {
					assert.Equal(t, tt.errs[tt.runs-1], err)
				} else {
					assert.NoError(t, err)
				}
			})
		})
	}
}

func TestRetry_totalCountsWhatAttemptsTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Retry{Total: 10 * time.Second, Max: 9}.Register(hooks.In(reg))
		runs := 0
		_ = askModel(t.Context(), reg, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error {
			runs++
			time.Sleep(6 * time.Second)
			return statusError(503)
		})
		assert.Equal(t, 2, runs, "the third would begin after 12s")
	})
}

func TestRetry_doneCtx(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ctx    func(context.Context) (context.Context, context.CancelFunc)
		err    error
		joined error // nil: the error as it was
		took   time.Duration
	}{
		"deadline in a wait": {withTimeout(time.Second), statusError(429), context.DeadlineExceeded, time.Second},
		"cancelled in a wait": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, statusError(429), context.Canceled, time.Second},
		"cancelled in a wait that was asked for": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, afterError{429, time.Minute}, context.Canceled, time.Second},
		"asked for more than ctx has":    {withTimeout(time.Second), afterError{429, time.Minute}, nil, 0},
		"asked for all that ctx has":     {withTimeout(time.Minute), afterError{429, time.Minute}, nil, 0},
		"asked for a bit less than that": {withTimeout(time.Minute), afterError{429, time.Minute - 1}, nil, time.Minute - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := hooks.NewRegistry()
				policy.Retry{First: 20 * time.Second, Max: 2}.Register(hooks.In(reg))
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				began := time.Now()
				err := askModel(ctx, reg, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { return tt.err })
				assert.Equal(t, tt.took, time.Since(began))
				if tt.joined == nil {
					assert.Equal(t, tt.err, err)
					return
				}
				require.ErrorIs(t, err, tt.joined)
				require.ErrorIs(t, err, tt.err)
				assert.Equal(t, tt.err.Error()+"\n"+tt.joined.Error(), err.Error())
			})
		})
	}
}

func withTimeout(after time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, after)
	}
}

func TestRetry_ctxDoneInTheAttempt(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Retry{If: func(any, error) bool { return true }}.Register(hooks.In(reg))
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := askModel(ctx, reg, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error {
		runs++
		cancel()
		return statusError(503)
	})
	assert.Equal(t, statusError(503), err, "ctx ended no wait")
	assert.Equal(t, 1, runs)
}

func TestRetry_ifDecidesOnTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		var asked []string
		only := func(c any, err error) bool {
			asked = append(asked, fmt.Sprintf("%T %v", c, err))
			return errors.Is(err, errBoom)
		}
		policy.Retry{If: only}.Register(hooks.In(reg))
		policy.Retry{If: only, Tools: []string{"*"}}.Register(hooks.In(reg))

		body, runs := failing(errBoom, statusError(503))
		require.Error(t, askModel(t.Context(), reg, &hooks.ModelCall{}, body))
		assert.Equal(t, 2, *runs)

		tool, runs := failingTool(errBoom)
		require.NoError(t, callTool(t.Context(), reg, &hooks.ToolCall{Name: "x"}, tool))
		assert.Equal(t, 2, *runs)

		tool, runs = failingTool(hooks.Abort("no"))
		require.NoError(t, callTool(t.Context(), reg, &hooks.ToolCall{Name: "x"}, tool))
		assert.Equal(t, 1, *runs, "nobody is asked about what is never run again")
		assert.Equal(t, []string{"*hooks.ModelCall boom", "*hooks.ModelCall status 503", "*hooks.ToolCall boom"}, asked)
	})
}

// A hook that fails is passed over, and what it wrapped stands.
func TestRetry_ifThatPanics(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Retry{If: func(any, error) bool { panic("bug") }}.Register(hooks.In(reg))
	body, runs := failing(statusError(503))
	assert.Equal(t, statusError(503), askModel(t.Context(), reg, &hooks.ModelCall{}, body))
	assert.Equal(t, 1, *runs)
}

func TestRetry_panicOfTheBody(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Retry{If: func(any, error) bool { return true }}.Register(hooks.In(reg))
	runs := 0
	assert.PanicsWithValue(t, "bug", func() {
		_ = askModel(t.Context(), reg, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error {
			runs++
			panic("bug")
		})
	})
	assert.Equal(t, 1, runs)
}

func TestRetry_afterSomethingWasShown(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]hooks.ChunkKind{"text": hooks.ChunkText, "reasoning": hooks.ChunkReasoning} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := hooks.NewRegistry()
				policy.Retry{}.Register(hooks.In(reg))
				runs, began := 0, time.Now()
				failure := fmt.Errorf("broken: %w", statusError(503))
				err := askModel(t.Context(), reg, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
					runs++
					out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(hooks.Chunk) error { return nil })
					if err := out.Push(hooks.Chunk{Kind: kind, Text: "Well, "}); err != nil {
						return out.End(err)
					}
					return out.End(failure)
				})
				assert.Equal(t, 1, runs)
				assert.Same(t, failure, err)
				require.NotErrorIs(t, err, hooks.ErrNotAgain)
				if kind == hooks.ChunkText {
					assert.Zero(t, time.Since(began), "nothing to wait for")
				}
			})
		})
	}
}

func TestRetry_whileTheStreamIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Retry{}.Register(hooks.In(reg))
		hooks.Guard(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { return nil }, hooks.In(reg))
		runs, screen := 0, ""
		m := &hooks.ModelCall{}
		err := askModel(t.Context(), reg, m, func(ctx context.Context, m *hooks.ModelCall) error {
			runs++
			out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
				screen += c.Text
				return nil
			})
			_ = out.Push(hooks.Chunk{Text: fmt.Sprint("attempt ", runs)})
			if runs == 1 {
				return out.End(statusError(503))
			}
			return out.End(nil)
		})
		require.NoError(t, err)
		assert.Equal(t, "attempt 2", screen)
		assert.Equal(t, "attempt 2", m.Response)
	})
}

// What a hook inside of the retry refuses stays refused.
func TestRetry_abortInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Retry{}.Register(hooks.In(reg))
		attempts := 0
		hooks.Around(hooks.ModelBody, func(ctx context.Context, _ *hooks.ModelCall, next func(context.Context) error) error {
			if attempts++; attempts == 2 {
				return hooks.Abort("the budget is used up")
			}
			return next(ctx)
		}, hooks.In(reg), hooks.WithPriority(-900))
		body, runs := failing(statusError(503), statusError(503))
		err := askModel(t.Context(), reg, &hooks.ModelCall{}, body)
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "the budget is used up", abort.Reason)
		assert.Equal(t, 1, *runs)
		assert.Equal(t, 2, attempts)
	})
}

func TestRetry_toolThatRecoversHasNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Retry{Tools: []string{"search"}}.Register(hooks.In(reg))
		guarded := 0
		hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { guarded++; return nil }, hooks.In(reg))
		body, _ := failingTool(statusError(503))
		call := &hooks.ToolCall{Name: "search"}
		require.NoError(t, callTool(t.Context(), reg, call, body))
		assert.Equal(t, "fine", call.Result)
		assert.False(t, call.IsError())
		assert.Equal(t, 1, guarded, "the same input asks nobody")

		body, _ = failingTool(statusError(503), statusError(502), statusError(500))
		require.NoError(t, callTool(t.Context(), reg, call, body))
		assert.Equal(t, "status 500", call.Result)
		assert.Equal(t, statusError(500), call.Err)
	})
}

// Each call has its own attempts and waits.
func TestRetry_parallelCalls_ConcurrentSafe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Retry{}.Register(hooks.In(reg))
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				body, runs := failing(statusError(429), statusError(429))
				assert.NoError(t, askModel(t.Context(), reg, &hooks.ModelCall{}, body))
				assert.Equal(t, 3, *runs)
			})
		}
		group.Wait()
	})
}

func TestTemporary(t *testing.T) {
	t.Parallel()
	require.NoError(t, policy.Temporary(nil, time.Second))
	err := policy.Temporary(errBoom, time.Second)
	require.ErrorIs(t, err, errBoom)
	require.EqualError(t, err, "boom")
	says, ok := err.(interface {
		Temporary() bool
		RetryAfter() time.Duration
	})
	require.True(t, ok)
	assert.True(t, says.Temporary())
	assert.Equal(t, time.Second, says.RetryAfter())
}
