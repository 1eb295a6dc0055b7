package policy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// turnOf runs the calls as one turn of the run "r".
func turnOf(ctx context.Context, body hooks.Func[hooks.ToolCall], calls ...*hooks.ToolCall) error {
	return hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "r"}}, func(ctx context.Context, _ *hooks.Execution) error {
		return hooks.RunTools(ctx, calls, 0, body)
	})
}

// payCall is a call that somebody has to approve.
func payCall() *hooks.ToolCall {
	return &hooks.ToolCall{ID: "c1", Name: "pay", Input: map[string]any{"amount": 5.0}}
}

// neverRuns fails the test if the tool runs.
func neverRuns(t *testing.T) hooks.Func[hooks.ToolCall] {
	return func(context.Context, *hooks.ToolCall) error {
		t.Error("the tool ran")
		return nil
	}
}

func TestApproval_nobodyToAsk(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]hooks.Option{"": nil, "finance": {hooks.WithName("finance")}} {
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(append(opts, hooks.In(reg))...)
		call := payCall()
		require.NoError(t, turnOf(ctx, neverRuns(t), call))
		require.NotNil(t, call.Blocked)
		if name == "" {
			name = "policy.Approval"
		}
		assert.Equal(t, "Tool execution blocked by hook. Tool: pay. Reason: "+name+" failed", call.Result)
	}
}

func TestApproval_cantBeAsked(t *testing.T) {
	t.Parallel()
	t.Run("outside of a run", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(hooks.In(reg))
		call := payCall()
		require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, hookstest.NewDesk(t)), call, neverRuns(t)))
		assert.NotNil(t, call.Blocked)
	})
	t.Run("call without an ID", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(hooks.In(reg))
		call := payCall()
		call.ID = ""
		require.NoError(t, turnOf(hooks.WithDesk(ctx, hookstest.NewDesk(t)), neverRuns(t), call))
		assert.NotNil(t, call.Blocked)
	})
	t.Run("arguments that JSON can't hold", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{Details: func(*hooks.ToolCall) map[string]string {
			t.Error("there is nothing to detail")
			return nil
		}}.Register(hooks.In(reg))
		call := payCall()
		call.Input["f"] = func() {}
		require.NoError(t, turnOf(hooks.WithDesk(ctx, hookstest.NewDesk(t)), neverRuns(t), call))
		assert.Equal(t, "policy.Approval failed", limitReason(call))
	})
	t.Run("arguments that can't be read", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(hooks.In(reg))
		call := payCall()
		require.Error(t, call.SetArguments(`{"amount":`))
		require.NoError(t, turnOf(hooks.WithDesk(ctx, hookstest.NewDesk(t)), neverRuns(t), call))
		assert.Nil(t, call.Blocked)
		assert.Contains(t, call.Result, "Tool was not run")
	})
	t.Run("details that panic", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{Details: func(*hooks.ToolCall) map[string]string { panic("secret") }}.Register(hooks.In(reg))
		call := payCall()
		require.NoError(t, turnOf(hooks.WithDesk(ctx, hookstest.NewDesk(t)), neverRuns(t), call))
		assert.Equal(t, "policy.Approval failed", limitReason(call))
	})
	t.Run("desk that fails", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(hooks.In(reg))
		ctx, cancel := context.WithCancel(ctx)
		hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { cancel(); return nil }, hooks.In(reg))
		call := payCall()
		_ = turnOf(hooks.WithDesk(ctx, desk.New(desk.Memory())), neverRuns(t), call)
		assert.False(t, call.Ran())
	})
}

func TestApproval_question(t *testing.T) {
	t.Parallel()
	t.Run("defaults", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			policy.Approval{}.Register(hooks.In(reg))
			d := hookstest.NewDesk(t, hookstest.Approves())
			call := payCall()
			require.NoError(t, turnOf(hooks.WithDesk(ctx, d), limitBody("paid"), call))
			assert.Equal(t, "paid", call.Result)
			q := d.Asked()[0]
			assert.Equal(t, "The agent wants to run pay.", q.Prompt)
			assert.Equal(t, "policy.Approval", q.Key)
			assert.Equal(t, `{"amount":5}`, q.Arguments)
			assert.Equal(t, time.Now().Add(24*time.Hour), q.Expires)
			assert.True(t, q.Allows(hooks.Approve))
			assert.True(t, q.Allows(hooks.Reject))
			assert.False(t, q.Allows(hooks.Edit))
			assert.False(t, q.Offers(hooks.SameArguments))
			assert.Empty(t, q.Audience)
			assert.Empty(t, q.Details)
		})
	})
	t.Run("what was set", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg, ctx := limitScope(t)
			p := policy.Approval{
				Prompt: "Pay?", Audience: []string{"finance"}, Expires: time.Hour,
				Offer: []hooks.Remember{hooks.SameArguments}, May: []hooks.Verdict{hooks.Approve, hooks.Edit},
				Details: func(t *hooks.ToolCall) map[string]string { return map[string]string{"tool": t.Name} },
			}
			p.Register(hooks.In(reg), hooks.WithName("payments"))
			p.Audience[0], p.May[1], p.Offer[0] = "everybody", hooks.Reject, hooks.Once // too late
			d := hookstest.NewDesk(t, hookstest.Approves())
			require.NoError(t, turnOf(hooks.WithDesk(ctx, d), limitBody("paid"), payCall()))
			q := d.Asked()[0]
			assert.Equal(t, "Pay?", q.Prompt)
			assert.Equal(t, "payments", q.Key)
			assert.Equal(t, []string{"finance"}, q.Audience)
			assert.Equal(t, map[string]string{"tool": "pay"}, q.Details)
			assert.Equal(t, time.Now().Add(time.Hour), q.Expires)
			assert.Equal(t, []hooks.Verdict{hooks.Approve, hooks.Edit}, q.May)
			assert.Equal(t, []hooks.Remember{hooks.SameArguments}, q.Offer)
		})
	})
}

func TestApproval_rejected(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"too dear":     "not approved: too dear",
		"":             "not approved",
		"not approved": "not approved",
	} {
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(hooks.In(reg), hooks.WithTools("pay"))
		ctx = hooks.WithDesk(ctx, hookstest.NewDesk(t, hookstest.Rejects(reason)))
		calls := []*hooks.ToolCall{{ID: "c0", Name: "read"}, payCall(), {ID: "c2", Name: "read"}}
		require.NoError(t, turnOf(ctx, limitBody("ok"), calls...))
		assert.Equal(t, "Tool execution blocked by hook. Tool: pay. Reason: "+want, calls[1].Result)
		assert.False(t, calls[1].Ran())
		assert.Equal(t, "ok", calls[0].Result)
		assert.Equal(t, "ok", calls[2].Result)
	}
}

func TestApproval_askedAtTheTerminal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer hookstest.Answer
		want   string
	}{
		"yes":          {hookstest.Types("yes"), ""},
		"sim":          {hookstest.Types("sim"), ""},
		"no":           {hookstest.Types("no"), "not approved"},
		"yes, but":     {hookstest.Types("yes, but not now"), "not approved"},
		"empty line":   {hookstest.Types(""), "not approved"},
		"end of input": {hookstest.Fails(io.EOF), "policy.Approval failed"},
	} {
		for _, byDesk := range []bool{false, true} {
			reg, ctx := limitScope(t)
			policy.Approval{}.Register(hooks.In(reg))
			ctx = hooks.WithHumanInput(ctx, hookstest.NewHuman(t, tt.answer))
			if byDesk {
				ctx = hooks.WithDesk(ctx, desk.Human())
			}
			call := payCall()
			require.NoError(t, turnOf(ctx, limitBody("ok"), call))
			assert.Equal(t, tt.want, limitReason(call), name)
			assert.Equal(t, tt.want == "", call.Ran(), name)
		}
	}
}

// Only what is known to mean yes lets a call through.
func TestApproval_answersAtAConsole(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		"yes": true, "Y": true, "sim": true, "네": true, " yes \r\n": true,
		"": false, "n": false, "no": false, "yep": false, "yes please": false, "não": false, "y\x00": false,
	} {
		for _, byDesk := range []bool{false, true} {
			reg, ctx := limitScope(t)
			policy.Approval{}.Register(hooks.In(reg))
			ctx = hooks.WithHumanInput(ctx, hooks.NewConsole(strings.NewReader(answer+"\n"), t.Output()))
			if byDesk {
				ctx = hooks.WithDesk(ctx, desk.Human())
			}
			call := &hooks.ToolCall{ID: "c1", Name: "send_email"}
			require.NoError(t, turnOf(ctx, limitBody("sent"), call))
			assert.Equal(t, want, call.Ran(), "%q", answer)
		}
	}
}

// A model can't hide an argument, nor turn round what the person reads.
func TestApproval_showsAllArgumentsAndWhatCantBeSeen(t *testing.T) {
	t.Parallel()
	for _, byDesk := range []bool{false, true} {
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(hooks.In(reg))
		human := hookstest.NewHuman(t, hookstest.Types("no"))
		ctx = hooks.WithHumanInput(ctx, human)
		if byDesk {
			ctx = hooks.WithDesk(ctx, desk.Human())
		}
		body := strings.Repeat("<b>날씨</b> ", 1000)
		call := &hooks.ToolCall{ID: "c1", Name: "send_email", Input: map[string]any{"to": "moc.live\u202e@eve\x1b\U000e0041", "body": body}}
		require.NoError(t, turnOf(ctx, neverRuns(t), call))
		shown := human.Questions()[0].Prompt
		assert.Contains(t, shown, "The agent wants to run send_email.")
		_, _, whole := strings.Cut(shown, body) // the failure of a Contains would print it
		assert.True(t, whole, "nothing is cut, and markup isn't escaped")
		assert.Contains(t, shown, `moc.live\u202e@eve\u001b`)
		assert.NotContains(t, shown, "\U000e0041")
	}
}

func TestApproval_expires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, ctx := limitScope(t)
		policy.Approval{Expires: time.Hour}.Register(hooks.In(reg))
		d := desk.New(desk.Memory())
		ctx = hooks.WithDesk(ctx, d)
		call := payCall()
		err := turnOf(ctx, neverRuns(t), call)
		waits, ok := errors.AsType[*hooks.Suspended](err)
		require.True(t, ok)
		time.Sleep(time.Hour)
		q := waits.Questions[0]
		require.ErrorIs(t, d.Decide(ctx, q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}), desk.ErrExpired)
		require.NoError(t, turnOf(ctx, neverRuns(t), call))
		assert.Equal(t, "nobody answered in time; no person refused it", limitReason(call))
		assert.Equal(t, desk.ExpiredReason, limitReason(call))
	})
}

func TestApproval_suspendsAndGoesOn(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Approval{}.Register(hooks.In(reg), hooks.WithTools("pay"))
	d := hookstest.NewDesk(t)
	ctx = hooks.WithDesk(ctx, d)
	runs := map[string]int{}
	var body hooks.Func[hooks.ToolCall] = func(_ context.Context, t *hooks.ToolCall) error { runs[t.ID]++; t.Result = "ok"; return nil }
	calls := []*hooks.ToolCall{{ID: "0", Name: "read"}, {ID: "1", Name: "pay"}, {ID: "2", Name: "read"}, {ID: "3", Name: "Pay"}, {ID: "4", Name: "read"}}
	sequential := func(calls ...*hooks.ToolCall) error {
		return hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "r"}}, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunTools(ctx, calls, 1, body)
		})
	}
	waits, ok := errors.AsType[*hooks.Suspended](sequential(calls...))
	require.True(t, ok)
	require.Len(t, waits.Questions, 2)
	assert.Equal(t, "1", waits.Questions[0].CallID)
	assert.Equal(t, "3", waits.Questions[1].CallID)
	assert.Equal(t, map[string]int{"0": 1, "2": 1, "4": 1}, runs)

	require.NoError(t, d.Decide(waits.Questions[0].ID, hookstest.Approves()))
	require.NoError(t, d.Decide(waits.Questions[1].ID, hookstest.Rejects("no")))
	require.NoError(t, sequential(&hooks.ToolCall{ID: "1", Name: "pay"}, calls[3]))
	assert.Equal(t, map[string]int{"0": 1, "1": 1, "2": 1, "4": 1}, runs)
	assert.Equal(t, "not approved: no", limitReason(calls[3]))
}

func TestApproval_isForTheArgumentsThatWereShown(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Approval{}.Register(hooks.In(reg))
	d := desk.New(desk.Memory())
	ctx = hooks.WithDesk(ctx, d)
	waits, ok := errors.AsType[*hooks.Suspended](turnOf(ctx, neverRuns(t), payCall()))
	require.True(t, ok)
	q := waits.Questions[0]
	require.NoError(t, d.Decide(ctx, q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}))

	hooks.On(hooks.PreToolCall, func(_ context.Context, t *hooks.ToolCall) error { t.Input["amount"] = 5000.0; return nil }, hooks.In(reg))
	again, ok := errors.AsType[*hooks.Suspended](turnOf(ctx, neverRuns(t), payCall()))
	require.True(t, ok)
	assert.NotEqual(t, q.Digest, again.Questions[0].Digest)
	assert.Equal(t, `{"amount":5000}`, again.Questions[0].Arguments)
}

func TestApproval_editIsJudgedByAllGuards(t *testing.T) {
	t.Parallel()
	atMost := func(_ context.Context, t *hooks.ToolCall) error {
		if amount, err := t.NumberArg("amount"); err != nil || amount > 100 {
			return hooks.Abort("/amount: maximum")
		}
		return nil
	}
	for arguments, want := range map[string]string{`{"amount":7}`: "", `{"amount":101}`: "/amount: maximum"} {
		reg, ctx := limitScope(t)
		policy.Approval{May: []hooks.Verdict{hooks.Approve, hooks.Edit}}.Register(hooks.In(reg))
		hooks.Guard(hooks.PreToolCall, atMost, hooks.In(reg), hooks.WithPriority(700))
		ctx = hooks.WithDesk(ctx, hookstest.NewDesk(t, hookstest.Edits(arguments)))
		call := payCall()
		ran := ""
		require.NoError(t, turnOf(ctx, func(_ context.Context, t *hooks.ToolCall) error { ran, _ = t.Arguments(); return nil }, call))
		assert.Equal(t, want, limitReason(call))
		if want == "" {
			assert.Equal(t, arguments, ran)
		} else {
			assert.Empty(t, ran)
		}
	}
	t.Run("one that May doesn't hold is refused", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(hooks.In(reg))
		ctx = hooks.WithDesk(ctx, hookstest.NewDesk(t, hookstest.Edits(`{}`)))
		call := payCall()
		require.NoError(t, turnOf(ctx, neverRuns(t), call))
		assert.Equal(t, "policy.Approval failed", limitReason(call))
	})
}

func TestApproval_twoForOneCall(t *testing.T) {
	t.Parallel()
	t.Run("ask once under one name", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{Prompt: "first"}.Register(hooks.In(reg), hooks.WithTools("pay"))
		policy.Approval{Prompt: "second"}.Register(hooks.In(reg), hooks.WithTools("p*"))
		d := hookstest.NewDesk(t, hookstest.Approves())
		call := payCall()
		require.NoError(t, turnOf(hooks.WithDesk(ctx, d), limitBody("ok"), call))
		assert.True(t, call.Ran())
		require.Len(t, d.Asked(), 1)
		assert.Equal(t, "first", d.Asked()[0].Prompt)
	})
	t.Run("ask twice under two names", func(t *testing.T) {
		t.Parallel()
		reg, ctx := limitScope(t)
		policy.Approval{}.Register(hooks.In(reg), hooks.WithName("a"))
		policy.Approval{}.Register(hooks.In(reg), hooks.WithName("b"))
		d := hookstest.NewDesk(t, hookstest.Approves(), hookstest.Rejects("no"))
		call := payCall()
		require.NoError(t, turnOf(hooks.WithDesk(ctx, d), neverRuns(t), call))
		assert.Equal(t, "not approved: no", limitReason(call))
		assert.Len(t, d.Asked(), 2)
	})
}

func TestApproval_remembers(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Approval{Offer: []hooks.Remember{hooks.Once, hooks.SameArguments}}.Register(hooks.In(reg))
	d := desk.New(desk.Memory())
	ctx = hooks.WithDesk(ctx, d)
	waits, ok := errors.AsType[*hooks.Suspended](turnOf(ctx, neverRuns(t), payCall()))
	require.True(t, ok)
	q := waits.Questions[0]
	require.NoError(t, d.Decide(ctx, q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, Remember: hooks.SameArguments}))
	same, other := payCall(), payCall()
	same.ID, other.ID, other.Input["amount"] = "c2", "c3", 6.0
	require.Error(t, turnOf(ctx, limitBody("ok"), payCall(), same, other))
	assert.True(t, same.Ran())
	assert.NotNil(t, other.Suspended())
}

func TestApproval_isTheLastGuard(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Approval{}.Register(hooks.In(reg))
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("no") }, hooks.In(reg), hooks.WithPriority(-899))
	d := hookstest.NewDesk(t)
	call := payCall()
	require.NoError(t, turnOf(hooks.WithDesk(ctx, d), neverRuns(t), call))
	assert.Equal(t, "no", limitReason(call))
	assert.Empty(t, d.Asked())
}

func TestApproval_givesTheTokenOfARateBack(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	policy.Approval{}.Register(hooks.In(reg))
	policy.Rate{Limit: 1, Per: time.Hour}.Register(hooks.In(reg))
	d := hookstest.NewDesk(t, hookstest.Rejects("no"), hookstest.Undecided(), hookstest.Approves())
	ctx = hooks.WithDesk(ctx, d)
	calls := []*hooks.ToolCall{{ID: "1", Name: "pay"}, {ID: "2", Name: "pay"}, {ID: "3", Name: "pay"}, {ID: "4", Name: "pay"}}
	require.Error(t, turnOf(ctx, limitBody("ok"), calls...))
	assert.Equal(t, "not approved: no", limitReason(calls[0]))
	assert.NotNil(t, calls[1].Suspended())
	assert.True(t, calls[2].Ran())
	assert.Contains(t, limitReason(calls[3]), "no more than 1 call")
}

func TestApproval_reasonIsOfThisCall(t *testing.T) {
	t.Parallel()
	reg, ctx := limitScope(t)
	p := policy.Approval{}
	p.Register(hooks.In(reg))
	calls := []*hooks.ToolCall{payCall(), {ID: "c2", Name: "pay"}}
	require.NoError(t, turnOf(hooks.WithDesk(ctx, hookstest.NewDesk(t, hookstest.Rejects("a"), hookstest.Rejects("b"))), neverRuns(t), calls...))
	assert.Equal(t, "not approved: a", limitReason(calls[0]))
	assert.Equal(t, "not approved: b", limitReason(calls[1]))
}

func TestApproval_panicsOnWhatCantBeMeant(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]policy.Approval{
		"negative expiry": {Expires: -1},
		"unknown verdict": {May: []hooks.Verdict{hooks.Approve, "perhaps"}},
		"never runs":      {May: []hooks.Verdict{hooks.Reject}},
		"unknown memory":  {Offer: []hooks.Remember{"for ever"}},
	} {
		reg := hooks.NewRegistry()
		assert.Panics(t, func() { p.Register(hooks.In(reg)) }, name)
		assert.Equal(t, "no hooks\n", reg.String())
	}
}

func TestApproval_registrations(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	group := policy.Approval{}.Register(hooks.In(reg), hooks.WithTools("pay"))
	assert.Equal(t, "pre_tool_call\n  policy.Approval tools=[\"pay\"] priority=-900 guard\n", reg.String())
	assert.True(t, group.Remove())
	assert.Equal(t, "no hooks\n", reg.String())
}

// brokenDesk fails with its error.
type brokenDesk struct{ err error }

func (d brokenDesk) Ask(context.Context, *hooks.Question) (hooks.Decision, bool, error) {
	return hooks.Decision{}, false, d.err
}
func (brokenDesk) Done(context.Context, string) error { return nil }

func TestApproval_failedDeskIsNoRejection(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"an error":              io.ErrUnexpectedEOF,
		"ctx done":              context.Canceled,
		"in a circle":           circle{},
		"an abort of its hooks": fmt.Errorf("desk: %w", hooks.Abort("too many callers")),
		"something that waits":  &hooks.Suspended{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, ctx := limitScope(t)
			policy.Approval{}.Register(hooks.In(reg))
			call := payCall()
			require.NoError(t, turnOf(hooks.WithDesk(ctx, brokenDesk{err}), neverRuns(t), call))
			require.NotNil(t, call.Blocked)
			assert.NotContains(t, call.Result, "not approved")
		})
	}
}
