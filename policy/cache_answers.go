package policy

// Where a Cache keeps its answers, and who of equal calls runs the body.

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/loophooks/hooks"
	"github.com/maypok86/otter/v2"
)

// answers is what a Cache keeps.
type answers struct {
	max  int
	kept *otter.Cache[cacheKey, *answer]

	mu      sync.Mutex
	flights map[cacheKey]*flight // protected by mu
}

// flight is a run of the body that equal calls wait for.
type flight struct {
	done chan struct{} // closed when it has ended
	left *answer       // nil if nothing was to be kept; set before done is closed
}

func newAnswers(ttl time.Duration, maxBytes int) *answers {
	return &answers{
		max:     maxBytes,
		flights: make(map[cacheKey]*flight),
		kept: otter.Must(&otter.Options[cacheKey, *answer]{
			MaximumWeight:    uint64(maxBytes),
			Weigher:          func(_ cacheKey, a *answer) uint32 { return uint32(min(uint64(a.weight()), math.MaxUint32)) },
			ExpiryCalculator: otter.ExpiryWriting[cacheKey, *answer](ttl),
			Executor:         func(task func()) { task() },
			Clock:            stillClock{time.Now()},
		}),
	}
}

// stillClock tells the time and never ticks: with a clock that ticks the cache has a
// goroutine for as long as it lives.
type stillClock struct{ began time.Time }

func (c stillClock) NowNano() int64                      { return int64(time.Since(c.began)) }
func (c stillClock) Tick(time.Duration) <-chan time.Time { return nil }

// entryWeight is what an entry takes beside its texts.
const entryWeight = 256

// weight returns about how many bytes a takes.
func (a *answer) weight() int {
	n := entryWeight + len(a.text) + len(a.model) + len(a.reason)
	for _, part := range a.parts {
		n += entryWeight + len(part.Kind) + len(part.Text)
	}
	return n
}

// keep keeps a, unless it is nil or has no room even alone.
func (s *answers) keep(key cacheKey, a *answer) {
	if a != nil && a.weight() <= s.max {
		s.kept.Set(key, a)
	}
}

// join returns what was kept under key, or else the flight of that key, which the
// caller leads if nobody does.
func (s *answers) join(key cacheKey) (kept *answer, f *flight, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.kept.GetIfPresent(key); ok { // under the lock, so that no flight has ended in between
		return kept, nil, false
	}
	if f = s.flights[key]; f != nil {
		return nil, f, false
	}
	f = &flight{done: make(chan struct{})}
	s.flights[key] = f
	return nil, f, true
}

// land ends a flight that the caller has led.
func (s *answers) land(key cacheKey, f *flight) {
	s.keep(key, f.left)
	s.mu.Lock()
	delete(s.flights, key)
	s.mu.Unlock()
	close(f.done)
}

// leading is set in the ctx of a body that others wait for, of whichever Cache.
type leading struct{}

// caching returns the hook of a Cache: key tells which calls are equal, keep what is
// to be kept of one, and give answers another with that.
func caching[C any](s *answers, key func(context.Context, *C) (cacheKey, bool), keep func(*C) *answer, give func(*C, *answer)) hooks.AroundFunc[C] {
	return func(ctx context.Context, c *C, next func(context.Context) error) error {
		key, ok := key(ctx, c)
		if !ok {
			return next(ctx)
		}
		// run makes the call, and returns what is to be kept of it.
		run := func(ctx context.Context) (*answer, error) {
			if err := next(ctx); err != nil {
				return nil, err
			}
			return keep(c), nil
		}
		alone := func() error {
			left, err := run(ctx)
			s.keep(key, left)
			return err
		}
		if ctx.Value(leading{}) != nil {
			if kept, ok := s.kept.GetIfPresent(key); ok {
				give(c, kept)
				return nil
			}
			return alone()
		}
		kept, f, leads := s.join(key)
		switch {
		case kept != nil:
			give(c, kept)
			return nil
		case leads:
			defer s.land(key, f) // also where the goroutine ends
			left, err := run(context.WithValue(ctx, leading{}, true))
			f.left = left
			return err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if f.left == nil {
			return alone()
		}
		give(c, f.left)
		return nil
	}
}
