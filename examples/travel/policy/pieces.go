// Document numbers in a text that comes in pieces. What is shown of it is what
// HideDocuments makes of the whole, however it is cut.

package policy

import (
	"context"
	"regexp"
	"strings"

	"github.com/loophooks/hooks"
)

// mayBecome matches what may be the beginning of a document and its number, up to
// the end of a text as plain writes it, and more than that: what can't be a number
// is held for a moment, and nothing is shown of what is one.
var mayBecome = regexp.MustCompile(`^[dD](?:[ .-]{0,2}(?:[nN](?:[ .-]{0,2}(?:[iI](?:'?[sS])?` +
	`(?:[ :="'#([{*_\\.|,;/&+0-]|(?i:n(?:umber|umero|ro|um|o)?|is|es|y|e|o|and|or))*` +
	`(?i:nu|num|numb|numbe|nume|numer|nr|i|e|a|an)?)?)?)?)?$`)

// cutEscape matches an escape of JSON that may go on behind the end of a text. The
// first half of a character in two escapes is one.
var cutEscape = regexp.MustCompile(`\\+(?:u[dD][89abAB][0-9a-fA-F]{2}\\*)?(?:u[0-9a-fA-F]{0,3})?$`)

// hideInPieces makes a filter for one run of text.
func hideInPieces(_ context.Context, _ *hooks.ModelCall, kind hooks.ChunkKind) hooks.Filter {
	if kind == hooks.ChunkOther {
		return nil // it has no text
	}
	before := "" // the character in front of the window, as plain writes it
	return func(_ context.Context, w *hooks.Window) error {
		s := before + string(w.Text())
		end, mayGoOn := len(s), mayBecome.MatchString
		if w.Final() {
			mayGoOn = nil
		} else if cut := cutEscape.FindStringIndex(s); cut != nil {
			end = cut[0]
		}
		text, at := plainText(s[:end])
		found, hold := documents(text, len(before), mayGoOn)
		for _, d := range found {
			lo, hi := d.in(s, at)
			w.Replace(lo-len(before), hi-len(before), hidden)
		}
		if hold < len(text) {
			end = at[hold]
		}
		w.Hold(end - len(before))
		if hold > 0 {
			before = strings.ReplaceAll(text[hold-1:hold], `\`, "*") // it begins no escape any more
		}
		return nil
	}
}
