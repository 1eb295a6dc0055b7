package command

// Running one script: its process group, its time and its output.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// maxOutput is how much a script may write to each output.
	maxOutput = 1 << 20
	// outputDelay is how long the output of a script is waited for that has ended.
	outputDelay = 2 * time.Second
)

var (
	errTime   = errors.New("its time is up")
	errOutput = errors.New("it wrote too much")
)

// result is what a script wrote that ended with status 0 or 2.
type result struct {
	stdout string
	reason string // why it blocks
	blocks bool
}

// run runs a script with in as its input. The error is a *ScriptError, or the one
// of ctx, where that was done before the script had ended.
func (c *Config) run(ctx context.Context, h *handler, in []byte) (result, error) {
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	limited, stopNow := context.WithCancelCause(ctx)
	defer stopNow(nil)
	limited, cancel := context.WithTimeoutCause(limited, h.timeout, errTime)
	defer cancel()

	cmd := exec.CommandContext(limited, c.shell[0], append(c.shell[1:len(c.shell):len(c.shell)], h.command)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.dir, c.environment(), outputDelay
	stdout := bounded{full: func() { stopNow(errOutput) }}
	stderr := bounded{full: stdout.full}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &stdout, &stderr
	ownGroup(cmd)
	err := cmd.Run()
	killGroup(cmd) // what it has left running

	failure := &ScriptError{Event: h.event, Place: h.place, ExitCode: -1, Stderr: stderr.String()}
	if cmd.ProcessState == nil {
		if ctx.Err() != nil {
			return result{}, ctx.Err()
		}
		failure.Problem, failure.Err = "it couldn't be started", err
		return result{}, failure
	}
	failure.ExitCode = cmd.ProcessState.ExitCode()
	switch code := failure.ExitCode; {
	case stdout.over || stderr.over:
		failure.Problem = fmt.Sprintf("it wrote more than %d bytes to an output", maxOutput)
	case code == 0: // whatever became of its input, or of others that hold its output
		return result{stdout: stdout.String()}, nil
	case code == 2:
		return result{reason: strings.ToValidUTF8(strings.TrimSpace(failure.Stderr), "\uFFFD"), blocks: true}, nil
	case ctx.Err() != nil:
		return result{}, ctx.Err()
	case errors.Is(context.Cause(limited), errTime):
		failure.Problem = fmt.Sprintf("it took more than %v and was killed", h.timeout)
	case code == 127:
		failure.Problem = "exit status 127, as of a command that isn't found"
	default: // also a signal
		failure.Problem = cmd.ProcessState.String()
	}
	return result{}, failure
}

// environment is that of a script.
func (c *Config) environment() []string {
	env := c.env
	if !c.envSet {
		env = os.Environ()
	}
	return append(env[:len(env):len(env)], "CLAUDE_PROJECT_DIR="+c.dir)
}

// bounded keeps what is written to it, up to maxOutput. It has no other way in, such
// as the ReadFrom of a buffer, which io.Copy would take.
type bounded struct {
	kept []byte
	over bool
	full func() // called when there is more
}

func (b *bounded) Write(p []byte) (int, error) {
	room := maxOutput - len(b.kept)
	b.kept = append(b.kept, p[:min(room, len(p))]...)
	if len(p) > room {
		b.over = true
		b.full()
	}
	return len(p), nil // the script is killed, and sees no broken pipe before
}

func (b *bounded) String() string { return string(b.kept) }
