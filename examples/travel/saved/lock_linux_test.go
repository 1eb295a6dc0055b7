package saved_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/examples/travel/saved"
)

// A process that is being started has the files of its parent open until it runs its
// program. A lock that was given up is free all the same.
func TestLock_freeWhileAChildStarts(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	unlock, err := saved.Lock(dir)
	require.NoError(t, err)
	open, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	child := -1
	for _, fd := range open {
		if to, err := os.Readlink(fd); err != nil || filepath.Dir(to) != dir {
			continue
		}
		n, err := strconv.Atoi(filepath.Base(fd))
		require.NoError(t, err)
		child, err = syscall.Dup(n)
		require.NoError(t, err)
		defer func() { assert.NoError(t, syscall.Close(child)) }()
		break
	}
	require.GreaterOrEqual(t, child, 0)
	require.NoError(t, unlock())
	unlock, err = saved.Lock(dir)
	require.NoError(t, err)
	require.NoError(t, unlock())
}
