package hooks_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestAFailureStopsNoOtherHookAndAnAbortDoes(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	var tr trace
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](errBroken), hooks.In(r))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "after-error"), hooks.In(r))
	hooks.On(hooks.PreToolCall, panics[hooks.ToolCall]("boom"), hooks.In(r))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "after-panic"), hooks.In(r))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](hooks.Abort("no")), hooks.In(r))
	hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "after-abort"), hooks.In(r))
	abort := aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{}))
	assert.Equal(t, "no", abort.Reason)
	assert.Equal(t, "after-error after-panic", tr.take())

	ev := events.one(t)
	assert.Equal(t, []hooks.Outcome{"failed", "proceeded", "failed", "proceeded", "aborted"}, outcomes(ev))
	assert.Equal(t, errBroken, ev.Hooks[0].Err)
	_, panicked := errors.AsType[*hooks.PanicError](ev.Hooks[2].Err)
	assert.True(t, panicked)
}

func TestEditsMadeBeforeFailingStay(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"error": func() error { return errBroken },
		"panic": func() error { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			events := record(t, r)
			hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
				c.Input["in-place"] = true
				return fail()
			}, hooks.In(r))
			hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
				c.Result = "replaced"
				return fail()
			}, hooks.In(r))
			call := &hooks.ToolCall{}
			require.NoError(t, hooks.RunTool(ctx, call, edit(func(c *hooks.ToolCall) {
				assert.Equal(t, map[string]any{"in-place": true}, c.Input)
				c.Result = "raw"
			})))
			assert.Equal(t, "replaced", call.Result)
			for _, ev := range events.take() {
				assert.Equal(t, hooks.OutcomeModified, ev.Outcome)
				assert.Equal(t, []hooks.Outcome{"failed"}, outcomes(ev))
			}
		})
	}
}

// At every point, in every kind of registration and at every place of the
// chain, a failing hook leaves the others and the loop alone.
func TestNoHookOfAnyKindBringsDownADispatch(t *testing.T) {
	for _, p := range everyPoint() {
		for _, kind := range []string{"default", "scoped", "filtered", "once", "timed"} {
			for at := range 3 {
				r := hooks.NewRegistry()
				events := record(t, r)
				var opts []hooks.Option
				switch kind {
				case "default":
				case "scoped":
					opts = []hooks.Option{hooks.In(r)}
				case "filtered":
					opts = append([]hooks.Option{hooks.In(r)}, p.filters...)
				case "once":
					opts = []hooks.Option{hooks.In(r), hooks.WithOnce()}
				case "timed":
					opts = []hooks.Option{hooks.In(r), hooks.WithTimeout(1 << 40)}
				}
				ran := 0
				var regs []*hooks.Registration
				for i := range 3 {
					regs = append(regs, p.on(func() error {
						ran++
						if i == at {
							panic("boom")
						}
						return nil
					}, opts...))
				}
				require.NoError(t, p.dispatch(hooks.WithScope(t.Context(), r)), "%s %s %d", p.name, kind, at)
				assert.Equal(t, 3, ran, "%s %s %d", p.name, kind, at)
				ev := events.one(t)
				assert.Equal(t, p.name, ev.Point)
				for i, h := range ev.Hooks {
					assert.Equal(t, i == at, h.Outcome == hooks.OutcomeFailed)
				}
				for _, reg := range regs {
					reg.Remove()
				}
			}
		}
	}
}

func TestAFailedPreHookLeavesThePostHooksTheirContext(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PreToolCall, panics[hooks.ToolCall]("boom"), hooks.In(r))
	posts := 0
	hooks.On(hooks.PostToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		posts++
		assert.Equal(t, "read", c.Name)
		assert.Equal(t, map[string]any{"path": "x"}, c.Input)
		assert.Equal(t, "text", c.Result)
		assert.Equal(t, "Reader", c.AgentRole)
		return nil
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "read", Input: map[string]any{"path": "x"}, Caller: hooks.Caller{AgentRole: "Reader"}}
	require.NoError(t, hooks.RunTool(ctx, call, edit(func(c *hooks.ToolCall) { c.Result = "text" })))
	assert.Equal(t, 1, posts)
	assert.Equal(t, "text", call.Result)
	assert.False(t, call.IsError())
}

func TestPanicsAreContainedWheneverTheHookWasRegistered(t *testing.T) {
	t.Parallel()
	p := newPoint[job](t)
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(p, panics[job]("boom"))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	hooks.On(p, panics[job]("boom"))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	hooks.On(p, panics[job]("boom"), hooks.In(r))
	require.NoError(t, hooks.Dispatch(ctx, p, &job{}))
	got := events.take()
	require.Len(t, got, 3)
	assert.Equal(t, []hooks.Outcome{"failed"}, outcomes(got[0]))
	assert.Equal(t, []hooks.Outcome{"failed", "failed"}, outcomes(got[1]))
	assert.Equal(t, []hooks.Outcome{"failed", "failed", "failed"}, outcomes(got[2]))
}

// The panic by which a handler of net/http gives up is one like any other
// here: a hook can't take the request with it.
func TestAHookThatPanicsInAHandlerHurtsNoRequest(t *testing.T) {
	t.Parallel()
	_, r := newRun(t)
	hooks.On(hooks.PreToolCall, panics[hooks.ToolCall](http.ErrAbortHandler), hooks.In(r))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		call := &hooks.ToolCall{Name: "read"}
		err := hooks.RunTool(hooks.WithScope(req.Context(), r), call, edit(func(c *hooks.ToolCall) { c.Result = "text" }))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, call.Result)
	}))
	defer server.Close()
	for range 2 {
		resp, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		assert.Equal(t, "text", string(body))
	}
}
