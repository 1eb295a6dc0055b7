// The folder of a run that is decided later: the run itself, its questions, and
// what the office has booked.

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/policy"
	"github.com/loophooks/hooks/examples/travel/saved"
)

// folder is a folder that this process alone runs something in. Deciding needs no
// more than its desk.
type folder struct {
	dir    string
	unlock func() error
	desk   *desk.Desk
	run    saved.Run // the last one that was saved; none if it has no RunID
	rules  rules
}

// openFolder takes the folder of s.state, for a run that begins or for the one that
// is in it. What the run was begun with is then in s.
func openFolder(s *settings) (*folder, error) {
	// Looked at before anything is made or locked, and once more when nobody else
	// can change it.
	if _, err := runIn(*s); err != nil {
		return nil, err
	}
	unlock, err := saved.Lock(s.state)
	if err != nil {
		return nil, err
	}
	k := &folder{dir: s.state, unlock: unlock}
	if err := k.open(s); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *folder) open(s *settings) error {
	run, err := runIn(*s)
	if err != nil {
		return err
	}
	if !s.resume { // what a run has left that was over but for its last files
		if err := os.RemoveAll(deskIn(k.dir)); err != nil {
			return err
		}
	}
	if k.desk, err = openDesk(k.dir); err != nil {
		return err
	}
	if s.resume {
		if s.rules, err = rulesOf(run); err != nil {
			return fmt.Errorf("the run in %s can't be gone on with: %w", k.dir, err)
		}
		if err := takeModel(s, run.Model); err != nil {
			return err
		}
		s.prompt = requestIn(run.History)
	}
	k.run, k.rules = run, s.rules
	return nil
}

// runIn returns the run that is gone on with, and makes sure that there is none
// where one begins.
func runIn(s settings) (saved.Run, error) {
	run, err := saved.Read(s.state)
	none := errors.Is(err, fs.ErrNotExist)
	switch {
	case none && s.resume:
		return run, fmt.Errorf("there is no run in %s to go on with; begin one with -approve=later", s.state)
	case none:
		return run, nil
	case err != nil:
		return run, err
	case !s.resume:
		return run, fmt.Errorf("there is a run in %s that isn't over; go on with it by -resume, or give another folder", s.state)
	}
	return run, nil
}

func deskIn(dir string) string { return filepath.Join(dir, "desk") }

func openDesk(dir string) (*desk.Desk, error) {
	store, err := desk.File(deskIn(dir))
	if err != nil {
		return nil, err
	}
	return desk.New(store), nil
}

func (k *folder) bookings() string { return filepath.Join(k.dir, "bookings.json") }

func (k *folder) close() { _ = k.unlock() } // the lock ends with the process at the latest

// save saves the run. The rules see to it that no document number gets this far;
// if one does, nothing is written.
func (k *folder) save(run saved.Run) error {
	if policy.HoldDocument(run.History) {
		return errors.New("the run isn't saved: it would hold a document number")
	}
	run.Settings = map[string]string{
		maxTurnsSetting:        strconv.Itoa(k.rules.maxTurns),
		turnBudgetSetting:      strconv.Itoa(k.rules.turnBudget),
		managerApprovedSetting: strconv.FormatBool(k.rules.managerApproved),
	}
	if err := saved.Write(k.dir, run); err != nil {
		return err
	}
	k.run = run
	return nil
}

const (
	maxTurnsSetting        = "max_turns"
	turnBudgetSetting      = "turn_budget"
	managerApprovedSetting = "manager_approved"
)

func rulesOf(run saved.Run) (r rules, err error) {
	if r.maxTurns, err = strconv.Atoi(run.Settings[maxTurnsSetting]); err != nil {
		return r, fmt.Errorf("%s: %w", maxTurnsSetting, err)
	}
	if r.turnBudget, err = strconv.Atoi(run.Settings[turnBudgetSetting]); err != nil {
		return r, fmt.Errorf("%s: %w", turnBudgetSetting, err)
	}
	if r.managerApproved, err = strconv.ParseBool(run.Settings[managerApprovedSetting]); err != nil {
		return r, fmt.Errorf("%s: %w", managerApprovedSetting, err)
	}
	return r, nil
}

// takeModel makes s go on with the model that the run was begun with.
func takeModel(s *settings, model string) error {
	switch {
	case s.baseURL == "" && model == scriptedModel:
		return nil
	case s.baseURL == "":
		return fmt.Errorf("the run in %s was begun with the model %s; give its endpoint with -base-url or in OPENAI_BASE_URL", s.state, model)
	case model == scriptedModel && s.model != scriptedModel:
		return fmt.Errorf("the run in %s was begun with the embedded model; go on without %s", s.state, s.from.baseURL)
	case s.model != "" && s.model != model:
		return fmt.Errorf("the run in %s was begun with the model %s, not %s; leave -model out", s.state, model, s.model)
	}
	s.model = model
	return nil
}

// requestIn returns what the user asked for.
func requestIn(history []hooks.Message) string {
	for _, m := range history {
		if m.Role == "user" {
			return m.Text()
		}
	}
	return ""
}

// end settles what came of the run. One that waits has its questions told, one that
// has ended leaves nothing but its bookings, and one that broke off stays.
func (k *folder) end(w io.Writer, s settings, err error) error {
	if waiting := waits(err); waiting != nil {
		for _, q := range waiting.Questions {
			tellQuestion(w, &q)
			tellCommands(w, s, &q)
		}
		tellResume(w, s)
		return err
	}
	_, stopped := errors.AsType[*hooks.HookAborted](err)
	_, tooLong := errors.AsType[*agent.TurnLimitError](err)
	switch {
	case err != nil && !stopped && !tooLong && k.run.RunID != "":
		return &brokeOff{err}
	case k.run.RunID != "":
		err = errors.Join(err, saved.Remove(k.dir, k.run.RunID))
	}
	return errors.Join(err, os.RemoveAll(deskIn(k.dir)))
}

// brokeOff is the failure of a run that is still in its folder.
type brokeOff struct{ error }

func (e *brokeOff) Unwrap() error { return e.error }

// waits returns what a run waits for that ended with err, nil if it doesn't.
func waits(err error) *hooks.Suspended {
	if _, stopped := errors.AsType[*hooks.HookAborted](err); stopped {
		return nil
	}
	waiting, _ := errors.AsType[*hooks.Suspended](err)
	return waiting
}
