package desk

// Tickets: what a link in a message carries.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
)

// A ticket is, in base64url without padding: its version in one byte, ID and digest
// each with its length in front, and the HMAC-SHA256 of all that.
const ticketVersion = 1

var ticketText = base64.RawURLEncoding.Strict() // one spelling for one ticket

var errTicket = errors.New("desk: OpenTicket: this is no ticket of this key")

// Ticket returns a text without special characters for a link or a button by which
// somebody decides about rec: it names the question and the asking, and nobody can
// make one without key. It is no secret and no proof of who brings it: check that,
// and that they may decide.
//
// It panics if key is empty. Use at least 32 random bytes.
func (d *Desk) Ticket(rec Record, key []byte) string {
	if len(key) == 0 {
		panic("desk: Ticket: the key is empty")
	}
	body := []byte{ticketVersion}
	for _, s := range [...]string{rec.Question.ID, rec.Question.Digest} {
		body = binary.AppendUvarint(body, uint64(len(s)))
		body = append(body, s...)
	}
	return ticketText.EncodeToString(append(body, ticketSum(body, key)...))
}

// OpenTicket returns the ID and the digest of a text that [Desk.Ticket] made with
// key: the digest goes into the decision. It fails for any other text, and for an
// empty key. The comparison takes as long for each wrong text of a length.
func OpenTicket(text string, key []byte) (id, digest string, err error) {
	if len(key) == 0 {
		return "", "", errors.New("desk: OpenTicket: the key is empty")
	}
	raw, err := ticketText.DecodeString(text)
	if err != nil || len(raw) < sha256.Size || strings.ContainsAny(text, "\r\n") { // which base64 passes over
		return "", "", errTicket
	}
	body, sum := raw[:len(raw)-sha256.Size], raw[len(raw)-sha256.Size:]
	if !hmac.Equal(sum, ticketSum(body, key)) || len(body) == 0 || body[0] != ticketVersion {
		return "", "", errTicket
	}
	id, rest, ok := cutSized(body[1:])
	digest, rest, ok2 := cutSized(rest)
	if !ok || !ok2 || len(rest) > 0 {
		return "", "", errTicket
	}
	return id, digest, nil
}

func ticketSum(body, key []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("desk ticket\n")) // so that the key may serve other uses
	mac.Write(body)
	return mac.Sum(nil)
}

func cutSized(b []byte) (text string, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return "", nil, false
	}
	end := n + int(size)
	return string(b[n:end]), b[end:], true
}
