package policy_test

// Policies that meet in one run, in any order of registration. What two of them make of
// one call is in interplay_body_test.go and interplay_guard_test.go, what scopes and
// runs that go on make of them in interplay_run_test.go.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// registrable is what every policy is.
type registrable interface {
	Register(opts ...hooks.Option) *hooks.Group
}

// together is a policy with the registrations that one policy needs for models and for
// tools.
type together []registrable

func (p together) Register(opts ...hooks.Option) *hooks.Group {
	var parts []interface{ Remove() bool }
	for _, one := range p {
		parts = append(parts, one.Register(opts...))
	}
	return hooks.Join(parts...)
}

// named registers a policy for some tools.
type named struct {
	registrable
	tools []string
}

func (p named) Register(opts ...hooks.Option) *hooks.Group {
	return p.registrable.Register(append(opts, hooks.WithTools(p.tools...))...)
}

func ignoreBill(context.Context, policy.Bill) {}

var mailAndKeys = redactKeysAndMail()

// interplay are seven policies that have to do with one another.
func interplay(log *policy.AuditLog) []registrable {
	return []registrable{
		together{policy.Retry{}, policy.Retry{Tools: []string{"search"}}},
		policy.Budget{ToolCalls: 20, ModelCalls: 20},
		together{policy.Cache{TTL: 24 * time.Hour}, policy.Cache{TTL: 24 * time.Hour, Tools: []string{"search"}}},
		policy.Rate{Limit: 3, Per: time.Hour},
		policy.Redact{Set: mailAndKeys, With: policy.Token},
		named{policy.Approval{}, []string{"pay"}},
		policy.Audit{Log: log, Full: true},
	}
}

// story is what came of a run with them.
type story struct {
	runs  []string // of bodies, with what they got
	reads []string // what the model, or who called it, reads
	bills []string
	asked []string // people, about what
	audit []string
}

// wantStory is that in each order of registration.
var wantStory = story{
	runs: []string{
		"large: Bill <EMAIL_1>, my key is <KEY_1>.", // fails
		"large: Bill <EMAIL_1>, my key is <KEY_1>.",
		`search: {"q":"ann@example.com"}`, // fails
		`search: {"q":"ann@example.com"}`,
		`search: {"q":"bob"}`,
		`pay: {"amount":1,"to":"ann@example.com"}`,
		`pay: {"amount":3}`,
		`pay: {"amount":4}`,
		"large: Sum up for <EMAIL_1>.",
	},
	reads: []string{
		"",
		"<EMAIL_1> owes 5",
		"<EMAIL_1> owes 5", // cached
		"<EMAIL_1> owes 5",
		"Tool execution blocked by hook. Tool: search. Reason: no more than 3 calls in 1h0m0s; try again in 20m0s",
		"paid",
		"Tool execution blocked by hook. Tool: pay. Reason: not approved: too dear", // its token is back
		"paid",
		"paid",
		"Tool execution blocked by hook. Tool: pay. Reason: no more than 3 calls in 1h0m0s; try again in 20m0s", // nobody is asked
		"Told <EMAIL_1>.",
		"Told <EMAIL_1>.", // cached
		// Then another run, a day later.
		"<EMAIL_1> owes 5", // cached
	},
	bills: []string{"6 tools, 3 models, 30 tokens", "0 tools, 0 models, 0 tokens"},
	asked: []string{`{"amount":1,"to":"ann@example.com"}`, `{"amount":2}`, `{"amount":3}`, `{"amount":4}`},
	audit: []string{
		"outcome execution_start",
		"intent pre_model_call large",
		"outcome post_model_call large",
		`intent pre_tool_call search {"q":"ann@example.com"}`,
		`outcome post_tool_call search {"q":"ann@example.com"} = <EMAIL_1> owes 5`,
		`intent pre_tool_call search {"q":"ann@example.com"}`, // cached
		`outcome post_tool_call search {"q":"ann@example.com"} = <EMAIL_1> owes 5`,
		`intent pre_tool_call search {"q":"bob"}`,
		`outcome post_tool_call search {"q":"bob"} = <EMAIL_1> owes 5`,
		`outcome post_tool_call search {"q":"eve"}; policy.Rate: no more than 3 calls in 1h0m0s; try again in 20m0s`,
		`intent pre_tool_call pay {"amount":1,"to":"ann@example.com"}`,
		`outcome post_tool_call pay {"amount":1,"to":"ann@example.com"} = paid`,
		`outcome post_tool_call pay {"amount":2}; policy.Approval: not approved: too dear`,
		`intent pre_tool_call pay {"amount":3}`,
		`outcome post_tool_call pay {"amount":3} = paid`,
		`intent pre_tool_call pay {"amount":4}`,
		`outcome post_tool_call pay {"amount":4} = paid`,
		`outcome post_tool_call pay {"amount":5}; policy.Rate: no more than 3 calls in 1h0m0s; try again in 20m0s`,
		"intent pre_model_call large",
		"outcome post_model_call large",
		"intent pre_model_call large", // cached
		"outcome post_model_call large",
		"outcome execution_end",
		"outcome execution_start",
		`intent pre_tool_call search {"q":"ann@example.com"}`, // cached
		`outcome post_tool_call search {"q":"ann@example.com"} = <EMAIL_1> owes 5`,
		"outcome execution_end",
	},
}

func TestInterplay_anyOrderOfRegistration(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	forward := []int{0, 1, 2, 3, 4, 5, 6}
	backward := slices.Clone(forward)
	slices.Reverse(backward)
	orders := [][]int{forward, backward}
	for range 200 {
		orders = append(orders, random.Perm(len(forward)))
	}
	for _, order := range orders {
		var got story
		synctest.Test(t, func(t *testing.T) { got = tell(t, order) })
		if !assert.Equal(t, wantStory, got, "registered in the order %v", order) {
			return
		}
	}
}

// tell registers the policies in an order, and tells what comes of the run.
func tell(t *testing.T, order []int) (s story) {
	t.Helper()
	var out bytes.Buffer
	policies, reg := interplay(policy.NewAuditLog(&out, auditKey)), hooks.NewRegistry()
	for _, i := range order {
		policies[i].Register(hooks.In(reg))
	}
	d := hookstest.NewDesk(t, hookstest.Approves(), hookstest.Rejects("too dear"), hookstest.Approves(), hookstest.Approves())
	failed := make(map[string]bool)
	failOnce := func(what string) error { // a first time
		if failed[what] {
			return nil
		}
		failed[what] = true
		return policy.Temporary(errors.New("busy"), 0)
	}
	ask := func(ctx context.Context, text string, calls ...hooks.ToolRequest) {
		m := &hooks.ModelCall{Model: "large", Messages: []hooks.Message{{Role: "user", Content: text}}}
		require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			s.runs = append(s.runs, "large: "+m.Messages[0].Content)
			m.Usage = hooks.Usage{In: 10}
			if m.ToolCalls = calls; calls == nil {
				m.Response = "Told ann@example.com."
			}
			return failOnce("large")
		}))
		s.reads = append(s.reads, m.Response)
	}
	turn := func(ctx context.Context, calls ...*hooks.ToolCall) {
		require.NoError(t, hooks.RunTools(ctx, calls, 1, func(_ context.Context, c *hooks.ToolCall) error {
			arguments, err := c.Arguments()
			s.runs = append(s.runs, c.Name+": "+arguments)
			if c.Result = "paid"; c.Name == "search" {
				c.Result = "ann@example.com owes 5"
				err = errors.Join(err, failOnce("search"))
			}
			return err
		}))
		for _, c := range calls {
			s.reads = append(s.reads, c.Text())
		}
	}
	run := func(id string, do func(ctx context.Context)) {
		x := &hooks.Execution{Caller: hooks.Caller{RunID: id}}
		require.NoError(t, hooks.RunExecution(hooks.WithDesk(hooks.WithScope(t.Context(), reg), d), x, func(ctx context.Context, _ *hooks.Execution) error {
			do(ctx)
			for _, bill := range policy.Spent(ctx) {
				s.bills = append(s.bills, fmt.Sprintf("%d tools, %d models, %d tokens", bill.ToolCalls, bill.ModelCalls, bill.Usage.In))
			}
			return nil
		}))
	}
	id := 0
	call := func(tool string, input map[string]any) *hooks.ToolCall {
		id++
		return &hooks.ToolCall{ID: fmt.Sprint(id), Name: tool, Input: input}
	}

	run("first", func(ctx context.Context) {
		ask(ctx, "Bill ann@example.com, my key is "+redactKey+".", hooks.ToolRequest{ID: "1", Name: "search"})
		turn(ctx,
			call("search", map[string]any{"q": "<EMAIL_1>"}),
			call("search", map[string]any{"q": "<EMAIL_1>"}),
			call("search", map[string]any{"q": "bob"}),
			call("search", map[string]any{"q": "eve"}),
			call("pay", map[string]any{"to": "<EMAIL_1>", "amount": 1}),
			call("pay", map[string]any{"amount": 2}),
			call("pay", map[string]any{"amount": 3}),
			call("pay", map[string]any{"amount": 4}),
			call("pay", map[string]any{"amount": 5}))
		ask(ctx, "Sum up for ann@example.com.")
		ask(ctx, "Sum up for ann@example.com.")
	})
	time.Sleep(23 * time.Hour)
	run("second", func(ctx context.Context) {
		turn(ctx, call("search", map[string]any{"q": "ann@example.com"}))
	})

	for _, q := range d.Asked() {
		s.asked = append(s.asked, q.Arguments)
	}
	_, err := policy.VerifyAudit(bytes.NewReader(out.Bytes()), auditKey)
	require.NoError(t, err)
	for _, l := range auditLines(t, out.String()) {
		s.audit = append(s.audit, auditStory(l))
	}
	return s
}

// auditStory tells a record in a line.
func auditStory(l auditLine) string {
	text := strings.Join(strings.Fields(fmt.Sprintln(l.Kind, l.Point, l.Model, l.Tool)), " ")
	switch {
	case l.Tool == "":
	case l.Reason != "":
		text += fmt.Sprintf(" %s; %s: %s", l.Input, l.Source, l.Reason)
	case l.Result != "":
		text += fmt.Sprintf(" %s = %s", l.Input, l.Result)
	default:
		text += " " + l.Input
	}
	return text
}

// meeting is some policies, and an Audit, in a registry.
type meeting struct {
	*testing.T
	ctx context.Context
	reg *hooks.Registry
	out *bytes.Buffer
}

// meet registers the policies and does something under them: in the order given, and in
// the reverse one. Time is that of a bubble.
func meet(t *testing.T, do func(m *meeting), policies ...registrable) {
	t.Helper()
	t.Parallel()
	for name, reverse := range map[string]bool{"as given": false, "reversed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &meeting{T: t, reg: hooks.NewRegistry(), out: new(bytes.Buffer)}
				m.ctx = hooks.WithScope(t.Context(), m.reg)
				all := append([]registrable{policy.Audit{Log: policy.NewAuditLog(m.out, auditKey), Full: true}}, policies...)
				if reverse {
					slices.Reverse(all)
				}
				for _, p := range all {
					p.Register(hooks.In(m.reg))
				}
				do(m)
			})
		})
	}
}

// run runs fn in an execution.
func (m *meeting) run(fn func(ctx context.Context)) {
	m.Helper()
	require.NoError(m, hooks.RunExecution(m.ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		fn(ctx)
		return nil
	}))
}

// audit returns what was recorded of models and tools.
func (m *meeting) audit() (all []string) {
	m.Helper()
	for _, l := range auditLines(m.T, m.out.String()) {
		if l.Model != "" || l.Tool != "" {
			all = append(all, auditStory(l))
		}
	}
	return all
}

// searchFor is a call of the tool search.
func searchFor(id, what string) *hooks.ToolCall {
	return &hooks.ToolCall{ID: id, Name: "search", Input: map[string]any{"q": what}}
}

// finds is the body of a tool with a result, which counts its runs.
func finds(text string, runs *int) hooks.Func[hooks.ToolCall] {
	return func(_ context.Context, c *hooks.ToolCall) error {
		*runs++
		c.Result = text
		return nil
	}
}

const (
	blockedSearch  = "Tool execution blocked by hook. Tool: search. Reason: "
	withheldSearch = "Tool result withheld by hook. Tool: search. Reason: "
)
