package policy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// uses returns the body of a model that says it has used so much.
func uses(u hooks.Usage) hooks.Func[hooks.ModelCall] {
	return func(_ context.Context, m *hooks.ModelCall) error {
		m.Response, m.Usage = "ok", u
		return nil
	}
}

// askLarge makes a model call.
func askLarge(ctx context.Context, body hooks.Func[hooks.ModelCall]) error {
	return hooks.RunModel(ctx, &hooks.ModelCall{Model: "large"}, body)
}

// budgetReason is why a budget has refused a call, "" if it hasn't.
func budgetReason(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(t, ok, err)
	require.ErrorIs(t, err, policy.ErrBudget)
	return abort.Reason
}

// inBudget runs fn in a run with the budget.
func inBudget(t *testing.T, p policy.Budget, fn func(ctx context.Context, reg *hooks.Registry)) {
	t.Helper()
	reg := hooks.NewRegistry()
	p.Register(hooks.In(reg))
	hookstest.Run(t, reg, func(ctx context.Context) { fn(ctx, reg) })
}

// bill returns the only bill of the run, without its time.
func bill(t *testing.T, ctx context.Context) policy.Bill {
	t.Helper()
	bills := policy.Spent(ctx)
	require.Len(t, bills, 1)
	assert.GreaterOrEqual(t, bills[0].Time, time.Duration(0))
	bills[0].Time = 0
	return bills[0]
}

// perToken is a price of a billionth for each token.
var perToken = policy.Price{In: 1_000_000, Out: 1_000_000}

func TestBudget_refusesOneByOne(t *testing.T) {
	t.Parallel()
	large := map[string]policy.Price{"large": perToken}
	for name, tt := range map[string]struct {
		policy policy.Budget
		usage  hooks.Usage
		runs   int
		reason string
	}{
		"model calls":    {policy.Budget{ModelCalls: 2}, hooks.Usage{}, 2, "the run's budget of 2 model calls is used up; answer with what you have"},
		"one model call": {policy.Budget{ModelCalls: 1}, hooks.Usage{}, 1, "the run's budget of 1 model call is used up; answer with what you have"},
		"tokens":         {policy.Budget{Tokens: 1000}, hooks.Usage{In: 500, Out: 100}, 2, "the run's budget of 1000 tokens is used up; answer with what you have"},
		"tokens exactly": {policy.Budget{Tokens: 1000}, hooks.Usage{In: 500}, 2, "the run's budget of 1000 tokens is used up; answer with what you have"},
		"one call over":  {policy.Budget{Tokens: 1000}, hooks.Usage{In: 5000}, 1, "the run's budget of 1000 tokens is used up; answer with what you have"},
		"cost":           {policy.Budget{Cost: 1000, Prices: large}, hooks.Usage{In: 600}, 2, "the run's budget of $0.000001 is used up; answer with what you have"},
		"a cent": {policy.Budget{Cost: policy.USD(0.01), Prices: map[string]policy.Price{"large": {In: policy.USD(3), Out: policy.USD(15)}}},
			hooks.Usage{In: 2000}, 2, "the run's budget of $0.01 is used up; answer with what you have"},
		"overflowing tokens": {policy.Budget{Tokens: math.MaxInt}, hooks.Usage{In: math.MaxInt, Out: math.MaxInt}, 1, ""},
		"overflowing cost": {policy.Budget{Cost: math.MaxInt64, Prices: map[string]policy.Price{"large": {In: math.MaxInt64}}},
			hooks.Usage{In: math.MaxInt}, 1, ""},
		"the first limit that is reached": {policy.Budget{ModelCalls: 9, Tokens: 10}, hooks.Usage{In: 10}, 1, "the run's budget of 10 tokens is used up; answer with what you have"},
		"no tool calls":                   {policy.Budget{ToolCalls: 1}, hooks.Usage{In: 10}, 20, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBudget(t, tt.policy, func(ctx context.Context, _ *hooks.Registry) {
				for range tt.runs {
					require.NoError(t, askLarge(ctx, uses(tt.usage)))
				}
				if tt.runs < 20 {
					reason := budgetReason(t, askLarge(ctx, func(context.Context, *hooks.ModelCall) error { t.Error("it ran"); return nil }))
					require.NotEmpty(t, reason)
					if tt.reason != "" {
						assert.Equal(t, tt.reason, reason)
					}
				}
				assert.Equal(t, tt.runs, bill(t, ctx).ModelCalls)
			})
		})
	}
}

func TestBudget_toolCalls(t *testing.T) {
	t.Parallel()
	inBudget(t, policy.Budget{ToolCalls: 2}, func(ctx context.Context, _ *hooks.Registry) {
		calls := make([]*hooks.ToolCall, 4)
		for i := range calls {
			calls[i] = &hooks.ToolCall{Name: "x"}
		}
		require.NoError(t, hooks.RunTools(ctx, calls, 1, limitBody("ok")))
		assert.True(t, calls[0].Ran() && calls[1].Ran())
		assert.Equal(t, "Tool execution blocked by hook. Tool: x. Reason: the run's budget of 2 tool calls is used up; answer with what you have", calls[2].Result)
		assert.ErrorIs(t, calls[3].Blocked, policy.ErrBudget)
		assert.Equal(t, "policy.Budget", calls[3].Blocked.Source)
		assert.Equal(t, 2, bill(t, ctx).ToolCalls)
		require.NoError(t, askLarge(ctx, uses(hooks.Usage{})), "models aren't limited")
	})
}

func TestBudget_toolCallsAreNotStoppedByTokens(t *testing.T) {
	t.Parallel()
	p := policy.Budget{Tokens: 1, ModelCalls: 1, Cost: 1, Prices: map[string]policy.Price{"large": perToken}}
	inBudget(t, p, func(ctx context.Context, _ *hooks.Registry) {
		require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 100})))
		require.Error(t, askLarge(ctx, uses(hooks.Usage{})))
		assert.Empty(t, limitCall(t, ctx, "x"))
	})
}

// atOnce makes n calls at the same time, holds those that run until all others are
// refused, and returns how many ran.
func atOnce(t *testing.T, n int, call func(body func()) error) int {
	t.Helper()
	var all sync.WaitGroup
	var ran atomic.Int32
	release := make(chan struct{})
	for range n {
		all.Go(func() { _ = call(func() { ran.Add(1); <-release }) })
	}
	synctest.Wait()
	running := int(ran.Load())
	close(release)
	all.Wait()
	assert.Equal(t, running, int(ran.Load()))
	return running
}

func TestBudget_parallelCallsDontGoOverTogether(t *testing.T) {
	t.Parallel()
	estimate := func(in int) func(*hooks.ModelCall) hooks.Usage {
		return func(*hooks.ModelCall) hooks.Usage { return hooks.Usage{In: in} }
	}
	large := map[string]policy.Price{"large": perToken}
	for name, tt := range map[string]struct {
		policy policy.Budget
		runs   int
	}{
		"tokens":                    {policy.Budget{Tokens: 1000, Estimate: estimate(400)}, 2},
		"tokens that just fit":      {policy.Budget{Tokens: 1000, Estimate: estimate(250)}, 4},
		"more than there is alone":  {policy.Budget{Tokens: 1000, Estimate: estimate(5000)}, 1},
		"more than an int holds":    {policy.Budget{Tokens: 1000, Estimate: estimate(math.MaxInt)}, 1},
		"nothing expected":          {policy.Budget{Tokens: 1000, Estimate: estimate(0)}, 5},
		"negative estimate":         {policy.Budget{Tokens: 1000, Estimate: estimate(-5000)}, 5},
		"cost":                      {policy.Budget{Cost: 1000, Prices: large, Estimate: estimate(400)}, 2},
		"cost, whatever the tokens": {policy.Budget{Cost: 1000, Tokens: 500, Prices: large, Estimate: estimate(400)}, 1},
		"model calls":               {policy.Budget{ModelCalls: 3}, 3},
		"the default estimate":      {policy.Budget{Tokens: 3000}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inBudget(t, tt.policy, func(ctx context.Context, _ *hooks.Registry) {
					runs := atOnce(t, 5, func(body func()) error {
						return askLarge(ctx, func(_ context.Context, m *hooks.ModelCall) error { body(); m.Usage.In = 1; return nil })
					})
					assert.Equal(t, tt.runs, runs)
					assert.Equal(t, tt.runs, bill(t, ctx).ModelCalls)
					assert.Equal(t, tt.runs, bill(t, ctx).Usage.In, "what was expected isn't charged")
				})
			})
		})
	}
	t.Run("tool calls", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			inBudget(t, policy.Budget{ToolCalls: 3}, func(ctx context.Context, _ *hooks.Registry) {
				assert.Equal(t, 3, atOnce(t, 5, func(body func()) error {
					return hooks.RunTool(ctx, &hooks.ToolCall{Name: "x"}, func(context.Context, *hooks.ToolCall) error { body(); return nil })
				}))
			})
		})
	})
}

func TestBudget_settles(t *testing.T) {
	t.Parallel()
	fails := func(u hooks.Usage) hooks.Func[hooks.ModelCall] {
		return func(_ context.Context, m *hooks.ModelCall) error { m.Usage = u; return errors.New("503") }
	}
	for name, tt := range map[string]struct {
		body hooks.Func[hooks.ModelCall]
		want policy.Bill
	}{
		"what was used": {uses(hooks.Usage{In: 5, Out: 2, CachedIn: 1, CacheWrite: 2, Reasoning: 1}),
			policy.Bill{ModelCalls: 1, Usage: hooks.Usage{In: 5, Out: 2, CachedIn: 1, CacheWrite: 2, Reasoning: 1}, Cost: 7}},
		"no usage": {uses(hooks.Usage{}),
			policy.Bill{ModelCalls: 1, Unmetered: 1, Usage: hooks.Usage{In: 100, Out: 30}, Cost: 130}},
		"no usage and an error": {fails(hooks.Usage{}),
			policy.Bill{ModelCalls: 1, Usage: hooks.Usage{In: 100}, Cost: 100}},
		"usage and an error": {fails(hooks.Usage{In: 7, Out: 1}),
			policy.Bill{ModelCalls: 1, Usage: hooks.Usage{In: 7, Out: 1}, Cost: 8}},
		"negative usage": {uses(hooks.Usage{In: -7, Out: 3}),
			policy.Bill{ModelCalls: 1, Usage: hooks.Usage{Out: 3}, Cost: 3}},
		"nothing but negative usage": {uses(hooks.Usage{In: -7, Out: -3}),
			policy.Bill{ModelCalls: 1, Unmetered: 1, Usage: hooks.Usage{In: 100, Out: 30}, Cost: 130}},
		"more cached than sent": {uses(hooks.Usage{In: 7, CachedIn: 9}),
			policy.Bill{ModelCalls: 1, Usage: hooks.Usage{In: 7, CachedIn: 7}, Cost: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := policy.Budget{Tokens: 1000, Prices: map[string]policy.Price{"large": perToken},
				Estimate: func(*hooks.ModelCall) hooks.Usage { return hooks.Usage{In: 100, Out: 30} }}
			inBudget(t, p, func(ctx context.Context, _ *hooks.Registry) {
				_ = askLarge(ctx, tt.body)
				tt.want.Name = "policy.Budget"
				assert.Equal(t, tt.want, bill(t, ctx))
			})
		})
	}
}

func TestBudget_reservationIsGoneHoweverTheRunEnds(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(){
		"panic":  func() { panic("oh") },
		"goexit": func() { (&testing.T{}).FailNow() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := policy.Budget{ModelCalls: 2, ToolCalls: 2, Tokens: 1000, Estimate: func(*hooks.ModelCall) hooks.Usage { return hooks.Usage{In: 400, Out: 200} }}
				inBudget(t, p, func(ctx context.Context, _ *hooks.Registry) {
					done := make(chan struct{})
					go func() {
						defer close(done)
						defer func() { _ = recover() }()
						_ = askLarge(ctx, func(context.Context, *hooks.ModelCall) error { body(); return nil })
					}()
					<-done
					done = make(chan struct{})
					go func() {
						defer close(done)
						_ = hooks.RunTool(ctx, &hooks.ToolCall{Name: "x"}, func(context.Context, *hooks.ToolCall) error { body(); return nil })
					}()
					<-done
					got := bill(t, ctx)
					assert.Equal(t, hooks.Usage{In: 400}, got.Usage)
					assert.Equal(t, 1, got.ModelCalls)
					assert.Equal(t, 1, got.ToolCalls)
					assert.Equal(t, 1, atOnce(t, 3, func(body func()) error {
						return askLarge(ctx, func(context.Context, *hooks.ModelCall) error { body(); return nil })
					}))
					assert.Empty(t, limitCall(t, ctx, "x"))
				})
			})
		})
	}
}

func TestBudget_chargesEachRunOfTheBody(t *testing.T) {
	t.Parallel()
	t.Run("retries of a model", func(t *testing.T) {
		t.Parallel()
		inBudget(t, policy.Budget{ModelCalls: 10}, func(ctx context.Context, reg *hooks.Registry) {
			hooks.Around(hooks.ModelBody, func(ctx context.Context, _ *hooks.ModelCall, next func(context.Context) error) error {
				_, _ = next(ctx), next(ctx)
				return next(ctx)
			}, hooks.In(reg), hooks.WithPriority(500))
			require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 2, Out: 1})))
			assert.Equal(t, 3, bill(t, ctx).ModelCalls)
			assert.Equal(t, hooks.Usage{In: 6, Out: 3}, bill(t, ctx).Usage)
		})
	})
	t.Run("retries of a tool, as far as there is something left", func(t *testing.T) {
		t.Parallel()
		inBudget(t, policy.Budget{ToolCalls: 2}, func(ctx context.Context, reg *hooks.Registry) {
			hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
				_, _ = next(ctx), next(ctx)
				return next(ctx)
			}, hooks.In(reg), hooks.WithPriority(500))
			runs := 0
			call := &hooks.ToolCall{Name: "x"}
			require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { runs++; return errors.New("busy") }))
			assert.Equal(t, 2, runs)
			assert.ErrorIs(t, call.Blocked, policy.ErrBudget)
			assert.Equal(t, "Tool result withheld by hook. Tool: x. Reason: the run's budget of 2 tool calls is used up; answer with what you have", call.Result)
		})
	})
	t.Run("nothing that is answered, cached or refused", func(t *testing.T) {
		t.Parallel()
		refuse := func(context.Context, *hooks.ModelCall, func(context.Context) error) error { return hooks.Abort("no") }
		cached := func(_ context.Context, m *hooks.ModelCall, _ func(context.Context) error) error {
			m.Answer("cached")
			return nil
		}
		edits := func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
			m.Model = "forbidden"
			return next(ctx)
		}
		cancels := func(ctx context.Context, _ *hooks.ModelCall, next func(context.Context) error) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return next(ctx)
		}
		for name, tt := range map[string]struct {
			around   hooks.AroundFunc[hooks.ModelCall]
			priority int
		}{
			"cached outside":          {cached, 900},
			"cached inside":           {cached, -1000},
			"refused outside":         {refuse, 900},
			"refused inside":          {refuse, -1000},
			"refused by a guard":      {edits, -1000},
			"cancelled before it ran": {cancels, -1000},
		} {
			inBudget(t, policy.Budget{ModelCalls: 1, Tokens: 10}, func(ctx context.Context, reg *hooks.Registry) {
				hooks.Guard(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
					if m.Model == "forbidden" {
						return hooks.Abort("not that model")
					}
					return nil
				}, hooks.In(reg))
				hook := hooks.Around(hooks.ModelBody, tt.around, hooks.In(reg), hooks.WithPriority(tt.priority))
				_ = askLarge(ctx, func(context.Context, *hooks.ModelCall) error { t.Error("it ran"); return nil })
				hook.Remove()
				assert.Equal(t, policy.Bill{Name: "policy.Budget"}, bill(t, ctx), name)
				require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 1})), name)
			})
		}
		inBudget(t, policy.Budget{ModelCalls: 1, ToolCalls: 1}, func(ctx context.Context, reg *hooks.Registry) {
			hook := hooks.On(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error { t.Answer("a"); return nil }, hooks.In(reg))
			assert.Empty(t, limitCall(t, ctx, "x"))
			hook.Remove()
			hook = hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") }, hooks.In(reg), hooks.WithPriority(-1000))
			assert.Equal(t, "no", limitCall(t, ctx, "x"))
			hook.Remove()
			assert.Zero(t, bill(t, ctx).ToolCalls)
		})
	})
	t.Run("a run that an inner hook refuses only when it has ended", func(t *testing.T) {
		t.Parallel()
		inBudget(t, policy.Budget{ModelCalls: 2}, func(ctx context.Context, reg *hooks.Registry) {
			hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
				_ = next(ctx)
				return hooks.Abort("not that answer")
			}, hooks.In(reg), hooks.WithPriority(-1000))
			require.Error(t, askLarge(ctx, uses(hooks.Usage{In: 3})))
			assert.Equal(t, hooks.Usage{In: 3}, bill(t, ctx).Usage)
		})
	})
}

func TestBudget_twoBudgets(t *testing.T) {
	t.Parallel()
	for name, innerFirst := range map[string]bool{"the outer one first": false, "the inner one first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, inner := hooks.NewRegistry(), hooks.NewRegistry()
			outerOne := policy.Budget{ToolCalls: 5, ModelCalls: 5}
			innerOne := policy.Budget{ToolCalls: 2, ModelCalls: 2}
			if innerFirst {
				innerOne, outerOne = outerOne, innerOne
			}
			outerOne.Register(hooks.In(reg), hooks.WithName("outer"))
			innerOne.Register(hooks.In(inner), hooks.WithName("inner"))
			// Both let it pass at the pre points, whatever is used up.
			hookstest.Run(t, reg, func(ctx context.Context) {
				ctx = hooks.WithScope(ctx, inner)
				hooks.Around(hooks.ModelBody, func(ctx context.Context, _ *hooks.ModelCall, next func(context.Context) error) error {
					var err error
					for err == nil { // until a budget refuses
						err = next(ctx)
					}
					return nil
				}, hooks.In(reg), hooks.WithPriority(500))
				hooks.Around(hooks.ToolBody, func(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
					var err error
					for err == nil {
						err = next(ctx)
					}
					return nil
				}, hooks.In(reg), hooks.WithPriority(500))
				require.Error(t, askLarge(ctx, uses(hooks.Usage{In: 1})))
				assert.Contains(t, limitCall(t, ctx, "x"), "2 tool calls")
				bills := policy.Spent(ctx)
				require.Len(t, bills, 2)
				for _, b := range bills {
					assert.Equal(t, 2, b.ModelCalls, b.Name)
					assert.Equal(t, 2, b.ToolCalls, b.Name)
				}
				assert.Equal(t, "outer", bills[0].Name)
				assert.Equal(t, "inner", bills[1].Name)
			})
		})
	}
}

func TestBudget_price(t *testing.T) {
	t.Parallel()
	p := policy.Budget{Cost: policy.USD(1), Prices: map[string]policy.Price{"large": perToken}}
	t.Run("is needed for each model", func(t *testing.T) {
		t.Parallel()
		for _, model := range []string{"", "small", "Large"} {
			inBudget(t, p, func(ctx context.Context, _ *hooks.Registry) {
				err := hooks.RunModel(ctx, &hooks.ModelCall{Model: model}, func(context.Context, *hooks.ModelCall) error { t.Error("it ran"); return nil })
				assert.Equal(t, "no price is known for this model", budgetReason(t, err), model)
			})
		}
	})
	t.Run("is needed where an around hook changes the model", func(t *testing.T) {
		t.Parallel()
		inBudget(t, p, func(ctx context.Context, reg *hooks.Registry) {
			hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
				m.Model = "small"
				return next(ctx)
			}, hooks.In(reg), hooks.WithPriority(700))
			err := askLarge(ctx, func(context.Context, *hooks.ModelCall) error { t.Error("it ran"); return nil })
			assert.Equal(t, "no price is known for this model", budgetReason(t, err))
		})
	})
	t.Run("is that of the model that ran", func(t *testing.T) {
		t.Parallel()
		p := policy.Budget{Cost: policy.USD(1), Prices: map[string]policy.Price{"large": perToken, "small": {In: 500_000}}}
		inBudget(t, p, func(ctx context.Context, reg *hooks.Registry) {
			hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
				_ = next(ctx)
				m.Model = "small"
				return next(ctx)
			}, hooks.In(reg), hooks.WithPriority(700))
			require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 10})))
			assert.Equal(t, policy.Money(15), bill(t, ctx).Cost)
		})
	})
	t.Run("isn't needed without Cost", func(t *testing.T) {
		t.Parallel()
		inBudget(t, policy.Budget{ModelCalls: 9, Prices: p.Prices}, func(ctx context.Context, _ *hooks.Registry) {
			require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{Model: "small"}, uses(hooks.Usage{In: 10})))
			require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 10})))
			assert.Equal(t, policy.Money(10), bill(t, ctx).Cost)
		})
	})
	t.Run("isn't changed afterwards", func(t *testing.T) {
		t.Parallel()
		prices := map[string]policy.Price{"large": perToken}
		reg := hooks.NewRegistry()
		policy.Budget{Cost: 5, Prices: prices}.Register(hooks.In(reg))
		delete(prices, "large")
		hookstest.Run(t, reg, func(ctx context.Context) { require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 10}))) })
	})
}

func TestBudget_time(t *testing.T) {
	t.Parallel()
	t.Run("stops model and tool calls", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			inBudget(t, policy.Budget{Time: 10 * time.Minute}, func(ctx context.Context, _ *hooks.Registry) {
				time.Sleep(10*time.Minute - time.Nanosecond) // from ExecutionStart on, without a call
				require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 1})))
				time.Sleep(time.Nanosecond)
				const reason = "the run's budget of 10m0s is used up; answer with what you have"
				assert.Equal(t, reason, budgetReason(t, askLarge(ctx, uses(hooks.Usage{In: 1}))))
				assert.Equal(t, reason, limitCall(t, ctx, "x"))
				assert.Equal(t, 10*time.Minute, policy.Spent(ctx)[0].Time)
			})
		})
	})
	t.Run("gives bodies what is left", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			inBudget(t, policy.Budget{Time: time.Minute}, func(ctx context.Context, _ *hooks.Registry) {
				start := time.Now()
				time.Sleep(20 * time.Second)
				err := askLarge(ctx, func(ctx context.Context, _ *hooks.ModelCall) error {
					<-ctx.Done()
					assert.Equal(t, policy.ErrBudget, context.Cause(ctx))
					return ctx.Err()
				})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, policy.ErrBudget)
				assert.Equal(t, time.Minute, time.Since(start))
			})
			inBudget(t, policy.Budget{Time: time.Minute}, func(ctx context.Context, _ *hooks.Registry) {
				call := &hooks.ToolCall{Name: "x"}
				require.NoError(t, hooks.RunTool(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error { <-ctx.Done(); return ctx.Err() }))
				require.ErrorIs(t, call.Err, policy.ErrBudget)
				assert.Equal(t, "policy: the run's budget is used up: context deadline exceeded", call.Result)
			})
		})
	})
	t.Run("isn't blamed for other deadlines", func(t *testing.T) {
		t.Parallel()
		inBudget(t, policy.Budget{Time: time.Hour}, func(ctx context.Context, _ *hooks.Registry) {
			err := askLarge(ctx, func(context.Context, *hooks.ModelCall) error { return context.DeadlineExceeded })
			assert.Equal(t, context.DeadlineExceeded, err)
		})
	})
}

func TestBudget_isSharedWithSubAgents(t *testing.T) {
	t.Parallel()
	var reports []policy.Bill
	p := policy.Budget{ModelCalls: 3, Report: func(_ context.Context, b policy.Bill) { reports = append(reports, b) }}
	inBudget(t, p, func(ctx context.Context, _ *hooks.Registry) {
		require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 1})))
		for i := range 2 {
			require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "delegate"}, func(ctx context.Context, _ *hooks.ToolCall) error {
				return hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "own"}}, func(ctx context.Context, _ *hooks.Execution) error {
					require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 10})))
					assert.Equal(t, 2+i, bill(t, ctx).ModelCalls)
					return nil
				})
			}))
		}
		assert.Equal(t, "the run's budget of 3 model calls is used up; answer with what you have", budgetReason(t, askLarge(ctx, uses(hooks.Usage{}))))
		assert.Empty(t, reports, "the outermost execution goes on")
	})
	require.Len(t, reports, 1)
	assert.Equal(t, hooks.Usage{In: 21}, reports[0].Usage)
	assert.Equal(t, 2, reports[0].ToolCalls)
	assert.Equal(t, 3, reports[0].ModelCalls)
}

func TestBudget_stopsASubAgentThatUsesUpTheRest(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Budget{Cost: 2, Prices: map[string]policy.Price{"large": perToken}}.Register(hooks.In(reg))
	call := func(ctx context.Context) error { return askLarge(ctx, uses(hooks.Usage{In: 1})) }
	run := func(ctx context.Context, body func(context.Context) error) error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error { return body(ctx) })
	}
	for range 2 {
		var third error
		require.NoError(t, run(ctx, func(ctx context.Context) error {
			err := errors.Join(call(ctx), run(ctx, call))
			third = run(ctx, call)
			return err
		}))
		require.ErrorIs(t, third, policy.ErrBudget)
	}
}

func TestBudget_chargesWhatAGuardWithholds(t *testing.T) {
	t.Parallel()
	inBudget(t, policy.Budget{ModelCalls: 9}, func(ctx context.Context, reg *hooks.Registry) {
		hooks.Guard(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("no") }, hooks.In(reg))
		require.ErrorContains(t, askLarge(ctx, uses(hooks.Usage{In: 5})), "no")
		assert.Equal(t, hooks.Usage{In: 5}, bill(t, ctx).Usage)
	})
}

// A lower limit for a role is a second budget under a name of its own.
func TestBudget_ofARole(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Budget{ModelCalls: 5}.Register(hooks.In(reg), hooks.WithName("all"))
	policy.Budget{ModelCalls: 2}.Register(hooks.In(reg), hooks.WithName("research"), hooks.WithAgents("researcher"))
	for role, want := range map[string]struct {
		calls  int
		source string
	}{"writer": {5, "all"}, "researcher": {2, "research"}} {
		calls := 0
		err := hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{AgentRole: role}}, func(ctx context.Context, _ *hooks.Execution) error {
			for {
				if err := askLarge(ctx, uses(hooks.Usage{In: 1})); err != nil {
					return err
				}
				calls++
			}
		})
		assert.Equal(t, want.calls, calls, role)
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, want.source, abort.Source)
		assert.Equal(t, fmt.Sprintf("the run's budget of %d model calls is used up; answer with what you have", want.calls), abort.Reason)
	}
}

func TestBudget_runsAtTheSameTimeHaveBillsOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Budget{ModelCalls: 9}.Register(hooks.In(reg))
		var all sync.WaitGroup
		for _, tokens := range []int{200, 2000} {
			all.Go(func() {
				hookstest.Run(t, reg, func(ctx context.Context) {
					for range 3 {
						assert.NoError(t, askLarge(ctx, uses(hooks.Usage{In: tokens})))
						time.Sleep(time.Second) // both are under way
					}
					assert.Equal(t, hooks.Usage{In: 3 * tokens}, policy.Spent(ctx)[0].Usage)
				})
			})
		}
		all.Wait()
	})
}

func TestBudget_eachRunHasItsOwn(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Budget{ModelCalls: 1}.Register(hooks.In(reg))
	for range 2 {
		hookstest.Run(t, reg, func(ctx context.Context) {
			require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 1})))
			require.Error(t, askLarge(ctx, uses(hooks.Usage{In: 1})))
		})
	}
}

func TestBudget_needsARun(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Budget{ModelCalls: 1}.Register(hooks.In(reg))
	err := askLarge(ctx, func(context.Context, *hooks.ModelCall) error { t.Error("it ran"); return nil })
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(t, ok)
	assert.EqualError(t, abort.Err, "policy: Budget needs hooks.RunExecution around the call")
	assert.Equal(t, "policy.Budget failed", limitCall(t, ctx, "x"))
	assert.Nil(t, policy.Spent(ctx))
	var none context.Context
	assert.Nil(t, policy.Spent(none))
}

func TestBudget_failsClosed(t *testing.T) {
	t.Parallel()
	p := policy.Budget{Tokens: 10, Estimate: func(*hooks.ModelCall) hooks.Usage { panic("oh") }}
	inBudget(t, p, func(ctx context.Context, _ *hooks.Registry) {
		err := askLarge(ctx, func(context.Context, *hooks.ModelCall) error { t.Error("it ran"); return nil })
		require.Error(t, err)
		assert.Equal(t, policy.Bill{Name: "policy.Budget"}, bill(t, ctx))
	})
}

func TestBudget_reports(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"completed": nil, "failed": errors.New("down"), "suspended": hooks.PassThrough(errors.New("wait"))} {
		reg, ctx := limitScope(t)
		var got []policy.Bill
		policy.Budget{ModelCalls: 5, Report: func(_ context.Context, b policy.Bill) { got = append(got, b) }}.Register(hooks.In(reg), hooks.WithName("bills"))
		_ = hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			require.NoError(t, askLarge(ctx, uses(hooks.Usage{In: 1})))
			return end
		})
		require.Len(t, got, 1, name)
		assert.Equal(t, "bills", got[0].Name)
		assert.Equal(t, 1, got[0].ModelCalls)
	}
}

func TestSpent_listsEachBudget(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Budget{ModelCalls: 5}.Register(hooks.In(reg), hooks.WithName("b"))
	policy.Budget{ToolCalls: 5}.Register(hooks.In(reg), hooks.WithName("a"))
	hookstest.Run(t, reg, func(ctx context.Context) {
		bills := policy.Spent(ctx)
		require.Len(t, bills, 2)
		assert.Equal(t, "b", bills[0].Name)
		assert.Equal(t, "a", bills[1].Name)
		bills[0].ModelCalls = 99
		assert.Zero(t, policy.Spent(ctx)[0].ModelCalls)
	})
	hookstest.Run(t, hooks.NewRegistry(), func(ctx context.Context) { assert.Empty(t, policy.Spent(ctx)) })
}

func TestEstimateUsage(t *testing.T) {
	t.Parallel()
	assert.Equal(t, hooks.Usage{Out: 1024}, policy.EstimateUsage(&hooks.ModelCall{}))
	assert.Equal(t, hooks.Usage{In: 100 + 4, Out: 1024}, policy.EstimateUsage(&hooks.ModelCall{Messages: []hooks.Message{{Content: strings.Repeat("x", 300)}}}))
	assert.Equal(t, hooks.Usage{In: (4+3+2)/3 + 3*4, Out: 1024}, policy.EstimateUsage(&hooks.ModelCall{Messages: []hooks.Message{
		{}, {Parts: []hooks.Part{{Text: "1234"}}}, {ToolCalls: []hooks.ToolRequest{{Name: "abc", Arguments: "{}"}}},
	}}))
}

func TestBudget_beginFormsAreErrors(t *testing.T) {
	t.Parallel()
	inBudget(t, policy.Budget{ToolCalls: 1}, func(ctx context.Context, _ *hooks.Registry) {
		_, _, err := hooks.BeginTool(ctx, &hooks.ToolCall{Name: "x"})
		require.Error(t, err)
	})
}

func TestBudget_concurrentSafe(t *testing.T) {
	t.Parallel()
	p := policy.Budget{ToolCalls: 100, ModelCalls: 100, Estimate: func(*hooks.ModelCall) hooks.Usage { return hooks.Usage{} }}
	inBudget(t, p, func(ctx context.Context, _ *hooks.Registry) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 30 {
					_ = askLarge(ctx, uses(hooks.Usage{In: 1}))
					_ = hooks.RunTool(ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok"))
					policy.Spent(ctx)
				}
			})
		}
		all.Wait()
		got := bill(t, ctx)
		assert.Equal(t, 100, got.ModelCalls)
		assert.Equal(t, 100, got.ToolCalls)
		assert.Equal(t, 100, got.Usage.In)
	})
}

func TestBudget_panicsOnWhatCantBeMeant(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]policy.Budget{
		"no limit":            {},
		"prices are no limit": {Prices: map[string]policy.Price{"large": perToken}},
		"cost without prices": {Cost: 1},
		"negative tool calls": {ToolCalls: -1, ModelCalls: 1},
		"negative calls":      {ToolCalls: 1, ModelCalls: -1},
		"negative tokens":     {ToolCalls: 1, Tokens: -1},
		"negative cost":       {ToolCalls: 1, Cost: -1},
		"negative time":       {ToolCalls: 1, Time: -1},
		"negative price":      {Cost: 1, Prices: map[string]policy.Price{"large": {CachedIn: -1}}},
		"price for no model":  {Cost: 1, Prices: map[string]policy.Price{"": perToken}},
	} {
		reg := hooks.NewRegistry()
		assert.Panics(t, func() { p.Register(hooks.In(reg)) }, name)
		assert.Equal(t, "no hooks\n", reg.String())
	}
	for name, opt := range map[string]hooks.Option{"tools": hooks.WithTools("x"), "timeout": hooks.WithTimeout(time.Second), "once": hooks.WithOnce()} {
		reg := hooks.NewRegistry()
		assert.Panics(t, func() { policy.Budget{ToolCalls: 1}.Register(hooks.In(reg), opt) }, name)
		assert.Equal(t, "no hooks\n", reg.String(), name)
	}
}

func TestBudget_registrations(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	group := policy.Budget{ToolCalls: 1, Report: func(context.Context, policy.Bill) {}}.Register(hooks.In(reg))
	assert.Equal(t, `execution_start
  policy.Budget priority=1000
pre_model_call
  policy.Budget priority=-800 guard
  policy.Budget watch
model_body
  policy.Budget priority=-900 around fail-closed
pre_tool_call
  policy.Budget priority=-800 guard
  policy.Budget watch
tool_body
  policy.Budget priority=-900 around fail-closed
execution_end
  policy.Budget watch
`, reg.String())
	assert.True(t, group.Remove())
	assert.Equal(t, "no hooks\n", reg.String())
}

func TestBudget_countsWhatRanWhoeverRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit any   // by a hook around the body
		body error // what the body returns
		want int
	}{
		"a sub-agent's guard stops the run":    {nil, &hooks.HookAborted{Reason: "no", Point: "pre_tool_call", StopRun: true}, 1},
		"a sub-agent waits":                    {nil, &hooks.Suspended{}, 1},
		"a guard refuses what was edited":      {"rm", nil, 0},
		"a guard lets what was edited wait":    {"pay", nil, 0},
		"a guard lets through what was edited": {"ls", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, ctx := limitScope(t)
			policy.Budget{ToolCalls: 5}.Register(hooks.In(reg))
			hooks.Guard(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error {
				switch t.Input["do"] {
				case "rm":
					return hooks.Abort("not that")
				case "pay":
					return &hooks.Suspended{}
				}
				return nil
			}, hooks.In(reg))
			hooks.Around(hooks.ToolBody, func(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
				if tt.edit != nil {
					t.Input = map[string]any{"do": tt.edit}
				}
				return next(ctx)
			}, hooks.In(reg))
			_ = hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
				_ = hooks.RunTool(ctx, &hooks.ToolCall{ID: "1", Name: "agent"}, func(context.Context, *hooks.ToolCall) error { return tt.body })
				assert.Equal(t, tt.want, policy.Spent(ctx)[0].ToolCalls)
				return nil
			})
		})
	}
}
