package hooks

// What observers are told of a dispatch.

import (
	"encoding/json"
	"time"

	"github.com/loophooks/hooks/internal/errtree"
)

// Outcome is what came of a dispatch or of one hook in it. More may be added:
// treat one that you don't know as OutcomeProceeded.
type Outcome string

// The outcomes of a dispatch, and of a hook.
const (
	OutcomeProceeded Outcome = "proceeded" // nothing was changed
	OutcomeModified  Outcome = "modified"  // the payload differs from before
	OutcomeAborted   Outcome = "aborted"   // a hook stopped the chain
	OutcomeSuspended Outcome = "suspended" // a hook said that the run waits
	OutcomeFailed    Outcome = "failed"    // of a hook only: it failed and was passed over
)

// HookDispatchedEvent tells of one dispatch that ran at least one hook, guard
// or watch, or of one stream, when it has ended; then Point is the name of its
// [Flow], and Hooks are its filters, each with the time that it took for all of the
// stream. What it holds is shared by all observers and must not be changed. It
// holds no payload; AbortReason and the Err of a hook are the hook author's own
// words. Fields may be added.
type HookDispatchedEvent struct {
	Point       InterceptionPoint
	Outcome     Outcome       // what hooks and guards made of it; watches don't count
	HookCount   int           // how many ran: len(Hooks)
	Duration    time.Duration // of the whole dispatch
	AbortReason string
	AbortSource string
	Hooks       []HookRun // each that ran, in order: hooks, guards, watches
	RunID       string
	ParentRunID string
	RootRunID   string
	Tenant      string
	AgentRole   string
	ToolName    string
	ToolCallID  string

	Again bool          `json:",omitempty"` // guards were asked once more, about what an around hook made of the input
	Runs  int           `json:",omitempty"` // of a body: how often it ran
	Body  time.Duration `json:",omitempty"` // of a body: how long that took in all

	// Of a stream: what was shown, and how many bytes were held at a time, at most,
	// by filters and for the post point.
	Chunks  int `json:",omitempty"`
	Bytes   int `json:",omitempty"`
	HeldMax int `json:",omitempty"`
}

// HookRun tells of one hook in a dispatch. Fields may be added.
type HookRun struct {
	Name     string        // as of [Registration.Name]
	Outcome  Outcome       // OutcomeAborted for the hook that stopped the chain
	Duration time.Duration // of this hook; of an around hook without the time in next
	Calls    int           `json:",omitempty"` // of an around hook: how often it called next
	Err      error         // what it failed with, a *PanicError for a panic; of an abort, its cause
}

// MarshalJSON writes the run with the text of Err, which encoding/json would
// lose.
func (h HookRun) MarshalJSON() ([]byte, error) {
	type fields HookRun // without this method
	v := struct {
		fields
		Err string `json:",omitempty"`
	}{fields: fields(h)}
	v.Err = errtree.Text(h.Err)
	return json.Marshal(v)
}
