package hookstest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// approvals has a guard ask before each call, and returns what runs a call of the
// run "r1" and tells what came of it: "ran" with the arguments, "blocked" with the
// reason, or "waits".
func approvals(t *testing.T, d hooks.Desk, may ...hooks.Verdict) func(id, tool, arguments string) string {
	t.Helper()
	r := hookstest.Registry(t)
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return call.Ask(ctx, hooks.Question{May: may})
	}, hooks.In(r), hooks.WithName("approval"))
	ctx := hooks.WithDesk(hookstest.Context(t, r), d)
	return func(id, tool, arguments string) (came string) {
		call := &hooks.ToolCall{Caller: hooks.Caller{RunID: "r1"}, ID: id, Name: tool}
		assert.NoError(t, call.SetArguments(arguments))
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			shown, err := call.Arguments()
			came = "ran " + shown
			return err
		})
		switch {
		case call.Suspended() != nil:
			assert.Error(t, err)
			return "waits"
		case call.Blocked != nil:
			return "blocked: " + call.Blocked.Reason
		}
		return came
	}
}

func TestDesk_answersInOrder(t *testing.T) {
	t.Parallel()
	d := hookstest.NewDesk(t, hookstest.Approves(), hookstest.Rejects("too dear"), hookstest.Undecided(), hookstest.Edits(`{"amount":1}`))
	run := approvals(t, d, hooks.Approve, hooks.Reject, hooks.Edit)
	assert.Equal(t, `ran {"amount":5}`, run("c1", "pay", `{"amount":5}`))
	assert.Equal(t, "blocked: too dear", run("c2", "pay", `{"amount":6}`))
	assert.Equal(t, "waits", run("c3", "pay", `{"amount":7}`))
	assert.Equal(t, `ran {"amount":1}`, run("c4", "pay", `{"amount":8}`))
	assert.Equal(t, "waits", run("c5", "pay", `{"amount":9}`), "the script is over")

	var asked, open []string
	for _, q := range d.Asked() {
		asked = append(asked, q.CallID)
	}
	for _, q := range d.Open() {
		open = append(open, q.CallID)
	}
	assert.Equal(t, []string{"c1", "c2", "c3", "c4", "c5"}, asked)
	assert.Equal(t, []string{"c3", "c5"}, open)
	assert.Equal(t, []string{d.Asked()[0].ID, d.Asked()[3].ID}, d.Ended())
}

func TestDesk_answersByTool(t *testing.T) {
	t.Parallel()
	d := hookstest.NewDesk(t, hookstest.Rejects("never").For("delete_*"), hookstest.Approves().For("pay"), hookstest.Approves())
	run := approvals(t, d)
	assert.Equal(t, "ran {}", run("c1", "Pay", `{}`))
	assert.Equal(t, "ran {}", run("c2", "pay", `{}`), "by the answer for any tool")
	assert.Equal(t, "waits", run("c3", "read", `{}`))
	assert.Equal(t, "blocked: never", run("c4", "delete_file", `{}`))
	assert.Equal(t, "waits", run("c5", "delete_file", `{}`))
}

// What is open is decided between two runs, one by one or by the script.
func TestDesk_decidesBetweenRuns(t *testing.T) {
	t.Parallel()
	d := hookstest.NewDesk(t)
	run := approvals(t, d)
	for _, id := range []string{"c1", "c2", "c3"} {
		assert.Equal(t, "waits", run(id, "pay", `{}`))
		assert.Equal(t, "waits", run(id, "pay", `{}`), "the same question")
	}
	open := d.Open()
	require.Len(t, open, 3)
	require.NoError(t, d.Decide(open[1].ID, hookstest.Approves()))
	require.NoError(t, d.Decide(open[2].ID, hookstest.Rejects("no")))
	assert.Len(t, d.Open(), 1)
	d.Add(hookstest.Approves())
	assert.Equal(t, "ran {}", run("c2", "pay", `{}`))
	assert.Equal(t, "blocked: no", run("c3", "pay", `{}`))
	assert.Equal(t, "blocked: no", run("c3", "pay", `{}`), "it stays rejected")
	assert.Equal(t, "ran {}", run("c1", "pay", `{}`))
	assert.Empty(t, d.Open())
}

func TestDesk_decideRefuses(t *testing.T) {
	t.Parallel()
	d := hookstest.NewDesk(t, hookstest.Approves())
	run := approvals(t, d)
	run("c1", "pay", `{}`)
	run("c2", "pay", `{}`)
	assert.ErrorContains(t, d.Decide("other", hookstest.Approves()), `wasn't asked the question "other"`)
	assert.ErrorContains(t, d.Decide(d.Asked()[0].ID, hookstest.Approves()), "pay #c1 {} isn't open")
	assert.ErrorContains(t, d.Decide(d.Asked()[1].ID, hookstest.Undecided()), "Undecided decides nothing")
	assert.Len(t, d.Open(), 1)
}

// A decision is for the call that was shown: other arguments are asked about anew,
// and withdraw what was asked.
func TestDesk_otherArgumentsAreAnotherQuestion(t *testing.T) {
	t.Parallel()
	tb := &fakeTB{TB: t}
	d := hookstest.NewDesk(tb)
	run := approvals(t, d)
	run("c1", "pay", `{"amount":5}`)
	first := d.Open()[0]
	require.NoError(t, d.Decide(first.ID, hookstest.Approves()))
	assert.Equal(t, "waits", run("c1", "pay", `{"amount":500}`))
	assert.ErrorContains(t, d.Decide(first.ID, hookstest.Approves()), "isn't open")
	require.Len(t, d.Open(), 1)
	assert.Equal(t, `{"amount":500}`, d.Open()[0].Arguments)
	tb.end()
	assert.Equal(t, []string{`nobody asked again about pay #c1 {"amount":5}, which was decided`}, tb.errors)
}

// A decision with a digest of its own is for that alone.
func TestDesk_foreignDigest(t *testing.T) {
	t.Parallel()
	d := hookstest.NewDesk(t, hookstest.Decides(hooks.Decision{Verdict: hooks.Approve, Digest: "other", By: "ana"}))
	assert.Equal(t, "blocked: approval failed", approvals(t, d)("c1", "pay", `{}`))
}

// A process that dies in between leaves an approval used up: it is asked about
// anew, with Again, and what was decided before doesn't fit.
func TestDesk_asksAnewAfterBrokenUse(t *testing.T) {
	t.Parallel()
	d := hookstest.NewDesk(t)
	q := hooks.Question{ID: "q1", CallID: "c1", Tool: "pay"}
	ask := func() (hooks.Decision, bool, int) {
		asked := q
		asked.Rebind()
		decision, decided, err := d.Ask(t.Context(), &asked)
		require.NoError(t, err)
		if decided {
			assert.Equal(t, asked.Digest, decision.Digest)
		}
		return decision, decided, asked.Again
	}
	ask()
	require.NoError(t, d.Decide("q1", hookstest.Approves()))
	_, decided, again := ask()
	assert.True(t, decided)
	assert.Zero(t, again)
	_, decided, again = ask()
	assert.False(t, decided)
	assert.Equal(t, 1, again)
	require.NoError(t, d.Decide("q1", hookstest.Approves()))
	_, decided, again = ask()
	assert.True(t, decided)
	assert.Equal(t, 1, again)
	require.NoError(t, d.Done(t.Context(), "q1"))
}

func TestDesk_faults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script []hookstest.DeskAnswer
		do     func(d *hookstest.Desk, run func(id, tool, arguments string) string)
		want   []string
	}{
		"nothing": {nil, func(*hookstest.Desk, func(id, tool, arguments string) string) {}, nil},
		"an open question is none": {nil, func(_ *hookstest.Desk, run func(id, tool, arguments string) string) {
			run("c1", "pay", `{}`)
		}, nil},
		"answers left": {[]hookstest.DeskAnswer{hookstest.Approves(), hookstest.Approves().For("x"), hookstest.Undecided()}, func(_ *hookstest.Desk, run func(id, tool, arguments string) string) {
			run("c1", "pay", `{"a":1}`)
		}, []string{"the desk has 2 answers left that no question was given; it was asked:\n\t1. pay #c1 {\"a\":1}"}},
		"answers for nothing": {[]hookstest.DeskAnswer{hookstest.Approves()}, func(*hookstest.Desk, func(id, tool, arguments string) string) {},
			[]string{"the desk has 1 answers left that no question was given; it was asked: nothing"}},
		"let through twice": {[]hookstest.DeskAnswer{hookstest.Approves(), hookstest.Approves()}, func(_ *hookstest.Desk, run func(id, tool, arguments string) string) {
			run("c1", "pay", `{}`)
			run("c1", "pay", `{}`)
		}, []string{"the script let the same call through twice: pay #c1 {}"}},
		"let through again on purpose": {[]hookstest.DeskAnswer{hookstest.Approves()}, func(d *hookstest.Desk, run func(id, tool, arguments string) string) {
			run("c1", "pay", `{}`)
			run("c1", "pay", `{}`)
			assert.NoError(t, d.Decide(d.Open()[0].ID, hookstest.Approves()))
			assert.Equal(t, "ran {}", run("c1", "pay", `{}`))
		}, nil},
		"an end of nothing": {nil, func(d *hookstest.Desk, _ func(id, tool, arguments string) string) {
			assert.Error(t, d.Done(t.Context(), "q1"))
		}, []string{"the desk was told of the end of a call that it hasn't let through: question q1"}},
		"a second end": {[]hookstest.DeskAnswer{hookstest.Approves()}, func(d *hookstest.Desk, run func(id, tool, arguments string) string) {
			run("c1", "pay", `{}`)
			assert.Error(t, d.Done(t.Context(), d.Ended()[0]))
		}, []string{"the desk was told of the end of a call that it hasn't let through: question ID"}},
		"no end": {[]hookstest.DeskAnswer{hookstest.Approves()}, func(d *hookstest.Desk, _ func(id, tool, arguments string) string) {
			_, decided, err := d.Ask(t.Context(), &hooks.Question{ID: "q1", Tool: "pay", CallID: "c1", Path: []string{"c0"}})
			assert.True(t, decided)
			assert.NoError(t, err)
		}, []string{"the desk was never told that a call has ended: c0 > pay #c1 "}},
	} {
		tb := &fakeTB{TB: t}
		d := hookstest.NewDesk(tb, tt.script...)
		tt.do(d, approvals(t, d))
		tb.end()
		for i, want := range tt.want {
			if name == "a second end" {
				tt.want[i] = want[:len(want)-len("ID")] + d.Ended()[0]
			}
		}
		assert.Equal(t, tt.want, tb.errors, name)
	}
}

func TestDesk_concurrentSafe(t *testing.T) {
	t.Parallel()
	var script []hookstest.DeskAnswer
	for range 20 {
		script = append(script, hookstest.Approves())
	}
	d := hookstest.NewDesk(t, script...)
	run := approvals(t, d)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			assert.Equal(t, "ran {}", run(fmt.Sprint("c", i), "pay", `{}`))
			_, _, _ = d.Open(), d.Asked(), d.Ended()
		})
	}
	wg.Wait()
	assert.Len(t, d.Ended(), 20)
}

// Two guards may ask about one call: the first one's approval is used up by the
// passage in which the second waits, and is asked for anew.
func TestDesk_twoGuards(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	for _, name := range []string{"security", "finance"} {
		hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error { return call.Ask(ctx, hooks.Question{}) }, hooks.In(r), hooks.WithName(name))
	}
	d := hookstest.NewDesk(t)
	ctx := hooks.WithDesk(hookstest.Context(t, r), d)
	ran := 0
	run := func() (waits string) {
		call := &hooks.ToolCall{Caller: hooks.Caller{RunID: "r1"}, ID: "c1", Name: "pay"}
		err := hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { ran++; return nil })
		if s, ok := errors.AsType[*hooks.Suspended](err); ok {
			require.Len(t, s.Questions, 1)
			return fmt.Sprint(s.Questions[0].Key, s.Questions[0].Again)
		}
		require.NoError(t, err)
		return ""
	}
	var seen []string
	for range 10 {
		waits := run()
		seen = append(seen, waits)
		if waits == "" {
			break
		}
		require.NoError(t, d.Decide(d.Open()[0].ID, hookstest.Approves()))
	}
	assert.Equal(t, []string{"security0", "finance0", "security1", ""}, seen)
	assert.Equal(t, 1, ran)
}
