package command

// What goes wrong: with a settings file, and with a script.

import "fmt"

// LoadError is one thing in a settings file or an option that can't be honoured.
// [Load] returns it joined with others of its kind.
type LoadError struct {
	Place   string // a JSON path, as $.hooks.PreToolUse[0].matcher, or the name of an option
	Problem string // what is wrong and what to do about it
	Err     error  // the cause, if there is one
}

// Error returns place and problem.
func (e *LoadError) Error() string {
	text := "command: " + e.Place + ": " + e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *LoadError) Unwrap() error { return e.Err }

// ScriptError is the failure of one script. It is in the event of the hook that ran
// it, or the cause of an abort ([errors.As]).
type ScriptError struct {
	Event    string // "PreToolUse"
	Place    string // of the handler in the settings file: $.hooks.PreToolUse[0].hooks[0]
	Problem  string
	ExitCode int    // -1 where it didn't end by itself
	Stderr   string // what it wrote to standard error, which may hold secrets
	Err      error  // the cause, if there is one
}

// Error tells which script failed and how, never what it wrote.
func (e *ScriptError) Error() string {
	text := fmt.Sprintf("command: the %s script at %s failed: %s", e.Event, e.Place, e.Problem)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *ScriptError) Unwrap() error { return e.Err }
