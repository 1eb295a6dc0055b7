package hooks_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestHooksRunInTheOrderOfRegistration(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	for _, name := range []string{"a", "b", "c"} {
		hooks.On(hooks.PreStep, note[hooks.Step](&tr, name), hooks.In(r))
	}
	for range 10 {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
		assert.Equal(t, "a b c", tr.take())
	}
}

// What kind a hook is decides how a dispatch finds it, never when it runs.
func TestEachKindOfHookRunsWhereItWasRegistered(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		name string
		opts []hooks.Option
	}{
		{"plain", nil},
		{"tool", []hooks.Option{hooks.WithTools("Read File")}},
		{"pattern", []hooks.Option{hooks.WithTools("read*")}},
		{"role", []hooks.Option{hooks.WithAgents("Writer")}},
		{"tool-and-role", []hooks.Option{hooks.WithTools("read_file"), hooks.WithAgents("Writer")}},
		{"fail-closed", []hooks.Option{hooks.WithFailClosed()}},
		{"timed", []hooks.Option{hooks.WithTimeout(time.Hour)}},
		{"other-spelling", []hooks.Option{hooks.WithTools("readFile", "other")}},
		{"once", []hooks.Option{hooks.WithOnce()}},
		{"plain-again", nil},
	}
	// Every rotation, so that each kind stands before and after each other one.
	for shift := range kinds {
		ctx, r := newRun(t)
		var tr trace
		want := ""
		for i := range kinds {
			k := kinds[(i+shift)%len(kinds)]
			hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, k.name), append(k.opts, hooks.In(r))...)
			if i > 0 {
				want += " "
			}
			want += k.name
		}
		call := &hooks.ToolCall{Name: "read_file", Caller: hooks.Caller{AgentRole: "Writer"}}
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
		assert.Equal(t, want, tr.take())
	}
}

func TestTheDefaultRegistryRunsBeforeScopesFromTheOutermostIn(t *testing.T) {
	t.Parallel()
	pre, post := newPoint[job](t), newPoint[job](t)
	outer, inner := hooks.NewRegistry(), hooks.NewRegistry()
	var tr trace
	// The inner ones are registered first, and with the highest priority.
	for _, p := range []hooks.Point[job]{pre, post} {
		hooks.On(p, note[job](&tr, "i1"), hooks.In(inner), hooks.WithPriority(1000))
		hooks.On(p, note[job](&tr, "i2"), hooks.In(inner), hooks.WithPriority(1000))
		hooks.On(p, note[job](&tr, "o1"), hooks.In(outer))
		hooks.On(p, note[job](&tr, "o2"), hooks.In(outer))
		hooks.On(p, note[job](&tr, "d1"), hooks.WithPriority(-1000))
		hooks.On(p, note[job](&tr, "d2"), hooks.WithPriority(-1000))
		hooks.On(p, note[job](&tr, "d3"), hooks.WithPriority(-1000))
	}
	ctx := hooks.WithScope(hooks.WithScope(t.Context(), outer), inner)
	body := note[job](&tr, "body")
	for range 100 {
		require.NoError(t, hooks.Run(ctx, pre, post, &job{}, body))
		// The same order at both points: the post hooks aren't mirrored.
		require.Equal(t, "d1 d2 d3 o1 o2 i1 i2 body d1 d2 d3 o1 o2 i1 i2", tr.take())
	}
}

func TestHigherPrioritiesRunFirstAndEqualOnesInOrder(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	// Kinds alternate, so that a priority is kept whatever else a hook is.
	kinds := []hooks.Option{nil, hooks.WithTools("x"), hooks.WithTools("x*"), hooks.WithAgents("r"), hooks.WithFailClosed(), nil}
	for i, priority := range []int{0, 10, -10, 0, 10, -10} {
		name := strconv.Itoa(i)
		hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, name), hooks.In(r), hooks.WithPriority(priority), kinds[i], hooks.WithName(name))
	}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "x"}))
	assert.Equal(t, "1 4 0 3 2 5", tr.take())
	assert.Equal(t, []string{"1", "4", "0", "3", "2", "5"}, registered(r.Hooks(hooks.PreToolCall)))
}

func TestEqualPrioritiesKeepTheirOrderInALongChain(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var got, want [3][]int
	for i := range 300 {
		level := i * 7 % 3
		want[level] = append(want[level], i)
		hooks.On(hooks.PreStep, edit(func(*hooks.Step) { got[level] = append(got[level], i) }), hooks.In(r), hooks.WithPriority(level))
	}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, want, got)
}

func TestThePriorityIsZeroUnlessGiven(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "below"), hooks.In(r), hooks.WithPriority(-1))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "zero"), hooks.In(r), hooks.WithPriority(0))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "unset"), hooks.In(r))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "above"), hooks.In(r), hooks.WithPriority(1))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "above zero unset below", tr.take())
}

func TestAReplacementDoesNotDependOnHowLongAHookTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, r := newRun(t)
		replace := func(suffix string, wait time.Duration, saw func(string)) hooks.Func[hooks.Step] {
			return func(_ context.Context, s *hooks.Step) error {
				saw(s.Input.(string))
				<-time.After(wait)
				s.Input = s.Input.(string) + suffix
				return nil
			}
		}
		hooks.On(hooks.PreStep, replace("A", 30*time.Millisecond, func(got string) { assert.Equal(t, "x", got) }), hooks.In(r))
		hooks.On(hooks.PreStep, replace("B", 0, func(got string) { assert.Equal(t, "xA", got) }), hooks.In(r))
		hooks.On(hooks.PreStep, replace("", 0, func(got string) { assert.Equal(t, "xAB", got) }), hooks.In(r))
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				s := &hooks.Step{Input: "x"}
				assert.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, s))
				assert.Equal(t, "xAB", s.Input)
			})
		}
		wg.Wait()
	})
}
