// Package policy holds the travel rules of a company as hooks, one a file. Each
// function registers its hooks in the registry that it is given: the one of a
// run, so that a rule ends with the run and never meets another one's.
package policy

import (
	"context"

	"github.com/loophooks/hooks"
)

// FirstClass lets nothing but tourist class be booked, unless the manager has
// approved the trip.
//
// It is a guard: it decides on the arguments that the tool will really get,
// after every hook that may still change them, and if it fails nothing is
// booked. The reason says what to do instead. The model reads it, and one that
// reads a bare "denied" makes the same call again.
func FirstClass(r *hooks.Registry, approved bool) {
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		class, err := call.StringArg("seat_class")
		switch {
		// Asking for "first" would let "First" or a new class through.
		case approved || err == nil && class == "tourist":
			return nil
		case err != nil: // or the arguments couldn't be read
			return hooks.Abort(`seat_class is missing or isn't text; give train and seat_class as one JSON object, with "tourist"`)
		}
		return hooks.Abort("any class but tourist needs a manager's approval; book tourist instead")
	}, hooks.In(r), hooks.WithTools("book_ticket"), hooks.WithName("no first class"))
}
