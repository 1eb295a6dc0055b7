package policy

// What takes the place of what was found, and what tokens stand for.

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

func maskMark(name, _ string) string { return "[" + name + "]" }

// hashKey is the key of the process for marks. It is never told.
var hashKey = sync.OnceValue(func() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return key
})

const hashBytes = 4 // of a mark

func hashMark(name, match string) string {
	mac := hmac.New(sha256.New, hashKey())
	mac.Write([]byte(match))
	return "[" + name + ":" + hex.EncodeToString(mac.Sum(nil)[:hashBytes]) + "]"
}

// maxValue is how long a value can be that a token stands for. Package redact cuts
// matches at 4096 bytes, of which a group is a part; half a value is none.
const maxValue = 4096 - 256

// tokens are those of one run. The zero tokens are none; methods are safe for
// concurrent use.
type runTokens struct {
	mu       sync.Mutex
	values   map[string]string // by token
	given    map[string]string // by value
	last     map[string]int    // the last number, by name
	reserved map[string]bool   // tokens that nobody may be given
	longest  int               // bytes of a token
}

// give returns the token of a value.
func (t *runTokens) give(name, value string) string {
	if len(value) > maxValue {
		return maskMark(name, value)
	}
	value = t.restore(value) // what it was found in may hold tokens
	t.mu.Lock()
	defer t.mu.Unlock()
	if token, ok := t.given[value]; ok {
		return token
	}
	if t.values == nil {
		t.values, t.given, t.last = make(map[string]string), make(map[string]string), make(map[string]int)
	}
	var token string
	for token == "" || t.reserved[token] || t.values[token] != "" {
		t.last[name]++
		token = "<" + name + "_" + strconv.Itoa(t.last[name]) + ">"
	}
	t.values[token], t.given[value] = value, token
	t.longest = max(t.longest, len(token))
	return token
}

// maxTokenLike is more than the bytes of what tokenLike finds: its characters may
// have several.
const maxTokenLike = 64*utf8.UTFMax + 16

var tokenLike = regexp.MustCompile(`<[^<>]{1,64}_[0-9]{1,9}>`)

// reserve keeps tokens that stand in a text, and that this run hasn't given out,
// from being given: the model would take two values for one. They may be of an
// earlier process, from which a run was resumed, made up, or planted.
func (t *runTokens) reserve(text string) {
	if !strings.Contains(text, "<") {
		return
	}
	found := tokenLike.FindAllString(text, -1)
	if len(found) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, token := range found {
		if _, ok := t.values[token]; ok {
			continue
		}
		if t.reserved == nil {
			t.reserved = make(map[string]bool)
		}
		t.reserved[token] = true
	}
}

// restore returns the text with values in the place of the tokens that this run has
// given out.
func (t *runTokens) restore(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	shown := 0
	for at := 0; at < len(text); at++ {
		if text[at] != '<' {
			continue
		}
		if token := t.at(text[at:]); token != "" {
			b.WriteString(text[shown:at] + t.values[token])
			shown = at + len(token)
			at = shown - 1
		}
	}
	if shown == 0 {
		return text
	}
	return b.String() + text[shown:]
}

// at returns the token that text begins with, "" for none.
func (t *runTokens) at(text string) string {
	text = text[:min(len(text), t.longest)]
	for end := 1; end <= len(text); end++ {
		if text[end-1] != '>' {
			continue
		}
		if _, ok := t.values[text[:end]]; ok {
			return text[:end]
		}
	}
	return ""
}

// editor returns what puts values back into arguments.
func (t *runTokens) editor() *argumentEditor { return &argumentEditor{text: t.restore, lenient: true} }
