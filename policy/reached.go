package policy

// Telling the runs of a body from those that never came to it.

import "github.com/loophooks/hooks"

// unreached stands in the Err of a call until its body runs.
type unreached struct {
	refused error // by guards that were asked again
}

func (*unreached) Error() string { return "the body hasn't run yet" }

// reached prepares a call of next for owner, and returns what tells afterwards whether
// the body ran in it, by what next returned: an inner hook may have answered or
// refused. It goes by failure, the Err of the call, which the seam clears in front
// of each run. Guards that are asked again come behind that: a watch of the pre point
// has to tell of them by notReached. What they return can't be told by its kind, since
// a sub-agent's own guards return the same out of the body.
func reached(owner any, v *hooks.Values, failure *error) (ran func(err error) bool) {
	before, mark := *failure, &unreached{}
	*failure = mark
	v.Put(owner, mark)
	return func(err error) bool {
		if *failure == error(mark) { //nolint:errorlint // the mark itself, and not an error of a body that wraps it
			*failure = before
			return false
		}
		return mark.refused == nil || mark.refused != err //nolint:errorlint // the one that the watch saw
	}
}

// notReached tells of a passage of the pre point that ended with err.
func notReached(owner any, v *hooks.Values, err error) {
	value, _ := v.Get(owner)
	if mark, ok := value.(*unreached); ok {
		mark.refused = err
	}
}
