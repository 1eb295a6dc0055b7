package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loophooks/hooks"
)

// tidyQuery is a hook: it changes the query and lets everything pass.
func tidyQuery(_ context.Context, call *hooks.ToolCall) error {
	if query, err := call.StringArg("query"); err == nil { // the guard refuses another
		call.Input["query"] = strings.ToLower(strings.Join(strings.Fields(query), " "))
	}
	return nil
}

// checkQuery is a guard: it changes nothing and decides on the query that the
// tool will get. A length that is taken before the spaces are cut off lets a
// blank query pass, and one in bytes takes two Korean letters for six.
func checkQuery(_ context.Context, call *hooks.ToolCall) error {
	query, err := call.StringArg("query")
	if n := utf8.RuneCountInString(query); err != nil || n < 2 || n > 200 {
		return hooks.Abort("query must be a text of 2 to 200 characters")
	}
	return nil
}

// tidyPath is a hook: it puts the clean form of the path, if it has one, into
// the input, so that the tool opens the very path that the guard has checked.
func tidyPath(_ context.Context, call *hooks.ToolCall) error {
	if p, err := call.StringArg("path"); err == nil {
		if clean, err := cleanPath(p); err == nil {
			call.Input["path"] = clean
		}
	}
	return nil
}

// checkPath is a guard: only a path in its clean form passes.
func checkPath(_ context.Context, call *hooks.ToolCall) error {
	p, err := call.StringArg("path")
	if err != nil {
		return hooks.Abort("path must be a text")
	}
	switch clean, err := cleanPath(p); {
	case err != nil:
		return hooks.Abort(err.Error())
	case clean != p:
		return hooks.Abort("path must be given as " + clean)
	}
	return nil
}

// cleanPath returns p, whose separators may be / or \, as a clean path with /
// that stays inside the directory it is relative to. It fails for every other
// path, alike on all systems, since a check that is right for one lets through
// what another understands differently. A test for ".." in the text is wrong
// both ways: it refuses notes..txt and passes C:\Windows.
//
// Symbolic links are not for a check of names to find: a tool should open the
// path with [os.Root], which doesn't follow them out of the directory.
func cleanPath(p string) (string, error) {
	p = strings.ReplaceAll(p, `\`, "/")
	switch {
	case p == "":
		return "", errors.New("path is empty")
	case !utf8.ValidString(p), strings.ContainsFunc(p, unicode.IsControl): // NUL is one
		return "", errors.New("path holds control characters")
	case strings.HasPrefix(p, "/"): // \\server\share too
		return "", errors.New("path must be relative")
	case strings.Contains(p, ":"): // C:\x, C:x and the streams of file.txt:x
		return "", errors.New("path must not hold a colon")
	}
	for name := range strings.SplitSeq(p, "/") {
		// Windows drops these, and opens another file than the one checked.
		if name != "." && name != ".." && strings.TrimRight(name, ". ") != name {
			return "", errors.New("path must not hold a name that ends in a dot or a space")
		}
	}
	p = path.Clean(p)
	// IsLocal also knows the device names of Windows, when running there.
	if p == ".." || strings.HasPrefix(p, "../") || !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", errors.New("path must stay inside the working directory")
	}
	return p, nil
}

// Inputs are cleaned by hooks and then checked by guards, which run last and
// are fail-closed: a check that fails refuses the call.
func Example_validation() {
	reg := hooks.NewRegistry()
	search := hooks.WithTools("web_search")
	hooks.On(hooks.PreToolCall, tidyQuery, hooks.In(reg), search)
	hooks.Guard(hooks.PreToolCall, checkQuery, hooks.In(reg), search, hooks.WithName("query-check"))
	files := hooks.WithTools("read_file", "write_file")
	hooks.On(hooks.PreToolCall, tidyPath, hooks.In(reg), files)
	hooks.Guard(hooks.PreToolCall, checkPath, hooks.In(reg), files, hooks.WithName("path-check"))

	ctx := hooks.WithScope(context.Background(), reg)
	try := func(tool, key string, value any) {
		call := &hooks.ToolCall{Name: tool, Input: map[string]any{key: value}}
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = fmt.Sprintf("ran with %q", call.Input[key])
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		text := call.Result
		if call.Blocked != nil {
			text = "refused: " + call.Blocked.Reason
		}
		fmt.Printf("%q: %s\n", value, text)
	}
	try("web_search", "query", "  Trains to\tOslo ")
	try("web_search", "query", "     ")
	try("web_search", "query", "날씨")
	try("read_file", "path", `docs\2026\..\notes..txt`)
	try("read_file", "path", "docs/../../etc/passwd")
	try("read_file", "path", `..\..\secret`)
	try("read_file", "path", "/etc/passwd")
	try("read_file", "path", `\\server\share\x`)
	try("read_file", "path", "C:notes.txt")
	try("read_file", "path", "notes.txt\x00.png")
	// Output:
	// "  Trains to\tOslo ": ran with "trains to oslo"
	// "     ": refused: query must be a text of 2 to 200 characters
	// "날씨": ran with "날씨"
	// "docs\\2026\\..\\notes..txt": ran with "docs/notes..txt"
	// "docs/../../etc/passwd": refused: path must stay inside the working directory
	// "..\\..\\secret": refused: path must stay inside the working directory
	// "/etc/passwd": refused: path must be relative
	// "\\\\server\\share\\x": refused: path must be relative
	// "C:notes.txt": refused: path must not hold a colon
	// "notes.txt\x00.png": refused: path holds control characters
}
