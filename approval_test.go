package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// seamApproval is a guard that lets a tool run only if a person says yes.
func seamApproval(r *hooks.Registry, tools ...string) {
	seamOnTool(r, hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		args, err := call.Arguments()
		if err != nil {
			return err
		}
		answer, err := call.RequestHumanInput(ctx, fmt.Sprintf("The agent wants to run %q with %s.", call.Name, args), `Type "yes" to allow it:`)
		if err != nil {
			return err
		}
		if !strings.EqualFold(answer, "yes") {
			return hooks.Abort("the operator refused")
		}
		return nil
	}, hooks.AsGuard(), hooks.WithName("approval"), hooks.WithTools(tools...))
}

func TestApprovalThatNobodyCanGiveRefusesTheCall(t *testing.T) {
	t.Parallel()
	gone := errors.New("tty gone")
	for name, tc := range map[string]struct {
		in    func() io.Reader
		cause error
	}{
		"end of input":       {func() io.Reader { return strings.NewReader("") }, io.EOF},
		"a reader that died": {func() io.Reader { return iotest.ErrReader(gone) }, gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamApproval(r, "*")
				ctx = hooks.WithHumanInput(ctx, hooks.NewConsole(tc.in(), io.Discard))
				call := &hooks.ToolCall{Name: "rm"}
				require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil }))
				require.NotNil(t, call.Blocked)
				assert.ErrorIs(t, call.Blocked, tc.cause)
				assert.Equal(t, "approval", call.Blocked.Source)
				assert.Equal(t, "Tool execution blocked by hook. Tool: rm. Reason: approval failed", call.Result)
			})
		})
	}
}

func TestOnlyWhatMeansYesApproves(t *testing.T) {
	t.Parallel()
	for answer, approved := range map[string]bool{
		"yes": true, "YES": true, " yes \r": true, "\tYes": true,
		"": false, "n": false, "no": false, "N": false, "yep": false, "y": false, "yes please": false, "да": false,
		"y\x00": false, "yes\x00": false, "yes yes": false, "approve": false,
	} {
		t.Run(fmt.Sprintf("%q", answer), func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamApproval(r, "*")
				ctx = hooks.WithHumanInput(ctx, hooks.NewConsole(strings.NewReader(answer+"\n"), io.Discard))
				call := &hooks.ToolCall{Name: "rm"}
				require.NoError(t, run(ctx, call, seamReturns("gone")))
				assert.Equal(t, approved, call.Ran())
				assert.Equal(t, approved, call.Blocked == nil)
			})
		})
	}
}

func TestApprovalsOfParallelCallsAreAskedOneByOneAndHoldUpNoOtherCall(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	seamApproval(r, "call-0", "call-2")
	in, typing := io.Pipe()
	t.Cleanup(func() { _ = typing.Close() })
	var shown seamScreen
	ctx = hooks.WithHumanInput(ctx, hooks.NewConsole(in, &shown))
	oneDone := make(chan struct{})
	go func() {
		<-oneDone // it needs no approval, and nobody has answered yet
		_, _ = io.WriteString(typing, "yes\nno\n")
	}()
	calls := seamCalls(3)
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
			if call.ID == "1" {
				close(oneDone)
			}
			call.Result = "ok"
			return nil
		})
	})
	require.Equal(t, seamExit{}, exit)
	assert.Equal(t, "ok", calls[1].Result)

	text := shown.String()
	assert.Equal(t, 2, strings.Count(text, "The agent wants to run"))
	zero, two := strings.Index(text, `"call-0"`), strings.Index(text, `"call-2"`)
	require.Positive(t, zero)
	require.Positive(t, two)
	first, second := calls[0], calls[2]
	if two < zero {
		first, second = second, first
	}
	assert.Equal(t, "ok", first.Result, "who was asked about first got the first answer")
	assert.Nil(t, first.Blocked)
	require.NotNil(t, second.Blocked)
	assert.Equal(t, "the operator refused", second.Blocked.Reason)
	assert.False(t, second.Ran())

	message := `Type "yes" to allow it:`
	between := text[min(zero, two):max(zero, two)]
	assert.Equal(t, 1, strings.Count(between, message), "a question is not interrupted by another")
}

// seamScreen is what a person sees.
type seamScreen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *seamScreen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *seamScreen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestModelCallMayAskAPersonToo(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PreModelCall, func(ctx context.Context, m *hooks.ModelCall) error {
			answer, err := m.RequestHumanInput(ctx, "The budget is spent.", "Go on?")
			if err != nil {
				return err
			}
			if answer != "yes" {
				return hooks.Abort("over budget")
			}
			return nil
		}, hooks.AsGuard())
		for answer, want := range map[string]string{" yes \n": "", "no\n": "over budget", "": "a guard failed"} {
			ctx := hooks.WithHumanInput(ctx, hooks.NewConsole(strings.NewReader(answer), io.Discard))
			ran := false
			err := run(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { ran = true; return nil })
			assert.Equal(t, want == "", ran, "%q", answer)
			if want != "" {
				abort, ok := errors.AsType[*hooks.HookAborted](err)
				require.True(t, ok)
				assert.Equal(t, want, abort.Reason)
			}
		}
	})
}

func TestApprovalThatOutlastsTheRunStartsNothing(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamApproval(r, "*")
		in, typing := io.Pipe()
		t.Cleanup(func() { _ = typing.Close() })
		asked := make(chan struct{})
		ctx, cancel := context.WithCancel(hooks.WithHumanInput(ctx, seamAsks{hooks.NewConsole(in, io.Discard), asked}))
		go func() { <-asked; cancel() }()
		call := &hooks.ToolCall{Name: "rm"}
		exit := seamLeave(t, func() error {
			return run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil })
		})
		assert.Nil(t, exit.value)
		assert.NotEmpty(t, call.Result)
		assert.False(t, call.Ran())
		assert.True(t, call.IsError())
	})
}

// seamAsks tells when a question is put.
type seamAsks struct {
	*hooks.Console
	asked chan struct{}
}

func (a seamAsks) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	close(a.asked)
	return a.Console.RequestInput(ctx, prompt, message)
}
