package torture_test

// Random operations, done to the package and to a model of it, which is the
// plainest thing that keeps the rules: one list of all hooks that were ever
// registered, walked from end to end for every question. Both must tell the same.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/internal/race"
)

// modelDoes is what a hook of the model does.
type modelDoes int

const (
	modelProceeds modelDoes = iota
	modelFails
	modelPanics
	modelAborts
	modelEdits // the input
	modelDrops // the input
	modelEditsAndFails
	modelDeeds // how many there are
)

// fails reports whether a hook that does it fails, other than by an abort.
func (d modelDoes) fails() bool {
	return d == modelFails || d == modelPanics || d == modelEditsAndFails
}

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
	if h.tools != nil && !slices.ContainsFunc(h.tools, func(filter string) bool { return modelCovers()[filter][tool] }) {
		return false
	}
	return h.agents == nil || role == "" || slices.Contains(h.agents, role)
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

// modelResult is what came of a dispatch. What observers tell is set if there
// is one who watches and a hook ran.
type modelResult struct {
	ran            []string
	source, reason string   // of an abort
	input          []string // the keys of the input at the end

	events   int
	outcome  hooks.Outcome
	outcomes []hooks.Outcome
}

// dispatch runs the hooks of scopes at a point.
func (m model) dispatch(scopes []int, point int, tool, role string, hasInput, observed bool) modelResult {
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
	var did modelResult
	for _, h := range order {
		if did.source != "" || !h.admits(tool, role) {
			continue
		}
		did.ran = append(did.ran, h.name())
		h.gone = h.gone || h.once
		outcome := hooks.OutcomeProceeded
		switch h.does {
		case modelEdits, modelEditsAndFails:
			if hasInput {
				did.input = append(did.input, h.name())
				outcome = hooks.OutcomeModified
			}
		case modelDrops:
			if len(did.input) > 0 {
				did.input = nil
				outcome = hooks.OutcomeModified
			}
		}
		if h.does.fails() {
			outcome = hooks.OutcomeFailed
		}
		switch {
		case h.does == modelAborts:
			outcome, did.source, did.reason = hooks.OutcomeAborted, h.name(), "stopped by "+h.name()
		case h.does.fails() && (h.closed || h.guard):
			outcome, did.source, did.reason = hooks.OutcomeAborted, h.name(), h.name()+" failed"
		}
		did.outcomes = append(did.outcomes, outcome)
	}
	slices.Sort(did.input)
	switch {
	case !observed || len(did.ran) == 0:
		did.outcomes = nil
		return did
	case did.source != "":
		did.outcome = hooks.OutcomeAborted
	case len(did.input) > 0:
		did.outcome = hooks.OutcomeModified
	default:
		did.outcome = hooks.OutcomeProceeded
	}
	did.events = 1
	return did
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

// modelInput is the input of a call, which hooks edit.
type modelInput = map[string]any

// modelPoint is a point that the machine drives.
type modelPoint struct {
	name     hooks.InterceptionPoint
	on       func(fn func(*modelInput) error, opts ...hooks.Option) *hooks.Registration
	dispatch func(ctx context.Context, tool, role string) (modelInput, error)
	enabled  func(context.Context) bool
	tools    bool // its hooks may filter by tool
	roles    bool
	input    bool // its contexts have an input
}

// modelPointOf drives p. The input of its contexts is where input says, which
// is nil if they have none.
func modelPointOf[C any](p hooks.Point[C], tools, roles bool, make func(tool, role string) *C, input func(*C) *modelInput) modelPoint {
	inputOf := input
	if input == nil {
		inputOf = func(*C) *modelInput { return &modelInput{} }
	}
	return modelPoint{
		name: p.Name(), tools: tools, roles: roles, input: input != nil,
		on: func(fn func(*modelInput) error, opts ...hooks.Option) *hooks.Registration {
			return hooks.On(p, func(_ context.Context, c *C) error { return fn(inputOf(c)) }, opts...)
		},
		dispatch: func(ctx context.Context, tool, role string) (modelInput, error) {
			c := make(tool, role)
			err := hooks.Dispatch(ctx, p, c)
			return *inputOf(c), err
		},
		enabled: func(ctx context.Context) bool { return hooks.Enabled(ctx, p) },
	}
}

// modelCall is a tool call at points that aren't the package's.
type modelCall struct{ hooks.ToolCall }

var (
	modelOwnPoint  = hooks.Define[int]("modeltest.own")
	modelCallPoint = hooks.Define[modelCall]("modeltest.call")
)

// modelPoints lists the points, with calls as the last of them.
func modelPoints(calls hooks.Point[modelCall]) []modelPoint {
	return []modelPoint{
		modelPointOf(hooks.PreToolCall, true, true, func(tool, role string) *hooks.ToolCall {
			return &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: role}}
		}, func(c *hooks.ToolCall) *modelInput { return &c.Input }),
		modelPointOf(hooks.PreModelCall, false, true, func(_, role string) *hooks.ModelCall {
			return &hooks.ModelCall{Caller: hooks.Caller{AgentRole: role}}
		}, nil),
		modelPointOf(modelOwnPoint, false, false, func(string, string) *int { return new(int) }, nil),
		modelPointOf(calls, true, true, func(tool, role string) *modelCall {
			c := new(modelCall)
			c.Name, c.AgentRole = tool, role
			return c
		}, func(c *modelCall) *modelInput { return &c.Input }),
	}
}

// modelCovers tells which tools each filter covers: those for which a hook runs
// that is alone with this filter. What the filters mean has tests of its own.
// Here they tell what many hooks at one point must do together. It keeps to the
// default registry, so that it switches nothing on.
var modelCovers = sync.OnceValue(func() map[string]map[string]bool {
	covers := make(map[string]map[string]bool)
	for _, filter := range modelToolFilters {
		if covers[filter] != nil {
			continue
		}
		covers[filter] = make(map[string]bool)
		for _, tool := range modelToolNames {
			ran := false
			reg := hooks.On(modelCallPoint, func(context.Context, *modelCall) error {
				ran = true
				return nil
			}, hooks.WithTools(filter))
			c := new(modelCall)
			c.Name = tool
			if err := hooks.Dispatch(context.Background(), modelCallPoint, c); err != nil {
				panic(err)
			}
			reg.Remove()
			covers[filter][tool] = ran
		}
	}
	return covers
})

// machine does the same to the package and to the model.
type machine struct {
	t          require.TestingT
	model      model
	registries []*hooks.Registry
	points     []modelPoint
	scopes     bool // registries other than the default one take part
	observer   *hooks.Observer
	ran        []string // the hooks that ran in the dispatch under way
	total      int      // how many ran in all dispatches
	events     []hooks.HookDispatchedEvent
	log        []func() string // what was done, for people
}

// newMachine returns a machine that has done nothing yet.
func newMachine(t require.TestingT, calls hooks.Point[modelCall], scopes, observed bool) *machine {
	m := &machine{t: t, registries: []*hooks.Registry{hooks.Default()}, points: modelPoints(calls), scopes: scopes}
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
	h.reg = m.points[h.point].on(func(input *modelInput) error {
		m.ran = append(m.ran, h.name())
		switch h.does {
		case modelFails:
			return errBroken
		case modelPanics:
			panic(errBroken)
		case modelAborts:
			return hooks.Abort("stopped by " + h.name())
		case modelEdits:
			(*input)[h.name()] = true
		case modelDrops:
			*input = nil
		case modelEditsAndFails:
			(*input)[h.name()] = true
			return errBroken
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
	input, err := p.dispatch(ctx, tool, role)
	observed := m.observer != nil && slices.Contains(active, len(m.registries)-1)
	want := m.model.dispatch(active, point, tool, role, p.input, observed)
	got := modelResult{ran: m.ran, input: slices.Sorted(maps.Keys(input)), events: len(m.events)}
	if err != nil {
		got.source, got.reason = modelAbort(err)
	}
	for _, ev := range m.events {
		got.outcome = ev.Outcome
		for _, h := range ev.Hooks {
			got.outcomes = append(got.outcomes, h.Outcome)
		}
		names := make([]string, len(ev.Hooks))
		for i, h := range ev.Hooks {
			names[i] = h.Name
		}
		m.same(fmt.Sprint(m.ran), fmt.Sprint(names))
		m.same(len(m.ran), ev.HookCount)
		m.same(got.source, ev.AbortSource)
		m.same(got.reason, ev.AbortReason)
	}
	m.same(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got))
	m.total += len(m.ran)
}

// modelAbort tells who aborted, and why.
func modelAbort(err error) (source, reason string) {
	if abort, ok := errors.AsType[*hooks.HookAborted](err); ok {
		return abort.Source, abort.Reason
	}
	return "not an abort", err.Error()
}

// list compares what the registries say they hold.
func (m *machine) list() {
	for registry, r := range m.registries {
		for point, p := range m.points {
			var want, got []string
			for _, h := range m.model.chain(registry, point) {
				want = append(want, h.name())
			}
			for _, reg := range r.Hooks(p.name) {
				got = append(got, reg.Name())
			}
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
	modelToolFilters = slices.Concat(named(modelToolNames), []string{"*", "delete_*", "github*", "mcp__*__read", "?ull", "*file", "*ile*"})
	modelRoles       = []string{"", "Writer", "Reader", "writer"}
)

// named returns list with a name in place of the empty one, which no filter may
// hold.
func named(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		if list[i] == "" {
			list[i] = "nobody's"
		}
	}
	return list
}

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
		h.agents = modelPick(choose, named(modelRoles))
	}
	if choose.IntN(3) == 0 {
		h.does = modelDoes(choose.IntN(int(modelDeeds)))
	}
	return h
}

// modelPick picks up to three of list, with repeats: nil for none.
func modelPick(choose modelChoices, list []string) []string {
	n := choose.IntN(4)
	if n == 0 {
		return nil
	}
	some := make([]string, n)
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

// modelRuns counts the runs of TestModel in this process.
var modelRuns atomic.Int64

// TestModel needs a process in which no other test has switched on what only
// one with scopes or observers does. It comes first, since Go runs tests by the
// names of their files; where that isn't so, it starts a process of its own. Its
// phases come in the order in which more and more is switched on, for good.
func TestModel(t *testing.T) {
	shuffled := flag.Lookup("test.shuffle").Value.String() != "off"
	if first := modelRuns.Add(1) == 1; !inChild() && (shuffled || !first) {
		rerun(t)
		return
	}
	require.True(t, modelCovers()["Delete File"]["delete_file"] && !modelCovers()["*file"]["full"], "the filters filter")
	seed := seedOf(t)
	sequences, steps := 60, 80
	if race.Enabled {
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
			rng := rand.New(rand.NewPCG(seed, uint64(phase)))
			ran := 0
			for range sequences {
				// A point at which nobody has had a scope yet.
				m := newMachine(t, newPoint[modelCall](t), tt.scopes, tt.observed)
				for range steps {
					m.step(rng)
				}
				m.list()
				m.close()
				ran += m.total
			}
			require.Greater(t, ran, sequences, "hooks that ran")
		})
	}
}

// fuzzChoices takes each decision from the next byte, and the first of what
// there is to choose from when there are no more.
type fuzzChoices []byte

func (b *fuzzChoices) IntN(n int) int {
	if len(*b) == 0 {
		return 0
	}
	choice := int((*b)[0]) % n
	*b = (*b)[1:]
	return choice
}

// fuzzRecorder takes decisions at random and keeps them as fuzzChoices.
type fuzzRecorder struct {
	rng   *rand.Rand
	bytes []byte
}

func (r *fuzzRecorder) IntN(n int) int {
	choice := r.rng.IntN(n)
	r.bytes = append(r.bytes, byte(choice))
	return choice
}

// FuzzChainOrder does the operations that the bytes say to the registries of a
// process and to the model, and compares which hooks run, in which order, what
// they did, and what is listed and counted.
func FuzzChainOrder(f *testing.F) {
	for seed := range uint64(4) {
		record := &fuzzRecorder{rng: rand.New(rand.NewPCG(seed, 0))}
		m := newMachine(f, modelCallPoint, true, record.IntN(2) == 1)
		for range 40 {
			m.step(record)
		}
		m.close()
		f.Add(record.bytes)
	}
	f.Fuzz(func(t *testing.T, operations []byte) {
		if len(operations) > 2000 {
			return // no kind of operation needs more
		}
		choose := fuzzChoices(operations)
		m := newMachine(t, modelCallPoint, true, choose.IntN(2) == 1)
		defer m.close()
		for len(choose) > 0 {
			m.step(&choose)
		}
		m.list()
	})
}
