package saved

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteFile_failsAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "run.json")
	require.NoError(t, os.MkdirAll(filepath.Join(name, "in the way"), 0o700))
	require.Error(t, WriteFile(name, []byte("{}")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "the temporary file is gone")

	require.Error(t, WriteFile(filepath.Join(dir, "no folder", "run.json"), nil))
}
