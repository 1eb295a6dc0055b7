package policy_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRate_refusesBeyondLimitInCallOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 3}.Register(hooks.In(reg))
		calls := make([]*hooks.ToolCall, 5)
		for i := range calls {
			calls[i] = &hooks.ToolCall{ID: strconv.Itoa(i), Name: "web_search"}
		}
		require.NoError(t, hooks.RunTools(ctx, calls, 0, limitBody("ok")))
		for i, call := range calls {
			assert.Equal(t, i < 3, call.Ran(), i)
		}
		assert.Equal(t, "Tool execution blocked by hook. Tool: web_search. Reason: no more than 3 calls in 1m0s; try again in 20s", calls[3].Result)
		assert.Equal(t, calls[3].Result, calls[4].Result, "a refused call takes nothing")
	})
}

func TestRate_refusesWithTheTimeToTryAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy policy.Rate
		calls  int
		after  time.Duration
		want   string
		wait   time.Duration // and then it runs
	}{
		"one":               {policy.Rate{Limit: 1}, 1, 0, "no more than 1 call in 1m0s; try again in 1m0s", time.Minute},
		"rounded up":        {policy.Rate{Limit: 3, Per: time.Minute}, 3, 8*time.Second + 1, "no more than 3 calls in 1m0s; try again in 12s", 12 * time.Second},
		"never 0s":          {policy.Rate{Limit: 3, Per: time.Minute}, 3, 20*time.Second - 1, "no more than 3 calls in 1m0s; try again in 1s", 1},
		"odd step":          {policy.Rate{Limit: 7, Per: time.Minute}, 7, 0, "no more than 7 calls in 1m0s; try again in 9s", 9 * time.Second},
		"burst below limit": {policy.Rate{Limit: 60, Burst: 1}, 1, 0, "no more than 60 calls in 1m0s; try again in 1s", time.Second},
		"burst above limit": {policy.Rate{Limit: 1, Per: time.Hour, Burst: 4}, 4, 0, "no more than 1 call in 1h0m0s; try again in 1h0m0s", time.Hour},
		"long":              {policy.Rate{Limit: 1, Per: math.MaxInt64}, 1, 0, "no more than 1 call in 2562047h47m16.854775807s; try again in 640511h56m50s", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, ctx := limitScope(t)
				tt.policy.Register(hooks.In(reg))
				for range tt.calls {
					require.Empty(t, limitCall(t, ctx, "x"))
				}
				time.Sleep(tt.after)
				assert.Equal(t, tt.want, limitCall(t, ctx, "x"))
				if tt.wait > 0 {
					time.Sleep(tt.wait - 1)
					if tt.after == 0 && tt.wait != 9*time.Second {
						assert.NotEmpty(t, limitCall(t, ctx, "x"), "not before")
					}
					time.Sleep(time.Nanosecond)
					assert.Empty(t, limitCall(t, ctx, "x"))
				}
			})
		})
	}
}

func TestRate_wholeBurstIsBackAfterPer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 7}.Register(hooks.In(reg))
		for range 3 {
			for i := range 8 {
				assert.Equal(t, i == 7, limitCall(t, ctx, "x") != "", i)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(24 * time.Hour) // and no more than that
		for i := range 8 {
			assert.Equal(t, i == 7, limitCall(t, ctx, "x") != "", i)
		}
	})
}

func TestRate_hasOneLimitForAllSpellingsOfATool(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
	assert.Empty(t, limitCall(t, ctx, "Web Search"))
	for _, name := range []string{"web_search", "webSearch", "WEB-SEARCH", "web.search", "ｗｅｂ＿search", `"web search"`} {
		assert.NotEmpty(t, limitCall(t, ctx, name), name)
	}
	assert.Empty(t, limitCall(t, ctx, "websearch"), "another tool")
	assert.Empty(t, limitCall(t, ctx, "search_天气"))
	assert.Empty(t, limitCall(t, ctx, "search"), "is not what search_天气 is sanitized to")
}

func TestRate_limitsEachKey(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, c hooks.Caller) string {
		return limitCall(t, hooks.WithCaller(ctx, c), "x")
	}
	t.Run("tenant by default", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
		assert.Empty(t, call(ctx, hooks.Caller{Tenant: "a", RunID: "1"}))
		assert.NotEmpty(t, call(ctx, hooks.Caller{Tenant: "a", RunID: "2"}), "another run doesn't start afresh")
		assert.Empty(t, call(ctx, hooks.Caller{Tenant: "b", RunID: "1"}))
		assert.Empty(t, call(ctx, hooks.Caller{RunID: "1"}), "no tenant is a key, too")
		assert.NotEmpty(t, call(ctx, hooks.Caller{}))
	})
	t.Run("own key", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour, Key: func(_ context.Context, c hooks.Caller) string { return c.AgentRole }}.Register(hooks.In(reg))
		assert.Empty(t, call(ctx, hooks.Caller{AgentRole: "r", Tenant: "a"}))
		assert.NotEmpty(t, call(ctx, hooks.Caller{AgentRole: "r", Tenant: "b"}))
	})
	t.Run("key that panics refuses", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Key: func(context.Context, hooks.Caller) string { panic("secret") }}.Register(hooks.In(reg))
		assert.Equal(t, "policy.Rate failed", limitCall(t, ctx, "x"))
	})
	t.Run("key and tool aren't joined", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
		assert.Empty(t, limitCall(t, hooks.WithCaller(ctx, hooks.Caller{Tenant: "a"}), "b_c"))
		assert.Empty(t, limitCall(t, hooks.WithCaller(ctx, hooks.Caller{Tenant: "a_b"}), "c"))
	})
}

func TestRate_givesTokenBack(t *testing.T) {
	t.Parallel()
	refuse := func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") }
	for name, behind := range map[string]hooks.Func[hooks.ToolCall]{
		"refused":      refuse,
		"failed":       func(context.Context, *hooks.ToolCall) error { return errors.New("down") },
		"suspended":    func(context.Context, *hooks.ToolCall) error { return hooks.PassThrough(errors.New("wait")) },
		"panic":        func(context.Context, *hooks.ToolCall) error { panic("oh") },
		"run is ended": func(context.Context, *hooks.ToolCall) error { return hooks.AbortRun("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
			later := hooks.Guard(hooks.PreToolCall, behind, hooks.In(reg), hooks.WithPriority(-900))
			_ = hooks.RunTool(ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok"))
			later.Remove()
			assert.Empty(t, limitCall(t, ctx, "x"))
			assert.NotEmpty(t, limitCall(t, ctx, "x"), "one token, not two")
		})
	}
	t.Run("a day later there is no token beyond the burst", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 3, Per: time.Minute}.Register(hooks.In(reg))
			slow := hooks.Guard(hooks.PreToolCall, func(ctx context.Context, t *hooks.ToolCall) error {
				time.Sleep(24 * time.Hour)
				return hooks.Abort("no")
			}, hooks.In(reg), hooks.WithPriority(-900))
			assert.Equal(t, "no", limitCall(t, ctx, "x"))
			slow.Remove()
			for i := range 4 {
				assert.Equal(t, i == 3, limitCall(t, ctx, "x") != "", i)
			}
		})
	})
	t.Run("what time has given back isn't given again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 3, Per: time.Minute}.Register(hooks.In(reg))
			slow := hooks.Guard(hooks.PreToolCall, func(ctx context.Context, t *hooks.ToolCall) error {
				time.Sleep(15 * time.Second)
				return hooks.Abort("no")
			}, hooks.In(reg), hooks.WithPriority(-900))
			assert.Equal(t, "no", limitCall(t, ctx, "x")) // 15 of 20 seconds by time, 5 given back
			slow.Remove()
			for range 3 {
				assert.Empty(t, limitCall(t, ctx, "x"))
			}
			assert.Equal(t, "no more than 3 calls in 1m0s; try again in 20s", limitCall(t, ctx, "x"))
		})
	})
	t.Run("model call", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour, Model: true}.Register(hooks.In(reg))
		later := hooks.Guard(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("no") }, hooks.In(reg), hooks.WithPriority(-900))
		require.Error(t, limitModel(ctx))
		later.Remove()
		require.NoError(t, limitModel(ctx))
		require.Error(t, limitModel(ctx))
	})
}

func TestRate_takesOneTokenForAPassage(t *testing.T) {
	t.Parallel()
	t.Run("answered calls keep it", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
		hooks.On(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error { t.Answer("a"); return nil }, hooks.In(reg))
		assert.Empty(t, limitCall(t, ctx, "x"))
		assert.NotEmpty(t, limitCall(t, ctx, "x"))
	})
	t.Run("an edit asks guards again", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
		policy.Approval{May: []hooks.Verdict{hooks.Edit}}.Register(hooks.In(reg))
		ctx = hooks.WithDesk(ctx, hookstest.NewDesk(t, hookstest.Edits(`{"n":1}`)))
		ctx = hooks.WithCaller(ctx, hooks.Caller{RunID: "r"})
		assert.Empty(t, limitCall(t, ctx, "x"))
	})
	t.Run("retries on other arguments", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
		runs := 0
		hooks.Around(hooks.ToolBody, func(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
			_ = next(ctx)
			t.Input = map[string]any{"again": true}
			return next(ctx)
		}, hooks.In(reg))
		call := &hooks.ToolCall{Name: "x"}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { runs++; return nil }))
		assert.Nil(t, call.Blocked)
		assert.Equal(t, 2, runs)
		assert.NotEmpty(t, limitCall(t, ctx, "x"))
	})
	t.Run("what has run isn't given back when a retry is refused", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
		hooks.Around(hooks.ToolBody, func(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
			_ = next(ctx)
			t.Input = map[string]any{"again": true}
			return next(ctx)
		}, hooks.In(reg))
		hooks.Guard(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error {
			if t.Input["again"] != nil {
				return hooks.Abort("not that")
			}
			return nil
		}, hooks.In(reg), hooks.WithPriority(-900))
		assert.Equal(t, "not that", limitCall(t, ctx, "x"))
		assert.Contains(t, limitCall(t, ctx, "x"), "no more than 1 call")
	})
	t.Run("another tool in its place takes one of its own", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
		around := hooks.Around(hooks.ToolBody, func(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
			t.Name = "y"
			return next(ctx)
		}, hooks.In(reg))
		assert.Empty(t, limitCall(t, ctx, "x"))
		around.Remove()
		assert.NotEmpty(t, limitCall(t, ctx, "y"))
	})
	t.Run("a call that is used again takes one more", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 2, Per: time.Hour}.Register(hooks.In(reg))
		call := &hooks.ToolCall{Name: "x"}
		for i := range 3 {
			require.NoError(t, hooks.RunTool(ctx, call, limitBody("ok")))
			assert.Equal(t, i < 2, call.Ran(), i)
		}
	})
}

func TestRate_neverForgetsAKeyThatIsNotFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 2, Per: time.Hour, MaxKeys: 1000}.Register(hooks.In(reg))
		used := hooks.WithCaller(ctx, hooks.Caller{Tenant: "used"})
		for range 2 {
			require.Empty(t, limitCall(t, used, "x"))
		}
		refused := 0
		for i := range 1_000_000 / 200 { // the rest is in TestLimiter
			if why := limitCall(t, hooks.WithCaller(ctx, hooks.Caller{Tenant: strconv.Itoa(i)}), "x"); why != "" {
				require.Equal(t, "too many callers at once; try again later", why)
				refused++
			}
		}
		assert.Equal(t, 5000-999, refused)
		assert.Contains(t, limitCall(t, used, "x"), "no more than 2 calls")

		time.Sleep(30 * time.Minute) // the others are full again
		assert.Empty(t, limitCall(t, hooks.WithCaller(ctx, hooks.Caller{Tenant: "new"}), "x"))
		assert.Empty(t, limitCall(t, used, "x"))
		assert.NotEmpty(t, limitCall(t, used, "x"))
	})
}

func TestRate_countsPairsOfKeyAndTool(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Rate{Limit: 5, Per: time.Hour, MaxKeys: 2}.Register(hooks.In(reg))
	assert.Empty(t, limitCall(t, ctx, "a"))
	assert.Empty(t, limitCall(t, ctx, "b"))
	assert.Equal(t, "too many callers at once; try again later", limitCall(t, ctx, "c"))
	assert.Empty(t, limitCall(t, ctx, "a"), "one that is known goes on")
}

func TestRate_keyThatGotItsTokenBackMakesRoom(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Rate{Limit: 1, Per: time.Hour, MaxKeys: 1}.Register(hooks.In(reg))
	no := hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") }, hooks.In(reg), hooks.WithPriority(-900))
	assert.Equal(t, "no", limitCall(t, ctx, "a"))
	no.Remove()
	assert.Empty(t, limitCall(t, ctx, "b"))
}

func TestRate_waits(t *testing.T) {
	t.Parallel()
	t.Run("for its turn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 1, Per: 10 * time.Second, Wait: 25 * time.Second}.Register(hooks.In(reg))
			start := time.Now()
			for i := range 4 {
				assert.Empty(t, limitCall(t, ctx, "x"))
				assert.Equal(t, time.Duration(i)*10*time.Second, time.Since(start))
			}
		})
	})
	t.Run("who would wait longer is refused at once and takes nothing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 1, Per: 10 * time.Second, Wait: 10 * time.Second}.Register(hooks.In(reg))
			start := time.Now()
			var all sync.WaitGroup
			var mu sync.Mutex
			var whys []string
			for range 4 {
				all.Go(func() {
					why := limitCall(t, ctx, "x")
					mu.Lock()
					defer mu.Unlock()
					whys = append(whys, why)
				})
			}
			all.Wait()
			refused := "no more than 1 call in 10s; try again in 20s"
			assert.ElementsMatch(t, []string{"", "", refused, refused}, whys)
			assert.Equal(t, 10*time.Second, time.Since(start))
		})
	})
	for name, model := range map[string]bool{"cancelled tool call": false, "cancelled model call": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, ctx := limitScope(t)
				policy.Rate{Limit: 1, Per: time.Minute, Wait: time.Hour, Model: model}.Register(hooks.In(reg))
				run := func(ctx context.Context) error {
					if model {
						return limitModel(ctx)
					}
					return hooks.RunTool(ctx, &hooks.ToolCall{Name: "x"}, limitBody("ok"))
				}
				require.NoError(t, run(ctx))
				start := time.Now()
				short, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				require.ErrorIs(t, run(short), context.DeadlineExceeded)
				assert.Equal(t, 5*time.Second, time.Since(start))
				require.NoError(t, run(ctx))
				assert.Equal(t, time.Minute, time.Since(start), "it has the place that was given back")
			})
		})
	}
	t.Run("cancelled call of a turn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 1, Per: time.Minute, Wait: time.Hour}.Register(hooks.In(reg))
			short, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			calls := []*hooks.ToolCall{{Name: "x"}, {Name: "x"}, {Name: "x"}}
			require.ErrorIs(t, hooks.RunTools(short, calls, 0, limitBody("ok")), context.DeadlineExceeded)
			assert.True(t, calls[0].Ran())
			for _, call := range calls[1:] {
				assert.False(t, call.Ran())
				assert.NotEmpty(t, call.Result)
			}
		})
	})
	t.Run("a guard that takes too long has failed, and stops no run", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 1, Per: time.Minute, Wait: time.Hour}.Register(hooks.In(reg), hooks.WithTimeout(time.Second))
			require.Empty(t, limitCall(t, ctx, "x"))
			assert.Equal(t, "policy.Rate failed", limitCall(t, ctx, "x"))
		})
	})
}

func TestRate_attempts(t *testing.T) {
	t.Parallel()
	// twice runs the body again after a failure.
	twice := func(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
		if next(ctx) == nil {
			return nil
		}
		return next(ctx)
	}
	t.Run("count each run of the body", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 3, Per: time.Hour, Attempts: true}.Register(hooks.In(reg))
		hooks.Around(hooks.ToolBody, twice, hooks.In(reg), hooks.WithPriority(500))
		runs := 0
		body := func(context.Context, *hooks.ToolCall) error { runs++; return errors.New("busy") }
		first, second := &hooks.ToolCall{Name: "x"}, &hooks.ToolCall{Name: "x"}
		require.NoError(t, hooks.RunTool(ctx, first, body))
		assert.Nil(t, first.Blocked)
		require.NoError(t, hooks.RunTool(ctx, second, body))
		assert.Equal(t, 3, runs)
		assert.Equal(t, "Tool result withheld by hook. Tool: x. Reason: no more than 3 calls in 1h0m0s; try again in 20m0s", second.Result)
	})
	t.Run("refuse the call before it ran", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Rate{Limit: 1, Per: time.Hour, Attempts: true}.Register(hooks.In(reg))
		assert.Empty(t, limitCall(t, ctx, "x"))
		assert.Contains(t, limitCall(t, ctx, "X"), "no more than 1 call in 1h0m0s")
	})
	t.Run("count nothing that doesn't run", func(t *testing.T) {
		t.Parallel()
		for name, inner := range map[string]hooks.AroundFunc[hooks.ToolCall]{
			"answered": func(_ context.Context, t *hooks.ToolCall, _ func(context.Context) error) error {
				t.Answer("cached")
				return nil
			},
			"refused": func(context.Context, *hooks.ToolCall, func(context.Context) error) error { return hooks.Abort("no") },
			"guards refuse the edit": func(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
				t.Input = map[string]any{"rm": true}
				return next(ctx)
			},
			"guards let the edit wait": func(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
				t.Input = map[string]any{"pay": true}
				return next(ctx)
			},
			"ctx done": func(ctx context.Context, t *hooks.ToolCall, next func(context.Context) error) error {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return next(ctx)
			},
		} {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 1, Per: time.Hour, Attempts: true}.Register(hooks.In(reg))
			hooks.Guard(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error {
				if t.Input["rm"] != nil {
					return hooks.Abort("not that")
				}
				if t.Input["pay"] != nil {
					return &hooks.Suspended{}
				}
				return nil
			}, hooks.In(reg))
			in := hooks.Around(hooks.ToolBody, inner, hooks.In(reg), hooks.WithPriority(-900))
			call := &hooks.ToolCall{Name: "x"}
			_ = hooks.RunTool(ctx, call, limitBody("ok"))
			require.False(t, call.Ran(), name)
			in.Remove()
			assert.Empty(t, limitCall(t, ctx, "x"), name)
			assert.NotEmpty(t, limitCall(t, ctx, "x"), name)
		}
	})
	t.Run("count a run that panics or was aborted inside", func(t *testing.T) {
		t.Parallel()
		for name, err := range map[string]error{
			"sub-agent's model": &hooks.HookAborted{Reason: "no", Point: "pre_model_call"},
			"sub-agent's tool":  &hooks.HookAborted{Reason: "no", Point: "pre_tool_call", StopRun: true},
			"sub-agent waits":   &hooks.Suspended{},
			"none":              nil,
		} {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 1, Per: time.Hour, Attempts: true}.Register(hooks.In(reg))
			_ = hooks.RunTool(ctx, &hooks.ToolCall{Name: "x"}, func(context.Context, *hooks.ToolCall) error {
				if err == nil {
					panic("oh")
				}
				return err
			})
			assert.NotEmpty(t, limitCall(t, ctx, "x"), name)
		}
	})
	t.Run("of a model", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			policy.Rate{Limit: 1, Per: time.Minute, Wait: time.Minute, Attempts: true, Model: true}.Register(hooks.In(reg))
			start := time.Now()
			require.NoError(t, limitModel(ctx))
			require.NoError(t, limitModel(ctx))
			assert.Equal(t, time.Minute, time.Since(start))
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			require.ErrorIs(t, limitModel(short), context.DeadlineExceeded)
			require.NoError(t, limitModel(ctx))
			assert.Equal(t, 2*time.Minute, time.Since(start))
		})
	})
}

func TestRate_limitsModelCalls(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Rate{Limit: 1, Per: time.Hour, Model: true}.Register(hooks.In(reg), hooks.WithName("calls"))
	require.NoError(t, limitModel(ctx))
	err := limitModel(ctx)
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(t, ok)
	assert.Equal(t, "no more than 1 call in 1h0m0s; try again in 1h0m0s", abort.Reason)
	assert.Equal(t, "calls", abort.Source)
	assert.Empty(t, limitCall(t, ctx, "x"), "tools aren't limited")
}

func TestRate_registeredTwiceIsTwo(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	p := policy.Rate{Limit: 1, Per: time.Hour}
	a := p.Register(hooks.In(reg), hooks.WithTools("a*"))
	p.Register(hooks.In(reg), hooks.WithTools("ab"))
	assert.Empty(t, limitCall(t, ctx, "ab"))
	assert.NotEmpty(t, limitCall(t, ctx, "ab"))
	assert.True(t, a.Remove())
	assert.NotEmpty(t, limitCall(t, ctx, "ab"), "the other has its own state")
	assert.Len(t, reg.Hooks(hooks.PreToolCall), 2)
}

func TestRate_concurrentSafe(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Rate{Limit: 50, Per: time.Hour}.Register(hooks.In(reg))
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error {
		if t.Input["no"] != nil {
			return hooks.Abort("no")
		}
		return nil
	}, hooks.In(reg), hooks.WithPriority(-900))
	var all sync.WaitGroup
	var mu sync.Mutex
	ran := 0
	for g := range 8 {
		all.Go(func() {
			for i := range 40 {
				call := &hooks.ToolCall{Name: "x"}
				if (g+i)%2 == 0 {
					call.Input = map[string]any{"no": true}
				}
				_ = hooks.RunTool(ctx, call, limitBody("ok"))
				mu.Lock()
				if call.Ran() {
					ran++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for range 51 {
		if limitCall(t, ctx, "x") == "" {
			ran++
		}
	}
	assert.Equal(t, 50, ran)
}

func TestRate_panicsOnWhatCantBeMeant(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]policy.Rate{
		"no limit":         {},
		"negative limit":   {Limit: -1},
		"negative per":     {Limit: 1, Per: -1},
		"negative burst":   {Limit: 1, Burst: -1},
		"negative wait":    {Limit: 1, Wait: -1},
		"negative maxkeys": {Limit: 1, MaxKeys: -1},
		"too many":         {Limit: 11, Per: 10},
	} {
		assert.Panics(t, func() { p.Register(hooks.In(hooks.NewRegistry())) }, name)
	}
	for name, opt := range map[string]hooks.Option{"once": hooks.WithOnce(), "fail-closed": hooks.WithFailClosed()} {
		reg := hooks.NewRegistry()
		assert.Panics(t, func() { policy.Rate{Limit: 1}.Register(hooks.In(reg), opt) }, name)
		assert.Equal(t, "no hooks\n", reg.String(), name)
	}
	reg := hooks.NewRegistry()
	assert.Panics(t, func() { policy.Rate{Limit: 1, Model: true}.Register(hooks.In(reg), hooks.WithTools("x")) })
	assert.Equal(t, "no hooks\n", reg.String())
}

func TestRate_registrations(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Rate{Limit: 1}.Register(hooks.In(reg))
	policy.Rate{Limit: 1, Attempts: true}.Register(hooks.In(reg), hooks.WithName("runs"), hooks.WithPriority(7))
	assert.Equal(t, `pre_tool_call
  policy.Rate priority=-700 guard
  runs priority=7 watch
  policy.Rate watch
tool_body
  runs priority=7 around fail-closed
`, reg.String())
}
