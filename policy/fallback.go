package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

// Fallback asks other models where one can't answer.
//
// It wraps the body of model calls, at priority 700 ([hooks.Around]), so outside of
// [Retry]: each model has all of its attempts. For each model it sets m.Model and
// runs the body again. Guards of [hooks.PreModelCall] are asked about each, and one
// that refuses a model ends the call with its abort.
//
// When one has answered, m.Model is that one, and the errors are forgotten. Otherwise
// m.Model is what it was, and the call returns the errors of all that were asked, in
// order and joined; a single one as it was.
//
// A loop that can't switch models returns [errors.ErrUnsupported] where m.Model isn't
// what it has set: that ends the call with the first error. So does a call of which
// something was shown ([hooks.ErrNotAgain]), or whose ctx is done, with the errors
// until then; and a call that was refused, that waits or that panicked, with that.
type Fallback struct {
	// Models are asked in this order when the model of the call has failed, but for
	// that one. There must be at least one, and none twice.
	Models []string
	// If says whether another model may be asked, of an error that doesn't end the
	// call for good. By default it always is. It may be called concurrently for
	// different calls.
	If func(*hooks.ModelCall, error) bool
}

// Register registers the policy; opts go to the hook, named policy.Fallback by default.
// It panics if Models is empty, or holds an empty name or one name twice. The hook is
// fail-open and safe for concurrent use.
func (p Fallback) Register(opts ...hooks.Option) *hooks.Group {
	p.Models = slices.Clone(p.Models)
	if len(p.Models) == 0 {
		panic("policy: Fallback: Models is empty; name the models to ask when one has failed")
	}
	for i, model := range p.Models {
		if model == "" {
			panic(`policy: Fallback: Models holds the empty name ""; leave it out`)
		}
		if slices.Contains(p.Models[:i], model) {
			panic(fmt.Sprintf("policy: Fallback: Models holds %q twice; to ask a model again is for Retry", model))
		}
	}
	return register(opts, func(r *registrar) {
		r.add(hooks.Around(hooks.ModelBody, p.around, r.with("policy.Fallback", 700)...))
	})
}

func (p Fallback) around(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
	asked := m.Model
	err := next(ctx)
	if err == nil {
		return nil
	}
	answered := false
	defer func() {
		if !answered { // If has panicked, too
			m.Model = asked
		}
	}()
	errs := []error{err}
	for _, model := range p.Models {
		if model == asked {
			continue
		}
		if neverAgain(ctx, err) || m.Shown() != "" || isError(err, errors.ErrUnsupported) || p.If != nil && !p.If(m, err) {
			break
		}
		m.Model = model
		switch err = next(ctx); {
		case err == nil:
			answered = true
			return nil
		case isFinal(err):
			return err
		case isError(err, errors.ErrUnsupported):
			return errs[0]
		case isError(err, hooks.ErrNotAgain): // nothing ran
			return joinErrors(errs)
		}
		errs = append(errs, err)
	}
	return joinErrors(errs)
}

// joinErrors is errors.Join, but leaves a single error as it is.
func joinErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
