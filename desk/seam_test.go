package desk_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/hookstest"
)

// payments is a run with one call of pay, in a registry of its own.
type payments struct {
	registry *hooks.Registry
	paid     int
	result   string
}

func newPayments(t *testing.T, q hooks.Question) *payments {
	t.Helper()
	p := &payments{registry: hookstest.Registry(t)}
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return call.Ask(ctx, q)
	}, hooks.In(p.registry), hooks.WithName("approval"), hooks.WithTools("pay"))
	return p
}

// run runs the call, or runs it once more, as a loop does that goes on with a saved
// run: nothing but the IDs is the same.
func (p *payments) run(t *testing.T, d hooks.Desk, arguments string) error {
	t.Helper()
	ctx := hooks.WithDesk(hookstest.Context(t, p.registry), d)
	return hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "run-1"}}, func(ctx context.Context, _ *hooks.Execution) error {
		call := &hooks.ToolCall{ID: "call-1", Name: "pay"}
		require.NoError(t, call.SetArguments(arguments))
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			p.paid++
			call.Result = "paid"
			return nil
		})
		p.result = call.Result
		return err
	})
}

// waits returns the one question that a run waits for.
func waits(t *testing.T, err error) hooks.Question {
	t.Helper()
	var s *hooks.Suspended
	require.ErrorAs(t, err, &s)
	require.Len(t, s.Questions, 1)
	return s.Questions[0]
}

// TestSeam_approved goes through the seam of a tool call in two processes, with the
// files between them.
func TestSeam_approved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPayments(t, hooks.Question{Prompt: "Pay?"})
	q := waits(t, p.run(t, desk.New(openFile(t, dir)), `{"amount":90}`))
	assert.Zero(t, p.paid)
	assert.False(t, q.Expires.IsZero())

	people := desk.New(openFile(t, dir))
	require.NoError(t, people.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: "ana"}))
	require.NoError(t, p.run(t, desk.New(openFile(t, dir)), `{"amount":90}`))
	assert.Equal(t, 1, p.paid)
	assert.Equal(t, desk.Done, stateOf(t, openFile(t, dir), q.ID))

	again := waits(t, p.run(t, desk.New(openFile(t, dir)), `{"amount":90}`))
	assert.Equal(t, 1, again.Again)
	assert.Equal(t, 1, p.paid)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	assert.Len(t, files, 1)
}

func TestSeam_otherArguments(t *testing.T) {
	t.Parallel()
	s := desk.Memory()
	d := desk.New(s)
	p := newPayments(t, hooks.Question{})
	q := waits(t, p.run(t, d, `{"amount":90}`))
	require.NoError(t, d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}))
	other := waits(t, p.run(t, d, `{"amount":9000}`))
	assert.NotEqual(t, q.ID, other.ID)
	assert.Equal(t, desk.Withdrawn, stateOf(t, s, q.ID))
	assert.Zero(t, p.paid)
}

func TestSeam_rejectedAndExpired(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	p := newPayments(t, hooks.Question{})
	q := waits(t, p.run(t, d, `{}`))
	require.NoError(t, d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Reject, Digest: q.Digest, Reason: "too dear"}))
	require.NoError(t, p.run(t, d, `{}`))
	assert.Contains(t, p.result, "too dear")
	assert.Zero(t, p.paid)

	past := newPayments(t, hooks.Question{Expires: q.Expires.AddDate(-1, 0, 0)})
	require.NoError(t, past.run(t, desk.New(desk.Memory()), `{}`))
	assert.Contains(t, past.result, desk.ExpiredReason)
	assert.Zero(t, past.paid)
}

func TestSeam_edited(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	p := newPayments(t, hooks.Question{May: []hooks.Verdict{hooks.Edit}})
	q := waits(t, p.run(t, d, `{"amount":90}`))
	require.NoError(t, d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Edit, Digest: q.Digest, Arguments: `{"amount":80}`}))
	var ran any
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall, _ error) { ran = call.Input["amount"] }, hooks.In(p.registry))
	require.NoError(t, p.run(t, d, `{"amount":90}`))
	assert.Equal(t, 1, p.paid)
	assert.Equal(t, 80.0, ran)
}

// TestSeam_storeFails: a call is blocked where its question can't be put.
func TestSeam_storeFails(t *testing.T) {
	t.Parallel()
	p := newPayments(t, hooks.Question{})
	require.NoError(t, p.run(t, desk.New(&faultyStore{Store: desk.Memory()}), `{}`))
	assert.Zero(t, p.paid)
	assert.Contains(t, p.result, "blocked")
}
