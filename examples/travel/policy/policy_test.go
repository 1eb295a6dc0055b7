package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/examples/travel/policy"
)

// under returns a ctx under which the rules that register registers are active.
func under(t *testing.T, register func(*hooks.Registry)) (context.Context, *hooks.Registry) {
	t.Helper()
	r := hooks.NewRegistry()
	register(r)
	return hooks.WithScope(t.Context(), r), r
}

// book runs a call of book_ticket and reports whether the tool ran.
func book(ctx context.Context, t *testing.T, args string) (call *hooks.ToolCall, ran bool) {
	t.Helper()
	call = &hooks.ToolCall{Name: "book_ticket", Tool: "known"}
	require.NoError(t, call.SetArguments(args))
	require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		ran = true
		call.Result = "booked"
		return nil
	}))
	return call, ran
}

func TestFirstClass_unapproved(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, func(r *hooks.Registry) { policy.FirstClass(r, false) })
	_, ran := book(ctx, t, `{"seat_class":"tourist"}`)
	assert.True(t, ran)
	const instead = "manager's approval; book tourist instead"
	for args, why := range map[string]string{
		`{"seat_class":"first"}`:     instead,
		`{"seat_class":"First"}`:     instead,
		`{"seat_class":"sleeper"}`:   instead,
		`{"seat_class":"tourist "}`:  instead,
		`{"seat_class":["tourist"]}`: "seat_class is missing or isn't text",
		`{"seat_class":1}`:           "seat_class is missing or isn't text",
		`{"seat_class":null}`:        "seat_class is missing or isn't text",
		`{"Seat_Class":"tourist"}`:   "seat_class is missing",
		`{}`:                         "seat_class is missing",
	} {
		call, ran := book(ctx, t, args)
		assert.False(t, ran, args)
		assert.Contains(t, call.Result, why, args)
	}
}

func TestFirstClass_approved(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, func(r *hooks.Registry) { policy.FirstClass(r, true) })
	_, ran := book(ctx, t, `{"seat_class":"first"}`)
	assert.True(t, ran)
}

func TestFirstClass_afterEveryOtherHook(t *testing.T) {
	t.Parallel()
	ctx, r := under(t, func(r *hooks.Registry) { policy.FirstClass(r, false) })
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Input["seat_class"] = "first"
		return nil
	}, hooks.In(r))
	_, ran := book(ctx, t, `{"seat_class":"tourist"}`)
	assert.False(t, ran)
}

const secret = "30.123.456"

func TestDocuments_hiddenAtEveryPoint(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)

	call := &hooks.ToolCall{Name: "profile"}
	require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "DNI " + secret
		call.Parts = []hooks.Part{{Kind: "text", Text: "DNI " + secret}}
		return errors.New("half of it failed")
	}))
	assert.Equal(t, "DNI ***", call.Result)
	assert.Equal(t, "DNI ***", call.Parts[0].Text)

	history := []hooks.Message{
		{Role: "user", Content: "I am DNI " + secret},
		{Role: "assistant", ToolCalls: []hooks.ToolRequest{{Name: "f", Arguments: `{"who":"\u0044NI ` + secret + `","n":["DNI 30123456",7]}`}, {Name: "f", Arguments: `no JSON, DNI ` + secret}}},
	}
	model := &hooks.ModelCall{Messages: history}
	sent := 0
	require.NoError(t, hooks.RunModel(ctx, model, func(_ context.Context, m *hooks.ModelCall) error {
		sent++
		assert.Equal(t, "I am DNI ***", m.Messages[0].Content)
		assert.Equal(t, `{"n":["DNI ***",7],"who":"DNI ***"}`, m.Messages[1].ToolCalls[0].Arguments)
		assert.Equal(t, `no JSON, DNI ***`, m.Messages[1].ToolCalls[1].Arguments)
		m.Response = "hello DNI " + secret
		return nil
	}))
	assert.Equal(t, 1, sent)
	assert.Equal(t, "hello DNI ***", model.Response)
	assert.Contains(t, history[1].ToolCalls[0].Arguments, secret, "the history is the loop's own")

	x := &hooks.Execution{}
	require.NoError(t, hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error {
		x.Output = "booked for DNI " + secret
		return nil
	}))
	assert.Equal(t, "booked for DNI ***", x.Output)
}

func TestDocuments_putInByLaterHook(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	inner := hooks.NewRegistry() // its hooks run after those of the outer scope
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.Messages = append(m.Messages, hooks.Message{Role: "user", Content: "DNI " + secret})
		return nil
	}, hooks.In(inner))
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		x.Output = "DNI " + secret
		return nil
	}, hooks.In(inner))
	ctx = hooks.WithScope(ctx, inner)

	err := hooks.RunModel(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error {
		t.Error("the model was called")
		return nil
	})
	requireAbort(t, err, "no document numbers")

	x := &hooks.Execution{}
	err = hooks.RunExecution(ctx, x, func(_ context.Context, x *hooks.Execution) error {
		x.Output = "booked"
		return nil
	})
	requireAbort(t, err, "no document numbers")
	assert.Nil(t, x.Output)
}

func requireAbort(t *testing.T, err error, source string) {
	t.Helper()
	var abort *hooks.HookAborted
	require.ErrorAs(t, err, &abort)
	assert.Equal(t, source, abort.Source)
	assert.NotContains(t, err.Error(), secret)
}

func TestDocuments_hiddenInTheRequest(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	inputs := map[string]any{"prompt": "I am DNI " + secret, "seats": 2}
	require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{Inputs: inputs}, func(_ context.Context, x *hooks.Execution) error {
		assert.Equal(t, map[string]any{"prompt": "I am DNI ***", "seats": 2}, x.Inputs)
		x.Output = "booked"
		return nil
	}))
	assert.Equal(t, "I am DNI "+secret, inputs["prompt"], "the caller's own")
}

func TestDocuments_hiddenInTheCallsOfTheModel(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	said := func(c hooks.ToolRequest) (*hooks.ModelCall, error) {
		m := &hooks.ModelCall{}
		return m, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.ToolCalls = []hooks.ToolRequest{c}
			return nil
		})
	}
	m, err := said(hooks.ToolRequest{ID: "1", Name: "f", Arguments: `{"who":"DNI ` + secret + `"}`})
	require.NoError(t, err)
	assert.Equal(t, `{"who":"DNI ***"}`, m.ToolCalls[0].Arguments)
	for _, c := range []hooks.ToolRequest{{ID: "DNI " + secret, Name: "f"}, {ID: "1", Name: "DNI " + secret}} {
		_, err := said(c)
		requireAbort(t, err, "no document numbers")
	}
}

func TestDocuments_inArgumentsOfALaterHook(t *testing.T) {
	t.Parallel()
	ctx, r := under(t, policy.Documents)
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Input["who"] = "DNI " + secret
		return nil
	}, hooks.In(r))
	call, ran := book(ctx, t, `{}`)
	assert.False(t, ran)
	assert.Contains(t, call.Result, "the arguments hold a document number; leave it out")
}

func TestHoldDocument(t *testing.T) {
	t.Parallel()
	assert.False(t, policy.HoldDocument(nil))
	assert.False(t, policy.HoldDocument([]hooks.Message{{Content: "DNI ***"}}))
	for _, m := range []hooks.Message{
		{Content: "DNI " + secret}, {Parts: []hooks.Part{{Kind: "text", Text: "DNI " + secret}}}, {Name: "DNI " + secret}, {ToolCallID: "DNI " + secret},
		{ToolCalls: []hooks.ToolRequest{{Arguments: `{"dni":30123456}`}}},
	} {
		assert.True(t, policy.HoldDocument([]hooks.Message{{Content: "hello"}, m}), m)
	}
}

func TestDocuments_outputIsNoText(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(_ context.Context, x *hooks.Execution) error {
		x.Output = []string{"DNI " + secret}
		return nil
	})
	requireAbort(t, err, "hide document numbers")
}

func TestToday_neverPilesUp(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
	ctx, _ := under(t, func(r *hooks.Registry) { policy.Today(r, now) })
	const today = "Today is Monday, 30 November 2026."
	for name, history := range map[string][]hooks.Message{
		"with a system message": {{Role: "system", Content: "Be kind."}, {Role: "user", Content: "hello"}},
		"without one":           {{Role: "user", Content: "hello"}},
		"without any":           nil,
	} {
		for range 3 {
			var sent string
			m := &hooks.ModelCall{Messages: history}
			require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
				for _, msg := range m.Messages {
					sent += msg.Role + ": " + msg.Text() + "\n"
				}
				return nil
			}), name)
			assert.Equal(t, 1, strings.Count(sent, today), name)
			assert.True(t, strings.HasPrefix(sent, "system: "), name)
			for _, msg := range history {
				assert.NotContains(t, msg.Content, "Today", name)
			}
		}
	}
}

func TestTurnBudget_overspent(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, func(r *hooks.Registry) { policy.TurnBudget(r, 2, 0) })
	step := func(ctx context.Context, kind hooks.StepKind) error {
		return hooks.RunStep(ctx, &hooks.Step{Kind: kind}, func(context.Context, *hooks.Step) error { return nil })
	}
	run := func(ctx context.Context, body func(context.Context) error) error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error { return body(ctx) })
	}
	for range 2 { // each run has its own
		err := run(ctx, func(ctx context.Context) error {
			require.NoError(t, step(ctx, hooks.StepTurn))
			require.NoError(t, step(ctx, hooks.StepTask))
			require.NoError(t, run(ctx, func(ctx context.Context) error { return step(ctx, hooks.StepTurn) }), "a sub-agent's")
			return step(ctx, hooks.StepTurn)
		})
		requireAbort(t, err, "turn budget")
		require.ErrorContains(t, err, "the budget of 2 turns is used up")
	}
	requireAbort(t, step(ctx, hooks.StepTurn), "turn budget")
	require.NoError(t, step(ctx, hooks.StepTask))
}

func TestTurnBudget_resumed(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, func(r *hooks.Registry) { policy.TurnBudget(r, 3, 2) })
	turns := func(x *hooks.Execution) (n int, err error) {
		return n, hooks.RunExecution(ctx, x, func(ctx context.Context, _ *hooks.Execution) error {
			for ; err == nil; n++ {
				err = hooks.RunStep(ctx, &hooks.Step{Kind: hooks.StepTurn}, func(context.Context, *hooks.Step) error { return nil })
			}
			n--
			return err
		})
	}
	n, err := turns(&hooks.Execution{Resumed: true})
	requireAbort(t, err, "turn budget")
	assert.Equal(t, 1, n)
	n, err = turns(&hooks.Execution{})
	requireAbort(t, err, "turn budget")
	assert.Equal(t, 3, n, "another run")
}

// person answers every question alike and keeps what was asked.
type person struct {
	answer string
	err    error
	asked  []string
}

func (p *person) RequestInput(_ context.Context, prompt, message string) (string, error) {
	p.asked = append(p.asked, prompt+"\n"+message)
	return p.answer, p.err
}

func TestApproval_onlyYes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"yes": true, "Y": true, "": false, "no": false, "n": false, "yess": false, "yes no": false, "ok": false} {
		ctx, _ := under(t, policy.Approval)
		p := &person{answer: answer}
		call, ran := book(hooks.WithHumanInput(ctx, p), t, `{"seat_class":"tourist","who":"DNI `+secret+`\u001b[2J"}`)
		assert.Equal(t, want, ran, answer)
		assert.Equal(t, []string{"The assistant wants to run book_ticket " +
			`{"seat_class":"tourist","who":"DNI ***\u001b[2J"}` + "\nBook it? [y/N]"}, p.asked)
		if !want {
			assert.Contains(t, call.Result, "didn't approve")
		}
	}
}

func TestApproval_nobodyThere(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Approval)
	call, ran := book(hooks.WithHumanInput(ctx, &person{answer: "yes", err: errors.New("the line is dead")}), t, `{}`)
	assert.False(t, ran)
	assert.Contains(t, call.Result, "nobody could be asked")
	assert.NotContains(t, call.Result, "the line is dead")
}

func TestApproval_refusedAnyway(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, func(r *hooks.Registry) {
		policy.Approval(r)
		policy.FirstClass(r, false)
	})
	p := &person{answer: "yes"}
	ctx = hooks.WithHumanInput(ctx, p)
	_, ran := book(ctx, t, `{"seat_class":"first"}`)
	assert.False(t, ran)
	assert.Empty(t, p.asked)

	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "find_trains", Tool: "known"},
		func(context.Context, *hooks.ToolCall) error { return nil }))
	assert.Empty(t, p.asked, "only bookings are asked about")
}

func TestApprovalLater_lastOfTheGuards(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, func(r *hooks.Registry) {
		policy.ApprovalLater(r)
		policy.FirstClass(r, false)
	})
	d := desk.New(desk.Memory())
	ctx = hooks.WithDesk(ctx, d)
	run := func(tool any, args string) (*hooks.ToolCall, error) {
		call := &hooks.ToolCall{Caller: hooks.Caller{RunID: "run"}, ID: "1", Name: "book_ticket", Tool: tool}
		require.NoError(t, call.SetArguments(args))
		return call, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error { call.Result = "booked"; return nil })
	}
	call, err := run("known", `{"seat_class":"first"}`)
	require.NoError(t, err)
	assert.NotNil(t, call.Blocked)
	_, err = run(nil, `{"seat_class":"tourist"}`)
	require.NoError(t, err, "there is nothing to approve: it won't run")

	call, err = run("known", `{"seat_class":"tourist"}`)
	var waits *hooks.Suspended
	require.ErrorAs(t, err, &waits)
	require.Len(t, waits.Questions, 1)
	assert.Empty(t, call.Result)
	q := waits.Questions[0]
	require.NoError(t, d.Decide(ctx, q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}))
	call, err = run("known", `{"seat_class":"tourist"}`)
	require.NoError(t, err)
	assert.Equal(t, "booked", call.Result)
}

func TestForPeople_oneHarmlessLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a b �[2J c� DNI ***", policy.ForPeople("a\nb \x1b[2J\tc\u202e DNI "+secret))
}
