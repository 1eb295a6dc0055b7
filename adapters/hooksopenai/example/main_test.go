package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun_tellsTheStory(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out))
	assert.Equal(t, `I'll look.
  list_files: notes.old notes.txt
  delete_file: Tool execution blocked by hook. Tool: delete_file. Reason: only files of the project are deleted
The run waits: Delete the file? delete_file {"path":"notes.old"}
  delete_file: deleted notes.old
One is gone, the other one isn't mine to delete. Write to (address) about it.
`, out.String())
}
