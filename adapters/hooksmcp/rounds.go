package hooksmcp

// What is kept of calls between their rounds.

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// round is a call that was answered by a question. It is used once: an answer lets
// no second call through.
type round struct {
	who, runID, callID string
	answers            map[string]*mcp.ElicitResult
	asked              bool
	requests           []string             // the keys that may be answered
	responses          mcp.InputResponseMap // the tool's own
	state              string               // the tool's own

	until time.Time
}

const (
	statePrefix = "hooksmcp."
	maxKept     = 1024 // calls; the oldest are forgotten, and asked about anew
	keptFor     = 24 * time.Hour
)

// rounds keeps calls in memory.
type rounds struct {
	mu   sync.Mutex
	kept map[string]*round
}

// keep returns the state by which r is found.
func (s *rounds) keep(r *round) string {
	state := statePrefix + rand.Text()
	s.put(state, r)
	return state
}

func (s *rounds) put(key string, r *round) {
	now := time.Now()
	r.until = now.Add(keptFor)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = make(map[string]*round)
	}
	if len(s.kept) >= maxKept {
		var oldest string
		for k, other := range s.kept {
			if !now.Before(other.until) {
				delete(s.kept, k)
			} else if oldest == "" || other.until.Before(s.kept[oldest].until) {
				oldest = k
			}
		}
		if len(s.kept) >= maxKept {
			delete(s.kept, oldest)
		}
	}
	s.kept[key] = r
}

// take returns what was kept and forgets it.
func (s *rounds) take(key string) (*round, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.kept[key]
	delete(s.kept, key)
	return r, ok && time.Now().Before(r.until)
}
