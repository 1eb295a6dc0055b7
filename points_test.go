package hooks_test

// The points of a loop, their names and contexts, and points that a framework
// defines.

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestPoint_hasItsNameAndContext(t *testing.T) {
	t.Parallel()
	var (
		_ hooks.Point[hooks.Execution] = hooks.ExecutionStart
		_ hooks.Point[hooks.Step]      = hooks.PreStep
		_ hooks.Point[hooks.ModelCall] = hooks.PreModelCall
		_ hooks.Point[hooks.ToolCall]  = hooks.PreToolCall
	)
	for want, p := range map[hooks.InterceptionPoint]hooks.AnyPoint{
		"execution_start": hooks.ExecutionStart,
		"input":           hooks.Input,
		"output":          hooks.Output,
		"execution_end":   hooks.ExecutionEnd,
		"pre_model_call":  hooks.PreModelCall,
		"post_model_call": hooks.PostModelCall,
		"pre_tool_call":   hooks.PreToolCall,
		"post_tool_call":  hooks.PostToolCall,
		"pre_step":        hooks.PreStep,
		"post_step":       hooks.PostStep,
	} {
		assert.Equal(t, want, p.Name())
	}
}

// Copies of a point are equal: two points of one context aren't.
func TestPoint_isComparable(t *testing.T) {
	t.Parallel()
	p, q := newPoint[job](t), newPoint[job](t)
	same := p
	assert.True(t, same == p)
	assert.False(t, p == q)
	byPoint := map[hooks.Point[job]]string{p: "p", q: "q"}
	assert.Equal(t, "p", byPoint[same])
	var tr trace
	hooks.On(same, note[job](&tr, "copy"))
	require.NoError(t, hooks.Dispatch(t.Context(), p, &job{}))
	assert.Equal(t, "copy", tr.take())
}

// A bare name is enough to list and clear hooks, as for what an event names.
func TestInterceptionPoint_worksForItsPoint(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	reg := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))

	name := hooks.InterceptionPoint("pre_step")
	assert.Equal(t, name, name.Name())
	assert.Equal(t, []*hooks.Registration{reg}, r.Hooks(name))
	assert.Equal(t, []*hooks.Registration{reg}, r.Hooks(events.one(t).Point))
	assert.Equal(t, 1, r.Clear(reg.Point()))
	assert.Empty(t, r.Hooks(hooks.PreStep))
}

func TestInterceptionPoint_unknownHasNoHooks(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	for _, p := range []hooks.AnyPoint{hooks.InterceptionPoint("nobody.knows"), hooks.InterceptionPoint(""), hooks.Point[job]{}, nil} {
		assert.Empty(t, r.Hooks(p))
		assert.Zero(t, r.Clear(p))
		assert.Empty(t, hooks.Hooks(p))
		assert.Zero(t, hooks.Clear(p))
	}
}

func TestPoint_zeroIsRefused(t *testing.T) {
	t.Parallel()
	ctx, _ := newRun(t)
	var zero hooks.Point[job]
	assert.Empty(t, zero.Name())
	assert.False(t, hooks.Enabled(ctx, zero))

	err := hooks.Dispatch(ctx, zero, &job{})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "zero Point")
	assert.NotErrorAs(t, err, new(*hooks.HookAborted))
	assert.Error(t, hooks.Dispatch(ctx, zero, nil))

	p := newPoint[job](t)
	body := edit(func(*job) { assert.Fail(t, "the body ran") })
	assert.Error(t, hooks.Run(ctx, zero, p, &job{}, body))
	assert.Error(t, hooks.Run(ctx, p, zero, &job{}, body))

	assert.Contains(t, panicText(t, func() { hooks.On(zero, fails[job](nil)) }), "zero Point")
}

func TestDefine_makesAPointWithFilters(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	var tr trace
	hooks.On(p, edit(func(j *job) { j.Data = "changed" }))
	hooks.On(p, note[job](&tr, "by-tool"), hooks.WithTools("Read File"))
	hooks.On(p, note[job](&tr, "by-role"), hooks.WithAgents("Writer"))
	hooks.On(p, note[job](&tr, "other-tool"), hooks.WithTools("write"))
	hooks.On(p, note[job](&tr, "other-role"), hooks.WithAgents("Reader"))
	j := &job{Tool: "read_file", Caller: hooks.Caller{AgentRole: "Writer"}}
	require.NoError(t, hooks.Dispatch(t.Context(), p, j))
	assert.Equal(t, "changed", j.Data)
	assert.Equal(t, "by-tool by-role", tr.take())
}

// A context that embeds one of the package's is readied, filtered and tracked
// like that one.
func TestDefine_embeddedContextBehavesLikeIt(t *testing.T) {
	t.Parallel()
	type timedCall struct {
		hooks.ToolCall
		Deadline int
	}
	p := newPoint[timedCall](t)
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(p, edit(func(c *timedCall) { c.Input["k"] = c.Deadline }), hooks.In(r), hooks.WithTools("rm"))
	c := &timedCall{Deadline: 3}
	c.Name, c.AgentRole = "rm", "Cleaner"
	require.NoError(t, hooks.Dispatch(ctx, p, c))
	assert.Equal(t, map[string]any{"k": 3}, c.Input)
	ev := events.one(t)
	assert.Equal(t, hooks.OutcomeModified, ev.Outcome)
	assert.Equal(t, "rm", ev.ToolName)
	assert.Equal(t, "Cleaner", ev.AgentRole)
}

func TestDefine_contextNeedsNoMethods(t *testing.T) {
	t.Parallel()
	type plain struct{ N int }
	p := newPoint[plain](t)
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(p, edit(func(c *plain) { c.N++ }), hooks.In(r))
	c := &plain{}
	require.NoError(t, hooks.Dispatch(ctx, p, c))
	assert.Equal(t, 1, c.N)
	ev := events.one(t)
	assert.Equal(t, hooks.OutcomeProceeded, ev.Outcome, "nothing tells what is payload")
	assert.Empty(t, ev.ToolName)
	assert.Empty(t, ev.AgentRole)
}

func TestDefine_refusesBadNamesAndContexts(t *testing.T) {
	t.Parallel()
	taken := newPoint[job](t)
	for _, tt := range []struct {
		name   string
		define func()
		want   []string
	}{
		{"an empty name", func() { hooks.Define[job]("") }, []string{"empty"}},
		{"an undotted name", func() { hooks.Define[job]("retrieve") }, []string{"retrieve", "dot"}},
		{"the library's name", func() { hooks.Define[hooks.Step]("pre_step") }, []string{"pre_step"}},
		{"a taken name", func() { hooks.Define[job](taken.Name()) }, []string{string(taken.Name()), "taken"}},
		{"a taken name, other context", func() { hooks.Define[int](taken.Name()) }, []string{string(taken.Name()), "taken"}},
		{"a pointer", func() { hooks.Define[*job]("test.pointer") }, []string{"test.pointer", "*hooks_test.job", "pointer"}},
		{"an interface", func() { hooks.Define[error]("test.interface") }, []string{"test.interface", "error", "interface"}},
		{"any", func() { hooks.Define[any]("test.any") }, []string{"test.any", "interface"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := panicText(t, tt.define)
			assert.Contains(t, text, "hooks: Define")
			for _, part := range tt.want {
				assert.Contains(t, text, part)
			}
		})
	}
	// A refused name isn't taken by the attempt.
	assert.Empty(t, hooks.Hooks(hooks.InterceptionPoint("test.pointer")))
}

func TestDefine_nameMayHoldASlash(t *testing.T) {
	t.Parallel()
	name := hooks.InterceptionPoint(fmt.Sprintf("test/%d", pointsMade.Add(1)))
	assert.Equal(t, name, hooks.Define[job](name).Name())
}

func TestDefine_ConcurrentSafe(t *testing.T) {
	t.Parallel()
	name := newPoint[job](t).Name() + "/contested"
	var made, refused atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			defer func() {
				if recover() != nil {
					refused.Add(1)
				}
			}()
			p := hooks.Define[job](name)
			made.Add(1)
			hooks.On(p, fails[job](nil)).Remove()
		})
		wg.Go(func() { _ = hooks.Default().String() })
	}
	wg.Wait()
	assert.EqualValues(t, 1, made.Load())
	assert.EqualValues(t, 31, refused.Load())
}
