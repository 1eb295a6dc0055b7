package policy

import (
	"context"
	"strings"

	"github.com/loophooks/hooks"
)

// Approval asks a person before a ticket is booked. Only yes means yes: not a
// typing mistake, not the end of the input, not a failure.
//
// It is a guard, so that the person is asked about what will really be booked,
// and the last of them: nobody is asked to approve what is refused anyway.
func Approval(r *hooks.Registry) {
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		if call.Tool == nil || call.ArgumentsError() != nil {
			return nil // there is nothing to approve: it won't run
		}
		args, err := call.Arguments()
		if err != nil {
			return err
		}
		answer, err := call.RequestHumanInput(ctx, ForPeople("The assistant wants to run "+call.Name+" "+args), "Book it? [y/N]")
		switch {
		case err != nil && ctx.Err() != nil:
			// Not a refusal: the run is over, and the traveller has decided nothing.
			return &hooks.HookAborted{Reason: "the run was interrupted before anybody answered", Err: ctx.Err(), StopRun: true}
		case err != nil:
			return &hooks.HookAborted{Reason: "nobody could be asked to approve this booking; book nothing and say so", Err: err}
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return nil
		}
		return hooks.Abort("the traveller didn't approve this booking; book nothing and say so")
	}, lastForBookings(r)...)
}

// ApprovalLater asks as [Approval] does, but nobody has to be there: the question
// goes to the desk of ctx, and the run waits, in no process, until it is decided.
// What runs is what was shown, or what the decision made of it, in which case every
// guard is asked again.
func ApprovalLater(r *hooks.Registry) {
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		if call.Tool == nil {
			return nil
		}
		return call.Ask(ctx, hooks.Question{
			Prompt: "Book this ticket?",
			May:    []hooks.Verdict{hooks.Approve, hooks.Reject, hooks.Edit},
		})
	}, lastForBookings(r)...)
}

// lastForBookings are the options of a guard that asks about bookings.
func lastForBookings(r *hooks.Registry) []hooks.Option {
	return []hooks.Option{hooks.In(r), hooks.WithPriority(-900), hooks.WithTools("book_ticket"), hooks.WithName("ask before booking")}
}
