package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

type (
	seamModelFunc = func(context.Context, *hooks.ModelCall) error
	seamRunModel  = func(context.Context, *hooks.ModelCall, seamModelFunc) error
)

// seamEachModel runs a parallel subtest for both forms of the model seam.
func seamEachModel(t *testing.T, test func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel)) {
	t.Helper()
	for _, d := range seamDrivers() {
		if d.pre != hooks.PreModelCall.Name() {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := seamScope(t)
			test(t, ctx, r, func(ctx context.Context, m *hooks.ModelCall, body seamModelFunc) error {
				return d.run(ctx, seamModel{m}, func(ctx context.Context, c seamContext) error {
					return body(ctx, c.native().(*hooks.ModelCall))
				})
			})
		})
	}
}

func seamOnModel(r *hooks.Registry, p hooks.Point[hooks.ModelCall], fn seamModelFunc, opts ...hooks.Option) {
	hooks.On(p, fn, append(opts, hooks.In(r))...)
}

func seamTexts(messages []hooks.Message) []string {
	texts := make([]string, len(messages))
	for i := range messages {
		texts[i] = messages[i].Text()
	}
	return texts
}

func TestBodySendsTheMessagesAndToolsThatPreHooksLeft(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		for name, tc := range map[string]struct {
			hook            func(m *hooks.ModelCall)
			messages, tools []string
		}{
			"append":    {func(m *hooks.ModelCall) { m.Messages = append(m.Messages, hooks.Message{Content: "c"}) }, []string{"a", "b", "c"}, []string{"ls", "rm"}},
			"trim":      {func(m *hooks.ModelCall) { m.Messages = m.Messages[1:] }, []string{"b"}, []string{"ls", "rm"}},
			"replace":   {func(m *hooks.ModelCall) { m.Messages = []hooks.Message{{Content: "x"}} }, []string{"x"}, []string{"ls", "rm"}},
			"empty":     {func(m *hooks.ModelCall) { m.Messages = nil }, []string{}, []string{"ls", "rm"}},
			"in place":  {func(m *hooks.ModelCall) { m.Messages[0].Content = "A" }, []string{"A", "b"}, []string{"ls", "rm"}},
			"hide":      {func(m *hooks.ModelCall) { m.Tools = append(m.Tools[:0], m.Tools[:1]...) }, []string{"a", "b"}, []string{"ls"}},
			"hide all":  {func(m *hooks.ModelCall) { m.Tools = nil }, []string{"a", "b"}, nil},
			"nothing":   {func(*hooks.ModelCall) {}, []string{"a", "b"}, []string{"ls", "rm"}},
			"add tools": {func(m *hooks.ModelCall) { m.Tools = append(m.Tools, "cp") }, []string{"a", "b"}, []string{"ls", "rm", "cp"}},
		} {
			scope := hooks.NewRegistry()
			seamOnModel(scope, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error { tc.hook(m); return nil })
			history := append(make([]hooks.Message, 0, 8), hooks.Message{Content: "a"}, hooks.Message{Content: "b"})
			offered := append(make([]string, 0, 8), "ls", "rm")
			ran := false
			m := &hooks.ModelCall{Messages: history, Tools: offered}
			require.NoError(t, run(hooks.WithScope(ctx, scope), m, func(_ context.Context, m *hooks.ModelCall) error {
				ran = true
				assert.Equal(t, tc.messages, seamTexts(m.Messages), name)
				assert.Equal(t, tc.tools, m.Tools, name)
				return nil
			}))
			assert.True(t, ran)
			assert.Equal(t, []string{"a", "b"}, seamTexts(history), "%s: the framework's own messages", name)
			assert.Equal(t, []string{"ls", "rm"}, offered, "%s: the framework's own tools", name)
			assert.Equal(t, hooks.Message{}, history[:3][2], "%s: behind the framework's own messages", name)
			assert.Empty(t, offered[:3][2], "%s: behind the framework's own tools", name)
		}
	})
}

func TestTwoCallsOverOneHistoryNeverSeeEachOthersMessages(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.Messages = append(m.Messages, hooks.Message{Content: "for " + m.Model})
			m.Tools = append(m.Tools, "for "+m.Model)
			return nil
		})
		history := append(make([]hooks.Message, 0, 8), hooks.Message{Content: "a"})
		offered := append(make([]string, 0, 8), "ls")
		inFirst := make(chan struct{})
		secondDone := make(chan struct{})
		first := make(chan error, 1)
		go func() {
			first <- run(ctx, &hooks.ModelCall{Model: "one", Messages: history, Tools: offered}, func(_ context.Context, m *hooks.ModelCall) error {
				close(inFirst)
				<-secondDone
				assert.Equal(t, []string{"a", "for one"}, seamTexts(m.Messages))
				assert.Equal(t, []string{"ls", "for one"}, m.Tools)
				return nil
			})
		}()
		<-inFirst
		assert.NoError(t, run(ctx, &hooks.ModelCall{Model: "two", Messages: history, Tools: offered}, func(_ context.Context, m *hooks.ModelCall) error {
			assert.Equal(t, []string{"a", "for two"}, seamTexts(m.Messages))
			return nil
		}))
		close(secondDone)
		assert.NoError(t, <-first)
	})
}

func TestAnsweredModelIsNotCalled(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"from the cache", ""} {
		t.Run(fmt.Sprintf("%q", answer), func(t *testing.T) {
			t.Parallel()
			seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
				later, posts := 0, 0
				seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.Answer(answer); return nil })
				seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
					later++
					assert.True(t, m.Answered())
					return nil
				})
				seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
					posts++
					assert.Equal(t, answer, m.Response)
					m.Response += "!"
					return nil
				})
				m := &hooks.ModelCall{}
				require.NoError(t, run(ctx, m, func(context.Context, *hooks.ModelCall) error { t.Error("the model was called"); return nil }))
				assert.Equal(t, 1, later)
				assert.Equal(t, 1, posts)
				assert.Equal(t, answer+"!", m.Response)
				assert.True(t, m.Answered())
				assert.NoError(t, m.Err)
			})
		})
	}
}

func TestAbortWinsOverAModelsReadyAnswer(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.Answer("hunter2"); return nil })
		seamOnModel(r, hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("budget") }, hooks.AsGuard())
		seamOnModel(r, hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { t.Error("a post point fired"); return nil })
		m := &hooks.ModelCall{}
		err := run(ctx, m, func(context.Context, *hooks.ModelCall) error { t.Error("the model was called"); return nil })
		require.True(t, seamIsAbort(err))
		assert.Equal(t, err, m.Err)
		assert.Empty(t, m.Response)
		assert.False(t, m.Answered())
	})
}

func TestReplacedTextLeavesToolCallsAndRawResponseAlone(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		type response struct{ text string }
		raw := &response{"raw"}
		asked := []hooks.ToolRequest{{ID: "1", Name: "ls", Arguments: "{}"}, {ID: "2", Name: "rm", Arguments: "{}"}}
		seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.Response = "clean"; return nil })
		m := &hooks.ModelCall{}
		body := func(_ context.Context, m *hooks.ModelCall) error {
			m.Response, m.ToolCalls, m.RawResponse, m.Usage = "raw", asked, raw, hooks.Usage{In: 3, Out: 5}
			return nil
		}
		require.NoError(t, run(ctx, m, body))
		assert.Equal(t, "clean", m.Response)
		assert.Equal(t, asked, m.ToolCalls)
		assert.Same(t, raw, m.RawResponse)
		assert.Equal(t, hooks.Usage{In: 3, Out: 5}, m.Usage)

		seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error { m.ToolCalls = m.ToolCalls[:1]; return nil })
		require.NoError(t, run(ctx, m, body))
		assert.Equal(t, asked[:1], m.ToolCalls, "what stands there after the post hooks is what runs")
	})
}

func TestHooksThatOnlyWatchLeaveAModelsAnswerAsItIs(t *testing.T) {
	t.Parallel()
	for watchers := range 3 {
		t.Run(fmt.Sprint(watchers), func(t *testing.T) {
			t.Parallel()
			seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
				asked := []hooks.ToolRequest{{ID: "1", Name: "ls", Arguments: "{}"}}
				seen := 0
				for range watchers {
					seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
						seen++
						assert.Equal(t, asked, m.ToolCalls)
						return nil
					})
				}
				m := &hooks.ModelCall{}
				require.NoError(t, run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
					m.ToolCalls, m.RawResponse = asked, asked
					return nil
				}))
				assert.Equal(t, watchers, seen, "a turn that asks for tools fires the post point too")
				assert.Equal(t, asked, m.RawResponse)
				assert.Empty(t, m.Response)
			})
		})
	}
}

func TestPostHookMayVetoATurnThatAsksForTools(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			if len(m.ToolCalls) > 0 {
				return hooks.Abort("no tools at night")
			}
			return nil
		})
		m := &hooks.ModelCall{}
		err := run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.ToolCalls = []hooks.ToolRequest{{Name: "rm"}}
			return nil
		})
		assert.True(t, seamIsAbort(err))
		assert.Equal(t, err, m.Err)
	})
}

func TestVetoedModelCallIsNotRetriedByAHelperThatAsks(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		dispatched := 0
		seamOnModel(r, hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { dispatched++; return hooks.Abort("budget") })
		retry := func(call func() error) (err error) {
			for range 3 {
				if err = call(); err == nil || seamIsAbort(err) {
					return err
				}
			}
			return err
		}
		err := retry(func() error {
			if err := run(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { t.Error("the model was called"); return nil }); err != nil {
				return fmt.Errorf("provider: %w", err)
			}
			return nil
		})
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		require.True(t, ok)
		assert.Equal(t, "budget", abort.Reason)
		assert.Equal(t, hooks.PreModelCall.Name(), abort.Point)
		assert.Equal(t, 1, dispatched)
	})
}

// A loop that must not show unredacted text buffers until the seam returns.
func TestPostHooksJudgeTheJoinedTextOfAStream(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			if strings.Contains(m.Response, "secret") {
				return hooks.Abort("a secret")
			}
			return nil
		}, hooks.AsGuard())
		var shown, buffered []string
		m := &hooks.ModelCall{}
		err := run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			for _, chunk := range []string{"the ", "sec", "ret", " is ", "out"} {
				buffered = append(buffered, chunk)
				m.Response += chunk
			}
			return nil
		})
		if err == nil {
			shown = buffered
		}
		assert.True(t, seamIsAbort(err))
		assert.Empty(t, shown)
	})
}

func TestPartialResponseOfACancelledModelReachesPostHooks(t *testing.T) {
	t.Parallel()
	type response struct{ Message *string }
	for name, raw := range map[string]any{"nothing": nil, "a nil pointer": (*response)(nil), "half a response": &response{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
				ctx, cancel := context.WithCancel(ctx)
				posts := 0
				seamOnModel(r, hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
					posts++
					assert.Equal(t, raw, m.RawResponse)
					assert.Equal(t, context.Canceled, m.Err)
					return nil
				})
				r.Observe(func(context.Context, hooks.HookDispatchedEvent) {})
				err := run(ctx, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
					cancel()
					m.RawResponse = raw
					return ctx.Err()
				})
				assert.Equal(t, context.Canceled, err)
				assert.Equal(t, 1, posts)
			})
		})
	}
}

func TestResponseWrittenBeforeTheModelIsNotTakenForItsOwn(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.Response, m.RawResponse, m.Err = "stale", "stale", errors.New("stale")
			m.ToolCalls, m.Usage = []hooks.ToolRequest{{Name: "rm"}}, hooks.Usage{In: 1}
			return nil
		})
		m := &hooks.ModelCall{}
		require.NoError(t, run(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			assert.Empty(t, m.Response)
			return nil
		}))
		assert.Empty(t, m.Response)
		assert.Nil(t, m.RawResponse)
		assert.Empty(t, m.ToolCalls)
		assert.Zero(t, m.Usage)
		assert.NoError(t, m.Err, "a call that succeeded has no error")
	})
}
