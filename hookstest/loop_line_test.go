package hookstest_test

// Where a failure points to: a test that calls TestLoop runs in a process of
// its own and fails there.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/hookstest"
)

// brokenLoopVariable makes TestFailure_lineChild drive a loop that does nothing.
const brokenLoopVariable = "HOOKSTEST_BROKEN_LOOP"

// TestFailure_lineChild fails in the process that the test below starts.
func TestFailure_lineChild(t *testing.T) {
	newLoop := newFlawed("")
	if os.Getenv(brokenLoopVariable) != "" {
		newLoop = func(hookstest.Setup) hookstest.Loop {
			return func(context.Context, string) (string, error) { return "", nil }
		}
	}
	_, _, line, _ := runtime.Caller(0)
	fmt.Printf("TestLoop is called in line %d\n", line+2)
	hookstest.TestLoop(t, newLoop, flawedOptions...)
}

func TestFailure_isAtLineThatCallsTestLoop(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailure_lineChild$")
	cmd.Env = append(os.Environ(), brokenLoopVariable+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "the loop breaks rules")
	var line int
	_, err = fmt.Sscanf(string(out), "TestLoop is called in line %d", &line)
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), fmt.Sprintf("loop_line_test.go:%d: every point that the loop has", line))
	assert.NotContains(t, string(out), " loop.go:")
}
