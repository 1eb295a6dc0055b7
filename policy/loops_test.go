package policy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loopRun makes calls one after the other in one execution and returns which of them were
// refused by the policy: "+" for a call that wasn't, "-" for one that was, and "!" for
// one that stopped the run. A call is written as name=result; its arguments are {}.
func loopRun(t *testing.T, p policy.Loops, calls string, opts ...hooks.Option) (refused string) {
	t.Helper()
	reg := hooks.NewRegistry()
	p.Register(append([]hooks.Option{hooks.In(reg)}, opts...)...)
	hookstest.Run(t, reg, func(ctx context.Context) {
		for call := range strings.FieldsSeq(calls) {
			name, result, _ := strings.Cut(call, "=")
			refused += loopStep(t, ctx, &hooks.ToolCall{ID: "c", Name: name}, limitBody(result))
		}
	})
	return refused
}

func loopStep(t *testing.T, ctx context.Context, call *hooks.ToolCall, body hooks.Func[hooks.ToolCall]) string {
	t.Helper()
	err := hooks.RunTool(ctx, call, body)
	if call.Blocked == nil {
		return "+"
	}
	assert.Regexp(t, `^the same call gave the same result [1-9]\d* times?; try something else or say what is missing$`, call.Blocked.Reason)
	if err == nil {
		return "-"
	}
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(t, ok)
	assert.True(t, abort.StopRun)
	assert.Equal(t, call.Blocked.Reason, abort.Reason)
	return "!"
}

func TestLoops_refuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy policy.Loops
		calls  string
		want   string
	}{
		"the fourth equal call":                 {policy.Loops{}, "a a a a", "+++-"},
		"in any spelling":                       {policy.Loops{}, "readFile read_file Read-File READ_FILE", "+++-"},
		"not another tool":                      {policy.Loops{}, "a a a b", "++++"},
		"not a poll that changes":               {policy.Loops{}, "a=1 a=2 a=3 a=4 a=5 a=6 a=7 a=8 a=9 a=10", "++++++++++"},
		"not a poll that changes now and then":  {policy.Loops{}, "a=1 a=1 a=2 a=2 a=1 a=1 a=3 a=3", "++++++++"},
		"not a poll that alternates":            {policy.Loops{}, "a=1 a=2 a=1 a=2 a=1 a=2 a=1 a=2", "++++++++"},
		"not after another call":                {policy.Loops{Cycle: 1}, "a a b a a b a a b a", "++++++++++"},
		"a poll that has come to rest":          {policy.Loops{}, "a=1 a=2 a=2 a=2 a=2", "++++-"},
		"a cycle of two":                        {policy.Loops{}, "a b a b a b a", "++++++-"},
		"a cycle where it begins later":         {policy.Loops{}, "c a b a b a b a", "+++++++-"},
		"not what leaves a cycle":               {policy.Loops{}, "a b a b a b c a b", "+++++++++"},
		"not the same again behind a cycle":     {policy.Loops{}, "a b a b a b b", "+++++++"},
		"the next of a cycle, too":              {policy.Loops{Stop: -1}, "a b a b a b a b a", "++++++---"},
		"not a cycle with other results":        {policy.Loops{}, "a=1 b=1 a=2 b=1 a=3 b=1 a=4", "+++++++"},
		"a cycle of three":                      {policy.Loops{}, "a b c a b c a b c a", "+++++++++-"},
		"a cycle of four with equal calls":      {policy.Loops{}, "a a b b a a b b a a b b a", "++++++++++++-"},
		"no longer cycle":                       {policy.Loops{}, "a b c d e a b c d e a b c d e a", "++++++++++++++++"},
		"a longer cycle if asked to":            {policy.Loops{Cycle: 5}, "a b c d e a b c d e a b c d e a", "+++++++++++++++-"},
		"no cycle with Cycle 1":                 {policy.Loops{Cycle: 1}, "a b a b a b a b a b", "++++++++++"},
		"the second with Same 1":                {policy.Loops{Same: 1}, "a a", "+-"},
		"not what comes back with Same 1":       {policy.Loops{Same: 1}, "a b a c", "++++"},
		"the third round with Same 1":           {policy.Loops{Same: 1}, "a b a b a", "++++-"},
		"with a Window that is too small":       {policy.Loops{Window: 1, Same: 5}, "a a a a a a", "+++++-"},
		"a cycle in a Window that is too small": {policy.Loops{Window: 1, Cycle: 2, Same: 2}, "a b a b a", "++++-"},
		"stopping the run at the third":         {policy.Loops{}, "a a a a a a", "+++--!"},
		"stopping the run at the first":         {policy.Loops{Stop: 1}, "a a a a", "+++!"},
		"never stopping":                        {policy.Loops{Stop: -1}, "a a a a a a a a", "+++-----"},
		"counting refusals in a row only":       {policy.Loops{}, "a a a a a b a a a a a", "+++--++++--"},
		"counting refusals of different calls":  {policy.Loops{}, "a b a b a b a b a", "++++++--!"},
		"nothing of an empty run":               {policy.Loops{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, loopRun(t, tt.policy, tt.calls))
		})
	}
}

func TestLoops_reason(t *testing.T) {
	t.Parallel()
	for same, want := range map[int]string{
		0: "the same call gave the same result 3 times; try something else or say what is missing",
		1: "the same call gave the same result 1 time; try something else or say what is missing",
		5: "the same call gave the same result 5 times; try something else or say what is missing",
	} {
		reg := hooks.NewRegistry()
		policy.Loops{Same: same}.Register(hooks.In(reg), hooks.WithName("loops"))
		hookstest.Run(t, reg, func(ctx context.Context) {
			for {
				call := &hooks.ToolCall{Name: "x", Input: map[string]any{"key": "secret"}}
				require.NoError(t, hooks.RunTool(ctx, call, limitBody("secret")))
				if !call.Ran() {
					assert.Equal(t, want, call.Blocked.Reason)
					assert.Equal(t, "loops", call.Blocked.Source)
					return
				}
			}
		})
	}
}

func TestLoops_comparesArguments(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{Stop: -1}.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) {
		step := func(input map[string]any) string {
			return loopStep(t, ctx, &hooks.ToolCall{Name: "x", Input: input}, limitBody("ok"))
		}
		for range 3 {
			assert.Equal(t, "+", step(map[string]any{"a": 1, "b": []string{"x"}}))
		}
		assert.Equal(t, "-", step(map[string]any{"b": []any{"x"}, "a": 1.0}), "equal as JSON")
		assert.Equal(t, "+", step(map[string]any{"a": 2, "b": []string{"x"}}))
		assert.Equal(t, "+", step(nil))
		assert.Equal(t, "+", step(map[string]any{}))
		assert.Equal(t, "+", step(nil))
		assert.Equal(t, "-", step(map[string]any{}))
	})
}

func TestLoops_comparesResults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body func(i int) hooks.Func[hooks.ToolCall]
		want string
	}{
		"failures": {func(int) hooks.Func[hooks.ToolCall] {
			return func(context.Context, *hooks.ToolCall) error { return errors.New("down") }
		}, "+++-"},
		"a text and a failure with it": {func(i int) hooks.Func[hooks.ToolCall] {
			if i == 2 {
				return limitBody("down")
			}
			return func(context.Context, *hooks.ToolCall) error { return errors.New("down") }
		}, "++++"},
		"timeouts of the tool": {func(int) hooks.Func[hooks.ToolCall] {
			return func(context.Context, *hooks.ToolCall) error { return context.DeadlineExceeded }
		}, "+++-"},
		"tools that aren't there": {func(int) hooks.Func[hooks.ToolCall] {
			return func(context.Context, *hooks.ToolCall) error { return hooks.ErrNoTool }
		}, "+++-"},
		"panics": {func(int) hooks.Func[hooks.ToolCall] {
			return func(context.Context, *hooks.ToolCall) error { panic("oh") }
		}, "+++-"},
		"interrupted calls": {func(i int) hooks.Func[hooks.ToolCall] {
			if i == 3 {
				return limitBody("ok")
			}
			return func(context.Context, *hooks.ToolCall) error { return context.Canceled }
		}, "++++"},
		"parts": {func(int) hooks.Func[hooks.ToolCall] {
			return func(_ context.Context, t *hooks.ToolCall) error {
				t.Parts = []hooks.Part{{Kind: "text", Text: "a"}, {Kind: "text"}}
				return nil
			}
		}, "+++-"},
		"images": {func(int) hooks.Func[hooks.ToolCall] {
			return func(_ context.Context, t *hooks.ToolCall) error {
				t.Parts = []hooks.Part{{Kind: "text", Text: "a"}, {Kind: "image"}}
				return nil
			}
		}, "++++"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := hooks.NewRegistry()
			policy.Loops{}.Register(hooks.In(reg))
			got := ""
			hookstest.Run(t, reg, func(ctx context.Context) {
				for i := range 4 {
					got += loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, tt.body(i))
				}
			})
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestLoops_interruptedCallsAreAsIfTheyWerent(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{}.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) {
		step := func(ctx context.Context) string {
			return loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok"))
		}
		for range 2 {
			require.Equal(t, "+", step(ctx))
		}
		stopped, cancel := context.WithCancel(ctx)
		hook := hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { cancel(); return nil }, hooks.In(reg))
		require.ErrorIs(t, hooks.RunTool(stopped, &hooks.ToolCall{Name: "x"}, neverRuns(t)), context.Canceled)
		hook.Remove()

		wait := hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.PassThrough(errors.New("wait")) }, hooks.In(reg))
		call := &hooks.ToolCall{Name: "x"}
		require.Error(t, hooks.RunTool(ctx, call, neverRuns(t)))
		wait.Remove()

		require.Error(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "x"}, func(context.Context, *hooks.ToolCall) error {
			return hooks.PassThrough(errors.New("wait"))
		}))

		require.NoError(t, hooks.RunTool(ctx, call, limitBody("ok")), "it goes on")
		assert.True(t, call.Ran())
		assert.Equal(t, "-", step(ctx))
	})
}

func TestLoops_countsWhatOthersRefuse(t *testing.T) {
	t.Parallel()
	for _, priority := range []int{900, 0} { // in front and behind
		reg := hooks.NewRegistry()
		policy.Loops{}.Register(hooks.In(reg))
		no := hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") },
			hooks.In(reg), hooks.WithPriority(priority))
		hookstest.Run(t, reg, func(ctx context.Context) {
			for range 3 {
				call := &hooks.ToolCall{Name: "x"}
				require.NoError(t, hooks.RunTool(ctx, call, neverRuns(t)))
				assert.Equal(t, "no", limitReason(call))
			}
			no.Remove()
			assert.Equal(t, "-", loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, neverRuns(t)))
		})
	}
}

func TestLoops_passesOverArgumentsThatCantBeRead(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{}.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) {
		empty := func() string { return loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok")) }
		for range 5 {
			call := &hooks.ToolCall{Name: "x"}
			require.Error(t, call.SetArguments("{"))
			require.NoError(t, hooks.RunTool(ctx, call, neverRuns(t)))
			assert.Nil(t, call.Blocked)
		}
		assert.Equal(t, "++", empty()+empty(), "it is another call")
		call := &hooks.ToolCall{Name: "x"}
		require.Error(t, call.SetArguments("{"))
		require.NoError(t, hooks.RunTool(ctx, call, neverRuns(t)))
		assert.Equal(t, "+++-", empty()+empty()+empty()+empty(), "which stands in between")
	})
}

func TestLoops_failsOnArgumentsThatJSONCantHold(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{}.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) {
		call := &hooks.ToolCall{Name: "x", Input: map[string]any{"n": math.NaN()}}
		require.NoError(t, hooks.RunTool(ctx, call, neverRuns(t)))
		assert.Equal(t, "policy.Loops failed", limitReason(call))
	})
}

func TestLoops_needsARun(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Loops{}.Register(hooks.In(reg))
	call := &hooks.ToolCall{Name: "x"}
	require.NoError(t, hooks.RunTool(ctx, call, neverRuns(t)))
	require.NotNil(t, call.Blocked)
	assert.EqualError(t, call.Blocked.Err, "policy: Loops needs hooks.RunExecution around the call")
}

func TestLoops_equalCallsOfOneTurnRun(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 1} {
		reg := hooks.NewRegistry()
		policy.Loops{}.Register(hooks.In(reg))
		hookstest.Run(t, reg, func(ctx context.Context) {
			calls := []*hooks.ToolCall{{Name: "x"}, {Name: "x"}, {Name: "x"}}
			require.NoError(t, hooks.RunTools(ctx, calls, limit, limitBody("ok")))
			for _, call := range calls {
				assert.True(t, call.Ran())
			}
			assert.Equal(t, "-", loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, neverRuns(t)))
		})
	}
}

func TestLoops_subAgentsHaveTheirOwn(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{}.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) {
		for range 2 {
			call := &hooks.ToolCall{Name: "delegate"}
			require.NoError(t, hooks.RunTool(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error {
				return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
					for range 3 {
						assert.Equal(t, "+", loopStep(t, ctx, &hooks.ToolCall{Name: "read"}, limitBody("ok")))
					}
					return nil
				})
			}))
			assert.Equal(t, "+", loopStep(t, ctx, &hooks.ToolCall{Name: "read"}, limitBody("ok")))
		}
	})
}

func TestLoops_remembersWhatTheModelAskedFor(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{}.Register(hooks.In(reg))
	n := 0
	hooks.Around(hooks.ToolBody, func(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
		n++
		t.Input = map[string]any{"idempotency_key": n}
		return next(ctx)
	}, hooks.In(reg))
	got := ""
	hookstest.Run(t, reg, func(ctx context.Context) {
		for range 4 {
			got += loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok"))
		}
	})
	assert.Equal(t, "+++-", got)
}

func TestLoops_callThatTwoLayersRunCountsOnce(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{}.Register(hooks.In(reg))
	got := ""
	hookstest.Run(t, reg, func(ctx context.Context) {
		for range 4 {
			got += loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, func(ctx context.Context, t *hooks.ToolCall) error {
				return hooks.RunTool(ctx, t, limitBody("ok"))
			})
		}
	})
	assert.Equal(t, "+++-", got)
}

func TestLoops_refusesARefusedCallThatIsDispatchedAgain(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{Stop: -1}.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) {
		for range 3 {
			require.Equal(t, "+", loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok")))
		}
		call := &hooks.ToolCall{Name: "x"}
		require.Error(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
		require.Error(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
	})
}

func TestLoops_otherToolsAreAsIfTheyWerentThere(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "+++++++-", loopRun(t, policy.Loops{}, "poll b poll b b b poll poll", hooks.WithTools("poll")))
}

func TestLoops_registeredTwiceIsTwo(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{}.Register(hooks.In(reg))
	policy.Loops{Same: 2}.Register(hooks.In(reg)).Remove()
	got := ""
	hookstest.Run(t, reg, func(ctx context.Context) {
		for range 4 {
			got += loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok"))
		}
	})
	assert.Equal(t, "+++-", got)
}

func TestLoops_concurrentSafe(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{Stop: -1}.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) {
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 50 {
					_ = hooks.RunTool(ctx, &hooks.ToolCall{Name: fmt.Sprint((g + i) % 3)}, limitBody("ok"))
				}
			})
		}
		all.Wait()
	})
}

func TestLoops_panicsOnWhatCantBeMeant(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]policy.Loops{
		"same": {Same: -1}, "cycle": {Cycle: -1}, "window": {Window: -1}, "stop": {Stop: -2}, "more than can be": {Same: math.MaxInt, Cycle: 2},
	} {
		reg := hooks.NewRegistry()
		assert.Panics(t, func() { p.Register(hooks.In(reg)) }, name)
		assert.Equal(t, "no hooks\n", reg.String())
	}
	reg := hooks.NewRegistry()
	assert.Panics(t, func() { policy.Loops{}.Register(hooks.In(reg), hooks.WithOnce()) })
	assert.Equal(t, "no hooks\n", reg.String())
}

func TestLoops_registrations(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	group := policy.Loops{}.Register(hooks.In(reg))
	assert.Equal(t, "pre_tool_call\n  policy.Loops priority=500 guard\npost_tool_call\n  policy.Loops watch\n", reg.String())
	assert.True(t, group.Remove())
	assert.Equal(t, "no hooks\n", reg.String())
}

func TestLoops_remembersWhatHooksAroundTheBodyFail(t *testing.T) {
	t.Parallel()
	open := errors.New("the service is down")
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"an error":              {open, "+++-"},
		"an error of its ctx":   {fmt.Errorf("no turn: %w", context.DeadlineExceeded), "+++-"},
		"an interrupted waiter": {fmt.Errorf("no turn: %w", context.Canceled), "++++"},
		"something that waits":  {hooks.PassThrough(open), "++++"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := hooks.NewRegistry()
			policy.Loops{}.Register(hooks.In(reg))
			hooks.Around(hooks.ToolBody, func(context.Context, *hooks.ToolCall, func(context.Context) error) error { return tt.err }, hooks.In(reg))
			got := ""
			hookstest.Run(t, reg, func(ctx context.Context) {
				for range 4 {
					call := &hooks.ToolCall{Name: "x"}
					_ = hooks.RunTool(ctx, call, neverRuns(t))
					if call.Blocked == nil {
						got += "+"
					} else {
						got += "-"
					}
				}
			})
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestLoops_forgetsWhatDoesntRunSinceTheRunEnds(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Loops{Same: 1}.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) {
		stop := hooks.On(hooks.PreToolCall, func(ctx context.Context, t *hooks.ToolCall) error {
			if t.Name == "stop" {
				return &hooks.HookAborted{Reason: "over", StopRun: true}
			}
			return nil
		}, hooks.In(reg), hooks.WithFailClosed())
		calls := []*hooks.ToolCall{{ID: "1", Name: "stop"}, {ID: "2", Name: "x"}}
		require.Error(t, hooks.RunTools(ctx, calls, 0, neverRuns(t)))
		assert.False(t, calls[1].Ran())
		stop.Remove()
		assert.Equal(t, "+", loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok")))
		assert.Equal(t, "-", loopStep(t, ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok")))
	})
}
