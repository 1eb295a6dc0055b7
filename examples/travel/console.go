// What a person is shown of a run. Nothing of it changes the run, and everything
// is made harmless for a terminal first.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/policy"
)

// console tells a person what happens. It hears of the loop from the loop, and
// of the hooks by observing a registry; it changes nothing. Everything that it
// prints goes through policy.ForPeople.
type console struct {
	trace   bool
	stopped func() bool // whether the run was given up

	mu       sync.Mutex
	w        io.Writer
	pending  []string          // what hooks did since the loop last said something
	modified int               // dispatches that rewrote something
	shown    map[string]string // the arguments of the turn's calls, by the ID of the call
	said     strings.Builder   // what was printed piece by piece of the turn's text
	open     bool              // a line of it isn't over
}

// listener prints what the loop does.
func (c *console) listener() agent.Listener {
	return agent.Listener{
		TurnStarted: func(turn int) {
			c.tell(func() {
				c.said.Reset()
				fmt.Fprintf(c.w, "\nTurn %d\n", turn)
			})
		},
		ModelReplied: func(_ int, reply hooks.Message) {
			c.tell(func() {
				if reply.Content != "" && len(reply.ToolCalls) > 0 && reply.Content != c.said.String() { // else it is the answer
					c.line("model", reply.Content)
				}
				c.calls(reply.ToolCalls)
			})
		},
		TurnResumed: func(_ int, calls []hooks.ToolRequest) {
			c.tell(func() {
				c.calls(calls)
			})
		},
		ToolReturned: func(_ int, call *hooks.ToolCall) {
			c.tell(func() {
				c.edited(call)
				switch {
				case call.Suspended() != nil:
					c.line("result", call.Name+": none yet, it waits for a decision")
				case c.interrupted(call.Err), call.Blocked != nil && c.interrupted(call.Blocked):
					c.line("result", call.Name+": none, the run was interrupted")
				case call.IsError():
					c.line("error", call.Name+": "+call.Text())
				default:
					c.line("result", call.Name+": "+call.Text())
				}
			})
		},
		CallsSkipped: func(_, calls int) {
			c.tell(func() { c.line("error", count(calls, "tool call")+" too many for one turn, not made") })
		},
	}
}

// piece prints a piece of what the model says, which is the agent's to filter. It
// fails where that can't be written.
func (c *console) piece(_ int, p hooks.Chunk) error {
	if p.Kind != hooks.ChunkText || p.Text == "" {
		return nil // calls are printed when they are whole
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said.WriteString(p.Text)
	var b strings.Builder
	for line := range strings.Lines(p.Text) {
		if !c.open {
			c.flush()
			b.WriteString("  model   ")
		}
		text, ends := strings.CutSuffix(line, "\n")
		b.WriteString(policy.OneLine(text))
		if c.open = !ends; ends {
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(c.w, b.String())
	return err
}

// endLine ends the line that pieces have begun. The caller holds mu.
func (c *console) endLine() {
	if c.open {
		c.open = false
		fmt.Fprintln(c.w)
	}
}

// calls prints what the model asks for. The caller holds mu.
func (c *console) calls(calls []hooks.ToolRequest) {
	c.shown = make(map[string]string, len(calls))
	for i, call := range calls {
		if i == maxCalls {
			c.line("call", fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		c.line("call", call.Name+" "+policy.HideInJSON(call.Arguments))
		asked := new(hooks.ToolCall)
		if asked.SetArguments(call.Arguments) == nil {
			c.shown[call.ID], _ = asked.Arguments()
		}
	}
}

// edited prints what a call was made with, if that isn't what was shown: a hook, or
// whoever decided, may have made something else of it. The caller holds mu.
func (c *console) edited(call *hooks.ToolCall) {
	args, err := call.Arguments()
	if shown, ok := c.shown[call.ID]; ok && err == nil && args != shown {
		c.line("edited", call.Name+" "+policy.HideInJSON(args))
	}
}

// dispatched observes the hooks of the run. Those of parallel tool calls come in
// any order, from many goroutines: they wait until the loop says the next
// thing, and then come in an order of their own. A trace is printed at once.
func (c *console) dispatched(_ context.Context, ev hooks.HookDispatchedEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trace {
		c.line("trace", traceOf(ev))
	}
	if ev.Outcome == hooks.OutcomeModified {
		c.modified++
	}
	for _, h := range ev.Hooks {
		if did := c.deed(ev, h); did != "" {
			c.pending = append(c.pending, fmt.Sprintf("%q %s", h.Name, did))
		}
	}
}

// deed is what a hook did, "" if it did nothing.
func (c *console) deed(ev hooks.HookDispatchedEvent, h hooks.HookRun) string {
	what := payload(ev)
	switch h.Outcome {
	case hooks.OutcomeModified:
		return "rewrote " + what
	case hooks.OutcomeFailed:
		return "failed on " + what + " and was passed over"
	case hooks.OutcomeAborted:
		if c.interrupted(h.Err) {
			return "was interrupted at " + what
		}
		return "refused " + what + ": " + ev.AbortReason
	case hooks.OutcomeSuspended:
		return "asked about " + what
	}
	return ""
}

// interrupted reports whether err comes of a run that was given up, and not of a
// decision or a failure.
func (c *console) interrupted(err error) bool {
	return c.stopped() && errors.Is(err, context.Canceled)
}

// payload names what the hooks of a dispatch decide on.
func payload(ev hooks.HookDispatchedEvent) string {
	switch ev.Point {
	case hooks.PreModelCall.Name():
		return "the messages to the model"
	case hooks.PostModelCall.Name():
		return "the model's reply"
	case hooks.ModelStream.Name():
		return "what the model says"
	case hooks.PreToolCall.Name():
		return "the call of " + ev.ToolName
	case hooks.PostToolCall.Name():
		return "the result of " + ev.ToolName
	case hooks.Output.Name(), hooks.ExecutionEnd.Name():
		return "the answer"
	case hooks.PreStep.Name():
		return "the turn"
	case hooks.PostStep.Name():
		return "the end of the turn"
	}
	return "the request"
}

// traceOf is one dispatch in one line.
func traceOf(ev hooks.HookDispatchedEvent) string {
	var b strings.Builder
	b.WriteString(string(ev.Point))
	if ev.ToolName != "" {
		b.WriteString(" " + ev.ToolName)
	}
	fmt.Fprintf(&b, " %s in %v:", ev.Outcome, ev.Duration.Round(time.Microsecond))
	for i, h := range ev.Hooks {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %q %s", h.Name, h.Outcome)
	}
	if ev.Outcome == hooks.OutcomeAborted {
		b.WriteString(": " + ev.AbortReason)
	}
	return b.String()
}

// tell prints what the hooks did before, and then what say prints.
func (c *console) tell(say func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLine()
	c.flush()
	say()
}

func (c *console) flush() {
	slices.Sort(c.pending)
	for _, did := range c.pending {
		c.line("hook", did)
	}
	c.pending = nil
}

// line prints one line. The caller holds mu.
func (c *console) line(label, text string) {
	c.endLine()
	fmt.Fprintf(c.w, "  %-7s %s\n", label, policy.ForPeople(text))
}

func (c *console) begin(prompt, model string) {
	c.tell(func() {
		fmt.Fprintf(c.w, "Request: %s\nModel:   %s\n", policy.ForPeople(prompt), policy.ForPeople(model))
	})
}

// end prints the answer, if there is one, and the summary.
func (c *console) end(result agent.Result, err error, took time.Duration) {
	c.tell(func() {
		if err == nil && (result.Answer == "" || result.Answer != c.said.String()) { // else it is there
			fmt.Fprintln(c.w, "\nAnswer")
			for line := range strings.Lines(result.Answer) {
				fmt.Fprintf(c.w, "  %s\n", policy.ForPeople(strings.TrimRight(line, "\r\n")))
			}
		}
		skipped := ""
		if result.Skipped > 0 {
			skipped = fmt.Sprintf(", %d skipped", result.Skipped)
		}
		fmt.Fprintf(c.w, "\n%s, %s, %d blocked%s, %d rewritten, %v\n", count(result.Turns, "turn"), count(result.ToolCalls, "tool call"),
			result.Blocked, skipped, c.modified, took.Round(time.Millisecond))
	})
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// failure says why a run failed.
func failure(err error) string {
	if abort, ok := errors.AsType[*hooks.HookAborted](err); ok {
		// The text of abort.Err may hold what nobody should read.
		return fmt.Sprintf("stopped by %q: %s", abort.Source, abort.Reason)
	}
	return err.Error()
}
