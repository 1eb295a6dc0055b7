package policy_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
)

// guardMail registers what a program that reads and sends mail is held to. The program
// calls it with hooks.Default(), and each test with a registry of its own.
func guardMail(reg *hooks.Registry) *hooks.Group {
	sending := hooks.WithTools("send_mail")
	return hooks.Join(
		policy.Tools{Allow: []string{"read_*", "send_mail"}}.Register(hooks.In(reg)),
		policy.Rate{Limit: 2, Per: time.Hour}.Register(hooks.In(reg), sending),
		policy.Approval{Prompt: "Send this mail?"}.Register(hooks.In(reg), sending),
		policy.Redact{}.Register(hooks.In(reg)),
	)
}

// mailTools stands for the tools.
func mailTools(_ context.Context, call *hooks.ToolCall) error {
	call.Result = "done: token=0a1b2c3d4e5f"
	return nil
}

func TestGuardMail(t *testing.T) {
	t.Parallel()
	const done = "done: token=[KEY]" // by Redact
	for name, c := range map[string]struct {
		tool, arguments string
		people          []hookstest.DeskAnswer // an answer that nobody asks for fails the test
		ran             bool
		reads           string // what the model reads, or why it was refused
	}{
		"reading":             {"read_mail", `{"id": 7}`, nil, true, done},
		"another tool":        {"delete_mail", `{"id": 7}`, nil, false, "this tool isn't available in this run; use one of those offered"},
		"a mail that may go":  {"send_mail", `{"to": "ana"}`, []hookstest.DeskAnswer{hookstest.Approves()}, true, done},
		"one that may not":    {"sendMail", `{"to": "all"}`, []hookstest.DeskAnswer{hookstest.Rejects("not to all")}, false, "not approved: not to all"},
		"arguments, half way": {"send_mail", `{"to": `, nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := hookstest.Registry(t)
			guardMail(reg)
			people := hookstest.NewDesk(t, c.people...)
			hookstest.Run(t, reg, func(ctx context.Context) {
				call := &hooks.ToolCall{ID: "1", Name: c.tool}
				_ = call.SetArguments(c.arguments)
				if err := hooks.RunTool(hooks.WithDesk(ctx, people), call, mailTools); err != nil {
					t.Fatal("the run ends:", err)
				}
				if call.Ran() != c.ran {
					t.Errorf("ran: %v", call.Ran())
				}
				reads := call.Result
				if call.Blocked != nil {
					reads = call.Blocked.Reason
				}
				if c.reads != "" && reads != c.reads {
					t.Errorf("the model reads %q, not %q", reads, c.reads)
				}
			})
		})
	}
}

// Time is that of the bubble, so that an hour takes none.
func TestGuardMail_twoAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hookstest.Registry(t)
		guardMail(reg)
		people := hookstest.NewDesk(t, hookstest.Rejects("no"), hookstest.Approves(), hookstest.Approves(), hookstest.Approves())
		send := func(id string) (ran bool) {
			hookstest.Run(t, reg, func(ctx context.Context) {
				call := &hooks.ToolCall{ID: id, Name: "send_mail"}
				if err := hooks.RunTool(hooks.WithDesk(ctx, people), call, mailTools); err != nil {
					t.Fatal("the run ends:", err)
				}
				ran = call.Ran()
			})
			return ran
		}
		for i, want := range []bool{false, true, true, false} { // what people reject takes nothing
			if send(string(rune('a'+i))) != want {
				t.Errorf("mail %d: ran is %v", i, !want)
			}
		}
		time.Sleep(30 * time.Minute)
		if !send("later") {
			t.Error("half an hour later one more may go")
		}
	})
}
