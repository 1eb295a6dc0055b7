package policy

import (
	"context"
	"slices"
	"time"

	"github.com/loophooks/hooks"
)

// Today tells the model the date, in the system message of every call: a model
// doesn't know what day it is, and "Friday" means nothing without it.
//
// It is an ordinary hook: if it fails, the run goes on without the date. It
// edits this call's messages and not the history, where one date after another
// would pile up.
func Today(r *hooks.Registry, now func() time.Time) {
	hooks.On(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		text := "Today is " + now().Format("Monday, 2 January 2006") + "."
		// Into the system message there is, since some models take only one.
		if len(call.Messages) > 0 && call.Messages[0].Role == "system" {
			call.Messages[0].Content += "\n" + text
			return nil
		}
		call.Messages = slices.Insert(call.Messages, 0, hooks.Message{Role: "system", Content: text})
		return nil
	}, hooks.In(r), hooks.WithName("add today's date"))
}
