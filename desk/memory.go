package desk

// The store in memory.

import (
	"context"
	"fmt"
	"iter"
	"sync"
)

// Memory returns an empty store in the memory of the process, for tests and for
// programs whose runs don't outlive it. It keeps what it was given for as long
// as it lives.
func Memory() Store { return &memoryStore{records: make(map[string]Record)} }

type memoryStore struct {
	mu      sync.Mutex
	records map[string]Record // protected by mu
}

func (s *memoryStore) Insert(ctx context.Context, rec Record) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	id := rec.Question.ID
	if id == "" {
		return Record{}, errNoID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if there, ok := s.records[id]; ok {
		return there.clone(), about(id, ErrExists)
	}
	rec.Version = 1
	s.records[id] = rec.clone()
	return rec.clone(), nil
}

func (s *memoryStore) Get(ctx context.Context, id string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.records[id]
	if !ok {
		return Record{}, about(id, ErrNotFound)
	}
	return rec.clone(), nil
}

func (s *memoryStore) Update(ctx context.Context, rec Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id := rec.Question.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	there, ok := s.records[id]
	if !ok {
		return about(id, ErrNotFound)
	}
	if there.Version != rec.Version {
		return about(id, ErrConflict)
	}
	rec.Version++
	s.records[id] = rec.clone()
	return nil
}

func (s *memoryStore) List(ctx context.Context, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s.mu.Lock()
		var found []place
		for _, rec := range s.records {
			if q.Matches(rec) {
				found = append(found, placeOf(&rec))
			}
		}
		s.mu.Unlock()
		yieldPlaces(ctx, found, q, s.Get, yield)
	}
}

// about adds the ID to an error.
func about(id string, err error) error {
	if len(id) > maxShownID {
		id = id[:maxShownID] + "…"
	}
	return fmt.Errorf("%w (question %q)", err, id)
}

const maxShownID = 80
