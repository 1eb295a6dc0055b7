package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// auditText returns a log of as many tool calls in one execution.
func auditText(t *testing.T, calls int) string {
	t.Helper()
	var out bytes.Buffer
	writeAudit(t, policy.NewAuditLog(&out, auditKey), calls)
	return out.String()
}

func writeAudit(t *testing.T, log *policy.AuditLog, calls int) {
	t.Helper()
	r := hooks.NewRegistry()
	policy.Audit{Log: log}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		for range calls {
			auditTool(t, ctx, "c", nil)
		}
	})
}

func verifyAudit(text string) (policy.AuditHead, error) {
	return policy.VerifyAudit(strings.NewReader(text), auditKey)
}

func badLine(t *testing.T, err error) int {
	t.Helper()
	bad, ok := errors.AsType[*policy.AuditError](err)
	require.True(t, ok, "%v", err)
	assert.Contains(t, bad.Error(), bad.Reason)
	return bad.Line
}

func TestVerifyAudit_namesTheLine(t *testing.T) {
	t.Parallel()
	text := auditText(t, 2)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	require.Len(t, lines, 6)
	with := func(order ...int) string {
		var b strings.Builder
		for _, i := range order {
			b.WriteString(lines[i-1])
		}
		return b.String()
	}
	other := strings.SplitAfter(auditText(t, 2), "\n")
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"the first removed":      {with(2, 3, 4, 5, 6), 1},
		"one removed":            {with(1, 2, 4, 5, 6), 3},
		"two swapped":            {with(1, 2, 4, 3, 5, 6), 3},
		"one twice":              {with(1, 2, 2, 3, 4, 5, 6), 3},
		"an empty line":          {with(1) + "\n" + with(2, 3, 4, 5, 6), 2},
		"one of another log":     {with(1, 2) + other[2] + with(4, 5, 6), 3},
		"another log behind":     {text + strings.Join(other, ""), 7},
		"lines that end in CRLF": {strings.ReplaceAll(text, "\n", "\r\n"), 1},
		"something else":         {"hello\n", 1},
		"half a last line":       {text[:len(text)-40], 6},
		"a mac in capitals":      {with(1) + strings.ToUpper(lines[1]) + with(3), 2},
		"white space":            {with(1, 2, 3, 4, 5) + " " + with(6), 6},
	} {
		head, err := verifyAudit(c.text)
		assert.Equal(t, c.line, badLine(t, err), name)
		assert.Equal(t, int64(c.line-1), head.Seq, "%s: the head is that of what is right", name)
	}
	_, err := policy.VerifyAudit(strings.NewReader(text), []byte("another key of 32 bytes, as long"))
	assert.Equal(t, 1, badLine(t, err))
}

func TestVerifyAudit_everyByteCounts(t *testing.T) {
	t.Parallel()
	text := auditText(t, 1)
	for i := range text {
		for _, flip := range []byte{1, 0x20, 0x80} {
			changed := []byte(text)
			changed[i] ^= flip
			_, err := verifyAudit(string(changed))
			line := strings.Count(text[:i], "\n") + 1
			require.Equal(t, line, badLine(t, err), "byte %d", i)
		}
	}
}

func TestVerifyAudit_cutTail(t *testing.T) {
	t.Parallel()
	text := auditText(t, 2)
	whole, err := verifyAudit(text)
	require.NoError(t, err)
	assert.Equal(t, int64(6), whole.Seq)
	lines := strings.SplitAfter(text, "\n")
	cut, err := verifyAudit(strings.Join(lines[:4], ""))
	require.NoError(t, err)
	assert.NotEqual(t, whole, cut)
	assert.Equal(t, int64(4), cut.Seq)
	withoutEnd, err := verifyAudit(strings.TrimSuffix(text, "\n"))
	require.NoError(t, err)
	assert.Equal(t, whole, withoutEnd)
	none, err := verifyAudit("")
	require.NoError(t, err)
	assert.Zero(t, none)
}

func TestVerifyAudit_errorsOfTheReader(t *testing.T) {
	t.Parallel()
	text := auditText(t, 1)
	_, err := policy.VerifyAudit(io.MultiReader(strings.NewReader(text), failingReader{}), auditKey)
	require.ErrorIs(t, err, errBadDisk)
	assert.NotErrorAs(t, err, new(*policy.AuditError))
}

var errBadDisk = errors.New("bad disk")

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errBadDisk }

func TestAuditLog_shortKeysPanic(t *testing.T) {
	t.Parallel()
	short := []byte("fifteen bytes..")
	assert.Panics(t, func() { policy.NewAuditLog(&bytes.Buffer{}, short) })
	assert.Panics(t, func() { _, _ = policy.OpenAuditLog(filepath.Join(t.TempDir(), "a"), short) })
	assert.Panics(t, func() { _, _ = policy.VerifyAudit(&bytes.Buffer{}, nil) })
	assert.Panics(t, func() { policy.NewAuditLog(nil, auditKey) })
	assert.NotPanics(t, func() { policy.NewAuditLog(&bytes.Buffer{}, append(short, '.')) })
}

// auditSink is a writer that fails as it is told.
type auditSink struct {
	bytes.Buffer
	fail, short, unsynced bool
	syncs                 int
}

func (s *auditSink) Write(p []byte) (int, error) {
	switch {
	case s.short:
		return s.Buffer.Write(p[:len(p)/2])
	case s.fail:
		return 0, errBadDisk
	}
	return s.Buffer.Write(p)
}

func (s *auditSink) Sync() error {
	s.syncs++
	if s.unsynced {
		return errBadDisk
	}
	return nil
}

func TestAuditLog_nothingRunsThatIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]auditSink{"the disk is full": {fail: true}, "a line in part": {short: true}, "no sync": {unsynced: true}} {
		sink := &broken
		r := hooks.NewRegistry()
		policy.Audit{Log: policy.NewAuditLog(sink, auditKey)}.Register(hooks.In(r))
		hookstest.Run(t, r, func(ctx context.Context) {
			call := &hooks.ToolCall{Name: "x"}
			require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error {
				t.Error(name + ": it ran")
				return nil
			}))
			assert.Equal(t, "Tool execution blocked by hook. Tool: x. Reason: the audit can't be written", call.Result)
			err := hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error {
				t.Error(name + ": the model was called")
				return nil
			})
			abort, ok := errors.AsType[*hooks.HookAborted](err)
			require.True(t, ok)
			assert.Equal(t, "the audit can't be written", abort.Reason)
			require.Error(t, abort.Err)
		})
	}
}

func TestAuditLog_outcomesThatFailedAreWrittenFirst(t *testing.T) {
	t.Parallel()
	sink := &auditSink{}
	log := policy.NewAuditLog(sink, auditKey)
	r := hooks.NewRegistry()
	policy.Audit{Log: log}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		auditTool(t, ctx, "c1", func() error {
			sink.fail = true
			return nil
		})
		assert.NotNil(t, auditTool(t, ctx, "c2", nil).Blocked, "as long as nothing can be written")
		sink.fail = false
		assert.Nil(t, auditTool(t, ctx, "c3", nil).Blocked)
	})
	assert.Equal(t, []string{
		"outcome execution_start", "intent pre_tool_call c1",
		"outcome post_tool_call c1", "outcome post_tool_call c2 the audit can't be written *errors.errorString",
		"intent pre_tool_call c3", "outcome post_tool_call c3", "outcome execution_end",
	}, auditTold(auditLines(t, sink.String())))
	head, err := verifyAudit(sink.String())
	require.NoError(t, err)
	assert.Equal(t, log.Head(), head)
}

func TestAuditLog_plainWriterStaysFailedAfterHalfALine(t *testing.T) {
	t.Parallel()
	sink := &auditSink{}
	r := hooks.NewRegistry()
	policy.Audit{Log: policy.NewAuditLog(sink, auditKey)}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		sink.short = true
		assert.NotNil(t, auditTool(t, ctx, "c1", nil).Blocked)
		sink.short = false
		before := sink.Len()
		assert.NotNil(t, auditTool(t, ctx, "c2", nil).Blocked)
		assert.Equal(t, before, sink.Len(), "nothing is put behind half a line")
	})
}

// A line that may not be on the disk stands in the log, and the call doesn't run.
func TestAuditLog_unsyncedIntents(t *testing.T) {
	t.Parallel()
	sink := &auditSink{}
	r := hooks.NewRegistry()
	policy.Audit{Log: policy.NewAuditLog(sink, auditKey)}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		sink.unsynced = true
		assert.NotNil(t, auditTool(t, ctx, "c1", nil).Blocked)
		sink.unsynced = false
		assert.Nil(t, auditTool(t, ctx, "c2", nil).Blocked)
	})
	assert.Equal(t, 2, sink.syncs, "one for each intent")
	_, err := verifyAudit(sink.String())
	require.NoError(t, err)
}

func TestAuditLog_manyOutcomesThatFail(t *testing.T) {
	t.Parallel()
	sink := &auditSink{}
	r := hooks.NewRegistry()
	log := policy.NewAuditLog(sink, auditKey)
	policy.Audit{Log: log}.Register(hooks.In(r))
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") }, hooks.In(r), hooks.WithTools("refused"))
	hookstest.Run(t, r, func(ctx context.Context) {
		sink.fail = true
		for range 1030 {
			require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "refused"}, func(context.Context, *hooks.ToolCall) error { return nil }))
		}
		sink.fail = false
		auditTool(t, ctx, "c1", nil)
	})
	lines := auditLines(t, sink.String())
	assert.Equal(t, "lost", lines[1+1024].Kind)
	assert.Equal(t, "6 outcomes couldn't be kept until the log could be written", lines[1+1024].Reason)
	_, err := verifyAudit(sink.String())
	require.NoError(t, err)
}

// auditPanickingSync panics at the second Sync.
type auditPanickingSync struct {
	bytes.Buffer
	syncs int
}

func (s *auditPanickingSync) Sync() error {
	if s.syncs++; s.syncs == 2 {
		panic("the disk is gone")
	}
	return nil
}

// The line stands, so that the chain goes on behind it.
func TestAuditLog_syncPanics(t *testing.T) {
	t.Parallel()
	sink := &auditPanickingSync{}
	log := policy.NewAuditLog(sink, auditKey)
	r := hooks.NewRegistry()
	policy.Audit{Log: log}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		assert.Nil(t, auditTool(t, ctx, "c1", nil).Blocked)
		refused := auditTool(t, ctx, "c2", nil)
		if assert.NotNil(t, refused.Blocked) {
			assert.Equal(t, "the audit can't be written", refused.Blocked.Reason)
			assert.False(t, refused.Ran())
		}
		assert.Nil(t, auditTool(t, ctx, "c3", nil).Blocked)
	})
	require.NoError(t, log.Close())
	head, err := verifyAudit(sink.String())
	require.NoError(t, err)
	assert.Equal(t, log.Head(), head)
}

// auditExitingSync ends its goroutine.
type auditExitingSync struct{ bytes.Buffer }

func (s *auditExitingSync) Sync() error {
	runtime.Goexit()
	return nil
}

// Nobody knows what became of the line, and nothing is put behind it.
func TestAuditLog_syncEndsTheGoroutine(t *testing.T) {
	t.Parallel()
	sink := &auditExitingSync{}
	log := policy.NewAuditLog(sink, auditKey)
	r := hooks.NewRegistry()
	policy.Audit{Log: log}.Register(hooks.In(r))
	ctx := hooks.WithScope(t.Context(), r)
	runs := 0
	for range 2 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = hooks.RunTool(ctx, &hooks.ToolCall{ID: "c", Name: "read_file"}, func(context.Context, *hooks.ToolCall) error {
				runs++
				return nil
			})
		}()
		<-done
	}
	assert.Zero(t, runs)
	head, err := verifyAudit(sink.String())
	require.NoError(t, err)
	assert.Equal(t, int64(1), head.Seq)
}

func TestAuditLog_pipesHaveNothingToSync(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	writeAudit(t, policy.NewAuditLog(write, auditKey), 1)
	require.NoError(t, write.Close())
	head, err := policy.VerifyAudit(read, auditKey)
	require.NoError(t, err)
	assert.Equal(t, int64(4), head.Seq)
}

func TestAuditLog_fullDevice(t *testing.T) {
	t.Parallel()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	r := hooks.NewRegistry()
	policy.Audit{Log: policy.NewAuditLog(f, auditKey)}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		assert.NotNil(t, auditTool(t, ctx, "c1", nil).Blocked)
	})
	require.NoError(t, f.Close())
	_, err = policy.OpenAuditLog("/dev/full", auditKey)
	require.Error(t, err)
}

func TestAuditLog_closed(t *testing.T) {
	t.Parallel()
	sink := &auditSink{}
	log := policy.NewAuditLog(sink, auditKey)
	writeAudit(t, log, 1)
	require.NoError(t, log.Close())
	require.NoError(t, log.Close())
	before := sink.Len()
	r := hooks.NewRegistry()
	policy.Audit{Log: log}.Register(hooks.In(r))
	hookstest.Run(t, r, func(ctx context.Context) {
		assert.NotNil(t, auditTool(t, ctx, "c1", nil).Blocked)
	})
	assert.Equal(t, before, sink.Len())

	failed := &auditSink{fail: true}
	log = policy.NewAuditLog(failed, auditKey)
	writeAuditOutcome(t, log)
	require.ErrorIs(t, log.Close(), errBadDisk, "what is owed is lost")
}

// writeAuditOutcome has an execution recorded.
func writeAuditOutcome(t *testing.T, log *policy.AuditLog) {
	t.Helper()
	r := hooks.NewRegistry()
	policy.Audit{Log: log}.Register(hooks.In(r))
	hookstest.Run(t, r, func(context.Context) {})
}

// A result that is a line of the log must not get its mac as its digest.
func TestAuditLog_digestsAreNoMACs(t *testing.T) {
	t.Parallel()
	text := auditText(t, 1)
	first, _, _ := strings.Cut(text, "\n")
	var l auditLine
	require.NoError(t, json.Unmarshal([]byte(first), &l))
	unsealed := strings.Replace(first, `,"mac":"`+l.Mac+`"`, "", 1)
	lines := audited(t, hooks.NewRegistry(), policy.Audit{}, func(ctx context.Context) {
		require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "x"}, func(_ context.Context, c *hooks.ToolCall) error {
			c.Result = unsealed
			return nil
		}))
	})
	assert.NotEqual(t, l.Mac, lines[2].Result)
}

func TestOpenAuditLog_continuesTheChain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for round := range 3 {
		log, err := policy.OpenAuditLog(path, auditKey)
		require.NoError(t, err)
		assert.Equal(t, int64(round*4), log.Head().Seq)
		writeAudit(t, log, 1)
		head := log.Head()
		require.NoError(t, log.Close())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		verified, err := verifyAudit(string(text))
		require.NoError(t, err)
		assert.Equal(t, head, verified)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	assert.NoFileExists(t, path+".torn")
}

func TestOpenAuditLog_oneAtATime(t *testing.T) {
	t.Parallel()
	switch runtime.GOOS {
	case "linux", "darwin", "freebsd", "netbsd", "openbsd", "dragonfly":
	default:
		t.Skip("there is no flock")
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := policy.OpenAuditLog(path, auditKey)
	require.NoError(t, err)
	_, err = policy.OpenAuditLog(path, auditKey)
	require.ErrorContains(t, err, "it is open already")
	writeAudit(t, log, 1)
	require.NoError(t, log.Close())
	log, err = policy.OpenAuditLog(path, auditKey)
	require.NoError(t, err)
	require.NoError(t, log.Close())
}

func TestOpenAuditLog_tornLines(t *testing.T) {
	t.Parallel()
	text := auditText(t, 1)
	whole := text[:strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1]
	for _, torn := range []string{text[len(whole) : len(whole)+1], text[len(whole) : len(text)-40], text[len(whole) : len(text)-1], "\x00\x00\x00"} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(whole+torn), 0o600))
		require.NoError(t, os.WriteFile(path+".torn", []byte("earlier\n"), 0o600))
		log, err := policy.OpenAuditLog(path, auditKey)
		require.NoError(t, err)
		writeAudit(t, log, 1)
		require.NoError(t, log.Close())
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(got), whole))
		_, err = verifyAudit(string(got))
		require.NoError(t, err)
		lines := auditLines(t, string(got))
		assert.Equal(t, "recovered", lines[3].Kind)
		assert.Contains(t, lines[3].Reason, "audit.jsonl.torn")
		moved, err := os.ReadFile(path + ".torn")
		require.NoError(t, err)
		assert.Equal(t, "earlier\n"+torn+"\n", string(moved))
	}
}

func TestOpenAuditLog_onlyATornLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"seq":1`), 0o600))
	log, err := policy.OpenAuditLog(path, auditKey)
	require.NoError(t, err)
	assert.Equal(t, int64(1), log.Head().Seq)
	require.NoError(t, log.Close())
}

func TestOpenAuditLog_refusesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	text := auditText(t, 1)
	lines := strings.SplitAfter(text, "\n")
	for name, c := range map[string]struct {
		text string
		key  string
		line int
	}{
		"a wrong key":      {text, "another key of 32 bytes, as long", 1},
		"a broken chain":   {lines[0] + lines[2] + lines[3], string(auditKey), 2},
		"a foreign file":   {"hello\n", string(auditKey), 1},
		"broken and torn":  {lines[0] + lines[2] + "{", string(auditKey), 2},
		"a damaged middle": {lines[0] + "\n" + lines[1], string(auditKey), 2},
	} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		_, err := policy.OpenAuditLog(path, []byte(c.key))
		assert.Equal(t, c.line, badLine(t, err), name)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, c.text, string(got), "%s: the file stays", name)
		assert.NoFileExists(t, path+".torn")
	}
	_, err := policy.OpenAuditLog(filepath.Join(t.TempDir(), "no", "folder"), auditKey)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = policy.OpenAuditLog(t.TempDir(), auditKey)
	require.Error(t, err)
}

func FuzzVerifyAudit(f *testing.F) {
	f.Add(`{"seq":1,"time":"2026-01-01T00:00:00Z","kind":"intent","prev":"","mac":"00"}` + "\n")
	f.Add(`,"mac":"` + "\n")
	f.Add("\n\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		head, err := verifyAudit(text)
		assert.Zero(t, head, "nobody has the key")
		assert.Equal(t, text != "", err != nil)
	})
}
