package hookstest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// Each Run is an execution of its own, in which the registry is active.
func TestRun_isAnExecution(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	rec := hookstest.Record(r)
	count := hooks.NewRunVar[atomic.Int32](nil)
	var ids []string
	for range 2 {
		hookstest.Run(t, r, func(ctx context.Context) {
			n, ok := count.Of(ctx)
			if assert.True(t, ok) {
				assert.EqualValues(t, 1, n.Add(1), "it begins anew")
			}
			ids = append(ids, hooks.CallerFrom(ctx).RunID)
		})
	}
	assert.NotEmpty(t, ids[0])
	assert.NotEqual(t, ids[0], ids[1])
	rec.Want(t, "execution_start", "input", "output", "execution_end completed",
		"execution_start", "input", "output", "execution_end completed")
}

func TestRun_failsTheTest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		at    hooks.Point[hooks.Execution]
		err   error
		wants []string
		runs  int
	}{
		"no beginning": {hooks.ExecutionStart, hooks.Abort("no"), []string{"the execution didn't begin: hooks: execution_start aborted by policy: no"}, 0},
		"refused":      {hooks.Output, hooks.Abort("no"), []string{"the execution ended with an error: hooks: output aborted by policy: no"}, 1},
		"it waits":     {hooks.Input, hooks.PassThrough(context.Canceled), []string{"the execution didn't begin: context canceled"}, 0},
		"all is well":  {hooks.Input, nil, nil, 1},
	} {
		tb := &fakeTB{TB: t}
		r := hookstest.Registry(t)
		hooks.On(tt.at, func(context.Context, *hooks.Execution) error { return tt.err }, hooks.In(r), hooks.WithName("policy"))
		runs := 0
		hookstest.Run(tb, r, func(context.Context) { runs++ })
		assert.Equal(t, tt.wants, tb.errors, name)
		assert.Equal(t, tt.runs, runs, name)
	}
}
