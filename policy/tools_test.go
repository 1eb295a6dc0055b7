package policy_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
)

const notAvailable = "this tool isn't available in this run; use one of those offered"

func TestTools_judgesTheCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		tools policy.Tools
		call  string
		runs  bool
	}{
		{"deny in another spelling", policy.Tools{Deny: []string{"shell*"}}, "Shell_Exec", false},
		{"deny by name in another spelling", policy.Tools{Deny: []string{"delete_file"}}, "Delete File", false},
		{"not denied", policy.Tools{Deny: []string{"shell*"}}, "read_file", true},
		{"deny what a server adds later", policy.Tools{Deny: []string{"mcp__*__delete_*"}}, "mcp__crm__delete_contact", false},
		{"deny by its end", policy.Tools{Deny: []string{"*drop_table"}}, "sqlDropTable", false},
		{"deny by its end, nothing before", policy.Tools{Deny: []string{"*drop_table"}}, "drop_table", false},
		{"deny wins", policy.Tools{Allow: []string{"read_file"}, Deny: []string{"read_*"}}, "readFile", false},
		{"allow in another spelling", policy.Tools{Allow: []string{"read_file"}}, "readFile", true},
		{"not allowed", policy.Tools{Allow: []string{"read_file"}}, "write_file", false},
		{"allow by pattern", policy.Tools{Allow: []string{"read_*"}}, "read_mail", true},
		{"other script", policy.Tools{Allow: []string{"search_天气"}}, "search_用户", false},
		{"same script", policy.Tools{Allow: []string{"search_天气"}}, "Search 天气", true},
		{"cut to Latin", policy.Tools{Allow: []string{"search"}}, "search_天气", false},
		{"an empty Allow allows nothing", policy.Tools{Allow: []string{}}, "read_file", false},
		{"an empty Deny denies nothing", policy.Tools{Deny: []string{}}, "read_file", true},
		{"look-alike letter", policy.Tools{Allow: []string{"delete_file"}}, "dеlete_file", false},
		{"no name", policy.Tools{Allow: []string{"read_file"}}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := hookstest.Registry(t)
			c.tools.Register(hooks.In(r))
			call := passCall(t, r, &hooks.ToolCall{Name: c.call})
			if c.runs {
				call.ran(t)
				return
			}
			call.refused(t, "policy.Tools", notAvailable)
			assert.Equal(t, "Tool execution blocked by hook. Tool: "+c.call+". Reason: "+notAvailable, call.Result)
		})
	}
}

func TestTools_goesByTheNameThatRuns(t *testing.T) {
	t.Parallel()
	rename := func(r *hooks.Registry, to string) {
		hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			call.Name = to
			return nil
		}, hooks.In(r), hooks.WithPriority(-5000))
	}
	t.Run("into a denied one", func(t *testing.T) {
		t.Parallel()
		r := hookstest.Registry(t)
		policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r))
		rename(r, "rm")
		passCall(t, r, &hooks.ToolCall{Name: "ls"}).refused(t, "policy.Tools", notAvailable)
	})
	t.Run("out of a denied one", func(t *testing.T) {
		t.Parallel()
		r := hookstest.Registry(t)
		policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r))
		rename(r, "ls")
		passCall(t, r, &hooks.ToolCall{Name: "rm"}).ran(t)
	})
	t.Run("by a hook around the body", func(t *testing.T) {
		t.Parallel()
		r := hookstest.Registry(t)
		policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r))
		hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
			call.Name = "rm"
			return next(ctx)
		}, hooks.In(r))
		passCall(t, r, &hooks.ToolCall{Name: "ls"}).refused(t, "policy.Tools", notAvailable)
	})
}

func TestTools_refusesAnsweredAndUnreadableCalls(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r))
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Answer("done")
		return nil
	}, hooks.In(r))
	passCall(t, r, &hooks.ToolCall{Name: "rm"}).refused(t, "policy.Tools", notAvailable)

	call := &hooks.ToolCall{Name: "rm"}
	require.Error(t, call.SetArguments("{"))
	passCall(t, r, call).refused(t, "policy.Tools", notAvailable)
}

// offer asks a model under r, and returns the tools that it was offered.
func offer(t *testing.T, r *hooks.Registry, tools ...string) []string {
	t.Helper()
	m := &hooks.ModelCall{Tools: tools}
	var offered []string
	require.NoError(t, hooks.RunModel(hookstest.Context(t, r), m, func(_ context.Context, m *hooks.ModelCall) error {
		offered = m.Tools
		return nil
	}))
	return offered
}

func TestTools_hides(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Tools{Allow: []string{"read_*", "shell"}, Deny: []string{"shell"}}.Register(hooks.In(r))
	given := []string{"read_file", "Shell", "write_file", "ReadMail"}
	assert.Equal(t, []string{"read_file", "ReadMail"}, offer(t, r, given...))
	assert.Equal(t, []string{"read_file", "Shell", "write_file", "ReadMail"}, given, "the loop's own")
	assert.Equal(t, []string{}, offer(t, r, "shell"), "none, and not unset")
	assert.Empty(t, offer(t, r))
}

func TestTools_hidesWhatHooksOffer(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r))
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.Tools = append(m.Tools, "rm")
		return nil
	}, hooks.In(r))
	assert.Equal(t, []string{"ls"}, offer(t, r, "ls"))
}

func TestTools_hidesWithoutWritingIntoTheArray(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r))
	own := []string{"rm", "ls"}
	m := &hooks.ModelCall{Tools: own}
	require.NoError(t, hooks.Dispatch(hookstest.Context(t, r), hooks.PreModelCall, m))
	assert.Equal(t, []string{"ls"}, m.Tools)
	assert.Equal(t, []string{"rm", "ls"}, own)
}

// lines is a log of warnings.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.buf.Reset()
	return l.buf.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestTools_tellsOfEntriesThatCoverNothing(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	log := new(lines)
	policy.Tools{
		Allow: []string{"read_file", "Web Search", "rm*"},
		Deny:  []string{"shel", "shell", "sudo*", "get?"},
		Log:   log.logger(),
	}.Register(hooks.In(r))

	offer(t, r)
	assert.Empty(t, log.take(), "a call without tools tells nothing")
	offer(t, r, "web_search", "shell")
	assert.Equal(t, `level=WARN msg="policy: Tools names a tool that isn't offered; look at its spelling" tool=read_file list=Allow
level=WARN msg="policy: Tools names a tool that isn't offered; look at its spelling" tool=shel list=Deny
`, log.take())
	offer(t, r, "web_search", "shell")
	offer(t, r, "other")
	assert.Empty(t, log.take(), "once")

	policy.Tools{Deny: []string{"shel"}, Log: log.logger()}.Register(hooks.In(r))
	offer(t, r, "ls")
	assert.Equal(t, 1, strings.Count(log.take(), "\n"), "each registration for itself")

	policy.Tools{Deny: []string{"shell"}, Log: log.logger()}.Register(hooks.In(r))
	assert.Equal(t, []string{"web_search"}, offer(t, r, "web_search", "shell"))
	assert.Empty(t, log.take(), "another registration has hidden it")
}

func TestTools_tellsOnceFromParallelCalls(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	log := new(lines)
	policy.Tools{Deny: []string{"shel"}, Log: log.logger()}.Register(hooks.In(r))
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { offer(t, r, "shell") })
	}
	group.Wait()
	assert.Equal(t, 1, strings.Count(log.take(), "tool=shel"))
}

func TestTools_hidesWhereTheLogPanics(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Tools{Deny: []string{"shel", "rm"}, Log: slog.New(badHandler{})}.Register(hooks.In(r))
	assert.Equal(t, []string{"ls"}, offer(t, r, "rm", "ls"))
}

type badHandler struct{ slog.Handler }

func (badHandler) Enabled(context.Context, slog.Level) bool { panic("no log") }

func TestTools_panics(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	for name, register := range map[string]func(){
		"nothing given":   func() { policy.Tools{}.Register(hooks.In(r)) },
		"an empty entry":  func() { policy.Tools{Allow: []string{"a", ""}}.Register(hooks.In(r)) },
		"an empty denial": func() { policy.Tools{Deny: []string{""}}.Register(hooks.In(r)) },
		"WithTools":       func() { policy.Tools{Deny: []string{"a"}}.Register(hooks.In(r), hooks.WithTools("b")) },
	} {
		assert.Panics(t, register, name)
		assert.Zero(t, registered(r), name)
	}
}

func TestTools_takesOptions(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	group := policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r))
	require.Len(t, r.Hooks(hooks.PreToolCall), 1)
	require.Len(t, r.Hooks(hooks.PreModelCall), 1)
	guard := r.Hooks(hooks.PreToolCall)[0]
	assert.Equal(t, "policy.Tools", guard.Name())
	assert.Equal(t, 900, guard.Priority())
	assert.Equal(t, hooks.KindGuard, guard.Kind())
	assert.True(t, group.Remove())
	assert.Zero(t, registered(r))

	policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r), hooks.WithName("house rules"), hooks.WithPriority(3), hooks.WithAgents("Clerk"))
	for _, p := range []hooks.AnyPoint{hooks.PreToolCall, hooks.PreModelCall} {
		for _, reg := range r.Hooks(p) {
			assert.Equal(t, "house rules", reg.Name())
			assert.Equal(t, 3, reg.Priority())
		}
	}
	passCall(t, r, &hooks.ToolCall{Name: "rm", Caller: hooks.Caller{AgentRole: "Boss"}}).ran(t)
	passCall(t, r, &hooks.ToolCall{Name: "rm", Caller: hooks.Caller{AgentRole: "Clerk"}}).refused(t, "house rules", notAvailable)
}

func TestTools_keepsItsOwnLists(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	deny := []string{"rm"}
	policy.Tools{Deny: deny}.Register(hooks.In(r))
	deny[0] = "ls"
	passCall(t, r, &hooks.ToolCall{Name: "rm"}).refused(t, "policy.Tools", notAvailable)
}

func TestTools_refusesOneOfATurn(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Tools{Deny: []string{"rm"}}.Register(hooks.In(r))
	calls := []*hooks.ToolCall{{Name: "ls"}, {Name: "rm"}, {Name: "cat"}}
	err := hooks.RunTools(hookstest.Context(t, r), calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
		if call.Name == "rm" {
			return errors.New("ran")
		}
		return nil
	})
	require.NoError(t, err)
	assert.Nil(t, calls[0].Blocked)
	assert.NotNil(t, calls[1].Blocked)
	assert.Nil(t, calls[2].Blocked)
}
