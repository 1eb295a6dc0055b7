package desk

// The store in a folder: one file for each record.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// File returns a store in the folder dir, which it makes if it isn't there. Any
// number of processes of one machine may use the folder at the same time.
//
// Each record is a file of JSON, named by the ID: <id>.json. A change is written
// to a file of its own, which takes the record's place once it is on the disk; so a
// process that is killed, or a machine that fails, leaves the record as it was or
// as it should be. A file that can't be read or isn't a record is an error that
// names it: of Get, of List, and of the Ask of a desk that lists what waits.
//
// IDs are those of package hooks, or others of at most 200 lower-case letters,
// digits, hyphens and underscores of ASCII: Insert refuses the rest.
//
// Changes are made under a lock. On Linux, macOS and the BSDs it is flock(2) on the
// file .lock, which ends with the process that holds it. On other systems it is
// that the file .held could be made, and a process that is killed in between leaves
// it behind: changes then fail, with an error that says to remove it, rather than
// be made beside those of somebody else. Network file systems may have neither.
//
// The folder is for the desk alone: another file whose name ends in .json is an
// unreadable record.
//
// Nothing removes records, and each question that is put looks through all of them:
// remove the files of runs that are over. The folder is made for its owner alone,
// and so are the files, since they hold arguments of tools.
func File(dir string) (Store, error) {
	if dir == "" {
		return nil, errors.New("desk: File: no folder given")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("desk: File: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("desk: File: %w", err)
	}
	return &fileStore{dir: dir, turn: make(chan struct{}, 1), lock: lockFolder}, nil
}

type fileStore struct {
	dir  string
	turn chan struct{} // held by the goroutine that wants or has the lock
	lock func(ctx context.Context, dir string) (unlock func() error, err error)

	beforeRename func() // for tests: the record is written, but not in its place
}

// The names of files that aren't records begin with a dot.
const (
	recordSuffix = ".json"
	tempName     = ".new" // one is enough: it is written under the lock
)

const maxFileID = 200

func isFileID(id string) bool {
	if id == "" || len(id) > maxFileID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return filepath.IsLocal(id + recordSuffix) // some systems reserve names
}

func (s *fileStore) path(id string) string { return filepath.Join(s.dir, id+recordSuffix) }

func (s *fileStore) Insert(ctx context.Context, rec Record) (Record, error) {
	id := rec.Question.ID
	if id == "" {
		return Record{}, errNoID
	}
	if !isFileID(id) {
		return Record{}, about(id, errors.New("desk: the ID can't be the name of a file"))
	}
	var stored Record
	err := s.locked(ctx, func() error {
		var err error
		if stored, err = s.read(id); err == nil {
			return about(id, ErrExists)
		} else if !errors.Is(err, ErrNotFound) {
			return err
		}
		stored = rec.clone()
		stored.Version = 1
		return s.write(&stored)
	})
	if err != nil && !errors.Is(err, ErrExists) {
		return Record{}, err
	}
	return stored, err
}

func (s *fileStore) Update(ctx context.Context, rec Record) error {
	id := rec.Question.ID
	return s.locked(ctx, func() error {
		there, err := s.read(id)
		if err != nil {
			return err
		}
		if there.Version != rec.Version {
			return about(id, ErrConflict)
		}
		rec.Version++
		return s.write(&rec)
	})
}

func (s *fileStore) Get(ctx context.Context, id string) (rec Record, err error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	if readUnlocked {
		return s.read(id)
	}
	err = s.locked(ctx, func() error {
		rec, err = s.read(id)
		return err
	})
	return rec, err
}

func (s *fileStore) List(ctx context.Context, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		entries, err := os.ReadDir(s.dir)
		if err != nil {
			yield(Record{}, fmt.Errorf("desk: %w", err))
			return
		}
		var found []place
		for _, entry := range entries {
			id, isRecord := strings.CutSuffix(entry.Name(), recordSuffix)
			if !isRecord || strings.HasPrefix(id, ".") {
				continue
			}
			rec, err := s.Get(ctx, id)
			switch {
			case ctx.Err() != nil:
				yield(Record{}, ctx.Err())
				return
			case errors.Is(err, ErrNotFound) && isFileID(id): // removed meanwhile
			case err != nil:
				if errors.Is(err, ErrNotFound) {
					err = fmt.Errorf("desk: %s isn't named as a record is", s.path(id))
				}
				if !yield(Record{}, err) {
					return
				}
			case q.Matches(rec):
				found = append(found, placeOf(&rec))
			}
		}
		yieldPlaces(ctx, found, q, s.Get, yield)
	}
}

// locked runs change while no other goroutine or process changes a record.
func (s *fileStore) locked(ctx context.Context, change func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	unlock, err := s.lock(ctx, s.dir)
	if err != nil {
		return fmt.Errorf("desk: the lock on %s: %w", s.dir, err)
	}
	defer func() {
		if unlocked := unlock(); err == nil && unlocked != nil {
			err = fmt.Errorf("desk: the lock on %s: %w", s.dir, unlocked)
		}
	}()
	return change()
}

// read returns the record with the ID, as the file holds it.
func (s *fileStore) read(id string) (Record, error) {
	if !isFileID(id) {
		return Record{}, about(id, ErrNotFound)
	}
	raw, err := os.ReadFile(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, about(id, ErrNotFound)
	}
	if err != nil {
		return Record{}, fmt.Errorf("desk: %w", err) // it names the file
	}
	var rec Record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return Record{}, fmt.Errorf("desk: %s can't be read: %w", s.path(id), err)
	}
	if rec.Question.ID != id || rec.Version < 1 {
		return Record{}, fmt.Errorf("desk: %s doesn't hold the record that it is named for", s.path(id))
	}
	return rec, nil
}

// write puts a record in its place, whole or not at all. It needs the lock.
func (s *fileStore) write(rec *Record) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return about(rec.Question.ID, fmt.Errorf("desk: %w", err))
	}
	temp := filepath.Join(s.dir, tempName)
	if err := writeSynced(temp, append(raw, '\n')); err != nil {
		return fmt.Errorf("desk: %w", err)
	}
	if s.beforeRename != nil {
		s.beforeRename()
	}
	if err := os.Rename(temp, s.path(rec.Question.ID)); err != nil {
		return fmt.Errorf("desk: %w", err)
	}
	if err := syncFolder(s.dir); err != nil { // else the name could be lost again
		return fmt.Errorf("desk: %w", err)
	}
	return nil
}

// writeSynced writes a file that is on the disk when it returns.
func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
