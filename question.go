package hooks

// Questions about tool calls that wait for a decision, and what binds a decision
// to the question that it answers.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Question asks whether a tool call may run. A hook fills in what people are to
// be told, from Key on; [ToolCall.Ask] sets the rest, and Again. It is plain data
// that survives JSON.
//
// The Digest is what a decision is bound to: a SHA-256 over RootRunID, Path,
// CallID, Tool, AgentRole, Tenant, Arguments and Again, in hexadecimal digits. So a
// decision is for this call, with these arguments, and for nothing else. The ID is
// made of the same with Key in place of Again: a call that is run again, in another
// process too, finds its question. The same call with other arguments has another
// one. A sub-agent's RunID, which is new after a resume, counts in neither.
type Question struct {
	ID, Digest string

	RunID, RootRunID, Tenant, AgentRole, CallID, Tool string

	Arguments string   // what would run, as JSON with sorted keys: show this
	Path      []string // the IDs of the tool calls around this one (sub-agents), the outermost first

	Key      string            // tells questions about one call apart; the name of the asking hook by default
	Prompt   string            // what people read; Ask writes one where it is empty
	Audience []string          // who may decide, as the desk understands it
	May      []Verdict         // what may be decided; Approve and Reject by default
	Offer    []Remember        // for how long; Once by default
	Expires  time.Time         // zero: as the desk says
	Again    int               // approvals that were used up without the end of the call being known
	Details  map[string]string // what else people should see
}

// Verdict is what was decided. More may be added: refuse what you don't know.
type Verdict string

// The verdicts.
const (
	Approve Verdict = "approve" // the call runs as it was shown
	Reject  Verdict = "reject"  // the call doesn't run, and the model reads why
	Edit    Verdict = "edit"    // the call runs with other arguments
)

// Remember is what a decision is for beside the call that was asked about. More
// may be added: refuse what you don't know.
type Remember string

// The memories.
const (
	Once          Remember = "once"           // this call alone
	SameArguments Remember = "same_arguments" // later calls of the run with the same tool, arguments and Key as well
)

// Decision answers a [Question].
type Decision struct {
	Verdict   Verdict
	Digest    string // of the question as it was shown
	Arguments string // of an Edit: the JSON object that runs instead
	Reason    string // of a Reject: what the model reads
	By        string // who decided
	Remember  Remember
}

// Rebind computes the Digest of q anew and leaves the ID as it is. A desk calls it
// when it has raised q.Again, so that what was decided before no longer fits.
func (q *Question) Rebind() { q.Digest = q.sum("digest", strconv.Itoa(q.Again)) }

// identify sets ID and Digest. The ID stays the same whatever Again is, so that
// a call that is asked about once more finds its question.
func (q *Question) identify() {
	q.ID = q.sum("id", q.Key)
	q.Rebind()
}

// sum is the SHA-256 of all that a decision is about, each with its length in
// front, so that no two questions run together.
func (q *Question) sum(domain, last string) string {
	h := sha256.New()
	writeSized(h, domain)
	writeSized(h, q.RootRunID)
	writeSized(h, strconv.Itoa(len(q.Path)))
	for _, id := range q.Path {
		writeSized(h, id)
	}
	for _, s := range [...]string{q.CallID, q.Tool, q.AgentRole, q.Tenant, q.Arguments, last} {
		writeSized(h, s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func writeSized(h hash.Hash, s string) {
	_, _ = h.Write([]byte(strconv.Itoa(len(s)) + ":" + s)) // never fails
}

// Allows reports whether q may be answered by verdict: by what May holds, or by
// Approve and Reject if it is empty.
func (q *Question) Allows(verdict Verdict) bool {
	if len(q.May) == 0 {
		return verdict == Approve || verdict == Reject
	}
	return slices.Contains(q.May, verdict)
}

// Offers reports whether a decision about q may be remembered so: by what Offer
// holds, or [Once] alone if it is empty. "" is Once, which is always allowed.
func (q *Question) Offers(memory Remember) bool {
	return memory == "" || memory == Once || slices.Contains(q.Offer, memory)
}

// text is what a person reads who decides at once. What is invisible is written
// as JSON would, so that nobody approves what can't be seen.
func (q *Question) text() string {
	var b strings.Builder
	b.WriteString(q.Prompt)
	b.WriteString("\n" + visible(q.Tool) + " " + visible(q.Arguments))
	for _, key := range slices.Sorted(maps.Keys(q.Details)) {
		b.WriteString("\n" + visible(key) + ": " + visible(q.Details[key]))
	}
	return b.String()
}

func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsGraphic(r) && r != utf8.RuneError {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
