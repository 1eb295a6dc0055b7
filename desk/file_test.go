package desk_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/desk/desktest"
)

func openFile(t *testing.T, dir string) desk.Store {
	t.Helper()
	s, err := desk.File(dir)
	require.NoError(t, err)
	return s
}

func TestFile(t *testing.T) {
	t.Parallel()
	desktest.Run(t, func(t *testing.T) desk.Store { return openFile(t, t.TempDir()) })
}

func TestFile_killed(t *testing.T) {
	t.Parallel()
	desktest.Kill(t, func(t *testing.T) string { return t.TempDir() }, func(t *testing.T, dir string, midWrite func()) desk.Store {
		s := openFile(t, dir)
		desk.BeforeRename(s, midWrite)
		return s
	})
}

func TestFile_withoutFlock(t *testing.T) {
	t.Parallel()
	desktest.Run(t, func(t *testing.T) desk.Store { return desk.WithFileLock(openFile(t, t.TempDir())) })
}

// TestFile_heldByAnother: what a killed process leaves of the lock is an error that
// says what to do, and nobody's changes are made beside it.
func TestFile_heldByAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := desk.WithFileLock(openFile(t, dir))
		held := filepath.Join(dir, ".held")
		require.NoError(t, os.WriteFile(held, []byte("123 left behind\n"), 0o600))
		began := time.Now()
		_, err := s.Insert(t.Context(), desk.Record{Question: *question()})
		assert.ErrorContains(t, err, held)
		assert.ErrorContains(t, err, "remove the file")
		assert.InDelta(t, 10, time.Since(began).Seconds(), 1)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Insert(ctx, desk.Record{Question: *question()})
		assert.ErrorIs(t, err, context.DeadlineExceeded)

		require.NoError(t, os.Remove(held))
		_, err = s.Insert(t.Context(), desk.Record{Question: *question()})
		assert.NoError(t, err)
	})
}

// TestFile_lockedByAnother: who waits for the lock gives up when ctx is done.
func TestFile_lockedByAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFile(t, dir)
	inside, leave := make(chan struct{}), make(chan struct{})
	desk.BeforeRename(s, func() {
		close(inside)
		<-leave
	})
	inserted := make(chan error, 1)
	go func() {
		_, err := s.Insert(t.Context(), desk.Record{Question: *question()})
		inserted <- err
	}()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for name, other := range map[string]desk.Store{"this store": s, "another store": openFile(t, dir)} {
		_, err := other.Insert(ctx, desk.Record{Question: *question()})
		assert.ErrorIs(t, err, context.DeadlineExceeded, name)
		_, err = other.Get(t.Context(), "q")
		assert.ErrorIs(t, err, desk.ErrNotFound, "%s: reading waits for nobody, and sees nothing that is half written", name)
	}
	close(leave)
	require.NoError(t, <-inserted)
	_, err := openFile(t, dir).Get(t.Context(), "q")
	assert.NoError(t, err)
}

func TestFile_damagedRecords(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "cut off": `{"Question":{"ID":"q"`, "no record": `{}`, "a list": `[]`,
		"another's": `{"Question":{"ID":"other"},"Version":1}`, "no version": `{"Question":{"ID":"q"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openFile(t, dir)
			q := question()
			q.ID, q.CallID = "whole", "call-2"
			mustAsk(t, desk.New(s), q, false)
			path := filepath.Join(dir, "q.json")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))

			_, err := s.Get(t.Context(), "q")
			assert.ErrorContains(t, err, path)
			_, err = s.Insert(t.Context(), desk.Record{Question: *question()})
			assert.ErrorContains(t, err, path)
			assert.ErrorContains(t, s.Update(t.Context(), desk.Record{Question: *question(), Version: 1}), path)
			_, decided, err := desk.New(s).Ask(t.Context(), question())
			assert.ErrorContains(t, err, path)
			assert.False(t, decided)

			var read, failed int
			for rec, err := range s.List(t.Context(), desk.Query{}) {
				if err != nil {
					failed++
					assert.ErrorContains(t, err, path)
				} else if read++; rec.Question.ID != "whole" {
					t.Errorf("List yielded %q", rec.Question.ID)
				}
			}
			assert.Equal(t, []int{1, 1}, []int{read, failed})
		})
	}
}

func TestFile_ids(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFile(t, filepath.Join(dir, "desk"))
	for _, id := range []string{"../q", "a/b", `a\b`, ".", ".lock", "a.json", "Q", "é", "a\x00", "a b", strings.Repeat("a", 201)} {
		_, err := s.Insert(t.Context(), desk.Record{Question: hooks.Question{ID: id}})
		assert.ErrorContains(t, err, "the name of a file", "%q", id)
	}
	_, err := s.Insert(t.Context(), desk.Record{})
	assert.ErrorContains(t, err, "no ID")
	for _, id := range []string{"a", "0-_z", strings.Repeat("a", 200)} {
		_, err := s.Insert(t.Context(), desk.Record{Question: hooks.Question{ID: id}})
		assert.NoError(t, err, "%q", id)
	}
	outside, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, outside, 1)
}

// TestFile_otherFiles: what isn't a record is passed over, unless it looks like one.
func TestFile_otherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFile(t, dir)
	mustAsk(t, desk.New(s), question(), false)
	for _, name := range []string{"README", ".hidden.json", ".new", "q.json.bak"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	for rec, err := range s.List(t.Context(), desk.Query{}) {
		require.NoError(t, err)
		assert.Equal(t, "q", rec.Question.ID)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Not An ID.json"), []byte("x"), 0o600))
	failed := 0
	for _, err := range s.List(t.Context(), desk.Query{}) {
		if err != nil {
			failed++
			assert.ErrorContains(t, err, "Not An ID.json")
		}
	}
	assert.Equal(t, 1, failed)
}

func TestFile_folder(t *testing.T) {
	t.Parallel()
	_, err := desk.File("")
	assert.Error(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = desk.File(file)
	assert.ErrorContains(t, err, file)

	sub := filepath.Join(dir, "a", "b")
	s := openFile(t, sub)
	mustAsk(t, desk.New(s), question(), false)
	for _, name := range []string{"", "q.json"} {
		info, err := os.Stat(filepath.Join(sub, name))
		require.NoError(t, err)
		assert.Zero(t, info.Mode().Perm()&0o077, "%q is the owner's alone", name)
	}

	require.NoError(t, os.RemoveAll(sub))
	_, decided, err := desk.New(s).Ask(t.Context(), question())
	assert.ErrorContains(t, err, sub)
	assert.False(t, decided)
}
