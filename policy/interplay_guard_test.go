package policy_test

// Policies that decide about one call, and what a call that is refused leaves behind.

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const blockedPay = "Tool execution blocked by hook. Tool: pay. Reason: "

// pays runs a call of the tool pay, and says what the model reads.
func pays(ctx context.Context, m *meeting, id string, input map[string]any, runs *int) string {
	m.Helper()
	call := &hooks.ToolCall{ID: id, Name: "pay", Input: input}
	require.NoError(m, hooks.RunTool(ctx, call, finds("paid", runs)))
	return call.Result
}

// A call that isn't let through gives its token back and is charged nothing, whichever
// guard says no.
func TestInterplay_refusedCallCostsNothing(t *testing.T) {
	amounts := policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{"properties":{"amount":{"maximum":100}}}`)}}
	for name, tt := range map[string]struct {
		policy registrable
		input  map[string]any
		answer []hookstest.DeskAnswer
		reason string
	}{
		"Tools":            {policy.Tools{Deny: []string{"pay"}}, nil, nil, "this tool isn't available in this run; use one of those offered"},
		"Schema":           {amounts, map[string]any{"amount": 900}, nil, "/amount: maximum"},
		"Approval":         {policy.Approval{}, nil, []hookstest.DeskAnswer{hookstest.Rejects("too dear")}, "not approved: too dear"},
		"Approval, failed": {policy.Approval{}, map[string]any{"f": func() {}}, nil, "policy.Approval failed"},
	} {
		t.Run(name, func(t *testing.T) {
			meet(t, func(m *meeting) {
				m.ctx = hooks.WithDesk(m.ctx, hookstest.NewDesk(m.T, tt.answer...))
				runs := 0
				m.run(func(ctx context.Context) {
					assert.Equal(m, blockedPay+tt.reason, pays(ctx, m, "1", tt.input, &runs))
					assert.Zero(m, runs)
					assert.Zero(m, bill(m.T, ctx).ToolCalls)
				})
				require.Len(m, m.audit(), 1)
				assert.Contains(m, m.audit()[0], "outcome post_tool_call pay")

				for _, guard := range m.reg.Hooks(hooks.PreToolCall) {
					if name, _, _ := strings.Cut(name, ","); guard.Name() == "policy."+name {
						guard.Remove()
					}
				}
				m.run(func(ctx context.Context) {
					assert.Equal(m, "paid", pays(ctx, m, "2", nil, &runs), "the token is back")
				})
			}, policy.Rate{Limit: 1, Per: time.Hour}, policy.Budget{ToolCalls: 1}, policy.Cache{Tools: []string{"pay"}}, tt.policy)
		})
	}
}

// The token of a call that Approval refuses, or suspends, is there for the next one.
func TestInterplay_tokenIsBackForTheNextCall(t *testing.T) {
	meet(t, func(m *meeting) {
		d := hookstest.NewDesk(m.T, hookstest.Rejects("no"), hookstest.Undecided(), hookstest.Approves())
		runs := 0
		err := turnOf(hooks.WithDesk(m.ctx, d), finds("paid", &runs),
			&hooks.ToolCall{ID: "1", Name: "pay"}, &hooks.ToolCall{ID: "2", Name: "pay"}, &hooks.ToolCall{ID: "3", Name: "pay"}, &hooks.ToolCall{ID: "4", Name: "pay"})
		waits, ok := errors.AsType[*hooks.Suspended](err)
		require.True(m, ok, err)
		assert.Len(m, waits.Questions, 1)
		assert.Equal(m, 1, runs)
		assert.Len(m, d.Asked(), 3, "nobody is asked about the call that Rate refuses")
		assert.Equal(m, []string{
			"outcome post_tool_call pay {}; policy.Approval: not approved: no",
			"outcome pre_tool_call pay {}",
			"intent pre_tool_call pay {}",
			"outcome post_tool_call pay {}; policy.Rate: no more than 1 call in 1h0m0s; try again in 1h0m0s",
			"outcome post_tool_call pay {} = paid",
		}, sortedBodies(m.audit()))
	}, policy.Rate{Limit: 1, Per: time.Hour}, policy.Approval{}, policy.Budget{ToolCalls: 1})
}

// sortedBodies puts the outcome of the one call that ran last: it runs beside the others.
func sortedBodies(lines []string) (sorted []string) {
	var ran []string
	for _, line := range lines {
		if strings.HasSuffix(line, "= paid") {
			ran = append(ran, line)
		} else {
			sorted = append(sorted, line)
		}
	}
	return append(sorted, ran...)
}

// Audit is the last guard: what it can't write gives all back.
func TestInterplay_auditThatCannotWrite(t *testing.T) {
	meet(t, func(m *meeting) {
		sink := &brokenSink{broken: true}
		policy.Audit{Log: policy.NewAuditLog(sink, auditKey)}.Register(hooks.In(m.reg), hooks.WithName("second audit"))
		m.ctx = hooks.WithDesk(m.ctx, hookstest.NewDesk(m.T, hookstest.Approves(), hookstest.Approves()))
		runs := 0
		m.run(func(ctx context.Context) {
			assert.Equal(m, blockedPay+"the audit can't be written", pays(ctx, m, "1", nil, &runs))
			assert.Zero(m, bill(m.T, ctx).ToolCalls)
			sink.broken = false
			assert.Equal(m, "paid", pays(ctx, m, "2", nil, &runs))
			assert.Equal(m, 1, runs)
		})
	}, policy.Rate{Limit: 1, Per: time.Hour}, policy.Approval{}, policy.Budget{ToolCalls: 1})
}

// brokenSink writes nothing while it is broken.
type brokenSink struct{ broken bool }

func (s *brokenSink) Write(p []byte) (int, error) {
	if s.broken {
		return 0, errBoom
	}
	return len(p), nil
}

// What people make of a call is judged by all guards, and runs, and is recorded.
func TestInterplay_editIsJudgedBySchemaAndPaths(t *testing.T) {
	_, root := openDir(t)
	schema := policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{"properties":{"amount":{"maximum":100}}}`)}}
	for name, tt := range map[string]struct {
		edit, want string
	}{
		"within limits":         {`{"amount":7,"path":"a"}`, "paid"},
		"beyond a limit":        {`{"amount":101}`, blockedPay + "/amount: maximum"},
		"leaves the directory":  {`{"path":"../x"}`, blockedPay + "path must stay inside the working directory"},
		"isn't clean any more":  {`{"path":"a/../b"}`, blockedPay + "path must be written with /, and without . and .. and doubled slashes"},
		"a key in another case": {`{"Amount":7}`, blockedPay + `unknown "Amount", want "amount"`},
	} {
		t.Run(name, func(t *testing.T) {
			meet(t, func(m *meeting) {
				d := hookstest.NewDesk(m.T, hookstest.Edits(tt.edit))
				m.ctx = hooks.WithDesk(m.ctx, d)
				runs := 0
				m.run(func(ctx context.Context) {
					got := pays(ctx, m, "1", map[string]any{"amount": 5, "path": "./a"}, &runs)
					assert.Equal(m, tt.want, got)
					ran := tt.want == "paid"
					assert.Equal(m, ran, runs == 1)
					assert.Equal(m, ran, bill(m.T, ctx).ToolCalls == 1)
				})
				require.Len(m, d.Asked(), 1)
				assert.Equal(m, `{"amount":5,"path":"a"}`, d.Asked()[0].Arguments, "the question shows the clean path")
				// Audit is asked behind Approval, and once more when all guards are.
				log := m.audit()
				assert.Equal(m, "intent pre_tool_call pay "+tt.edit, log[0])
				if tt.want == "paid" {
					assert.Equal(m, []string{log[0], log[0], "outcome post_tool_call pay " + tt.edit + " = paid"}, log)
				} else {
					require.Len(m, log, 2)
					assert.Contains(m, log[1], "outcome post_tool_call pay "+tt.edit+"; policy.")
				}
			}, schema, policy.Paths{Root: root}, policy.Approval{May: []hooks.Verdict{hooks.Approve, hooks.Edit}}, policy.Rate{Limit: 1, Per: time.Hour}, policy.Budget{ToolCalls: 1})
		})
	}
}

// People are asked once for all attempts, and about an answer of the cache, too.
func TestInterplay_approvalOnceForAllAttempts(t *testing.T) {
	meet(t, func(m *meeting) {
		d := hookstest.NewDesk(m.T, hookstest.Approves(), hookstest.Approves(), hookstest.Rejects("no"))
		m.ctx = hooks.WithDesk(m.ctx, d)
		body, runs := failingTool(policy.Temporary(errBoom, 0), policy.Temporary(errBoom, 0))
		m.run(func(ctx context.Context) {
			var read []string
			for _, id := range []string{"1", "2", "3"} {
				call := searchFor(id, "a")
				require.NoError(m, hooks.RunTool(ctx, call, body))
				read = append(read, call.Result)
			}
			assert.Equal(m, []string{"fine", "fine", blockedSearch + "not approved: no"}, read)
			assert.Equal(m, 3, *runs)
			assert.Equal(m, 3, bill(m.T, ctx).ToolCalls)
			assert.Len(m, d.Asked(), 3)
			assert.Len(m, d.Ended(), 2)
		})
		assert.Len(m, m.audit(), 5, "an intent and an outcome of two calls, and an outcome of the third")
	}, policy.Approval{}, policy.Retry{Tools: searches}, policy.Cache{Tools: searches}, policy.Budget{ToolCalls: 9}, policy.Rate{Limit: 3, Per: time.Hour})
}

// Schema judges, and Approval shows, what Redact has put back; a token that the model
// made up is what it says.
func TestInterplay_guardsSeeWhatRedactPutBack(t *testing.T) {
	schema := policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{"properties":{"to":{"type":"string","pattern":"@"}}}`)}}
	meet(t, func(m *meeting) {
		d := hookstest.NewDesk(m.T, hookstest.Approves())
		m.ctx = hooks.WithDesk(m.ctx, d)
		runs := 0
		m.run(func(ctx context.Context) {
			require.NoError(m, hooks.RunModel(ctx, question("Pay ann@example.com."), limitAnswer))
			assert.Equal(m, "paid", pays(ctx, m, "1", map[string]any{"to": "<EMAIL_1>"}, &runs))
			assert.Equal(m, blockedPay+"/to: pattern", pays(ctx, m, "2", map[string]any{"to": "<EMAIL_2>"}, &runs))
		})
		require.Len(m, d.Asked(), 1)
		assert.Equal(m, `{"to":"ann@example.com"}`, d.Asked()[0].Arguments)
	}, schema, policy.Approval{}, policy.Redact{Set: redactKeysAndMail(), With: policy.Token})
}

// A poll whose answer comes from the cache doesn't get on.
func TestInterplay_loopsSeesAnswersOfTheCache(t *testing.T) {
	meet(t, func(m *meeting) {
		runs := 0
		m.run(func(ctx context.Context) {
			var read []string
			for range 5 {
				call := searchFor("1", "a")
				err := hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
					runs++
					c.Result = time.Now().String() // never the same
					return nil
				})
				if err != nil {
					read = append(read, refusedFor(m, err))
					continue
				}
				read = append(read, limitReason(call))
				time.Sleep(time.Second)
			}
			const reason = "the same call gave the same result 3 times; try something else or say what is missing"
			assert.Equal(m, []string{"", "", "", reason, reason}, read)
			assert.Equal(m, 1, runs)
		})
	}, policy.Loops{Stop: 2}, policy.Cache{Tools: searches}, policy.Redact{}, policy.Retry{Tools: searches})
}

// The attempts of a call are one call, and so is each call that people refuse.
func TestInterplay_loopsCountsCallsAndNotAttempts(t *testing.T) {
	meet(t, func(m *meeting) {
		runs := 0
		m.run(func(ctx context.Context) {
			var read []string
			for range 4 {
				call := searchFor("1", "a")
				require.NoError(m, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error {
					runs++
					return policy.Temporary(errBoom, 0)
				}))
				read = append(read, limitReason(call))
			}
			assert.Equal(m, []string{"", "", "", "the same call gave the same result 3 times; try something else or say what is missing"}, read)
			assert.Equal(m, 9, runs)
		})
		d := hookstest.NewDesk(m.T, hookstest.Rejects("no"), hookstest.Rejects("no"), hookstest.Rejects("no"))
		m.ctx = hooks.WithDesk(m.ctx, d)
		m.run(func(ctx context.Context) {
			for _, id := range []string{"1", "2", "3", "4"} {
				_ = pays(ctx, m, id, nil, &runs)
			}
			assert.Len(m, d.Asked(), 3, "Loops comes before Approval")
		})
	}, policy.Loops{}, policy.Retry{Tools: searches}, named{policy.Approval{}, []string{"pay"}})
}

// A key that stands at the cut is redacted before, in all places where one may stand,
// and what is spilled is, too.
func TestInterplay_truncateBehindRedact(t *testing.T) {
	for name, back := range map[string]int{"inside": 10, "at its begin": 0, "at its end": len(redactKey)} {
		t.Run(name, func(t *testing.T) {
			var spilled atomic.Int64
			spill := func(_ context.Context, _ *hooks.ToolCall, full string) (string, error) {
				spilled.Add(1)
				if strings.Contains(full, "sk-") {
					return "it holds a key", nil
				}
				return "spill/1", nil
			}
			meet(t, func(m *meeting) {
				for at := 0; at <= 600; at += 37 {
					text := strings.Repeat("x", max(at-back, 0)) + " " + redactKey + " " + strings.Repeat("y", 600)
					half := len(text) / 2
					call := &hooks.ToolCall{ID: "1", Name: "read"}
					require.NoError(m, hooks.RunTool(m.ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
						c.Result, c.Parts = text[:half], []hooks.Part{{Kind: "text", Text: text[half:]}}
						return errors.New("failed, " + redactKey)
					}))
					assert.NotContains(m, call.Text(), "sk-")
					assert.NotContains(m, call.Text(), redactKey[len(redactKey)-10:])
					assert.NotContains(m, call.Text(), "it holds a key")
					assert.LessOrEqual(m, len(call.Text()), 300)
				}
				assert.NotZero(m, spilled.Load())
			}, policy.Redact{}, policy.Truncate{Max: 300, Spill: spill})
		})
	}
}
