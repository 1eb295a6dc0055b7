package policy_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/policy"
)

// A process that is being started has the files of its parent open until it runs its
// program. A lock that was given up is free all the same.
func TestOpenAuditLog_freeWhileAChildStarts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := policy.OpenAuditLog(path, auditKey)
	require.NoError(t, err)
	open, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	child := -1
	for _, fd := range open {
		if to, err := os.Readlink(fd); err != nil || to != path {
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
	require.NoError(t, log.Close())
	log, err = policy.OpenAuditLog(path, auditKey)
	require.NoError(t, err)
	require.NoError(t, log.Close())
}
