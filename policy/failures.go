package policy

// What the policies around bodies look for in an error. The errors are somebody
// else's: a tree of them may lead in a circle, for which the functions of package
// errors would look for ever.

import (
	"context"
	"slices"

	"github.com/loophooks/hooks"
)

// maxErrors is how many errors of a tree are looked at.
const maxErrors = 10_000

// anyError visits err and what it wraps, depth first, until visit returns true,
// which it reports.
func anyError(err error, visit func(error) bool) bool {
	left := maxErrors
	var walk func(error) bool
	walk = func(err error) bool {
		for err != nil && left > 0 {
			left--
			if visit(err) {
				return true
			}
			switch wrapping := err.(type) { //nolint:errorlint // this is the walk
			case interface{ Unwrap() error }:
				err = wrapping.Unwrap()
			case interface{ Unwrap() []error }:
				return slices.ContainsFunc(wrapping.Unwrap(), walk)
			default:
				return false
			}
		}
		return false
	}
	return walk(err)
}

// findError returns the first error in err that is a T, a type or what errors can
// do, or that makes itself one by its As method.
func findError[T any](err error) (found T, ok bool) {
	ok = anyError(err, func(err error) bool {
		if e, is := err.(T); is {
			found = e
			return true
		}
		as, is := err.(interface{ As(any) bool })
		return is && as.As(&found)
	})
	return found, ok
}

// isError reports whether target is in err.
func isError(err, target error) bool {
	return anyError(err, func(err error) bool {
		if err == target { //nolint:errorlint // each error of the tree comes by
			return true
		}
		is, ok := err.(interface{ Is(error) bool })
		return ok && is.Is(target)
	})
}

// isFinal reports whether err ends an operation for good: an abort, a run that
// waits, a panic, or a nest that is too deep.
func isFinal(err error) bool {
	_, aborted := findError[*hooks.HookAborted](err)
	_, waits := findError[*hooks.Suspended](err)
	_, panicked := findError[*hooks.PanicError](err)
	return aborted || waits || panicked || isError(err, hooks.ErrTooDeep)
}

// neverAgain reports whether an operation that failed with err under ctx isn't run
// again, whatever somebody wants.
func neverAgain(ctx context.Context, err error) bool {
	return ctx.Err() != nil || isFinal(err) || isError(err, hooks.ErrNotAgain)
}
