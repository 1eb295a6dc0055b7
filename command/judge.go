package command

// Asking the scripts of an event, and what their answers add up to.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/loophooks/hooks"
)

// What the model or the caller reads where a script gives no reason.
const (
	failedReason  = "the hook script failed"
	blockedReason = "blocked by a hook script"
	stoppedReason = "a hook script stopped the run"
)

// ruling is what all scripts of an event said.
type ruling struct {
	verdict  strictness
	reason   string
	added    []string // of a tool call, for its result
	failures []error
	failed   bool // a script failed that then blocks
}

// take keeps the stricter verdict, and of equal ones the first.
func (r *ruling) take(verdict strictness, reason string) {
	if verdict > r.verdict {
		r.verdict, r.reason = verdict, reason
	}
}

// failure returns the failures as one error.
func (r *ruling) failure() error {
	if len(r.failures) == 1 {
		return r.failures[0]
	}
	return errors.Join(r.failures...)
}

// abort returns the refusal that r is, nil if it isn't one.
func (r *ruling) abort() error {
	if r.verdict < denies {
		return nil
	}
	return &hooks.HookAborted{Reason: r.reason, StopRun: r.verdict == stops, Err: r.failure()}
}

// logFailures tells what no event does: a guard that returns a failure refuses.
func (r *ruling) logFailures(ctx context.Context) {
	for _, err := range r.failures {
		slog.Default().LogAttrs(ctx, slog.LevelError, "command: a hook script failed", slog.Any("error", err))
	}
}

// ask runs the scripts of an event one after the other. Each gets what in returns
// then, and use puts its answer into effect; where that fails the script does. The
// error is that of in or of ctx, and then what was said counts for nothing.
func (c *Config) ask(ctx context.Context, scripts []*handler, in func() (input, error), use func(*answer) error) (ruling, error) {
	var r ruling
	for _, h := range scripts {
		about, err := in()
		if err != nil {
			return ruling{}, err
		}
		raw, err := about.encode()
		if err != nil {
			return ruling{}, err
		}
		said, err := c.run(ctx, h, raw)
		if err == nil {
			err = c.hear(ctx, h, said, &r, use)
		}
		if failure, ok := errors.AsType[*ScriptError](err); ok {
			r.failures = append(r.failures, failure)
			if h.blocks || c.failClosed {
				r.failed = true
				r.take(denies, failedReason)
			}
		} else if err != nil {
			return ruling{}, err
		}
	}
	return r, nil
}

// hear takes what one script said into r.
func (c *Config) hear(ctx context.Context, h *handler, said result, r *ruling, use func(*answer) error) error {
	var a answer
	if said.blocks {
		a = answer{verdict: denies, reason: said.reason}
	} else {
		var err error
		if a, err = parseAnswer(h.event, said.stdout); err != nil {
			return &ScriptError{Event: h.event, Place: h.place, Problem: err.Error()}
		}
	}
	if a.message != "" {
		slog.Default().LogAttrs(ctx, slog.LevelWarn, "command: a hook script says", slog.String("message", a.message), slog.String("event", h.event), slog.String("script", h.place))
	}
	var odd error
	if len(a.unknown) > 0 {
		names := strings.Join(a.unknown, ", ")
		if c.ignores {
			slog.Default().LogAttrs(ctx, slog.LevelWarn, "command: a hook script answers with unknown fields", slog.String("fields", names), slog.String("event", h.event), slog.String("script", h.place))
		} else {
			// What it changes might not be meant so, but a refusal is.
			a = answer{verdict: a.verdict, reason: a.reason}
			odd = &ScriptError{Event: h.event, Place: h.place, Problem: fmt.Sprintf("in its answer the fields %s aren't known for %s", names, h.event)}
		}
	}
	if a.verdict >= denies {
		a.updated = nil
	}
	if a.reason == "" {
		switch a.verdict {
		case denies:
			a.reason = blockedReason
		case stops:
			a.reason = stoppedReason
		}
	}
	r.take(a.verdict, a.reason)
	if err := use(&a); err != nil {
		return &ScriptError{Event: h.event, Place: h.place, Problem: "its answer can't take effect", Err: err}
	}
	return odd
}

// joined returns text with more behind it.
func joined(text, more string) string {
	switch {
	case more == "":
		return text
	case text == "":
		return more
	}
	return text + "\n\n" + more
}
