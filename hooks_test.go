package hooks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// policy is a hook written as a method.
type policy struct{ tr *trace }

func (p *policy) Check(context.Context, *hooks.Step) error {
	p.tr.add("method")
	return nil
}

// stepHook is a framework's own name for a hook's type.
type stepHook func(context.Context, *hooks.Step) error

func TestAnyFunctionOfTheRightShapeIsAHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, (&policy{&tr}).Check, hooks.In(r))
	hooks.On(hooks.PreStep, stepHook(note[hooks.Step](&tr, "named-type")), hooks.In(r))
	hooks.On(hooks.PreStep, hooks.Func[hooks.Step](note[hooks.Step](&tr, "func")), hooks.In(r))
	hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { tr.add("literal"); return nil }, hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "method named-type func literal", tr.take())
}

func TestOnRefusesWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	p := newPoint[struct{}](t)
	step := fails[hooks.Step](nil)
	for _, tt := range []struct {
		name string
		on   func(r *hooks.Registry)
		want []string
	}{
		{"a nil function", func(r *hooks.Registry) { hooks.On(hooks.PreStep, nil, hooks.In(r)) }, []string{"pre_step", "nil"}},
		{"a nil function of a named type", func(r *hooks.Registry) { hooks.On(hooks.PreStep, stepHook(nil), hooks.In(r)) }, []string{"pre_step", "nil"}},
		{"the zero Point", func(r *hooks.Registry) { hooks.On(hooks.Point[hooks.Step]{}, step, hooks.In(r)) }, []string{"zero Point"}},
		{"no registry", func(*hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(nil)) }, []string{"pre_step", "In(nil)"}},
		{"no time", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.WithTimeout(0)) }, []string{"pre_step", "WithTimeout(0s)"}},
		{"time in the past", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.WithTimeout(-time.Second)) }, []string{"pre_step", "WithTimeout(-1s)"}},
		{"a guard for once", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.AsGuard(), hooks.WithOnce()) }, []string{"pre_step", "AsGuard", "WithOnce"}},
		{"once as a guard", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.WithOnce(), hooks.AsGuard()) }, []string{"pre_step", "AsGuard", "WithOnce"}},
		{"tools where there are none", func(r *hooks.Registry) { hooks.On(hooks.PreStep, step, hooks.In(r), hooks.WithTools("a")) }, []string{"pre_step", "WithTools", "ToolName"}},
		{"no tools where there are none", func(r *hooks.Registry) {
			hooks.On(hooks.PreModelCall, fails[hooks.ModelCall](nil), hooks.In(r), hooks.WithTools())
		}, []string{"pre_model_call", "WithTools"}},
		{"roles where there are none", func(r *hooks.Registry) { hooks.On(p, fails[struct{}](nil), hooks.In(r), hooks.WithAgents("a")) }, []string{string(p.Name()), "WithAgents", "AgentRoleName"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, r := newRun(t)
			text := panicText(t, func() { tt.on(r) })
			assert.Contains(t, text, "hooks: On")
			for _, part := range tt.want {
				assert.Contains(t, text, part)
			}
			assert.Equal(t, "no hooks\n", r.String(), "a refused hook isn't registered")
		})
	}
}

func TestOfTheSameOptionTheLastOneWins(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	other := hooks.NewRegistry()
	var tr trace
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "first"), hooks.In(r))
	reg := hooks.On(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		tr.add("hook")
		deadline, ok := ctx.Deadline()
		assert.True(t, ok)
		assert.Greater(t, time.Until(deadline), time.Minute)
		return nil
	},
		hooks.In(nil), hooks.In(other), hooks.In(r),
		hooks.WithName("a"), hooks.WithName("b"),
		hooks.WithPriority(-5), hooks.WithPriority(5),
		hooks.WithTools("a"), hooks.WithTools("b"),
		hooks.WithAgents("a"), hooks.WithAgents("b"),
		hooks.WithTimeout(0), hooks.WithTimeout(time.Nanosecond), hooks.WithTimeout(time.Hour),
	)
	assert.Equal(t, "b", reg.Name())
	assert.Empty(t, other.Hooks(hooks.PreToolCall))
	for _, tt := range []struct{ tool, role, want string }{
		{"b", "b", "hook first"}, {"a", "b", "first"}, {"b", "a", "first"},
	} {
		call := &hooks.ToolCall{Name: tt.tool, Caller: hooks.Caller{AgentRole: tt.role}}
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
		assert.Equal(t, tt.want, tr.take())
	}
}

func TestANilOptionIsIgnored(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	reg := hooks.On(hooks.PreStep, fails[hooks.Step](nil), nil, hooks.In(r), nil, hooks.WithName("a"), nil)
	assert.Equal(t, "a", reg.Name())
	assert.Equal(t, []*hooks.Registration{reg}, r.Hooks(hooks.PreStep))
}

func TestOptionsCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	opts := []hooks.Option{hooks.In(r), hooks.WithTools("a"), hooks.WithName("n")}
	for _, p := range []hooks.Point[hooks.ToolCall]{hooks.PreToolCall, hooks.PostToolCall} {
		hooks.On(p, note[hooks.ToolCall](&tr, "x"), opts...)
		hooks.On(p, note[hooks.ToolCall](&tr, "y"), opts...)
		require.NoError(t, hooks.Dispatch(ctx, p, &hooks.ToolCall{Name: "a"}))
		assert.Equal(t, "x y", tr.take())
	}
}

func TestSlicesGivenToOptionsAreTheCallersToChange(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	tools, patterns, roles := []string{"a", "b"}, []string{"c*"}, []string{"Writer"}
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "hook"), hooks.In(r), hooks.WithTools(tools...), hooks.WithAgents(roles...))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "pattern"), hooks.In(r), hooks.WithTools(patterns...))
	option := hooks.WithTools(tools...)
	tools[0], tools[1], patterns[0], roles[0] = "x", "x", "x", "x"
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "later"), hooks.In(r), option)
	for tool, want := range map[string]string{"a": "hook later", "b": "hook later", "cc": "pattern", "x": ""} {
		call := &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: "Writer"}}
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
		assert.Equal(t, want, tr.take())
	}
	assert.NotContains(t, r.String(), "x")
}

func TestAHookIsNamedAfterWhereItWasRegisteredUnlessItHasAName(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	first := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	second := hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r))
	var line int
	_, err := fmt.Sscanf(first.Name(), "hooks_test.go:%d", &line)
	require.NoError(t, err, first.Name())
	assert.Equal(t, fmt.Sprintf("hooks_test.go:%d", line+1), second.Name())
	assert.Equal(t, "n", hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r), hooks.WithName("n")).Name())
	assert.Regexp(t, `^hooks_test\.go:\d+$`, hooks.On(hooks.PreStep, fails[hooks.Step](nil), hooks.In(r), hooks.WithName("")).Name())
}

func TestANameIsNoKey(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	first := hooks.On(hooks.PreStep, note[hooks.Step](&tr, "first"), hooks.In(r), hooks.WithName("same"))
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "second"), hooks.In(r), hooks.WithName("same"))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "first second", tr.take())
	first.Remove()
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, &hooks.Step{}))
	assert.Equal(t, "second", tr.take())
}

func TestARegistrationTellsItsPoint(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	for _, p := range everyPoint() {
		reg := p.on(func() error { return nil }, hooks.In(r))
		assert.Equal(t, p.name, reg.Point())
		reg.Remove()
		assert.Equal(t, p.name, reg.Point(), "after its removal too")
	}
}

func TestOnRegistersInTheDefaultRegistryUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	_, r := newRun(t)
	global := hooks.On(p, fails[job](nil))
	scoped := hooks.On(p, fails[job](nil), hooks.In(r))
	named := hooks.On(p, fails[job](nil), hooks.In(hooks.Default()))
	assert.Equal(t, []*hooks.Registration{global, named}, hooks.Hooks(p))
	assert.Equal(t, []*hooks.Registration{scoped}, r.Hooks(p))
}
