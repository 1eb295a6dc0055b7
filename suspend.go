package hooks

// Suspended runs: how a hook or a body says that a run waits, and how that is
// found in an error.

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loophooks/hooks/internal/errtree"
)

// Suspended ends a run that waits for something: save its state, and run it again,
// in any process, once it can go on. A hook or a body returns one, bare or
// wrapped. It is no failure and no abort: every seam up to the outermost hands
// it on, and [RunExecution] ends with [StatusSuspended]. Find it with
// [errors.As] or [errors.AsType].
//
// A hook that returns one ends the dispatch. At a pre point nothing runs and no
// post point fires: a tool call has no result then, and its Err is the Suspended.
// At a post point the value stands, unless a guard refuses it, and the seam returns
// the Suspended. At [ExecutionEnd], where nothing is left to wait, it is a failure
// of the hook. Where one error holds both, an abort counts before a Suspended if a
// hook returned it, and behind it if a body did; one that is but the cause of an
// abort doesn't count.
//
// [ToolCall.Ask] makes one of questions that nobody has decided yet,
// [PassThrough] one of a framework's own interrupt, and [RunTools] joins those of
// a turn.
type Suspended struct {
	Questions []Question
	Err       error // a framework's own interrupt; Unwrap returns it
}

// Error tells what the run waits for, never the arguments of a call.
func (s *Suspended) Error() string {
	switch {
	case s == nil:
		return "<nil *Suspended>"
	case s.Err != nil:
		return errtree.Text(s.Err)
	case len(s.Questions) == 1:
		return fmt.Sprintf("hooks: the run waits for a decision about tool %s (question %s)", s.Questions[0].Tool, s.Questions[0].ID)
	}
	return fmt.Sprintf("hooks: the run waits for %d decisions", len(s.Questions))
}

// Unwrap returns Err.
func (s *Suspended) Unwrap() error {
	if s == nil {
		return nil
	}
	return s.Err
}

// MarshalJSON writes the questions and the text of Err.
func (s Suspended) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Questions []Question `json:",omitempty"`
		Err       string     `json:",omitempty"`
	}{s.Questions, errtree.Text(s.Err)})
}

// PassThrough marks an error as control flow of the framework, such as an
// interrupt, and not a failure: it returns a [*Suspended] whose Err is err. A
// hook or a body returns it, bare or wrapped. Of a body, every seam up to the
// outermost returns it, sets the context's Err to it, fills in no result and
// ignores aborts of the post hooks, but for taking out what they refuse. A nil err
// gives nil.
func PassThrough(err error) error {
	if err == nil {
		return nil
	}
	return &Suspended{Err: err}
}

// findSuspended finds the *Suspended in err as errors.As does, passing over nil
// ones. What an abort gives as its cause doesn't count: that is a refusal.
func findSuspended(err error) *Suspended {
	if err == nil {
		return nil
	}
	if s, ok := err.(*Suspended); ok {
		return s
	}
	var found *Suspended
	isAbort := func(err error) bool {
		_, ok := err.(*HookAborted)
		return ok
	}
	errtree.WalkOutside(err, isAbort, func(err error) bool {
		if s, ok := err.(*Suspended); ok {
			found = s
		}
		return found != nil
	})
	return found
}

// suspension returns the Suspended that a passage ends with whose hook returned
// err, in which found was found: found itself, or one that keeps what it was
// wrapped in.
func suspension(found *Suspended, err error) *Suspended {
	if err == error(found) {
		return found
	}
	return &Suspended{Questions: found.Questions, Err: err}
}

// joinSuspended makes one of several errors that hold a Suspended each.
func joinSuspended(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	all := &Suspended{}
	var causes []error
	for _, err := range errs {
		found := findSuspended(err)
		all.Questions = append(all.Questions, found.Questions...)
		switch {
		case err != error(found):
			causes = append(causes, err)
		case found.Err != nil:
			causes = append(causes, found.Err)
		}
	}
	all.Err = errors.Join(causes...)
	return all
}
