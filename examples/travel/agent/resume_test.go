// A run that waits is gone on with in a loop that is made anew, and comes to the
// end that it would have come to.

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/saved"
)

var errWait = errors.New("not yet")

// kept keeps the runs that it is given to save, as another process would read
// them.
type kept struct{ runs []saved.Run }

func (k *kept) save(r saved.Run) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var read saved.Run
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	k.runs = append(k.runs, read)
	return nil
}

func (k *kept) last() saved.Run { return k.runs[len(k.runs)-1] }

// requireWaits sees to it that the run waits.
func requireWaits(t *testing.T, err error) {
	t.Helper()
	var waits *hooks.Suspended
	require.ErrorAs(t, err, &waits)
	require.ErrorIs(t, err, errWait)
}

// What is asked for, in four turns: three calls at once in the second one.
var story = []string{asks(`1 a {"x":"one"}`), asks(`2 a {"x":"two"}`, `3 b {"x":"three"}`, `4 nope {}`), asks(`5 a {"x":"five"}`), says("done")}

// uninterrupted is what comes of the story where nothing waits.
func uninterrupted(t *testing.T) (agent.Result, *model) {
	t.Helper()
	c, m := play(t, story...)
	got, err := (&agent.Agent{Model: c, ModelName: "m", Instructions: "be brief", Tools: []agent.Tool{echo("a"), echo("b")}}).Run(t.Context(), "go")
	require.NoError(t, err)
	require.Len(t, m.requests, len(story))
	return got, m
}

func TestResume_sameEndWhereverItWaits(t *testing.T) {
	t.Parallel()
	want, wanted := uninterrupted(t)
	waits := func(n *atomic.Int32) error {
		if n.Add(1) == 1 {
			return hooks.PassThrough(errWait)
		}
		return nil
	}
	second := func(ctx context.Context, s *hooks.Step) bool { return s.Input.(*hooks.Turn).Number == 2 }
	tests := map[string]struct {
		register func(o hooks.Option, n *atomic.Int32)
		asked    int // how often the model is asked
	}{
		"before a call": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return waits(n) }, o, hooks.WithTools("b"))
		}},
		"before the first of several calls": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PreToolCall, func(_ context.Context, c *hooks.ToolCall) error {
				if c.ID == "2" {
					return waits(n)
				}
				return nil
			}, o)
		}},
		"before a call of no tool": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return waits(n) }, o, hooks.WithTools("nope"))
		}},
		"before the first turn": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PreStep, func(context.Context, *hooks.Step) error { return waits(n) }, o)
		}},
		"before a turn": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PreStep, func(ctx context.Context, s *hooks.Step) error {
				if second(ctx, s) {
					return waits(n)
				}
				return nil
			}, o)
		}},
		"before the model": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
				if m.Iterations == 1 {
					return waits(n)
				}
				return nil
			}, o)
		}},
		"behind the model, which is asked again": {asked: 5, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
				if m.Iterations == 1 {
					return waits(n)
				}
				return nil
			}, o)
		}},
		"behind a turn": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PostStep, func(ctx context.Context, s *hooks.Step) error {
				if second(ctx, s) {
					return waits(n)
				}
				return nil
			}, o)
		}},
		"behind the last turn": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.PostStep, func(_ context.Context, s *hooks.Step) error {
				if s.Output == "done" {
					return waits(n)
				}
				return nil
			}, o)
		}},
		"before the answer": {asked: 4, register: func(o hooks.Option, n *atomic.Int32) {
			hooks.Guard(hooks.Output, func(context.Context, *hooks.Execution) error { return waits(n) }, o)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies := story
			if tt.asked > len(story) {
				replies = append([]string{story[0], story[1]}, story[1:]...)
			}
			c, m := play(t, replies...)
			r, ctx := scope(t)
			tt.register(hooks.In(r), new(atomic.Int32))
			var runs []string
			hooks.On(hooks.ExecutionStart, func(_ context.Context, x *hooks.Execution) error {
				runs = append(runs, fmt.Sprint(x.RunID, " ", x.Resumed))
				return nil
			}, hooks.In(r))
			k := new(kept)
			fresh := func() *agent.Agent {
				return &agent.Agent{Model: c, ModelName: "m", Instructions: "be brief", Tools: []agent.Tool{echo("a"), echo("b")}, Save: k.save}
			}
			_, err := fresh().Run(ctx, "go")
			requireWaits(t, err)
			id := k.last().RunID
			got, err := fresh().Resume(ctx, k.last())
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, []string{id + " false", id + " true"}, runs)
			require.Len(t, m.requests, tt.asked)
			assert.Equal(t, wanted.lines(3), m.lines(tt.asked-1))
		})
	}
}

func TestResume_onlyWhatHasNoResultIsRun(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks(`1 a {"x":"one"}`, `2 b {"x":"two"}`, `3 a {"x":"three"}`, `4 b {"x":"four"}`, `5 a {}`), says("done"))
	r, ctx := scope(t)
	open := false
	fired := map[string]int{}
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error { fired[call.ID]++; return nil }, hooks.In(r))
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if open {
			return nil
		}
		return hooks.PassThrough(errWait)
	}, hooks.In(r), hooks.WithTools("b"))
	k := new(kept)
	var told []string
	fresh := func() *agent.Agent {
		return &agent.Agent{Model: c, ModelName: "m", Tools: []agent.Tool{echo("a"), echo("b")}, MaxCalls: 4, Parallel: 1, Save: k.save, Listener: agent.Listener{
			TurnStarted: func(n int) { told = append(told, fmt.Sprint("turn ", n)) },
			TurnResumed: func(_ int, calls []hooks.ToolRequest) { told = append(told, fmt.Sprint("resumed ", len(calls))) },
			ToolReturned: func(_ int, call *hooks.ToolCall) {
				told = append(told, fmt.Sprint(call.ID, " ", call.Result, call.Suspended() != nil))
			},
		}}
	}
	got, err := fresh().Run(ctx, "go")
	requireWaits(t, err)
	assert.Equal(t, agent.Result{Turns: 1, ToolCalls: 2, Skipped: 1}, counts(got))
	assert.Len(t, k.last().Waiting(), 2)
	assert.Equal(t, []string{"turn 1", "1 a onefalse", "2 true", "3 a threefalse", "4 true"}, told)

	told = nil
	_, err = fresh().Resume(ctx, k.last()) // nobody has decided
	requireWaits(t, err)
	assert.Len(t, k.last().Waiting(), 2)
	assert.Equal(t, []string{"turn 1", "resumed 2", "2 true", "4 true"}, told)

	open = true
	got, err = fresh().Resume(ctx, k.last())
	require.NoError(t, err)
	assert.Equal(t, agent.Result{Answer: "done", Turns: 2, ToolCalls: 4, Skipped: 1}, counts(got))
	assert.Equal(t, map[string]int{"1": 1, "2": 1, "3": 1, "4": 1}, fired)
	require.Len(t, m.requests, 2)
	assert.Equal(t, []string{"tool: a one", "tool: b two", "tool: a three", "tool: b four",
		"tool: Error: Tool was not run: no more than 4 calls are made in one turn"}, m.lines(1)[2:])
}

// The turn that goes on fires its points once more, and hooks that trim the history
// in front of it don't touch what is open of it.
func TestResume_turnWaitsAgainBeforeItsCalls(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks(`1 a {"x":"one"}`, `2 b {"x":"two"}`), says("done"))
	r, ctx := scope(t)
	step := 0
	hooks.On(hooks.PreStep, func(_ context.Context, s *hooks.Step) error {
		step++
		turn := s.Input.(*hooks.Turn)
		switch step {
		case 2:
			return hooks.PassThrough(errWait)
		case 3:
			assert.Equal(t, 1, turn.Number)
			assert.Equal(t, []hooks.Message{{Role: "user", Content: "go"}}, turn.Messages)
			turn.Messages = []hooks.Message{{Role: "user", Content: "in short: go"}}
		}
		return nil
	}, hooks.In(r))
	waits := 0
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		if waits++; waits == 1 {
			return hooks.PassThrough(errWait)
		}
		return nil
	}, hooks.In(r), hooks.WithTools("b"))
	k := new(kept)
	a := &agent.Agent{Model: c, ModelName: "m", Tools: []agent.Tool{echo("a"), echo("b")}, Save: k.save}
	_, err := a.Run(ctx, "go")
	requireWaits(t, err)
	before := k.last()
	_, err = a.Resume(ctx, before)
	requireWaits(t, err)
	assert.Equal(t, before, k.last(), "nothing has happened")
	_, err = a.Resume(ctx, k.last())
	require.NoError(t, err)
	assert.Equal(t, []string{"user: in short: go", `assistant: [1 a{"x":"one"}] [2 b{"x":"two"}]`, "tool: a one", "tool: b two"}, m.lines(1))
}

// A process that dies has lost at most the turn it was in.
func TestSave_behindEachTurn(t *testing.T) {
	t.Parallel()
	want, _ := uninterrupted(t)
	c, _ := play(t, story...)
	k := new(kept)
	a := &agent.Agent{Model: c, ModelName: "m", Instructions: "be brief", Tools: []agent.Tool{echo("a"), echo("b")}, Save: k.save}
	_, err := a.Run(t.Context(), "go")
	require.NoError(t, err)
	require.Len(t, k.runs, 3)
	for i, run := range k.runs {
		assert.Equal(t, i+2, run.Turn)
		assert.Empty(t, run.Waiting())
		c, m := play(t, story[i+1:]...)
		got, err := (&agent.Agent{Model: c, ModelName: "m", Instructions: "be brief", Tools: a.Tools}).Resume(t.Context(), run)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Len(t, m.requests, 3-i)
	}
}

func TestSave_fails(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	r, ctx := scope(t)
	wait := hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.PassThrough(errWait) }, hooks.In(r))
	c, _ := play(t, story...)
	a := &agent.Agent{Model: c, ModelName: "m", Tools: []agent.Tool{echo("a"), echo("b")}, Save: func(saved.Run) error { return full }}
	_, err := a.Run(ctx, "go")
	require.ErrorIs(t, err, full)
	require.NotErrorIs(t, err, errWait, "nobody can go on with it")

	wait.Remove()
	c, m := play(t, story...)
	a.Model = c
	_, err = a.Run(ctx, "go")
	require.ErrorIs(t, err, full)
	assert.Len(t, m.requests, 1)
}

func TestSave_isMissing(t *testing.T) {
	t.Parallel()
	r, ctx := scope(t)
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.PassThrough(errWait) }, hooks.In(r))
	c, _ := play(t, story...)
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	requireWaits(t, err)
}

func TestResume_otherModel(t *testing.T) {
	t.Parallel()
	c, m := play(t, says("done"))
	_, err := (&agent.Agent{Model: c, ModelName: "m"}).Resume(t.Context(), saved.Run{RunID: "r", Model: "n", Turn: 1})
	require.EqualError(t, err, `the run was begun with the model "n" and can't go on with "m"`)
	assert.Empty(t, m.requests)
}

func TestResume_turnsAreUsedUp(t *testing.T) {
	t.Parallel()
	c, m := play(t, says("done"))
	a := &agent.Agent{Model: c, ModelName: "m", MaxTurns: 3}
	run := saved.Run{RunID: "r", Model: "m", Turn: 4, History: []hooks.Message{{Role: "user", Content: "go"}}}
	_, err := a.Resume(t.Context(), run)
	require.EqualError(t, err, "no answer after 3 turns")
	assert.Empty(t, m.requests)
	run.Turn = 3
	got, err := a.Resume(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, 3, got.Turns)
}

// What was hidden from the model in that turn stays hidden, whatever hooks hide now.
func TestResume_toolsOfThatTurn(t *testing.T) {
	t.Parallel()
	c, m := play(t, says("done"))
	run := saved.Run{RunID: "r", Model: "m", Turn: 1, Offered: []string{"a"}, History: []hooks.Message{
		{Role: "user", Content: "go"},
		{Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "a", Arguments: "{}"}, {ID: "2", Name: "b", Arguments: "{}"}}},
	}}
	_, err := (&agent.Agent{Model: c, ModelName: "m", Tools: []agent.Tool{echo("a"), echo("b")}}).Resume(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, []string{"tool: a ", `tool: Error: there is no tool "b"; the tools are: a`}, m.lines(0)[2:])
}

// A run that is stopped isn't one that waits, and its history has no hole.
func TestHistory_stoppedBesideACallThatWaits(t *testing.T) {
	t.Parallel()
	c, _ := play(t, asks("1 b {}", "2 a {}", "3 a {}"), says("done"))
	r, ctx := scope(t)
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.PassThrough(errWait) }, hooks.In(r), hooks.WithTools("b"))
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.AbortRun("enough") }, hooks.In(r), hooks.WithTools("a"))
	k := new(kept)
	got, err := (&agent.Agent{Model: c, ModelName: "m", Tools: []agent.Tool{echo("a"), echo("b")}, Save: k.save}).Run(ctx, "go")
	var abort *hooks.HookAborted
	require.ErrorAs(t, err, &abort)
	assert.Empty(t, k.runs)
	requireNoHole(t, got.History, 3)
}
