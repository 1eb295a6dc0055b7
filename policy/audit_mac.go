package policy

// Keyed hashes of texts, as the audit log writes them.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
)

// auditMACs makes HMAC-SHA256 under one key. It is safe for concurrent use. Its hashes
// are used again: to make one takes as long as to hash a short text.
type auditMACs struct{ idle sync.Pool }

// auditMAC is a hash and the room that it needs.
type auditMAC struct {
	hash.Hash
	piece [512]byte
	sum   [sha256.Size]byte
	hex   [2 * sha256.Size]byte
}

func newAuditMACs(key []byte) *auditMACs {
	key = append([]byte(nil), key...)
	return &auditMACs{sync.Pool{New: func() any { return &auditMAC{Hash: hmac.New(sha256.New, key)} }}}
}

// of returns the mac of a text, in hexadecimal digits.
func (m *auditMACs) of(text string) string {
	h := m.idle.Get().(*auditMAC)
	defer m.idle.Put(h)
	h.Reset()
	for len(text) > 0 { // without a copy of all of it
		n := copy(h.piece[:], text)
		_, _ = h.Write(h.piece[:n]) // never fails
		text = text[n:]
	}
	hex.Encode(h.hex[:], h.Sum(h.sum[:0]))
	return string(h.hex[:])
}
