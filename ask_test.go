// Asking whether a call may run: who is asked, what an answer does, and when it is
// used up.

package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// askDesk is a desk that answers by a function and keeps what it is asked and
// told.
type askDesk struct {
	answer func(context.Context, *hooks.Question) (hooks.Decision, bool, error) // nil: nobody has decided

	mu    sync.Mutex
	asked []hooks.Question
	ended []string
}

func (d *askDesk) Ask(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
	d.mu.Lock()
	d.asked = append(d.asked, *q)
	d.mu.Unlock()
	if d.answer == nil {
		return hooks.Decision{}, false, nil
	}
	return d.answer(ctx, q)
}

func (d *askDesk) Done(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, id)
	return nil
}

// questions returns what was asked so far.
func (d *askDesk) questions() []hooks.Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

// only returns the one question that was asked.
func (d *askDesk) only(t *testing.T) hooks.Question {
	t.Helper()
	asked := d.questions()
	require.Len(t, asked, 1)
	return asked[0]
}

// done returns the IDs that the desk was told of.
func (d *askDesk) done() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ended)
}

type askAnswer = func(context.Context, *hooks.Question) (hooks.Decision, bool, error)

// decide answers with d, bound to what is asked.
func decide(d hooks.Decision) askAnswer {
	return func(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
		bound := d
		bound.Digest = q.Digest
		return bound, true, nil
	}
}

var (
	approves = decide(hooks.Decision{Verdict: hooks.Approve})
	rejects  = decide(hooks.Decision{Verdict: hooks.Reject, Reason: "too dear"})
)

// asks is a hook that asks q.
func asks(q hooks.Question) hooks.Func[hooks.ToolCall] {
	return func(ctx context.Context, call *hooks.ToolCall) error { return call.Ask(ctx, q) }
}

// newAsk returns a run with a desk that answers so, in which a guard asks q before
// every tool call.
func newAsk(t *testing.T, answer askAnswer, q hooks.Question, opts ...hooks.Option) (context.Context, *hooks.Registry, *askDesk) {
	t.Helper()
	ctx, r := newRun(t)
	d := &askDesk{answer: answer}
	hooks.Guard(hooks.PreToolCall, asks(q), append([]hooks.Option{hooks.In(r), hooks.WithName("approval")}, opts...)...)
	return hooks.WithDesk(ctx, d), r, d
}

// askCall returns a call that can be asked about.
func askCall() *hooks.ToolCall {
	return &hooks.ToolCall{Caller: hooks.Caller{RunID: "run-1"}, ID: "c1", Name: "pay", Input: map[string]any{"amount": 5.0}}
}

// never is the body of a call that must not run.
func never(t *testing.T) func(context.Context, *hooks.ToolCall) error {
	t.Helper()
	return func(_ context.Context, call *hooks.ToolCall) error {
		t.Error("the tool ran: " + call.Name)
		return nil
	}
}

func TestAsk_answers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer  askAnswer
		ran     bool
		waits   bool
		blocked string // the reason
		told    bool   // the desk, that the call has ended
	}{
		"approved":                  {answer: approves, ran: true, told: true},
		"rejected":                  {answer: rejects, blocked: "too dear"},
		"rejected without a reason": {answer: decide(hooks.Decision{Verdict: hooks.Reject}), blocked: "not approved"},
		"not decided":               {waits: true},
		"the desk fails": {
			answer: func(context.Context, *hooks.Question) (hooks.Decision, bool, error) {
				return hooks.Decision{}, true, errBroken
			},
			blocked: "approval failed",
		},
		"the desk fails, with a decision": {
			answer: func(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
				return hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}, true, errBroken
			},
			blocked: "approval failed",
		},
		"the desk panics": {answer: func(context.Context, *hooks.Question) (hooks.Decision, bool, error) { panic("bug") }, blocked: "approval failed"},
		"another digest": {answer: func(context.Context, *hooks.Question) (hooks.Decision, bool, error) {
			return hooks.Decision{Verdict: hooks.Approve, Digest: "other"}, true, nil
		}, blocked: "approval failed", told: true},
		"no digest": {answer: func(context.Context, *hooks.Question) (hooks.Decision, bool, error) {
			return hooks.Decision{Verdict: hooks.Approve}, true, nil
		}, blocked: "approval failed", told: true},
		"another's rejection": {answer: func(context.Context, *hooks.Question) (hooks.Decision, bool, error) {
			return hooks.Decision{Verdict: hooks.Reject, Digest: "other"}, true, nil
		}, blocked: "approval failed", told: true},
		"no verdict":            {answer: decide(hooks.Decision{}), blocked: "approval failed", told: true},
		"an unknown verdict":    {answer: decide(hooks.Decision{Verdict: "postpone"}), blocked: "approval failed", told: true},
		"editing isn't allowed": {answer: decide(hooks.Decision{Verdict: hooks.Edit, Arguments: `{"amount":1}`}), blocked: "approval failed", told: true},
		"memory isn't offered":  {answer: decide(hooks.Decision{Verdict: hooks.Approve, Remember: hooks.SameArguments}), blocked: "approval failed", told: true},
		"once":                  {answer: decide(hooks.Decision{Verdict: hooks.Approve, Remember: hooks.Once}), ran: true, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, _, d := newAsk(t, tt.answer, hooks.Question{})
			call := askCall()
			ran := false
			err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error { ran = true; call.Result = "paid"; return nil })
			assert.Equal(t, tt.ran, ran)
			assert.Equal(t, 5.0, call.Input["amount"])
			q := d.only(t)
			switch {
			case tt.waits:
				assert.Equal(t, []hooks.Question{q}, suspended(t, err).Questions)
				assert.Same(t, suspended(t, err), call.Suspended())
				assert.Empty(t, call.Result)
			case tt.ran:
				require.NoError(t, err)
				assert.Equal(t, "paid", call.Result)
				assert.Nil(t, call.Suspended())
			default:
				require.NoError(t, err)
				require.NotNil(t, call.Blocked)
				assert.Equal(t, tt.blocked, call.Blocked.Reason)
				assert.Equal(t, "approval", call.Blocked.Source)
				assert.Equal(t, hooks.PreToolCall.Name(), call.Blocked.Point)
				assert.NotContains(t, call.Result, "broken")
			}
			if tt.told {
				assert.Equal(t, []string{q.ID}, d.done())
			} else {
				assert.Empty(t, d.done(), "nothing was used up")
			}
		})
	}
}

// A verdict that the question may have, and a memory that it offers, are taken.
func TestAsk_allowedAnswers(t *testing.T) {
	t.Parallel()
	ctx, _, _ := newAsk(t, decide(hooks.Decision{Verdict: hooks.Approve, Remember: hooks.SameArguments}),
		hooks.Question{May: []hooks.Verdict{hooks.Approve, hooks.Reject}, Offer: []hooks.Remember{hooks.SameArguments}})
	call := askCall()
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)

	ctx, _, _ = newAsk(t, approves, hooks.Question{May: []hooks.Verdict{hooks.Reject}})
	call = askCall()
	require.NoError(t, hooks.RunTool(ctx, call, never(t)))
	assert.NotNil(t, call.Blocked)
}

// What Ask fills in, whatever a hook wrote there, and what it leaves.
func TestAsk_completesQuestion(t *testing.T) {
	t.Parallel()
	given := hooks.Question{
		ID: "forged", Digest: "forged", RunID: "forged", RootRunID: "forged", Tenant: "forged", AgentRole: "forged",
		CallID: "forged", Tool: "forged", Arguments: "forged", Path: []string{"forged"}, Again: 7,
		Key: "limit", Prompt: "Really?", Audience: []string{"finance"}, May: []hooks.Verdict{hooks.Approve},
		Offer: []hooks.Remember{hooks.Once}, Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), Details: map[string]string{"to": "ana"},
	}
	ctx, _, d := newAsk(t, nil, given)
	call := askCall()
	call.Tenant, call.AgentRole = "acme", "Clerk"
	err := hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "run-9"}}, func(ctx context.Context, _ *hooks.Execution) error {
		return hooks.RunTool(ctx, call, never(t))
	})
	q := d.only(t)
	want := given
	want.ID, want.Digest = q.ID, q.Digest
	want.RunID, want.RootRunID, want.Tenant, want.AgentRole = "run-1", "run-9", "acme", "Clerk"
	want.CallID, want.Tool, want.Arguments, want.Path, want.Again = "c1", "pay", `{"amount":5}`, nil, 0
	assert.Equal(t, want, q)
	assert.Len(t, q.ID, 64)
	assert.Equal(t, digestOf(q), q.Digest)
	assert.NotEqual(t, q.ID, q.Digest)
	assert.Equal(t, []hooks.Question{q}, suspended(t, err).Questions)
}

func TestAsk_defaults(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	d := &askDesk{}
	reg := hooks.On(hooks.PreToolCall, asks(hooks.Question{}), hooks.In(r)) // without a name
	call := askCall()
	call.Name, call.Input = "pay\nnow", nil
	require.Error(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, never(t)))
	q := d.only(t)
	assert.Equal(t, reg.Name(), q.Key)
	assert.Equal(t, `The agent wants to run pay\u000anow.`, q.Prompt, "a name can't make itself a second line")
	assert.Equal(t, `{}`, q.Arguments)
	assert.Nil(t, q.May)
	assert.Nil(t, q.Offer)
	assert.True(t, q.Expires.IsZero())
}

// A desk that writes into its question writes into nothing of the hook's.
func TestAsk_questionIsTheDesksOwn(t *testing.T) {
	t.Parallel()
	given := hooks.Question{Audience: []string{"finance"}, May: []hooks.Verdict{hooks.Approve}, Offer: []hooks.Remember{hooks.Once}, Details: map[string]string{"to": "ana"}}
	ctx, _, _ := newAsk(t, func(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
		q.Audience[0], q.May[0], q.Offer[0], q.Details["to"] = "eve", "x", "x", "eve"
		return hooks.Decision{}, false, nil
	}, given)
	require.Error(t, hooks.RunTool(ctx, askCall(), never(t)))
	assert.Equal(t, hooks.Question{Audience: []string{"finance"}, May: []hooks.Verdict{hooks.Approve}, Offer: []hooks.Remember{hooks.Once}, Details: map[string]string{"to": "ana"}}, given)
}

// Which questions are the same one, and so have one ID.
func TestAsk_idTellsQuestionsApart(t *testing.T) {
	t.Parallel()
	idOf := func(t *testing.T, q hooks.Question, change func(*hooks.ToolCall)) string {
		t.Helper()
		ctx, _, d := newAsk(t, nil, q)
		call := askCall()
		change(call)
		require.Error(t, hooks.RunTool(ctx, call, never(t)))
		return d.only(t).ID
	}
	same := idOf(t, hooks.Question{}, func(*hooks.ToolCall) {})
	for name, tt := range map[string]struct {
		change func(*hooks.ToolCall)
		other  bool
	}{
		"run":       {func(c *hooks.ToolCall) { c.RunID = "run-2" }, true},
		"root":      {func(c *hooks.ToolCall) { c.RootRunID = "run-0" }, true},
		"call":      {func(c *hooks.ToolCall) { c.ID = "c2" }, true},
		"tool":      {func(c *hooks.ToolCall) { c.Name = "Pay" }, true},
		"role":      {func(c *hooks.ToolCall) { c.AgentRole = "Clerk" }, true},
		"tenant":    {func(c *hooks.ToolCall) { c.Tenant = "acme" }, true},
		"arguments": {func(c *hooks.ToolCall) { c.Input["amount"] = 6.0 }, true},
		"sub-run":   {func(c *hooks.ToolCall) { c.RunID, c.RootRunID = "run-2", "run-1" }, false},
		"objects":   {func(c *hooks.ToolCall) { c.Tool, c.Agent, c.Request = "t", "a", "r" }, false},
	} {
		assert.Equal(t, tt.other, idOf(t, hooks.Question{}, tt.change) != same, name)
	}
	assert.NotEqual(t, same, idOf(t, hooks.Question{Key: "other"}, func(*hooks.ToolCall) {}))
	assert.Equal(t, same, idOf(t, hooks.Question{Key: "approval"}, func(*hooks.ToolCall) {}), "the hook's name")
	assert.Equal(t, same, idOf(t, hooks.Question{Prompt: "Other?"}, func(*hooks.ToolCall) {}))
}

// Inputs that mean the same to a tool are one question: after a resume they are
// read anew from what was saved.
func TestAsk_argumentsAreCanonical(t *testing.T) {
	t.Parallel()
	type money struct {
		Unit   string `json:"unit"`
		Amount int    `json:"amount"`
	}
	seen := make(map[string]string)
	for name, input := range map[string]map[string]any{
		"parsed":  {"sum": map[string]any{"amount": 5.0, "unit": "€"}, "n": 1.0},
		"structs": {"sum": money{"€", 5}, "n": 1},
		"numbers": {"sum": map[string]any{"amount": json.Number("5.0"), "unit": "€"}, "n": json.Number("1e0")},
		"raw":     {"sum": json.RawMessage(` {"unit":"\u20ac","amount":5} `), "n": json.RawMessage(`1.00`)},
	} {
		ctx, _, d := newAsk(t, nil, hooks.Question{})
		call := askCall()
		call.Input = input
		require.Error(t, hooks.RunTool(ctx, call, never(t)))
		q := d.only(t)
		assert.Equal(t, `{"n":1,"sum":{"amount":5,"unit":"€"}}`, q.Arguments, name)
		seen[q.Digest] = q.ID
	}
	assert.Len(t, seen, 1)
}

// A replay in another process finds its question.
func TestAsk_sameQuestionAfterResume(t *testing.T) {
	t.Parallel()
	var ids, digests, runs []string
	raw := `{"amount": 12345678901234567890, "to":"ana"}`
	for range 2 {
		ctx, _, d := newAsk(t, nil, hooks.Question{}, hooks.WithTools("pay"))
		err := hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "saved"}, Resumed: len(ids) > 0}, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunTool(ctx, &hooks.ToolCall{ID: "delegation", Name: "delegate"}, func(ctx context.Context, _ *hooks.ToolCall) error {
				return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
					call := &hooks.ToolCall{ID: "c1", Name: "pay"}
					require.NoError(t, call.SetArguments(raw))
					return hooks.RunTool(ctx, call, never(t))
				})
			})
		})
		require.Error(t, err)
		q := d.only(t)
		ids, digests, runs = append(ids, q.ID), append(digests, q.Digest), append(runs, q.RunID)
		assert.Equal(t, "saved", q.RootRunID)
		assert.Equal(t, []string{"delegation"}, q.Path)
	}
	assert.Equal(t, ids[0], ids[1])
	assert.Equal(t, digests[0], digests[1])
	assert.NotEqual(t, runs[0], runs[1], "a sub-agent's run is another one")
}

// After an Ask that didn't say yes the tool doesn't run, whatever the hook makes of
// it, and whether there is a desk or nobody to ask.
func TestAsk_refusesWhateverTheHookReturns(t *testing.T) {
	t.Parallel()
	for answered, answer := range map[string]askAnswer{
		"waits": nil, "rejected": rejects,
		"fails": func(context.Context, *hooks.Question) (hooks.Decision, bool, error) {
			return hooks.Decision{}, false, errBroken
		},
		"panics":  func(context.Context, *hooks.Question) (hooks.Decision, bool, error) { panic("bug") },
		"foreign": decide(hooks.Decision{Verdict: "postpone"}),
	} {
		for made, hook := range map[string]func(error) error{
			"nothing":   func(error) error { return nil },
			"as it is":  func(err error) error { return err },
			"wrapped":   func(err error) error { return fmt.Errorf("approval: %w", err) },
			"by text":   func(err error) error { return errors.New(err.Error()) },
			"a failure": func(error) error { return errBroken },
			"a panic":   func(error) error { panic("bug") },
		} {
			for kind, opts := range map[string][]hooks.Option{"hook": nil, "guard": {hooks.AsGuard()}} {
				for _, desk := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%s/%s/desk %v", answered, made, kind, desk), func(t *testing.T) {
						t.Parallel()
						ctx, r := newRun(t)
						if desk {
							ctx = hooks.WithDesk(ctx, &askDesk{answer: answer})
						}
						hooks.On(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
							defer func() {
								if made != "a panic" && answered == "panics" {
									_ = recover()
								}
							}()
							err := call.Ask(ctx, hooks.Question{})
							assert.Error(t, err)
							return hook(err)
						}, append(opts, hooks.In(r))...)
						call := askCall()
						err := hooks.RunTool(ctx, call, never(t))
						refused := kind == "guard" && made != "nothing" && made != "as it is" && made != "wrapped" // it has failed
						if desk && answered == "waits" && !refused {
							assert.NotNil(t, suspended(t, err))
							assert.Nil(t, call.Blocked)
							assert.Empty(t, call.Result)
						} else {
							require.NoError(t, err)
							require.NotNil(t, call.Blocked)
							assert.NotContains(t, call.Result, "bug")
							assert.NotContains(t, call.Result, "broken")
						}
					})
				}
			}
		}
	}
}

// Where a question could belong to no call, to two, or to nobody, asking is an
// error, by which a hook that returns it refuses, an ordinary one too.
func TestAsk_elsewhereIsError(t *testing.T) {
	t.Parallel()
	d := &askDesk{answer: approves}
	type outer struct{ context.Context }
	for name, tt := range map[string]struct {
		change func(*hooks.ToolCall)
		ask    func(ctx context.Context, call *hooks.ToolCall) error
		text   string
	}{
		"without a run":       {func(c *hooks.ToolCall) { c.RunID = "" }, nil, "belongs to no run"},
		"without an ID":       {func(c *hooks.ToolCall) { c.ID = "" }, nil, "has no ID"},
		"what JSON can't say": {func(c *hooks.ToolCall) { c.Input["f"] = func() {} }, nil, "can't be shown"},
		"no ctx":              {nil, func(_ context.Context, call *hooks.ToolCall) error { return call.Ask(noCtx, hooks.Question{}) }, "no pre hooks"},
		"another ctx": {nil, func(_ context.Context, call *hooks.ToolCall) error {
			return call.Ask(context.Background(), hooks.Question{})
		}, "no pre hooks"},
		"another call": {nil, func(ctx context.Context, _ *hooks.ToolCall) error { return askCall().Ask(ctx, hooks.Question{}) }, "no pre hooks"},
		"no call": {nil, func(ctx context.Context, _ *hooks.ToolCall) error {
			return (*hooks.ToolCall)(nil).Ask(ctx, hooks.Question{})
		}, "no pre hooks"},
		"a desk of the hook's, without a Key": {nil, func(ctx context.Context, call *hooks.ToolCall) error {
			return call.Ask(hooks.WithDesk(ctx, d), hooks.Question{})
		}, "has no Key"},
		"nobody to ask": {nil, func(ctx context.Context, call *hooks.ToolCall) error { return call.Ask(ctx, hooks.Question{}) }, "nobody to ask"},
	} {
		for kind, opts := range map[string][]hooks.Option{"hook": nil, "guard": {hooks.AsGuard()}} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				ctx, r := newRun(t)
				ask := tt.ask
				if ask == nil {
					ask = asks(hooks.Question{})
					ctx = hooks.WithDesk(ctx, d)
				}
				hooks.On(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
					err := ask(ctx, call)
					assert.ErrorContains(t, err, tt.text)
					return err
				}, append(opts, hooks.In(r), hooks.WithName("approval"))...)
				call := askCall()
				if tt.change != nil {
					tt.change(call)
				}
				require.NoError(t, hooks.RunTool(outer{ctx}, call, never(t)))
				require.NotNil(t, call.Blocked)
				assert.Equal(t, "approval failed", call.Blocked.Reason)
			})
		}
	}
	assert.Empty(t, d.questions())
}

// Ask is for the pre hooks of a call that goes through the seam.
func TestAsk_atOtherPointsIsError(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	d := &askDesk{answer: approves}
	ctx = hooks.WithDesk(ctx, d)
	call := askCall()
	var errs []error
	ask := func(ctx context.Context) error {
		errs = append(errs, call.Ask(ctx, hooks.Question{Key: "k"}))
		return nil
	}
	allPoints(r, func(ctx context.Context, p hooks.InterceptionPoint) error {
		if p == "pre_tool_call" {
			return nil
		}
		return ask(ctx)
	})
	hooks.Watch(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall, _ error) {
		_ = ask(ctx)
		errs = append(errs, c.Ask(ctx, hooks.Question{Key: "k"}))
	}, hooks.In(r))
	o := r.Observe(func(ctx context.Context, _ hooks.HookDispatchedEvent) { _ = ask(ctx) })
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		return hooks.RunStep(ctx, &hooks.Step{}, func(ctx context.Context, _ *hooks.Step) error {
			if err := hooks.RunModel(ctx, &hooks.ModelCall{}, func(ctx context.Context, _ *hooks.ModelCall) error { return ask(ctx) }); err != nil {
				return err
			}
			return hooks.RunTool(ctx, call, func(ctx context.Context, _ *hooks.ToolCall) error { return ask(ctx) })
		})
	})
	require.NoError(t, err)
	o.Remove()
	require.Greater(t, len(errs), 12)
	for _, err := range errs {
		assert.ErrorContains(t, err, "no pre hooks of this call run")
	}
	assert.Empty(t, d.questions())

	// A loop on Dispatch has nobody who would tell the desk of the call's end.
	hooks.On(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error { return c.Ask(ctx, hooks.Question{Key: "k"}) }, hooks.In(r))
	aborted(t, hooks.Dispatch(ctx, hooks.PreToolCall, askCall()))
	assert.Empty(t, d.questions())
}

// Once a hook has returned, its ctx asks nothing more.
func TestAsk_afterTheHooksIsError(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	d := &askDesk{answer: approves}
	var kept context.Context
	hooks.On(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error { kept = ctx; return nil }, hooks.In(r))
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, func(context.Context, *hooks.ToolCall) error {
		assert.ErrorContains(t, call.Ask(kept, hooks.Question{}), "no pre hooks")
		return nil
	}))
	assert.ErrorContains(t, call.Ask(kept, hooks.Question{}), "no pre hooks")
	assert.Empty(t, d.questions())
}

// A hook that doesn't wait for the answer has none, and what comes of it late is
// used up by nothing.
func TestAsk_unawaitedRefuses(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	asked, answered, late := make(chan struct{}), make(chan struct{}), make(chan error)
	d := &askDesk{answer: func(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
		close(asked)
		<-answered
		return approves(ctx, q)
	}}
	hooks.On(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		go func() { late <- call.Ask(ctx, hooks.Question{}) }()
		<-asked
		return nil
	}, hooks.In(r))
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, never(t)))
	require.NotNil(t, call.Blocked)
	assert.Equal(t, "a hook didn't wait for the answer to its question", call.Blocked.Reason)
	assert.Empty(t, d.done())
	close(answered)
	assert.NoError(t, <-late)
	assert.Equal(t, []string{d.only(t).ID}, d.done())
}

// The model reads what is wrong with the arguments, and nobody is asked.
func TestAsk_unreadableArguments(t *testing.T) {
	t.Parallel()
	ctx, _, d := newAsk(t, approves, hooks.Question{})
	call := askCall()
	require.Error(t, call.SetArguments(`[]`))
	require.NoError(t, hooks.RunTool(ctx, call, never(t)))
	assert.Contains(t, call.Result, "arguments must be one JSON object")
	assert.Empty(t, d.questions())
}

// A decision is used up by one passage of the seam, and the desk is told of its
// end on every way out of it.
func TestAsk_doneOnEveryWayOut(t *testing.T) {
	t.Parallel()
	type test struct {
		body      func(context.Context, *hooks.ToolCall) error // nil: it must not run
		register  func(r *hooks.Registry, cancel context.CancelFunc)
		questions int // 1 by default
	}
	ok := seamReturns("paid")
	for name, tt := range map[string]test{
		"ok":       {body: ok},
		"an error": {body: seamRefuse(errBroken)},
		"a panic":  {body: panics[hooks.ToolCall]("bug")},
		"an exit":  {body: func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil }},
		"an abort": {body: seamRefuse(hooks.AbortRun("enough"))},
		"no tool":  {body: seamRefuse(hooks.ErrNoTool)},
		"it waits": {body: seamRefuse(hooks.PassThrough(errWait))},
		"cancelled": {register: func(r *hooks.Registry, cancel context.CancelFunc) {
			hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { cancel(); return nil }, hooks.In(r))
		}},
		"cancelled in the body": {body: ok, register: func(r *hooks.Registry, cancel context.CancelFunc) {
			hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { cancel(); return nil }, hooks.In(r))
		}},
		"a later guard refuses": {register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.Guard(hooks.PreToolCall, seamRefuse(hooks.Abort("no")), hooks.In(r))
		}},
		"a later guard stops": {register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.Guard(hooks.PreToolCall, seamRefuse(hooks.AbortRun("no")), hooks.In(r))
		}},
		"a later guard exits": {register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil }, hooks.In(r))
		}},
		"a later guard waits": {register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.Guard(hooks.PreToolCall, seamRefuse(hooks.PassThrough(errWait)), hooks.In(r))
		}},
		"a second question waits": {questions: 2, register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.Guard(hooks.PreToolCall, asks(hooks.Question{Key: "second"}), hooks.In(r))
		}},
		"answered": {register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.On(hooks.PreToolCall, edit(func(c *hooks.ToolCall) { c.Answer("ready") }), hooks.In(r))
		}},
		"a watch exits": {register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.Watch(hooks.PreToolCall, func(context.Context, *hooks.ToolCall, error) { runtime.Goexit() }, hooks.In(r))
		}},
		"a post hook exits": {body: ok, register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { runtime.Goexit(); return nil }, hooks.In(r))
		}},
		"withheld": {body: ok, register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.Guard(hooks.PostToolCall, seamRefuse(hooks.Abort("no")), hooks.In(r))
		}},
		"a post hook waits": {body: ok, register: func(r *hooks.Registry, _ context.CancelFunc) {
			hooks.On(hooks.PostToolCall, seamRefuse(hooks.PassThrough(errWait)), hooks.In(r))
		}},
	} {
		for form, run := range map[string]func(ctx context.Context, call *hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) error{
			"RunTool": hooks.RunTool,
			"RunTools": func(ctx context.Context, call *hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) error {
				return hooks.RunTools(ctx, []*hooks.ToolCall{call}, 1, body)
			},
			"BeginTool": func(ctx context.Context, call *hooks.ToolCall, body func(context.Context, *hooks.ToolCall) error) (err error) {
				ctx, end, err := hooks.BeginTool(ctx, call)
				if err != nil {
					return err
				}
				defer hooks.End(end, &err)
				if call.ShouldRun() {
					return body(ctx, call)
				}
				return nil
			},
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				first := true
				answer := func(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
					if !first {
						return hooks.Decision{}, false, nil
					}
					first = false
					return approves(ctx, q)
				}
				ctx, r, d := newAsk(t, answer, hooks.Question{})
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				if tt.register != nil {
					tt.register(r, cancel)
				}
				call := askCall()
				var inBody, inPost []string
				hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { inPost = d.done(); return nil }, hooks.In(r), hooks.WithPriority(9))
				body := tt.body
				if body == nil {
					body = never(t)
				}
				seamLeave(t, func() error {
					return run(ctx, call, func(ctx context.Context, call *hooks.ToolCall) error {
						inBody = d.done()
						return body(ctx, call)
					})
				})
				assert.Empty(t, inBody, "it has not ended")
				assert.Empty(t, inPost, "it has not ended")
				require.Len(t, d.questions(), max(1, tt.questions))
				assert.Equal(t, []string{d.questions()[0].ID}, d.done())
			})
		}
	}
}

// The desk is told under a ctx that lives, since a cancelled call has ended as
// well.
func TestAsk_doneGetsALiveCtx(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, r := newRun(t)
	d := &doneDesk{askDesk: askDesk{answer: approves}}
	hooks.Guard(hooks.PreToolCall, asks(hooks.Question{}), hooks.In(r))
	ctx, cancel := context.WithCancel(context.WithValue(ctx, key{}, "kept"))
	d.told = func(ctx context.Context) error {
		assert.NoError(t, ctx.Err())
		assert.Equal(t, "kept", ctx.Value(key{}))
		return nil
	}
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), askCall(), func(context.Context, *hooks.ToolCall) error { cancel(); return nil }))
	assert.EqualValues(t, 1, d.calls.Load())
}

// doneDesk is an askDesk that does something when it is told of an end.
type doneDesk struct {
	askDesk
	told  func(context.Context) error
	calls atomic.Int64
}

func (d *doneDesk) Done(ctx context.Context, id string) error {
	d.calls.Add(1)
	_ = d.askDesk.Done(ctx, id)
	return d.told(ctx)
}

// A desk that can't be told changes nothing for the call, and the log says so.
func TestAsk_failingDoneIsLogged(t *testing.T) {
	l := captureLog(t)
	for name, told := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errBroken },
		"a panic":  func(context.Context) error { panic(errBroken) },
	} {
		ctx, r := newRun(t)
		d := &doneDesk{askDesk: askDesk{answer: approves}, told: told}
		hooks.Guard(hooks.PreToolCall, asks(hooks.Question{Key: "first"}), hooks.In(r))
		hooks.Guard(hooks.PreToolCall, asks(hooks.Question{Key: "second"}), hooks.In(r))
		call := askCall()
		require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, seamReturns("paid")), name)
		assert.Equal(t, "paid", call.Result)
		assert.EqualValues(t, 2, d.calls.Load(), "the next question all the same")
		lines := l.take()
		require.Len(t, lines, 2)
		for i, line := range lines {
			assert.Equal(t, slog.LevelError, line.level)
			assert.Contains(t, line.msg, "the desk could not be told")
			assert.Equal(t, d.questions()[i].ID, line.attrs["question"].String())
			assert.NotContains(t, fmt.Sprint(line.attrs), "amount")
		}
	}
}

// A desk that ends the goroutine ends the call, and nothing is left open.
func TestAsk_deskThatExits(t *testing.T) {
	t.Parallel()
	exit := func(context.Context) error { runtime.Goexit(); return nil }

	ctx, r := newRun(t)
	d := &doneDesk{askDesk: askDesk{answer: approves}, told: exit}
	hooks.Guard(hooks.PreToolCall, asks(hooks.Question{Key: "first"}), hooks.In(r))
	hooks.Guard(hooks.PreToolCall, asks(hooks.Question{Key: "second"}), hooks.In(r))
	call := askCall()
	left := seamLeave(t, func() error { return hooks.RunTool(hooks.WithDesk(ctx, d), call, seamReturns("paid")) })
	assert.True(t, left.exited)
	assert.EqualValues(t, 2, d.calls.Load(), "the next question all the same")
	assert.Equal(t, "paid", call.Result)

	ctx, _, asked := newAsk(t, func(ctx context.Context, _ *hooks.Question) (hooks.Decision, bool, error) {
		return hooks.Decision{}, false, exit(ctx)
	}, hooks.Question{})
	call = askCall()
	left = seamLeave(t, func() error { return hooks.RunTool(ctx, call, never(t)) })
	assert.True(t, left.exited)
	assert.True(t, call.IsError())
	assert.Empty(t, asked.done())
}

// A passage asks its desk once for what it has let through, and the next passage
// asks again.
func TestAsk_onePassageOneUse(t *testing.T) {
	t.Parallel()
	ctx, r, d := newAsk(t, approves, hooks.Question{})
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return errors.Join(call.Ask(ctx, hooks.Question{Key: "approval"}), call.Ask(ctx, hooks.Question{Key: "approval"}))
	}, hooks.In(r))
	call := askCall()
	for n := 1; n <= 2; n++ {
		require.NoError(t, hooks.RunTool(ctx, call, seamReturns("paid")))
		assert.Equal(t, "paid", call.Result)
		assert.Len(t, d.questions(), n)
		assert.Len(t, d.done(), n)
	}
}

// A desk may ask anew, with Again: then a decision has to fit that.
func TestAsk_again(t *testing.T) {
	t.Parallel()
	var first string
	again := func(digest func(q *hooks.Question) string) askAnswer {
		return func(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
			first = q.Digest
			q.Again++
			q.Rebind()
			if digest == nil {
				return hooks.Decision{}, false, nil
			}
			return hooks.Decision{Verdict: hooks.Approve, Digest: digest(q)}, true, nil
		}
	}
	ctx, _, d := newAsk(t, again(nil), hooks.Question{})
	q := suspended(t, hooks.RunTool(ctx, askCall(), never(t))).Questions[0]
	assert.Equal(t, 1, q.Again)
	assert.Equal(t, d.only(t).ID, q.ID)
	assert.NotEqual(t, d.only(t).Digest, q.Digest)
	assert.Equal(t, digestOf(q), q.Digest)

	ctx, _, _ = newAsk(t, again(func(q *hooks.Question) string { return q.Digest }), hooks.Question{})
	call := askCall()
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)

	ctx, _, _ = newAsk(t, again(func(*hooks.Question) string { return first }), hooks.Question{})
	call = askCall()
	require.NoError(t, hooks.RunTool(ctx, call, never(t)))
	assert.NotNil(t, call.Blocked, "the decision is for the asking before")
}

var mayEdit = []hooks.Verdict{hooks.Approve, hooks.Reject, hooks.Edit}

// An edited call runs with the arguments of the decision, once all guards have
// looked at them.
func TestAsk_edit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arguments string
		may       []hooks.Verdict
		amount    any    // with which it runs, nil if it doesn't
		reason    string // else
	}{
		"edited":             {`{"amount": 3}`, mayEdit, 3.0, ""},
		"to what it was":     {`{"amount":5}`, mayEdit, 5.0, ""},
		"other keys":         {`{"to":"ana","amount":3}`, mayEdit, 3.0, ""},
		"over the limit":     {`{"amount": 1000}`, mayEdit, nil, "at most 100"},
		"a key twice":        {`{"amount":3,"amount":3}`, mayEdit, nil, "approval failed"},
		"no object":          {`[3]`, mayEdit, nil, "approval failed"},
		"no arguments":       {" \n", mayEdit, nil, "approval failed"},
		"must not be edited": {`{"amount": 3}`, nil, nil, "approval failed"},
	} {
		for _, observed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/observed ", observed), func(t *testing.T) {
				t.Parallel()
				ctx, r, d := newAsk(t, decide(hooks.Decision{Verdict: hooks.Edit, Arguments: tt.arguments}), hooks.Question{May: tt.may})
				if observed {
					record(t, r)
				}
				var seen, seenEarlier []float64
				limit := func(seen *[]float64) hooks.Func[hooks.ToolCall] {
					return func(_ context.Context, call *hooks.ToolCall) error {
						amount, err := call.NumberArg("amount")
						if err != nil {
							return err
						}
						*seen = append(*seen, amount)
						if amount > 100 {
							return hooks.Abort("at most 100")
						}
						return nil
					}
				}
				hooks.Guard(hooks.PreToolCall, limit(&seenEarlier), hooks.In(r), hooks.WithPriority(9))
				hooks.Guard(hooks.PreToolCall, limit(&seen), hooks.In(r), hooks.WithPriority(-9))
				call := askCall()
				var amount any
				require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
					amount = call.Input["amount"]
					return nil
				}))
				assert.Equal(t, tt.amount, amount)
				assert.Len(t, d.questions(), 1, "the edited call counts as approved")
				assert.Equal(t, []string{d.only(t).ID}, d.done())
				if tt.amount == nil {
					require.NotNil(t, call.Blocked)
					assert.Equal(t, tt.reason, call.Blocked.Reason)
					if tt.reason == "approval failed" {
						assert.Equal(t, 5.0, call.Input["amount"], "an edit that isn't taken changes nothing")
					}
					return
				}
				assert.Equal(t, []float64{5, tt.amount.(float64)}, seenEarlier)
				assert.Equal(t, []float64{tt.amount.(float64), tt.amount.(float64)}, seen)
			})
		}
	}
}

// An edit of an ordinary hook, which comes before the guards, is judged by them.
func TestAsk_editByHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	d := &askDesk{answer: decide(hooks.Decision{Verdict: hooks.Edit, Arguments: `{"amount":1000}`})}
	hooks.On(hooks.PreToolCall, asks(hooks.Question{May: mayEdit}), hooks.In(r))
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if call.Input["amount"] == 1000.0 {
			return hooks.Abort("too much")
		}
		return nil
	}, hooks.In(r))
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, never(t)))
	assert.NotNil(t, call.Blocked)
}

// The next one who asks is shown the edited call, and who has asked before is
// asked about it too.
func TestAsk_editIsShownToOthers(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	d := &askDesk{answer: func(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
		if q.Key == "second" && q.Arguments == `{"amount":5}` {
			return decide(hooks.Decision{Verdict: hooks.Edit, Arguments: `{"amount":3}`})(ctx, q)
		}
		return approves(ctx, q)
	}}
	for _, key := range []string{"first", "second", "third"} {
		hooks.Guard(hooks.PreToolCall, asks(hooks.Question{Key: key, May: mayEdit}), hooks.In(r))
	}
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)
	var asked []string
	for _, q := range d.questions() {
		asked = append(asked, q.Key+q.Arguments)
	}
	assert.Equal(t, []string{`first{"amount":5}`, `second{"amount":5}`, `third{"amount":3}`, `first{"amount":3}`}, asked)
	assert.Len(t, d.done(), 4)
}

// Deciders who never agree don't keep a call for ever.
func TestAsk_editsEnd(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	n := 0
	d := &askDesk{answer: func(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
		n++
		return decide(hooks.Decision{Verdict: hooks.Edit, Arguments: fmt.Sprintf(`{"amount":%d}`, n)})(ctx, q)
	}}
	for _, key := range []string{"first", "second"} {
		hooks.Guard(hooks.PreToolCall, asks(hooks.Question{Key: key, May: mayEdit}), hooks.In(r))
	}
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, never(t)))
	require.NotNil(t, call.Blocked)
	assert.Equal(t, "its arguments were edited again and again", call.Blocked.Reason)
	assert.Less(t, n, 50)
	assert.Len(t, d.done(), n)
}

// What was approved is what runs: a hook that changes the call behind the answer
// has it refused.
func TestAsk_changedAfterApproval(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*hooks.ToolCall)
		runs   bool
	}{
		"arguments":                  {func(c *hooks.ToolCall) { c.Input["amount"] = 6.0 }, false},
		"arguments, by SetArguments": {func(c *hooks.ToolCall) { _ = c.SetArguments(`{"amount":6}`) }, false},
		"unreadable arguments":       {func(c *hooks.ToolCall) { _ = c.SetArguments(`{"amount":5`) }, false},
		"unspeakable arguments":      {func(c *hooks.ToolCall) { c.Input["f"] = func() {} }, false},
		"no arguments":               {func(c *hooks.ToolCall) { c.Input = nil }, false},
		"the tool":                   {func(c *hooks.ToolCall) { c.Name = "pay_more" }, false},
		"the tenant":                 {func(c *hooks.ToolCall) { c.Tenant = "other" }, false},
		"the ID":                     {func(c *hooks.ToolCall) { c.ID = "c2" }, false},
		"what nobody was shown":      {func(c *hooks.ToolCall) { c.Put("key", 1); c.Tool = "t" }, true},
		"back again":                 {func(c *hooks.ToolCall) { c.Input = map[string]any{"amount": json.Number("5")} }, true},
	} {
		for kind, opts := range map[string][]hooks.Option{"hook": nil, "guard": {hooks.AsGuard()}} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				ctx, r := newRun(t)
				d := &askDesk{answer: approves}
				opts = append(opts, hooks.In(r))
				hooks.On(hooks.PreToolCall, asks(hooks.Question{}), opts...)
				hooks.On(hooks.PreToolCall, edit(tt.change), opts...)
				call := askCall()
				ran := false
				require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, func(context.Context, *hooks.ToolCall) error { ran = true; return nil }))
				assert.Equal(t, tt.runs, ran)
				assert.Len(t, d.done(), 1)
				if !tt.runs {
					require.NotNil(t, call.Blocked)
					assert.Equal(t, "it was changed after it had been approved", call.Blocked.Reason)
				}
			})
		}
	}
}

// Two guards may ask about one call: each has its own question.
func TestAsk_twoGuards(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second askAnswer
		ran    bool
		waits  string // the key of what it waits for
	}{
		"both approve":       {approves, true, ""},
		"the second waits":   {nil, false, "finance"},
		"the second rejects": {rejects, false, ""},
	} {
		ctx, r := newRun(t)
		d := &askDesk{}
		d.answer = func(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
			switch {
			case q.Key == "security":
				return approves(ctx, q)
			case tt.second != nil:
				return tt.second(ctx, q)
			}
			return hooks.Decision{}, false, nil
		}
		hooks.Guard(hooks.PreToolCall, asks(hooks.Question{}), hooks.In(r), hooks.WithName("security"))
		hooks.Guard(hooks.PreToolCall, asks(hooks.Question{}), hooks.In(r), hooks.WithName("finance"))
		call := askCall()
		ran := false
		err := hooks.RunTool(hooks.WithDesk(ctx, d), call, func(context.Context, *hooks.ToolCall) error { ran = true; return nil })
		assert.Equal(t, tt.ran, ran, name)
		asked := d.questions()
		require.Len(t, asked, 2, name)
		assert.NotEqual(t, asked[0].ID, asked[1].ID, name)
		if tt.waits != "" {
			waits := suspended(t, err).Questions
			require.Len(t, waits, 1, name)
			assert.Equal(t, tt.waits, waits[0].Key, name)
		} else {
			assert.NoError(t, err, name)
		}
	}
}

// Hooks without names that were registered at one place look alike, and what one
// of them was allowed isn't allowed to the other.
func TestAsk_hooksFromOnePlace(t *testing.T) {
	t.Parallel()
	register := func(r *hooks.Registry, q hooks.Question, opts ...hooks.Option) {
		for range 2 {
			hooks.Guard(hooks.PreToolCall, asks(q), append(opts, hooks.In(r))...)
		}
	}
	for name, tt := range map[string]struct {
		q    hooks.Question
		opts []hooks.Option
		runs bool
	}{
		"without names": {hooks.Question{}, nil, false},
		"with one name": {hooks.Question{}, []hooks.Option{hooks.WithName("approval")}, true},
		"with one Key":  {hooks.Question{Key: "approval"}, nil, true},
	} {
		ctx, r := newRun(t)
		d := &askDesk{answer: approves}
		register(r, tt.q, tt.opts...)
		call := askCall()
		ran := false
		require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, func(context.Context, *hooks.ToolCall) error { ran = true; return nil }))
		assert.Equal(t, tt.runs, ran, name)
		assert.Len(t, d.questions(), 1, name)
		assert.Equal(t, tt.runs, call.Blocked == nil, name)
	}
}

// Nobody is asked about what another guard refuses, where the one that asks is the
// last.
func TestAsk_lastGuardAsksNobodyInVain(t *testing.T) {
	t.Parallel()
	ctx, r, d := newAsk(t, approves, hooks.Question{}, hooks.WithPriority(-900))
	hooks.Guard(hooks.PreToolCall, seamRefuse(hooks.Abort("no")), hooks.In(r))
	require.NoError(t, hooks.RunTool(ctx, askCall(), never(t)))
	assert.Empty(t, d.questions())
}

// What several hooks were told, and kept to themselves, comes out as one.
func TestAsk_swallowedQuestionsAreJoined(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	log := record(t, r)
	swallow := func(key string) hooks.Func[hooks.ToolCall] {
		return func(ctx context.Context, call *hooks.ToolCall) error {
			_ = call.Ask(ctx, hooks.Question{Key: key})
			_ = call.Ask(ctx, hooks.Question{Key: key})
			return nil
		}
	}
	hooks.On(hooks.PreToolCall, swallow("first"), hooks.In(r))
	hooks.On(hooks.PreToolCall, swallow("second"), hooks.In(r))
	reg := hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return fmt.Errorf("third: %w", call.Ask(ctx, hooks.Question{Key: "third"}))
	}, hooks.In(r))
	keys := func(err error) (keys []string) {
		for _, q := range suspended(t, err).Questions {
			keys = append(keys, q.Key)
		}
		return keys
	}
	ctx = hooks.WithDesk(ctx, &askDesk{})
	err := hooks.RunTool(ctx, askCall(), never(t))
	assert.ElementsMatch(t, []string{"first", "second", "third"}, keys(err))
	assert.ErrorContains(t, err, "third: ")
	assert.Equal(t, hooks.OutcomeSuspended, log.one(t).Outcome)

	reg.Remove()
	err = hooks.RunTool(ctx, askCall(), never(t))
	assert.Equal(t, []string{"first", "second"}, keys(err))
	ev := log.one(t)
	assert.Equal(t, hooks.OutcomeSuspended, ev.Outcome, "whatever the hooks returned")
	assert.Equal(t, []hooks.Outcome{hooks.OutcomeProceeded, hooks.OutcomeProceeded}, outcomes(ev))
}

// The event of a call whose refusal the hook kept to itself tells of it.
func TestAsk_eventOfSwallowedRejection(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	log := record(t, r)
	var watched error
	hooks.On(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error { _ = call.Ask(ctx, hooks.Question{}); return nil }, hooks.In(r))
	hooks.Watch(hooks.PreToolCall, func(_ context.Context, _ *hooks.ToolCall, err error) { watched = err }, hooks.In(r))
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, &askDesk{answer: rejects}), call, never(t)))
	ev := log.one(t)
	assert.Equal(t, hooks.OutcomeAborted, ev.Outcome)
	assert.Equal(t, "too dear", ev.AbortReason)
	assert.Equal(t, "too dear", aborted(t, watched).Reason)
	assert.Equal(t, "too dear", call.Blocked.Reason)
}

// A question of a sub-agent says in which tool calls it arose, so that the same
// call in two of them is two questions.
func TestAsk_path(t *testing.T) {
	t.Parallel()
	ctx, _, d := newAsk(t, nil, hooks.Question{}, hooks.WithTools("pay"))
	var agent func(ctx context.Context, depth int) error
	agent = func(ctx context.Context, depth int) error {
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			if depth == 0 {
				return hooks.RunTools(ctx, []*hooks.ToolCall{{ID: "c0", Name: "pay"}}, 0, never(t))
			}
			calls := []*hooks.ToolCall{{ID: "c0", Name: "delegate"}, {ID: "c1", Name: "delegate"}}
			var begun sync.WaitGroup // they run beside one another
			begun.Add(len(calls))
			return hooks.RunTools(ctx, calls, 0, func(ctx context.Context, call *hooks.ToolCall) error {
				begun.Done()
				begun.Wait()
				return fmt.Errorf("sub-agent %s: %w", call.ID, agent(ctx, depth-1))
			})
		})
	}
	err := agent(ctx, 4)
	var paths []string
	ids, digests, roots := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, q := range d.questions() {
		paths = append(paths, strings.Join(q.Path, "/"))
		ids[q.ID], digests[q.Digest], roots[q.RootRunID] = true, true, true
	}
	want := []string{"c0", "c1"}
	for range 3 {
		longer := want
		want = nil
		for _, path := range longer {
			want = append(want, path+"/c0", path+"/c1")
		}
	}
	assert.ElementsMatch(t, want, paths)
	assert.Len(t, ids, len(want))
	assert.Len(t, digests, len(want))
	assert.Len(t, roots, 1)
	assert.ElementsMatch(t, d.questions(), suspended(t, err).Questions)
}

// The calls around count, not the calls before, nor those of another desk's run.
func TestAsk_pathIsOfTheBody(t *testing.T) {
	t.Parallel()
	ctx, _, d := newAsk(t, approves, hooks.Question{})
	other := &askDesk{answer: approves}
	paths := func(d *askDesk) (paths []string) {
		for _, q := range d.questions() {
			paths = append(paths, q.CallID+":"+strings.Join(q.Path, "/"))
		}
		return paths
	}
	call := func(ctx context.Context, id string, body func(context.Context, *hooks.ToolCall) error) error {
		c := askCall()
		c.ID = id
		return hooks.RunTool(ctx, c, body)
	}
	ok := seamReturns("paid")
	require.NoError(t, call(ctx, "a", func(ctx context.Context, _ *hooks.ToolCall) error {
		require.NoError(t, call(ctx, "b", ok))
		require.NoError(t, call(ctx, "c", ok))
		return call(hooks.WithDesk(ctx, other), "d", ok)
	}))
	require.NoError(t, call(ctx, "e", ok))

	begun := askCall()
	begun.ID = "f"
	inner, end, err := hooks.BeginTool(ctx, begun)
	require.NoError(t, err)
	require.NoError(t, call(inner, "g", ok))
	require.NoError(t, end(nil))
	assert.Equal(t, []string{"a:", "b:a", "c:a", "e:", "f:", "g:f"}, paths(d))
	assert.Equal(t, []string{"d:a"}, paths(other))
}

// A call around that has no ID would make two questions one.
func TestAsk_pathWithoutIDsIsError(t *testing.T) {
	t.Parallel()
	ctx, _, d := newAsk(t, approves, hooks.Question{}, hooks.WithTools("pay"))
	inner := askCall()
	require.NoError(t, hooks.RunTool(ctx, &hooks.ToolCall{Name: "delegate"}, func(ctx context.Context, _ *hooks.ToolCall) error {
		return hooks.RunTool(ctx, inner, never(t))
	}))
	require.NotNil(t, inner.Blocked)
	assert.ErrorContains(t, inner.Blocked.Err, "around this one has no ID")
	assert.Empty(t, d.questions())
}

// The innermost desk is asked, and a desk comes before a person.
func TestWithDesk(t *testing.T) {
	t.Parallel()
	ctx, _, outer := newAsk(t, rejects, hooks.Question{})
	inner := &askDesk{answer: approves}
	ctx = hooks.WithHumanInput(ctx, &scriptedHuman{err: errBroken})
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, inner), call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)
	assert.Empty(t, outer.questions())
	require.NoError(t, hooks.RunTool(ctx, call, never(t)))
	assert.Equal(t, "too dear", call.Blocked.Reason)
	assert.Equal(t, "hooks: WithDesk: the Desk is nil", panicText(t, func() { hooks.WithDesk(t.Context(), nil) }))
}

// scriptedHuman gives one answer and keeps what it was shown.
type scriptedHuman struct {
	answer string
	err    error

	mu    sync.Mutex
	shown []string
}

func (h *scriptedHuman) RequestInput(_ context.Context, prompt, message string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown = append(h.shown, prompt+"|"+message)
	return h.answer, h.err
}

// Without a desk a person is asked, and only what is known to mean yes is one.
func TestAsk_person(t *testing.T) {
	t.Parallel()
	for answer, yes := range map[string]bool{
		"y": true, "yes": true, "s": true, "sim": true, "예": true, "네": true,
		" YES ": true, "Sim": true, "Y": true,
		"": false, "n": false, "no": false, "não": false, "아니요": false, "yes please": false, "ja": false, "1": false, "true": false, "ok": false,
	} {
		for _, desk := range []bool{false, true} {
			ctx, r := newRun(t)
			h := &scriptedHuman{answer: answer}
			hooks.Guard(hooks.PreToolCall, asks(hooks.Question{}), hooks.In(r))
			if desk {
				record(t, r)
			}
			call := askCall()
			require.NoError(t, hooks.RunTool(hooks.WithHumanInput(ctx, h), call, seamReturns("paid")))
			assert.Equal(t, yes, call.Ran(), answer)
			assert.Len(t, h.shown, 1)
			if !yes {
				assert.Equal(t, "not approved", call.Blocked.Reason)
			}
		}
	}
}

// No answer is no yes.
func TestAsk_personWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*scriptedHuman{
		"end of input":      {err: io.EOF},
		"yes with an error": {answer: "yes", err: io.ErrUnexpectedEOF},
	} {
		for kind, opts := range map[string][]hooks.Option{"hook": nil, "guard": {hooks.AsGuard()}} {
			ctx, r := newRun(t)
			hooks.On(hooks.PreToolCall, asks(hooks.Question{}), append(opts, hooks.In(r))...)
			call := askCall()
			require.NoError(t, hooks.RunTool(hooks.WithHumanInput(ctx, h), call, never(t)))
			require.NotNil(t, call.Blocked, name, kind)
			assert.ErrorIs(t, call.Blocked.Err, h.err)
			assert.Nil(t, call.Suspended())
		}
	}
}

// A person is shown what would run, and can't be shown anything else.
func TestAsk_personIsShownTheCall(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	h := &scriptedHuman{answer: "no"}
	hooks.Guard(hooks.PreToolCall, asks(hooks.Question{
		Prompt: "Pay?", Details: map[string]string{"to": "ana\nyes", "limit": "100\u200b\U000e0041"},
	}), hooks.In(r))
	call := askCall()
	call.Name, call.Input = "pay\u202e", map[string]any{"text": "a\u2066\x1b[2K", "amount": 5}
	require.NoError(t, hooks.RunTool(hooks.WithHumanInput(ctx, h), call, never(t)))
	require.Len(t, h.shown, 1)
	assert.Equal(t, strings.Join([]string{
		`Pay?`,
		`pay\u202e {"amount":5,"text":"a\u2066\u001b[2K"}`,
		`limit: 100\u200b\udb40\udc41`,
		`to: ana\u000ayes|Type "yes" to allow it:`,
	}, "\n"), h.shown[0])
}

// Standard input may be the wire of a server: the default console is never asked.
func TestAsk_neverTheDefaultConsole(t *testing.T) {
	// Not parallel: it looks at the person of the process.
	ctx, r := newRun(t)
	hooks.Guard(hooks.PreToolCall, asks(hooks.Question{}), hooks.In(r))
	call := askCall()
	finishes(t, "for standard input", func() { assert.NoError(t, hooks.RunTool(ctx, call, never(t))) })
	require.NotNil(t, call.Blocked)
	assert.ErrorContains(t, call.Blocked.Err, "there is nobody to ask")

	t.Cleanup(func() { hooks.SetHumanInput(nil) })
	hooks.SetHumanInput(&scriptedHuman{answer: "yes"})
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)
	hooks.SetHumanInput(nil)
	require.NoError(t, hooks.RunTool(ctx, call, never(t)))
	assert.NotNil(t, call.Blocked)
}

// byCallID answers by the ID of the call.
func byCallID(answers map[string]askAnswer) askAnswer {
	return func(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
		if answer := answers[q.CallID]; answer != nil {
			return answer(ctx, q)
		}
		return hooks.Decision{}, false, nil
	}
}

// askTurn returns n calls of one turn.
func askTurn(n int) []*hooks.ToolCall {
	calls := make([]*hooks.ToolCall, n)
	for i := range calls {
		calls[i] = askCall()
		calls[i].ID = fmt.Sprintf("c%d", i+1)
	}
	return calls
}

// A call that waits lets the others end, and what the turn waits for comes out as
// one.
func TestRunTools_suspended(t *testing.T) {
	t.Parallel()
	waits := hooks.PassThrough(errWait)
	for name, tt := range map[string]struct {
		answers map[string]askAnswer
		bodies  map[string]error
		waiting []string // the IDs of the calls that wait
		asked   []string // and of those that a question is about
		causes  bool     // errWait is in what comes out
	}{
		"one of three":   {answers: map[string]askAnswer{"c1": approves, "c3": approves}, waiting: []string{"c2"}, asked: []string{"c2"}},
		"two of three":   {answers: map[string]askAnswer{"c2": approves}, waiting: []string{"c1", "c3"}, asked: []string{"c1", "c3"}},
		"all":            {waiting: []string{"c1", "c2", "c3"}, asked: []string{"c1", "c2", "c3"}},
		"a rejected one": {answers: map[string]askAnswer{"c1": rejects, "c3": approves}, waiting: []string{"c2"}, asked: []string{"c2"}},
		"a body":         {answers: map[string]askAnswer{"c1": approves, "c2": approves, "c3": approves}, bodies: map[string]error{"c1": waits}, waiting: []string{"c1"}, causes: true},
		"a wrapped body": {answers: map[string]askAnswer{"c1": approves, "c2": approves, "c3": approves}, bodies: map[string]error{"c1": fmt.Errorf("sub: %w", waits)}, waiting: []string{"c1"}, causes: true},
		"body and hook":  {answers: map[string]askAnswer{"c1": approves, "c3": approves}, bodies: map[string]error{"c1": waits}, waiting: []string{"c1", "c2"}, asked: []string{"c2"}, causes: true},
		"a failed one":   {answers: map[string]askAnswer{"c1": approves, "c3": approves}, bodies: map[string]error{"c3": errBroken}, waiting: []string{"c2"}, asked: []string{"c2"}},
		"several bodies": {answers: map[string]askAnswer{"c1": approves, "c2": approves, "c3": approves}, bodies: map[string]error{"c1": waits, "c2": fmt.Errorf("sub: %w", waits), "c3": waits}, waiting: []string{"c1", "c2", "c3"}, causes: true},
	} {
		for _, limit := range []int{0, 1} {
			t.Run(fmt.Sprint(name, "/limit ", limit), func(t *testing.T) {
				t.Parallel()
				ctx, _, d := newAsk(t, byCallID(tt.answers), hooks.Question{})
				calls := askTurn(3)
				var mu sync.Mutex
				var ran []string
				err := hooks.RunTools(ctx, calls, limit, func(_ context.Context, call *hooks.ToolCall) error {
					mu.Lock()
					defer mu.Unlock()
					ran = append(ran, call.ID)
					call.Result = "paid"
					return tt.bodies[call.ID]
				})
				found := suspended(t, err)
				assert.Equal(t, tt.causes, errors.Is(err, errWait))
				var asked, waiting []string
				for _, q := range found.Questions {
					asked = append(asked, q.CallID)
				}
				assert.Equal(t, tt.asked, asked, "in the order of the calls")
				for _, call := range calls {
					if call.Suspended() == nil {
						assert.NotEmpty(t, call.Result)
						continue
					}
					waiting = append(waiting, call.ID)
					own := call.Suspended()
					assert.Same(t, own, suspended(t, call.Err))
					if !call.Ran() {
						require.Len(t, own.Questions, 1, "each call has its own")
						assert.Equal(t, call.ID, own.Questions[0].CallID)
					}
				}
				assert.Equal(t, tt.waiting, waiting)
				assert.Len(t, d.questions(), 3)
				for _, call := range calls {
					answered := tt.answers[call.ID] != nil && call.Blocked == nil
					assert.Equal(t, answered, slices.Contains(ran, call.ID), call.ID)
				}
			})
		}
	}
}

// Each call's own error is found behind what comes out.
func TestRunTools_joinsInterrupts(t *testing.T) {
	t.Parallel()
	first, second := errors.New("first"), errors.New("second")
	calls := askTurn(3)
	err := hooks.RunTools(t.Context(), calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
		switch call.ID {
		case "c1":
			return hooks.PassThrough(first)
		case "c3":
			return fmt.Errorf("sub-agent: %w", hooks.PassThrough(second))
		}
		call.Result = "ok"
		return nil
	})
	_, bare := err.(*hooks.Suspended)
	assert.True(t, bare)
	assert.ErrorIs(t, err, first)
	assert.ErrorIs(t, err, second)
	assert.ErrorContains(t, err, "sub-agent: second")
	assert.NotErrorIs(t, calls[0].Err, second)
	assert.NotErrorIs(t, calls[2].Err, first)
	assert.Equal(t, "ok", calls[1].Result)
}

// Where a call stops the run, that comes out, and what waits is on its own call.
func TestRunTools_stopBesideSuspension(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"stop", "wait", "ok"}, {"wait", "stop", "ok"}, {"wait", "ok", "stop"}} {
		ctx, r := newRun(t)
		calls := make([]*hooks.ToolCall, len(order))
		for i, name := range order {
			calls[i] = &hooks.ToolCall{ID: fmt.Sprint(i), Name: name}
		}
		hooks.Guard(hooks.PreToolCall, seamRefuse(hooks.PassThrough(errWait)), hooks.In(r), hooks.WithTools("wait"))
		hooks.Guard(hooks.PreToolCall, seamRefuse(hooks.AbortRun("enough")), hooks.In(r), hooks.WithTools("stop"))
		err := hooks.RunTools(ctx, calls, 1, seamReturns("ok"))
		assert.Equal(t, "enough", aborted(t, err).Reason)
		assert.NotErrorIs(t, err, errWait)
		for _, call := range calls {
			if call.Name == "wait" && order[0] != "stop" {
				assert.ErrorIs(t, call.Suspended(), errWait, order)
				assert.Equal(t, "Tool was not run: enough", call.Result, "the history has no hole")
				continue
			}
			assert.Nil(t, call.Suspended())
			assert.NotEmpty(t, call.Result, "%v: %s", order, call.Name)
		}
	}
}

// A nest that is too deep stops the run, also beside an interrupt.
func TestRunTools_tooDeepBesideInterrupt(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	hooks.On(hooks.PostToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		return hooks.RunTool(ctx, &hooks.ToolCall{Name: "again"}, seamReturns("ok"))
	}, hooks.In(r), hooks.WithTools("again", "first"))
	calls := []*hooks.ToolCall{{Name: "first"}, {Name: "second"}}
	err := hooks.RunTools(ctx, calls, 1, func(_ context.Context, call *hooks.ToolCall) error {
		if call.Name == "second" {
			t.Error("a call began after the run was stopped")
		}
		return hooks.PassThrough(errWait)
	})
	assert.ErrorIs(t, err, hooks.ErrTooDeep)
	assert.ErrorIs(t, err, errWait)
}

// The loop goes on with the calls that have no result, in another process: the
// others don't run again.
func TestRunTools_resume(t *testing.T) {
	t.Parallel()
	raw := []string{`{"amount":1}`, `{"amount":2}`, `{"amount":3}`}
	decided := make(map[string]hooks.Decision)
	var ran []string
	turn := func(ids ...string) ([]*hooks.ToolCall, error) {
		ctx, _, _ := newAsk(t, func(_ context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
			d, known := decided[q.ID]
			delete(decided, q.ID)
			return d, known, nil
		}, hooks.Question{}, hooks.WithTools("pay"))
		var calls []*hooks.ToolCall
		for i, id := range []string{"c1", "c2", "c3"} {
			if slices.Contains(ids, id) {
				call := &hooks.ToolCall{ID: id, Name: "pay"}
				if id == "c2" {
					call.Name = "look"
				}
				require.NoError(t, call.SetArguments(raw[i]))
				calls = append(calls, call)
			}
		}
		err := hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "saved"}}, func(ctx context.Context, _ *hooks.Execution) error {
			return hooks.RunTools(ctx, calls, 1, func(_ context.Context, call *hooks.ToolCall) error {
				ran = append(ran, call.ID)
				call.Result = "ok"
				return nil
			})
		})
		return calls, err
	}
	calls, err := turn("c1", "c2", "c3")
	waits := suspended(t, err).Questions
	require.Len(t, waits, 2)
	assert.Equal(t, []string{"c2"}, ran)

	raw2, err := json.Marshal(waits)
	require.NoError(t, err)
	var saved []hooks.Question
	require.NoError(t, json.Unmarshal(raw2, &saved))
	decided[saved[0].ID] = hooks.Decision{Verdict: hooks.Approve, Digest: saved[0].Digest}
	var left []string
	for _, call := range calls {
		if call.Suspended() != nil {
			left = append(left, call.ID)
		}
	}
	_, err = turn(left...)
	assert.Equal(t, saved[1:], suspended(t, err).Questions)
	decided[saved[1].ID] = hooks.Decision{Verdict: hooks.Approve, Digest: saved[1].Digest}
	_, err = turn("c3")
	require.NoError(t, err)
	assert.Equal(t, []string{"c2", "c1", "c3"}, ran)
}

// Many runs ask one desk at once, and each is told of its own.
func TestAsk_concurrentSafe(t *testing.T) {
	t.Parallel()
	ctx, r, d := newAsk(t, approves, hooks.Question{})
	record(t, r)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			calls := askTurn(8)
			for _, call := range calls {
				call.RunID = fmt.Sprint("run-", i)
			}
			assert.NoError(t, hooks.RunTools(ctx, calls, 0, seamReturns("paid")))
		})
	}
	wg.Wait()
	assert.Len(t, d.questions(), 64)
	var ids []string
	for _, q := range d.questions() {
		ids = append(ids, q.ID)
	}
	slices.Sort(ids)
	assert.Len(t, slices.Compact(ids), 64)
	assert.ElementsMatch(t, ids, d.done())
}

// Goroutines of one hook may ask at the same time.
func TestAsk_severalAtOnce(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	d := &askDesk{answer: approves}
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = call.Ask(ctx, hooks.Question{Key: fmt.Sprint(i)}) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}, hooks.In(r))
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)
	assert.Len(t, d.done(), 8)
}

// A hook that runs the call itself through the seam asks for that passage.
func TestAsk_nestedPassage(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	d := &askDesk{answer: func(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
		if q.Key == "inner" {
			return rejects(ctx, q)
		}
		return approves(ctx, q)
	}}
	hooks.On(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		if hooks.Nested(ctx) {
			return call.Ask(ctx, hooks.Question{Key: "inner"})
		}
		if err := hooks.RunTool(ctx, call, never(t)); err != nil {
			return err
		}
		assert.NotNil(t, call.Blocked)
		return call.Ask(ctx, hooks.Question{Key: "outer"})
	}, hooks.In(r))
	call := askCall()
	require.NoError(t, hooks.RunTool(hooks.WithDesk(ctx, d), call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)
	assert.Len(t, d.done(), 1)
}

// An around hook that changes what was approved would have it asked about on each
// resumption, for ever: the call is refused at once, and the model reads why.
func TestAsk_aroundHookChangesWhatWasApproved(t *testing.T) {
	t.Parallel()
	approveSmall := func(ctx context.Context, q *hooks.Question) (hooks.Decision, bool, error) {
		if strings.Contains(q.Arguments, "limit") {
			return hooks.Decision{}, false, nil // nobody has seen that yet
		}
		return approves(ctx, q)
	}
	ctx, r, desk := newAsk(t, approveSmall, hooks.Question{})
	hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
		call.Input["limit"] = 10
		return next(ctx)
	}, hooks.In(r))
	call := askCall()
	require.NoError(t, hooks.RunTool(ctx, call, never(t)))
	assert.Len(t, desk.questions(), 2)
	assert.Nil(t, call.Suspended())
	assert.Contains(t, call.Result, "an around hook changes what was approved")

	// Who can decide at once is asked about the call as it runs.
	ctx, r, _ = newAsk(t, approves, hooks.Question{})
	hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
		call.Input["limit"] = 10
		return next(ctx)
	}, hooks.In(r))
	call = askCall()
	require.NoError(t, hooks.RunTool(ctx, call, seamReturns("paid")))
	assert.Equal(t, "paid", call.Result)
}

// Two calls of a turn with one ID would be one question on resumption: the second is
// refused with a reason that says so, and the first can wait.
func TestRunTools_asksAboutOneCallForEachID(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var asked []string
	desk := &askDesk{}
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		asked = append(asked, c.Name)
		return c.Ask(ctx, hooks.Question{})
	}, hooks.In(r), hooks.WithName("approval"))
	calls := []*hooks.ToolCall{{ID: "1", Name: "pay"}, {ID: "1", Name: "send"}, {ID: "2", Name: "read"}}
	for _, c := range calls {
		c.RootRunID = "run"
	}
	err := hooks.RunTools(hooks.WithDesk(ctx, desk), calls, 0, seamReturns("ok"))
	waits, ok := errors.AsType[*hooks.Suspended](err)
	require.True(t, ok)
	assert.Len(t, waits.Questions, 2)
	assert.Equal(t, []string{"pay", "send", "read"}, asked)
	assert.NotNil(t, calls[0].Suspended())
	assert.NotNil(t, calls[2].Suspended())
	require.NotNil(t, calls[1].Blocked)
	assert.ErrorContains(t, calls[1].Blocked.Err, `two calls of the turn have the ID "1"`)
	assert.NotEmpty(t, calls[1].Result)
	_ = hooks.RunTool(hooks.WithDesk(ctx, desk), calls[1], seamReturns("ok"))
	assert.NotNil(t, calls[1].Suspended(), "alone it has no twin")
}

// That a call has a twin is said of the turn alone, and of all of it: not behind a
// RunTools that ran nothing, and still behind one inside the hooks of the call.
func TestRunTools_tellsTwinsForTheTurn(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	ctx = hooks.WithDesk(ctx, &askDesk{})
	inside := false
	hooks.On(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		if inside = !inside; inside {
			_ = hooks.RunTools(ctx, []*hooks.ToolCall{c}, 0, seamReturns("ok"))
		}
		return nil
	}, hooks.In(r))
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error {
		if hooks.Nested(ctx) {
			return nil
		}
		return c.Ask(ctx, hooks.Question{})
	}, hooks.In(r), hooks.WithName("approval"))
	first, second := &hooks.ToolCall{ID: "1", Name: "pay"}, &hooks.ToolCall{ID: "1", Name: "send"}
	first.RootRunID, second.RootRunID = "run", "run"

	require.ErrorContains(t, hooks.RunTools(ctx, []*hooks.ToolCall{first, second, nil}, 0, seamReturns("ok")), "call 2 is nil")
	require.Error(t, hooks.RunTool(ctx, second, seamReturns("ok")))
	assert.NotNil(t, second.Suspended(), "alone it has no twin")

	require.Error(t, hooks.RunTools(ctx, []*hooks.ToolCall{first, second}, 0, seamReturns("ok")))
	assert.NotNil(t, first.Suspended())
	require.NotNil(t, second.Blocked, "it has one in this turn, whatever its hooks run")
	assert.ErrorContains(t, second.Blocked.Err, "two calls of the turn")
}

// A question that a hook leaves to another goroutine either comes in time, and then
// the call doesn't run, or isn't put. Most of the tries are needed for the moment
// between the two.
func TestAsk_leftRunningConcurrentSafe(t *testing.T) {
	t.Parallel()
	for i := range 500 {
		ctx, r := newRun(t)
		desk := &askDesk{}
		var left sync.WaitGroup
		hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
			started := make(chan struct{})
			left.Go(func() {
				close(started)
				for range i * 3 % 300 { // later and later
					_ = ctx.Err()
				}
				_ = call.Ask(ctx, hooks.Question{})
			})
			<-started
			return nil
		}, hooks.In(r), hooks.WithName("approval"))
		ran := false
		call := &hooks.ToolCall{ID: "1", Name: "pay"}
		call.RootRunID = "run"
		_ = hooks.RunTool(hooks.WithDesk(ctx, desk), call, func(context.Context, *hooks.ToolCall) error {
			ran = true
			return nil
		})
		left.Wait()
		if ran {
			require.Empty(t, desk.questions(), "asked about, and run all the same")
		}
	}
}
