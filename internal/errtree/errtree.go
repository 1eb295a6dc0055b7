// Package errtree looks into trees of errors whose methods belong to somebody
// else: they may panic, lead in a circle, or claim to be what they aren't.
//
// Each method is contained by itself. What is joined beside an error that
// panics is still found, and a walk ends after 10,000 errors at the latest.
package errtree

import "slices"

// maxErrors bounds how many errors are looked at behind one: an Unwrap may lead
// in a circle, which the functions of package errors would walk for ever.
const maxErrors = 10_000

// Walk visits err and what it wraps, depth first in the order of errors.Is,
// until visit returns true, which it reports. A panic of visit counts as false,
// and one of an Unwrap as nothing wrapped. A nil err has nothing to visit.
func Walk(err error, visit func(error) bool) bool {
	w := walk{visit: visit, left: maxErrors}
	return w.from(err)
}

// WalkOutside is Walk, but leaves out what the errors wrap that closed reports,
// which are visited themselves. A panic of closed counts as false.
func WalkOutside(err error, closed, visit func(error) bool) bool {
	w := walk{visit: visit, closed: closed, left: maxErrors}
	return w.from(err)
}

type walk struct {
	visit  func(error) bool
	closed func(error) bool // nil for none
	left   int              // how many errors may still be visited
}

func (w *walk) from(err error) bool {
	for err != nil && w.left > 0 {
		w.left--
		found, joined, next := w.step(err)
		if found {
			return true
		}
		if joined != nil {
			return slices.ContainsFunc(joined, w.from)
		}
		err = next
	}
	return false
}

// step visits one error and asks what it wraps, also where visit panicked.
func (w *walk) step(err error) (found bool, joined []error, next error) {
	switch {
	case contained(w.visit, err):
		return true, nil, nil
	case w.closed != nil && contained(w.closed, err):
		return false, nil, nil
	}
	defer func() { _ = recover() }() // of an Unwrap: there is no rest then
	switch wrapping := err.(type) {
	case interface{ Unwrap() error }:
		next = wrapping.Unwrap()
	case interface{ Unwrap() []error }:
		joined = wrapping.Unwrap()
	}
	return false, joined, next
}

func contained(ask func(error) bool, err error) (yes bool) {
	defer func() { _ = recover() }()
	return ask(err)
}

// Is is errors.Is: an error of the tree is target, or says so itself.
func Is(err, target error) bool {
	return Walk(err, func(err error) bool {
		if same(err, target) {
			return true
		}
		is, ok := err.(interface{ Is(error) bool })
		return ok && is.Is(target)
	})
}

// Has reports whether target itself is in the tree, whatever the errors in it
// claim to be. It is for values that give a right, such as ending a run.
func Has(err, target error) bool {
	return Walk(err, func(err error) bool { return same(err, target) })
}

// same is == for errors, false for those of a type that == panics on.
func same(a, b error) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}

// Find returns the first error of the tree that is an E, whatever the others
// claim in their As methods.
func Find[E error](err error) (found E, ok bool) {
	if e, is := err.(E); is {
		return e, true // the usual case, without a walk
	}
	ok = Walk(err, func(err error) bool {
		e, is := err.(E)
		if is {
			found = e
		}
		return is
	})
	return found, ok
}

// Text is err.Error(), "" for a nil err and for one whose method panics.
func Text(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() { _ = recover() }()
	return err.Error()
}
