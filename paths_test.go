package hooks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// A dispatch takes a short way or a long one, as the process and the chain
// allow. Which one it took must not show: chains made at random run on each
// and are compared with what the rules say, written down once more as plainly
// as can be.

// plan is a hook of such a chain.
type plan struct {
	id       string
	registry int // 0 is the default one, the others are scopes from the outermost in
	priority int
	guard    bool
	closed   bool
	once     bool
	tools    []string
	roles    []string
	does     string
}

func randomPlan(rng *rand.Rand, id, registries int) plan {
	pick := func(n int) bool { return rng.IntN(n) == 0 }
	p := plan{id: strconv.Itoa(id), registry: rng.IntN(registries), guard: pick(6), closed: pick(8)}
	if pick(4) {
		p.priority = rng.IntN(3) - 1
	}
	p.once = !p.guard && pick(8)
	if pick(2) {
		names := []string{"Read File", "read_file", "rm", "read*", "*", "ls"}
		for range rng.IntN(3) + 1 {
			p.tools = append(p.tools, names[rng.IntN(len(names))])
		}
	}
	if pick(5) {
		p.roles = []string{[]string{"Writer", "Reader"}[rng.IntN(2)]}
	}
	p.does = []string{"proceed", "proceed", "edit", "edit", "drop", "fail", "panic", "edit and fail"}[rng.IntN(8)]
	if pick(25) {
		p.does = "abort"
	}
	return p
}

func (p plan) options(registries []*hooks.Registry) []hooks.Option {
	opts := []hooks.Option{hooks.In(registries[p.registry]), hooks.WithName(p.id), hooks.WithPriority(p.priority)}
	if p.guard {
		opts = append(opts, hooks.AsGuard())
	}
	if p.closed {
		opts = append(opts, hooks.WithFailClosed())
	}
	if p.once {
		opts = append(opts, hooks.WithOnce())
	}
	if p.tools != nil {
		opts = append(opts, hooks.WithTools(p.tools...))
	}
	if p.roles != nil {
		opts = append(opts, hooks.WithAgents(p.roles...))
	}
	return opts
}

// plannedCall is the context: a tool call at a point of the test's own.
type plannedCall struct {
	hooks.ToolCall
	log []string
}

func (p plan) hook(_ context.Context, c *plannedCall) error {
	c.log = append(c.log, p.id)
	switch p.does {
	case "edit":
		c.Input[p.id] = true
	case "drop":
		c.Input = nil
	case "fail":
		return errBroken
	case "panic":
		panic("boom")
	case "edit and fail":
		c.Input[p.id] = true
		return errBroken
	case "abort":
		return hooks.Abort("stopped by " + p.id)
	}
	return nil
}

// matches is the rule of filters.
func (p plan) matches(tool, role string) bool {
	byName := func(name string) bool {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			return strings.HasPrefix(tool, prefix) || strings.HasPrefix(hooks.SanitizeToolName(tool), prefix)
		}
		return hooks.SanitizeToolName(name) == hooks.SanitizeToolName(tool)
	}
	return (p.tools == nil || slices.ContainsFunc(p.tools, byName)) &&
		(p.roles == nil || role == "" || slices.Contains(p.roles, role))
}

// expectation is what a dispatch has to do.
type expectation struct {
	ran      []string
	outcomes []hooks.Outcome
	input    map[string]any
	reason   string
}

// expect applies the rules to chain and returns what is left of it.
func expect(chain []plan, tool, role string) (expectation, []plan) {
	order := slices.Clone(chain)
	slices.SortStableFunc(order, func(a, b plan) int {
		switch {
		case a.guard != b.guard && b.guard:
			return -1
		case a.guard != b.guard:
			return 1
		case a.registry != b.registry:
			return a.registry - b.registry
		}
		return b.priority - a.priority
	})
	want := expectation{input: map[string]any{}}
	for _, p := range order {
		if !p.matches(tool, role) {
			continue
		}
		want.ran = append(want.ran, p.id)
		if p.once {
			chain = slices.DeleteFunc(slices.Clone(chain), func(other plan) bool { return other.id == p.id })
		}
		outcome := hooks.OutcomeProceeded
		switch p.does {
		case "edit", "edit and fail":
			if want.input[p.id] == nil {
				want.input[p.id] = true
				outcome = hooks.OutcomeModified
			}
		case "drop":
			if len(want.input) > 0 {
				clear(want.input)
				outcome = hooks.OutcomeModified
			}
		case "abort":
			want.reason = "stopped by " + p.id
		}
		if strings.HasSuffix(p.does, "fail") || p.does == "panic" {
			outcome = hooks.OutcomeFailed
			if p.guard || p.closed {
				want.reason = p.id + " failed"
			}
		}
		if want.reason != "" {
			want.outcomes = append(want.outcomes, hooks.OutcomeAborted)
			return want, chain
		}
		want.outcomes = append(want.outcomes, outcome)
	}
	return want, chain
}

func TestEveryWayThatADispatchCanTakeFollowsTheSameRules(t *testing.T) {
	// Only a new process has neither scopes nor observers.
	if !inChild() {
		rerun(t)
		return
	}
	hooks.SetLogger(nil)
	for _, way := range []struct {
		name       string
		registries int
		prepare    func(p hooks.Point[plannedCall])
	}{
		{"hooks of the default registry alone", 1, nil},
		{"a scope elsewhere", 1, func(p hooks.Point[plannedCall]) {
			hooks.On(p, fails[plannedCall](hooks.Abort("of another run")), hooks.In(hooks.NewRegistry()))
		}},
		{"nested scopes", 4, nil},
		{"an observer elsewhere", 1, func(hooks.Point[plannedCall]) { record(t, hooks.NewRegistry()) }},
		{"nested scopes and an observer elsewhere", 4, nil},
		{"an observer of the run", 3, nil},
	} {
		t.Run(way.name, func(t *testing.T) {
			for seed := range uint64(300) {
				rng := rand.New(rand.NewPCG(seed, 1))
				p := newPoint[plannedCall](t)
				ctx, registries := t.Context(), []*hooks.Registry{hooks.Default()}
				for range way.registries - 1 {
					r := hooks.NewRegistry()
					registries, ctx = append(registries, r), hooks.WithScope(ctx, r)
				}
				if way.prepare != nil {
					way.prepare(p)
				}
				var events *eventLog
				if way.name == "an observer of the run" {
					events = record(t, registries[1])
				}
				chain := randomChain(rng, p, registries)
				for range 4 {
					tool := []string{"Read File", "read_file", "readFile", "rm", "unknown", ""}[rng.IntN(6)]
					role := []string{"Writer", "Editor", ""}[rng.IntN(3)]
					var want expectation
					want, chain = expect(chain, tool, role)
					checkDispatch(ctx, t, p, tool, role, want, events)
				}
				for _, r := range registries {
					r.Clear(p)
				}
			}
		})
	}
}

// randomChain registers hooks made at random, some of which go again.
func randomChain(rng *rand.Rand, p hooks.Point[plannedCall], registries []*hooks.Registry) []plan {
	var chain []plan
	for id := range rng.IntN(12) {
		plan := randomPlan(rng, id, len(registries))
		reg := hooks.On(p, plan.hook, plan.options(registries)...)
		if rng.IntN(5) == 0 {
			reg.Remove()
			continue
		}
		chain = append(chain, plan)
	}
	return chain
}

func checkDispatch(ctx context.Context, t *testing.T, p hooks.Point[plannedCall], tool, role string, want expectation, events *eventLog) {
	t.Helper()
	c := &plannedCall{}
	c.Name, c.AgentRole = tool, role
	err := hooks.Dispatch(ctx, p, c)
	call := fmt.Sprintf("tool %q, role %q\n%s", tool, role, hooks.Default())
	require.Equal(t, want.ran, c.log, call)
	if want.reason == "" {
		require.NoError(t, err, call)
	} else {
		require.Equal(t, want.reason, aborted(t, err).Reason, call)
	}
	if len(want.input) > 0 || len(c.Input) > 0 {
		require.Equal(t, want.input, c.Input, call)
	}
	if events == nil {
		return
	}
	if len(want.ran) == 0 {
		assert.Empty(t, events.take(), call)
		return
	}
	require.Equal(t, want.outcomes, outcomes(events.one(t)), call)
}
