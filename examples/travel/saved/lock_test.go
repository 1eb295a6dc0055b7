package saved_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/examples/travel/saved"
)

func TestLock_oneAtATime(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for range 3 {
		unlock, err := saved.Lock(dir)
		require.NoError(t, err)
		_, err = saved.Lock(dir)
		require.ErrorContains(t, err, "another process is at the run in "+dir)
		require.ErrorContains(t, err, filepath.Join(dir, ".lock"))
		other, err := saved.Lock(folder(t))
		require.NoError(t, err, "another folder")
		require.NoError(t, other())
		require.NoError(t, unlock())
	}
}

// Whoever has the lock saves the run and removes it.
func TestLock_folderStaysUsable(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	unlock, err := saved.Lock(dir)
	require.NoError(t, err)
	require.NoError(t, saved.Write(dir, waiting()))
	require.NoError(t, saved.Remove(dir, "run-1"))
	_, err = saved.Lock(dir)
	require.Error(t, err, "it is still held")
	require.NoError(t, unlock())
}

func TestLock_folderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := saved.Lock(file)
	require.ErrorContains(t, err, file)
	if runtime.GOOS == "windows" {
		return
	}
	open := filepath.Join(t.TempDir(), "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	_, err = saved.Lock(open)
	require.ErrorContains(t, err, "is open to others")
	assert.Empty(t, list(t, open))
	require.NoError(t, os.Chmod(open, 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(open, ".lock"), 0o700))
	_, err = saved.Lock(open)
	require.ErrorContains(t, err, open+" can't be locked: ")
}
