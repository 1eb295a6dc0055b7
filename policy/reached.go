package policy

// Telling the runs of a body from those that never came to it.

import (
	"errors"

	"github.com/loophooks/hooks"
)

// unreached stands in the Err of a call until its body runs.
type unreached struct{ _ byte } // not empty, so that no two have one address

func (*unreached) Error() string { return "the body hasn't run yet" }

// reached prepares a call of next, and returns what tells afterwards whether the
// body ran in it, by what next returned: an inner hook may have answered or
// refused. It goes by failure, the Err of the call, which the seam clears in front
// of each run; guards that are asked again come behind that, and their abort has the
// name of the pre point.
func reached(failure *error, pre hooks.InterceptionPoint) (ran func(err error) bool) {
	before, mark := *failure, &unreached{}
	*failure = mark
	return func(err error) bool {
		if *failure == error(mark) { //nolint:errorlint // the mark itself, and not an error of a body that wraps it
			*failure = before
			return false
		}
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		return !ok || abort.Point != pre
	}
}
