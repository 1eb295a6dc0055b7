package saved_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/saved"
)

// waiting is a run in which one call of three has its result.
func waiting() saved.Run {
	return saved.Run{
		RunID: "run-1", Model: "m", Turn: 2, Offered: []string{"find_trains", "book_ticket"},
		ToolCalls: 3, Blocked: 1, Skipped: 2, Settings: map[string]string{"limit": "8"},
		History: []hooks.Message{
			{Role: "system", Content: "You are a travel assistant."},
			{Role: "user", Content: "Book me <a> seat & one for Lucía 天😀.\n\u2028 \x00 \"", Name: "ana"},
			{Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "call_1_1", Name: "find_trains", Arguments: "{}"}}},
			{Role: "tool", ToolCallID: "call_1_1", Content: "", Parts: []hooks.Part{{Kind: "text", Text: "303"}, {Kind: "text"}}},
			{Role: "assistant", Content: "I'll book.", ToolCalls: []hooks.ToolRequest{
				{ID: "a", Name: "book_ticket", Arguments: "{\"train\": 303.0,\t\"train\":1e2}"},
				{ID: "b", Name: "book_ticket", Arguments: `train=307`},
				{ID: "c", Name: "no_such_tool", Arguments: ""},
			}},
			{Role: "tool", ToolCallID: "b", Content: "Error: arguments must be one JSON object"},
		},
	}
}

// folder is a folder that isn't there yet.
func folder(t *testing.T) string { return filepath.Join(t.TempDir(), "state", "of [one] run") }

func TestRun_comesBackAsItWas(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	require.NoError(t, saved.Write(dir, waiting()))
	got, err := saved.Read(dir)
	require.NoError(t, err)
	assert.Equal(t, waiting(), got)

	later := waiting()
	later.Turn, later.History = 3, later.History[:2] // the model is to speak next
	require.NoError(t, saved.Write(dir, later), "in place of what there was")
	got, err = saved.Read(dir)
	require.NoError(t, err)
	assert.Equal(t, later, got)
}

func TestRun_textThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	dir, r := folder(t), waiting()
	r.History[5].Content = "caf\xe9"
	require.NoError(t, saved.Write(dir, r))
	got, err := saved.Read(dir)
	require.NoError(t, err)
	assert.Equal(t, "caf\uFFFD", got.History[5].Content)
}

func TestRun_waiting(t *testing.T) {
	t.Parallel()
	r := waiting()
	calls := r.History[4].ToolCalls
	assert.Equal(t, []hooks.ToolRequest{calls[0], calls[2]}, r.Waiting())
	assert.Equal(t, waiting(), r, "it stays as it is")
	for n, want := range map[int]int{0: 0, 1: 0, 2: 0, 3: 1, 4: 0, 5: 3, 6: 2} {
		assert.Len(t, saved.Run{History: r.History[:n]}.Waiting(), want, "the first %d messages", n)
	}
	r.History = append(r.History, hooks.Message{Role: "user", Content: "Never mind."})
	assert.Empty(t, r.Waiting(), "the turn is over")
}

func TestWrite_runThatCannotGoOn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(*saved.Run)
		want string
	}{
		"no ID":              {func(r *saved.Run) { r.RunID = "" }, "no ID"},
		"no model":           {func(r *saved.Run) { r.Model = "" }, "no model"},
		"no turn":            {func(r *saved.Run) { r.Turn = 0 }, "the turn is 0; the first is 1"},
		"negative count":     {func(r *saved.Run) { r.Blocked = -1 }, "negative"},
		"no history":         {func(r *saved.Run) { r.History = nil }, "the history is empty"},
		"call without ID":    {func(r *saved.Run) { r.History[4].ToolCalls[2].ID = "" }, "messages[4]: each tool call needs an ID of its own"},
		"two calls, one ID":  {func(r *saved.Run) { r.History[4].ToolCalls[2].ID = "a" }, "messages[4]: each tool call needs an ID of its own"},
		"result of no call":  {func(r *saved.Run) { r.History[5].ToolCallID = "call_1_1" }, "messages[5] is the result of no call"},
		"result twice":       {func(r *saved.Run) { r.History = append(r.History, r.History[5]) }, "messages[6] is the result of no call, or the second one"},
		"foreign message":    {func(r *saved.Run) { r.History[1].Native = new(strings.Builder) }, "messages[1] holds a *strings.Builder, which can't be saved"},
		"foreign part":       {func(r *saved.Run) { r.History[3].Parts[1].Native = 7 }, "messages[3].parts[1] holds a int, which can't be saved"},
		"another run's turn": {func(r *saved.Run) { r.RunID = "run-2" }, "holds another run, run-1, which isn't over"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			require.NoError(t, saved.Write(dir, waiting()))
			r := waiting()
			tt.edit(&r)
			err := saved.Write(dir, r)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, filepath.Join(dir, "run.json"))
			got, err := saved.Read(dir)
			require.NoError(t, err)
			assert.Equal(t, waiting(), got, "what there was is still there")
			assert.Equal(t, []string{"run.json"}, list(t, dir))
		})
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestRead_strict(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	require.NoError(t, saved.Write(dir, waiting()))
	raw, err := os.ReadFile(filepath.Join(dir, "run.json"))
	require.NoError(t, err)
	good := string(raw)
	tests := map[string]struct{ text, want string }{
		"empty":             {"", "unexpected end of JSON input"},
		"cut off":           {good[:len(good)/2], "unexpected end of JSON input"},
		"something behind":  {good + "{}", "after top-level value"},
		"no object":         {"[]", "array"},
		"null":              {"null", "version of its form is 0"},
		"no version":        {strings.Replace(good, `"version": 1,`, "", 1), "version of its form is 0, and this program knows 1 only"},
		"a later version":   {`{"version":2,"new":true}`, "version of its form is 2, and this program knows 1 only"},
		"unknown field":     {strings.Replace(good, `"run_id"`, `"tenant":"x","run_id"`, 1), `unknown field "tenant"`},
		"unknown deep down": {strings.Replace(good, `"arguments"`, `"secret":true,"arguments"`, 1), `unknown field "secret"`},
		"wrong type":        {strings.Replace(good, `"turn": 2`, `"turn": "2"`, 1), "turn"},
		"no run ID":         {strings.Replace(good, `"run-1"`, `""`, 1), "the run has no ID"},
		"no turn":           {strings.Replace(good, `"turn": 2,`, "", 1), "the turn is 0"},
		"no messages":       {`{"version":1,"run_id":"r","model":"m","turn":1}`, "the history is empty"},
		"result of no call": {strings.Replace(good, `"tool_call_id": "b"`, `"tool_call_id": "z"`, 1), "messages[5] is the result of no call"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEqual(t, good, tt.text)
			dir := folder(t)
			require.NoError(t, os.MkdirAll(dir, 0o700))
			file := filepath.Join(dir, "run.json")
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
			_, err := saved.Read(dir)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, file)
			require.NotErrorIs(t, err, fs.ErrNotExist)

			assert.Error(t, saved.Write(dir, waiting()), "nobody knows what would be lost")
			assert.Error(t, saved.Remove(dir, "run-1"))
			left, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, tt.text, string(left))
		})
	}
}

func TestRead_nothingThere(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	_, err := saved.Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, dir)
	assert.NoDirExists(t, dir)

	require.NoError(t, os.MkdirAll(dir, 0o700))
	_, err = saved.Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, filepath.Join(dir, "run.json"))
}

func TestFolder_modes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	dir := folder(t)
	require.NoError(t, saved.Write(dir, waiting()))
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(name)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	assert.Equal(t, fs.FileMode(0o700), mode(dir))
	assert.Equal(t, fs.FileMode(0o600), mode(filepath.Join(dir, "run.json")))

	for _, open := range []fs.FileMode{0o755, 0o770, 0o701, 0o777} {
		require.NoError(t, os.Chmod(dir, open))
		for what, err := range map[string]error{
			"write":  saved.Write(dir, waiting()),
			"read":   second(saved.Read(dir)),
			"remove": saved.Remove(dir, "run-1"),
		} {
			require.ErrorContains(t, err, "is open to others", what)
			require.ErrorContains(t, err, "give one of mode 0700", what)
			assert.Equal(t, open, mode(dir), "it is the user's own")
		}
	}
}

func second(_ saved.Run, err error) error { return err }

func TestFolder_isAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorContains(t, saved.Write(file, waiting()), file)
	require.ErrorContains(t, second(saved.Read(file)), file+" is no folder")
	require.ErrorContains(t, saved.Remove(file, "run-1"), file)
}

// A write that fails leaves neither half a file nor the beginning of another.
func TestWrite_fails(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("modes bind nobody here")
	}
	dir := folder(t)
	require.NoError(t, saved.Write(dir, waiting()))
	require.NoError(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	later := waiting()
	later.Turn = 3
	require.ErrorIs(t, saved.Write(dir, later), fs.ErrPermission)
	require.ErrorIs(t, saved.Remove(dir, "run-1"), fs.ErrPermission)
	got, err := saved.Read(dir)
	require.NoError(t, err)
	assert.Equal(t, waiting(), got)
	assert.Equal(t, []string{"run.json"}, list(t, dir))
}

// Whoever reads while a run is written finds one state or the other.
func TestWrite_readersSeeWholeRuns(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	require.NoError(t, saved.Write(dir, waiting()))
	written := make(chan error, 1)
	go func() {
		var err error
		for turn := 3; turn < 40 && err == nil; turn++ {
			r := waiting()
			r.Turn = turn
			r.History[0].Content = strings.Repeat("x", turn*1000)
			err = saved.Write(dir, r)
		}
		written <- err
	}()
	for {
		got, err := saved.Read(dir)
		require.NoError(t, err)
		if got.Turn > 2 {
			require.Len(t, got.History[0].Content, got.Turn*1000)
		}
		select {
		case err := <-written:
			require.NoError(t, err)
			return
		default:
		}
	}
}

func TestRemove_endedRun(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	require.NoError(t, saved.Remove(dir, "run-1"), "there is no folder")
	assert.NoDirExists(t, dir)

	require.NoError(t, saved.Write(dir, waiting()))
	left := filepath.Join(dir, ".run-123.tmp") // of a process that died
	require.NoError(t, os.WriteFile(left, []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "desk.json"), nil, 0o600))
	require.NoError(t, saved.Remove(dir, "run-2"))
	require.NoError(t, second(saved.Read(dir)), "another run stays")

	require.NoError(t, saved.Remove(dir, "run-1"))
	assert.Equal(t, []string{"desk.json"}, list(t, dir), "what isn't of the run stays")
	require.ErrorIs(t, second(saved.Read(dir)), fs.ErrNotExist)
	require.NoError(t, saved.Remove(dir, "run-1"), "it is gone already")
}
