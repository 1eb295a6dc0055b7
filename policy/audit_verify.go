package policy

// Reading a log back.

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"io"
)

// AuditError says where a log isn't what was written.
type AuditError struct {
	Line   int    // from 1
	Reason string // what is wrong with it; quotes nothing of the line
}

// Error tells the line and the reason.
func (e *AuditError) Error() string {
	return fmt.Sprintf("policy: line %d of the audit log: %s", e.Line, e.Reason)
}

// VerifyAudit reads a log and returns its head. It fails with an [*AuditError] for the
// first line that isn't what was written under key, in its place: one that was changed,
// added, moved, or stands where one was removed. The head is then that of the lines
// before. Other errors are those of r.
//
// A log without its last lines verifies: compare the head with one that was kept
// elsewhere. So does one whose last line lacks nothing but its end; a line that lacks
// more, as a crash may leave it, is an error.
//
// Lines may be of any length, and are read one by one. VerifyAudit panics if key has
// fewer than 16 bytes.
func VerifyAudit(r io.Reader, key []byte) (AuditHead, error) {
	checkAuditKey(key)
	lines := newAuditMACs(key)
	head, _, torn, err := scanLines(bufio.NewReader(r), lines)
	if err == nil && len(torn) > 0 {
		return verifyLine(head, torn, lines)
	}
	return head, err
}

// scanLines verifies whole lines. It returns how many bytes they are, and what stands
// behind the last of them.
func scanLines(r *bufio.Reader, lines *auditMACs) (head AuditHead, whole int64, torn []byte, err error) {
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF { //nolint:errorlint // as ReadBytes returns it; one that wraps it is a failure of r
			return head, whole, line, nil
		}
		if err != nil {
			return head, whole, nil, err
		}
		next, err := verifyLine(head, line[:len(line)-1], lines)
		if err != nil {
			return head, whole, nil, err
		}
		head, whole = next, whole+int64(len(line))
	}
}

// verifyLine returns the head with the line, which follows head.
func verifyLine(head AuditHead, line []byte, lines *auditMACs) (AuditHead, error) {
	wrong := func(reason string) (AuditHead, error) {
		return head, &AuditError{Line: int(head.Seq) + 1, Reason: reason}
	}
	at := bytes.LastIndex(line, []byte(macField))
	if at < 0 {
		return wrong("it isn't a record, or not all of one")
	}
	text := string(line[:at]) + "}"
	mac := lines.of(text)
	if !hmac.Equal(line[at:], []byte(macField+mac+macEnd)) {
		return wrong("its mac isn't right: the line was changed, or the key is another one")
	}
	var rec auditRecord
	if err := json.Unmarshal([]byte(text), &rec); err != nil {
		return wrong("it isn't a record")
	}
	if rec.Seq != head.Seq+1 || rec.Prev != head.MAC {
		return wrong(fmt.Sprintf("record %d stands where record %d has to be: lines were removed, moved or added", rec.Seq, head.Seq+1))
	}
	return AuditHead{rec.Seq, mac}, nil
}
