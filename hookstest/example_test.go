package hookstest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// policy is the hook that the examples test.
func policy(ctx context.Context, call *hooks.ToolCall) error {
	answer, err := call.RequestHumanInput(ctx, "The agent wants to call "+call.Name+".", `Type "yes" to allow it:`)
	if err != nil {
		return err
	}
	if answer != "yes" {
		return hooks.Abort("the operator refused")
	}
	return nil
}

// A test of a hook that asks a person. Its own registry keeps it apart from all
// other tests, so that it may run in parallel with them.
func Example() {
	_ = func(t *testing.T) { // func TestPolicy_operatorRefuses
		t.Parallel()
		r := hookstest.Registry(t)
		hooks.Guard(hooks.PreToolCall, policy, hooks.In(r), hooks.WithName("policy"))
		rec := hookstest.Record(r)
		human := hookstest.NewHuman(t, hookstest.Types("no"))
		ctx := hooks.WithHumanInput(hookstest.Context(t, r), human)

		call := &hooks.ToolCall{ID: "c1", Name: "delete_file"}
		err := hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error {
			t.Error("the tool ran")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rec.Want(t,
			"pre_tool_call delete_file #c1",
			"post_tool_call delete_file #c1 blocked",
		)
		rec.WantEvents(t, "pre_tool_call delete_file #c1 aborted (policy aborted: the operator refused)")
	}
}

// A test of a hook that asks, and of a run that goes on once somebody has decided.
func ExampleDesk() {
	_ = func(t *testing.T) { // func TestApproval_waitsForFinance
		t.Parallel()
		r := hookstest.Registry(t)
		hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
			return call.Ask(ctx, hooks.Question{Audience: []string{"finance"}})
		}, hooks.In(r), hooks.WithName("approval"))
		desk := hookstest.NewDesk(t) // answers that are given here are used in order
		ctx := hooks.WithDesk(hookstest.Context(t, r), desk)

		pay := func() (*hooks.ToolCall, error) {
			call := &hooks.ToolCall{ID: "c1", Name: "pay"}
			call.RunID = "run-1" // or in an execution, which has one
			err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
				call.Result = "paid"
				return nil
			})
			return call, err
		}
		if call, err := pay(); err == nil || call.Suspended() == nil {
			t.Fatal("the call doesn't wait")
		}
		if err := desk.Decide(desk.Open()[0].ID, hookstest.Approves()); err != nil {
			t.Fatal(err)
		}
		if call, err := pay(); err != nil || call.Result != "paid" {
			t.Fatal(call.Result, err)
		}
		// An answer that nobody asked for would fail the test now.
	}
}

// A test of a hook that counts by run.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestLimit_countsByRun
		t.Parallel()
		r := hookstest.Registry(t)
		calls := hooks.NewRunVar[atomic.Int32](nil)
		hooks.Guard(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
			if n, ok := calls.Of(ctx); ok && n.Add(1) > 1 {
				return hooks.Abort("one call is enough")
			}
			return nil
		}, hooks.In(r))
		for range 2 {
			hookstest.Run(t, r, func(ctx context.Context) {
				for n, blocked := range []bool{false, true} {
					call := &hooks.ToolCall{Name: "search"}
					err := hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil })
					if err != nil || (call.Blocked != nil) != blocked {
						t.Errorf("call %d: blocked %v, error %v", n, call.Blocked, err)
					}
				}
			})
		}
	}
}

// A Recorder can also be read.
func ExampleRecord() {
	r := hooks.NewRegistry()
	rec := hookstest.Record(r)
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "redacted"
		return nil
	}, hooks.In(r), hooks.WithName("redact"))

	ctx := hooks.WithScope(context.Background(), r)
	_ = hooks.RunTool(ctx, &hooks.ToolCall{Name: "read_file"}, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "a secret"
		return nil
	})
	for _, call := range rec.Calls() {
		fmt.Println(call)
	}
	for _, ev := range rec.Events() {
		fmt.Println(hookstest.EventLine(ev))
	}
	// Output:
	// pre_tool_call read_file
	// post_tool_call read_file
	// post_tool_call read_file modified (redact modified)
}
