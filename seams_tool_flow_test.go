package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestInputEditsOfAnyKindReachTheTool(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]seamToolFunc{
		"in place": func(_ context.Context, call *hooks.ToolCall) error { call.Input["path"] = "/tmp"; return nil },
		"a new map": func(_ context.Context, call *hooks.ToolCall) error {
			call.Input = map[string]any{"path": "/tmp"}
			return nil
		},
		"arguments": func(_ context.Context, call *hooks.ToolCall) error { return call.SetArguments(`{"path":"/tmp"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamOnTool(r, hooks.PreToolCall, hook)
				var seen map[string]any
				call := &hooks.ToolCall{Name: "ls"}
				require.NoError(t, run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error { seen = call.Input; return nil }))
				assert.Equal(t, map[string]any{"path": "/tmp"}, seen)
				assert.Equal(t, seen, call.Input)
			})
		})
	}
}

func TestBothPointsFireForAToolThatNobodyKnows(t *testing.T) {
	t.Parallel()
	unknown := errors.New("no such tool")
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		var log []string
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			log = append(log, "pre "+call.Name)
			assert.Nil(t, call.Tool)
			assert.NotNil(t, call.Input)
			return nil
		})
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			log = append(log, "post "+call.Name)
			assert.Nil(t, call.Tool)
			assert.ErrorIs(t, call.Err, unknown)
			return nil
		})
		call := &hooks.ToolCall{Name: "browser_fill"}
		require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { return unknown }))
		assert.Equal(t, []string{"pre browser_fill", "post browser_fill"}, log)
		assert.ErrorIs(t, call.Err, unknown)
		assert.Equal(t, "no such tool", call.Result)
	})
}

func TestPreHookMayRepairTheNameOfATool(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error { call.Name = "fill"; return nil })
		var posts []string
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error { posts = append(posts, call.Name); return nil })
		require.NoError(t, run(ctx, &hooks.ToolCall{Name: "browser_fill"}, func(_ context.Context, call *hooks.ToolCall) error {
			assert.Equal(t, "fill", call.Name)
			return nil
		}))
		assert.Equal(t, []string{"fill"}, posts, "what ran, not what was asked for")
	})
}

func TestGuardJudgesWhatIsReallyRun(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			if call.Name != "read" || call.Input["path"] == "/etc/shadow" {
				return hooks.Abort("only read, and not that")
			}
			return nil
		}, hooks.AsGuard())
		inner := hooks.NewRegistry()
		seamOnTool(inner, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			call.Input["path"] = "/etc/shadow"
			return nil
		})
		call := &hooks.ToolCall{Name: "read", Input: map[string]any{"path": "/tmp/a"}}
		require.NoError(t, run(hooks.WithScope(ctx, inner), call, func(context.Context, *hooks.ToolCall) error {
			t.Error("the swapped call ran")
			return nil
		}))
		assert.NotNil(t, call.Blocked)
		assert.Equal(t, "/etc/shadow", call.Input["path"], "what was judged stays visible")
	})
}

func TestRawResultIsUntouchedByAReplacedResult(t *testing.T) {
	t.Parallel()
	type answer struct{ N int }
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		raw := &answer{7}
		var before string
		var outcome hooks.Outcome
		r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { outcome = ev.Outcome })
		seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			before, call.Result = call.Result, "seven"
			return nil
		})
		call := &hooks.ToolCall{Name: "count"}
		require.NoError(t, run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result, call.RawResult = "7", raw
			return nil
		}))
		assert.Equal(t, "7", before, "a hook gets a text")
		assert.Equal(t, "seven", call.Result)
		assert.Same(t, raw, call.RawResult)
		assert.Equal(t, hooks.OutcomeModified, outcome)
	})
}

func TestHooksThatOnlyWatchLeaveTheRawResultAsItIs(t *testing.T) {
	t.Parallel()
	for watchers := range 3 {
		t.Run(fmt.Sprint(watchers), func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				for range watchers {
					seamOnTool(r, hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return nil })
				}
				raw := []hooks.ToolRequest{{ID: "1", Name: "a", Arguments: "{}"}}
				call := &hooks.ToolCall{Name: "plan"}
				require.NoError(t, run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error { call.RawResult = raw; return nil }))
				assert.Equal(t, raw, call.RawResult)
				assert.Empty(t, call.Result)
				assert.False(t, call.ResultEdited())
			})
		})
	}
}

func TestFinishedToolIsNeverRunAgainBecauseOfAPostHook(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]seamToolFunc{
		"panics":  func(context.Context, *hooks.ToolCall) error { panic("bug") },
		"fails":   func(context.Context, *hooks.ToolCall) error { return errors.New("bug") },
		"refuses": func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamOnTool(r, hooks.PostToolCall, hook)
				charges := 0
				call := &hooks.ToolCall{Name: "charge"}
				for range 3 {
					if err := run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
						charges++
						call.Result, call.RawResult = "charged", "receipt"
						return nil
					}); err == nil {
						break
					}
				}
				assert.Equal(t, 1, charges)
				assert.True(t, call.Ran())
				assert.Equal(t, "receipt", call.RawResult)
				if name != "refuses" {
					assert.Equal(t, "charged", call.Result)
					assert.False(t, call.IsError())
				}
			})
		})
	}
}

func TestAnsweredToolIsNotRun(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"from the cache", ""} {
		t.Run(fmt.Sprintf("%q", answer), func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				later, posts := 0, 0
				seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error { call.Answer(answer); return nil })
				seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
					later++
					assert.True(t, call.Answered())
					assert.Equal(t, answer, call.Result)
					return nil
				})
				seamOnTool(r, hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
					posts++
					assert.True(t, call.Answered())
					assert.Equal(t, answer, call.Result)
					call.Result += "!"
					return nil
				})
				call := &hooks.ToolCall{Name: "fetch"}
				require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil }))
				assert.Equal(t, 1, later)
				assert.Equal(t, 1, posts)
				assert.Equal(t, answer+"!", call.Result)
				assert.True(t, call.Answered())
				assert.False(t, call.Ran())
				assert.False(t, call.IsError())
			})
		})
	}
}

func TestAbortWinsOverAnAnswer(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			call.Answer("hunter2")
			call.Parts = []hooks.Part{{Kind: "text", Text: "hunter2"}}
			call.RawResult = "hunter2"
			return nil
		})
		seamOnTool(r, hooks.PreToolCall, seamRefuse(hooks.Abort("no")), hooks.AsGuard())
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil }))
		assert.Equal(t, "Tool execution blocked by hook. Tool: fetch. Reason: no", call.Result)
		assert.Empty(t, call.Parts)
		assert.Nil(t, call.RawResult, "a ready answer is dropped with the call that was vetoed")
		assert.False(t, call.Answered())
		assert.NotNil(t, call.Blocked)
	})
}

// Only Answer makes a result before the tool: what else stands there is none.
func TestResultWrittenBeforeTheToolIsNotTakenForItsOwn(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result, call.RawResult, call.Err = "stale", "stale", errors.New("stale")
			call.Parts = []hooks.Part{{Kind: "text", Text: "stale"}}
			return nil
		})
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, run(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			assert.Empty(t, call.Result)
			assert.Empty(t, call.Parts)
			assert.Nil(t, call.RawResult)
			return nil
		}))
		assert.NoError(t, call.Err)
		assert.Empty(t, call.Result)
	})
}

// A call is refused by a hook that says so, not by what it writes.
func TestBlockedWrittenByAHookIsNoRefusal(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamOnTool(r, hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			call.Blocked = &hooks.HookAborted{Reason: "no"}
			return nil
		})
		call := &hooks.ToolCall{Name: "fetch"}
		require.NoError(t, run(ctx, call, seamReturns("page")))
		if call.Ran() {
			assert.Nil(t, call.Blocked, "a call that ran and whose result the model reads is not a blocked one")
			assert.False(t, call.IsError())
		} else {
			assert.Contains(t, call.Result, "blocked by hook", "a call that was not run says so")
		}
	})
}

func TestFilteredHookDecidesAlikeOnEveryWayToATool(t *testing.T) {
	t.Parallel()
	type way = func(ctx context.Context, call *hooks.ToolCall) error
	never := func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil }
	for name, enter := range map[string]way{
		"Dispatch": func(ctx context.Context, call *hooks.ToolCall) error {
			return hooks.Dispatch(ctx, hooks.PreToolCall, call)
		},
		"RunTool": func(ctx context.Context, call *hooks.ToolCall) error { return hooks.RunTool(ctx, call, never) },
		"RunTools": func(ctx context.Context, call *hooks.ToolCall) error {
			return hooks.RunTools(ctx, []*hooks.ToolCall{call}, 1, never)
		},
		"Run": func(ctx context.Context, call *hooks.ToolCall) error {
			return hooks.Run(ctx, hooks.PreToolCall, hooks.PostToolCall, call, never)
		},
		"BeginTool": func(ctx context.Context, call *hooks.ToolCall) error {
			_, end, err := hooks.BeginTool(ctx, call)
			assert.NoError(t, err)
			assert.False(t, call.ShouldRun())
			return end(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			var events []hooks.HookDispatchedEvent
			r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) { events = append(events, ev) })
			seamOnTool(r, hooks.PreToolCall, seamRefuse(&hooks.HookAborted{Reason: "no", StopRun: true}),
				hooks.WithTools("Delete File"), hooks.WithAgents("Researcher"), hooks.WithName("warden"))
			err := enter(ctx, &hooks.ToolCall{Name: "delete_file", Caller: hooks.Caller{AgentRole: "Researcher"}})
			abort, ok := errors.AsType[*hooks.HookAborted](err)
			require.True(t, ok)
			assert.Equal(t, "no", abort.Reason)
			assert.Equal(t, "warden", abort.Source)
			require.Len(t, events, 1)
			ev := events[0]
			ev.Duration, ev.Hooks[0].Duration = 0, 0
			assert.Equal(t, hooks.HookDispatchedEvent{
				Point: "pre_tool_call", Outcome: hooks.OutcomeAborted, HookCount: 1,
				AbortReason: "no", AbortSource: "warden", AgentRole: "Researcher", ToolName: "delete_file",
				Hooks: []hooks.HookRun{{Name: "warden", Outcome: hooks.OutcomeAborted}},
			}, ev)
		})
	}
}
