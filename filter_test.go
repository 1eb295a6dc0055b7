package hooks_test

// Which hooks a dispatch concerns: filters by tool and role, patterns, and the
// normal form of a tool's name. Filters go by the name at the start, guards by
// the one at the end as well.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

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

func TestWithTools_matchesItsNamesAndNoOthers(t *testing.T) {
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
			runs:   []string{"Café Tool", "CAFÉ TOOL", "Cafe\u0301Tool"},
			skips:  []string{"caf_tool", "cafe_tool"},
		},
		{ // names too long for a provider stay distinct
			filter: []string{long + "a"},
			runs:   []string{long + "a"},
			skips:  []string{long + "b", long, long + "aa"},
		},
		{ // a name in another script is a name, and what providers are offered for it is it too
			filter: []string{"日本語"},
			runs:   []string{"日本語", hooks.SanitizeToolName("日本語")},
			skips:  []string{"中文", "", "!", "tool"},
		},
		{
			filter: []string{hooks.SanitizeToolName("日本語")},
			runs:   []string{hooks.SanitizeToolName("日本語"), "日本語"},
			skips:  []string{"中文"},
		},
		{ // what is lost on the way to a provider isn't lost here
			filter: []string{"search"},
			runs:   []string{"search", "Search"},
			skips:  []string{"search_天气", "search_用户"},
		},
		{
			filter: []string{" "},
			runs:   []string{" "},
			skips:  []string{"a", "", "  "},
		},
		{ // characters that are neither letters nor separators are kept
			filter: []string{"^Edit$"},
			runs:   []string{"^Edit$", "^edit$"},
			skips:  []string{"edit", "edit2", "re_edit"},
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

// A filter with a star or a question mark is a pattern.
func TestWithTools_takesPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filter      string
		runs, skips []string
	}{
		{"*", []string{"Edit", "mcp__x__y", "a b c", "a/b", ""}, nil},
		{"mcp__*", []string{"mcp__x__y", "mcp__", "mcp_x", "mcp.x"}, []string{"xmcp__y", "Edit"}},
		{"github*", []string{"github", "github/delete", "github delete", "GITHUB_delete"}, []string{"my_github"}},
		{"delete_*", []string{"Delete File", "delete_file", "deleteFile", "DELETE-ファイル"}, []string{"Delete", "undelete_file"}},
		{"Delete *", []string{"Delete File", "Delete ", "delete_file"}, []string{"Delete"}},
		{"read_*", []string{"read_file", "readMe"}, []string{"ready_to_delete"}},
		{"*delete_file", []string{"mcp__ws__DeleteFile", "mcp__" + strings.Repeat("workspace_", 6) + "_DeleteFile"}, []string{"delete_files"}},
		{"*_file", []string{"Read File", "read_file", "readFile"}, []string{"file", "read_files"}},
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

func TestWithTools_runsOnceIfItMatchesTwice(t *testing.T) {
	t.Parallel()
	for _, filter := range [][]string{
		{"Delete File", "delete_file"}, {"delete_file", "delete_file"}, {"delete_file", "delete_*"},
		{"delete_*", "*_file"}, {"*", "Delete File", "deleteFile"},
	} {
		assert.Equal(t, 1, matched(t, "Delete File", "", hooks.WithTools(filter...)), filter)
		assert.Equal(t, 1, matched(t, "delete_file", "", hooks.WithTools(filter...)), filter)
	}
}

func TestWithTools_mixesNamesAndPatterns(t *testing.T) {
	t.Parallel()
	filter := hooks.WithTools("Read File", "mcp__*", "ls")
	for tool, want := range map[string]int{"read_file": 1, "mcp__x": 1, "ls": 1, "LS": 1, "write_file": 0} {
		assert.Equal(t, want, matched(t, tool, "", filter), tool)
	}
}

// Roles are compared exactly, and a call without one is let in.
func TestWithAgents_matchesExactlyOrUnset(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]int{
		"Writer": 1, "Editor": 1, "": 1, "writer": 0, "Writer ": 0, "Write": 0, "*": 0,
	} {
		assert.Equal(t, want, matched(t, "a", role, hooks.WithAgents("Writer", "Editor")), "role %q", role)
	}
	assert.Zero(t, matched(t, "a", "Writer", hooks.WithAgents("W*")), "roles have no patterns")
}

func TestFilter_byToolAndRoleMustBothMatch(t *testing.T) {
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

func TestWithAgents_readsTheRoleAtEachCall(t *testing.T) {
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
func TestFilter_goesByTheNameAtTheStart(t *testing.T) {
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

func TestFilter_skippedHookIsNotCounted(t *testing.T) {
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
func TestWithTools_decidesAlikeOnEveryWay(t *testing.T) {
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
func TestFilter_takesAToolThatNobodyKnows(t *testing.T) {
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

// FuzzToolFilter compares which hooks a dispatch runs with what MatchTool says
// of each entry, on every way that a dispatch can take through an index.
func FuzzToolFilter(f *testing.F) {
	f.Add("Delete File", "read_file", "delete_file")
	f.Add("delete_file\nDelete File\ndeleteFile", "delete-file", "DELETE FILE")
	f.Add("mcp__*", "github*\n*delete", "github/delete")
	f.Add("delete_*", "*file\n?elete*", "Delete File")
	f.Add("日本語", "tool_77710aed", "日本語")
	f.Add("tool_77710aed", "日本語\n?*", "tool_77710aed")
	f.Add("a", "*", "")
	f.Add("??", "caf?\nCafé", "café")
	f.Add("\xff*\nab\xc3", "?b\xc3", "ab\xc3")
	f.Fuzz(func(t *testing.T, first, second, tool string) {
		if len(first)+len(second)+len(tool) > 4096 {
			return // the plain rule takes its time
		}
		a, b := entries(first), entries(second)
		filters := [][]string{nil, a, b, append(append([]string{}, b...), a...), {tool + "*"}, entries(tool)}
		for _, way := range []string{"plain", "picky", "observed"} {
			r := hooks.NewRegistry()
			var got, want []int
			for i, filter := range filters {
				opts := []hooks.Option{hooks.In(r)}
				if filter != nil {
					opts = append(opts, hooks.WithTools(filter...))
				}
				if i%2 == 1 {
					opts = append(opts, hooks.AsGuard())
				}
				if way == "picky" {
					opts = append(opts, hooks.WithAgents("nobody's")) // a role filter lets an unset role in
				}
				hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
					got = append(got, i)
					return nil
				}, opts...)
			}
			for _, guards := range []bool{false, true} {
				for i, filter := range filters {
					if guards == (i%2 == 1) && (filter == nil || slices.ContainsFunc(filter, func(e string) bool { return hooks.MatchTool(e, tool) })) {
						want = append(want, i)
					}
				}
			}
			events := 0
			if way == "observed" {
				o := r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
					events++
					require.Equal(t, len(want), ev.HookCount)
				})
				defer o.Remove()
			}
			require.NoError(t, hooks.Dispatch(hooks.WithScope(t.Context(), r), hooks.PreToolCall, &hooks.ToolCall{Name: tool}))
			require.Equal(t, way == "observed", events == 1)
			require.Equal(t, want, got, "%s: %q %q, tool %q", way, a, b, tool)
		}
	})
}

// entries returns the lines of a text that name something, at least one.
func entries(text string) []string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return l == "" })
	if len(lines) == 0 {
		return []string{"nothing"}
	}
	return lines
}

// The table in the comment of MatchTool.
func TestMatchTool(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		entry       string
		covers, not []string
	}{
		{"delete_file", []string{"Delete File", "deleteFile", "DELETE-FILE"}, []string{"deletefile", "delete_files"}},
		{"search", []string{"Search"}, []string{"search_天气"}},
		{"Straße", []string{"STRASSE", "strasse"}, []string{"strase"}},
		{"日本語", []string{"tool_77710aed"}, []string{"tool"}},
		{"delete_*", []string{"deleteFile", "DELETE-ファイル"}, []string{"undelete_file", "delete"}},
		{"Delete*", []string{"delete_file", "DELETE", "deletefile"}, []string{"undelete"}},
		{"read_*", []string{"read_file", "readMe"}, []string{"ready_to_delete"}},
		{"*delete_file", []string{"mcp__ws__DeleteFile", strings.Repeat("x_", 99) + "deleteFile"}, []string{"delete_files"}},
		{"*__delete_*", []string{"mcp__crm__delete_x", "__Delete_x"}, []string{"delete_x"}},
		{"github*", []string{"GitHub/delete", "github_delete"}, []string{"git_hub_delete"}},
		{"mcp__*__delete_*", []string{"mcp__crm__deleteContact", "mcp____Delete_x"}, []string{"mcp__crm__undelete"}},
		{"get?", []string{"getX"}, []string{"getXY", "get_x"}},
		{"_*", []string{"_private"}, []string{"delete_file"}},
	} {
		for _, name := range tt.covers {
			assert.True(t, hooks.MatchTool(tt.entry, name), "%q covers %q", tt.entry, name)
		}
		for _, name := range tt.not {
			assert.False(t, hooks.MatchTool(tt.entry, name), "%q doesn't cover %q", tt.entry, name)
		}
	}
}

func TestGuard_goesByTheNameThatHooksLeft(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"delete_file", "Delete File", "delete_*"} {
		r := hooks.NewRegistry()
		hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
			c.Name = "delete_file"
			return nil
		}, hooks.In(r), hooks.WithTools("alias"))
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			return hooks.Abort("no")
		}, hooks.In(r), hooks.AsGuard(), hooks.WithTools(filter))
		ordinary := 0
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { ordinary++; return nil },
			hooks.In(r), hooks.WithTools(filter))

		call := &hooks.ToolCall{Name: "alias"}
		require.NoError(t, hooks.RunTool(hooks.WithScope(t.Context(), r), call, func(context.Context, *hooks.ToolCall) error {
			t.Errorf("%s: the tool ran under the new name", filter)
			return nil
		}))
		assert.NotNil(t, call.Blocked, filter)
		assert.Zero(t, ordinary, "hooks go by the name at the start")
	}
}

func TestGuard_isNotEvadedByANewName(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	runs := 0
	hooks.On(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
		c.Name, c.AgentRole = "harmless", "somebody"
		return nil
	}, hooks.In(r))
	guard := func(context.Context, *hooks.ToolCall) error { runs++; return nil }
	hooks.On(hooks.PreToolCall, guard, hooks.In(r), hooks.AsGuard(), hooks.WithTools("delete_file"))
	hooks.On(hooks.PreToolCall, guard, hooks.In(r), hooks.AsGuard(), hooks.WithAgents("Writer"))
	hooks.On(hooks.PreToolCall, guard, hooks.In(r), hooks.AsGuard(), hooks.WithTools("delete_file", "harmless"))
	hooks.On(hooks.PreToolCall, guard, hooks.In(r), hooks.AsGuard(), hooks.WithTools("other_tool"))
	require.NoError(t, hooks.Dispatch(hooks.WithScope(t.Context(), r), hooks.PreToolCall,
		&hooks.ToolCall{Name: "delete_file", Caller: hooks.Caller{AgentRole: "Writer"}}))
	assert.Equal(t, 3, runs, "each guard of either name or role once, and no other")
}

// namedJob is a framework's own call whose name and role come from methods.
type namedJob struct{ tool, role *string }

func (j *namedJob) ToolName() string      { return *j.tool }
func (j *namedJob) AgentRoleName() string { return *j.role }

var filterBefore, filterAfter = hooks.Define[namedJob]("filtertest.before"), hooks.Define[namedJob]("filtertest.after")

// renaming renames a call between the points of its seam, and says how often a
// guard and a watch with the options given ran at one of them.
type renaming func(ctx context.Context, r *hooks.Registry, pre bool, old, now [2]string, opts ...hooks.Option) (guarded, watched int)

// renamings drives what has a name and a role.
func renamings() map[string]renaming {
	tool := func(run func(context.Context, *hooks.ToolCall) error) renaming {
		return func(ctx context.Context, r *hooks.Registry, pre bool, old, now [2]string, opts ...hooks.Option) (guarded, watched int) {
			p := hooks.PostToolCall
			if pre {
				p = hooks.PreToolCall
			}
			hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Name, c.AgentRole = now[0], now[1] }), hooks.In(r))
			hooks.Guard(p, edit(func(*hooks.ToolCall) { guarded++ }), append(opts, hooks.In(r))...)
			hooks.Watch(p, func(context.Context, *hooks.ToolCall, error) { watched++ }, append(opts, hooks.In(r))...)
			_ = run(ctx, &hooks.ToolCall{Name: old[0], Caller: hooks.Caller{AgentRole: old[1]}})
			return guarded, watched
		}
	}
	return map[string]renaming{
		"RunTool": tool(func(ctx context.Context, c *hooks.ToolCall) error {
			return hooks.RunTool(ctx, c, fails[hooks.ToolCall](nil))
		}),
		"BeginTool": tool(func(ctx context.Context, c *hooks.ToolCall) error {
			_, end, err := hooks.BeginTool(ctx, c)
			if err != nil {
				return err
			}
			return end(nil)
		}),
		"RunTools": tool(func(ctx context.Context, c *hooks.ToolCall) error {
			return hooks.RunTools(ctx, []*hooks.ToolCall{c}, 0, fails[hooks.ToolCall](nil))
		}),
		"a failed call": tool(func(ctx context.Context, c *hooks.ToolCall) error {
			return hooks.RunTool(ctx, c, fails[hooks.ToolCall](errBroken))
		}),
		"Run": func(ctx context.Context, r *hooks.Registry, pre bool, old, now [2]string, opts ...hooks.Option) (guarded, watched int) {
			p := filterAfter
			if pre {
				p = filterBefore
			}
			hooks.On(filterBefore, edit(func(j *namedJob) { j.tool, j.role = &now[0], &now[1] }), hooks.In(r))
			hooks.Guard(p, edit(func(*namedJob) { guarded++ }), append(opts, hooks.In(r))...)
			hooks.Watch(p, func(context.Context, *namedJob, error) { watched++ }, append(opts, hooks.In(r))...)
			_ = hooks.Run(ctx, filterBefore, filterAfter, &namedJob{&old[0], &old[1]}, fails[namedJob](nil))
			return guarded, watched
		},
	}
}

// Guards and watches go by every name and by every role that a call has had, each
// on its own, at both points. A hook that gives a call another name and another
// role passes none of them.
func TestGuard_goesByEachNameAndEachRole(t *testing.T) {
	t.Parallel()
	old, now := [2]string{"read_file", "Intern"}, [2]string{"delete_file", "Admin"}
	for name, tt := range map[string]struct {
		opts []hooks.Option
		want int
	}{
		"the old name":                {[]hooks.Option{hooks.WithTools("Read File")}, 1},
		"the new name":                {[]hooks.Option{hooks.WithTools("deleteFile")}, 1},
		"a pattern of the old name":   {[]hooks.Option{hooks.WithTools("read_*")}, 1},
		"a pattern of the new name":   {[]hooks.Option{hooks.WithTools("*delete_*")}, 1},
		"the old role":                {[]hooks.Option{hooks.WithAgents("Intern")}, 1},
		"the new role":                {[]hooks.Option{hooks.WithAgents("Admin")}, 1},
		"the new name, the old role":  {[]hooks.Option{hooks.WithTools("delete_file"), hooks.WithAgents("Intern")}, 1},
		"a new pattern, the old role": {[]hooks.Option{hooks.WithTools("delete_*"), hooks.WithAgents("Intern")}, 1},
		"the old name, the new role":  {[]hooks.Option{hooks.WithTools("read_file"), hooks.WithAgents("Admin")}, 1},
		"an old pattern, a new role":  {[]hooks.Option{hooks.WithTools("x", "read_?ile"), hooks.WithAgents("x", "Admin")}, 1},
		"neither name":                {[]hooks.Option{hooks.WithTools("write_file", "rm*"), hooks.WithAgents("Intern")}, 0},
		"neither role":                {[]hooks.Option{hooks.WithTools("delete_*"), hooks.WithAgents("Boss")}, 0},
	} {
		for how, run := range renamings() {
			for _, pre := range []bool{true, false} {
				ctx, r := newRun(t)
				guarded, watched := run(ctx, r, pre, old, now, tt.opts...)
				assert.Equal(t, tt.want, guarded, "guard: %s, %s, pre %v", name, how, pre)
				assert.Equal(t, tt.want, watched, "watch: %s, %s, pre %v", name, how, pre)
			}
		}
	}
}

// The other seams have a role, too, and an execution has two points before its
// body.
func TestGuard_goesByTheRoleAtTheStart(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var tr trace
	guard := func(p untypedPoint) {
		p.on(func() error { tr.add(string(p.Name())); return nil }, hooks.AsGuard(), hooks.WithAgents("Intern"), hooks.In(r))
	}
	for _, p := range everyPoint() {
		if p.Name() != hooks.PreToolCall.Name() && p.Name() != hooks.PostToolCall.Name() {
			guard(p)
		}
	}
	intern := hooks.Caller{AgentRole: "Intern"}
	hooks.On(hooks.ExecutionStart, edit(func(x *hooks.Execution) { x.AgentRole = "Admin" }), hooks.In(r))
	hooks.On(hooks.PreStep, edit(func(s *hooks.Step) { s.AgentRole = "Admin" }), hooks.In(r))
	hooks.On(hooks.PreModelCall, edit(func(m *hooks.ModelCall) { m.AgentRole = "Admin" }), hooks.In(r))
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{Caller: intern}, fails[hooks.Execution](nil)))
	assert.Equal(t, "execution_start input output execution_end", tr.take())
	require.NoError(t, hooks.RunStep(ctx, &hooks.Step{Caller: intern}, fails[hooks.Step](nil)))
	assert.Equal(t, "pre_step post_step", tr.take())
	require.NoError(t, hooks.RunModel(hooks.WithCaller(ctx, intern), &hooks.ModelCall{}, fails[hooks.ModelCall](nil)))
	assert.Equal(t, "pre_model_call post_model_call", tr.take(), "a role that the ctx gave")
}

// Where the name or role of a call can't be read, a guard that filters fails
// closed, from the start or after a hook; one that doesn't filter runs.
func TestFilter_unreadableNameFailsGuardsClosed(t *testing.T) {
	t.Parallel()
	tool, role := "a", "b"
	for name, tt := range map[string]struct {
		call *namedJob
		hook func(*namedJob)
	}{
		"name":             {&namedJob{nil, &role}, nil},
		"role":             {&namedJob{&tool, nil}, nil},
		"name once hooked": {&namedJob{&tool, &role}, func(j *namedJob) { j.tool = nil }},
		"role once hooked": {&namedJob{&tool, &role}, func(j *namedJob) { j.role = nil }},
	} {
		for what, opts := range map[string][]hooks.Option{
			"by name": {hooks.WithTools("z")}, "by pattern": {hooks.WithTools("z*")}, "by role": {hooks.WithAgents("z")},
		} {
			p := newPoint[namedJob](t)
			ctx, r := newRun(t)
			events := record(t, r)
			all, call := 0, *tt.call
			if tt.hook != nil {
				hooks.On(p, edit(tt.hook), hooks.In(r))
			}
			hooks.Guard(p, edit(func(*namedJob) { t.Error("a guard ran whose filter could not be asked") }), append(opts, hooks.In(r), hooks.WithName("policy"))...)
			abort := aborted(t, hooks.Dispatch(ctx, p, &call))
			assert.Equal(t, "policy", abort.Source, name+" "+what)
			assert.IsType(t, &hooks.PanicError{}, abort.Err)
			assert.Equal(t, hooks.OutcomeAborted, events.one(t).Outcome)

			r.Clear(p)
			call = *tt.call
			if tt.hook != nil {
				hooks.On(p, edit(tt.hook), hooks.In(r))
			}
			hooks.Guard(p, edit(func(*namedJob) { all++ }), hooks.In(r))
			hooks.On(p, edit(func(*namedJob) {}), append(opts, hooks.In(r))...)
			require.NoError(t, hooks.Dispatch(ctx, p, &call), name+" "+what)
			assert.Equal(t, 1, all)
		}
	}
}

func TestSanitizeToolName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Delete File":                 "delete_file",
		"ExaSearchTool":               "exa_search_tool",
		"HTTPServerTool":              "http_server_tool",
		"getURL":                      "get_url",
		"aBC":                         "a_bc",
		"v2API":                       "v2api",
		"Tool2Go":                     "tool2go",
		"parseJSON2XML":               "parse_json2xml",
		"GetV2":                       "get_v2",
		"S3Upload":                    "s3upload",
		"DELETE_FILE":                 "delete_file",
		" delete_file ":               "delete_file",
		"ABc":                         "a_bc",
		"Café Lookup":                 "cafe_lookup",
		"ＦＵＬＬ":                        "full",
		"ﬁle":                         "file",
		"ßharp":                       "harp",
		"Ａ１":                          "a1",
		"a日B":                         "a_b",
		"get½":                        "get12",
		"it's \"fun\" tool":           "its_fun_tool",
		"a'B":                         "ab",
		`a"b`:                         "ab",
		"__x__":                       "x",
		"a__b":                        "a_b",
		"a..b--c":                     "a_b_c",
		"Web-Search!!":                "web_search",
		"a\xffb":                      "ab",
		"\xe3\x81a":                   "a",
		"x\x00y":                      "x_y",
		strings.Repeat("x", 64):       strings.Repeat("x", 64),
		strings.Repeat("x", 65):       strings.Repeat("x", 55) + "_" + hash8(strings.Repeat("x", 65)),
		strings.Repeat("X", 70):       strings.Repeat("x", 55) + "_c71bd109",
		strings.Repeat("ab_", 30):     strings.Repeat("ab_", 18) + "a_01ddad3e",
		strings.Repeat("日", 100):      "tool_" + hash8(strings.Repeat("日", 100)),
		strings.Repeat("a", 64) + "_": strings.Repeat("a", 64),
		"":                            "tool_e3b0c442",
		"___":                         "tool_" + hash8("___"),
		"'\"":                         "tool_" + hash8("'\""),
		"日本語":                         "tool_" + hash8("日本語"),
		"\xff\xfe":                    "tool_" + hash8("\xff\xfe"),
	} {
		assert.Equal(t, want, hooks.SanitizeToolName(name), "%q", name)
	}
}

// A separator at the cut of a long name goes too.
func TestSanitizeToolName_trimsTheCut(t *testing.T) {
	t.Parallel()
	// The 55th character is the separator.
	long := strings.Repeat("a", 54) + "_" + strings.Repeat("b", 20)
	assert.Equal(t, strings.Repeat("a", 54)+"_"+hash8(long), hooks.SanitizeToolName(long))
}

// Names of which nothing is left stay distinct.
func TestSanitizeToolName_keepsNamesDistinct(t *testing.T) {
	t.Parallel()
	assert.NotEqual(t, hooks.SanitizeToolName("日本語"), hooks.SanitizeToolName("中文"))
	assert.NotEqual(t, hooks.SanitizeToolName(""), hooks.SanitizeToolName("_"))
}

// A name comes from a model or a server, which bound nothing. Time that isn't
// linear in its length would show here as a test that never ends.
func TestSanitizeToolName_takesVeryLongNames(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for unit, form := range map[string]string{
		"a": "a", "A": "a", "aB": "a_b", "é": "e", "e\u0301": "e",
		"_": "", "'": "", "\xff": "", "\u0301": "", "ﷺ": "", "日": "",
	} {
		n := size / len(unit)
		name, long := strings.Repeat(unit, n), strings.Repeat(form, n)
		want := "tool_" + hash8(name)
		if long != "" {
			want = strings.TrimRight(long[:55], "_") + "_" + hash8(long)
		}
		assert.Equal(t, want, hooks.SanitizeToolName(name), "%q", unit)
	}
}

func TestSanitizeToolName_allocs(t *testing.T) {
	for name, want := range map[string]float64{
		"delete_file":           0,
		"x":                     0,
		strings.Repeat("x", 64): 0,
		"Delete File":           1, // the result
		"Café Lookup":           1,
	} {
		got := testing.AllocsPerRun(100, func() { hooks.SanitizeToolName(name) })
		assert.Equal(t, want, got, "%q", name)
	}
}

func FuzzSanitizeToolName(f *testing.F) {
	f.Fuzz(func(t *testing.T, name string) {
		got := hooks.SanitizeToolName(name)
		require.Equal(t, referenceToolName(name), got)
		require.Regexp(t, `^[a-z0-9]+(_[a-z0-9]+)*$`, got)
		require.LessOrEqual(t, len(got), 64)
		require.Equal(t, got, hooks.SanitizeToolName(got), "normalising twice differs from once")
	})
}

var (
	acronymEnd = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)
	wordStart  = regexp.MustCompile(`([a-z])([A-Z])`)
	separators = regexp.MustCompile(`[^a-z0-9]+`)
)

// referenceToolName is the rule written out step by step. Bytes that aren't
// UTF-8 go first: package norm leaves what stands behind one as it is.
func referenceToolName(name string) string {
	s := strings.Map(func(r rune) rune {
		if r > 127 {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToValidUTF8(name, "")))
	s = acronymEnd.ReplaceAllString(s, "${1}_${2}")
	s = wordStart.ReplaceAllString(s, "${1}_${2}")
	s = strings.ToLower(s)
	s = strings.NewReplacer("'", "", `"`, "").Replace(s)
	s = strings.Trim(separators.ReplaceAllString(s, "_"), "_")
	switch {
	case s == "":
		return "tool_" + hash8(name)
	case len(s) > 64:
		return strings.TrimRight(s[:55], "_") + "_" + hash8(s)
	}
	return s
}

func hash8(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:8]
}

func TestFoldToolName_isOneForEachSpelling(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Web Search": "web_search", "webSearch": "web_search", "WEB-SEARCH": "web_search",
		"search_天气": "search_天气", "search": "search", "Straße": "strasse", "": "",
	} {
		assert.Equal(t, want, hooks.FoldToolName(name), name)
	}
}
