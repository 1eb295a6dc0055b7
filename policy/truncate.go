package policy

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loophooks/hooks"
)

// Truncate shortens a tool result that is too long for a model: it keeps the
// beginning and the end, and says in between how much is missing.
//
// It is a hook of [hooks.PostToolCall], at priority -900: behind [Redact], which would
// not know half a key for one. Results of failed and blocked calls are shortened too.
// Result and the text of all parts count together, the beginning from the first, the
// end from the last. Parts of text of which nothing is left are dropped; what has no
// text stays, and so does a part of another kind, without the text that was cut. In the
// gap stands
//
//	[12345 of 50000 bytes left out; ask for a part]
//
// on a line of its own, which counts as well, so that the result is never longer than
// Max and a second run changes nothing. Cuts are between runes.
//
// RawResult and Err stay as they are, and so does what a stream has shown.
type Truncate struct {
	// Max is how many bytes of text a result may have, 32 KiB by default, 256 at least.
	Max int
	// Tail is the share of the end in what is kept, 0.25 by default, 1 at most. If it
	// is negative, only the beginning is.
	Tail float64
	// Spill keeps the whole text of a result that is cut, as the hooks before have left
	// it, and returns where: a path or a URL that the model can ask for, which the gap then
	// names ("; all of it: " and that), unless there is no room for it; "" for nothing.
	// If it fails the result is cut nevertheless, and the hook has failed. It may be
	// called concurrently for different calls, whose fields it doesn't change.
	Spill func(ctx context.Context, t *hooks.ToolCall, full string) (where string, err error)
}

// Register registers the policy; opts go to the hook, named policy.Truncate by default.
// It panics if Max is less than 256 and not 0, and if Tail is more than 1 or not a
// number. The hook is fail-open and safe for concurrent use.
func (p Truncate) Register(opts ...hooks.Option) *hooks.Group {
	switch {
	case p.Max == 0:
		p.Max = 32 << 10
	case p.Max < 256:
		panic(fmt.Sprintf("policy: Truncate: Max is %d bytes, which leaves no room beside what says that something is left out; give 256 or more", p.Max))
	}
	switch {
	case p.Tail == 0:
		p.Tail = 0.25
	case p.Tail < 0:
		p.Tail = 0
	case !(p.Tail <= 1): // or it is no number
		panic(fmt.Sprintf("policy: Truncate: Tail is %v; give the share of the end, from 0 to 1", p.Tail))
	}
	return register(opts, func(r *registrar) {
		r.add(hooks.On(hooks.PostToolCall, p.shorten, r.with("policy.Truncate", -900)...))
	})
}

func (p Truncate) shorten(ctx context.Context, t *hooks.ToolCall) error {
	texts := make([]string, 1, 1+len(t.Parts))
	texts[0] = t.Result
	total := len(t.Result)
	for _, part := range t.Parts {
		texts = append(texts, part.Text)
		total += len(part.Text)
	}
	if total <= p.Max {
		return nil
	}
	where := ""
	defer func() { p.cut(t, texts, total, where) }() // also where Spill panics
	if p.Spill == nil {
		return nil
	}
	there, err := p.Spill(ctx, t, strings.Join(texts, ""))
	if err != nil {
		return fmt.Errorf("policy: Truncate: the whole result of the tool can't be kept: %w", err)
	}
	if len(gapNote(total, total, there)) <= p.Max {
		where = there
	}
	return nil
}

// cut gives t what is to be kept of its texts, of total bytes.
func (p Truncate) cut(t *hooks.ToolCall, texts []string, total int, where string) {
	room := p.Max - len(gapNote(total, total, where)) // the longest that the note can be
	tail := int(float64(room) * p.Tail)
	cutTexts(texts, room-tail, total-tail, func(left int) string { return gapNote(left, total, where) })
	t.Result = texts[0]
	parts := make([]hooks.Part, 0, len(t.Parts))
	for i, part := range t.Parts {
		gone := part.Text != "" && texts[i+1] == ""
		if part.Text = texts[i+1]; !gone || part.Kind != "text" && part.Kind != "" {
			parts = append(parts, part)
		}
	}
	t.Parts = parts
}

// gapNote says what stands in the gap.
func gapNote(left, total int, where string) string {
	if where != "" {
		where = "; all of it: " + where
	}
	return fmt.Sprintf("\n[%d of %d bytes left out; ask for a part%s]\n", left, total, where)
}

// cutTexts takes out what is between two offsets in the row of all texts, and the rest
// of a rune on either side, and puts a note of how many bytes that were in its place.
func cutTexts(texts []string, from, to int, note func(left int) string) {
	from, _ = runeAround(texts, from)
	_, to = runeAround(texts, to)
	gap := note(to - from)
	begin := 0
	for i, text := range texts {
		lo, hi := min(max(from-begin, 0), len(text)), min(max(to-begin, 0), len(text))
		begin += len(text)
		if lo < hi {
			texts[i] = text[:lo] + gap + text[hi:]
			gap = ""
		}
	}
}

// runeAround returns where the rune begins and ends that the offset at is inside of, and
// at itself if it is between two. A byte that is none of a rune is one by itself.
func runeAround(texts []string, at int) (lo, hi int) {
	begin := 0
	for _, text := range texts {
		in := at - begin
		if in > 0 && in < len(text) {
			for lo := in - 1; lo >= max(in-utf8.UTFMax+1, 0); lo-- {
				if _, size := utf8.DecodeRuneInString(text[lo:]); lo+size > in {
					return begin + lo, begin + lo + size
				}
			}
		}
		begin += len(text)
	}
	return at, at
}
