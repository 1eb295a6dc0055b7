package policy_test

// Policies in a scope inside another, in sub-agents, and in runs that are suspended and
// go on.

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nested runs fn in an execution under two scopes, and returns what was recorded of
// models and tools by an Audit in the one that says so.
func nested(t *testing.T, outer, inner []registrable, auditInside bool, d hooks.Desk, fn func(ctx context.Context)) []string {
	t.Helper()
	m := &meeting{T: t, out: new(bytes.Buffer)}
	audit := policy.Audit{Log: policy.NewAuditLog(m.out, auditKey), Full: true}
	if auditInside {
		inner = append(inner, audit)
	} else {
		outer = append(outer, audit)
	}
	m.ctx = hooks.WithDesk(t.Context(), d)
	for _, scope := range [][]registrable{outer, inner} {
		reg := hooks.NewRegistry()
		for _, p := range scope {
			p.Register(hooks.In(reg))
		}
		m.ctx = hooks.WithScope(m.ctx, reg)
	}
	m.run(fn)
	return m.audit()
}

// What limits is outside of what retries, asks and caches.
func TestInterplay_limitsInTheOuterScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := []registrable{policy.Rate{Limit: 4, Per: time.Hour}, policy.Budget{ToolCalls: 9}, policy.Rate{Limit: 2, Per: time.Hour, Attempts: true}}
		rest := []registrable{policy.Retry{Tools: searches, First: 1, Most: 1}, policy.Cache{Tools: searches}, policy.Approval{}, policy.Redact{}}
		d := hookstest.NewDesk(t, hookstest.Approves(), hookstest.Approves(), hookstest.Rejects("no"))
		audit := nested(t, limits, rest, false, d, func(ctx context.Context) {
			body, runs := failingTool(policy.Temporary(errBoom, 0), policy.Temporary(errBoom, 0))
			var read []string
			for _, id := range []string{"1", "2", "3"} {
				call := searchFor(id, "a")
				require.NoError(t, hooks.RunTool(ctx, call, body))
				read = append(read, call.Result)
			}
			assert.Equal(t, []string{"fine", "fine", blockedSearch + "not approved: no"}, read)
			assert.Equal(t, 3, *runs)
			assert.Equal(t, 1, bill(t, ctx).ToolCalls, "the attempts are one run, the cached answer none")

			// Tokens: the guard gave back that of the refused call, the around hook
			// that of the cached one.
			call := searchFor("4", "b")
			require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, hookstest.NewDesk(t, hookstest.Approves())), call, body))
			assert.Equal(t, "fine", call.Result)
			call = searchFor("5", "c")
			require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, hookstest.NewDesk(t, hookstest.Approves())), call, body))
			assert.Contains(t, call.Result, "no more than 2 calls")
			call = searchFor("6", "d")
			require.NoError(t, hooks.RunTool(ctx, call, body))
			assert.Contains(t, call.Result, "no more than 4 calls", "the one that was refused later has kept its token")
		})
		assert.Equal(t, []string{
			`intent pre_tool_call search {"q":"a"}`,
			`outcome post_tool_call search {"q":"a"} = fine`,
			`intent pre_tool_call search {"q":"a"}`,
			`outcome post_tool_call search {"q":"a"} = fine`,
			`intent pre_tool_call search {"q":"a"}`, // a guard of the inner scope refuses it
			`outcome post_tool_call search {"q":"a"}; policy.Approval: not approved: no`,
		}, audit[:6])
	})
}

// What limits is inside, as the comments advise: then it is as in one registry, but
// that people are asked first.
func TestInterplay_limitsInTheInnerScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rest := []registrable{policy.Retry{Tools: searches, First: 1, Most: 1}, policy.Cache{Tools: searches}, policy.Approval{}, policy.Redact{}}
		limits := []registrable{policy.Rate{Limit: 2, Per: time.Hour}, policy.Budget{ToolCalls: 9}}
		d := hookstest.NewDesk(t, hookstest.Approves(), hookstest.Rejects("no"), hookstest.Approves(), hookstest.Approves())
		audit := nested(t, rest, limits, true, d, func(ctx context.Context) {
			body, runs := failingTool(policy.Temporary(errBoom, 0), policy.Temporary(errBoom, 0))
			var read []string
			for _, id := range []string{"1", "2", "3", "4"} {
				call := searchFor(id, "a")
				require.NoError(t, hooks.RunTool(ctx, call, body))
				read = append(read, limitReason(call))
			}
			assert.Equal(t, []string{"", "not approved: no", "", "no more than 2 calls in 1h0m0s; try again in 30m0s"}, read)
			assert.Equal(t, 3, *runs)
			assert.Equal(t, 3, bill(t, ctx).ToolCalls, "each attempt is charged")
		})
		assert.Equal(t, []string{
			`intent pre_tool_call search {"q":"a"}`,
			`outcome post_tool_call search {"q":"a"} = fine`,
			`outcome post_tool_call search {"q":"a"}; policy.Approval: not approved: no`,
			`intent pre_tool_call search {"q":"a"}`, // cached
			`outcome post_tool_call search {"q":"a"} = fine`,
			`outcome post_tool_call search {"q":"a"}; policy.Rate: no more than 2 calls in 1h0m0s; try again in 30m0s`,
		}, audit)
	})
}

// A budget of a scope and one of a scope inside are both charged for what both see.
func TestInterplay_budgetInEachScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nested(t, []registrable{policy.Budget{ModelCalls: 2}}, []registrable{policy.Retry{}, policy.Budget{ModelCalls: 5}}, true, hookstest.NewDesk(t), func(ctx context.Context) {
			body, _ := failing(statusError(503), statusError(503))
			require.NoError(t, hooks.RunModel(ctx, question("hello"), body))
			bills := policy.Spent(ctx)
			require.Len(t, bills, 2)
			assert.Equal(t, 1, bills[0].ModelCalls, "of an around hook of an inner scope it sees one run")
			assert.Equal(t, 3, bills[1].ModelCalls)
			assert.Equal(t, 10, bills[0].Usage.In, "with what the last one has used")
			assert.Equal(t, 30, bills[1].Usage.In)
		})
	})
}

// A sub-agent shares account, limits, cache and tokens with the run that it is in, and
// has a memory of calls of its own.
func TestInterplay_subAgents(t *testing.T) {
	meet(t, func(m *meeting) {
		runs := 0
		m.run(func(ctx context.Context) {
			require.NoError(m, hooks.RunModel(ctx, question("Write to ann@example.com."), limitAnswer))
			for _, role := range []string{"a", "b"} {
				x := &hooks.Execution{}
				x.AgentRole = role
				require.NoError(m, hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
					for range 3 { // a fourth would be refused by Loops
						call := searchFor("1", "<EMAIL_1>")
						require.NoError(m, hooks.RunTool(ctx, call, finds("for ann@example.com", &runs)))
						assert.Equal(m, "for <EMAIL_1>", call.Result)
					}
					return nil
				}))
			}
			assert.Equal(m, 2, runs, "each role has its own answers in the cache")
			assert.Equal(m, 2, bill(m.T, ctx).ToolCalls)
			call := searchFor("1", "c")
			require.NoError(m, hooks.RunTool(ctx, call, finds("", &runs)))
			assert.Contains(m, call.Result, "no more than 6 calls", "the limit is that of all")
		})
	}, policy.Loops{}, policy.Budget{ToolCalls: 9}, policy.Cache{Tools: searches}, policy.Rate{Limit: 6, Per: time.Hour},
		policy.Redact{Set: redactKeysAndMail(), With: policy.Token})
}

// A run that waits for a decision goes on: what is the process's is as it was left, what
// is the run's begins anew.
func TestInterplay_suspendedAndResumed(t *testing.T) {
	meet(t, func(m *meeting) {
		d := hookstest.NewDesk(m.T)
		runs := map[string]int{}
		var bills []policy.Bill
		run := func(resumed bool, calls ...*hooks.ToolCall) error {
			x := &hooks.Execution{Caller: hooks.Caller{RunID: "r"}, Resumed: resumed}
			return hooks.RunExecution(hooks.WithDesk(m.ctx, d), x, func(ctx context.Context, _ *hooks.Execution) error {
				defer func() { bills = append(bills, bill(m.T, ctx)) }()
				return hooks.RunTools(ctx, calls, 1, func(_ context.Context, c *hooks.ToolCall) error {
					if runs[c.Name]++; runs[c.Name] == 1 {
						return policy.Temporary(errBoom, 0)
					}
					c.Result = redactKey
					return nil
				})
			})
		}
		pay := func() *hooks.ToolCall {
			return &hooks.ToolCall{ID: "2", Name: "pay", Input: map[string]any{"amount": 5}}
		}
		first := searchFor("1", "a")
		waits, ok := errors.AsType[*hooks.Suspended](run(false, first, pay()))
		require.True(m, ok)
		assert.Equal(m, "[KEY]", first.Result)
		_, ok = errors.AsType[*hooks.Suspended](run(true, pay()))
		require.True(m, ok, "nobody has decided yet")

		require.NoError(m, d.Decide(waits.Questions[0].ID, hookstest.Approves()))
		paid, again, over := pay(), searchFor("3", "a"), &hooks.ToolCall{ID: "4", Name: "pay"}
		require.NoError(m, run(true, paid, again, over))
		assert.Equal(m, "[KEY]", paid.Result)
		assert.Equal(m, "[KEY]", again.Result)
		assert.Contains(m, limitReason(over), "no more than 1 call", "the call that waited took one token in all")
		assert.Equal(m, map[string]int{"search": 2, "pay": 2}, runs)
		assert.Len(m, d.Ended(), 1)

		require.Len(m, bills, 3)
		assert.Equal(m, []int{2, 0, 2}, []int{bills[0].ToolCalls, bills[1].ToolCalls, bills[2].ToolCalls}, "a run that goes on has a new account")
		assert.Equal(m, []string{
			`intent pre_tool_call search {"q":"a"}`,
			`outcome post_tool_call search {"q":"a"} = [KEY]`,
			`outcome pre_tool_call pay {"amount":5}`, // waits
			`outcome pre_tool_call pay {"amount":5}`,
			`intent pre_tool_call pay {"amount":5}`,
			`outcome post_tool_call pay {"amount":5} = [KEY]`,
			`intent pre_tool_call search {"q":"a"}`, // cached
			`outcome post_tool_call search {"q":"a"} = [KEY]`,
			`outcome post_tool_call pay {}; policy.Rate: no more than 1 call in 1h0m0s; try again in 1h0m0s`,
		}, m.audit())
	},
		named{policy.Approval{}, []string{"pay"}}, named{policy.Rate{Limit: 1, Per: time.Hour}, []string{"pay"}},
		policy.Budget{ToolCalls: 9}, together{policy.Retry{Tools: []string{"search", "pay"}}}, policy.Cache{Tools: searches},
		policy.Redact{}, policy.Loops{Same: 1, Cycle: 1})
}

// Tokens begin anew where a run goes on: an approval for the value isn't one for the text
// of the token, of which people are asked.
func TestInterplay_tokenInACallThatWaits(t *testing.T) {
	meet(t, func(m *meeting) {
		d := desk.New(desk.Memory())
		runs := 0
		run := func(fn func(ctx context.Context) error) error {
			return hooks.RunExecution(hooks.WithDesk(m.ctx, d), &hooks.Execution{Caller: hooks.Caller{RunID: "r"}}, func(ctx context.Context, _ *hooks.Execution) error { return fn(ctx) })
		}
		pay := func(ctx context.Context) error {
			return hooks.RunTool(ctx, &hooks.ToolCall{ID: "1", Name: "pay", Input: map[string]any{"to": "<EMAIL_1>"}}, finds("paid", &runs))
		}
		err := run(func(ctx context.Context) error {
			require.NoError(m, hooks.RunModel(ctx, question("Pay ann@example.com."), limitAnswer))
			return pay(ctx)
		})
		waits, ok := errors.AsType[*hooks.Suspended](err)
		require.True(m, ok)
		assert.Equal(m, `{"to":"ann@example.com"}`, waits.Questions[0].Arguments)
		q := waits.Questions[0]
		require.NoError(m, d.Decide(m.ctx, q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}))

		waits, ok = errors.AsType[*hooks.Suspended](run(pay))
		require.True(m, ok)
		assert.Equal(m, `{"to":"<EMAIL_1>"}`, waits.Questions[0].Arguments)
		assert.Zero(m, runs)
	}, policy.Approval{}, policy.Redact{Set: redactKeysAndMail(), With: policy.Token})
}
