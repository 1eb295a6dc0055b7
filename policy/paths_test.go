package policy_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
)

const staysInside = "path must stay inside the working directory"

// openDir returns the folder of a test, and the Root of a directory in it with the
// file docs/notes..txt.
func openDir(t *testing.T) (string, *os.Root) {
	t.Helper()
	outer := t.TempDir()
	dir := filepath.Join(outer, "work")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "docs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docs", "notes..txt"), []byte("notes"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(outer, "secret"), []byte("secret"), 0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return outer, root
}

// pathCall puts a call with the arguments through a policy for root.
func pathCall(t *testing.T, root *os.Root, input map[string]any, args ...string) *passed {
	t.Helper()
	r := hookstest.Registry(t)
	policy.Paths{Root: root, Args: args}.Register(hooks.In(r))
	return passCall(t, r, &hooks.ToolCall{Name: "read_file", Input: input})
}

func TestPaths_cleans(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	for in, want := range map[string]string{
		`docs\2026\..\notes..txt`: "docs/notes..txt",
		"docs/notes..txt":         "docs/notes..txt",
		"./docs//notes..txt":      "docs/notes..txt",
		"docs/missing":            "docs/missing",
		"missing/folder/x":        "missing/folder/x",
		"missing/../docs":         "docs",
		".":                       ".",
		"docs/..":                 ".",
		`.\docs`:                  "docs",
		"...x":                    "...x",
		" x":                      " x",
		"a b/c d":                 "a b/c d",
		"~/x":                     "~/x",
		"%2e%2e/x":                "%2e%2e/x",
		"날씨/天气":                   "날씨/天气",
		".hidden":                 ".hidden",
		"a/b/../c":                "a/c",
		`a\b\..\c`:                "a/c",
		`a/b\c`:                   "a/b/c",
		"./a//b/.":                "a/b",
		"..notes":                 "..notes",
		"notes..txt":              "notes..txt",
		"ação/날씨.txt":             "ação/날씨.txt",
	} {
		call := pathCall(t, root, map[string]any{"path": in})
		call.ran(t, in)
		assert.Equal(t, want, call.input["path"], in)
	}
}

func TestPaths_refuses(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	for in, want := range map[string]string{
		"../x":                    staysInside,
		"..":                      staysInside,
		`..\x`:                    staysInside,
		"docs/../../x":            staysInside,
		"docs/../../other/x":      staysInside,
		"/etc/passwd":             staysInside,
		"/":                       staysInside,
		`\\s\x`:                   staysInside,
		`\x`:                      staysInside,
		"//s/x":                   staysInside,
		"C:x":                     staysInside,
		`c:\x`:                    staysInside,
		"a/../../x":               staysInside,
		`a\..\..\x`:               staysInside,
		`a/..\../x`:               staysInside,
		"./../x":                  staysInside,
		`\\?\C:\x`:                staysInside,
		`\/x`:                     staysInside,
		"C:/x":                    staysInside,
		"c:":                      staysInside,
		"a/C:/x":                  "path must have no colon",
		"file.txt::$DATA":         "path must have no colon",
		".../x":                   "path must have no name that ends in a dot or a space",
		"a/x. ":                   "path must have no name that ends in a dot or a space",
		" /x":                     "path must have no name that ends in a dot or a space",
		"file://x":                "path must have no colon",
		"notes.txt:stream":        "path must have no colon",
		"":                        "path must not be empty",
		"a\x00b":                  "path must be valid UTF-8 without control characters",
		"a\nb":                    "path must be valid UTF-8 without control characters",
		"a\x7f":                   "path must be valid UTF-8 without control characters",
		"a\u0085b":                "path must be valid UTF-8 without control characters",
		"a\xffb":                  "path must be valid UTF-8 without control characters",
		"\xc0\xae\xc0\xae/x":      "path must be valid UTF-8 without control characters",
		"docs/":                   "path must not end in a slash",
		`docs\`:                   "path must not end in a slash",
		"docs/../":                "path must not end in a slash",
		"docs./notes":             "path must have no name that ends in a dot or a space",
		"docs /notes":             "path must have no name that ends in a dot or a space",
		"...":                     "path must have no name that ends in a dot or a space",
		".. /x":                   "path must have no name that ends in a dot or a space",
		" ":                       "path must have no name that ends in a dot or a space",
		"x./../docs":              "path must have no name that ends in a dot or a space",
		"docs/notes..txt/x":       "path must be a path that can be opened",
		strings.Repeat("x", 5000): "path must be a path that can be opened",
	} {
		pathCall(t, root, map[string]any{"path": in}).refused(t, "policy.Paths", want, "%q", in)
	}
}

func TestPaths_takesLists(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	own := []any{`a\b`, "c"}
	call := pathCall(t, root, map[string]any{"path": own})
	call.ran(t)
	assert.Equal(t, []any{"a/b", "c"}, call.input["path"])
	assert.Equal(t, []any{`a\b`, "c"}, own, "the loop's own")

	call = pathCall(t, root, map[string]any{"path": []string{"./a", "c"}})
	call.ran(t)
	assert.Equal(t, []string{"a", "c"}, call.input["path"])

	pathCall(t, root, map[string]any{"path": []any{}}).ran(t)
	pathCall(t, root, map[string]any{"path": []any{"a", "../b"}}).refused(t, "policy.Paths", staysInside)
	pathCall(t, root, map[string]any{"path": []string{"a", "../b"}}).refused(t, "policy.Paths", staysInside)
}

func TestPaths_refusesOtherTypes(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	for _, value := range []any{nil, 1.0, true, map[string]any{"path": "a"}, []any{"a", 1.0}, []any{"a", nil}, []any{[]any{"a"}}, []byte("a")} {
		pathCall(t, root, map[string]any{"path": value}).refused(t, "policy.Paths", "path must be a string or a list of strings", "%v", value)
	}
}

func TestPaths_refusesKeysInAnotherCase(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	const reason = "the argument path must be spelt exactly so"
	for _, key := range []string{"Path", "PATH", "pAth"} {
		pathCall(t, root, map[string]any{key: "/etc"}).refused(t, "policy.Paths", reason, key)
		pathCall(t, root, map[string]any{key: "docs", "path": "docs"}).refused(t, "policy.Paths", reason, key)
	}
	// Decoders fold more than ASCII: the Kelvin sign is a k.
	pathCall(t, root, map[string]any{"\u212aey": "/etc"}, "key").refused(t, "policy.Paths", "the argument key must be spelt exactly so")
	pathCall(t, root, map[string]any{"paths": "/etc"}).ran(t)
}

func TestPaths_looksAtItsArguments(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	pathCall(t, root, map[string]any{}).ran(t, "none")
	pathCall(t, root, nil).ran(t, "no input")
	pathCall(t, root, map[string]any{"path": "/etc"}, "from", "to").ran(t, "another argument")
	pathCall(t, root, map[string]any{"from": "a", "to": "../b"}, "from", "to").
		refused(t, "policy.Paths", "to must stay inside the working directory")
	call := pathCall(t, root, map[string]any{"path": "./a", "Path": "./b"}, "path", "Path")
	call.ran(t, "both are meant")
	assert.Equal(t, map[string]any{"path": "a", "Path": "b"}, call.input)
}

func TestPaths_refusesLinksThatLeave(t *testing.T) {
	t.Parallel()
	outer, root := openDir(t)
	require.NoError(t, root.Symlink("../secret", "up"))
	require.NoError(t, root.Symlink(filepath.Join(outer, "secret"), "absolute"))
	require.NoError(t, root.Symlink("..", "folder"))
	require.NoError(t, root.Symlink("../nothing", "dangling"))
	require.NoError(t, root.Symlink("docs", "inside"))
	require.NoError(t, root.Symlink("nothing", "empty"))
	require.NoError(t, root.Symlink("loop", "loop"))
	for _, p := range []string{"up", "absolute", "folder", "folder/secret", "folder/new", "dangling"} {
		pathCall(t, root, map[string]any{"path": p}).refused(t, "policy.Paths", staysInside, p)
	}
	for _, p := range []string{"inside", "inside/notes..txt", "inside/new", "empty"} {
		pathCall(t, root, map[string]any{"path": p}).ran(t, p)
	}
	pathCall(t, root, map[string]any{"path": "loop"}).refused(t, "policy.Paths", "path must be a path that can be opened")
}

func TestPaths_givesToolsTheRoot(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	r := hookstest.Registry(t)
	policy.Paths{Root: root}.Register(hooks.In(r))
	call := passCallWith(t, r, &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": `docs\notes..txt`}},
		func(ctx context.Context, call *hooks.ToolCall) error {
			got, ok := policy.RootFrom(ctx)
			assert.True(t, ok)
			assert.Same(t, root, got)
			text, err := got.ReadFile(call.Input["path"].(string))
			call.Result = string(text)
			return err
		})
	call.ran(t)
	assert.Equal(t, "notes", call.Result)

	_, ok := policy.RootFrom(t.Context())
	assert.False(t, ok)
}

func TestPaths_holdsWhereALinkIsSwapped(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	require.NoError(t, root.WriteFile("x", nil, 0o600))
	r := hookstest.Registry(t)
	policy.Paths{Root: root}.Register(hooks.In(r))
	call := passCallWith(t, r, &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": "x"}},
		func(ctx context.Context, call *hooks.ToolCall) error {
			require.NoError(t, root.Remove("x")) // after the guard
			require.NoError(t, root.Symlink("../secret", "x"))
			got, _ := policy.RootFrom(ctx)
			f, err := got.Open(call.Input["path"].(string))
			if err == nil {
				_ = f.Close()
			}
			return err
		})
	call.ran(t)
	require.ErrorContains(t, call.Err, "escapes")
}

func TestPaths_isAskedAgainWhereTheInputIsEdited(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	for p, reason := range map[string]string{
		"../secret":      staysInside,
		"docs/../docs":   "path must be written with /, and without . and .. and doubled slashes",
		`docs\notes.txt`: "path must be written with /, and without . and .. and doubled slashes",
	} {
		edit := func(call *hooks.ToolCall) { call.Input["path"] = p }
		t.Run(p, func(t *testing.T) {
			t.Parallel()
			r := hookstest.Registry(t)
			policy.Paths{Root: root}.Register(hooks.In(r))
			hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
				edit(call)
				return next(ctx)
			}, hooks.In(r))
			passCall(t, r, &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": "docs"}}).refused(t, "policy.Paths", reason)

			r = hookstest.Registry(t)
			policy.Paths{Root: root}.Register(hooks.In(r))
			hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
				edit(call)
				return nil
			}, hooks.In(r), hooks.WithPriority(-1000))
			passCall(t, r, &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": "docs"}}).refused(t, "policy.Paths", reason)
		})
	}
}

func TestPaths_cleansWhatHooksEdit(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	r := hookstest.Registry(t)
	policy.Paths{Root: root}.Register(hooks.In(r))
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Input["path"] = `.\docs`
		return nil
	}, hooks.In(r), hooks.WithPriority(-900))
	call := passCall(t, r, &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": "x"}})
	call.ran(t)
	assert.Equal(t, "docs", call.input["path"])
}

func TestPaths_passesOverUnreadableArguments(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	r := hookstest.Registry(t)
	policy.Paths{Root: root}.Register(hooks.In(r))
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Input["path"] = "/default"
		return nil
	}, hooks.In(r))
	call := &hooks.ToolCall{Name: "read_file"}
	require.Error(t, call.SetArguments(`{"path":`))
	got := passCall(t, r, call)
	assert.Nil(t, got.Blocked)
	assert.Contains(t, got.Result, "arguments must be one JSON object")
}

func TestPaths_failsClosedWhereTheRootIsClosed(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	r := hookstest.Registry(t)
	policy.Paths{Root: root}.Register(hooks.In(r))
	require.NoError(t, root.Close())
	call := passCall(t, r, &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": "docs"}})
	assert.Zero(t, call.runs)
	require.ErrorIs(t, call.Blocked, fs.ErrClosed)
	assert.NotContains(t, call.Result, "closed")
}

func TestPaths_reasonsHoldNoValue(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	for _, p := range []string{"/hunter2", "../hunter2", "hunter2:", "hunter2/", "hunter2.", "hunter2\x00", "docs/notes..txt/hunter2"} {
		assert.NotContains(t, pathCall(t, root, map[string]any{"path": p}).Result, "hunter2", p)
	}
	assert.NotContains(t, pathCall(t, root, map[string]any{"Path": "hunter2"}).Result, "hunter2")
}

func TestPaths_innermostRootCounts(t *testing.T) {
	t.Parallel()
	_, first := openDir(t)
	_, second := openDir(t)
	r := hookstest.Registry(t)
	policy.Paths{Root: first}.Register(hooks.In(r))
	policy.Paths{Root: second}.Register(hooks.In(r), hooks.WithTools("write_*"))
	rootOf := func(tool string) (root *os.Root) {
		passCallWith(t, r, &hooks.ToolCall{Name: tool}, func(ctx context.Context, _ *hooks.ToolCall) error {
			root, _ = policy.RootFrom(ctx)
			return nil
		}).ran(t)
		return root
	}
	assert.Same(t, first, rootOf("read_file"))
	assert.Same(t, second, rootOf("writeFile"))
}

func TestPaths_isForTheToolsNamed(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	r := hookstest.Registry(t)
	group := policy.Paths{Root: root}.Register(hooks.In(r), hooks.WithTools("read_file"))
	assert.Equal(t, 3, registered(r))
	passCallWith(t, r, &hooks.ToolCall{Name: "fetch", Input: map[string]any{"path": "/x"}}, func(ctx context.Context, _ *hooks.ToolCall) error {
		_, ok := policy.RootFrom(ctx)
		assert.False(t, ok)
		return nil
	}).ran(t)
	passCall(t, r, &hooks.ToolCall{Name: "Read File", Input: map[string]any{"path": "/x"}}).refused(t, "policy.Paths", staysInside)
	assert.True(t, group.Remove())
	assert.Zero(t, registered(r))
}

func TestPaths_guardsBeginForms(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	r := hookstest.Registry(t)
	policy.Paths{Root: root}.Register(hooks.In(r))
	call := &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": "../x"}}
	_, end, err := hooks.BeginTool(hookstest.Context(t, r), call)
	require.NoError(t, err)
	assert.False(t, call.ShouldRun())
	require.NoError(t, end(nil))
	assert.Equal(t, staysInside, call.Blocked.Reason)
}

func TestPaths_takesOptions(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	r := hookstest.Registry(t)
	policy.Paths{Root: root}.Register(hooks.In(r))
	var priorities []int
	for _, p := range []hooks.AnyPoint{hooks.PreToolCall, hooks.ToolBody} {
		for _, reg := range r.Hooks(p) {
			assert.Equal(t, "policy.Paths", reg.Name())
			priorities = append(priorities, reg.Priority())
		}
	}
	assert.Equal(t, []int{-950, 600, -700}, priorities)
}

func TestPaths_panics(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	_, closed := openDir(t)
	require.NoError(t, closed.Close())
	r := hookstest.Registry(t)
	for name, register := range map[string]func(){
		"no root":       func() { policy.Paths{}.Register(hooks.In(r)) },
		"a closed root": func() { policy.Paths{Root: closed}.Register(hooks.In(r)) },
		"no arguments":  func() { policy.Paths{Root: root, Args: []string{}}.Register(hooks.In(r)) },
		"an empty name": func() { policy.Paths{Root: root, Args: []string{"path", ""}}.Register(hooks.In(r)) },
		"a timeout":     func() { policy.Paths{Root: root}.Register(hooks.In(r), hooks.WithTimeout(1)) }, // which Around refuses
	} {
		assert.Panics(t, register, name)
		assert.Zero(t, registered(r), name)
	}
}

func FuzzPaths(f *testing.F) {
	for _, p := range []string{"a/b", `docs\2026\..\notes..txt`, "../x", "/etc", "C:x", `\\s\x`, "a\x00b", "a./b", ".", "a/../..", "a//b/", "\xff"} {
		f.Add(p)
	}
	root, err := os.OpenRoot(f.TempDir())
	require.NoError(f, err)
	f.Cleanup(func() { _ = root.Close() })
	r := hooks.NewRegistry()
	policy.Paths{Root: root}.Register(hooks.In(r))
	ctx := hooks.WithScope(context.Background(), r)
	f.Fuzz(func(t *testing.T, p string) {
		var got string
		run := func(p string) bool {
			call := &hooks.ToolCall{Name: "read_file", Input: map[string]any{"path": p}}
			require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
				got = call.Input["path"].(string)
				return nil
			}))
			if call.Blocked != nil && errors.Is(call.Blocked, fs.ErrClosed) {
				t.Fatal("failed")
			}
			return call.Blocked == nil
		}
		if !run(p) {
			return
		}
		clean := got
		assert.True(t, fs.ValidPath(clean), "%q", clean)
		assert.True(t, utf8.ValidString(clean))
		assert.NotContains(t, clean, `\`)
		assert.NotContains(t, clean, ":")
		assert.True(t, filepath.IsLocal(clean), "%q", clean)
		require.True(t, run(clean), "%q", clean)
		assert.Equal(t, clean, got, "cleaned twice")
	})
}
