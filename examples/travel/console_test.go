package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
)

func TestConsole_orderOfParallelCalls(t *testing.T) {
	t.Parallel()
	rewrote := func(tool string) hooks.HookDispatchedEvent {
		return hooks.HookDispatchedEvent{
			Point: hooks.PostToolCall.Name(), Outcome: hooks.OutcomeModified, ToolName: tool,
			Hooks: []hooks.HookRun{{Name: "redact", Outcome: hooks.OutcomeModified}},
		}
	}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		var out bytes.Buffer
		c := &console{w: &out, stopped: func() bool { return false }}
		for _, tool := range order {
			c.dispatched(t.Context(), rewrote(tool))
		}
		assert.Empty(t, out.String(), "they wait for the loop")
		c.listener().ToolReturned(1, &hooks.ToolCall{Name: "a", Result: "done"})
		assert.Equal(t, "  hook    \"redact\" rewrote the result of a\n  hook    \"redact\" rewrote the result of b\n  result  a: done\n", out.String())
	}
}

func TestConsole_failedHook(t *testing.T) {
	t.Parallel()
	points := map[hooks.AnyPoint]string{
		hooks.ExecutionStart: "the request", hooks.Input: "the request", hooks.PreStep: "the turn", hooks.PostStep: "the end of the turn",
		hooks.PreModelCall: "the messages to the model", hooks.PostModelCall: "the model's reply",
		hooks.PreToolCall: "the call of f", hooks.PostToolCall: "the result of f",
		hooks.Output: "the answer", hooks.ExecutionEnd: "the answer",
	}
	for point, what := range points {
		var out bytes.Buffer
		c := &console{w: &out, stopped: func() bool { return false }}
		c.dispatched(t.Context(), hooks.HookDispatchedEvent{
			Point: point.Name(), Outcome: hooks.OutcomeProceeded, ToolName: "f",
			Hooks: []hooks.HookRun{{Name: "h", Outcome: hooks.OutcomeFailed, Err: errors.New("secret")}, {Name: "idle", Outcome: hooks.OutcomeProceeded}},
		})
		c.end(agent.Result{}, errors.New("stopped"), time.Second)
		assert.Equal(t, "  hook    \"h\" failed on "+what+" and was passed over\n\n0 turns, 0 tool calls, 0 blocked, 0 rewritten, 1s\n", out.String())
	}
}

func TestConsole_answerOfSeveralLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &console{w: &out, stopped: func() bool { return false }}
	c.end(agent.Result{Answer: "one\r\ntwo\x1b[2J"}, nil, 0)
	assert.Equal(t, "\nAnswer\n  one\n  two�[2J\n\n0 turns, 0 tool calls, 0 blocked, 0 rewritten, 0s\n", out.String())
}
