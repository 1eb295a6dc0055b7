package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// The model of this file is the plainest thing that keeps the rules: one list
// of all hooks that were ever registered, walked from end to end for every
// question. Random operations are done to the package and to the model, and
// both must tell the same.

// modelSeedEnv names the seed with which to repeat a run that failed.
const modelSeedEnv = "HOOKS_TEST_SEED"

// modelDoes is what a hook of the model does.
type modelDoes int

const (
	modelProceeds modelDoes = iota
	modelFails
	modelPanics
	modelAborts
)

// modelHook is a hook as it was registered.
type modelHook struct {
	id       int
	registry int // 0 is the default one
	point    int
	priority int
	guard    bool
	closed   bool // fail-closed
	once     bool
	tools    []string // nil: no filter
	agents   []string // nil: no filter
	does     modelDoes

	gone bool
	reg  *hooks.Registration
}

func (h *modelHook) name() string { return fmt.Sprint("h", h.id) }

// options are those that register h in r.
func (h *modelHook) options(r *hooks.Registry) []hooks.Option {
	opts := []hooks.Option{hooks.In(r), hooks.WithName(h.name())}
	if h.priority != 0 {
		opts = append(opts, hooks.WithPriority(h.priority))
	}
	if h.guard {
		opts = append(opts, hooks.AsGuard())
	}
	if h.closed {
		opts = append(opts, hooks.WithFailClosed())
	}
	if h.once {
		opts = append(opts, hooks.WithOnce())
	}
	if h.tools != nil {
		opts = append(opts, hooks.WithTools(h.tools...))
	}
	if h.agents != nil {
		opts = append(opts, hooks.WithAgents(h.agents...))
	}
	return opts
}

// admits is the rule of the filters.
func (h *modelHook) admits(tool, role string) bool {
	if h.tools != nil && !modelMatchesTool(h.tools, tool) {
		return false
	}
	return h.agents == nil || len(h.agents) > 0 && (role == "" || slices.Contains(h.agents, role))
}

// model is every hook that was ever registered, in order.
type model []*modelHook

// chain lists the hooks of a registry at a point in running order.
func (m model) chain(registry, point int) []*modelHook {
	var chain []*modelHook
	for _, h := range m {
		if !h.gone && h.registry == registry && h.point == point {
			chain = append(chain, h)
		}
	}
	slices.SortStableFunc(chain, func(a, b *modelHook) int {
		if a.guard != b.guard {
			if a.guard {
				return 1
			}
			return -1
		}
		return b.priority - a.priority
	})
	return chain
}

// dispatch returns the hooks that run, and the one that aborts.
func (m model) dispatch(scopes []int, point int, tool, role string) (ran []*modelHook, aborter *modelHook) {
	var order []*modelHook
	for _, guards := range []bool{false, true} {
		for _, registry := range scopes {
			for _, h := range m.chain(registry, point) {
				if h.guard == guards {
					order = append(order, h)
				}
			}
		}
	}
	for _, h := range order {
		if !h.admits(tool, role) {
			continue
		}
		ran = append(ran, h)
		if h.once {
			h.gone = true
		}
		if h.does == modelAborts || h.does != modelProceeds && (h.closed || h.guard) {
			return ran, h
		}
	}
	return ran, nil
}

// clear takes out the hooks for which which is true and counts them.
func (m model) clear(which func(*modelHook) bool) int {
	n := 0
	for _, h := range m {
		if !h.gone && which(h) {
			h.gone = true
			n++
		}
	}
	return n
}

func modelNames(list []*modelHook) []string {
	names := make([]string, len(list))
	for i, h := range list {
		names[i] = h.name()
	}
	return names
}

// modelPoint is a point that the machine drives.
type modelPoint struct {
	name     hooks.InterceptionPoint
	on       func(fn func() error, opts ...hooks.Option) *hooks.Registration
	dispatch func(ctx context.Context, tool, role string) error
	enabled  func(context.Context) bool
	tools    bool // its hooks may filter by tool
	roles    bool
}

func modelPointOf[C any](p hooks.Point[C], tools, roles bool, make func(tool, role string) *C) modelPoint {
	return modelPoint{
		name: p.Name(), tools: tools, roles: roles,
		on: func(fn func() error, opts ...hooks.Option) *hooks.Registration {
			return hooks.On(p, func(context.Context, *C) error { return fn() }, opts...)
		},
		dispatch: func(ctx context.Context, tool, role string) error { return hooks.Dispatch(ctx, p, make(tool, role)) },
		enabled:  func(ctx context.Context) bool { return hooks.Enabled(ctx, p) },
	}
}

var modelOwnPoint = hooks.Define[int]("modeltest.own")

func modelPoints() []modelPoint {
	return []modelPoint{
		modelPointOf(hooks.PreToolCall, true, true, func(tool, role string) *hooks.ToolCall {
			return &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: role}}
		}),
		modelPointOf(hooks.PreModelCall, false, true, func(_, role string) *hooks.ModelCall {
			return &hooks.ModelCall{Caller: hooks.Caller{AgentRole: role}}
		}),
		modelPointOf(modelOwnPoint, false, false, func(string, string) *int { return new(int) }),
	}
}

// machine does the same to the package and to the model.
type machine struct {
	t          require.TestingT
	model      model
	registries []*hooks.Registry
	points     []modelPoint
	scopes     bool // registries other than the default one take part
	observer   *hooks.Observer
	ran        []string // the hooks that ran in the dispatch under way
	events     []hooks.HookDispatchedEvent
	log        []func() string // what was done, for people
}

func newMachine(t require.TestingT, scopes, observed bool) *machine {
	m := &machine{t: t, registries: []*hooks.Registry{hooks.Default()}, points: modelPoints(), scopes: scopes}
	if scopes {
		m.registries = append(m.registries, hooks.NewRegistry(), hooks.NewRegistry())
	}
	if observed {
		m.observer = m.registries[len(m.registries)-1].Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
			m.events = append(m.events, ev)
		})
	}
	return m
}

func (m *machine) close() {
	m.observer.Remove()
	for _, r := range m.registries {
		r.ClearAll()
	}
}

func (m *machine) logf(format string, args ...any) {
	m.log = append(m.log, func() string { return fmt.Sprintf(format, args...) })
}

// same fails the test unless got is what the model says. Both are comparable.
func (m *machine) same(want, got any) {
	if want == got {
		return
	}
	var done []string
	for _, operation := range m.log {
		done = append(done, operation())
	}
	require.Equal(m.t, want, got, "after\n%s", strings.Join(done, "\n"))
}

func (m *machine) register(h *modelHook) {
	h.id = len(m.model)
	m.logf("on %+v", h)
	m.model = append(m.model, h)
	h.reg = m.points[h.point].on(func() error {
		m.ran = append(m.ran, h.name())
		switch h.does {
		case modelFails:
			return errBroken
		case modelPanics:
			panic(errBroken)
		case modelAborts:
			return hooks.Abort("no")
		case modelProceeds:
		}
		return nil
	}, h.options(m.registries[h.registry])...)
}

// remove removes one hook, by its handle or by a registry's method, which
// knows its own hooks only.
func (m *machine) remove(h *modelHook, by int) {
	m.logf("remove h%d by %d", h.id, by)
	want := !h.gone && (by < 0 || by == h.registry)
	if by < 0 {
		m.same(want, h.reg.Remove())
	} else {
		m.same(want, m.registries[by].Unregister(h.reg))
	}
	h.gone = h.gone || want
}

func (m *machine) clear(registry, point int) {
	m.logf("clear registry %d at %d", registry, point)
	r := m.registries[registry]
	if point < 0 {
		m.same(m.model.clear(func(h *modelHook) bool { return h.registry == registry }), r.ClearAll())
		return
	}
	want := m.model.clear(func(h *modelHook) bool { return h.registry == registry && h.point == point })
	m.same(want, r.Clear(m.points[point].name))
}

// dispatch dispatches under scopes, which are entered from first to last.
func (m *machine) dispatch(scopes []int, point int, tool, role string) {
	m.logf("dispatch %v at %d, tool %q, role %q", scopes, point, tool, role)
	ctx, active := context.Background(), []int{0}
	for _, s := range scopes {
		ctx = hooks.WithScope(ctx, m.registries[s])
		if !slices.Contains(active, s) {
			active = append(active, s)
		}
	}
	p := m.points[point]
	enabled := slices.ContainsFunc(active, func(s int) bool { return len(m.model.chain(s, point)) > 0 })
	m.same(enabled, p.enabled(ctx))

	m.ran, m.events = nil, nil
	err := p.dispatch(ctx, tool, role)
	ran, aborter := m.model.dispatch(active, point, tool, role)
	m.same(fmt.Sprint(modelNames(ran)), fmt.Sprint(m.ran))
	source := ""
	if aborter != nil {
		source = aborter.name()
	}
	m.same(source, modelSource(err))
	if m.observer == nil || !slices.Contains(active, len(m.registries)-1) || len(ran) == 0 {
		m.same(0, len(m.events))
		return
	}
	m.same(1, len(m.events))
	m.same(len(ran), m.events[0].HookCount)
	m.same(source, m.events[0].AbortSource)
	for i, h := range ran {
		m.same(h.name(), m.events[0].Hooks[i].Name)
		m.same(h == aborter, m.events[0].Hooks[i].Outcome == hooks.OutcomeAborted)
		m.same(h != aborter && h.does != modelProceeds, m.events[0].Hooks[i].Outcome == hooks.OutcomeFailed)
	}
}

// modelSource tells who aborted.
func modelSource(err error) string {
	if err == nil {
		return ""
	}
	if abort, ok := errors.AsType[*hooks.HookAborted](err); ok {
		return abort.Source
	}
	return fmt.Sprintf("not an abort: %v", err)
}

// list compares what the registries say they hold.
func (m *machine) list() {
	for registry, r := range m.registries {
		for point, p := range m.points {
			var want []string
			for _, h := range m.model.chain(registry, point) {
				want = append(want, h.name())
			}
			got := registered(r.Hooks(p.name))
			m.same(fmt.Sprint(want), fmt.Sprint(got))
			for _, name := range got {
				m.same(true, strings.Contains(r.String(), "\n  "+name))
			}
		}
	}
}

var (
	modelToolNames = []string{
		"delete_file", "Delete File", "deleteFile", "read_file", "Read-File", "github/delete", "mcp__fs__read", "日本語", "", "tool_77710aed", "ＦＵＬＬ", "full", "*", "a?b",
	}
	modelToolFilters = slices.Concat(modelToolNames, []string{"*", "delete_*", "github*", "mcp__*__read", "?ull", "*file", "*ile*"})
	modelRoles       = []string{"", "Writer", "Reader", "writer"}
)

// modelChoices decides what is done: a random number generator, or bytes.
type modelChoices interface{ IntN(n int) int }

// randomHook makes up a hook.
func (m *machine) randomHook(choose modelChoices) *modelHook {
	h := &modelHook{registry: choose.IntN(len(m.registries)), point: choose.IntN(len(m.points))}
	if choose.IntN(2) == 0 {
		h.priority = choose.IntN(5) - 2
	}
	h.guard, h.closed = choose.IntN(5) == 0, choose.IntN(8) == 0
	h.once = !h.guard && choose.IntN(6) == 0
	if m.points[h.point].tools && choose.IntN(2) == 0 {
		h.tools = modelPick(choose, modelToolFilters)
	}
	if m.points[h.point].roles && choose.IntN(4) == 0 {
		h.agents = modelPick(choose, modelRoles)
	}
	if choose.IntN(3) == 0 {
		h.does = modelDoes(choose.IntN(4))
	}
	return h
}

// modelPick picks up to three of list, with repeats.
func modelPick(choose modelChoices, list []string) []string {
	some := make([]string, choose.IntN(4))
	for i := range some {
		some[i] = list[choose.IntN(len(list))]
	}
	return some
}

func (m *machine) randomScopes(choose modelChoices) []int {
	var scopes []int
	if m.scopes {
		for range choose.IntN(4) {
			scopes = append(scopes, choose.IntN(len(m.registries)))
		}
	}
	return scopes
}

// step does one random operation.
func (m *machine) step(choose modelChoices) {
	switch n := choose.IntN(40); {
	case n < 12:
		m.register(m.randomHook(choose))
	case n < 18:
		if len(m.model) > 0 {
			m.remove(m.model[choose.IntN(len(m.model))], choose.IntN(len(m.registries)+1)-1)
		}
	case n == 18:
		m.clear(choose.IntN(len(m.registries)), choose.IntN(len(m.points)))
	case n == 19 && choose.IntN(4) == 0:
		m.clear(choose.IntN(len(m.registries)), -1)
	case n < 22:
		m.list()
	default:
		m.dispatch(m.randomScopes(choose), choose.IntN(len(m.points)),
			modelToolNames[choose.IntN(len(modelToolNames))], modelRoles[choose.IntN(len(modelRoles))])
	}
}

// In a process of its own: it has the default registry for itself, and no other
// test has yet switched on what only a process with scopes or observers does.
// The phases come in the order in which more and more is switched on, for good.
func TestRandomOperationsDoWhatASequentialModelSays(t *testing.T) {
	if !inChild() {
		rerun(t)
		return
	}
	hooks.SetLogger(nil)
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(modelSeedEnv); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	sequences, steps := 60, 80
	if raceEnabled {
		sequences = 15
	}
	for phase, tt := range []struct {
		name             string
		scopes, observed bool
	}{
		{"default registry", false, false},
		{"scopes", true, false},
		{"observed default registry", false, true},
		{"observed scopes", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("repeat with %s=%d", modelSeedEnv, seed)
				}
			}()
			rng := rand.New(rand.NewPCG(seed, uint64(phase)))
			for range sequences {
				m := newMachine(t, tt.scopes, tt.observed)
				for range steps {
					m.step(rng)
				}
				m.list()
				m.close()
			}
		})
	}
}
