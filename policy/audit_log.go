package policy

// The log that Audit writes: a chain of lines, each with the mac of the one before.

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"
)

// AuditLog is where [Audit] writes. Make one with [OpenAuditLog] or [NewAuditLog]. Its
// methods are safe for concurrent use.
type AuditLog struct {
	lines, digests *auditMACs

	mu     sync.Mutex
	out    auditWriter
	head   AuditHead
	owed   []auditRecord // outcomes that are still to be written, the oldest first
	lost   int           // outcomes that were too many to keep
	closed bool
}

// auditWriter writes a line, all of it or, as far as it can tell, nothing. With
// durable set what was written is on the disk when it returns.
type auditWriter interface {
	write(line []byte, durable bool) error
	close() error
}

// AuditHead is the last record of a log. Whoever cuts off the end of a log leaves one
// that verifies: keep the head somewhere else, and compare.
type AuditHead struct {
	Seq int64  // its number, 0 of an empty log
	MAC string // its mac, in hexadecimal digits
}

const (
	minAuditKey   = 16
	maxOwed       = 1024
	digestPurpose = "hooks/policy.Audit digest"
)

// NewAuditLog returns a log that begins a new chain in w. It writes each line by
// one call of Write. Where w has a method Sync() error, that is called for each
// intent; a Sync that isn't supported, as that of a pipe, counts as none. After a
// line that was written in part the log stays failed, since nothing can be put behind
// it: a file should be opened with [OpenAuditLog].
//
// NewAuditLog panics if w is nil, or key has fewer than 16 bytes.
func NewAuditLog(w io.Writer, key []byte) *AuditLog {
	checkAuditKey(key)
	if w == nil {
		panic("policy: NewAuditLog: the writer is nil")
	}
	return newAuditLog(&plainWriter{w: w}, key)
}

func newAuditLog(out auditWriter, key []byte) *AuditLog {
	// Digests have a key of their own: with that of the chain, a tool whose result is
	// a line would have its mac written into the log.
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(digestPurpose))
	return &AuditLog{lines: newAuditMACs(key), digests: newAuditMACs(mac.Sum(nil)), out: out}
}

func checkAuditKey(key []byte) {
	if len(key) < minAuditKey {
		panic(fmt.Sprintf("policy: the key of an audit log has %d bytes; give at least %d, from a random source", len(key), minAuditKey))
	}
}

// Head returns the last record that was written, to be kept elsewhere.
func (l *AuditLog) Head() AuditHead {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Close writes what is still owed, has all of it on the disk, and closes the file of
// [OpenAuditLog]; the writer of [NewAuditLog] is the caller's to close. What is audited
// afterwards is refused. Close returns an error if something couldn't be written,
// and nil if the log is closed already.
func (l *AuditLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	err := l.settle()
	l.closed = true
	return errors.Join(err, l.out.close())
}

var errAuditClosed = errors.New("policy: the audit log is closed")

// intend writes an intent, behind all that is owed. It isn't owed if that fails:
// what it tells of doesn't happen.
func (l *AuditLog) intend(rec auditRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errAuditClosed
	}
	if err := l.settle(); err != nil {
		return err
	}
	return l.append(rec, true)
}

// note writes an outcome, behind all that is owed. It is owed if that fails.
func (l *AuditLog) note(rec auditRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errAuditClosed
	}
	if len(l.owed) < maxOwed {
		l.owed = append(l.owed, rec)
	} else {
		l.lost++
	}
	return l.settle()
}

// settle writes what is owed.
func (l *AuditLog) settle() error {
	for len(l.owed) > 0 {
		if err := l.append(l.owed[0], false); err != nil {
			return err
		}
		l.owed = l.owed[1:]
	}
	l.owed = nil
	if l.lost > 0 {
		reason := fmt.Sprintf("%d outcomes couldn't be kept until the log could be written", l.lost)
		if err := l.append(auditRecord{Time: time.Now().UTC(), Kind: kindLost, Reason: reason}, false); err != nil {
			return err
		}
		l.lost = 0
	}
	return nil
}

// append writes a record.
func (l *AuditLog) append(rec auditRecord, durable bool) error {
	rec.Seq, rec.Prev = l.head.Seq+1, l.head.MAC
	line, mac := sealLine(l.lines, rec.line())
	if err := l.out.write(line, durable); err != nil {
		if _, stands := errors.AsType[*unsyncedError](err); stands {
			l.head = AuditHead{rec.Seq, mac}
		}
		return err
	}
	l.head = AuditHead{rec.Seq, mac}
	return nil
}

// digest returns the keyed digest of a payload.
func (l *AuditLog) digest(text string) string { return l.digests.of(text) }

// sealLine returns a record's line with its mac.
func sealLine(lines *auditMACs, text string) (line []byte, mac string) {
	mac = lines.of(text)
	return []byte(text[:len(text)-1] + macField + mac + macEnd + "\n"), mac
}

const (
	macField = `,"mac":"`
	macEnd   = `"}`
)

// unsyncedError says that a line was written, but may not be on the disk.
type unsyncedError struct{ err error }

func (e *unsyncedError) Error() string {
	return "policy: the audit log can't be synced: " + e.err.Error()
}
func (e *unsyncedError) Unwrap() error { return e.err }

// plainWriter is a writer of which nothing is known.
type plainWriter struct {
	w      io.Writer
	broken bool // a line stands in it in part
}

var errAuditBroken = errors.New("policy: a line of the audit log was written in part, and a plain writer can't be cut back; use OpenAuditLog")

func (p *plainWriter) write(line []byte, durable bool) error {
	if p.broken {
		return errAuditBroken
	}
	p.broken = true // if it panics
	n, err := p.w.Write(line)
	p.broken = n != 0 && (n != len(line) || err != nil)
	if err == nil && n != len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("policy: the audit log can't be written: %w", err)
	}
	if durable {
		p.broken = true // if it ends the goroutine, nobody is told of the line
		err = p.sync()
		p.broken = false
		return err
	}
	return nil
}

// sync takes a panic for an error: the line stands, and the next one is behind it.
func (p *plainWriter) sync() (err error) {
	file, ok := p.w.(interface{ Sync() error })
	if !ok {
		return nil
	}
	defer func() {
		if value := recover(); value != nil {
			err = &unsyncedError{fmt.Errorf("a panic of type %T", value)}
		}
	}()
	if err := file.Sync(); err != nil && !unsupported(err) {
		return &unsyncedError{err}
	}
	return nil
}

func (p *plainWriter) close() error { return p.sync() }

// unsupported says of an error of Sync that there is nothing to sync, as of a pipe or
// a terminal.
func unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}
