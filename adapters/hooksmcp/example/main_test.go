package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		var out strings.Builder
		require.NoError(t, run(t.Context(), &out, protocol))
		assert.Equal(t, "protocol "+protocol+`
  read_file /etc/passwd: Tool execution blocked by hook. Tool: read_file. Reason: only files in /tmp/ may be touched
  read_file /tmp/config: key=[KEY]
  the user is asked: The agent wants to delete a file. delete_file {"path":"/tmp/config"} -> accept
  delete_file /tmp/config: deleted
  the user is asked: The agent wants to delete a file. delete_file {"path":"/tmp/photos"} -> decline
  delete_file /tmp/photos: Tool execution blocked by hook. Tool: delete_file. Reason: not approved
`, out.String())
	}
}
