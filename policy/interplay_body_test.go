package policy_test

// Policies around one body: what each attempt, each model and each cached answer
// counts for.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var searches = []string{"search"}

func TestInterplay_fallbackOutsideOfRetry(t *testing.T) {
	prices := map[string]policy.Price{"large": {In: policy.USD(10)}, "small": {In: policy.USD(1)}}
	meet(t, func(m *meeting) {
		var asked []string
		body := func(_ context.Context, c *hooks.ModelCall) error {
			asked = append(asked, c.Model)
			c.Usage.In = 1_000_000
			if len(asked) < 5 {
				return statusError(503)
			}
			c.Response = "fine"
			return nil
		}
		m.run(func(ctx context.Context) {
			call := question("hello")
			require.NoError(m, hooks.RunModel(ctx, call, body))
			assert.Equal(m, "fine", call.Response)
			assert.Equal(m, "small", call.Model)
			assert.Equal(m, 5_000_000, call.Usage.In)
			assert.Equal(m, []string{"large", "large", "large", "small", "small"}, asked)
			charged := bill(m.T, ctx)
			assert.Equal(m, 5, charged.ModelCalls)
			assert.Equal(m, policy.USD(32), charged.Cost, "each attempt at the price of its model")
		})
		assert.Equal(m, []string{
			"intent pre_model_call large",
			"intent pre_model_call small",
			"outcome post_model_call small",
		}, m.audit())

		m.run(func(ctx context.Context) {
			again := question("hello")
			require.NoError(m, hooks.RunModel(ctx, again, body), "Cache is outside of Rate with Attempts, which has no token left")
			assert.Equal(m, "small", again.Model)
			assert.True(m, again.Answered())
			assert.Len(m, asked, 5)
			assert.Zero(m, bill(m.T, ctx).ModelCalls)

			err := hooks.RunModel(ctx, question("other"), body)
			assert.Equal(m, "no more than 5 calls in 1h0m0s; try again in 12m0s", refusedFor(m, err))
			err = hooks.RunModel(ctx, question("hello"), body)
			assert.Equal(m, "no more than 3 calls in 1h0m0s; try again in 20m0s", refusedFor(m, err), "the guard takes one token for a call, whichever models are asked")
		})
		assert.Len(m, asked, 5)
	},
		policy.Fallback{Models: []string{"small"}},
		policy.Retry{First: time.Nanosecond, Most: time.Nanosecond},
		policy.Budget{Cost: policy.USD(100), Prices: prices},
		policy.Cache{},
		policy.Rate{Limit: 5, Per: time.Hour, Model: true, Attempts: true},
		policy.Rate{Limit: 3, Per: time.Hour, Model: true},
	)
}

// refusedFor is the reason of an abort.
func refusedFor(m *meeting, err error) string {
	m.Helper()
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(m, ok, err)
	return abort.Reason
}

func TestInterplay_fallbackEndsWhereTheBudgetDoes(t *testing.T) {
	meet(t, func(m *meeting) {
		body, asked := models(map[string]error{"large": statusError(503)})
		m.run(func(ctx context.Context) {
			err := hooks.RunModel(ctx, question("hello"), body)
			require.ErrorIs(m, err, policy.ErrBudget)
			assert.Equal(m, []string{"large", "large"}, *asked)
			assert.Equal(m, 2, bill(m.T, ctx).ModelCalls)
		})
		assert.Equal(m, []string{"intent pre_model_call large", "outcome post_model_call large"}, m.audit(), "no other model is asked")
	}, policy.Fallback{Models: []string{"small"}}, policy.Retry{}, policy.Budget{ModelCalls: 2})
}

func TestInterplay_budgetRefusesTheSecondAttempt(t *testing.T) {
	t.Run("of a model", func(t *testing.T) {
		meet(t, func(m *meeting) {
			body, runs := failing(statusError(503), statusError(503))
			m.run(func(ctx context.Context) {
				call := question("hello")
				err := hooks.RunModel(ctx, call, body)
				assert.Equal(m, "the run's budget of 1 model call is used up; answer with what you have", refusedFor(m, err))
				assert.Equal(m, 1, *runs)
				assert.Equal(m, 10, call.Usage.In)
				assert.Equal(m, 1, bill(m.T, ctx).ModelCalls)
			})
			m.run(func(ctx context.Context) {
				require.NoError(m, hooks.RunModel(ctx, question("hello"), limitAnswer), "the attempt that the budget refused gave its token back")
			})
			m.run(func(ctx context.Context) {
				assert.Equal(m, "no more than 2 calls in 1h0m0s; try again in 30m0s", refusedFor(m, hooks.RunModel(ctx, question("hello"), limitAnswer)))
			})
		}, policy.Retry{First: time.Nanosecond, Most: time.Nanosecond}, policy.Budget{ModelCalls: 1}, policy.Rate{Limit: 2, Per: time.Hour, Model: true, Attempts: true})
	})
	t.Run("of a tool", func(t *testing.T) {
		meet(t, func(m *meeting) {
			body, runs := failingTool(policy.Temporary(errBoom, 0), policy.Temporary(errBoom, 0))
			m.run(func(ctx context.Context) {
				call := searchFor("1", "a")
				require.NoError(m, hooks.RunTool(ctx, call, body))
				assert.Equal(m, withheldSearch+"the run's budget of 1 tool call is used up; answer with what you have", call.Result)
				assert.Equal(m, 1, *runs)
				assert.Equal(m, 1, bill(m.T, ctx).ToolCalls)
			})
			assert.Equal(m, []string{
				`intent pre_tool_call search {"q":"a"}`,
				`outcome post_tool_call search {"q":"a"}; policy.Budget: the run's budget of 1 tool call is used up; answer with what you have`,
			}, m.audit())
			m.run(func(ctx context.Context) {
				call := searchFor("1", "a")
				require.NoError(m, hooks.RunTool(ctx, call, body), "the second run fails once more, and the budget ends that")
				assert.Equal(m, 2, *runs, "nothing was kept of the first one")
			})
		}, policy.Retry{Tools: searches}, policy.Budget{ToolCalls: 1}, policy.Cache{Tools: searches})
	})
}

func TestInterplay_rateRefusesTheSecondAttempt(t *testing.T) {
	meet(t, func(m *meeting) {
		body, runs := failingTool(policy.Temporary(errBoom, 0))
		m.run(func(ctx context.Context) {
			call := searchFor("1", "a")
			require.NoError(m, hooks.RunTool(ctx, call, body))
			assert.Equal(m, withheldSearch+"no more than 1 call in 1h0m0s; try again in 1h0m0s", call.Result)
			assert.Equal(m, 1, *runs)
			assert.Equal(m, 1, bill(m.T, ctx).ToolCalls)
		})
	}, policy.Retry{Tools: searches, First: time.Nanosecond, Most: time.Nanosecond}, policy.Budget{ToolCalls: 9}, policy.Rate{Limit: 1, Per: time.Hour, Attempts: true})
}

func TestInterplay_timeoutInsideOfRetry(t *testing.T) {
	meet(t, func(m *meeting) {
		runs := 0
		body := func(ctx context.Context, c *hooks.ModelCall) error {
			c.Usage.In = 10
			if runs++; runs < 3 {
				return until(ctx)
			}
			left, ok := ctx.Deadline()
			assert.True(m, ok)
			assert.Equal(m, 10*time.Second, time.Until(left), "each attempt has its time")
			c.Response = "fine"
			return nil
		}
		m.run(func(ctx context.Context) {
			call, began := question("hello"), time.Now()
			require.NoError(m, hooks.RunModel(ctx, call, body))
			assert.Equal(m, "fine", call.Response)
			assert.GreaterOrEqual(m, time.Since(began), 20*time.Second)
			assert.Equal(m, 3, bill(m.T, ctx).ModelCalls)
			assert.Equal(m, 30, bill(m.T, ctx).Usage.In)
		})

		toolRuns := 0
		m.run(func(ctx context.Context) {
			call := searchFor("1", "a")
			require.NoError(m, hooks.RunTool(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error { toolRuns++; return until(ctx) }))
			assert.Equal(m, "the tool took more than 10s and was cancelled; what it began may have happened", call.Result)
			assert.Equal(m, 1, toolRuns, "what a tool began may have happened")
			assert.Equal(m, 1, bill(m.T, ctx).ToolCalls)
		})
	},
		together{policy.Retry{}, policy.Retry{Tools: searches}},
		together{policy.Timeout{After: 10 * time.Second}, policy.Timeout{After: 10 * time.Second, Tools: searches}},
		policy.Budget{ModelCalls: 9})
}

func TestInterplay_timeOfTheBudgetInsideOfTimeout(t *testing.T) {
	meet(t, func(m *meeting) {
		runs := 0
		m.run(func(ctx context.Context) {
			began := time.Now()
			err := hooks.RunModel(ctx, question("hello"), func(ctx context.Context, _ *hooks.ModelCall) error { runs++; return until(ctx) })
			require.ErrorIs(m, err, policy.ErrBudget)
			assert.NotContains(m, err.Error(), "took more than")
			assert.Equal(m, 1, runs)
			assert.Less(m, time.Since(began), 10*time.Second)
		})
		m.run(func(ctx context.Context) {
			call := searchFor("1", "a")
			require.NoError(m, hooks.RunTool(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error { return until(ctx) }))
			require.ErrorIs(m, call.Err, policy.ErrBudget)
			assert.NotContains(m, call.Result, "took more than")
		})
	},
		policy.Retry{},
		together{policy.Timeout{After: 30 * time.Second}, policy.Timeout{After: 30 * time.Second, Tools: searches}},
		policy.Budget{Time: 5 * time.Second})
}

// A cache hit isn't charged, nor limited by Rate with Attempts; it is redacted, cut and
// recorded.
func TestInterplay_cacheHit(t *testing.T) {
	meet(t, func(m *meeting) {
		runs := 0
		body := finds(redactKey+strings.Repeat(" and so on", 1000), &runs)
		m.run(func(ctx context.Context) {
			for range 3 {
				call := searchFor("1", "a")
				require.NoError(m, hooks.RunTool(ctx, call, body))
				assert.Nil(m, call.Blocked)
				assert.True(m, strings.HasPrefix(call.Result, "[KEY] and so on"), call.Result[:30])
				assert.LessOrEqual(m, len(call.Result), 300)
			}
			assert.Equal(m, 1, runs)
			assert.Equal(m, 1, bill(m.T, ctx).ToolCalls)

			other := searchFor("2", "b")
			require.NoError(m, hooks.RunTool(ctx, other, body))
			assert.Equal(m, blockedSearch+"no more than 1 call in 1h0m0s; try again in 1h0m0s", other.Result)
		})
		var kinds []string
		for _, l := range auditLines(m.T, m.out.String()) {
			if l.Call == "1" {
				kinds = append(kinds, l.Kind)
				assert.NotContains(m, l.Result, "sk-")
			}
		}
		assert.Equal(m, []string{"intent", "outcome", "intent", "outcome", "intent", "outcome"}, kinds)
	},
		policy.Cache{Tools: searches}, policy.Budget{ToolCalls: 9}, policy.Redact{}, policy.Truncate{Max: 300},
		policy.Rate{Limit: 1, Per: time.Hour, Attempts: true})
}

// Guards come before the cache.
func TestInterplay_guardsRefuseWhatTheCacheHas(t *testing.T) {
	for name, tt := range map[string]struct {
		policy registrable
		reason string
	}{
		"Rate":   {policy.Rate{Limit: 1, Per: time.Hour}, "no more than 1 call in 1h0m0s; try again in 1h0m0s"},
		"Budget": {policy.Budget{ToolCalls: 1}, "the run's budget of 1 tool call is used up; answer with what you have"},
	} {
		t.Run(name, func(t *testing.T) {
			meet(t, func(m *meeting) {
				runs := 0
				m.run(func(ctx context.Context) {
					require.NoError(m, hooks.RunTool(ctx, searchFor("1", "a"), finds("x", &runs)))
					again := searchFor("2", "a")
					require.NoError(m, hooks.RunTool(ctx, again, finds("x", &runs)))
					assert.Equal(m, blockedSearch+tt.reason, again.Result)
					assert.Equal(m, 1, runs)
				})
			}, policy.Cache{Tools: searches}, tt.policy)
		})
	}
}

func TestInterplay_cacheKeepsWhatRetryGot(t *testing.T) {
	meet(t, func(m *meeting) {
		body, runs := failing(statusError(503), statusError(503))
		m.run(func(ctx context.Context) {
			require.NoError(m, hooks.RunModel(ctx, question("hello"), body))
			again := question("hello")
			require.NoError(m, hooks.RunModel(ctx, again, body))
			assert.Equal(m, "fine", again.Response)
			assert.Equal(m, 3, *runs)
			assert.Zero(m, again.Usage)
			assert.Equal(m, 3, bill(m.T, ctx).ModelCalls)
		})
		failing, runs := failing(statusError(503), statusError(503), statusError(503))
		m.run(func(ctx context.Context) {
			require.Error(m, hooks.RunModel(ctx, question("other"), failing))
			require.NoError(m, hooks.RunModel(ctx, question("other"), failing), "a failure isn't kept")
			assert.Equal(m, 4, *runs)
		})
	}, policy.Cache{}, policy.Retry{}, policy.Budget{ModelCalls: 9})
}

// Who waits for an equal call waits for all of its attempts.
func TestInterplay_cacheFollowersOfACallThatIsRetried(t *testing.T) {
	meet(t, func(m *meeting) {
		body, runs := failingTool(policy.Temporary(errBoom, time.Second))
		m.run(func(ctx context.Context) {
			calls := []*hooks.ToolCall{searchFor("1", "a"), searchFor("2", "a"), searchFor("3", "a")}
			require.NoError(m, hooks.RunTools(ctx, calls, 0, body))
			for _, c := range calls {
				assert.Equal(m, "fine", c.Result)
			}
			assert.Equal(m, 2, *runs)
			assert.Equal(m, 2, bill(m.T, ctx).ToolCalls)
		})
	}, policy.Cache{Tools: searches}, policy.Retry{Tools: searches}, policy.Budget{ToolCalls: 2}, policy.Rate{Limit: 2, Per: time.Hour, Attempts: true})
}

// A result that comes too late is one, and it is kept.
func TestInterplay_cacheKeepsWhatCameLate(t *testing.T) {
	meet(t, func(m *meeting) {
		runs := 0
		late := func(_ context.Context, c *hooks.ToolCall) error {
			runs++
			time.Sleep(time.Minute)
			c.Result = "late"
			return nil
		}
		for range 2 {
			call := searchFor("1", "a")
			require.NoError(m, hooks.RunTool(m.ctx, call, late))
			assert.Equal(m, "late", call.Result)
		}
		assert.Equal(m, 1, runs)
	}, policy.Cache{Tools: searches}, policy.Timeout{After: time.Second, Tools: searches})
}

// The cache compares what is sent: prompts that Redact has made equal share an answer.
func TestInterplay_cacheBehindRedact(t *testing.T) {
	prompts := []string{"What is " + redactKey + "?", "What is " + redactKey + "0?"}
	own := func(_ context.Context, c any) (string, bool) {
		return c.(*hooks.ModelCall).Caller.AgentRole, true
	}
	for name, tt := range map[string]struct {
		redact policy.Redact
		extra  func(context.Context, any) (string, bool)
		runs   int64
	}{
		"masks are equal":     {policy.Redact{}, nil, 1},
		"hashes differ":       {policy.Redact{With: policy.Hash}, nil, 2},
		"Extra tells it":      {policy.Redact{}, own, 2},
		"tokens of two runs":  {policy.Redact{With: policy.Token}, nil, 1},
		"nothing is redacted": {policy.Redact{Where: policy.Results}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			meet(t, func(m *meeting) {
				body, runs := counting()
				for i, prompt := range prompts {
					m.run(func(ctx context.Context) {
						call := question(prompt)
						call.AgentRole = []string{"a", "b"}[i]
						if tt.extra == nil {
							call.AgentRole = "same"
						}
						require.NoError(m, hooks.RunModel(ctx, call, body))
					})
				}
				assert.Equal(m, tt.runs, runs.Load())
			}, policy.Cache{Extra: tt.extra}, tt.redact)
		})
	}
}

// Each attempt, and each model, is sent what Redact and History have left.
func TestInterplay_attemptsAreSentWhatHooksLeft(t *testing.T) {
	meet(t, func(m *meeting) {
		var sent []string
		body := func(_ context.Context, c *hooks.ModelCall) error {
			for _, message := range c.Messages {
				sent = append(sent, message.Content)
			}
			return statusError(503)
		}
		m.run(func(ctx context.Context) {
			call := &hooks.ModelCall{Model: "large", Messages: []hooks.Message{
				{Role: "user", Content: strings.Repeat("long ago ", 1000)}, {Role: "user", Content: "My key is " + redactKey + "."},
			}}
			require.Error(m, hooks.RunModel(ctx, call, body))
			b := bill(m.T, ctx)
			assert.Equal(m, 4, b.ModelCalls)
			assert.Less(m, b.Usage.In, 4*100, "what is estimated is what was sent")
		})
		one := []string{"Earlier messages of this conversation are left out here.", "My key is [KEY]."}
		assert.Equal(m, append(append(append(append([]string{}, one...), one...), one...), one...), sent)
	},
		policy.Fallback{Models: []string{"small"}}, policy.Retry{Max: 2}, policy.Redact{},
		policy.History{Tokens: 100, Keep: 1}, policy.Budget{Tokens: 100_000})
}

// Each attempt gets the directory and the client.
func TestInterplay_rootAndClientInEachAttempt(t *testing.T) {
	_, root := openDir(t)
	meet(t, func(m *meeting) {
		runs := 0
		call := searchFor("1", "a")
		require.NoError(m, hooks.RunTool(m.ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error {
			runs++
			got, ok := policy.RootFrom(ctx)
			assert.True(m, ok)
			assert.Same(m, root, got)
			_, ok = policy.ClientFrom(ctx)
			assert.True(m, ok)
			_, ok = ctx.Deadline()
			assert.True(m, ok)
			return policy.Temporary(errBoom, 0)
		}))
		assert.Equal(m, 3, runs)
	},
		policy.Retry{Tools: searches}, policy.Timeout{After: time.Hour, Tools: searches},
		policy.Paths{Root: root}, policy.URLs{Hosts: []string{"example.com"}})
}

// Of two budgets, the one that refuses an attempt keeps the other from being charged.
func TestInterplay_twoBudgetsAroundRetry(t *testing.T) {
	meet(t, func(m *meeting) {
		body, runs := failing(statusError(503), statusError(503), statusError(503))
		m.run(func(ctx context.Context) {
			err := hooks.RunModel(ctx, question("hello"), body)
			assert.Equal(m, "the run's budget of 2 model calls is used up; answer with what you have", refusedFor(m, err))
			assert.Equal(m, 2, *runs)
			bills := policy.Spent(ctx)
			require.Len(m, bills, 2)
			assert.Equal(m, bills[0].ModelCalls, bills[1].ModelCalls)
			assert.Equal(m, 2, bills[0].ModelCalls)
		})
	}, policy.Retry{}, policy.Budget{ModelCalls: 5}, policy.Budget{ModelCalls: 2})
}
