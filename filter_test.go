package hooks_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// matched says how often a hook with the options given runs for a call. The
// chain holds other hooks too, so that what is skipped is skipped among them.
func matched(t *testing.T, tool, role string, opts ...hooks.Option) int {
	t.Helper()
	ctx, r := newRun(t)
	n := 0
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r))
	hooks.On(hooks.PreToolCall, edit(func(*hooks.ToolCall) { n++ }), append(opts, hooks.In(r))...)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), hooks.WithTools("something else", "some*"))
	call := &hooks.ToolCall{Name: tool, Caller: hooks.Caller{AgentRole: role}}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
	return n
}

func TestAToolFilterMatchesItsNamesAndNoOthers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	for _, tt := range []struct {
		filter, runs, skips []string
	}{
		{
			filter: []string{"confluence_search", "jira_get_issue", "jira_search"},
			runs:   []string{"confluence_search", "jira_get_issue", "jira_search"},
			skips:  []string{"jira", "jira_search_all", "search", "confluence", "", "jira_search2"},
		},
		{
			filter: []string{"Delete File"},
			runs:   []string{"Delete File", "delete_file", "deleteFile", "delete-file", "DELETE_FILE", " delete_file ", "delete.file", "DeleteFile"},
			skips:  []string{"delete", "file", "delete_files", "deletefile", "undelete_file"},
		},
		{
			filter: []string{"delete_file"},
			runs:   []string{"delete_file", "Delete File", "deleteFile"},
			skips:  []string{"delete_file2"},
		},
		{
			filter: []string{"HTTPServerTool"},
			runs:   []string{"HTTPServerTool", "http_server_tool", "HTTP Server Tool"},
			skips:  []string{"http_servertool"},
		},
		{
			filter: []string{"Café Tool"},
			runs:   []string{"Café Tool", "cafe_tool", "CAFÉ TOOL"},
			skips:  []string{"caf_tool"},
		},
		{ // names too long for a provider stay distinct
			filter: []string{long + "a"},
			runs:   []string{long + "a"},
			skips:  []string{long + "b", long, long + "aa"},
		},
		{ // names of which normalising leaves nothing match themselves alone
			filter: []string{"日本語"},
			runs:   []string{"日本語"},
			skips:  []string{"中文", "", "!", hooks.SanitizeToolName("日本語")},
		},
		{
			filter: []string{hooks.SanitizeToolName("日本語")},
			runs:   []string{hooks.SanitizeToolName("日本語")},
			skips:  []string{"日本語"},
		},
		{ // an empty name is a name, not "every tool"
			filter: []string{""},
			runs:   []string{""},
			skips:  []string{"a", " ", "_", "日本語"},
		},
		{
			filter: []string{" "},
			runs:   []string{" "},
			skips:  []string{"a", "", "  "},
		},
		{ // the raw names are compared too, in whatever form they are
			filter: []string{"^Edit$"},
			runs:   []string{"^Edit$", "edit"},
			skips:  []string{"edit2", "re_edit"},
		},
	} {
		for _, tool := range tt.runs {
			assert.Equal(t, 1, matched(t, tool, "", hooks.WithTools(tt.filter...)), "%q for %q", tt.filter, tool)
		}
		for _, tool := range tt.skips {
			assert.Zero(t, matched(t, tool, "", hooks.WithTools(tt.filter...)), "%q for %q", tt.filter, tool)
		}
	}
}

func TestAToolFilterWithAStarOrAQuestionMarkIsAPattern(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filter      string
		runs, skips []string
	}{
		{"*", []string{"Edit", "mcp__x__y", "a b c", "a/b", ""}, nil},
		{"mcp__*", []string{"mcp__x__y", "mcp__"}, []string{"mcp_x", "xmcp__y", "Edit"}},
		{"github*", []string{"github", "github/delete", "github delete", "GITHUB_delete"}, []string{"my_github"}},
		{"delete_*", []string{"Delete File", "delete_file", "deleteFile"}, []string{"Delete", "undelete_file"}},
		{"Delete *", []string{"Delete File", "Delete "}, []string{"delete_file", "Delete"}},
		{"*_file", []string{"Read File", "read_file"}, []string{"file", "read_files"}},
		{"a?c", []string{"abc", "a/c", "aéc", "a c"}, []string{"ac", "abbc"}},
		{"日*", []string{"日本語"}, []string{"中文"}},
		{"tool_*", []string{"tool_x"}, []string{"日本語"}}, // its fallback is no name of its own
	} {
		for _, tool := range tt.runs {
			assert.Equal(t, 1, matched(t, tool, "", hooks.WithTools(tt.filter)), "%q for %q", tt.filter, tool)
		}
		for _, tool := range tt.skips {
			assert.Zero(t, matched(t, tool, "", hooks.WithTools(tt.filter)), "%q for %q", tt.filter, tool)
		}
	}
}

func TestAHookWhoseFilterMatchesTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	for _, filter := range [][]string{
		{"Delete File", "delete_file"}, {"delete_file", "delete_file"}, {"delete_file", "delete_*"},
		{"delete_*", "*_file"}, {"*", "Delete File", "deleteFile"},
	} {
		assert.Equal(t, 1, matched(t, "Delete File", "", hooks.WithTools(filter...)), filter)
		assert.Equal(t, 1, matched(t, "delete_file", "", hooks.WithTools(filter...)), filter)
	}
}

func TestNamesAndPatternsCanBeMixedInOneFilter(t *testing.T) {
	t.Parallel()
	filter := hooks.WithTools("Read File", "mcp__*", "ls")
	for tool, want := range map[string]int{"read_file": 1, "mcp__x": 1, "ls": 1, "LS": 1, "write_file": 0} {
		assert.Equal(t, want, matched(t, tool, "", filter), tool)
	}
}

func TestAFilterWithoutNamesMatchesNothing(t *testing.T) {
	t.Parallel()
	var none []string
	for _, filter := range []hooks.Option{
		hooks.WithTools(), hooks.WithTools(none...), hooks.WithTools([]string{}...),
		hooks.WithAgents(), hooks.WithAgents(none...),
	} {
		for _, tool := range []string{"a", ""} {
			for _, role := range []string{"r", ""} {
				assert.Zero(t, matched(t, tool, role, filter), "tool %q, role %q", tool, role)
			}
		}
	}
	assert.Equal(t, 1, matched(t, "a", "r"), "no filter is another thing")
}

func TestARoleFilterComparesExactlyAndLetsUnsetRolesIn(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]int{
		"Writer": 1, "Editor": 1, "": 1, "writer": 0, "Writer ": 0, "Write": 0, "*": 0,
	} {
		assert.Equal(t, want, matched(t, "a", role, hooks.WithAgents("Writer", "Editor")), "role %q", role)
	}
	assert.Zero(t, matched(t, "a", "Writer", hooks.WithAgents("W*")), "roles have no patterns")
}

func TestFiltersByToolAndRoleMustBothMatch(t *testing.T) {
	t.Parallel()
	for _, tools := range []string{"a", "a*"} {
		for _, tt := range []struct {
			tool, role string
			want       int
		}{
			{"a", "Writer", 1}, {"a", "", 1}, {"a", "Reader", 0}, {"b", "Writer", 0}, {"b", "", 0},
		} {
			got := matched(t, tt.tool, tt.role, hooks.WithTools(tools), hooks.WithAgents("Writer"))
			assert.Equal(t, tt.want, got, "%q: tool %q, role %q", tools, tt.tool, tt.role)
		}
	}
}

func TestTheRoleIsReadWhenTheCallIsMade(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	hooks.On(hooks.PreStep, note[hooks.Step](&tr, "ran"), hooks.In(r), hooks.WithAgents("Researcher"))
	s := &hooks.Step{Caller: hooks.Caller{AgentRole: "Writer"}}
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, s))
	assert.Empty(t, tr.take())
	s.AgentRole = "Researcher"
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreStep, s))
	assert.Equal(t, "ran", tr.take())
}

// A hook can't lead a call around the filters of those that come after it.
func TestTheNameThatFiltersLookAtIsTheOneAtTheStart(t *testing.T) {
	t.Parallel()
	for kind, opts := range map[string][]hooks.Option{
		"name": {hooks.WithTools("delete")}, "pattern": {hooks.WithTools("del*")}, "role": {hooks.WithAgents("Writer")},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, r := newRun(t)
			var tr trace
			hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Name, c.AgentRole = "read", "Reader" }), hooks.In(r))
			hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "hook"), append(opts, hooks.In(r))...)
			hooks.On(hooks.PreToolCall, note[hooks.ToolCall](&tr, "guard"), append(opts, hooks.In(r), hooks.AsGuard())...)
			call := &hooks.ToolCall{Name: "delete", Caller: hooks.Caller{AgentRole: "Writer"}}
			require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, call))
			assert.Equal(t, "hook guard", tr.take())
		})
	}
}

func TestAHookThatAFilterSkipsIsNotCounted(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	events := record(t, r)
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), hooks.WithTools("a"), hooks.WithName("a"))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), hooks.WithTools("b*"), hooks.WithName("b"))
	hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](nil), hooks.In(r), hooks.WithTools("a", "c"), hooks.WithName("ac"))
	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "a"}))
	ev := events.one(t)
	assert.Equal(t, 2, ev.HookCount)
	assert.Len(t, ev.Hooks, 2)
	assert.Equal(t, "a", ev.Hooks[0].Name)
	assert.Equal(t, "ac", ev.Hooks[1].Name)

	require.NoError(t, hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: "z"}))
	assert.Empty(t, events.take(), "where all are skipped there is no event")
}

// A tool is filtered by its name alone, however a framework comes to its hooks.
func TestAFilterDecidesAlikeOnEveryWayToATool(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]bool{"Delete File": true, "delete_file": true, "read_file": false} {
		ctx, r := newRun(t)
		events := record(t, r)
		hooks.On(hooks.PreToolCall, fails[hooks.ToolCall](hooks.Abort("no")), hooks.In(r), hooks.WithTools("delete_file"), hooks.WithName("n"))
		body := fails[hooks.ToolCall](nil)
		ways := map[string]func() bool{
			"Dispatch": func() bool {
				return hooks.Dispatch(ctx, hooks.PreToolCall, &hooks.ToolCall{Name: tool}) != nil
			},
			"RunTool": func() bool {
				call := &hooks.ToolCall{Name: tool}
				require.NoError(t, hooks.RunTool(ctx, call, body))
				return call.Blocked != nil
			},
			"RunTools": func() bool {
				call := &hooks.ToolCall{Name: tool}
				require.NoError(t, hooks.RunTools(ctx, []*hooks.ToolCall{call}, 0, body))
				return call.Blocked != nil
			},
			"BeginTool": func() bool {
				call := &hooks.ToolCall{Name: tool}
				_, end, err := hooks.BeginTool(ctx, call)
				require.NoError(t, err)
				blocked := !call.ShouldRun()
				require.NoError(t, end(nil))
				return blocked
			},
			"Run": func() bool {
				return hooks.Run(ctx, hooks.PreToolCall, hooks.PostToolCall, &hooks.ToolCall{Name: tool}, body) != nil
			},
		}
		for name, way := range ways {
			assert.Equal(t, want, way(), "%s of %q", name, tool)
			if want {
				ev := events.one(t)
				assert.Equal(t, tool, ev.ToolName, name)
				assert.Equal(t, hooks.OutcomeAborted, ev.Outcome, name)
				assert.Equal(t, "n", ev.AbortSource, name)
			} else {
				assert.Empty(t, events.take(), name)
			}
		}
	}
}

// A name that the model made up reaches the hooks like any other, so that they
// can repair or report it.
func TestACallOfAToolThatNobodyKnowsRunsItsHooks(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	errUnknown := errors.New("no such tool")
	var tr trace
	hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { tr.add("pre:" + c.Name) }), hooks.In(r))
	hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) {
		tr.add("post:" + c.Name)
		assert.Nil(t, c.Tool)
		assert.ErrorIs(t, c.Err, errUnknown)
	}), hooks.In(r))
	call := &hooks.ToolCall{Name: "browser_fill"}
	require.NoError(t, hooks.RunTool(ctx, call, fails[hooks.ToolCall](errUnknown)))
	assert.Equal(t, "pre:browser_fill post:browser_fill", tr.take())
	assert.ErrorIs(t, call.Err, errUnknown)
	assert.True(t, call.IsError())
}
