package hooks

import (
	"context"
	"slices"
	"sync"
)

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
		s.key = comparableKey(d, s)
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
// Resume run without mu; who runs one owns moving, and everybody who wants to
// enter meanwhile waits for it.
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
			return noAnswer(ctx)
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
	// Nobody else is moving: a running Pause counts as an open question, and
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
