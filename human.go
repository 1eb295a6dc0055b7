package hooks

// Asking a person. Whoever asks waits for the turn of the HumanInput, then has
// the live display paused, and only then is the question put; however it ends,
// both are given back. A ctx that is done is never an answer.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/console"
	"github.com/loophooks/hooks/internal/errtree"
	"github.com/loophooks/hooks/internal/turns"
)

// HumanInput asks a person a question and returns the answer.
//
// RequestInput shows prompt (what it is about, which may have several lines)
// and message (what to type), and returns the line that the person typed. It
// returns an error when there is no answer: end of input is an error and never
// a yes, and once ctx is done RequestInput should return an error without
// delay. An answer that it returns after that is discarded.
//
// RequestInput is called from any goroutine, but questions never call it twice
// at the same time for one HumanInput. So it must not put a question to the
// same HumanInput again, which would wait for its own turn until its ctx is
// done.
//
// HumanInputs are told apart with ==: equal values are one HumanInput. Values
// that can't be compared are one for each [WithHumanInput] or [SetHumanInput]
// that they were given to.
//
// A hook that asks for approval should be a guard ([Guard]), or at least
// fail-closed ([WithFailClosed]). An ordinary hook is fail-open: if it returns
// the error of a question that nobody answered, that error is recorded and the
// call goes through. Only what is known to mean yes should be taken for one:
//
//	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
//		args, err := call.Arguments()
//		if err != nil {
//			return err
//		}
//		answer, err := call.RequestHumanInput(ctx,
//			fmt.Sprintf("The agent wants to run %q with %s.", call.Name, args),
//			`Type "yes" to allow it:`)
//		if err != nil {
//			return err // no answer: a guard refuses the call
//		}
//		if !strings.EqualFold(answer, "yes") {
//			return hooks.Abort("the operator refused")
//		}
//		return nil
//	}, hooks.WithName("approval"))
type HumanInput interface {
	RequestInput(ctx context.Context, prompt, message string) (string, error)
}

// SetHumanInput makes h answer the questions of the whole process, except of
// runs that have their own ([WithHumanInput]). nil restores the default, a
// [Console] on os.Stdin and os.Stderr. A question that has been put already
// stays with the HumanInput it was put to. It is safe for concurrent use.
func SetHumanInput(h HumanInput) {
	if h == nil {
		processHuman.Store(nil)
		return
	}
	processHuman.Store(newHuman(h))
}

// WithHumanInput returns a ctx under which h answers the questions, whatever
// [SetHumanInput] and outer calls of WithHumanInput say. Nothing has to be
// undone: h is forgotten with the ctx. It panics if h is nil.
func WithHumanInput(ctx context.Context, h HumanInput) context.Context {
	if h == nil {
		panic("hooks: WithHumanInput: the HumanInput is nil")
	}
	ctx = nonNil(ctx)
	outer := frameOf(ctx)
	node := &struct {
		frame
		carried carried
	}{newFrame(ctx, outer), *outer.holds()}
	node.carried.human = newHuman(h)
	node.frame.carried = &node.carried
	return &node.frame
}

// requestHumanInput puts a question to the HumanInput of ctx and returns the
// trimmed answer. It waits for its turn first, and has the live display paused
// while the question is open. Every failure, a cancelled ctx included, is an
// error and an empty answer. It sets no time limit of its own.
func requestHumanInput(ctx context.Context, prompt, message string) (string, error) {
	ctx = nonNil(ctx)
	return humanFrom(ctx).ask(ctx, prompt, message)
}

func (h *human) ask(ctx context.Context, prompt, message string) (string, error) {
	t := humanTurns.Hold(h.key, turns.New())
	defer humanTurns.Release(h.key)
	if err := t.Take(ctx); err != nil {
		return "", err
	}
	defer t.Give()

	if err := liveDisplay.enter(ctx); err != nil {
		return "", err
	}
	defer liveDisplay.leave()
	if ctx.Err() != nil { // done while the display was being paused
		return "", turns.NoAnswer(ctx)
	}

	answer, err := h.input.RequestInput(ctx, prompt, message)
	if ctx.Err() != nil {
		// Also when there is an answer: what it was to approve is given up.
		if err == nil || errtree.Is(err, ctx.Err()) {
			return "", turns.NoAnswer(ctx)
		}
		return "", fmt.Errorf("%w: %w", turns.NoAnswer(ctx), err)
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(answer), nil
}

// human is a HumanInput with the key of its turn.
type human struct {
	input HumanInput
	key   any
}

func newHuman(h HumanInput) *human {
	hu := &human{input: h}
	hu.key = turns.Key(h, hu)
	return hu
}

var (
	processHuman atomic.Pointer[human] // nil: standardHuman
	humanTurns   turns.Pool[turns.Turnstile]
)

func humanFrom(ctx context.Context) *human {
	if h := frameOf(ctx).holds().askable(); h != nil {
		return h
	}
	return standardHuman()
}

// askable returns the person that somebody named, nil for none.
func (c *carried) askable() *human {
	if c.human != nil {
		return c.human
	}
	return processHuman.Load()
}

// Console is the [HumanInput] of a terminal: it writes a question and reads a
// line as its answer. It is made with [NewConsole] and safe for concurrent use;
// its questions are asked one at a time, also when RequestInput is called
// directly.
type Console struct{ console *console.Console }

// NewConsole returns a Console that reads answers from in and writes questions
// to out. It panics if either is nil.
//
// Consoles whose readers are equal (==) take turns as if they were one, so each
// run may make its own on os.Stdin. While a Console is in use nothing else
// should read from in. A Write to out that blocks goes on after its question was
// cancelled, so out must be safe for concurrent use where something else writes
// to it.
func NewConsole(in io.Reader, out io.Writer) *Console {
	if in == nil {
		panic("hooks: NewConsole: the reader is nil")
	}
	if out == nil {
		panic("hooks: NewConsole: the writer is nil")
	}
	return &Console{console.New(in, out, console.Failures{
		Panicked: func(value any) error { return newPanicError(value) },
		Exited:   ErrGoexit,
	})}
}

// RequestInput writes prompt, a line break, message and a space, and returns
// the next line without surrounding white space. An empty line is "" and no
// error.
//
// Text that a model made up must not be able to hide or repaint what a person
// is about to approve. What a terminal obeys and what a person can't see is
// therefore written as an escape (\x1b, \u200b): control characters other than
// line breaks and tabs, characters that change the writing direction, that are
// invisible or that Unicode doesn't define, and more than eight marks on one
// letter. Joiners and variation selectors stay where a script or an emoji needs
// them. Line breaks stay too, so text from a model should be quoted.
//
// There is no answer, and an error, in these cases:
//   - The input has ended, which is never a yes: the error wraps [io.EOF], or
//     [io.ErrUnexpectedEOF] if a line was cut off before its line break.
//   - The reader or the writer fails (its error is wrapped) or panics (the
//     error wraps a *[PanicError]).
//   - The line is longer than 1 MiB.
//   - ctx is done: RequestInput returns at once, and the error wraps ctx.Err()
//     and the cause. If ctx is done from the start, nothing is written or read.
//
// There is no other time limit. What the input still has of a line that was too
// long, or that an error interrupted, is skipped by the next question.
//
// A late yes never approves something else. If the reader is the *[os.File] of a
// terminal, on Linux, macOS and the BSDs, what was typed before a question is
// shown is dropped, a half line included. Elsewhere it stays with the terminal.
// A pipe or a file keeps its lines for the next questions, so that answers can
// be prepared.
//
// Input is read only while a question is open, byte by byte, so that nothing
// behind the line break is taken. A Read can't be called back, though: the one
// that a cancelled question was waiting in goes on, on a goroutine of its own,
// and serves the next question. A line that it gets while no question is open,
// or that was begun before the one that is open, is dropped.
func (c *Console) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	if c == nil || c.console == nil {
		return "", errors.New("hooks: no answer: the Console was not made with NewConsole")
	}
	return c.console.Ask(nonNil(ctx), prompt, message)
}

var standardConsole struct {
	mu      sync.Mutex
	human   *human
	in, out *os.File
}

// standardHuman returns the Console on os.Stdin and os.Stderr. It is a new one
// only after a program has replaced either.
func standardHuman() *human {
	standardConsole.mu.Lock()
	defer standardConsole.mu.Unlock()
	if standardConsole.human == nil || standardConsole.in != os.Stdin || standardConsole.out != os.Stderr {
		standardConsole.in, standardConsole.out = os.Stdin, os.Stderr
		standardConsole.human = newHuman(NewConsole(os.Stdin, os.Stderr))
	}
	return standardConsole.human
}

// LiveDisplay is output that keeps redrawing the terminal, such as a spinner
// or a progress table. It is paused while a person is being asked, so that it
// doesn't draw over the question.
//
// Pause should return when nothing is being drawn any more. Pause and Resume
// are never called at the same time. Both should be quick, since the question
// that calls them waits for them even when its ctx is done. Neither may ask a
// person itself: that question would wait for Pause or Resume to return.
type LiveDisplay interface {
	Pause()
	Resume()
}

// SetLiveDisplay registers the live display of the process; nil removes it.
// It is paused before the first question is shown and resumed when no question
// is open any more, whatever [HumanInput] they are put to. Each Pause that
// returned is followed by one Resume, however the question ends: answered, by
// an error or a panic, or because ctx is done.
//
// A display that is replaced while a question is open stays paused until then
// and is resumed; the new one is paused from the next question on. It is safe
// for concurrent use.
func SetLiveDisplay(d LiveDisplay) {
	var s *shownDisplay
	if d != nil {
		s = &shownDisplay{LiveDisplay: d}
		s.key = turns.Key(d, s)
	}
	liveDisplay.mu.Lock()
	defer liveDisplay.mu.Unlock()
	liveDisplay.current = s
}

// shownDisplay is a LiveDisplay with a key that can be compared.
type shownDisplay struct {
	LiveDisplay
	key any
}

var liveDisplay displayGate

// displayGate has the display paused while questions are open. Pause and
// Resume run without mu: the goroutine that runs one owns moving, and others
// that enter meanwhile wait for it.
type displayGate struct {
	mu      sync.Mutex
	current *shownDisplay
	open    int             // questions that are open or whose Pause is running
	paused  []*shownDisplay // Pause has returned, Resume is owed
	moving  chan struct{}   // closed when the Pause or Resume under way is over
}

// enter opens a question: when it returns nil the display is paused, and leave
// has to be called. It returns an error if ctx is done while another question
// is having the display paused or resumed.
func (g *displayGate) enter(ctx context.Context) error {
	g.mu.Lock()
	for g.moving != nil {
		moving := g.moving
		g.mu.Unlock()
		select {
		case <-moving:
		case <-ctx.Done():
			return turns.NoAnswer(ctx)
		}
		g.mu.Lock()
	}
	// Counted before Pause, so that a question that ends meanwhile isn't the
	// last one and doesn't resume what this one relies on.
	g.open++
	s := g.current
	if s == nil || slices.ContainsFunc(g.paused, func(p *shownDisplay) bool { return p.key == s.key }) {
		g.mu.Unlock()
		return nil
	}
	g.moving = make(chan struct{})
	g.mu.Unlock()

	returned := false
	defer func() {
		if returned {
			g.moved(s)
			return
		}
		// Pause panicked or exited its goroutine: no Resume is owed for it,
		// but perhaps for a display that was paused before.
		g.moved(nil)
		g.leave()
	}()
	s.Pause()
	returned = true
	return nil
}

// moved ends the Pause or Resume under way. paused is the display whose Pause
// has returned, or nil.
func (g *displayGate) moved(paused *shownDisplay) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if paused != nil {
		g.paused = append(g.paused, paused)
	}
	close(g.moving)
	g.moving = nil
}

// leave closes a question, and resumes what is paused if it was the last one.
func (g *displayGate) leave() {
	g.mu.Lock()
	g.open--
	if g.open > 0 || len(g.paused) == 0 {
		g.mu.Unlock()
		return
	}
	// No other goroutine is moving: a running Pause counts as an open question, and
	// while a Resume runs there is none.
	paused := g.paused
	g.paused = nil
	g.moving = make(chan struct{})
	g.mu.Unlock()

	defer g.moved(nil)
	for _, s := range paused {
		defer s.Resume() // deferred, so that one that panics doesn't stop the others
	}
}
