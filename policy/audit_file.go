package policy

// The log in a file: opening it goes on with its chain.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// tornSuffix is behind the name of the file that torn lines are moved to.
const tornSuffix = ".torn"

// OpenAuditLog opens the log in the file at path, or makes one that only its owner can
// read. It verifies all of it, as [VerifyAudit] does, and goes on with its chain: a
// file that was changed, or that another key was used for, is an error that wraps an
// [*AuditError], and stays as it is.
//
// A last line without its end, as a crash leaves one, is moved to the end of the file
// path.torn, and a record of the kind recovered says so. If it was an intent, nothing
// ran: an intent is whole, and on the disk, before its body runs.
//
// One process may have the log open, and may open it once. Where there is flock(2),
// which is on Linux, macOS and the BSDs, opening it a second time is an error;
// elsewhere that is the caller's to see to. A line that could only be written in part,
// as on a full disk, is cut off again.
//
// OpenAuditLog panics if key has fewer than 16 bytes.
func OpenAuditLog(path string, key []byte) (*AuditLog, error) {
	checkAuditKey(key)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // one to append to can't be cut everywhere
	if err != nil {
		return nil, fmt.Errorf("policy: the audit log can't be opened: %w", err)
	}
	l, err := continueLog(f, path, key)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("policy: the audit log %s can't be opened: %w", path, err), f.Close())
	}
	return l, nil
}

func continueLog(f *os.File, path string, key []byte) (*AuditLog, error) {
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it isn't a regular file; use NewAuditLog")
	}
	if err := lockFile(f); err != nil {
		return nil, err
	}
	head, whole, torn, err := scanLines(bufio.NewReader(f), newAuditMACs(key))
	if err != nil {
		return nil, err
	}
	file := &fileWriter{f: f, size: whole}
	l := newAuditLog(file, key)
	l.head = head
	if len(torn) == 0 {
		return l, syncDir(filepath.Dir(path)) // or a crash may take the whole file
	}
	if err := moveTorn(path+tornSuffix, torn); err != nil {
		return nil, err
	}
	file.dirty = true
	reason := fmt.Sprintf("a torn line of %d bytes was moved to %s", len(torn), filepath.Base(path)+tornSuffix)
	return l, l.append(auditRecord{Time: time.Now().UTC(), Kind: kindRecovered, Reason: reason}, true)
}

// moveTorn puts a torn line at the end of a file, on the disk.
func moveTorn(path string, torn []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(torn, '\n'))
	return errors.Join(err, f.Sync(), f.Close(), syncDir(filepath.Dir(path)))
}

// auditFile is what of a file is used to put lines at its end.
type auditFile interface {
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
}

// fileWriter appends to a file, and cuts off what it couldn't write whole.
type fileWriter struct {
	f     auditFile
	size  int64 // of the whole lines
	dirty bool  // there may be something behind them
}

func (w *fileWriter) write(line []byte, durable bool) error {
	if w.dirty {
		if err := w.cutBack(); err != nil {
			return err
		}
	}
	w.dirty = true
	_, err := w.f.WriteAt(line, w.size)
	if err == nil && durable {
		err = w.f.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("policy: the audit log can't be written: %w", err), w.cutBack())
	}
	w.size, w.dirty = w.size+int64(len(line)), false
	return nil
}

func (w *fileWriter) cutBack() error {
	if err := w.f.Truncate(w.size); err != nil {
		return fmt.Errorf("policy: the audit log can't be cut back to its last whole line: %w", err)
	}
	w.dirty = false
	return nil
}

func (w *fileWriter) close() error {
	var err error
	if w.dirty {
		err = w.cutBack()
	}
	err = errors.Join(err, w.f.Sync())
	if f, ok := w.f.(*os.File); ok { // and not a disk of a test
		err = errors.Join(err, unlockFile(f))
	}
	return errors.Join(err, w.f.Close())
}
