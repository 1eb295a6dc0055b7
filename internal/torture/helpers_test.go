package torture_test

// What the tests of this package share: processes, seeds, points and hooks of
// their own, and a bound on waiting.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

const (
	childEnv = "HOOKS_TEST_CHILD" // set in a process that rerun started
	seedEnv  = "HOOKS_TEST_SEED"  // the seed with which to repeat a run that failed
)

func TestMain(m *testing.M) {
	hooks.SetLogger(nil) // hooks fail on purpose all over these tests
	m.Run()
}

func inChild() bool { return os.Getenv(childEnv) != "" }

// rerun runs the current test alone in a process of its own.
func rerun(t *testing.T, env ...string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), exe, "-test.run="+pattern, "-test.v", "-test.timeout=60s")
	cmd.Env = append(append(os.Environ(), env...), childEnv+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
}

// seedOf returns a seed, and sees to it that a test that fails prints it.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(seedEnv); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with %s=%d", seedEnv, seed)
		}
	})
	return seed
}

// newRun returns a registry that nobody else has and a ctx in which it is
// active.
func newRun(t *testing.T) (context.Context, *hooks.Registry) {
	t.Helper()
	r := hooks.NewRegistry()
	return hooks.WithScope(t.Context(), r), r
}

var pointsMade atomic.Uint64

// newPoint defines a point that nobody else has. Its hooks in the default
// registry go with the test.
func newPoint[C any](t *testing.T) hooks.Point[C] {
	t.Helper()
	p := hooks.Define[C](hooks.InterceptionPoint(fmt.Sprintf("torture.%d", pointsMade.Add(1))))
	t.Cleanup(func() { hooks.Clear(p) })
	return p
}

// job is a context of a framework's own: with a role, a tool and some data.
type job struct {
	hooks.Caller
	Tool string
	Data any
}

func (j *job) ToolName() string { return j.Tool }

// fails is a hook that returns err.
func fails[C any](err error) hooks.Func[C] {
	return func(context.Context, *C) error { return err }
}

// counter is a hook that counts how often it ran.
func counter[C any](n *atomic.Int64) hooks.Func[C] {
	return func(context.Context, *C) error {
		n.Add(1)
		return nil
	}
}

// finishes requires f to return, or to end its goroutine, soon: it catches
// what would wait for ever.
func finishes(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.Fail(t, "still waiting", what)
	}
}

// errBroken is what hooks fail with.
var errBroken = errors.New("broken")
